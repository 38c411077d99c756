//! The same problems by clarabel, in the same run.

use super::rows::PeerRow;
use super::{TOLERANCE, cold, cold_to, difference, progress};
use crate::peers;
use signorini::problem::{Problem, Tolerance};

/// Rounds of measuring, of which the best counts, on both sides alike; one where a round takes
/// longer than [`LONG_SOLVE_SECONDS`].
pub(super) const MEASURED_ROUNDS: usize = 3;
/// See [`MEASURED_ROUNDS`], s.
pub(super) const LONG_SOLVE_SECONDS: f64 = 2.0;

/// Where clarabel takes longer than this its tolerance is not tightened further, s: it is faster
/// so, if less right.
pub(super) const MAX_PEER_SECONDS: f64 = 5.0;
/// What both must reach, m/s.
pub(super) const WANTED_VELOCITY_ERROR: f64 = 1e-6;

/// The same problem by both, cold, set-up included. Each has the loosest of three tolerances at
/// which its velocities are right to [`WANTED_VELOCITY_ERROR`], if any is: two powers of ten apart
/// for clarabel, from 1e-8; one apart for ours, from 1e-6 m/s and 1e-8 of the energy.
pub(super) fn beside(problem: &Problem, reference: Option<&[f64]>) -> Option<PeerRow> {
    progress(&format!("{} beside clarabel", problem.name));
    let exact = reference.map_or_else(|| cold(problem).0.v, <[f64]>::to_vec);
    let mine = [(1e-8, 1e-6), (1e-9, 1e-7), (1e-10, 1e-8)].map(|(relative, velocity)| Tolerance {
        relative,
        velocity,
        bound: None,
        velocity_relative: 0.0,
    });
    let mine = mine
        .into_iter()
        .find(|&t| difference(&cold_to(problem, t).0.v, &exact) < WANTED_VELOCITY_ERROR)
        .unwrap_or(TOLERANCE);
    let ((solution, report, _), mut ours) = peers::repeated(|| cold_to(problem, mine));
    let mut chosen: Option<(peers::Answer, f64, f64)> = None;
    for tolerance in [1e-8, 1e-10, 1e-12] {
        let answer = peers::clarabel(problem, tolerance)?;
        let (wrong, seconds) = (difference(&answer.v, &exact), answer.seconds);
        if chosen.as_ref().is_none_or(|c| wrong < c.1) {
            chosen = Some((answer, wrong, tolerance));
        }
        if wrong < WANTED_VELOCITY_ERROR || seconds > MAX_PEER_SECONDS {
            break;
        }
    }
    let (answer, wrong, tolerance) = chosen?;
    let mut theirs = answer.seconds;
    for _ in 1..if theirs + ours > LONG_SOLVE_SECONDS { 1 } else { MEASURED_ROUNDS } {
        ours = ours.min(peers::repeated(|| cold_to(problem, mine)).1);
        theirs = theirs.min(peers::clarabel(problem, tolerance)?.seconds);
    }
    Some(PeerRow {
        problem: problem.name.clone(),
        rows: problem.rows(),
        ours_ms: 1e3 * ours,
        clarabel_ms: 1e3 * theirs,
        ratio: theirs / ours,
        ours_factorizations: report.work,
        clarabel_iterations: answer.iterations,
        ours_v_error: difference(&solution.v, &exact),
        clarabel_v_error: wrong,
    })
}
