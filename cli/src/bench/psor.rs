//! `signorini bench psor`.

use super::packing::packing;
use crate::fclib;
use signorini::problem::files::Input;
use signorini::problem::{Problem, Solution, Tolerance};
use signorini::solve::psor::{Acceleration, Psor, Settings};
use signorini::solve::{Solver, Stop};
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `bench psor`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Count sweeps on the FCLib problems of this folder, under the cone law.
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// Coulomb.
    #[arg(long)]
    fc3d: Option<PathBuf>,
    #[arg(long)]
    projection: bool,
    /// none|auto|anderson
    #[arg(long, default_value = "auto")]
    accelerate: String,
    /// Only files whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Differences kept.
    #[arg(long, default_value_t = 5)]
    depth: usize,
}

/// Runs the bench.
pub fn run(arguments: &Arguments) -> ExitCode {
    if let Some(folder) = &arguments.fc3d {
        fc3d(folder, arguments);
        return ExitCode::SUCCESS;
    }
    let Some(folder) = &arguments.corpus else {
        speed(arguments);
        return ExitCode::SUCCESS;
    };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "hdf5")).collect();
    files.sort();
    let mut logs = [0.0; 3];
    let mut count = 0.0;
    for path in files {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if !name.contains(&arguments.only) {
            continue;
        }
        let Ok(stored) = fclib::read(&path) else { continue };
        let Input::Problem(problem) = stored.input else { continue };
        let problem = problem.associated();
        let acceleration = if arguments.depth == 0 { Acceleration::None } else { Acceleration::Subspace { depth: arguments.depth } };
        let settings = Settings {
            acceleration,
            judge_every: 1,
            stop: Stop {
                tolerance: Tolerance { relative: 1e-8, velocity: f64::INFINITY },
                work: Some(1000),
                history: true,
                deadline: None,
            },
            ..Settings::default()
        };
        let (hits, report) = sweeps_to(&problem, settings);
        println!(
            "{name:36} {:?} {:?} rel {:.1e} bound {:.1e} {}",
            hits,
            report.status,
            report.error.relative(),
            report.error.bound_relative(),
            report.work
        );
        if !name.contains("ratio10") {
            count += 1.0;
            for i in 0..3 {
                logs[i] += (hits[i].unwrap_or(1000).max(1) as f64).ln();
            }
        }
    }
    println!("geometric mean {:?}", logs.map(|l| (l / count).exp()));
    ExitCode::SUCCESS
}

fn sweeps_to(problem: &Problem, settings: Settings) -> ([Option<u64>; 3], signorini::solve::Report) {
    let mut solution = Solution::zero(problem.n(), problem.rows());
    let report = Psor::new(settings).solve(problem, &mut solution).unwrap();
    let scale = report.error.scale;
    let hits = [1e-4, 1e-6, 1e-8].map(|tol| report.history.iter().find(|s| s.joule <= tol * scale).map(|s| s.work));
    (hits, report)
}

fn fc3d(folder: &std::path::Path, arguments: &Arguments) {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.contains(&arguments.only) {
            continue;
        }
        let Ok(stored) = crate::load::load(&path, None) else {
            println!("{name} unreadable");
            continue;
        };
        let Input::Reduced(reduced) = stored.input else { continue };
        let mut line = String::new();
        for half in 4..44 {
            let relative = 10f64.powf(-0.5 * half as f64);
            let acceleration = match arguments.accelerate.as_str() {
                "none" => Acceleration::None,
                "auto" => Acceleration::Auto,
                "subspace" => Acceleration::Subspace { depth: arguments.depth },
                _ => Acceleration::Anderson { depth: arguments.depth },
            };
            let local = if arguments.projection { signorini::solve::psor::Local::Projection } else { signorini::solve::psor::Local::Auto };
            let settings = Settings {
                acceleration,
                local,
                judge_every: 1,
                stop: Stop {
                    tolerance: Tolerance { relative, velocity: f64::INFINITY },
                    work: Some(20000),
                    history: false,
                    deadline: None,
                },
                ..Settings::default()
            };
            let mut solution = Solution::zero(0, reduced.rows());
            let report = signorini::solve::ReducedSolver::solve_reduced(&mut Psor::new(settings), &reduced, &mut solution).unwrap();
            let siconos = signorini::problem::literature::of_reduced(&reduced, &solution.r).siconos;
            line =
                format!("{:?} {} siconos {siconos:.1e} rel {:.1e} {:?}", report.status, report.work, report.error.relative(), report.notes);
            if siconos <= 1e-8 || report.work >= 20000 {
                break;
            }
        }
        println!("{name:36} {line}");
    }
}

/// Best and median seconds per sweep.
fn seconds_per_sweep(problem: &Problem, accelerated: bool, threads: usize, sweeps: u64) -> (f64, f64, Vec<f64>) {
    let acceleration = if accelerated { Acceleration::Auto } else { Acceleration::None };
    let stop = Stop { tolerance: Tolerance { relative: 0.0, velocity: 0.0 }, work: Some(sweeps), history: true, deadline: None };
    let settings = Settings { acceleration, stop, ..Settings::default() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let mut solution = Solution::zero(problem.n(), problem.rows());
    let report = pool.install(|| Psor::new(settings).solve(problem, &mut solution)).unwrap();
    let mut times: Vec<f64> = report.history.windows(2).skip(2).map(|w| w[1].wall - w[0].wall).collect();
    times.sort_by(f64::total_cmp);
    (times[0], times[times.len() / 2], solution.r)
}

fn triad(bytes: usize) -> f64 {
    let n = bytes / 24;
    let (b, c) = (vec![1.0f64; n], vec![2.0f64; n]);
    let mut a = vec![0.0f64; n];
    let mut best = f64::INFINITY;
    for round in 0..200 {
        let begin = std::time::Instant::now();
        let s = 1.0 + round as f64;
        for i in 0..n {
            a[i] = b[i] + s * c[i];
        }
        std::hint::black_box(&mut a);
        best = best.min(begin.elapsed().as_secs_f64());
    }
    best
}

fn speed(_arguments: &Arguments) {
    for n in [1000, 5000, 10000, 17000, 100000] {
        let problem = packing(n, 1);
        let contacts = problem.laws.len();
        let sweeps = (4_000_000 / n as u64).clamp(60, 1000);
        let (best, median, _) = seconds_per_sweep(&problem, false, 1, sweeps);
        let (best2, _, _) = seconds_per_sweep(&problem, false, 2, sweeps);
        let (accelerated, _, _) = seconds_per_sweep(&problem, true, 1, sweeps);
        let t = triad(contacts * 368);
        let per = 1e9 / contacts as f64;
        println!(
            "{contacts:7} best {:.1} median {:.1} accelerated {:.1} triad {:.1} ratio {:.2} two threads {:.2}",
            best * per,
            median * per,
            accelerated * per,
            t * per,
            best / t,
            best / best2
        );
    }
}
