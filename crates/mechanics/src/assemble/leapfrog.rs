//! The leapfrog scheme: second order in time, with the problem and the rows of the Euler scheme.
//!
//! The step `x⁺ = x + h v⁺` is of second order if v⁺ is read as what it is, the velocity of the
//! *middle* of the step. Impulses then lead
//! from the middle of the last step to the middle of this one, and are centred on the time of x,
//! where all forces are known:
//!
//! ```text
//!   lag = (time of x) − (time of v)        0 at the beginning, h/2 after a step of length h
//!   h̄   = lag + h/2                        the time over which impulses act ("kick")
//!   a   = (v⁺ − v)/h̄                       the acceleration, reactions included
//! ```
//!
//! 1. Predict: `v̂ = v + h̄ a` with the last a; rotations by `exp(½hω̂) I ω̂ = I (ω + h̄ α)`, which
//!    keeps the angular momentum of a free body.
//! 2. Forces are multiplied by h̄: gravity, applied forces, motors, bounds of dry friction.
//! 3. Springs and dampers by Newmark's formula, blended into the Euler formula where they are stiff
//!    ([`Weights`]).
//! 4. Joints: `w = C/max(h, 2 lag) + (C(x + d) − C(x) − J d)/h`, `d = h v̂`: the curvature of the
//!    joint over the step.
//! 5. Contacts and stops: `w = gap/h`, or, if the row closes fast enough, an [`Impact`] with its
//!    time within the step ([`separation`]).
//! 6. Solve. `x⁺ = x + h v⁺ − τ Δ`, `Δ = v⁺ − v̂` the jump, τ the time of the first impact of the
//!    island, 0 without ([`Jumps`]).
//! 7. `lag ← h/2`; `a ← (v⁺ − v)/h̄`, but kept where an impact jumped. The state holds the velocity
//!    at the time of x, `v + lag a`.
//!
//! One problem per step. Constant forces are exact, joints do not drift, an elastic bounce keeps
//! its energy to rounding. Landing of a second
//! corner while the first one pivots is of first order; so are events (slip to stick) within a
//! step.
//! The scheme is SHAKE (Ryckaert1977) with unilateral rows; variable h stays second order, because
//! the error of the centring telescopes.

use super::inertia::free_spin;
use super::unilateral::gap_velocity;
use super::{Assembly, Scheme, StepInput, Twist, mean_twist};
use crate::math::pose::exponential;
use crate::problem::Solution;
use crate::scene::{BodyId, Kind, Layout, Scene, State};
use glam::{DMat3, DVec3};
use serde::{Deserialize, Serialize};

/// How positions and velocities go on in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeScheme {
    /// Semi-implicit Euler: velocities at the end of the step, first order; the form of the papers.
    Euler,
    /// Velocities at the middle of the step, impacts with their time: second order between events.
    #[default]
    Leapfrog,
}

/// A row that meets within the step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Impact {
    /// When, after the beginning of the step, s.
    pub time: f64,
    /// Velocity of the row at that time, < 0, m/s or rad/s.
    pub speed: f64,
    /// Coefficient of restitution.
    pub restitution: f64,
}

/// A rigid unilateral row: the normal of a contact, a stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// The row.
    pub row: u32,
    /// Its block.
    pub block: u32,
    /// What imposed motions contribute to its velocity over the step, m/s or rad/s.
    pub imposed: f64,
    /// Its gap at the beginning of the step, m or rad.
    pub gap: f64,
    /// The velocities of its block before the step, normal first, m/s or rad/s.
    pub before: [f64; 3],
    /// The same over the step, if the forces stay as they were.
    pub expected: [f64; 3],
    /// Coefficient of restitution.
    pub restitution: f64,
    /// `w` of the row without rebound and imposed motions, m/s or rad/s.
    pub open: f64,
    /// The speed at which positions alone are moved out of its overlap, m/s or rad/s.
    pub depenetration: f64,
    /// Leapfrog: its impact within the step, if any.
    pub impact: Option<Impact>,
    /// Whether `w` of the row holds its rebound.
    pub answered: bool,
}

impl Touch {
    /// True if it may rebound within the step: it has a restitution and closes faster than
    /// `threshold`.
    pub fn rebounds(&self, threshold: f64) -> bool {
        self.restitution > 0.0 && self.before[0] < -threshold
    }
}

/// How an element weighs its measures before, at and after the time of x:
///
/// ```text
///   impulse = −h̄ Gᵀ( K (x − 2 lag α u + h β u⁺) + C ((1 − γ) u + γ u⁺) )
/// ```
///
/// α = β = ¼, γ = ½ is Newmark's trapezoidal rule; α = 0, β = γ = 1 is implicit Euler. At the
/// beginning (lag = 0) the step before is the mirror image of this one: h for 2 lag, α = β = ½,
/// γ = 0. Between them
/// goes χ of the stiffness
/// `z = h h̄ k/m + h̄ c/m`: a stiff spring must not ring for ever.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// Of the last displacement.
    pub alpha: f64,
    /// Of the next displacement.
    pub beta: f64,
    /// Of the next velocity.
    pub gamma: f64,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights::EULER
    }
}

impl Weights {
    /// Implicit Euler.
    pub const EULER: Weights = Weights { alpha: 0.0, beta: 1.0, gamma: 1.0 };

    /// For stiffness and damping per mass (1/s², 1/s).
    pub fn of(now: &StepInput, stiffness: f64, damping: f64) -> Weights {
        if now.lag.is_none() {
            return Weights::EULER;
        }
        // Half way at z = 10, about ωh = 3: where the trapezoidal rule no longer resolves the
        // oscillation.
        let z = 0.1 * now.kick() * (now.h * stiffness + damping);
        let chi = if z < 1e100 { z * z / (1.0 + z * z) } else { 1.0 };
        if now.lag == Some(0.0) {
            // Half of the step that begins half a step earlier, as the mirror image of its end.
            let rest = 1.0 - chi;
            return Weights { alpha: 0.5 * rest, beta: 0.5 + 0.5 * chi, gamma: chi };
        }
        Weights { alpha: 0.25 * (1.0 - chi), beta: 0.25 + 0.75 * chi, gamma: 0.5 + 0.5 * chi }
    }
}

/// Velocities at the middle of the step if the forces stay as they were, and where they lead to.
pub(super) fn predict(now: &mut StepInput, scene: &Scene, layout: &Layout, state: &State) {
    let (lag, h) = (state.lag, now.h);
    now.lag = Some(lag);
    let kick = now.kick();
    let last = |at: usize| match state.acceleration.get(at..at + 3) {
        Some(a) => DVec3::from_slice(a),
        None => scene.gravity,
    };
    for (i, body) in scene.bodies.iter().enumerate() {
        let (mut a, mut predicted) = (Twist::default(), now.twists[i]);
        let pose = now.poses[i];
        let mut ahead = pose;
        match (&body.kind, layout.velocity(BodyId(i as u32))) {
            (Kind::Rigid(mass), Some(at)) => {
                a.linear = last(at);
                a.angular = if state.acceleration.is_empty() { DVec3::ZERO } else { last(at + 3) };
                let twist = &mut now.twists[i];
                twist.linear -= lag * a.linear;
                twist.angular -= lag * a.angular;
                predicted.linear = twist.linear + kick * a.linear;
                predicted.angular =
                    free_spin(&mass.inertia, twist.angular + kick * a.angular, 0.5 * h);
                ahead = pose.advanced(h * predicted.linear, h * predicted.angular);
            }
            (Kind::Imposed(motion), _) => {
                let at = |t: f64| motion.pose(&body.pose, state.time + t);
                ahead = at(h);
                now.twists[i] = if lag > 0.0 {
                    mean_twist(&at(-2.0 * lag), &pose, 2.0 * lag)
                } else {
                    // The velocity now, from the means over half of the step and the whole of it.
                    let half = mean_twist(&pose, &at(0.5 * h), 0.5 * h);
                    Twist {
                        linear: 2.0 * half.linear - predicted.linear,
                        angular: 2.0 * half.angular - predicted.angular,
                    }
                };
            }
            _ => {}
        }
        now.accelerations.push(a);
        now.predicted.push(predicted);
        now.ahead.push(ahead);
    }
    for (node, velocity) in now.node_velocities.iter_mut().enumerate() {
        let a = layout.nodes[node].map_or(DVec3::ZERO, |at| last(at as usize));
        *velocity -= lag * a;
        now.node_predicted.push(*velocity + kick * a);
    }
}

/// Rows that meet by this part of a step after its end meet at its end: what hits at once in the
/// model does so in spite of rounding.
const SIMULTANEOUS_STEP_FRACTION: f64 = 1e-4;

/// `w` of a rigid unilateral row and its impact, if it has one.
///
/// ```text
///   u₀ = u + lag u_a                                    velocity at the time of x, u_a the relative acceleration
///   closing:  gap + (1 + 1e-4) h û ≤ 0,   u < −threshold,   u_i < −threshold,      û = u + h̄ u_a
///   τ   = 2 gap/(−u₀ + √(u₀² − 2 u_a gap)), in 0…h      time of impact
///   u_i = u₀ + τ u_a                                    velocity at impact
///   w   = min( gap/h, (1 + e) u_i − û )
/// ```
///
/// The test on u keeps resting rows from being impacts in every step.
pub(crate) fn separation(
    gap: f64,
    (before, expected): (f64, f64),
    restitution: f64,
    scheme: &Scheme,
    now: &StepInput,
) -> (f64, Option<Impact>) {
    let (h, lag, kick) = (now.h, now.lag.unwrap_or(0.0), now.kick());
    let touch = gap_velocity(gap, scheme, (h, now.correction_time()));
    let closes = gap + (1.0 + SIMULTANEOUS_STEP_FRACTION) * h * expected <= 0.0;
    if !(closes && before < -scheme.restitution_threshold) {
        return (touch, None);
    }
    let a = (expected - before) / kick;
    let now = before + lag * a;
    let root = (now * now - 2.0 * a * gap).max(0.0).sqrt();
    let time = if gap > 0.0 { (2.0 * gap / (root - now)).clamp(0.0, h) } else { 0.0 };
    let speed = now + time * a;
    let w = (1.0 + restitution) * speed - expected;
    if speed < -scheme.restitution_threshold && w <= touch {
        (w, Some(Impact { time, speed, restitution }))
    } else {
        (touch, None)
    }
}

/// So often islands share what a row has room for; after that, what overlaps is not set back.
const MAX_SHARED_ROUNDS: usize = 20;

/// The jumps of a step: which velocities belong to an island with impacts, and when its first one
/// is.
#[derive(Clone, Debug, Default)]
pub struct Jumps {
    /// Union–find over the unknowns.
    parents: Vec<u32>,
    /// By root of an island: the time that positions are set back by the jump, s; infinite without
    /// impact.
    times: Vec<f64>,
    /// Unknowns of bodies that an impact acts on itself.
    direct: Vec<bool>,
    delta: Vec<f64>,
    /// Islands of a row, and by how much their jumps open it, m/s or rad/s.
    parts: Vec<(u32, f64)>,
    any: bool,
}

impl Jumps {
    /// Finds the islands with impacts of the solved step. `noise` is what velocities may be wrong
    /// by, m/s: a jump of that size asks for no other time.
    pub fn find(
        &mut self,
        layout: &Layout,
        now: &StepInput,
        assembly: &Assembly,
        solution: &Solution,
        noise: f64,
    ) {
        let active = |t: &Touch| t.impact.filter(|_| solution.r[t.row as usize] > 0.0);
        self.any = assembly.touches.iter().any(|t| active(t).is_some());
        if !self.any {
            return;
        }
        self.islands(layout, assembly, solution);
        self.times.clear();
        self.times.resize(layout.v, f64::INFINITY);
        self.direct.clear();
        self.direct.resize(layout.v, false);
        self.delta.clear();
        self.delta.extend_from_slice(&solution.v);
        for (i, at) in layout.velocities.iter().enumerate() {
            let Some(at) = *at else { continue };
            let p = &now.predicted[i];
            for (c, x) in p.linear.to_array().into_iter().chain(p.angular.to_array()).enumerate() {
                self.delta[at as usize + c] -= x;
            }
        }
        for (at, v) in layout.nodes.iter().zip(&now.node_predicted) {
            let Some(at) = *at else { continue };
            v.to_array().iter().enumerate().for_each(|(c, x)| self.delta[at as usize + c] -= x);
        }
        for touch in &assembly.touches {
            let Some(impact) = active(touch) else { continue };
            let block = assembly.problem.J.block(touch.block as usize);
            let root = self.root(block.columns[0]);
            self.times[root as usize] = self.times[root as usize].min(impact.time);
            block.columns.iter().for_each(|&c| self.direct[c as usize] = true);
        }
        let mut round = 0;
        while self.shorten(now, assembly, solution, noise, round >= MAX_SHARED_ROUNDS) {
            round += 1;
        }
    }

    /// Nothing may overlap because positions are set back: where a row would, the islands whose
    /// jumps open it are set back by less, or `not_at_all`. That may close another row: true if
    /// anything changed.
    fn shorten(
        &mut self,
        now: &StepInput,
        assembly: &Assembly,
        solution: &Solution,
        noise: f64,
        not_at_all: bool,
    ) -> bool {
        let mut shortened = false;
        let mut parts = std::mem::take(&mut self.parts);
        for touch in &assembly.touches {
            let block = assembly.problem.J.block(touch.block as usize);
            let mut speed = touch.imposed;
            parts.clear();
            for (&c, x) in block.columns.iter().zip(block.row(0)) {
                speed += x * solution.v[c as usize];
                let (root, jump) = (self.root(c), x * self.delta[c as usize]);
                match parts.last_mut().filter(|last| last.0 == root) {
                    Some(last) => last.1 += jump,
                    None if self.times[root as usize].is_finite() => parts.push((root, jump)),
                    None => {}
                }
            }
            let back = |root: u32, jump: f64| self.times[root as usize] * jump;
            let opening: f64 = parts.iter().map(|&(root, jump)| back(root, jump).max(0.0)).sum();
            let closing: f64 = parts.iter().map(|&(root, jump)| back(root, jump).min(0.0)).sum();
            let end = touch.gap + now.h * speed;
            let room = (end - touch.gap.min(0.0)).max(0.0) - closing;
            if opening <= room + noise * now.h {
                continue;
            }
            let factor = if not_at_all { 0.0 } else { room / opening };
            for &(root, jump) in &parts {
                if jump > 0.0 {
                    self.times[root as usize] *= factor;
                }
            }
            shortened = true;
        }
        self.parts = parts;
        shortened
    }

    /// Joins what bodies and reactions join.
    fn islands(&mut self, layout: &Layout, assembly: &Assembly, solution: &Solution) {
        self.parents.clear();
        self.parents.extend(0..layout.v as u32);
        for &at in layout.velocities.iter().flatten() {
            (1..6).for_each(|c| self.join(at, at + c));
        }
        for nodes in layout.node_starts.windows(2) {
            let mut free = layout.nodes[nodes[0] as usize..nodes[1] as usize].iter().flatten();
            if let Some(&first) = free.next() {
                (1..3).for_each(|c| self.join(first, first + c));
                free.for_each(|&at| (0..3).for_each(|c| self.join(first, at + c)));
            }
        }
        // A contact that stays open passes nothing on.
        for block in assembly.problem.J.blocks() {
            if solution.r[block.range()].iter().any(|r| *r != 0.0) {
                block.columns.windows(2).for_each(|c| self.join(c[0], c[1]));
            }
        }
    }

    fn root(&mut self, mut i: u32) -> u32 {
        while self.parents[i as usize] != i {
            self.parents[i as usize] = self.parents[self.parents[i as usize] as usize];
            i = self.parents[i as usize];
        }
        i
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b) as usize] = a.min(b);
    }

    /// For the unknowns from `at` on: by how much positions are set back, and whether an impact
    /// acts on their body; none without impact.
    fn of(&mut self, at: usize) -> Option<(f64, bool)> {
        if !self.any {
            return None;
        }
        let root = self.root(at as u32) as usize;
        self.times[root].is_finite().then(|| (self.times[root], self.direct[at]))
    }

    /// By which time the jump of the unknowns from `at` on is set back, s.
    pub fn set_back(&mut self, at: usize) -> f64 {
        self.of(at).map_or(0.0, |(time, _)| time)
    }

    /// Whether any body jumped.
    pub fn any(&self) -> bool {
        self.any
    }

    /// Positions, velocities, accelerations and lag at the end of the step.
    pub fn advance(
        &mut self,
        scene: &Scene,
        layout: &Layout,
        now: &StepInput,
        solution: &Solution,
        state: &mut State,
    ) {
        let (h, kick) = (now.h, now.kick());
        state.acceleration.resize(layout.v, 0.0);
        for (i, body) in scene.bodies.iter().enumerate() {
            let id = BodyId(i as u32);
            match (&body.kind, layout.velocity(id)) {
                (Kind::Rigid(mass), Some(at)) => {
                    let v = Twist {
                        linear: DVec3::from_slice(&solution.v[at..]),
                        angular: DVec3::from_slice(&solution.v[at + 3..]),
                    };
                    let (expected, before, last) =
                        (&now.predicted[i], &now.twists[i], &now.accelerations[i]);
                    // Angular: without the gyroscopic part, which the prediction holds.
                    let mut a = Twist {
                        linear: (v.linear - before.linear) / kick,
                        angular: last.angular + (v.angular - expected.angular) / kick,
                    };
                    let (mut shift, mut turn) = (h * v.linear, h * v.angular);
                    if let Some((time, direct)) = self.of(at) {
                        shift -= time * (v.linear - expected.linear);
                        turn -= time * (v.angular - expected.angular);
                        a.linear = without_jump(a.linear, last.linear, direct);
                        a.angular = without_jump(a.angular, last.angular, direct);
                    }
                    state.set_pose(id, &now.poses[i].advanced(shift, turn));
                    let (spin, angular) =
                        end_of_step(&mass.inertia, (v.angular, a.angular), turn, h);
                    (v.linear + 0.5 * h * a.linear).write_to_slice(&mut state.v[at..]);
                    (spin + 0.5 * h * angular).write_to_slice(&mut state.v[at + 3..]);
                    a.linear.write_to_slice(&mut state.acceleration[at..]);
                    angular.write_to_slice(&mut state.acceleration[at + 3..]);
                }
                (Kind::Imposed(_), _) => state.set_pose(id, &now.ahead[i]),
                _ => {}
            }
        }
        for node in 0..layout.nodes.len() {
            let Some(at) = layout.nodes[node].map(|at| at as usize) else { continue };
            let v = DVec3::from_slice(&solution.v[at..]);
            let mut a = (v - now.node_velocities[node]) / kick;
            let mut shift = h * v;
            if let Some((time, direct)) = self.of(at) {
                shift -= time * (v - now.node_predicted[node]);
                let last = (now.node_predicted[node] - now.node_velocities[node]) / kick;
                a = without_jump(a, last, direct);
            }
            state.set_node(layout, node, now.nodes[node] + shift);
            (v + 0.5 * h * a).write_to_slice(&mut state.v[at..]);
            a.write_to_slice(&mut state.acceleration[at..]);
        }
        state.lag = 0.5 * h;
    }
}

/// The acceleration after a step with impacts: a jump is none. Bodies that the impact acts on keep
/// the last one, others the smaller one.
fn without_jump(new: DVec3, last: DVec3, direct: bool) -> DVec3 {
    if direct || new.length_squared() > last.length_squared() { last } else { new }
}

/// Spin and angular acceleration of the middle of the step (body axes), in the body axes of its
/// end, where `turn` led to: the momentum and the torque keep their directions in the world.
fn end_of_step(
    inertia: &DMat3,
    (spin, acceleration): (DVec3, DVec3),
    turn: DVec3,
    h: f64,
) -> (DVec3, DVec3) {
    let (momentum, torque) = (*inertia * spin, *inertia * acceleration);
    // About a principal axis the momentum does not turn in the body.
    let small = f64::EPSILON.powi(2) * spin.length_squared();
    let steady = spin.cross(momentum).length_squared() <= small * momentum.length_squared()
        && spin.cross(turn).length_squared() <= small * turn.length_squared();
    if steady && acceleration == DVec3::ZERO {
        return (spin, acceleration);
    }
    let inverse = inertia.inverse();
    let back = exponential(-turn);
    let turned =
        if steady { spin } else { inverse * (back * (exponential(0.5 * h * spin) * momentum)) };
    (turned, inverse * (back * torque))
}
