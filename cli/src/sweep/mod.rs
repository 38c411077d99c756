//! `signorini sweep SCENE --grid mu=0.1:1:64 --out DIR`: many runs of one scene with different
//! parameters.
//!
//! What is done is kept ([`task`]): an interrupted sweep goes on with `--resume`, and `--task K`
//! runs one of them alone, for arrays of jobs (Slurm, HyperQueue). Results do not depend on where,
//! when and beside what a run was computed.

pub mod npz;
pub mod samples;
pub mod task;

use crate::builtin;
use crate::run::folder::{Lock, Taken};
use crate::run::tables::field;
use crate::run::{self, Options};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rayon::prelude::*;
use samples::Sample;
use serde_json::{Value as Json, json};
use signorini::Simulation;
use signorini::whole::write_whole;
use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use task::{Row, Task, Unfinished, drive};

/// What to vary, what to measure, and where to keep it.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// A scene file, a robot file, or the name of a built-in scene.
    pub scene: String,
    /// Values of a parameter: NAME=FROM:TO:COUNT or NAME=VALUE,VALUE,…; several make every
    /// combination.
    #[arg(long, value_name = "NAME=VALUES", value_parser = samples::axis)]
    pub grid: Vec<(String, Vec<Json>)>,
    /// A Latin hypercube of --samples runs: NAME=FROM:TO. May be given several times.
    #[arg(long, value_name = "NAME=FROM:TO", value_parser = samples::range,
    conflicts_with_all = ["grid", "random"])]
    pub latin: Vec<samples::Range>,
    /// --samples random runs: NAME=FROM:TO or NAME=normal(MEAN,DEVIATION). May be given several
    /// times.
    #[arg(long, value_name = "NAME=SPREAD", value_parser = samples::range,
    conflicts_with_all = ["grid", "latin"])]
    pub random: Vec<samples::Range>,
    /// How many runs --latin or --random makes.
    #[arg(long, value_name = "N")]
    pub samples: Option<usize>,
    /// The seed of --latin and --random; the same seed gives the same samples.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// A figure at the end of each run: body.NAME.position.x, joint.NAME.angle, energy.friction, …
    /// May be given several times.
    #[arg(long, value_name = "FIGURE")]
    pub measure: Vec<String>,
    /// The folder that keeps what is done: manifest.jsonl, table.csv, runs/.
    #[arg(long)]
    pub out: PathBuf,
    /// Runs number K alone, from 0: for arrays of jobs. The last word (all rows in one table) is
    /// `--resume` afterwards.
    #[arg(long, value_name = "K", conflicts_with = "count")]
    pub task: Option<usize>,
    /// Goes on with what is missing in the folder.
    #[arg(long)]
    pub resume: bool,
    /// Runs that failed are tried again (with --resume or --task).
    #[arg(long)]
    pub retry: bool,
    /// Prints how many runs there are, and nothing else.
    #[arg(long)]
    pub count: bool,
    /// Wall time between checkpoints of a run, s.
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0)]
    pub checkpoint: f64,
    /// How every run is done.
    #[command(flatten)]
    pub how: How,
}

/// How every run of a sweep is done.
#[derive(Args, Clone, Debug, Default)]
pub struct How {
    /// Which solver; `auto` picks per island.
    #[arg(long)]
    pub solver: Option<String>,
    /// Which friction law.
    #[arg(long, value_enum)]
    pub law: Option<run::Law>,
    /// Length of a step: seconds, or with a unit ("2 ms").
    #[arg(long, value_parser = run::time)]
    pub dt: Option<f64>,
    /// Largest error of a position in one step: metres, or with a unit.
    #[arg(long, value_parser = run::length)]
    pub accuracy: Option<f64>,
    /// When to end: seconds, or with a unit.
    #[arg(long, value_parser = run::time)]
    pub t_end: Option<f64>,
    /// A value for a parameter in all runs: name=value. May be given several times.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// How many runs at once; as many as there are cores without this.
    #[arg(long)]
    pub threads: Option<usize>,
    /// Prints all rows as JSON lines.
    #[arg(long)]
    pub json: bool,
}

impl How {
    fn options(&self, set: Vec<String>) -> Options {
        let How { solver, law, dt, accuracy, t_end, .. } = self.clone();
        Options { solver, law, dt, accuracy, t_end, set, ..Options::default() }
    }

    /// What a row depends on beside the scene and the parameters.
    fn identity(&self) -> Json {
        json!([self.solver, self.law, self.dt, self.accuracy, self.t_end, self.set])
    }
}

const WRONG_INPUT: u8 = 2;
const INTERRUPTED: u8 = 130;

/// Runs a sweep, or what is missing of it.
pub fn run(arguments: &Arguments) -> ExitCode {
    match sweep(arguments) {
        Ok(code) => code,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(WRONG_INPUT)
        }
    }
}

fn sweep(arguments: &Arguments) -> Result<ExitCode, String> {
    let samples = samples_of(arguments)?;
    if arguments.count {
        println!("{}", samples.len());
        return Ok(ExitCode::SUCCESS);
    }
    let tasks = tasks(arguments, samples);
    let folder = &arguments.out;
    std::fs::create_dir_all(folder.join("runs"))
        .map_err(|e| format!("cannot write into {}: {e}", folder.display()))?;
    if let Some(k) = arguments.task {
        let count = tasks.len();
        let task = tasks
            .get(k)
            .ok_or_else(|| format!("--task {k}: there are {count} runs, numbered from 0"))?;
        return single(arguments, task);
    }
    let _lock = Lock::take(folder).map_err(|why| match why {
        Taken::Busy(who) => format!(
            "another sweep{who} writes into {}: wait for its end, or choose another folder",
            folder.display()
        ),
        Taken::Unwritable(why) => format!("cannot write into {}: {why}", folder.display()),
    })?;
    let manifest = folder.join("manifest.jsonl");
    if manifest.exists() && !arguments.resume {
        return Err(format!(
            "{} holds a sweep: add --resume to compute what is missing, or choose another folder",
            folder.display()
        ));
    }
    all(arguments, &tasks, &manifest)
}

/// The samples that the command line asks for.
fn samples_of(arguments: &Arguments) -> Result<Vec<Sample>, String> {
    let Arguments { grid, latin, random, samples, seed, .. } = arguments;
    let count = || samples.ok_or("--latin and --random want --samples N".to_string());
    match (grid.is_empty(), latin.is_empty(), random.is_empty()) {
        (false, ..) => samples::grid(grid),
        (_, false, _) => samples::latin_hypercube(latin, count()?, *seed),
        (_, _, false) => samples::monte_carlo(random, count()?, *seed),
        _ => Err("wanted --grid NAME=FROM:TO:COUNT, --latin NAME=FROM:TO or --random NAME=FROM:TO"
            .into()),
    }
}

fn tasks(arguments: &Arguments, samples: Vec<Sample>) -> Vec<Task> {
    let identity =
        json!([scene_text(&arguments.scene), arguments.how.identity(), arguments.measure])
            .to_string();
    let task = |params: Sample| Task {
        key: key(&format!("{identity}{}", Json::Object(params.clone()))),
        params,
        // Known when the scene is read.
        t_end: 0.0,
        measure: arguments.measure.clone(),
        folder: Some(arguments.out.clone()),
        checkpoint: arguments.checkpoint,
    };
    samples.into_iter().map(task).collect()
}

/// The text of a scene file, so that a changed file is another sweep; the name of a built-in scene.
fn scene_text(scene: &str) -> String {
    std::fs::read(scene)
        .map_or_else(|_| scene.to_string(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// FNV-1a: what a run is called by everything that it depends on.
pub fn key(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, b| {
        (hash ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// The simulation of one sample.
fn begin(arguments: &Arguments, task: &Task) -> Result<(Simulation, f64), String> {
    let mut set = arguments.how.set.clone();
    set.extend(task.params.iter().map(|(name, value)| match value {
        Json::String(text) => format!("{name}={text}"),
        number => format!("{name}={number}"),
    }));
    let options = arguments.how.options(set);
    let mut loaded = builtin::find(&arguments.scene, &options.set)
        .map_err(|e| e.trim_start_matches("error: ").to_string())?;
    loaded.dt = options.dt.unwrap_or(loaded.dt);
    loaded.t_end = options.t_end.unwrap_or(loaded.t_end);
    let settings = run::settings(&loaded, &options)?;
    let sim = Simulation::new(loaded.scene, settings).map_err(|e| e.to_string())?;
    Ok((sim, loaded.t_end))
}

/// The row of a task: the one that is there, or a new one. None if it was stopped.
fn row(arguments: &Arguments, task: &Task, stop: &AtomicBool) -> Result<Option<Row>, String> {
    let kept = |row: &Row| row.status == "done" || !arguments.retry;
    if let Some(row) = Row::read(&arguments.out, &task.key).filter(kept) {
        return Ok(Some(row));
    }
    let row = match begin(arguments, task) {
        Err(why) => Row::failed(&task.key, &task.params, &why),
        Ok((mut sim, t_end)) => match drive(&mut sim, &Task { t_end, ..task.clone() }, &mut || {
            !stop.load(Ordering::SeqCst)
        }) {
            Ok(row) => row,
            Err(Unfinished::Stopped) => return Ok(None),
            Err(Unfinished::Disk(why)) => return Err(why),
        },
    };
    row.write(&arguments.out)?;
    Ok(Some(row))
}

/// A second signal does not wait for the end of the step.
fn stopper() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    // A second handler in one process is refused: then the first one serves, or nobody does.
    let _ = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::SeqCst) {
            std::process::exit(INTERRUPTED.into());
        }
    });
    stop
}

fn single(arguments: &Arguments, task: &Task) -> Result<ExitCode, String> {
    let Some(row) = row(arguments, task, &stopper())? else {
        eprintln!("interrupted; the same command goes on where it stands");
        return Ok(ExitCode::from(INTERRUPTED));
    };
    println!("{}", serde_json::to_string(&row).map_err(|e| e.to_string())?);
    Ok(if row.status == "done" { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// All tasks, beside each other; every row goes into the manifest when it is there.
fn all(arguments: &Arguments, tasks: &[Task], manifest: &Path) -> Result<ExitCode, String> {
    let known = known(manifest, arguments.retry);
    let disk = |e: std::io::Error| format!("cannot write {}: {e}", manifest.display());
    end_line(manifest).map_err(disk)?;
    let file =
        Mutex::new(OpenOptions::new().create(true).append(true).open(manifest).map_err(disk)?);
    let missing: Vec<&Task> = tasks.iter().filter(|task| !known.contains_key(&task.key)).collect();
    let stop = stopper();
    let bar = bar(missing.len() as u64);
    let one = |task: &&Task| -> Result<Option<Row>, String> {
        if stop.load(Ordering::SeqCst) {
            return Ok(None);
        }
        let Some(row) = row(arguments, task, &stop)? else { return Ok(None) };
        let line = serde_json::to_string(&row).map_err(|e| e.to_string())? + "\n";
        file.lock().unwrap_or_else(|e| e.into_inner()).write_all(line.as_bytes()).map_err(disk)?;
        bar.inc(1);
        Ok(Some(row))
    };
    let threads = arguments.how.threads.unwrap_or(0);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| format!("threads: {e}"))?;
    let found: Vec<Option<Row>> =
        pool.install(|| missing.par_iter().map(one).collect::<Result<_, _>>())?;
    bar.finish_and_clear();
    let mut rows = known;
    rows.extend(found.into_iter().flatten().map(|row| (row.key.clone(), row)));
    let rows: Vec<&Row> = tasks.iter().filter_map(|task| rows.get(&task.key)).collect();
    say(arguments, &rows, tasks.len())
}

fn bar(runs: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(runs), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs  {eta} left");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Writes the table, prints it, and chooses the exit code.
fn say(arguments: &Arguments, rows: &[&Row], tasks: usize) -> Result<ExitCode, String> {
    let table = table(rows);
    let path = arguments.out.join("table.csv");
    write_whole(&path, table.as_bytes())
        .map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    if arguments.how.json {
        for row in rows {
            println!("{}", serde_json::to_string(row).map_err(|e| e.to_string())?);
        }
    }
    let failed = rows.iter().filter(|row| row.status != "done").count();
    let wrong = rows.iter().filter(|row| row.not_accepted > 0).count();
    let worst = rows.iter().filter_map(|row| Some((row.error_joule?, row.culprit.as_deref()?)));
    let worst = worst
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map_or(String::new(), |(joule, who)| format!("  worst step {joule:.1e} J ({who})"));
    eprintln!(
        "{} of {tasks} runs done, {failed} failed, {wrong} with steps not accepted{worst}  {}",
        rows.len() - failed,
        path.display()
    );
    for row in rows.iter().filter(|row| row.status != "done").take(5) {
        eprintln!("failed: {}: {}", Json::Object(row.params.clone()), row.message);
    }
    if rows.len() < tasks {
        eprintln!("interrupted; the same command with --resume goes on");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    Ok(if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// All rows as CSV: parameters, figures, verdict.
pub fn table(rows: &[&Row]) -> String {
    let mut columns: Vec<(bool, String, usize)> = Vec::new();
    for row in rows {
        for (of_values, map) in [(false, &row.params), (true, &row.values)] {
            for (name, value) in map {
                let size = value.as_array().map_or(0, Vec::len);
                if !columns.iter().any(|c| c.0 == of_values && c.1 == *name) {
                    columns.push((of_values, name.clone(), size));
                }
            }
        }
    }
    columns.sort_by_key(|c| c.0);
    let mut out = String::new();
    for (_, name, size) in &columns {
        match size {
            0 => out += &format!("{},", field(name)),
            n => (0..*n).for_each(|i| out += &format!("{},", field(&format!("{name}.{i}")))),
        }
    }
    out += "status,steps,not_accepted,error_J,culprit,message\n";
    for row in rows {
        for (of_values, name, size) in &columns {
            let value = if *of_values { row.values.get(name) } else { row.params.get(name) };
            match (size, value) {
                (0, value) => out += &format!("{},", value.map_or(String::new(), cell)),
                (n, value) => (0..*n).for_each(|i| {
                    out += &format!("{},", value.map_or(String::new(), |v| cell(&v[i])))
                }),
            }
        }
        let error = row.error_joule.map_or(String::new(), |x| format!("{x:e}"));
        let culprit = row.culprit.as_deref().map_or(String::new(), field);
        out += &format!(
            "{},{},{},{error},{culprit},{}\n",
            row.status,
            row.steps,
            row.not_accepted,
            field(&row.message)
        );
    }
    out
}

fn cell(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => field(text),
        other => other.to_string(),
    }
}

/// The rows of a manifest by key; a last line that was cut short does not count.
fn known(manifest: &Path, retry: bool) -> HashMap<String, Row> {
    let Ok(file) = std::fs::File::open(manifest) else { return HashMap::new() };
    let lines = BufReader::new(file).lines().map_while(Result::ok);
    let rows = lines.filter_map(|line| serde_json::from_str::<Row>(&line).ok());
    rows.filter(|row| row.status == "done" || !retry).map(|row| (row.key.clone(), row)).collect()
}

/// Ends a last line that was cut short.
fn end_line(manifest: &Path) -> std::io::Result<()> {
    let bytes = std::fs::read(manifest).unwrap_or_default();
    if bytes.last().is_some_and(|b| *b != b'\n') {
        OpenOptions::new().append(true).open(manifest)?.write_all(b"\n")?;
    }
    Ok(())
}
