//! `signorini bench auto`: `auto` beside the best single method, step by step.
//!
//! The scenes of `bench scenes` and scene files are run; steps spread over each run are kept with
//! the guess from which they were solved. Every method solves each of them again, from the same
//! guess and to the same tolerance. The ratio is the computing time of `auto` over that of the
//! quickest method that was accepted.

use crate::peers::Clock;
use crate::scenes::catalogue::CATALOGUE;
use clap::Args;
use serde_json::{Value as Json, json};
use signorini::problem::{Problem, Solution};
use signorini::scene::{Scene, State};
use signorini::solve::{Method, StoppingCriteria};
use signorini::step::{Settings, Stepper};
use std::process::ExitCode;
use std::time::Instant;

/// What to measure.
#[derive(Args)]
pub struct Arguments {
    /// Scenes of `bench scenes` by name or its beginning, or scene files; all of the former without
    /// this.
    scenes: Vec<String>,
    /// Steps that are kept of each scene.
    #[arg(long, default_value_t = 16)]
    steps: usize,
    /// Seconds of one run at most; steps are kept of what is done by then.
    #[arg(long, default_value_t = 10.0)]
    budget: f64,
    /// Most sweeps of `psor`.
    #[arg(long, default_value_t = 20_000)]
    sweeps: u64,
    /// Prints every step.
    #[arg(long)]
    verbose: bool,
    /// Prints one JSON array, an object for each step.
    #[arg(long)]
    json: bool,
}

/// A step: what was solved and from where.
struct Kept {
    index: u64,
    problem: Problem,
    guess: Solution,
}

/// What one method made of a step.
struct Solved {
    method: Method,
    seconds: f64,
    accepted: bool,
}

/// Beyond this many rows `pivot` takes minutes where the others take milliseconds.
const MAX_ROWS_OF_PIVOT: usize = 600;

/// The methods that stand alone.
const SINGLE_METHODS: [Method; 5] =
    [Method::Direct, Method::Pivot, Method::Newton, Method::InteriorPoint, Method::Psor];

/// Measures and prints.
pub fn run(arguments: &Arguments) -> ExitCode {
    let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(1).build() else {
        eprintln!("error: cannot start threads");
        return ExitCode::FAILURE;
    };
    let scenes = match scenes(&arguments.scenes) {
        Ok(scenes) => scenes,
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::FAILURE;
        }
    };
    let mut rows: Vec<Json> = Vec::new();
    let mut all = Vec::new();
    if !arguments.json {
        println!(
            "scene               steps  rows   auto/best: mean   worst  step   best   auto solves"
        );
    }
    for (name, scene, settings, steps) in &scenes {
        let part = pool.install(|| -> Result<Vec<Json>, String> {
            let kept = keep(scene, settings.clone(), *steps, arguments)?;
            Ok(kept.iter().map(|k| measure(name, k, settings.stop, arguments)).collect())
        });
        match part {
            Err(message) => eprintln!("{name}: {message}"),
            Ok(part) => {
                if !arguments.json {
                    print(name, &part, arguments.verbose);
                }
                all.extend(part.iter().filter_map(|row| row["ratio"].as_f64()));
                rows.extend(part);
            }
        }
    }
    if arguments.json {
        println!("{:#}", Json::Array(rows));
    } else {
        let solved = |key: &str| rows.iter().filter(|row| row[key] == true).count();
        println!(
            "\n{} steps with rows; auto solves {}, any method {}; auto over the best: {:.2} in the \
             geometric mean, {:.2} at most",
            rows.len(),
            solved("auto_accepted"),
            solved("any_accepted"),
            mean(&all),
            all.iter().copied().fold(0.0, f64::max),
        );
        let part = |limit: f64| {
            100.0 * all.iter().filter(|x| **x <= limit).count() as f64 / all.len().max(1) as f64
        };
        let profile: Vec<String> = [1.05, 1.2, 1.5, 2.0, 3.0, 5.0]
            .iter()
            .map(|&x| format!("{x} x: {:.0} %", part(x)))
            .collect();
        println!("profile, steps in which auto is within {}", profile.join(", "));
    }
    ExitCode::SUCCESS
}

type Ready = (String, Scene, Settings, usize);

fn scenes(wanted: &[String]) -> Result<Vec<Ready>, String> {
    let mut out = Vec::new();
    let named = |name: &str| {
        wanted.is_empty() || wanted.iter().any(|w| !w.contains('.') && name.starts_with(w.as_str()))
    };
    for (name, make) in CATALOGUE.iter().filter(|(name, _)| named(name)) {
        let bench = make(name);
        let settings = Settings::with_time_step(bench.h);
        out.push((name.to_string(), bench.scene, settings, bench.steps as usize));
    }
    for path in wanted.iter().filter(|w| w.contains('.')) {
        let loaded = signorini::Simulation::load(path).map_err(|e| e.to_string())?;
        let settings = loaded.settings().clone();
        let steps = (loaded.end_time().unwrap_or(1.0) / settings.h).round() as usize;
        let name = std::path::Path::new(path)
            .file_stem()
            .map_or(path.clone(), |stem| stem.to_string_lossy().into_owned());
        out.push((name, loaded.scene().clone(), settings, steps));
    }
    match out.is_empty() {
        true => Err(format!("no such scene; there are {}", CATALOGUE.map(|(n, _)| n).join(", "))),
        false => Ok(out),
    }
}

/// Steps spread over the run that have rows.
fn keep(
    scene: &Scene,
    settings: Settings,
    steps: usize,
    arguments: &Arguments,
) -> Result<Vec<Kept>, String> {
    let mut stepper = Stepper::new(scene, settings).map_err(|e| e.to_string())?;
    let mut state = State::initial(scene);
    let mut kept: Vec<Kept> = Vec::new();
    let mut every = steps.div_ceil(8 * arguments.steps).max(1) as u64;
    let clock = Clock::start();
    for index in 0..steps as u64 {
        if clock.seconds() > arguments.budget {
            break;
        }
        stepper.step(scene, &mut state).map_err(|e| e.to_string())?;
        if index % every != every - 1 {
            continue;
        }
        let (problem, _) = stepper.posed();
        if problem.rows() > 0 {
            let problem = problem.clone();
            let guess = guess(&stepper, &problem);
            kept.push(Kept { index, problem, guess });
        }
        // Every second one stays, and from now on every second one is kept.
        if kept.len() > 4 * arguments.steps {
            let mut odd = true;
            kept.retain(|_| {
                odd = !odd;
                odd
            });
            every *= 2;
        }
    }
    let count = kept.len();
    let wanted = arguments.steps.min(count);
    let chosen: Vec<usize> = (0..wanted).map(|i| i * count / wanted.max(1)).collect();
    let mut at = 0;
    kept.retain(|_| {
        at += 1;
        chosen.contains(&(at - 1))
    });
    Ok(kept)
}

/// The guess of the step in the rows of the problem that was posed.
fn guess(stepper: &Stepper, problem: &Problem) -> Solution {
    let whole = &stepper.assembly().problem.J;
    let mut guess = Solution { v: vec![0.0; problem.n()], r: vec![0.0; problem.rows()] };
    for (k, &block) in stepper.posed_blocks().iter().enumerate() {
        let (to, from) = (problem.J.block(k).range(), whole.block(block as usize).range());
        if to.len() == from.len() {
            guess.r[to].copy_from_slice(&stepper.guess().r[from]);
        }
    }
    guess
}

fn measure(name: &str, kept: &Kept, stop: StoppingCriteria, arguments: &Arguments) -> Json {
    let mut solved: Vec<Solved> = Vec::new();
    let pays = |m: &Method| *m != Method::Pivot || kept.problem.rows() <= MAX_ROWS_OF_PIVOT;
    for method in SINGLE_METHODS.into_iter().filter(pays).chain([Method::Auto]) {
        let work = (method == Method::Psor).then_some(arguments.sweeps);
        let mut solver = method.build(StoppingCriteria { work: work.or(stop.work), ..stop });
        // The first solve finds its memory; the least time of the others counts.
        let mut best = f64::INFINITY;
        let mut accepted = false;
        let mut spent = 0.0;
        for round in 0..20 {
            let mut solution = kept.guess.clone();
            let begun = Instant::now();
            let Ok(report) = solver.solve(&kept.problem, &mut solution) else { break };
            let seconds = begun.elapsed().as_secs_f64();
            spent += seconds;
            accepted = report.error.accepted(&stop.tolerance);
            if round > 0 || seconds > 0.02 {
                best = best.min(seconds);
            }
            if spent > 0.02 {
                break;
            }
        }
        if best.is_finite() {
            solved.push(Solved { method, seconds: best, accepted });
        }
    }
    let auto = solved.iter().find(|s| s.method == Method::Auto);
    let best = solved
        .iter()
        .filter(|s| s.method != Method::Auto && s.accepted)
        .min_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let ratio = match (auto, best) {
        (Some(auto), Some(best)) if auto.accepted => Some(auto.seconds / best.seconds),
        _ => None,
    };
    let times: serde_json::Map<String, Json> = solved
        .iter()
        .map(|s| {
            let seconds = s.accepted.then_some(1e6 * s.seconds);
            (s.method.name().to_string(), json!({ "us": 1e6 * s.seconds, "accepted_us": seconds }))
        })
        .collect();
    json!({
        "scene": name, "step": kept.index, "rows": kept.problem.rows(), "ratio": ratio,
        "best": best.map(|b| b.method.name()),
        "auto_accepted": auto.is_some_and(|a| a.accepted),
        "any_accepted": best.is_some(), "methods": times,
    })
}

/// The geometric mean.
fn mean(values: &[f64]) -> f64 {
    (values.iter().map(|x| x.ln()).sum::<f64>() / values.len().max(1) as f64).exp()
}

fn print(name: &str, part: &[Json], verbose: bool) {
    if verbose {
        for row in part {
            let times: Vec<String> = row["methods"].as_object().map_or(Vec::new(), |methods| {
                let time = |(name, m): (&String, &Json)| {
                    let failed = if m["accepted_us"].is_null() { "!" } else { "" };
                    format!("{name} {:.1}{failed}", m["us"].as_f64().unwrap_or(f64::NAN))
                };
                methods.iter().map(time).collect()
            });
            println!("  step {:>6} rows {:>5}  {}", row["step"], row["rows"], times.join("  "));
        }
    }
    let ratios: Vec<f64> = part.iter().filter_map(|row| row["ratio"].as_f64()).collect();
    let worst = part.iter().max_by(|a, b| {
        a["ratio"].as_f64().unwrap_or(0.0).total_cmp(&b["ratio"].as_f64().unwrap_or(0.0))
    });
    let solved = part.iter().filter(|row| row["auto_accepted"] == true).count();
    println!(
        "{name:18} {:>6} {:>5} {:>17.2} {:>7.2} {:>5} {:>14} {:>4} of {}",
        part.len(),
        part.iter().filter_map(|row| row["rows"].as_u64()).max().unwrap_or(0),
        mean(&ratios),
        ratios.iter().copied().fold(0.0, f64::max),
        worst.map_or(Json::Null, |row| row["step"].clone()),
        worst.and_then(|row| row["best"].as_str()).unwrap_or("-"),
        solved,
        part.len(),
    );
}
