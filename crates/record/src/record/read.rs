//! Reads a record; says what is wrong with a damaged one, and never asks for more memory than the
//! file is worth.

use super::{
    FILE, Frame, Head, History, MAGIC, MAX_CHUNK_BYTES, MAX_FILE_BYTES, Step, channels, frame,
    steps, words,
};
use glam::{DQuat, DVec3};
use serde_json::Value as Json;
use signorini_solve::math::pose::Pose;
use std::io::Read;
use std::path::Path;

/// Why a record cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// There is none.
    #[error("{folder}: no {FILE} there; `signorini run SCENE --out {folder}` writes one")]
    Missing {
        /// Where.
        folder: String,
    },
    /// It cannot be opened.
    #[error("{file}: {why}")]
    Unreadable {
        /// Which file.
        file: String,
        /// In the system's words.
        why: String,
    },
    /// It is larger than any record of this program.
    #[error("{file}: {megabytes} MB, but a record has at most {most} MB: this is none, or it is \
        damaged", most = MAX_FILE_BYTES >> 20)]
    Huge {
        /// Which file.
        file: String,
        /// How large it is.
        megabytes: u64,
    },
    /// It begins with something else.
    #[error("{file}: begins with something else than `signrec1`: not a record of a run")]
    Foreign {
        /// Which file.
        file: String,
    },
    /// A chunk that is not what it should be.
    #[error("{file}: damaged at byte {offset}: {what}")]
    Chunk {
        /// Which file.
        file: String,
        /// Where the chunk begins.
        offset: usize,
        /// What is wrong with it.
        what: String,
    },
}

/// A chunk of a record.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    tag: [u8; 4],
    offset: usize,
    raw: usize,
    packed: usize,
    /// Whether its frames are told by those of the chunk before.
    continues: bool,
}

/// A record in memory; frames are unpacked when they are asked for.
pub struct Record {
    /// What exists.
    pub head: Head,
    /// The summary; none as long as the run goes on, or if it broke off.
    pub tail: Option<Json>,
    /// Steps.
    pub steps: Vec<Step>,
    /// Names of constraints and methods.
    pub names: Vec<String>,
    /// How the solver came to its answers.
    pub histories: Vec<History>,
    /// What the channels of the head gave, one row per frame.
    pub channels: Vec<Vec<f32>>,
    /// Time of each frame, s, its chunk and its place there.
    frames: Vec<(f64, usize, usize)>,
    chunks: Vec<Chunk>,
    bytes: Vec<u8>,
    file: String,
    /// The chunk that was unpacked last.
    open: Option<(usize, Vec<Frame>)>,
}

/// A contact of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Touch {
    /// Its two bodies.
    pub bodies: [u32; 2],
    /// Where, m.
    pub point: DVec3,
    /// From the first body to the second.
    pub normal: DVec3,
    /// Force on the second body, N.
    pub force: DVec3,
}

/// A frame in metres and seconds.
pub struct Moment {
    /// Time, s.
    pub time: f64,
    /// Pose of every body of the head.
    pub poses: Vec<Pose>,
    /// Velocity of every body's centre of mass, m/s.
    pub velocities: Vec<DVec3>,
    /// False for bodies that are not in the scene at this moment.
    pub there: Vec<bool>,
    /// Contacts that carry something.
    pub touches: Vec<Touch>,
    /// Nodes of each soft body, m, and their scalars if they have any.
    pub soft: Vec<(Vec<DVec3>, Vec<f64>)>,
}

impl Record {
    /// Reads the record of a folder of results.
    pub fn open(folder: &Path) -> Result<Record, Damage> {
        let path = if folder.is_file() { folder.to_path_buf() } else { folder.join(FILE) };
        Record::from_bytes(bytes(&path, folder)?, &path.display().to_string())
    }

    /// Reads a record from memory; `file` is what it is called in messages.
    pub fn from_bytes(bytes: Vec<u8>, file: &str) -> Result<Record, Damage> {
        if !bytes.starts_with(MAGIC) {
            return Err(Damage::Foreign { file: file.into() });
        }
        let mut record = Record {
            head: Head::default(),
            tail: None,
            steps: Vec::new(),
            names: Vec::new(),
            histories: Vec::new(),
            channels: Vec::new(),
            frames: Vec::new(),
            chunks: Vec::new(),
            bytes,
            file: file.into(),
            open: None,
        };
        record.walk()?;
        // At the end one knows which room the run took.
        let bounds = record
            .tail
            .as_ref()
            .and_then(|tail| serde_json::from_value::<[[f64; 3]; 2]>(tail["bounds"].clone()).ok());
        if let Some(bounds) = bounds.filter(|b| b.iter().flatten().all(|x| x.is_finite())) {
            record.head.bounds = bounds;
        }
        Ok(record)
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Times of the frames, s.
    pub fn times(&self) -> Vec<f64> {
        self.frames.iter().map(|f| f.0).collect()
    }

    /// The number of the frame nearest to a time.
    pub fn nearest(&self, time: f64) -> Option<usize> {
        let distance = |i: &usize| (self.frames[*i].0 - time).abs();
        (0..self.frames.len()).min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// A frame by its number.
    pub fn moment(&mut self, i: usize) -> Result<Moment, Damage> {
        let (_, k, place) = self.frames[i];
        if self.open.as_ref().is_none_or(|(open, _)| *open != k) {
            self.open = Some((k, self.open_chunk(k)?));
        }
        let frame = &self.open.as_ref().expect("it was just opened").1[place];
        Ok(moment(&self.head, frame))
    }

    fn damage(&self, chunk: &Chunk, what: impl Into<String>) -> Damage {
        Damage::Chunk { file: self.file.clone(), offset: chunk.offset, what: what.into() }
    }

    /// All chunks in order. What is not whole at the end is still being written.
    fn walk(&mut self) -> Result<(), Damage> {
        let mut offset = MAGIC.len();
        while let Some(header) = self.bytes.get(offset..offset + 12) {
            let number = |at: usize| {
                u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
                    as usize
            };
            let chunk = Chunk {
                tag: [header[0], header[1], header[2], header[3]],
                offset,
                raw: number(4),
                packed: number(8),
                continues: false,
            };
            if chunk.raw > MAX_CHUNK_BYTES || !chunk.tag.iter().all(u8::is_ascii_uppercase) {
                return Err(self.damage(&chunk, "there is no chunk here"));
            }
            if self.bytes.len() < offset + 12 + chunk.packed {
                break;
            }
            if (offset == MAGIC.len()) != (&chunk.tag == b"HEAD") {
                return Err(self.damage(&chunk, "the head must come first, and once"));
            }
            self.take(chunk)?;
            offset += 12 + chunk.packed;
        }
        if self.chunks.is_empty() {
            let whole = Chunk { tag: *b"HEAD", offset, raw: 0, packed: 0, continues: false };
            return Err(self.damage(&whole, "it ends before its head is whole"));
        }
        Ok(())
    }

    fn take(&mut self, chunk: Chunk) -> Result<(), Damage> {
        let k = self.chunks.len();
        self.chunks.push(chunk);
        match &chunk.tag {
            b"HEAD" => {
                self.head = self.json(&chunk)?;
                if let Some(fault) = self.head.fault() {
                    return Err(self.damage(&chunk, fault));
                }
            }
            b"TAIL" => self.tail = Some(self.json(&chunk)?),
            b"NAME" => {
                let names: Vec<String> = self.json(&chunk)?;
                self.names.extend(names);
            }
            b"HIST" => {
                let histories: Vec<History> = self.json(&chunk)?;
                self.histories.extend(histories);
            }
            b"STEP" => {
                let steps = steps::decode(&self.unpack(&chunk)?)
                    .ok_or_else(|| self.damage(&chunk, "steps that do not fit together"))?;
                self.steps.extend(steps);
            }
            b"CHAN" => {
                let rows = channels::decode(&self.unpack(&chunk)?, self.head.channels.len());
                self.channels.extend(
                    rows.ok_or_else(|| self.damage(&chunk, "channels that do not fit together"))?,
                );
            }
            b"FRAM" => {
                let raw = self.unpack(&chunk)?;
                self.chunks[k].continues = frame::continues(&raw);
                let before = self.open.take().and_then(|(_, frames)| frames.into_iter().last());
                let frames = self.frames_of(&chunk, &raw, before.as_ref())?;
                self.frames.extend(frames.iter().enumerate().map(|(i, f)| (f.time, k, i)));
                self.open = Some((k, frames));
            }
            // Kinds of chunks that a later version adds.
            _ => {}
        }
        Ok(())
    }

    fn frames_of(
        &self,
        chunk: &Chunk,
        raw: &[u8],
        last: Option<&Frame>,
    ) -> Result<Vec<Frame>, Damage> {
        frame::decode(raw, &self.head.layout(), last)
            .ok_or_else(|| self.damage(chunk, "frames that do not fit together"))
    }

    /// The frames of a chunk, from the last one that stands alone on.
    fn open_chunk(&self, k: usize) -> Result<Vec<Frame>, Damage> {
        let of_frames = |j: &usize| &self.chunks[*j].tag == b"FRAM";
        let alone =
            (0..=k).rev().filter(of_frames).find(|j| !self.chunks[*j].continues).unwrap_or(k);
        let mut frames: Vec<Frame> = Vec::new();
        for chunk in (alone..=k).filter(of_frames).map(|j| &self.chunks[j]) {
            frames = self.frames_of(chunk, &self.unpack(chunk)?, frames.last())?;
        }
        Ok(frames)
    }

    fn unpack(&self, chunk: &Chunk) -> Result<Vec<u8>, Damage> {
        let packed = &self.bytes[chunk.offset + 12..][..chunk.packed];
        let mut raw = Vec::new();
        let unpacked =
            flate2::read::ZlibDecoder::new(packed).take(chunk.raw as u64 + 1).read_to_end(&mut raw);
        match unpacked {
            Err(why) => Err(self.damage(chunk, why.to_string())),
            Ok(length) if length != chunk.raw => {
                Err(self.damage(chunk, format!("{length} bytes where {} were promised", chunk.raw)))
            }
            Ok(_) => Ok(raw),
        }
    }

    fn json<T: serde::de::DeserializeOwned>(&self, chunk: &Chunk) -> Result<T, Damage> {
        serde_json::from_slice(&self.unpack(chunk)?)
            .map_err(|why| self.damage(chunk, why.to_string()))
    }
}

fn bytes(path: &Path, folder: &Path) -> Result<Vec<u8>, Damage> {
    let file = path.display().to_string();
    let unreadable =
        |why: std::io::Error| Damage::Unreadable { file: file.clone(), why: why.to_string() };
    let length = match std::fs::metadata(path) {
        Ok(about) => about.len(),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
            return Err(Damage::Missing { folder: folder.display().to_string() });
        }
        Err(why) => return Err(unreadable(why)),
    };
    if length > MAX_FILE_BYTES {
        return Err(Damage::Huge { file, megabytes: length >> 20 });
    }
    let mut out = Vec::new();
    std::fs::File::open(path)
        .and_then(|f| f.take(MAX_FILE_BYTES).read_to_end(&mut out))
        .map_err(unreadable)?;
    Ok(out)
}

fn moment(head: &Head, frame: &Frame) -> Moment {
    let (n, m, quantum) = (head.moving.len(), frame.pairs.len(), head.quantum);
    let mut poses: Vec<Pose> = head.bodies.iter().map(|b| super::head::pose(&b.pose)).collect();
    let mut velocities = vec![DVec3::ZERO; poses.len()];
    let mut there = vec![true; poses.len()];
    for (k, &body) in head.moving.iter().enumerate() {
        let word = |column: usize| frame.bodies[column * n + k];
        let at = |column: usize| words::to_length(word(column), quantum);
        let turn = |column: usize| f64::from(word(column) as i32) / frame::QUATERNION_STEPS;
        let speed = |column: usize| words::to_float(word(column), frame::DROP_VELOCITY);
        poses[body as usize] = Pose {
            position: DVec3::new(at(0), at(1), at(2)),
            orientation: DQuat::from_xyzw(turn(3), turn(4), turn(5), turn(6)).normalize(),
        };
        // Who is not there has no orientation.
        if (3..7).all(|column| word(column) == 0) {
            poses[body as usize].orientation = DQuat::IDENTITY;
            there[body as usize] = false;
        }
        velocities[body as usize] = DVec3::new(speed(7), speed(8), speed(9));
    }
    let touch = |(k, bodies): (usize, &[u32; 2])| {
        let word = |column: usize| frame.contacts[column * m + k];
        let at =
            |column: usize| words::to_length(word(column), quantum * frame::CONTACT_QUANTUM_RATIO);
        let normal = |column: usize| f64::from(word(column) as i32) / frame::NORMAL_STEPS;
        let force = |column: usize| words::to_float(word(column), frame::DROP_FORCE);
        Touch {
            bodies: *bodies,
            point: DVec3::new(at(0), at(1), at(2)),
            normal: DVec3::new(normal(3), normal(4), normal(5)),
            force: DVec3::new(force(6), force(7), force(8)),
        }
    };
    let mut rest = &frame.soft[..];
    let soft = head.soft.iter().map(|s| {
        let (now, later) = rest.split_at(s.nodes * (3 + usize::from(s.scalar.is_some())));
        rest = later;
        let at = |i: usize| words::to_length(now[i], quantum);
        let places =
            (0..s.nodes).map(|i| DVec3::new(at(i), at(s.nodes + i), at(2 * s.nodes + i))).collect();
        (
            places,
            now[3 * s.nodes..].iter().map(|w| words::to_float(*w, frame::DROP_VELOCITY)).collect(),
        )
    });
    let soft = soft.collect();
    Moment {
        time: frame.time,
        poses,
        velocities,
        there,
        touches: frame.pairs.iter().enumerate().map(touch).collect(),
        soft,
    }
}
