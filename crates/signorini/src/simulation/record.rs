//! Writes what `signorini run --out` writes.

use super::{Simulation, SimulationError};
use signorini_mechanics::step::Verdict;
use signorini_record::record::head::About;
use signorini_record::run::{self, RunFolder, tables, unwritable};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A record being written.
pub(super) struct Recording {
    folder: PathBuf,
    run: RunFolder,
    begun: Instant,
}

/// Rows and frames per second of simulated time, where the end of the run is not known.
const FRAMES_PER_SECOND: f64 = 100.0;

impl Simulation {
    /// Records from here on into a folder: record.bin (for `signorini view`, `picture`, `export`), bodies.csv, contacts.csv, motors.csv;
    /// [`Simulation::finish_recording`] adds run.json. A record that was being written before is finished.
    pub fn record_to(&mut self, folder: impl AsRef<Path>) -> Result<(), SimulationError> {
        let h = self.stepper.settings.h;
        let left = self.end_time.map(|end| ((end - self.time()) / h - 1e-9).ceil().max(1.0) as u64);
        let every = match left {
            Some(steps) => tables::stride(&self.scene, steps),
            None => (1.0 / (FRAMES_PER_SECOND * h)).round().max(1.0) as u64,
        };
        self.record_every(folder, every)
    }

    /// As [`Simulation::record_to`], with rows and frames every so many steps.
    pub fn record_every(&mut self, folder: impl AsRef<Path>, every: u64) -> Result<(), SimulationError> {
        self.finish_recording()?;
        let h = self.stepper.settings.h;
        let end = self.end_time.unwrap_or(self.time());
        let about = About { dt: h, t_end: end, ..About::default() };
        let steps = (((end - self.time()) / h) - 1e-9).ceil().max(1.0) as u64;
        let recording = run::Recording { about, steps, every: every.max(1), reactions: false };
        let folder = folder.as_ref();
        let run = RunFolder::create(folder, &recording, (&self.scene, &self.stepper, &self.state));
        let run = run.map_err(|e| SimulationError::Record(unwritable(folder, &e)))?;
        self.recording = Some(Recording { folder: folder.into(), run, begun: Instant::now() });
        Ok(())
    }

    /// Ends the record, if there is one: the tables take their names and run.json is written. Dropping a simulation does the same, but cannot
    /// say what went wrong.
    pub fn finish_recording(&mut self) -> Result<(), SimulationError> {
        let Some(Recording { folder, run, begun }) = self.recording.take() else { return Ok(()) };
        let about = About { dt: self.stepper.settings.h, t_end: self.end_time.unwrap_or(self.time()), ..About::default() };
        let done = run.finish((&self.scene, &self.stepper, &self.state), &about, begun.elapsed().as_secs_f64());
        done.map_err(|e| SimulationError::Record(unwritable(&folder, &e)))
    }

    pub(super) fn record_step(&mut self, verdict: &Verdict, wall: f64) -> Result<(), SimulationError> {
        let Some(recording) = &mut self.recording else { return Ok(()) };
        let written = recording.run.step((&self.scene, &self.stepper, &self.state), verdict, wall);
        written.map_err(|e| SimulationError::Record(unwritable(&recording.folder, &e)))
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        let _ = self.finish_recording();
    }
}
