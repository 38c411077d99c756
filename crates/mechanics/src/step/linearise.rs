//! Newton iterations within a step: rows of joints linearised again about the motion that the
//! solution leads to.
//!
//! The row of a joint holds at the end of the step up to the curvature of the joint, which the
//! leapfrog scheme takes from the predicted motion d̂ ([`crate::assemble::leapfrog`]). Where forces
//! change much within a step (a whipping chain, a mechanism near a singular position) the
//! prediction is poor: the joint is open at the end of the step, and closing it in the next one
//! gives or takes energy. Then the step is solved again with the curvature of its own motion d = h
//! v⁺,
//!
//! ```text
//!   w ← C/max(h, 2 lag) + (C(x + d) − C(x) − J d)/h
//! ```
//!
//! 1. Solve about the predicted motion.
//! 2. New w. If no equality changed by more than [`Settings::linearisation`] of its rates, done.
//! 3. Solve again, from the solution. After [`MAX_SOLVES_PER_STEP`] solves, or if the change does
//!    not fall: the swing is too large, the step is taken in halves; at the last halving without
//!    the curvature, which loses energy.
//!
//! H, J and the laws stay: this is Newton's method with the matrix of the beginning of the step
//! (SHAKE, Ryckaert1977; with all matrices new: Mangoni2018, eq. 3.28–3.29). Its rate is about
//! the square of the swing per step in radians. Contacts and stops keep their rows.
//!
//! Steps of an order above 2 ask for more: the gyroscopic impulse of the solution itself, in place
//! of that of the prediction. With T all other impulses of a body that turns,
//!
//! ```text
//!   exp(½hω) I ω = I ω⁻ + T,      k ← k + I (ω − ω⁻) − T − (the same of the prediction)
//! ```
//!
//! and joints within [`EXTRAPOLATED_LINEARISATION`] of what is usual.
//!
//! [`Settings::linearisation`]: super::Settings::linearisation

use super::Stepper;
use super::extrapolate::EXTRAPOLATED_LINEARISATION;
use crate::assemble::inertia::free_spin;
use crate::assemble::{Assembly, Source, Twist, joint, soft};
use crate::math::pose::Pose;
use crate::problem::Law;
use crate::scene::{BodyId, Scene};
use crate::solve::{Report, Status, Unsupported};
use glam::DVec3;

/// Most solves of one step. At the rate 0.1 of a swing of 0.3 rad five are enough.
pub(super) const MAX_SOLVES_PER_STEP: u32 = 8;

/// Where the solver finds no solution joints leave their linearisation by at most this part of what
/// is usual.
const CONTRADICTING_LINEARISATION: f64 = 1e-4;
/// Where iterations for a higher order end early, the step is not smooth if joints leave their
/// linearisation by more than this part of what is usual.
const MAX_EXTRAPOLATED_LINEARISATION: f64 = 1e-4;
/// A step is divided if joints turn a body otherwise than predicted by more than this, rad: a
/// whipping chain gains or loses a hundredth of its energy where it is larger.
const MAX_JOINT_TURN_ERROR: f64 = 2e-3;

/// Work space: the rows of the joints anew, and the motion they are linearised about.
#[derive(Default)]
pub(super) struct Linearisation {
    rows: Assembly,
    predicted: Vec<Twist>,
    ahead: Vec<Pose>,
    nodes: Vec<DVec3>,
    /// By how much the gyroscopic impulse of each body changes, N m s.
    gyroscopic: Vec<DVec3>,
    /// w, k and gyroscopic impulses of [`Stepper::keep_usual`].
    usual: (Vec<f64>, Vec<f64>, Vec<f64>),
}

/// A solved step.
pub(super) struct Solved {
    /// What the solver says of the last solve, with the work of all.
    pub report: Report,
    /// How often it was solved.
    pub solves: u32,
    /// False if the joints left every linearisation.
    pub resolved: bool,
    /// False if joints turn bodies too far otherwise than predicted: shorter steps would be better.
    pub followed: bool,
}

/// A report with the work of the one before it.
pub(super) fn with_work_of(before: &Report, again: Report) -> Report {
    let counts = before.counts.plus(&again.counts);
    let reproducible = before.reproducible && again.reproducible;
    Report { work: before.work + again.work, counts, reproducible, ..again }
}

impl Stepper {
    /// Solves, and solves again about the solution while the joints leave it.
    pub(super) fn solve_nonlinear(&mut self, scene: &Scene) -> Result<Solved, Unsupported> {
        let mut solved =
            Solved { report: self.solve(scene)?, solves: 1, resolved: true, followed: true };
        // The coordinates of trees close their joints exactly.
        let straight = self.assembly.joint_blocks == 0 || self.forest.active();
        let higher = self.settings.order > 2;
        let never = self.now.lag.is_none() || self.settings.linearisation.is_infinite();
        if never {
            return Ok(solved);
        }
        if straight && !higher {
            solved.followed = self.follows(scene);
            return Ok(solved);
        }
        let wanted = if higher { EXTRAPOLATED_LINEARISATION } else { 1.0 };
        let (mut last, mut usual) = (f64::INFINITY, false);
        loop {
            let mut change = if straight { 0.0 } else { self.linearise(scene) };
            if higher {
                change = change.max(self.gyrate(scene));
            }
            let wanted = if self.contradicts(&solved.report) {
                wanted.min(CONTRADICTING_LINEARISATION)
            } else {
                wanted
            };
            // Not a number is not small.
            if change <= wanted {
                break;
            }
            if solved.solves == MAX_SOLVES_PER_STEP || !(change < last) {
                solved.resolved = change <= 1.0;
                if usual && !solved.resolved {
                    self.restore_usual();
                    solved = self.again(scene, &solved)?;
                }
                self.rough = higher && !(change <= MAX_EXTRAPOLATED_LINEARISATION);
                break;
            }
            last = change;
            if change <= 1.0 && !usual {
                usual = true;
                self.keep_usual();
            }
            if !straight {
                self.write_linearised();
            }
            if higher {
                self.write_gyroscopic();
            }
            solved = self.again(scene, &solved)?;
        }
        solved.followed = self.follows(scene);
        Ok(solved)
    }

    /// Whether joints alone have no solution: rows of redundant ones contradict each other by what
    /// the prediction is off.
    fn contradicts(&self, report: &Report) -> bool {
        report.status != Status::Converged
            && !report.error.accepted(&self.settings.stop.tolerance)
            && self.assembly.problem.laws.iter().all(|law| *law == Law::Equality)
    }

    /// One solve more.
    fn again(&mut self, scene: &Scene, before: &Solved) -> Result<Solved, Unsupported> {
        let report = with_work_of(&before.report, self.solve(scene)?);
        Ok(Solved { report, solves: before.solves + 1, resolved: true, followed: true })
    }

    /// Keeps the problem whose solution is as good as steps of second order ask for.
    fn keep_usual(&mut self) {
        let (problem, work) = (&self.assembly.problem, &mut self.linearisation);
        work.usual.0.clone_from(&problem.w);
        work.usual.1.clone_from(&problem.k);
        work.usual.2.clone_from(&self.assembly.impulses.gyroscopic);
    }

    /// Goes back to it.
    fn restore_usual(&mut self) {
        let (assembly, work) = (&mut self.assembly, &self.linearisation);
        assembly.problem.w.clone_from(&work.usual.0);
        assembly.problem.k.clone_from(&work.usual.1);
        assembly.impulses.gyroscopic.clone_from(&work.usual.2);
    }

    /// Whether joints can follow the solution: coordinates of trees found their positions, and no
    /// body of a joint changes its spin by so much that its rotation is wrong by more than
    /// [`MAX_JOINT_TURN_ERROR`]. Impacts are jumps, and not counted.
    fn follows(&self, scene: &Scene) -> bool {
        if self.forest.active() && !self.forest.followed() {
            return false;
        }
        let jumps = self.impacts.any
            || self
                .assembly
                .touches
                .iter()
                .any(|t| t.impact.is_some() && self.solution.r[t.row as usize] > 0.0);
        if jumps || self.now.lag.is_none() {
            return true;
        }
        // h²/6 (α − α_last), as in the free estimate.
        let most = MAX_JOINT_TURN_ERROR * 6.0 * self.now.kick() / (self.now.h * self.now.h);
        let turns = |body: BodyId| {
            self.layout.velocity(body).is_some_and(|at| {
                let spin = DVec3::from_slice(&self.solution.v[at + 3..]);
                !(spin.distance(self.now.predicted[body.index()].angular) <= most)
            })
        };
        !scene.joints.iter().any(|joint| turns(joint.a) || turns(joint.b))
    }

    /// Solves with joints that are straight over the step.
    pub(super) fn solve_straight(
        &mut self,
        scene: &Scene,
        solved: Solved,
    ) -> Result<Solved, Unsupported> {
        self.now.straight = true;
        self.linearise(scene);
        self.write_linearised();
        self.again(scene, &solved)
    }

    /// The rows of the joints for the motion of the present solution; the largest change of `w` of
    /// an equality, over what is allowed.
    fn linearise(&mut self, scene: &Scene) -> f64 {
        let mut work = std::mem::take(&mut self.linearisation);
        self.lead(&mut work);
        let Linearisation { rows, predicted, ahead, nodes, .. } = &mut work;
        std::mem::swap(&mut self.now.predicted, predicted);
        std::mem::swap(&mut self.now.ahead, ahead);
        std::mem::swap(&mut self.now.node_predicted, nodes);
        rows.clear_rows(self.layout.v);
        rows.gears.clone_from(&self.assembly.gears);
        joint::assemble(rows, scene, &self.layout, &self.now, &self.settings.scheme);
        soft::attachments(rows, scene, &self.layout, &self.now, &self.settings.scheme);
        std::mem::swap(&mut self.now.predicted, predicted);
        std::mem::swap(&mut self.now.ahead, ahead);
        std::mem::swap(&mut self.now.node_predicted, nodes);
        debug_assert_eq!(rows.sources[..], self.assembly.sources[..self.assembly.joint_blocks]);
        let (problem, v) = (&self.assembly.problem, &self.solution.v);
        let mut change = 0.0f64;
        for (k, block) in problem.J.blocks().enumerate().take(rows.sources.len()) {
            if problem.laws[k] != Law::Equality {
                continue;
            }
            for (i, row) in block.range().enumerate() {
                let rates: f64 = block
                    .columns
                    .iter()
                    .zip(block.row(i))
                    .map(|(&c, x)| (x * v[c as usize]).abs())
                    .sum();
                let allowed = (self.settings.linearisation * rates)
                    .max(self.settings.stop.tolerance.velocity);
                let off = (rows.problem.w[row] - problem.w[row]).abs() / allowed;
                change = if off.is_nan() { f64::NAN } else { change.max(off) };
            }
        }
        self.linearisation = work;
        change
    }

    /// The gyroscopic impulses of the present solution; the largest change of a spin, over what is
    /// allowed.
    fn gyrate(&mut self, scene: &Scene) -> f64 {
        let (now, assembly) = (&self.now, &self.assembly);
        let mut change = 0.0f64;
        let changes = &mut self.linearisation.gyroscopic;
        changes.clear();
        changes.resize(scene.bodies.len(), DVec3::ZERO);
        for (i, body) in scene.bodies.iter().enumerate() {
            let (Some(at), Some(mass)) = (self.layout.velocity(BodyId(i as u32)), body.mass())
            else {
                continue;
            };
            let spin = DVec3::from_slice(&self.solution.v[at + 3..]);
            let known = DVec3::from_slice(&assembly.impulses.gyroscopic[at + 3..]);
            let (before, inverse) = (now.twists[i].angular, mass.inertia.inverse());
            let others = mass.inertia * (spin - before) - known;
            let led = free_spin(&mass.inertia, before + inverse * others, 0.5 * now.h);
            changes[i] = mass.inertia * (led - before) - others - known;
            let allowed = (self.settings.linearisation * spin.length())
                .max(self.settings.stop.tolerance.velocity);
            let off = (inverse * changes[i]).length() / allowed;
            change = if off.is_nan() { f64::NAN } else { change.max(off) };
        }
        change
    }

    /// Puts the impulses of [`Stepper::gyrate`] into the problem.
    fn write_gyroscopic(&mut self) {
        let Assembly { problem, impulses, .. } = &mut self.assembly;
        for (i, change) in self.linearisation.gyroscopic.iter().enumerate() {
            let Some(at) = self.layout.velocity(BodyId(i as u32)) else { continue };
            for (c, x) in change.to_array().into_iter().enumerate() {
                problem.k[at + 3 + c] += x;
                impulses.gyroscopic[at + 3 + c] += x;
            }
        }
    }

    /// Puts the rows of [`Stepper::linearise`] into the problem.
    fn write_linearised(&mut self) {
        let (rows, problem) = (&self.linearisation.rows, &mut self.assembly.problem);
        for (k, source) in rows.sources.iter().enumerate() {
            if !matches!(source, Source::Limit(_)) {
                let own = problem.J.row_starts[k]..problem.J.row_starts[k + 1];
                problem.w[own.clone()].copy_from_slice(&rows.problem.w[own]);
            }
        }
    }

    /// Where the solution leads to.
    fn lead(&self, work: &mut Linearisation) {
        work.predicted.clear();
        work.predicted.extend_from_slice(&self.now.predicted);
        work.ahead.clear();
        work.ahead.extend_from_slice(&self.now.ahead);
        work.nodes.clear();
        let (h, v) = (self.now.h, &self.solution.v);
        for i in 0..work.predicted.len() {
            let Some(at) = self.layout.velocity(BodyId(i as u32)) else { continue };
            let twist = Twist {
                linear: DVec3::from_slice(&v[at..]),
                angular: DVec3::from_slice(&v[at + 3..]),
            };
            work.ahead[i] = self.now.poses[i].advanced(h * twist.linear, h * twist.angular);
            work.predicted[i] = twist;
        }
        let free =
            |at: &Option<u32>| at.map_or(DVec3::ZERO, |at| DVec3::from_slice(&v[at as usize..]));
        work.nodes.extend(self.layout.nodes.iter().map(free));
    }
}
