//! A compliance of the contacts between two rigid bodies, so that they share their load.
//!
//! Two faces that touch in several points are nearly parallel: their gaps differ by nanometres,
//! because a step leaves velocities wrong by its tolerance (1e-6 m/s over 1 ms is 1 nm). For
//! perfectly rigid bodies these nanometres decide which of the points carries the load, and the
//! answer changes from step to step. A gripper then holds a box by one edge, which slips although
//! the friction of all four would hold. Real bodies deform by more than that. Each normal row of a
//! pair with two contacts or more is therefore given the compliance
//!
//! ```text
//!   E_n = min( c / r̄,  1e-3 (1/m_a + 1/m_b) )        velocity per impulse, (m/s)/(N s)
//! ```
//!
//! with r̄ the mean normal impulse of the pair's contacts in the last step, m the masses (a fixed
//! or driven body has none) and c the velocity tolerance of the solver times
//! [`Scheme::load_sharing`](super::Scheme::load_sharing). A contact with the mean load yields by
//! `h c`, as much as the tolerance allows anyway, whatever the load is: a heavy body does not sink
//! into a light one. A pair that carried nothing in the last step is rigid, because its load is not
//! known. All contacts of a pair have the same compliance, so that equal gaps carry equal loads; a
//! table on four legs rests on them as on equal springs. Tangential rows have none: friction that
//! gives way would creep.
//!
//! Steps of more than [`MOST_ROWS`] rows stay rigid. The compliance is a part of the step's
//! problem: the residual, the ledger and stored problems include it.

use super::{Assembly, Source};
use crate::scene::{BodyId, Kind, Scene};

/// Steps of more rows than this stay rigid: they are swept, and sweeps take many times as long over
/// compliant rows.
pub const MOST_ROWS: usize = 600;

/// Largest compliance, relative to the inverse masses.
const MAX_COMPLIANCE_RATIO: f64 = 1e-3;

/// Gives the normal rows of contacts that share a load their compliance: the mean load yields at
/// `speed` (m/s). `guess` are the reactions of the last step, scaled to the length of this one.
pub fn apply(out: &mut Assembly, scene: &Scene, speed: f64, guess: &[f64]) {
    if speed == 0.0 {
        return;
    }
    let pair = Source::bodies_in_contact;
    out.shared.resize(out.sources.len(), 0.0);
    let (sources, problem, shared) = (&out.sources, &mut out.problem, &mut out.shared);
    let mut first = out.joint_blocks;
    while first < sources.len() {
        let Some((a, b)) = pair(&sources[first]) else {
            first += 1;
            continue;
        };
        let count = sources[first..].iter().take_while(|s| pair(s) == Some((a, b))).count();
        let blocks = first..first + count;
        first += count;
        let (Some(one), Some(other)) = (inverse_mass(scene, a), inverse_mass(scene, b)) else {
            continue;
        };
        let row = |k: usize| problem.J.row_starts[k];
        let mean = blocks.clone().map(|k| guess[row(k)].max(0.0)).sum::<f64>() / count as f64;
        if count < 2 || mean == 0.0 {
            continue;
        }
        let compliance = (speed / mean).min(MAX_COMPLIANCE_RATIO * (one + other));
        for k in blocks {
            let row = row(k);
            // A material with a compliance of its own keeps it.
            if problem.E[row] == 0.0 {
                problem.E[row] = compliance;
                shared[k] = compliance;
            }
        }
    }
}

/// 1/m of a rigid body, zero of one that is held or driven; none for a soft body, which yields by
/// itself.
fn inverse_mass(scene: &Scene, body: BodyId) -> Option<f64> {
    match &scene.bodies[body.index()].kind {
        Kind::Rigid(mass) => Some(1.0 / mass.mass),
        Kind::Fixed | Kind::Imposed(_) => Some(0.0),
        Kind::Soft(_) => None,
    }
}
