//! Machines that react: sensors, controllers, events.
//!
//! All of it is plain data of the scene. After every step, and once before the first one,
//! [`crate::control`] goes through it in one order:
//!
//! 1. **sensors**, in the order of the list: each is a formula over quantities, and over sensors
//!    before it;
//! 2. **events**, in the order of the list: where a condition becomes true, its actions are carried
//!    out at once;
//! 3. **controllers**, in the order of the list, each when its sample is due: what they give holds
//!    until the next sample.
//!
//! What they change is part of the state ([`super::Orders`]), never of the scene: a saved state
//! goes on to the same bits.

use super::formula::Formula;
use super::function::Function;
use super::quantity::Quantity;
use super::{
    BodyId, ControllerId, EventId, ForceId, JointId, MotorId, Scene, SensorId, TemplateId,
    VariableId,
};
use crate::math::pose::Pose;
use glam::DVec3;
use serde::{Deserialize, Serialize};

/// A named formula that is evaluated after every step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sensor {
    /// Its name, unique in the scene.
    pub name: String,
    /// What it gives.
    pub formula: Formula,
    /// The unit of what it gives, for people.
    pub unit: String,
}

/// A number that events set and formulas read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variable {
    /// Its name, unique in the scene.
    pub name: String,
    /// Its value at the beginning.
    pub value: f64,
}

/// What a controller drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Port {
    /// The target, speed or effort of a motor, whatever its drive wants.
    Motor(MotorId),
    /// A component of an applied force (0, 1, 2) or of its torque (3, 4, 5).
    Force(ForceId, u8),
}

/// How a controller comes to what it gives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlLaw {
    /// By a formula.
    Formula(Formula),
    /// By proportional, integral and derivative action.
    Pid(Box<Pid>),
}

/// `p e + i ∫e dt − d ẏ` with e = target − y.
///
/// The integral is taken by trapezoids from sample to sample and stands still while the output is
/// at a limit that it would exceed further; ẏ is the difference of the last two samples, so that a
/// jump of the target does not kick.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pid {
    /// What is controlled, y.
    pub measured: Formula,
    /// What it is to be.
    pub target: Formula,
    /// Proportional gain p.
    pub p: f64,
    /// Integral gain i, per second.
    pub i: f64,
    /// Derivative gain d, seconds.
    pub d: f64,
}

/// Something that tells a motor or a force what to do, from what is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Controller {
    /// Its name, unique in the scene.
    pub name: String,
    /// What it drives.
    pub port: Port,
    /// How it comes to what it gives.
    pub law: ControlLaw,
    /// Time between two samples, s; 0: every step.
    pub every: f64,
    /// It never gives less; may be −∞.
    #[serde(with = "super::extended")]
    pub lo: f64,
    /// It never gives more; may be +∞.
    #[serde(with = "super::extended")]
    pub hi: f64,
}

/// What happens when a condition becomes true.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its name, unique in the scene.
    pub name: String,
    /// The condition; it is looked at after every step, and happens when it was not true before.
    pub when: Formula,
    /// False if it happens once only.
    pub again: bool,
    /// What is done, in this order.
    pub actions: Vec<Action>,
}

/// Something that an event does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Ends the run.
    Stop,
    /// Switches a motor on or off: off it gives nothing.
    Motor(MotorId, bool),
    /// Switches a joint on or off, with its stops, friction, rotor, gears and motors: off it holds
    /// nothing.
    Joint(JointId, bool),
    /// Switches a force on or off.
    Force(ForceId, bool),
    /// Switches the contacts of two bodies (of one body with all without a second) on or off.
    Contact {
        /// The body.
        body: BodyId,
        /// The other body; without it all.
        other: Option<BodyId>,
        /// On or off.
        on: bool,
    },
    /// Tells a motor another value, reached smoothly within so many seconds; 0: at once.
    Target(MotorId, Formula, f64),
    /// Tells a motor to follow a function that begins now.
    Follow(MotorId, Function),
    /// Gives a variable another value.
    Set(VariableId, Formula),
    /// Puts the next body of a template into the scene.
    Spawn(Box<Spawn>),
    /// Takes a body out of the scene.
    Remove(BodyId),
    /// Takes out the body of a template that has been in the scene longest.
    RemoveOldest(TemplateId),
}

/// How a body of a template comes into the scene.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spawn {
    /// Which template.
    pub template: TemplateId,
    /// Where its described frame stands, world.
    pub pose: Pose,
    /// Velocity of the centre of mass, world, m/s.
    pub velocity: DVec3,
    /// Angular velocity, world, rad/s.
    pub angular: DVec3,
}

/// Equal bodies that wait outside the scene until an event puts them in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Template {
    /// Its name, unique in the scene.
    pub name: String,
    /// The bodies, in the order in which they are taken.
    pub bodies: Vec<BodyId>,
}

impl Scene {
    /// Adds a sensor.
    pub fn add_sensor(&mut self, name: impl Into<String>, formula: impl Into<Formula>) -> SensorId {
        self.sensors.push(Sensor {
            name: name.into(),
            formula: formula.into(),
            unit: String::new(),
        });
        SensorId(self.sensors.len() as u32 - 1)
    }

    /// Adds a variable.
    pub fn add_variable(&mut self, name: impl Into<String>, value: f64) -> VariableId {
        self.variables.push(Variable { name: name.into(), value });
        VariableId(self.variables.len() as u32 - 1)
    }

    /// Adds a controller that is sampled every step, without limits.
    pub fn add_controller(
        &mut self,
        name: impl Into<String>,
        port: Port,
        law: ControlLaw,
    ) -> ControllerId {
        let (lo, hi) = (f64::NEG_INFINITY, f64::INFINITY);
        self.controllers.push(Controller { name: name.into(), port, law, every: 0.0, lo, hi });
        ControllerId(self.controllers.len() as u32 - 1)
    }

    /// Adds an event that happens once.
    pub fn add_event(
        &mut self,
        name: impl Into<String>,
        when: Formula,
        actions: Vec<Action>,
    ) -> EventId {
        self.events.push(Event { name: name.into(), when, again: false, actions });
        EventId(self.events.len() as u32 - 1)
    }

    /// Lets a joint break where it transmits more than this force (N) or torque (N m): an event of
    /// the joint's name.
    pub fn add_break(&mut self, joint: JointId, force: f64, torque: f64) -> EventId {
        let over =
            |x: Quantity, limit: f64| limit.is_finite().then(|| Formula::from(x).above(limit));
        let list =
            [over(Quantity::JointForce(joint), force), over(Quantity::JointTorque(joint), torque)];
        let any = |a, b| Formula::binary(super::formula::Binary::Or, a, b);
        let when = list.into_iter().flatten().reduce(any).unwrap_or_default();
        let name = format!("{} breaks", self.joints[joint.index()].name);
        self.add_event(name, when, vec![Action::Joint(joint, false)])
    }

    /// Makes bodies that are in the scene wait outside it until they are spawned.
    pub fn add_template(&mut self, name: impl Into<String>, bodies: Vec<BodyId>) -> TemplateId {
        self.templates.push(Template { name: name.into(), bodies });
        TemplateId(self.templates.len() as u32 - 1)
    }

    /// Whether anything in the scene reacts.
    pub fn reacts(&self) -> bool {
        !(self.sensors.is_empty()
            && self.controllers.is_empty()
            && self.events.is_empty()
            && self.templates.is_empty())
    }
}
