//! The figures of how wrong a solution is, and whether they are within the tolerance.

use super::tolerance::{Criterion, Tolerance, Unmet};
use serde::{Deserialize, Serialize};

/// The error of a solution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Residual {
    /// Sum of the local errors and the momentum defect, J.
    pub joule: f64,
    /// The energy scale of the problem, J.
    pub scale: f64,
    /// Estimated kinetic energy of the velocity error, J.
    pub estimate: f64,
    /// Largest δu of any block, m/s.
    pub velocity: f64,
    /// Energy of the momentum defect, J (a part of `joule`).
    pub momentum: f64,
    /// Largest velocity that the momentum defect is worth, m/s.
    pub momentum_velocity: f64,
    /// The block with the largest local error, J.
    pub worst_block: usize,
    /// The row of that block that contributes most.
    pub worst_row: usize,
    /// The block with the largest δu.
    pub max_velocity_error_block: usize,
    /// The least mass that a row moves, `1/max a`, kg or kg m²; 0 if it is not known.
    #[serde(default)]
    pub lightest: f64,
    /// The reactions change the energy of the motion, `½‖v* − v₀‖²_H`, by at least this, J; 0 if it
    /// is not known. The estimate is measured against it where it exceeds the scale.
    #[serde(default)]
    pub reaction_energy: f64,
    /// The largest δu of any block without reactions, m/s: what the reactions have to correct.
    #[serde(default)]
    pub speed: f64,
}

/// Errors below the energy of the lightest row at this part of the velocity tolerance are accepted,
/// however small the scale is.
const FLOOR_VELOCITY_RATIO: f64 = 1e-3;
/// A velocity tolerance above this, m/s, does not raise the floor: it asks little of the
/// velocities, not of the energy.
const MAX_FLOOR_VELOCITY: f64 = 1e-6;

impl Residual {
    /// `joule / scale` (0 for 0/0).
    pub fn relative(&self) -> f64 {
        ratio(self.joule, self.scale)
    }

    /// What the estimate is measured against, J: `max(scale, reaction_energy)`.
    pub fn estimate_scale(&self) -> f64 {
        self.scale.max(self.reaction_energy)
    }

    /// `estimate / estimate_scale` (0 for 0/0).
    pub fn estimate_relative(&self) -> f64 {
        ratio(self.estimate, self.estimate_scale())
    }

    /// Local sum, estimate and velocities are all within the tolerance.
    pub fn accepted(&self, tolerance: &Tolerance) -> bool {
        let small = self.estimate_relative() <= tolerance.largest_bound()
            || self.estimate <= self.floor(tolerance);
        self.accepted_locally(tolerance) && small
    }

    /// An energy that is always accepted, J: below it no row can be wrong by more than a thousandth
    /// of the velocity tolerance (`u² ≤ a · 2 joule`), so that rounding is not measured against
    /// rounding.
    pub fn floor(&self, tolerance: &Tolerance) -> f64 {
        // Who asks nothing of the velocities says nothing about small ones.
        if tolerance.velocity.is_infinite() {
            return 0.0;
        }
        0.5 * self.lightest
            * (FLOOR_VELOCITY_RATIO * tolerance.velocity.min(MAX_FLOOR_VELOCITY)).powi(2)
    }

    /// Local sum and velocities are within the tolerance, whatever the estimate.
    pub fn accepted_locally(&self, tolerance: &Tolerance) -> bool {
        let small = self.relative() <= tolerance.relative || self.joule <= self.floor(tolerance);
        let allowed = tolerance.largest_velocity(self.speed);
        small && self.velocity <= allowed && self.momentum_velocity <= allowed
    }

    /// The criteria that are not met, in the order of [`Criterion`]; none if and only if the
    /// solution is accepted.
    ///
    /// ```
    /// use signorini_solve::problem::{Residual, Tolerance};
    /// let residual = Residual { joule: 1e-3, scale: 1.0, ..Residual::default() };
    /// let unmet: Vec<_> = residual.unmet(&Tolerance::default()).collect();
    /// assert_eq!((unmet.len(), unmet[0].found, unmet[0].allowed), (1, 1e-3, 1e-8));
    /// ```
    pub fn unmet(&self, tolerance: &Tolerance) -> impl Iterator<Item = Unmet> + use<> {
        let Residual { joule, estimate, .. } = *self;
        let floor = self.floor(tolerance);
        let fastest = tolerance.largest_velocity(self.speed);
        [
            (Criterion::Energy, self.relative(), tolerance.relative),
            (Criterion::Velocity, self.velocity, fastest),
            (Criterion::Momentum, self.momentum_velocity, fastest),
            (Criterion::Estimate, self.estimate_relative(), tolerance.largest_bound()),
        ]
        .into_iter()
        .filter(|(_, found, allowed)| !(found <= allowed))
        .filter(move |(criterion, ..)| match criterion {
            Criterion::Energy => !(joule <= floor),
            Criterion::Estimate => !(estimate <= floor),
            Criterion::Velocity | Criterion::Momentum => true,
        })
        .map(|(criterion, found, allowed)| Unmet { criterion, found, allowed })
    }
}

pub(super) fn ratio(x: f64, scale: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x / scale }
}
