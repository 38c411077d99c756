//! Joints that do not meet at the beginning are brought together.

use super::SimulationError;
use signorini_mechanics::analyse::place::{self, place};
use signorini_mechanics::scene::{Scene, State};

/// Brings joints together that do not meet; says what moved, or which loop cannot close.
pub fn close_joints(scene: &Scene, state: &mut State) -> Result<Option<String>, SimulationError> {
    if scene.joints.is_empty() || place::widest(scene, state).0 <= 1e-9 {
        return Ok(None);
    }
    let placement = place(scene, state, false);
    if placement.closed() {
        let moved = placement.moved.map_or(String::new(), |(body, far)| {
            format!("; `{}` moved most, by {far:.3e} m", scene.bodies[body.index()].name)
        });
        let gap = placement.before;
        return Ok(Some(format!(
            "the joints did not meet by {gap:.3e} (m or rad) and were brought together{moved}"
        )));
    }
    let loop_: Vec<String> =
        placement.loop_.iter().map(|j| format!("`{}`", scene.joints[j.index()].name)).collect();
    let open: Vec<String> = placement.open.iter().map(|s| s.name(scene)).collect();
    let what = if loop_.is_empty() {
        open.join(", ")
    } else {
        format!("the loop of {}", loop_.join(", "))
    };
    Err(SimulationError::Open(format!(
        "{what} cannot close: {:.3e} (m or rad) are missing at best; change a length, the place of \
            a joint or its kind",
        placement.gap
    )))
}
