//! Newton's function of one block, and its derivative.
//!
//! In joule-scaled variables (`y = √a r`, `u/√a`, so that the step of the projection is 1) the law
//! of a block is `F(y, u) = 0`:
//!
//! ```text
//!   Equality     F = u
//!   Unilateral   F = y − (y − u)⁺
//!   Interval     F = y − clamp(y − u, lo, hi)
//!   Cone         F = y − P_K(y − u)
//!   Coulomb      F_n = y_n − (y_n − u_n)⁺,   F_t = y_t − P_{‖·‖ ≤ mu (y_n − u_n)⁺}(y_t − u_t)      (AlartCurnier1991)
//! ```
//!
//! and, for `u = W y + q`, its (generalised) derivative is `dF = A W dy + B dy` with the blocks A
//! and B found here.

use crate::problem::Law;
use crate::problem::law::{MAX_ROWS, tangent_norm};
use serde::Serialize;

/// On which branch of its law a block is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Branch {
    /// No reaction (or one at a bound): the velocity is free.
    #[default]
    Open,
    /// No velocity: the reaction is free.
    Stick,
    /// Friction at its limit: both are tied.
    Slip,
}

/// `F` of one block and the two factors of its derivative, row by row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Piece {
    pub branch: Branch,
    pub f: [f64; MAX_ROWS],
    pub a: [f64; MAX_ROWS * MAX_ROWS],
    pub b: [f64; MAX_ROWS * MAX_ROWS],
}

impl Piece {
    /// Open with `F = f`: A = 0, B = I.
    fn open(f: &[f64]) -> Piece {
        let mut piece = Piece { branch: Branch::Open, ..Piece::default() };
        piece.f[..f.len()].copy_from_slice(f);
        for i in 0..f.len() {
            piece.b[i * f.len() + i] = 1.0;
        }
        piece
    }

    /// Stick with `F = u`: A = I, B = 0.
    fn stick(u: &[f64]) -> Piece {
        let mut piece = Piece { branch: Branch::Stick, ..Piece::default() };
        piece.f[..u.len()].copy_from_slice(u);
        for i in 0..u.len() {
            piece.a[i * u.len() + i] = 1.0;
        }
        piece
    }

    /// The piece of `law` at (y, u).
    pub fn of(law: &Law, y: &[f64], u: &[f64]) -> Piece {
        let z = y[0] - u[0];
        match *law {
            Law::Equality => Piece::stick(u),
            Law::Unilateral if z > 0.0 => Piece::stick(u),
            Law::Unilateral => Piece::open(y),
            Law::Interval { lo, hi } if z > lo && z < hi => Piece::stick(u),
            Law::Interval { lo, hi } => Piece::open(&[y[0] - z.clamp(lo, hi)]),
            Law::Cone { mu, .. } => cone(mu, y, u),
            Law::Coulomb { mu, .. } => coulomb(mu, y, u),
        }
    }
}

/// The tangent part of `y − u`.
fn tangent(y: &[f64], u: &[f64]) -> [f64; 2] {
    let mut z = [0.0; 2];
    for i in 1..y.len() {
        z[i - 1] = y[i] - u[i];
    }
    z
}

fn coulomb(mu: f64, y: &[f64], u: &[f64]) -> Piece {
    let d = y.len();
    let normal = y[0] - u[0];
    if normal <= 0.0 {
        return Piece::open(y);
    }
    let z = tangent(y, u);
    let (length, radius) = (z[0].hypot(z[1]), mu * normal);
    if length <= radius && mu > 0.0 {
        return Piece::stick(u);
    }
    let mut piece = Piece { branch: Branch::Slip, ..Piece::default() };
    // Without friction the direction does not matter, but it must be one.
    let direction = if length > 0.0 { [z[0] / length, z[1] / length] } else { [1.0, 0.0] };
    let ratio = if length > 0.0 { radius / length } else { 0.0 };
    piece.f[0] = u[0];
    piece.a[0] = 1.0;
    for i in 1..d {
        let along = mu * direction[i - 1];
        piece.f[i] = y[i] - radius * direction[i - 1];
        piece.a[i * d] = along;
        piece.b[i * d] = -along;
        for j in 1..d {
            let identity = if i == j { 1.0 } else { 0.0 };
            // In two rows the direction is ±1 and the turning part vanishes.
            let turn =
                if d == 2 { 0.0 } else { ratio * (identity - direction[i - 1] * direction[j - 1]) };
            piece.a[i * d + j] = turn;
            piece.b[i * d + j] = identity - turn;
        }
    }
    piece
}

fn cone(mu: f64, y: &[f64], u: &[f64]) -> Piece {
    let d = y.len();
    let mut z = [0.0; MAX_ROWS];
    for i in 0..d {
        z[i] = y[i] - u[i];
    }
    let length = tangent_norm(&z[..d]);
    if length <= mu * z[0] {
        return Piece::stick(u);
    }
    if mu * length <= -z[0] {
        return Piece::open(y);
    }
    // P = s (1, mu t) with s = (z_n + mu |z_t|)/(1 + mu²): its derivative is D = g gᵀ/(1 + mu²) +
    // (mu s/|z_t|) (I − t tᵀ), g = (1, mu t).
    let s = (z[0] + mu * length) / (1.0 + mu * mu);
    let mut g = [1.0, 0.0, 0.0];
    for i in 1..d {
        g[i] = mu * z[i] / length;
    }
    let mut piece = Piece { branch: Branch::Slip, ..Piece::default() };
    for i in 0..d {
        piece.f[i] = y[i] - s * g[i];
        for j in 0..d {
            let mut x = g[i] * g[j] / (1.0 + mu * mu);
            if d == 3 && i > 0 && j > 0 {
                let identity = if i == j { 1.0 } else { 0.0 };
                x += mu * s / length * (identity - z[i] * z[j] / (length * length));
            }
            piece.a[i * d + j] = x;
            piece.b[i * d + j] = if i == j { 1.0 - x } else { -x };
        }
    }
    piece
}

/// How far `y − u` is from the nearest other branch, relative to its own length: 0 on the border,
/// at most 1.
pub(super) fn margin(law: &Law, y: &[f64], u: &[f64]) -> f64 {
    let d = law.rows();
    let normal = y[0] - u[0];
    let z = tangent(y, u);
    let length = if d > 1 { z[0].hypot(z[1]) } else { 0.0 };
    let distance = match *law {
        Law::Equality => return 1.0,
        Law::Unilateral => normal.abs(),
        Law::Interval { lo, hi } => (normal - lo).abs().min((normal - hi).abs()),
        // The lines |t| = mu n and (dual) mu |t| = −n, in the plane of normal and tangent.
        Law::Cone { mu, .. } => {
            let root = (1.0 + mu * mu).sqrt();
            ((length - mu * normal).abs() / root).min((normal + mu * length).abs() / root)
        }
        Law::Coulomb { .. } if normal <= 0.0 => -normal,
        Law::Coulomb { mu, .. } => {
            ((length - mu * normal).abs() / (1.0 + mu * mu).sqrt()).min(normal)
        }
    };
    let size = normal.hypot(length);
    if size > 0.0 { (distance / size).min(1.0) } else { 0.0 }
}

/// The least t > 0 at which `z + t dz` (z = y − u) reaches another branch of the law; infinite if
/// it never does.
pub(super) fn first_change(law: &Law, z: &[f64], dz: &[f64]) -> f64 {
    let crossing = |value: f64, slope: f64| {
        let t = -value / slope;
        if t > 0.0 { t } else { f64::INFINITY }
    };
    match *law {
        Law::Equality => f64::INFINITY,
        Law::Unilateral => crossing(z[0], dz[0]),
        Law::Interval { lo, hi } => crossing(z[0] - lo, dz[0]).min(crossing(z[0] - hi, dz[0])),
        Law::Cone { mu, .. } => edge(z, dz, mu).min(if mu > 0.0 {
            edge(z, dz, -1.0 / mu)
        } else {
            crossing(z[0], dz[0])
        }),
        Law::Coulomb { mu, .. } => {
            let normal = crossing(z[0], dz[0]);
            edge(z, dz, mu).min(normal)
        }
    }
}

/// The least t > 0 with `‖z_t‖ = slope z_n` at `z + t dz`.
fn edge(z: &[f64], dz: &[f64], slope: f64) -> f64 {
    let (mut a, mut b, mut c) =
        (-(slope * dz[0]).powi(2), -slope * slope * z[0] * dz[0], -(slope * z[0]).powi(2));
    for i in 1..z.len() {
        a += dz[i] * dz[i];
        b += z[i] * dz[i];
        c += z[i] * z[i];
    }
    // a t² + 2 b t + c = 0, by the form without cancellation.
    let discriminant = b * b - a * c;
    if discriminant < 0.0 {
        return f64::INFINITY;
    }
    let s = -(b + discriminant.sqrt().copysign(b));
    let mut least = f64::INFINITY;
    for t in [s / a, c / s] {
        // The other nappe of the squared cone does not count.
        if t > 0.0 && t < least && slope * (z[0] + t * dz[0]) >= 0.0 {
            least = t;
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_law() -> impl Strategy<Value = Law> {
        prop_oneof![
            Just(Law::Equality),
            Just(Law::Unilateral),
            (-1.0..0.0, 0.0..1.0f64).prop_map(|(lo, hi)| Law::Interval { lo, hi }),
            (0.05..3.0f64, 2..4u8).prop_map(|(mu, rows)| Law::Cone { mu, rows }),
            (0.05..3.0f64, 2..4u8).prop_map(|(mu, rows)| Law::Coulomb { mu, rows }),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// A and B are the derivative by central differences, away from the borders of the
        /// branches.
        #[test]
        fn derivatives_match_differences(law in any_law(),
        y in prop::array::uniform3(-2.0..2.0f64), u in prop::array::uniform3(-2.0..2.0f64)) {
            let d = law.rows();
            let (y, u) = (&y[..d], &u[..d]);
            prop_assume!(margin(&law, y, u) > 1e-3);
            let piece = Piece::of(&law, y, u);
            let h = 1e-6;
            for j in 0..d {
                for velocity in [true, false] {
                    let at = |step: f64| {
                        let (mut y, mut u) = (y.to_vec(), u.to_vec());
                        if velocity { u[j] += step } else { y[j] += step }
                        Piece::of(&law, &y, &u).f
                    };
                    let (plus, minus) = (at(h), at(-h));
                    for i in 0..d {
                        let difference = (plus[i] - minus[i]) / (2.0 * h);
                        let want = if velocity { piece.a[i * d + j] } else { piece.b[i * d + j] };
                        // Second differences of order mu/|z|² at |z| ≥ 1e-3·size: 1e-6 of h² =
                        // 1e-12, times at most 1e6.
                        prop_assert!((difference - want).abs() < 1e-5, "{law:?} {i} {j} \
                            {velocity}: {difference} {want}");
                    }
                }
            }
        }

        /// F vanishes where the natural map does: the two describe one law.
        #[test]
        fn zero_exactly_at_a_solution(law in any_law(), w in 0.2..2.0f64,
        q in prop::array::uniform3(-2.0..2.0f64)) {
            let d = law.rows();
            let block: Vec<f64> = (0..d * d).map(|i| if i % (d + 1) == 0 { w } else { 0.05 * w }).collect();
            let mut y = vec![0.0; d];
            crate::solve::local::solve_block(&law, &block, &q[..d], &mut y);
            let u: Vec<f64> = (0..d).map(|i| q[i] + (0..d).map(|j| block[i * d + j] * y[j]).sum::<f64>()).collect();
            let piece = Piece::of(&law, &y, &u);
            for f in &piece.f[..d] {
                prop_assert!(f.abs() < 1e-12, "{law:?} {f}");
            }
        }

        /// The branch is the same just before the first change, and another just after it.
        #[test]
        fn the_first_change_is_where_the_branch_changes(law in any_law(),
        z in prop::array::uniform3(-2.0..2.0f64), dz in prop::array::uniform3(-2.0..2.0f64)) {
            let d = law.rows();
            let branch = |t: f64| {
                let y: Vec<f64> = (0..d).map(|i| z[i] + t * dz[i]).collect();
                Piece::of(&law, &y, &[0.0; MAX_ROWS][..d]).branch
            };
            let t = first_change(&law, &z[..d], &dz[..d]);
            if !(1e-3..1e3).contains(&t) {
                return Ok(());
            }
            prop_assert_eq!(branch(t * (1.0 - 1e-6)), branch(0.0));
            // Touching a border without crossing it (a double root) is the exception: look a little
            // further for the other side.
            prop_assert!(branch(t * (1.0 + 1e-6)) != branch(0.0) || branch(t * (1.0 + 1e-3)) != branch(0.0));
        }
    }
}
