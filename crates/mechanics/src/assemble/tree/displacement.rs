//! How a joint displaces its two frames: coordinates, and the motion that their rates are.
//!
//! With D the pose of frame b seen from frame a, and δ a change of the coordinates:
//!
//! | joint | D | rates: motion of b relative to a |
//! |---|---|---|
//! | revolute | turn θ about z | angular a_z |
//! | prismatic | shift s along z | linear a_z |
//! | cylindrical | shift s along z, turn θ about z | linear a_z; angular a_z |
//! | spherical | turn ρ | angular b_x, b_y, b_z: ρ ← ρ exp(δ) |
//! | universal | turn α about x, then β about y | angular a_x; angular b_y |
//! | planar | shift (x, y), turn θ about z | linear a_x; linear a_y; angular a_z |
//! | fixed | nothing | none |
//!
//! Motions are seen at the origin of frame b. Those of one joint are orthonormal, angular and
//! linear ones apart, so that rates are read off a relative motion by scalar products.

use crate::math::pose::{Pose, exponential};
use crate::scene::JointKind;
use glam::{DQuat, DVec3};

/// The most coordinates of a joint.
pub const MAX_JOINT_COORDINATES: usize = 3;

/// The motion of a body per unit of one coordinate's rate: at `point` it has the velocity `linear`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Unit {
    /// Angular velocity, world.
    pub angular: DVec3,
    /// Velocity of the point, world.
    pub linear: DVec3,
    /// The point, world, m.
    pub point: DVec3,
}

impl Unit {
    /// The velocity of the body's point at `place`.
    #[inline]
    pub fn at(&self, place: DVec3) -> DVec3 {
        self.linear + self.angular.cross(place - self.point)
    }
}

/// Number of coordinates of a joint; none if trees do not know it.
pub fn freedom(kind: JointKind) -> Option<usize> {
    match kind {
        JointKind::Fixed => Some(0),
        JointKind::Revolute | JointKind::Prismatic => Some(1),
        JointKind::Cylindrical | JointKind::Universal => Some(2),
        JointKind::Spherical | JointKind::Planar => Some(3),
        JointKind::PointOnLine
        | JointKind::PointOnPlane
        | JointKind::Distance { .. }
        | JointKind::Free => None,
    }
}

/// The unit motions of frame b (`b`) relative to frame a (`a`), both in the world.
pub fn units(kind: JointKind, a: &Pose, b: &Pose) -> [Unit; MAX_JOINT_COORDINATES] {
    let turn = |axis: DVec3| Unit { angular: axis, linear: DVec3::ZERO, point: b.position };
    let shift = |axis: DVec3| Unit { angular: DVec3::ZERO, linear: axis, point: b.position };
    let none = Unit::default();
    let (on_a, on_b) = (|axis| a.orientation * axis, |axis| b.orientation * axis);
    match kind {
        JointKind::Revolute => [turn(on_a(DVec3::Z)), none, none],
        JointKind::Prismatic => [shift(on_a(DVec3::Z)), none, none],
        JointKind::Cylindrical => [shift(on_a(DVec3::Z)), turn(on_a(DVec3::Z)), none],
        JointKind::Spherical => [turn(on_b(DVec3::X)), turn(on_b(DVec3::Y)), turn(on_b(DVec3::Z))],
        JointKind::Universal => [turn(on_a(DVec3::X)), turn(on_b(DVec3::Y)), none],
        JointKind::Planar => [shift(on_a(DVec3::X)), shift(on_a(DVec3::Y)), turn(on_a(DVec3::Z))],
        _ => [none; MAX_JOINT_COORDINATES],
    }
}

/// The displacement whose coordinates are those of `from` plus `delta`, with the joint's parts
/// exactly zero.
pub fn displaced(kind: JointKind, from: &Pose, delta: &[f64]) -> Pose {
    let q = from.orientation;
    let about_z = |delta: f64| DQuat::from_rotation_z(2.0 * q.z.atan2(q.w) + delta);
    let along_z = |delta: f64| DVec3::new(0.0, 0.0, from.position.z + delta);
    match kind {
        JointKind::Revolute => Pose::new(DVec3::ZERO, about_z(delta[0])),
        JointKind::Prismatic => Pose::at(along_z(delta[0])),
        JointKind::Cylindrical => Pose::new(along_z(delta[0]), about_z(delta[1])),
        JointKind::Spherical => {
            Pose::new(DVec3::ZERO, (q * exponential(DVec3::from_slice(delta))).normalize())
        }
        JointKind::Universal => {
            // b_y = (0, cos α, sin α) seen from a; a_x = (cos β, 0, sin β) seen from b.
            let (y, x) = (q * DVec3::Y, q.conjugate() * DVec3::X);
            let (alpha, beta) = (y.z.atan2(y.y), x.z.atan2(x.x));
            Pose::new(
                DVec3::ZERO,
                DQuat::from_rotation_x(alpha + delta[0]) * DQuat::from_rotation_y(beta + delta[1]),
            )
        }
        JointKind::Planar => Pose::new(
            DVec3::new(from.position.x + delta[0], from.position.y + delta[1], 0.0),
            about_z(delta[2]),
        ),
        _ => Pose::IDENTITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::{Mount, part::measure};
    use crate::math::pose::logarithm;

    const KINDS: [JointKind; 7] = [
        JointKind::Fixed,
        JointKind::Revolute,
        JointKind::Prismatic,
        JointKind::Cylindrical,
        JointKind::Spherical,
        JointKind::Universal,
        JointKind::Planar,
    ];

    #[test]
    fn every_displacement_holds_the_parts_and_moves_as_its_units_say() {
        let a = Pose::turned(DVec3::new(0.3, -0.2, 1.0), DVec3::new(0.4, 1.0, -0.3));
        for kind in KINDS {
            let count = freedom(kind).unwrap();
            let d = displaced(
                kind,
                &Pose::turned(DVec3::new(0.2, 0.1, -0.4), DVec3::new(0.1, 0.2, 0.7)),
                &[0.3, -0.2, 0.5],
            );
            for part in kind.parts().iter() {
                let (on_a, on_b) =
                    (Mount { body: &a, frame: &Pose::IDENTITY }, Mount { body: &a, frame: &d });
                // Rounding of a few products of numbers of order one.
                assert!(measure(*part, on_a, on_b).value.abs() < 1e-14, "{} {part:?}", kind.name());
            }
            let b = a * d;
            let h = 1e-6;
            for i in 0..count {
                let at = |s: f64| {
                    let mut delta = [0.0; MAX_JOINT_COORDINATES];
                    delta[i] = s * h;
                    a * displaced(kind, &d, &delta)
                };
                let unit = units(kind, &a, &b)[i];
                let (after, before) = (at(1.0), at(-1.0));
                let linear = (after.position - before.position) / (2.0 * h);
                let angular = b
                    .vector(logarithm(before.orientation.conjugate() * after.orientation))
                    / (2.0 * h);
                // Central differences: h² and rounding over h.
                assert!(
                    linear.distance(unit.at(b.position)) < 1e-9,
                    "{} {i}: {linear} {unit:?}",
                    kind.name()
                );
                assert!(
                    angular.distance(unit.angular) < 1e-9,
                    "{} {i}: {angular} {unit:?}",
                    kind.name()
                );
            }
        }
    }
}
