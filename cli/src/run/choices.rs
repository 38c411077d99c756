//! What the options of `signorini run` may be.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// How often.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Every {
    /// Every so many steps.
    Steps(u64),
    /// Every so much simulated time, s.
    Time(f64),
}

/// The time schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Scheme {
    /// Second order between events.
    Leapfrog,
    /// First order.
    Euler,
}

/// How the error of the time step is estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum TimeError {
    /// From the change of the acceleration.
    Free,
    /// From one step of dt and two of dt/2, which are kept.
    Doubling,
}

/// Tolerances that go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Preset {
    /// 1e-8 of the energy scale, 1e-6 m/s.
    Exact,
    /// 1e-4 of the energy scale, 1e-2 g dt.
    Engineering,
    /// 1e-2 of the energy scale, 1e-1 g dt.
    Fast,
}

/// In which coordinates mechanisms move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Coordinates {
    /// Those of trees where they cost less.
    Auto,
    /// Trees of bodies in the coordinates of their joints.
    Tree,
    /// Every body in its own velocities, every joint as rows.
    Bodies,
}

/// The friction laws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Law {
    /// The true law of Coulomb.
    Coulomb,
    /// The convex law: sliding contacts dilate.
    Cone,
}
