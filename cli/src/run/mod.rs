//! `signorini run SCENE`: simulate, say how wrong every step was, check the facts of the scene, leave tables.

pub mod acceleration;
pub mod probe;
pub mod record;
pub mod summary;
pub mod tables;

use crate::demo;
use crate::scenefile::expression::{Names, evaluate};
use crate::scenefile::fault::nearest;
use crate::scenefile::unit::{Dimension, Quantity};
use crate::scenefile::{Loaded, format};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use probe::Outcome;
use signorini::assemble::{Friction, Treatment};
use signorini::scene::State;
use signorini::solve::Method;
use signorini::step::{Clock, Policy, Refused, Settings, Stepper};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use summary::Summary;
use tables::Tables;

/// What to run, and how.
#[derive(Args, Clone, Default)]
pub struct Arguments {
    /// A scene file (TOML or JSON), or the name of a built-in scene (`signorini demo --list`).
    pub scene: String,
    #[command(flatten)]
    /// How to run it.
    pub options: Options,
}

/// How to run a scene.
#[derive(Args, Clone, Default)]
pub struct Options {
    /// Which solver; `auto` picks per island.
    #[arg(long)]
    pub solver: Option<String>,
    /// Which friction law.
    #[arg(long, value_enum)]
    pub law: Option<Law>,
    /// Length of a step: seconds, or with a unit ("2 ms").
    #[arg(long, value_parser = time)]
    pub dt: Option<f64>,
    /// When to end: seconds, or with a unit.
    #[arg(long, value_parser = time)]
    pub t_end: Option<f64>,
    /// Writes run.json, bodies.csv, contacts.csv and record.bin (for `view`, `picture`, `export`) into this folder.
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Writes one HTML file with a 3D replay and plots: report.html in the folder of --out, else SCENE.html here.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = ".", value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Prints the summary as one JSON object.
    #[arg(long)]
    pub json: bool,
    /// How many threads; all cores without this. The result is the same to the bit.
    #[arg(long)]
    pub threads: Option<usize>,
    /// Another value for a parameter of the scene: name=value. May be given several times.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
}

/// The friction laws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Law {
    /// The true law of Coulomb.
    Coulomb,
    /// The convex law: sliding contacts dilate.
    Cone,
}

/// Why a run did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It did.
    Complete,
    /// The user stopped it.
    Interrupted,
    /// A step was refused: why.
    Refused(String),
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

impl Options {
    /// Whether the run is recorded.
    pub fn records(&self) -> bool {
        self.out.is_some() || (self.report.is_some() && crate::report::page().is_ok())
    }
}

/// A wrong argument has this exit code, as everywhere.
const WRONG_INPUT: u8 = 2;

/// Runs a scene by name or path.
pub fn run(arguments: &Arguments) -> ExitCode {
    let Options { set, .. } = &arguments.options;
    match demo::find(&arguments.scene, set) {
        Ok(loaded) => run_loaded(loaded, &arguments.options),
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(WRONG_INPUT)
        }
    }
}

/// Runs a scene that was read.
pub fn run_loaded(mut loaded: Loaded, options: &Options) -> ExitCode {
    loaded.dt = options.dt.unwrap_or(loaded.dt);
    loaded.t_end = options.t_end.unwrap_or(loaded.t_end);
    let settings = match settings(&loaded, options) {
        // How the solver came to its answers belongs to the record; it does not change them.
        Ok(mut settings) => {
            settings.stop.history = options.records();
            settings
        }
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::from(WRONG_INPUT);
        }
    };
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    // A second handler in one process is refused: then the first one serves, or nobody does.
    let _ = ctrlc::set_handler(move || flag.store(true, Ordering::SeqCst));
    let pool = match rayon::ThreadPoolBuilder::new().num_threads(options.threads.unwrap_or(0)).build() {
        Ok(pool) => pool,
        Err(why) => {
            eprintln!("error: threads: {why}");
            return ExitCode::from(WRONG_INPUT);
        }
    };
    match pool.install(|| simulate(&loaded, settings, options, &stop)) {
        Ok(finished) => {
            let code = report(&loaded, &finished, options);
            crate::report::after(&loaded.scene.name, finished.record.as_deref(), options).map_or(code, ExitCode::from)
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(WRONG_INPUT)
        }
    }
}

/// The settings of a run: those of the scene, and those of the command line over them.
pub fn settings(loaded: &Loaded, options: &Options) -> Result<Settings, String> {
    let mut settings = Settings::every(loaded.dt);
    let run = &loaded.run;
    let solver = options.solver.clone().or_else(|| run.solver.as_ref().map(|s| s.value.clone()));
    if let Some(name) = solver {
        let names = Method::ALL.iter().map(|m| m.name());
        settings.solver = Method::named(&name).ok_or_else(|| match nearest(&name, names.clone()) {
            Some(best) => format!("there is no solver `{name}`: did you mean `{best}`?"),
            None => format!("there is no solver `{name}`: wanted one of {}", names.collect::<Vec<_>>().join(", ")),
        })?;
    }
    settings.scheme.friction = match (options.law, run.law) {
        (Some(Law::Cone), _) | (None, Some(format::Law::Cone)) => Friction::Cone,
        _ => Friction::Coulomb,
    };
    if let Some(tolerance) = run.tolerance {
        settings.stop.tolerance.relative = tolerance.si;
    }
    if let Some(velocity) = run.velocity_tolerance {
        settings.stop.tolerance.velocity = velocity.si;
    }
    if let Some(bound) = run.bound_tolerance {
        settings.stop.tolerance.bound = Some(bound.si);
    }
    settings.stop.work = run.iterations.map(|n| n.0 as u64).or(settings.stop.work);
    match run.policy {
        Some(format::Policy::Substep) => settings.policy = Policy::Substep,
        Some(format::Policy::Accept) => settings.policy = Policy::AcceptAndSay,
        Some(format::Policy::Stop) => settings.policy = Policy::Stop,
        None => {}
    }
    if let Some(contact) = &loaded.contact {
        settings.prediction = contact.prediction.map_or(settings.prediction, |x| x.si);
        settings.scheme.recovery = contact.recovery_speed.map_or(settings.scheme.recovery, |x| x.si);
        settings.scheme.treatment = contact.penalty.as_ref().map_or(Treatment::Rigid, |p| Treatment::Penalty(p.springs()));
        settings.scheme.rebound = contact.rebound_speed.map_or(settings.scheme.rebound, |x| x.si);
    }
    settings.fault().map_or(Ok(settings), Err)
}

/// All steps of a run.
pub fn simulate(loaded: &Loaded, settings: Settings, options: &Options, stop: &AtomicBool) -> Result<Finished, String> {
    if loaded.run.integrator == Some(format::Integrator::Acceleration) {
        return acceleration::simulate(loaded, settings, options, stop);
    }
    let scene = &loaded.scene;
    let dt = settings.h;
    // A quotient such as 1/0.02 must not lose its last step to rounding.
    let steps = ((loaded.t_end / dt) - 1e-9).ceil().max(1.0) as u64;
    let mut stepper = Stepper::new(scene, settings).map_err(|e| e.to_string())?;
    stepper.clock = Some(clock());
    let mut state = State::initial(scene);
    let mut summary = Summary::new(scene, loaded.t_end);
    let every = loaded.run.record_every.map_or_else(|| tables::stride(scene, steps), |n| n.0.max(1) as u64);
    let mut tables = match &options.out {
        Some(folder) => Some(Tables::create(folder).map_err(|e| format!("cannot write into {}: {e}", folder.display()))?),
        None => None,
    };
    let law = if stepper.settings.scheme.friction == Friction::Cone { "cone" } else { "coulomb" };
    let plan = record::Plan { folder: options.out.as_deref(), steps, every, solver: stepper.settings.solver.name(), law };
    let recorder = options.records().then(|| record::Recorder::begin(loaded, &plan)).transpose();
    let mut recorder = recorder.map_err(|e| format!("cannot record: {e}"))?;
    if let Some(recorder) = &mut recorder {
        recorder.frame(scene, &mut stepper, &state).map_err(|e| format!("cannot record: {e}"))?;
    }
    let mut probe = probe::Probe::new(loaded, dt, steps);
    let bar = progress(steps);
    let begun = Instant::now();
    let mut ended = Ended::Complete;
    for k in 1..=steps {
        if stop.load(Ordering::SeqCst) {
            ended = Ended::Interrupted;
            break;
        }
        let before = begun.elapsed();
        let verdict = match stepper.step(scene, &mut state) {
            Ok(verdict) => verdict,
            Err(refused) => {
                ended = Ended::Refused(describe(refused));
                break;
            }
        };
        summary.add(scene, &verdict);
        probe.look(k, &stepper, &state, &summary);
        if let Some(recorder) = &mut recorder {
            let wall = (begun.elapsed() - before).as_secs_f64();
            recorder.step(scene, &verdict, &summary, wall).map_err(|e| format!("cannot record: {e}"))?;
            if k % every == 0 || k == steps {
                recorder.frame(scene, &mut stepper, &state).map_err(|e| format!("cannot record: {e}"))?;
            }
        }
        if k % every == 0 || k == steps {
            summary.keep(scene, &verdict);
            if let Some(tables) = &mut tables {
                tables.rows(scene, &stepper, &state).map_err(|e| format!("cannot write: {e}"))?;
            }
        }
        if k % 16 == 0 || begun.elapsed().as_secs_f64() > 1.0 {
            bar.set_position(k);
            bar.set_message(format!("t = {:.3} s, error {:.1e}", state.time, verdict.error.relative()));
        }
    }
    bar.finish_and_clear();
    summary.finish(&state, &stepper, begun.elapsed().as_secs_f64());
    let mut finished = Finished { summary, outcomes: probe.finish(&ended), ended, state, record: None };
    let run = finished.to_json(loaded);
    if let Some(tables) = tables {
        tables.finish(&run).map_err(|e| format!("cannot write: {e}"))?;
    }
    if let Some(recorder) = recorder {
        finished.record = recorder.finish(&run).map_err(|e| format!("cannot record: {e}"))?;
    }
    Ok(finished)
}

/// The clock by which the stages of a step are measured.
pub fn clock() -> Clock {
    let begun = Instant::now();
    Box::new(move || begun.elapsed().as_secs_f64())
}

fn describe(refused: Refused) -> String {
    refused.to_string()
}

/// A bar on stderr with rate, time left and the present error; hidden unless stderr is a terminal.
pub(crate) fn progress(steps: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} steps  {per_sec}  {eta} left  {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// Prints what came out and chooses the exit code: 0 if the run is complete and all facts hold.
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
        Ended::Interrupted => eprintln!("interrupted at t = {:.4} s; what is written is valid up to there", finished.state.time),
        Ended::Refused(why) => eprintln!("error: {why}"),
    }
    match finished.ended {
        Ended::Interrupted => ExitCode::from(130),
        Ended::Complete if finished.outcomes.iter().all(|o| o.passed()) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// A time on the command line.
fn time(text: &str) -> Result<f64, String> {
    struct Nothing;
    impl Names for Nothing {
        fn value(&mut self, _: &str) -> Option<Result<Quantity, String>> {
            None
        }
        fn all(&self) -> Vec<String> {
            Vec::new()
        }
    }
    let value = evaluate(text, &mut Nothing).map_err(|w| format!("{}: {}", w.message, w.wanted))?;
    let time = Dimension::new(0, 0, 1, 0);
    if value.dimension != Dimension::NONE && value.dimension != time {
        return Err(format!("`{text}` is in {}, wanted a time such as \"2 ms\"", value.dimension.symbol()));
    }
    if value.value > 0.0 { Ok(value.value) } else { Err("wanted a time above 0".into()) }
}
