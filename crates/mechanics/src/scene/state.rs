//! What changes: positions, velocities, joint angles, remembered reactions.
//!
//! q and v are flat arrays; [`Layout`] says who owns which range. A rigid body owns 7 numbers of q
//! (position; quaternion x y z w) and, if it is free to move, 6 of v (linear velocity, world;
//! angular velocity, body axes). Behind them come the nodes of soft bodies: 3 numbers of q and,
//! unless they are held, 3 of v each. Scene, state and settings determine the next state to the
//! bit.
//!
//! v is the velocity at the time of q. The leapfrog scheme works with velocities of the middle of a
//! step; it takes them from v with the last acceleration and the [`State::lag`] between both times:
//! `v − lag a`.

use super::orders::Orders;
use super::{BodyId, Kind, Scene, SoftId};
use crate::math::pose::Pose;
use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

/// Numbers of q that a rigid body owns.
pub const POSE: usize = 7;
/// Numbers of v that a free rigid body owns.
pub const TWIST: usize = 6;

/// Who owns which range of q and v.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// For each body, where its velocities start in v; none if it is not free to move.
    pub velocities: Vec<Option<u32>>,
    /// For each node of all soft bodies, where its velocity starts in v; none if it is held.
    pub nodes: Vec<Option<u32>>,
    /// The first node of each soft body, and their number (soft bodies + 1).
    pub node_starts: Vec<u32>,
    /// Where the positions of the nodes start in q.
    pub node_q: usize,
    /// Length of q.
    pub q: usize,
    /// Length of v: the number of unknowns.
    pub v: usize,
}

impl Layout {
    /// The layout of a scene.
    pub fn of(scene: &Scene) -> Layout {
        let mut layout = Layout::default();
        for body in &scene.bodies {
            let free = matches!(body.kind, Kind::Rigid(_));
            layout.velocities.push(free.then_some(layout.v as u32));
            layout.q += POSE;
            layout.v += if free { TWIST } else { 0 };
        }
        layout.node_q = layout.q;
        layout.node_starts.push(0);
        for soft in &scene.softs {
            for node in 0..soft.mesh.nodes.len() as u32 {
                let free = soft.held.binary_search(&node).is_err();
                layout.nodes.push(free.then_some(layout.v as u32));
                layout.q += 3;
                layout.v += if free { 3 } else { 0 };
            }
            layout.node_starts.push(layout.nodes.len() as u32);
        }
        layout
    }

    /// The nodes of a soft body, among all nodes.
    pub fn nodes_of(&self, soft: SoftId) -> std::ops::Range<usize> {
        self.node_starts[soft.index()] as usize..self.node_starts[soft.index() + 1] as usize
    }

    /// Where the velocities of `body` start in v; none if it is not free to move.
    #[inline]
    pub fn velocity(&self, body: BodyId) -> Option<usize> {
        self.velocities[body.index()].map(|i| i as usize)
    }
}

/// What changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Time, s.
    pub time: f64,
    /// Steps taken.
    pub steps: u64,
    /// Positions, body by body: m, unit quaternions (x y z w).
    pub q: Vec<f64>,
    /// Velocities of the free bodies at the time of q: m/s (world), rad/s (body axes).
    pub v: Vec<f64>,
    /// By how much the impulses so far lag behind the time of q, s: half the last step of the
    /// leapfrog scheme, else 0.
    #[serde(default)]
    pub lag: f64,
    /// Acceleration of the last step, for each number of v: m/s² (world), rad/s² (body axes,
    /// without the gyroscopic part); empty before the first step and under the Euler scheme.
    #[serde(default)]
    pub acceleration: Vec<f64>,
    /// Length of the next step if steps are chosen by accuracy, s; 0 before the first one.
    #[serde(default)]
    pub next_step: f64,
    /// The angle about the axis of each joint, counted over full turns, rad.
    pub angles: Vec<f64>,
    /// Reactions of the last step: where the next one begins.
    pub reactions: Reactions,
    /// What sensors, controllers and events have made of the scene so far.
    #[serde(default)]
    pub orders: Orders,
}

/// Remembered reactions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reactions {
    /// The time over which they act, s: force = impulse / h.
    pub h: f64,
    /// Impulses in joints, stops, motors and gears, row by row, N s, N m s.
    pub joints: Vec<f64>,
    /// Impulses of contacts, sorted by colliders and key.
    pub contacts: Vec<ContactReaction>,
    /// Angular impulses of contacts with torsional or rolling friction, N m s, by the first contact
    /// of those that share one normal; sorted alike.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<ContactReaction>,
}

/// The impulse of one contact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContactReaction {
    /// The two colliders.
    pub colliders: (u32, u32),
    /// The contact within its pair.
    pub key: u64,
    /// Impulse on the second body, world, N s; of a moment N m s.
    pub impulse: DVec3,
}

impl State {
    /// The bits of time, positions, velocities and angles (FNV-1a over 64-bit words): equal states
    /// have equal ones.
    pub fn hash(&self) -> u64 {
        let words = [self.time]
            .into_iter()
            .chain(self.q.iter().copied())
            .chain(self.v.iter().copied())
            .chain(self.angles.iter().copied());
        words.fold(0xcbf2_9ce4_8422_2325, |hash, x| {
            (hash ^ x.to_bits()).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(17)
        })
    }

    /// Becomes a copy of `other` in the memory at hand: views of `q` and `v` stay where they are.
    pub fn copy_from(&mut self, other: &State) {
        // Named one by one, so that a new field cannot be forgotten.
        let State { time, steps, q, v, lag, acceleration, next_step, angles, reactions, orders } =
            other;
        (self.time, self.steps, self.lag, self.next_step) = (*time, *steps, *lag, *next_step);
        self.q.clone_from(q);
        self.v.clone_from(v);
        self.acceleration.clone_from(acceleration);
        self.angles.clone_from(angles);
        self.reactions.h = reactions.h;
        self.reactions.joints.clone_from(&reactions.joints);
        self.reactions.contacts.clone_from(&reactions.contacts);
        self.reactions.moments.clone_from(&reactions.moments);
        self.orders.clone_from(orders);
    }

    /// The state in which the scene begins.
    pub fn initial(scene: &Scene) -> State {
        let layout = Layout::of(scene);
        let mut state =
            State { q: vec![0.0; layout.q], v: vec![0.0; layout.v], ..State::default() };
        for (i, body) in scene.bodies.iter().enumerate() {
            let id = BodyId(i as u32);
            let pose = match &body.kind {
                Kind::Imposed(motion) => motion.pose(&body.pose, 0.0),
                _ => body.pose,
            };
            state.set_pose(id, &pose);
            if let Some(at) = layout.velocity(id) {
                body.velocity.write_to_slice(&mut state.v[at..]);
                body.spin.write_to_slice(&mut state.v[at + 3..]);
            }
        }
        for (s, soft) in scene.softs.iter().enumerate() {
            let velocity = scene.bodies[soft.body.index()].velocity;
            for (node, place) in layout.nodes_of(SoftId(s as u32)).zip(&soft.mesh.nodes) {
                state.set_node(&layout, node, *place);
                if let Some(at) = layout.nodes[node] {
                    velocity.write_to_slice(&mut state.v[at as usize..]);
                }
            }
        }
        state.settle_softs(scene, &layout);
        state.angles = vec![0.0; scene.joints.len()];
        state.orders = Orders::initial(scene);
        for (i, _) in state.orders.absent.iter().enumerate().filter(|(_, absent)| **absent) {
            if let Some(at) = layout.velocity(BodyId(i as u32)) {
                state.v[at..at + TWIST].fill(0.0);
            }
        }
        state
    }

    /// Whether this is a state of `scene`: lengths, numbers, colliders. What comes out of a file
    /// must be asked.
    pub fn fits(&self, scene: &Scene) -> Result<(), String> {
        let layout = Layout::of(scene);
        let lists = [
            ("positions", &self.q, layout.q),
            ("velocities", &self.v, layout.v),
            ("joint angles", &self.angles, scene.joints.len()),
        ];
        for (what, list, wanted) in lists {
            if list.len() != wanted {
                return Err(format!("the state has {} {what}, wanted {wanted}", list.len()));
            }
        }
        let accelerations = self.acceleration.len();
        if accelerations != 0 && accelerations != layout.v {
            return Err(format!(
                "the state has {accelerations} accelerations, wanted {} or none",
                layout.v
            ));
        }
        let contacts = self.reactions.contacts.iter().chain(&self.reactions.moments);
        let lists = self.q.iter().chain(&self.v).chain(&self.acceleration).chain(&self.angles);
        let words = lists.chain(&self.reactions.joints).copied();
        let words = words
            .chain([self.time, self.lag, self.next_step, self.reactions.h])
            .chain(contacts.clone().flat_map(|c| c.impulse.to_array()));
        if let Some(bad) = words.into_iter().find(|x| !x.is_finite()) {
            return Err(format!("the state holds {bad}, wanted finite numbers"));
        }
        self.orders.fits(scene)?;
        let last = scene.colliders.len();
        match contacts.flat_map(|c| [c.colliders.0, c.colliders.1]).find(|c| *c as usize >= last) {
            Some(bad) => Err(format!("the state names collider {bad}, wanted below {last}")),
            None => Ok(()),
        }
    }

    /// The pose of a body frame in the world.
    #[inline]
    pub fn pose(&self, body: BodyId) -> Pose {
        let q = &self.q[body.index() * POSE..][..POSE];
        Pose { position: DVec3::from_slice(q), orientation: DQuat::from_slice(&q[3..]) }
    }

    /// Places a body.
    pub fn set_pose(&mut self, body: BodyId, pose: &Pose) {
        let q = &mut self.q[body.index() * POSE..][..POSE];
        pose.position.write_to_slice(q);
        pose.orientation.write_to_slice(&mut q[3..]);
    }

    /// Where a node (counted over all soft bodies) is, m.
    #[inline]
    pub fn node(&self, layout: &Layout, node: usize) -> DVec3 {
        DVec3::from_slice(&self.q[layout.node_q + 3 * node..])
    }

    /// Places a node.
    pub fn set_node(&mut self, layout: &Layout, node: usize, place: DVec3) {
        place.write_to_slice(&mut self.q[layout.node_q + 3 * node..]);
    }

    /// The velocity of a node, m/s; zero if it is held.
    #[inline]
    pub fn node_velocity(&self, layout: &Layout, node: usize) -> DVec3 {
        layout.nodes[node].map_or(DVec3::ZERO, |at| DVec3::from_slice(&self.v[at as usize..]))
    }

    /// Puts the frame of each soft body into the centre of its volume.
    pub fn settle_softs(&mut self, scene: &Scene, layout: &Layout) {
        for (s, soft) in scene.softs.iter().enumerate() {
            let first = layout.node_starts[s] as usize;
            let (mut sum, mut total) = (DVec3::ZERO, 0.0);
            for (e, element) in soft.mesh.elements.iter().enumerate() {
                let [a, b, c, d] = soft.mesh.corners(e);
                let volume = (b - a).cross(c - a).dot(d - a);
                total += volume;
                sum +=
                    element.iter().map(|&n| self.node(layout, first + n as usize)).sum::<DVec3>()
                        * (0.25 * volume);
            }
            let center = if total > 0.0 { sum / total } else { DVec3::ZERO };
            self.set_pose(soft.body, &Pose::at(center));
        }
    }

    /// Linear velocity (world) and angular velocity (body axes) of a body; zero unless it is free
    /// to move.
    #[inline]
    pub fn twist(&self, layout: &Layout, body: BodyId) -> (DVec3, DVec3) {
        match layout.velocity(body) {
            Some(at) => (DVec3::from_slice(&self.v[at..]), DVec3::from_slice(&self.v[at + 3..])),
            None => (DVec3::ZERO, DVec3::ZERO),
        }
    }
}
