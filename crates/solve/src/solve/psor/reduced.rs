//! The reduced problem in the coordinates of the sweep: `û = q̂ + Ŵ r̂`, Ŵ = S W S.
//!
//! The state carries `z = Ŵ r̂`; a block's change adds its columns of Ŵ. W is used as given,
//! symmetric or not.

use super::Settings;
use super::fallback::Local;
use super::metric::{metric, scaled};
use super::state::{Places, State, Sweeps};
use crate::math::sparse::Csr;
use crate::problem::law::MAX_ROWS;
use crate::problem::{Law, Reduced};
use crate::solve::parallel::passes::{Passes, Products, dot};

/// W differs from its transposed by less than this part of √(W_ii W_jj): an energy exists for all
/// practical purposes.
const MAX_ASYMMETRY: f64 = 1e-6;

struct Block {
    law: Law,
    first: usize,
    step: f64,
    exact: bool,
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
            let (s, step) = metric(law, &mut block, settings);
            scale[range.clone()].copy_from_slice(&s[..d]);
            blocks.push(Block {
                law: scaled(law, &s),
                first: range.start,
                step,
                exact: settings.exact(law),
                block,
            });
        }
        let mut columns = reduced.W.transposed();
        for j in 0..m {
            for p in columns.starts[j]..columns.starts[j + 1] {
                columns.values[p] *= scale[j] * scale[columns.columns[p] as usize];
            }
        }
        let q = reduced.q.iter().zip(&scale).map(|(q, s)| q * s).collect();
        let symmetric = asymmetry(&columns) <= MAX_ASYMMETRY;
        let places = Places { row: (0..m as u32).collect(), scale };
        ReducedSystem { places, symmetric, q, columns, blocks }
    }

    /// Makes `x` the zero point.
    pub(super) fn zero(&self, x: &mut State) {
        x.r.reset(self.q.len());
        x.z.reset(self.q.len());
        x.p.reset(0);
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
    /// `z ← Ŵ r̂`.
    fn refresh(&self, x: &mut State) {
        x.z.fill(0.0);
        for (j, &r) in x.r.iter().enumerate().filter(|(_, r)| **r != 0.0) {
            self.columns.add_row(j, r, &mut x.z);
        }
    }

    fn sweep(&mut self, x: &mut State, kept: &mut [f64]) -> f64 {
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
            Local {
                law: &block.law,
                block: &block.block[..d * d],
                step: block.step,
                exact: block.exact,
            }
            .solve(&u[..d], &mut new[..d]);
            for (i, new) in new.iter().enumerate().take(d) {
                let delta = new - x.r[first + i];
                if delta != 0.0 {
                    sum += delta * delta;
                    x.r[first + i] = *new;
                    self.columns.add_row(first + i, delta, &mut x.z);
                }
            }
        }
        kept.copy_from_slice(&x.r);
        0.5 * sum
    }

    fn energy(&self, x: &State) -> f64 {
        0.5 * dot(&x.r, &x.z) + dot(&self.q, &x.r)
    }

    fn difference(
        &self,
        out: &mut State,
        (y, x): (&State, &State),
        others: (&[usize], &[State]),
        passes: &mut Passes,
    ) -> Products {
        let (places, pairs) = others;
        let linear = passes.difference(&mut out.r, (&y.r, &x.r), &self.q, &[]).slope;
        passes.difference(&mut out.z, (&y.z, &x.z), &[], &[]);
        // W is symmetric but for rounding: the mean of both orders.
        let product = |a: &State, b: &State| 0.5 * (dot(&a.r, &b.z) + dot(&a.z, &b.r));
        let mut products = Products {
            square: product(out, out),
            slope: linear + product(out, y),
            ..Products::default()
        };
        for (sum, &p) in products.others.iter_mut().zip(places) {
            *sum = product(out, &pairs[p]);
        }
        products
    }
}
