//! The problem of one block alone, solved exactly.
//!
//! ```text
//!   u = W r + q,   (u, r) ∈ Law        W (d × d) = one diagonal block of the Delassus matrix, d = 1, 2, 3
//! ```
//!
//! One row: closed form. Two rows: stick, or one of the two edges of the cone. Three rows: open
//! (`r = 0`), else stick (`r = −W⁻¹ q`), else slip, where one scalar is left to find:
//!
//! * `Coulomb`: `u_n = 0`, `u_t = −l r_t`. With the normal row eliminated,
//!   `S = W_tt − W_tn W_nt / W_nn`, `b = q_t − W_tn q_n / W_nn`, `r_t(l) = −(S + l I)⁻¹ b`,
//!   `r_n(l) = −(q_n + W_nt r_t) / W_nn`, and l > 0 is the root of `‖r_t‖ − mu r_n`. The function
//!   is positive at l = 0 (else the block would stick) and tends to `mu q_n / W_nn < 0`: a root
//!   exists.
//! * `Cone`: for given r_n the best r_t in the disc `‖r_t‖ ≤ mu r_n` follows from a secular
//!   equation as in trust-region methods; what is left is convex in r_n, with derivative
//!   `u_n − mu ‖u_t‖`, whose root is wanted.
//!
//! Roots are bracketed, then found by regula falsi with the Illinois weights (Acary2018, §4). W
//! need not be symmetric. Where W is not positive on its diagonal no exact solution is to be had:
//! the block then takes one projected step from the reactions it is given.
//!
//! Cost: about 40 ns (stick, open) to 1 µs (slip in three dimensions).

use crate::math::length;
use crate::problem::Law;
use crate::problem::law::MAX_ROWS;

/// Solves `u = w r + q`, `(u, r) ∈ law` for `r`, which holds a guess on entry. `w` is d × d, row by
/// row.
///
/// The result is always finite and admissible if `w`, `q` and the guess are finite.
pub fn solve_block(law: &Law, w: &[f64], q: &[f64], r: &mut [f64]) {
    let d = law.rows();
    let mut x = [0.0; MAX_ROWS];
    let found = match *law {
        Law::Equality => row(w[0], q[0], f64::NEG_INFINITY, f64::INFINITY).map(|r| x[0] = r),
        Law::Unilateral => row(w[0], q[0], 0.0, f64::INFINITY).map(|r| x[0] = r),
        Law::Interval { lo, hi } => row(w[0], q[0], lo, hi).map(|r| x[0] = r),
        Law::Cone { mu, .. } | Law::Coulomb { mu, .. } if mu == 0.0 => {
            row(w[0], q[0], 0.0, f64::INFINITY).map(|r| x[0] = r)
        }
        Law::Cone { mu, rows: 2 } => plane(mu, w, q, true, &mut x),
        Law::Coulomb { mu, rows: 2 } => plane(mu, w, q, false, &mut x),
        Law::Cone { mu, .. } => cone(mu, w, q, &mut x),
        Law::Coulomb { mu, .. } => coulomb(mu, w, q, &mut x),
    };
    if found.is_some() && x[..d].iter().all(|x| x.is_finite()) {
        r.copy_from_slice(&x[..d]);
    } else {
        projected_step(law, w, q, r);
    }
}

/// `r ← P(r − ũ / a)`, a the mean diagonal entry (1 where that is not positive): what is left when
/// no exact solution exists.
fn projected_step(law: &Law, w: &[f64], q: &[f64], r: &mut [f64]) {
    let d = law.rows();
    let mut a = (0..d).map(|i| w[i * d + i]).sum::<f64>() / d as f64;
    if !(a > 0.0 && a.is_finite()) {
        a = 1.0;
    }
    let mut u = [0.0; MAX_ROWS];
    velocity(w, q, r, &mut u);
    u[0] += law.shift(&u[..d]);
    for i in 0..d {
        let step = r[i] - u[i] / a;
        r[i] = if step.is_finite() { step } else { 0.0 };
    }
    law.project(r);
}

/// `u ← w r + q`.
#[inline]
fn velocity(w: &[f64], q: &[f64], r: &[f64], u: &mut [f64]) {
    let d = q.len();
    for i in 0..d {
        u[i] = q[i] + (0..d).map(|j| w[i * d + j] * r[j]).sum::<f64>();
    }
}

/// One row: the root of `w r + q`, cut to [lo, hi].
#[inline]
fn row(w: f64, q: f64, lo: f64, hi: f64) -> Option<f64> {
    (w > 0.0).then(|| (-q / w).clamp(lo, hi))
}

/// Two rows. The convex law makes `u` vanish along the edge `(1, ±mu)`, Coulomb's its normal part.
fn plane(mu: f64, w: &[f64], q: &[f64], convex: bool, r: &mut [f64]) -> Option<()> {
    let open = if convex { q[0] >= mu * q[1].abs() } else { q[0] >= 0.0 };
    if open {
        return Some(());
    }
    let det = w[0] * w[3] - w[1] * w[2];
    if det > 0.0 {
        r[0] = (w[1] * q[1] - w[3] * q[0]) / det;
        r[1] = (w[2] * q[0] - w[0] * q[1]) / det;
        if r[1].abs() <= mu * r[0] {
            return Some(());
        }
    }
    // Of the two edges, the one that violates the law least: both may pass by rounding at a corner.
    let law = if convex { Law::Cone { mu, rows: 2 } } else { Law::Coulomb { mu, rows: 2 } };
    let a = 0.5 * (w[0] + w[3]);
    let (mut best, mut least) = (None, f64::INFINITY);
    for edge in [mu, -mu] {
        let normal = (q[0], w[0] + edge * w[1]);
        let along = (q[0] + edge * q[1], w[0] + edge * (w[1] + w[2]) + edge * edge * w[3]);
        let (force, mass) = if convex { along } else { normal };
        let s = -force / mass;
        if !(s >= 0.0 && s.is_finite()) {
            continue;
        }
        let candidate = [s, edge * s];
        let (mut u, mut out) = ([0.0; 2], [0.0; 2]);
        velocity(w, q, &candidate, &mut u);
        law.natural(a, &u, &candidate, &mut out);
        let error = length(out[0], out[1]);
        if error < least {
            (best, least) = (Some(candidate), error);
        }
    }
    best.map(|candidate| r[..2].copy_from_slice(&candidate))
}

/// The tangent part of a 3 × 3 block: `m` (2 × 2, row by row).
#[derive(Clone, Copy)]
struct Tangent {
    m: [f64; 4],
}

impl Tangent {
    /// `−(m + l I)⁻¹ b`.
    #[inline]
    fn solve(&self, l: f64, b: [f64; 2]) -> [f64; 2] {
        let [a, c, d, e] = [self.m[0] + l, self.m[1], self.m[2], self.m[3] + l];
        let det = a * e - c * d;
        [(c * b[1] - e * b[0]) / det, (d * b[0] - a * b[1]) / det]
    }

    /// Large enough for `m + l I` to be dominated by l.
    fn size(&self) -> f64 {
        self.m.iter().map(|x| x.abs()).sum::<f64>()
    }
}

/// Stick: `r = −w⁻¹ q` by elimination of the normal row, if it lies in the cone.
fn stick(
    mu: f64,
    schur: &Tangent,
    b: [f64; 2],
    normal: impl Fn([f64; 2]) -> f64,
    r: &mut [f64],
) -> Option<()> {
    let t = schur.solve(0.0, b);
    let n = normal(t);
    (length(t[0], t[1]) <= mu * n).then(|| r[..3].copy_from_slice(&[n, t[0], t[1]]))
}

/// The normal row eliminated from the two tangent rows: `S` and `b`.
fn schur(w: &[f64], q: &[f64]) -> (Tangent, [f64; 2]) {
    let (f1, f2) = (w[3] / w[0], w[6] / w[0]);
    let m = [w[4] - f1 * w[1], w[5] - f1 * w[2], w[7] - f2 * w[1], w[8] - f2 * w[2]];
    (Tangent { m }, [q[1] - f1 * q[0], q[2] - f2 * q[0]])
}

/// Three rows under Coulomb's law.
fn coulomb(mu: f64, w: &[f64], q: &[f64], r: &mut [f64]) -> Option<()> {
    if q[0] >= 0.0 {
        return Some(());
    }
    if w[0] <= 0.0 {
        return None;
    }
    let (s, b) = schur(w, q);
    let normal = |t: [f64; 2]| -(q[0] + w[1] * t[0] + w[2] * t[1]) / w[0];
    if stick(mu, &s, b, normal, r).is_some() {
        return Some(());
    }
    // ‖r_t‖ − mu r_n, or ‖r_t‖/mu − r_n where friction is large: neither factor may drown the other
    // term.
    let (of_tangent, of_normal) = if mu > 1.0 { (1.0 / mu, 1.0) } else { (1.0, mu) };
    let excess = |l: f64| {
        let t = s.solve(l, b);
        of_tangent * length(t[0], t[1]) - of_normal * normal(t)
    };
    let mut high = s.size();
    let mut tries = 0;
    while positive_or_nan(excess(high)) {
        high *= 4.0;
        tries += 1;
        if tries > 200 || !high.is_finite() {
            return None;
        }
    }
    let t = s.solve(root(excess, 0.0, high), b);
    // Of the two parts the one that the other determines with fewer lost digits.
    let n = if mu > 1.0 { length(t[0], t[1]) / mu } else { normal(t) };
    on_the_cone(mu, n, t, r)
}

/// Three rows under the convex law.
fn cone(mu: f64, w: &[f64], q: &[f64], r: &mut [f64]) -> Option<()> {
    if q[0] >= mu * length(q[1], q[2]) {
        return Some(());
    }
    if !(w[0] > 0.0 && w[4] > 0.0 && w[8] > 0.0) {
        return None;
    }
    let (s, b) = schur(w, q);
    if stick(mu, &s, b, |t| -(q[0] + w[1] * t[0] + w[2] * t[1]) / w[0], r).is_some() {
        return Some(());
    }
    let tangent = Tangent { m: [w[4], w[5], w[7], w[8]] };
    // The unknown is r_n, or the radius mu r_n of the disc where friction is large.
    let scale = mu.max(1.0);
    let inner = |x: f64| {
        disc(&tangent, [q[1] + w[3] * (x / scale), q[2] + w[6] * (x / scale)], mu / scale * x)
    };
    let slope = |x: f64| {
        let (n, (t, inside)) = (x / scale, inner(x));
        let u = [0, 3, 6].map(|i| q[i / 3] + w[i] * n + w[i + 1] * t[0] + w[i + 2] * t[1]);
        // Inside the disc the tangent velocity vanishes but for rounding.
        u[0] / scale - if inside { 0.0 } else { mu / scale * length(u[1], u[2]) }
    };
    let mass = if mu > 1.0 { w[4].max(w[8]) } else { w[0] };
    let mut high = (mu / scale * length(q[1], q[2]) - q[0] / scale) / mass;
    let mut tries = 0;
    while positive_or_nan(-slope(high)) {
        high *= 2.0;
        tries += 1;
        if tries > 200 || !high.is_finite() {
            return None;
        }
    }
    let x = root(slope, 0.0, high);
    on_the_cone(mu, x / scale, inner(x).0, r)
}

/// `r ← (n, t)` with t stretched to exactly `mu n`.
fn on_the_cone(mu: f64, n: f64, t: [f64; 2], r: &mut [f64]) -> Option<()> {
    let size = length(t[0], t[1]);
    if !(n >= 0.0 && size.is_finite()) {
        return None;
    }
    let stretch = if size > 0.0 { mu * n / size } else { 0.0 };
    r[..3].copy_from_slice(&[n, stretch * t[0], stretch * t[1]]);
    Some(())
}

/// The least of `½ t·m t + b·t` over `‖t‖ ≤ radius`, and whether it lies inside.
fn disc(m: &Tangent, b: [f64; 2], radius: f64) -> ([f64; 2], bool) {
    let free = m.solve(0.0, b);
    if length(free[0], free[1]) <= radius {
        return (free, true);
    }
    if radius <= 0.0 {
        return ([0.0; 2], false);
    }
    // Newton on 1/‖t(l)‖ − 1/radius, nearly linear in l: a handful of steps.
    let (mut l, mut t, mut least) = (0.0, free, f64::INFINITY);
    for _ in 0..50 {
        let size = length(t[0], t[1]);
        let excess = (size - radius).abs();
        // At rounding the steps go on, but not nearer.
        if excess <= 2.0 * f64::EPSILON * radius
            || (excess <= 1e-12 * radius && excess >= 0.5 * least)
        {
            break;
        }
        least = excess;
        let dt = m.solve(l, t);
        let slope = -(t[0] * dt[0] + t[1] * dt[1]) / (size * size);
        let step = (size / radius - 1.0) / slope;
        if !step.is_finite() || l + step == l {
            break;
        }
        l = (l + step).max(0.0);
        t = m.solve(l, b);
    }
    (t, false)
}

/// True for x > 0, and for what is not a number: the bracket then goes on growing until it is given
/// up.
fn positive_or_nan(x: f64) -> bool {
    x > 0.0 || x.is_nan()
}

/// The root of `f` between `low` and `high`, where f has opposite signs.
fn root(f: impl Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    let (mut a, mut fa, mut b, mut fb) = (low, f(low), high, f(high));
    for step in 0..100 {
        if fa == 0.0 {
            return a;
        }
        if fb == 0.0 || (b - a).abs() <= 2.0 * f64::EPSILON * b.abs() {
            break;
        }
        // Every fourth step halves, so that a flat end cannot hold the others up.
        let mut x = if step % 4 == 3 { 0.5 * (a + b) } else { a - fa * ((b - a) / (fb - fa)) };
        if !(x > a.min(b) && x < a.max(b)) {
            x = 0.5 * (a + b);
        }
        let fx = f(x);
        if fx * fb <= 0.0 {
            (a, fa) = (b, fb);
        } else {
            fa *= 0.5;
        }
        (b, fb) = (x, fx);
    }
    b
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_law() -> impl Strategy<Value = Law> {
        let mu = || prop_oneof![Just(0.0), 1e-3..2.0f64, 2.0..10.0f64];
        prop_oneof![
            Just(Law::Equality),
            Just(Law::Unilateral),
            (-3.0..0.0, 0.0..3.0f64).prop_map(|(lo, hi)| Law::Interval { lo, hi }),
            (mu(), 2..4u8).prop_map(|(mu, rows)| Law::Cone { mu, rows }),
            (mu(), 2..4u8).prop_map(|(mu, rows)| Law::Coulomb { mu, rows }),
        ]
    }

    /// `B Bᵀ + ridge I`, with a skew part of relative size `skew`.
    fn block(d: usize, b: &[f64], ridge: f64, skew: f64) -> Vec<f64> {
        let mut w = vec![0.0; d * d];
        for i in 0..d {
            for j in 0..d {
                w[i * d + j] = (0..d).map(|p| b[i * 3 + p] * b[j * 3 + p]).sum();
            }
            w[i * d + i] += ridge;
        }
        for i in 0..d {
            for j in 0..i {
                let s = skew * (w[i * d + i] * w[j * d + j]).sqrt();
                w[i * d + j] += s;
                w[j * d + i] -= s;
            }
        }
        w
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        /// Every law is satisfied to rounding, whatever the block: symmetric or not, well
        /// conditioned or not.
        #[test]
        fn the_law_holds(
            law in any_law(), b in prop::array::uniform9(-1.0..1.0f64),
            q in prop::array::uniform3(-2.0..2.0f64),
            ridge in prop_oneof![Just(1.0), Just(1e-2)], skew in prop_oneof![Just(0.0),
            -0.02..0.02f64], size in -6..6i32,
        ) {
            let d = law.rows();
            let w = block(d, &b, ridge, skew);
            // Any unit of length and mass: the laws with bounds in N s keep theirs.
            let scale = if matches!(law, Law::Interval { .. }) { 1.0 } else { 10f64.powi(size) };
            let q: Vec<f64> = q[..d].iter().map(|x| x * scale).collect();
            let mut r = vec![0.0; d];
            solve_block(&law, &w, &q, &mut r);
            let (mut u, mut out) = (vec![0.0; d], vec![0.0; d]);
            velocity(&w, &q, &r, &mut u);
            let a = (0..d).map(|i| w[i * d + i]).sum::<f64>() / d as f64;
            law.natural(a, &u, &r, &mut out);
            let error = a * crate::math::norm(&out);
            // Rounding of u = W r + q, at a condition of the block up to 1e3 and mu up to 10: 1e5
            // units in the last place.
            let terms = crate::math::norm(&q) + a * crate::math::norm(&r);
            prop_assert!(error <= 1e-11 * terms, "{law:?} error {error:.2e} of {terms:.2e}: w \
                {w:?} q {q:?} r {r:?}");
            if let Some(mu) = law.friction() {
                prop_assert!(crate::problem::law::tangent_norm(&r) <= mu * r[0] * (1.0 + 1e-14));
            }
        }

        /// A block that nothing moves, or one that is indefinite, yields a finite admissible point.
        #[test]
        fn a_bad_block_gives_a_finite_point(law in any_law(),
        b in prop::array::uniform9(-1.0..1.0f64), q in prop::array::uniform3(-2.0..2.0f64),
        zero in any::<bool>()) {
            let d = law.rows();
            let w: Vec<f64> = b[..d * d].iter().map(|x| if zero { 0.0 } else { *x }).collect();
            let mut r = vec![0.5; d];
            solve_block(&law, &w, &q[..d], &mut r);
            prop_assert!(r.iter().all(|x| x.is_finite()));
            let mut p = r.clone();
            law.project(&mut p);
            for (p, r) in p.iter().zip(&r) {
                prop_assert!((p - r).abs() <= 1e-13 * (1.0 + r.abs()));
            }
        }
    }

    /// A block on a table, pushed sideways: sticks below mu N, slides above, with u_t = (p − mu
    /// N)/m.
    #[test]
    fn a_pushed_block_sticks_then_slides() {
        let (mass, mu, weight) = (2.0, 0.5, 10.0);
        let w = [1.0 / mass, 0.0, 0.0, 0.0, 1.0 / mass, 0.0, 0.0, 0.0, 1.0 / mass];
        for push in [3.0, 7.0] {
            let q = [-weight / mass, 0.6 * push / mass, 0.8 * push / mass];
            let mut r = [0.0; 3];
            solve_block(&Law::Coulomb { mu, rows: 3 }, &w, &q, &mut r);
            let friction = f64::min(push, mu * weight);
            for (got, want) in r.iter().zip([weight, -0.6 * friction, -0.8 * friction]) {
                assert!((got - want).abs() < 1e-13, "{r:?}");
            }
        }
    }
}
