//! Sweeps over contacts, four at a time and on several threads: all `unsafe` code of the sweeps.
//!
//! ```text
//!   f64x4 → forms → frames, laws → stages → kernel → schedule → shift
//! ```
//!
//! * [`f64x4`]: four numbers, as one AVX register or one after the other.
//! * [`forms`], [`frames`]: how the rows of contacts are stored, what they read and what they move.
//! * [`laws`]: the local problem of four contacts. [`stages`]: the order of the work.
//! * [`kernel`]: groups of four contacts of one kind.
//! * [`schedule`]: colours, subdomains and rounds. [`Lanes`] holds groups and schedule, checks them
//!   once, and is the only door: what it offers is safe.
//! * [`shift`]: De Saxcé's shift of contacts in lanes.
//!
//! Each kernel has a twin in plain safe code ([`tests`]), and agrees with it to the bit.

#![allow(unsafe_code)]

mod f64x4;
pub(crate) mod forms;
pub(crate) mod frames;
pub(crate) mod kernel;
pub(crate) mod laws;
pub(crate) mod schedule;
pub(crate) mod shift;
mod stages;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use f64x4::LANES;
pub(crate) use schedule::Lanes;
use std::ops::{Deref, DerefMut};

/// How many contacts are under way together in a lane of a group: a contact does not see what
/// those before it in this window move.
pub(crate) const WINDOW: usize = LANES * (2 * (stages::STAGES - 2) + 1);

/// Numbers of a cache line.
pub(crate) const LINE: usize = 8;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f64; LINE]);

/// A vector of numbers that begins at a cache line, so that a group of six with its room of eight
/// is one line.
#[derive(Clone, Default)]
pub(crate) struct Aligned {
    lines: Vec<Line>,
    len: usize,
}

impl Aligned {
    /// Makes it `len` zeros, in the memory at hand.
    pub(crate) fn reset(&mut self, len: usize) {
        self.clear();
        self.extend(len);
    }

    /// Makes it a copy of `other`, in the memory at hand.
    pub(crate) fn set(&mut self, other: &[f64]) {
        if self.len != other.len() {
            self.reset(other.len());
        }
        self.copy_from_slice(other);
    }

    pub(crate) fn clear(&mut self) {
        self.lines.clear();
        self.len = 0;
    }

    /// Appends `count` zeros.
    pub(crate) fn extend(&mut self, count: usize) {
        self.len += count;
        let lines = self.len.div_ceil(LINE);
        if lines > self.lines.capacity() {
            let mut grown = Vec::with_capacity(lines.max(2 * self.lines.capacity()));
            ask_for_large_pages(&mut grown);
            grown.extend_from_slice(&self.lines);
            self.lines = grown;
        }
        self.lines.resize(lines, Line([0.0; LINE]));
    }
}

/// Asks the system to back memory that nobody has touched yet with large pages, if it is much: to
/// find small ones takes a sweep beyond the cache a tenth of its time. Nothing depends on the
/// answer.
fn ask_for_large_pages(lines: &mut Vec<Line>) {
    #[cfg(target_os = "linux")]
    {
        /// Bytes of a large page, and of a small one.
        const LARGE: usize = 2 << 20;
        const SMALL: usize = 4096;
        let room = lines.spare_capacity_mut();
        let start = room.as_mut_ptr().cast::<u8>();
        let skip = start.align_offset(SMALL);
        let bytes = size_of_val(room).saturating_sub(skip) / SMALL * SMALL;
        if bytes >= 2 * LARGE {
            // SAFETY: whole pages of memory that is ours; what they hold does not change.
            unsafe { libc::madvise(start.add(skip).cast(), bytes, libc::MADV_HUGEPAGE) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = lines;
}

impl Deref for Aligned {
    type Target = [f64];
    #[inline]
    fn deref(&self) -> &[f64] {
        // SAFETY: the lines are that many numbers without gaps (repr(C), a multiple of the
        // alignment), or more.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl DerefMut for Aligned {
    #[inline]
    fn deref_mut(&mut self) -> &mut [f64] {
        // SAFETY: as above, and borrowed as mutable.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

#[cfg(test)]
mod line_tests {
    use super::*;

    #[test]
    fn lines_are_whole_and_zero() {
        let mut x = Aligned::default();
        x.reset(13);
        assert_eq!((x.len(), x.as_ptr() as usize % 64), (13, 0));
        x[12] = 5.0;
        x.extend(4);
        assert_eq!(x[11..], [0.0, 5.0, 0.0, 0.0, 0.0, 0.0]);
        x.reset(3);
        assert_eq!(x[..], [0.0; 3]);
    }
}
