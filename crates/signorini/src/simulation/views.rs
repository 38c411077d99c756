//! Bodies, joints and motors of a simulation, as a program asks for them.

use super::{Simulation, SimulationError};
use glam::{DQuat, DVec3};
use signorini_mechanics::analyse::reactions::{JointReaction, reactions};
use signorini_mechanics::assemble::joint;
use signorini_mechanics::scene::{
    Body, BodyId, Coordinate, Drive, Function, Joint, JointId, Motor, MotorId, Quantity,
};
use signorini_solve::math::pose::Pose;

/// A body as it is now. All vectors are along the axes of the world.
#[derive(Clone, Copy)]
pub struct BodyView<'a> {
    pub(super) simulation: &'a Simulation,
    pub(super) id: BodyId,
}

impl<'a> BodyView<'a> {
    /// Its id.
    pub fn id(&self) -> BodyId {
        self.id
    }

    /// Its part of the scene: name, mass, how it moves.
    pub fn body(&self) -> &'a Body {
        &self.simulation.scene.bodies[self.id.index()]
    }

    /// Its name.
    pub fn name(&self) -> &'a str {
        &self.body().name
    }

    /// Where the origin of the frame in which the body was described is, m.
    pub fn position(&self) -> DVec3 {
        self.simulation.state.pose(self.id).point(self.body().origin)
    }

    /// Its orientation: from its own axes to those of the world.
    pub fn orientation(&self) -> DQuat {
        self.simulation.state.pose(self.id).orientation
    }

    /// Position and orientation of the frame in which the body was described.
    pub fn pose(&self) -> Pose {
        Pose { position: self.position(), orientation: self.orientation() }
    }

    /// Where its centre of mass is, m.
    pub fn center_of_mass(&self) -> DVec3 {
        self.simulation.state.pose(self.id).position
    }

    /// The velocity of [`BodyView::position`], m/s.
    pub fn velocity(&self) -> DVec3 {
        self.velocity_at(self.position())
    }

    /// The velocity of its centre of mass, m/s.
    pub fn center_of_mass_velocity(&self) -> DVec3 {
        DVec3::from_slice(&self.simulation.velocities[6 * self.id.index()..])
    }

    /// Its angular velocity, rad/s.
    pub fn angular_velocity(&self) -> DVec3 {
        DVec3::from_slice(&self.simulation.velocities[6 * self.id.index() + 3..])
    }

    /// The velocity of the point of the body that is now at `point` (world), m/s.
    pub fn velocity_at(&self, point: DVec3) -> DVec3 {
        self.center_of_mass_velocity()
            + self.angular_velocity().cross(point - self.center_of_mass())
    }

    /// Its kinetic energy, J; zero unless it is rigid.
    pub fn kinetic_energy(&self) -> f64 {
        let spin = self.orientation().inverse() * self.angular_velocity();
        self.body().mass().map_or(0.0, |m| m.kinetic(self.center_of_mass_velocity(), spin))
    }
}

/// A joint as it is now.
#[derive(Clone, Copy)]
pub struct JointView<'a> {
    pub(super) simulation: &'a Simulation,
    pub(super) id: JointId,
}

impl<'a> JointView<'a> {
    /// Its id.
    pub fn id(&self) -> JointId {
        self.id
    }

    /// Its part of the scene: name, kind, bodies, frames.
    pub fn joint(&self) -> &'a Joint {
        &self.simulation.scene.joints[self.id.index()]
    }

    /// Its name.
    pub fn name(&self) -> &'a str {
        &self.joint().name
    }

    /// The angle about its axis, counted over full turns, rad.
    pub fn angle(&self) -> f64 {
        self.value(Coordinate::Angle)
    }

    /// The displacement along its axis, m.
    pub fn slide(&self) -> f64 {
        self.value(Coordinate::Slide)
    }

    /// The rate of the angle, rad/s; of a prismatic joint that of the displacement, of a rod that
    /// of the distance, m/s.
    pub fn rate(&self) -> f64 {
        self.rate_of(self.main())
    }

    /// The coordinate that [`JointView::rate`] is the rate of.
    pub fn main(&self) -> Coordinate {
        signorini_mechanics::control::coordinate(self.joint())
    }

    /// The value of a coordinate, m or rad.
    pub fn value(&self, which: Coordinate) -> f64 {
        joint::coordinate(&self.simulation.scene, self.id, which, &self.simulation.now).value
    }

    /// The rate of a coordinate, m/s or rad/s.
    pub fn rate_of(&self, which: Coordinate) -> f64 {
        let (scene, now) = (&self.simulation.scene, &self.simulation.now);
        let x = joint::coordinate(scene, self.id, which, now);
        let joint = self.joint();
        x.a.rate(&now.twists[joint.a.index()]) + x.b.rate(&now.twists[joint.b.index()])
    }

    /// Force and torque that the joint exerted on its second body during the last step, and which
    /// of their components are unique (a joint that another one doubles may share its load in many
    /// ways); none before the first step.
    ///
    /// Solves the step again for the reactions of least energy: ask when you need it, and for many
    /// joints ask [`Simulation::reactions`] once.
    pub fn reaction(&self) -> Option<JointReaction> {
        self.simulation.verdict.as_ref()?;
        let found = reactions(&self.simulation.scene, &self.simulation.stepper);
        found.joints.into_iter().find(|r| r.joint == self.id)
    }
}

/// A motor as it is now.
#[derive(Clone, Copy)]
pub struct MotorView<'a> {
    pub(super) simulation: &'a Simulation,
    pub(super) id: MotorId,
}

impl<'a> MotorView<'a> {
    /// Its id.
    pub fn id(&self) -> MotorId {
        self.id
    }

    /// Its part of the scene.
    pub fn motor(&self) -> &'a Motor {
        &self.simulation.scene.motors[self.id.index()]
    }

    /// The value of what it acts on, m or rad.
    pub fn value(&self) -> f64 {
        joint::motor_value(&self.simulation.scene, self.motor(), &self.simulation.now)
    }

    /// The force or torque that it gave during the last step, N or N m.
    pub fn effort(&self) -> f64 {
        let Simulation { scene, stepper, state, now, .. } = self.simulation;
        stepper.measure_with(scene, state, now, &Quantity::Effort(self.id))
    }
}

/// A motor that may be told something else; it acts from the next step on.
pub struct MotorMut<'a> {
    pub(super) motor: &'a mut Motor,
}

impl MotorMut<'_> {
    /// Gives this torque (of a slide: force), N m or N; whatever the motor was before, it gives a
    /// torque now.
    pub fn set_torque(&mut self, torque: f64) {
        self.motor.drive = Drive::Effort(Function::Constant(torque));
    }

    /// Goes to this value, m or rad: a servo with its stiffness and damping; any other motor at
    /// once, whatever it costs.
    pub fn set_target(&mut self, value: f64) {
        match &mut self.motor.drive {
            Drive::Servo { target, .. } => *target = Function::Constant(value),
            drive => *drive = Drive::Position(Function::Constant(value)),
        }
    }

    /// Goes at this rate, m/s or rad/s: a limited motor or a speed servo as far as its effort
    /// suffices; any other motor whatever it costs.
    pub fn set_speed(&mut self, value: f64) {
        match &mut self.motor.drive {
            Drive::LimitedSpeed { speed, .. } | Drive::SpeedServo { speed, .. } => {
                *speed = Function::Constant(value)
            }
            drive => *drive = Drive::Speed(Function::Constant(value)),
        }
    }

    /// Does this.
    pub fn set_drive(&mut self, drive: Drive) {
        self.motor.drive = drive;
    }
}

pub(super) fn function_faults(motor: &Motor) -> Option<String> {
    let positive =
        |what: &str, x: f64| (!(x >= 0.0)).then(|| format!("{what} = {x}, wanted a number ≥ 0"));
    match &motor.drive {
        Drive::Position(f) | Drive::Speed(f) | Drive::Effort(f) => f.fault(),
        Drive::LimitedSpeed { speed, effort } => {
            speed.fault().or_else(|| positive("effort", *effort))
        }
        Drive::Servo { target, stiffness, damping, effort } => target
            .fault()
            .or_else(|| positive("stiffness", *stiffness))
            .or_else(|| positive("damping", *damping))
            .or_else(|| positive("effort", *effort))
            .or_else(|| {
                (stiffness + damping == 0.0).then(|| "stiffness and damping are both 0".into())
            }),
        Drive::SpeedServo { speed, damping, effort } => speed
            .fault()
            .or_else(|| positive("damping", *damping))
            .or_else(|| positive("effort", *effort)),
    }
}

impl Simulation {
    /// A motor or material that was given a value it cannot have.
    pub(super) fn input_fault(&self) -> Option<SimulationError> {
        for motor in &self.scene.motors {
            if let Some(why) = function_faults(motor) {
                return Some(SimulationError::Input {
                    what: "motor",
                    name: motor.name.clone(),
                    why,
                });
            }
        }
        for m in &self.scene.materials {
            let values = [
                ("mu", m.mu, f64::MAX),
                ("restitution", m.restitution, 1.0),
                ("compliance", m.compliance, f64::MAX),
                ("damping", m.damping, f64::MAX),
                ("torsion", m.torsion, f64::MAX),
                ("rolling", m.rolling, f64::MAX),
            ];
            for (what, value, most) in values {
                if !(value >= 0.0 && value <= most) {
                    let wanted = if most == 1.0 { "0…1" } else { "a number ≥ 0" };
                    let why = format!("{what} = {value}, wanted {wanted}");
                    return Some(SimulationError::Input {
                        what: "material",
                        name: m.name.clone(),
                        why,
                    });
                }
            }
        }
        None
    }
}
