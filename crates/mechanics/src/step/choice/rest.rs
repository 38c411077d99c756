//! Rest: which islands stay where they are, and what leaves their problem meanwhile.

use super::{Choice, NONE, Posed};
use crate::problem::{Law, Problem, Solution, Tolerance};
use crate::solve::{Counts, Report, Status};

/// Velocities below this part of what the forces alone would give are rest.
const REST_RELATIVE_SPEED: f64 = 1e-10;
/// Tolerances of velocities above this, m/s, are loose.
const LOOSE_VELOCITY_TOLERANCE: f64 = 1e-6;
/// Contacts that slide slower than this times the velocity tolerance may have been stuck: steps
/// that are wrong by the tolerance move them so fast. Whether they stick now is asked of the
/// forces. Gaps that ask for less may stay as they are.
const STUCK_SPEED_FACTOR: f64 = 10.0;
/// The same for a loose tolerance: contacts that share a load yield at twice the tolerance
/// ([`crate::assemble::load_sharing`]), some at twice the mean.
const STUCK_SPEED_FACTOR_LOOSE: f64 = 4.0;

/// A row whose gap stays as it is: w without what corrects the gap, and no compliance.
#[derive(Clone, Copy)]
pub(super) struct Eased {
    /// Its block in the problem, and in the assembly.
    block: u32,
    source: usize,
    /// w in the problem, and in the assembly.
    pub w: f64,
    whole: f64,
    /// w and E of the assembly as they were.
    before: (f64, f64),
}

/// What is slower than this may rest, m/s ([`STUCK_SPEED_FACTOR`]).
pub(super) fn slow(tolerance: &Tolerance) -> f64 {
    (STUCK_SPEED_FACTOR_LOOSE * tolerance.velocity)
        .max(STUCK_SPEED_FACTOR * tolerance.velocity.min(LOOSE_VELOCITY_TOLERANCE))
}

impl Choice {
    /// Begins a solve.
    pub fn begin(&mut self) {
        self.ambiguous = None;
        self.eased.clear();
    }

    /// Islands that rest and that the guess holds stay as they are: `solution` is their rest. True
    /// if these are all there are.
    pub fn hold(
        &mut self,
        posed: &Posed<'_>,
        tolerance: &Tolerance,
        solution: &mut Solution,
    ) -> bool {
        self.counts = Counts::default();
        self.held.clear();
        self.eased.clear();
        if posed.assembly.touches.is_empty() {
            return false;
        }
        self.touches.clear();
        self.touches.resize(posed.assembly.sources.len(), NONE);
        for (t, touch) in posed.assembly.touches.iter().enumerate() {
            self.touches[touch.block as usize] = t as u32;
        }
        self.islands.set(posed.problem);
        let slow = slow(tolerance);
        for i in 0..self.islands.len() {
            let holds = self.may_hold(i, posed, slow)
                && self.cut(i, posed, solution)
                && self.holds(i, posed, slow, tolerance);
            self.held.push(holds);
            if holds {
                self.islands.get(i).scatter(
                    posed.problem,
                    (&self.answer.v, &self.answer.r),
                    solution,
                );
            }
        }
        self.held.iter().all(|held| *held)
    }

    /// Takes what corrects the gaps of resting islands out of the problem, and out of that of
    /// bodies (`whole`) where it is in other coordinates.
    pub fn ease(&self, problem: &mut Problem, whole: Option<&mut Problem>) {
        for eased in &self.eased {
            let row = problem.J.row_starts[eased.block as usize];
            (problem.w[row], problem.E[row]) = (eased.w, 0.0);
        }
        let Some(whole) = whole else { return };
        for eased in &self.eased {
            let row = whole.J.row_starts[eased.source];
            (whole.w[row], whole.E[row]) = (eased.whole, 0.0);
        }
    }

    /// Puts back what [`Choice::ease`] took out of the problem of bodies: it is to be solved again.
    pub fn restore(&self, whole: &mut Problem) {
        for eased in &self.eased {
            let row = whole.J.row_starts[eased.source];
            (whole.w[row], whole.E[row]) = eased.before;
        }
    }

    /// The report on an answer that is nothing but rest.
    pub fn report(&mut self, problem: &Problem, solution: &Solution) -> Option<Report> {
        self.prepared.prepare(problem).ok()?;
        let mut report = Report::new(Status::Converged, self.prepared.error(problem, solution));
        report.counts = self.counts;
        Some(report)
    }

    /// Whether island `i` rested: what touches does not move at all, as rest was chosen.
    pub(super) fn may_hold(&self, i: usize, posed: &Posed<'_>, slow: f64) -> bool {
        let problem = posed.problem;
        let blocks = self.islands.get(i).blocks;
        !blocks.is_empty()
            && blocks.iter().all(|&k| {
                let Some(touch) = self.touch(posed, k) else {
                    return !matches!(problem.laws[k as usize], Law::Coulomb { .. })
                        || posed.is_rolling(k);
                };
                let still =
                    touch.before[..problem.laws[k as usize].rows()].iter().all(|u| *u == 0.0);
                touch.impact.is_none() && (still || touch.open > slow)
            })
    }

    /// Whether the reactions at hand hold the island that was cut out; `answer` is its rest then.
    fn holds(&mut self, i: usize, posed: &Posed<'_>, slow: f64, tolerance: &Tolerance) -> bool {
        self.set_rest();
        let Choice { part, prepared, answer, found, .. } = self;
        answer.clone_from(found);
        answer.v.clone_from(&part.k);
        part.J.add_transposed(&answer.r, &mut answer.v);
        prepared.factor().solve(&mut answer.v);
        self.rests() && self.accepts_rest(i, posed, slow, tolerance)
    }

    /// Whether rest under the reactions of `answer` is accepted, with small gaps as they are.
    pub(super) fn accepts_rest(
        &mut self,
        i: usize,
        posed: &Posed<'_>,
        slow: f64,
        tolerance: &Tolerance,
    ) -> bool {
        self.answer.v.fill(0.0);
        let mut eased = std::mem::take(&mut self.eased);
        let before = eased.len();
        for (at, &k) in self.islands.get(i).blocks.iter().enumerate() {
            let Some(own) = self.eased_row(at, k, posed, slow) else { continue };
            let row = self.part.J.row_starts[at];
            (self.part.w[row], self.part.E[row]) = (own.w, 0.0);
            eased.push(own);
        }
        let accepted = self.prepared.error(&self.part, &self.answer).accepted(tolerance);
        if !accepted {
            for (at, &k) in self.islands.get(i).blocks.iter().enumerate() {
                let (row, from) =
                    (self.part.J.row_starts[at], posed.problem.J.row_starts[k as usize]);
                self.part.w[row] = posed.problem.w[from];
                self.part.E[row] = posed.problem.E[from];
            }
            eased.truncate(before);
        }
        self.eased = eased;
        accepted
    }

    /// Block `k`, number `at` of the island, without what corrects its gap or shares its load; none
    /// if the gap is not small, or a material yields.
    pub(super) fn eased_row(
        &self,
        at: usize,
        k: u32,
        posed: &Posed<'_>,
        slow: f64,
    ) -> Option<Eased> {
        let touch = self.touch(posed, k)?;
        let (source, row) = (posed.block(k), self.part.J.row_starts[at]);
        let shared = posed.assembly.shared.get(source).copied().unwrap_or(0.0);
        let small = touch.open.abs() <= slow && self.part.E[row] == shared;
        let (w, of_bodies) = (self.part.w[row], &posed.assembly.problem);
        let before = (of_bodies.w[touch.row as usize], of_bodies.E[touch.row as usize]);
        let whole = before.0 - touch.open;
        small.then_some(Eased { block: k, source, w: w - touch.open, whole, before })
    }

    /// What counts as rest: [`REST_RELATIVE_SPEED`] of the velocity without reactions, body by
    /// body, in energies. A body is a run of unknowns that H couples or that the same blocks touch.
    pub(super) fn set_rest(&mut self) {
        let Choice { part, prepared, free, rest, touched, .. } = self;
        free.clone_from(&part.k);
        prepared.factor().solve(free);
        touched.clear();
        touched.resize(free.len(), 0);
        for (k, block) in part.J.blocks().enumerate() {
            let of_block = (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            for &c in block.columns {
                touched[c as usize] = touched[c as usize].wrapping_add(of_block);
            }
        }
        let root = |i: usize| part.H.get(i, i).sqrt();
        let clique = &prepared.factor().cliques.of;
        let most = free.iter().enumerate().map(|(i, v)| root(i) * v.abs()).fold(0.0, f64::max);
        rest.clear();
        while rest.len() < free.len() {
            let first = rest.len();
            let same = |i: &usize| touched[*i] == touched[*i - 1] || clique[*i] == clique[*i - 1];
            let end = first + 1 + (first + 1..free.len()).take_while(same).count();
            let own = (first..end).map(|i| root(i) * free[i].abs()).fold(0.0, f64::max);
            let energy = if own > 0.0 { own } else { most };
            rest.extend((first..end).map(|i| REST_RELATIVE_SPEED * energy / root(i)));
        }
    }

    /// True if `answer` is rest.
    pub(super) fn rests(&self) -> bool {
        self.answer.v.iter().zip(&self.rest).all(|(v, rest)| v.abs() <= *rest)
    }
}
