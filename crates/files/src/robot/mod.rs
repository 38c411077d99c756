//! Robots that other programs wrote: what their files have in common, and how it becomes a scene.
//!
//! ```text
//!   URDF ─┐
//!         ├→ Machine (bodies where they stand, joints, motors, gears) → text of a scene
//!   MJCF ─┘
//! ```
//!
//! There is one way from there on: the text is read as any scene file is, so that `run robot.urdf`,
//! `include = "robot.urdf"`, `[[robot]] file = "robot.urdf"` and `convert robot.urdf scene.toml`
//! mean the same. Every repair and everything left out is listed with the line of the robot file;
//! `strict` refuses instead.

pub mod floor;
pub mod inertia;
pub mod write;

use glam::{DMat3, DVec3};
use signorini_mechanics::scene::frame;
use signorini_solve::math::pose::Pose;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Something wrong with a robot file.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// In which of the files that were read: 0 is the first.
    pub file: usize,
    /// Where in its text.
    pub range: Range<usize>,
    /// What was found.
    pub message: String,
    /// What was wanted.
    pub wanted: String,
}

/// Why a robot could not be read.
#[derive(Clone, Debug, Default)]
pub struct Failed {
    /// Name and text of the files that were read.
    pub sources: Vec<(String, String)>,
    /// What is wrong.
    pub faults: Vec<Fault>,
}

/// How to convert.
#[derive(Clone, Debug)]
pub struct Choices {
    /// Repairs nothing: what could be repaired is a fault.
    pub strict: bool,
    /// Every joint gets a motor that holds it.
    pub hold: bool,
    /// The root does not move.
    pub fixed_base: bool,
    /// A floor at z = 0, on which the robot is put.
    pub floor: bool,
    /// Where the frame of the robot is put.
    pub at: Option<Pose>,
    /// Joints and their values at the beginning.
    pub joints: Vec<JointValue>,
    /// Parts of the robot touch each other; neighbours, and those that overlap at the beginning,
    /// never do.
    pub self_collision: bool,
    /// Meshes of moving bodies are replaced by their convex hulls.
    pub hulls: bool,
    /// Which keyframe the robot begins with; the first without this.
    pub key: Option<String>,
    /// What the names of all things begin with.
    pub prefix: String,
}

impl Default for Choices {
    fn default() -> Choices {
        Choices {
            strict: false,
            hold: false,
            fixed_base: false,
            floor: false,
            at: None,
            joints: Vec::new(),
            self_collision: true,
            hulls: true,
            key: None,
            prefix: String::new(),
        }
    }
}

/// The value of a joint at the beginning; which of the two counts, the joint decides.
#[derive(Clone, Debug, PartialEq)]
pub struct JointValue {
    /// The joint.
    pub name: String,
    /// As a displacement, m, if it can be one.
    pub slide: Option<f64>,
    /// As an angle, rad, if it can be one.
    pub angle: Option<f64>,
}

impl JointValue {
    /// The value for a joint that slides or turns; a fault in words if it has the wrong unit.
    pub fn of(&self, slides: bool) -> Result<f64, String> {
        let (value, wanted) =
            if slides { (self.slide, "a length") } else { (self.angle, "an angle") };
        value.ok_or_else(|| format!("the value of the joint `{}` is not {wanted}", self.name))
    }
}

/// Reads the text of a file.
pub type Library<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Whether a file is one of a robot, by its ending.
pub fn is_robot(name: &str) -> bool {
    let ending = Path::new(name).extension().unwrap_or_default().to_ascii_lowercase();
    ["urdf", "xml", "mjcf"].iter().any(|known| ending == *known)
}

/// Friction of a surface, or of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Friction {
    /// Coefficient of friction.
    pub mu: f64,
    /// Torsional friction, m.
    pub torsion: f64,
    /// Rolling friction, m.
    pub rolling: f64,
}

impl Friction {
    /// The greater of each.
    pub fn greater(&self, other: &Friction) -> Friction {
        Friction {
            mu: self.mu.max(other.mu),
            torsion: self.torsion.max(other.torsion),
            rolling: self.rolling.max(other.rolling),
        }
    }
}

/// A robot, whatever file it came from. Bodies, joints are named by their places in the lists.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// Acceleration of gravity, if the file says it, m/s².
    pub gravity: Option<DVec3>,
    /// Length of a step, if the file says it, s.
    pub dt: Option<f64>,
    /// Names and frictions of materials.
    pub materials: Vec<(String, Friction)>,
    /// Two materials and the friction between them, where no rule gives it.
    pub surfaces: Vec<(String, String, Friction)>,
    /// Of two coefficients of friction the greater counts; the smaller without this.
    pub greater_friction: bool,
    /// Bodies.
    pub bodies: Vec<Body>,
    /// Joints.
    pub joints: Vec<Joint>,
    /// Motors.
    pub motors: Vec<Motor>,
    /// Σ factor · coordinate stays what it is: name, joint and factor.
    pub gears: Vec<(String, Vec<(usize, f64)>)>,
    /// Bodies that never touch.
    pub excluded: Vec<(usize, usize)>,
}

/// A body.
#[derive(Clone, Debug)]
pub struct Body {
    /// Its name.
    pub name: String,
    /// What else belongs to it.
    pub members: Vec<String>,
    /// Mass and inertia about its centre, along the axes of its frame; none if it is fixed.
    pub weight: Option<Weight>,
    /// Where its frame is at the beginning.
    pub world: Pose,
    /// Its shapes.
    pub shapes: Vec<Shape>,
    /// What it is drawn by in place of its shapes, if that is something else.
    pub visuals: Vec<Visual>,
    /// What it is drawn in, if the file says it.
    pub color: Option<[u8; 3]>,
}

/// A shape that is drawn and touches nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Visual {
    /// Where it lies in the frame of its body.
    pub pose: Pose,
    /// What it is.
    pub solid: Solid,
    /// What it is drawn in, if the file says it.
    pub color: Option<[u8; 3]>,
}

/// Mass and inertia.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weight {
    /// kg.
    pub mass: f64,
    /// In the frame of the body, m.
    pub center: DVec3,
    /// About the centre, kg m².
    pub inertia: DMat3,
}

/// A shape of a body.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Where it lies in the frame of its body.
    pub pose: Pose,
    /// What it is.
    pub solid: Solid,
    /// What it is made of, if not of the default.
    pub material: Option<String>,
    /// Its group and the groups that it touches; all touch without this.
    pub touches: Option<(String, Vec<String>)>,
}

/// What a shape is.
#[derive(Clone, Debug, PartialEq)]
pub enum Solid {
    /// Edges, m.
    Box(DVec3),
    /// Radius and length, m.
    Cylinder(f64, f64),
    /// Radius and length between the half-balls, m.
    Capsule(f64, f64),
    /// Radius, m.
    Sphere(f64),
    /// Half axes, m.
    Ellipsoid(DVec3),
    /// Everything below the xy plane.
    HalfSpace,
    /// Corners of a convex solid, m.
    Hull(Vec<DVec3>),
    /// A mesh in a file.
    Mesh {
        /// The file.
        file: PathBuf,
        /// What one unit of the file is, m.
        scale: DVec3,
        /// Its convex hull stands for it.
        hull: bool,
    },
}

/// What a joint holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointKind {
    /// A hinge.
    Revolute,
    /// A slider.
    Prismatic,
    /// Planes coincide.
    Planar,
    /// Points coincide.
    Spherical,
    /// Welded.
    Fixed,
    /// Nothing: only the distance of two points has limits.
    Rope,
}

impl JointKind {
    /// The word of scene files.
    pub fn word(self) -> &'static str {
        match self {
            JointKind::Revolute => "revolute",
            JointKind::Prismatic => "prismatic",
            JointKind::Planar => "planar",
            JointKind::Spherical => "spherical",
            JointKind::Fixed => "fixed",
            JointKind::Rope => "free",
        }
    }

    /// Its one coordinate, if it has one.
    pub fn coordinate(self) -> Option<&'static str> {
        match self {
            JointKind::Revolute => Some("angle"),
            JointKind::Prismatic => Some("slide"),
            _ => None,
        }
    }
}

/// A joint.
#[derive(Clone, Debug)]
pub struct Joint {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: JointKind,
    /// First body; none is the ground.
    pub a: Option<usize>,
    /// Second body.
    pub b: usize,
    /// Its frame on the first body, z along its axis.
    pub frame_a: Pose,
    /// Its frame on the second body.
    pub frame_b: Pose,
    /// Its value at the beginning, rad or m.
    pub start: f64,
    /// Least and greatest value (of a rope: of its length), rad or m.
    pub limits: Option<(f64, f64)>,
    /// Dry friction, N m or N.
    pub friction: f64,
    /// Damping, N m s/rad or N s/m.
    pub damping: f64,
    /// Stiffness of a spring and the value where it rests.
    pub spring: Option<(f64, f64)>,
    /// Inertia of its rotor, kg m² or kg.
    pub armature: f64,
    /// Greatest effort that its motor gives, N m or N.
    pub effort: Option<f64>,
    /// Its bodies may touch.
    pub collide: bool,
}

impl Joint {
    /// A joint without anything special.
    pub fn new(name: String, kind: JointKind, a: Option<usize>, b: usize) -> Joint {
        Joint {
            name,
            kind,
            a,
            b,
            frame_a: Pose::IDENTITY,
            frame_b: Pose::IDENTITY,
            start: 0.0,
            limits: None,
            friction: 0.0,
            damping: 0.0,
            spring: None,
            armature: 0.0,
            effort: None,
            collide: false,
        }
    }
}

/// What a motor does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drive {
    /// Holds the joint, as strong as the effort, if there is one.
    Hold(Option<f64>),
    /// The coordinate keeps this value.
    Lock(f64),
    /// A servo towards a value.
    Servo {
        /// Where to.
        target: f64,
        /// Stiffness.
        stiffness: f64,
        /// Damping.
        damping: f64,
        /// Greatest effort.
        effort: Option<f64>,
    },
    /// A servo towards a speed.
    Speed {
        /// How fast.
        target: f64,
        /// Damping.
        damping: f64,
        /// Greatest effort.
        effort: Option<f64>,
    },
    /// A force or torque.
    Effort(f64),
}

/// A motor on one joint, or on several as a tendon.
#[derive(Clone, Debug)]
pub struct Motor {
    /// Its name.
    pub name: String,
    /// Joints and factors; the factor of the first is one.
    pub terms: Vec<(usize, f64)>,
    /// What it does.
    pub drive: Drive,
}

impl Machine {
    /// What the choices ask for beyond the file: place, floor, fixed base, hulls, motors that hold.
    pub(crate) fn settle(&mut self, choices: &Choices, notes: &mut Vec<String>) {
        // The ground of a scene has that name already; braces are formulas in a scene.
        let plain = |name: &mut String| *name = name.replace('{', "(").replace('}', ")");
        self.bodies.iter_mut().for_each(|b| plain(&mut b.name));
        self.joints.iter_mut().for_each(|j| plain(&mut j.name));
        self.motors.iter_mut().for_each(|m| plain(&mut m.name));
        for body in
            self.bodies.iter_mut().filter(|b| b.name == "ground" && choices.prefix.is_empty())
        {
            body.name = "ground_body".into();
            notes.push("the body `ground` is called `ground_body`".into());
        }
        let joined: Vec<usize> =
            self.joints.iter().filter(|j| j.kind != JointKind::Rope).map(|j| j.b).collect();
        if choices.fixed_base {
            for (i, body) in self.bodies.iter_mut().enumerate() {
                if !joined.contains(&i) && body.weight.take().is_some() {
                    notes.push(format!("`{}` is fixed, as asked for", body.name));
                }
            }
        }
        if let Some(at) = choices.at {
            self.bodies.iter_mut().for_each(|body| body.world = at * body.world);
            for joint in self.joints.iter_mut().filter(|j| j.a.is_none()) {
                joint.frame_a = at * joint.frame_a;
            }
        }
        for body in &mut self.bodies {
            let moves = body.weight.is_some();
            for shape in &mut body.shapes {
                if let Solid::Mesh { hull, .. } = &mut shape.solid {
                    *hull = choices.hulls && moves;
                }
            }
        }
        if choices.hold {
            self.hold();
        }
        if choices.floor {
            floor::put(self, choices.at.is_some(), notes);
        }
    }

    /// Joints that close a loop: their bodies are joined already by those before them in the list.
    /// All that is fixed is one body.
    pub fn loops(&self) -> Vec<usize> {
        let ground = self.bodies.len();
        let place = |body: Option<usize>| {
            body.filter(|&b| self.bodies[b].weight.is_some()).unwrap_or(ground)
        };
        let mut part: Vec<usize> = (0..=ground).collect();
        let mut out = Vec::new();
        for (j, joint) in self.joints.iter().enumerate() {
            let (a, b) = (part[place(joint.a)], part[place(Some(joint.b))]);
            match joint.kind {
                JointKind::Rope => {}
                _ if a == b => out.push(j),
                _ => part.iter_mut().filter(|p| **p == b).for_each(|p| *p = a),
            }
        }
        out
    }

    /// Joints that move together in a loop: what a joint that closes one has above its two bodies,
    /// up to where they meet.
    fn in_loops(&self) -> Vec<usize> {
        let closing = self.loops();
        let above = |mut body: Option<usize>| {
            let mut out = Vec::new();
            while let Some(b) = body {
                let hangs = |(j, joint): &(usize, &Joint)| {
                    joint.b == b && joint.kind != JointKind::Rope && !closing.contains(j)
                };
                let Some((j, joint)) = self.joints.iter().enumerate().find(hangs) else { break };
                out.push(j);
                body = joint.a;
            }
            out
        };
        let mut out = Vec::new();
        for &j in &closing {
            let (a, b) = (above(self.joints[j].a), above(Some(self.joints[j].b)));
            out.extend(a.iter().filter(|j| !b.contains(j)));
            out.extend(b.iter().filter(|j| !a.contains(j)));
        }
        out
    }

    /// A motor that holds for every joint that nothing moves: no motor but one without torque, no
    /// spring, no loop, no other joint that it follows.
    fn hold(&mut self) {
        let limp = |motor: &Motor| motor.drive == Drive::Effort(0.0) && motor.terms.len() == 1;
        for motor in self.motors.iter_mut().filter(|m| limp(m)) {
            motor.drive = Drive::Hold(self.joints[motor.terms[0].0].effort);
        }
        let mut moved: Vec<usize> =
            self.motors.iter().flat_map(|m| m.terms.iter().map(|t| t.0)).collect();
        moved.extend(self.gears.iter().filter_map(|(_, terms)| terms.first().map(|t| t.0)));
        moved.extend(self.in_loops());
        for (j, joint) in self.joints.iter().enumerate() {
            if joint.kind.coordinate().is_some() && joint.spring.is_none() && !moved.contains(&j) {
                let name = format!("{}_motor", joint.name);
                self.motors.push(Motor {
                    name,
                    terms: vec![(j, 1.0)],
                    drive: Drive::Hold(joint.effort),
                });
            }
        }
    }
}

/// The frame of a joint: z along its axis.
pub fn axis_frame(point: DVec3, axis: DVec3) -> Pose {
    frame(point, axis)
}

/// The line of a place in a text, counted from 1.
pub fn line(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|&&c| c == b'\n').count() + 1
}
