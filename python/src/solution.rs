//! Answers to problems, judged in joules.

use crate::arrays::{Vector, invalid};
use crate::errors::Failure;
use numpy::PyArray1;
use pyo3::prelude::*;
use signorini::problem::error::Criterion;
use signorini::problem::files::{Input, Stored};
use signorini::problem::{self, PreparedProblem, Residual, Tolerance};

/// An answer to a problem, and how wrong it is.
#[pyclass(frozen, module = "signorini")]
pub struct Solution {
    /// The point, as the engine has it.
    pub point: problem::Solution,
    answer: problem::files::Answer,
    error: Residual,
    tolerance: Tolerance,
    /// The row with the largest error.
    #[pyo3(get)]
    culprit: String,
    /// The method; empty for a point that was judged only.
    #[pyo3(get)]
    pub solver: &'static str,
    /// Why it stopped: converged, budget, stalled or infeasible; `judged` for a point that was
    /// judged only.
    #[pyo3(get)]
    pub status: &'static str,
    /// Work done, in the method's unit: sweeps, factorizations, pivots.
    #[pyo3(get)]
    pub work: u64,
    /// Iterations, as the method counts them.
    #[pyo3(get)]
    pub iterations: u64,
    /// False if a deadline cut the work short.
    #[pyo3(get)]
    pub reproducible: bool,
    /// Remarks: phases, dependent rows, what limits the answer.
    #[pyo3(get)]
    pub notes: Vec<String>,
    /// Work and error (J) along the way, if asked for.
    #[pyo3(get)]
    pub history: Vec<(u64, f64)>,
    /// Seconds on the clock.
    #[pyo3(get, name = "wall_s")]
    pub wall: f64,
}

impl Solution {
    /// A point, judged.
    pub fn of(
        stored: &Stored,
        point: problem::Solution,
        tolerance: &Tolerance,
    ) -> Result<Solution, Failure> {
        let error = match &stored.input {
            Input::Problem(p) => PreparedProblem::of(p).map_err(invalid)?.error(p, &point),
            Input::Reduced(p) => PreparedProblem::of_reduced(p).error_reduced(p, &point.r),
        };
        let answer = stored.answer(&point).map_err(invalid)?;
        let culprit = if stored.input.rows() > 0 {
            stored.input.row_name(error.worst_row)
        } else {
            String::new()
        };
        Ok(Solution {
            point,
            answer,
            error,
            tolerance: *tolerance,
            culprit,
            solver: "",
            status: "judged",
            work: 0,
            iterations: 0,
            reproducible: true,
            notes: Vec::new(),
            history: Vec::new(),
            wall: 0.0,
        })
    }
}

#[pymethods]
impl Solution {
    /// Velocities, m/s, rad/s.
    #[getter]
    fn v<'py>(&self, py: Python<'py>) -> Vector<'py> {
        PyArray1::from_slice(py, &self.answer.v)
    }

    /// Local velocities of every row, m/s, rad/s.
    #[getter]
    fn u<'py>(&self, py: Python<'py>) -> Vector<'py> {
        PyArray1::from_slice(py, &self.answer.u)
    }

    /// Reactions of every row (impulses), N s, N m s.
    #[getter]
    fn r<'py>(&self, py: Python<'py>) -> Vector<'py> {
        PyArray1::from_slice(py, &self.answer.r)
    }

    /// The error, J.
    #[getter]
    #[pyo3(name = "error_J")]
    fn error_joule(&self) -> f64 {
        self.error.joule
    }

    /// The error relative to the energy scale.
    #[getter]
    fn error_relative(&self) -> f64 {
        self.error.relative()
    }

    /// The energy scale of the problem, J.
    #[getter]
    #[pyo3(name = "scale_J")]
    fn scale_joule(&self) -> f64 {
        self.error.scale
    }

    /// Estimated kinetic energy of the velocity error, J.
    #[getter]
    #[pyo3(name = "estimate_J")]
    fn estimate_joule(&self) -> f64 {
        self.error.estimate
    }

    /// The largest velocity that any row is wrong by, m/s.
    #[getter]
    fn velocity_error(&self) -> f64 {
        self.error.velocity
    }

    /// True if the error is within the tolerance.
    #[getter]
    fn accepted(&self) -> bool {
        self.error.accepted(&self.tolerance)
    }

    /// Why it is not accepted, one line each.
    #[getter]
    fn reasons(&self) -> Vec<String> {
        reasons(&self.error, &self.tolerance)
    }

    fn __repr__(&self) -> String {
        let Solution { status, solver, culprit, work, error, .. } = self;
        format!(
            "Solution({status}, error {:.2e} J at {culprit}, {solver}, work {work})",
            error.joule
        )
    }
}

/// Why an error is not within a tolerance.
fn reasons(error: &Residual, tolerance: &Tolerance) -> Vec<String> {
    let said = |unmet: problem::error::Unmet| {
        let (found, most) = (unmet.found, unmet.allowed);
        let (what, unit) = match unmet.criterion {
            Criterion::Energy => ("error relative to the energy scale", ""),
            Criterion::Estimate => ("estimated error relative to the energy scale", ""),
            Criterion::Velocity => ("largest wrong velocity", " m/s"),
            Criterion::Momentum => ("velocity of the momentum defect", " m/s"),
        };
        format!("{what} {found:.1e}{unit}, wanted ≤ {most:.1e}{unit}")
    };
    error.unmet(tolerance).map(said).collect()
}
