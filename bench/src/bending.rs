//! `signorini bench bending`: three-point bending of a soft beam (Mangoni2018, table 5.4), with
//! rigid contacts and with springs in their place.
//!
//! A step is *stable* if the whole bending (0.3 s, 0.3 m) passes with: every number finite, every
//! step accepted (that includes its overlaps), no node faster than ten times the punch (1 m/s), no
//! overlap deeper than the radius of the cylinders. The largest stable step of each treatment is
//! looked for below 0.15 s, with which the bending takes two steps: first by halving, then by
//! bisection. There is no friction, as in the thesis.
//!
//! The springs are Hertz's, explicit or implicit, as stiff as an overlap of 1 % of the cylinders'
//! diameter at a deflection of 0.1 m asks for: F = 48 E I δ/L³, shared by the contacts under the
//! punch.

use clap::Args;
use serde_json::json;
use signorini::assemble::{Penalty, Treatment};
use signorini::problem::Problem;
use signorini::scene::{Scene, State};
use signorini::step::{Settings, Stepper};
use signorini_files::Overrides;
use signorini_files::builtin;
use std::process::ExitCode;
use std::time::Instant;

/// What to measure.
#[derive(Args)]
pub struct Arguments {
    /// The step at which iterations and time are counted, s.
    #[arg(long, default_value_t = 0.05)]
    dt: f64,
    /// Overlap of the springs at a deflection of 0.1 m, m; 1 % of the cylinders' diameter without
    /// this.
    #[arg(long, default_value_t = 0.0005)]
    overlap: f64,
    /// Steps of the bisection.
    #[arg(long, default_value_t = 3)]
    bisections: u32,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

/// No longer steps are tried, s.
pub(crate) const LARGEST_STEP: f64 = 0.5 * DURATION;
/// Speed of the punch, m/s, and how long it is driven, s.
const PUNCH_SPEED: f64 = 1.0;
const DURATION: f64 = 0.3;
const RADIUS: f64 = 0.025;

/// How a run went.
pub(crate) struct Outcome {
    stable: bool,
    why: String,
    pub(crate) steps: u64,
    pub(crate) work: u64,
    /// Iterations of each step.
    pub(crate) iterations: Vec<u64>,
    /// The problem of the last step.
    pub(crate) last: Problem,
    seconds: f64,
    contacts: f64,
}

/// Measures and prints.
pub fn run(arguments: &Arguments) -> ExitCode {
    match measure(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments) -> Result<(), String> {
    let say = |text: String| if arguments.json { eprintln!("{text}") } else { println!("{text}") };
    let bench = Bench::new(arguments.dt, arguments.overlap)?;
    say(format!(
        "springs: {:.3e} N/m^1.5 for {:.0} contacts under the punch",
        bench.springs.stiffness, bench.counted.contacts
    ));
    let longest = |treatment| bench.longest(treatment, arguments.bisections, &say);
    let dt_rigid_max = longest(Contacts::Rigid)?;
    let dt_explicit_max = longest(Contacts::ExplicitSprings)?;
    let dt_implicit_max = longest(Contacts::ImplicitSprings)?;
    let counted = &bench.counted;
    let (iterations, ms) =
        (counted.work as f64 / counted.steps as f64, 1e3 * counted.seconds / counted.steps as f64);
    let mesh = &bench.scene.softs[0].mesh;
    if arguments.json {
        let row = json!({
            "dt_rigid_max": dt_rigid_max, "dt_explicit_max": dt_explicit_max,
            "dt_implicit_max": dt_implicit_max, "dt_tried_max": LARGEST_STEP,
            "iterations_mean": iterations, "ms_per_step": ms,
            "tetrahedra": mesh.elements.len(), "nodes": mesh.nodes.len(),
            "penalty_stiffness": bench.springs.stiffness, "memory_mb": super::step::memory_mb(),
        });
        println!("{row:#}");
    } else {
        let found = |dt: f64| {
            if dt < LARGEST_STEP {
                format!("{dt:.6} s")
            } else {
                format!("at least {LARGEST_STEP} s (no longer one was tried)")
            }
        };
        println!("largest stable step, rigid contacts: {} (thesis: 0.06 s)", found(dt_rigid_max));
        println!(
            "springs, implicit: {} (thesis: 0.005 s, stiffness not given)",
            found(dt_implicit_max)
        );
        println!("springs, explicit: {}", found(dt_explicit_max));
        let memory =
            super::step::memory_mb().map_or(String::new(), |mb| format!(", {mb:.0} MB at most"));
        println!(
            "rigid at dt = {} s: {iterations:.1} iterations and {ms:.0} ms per step{memory}",
            arguments.dt
        );
    }
    Ok(())
}

/// How contacts are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contacts {
    Rigid,
    ExplicitSprings,
    ImplicitSprings,
}

impl Contacts {
    fn name(self) -> &'static str {
        match self {
            Contacts::Rigid => "rigid",
            Contacts::ExplicitSprings => "explicit",
            Contacts::ImplicitSprings => "implicit",
        }
    }
}

/// The scene, its springs, and one bending with rigid contacts.
pub(crate) struct Bench {
    scene: Scene,
    rigid: Settings,
    springs: Penalty,
    pub(crate) counted: Outcome,
}

impl Bench {
    /// Bends once with steps of length `dt`, s; springs of this overlap, m.
    pub(crate) fn new(dt: f64, overlap: f64) -> Result<Bench, String> {
        let loaded = builtin::find("bending", &[])?;
        let rigid = loaded.settings(&Overrides::default())?;
        let counted = bend(&loaded.scene, &rigid, dt)?;
        let springs = penalty(&loaded.scene, counted.contacts, overlap);
        Ok(Bench { scene: loaded.scene, rigid, springs, counted })
    }

    /// The largest stable step up to [`LARGEST_STEP`], s.
    pub(crate) fn longest(
        &self,
        contacts: Contacts,
        bisections: u32,
        say: &dyn Fn(String),
    ) -> Result<f64, String> {
        let mut settings = self.rigid.clone();
        if contacts != Contacts::Rigid {
            let implicit = contacts == Contacts::ImplicitSprings;
            settings.scheme.treatment = Treatment::Penalty(Penalty { implicit, ..self.springs });
        }
        largest(&self.scene, &settings, contacts.name(), bisections, say)
    }
}

/// Springs in place of contacts.
fn penalty(scene: &Scene, contacts: f64, overlap: f64) -> Penalty {
    let (span, width, depth, deflection) = (1.0f64, 0.6, 0.15f64, 0.1);
    let inertia = width * depth.powi(3) / 12.0;
    let force = 48.0 * scene.softs[0].elastic.young * inertia * deflection / span.powi(3);
    Penalty { stiffness: force / contacts.max(1.0) / overlap.powf(1.5), ..Penalty::default() }
}

/// The largest stable step up to [`LARGEST_STEP`].
fn largest(
    scene: &Scene,
    settings: &Settings,
    name: &str,
    bisections: u32,
    say: &dyn Fn(String),
) -> Result<f64, String> {
    let stable = |dt: f64| -> Result<bool, String> {
        let outcome = bend(scene, settings, dt)?;
        let verdict = if outcome.stable { "stable" } else { outcome.why.as_str() };
        let (work, seconds) = (outcome.work as f64 / outcome.steps as f64, outcome.seconds);
        say(format!(
            "{name:8} dt {dt:.6} s: {verdict} ({} steps, {work:.1} iterations each, {seconds:.1} \
                s)",
            outcome.steps
        ));
        Ok(outcome.stable)
    };
    let (mut good, mut bad) = (LARGEST_STEP, LARGEST_STEP);
    while !stable(good)? {
        (good, bad) = (0.5 * good, good);
        if good < 1e-5 {
            return Err(format!("{name}: no step is stable"));
        }
    }
    for _ in 0..if good < LARGEST_STEP { bisections } else { 0 } {
        let middle = (good * bad).sqrt();
        if stable(middle)? { good = middle } else { bad = middle }
    }
    Ok(good)
}

/// One bending with steps of length `dt`.
fn bend(scene: &Scene, settings: &Settings, dt: f64) -> Result<Outcome, String> {
    let settings = Settings { h: dt, ..settings.clone() };
    let mut stepper = Stepper::new(scene, settings).map_err(|e| e.to_string())?;
    let mut state = State::initial(scene);
    let mut outcome = Outcome {
        stable: true,
        why: String::new(),
        steps: 0,
        work: 0,
        iterations: Vec::new(),
        last: Problem::default(),
        seconds: 0.0,
        contacts: 0.0,
    };
    let begun = Instant::now();
    let punch = scene.body_named("punch").ok_or("the scene has no punch")?;
    for _ in 0..(DURATION / dt - 1e-9).ceil() as u64 {
        let verdict = match stepper.step(scene, &mut state) {
            Ok(verdict) => verdict,
            Err(why) => {
                (outcome.stable, outcome.why) = (false, why.to_string());
                break;
            }
        };
        outcome.steps += 1;
        outcome.work += verdict.work;
        outcome.iterations.push(verdict.work);
        let carrying = stepper.contacts().iter().filter(|c| {
            scene.colliders[c.colliders.1 as usize].body == punch.0
                || scene.colliders[c.colliders.0 as usize].body == punch.0
        });
        outcome.contacts = outcome.contacts.max(carrying.filter(|c| c.gap < 1e-3).count() as f64);
        let nodes = stepper.layout().nodes.len();
        let fastest = (0..nodes)
            .map(|n| state.node_velocity(stepper.layout(), n).length())
            .fold(0.0, |m: f64, v| if v > m || v.is_nan() { v } else { m });
        if !(fastest <= 10.0 * PUNCH_SPEED) {
            (outcome.stable, outcome.why) =
                (false, format!("unstable: a node at {fastest:.1} m/s at t = {:.4} s", state.time));
        } else if !verdict.accepted {
            (outcome.stable, outcome.why) =
                (false, format!("a step not accepted at t = {:.4} s", state.time));
        } else if verdict.penetration > RADIUS {
            (outcome.stable, outcome.why) = (
                false,
                format!(
                    "unstable: overlap {:.1} mm at t = {:.4} s",
                    1e3 * verdict.penetration,
                    state.time
                ),
            );
        }
        if !outcome.stable {
            break;
        }
    }
    outcome.seconds = begun.elapsed().as_secs_f64();
    outcome.last = stepper.problem(scene).clone();
    Ok(outcome)
}
