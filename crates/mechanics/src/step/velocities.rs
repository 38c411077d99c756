//! Contacts, problem, solution: the first three stages of a step.

use super::choice::Posed;
use super::contacts::MOST_COLLISIONS;
use super::linearise::Solved;
use super::{Engine, StepError, Stepper, impacts, renumber, sanity};
use crate::assemble::Impacts;
use crate::problem::{Problem, Residual, Solution};
use crate::scene::{Scene, State};
use crate::solve::{Report, Status, Unsupported};

impl Stepper {
    /// Contacts, problem and solution; again with more contacts while bodies outrun those that were
    /// looked for.
    pub(super) fn find_velocities(
        &mut self,
        scene: &Scene,
        state: &State,
        h: f64,
    ) -> Result<Solved, StepError> {
        self.outrun.clear();
        self.outrun.resize(scene.bodies.len(), 0.0);
        let mut known = Vec::new();
        let mut tries = 0;
        loop {
            tries += 1;
            let begun = self.now_s();
            self.collide(scene, state, h);
            let collided = self.now_s();
            self.stages.collide += collided - begun;
            let found = self.contacts.iter().map(|c| (c.colliders, c.key));
            let same = tries > 1 && found.eq(known.iter().copied());
            self.assemble(scene, state);
            sanity::problem(scene, &self.layout, (&self.now, &self.assembly))?;
            let assembled = self.now_s();
            self.stages.assemble += assembled - collided;
            let mut solved = self.solve_with_impacts(scene)?;
            self.history = std::mem::take(&mut solved.report.history);
            self.stages.solve += self.now_s() - assembled;
            sanity::solution(scene, &self.layout, self.now.time, &self.solution)?;
            if !solved.resolved || !self.outran() || same || tries == MOST_COLLISIONS {
                return Ok(solved);
            }
            known = self.contacts.iter().map(|c| (c.colliders, c.key)).collect();
        }
    }

    /// The solution of the step. Impacts in sequence come before it; simultaneous ones are part of
    /// it, unless they make others close that would then lose their energy.
    fn solve_with_impacts(&mut self, scene: &Scene) -> Result<Solved, Unsupported> {
        self.impacts.clear();
        let (scheme, stop) = (self.settings.scheme, self.settings.stop);
        let threshold = scheme.restitution_threshold;
        if scheme.impacts == Impacts::Sequence
            && self.assembly.touches.iter().any(|t| t.rebounds(threshold))
        {
            self.impacts.run(&mut self.assembly, &self.now, &scheme, &stop);
        }
        let solved = self.solve_nonlinear(scene)?;
        if scheme.impacts == Impacts::Sequence
            || !impacts::lost(&self.assembly, &self.solution, threshold)
        {
            return Ok(solved);
        }
        self.impacts.run(&mut self.assembly, &self.now, &scheme, &stop);
        let again = self.solve_nonlinear(scene)?;
        Ok(Solved { solves: solved.solves + again.solves, ..again })
    }

    /// Solves the problem, in the coordinates of trees where there are some.
    pub(super) fn solve(&mut self, scene: &Scene) -> Result<Report, Unsupported> {
        if !self.forest.active() {
            let mut solution = std::mem::take(&mut self.solution);
            let report = self.solve_posed(&mut solution);
            self.solution = solution;
            return report;
        }
        self.forest.reduce(scene, &self.layout, (&self.assembly, &self.now), &self.solution);
        let mut solution = std::mem::take(self.forest.solution_mut());
        let result = self.solve_posed(&mut solution);
        *self.forest.solution_mut() = solution;
        let mut report = result?;
        self.forest.expand(&self.assembly, &self.now, &mut self.solution);
        if self.now.lag.is_some() {
            // Without rows H is factored already.
            if self.forest.problem().rows() > 0
                && self.factor.factor(&self.forest.problem().H).is_err()
            {
                return Ok(report);
            }
            self.forest.retract(
                scene,
                (&self.assembly, &self.now),
                &mut self.factor,
                &mut self.solution.v,
            );
            self.forest.reactions(&self.assembly, &self.now, &mut self.solution);
        }
        renumber(&mut report, &self.forest, &self.assembly.problem);
        Ok(report)
    }

    /// Solves the problem as it is posed.
    fn solve_posed(&mut self, solution: &mut Solution) -> Result<Report, Unsupported> {
        let problem =
            if self.forest.active() { self.forest.problem() } else { &self.assembly.problem };
        self.reduced = false;
        self.choice.ambiguous = None;
        if problem.rows() == 0 {
            // Nothing holds anything: v = H⁻¹ k.
            solution.v.clone_from(&problem.k);
            if problem.n() > 0 {
                self.factor.factor(&problem.H).map_err(|bad| Unsupported {
                    method: "step",
                    what: format!("H with pivot {:.3e} at unknown {}", bad.pivot, bad.unknown),
                })?;
                self.factor.solve(&mut solution.v);
            }
            return Ok(Report::new(Status::Converged, Residual::default()));
        }
        let mut run = |problem: &Problem, solution: &mut Solution| match &mut self.engine {
            Engine::Auto(auto) => crate::solve::Solver::solve(auto.as_mut(), problem, solution),
            Engine::One(_, solver) => {
                // Methods keep a guess that is accepted. The last velocities would be for as long
                // as forces give less than the tolerance in a step: nothing would ever move.
                if self.factor.factor(&problem.H).is_ok() {
                    solution.v.clone_from(&problem.k);
                    problem.J.add_transposed(&solution.r, &mut solution.v);
                    self.factor.solve(&mut solution.v);
                }
                solver.solve(problem, solution)
            }
        };
        // Of a mesh only the nodes that rows touch concern the method.
        self.reduced = !self.assembly.meshes.is_empty() && self.schur.reduce(problem)?.is_some();
        if !self.reduced {
            let mut report = run(problem, solution)?;
            let blocks = self.forest.active().then(|| self.forest.blocks());
            let posed = Posed { problem, assembly: &self.assembly, blocks };
            self.choice.apply(&posed, &self.settings.stop.tolerance, (solution, &mut report));
            return Ok(report);
        }
        let mut small = self.schur.guess(solution);
        let report = run(self.schur.smaller(), &mut small)?;
        self.schur.expand(&small, solution);
        Ok(report)
    }
}
