//! `signorini bench scenes`: the same scenes in several engines, in one run on one thread.
//!
//! Engines take turns, round by round; times are medians of the rounds, and computing time of the
//! thread, so that other programs do not count. Overlap, speed at rest and error are computed from
//! positions and velocities by the same code for every engine.

pub(crate) mod catalogue;
mod ours;
mod run;

use crate::engines::{Missing, Run, Task, python, rapier};
use catalogue::{BenchScene, CATALOGUE, Fact};
use clap::Args;
use serde_json::{Value as Json, json};
use std::process::ExitCode;

/// Engines that Python knows.
const PYTHON: [&str; 3] = ["mujoco:newton", "mujoco:cg", "bullet"];

/// What to measure.
#[derive(Args)]
pub struct Arguments {
    /// Scenes by name, or by the beginning of a name; all without this.
    scenes: Vec<String>,
    /// Rounds; the median counts.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Seconds of one run at most; what is done by then counts.
    #[arg(long, default_value_t = 10.0)]
    budget: f64,
    /// Our own engine alone.
    #[arg(long)]
    ours: bool,
    /// Our own engine at one preset alone: exact, engineering or fast.
    #[arg(long, value_name = "NAME", value_parser = ours::PRESETS)]
    preset: Option<String>,
    /// The Python in which MuJoCo and Bullet are looked for.
    #[arg(long, default_value = "python3")]
    python: String,
    /// Prints one JSON array.
    #[arg(long)]
    json: bool,
}

/// Measures and prints.
pub fn run(arguments: &Arguments) -> ExitCode {
    let chosen = |name: &str| {
        arguments.scenes.is_empty() || arguments.scenes.iter().any(|s| name.starts_with(s.as_str()))
    };
    let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(1).build() else {
        eprintln!("error: cannot start threads");
        return ExitCode::FAILURE;
    };
    let mut rows = Vec::new();
    if !arguments.json {
        println!("{HEADER}");
    }
    for (name, make) in CATALOGUE.iter().filter(|(name, _)| chosen(name)) {
        let part = pool.install(|| measure(&make(name), arguments));
        if !arguments.json {
            part.iter().for_each(print);
        }
        rows.extend(part);
    }
    if rows.is_empty() {
        eprintln!("error: no such scene; there are {}", CATALOGUE.map(|(name, _)| name).join(", "));
        return ExitCode::FAILURE;
    }
    if arguments.json {
        println!("{:#}", Json::Array(rows));
    }
    ExitCode::SUCCESS
}

/// One scene: a row for each engine.
fn measure(bench: &BenchScene, arguments: &Arguments) -> Vec<Json> {
    let mut engines: Vec<Vec<Run>> = Vec::new();
    let mut python = !arguments.ours;
    let task = Task {
        scene: &bench.scene,
        h: bench.h,
        steps: bench.steps,
        samples: run::SAMPLES,
        budget: arguments.budget,
        rebound_speed: 0.0,
    };
    for _ in 0..arguments.rounds.max(1) {
        let mut round = Vec::new();
        let wanted = |preset: &&str| arguments.preset.as_deref().is_none_or(|p| p == *preset);
        for preset in ours::PRESETS.into_iter().filter(wanted) {
            round.push(ours::run(bench, preset, arguments.budget));
        }
        if !arguments.ours {
            round.extend(rapier::run(&task, None));
        }
        if python {
            match python::runs(&arguments.python, std::slice::from_ref(&task), &PYTHON) {
                Ok(found) => {
                    for found in found {
                        round.extend(found.runs.into_iter().map(Ok));
                        let why = |m: Missing| Err(format!("{}: {}", m.engine, m.reason));
                        round.extend(found.missing.into_iter().map(why));
                    }
                }
                Err(message) => {
                    eprintln!("{}: {message}", bench.name);
                    python = false;
                }
            }
        }
        for run in round {
            match run {
                Ok(run) => match engines.iter_mut().find(|runs| runs[0].engine == run.engine) {
                    Some(runs) => runs.push(run),
                    None => engines.push(vec![run]),
                },
                Err(message) => eprintln!("{}: {message}", bench.name),
            }
        }
    }
    let peer = |runs: &Vec<Run>| !runs[0].engine.starts_with("signorini");
    let best = engines.iter().filter(|runs| peer(runs)).map(|runs| median(runs)).reduce(f64::min);
    let rapier = engines.iter().find(|runs| runs[0].engine == "rapier").map(|runs| median(runs));
    engines.iter().map(|runs| row(bench, runs, rapier, best)).collect()
}

/// Microseconds per step: the median of the rounds.
fn median(runs: &[Run]) -> f64 {
    let mut times: Vec<f64> = runs.iter().map(|run| 1e6 * run.seconds / run.steps as f64).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn row(bench: &BenchScene, runs: &[Run], rapier: Option<f64>, best: Option<f64>) -> Json {
    let run = &runs[0];
    let (us, figures) = (median(runs), run.figures(bench));
    let kind = match bench.fact {
        Fact::Energy => Some("energy"),
        Fact::Rest | Fact::Slide(_) => Some("m"),
        Fact::Unknown => None,
    };
    json!({
        "scene": bench.name, "engine": run.engine, "us_per_step": us,
        "us_per_contact": (run.contacts > 0.0).then(|| us / run.contacts),
        "contacts": run.contacts, "overlap": figures.overlap, "rest_speed": figures.rest_speed,
        "error": figures.error, "error_of": kind, "steps": run.steps, "asked": bench.steps,
        "not_accepted": run.not_accepted, "over_rapier": rapier.map(|other| us / other),
        "over_best_peer": best.map(|other| us / other),
    })
}

const HEADER: &str = "scene              engine                  us/step us/contact  overlap m \
    speed m/s       error      steps  refused  / rapier  / best";

fn print(row: &Json) {
    let text = |key: &str| row[key].as_str().unwrap_or("").to_string();
    let number = |key: &str, digits: usize| {
        row[key].as_f64().map_or("-".to_string(), |x| format!("{x:.digits$}"))
    };
    let power = |key: &str| row[key].as_f64().map_or("-".to_string(), |x| format!("{x:.1e}"));
    println!(
        "{:18} {:22} {:>8} {:>10} {:>10} {:>9} {:>8} {:3} {:>6} {:>8} {:>9} {:>7}",
        text("scene"),
        text("engine"),
        number("us_per_step", 2),
        number("us_per_contact", 2),
        power("overlap"),
        power("rest_speed"),
        power("error"),
        text("error_of").chars().take(3).collect::<String>(),
        row["steps"],
        row["not_accepted"].as_u64().map_or("-".into(), |n| n.to_string()),
        number("over_rapier", 2),
        number("over_best_peer", 2),
    );
}
