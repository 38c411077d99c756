//! Trees in joint coordinates: the problem of a step without the rows of their joints.
//!
//! Bodies that joints hang on each other form trees, loops cut. The velocities of the bodies of a
//! tree follow from those of its coordinates,
//!
//! ```text
//!   v = T v_t + c            T: along the path to the root;  c: the moving base, and under the
//!                            leapfrog scheme the curvature of the step
//!   Tᵀ H T v_t = Tᵀ (k − H c) + (J T)ᵀ r,        u = J T v_t + E r + (w + J c)
//! ```
//!
//! and the rows of the joints disappear, because `J T = 0` for them. The state stays that of
//! bodies; all stages but the solve see bodies.
//!
//! 1. [`Forest::of`]: which joints hang which bodies on which ([`structure`]).
//! 2. [`Forest::begin`]: unit motions of the coordinates ([`displacement`]), and what is predicted
//!    of the step.
//! 3. [`Forest::reduce`]: the problem in coordinates; H by composite bodies (Featherstone2008,
//!    §6.2) ([`reduce`]).
//! 4. [`Forest::expand`]: velocities of bodies; reactions of the joints by the balance of what
//!    hangs on each.
//! 5. [`Forest::place`]: coordinates go on by δ, and bodies are where their joints put them: joints
//!    of a tree cannot drift ([`retraction`]).
//!
//! A joint that cuts a loop, gears, stops, motors and contacts remain rows. A step whose joints are
//! open by more than a thousandth of their bodies' size (a state set from outside) is taken in the
//! coordinates of bodies, which closes them.

mod displacement;
mod pattern;
mod reduce;
mod retraction;
mod structure;

use super::{Assembly, StepInput, Twist, mean_twist};
use crate::math::pose::Pose;
use crate::problem::{Problem, Solution};
use crate::scene::{BodyId, JointId, Kind, Orders, Scene};
use displacement::{Unit, displaced, units};
use glam::DVec3;
use reduce::Wrench;
use serde::{Deserialize, Serialize};

/// In which coordinates mechanisms move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Coordinates {
    /// Trees where they cost less.
    #[default]
    Auto,
    /// Trees of bodies in the coordinates of their joints.
    Tree,
    /// Every body in its own six velocities, every joint as rows.
    Bodies,
}

/// How far a joint may be open, relative to the size of its bodies, so that its coordinates still
/// say where they are.
const MAX_RELATIVE_JOINT_GAP: f64 = 1e-3;
/// What a joint is open by rounding, of its distance from the origin and its size.
const JOINT_ROUNDING: f64 = 1e-13;
const NONE: u32 = u32::MAX;

/// One body of a tree.
#[derive(Clone, Debug)]
struct Link {
    body: BodyId,
    /// The link that carries it; none if that is a body which is not free to move, or nothing.
    parent: Option<u32>,
    /// The body that carries it; the ground for the root of a tree that floats.
    base: BodyId,
    /// The joint that it hangs on; none for the root of a tree that floats.
    joint: Option<JointId>,
    /// True if it is body a of its joint.
    reversed: bool,
    /// Its first column.
    first: usize,
    /// Its number of coordinates.
    count: usize,
    /// Where its velocities start among those of bodies.
    at: usize,
}

impl Link {
    fn columns(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.count
    }
}

/// The motion of a body, world axes.
#[derive(Clone, Copy, Debug, Default)]
struct Motion {
    linear: DVec3,
    angular: DVec3,
}

impl Motion {
    /// Of a rigid body that moves so at `from`, seen at `to`.
    fn moved(&self, from: DVec3, to: DVec3) -> Motion {
        Motion { linear: self.linear + self.angular.cross(to - from), angular: self.angular }
    }
}

/// The trees of a scene, and the problem of the present step in their coordinates.
#[derive(Default)]
pub struct Forest {
    /// Bodies of trees, each behind the one that carries it.
    links: Vec<Link>,
    /// For each unknown of bodies: the link that it belongs to, or none.
    owner: Vec<u32>,
    /// For each unknown of bodies outside trees: its column; else none.
    column: Vec<u32>,
    /// Joints that hold a tree together.
    held: Vec<bool>,
    /// Joints that were switched off when the trees were found.
    off: Vec<bool>,
    /// The size of each link, m: for its joint's opening.
    spans: Vec<f64>,
    /// Number of columns.
    n: usize,
    pattern: pattern::Pattern,
    /// True if the present step is taken in these coordinates.
    active: bool,
    /// True if joints could not follow the last solution.
    lost: bool,
    /// For each link, frame b of its joint seen from frame a.
    displacements: Vec<Pose>,
    /// For each column of a tree, its unit motion.
    units: Vec<Unit>,
    /// c: what bodies move without their coordinates (for each unknown of bodies).
    offset: Vec<f64>,
    moves: bool,
    /// Leapfrog: predicted rates.
    expected: Vec<f64>,
    /// Leapfrog: rates of the positions.
    rates: Vec<f64>,
    /// For each link, where its tree begins (the position of the root at the beginning of the
    /// step), m.
    origins: Vec<DVec3>,
    /// Where links are at the beginning and at the end of the step, seen from there: rounding of
    /// how far the tree is from the world's origin would be a velocity of 1e-16 of that per step.
    starts: Vec<Pose>,
    ends: Vec<Pose>,
    /// For each link, the root of its tree, and whether that rests.
    roots: Vec<u32>,
    rests: Vec<bool>,
    change: Vec<f64>,
    motions: Vec<Motion>,
    wrenches: Vec<Wrench>,
    composites: Vec<reduce::Composite>,
    work: Vec<f64>,
    balance: Vec<f64>,
    row: reduce::RowWork,
    small: Problem,
    solution: Solution,
    /// For each block of the problem in coordinates: its block in that of bodies.
    blocks: Vec<u32>,
    /// For each link, the first block of its joint.
    joint_blocks: Vec<u32>,
}

impl Forest {
    /// Whether these are the trees of a scene whose joints are switched so.
    pub fn fits(&self, orders: &Orders) -> bool {
        self.off == orders.joints_off
    }

    /// Whether the present step is taken in the coordinates of trees.
    pub fn active(&self) -> bool {
        self.active
    }

    /// Joints that hold trees together, if the present step is taken in their coordinates.
    pub fn held(&self) -> &[bool] {
        if self.active { &self.held } else { &[] }
    }

    /// The problem in coordinates that [`Forest::reduce`] built last.
    pub fn problem(&self) -> &Problem {
        &self.small
    }

    /// Takes over the bounds of torsional and rolling friction ([`Assembly::set_bounds`]): laws,
    /// and rows that feel no body.
    pub fn set_bounds(&mut self, assembly: &Assembly) {
        for bounded in &assembly.bounded {
            let Ok(k) = self.blocks.binary_search(&bounded.block) else { continue };
            let block = bounded.block as usize;
            self.small.laws[k] = assembly.problem.laws[block];
            if self.small.laws[k].rows() > 1 {
                let row = assembly.problem.J.row_starts[block];
                self.small.w[self.small.J.row_starts[k]] = assembly.problem.w[row];
            }
        }
    }

    /// The same, to be changed.
    pub fn problem_mut(&mut self) -> &mut Problem {
        &mut self.small
    }

    /// Its solution.
    pub fn solution(&self) -> &Solution {
        &self.solution
    }

    /// Its solution, to be written.
    pub fn solution_mut(&mut self) -> &mut Solution {
        &mut self.solution
    }

    /// For each block of [`Forest::problem`]: its block in the problem of bodies.
    pub fn blocks(&self) -> &[u32] {
        &self.blocks
    }

    /// The displacement and the unit motions of each joint, and what is predicted of the step; says
    /// whether the step is taken in coordinates.
    pub fn begin(&mut self, scene: &Scene, now: &mut StepInput) -> bool {
        self.active = !self.links.is_empty();
        self.lost = false;
        if !self.active {
            return false;
        }
        self.displacements.clear();
        self.units.clear();
        for (link, span) in self.links.iter().zip(&self.spans) {
            let Some(id) = link.joint else {
                let pose = &now.poses[link.body.index()];
                self.displacements.push(Pose::IDENTITY);
                self.units.extend(root_units(pose));
                continue;
            };
            let joint = &scene.joints[id.index()];
            let a = now.poses[joint.a.index()] * joint.frame_a;
            let b = now.poses[joint.b.index()] * joint.frame_b;
            let d = a.relative(&b);
            let closed = displaced(joint.kind, &d, &[0.0; displacement::MAX_JOINT_COORDINATES]);
            let turn = 2.0 * (closed.orientation.conjugate() * d.orientation).xyz().length();
            if !(d.position.distance(closed.position) + span * turn
                <= MAX_RELATIVE_JOINT_GAP * span)
            {
                self.active = false;
                return false;
            }
            self.displacements.push(d);
            let sign = if link.reversed { -1.0 } else { 1.0 };
            let motions = units(joint.kind, &a, &b);
            self.units.extend(motions[..link.count].iter().map(|u| Unit {
                angular: sign * u.angular,
                linear: sign * u.linear,
                ..*u
            }));
        }
        self.carried(now);
        if now.lag.is_some() {
            self.begin_positions(scene, now);
            self.predict(scene, now);
        }
        true
    }

    /// Where links are, seen from where their trees begin. What joints are open by rounding is no
    /// motion of the step.
    fn begin_positions(&mut self, scene: &Scene, now: &StepInput) {
        self.origins.clear();
        self.starts.clear();
        for (l, link) in self.links.iter().enumerate() {
            let pose = now.poses[link.body.index()];
            let origin = link.parent.map_or(pose.position, |p| self.origins[p as usize]);
            let seen = from_origin(&pose, origin);
            let none = [0.0; displacement::MAX_JOINT_COORDINATES];
            let closed = match (link.joint, link.parent) {
                (None, _) => seen,
                (Some(_), Some(p)) => self.pose_of(scene, l, &self.starts[p as usize], &none),
                (Some(_), None) => {
                    let base = from_origin(&now.poses[link.base.index()], origin);
                    self.pose_of(scene, l, &base, &none)
                }
            };
            let rounding = JOINT_ROUNDING * (pose.position.length() + self.spans[l]);
            let near = seen.position.distance(closed.position) <= rounding;
            self.starts.push(Pose {
                position: if near { closed.position } else { seen.position },
                ..pose
            });
            self.origins.push(origin);
        }
    }

    /// The mean velocity of link `l` from its start to its end.
    fn chord(&self, l: usize, h: f64) -> Twist {
        let link = &self.links[l];
        match link.joint {
            Some(_) if self.rests[l] => Twist { linear: DVec3::ZERO, angular: DVec3::ZERO },
            Some(_) => mean_twist(&self.starts[l], &self.ends[l], h),
            None => Twist {
                linear: DVec3::from_slice(&self.rates[link.first..]),
                angular: DVec3::from_slice(&self.rates[link.first + 3..]),
            },
        }
    }

    /// `c` as far as moving bases contribute.
    fn carried(&mut self, now: &StepInput) {
        self.offset.clear();
        self.offset.resize(self.owner.len(), 0.0);
        self.motions.clear();
        self.moves = false;
        for link in &self.links {
            let place = now.poses[link.body.index()].position;
            let motion = match link.parent {
                Some(p) => {
                    self.motions[p as usize].moved(now.poses[link.base.index()].position, place)
                }
                None => base_motion(link, now).moved(now.poses[link.base.index()].position, place),
            };
            self.motions.push(motion);
            if motion.linear != DVec3::ZERO || motion.angular != DVec3::ZERO {
                self.moves = true;
                put(&mut self.offset, link, &motion, &now.poses[link.body.index()]);
            }
        }
    }

    /// Leapfrog: the rates if the forces stay as they were, where they lead to, and the curvature
    /// of the way.
    fn predict(&mut self, scene: &Scene, now: &mut StepInput) {
        self.expected.clear();
        self.expected.resize(self.n, 0.0);
        for link in &self.links {
            let motion = |body: BodyId| {
                let (twist, pose) = (now.expected(body), &now.poses[body.index()]);
                (
                    Motion { linear: twist.linear, angular: pose.vector(twist.angular) },
                    pose.position,
                )
            };
            let (own, place) = motion(link.body);
            let (base, from) = if link.joint.is_some() {
                motion(link.base)
            } else {
                (Motion::default(), DVec3::ZERO)
            };
            for (rate, unit) in
                self.expected[link.columns()].iter_mut().zip(&self.units[link.columns()])
            {
                let (own, base) = (own.moved(place, unit.point), base.moved(from, unit.point));
                *rate = unit.linear.dot(own.linear - base.linear)
                    + unit.angular.dot(own.angular - base.angular);
            }
        }
        now.chords.clear();
        now.chords.extend_from_slice(&now.predicted);
        self.rates.clone_from(&self.expected);
        self.rests.clear();
        self.rests.resize(self.links.len(), false);
        self.lead(scene, now);
        let rates = std::mem::take(&mut self.rates);
        self.rates_to_motions(&now.poses, &rates);
        self.rates = rates;
        for (l, link) in self.links.iter().enumerate().filter(|(_, link)| link.joint.is_some()) {
            let (body, pose) = (link.body.index(), now.poses[link.body.index()]);
            let chord = self.chord(l, now.h);
            let rates = &self.motions[l];
            (chord.linear - rates.linear).write_to_slice(&mut self.offset[link.at..]);
            (chord.angular - pose.inverse_vector(rates.angular))
                .write_to_slice(&mut self.offset[link.at + 3..]);
            let end = self.ends[l];
            now.ahead[body] = Pose { position: end.position + self.origins[l], ..end };
            now.chords[body] = chord;
        }
        self.moves = true;
    }

    /// `T rates`, world axes, into `self.motions`.
    fn rates_to_motions(&mut self, poses: &[Pose], rates: &[f64]) {
        self.motions.clear();
        for link in &self.links {
            let place = poses[link.body.index()].position;
            let mut motion = match link.parent {
                Some(p) => self.motions[p as usize].moved(poses[link.base.index()].position, place),
                None => Motion::default(),
            };
            for (unit, rate) in self.units[link.columns()].iter().zip(&rates[link.columns()]) {
                motion.linear += *rate * unit.at(place);
                motion.angular += *rate * unit.angular;
            }
            self.motions.push(motion);
        }
    }

    /// Where link `l` is if its coordinates change by `delta` and its base is at `base`.
    fn pose_of(&self, scene: &Scene, l: usize, base: &Pose, delta: &[f64]) -> Pose {
        let link = &self.links[l];
        let id = link.joint.expect("roots have no joint");
        let joint = &scene.joints[id.index()];
        let d = displaced(joint.kind, &self.displacements[l], delta);
        let mut pose = if link.reversed {
            *base * joint.frame_b * d.inverse() * joint.frame_a.inverse()
        } else {
            *base * joint.frame_a * d * joint.frame_b.inverse()
        };
        pose.orientation = pose.orientation.normalize();
        pose
    }

    /// False if joints could not follow the last solution: they turn too far within the step.
    pub fn followed(&self) -> bool {
        !self.lost
    }
}

/// The velocity of the body that carries a link, if it is one that is not free to move.
fn base_motion(link: &Link, now: &StepInput) -> Motion {
    if link.joint.is_none() {
        return Motion::default();
    }
    let (twist, pose) = (now.expected(link.base), &now.poses[link.base.index()]);
    Motion { linear: twist.linear, angular: pose.vector(twist.angular) }
}

/// Adds a motion to the six velocities of a link.
fn put(out: &mut [f64], link: &Link, motion: &Motion, pose: &Pose) {
    let angular = pose.inverse_vector(motion.angular);
    for (out, x) in out[link.at..link.at + 6]
        .iter_mut()
        .zip(motion.linear.to_array().into_iter().chain(angular.to_array()))
    {
        *out += x;
    }
}

/// A root that floats moves in its own six velocities: linear in the world, angular in its own
/// axes.
fn root_units(pose: &Pose) -> [Unit; 6] {
    let axes = [DVec3::X, DVec3::Y, DVec3::Z];
    std::array::from_fn(|i| {
        if i < 3 {
            Unit { linear: axes[i], angular: DVec3::ZERO, point: pose.position }
        } else {
            Unit { linear: DVec3::ZERO, angular: pose.vector(axes[i - 3]), point: pose.position }
        }
    })
}

/// A pose seen from a frame at `origin` that is not turned.
fn from_origin(pose: &Pose, origin: DVec3) -> Pose {
    Pose { position: pose.position - origin, ..*pose }
}

/// Whether bodies of this kind have velocities of their own.
fn free(kind: &Kind) -> bool {
    matches!(kind, Kind::Rigid(_))
}
