//! The contacts of the last step, in the words of mechanics.

use super::Simulation;
use glam::DVec3;
use signorini_mechanics::scene::{BodyId, ColliderId, Kind};

/// What a contact does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContactStatus {
    /// It carries nothing.
    Open,
    /// It carries, and its bodies do not move along each other.
    Stick,
    /// It carries, and its bodies slide along each other.
    Slip,
}

/// A contact of the last step. All vectors are along the axes of the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactPoint {
    /// The two bodies.
    pub bodies: (BodyId, BodyId),
    /// Their colliders.
    pub colliders: (ColliderId, ColliderId),
    /// The middle between the two nearest points at the beginning of the step, m.
    pub point: DVec3,
    /// Unit vector from the first body to the second.
    pub normal: DVec3,
    /// Distance along the normal at the beginning of the step, m; negative for an overlap.
    pub gap: f64,
    /// Impulse on the second body during the step, N s.
    pub impulse: DVec3,
    /// Mean force on the second body during the step, N.
    pub force: DVec3,
    /// Velocity of the second surface along the first, at the end of the step, m/s.
    pub slip: DVec3,
    /// What it does.
    pub status: ContactStatus,
}

/// A force and the torque that comes with it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ForceBetween {
    /// Sum of the mean contact forces on the second body, world, N.
    pub force: DVec3,
    /// Their torque about the centre of mass of the second body, world, N m.
    pub torque: DVec3,
    /// How many contacts carry.
    pub contacts: usize,
}

impl Simulation {
    /// Reads the contacts of the last step, in the memory at hand.
    pub(super) fn read_contacts(&mut self) {
        let Simulation { scene, state, stepper, now, contacts: list, .. } = self;
        let (before, h) = (stepper.present(), state.reactions.h);
        let resting = stepper.settings.stop.tolerance.velocity;
        list.clear();
        // Both lists are sorted by colliders and key.
        let mut reactions = state.reactions.contacts.iter().peekable();
        for (c, contact) in stepper.contacts().iter().enumerate() {
            let identity = (contact.colliders, contact.key);
            while reactions.next_if(|r| (r.colliders, r.key) < identity).is_some() {}
            let same = reactions.peek().filter(|r| (r.colliders, r.key) == identity);
            let impulse = same.map_or(DVec3::ZERO, |r| r.impulse);
            let colliders = [contact.colliders.0 as usize, contact.colliders.1 as usize];
            let bodies = colliders.map(|i| BodyId(scene.colliders[i].body));
            let point = 0.5 * (contact.point_a + contact.point_b);
            let grips = before.grips.get(c).copied().unwrap_or_default();
            let velocity = |side: usize| {
                let body = bodies[side].index();
                let belt = before.poses[body].vector(scene.surface_materials[colliders[side]].belt);
                if let (Some(grip), Kind::Soft(_)) = (&grips[side], &scene.bodies[body].kind) {
                    let nodes = grip.vertices.iter().zip(grip.shares);
                    return belt
                        + nodes
                            .map(|(&n, share)| share * now.node_velocities[n as usize])
                            .sum::<DVec3>();
                }
                let (twist, pose) = (&now.twists[body], &before.poses[body]);
                belt + twist.linear + pose.vector(twist.angular).cross(point - pose.position)
            };
            let slip = (velocity(1) - velocity(0)).reject_from_normalized(contact.normal);
            let normal_part = impulse.dot(contact.normal);
            let status = if !(normal_part > 0.0) {
                ContactStatus::Open
            } else {
                let [a, b] = colliders.map(|i| scene.surface_materials[i].material);
                let limit = scene.surface(a, b).mu * normal_part;
                let tangential = (impulse - normal_part * contact.normal).length();
                let within = tangential < (1.0 - 1e-6) * limit;
                if within || slip.length() <= resting {
                    ContactStatus::Stick
                } else {
                    ContactStatus::Slip
                }
            };
            list.push(ContactPoint {
                bodies: (bodies[0], bodies[1]),
                colliders: (ColliderId(contact.colliders.0), ColliderId(contact.colliders.1)),
                point,
                normal: contact.normal,
                gap: contact.gap,
                impulse,
                force: if h > 0.0 { impulse / h } else { DVec3::ZERO },
                slip,
                status,
            });
        }
    }
}
