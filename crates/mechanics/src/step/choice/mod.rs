//! Which of several exact motions a step takes.
//!
//! Coulomb's law may allow several motions of the same step: a pyramid of balls stands, and falls,
//! both exactly. Which of them a method finds depends on the method and on where it began. The
//! choice is made here, the same for every method, island by island:
//!
//! ```text
//!   convex law    u_n + mu |u_t| in place of u_n: its v is unique, and where every loaded contact
//!                 sticks (u_t = 0) it is a motion of the true law too
//! ```
//!
//! 1. *Rest absorbs.* If the convex problem without the velocities that correct gaps has the answer
//!    v = 0 (to [`rest::REST_RELATIVE_SPEED`] of what the forces alone would give), and v = 0 is
//!    accepted by the problem as it is, the island stays where it is, exactly. Gaps that ask for
//!    less than [`rest::STUCK_SPEED_FACTOR`] times the tolerance (nanometres) stay as they are for
//!    as long as it rests: their w is taken out of the step's problem, and with it the compliance
//!    by which contacts share a load. An island that rested before and that its last reactions
//!    still hold is not solved at all.
//! 2. *Stick first.* If all loaded contacts stuck before the step, and one would slide now or the
//!    island hardly moves, the convex problem is asked whether all can go on sticking. If so, they
//!    do: what hardly moves is thereby solved to rounding, not to the tolerance.
//! 3. Otherwise the motion is the method's; what hardly moves is solved to more digits
//!    ([`refine`]).
//! 4. *Slip first.* Whatever sticks is asked whether it could slide as well ([`sliding`]): an
//!    island that comes to rest always, any other less and less often as long as the answer is no.
//!
//! Reactions that are not unique are nearly those of least energy: equal springs in all rows of the
//! island share the load first, and the exact answer is the one next to theirs. They do not depend
//! on the step before, unless nothing at all has changed since.
//!
//! A body that forces move, however little more than [`rest::REST_RELATIVE_SPEED`], moves: nothing
//! here looks at speeds to call them zero. An island with an impact, with a contact that slid
//! before, with a compliant material or with more than [`MOST_ROWS`] rows is left alone. Where
//! the method or 4 finds another motion than the one that is taken, both are exact: the step is
//! *not unique*, and the contact at which the two differ most is named.
//!
//! *Painlevé's jam.* A contact that slides along d with `W_nn < mu W_nt d` is pushed in deeper by
//! its own friction: sliding on has two solutions or none, and the step may end in a jam. A contact
//! that slid before, sticks now and has such a W (that of its bodies, in the coordinates of the
//! problem) is named, the motion is the method's.

mod refine;
mod rest;
mod sliding;

use crate::assemble::{Assembly, Source, Touch};
use crate::math::norm;
use crate::problem::islands::Islands;
use crate::problem::law::MAX_ROWS;
use crate::problem::{Law, PreparedProblem, Problem, Solution, Tolerance};
use crate::solve::interior_point::{self, InteriorPoint};
use crate::solve::{Counts, Report, Solver, Status, StoppingCriteria};
use refine::Refinement;
use rest::{Eased, slow};
use sliding::Sliding;

/// Islands of more rows than this are left alone.
const MOST_ROWS: usize = 600;
/// Contacts that slide below this part of the velocities without reactions stick.
const STICK_RELATIVE_SPEED: f64 = 1e-9;
/// Motions that differ by more than this part of the velocities without reactions are two.
const DIFFERENT_RELATIVE_SPEED: f64 = 1e-3;
/// Contacts at which two motions differ by this part of the largest difference count as equal.
const EQUAL_SHARE: f64 = 0.99;
/// A contact that closes faster than this part of its sliding speed lands, it does not jam.
const LANDING_SPEED_RATIO: f64 = 1e-2;
/// The local error of the convex problem, of its energy scale: the square of a velocity error.
const STICK_TEST_TOLERANCE: f64 = 1e-22;
/// How much softer rows are where reactions are shared among them, of their own a.
const SHARING_RELATIVE_COMPLIANCE: f64 = 1e-6;
/// Factorizations that the convex problem may take; mostly it ends after one or two.
const MAX_STICK_TEST_FACTORIZATIONS: u64 = 40;

/// Why a motion is not unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ambiguity {
    /// All contacts can stick, and one can slide; they stick.
    Stick,
    /// A contact that slid is jammed by its own friction.
    Jam,
}

/// The problem as the method saw it, and where it came from.
pub(super) struct Posed<'a> {
    /// The problem.
    pub problem: &'a Problem,
    /// What it was made of.
    pub assembly: &'a Assembly,
    /// The block of the assembly that each block of the problem is; none: the same.
    pub blocks: Option<&'a [u32]>,
}

impl Posed<'_> {
    /// The block of the assembly.
    fn block(&self, k: u32) -> usize {
        self.blocks.map_or(k as usize, |blocks| blocks[k as usize] as usize)
    }

    /// Whether block `k` is the rolling friction of a contact.
    fn is_rolling(&self, k: u32) -> bool {
        matches!(self.assembly.sources[self.block(k)], Source::Rolling(..))
    }
}

/// Work space.
#[derive(Default)]
pub(super) struct Choice {
    islands: Islands,
    /// By block of the assembly: its place among the touches, if it has one.
    touches: Vec<u32>,
    part: Problem,
    convex: Problem,
    /// The compliance of the convex problem's rows while it is another.
    rigid: Vec<f64>,
    found: Solution,
    answer: Solution,
    interior: Option<Box<InteriorPoint>>,
    prepared: PreparedProblem,
    /// Velocities without reactions (n), and what counts as rest (n).
    free: Vec<f64>,
    rest: Vec<f64>,
    /// By unknown: a sum over the blocks that touch it, the same for unknowns of the same body.
    touched: Vec<u64>,
    /// Local velocities of the two motions.
    u: [Vec<f64>; 2],
    /// Blocks of the island that slid before the step and stick now.
    halted: Vec<u32>,
    /// What the choice took.
    counts: Counts,
    /// By island: it rests, and the reactions of the step before hold it.
    held: Vec<bool>,
    /// Rows whose gap stays as it is.
    eased: Vec<Eased>,
    sliding: Sliding,
    refinement: Refinement,
    /// The block of the assembly at which the motion is not unique, and why.
    pub ambiguous: Option<(usize, Ambiguity)>,
}

/// What an island looks like before anything is solved.
enum Motion {
    /// Nothing to choose.
    Leave,
    /// Nothing slides, and it hardly moves.
    Slow,
    /// Nothing slides, and it moves.
    Carried,
    /// A contact that stuck would slide now.
    Slips,
    /// Contacts that slid stick now.
    Halts,
}

/// Which other motions are looked for.
#[derive(Clone, Copy)]
struct Ask {
    /// The method's own.
    method: bool,
    /// The island comes to rest: one that slides is looked for, whatever the answer was before.
    rests: bool,
}

const NONE: u32 = u32::MAX;

impl Choice {
    /// Cuts island `i` out, with the solution as it is.
    fn cut(&mut self, i: usize, posed: &Posed<'_>, solution: &Solution) -> bool {
        let Choice { islands, part, found, prepared, .. } = self;
        islands.cut(i, posed.problem, part);
        islands.get(i).gather(posed.problem, solution, found);
        prepared.prepare(part).is_ok()
    }

    /// Chooses for every island that is not held; true if `solution` was changed.
    fn choose(
        &mut self,
        posed: &Posed<'_>,
        tolerance: &Tolerance,
        solution: &mut Solution,
    ) -> bool {
        let frictional = |law: &Law| matches!(law, Law::Coulomb { .. });
        if self.held.is_empty() || !posed.problem.laws.iter().any(frictional) {
            return false;
        }
        let slow = slow(tolerance);
        let mut changed = false;
        self.sliding.begin();
        for i in 0..self.islands.len() {
            if self.held[i] {
                // The method leaves it nearly at rest.
                let unknowns = self.islands.get(i).unknowns;
                for &j in unknowns {
                    changed |= solution.v[j as usize] != 0.0;
                    solution.v[j as usize] = 0.0;
                }
                continue;
            }
            let motion = self.classify(i, posed, slow, solution);
            if matches!(motion, Motion::Leave) || !self.cut(i, posed, solution) {
                continue;
            }
            if matches!(motion, Motion::Halts) {
                self.jams(i, posed);
                continue;
            }
            if matches!(motion, Motion::Carried) {
                self.set_rest();
                self.answer.clone_from(&self.found);
                self.compare(i, posed, Ask { method: false, rests: false }, tolerance);
                continue;
            }
            let slips = matches!(motion, Motion::Slips);
            if self.island(i, posed, (slow, slips), tolerance) {
                self.islands.get(i).scatter(
                    posed.problem,
                    (&self.answer.v, &self.answer.r),
                    solution,
                );
                changed = true;
            }
        }
        self.sliding.end();
        changed
    }

    /// Chooses; true if the solution was changed, and its residual is to be taken again.
    pub fn apply(
        &mut self,
        posed: &Posed<'_>,
        tolerance: &Tolerance,
        (solution, report): (&mut Solution, &mut Report),
    ) -> bool {
        let changed = self.choose(posed, tolerance, solution);
        report.counts = report.counts.plus(&self.counts);
        changed
    }

    /// Takes the residual of what was chosen.
    pub fn update_residual(
        &mut self,
        problem: &Problem,
        tolerance: &Tolerance,
        (solution, report): (&Solution, &mut Report),
    ) {
        if self.prepared.prepare(problem).is_err() {
            return;
        }
        report.error = self.prepared.error(problem, solution);
        report.certificate = None;
        if report.error.accepted(tolerance) {
            report.status = Status::Converged;
        }
    }

    /// Where a block touches.
    fn touch<'a>(&self, posed: &Posed<'a>, k: u32) -> Option<&'a Touch> {
        posed.assembly.touches.get(self.touches[posed.block(k)] as usize)
    }

    /// Whether there is something to choose in island `i`; what is slower than `slow` may rest.
    fn classify(&mut self, i: usize, posed: &Posed<'_>, slow: f64, solution: &Solution) -> Motion {
        let (problem, island) = (posed.problem, self.islands.get(i));
        let rows: usize = island.blocks.iter().map(|&k| problem.laws[k as usize].rows()).sum();
        if rows > MOST_ROWS {
            return Motion::Leave;
        }
        let (mut slips, mut slid, mut frictional) = (false, false, false);
        self.halted.clear();
        for &k in island.blocks {
            let law = problem.laws[k as usize];
            let touch = self.touch(posed, k);
            if touch.is_some_and(|t| t.impact.is_some()) {
                return Motion::Leave;
            }
            let Law::Coulomb { .. } = law else { continue };
            let rolling = posed.is_rolling(k);
            if touch.is_none() && !rolling {
                return Motion::Leave;
            }
            let block = problem.J.block(k as usize);
            let range = block.range();
            if !(solution.r[range.start] > 0.0) {
                continue;
            }
            frictional = true;
            let mut slide = 0.0f64;
            for (row, at) in range.enumerate().skip(1) {
                let columns = block.columns.iter().zip(block.row(row));
                let u: f64 = columns.map(|(&c, x)| x * solution.v[c as usize]).sum();
                slide = slide.hypot(u + problem.w[at]);
            }
            let Some(touch) = touch else {
                // What rolls under its own friction leaves nothing to choose.
                if slide > slow {
                    return Motion::Leave;
                }
                continue;
            };
            if norm(&touch.before[1..law.rows()]) <= slow {
                slips |= slide > slow;
                continue;
            }
            slid = true;
            if slide <= slow {
                self.halted.push(k);
            }
        }
        let speed = |&j: &u32| solution.v[j as usize].abs();
        let fastest = island.unknowns.iter().map(speed).fold(0.0, f64::max);
        match (frictional, slips) {
            (false, _) => Motion::Leave,
            _ if !self.halted.is_empty() => Motion::Halts,
            _ if slid => Motion::Leave,
            (_, true) => Motion::Slips,
            _ if fastest <= 10.0 * slow => Motion::Slow,
            _ if self.sliding.is_due() => Motion::Carried,
            _ => Motion::Leave,
        }
    }

    /// Whether one of the halted contacts of island `i` is pushed in by its own friction.
    fn jams(&mut self, i: usize, posed: &Posed<'_>) {
        let blocks = self.islands.get(i).blocks;
        for &k in &self.halted {
            let (Some(touch), Ok(at)) = (self.touch(posed, k), blocks.binary_search(&k)) else {
                continue;
            };
            let Law::Coulomb { mu, .. } = self.part.laws[at] else { continue };
            // What a unit of the normal reaction gives to all three rows.
            let block = self.part.J.block(at);
            self.free.clear();
            self.free.resize(self.part.n(), 0.0);
            let columns = block.columns.iter().zip(block.row(0));
            columns.for_each(|(&c, x)| self.free[c as usize] = *x);
            self.prepared.factor().solve(&mut self.free);
            let mut response = [0.0; MAX_ROWS];
            block.mul(&self.free, &mut response);
            let slid = &touch.before[1..block.rows];
            if touch.before[0] < -LANDING_SPEED_RATIO * norm(slid) {
                continue;
            }
            let friction: f64 = slid.iter().zip(&response[1..]).map(|(d, w)| d * w).sum();
            if response[0] < mu * friction / norm(slid) {
                self.ambiguous.get_or_insert((posed.block(k), Ambiguity::Jam));
            }
        }
    }

    /// Chooses for the island at hand; true if the motion is `answer` now.
    fn island(
        &mut self,
        i: usize,
        posed: &Posed<'_>,
        (slow, slips): (f64, bool),
        tolerance: &Tolerance,
    ) -> bool {
        self.set_rest();
        self.answer.clone_from(&self.found);
        // 1. Without what corrects gaps.
        self.pose();
        self.close_gaps(i, posed, slow);
        let gaps = self.convex.w != self.part.w || self.convex.E != self.part.E;
        self.share_evenly(i, posed);
        if !self.solve() {
            return false;
        }
        if self.rests() {
            if self.accepts_rest(i, posed, slow, tolerance) {
                let rests = !self.may_hold(i, posed, slow);
                self.compare(i, posed, Ask { method: slips, rests }, tolerance);
                return true;
            }
            if !gaps {
                return !slips && self.refine(tolerance);
            }
        }
        // 2. With it.
        if gaps {
            self.convex.w.clone_from(&self.part.w);
            self.convex.E.clone_from(&self.part.E);
            if !self.solve() {
                return false;
            }
        }
        if !self.sticks() {
            // 3.
            return !slips && self.refine(tolerance);
        }
        if !self.prepared.error(&self.part, &self.answer).accepted(tolerance) {
            return false;
        }
        self.compare(i, posed, Ask { method: slips, rests: false }, tolerance);
        true
    }

    /// The convex problem of the island.
    fn pose(&mut self) {
        self.convex.clone_from(&self.part);
        self.convex.laws.iter_mut().for_each(|law| *law = law.associated());
    }

    /// Takes what corrects small gaps, and the compliance by which contacts share their load, out
    /// of the convex problem; a material that yields to a load keeps both.
    fn close_gaps(&mut self, i: usize, posed: &Posed<'_>, slow: f64) {
        for (at, &k) in self.islands.get(i).blocks.iter().enumerate() {
            let Some(eased) = self.eased_row(at, k, posed, slow) else { continue };
            let row = self.part.J.row_starts[at];
            (self.convex.w[row], self.convex.E[row]) = (eased.w, 0.0);
        }
    }

    /// The reactions from which the convex problem is solved: those of least energy, nearly, as if
    /// every row yielded by [`SHARING_RELATIVE_COMPLIANCE`] of what a unit impulse moves it, all
    /// contacts of two bodies alike. They are unique, so that they do not depend on the reactions
    /// of the step before.
    fn share_evenly(&mut self, i: usize, posed: &Posed<'_>) {
        let Choice { convex, prepared, rigid, islands, .. } = self;
        rigid.clone_from(&convex.E);
        let (a, blocks) = (prepared.a(), islands.get(i).blocks);
        let pair = |at: usize| posed.assembly.sources[posed.block(blocks[at])].bodies_in_contact();
        let mut first = 0;
        while first < blocks.len() {
            let alike = |at: &usize| pair(first).is_some() && pair(*at) == pair(first);
            let end = first + 1 + (first + 1..blocks.len()).take_while(alike).count();
            let mean = a[first..end].iter().sum::<f64>() / (end - first) as f64;
            let rows = convex.J.row_starts[first]..convex.J.row_starts[end];
            convex.E[rows].iter_mut().for_each(|e| *e += SHARING_RELATIVE_COMPLIANCE * mean);
            first = end;
        }
        self.solve();
        self.convex.E.clone_from(&self.rigid);
    }

    /// Solves the convex problem from `answer`, into it, as far as the work allows.
    fn solve(&mut self) -> bool {
        let interior = self.interior.get_or_insert_with(|| {
            let tolerance = Tolerance {
                relative: STICK_TEST_TOLERANCE,
                velocity: f64::INFINITY,
                bound: Some(f64::MAX),
                velocity_relative: 0.0,
            };
            let stop = StoppingCriteria {
                tolerance,
                work: Some(MAX_STICK_TEST_FACTORIZATIONS),
                ..StoppingCriteria::default()
            };
            Box::new(InteriorPoint::new(interior_point::Settings { stop, ..Default::default() }))
        });
        // What it is worth the tests of rest and of sticking say, which are strict.
        let report = interior.solve(&self.convex, &mut self.answer);
        report.map(|report| self.counts = self.counts.plus(&report.counts)).is_ok()
    }

    /// True if every loaded contact of `answer` sticks.
    fn sticks(&mut self) -> bool {
        let Choice { part, answer, u: [u, q], free, .. } = self;
        u.resize(part.rows(), 0.0);
        q.resize(part.rows(), 0.0);
        part.local_velocities(&answer.v, &answer.r, u);
        part.J.mul(free, q);
        let scale = norm(q);
        part.laws.iter().zip(part.J.blocks()).all(|(law, block)| {
            let rows = block.range();
            !matches!(law, Law::Coulomb { .. })
                || answer.r[rows.start] <= 0.0
                || norm(&u[rows.start + 1..rows.end]) <= STICK_RELATIVE_SPEED * scale
        })
    }

    /// Looks for another motion than `answer`: the method's, where that slips, or one that slides.
    fn compare(&mut self, i: usize, posed: &Posed<'_>, ask: Ask, tolerance: &Tolerance) {
        if self.ambiguous.is_some() {
            return;
        }
        // What the method found is a proof, but its contact is the method's choice.
        let of_method = if ask.method { self.difference(tolerance) } else { None };
        let mut of_search = None;
        if ask.rests || self.sliding.is_due() {
            of_search = if self.slides(tolerance) { self.difference(tolerance) } else { None };
            if !ask.rests {
                self.sliding.answered(of_search.is_some());
            }
        }
        let differs = of_search.or(of_method);
        let Some(worst) = differs else { return };
        let block = posed.block(self.islands.get(i).blocks[worst]);
        self.ambiguous = Some((block, Ambiguity::Stick));
    }

    /// The block at which `answer` differs most from `found` (of equal ones the first), if both are
    /// accepted and two motions.
    fn difference(&mut self, tolerance: &Tolerance) -> Option<usize> {
        let Choice { part, answer, found, u: [u, q], free, .. } = self;
        if !self.prepared.error(part, found).accepted(tolerance) {
            return None;
        }
        let change: Vec<f64> = answer.v.iter().zip(&found.v).map(|(a, b)| a - b).collect();
        u.resize(part.rows(), 0.0);
        q.resize(part.rows(), 0.0);
        part.J.mul(&change, u);
        part.J.mul(free, q);
        let at = |k: usize| norm(&u[part.J.block(k).range()]);
        let contacts =
            || (0..part.laws.len()).filter(|&k| matches!(part.laws[k], Law::Coulomb { .. }));
        let most = contacts().map(at).fold(0.0, f64::max);
        let limit = (DIFFERENT_RELATIVE_SPEED * norm(q)).max(10.0 * tolerance.velocity);
        contacts().find(|&k| most > limit && at(k) >= EQUAL_SHARE * most)
    }
}
