//! What a run leaves in its folder: the record, tables, the summary.

mod append_file;
pub mod folder;
pub mod outputs;
pub mod recorder;
pub mod summary;
pub mod tables;

pub use outputs::Outputs;
pub use recorder::{Plan, Recorder};
pub use summary::{Ended, Occurrence, Summary};

use crate::record::head::About;
use serde_json::Value as Json;
use signorini_mechanics::scene::{Scene, State};
use signorini_mechanics::step::{Stepper, Verdict};
use std::io;
use std::path::Path;

/// Everything that is kept of a run, step by step: in a folder, or the record alone in memory.
pub struct RunRecord {
    summary: Summary,
    /// The tables; none in memory.
    outputs: Option<Outputs>,
    recorder: Recorder,
    /// Rows and frames are written every so many steps.
    every: u64,
}

/// How a run is recorded.
#[derive(Clone, Copy, Debug)]
pub struct Recording<'a> {
    /// What is said of it.
    pub about: About<'a>,
    /// How many steps it is expected to take.
    pub steps: u64,
    /// Every how many steps rows and frames are written.
    pub every: u64,
    /// Whether reactions.csv is written too.
    pub reactions: bool,
}

impl RunRecord {
    /// Begins a record in `folder`, which is made if need be, or in memory; the first frame is the
    /// present one.
    pub fn create(
        folder: Option<&Path>,
        recording: &Recording<'_>,
        (scene, stepper, state): (&Scene, &Stepper, &State),
    ) -> io::Result<RunRecord> {
        let outputs =
            folder.map(|folder| Outputs::create(folder, scene, recording.reactions)).transpose()?;
        let settings = &stepper.settings;
        let law = law_name(settings);
        let plan = Plan {
            folder,
            steps: recording.steps,
            every: recording.every,
            solver: settings.solver.name(),
            law,
        };
        let mut recorder = Recorder::begin(scene, &recording.about, &plan)?;
        recorder.frame(scene, stepper, state)?;
        let summary = Summary::new(scene, recording.about.t_end);
        Ok(RunRecord { summary, outputs, recorder, every: recording.every.max(1) })
    }

    /// Takes note of a step, which took `wall` seconds.
    pub fn step(
        &mut self,
        (scene, stepper, state): (&Scene, &Stepper, &State),
        verdict: &Verdict,
        wall: f64,
    ) -> io::Result<()> {
        self.summary.add(scene, verdict);
        self.summary.happened(scene, stepper, state);
        self.recorder.step(scene, verdict, &self.summary, wall)?;
        if self.summary.steps.is_multiple_of(self.every) {
            self.recorder.frame(scene, stepper, state)?;
            self.summary.keep(scene, verdict);
            if let Some(outputs) = &mut self.outputs {
                outputs.step(scene, stepper, state)?;
            }
        }
        Ok(())
    }

    /// The figures so far.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The bytes of the record as it stands; it goes on.
    pub fn bytes(
        &mut self,
        (scene, stepper, state): (&Scene, &Stepper, &State),
        about: &About<'_>,
        wall: f64,
    ) -> io::Result<Vec<u8>> {
        self.summary.finish(state, stepper, wall);
        let run = self.summary.run_json(scene, about, &Ended::Complete, Json::Array(Vec::new()));
        self.recorder.bytes(&run)
    }

    /// Ends the record: the tables take their names and run.json is written. The bytes of a record
    /// in memory are given back.
    pub fn finish(
        mut self,
        (scene, stepper, state): (&Scene, &Stepper, &State),
        about: &About<'_>,
        wall: f64,
    ) -> io::Result<Option<Vec<u8>>> {
        self.summary.finish(state, stepper, wall);
        let run = self.summary.run_json(scene, about, &Ended::Complete, Json::Array(Vec::new()));
        let bytes = self.recorder.finish(&run)?;
        self.outputs.map_or(Ok(()), |outputs| outputs.finish(&run))?;
        Ok(bytes)
    }
}

/// The friction law of a run, by name.
pub fn law_name(settings: &signorini_mechanics::step::Settings) -> &'static str {
    match settings.scheme.friction {
        signorini_mechanics::assemble::Friction::Cone => "cone",
        signorini_mechanics::assemble::Friction::Coulomb => "coulomb",
    }
}

/// One clear message about a folder that cannot be written.
pub fn unwritable(folder: &Path, error: &io::Error) -> String {
    let cure = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room there",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "make it writable, or choose another with --out"
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "a file is in the way: choose another folder with --out"
        }
        _ => "look at the folder",
    };
    format!("cannot write into {}: {error}: {cure}", folder.display())
}
