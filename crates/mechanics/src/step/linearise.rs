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
//! [`Settings::linearisation`]: super::Settings::linearisation

use super::Stepper;
use crate::assemble::{Assembly, Source, Twist, joint, soft};
use crate::math::pose::Pose;
use crate::problem::Law;
use crate::scene::{BodyId, Scene};
use crate::solve::{Report, Unsupported};
use glam::DVec3;

/// Most solves of one step. At the rate 0.1 of a swing of 0.3 rad five are enough.
pub(super) const MAX_SOLVES_PER_STEP: u32 = 8;

/// Work space: the rows of the joints anew, and the motion they are linearised about.
#[derive(Default)]
pub(super) struct Linearisation {
    rows: Assembly,
    predicted: Vec<Twist>,
    ahead: Vec<Pose>,
    nodes: Vec<DVec3>,
}

/// A solved step.
pub(super) struct Solved {
    /// What the solver says of the last solve, with the work of all.
    pub report: Report,
    /// How often it was solved.
    pub solves: u32,
    /// False if the joints left every linearisation.
    pub resolved: bool,
}

/// A report with the work of the one before it.
fn with_work_of(before: &Report, again: Report) -> Report {
    let counts = before.counts.plus(&again.counts);
    let reproducible = before.reproducible && again.reproducible;
    Report { work: before.work + again.work, counts, reproducible, ..again }
}

impl Stepper {
    /// Solves, and solves again about the solution while the joints leave it.
    pub(super) fn solve_nonlinear(&mut self, scene: &Scene) -> Result<Solved, Unsupported> {
        let mut solved = Solved { report: self.solve(scene)?, solves: 1, resolved: true };
        // The coordinates of trees close their joints exactly.
        let straight =
            self.now.lag.is_none() || self.assembly.joint_blocks == 0 || self.forest.active();
        if straight || self.settings.linearisation.is_infinite() {
            return Ok(solved);
        }
        let mut last = f64::INFINITY;
        loop {
            let change = self.linearise(scene);
            // Not a number is not small.
            if change <= 1.0 {
                return Ok(solved);
            }
            if solved.solves == MAX_SOLVES_PER_STEP || !(change < last) {
                solved.resolved = false;
                return Ok(solved);
            }
            last = change;
            self.write_linearised();
            let again = self.solve(scene)?;
            solved.report = with_work_of(&solved.report, again);
            solved.solves += 1;
        }
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
        let again = self.solve(scene)?;
        Ok(Solved {
            report: with_work_of(&solved.report, again),
            solves: solved.solves + 1,
            resolved: true,
        })
    }

    /// The rows of the joints for the motion of the present solution; the largest change of `w` of
    /// an equality, over what is allowed.
    fn linearise(&mut self, scene: &Scene) -> f64 {
        let mut work = std::mem::take(&mut self.linearisation);
        self.lead(&mut work);
        let Linearisation { rows, predicted, ahead, nodes } = &mut work;
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
