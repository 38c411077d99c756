//! What a step says of itself.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use signorini::solve::Status;
use signorini::step::{self, Ledger};

/// An energy ledger as a dictionary, J.
pub fn ledger<'py>(py: Python<'py>, of: &Ledger) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    for (name, value) in [
        ("kinetic_before", of.kinetic_before),
        ("kinetic", of.kinetic),
        ("potential_before", of.potential_before),
        ("potential", of.potential),
        ("friction", of.friction),
        ("impact", of.impact),
        ("dampers", of.dampers),
        ("motors", of.motors),
        ("applied", of.applied),
        ("scheme", of.scheme),
        ("solver", of.solver),
        ("residual", of.residual()),
    ] {
        out.set_item(name, value)?;
    }
    Ok(out)
}

/// The name of a status.
pub fn status(status: Status) -> &'static str {
    match status {
        Status::Converged => "converged",
        Status::Budget => "budget",
        Status::Stalled => "stalled",
        Status::Infeasible => "infeasible",
    }
}

/// What a step says of itself: how wrong it is, in joules, and what is to blame.
#[pyclass(frozen, module = "signorini")]
pub struct Verdict {
    of: step::Verdict,
    /// The constraint with the largest error in joules.
    #[pyo3(get)]
    culprit: String,
    /// Why the step is not accepted, one line each; empty if it is.
    #[pyo3(get)]
    reasons: Vec<String>,
}

impl Verdict {
    pub fn of(sim: &signorini::Simulation, v: &step::Verdict) -> Verdict {
        Verdict { of: *v, culprit: v.worst_name(sim.scene()), reasons: v.reasons(sim.scene()) }
    }
}

#[pymethods]
impl Verdict {
    /// Time at the end of the step, s.
    #[getter]
    fn time(&self) -> f64 {
        self.of.time
    }

    /// True if the error is within the tolerance, and no bodies overlap too much.
    #[getter]
    fn accepted(&self) -> bool {
        self.of.accepted
    }

    /// Why the solver stopped: converged, budget, stalled or infeasible.
    #[getter]
    fn status(&self) -> &'static str {
        status(self.of.status)
    }

    /// The method that had the last word on the largest island.
    #[getter]
    fn solver(&self) -> &'static str {
        self.of.solver.name()
    }

    /// The solver's work, in its own unit.
    #[getter]
    fn work(&self) -> u64 {
        self.of.work
    }

    /// False if a deadline cut the work short.
    #[getter]
    fn reproducible(&self) -> bool {
        self.of.reproducible
    }

    /// Deepest overlap of two bodies at the beginning of the step, m.
    #[getter]
    fn penetration(&self) -> f64 {
        self.of.penetration
    }

    /// Contacts, open ones included.
    #[getter]
    fn contacts(&self) -> usize {
        self.of.contacts
    }

    /// Rows of the problem.
    #[getter]
    fn rows(&self) -> usize {
        self.of.rows
    }

    /// In how many parts the step was taken.
    #[getter]
    fn substeps(&self) -> u32 {
        self.of.substeps
    }

    /// The error of the step's solution, J.
    #[getter]
    #[pyo3(name = "error_J")]
    fn error_joule(&self) -> f64 {
        self.of.error.joule
    }

    /// The error relative to the energy scale of the step.
    #[getter]
    fn error_relative(&self) -> f64 {
        self.of.error.relative()
    }

    /// The energy scale of the step, J.
    #[getter]
    #[pyo3(name = "scale_J")]
    fn scale_joule(&self) -> f64 {
        self.of.error.scale
    }

    /// Estimated kinetic energy of the velocity error, J.
    #[getter]
    #[pyo3(name = "estimate_J")]
    fn estimate_joule(&self) -> f64 {
        self.of.error.estimate
    }

    /// The largest velocity that any constraint is wrong by, m/s.
    #[getter]
    fn velocity_error(&self) -> f64 {
        self.of.error.velocity
    }

    /// How far the step is from the motion, as an energy, J; none if the time scheme cannot tell.
    #[getter]
    #[pyo3(name = "scheme_J")]
    fn scheme_joule(&self) -> Option<f64> {
        self.of.scheme.map(|s| s.joule)
    }

    /// How far the step is from the motion, m; none if the time scheme cannot tell.
    #[getter]
    #[pyo3(name = "scheme_m")]
    fn scheme_metre(&self) -> Option<f64> {
        self.of.scheme.map(|s| s.metre)
    }

    /// Where the energy went in this step, J.
    #[getter]
    fn energy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        ledger(py, &self.of.energy)
    }

    fn __repr__(&self) -> String {
        let step::Verdict { time, accepted, error, .. } = &self.of;
        let word = if *accepted { "accepted" } else { "not accepted" };
        let (status, solver, culprit, joule) =
            (self.status(), self.solver(), &self.culprit, error.joule);
        format!(
            "Verdict(t = {time:.6} s, {word}, {status}, error {joule:.2e} J at {culprit}, {solver})"
        )
    }
}
