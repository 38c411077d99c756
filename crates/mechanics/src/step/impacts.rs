//! Impacts one after the other within a step.
//!
//! ```text
//!   gap(t) = gap + u t + ½ a t²,   u(t) = u + a t        every rigid contact and stop; a the relative acceleration so far
//! ```
//!
//! 1. The next impact is the contact with restitution that closes first, faster than the
//!    restitution threshold; of those that close at the same time the fastest.
//! 2. It answers with r and the jump `Δ = A Jᵀ r`, A the inverse of H among the motions that joints
//!    allow: `u⁺ = u + J Δ`, `0 ≤ u_n⁺ + e u_n ⊥ r_n ≥ 0`, friction by its law. *Sequence*: this
//!    contact alone. *Simultaneous*: with it all that touch at that time (`u_n⁺ ≥ 0`, or `≥ −u_n`
//!    for what was opening), which is the law of Moreau (Moreau1988).
//! 3. `½ r·(u + u⁺)` is the change of the kinetic energy. With friction it may be positive for
//!    Newton's e; then e is lowered until it is zero. For e = 1 without friction it is zero at
//!    once.
//! 4. On with 1 until nothing closes within the step. The step's own problem follows, with
//!    `k + Σ Jᵀr`, and positions `x⁺ = x + h v⁺ − Σ τ Δ`: every body flew with its old velocity
//!    until τ.
//!
//! Contacts without restitution, and what is left after [`MOST_IMPACTS_PER_ROW`], are left to the
//! problem of the step: they lose energy and do not gain any. Cost: one product with J per impact,
//! and a factorization if there are joints.

use crate::assemble::{Assembly, Impacts, Scheme, Source, StepInput, Touch};
use crate::math::cliques::CliqueFactor;
use crate::math::dot;
use crate::problem::{Law, Problem, Solution};
use crate::scene::{BodyId, Layout, Scene, State};
use crate::solve::local::solve_block;
use crate::solve::{Solver, StoppingCriteria, auto, direct};
use glam::DVec3;

/// Impacts of a step at most, for each unilateral row: a ball between two that are 10⁴ times as
/// heavy hits them 300 times.
const MOST_IMPACTS_PER_ROW: usize = 500;
/// Contacts within this part of what closes at the restitution threshold in a step touch.
const TOUCHING_STEP_FRACTION: f64 = 1e-3;
/// An impulse below this part of the largest impact's is rounding of the solver, not an impact of
/// its own: at most this part of an impact's energy stays away.
const CAUSED_IMPULSE_RATIO: f64 = 1e-6;

/// The impacts of one step, and work space.
#[derive(Default)]
pub struct Sequence {
    /// True if there were any.
    pub any: bool,
    /// Change of the velocities (n), m/s, rad/s.
    jump: Vec<f64>,
    /// Σ τ Δ: by how much positions are behind `x + h v⁺` (n), m, rad.
    late: Vec<f64>,
    /// Σ Jᵀ r (n), N s, N m s.
    impulse: Vec<f64>,
    /// Energy that normals and tangents took, J.
    taken: [f64; 2],
    /// Σ r · (velocity of imposed motions), J.
    carried: f64,
    flights: Vec<Flight>,
    factor: CliqueFactor,
    /// H and the joints.
    held: Problem,
    answer: Solution,
    columns: [Vec<f64>; 3],
    u: Vec<f64>,
    delta: Vec<f64>,
    group: Problem,
}

/// A rigid contact or stop between impacts.
#[derive(Clone, Copy)]
struct Flight {
    gap: f64,
    /// Normal first, m/s.
    velocity: [f64; 3],
    acceleration: [f64; 3],
}

impl Flight {
    /// After `dt`.
    fn advance(&mut self, dt: f64) {
        self.gap += dt * (self.velocity[0] + 0.5 * dt * self.acceleration[0]);
        self.velocity.iter_mut().zip(self.acceleration).for_each(|(v, a)| *v += dt * a);
    }

    /// When the gap closes, s from now, and how fast, if faster than `threshold` now and then.
    fn closes(&self, threshold: f64) -> Option<(f64, f64)> {
        let (u, a) = (self.velocity[0], self.acceleration[0]);
        if !(u < -threshold) {
            return None;
        }
        let root = u * u - 2.0 * a * self.gap;
        let time = match self.gap {
            gap if gap <= 0.0 => 0.0,
            _ if root < 0.0 => return None,
            gap => 2.0 * gap / (root.sqrt() - u),
        };
        let speed = u + a * time;
        (speed < -threshold).then_some((time, speed))
    }
}

impl Sequence {
    /// Runs through the impacts of a step and writes what is left of it into the problem. True if
    /// there were any.
    pub fn run(
        &mut self,
        assembly: &mut Assembly,
        now: &StepInput,
        scheme: &Scheme,
        stop: &StoppingCriteria,
    ) -> bool {
        self.begin(assembly, now);
        let (mut time, most) = (0.0, MOST_IMPACTS_PER_ROW * (assembly.touches.len() + 1));
        for _ in 0..most {
            let Some((next, dt)) = self.next(assembly, scheme.restitution_threshold, now.h - time)
            else {
                break;
            };
            time += dt;
            self.flights.iter_mut().for_each(|flight| flight.advance(dt));
            let hit = match scheme.impacts {
                Impacts::Sequence => self.alone(assembly, next),
                Impacts::Simultaneous => {
                    self.together(assembly, (next, time), (scheme, now.h), stop)
                }
            };
            if !hit {
                break;
            }
            self.any = true;
            for (i, delta) in self.delta.iter().enumerate() {
                self.jump[i] += delta;
                self.late[i] += time * delta;
            }
            assembly.problem.J.mul(&self.delta, &mut self.u);
            for (flight, touch) in self.flights.iter_mut().zip(&assembly.touches) {
                let rows = assembly.problem.laws[touch.block as usize].rows();
                flight
                    .velocity
                    .iter_mut()
                    .zip(&self.u[touch.row as usize..])
                    .take(rows)
                    .for_each(|(v, u)| *v += u);
            }
        }
        self.leave(assembly, now.h);
        self.any
    }

    /// Forgets the last step.
    pub fn clear(&mut self) {
        self.any = false;
        (self.taken, self.carried) = ([0.0; 2], 0.0);
    }

    fn begin(&mut self, assembly: &Assembly, now: &StepInput) {
        self.clear();
        let problem = &assembly.problem;
        for list in [&mut self.jump, &mut self.late, &mut self.impulse, &mut self.delta] {
            list.clear();
            list.resize(problem.n(), 0.0);
        }
        self.u.clear();
        self.u.resize(problem.rows(), 0.0);
        let (kick, lag) = (now.kick(), now.lag.unwrap_or(0.0));
        self.flights.clear();
        self.flights.extend(assembly.touches.iter().map(|touch| {
            let acceleration: [f64; 3] =
                std::array::from_fn(|i| (touch.expected[i] - touch.before[i]) / kick);
            let velocity = std::array::from_fn(|i| touch.before[i] + lag * acceleration[i]);
            Flight { gap: touch.gap, velocity, acceleration }
        }));
        // The joints, for the motions that they allow.
        let held = &mut self.held;
        held.J.clear(problem.n());
        held.laws.clear();
        held.w.clear();
        held.E.clear();
        for (block, law) in problem.J.blocks().zip(&problem.laws) {
            if *law == Law::Equality && problem.E[block.range().start] == 0.0 {
                held.J.push(1, block.columns, block.row(0));
                held.laws.push(Law::Equality);
                held.w.push(0.0);
                held.E.push(0.0);
            }
        }
        held.H.clone_from(&problem.H);
        if held.laws.is_empty() && self.factor.factor(&problem.H).is_err() {
            self.flights.clear();
        }
    }

    /// The next impact within `left`, and when, s from now.
    fn next(&self, assembly: &Assembly, threshold: f64, left: f64) -> Option<(usize, f64)> {
        let mut best: Option<(usize, f64, f64)> = None;
        for (i, (flight, touch)) in self.flights.iter().zip(&assembly.touches).enumerate() {
            if touch.restitution == 0.0 {
                continue;
            }
            let Some((time, speed)) = flight.closes(threshold).filter(|(time, _)| *time <= left)
            else {
                continue;
            };
            if best.is_none_or(|(_, t, s)| time < t || (time == t && speed < s)) {
                best = Some((i, time, speed));
            }
        }
        best.map(|(i, time, _)| (i, time))
    }

    /// One contact alone: `delta`, `impulse` and what it took. False if nothing answers.
    fn alone(&mut self, assembly: &Assembly, next: usize) -> bool {
        let (problem, touch) = (&assembly.problem, &assembly.touches[next]);
        let block = problem.J.block(touch.block as usize);
        let law = &problem.laws[touch.block as usize];
        let d = law.rows();
        let mut w = [0.0; 9];
        for i in 0..d {
            let mut unit = [0.0; 3];
            unit[i] = 1.0;
            let mut column = std::mem::take(&mut self.columns[i]);
            column.clear();
            column.resize(problem.n(), 0.0);
            block.add_transposed(&unit[..d], &mut column);
            if !self.response(&mut column) {
                return false;
            }
            let mut image = [0.0; 3];
            block.mul(&column, &mut image[..d]);
            (0..d).for_each(|j| w[j * d + i] = image[j]);
            self.columns[i] = column;
        }
        let before = self.flights[next].velocity;
        let (r, after) = restitute(law, (&w[..d * d], d), &before, touch.restitution);
        if r[0] == 0.0 {
            return false;
        }
        self.delta.fill(0.0);
        for (column, r) in self.columns.iter().zip(&r[..d]) {
            self.delta.iter_mut().zip(column).for_each(|(delta, x)| *delta += x * r);
        }
        block.add_transposed(&r[..d], &mut self.impulse);
        self.book(assembly, next, &r, (&before, &after));
        true
    }

    /// The energy of an impact: what it took, and what imposed motions gave.
    fn book(
        &mut self,
        assembly: &Assembly,
        next: usize,
        r: &[f64; 3],
        (before, after): (&[f64; 3], &[f64; 3]),
    ) {
        let touch = &assembly.touches[next];
        let d = assembly.problem.laws[touch.block as usize].rows();
        for i in 0..d {
            self.taken[usize::from(i > 0)] -= 0.5 * r[i] * (before[i] + after[i]);
            self.carried += r[i] * assembly.imposed[touch.row as usize + i];
        }
    }

    /// `x ← A x`: the answer of the bodies to impulses. False if joints cannot be solved.
    fn response(&mut self, x: &mut [f64]) -> bool {
        if self.held.laws.is_empty() {
            self.factor.solve(x);
            return true;
        }
        self.held.k.clear();
        self.held.k.extend_from_slice(x);
        self.answer.reset(x.len(), self.held.rows());
        let mut direct =
            direct::Direct::new(direct::Settings { stop: StoppingCriteria::default() });
        let solved = direct.solve(&self.held, &mut self.answer).is_ok();
        x.copy_from_slice(&self.answer.v);
        solved
    }

    /// All that touch at the time of the next impact. False if that cannot be solved.
    fn together(
        &mut self,
        assembly: &Assembly,
        (next, _): (usize, f64),
        (scheme, h): (&Scheme, f64),
        stop: &StoppingCriteria,
    ) -> bool {
        let threshold = scheme.restitution_threshold;
        let meets = |flight: &Flight| {
            flight.gap <= TOUCHING_STEP_FRACTION * threshold * h && flight.velocity[0] <= threshold
        };
        let members: Vec<usize> =
            (0..self.flights.len()).filter(|&i| i == next || meets(&self.flights[i])).collect();
        let mut share = 1.0;
        // Newton's law may gain energy: then with less of it, down to where it does not.
        let (mut low, mut high) = (0.0, 1.0);
        for round in 0..60 {
            if !self.solve_group(assembly, &members, (threshold, share), stop) {
                return false;
            }
            let gained = self.gain(assembly, &members);
            if gained <= 0.0 && (round == 0 || high - low < 1e-12) {
                break;
            }
            if gained <= 0.0 {
                low = share
            } else {
                high = share
            }
            share = if high - low < 1e-12 { low } else { 0.5 * (low + high) };
        }
        self.delta.clone_from(&self.answer.v);
        self.delta.truncate(assembly.problem.n());
        let starts = self.group.J.row_starts.clone();
        for (k, &i) in members.iter().enumerate() {
            let k = k + self.held.laws.len();
            let mut r = [0.0; 3];
            let d = starts[k + 1] - starts[k];
            r[..d].copy_from_slice(&self.answer.r[starts[k]..starts[k + 1]]);
            let block = assembly.problem.J.block(assembly.touches[i].block as usize);
            block.add_transposed(&r[..d], &mut self.impulse);
            let before = self.flights[i].velocity;
            let mut after = before;
            let mut image = [0.0; 3];
            block.mul(&self.delta, &mut image[..d]);
            after.iter_mut().zip(image).for_each(|(a, x)| *a += x);
            self.book(assembly, i, &r, (&before, &after));
        }
        self.delta.iter().any(|x| *x != 0.0)
    }

    /// `H Δ = Jᵀ r` with the rows of `members`, restitution times `share`: into `answer`.
    fn solve_group(
        &mut self,
        assembly: &Assembly,
        members: &[usize],
        (threshold, share): (f64, f64),
        stop: &StoppingCriteria,
    ) -> bool {
        let (problem, group) = (&assembly.problem, &mut self.group);
        group.clone_from(&self.held);
        group.k.clear();
        group.k.resize(problem.n(), 0.0);
        for &i in members {
            let (touch, flight) = (&assembly.touches[i], &self.flights[i]);
            let block = problem.J.block(touch.block as usize);
            let law = problem.laws[touch.block as usize];
            let u = flight.velocity;
            // Slow ones do not rebound; what opens may close as fast as it opened.
            let normal = if u[0] < -threshold {
                (1.0 + share * touch.restitution) * u[0]
            } else {
                u[0] + u[0].max(0.0)
            };
            let values: Vec<f64> =
                (0..law.rows()).flat_map(|row| block.row(row).to_vec()).collect();
            group.J.push(law.rows(), block.columns, &values);
            group.w.extend_from_slice(&[normal, u[1], u[2]][..law.rows()]);
            group.E.extend(std::iter::repeat_n(0.0, law.rows()));
            group.laws.push(law);
        }
        self.answer.reset(group.n(), group.rows());
        let mut solver =
            auto::Auto::new(auto::Settings { stop: *stop, ..auto::Settings::default() });
        solver
            .solve(group, &mut self.answer)
            .is_ok_and(|report| report.error.accepted(&stop.tolerance))
    }

    /// Kinetic energy that the answer of a group gains, beyond rounding, J.
    fn gain(&self, assembly: &Assembly, members: &[usize]) -> f64 {
        let (mut gain, mut size) = (0.0, 0.0);
        for (k, &i) in members.iter().enumerate() {
            let rows = self.group.J.row_starts[k + self.held.laws.len()]..;
            let block = assembly.problem.J.block(assembly.touches[i].block as usize);
            let mut image = [0.0; 3];
            block.mul(&self.answer.v, &mut image[..block.range().len()]);
            for ((r, image), u) in self.answer.r[rows]
                .iter()
                .zip(image)
                .zip(self.flights[i].velocity)
                .take(block.range().len())
            {
                gain += r * (u + 0.5 * image);
                size += (r * u).abs();
            }
        }
        if gain <= 1e-10 * size { 0.0 } else { gain }
    }

    /// The problem of the step, after its impacts.
    fn leave(&mut self, assembly: &mut Assembly, h: f64) {
        let Assembly { problem, touches, .. } = assembly;
        problem.k.iter_mut().zip(&self.impulse).for_each(|(k, p)| *k += p);
        for touch in touches {
            let block = problem.J.block(touch.block as usize);
            let normal = |x: &[f64]| {
                block.columns.iter().zip(block.row(0)).map(|(&c, j)| j * x[c as usize]).sum::<f64>()
            };
            let (jump, late) = (normal(&self.jump), normal(&self.late));
            if touch.restitution > 0.0 || jump != 0.0 {
                touch.impact = None;
                touch.gap -= late;
                // What flies off need not fly faster than it does: a push would give it energy.
                problem.w[touch.row as usize] =
                    touch.imposed + (touch.open - late / h).max(touch.open.min(0.0));
            }
        }
    }

    /// The velocities before the step, as if the jumps had been before it: what accelerations are
    /// reckoned from.
    pub fn jumped(&self, layout: &Layout, now: &mut StepInput) {
        let predicted = !now.predicted.is_empty();
        for (i, at) in layout.velocities.iter().enumerate() {
            let Some(at) = at.map(|at| at as usize) else { continue };
            let (linear, angular) =
                (DVec3::from_slice(&self.jump[at..]), DVec3::from_slice(&self.jump[at + 3..]));
            now.twists[i].linear += linear;
            now.twists[i].angular += angular;
            if predicted {
                now.predicted[i].linear += linear;
                now.predicted[i].angular += angular;
            }
        }
        for (node, at) in layout.nodes.iter().enumerate() {
            let Some(at) = at.map(|at| at as usize) else { continue };
            now.node_velocities[node] += DVec3::from_slice(&self.jump[at..]);
            if predicted {
                now.node_predicted[node] += DVec3::from_slice(&self.jump[at..]);
            }
        }
    }

    /// Sets positions at the end of the step back by `Σ τ Δ`.
    pub fn set_back(&self, scene: &Scene, layout: &Layout, state: &mut State) {
        for i in 0..scene.bodies.len() {
            let id = BodyId(i as u32);
            if let Some(at) = layout.velocity(id) {
                let (linear, angular) =
                    (DVec3::from_slice(&self.late[at..]), DVec3::from_slice(&self.late[at + 3..]));
                state.set_pose(id, &state.pose(id).advanced(-linear, -angular));
            }
        }
        for (node, at) in layout.nodes.iter().enumerate() {
            if let Some(at) = at.map(|at| at as usize) {
                state.set_node(
                    layout,
                    node,
                    state.node(layout, node) - DVec3::from_slice(&self.late[at..]),
                );
            }
        }
    }

    /// Books the impacts: their work at the mean velocities is what they took, what imposed motions
    /// gave, and the scheme. The reactions of the step itself came after the jumps.
    pub fn write(
        &self,
        assembly: &Assembly,
        solution: &Solution,
        mean: &[f64],
        ledger: &mut super::Ledger,
    ) {
        let [normal, tangent] = self.taken;
        ledger.impact += normal;
        ledger.friction += tangent;
        ledger.motors -= self.carried;
        ledger.scheme += dot(&self.impulse, mean) + normal + tangent + self.carried;
        for (block, source) in assembly.problem.J.blocks().zip(&assembly.sources) {
            if !matches!(source, Source::Contact(..) | Source::Limit(_)) {
                continue;
            }
            let mut jump = [0.0; 3];
            block.mul(&self.jump, &mut jump[..block.range().len()]);
            for (p, (i, jump)) in block.range().zip(jump).enumerate() {
                let work = 0.5 * solution.r[i] * jump;
                *(if p == 0 { &mut ledger.impact } else { &mut ledger.friction }) -= work;
                ledger.scheme -= work;
            }
        }
    }
}

/// Whether a solution with all impacts at once makes contacts with restitution close that were not
/// about to close within the step: they would lose the energy of their closing.
pub fn lost(assembly: &Assembly, solution: &Solution, threshold: f64) -> bool {
    let impulse = |t: &Touch| solution.r[t.row as usize];
    let answered = assembly.touches.iter().filter(|t| t.answered).map(impulse);
    let largest = answered.fold(0.0, f64::max);
    let caused = |t: &Touch| {
        t.restitution > 0.0 && !t.answered && t.open > TOUCHING_STEP_FRACTION * threshold
    };
    let impulses = || assembly.touches.iter().filter(|t| caused(t)).map(impulse);
    largest > 0.0 && impulses().any(|caused| caused > CAUSED_IMPULSE_RATIO * largest)
}

/// r and u⁺ of one contact with restitution `e`, lowered where it would gain energy.
fn restitute(law: &Law, (w, d): (&[f64], usize), u: &[f64; 3], e: f64) -> ([f64; 3], [f64; 3]) {
    let answer = |e: f64| {
        let q = [(1.0 + e) * u[0], u[1], u[2]];
        let mut r = [0.0; 3];
        solve_block(law, w, &q[..d], &mut r[..d]);
        let after: [f64; 3] = std::array::from_fn(|i| {
            if i < d { u[i] + (0..d).map(|j| w[i * d + j] * r[j]).sum::<f64>() } else { 0.0 }
        });
        let (gain, size) = (0..d).fold((0.0, 0.0), |(g, s), i| {
            (g + 0.5 * r[i] * (u[i] + after[i]), s + (r[i] * u[i]).abs())
        });
        (r, after, gain > 4.0 * f64::EPSILON * size)
    };
    let (r, after, gains) = answer(e);
    if !gains {
        return (r, after);
    }
    let (mut low, mut high) = (0.0, e);
    while high - low > 1e-15 {
        let middle = 0.5 * (low + high);
        if middle == low || middle == high {
            break;
        }
        if answer(middle).2 { high = middle } else { low = middle }
    }
    let (r, after, _) = answer(low);
    (r, after)
}
