//! What most programs use: `use signorini::prelude::*;`.

pub use crate::simulation::{
    BodyView, ContactPoint, ContactStatus, EventView, Figure, ForceBetween, Handle, Input,
    JointView, MotorMut, MotorView, Simulation, SimulationError, StateView,
};
pub use glam::{DMat3, DQuat, DVec3};
pub use signorini_mechanics::geometry::Shape;
pub use signorini_mechanics::scene::{
    Action, Axis, Body, BodyId, ColliderId, ControlLaw, Coordinate, Drive, EventId, Force,
    ForceKind, Formula, Function, JointId, JointKind, Mass, Material, MaterialId, Motion, MotorId,
    Pid, Port, Quantity, Scene, SensorId, Solid, Spawn, SurfaceMaterial, TemplateId, VariableId,
    frame,
};
pub use signorini_mechanics::step::{Ledger, Policy, Settings, StepError, Verdict};
pub use signorini_solve::math::pose::Pose;
pub use signorini_solve::solve::{Method, StoppingCriteria};
