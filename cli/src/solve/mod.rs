//! `signorini solve FILE…`: a problem from a file, an answer, and how wrong it is in joules.

mod contacts;
mod figures;
mod history;
mod line;
mod outcome;
mod print;

use crate::load::load;
use clap::Args;
use history::History;
use outcome::{Outcome, largest_difference, solve_with, tolerance};
use print::Printer;
use signorini::problem::files::siconos::Kind;
use signorini::problem::files::{Stored, json};
use signorini::solve::options::Choice;
use signorini::solve::{Status, pivot};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Solved, but not to the tolerance.
const NOT_CONVERGED: u8 = 3;
/// Wrong use, or a file that cannot be read.
const EXIT_BAD_INPUT: u8 = 2;

/// Options of `solve`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Problems: FCLib (.hdf5), Siconos text (.dat), our own (.json).
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Method, or `all`.
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = solvers)]
    pub(crate) solver: Solvers,
    /// An option of the method, as accelerate=false or path=pure (docs/solvers.md lists them). May
    /// be given several times.
    #[arg(long = "option", value_name = "NAME=VALUE")]
    pub(crate) options: Vec<String>,
    /// Law of the friction blocks [default: what the file's kind means].
    #[arg(long, value_name = "cone|coulomb", value_parser = ["cone", "coulomb"])]
    pub(crate) law: Option<String>,
    /// Kind of a text file [default: the name of its folder, else its contents].
    #[arg(long, value_name = "KIND", value_parser = kind)]
    pub(crate) kind: Option<Kind>,
    /// Largest local error, relative to the energy scale.
    #[arg(long, value_name = "RELATIVE", default_value = "1e-8", value_parser = positive)]
    pub(crate) tol: f64,
    /// Largest velocity that any row may be wrong by, m/s.
    #[arg(long, value_name = "M/S", default_value = "1e-6", value_parser = positive)]
    pub(crate) tol_velocity: f64,
    /// Largest estimated energy of the velocity error, relative to the energy scale [default: the
    /// root of --tol].
    #[arg(long, value_name = "RELATIVE", value_parser = positive)]
    pub(crate) tol_bound: Option<f64>,
    /// Most work, in the method's unit: sweeps, factorizations, pivots.
    #[arg(long, value_name = "N")]
    pub(crate) max_work: Option<u64>,
    /// Most time per solve, ms: the answer may then differ from run to run.
    #[arg(long, value_name = "MS")]
    pub(crate) deadline_ms: Option<u64>,
    /// Edges of the pyramid by which `pivot` replaces a friction cone of three rows.
    #[arg(long, value_name = "N", default_value_t = pivot::Settings::default().facets as u64,
    value_parser = clap::value_parser!(u64).range(3..=1024))]
    pub(crate) facets: u64,
    /// Certify the answer: upper and lower end of the energy of the velocity error, proved where
    /// the laws are convex. Costs about as much as the solve.
    #[arg(long)]
    pub(crate) certify: bool,
    /// Start from the guess in the file, or from its solution if it holds no guess.
    #[arg(long)]
    pub(crate) warm: bool,
    /// Draw the error over the work, the pattern of the factor, or the error of a problem of one
    /// row (one file); -o names the picture.
    #[arg(long, value_name = "WHAT", requires = "out")]
    pub(crate) plot: Option<figures::Plot>,
    /// Write problem and solution: `.hdf5` in FCLib's form, `.json` in ours (one file, one solver);
    /// with --plot the picture, `.svg`.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Write the error over the work as a table.
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) history: Option<PathBuf>,
    /// Print one JSON object per file and solver.
    #[arg(long)]
    pub(crate) json: bool,
}

const EXAMPLES: &str = "Examples:
  signorini solve ball.hdf5
  signorini solve pile/*.hdf5 --solver all --law cone --tol 1e-10
  signorini solve gap.dat --kind lcp --json
  signorini solve wall.hdf5 --solver interior-point-pure --plot residuals -o wall.svg
  signorini solve wall.hdf5 --solver psor --option accelerate=false --option omega=1.2
  signorini solve wall.hdf5 --law cone --certify
  signorini solve wall.hdf5 --max-work 500 --history wall.csv --out wall-solved.hdf5

With --solver all the papers' own methods (psor-plain, interior-point-pure, pivot-empty) stand beside the others.

Exit code: 0 converged, 3 solved but not to the tolerance (or infeasible, or refuted by --certify), 2 wrong use or bad file.";

/// Methods by name.
#[derive(Clone)]
pub(crate) struct Solvers(Vec<Choice>);

/// The methods of a name: one, or all.
pub(crate) fn solvers(name: &str) -> Result<Solvers, String> {
    if name == "all" {
        return Ok(Solvers(Choice::all().collect()));
    }
    let names: Vec<&str> = Choice::all().map(|choice| choice.name).collect();
    Choice::named(name)
        .map(|choice| Solvers(vec![choice]))
        .ok_or_else(|| format!("wanted all or one of {}", names.join(", ")))
}

/// The methods with the options of the command line.
fn choices(arguments: &Arguments) -> Result<Vec<Choice>, String> {
    let mut out = arguments.solver.0.clone();
    if arguments.options.is_empty() {
        return Ok(out);
    }
    let [choice] = out.as_mut_slice() else { return Err("--option takes one --solver".into()) };
    for option in &arguments.options {
        choice.options.set(option)?;
    }
    choice.options.fault(choice.method).map_or(Ok(out), Err)
}

fn kind(name: &str) -> Result<Kind, String> {
    let names: Vec<&str> = Kind::ALL.iter().map(|k| k.name()).collect();
    Kind::named(name).ok_or_else(|| format!("wanted one of {}", names.join(", ")))
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x > 0.0 && x.is_finite() => Ok(x),
        _ => Err("wanted a number > 0".into()),
    }
}

/// Solves every file; complaints go to stderr, one line each.
pub fn run(arguments: &Arguments) -> ExitCode {
    let picture = arguments.plot.is_some();
    let several = arguments.files.len() > 1 || (arguments.solver.0.len() > 1 && !picture);
    if arguments.out.is_some() && several {
        return complain("--out takes one file and one solver");
    }
    let drawable = |out: &&PathBuf| out.extension().is_some_and(|e| e == "svg");
    if let Some(out) = arguments.out.as_ref().filter(|out| picture && !drawable(out)) {
        return complain(&format!("-o {}: wanted a name that ends in .svg", out.display()));
    }
    if let Some(out) = arguments.out.as_ref().filter(|out| !picture && format_of(out).is_none()) {
        return complain(&format!(
            "--out {}: wanted a name that ends in .hdf5 or .json",
            out.display()
        ));
    }
    let choices = match choices(arguments) {
        Ok(choices) => choices,
        Err(message) => return complain(&format!("error: {message}")),
    };
    let mut printer = Printer::new(arguments);
    let (mut worst, mut history) = (0, History::new(arguments));
    for path in &arguments.files {
        let code = match solve_file(arguments, (path, &choices), &mut printer, &mut history) {
            Ok(code) => code,
            Err(message) => {
                eprintln!("{message}");
                EXIT_BAD_INPUT
            }
        };
        // A file that cannot be read weighs more than one that was not solved well.
        worst = if worst == EXIT_BAD_INPUT || code == EXIT_BAD_INPUT {
            EXIT_BAD_INPUT
        } else {
            worst.max(code)
        };
    }
    match history.write() {
        Ok(()) => ExitCode::from(worst),
        Err(message) => complain(&message),
    }
}

fn complain(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(EXIT_BAD_INPUT)
}

fn solve_file(
    arguments: &Arguments,
    (path, choices): (&Path, &[Choice]),
    printer: &mut Printer,
    history: &mut History,
) -> Result<u8, String> {
    let mut stored = load(path, arguments.kind)?;
    stored.input = match arguments.law.as_deref() {
        Some("cone") => stored.input.associated(),
        Some(_) => stored.input.true_friction(),
        None => stored.input,
    };
    let mut outcomes = Vec::new();
    for choice in choices {
        let outcome = solve_with(arguments, &stored, choice)
            .map_err(|e| format!("{}: {e}", path.display()))?;
        if let Ok(report) = &outcome.result {
            history.add(stored.input.name(), choice.name, report);
        }
        outcomes.push(outcome);
    }
    let difference = largest_difference(&stored.input, &outcomes);
    for outcome in &outcomes {
        printer.print(&stored, outcome, difference);
    }
    printer.print_difference(difference);
    match (arguments.plot, &arguments.out, outcomes.as_slice()) {
        (Some(plot), Some(out), _) => {
            let svg = figures::svg(plot, &stored.input, &outcomes)?;
            signorini::whole::write_whole(out, svg.as_bytes())
                .map_err(|e| format!("{}: {e}", out.display()))?;
        }
        (None, Some(out), [outcome]) => write(out, path, &stored, outcome)?,
        _ => {}
    }
    // Baselines stand beside the others, they need not solve what those do.
    let counted = |o: &&Outcome| !o.choice.is_baseline() || outcomes.len() == 1;
    let attempted = outcomes.iter().filter(counted).filter_map(|o| o.result.as_ref().ok());
    let refuted = outcomes.iter().any(|outcome| outcome.refuted(&tolerance(arguments)));
    let converged = attempted.clone().all(|report| report.status == Status::Converged)
        && attempted.count() > 0
        && !refuted;
    Ok(if converged { 0 } else { NOT_CONVERGED })
}

/// How a solution is written.
#[derive(Clone, Copy)]
enum Format {
    Fclib,
    Ours,
}

fn format_of(out: &Path) -> Option<Format> {
    match out.extension().and_then(|e| e.to_str()) {
        Some("hdf5" | "h5") => Some(Format::Fclib),
        Some("json") => Some(Format::Ours),
        _ => None,
    }
}

fn write(out: &Path, source: &Path, stored: &Stored, outcome: &Outcome) -> Result<(), String> {
    let complaint = |e: &dyn std::fmt::Display| format!("{}: {e}", out.display());
    if let Err(unsupported) = &outcome.result {
        return Err(complaint(&format!("not written, {unsupported}")));
    }
    match format_of(out) {
        Some(Format::Fclib) => {
            crate::fclib::write(out, source, stored, &outcome.solution).map_err(|e| complaint(&e))
        }
        _ => {
            let text = json::write(&stored.input, Some(&outcome.solution), stored.guess.as_ref());
            signorini::whole::write_whole(out, text.as_bytes()).map_err(|e| complaint(&e))
        }
    }
}
