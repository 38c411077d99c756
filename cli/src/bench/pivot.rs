//! `signorini bench pivot`: what a pivot costs, and how many there are.

use crate::load::load;
use signorini::problem::files::Input;
use signorini::problem::{Judge, Solution};
use signorini::solve::pivot::{Pivot, Settings, pyramid, pyramid_reduced};
use signorini::solve::{ReducedSolver, Solver};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Options of `bench pivot`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Problems to solve, friction by pyramids; without any: the bench itself.
    files: Vec<PathBuf>,
    /// Edges of each pyramid.
    #[arg(long, default_value_t = 4)]
    facets: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the bench.
pub fn run(arguments: &Arguments) -> ExitCode {
    for path in &arguments.files {
        match table_row(path, arguments.facets) {
            Ok(line) => println!("{line}"),
            Err(error) => println!("{}: {error}", path.display()),
        }
    }
    ExitCode::SUCCESS
}

/// One line: the polyhedral problem of a file, solved cold, and its error.
fn table_row(path: &std::path::Path, facets: usize) -> Result<String, String> {
    let stored = load(path, None)?;
    let mut solver = Pivot::new(Settings { facets, ..Settings::default() });
    let begin = Instant::now();
    let (name, rows, report, judged, dv) = match stored.input {
        Input::Problem(problem) => {
            let problem = pyramid(&problem.associated(), facets);
            let mut solution = Solution::zero(problem.n(), problem.rows());
            let report = solver.solve(&problem, &mut solution).map_err(|e| e.to_string())?;
            let judged = Judge::of(&problem).map_err(|e| e.to_string())?.error(&problem, &solution);
            let mut u = vec![0.0; problem.rows()];
            problem.local_velocities(&solution.v, &solution.r, &mut u);
            if std::env::var("DEBUG").is_ok() {
                for i in 0..u.len() {
                    println!("{} {:?} u {:.2e} r {:.3e}", problem.row_name(i), problem.laws[i], u[i], solution.r[i]);
                }
            }
            let dv = stored.solution.map_or(f64::NAN, |s| s.v.iter().zip(&solution.v).fold(0.0, |m, (a, b)| (a - b).abs().max(m)));
            (problem.name.clone(), problem.rows(), report, judged, dv)
        }
        Input::Reduced(reduced) => {
            let reduced = pyramid_reduced(&reduced.associated(), facets);
            let mut solution = Solution::zero(0, reduced.rows());
            let report = solver.solve_reduced(&reduced, &mut solution).map_err(|e| e.to_string())?;
            let judged = Judge::of_reduced(&reduced).error_reduced(&reduced, &solution.r);
            (reduced.name.clone(), reduced.rows(), report, judged, f64::NAN)
        }
    };
    let counts = report.counts;
    Ok(format!(
        "{name:40} rows {rows:5} {:10} pivots {:6} fact {:3} {:8.1} ms  rel {:.1e} bound {:.1e} vel {:.1e} mom {:.1e} dv {dv:.1e} L {} {}",
        format!("{:?}", report.status),
        counts.pivots,
        counts.factorizations,
        begin.elapsed().as_secs_f64() * 1e3,
        judged.relative(),
        judged.bound_relative(),
        judged.velocity,
        judged.momentum_velocity,
        solver.factor_len(),
        report.notes.join("; ")
    ))
}
