//! Moves bodies out of deep overlaps, without giving them a velocity.
//!
//! ```text
//!   least ½ pᵀH p   with   J_n p ≥ s − u_n    where a contact or stop is deep inside, s the speed of its correction
//!                          J_n p ≥ −gap⁺/h    at all others, gap⁺ the gap at the end of the step
//!                          J p = 0            in joints
//!   x⁺ ← x⁺ + h p
//! ```
//!
//! p is a velocity that acts on positions for one step and is then forgotten. The same H and rows
//! as in the problem of the step, normals and joints alone; dry friction, bounded motors and
//! compliant contacts do not resist. What changes is potential energy: the ledger has it in the
//! term of the scheme.

use crate::assemble::{Assembly, StepInput};
use crate::problem::{Law, PreparedProblem, Problem, Solution, Tolerance};
use crate::scene::{BodyId, Layout, Scene, State};
use crate::solve::schur::Schur;
use crate::solve::{Solver, Status, StoppingCriteria, auto};
use glam::DVec3;

/// How well overlaps are resolved: the next step sees what is left.
const OVERLAP_TOLERANCE: Tolerance =
    Tolerance { relative: 1e-6, velocity: 1e-4, bound: Some(f64::MAX), velocity_relative: 0.0 };

/// How much normals yield where they contradict each other, times what their bodies do.
const CONTRADICTION_COMPLIANCE: f64 = 1e-2;

/// Work space.
#[derive(Default)]
pub struct Separator {
    problem: Problem,
    solution: Solution,
    schur: Schur,
    solver: Option<Box<auto::Auto>>,
}

impl Separator {
    /// Moves the positions of `state`, at the end of the step, out of the deep overlaps that it
    /// began with. True if there were any.
    pub fn separate(
        &mut self,
        scene: &Scene,
        layout: &Layout,
        now: &StepInput,
        (assembly, solved): (&Assembly, &Solution),
        state: &mut State,
    ) -> bool {
        let fastest = assembly.touches.iter().fold(0.0f64, |most, t| most.max(t.depenetration));
        if fastest == 0.0 {
            return false;
        }
        self.pose(assembly, solved, now.h);
        if !self.solve(!assembly.meshes.is_empty()) {
            // What has no way out is pushed from all sides alike.
            self.yield_to_all();
            self.solve(!assembly.meshes.is_empty());
            self.limit(fastest);
        }
        let p = &self.solution.v;
        for i in 0..scene.bodies.len() {
            let id = BodyId(i as u32);
            if let Some(at) = layout.velocity(id) {
                let (linear, angular) =
                    (DVec3::from_slice(&p[at..]), DVec3::from_slice(&p[at + 3..]));
                state.set_pose(id, &state.pose(id).advanced(now.h * linear, now.h * angular));
            }
        }
        for (node, at) in layout.nodes.iter().enumerate() {
            if let Some(at) = at.map(|at| at as usize) {
                state.set_node(
                    layout,
                    node,
                    state.node(layout, node) + now.h * DVec3::from_slice(&p[at..]),
                );
            }
        }
        true
    }

    /// The problem for p.
    fn pose(&mut self, assembly: &Assembly, solved: &Solution, h: f64) {
        let (from, to) = (&assembly.problem, &mut self.problem);
        to.H.clone_from(&from.H);
        to.J.clear(from.n());
        to.k.clear();
        to.k.resize(from.n(), 0.0);
        to.E.clear();
        to.w.clear();
        to.laws.clear();
        let mut touches = assembly.touches.iter().peekable();
        for (k, (block, law)) in from.J.blocks().zip(&from.laws).enumerate() {
            let touch = touches.next_if(|t| t.block as usize == k);
            if let Some(touch) = touch {
                let normal = block.row(0);
                let speed: f64 =
                    block.columns.iter().zip(normal).map(|(&c, x)| x * solved.v[c as usize]).sum();
                let speed = speed + touch.imposed;
                let w = if touch.depenetration > 0.0 {
                    speed.max(0.0) - touch.depenetration
                } else {
                    (touch.gap / h + speed).max(0.0)
                };
                to.J.push(1, block.columns, normal);
                to.laws.push(Law::Unilateral);
                to.w.push(w);
                to.E.push(0.0);
            } else if *law == Law::Equality {
                to.J.push(1, block.columns, block.row(0));
                to.laws.push(Law::Equality);
                to.w.push(0.0);
                to.E.push(from.E[block.range().start]);
            }
        }
        self.solution.reset(to.n(), to.rows());
    }

    /// True if p does what was asked for.
    fn solve(&mut self, meshes: bool) -> bool {
        let solver = self.solver.get_or_insert_with(|| {
            let stop =
                StoppingCriteria { tolerance: OVERLAP_TOLERANCE, ..StoppingCriteria::default() };
            Box::new(auto::Auto::new(auto::Settings { stop, ..auto::Settings::default() }))
        });
        let report =
            if meshes && self.schur.reduce(&self.problem).is_ok_and(|smaller| smaller.is_some()) {
                let mut small = self.schur.guess(&self.solution);
                let report = solver.solve(self.schur.smaller(), &mut small);
                self.schur.expand(&small, &mut self.solution);
                report
            } else {
                solver.solve(&self.problem, &mut self.solution)
            };
        report.is_ok_and(|r| r.status == Status::Converged)
    }

    /// Makes every normal yield, so that a solution exists.
    fn yield_to_all(&mut self) {
        let Ok(prepared) = PreparedProblem::of(&self.problem) else { return };
        for ((e, law), a) in self.problem.E.iter_mut().zip(&self.problem.laws).zip(prepared.a()) {
            if *law == Law::Unilateral {
                *e = a * CONTRADICTION_COMPLIANCE;
            }
        }
        self.solution.reset(self.problem.n(), self.problem.rows());
    }

    /// What contradicts itself (a body between two that cannot move) is moved no faster than the
    /// correction that was asked for.
    fn limit(&mut self, fastest: f64) {
        let mut u = vec![0.0; self.problem.rows()];
        self.problem.J.mul(&self.solution.v, &mut u);
        let speed = u.iter().chain(&self.solution.v).fold(0.0f64, |most, x| most.max(x.abs()));
        let share = if speed.is_finite() { (fastest / speed).min(1.0) } else { 0.0 };
        self.solution.v.iter_mut().for_each(|v| *v = if share > 0.0 { *v * share } else { 0.0 });
    }
}
