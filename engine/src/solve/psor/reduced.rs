//! The reduced problem in the coordinates of the sweep: `û = q̂ + Ŵ r̂`, Ŵ = S W S.
//!
//! The state carries `z = Ŵ r̂`; a block's change adds its columns of Ŵ. W is used as given, symmetric or not.

use super::system::{Local, State, Sweeps};
use super::{Places, Settings, image};
use crate::math::dot;
use crate::math::sparse::Csr;
use crate::problem::law::MAX_ROWS;
use crate::problem::{Law, Reduced};

/// W differs from its transposed by less than this part of √(W_ii W_jj): an energy exists for all practical purposes.
const SYMMETRIC: f64 = 1e-6;

struct Block {
    law: Law,
    first: usize,
    step: f64,
    block: [f64; MAX_ROWS * MAX_ROWS],
}

/// The reduced problem, scaled.
pub(super) struct ReducedSystem {
    pub places: Places,
    pub symmetric: bool,
    q: Vec<f64>,
    /// Ŵ by columns.
    columns: Csr,
    blocks: Vec<Block>,
    exact: bool,
}

impl ReducedSystem {
    pub(super) fn new(reduced: &Reduced, settings: &Settings) -> ReducedSystem {
        let m = reduced.rows();
        let mut scale = vec![1.0; m];
        let mut blocks = Vec::new();
        for (k, law) in reduced.laws.iter().enumerate() {
            let (range, d) = (reduced.range(k), law.rows());
            let mut block = [0.0; MAX_ROWS * MAX_ROWS];
            for i in 0..d {
                for j in 0..d {
                    block[i * d + j] = reduced.W.get(range.start + i, range.start + j);
                }
            }
            let (s, step) = image::metric(law, &mut block, settings);
            scale[range.clone()].copy_from_slice(&s[..d]);
            blocks.push(Block { law: image::scaled(law, &s), first: range.start, step, block });
        }
        let mut columns = reduced.W.transposed();
        for j in 0..m {
            for p in columns.starts[j]..columns.starts[j + 1] {
                columns.values[p] *= scale[j] * scale[columns.columns[p] as usize];
            }
        }
        let q = reduced.q.iter().zip(&scale).map(|(q, s)| q * s).collect();
        let symmetric = asymmetry(&columns) <= SYMMETRIC;
        let places = Places { row: (0..m as u32).collect(), scale };
        ReducedSystem { places, symmetric, q, columns, blocks, exact: settings.exact(&reduced.laws) }
    }

    pub(super) fn zero(&self) -> State {
        State { r: vec![0.0; self.q.len()], z: vec![0.0; self.q.len()], p: Vec::new() }
    }

    /// `z ← Ŵ r̂`.
    pub(super) fn refresh(&self, x: &mut State) {
        x.z.fill(0.0);
        for (j, &r) in x.r.iter().enumerate().filter(|(_, r)| **r != 0.0) {
            self.columns.add_row(j, r, &mut x.z);
        }
    }
}

/// The largest difference between Ŵ and its transposed.
fn asymmetry(w: &Csr) -> f64 {
    let mut largest = 0.0f64;
    for i in 0..w.rows {
        let (columns, values) = w.row(i);
        for (&j, &x) in columns.iter().zip(values) {
            largest = largest.max((x - w.get(j as usize, i)).abs());
        }
    }
    largest
}

impl Sweeps for ReducedSystem {
    fn sweep(&mut self, x: &mut State) -> f64 {
        let mut sum = 0.0;
        for block in &self.blocks {
            let (d, first) = (block.law.rows(), block.first);
            if block.step == 0.0 {
                continue;
            }
            let (mut u, mut new) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
            for i in 0..d {
                u[i] = self.q[first + i] + x.z[first + i];
                new[i] = x.r[first + i];
            }
            Local { law: &block.law, block: &block.block[..d * d], step: block.step, exact: self.exact }.solve(&u[..d], &mut new[..d]);
            for (i, new) in new.iter().enumerate().take(d) {
                let delta = new - x.r[first + i];
                if delta != 0.0 {
                    sum += delta * delta;
                    x.r[first + i] = *new;
                    self.columns.add_row(first + i, delta, &mut x.z);
                }
            }
        }
        0.5 * sum
    }

    fn product(&self, a: &State, b: &State) -> f64 {
        0.5 * (dot(&a.r, &b.z) + dot(&a.z, &b.r))
    }

    fn linear(&self, a: &State) -> f64 {
        dot(&self.q, &a.r)
    }

    fn parallel(&self) -> bool {
        false
    }
}
