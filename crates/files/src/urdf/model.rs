//! The XML of a robot file, read into links and joints. Every fault knows its place.

use crate::robot::{Fault, line};
use crate::spelling::suggestion;
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
    /// What it is drawn in, if the file says it.
    pub color: Option<[u8; 3]>,
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
    /// Everything below the plane through the origin with this normal.
    Plane(DVec3),
}

/// A joint.
#[derive(Clone, Debug)]
pub struct Joint {
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub at: Range<usize>,
    /// One of [`KINDS`].
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

/// The kinds of joints; `spherical` is an extension that some programs read.
pub const KINDS: [&str; 7] =
    ["revolute", "continuous", "prismatic", "fixed", "floating", "planar", "spherical"];

/// Reads a robot and notes every fault.
pub struct Reader<'a> {
    /// The text.
    pub text: &'a str,
    /// Nothing is repaired.
    pub strict: bool,
    /// What is wrong.
    pub faults: Vec<Fault>,
    /// What is not used, and what was repaired.
    pub notes: Vec<String>,
    /// A link or a joint could not be read: whether the rest forms a tree cannot be said.
    pub incomplete: bool,
}

impl<'a> Reader<'a> {
    /// A reader of this text.
    pub fn new(text: &'a str, strict: bool) -> Reader<'a> {
        Reader { text, strict, faults: Vec::new(), notes: Vec::new(), incomplete: false }
    }

    /// Notes a fault.
    pub fn fault(
        &mut self,
        range: Range<usize>,
        message: impl Into<String>,
        wanted: impl Into<String>,
    ) {
        self.faults.push(Fault { file: 0, range, message: message.into(), wanted: wanted.into() });
    }

    /// Notes a repair.
    pub fn repaired(&mut self, at: usize, message: &str, done: &str) {
        let line = line(self.text, at);
        self.notes.push(format!("line {line}: {message}: repaired: {done}"));
    }

    /// Notes a fault that is repaired, unless nothing is to be; true if it is.
    pub fn repair(
        &mut self,
        range: &Range<usize>,
        message: String,
        wanted: &str,
        done: &str,
    ) -> bool {
        if self.strict {
            self.fault(range.clone(), message, wanted);
        } else {
            self.repaired(range.start, &message, done);
        }
        !self.strict
    }

    fn unused(&mut self, node: Node<'_, '_>, why: &str) {
        let line = line(self.text, node.range().start);
        self.notes.push(format!("line {line}: <{}> is not used{why}", node.tag_name().name()));
    }

    /// The whole robot.
    pub fn robot(&mut self) -> Option<Model> {
        let text = self.text;
        let document = Document::parse(text).ok()?;
        let root = document.root_element();
        if root.tag_name().name() != "robot" {
            self.fault(
                head(root),
                format!("found <{}>", root.tag_name().name()),
                "wanted <robot name=\"…\">",
            );
            return None;
        }
        let mut model =
            Model { name: root.attribute("name").unwrap_or("robot").into(), ..Model::default() };
        for node in root.children().filter(Node::is_element) {
            match node.tag_name().name() {
                "link" => {
                    let link = self.link(node);
                    self.incomplete |= link.is_none();
                    model.links.extend(link);
                }
                "joint" => {
                    let joint = self.joint(node);
                    self.incomplete |= joint.is_none();
                    model.joints.extend(joint);
                }
                "transmission" => {
                    let joints = node.children().filter(|n| n.has_tag_name("joint"));
                    model
                        .driven
                        .extend(joints.filter_map(|n| n.attribute("name").map(String::from)));
                }
                "material" => {}
                _ => self.unused(node, ""),
            }
        }
        if model.links.is_empty() && self.faults.is_empty() {
            self.fault(
                head(root),
                "the robot has no links",
                "wanted at least one <link name=\"…\">",
            );
        }
        Some(model)
    }

    fn link(&mut self, node: Node<'_, '_>) -> Option<Link> {
        let name = self.name(node)?;
        let mut link = Link {
            name,
            at: head(node),
            inertial: None,
            collision: Vec::new(),
            visual: Vec::new(),
        };
        for child in node.children().filter(Node::is_element) {
            match child.tag_name().name() {
                "inertial" => link.inertial = self.inertial(child),
                "collision" => link.collision.extend(self.shape(child)),
                "visual" => link.visual.extend(self.seen(child)),
                _ => self.unused(child, ""),
            }
        }
        Some(link)
    }

    fn inertial(&mut self, node: Node<'_, '_>) -> Option<Inertial> {
        let origin = self.origin(node)?;
        let mass = self.child(node, "mass")?;
        let Some(inertia) = node.children().find(|n| n.has_tag_name("inertia")) else {
            let message = "<inertial> has no <inertia>".to_string();
            self.repair(
                &head(node),
                message,
                "wanted <inertia …/> inside",
                "no inertia of its own",
            );
            let mass = self.number(mass, "value", None)?;
            return (!self.strict).then_some(Inertial {
                origin,
                mass,
                inertia: DMat3::ZERO,
                at: head(node),
            });
        };
        let entry = |reader: &mut Self, key: &str, wanted: bool| match inertia.attribute(key) {
            None if !wanted => Some(0.0),
            _ => reader.number(inertia, key, None),
        };
        let [xx, yy, zz] = ["ixx", "iyy", "izz"].map(|key| entry(self, key, true));
        let [xy, xz, yz] = ["ixy", "ixz", "iyz"].map(|key| entry(self, key, false));
        let (xx, yy, zz, xy, xz, yz) = (xx?, yy?, zz?, xy?, xz?, yz?);
        let matrix = DMat3::from_cols(
            DVec3::new(xx, xy, xz),
            DVec3::new(xy, yy, yz),
            DVec3::new(xz, yz, zz),
        );
        Some(Inertial {
            origin,
            mass: self.number(mass, "value", None)?,
            inertia: matrix,
            at: head(inertia),
        })
    }

    /// A shape that is only looked at: what is wrong with it does not matter.
    fn seen(&mut self, node: Node<'_, '_>) -> Option<Shape> {
        let before = self.faults.len();
        let shape = self.shape(node);
        if !self.strict {
            for fault in self.faults.split_off(before) {
                self.repaired(fault.range.start, &fault.message, "the visual shape is left out");
            }
        }
        shape
    }

    fn shape(&mut self, node: Node<'_, '_>) -> Option<Shape> {
        let origin = self.origin(node)?;
        let geometry = self.child(node, "geometry")?;
        let Some(kind) = geometry.children().find(Node::is_element) else {
            let wanted = "wanted <box>, <cylinder>, <sphere>, <capsule> or <mesh>";
            self.repair(&head(geometry), "the geometry is empty".into(), wanted, "left out");
            return None;
        };
        for other in node.children().filter(|n| {
            n.is_element() && !["origin", "geometry", "material"].contains(&n.tag_name().name())
        }) {
            self.unused(other, "");
        }
        let geometry = match kind.tag_name().name() {
            "box" => Geometry::Box(self.vector(kind, "size", None)?),
            "cylinder" => Geometry::Cylinder(
                self.number(kind, "radius", None)?,
                self.number(kind, "length", None)?,
            ),
            "capsule" => Geometry::Capsule(
                self.number(kind, "radius", None)?,
                self.number(kind, "length", None)?,
            ),
            "sphere" => Geometry::Sphere(self.number(kind, "radius", None)?),
            "mesh" => Geometry::Mesh(
                self.text(kind, "filename")?,
                self.vector(kind, "scale", Some(DVec3::ONE))?,
            ),
            "plane" => {
                Geometry::Plane(self.vector(kind, "normal", Some(DVec3::Z))?.normalize_or(DVec3::Z))
            }
            other => {
                let wanted = suggestion(other, &["box", "cylinder", "capsule", "sphere", "mesh"]);
                self.repair(
                    &head(kind),
                    format!("there is no shape <{other}>"),
                    &wanted,
                    "left out",
                );
                return None;
            }
        };
        Some(Shape { origin, geometry, color: color(node), at: head(kind) })
    }

    fn joint(&mut self, node: Node<'_, '_>) -> Option<Joint> {
        let name = self.name(node)?;
        let kind = self.text(node, "type")?;
        if !KINDS.contains(&kind.as_str()) {
            self.fault(
                attribute(node, "type"),
                format!("there is no joint of type `{kind}`"),
                suggestion(&kind, &KINDS),
            );
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
                    // A joint that leaves no axis needs none.
                    if !self.strict
                        && ["fixed", "floating", "spherical"].contains(&joint.kind.as_str())
                    {
                        continue;
                    }
                    let axis = self.vector(part, "xyz", Some(DVec3::X))?;
                    if !(axis.length() > 0.0) {
                        let message = format!("the axis of `{}` has no length", joint.name);
                        self.repair(
                            &head(part),
                            message,
                            "wanted a direction such as xyz=\"0 0 1\"",
                            "x, as URDF has it without an axis",
                        );
                    } else {
                        joint.axis = axis.normalize();
                    }
                }
                "limit" if joint.kind == "fixed" => {}
                "limit" => self.limit(part, &mut joint)?,
                "dynamics" => {
                    joint.damping = self.number(part, "damping", Some(0.0))?;
                    joint.friction = self.number(part, "friction", Some(0.0))?;
                }
                "mimic" => {
                    let (multiplier, offset) = (
                        self.number(part, "multiplier", Some(1.0))?,
                        self.number(part, "offset", Some(0.0))?,
                    );
                    joint.mimic = Some((
                        self.text(part, "joint")?,
                        multiplier,
                        offset,
                        attribute(part, "joint"),
                    ));
                }
                _ => self.unused(part, ""),
            }
        }
        Some(joint)
    }

    fn limit(&mut self, node: Node<'_, '_>, joint: &mut Joint) -> Option<()> {
        let (lower, upper) =
            (self.number(node, "lower", Some(0.0))?, self.number(node, "upper", Some(0.0))?);
        joint.effort = Some(self.number(node, "effort", Some(0.0))?).filter(|e| *e > 0.0);
        if joint.kind == "continuous" {
            return Some(());
        }
        if lower > upper {
            let message = format!("limits {lower} … {upper} of `{}`", joint.name);
            self.repair(&head(node), message, "wanted lower ≤ upper", "it moves without stops");
            return Some(());
        }
        joint.limits = (lower < upper).then_some((lower, upper));
        if joint.limits.is_none() {
            let line = line(self.text, node.range().start);
            self.notes.push(format!(
                "line {line}: `{}` has the same lower and upper limit: it moves without stops",
                joint.name
            ));
        }
        Some(())
    }

    fn name(&mut self, node: Node<'_, '_>) -> Option<String> {
        self.text(node, "name")
    }

    fn child<'n, 'd>(&mut self, node: Node<'n, 'd>, name: &str) -> Option<Node<'n, 'd>> {
        let found = node.children().find(|n| n.has_tag_name(name));
        if found.is_none() {
            self.fault(
                head(node),
                format!("<{}> has no <{name}>", node.tag_name().name()),
                format!("wanted <{name} …/> inside"),
            );
        }
        found
    }

    fn text(&mut self, node: Node<'_, '_>, key: &str) -> Option<String> {
        match node.attribute(key) {
            Some(text) if !text.is_empty() => Some(text.into()),
            _ => {
                self.fault(
                    head(node),
                    format!("<{}> has no {key}", node.tag_name().name()),
                    format!("wanted {key}=\"…\""),
                );
                None
            }
        }
    }

    fn number(&mut self, node: Node<'_, '_>, key: &str, otherwise: Option<f64>) -> Option<f64> {
        match (node.attribute(key), otherwise) {
            (None, Some(value)) => Some(value),
            (None, None) => self.text(node, key).map(|_| 0.0),
            (Some(text), _) => {
                let at = attribute(node, key);
                let plain = self.plain(text, &at);
                let word = plain.trim();
                // "1.57." is read as 1.57 by everyone.
                let shorter = word
                    .strip_suffix('.')
                    .filter(|w| word.parse::<f64>().is_err() && w.contains('.'));
                if shorter.is_some() {
                    self.repair(
                        &at,
                        format!("{key} is \"{text}\""),
                        "wanted a number",
                        "without its last point",
                    );
                }
                // What follows the first number is left out; "1,5" may be one number.
                let first = word.split([' ', '\t']).next().filter(|first| {
                    word.split_whitespace().count() > 1
                        && word.split_whitespace().all(|w| w.parse::<f64>().is_ok())
                        && first.parse::<f64>().is_ok()
                });
                if first.is_some() {
                    let found = format!("{key} is \"{text}\"");
                    self.repair(&at, found, "wanted a number", "the first number");
                }
                match first.or(shorter).unwrap_or(word).parse::<f64>() {
                    Ok(x) if x.is_finite() => Some(x),
                    _ => {
                        self.fault(at, format!("{key} is \"{text}\""), "wanted a number");
                        None
                    }
                }
            }
        }
    }

    /// A text without what xacro should have replaced, as far as the text says by what.
    fn plain(&mut self, text: &str, at: &Range<usize>) -> String {
        let Some((before, rest)) = text.split_once("$(optenv ") else { return text.into() };
        let Some((inside, after)) = rest.split_once(')') else { return text.into() };
        let value = inside.trim().split_once(' ').map_or("", |(_, value)| value);
        let message = format!("\"{text}\" is left by xacro");
        if self.repair(
            at,
            message,
            "wanted a robot file that xacro has processed",
            "the value that it names",
        ) {
            format!("{before}{value}{after}")
        } else {
            text.into()
        }
    }

    fn vector(&mut self, node: Node<'_, '_>, key: &str, otherwise: Option<DVec3>) -> Option<DVec3> {
        let text = match (node.attribute(key), otherwise) {
            (None, Some(value)) => return Some(value),
            (None, None) => self.text(node, key)?,
            (Some(text), _) => text.to_string(),
        };
        let at = attribute(node, key);
        let plain = self.plain(&text, &at);
        let words: Vec<&str> = plain
            .split(|c: char| c.is_whitespace() || c == ',')
            .filter(|w| !w.is_empty())
            .collect();
        let numbers: Vec<f64> =
            words.iter().filter_map(|w| w.parse().ok()).filter(|x: &f64| x.is_finite()).collect();
        let wanted = "wanted three numbers such as \"0 0 1\"";
        if words.len() < 3 || numbers.len() != words.len() {
            self.fault(at, format!("{key} is \"{text}\""), wanted);
            return None;
        }
        if words.len() > 3 || plain.contains(',') {
            self.repair(&at, format!("{key} is \"{text}\""), wanted, "the first three numbers");
        }
        Some(DVec3::from_slice(&numbers[..3]))
    }

    fn origin(&mut self, node: Node<'_, '_>) -> Option<Pose> {
        let Some(origin) = node.children().find(|n| n.has_tag_name("origin")) else {
            return Some(Pose::IDENTITY);
        };
        let (xyz, rpy) = (
            self.vector(origin, "xyz", Some(DVec3::ZERO)),
            self.vector(origin, "rpy", Some(DVec3::ZERO)),
        );
        let rpy = rpy?;
        let turn = DQuat::from_rotation_z(rpy.z)
            * DQuat::from_rotation_y(rpy.y)
            * DQuat::from_rotation_x(rpy.x);
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

/// The colour of a shape: that of its material, or of one of that name elsewhere in the file.
fn color(shape: Node<'_, '_>) -> Option<[u8; 3]> {
    let own = shape.children().find(|n| n.has_tag_name("material"))?;
    let given = |material: Node<'_, '_>| {
        let color = material.children().find(|n| n.has_tag_name("color"))?;
        let words = color.attribute("rgba")?.split_whitespace();
        crate::surface::color(&words.filter_map(|w| w.parse().ok()).collect::<Vec<f64>>())
    };
    let name = own.attribute("name").filter(|n| !n.is_empty());
    let same = |n: &Node<'_, '_>| n.has_tag_name("material") && n.attribute("name") == name;
    given(own)
        .or_else(|| name.and_then(|_| shape.document().descendants().filter(same).find_map(given)))
}
