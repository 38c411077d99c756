//! The five laws, and the three maps that every method needs of them.
//!
//! A law couples the reactions `r` and the local velocities `u` of one block of rows:
//!
//! | law | rows | condition | K (where r lives) |
//! |---|---|---|---|
//! | `Equality` | 1 | u = 0 | ℝ |
//! | `Unilateral` | 1 | 0 ≤ u ⊥ r ≥ 0 | r ≥ 0 |
//! | `Interval` | 1 | u ∈ −N(r): r = lo ⇒ u ≥ 0, r = hi ⇒ u ≤ 0, between u = 0 | lo ≤ r ≤ hi |
//! | `Cone` | 2, 3 | K ∋ r ⊥ u ∈ K* | ‖r_t‖ ≤ mu r_n, normal first |
//! | `Coulomb` | 2, 3 | K ∋ r ⊥ u + (mu‖u_t‖, 0, 0) ∈ K* | as `Cone` |
//!
//! All of them are one variational inequality `r = P_K(r − ũ/a)` for any a > 0, where `ũ = u` plus
//! De Saxcé's shift for `Coulomb` (DeSaxce1998). The residual of `Coulomb` is not measured by that
//! form: its distance to the law shrinks with 1/√(1 + mu²), so that at mu = 1e20 a contact whose
//! bodies pass through each other has a residual of 1e-20, and a sticking contact that slides by
//! rounding has a large one. [`Law::natural`] uses the map of Alart and Curnier instead
//! (AlartCurnier1991), which is zero at the same points and has no such factor:
//!
//! ```text
//!   p = max(0, r_n − u_n/a),    r_n − p,    r_t − P_D(r_t − u_t/a),    D = { ‖t‖ ≤ mu p }
//! ```

use serde::{Deserialize, Serialize};

/// The law of one block of rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Law {
    /// u = 0, r free: joints, rheonomic motors.
    Equality,
    /// 0 ≤ u ⊥ r ≥ 0: frictionless contact, joint limit.
    Unilateral,
    /// r between two bounds, u pushes against the bound: force-limited motor, dry friction.
    Interval {
        /// Least reaction, N s; may be −∞.
        #[serde(with = "crate::problem::files::json::bound")]
        lo: f64,
        /// Greatest reaction, N s; may be +∞.
        #[serde(with = "crate::problem::files::json::bound")]
        hi: f64,
    },
    /// Associated friction (convex): sliding contacts dilate.
    Cone {
        /// Coefficient of friction.
        mu: f64,
        /// 2 (normal and one tangent) or 3.
        rows: u8,
    },
    /// The true law of Coulomb.
    Coulomb {
        /// Coefficient of friction.
        mu: f64,
        /// 2 (normal and one tangent) or 3.
        rows: u8,
    },
}

/// The largest number of rows of one block.
pub const MAX_ROWS: usize = 3;

impl Law {
    /// The law of the directions in which its reactions may grow without end.
    pub(crate) fn recession(&self) -> Law {
        match *self {
            Law::Interval { lo, hi } => match (lo == f64::NEG_INFINITY, hi == f64::INFINITY) {
                (true, true) => Law::Equality,
                (below, above) => Law::Interval {
                    lo: if below { f64::NEG_INFINITY } else { 0.0 },
                    hi: if above { f64::INFINITY } else { 0.0 },
                },
            },
            other => other.associated(),
        }
    }

    /// `r ← P_K(r)`, and certainly inside K.
    pub(crate) fn admit(&self, r: &mut [f64]) {
        match *self {
            Law::Cone { mu, .. } | Law::Coulomb { mu, .. } => {
                if mu == 0.0 {
                    r[0] = r[0].max(0.0);
                    r[1..].fill(0.0);
                    return;
                }
                self.project(r);
                let tangent = tangent_norm(r);
                if !(r[0] > 0.0) {
                    r.fill(0.0);
                } else if tangent > mu * r[0] * (1.0 - 4.0 * f64::EPSILON) {
                    // A direction of the tangent is a pure number; its length loses a few units in
                    // the last place.
                    let shorter = mu * r[0] * (1.0 - 8.0 * f64::EPSILON) / tangent;
                    r[1..].iter_mut().for_each(|t| *t *= shorter);
                }
            }
            _ => self.project(r),
        }
    }

    /// Number of rows of the block.
    #[inline]
    pub fn rows(&self) -> usize {
        match *self {
            Law::Equality | Law::Unilateral | Law::Interval { .. } => 1,
            Law::Cone { rows, .. } | Law::Coulomb { rows, .. } => rows as usize,
        }
    }

    /// The name of the law, lower case.
    pub fn name(&self) -> &'static str {
        match self {
            Law::Equality => "equality",
            Law::Unilateral => "unilateral",
            Law::Interval { .. } => "interval",
            Law::Cone { .. } => "cone",
            Law::Coulomb { .. } => "coulomb",
        }
    }

    /// The coefficient of friction of the friction laws.
    pub fn friction(&self) -> Option<f64> {
        match *self {
            Law::Cone { mu, .. } | Law::Coulomb { mu, .. } => Some(mu),
            _ => None,
        }
    }

    /// The same law with friction blocks under the convex (associated) law.
    pub fn associated(self) -> Law {
        match self {
            Law::Coulomb { mu, rows } => Law::Cone { mu, rows },
            other => other,
        }
    }

    /// The same law with friction blocks under the true Coulomb law.
    pub fn true_friction(self) -> Law {
        match self {
            Law::Cone { mu, rows } => Law::Coulomb { mu, rows },
            other => other,
        }
    }

    /// `r ← P_K(r)`: the nearest admissible reactions.
    #[inline]
    pub fn project(&self, r: &mut [f64]) {
        match *self {
            Law::Equality => {}
            Law::Unilateral => r[0] = r[0].max(0.0),
            Law::Interval { lo, hi } => r[0] = r[0].clamp(lo, hi),
            Law::Cone { mu, .. } | Law::Coulomb { mu, .. } => project_cone(mu, r),
        }
    }

    /// De Saxcé's shift `mu ‖u_t‖` of the normal velocity (zero but for `Coulomb`).
    #[inline]
    pub fn shift(&self, u: &[f64]) -> f64 {
        match *self {
            Law::Coulomb { mu, .. } => mu * tangent_norm(u),
            _ => 0.0,
        }
    }

    /// How far `u` (already shifted) is from the velocities that some admissible reaction allows:
    /// the distance to `K*` for cones, `|u|` for `Equality`; for `Interval` the part of `u` that
    /// pushes against an infinite bound.
    pub fn dual_distance(&self, u: &[f64]) -> f64 {
        match *self {
            Law::Equality => u[0].abs(),
            Law::Unilateral => (-u[0]).max(0.0),
            Law::Interval { lo, hi } => {
                let up = if hi.is_infinite() { (-u[0]).max(0.0) } else { 0.0 };
                let down = if lo.is_infinite() { u[0].max(0.0) } else { 0.0 };
                up + down
            }
            // P_{K*}(u) − u = P_K(−u), by Moreau.
            Law::Cone { mu, .. } | Law::Coulomb { mu, .. } => {
                let mut p = [0.0; MAX_ROWS];
                let p = &mut p[..u.len()];
                for (p, u) in p.iter_mut().zip(u) {
                    *p = -u;
                }
                project_cone(mu, p);
                crate::math::norm(p)
            }
        }
    }

    /// The residual map, written to `out`: `r − P_K(r − u/a)` for the convex laws, the map of Alart
    /// and Curnier for `Coulomb` (see the top of this file). It is zero exactly where (u, r)
    /// satisfies the law.
    #[inline]
    pub fn natural(&self, a: f64, u: &[f64], r: &[f64], out: &mut [f64]) {
        // Loops of known length, for the most frequent block.
        match r.len() {
            3 => self.natural_into(a, &u[..3], &r[..3], &mut out[..3]),
            _ => self.natural_into(a, u, r, out),
        }
    }

    #[inline(always)]
    fn natural_into(&self, a: f64, u: &[f64], r: &[f64], out: &mut [f64]) {
        if let Law::Coulomb { mu, .. } = *self {
            return alart_curnier(mu, a, u, r, out);
        }
        for i in 0..r.len() {
            out[i] = r[i] - u[i] / a;
        }
        // Where nothing is cut off, the map is u/a without the cancellation of r − (r − u/a).
        let inside = match *self {
            Law::Equality => true,
            Law::Unilateral => out[0] >= 0.0,
            Law::Interval { lo, hi } => out[0] >= lo && out[0] <= hi,
            Law::Cone { mu, .. } | Law::Coulomb { mu, .. } => {
                in_cone(mu, out[0], tangent_norm(out))
            }
        };
        if inside {
            for i in 0..r.len() {
                out[i] = u[i] / a;
            }
            return;
        }
        self.project(out);
        for (out, r) in out.iter_mut().zip(r) {
            *out = r - *out;
        }
    }

    /// `r − P_K(r − ũ/a)` with De Saxcé's shift in ũ, the natural map of the literature; written to
    /// `out`.
    pub fn natural_with_shift(&self, a: f64, u: &[f64], r: &[f64], out: &mut [f64]) {
        let mut shifted = [0.0; MAX_ROWS];
        let d = r.len();
        shifted[..d].copy_from_slice(&u[..d]);
        shifted[0] += self.shift(u);
        self.associated().natural(a, &shifted[..d], r, out);
    }
}

/// The map of Alart and Curnier for Coulomb's law.
#[inline(always)]
fn alart_curnier(mu: f64, a: f64, u: &[f64], r: &[f64], out: &mut [f64]) {
    let pressed = r[0] - u[0] / a;
    // Open: nothing may act. A value that is not a number stays one.
    if pressed <= 0.0 {
        out.copy_from_slice(r);
        return;
    }
    out[0] = u[0] / a;
    for i in 1..r.len() {
        out[i] = r[i] - u[i] / a;
    }
    let (length, radius) = (tangent_norm(out), mu * pressed);
    if length <= radius {
        (1..r.len()).for_each(|i| out[i] = u[i] / a);
    } else {
        let shorter = radius / length;
        (1..r.len()).for_each(|i| out[i] = r[i] - shorter * out[i]);
    }
}

/// Whether a normal part `n` and a tangential part of length `t` lie in the cone `t ≤ mu n`, n ≥ 0.
/// The second condition follows from the first but at mu = 0, and where mu n underflows.
#[inline]
fn in_cone(mu: f64, n: f64, t: f64) -> bool {
    n >= 0.0 && t <= mu * n
}

/// The norm of the tangential part (all but the first entry).
#[inline]
pub fn tangent_norm(u: &[f64]) -> f64 {
    match u {
        [_, t] => t.abs(),
        [_, t1, t2] => crate::math::length(*t1, *t2),
        _ => 0.0,
    }
}

/// The nearest point of `‖t‖ ≤ mu n`, n ≥ 0 (any finite mu ≥ 0), in closed form.
#[inline]
pub fn project_cone(mu: f64, x: &mut [f64]) {
    let (n, t) = (x[0], tangent_norm(x));
    if in_cone(mu, n, t) {
        return;
    }
    if mu * t <= -n {
        x.fill(0.0);
        return;
    }
    // The normal part (n + mu t)/(1 + mu²), or the tangential one where that is the larger: without
    // overflow of mu².
    let (s, scale) = if mu <= 1.0 {
        let s = (n + mu * t) / (1.0 + mu * mu);
        (s, mu * s / t)
    } else {
        let scale = (n / mu / t + 1.0) / (1.0 / mu / mu + 1.0);
        (scale * t / mu, scale)
    };
    x[0] = s;
    for x in &mut x[1..] {
        *x *= scale;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_law() -> impl Strategy<Value = Law> {
        prop_oneof![
            Just(Law::Equality),
            Just(Law::Unilateral),
            (-3.0..0.0, 0.0..3.0f64).prop_map(|(lo, hi)| Law::Interval { lo, hi }),
            (prop_oneof![Just(0.0), 0.0..10.0f64], 2..4u8)
                .prop_map(|(mu, rows)| Law::Cone { mu, rows }),
        ]
    }

    proptest! {
        /// P is the nearest point: (x − Px)·(y − Px) ≤ 0 for every y of K, and P(Px) = Px.
        #[test]
        fn projection_is_the_nearest_point(law in any_law(),
        x in prop::array::uniform3(-5.0..5.0f64), y in prop::array::uniform3(-5.0..5.0f64)) {
            let d = law.rows();
            let (mut p, mut q) = (x, y);
            law.project(&mut p[..d]);
            law.project(&mut q[..d]);
            let mut again = p;
            law.project(&mut again[..d]);
            let mut angle = 0.0;
            for i in 0..d {
                // mu ≤ 10 and |x| ≤ 5: a few hundred units of rounding.
                prop_assert!((again[i] - p[i]).abs() <= 1e-13);
                angle += (x[i] - p[i]) * (q[i] - p[i]);
            }
            prop_assert!(angle <= 1e-12);
        }

        /// Moreau: the distance to K* is the norm of P_K(−u).
        #[test]
        fn dual_distance_is_zero_in_the_dual_cone(mu in 0.0..5.0f64, t in 0.0..5.0f64,
        over in 0.0..2.0f64) {
            let law = Law::Cone { mu, rows: 2 };
            // K* = { u_n ≥ mu ‖u_t‖ }.
            prop_assert!(law.dual_distance(&[mu * t + over, t]) <= 1e-14 * (1.0 + mu * t));
        }
    }

    #[test]
    fn coulomb_accepts_sliding_and_cone_does_not() {
        // Slides at u_t = 2 with r_t = −mu r_n: a solution of Coulomb's law, not of the associated
        // one.
        let (u, r) = ([0.0, 2.0, 0.0], [1.0, -0.5, 0.0]);
        let mut out = [0.0; 3];
        Law::Coulomb { mu: 0.5, rows: 3 }.natural(1.0, &u, &r, &mut out);
        assert!(out.iter().all(|x| x.abs() < 1e-15));
        Law::Cone { mu: 0.5, rows: 3 }.natural(1.0, &u, &r, &mut out);
        assert!(out[0].abs() > 0.1);
    }
}
