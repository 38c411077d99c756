//! W by blocks: row k is a list of blocks `W_kj` (d_k × d_j, row by row).
//!
//! Where blocks differ in their rows (joints, motors and contacts of a robot) the values are kept a
//! second time, row by row along the runs of neighbouring columns: `W x` is then a few long scalar
//! products in place of many products of tiny blocks (108 rows of a quadruped: a tenth of the
//! time).

use super::form::Blocks;
use crate::math::dot_by_sums;
use crate::math::sparse::Csr;
use crate::problem::law::MAX_ROWS;
use std::ops::Range;

/// The scaled Delassus matrix.
#[derive(Default)]
pub(super) struct BlockMatrix {
    /// Rows of every block, or 0 if they differ.
    uniform: usize,
    /// Row k holds the entries `starts[k]..starts[k + 1]`.
    pub starts: Vec<u32>,
    /// Block j of each entry, ascending within a row.
    pub columns: Vec<u32>,
    /// First row of block j.
    offsets: Vec<u32>,
    /// Where the values of each entry begin.
    at: Vec<u32>,
    pub values: Vec<f64>,
    /// Where blocks differ: runs of columns, of row k those of `run_starts[k]..run_starts[k + 1]`.
    runs: Vec<Range<u32>>,
    run_starts: Vec<u32>,
    /// The values along the runs, one row of a block after another; those of block k begin at
    /// `along_starts[k]`.
    along: Vec<f64>,
    along_starts: Vec<u32>,
    /// While a row is set: the entry of each block in it.
    place: Vec<u32>,
}

impl BlockMatrix {
    /// Takes `w` scaled by `scale` (one factor per row and column).
    pub fn set(&mut self, w: &Csr, blocks: &Blocks, block_of: &[u32], scale: &[f64]) {
        let rows = |k: usize| blocks.range(k).len();
        let first = if blocks.len() > 0 { rows(0) } else { 0 };
        self.uniform = if (0..blocks.len()).all(|k| rows(k) == first) { first } else { 0 };
        self.starts.clear();
        self.starts.push(0);
        for list in [&mut self.columns, &mut self.offsets, &mut self.at] {
            list.clear();
        }
        self.values.clear();
        let place = &mut self.place;
        place.clear();
        place.resize(blocks.len(), u32::MAX);
        for k in 0..blocks.len() {
            let begin = self.columns.len();
            for i in blocks.range(k) {
                let mut last = u32::MAX;
                for &j in w.row(i).0 {
                    let block = block_of[j as usize];
                    if block != last && place[block as usize] == u32::MAX {
                        place[block as usize] = 0;
                        self.columns.push(block);
                    }
                    last = block;
                }
            }
            self.columns[begin..].sort_unstable();
            for &j in &self.columns[begin..] {
                place[j as usize] = self.at.len() as u32;
                self.offsets.push(blocks.starts[j as usize] as u32);
                self.at.push(self.values.len() as u32);
                self.values.resize(self.values.len() + rows(k) * rows(j as usize), 0.0);
            }
            for (p, i) in blocks.range(k).enumerate() {
                let (columns, values) = w.row(i);
                for (&j, &x) in columns.iter().zip(values) {
                    let block = block_of[j as usize] as usize;
                    let at = self.at[place[block] as usize] as usize + p * rows(block) + j as usize
                        - blocks.starts[block];
                    self.values[at] = x * scale[i] * scale[j as usize];
                }
            }
            for &j in &self.columns[begin..] {
                place[j as usize] = u32::MAX;
            }
            self.starts.push(self.columns.len() as u32);
        }
        if !matches!(self.uniform, 2 | 3) {
            self.set_runs(blocks);
        }
    }

    /// Lays the values out along runs of columns.
    fn set_runs(&mut self, blocks: &Blocks) {
        self.runs.clear();
        self.along.clear();
        for list in [&mut self.run_starts, &mut self.along_starts] {
            list.clear();
            list.push(0);
        }
        for k in 0..blocks.len() {
            let (entries, begin) = (self.entries(k), self.runs.len());
            for &j in &self.columns[entries.clone()] {
                let range = blocks.range(j as usize);
                let (first, end) = (range.start as u32, range.end as u32);
                match self.runs[begin..].last_mut() {
                    Some(run) if run.end == first => run.end = end,
                    _ => self.runs.push(first..end),
                }
            }
            for p in 0..blocks.range(k).len() {
                for e in entries.clone() {
                    let width = blocks.range(self.columns[e] as usize).len();
                    let at = self.at[e] as usize + p * width;
                    self.along.extend_from_slice(&self.values[at..at + width]);
                }
            }
            self.run_starts.push(self.runs.len() as u32);
            self.along_starts.push(self.along.len() as u32);
        }
    }

    /// The entries of row k.
    #[inline]
    fn entries(&self, k: usize) -> Range<usize> {
        self.starts[k] as usize..self.starts[k + 1] as usize
    }

    /// Block and values of each entry of row k, `rows` being those of block k.
    pub fn row(&self, k: usize) -> impl Iterator<Item = (usize, &[f64])> {
        self.entries(k).map(|e| (self.columns[e] as usize, &self.values[self.at[e] as usize..]))
    }

    /// `out ← (row k) x`, all of it.
    #[inline]
    pub fn times(&self, k: usize, blocks: &Blocks, x: &[f64], out: &mut [f64; MAX_ROWS]) {
        let entries = self.entries(k);
        match self.uniform {
            3 => {
                let values = self.values[9 * entries.start..9 * entries.end].chunks_exact(9);
                let (mut s0, mut s1, mut s2) = (0.0, 0.0, 0.0);
                for (&o, b) in self.offsets[entries].iter().zip(values) {
                    let y: &[f64; 3] =
                        x[o as usize..o as usize + 3].try_into().expect("three rows");
                    s0 += b[0] * y[0] + b[1] * y[1] + b[2] * y[2];
                    s1 += b[3] * y[0] + b[4] * y[1] + b[5] * y[2];
                    s2 += b[6] * y[0] + b[7] * y[1] + b[8] * y[2];
                }
                *out = [s0, s1, s2];
            }
            2 => {
                let values = self.values[4 * entries.start..4 * entries.end].chunks_exact(4);
                let (mut s0, mut s1) = (0.0, 0.0);
                for (&o, b) in self.offsets[entries].iter().zip(values) {
                    let y: &[f64; 2] = x[o as usize..o as usize + 2].try_into().expect("two rows");
                    s0 += b[0] * y[0] + b[1] * y[1];
                    s1 += b[2] * y[0] + b[3] * y[1];
                }
                *out = [s0, s1, 0.0];
            }
            _ => {
                let runs = self.run_starts[k] as usize..self.run_starts[k + 1] as usize;
                let mut at = self.along_starts[k] as usize;
                *out = [0.0; MAX_ROWS];
                for out in &mut out[..blocks.range(k).len()] {
                    for run in &self.runs[runs.clone()] {
                        let x = &x[run.start as usize..run.end as usize];
                        *out += dot_by_sums(&self.along[at..at + x.len()], x);
                        at += x.len();
                    }
                }
            }
        }
    }
}
