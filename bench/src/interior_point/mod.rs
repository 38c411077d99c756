//! `signorini bench interior-point`: the tables of (Mangoni2018, chapter 5) beside our figures, the
//! stored problems, and clarabel on the same problems in the same run.

mod peer;
mod print;
mod rows;

use super::peers;
use super::spheres::{Scene, Step, stack};
use peer::beside;
pub(crate) use rows::{Balls, StackRow, WarmRow};
use rows::{Results, StoredRow};
use signorini::problem::files::Input;
use signorini::problem::literature::{self, Thesis};
use signorini::problem::{Problem, Solution, Tolerance};
use signorini::solve::interior_point::{InteriorPoint, Settings, Warm};
use signorini::solve::{Report, Solver, Status, StoppingCriteria};
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `bench interior-point`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Folder of stored problems (FCLib files with their solutions).
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// Small scenes only: seconds instead of minutes.
    #[arg(long)]
    quick: bool,
}

/// Relative joules 1e-10, and velocities far below the 1e-7 m/s that they are compared to.
const TOLERANCE: Tolerance =
    Tolerance { relative: 1e-10, velocity: 1e-8, bound: None, velocity_relative: 0.0 };
/// For the thesis's own table: enough for its four residuals to be far below the 1e-10, 1e-10,
/// 1e-10 and 1e-9 that it stops at.
pub(crate) const THESIS: Tolerance =
    Tolerance { relative: 1e-10, velocity: 1e-7, bound: None, velocity_relative: 0.0 };

/// Spheres, contacts and iterations per step of table 5.3. There are 14 contacts per sphere at all
/// sizes; which pairs they are the thesis does not say. Here they are the nearest ones.
pub(crate) const TABLE_5_3: [(usize, usize, f64); 4] =
    [(64, 884, 17.2), (280, 3878, 17.9), (595, 8301, 17.7), (1190, 16798, 17.8)];

/// Runs the bench.
pub fn run(arguments: &Arguments) -> ExitCode {
    let say = !arguments.json;
    progress("stacks");
    let mut results = Results {
        balls: Vec::new(),
        warm: Vec::new(),
        stacks: stacks(),
        stored: Vec::new(),
        clarabel: Vec::new(),
    };
    if say {
        print::stacks(&results.stacks);
    }
    progress("warm starts");
    results.warm = warm();
    if say {
        print::warm(&results.warm);
    }
    let sizes = &TABLE_5_3[..if arguments.quick { 2 } else { 4 }];
    let mut frictional = Vec::new();
    for &(spheres, ..) in sizes {
        progress(&format!("{spheres} balls in the box, 50 steps"));
        let (rows, [_, problem]) = balls(spheres, true);
        results.balls.extend(rows);
        frictional.push(problem);
    }
    if say {
        print::balls(&results.balls);
    }
    for problem in &frictional {
        results.clarabel.extend(beside(problem, None));
    }
    match &arguments.corpus {
        Some(folder) => match stored(folder, &mut results) {
            Ok(()) => {}
            Err(why) => {
                eprintln!("{}: {why}", folder.display());
                return ExitCode::from(2);
            }
        },
        None if say => println!("\nStored problems: none (--corpus DIR)"),
        None => {}
    }
    if say {
        print::stored(&results.stored);
        print::peers(&results.clarabel);
    } else {
        println!("{}", serde_json::to_string(&results).expect("figures are plain data"));
    }
    ExitCode::SUCCESS
}

/// Where the bench is: it takes minutes.
fn progress(what: &str) {
    eprintln!("... {what}");
}

fn solve(
    problem: &Problem,
    settings: Settings,
    guess: Solution,
    method: &mut InteriorPoint,
) -> (Solution, Report, f64) {
    *method.settings_mut() = settings;
    let mut solution = guess;
    let clock = peers::Clock::start();
    let report = method.solve(problem, &mut solution).expect("every law is treated");
    (solution, report, 1e3 * clock.seconds())
}

/// The method as it is used, to this tolerance.
fn usual(tolerance: Tolerance) -> Settings {
    let stop = StoppingCriteria { tolerance, ..StoppingCriteria::default() };
    Settings { stop, ..Settings::default() }
}

/// The path alone, as in the thesis.
fn path(tolerance: Tolerance, warm: Warm) -> Settings {
    Settings { warm, path_alone: true, ..usual(tolerance) }
}

/// Without a guess, nothing prepared.
fn cold(problem: &Problem) -> (Solution, Report, f64) {
    cold_to(problem, TOLERANCE)
}

fn cold_to(problem: &Problem, tolerance: Tolerance) -> (Solution, Report, f64) {
    solve(problem, usual(tolerance), zero(problem), &mut InteriorPoint::default())
}

fn zero(problem: &Problem) -> Solution {
    Solution::zero(problem.n(), problem.rows())
}

/// 50 steps without friction, every tenth also with it if `rough`; and the last problem of each
/// kind.
pub(crate) fn balls(spheres: usize, rough: bool) -> ([Balls; 2], [Problem; 2]) {
    let mut scene = Scene::balls(spheres, 0.0);
    let nearest = TABLE_5_3.iter().find(|row| row.0 == spheres).map_or(14 * spheres, |row| row.1);
    let mut method = InteriorPoint::default();
    let mut rows = [false, true].map(|friction| Balls {
        spheres,
        friction,
        steps: 0,
        contacts_mean: 0.0,
        iterations_mean: 0.0,
        iterations_max: 0,
        sweeps_mean: 0.0,
        ms_mean: 0.0,
        path_mean: 0.0,
        path_max: 0,
        path_steps: 0,
        residuals: Thesis::default(),
    });
    let mut last = [Problem::default(), Problem::default()];
    for i in 0..50 {
        scene.nearest = Some(nearest);
        let problem = scene.next().problem;
        let (solution, report, ms) = solve(&problem, usual(THESIS), zero(&problem), &mut method);
        rows[0].add(&problem, &solution, &report, ms);
        if i % 10 == 9 {
            let settings = path(THESIS, Warm::Cold);
            rows[0].add_path(&solve(&problem, settings, zero(&problem), &mut method).1);
            last[0] = problem;
        }
        if rough && i % 10 == 9 {
            scene.nearest = None;
            let problem = scene.step(0.5).problem;
            let (solution, report, ms) = cold(&problem);
            rows[1].add(&problem, &solution, &report, ms);
            let settings = path(TOLERANCE, Warm::Cold);
            let mut fresh = InteriorPoint::default();
            rows[1].add_path(&solve(&problem, settings, zero(&problem), &mut fresh).1);
            last[1] = problem;
        }
        scene.advance(&solution);
    }
    (rows, last)
}

/// The thesis's four residuals after each factorization of the path alone, from nothing.
pub(crate) fn residuals(problem: &Problem) -> Vec<(u64, Thesis)> {
    let mut out = Vec::new();
    for work in 1..=60 {
        let mut settings = path(THESIS, Warm::Cold);
        settings.stop.work = Some(work);
        let (solution, report, _) =
            solve(problem, settings, zero(problem), &mut InteriorPoint::default());
        out.push((work, literature::of(problem, &solution).thesis));
        if report.status != Status::Budget {
            break;
        }
    }
    out
}

impl Balls {
    fn add_path(&mut self, report: &Report) {
        let before = self.path_steps as f64;
        self.path_steps += 1;
        self.path_mean = (self.path_mean * before + report.work as f64) / (before + 1.0);
        self.path_max = self.path_max.max(report.work);
    }

    fn add(&mut self, problem: &Problem, solution: &Solution, report: &Report, ms: f64) {
        let before = self.steps as f64;
        self.steps += 1;
        let mean = |old: f64, new: f64| (old * before + new) / (before + 1.0);
        self.iterations_mean = mean(self.iterations_mean, report.work as f64);
        self.iterations_max = self.iterations_max.max(report.work);
        self.sweeps_mean = mean(self.sweeps_mean, report.counts.sweeps as f64);
        self.ms_mean = mean(self.ms_mean, ms);
        self.contacts_mean = mean(self.contacts_mean, problem.laws.len() as f64);
        let thesis = literature::of(problem, solution).thesis;
        let worst = &mut self.residuals;
        worst.rp_eq = worst.rp_eq.max(thesis.rp_eq);
        worst.rp_ineq = worst.rp_ineq.max(thesis.rp_ineq);
        worst.rd = worst.rd.max(thesis.rd);
        worst.mu = worst.mu.max(thesis.mu.abs());
    }
}

pub(crate) fn warm() -> Vec<WarmRow> {
    let (spheres, contacts, _) = TABLE_5_3[0];
    let mut balls = Scene::balls(spheres, 0.0);
    balls.nearest = Some(contacts);
    let scenes = [
        ("balls in the box", balls, 50),
        ("single ball", Scene::ball(), 100),
        ("single brick", Scene::brick(), 100),
    ];
    scenes.into_iter().map(|(name, scene, calls)| warm_row(name, scene, calls)).collect()
}

/// One sequence of problems, solved with each kind of start from the answer before.
fn warm_row(scene_name: &'static str, mut scene: Scene, calls: usize) -> WarmRow {
    let mut sequence: Vec<(Step, Solution)> = Vec::new();
    for _ in 0..calls {
        let step = scene.next();
        let (solution, _, _) = cold(&step.problem);
        scene.advance(&solution);
        sequence.push((step, solution));
    }
    let total = |settings: Settings| {
        let mut method = InteriorPoint::default();
        let mut sum = 0;
        for i in 0..sequence.len() {
            let step = &sequence[i].0;
            let guess = match i.checked_sub(1) {
                Some(before) => step.guess(&sequence[before].0, &sequence[before].1),
                None => Solution::zero(step.problem.n(), step.problem.rows()),
            };
            let (_, report, _) = solve(&step.problem, settings, guess, &mut method);
            sum += report.work;
        }
        sum
    };
    WarmRow {
        scene: scene_name,
        calls,
        none: total(path(TOLERANCE, Warm::Cold)),
        partial: total(path(TOLERANCE, Warm::Partial)),
        full: total(path(TOLERANCE, Warm::Full)),
        best: total(usual(TOLERANCE)),
    }
}

fn stacks() -> Vec<StackRow> {
    let mut out = Vec::new();
    for mass in [1e2, 1e6, 1e12] {
        for n in [5, 15, 50] {
            out.push(stack_row(format!("{mass:.0e} kg"), &vec![mass; n]));
        }
    }
    for n in [5, 10, 15, 16, 17, 18, 19, 20] {
        let masses: Vec<f64> = (0..n).map(|j| 10f64.powi(j)).collect();
        out.push(stack_row("10^n kg".into(), &masses));
        let masses: Vec<f64> = masses.into_iter().rev().collect();
        out.push(stack_row("10^n kg, heavy below".into(), &masses));
    }
    out
}

pub(crate) fn stack_row(case: String, masses: &[f64]) -> StackRow {
    let problem = stack(masses);
    let (solution, report, _) = cold(&problem);
    let settings = path(TOLERANCE, Warm::Cold);
    let alone = solve(&problem, settings, zero(&problem), &mut InteriorPoint::default()).1;
    let v_error = solution.v.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    StackRow {
        case,
        n: masses.len(),
        iterations: report.work,
        path: alone.work,
        path_converged: alone.status == Status::Converged,
        v_error,
        converged: report.status == Status::Converged,
    }
}

/// The stored problems of a folder; those with more than 100 rows also beside clarabel.
fn stored(folder: &PathBuf, results: &mut Results) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|e| e.to_string())?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "hdf5"));
    paths.sort();
    for (i, path) in paths.iter().enumerate() {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        progress(&format!("stored problem {} of {}: {name}", i + 1, paths.len()));
        let stored =
            signorini_files::fclib::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let (Input::Problem(problem), Some(reference)) = (stored.input, stored.solution) else {
            continue;
        };
        let problem = problem.associated();
        let (solution, report, ms) = cold(&problem);
        results.stored.push(StoredRow {
            problem: problem.name.clone(),
            factorizations: report.work,
            converged: report.status == Status::Converged,
            relative: report.error.relative(),
            v_error: difference(&solution.v, &reference.v),
            ms,
        });
        if problem.rows() > 100 {
            results.clarabel.extend(beside(&problem, Some(&reference.v)));
        }
    }
    Ok(())
}

/// The largest difference of two velocities.
fn difference(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |m, (a, b)| m.max((a - b).abs()))
}
#[cfg(test)]
mod tests {
    use super::*;

    /// The keys that others read, in figures of the smallest cases.
    #[test]
    fn the_json_holds_the_promised_keys() {
        let (rows, [_, problem]) = balls(64, true);
        let results = Results {
            balls: rows.into(),
            warm: vec![warm_row("single ball", Scene::ball(), 5)],
            stacks: vec![stack_row("10^n kg".into(), &[1.0, 10.0, 100.0])],
            stored: Vec::new(),
            clarabel: beside(&problem, None).into_iter().collect(),
        };
        let json = serde_json::to_value(&results).expect("figures are plain data");
        let promised: [(&str, &[&str]); 4] = [
            ("balls", &["spheres", "friction", "iterations_mean", "ms_mean"]),
            ("warm", &["scene", "none", "partial", "full", "best"]),
            ("stacks", &["case", "n", "iterations", "v_error"]),
            ("clarabel", &["problem", "ours_ms", "clarabel_ms", "ratio"]),
        ];
        for (table, keys) in promised {
            for row in json[table].as_array().expect("a table") {
                for key in keys {
                    assert!(!row[key].is_null(), "{table}: {key} is missing or not finite");
                }
            }
        }
        assert_eq!(
            json["clarabel"].as_array().map(Vec::len),
            Some(usize::from(cfg!(feature = "peers")))
        );
        assert_eq!(json["stacks"][0]["converged"], true);
        // The thesis's own tolerances.
        assert!(results.balls[0].residuals.rp_ineq < 1e-10 && results.balls[0].residuals.mu < 1e-9);
    }
}
