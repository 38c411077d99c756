//! What events do.

use super::measure::target;
use super::{Happened, Sense};
use crate::math::pose::Pose;
use crate::scene::orders::Told;
use crate::scene::{
    Action, BodyId, ContactReaction, EventId, Function, Layout, Scene, Spawn, State,
};

/// Carries out one action of an event.
pub(super) fn act(
    scene: &Scene,
    sense: &Sense<'_>,
    state: &mut State,
    (event, action): (EventId, &Action),
    happened: &mut Happened,
) {
    let time = state.time;
    match action {
        Action::Stop => state.orders.stopped = state.orders.stopped.or(Some(event)),
        Action::Motor(motor, on) => state.orders.switch_motor(scene, *motor, *on),
        Action::Joint(joint, on) => {
            state.orders.switch_joint(scene, *joint, *on);
            happened.changed = true;
        }
        Action::Force(force, on) => {
            state.orders.switch_force(*force, *on);
            happened.changed = true;
        }
        Action::Contact { body: a, other: b, on } => state.orders.switch_contact(*a, *b, *on),
        Action::Target(motor, value, within) => {
            let to = value.value(&mut |q| sense.quantity(scene, state, q));
            let from = target(scene, state, *motor);
            let function = if *within > 0.0 {
                Function::SmoothStep { from, to, start: 0.0, duration: *within }
            } else {
                Function::Constant(to)
            };
            state.orders.motor_mut(scene, *motor).told = Some(Told { function, since: time });
        }
        Action::Follow(motor, function) => {
            state.orders.motor_mut(scene, *motor).told =
                Some(Told { function: function.clone(), since: time });
        }
        Action::Set(variable, value) => {
            state.orders.variables[variable.index()] =
                value.value(&mut |q| sense.quantity(scene, state, q));
        }
        Action::Spawn(how) => {
            if spawn(scene, sense.layout, state, how).is_none() {
                happened.empty.push(how.template);
            }
            happened.changed = true;
        }
        Action::Remove(body) => {
            remove(scene, sense.layout, state, *body);
            happened.changed = true;
        }
        Action::RemoveOldest(template) => {
            let bodies = &scene.templates[template.index()].bodies;
            let oldest = state.orders.spawned.iter().copied().find(|b| bodies.contains(b));
            oldest.iter().for_each(|body| remove(scene, sense.layout, state, *body));
            happened.changed = true;
        }
    }
}

/// Puts the next body of a template into the scene; none if all are there.
pub fn spawn(scene: &Scene, layout: &Layout, state: &mut State, how: &Spawn) -> Option<BodyId> {
    let bodies = &scene.templates[how.template.index()].bodies;
    let id = *bodies.iter().find(|b| state.orders.absent(**b))?;
    let body = &scene.bodies[id.index()];
    let orientation = how.pose.orientation.normalize();
    let pose = Pose { position: how.pose.position - orientation * body.origin, orientation };
    state.set_pose(id, &pose);
    state.orders.set_there(scene, id, true);
    if let Some(at) = layout.velocity(id) {
        how.velocity.write_to_slice(&mut state.v[at..]);
        (orientation.inverse() * how.angular).write_to_slice(&mut state.v[at + 3..]);
        // It falls from the very beginning.
        if state.acceleration.len() == state.v.len() {
            state.acceleration[at..at + 6].fill(0.0);
            scene.gravity.write_to_slice(&mut state.acceleration[at..]);
        }
    }
    forget(scene, state, id);
    Some(id)
}

/// Takes a body out of the scene, with its joints.
pub fn remove(scene: &Scene, layout: &Layout, state: &mut State, id: BodyId) {
    if state.orders.absent(id) {
        return;
    }
    state.orders.set_there(scene, id, false);
    for (j, _) in scene.joints.iter().enumerate().filter(|(_, j)| j.a == id || j.b == id) {
        state.orders.switch_joint(scene, crate::scene::JointId(j as u32), false);
    }
    if let Some(at) = layout.velocity(id) {
        state.v[at..at + 6].fill(0.0);
        if state.acceleration.len() == state.v.len() {
            state.acceleration[at..at + 6].fill(0.0);
        }
    }
    forget(scene, state, id);
}

/// The contacts that a body had are no guess for those that it will have.
fn forget(scene: &Scene, state: &mut State, id: BodyId) {
    let of = |collider: u32| scene.colliders[collider as usize].body == id.0;
    let stays = |c: &ContactReaction| !of(c.colliders.0) && !of(c.colliders.1);
    state.reactions.contacts.retain(stays);
    state.reactions.moments.retain(stays);
}
