//! What formulas may speak of: quantities that can be measured between two steps.

use super::joint::{Axis, Coordinate};
use super::{BodyId, EventId, JointId, MotorId, SensorId, VariableId};
use glam::DVec3;
use serde::{Deserialize, Serialize};

/// Something that can be measured between two steps. All directions are those of the world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// The time, s.
    Time,
    /// What a sensor gave last.
    Sensor(SensorId),
    /// The present value of a variable.
    Variable(VariableId),
    /// How often an event happened.
    Count(EventId),
    /// How long ago an event happened last, s; NaN before the first time, which compares as false
    /// with anything.
    Since(EventId),
    /// Where the frame of a body is, m.
    Position(BodyId, Axis),
    /// Velocity of the centre of mass, m/s.
    Velocity(BodyId, Axis),
    /// Speed of the centre of mass, m/s.
    Speed(BodyId),
    /// Angular velocity, rad/s.
    AngularVelocity(BodyId, Axis),
    /// Angular speed, rad/s.
    AngularSpeed(BodyId),
    /// Angle between the z axis of a body and where it pointed at the beginning, rad.
    Tilt(BodyId),
    /// Kinetic energy of a body, J.
    Kinetic(BodyId),
    /// 1 if a body is there, 0 if it waits in its template or was removed.
    There(BodyId),
    /// Sum of the contact forces on a body (of those with another body alone) over the last step: a
    /// component, or its length, N.
    ContactForce {
        /// The body.
        body: BodyId,
        /// The other body; without it all.
        other: Option<BodyId>,
        /// The component; without it the length.
        axis: Option<Axis>,
    },
    /// A coordinate of a joint, m or rad.
    Value(JointId, Coordinate),
    /// The rate of a coordinate of a joint, m/s or rad/s.
    Rate(JointId, Coordinate),
    /// Force that a joint transmitted in the last step, without its motors: its length, N.
    JointForce(JointId),
    /// Torque that a joint transmitted in the last step about its own point, without its motors:
    /// its length, N m.
    JointTorque(JointId),
    /// Force or torque that a motor gave in the last step, N or N m.
    Effort(MotorId),
    /// What a motor is told now, in the unit of its drive.
    Target(MotorId),
    /// How far a ray goes until it meets a body, m; its reach if it meets none.
    Ray(Box<Ray>),
    /// Of a spring by formula: the distance of its ends, m.
    Length,
    /// Of a spring by formula: the rate of that distance, m/s.
    LengthRate,
}

/// A ray from a point of a body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ray {
    /// The body that carries it; it is not seen.
    pub body: BodyId,
    /// Where it begins, body frame, m.
    pub origin: DVec3,
    /// Where it goes, unit vector in the body frame.
    pub direction: DVec3,
    /// How far it sees, m.
    pub reach: f64,
}
