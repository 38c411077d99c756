//! Bodies: rigid, fixed, or moved by a function of time.
//!
//! # The frames, once for all
//!
//! * The **world** is one right-handed Cartesian frame.
//! * A **body frame** has its origin in the body's centre of mass; its axes are those in which the
//!   body was described. Everything that a body carries (shapes, joint frames, anchors) is stored
//!   in its body frame. A body described about another origin is shifted once, on entry;
//!   [`Body::origin`] remembers where that origin went.
//! * **Positions** and **linear velocities** are those of the centre of mass, in the world;
//!   **angular velocities**, inertia and torques are in body axes, so that the mass matrix is
//!   constant.
//! * The orientation advances by the exponential map, `ρ⁺ = ρ exp(h ω⁺)` (Mangoni2018, eq. 3.1).

use super::function::Function;
use crate::geometry::Shape;
use crate::math::pose::Pose;
use glam::{DMat3, DQuat, DVec3};
use serde::{Deserialize, Serialize};

/// Mass and inertia.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mass {
    /// Mass, kg, > 0.
    pub mass: f64,
    /// Inertia about the centre of mass in body axes, kg m², symmetric positive definite.
    pub inertia: DMat3,
}

impl Mass {
    /// A mass with principal inertias along the body axes.
    pub fn new(mass: f64, principal: DVec3) -> Mass {
        Mass { mass, inertia: DMat3::from_diagonal(principal) }
    }

    /// A solid sphere.
    pub fn sphere(mass: f64, radius: f64) -> Mass {
        Mass::new(mass, DVec3::splat(0.4 * mass * radius * radius))
    }

    /// A solid box with these edge lengths.
    pub fn cuboid(mass: f64, edges: DVec3) -> Mass {
        let e = edges * edges;
        Mass::new(mass, mass / 12.0 * DVec3::new(e.y + e.z, e.z + e.x, e.x + e.y))
    }

    /// Kinetic energy at these velocities (world; body axes), J.
    pub fn kinetic(&self, linear: DVec3, angular: DVec3) -> f64 {
        0.5 * (self.mass * linear.length_squared() + angular.dot(self.inertia * angular))
    }
}

/// How a body moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// By the laws of mechanics.
    Rigid(Mass),
    /// Not at all.
    Fixed,
    /// As told, whatever pushes against it.
    Imposed(Box<Motion>),
    /// As the nodes of this soft body do; its frame sits in their centre of mass.
    Soft(super::SoftId),
}

/// An imposed motion: a rotation about an axis, then a translation, both from the initial pose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Motion {
    /// Displacement along the axes of the world, m.
    pub translation: [Function; 3],
    /// Axis of rotation, unit vector in the world.
    pub axis: DVec3,
    /// A point of the axis at zero displacement, in the world, m.
    pub center: DVec3,
    /// Angle about the axis, rad.
    pub angle: Function,
}

impl Default for Motion {
    fn default() -> Motion {
        Motion {
            translation: Default::default(),
            axis: DVec3::Z,
            center: DVec3::ZERO,
            angle: Function::default(),
        }
    }
}

impl Motion {
    /// A translation along `direction` (world, any length): `direction · f(t)`.
    pub fn along(direction: DVec3, f: impl Fn(f64) -> Function) -> Motion {
        Motion { translation: direction.to_array().map(f), ..Motion::default() }
    }

    /// A rotation about an axis of the world.
    pub fn about(center: DVec3, axis: DVec3, angle: Function) -> Motion {
        Motion { axis: axis.normalize_or(DVec3::Z), center, angle, ..Motion::default() }
    }

    /// The pose at time `t` of a body that stands at `initial` when nothing is displaced.
    pub fn pose(&self, initial: &Pose, t: f64) -> Pose {
        let turn = DQuat::from_axis_angle(self.axis, self.angle.value(t));
        let shift = DVec3::from_array(self.translation.each_ref().map(|f| f.value(t)));
        Pose {
            position: self.center + turn * (initial.position - self.center) + shift,
            orientation: (turn * initial.orientation).normalize(),
        }
    }

    /// What is wrong with the motion, if anything.
    pub fn fault(&self) -> Option<String> {
        if (self.axis.length() - 1.0).abs() > 1e-9 {
            return Some(format!("axis of motion has length {}, wanted 1", self.axis.length()));
        }
        self.translation.iter().chain([&self.angle]).find_map(Function::fault)
    }
}

/// A body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// Its name, unique in the scene.
    pub name: String,
    /// How it moves.
    pub kind: Kind,
    /// Where it stands at the beginning (the body frame, in the world).
    pub pose: Pose,
    /// Linear velocity at the beginning, world, m/s.
    pub velocity: DVec3,
    /// Angular velocity at the beginning, body axes, rad/s.
    pub spin: DVec3,
    /// Where the origin of the frame in which the body was described lies, in the body frame, m.
    pub origin: DVec3,
}

impl Body {
    /// A rigid body of known mass, at the origin.
    pub fn rigid(name: impl Into<String>, mass: Mass) -> Body {
        Body::new(name, Kind::Rigid(mass))
    }

    /// A body that does not move, at the origin.
    pub fn fixed(name: impl Into<String>) -> Body {
        Body::new(name, Kind::Fixed)
    }

    /// A body that moves as told.
    pub fn imposed(name: impl Into<String>, motion: Motion) -> Body {
        Body::new(name, Kind::Imposed(Box::new(motion)))
    }

    fn new(name: impl Into<String>, kind: Kind) -> Body {
        Body {
            name: name.into(),
            kind,
            pose: Pose::IDENTITY,
            velocity: DVec3::ZERO,
            spin: DVec3::ZERO,
            origin: DVec3::ZERO,
        }
    }

    /// The same body with its described frame at `position` (world), axes kept.
    pub fn at(mut self, position: DVec3) -> Body {
        self.pose.position = position - self.pose.orientation * self.origin;
        self
    }

    /// The same body with its described frame at `pose` (world).
    pub fn placed(mut self, pose: Pose) -> Body {
        self.pose = Pose {
            position: pose.position - pose.orientation * self.origin,
            orientation: pose.orientation.normalize(),
        };
        self
    }

    /// The same body turned to `orientation` about its described origin.
    pub fn turned(self, orientation: DQuat) -> Body {
        let position = self.pose.position + self.pose.orientation * self.origin;
        self.placed(Pose { position, orientation })
    }

    /// The same body with these velocities: of the centre of mass (world), and angular (world).
    pub fn moving(mut self, velocity: DVec3, angular: DVec3) -> Body {
        self.velocity = velocity;
        self.spin = self.pose.orientation.inverse() * angular;
        self
    }

    /// Mass and inertia of a rigid body.
    pub fn mass(&self) -> Option<&Mass> {
        match &self.kind {
            Kind::Rigid(mass) => Some(mass),
            _ => None,
        }
    }
}

/// The greatest distance of a point of the shape from the origin of its frame, m; zero for shapes
/// without end.
pub fn reach(shape: &Shape) -> f64 {
    let farthest = |points: &[DVec3]| points.iter().map(|p| p.length()).fold(0.0, f64::max);
    match shape {
        Shape::Sphere { radius } => *radius,
        Shape::Box { half_extents } => half_extents.length(),
        Shape::Capsule { radius, half_length } => radius + half_length,
        Shape::Cylinder { radius, half_length } | Shape::Cone { radius, half_length } => {
            radius.hypot(*half_length)
        }
        Shape::Hull { points } => farthest(points),
        Shape::Mesh { vertices, .. } => farthest(vertices),
        Shape::HalfSpace | Shape::HeightField { .. } => 0.0,
        Shape::Compound { parts } => parts
            .iter()
            .map(|(pose, part)| pose.position.length() + reach(part))
            .fold(0.0, f64::max),
    }
}
