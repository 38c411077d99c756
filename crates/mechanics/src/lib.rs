//! Machines whose parts touch: scenes, collision, time steps and their verdicts.
//!
//! One step reads in one direction:
//!
//! ```text
//!   scene → collide → assemble → solve → advance → record
//! ```
//!
//! Mechanics ends at [`signorini_solve::problem::Problem`]; the methods that solve it know nothing
//! of bodies.

pub mod analyse;
pub mod assemble;
pub mod geometry;
pub mod mechanism;
pub mod scene;
pub mod step;
pub mod symbolic;

pub(crate) use signorini_solve::{math, problem, solve};
