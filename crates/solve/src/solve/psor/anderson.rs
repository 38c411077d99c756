//! Extrapolation between sweeps where no energy falls (Coulomb's law, W that is not symmetric).
//!
//! With `f = G(y) − y` the change of one sweep, keep the last differences Δf and ΔG, minimise
//! `‖f − Σ γ_i Δf_i‖` and go on from `G(y) − Σ γ_i ΔG_i` (Anderson's method, type II). A sweep
//! whose change is larger than that of the last accepted one ends the extrapolation: the next
//! starts from the accepted point.

use super::gram::Gram;
use super::simd::Aligned;
use super::system::{State, Sweeps};
use super::vector::{Passes, Vector, listed};

/// A sweep may change this much more than the last accepted one.
const MAX_ESTIMATE_GROWTH: f64 = 2.0;

/// The last accepted sweep and the differences before it.
pub(super) struct Anderson {
    /// Where the present sweep started, and the last accepted output.
    start: Aligned,
    accepted: State,
    /// The change of the last accepted sweep, if there was one, and that of the present one.
    change: Aligned,
    present: Aligned,
    begun: bool,
    estimate: f64,
    extrapolated: bool,
    /// Differences of outputs and of changes.
    outputs: Vec<State>,
    changes: Vec<Aligned>,
    gram: Gram,
    passes: Passes,
}

impl Anderson {
    /// Differences of at most `depth` sweeps.
    pub(super) fn new(depth: usize) -> Anderson {
        let gram = Gram::new(depth);
        let (mut outputs, mut changes) = (Vec::new(), Vec::new());
        outputs.resize_with(gram.places(), State::default);
        changes.resize_with(gram.places(), Aligned::default);
        Anderson {
            start: Aligned::default(),
            accepted: State::default(),
            change: Aligned::default(),
            present: Aligned::default(),
            begun: false,
            estimate: f64::INFINITY,
            extrapolated: false,
            outputs,
            changes,
            gram,
            passes: Passes::default(),
        }
    }

    pub(super) fn depth(&self) -> usize {
        self.gram.depth()
    }

    /// Begins anew at the point x.
    pub(super) fn start(&mut self, x: &State, system: &impl Sweeps) {
        self.accepted.set(x);
        self.outputs.iter_mut().for_each(|output| output.set(x));
        for vector in
            self.changes.iter_mut().chain([&mut self.start, &mut self.change, &mut self.present])
        {
            vector.set(&x.r);
        }
        (self.begun, self.estimate, self.extrapolated) = (false, f64::INFINITY, false);
        self.gram.clear();
        system.share(&mut self.passes);
    }

    /// Takes the output `y` of a sweep and replaces it by the start of the next; false if the sweep
    /// was lost.
    pub(super) fn advance(&mut self, y: &mut State, estimate: f64) -> bool {
        if self.extrapolated
            && (estimate.is_nan() || estimate > MAX_ESTIMATE_GROWTH * self.estimate)
        {
            self.passes.copy(y, &self.accepted);
            self.start.copy_from_slice(&y.r);
            self.gram.clear();
            (self.begun, self.extrapolated) = (false, false);
            return false;
        }
        let passes = &mut self.passes;
        passes.over(Vector::R).difference(&mut self.present, (&y.r, &self.start), &[], &[]);
        if self.begun {
            let place = self.gram.free();
            let output = &mut self.outputs[place];
            passes.over(Vector::R).difference(&mut output.r, (&y.r, &self.accepted.r), &[], &[]);
            passes.over(Vector::Z).difference(&mut output.z, (&y.z, &self.accepted.z), &[], &[]);
            passes.over(Vector::Other).difference(
                &mut output.p,
                (&y.p, &self.accepted.p),
                &[],
                &[],
            );
            let mut new = std::mem::take(&mut self.changes[place]);
            let used = self.gram.used();
            let others = listed(used, |p| &self.changes[p]);
            let products = passes.over(Vector::R).difference(
                &mut new,
                (&self.present, &self.change),
                &self.present,
                &others[..used.len()],
            );
            self.changes[place] = new;
            self.gram.take(place, &products);
        }
        std::mem::swap(&mut self.change, &mut self.present);
        self.begun = true;
        self.estimate = estimate;
        std::mem::swap(&mut self.accepted, y);
        let count = self.gram.factors().len();
        self.extrapolated = count > 0;
        let places = &self.gram.used()[..count];
        self.passes.combine(y, &self.accepted, (self.gram.found(), places), &self.outputs);
        self.start.copy_from_slice(&y.r);
        true
    }
}
