//! The problem in the coordinates of the sweep.
//!
//! ```text
//!   H = L Lᵀ (clique by clique)      z = Lᵀ (v − H⁻¹k)      rows Ĵ = S J L⁻ᵀ      r = S r̂
//!   û = q̂ + Ĵ z + Ê r̂                z = Ĵᵀ r̂               q̂ = S (J H⁻¹ k + w)
//! ```
//!
//! In z every mass is one: the same row reads a velocity and spreads an impulse, whatever the
//! inertia, and the energy of a motion is ½‖z‖². S scales each row so that its own entry of W is
//! one (per block, normal and tangents apart; less than one with hub bodies): reactions and
//! velocities are then both in √J.
//!
//! Unknowns are gathered in groups of six (a rigid body) where the cliques allow it; a block that
//! touches at most two groups goes to the lanes of [`crate::solve::simd`]. A small clique (springs
//! between bodies, up to 48 unknowns) is whitened whole. A large one (a mesh) is not: there the
//! block keeps `J_k` and the columns of `H⁻¹J_kᵀ`, both on those unknowns of the mesh that some
//! block touches, which is all that the other blocks can see: d × touched numbers for each block,
//! and the state carries the impulse p = Jᵀr on them beside z.

use super::Settings;
use super::build::{Parts, Scratch};
use super::fallback::ByPlace;
use super::state::{Places, State, Sweeps, listed};
use crate::math::cliques::CliqueFactor;
use crate::problem::Problem;
use crate::solve::parallel::WorkerGroup;
use crate::solve::parallel::passes::{Passes, Products, Vector, dot};
use crate::solve::simd::schedule::{Point, Sweep};
use crate::solve::simd::shift::{Change, ShiftPlaces};
use std::sync::Arc;

/// The problem in the coordinates of the sweep.
#[derive(Default)]
pub(super) struct System {
    parts: Parts,
    /// The shift in q̂, by place; empty if there is none.
    shift: Vec<f64>,
    /// Who sweeps subdomains and chunks; one thread without workers.
    workers: Option<Arc<WorkerGroup>>,
}

impl System {
    /// Takes a problem whose H is factored, in the memory at hand. What it is made of is checked
    /// ([`crate::solve::simd::Lanes::close`]), and does not change afterwards but for the shift.
    pub(super) fn set(
        &mut self,
        problem: &Problem,
        factor: &mut CliqueFactor,
        settings: &Settings,
        scratch: &mut Scratch,
        workers: Option<Arc<WorkerGroup>>,
    ) {
        self.parts.set(problem, factor, settings, scratch, workers.as_deref());
        self.workers = workers;
        self.shift.clear();
        self.shift.resize(self.parts.sliding.len(), 0.0);
    }

    /// What it is made of.
    pub(super) fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Takes the places of r̂ out, and puts them back.
    pub(super) fn swap_places(&mut self, places: &mut Places) {
        std::mem::swap(&mut self.parts.places, places);
    }

    /// Makes `x` the zero point.
    pub(super) fn zero(&self, x: &mut State) {
        x.r.reset(self.parts.q.len());
        x.z.reset(self.parts.len);
        x.p.reset(self.parts.meshed);
    }

    /// What meshes and compliance add to the product of two points: `a.p·b.z` and `a.r·Ê b.r`.
    fn extra(&self, a: &State, b: &State) -> f64 {
        let Parts { mesh, meshed, compliant, compliance, .. } = &self.parts;
        let mut sum = dot(&a.p, &b.z[*mesh..*mesh + *meshed]);
        if *compliant {
            let products = a.r.iter().zip(b.r.iter()).zip(compliance);
            sum += products.map(|((a, b), e)| a * b * e).sum::<f64>();
        }
        sum
    }
}

impl Sweeps for System {
    /// `z ← Ĵᵀ r̂`, `p ← Jᵀ r`: the velocities that belong to the reactions.
    fn refresh(&self, x: &mut State) {
        x.z.fill(0.0);
        x.p.fill(0.0);
        self.parts.joints.spread(x, self.parts.mesh);
        self.parts.lanes.spread(&x.r, &mut x.z);
        self.parts.singles.spread(x);
    }

    fn sweep(&mut self, x: &mut State, kept: &mut [f64]) -> f64 {
        let Parts { joints, lanes, singles, serial, q, compliance, mesh, .. } = &mut self.parts;
        let mut sum = joints.solve(q, x, *mesh);
        let by_place = ByPlace { q, compliance };
        for k in 0..*serial {
            sum += singles.sweep(k, by_place, x);
        }
        let sweep = Sweep { q, workers: self.workers.as_deref() };
        let [hubs, boundary] = lanes.loose();
        let mut point = Point { z: &mut x.z, r: &mut x.r, kept: &mut *kept };
        for round in 0..lanes.rounds() {
            sum += lanes.sweep_round(round, &mut point, sweep);
        }
        for colour in hubs {
            sum += lanes.sweep_alone(colour, &mut point, sweep);
        }
        for colour in boundary {
            let mut point = Point { z: &mut x.z, r: &mut x.r, kept: &mut *kept };
            sum += lanes.sweep_colour(colour, &mut point, sweep);
            for k in lanes.singles(colour) {
                sum += singles.sweep(k, by_place, x);
            }
        }
        // The lanes have kept theirs; joints come first.
        let joints = joints.len();
        kept[..joints].copy_from_slice(&x.r[..joints]);
        for places in singles.places() {
            kept[places.clone()].copy_from_slice(&x.r[places]);
        }
        0.5 * sum
    }

    fn energy(&self, x: &State) -> f64 {
        let whitened = &x.z[..self.parts.mesh];
        0.5 * (dot(whitened, whitened) + self.extra(x, x)) + dot(&self.parts.q, &x.r)
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
            passes.over(Vector::R).difference(&mut out.r, (&y.r, &x.r), &self.parts.q, &[]).slope;
        // Velocities of meshes are not whitened: their square is no energy.
        let mesh = self.parts.mesh;
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
        if self.parts.compliant || self.parts.meshed > 0 {
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
        passes.cuts.r.clone_from(&self.parts.cuts.r);
        passes.cuts.z.clone_from(&self.parts.cuts.z);
    }

    fn update_shift(&mut self, x: &State, along: &[&[f64]]) -> Option<Change> {
        let Parts { lanes, singles, q, compliance, sliding, .. } = &mut self.parts;
        if sliding.is_empty() {
            return None;
        }
        let by_place = ShiftPlaces { mu: sliding, q, shift: &mut self.shift };
        let mut change = lanes.update_shift(&x.z, by_place, along, self.workers.as_deref());
        let (read, written) = ((&sliding[..], &compliance[..]), (&mut q[..], &mut self.shift[..]));
        change.add(&singles.update_shift(read, written, (x, along)));
        Some(change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Law, PreparedProblem, Solution};
    use crate::solve::psor::Local;
    use crate::solve::psor::tests::ring;

    #[test]
    fn the_lagged_shift_is_that_of_the_velocities() {
        // Lanes, and contacts of one hub that are swept alone.
        let law = Law::Coulomb { mu: 0.6, rows: 3 };
        let mut problem = ring(400, law, 9);
        for b in 1..200u32 {
            let columns: Vec<u32> = (0..6).chain(6 * b..6 * b + 6).collect();
            let values: Vec<f64> = (0..36).map(|i| (0.7 * f64::from(i * b)).sin()).collect();
            problem.J.push(3, &columns, &values);
            problem.laws.push(law);
            problem.E.extend([0.0; 3]);
            problem.w.extend([0.1, -0.2, 0.3]);
        }
        let mut prepared = PreparedProblem::of(&problem).unwrap();
        let settings = Settings { local: Local::Lagged, ..Settings::default() };
        let (mut system, mut x) = (System::default(), State::default());
        system.set(&problem, prepared.factor(), &settings, &mut Scratch::default(), None);
        let places = &system.parts.places.clone();
        let in_lanes = places.row.iter().filter(|row| **row == u32::MAX).count();
        assert!(system.parts.singles.len() > 50 && in_lanes > 0);
        let r: Vec<f64> = (0..problem.rows()).map(|i| (1.3 * i as f64).sin()).collect();
        system.zero(&mut x);
        places.collapse(&r, &mut x.r);
        system.refresh(&mut x);
        let mut solution = Solution { v: problem.k.clone(), r };
        problem.J.add_transposed(&solution.r, &mut solution.v);
        prepared.factor().solve(&mut solution.v);
        let mut u = vec![0.0; problem.rows()];
        problem.local_velocities(&solution.v, &solution.r, &mut u);
        let q = system.parts.q.clone();
        let first = system.update_shift(&x, &[&x.r]).unwrap();
        let (mut energy, mut along) = (0.0, 0.0);
        for place in 0..places.row.len() {
            let (row, s) = (places.row[place] as usize, places.scale[place]);
            let normal = row < u.len() && problem.J.row_starts.contains(&row);
            let shift = if normal { 0.6 * u[row + 1].hypot(u[row + 2]) * s } else { 0.0 };
            // Sums of some hundred terms of order ten.
            assert!(
                (system.shift[place] - shift).abs() < 1e-11 * (1.0 + shift),
                "{place}: {} {shift}",
                system.shift[place]
            );
            assert!((system.parts.q[place] - q[place] - shift).abs() < 1e-11 * (1.0 + shift));
            (energy, along) = (energy + 0.5 * shift * shift, along + shift * x.r[place]);
        }
        assert!(energy > 1.0 && (first.energy - energy).abs() < 1e-10 * energy);
        assert!((first.along[0] - along).abs() < 1e-10 * energy);
        // Updated again at the same point nothing changes.
        let second = system.update_shift(&x, &[&x.r]).unwrap();
        assert!(second.energy < 1e-26 * energy && second.along[0].abs() < 1e-12 * energy);
    }
}
