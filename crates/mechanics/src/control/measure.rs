//! The value of a quantity, from the state and the step that led to it.

use crate::assemble::{Assembly, Source, StepInput, joint};
use crate::geometry::RayCaster;
use crate::problem::Solution;
use crate::scene::{
    Axis, BodyId, ContactReaction, Coordinate, Drive, Joint, JointId, Layout, MotorId, Part,
    Quantity, Ray, Scene, State,
};
use glam::DVec3;

/// The step that led to a state.
#[derive(Clone, Copy)]
pub struct Past<'a> {
    /// What was assembled.
    pub assembly: &'a Assembly,
    /// What came out.
    pub solution: &'a Solution,
    /// The time over which its impulses act, s.
    pub kick: f64,
    /// Their middle, s.
    pub middle: f64,
}

/// What quantities are measured with.
pub struct Sense<'a> {
    /// Who owns which velocities.
    pub layout: &'a Layout,
    /// Poses and velocities of the present state.
    pub now: &'a StepInput,
    /// The last step; none before the first.
    pub past: Option<Past<'a>>,
    /// Finds what rays meet; none if no ray is asked for.
    pub rays: Option<&'a RayCaster>,
}

impl Sense<'_> {
    /// The value of a quantity.
    pub fn quantity(&self, scene: &Scene, state: &State, quantity: &Quantity) -> f64 {
        let orders = &state.orders;
        let pose = |body: BodyId| &self.now.poses[body.index()];
        let linear = |body: BodyId| self.now.twists[body.index()].linear;
        let angular = |body: BodyId| self.now.twists[body.index()].angular;
        match quantity {
            Quantity::Time => state.time,
            Quantity::Sensor(id) => orders.sensors[id.index()],
            Quantity::Variable(id) => orders.variables[id.index()],
            Quantity::Count(id) => orders.events[id.index()].count as f64,
            Quantity::Since(id) => {
                let event = &orders.events[id.index()];
                if event.count > 0 { state.time - event.time } else { f64::NAN }
            }
            Quantity::Position(body, axis) => {
                along(pose(*body).point(scene.bodies[body.index()].origin), *axis)
            }
            Quantity::Velocity(body, axis) => along(linear(*body), *axis),
            Quantity::Speed(body) => linear(*body).length(),
            Quantity::AngularVelocity(body, axis) => {
                along(pose(*body).vector(angular(*body)), *axis)
            }
            Quantity::AngularSpeed(body) => angular(*body).length(),
            Quantity::Tilt(body) => {
                let began = scene.bodies[body.index()].pose.vector(DVec3::Z);
                pose(*body).vector(DVec3::Z).angle_between(began)
            }
            Quantity::Kinetic(body) => scene.bodies[body.index()]
                .mass()
                .map_or(0.0, |m| m.kinetic(linear(*body), angular(*body))),
            Quantity::There(body) => f64::from(u8::from(!orders.absent(*body))),
            Quantity::ContactForce { body, other, axis } => {
                let force = contact_force(scene, state, *body, *other);
                axis.map_or(force.length(), |axis| along(force, axis))
            }
            Quantity::Value(id, which) => joint::coordinate(scene, *id, *which, self.now).value,
            Quantity::Rate(id, which) => {
                let (x, joint) =
                    (joint::coordinate(scene, *id, *which, self.now), &scene.joints[id.index()]);
                x.a.rate(&self.now.twists[joint.a.index()])
                    + x.b.rate(&self.now.twists[joint.b.index()])
            }
            Quantity::JointForce(id) => self.transmitted(scene, *id, true),
            Quantity::JointTorque(id) => self.transmitted(scene, *id, false),
            Quantity::Effort(motor) => self.effort(scene, state, *motor),
            Quantity::Target(motor) => target(scene, state, *motor),
            Quantity::Ray(ray) => self.distance(state, ray),
            Quantity::Length | Quantity::LengthRate => f64::NAN,
        }
    }

    /// The length of the force, or of the torque, in the parts of a joint.
    ///
    /// Forces along the axes of a's frame are a vector. Torques belong to parts that are zero where
    /// the joint holds: there the gradient of each is a unit vector, and they are perpendicular.
    fn transmitted(&self, scene: &Scene, id: JointId, force: bool) -> f64 {
        let Some(past) = self.past.filter(|p| p.kick > 0.0) else { return 0.0 };
        let parts = scene.joints[id.index()].kind.parts();
        let mut sum = 0.0;
        for (k, source) in past.assembly.sources[..past.assembly.joint_blocks].iter().enumerate() {
            let Source::Joint(joint, part) = *source else { continue };
            let is_force =
                matches!(parts.get(usize::from(part)), Some(Part::Along(_) | Part::Distance(_)));
            if joint == id && is_force == force {
                let r = past.solution.r[past.assembly.problem.J.row_starts[k]] / past.kick;
                sum += r * r;
            }
        }
        sum.sqrt()
    }

    /// What a motor gave in the last step.
    fn effort(&self, scene: &Scene, state: &State, id: MotorId) -> f64 {
        let Some(past) = self.past.filter(|p| p.kick > 0.0) else { return 0.0 };
        let motor = &scene.motors[id.index()];
        if let Drive::Effort(given) = &motor.drive {
            if joint::motor_off(scene, id, self.now) {
                return 0.0;
            }
            let (f, since) = state.orders.drive(id, given);
            return f.value(past.middle - since);
        }
        let block = past.assembly.sources.iter().position(|s| *s == Source::Motor(id));
        block.map_or(0.0, |k| past.solution.r[past.assembly.problem.J.row_starts[k]] / past.kick)
    }

    fn distance(&self, state: &State, ray: &Ray) -> f64 {
        let Some(rays) = self.rays else { return ray.reach };
        let pose = &self.now.poses[ray.body.index()];
        let (origin, direction) = (pose.point(ray.origin), pose.vector(ray.direction));
        let seen = |body: u32| body != ray.body.0 && !state.orders.absent(BodyId(body));
        rays.cast(&self.now.poses, (origin, direction), ray.reach, &seen)
            .map_or(ray.reach, |hit| hit.0)
    }
}

/// What a motor is told now.
pub(super) fn target(scene: &Scene, state: &State, id: MotorId) -> f64 {
    let (f, since) = state.orders.drive(id, scene.motors[id.index()].drive.function());
    f.value(state.time - since)
}

/// The coordinate that speaks for a joint: of a slider its displacement, of a rod its length, else
/// its angle.
pub fn coordinate(joint: &Joint) -> Coordinate {
    use crate::scene::JointKind::*;
    match joint.kind {
        Prismatic | PointOnLine => Coordinate::Slide,
        Distance { .. } => Coordinate::Distance,
        _ => Coordinate::Angle,
    }
}

fn along(v: DVec3, axis: Axis) -> f64 {
    v[axis as usize]
}

/// Sum of the contact forces on a body, mean over the last step, N.
fn contact_force(scene: &Scene, state: &State, body: BodyId, other: Option<BodyId>) -> DVec3 {
    let owner = |collider: u32| BodyId(scene.colliders[collider as usize].body);
    let with = |x: BodyId| other.is_none_or(|other| other == x);
    let part = |contact: &ContactReaction| {
        let (a, b) = (owner(contact.colliders.0), owner(contact.colliders.1));
        match (a, b) {
            (a, b) if b == body && with(a) => contact.impulse,
            (a, b) if a == body && with(b) => -contact.impulse,
            _ => DVec3::ZERO,
        }
    };
    let sum: DVec3 = state.reactions.contacts.iter().map(part).sum();
    if state.reactions.h > 0.0 { sum / state.reactions.h } else { sum }
}
