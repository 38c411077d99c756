//! The solvers alone.

use crate::errors::{Failure, detached, parsed};
use crate::verdict::status;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use serde_json::{Map, Value as Json};
use signorini::math::sparse::Csr;
use signorini::problem::error::Criterion;
use signorini::problem::files::siconos::{self, Kind};
use signorini::problem::files::{Input, Stored, json};
use signorini::problem::{self, Law, PreparedProblem, Residual, Rows, Tolerance};
use signorini::solve::{
    DynSolver, Method, StoppingCriteria, auto, interior_point, newton, pivot, psor,
};
use std::path::PathBuf;
use std::time::{Duration, Instant};

type Vector<'py> = Bound<'py, PyArray1<f64>>;
/// Number of columns, row starts, columns, values.
type Matrix<'py> =
    (usize, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, f64>);
type MatrixOut<'py> =
    (usize, usize, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Vector<'py>);

fn invalid(text: impl ToString) -> Failure {
    Failure::Named("ProblemError", text.to_string())
}

/// A law as its name and up to two numbers: mu and rows, or lo and hi.
type LawParts = (String, f64, f64);

fn law((name, x, y): &LawParts) -> Result<Law, Failure> {
    let rows = || {
        if *y == 2.0 || *y == 3.0 {
            Ok(*y as u8)
        } else {
            Err(invalid(format!("{name}: {y} rows, wanted 2 or 3")))
        }
    };
    match name.as_str() {
        "equality" => Ok(Law::Equality),
        "unilateral" => Ok(Law::Unilateral),
        "interval" => Ok(Law::Interval { lo: *x, hi: *y }),
        "cone" => Ok(Law::Cone { mu: *x, rows: rows()? }),
        "coulomb" => Ok(Law::Coulomb { mu: *x, rows: rows()? }),
        _ => Err(invalid(format!(
            "there is no law `{name}`: wanted equality, unilateral, interval, cone or coulomb"
        ))),
    }
}

fn parts(law: &Law) -> LawParts {
    match *law {
        Law::Equality | Law::Unilateral => (law.name().into(), 0.0, 0.0),
        Law::Interval { lo, hi } => (law.name().into(), lo, hi),
        Law::Cone { mu, rows } | Law::Coulomb { mu, rows } => {
            (law.name().into(), mu, f64::from(rows))
        }
    }
}

/// A matrix by compressed rows; its columns ascend within a row.
fn matrix(what: &str, of: &Matrix<'_>) -> Result<Csr, Failure> {
    let (cols, starts, columns, values) = of;
    let wrong = |why: &str| invalid(format!("{what}: {why}"));
    let slice = |a: &PyReadonlyArray1<'_, i64>| {
        a.as_slice().map(<[i64]>::to_vec).map_err(|_| wrong("not contiguous"))
    };
    let (starts, columns) = (slice(starts)?, slice(columns)?);
    let values = values.as_slice().map_err(|_| wrong("not contiguous"))?.to_vec();
    let ends = starts.first() == Some(&0) && starts.last() == Some(&(values.len() as i64));
    if !ends || starts.windows(2).any(|w| w[0] > w[1]) || columns.len() != values.len() {
        return Err(wrong("row starts, columns and values do not fit together"));
    }
    if *cols > u32::MAX as usize || columns.iter().any(|&c| c < 0 || c as usize >= *cols) {
        return Err(wrong(&format!("a column outside 0…{cols}")));
    }
    Ok(Csr {
        rows: starts.len() - 1,
        cols: *cols,
        starts: starts.into_iter().map(|x| x as usize).collect(),
        columns: columns.into_iter().map(|x| x as u32).collect(),
        values,
    })
}

fn list(what: &str, of: &PyReadonlyArray1<'_, f64>) -> Result<Vec<f64>, Failure> {
    of.as_slice().map(<[f64]>::to_vec).map_err(|_| invalid(format!("{what}: not contiguous")))
}

fn out<'py>(py: Python<'py>, of: &Csr) -> MatrixOut<'py> {
    let starts = of.starts.iter().map(|&x| x as i64).collect();
    let columns = of.columns.iter().map(|&x| i64::from(x)).collect();
    let values = PyArray1::from_slice(py, &of.values);
    (of.rows, of.cols, PyArray1::from_vec(py, starts), PyArray1::from_vec(py, columns), values)
}

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
        let made = || {
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
        let problem = made().map_err(|e: Failure| e.raise(py))?;
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
        let tolerance = Tolerance { relative: tol, velocity: tol_velocity, bound: tol_bound };
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
            std::fs::write(&path, bytes).map_err(|e| complaint(&e))
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

/// A method with settings of its own over the usual ones: the variants of the papers.
fn built(
    method: Method,
    stop: StoppingCriteria,
    settings: &Map<String, Json>,
) -> Result<Box<dyn DynSolver>, Failure> {
    let known: &[&str] = match method {
        Method::Psor => {
            &["acceleration", "metric", "local", "omega", "joints", "judge_every", "parallel"]
        }
        Method::Pivot => &["facets", "swept"],
        Method::Newton => &["residual"],
        Method::InteriorPoint => &["warm"],
        Method::Auto => &["certify"],
        _ => &[],
    };
    let name = method.name();
    let wrong = |key: &str, wanted: &str| {
        Failure::Named("InputError", format!("settings of {name}: `{key}`: {wanted}"))
    };
    if let Some(key) = settings.keys().find(|key| !known.contains(&key.as_str())) {
        let wanted = if known.is_empty() {
            "it has none".into()
        } else {
            format!("wanted one of {}", known.join(", "))
        };
        return Err(wrong(key, &wanted));
    }
    let flag = |key: &str, usual: bool| {
        settings
            .get(key)
            .map_or(Ok(usual), |v| v.as_bool().ok_or_else(|| wrong(key, "wanted True or False")))
    };
    let all = || Json::Object(settings.clone());
    Ok(match method {
        Method::Psor => {
            let read: psor::Settings =
                serde_json::from_value(all()).map_err(|e| wrong("psor", &e.to_string()))?;
            if !(read.omega > 0.0 && read.omega < 2.0) {
                return Err(wrong("omega", &format!("{}, wanted between 0 and 2", read.omega)));
            }
            Box::new(psor::Psor::new(psor::Settings { stop, ..read }))
        }
        Method::Pivot => {
            let usual = pivot::Settings::default();
            let facets = settings
                .get("facets")
                .map_or(Some(usual.facets as u64), Json::as_u64)
                .filter(|n| (3..=1024).contains(n));
            let facets = facets.ok_or_else(|| wrong("facets", "wanted 3…1024"))? as usize;
            Box::new(pivot::Pivot::new(pivot::Settings {
                stop,
                facets,
                swept: flag("swept", usual.swept)?,
            }))
        }
        Method::Newton => {
            let number = |v: &Json| {
                v.as_f64()
                    .filter(|x| *x > 0.0)
                    .ok_or_else(|| wrong("residual", "wanted a number > 0"))
            };
            let residual = settings.get("residual").map(number).transpose()?;
            Box::new(newton::Newton::new(newton::Settings { stop, residual }))
        }
        Method::InteriorPoint => {
            let read = |v: &Json| {
                serde_json::from_value(v.clone()).map_err(|e| wrong("warm", &e.to_string()))
            };
            let warm = settings.get("warm").map(read).transpose()?.unwrap_or_default();
            Box::new(interior_point::InteriorPoint::new(interior_point::Settings { stop, warm }))
        }
        Method::Auto => Box::new(auto::Auto::new(auto::Settings {
            stop,
            certify: flag("certify", false)?,
            ..Default::default()
        })),
        _ => method.build(stop),
    })
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

/// An answer to a problem, and how wrong it is.
#[pyclass(frozen, module = "signorini")]
pub struct Solution {
    point: problem::Solution,
    answer: problem::files::Answer,
    error: Residual,
    tolerance: Tolerance,
    /// The row with the largest error.
    #[pyo3(get)]
    culprit: String,
    /// The method; empty for a point that was judged only.
    #[pyo3(get)]
    solver: &'static str,
    /// Why it stopped: converged, budget, stalled or infeasible; `judged` for a point that was
    /// judged only.
    #[pyo3(get)]
    status: &'static str,
    /// Work done, in the method's unit: sweeps, factorizations, pivots.
    #[pyo3(get)]
    work: u64,
    /// Iterations, as the method counts them.
    #[pyo3(get)]
    iterations: u64,
    /// False if a deadline cut the work short.
    #[pyo3(get)]
    reproducible: bool,
    /// Remarks: phases, dependent rows, what limits the answer.
    #[pyo3(get)]
    notes: Vec<String>,
    /// Work and error (J) along the way, if asked for.
    #[pyo3(get)]
    history: Vec<(u64, f64)>,
    /// Seconds on the clock.
    #[pyo3(get, name = "wall_s")]
    wall: f64,
}

impl Solution {
    fn of(
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
