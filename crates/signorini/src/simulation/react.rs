//! Sensors, events, switches and templates of a simulation.

use super::{Handle, Simulation, SimulationError};
use glam::DVec3;
use signorini_mechanics::scene::{
    BodyId, EventId, ForceId, Formula, JointId, MotorId, SensorId, Spawn, TemplateId, VariableId,
};
use signorini_solve::math::pose::Pose;

/// What is known of an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventView {
    /// How often it happened.
    pub count: u64,
    /// When it happened last, s; none if it never did.
    pub time: Option<f64>,
}

impl Simulation {
    /// What a sensor gave after the last step (before the first: at the beginning), in SI units.
    pub fn sensor(&self, sensor: impl Handle<SensorId>) -> Result<f64, SimulationError> {
        let id = sensor.resolve(&self.scene)?;
        Ok(self.state.orders.sensors[id.index()])
    }

    /// What all sensors gave, in the order of the scene.
    pub fn sensors(&self) -> &[f64] {
        &self.state.orders.sensors
    }

    /// The value of a formula over the present, as a sensor would give it.
    pub fn measure(&self, formula: &Formula) -> f64 {
        formula.value(&mut |q| self.stepper.measure_with(&self.scene, &self.state, &self.now, q))
    }

    /// The present value of a variable.
    pub fn variable(&self, variable: impl Handle<VariableId>) -> Result<f64, SimulationError> {
        let id = variable.resolve(&self.scene)?;
        Ok(self.state.orders.variables[id.index()])
    }

    /// Gives a variable another value; events and controllers see it after the next step.
    pub fn set_variable(
        &mut self,
        variable: impl Handle<VariableId>,
        value: f64,
    ) -> Result<(), SimulationError> {
        let id = variable.resolve(&self.scene)?;
        self.state.orders.variables[id.index()] = value;
        Ok(())
    }

    /// How often an event happened, and when last.
    pub fn event(&self, event: impl Handle<EventId>) -> Result<EventView, SimulationError> {
        let id = event.resolve(&self.scene)?;
        let fired = self.state.orders.events[id.index()];
        Ok(EventView { count: fired.count, time: (fired.count > 0).then_some(fired.time) })
    }

    /// The event that stopped the run, if one did; [`Simulation::run_until`] goes no further then.
    pub fn stopped(&self) -> Option<&str> {
        self.state.orders.stopped.map(|id| self.scene.events[id.index()].name.as_str())
    }

    /// Goes on after an event stopped the run.
    pub fn go_on(&mut self) {
        self.state.orders.stopped = None;
    }

    /// Switches a motor on or off from the next step on.
    pub fn switch_motor(
        &mut self,
        motor: impl Handle<MotorId>,
        on: bool,
    ) -> Result<(), SimulationError> {
        let id = motor.resolve(&self.scene)?;
        self.state.orders.switch_motor(&self.scene, id, on);
        Ok(())
    }

    /// Switches a joint on or off from the next step on, with its stops, friction, rotor, gears and
    /// motors.
    pub fn switch_joint(
        &mut self,
        joint: impl Handle<JointId>,
        on: bool,
    ) -> Result<(), SimulationError> {
        let id = joint.resolve(&self.scene)?;
        self.state.orders.switch_joint(&self.scene, id, on);
        Ok(())
    }

    /// Switches a force on or off from the next step on.
    pub fn switch_force(
        &mut self,
        force: impl Handle<ForceId>,
        on: bool,
    ) -> Result<(), SimulationError> {
        let id = force.resolve(&self.scene)?;
        self.state.orders.switch_force(id, on);
        Ok(())
    }

    /// Switches the contacts of two bodies on or off from the next step on.
    pub fn switch_contact(
        &mut self,
        a: impl Handle<BodyId>,
        b: impl Handle<BodyId>,
        on: bool,
    ) -> Result<(), SimulationError> {
        let (a, b) = (a.resolve(&self.scene)?, b.resolve(&self.scene)?);
        self.state.orders.switch_contact(a, Some(b), on);
        Ok(())
    }

    /// Puts the next body of a template into the scene: its described frame at `pose`, with these
    /// velocities (of the centre of mass, angular; world); none if the template has none left.
    pub fn spawn(
        &mut self,
        template: impl Handle<TemplateId>,
        pose: Pose,
        velocity: DVec3,
        angular: DVec3,
    ) -> Result<Option<BodyId>, SimulationError> {
        let template = template.resolve(&self.scene)?;
        if !(pose.is_finite()
            && pose.orientation.length() > 1e-6
            && velocity.is_finite()
            && angular.is_finite())
        {
            let name = &self.scene.templates[template.index()].name;
            return Err(self.input(
                "template",
                name,
                "a pose or velocity that is not finite".into(),
            ));
        }
        let how = Spawn { template, pose, velocity, angular };
        let body = self.stepper.spawn(&self.scene, &mut self.state, &how);
        self.refresh();
        Ok(body)
    }

    /// Takes a rigid body out of the scene, with its joints.
    pub fn remove(&mut self, body: impl Handle<BodyId>) -> Result<(), SimulationError> {
        let id = self.rigid(body)?;
        self.stepper.remove(&self.scene, &mut self.state, id);
        self.refresh();
        Ok(())
    }

    /// Whether a body is there: not waiting in a template, not removed.
    pub fn is_there(&self, body: impl Handle<BodyId>) -> Result<bool, SimulationError> {
        Ok(!self.state.orders.absent(body.resolve(&self.scene)?))
    }
}
