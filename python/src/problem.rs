//! The solvers alone.

use crate::arrays::{LawParts, Matrix, MatrixOut, Vector, invalid, law, list, matrix, out, parts};
use crate::errors::{Failure, detached, parsed};
use crate::method::built;
use crate::solution::Solution;
use crate::verdict::status;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use serde_json::{Map, Value as Json};
use signorini::problem::files::siconos::{self, Kind};
use signorini::problem::files::{Input, Stored, json};
use signorini::problem::{self, Law, Rows, Tolerance};
use signorini::solve::{Method, StoppingCriteria};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// One time step's problem (see `signorini.Problem`).
#[pyclass(subclass, frozen, module = "signorini._engine")]
#[derive(Clone)]
pub struct Problem {
    stored: Stored,
}

impl Problem {
    /// A problem of the engine, checked.
    pub fn of(problem: problem::Problem) -> Result<Problem, Failure> {
        Ok(Problem { stored: Stored::new(Input::Problem(problem)).map_err(invalid)? })
    }
}

#[pymethods]
impl Problem {
    #[new]
    #[allow(non_snake_case)]
    #[pyo3(signature = (H=None, k=None, J=None, w=None, laws=Vec::new(), E=None, names=Vec::new(),
    name="problem", *, copy=None, json=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        H: Option<Matrix<'_>>,
        k: Option<PyReadonlyArray1<'_, f64>>,
        J: Option<Matrix<'_>>,
        w: Option<PyReadonlyArray1<'_, f64>>,
        laws: Vec<LawParts>,
        E: Option<PyReadonlyArray1<'_, f64>>,
        names: Vec<String>,
        name: &str,
        copy: Option<PyRef<'_, Problem>>,
        json: Option<String>,
    ) -> PyResult<Problem> {
        if let Some(other) = copy {
            return Ok(other.clone());
        }
        if let Some(text) = json {
            let read = || signorini::problem::files::json::read(text.as_bytes()).map_err(invalid);
            return detached(py, || Ok(Problem { stored: read()? }));
        }
        let (Some(H), Some(k), Some(J), Some(w)) = (H, k, J, w) else {
            return Err(invalid("wanted H, k, J and w").raise(py));
        };
        let assembled = || {
            let laws: Vec<Law> = laws.iter().map(law).collect::<Result<_, _>>()?;
            let rows: usize = laws.iter().map(Law::rows).sum();
            let jacobian = matrix("J", &J)?;
            if jacobian.rows != rows {
                return Err(invalid(format!("J has {} rows, the laws have {rows}", jacobian.rows)));
            }
            let E = E.as_ref().map_or(Ok(vec![0.0; rows]), |e| list("E", e))?;
            let J = Rows::from_csr(&jacobian, &laws);
            let (H, k, w) = (matrix("H", &H)?, list("k", &k)?, list("w", &w)?);
            Ok(problem::Problem { name: name.into(), H, k, J, E, w, laws, names })
        };
        let problem = assembled().map_err(|e: Failure| e.raise(py))?;
        let (n, m) = (problem.H.rows, problem.J.len());
        for (what, found, wanted) in [
            ("columns of H", problem.H.cols, n),
            ("k", problem.k.len(), n),
            ("columns of J", problem.J.cols, n),
            ("w", problem.w.len(), m),
            ("E", problem.E.len(), m),
        ] {
            if found != wanted {
                return Err(invalid(format!("{what} has {found}, wanted {wanted}")).raise(py));
            }
        }
        detached(py, || Problem::of(problem))
    }

    #[getter]
    fn name(&self) -> String {
        self.stored.given.name().into()
    }

    /// True if the velocities are eliminated: `u = W r + q`.
    #[getter]
    fn reduced(&self) -> bool {
        matches!(self.stored.given, Input::Reduced(_))
    }

    /// Number of velocities; 0 if they are eliminated.
    #[getter]
    fn n(&self) -> usize {
        self.stored.given.n()
    }

    /// Number of rows.
    #[getter]
    fn m(&self) -> usize {
        self.stored.given.rows()
    }

    fn _matrix<'py>(&self, py: Python<'py>, which: &str) -> Option<MatrixOut<'py>> {
        match (&self.stored.given, which) {
            (Input::Problem(p), "H") => Some(out(py, &p.H)),
            (Input::Problem(p), "J") => Some(out(py, &p.J.to_csr())),
            (Input::Reduced(p), "W") => Some(out(py, &p.W)),
            _ => None,
        }
    }

    fn _vector<'py>(&self, py: Python<'py>, which: &str) -> Option<Vector<'py>> {
        let list = match (&self.stored.given, which) {
            (Input::Problem(p), "k") => &p.k,
            (Input::Problem(p), "w") => &p.w,
            (Input::Problem(p), "E") => &p.E,
            (Input::Reduced(p), "q") => &p.q,
            _ => return None,
        };
        Some(PyArray1::from_slice(py, list))
    }

    fn _laws(&self) -> Vec<LawParts> {
        self.stored.given.laws().iter().map(parts).collect()
    }

    /// The name of each row.
    #[getter]
    fn row_names(&self) -> Vec<String> {
        (0..self.stored.given.rows()).map(|i| self.stored.given.row_name(i)).collect()
    }

    fn _with_law(&self, which: &str) -> Problem {
        let change =
            |input: Input| if which == "cone" { input.associated() } else { input.true_friction() };
        let Stored { input, given, .. } = self.stored.clone();
        Problem {
            stored: Stored { input: change(input), given: change(given), ..self.stored.clone() },
        }
    }

    /// How wrong a point is.
    fn _judge<'py>(
        &self,
        py: Python<'py>,
        v: PyReadonlyArray1<'py, f64>,
        r: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Solution> {
        let (v, r) =
            (list("v", &v).map_err(|e| e.raise(py))?, list("r", &r).map_err(|e| e.raise(py))?);
        let stored = &self.stored;
        detached(py, || {
            let (n, m) = (stored.given.n(), stored.given.rows());
            let wanted = || {
                invalid(format!(
                    "v has {} and r has {} numbers, wanted {n} and {m}, all finite",
                    v.len(),
                    r.len()
                ))
            };
            let point = stored.point(v.clone(), &r).ok_or_else(wanted)?;
            Solution::of(stored, point, &Tolerance::default())
        })
    }

    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (solver, tol, tol_velocity, tol_bound=None, max_work=None, deadline=None,
    settings="{}", guess=None, history=false))]
    fn _solve<'py>(
        &self,
        py: Python<'py>,
        solver: &str,
        tol: f64,
        tol_velocity: f64,
        tol_bound: Option<f64>,
        max_work: Option<u64>,
        deadline: Option<f64>,
        settings: &str,
        guess: Option<(PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>)>,
        history: bool,
    ) -> PyResult<Solution> {
        let method = Method::named(solver)
            .ok_or_else(|| invalid(format!("there is no solver `{solver}`")).raise(py))?;
        let tolerance = Tolerance {
            relative: tol,
            velocity: tol_velocity,
            bound: tol_bound,
            velocity_relative: 0.0,
        };
        let guess = match guess {
            Some((v, r)) => Some((
                list("v", &v).map_err(|e| e.raise(py))?,
                list("r", &r).map_err(|e| e.raise(py))?,
            )),
            None => None,
        };
        let settings: Map<String, Json> = parsed("settings", settings).map_err(|e| e.raise(py))?;
        let stored = &self.stored;
        detached(py, || {
            let mut point = match guess {
                Some((v, r)) => stored
                    .point(v, &r)
                    .ok_or_else(|| invalid("the guess does not fit the problem"))?,
                None => stored.input.zero(),
            };
            let begun = Instant::now();
            let seconds = deadline.and_then(|s| Duration::try_from_secs_f64(s).ok());
            let deadline = seconds.and_then(|s| begun.checked_add(s));
            let stop = StoppingCriteria { tolerance, work: max_work, deadline, history };
            let mut solver = built(method, stop, &settings)?;
            let report = match &stored.input {
                Input::Problem(problem) => solver.solve(problem, &mut point),
                Input::Reduced(reduced) => solver.solve_reduced(reduced, &mut point),
            };
            let report = report.map_err(|e| Failure::Named("UnsupportedError", e.to_string()))?;
            let wall = begun.elapsed().as_secs_f64();
            let mut solution = Solution::of(stored, point, &tolerance)?;
            solution.solver = method.name();
            solution.status = status(report.status);
            (solution.work, solution.iterations) = (report.work, report.iterations);
            solution.reproducible = report.reproducible;
            solution.notes = report.remarks();
            solution.history = report.history.iter().map(|s| (s.work, s.joule)).collect();
            solution.wall = wall;
            Ok(solution)
        })
    }

    fn _json(&self) -> String {
        json::write(&self.stored.given, None, None)
    }

    /// Writes the problem: `.json` (ours), `.hdf5` (FCLib) or `.dat` (text of Siconos, of this
    /// kind).
    #[pyo3(signature = (path, solution=None, kind=None))]
    fn _write(
        &self,
        py: Python<'_>,
        path: PathBuf,
        solution: Option<PyRef<'_, Solution>>,
        kind: Option<String>,
    ) -> PyResult<()> {
        let (stored, point) = (&self.stored, solution.map(|s| s.point.clone()));
        detached(py, || {
            let complaint = |e: &dyn std::fmt::Display| {
                Failure::Named("ProblemFileError", format!("{}: {e}", path.display()))
            };
            if point
                .as_ref()
                .is_some_and(|p| p.r.len() != stored.input.rows() || p.v.len() != stored.input.n())
            {
                return Err(complaint(&"the solution belongs to another problem"));
            }
            let bytes = match path.extension().and_then(|e| e.to_str()) {
                Some("json") => {
                    json::write(&stored.input, point.as_ref(), stored.guess.as_ref()).into_bytes()
                }
                Some("hdf5" | "h5") => {
                    let point = point.unwrap_or_else(|| stored.input.zero());
                    signorini::files::fclib::bytes(stored, &point).map_err(|e| complaint(&e))?
                }
                Some("dat") => {
                    let kind = kind.as_deref().and_then(Kind::named);
                    let kind = kind
                        .ok_or_else(|| complaint(&"a text needs kind=, one of signorini.KINDS"))?;
                    siconos::write(&stored.given, kind).map_err(|e| complaint(&e))?.into_bytes()
                }
                _ => return Err(complaint(&"wanted a name that ends in .json, .hdf5 or .dat")),
            };
            signorini::whole::write_whole(&path, &bytes).map_err(|e| complaint(&e))
        })
    }

    /// The solution stored with the problem, if its file held one: velocities and reactions.
    fn _known<'py>(&self, py: Python<'py>) -> PyResult<Option<(Vector<'py>, Vector<'py>)>> {
        let Some(known) = &self.stored.solution else { return Ok(None) };
        let answer = self.stored.answer(known).map_err(|e| invalid(e).raise(py))?;
        Ok(Some((PyArray1::from_vec(py, answer.v), PyArray1::from_vec(py, answer.r))))
    }
}

/// Reads a problem file: FCLib (.hdf5), text of Siconos (.dat), ours (.json), a kept step.
#[pyfunction]
#[pyo3(signature = (path, kind=None))]
pub fn read_problem(py: Python<'_>, path: PathBuf, kind: Option<String>) -> PyResult<Problem> {
    detached(py, || {
        let complaint = |text: String| Failure::Named("ProblemFileError", text);
        let names = || Kind::ALL.iter().map(|k| k.name()).collect::<Vec<_>>().join(", ");
        let wanted = |name: &String| {
            Kind::named(name)
                .ok_or_else(|| complaint(format!("kind `{name}`: wanted one of {}", names())))
        };
        let kind = kind.as_ref().map(wanted).transpose()?;
        Ok(Problem { stored: signorini::files::load::load(&path, kind).map_err(complaint)? })
    })
}
