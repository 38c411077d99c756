//! A run under way: the stepper, the state, and everything that grows with the steps.

use super::checkpoint::{self, Checkpoint};
use super::outputs::Outputs;
use super::record::{Plan, Recorder};
use super::summary::Summary;
use super::{Ended, Every, Finished, Options, clock, expectations, tables};
use crate::scenefile::Loaded;
use crate::step_snapshot::WorstSteps;
use signorini::step::{Settings, Verdict};
use signorini::{Simulation, SimulationError};
use signorini_record::run::law_name;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A run under way.
pub struct SimulationRun<'a> {
    loaded: &'a Loaded,
    options: &'a Options,
    /// What moves.
    pub simulation: Simulation,
    summary: Summary,
    expectations: expectations::Expectations<'a>,
    outputs: Option<Outputs>,
    worst_steps: WorstSteps,
    recorder: Option<Recorder>,
    /// Rows are written every so many steps.
    every: u64,
    /// Checkpoints are written every so many steps; never if 0.
    checkpoints: u64,
    /// How many steps there are.
    pub steps: u64,
}

/// Why a step ended the run.
pub enum RunError {
    /// It was refused.
    Refused(Box<SimulationError>),
    /// Something cannot be written.
    Disk(String),
}

impl<'a> SimulationRun<'a> {
    /// Begins a run, or goes on from a checkpoint.
    pub fn begin(
        loaded: &'a Loaded,
        settings: Settings,
        options: &'a Options,
        from: Option<Checkpoint>,
    ) -> Result<SimulationRun<'a>, String> {
        let scene = &loaded.scene;
        // A quotient such as 1/0.02 must not lose its last step to rounding.
        let steps = ((loaded.t_end / settings.h) - 1e-9).ceil().max(1.0) as u64;
        let every = loaded
            .run
            .record_every
            .map_or_else(|| tables::stride(scene, steps), |n| n.0.max(1) as u64);
        let checkpoints = match options.checkpoint_every {
            Some(Every::Steps(n)) => n.max(1),
            Some(Every::Time(t)) => ((t / settings.h).round() as u64).max(1),
            None => 0,
        };
        let dt = settings.h;
        let mut simulation = Simulation::new(scene.clone(), settings).map_err(|e| e.to_string())?;
        simulation.set_clock(clock());
        let mut run = SimulationRun {
            loaded,
            options,
            simulation,
            summary: Summary::new(scene, loaded.t_end),
            expectations: expectations::Expectations::new(loaded, dt, steps),
            outputs: None,
            worst_steps: WorstSteps::new(options.keep_worst.unwrap_or(0), &options.keep_step),
            recorder: None,
            every,
            checkpoints,
            steps,
        };
        match from {
            Some(checkpoint) => run.resume(checkpoint)?,
            None => {
                let first = &mut run;
                first.summary.happened(
                    scene,
                    first.simulation.stepper(),
                    first.simulation.raw_state(),
                );
                run.simulation.notes().iter().for_each(|note| eprintln!("note: {note}"));
                if let Some(folder) = &options.out {
                    run.outputs = Some(
                        Outputs::create(folder, scene, options.reactions)
                            .map_err(|e| run.disk(&e))?,
                    );
                }
                run.begin_record().map_err(|e| run.disk(&e))?;
                if checkpoints > 0 {
                    run.checkpoint().map_err(|e| run.disk(&e))?;
                }
            }
        }
        Ok(run)
    }

    /// A new record, with its first frame.
    fn begin_record(&mut self) -> io::Result<()> {
        if !self.options.records() {
            return Ok(());
        }
        let mut recorder =
            Recorder::begin(&self.loaded.scene, &super::about(self.loaded), &self.plan())?;
        recorder.frame(
            &self.loaded.scene,
            self.simulation.stepper(),
            self.simulation.raw_state(),
        )?;
        self.recorder = Some(recorder);
        Ok(())
    }

    fn plan(&self) -> Plan<'a> {
        let settings = self.simulation.settings();
        let law = law_name(settings);
        let folder = self.options.out.as_deref();
        Plan { folder, steps: self.steps, every: self.every, solver: settings.solver.name(), law }
    }

    fn resume(&mut self, from: Checkpoint) -> Result<(), String> {
        let place = self.folder();
        from.fits(self.loaded, &place)?;
        self.simulation.set_raw_state(&from.state).map_err(|e| e.to_string())?;
        self.summary = from.summary;
        self.expectations.restore(&from.facts);
        self.worst_steps = from.worst_steps;
        if let Some(folder) = &self.options.out {
            let outputs =
                Outputs::resume(folder, &self.loaded.scene, self.options.reactions, &from.tables);
            let stuck = |e: io::Error| format!("cannot go on in {}: {e}", folder.display());
            self.outputs = Some(outputs.map_err(stuck)?);
            let recorded =
                from.record.as_ref().ok_or("no record").map_err(|e| stuck(io::Error::other(e)))?;
            self.recorder = Some(
                Recorder::resume(
                    &self.loaded.scene,
                    &super::about(self.loaded),
                    &self.plan(),
                    recorded,
                )
                .map_err(stuck)?,
            );
        }
        Ok(())
    }

    /// Steps taken so far.
    pub fn step(&self) -> u64 {
        self.summary.steps
    }

    /// The event that stopped the run, if one did.
    pub fn stopped(&self) -> Option<String> {
        self.simulation.stopped().map(String::from)
    }

    /// Takes the next step.
    pub fn advance(&mut self) -> Result<Verdict, RunError> {
        let scene = &self.loaded.scene;
        let begun = Instant::now();
        let verdict =
            self.simulation.step().map_err(|refused| RunError::Refused(Box::new(refused)))?;
        let wall = begun.elapsed().as_secs_f64();
        self.summary.add(scene, &verdict);
        self.summary.happened(scene, self.simulation.stepper(), self.simulation.raw_state());
        let k = self.summary.steps;
        self.expectations.check(
            k,
            self.simulation.stepper(),
            self.simulation.raw_state(),
            &self.summary,
        );
        if self.simulation.stopped().is_some() {
            self.expectations.stop(
                k,
                self.simulation.stepper(),
                self.simulation.raw_state(),
                &self.summary,
            );
        }
        let folder = self.folder();
        let written =
            self.worst_steps.add(k, scene, (self.simulation.stepper(), &verdict), &folder);
        written
            .and_then(|()| self.record(k, &verdict, wall))
            .map_err(|e| RunError::Disk(self.disk(&e)))?;
        Ok(verdict)
    }

    fn record(&mut self, k: u64, verdict: &Verdict, wall: f64) -> io::Result<()> {
        let scene = &self.loaded.scene;
        let kept =
            k.is_multiple_of(self.every) || k == self.steps || self.simulation.stopped().is_some();
        if let Some(recorder) = &mut self.recorder {
            recorder.step(scene, verdict, &self.summary, wall)?;
            if kept {
                recorder.frame(scene, self.simulation.stepper(), self.simulation.raw_state())?;
            }
        }
        if kept {
            self.summary.keep(scene, verdict);
            if let Some(outputs) = &mut self.outputs {
                outputs.step(scene, self.simulation.stepper(), self.simulation.raw_state())?;
            }
        }
        if self.checkpoints > 0 && k.is_multiple_of(self.checkpoints) {
            self.checkpoint()?;
        }
        Ok(())
    }

    /// Where kept steps go.
    fn folder(&self) -> PathBuf {
        self.options.out.clone().unwrap_or_else(|| PathBuf::from("."))
    }

    /// Writes a checkpoint, if there is a folder.
    pub fn checkpoint(&mut self) -> io::Result<()> {
        let Some(folder) = &self.options.out else { return Ok(()) };
        let tables = self.outputs.as_mut().map(Outputs::sync).transpose()?.unwrap_or_default();
        let record = self.recorder.as_mut().map(Recorder::sync).transpose()?;
        let now = checkpoint::RunState {
            state: self.simulation.raw_state(),
            summary: &self.summary,
            facts: self.expectations.found(),
            worst_steps: &self.worst_steps,
            tables,
            record,
        };
        Checkpoint::new(self.loaded, self.options, now).write(folder)
    }

    /// Ends the run and closes its tables.
    pub fn finish(mut self, ended: Ended, wall: f64) -> Result<Finished, String> {
        // From here on a kill finds a checkpoint of the very end.
        let again =
            self.options.out.is_some() && (self.checkpoints > 0 || ended == Ended::Interrupted);
        if again {
            self.checkpoint().map_err(|e| self.disk(&e))?;
        }
        self.summary.finish(self.simulation.raw_state(), self.simulation.stepper(), wall);
        let folder = self.options.out.clone();
        let mut finished = Finished {
            summary: self.summary,
            outcomes: self.expectations.finish(&ended),
            ended,
            state: self.simulation.raw_state().clone(),
            record: None,
        };
        let run = finished.to_json(self.loaded);
        if let Some(recorder) = self.recorder {
            finished.record = recorder
                .finish(&run)
                .map_err(|e| unwritable(folder.as_deref().unwrap_or(Path::new(".")), &e))?;
        }
        if let (Some(outputs), Some(folder)) = (self.outputs, &folder) {
            outputs.finish(&run).map_err(|e| unwritable(folder, &e))?;
            if finished.ended.is_whole() {
                let _ = std::fs::remove_file(checkpoint::path(folder));
            }
        }
        Ok(finished)
    }

    fn disk(&self, error: &io::Error) -> String {
        unwritable(&self.folder(), error)
    }
}

/// One clear message; what was written before is still there.
pub fn unwritable(folder: &Path, error: &io::Error) -> String {
    let message = signorini_record::run::unwritable(folder, error);
    if !checkpoint::path(folder).exists() {
        return message;
    }
    let go_on =
        format!("`signorini run --resume {}` goes on from the last checkpoint", folder.display());
    format!("{message}; nothing that was written is lost, {go_on}")
}
