//! The problem in the coordinates of the sweep.
//!
//! ```text
//!   H = L Lᵀ (clique by clique)      z = Lᵀ (v − H⁻¹k)      rows Ĵ = S J L⁻ᵀ      r = S r̂
//!   û = q̂ + Ĵ z + Ê r̂                z = Ĵᵀ r̂               q̂ = S (J H⁻¹ k + w)
//! ```
//!
//! In z every mass is one: the same row reads a velocity and spreads an impulse, whatever the
//! inertia, and the energy of a motion is ½‖z‖². S scales each row so that its own entry of W is
//! one (per block, normal and tangents apart; less than one with [`super::hubs`]): reactions and
//! velocities are then both in √J.
//!
//! Unknowns are gathered in groups of six (a rigid body) where the cliques allow it; a block that
//! touches at most two groups goes to the lanes of [`super::kernel`]. A small clique (springs
//! between bodies, up to 48 unknowns) is whitened whole. A large one (a mesh) is not: there the
//! block keeps `J_k` and the columns of `H⁻¹J_kᵀ`, both on those unknowns of the mesh that some
//! block touches, which is all that the other blocks can see: d × touched numbers for each block,
//! and the state carries the impulse p = Jᵀr on them beside z.

use super::super::local::solve_block;
use super::Places;
use super::gram::Products;
use super::joints::Joints;
use super::kernel;
use super::lagged_shift::Change;
use super::parallel::Kernels;
use super::simd::{Aligned, LANES};
use super::subdomains::MAX_INTERFACE_ROUNDS;
use super::vector::{Cuts, Passes, Vector, dot, listed};
use super::worker_group::WorkerGroup;
use crate::problem::Law;
use crate::problem::law::MAX_ROWS;
use std::ops::Range;
use std::sync::Arc;

/// Unknowns of one group, and the room each takes in z.
pub(super) const GROUP: usize = 6;
pub(super) const STRIDE: usize = 8;

/// A point of the iteration, in the order of the sweep.
#[derive(Clone, Default)]
pub(super) struct State {
    /// Scaled reactions r̂, √J.
    pub r: Aligned,
    /// Whitened velocities less the free ones (√J), then velocities of the touched unknowns of
    /// meshes (m/s).
    pub z: Aligned,
    /// Impulses on the touched unknowns of meshes, N s.
    pub p: Aligned,
}

impl State {
    /// Makes this a copy of `other`, in the memory at hand.
    pub(super) fn set(&mut self, other: &State) {
        self.r.set(&other.r);
        self.z.set(&other.z);
        self.p.set(&other.p);
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
    /// Solve it exactly rather than by one projected step.
    pub exact: bool,
    /// Its scaled block of W.
    pub block: [f64; MAX_ROWS * MAX_ROWS],
}

/// Lane groups of one kind that follow each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Run {
    pub groups: Range<usize>,
    /// Where the reactions of the first one live.
    pub at: usize,
}

impl Run {
    /// Where the reactions live, with `rows` per lane.
    pub(super) fn places(&self, rows: usize) -> Range<usize> {
        self.at..self.at + self.groups.len() * rows * LANES
    }
}

/// What a colour holds: runs of lane groups, and single blocks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Colour {
    pub cone: Run,
    pub coulomb: Run,
    pub bounds: Run,
    pub single: Range<usize>,
}

/// Blocks whose owners are together: swept by one thread, colour by colour.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Subdomain {
    /// Its colours, in `System::colours`.
    pub colours: Range<usize>,
    /// Its places in r̂.
    pub places: Range<usize>,
    /// Groups of unknowns that subdomains of other rounds, or blocks with a hub body, touch too, in
    /// `System::border`.
    pub border: Range<usize>,
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
    pub kinds: kernel::Kinds,
    pub singles: Vec<Single>,
    pub coordinates: Vec<u32>,
    pub values: Vec<f64>,
    /// Singles before this one belong to no colour and are swept one after the other.
    pub serial: usize,
    pub colours: Vec<Colour>,
    /// Subdomains and their interfaces, in the order of r̂, and which of them are swept in each
    /// round: those of one round touch different unknowns.
    pub subdomains: Vec<Subdomain>,
    pub rounds: [Vec<usize>; MAX_INTERFACE_ROUNDS + 1],
    pub cuts: Cuts,
    /// Where in z the borders of subdomains are.
    pub border: Vec<u32>,
    /// Colours of the blocks with a hub body, and then of those that are in no subdomain and no
    /// interface.
    pub hubs: Range<usize>,
    pub boundary: Range<usize>,
    /// Length of z, and where the meshes begin in it.
    pub len: usize,
    pub mesh: usize,
    /// Number of touched unknowns of meshes.
    pub meshed: usize,
    /// Who sweeps subdomains and chunks; one thread without workers.
    pub workers: Option<Arc<WorkerGroup>>,
    /// Sums of chunks and subdomains, work space.
    pub sums: Vec<f64>,
    /// By place: the scaled mu on normal rows whose shift is lagged (else 0), and the shift in q̂.
    /// Empty if there is none.
    pub sliding: Vec<f64>,
    pub shift: Vec<f64>,
    /// What an update of the lagged shift changes, subdomain by subdomain; work space.
    pub changes: Vec<Change>,
}

/// What the loop around the sweeps needs to know of a system.
pub(super) trait Sweeps {
    /// One sweep; returns its own estimate of the error of the point it leaves, J. Its reactions
    /// are written to `kept` as well.
    fn sweep(&mut self, x: &mut State, kept: &mut [f64]) -> f64;
    /// Forms the velocities of `x` from its reactions.
    fn refresh(&self, x: &mut State);
    /// The dual energy `φ = ½ r·N r + q·r`, J.
    fn energy(&self, x: &State) -> f64;
    /// `out ← y − x`, with `out·N out`, the slope `out·(N y + q)`, and `out·N d` for the
    /// differences `d` at the listed places.
    fn difference(
        &self,
        out: &mut State,
        ends: (&State, &State),
        others: (&[usize], &[State]),
        passes: &mut Passes,
    ) -> Products;
    /// Says who helps with passes over vectors, and who has which share of them.
    fn share(&self, passes: &mut Passes) {
        passes.workers = None;
        passes.cuts = Cuts::default();
    }
    /// Reads De Saxcé's shift off the velocities of `x` and holds it in q̂; what that changed, also
    /// along vectors of reactions. None if no shift is lagged.
    fn update_shift(&mut self, _x: &State, _along: &[&[f64]]) -> Option<Change> {
        None
    }
}

impl System {
    /// Forgets everything, keeps the memory.
    pub(super) fn clear(&mut self) {
        self.clear_rows();
        self.kinds.clear();
        self.singles.clear();
        self.coordinates.clear();
        self.values.clear();
        self.serial = 0;
        self.colours.clear();
        self.subdomains.clear();
        self.rounds.iter_mut().for_each(Vec::clear);
        self.border.clear();
        self.cuts.r.clear();
        self.cuts.z.clear();
        (self.hubs, self.boundary) = (0..0, 0..0);
    }

    /// Forgets the places of r̂, and the joints.
    pub(super) fn clear_rows(&mut self) {
        self.places.row.clear();
        self.places.scale.clear();
        self.q.clear();
        self.compliance.clear();
        self.sliding.clear();
        self.joints.clear();
    }

    /// Makes `x` the zero point.
    pub(super) fn zero(&self, x: &mut State) {
        x.r.reset(self.places.row.len());
        x.z.reset(self.len);
        x.p.reset(self.meshed);
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

    /// What meshes and compliance add to the product of two points: `a.p·b.z` and `a.r·Ê b.r`.
    fn extra(&self, a: &State, b: &State) -> f64 {
        let mut sum = dot(&a.p, &b.z[self.mesh..self.mesh + self.meshed]);
        if self.compliant {
            sum +=
                a.r.iter()
                    .zip(b.r.iter())
                    .zip(&self.compliance)
                    .map(|((a, b), e)| a * b * e)
                    .sum::<f64>();
        }
        sum
    }

    /// `û` of one block.
    pub(super) fn velocities(&self, single: &Single, x: &State) -> [f64; MAX_ROWS] {
        let coordinates = &self.coordinates[single.read.clone()];
        let width = coordinates.len();
        let mut u = [0.0; MAX_ROWS];
        for (i, u) in u.iter_mut().enumerate().take(single.law.rows()) {
            let values = &self.values[single.read_values + i * width..][..width];
            let sum: f64 =
                coordinates.iter().zip(values).map(|(&c, &value)| value * x.z[c as usize]).sum();
            *u = self.q[single.at + i] + sum + self.compliance[single.at + i] * x.r[single.at + i];
        }
        u
    }

    /// Sweeps one block alone; returns ‖Δ‖².
    fn sweep_single(&self, single: &Single, x: &mut State) -> f64 {
        let d = single.law.rows();
        if single.step == 0.0 {
            return 0.0;
        }
        let u = self.velocities(single, x);
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

impl Sweeps for System {
    /// `z ← Ĵᵀ r̂`, `p ← Jᵀ r`: the velocities that belong to the reactions.
    fn refresh(&self, x: &mut State) {
        x.z.fill(0.0);
        x.p.fill(0.0);
        self.joints.spread(x, self.mesh);
        for colour in &self.colours {
            self.kinds.spread(colour, &x.r, &mut x.z);
        }
        for single in &self.singles {
            let d = single.law.rows();
            let mut r = [0.0; MAX_ROWS];
            r[..d].copy_from_slice(&x.r[single.at..single.at + d]);
            self.apply(single, &r[..d], x);
        }
    }

    fn sweep(&mut self, x: &mut State, kept: &mut [f64]) -> f64 {
        let mut joints = std::mem::take(&mut self.joints);
        let mut sum = joints.solve(&self.q, x, self.mesh);
        self.joints = joints;
        for single in &self.singles[..self.serial] {
            sum += self.sweep_single(single, x);
        }
        let mut sums = std::mem::take(&mut self.sums);
        let (colours, border) = (&self.colours, &self.border);
        let kernels = Kernels {
            kinds: &self.kinds,
            colours,
            border,
            q: &self.q,
            workers: self.workers.as_deref(),
        };
        for round in &self.rounds {
            sum += kernels.sweep_subdomains(&self.subdomains, round, (x, &mut *kept), &mut sums);
        }
        for colour in &self.colours[self.hubs.clone()] {
            sum += kernels.sweep_alone(colour, (x, &mut *kept));
        }
        for colour in &self.colours[self.boundary.clone()] {
            sum += kernels.sweep_colour(colour, (x, &mut *kept), &mut sums);
            for single in &self.singles[colour.single.clone()] {
                sum += self.sweep_single(single, x);
            }
        }
        self.sums = sums;
        // The lanes have kept theirs; joints come first.
        let joints = self.joints.len();
        kept[..joints].copy_from_slice(&x.r[..joints]);
        for places in self.singles.iter().map(|single| single.at..single.at + single.law.rows()) {
            kept[places.clone()].copy_from_slice(&x.r[places]);
        }
        0.5 * sum
    }

    fn energy(&self, x: &State) -> f64 {
        0.5 * (dot(&x.z[..self.mesh], &x.z[..self.mesh]) + self.extra(x, x)) + dot(&self.q, &x.r)
    }

    fn difference(
        &self,
        out: &mut State,
        (y, x): (&State, &State),
        others: (&[usize], &[State]),
        passes: &mut Passes,
    ) -> Products {
        let (places, pairs) = others;
        let linear =
            passes.over(Vector::R).difference(&mut out.r, (&y.r, &x.r), &self.q, &[]).slope;
        // Velocities of meshes are not whitened: their square is no energy.
        let mesh = self.mesh;
        let list = listed(places, |p| &pairs[p].z[..mesh]);
        let whitened = (&y.z[..mesh], &x.z[..mesh]);
        let mut products = passes.over(Vector::Z).difference(
            &mut out.z[..mesh],
            whitened,
            &y.z[..mesh],
            &list[..places.len()],
        );
        passes.over(Vector::Other).difference(
            &mut out.z[mesh..],
            (&y.z[mesh..], &x.z[mesh..]),
            &[],
            &[],
        );
        products.slope += linear;
        if self.compliant || self.meshed > 0 {
            passes.difference(&mut out.p, (&y.p, &x.p), &[], &[]);
            products.square += self.extra(out, out);
            products.slope += self.extra(out, y);
            for (product, &p) in products.others.iter_mut().zip(places) {
                *product += self.extra(out, &pairs[p]);
            }
        }
        products
    }

    fn share(&self, passes: &mut Passes) {
        passes.workers.clone_from(&self.workers);
        passes.cuts.r.clone_from(&self.cuts.r);
        passes.cuts.z.clone_from(&self.cuts.z);
    }

    fn update_shift(&mut self, x: &State, along: &[&[f64]]) -> Option<Change> {
        (!self.sliding.is_empty()).then(|| self.update_shift(x, along))
    }
}
