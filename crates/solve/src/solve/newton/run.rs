//! What the phases share: the iterates, the counts, the test, the budget.

use super::form::{Blocks, Form, Point};
use super::near::Near;
use super::piece::Piece;
use crate::math::norm;
use crate::problem::Tolerance;
use crate::problem::law::MAX_ROWS;
use crate::solve::{Counts, Sample, StoppingCriteria};
use std::time::Instant;

/// Most full steps that go on by the same factor: what four halvings do not end, a smaller eps
/// does.
const MAX_FURTHER_STEPS: usize = 4;

/// Why a phase ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum End {
    /// The test is passed.
    Passed,
    /// No progress here: the next phase may try.
    #[default]
    Stuck,
    /// Work or time ran out.
    Spent,
}

/// Whether the error of these scaled reactions is accepted.
pub(super) type Judging<'a> = &'a mut dyn FnMut(&[f64]) -> bool;

/// Iterates and lists that are kept from solve to solve.
#[derive(Default)]
pub(super) struct Space {
    pub now: Point,
    pub trial: Point,
    pub swept: Point,
    pub full: Point,
    pub start: Point,
    /// Points that have served as the best of an attempt.
    pub spare: Vec<Point>,
    pub pieces: Vec<Piece>,
    pub dy: Vec<f64>,
    pub near: Near,
    pub proximal: Centre,
}

impl Space {
    /// Room for a run from `now.y`; no factor is at hand.
    pub fn begin(&mut self) {
        let m = self.now.y.len();
        for list in [&mut self.now.u, &mut self.dy] {
            list.clear();
            list.resize(m, 0.0);
        }
        self.now.residual = f64::INFINITY;
        self.near.forget();
    }
}

/// What the proximal point keeps.
#[derive(Default)]
pub(super) struct Centre {
    /// The centre.
    pub at: Vec<f64>,
    /// The last step `y − c`, and the present one.
    pub last: Vec<f64>,
    pub step: Vec<f64>,
    /// Velocities of the regular problem.
    pub u: Vec<f64>,
}

/// The method's own test, cheaper than the residual in joules, which decides.
pub(super) struct Test<'a> {
    /// The energy scale, J.
    pub scale: f64,
    /// The largest δu, m/s.
    pub velocity: f64,
    /// What the caller asks for.
    pub tolerance: Tolerance,
    /// Largest relative natural residual, if asked for.
    pub residual: Option<f64>,
    /// `‖q‖`, not scaled and scaled; 0 where the literature does not count it.
    pub free: (f64, f64),
    /// Is the error of these scaled reactions accepted?
    pub prepared: Judging<'a>,
    /// The own test at which the error is computed next: it was not accepted above.
    pub ask_below: f64,
}

impl Test<'_> {
    /// R over what may pass, by energy and by velocity: above 1 the point does not pass.
    pub fn excess(&self, blocks: &Blocks, point: &Point) -> f64 {
        let energy = point.residual / (2.0 * self.tolerance.relative * self.scale).sqrt();
        energy.max(fastest(blocks, point) / self.velocity)
    }

    /// True if the point is good enough.
    pub fn passed(&mut self, blocks: &Blocks, point: &Point) -> bool {
        if !(0.5 * point.residual * point.residual <= self.tolerance.relative * self.scale
            || point.residual == 0.0)
        {
            return false;
        }
        if point.residual > self.ask_below {
            return false;
        }
        if fastest(blocks, point) > self.velocity {
            return false;
        }
        if self.residual.is_some_and(|most| !(literal(blocks, point, self.free) <= most)) {
            return false;
        }
        let accepted = (self.prepared)(&point.y);
        if !accepted {
            self.ask_below = 0.3 * point.residual;
        }
        accepted
    }
}

/// The largest δu, m/s.
fn fastest(blocks: &Blocks, point: &Point) -> f64 {
    let mut fastest = 0.0f64;
    for (k, law) in blocks.laws.iter().enumerate() {
        let (range, mut out) = (blocks.range(k), [0.0; MAX_ROWS]);
        let d = range.len();
        law.natural(1.0, &point.u[range.clone()], &point.y[range], &mut out[..d]);
        fastest = fastest.max(blocks.root[k] * norm(&out));
    }
    fastest
}

/// The larger of the relative residuals in plain variables, as the literature takes it
/// (`‖r − P(r − ũ)‖` with unit step over `max(‖q‖, ‖r‖, ‖u‖)`), and in scaled ones. `free`: `‖q‖`,
/// not scaled and scaled.
pub(super) fn literal(blocks: &Blocks, point: &Point, free: (f64, f64)) -> f64 {
    let (mut natural, mut rr, mut uu) = (0.0, 0.0, 0.0);
    for (k, law) in blocks.laws.iter().enumerate() {
        let (range, s) = (blocks.range(k), blocks.root[k]);
        let d = range.len();
        let (y, u) = (&point.y[range.clone()], &point.u[range]);
        let mut out = [0.0; MAX_ROWS];
        // In the plain variables y/s and u s, the step 1 is the step s² = a of the scaled ones.
        law.natural(1.0 / (s * s), u, y, &mut out[..d]);
        for i in 0..d {
            natural += out[i] * out[i] / (s * s);
            rr += y[i] * y[i] / (s * s);
            uu += u[i] * u[i] * s * s;
        }
    }
    let plain = f64::max(rr, uu).sqrt().max(free.0);
    let plain = natural.sqrt() / if plain > f64::EPSILON { plain } else { 1.0 };
    let size = norm(&point.y).max(norm(&point.u)).max(free.1);
    if point.residual == 0.0 { plain } else { plain.max(point.residual / size) }
}

/// One solve under way.
pub(super) struct Run<'a, 't> {
    pub form: &'a mut dyn Form,
    pub test: &'a mut Test<'t>,
    pub stop: &'a StoppingCriteria,
    /// Most factorizations.
    pub budget: u64,
    pub counts: Counts,
    /// The iterate.
    pub now: Point,
    /// The one with the least residual so far.
    pub best: Point,
    /// Candidates.
    pub trial: Point,
    pub swept: Point,
    /// Where a full step ended, and where a walk or a proximal step began.
    pub full: Point,
    pub start: Point,
    pub pieces: Vec<Piece>,
    pub dy: Vec<f64>,
    /// What the last factor may still be used for.
    pub near: Near,
    pub proximal: Centre,
    /// R where the sweeps ended, √J.
    pub first: f64,
    /// Weight of the proximal term, handed from phase to phase.
    pub eps: f64,
    pub history: Vec<Sample>,
    pub began: Instant,
    pub late: bool,
}

impl Run<'_, '_> {
    /// Remembers the iterate if it is the best, and tests it.
    pub fn look(&mut self) -> bool {
        if self.now.residual < self.best.residual || self.best.y.len() != self.now.y.len() {
            self.best.copy_from(&self.now);
        }
        if self.stop.history {
            let joule = |p: &Point| 0.5 * p.residual * p.residual;
            let wall = self.began.elapsed().as_secs_f64();
            self.history.push(Sample {
                work: self.counts.factorizations,
                joule: joule(&self.now),
                best: joule(&self.best),
                wall,
            });
        }
        self.test.passed(self.form.blocks(), &self.now)
    }

    /// True if work or time ran out.
    pub fn spent(&mut self) -> bool {
        self.late = self.late || self.stop.deadline_passed();
        self.late || self.counts.factorizations >= self.budget
    }

    /// `dy`: Newton's step of the pieces at `now`, with the velocities `u`.
    pub fn step(&mut self, u: &[f64], eps: f64) -> bool {
        self.set_pieces(u);
        self.factor(eps)
    }

    fn factor(&mut self, eps: f64) -> bool {
        self.counts.factorizations += 1;
        let solved = self.form.direction(&self.pieces, eps, &mut self.dy);
        self.near.set(&self.pieces, eps, solved);
        solved
    }

    /// As [`Run::step`], with the velocities of `now`.
    pub fn step_at_now(&mut self, eps: f64) -> bool {
        let u = std::mem::take(&mut self.now.u);
        let solved = self.step(&u, eps);
        self.now.u = u;
        solved
    }

    /// As [`Run::step_at_now`], by the factor at hand where that serves.
    pub fn step_near_now(&mut self, eps: f64) -> bool {
        self.update(eps) || self.factor(eps)
    }

    /// `dy` at `now` by the factor at hand; false if that does not serve.
    fn update(&mut self, eps: f64) -> bool {
        let u = std::mem::take(&mut self.now.u);
        self.set_pieces(&u);
        self.now.u = u;
        let solved = self.near.step(self.form, &self.pieces, eps, &mut self.dy);
        self.counts.updates += u64::from(solved);
        solved
    }

    /// Further full steps from `now` by the factor at hand, while each halves R; true if one of
    /// them passes.
    pub fn go_on(&mut self, eps: f64) -> bool {
        for _ in 0..MAX_FURTHER_STEPS {
            if !self.update(eps) {
                break;
            }
            self.set_trial(1.0);
            if !(self.trial.residual < 0.5 * self.now.residual) {
                break;
            }
            std::mem::swap(&mut self.now, &mut self.trial);
            if self.look() {
                return true;
            }
        }
        false
    }

    /// `trial ← now + t dy`, with its velocities.
    pub fn set_trial(&mut self, t: f64) {
        self.trial.copy_from(&self.now);
        self.trial.y.iter_mut().zip(&self.dy).for_each(|(y, dy)| *y += t * dy);
        self.form.velocities(&mut self.trial);
    }

    /// Blocks whose branch at `trial` is not that of Newton's step.
    pub fn changes(&self) -> usize {
        let blocks = self.form.blocks();
        let branch = |k: usize| {
            Piece::of(
                &blocks.laws[k],
                &self.trial.y[blocks.range(k)],
                &self.trial.u[blocks.range(k)],
            )
            .branch
        };
        self.pieces.iter().enumerate().filter(|(k, piece)| piece.branch != branch(*k)).count()
    }

    fn set_pieces(&mut self, u: &[f64]) {
        let blocks = self.form.blocks();
        self.pieces.clear();
        for (k, law) in blocks.laws.iter().enumerate() {
            let range = blocks.range(k);
            self.pieces.push(Piece::of(law, &self.now.y[range.clone()], &u[range]));
        }
    }
}
