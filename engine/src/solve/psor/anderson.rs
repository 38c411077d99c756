//! Extrapolation between sweeps where no energy falls (Coulomb's law, W that is not symmetric).
//!
//! With `f = G(y) − y` the change of one sweep, keep the last differences Δf and ΔG, minimise
//! `‖f − Σ γ_i Δf_i‖` and go on from `G(y) − Σ γ_i ΔG_i` (Anderson's method, type II). A sweep whose
//! change is larger than that of the last accepted one ends the extrapolation: the next starts from the accepted point.

use super::system::State;
use super::vector::{combine, difference};
use crate::math::dot;

/// What is added to the unit diagonal of the normal equations.
const RIDGE: f64 = 1e-10;

/// A sweep may change this much more than the last accepted one.
const GROWTH: f64 = 2.0;

/// The last accepted sweep and the differences before it.
pub(super) struct Anderson {
    depth: usize,
    /// Where the present sweep started, and the last accepted output.
    start: State,
    accepted: State,
    change: Vec<f64>,
    estimate: f64,
    extrapolated: bool,
    /// Differences of outputs and of changes; used ones, oldest first.
    outputs: Vec<State>,
    changes: Vec<Vec<f64>>,
    used: Vec<usize>,
}

impl Anderson {
    pub(super) fn new(depth: usize, x: State) -> Anderson {
        let m = x.r.len();
        let mut outputs = Vec::new();
        outputs.resize_with(depth + 1, || x.clone());
        Anderson {
            depth,
            start: x.clone(),
            accepted: x,
            change: Vec::new(),
            estimate: f64::INFINITY,
            extrapolated: false,
            outputs,
            changes: vec![vec![0.0; m]; depth + 1],
            used: Vec::new(),
        }
    }

    /// Takes the output `y` of a sweep and replaces it by the start of the next; false if the sweep was lost.
    pub(super) fn advance(&mut self, y: &mut State, estimate: f64) -> bool {
        if self.extrapolated && (estimate.is_nan() || estimate > GROWTH * self.estimate) {
            y.copy_from(&self.accepted);
            self.start.copy_from(y);
            self.used.clear();
            self.change.clear();
            self.extrapolated = false;
            return false;
        }
        let change: Vec<f64> = y.r.iter().zip(&self.start.r).map(|(a, b)| a - b).collect();
        if !self.change.is_empty() {
            let slot = (0..=self.depth).find(|s| !self.used.contains(s)).expect("one place is free");
            difference(&mut self.outputs[slot], y, &self.accepted);
            for (out, (a, b)) in self.changes[slot].iter_mut().zip(change.iter().zip(&self.change)) {
                *out = a - b;
            }
            if self.used.len() == self.depth {
                self.used.remove(0);
            }
            if dot(&self.changes[slot], &self.changes[slot]) > 0.0 {
                self.used.push(slot);
            } else {
                // Nothing changed: the same differences would lead to the same start for ever.
                self.used.clear();
            }
        }
        self.change = change;
        self.estimate = estimate;
        self.accepted.copy_from(y);
        self.extrapolate(y);
        self.start.copy_from(y);
        true
    }

    fn extrapolate(&mut self, y: &mut State) {
        let m = self.used.len();
        let scale: Vec<f64> = self.used.iter().map(|&s| 1.0 / dot(&self.changes[s], &self.changes[s]).sqrt()).collect();
        let (mut a, mut b) = (vec![0.0; m * m], vec![0.0; m]);
        for (i, &s) in self.used.iter().enumerate() {
            b[i] = scale[i] * dot(&self.changes[s], &self.change);
            for (j, &t) in self.used.iter().enumerate() {
                a[i * m + j] = scale[i] * scale[j] * dot(&self.changes[s], &self.changes[t]);
            }
            a[i * m + i] += RIDGE;
        }
        self.extrapolated = m > 0 && crate::math::dense::cholesky(m, &mut a).is_ok();
        if self.extrapolated {
            crate::math::dense::cholesky_solve(m, &a, &mut b);
            let terms: Vec<(f64, &State)> = self.used.iter().enumerate().map(|(i, &s)| (b[i] * scale[i], &self.outputs[s])).collect();
            combine(y, &self.accepted, &terms, false);
        }
    }
}
