//! Constraints that contradict each other.
//!
//! No velocity satisfies all rows exactly when some combination of reactions proves it (Farkas):
//!
//! ```text
//!   r ∈ K,   Jᵀ r = 0,   E r = 0,   w·r < 0        (then u·r = w·r < 0 for every v, but u·r ≥ 0 on K*)
//! ```
//!
//! The reactions of a method that cannot succeed grow along such a ray. A ray found in floating
//! point has `Jᵀ r` small instead of zero: then it excludes all velocities with
//! `‖v‖_H < −w·r / ‖Jᵀr‖_H⁻¹`, and the problem is called infeasible if that exceeds
//! [`EXCLUDED_VELOCITY_RATIO`] times the energy that the problem holds.

use super::cone::Kind;
use super::scaled::Scaled;

/// Velocities excluded, as a multiple of what the problem's own data amount to.
const EXCLUDED_VELOCITY_RATIO: f64 = 1e6;
/// Blocks with at least this part of the largest reaction of the ray are named.
const NAMED_REACTION_RATIO: f64 = 1e-3;

/// The blocks of the problem that contradict each other, as one of these rays of reactions proves
/// it; none if none does.
pub fn conflict(scaled: &Scaled, rays: &[Vec<f64>]) -> Vec<usize> {
    rays.iter()
        .filter(|ray| ray.len() == scaled.rows())
        .find_map(|ray| proof(scaled, ray.clone()))
        .unwrap_or_default()
}

fn proof(scaled: &Scaled, mut ray: Vec<f64>) -> Option<Vec<usize>> {
    // Into the cones; a box admits no ray.
    for block in scaled.blocks.iter().filter(|b| b.kind != Kind::Free) {
        let mut x = block.pick(&ray);
        match block.kind {
            Kind::Box { .. } => x = [0.0; 3],
            kind => kind.project(&mut x),
        }
        block.put(&x, &mut ray);
    }
    let size = crate::math::norm(&ray);
    if ray.is_empty() || !(size > 0.0 && size.is_finite()) {
        return None;
    }
    ray.iter_mut().for_each(|x| *x /= size);
    let mut push = vec![0.0; scaled.n()];
    scaled.J.add_transposed(&ray, &mut push);
    let mut soft = vec![0.0; scaled.rows()];
    scaled.couple(&ray, &mut soft);
    let against = -crate::math::dot(&scaled.w, &ray);
    let leak = crate::math::norm(&push) + crate::math::dot(&soft, &ray).max(0.0).sqrt();
    let data = crate::math::norm(&scaled.w).max(crate::math::norm(&scaled.k));
    if !(against > 1e-9 * data && against >= EXCLUDED_VELOCITY_RATIO * leak * data.max(against)) {
        return None;
    }
    let share =
        |block: &super::scaled::Block| block.pick(&ray).iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let largest = scaled.blocks.iter().map(share).fold(0.0, f64::max);
    Some(
        scaled
            .blocks
            .iter()
            .filter(|b| share(b) >= NAMED_REACTION_RATIO * largest)
            .map(|b| b.source)
            .collect(),
    )
}
