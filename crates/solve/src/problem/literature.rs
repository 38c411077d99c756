//! The figures that other programs print, for comparison. None of them decides anything here.

use super::law::{Law, MAX_ROWS, tangent_norm};
use super::{Problem, Reduced, Solution};
use crate::math::norm;
use serde::Serialize;

/// Errors as the literature defines them; units are mixed, as they are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Literature {
    /// ‖r − P_K(r − ũ)‖ with unit step.
    pub natural: f64,
    /// ½ Σ φ², Fischer–Burmeister (Jordan algebra for cones).
    pub fischer_burmeister: f64,
    /// Siconos' relative error of the problem's kind (Acary2018).
    pub siconos: f64,
    /// The four residuals of (Mangoni2018), §4.11.
    pub thesis: Thesis,
}

/// `‖r_pγ‖/n_γ`, `‖r_pλ‖/n_λ`, `‖r_d‖/n`, `μ`, with the slack `y = P_K*(u)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Thesis {
    /// Equality rows.
    pub rp_eq: f64,
    /// All other rows.
    pub rp_ineq: f64,
    /// Momentum.
    pub rd: f64,
    /// Complementarity y·r / n_λ.
    pub mu: f64,
}

/// The literature's figures for a solution of `problem`.
pub fn of(problem: &Problem, solution: &Solution) -> Literature {
    let (n, m) = (problem.n(), problem.rows());
    let Solution { v, r } = solution;
    let mut u = vec![0.0; m];
    problem.local_velocities(v, r, &mut u);
    let mut hv = vec![0.0; n];
    problem.H.mul(v, &mut hv);
    let mut jr = vec![0.0; n];
    problem.J.add_transposed(r, &mut jr);
    let defect: Vec<f64> = (0..n).map(|i| problem.k[i] + jr[i] - hv[i]).collect();
    let mut out = shared(&problem.laws, &problem.J.row_starts, &u, r);
    out.thesis.rd = norm(&defect) / n as f64;
    let dynamics = quotient(norm(&defect), norm(&problem.k).max(norm(&hv)).max(norm(&jr)));
    out.siconos = dynamics + quotient(out.natural, norm(&u).max(norm(r)));
    out
}

/// The literature's figures for reactions of a reduced problem.
pub fn of_reduced(reduced: &Reduced, r: &[f64]) -> Literature {
    let mut u = vec![0.0; reduced.rows()];
    reduced.local_velocities(r, &mut u);
    let mut out = shared(&reduced.laws, &reduced.row_starts, &u, r);
    let q = norm(&reduced.q);
    let friction = reduced.laws.iter().any(|law| law.friction().is_some());
    let interval = reduced.laws.iter().any(|law| matches!(law, Law::Interval { .. }));
    out.siconos = match (friction, interval) {
        (true, _) => quotient(out.natural, q.max(norm(r)).max(norm(&u))),
        (false, true) => out.natural / (1.0 + q),
        (false, false) => quotient(out.natural, q),
    };
    out
}

/// x / scale, or x itself where the scale is below rounding (as Siconos does).
fn quotient(x: f64, scale: f64) -> f64 {
    if scale > f64::EPSILON { x / scale } else { x }
}

fn shared(laws: &[Law], row_starts: &[usize], u: &[f64], r: &[f64]) -> Literature {
    let mut out = Literature::default();
    let (mut natural, mut merit) = (0.0, 0.0);
    let (mut equality, mut inequality, mut product) = (0.0, 0.0, 0.0);
    let (mut equalities, mut others) = (0usize, 0usize);
    for (k, law) in laws.iter().enumerate() {
        let range = row_starts[k]..row_starts[k + 1];
        let d = range.len();
        let (uk, rk) = (&u[range.clone()], &r[range]);
        let mut x = [0.0; MAX_ROWS];
        law.natural_with_shift(1.0, uk, rk, &mut x[..d]);
        natural += x[..d].iter().map(|x| x * x).sum::<f64>();
        let mut shifted = [0.0; MAX_ROWS];
        shifted[..d].copy_from_slice(uk);
        shifted[0] += law.shift(uk);
        merit += 0.5 * fischer_burmeister(law, &shifted[..d], rk);
        if *law == Law::Equality {
            equality += uk[0] * uk[0];
            equalities += 1;
        } else {
            let distance = law.dual_distance(&shifted[..d]);
            inequality += distance * distance;
            product += match *law {
                Law::Interval { lo, hi } => {
                    let against = if uk[0] > 0.0 { rk[0] - lo } else { rk[0] - hi };
                    if against.is_finite() { uk[0] * against } else { 0.0 }
                }
                _ => crate::math::dot(&shifted[..d], rk) + distance * norm(rk),
            };
            others += d;
        }
    }
    out.natural = natural.sqrt();
    out.fischer_burmeister = merit;
    out.thesis.rp_eq = equality.sqrt() / equalities.max(1) as f64;
    out.thesis.rp_ineq = inequality.sqrt() / others.max(1) as f64;
    out.thesis.mu = product / others.max(1) as f64;
    out
}

/// φ(a, b) = √(a² + b²) − a − b, without cancellation for a, b > 0.
fn phi(a: f64, b: f64) -> f64 {
    let root = a.hypot(b);
    if a + b > 0.0 { -2.0 * a * b / (root + a + b) } else { root - a - b }
}

/// ‖φ‖² of one block; u is shifted already.
fn fischer_burmeister(law: &Law, u: &[f64], r: &[f64]) -> f64 {
    let square = |x: f64| x * x;
    match *law {
        Law::Equality => square(u[0]),
        Law::Unilateral => square(phi(u[0], r[0])),
        // φ(r − lo, −φ(hi − r, −u)) in the sign of `phi`; an infinite bound drops out.
        Law::Interval { lo, hi } => {
            let upper = if hi.is_finite() { phi(hi - r[0], -u[0]) } else { u[0] };
            square(if lo.is_finite() { phi(r[0] - lo, upper) } else { upper })
        }
        Law::Cone { mu, .. } | Law::Coulomb { mu, .. } if mu == 0.0 => {
            square(phi(u[0], r[0])) + square(tangent_norm(r))
        }
        Law::Cone { mu, .. } | Law::Coulomb { mu, .. } => {
            // Both in the self-dual cone: x = (mu r_n, r_t), y = (u_n, mu u_t).
            let d = u.len();
            let (mut x, mut y, mut s) = ([0.0; MAX_ROWS], [0.0; MAX_ROWS], [0.0; MAX_ROWS]);
            for i in 0..d {
                x[i] = if i == 0 { mu * r[0] } else { r[i] };
                y[i] = if i == 0 { u[0] } else { mu * u[i] };
            }
            // s = x∘x + y∘y, then its root through the two eigenvalues.
            s[0] = x.iter().chain(&y).map(|x| x * x).sum();
            for i in 1..d {
                s[i] = 2.0 * (x[0] * x[i] + y[0] * y[i]);
            }
            let t = tangent_norm(&s[..d]);
            let (large, small) = ((s[0] + t).max(0.0).sqrt(), (s[0] - t).max(0.0).sqrt());
            let mut sum = square(0.5 * (large + small) - x[0] - y[0]);
            for i in 1..d {
                let direction = if t > 0.0 { s[i] / t } else { 0.0 };
                sum += square(0.5 * (large - small) * direction - x[i] - y[i]);
            }
            sum
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_zero_at_a_solution() {
        for (law, u, r) in [
            (Law::Unilateral, vec![0.0], vec![3.0]),
            (Law::Unilateral, vec![2.0], vec![0.0]),
            (Law::Interval { lo: -1.0, hi: 2.0 }, vec![-3.0], vec![2.0]),
            (Law::Interval { lo: -1.0, hi: 2.0 }, vec![3.0], vec![-1.0]),
            (Law::Interval { lo: -1.0, hi: f64::INFINITY }, vec![0.0], vec![7.0]),
            (Law::Coulomb { mu: 0.5, rows: 3 }, vec![0.0, 2.0, 0.0], vec![1.0, -0.5, 0.0]),
            (Law::Cone { mu: 2.0, rows: 2 }, vec![4.0, 2.0], vec![1.0, -2.0]),
        ] {
            let got = shared(&[law], &[0, u.len()], &u, &r);
            // Numbers of order 1..10: a few units of rounding, squared in the merit.
            assert!(
                got.natural < 1e-14 && got.fischer_burmeister < 1e-27 && got.thesis.rp_ineq < 1e-14,
                "{law:?} {got:?}"
            );
        }
    }
}
