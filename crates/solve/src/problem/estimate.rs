//! An estimate of the energy of the velocity error.
//!
//! Local errors are blind to long waves. For r ∈ K and `v = H⁻¹(k + Jᵀr)`, convexity gives
//!
//! ```text
//!   ½‖v − v*‖²_H ≤ ½ (r − r*)·(u − u*) ≤ ½ Σ_k g_k
//!   g_k = u_k·r_k + ‖d_k‖ ‖r*_k‖      cones (d_k = P_K*(u_k) − u_k)
//!       = |u_k| (|r_k| + |r*_k|)      equality
//!       = max over x ∈ [lo, hi] of u_k (r_k − x)      interval
//! ```
//!
//! `r*` is not known; [`bound`] estimates
//! `‖r*_k‖ = max(2‖r_k‖, 2‖P_K(r_k − ũ_k/a_k)‖, r̄/√a_k)`: twice the present impulse, twice what
//! the block would answer if it stood alone, and the mean r̄ of √a‖r‖ (the root of an energy, so
//! that forces and torques may be averaged); or it takes a reference if it is given one. Early
//! iterates have impulses of the wrong order (a stack after three sweeps bears the weight of three
//! balls) and would make it too small, so with `e = joule/scale` the estimate is widened to
//! `(1 + 100 √e) B + 4 e · ½ v₀ᵀ H v₀`; at an accepted iterate (e ≤ 1e-8) that changes it by a
//! hundredth. On 216 iterates of real problems, from the first sweep to the five-hundredth, it was
//! never below the truth, and within a factor ten of the bound with the true impulses on 61 of the
//! 64 that were locally good (`cargo test --test bound`). It is an estimate all the same: where the
//! feasible set is nearly empty, r* has any size. What is proved says `solve::certificate`, at the
//! price of a factorization. A momentum defect D widens the estimate to `(√B + √D)²`, with B taken
//! at the velocity that belongs to r. For `Coulomb` the shift is held fixed; it is that of u, or
//! zero where the contact sticks: a tangential velocity of rounding times a friction of 10¹⁰ is no
//! speed of sliding. The estimate is of first order, so that the rounding of u times a reaction of
//! 10¹⁶ (a heavy body on a light one) would drown it: of u counts what exceeds the rounding of its
//! own terms, as of ρ. So it does in the local errors where the scale is no more than rounding:
//! balls that fly side by side have no velocity to compare it with.
//!
//! The estimate is the energy of a motion, so it is measured against the energy of a motion: that
//! by which the reactions change it, `½‖v* − v₀‖²_H`, if it exceeds the energy scale. (In a pile
//! that falls as one the contacts within have no velocity to correct, and the scale, a sum over
//! contacts, is that of the floor's alone.) The value of the dual problem at r, `−½ rᵀ(ũ + q̃)`, is
//! never above it, whatever r is.

use super::law::{Law, MAX_ROWS};
use crate::math::norm;

/// `½ Σ g_k`, with `r*` estimated where no reference is given.
pub(super) fn bound(
    laws: &[Law],
    row_starts: &[usize],
    a: &[f64],
    u: &[f64],
    r: &[f64],
    reference: Option<&[f64]>,
) -> f64 {
    let range = |k: usize| row_starts[k]..row_starts[k + 1];
    let mean = (0..laws.len()).map(|k| a[k].sqrt() * norm(&r[range(k)])).sum::<f64>()
        / laws.len().max(1) as f64;
    let mut sum = 0.0;
    for (k, law) in laws.iter().enumerate() {
        let (uk, rk) = (&u[range(k)], &r[range(k)]);
        let star = match reference {
            Some(reference) => norm(&reference[range(k)]),
            None => {
                // What the block would answer if it stood alone: P_K(r − ũ/a).
                let mut step = [0.0; MAX_ROWS];
                law.natural(a[k], uk, rk, &mut step[..rk.len()]);
                step.iter_mut().zip(rk).for_each(|(s, r)| *s = r - *s);
                (2.0 * norm(rk)).max(2.0 * norm(&step[..rk.len()])).max(mean / a[k].sqrt())
            }
        };
        sum += block_bound(law, uk, rk, star).max(0.0);
    }
    0.5 * sum
}

/// `−½ rᵀ(ũ + q̃)`, the value of the dual problem at r: at its maximum, the solution, it is
/// `½‖v* − v₀‖²_H` and what interval rows dissipate, so that no r can make it too large (Coulomb:
/// with the shift held fixed).
pub(super) fn reaction_energy(
    laws: &[Law],
    row_starts: &[usize],
    u: &[f64],
    free: impl Fn(usize) -> f64,
    r: &[f64],
) -> f64 {
    let mut sum = 0.0;
    for (law, rows) in laws.iter().zip(row_starts.windows(2)) {
        let rows = rows[0]..rows[1];
        sum += 2.0 * shift(law, &u[rows.clone()], &r[rows.clone()]) * r[rows.start];
        sum += rows.map(|i| r[i] * (u[i] + free(i))).sum::<f64>();
    }
    (-0.5 * sum).max(0.0)
}

/// A contact sticks if its friction is less than this share of what the normal reaction allows.
const STICKS: f64 = 0.9;

/// The shift of a block: that of its velocity, and that of its law, zero, where it sticks.
fn shift(law: &Law, u: &[f64], r: &[f64]) -> f64 {
    match *law {
        Law::Coulomb { mu, .. } if norm(&r[1..]) < STICKS * mu * r[0] => 0.0,
        _ => law.shift(u),
    }
}

fn block_bound(law: &Law, u: &[f64], r: &[f64], star: f64) -> f64 {
    let d = law.rows();
    match *law {
        Law::Equality => u[0].abs() * (r[0].abs() + star),
        Law::Interval { lo, hi } => {
            let r = r[0].clamp(lo, hi);
            let against =
                |bound: f64| if bound.is_finite() { (r - bound).abs() } else { r.abs() + star };
            if u[0] > 0.0 { u[0] * against(lo) } else { -u[0] * against(hi) }
        }
        Law::Unilateral | Law::Cone { .. } | Law::Coulomb { .. } => {
            let (mut shifted, mut inside) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS]);
            shifted[..d].copy_from_slice(u);
            shifted[0] += shift(law, u, r);
            inside[..d].copy_from_slice(r);
            law.project(&mut inside[..d]);
            let outside = (0..d).map(|i| (r[i] - inside[i]).powi(2)).sum::<f64>().sqrt();
            let distance = law.dual_distance(&shifted[..d]);
            crate::math::dot(&shifted[..d], &inside[..d])
                + distance * star
                + outside * (norm(&shifted[..d]) + distance)
        }
    }
}
