//! `w` of rigid unilateral rows: normals of contacts, stops.
//!
//! ```text
//!   gap ≥ 0        w = gap/h                     it may close within the step
//!   gap < 0        w = K gap/h                   a shallow overlap opens, at no more than 5 mm/s
//!                  w = 0                         a deep one is left to positions, at K |gap|/h, at most the largest depenetration velocity
//!   rebound        w = min(w, e u⁻)              it closes within the step, faster than the restitution threshold
//! ```

use super::Scheme;

/// Overlaps that are corrected at no more than this speed are corrected by the velocity, m/s: it is
/// half of what gravity gives in a millisecond. Anything faster would throw bodies apart.
const KEPT_DEPENETRATION_VELOCITY: f64 = 5e-3;

/// `w` of a rigid unilateral row: `before` is its velocity before the step, negative when it
/// closes.
pub fn separation(gap: f64, before: f64, restitution: f64, scheme: &Scheme, h: f64) -> f64 {
    let touch = gap_velocity(gap, scheme, (h, h));
    // Without rebound nothing happens before the bodies touch.
    let rebounds =
        restitution > 0.0 && gap + h * before <= 0.0 && before < -scheme.restitution_threshold;
    if rebounds { touch.min(restitution * before) } else { touch }
}

/// What a gap adds to the velocity of its row over a step of length `h`: it may close; a shallow
/// overlap opens, over `correction_time`; of a deep one positions take care ([`depenetration`]).
pub(super) fn gap_velocity(gap: f64, scheme: &Scheme, (h, correction_time): (f64, f64)) -> f64 {
    match gap {
        gap if gap >= 0.0 => gap / h,
        gap if depenetration(gap, scheme, correction_time) > 0.0 => 0.0,
        gap => (scheme.contact_erp * gap / correction_time).max(-scheme.max_depenetration_velocity),
    }
}

/// The speed at which positions alone are moved out of a deep overlap, m/s or rad/s; zero if it is
/// shallow: what its row is told to do then, slower than this, is part of the velocity.
pub(super) fn depenetration(gap: f64, scheme: &Scheme, correction_time: f64) -> f64 {
    let speed =
        (-scheme.contact_erp * gap / correction_time).min(scheme.max_depenetration_velocity);
    if speed > KEPT_DEPENETRATION_VELOCITY { speed } else { 0.0 }
}
