//! Why a step is not taken, or a stepper not built.

use super::verdict::Verdict;
use crate::scene::Invalid;
use crate::solve::Unsupported;

/// Why a step was not taken. The state is as it was.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StepError {
    /// The error is not accepted, and the policy is to stop.
    #[error(
        "step at t = {time} s not accepted: {joule:.3e} J, {relative:.1e} of the energy scale, \
            {worst}",
        time = verdict.time,
        joule = verdict.error.joule,
        relative = verdict.error.relative()
    )]
    NotAccepted {
        /// The verdict on the step.
        verdict: Box<Verdict>,
        /// The worst constraint.
        worst: String,
    },
    /// The method does not treat the problem.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// NaN, infinity, or a number too large to be squared.
    #[error("no step from t = {time} s: {what}")]
    Nonsense {
        /// Time at the beginning of the step, s.
        time: f64,
        /// Which number, and where.
        what: String,
    },
    /// A controller or an event gave an order that is not a number.
    #[error("step at t = {time} s not taken: {why}")]
    Order {
        /// The time of the order, s.
        time: f64,
        /// Who was told what.
        why: String,
    },
}

/// Why a stepper cannot be built.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BuildError {
    /// Faults of the scene.
    #[error("{}", list(.0))]
    Scene(Vec<Invalid>),
    /// A fault of the settings.
    #[error("settings: {0}")]
    Settings(String),
    /// A fault of a collider.
    #[error(transparent)]
    Geometry(#[from] crate::geometry::Invalid),
}

fn list(faults: &[Invalid]) -> String {
    faults.iter().map(|f| f.to_string()).collect::<Vec<_>>().join("\n")
}
