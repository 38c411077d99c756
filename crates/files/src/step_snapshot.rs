//! Step snapshots: one step as one file, with everything needed to take it apart elsewhere.
//!
//! ```text
//! {"format": "signorini step", "version": 1, "scene": "stack", "step": 17, "time": 0.034, "dt": 0.002,
//!  "settings": {"solver": "auto", "tolerance": 1e-8, "velocity_tolerance": 1e-6, "work": null},
//!  "verdict": {…}, "hash": "…", "problem": {… with names, warm start as "guess", answer as "solution"}}
//! ```
//!
//! `hash` is that of the numbers of the problem and its warm start: a snapshot that was tampered
//! with, or lost digits on the way, says so.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use signorini_mechanics::scene::Scene;
use signorini_mechanics::step::{Settings, Stepper, Verdict};
use signorini_solve::problem::files::{FileError, Input, Stored, json};
use signorini_solve::problem::{Problem, Solution};
use signorini_solve::whole::write_whole;
use std::path::{Path, PathBuf};

const FORMAT: &str = "signorini step";
/// What the format was called before; still read.
const OLD_FORMAT: &str = "signorini capsule";
const VERSION: u32 = 1;

/// A step.
#[derive(Serialize, Deserialize)]
pub struct StepSnapshot {
    format: String,
    version: u32,
    /// The scene.
    pub scene: String,
    /// The step, from 1.
    pub step: u64,
    /// Time at its end, s.
    pub time: f64,
    /// Its length (of its last part, if it was divided), s.
    pub dt: f64,
    /// How it was solved.
    pub settings: Solved,
    /// What was said of it.
    pub verdict: Json,
    /// Of the numbers of the problem and its warm start.
    pub hash: String,
    problem: Json,
}

/// How a step was solved.
#[derive(Serialize, Deserialize)]
pub struct Solved {
    /// By which solver.
    pub solver: String,
    /// Largest relative error.
    pub tolerance: f64,
    /// Largest velocity error, m/s.
    pub velocity_tolerance: f64,
    /// Most work.
    pub work: Option<u64>,
}

/// Keeps the worst steps, and those asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorstSteps {
    worst: usize,
    steps: Vec<u64>,
    /// Relative error and step of those kept as worst, the worst first.
    kept: Vec<(f64, u64)>,
}

impl WorstSteps {
    /// Keeps the `worst` worst steps, and `steps`.
    pub fn new(worst: usize, steps: &[u64]) -> WorstSteps {
        WorstSteps { worst, steps: steps.to_vec(), kept: Vec::new() }
    }

    /// Writes a step into `folder` if it is to be kept; one that is displaced is removed.
    pub fn add(
        &mut self,
        k: u64,
        scene: &Scene,
        (stepper, verdict): (&Stepper, &Verdict),
        folder: &Path,
    ) -> std::io::Result<()> {
        let error =
            if verdict.error.relative().is_finite() { verdict.error.relative() } else { f64::MAX };
        let enters = self.worst > 0
            && verdict.rows > 0
            && (self.kept.len() < self.worst || self.kept.last().is_some_and(|(e, _)| error > *e));
        if !enters && !self.steps.contains(&k) {
            return Ok(());
        }
        std::fs::create_dir_all(folder)?;
        write_whole(&path(folder, k), snapshot(k, scene, stepper, verdict).as_bytes())?;
        if enters {
            let at = self.kept.partition_point(|(e, _)| *e >= error);
            self.kept.insert(at, (error, k));
            for (_, gone) in self.kept.split_off(self.worst.min(self.kept.len())) {
                if !self.steps.contains(&gone) {
                    let _ = std::fs::remove_file(path(folder, gone));
                }
            }
        }
        Ok(())
    }
}

/// The file of a step.
pub fn path(folder: &Path, step: u64) -> PathBuf {
    folder.join(format!("step-{step:07}.snapshot.json"))
}

fn snapshot(k: u64, scene: &Scene, stepper: &Stepper, verdict: &Verdict) -> String {
    let mut problem = stepper.assembly().problem.clone();
    problem.names = stepper.assembly().sources.iter().map(|s| s.name(scene)).collect();
    problem.name = format!("{} step {k}", scene.name);
    let Settings { solver, stop, .. } = &stepper.settings;
    let settings = Solved {
        solver: solver.name().into(),
        tolerance: stop.tolerance.relative,
        velocity_tolerance: stop.tolerance.velocity,
        work: stop.work,
    };
    let hash = hash(&problem, stepper.guess());
    let text =
        json::write(&Input::Problem(problem), Some(stepper.solution()), Some(stepper.guess()));
    let snapshot = StepSnapshot {
        format: FORMAT.into(),
        version: VERSION,
        scene: scene.name.clone(),
        step: k,
        time: verdict.time,
        dt: stepper.present().h,
        settings,
        verdict: verdict.to_json(scene),
        hash,
        problem: serde_json::from_str(&text).expect("our own JSON can be read"),
    };
    serde_json::to_string(&snapshot).expect("plain data can be written")
}

/// FNV-1a over the bits of every number.
fn hash(problem: &Problem, guess: &Solution) -> String {
    let lists = [
        &problem.H.values,
        &problem.k,
        &problem.J.values,
        &problem.E,
        &problem.w,
        &guess.v,
        &guess.r,
    ];
    let all = lists.into_iter().flatten();
    let hash = all.fold(0xcbf2_9ce4_8422_2325u64, |h, x| {
        (h ^ x.to_bits()).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(17)
    });
    format!("{hash:016x}")
}

/// The snapshot in a file's bytes, and its problem; none if the file is something else.
pub fn read(bytes: &[u8]) -> Option<Result<(StepSnapshot, Stored), FileError>> {
    let value: Json = serde_json::from_slice(bytes).ok()?;
    if ![Some(FORMAT), Some(OLD_FORMAT)].contains(&value.get("format").and_then(Json::as_str)) {
        return None;
    }
    Some(unpack(value))
}

fn unpack(value: Json) -> Result<(StepSnapshot, Stored), FileError> {
    let snapshot: StepSnapshot = serde_json::from_value(value).map_err(|e| {
        FileError::unexpected("the step snapshot", format!("'{e}'"), "a whole snapshot")
    })?;
    if snapshot.version != VERSION {
        return Err(FileError::unexpected("version", snapshot.version, VERSION));
    }
    let stored = json::read(snapshot.problem.to_string().as_bytes())?;
    if let (Input::Problem(problem), Some(guess)) = (&stored.input, &stored.guess) {
        let found = hash(problem, guess);
        if found != snapshot.hash {
            return Err(FileError::unexpected(
                "hash",
                found,
                format!("{}: the snapshot was changed after it was written", snapshot.hash),
            ));
        }
    }
    Ok((snapshot, stored))
}
