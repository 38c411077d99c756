//! `signorini run SCENE`: simulate, say how wrong every step was, check the facts of the scene,
//! leave tables.

pub mod acceleration;
pub mod checkpoint;
mod choices;
pub mod expectations;
pub mod modes;
pub mod simulation_run;
pub use signorini_record::run::{folder, outputs, recorder as record, summary, tables};

use crate::builtin;
use crate::record::head::About;
use crate::robot_options::RobotOptions;
use crate::scenefile::expression::{Names, evaluate};
use crate::scenefile::unit::{Dimension, Quantity};
use crate::scenefile::{Loaded, format};
use checkpoint::Checkpoint;
pub use choices::{Coordinates, Every, Law, Preset, Scheme, TimeError};
use clap::Args;
use expectations::Outcome;
use folder::{Lock, Taken};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::{Deserialize, Serialize};
use signorini::assemble::{self, Friction, TimeScheme};
use signorini::scene::State;
use signorini::step::{Clock, Settings, TimeEstimate};
use signorini_files::Overrides;
use simulation_run::{RunError, SimulationRun};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
pub use summary::Ended;
use summary::Summary;

const EXIT_CODES: &str = "Exit codes:
    0  the run is complete, all facts hold, every step is accepted
    1  a fact does not hold, or a step could not be taken
    2  the scene or an argument is wrong
    3  the run is complete and all facts hold, but steps were not accepted: the last lines say why
  130  interrupted";

/// What to run, and how.
#[derive(Args, Clone, Default)]
#[command(after_help = EXIT_CODES)]
pub struct Arguments {
    /// A scene file (TOML, JSON), a robot file (URDF, MJCF), or the name of a built-in scene
    /// (`signorini demo --list`); not needed with --resume.
    #[arg(required_unless_present = "resume")]
    pub scene: Option<String>,
    #[command(flatten)]
    /// How to run it.
    pub options: Options,
}

/// How to run a scene.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Which solver; `auto` picks per island.
    #[arg(long)]
    pub solver: Option<String>,
    /// Which friction law.
    #[arg(long, value_enum)]
    pub law: Option<Law>,
    /// Which time scheme: leapfrog (second order) or euler (first order).
    #[arg(long, value_enum)]
    #[serde(default)]
    pub scheme: Option<Scheme>,
    /// Tolerances that go together, in place of those of the scene: how exact a step must be to be
    /// accepted.
    #[arg(long, value_enum)]
    #[serde(default)]
    pub preset: Option<Preset>,
    /// In which coordinates mechanisms move: those of trees, of bodies, or whatever costs less.
    #[arg(long, value_enum)]
    #[serde(default)]
    pub coordinates: Option<Coordinates>,
    /// Length of a step: seconds, or with a unit ("2 ms").
    #[arg(long, value_parser = time)]
    pub dt: Option<f64>,
    /// Largest error of a position in one step: metres, or with a unit ("0.1 mm"). Steps are then
    /// chosen within --dt.
    #[arg(long, value_parser = length)]
    #[serde(default)]
    pub accuracy: Option<f64>,
    /// The time that a step may take on this machine: seconds, or with a unit ("1 ms"). When it is
    /// over the best iterate so far is taken; runs are then not reproducible.
    #[arg(long, value_parser = time)]
    #[serde(default)]
    pub deadline: Option<f64>,
    /// Order in time of smooth steps: 2, or 4 or 6 by extrapolation of the leapfrog scheme (5 or 9
    /// solves).
    #[arg(long)]
    #[serde(default)]
    pub order: Option<u32>,
    /// How the error of the time step is estimated: free, or by doubling (three solves).
    #[arg(long, value_enum)]
    #[serde(default)]
    pub time_error: Option<TimeError>,
    /// When to end: seconds, or with a unit.
    #[arg(long, value_parser = time)]
    pub t_end: Option<f64>,
    /// Writes run.json, bodies.csv, contacts.csv, motors.csv and record.bin (for `view`, `picture`,
    /// `export`) into this folder.
    #[arg(long)]
    #[serde(skip)]
    pub out: Option<PathBuf>,
    /// Writes one HTML file with a 3D replay and plots: report.html in the folder of --out, else
    /// SCENE.html here.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = ".",
    value_name = "FILE")]
    #[serde(skip)]
    pub report: Option<PathBuf>,
    /// Prints the summary as one JSON object.
    #[arg(long)]
    #[serde(skip)]
    pub json: bool,
    /// How many threads; all cores without this. The result is the same to the bit.
    #[arg(long)]
    #[serde(skip)]
    pub threads: Option<usize>,
    /// Another value for a parameter of the scene: name=value. May be given several times.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Writes reactions.csv too: forces in joints and contacts by name, each marked unique or not.
    #[arg(long)]
    pub reactions: bool,
    /// Writes a checkpoint into the folder of --out every so many steps, or every so much simulated
    /// time ("0.5 s").
    #[arg(long, value_name = "STEPS|TIME", value_parser = every)]
    pub checkpoint_every: Option<Every>,
    /// Goes on with the run that was interrupted in this folder, to the same bits. With SCENE:
    /// begins it if there is none.
    #[arg(long, value_name = "FOLDER")]
    #[serde(skip)]
    pub resume: Option<PathBuf>,
    /// Keeps the N worst steps as step snapshots (`signorini replay`), in the folder of --out.
    #[arg(long, value_name = "N")]
    pub keep_worst: Option<usize>,
    /// Keeps step K as a step snapshot. May be given several times.
    #[arg(long, value_name = "K")]
    pub keep_step: Vec<u64>,
    /// Follows the drivers (motors of position and speed, imposed motions) instead of the laws of
    /// mechanics.
    #[arg(long, conflicts_with_all = ["checkpoint_every", "resume", "keep_worst", "keep_step",
    "reactions"])]
    pub kinematic: bool,
    /// Looks for an equilibrium instead of simulating.
    #[arg(long = "static", conflicts_with_all = ["kinematic", "checkpoint_every", "resume",
    "keep_worst", "keep_step"])]
    #[serde(rename = "static")]
    pub equilibrium: bool,
    /// How a robot file is read.
    #[command(flatten)]
    #[serde(default)]
    pub robot: RobotOptions,
}

/// A run that is over.
pub struct Finished {
    /// All figures.
    pub summary: Summary,
    /// The facts, checked.
    pub outcomes: Vec<Outcome>,
    /// How it ended.
    pub ended: Ended,
    /// The last state.
    pub state: State,
    /// What was recorded, unless it went into a folder.
    pub record: Option<Vec<u8>>,
}

impl Finished {
    /// The object of run.json.
    pub fn to_json(&self, loaded: &Loaded) -> serde_json::Value {
        let facts = self.outcomes.iter().map(|o| o.to_json()).collect();
        self.summary.run_json(&loaded.scene, &about(loaded), &self.ended, facts)
    }
}

/// What a record says of a scene file.
pub(crate) fn about(loaded: &Loaded) -> About<'_> {
    About { about: &loaded.about, dt: loaded.dt, t_end: loaded.t_end, texts: &loaded.texts }
}

impl Options {
    /// Whether the run is recorded.
    pub fn records(&self) -> bool {
        self.out.is_some() || self.report.is_some()
    }
}

/// A wrong argument has this exit code, as everywhere.
const WRONG_INPUT: u8 = 2;
/// Pairs that overlap at the start and are printed; the worst come first.
const OVERLAPS_SHOWN: usize = 3;
/// A run that was stopped (Ctrl-C, SIGTERM, SIGHUP) has this one.
const INTERRUPTED: u8 = 130;

/// Runs a scene by name or path, or goes on with one.
pub fn run(arguments: &Arguments) -> ExitCode {
    let wrong = |message: &str| {
        eprintln!("{message}");
        ExitCode::from(WRONG_INPUT)
    };
    // Held until the run is over: nobody else writes there meanwhile.
    let folder = arguments.options.resume.as_ref().or(arguments.options.out.as_ref());
    let taken = folder
        .filter(|f| arguments.scene.is_some() || f.exists())
        .map(|f| Lock::take(f).map_err(|why| (f, why)));
    let _lock = match taken.transpose() {
        Ok(lock) => lock,
        Err((folder, Taken::Busy(who))) => {
            let place = folder.display();
            return wrong(&format!(
                "error: another run{who} writes into {place}: wait for its end, or choose another \
                    folder"
            ));
        }
        Err((folder, Taken::Unwritable(why))) => {
            return wrong(&format!("error: {}", simulation_run::unwritable(folder, &why)));
        }
    };
    let Some(folder) = &arguments.options.resume else {
        let scene = arguments.scene.as_deref().unwrap_or_default();
        return match builtin::find_robot(
            scene,
            &arguments.options.set,
            arguments.options.robot.choices().as_ref(),
        ) {
            Ok(loaded) => run_loaded(loaded, &arguments.options),
            Err(message) => wrong(&message),
        };
    };
    let given = Options { out: Some(folder.clone()), resume: None, ..arguments.options.clone() };
    let checkpoint = match Checkpoint::read(folder) {
        Ok(checkpoint) => checkpoint,
        Err(message) => return wrong(&format!("error: {message}")),
    };
    match (checkpoint, &arguments.scene) {
        (Some(checkpoint), scene) => {
            let options = Options {
                out: given.out.clone(),
                report: given.report.clone(),
                json: given.json,
                threads: given.threads,
                ..checkpoint.options.clone()
            };
            if scene.as_ref().is_some_and(|s| *s != checkpoint.scene || options != given) {
                let message = format!(
                    "error: the run in {} is another one (scene `{}`)",
                    folder.display(),
                    checkpoint.scene
                );
                return wrong(&format!(
                    "{message}: go on with `signorini run --resume {}` alone",
                    folder.display()
                ));
            }
            match builtin::find_robot(
                &checkpoint.scene,
                &options.set,
                options.robot.choices().as_ref(),
            ) {
                Ok(loaded) => run_from(loaded, &options, Some(checkpoint)),
                Err(message) => wrong(&message),
            }
        }
        (None, _) if folder.join("run.json").exists() => {
            eprintln!("the run in {} is complete", folder.display());
            ExitCode::SUCCESS
        }
        (None, Some(scene)) => {
            match builtin::find_robot(scene, &given.set, given.robot.choices().as_ref()) {
                Ok(loaded) => run_loaded(loaded, &given),
                Err(message) => wrong(&message),
            }
        }
        (None, None) => wrong(&format!(
            "error: there is no checkpoint in {}: name the scene to begin it (`signorini run SCENE \
                --checkpoint-every 100 --resume {}`)",
            folder.display(),
            folder.display()
        )),
    }
}

/// Runs a scene that was read.
pub fn run_loaded(loaded: Loaded, options: &Options) -> ExitCode {
    run_from(loaded, options, None)
}

fn run_from(mut loaded: Loaded, options: &Options, from: Option<Checkpoint>) -> ExitCode {
    loaded.dt = options.dt.unwrap_or(loaded.dt);
    loaded.t_end = options.t_end.unwrap_or(loaded.t_end);
    if options.records() {
        loaded.notes.extend(signorini_files::visual::load(&mut loaded.scene));
    }
    loaded.notes.iter().for_each(|note| eprintln!("note: {note}"));
    if from.is_none() {
        // What `check` says of this kind is not to be missed by those who only run.
        let overlaps = signorini::analyse::overlapping(&loaded.scene, loaded.dt);
        for f in overlaps.iter().take(OVERLAPS_SHOWN) {
            let word =
                if f.severity == signorini::analyse::Severity::Error { "error" } else { "warning" };
            eprintln!("{word} at the start: {} {}: {}", f.subject, f.found, f.advice);
        }
        if overlaps.len() > OVERLAPS_SHOWN {
            eprintln!(
                "and {} more pairs overlap at the start (`signorini check` lists them)",
                overlaps.len() - OVERLAPS_SHOWN
            );
        }
    }
    let wrong = |message: String| {
        eprintln!("error: {message}");
        ExitCode::from(WRONG_INPUT)
    };
    if options.checkpoint_every.is_some() && options.out.is_none() {
        return wrong("--checkpoint-every needs a folder: add --out".into());
    }
    if options.reactions && options.out.is_none() {
        return wrong("--reactions needs a folder: add --out".into());
    }
    let settings = match settings(&loaded, options) {
        // How the solver came to its answers belongs to the record; it does not change them.
        Ok(mut settings) => {
            settings.stop.history = options.records();
            settings
        }
        Err(message) => return wrong(message),
    };
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    // A second handler in one process is refused: then the first one serves, or nobody does.
    let _ = ctrlc::set_handler(move || {
        // Who asks twice does not want to wait for the end of the step.
        if flag.swap(true, Ordering::SeqCst) {
            std::process::exit(INTERRUPTED.into());
        }
    });
    let pool =
        match rayon::ThreadPoolBuilder::new().num_threads(options.threads.unwrap_or(0)).build() {
            Ok(pool) => pool,
            Err(why) => return wrong(format!("threads: {why}")),
        };
    let finished = pool.install(|| match (options.kinematic, options.equilibrium) {
        (true, _) => modes::kinematic(&loaded, settings, options, &stop),
        (_, true) => modes::statics(&loaded, settings, options),
        _ if loaded.run.integrator == Some(format::Integrator::Acceleration) => {
            simulate(&loaded, settings, options, &stop)
        }
        _ => go_on(&loaded, settings, options, &stop, from),
    });
    match finished {
        Ok(finished) => {
            let code = report(&loaded, &finished, options);
            crate::report::after(&loaded.scene.name, finished.record.as_deref(), options)
                .map_or(code, ExitCode::from)
        }
        Err(message) => wrong(message),
    }
}

/// The settings of a run: those of the scene, and those of the command line over them.
pub fn settings(loaded: &Loaded, options: &Options) -> Result<Settings, String> {
    let friction = options.law.map(|law| match law {
        Law::Cone => Friction::Cone,
        Law::Coulomb => Friction::Coulomb,
    });
    let time = options.scheme.map(|scheme| match scheme {
        Scheme::Leapfrog => TimeScheme::Leapfrog,
        Scheme::Euler => TimeScheme::Euler,
    });
    let time_error = options.time_error.map(|estimate| match estimate {
        TimeError::Free => TimeEstimate::Free,
        TimeError::Doubling => TimeEstimate::Doubling,
    });
    let preset = options.preset.map(|preset| match preset {
        Preset::Exact => format::Preset::Exact,
        Preset::Engineering => format::Preset::Engineering,
        Preset::Fast => format::Preset::Fast,
    });
    let coordinates = options.coordinates.map(|coordinates| match coordinates {
        Coordinates::Auto => assemble::Coordinates::Auto,
        Coordinates::Tree => assemble::Coordinates::Tree,
        Coordinates::Bodies => assemble::Coordinates::Bodies,
    });
    loaded.settings(&Overrides {
        solver: options.solver.clone(),
        friction,
        time,
        coordinates,
        accuracy: options.accuracy,
        deadline: options.deadline,
        order: options.order,
        time_error,
        preset,
    })
}

/// All steps of a run.
pub fn simulate(
    loaded: &Loaded,
    settings: Settings,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Finished, String> {
    if loaded.run.integrator == Some(format::Integrator::Acceleration) {
        return acceleration::simulate(loaded, settings, options, stop);
    }
    go_on(loaded, settings, options, stop, None)
}

/// All steps that are left.
fn go_on(
    loaded: &Loaded,
    settings: Settings,
    options: &Options,
    stop: &AtomicBool,
    from: Option<Checkpoint>,
) -> Result<Finished, String> {
    let mut run = SimulationRun::begin(loaded, settings, options, from)?;
    let bar = progress(run.steps);
    let begun = Instant::now();
    let mut lines = crate::progress::Lines::new(run.step(), run.steps);
    let mut ended = Ended::Complete;
    while run.step() < run.steps {
        if stop.load(Ordering::SeqCst) {
            ended = Ended::Interrupted;
            break;
        }
        let verdict = match run.advance() {
            Ok(verdict) => verdict,
            Err(RunError::Refused(refused)) => {
                ended = Ended::Refused(refused.to_string());
                break;
            }
            Err(RunError::Disk(message)) => return Err(message),
        };
        if let Some(event) = run.stopped() {
            ended = Ended::Stopped(event);
            break;
        }
        if run.step() % 16 == 0 || begun.elapsed().as_secs_f64() > 1.0 {
            bar.set_position(run.step());
            bar.set_message(format!(
                "t = {:.3} s, error {:.1e}",
                run.simulation.time(),
                verdict.error.relative()
            ));
        }
        lines.step(run.step(), run.simulation.time());
    }
    bar.finish_and_clear();
    run.finish(ended, begun.elapsed().as_secs_f64())
}

/// The clock by which the stages of a step are measured.
pub fn clock() -> Clock {
    let begun = Instant::now();
    Box::new(move || begun.elapsed().as_secs_f64())
}

/// A bar on stderr with rate, time left and the present error; hidden unless stderr is a terminal.
pub(crate) fn progress(steps: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr());
    let style =
        ProgressStyle::with_template("{bar:30} {pos}/{len} steps  {per_sec}  {eta} left  {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// A run that is complete, with steps that were not accepted.
const NOT_ACCEPTED: u8 = 3;

/// Prints what came out and chooses the exit code: 0 if the run is complete, all facts hold and all
/// steps are accepted.
fn report(loaded: &Loaded, finished: &Finished, options: &Options) -> ExitCode {
    for outcome in &finished.outcomes {
        let line = outcome.line();
        // With --json the standard output holds one object and nothing else.
        if options.json { eprintln!("{line}") } else { println!("{line}") }
    }
    if options.json {
        println!("{}", finished.summary.to_json());
    } else {
        println!("{}", finished.summary.line(&loaded.scene));
    }
    match &finished.ended {
        Ended::Complete => {}
        Ended::Interrupted => {
            eprintln!(
                "interrupted at t = {:.4} s; what is written is valid up to there",
                finished.state.time
            );
            if let Some(folder) = options.out.as_ref().filter(|f| checkpoint::path(f).exists()) {
                eprintln!("`signorini run --resume {}` goes on", folder.display());
            }
        }
        Ended::Refused(why) => eprintln!("error: {why}"),
        Ended::Stopped(event) => {
            eprintln!("stopped by the event `{event}` at t = {:.6} s", finished.summary.time)
        }
    }
    match finished.ended {
        Ended::Interrupted => ExitCode::from(INTERRUPTED),
        Ended::Complete | Ended::Stopped(_) if !finished.outcomes.iter().all(|o| o.passed()) => {
            ExitCode::FAILURE
        }
        Ended::Complete | Ended::Stopped(_) if finished.summary.not_accepted > 0 => {
            ExitCode::from(NOT_ACCEPTED)
        }
        Ended::Complete | Ended::Stopped(_) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// A number of steps, or a time.
fn every(text: &str) -> Result<Every, String> {
    match text.trim().parse::<u64>() {
        Ok(0) => Err("wanted a number of steps above 0".into()),
        Ok(steps) => Ok(Every::Steps(steps)),
        Err(_) => time(text).map(Every::Time),
    }
}

/// A time on the command line.
pub(crate) fn time(text: &str) -> Result<f64, String> {
    quantity(text, Dimension::new(0, 0, 1, 0), "a time", "2 ms")
}

/// A length on the command line.
pub(crate) fn length(text: &str) -> Result<f64, String> {
    quantity(text, Dimension::new(1, 0, 0, 0), "a length", "0.1 mm")
}

/// A number with any unit, in SI.
pub(crate) fn number(text: &str) -> Result<f64, String> {
    evaluate(text, &mut Nothing)
        .map(|q| q.value)
        .map_err(|w| format!("`{text}`: {}: {}", w.message, w.wanted))
}

/// No names are known on the command line.
struct Nothing;

impl Names for Nothing {
    fn value(&mut self, _: &str) -> Option<Result<Quantity, String>> {
        None
    }
    fn all(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A positive quantity with or without its unit.
fn quantity(text: &str, dimension: Dimension, what: &str, example: &str) -> Result<f64, String> {
    let value = evaluate(text, &mut Nothing).map_err(|w| format!("{}: {}", w.message, w.wanted))?;
    if value.dimension != Dimension::NONE && value.dimension != dimension {
        return Err(format!(
            "`{text}` is in {}, wanted {what} such as \"{example}\"",
            value.dimension.symbol()
        ));
    }
    if value.value > 0.0 { Ok(value.value) } else { Err(format!("wanted {what} above 0")) }
}
