//! What no step may go on with, and what no step resolves.
//!
//! A state, a problem or a solution that holds NaN, infinity or a number whose square is beyond
//! what a double holds is an error with the name of its culprit ([`StepError::Nonsense`]): the
//! state stays as it was. A body that turns by more than [`Unresolved::LARGEST_TURN`] in the step
//! is moved, and the step is not accepted ([`Unresolved`]).

use super::StepError;
use crate::assemble::{Assembly, StepInput};
use crate::geometry::{Collider, Contact, Shape};
use crate::problem::Solution;
use crate::scene::{BodyId, Kind, Layout, Scene, State};
use glam::DVec3;

/// Positions and velocities beyond this are no motion: their squares, times a mass, would overflow.
const MAX_COORDINATE: f64 = 1e100;

/// A body that turns too far in one step for its motion to be followed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unresolved {
    /// The body.
    pub body: BodyId,
    /// By how much it turns in the step, rad.
    pub turn: f64,
    /// Length of the step, s.
    pub h: f64,
}

impl Unresolved {
    /// A step resolves rotations up to this angle, rad: half of it, and the gyroscopic equation has
    /// no solution nearby.
    pub const LARGEST_TURN: f64 = 1.0;

    /// The reason in words.
    pub fn reason(&self, scene: &Scene) -> String {
        let (name, turn) = (&scene.bodies[self.body.index()].name, self.turn);
        let (most, dt) = (Unresolved::LARGEST_TURN, 0.1 * self.h / turn);
        if turn <= most {
            return format!(
                "joints cannot follow {name}, which turns by {turn:.2} rad in one step: use dt ≤ \
                    {dt:.1e} s"
            );
        }
        format!(
            "{name} turns by {turn:.2} rad in one step, {most:.0} rad resolved at most: use dt ≤ \
                {dt:.1e} s"
        )
    }
}

/// Names what is no number in the state, or too large.
pub(super) fn state(scene: &Scene, layout: &Layout, state: &State) -> Result<(), StepError> {
    let fault = |what: String| Err(StepError::Nonsense { time: state.time, what });
    if !state.time.is_finite() {
        return fault(format!("the time is {}", state.time));
    }
    if let Some((at, x)) = wild(&state.q) {
        let body = (at / 7).min(scene.bodies.len());
        let name = scene.bodies.get(body).map_or("a soft body", |b| b.name.as_str());
        return fault(format!("{x:e} in the position of {name}"));
    }
    for (list, what) in [(&state.v, "velocity"), (&state.acceleration, "acceleration")] {
        if let Some((at, x)) = wild(list) {
            return fault(format!("{x:e} in the {what} of {}", owner(scene, layout, at)));
        }
    }
    Ok(())
}

/// Names what is no number in the problem.
pub(super) fn problem(
    scene: &Scene,
    layout: &Layout,
    (now, assembly): (&StepInput, &Assembly),
) -> Result<(), StepError> {
    let fault = |what: String| Err(StepError::Nonsense { time: now.time, what });
    let problem = &assembly.problem;
    if let Some((at, x)) = wild(&problem.k) {
        return fault(format!("{x:e} N s (or N m s) act on {}", owner(scene, layout, at)));
    }
    if let Some((row, x)) = wild(&problem.w) {
        let block = problem.J.row_starts.partition_point(|start| *start <= row) - 1;
        return fault(format!(
            "{x:e} m/s (or rad/s) are asked of {}",
            assembly.sources[block].name(scene)
        ));
    }
    Ok(())
}

/// Names what is no number in the solution, or too large.
pub(super) fn solution(
    scene: &Scene,
    layout: &Layout,
    time: f64,
    solution: &Solution,
) -> Result<(), StepError> {
    match wild(&solution.v) {
        None => Ok(()),
        Some((at, x)) => Err(StepError::Nonsense {
            time,
            what: format!("{x:e} in the next velocity of {}", owner(scene, layout, at)),
        }),
    }
}

fn wild(list: &[f64]) -> Option<(usize, f64)> {
    let at = list.iter().position(|x| !(x.abs() <= MAX_COORDINATE))?;
    Some((at, list[at]))
}

/// The body that an unknown belongs to.
fn owner(scene: &Scene, layout: &Layout, unknown: usize) -> String {
    let mine =
        |at: &Option<u32>| at.is_some_and(|at| (at as usize..at as usize + 6).contains(&unknown));
    let rigid = layout.velocities.iter().position(mine);
    let node = || {
        let node = layout.nodes.iter().position(|at| {
            at.is_some_and(|at| (at as usize..at as usize + 3).contains(&unknown))
        })?;
        let soft = layout.node_starts.partition_point(|first| *first as usize <= node) - 1;
        Some(scene.softs[soft].body.index())
    };
    rigid
        .or_else(node)
        .map_or_else(|| format!("unknown {unknown}"), |b| scene.bodies[b].name.clone())
}

/// The body that turns furthest of those that turn too far.
///
/// A body that spins about a principal axis turns exactly, however fast; it counts only if
/// something that is not round about that axis comes near others, or if a joint holds it beside
/// that axis. Where joints could not follow, the body that turns furthest in one.
pub(super) fn unresolved(
    scene: &Scene,
    layout: &Layout,
    (now, solution, contacts): (&StepInput, &Solution, &[Contact]),
    followed: bool,
) -> Option<Unresolved> {
    let mut worst: Option<Unresolved> = None;
    let joined = |id: BodyId, spin: DVec3| {
        let off = |place: DVec3| place.cross(spin).length() > 1e-6 * place.length() * spin.length();
        scene.joints.iter().any(|j| {
            (j.a == id && off(j.frame_a.position)) || (j.b == id && off(j.frame_b.position))
        })
    };
    for (i, body) in scene.bodies.iter().enumerate() {
        let id = BodyId(i as u32);
        let (Kind::Rigid(mass), Some(at)) = (&body.kind, layout.velocity(id)) else { continue };
        let spin = DVec3::from_slice(&solution.v[at + 3..]);
        let turn = now.h * spin.length();
        let least = if followed { Unresolved::LARGEST_TURN } else { 0.0 };
        if turn <= worst.map_or(least, |w| w.turn) {
            continue;
        }
        let momentum = mass.inertia * spin;
        let gyroscopic = spin.cross(momentum).length() > 1e-6 * spin.length() * momentum.length();
        let collider = |c: u32| &scene.colliders[c as usize];
        let mut near =
            contacts.iter().flat_map(|c| [collider(c.colliders.0), collider(c.colliders.1)]);
        if !followed {
            if joined(id, spin) {
                worst = Some(Unresolved { body: id, turn, h: now.h });
            }
        } else if gyroscopic
            || joined(id, spin)
            || near.any(|c| c.body as usize == i && !round_about(c, spin))
        {
            worst = Some(Unresolved { body: id, turn, h: now.h });
        }
    }
    worst
}

/// Whether a turn about `axis` through the centre of mass leaves the shape as it is.
fn round_about(collider: &Collider, axis: DVec3) -> bool {
    let along = |v: DVec3| v.cross(axis).length() <= 1e-6 * axis.length() * v.length().max(1e-9);
    let pose = &collider.pose_in_body;
    match collider.shape {
        Shape::Sphere { .. } => along(pose.position),
        Shape::Capsule { .. } | Shape::Cylinder { .. } | Shape::Cone { .. } => {
            along(pose.position) && along(pose.vector(DVec3::Z))
        }
        _ => false,
    }
}
