//! Extrapolation between sweeps: the least energy over the last few differences.
//!
//! z is affine in r̂, so that the dual energy `φ = ½ z·z + q̂·r̂` over the span of stored
//! differences `(p_i, q_i) = (Δr̂, Δz)` needs dot products alone:
//!
//! 1. The sweep from y leaves x⁺.
//! 2. If y was extrapolated and φ rose above the last accepted point's (or, where φ only changes by
//!    rounding, the sweep's estimate did): go back there, forget all differences.
//! 3. Else store `x⁺ − x`, add a row to the Gram matrix `A_ij = q_i·q_j`, and accept x⁺.
//! 4. `A γ = b`, `b_i = q_i·z⁺ + q̂·p_i`; the next sweep starts from `y = x⁺ − Σ γ_i (p_i, q_i)`.
//!
//! y may leave the cones; the sweep brings it back. Projecting y would double the number of sweeps.
//! Steps 2 and 3 are one pass over r̂ and z, step 4 another.

use super::gram::Gram;
use super::system::{State, Sweeps};
use super::vector::Passes;

/// A rise of φ that is rounding, and a change that may be, both relative to φ.
const ROUNDING: f64 = 1e-14;
const NEGLIGIBLE_DIFFERENCE: f64 = 1e-12;

/// How far the estimate may lie above the least so far where φ is silent.
const MAX_ESTIMATE_GROWTH: f64 = 2.0;

/// The last accepted point and the differences that led to it.
pub(super) struct Subspace {
    /// The last accepted point.
    x: State,
    phi: f64,
    /// The least estimate so far.
    least: f64,
    /// True if the point being swept was extrapolated.
    extrapolated: bool,
    pairs: Vec<State>,
    gram: Gram,
    passes: Passes,
}

impl Subspace {
    /// Differences of at most `depth` sweeps.
    pub(super) fn new(depth: usize) -> Subspace {
        let gram = Gram::new(depth);
        let mut pairs = Vec::new();
        pairs.resize_with(gram.places(), State::default);
        Subspace {
            x: State::default(),
            phi: 0.0,
            least: f64::INFINITY,
            extrapolated: false,
            pairs,
            gram,
            passes: Passes::default(),
        }
    }

    pub(super) fn depth(&self) -> usize {
        self.gram.depth()
    }

    /// Begins anew at the point x.
    pub(super) fn start(&mut self, x: &State, system: &impl Sweeps) {
        self.x.set(x);
        self.pairs.iter_mut().for_each(|pair| pair.set(x));
        (self.phi, self.least, self.extrapolated) = (system.energy(x), f64::INFINITY, false);
        self.gram.clear();
        system.share(&mut self.passes);
    }

    /// The reactions along which a change of q̂ must be known: those of the last accepted point,
    /// then the differences in use.
    pub(super) fn along(&self) -> impl Iterator<Item = &[f64]> {
        std::iter::once(&self.x.r[..])
            .chain(self.gram.used().iter().map(|&place| &self.pairs[place].r[..]))
    }

    /// q̂ has changed, and so have the energy and the slopes: by this much [`Subspace::along`]
    /// each.
    pub(super) fn shift_slopes(&mut self, change: &[f64]) {
        self.phi += change[0];
        self.least = f64::INFINITY;
        self.gram.shift_slopes(&change[1..]);
    }

    /// Takes the output `y` of a sweep and replaces it by the start of the next; false if the sweep
    /// was lost.
    pub(super) fn advance(&mut self, y: &mut State, estimate: f64, system: &impl Sweeps) -> bool {
        let place = self.gram.free();
        let mut pair = std::mem::take(&mut self.pairs[place]);
        // φ(x⁺) − φ(x) = c + q·z⁺ − ½ q·q, without the cancellation of the two energies.
        let products = system.difference(
            &mut pair,
            (y, &self.x),
            (self.gram.used(), &self.pairs),
            &mut self.passes,
        );
        self.pairs[place] = pair;
        let change = products.slope - 0.5 * products.square;
        // Below the rounding of φ its change says nothing: then the sweep's own estimate must not
        // grow.
        let silent = change.abs() <= NEGLIGIBLE_DIFFERENCE * self.phi.abs();
        let rose = change.is_nan()
            || change > ROUNDING * self.phi.abs()
            || (silent && estimate > MAX_ESTIMATE_GROWTH * self.least);
        if self.extrapolated && rose {
            self.passes.copy(y, &self.x);
            self.gram.clear();
            self.extrapolated = false;
            return false;
        }
        self.phi += change;
        self.least = self.least.min(estimate);
        std::mem::swap(&mut self.x, y);
        self.gram.take(place, &products);
        let count = self.gram.factors().len();
        self.extrapolated = count > 0;
        let places = &self.gram.used()[..count];
        self.passes.combine(y, &self.x, (self.gram.found(), places), &self.pairs);
        true
    }
}
