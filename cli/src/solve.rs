//! `signorini solve FILE…`: a problem from a file, an answer, and how wrong it is in joules.

use crate::load::load;
use clap::Args;
use serde::Serialize;
use signorini::math::{dot, sparse::Csr};
use signorini::problem::files::siconos::Kind;
use signorini::problem::files::{Input, Stored, json};
use signorini::problem::literature::{self, Literature, Thesis};
use signorini::problem::{Law, PreparedProblem, Residual, Solution, Tolerance};
use signorini::solve::certificate::{Certificate, Certifier, Standing};
use signorini::solve::newton::{Branch, ContactStatus, Newton, Unique};
use signorini::solve::{
    Counts, DynSolver, Method, Report, Status, StoppingCriteria, Unsupported, auto, newton, pivot,
};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Solved, but not to the tolerance.
const NOT_CONVERGED: u8 = 3;
/// Wrong use, or a file that cannot be read.
const WRONG: u8 = 2;

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
    /// Write problem and solution: `.hdf5` in FCLib's form, `.json` in ours (one file, one solver).
    #[arg(long, value_name = "FILE")]
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
  signorini solve wall.hdf5 --law cone --certify
  signorini solve wall.hdf5 --max-work 500 --history wall.csv --out wall-solved.hdf5

Exit code: 0 converged, 3 solved but not to the tolerance (or infeasible, or refuted by --certify), 2 wrong use or bad file.";

/// Methods by name.
#[derive(Clone)]
pub(crate) struct Solvers(Vec<Method>);

/// The methods of a name: one, or all.
pub(crate) fn solvers(name: &str) -> Result<Solvers, String> {
    if name == "all" {
        return Ok(Solvers(Method::ALL.to_vec()));
    }
    let names: Vec<&str> = Method::ALL.iter().map(|m| m.name()).collect();
    Method::named(name)
        .map(|m| Solvers(vec![m]))
        .ok_or_else(|| format!("wanted all or one of {}", names.join(", ")))
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

/// One solver's answer.
struct Outcome {
    method: Method,
    result: Result<Report, Unsupported>,
    solution: Solution,
    error: Residual,
    literature: Literature,
    wall: f64,
    /// With `--certify`.
    certificate: Option<Certificate>,
    /// Only of `newton`.
    contacts: Option<Contacts>,
}

/// On which branch of its law every block ended, and whether v is the only answer.
#[derive(Serialize)]
struct Contacts {
    /// Sweeps and factorizations, and the phases that took them.
    counts: Counts,
    notes: Vec<String>,
    unique: Unique,
    open: usize,
    stick: usize,
    slip: usize,
    /// The block that is nearest to changing its branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest: Option<usize>,
    blocks: Vec<ContactStatus>,
}

impl Contacts {
    fn of(newton: &mut Newton, report: &Report) -> Contacts {
        let unique = newton.unique();
        let blocks = newton.contacts().to_vec();
        let count = |branch: Branch| blocks.iter().filter(|block| block.branch == branch).count();
        let nearest =
            (0..blocks.len()).min_by(|&a, &b| blocks[a].margin.total_cmp(&blocks[b].margin));
        let (counts, notes) = (report.counts, report.remarks());
        Contacts {
            counts,
            notes,
            unique,
            open: count(Branch::Open),
            stick: count(Branch::Stick),
            slip: count(Branch::Slip),
            nearest,
            blocks,
        }
    }

    /// For a person.
    fn line(&self, input: &Input) -> String {
        let unique = match self.unique {
            Unique::Yes => "v is unique",
            Unique::Locally => "no other v nearby",
            Unique::Unknown => "v may not be unique",
        };
        let nearest = self.nearest.map_or(String::new(), |k| {
            let row: usize = input.laws()[..k].iter().map(|law| law.rows()).sum();
            format!(
                "; nearest to a change is {} ({:.1e} of its size away)",
                input.row_name(row),
                self.blocks[k].margin
            )
        });
        format!("{} open, {} stick, {} slip{nearest}; {unique}", self.open, self.stick, self.slip)
    }
}

/// Solves every file; complaints go to stderr, one line each.
pub fn run(arguments: &Arguments) -> ExitCode {
    if arguments.out.is_some() && (arguments.files.len() > 1 || arguments.solver.0.len() > 1) {
        return complain("--out takes one file and one solver");
    }
    if let Some(out) = arguments.out.as_ref().filter(|out| format_of(out).is_none()) {
        return complain(&format!(
            "--out {}: wanted a name that ends in .hdf5 or .json",
            out.display()
        ));
    }
    let mut printer = Printer::new(arguments);
    let (mut worst, mut history) = (0, History::new(arguments));
    for path in &arguments.files {
        let code = match solve_file(arguments, path, &mut printer, &mut history) {
            Ok(code) => code,
            Err(message) => {
                eprintln!("{message}");
                WRONG
            }
        };
        // A file that cannot be read weighs more than one that was not solved well.
        worst = if worst == WRONG || code == WRONG { WRONG } else { worst.max(code) };
    }
    match history.write() {
        Ok(()) => ExitCode::from(worst),
        Err(message) => complain(&message),
    }
}

fn complain(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(WRONG)
}

fn solve_file(
    arguments: &Arguments,
    path: &Path,
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
    for &method in &arguments.solver.0 {
        let outcome = solve_with(arguments, &stored, method)
            .map_err(|e| format!("{}: {e}", path.display()))?;
        if let Ok(report) = &outcome.result {
            history.add(stored.input.name(), method, report);
        }
        outcomes.push(outcome);
    }
    let difference = largest_difference(&stored.input, &outcomes);
    for outcome in &outcomes {
        printer.print(&stored, outcome, difference);
    }
    printer.print_difference(difference);
    if let (Some(out), [outcome]) = (&arguments.out, outcomes.as_slice()) {
        write(out, path, &stored, outcome)?;
    }
    let attempted = outcomes.iter().filter_map(|o| o.result.as_ref().ok());
    let refuted = outcomes.iter().any(|outcome| outcome.refuted(&tolerance(arguments)));
    let converged = attempted.clone().all(|report| report.status == Status::Converged)
        && attempted.count() > 0
        && !refuted;
    Ok(if converged { 0 } else { NOT_CONVERGED })
}

fn solve_with(arguments: &Arguments, stored: &Stored, method: Method) -> Result<Outcome, String> {
    let known = stored.guess.as_ref().or(stored.solution.as_ref());
    if arguments.warm && known.is_none() {
        eprintln!(
            "note: {} holds neither a guess nor a solution: it is solved from zero",
            stored.input.name()
        );
    }
    let mut solution =
        known.filter(|_| arguments.warm).cloned().unwrap_or_else(|| stored.input.zero());
    let progress =
        crate::progress::Progress::start(format!("{} {}", stored.input.name(), method.name()));
    let begun = Instant::now();
    let stop = StoppingCriteria {
        tolerance: tolerance(arguments),
        work: arguments.max_work,
        // A deadline beyond the end of time is none.
        deadline: arguments.deadline_ms.and_then(|ms| begun.checked_add(Duration::from_millis(ms))),
        history: arguments.history.is_some(),
    };
    let mut newton = Newton::new(newton::Settings { stop, ..Default::default() });
    let mut other: Box<dyn DynSolver> = match method {
        Method::Pivot => Box::new(pivot::Pivot::new(pivot::Settings {
            stop,
            facets: arguments.facets as usize,
            ..Default::default()
        })),
        // One problem of a file is worth the certificate's work.
        Method::Auto => Box::new(auto::Auto::new(auto::Settings {
            stop,
            certify: true,
            last_factorizations: None,
            ..Default::default()
        })),
        _ => method.build(stop),
    };
    let solver: &mut dyn DynSolver =
        if method == Method::Newton { &mut newton } else { other.as_mut() };
    let result = match &stored.input {
        Input::Problem(problem) => solver.solve(problem, &mut solution),
        Input::Reduced(reduced) => solver.solve_reduced(reduced, &mut solution),
    };
    let wall = begun.elapsed().as_secs_f64();
    drop(progress);
    // The printed error is judged here, from the point alone.
    let (error, literature) = match &stored.input {
        Input::Problem(p) => (
            PreparedProblem::of(p).map_err(|e| e.to_string())?.error(p, &solution),
            literature::of(p, &solution),
        ),
        Input::Reduced(p) => (
            PreparedProblem::of_reduced(p).error_reduced(p, &solution.r),
            literature::of_reduced(p, &solution.r),
        ),
    };
    let contacts = result
        .as_ref()
        .ok()
        .filter(|_| method == Method::Newton)
        .map(|report| Contacts::of(&mut newton, report));
    let certificate = arguments.certify.then(|| match &stored.input {
        Input::Problem(p) => Certifier::default().certify(p, &solution),
        Input::Reduced(p) => Certifier::default().certify_reduced(p, &solution.r),
    });
    Ok(Outcome { method, result, solution, error, literature, wall, certificate, contacts })
}

fn tolerance(arguments: &Arguments) -> Tolerance {
    Tolerance {
        relative: arguments.tol,
        velocity: arguments.tol_velocity,
        bound: arguments.tol_bound,
    }
}

impl Outcome {
    /// True if the answer was accepted and is proved to be further off than its tolerance.
    fn refuted(&self, tolerance: &Tolerance) -> bool {
        let converged = self.result.as_ref().is_ok_and(|report| report.status == Status::Converged);
        let proved = |c: &Certificate| matches!(c.standing, Standing::Proved | Standing::Moved);
        converged
            && self.certificate.as_ref().is_some_and(|c| {
                proved(c) && c.lower > tolerance.largest_bound() * self.error.scale
            })
    }
}

/// The largest ‖Δv‖_H between two solvers that answered, √J, if two did.
fn largest_difference(input: &Input, outcomes: &[Outcome]) -> Option<f64> {
    let (matrix, points): (&Csr, fn(&Outcome) -> &[f64]) = match input {
        Input::Problem(p) => (&p.H, |o| &o.solution.v),
        Input::Reduced(p) => (&p.W, |o| &o.solution.r),
    };
    let answered: Vec<&[f64]> = outcomes.iter().filter(|o| o.result.is_ok()).map(points).collect();
    let mut largest = 0.0f64;
    for (i, a) in answered.iter().enumerate() {
        for b in &answered[..i] {
            let difference: Vec<f64> = a.iter().zip(*b).map(|(a, b)| a - b).collect();
            let mut image = vec![0.0; matrix.rows];
            matrix.mul(&difference, &mut image);
            largest = largest.max(dot(&difference, &image).max(0.0).sqrt());
        }
    }
    (answered.len() > 1).then_some(largest)
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
            std::fs::write(out, text).map_err(|e| complaint(&e))
        }
    }
}

fn status(result: &Result<Report, Unsupported>) -> &'static str {
    match result {
        Err(_) => "unsupported",
        Ok(report) => match report.status {
            Status::Converged => "converged",
            Status::Budget => "budget",
            Status::Stalled => "stalled",
            Status::Infeasible => "infeasible",
        },
    }
}

/// The object of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    problem: ProblemLine<'a>,
    solver: &'static str,
    status: &'static str,
    iterations: u64,
    work: u64,
    wall_s: f64,
    reproducible: bool,
    error: ErrorLine,
    #[serde(skip_serializing_if = "Option::is_none")]
    certificate: Option<CertificateLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contacts: Option<&'a Contacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    largest_difference: Option<f64>,
}

#[derive(Serialize)]
struct ProblemLine<'a> {
    name: &'a str,
    n: usize,
    rows: usize,
    blocks: Blocks,
}

#[derive(Default, Serialize)]
struct Blocks {
    equality: usize,
    unilateral: usize,
    interval: usize,
    cone: usize,
    coulomb: usize,
}

#[derive(Serialize)]
struct ErrorLine {
    joule: f64,
    relative: f64,
    estimate_joule: f64,
    estimate_relative: f64,
    scale_joule: f64,
    velocity: f64,
    worst_row: Option<usize>,
    worst_name: String,
    momentum_joule: f64,
    natural: f64,
    fischer_burmeister: f64,
    siconos: f64,
    thesis: Thesis,
}

/// Infinite ends are written as null.
#[derive(Serialize)]
struct CertificateLine {
    standing: Standing,
    upper_joule: Option<f64>,
    lower_joule: f64,
    upper_relative: Option<f64>,
    lower_relative: f64,
    /// By how much w is moved, m/s.
    moved: f64,
    /// Accepted, and proved to be further off than the tolerance.
    refuted: bool,
}

impl CertificateLine {
    fn of(outcome: &Outcome, tolerance: &Tolerance) -> Option<CertificateLine> {
        let Certificate { standing, upper, lower, moved, .. } = *outcome.certificate.as_ref()?;
        let (scale, upper) = (outcome.error.scale, Some(upper).filter(|x| x.is_finite()));
        let relative = |x: f64| if x == 0.0 { 0.0 } else { x / scale };
        Some(CertificateLine {
            standing,
            upper_joule: upper,
            lower_joule: lower,
            upper_relative: upper.map(relative),
            lower_relative: relative(lower),
            moved,
            refuted: outcome.refuted(tolerance),
        })
    }
}

fn worst_name(input: &Input, error: &Residual) -> String {
    if input.rows() > 0 { input.row_name(error.worst_row) } else { String::new() }
}

fn line<'a>(
    stored: &'a Stored,
    outcome: &'a Outcome,
    tolerance: &Tolerance,
    largest_difference: Option<f64>,
) -> Line<'a> {
    let mut blocks = Blocks::default();
    for law in stored.input.laws() {
        match law {
            Law::Equality => blocks.equality += 1,
            Law::Unilateral => blocks.unilateral += 1,
            Law::Interval { .. } => blocks.interval += 1,
            Law::Cone { .. } => blocks.cone += 1,
            Law::Coulomb { .. } => blocks.coulomb += 1,
        }
    }
    let (error, report) = (&outcome.error, outcome.result.as_ref().ok());
    Line {
        problem: ProblemLine {
            name: stored.input.name(),
            n: stored.given.n(),
            rows: stored.input.rows(),
            blocks,
        },
        solver: outcome.method.name(),
        status: status(&outcome.result),
        iterations: report.map_or(0, |r| r.iterations),
        work: report.map_or(0, |r| r.work),
        wall_s: outcome.wall,
        reproducible: report.is_none_or(|r| r.reproducible),
        certificate: CertificateLine::of(outcome, tolerance),
        contacts: outcome.contacts.as_ref(),
        error: ErrorLine {
            joule: error.joule,
            relative: error.relative(),
            estimate_joule: error.estimate,
            estimate_relative: error.estimate_relative(),
            scale_joule: error.scale,
            velocity: error.velocity,
            worst_row: (stored.input.rows() > 0).then_some(error.worst_row),
            worst_name: worst_name(&stored.input, error),
            momentum_joule: error.momentum,
            natural: outcome.literature.natural,
            fischer_burmeister: outcome.literature.fischer_burmeister,
            siconos: outcome.literature.siconos,
            thesis: outcome.literature.thesis,
        },
        largest_difference,
    }
}

/// Prints a line; a reader who has left is not an error.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Prints a table, or JSON lines.
struct Printer {
    json: bool,
    /// Width of the first two columns.
    widths: (usize, usize),
    begun: bool,
    /// There is one solver.
    alone: bool,
    tolerance: Tolerance,
}

impl Printer {
    fn new(arguments: &Arguments) -> Printer {
        let name =
            |path: &PathBuf| path.file_stem().map_or(0, |s| s.to_string_lossy().chars().count());
        let problem = arguments.files.iter().map(name).max().unwrap_or(0).max(7);
        let solver = arguments.solver.0.iter().map(|m| m.name().len()).max().unwrap_or(0).max(6);
        let (json, alone, tolerance) =
            (arguments.json, arguments.solver.0.len() == 1, tolerance(arguments));
        Printer { json, widths: (problem, solver), begun: false, alone, tolerance }
    }

    fn print(&mut self, stored: &Stored, outcome: &Outcome, difference: Option<f64>) {
        if self.json {
            say(&serde_json::to_string(&line(stored, outcome, &self.tolerance, difference))
                .expect("plain data can be written"));
            return;
        }
        let (a, b) = self.widths;
        if !self.begun {
            say(&format!(
                "{:a$}  {:b$}  {:11}  {:>7}  {:>8}  {:>9}  {:>9}  {:>9}  {:>9}  worst row",
                "problem",
                "solver",
                "status",
                "work",
                "time s",
                "error J",
                "relative",
                "estimate",
                "m/s"
            ));
            self.begun = true;
        }
        let (error, work) = (&outcome.error, outcome.result.as_ref().map_or(0, |r| r.work));
        let last = match &outcome.result {
            Ok(_) => worst_name(&stored.input, error),
            Err(unsupported) => unsupported.to_string(),
        };
        say(&format!(
            "{:a$}  {:b$}  {:11}  {:>7}  {:>8.3}  {:>9.2e}  {:>9.2e}  {:>9.2e}  {:>9.2e}  {}",
            stored.input.name(),
            outcome.method.name(),
            status(&outcome.result),
            work,
            outcome.wall,
            error.joule,
            error.relative(),
            error.estimate_relative(),
            error.velocity,
            last
        ));
        if let Some(certificate) = &outcome.certificate {
            say(&format!(
                "{:a$}  {}",
                "",
                certified(certificate, error.scale, outcome.refuted(&self.tolerance))
            ));
        }
        if let Ok(Report { status: Status::Infeasible, conflict, .. }) = &outcome.result {
            let names: Vec<String> = conflict.iter().map(|&k| stored.input.block_name(k)).collect();
            say(&format!("{:a$}  these contradict each other: {}", "", names.join(", ")));
        }
        // What only this method knows, where it is asked alone.
        if let (Some(contacts), true) = (&outcome.contacts, self.alone) {
            let counts = contacts.counts;
            say(&format!(
                "{:a$}  {} sweeps, {} factorizations",
                "", counts.sweeps, counts.factorizations
            ));
            contacts.notes.iter().for_each(|note| say(&format!("{:a$}  {note}", "")));
            say(&format!("{:a$}  {}", "", contacts.line(&stored.input)));
        }
    }

    fn print_difference(&self, difference: Option<f64>) {
        if let (Some(difference), false) = (difference, self.json) {
            say(&format!(
                "{:w$}  largest difference in v between solvers: {difference:.2e} √J",
                "",
                w = self.widths.0
            ));
        }
    }
}

/// A certificate for a person.
fn certified(certificate: &Certificate, scale: f64, refuted: bool) -> String {
    if certificate.standing == Standing::Unknown {
        return "certificate: unknown (no feasible velocity was found, or the problem is not \
            convex)"
            .into();
    }
    let Certificate { upper, lower, .. } = certificate;
    let wrong = if refuted { "; REFUTED: this is more than the tolerance" } else { "" };
    let relative = if *upper == 0.0 { 0.0 } else { upper / scale };
    let standing = certificate.standing_text();
    format!(
        "certificate: velocity error {lower:.3e} to {upper:.3e} J ({relative:.1e} of the scale), \
            {standing}{wrong}"
    )
}

/// The table of `--history`.
struct History {
    path: Option<PathBuf>,
    several: bool,
    text: String,
}

impl History {
    fn new(arguments: &Arguments) -> History {
        let several = arguments.files.len() > 1 || arguments.solver.0.len() > 1;
        let head = if several {
            "problem,solver,work,joule,best,wall_s\n"
        } else {
            "work,joule,best,wall_s\n"
        };
        History { path: arguments.history.clone(), several, text: head.into() }
    }

    fn add(&mut self, problem: &str, method: Method, report: &Report) {
        for s in &report.history {
            if self.several {
                self.text += &format!("\"{}\",{},", problem.replace('"', "\"\""), method.name());
            }
            self.text += &format!("{},{:e},{:e},{:e}\n", s.work, s.joule, s.best, s.wall);
        }
    }

    fn write(&self) -> Result<(), String> {
        let Some(path) = &self.path else { return Ok(()) };
        std::fs::write(path, &self.text).map_err(|e| format!("{}: {e}", path.display()))
    }
}
