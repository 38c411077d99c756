//! The tables of a scene file. Their comments are the reference of the format: `signorini schema`
//! prints them.

pub use super::body::{Body, InertiaForm, Motion};
pub use super::contact::{Contact, Exclude, Impacts, Material, Rule, Surface};
pub use super::control::{
    ActionTable, ControllerTable, EventTable, PidTable, RayTable, SensorTable, Template,
};
pub use super::facts::*;
pub use super::frame::{Frame, Rotation};
pub use super::links::{
    Applied, Breaks, Bushing, Drag, Force, Gear, Joint, JointArmature, JointFriction, JointKind,
    Limits, Motor, Rack, Ratio, Spring, Tension, Term, Torsion,
};
pub use super::repeat::Block;
pub use super::run::{
    Coordinates, Estimate, Integrator, Law, Policy, Preset, Run, RungeKutta, Scheme, TimeError,
};
pub use super::shape::{HeightField, Mesh, Round, SHAPES, Shape, ShapeFields};
pub use super::soft::{Penalty, Soft};

use super::read::table;
use super::value::*;

table! {
    /// A scene: what exists, how it is simulated, and what must come out.
    pub struct Header {
        /// What the scene is called; the name of the file without this.
        name: Option<String>,
        /// What it shows, in a sentence.
        about: Option<String>,
        /// The units of plain numbers in this file: { length, mass, time, angle }; SI without this.
        units: Option<DeclaredUnits>,
        /// Files whose contents come before this one's; parameters and settings of this file win.
        include: Many<String>,
        /// Names for formulas: numbers, or texts such as "2*radius + 1 mm"; `--set name=value`
        /// overrides them.
        parameters: Elsewhere,
        /// Acceleration of gravity; (0, 0, -9.81 m/s^2) without this.
        gravity: Option<Vector<Acceleration>>,
        /// What surfaces are made of, by name.
        materials: Named<Material>,
        /// How contacts are found and combined.
        contact: Option<Contact>,
        /// How the scene is simulated.
        run: Option<Run>,
        /// Robots from files (URDF, MJCF).
        robot: Vec<Robot>,
        /// Numbers that events set and formulas read, with their first values.
        variables: Named<super::live::Late>,
    }
}

table! {
    /// A robot from a file.
    pub struct Robot {
        /// The file (URDF or MJCF) beside the scene file.
        file: Name,
        /// What the names of its bodies, joints and motors begin with ("left/"); nothing without
        /// this.
        prefix: Option<String>,
        /// Where its frame is.
        position: Option<Vector<Length>>,
        /// How it is turned there.
        rotation: Option<At<Rotation>>,
        /// True if its root does not move.
        fixed: Option<bool>,
        /// Values of joints at the beginning, by name: { knee = "30 deg" }.
        joints: Named<Either<Length, Angle>>,
        /// Which keyframe it begins with (MJCF); the first without this.
        key: Option<String>,
        /// True if every joint without a motor gets one that holds it.
        hold: Option<bool>,
        /// False if its parts never touch each other; neighbours, and parts that overlap at the
        /// beginning, never do.
        self_collision: Option<bool>,
        /// False if meshes of moving bodies are used as they are; their convex hulls stand for them
        /// without this.
        hulls: Option<bool>,
        /// True if faults of the file are refused rather than repaired.
        strict: Option<bool>,
    }
}

/// A scene file whole.
pub type File = Joined<Header, Block>;

table! {
    /// The units of plain numbers.
    pub struct DeclaredUnits {
        /// Unit of length, such as "mm".
        length: Option<String>,
        /// Unit of mass, such as "g".
        mass: Option<String>,
        /// Unit of time, such as "ms".
        time: Option<String>,
        /// Unit of angle, such as "deg".
        angle: Option<String>,
    }
}
