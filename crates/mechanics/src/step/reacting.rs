//! Sensors, events and controllers between two steps, and the energy that events bring or take.

use super::{Stepper, Verdict, ledger};
use crate::assemble::{StepInput, element};
use crate::control::{self, Happened, Past, Sense};
use crate::geometry::RayCaster;
use crate::scene::{BodyId, ControlLaw, Formula, Quantity, Scene, Spawn, State};

/// What rays need, if a sensor looks along one.
pub(super) fn ray_caster(scene: &Scene) -> Option<RayCaster> {
    let mut looks = false;
    let mut look =
        |formula: &Formula| formula.quantities(&mut |q| looks |= matches!(q, Quantity::Ray(_)));
    scene.sensors.iter().for_each(|s| look(&s.formula));
    scene.events.iter().for_each(|e| look(&e.when));
    for controller in &scene.controllers {
        match &controller.law {
            ControlLaw::Formula(f) => look(f),
            ControlLaw::Pid(pid) => [&pid.measured, &pid.target].into_iter().for_each(&mut look),
        }
    }
    looks.then(|| RayCaster::new(&scene.colliders))
}

impl Stepper {
    /// Lets sensors, events and controllers look for the first time, at the beginning; later calls
    /// do nothing.
    pub fn begin(&mut self, scene: &Scene, state: &mut State) {
        if !state.orders.begun && scene.reacts() {
            self.look(scene, state, false);
        }
    }

    /// The value of a quantity now, as a sensor would give it; the last step must be the one that
    /// led to `state`.
    pub fn measure(&self, scene: &Scene, state: &State, quantity: &Quantity) -> f64 {
        let mut after = StepInput::default();
        after.set(scene, &self.layout, state, self.settings.h);
        self.measure_with(scene, state, &after, quantity)
    }

    /// As [`Stepper::measure`], with the poses and velocities of `state` at hand.
    pub fn measure_with(
        &self,
        scene: &Scene,
        state: &State,
        after: &StepInput,
        quantity: &Quantity,
    ) -> f64 {
        let rays = matches!(quantity, Quantity::Ray(_)).then(|| RayCaster::new(&scene.colliders));
        let sense = Sense {
            layout: &self.layout,
            now: after,
            past: self.past(state.steps > 0),
            rays: rays.as_ref(),
        };
        sense.quantity(scene, state, quantity)
    }

    /// Puts the next body of a template into the scene, now; false if it has none left. The energy
    /// that it brings is not in the ledger.
    pub fn spawn(&self, scene: &Scene, state: &mut State, how: &Spawn) -> Option<BodyId> {
        control::spawn(scene, &self.layout, state, how)
    }

    /// Takes a rigid body out of the scene, with its joints, now. The energy that it takes is not
    /// in the ledger.
    pub fn remove(&self, scene: &Scene, state: &mut State, body: BodyId) {
        control::remove(scene, &self.layout, state, body);
    }

    fn past(&self, stepped: bool) -> Option<Past<'_>> {
        let solved = self.solution.r.len() == self.assembly.problem.rows();
        let (kick, middle) = (self.now.kick(), self.now.kick_middle());
        (stepped && solved).then_some(Past {
            assembly: &self.assembly,
            solution: &self.solution,
            kick,
            middle,
        })
    }

    fn look(&mut self, scene: &Scene, state: &mut State, stepped: bool) {
        let mut after = std::mem::take(&mut self.after.0);
        after.set(scene, &self.layout, state, self.settings.h);
        let mut sense = Sense {
            layout: &self.layout,
            now: &after,
            past: self.past(stepped),
            rays: self.rays.as_ref(),
        };
        let happened = control::react(scene, &mut sense, state);
        self.happened = happened;
        self.after.0 = after;
    }

    /// Kinetic and potential energy of a state, J.
    pub(super) fn stored(&mut self, scene: &Scene, state: &State) -> (f64, f64) {
        let (after, elements) = &mut self.after;
        after.set(scene, &self.layout, state, self.settings.h);
        element::evaluate(scene, after, elements);
        let (gravity, springs) = ledger::potential(scene, after, elements);
        let mut potential = gravity + springs;
        let kinetic = ledger::kinetic(scene, &self.layout, &self.assembly.meshes, &state.v)
            + ledger::rotors(after, elements);
        for (mesh, &first) in self.assembly.meshes.iter_mut().zip(&self.layout.node_starts) {
            mesh.evaluate(&after.nodes);
            potential +=
                ledger::gravity_potential(scene, &mesh.masses, &after.nodes[first as usize..])
                    + mesh.energy();
        }
        (kinetic, potential)
    }

    /// Looks after a step; what events changed of the stored energy is theirs.
    pub(super) fn react(&mut self, scene: &Scene, state: &mut State, verdict: &mut Verdict) {
        self.look(scene, state, true);
        let Happened { changed: true, .. } = self.happened else { return };
        let (kinetic, potential) = self.stored(scene, state);
        let energy = &mut verdict.energy;
        let (more_kinetic, more_potential) =
            (kinetic - energy.kinetic, potential - energy.potential);
        energy.events += more_kinetic + more_potential;
        energy.potential_change += more_potential;
        // The differences are rounded as the sums are.
        energy.throughput += [kinetic, energy.kinetic, potential, energy.potential]
            .map(f64::abs)
            .iter()
            .sum::<f64>();
        (energy.kinetic, energy.potential) = (kinetic, potential);
    }
}
