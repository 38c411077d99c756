//! What exists: bodies, joints, motors, forces, materials ([`Scene`]); and what changes
//! ([`State`]).
//!
//! A scene is plain data, read-only during a step. Things are named by typed ids; every thing has a
//! name that is unique in the scene, so that messages and verdicts can name the culprit.
//!
//! ```
//! use signorini_mechanics::scene::{Body, BodyId, JointKind, Mass, Scene, frame};
//! use glam::DVec3;
//!
//! // A pendulum: 1 kg at the end of a massless metre.
//! let mut scene = Scene::new("pendulum");
//! let bob = scene.add_body(Body::rigid("bob", Mass::sphere(1.0, 0.05)).at(DVec3::X));
//! scene.add_joint("pivot", JointKind::Revolute, (BodyId::GROUND, bob), frame(DVec3::ZERO, DVec3::Y));
//! assert!(scene.check().is_ok());
//! ```

pub mod body;
pub mod check;
mod check_control;
pub mod control;
pub(crate) mod extended;
pub mod force;
pub mod formula;
pub mod function;
pub mod joint;
pub mod material;
pub mod orders;
pub mod quantity;
pub mod soft;
pub mod state;
pub mod visual;

pub use body::{Body, Kind, Mass, Motion};
pub use check::Invalid;
pub use control::{
    Action, ControlLaw, Controller, Event, Pid, Port, Sensor, Spawn, Template, Variable,
};
pub use force::{Applied, Bushing, Drag, Force, ForceKind, Frame, Spring, Tension, Torsion};
pub use formula::Formula;
pub use function::Function;
pub use joint::{
    Armature, Axis, Coordinate, Drive, DryFriction, Gear, GearTerm, Joint, JointKind, Limit, Motor,
    Part,
};
pub use material::{Material, Rule, Rules, Surface, SurfaceMaterial};
pub use orders::{Orders, Told};
pub use quantity::{Quantity, Ray};
pub use soft::{Attachment, Elastic, Load, NodeMass, Soft};
pub use state::{ContactReaction, Layout, Reactions, State};
pub use visual::{Drawn, Visual};

use crate::geometry::{Collider, Shape, Volume, mass};
use crate::math::pose::Pose;
use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub struct $name(pub u32);

        impl $name {
            /// The place in its list.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(
    /// A body of a scene.
    BodyId
);
id!(
    /// A joint of a scene.
    JointId
);
id!(
    /// A motor of a scene.
    MotorId
);
id!(
    /// A gear of a scene.
    GearId
);
id!(
    /// A force of a scene.
    ForceId
);
id!(
    /// A collider of a scene.
    ColliderId
);
id!(
    /// A material of a scene.
    MaterialId
);

id!(
    /// A soft body of a scene.
    SoftId
);
id!(
    /// A sensor of a scene.
    SensorId
);
id!(
    /// A variable of a scene.
    VariableId
);
id!(
    /// A controller of a scene.
    ControllerId
);
id!(
    /// An event of a scene.
    EventId
);
id!(
    /// A template of a scene.
    TemplateId
);

impl BodyId {
    /// The fixed body that every scene begins with; its frame is that of the world.
    pub const GROUND: BodyId = BodyId(0);
}

impl MaterialId {
    /// The material that every scene begins with.
    pub const DEFAULT: MaterialId = MaterialId(0);
}

/// A shape with a density, part of a body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Solid {
    /// The shape; it must have a volume.
    pub shape: Shape,
    /// Where it lies in the frame in which the body is described.
    pub pose: Pose,
    /// Density, kg/m³.
    pub density: f64,
    /// Its surface.
    pub surface: SurfaceMaterial,
}

/// What exists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scene {
    /// What the scene is called.
    pub name: String,
    /// Acceleration of gravity, world, m/s².
    pub gravity: DVec3,
    /// Bodies; the first is the ground.
    pub bodies: Vec<Body>,
    /// Joints.
    pub joints: Vec<Joint>,
    /// Motors.
    pub motors: Vec<Motor>,
    /// Gears, racks, screws.
    pub gears: Vec<Gear>,
    /// Forces besides gravity.
    pub forces: Vec<Force>,
    /// Soft bodies.
    pub softs: Vec<Soft>,
    /// Materials; the first is the default.
    pub materials: Vec<Material>,
    /// How two materials combine.
    pub rules: Rules,
    /// Contacts of two materials that follow no rule; the order of a pair does not matter.
    pub surfaces: Vec<((MaterialId, MaterialId), Surface)>,
    /// Shapes on bodies: what touches.
    pub colliders: Vec<Collider>,
    /// The surface of each collider.
    pub surface_materials: Vec<SurfaceMaterial>,
    /// Pairs of bodies that never touch; the order of a pair does not matter.
    pub excluded: Vec<(BodyId, BodyId)>,
    /// What bodies are drawn in, where that is said: red, green, blue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub colors: Vec<(BodyId, [u8; 3])>,
    /// What bodies are drawn by in place of their colliders.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub visuals: Vec<Visual>,
    /// What is measured after every step; a sensor may speak of those before it.
    #[serde(default)]
    pub sensors: Vec<Sensor>,
    /// Numbers that events set.
    #[serde(default)]
    pub variables: Vec<Variable>,
    /// What tells motors and forces what to do.
    #[serde(default)]
    pub controllers: Vec<Controller>,
    /// What happens when a condition becomes true.
    #[serde(default)]
    pub events: Vec<Event>,
    /// Bodies that wait outside the scene.
    #[serde(default)]
    pub templates: Vec<Template>,
}

impl Scene {
    /// An empty scene: the ground, one default material, standard gravity along −z.
    pub fn new(name: impl Into<String>) -> Scene {
        Scene {
            name: name.into(),
            gravity: DVec3::new(0.0, 0.0, -9.81),
            bodies: vec![Body::fixed("ground")],
            joints: Vec::new(),
            motors: Vec::new(),
            gears: Vec::new(),
            forces: Vec::new(),
            softs: Vec::new(),
            materials: vec![Material { name: "default".into(), ..Material::default() }],
            rules: Rules::default(),
            surfaces: Vec::new(),
            colliders: Vec::new(),
            surface_materials: Vec::new(),
            excluded: Vec::new(),
            colors: Vec::new(),
            visuals: Vec::new(),
            sensors: Vec::new(),
            variables: Vec::new(),
            controllers: Vec::new(),
            events: Vec::new(),
            templates: Vec::new(),
        }
    }

    /// Adds a body.
    pub fn add_body(&mut self, body: Body) -> BodyId {
        self.bodies.push(body);
        BodyId(self.bodies.len() as u32 - 1)
    }

    /// Puts a shape on a body, at `pose` in its body frame.
    pub fn add_collider(
        &mut self,
        body: BodyId,
        shape: Shape,
        pose: Pose,
        surface: SurfaceMaterial,
    ) -> ColliderId {
        let fixed = matches!(self.bodies[body.index()].kind, Kind::Fixed);
        self.colliders.push(Collider { pose_in_body: pose, fixed, ..Collider::new(body.0, shape) });
        self.surface_materials.push(surface);
        ColliderId(self.colliders.len() as u32 - 1)
    }

    /// Adds a body with one shape at its origin, of the default material.
    pub fn add_body_with_shape(&mut self, body: Body, shape: Shape) -> BodyId {
        let at = Pose::at(body.origin);
        let id = self.add_body(body);
        self.add_collider(id, shape, at, SurfaceMaterial::default());
        id
    }

    /// Adds a rigid body made of shapes of given densities; its described frame stands at `pose`
    /// (world).
    pub fn add_solid(
        &mut self,
        name: impl Into<String>,
        pose: Pose,
        parts: &[Solid],
    ) -> Result<BodyId, crate::geometry::Invalid> {
        let mut figures = Vec::with_capacity(parts.len());
        for part in parts {
            let one = Volume::of(&part.shape)?.moved(&part.pose);
            figures.push(Volume {
                volume: part.density * one.volume,
                center: one.center,
                inertia: one.inertia * part.density,
            });
        }
        let Volume { volume: mass, center, inertia } = mass::sum(&figures);
        let total = Mass { mass, inertia };
        let body = Body { origin: -center, ..Body::rigid(name, total) }.placed(pose);
        let id = self.add_body(body);
        for part in parts {
            let at = Pose { position: part.pose.position - center, ..part.pose };
            self.add_collider(id, part.shape.clone(), at, part.surface);
        }
        Ok(id)
    }

    /// Adds a material.
    pub fn add_material(&mut self, material: Material) -> MaterialId {
        self.materials.push(material);
        MaterialId(self.materials.len() as u32 - 1)
    }

    /// Adds a joint whose frames on both bodies coincide with `frame` (world) as the bodies now
    /// stand.
    pub fn add_joint(
        &mut self,
        name: impl Into<String>,
        kind: JointKind,
        bodies: (BodyId, BodyId),
        frame: Pose,
    ) -> JointId {
        self.add_joint_between(
            name,
            kind,
            (bodies.0, self.to_body(bodies.0, &frame)),
            (bodies.1, self.to_body(bodies.1, &frame)),
        )
    }

    /// Adds a joint between a frame on one body and a frame on another, each in its body frame.
    pub fn add_joint_between(
        &mut self,
        name: impl Into<String>,
        kind: JointKind,
        a: (BodyId, Pose),
        b: (BodyId, Pose),
    ) -> JointId {
        self.joints.push(Joint {
            name: name.into(),
            kind,
            a: a.0,
            b: b.0,
            frame_a: a.1,
            frame_b: b.1,
            limits: Vec::new(),
            friction: Vec::new(),
            armature: Vec::new(),
            compliance: 0.0,
            collide: false,
        });
        JointId(self.joints.len() as u32 - 1)
    }

    /// Adds a massless rod between two points of the world, as the bodies now stand.
    pub fn add_rod(
        &mut self,
        name: impl Into<String>,
        bodies: (BodyId, BodyId),
        points: (DVec3, DVec3),
    ) -> JointId {
        let length = points.0.distance(points.1);
        let a = self.to_body(bodies.0, &Pose::at(points.0));
        let b = self.to_body(bodies.1, &Pose::at(points.1));
        self.add_joint_between(name, JointKind::Distance { length }, (bodies.0, a), (bodies.1, b))
    }

    /// Puts stops at the ends of a coordinate of a joint.
    pub fn add_limit(&mut self, joint: JointId, coordinate: Coordinate, lo: f64, hi: f64) {
        self.joints[joint.index()].limits.push(Limit { coordinate, lo, hi, restitution: 0.0 });
    }

    /// Puts dry friction of greatest force or torque `effort` on a coordinate of a joint.
    pub fn add_dry_friction(&mut self, joint: JointId, coordinate: Coordinate, effort: f64) {
        self.joints[joint.index()].friction.push(DryFriction { coordinate, effort });
    }

    /// Puts the inertia of a rotor on a coordinate of a joint.
    pub fn add_armature(&mut self, joint: JointId, coordinate: Coordinate, inertia: f64) {
        self.joints[joint.index()].armature.push(Armature { coordinate, inertia });
    }

    /// Adds a motor.
    pub fn add_motor(
        &mut self,
        name: impl Into<String>,
        joint: JointId,
        coordinate: Coordinate,
        drive: Drive,
    ) -> MotorId {
        self.motors.push(Motor { name: name.into(), joint, coordinate, drive, also: Vec::new() });
        MotorId(self.motors.len() as u32 - 1)
    }

    /// Adds a gear: `Σ factor · coordinate` keeps its initial value.
    pub fn add_gear(&mut self, name: impl Into<String>, terms: &[GearTerm]) -> GearId {
        self.gears.push(Gear { name: name.into(), terms: terms.to_vec() });
        GearId(self.gears.len() as u32 - 1)
    }

    /// A gear pair: `second` turns `ratio` times the angle of `first` (negative: the other way
    /// round).
    pub fn add_gear_pair(
        &mut self,
        name: impl Into<String>,
        first: JointId,
        second: JointId,
        ratio: f64,
    ) -> GearId {
        let term = |joint, factor| GearTerm { joint, coordinate: Coordinate::Angle, factor };
        self.add_gear(name, &[term(second, 1.0), term(first, -ratio)])
    }

    /// A rack: `slider` moves by `radius` (m) per radian of `pinion`.
    pub fn add_rack(
        &mut self,
        name: impl Into<String>,
        pinion: JointId,
        slider: JointId,
        radius: f64,
    ) -> GearId {
        let slide = GearTerm { joint: slider, coordinate: Coordinate::Slide, factor: 1.0 };
        let turn = GearTerm { joint: pinion, coordinate: Coordinate::Angle, factor: -radius };
        self.add_gear(name, &[slide, turn])
    }

    /// Adds a force.
    pub fn add_force(&mut self, name: impl Into<String>, kind: ForceKind) -> ForceId {
        self.forces.push(Force { name: name.into(), kind });
        ForceId(self.forces.len() as u32 - 1)
    }

    /// A frame of the world, as seen from a body where it now stands.
    pub fn to_body(&self, body: BodyId, frame: &Pose) -> Pose {
        self.bodies[body.index()].pose.relative(frame)
    }

    /// The body of this name.
    pub fn body_named(&self, name: &str) -> Option<BodyId> {
        self.bodies.iter().position(|b| b.name == name).map(|i| BodyId(i as u32))
    }

    /// The joint of this name.
    pub fn joint_named(&self, name: &str) -> Option<JointId> {
        self.joints.iter().position(|j| j.name == name).map(|i| JointId(i as u32))
    }

    /// The motor of this name.
    pub fn motor_named(&self, name: &str) -> Option<MotorId> {
        self.motors.iter().position(|m| m.name == name).map(|i| MotorId(i as u32))
    }

    /// The force of this name.
    pub fn force_named(&self, name: &str) -> Option<ForceId> {
        self.forces.iter().position(|f| f.name == name).map(|i| ForceId(i as u32))
    }

    /// The sensor of this name.
    pub fn sensor_named(&self, name: &str) -> Option<SensorId> {
        self.sensors.iter().position(|s| s.name == name).map(|i| SensorId(i as u32))
    }

    /// The variable of this name.
    pub fn variable_named(&self, name: &str) -> Option<VariableId> {
        self.variables.iter().position(|v| v.name == name).map(|i| VariableId(i as u32))
    }

    /// The event of this name.
    pub fn event_named(&self, name: &str) -> Option<EventId> {
        self.events.iter().position(|e| e.name == name).map(|i| EventId(i as u32))
    }

    /// The template of this name.
    pub fn template_named(&self, name: &str) -> Option<TemplateId> {
        self.templates.iter().position(|t| t.name == name).map(|i| TemplateId(i as u32))
    }

    /// The material of this name.
    pub fn material_named(&self, name: &str) -> Option<MaterialId> {
        self.materials.iter().position(|m| m.name == name).map(|i| MaterialId(i as u32))
    }

    /// What the contact of two materials is like.
    pub fn surface(&self, a: MaterialId, b: MaterialId) -> Surface {
        let given = self.surfaces.iter().rev().find(|(pair, _)| *pair == (a, b) || *pair == (b, a));
        let surface = match given {
            Some((_, surface)) => *surface,
            None => self.rules.surface(&self.materials[a.index()], &self.materials[b.index()]),
        };
        Surface { mu: surface.mu.min(material::MAX_FRICTION), ..surface }
    }
}

/// A frame at `point` whose z axis is along `axis` (any length, not zero): the frame of most
/// joints.
pub fn frame(point: DVec3, axis: DVec3) -> Pose {
    Pose {
        position: point,
        orientation: DQuat::from_rotation_arc(DVec3::Z, axis.normalize_or(DVec3::Z)),
    }
}
