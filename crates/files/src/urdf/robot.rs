//! From links and joints to a machine: the tree, links that are fixed to each other, masses,
//! places, meshes.

use super::mesh_file::find_mesh;
use super::model::{Geometry, Joint, Link, Model, Reader};
use crate::robot::{
    self, Choices, Drive, JointKind, Machine, Motor, Solid, Weight, axis_frame, inertia,
};
use crate::spelling::suggestion;
use glam::{DMat3, DVec3};
use signorini_mechanics::geometry::{Volume, mass};
use signorini_mechanics::scene::Mass;
use signorini_solve::math::pose::Pose;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A link without mass within a branch gets this share of the mass beyond it.
const MASS_SHARE_OF_MASSLESS_BODY: f64 = 1e-4;

/// Puts a robot together; faults and repairs are noted in the reader.
pub fn assemble(
    model: &Model,
    path: &Path,
    reader: &mut Reader<'_>,
    choices: &Choices,
) -> Option<Machine> {
    let (links, joints) = (model.links.len(), model.joints.len());
    let mut assembler = Assembler {
        model,
        reader,
        ends: Vec::new(),
        fixed: model.joints.iter().map(|j| j.kind == "fixed").collect(),
        start: vec![0.0; joints],
        follows: vec![None; joints],
        body: (0..links).collect(),
        in_body: vec![Pose::IDENTITY; links],
        world: vec![Pose::IDENTITY; links],
        given: vec![0.0; links],
    };
    let before = assembler.reader.faults.len();
    assembler.names();
    // Without all links and joints, each with its own name, more would be said than is wrong.
    if assembler.reader.incomplete || assembler.reader.faults.len() > before {
        return None;
    }
    assembler.ends()?;
    let order = assembler.tree()?;
    assembler.massless(&order);
    assembler.start(choices);
    assembler.places(&order);
    let weights = assembler.weights(order[0]);
    let meshes = assembler.meshes(path);
    // Faults of the text may have left joints or links out: all of them are found before giving up.
    if !assembler.reader.faults.is_empty() {
        return None;
    }
    Some(assembler.machine(&weights, &meshes))
}

/// A robot in the making.
struct Assembler<'m, 'r, 't> {
    model: &'m Model,
    reader: &'r mut Reader<'t>,
    /// For each joint, parent and child link.
    ends: Vec<(usize, usize)>,
    /// For each joint, whether it moves nothing.
    fixed: Vec<bool>,
    /// For each joint, its value at the beginning, rad or m.
    start: Vec<f64>,
    /// For each joint, which joint it follows, how many times as far, and the offset.
    follows: Vec<Option<(usize, f64, f64)>>,
    /// For each link, the link whose body it belongs to.
    body: Vec<usize>,
    /// For each link, where it lies in that link.
    in_body: Vec<Pose>,
    /// For each link, where it is in the world at the beginning.
    world: Vec<Pose>,
    /// For each link, a mass that it was given, kg.
    given: Vec<f64>,
}

/// Where the child goes when the joint has a value.
fn displacement(kind: &str, axis: DVec3, value: f64) -> Pose {
    match kind {
        "revolute" | "continuous" => Pose::turned(DVec3::ZERO, axis * value),
        "prismatic" => Pose::at(axis * value),
        _ => Pose::IDENTITY,
    }
}

impl Assembler<'_, '_, '_> {
    fn names(&mut self) {
        let model = self.model;
        for (i, link) in model.links.iter().enumerate() {
            if model.links[..i].iter().any(|other| other.name == link.name) {
                let message = format!("the link `{}` exists already", link.name);
                self.reader.fault(link.at.clone(), message, "wanted a name of its own");
            }
        }
        for (i, joint) in model.joints.iter().enumerate() {
            if model.joints[..i].iter().any(|other| other.name == joint.name) {
                let message = format!("the joint `{}` exists already", joint.name);
                self.reader.fault(joint.at.clone(), message, "wanted a name of its own");
            }
        }
    }

    fn ends(&mut self) -> Option<()> {
        let model = self.model;
        let names: Vec<&str> = model.links.iter().map(|l| l.name.as_str()).collect();
        let before = self.reader.faults.len();
        for joint in &model.joints {
            let mut pair = [0; 2];
            for (slot, name) in pair.iter_mut().zip([&joint.parent, &joint.child]) {
                match names.iter().position(|n| n == name) {
                    Some(at) => *slot = at,
                    None => {
                        let message = format!(
                            "the joint `{}` names the link `{name}`, which is not there",
                            joint.name
                        );
                        self.reader.fault(joint.at.clone(), message, suggestion(name, &names));
                    }
                }
            }
            self.ends.push((pair[0], pair[1]));
        }
        (self.reader.faults.len() == before && !names.is_empty()).then_some(())
    }

    /// Links from the root outwards.
    fn tree(&mut self) -> Option<Vec<usize>> {
        let (model, ends) = (self.model, &self.ends);
        for (j, end) in ends.iter().enumerate() {
            if let Some(first) = ends[..j].iter().position(|e| e.1 == end.1) {
                let child = &model.links[end.1].name;
                let message = format!(
                    "the link `{child}` is the child of `{}` and of `{}`",
                    model.joints[first].name, model.joints[j].name
                );
                let wanted = "wanted one parent: close loops with a [[joint]] in a scene that \
                    includes the robot";
                self.reader.fault(model.joints[j].at.clone(), message, wanted);
                return None;
            }
        }
        let roots: Vec<usize> =
            (0..model.links.len()).filter(|l| ends.iter().all(|e| e.1 != *l)).collect();
        if roots.len() != 1 {
            let names: Vec<&str> = roots.iter().map(|&l| model.links[l].name.as_str()).collect();
            let at = roots.get(1).or(roots.first()).map_or(0..1, |&l| model.links[l].at.clone());
            let message = if roots.is_empty() {
                "every link is the child of another".to_string()
            } else {
                format!("{} links have no parent: {}", roots.len(), names.join(", "))
            };
            self.reader.fault(at, message, "wanted one root: connect the others by joints");
            return None;
        }
        let mut order = roots;
        let mut next = 0;
        while next < order.len() {
            let here = order[next];
            order.extend(ends.iter().filter(|e| e.0 == here).map(|e| e.1));
            next += 1;
        }
        if order.len() < model.links.len() {
            let lost = (0..model.links.len()).find(|l| !order.contains(l)).unwrap_or(0);
            let message = format!(
                "the link `{}` hangs in a circle of joints without a root",
                model.links[lost].name
            );
            self.reader.fault(model.links[lost].at.clone(), message, "wanted a tree");
            return None;
        }
        Some(order)
    }

    /// The joint that a link hangs on.
    fn parent_joint(&self, link: usize) -> Option<usize> {
        self.ends.iter().position(|e| e.1 == link)
    }

    /// Moving links without mass: joints at the end of a branch are fixed, links within one are
    /// given a little mass.
    fn massless(&mut self, order: &[usize]) {
        let model = self.model;
        // The mass of each link with what is fixed to it, and that of everything beyond it.
        for link in &model.links {
            if let Some(inertial) = link.inertial.as_ref().filter(|i| i.mass < 0.0) {
                let message =
                    format!("the link `{}`: mass = {} kg, wanted > 0", link.name, inertial.mass);
                self.reader.repair(&inertial.at, message, "", "it has none");
            }
        }
        let mut own: Vec<f64> = model
            .links
            .iter()
            .map(|l| l.inertial.as_ref().map_or(0.0, |i| i.mass.max(0.0)))
            .collect();
        let mut beyond = own.clone();
        for &link in order.iter().rev() {
            let Some(j) = self.parent_joint(link) else { continue };
            let parent = self.ends[j].0;
            beyond[parent] += beyond[link];
            let moves = !self.fixed[j];
            if moves && own[link] <= 0.0 && model.joints[j].kind != "floating" {
                let name = &model.links[link].name;
                let message = format!(
                    "the link `{name}` moves (joint `{}`) but has no mass",
                    model.joints[j].name
                );
                let wanted = "wanted <inertial> with a mass above 0, or a fixed joint";
                let at = model.links[link].at.clone();
                if beyond[link] > 0.0 {
                    let done = format!(
                        "it weighs {:.1e} kg, a little beside the {:.3} kg beyond it",
                        MASS_SHARE_OF_MASSLESS_BODY * beyond[link],
                        beyond[link]
                    );
                    if self.reader.repair(&at, message, wanted, &done) {
                        self.given[link] = MASS_SHARE_OF_MASSLESS_BODY * beyond[link];
                        own[link] = self.given[link];
                    }
                } else if self.reader.repair(&at, message, wanted, "its joint is fixed") {
                    self.fixed[j] = true;
                }
            }
            if self.fixed[j] {
                own[parent] += own[link];
            }
        }
    }

    /// Where each joint begins: as asked for, at zero, at the nearest stop, or where its master
    /// wants it.
    fn start(&mut self, choices: &Choices) {
        let model = self.model;
        let zero = |j: usize| model.joints[j].limits.map_or(0.0, |(lo, hi)| 0.0f64.clamp(lo, hi));
        self.start = (0..model.joints.len()).map(zero).collect();
        let names: Vec<&str> = model.joints.iter().map(|j| j.name.as_str()).collect();
        let mut asked = vec![false; model.joints.len()];
        for value in &choices.joints {
            match names.iter().position(|n| *n == value.name) {
                Some(j) => match value.of(model.joints[j].kind == "prismatic") {
                    Ok(x) => (self.start[j], asked[j]) = (x, true),
                    Err(why) => {
                        self.reader.fault(0..1, why, "wanted rad for a hinge, m for a slider")
                    }
                },
                None => {
                    self.reader.fault(
                        0..1,
                        format!("the robot has no joint `{}`", value.name),
                        suggestion(&value.name, &names),
                    );
                }
            }
        }
        for (j, joint) in model.joints.iter().enumerate() {
            if joint.mimic.is_none() && !asked[j] && self.start[j] != 0.0 && !self.fixed[j] {
                self.reader.notes.push(format!(
                    "`{}` begins at {}: zero is outside its limits",
                    joint.name, self.start[j]
                ));
            }
            self.follows[j] = self.master(j, &names);
        }
        for j in 0..model.joints.len() {
            if let Some((master, factor, offset)) = self.follows[j] {
                self.start[j] = factor * self.start[master] + offset;
            }
        }
    }

    /// The joint that a joint follows in the end, if it mimics one.
    fn master(&mut self, joint: usize, names: &[&str]) -> Option<(usize, f64, f64)> {
        let (mut here, mut factor, mut offset) = (joint, 1.0, 0.0);
        for _ in 0..=self.model.joints.len() {
            let Some((master, multiplier, shift, at)) = &self.model.joints[here].mimic else {
                return (here != joint).then_some((here, factor, offset));
            };
            let Some(next) = names.iter().position(|n| n == master) else {
                let message = format!(
                    "`{}` mimics `{master}`, which is not there",
                    self.model.joints[here].name
                );
                self.reader.repair(at, message, &suggestion(master, names), "it moves on its own");
                return None;
            };
            (offset, factor) = (offset + factor * shift, factor * multiplier);
            here = next;
        }
        let at = self.model.joints[joint].at.clone();
        let message = format!("`{}` mimics itself in the end", names[joint]);
        self.reader.repair(&at, message, "wanted a joint that mimics none", "it moves on its own");
        None
    }

    /// Bodies and places, from the root outwards.
    fn places(&mut self, order: &[usize]) {
        for &link in order {
            let Some(j) = self.parent_joint(link) else { continue };
            let (parent, joint) = (self.ends[j].0, &self.model.joints[j]);
            let moved = joint.origin * displacement(&joint.kind, joint.axis, self.start[j]);
            self.world[link] = self.world[parent] * moved;
            if self.fixed[j] {
                self.body[link] = self.body[parent];
                self.in_body[link] = self.in_body[parent] * moved;
            }
        }
    }

    /// Mass, centre and inertia of each body; none for links that are no bodies or are fixed.
    fn weights(&mut self, root: usize) -> Vec<Option<Weight>> {
        let model = self.model;
        let mut out = vec![None; model.links.len()];
        for body in 0..model.links.len() {
            if self.reader.strict {
                self.strict_inertia(&model.links[body]);
            }
            if self.body[body] != body {
                continue;
            }
            let members: Vec<usize> =
                (0..model.links.len()).filter(|&l| self.body[l] == body).collect();
            let parts: Vec<Volume> = members
                .iter()
                .filter_map(|&l| weight(&model.links[l], &self.in_body[l], self.given[l]))
                .collect();
            let anchored = body == root && (parts.is_empty() || model.links[body].name == "world");
            if parts.is_empty() || anchored {
                continue;
            }
            let Volume { volume, center, inertia } = mass::sum(&parts);
            let mut weight = Weight { mass: volume, center, inertia };
            let why = Mass { mass: volume, inertia }.fault();
            if let (Some(why), Some(better)) = (why, inertia::repaired(volume, inertia)) {
                weight.inertia = better;
                // A link that was given its mass was given its inertia too.
                if !self.reader.strict && members.iter().all(|&l| self.given[l] == 0.0) {
                    let at = model.links[body]
                        .inertial
                        .as_ref()
                        .map_or(&model.links[body].at, |i| &i.at);
                    let name = &model.links[body].name;
                    let done = format!(
                        "the nearest that a body can have, principal moments {}",
                        moments(better)
                    );
                    self.reader.repair(at, format!("the link `{name}`: {why}"), "", &done);
                }
            }
            out[body] = Some(weight);
        }
        out
    }

    /// Names an inertia that no body has, even where it does not matter.
    fn strict_inertia(&mut self, link: &Link) {
        let Some(inertial) = link.inertial.as_ref().filter(|i| i.mass != 0.0) else { return };
        let given = Mass { mass: inertial.mass, inertia: inertial.inertia };
        let Some(why) = given.fault() else { return };
        let volumes: Vec<Volume> = link
            .collision
            .iter()
            .chain(&link.visual)
            .filter_map(|s| volume(&s.geometry).map(|v| v.moved(&s.origin)))
            .collect();
        let wanted = match volumes.as_slice() {
            [] => "wanted principal moments of which each is at most the sum of the others"
                .to_string(),
            list => {
                let sum = mass::sum(list);
                let d = sum.inertia * (inertial.mass / sum.volume);
                format!(
                    "its shapes with {} kg would have ixx={:.3e} iyy={:.3e} izz={:.3e}",
                    inertial.mass, d.x_axis.x, d.y_axis.y, d.z_axis.z
                )
            }
        };
        self.reader.fault(inertial.at.clone(), format!("the link `{}`: {why}", link.name), wanted);
    }

    /// Where the meshes are. Those that touch must be readable; of those that are only seen it is
    /// enough that they are there.
    fn meshes(&mut self, path: &Path) -> Meshes {
        let mut out = Meshes::new();
        let mut tried: HashMap<(String, bool), Result<PathBuf, String>> = HashMap::new();
        for link in &self.model.links {
            let touching = link.collision.iter().map(|s| (s, true));
            for (shape, touches) in touching.chain(link.visual.iter().map(|s| (s, false))) {
                let Geometry::Mesh(file, _) = &shape.geometry else { continue };
                let found = tried.entry((file.clone(), touches)).or_insert_with(|| {
                    let found = find_mesh(file, path)
                        .map_err(|looked| format!("is not there: looked for {looked}"))?;
                    if touches {
                        crate::surface::read(&found)?;
                    }
                    Ok(found)
                });
                match found {
                    Ok(found) => {
                        out.insert((file.clone(), touches), found.clone());
                    }
                    Err(why) => {
                        let kind = if touches { "collision" } else { "visual" };
                        let message = format!("the mesh `{file}` of link `{}` {why}", link.name);
                        let done = format!("the {kind} shape is left out");
                        let wanted = "wanted an .stl, .obj, .dae, .glb or .gltf file";
                        self.reader.repair(&shape.at, message, wanted, &done);
                    }
                }
            }
        }
        out
    }

    fn machine(&self, weights: &[Option<Weight>], meshes: &Meshes) -> Machine {
        let model = self.model;
        let mut machine = Machine { name: model.name.clone(), ..Machine::default() };
        let mut number = vec![0; model.links.len()];
        for link in (0..model.links.len()).filter(|&l| self.body[l] == l) {
            number[link] = machine.bodies.len();
            machine.bodies.push(self.body(link, weights[link], meshes));
        }
        let mut places = vec![None; model.joints.len()];
        for (j, joint) in model.joints.iter().enumerate() {
            let Some(kind) = kind(&joint.kind).filter(|_| !self.fixed[j]) else { continue };
            places[j] = Some(machine.joints.len());
            machine.joints.push(self.joint(j, kind, &number));
        }
        for (j, joint) in model.joints.iter().enumerate() {
            let Some(place) = places[j].filter(|&p| machine.joints[p].kind.coordinate().is_some())
            else {
                continue;
            };
            let follows =
                self.follows[j].and_then(|(master, factor, _)| places[master].map(|m| (m, factor)));
            if let Some((master, factor)) = follows {
                machine
                    .gears
                    .push((format!("{}_mimic", joint.name), vec![(place, 1.0), (master, -factor)]));
            } else if model.driven.contains(&joint.name) {
                let name = format!("{}_motor", joint.name);
                machine.motors.push(Motor {
                    name,
                    terms: vec![(place, 1.0)],
                    drive: Drive::Hold(joint.effort),
                });
            }
        }
        machine
    }

    fn body(&self, body: usize, weight: Option<Weight>, meshes: &Meshes) -> robot::Body {
        let model = self.model;
        let members: Vec<usize> =
            (0..model.links.len()).filter(|&l| self.body[l] == body).collect();
        let (mut shapes, mut visuals) = (Vec::new(), Vec::new());
        for &l in &members {
            let link = &model.links[l];
            for shape in &link.collision {
                let Some((solid, turn)) = solid(&shape.geometry, true, meshes) else { continue };
                let pose = self.in_body[l] * shape.origin * turn;
                shapes.push(robot::Shape { pose, solid, material: None, touches: None });
            }
            for shape in &link.visual {
                let Some((solid, turn)) = solid(&shape.geometry, false, meshes) else { continue };
                let pose = self.in_body[l] * shape.origin * turn;
                visuals.push(robot::Visual { pose, solid, color: shape.color });
            }
        }
        let color = visuals.iter().find_map(|v| v.color);
        // One colour is said of the body, and a shape that is drawn as it touches is said once.
        if visuals.iter().all(|v| v.color == color) {
            visuals.iter_mut().for_each(|v| v.color = None);
        }
        if same(&shapes, &visuals) {
            visuals.clear();
        }
        robot::Body {
            name: model.links[body].name.clone(),
            members: members
                .iter()
                .filter(|&&l| l != body)
                .map(|&l| model.links[l].name.clone())
                .collect(),
            weight,
            world: self.world[body],
            shapes,
            visuals,
            color,
        }
    }

    fn joint(&self, j: usize, kind: JointKind, number: &[usize]) -> robot::Joint {
        let (joint, (parent, child)): (&Joint, _) = (&self.model.joints[j], self.ends[j]);
        let (a, b) = (number[self.body[parent]], number[self.body[child]]);
        let axis = axis_frame(DVec3::ZERO, joint.axis);
        robot::Joint {
            frame_a: self.in_body[parent] * joint.origin * axis,
            frame_b: self.in_body[child] * axis,
            start: self.start[j],
            limits: joint.limits,
            friction: joint.friction.max(0.0),
            damping: joint.damping.max(0.0),
            effort: joint.effort,
            ..robot::Joint::new(joint.name.clone(), kind, Some(a), b)
        }
    }
}

fn kind(word: &str) -> Option<JointKind> {
    match word {
        "revolute" | "continuous" => Some(JointKind::Revolute),
        "prismatic" => Some(JointKind::Prismatic),
        "planar" => Some(JointKind::Planar),
        "spherical" => Some(JointKind::Spherical),
        _ => None,
    }
}

/// The mesh files that can be used: as they are named, and whether they touch or are seen.
type Meshes = HashMap<(String, bool), PathBuf>;

/// A shape that touches or is seen, and how it is turned to fit.
fn solid(geometry: &Geometry, touches: bool, meshes: &Meshes) -> Option<(Solid, Pose)> {
    let solid = match geometry {
        Geometry::Box(edges) => Solid::Box(*edges),
        Geometry::Cylinder(radius, length) => Solid::Cylinder(*radius, *length),
        Geometry::Capsule(radius, length) => Solid::Capsule(*radius, *length),
        Geometry::Sphere(radius) => Solid::Sphere(*radius),
        Geometry::Plane(normal) => {
            return Some((Solid::HalfSpace, axis_frame(DVec3::ZERO, *normal)));
        }
        Geometry::Mesh(file, scale) => {
            let file = meshes.get(&(file.clone(), touches))?.clone();
            Solid::Mesh { file, scale: *scale, hull: false }
        }
    };
    Some((solid, Pose::IDENTITY))
}

/// Whether what is drawn is what touches.
fn same(shapes: &[robot::Shape], visuals: &[robot::Visual]) -> bool {
    let plain = |v: &robot::Visual| v.color.is_none() && !matches!(v.solid, Solid::Mesh { .. });
    shapes.len() == visuals.len()
        && shapes
            .iter()
            .zip(visuals)
            .all(|(s, v)| plain(v) && s.solid == v.solid && s.pose == v.pose)
}

/// What a link weighs in the frame of its body.
fn weight(link: &Link, place: &Pose, given: f64) -> Option<Volume> {
    if given > 0.0 {
        let inertia = DMat3::from_diagonal(DVec3::splat(
            0.4 * given * inertia::water_ball(given / MASS_SHARE_OF_MASSLESS_BODY).powi(2),
        ));
        return Some(Volume { volume: given, center: place.position, inertia });
    }
    let inertial = link.inertial.as_ref().filter(|i| i.mass > 0.0)?;
    let turn: DMat3 = (*place * inertial.origin).rotation();
    let center = place.point(inertial.origin.position);
    Some(Volume {
        volume: inertial.mass,
        center,
        inertia: turn * inertial.inertia * turn.transpose(),
    })
}

fn moments(inertia: DMat3) -> String {
    let (values, _) = inertia::eigen(inertia);
    values.to_array().map(|x| format!("{x:.3e}")).join(", ")
}

fn volume(geometry: &Geometry) -> Option<Volume> {
    use signorini_mechanics::geometry::Shape;
    let shape = match *geometry {
        Geometry::Box(edges) => Shape::Box { half_extents: 0.5 * edges },
        Geometry::Cylinder(radius, length) => Shape::Cylinder { radius, half_length: 0.5 * length },
        Geometry::Capsule(radius, length) => Shape::Capsule { radius, half_length: 0.5 * length },
        Geometry::Sphere(radius) => Shape::Sphere { radius },
        Geometry::Mesh(..) | Geometry::Plane(_) => return None,
    };
    Volume::of(&shape).ok()
}
