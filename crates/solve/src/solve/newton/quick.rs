//! One block solved exactly, fast: what does not change from sweep to sweep is prepared.
//!
//! The branches of [`crate::solve::local`], in the order of their price: open is a comparison,
//! stick a product with the inverse of the block, slip (`Coulomb`, three rows) the root l > 0 of
//!
//! ```text
//!   g(l) = ‖c + l b‖ + (mu / W_nn) (q_n δ(l) − W_nt·(c + l b)),     c = adj(S) b,   δ(l) = det(S + l I) = l² + tr S l + det S
//! ```
//!
//! which is `(‖r_t‖ − mu r_n) δ(l)` with `r_t(l) = −(c + l b)/δ(l)`; Newton from the root of the
//! last sweep finds it in two or three steps. Where S is not positive definite, and for the convex
//! law, the general solver is asked.

use crate::problem::Law;
use crate::problem::law::MAX_ROWS;
use crate::solve::local::solve_block;

/// What a block needs in every sweep.
#[derive(Clone, Copy, Default)]
pub(super) struct Quick {
    /// The block, d × d.
    w: [f64; MAX_ROWS * MAX_ROWS],
    /// Its inverse.
    inverse: [f64; MAX_ROWS * MAX_ROWS],
    /// Whether the inverse (and S) may be used.
    regular: bool,
    /// S, its trace and determinant.
    schur: [f64; 4],
    trace: f64,
    determinant: f64,
    /// The root of the last sweep.
    root: f64,
}

impl Quick {
    /// Prepares the block `w + eps I`; keeps the root.
    pub fn set(&mut self, law: &Law, w: &[f64], eps: f64) {
        let d = law.rows();
        self.w[..d * d].copy_from_slice(&w[..d * d]);
        (0..d).for_each(|i| self.w[i * d + i] += eps);
        let w = &self.w;
        self.regular = match (d, law) {
            (2, Law::Coulomb { mu, .. }) => {
                let det = w[0] * w[3] - w[1] * w[2];
                self.inverse[..4].copy_from_slice(&[
                    w[3] / det,
                    -w[1] / det,
                    -w[2] / det,
                    w[0] / det,
                ]);
                *mu > 0.0 && w[0] > 0.0 && det > 1e-10 * w[0] * w[3]
            }
            (3, Law::Coulomb { mu, .. }) => {
                let (f1, f2) = (w[3] / w[0], w[6] / w[0]);
                let s = [w[4] - f1 * w[1], w[5] - f1 * w[2], w[7] - f2 * w[1], w[8] - f2 * w[2]];
                let det = s[0] * s[3] - s[1] * s[2];
                (self.schur, self.trace, self.determinant) = (s, s[0] + s[3], det);
                // −r = W⁻¹ q: tangents from S, the normal from its row.
                let t = [s[3] / det, -s[1] / det, -s[2] / det, s[0] / det];
                let column = [-(t[0] * f1 + t[1] * f2), -(t[2] * f1 + t[3] * f2)];
                let (n1, n2) = (w[1] / w[0], w[2] / w[0]);
                self.inverse = [
                    1.0 / w[0] - n1 * column[0] - n2 * column[1],
                    -(n1 * t[0] + n2 * t[2]),
                    -(n1 * t[1] + n2 * t[3]),
                    column[0],
                    t[0],
                    t[1],
                    column[1],
                    t[2],
                    t[3],
                ];
                let size = self.trace * self.trace;
                *mu > 0.0
                    && w[0] > 0.0
                    && s[0] > 0.0
                    && s[3] > 0.0
                    && det > 1e-10 * size
                    && self.inverse.iter().all(|x| x.is_finite())
            }
            _ => false,
        };
    }

    /// Solves `u = w r + q`, `(u, r) ∈ law` for r.
    #[inline]
    pub fn solve(&mut self, law: &Law, q: &[f64], r: &mut [f64]) {
        let solved = match *law {
            Law::Unilateral if self.w[0] > 0.0 => {
                r[0] = (-q[0] / self.w[0]).max(0.0);
                true
            }
            Law::Coulomb { mu, rows: 3 } if self.regular => self.space(mu, q, r),
            Law::Coulomb { mu, rows: 2 } if self.regular => self.plane(mu, q, r),
            _ => false,
        };
        if !solved {
            solve_block(law, &self.w[..r.len() * r.len()], q, r);
        }
    }

    #[inline]
    fn plane(&self, mu: f64, q: &[f64], r: &mut [f64]) -> bool {
        if q[0] >= 0.0 {
            r[..2].fill(0.0);
            return true;
        }
        let (w, v) = (&self.w, &self.inverse);
        let n = -(v[0] * q[0] + v[1] * q[1]);
        let t = -(v[2] * q[0] + v[3] * q[1]);
        if t.abs() <= mu * n {
            r[..2].copy_from_slice(&[n, t]);
            return true;
        }
        for edge in [mu.copysign(t), -mu.copysign(t)] {
            let s = -q[0] / (w[0] + edge * w[1]);
            let slides = q[1] + (w[2] + edge * w[3]) * s;
            if s > 0.0 && s.is_finite() && slides * edge <= 0.0 {
                r[..2].copy_from_slice(&[s, edge * s]);
                return true;
            }
        }
        false
    }

    #[inline]
    fn space(&mut self, mu: f64, q: &[f64], r: &mut [f64]) -> bool {
        if q[0] >= 0.0 {
            r[..3].fill(0.0);
            return true;
        }
        let v = &self.inverse;
        let n = -(v[0] * q[0] + v[1] * q[1] + v[2] * q[2]);
        let t1 = -(v[3] * q[0] + v[4] * q[1] + v[5] * q[2]);
        let t2 = -(v[6] * q[0] + v[7] * q[1] + v[8] * q[2]);
        if n >= 0.0 && t1 * t1 + t2 * t2 <= mu * mu * n * n {
            r[..3].copy_from_slice(&[n, t1, t2]);
            return true;
        }
        self.slip(mu, q, r)
    }

    fn slip(&mut self, mu: f64, q: &[f64], r: &mut [f64]) -> bool {
        let (w, s) = (&self.w, &self.schur);
        let ratio = q[0] / w[0];
        let b = [q[1] - w[3] * ratio, q[2] - w[6] * ratio];
        let c = [s[3] * b[0] - s[1] * b[1], s[0] * b[1] - s[2] * b[0]];
        // ‖c + l b‖² = cc + 2 l cb + l² bb;  g's other part: p0 + l p1 + l² p2.
        let (cc, cb, bb) =
            (c[0] * c[0] + c[1] * c[1], c[0] * b[0] + c[1] * b[1], b[0] * b[0] + b[1] * b[1]);
        let m = mu / w[0];
        let p0 = m * (q[0] * self.determinant - w[1] * c[0] - w[2] * c[1]);
        let p1 = m * (q[0] * self.trace - w[1] * b[0] - w[2] * b[1]);
        let p2 = m * q[0];
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let mut l = if self.root > 0.0 && self.root.is_finite() { self.root } else { self.trace };
        let mut found = false;
        for _ in 0..60 {
            let length = (cc + l * (2.0 * cb + l * bb)).max(0.0).sqrt();
            let g = length + p0 + l * (p1 + l * p2);
            if g > 0.0 {
                low = l
            } else {
                high = l
            }
            let slope = (cb + l * bb) / length + p1 + 2.0 * l * p2;
            let mut next = l - g / slope;
            // The step after a Newton step of 1e-9 would be one of 1e-18; halving knows no such
            // thing.
            let mut enough = 1e-9;
            if !(next > low && next < high) {
                next = if high.is_finite() { 0.5 * (low + high) } else { 4.0 * l };
                enough = 4.0 * f64::EPSILON;
            }
            let step = (next - l).abs();
            l = next;
            if step <= enough * l || g == 0.0 {
                found = true;
                break;
            }
        }
        let delta = self.determinant + l * (self.trace + l);
        let t = [-(c[0] + l * b[0]) / delta, -(c[1] + l * b[1]) / delta];
        let n = -(q[0] + w[1] * t[0] + w[2] * t[1]) / w[0];
        let length = (t[0] * t[0] + t[1] * t[1]).sqrt();
        if !(found && n > 0.0 && length > 0.0 && length.is_finite()) {
            return false;
        }
        // At the root the reaction lies on the cone; where it does not, the general solver looks
        // closer.
        let stretch = mu * n / length;
        if !((stretch - 1.0).abs() <= 1e-10) {
            return false;
        }
        self.root = l;
        r[..3].copy_from_slice(&[n, stretch * t[0], stretch * t[1]]);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        /// The same reactions as the general solver, from any root of an earlier sweep.
        #[test]
        fn agrees_with_the_general_solver(
            b in prop::array::uniform9(-1.0..1.0f64), q in prop::array::uniform3(-2.0..2.0f64),
            mu in 0.01..3.0f64,
            rows in 2..4u8, skew in -0.02..0.02f64, eps in prop_oneof![Just(0.0), Just(1e-2)],
            root in prop_oneof![Just(0.0), 1e-6..10.0f64],
        ) {
            let d = rows as usize;
            let law = Law::Coulomb { mu, rows };
            let mut w = vec![0.0; d * d];
            for i in 0..d {
                for j in 0..d {
                    w[i * d + j] = (0..d).map(|p| b[i * 3 + p] * b[j * 3 + p]).sum::<f64>() + if i == j { 0.05 } else { 0.0 };
                    w[i * d + j] += if i < j { skew } else if i > j { -skew } else { 0.0 };
                }
            }
            let mut quick = Quick { root, ..Quick::default() };
            quick.set(&law, &w, eps);
            (0..d).for_each(|i| w[i * d + i] += eps);
            let (mut fast, mut general) = (vec![0.0; d], vec![0.0; d]);
            quick.solve(&law, &q[..d], &mut fast);
            solve_block(&law, &w, &q[..d], &mut general);
            // The local problem may have several solutions: both must satisfy the law, each need
            // not be the other.
            let residual = |r: &[f64]| {
                let u: Vec<f64> = (0..d).map(|i| q[i] + (0..d).map(|j| w[i * d + j] * r[j]).sum::<f64>()).collect();
                let mut out = vec![0.0; d];
                law.natural(1.0, &u, r, &mut out);
                crate::math::norm(&out)
            };
            // Conditions of the block up to 1e2, of the root (mu up to 3) as much again.
            prop_assert!(residual(&fast) < 1e-9 * (1.0 + crate::math::norm(&fast)) && residual(&general).is_finite(), "{fast:?} {general:?}");
        }
    }
}
