//! Problems in files.

pub mod json;

use super::{Problem, Reduced, Solution};

/// A problem as it came out of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// With velocities.
    Problem(Problem),
    /// With the velocities eliminated.
    Reduced(Reduced),
}

/// Everything that a problem file may hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// The problem.
    pub input: Input,
    /// The solution stored with it, if any: of what quality is for the judge to say.
    pub solution: Option<Solution>,
    /// A starting point stored with it, if any.
    pub guess: Option<Solution>,
}
