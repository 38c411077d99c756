//! Joints, their axes, what drives them, and gears between them.
//!
//! A joint connects a frame on body `a` with a frame on body `b`. It is a list of [`Part`]s, each
//! one scalar function of the two frames that the joint holds at zero. The axis of a joint is the
//! **z axis** of its frames.
//!
//! | joint | parts (of frame b seen from frame a) | free |
//! |---|---|---|
//! | spherical | along x, y, z | 3 rotations |
//! | revolute | along x, y, z; a_z ⊥ b_x, a_z ⊥ b_y | angle about z |
//! | prismatic | along x, y; turn x, y, z | slide along z |
//! | cylindrical | along x, y; a_z ⊥ b_x, a_z ⊥ b_y | slide, angle |
//! | universal | along x, y, z; a_x ⊥ b_y | 2 rotations: about a_x and b_y |
//! | fixed | along x, y, z; turn x, y, z | nothing |
//! | planar | along z; a_z ⊥ b_x, a_z ⊥ b_y | 2 translations, angle |
//! | point on line | along x, y | slide, 3 rotations |
//! | point on plane | along z | 2 translations, 3 rotations |
//! | distance | distance − length | the rest |
//! | free | none | everything; it only measures |

use super::function::Function;
use super::{BodyId, JointId};
use crate::math::pose::Pose;
use serde::{Deserialize, Serialize};

/// One of the three axes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// First axis.
    X,
    /// Second axis.
    Y,
    /// Third axis: the axis of joints.
    Z,
}

/// A scalar function of two frames (p: origins, a_i and b_i: axes, ρ: quaternion of b seen from a).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    /// `a_i · (p_b − p_a)`, m.
    Along(Axis),
    /// `a_i · b_j`: the sine of the angle that is missing to a right one.
    Perpendicular(Axis, Axis),
    /// `2 ρ_i` with ρ_w ≥ 0: a small rotation about axis i, rad.
    Turn(Axis),
    /// The angle of b about a's z axis, `2 atan2(ρ_z, ρ_w)`, counted over full turns, rad.
    Twist,
    /// `|p_b − p_a| − length`, m.
    Distance(f64),
}

/// The kind of a joint.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JointKind {
    /// Points coincide.
    Spherical,
    /// A hinge about z.
    Revolute,
    /// A slider along z.
    Prismatic,
    /// A hinge that slides along z.
    Cylindrical,
    /// A cross: a's x axis and b's y axis stay perpendicular.
    Universal,
    /// Welded.
    Fixed,
    /// The xy planes coincide.
    Planar,
    /// b's origin stays on a's z axis.
    PointOnLine,
    /// b's origin stays in a's xy plane.
    PointOnPlane,
    /// A massless rod between the origins.
    Distance {
        /// Its length, m, > 0.
        length: f64,
    },
    /// Holds nothing: for motors, springs and limits between two frames.
    Free,
}

impl JointKind {
    /// Its name in scene files and messages.
    pub fn name(self) -> &'static str {
        match self {
            JointKind::Spherical => "spherical",
            JointKind::Revolute => "revolute",
            JointKind::Prismatic => "prismatic",
            JointKind::Cylindrical => "cylindrical",
            JointKind::Universal => "universal",
            JointKind::Fixed => "fixed",
            JointKind::Planar => "planar",
            JointKind::PointOnLine => "point_on_line",
            JointKind::PointOnPlane => "point_on_plane",
            JointKind::Distance { .. } => "distance",
            JointKind::Free => "free",
        }
    }

    /// The parts that the joint holds at zero.
    pub fn parts(self) -> Parts {
        use Axis::*;
        use Part::*;
        const POINT: [Part; 3] = [Along(X), Along(Y), Along(Z)];
        const LINE: [Part; 2] = [Along(X), Along(Y)];
        const PARALLEL: [Part; 2] = [Perpendicular(Z, X), Perpendicular(Z, Y)];
        const TURN: [Part; 3] = [Turn(X), Turn(Y), Turn(Z)];
        match self {
            JointKind::Spherical => Parts::of(&POINT, &[]),
            JointKind::Revolute => Parts::of(&POINT, &PARALLEL),
            JointKind::Prismatic => Parts::of(&LINE, &TURN),
            JointKind::Cylindrical => Parts::of(&LINE, &PARALLEL),
            JointKind::Universal => Parts::of(&POINT, &[Perpendicular(X, Y)]),
            JointKind::Fixed => Parts::of(&POINT, &TURN),
            JointKind::Planar => Parts::of(&[Along(Z)], &PARALLEL),
            JointKind::PointOnLine => Parts::of(&LINE, &[]),
            JointKind::PointOnPlane => Parts::of(&[Along(Z)], &[]),
            JointKind::Distance { length } => Parts::of(&[Distance(length)], &[]),
            JointKind::Free => Parts::of(&[], &[]),
        }
    }
}

/// Up to six parts, in place.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    list: [Part; 6],
    length: usize,
}

impl Parts {
    fn of(first: &[Part], then: &[Part]) -> Parts {
        let mut parts = Parts { list: [Part::Twist; 6], length: first.len() + then.len() };
        parts.list[..first.len()].copy_from_slice(first);
        parts.list[first.len()..parts.length].copy_from_slice(then);
        parts
    }
}

impl std::ops::Deref for Parts {
    type Target = [Part];
    fn deref(&self) -> &[Part] {
        &self.list[..self.length]
    }
}

/// A coordinate of a joint: what limits, friction, motors, springs and gears act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coordinate {
    /// Displacement along a's z axis, m.
    Slide,
    /// Angle about a's z axis, counted over full turns, rad.
    Angle,
    /// Distance of the two origins, m.
    Distance,
}

impl Coordinate {
    /// What it is, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Coordinate::Slide => "the displacement along the axis",
            Coordinate::Angle => "the angle about the axis",
            Coordinate::Distance => "the distance of the points",
        }
    }

    /// The part that measures it.
    pub fn part(self) -> Part {
        match self {
            Coordinate::Slide => Part::Along(Axis::Z),
            Coordinate::Angle => Part::Twist,
            Coordinate::Distance => Part::Distance(0.0),
        }
    }
}

/// Stops at the ends of a coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// What is limited.
    pub coordinate: Coordinate,
    /// Least value, m or rad; may be −∞.
    #[serde(with = "super::extended")]
    pub lo: f64,
    /// Greatest value, m or rad; may be +∞.
    #[serde(with = "super::extended")]
    pub hi: f64,
    /// Restitution of the stops, 0…1.
    pub restitution: f64,
}

/// Dry friction along a coordinate, independent of the load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DryFriction {
    /// Where it acts.
    pub coordinate: Coordinate,
    /// Greatest force or torque, N or N m, ≥ 0.
    pub effort: f64,
}

/// Inertia that moves with a coordinate alone: the rotor of a motor behind its gear, times the
/// square of the ratio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Armature {
    /// Where it acts.
    pub coordinate: Coordinate,
    /// Inertia, kg m² (of a slide: kg), ≥ 0.
    pub inertia: f64,
}

/// A joint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Joint {
    /// Its name, unique in the scene.
    pub name: String,
    /// What it holds.
    pub kind: JointKind,
    /// First body.
    pub a: BodyId,
    /// Second body.
    pub b: BodyId,
    /// The joint's frame on body a, in its body frame.
    pub frame_a: Pose,
    /// The joint's frame on body b, in its body frame.
    pub frame_b: Pose,
    /// Stops.
    pub limits: Vec<Limit>,
    /// Dry friction.
    pub friction: Vec<DryFriction>,
    /// Inertia of rotors that turn with the joint (armature).
    pub armature: Vec<Armature>,
    /// Compliance of every part, m/N or rad/(N m); 0 is rigid.
    pub compliance: f64,
    /// True if the two bodies may also touch each other.
    pub collide: bool,
}

/// What a motor does to its coordinate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drive {
    /// The coordinate follows the function, whatever it costs (m, rad).
    Position(Function),
    /// Its rate follows the function, whatever it costs (m/s, rad/s).
    Speed(Function),
    /// Its rate follows the function as far as the effort suffices.
    LimitedSpeed {
        /// Wanted rate, m/s or rad/s.
        speed: Function,
        /// Greatest force or torque, N or N m, ≥ 0.
        #[serde(with = "super::extended")]
        effort: f64,
    },
    /// A force or torque along the coordinate, N or N m.
    Effort(Function),
    /// A servo: `k (target − x) + c (target rate − ẋ)` at the end of the step, as far as the effort
    /// suffices.
    Servo {
        /// Wanted value, m or rad.
        target: Function,
        /// Stiffness k, N/m or N m/rad, ≥ 0.
        stiffness: f64,
        /// Damping c, N s/m or N m s/rad, ≥ 0; not both zero.
        damping: f64,
        /// Greatest force or torque, N or N m, ≥ 0; may be +∞.
        #[serde(with = "super::extended")]
        effort: f64,
    },
    /// A speed servo: `c (speed − ẋ)` at the end of the step, as far as the effort suffices.
    SpeedServo {
        /// Wanted rate, m/s or rad/s.
        speed: Function,
        /// Damping c, N s/m or N m s/rad, > 0.
        damping: f64,
        /// Greatest force or torque, N or N m, ≥ 0; may be +∞.
        #[serde(with = "super::extended")]
        effort: f64,
    },
}

impl Drive {
    /// The function that it follows: a target, a speed or an effort.
    pub fn function(&self) -> &Function {
        match self {
            Drive::Position(f) | Drive::Speed(f) | Drive::Effort(f) => f,
            Drive::LimitedSpeed { speed, .. } | Drive::SpeedServo { speed, .. } => speed,
            Drive::Servo { target, .. } => target,
        }
    }
}

/// A motor on a coordinate of a joint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Motor {
    /// Its name, unique in the scene.
    pub name: String,
    /// The joint.
    pub joint: JointId,
    /// The coordinate that it drives.
    pub coordinate: Coordinate,
    /// What it does.
    pub drive: Drive,
    /// Further coordinates of a motor that pulls several joints at once (a tendon): it then acts on
    /// `coordinate + Σ factor · coordinate`. Servos and given efforts only.
    pub also: Vec<GearTerm>,
}

/// One coordinate in a gear.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GearTerm {
    /// The joint.
    pub joint: JointId,
    /// Its coordinate.
    pub coordinate: Coordinate,
    /// Its factor.
    pub factor: f64,
}

/// A gear, rack, screw or differential: `Σ factor · coordinate` keeps its initial value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gear {
    /// Its name, unique in the scene.
    pub name: String,
    /// Its terms: two for a gear pair or a rack, three for a differential.
    pub terms: Vec<GearTerm>,
}
