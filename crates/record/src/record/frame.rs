//! Moments of a run: `FRAM` chunks.
//!
//! ```text
//!   chunk = number of frames (the highest bit set if the first one is told by the last one of the chunk before), frame*
//!   frame = time (f64, low word first)  step  contacts  bodies  pairs  contacts  soft
//! ```
//!
//! | part | for each | columns |
//! |---|---|---|
//! | bodies | moving body of the head | position 3, quaternion 4 (times 32767; all zero: the body is not there), velocity 3 (world), angular velocity 3 (body axes), error |
//! | pairs | contact, sorted | first body less that of the contact before; second body less the first |
//! | contacts | contact | point 3, normal 3 (times 127), force on the second body 3, gap, error |
//! | soft | node of each soft body | position 3, then the scalar if there is one |
//!
//! Columns follow each other whole. Words are differences from the same thing in the frame before.
//! Every few chunks one stands alone. The same contact of two frames is found by walking along both
//! sorted lists of pairs.

use super::words::{self, Taker, add, difference};

/// Columns of a body.
pub const BODY: usize = 14;
/// Columns of a contact.
pub const CONTACT: usize = 11;
/// Bits dropped from velocities and scalars.
pub const DROP_VELOCITY: u32 = 13;
/// Bits dropped from forces and gaps.
pub const DROP_FORCE: u32 = 15;
/// Bits dropped from errors.
pub const DROP_ERROR: u32 = 18;
/// How many times coarser than bodies contacts are placed.
pub const CONTACT_QUANTUM_RATIO: f64 = 64.0;
/// Components of quaternions are stored times this.
pub const QUATERNION_STEPS: f64 = 32767.0;
/// Components of normals are stored times this.
pub const NORMAL_STEPS: f64 = 127.0;

/// What a frame holds of each thing: how its words are laid out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// Moving bodies.
    pub bodies: usize,
    /// Nodes of each soft body, and whether each carries a scalar.
    pub soft: Vec<(usize, bool)>,
}

impl Layout {
    fn soft_words(&self) -> usize {
        self.soft.iter().fold(0, |sum: usize, (nodes, scalar)| {
            sum.saturating_add(nodes.saturating_mul(3 + usize::from(*scalar)))
        })
    }
}

/// One moment, as words; column by column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Time, s.
    pub time: f64,
    /// Steps taken.
    pub step: u32,
    /// Bodies.
    pub bodies: Vec<u32>,
    /// The two bodies of each contact, sorted.
    pub pairs: Vec<[u32; 2]>,
    /// Contacts.
    pub contacts: Vec<u32>,
    /// Soft bodies.
    pub soft: Vec<u32>,
}

/// Set in the first word of a chunk that does not stand alone.
const CONTINUES: u32 = 1 << 31;

/// Frames as the raw bytes of a chunk; `last` is the last frame of the chunk before, unless this
/// one is to stand alone.
pub fn encode(frames: &[Frame], last: Option<&Frame>) -> Vec<u8> {
    let mut out = vec![frames.len() as u32 | if last.is_some() { CONTINUES } else { 0 }];
    let empty = Frame::default();
    for (i, frame) in frames.iter().enumerate() {
        let before = if i > 0 { &frames[i - 1] } else { last.unwrap_or(&empty) };
        let bits = frame.time.to_bits();
        out.extend([bits as u32, (bits >> 32) as u32, frame.step, frame.pairs.len() as u32]);
        same(&mut out, &frame.bodies, &before.bodies);
        let mut last = 0;
        for [a, _] in &frame.pairs {
            out.push(difference(*a, last));
            last = *a;
        }
        out.extend(frame.pairs.iter().map(|[a, b]| difference(*b, *a)));
        let places = matched(&before.pairs, &frame.pairs);
        let (n, m) = (frame.pairs.len(), before.pairs.len());
        for column in 0..CONTACT {
            for (k, place) in places.iter().enumerate() {
                let from = place.map_or(0, |j| before.contacts[column * m + j]);
                out.push(difference(frame.contacts[column * n + k], from));
            }
        }
        same(&mut out, &frame.soft, &before.soft);
    }
    words::planes(&out)
}

/// Whether a chunk needs the last frame of the one before.
pub fn continues(raw: &[u8]) -> bool {
    words::from_planes(raw).first().is_some_and(|count| count & CONTINUES != 0)
}

/// The frames of a chunk's raw bytes; none if they do not fit together. `last` is the last frame of
/// the chunk before.
pub fn decode(raw: &[u8], layout: &Layout, last: Option<&Frame>) -> Option<Vec<Frame>> {
    let words = words::from_planes(raw);
    let mut take = Taker::new(&words);
    let count = take.one()?;
    let mut frames: Vec<Frame> = Vec::new();
    let empty = Frame::default();
    let first = if count & CONTINUES != 0 { last? } else { &empty };
    for _ in 0..count & !CONTINUES {
        let before = frames.last().unwrap_or(first);
        let mut frame = Frame {
            time: f64::from_bits(u64::from(take.one()?) | u64::from(take.one()?) << 32),
            ..Frame::default()
        };
        frame.step = take.one()?;
        let n = take.one()? as usize;
        frame.bodies = restored(take.many(layout.bodies.checked_mul(BODY)?)?, &before.bodies);
        let (mut first, second) = (0, take.many(n.checked_mul(2)?)?);
        for k in 0..n {
            first = add(second[k], first);
            frame.pairs.push([first, add(second[n + k], first)]);
        }
        let places = matched(&before.pairs, &frame.pairs);
        let (columns, m) = (take.many(n.checked_mul(CONTACT)?)?, before.pairs.len());
        for (at, d) in columns.iter().enumerate() {
            let from = places[at % n].map_or(0, |j| before.contacts[(at / n) * m + j]);
            frame.contacts.push(add(*d, from));
        }
        frame.soft = restored(take.many(layout.soft_words())?, &before.soft);
        frames.push(frame);
    }
    Some(frames)
}

fn same(out: &mut Vec<u32>, now: &[u32], before: &[u32]) {
    out.extend(
        now.iter().enumerate().map(|(i, w)| difference(*w, before.get(i).copied().unwrap_or(0))),
    );
}

fn restored(words: &[u32], before: &[u32]) -> Vec<u32> {
    words.iter().enumerate().map(|(i, d)| add(*d, before.get(i).copied().unwrap_or(0))).collect()
}

/// For each pair, the place of the same one a frame before.
fn matched(before: &[[u32; 2]], now: &[[u32; 2]]) -> Vec<Option<usize>> {
    let mut j = 0;
    let find = |pair: &[u32; 2]| {
        while j < before.len() && before[j] < *pair {
            j += 1;
        }
        let found = (j < before.len() && before[j] == *pair).then_some(j);
        j += usize::from(found.is_some());
        found
    };
    now.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames() -> (Vec<Frame>, Layout) {
        let layout = Layout { bodies: 3, soft: vec![(2, true), (1, false)] };
        let frame = |k: u32, pairs: &[[u32; 2]]| Frame {
            time: 0.1 * f64::from(k),
            step: 10 * k,
            bodies: (0..3 * BODY as u32)
                .map(|i| i.wrapping_mul(77_777_777).wrapping_add(k))
                .collect(),
            pairs: pairs.to_vec(),
            contacts: (0..(CONTACT * pairs.len()) as u32).map(|i| i * i + k).collect(),
            soft: (0..2 * 4 + 3).map(|i| i + k).collect(),
        };
        let list = vec![
            frame(0, &[]),
            frame(1, &[[0, 2], [1, 2], [1, 2]]),
            frame(2, &[[0, 1], [1, 2], [2, 3]]),
            frame(3, &[[1, 2]]),
        ];
        (list, layout)
    }

    #[test]
    fn frames_come_back() {
        let (frames, layout) = frames();
        assert_eq!(decode(&encode(&frames, None), &layout, None).unwrap(), frames);
        // A chunk that goes on where another ended.
        let second = encode(&frames[2..], Some(&frames[1]));
        assert!(continues(&second) && !continues(&encode(&frames, None)));
        assert_eq!(decode(&second, &layout, Some(&frames[1])).unwrap(), frames[2..]);
        assert_eq!(decode(&second, &layout, None), None);
    }

    #[test]
    fn half_a_chunk_is_refused() {
        let (frames, layout) = frames();
        let raw = encode(&frames, None);
        for length in (0..raw.len() - 4).step_by(4) {
            // Shorter planes shift every byte: whatever comes out, it must not be taken for four
            // frames, nor panic.
            let got = decode(&raw[..length], &layout, None);
            assert!(got.is_none_or(|f| f != frames));
        }
        // A count that is beyond the data asks for no memory.
        let mut huge = vec![1u32, 0, 0, 0, u32::MAX];
        huge.extend([0; 100]);
        assert!(decode(&words::planes(&huge), &layout, None).is_none());
    }
}
