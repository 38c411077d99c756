//! `signorini bench time --schemes`: piles and walls under the leapfrog scheme beside the Euler
//! scheme.
//!
//! Both run from the same state with the settings of the scene. Printed are the deepest overlap of
//! any step, the speed of the fastest body at the end, the largest rise of kinetic and potential
//! energy within a step and their fall over the run, steps that were not accepted, steps per second
//! and the milliseconds of each stage: the quickest of several runs, the schemes in turn.

use serde_json::{Value as Json, json};
use signorini::assemble::TimeScheme;
use signorini::scene::{BodyId, Layout, Scene, State};
use signorini::step::{Settings, Stages, Stepper};
use signorini_files::{Overrides, builtin};
use std::time::Instant;

/// Piles and walls, and the seconds that each is run.
pub const SCENES: [&str; 8] = [
    "balls_64@3",
    "balls_280@3",
    "balls_1190_frictionless@0.5",
    "wall@2",
    "stack@3",
    "arch@1",
    "dominoes@1.5",
    "bottles@0.9",
];

/// Runs of each scheme; the quickest counts.
const REPEATS: usize = 3;

/// What is printed above the rows.
pub const HEAD: &str = "scene                    scheme     overlap [m]  rest [m/s]  rise [J]  \
    fall [J]  not accepted  steps/s  collide, assemble, solve, advance [ms]";

/// What a run gave.
#[derive(Clone, Copy, Default)]
struct Found {
    overlap: f64,
    rest: f64,
    rise: f64,
    fall: f64,
    refused: u64,
    rate: f64,
    stages: Stages,
}

/// Both schemes on one scene, `name@seconds`.
pub fn compare(scene: &str, quiet: bool) -> Result<Vec<Json>, String> {
    let (name, seconds) = scene.split_once('@').unwrap_or((scene, "1"));
    let seconds: f64 =
        seconds.parse().map_err(|_| format!("`{seconds}` is no number of seconds"))?;
    let loaded = builtin::find(name, &[])?;
    let settings = loaded.settings(&Overrides::default())?;
    let schemes = [("euler", TimeScheme::Euler), ("leapfrog", TimeScheme::Leapfrog)];
    let mut found = [Found::default(); 2];
    for _ in 0..REPEATS {
        for (found, (_, time)) in found.iter_mut().zip(schemes) {
            let mut settings = settings.clone();
            settings.scheme.time = time;
            let again = go(&loaded.scene, settings, seconds)?;
            if again.rate > found.rate {
                *found = again;
            }
        }
    }
    let mut rows = Vec::new();
    for (found, (scheme, _)) in found.iter().zip(schemes) {
        let Found { overlap, rest, rise, fall, refused, rate, stages } = *found;
        let parts = [stages.collide, stages.assemble, stages.solve, stages.advance];
        if !quiet {
            println!(
                "{name:24} {scheme:9} {overlap:12.1e} {rest:11.1e} {rise:9.1e} {fall:9.3} \
                    {refused:13} {rate:8.0}  {}",
                parts.map(|ms| format!("{ms:.3}")).join(", ")
            );
        }
        rows.push(json!({"scene": name, "scheme": scheme, "seconds": seconds, "overlap": overlap,
            "rest": rest, "rise": rise, "fall": fall, "not_accepted": refused,
            "steps_per_s": rate, "ms": parts}));
    }
    Ok(rows)
}

/// One run.
fn go(scene: &Scene, settings: Settings, seconds: f64) -> Result<Found, String> {
    let steps = (seconds / settings.h).round().max(1.0) as u64;
    let layout = Layout::of(scene);
    let mut stepper = Stepper::new(scene, settings).map_err(|e| e.to_string())?;
    let begun = Instant::now();
    stepper.clock = Some(Box::new(move || begun.elapsed().as_secs_f64()));
    let mut state = State::initial(scene);
    let mut found = Found::default();
    let (mut first, mut last) = (None, 0.0);
    for _ in 0..steps {
        let verdict = stepper.step(scene, &mut state).map_err(|e| e.to_string())?;
        let energy = verdict.energy;
        let now = energy.kinetic + energy.potential;
        match first {
            None => first = Some(energy.kinetic_before + energy.potential_before),
            Some(_) => found.rise = found.rise.max(now - last),
        }
        last = now;
        found.overlap = found.overlap.max(verdict.penetration);
        found.refused += u64::from(!verdict.accepted);
    }
    found.rate = steps as f64 / begun.elapsed().as_secs_f64();
    let Stages { collide, assemble, solve, advance } = stepper.stages;
    let each = 1e3 / steps as f64;
    found.stages = Stages {
        collide: each * collide,
        assemble: each * assemble,
        solve: each * solve,
        advance: each * advance,
    };
    found.fall = first.unwrap_or_default() - last;
    let free = (0..scene.bodies.len() as u32).map(BodyId);
    let free = free.filter(|&id| layout.velocity(id).is_some());
    found.rest = free.map(|id| state.twist(&layout, id).0.length()).fold(0.0, f64::max);
    Ok(found)
}
