//! Scenes with `integrator = "acceleration"`: the same summary, facts, tables and record, from
//! another integrator.

use super::expectations::Expectations;
use super::record::{Plan, Recorder, Smooth};
use super::simulation_run::unwritable;
use super::summary::Summary;
use super::tables::{self, Tables};
use super::{Ended, Finished, Options, progress};
use crate::scenefile::Loaded;
use signorini::assemble::{StepInput, joint};
use signorini::mechanism::{Method, Simulation, simulation::Energy};
use signorini::scene::{Coordinate, JointId, Scene, State};
use signorini::step::{self, Ledger, Stepper};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// All steps of a run.
pub fn simulate(
    loaded: &Loaded,
    stepping: step::Settings,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Finished, String> {
    let mut run = AccelerationRun::begin(loaded, stepping, options)?;
    let bar = progress(run.steps);
    let (begun, mut ended) = (Instant::now(), Ended::Complete);
    while run.summary.steps < run.steps {
        if stop.load(Ordering::SeqCst) {
            ended = Ended::Interrupted;
            break;
        }
        match run.advance()? {
            None => {}
            Some(unfit) => {
                ended = Ended::Refused(unfit);
                break;
            }
        }
        if run.summary.steps.is_multiple_of(64) {
            bar.set_position(run.summary.steps);
            bar.set_message(format!("t = {:.3} s", run.state.time));
        }
    }
    bar.finish_and_clear();
    run.finish(ended, begun.elapsed().as_secs_f64())
}

/// A run under way.
struct AccelerationRun<'a> {
    loaded: &'a Loaded,
    simulation: Simulation,
    method: &'static str,
    /// Facts, tables and frames ask a stepper who owns which velocities; it never steps here.
    stepper: Stepper,
    state: State,
    begin: Energy,
    summary: Summary,
    expectations: Expectations<'a>,
    tables: Option<Tables>,
    recorder: Option<Recorder>,
    folder: Option<&'a Path>,
    dt: f64,
    steps: u64,
    /// Rows and frames are written every so many steps.
    every: u64,
    /// Largest gap that was left.
    gap: f64,
}

impl<'a> AccelerationRun<'a> {
    fn begin(
        loaded: &'a Loaded,
        stepping: step::Settings,
        options: &'a Options,
    ) -> Result<AccelerationRun<'a>, String> {
        let (scene, dt) = (&loaded.scene, stepping.h);
        let steps = ((loaded.t_end / dt) - 1e-9).ceil().max(1.0) as u64;
        let settings = loaded.acceleration_settings();
        let mut simulation = Simulation::new(scene, settings).map_err(|e| e.to_string())?;
        let method = match settings.method {
            Method::Classical => "runge-kutta-4",
            Method::DormandPrince { .. } => "dormand-prince",
        };
        let stepper = Stepper::new(scene, stepping).map_err(|e| e.to_string())?;
        let mut state = State::initial(scene);
        simulation.write(&mut state);
        let mut summary = Summary::new(scene, loaded.t_end);
        summary.rows = simulation.equations.rows.len();
        let every = loaded
            .run
            .record_every
            .map_or_else(|| tables::stride(scene, steps), |n| n.0.max(1) as u64);
        let folder = options.out.as_deref();
        let disk = |e: io::Error| unwritable(folder.unwrap_or(Path::new(".")), &e);
        // The tables first: they take away what an earlier run left.
        let tables = folder.map(Tables::create).transpose().map_err(disk)?;
        let plan = Plan { folder, steps, every, solver: method, law: "none" };
        let mut recorder = options
            .records()
            .then(|| Recorder::begin(&loaded.scene, &super::about(loaded), &plan))
            .transpose()
            .map_err(disk)?;
        if let Some(recorder) = &mut recorder {
            recorder.frame(scene, &stepper, &state).map_err(disk)?;
        }
        Ok(AccelerationRun {
            begin: simulation.energy(),
            simulation,
            method,
            stepper,
            state,
            summary,
            expectations: Expectations::new(loaded, dt, steps),
            tables,
            recorder,
            folder,
            loaded,
            dt,
            steps,
            every,
            gap: 0.0,
        })
    }

    /// Takes the next step; why not, if the mechanism refuses.
    fn advance(&mut self) -> Result<Option<String>, String> {
        let (begun, before) = (Instant::now(), self.simulation.evaluations);
        let drift = match self.simulation.step(self.dt) {
            Ok(drift) => drift,
            Err(unfit) => return Ok(Some(unfit.to_string())),
        };
        let wall = begun.elapsed().as_secs_f64();
        self.gap = self.gap.max(drift.left);
        let energy = ledger(&self.begin, &self.simulation.energy());
        let simulation = &self.simulation;
        self.summary.add_smooth(
            simulation.time,
            energy,
            (drift.joule, || simulation.row_name(drift.row)),
            self.method,
        );
        simulation.write(&mut self.state);
        self.state.steps += 1;
        angles(&self.loaded.scene, &mut self.state);
        let k = self.summary.steps;
        self.expectations.check(k, &self.stepper, &self.state, &self.summary);
        let told = Smooth {
            joule: drift.joule,
            relative: drift.joule / energy.throughput.max(f64::MIN_POSITIVE),
            rate: drift.rate,
            worst: &simulation.row_name(drift.row),
            method: self.method,
            evaluations: simulation.evaluations - before,
            rows: simulation.basis.kept.len(),
        };
        let written =
            self.recorder.as_mut().map_or(Ok(()), |r| r.smooth(&told, &self.summary, wall));
        written
            .and_then(|()| self.keep(k))
            .map_err(|e| unwritable(self.folder.unwrap_or(Path::new(".")), &e))?;
        Ok(None)
    }

    /// Rows and a frame of the present moment, if it is their turn.
    fn keep(&mut self, k: u64) -> io::Result<()> {
        if !(k.is_multiple_of(self.every) || k == self.steps) {
            return Ok(());
        }
        let scene = &self.loaded.scene;
        if let Some(recorder) = &mut self.recorder {
            recorder.frame(scene, &self.stepper, &self.state)?;
        }
        self.tables.as_mut().map_or(Ok(()), |tables| tables.rows(scene, &self.stepper, &self.state))
    }

    fn finish(mut self, ended: Ended, wall: f64) -> Result<Finished, String> {
        self.summary.finish(&self.state, &self.stepper, wall);
        self.summary.note = Some(note(&self.simulation, self.gap));
        let mut finished = Finished {
            summary: self.summary,
            outcomes: self.expectations.finish(&ended),
            ended,
            state: self.state,
            record: None,
        };
        let run = finished.to_json(self.loaded);
        let disk = |e: io::Error| unwritable(self.folder.unwrap_or(Path::new(".")), &e);
        if let Some(recorder) = self.recorder {
            finished.record = recorder.finish(&run).map_err(disk)?;
        }
        if let Some(tables) = self.tables {
            tables.finish(&run).map_err(disk)?;
        }
        Ok(finished)
    }
}

/// What a run of this kind adds to its line.
fn note(simulation: &Simulation, gap: f64) -> String {
    let redundant = simulation.redundant();
    let dependent = match redundant.len() {
        0 => "no redundant rows".into(),
        1 => format!("1 redundant row ({})", redundant[0]),
        n => format!("{n} redundant rows ({}, …)", redundant[0]),
    };
    let plane = if simulation.equations.coordinates.space == signorini::mechanism::Space::Spatial {
        "spatial"
    } else {
        "planar"
    };
    let freedoms = simulation.freedoms();
    let degrees =
        if freedoms == 1 { "1 degree".to_string() } else { format!("{freedoms} degrees") };
    format!(
        "{plane}, {degrees} of freedom, {dependent}; joints within {gap:.1e}; contacts are not \
            looked for"
    )
}

/// The ledger since the beginning: what the forces that are no potential did is one term, what is
/// missing is its residual.
fn ledger(begin: &Energy, now: &Energy) -> Ledger {
    Ledger {
        kinetic_before: begin.kinetic,
        kinetic: now.kinetic,
        potential_before: begin.potential,
        potential: now.potential,
        potential_change: now.potential - begin.potential,
        applied: now.work,
        throughput: begin.kinetic
            + now.kinetic
            + (now.potential - begin.potential).abs()
            + now.work.abs(),
        ..Ledger::default()
    }
}

/// Joint angles, counted on over full turns.
fn angles(scene: &Scene, state: &mut State) {
    let now = StepInput::at_rest(scene, state);
    for (i, angle) in state.angles.iter_mut().enumerate() {
        *angle = joint::coordinate(scene, JointId(i as u32), Coordinate::Angle, &now).value;
    }
}
