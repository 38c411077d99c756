//! The stopping criteria of a solution, and those that it does not meet.

use serde::{Deserialize, Serialize};

/// What must be small for a solution to be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    /// Largest `joule / scale`.
    pub relative: f64,
    /// Largest δu of any row, m/s.
    pub velocity: f64,
    /// Largest `estimate / estimate_scale`; none: the square root of `relative`, because the
    /// estimate is of first order.
    pub bound: Option<f64>,
    /// Largest δu of any row, as a part of the largest that there is without reactions: allowed
    /// where it exceeds `velocity`. 0: `velocity` alone counts.
    #[serde(default)]
    pub velocity_relative: f64,
}

impl Default for Tolerance {
    fn default() -> Tolerance {
        Tolerance { relative: 1e-8, velocity: 1e-6, bound: None, velocity_relative: 0.0 }
    }
}

impl Tolerance {
    /// The largest δu, m/s, where rows are wrong by `speed` without reactions.
    pub fn largest_velocity(&self, speed: f64) -> f64 {
        self.velocity.max(self.velocity_relative * speed)
    }

    /// Largest `estimate / estimate_scale`.
    pub fn largest_bound(&self) -> f64 {
        self.bound.unwrap_or(self.relative.sqrt())
    }
}

/// What a solution may be refused for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Criterion {
    /// The sum of the local errors, relative to the energy scale: [`Tolerance::relative`].
    Energy,
    /// The largest velocity by which a row violates its law, m/s: [`Tolerance::velocity`].
    Velocity,
    /// The largest velocity that the momentum defect is worth, m/s: [`Tolerance::velocity`].
    Momentum,
    /// The estimated energy of the velocity error, relative to the energy scale:
    /// [`Tolerance::bound`].
    Estimate,
}

/// A criterion that is not met.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Unmet {
    /// Which one.
    pub criterion: Criterion,
    /// What was found, in the unit of the criterion.
    pub found: f64,
    /// What is allowed.
    pub allowed: f64,
}
