//! The XML of a robot file, read into links and joints. Every fault knows its place.

use super::Fault;
use crate::scenefile::fault::suggestion;
use glam::{DMat3, DQuat, DVec3};
use roxmltree::{Document, Node};
use signorini_solve::math::pose::Pose;
use std::ops::Range;

/// A robot.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// Links in the order of the file.
    pub links: Vec<Link>,
    /// Joints in the order of the file.
    pub joints: Vec<Joint>,
    /// Joints that transmissions drive.
    pub driven: Vec<String>,
}

/// A link.
#[derive(Clone, Debug)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub at: Range<usize>,
    /// Mass and inertia, if any.
    pub inertial: Option<Inertial>,
    /// What touches.
    pub collision: Vec<Shape>,
    /// What is seen.
    pub visual: Vec<Shape>,
}

/// Mass and inertia of a link.
#[derive(Clone, Debug)]
pub struct Inertial {
    /// Centre of mass and axes of the inertia.
    pub origin: Pose,
    /// kg.
    pub mass: f64,
    /// About the centre, along those axes, kg m².
    pub inertia: DMat3,
    /// Where the inertia stands.
    pub at: Range<usize>,
}

/// A shape of a link.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Where it lies in the link.
    pub origin: Pose,
    /// What it is.
    pub geometry: Geometry,
    /// Where it stands.
    pub at: Range<usize>,
}

/// What a shape is.
#[derive(Clone, Debug, PartialEq)]
pub enum Geometry {
    /// Edges, m.
    Box(DVec3),
    /// Radius and length, m.
    Cylinder(f64, f64),
    /// Radius and length between the half-balls, m.
    Capsule(f64, f64),
    /// Radius, m.
    Sphere(f64),
    /// File and scale.
    Mesh(String, DVec3),
}

/// A joint.
#[derive(Clone, Debug)]
pub struct Joint {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub at: Range<usize>,
    /// revolute, continuous, prismatic, fixed, floating, planar.
    pub kind: String,
    /// Parent link.
    pub parent: String,
    /// Child link.
    pub child: String,
    /// Where the child is in the parent at zero.
    pub origin: Pose,
    /// Unit vector in the child's frame.
    pub axis: DVec3,
    /// Least and greatest value, rad or m.
    pub limits: Option<(f64, f64)>,
    /// Greatest force or torque.
    pub effort: Option<f64>,
    /// N m s/rad or N s/m.
    pub damping: f64,
    /// N m or N.
    pub friction: f64,
    /// Joint, multiplier, offset, and where it stands.
    pub mimic: Option<(String, f64, f64, Range<usize>)>,
}

const KINDS: [&str; 6] = ["revolute", "continuous", "prismatic", "fixed", "floating", "planar"];

/// Reads a robot and notes every fault.
pub struct Reader<'a> {
    text: &'a str,
    /// What is wrong.
    pub faults: Vec<Fault>,
    /// What is not used.
    pub notes: Vec<String>,
}

impl<'a> Reader<'a> {
    /// A reader of this text.
    pub fn new(text: &'a str) -> Reader<'a> {
        Reader { text, faults: Vec::new(), notes: Vec::new() }
    }

    fn fault(&mut self, range: Range<usize>, message: impl Into<String>, wanted: impl Into<String>) {
        self.faults.push(Fault { range, message: message.into(), wanted: wanted.into() });
    }

    fn line(&self, at: usize) -> usize {
        self.text[..at.min(self.text.len())].matches('\n').count() + 1
    }

    fn unused(&mut self, node: Node<'_, '_>, why: &str) {
        let line = self.line(node.range().start);
        self.notes.push(format!("line {line}: <{}> is not used{why}", node.tag_name().name()));
    }

    /// The whole robot.
    pub fn robot(&mut self) -> Option<Model> {
        let document = match Document::parse(self.text) {
            Ok(document) => document,
            Err(error) => {
                let position = error.pos();
                let before: usize = self.text.split_inclusive('\n').take(position.row as usize - 1).map(str::len).sum();
                let at = (before + position.col as usize - 1).min(self.text.len());
                self.fault(at..at + 1, format!("this is no XML: {error}"), "wanted a robot file");
                return None;
            }
        };
        let root = document.root_element();
        if root.tag_name().name() != "robot" {
            self.fault(head(root), format!("found <{}>", root.tag_name().name()), "wanted <robot name=\"…\">");
            return None;
        }
        let mut model = Model { name: root.attribute("name").unwrap_or("robot").into(), ..Model::default() };
        for node in root.children().filter(Node::is_element) {
            match node.tag_name().name() {
                "link" => model.links.extend(self.link(node)),
                "joint" => model.joints.extend(self.joint(node)),
                "transmission" => {
                    let joints = node.children().filter(|n| n.has_tag_name("joint"));
                    model.driven.extend(joints.filter_map(|n| n.attribute("name").map(String::from)));
                }
                "material" => {}
                _ => self.unused(node, ""),
            }
        }
        if model.links.is_empty() && self.faults.is_empty() {
            self.fault(head(root), "the robot has no links", "wanted at least one <link name=\"…\">");
        }
        Some(model)
    }

    fn link(&mut self, node: Node<'_, '_>) -> Option<Link> {
        let name = self.name(node)?;
        let mut link = Link { name, at: head(node), inertial: None, collision: Vec::new(), visual: Vec::new() };
        for child in node.children().filter(Node::is_element) {
            match child.tag_name().name() {
                "inertial" => link.inertial = self.inertial(child),
                "collision" => link.collision.extend(self.shape(child)),
                "visual" => link.visual.extend(self.shape(child)),
                _ => self.unused(child, ""),
            }
        }
        Some(link)
    }

    fn inertial(&mut self, node: Node<'_, '_>) -> Option<Inertial> {
        let origin = self.origin(node)?;
        let (Some(mass), Some(inertia)) = (self.child(node, "mass"), self.child(node, "inertia")) else { return None };
        let entry = |reader: &mut Self, key: &str, wanted: bool| match inertia.attribute(key) {
            None if !wanted => Some(0.0),
            _ => reader.number(inertia, key, None),
        };
        let [xx, yy, zz] = ["ixx", "iyy", "izz"].map(|key| entry(self, key, true));
        let [xy, xz, yz] = ["ixy", "ixz", "iyz"].map(|key| entry(self, key, false));
        let (xx, yy, zz, xy, xz, yz) = (xx?, yy?, zz?, xy?, xz?, yz?);
        let matrix = DMat3::from_cols(DVec3::new(xx, xy, xz), DVec3::new(xy, yy, yz), DVec3::new(xz, yz, zz));
        Some(Inertial { origin, mass: self.number(mass, "value", None)?, inertia: matrix, at: head(inertia) })
    }

    fn shape(&mut self, node: Node<'_, '_>) -> Option<Shape> {
        let origin = self.origin(node)?;
        let geometry = self.child(node, "geometry")?;
        let Some(kind) = geometry.children().find(Node::is_element) else {
            self.fault(head(geometry), "the geometry is empty", "wanted <box>, <cylinder>, <sphere>, <capsule> or <mesh>");
            return None;
        };
        for other in node.children().filter(|n| n.is_element() && !["origin", "geometry", "material"].contains(&n.tag_name().name())) {
            self.unused(other, "");
        }
        let geometry = match kind.tag_name().name() {
            "box" => Geometry::Box(self.vector(kind, "size", None)?),
            "cylinder" => Geometry::Cylinder(self.number(kind, "radius", None)?, self.number(kind, "length", None)?),
            "capsule" => Geometry::Capsule(self.number(kind, "radius", None)?, self.number(kind, "length", None)?),
            "sphere" => Geometry::Sphere(self.number(kind, "radius", None)?),
            "mesh" => Geometry::Mesh(self.text(kind, "filename")?, self.vector(kind, "scale", Some(DVec3::ONE))?),
            other => {
                let known = ["box", "cylinder", "capsule", "sphere", "mesh"];
                self.fault(head(kind), format!("there is no shape <{other}>"), suggestion(other, &known));
                return None;
            }
        };
        Some(Shape { origin, geometry, at: head(kind) })
    }

    fn joint(&mut self, node: Node<'_, '_>) -> Option<Joint> {
        let name = self.name(node)?;
        let kind = self.text(node, "type")?;
        if !KINDS.contains(&kind.as_str()) {
            self.fault(attribute(node, "type"), format!("there is no joint of type `{kind}`"), suggestion(&kind, &KINDS));
            return None;
        }
        let (parent, child) = (self.child(node, "parent")?, self.child(node, "child")?);
        let mut joint = Joint {
            name,
            at: head(node),
            kind,
            parent: self.text(parent, "link")?,
            child: self.text(child, "link")?,
            origin: self.origin(node)?,
            axis: DVec3::X,
            limits: None,
            effort: None,
            damping: 0.0,
            friction: 0.0,
            mimic: None,
        };
        for part in node.children().filter(Node::is_element) {
            match part.tag_name().name() {
                "origin" | "parent" | "child" => {}
                "axis" => {
                    let axis = self.vector(part, "xyz", Some(DVec3::X))?;
                    if !(axis.length() > 0.0) {
                        self.fault(head(part), "the axis has no length", "wanted a direction such as xyz=\"0 0 1\"");
                        return None;
                    }
                    joint.axis = axis.normalize();
                }
                "limit" => self.limit(part, &mut joint)?,
                "dynamics" => {
                    joint.damping = self.number(part, "damping", Some(0.0))?;
                    joint.friction = self.number(part, "friction", Some(0.0))?;
                }
                "mimic" => {
                    let (multiplier, offset) = (self.number(part, "multiplier", Some(1.0))?, self.number(part, "offset", Some(0.0))?);
                    joint.mimic = Some((self.text(part, "joint")?, multiplier, offset, attribute(part, "joint")));
                }
                _ => self.unused(part, ""),
            }
        }
        Some(joint)
    }

    fn limit(&mut self, node: Node<'_, '_>, joint: &mut Joint) -> Option<()> {
        let (lower, upper) = (self.number(node, "lower", Some(0.0))?, self.number(node, "upper", Some(0.0))?);
        joint.effort = Some(self.number(node, "effort", Some(0.0))?).filter(|e| *e > 0.0);
        if joint.kind == "continuous" {
            return Some(());
        }
        if lower > upper {
            self.fault(head(node), format!("limits {lower} … {upper} of `{}`", joint.name), "wanted lower ≤ upper");
            return None;
        }
        joint.limits = (lower < upper).then_some((lower, upper));
        if joint.limits.is_none() && joint.kind != "fixed" {
            let line = self.line(node.range().start);
            self.notes.push(format!("line {line}: `{}` has the same lower and upper limit: it moves without stops", joint.name));
        }
        Some(())
    }

    fn name(&mut self, node: Node<'_, '_>) -> Option<String> {
        self.text(node, "name")
    }

    fn child<'n, 'd>(&mut self, node: Node<'n, 'd>, name: &str) -> Option<Node<'n, 'd>> {
        let found = node.children().find(|n| n.has_tag_name(name));
        if found.is_none() {
            self.fault(head(node), format!("<{}> has no <{name}>", node.tag_name().name()), format!("wanted <{name} …/> inside"));
        }
        found
    }

    fn text(&mut self, node: Node<'_, '_>, key: &str) -> Option<String> {
        match node.attribute(key) {
            Some(text) if !text.is_empty() => Some(text.into()),
            _ => {
                self.fault(head(node), format!("<{}> has no {key}", node.tag_name().name()), format!("wanted {key}=\"…\""));
                None
            }
        }
    }

    fn number(&mut self, node: Node<'_, '_>, key: &str, otherwise: Option<f64>) -> Option<f64> {
        match (node.attribute(key), otherwise) {
            (None, Some(value)) => Some(value),
            (None, None) => self.text(node, key).map(|_| 0.0),
            (Some(text), _) => match text.trim().parse::<f64>() {
                Ok(x) if x.is_finite() => Some(x),
                _ => {
                    self.fault(attribute(node, key), format!("{key} is \"{text}\""), "wanted a number");
                    None
                }
            },
        }
    }

    fn vector(&mut self, node: Node<'_, '_>, key: &str, otherwise: Option<DVec3>) -> Option<DVec3> {
        let text = match (node.attribute(key), otherwise) {
            (None, Some(value)) => return Some(value),
            (None, None) => self.text(node, key)?,
            (Some(text), _) => text.to_string(),
        };
        let numbers: Vec<f64> = text.split_whitespace().filter_map(|w| w.parse().ok()).filter(|x: &f64| x.is_finite()).collect();
        if numbers.len() != 3 || text.split_whitespace().count() != 3 {
            self.fault(attribute(node, key), format!("{key} is \"{text}\""), "wanted three numbers such as \"0 0 1\"");
            return None;
        }
        Some(DVec3::from_slice(&numbers))
    }

    fn origin(&mut self, node: Node<'_, '_>) -> Option<Pose> {
        let Some(origin) = node.children().find(|n| n.has_tag_name("origin")) else { return Some(Pose::IDENTITY) };
        let (xyz, rpy) = (self.vector(origin, "xyz", Some(DVec3::ZERO)), self.vector(origin, "rpy", Some(DVec3::ZERO)));
        let rpy = rpy?;
        let turn = DQuat::from_rotation_z(rpy.z) * DQuat::from_rotation_y(rpy.y) * DQuat::from_rotation_x(rpy.x);
        Some(Pose::new(xyz?, turn.normalize()))
    }
}

/// The opening tag of an element.
fn head(node: Node<'_, '_>) -> Range<usize> {
    let range = node.range();
    let text = &node.document().input_text()[range.clone()];
    range.start..range.start + text.find('>').map_or(text.len(), |i| i + 1)
}

/// An attribute with its value; the opening tag if it is not there.
fn attribute(node: Node<'_, '_>, key: &str) -> Range<usize> {
    node.attribute_node(key).map_or_else(|| head(node), |a| a.range())
}
