//! What can be said of a scene without simulating it, and of a step after it was solved.
//!
//! * [`mod@rank`]: which rows depend on others. [`mod@mobility`]: degrees of freedom, redundant
//!   joints by name, what would cure them.
//! * [`mod@place`]: bodies brought to where their joints meet. [`mod@kinematics`]: motion that
//!   follows its drivers, and the efforts it takes.
//! * [`mod@statics`]: equilibrium, contacts included. [`mod@reactions`]: forces in joints and
//!   contacts by name, unique or not.
//! * [`doctor`]: everything that looks wrong with a scene, each with what to do about it.
//!
//! Nothing here takes part in a step: a scene that nobody analyses costs nothing.

pub mod doctor;
pub mod finding;
pub mod kinematics;
pub mod mobility;
pub mod place;
pub mod rank;
pub mod reactions;
pub mod size;
pub mod statics;

pub use doctor::{examine, overlapping};
pub use finding::{Finding, Severity};
pub use kinematics::Kinematics;
pub use mobility::{Mechanism, Mobility, mobility};
pub use place::{Placement, place};
pub use reactions::{Reactions, reactions};
pub use statics::{Equilibrium, Unsettled, equilibrium};

use crate::assemble::{Assembly, Scheme, StepInput, inertia, joint};
use crate::problem::Law;
use crate::scene::{Layout, Scene};
use glam::DVec3;

/// The rows of joints, stops, motors and gears as they are now, over H = M; contacts are left out,
/// k is zero.
pub(crate) fn joint_rows(
    scene: &Scene,
    layout: &Layout,
    now: &StepInput,
    scheme: &Scheme,
) -> Assembly {
    let mut out = Assembly::new(scene, layout);
    out.clear_rows(layout.v);
    out.problem.k = vec![0.0; layout.v];
    out.impulses.gravity = vec![0.0; layout.v];
    out.impulses.gyroscopic = vec![0.0; layout.v];
    inertia::assemble(&mut out, scene, layout, now);
    out.problem.k.fill(0.0);
    joint::assemble(&mut out, scene, layout, now, scheme);
    out
}

/// The blocks that hold rigidly: equality rows without compliance.
pub(crate) fn rigid_blocks(assembly: &Assembly) -> Vec<usize> {
    let problem = &assembly.problem;
    (0..problem.laws.len())
        .filter(|&k| problem.laws[k] == Law::Equality && problem.E[problem.J.row_starts[k]] == 0.0)
        .collect()
}

/// The largest distance of a point from the first.
pub(crate) fn span(points: impl Iterator<Item = DVec3>) -> f64 {
    let points: Vec<DVec3> = points.collect();
    points.iter().map(|p| p.distance(points[0])).fold(0.0, f64::max)
}
