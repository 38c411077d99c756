//! Moves positions back to where their joints hold.
//!
//! ```text
//!   least ½ δᵀM δ  with  J δ = −C(q)      then  x ← x + δ,  ρ ← ρ exp(δ)
//! ```
//!
//! One Newton step on the gaps of all rigid joints, in the metric of the mass matrix: the same
//! problem as a step with k = 0, h = 1 and w = C, solved by `direct`, which does not mind redundant
//! joints. Velocities stay.

use crate::assemble::{Assembly, StepInput, inertia, joint, soft};
use crate::problem::Solution;
use crate::scene::{BodyId, Layout, Scene, State};
use crate::solve::{Solver, StoppingCriteria, direct};
use glam::DVec3;

/// Work space of the projection.
#[derive(Default)]
pub struct Projector {
    now: StepInput,
    assembly: Option<Assembly>,
    solution: Solution,
}

impl Projector {
    /// One Newton step; nothing happens if the joints contradict each other.
    pub fn project(&mut self, scene: &Scene, layout: &Layout, state: &mut State) {
        self.now.set(scene, layout, state, 1.0);
        self.now.twists.fill(Default::default());
        let assembly = self.assembly.get_or_insert_with(|| Assembly::new(scene, layout));
        assembly.clear_rows(layout.v);
        assembly.problem.k.clear();
        assembly.problem.k.resize(layout.v, 0.0);
        for list in [&mut assembly.impulses.gravity, &mut assembly.impulses.gyroscopic] {
            list.clear();
            list.resize(layout.v, 0.0);
        }
        inertia::assemble(assembly, scene, layout, &self.now);
        soft::masses(assembly, layout);
        joint::assemble_parts(assembly, scene, layout, &self.now);
        if assembly.problem.rows() == 0 {
            return;
        }
        self.solution.v.clear();
        self.solution.v.resize(layout.v, 0.0);
        self.solution.r.clear();
        self.solution.r.resize(assembly.problem.rows(), 0.0);
        let mut direct =
            direct::Direct::new(direct::Settings { stop: StoppingCriteria::default() });
        if direct.solve(&assembly.problem, &mut self.solution).is_err() {
            return;
        }
        for i in 0..scene.bodies.len() {
            let id = BodyId(i as u32);
            if let Some(at) = layout.velocity(id) {
                let (shift, turn) = (
                    DVec3::from_slice(&self.solution.v[at..]),
                    DVec3::from_slice(&self.solution.v[at + 3..]),
                );
                state.set_pose(id, &self.now.poses[i].advanced(shift, turn));
            }
        }
    }
}
