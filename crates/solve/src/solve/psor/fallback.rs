//! Blocks that fit into no lane: swept one after the other, whatever their rows touch.
//!
//! Blocks of two rows, with compliance, on meshes or small cliques, and those without a colour. A
//! block on a mesh keeps `J_k` and the columns of `H⁻¹J_kᵀ`, both on those unknowns of the mesh
//! that some block touches.

use super::state::State;
use super::view::Image;
use crate::problem::Law;
use crate::problem::law::{MAX_ROWS, tangent_norm};
use crate::solve::local::solve_block;
use crate::solve::simd::shift::Change;
use std::ops::Range;

/// A block that is swept alone.
struct Single {
    law: Law,
    /// Place of its reactions in `State::r`.
    at: usize,
    /// Its coordinates in z and the values of its rows there, row by row.
    read: Range<usize>,
    read_values: usize,
    /// The same for what an impulse moves; equal to the above but for meshes.
    write: Range<usize>,
    write_values: usize,
    /// One over the largest eigenvalue of its scaled block (times ω); 0 if nothing moves it.
    step: f64,
    /// Solve it exactly rather than by one projected step.
    exact: bool,
    /// Its scaled block of W.
    block: [f64; MAX_ROWS * MAX_ROWS],
}

/// All of them.
#[derive(Default)]
pub(super) struct Singles {
    blocks: Vec<Single>,
    coordinates: Vec<u32>,
    values: Vec<f64>,
    /// Where the meshes begin in z.
    mesh: usize,
}

/// By place of r̂: q̂ and Ê.
#[derive(Clone, Copy)]
pub(super) struct ByPlace<'a> {
    pub q: &'a [f64],
    pub compliance: &'a [f64],
}

impl Singles {
    /// Forgets all blocks; meshes begin at `mesh` in z.
    pub(super) fn clear(&mut self, mesh: usize) {
        self.blocks.clear();
        self.coordinates.clear();
        self.values.clear();
        self.mesh = mesh;
    }

    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Appends a block with its scales and its step; its reactions begin at place `at`, its law is
    /// in scaled variables.
    pub(super) fn push(
        &mut self,
        image: &Image,
        (law, at): (Law, usize),
        (s, step): (&[f64; MAX_ROWS], f64),
        exact: bool,
    ) {
        let d = law.rows();
        let mut add = |coordinates: &[u32], values: &[f64]| {
            let (c, v) = (self.coordinates.len(), self.values.len());
            self.coordinates.extend_from_slice(coordinates);
            for (i, s) in s.iter().enumerate().take(d) {
                let row = &values[i * coordinates.len()..(i + 1) * coordinates.len()];
                self.values.extend(row.iter().map(|x| x * s));
            }
            (c..c + coordinates.len(), v)
        };
        let (read, read_values) = add(&image.read, &image.read_values);
        let (write, write_values) = if image.meshed {
            add(&image.write, &image.write_values)
        } else {
            (read.clone(), read_values)
        };
        let block = image.block;
        self.blocks.push(Single {
            law,
            at,
            read,
            read_values,
            write,
            write_values,
            step,
            exact,
            block,
        });
    }

    /// The places of their reactions, block by block.
    pub(super) fn places(&self) -> impl Iterator<Item = Range<usize>> {
        self.blocks.iter().map(|single| single.at..single.at + single.law.rows())
    }

    /// Adds what the reactions of all blocks move.
    pub(super) fn spread(&self, x: &mut State) {
        for single in &self.blocks {
            let d = single.law.rows();
            let mut r = [0.0; MAX_ROWS];
            r[..d].copy_from_slice(&x.r[single.at..single.at + d]);
            self.apply(single, &r[..d], x);
        }
    }

    /// Sweeps block `k` alone; returns ‖Δ‖².
    pub(super) fn sweep(&self, k: usize, by_place: ByPlace<'_>, x: &mut State) -> f64 {
        self.sweep_single(&self.blocks[k], by_place, x)
    }

    /// Updates the shift of those blocks whose scaled mu (by place) is not zero.
    pub(super) fn update_shift(
        &self,
        (mu, compliance): (&[f64], &[f64]),
        (q, shift): (&mut [f64], &mut [f64]),
        (x, along): (&State, &[&[f64]]),
    ) -> Change {
        let mut sum = Change::NONE;
        for single in self.blocks.iter().filter(|single| mu[single.at] > 0.0) {
            let at = single.at;
            let u = self.velocities(single, ByPlace { q, compliance }, x);
            let new = mu[at] * tangent_norm(&u[..single.law.rows()]);
            let change = new - shift[at];
            shift[at] = new;
            q[at] += change;
            sum.add_one(change, at, along);
        }
        sum
    }

    /// Adds what the impulse `delta` on one block moves.
    fn apply(&self, single: &Single, delta: &[f64], x: &mut State) {
        let coordinates = &self.coordinates[single.write.clone()];
        let width = coordinates.len();
        for (i, &delta) in delta.iter().enumerate() {
            if delta != 0.0 {
                let values = &self.values[single.write_values + i * width..][..width];
                for (&c, &value) in coordinates.iter().zip(values) {
                    x.z[c as usize] += value * delta;
                }
                if !x.p.is_empty() && single.write != single.read {
                    let reads = &self.coordinates[single.read.clone()];
                    let values =
                        &self.values[single.read_values + i * reads.len()..][..reads.len()];
                    for (&c, &value) in
                        reads.iter().zip(values).filter(|(c, _)| **c as usize >= self.mesh)
                    {
                        x.p[c as usize - self.mesh] += value * delta;
                    }
                }
            }
        }
    }

    /// `û` of one block.
    fn velocities(&self, single: &Single, by_place: ByPlace<'_>, x: &State) -> [f64; MAX_ROWS] {
        let coordinates = &self.coordinates[single.read.clone()];
        let width = coordinates.len();
        let mut u = [0.0; MAX_ROWS];
        for (i, u) in u.iter_mut().enumerate().take(single.law.rows()) {
            let values = &self.values[single.read_values + i * width..][..width];
            let sum: f64 =
                coordinates.iter().zip(values).map(|(&c, &value)| value * x.z[c as usize]).sum();
            let at = single.at + i;
            *u = by_place.q[at] + sum + by_place.compliance[at] * x.r[at];
        }
        u
    }

    /// Sweeps one block alone; returns ‖Δ‖².
    fn sweep_single(&self, single: &Single, by_place: ByPlace<'_>, x: &mut State) -> f64 {
        let d = single.law.rows();
        if single.step == 0.0 {
            return 0.0;
        }
        let u = self.velocities(single, by_place, x);
        let mut old = [0.0; MAX_ROWS];
        old[..d].copy_from_slice(&x.r[single.at..single.at + d]);
        let mut new = old;
        Local {
            law: &single.law,
            block: &single.block[..d * d],
            step: single.step,
            exact: single.exact,
        }
        .solve(&u[..d], &mut new[..d]);
        let mut sum = 0.0;
        let mut delta = [0.0; MAX_ROWS];
        for i in 0..d {
            delta[i] = new[i] - old[i];
            sum += delta[i] * delta[i];
            x.r[single.at + i] = new[i];
        }
        if sum > 0.0 {
            self.apply(single, &delta[..d], x);
        }
        sum
    }
}

/// One block on its own, in scaled variables.
pub(super) struct Local<'a> {
    pub law: &'a Law,
    /// Its block of W (d × d).
    pub block: &'a [f64],
    pub step: f64,
    pub exact: bool,
}

impl Local<'_> {
    /// The block's new reactions, from its local velocities and its old ones.
    pub(super) fn solve(&self, u: &[f64], r: &mut [f64]) {
        let d = r.len();
        if self.exact && d > 1 {
            let mut q = [0.0; MAX_ROWS];
            for i in 0..d {
                q[i] = u[i] - (0..d).map(|j| self.block[i * d + j] * r[j]).sum::<f64>();
            }
            solve_block(self.law, self.block, &q[..d], r);
        } else {
            let shift = self.law.shift(u);
            for i in 0..d {
                r[i] -= (u[i] + if i == 0 { shift } else { 0.0 }) * self.step;
            }
            self.law.project(r);
        }
    }
}
