//! The recorded form of a run: `record.bin`, from which report, live view, pictures and animations
//! are all made.
//!
//! ```text
//!   file  = "signrec1" chunk*
//!   chunk = tag (4 letters)  raw length (u32)  packed length (u32)  packed bytes (zlib)        numbers are little-endian
//! ```
//!
//! | tag | contents |
//! |---|---|
//! | `HEAD` | JSON, first and once: [`Head`], what exists and how it looks |
//! | `NAME` | JSON, a list of texts that the list of names grows by (names of constraints, of methods) |
//! | `STEP` | words, one row per step: [`steps`] |
//! | `FRAM` | words, some moments of the run: [`frame`] |
//! | `CHAN` | words, one row per frame, in the order of the frames: [`channels`], sensors, joints, motors |
//! | `HIST` | JSON, a list of [`History`]: how the solver came to its answer in a recorded step |
//! | `TAIL` | JSON, last and once: the summary of the run; absent as long as it goes on |
//!
//! *Words* are 32-bit numbers. Each is stored as its difference from a neighbour that is much like
//! it (the same body a moment ago), the sign in the lowest bit, and split into four planes of
//! bytes: what hardly changes becomes long runs of zeros, which zlib makes small.
//!
//! A file only grows, chunk by chunk, so that it can be read while the run goes on: a last chunk
//! that is not whole yet does not count. zlib's checksum stands guard over every chunk; a length is
//! believed up to [`MAX_CHUNK_BYTES`] only.

mod bounds;
pub mod channels;
pub mod frame;
pub mod head;
pub mod mesh;
pub mod read;
pub mod steps;
pub mod words;

pub use channels::Channel;
pub use frame::Frame;
pub use head::Head;
pub use read::{Damage, Record};
pub use steps::Step;

use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// The name of the file in a folder of results.
pub const FILE: &str = "record.bin";
/// The first bytes of a record.
pub const MAGIC: &[u8; 8] = b"signrec1";
/// The greatest unpacked length of a chunk, bytes.
pub const MAX_CHUNK_BYTES: usize = 1 << 26;
/// The greatest length of a record that is read, bytes.
pub const MAX_FILE_BYTES: u64 = 1 << 28;

/// How the solver came to its answer in one step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Which step.
    pub step: u64,
    /// Which method had the last word.
    pub solver: String,
    /// Work done at each sample, in the method's unit.
    pub work: Vec<u64>,
    /// The error there, J.
    pub joule: Vec<f64>,
}

/// Packs and writes a chunk; returns how many bytes that took.
pub fn write_chunk(out: &mut dyn Write, tag: &[u8; 4], raw: &[u8]) -> io::Result<u64> {
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(6));
    packer.write_all(raw)?;
    let packed = packer.finish()?;
    out.write_all(tag)?;
    out.write_all(&(raw.len() as u32).to_le_bytes())?;
    out.write_all(&(packed.len() as u32).to_le_bytes())?;
    out.write_all(&packed)?;
    Ok(12 + packed.len() as u64)
}
