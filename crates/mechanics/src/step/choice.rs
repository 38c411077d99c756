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
//!    as it is, the island stays where it is, exactly. Gaps within the tolerance do not add up.
//! 2. *Stick first.* If all loaded contacts stuck before the step, and one would slide now or the
//!    island hardly moves, the convex problem is asked whether all can go on sticking. If so, they
//!    do: what hardly moves is thereby solved to rounding, not to the tolerance.
//! 3. Otherwise the motion is the method's.
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

use crate::assemble::{Assembly, Touch};
use crate::math::norm;
use crate::problem::islands::Islands;
use crate::problem::law::MAX_ROWS;
use crate::problem::{Law, PreparedProblem, Problem, Solution, Tolerance};
use crate::solve::newton::{self, Newton};
use crate::solve::{Report, Solver, Status, StoppingCriteria};

/// Islands of more rows than this are left alone.
const MOST_ROWS: usize = 600;
/// Velocities below this part of what the forces alone would give are rest.
const REST: f64 = 1e-10;
/// Contacts that slide below this part of the velocities without reactions stick.
const STICK: f64 = 1e-9;
/// Motions that differ by more than this part of the velocities without reactions are two.
const DIFFERENT: f64 = 1e-3;
/// Contacts that slide slower than this stuck before the step, and gaps that ask for less may be
/// left as they are, m/s; or the velocity tolerance, if that is less.
const NOISE: f64 = 1e-6;
/// A contact that closes faster than this part of its sliding speed lands, it does not jam.
const LANDING: f64 = 1e-2;
/// The relative residual of the convex problem.
const RESIDUAL: f64 = 1e-12;
/// Factorizations that the convex problem may take, where nothing slides and where a contact would:
/// the first is asked in every step, and mostly ends after one or two.
const WORK: [u64; 2] = [10, 100];

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
    found: Solution,
    answer: Solution,
    /// By whether a contact would slide.
    newton: [Option<Box<Newton>>; 2],
    prepared: PreparedProblem,
    /// Velocities without reactions (n), and what counts as rest (n).
    free: Vec<f64>,
    rest: Vec<f64>,
    /// By clique of H: the largest velocity without reactions, in the root of a joule.
    largest: Vec<f64>,
    /// Local velocities of the two motions.
    u: [Vec<f64>; 2],
    /// Blocks of the island that slid before the step and stick now.
    halted: Vec<u32>,
    /// The block of the assembly at which the motion is not unique, and why.
    pub ambiguous: Option<(usize, Ambiguity)>,
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

impl Choice {
    /// Chooses for every island; true if `solution` was changed.
    fn choose(
        &mut self,
        posed: &Posed<'_>,
        tolerance: &Tolerance,
        solution: &mut Solution,
    ) -> bool {
        let frictional = |law: &Law| matches!(law, Law::Coulomb { .. });
        if !posed.problem.laws.iter().any(frictional) || posed.assembly.touches.is_empty() {
            return false;
        }
        self.touches.clear();
        self.touches.resize(posed.assembly.sources.len(), NONE);
        for (t, touch) in posed.assembly.touches.iter().enumerate() {
            self.touches[touch.block as usize] = t as u32;
        }
        self.islands.set(posed.problem);
        let noise = tolerance.velocity.min(NOISE);
        let mut changed = false;
        for i in 0..self.islands.len() {
            let motion = self.classify(i, posed, noise, solution);
            if matches!(motion, Motion::Leave) {
                continue;
            }
            let Choice { islands, part, found, prepared, .. } = self;
            islands.cut(i, posed.problem, part);
            islands.get(i).gather(posed.problem, solution, found);
            if prepared.prepare(part).is_err() {
                continue;
            }
            if matches!(motion, Motion::Halts) {
                self.jams(i, posed);
                continue;
            }
            let slips = matches!(motion, Motion::Slips);
            if self.island(i, posed, (noise, slips), tolerance) {
                self.islands.get(i).scatter(posed.problem, &self.answer, solution);
                changed = true;
            }
        }
        changed
    }

    /// Chooses, and takes the residual of what was chosen.
    pub fn apply(
        &mut self,
        posed: &Posed<'_>,
        tolerance: &Tolerance,
        (solution, report): (&mut Solution, &mut Report),
    ) {
        if !self.choose(posed, tolerance, solution) || self.prepared.prepare(posed.problem).is_err()
        {
            return;
        }
        report.error = self.prepared.error(posed.problem, solution);
        if report.error.accepted(tolerance) {
            report.status = Status::Converged;
        }
    }

    /// Where a block touches.
    fn touch<'a>(&self, posed: &Posed<'a>, k: u32) -> Option<&'a Touch> {
        posed.assembly.touches.get(self.touches[posed.block(k)] as usize)
    }

    /// Whether there is something to choose in island `i`.
    fn classify(&mut self, i: usize, posed: &Posed<'_>, noise: f64, solution: &Solution) -> Motion {
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
            if norm(&touch.before[1..law.rows()]) <= noise {
                slips |= slide > noise;
                continue;
            }
            slid = true;
            if slide <= noise {
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
            _ if fastest <= 10.0 * noise => Motion::Slow,
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
        (noise, slips): (f64, bool),
        tolerance: &Tolerance,
    ) -> bool {
        self.set_rest();
        self.answer.clone_from(&self.found);
        if !slips {
            // The reactions as they are may hold it.
            let Choice { part, prepared, answer, .. } = self;
            answer.v.clone_from(&part.k);
            part.J.add_transposed(&answer.r, &mut answer.v);
            prepared.factor().solve(&mut answer.v);
            if self.rests() {
                self.answer.v.fill(0.0);
                return self.found.v.iter().any(|v| *v != 0.0);
            }
            self.answer.v.clone_from(&self.found.v);
        }
        // 1. Without what corrects gaps.
        self.pose();
        self.close_gaps(i, posed, noise);
        if self.solve(slips) && self.rests() {
            self.answer.v.fill(0.0);
            if self.prepared.error(&self.part, &self.answer).accepted(tolerance) {
                self.compare(i, posed, slips, tolerance);
                return true;
            }
        }
        // 2. With it.
        self.convex.w.clone_from(&self.part.w);
        self.answer.clone_from(&self.found);
        if !self.solve(slips) || !self.sticks() {
            return false;
        }
        if !self.prepared.error(&self.part, &self.answer).accepted(tolerance) {
            return false;
        }
        self.compare(i, posed, slips, tolerance);
        true
    }

    /// What counts as rest: [`REST`] of the velocity without reactions, body by body, in energies.
    fn set_rest(&mut self) {
        let Choice { part, prepared, free, rest, largest, .. } = self;
        free.clone_from(&part.k);
        prepared.factor().solve(free);
        let root = |i: usize| part.H.get(i, i).sqrt();
        let cliques = &prepared.factor().cliques;
        largest.clear();
        largest.resize(cliques.len(), 0.0f64);
        for (i, v) in free.iter().enumerate() {
            let of = &mut largest[cliques.of[i] as usize];
            *of = of.max(root(i) * v.abs());
        }
        let most = largest.iter().copied().fold(0.0, f64::max);
        rest.clear();
        rest.extend((0..free.len()).map(|i| {
            let own = largest[cliques.of[i] as usize];
            REST * if own > 0.0 { own } else { most } / root(i)
        }));
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

    /// Takes what corrects small gaps out of the convex problem; rows that yield to a load keep it.
    fn close_gaps(&mut self, i: usize, posed: &Posed<'_>, noise: f64) {
        for (part, &k) in self.islands.get(i).blocks.iter().enumerate() {
            let Some(touch) = self.touch(posed, k) else { continue };
            let row = self.part.J.row_starts[part];
            let small = self.part.w[row] == touch.open && touch.open.abs() <= noise;
            if small && self.part.E[row] == 0.0 {
                self.convex.w[row] = 0.0;
            }
        }
    }

    /// Solves the convex problem from `answer`, into it, as far as the work allows.
    fn solve(&mut self, slips: bool) -> bool {
        let (newton, work) = (&mut self.newton[usize::from(slips)], WORK[usize::from(slips)]);
        let newton = newton.get_or_insert_with(|| {
            let tolerance =
                Tolerance { relative: RESIDUAL, velocity: f64::INFINITY, bound: Some(f64::MAX) };
            let stop =
                StoppingCriteria { tolerance, work: Some(work), ..StoppingCriteria::default() };
            Box::new(Newton::new(newton::Settings { stop, residual: Some(RESIDUAL) }))
        });
        // What it is worth the tests of rest and of sticking say, which are strict.
        newton.solve(&self.convex, &mut self.answer).is_ok()
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
