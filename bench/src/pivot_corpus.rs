//! `signorini bench pivot --corpus DIR`: every problem of a collection, friction by pyramids, cold;
//! beside it the interior point.
//!
//! A problem belongs to the method's set if it has at most [`MAX_UNILATERAL_ROWS`] unilateral rows
//! and is positive semidefinite: H symmetric and definite, or W of a reduced problem with a
//! symmetric part that is semidefinite up to [`ROUNDING_RATIO`]. The others are shown too, with the
//! reason. Two answers agree if the kinetic energy of their difference, `½ ‖v − v'‖²_H`
//! (`½ Δrᵀ W Δr` for a reduced problem), is within what is accepted of the interior point's answer:
//! its bound, or its relative tolerance.

use serde::Serialize;
use signorini::math::cholesky_update::GrowingCholesky;
use signorini::problem::files::Input;
use signorini::problem::{Law, PreparedProblem, Problem, Reduced, Residual, Solution, Tolerance};
use signorini::solve::interior_point::{self, InteriorPoint};
use signorini::solve::pivot::{Pivot, Settings, pyramid, pyramid_reduced};
use signorini::solve::{ReducedSolver, Report, Solver, Status, StoppingCriteria};
use signorini_files::load::load;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Kinds of problems that a collection may have a folder for.
const KINDS: [&str; 9] =
    ["fc2d", "fc3d", "gfc2d", "gfc3d", "gmp", "lcp", "mlcp", "relay", "soclcp"];
/// Unilateral rows of the method's set.
const MAX_UNILATERAL_ROWS: usize = 3000;
/// What is asked of both methods.
const ASKED_TOLERANCE: Tolerance =
    Tolerance { relative: 1e-14, velocity: 1e-6, bound: None, velocity_relative: 0.0 };
/// Eigenvalues down to minus this part of the largest diagonal entry are rounding of the stored
/// numbers.
const ROUNDING_RATIO: f64 = 1e-11;

/// What to solve.
pub struct Wanted {
    /// Single problems.
    pub files: Vec<PathBuf>,
    /// Collections.
    pub corpora: Vec<PathBuf>,
    /// Only files whose name contains this.
    pub only: String,
    /// Edges of each pyramid.
    pub facets: usize,
    /// Latest end of each solve, s.
    pub seconds: u64,
    /// The most unilateral rows to try.
    pub largest: usize,
    /// Print JSON.
    pub json: bool,
}

/// One problem: the method's answer, and the interior point's beside it.
#[derive(Serialize)]
pub struct Row {
    /// Its file.
    pub file: String,
    /// Unilateral rows.
    pub rows: usize,
    /// Why the problem is not of the method's set; empty if it is.
    pub outside: String,
    status: String,
    relative: f64,
    velocity: f64,
    pivots: u64,
    factorizations: u64,
    outer: u64,
    ms: f64,
    /// How the interior point ended.
    pub second: String,
    /// Energy of the difference between the two answers over the scale, and what the second is
    /// granted.
    apart: f64,
    granted: f64,
    /// Largest difference of a velocity (of a local velocity for a reduced problem), m/s.
    apart_velocity: f64,
    notes: String,
}

impl Row {
    /// Converged, to machine precision.
    pub fn exact(&self) -> bool {
        self.status == "Converged" && self.relative <= ASKED_TOLERANCE.relative
    }

    /// The interior point's answer is the same, to its tolerance.
    pub fn agrees(&self) -> bool {
        self.apart <= self.granted
    }
}

/// Solves and prints.
pub fn run(wanted: &Wanted) -> ExitCode {
    let mut paths = wanted.files.clone();
    wanted.corpora.iter().for_each(|corpus| paths.extend(files(corpus)));
    paths.retain(|p| p.file_name().is_some_and(|n| n.to_string_lossy().contains(&wanted.only)));
    let (mut rows, mut larger) = (Vec::new(), 0);
    for path in paths {
        match row(&path, wanted) {
            Ok(None) => larger += 1,
            Ok(Some(row)) => {
                if !wanted.json {
                    print(&row);
                }
                rows.push(row);
            }
            Err(error) => eprintln!("{error}"),
        }
    }
    if wanted.json {
        println!("{}", serde_json::to_string_pretty(&rows).unwrap_or_default());
    } else {
        summary(&rows);
        println!("{larger} with more than {} rows not tried (--largest)", wanted.largest);
    }
    if rows.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn print(row: &Row) {
    println!(
        "{:42} {:5} {:10} relative {:.1e} δu {:.1e} m/s  pivots {:5} fact {:3} outer {:3} {:9.1} \
            ms  interior-point {:10} apart {:.1e} (granted {:.1e}) {:.1e} m/s  {}{}{}",
        row.file,
        row.rows,
        row.status,
        row.relative,
        row.velocity,
        row.pivots,
        row.factorizations,
        row.outer,
        row.ms,
        row.second,
        row.apart,
        row.granted,
        row.apart_velocity,
        if row.exact() && row.agrees() { "" } else { "! " },
        row.outside,
        row.notes
    );
}

fn summary(rows: &[Row]) {
    let inside: Vec<&Row> = rows.iter().filter(|r| r.outside.is_empty()).collect();
    let count = |wanted: fn(&Row) -> bool| inside.iter().filter(|r| wanted(r)).count();
    let (exact, agree) = (count(Row::exact), count(Row::agrees));
    println!(
        "{} problems, {} positive semidefinite with at most {MAX_UNILATERAL_ROWS} unilateral rows:",
        rows.len(),
        inside.len()
    );
    println!(
        "  {exact} converged with a relative error ≤ {:.0e}, {agree} agree with the interior point \
            to its tolerance",
        ASKED_TOLERANCE.relative
    );
    let others: Vec<&Row> = rows.iter().filter(|r| !r.outside.is_empty()).collect();
    println!(
        "{} others, of which {} so as well",
        others.len(),
        others.iter().filter(|r| r.exact() && r.agrees()).count()
    );
}

/// The files of a collection: those of its kinds' folders, or its own.
pub fn files(corpus: &Path) -> Vec<PathBuf> {
    let folders: Vec<PathBuf> =
        KINDS.iter().map(|k| corpus.join(k)).filter(|p| p.is_dir()).collect();
    let folders = if folders.is_empty() { vec![corpus.to_path_buf()] } else { folders };
    let mut out = Vec::new();
    for folder in folders {
        let mut names: Vec<PathBuf> =
            std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
        names.retain(|p| p.extension().is_some_and(|e| e == "dat" || e == "hdf5" || e == "json"));
        names.sort();
        out.extend(names);
    }
    out
}

/// Two answers and what they are worth.
struct Pair {
    reports: [Report; 2],
    errors: [Residual; 2],
    /// Energy of the difference, J, and its largest velocity, m/s.
    apart: f64,
    velocity: f64,
    ms: f64,
}

/// One problem by both methods; none if it is too large.
pub fn row(path: &Path, wanted: &Wanted) -> Result<Option<Row>, String> {
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (rows, outside, pair) = match load(path, None)?.input {
        Input::Problem(problem) => {
            let problem = pyramid(&problem.associated(), wanted.facets);
            let rows = unilateral(&problem.laws);
            if rows > wanted.largest {
                return Ok(None);
            }
            let outside = problem.check().err().map(|bad| bad.to_string());
            (rows, outside, solve(&problem, wanted).map_err(|e| format!("{file}: {e}"))?)
        }
        Input::Reduced(reduced) => {
            let polyhedral = pyramid_reduced(&reduced.clone().associated(), wanted.facets);
            let rows = unilateral(&polyhedral.laws);
            if rows > wanted.largest {
                return Ok(None);
            }
            let outside = (!semidefinite(&reduced)).then(|| "W is indefinite".to_string());
            (rows, outside, solve_reduced(&polyhedral, wanted).map_err(|e| format!("{file}: {e}"))?)
        }
    };
    let [first, second] = &pair.reports;
    let scale = pair.errors[1].scale.max(f64::MIN_POSITIVE);
    Ok(Some(Row {
        file,
        rows,
        outside: outside
            .or((rows > MAX_UNILATERAL_ROWS)
                .then(|| format!("more than {MAX_UNILATERAL_ROWS} rows")))
            .unwrap_or_default(),
        status: format!("{:?}", first.status),
        relative: pair.errors[0].relative(),
        velocity: pair.errors[0].velocity,
        pivots: first.counts.pivots,
        factorizations: first.counts.factorizations,
        outer: first.counts.outer,
        ms: pair.ms,
        second: format!("{:?}", second.status),
        apart: pair.apart / scale,
        granted: pair.errors[1].estimate_relative().max(if second.status == Status::Converged {
            ASKED_TOLERANCE.relative
        } else {
            0.0
        }),
        apart_velocity: pair.velocity,
        notes: first.remarks().join("; "),
    }))
}

fn unilateral(laws: &[Law]) -> usize {
    laws.iter().filter(|law| **law != Law::Equality).count()
}

fn stop(wanted: &Wanted) -> StoppingCriteria {
    let deadline = Some(Instant::now() + Duration::from_secs(wanted.seconds));
    StoppingCriteria { tolerance: ASKED_TOLERANCE, deadline, ..StoppingCriteria::default() }
}

fn solve(problem: &Problem, wanted: &Wanted) -> Result<Pair, String> {
    let mut prepared = PreparedProblem::of(problem).map_err(|e| e.to_string())?;
    let (mut ours, mut other) =
        (Solution::zero(problem.n(), problem.rows()), Solution::zero(problem.n(), problem.rows()));
    let begin = Instant::now();
    let first =
        Pivot::new(Settings { stop: stop(wanted), facets: wanted.facets, ..Settings::default() })
            .solve(problem, &mut ours);
    let ms = 1e3 * begin.elapsed().as_secs_f64();
    let settings = interior_point::Settings { stop: stop(wanted), ..Default::default() };
    let second = InteriorPoint::new(settings).solve(problem, &mut other);
    let reports = [first.map_err(|e| e.to_string())?, second.map_err(|e| e.to_string())?];
    let errors = [prepared.error(problem, &ours), prepared.error(problem, &other)];
    let difference: Vec<f64> = ours.v.iter().zip(&other.v).map(|(a, b)| a - b).collect();
    let mut momentum = vec![0.0; problem.n()];
    problem.H.mul(&difference, &mut momentum);
    let apart = 0.5 * momentum.iter().zip(&difference).map(|(p, v)| p * v).sum::<f64>();
    problem.H.mul(&ours.v, &mut momentum);
    let whole = 0.5 * momentum.iter().zip(&ours.v).map(|(p, v)| p * v).sum::<f64>();
    // Rounding of the velocities themselves is no difference.
    let apart = (apart - 100.0 * f64::EPSILON.powi(2) * whole).max(0.0);
    Ok(Pair { reports, errors, apart, velocity: largest(&difference), ms })
}

fn solve_reduced(reduced: &Reduced, wanted: &Wanted) -> Result<Pair, String> {
    let mut prepared = PreparedProblem::of_reduced(reduced);
    let (mut ours, mut other) =
        (Solution::zero(0, reduced.rows()), Solution::zero(0, reduced.rows()));
    let begin = Instant::now();
    let first =
        Pivot::new(Settings { stop: stop(wanted), facets: wanted.facets, ..Settings::default() })
            .solve_reduced(reduced, &mut ours);
    let ms = 1e3 * begin.elapsed().as_secs_f64();
    let settings = interior_point::Settings { stop: stop(wanted), ..Default::default() };
    let second = InteriorPoint::new(settings).solve_reduced(reduced, &mut other);
    let reports = [first.map_err(|e| e.to_string())?, second.map_err(|e| e.to_string())?];
    let errors =
        [prepared.error_reduced(reduced, &ours.r), prepared.error_reduced(reduced, &other.r)];
    let difference: Vec<f64> = ours.r.iter().zip(&other.r).map(|(a, b)| a - b).collect();
    let mut velocities = vec![0.0; reduced.rows()];
    reduced.W.mul(&difference, &mut velocities);
    let apart = 0.5 * velocities.iter().zip(&difference).map(|(u, r)| u * r).sum::<f64>();
    Ok(Pair { reports, errors, apart: apart.max(0.0), velocity: largest(&velocities), ms })
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m, x| x.abs().max(m))
}

/// The symmetric part of W has no eigenvalue below minus the rounding of its entries: Cholesky's
/// method with that much added.
fn semidefinite(reduced: &Reduced) -> bool {
    let m = reduced.rows();
    let w = reduced.W.to_dense();
    let rounding = ROUNDING_RATIO * (0..m).fold(0.0f64, |most, i| most.max(w[i * m + i].abs()));
    let mut factor = GrowingCholesky::default();
    (0..m).all(|i| {
        let border: Vec<f64> = (0..i).map(|j| 0.5 * (w[i * m + j] + w[j * m + i])).collect();
        factor.append(&border, w[i * m + i] + rounding, 0.0).is_ok()
    })
}
