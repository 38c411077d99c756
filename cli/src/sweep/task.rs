//! One run of a sweep: from its beginning or its checkpoint to its row.
//!
//! ```text
//!   DIR/manifest.jsonl          one line per finished run
//!   DIR/table.csv               the same as a table
//!   DIR/runs/KEY.json           the row of a run: there once the run is finished
//!   DIR/runs/KEY.npz            its trajectory: time, poses, velocities, error, and every measured figure (numpy)
//!   DIR/runs/KEY.checkpoint     where a run stands that was interrupted
//! ```

use super::npz;
use super::samples::Sample;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use signorini::Simulation;
use signorini::prelude::Figure;
use signorini::whole::{write_quickly, write_whole};
use signorini_files::bounded;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Moments of a run that its trajectory keeps, at most.
const MAX_TRAJECTORY_FRAMES: u64 = 200;
/// Numbers of its trajectory, at most: 160 MB.
const MAX_TRAJECTORY_NUMBERS: u64 = 20_000_000;

/// What is done with one sample.
#[derive(Clone, Debug)]
pub struct Task {
    /// Of everything that the result depends on.
    pub key: String,
    /// The parameters.
    pub params: Sample,
    /// When the run ends, s.
    pub t_end: f64,
    /// Figures at the end of the run, by name ([`Figure`]).
    pub measure: Vec<String>,
    /// The folder of the sweep; none keeps nothing.
    pub folder: Option<PathBuf>,
    /// Wall time between checkpoints, s.
    pub checkpoint: f64,
}

/// What came out of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Of everything that it depends on.
    pub key: String,
    /// The parameters.
    pub params: Sample,
    /// `done` or `failed`.
    pub status: String,
    /// Why it failed.
    pub message: String,
    /// The measured figures.
    pub values: Map<String, Json>,
    /// Steps taken.
    pub steps: u64,
    /// How many of them were not accepted.
    pub not_accepted: u64,
    /// The error of the worst step, J, relative to its energy scale, and who is to blame; none
    /// without steps.
    #[serde(rename = "error_J")]
    pub error_joule: Option<f64>,
    /// The same relative to the energy scale.
    pub error_relative: Option<f64>,
    /// Who is to blame.
    pub culprit: Option<String>,
    /// Of the last state: the same on every machine.
    pub hash: String,
}

impl Row {
    /// The row of a run that did not begin.
    pub fn failed(key: &str, params: &Sample, message: &str) -> Row {
        let (key, params, message) = (key.into(), params.clone(), message.into());
        let (status, hash) = ("failed".into(), String::new());
        let (error_joule, error_relative, culprit) = (None, None, None);
        Row {
            key,
            params,
            status,
            message,
            values: Map::new(),
            steps: 0,
            not_accepted: 0,
            error_joule,
            error_relative,
            culprit,
            hash,
        }
    }

    /// The row of a run that is finished, if it is.
    pub fn read(folder: &Path, key: &str) -> Option<Row> {
        let bytes = bounded::bytes(&file(folder, key, "json"), bounded::PROBLEM).ok()?;
        serde_json::from_slice::<Row>(&bytes).ok().filter(|row| row.key == key)
    }

    /// The run is finished: its row is there, its checkpoint is not.
    pub fn write(&self, folder: &Path) -> Result<(), String> {
        let path = file(folder, &self.key, "json");
        let text = serde_json::to_vec(self).map_err(|e| e.to_string())?;
        write_whole(&path, &text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        let _ = std::fs::remove_file(file(folder, &self.key, "checkpoint"));
        Ok(())
    }
}

/// A file of a run.
fn file(folder: &Path, key: &str, ending: &str) -> PathBuf {
    folder.join("runs").join(format!("{key}.{ending}"))
}

/// How far a run is, beside the state itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Progress {
    key: String,
    steps: u64,
    not_accepted: u64,
    worst: Option<(f64, f64, String)>,
    /// One row of numbers per kept moment.
    frames: Vec<Vec<f64>>,
}

#[derive(Serialize, Deserialize)]
struct Checkpoint {
    /// `course` is what it was called before.
    #[serde(alias = "course")]
    progress: Progress,
    /// [`Simulation::save`]: JSON.
    state: String,
}

/// Why a run has no row yet.
#[derive(Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// It was asked to stop; the next one goes on where it stands.
    Stopped,
    /// Something cannot be written.
    Disk(String),
}

/// Takes a simulation from its beginning, or from the checkpoint of this task, to the end. `go_on`
/// is asked after every step.
///
/// The row is not written yet: [`Row::write`].
pub fn drive(
    sim: &mut Simulation,
    task: &Task,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Row, Unfinished> {
    let failed = |message: String| Ok(Row::failed(&task.key, &task.params, &message));
    let figures = task
        .measure
        .iter()
        .map(|name| Figure::named(name, sim.scene()))
        .collect::<Result<Vec<_>, _>>();
    let figures = match figures {
        Ok(figures) => figures,
        Err(why) => return failed(why.to_string()),
    };
    let mut progress = resumed(sim, task).unwrap_or_default();
    let h = sim.settings().h;
    let frames = (MAX_TRAJECTORY_NUMBERS / (13 * sim.scene().bodies.len() as u64 + 1))
        .clamp(1, MAX_TRAJECTORY_FRAMES);
    let every = (((task.t_end / h) - 1e-9).ceil().max(1.0) as u64).div_ceil(frames).max(1);
    if progress.frames.is_empty() {
        progress.frames.push(frame(sim, &figures, 0.0));
    }
    let mut saved = Instant::now();
    while !sim.reached(task.t_end) {
        let verdict = match sim.step() {
            Ok(verdict) => verdict,
            Err(why) => {
                let partly = Row {
                    steps: progress.steps,
                    not_accepted: progress.not_accepted,
                    ..row(sim, task, &progress)
                };
                return Ok(Row { status: "failed".into(), message: why.to_string(), ..partly });
            }
        };
        progress.steps += 1;
        progress.not_accepted += u64::from(!verdict.accepted);
        let relative = verdict.error.relative();
        if progress.worst.as_ref().is_none_or(|w| relative > w.1) {
            progress.worst = Some((verdict.error.joule, relative, verdict.worst_name(sim.scene())));
        }
        if progress.steps.is_multiple_of(every) {
            progress.frames.push(frame(sim, &figures, verdict.error.joule));
        }
        let asked = go_on();
        if !asked
            || saved.elapsed()
                > Duration::try_from_secs_f64(task.checkpoint).unwrap_or(Duration::MAX)
        {
            keep(sim, task, &progress).map_err(Unfinished::Disk)?;
            saved = Instant::now();
        }
        if !asked {
            return Err(Unfinished::Stopped);
        }
    }
    finish(sim, task, &progress, &figures)
}

fn finish(
    sim: &Simulation,
    task: &Task,
    progress: &Progress,
    figures: &[Figure],
) -> Result<Row, Unfinished> {
    let mut row = row(sim, task, progress);
    for (name, figure) in task.measure.iter().zip(figures) {
        let values = figure.values(sim);
        row.values
            .insert(name.clone(), if let [one] = values[..] { json!(one) } else { json!(values) });
    }
    if let Some(folder) = &task.folder {
        let path = file(folder, &task.key, "npz");
        let bytes = npz::pack(&arrays(sim, task, progress, figures));
        write_quickly(&path, &bytes)
            .map_err(|e| Unfinished::Disk(format!("cannot write {}: {e}", path.display())))?;
    }
    Ok(row)
}

fn row(sim: &Simulation, task: &Task, progress: &Progress) -> Row {
    let worst = progress.worst.as_ref();
    Row {
        status: "done".into(),
        steps: progress.steps,
        not_accepted: progress.not_accepted,
        error_joule: worst.map(|w| w.0),
        error_relative: worst.map(|w| w.1),
        culprit: worst.map(|w| w.2.clone()),
        hash: format!("{:016x}", sim.raw_state().hash()),
        ..Row::failed(&task.key, &task.params, "")
    }
}

/// Time, error, poses, velocities and figures of the present moment.
fn frame(sim: &Simulation, figures: &[Figure], joule: f64) -> Vec<f64> {
    let state = sim.state();
    let mut out = vec![state.time, joule];
    out.extend(state.poses);
    out.extend(state.velocities);
    figures.iter().for_each(|figure| out.extend(figure.values(sim)));
    out
}

/// The columns of the frames as named arrays.
fn arrays(
    sim: &Simulation,
    task: &Task,
    progress: &Progress,
    figures: &[Figure],
) -> Vec<npz::Array> {
    let bodies = sim.scene().bodies.len();
    let mut columns: Vec<(String, Vec<usize>)> = vec![
        ("time".into(), vec![]),
        ("error_J".into(), vec![]),
        ("poses".into(), vec![bodies, 7]),
        ("velocities".into(), vec![bodies, 6]),
    ];
    for (name, figure) in task.measure.iter().zip(figures) {
        columns.push((name.clone(), if figure.size() > 1 { vec![figure.size()] } else { vec![] }));
    }
    let mut first = 0;
    let mut out = Vec::new();
    for (name, shape) in columns {
        let width: usize = shape.iter().product();
        let data =
            progress.frames.iter().flat_map(|f| f[first..first + width].iter().copied()).collect();
        let shape = [progress.frames.len()].into_iter().chain(shape).collect();
        first += width;
        if out.iter().all(|array: &npz::Array| array.name != name) {
            out.push(npz::Array { name, shape, data });
        }
    }
    out
}

fn keep(sim: &Simulation, task: &Task, progress: &Progress) -> Result<(), String> {
    let Some(folder) = &task.folder else { return Ok(()) };
    let state = String::from_utf8(sim.save()).map_err(|e| e.to_string())?;
    let progress = Progress { key: task.key.clone(), ..progress.clone() };
    let bytes = serde_json::to_vec(&Checkpoint { progress, state }).map_err(|e| e.to_string())?;
    let path = file(folder, &task.key, "checkpoint");
    write_quickly(&path, &bytes).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

/// Goes to the checkpoint of this task, if there is one that fits.
fn resumed(sim: &mut Simulation, task: &Task) -> Option<Progress> {
    let path = file(task.folder.as_ref()?, &task.key, "checkpoint");
    let bytes = bounded::bytes(&path, bounded::PROBLEM).ok()?;
    let Checkpoint { progress, state } = serde_json::from_slice(&bytes).ok()?;
    let width = frame(sim, &figures(task, sim), 0.0).len();
    let fits = progress.key == task.key && progress.frames.iter().all(|f| f.len() == width);
    (fits && sim.restore(state.as_bytes()).is_ok()).then_some(progress)
}

fn figures(task: &Task, sim: &Simulation) -> Vec<Figure> {
    task.measure.iter().filter_map(|name| Figure::named(name, sim.scene()).ok()).collect()
}
