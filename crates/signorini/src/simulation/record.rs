//! Records a run as `signorini run --out` does, or in memory.

use super::{Simulation, SimulationError};
use signorini_mechanics::step::Verdict;
use signorini_record::record::head::About;
use signorini_record::run::{self, RunRecord, tables, unwritable};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A record being written.
pub(super) struct Recording {
    /// None in memory.
    folder: Option<PathBuf>,
    run: RunRecord,
    begun: Instant,
}

/// Rows and frames per second of simulated time, where the end of the run is not known.
const FRAMES_PER_SECOND: f64 = 100.0;

impl Simulation {
    /// Records from here on into a folder: record.bin (for `signorini view`, `picture`, `export`),
    /// bodies.csv, contacts.csv, motors.csv; [`Simulation::finish_recording`] adds run.json. A
    /// record that was being written before is finished.
    pub fn record_to(&mut self, folder: impl AsRef<Path>) -> Result<(), SimulationError> {
        self.begin_recording(Some(folder.as_ref()), None)
    }

    /// As [`Simulation::record_to`], with rows and frames every so many steps.
    pub fn record_every(
        &mut self,
        folder: impl AsRef<Path>,
        every: u64,
    ) -> Result<(), SimulationError> {
        self.begin_recording(Some(folder.as_ref()), Some(every))
    }

    /// Records from here on in memory, for [`Simulation::recorded`]; `every`: frames every so many
    /// steps.
    pub fn record_in_memory(&mut self, every: Option<u64>) -> Result<(), SimulationError> {
        self.begin_recording(None, every)
    }

    /// Reads the meshes that bodies are drawn by, if that was not done yet; says which cannot be
    /// read and are not drawn. A record does this when it begins.
    pub fn load_visuals(&mut self) -> Vec<String> {
        #[cfg(feature = "files")]
        return signorini_files::visual::load(&mut self.scene);
        #[cfg(not(feature = "files"))]
        Vec::new()
    }

    /// Frames every so many steps, unless it is said how many: about 600 to the end of the file,
    /// else 100 per second.
    fn stride(&self) -> u64 {
        let h = self.stepper.settings.h;
        let left = self.end_time.map(|end| ((end - self.time()) / h - 1e-9).ceil().max(1.0) as u64);
        match left {
            Some(steps) => tables::stride(&self.scene, steps),
            None => (1.0 / (FRAMES_PER_SECOND * h)).round().max(1.0) as u64,
        }
    }

    fn begin_recording(
        &mut self,
        folder: Option<&Path>,
        every: Option<u64>,
    ) -> Result<(), SimulationError> {
        self.finish_recording()?;
        self.load_visuals();
        let every = every.unwrap_or_else(|| self.stride()).max(1);
        let h = self.stepper.settings.h;
        let end = self.end_time.unwrap_or(self.time());
        let about = About { dt: h, t_end: end, ..About::default() };
        let steps = (((end - self.time()) / h) - 1e-9).ceil().max(1.0) as u64;
        let recording = run::Recording { about, steps, every, reactions: false };
        let run = RunRecord::create(folder, &recording, (&self.scene, &self.stepper, &self.state));
        let run = run.map_err(|e| unwritten(folder, &e))?;
        self.recording =
            Some(Recording { folder: folder.map(Path::to_path_buf), run, begun: Instant::now() });
        Ok(())
    }

    /// The bytes of the record as it stands; none unless it is being written.
    /// [`signorini_record::record::Record`] reads them.
    pub fn recorded(&mut self) -> Result<Option<Vec<u8>>, SimulationError> {
        let Some(Recording { folder, run, begun }) = &mut self.recording else { return Ok(None) };
        let about = About {
            dt: self.stepper.settings.h,
            t_end: self.end_time.unwrap_or(self.state.time),
            ..About::default()
        };
        let bytes = run.bytes(
            (&self.scene, &self.stepper, &self.state),
            &about,
            begun.elapsed().as_secs_f64(),
        );
        bytes.map(Some).map_err(|e| unwritten(folder.as_deref(), &e))
    }

    /// Ends the record, if there is one: the tables take their names and run.json is written; the
    /// bytes of one in memory are given back. Dropping a simulation does the same, but cannot say
    /// what went wrong.
    pub fn finish_recording(&mut self) -> Result<Option<Vec<u8>>, SimulationError> {
        let Some(Recording { folder, run, begun }) = self.recording.take() else { return Ok(None) };
        let about = About {
            dt: self.stepper.settings.h,
            t_end: self.end_time.unwrap_or(self.time()),
            ..About::default()
        };
        let done = run.finish(
            (&self.scene, &self.stepper, &self.state),
            &about,
            begun.elapsed().as_secs_f64(),
        );
        done.map_err(|e| unwritten(folder.as_deref(), &e))
    }

    pub(super) fn record_step(
        &mut self,
        verdict: &Verdict,
        wall: f64,
    ) -> Result<(), SimulationError> {
        let Some(recording) = &mut self.recording else { return Ok(()) };
        let written = recording.run.step((&self.scene, &self.stepper, &self.state), verdict, wall);
        written.map_err(|e| unwritten(recording.folder.as_deref(), &e))
    }
}

fn unwritten(folder: Option<&Path>, error: &std::io::Error) -> SimulationError {
    SimulationError::Record(
        folder.map_or_else(|| error.to_string(), |folder| unwritable(folder, error)),
    )
}

impl Drop for Simulation {
    fn drop(&mut self) {
        let _ = self.finish_recording();
    }
}
