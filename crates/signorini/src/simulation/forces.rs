//! Forces and torques that act during the next step.

use super::{Handle, Simulation, SimulationError};
use glam::DVec3;
use signorini_mechanics::scene::{Applied, BodyId, Force, ForceKind, Frame, Function};

impl Simulation {
    /// Lets a force (N) act on a rigid body during the next step, at a point of the world (m). Its
    /// impulse is centred on the beginning of the step (leapfrog scheme): from the second step on
    /// `force · h` in all, in the first step of a simulation half of that.
    pub fn apply_force(
        &mut self,
        body: impl Handle<BodyId>,
        force: DVec3,
        point: DVec3,
    ) -> Result<(), SimulationError> {
        let id = self.rigid(body)?;
        let local = self.state.pose(id).inverse_point(point);
        self.apply(id, local, force, DVec3::ZERO)
    }

    /// Lets a force (N) act on the centre of mass of a rigid body during the next step.
    pub fn apply_central_force(
        &mut self,
        body: impl Handle<BodyId>,
        force: DVec3,
    ) -> Result<(), SimulationError> {
        let id = self.rigid(body)?;
        self.apply(id, DVec3::ZERO, force, DVec3::ZERO)
    }

    /// Lets a torque (N m) act on a rigid body during the next step.
    pub fn apply_torque(
        &mut self,
        body: impl Handle<BodyId>,
        torque: DVec3,
    ) -> Result<(), SimulationError> {
        let id = self.rigid(body)?;
        self.apply(id, DVec3::ZERO, DVec3::ZERO, torque)
    }

    /// Forgets the forces and torques that were to act in the next step.
    pub fn clear_forces(&mut self) {
        self.forces.clear();
    }

    fn apply(
        &mut self,
        body: BodyId,
        point: DVec3,
        force: DVec3,
        torque: DVec3,
    ) -> Result<(), SimulationError> {
        if !(force.is_finite() && torque.is_finite() && point.is_finite()) {
            let name = &self.scene.bodies[body.index()].name;
            return Err(self.input(
                "body",
                name,
                format!("force {force}, torque {torque} at {point}, wanted finite numbers"),
            ));
        }
        let constant = |v: DVec3| v.to_array().map(Function::Constant);
        let applied = Applied {
            body,
            point,
            force: constant(force),
            torque: constant(torque),
            frame: Frame::World,
        };
        self.forces
            .push(Force { name: String::new(), kind: ForceKind::Applied(Box::new(applied)) });
        Ok(())
    }
}
