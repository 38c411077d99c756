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
//!    v = 0 (to [`REST`] of what the forces alone would give), and v = 0 is accepted by the problem
//!    as it is, the island stays where it is, exactly. Gaps that ask for less than [`SLOW`] times
//!    the tolerance (nanometres) stay as they are for as long as it rests: their w is taken out of
//!    the step's problem, and with it the compliance by which contacts share a load. An island that
//!    rested before and that its last reactions still hold is not solved at all.
//! 2. *Stick first.* If all loaded contacts stuck before the step, and one would slide now or the
//!    island hardly moves, the convex problem is asked whether all can go on sticking. If so, they
//!    do: what hardly moves is thereby solved to rounding, not to the tolerance.
//! 3. Otherwise the motion is the method's.
//!
//! Reactions that are not unique are nearly those of least energy: equal springs in all rows of the
//! island share the load first, and the exact answer is the one next to theirs. They do not depend
//! on the step before, unless nothing at all has changed since.
//!
//! A body that forces move, however little more than [`REST`], moves: nothing here looks at speeds
//! to call them zero. An island with an impact, with a contact that slid before, with a compliant
//! material or with more than [`MOST_ROWS`] rows is left alone. Where 1 or 2 finds another motion
//! than the method did, both are exact: the step is *not unique*, and the contact at which the two
//! differ most is named.
//!
//! *Painlevé's jam.* A contact that slides along d with `W_nn < mu W_nt d` is pushed in deeper by
//! its own friction: sliding on has two solutions or none, and the step may end in a jam. A contact
//! that slid before, sticks now and has such a W (that of its bodies, in the coordinates of the
//! problem) is named, the motion is the method's.

use crate::assemble::{Assembly, Source, Touch};
use crate::math::norm;
use crate::problem::islands::Islands;
use crate::problem::law::MAX_ROWS;
use crate::problem::{Law, PreparedProblem, Problem, Solution, Tolerance};
use crate::solve::interior_point::{self, InteriorPoint};
use crate::solve::{Counts, Report, Solver, Status, StoppingCriteria};

/// Islands of more rows than this are left alone.
const MOST_ROWS: usize = 600;
/// Velocities below this part of what the forces alone would give are rest.
const REST: f64 = 1e-10;
/// Contacts that slide below this part of the velocities without reactions stick.
const STICK: f64 = 1e-9;
/// Motions that differ by more than this part of the velocities without reactions are two.
const DIFFERENT: f64 = 1e-3;
/// Tolerances of velocities above this, m/s, are loose.
const NOISE: f64 = 1e-6;
/// Contacts that slide slower than this times the velocity tolerance may have been stuck: steps that
/// are wrong by the tolerance move them so fast. Whether they stick now is asked of the forces. Gaps
/// that ask for less may stay as they are.
const SLOW: f64 = 10.0;
/// The same for a loose tolerance: contacts that share a load yield at twice the tolerance
/// ([`crate::assemble::load_sharing`]), some at twice the mean.
const LOOSE: f64 = 4.0;
/// A contact that closes faster than this part of its sliding speed lands, it does not jam.
const LANDING: f64 = 1e-2;
/// The local error of the convex problem, of its energy scale: the square of a velocity error.
const RESIDUAL: f64 = 1e-22;
/// How much softer rows are where reactions are shared among them, of their own a.
const SHARING: f64 = 1e-6;
/// Factorizations that the convex problem may take; mostly it ends after one or two.
const WORK: u64 = 40;

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
    /// The block of the assembly at which the motion is not unique, and why.
    pub ambiguous: Option<(usize, Ambiguity)>,
}

/// A row whose gap stays as it is: w and E without what corrects the gap or shares a load.
#[derive(Clone, Copy)]
struct Eased {
    /// Its block in the problem, and in the assembly.
    block: u32,
    source: usize,
    w: f64,
    compliance: f64,
}

/// What an island looks like before anything is solved.
enum Motion {
    /// Nothing to choose.
    Leave,
    /// Nothing slides, and it hardly moves.
    Slow,
    /// A contact that stuck would slide now.
    Slips,
    /// Contacts that slid stick now.
    Halts,
}

const NONE: u32 = u32::MAX;

/// What is slower than this may rest, m/s ([`SLOW`]).
fn slow(tolerance: &Tolerance) -> f64 {
    (LOOSE * tolerance.velocity).max(SLOW * tolerance.velocity.min(NOISE))
}

impl Choice {
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
                self.islands.get(i).scatter(posed.problem, &self.answer, solution);
            }
        }
        self.held.iter().all(|held| *held)
    }

    /// Takes what corrects the gaps of resting islands out of the problem.
    pub fn ease(&self, problem: &mut Problem, whole: Option<&mut Problem>) {
        let set = |problem: &mut Problem, block: usize, eased: &Eased| {
            let row = problem.J.row_starts[block];
            problem.w[row] = eased.w;
            problem.E[row] = eased.compliance;
        };
        self.eased.iter().for_each(|eased| set(problem, eased.block as usize, eased));
        if let Some(whole) = whole {
            // Its w has no part of the coordinates.
            for eased in &self.eased {
                let row = whole.J.row_starts[eased.source];
                (whole.w[row], whole.E[row]) = (0.0, eased.compliance);
            }
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
    fn may_hold(&self, i: usize, posed: &Posed<'_>, slow: f64) -> bool {
        let problem = posed.problem;
        let blocks = self.islands.get(i).blocks;
        !blocks.is_empty()
            && blocks.iter().all(|&k| {
                let Some(touch) = self.touch(posed, k) else {
                    return !matches!(problem.laws[k as usize], Law::Coulomb { .. });
                };
                let still =
                    touch.before[..problem.laws[k as usize].rows()].iter().all(|u| *u == 0.0);
                touch.impact.is_none() && (still || touch.open > slow)
            })
    }

    /// Cuts island `i` out, with the solution as it is.
    fn cut(&mut self, i: usize, posed: &Posed<'_>, solution: &Solution) -> bool {
        let Choice { islands, part, found, prepared, .. } = self;
        islands.cut(i, posed.problem, part);
        islands.get(i).gather(posed.problem, solution, found);
        prepared.prepare(part).is_ok()
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
    fn accepts_rest(
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
            (self.part.w[row], self.part.E[row]) = (own.w, own.compliance);
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
    fn eased_row(&self, at: usize, k: u32, posed: &Posed<'_>, slow: f64) -> Option<Eased> {
        let touch = self.touch(posed, k)?;
        let source = posed.block(k);
        let row = self.part.J.row_starts[at];
        let shared = posed.assembly.shared.get(source).copied().unwrap_or(0.0);
        let small = touch.open.abs() <= slow && self.part.E[row] == shared;
        small.then(|| Eased { block: k, source, w: self.part.w[row] - touch.open, compliance: 0.0 })
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
            let slips = matches!(motion, Motion::Slips);
            if self.island(i, posed, (slow, slips), tolerance) {
                self.islands.get(i).scatter(posed.problem, &self.answer, solution);
                changed = true;
            }
        }
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
    pub fn judge(
        &mut self,
        problem: &Problem,
        tolerance: &Tolerance,
        (solution, report): (&Solution, &mut Report),
    ) {
        if self.prepared.prepare(problem).is_err() {
            return;
        }
        report.error = self.prepared.error(problem, solution);
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
            let Some(touch) = touch else { return Motion::Leave };
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
            if touch.before[0] < -LANDING * norm(slid) {
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
                self.compare(i, posed, slips, tolerance);
                return true;
            }
            if !gaps {
                return false;
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
            return false;
        }
        if !self.prepared.error(&self.part, &self.answer).accepted(tolerance) {
            return false;
        }
        self.compare(i, posed, slips, tolerance);
        true
    }

    /// What counts as rest: [`REST`] of the velocity without reactions, body by body, in energies.
    /// A body is a run of unknowns that H couples or that the same blocks touch.
    fn set_rest(&mut self) {
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
            rest.extend((first..end).map(|i| REST * energy / root(i)));
        }
    }

    /// True if `answer` is rest.
    fn rests(&self) -> bool {
        self.answer.v.iter().zip(&self.rest).all(|(v, rest)| v.abs() <= *rest)
    }

    /// The convex problem of the island.
    fn pose(&mut self) {
        self.convex.clone_from(&self.part);
        self.convex.laws.iter_mut().for_each(|law| *law = law.associated());
    }

    /// Takes what corrects small gaps, and the compliance by which contacts share their load, out of
    /// the convex problem; a material that yields to a load keeps both.
    fn close_gaps(&mut self, i: usize, posed: &Posed<'_>, slow: f64) {
        for (at, &k) in self.islands.get(i).blocks.iter().enumerate() {
            let Some(eased) = self.eased_row(at, k, posed, slow) else { continue };
            let row = self.part.J.row_starts[at];
            (self.convex.w[row], self.convex.E[row]) = (eased.w, eased.compliance);
        }
    }

    /// The reactions from which the convex problem is solved: those of least energy, nearly, as if
    /// every row yielded by [`SHARING`] of what a unit impulse moves it, all contacts of two bodies
    /// alike. They are unique, so that they do not depend on the reactions of the step before.
    fn share_evenly(&mut self, i: usize, posed: &Posed<'_>) {
        let Choice { convex, prepared, rigid, islands, .. } = self;
        rigid.clone_from(&convex.E);
        let (a, blocks) = (prepared.a(), islands.get(i).blocks);
        let pair = |at: usize| match posed.assembly.sources[posed.block(blocks[at])] {
            Source::Contact(a, b, _) => Some((a, b)),
            _ => None,
        };
        let mut first = 0;
        while first < blocks.len() {
            let alike = |at: &usize| pair(first).is_some() && pair(*at) == pair(first);
            let end = first + 1 + (first + 1..blocks.len()).take_while(alike).count();
            let mean = a[first..end].iter().sum::<f64>() / (end - first) as f64;
            let rows = convex.J.row_starts[first]..convex.J.row_starts[end];
            convex.E[rows].iter_mut().for_each(|e| *e += SHARING * mean);
            first = end;
        }
        self.solve();
        self.convex.E.clone_from(&self.rigid);
    }

    /// Solves the convex problem from `answer`, into it, as far as the work allows.
    fn solve(&mut self) -> bool {
        let interior = self.interior.get_or_insert_with(|| {
            let tolerance = Tolerance {
                relative: RESIDUAL,
                velocity: f64::INFINITY,
                bound: Some(f64::MAX),
                velocity_relative: 0.0,
            };
            let stop =
                StoppingCriteria { tolerance, work: Some(WORK), ..StoppingCriteria::default() };
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
                || norm(&u[rows.start + 1..rows.end]) <= STICK * scale
        })
    }

    /// Whether `answer` is another motion than `found`, and where.
    fn compare(&mut self, i: usize, posed: &Posed<'_>, slips: bool, tolerance: &Tolerance) {
        if !slips || self.ambiguous.is_some() {
            return;
        }
        let Choice { part, answer, found, u: [u, q], free, .. } = self;
        if !self.prepared.error(part, found).accepted(tolerance) {
            return;
        }
        let change: Vec<f64> = answer.v.iter().zip(&found.v).map(|(a, b)| a - b).collect();
        u.resize(part.rows(), 0.0);
        q.resize(part.rows(), 0.0);
        part.J.mul(&change, u);
        part.J.mul(free, q);
        let at = |k: usize| norm(&u[part.J.block(k).range()]);
        let contacts =
            (0..part.laws.len()).filter(|&k| matches!(part.laws[k], Law::Coulomb { .. }));
        let Some(worst) = contacts.max_by(|&a, &b| at(a).total_cmp(&at(b))) else { return };
        if at(worst) > (DIFFERENT * norm(q)).max(10.0 * tolerance.velocity) {
            let block = posed.block(self.islands.get(i).blocks[worst]);
            self.ambiguous = Some((block, Ambiguity::Stick));
        }
    }
}
