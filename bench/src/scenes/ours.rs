//! A scene stepped by Signorini.

use super::catalogue::BenchScene;
use super::run::SAMPLES;
use crate::engines::{Moving, Run};
use crate::peers::repeated;
use signorini::problem::Tolerance;
use signorini::scene::{BodyId, Layout, Scene, State};
use signorini::solve::StoppingCriteria;
use signorini::step::{Settings, Stepper};
use std::time::Instant;

/// Variants: the presets of scene files.
pub const PRESETS: [&str; 3] = ["exact", "engineering", "fast"];

/// The stopping criteria of a preset (`docs/scene.md`).
pub fn preset(name: &str, scene: &Scene, h: f64) -> StoppingCriteria {
    let mut stop = StoppingCriteria::default();
    let relative: f64 = match name {
        "engineering" => 1e-4,
        "fast" => 1e-2,
        _ => return stop,
    };
    let velocity = relative.sqrt() * scene.gravity.length() * h;
    stop.tolerance = Tolerance {
        relative,
        velocity: velocity.max(stop.tolerance.velocity),
        bound: Some(f64::MAX),
        velocity_relative: 0.0,
    };
    stop
}

/// Steps the scene, at most for this many seconds.
pub fn run(bench: &BenchScene, variant: &str, budget: f64) -> Result<Run, String> {
    let scene = &bench.scene;
    let mut settings = Settings::with_time_step(bench.h);
    settings.stop = preset(variant, scene, bench.h);
    let mut stepper = Stepper::new(scene, settings).map_err(|e| e.to_string())?;
    let start = State::initial(scene);
    let (run, seconds) = repeated(|| steps(bench, &mut stepper, start.clone(), budget));
    let engine = match variant {
        "exact" => "signorini".to_string(),
        _ => format!("signorini:{variant}"),
    };
    Ok(Run { engine, seconds, ..run? })
}

fn steps(
    bench: &BenchScene,
    stepper: &mut Stepper,
    mut state: State,
    budget: f64,
) -> Result<Run, String> {
    let every = (bench.steps / SAMPLES).max(1);
    let layout = Layout::of(&bench.scene);
    let (mut samples, mut contacts, mut not_accepted, mut steps) = (Vec::new(), 0, 0, 0);
    let begun = Instant::now();
    while steps < bench.steps && (steps == 0 || begun.elapsed().as_secs_f64() < budget) {
        let verdict = stepper.step(&bench.scene, &mut state).map_err(|e| e.to_string())?;
        steps += 1;
        contacts += verdict.contacts;
        not_accepted += u64::from(!verdict.accepted);
        if steps % every == 0 {
            samples.push((state.time, moving(&bench.scene, &layout, &state)));
        }
    }
    samples.push((state.time, moving(&bench.scene, &layout, &state)));
    Ok(Run {
        engine: String::new(),
        version: String::new(),
        seconds: 0.0,
        steps,
        contacts: contacts as f64 / steps as f64,
        not_accepted: Some(not_accepted),
        samples,
    })
}

fn moving(scene: &Scene, layout: &Layout, state: &State) -> Vec<Moving> {
    let free = (0..scene.bodies.len()).filter(|&i| scene.bodies[i].mass().is_some());
    free.map(|i| {
        let id = BodyId(i as u32);
        let (pose, (linear, spin)) = (state.pose(id), state.twist(layout, id));
        Moving {
            position: pose.position.to_array(),
            orientation: pose.orientation.to_array(),
            linear: linear.to_array(),
            angular: pose.vector(spin).to_array(),
        }
    })
    .collect()
}
