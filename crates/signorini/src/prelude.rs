//! What most programs use: `use signorini::prelude::*;`.

pub use crate::simulation::{
    ContactPoint, ContactStatus, EventView, Figure, Input, Simulation, SimulationError,
};
pub use glam::{DQuat, DVec3};
pub use signorini_mechanics::geometry::Shape;
pub use signorini_mechanics::scene::{
    Action, Body, BodyId, ControlLaw, Coordinate, Drive, ForceKind, Formula, Function, JointId,
    JointKind, Mass, Material, Motion, Pid, Port, Quantity, Scene, Spawn, SurfaceMaterial, frame,
};
pub use signorini_mechanics::step::{Settings, StepError, Verdict};
pub use signorini_solve::math::pose::Pose;
pub use signorini_solve::solve::{Method, StoppingCriteria};
