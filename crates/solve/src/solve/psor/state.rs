//! Points of the iteration, and what the loop around the sweeps needs to know of a system.

use crate::solve::parallel::passes::{Cuts, MAX_DIFFERENCES, Passes, Products, Vector};
use crate::solve::simd::Aligned;
use crate::solve::simd::shift::Change;

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

    /// `self ← x − Σ factor_i d_i`, `d_i = pairs[places[i]]`.
    pub(super) fn combine(
        &mut self,
        x: &State,
        (factors, places): (&[f64], &[usize]),
        pairs: &[State],
        passes: &mut Passes,
    ) {
        let pair = |i: usize| &pairs[places[i]];
        passes.over(Vector::R).combine((&mut self.r, &x.r), factors, |i| &pair(i).r);
        passes.over(Vector::Z).combine((&mut self.z, &x.z), factors, |i| &pair(i).z);
        passes.over(Vector::Other).combine((&mut self.p, &x.p), factors, |i| &pair(i).p);
    }

    /// `self ← from`.
    pub(super) fn copy(&mut self, from: &State, passes: &mut Passes) {
        self.combine(from, (&[], &[]), &[], passes);
    }
}

/// Row of the problem and scale for each place of r̂.
#[derive(Clone, Default)]
pub(super) struct Places {
    pub row: Vec<u32>,
    pub scale: Vec<f64>,
}

impl Places {
    /// Writes scaled reactions in the order of the problem.
    pub(super) fn expand(&self, scaled: &[f64], r: &mut [f64]) {
        for ((&row, &s), &x) in self.row.iter().zip(&self.scale).zip(scaled) {
            if row != u32::MAX {
                r[row as usize] = x * s;
            }
        }
    }

    /// The scaled reactions of `r`.
    pub(super) fn collapse(&self, r: &[f64], scaled: &mut [f64]) {
        for ((&row, &s), x) in self.row.iter().zip(&self.scale).zip(scaled) {
            *x = if row != u32::MAX && s > 0.0 { r[row as usize] / s } else { 0.0 };
        }
    }
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

/// The vectors of the differences at these places, as a list on the stack.
pub(super) fn listed<'a>(
    places: &[usize],
    part: impl Fn(usize) -> &'a [f64],
) -> [&'a [f64]; MAX_DIFFERENCES] {
    std::array::from_fn(|i| places.get(i).map_or(&[][..], |&p| part(p)))
}
