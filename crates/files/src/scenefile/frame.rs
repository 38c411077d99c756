//! The tables of rotations and frames.

use super::read::table;
use super::value::*;

table! {
    /// A rotation: about an axis by an angle, by roll-pitch-yaw, or a quaternion.
    pub struct Rotation {
        /// The axis, of any length.
        axis: Option<Vector<Pure>>,
        /// The angle about it.
        angle: Option<Of<Angle>>,
        /// Angles about the fixed x, then y, then z axis.
        rpy: Option<Vector<Angle>>,
        /// Quaternion x, y, z, w.
        quaternion: Option<[Of<Pure>; 4]>,
    }
}

table! {
    /// A frame.
    pub struct Frame {
        /// Its origin.
        position: Option<Vector<Length>>,
        /// How it is turned.
        rotation: Option<At<Rotation>>,
    }
}
