//! What the phases share: the iterates, the counts, the test, the budget.

use super::form::{Blocks, Form, Point};
use super::piece::Piece;
use crate::math::norm;
use crate::problem::Tolerance;
use crate::problem::law::MAX_ROWS;
use crate::solve::{Counts, Sample, Stop};
use std::time::Instant;

/// Why a phase ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The test is passed.
    Passed,
    /// No progress here: the next phase may try.
    Stuck,
    /// Work or time ran out.
    Spent,
}

/// Whether the judge accepts these scaled reactions.
pub(super) type Judging<'a> = Box<dyn FnMut(&[f64]) -> bool + 'a>;

/// The method's own test, cheaper than the judge's; the judge has the last word.
pub(super) struct Test<'a> {
    /// The energy scale, J.
    pub scale: f64,
    /// What the caller asks for.
    pub tolerance: Tolerance,
    /// Largest relative natural residual, if asked for.
    pub residual: Option<f64>,
    /// `‖q‖`, not scaled and scaled; 0 where the literature does not count it.
    pub free: (f64, f64),
    /// The judge: does it accept these scaled reactions?
    pub judge: Judging<'a>,
    /// Residual at which the judge is asked next: it refused above.
    pub ask_below: f64,
}

impl Test<'_> {
    /// True if the point is good enough.
    pub fn passed(&mut self, blocks: &Blocks, point: &Point) -> bool {
        if !(0.5 * point.residual * point.residual <= self.tolerance.relative * self.scale || point.residual == 0.0) {
            return false;
        }
        if point.residual > self.ask_below {
            return false;
        }
        let (fastest, natural, sizes) = figures(blocks, point);
        if fastest > self.tolerance.velocity {
            return false;
        }
        if let Some(residual) = self.residual {
            let scaled = norm(&point.y).max(norm(&point.u)).max(self.free.1);
            let plain = sizes.max(self.free.0);
            let plain = if plain > f64::EPSILON { plain } else { 1.0 };
            if natural > residual * plain || point.residual > residual * scaled {
                return false;
            }
        }
        let accepted = (self.judge)(&point.y);
        if !accepted {
            self.ask_below = 0.3 * point.residual;
        }
        accepted
    }
}

/// The largest δu (m/s), and for the literature's error `‖r − P(r − ũ)‖` with unit step and `max(‖r‖, ‖u‖)`.
fn figures(blocks: &Blocks, point: &Point) -> (f64, f64, f64) {
    let (mut fastest, mut natural, mut rr, mut uu) = (0.0f64, 0.0, 0.0, 0.0);
    for (k, law) in blocks.laws.iter().enumerate() {
        let (range, s) = (blocks.range(k), blocks.root[k]);
        let d = range.len();
        let (y, u) = (&point.y[range.clone()], &point.u[range]);
        let mut out = [0.0; MAX_ROWS];
        law.natural(1.0, u, y, &mut out[..d]);
        fastest = fastest.max(s * norm(&out));
        // In the plain variables y/s and u s, the step 1 is the step s² = a of the scaled ones.
        law.natural(1.0 / (s * s), u, y, &mut out[..d]);
        for i in 0..d {
            natural += out[i] * out[i] / (s * s);
            rr += y[i] * y[i] / (s * s);
            uu += u[i] * u[i] * s * s;
        }
    }
    (fastest, natural.sqrt(), rr.max(uu).sqrt())
}

/// One solve under way.
pub(super) struct Run<'a, 't> {
    pub form: &'a mut dyn Form,
    pub test: &'a mut Test<'t>,
    pub stop: &'a Stop,
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
    pub pieces: Vec<Piece>,
    pub dy: Vec<f64>,
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
            self.history.push(Sample { work: self.counts.factorizations, joule: joule(&self.now), best: joule(&self.best), wall });
        }
        self.test.passed(self.form.blocks(), &self.now)
    }

    /// True if work or time ran out.
    pub fn spent(&mut self) -> bool {
        self.late = self.late || self.stop.late();
        self.late || self.counts.factorizations >= self.budget
    }

    /// `dy`: Newton's step of the pieces at `now`, with the velocities `u`.
    pub fn step(&mut self, u: &[f64], eps: f64) -> bool {
        self.set_pieces(u);
        self.counts.factorizations += 1;
        self.form.direction(&self.pieces, eps, &mut self.dy)
    }

    /// As [`Run::step`], with the velocities of `now`.
    pub fn step_at_now(&mut self, eps: f64) -> bool {
        let u = std::mem::take(&mut self.now.u);
        let solved = self.step(&u, eps);
        self.now.u = u;
        solved
    }

    /// `trial ← now + t dy`, with its velocities.
    pub fn set_trial(&mut self, t: f64) {
        self.trial.copy_from(&self.now);
        self.trial.y.iter_mut().zip(&self.dy).for_each(|(y, dy)| *y += t * dy);
        self.form.velocities(&mut self.trial);
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
