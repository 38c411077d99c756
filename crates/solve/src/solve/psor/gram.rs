//! The last few differences: their Gram matrix, the slopes along them, the combination that makes
//! the slopes vanish.

use crate::math::dense::{cholesky, cholesky_solve};

/// The most differences.
pub(super) const MAX_DIFFERENCES: usize = 24;

/// What is added to the unit diagonal of the Gram matrix; the counts do not change from 1e-13 to
/// 1e-4.
const RIDGE: f64 = 1e-10;

/// What a new difference d brings: `d·d`, the slope along it, and `d·d_i` for each of those in use.
#[derive(Clone, Copy, Default)]
pub(super) struct Products {
    pub square: f64,
    pub slope: f64,
    pub others: [f64; MAX_DIFFERENCES],
}

/// Places, products and slopes of the differences in use.
pub(super) struct Gram {
    depth: usize,
    /// Places in use, oldest first.
    used: Vec<usize>,
    products: Vec<f64>,
    slopes: Vec<f64>,
    matrix: Vec<f64>,
    factors: Vec<f64>,
}

impl Gram {
    pub(super) fn new(depth: usize) -> Gram {
        let depth = depth.clamp(1, MAX_DIFFERENCES);
        let wide = depth + 1;
        Gram {
            depth,
            used: Vec::with_capacity(wide),
            products: vec![0.0; wide * wide],
            slopes: vec![0.0; wide],
            matrix: Vec::with_capacity(depth * depth),
            factors: Vec::with_capacity(depth),
        }
    }

    /// The most differences that are kept.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Number of places: one more than the differences that are kept.
    pub(super) fn places(&self) -> usize {
        self.depth + 1
    }

    /// Places in use, oldest first.
    pub(super) fn used(&self) -> &[usize] {
        &self.used
    }

    /// A place that is free.
    pub(super) fn free(&self) -> usize {
        (0..=self.depth).find(|s| !self.used.contains(s)).expect("one place is free")
    }

    pub(super) fn clear(&mut self) {
        self.used.clear();
    }

    /// Takes the difference at `place`; the point has moved along it, and the slopes with it. One
    /// of no length means that nothing moves any more: the same differences would lead to the same
    /// start for ever, so all are forgotten.
    pub(super) fn take(&mut self, place: usize, new: &Products) {
        if !(new.square > 0.0 && new.square.is_finite()) {
            self.used.clear();
            return;
        }
        let wide = self.depth + 1;
        for (&other, &product) in self.used.iter().zip(&new.others) {
            self.products[place * wide + other] = product;
            self.products[other * wide + place] = product;
            self.slopes[other] += product;
        }
        self.products[place * wide + place] = new.square;
        self.slopes[place] = new.slope;
        if self.used.len() == self.depth {
            self.used.remove(0);
        }
        self.used.push(place);
    }

    /// The slopes have changed by this much along each of the differences in use.
    pub(super) fn shift_slopes(&mut self, change: &[f64]) {
        for (&place, change) in self.used.iter().zip(change) {
            self.slopes[place] += change;
        }
    }

    /// What [`Gram::factors`] found last.
    pub(super) fn found(&self) -> &[f64] {
        &self.factors
    }

    /// The factors of the differences in use (in their order) that take the slopes away; none if
    /// there are none.
    pub(super) fn factors(&mut self) -> &[f64] {
        let (wide, m) = (self.depth + 1, self.used.len());
        let product = |i: usize, j: usize| self.products[self.used[i] * wide + self.used[j]];
        let scale = |i: usize| 1.0 / product(i, i).sqrt();
        self.matrix.clear();
        self.factors.clear();
        for i in 0..m {
            self.factors.push(scale(i) * self.slopes[self.used[i]]);
            for j in 0..m {
                self.matrix
                    .push(product(i, j) * scale(i) * scale(j) + if i == j { RIDGE } else { 0.0 });
            }
        }
        if cholesky(m, &mut self.matrix).is_err() {
            self.factors.clear();
            return &self.factors;
        }
        cholesky_solve(m, &self.matrix, &mut self.factors);
        for i in 0..m {
            self.factors[i] *= scale(i);
        }
        &self.factors
    }
}
