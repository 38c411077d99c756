//! Starting points.
//!
//! Cold (Mangoni2018, eq. 4.57 with its errata): one system with W = I,
//!
//! ```text
//!   Ĥ v − Ĵᵀ r = k̂,   Ĵ v + M̂ r + ŵ + r = 0   (u = −r),   equality rows: Ĵ v + M̂ r + ŵ = 0
//!   r ← P(r) + τ e,  u ← P(u) + τ e,            τ = √(u·u / number of cones)
//! ```
//!
//! Warm: the guess (v, r) and u = P(Ĵ v + M̂ r + ŵ), moved inside by the margin
//! `t = √(2 merit / number of cones)` that measures how wrong the guess is in the new problem.

use super::cone::{Kind, Pair};
use super::kkt::{Diagonal, Kkt};
use super::path::{EQUALITY_REGULARIZATION, Point};
use super::scaled::Scaled;
use crate::math::ldlt::BadPivot;

/// The solution of the system with W = I.
#[derive(Default)]
pub struct Glued {
    /// Velocities, √J.
    pub v: Vec<f64>,
    /// Reactions, √J; not yet in their cones.
    pub r: Vec<f64>,
}

/// Solves the first system: one factorization.
pub fn glued(
    scaled: &Scaled,
    kkt: &mut Kkt,
    diagonal: &mut Diagonal,
    out: &mut Glued,
) -> Result<(), BadPivot> {
    diagonal.reset(scaled.blocks.len(), scaled.rows());
    for block in &scaled.blocks {
        match block.kind {
            Kind::Free => diagonal.regular[block.first] = EQUALITY_REGULARIZATION,
            _ => diagonal.entries[block.range()].fill(1.0),
        }
    }
    kkt.factor(scaled, diagonal)?;
    let n = scaled.n();
    out.v.clone_from(&scaled.k);
    out.v.extend_from_slice(&scaled.w);
    kkt.solve(&mut out.v, 3);
    out.r.clear();
    out.r.extend_from_slice(&out.v[n..]);
    out.v.truncate(n);
    Ok(())
}

/// `point ←` the interior point at (v, r), r and u projected and moved inside by `margin`.
pub fn inside(
    scaled: &Scaled,
    (v, r): (&[f64], &[f64]),
    u: &[f64],
    margin: f64,
    point: &mut Point,
) {
    for (list, from) in [(&mut point.v, v), (&mut point.r, r)] {
        list.clear();
        list.extend_from_slice(from);
    }
    point.pairs.clear();
    for block in &scaled.blocks {
        let (mut x, mut y) = (block.pick(r), block.pick(u));
        match block.kind {
            Kind::Free => {
                point.pairs.push(Pair::default());
                continue;
            }
            Kind::Box { length } => {
                let edge = margin.min(0.25 * length);
                x[0] = x[0].clamp(edge, length - edge);
                x[1] = length - x[0];
                y = [y[0].max(0.0) + margin, (-y[0]).max(0.0) + margin, 0.0];
            }
            Kind::Ray | Kind::Lorentz => {
                block.kind.project(&mut x);
                block.kind.project(&mut y);
                x[0] += margin;
                y[0] += margin;
            }
        }
        block.put(&x, &mut point.r);
        point.pairs.push(Pair::new(block.kind, y, x));
    }
}

/// `point ←` the cold start from the first system's solution; `u` is room for its local velocities.
pub fn cold(scaled: &Scaled, glued: &Glued, factor: f64, u: &mut Vec<f64>, point: &mut Point) {
    u.resize(scaled.rows(), 0.0);
    scaled.local_velocities(&glued.v, &glued.r, u);
    let margin = factor * spread(scaled, u);
    inside(scaled, (&glued.v, &glued.r), u, margin, point);
}

/// τ: the root mean square of u over the cones.
pub fn spread(scaled: &Scaled, u: &[f64]) -> f64 {
    let sum: f64 = scaled
        .blocks
        .iter()
        .filter(|b| b.kind != Kind::Free)
        .flat_map(|b| b.range())
        .map(|i| u[i] * u[i])
        .sum();
    (sum / scaled.degree().max(1) as f64).sqrt().max(1e-100)
}
