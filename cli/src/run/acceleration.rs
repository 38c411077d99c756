//! Scenes with `integrator = "acceleration"`: the same summary, facts and tables, from another integrator.

use super::probe::Probe;
use super::summary::Summary;
use super::tables::{self, Tables};
use super::{Ended, Finished, Options, progress};
use crate::scenefile::{Loaded, format};
use signorini::assemble::{Present, joint};
use signorini::mechanism::{Method, Settings, Simulation, simulation::Energy};
use signorini::scene::{Coordinate, JointId, Scene, State};
use signorini::step::{self, Ledger, Stepper};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The settings of a scene for this integrator.
pub fn settings(loaded: &Loaded) -> Settings {
    let run = &loaded.run;
    let tolerance = run.tolerance.map_or(1e-9, |t| t.si);
    let method = match run.method {
        Some(format::RungeKutta::DormandPrince) => Method::DormandPrince { tolerance },
        _ => Method::Classical,
    };
    Settings { method, stabilised: run.stabilised != Some(false), planar: true }
}

/// All steps of a run.
pub fn simulate(loaded: &Loaded, stepping: step::Settings, options: &Options, stop: &AtomicBool) -> Result<Finished, String> {
    let scene = &loaded.scene;
    let dt = stepping.h;
    let steps = ((loaded.t_end / dt) - 1e-9).ceil().max(1.0) as u64;
    let settings = settings(loaded);
    let mut simulation = Simulation::new(scene, settings).map_err(|e| e.to_string())?;
    let name = match settings.method {
        Method::Classical => "runge-kutta-4",
        Method::DormandPrince { .. } => "dormand-prince",
    };
    // Facts and tables ask a stepper who owns which velocities; it never steps here.
    let stepper = Stepper::new(scene, stepping).map_err(|e| e.to_string())?;
    let mut state = State::initial(scene);
    simulation.write(&mut state);
    let begin = simulation.energy();
    let mut summary = Summary::new(scene, loaded.t_end);
    summary.rows = simulation.equations.rows.len();
    let every = loaded.run.record_every.map_or_else(|| tables::stride(scene, steps), |n| n.0.max(1) as u64);
    let mut tables = open(options)?;
    let mut probe = Probe::new(loaded, dt, steps);
    let bar = progress(steps);
    let (begun, mut ended, mut gap) = (Instant::now(), Ended::Complete, 0.0f64);
    for k in 1..=steps {
        if stop.load(Ordering::SeqCst) {
            ended = Ended::Interrupted;
            break;
        }
        match simulation.step(dt) {
            Ok(drift) => {
                gap = gap.max(drift.left);
                let energy = ledger(&begin, &simulation.energy());
                summary.add_smooth(simulation.time, energy, (drift.joule, || simulation.row_name(drift.row)), name);
            }
            Err(unfit) => {
                ended = Ended::Refused(unfit.to_string());
                break;
            }
        }
        simulation.write(&mut state);
        state.steps += 1;
        angles(scene, &mut state);
        probe.look(k, &stepper, &state, &summary);
        if (k % every == 0 || k == steps)
            && let Some(tables) = &mut tables
        {
            tables.rows(scene, &stepper, &state).map_err(|e| format!("cannot write: {e}"))?;
        }
        if k % 64 == 0 {
            bar.set_position(k);
            bar.set_message(format!("t = {:.3} s", state.time));
        }
    }
    bar.finish_and_clear();
    summary.finish(&state, &stepper, begun.elapsed().as_secs_f64());
    summary.note = Some(note(&simulation, gap));
    let finished = Finished { summary, outcomes: probe.finish(&ended), ended, state, record: None };
    if let Some(tables) = tables {
        tables.finish(&finished.to_json(loaded)).map_err(|e| format!("cannot write: {e}"))?;
    }
    Ok(finished)
}

/// The tables, if they are wanted.
fn open(options: &Options) -> Result<Option<Tables>, String> {
    let create = |folder: &std::path::PathBuf| Tables::create(folder).map_err(|e| format!("cannot write into {}: {e}", folder.display()));
    options.out.as_ref().map(create).transpose()
}

/// What a run of this kind adds to its line.
fn note(simulation: &Simulation, gap: f64) -> String {
    let redundant = simulation.redundant();
    let dependent = match redundant.len() {
        0 => "no redundant rows".into(),
        1 => format!("1 redundant row ({})", redundant[0]),
        n => format!("{n} redundant rows ({}, …)", redundant[0]),
    };
    let plane = if simulation.equations.coordinates.space == signorini::mechanism::Space::Spatial { "spatial" } else { "planar" };
    let freedoms = simulation.freedoms();
    let degrees = if freedoms == 1 { "1 degree".to_string() } else { format!("{freedoms} degrees") };
    format!("{plane}, {degrees} of freedom, {dependent}; joints within {gap:.1e}; contacts are not looked for")
}

/// The ledger since the beginning: what the forces that are no potential did is one term, what is missing is its residual.
fn ledger(begin: &Energy, now: &Energy) -> Ledger {
    Ledger {
        kinetic_before: begin.kinetic,
        kinetic: now.kinetic,
        potential_before: begin.potential,
        potential: now.potential,
        potential_change: now.potential - begin.potential,
        applied: now.work,
        turnover: begin.kinetic + now.kinetic + (now.potential - begin.potential).abs() + now.work.abs(),
        ..Ledger::default()
    }
}

/// Joint angles, counted on over full turns.
fn angles(scene: &Scene, state: &mut State) {
    let now = Present::at_rest(scene, state);
    for (i, angle) in state.angles.iter_mut().enumerate() {
        *angle = joint::coordinate(scene, JointId(i as u32), Coordinate::Angle, &now).value;
    }
}
