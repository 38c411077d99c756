//! The tables of a scene file. Their comments are the reference of the format: `signorini schema`
//! prints them.

pub use super::body::{Body, InertiaForm, Motion};
pub use super::control::{
    ActionTable, ControllerTable, EventTable, PidTable, RayTable, SensorTable, Template,
};
pub use super::facts::*;
pub use super::frame::{Frame, Rotation};
pub use super::links::{
    Applied, Breaks, Bushing, Drag, Force, Gear, Joint, JointArmature, JointFriction, JointKind,
    Limits, Motor, Rack, Ratio, Spring, Tension, Term, Torsion,
};
pub use super::run::{
    Coordinates, Estimate, Integrator, Law, Policy, Preset, Run, RungeKutta, Scheme, TimeError,
};
pub use super::shape::{HeightField, Mesh, Round, SHAPES, Shape, ShapeFields};
pub use super::soft::{Penalty, Soft};

use super::read::{table, words};
use super::repeat::Repeat;
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
pub type File = Both<Header, Block>;

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

table! {
    /// What exists: at the top of a file, or inside a `[[repeat]]`.
    pub struct Block {
        /// Bodies.
        body: Vec<Body>,
        /// Soft bodies.
        soft: Vec<Soft>,
        /// Joints between bodies.
        joint: Vec<Joint>,
        /// Motors on joints.
        motor: Vec<Motor>,
        /// Gears, racks and differentials between joints.
        gear: Vec<Gear>,
        /// Springs, dampers, bushings, drag, applied forces.
        force: Vec<Force>,
        /// Contacts of two materials that follow no rule.
        surface: Vec<Surface>,
        /// Bodies that never touch each other.
        exclude: Vec<Exclude>,
        /// What is measured after every step.
        sensor: Vec<SensorTable>,
        /// What tells motors and forces what to do.
        controller: Vec<ControllerTable>,
        /// What happens when a condition becomes true.
        event: Vec<EventTable>,
        /// Bodies that wait until an event puts them into the scene.
        template: Vec<Template>,
        /// Facts that a run checks.
        expect: Vec<Expect>,
        /// The same things many times.
        repeat: Vec<Repeat>,
    }
}

table! {
    /// What a surface is made of.
    pub struct Material {
        /// Coefficient of friction; 0.5 without this.
        mu: Option<Of<Pure>>,
        /// Coefficient of restitution (Newton), 0 to 1; 0 without this.
        restitution: Option<Of<Pure>>,
        /// Compliance of a contact; 0 (rigid) without this.
        compliance: Option<Of<Compliance>>,
        /// Damping of a compliant contact.
        damping: Option<Of<Damping>>,
        /// Density of bodies made of it that name neither mass nor density.
        density: Option<Of<Density>>,
    }
}

table! {
    /// The contact of two materials, whatever the rules say.
    pub struct Surface {
        /// The two materials.
        between: [Name; 2],
        /// Coefficient of friction; by the rule without this.
        mu: Option<Of<Pure>>,
        /// Coefficient of restitution; by the rule without this.
        restitution: Option<Of<Pure>>,
        /// Compliance; the sum of both without this.
        compliance: Option<Of<Compliance>>,
        /// Damping; the greater without this.
        damping: Option<Of<Damping>>,
    }
}

table! {
    /// Bodies that never touch each other.
    pub struct Exclude {
        /// The bodies: any two of them.
        bodies: Vec<Name>,
        /// True if only those that overlap at the beginning are meant.
        overlapping: Option<bool>,
    }
}

words! {
    /// How a property of two surfaces becomes one of their contact.
    pub enum Rule {
        /// The mean of both.
        Average = "average",
        /// The smaller.
        Minimum = "minimum",
        /// The greater.
        Maximum = "maximum",
        /// The product.
        Product = "product",
        /// The root of the product.
        GeometricMean = "geometric_mean",
    }
}

table! {
    /// How contacts are found and combined.
    pub struct Contact {
        /// Rule for friction; "minimum" without this.
        mu: Option<Rule>,
        /// Rule for restitution; "maximum" without this.
        restitution: Option<Rule>,
        /// The material of bodies that name none; mu = 0.5, no rebound without this.
        material: Option<Name>,
        /// Pairs of bodies that never touch.
        exclude: Vec<[Name; 2]>,
        /// Gaps up to this are contacts of the next step; chosen from speeds without this.
        prediction: Option<Of<Length>>,
        /// Greatest speed at which overlap is undone; bodies do not keep it.
        recovery_speed: Option<Of<Speed>>,
        /// Approach slower than this does not rebound.
        rebound_speed: Option<Of<Speed>>,
        /// How impacts of one step act on each other; "simultaneous" without this.
        impacts: Option<Impacts>,
        /// True: contacts of two faces are perfectly rigid. Without this they yield at the velocity
        /// tolerance (a nanometre in 1 ms), so that they share their load.
        rigid: Option<bool>,
        /// Springs in place of rigid contacts.
        penalty: Option<Penalty>,
    }
}

words! {
    /// How impacts of one step act on each other.
    pub enum Impacts {
        /// Contacts that touch answer at once, as one solid would.
        Simultaneous = "simultaneous",
        /// One contact after the other, in the order of time: a cradle hands the blow through.
        Sequence = "sequence",
    }
}
