//! Forces: springs, dampers, bushings, drag, and what is simply applied.

use super::BodyId;
use super::formula::Formula;
use super::function::Function;
use crate::math::pose::Pose;
use glam::DVec3;
use serde::{Deserialize, Serialize};

/// In which frame a vector is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Frame {
    /// It keeps its direction in the world.
    #[default]
    World,
    /// It turns with the body.
    Body,
}

/// A force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Force {
    /// Its name, unique in the scene.
    pub name: String,
    /// What it does.
    pub kind: ForceKind,
}

/// What a force does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForceKind {
    /// A spring and damper between two points.
    Spring(Spring),
    /// A spring and damper about the z axis of two frames.
    Torsion(Torsion),
    /// Six stiffnesses and dampings between two frames, coupled by full matrices.
    Bushing(Box<Bushing>),
    /// Resistance of a medium at rest.
    Drag(Drag),
    /// A force and a torque as functions of time.
    Applied(Box<Applied>),
    /// A pull between two points by a formula: a spring that is not linear.
    Tension(Box<Tension>),
}

impl ForceKind {
    /// The bodies that it acts on; of one body twice the same.
    pub fn bodies(&self) -> [BodyId; 2] {
        match self {
            ForceKind::Spring(s) => [s.a, s.b],
            ForceKind::Torsion(s) => [s.a, s.b],
            ForceKind::Bushing(s) => [s.a, s.b],
            ForceKind::Drag(s) => [s.body, s.body],
            ForceKind::Applied(s) => [s.body, s.body],
            ForceKind::Tension(s) => [s.a, s.b],
        }
    }
}

/// A pull `f(l, l̇)` along the line between two points; negative: a push.
///
/// The formula may speak of [`super::Quantity::Length`] and [`super::Quantity::LengthRate`], of the
/// time, of sensors and of variables. Where it grows with l or l̇ it is taken at the end of the
/// step (linearised), so that a stiff one does not limit the step. What it stores is not known: its
/// work is that of an applied force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tension {
    /// First body.
    pub a: BodyId,
    /// Second body.
    pub b: BodyId,
    /// Where it is held on body a, body frame, m.
    pub point_a: DVec3,
    /// Where it is held on body b, body frame, m.
    pub point_b: DVec3,
    /// The pull, N.
    pub pull: Formula,
}

/// `f = −k (l − l₀) − c l̇` along the line between two points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spring {
    /// First body.
    pub a: BodyId,
    /// Second body.
    pub b: BodyId,
    /// Where it is held on body a, body frame, m.
    pub point_a: DVec3,
    /// Where it is held on body b, body frame, m.
    pub point_b: DVec3,
    /// Length without force l₀, m, ≥ 0.
    pub length: f64,
    /// Stiffness k, N/m, ≥ 0.
    pub stiffness: f64,
    /// Damping c, N s/m, ≥ 0.
    pub damping: f64,
}

/// `τ = −k (θ − θ₀) − c θ̇` about the z axis of frame a; θ is counted within ±π.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Torsion {
    /// First body.
    pub a: BodyId,
    /// Second body.
    pub b: BodyId,
    /// Frame on body a, in its body frame.
    pub frame_a: Pose,
    /// Frame on body b, in its body frame.
    pub frame_b: Pose,
    /// Angle without torque θ₀, rad.
    pub angle: f64,
    /// Stiffness k, N m/rad, ≥ 0.
    pub stiffness: f64,
    /// Damping c, N m s/rad, ≥ 0.
    pub damping: f64,
}

/// `f = −K x − C ẋ`, x the displacement (3, m) and small rotation (3, rad) of frame b seen from
/// frame a.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bushing {
    /// First body.
    pub a: BodyId,
    /// Second body.
    pub b: BodyId,
    /// Frame on body a, in its body frame.
    pub frame_a: Pose,
    /// Frame on body b, in its body frame.
    pub frame_b: Pose,
    /// Stiffness (6 × 6), symmetric positive semidefinite; N/m, N m/rad.
    pub stiffness: [[f64; 6]; 6],
    /// Damping (6 × 6), symmetric positive semidefinite; N s/m, N m s/rad.
    pub damping: [[f64; 6]; 6],
}

/// `f = −(c₁ + c₂ |v|) v`, `τ = −c_ω ω`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drag {
    /// The body.
    pub body: BodyId,
    /// Linear coefficient c₁, N s/m, ≥ 0.
    pub linear: f64,
    /// Quadratic coefficient c₂ = ½ ρ c_d A, N s²/m², ≥ 0.
    pub quadratic: f64,
    /// Angular coefficient c_ω, N m s, ≥ 0.
    pub angular: f64,
}

/// A force at a point and a torque.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Applied {
    /// The body.
    pub body: BodyId,
    /// Where the force acts, body frame, m.
    pub point: DVec3,
    /// The force, N.
    pub force: [Function; 3],
    /// The torque, N m.
    pub torque: [Function; 3],
    /// The axes of force and torque.
    pub frame: Frame,
}
