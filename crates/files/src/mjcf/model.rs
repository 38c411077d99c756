//! Bodies, joints and geoms of MJCF, as a tree in the order of the file.

use super::read::Attributes;
use super::xml::{Element, MAIN};
use crate::robot::{Solid, Weight};
use glam::{DMat3, DVec3};
use signorini_mechanics::geometry::{Shape, Volume, mass};
use signorini_solve::math::pose::Pose;
use std::collections::HashMap;
use std::path::PathBuf;

/// A mesh asset.
#[derive(Clone, Debug)]
pub struct MeshAsset {
    /// The file.
    pub file: PathBuf,
    /// What one unit of the file is, m.
    pub scale: DVec3,
    /// Where the frame of the mesh is in the coordinates of the file.
    pub frame: Pose,
    /// How its mass is found.
    pub mass: MeshMass,
}

/// How the mass of a mesh is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeshMass {
    /// All tetrahedra between its triangles and its centre count as positive.
    Legacy,
    /// The volume within.
    Exact,
    /// The volume of its hull.
    Convex,
}

/// What a joint leaves free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Everything.
    Free,
    /// A rotation about a point.
    Ball,
    /// A displacement along an axis.
    Slide,
    /// A rotation about an axis.
    Hinge,
}

impl Kind {
    /// How many numbers of qpos it takes.
    pub fn width(self) -> usize {
        match self {
            Kind::Free => 7,
            Kind::Ball => 4,
            Kind::Slide | Kind::Hinge => 1,
        }
    }
}

/// A joint.
#[derive(Clone, Debug)]
pub struct Joint {
    /// Its name.
    pub name: String,
    /// What it leaves free.
    pub kind: Kind,
    /// Its axis in the frame of the body, unit vector.
    pub axis: DVec3,
    /// Its point in the frame of the body, m.
    pub point: DVec3,
    /// Its value where the bodies are as written.
    pub reference: f64,
    /// Least and greatest value.
    pub range: Option<(f64, f64)>,
    /// Damping.
    pub damping: f64,
    /// Stiffness and the value where it rests.
    pub spring: Option<(f64, f64)>,
    /// Dry friction.
    pub friction: f64,
    /// Rotor inertia.
    pub armature: f64,
    /// Greatest effort of all actuators together.
    pub effort: Option<f64>,
    /// The first of its numbers in qpos.
    pub qpos: usize,
}

/// A geom.
#[derive(Clone, Debug)]
pub struct Geom {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Where it is in the frame of the body.
    pub pose: Pose,
    /// What it is.
    pub solid: Solid,
    /// Bits of what it is, and of what it touches.
    pub bits: (u32, u32),
    /// Coefficient of friction; 0 where contacts have no friction at all.
    pub mu: f64,
    /// Whose friction counts.
    pub priority: i64,
}

/// A body.
#[derive(Clone, Debug)]
pub struct Body {
    /// Its name.
    pub name: String,
    /// The body that it is in; the world has none.
    pub parent: Option<usize>,
    /// Where it is in its parent.
    pub pose: Pose,
    /// Its joints.
    pub joints: Vec<Joint>,
    /// Its geoms.
    pub geoms: Vec<Geom>,
    /// Mass and inertia, if it has any.
    pub weight: Option<Weight>,
    /// Where it stands.
    pub at: Element,
}

/// The tree.
#[derive(Debug, Default)]
pub struct Tree {
    /// The world and all bodies, parents first.
    pub bodies: Vec<Body>,
    /// Body and place of named sites.
    pub sites: HashMap<String, (usize, Pose)>,
    /// Meshes by name.
    pub meshes: HashMap<String, MeshAsset>,
    /// Length of qpos.
    pub qpos: usize,
    /// Whether anything is softer than rigid.
    pub soft: Option<Element>,
}

/// Where elements are being read: which body, in which frame, of which class.
#[derive(Clone)]
struct Place {
    body: usize,
    frame: Pose,
    class: String,
}

impl Tree {
    /// Reads all bodies.
    pub fn read(&mut self, root: &Element, attributes: &mut Attributes<'_, '_, '_>) {
        let world = Body {
            name: "world".into(),
            parent: None,
            pose: Pose::IDENTITY,
            joints: Vec::new(),
            geoms: Vec::new(),
            weight: None,
            at: root.clone(),
        };
        self.bodies.push(world);
        for element in root.all("worldbody") {
            let place = Place { body: 0, frame: Pose::IDENTITY, class: MAIN.into() };
            self.contents(element, &place, attributes, &mut Vec::new());
        }
    }

    /// Everything in a body or frame; the volumes of geoms with a mass are collected.
    fn contents(
        &mut self,
        element: &Element,
        place: &Place,
        attributes: &mut Attributes<'_, '_, '_>,
        volumes: &mut Vec<Volume>,
    ) {
        for child in &element.children {
            let class = child.own("class").unwrap_or(&place.class).to_string();
            if !attributes.defaults.knows(&class) {
                attributes.reader.fault(
                    child,
                    format!("there is no default class `{class}`"),
                    "wanted one that exists",
                );
                continue;
            }
            match child.tag.as_str() {
                "body" => self.body(child, place, attributes),
                "frame" => {
                    let class = child.own("childclass").unwrap_or(&place.class).to_string();
                    let frame = place.frame * attributes.pose(child, &class);
                    self.contents(
                        child,
                        &Place { body: place.body, frame, class },
                        attributes,
                        volumes,
                    );
                }
                "geom" => {
                    if let Some(geom) = self.geom(child, &class, place, attributes, volumes) {
                        self.bodies[place.body].geoms.push(geom);
                    }
                }
                "joint" | "freejoint" => self.joint(child, &class, place, attributes),
                "site" => {
                    if let Some(name) = child.own("name") {
                        let pose = place.frame * attributes.pose(child, &class);
                        self.sites.insert(name.into(), (place.body, pose));
                    }
                }
                "inertial" | "light" | "camera" => {}
                other => attributes.reader.left_out(child, format!("<{other}> is left out")),
            }
        }
    }

    fn body(&mut self, element: &Element, place: &Place, attributes: &mut Attributes<'_, '_, '_>) {
        let number = self.bodies.len();
        let class = element.own("childclass").unwrap_or(&place.class).to_string();
        let pose = place.frame * attributes.pose(element, &class);
        let name = element.own("name").map_or_else(|| format!("body_{number}"), String::from);
        if element.own("mocap") == Some("true") {
            attributes
                .reader
                .left_out(element, format!("the mocap body `{name}` is fixed where it stands"));
        }
        self.bodies.push(Body {
            name,
            parent: Some(place.body),
            pose,
            joints: Vec::new(),
            geoms: Vec::new(),
            weight: None,
            at: element.clone(),
        });
        let inside = Place { body: number, frame: Pose::IDENTITY, class: class.clone() };
        // Joints first: their numbers in qpos come before those of bodies within.
        let mut volumes = Vec::new();
        self.contents(element, &inside, attributes, &mut volumes);
        let inertial = element.all("inertial").next();
        let given = inertial.and_then(|inertial| weight(inertial, &class, attributes));
        self.bodies[number].weight = match (given, attributes.compiler.from_geom) {
            (Some(given), None | Some(false)) => Some(given),
            (None, Some(false)) => None,
            _ if volumes.is_empty() => given,
            _ => {
                let sum = mass::sum(&volumes);
                Some(Weight { mass: sum.volume, center: sum.center, inertia: sum.inertia })
            }
        };
    }

    fn joint(
        &mut self,
        element: &Element,
        class: &str,
        place: &Place,
        attributes: &mut Attributes<'_, '_, '_>,
    ) {
        let free = element.tag == "freejoint";
        let word = if free {
            "free".into()
        } else {
            attributes.text(element, class, "type").unwrap_or_else(|| "hinge".into())
        };
        let kind = match word.as_str() {
            "free" => Kind::Free,
            "ball" => Kind::Ball,
            "slide" => Kind::Slide,
            "hinge" => Kind::Hinge,
            other => {
                attributes.reader.fault(
                    element,
                    format!("there is no joint of type `{other}`"),
                    "wanted free, ball, slide or hinge",
                );
                return;
            }
        };
        if place.body == 0 {
            attributes.reader.fault(element, "the world has a joint", "wanted joints in bodies");
            return;
        }
        let body = &self.bodies[place.body];
        let number = body.joints.len();
        let plain = if number == 0 {
            format!("{}_joint", body.name)
        } else {
            format!("{}_joint_{number}", body.name)
        };
        let name = element.own("name").map_or(plain, String::from);
        let mut joint = Joint {
            name,
            kind,
            axis: DVec3::Z,
            point: DVec3::ZERO,
            reference: 0.0,
            range: None,
            damping: 0.0,
            spring: None,
            friction: 0.0,
            armature: 0.0,
            effort: None,
            qpos: self.qpos,
        };
        self.qpos += kind.width();
        if !free {
            self.figures(element, class, place, attributes, &mut joint);
        }
        self.bodies[place.body].joints.push(joint);
    }

    /// The figures of a joint that is not free.
    fn figures(
        &mut self,
        element: &Element,
        class: &str,
        place: &Place,
        a: &mut Attributes<'_, '_, '_>,
        joint: &mut Joint,
    ) {
        let axis = a.vector(element, class, "axis").unwrap_or(DVec3::Z);
        if !(axis.length() > 0.0) && matches!(joint.kind, Kind::Slide | Kind::Hinge) {
            a.reader.fault(
                element,
                format!("the axis of `{}` has no length", joint.name),
                "wanted a direction such as axis=\"0 0 1\"",
            );
        }
        joint.axis = place.frame.vector(axis.normalize_or(DVec3::Z));
        joint.point = place.frame.point(a.vector(element, class, "pos").unwrap_or(DVec3::ZERO));
        let turning = joint.kind != Kind::Slide;
        let scaled = |a: &Attributes<'_, '_, '_>, x: f64| if turning { a.angle(x) } else { x };
        let number = |a: &mut Attributes<'_, '_, '_>, name: &str| {
            a.number(element, class, name).unwrap_or(0.0)
        };
        joint.reference = number(a, "ref");
        joint.reference = scaled(a, joint.reference);
        joint.damping = number(a, "damping");
        joint.friction = number(a, "frictionloss");
        joint.armature = number(a, "armature");
        let (stiffness, rest) = (number(a, "stiffness"), number(a, "springref"));
        joint.spring = (stiffness > 0.0).then(|| (stiffness, scaled(a, rest)));
        if a.limited(element, class, "limited", "range")
            && let Some(&[lo, hi]) = a.numbers(element, class, "range").as_deref()
        {
            joint.range = Some((scaled(a, lo), scaled(a, hi)));
        }
        if a.limited(element, class, "actuatorfrclimited", "actuatorfrcrange")
            && let Some(&[lo, hi]) = a.numbers(element, class, "actuatorfrcrange").as_deref()
        {
            joint.effort = Some(hi.max(-lo));
        }
        if joint.kind == Kind::Ball
            && (joint.range.is_some() || joint.armature > 0.0 || joint.friction > 0.0)
        {
            let message = format!(
                "limits, armature and friction loss of the ball joint `{}` are left out",
                joint.name
            );
            a.reader.left_out(element, message);
        }
        if self.soft.is_none()
            && ["solreflimit", "solimplimit", "solreffriction"]
                .iter()
                .any(|n| a.defaults.get(element, class, n).is_some())
        {
            self.soft = Some(element.clone());
        }
    }

    fn geom(
        &mut self,
        element: &Element,
        class: &str,
        place: &Place,
        a: &mut Attributes<'_, '_, '_>,
        volumes: &mut Vec<Volume>,
    ) -> Option<Geom> {
        let mesh = a.text(element, class, "mesh");
        let kind = a
            .text(element, class, "type")
            .unwrap_or_else(|| if mesh.is_some() { "mesh".into() } else { "sphere".into() });
        let size = a.numbers(element, class, "size").unwrap_or_default();
        let mut pose = a.pose(element, class);
        let mut length = size.get(1).copied().unwrap_or(0.0);
        if let Some(&[x, y, z, u, v, w]) = a.numbers(element, class, "fromto").as_deref() {
            let (from, to) = (DVec3::new(x, y, z), DVec3::new(u, v, w));
            length = 0.5 * from.distance(to);
            // MuJoCo's z axis goes from the second point to the first.
            let along = from - to;
            pose = Pose::new(
                0.5 * (from + to),
                if along.length() > 0.0 { super::read::towards(along) } else { pose.orientation },
            );
        }
        let solid = self.solid(element, &kind, (&size, length), mesh.as_deref(), a)?;
        if let Solid::Mesh { .. } = &solid
            && let Some(asset) = mesh.as_ref().and_then(|m| self.meshes.get(m))
        {
            pose = pose * asset.frame.inverse();
        }
        let pose = place.frame * pose;
        let group = a.number(element, class, "group").unwrap_or(0.0);
        let weighs = group >= a.compiler.groups.0 && group <= a.compiler.groups.1;
        let (given, density) = (
            a.number(element, class, "mass"),
            a.number(element, class, "density").unwrap_or(1000.0),
        );
        let inertial = self.bodies[place.body].at.all("inertial").next().is_some();
        let wanted =
            a.compiler.from_geom == Some(true) || (a.compiler.from_geom.is_none() && !inertial);
        if weighs && wanted && place.body != 0 && given.unwrap_or(density) > 0.0 {
            volumes.extend(self.volume(element, &solid, &pose, given, density, a));
        }
        let bits = |a: &mut Attributes<'_, '_, '_>, name: &str| {
            a.number(element, class, name).unwrap_or(1.0) as u32
        };
        let condim = a.number(element, class, "condim").unwrap_or(3.0);
        let mu =
            a.numbers(element, class, "friction").and_then(|f| f.first().copied()).unwrap_or(1.0);
        if condim > 3.0 {
            a.reader.left_out(
                element,
                "condim above 3: torsional and rolling friction are left \
                out, sliding friction stays",
            );
        }
        if self.soft.is_none()
            && ["solref", "solimp"].iter().any(|n| a.defaults.get(element, class, n).is_some())
        {
            self.soft = Some(element.clone());
        }
        Some(Geom {
            name: element.own("name").map(String::from),
            pose,
            solid,
            bits: (bits(a, "contype"), bits(a, "conaffinity")),
            mu: if condim < 3.0 { 0.0 } else { mu.max(0.0) },
            priority: a.number(element, class, "priority").unwrap_or(0.0) as i64,
        })
    }

    fn solid(
        &self,
        element: &Element,
        kind: &str,
        (size, length): (&[f64], f64),
        mesh: Option<&str>,
        a: &mut Attributes<'_, '_, '_>,
    ) -> Option<Solid> {
        let radius = size.first().copied().unwrap_or(0.0);
        let three = || {
            DVec3::new(
                radius,
                size.get(1).copied().unwrap_or(0.0),
                size.get(2).copied().unwrap_or(0.0),
            )
        };
        let solid = match (kind, mesh) {
            ("plane", _) => Solid::HalfSpace,
            ("mesh", Some(name)) | ("sdf", Some(name)) => match self.meshes.get(name) {
                Some(asset) => {
                    Solid::Mesh { file: asset.file.clone(), scale: asset.scale, hull: true }
                }
                None => {
                    a.reader.fault(
                        element,
                        format!("there is no mesh `{name}`"),
                        "wanted one of <asset>",
                    );
                    return None;
                }
            },
            ("sphere" | "capsule" | "cylinder" | "ellipsoid" | "box", Some(_)) => {
                a.reader.left_out(element, format!("a {kind} fitted to a mesh is left out"));
                return None;
            }
            ("sphere", _) => Solid::Sphere(radius),
            ("capsule", _) => Solid::Capsule(radius, 2.0 * length),
            ("cylinder", _) => Solid::Cylinder(radius, 2.0 * length),
            ("ellipsoid", _) => Solid::Ellipsoid(three()),
            ("box", _) => Solid::Box(2.0 * three()),
            (other, _) => {
                a.reader.left_out(element, format!("a geom of type `{other}` is left out"));
                return None;
            }
        };
        let smallest = match &solid {
            Solid::Sphere(r) => *r,
            Solid::Capsule(r, l) | Solid::Cylinder(r, l) => r.min(*l),
            Solid::Ellipsoid(x) | Solid::Box(x) => x.min_element(),
            _ => 1.0,
        };
        if !(smallest > 0.0) {
            let count = size.len();
            a.reader.fault(
                element,
                format!("a {kind} with {count} sizes, one of them not above 0"),
                "wanted sizes above 0",
            );
            return None;
        }
        Some(solid)
    }

    /// Mass, centre and inertia of a geom in the frame of its body.
    fn volume(
        &self,
        element: &Element,
        solid: &Solid,
        pose: &Pose,
        given: Option<f64>,
        density: f64,
        a: &mut Attributes<'_, '_, '_>,
    ) -> Option<Volume> {
        let shape = match solid {
            Solid::Sphere(radius) => Shape::Sphere { radius: *radius },
            Solid::Box(edges) => Shape::Box { half_extents: 0.5 * *edges },
            Solid::Capsule(radius, length) => {
                Shape::Capsule { radius: *radius, half_length: 0.5 * length }
            }
            Solid::Cylinder(radius, length) => {
                Shape::Cylinder { radius: *radius, half_length: 0.5 * length }
            }
            Solid::Ellipsoid(axes) => {
                let volume = 4.0 / 3.0 * std::f64::consts::PI * axes.x * axes.y * axes.z;
                let s = *axes * *axes;
                let inertia = DMat3::from_diagonal(
                    DVec3::new(s.y + s.z, s.z + s.x, s.x + s.y) * (0.2 * volume),
                );
                return Some(weighed(
                    Volume { volume, center: DVec3::ZERO, inertia },
                    pose,
                    given,
                    density,
                ));
            }
            Solid::HalfSpace | Solid::Hull(_) => return None,
            Solid::Mesh { file, scale, .. } => {
                let found = crate::surface::read(file).map(|mut mesh| {
                    mesh.vertices.iter_mut().for_each(|v| *v *= *scale);
                    mesh
                });
                let mode = self
                    .meshes
                    .values()
                    .find(|m| m.file == *file)
                    .map_or(MeshMass::Legacy, |m| m.mass);
                return match (found, mode) {
                    (Ok(mesh), MeshMass::Convex) => {
                        Volume::of(&Shape::Hull { points: mesh.extremes() })
                            .ok()
                            .map(|v| weighed(v, pose, given, density))
                    }
                    (Ok(mesh), mode) => mesh_volume(&mesh, mode == MeshMass::Legacy)
                        .map(|v| weighed(v, pose, given, density)),
                    (Err(why), _) => {
                        a.reader.fault(
                            element,
                            format!("the mesh {} {why}", file.display()),
                            "wanted an .stl or .obj file",
                        );
                        None
                    }
                };
            }
        };
        match Volume::of(&shape) {
            Ok(volume) => Some(weighed(volume, pose, given, density)),
            Err(why) => {
                a.reader.left_out(element, format!("it has no mass: {why}"));
                None
            }
        }
    }
}

/// The volume within a mesh, from tetrahedra between its triangles and its centre. Those of a
/// closed, consistently turned mesh are counted with their signs; MuJoCo's legacy way counts all of
/// them as positive, which is too much where a mesh is not convex, but is what the masses of
/// existing models were made with.
fn mesh_volume(mesh: &crate::surface::Mesh, legacy: bool) -> Option<Volume> {
    let corners = |t: &[u32; 3]| t.map(|v| mesh.vertices[v as usize]);
    let (mut area, mut middle) = (0.0, DVec3::ZERO);
    for [a, b, c] in mesh.triangles.iter().map(corners) {
        let size = 0.5 * (b - a).cross(c - a).length();
        area += size;
        middle += (a + b + c) / 3.0 * size;
    }
    let middle = middle / area;
    let signed = |a: DVec3, b: DVec3, c: DVec3| {
        let volume = a.dot(b.cross(c)) / 6.0;
        if legacy { volume.abs() } else { volume }
    };
    let (mut volume, mut center) = (0.0, DVec3::ZERO);
    for [a, b, c] in mesh.triangles.iter().map(corners) {
        let part = signed(a - middle, b - middle, c - middle);
        volume += part;
        center += (a + b + c + middle) * (0.25 * part);
    }
    let center = center / volume;
    let (mut volume, mut moments) = (0.0, DMat3::ZERO);
    let outer = |x: DVec3| DMat3::from_cols(x * x.x, x * x.y, x * x.z);
    for [a, b, c] in mesh.triangles.iter().map(corners) {
        let (a, b, c) = (a - center, b - center, c - center);
        let part = signed(a, b, c);
        volume += part;
        moments += (outer(a) + outer(b) + outer(c) + outer(a + b + c)) * (part / 20.0);
    }
    // A mesh that is inside out has a negative volume, and the same body in it.
    let (volume, moments) = if volume < 0.0 { (-volume, -moments) } else { (volume, moments) };
    let trace = moments.x_axis.x + moments.y_axis.y + moments.z_axis.z;
    let inertia = DMat3::from_diagonal(DVec3::splat(trace)) - moments;
    (volume > 0.0 && volume.is_finite()).then_some(Volume { volume, center, inertia })
}

fn weighed(volume: Volume, pose: &Pose, given: Option<f64>, density: f64) -> Volume {
    let density = given.map_or(density, |mass| mass / volume.volume);
    let moved = volume.moved(pose);
    Volume {
        volume: density * moved.volume,
        center: moved.center,
        inertia: moved.inertia * density,
    }
}

/// The mass and inertia that an `<inertial>` gives, in the frame of the body.
fn weight(element: &Element, class: &str, a: &mut Attributes<'_, '_, '_>) -> Option<Weight> {
    let pose = a.pose(element, class);
    let mass = a.number(element, class, "mass")?;
    let inertia =
        match (a.numbers(element, class, "fullinertia"), a.vector(element, class, "diaginertia")) {
            (Some(x), _) if x.len() == 6 => DMat3::from_cols(
                DVec3::new(x[0], x[3], x[4]),
                DVec3::new(x[3], x[1], x[5]),
                DVec3::new(x[4], x[5], x[2]),
            ),
            (None, Some(d)) => DMat3::from_diagonal(d),
            (None, None) => DMat3::ZERO,
            _ => {
                a.reader.fault(
                    element,
                    "fullinertia has not six numbers",
                    "wanted ixx iyy izz ixy ixz iyz",
                );
                return None;
            }
        };
    let turn = pose.rotation();
    Some(Weight { mass, center: pose.position, inertia: turn * inertia * turn.transpose() })
}
