//! Bodies, joints and geoms of MJCF, as a tree in the order of the file.

pub use super::mesh::{MeshAsset, MeshMass};

use super::read::Attributes;
use super::xml::{Element, MAIN};
use crate::robot::{Solid, Weight};
use glam::{DMat3, DVec3};
use signorini_mechanics::geometry::{Volume, mass};
use signorini_solve::math::pose::Pose;
use std::collections::HashMap;

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

/// Friction of a geom as the file gives it.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Grip {
    /// Whose friction counts: the highest.
    pub priority: i64,
    /// Directions in which contacts resist: 1, 3, 4 or 6.
    pub condim: u8,
    /// Sliding, torsional and rolling friction.
    pub friction: [f64; 3],
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
    /// What its contacts are like.
    pub grip: Grip,
    /// Whether it is drawn.
    pub shown: bool,
    /// What it is drawn in, if the file says it.
    pub color: Option<[u8; 3]>,
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
    /// Materials by name: their elements.
    pub materials: HashMap<String, Element>,
    /// Length of qpos.
    pub qpos: usize,
    /// Whether anything is softer than rigid.
    pub soft: Option<Element>,
}

/// Where elements are being read: which body, in which frame, of which class.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) body: usize,
    pub(super) frame: Pose,
    pub(super) class: String,
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
        for material in root.all("asset").flat_map(|a| a.all("material")) {
            if let Some(name) = material.own("name") {
                self.materials.insert(name.into(), material.clone());
            }
        }
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
