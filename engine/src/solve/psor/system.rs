//! The problem in the coordinates of the sweep.
//!
//! ```text
//!   H = L Lᵀ (clique by clique)      z = Lᵀ (v − H⁻¹k)      rows Ĵ = S J L⁻ᵀ      r = S r̂
//!   û = q̂ + Ĵ z + Ê r̂                z = Ĵᵀ r̂               q̂ = S (J H⁻¹ k + w)
//! ```
//!
//! In z every mass is one: the same row reads a velocity and spreads an impulse, whatever the inertia,
//! and the energy of a motion is ½‖z‖². S scales each row so that its own entry of W is one (per block,
//! normal and tangents apart): reactions and velocities are then both in √J.
//!
//! Unknowns are gathered in groups of six (a rigid body) where the cliques allow it; a block that
//! touches at most two groups goes to the lanes of [`super::kernel`]. A small clique (springs between
//! bodies, up to 48 unknowns) is whitened whole. A large one (a mesh) is not: there the block keeps
//! `J_k` and the columns of `H⁻¹J_kᵀ`, both on those unknowns of the mesh that some block touches, which is
//! all that the other blocks can see: d × touched numbers for each block, and the state carries the impulse p = Jᵀr on them beside z.

use super::super::local::solve_block;
use super::Places;
use super::joints::Joints;
use super::kernel;
use super::vector::dot;
use crate::problem::Law;
use crate::problem::law::MAX_ROWS;
use std::ops::Range;

/// Unknowns of one group, and the room each takes in z.
pub(super) const GROUP: usize = 6;
pub(super) const STRIDE: usize = 8;

/// A point of the iteration, in the order of the sweep.
#[derive(Clone, Default)]
pub(super) struct State {
    /// Scaled reactions r̂, √J.
    pub r: Vec<f64>,
    /// Whitened velocities less the free ones (√J), then velocities of the touched unknowns of meshes (m/s).
    pub z: Vec<f64>,
    /// Impulses on the touched unknowns of meshes, N s.
    pub p: Vec<f64>,
}

impl State {
    pub(super) fn copy_from(&mut self, other: &State) {
        self.r.copy_from_slice(&other.r);
        self.z.copy_from_slice(&other.z);
        self.p.copy_from_slice(&other.p);
    }
}

/// A block that is swept alone.
pub(super) struct Single {
    pub law: Law,
    /// Place of its reactions in `State::r`.
    pub at: usize,
    /// Its coordinates in z and the values of its rows there, row by row.
    pub read: Range<usize>,
    pub read_values: usize,
    /// The same for what an impulse moves; equal to the above but for meshes.
    pub write: Range<usize>,
    pub write_values: usize,
    /// One over the largest eigenvalue of its scaled block (times ω); 0 if nothing moves it.
    pub step: f64,
    /// Its scaled block of W.
    pub block: [f64; MAX_ROWS * MAX_ROWS],
}

/// What a colour holds: ranges of lane groups and of single blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Colour {
    pub frictional: Range<usize>,
    /// Where the reactions of its first frictional group live.
    pub frictional_at: usize,
    pub normal: Range<usize>,
    pub normal_at: usize,
    pub single: Range<usize>,
}

/// Blocks whose owners are together: swept by one thread, colour by colour.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Part {
    pub colours: Vec<Colour>,
    /// Its places in r̂.
    pub places: Range<usize>,
}

/// The problem in the coordinates of the sweep.
#[derive(Default)]
pub(super) struct System {
    /// Row of the problem for each place of r̂ (u32::MAX: padding), and the factor r = s r̂.
    pub places: Places,
    /// q̂ and Ê by place.
    pub q: Vec<f64>,
    pub compliance: Vec<f64>,
    pub compliant: bool,
    pub joints: Joints,
    pub frictional: kernel::Frictional,
    pub normal: kernel::Normal,
    pub singles: Vec<Single>,
    pub coordinates: Vec<u32>,
    pub values: Vec<f64>,
    /// Singles before this one belong to no colour and are swept one after the other.
    pub serial: usize,
    pub parts: Vec<Part>,
    /// Blocks that join parts, colour by colour.
    pub boundary: Vec<Colour>,
    /// Length of z, and where the meshes begin in it.
    pub len: usize,
    pub mesh: usize,
    /// Number of touched unknowns of meshes.
    pub meshed: usize,
    /// Sweep the chunks of a colour on the threads of the caller's pool.
    pub parallel: bool,
    /// Solve single blocks exactly rather than by one projected step.
    pub exact: bool,
}

/// What the loop around the sweeps needs to know of a system.
pub(super) trait Sweeps {
    /// One sweep; returns its own estimate of the error of the point it leaves, J.
    fn sweep(&mut self, x: &mut State) -> f64;
    /// `a·N b`: twice the energy of a difference of two points, where both are the same.
    fn product(&self, a: &State, b: &State) -> f64;
    /// `q·r`.
    fn linear(&self, a: &State) -> f64;
    /// Use the threads of the caller's pool.
    fn parallel(&self) -> bool;
}

impl System {
    /// The zero point.
    pub(super) fn zero(&self) -> State {
        State { r: vec![0.0; self.places.row.len()], z: vec![0.0; self.len], p: vec![0.0; self.meshed] }
    }

    /// `z ← Ĵᵀ r̂`, `p ← Jᵀ r`: the velocities that belong to the reactions.
    pub(super) fn refresh(&self, x: &mut State) {
        x.z.fill(0.0);
        x.p.fill(0.0);
        self.joints.spread(x, self.mesh);
        for colour in self.parts.iter().flat_map(|part| &part.colours).chain(&self.boundary) {
            let range = colour.frictional_at..colour.frictional_at + colour.frictional.len() * 3 * kernel::LANES;
            self.frictional.spread(colour.frictional.clone(), &x.r[range], &mut x.z);
            let range = colour.normal_at..colour.normal_at + colour.normal.len() * kernel::LANES;
            self.normal.spread(colour.normal.clone(), &x.r[range], &mut x.z);
        }
        for single in &self.singles {
            let d = single.law.rows();
            let mut r = [0.0; MAX_ROWS];
            r[..d].copy_from_slice(&x.r[single.at..single.at + d]);
            self.apply(single, &r[..d], x);
        }
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
                    let values = &self.values[single.read_values + i * reads.len()..][..reads.len()];
                    for (&c, &value) in reads.iter().zip(values).filter(|(c, _)| **c as usize >= self.mesh) {
                        x.p[c as usize - self.mesh] += value * delta;
                    }
                }
            }
        }
    }

    /// Sweeps one block alone; returns ‖Δ‖².
    fn sweep_single(&self, single: &Single, x: &mut State) -> f64 {
        let d = single.law.rows();
        if single.step == 0.0 {
            return 0.0;
        }
        let coordinates = &self.coordinates[single.read.clone()];
        let width = coordinates.len();
        let (mut u, mut old) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
        for i in 0..d {
            let values = &self.values[single.read_values + i * width..][..width];
            let sum: f64 = coordinates.iter().zip(values).map(|(&c, &value)| value * x.z[c as usize]).sum();
            old[i] = x.r[single.at + i];
            u[i] = self.q[single.at + i] + sum + self.compliance[single.at + i] * old[i];
        }
        let mut new = old;
        Local { law: &single.law, block: &single.block[..d * d], step: single.step, exact: self.exact }.solve(&u[..d], &mut new[..d]);
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

impl Sweeps for System {
    fn sweep(&mut self, x: &mut State) -> f64 {
        let mut joints = std::mem::take(&mut self.joints);
        let mut sum = joints.solve(&self.q, x, self.mesh);
        self.joints = joints;
        for single in &self.singles[..self.serial] {
            sum += self.sweep_single(single, x);
        }
        let kernels = kernel::Kernels { frictional: &self.frictional, normal: &self.normal, q: &self.q, parallel: self.parallel };
        sum += kernels.sweep_parts(&self.parts, &mut x.r, &mut x.z);
        for colour in &self.boundary {
            sum += kernels.sweep_colour(colour, &mut x.r, &mut x.z);
            for single in &self.singles[colour.single.clone()] {
                sum += self.sweep_single(single, x);
            }
        }
        0.5 * sum
    }

    fn product(&self, a: &State, b: &State) -> f64 {
        let mut sum = dot(&a.z[..self.mesh], &b.z[..self.mesh], self.parallel);
        sum += dot(&a.p, &b.z[self.mesh..self.mesh + self.meshed], false);
        if self.compliant {
            sum += a.r.iter().zip(&b.r).zip(&self.compliance).map(|((a, b), e)| a * b * e).sum::<f64>();
        }
        sum
    }

    fn linear(&self, a: &State) -> f64 {
        dot(&self.q, &a.r, self.parallel)
    }

    fn parallel(&self) -> bool {
        self.parallel
    }
}
