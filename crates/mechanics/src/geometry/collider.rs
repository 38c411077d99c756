//! Colliders: shapes on bodies, and who may touch whom.

use super::shape::{Invalid, Shape, check_pose};
use crate::math::pose::Pose;
use serde::{Deserialize, Serialize};

/// Which groups a collider belongs to, and which groups it touches.
///
/// Two colliders touch only if each touches a group of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Groups {
    /// The groups it belongs to, one bit each.
    pub membership: u32,
    /// The groups it touches, one bit each.
    pub filter: u32,
}

impl Default for Groups {
    fn default() -> Self {
        Groups::ALL
    }
}

impl Groups {
    /// In every group, touching every group.
    pub const ALL: Groups = Groups { membership: u32::MAX, filter: u32::MAX };
    /// In no group, touching nothing.
    pub const NONE: Groups = Groups { membership: 0, filter: 0 };

    /// Whether two colliders may touch.
    #[inline]
    pub fn touch(self, other: Groups) -> bool {
        self.membership & other.filter != 0 && other.membership & self.filter != 0
    }
}

/// A shape on a body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Collider {
    /// Index of the body that carries it. Colliders of one body never touch.
    pub body: u32,
    /// What it is.
    pub shape: Shape,
    /// Where it lies in the body's frame.
    #[serde(default)]
    pub pose_in_body: Pose,
    /// Who may touch it.
    #[serde(default)]
    pub groups: Groups,
    /// Thickness of a skin around it, m: gaps are measured from the skin. Zero for the bare shape.
    #[serde(default)]
    pub margin: f64,
    /// Whether its body never moves. Two fixed colliders never touch.
    #[serde(default)]
    pub fixed: bool,
    /// Whether it is the boundary of a soft body: a mesh whose vertices move on their own, in the
    /// world.
    #[serde(default)]
    pub soft: bool,
}

impl Collider {
    /// A bare shape at the origin of a moving body, in all groups.
    pub fn new(body: u32, shape: Shape) -> Self {
        Collider {
            body,
            shape,
            pose_in_body: Pose::IDENTITY,
            groups: Groups::ALL,
            margin: 0.0,
            fixed: false,
            soft: false,
        }
    }

    /// Says what is wrong with the collider, if anything.
    pub fn check(&self) -> Result<(), Invalid> {
        check_pose("pose in body", self.body as usize, &self.pose_in_body)?;
        if !(self.margin >= 0.0 && self.margin.is_finite()) {
            return Err(Invalid::Distance { what: "margin", value: self.margin });
        }
        self.shape.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_must_agree_to_touch() {
        let wheel = Groups { membership: 1, filter: 2 };
        let road = Groups { membership: 2, filter: 1 };
        let ghost = Groups { membership: 2, filter: 4 };
        assert!(wheel.touch(road) && road.touch(wheel));
        assert!(!wheel.touch(ghost) && !ghost.touch(wheel));
        assert!(!wheel.touch(wheel));
        assert!(Groups::ALL.touch(road) && !Groups::NONE.touch(Groups::ALL));
    }

    #[test]
    fn a_wrong_collider_names_the_culprit() {
        let ball = Collider::new(0, Shape::Sphere { radius: 1.0 });
        ball.check().unwrap();
        let message = |collider: Collider| collider.check().unwrap_err().to_string();
        assert!(message(Collider { margin: -1.0, ..ball.clone() }).contains("margin is -1"));
        let nowhere = Pose::at(glam::DVec3::new(0.0, f64::NAN, 0.0));
        assert!(message(Collider { pose_in_body: nowhere, ..ball }).contains("NaN"));
    }
}
