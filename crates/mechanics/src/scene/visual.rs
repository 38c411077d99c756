//! What bodies look like where that differs from what touches.

use super::BodyId;
use crate::geometry::Shape;
use crate::math::pose::Pose;
use glam::DVec3;
use serde::{Deserialize, Serialize};

/// A shape that is drawn and touches nothing. A body that has any is drawn by them alone, without
/// its colliders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Visual {
    /// On which body.
    pub body: BodyId,
    /// Where it lies in the frame of the body.
    pub pose_in_body: Pose,
    /// What is drawn.
    pub drawn: Drawn,
    /// Red, green and blue; the colour of the body without this.
    pub color: Option<[u8; 3]>,
}

/// What a visual shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Drawn {
    /// A shape.
    Shape(Shape),
    /// A mesh that is read when something is to be drawn: no step needs it.
    File {
        /// The path of the file.
        path: String,
        /// What its axes are stretched by.
        scale: DVec3,
    },
}
