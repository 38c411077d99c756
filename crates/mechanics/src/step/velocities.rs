//! Contacts, problem, solution: the first three stages of a step.

use super::choice::Posed;
use super::contacts::MOST_COLLISIONS;
use super::linearise::{Solved, with_work_of};
use super::{SolverChoice, StepError, Stepper, impacts, renumber, sanity};
use crate::assemble::{Assembly, Forest, Impacts};
use crate::math::cliques::CliqueFactor;
use crate::problem::{Problem, Residual, Solution};
use crate::scene::{Scene, State};
use crate::solve::{Limits, Report, Solver, Status, Unsupported};

/// Solves of a problem until the bounds of torsional and rolling friction are those of its normal
/// impulses: the first gives these impulses, the second mostly ends it.
const MOST_SOLVES_FOR_BOUNDS: u32 = 20;

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
            if !solved.resolved
                || !solved.followed
                || !self.outran()
                || same
                || tries == MOST_COLLISIONS
            {
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

    /// Solves the problem; again while torsional or rolling friction has bounds that are not those
    /// of its own normal impulses ([`crate::assemble::rolling`]). What comes out is judged with its
    /// own bounds: that no solve is left makes it no better.
    pub(super) fn solve(&mut self, scene: &Scene) -> Result<Report, Unsupported> {
        let mut report = self.solve_with_bounds(scene)?;
        for solves in 1..=MOST_SOLVES_FOR_BOUNDS {
            if !self.assembly.set_bounds(&self.solution.r) {
                break;
            }
            self.judge_with_bounds(&mut report);
            if report.status == Status::Converged
                || !report.reproducible
                || solves == MOST_SOLVES_FOR_BOUNDS
            {
                break;
            }
            self.choice.restore(&mut self.assembly.problem);
            report = with_work_of(&report, self.solve_with_bounds(scene)?);
        }
        Ok(report)
    }

    /// Takes the residual of the solution under the bounds at hand.
    fn judge_with_bounds(&mut self, report: &mut Report) {
        let active = self.forest.active();
        if active {
            self.forest.set_bounds(&self.assembly);
        }
        let (problem, solution) = match active {
            true => (self.forest.problem(), self.forest.solution()),
            false => (&self.assembly.problem, &self.solution),
        };
        let tolerance = self.settings.stop.tolerance;
        self.choice.update_residual(problem, &tolerance, (solution, report));
        if !report.error.accepted(&tolerance) && report.status == Status::Converged {
            report.status = Status::Stalled;
        }
        if active {
            let conflict = std::mem::take(&mut report.conflict);
            renumber(report, &self.forest, &self.assembly.problem);
            report.conflict = conflict;
        }
    }

    /// Solves the problem with the bounds that it has, in the coordinates of trees where there are
    /// some.
    fn solve_with_bounds(&mut self, scene: &Scene) -> Result<Report, Unsupported> {
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
                (&mut self.solution.v, self.settings.order > 2),
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
        self.choice.begin();
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
        // Of a mesh only the nodes that rows touch concern the method.
        self.reduced = !self.assembly.meshes.is_empty() && self.schur.reduce(problem)?.is_some();
        if !self.reduced {
            return self.solve_or_rest(solution);
        }
        let mut small = self.schur.guess(solution);
        let report = run(
            (&mut self.engine, &self.limits),
            &mut self.factor,
            self.schur.smaller(),
            &mut small,
        )?;
        self.schur.expand(&small, solution);
        Ok(report)
    }

    /// Solves the problem, and chooses among its motions; islands that rest stay at rest.
    fn solve_or_rest(&mut self, solution: &mut Solution) -> Result<Report, Unsupported> {
        let tolerance = self.settings.stop.tolerance;
        let all = self.choice.hold(&posed(&self.forest, &self.assembly), &tolerance, solution);
        self.ease();
        if all {
            let posed = posed(&self.forest, &self.assembly);
            if let Some(report) = self.choice.report(posed.problem, solution) {
                if let SolverChoice::Auto(auto) = &mut self.engine {
                    auto.keep_guess();
                }
                return Ok(report);
            }
        }
        let posed = posed(&self.forest, &self.assembly);
        let mut report =
            run((&mut self.engine, &self.limits), &mut self.factor, posed.problem, solution)?;
        if !report.reproducible {
            // The choice among motions takes time that is over.
            return Ok(report);
        }
        if self.choice.apply(&posed, &tolerance, (solution, &mut report)) {
            self.ease();
            let posed = super::velocities::posed(&self.forest, &self.assembly);
            self.choice.update_residual(posed.problem, &tolerance, (solution, &mut report));
        }
        Ok(report)
    }

    /// Gaps of what rests stay as they are.
    fn ease(&mut self) {
        if self.forest.active() {
            let (problem, whole) = (self.forest.problem_mut(), &mut self.assembly.problem);
            self.choice.ease(problem, Some(whole));
        } else {
            self.choice.ease(&mut self.assembly.problem, None);
        }
    }
}

/// The problem as a method sees it.
fn posed<'a>(forest: &'a Forest, assembly: &'a Assembly) -> Posed<'a> {
    match forest.active() {
        true => Posed { problem: forest.problem(), assembly, blocks: Some(forest.blocks()) },
        false => Posed { problem: &assembly.problem, assembly, blocks: None },
    }
}

/// The method's answer, from the guess in `solution`, within limits.
fn run(
    (engine, limits): (&mut SolverChoice, &Limits),
    factor: &mut CliqueFactor,
    problem: &Problem,
    solution: &mut Solution,
) -> Result<Report, Unsupported> {
    match engine {
        SolverChoice::Auto(auto) => auto.solve_within(problem, solution, limits),
        SolverChoice::One(_, solver) => {
            // Methods keep a guess that is accepted. The last velocities would be for as long as
            // forces give less than the tolerance in a step: nothing would ever move.
            if factor.factor(&problem.H).is_ok() {
                solution.v.clone_from(&problem.k);
                problem.J.add_transposed(&solution.r, &mut solution.v);
                factor.solve(&mut solution.v);
            }
            solver.solve_within(problem, solution, limits)
        }
    }
}
