//! Records a run: what the report, the live view and the pictures are made of.

mod frame;
mod soft;

use super::summary::Summary;
use crate::record::frame::{self as frames, Frame};
use crate::record::head::{About, Head};
use crate::record::{FILE, History, MAGIC, Step, channels, steps, write_chunk};
use glam::DVec3;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use signorini_mechanics::scene::{Quantity, Scene};
use signorini_mechanics::step::Verdict;
use signorini_solve::problem::error::PreparedProblem;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Rows of the plots that are kept at most: beyond, the worst of every few steps stands for them.
const MAX_PLOT_ROWS: u64 = 20_000;
/// Packed bytes that frames may take: beyond half of it every second frame is kept, beyond three
/// quarters every fourth, and so on.
const MAX_FRAME_BYTES: u64 = 48 << 20;
/// Frames of a chunk.
const FRAMES_PER_CHUNK: usize = 16;
/// After this many frames a chunk stands alone again, so that one moment is found without reading
/// all before it.
const FRAMES_BETWEEN_KEY_CHUNKS: u64 = 32;
/// Rows of the plots of a chunk.
const PLOT_ROWS_PER_CHUNK: usize = 1024;
/// Whoever watches waits no longer than this for what is there.
const FLUSH_INTERVAL: Duration = Duration::from_millis(500);

/// How a run is to be recorded.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// The folder that gets the record; without one it stays in memory.
    pub folder: Option<&'a Path>,
    /// Steps of the run.
    pub steps: u64,
    /// Every how many steps a frame is kept.
    pub every: u64,
    /// The solver asked for.
    pub solver: &'a str,
    /// The friction law.
    pub law: &'a str,
}

/// Where the record goes.
enum Output {
    Folder(File),
    Memory(Vec<u8>),
}

impl Output {
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Output::Folder(file) => file,
            Output::Memory(bytes) => bytes,
        }
    }
}

/// A record being written.
pub struct Recorder {
    output: Output,
    head: Head,
    frames: Vec<Frame>,
    /// What the channels measure, and a row for each frame.
    channels: Vec<Quantity>,
    channel_rows: Vec<Vec<f32>>,
    /// The last frame that was written, and how many were since a chunk stood alone.
    last: Option<Frame>,
    since: u64,
    rows: Vec<Step>,
    /// The method of the last step.
    solver: &'static str,
    /// The worst of the steps since the last row.
    worst: Option<Step>,
    names: HashMap<String, usize>,
    new_names: Vec<String>,
    histories: Vec<History>,
    prepared: PreparedProblem,
    /// Packed bytes of frames so far; where thinning begins anew; every which frame is kept.
    written: u64,
    limit: u64,
    thin: u64,
    seen: u64,
    flushed: Instant,
    /// For each body, where joints hold it, in its frame.
    held: Vec<Vec<DVec3>>,
    /// The corners of the room that bodies on joints pass through, and of what moves at the
    /// beginning.
    room: [DVec3; 2],
}

/// What a checkpoint knows of a record: how long it was, and what the rest of it depends on.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recorded {
    length: u64,
    names: Vec<String>,
    worst: Option<Vec<u32>>,
    written: u64,
    limit: u64,
    thin: u64,
    seen: u64,
    room: [DVec3; 2],
}

impl Recorder {
    /// Begins a record of a scene.
    pub fn begin(scene: &Scene, about: &About<'_>, plan: &Plan<'_>) -> io::Result<Recorder> {
        let mut output = match plan.folder {
            Some(folder) => {
                std::fs::create_dir_all(folder)?;
                let path = folder.join(FILE);
                let file = OpenOptions::new()
                    .read(true)
                    .write(true)
                    .create(true)
                    .truncate(true)
                    .open(path)?;
                Output::Folder(file)
            }
            None => Output::Memory(Vec::new()),
        };
        let head = head(scene, about, plan);
        output.writer().write_all(MAGIC)?;
        write_chunk(output.writer(), b"HEAD", &serde_json::to_vec(&head)?)?;
        Ok(Recorder::new(scene, head, output))
    }

    /// Goes on with the record of a folder; what came after the checkpoint is cut off.
    pub fn resume(
        scene: &Scene,
        about: &About<'_>,
        plan: &Plan<'_>,
        from: &Recorded,
    ) -> io::Result<Recorder> {
        let path = plan.folder.unwrap_or(Path::new(".")).join(FILE);
        let mut file = OpenOptions::new().read(true).write(true).open(path)?;
        if file.metadata()?.len() < from.length {
            return Err(io::Error::other(format!(
                "{FILE} is shorter than at the checkpoint: was it changed?"
            )));
        }
        file.set_len(from.length)?;
        file.seek(SeekFrom::End(0))?;
        let mut recorder = Recorder::new(scene, head(scene, about, plan), Output::Folder(file));
        recorder.names = from.names.iter().cloned().zip(0..).collect();
        recorder.worst = from.worst.as_deref().map(Step::from_row);
        (recorder.written, recorder.limit, recorder.thin, recorder.seen) =
            (from.written, from.limit, from.thin.max(1), from.seen);
        recorder.room = from.room;
        Ok(recorder)
    }

    /// Puts everything on the disk. The next frames stand alone, as they would in a run that is
    /// taken up here.
    pub fn sync(&mut self) -> io::Result<Recorded> {
        self.flush()?;
        (self.last, self.since) = (None, 0);
        let length = match &self.output {
            Output::Folder(file) => {
                // A device has no data to keep.
                let _ = file.sync_data();
                file.metadata()?.len()
            }
            Output::Memory(bytes) => bytes.len() as u64,
        };
        let mut names: Vec<(&String, usize)> =
            self.names.iter().map(|(name, place)| (name, *place)).collect();
        names.sort_by_key(|(_, place)| *place);
        Ok(Recorded {
            length,
            names: names.into_iter().map(|(name, _)| name.clone()).collect(),
            worst: self.worst.map(|step| step.row()),
            written: self.written,
            limit: self.limit,
            thin: self.thin,
            seen: self.seen,
            room: self.room,
        })
    }

    fn new(scene: &Scene, head: Head, output: Output) -> Recorder {
        let room = head.bounds.map(DVec3::from_array);
        Recorder {
            output,
            head,
            frames: Vec::new(),
            channels: channels::of(scene).into_iter().map(|(_, quantity)| quantity).collect(),
            channel_rows: Vec::new(),
            last: None,
            since: 0,
            rows: Vec::new(),
            solver: "",
            worst: None,
            names: HashMap::new(),
            new_names: Vec::new(),
            histories: Vec::new(),
            prepared: PreparedProblem::default(),
            written: 0,
            limit: MAX_FRAME_BYTES / 2,
            thin: 1,
            seen: 0,
            flushed: Instant::now(),
            held: held(scene),
            room,
        }
    }

    /// Takes note of a step, which took `wall` seconds; `summary` has it already.
    pub fn step(
        &mut self,
        scene: &Scene,
        verdict: &Verdict,
        summary: &Summary,
        wall: f64,
    ) -> io::Result<()> {
        let (worst, solver) =
            (self.name(verdict.worst_name(scene)), self.name(solver_name(verdict).into()));
        self.solver = solver_name(verdict);
        let error = &verdict.error;
        self.row(
            Step {
                joule: error.joule as f32,
                relative: error.relative() as f32,
                estimate: error.estimate as f32,
                velocity: error.velocity as f32,
                scheme_metre: verdict.scheme.map_or(f32::NAN, |e| e.metre as f32),
                scheme_joule: verdict.scheme.map_or(f32::NAN, |e| e.joule as f32),
                event: f32::from(u8::from(
                    verdict.impact || verdict.scheme.is_some_and(|e| e.event),
                )),
                worst,
                solver,
                work: verdict.work as f32,
                accepted: f32::from(u8::from(verdict.accepted)),
                penetration: verdict.penetration as f32,
                contacts: verdict.contacts as f32,
                rows: verdict.rows as f32,
                substeps: verdict.substeps as f32,
                ..of_run(summary, wall)
            },
            summary.steps,
        )
    }

    /// Takes note of a step of an integrator that is no solver.
    pub fn smooth(&mut self, told: &Smooth<'_>, summary: &Summary, wall: f64) -> io::Result<()> {
        let (worst, solver) = (self.name(told.worst.into()), self.name(told.method.into()));
        self.row(
            Step {
                joule: told.joule as f32,
                relative: told.relative as f32,
                velocity: told.rate as f32,
                scheme_metre: f32::NAN,
                scheme_joule: f32::NAN,
                worst,
                solver,
                work: told.evaluations as f32,
                accepted: 1.0,
                rows: told.rows as f32,
                substeps: 1.0,
                ..of_run(summary, wall)
            },
            summary.steps,
        )
    }

    fn row(&mut self, row: Step, number: u64) -> io::Result<()> {
        if self.worst.is_none_or(|w| row.relative >= w.relative) {
            self.worst = Some(row);
        }
        if number.is_multiple_of(self.head.step_every) {
            self.rows.extend(self.worst.take());
        }
        let due = self.rows.len() >= PLOT_ROWS_PER_CHUNK || self.flushed.elapsed() > FLUSH_INTERVAL;
        if due { self.flush() } else { Ok(()) }
    }

    /// The bytes of the record as it stands, with the summary of the run so far; the record goes
    /// on.
    pub fn bytes(&mut self, run: &Json) -> io::Result<Vec<u8>> {
        self.rows.extend(self.worst.take());
        self.flush()?;
        let mut bytes = match &mut self.output {
            Output::Memory(bytes) => bytes.clone(),
            Output::Folder(file) => {
                let mut bytes = Vec::new();
                file.seek(SeekFrom::Start(0))?;
                file.read_to_end(&mut bytes)?;
                bytes
            }
        };
        write_chunk(&mut bytes, b"TAIL", &self.tail(run)?)?;
        Ok(bytes)
    }

    /// Ends the record with the summary of the run; gives it back if it went into memory.
    pub fn finish(mut self, run: &Json) -> io::Result<Option<Vec<u8>>> {
        self.rows.extend(self.worst.take());
        self.flush()?;
        let tail = self.tail(run)?;
        write_chunk(self.output.writer(), b"TAIL", &tail)?;
        Ok(match self.output {
            Output::Folder(_) => None,
            Output::Memory(bytes) => Some(bytes),
        })
    }

    /// The last chunk.
    fn tail(&self, run: &Json) -> io::Result<Vec<u8>> {
        let mut tail = run.clone();
        if let Some(object) = tail.as_object_mut() {
            // The steps of the record say more.
            object.remove("verdicts");
            object.insert("thinned".into(), json!(self.thin));
            object.insert("bounds".into(), json!(self.room.map(|corner| corner.to_array())));
        }
        Ok(serde_json::to_vec(&tail)?)
    }

    /// Writes what has gathered.
    fn flush(&mut self) -> io::Result<()> {
        let out = self.output.writer();
        if !self.new_names.is_empty() {
            write_chunk(out, b"NAME", &serde_json::to_vec(&self.new_names)?)?;
        }
        if !self.rows.is_empty() {
            write_chunk(out, b"STEP", &steps::encode(&self.rows))?;
        }
        if !self.frames.is_empty() {
            let last = self.last.take().filter(|_| self.since < FRAMES_BETWEEN_KEY_CHUNKS);
            self.since = self.frames.len() as u64 + if last.is_some() { self.since } else { 0 };
            self.written +=
                write_chunk(out, b"FRAM", &frames::encode(&self.frames, last.as_ref()))?;
            self.last = self.frames.pop();
        }
        if !self.channel_rows.is_empty() {
            self.written += write_chunk(out, b"CHAN", &channels::encode(&self.channel_rows))?;
            self.channel_rows.clear();
        }
        if !self.histories.is_empty() {
            self.written += write_chunk(out, b"HIST", &serde_json::to_vec(&self.histories)?)?;
        }
        while self.written > self.limit {
            self.thin *= 2;
            self.limit += ((MAX_FRAME_BYTES - self.limit) / 2).max(1);
        }
        self.new_names.clear();
        self.rows.clear();
        self.frames.clear();
        self.histories.clear();
        self.flushed = Instant::now();
        Ok(())
    }

    fn name(&mut self, name: String) -> f32 {
        let next = self.names.len();
        let new_names = &mut self.new_names;
        let place = *self.names.entry(name).or_insert_with_key(|name| {
            new_names.push(name.clone());
            next
        });
        place as f32
    }
}

/// What exists, and how it is recorded.
fn head(scene: &Scene, about: &About<'_>, plan: &Plan<'_>) -> Head {
    let mut head = Head::of(scene, about, soft::bodies(scene));
    (head.steps, head.every, head.step_every) =
        (plan.steps, plan.every, plan.steps.div_ceil(MAX_PLOT_ROWS).max(1));
    (head.solver, head.law) = (plan.solver.into(), plan.law.into());
    head
}

/// What an integrator that is no solver says of a step.
pub struct Smooth<'a> {
    /// Energy in the velocity gaps of the joints, J.
    pub joule: f64,
    /// The same relative to the energy scale.
    pub relative: f64,
    /// Largest velocity gap, m/s or rad/s.
    pub rate: f64,
    /// Where that is.
    pub worst: &'a str,
    /// The integrator.
    pub method: &'static str,
    /// Evaluations of accelerations.
    pub evaluations: u64,
    /// Rows that were kept.
    pub rows: usize,
}

impl Smooth<'_> {
    /// A step without error: positions that follow their drivers.
    pub fn exact(method: &'static str) -> Smooth<'static> {
        Smooth {
            joule: 0.0,
            relative: 0.0,
            rate: 0.0,
            worst: "nothing",
            method,
            evaluations: 1,
            rows: 0,
        }
    }
}

/// Step, time and energies.
fn of_run(summary: &Summary, wall: f64) -> Step {
    let energy = &summary.energy;
    Step {
        step: summary.steps as f32,
        time: summary.time as f32,
        kinetic: energy.kinetic as f32,
        potential: energy.potential as f32,
        friction: energy.friction as f32,
        impact: energy.impact as f32,
        dampers: energy.dampers as f32,
        motors: energy.motors as f32,
        applied: energy.applied as f32,
        scheme: energy.scheme as f32,
        defect: energy.solver as f32,
        events: energy.events as f32,
        wall: wall as f32,
        ..Step::default()
    }
}

fn solver_name(verdict: &Verdict) -> &'static str {
    if verdict.rows > 0 { verdict.solver.name() } else { "free" }
}

/// Where joints hold each body, and its centre; nothing for others: what is on joints comes back,
/// what is not may fly away.
fn held(scene: &Scene) -> Vec<Vec<DVec3>> {
    let mut out = vec![Vec::new(); scene.bodies.len()];
    for joint in &scene.joints {
        for (body, frame) in [(joint.a, &joint.frame_a), (joint.b, &joint.frame_b)] {
            out[body.index()].extend([DVec3::ZERO, frame.position]);
        }
    }
    out
}
