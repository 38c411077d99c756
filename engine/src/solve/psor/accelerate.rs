//! Extrapolation between sweeps: the least energy over the last few differences.
//!
//! z is affine in r̂, so that the dual energy `φ = ½ z·z + q̂·r̂` over the span of stored differences
//! `(p_i, q_i) = (Δr̂, Δz)` needs dot products alone:
//!
//! 1. The sweep from y leaves x⁺.
//! 2. If y was extrapolated and φ rose above the last accepted point's (or, where φ only changes by rounding, the
//!    sweep's estimate did): go back there, forget all differences.
//! 3. Else store `x⁺ − x`, add a row to the Gram matrix `A_ij = q_i·q_j`, and accept x⁺.
//! 4. `A γ = b`, `b_i = q_i·z⁺ + q̂·p_i`; the next sweep starts from `y = x⁺ − Σ γ_i (p_i, q_i)`.
//!
//! y may leave the cones; the sweep brings it back. Projecting y would double the number of sweeps.

use super::system::{State, Sweeps};
use super::vector::{combine, difference};

/// What is added to the unit diagonal of the Gram matrix; the counts do not change from 1e-13 to 1e-4.
const RIDGE: f64 = 1e-10;

/// A rise of φ that is rounding, and a change that may be, both relative to φ.
const ROUNDING: f64 = 1e-14;
const SILENT: f64 = 1e-12;

/// How far the estimate may lie above the least so far where φ is silent.
const GROWTH: f64 = 2.0;

/// The last accepted point and the differences that led to it.
pub(super) struct Subspace {
    depth: usize,
    /// The last accepted point.
    x: State,
    phi: f64,
    /// The least estimate so far.
    least: f64,
    /// True if the point being swept was extrapolated.
    extrapolated: bool,
    pairs: Vec<State>,
    /// `b_i = q_i·z + q̂·p_i` at the last accepted point.
    slope: Vec<f64>,
    gram: Vec<f64>,
    /// Places of `pairs` in use, oldest first.
    used: Vec<usize>,
}

impl Subspace {
    /// Differences of at most `depth` sweeps, from the point x.
    pub(super) fn new(depth: usize, x: State, system: &impl Sweeps) -> Subspace {
        let phi = 0.5 * system.product(&x, &x) + system.linear(&x);
        let mut pairs = Vec::new();
        pairs.resize_with(depth + 1, || x.clone());
        let wide = depth + 1;
        Subspace {
            depth,
            x,
            phi,
            least: f64::INFINITY,
            extrapolated: false,
            pairs,
            slope: vec![0.0; wide],
            gram: vec![0.0; wide * wide],
            used: Vec::new(),
        }
    }

    /// Takes the output `y` of a sweep and replaces it by the start of the next; false if the sweep was lost.
    pub(super) fn advance(&mut self, y: &mut State, estimate: f64, system: &impl Sweeps) -> bool {
        let wide = self.depth + 1;
        let slot = (0..wide).find(|s| !self.used.contains(s)).expect("one place is free");
        difference(&mut self.pairs[slot], y, &self.x);
        // φ(x⁺) − φ(x) = c + q·z⁺ − ½ q·q, without the cancellation of the two energies.
        let pair = &self.pairs[slot];
        let (c, square, along) = (system.linear(pair), system.product(pair, pair), system.product(pair, y));
        let change = c + along - 0.5 * square;
        // Below the rounding of φ its change says nothing: then the sweep's own estimate must not grow.
        let silent = change.abs() <= SILENT * self.phi.abs();
        let rose = change.is_nan() || change > ROUNDING * self.phi.abs() || (silent && estimate > GROWTH * self.least);
        if self.extrapolated && rose {
            y.copy_from(&self.x);
            self.used.clear();
            self.extrapolated = false;
            return false;
        }
        self.phi += change;
        self.least = self.least.min(estimate);
        std::mem::swap(&mut self.x, y);
        if square > 0.0 && square.is_finite() {
            if self.used.len() == self.depth {
                self.used.remove(0);
            }
            self.slope[slot] = c + along;
            self.gram[slot * wide + slot] = square;
            for &other in &self.used {
                let product = system.product(&self.pairs[slot], &self.pairs[other]);
                self.gram[slot * wide + other] = product;
                self.gram[other * wide + slot] = product;
                // z moved by q_new, and the slopes with it.
                self.slope[other] += product;
            }
            self.used.push(slot);
        } else {
            // Nothing moved: the same differences would lead to the same start for ever.
            self.used.clear();
        }
        self.extrapolate(y, system.parallel());
        true
    }

    /// `y ← x − Σ γ_i (p_i, q_i)`.
    fn extrapolate(&mut self, y: &mut State, parallel: bool) {
        let (wide, m) = (self.depth + 1, self.used.len());
        let scale: Vec<f64> = self.used.iter().map(|&s| 1.0 / self.gram[s * wide + s].sqrt()).collect();
        let mut a = vec![0.0; m * m];
        let mut b = vec![0.0; m];
        for (i, &s) in self.used.iter().enumerate() {
            b[i] = scale[i] * self.slope[s];
            for (j, &t) in self.used.iter().enumerate() {
                a[i * m + j] = self.gram[s * wide + t] * scale[i] * scale[j];
            }
            a[i * m + i] += RIDGE;
        }
        self.extrapolated = m > 0 && crate::math::dense::cholesky(m, &mut a).is_ok();
        let mut terms = Vec::with_capacity(m);
        if self.extrapolated {
            crate::math::dense::cholesky_solve(m, &a, &mut b);
            terms.extend(self.used.iter().enumerate().map(|(i, &s)| (b[i] * scale[i], &self.pairs[s])));
        }
        combine(y, &self.x, &terms, parallel);
    }
}
