//! What can be read of the last step: problem, contacts, solution, methods.

use super::{SolverChoice, Stepper};
use crate::assemble::{Assembly, StepInput};
use crate::control::Happened;
use crate::geometry::Contact;
use crate::problem::{Problem, Solution};
use crate::scene::{Layout, Scene};
use crate::solve::schur::Schur;
use crate::solve::{Method, Sample};
use std::borrow::Cow;

impl Stepper {
    /// The problem of the last step, with the names of its blocks.
    pub fn problem(&mut self, scene: &Scene) -> &Problem {
        self.assembly.names(scene);
        &self.assembly.problem
    }

    /// What was assembled for the last step.
    pub fn assembly(&self) -> &Assembly {
        &self.assembly
    }

    /// The contacts of the last step, open ones included.
    pub fn contacts(&self) -> &[Contact] {
        &self.contacts
    }

    /// The solution of the last step.
    pub fn solution(&self) -> &Solution {
        &self.solution
    }

    /// The problem that the method of the last step was given, with its solution: that of the step,
    /// in the coordinates of trees where there are some; and where there are meshes, that of the
    /// nodes that rows touch. [`Stepper::posed_blocks`] says whose its blocks are.
    pub fn posed(&self) -> (&Problem, Cow<'_, Solution>) {
        let (problem, solution) = match self.forest.active() {
            true => (self.forest.problem(), self.forest.solution()),
            false => (&self.assembly.problem, &self.solution),
        };
        if self.reduced {
            (self.schur.smaller(), Cow::Owned(self.schur.guess(solution)))
        } else {
            (problem, Cow::Borrowed(solution))
        }
    }

    /// The blocks of [`Stepper::posed`] among those of the assembly: joints that hold trees
    /// together have none.
    pub fn posed_blocks(&self) -> Cow<'_, [u32]> {
        match self.forest.active() {
            true => Cow::Borrowed(self.forest.blocks()),
            false => (0..self.assembly.sources.len() as u32).collect::<Vec<u32>>().into(),
        }
    }

    /// Whether the last step was taken in the coordinates of trees.
    pub fn in_tree_coordinates(&self) -> bool {
        self.forest.active()
    }

    /// How the solver came to the solution of the last step; empty unless
    /// [`crate::solve::StoppingCriteria::history`] is set.
    pub fn history(&self) -> &[Sample] {
        &self.history
    }

    /// Where the last solve began: the reactions of the step before it.
    pub fn guess(&self) -> &Solution {
        &self.guess
    }

    /// Poses and velocities at the beginning of the last step.
    pub fn present(&self) -> &StepInput {
        &self.now
    }

    /// How often each method had the last word on an island (empty unless the solver is `auto`);
    /// none: the guess was good enough.
    pub fn methods(&self) -> &[(Option<Method>, u64)] {
        match &self.engine {
            SolverChoice::Auto(auto) => auto.used(),
            SolverChoice::One(..) => &[],
        }
    }

    /// The elimination of untouched nodes: how often it analysed and factored, and how large its
    /// factors are.
    pub fn schur(&self) -> &Schur {
        &self.schur
    }

    /// The events that happened after the last step.
    pub fn happened(&self) -> &Happened {
        &self.happened
    }

    /// Who owns which range of q and v.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }
}
