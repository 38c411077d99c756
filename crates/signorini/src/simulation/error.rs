//! What can go wrong with a simulation.

use signorini_mechanics::scene::{
    BodyId, EventId, ForceId, JointId, MaterialId, MotorId, Scene, SensorId, TemplateId, VariableId,
};
use signorini_mechanics::step::{BuildError, StepError};

/// What can go wrong with a simulation, each with its culprit.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SimulationError {
    /// A scene file that cannot be read: every fault, with file and place.
    #[error("{0}")]
    File(String),
    /// A scene or settings that cannot be simulated.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// Joints that do not meet and cannot be brought together.
    #[error("{0}")]
    Open(String),
    /// A step that was not taken; the state is as it was.
    #[error(transparent)]
    Step(#[from] StepError),
    /// A name or id that the scene does not have.
    #[error("there is no {what} `{name}`; {known}")]
    NotFound {
        /// Body, joint, motor or material.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A motor, force or material that was given a value it cannot have.
    #[error("{what} `{name}`: {why}")]
    Input {
        /// Body, motor or material.
        what: &'static str,
        /// Its name.
        name: String,
        /// What is wrong: found and wanted.
        why: String,
    },
    /// Bytes that are no saved state of this scene.
    #[error("the saved state does not fit: {0}")]
    Restore(String),
    /// Something that cannot be written.
    #[error("{0}")]
    Record(String),
}

impl SimulationError {
    pub(crate) fn not_found<'a>(
        what: &'static str,
        name: String,
        names: impl Iterator<Item = &'a String>,
    ) -> SimulationError {
        const MAX_NAMES_SHOWN: usize = 12;
        let all: Vec<&str> = names.map(String::as_str).collect();
        let more = if all.len() > MAX_NAMES_SHOWN {
            format!(" and {} more", all.len() - MAX_NAMES_SHOWN)
        } else {
            String::new()
        };
        let list = all[..all.len().min(MAX_NAMES_SHOWN)].join(", ");
        let known = if all.is_empty() {
            "there are none".to_string()
        } else {
            format!("there are {list}{more}")
        };
        SimulationError::NotFound { what, name, known }
    }
}

/// Names a thing of a scene: by its name, or by its id.
pub trait Handle<Id> {
    /// The id; an error that lists what there is.
    fn resolve(self, scene: &Scene) -> Result<Id, SimulationError>;
}

macro_rules! handle {
    ($id:ident, $what:literal, $list:ident) => {
        impl Handle<$id> for $id {
            fn resolve(self, scene: &Scene) -> Result<$id, SimulationError> {
                if self.index() < scene.$list.len() {
                    return Ok(self);
                }
                let names = scene.$list.iter().map(|x| &x.name);
                Err(SimulationError::not_found($what, format!("number {}", self.0), names))
            }
        }

        impl Handle<$id> for &str {
            fn resolve(self, scene: &Scene) -> Result<$id, SimulationError> {
                let place = scene.$list.iter().position(|x| x.name == self);
                let missing = || {
                    SimulationError::not_found(
                        $what,
                        self.into(),
                        scene.$list.iter().map(|x| &x.name),
                    )
                };
                place.map(|i| $id(i as u32)).ok_or_else(missing)
            }
        }

        impl Handle<$id> for &String {
            fn resolve(self, scene: &Scene) -> Result<$id, SimulationError> {
                self.as_str().resolve(scene)
            }
        }
    };
}

handle!(BodyId, "body", bodies);
handle!(JointId, "joint", joints);
handle!(MaterialId, "material", materials);
handle!(ForceId, "force", forces);
handle!(SensorId, "sensor", sensors);
handle!(VariableId, "variable", variables);
handle!(EventId, "event", events);
handle!(TemplateId, "template", templates);

impl Handle<MotorId> for MotorId {
    fn resolve(self, scene: &Scene) -> Result<MotorId, SimulationError> {
        let missing = || {
            SimulationError::not_found(
                "motor",
                format!("number {}", self.0),
                scene.motors.iter().map(|m| &m.name),
            )
        };
        (self.index() < scene.motors.len()).then_some(self).ok_or_else(missing)
    }
}

impl Handle<MotorId> for &str {
    /// A motor by its name, or the only motor of the joint of this name.
    fn resolve(self, scene: &Scene) -> Result<MotorId, SimulationError> {
        if let Some(id) = scene.motor_named(self) {
            return Ok(id);
        }
        let joint = scene.joint_named(self);
        let mut on_joint =
            (0..scene.motors.len()).filter(|&m| Some(scene.motors[m].joint) == joint);
        match (on_joint.next(), on_joint.next()) {
            (Some(only), None) => Ok(MotorId(only as u32)),
            _ => Err(SimulationError::not_found(
                "motor",
                self.into(),
                scene.motors.iter().map(|m| &m.name),
            )),
        }
    }
}

impl Handle<MotorId> for &String {
    fn resolve(self, scene: &Scene) -> Result<MotorId, SimulationError> {
        self.as_str().resolve(scene)
    }
}
