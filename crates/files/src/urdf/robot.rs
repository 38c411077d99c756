//! From links and joints to bodies: the tree, links that are fixed to each other, masses, places.

use super::Fault;
use super::model::{Geometry, Link, Model};
use crate::scenefile::fault::suggestion;
use glam::{DMat3, DVec3};
use signorini_mechanics::geometry::{Volume, mass};
use signorini_mechanics::scene::{Mass, frame};
use signorini_solve::math::pose::Pose;
use std::path::{Path, PathBuf};

/// A robot ready to be written.
#[derive(Clone, Debug, Default)]
pub struct Robot {
    /// For each link, the link whose body it belongs to.
    pub body: Vec<usize>,
    /// For each link, where it lies in that link.
    pub in_body: Vec<Pose>,
    /// For each link, where it is in the world at the beginning.
    pub world: Vec<Pose>,
    /// For each joint, its value at the beginning, rad or m.
    pub start: Vec<f64>,
    /// For each joint, parent and child link.
    pub ends: Vec<(usize, usize)>,
    /// For each link that is a body, its mass and its centre; none if it is fixed.
    pub mass: Vec<Option<(Mass, DVec3)>>,
    /// For each mesh named by the file, where it was found.
    pub meshes: Vec<(String, PathBuf)>,
}

/// Notes faults.
struct Checker<'a> {
    model: &'a Model,
    faults: &'a mut Vec<Fault>,
    notes: &'a mut Vec<String>,
}

impl Robot {
    /// Puts a robot together; faults are noted.
    pub fn assemble(model: &Model, path: &Path, faults: &mut Vec<Fault>, notes: &mut Vec<String>) -> Option<Robot> {
        let mut checker = Checker { model, faults, notes };
        checker.names();
        let ends = checker.ends()?;
        let order = checker.tree(&ends)?;
        let start = checker.start()?;
        let mut robot = Robot { ends, start, ..Robot::default() };
        robot.places(model, &order);
        robot.mass = checker.masses(&robot, order[0]);
        robot.meshes = checker.meshes(path);
        Some(robot)
    }

    /// Bodies and places, from the root outwards.
    fn places(&mut self, model: &Model, order: &[usize]) {
        let n = model.links.len();
        self.body = (0..n).collect();
        self.in_body = vec![Pose::IDENTITY; n];
        self.world = vec![Pose::IDENTITY; n];
        for &link in order {
            let Some(j) = self.ends.iter().position(|e| e.1 == link) else { continue };
            let (parent, joint) = (self.ends[j].0, &model.joints[j]);
            self.world[link] = self.world[parent] * joint.origin * displacement(&joint.kind, joint.axis, self.start[j]);
            if joint.kind == "fixed" {
                self.body[link] = self.body[parent];
                self.in_body[link] = self.in_body[parent] * joint.origin;
            }
        }
    }
}

/// Where the child goes when the joint has a value.
fn displacement(kind: &str, axis: DVec3, value: f64) -> Pose {
    match kind {
        "revolute" | "continuous" => Pose::turned(DVec3::ZERO, axis * value),
        "prismatic" => Pose::at(axis * value),
        _ => Pose::IDENTITY,
    }
}

/// The frame of a joint in the child's link: z along its axis.
pub fn axis_frame(axis: DVec3) -> Pose {
    frame(DVec3::ZERO, axis)
}

impl Checker<'_> {
    fn fault(&mut self, range: &std::ops::Range<usize>, message: String, wanted: impl Into<String>) {
        self.faults.push(Fault { range: range.clone(), message, wanted: wanted.into() });
    }

    fn names(&mut self) {
        let model = self.model;
        for (i, link) in model.links.iter().enumerate() {
            if model.links[..i].iter().any(|other| other.name == link.name) {
                self.fault(&link.at, format!("the link `{}` exists already", link.name), "wanted a name of its own");
            }
        }
        for (i, joint) in model.joints.iter().enumerate() {
            if model.joints[..i].iter().any(|other| other.name == joint.name) {
                self.fault(&joint.at, format!("the joint `{}` exists already", joint.name), "wanted a name of its own");
            }
        }
    }

    fn ends(&mut self) -> Option<Vec<(usize, usize)>> {
        let model = self.model;
        let names: Vec<&str> = model.links.iter().map(|l| l.name.as_str()).collect();
        let mut ends = Vec::new();
        for joint in &model.joints {
            let mut pair = [0; 2];
            for (slot, name) in pair.iter_mut().zip([&joint.parent, &joint.child]) {
                match names.iter().position(|n| n == name) {
                    Some(at) => *slot = at,
                    None => {
                        let message = format!("the joint `{}` names the link `{name}`, which is not there", joint.name);
                        self.fault(&joint.at, message, suggestion(name, &names));
                    }
                }
            }
            ends.push((pair[0], pair[1]));
        }
        self.faults.is_empty().then_some(ends)
    }

    /// Links from the root outwards.
    fn tree(&mut self, ends: &[(usize, usize)]) -> Option<Vec<usize>> {
        let model = self.model;
        for (j, end) in ends.iter().enumerate() {
            if let Some(first) = ends[..j].iter().position(|e| e.1 == end.1) {
                let child = &model.links[end.1].name;
                let message =
                    format!("the link `{child}` is the child of `{}` and of `{}`", model.joints[first].name, model.joints[j].name);
                self.fault(
                    &model.joints[j].at,
                    message,
                    "wanted one parent: close loops with a [[joint]] in a scene that includes the robot",
                );
                return None;
            }
        }
        let roots: Vec<usize> = (0..model.links.len()).filter(|l| ends.iter().all(|e| e.1 != *l)).collect();
        if roots.len() != 1 {
            let names: Vec<&str> = roots.iter().map(|&r| model.links[r].name.as_str()).collect();
            let at = roots.get(1).map_or(0..1, |&r| model.links[r].at.clone());
            let message = if roots.is_empty() {
                "every link is the child of another".to_string()
            } else {
                format!("{} links have no parent: {}", roots.len(), names.join(", "))
            };
            self.fault(&at, message, "wanted one root: connect the others by joints");
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
            let message = format!("the link `{}` hangs in a circle of joints without a root", model.links[lost].name);
            self.fault(&model.links[lost].at, message, "wanted a tree");
            return None;
        }
        Some(order)
    }

    /// Where each joint begins: at zero, at the nearest stop, or where its master wants it.
    fn start(&mut self) -> Option<Vec<f64>> {
        let model = self.model;
        let zero = |j: usize| model.joints[j].limits.map_or(0.0, |(lo, hi)| 0.0f64.clamp(lo, hi));
        let mut out: Vec<f64> = (0..model.joints.len()).map(zero).collect();
        for (j, joint) in model.joints.iter().enumerate() {
            if joint.mimic.is_none() && out[j] != 0.0 {
                self.notes.push(format!("`{}` begins at {}: zero is outside its limits", joint.name, out[j]));
            }
            let Some((master, multiplier, offset, at)) = &joint.mimic else { continue };
            let names: Vec<&str> = model.joints.iter().map(|j| j.name.as_str()).collect();
            match model.joints.iter().position(|other| other.name == *master) {
                Some(m) if model.joints[m].mimic.is_none() => out[j] = multiplier * out[m] + offset,
                Some(_) => {
                    let message = format!("`{}` mimics `{master}`, which mimics another joint", joint.name);
                    self.fault(at, message, "wanted a joint that mimics none");
                }
                None => self.fault(at, format!("`{}` mimics `{master}`, which is not there", joint.name), suggestion(master, &names)),
            }
        }
        self.faults.is_empty().then_some(out)
    }

    /// Mass and centre of each body.
    fn masses(&mut self, robot: &Robot, root: usize) -> Vec<Option<(Mass, DVec3)>> {
        let model = self.model;
        let mut out = vec![None; model.links.len()];
        for link in 0..model.links.len() {
            self.inertia(&model.links[link]);
            if robot.body[link] != link {
                continue;
            }
            let members = (0..model.links.len()).filter(|&l| robot.body[l] == link);
            let parts: Vec<Volume> = members.filter_map(|l| weight(&model.links[l], &robot.in_body[l])).collect();
            let anchored = link == root && (parts.is_empty() || model.links[link].name == "world");
            if !parts.is_empty() && !anchored {
                let Volume { volume, center, inertia } = mass::sum(&parts);
                out[link] = Some((Mass { mass: volume, inertia }, center));
            } else if !anchored {
                let joint = robot.ends.iter().position(|e| e.1 == link).map_or("?", |j| model.joints[j].name.as_str());
                let message = format!("the link `{}` moves (joint `{joint}`) but has no mass", model.links[link].name);
                self.fault(&model.links[link].at, message, "wanted <inertial> with a mass above 0, or a fixed joint");
            }
        }
        out
    }

    /// Names an inertia that no body has.
    fn inertia(&mut self, link: &Link) {
        let Some(inertial) = link.inertial.as_ref().filter(|i| i.mass != 0.0) else { return };
        let given = Mass { mass: inertial.mass, inertia: inertial.inertia };
        let Some(why) = given.fault() else { return };
        let volumes: Vec<Volume> =
            link.collision.iter().chain(&link.visual).filter_map(|s| solid(&s.geometry).map(|v| v.moved(&s.origin))).collect();
        let wanted = match volumes.as_slice() {
            [] => "wanted principal moments of which each is at most the sum of the others".to_string(),
            list => {
                let sum = mass::sum(list);
                let d = sum.inertia * (inertial.mass / sum.volume);
                format!(
                    "its shapes with {} kg would have ixx={:.3e} iyy={:.3e} izz={:.3e}",
                    inertial.mass, d.x_axis.x, d.y_axis.y, d.z_axis.z
                )
            }
        };
        self.fault(&inertial.at, format!("the link `{}`: {why}", link.name), wanted);
    }

    /// Where the meshes are.
    fn meshes(&mut self, path: &Path) -> Vec<(String, PathBuf)> {
        let mut out: Vec<(String, PathBuf)> = Vec::new();
        for link in &self.model.links {
            let shapes = if link.collision.is_empty() { &link.visual } else { &link.collision };
            for shape in shapes {
                let Geometry::Mesh(file, _) = &shape.geometry else { continue };
                match find_mesh(file, path) {
                    Ok(found) => out.push((file.clone(), found)),
                    Err(tried) => {
                        let wanted = format!("looked for {tried}");
                        self.fault(&shape.at, format!("the mesh `{file}` of link `{}` is not there", link.name), wanted);
                    }
                }
            }
        }
        out
    }
}

fn weight(link: &Link, place: &Pose) -> Option<Volume> {
    let inertial = link.inertial.as_ref().filter(|i| i.mass > 0.0)?;
    let turn: DMat3 = (*place * inertial.origin).rotation();
    let center = place.point(inertial.origin.position);
    Some(Volume { volume: inertial.mass, center, inertia: turn * inertial.inertia * turn.transpose() })
}

fn solid(geometry: &Geometry) -> Option<Volume> {
    use signorini_mechanics::geometry::Shape;
    let shape = match *geometry {
        Geometry::Box(edges) => Shape::Box { half_extents: 0.5 * edges },
        Geometry::Cylinder(radius, length) => Shape::Cylinder { radius, half_length: 0.5 * length },
        Geometry::Capsule(radius, length) => Shape::Capsule { radius, half_length: 0.5 * length },
        Geometry::Sphere(radius) => Shape::Sphere { radius },
        Geometry::Mesh(..) => return None,
    };
    Volume::of(&shape).ok()
}

/// The file of a mesh: a path, `file://…`, or `package://NAME/…` with the package above or beside the robot file.
fn find_mesh(file: &str, robot: &Path) -> Result<PathBuf, String> {
    let whole = std::path::absolute(robot).unwrap_or_else(|_| robot.to_path_buf());
    let folder = whole.parent().unwrap_or(Path::new("/"));
    let candidates: Vec<PathBuf> = match file.strip_prefix("package://").and_then(|rest| rest.split_once('/')) {
        Some((package, rest)) => folder
            .ancestors()
            .flat_map(|up| {
                let own = (up.file_name().is_some_and(|n| n == package)).then(|| up.join(rest));
                own.into_iter().chain([up.join(package).join(rest)])
            })
            .collect(),
        None => vec![folder.join(file.strip_prefix("file://").unwrap_or(file))],
    };
    let found = candidates.iter().find(|c| c.is_file()).cloned();
    let above = if candidates.len() > 1 { " and in the folders above" } else { "" };
    found.ok_or_else(|| format!("{}{above}", candidates[0].display()))
}
