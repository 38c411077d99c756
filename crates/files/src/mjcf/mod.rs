//! MJCF, the format of MuJoCo.
//!
//! ```text
//!   XML with includes and defaults resolved (xml) → tree of bodies, joints, geoms (model, geom)
//!   → machine (here, mass, contact, actuate)
//! ```
//!
//! | MJCF | machine |
//! |---|---|
//! | body with joints | a body; a body without joints is part of its parent, or fixed if that is the world |
//! | several joints of one body | a chain with light bodies between (a ten-thousandth of what hangs on them) |
//! | hinge, slide, ball, free | revolute, prismatic, spherical joint, none; `ref` shifts the zero of the angle |
//! | geoms | shapes; meshes as convex hulls, as MuJoCo has it, ellipsoids as the hull of 128 points; `plane` is endless |
//! | contype, conaffinity | groups of shapes; `exclude` as it is; neighbours never touch |
//! | friction, condim, priority | materials; of two the greater friction, torsional and rolling friction by condim too |
//! | inertial, density, mass | mass and inertia; `inertiafromgeom`, `boundmass`, `balanceinertia`, `settotalmass` too |
//! | stiffness, damping, frictionloss, armature, range | spring, damper, dry friction, rotor, stops |
//! | connect, weld, joint, tendon (`equality`) | spherical and fixed joints, gears |
//! | motor, position, velocity, general (`actuator`) | efforts and servos with gains and ranges, on joints and fixed tendons |
//! | key | where the robot begins and what its servos aim at; the first one, or `key` |
//!
//! Contacts, stops and loops are rigid: `solref` and `solimp` are left out, which is said once.
//! Everything else that is not known is left out by name, with its line.
//!
//! Read here and not by `mjcf-rs` 0.36: it keeps no places, so nothing could be named with its
//! line, and drops what it does not know.

pub mod actuate;
mod contact;
mod geom;
mod mass;
mod mesh;
pub mod model;
pub mod read;
pub mod xml;

use crate::robot::{self, Choices, Failed, JointKind, Library, Machine};
use crate::spelling::suggestion;
use glam::{DQuat, DVec3};
use mesh::meshes;
use model::{Body, Kind, Tree};
use read::{Attributes, Compiler};
use signorini_solve::math::pose::Pose;
use std::collections::HashMap;
use std::path::Path;
use xml::{Defaults, Element, MAIN, Reader};

/// A robot from the text of its file.
pub fn machine(
    name: &str,
    text: String,
    library: Library<'_>,
    choices: &Choices,
) -> Result<(Machine, Vec<String>), Failed> {
    let mut reader = Reader::new(library, choices.strict);
    let root = reader.open(name, text);
    let machine = root.and_then(|root| Maker::make(&root, name, &mut reader, choices));
    let Reader { sources, faults, notes, .. } = reader;
    match machine {
        Some(machine) if faults.is_empty() => Ok((machine, notes)),
        _ => Err(Failed { sources, faults }),
    }
}

/// Where a body of the file is in the machine.
#[derive(Clone, Copy, Debug)]
pub struct Home {
    /// The body of the machine.
    pub body: usize,
    /// Where the frame of the file's body lies in it.
    pub pose: Pose,
}

/// A machine in the making.
pub struct Maker<'a, 'r, 'l> {
    /// What the file says.
    pub root: &'a Element,
    /// Classes of defaults.
    pub defaults: Defaults,
    /// The compiler element.
    pub compiler: Compiler,
    /// Notes faults.
    pub reader: &'r mut Reader<'l>,
    /// Bodies of the file.
    pub tree: Tree,
    /// The machine.
    pub machine: Machine,
    /// For each body of the file, where it is.
    pub homes: Vec<Home>,
    /// For each body of the file, where it is in the world as written (all joints at their
    /// reference).
    pub written: Vec<Pose>,
    /// Joints of the machine by name.
    pub joints: HashMap<String, usize>,
    /// The chosen keyframe.
    pub key: Option<Element>,
    /// Its qpos.
    qpos: Option<Vec<f64>>,
}

impl<'a, 'r, 'l> Maker<'a, 'r, 'l> {
    fn make(
        root: &'a Element,
        name: &str,
        reader: &'r mut Reader<'l>,
        choices: &Choices,
    ) -> Option<Machine> {
        let compiler = read::compiler(root, reader);
        let mut defaults = Defaults::default();
        root.all("default").for_each(|element| defaults.add(element, None, reader));
        let stem = Path::new(name)
            .file_stem()
            .map_or("robot".into(), |s| s.to_string_lossy().into_owned());
        let machine = Machine {
            name: root.own("model").map_or(stem, String::from),
            greater_friction: true,
            ..Machine::default()
        };
        let mut tree =
            Tree { meshes: meshes(root, name, &defaults, &compiler, reader), ..Tree::default() };
        tree.read(root, &mut Attributes { defaults: &defaults, compiler: &compiler, reader });
        let mut maker = Maker {
            root,
            defaults,
            compiler,
            reader,
            tree,
            machine,
            homes: Vec::new(),
            written: Vec::new(),
            joints: HashMap::new(),
            key: None,
            qpos: None,
        };
        if !maker.reader.faults.is_empty() {
            return None;
        }
        maker.options();
        maker.sections();
        maker.choose_key(choices)?;
        maker.place(choices)?;
        maker.weigh();
        maker.shapes();
        maker.excluded();
        maker.equalities();
        maker.tendons();
        maker.actuators();
        if let Some(element) = maker.tree.soft.take() {
            let message = "solref and solimp are left out, here and elsewhere: contacts, stops and \
                loops are rigid";
            maker.reader.left_out(&element, message);
        }
        maker.reader.faults.is_empty().then_some(maker.machine)
    }

    /// Reads attributes of elements.
    pub fn attributes(&mut self) -> Attributes<'_, '_, 'l> {
        Attributes { defaults: &self.defaults, compiler: &self.compiler, reader: &mut *self.reader }
    }

    /// Gravity and the length of a step.
    fn options(&mut self) {
        let root = self.root;
        for option in root.all("option") {
            let mut attributes = self.attributes();
            let (gravity, dt) = (
                attributes.vector(option, MAIN, "gravity"),
                attributes.number(option, MAIN, "timestep"),
            );
            self.machine.gravity = gravity.or(self.machine.gravity);
            self.machine.dt = dt.filter(|x| *x > 0.0).or(self.machine.dt);
            for name in ["viscosity", "density", "wind", "o_margin"] {
                if option.own(name).is_some() {
                    self.reader.left_out(option, format!("`{name}` is left out"));
                }
            }
            for flag in option.all("flag") {
                match (flag.own("gravity"), flag.own("contact")) {
                    (Some("disable"), _) => self.machine.gravity = Some(DVec3::ZERO),
                    (_, Some("disable")) => {
                        self.reader.left_out(flag, "contact=\"disable\" is left out")
                    }
                    _ => {}
                }
            }
        }
    }

    /// Names the sections that nothing here reads.
    fn sections(&mut self) {
        const READ: [&str; 10] = [
            "compiler",
            "option",
            "default",
            "worldbody",
            "asset",
            "contact",
            "equality",
            "tendon",
            "actuator",
            "keyframe",
        ];
        const HARMLESS: [&str; 5] = ["size", "visual", "statistic", "custom", "sensor"];
        for section in &self.root.children {
            if !READ.contains(&section.tag.as_str()) && !HARMLESS.contains(&section.tag.as_str()) {
                self.reader.left_out(section, format!("<{}> is left out", section.tag));
            }
        }
    }

    /// The keyframe to begin with.
    fn choose_key(&mut self, choices: &Choices) -> Option<()> {
        let root = self.root;
        let keys: Vec<&Element> = root.all("keyframe").flat_map(|k| k.all("key")).collect();
        let chosen = match &choices.key {
            None => keys.first().copied(),
            Some(name) => match keys.iter().find(|k| k.own("name") == Some(name)) {
                Some(key) => Some(*key),
                None => {
                    let names: Vec<&str> = keys.iter().filter_map(|k| k.own("name")).collect();
                    self.reader.fault(
                        root,
                        format!("there is no keyframe `{name}`"),
                        suggestion(name, &names),
                    );
                    return None;
                }
            },
        };
        let Some(key) = chosen else { return Some(()) };
        let qpos = self.attributes().numbers(key, MAIN, "qpos");
        if let Some(found) = qpos.as_ref().filter(|q| q.len() != self.tree.qpos) {
            let message = format!("qpos has {} numbers, the model {}", found.len(), self.tree.qpos);
            self.reader.left_out(key, format!("{message}: the keyframe is left out"));
            return Some(());
        }
        self.reader
            .notes
            .push(format!("begins with the keyframe `{}`", key.own("name").unwrap_or("1")));
        if key.own("qvel").is_some() {
            self.reader.left_out(key, "qvel is left out: everything begins at rest");
        }
        (self.key, self.qpos) = (Some(key.clone()), qpos);
        Some(())
    }

    /// The values of a joint at the beginning.
    fn values(&self, joint: &model::Joint, asked: &HashMap<String, f64>) -> Vec<f64> {
        let width = joint.kind.width();
        if let Some(value) = asked.get(&joint.name) {
            return vec![*value];
        }
        match &self.qpos {
            Some(qpos) => qpos[joint.qpos..joint.qpos + width].to_vec(),
            None => match joint.kind {
                Kind::Ball => vec![1.0, 0.0, 0.0, 0.0],
                _ => vec![joint.reference; width],
            },
        }
    }

    /// Joint values that the choices ask for.
    fn asked(&mut self, choices: &Choices) -> HashMap<String, f64> {
        let mut out = HashMap::new();
        let all: Vec<(String, Kind)> = self
            .tree
            .bodies
            .iter()
            .flat_map(|b| b.joints.iter().map(|j| (j.name.clone(), j.kind)))
            .collect();
        for value in &choices.joints {
            match all.iter().find(|(name, kind)| *name == value.name && kind.width() == 1) {
                Some((name, kind)) => match value.of(*kind == Kind::Slide) {
                    Ok(x) => {
                        out.insert(name.clone(), x);
                    }
                    Err(why) => {
                        self.reader.fault(self.root, why, "wanted rad for a hinge, m for a slide")
                    }
                },
                None => {
                    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
                    let message = format!("the robot has no hinge or slide `{}`", value.name);
                    self.reader.fault(self.root, message, suggestion(&value.name, &names));
                }
            }
        }
        out
    }

    /// Bodies of the machine, where they are, and the joints between them.
    fn place(&mut self, choices: &Choices) -> Option<()> {
        let asked = self.asked(choices);
        let bodies = std::mem::take(&mut self.tree.bodies);
        for (i, body) in bodies.iter().enumerate() {
            let parent = body.parent.map(|p| (self.homes[p], self.written[p]));
            let (home, written) = match parent {
                None => (
                    Home { body: self.new_body("world", Pose::IDENTITY), pose: Pose::IDENTITY },
                    Pose::IDENTITY,
                ),
                Some((home, written)) => (self.attach(body, home, &asked), written * body.pose),
            };
            debug_assert_eq!(i, self.homes.len());
            self.homes.push(home);
            self.written.push(written);
            if self.machine.bodies[home.body].name != body.name {
                self.machine.bodies[home.body].members.push(body.name.clone());
            }
        }
        self.tree.bodies = bodies;
        self.reader.faults.is_empty().then_some(())
    }

    fn new_body(&mut self, name: &str, world: Pose) -> usize {
        let body = robot::Body {
            name: name.into(),
            members: Vec::new(),
            weight: None,
            world,
            shapes: Vec::new(),
            visuals: Vec::new(),
            color: None,
        };
        self.machine.bodies.push(body);
        self.machine.bodies.len() - 1
    }

    /// A body with its joints on what its parent belongs to.
    fn attach(&mut self, body: &Body, parent: Home, asked: &HashMap<String, f64>) -> Home {
        let mut place = parent.pose * body.pose;
        let mut world = self.machine.bodies[parent.body].world * place;
        if body.joints.is_empty() {
            // Part of its parent; what is fixed in the world is a body of its own.
            return if parent.body == 0 {
                Home { body: self.new_body(&body.name, world), pose: Pose::IDENTITY }
            } else {
                Home { body: parent.body, pose: place }
            };
        }
        let mut from = parent.body;
        for (k, joint) in body.joints.iter().enumerate() {
            let values = self.values(joint, asked);
            let last = k + 1 == body.joints.len();
            let name = if last { body.name.clone() } else { format!("{}_{}", body.name, k + 1) };
            if joint.kind == Kind::Free {
                let pose = match (values.len(), &self.qpos) {
                    (7, Some(_)) => {
                        let turn = DQuat::from_xyzw(values[4], values[5], values[6], values[3]);
                        Pose::new(
                            DVec3::from_slice(&values),
                            if turn.length() > 0.0 { turn.normalize() } else { DQuat::IDENTITY },
                        )
                    }
                    _ => world,
                };
                if parent.body != 0 || body.joints.len() > 1 {
                    self.reader.fault(
                        &body.at,
                        format!("the free joint of `{}` is not the only one", body.name),
                        "wanted it in the world",
                    );
                }
                return Home { body: self.new_body(&name, pose), pose: Pose::IDENTITY };
            }
            let frame = robot::axis_frame(joint.point, joint.axis);
            let zero = Pose::turned(DVec3::ZERO, DVec3::Z * -joint.reference);
            let (kind, frame_a) = match joint.kind {
                Kind::Ball => (JointKind::Spherical, place * Pose::at(joint.point)),
                Kind::Slide => {
                    (JointKind::Prismatic, place * frame * Pose::at(DVec3::Z * -joint.reference))
                }
                _ => (JointKind::Revolute, place * frame * zero),
            };
            world = world * displacement(joint, &values);
            let next = self.new_body(&name, world);
            let number = self.machine.joints.len();
            self.machine.joints.push(robot::Joint {
                frame_a,
                frame_b: if joint.kind == Kind::Ball { Pose::at(joint.point) } else { frame },
                start: if joint.kind == Kind::Ball { 0.0 } else { values[0] },
                limits: joint.range.filter(|r| r.0 < r.1 && joint.kind != Kind::Ball),
                friction: joint.friction,
                damping: joint.damping,
                spring: joint.spring,
                armature: joint.armature,
                effort: joint.effort,
                // Geoms of the world are everywhere: what is hinged to it may touch them.
                collide: from == 0,
                ..robot::Joint::new(joint.name.clone(), kind, Some(from), next)
            });
            self.joints.insert(joint.name.clone(), number);
            (from, place) = (next, Pose::IDENTITY);
        }
        Home { body: from, pose: Pose::IDENTITY }
    }

    /// The body of the file that an attribute names.
    pub fn body_named(&mut self, element: &Element, key: &str) -> Option<usize> {
        let name = element.own(key)?;
        let found = self.tree.bodies.iter().position(|b| b.name == name);
        if found.is_none() {
            let names: Vec<&str> = self.tree.bodies.iter().map(|b| b.name.as_str()).collect();
            let wanted = suggestion(name, &names);
            self.reader.fault(element, format!("there is no body `{name}`"), wanted);
        }
        found
    }
}

/// Where a body goes when its joint has these values.
fn displacement(joint: &model::Joint, values: &[f64]) -> Pose {
    let about =
        |turn: DQuat| Pose::at(joint.point) * Pose::new(DVec3::ZERO, turn) * Pose::at(-joint.point);
    match joint.kind {
        Kind::Slide => Pose::at(joint.axis * (values[0] - joint.reference)),
        Kind::Hinge => about(DQuat::from_axis_angle(joint.axis, values[0] - joint.reference)),
        Kind::Ball if values.len() == 4 => {
            let turn = DQuat::from_xyzw(values[1], values[2], values[3], values[0]);
            about(if turn.length() > 0.0 { turn.normalize() } else { DQuat::IDENTITY })
        }
        _ => Pose::IDENTITY,
    }
}
