//! Checkpoints: everything that a run needs to go on as if it had never stopped.
//!
//! The state (with the reactions that the next step begins from), the figures so far, the facts
//! found, the kept steps, and the length of every table. The file is written beside its place, put
//! on the disk and then renamed: whoever looks finds the old one or the new one, whole.

use super::Options;
use super::record::Recorded;
use super::summary::Summary;
use serde::{Deserialize, Serialize};
use signorini::scene::State;
use signorini::whole::write_whole;
use signorini_files::bounded;
use signorini_files::scenefile::Loaded;
use signorini_files::step_snapshot::WorstSteps;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const NAME: &str = "checkpoint.json";
const FORMAT: &str = "signorini checkpoint";
const VERSION: u32 = 2;

/// Where a run stands.
#[derive(Serialize, Deserialize)]
pub struct Checkpoint {
    format: String,
    version: u32,
    /// The scene as it was named on the command line.
    pub scene: String,
    /// How it is run.
    pub options: Options,
    /// Of the scene's contents.
    pub fingerprint: String,
    /// What changes.
    pub state: State,
    /// Figures.
    pub summary: Summary,
    /// Facts found.
    pub facts: Vec<Option<f64>>,
    /// Steps kept.
    #[serde(alias = "keeper")]
    pub worst_steps: WorstSteps,
    /// Names and lengths of the tables.
    pub tables: Vec<(String, u64)>,
    /// Where the record stood.
    pub record: Option<Recorded>,
}

/// Everything of a checkpoint that does not stay the same.
pub struct RunState<'a> {
    /// What changes.
    pub state: &'a State,
    /// Figures.
    pub summary: &'a Summary,
    /// Facts found.
    pub facts: Vec<Option<f64>>,
    /// Steps kept.
    pub worst_steps: &'a WorstSteps,
    /// Names and lengths of the tables.
    pub tables: Vec<(String, u64)>,
    /// Where the record stood.
    pub record: Option<Recorded>,
}

impl Checkpoint {
    /// The checkpoint of a run.
    pub fn new(loaded: &Loaded, options: &Options, now: RunState<'_>) -> Checkpoint {
        Checkpoint {
            format: FORMAT.into(),
            version: VERSION,
            scene: loaded.source.clone(),
            options: options.clone(),
            fingerprint: fingerprint(loaded),
            state: now.state.clone(),
            summary: now.summary.clone(),
            facts: now.facts,
            worst_steps: now.worst_steps.clone(),
            tables: now.tables,
            record: now.record,
        }
    }

    /// Writes it into a folder.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        write_whole(&path(folder), &serde_json::to_vec(self).map_err(io::Error::other)?)
    }

    /// The checkpoint of a folder; none if there is no file.
    pub fn read(folder: &Path) -> Result<Option<Checkpoint>, String> {
        let path = path(folder);
        if fs::symlink_metadata(&path).is_err_and(|e| e.kind() == io::ErrorKind::NotFound) {
            return Ok(None);
        }
        let bytes = bounded::bytes(&path, bounded::PROBLEM)
            .map_err(|e| format!("cannot read {}: {e}", path.display()))?;
        Checkpoint::from_bytes(&bytes, &path).map(Some)
    }

    /// The checkpoint in the bytes of a file; `path` is what it is called in messages.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Checkpoint, String> {
        let checkpoint: Checkpoint = serde_json::from_slice(bytes)
            .map_err(|e| format!("{} is no checkpoint: {e}", path.display()))?;
        if checkpoint.format != FORMAT || checkpoint.version != VERSION {
            return Err(format!(
                "{}: found {} version {}, wanted {FORMAT} version {VERSION}",
                path.display(),
                checkpoint.format,
                checkpoint.version
            ));
        }
        Ok(checkpoint)
    }

    /// Whether a scene is the one that was interrupted, and the state one of this scene; the
    /// message names the file.
    pub fn fits(&self, loaded: &Loaded, folder: &Path) -> Result<(), String> {
        if fingerprint(loaded) == self.fingerprint {
            return self
                .state
                .fits(&loaded.scene)
                .map_err(|why| format!("{} is damaged: {why}", path(folder).display()));
        }
        Err(format!(
            "the scene `{}` was changed since the checkpoint: begin again, or bring it back as it \
                was",
            self.scene
        ))
    }
}

/// Where the checkpoint of a folder is.
pub fn path(folder: &Path) -> PathBuf {
    folder.join(NAME)
}

/// FNV-1a over everything that the scene says.
fn fingerprint(loaded: &Loaded) -> String {
    let text = format!("{:?}", loaded.scene);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, b| {
        (hash ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}
