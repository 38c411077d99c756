//! `signorini bench step`: where the time of a step goes, on scenes that have settled.

use clap::Args;
use serde_json::{Value as Json, json};
use signorini::scene::State;
use signorini::step::{Settings, Stages, Stepper};
use signorini_files::Overrides;
use signorini_files::builtin;
use std::process::ExitCode;
use std::time::Instant;

/// What to measure.
#[derive(Args)]
pub struct Arguments {
    /// Scenes by name or path, each with the time after which it is measured: name@seconds.
    #[arg(default_values_t = ["balls_1190@2".to_string(), "shaker@1".to_string()])]
    scenes: Vec<String>,
    /// Steps of one measurement.
    #[arg(long, default_value_t = 20)]
    steps: u64,
    /// Measurements of the same steps; the quickest counts.
    #[arg(long, default_value_t = 3)]
    repeats: u32,
    /// Which solver.
    #[arg(long)]
    solver: Option<String>,
    /// How many threads; all cores without this.
    #[arg(long)]
    threads: Option<usize>,
    /// Prints one JSON array.
    #[arg(long)]
    json: bool,
}

/// Measures and prints.
pub fn run(arguments: &Arguments) -> ExitCode {
    let Ok(pool) =
        rayon::ThreadPoolBuilder::new().num_threads(arguments.threads.unwrap_or(0)).build()
    else {
        eprintln!("error: cannot start threads");
        return ExitCode::FAILURE;
    };
    let mut rows = Vec::new();
    for scene in &arguments.scenes {
        match pool.install(|| measure(scene, arguments)) {
            Ok(row) => rows.push(row),
            Err(message) => {
                eprintln!("{message}");
                return ExitCode::FAILURE;
            }
        }
    }
    if arguments.json {
        println!("{:#}", Json::Array(rows));
    } else {
        println!(
            "scene                   bodies contacts   rows  collide assemble    solve  advance  \
                [ms]  steps/s  worst error  hash"
        );
        rows.iter().for_each(print);
    }
    ExitCode::SUCCESS
}

/// Brings a scene to its time, keeps the state, and measures from there.
fn measure(scene: &str, arguments: &Arguments) -> Result<Json, String> {
    let (name, warm) = scene.split_once('@').unwrap_or((scene, "0"));
    let warm: f64 = warm.parse().map_err(|_| format!("error: `{warm}` is no number of seconds"))?;
    let loaded = builtin::find(name, &[])?;
    let over = Overrides { solver: arguments.solver.clone(), ..Overrides::default() };
    let settings: Settings = loaded.settings(&over)?;
    let mut stepper = Stepper::new(&loaded.scene, settings.clone()).map_err(|e| e.to_string())?;
    stepper.clock = Some({
        let begun = Instant::now();
        Box::new(move || begun.elapsed().as_secs_f64())
    });
    let mut start = State::initial(&loaded.scene);
    for _ in 0..(warm / settings.h).round() as u64 {
        stepper.step(&loaded.scene, &mut start).map_err(|e| e.to_string())?;
    }
    let mut best: Option<(f64, Json)> = None;
    for _ in 0..arguments.repeats.max(1) {
        let mut state = start.clone();
        stepper.stages = Stages::default();
        let (mut contacts, mut rows, mut worst, mut accepted) = (0, 0, 0.0f64, 0);
        let begun = Instant::now();
        for _ in 0..arguments.steps {
            let verdict = stepper.step(&loaded.scene, &mut state).map_err(|e| e.to_string())?;
            contacts += verdict.contacts;
            rows += verdict.rows;
            worst = worst.max(verdict.error.relative());
            accepted += u64::from(verdict.accepted);
        }
        let wall = begun.elapsed().as_secs_f64();
        let n = arguments.steps as f64;
        let Stages { collide, assemble, solve, advance } = stepper.stages;
        let row = json!({
            "scene": name, "bodies": loaded.scene.bodies.len(), "contacts": contacts as f64 / n,
            "rows": rows as f64 / n,
            "ms": {"collide": 1e3 * collide / n, "assemble": 1e3 * assemble / n,
            "solve": 1e3 * solve / n, "advance": 1e3 * advance / n},
            "steps_per_s": n / wall, "worst_relative": worst, "accepted": accepted,
            "steps": arguments.steps,
            "memory_mb": memory_mb(), "soft": {"analyses": stepper.schur().analyses,
            "factorizations": stepper.schur().factorizations,
            "factor_numbers": stepper.schur().factor_len()},
            "threads": rayon::current_num_threads(), "hash": format!("{:016x}", state.hash()),
        });
        if best.as_ref().is_none_or(|(quickest, _)| wall < *quickest) {
            best = Some((wall, row));
        }
    }
    Ok(best.map(|(_, row)| row).unwrap_or_default())
}

/// The greatest memory of the process so far, MB, where the system tells it.
pub fn memory_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_ascii_whitespace().nth(1)?.parse::<f64>().ok().map(|kb| kb / 1024.0)
}

fn print(row: &Json) {
    let f = |x: &Json| x.as_f64().unwrap_or(0.0);
    let ms = &row["ms"];
    println!(
        "{:22} {:7} {:8.0} {:6.0} {:8.2} {:8.2} {:8.2} {:8.2}  {:12.1} {:12.1e}  {}",
        row["scene"].as_str().unwrap_or(""),
        row["bodies"],
        f(&row["contacts"]),
        f(&row["rows"]),
        f(&ms["collide"]),
        f(&ms["assemble"]),
        f(&ms["solve"]),
        f(&ms["advance"]),
        f(&row["steps_per_s"]),
        f(&row["worst_relative"]),
        row["hash"].as_str().unwrap_or(""),
    );
}
