//! `signorini bench psor --corpus DIR`: how many sweeps a problem takes.

use super::psor::Arguments;
use serde::Serialize;
use signorini::problem::files::Input;
use signorini::problem::{Problem, Reduced, Solution, Tolerance, literature};
use signorini::solve::psor::{Acceleration, Local, Psor, Settings};
use signorini::solve::{ReducedSolver, Solver, Status, StoppingCriteria};
use signorini_files::load::load;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The most sweeps per problem with velocities, and per reduced one (or as many as Siconos takes,
/// if those are more).
const MAX_SWEEPS: u64 = 1_000;
const MAX_SWEEPS_REDUCED: u64 = 20_000;

/// Relative energy errors to reach.
const TARGETS: [f64; 3] = [1e-4, 1e-6, 1e-8];

/// Siconos' relative error to reach on reduced problems.
const SICONOS_TOLERANCE: f64 = 1e-8;

#[derive(Serialize)]
struct Row {
    problem: String,
    contacts: usize,
    /// Sweeps to each target, by method.
    sweeps: Vec<[Option<u64>; 3]>,
    status: Status,
    relative: f64,
    estimate_relative: f64,
}

#[derive(Serialize)]
struct ReducedRow {
    problem: String,
    contacts: usize,
    sweeps: Option<u64>,
    siconos: f64,
    relative: f64,
    status: Status,
    /// What Siconos' own sweeps took, if the figures stand beside the folder.
    siconos_sweeps: Option<u64>,
}

/// The methods of the table.
fn methods(variants: bool) -> Vec<(&'static str, Settings)> {
    let mut out = vec![
        ("psor", Settings::default()),
        ("plain 1.0", Settings::plain(1.0)),
        ("plain 1.3", Settings::plain(1.3)),
    ];
    if variants {
        let depth = |depth: usize| Settings {
            acceleration: Acceleration::Subspace { depth },
            ..Settings::default()
        };
        let anderson = |depth: usize| Settings {
            acceleration: Acceleration::Anderson { depth },
            ..Settings::default()
        };
        out.extend([
            ("depth 3", depth(3)),
            ("depth 10", depth(10)),
            ("depth 20", depth(20)),
            ("anderson", anderson(5)),
        ]);
        out.push(("exact", Settings { local: Local::Exact, ..Settings::default() }));
        out.push(("joint rows", Settings { joints: false, ..Settings::default() }));
    }
    out
}

/// Runs the bench on every problem file of the folder.
pub fn run(folder: &Path, arguments: &Arguments) -> ExitCode {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            eprintln!("{}: {error}", folder.display());
            return ExitCode::from(2);
        }
    };
    let mut files: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "hdf5" || e == "dat" || e == "json"));
    files.retain(|p| p.file_name().is_some_and(|n| n.to_string_lossy().contains(&arguments.only)));
    files.sort();
    if files.is_empty() {
        eprintln!(
            "{}: no file of this folder is a problem to sweep (wanted .hdf5, .dat or .json, here \
                and not in folders below)",
            folder.display()
        );
        return ExitCode::from(2);
    }
    let figures = folder
        .parent()
        .map(|p| p.join("figures.csv"))
        .and_then(|p| std::fs::read_to_string(p).ok())
        .unwrap_or_default();
    let methods = methods(arguments.variants);
    let (mut rows, mut reduced) = (Vec::new(), Vec::new());
    for path in &files {
        match load(path, None).map(|stored| stored.input) {
            Ok(Input::Problem(problem)) => {
                rows.push(whole(problem.associated(), &methods, arguments.json))
            }
            Ok(Input::Reduced(problem)) => {
                reduced.push(eliminated(&problem, path, &figures, arguments.json))
            }
            Err(message) => eprintln!("{message}"),
        }
    }
    if arguments.json {
        println!("{}", serde_json::json!({ "problems": rows, "reduced": reduced }));
    } else {
        summary(&rows, &reduced, &methods);
    }
    if let Some(path) = &arguments.plot
        && let Err(error) = signorini::whole::write_whole(path, plot(&rows, &methods).as_bytes())
    {
        eprintln!("{}: {error}", path.display());
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}

fn whole(problem: Problem, methods: &[(&str, Settings)], quiet: bool) -> Row {
    let contacts = problem.laws.iter().filter(|law| law.name() != "equality").count();
    let mut row = Row {
        problem: problem.name.clone(),
        contacts,
        sweeps: Vec::new(),
        status: Status::Budget,
        relative: 0.0,
        estimate_relative: 0.0,
    };
    for (i, (_, settings)) in methods.iter().enumerate() {
        // Velocities are not asked for here: the published counts know the energy alone.
        let tolerance = Tolerance {
            relative: TARGETS[2],
            velocity: f64::INFINITY,
            bound: None,
            velocity_relative: 0.0,
        };
        let stop =
            StoppingCriteria { tolerance, work: Some(MAX_SWEEPS), history: true, deadline: None };
        let mut solution = Solution::zero(problem.n(), problem.rows());
        let Ok(report) = Psor::new(Settings { stop, judge_every: 1, ..settings.clone() })
            .solve(&problem, &mut solution)
        else {
            row.sweeps.push([None; 3]);
            continue;
        };
        let scale = report.error.scale;
        row.sweeps.push(TARGETS.map(|target| {
            report.history.iter().find(|s| s.joule <= target * scale).map(|s| s.work)
        }));
        if i == 0 {
            (row.status, row.relative, row.estimate_relative) =
                (report.status, report.error.relative(), report.error.estimate_relative());
        }
    }
    if !quiet {
        let cells: Vec<String> = row.sweeps.iter().map(|s| s.map(count).join(" ")).collect();
        println!(
            "{:38} {:>6}  {}  {:?} {:.1e} {:.1e}",
            row.problem,
            row.contacts,
            cells.join(" | "),
            row.status,
            row.relative,
            row.estimate_relative
        );
    }
    row
}

fn count(sweeps: Option<u64>) -> String {
    sweeps.map_or(format!("{:>5}", "-"), |s| format!("{s:>5}"))
}

/// Asks for ever smaller energy errors until Siconos' measure is met.
fn eliminated(reduced: &Reduced, path: &Path, figures: &str, quiet: bool) -> ReducedRow {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let siconos_sweeps = figures.lines().filter_map(|line| published(line, &name)).min();
    let mut row = ReducedRow {
        problem: name,
        contacts: reduced.laws.len(),
        sweeps: None,
        siconos: f64::INFINITY,
        relative: f64::INFINITY,
        status: Status::Budget,
        siconos_sweeps,
    };
    for half in 4..44 {
        let tolerance = Tolerance {
            relative: 10f64.powf(-0.5 * f64::from(half)),
            velocity: f64::INFINITY,
            bound: None,
            velocity_relative: 0.0,
        };
        let most = siconos_sweeps.unwrap_or(0).max(MAX_SWEEPS_REDUCED);
        let stop = StoppingCriteria { tolerance, work: Some(most), history: false, deadline: None };
        let mut solution = Solution::zero(0, reduced.rows());
        let Ok(report) = Psor::new(Settings { stop, judge_every: 1, ..Settings::default() })
            .solve_reduced(reduced, &mut solution)
        else {
            break;
        };
        row.siconos = literature::of_reduced(reduced, &solution.r).siconos;
        (row.relative, row.status) = (report.error.relative(), report.status);
        if row.siconos <= SICONOS_TOLERANCE {
            row.sweeps = Some(report.work);
        }
        if row.siconos <= SICONOS_TOLERANCE || report.status != Status::Converged {
            break;
        }
    }
    if !quiet {
        println!(
            "{:38} {:>5}  {} (Siconos {})  siconos {:.1e}  relative {:.1e}  {:?}",
            row.problem,
            row.contacts,
            count(row.sweeps),
            count(row.siconos_sweeps),
            row.siconos,
            row.relative,
            row.status
        );
    }
    row
}

/// Sweeps of a line of `figures.csv`: kind, file, size, solver, tolerance, status, info,
/// iterations, …
fn published(line: &str, name: &str) -> Option<u64> {
    let cells: Vec<&str> = line.split(',').collect();
    let wanted = cells.len() > 7
        && cells[1] == name
        && cells[3].starts_with("NSGS")
        && cells[4] == "1e-08"
        && cells[5] == "ok";
    if wanted { cells[7].parse().ok() } else { None }
}

/// Problems that need not converge: mass ratios of 1e15.
fn beyond(row: &Row) -> bool {
    row.problem.contains("ratio10")
}

fn summary(rows: &[Row], reduced: &[ReducedRow], methods: &[(&str, Settings)]) {
    let counted: Vec<&Row> = rows.iter().filter(|row| !beyond(row)).collect();
    if !counted.is_empty() {
        println!(
            "\ngeometric mean of {} problems (stack15_ratio10 apart; not reached counts as \
                {MAX_SWEEPS}):",
            counted.len()
        );
        for (m, (name, _)) in methods.iter().enumerate() {
            let mean = |t: usize| {
                let sum: f64 = counted
                    .iter()
                    .map(|row| (row.sweeps[m][t].unwrap_or(MAX_SWEEPS).max(1) as f64).ln())
                    .sum();
                (sum / counted.len() as f64).exp()
            };
            let missed = TARGETS
                .iter()
                .enumerate()
                .map(|(t, _)| counted.iter().filter(|row| row.sweeps[m][t].is_none()).count());
            let missed: Vec<String> = missed.map(|c| c.to_string()).collect();
            println!(
                "  {name:10} {:6.1} {:6.1} {:6.1}   not in {MAX_SWEEPS}: {}",
                mean(0),
                mean(1),
                mean(2),
                missed.join(" ")
            );
        }
        let names: Vec<&str> = methods.iter().map(|(name, _)| *name).collect();
        println!(
            "\nprofile at 1e-6: part of the problems solved within so many sweeps ({})",
            names.join(", ")
        );
        for sweeps in [5, 10, 20, 50, 100, 200, 500, 1000] {
            let cells: Vec<String> = (0..methods.len())
                .map(|m| format!("{:4.0} %", 100.0 * solved(&counted, m, sweeps)))
                .collect();
            println!("  {sweeps:>5}  {}", cells.join("  "));
        }
    }
    let known: Vec<&ReducedRow> =
        reduced.iter().filter(|row| row.siconos_sweeps.is_some()).collect();
    if !known.is_empty() {
        let solved = known.iter().filter(|row| row.sweeps.is_some()).count();
        let fewer = known
            .iter()
            .filter(|row| row.sweeps.is_some_and(|s| Some(s) <= row.siconos_sweeps))
            .count();
        println!(
            "\nof {} files that Siconos' sweeps solve to {SICONOS_TOLERANCE:.0e}: {solved} solved, \
                {fewer} in no more sweeps",
            known.len()
        );
    }
}

/// The part of the problems that method `m` solves to the middle target within `sweeps`.
fn solved(rows: &[&Row], m: usize, sweeps: u64) -> f64 {
    rows.iter().filter(|row| row.sweeps[m][1].is_some_and(|s| s <= sweeps)).count() as f64
        / rows.len().max(1) as f64
}

/// The performance profile as a drawing: part of the problems solved to 1e-6 over sweeps
/// (logarithmic).
fn plot(rows: &[Row], methods: &[(&str, Settings)]) -> String {
    let counted: Vec<&Row> = rows.iter().filter(|row| !beyond(row)).collect();
    let (x, y) = (|sweeps: f64| 60.0 + 180.0 * sweeps.log10(), |part: f64| 320.0 - 280.0 * part);
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"370\" \
            font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"720\" height=\"370\" fill=\"white\"/>\n",
    );
    for tick in [1.0, 10.0, 100.0, 1000.0] {
        let _ = writeln!(
            svg,
            "<line x1=\"{0}\" y1=\"40\" x2=\"{0}\" y2=\"320\" stroke=\"#ddd\"/><text x=\"{0}\" \
                y=\"338\" text-anchor=\"middle\">{tick}</text>",
            x(tick)
        );
    }
    for tick in [0.0, 0.5, 1.0] {
        let _ = writeln!(
            svg,
            "<line x1=\"60\" y1=\"{0}\" x2=\"600\" y2=\"{0}\" stroke=\"#ddd\"/><text x=\"52\" \
                y=\"{0}\" text-anchor=\"end\">{1} %</text>",
            y(tick),
            100.0 * tick
        );
    }
    svg += "<text x=\"330\" y=\"360\" text-anchor=\"middle\">sweeps to a relative energy error of \
        1e-6</text>\n";
    for (m, ((name, _), colour)) in
        methods.iter().zip(["#c0392b", "#2c3e50", "#2980b9"]).enumerate()
    {
        let mut points = format!("{},{}", x(1.0), y(solved(&counted, m, 0)));
        for sweeps in 1..=MAX_SWEEPS {
            let part = solved(&counted, m, sweeps);
            if part != solved(&counted, m, sweeps - 1) || sweeps == MAX_SWEEPS {
                let _ = write!(
                    points,
                    " {0:.1},{1:.1} {0:.1},{2:.1}",
                    x(sweeps as f64),
                    y(solved(&counted, m, sweeps - 1)),
                    y(part)
                );
            }
        }
        let at = y(solved(&counted, m, MAX_SWEEPS));
        let _ = writeln!(
            svg,
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" \
                stroke-width=\"2\"/><text x=\"608\" y=\"{at}\" fill=\"{colour}\">{name}</text>"
        );
    }
    svg + "</svg>\n"
}
