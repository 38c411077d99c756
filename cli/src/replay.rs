//! `signorini replay FILE`: takes one step apart. Every solver solves it again; errors, work and
//! differences stand side by side.

use crate::solve;
use crate::step_snapshot::{self, StepSnapshot};
use clap::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Which step, and how.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A step snapshot that `run --keep-worst` or `run --keep-step` wrote.
    file: PathBuf,
    /// Method, or `all`.
    #[arg(long, value_name = "NAME", default_value = "all", value_parser = solve::solvers)]
    solver: solve::Solvers,
    /// An option of the method, as accelerate=false or path=pure. May be given several times.
    #[arg(long = "option", value_name = "NAME=VALUE")]
    options: Vec<String>,
    /// Law of the friction blocks [default: that of the step].
    #[arg(long, value_name = "cone|coulomb", value_parser = ["cone", "coulomb"])]
    law: Option<String>,
    /// Largest relative error [default: that of the step].
    #[arg(long, value_name = "RELATIVE")]
    tol: Option<f64>,
    /// Most work, in the method's unit.
    #[arg(long, value_name = "N")]
    max_work: Option<u64>,
    /// Start from zero instead of the warm start.
    #[arg(long)]
    cold: bool,
    /// Write problem and solution: `.hdf5` in FCLib's form, `.json` in ours (one solver).
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print one JSON object per solver.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  signorini run stack.toml --out result --keep-worst 3
  signorini replay result/step-0000017.snapshot.json
  signorini replay result/step-0000017.snapshot.json --solver newton --out step.hdf5

Exit code: 0 all that treat it converged, 3 not all did, 2 wrong use or bad file.";

/// Solves the step again.
pub fn run(arguments: &Arguments) -> ExitCode {
    let head = match read(&arguments.file) {
        Ok(head) => head,
        Err(message) => {
            eprintln!("{}: {message}", arguments.file.display());
            return ExitCode::from(2);
        }
    };
    let number = |key: &str| head.verdict[key].as_f64().unwrap_or(f64::NAN);
    let line = format!(
        "{} step {} (t = {} s, dt = {} s): {} by {} was wrong by {:.2e} J ({:.1e} of the energy \
            scale, {})",
        head.scene,
        head.step,
        head.time,
        head.dt,
        if head.verdict["accepted"] == true { "accepted, solved" } else { "NOT accepted, solved" },
        head.verdict["solver"].as_str().unwrap_or("?"),
        number("joule"),
        number("relative"),
        head.verdict["worst"].as_str().unwrap_or("?"),
    );
    if arguments.json {
        eprintln!("{line}")
    } else {
        println!("{line}")
    }
    solve::run(&solve::Arguments {
        files: vec![arguments.file.clone()],
        solver: arguments.solver.clone(),
        options: arguments.options.clone(),
        law: arguments.law.clone(),
        kind: None,
        tol: arguments.tol.unwrap_or(head.settings.tolerance),
        tol_velocity: head.settings.velocity_tolerance,
        tol_bound: None,
        max_work: arguments.max_work.or(head.settings.work),
        deadline_ms: None,
        certify: false,
        facets: signorini::solve::pivot::Settings::default().facets as u64,
        warm: !arguments.cold,
        plot: None,
        out: arguments.out.clone(),
        history: None,
        json: arguments.json,
    })
}

fn read(path: &Path) -> Result<StepSnapshot, String> {
    let bytes = signorini_files::bounded::bytes(path, signorini_files::bounded::PROBLEM)
        .map_err(|e| format!("cannot be read: {e}"))?;
    match step_snapshot::read(&bytes) {
        Some(Ok((snapshot, _))) => Ok(snapshot),
        Some(Err(why)) => Err(why.to_string()),
        None => {
            Err("no step snapshot: wanted a file that `run --keep-worst N` or `run --keep-step K` \
                wrote (`signorini solve` takes problems)"
                .into())
        }
    }
}
