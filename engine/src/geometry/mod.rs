//! Where shapes touch.
//!
//! * [`shape`]: what a shape is, as plain data.
//! * [`Collider`]: a shape on a body; [`Groups`]: who may touch whom.
//! * [`Contact`]: what comes out, with a key that is the same from step to step.
//!
//! Nothing here knows mass, velocity or friction.

pub mod collider;
pub mod contact;
pub mod shape;

pub use collider::{Collider, Groups};
pub use contact::{Contact, matches, tangents};
pub use shape::{Invalid, Shape};
