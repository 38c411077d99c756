//! Slip first: whether an island that sticks could slide as well.
//!
//! Sticking is looked for from the motion in which nothing slides (`choice/mod.rs`). The other end
//! is the motion without friction: from there the shift `s = mu |u_t|` of Coulomb's law falls until
//! it is that of a motion of its own, which is not reached from the sticking side.
//!
//! ```text
//!   1  v ← the motion without friction
//!   2  s ← mu |u_t(v)|;  v ← the motion of the convex problem with u_n + s for u_n
//!   3  all loaded contacts stick: no other motion found.  s hardly changes: 4.  Otherwise 2
//!   4  Newton on the true law from there
//! ```
//!
//! Nothing of it depends on the method that solved the step.

use super::Choice;
use crate::math::norm;
use crate::problem::{Law, Solution, Tolerance};
use crate::solve::newton::{self, Newton};
use crate::solve::{Solver, StoppingCriteria};

/// Rounds of step 2.
const MAX_SHIFTS: usize = 30;
/// Shifts that change by less than this part of the largest are the last.
const SHIFT_CHANGE: f64 = 1e-2;
/// Factorizations of step 4.
const MAX_FACTORIZATIONS: u64 = 30;
/// Moving islands are asked again after twice as many steps as the last time, up to so many, as
/// long as none of them can slide.
const MAX_PAUSE: u32 = 64;

/// Work space, and when moving islands are asked.
#[derive(Default)]
pub(super) struct Sliding {
    newton: Option<Box<Newton>>,
    tolerance: Tolerance,
    /// Reactions of the convex problems, and what they become.
    other: Solution,
    shifts: Vec<f64>,
    u: Vec<f64>,
    /// Steps until moving islands are asked again, and from one time to the next.
    wait: u32,
    pause: u32,
    due: bool,
    /// What they answered in this step.
    asked: Option<bool>,
}

impl Sliding {
    /// Begins a step.
    pub fn begin(&mut self) {
        self.asked = None;
        self.due = self.wait == 0;
        self.wait = self.wait.saturating_sub(1);
    }

    /// True if moving islands are asked in this step.
    pub fn is_due(&self) -> bool {
        self.due
    }

    /// What a moving island answered: whether it can slide.
    pub fn answered(&mut self, slides: bool) {
        self.asked = Some(slides || self.asked == Some(true));
    }

    /// Ends a step.
    pub fn end(&mut self) {
        let Some(slides) = self.asked else { return };
        self.pause = if slides { 0 } else { (2 * self.pause + 1).min(MAX_PAUSE - 1) };
        self.wait = self.pause;
    }
}

impl Choice {
    /// Looks for a motion of the island at hand in which contacts slide that stick in `answer`;
    /// `found` is that motion then.
    pub(super) fn slides(&mut self, tolerance: &Tolerance) -> bool {
        let mut work = std::mem::take(&mut self.sliding);
        let slides = self.look_for_sliding(&mut work, tolerance);
        self.sliding = work;
        slides
    }

    fn look_for_sliding(&mut self, work: &mut Sliding, tolerance: &Tolerance) -> bool {
        // 1.
        let sticking = std::mem::take(&mut self.answer);
        self.answer.reset(self.part.n(), self.part.rows());
        self.pose();
        for law in &mut self.convex.laws {
            if let Law::Cone { mu, .. } = law {
                *mu = 0.0;
            }
        }
        let mut going = self.solve();
        self.pose();
        // 2.
        work.shifts.clear();
        work.shifts.resize(self.part.laws.len(), 0.0);
        let mut settled = false;
        for _ in 0..MAX_SHIFTS {
            if !going || self.sticks() {
                going = false;
                break;
            }
            if self.shift(work) <= SHIFT_CHANGE {
                settled = true;
                break;
            }
            going = self.solve();
        }
        std::mem::swap(&mut self.answer, &mut work.other);
        self.answer = sticking;
        // 3, 4.
        going && settled && self.polish(work, tolerance)
    }

    /// The shifts of the motion at hand, into the convex problem; their largest change, relative to
    /// the largest of them.
    fn shift(&mut self, work: &mut Sliding) -> f64 {
        let Choice { part, convex, answer, .. } = self;
        work.u.resize(part.rows(), 0.0);
        part.local_velocities(&answer.v, &answer.r, &mut work.u);
        let (mut change, mut largest) = (0.0f64, 0.0f64);
        for (k, law) in part.laws.iter().enumerate() {
            let range = part.J.block(k).range();
            let Law::Coulomb { mu, .. } = *law else { continue };
            let shift = mu * norm(&work.u[range.start + 1..range.end]);
            change = change.max((shift - work.shifts[k]).abs());
            largest = largest.max(shift);
            work.shifts[k] = shift;
            convex.w[range.start] = part.w[range.start] + shift;
        }
        if largest > 0.0 { change / largest } else { 0.0 }
    }

    /// Step 4.
    fn polish(&mut self, work: &mut Sliding, tolerance: &Tolerance) -> bool {
        let same = work.newton.is_some() && work.tolerance == *tolerance;
        if !same {
            let stop = StoppingCriteria {
                tolerance: *tolerance,
                work: Some(MAX_FACTORIZATIONS),
                ..StoppingCriteria::default()
            };
            let settings = newton::Settings { stop, ..newton::Settings::default() };
            work.newton = Some(Box::new(Newton::new(settings)));
            work.tolerance = *tolerance;
        }
        let Some(newton) = &mut work.newton else { return false };
        let Ok(report) = newton.solve(&self.part, &mut work.other) else { return false };
        self.counts = self.counts.plus(&report.counts);
        std::mem::swap(&mut self.found, &mut work.other);
        report.error.accepted(tolerance)
    }
}
