//! The tables of a scene file. Their comments are the reference of the format: `signorini schema`
//! prints them.

pub use super::control::{
    ActionTable, ControllerTable, EventTable, PidTable, RayTable, SensorTable, Template,
};
pub use super::facts::*;
pub use super::links::{
    Applied, Breaks, Bushing, Drag, Force, Gear, Joint, JointArmature, JointFriction, JointKind,
    Limits, Motor, Rack, Ratio, Spring, Tension, Term, Torsion,
};
pub use super::soft::{Penalty, Soft};

use super::node::{Node, Value};
use super::read::{Read, Reader, Table, table, words};
use super::repeat::Repeat;
use super::unit::Dimension;
use super::value::*;
use serde_json::{Map, Value as Json, json};

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
    /// The friction law.
    pub enum Law {
        /// The true law of Coulomb.
        Coulomb = "coulomb",
        /// The convex (associated) law: sliding contacts dilate.
        Cone = "cone",
    }
}

words! {
    /// What happens with a step whose error is not accepted.
    pub enum Policy {
        /// It is divided.
        Substep = "substep",
        /// It is taken, and the report says so.
        Accept = "accept",
        /// The run ends.
        Stop = "stop",
    }
}

words! {
    /// How the energy of a step's velocity error is found.
    pub enum Estimate {
        /// From the residuals: cheap, no bound.
        Residual = "residual",
        /// By a certificate, proved under convex laws: about twice the work.
        Certificate = "certificate",
    }
}

words! {
    /// How time goes on.
    pub enum Integrator {
        /// Velocities and impulses step by step; contacts, stops and dry friction.
        Stepping = "stepping",
        /// Accelerations of a mechanism without contact, by symbolic preprocessing and Runge-Kutta.
        Acceleration = "acceleration",
    }
}

words! {
    /// The time scheme of integrator = "stepping".
    pub enum Scheme {
        /// Second order between events: velocities of the middle of the step, impacts with their
        /// time.
        Leapfrog = "leapfrog",
        /// First order, semi-implicit: the form of the papers.
        Euler = "euler",
    }
}

words! {
    /// In which coordinates mechanisms move.
    pub enum Coordinates {
        /// Those of trees where they cost less.
        Auto = "auto",
        /// Trees of bodies in the coordinates of their joints: their joints are no rows and cannot
        /// drift.
        Tree = "tree",
        /// Every body in its own six velocities, every joint as rows: the form of the papers.
        Bodies = "bodies",
    }
}

words! {
    /// How the error of the time scheme is estimated.
    pub enum TimeError {
        /// From the change of the acceleration, without a further solve.
        Free = "free",
        /// From one step of dt and two of dt/2, which are kept: three solves.
        Doubling = "doubling",
    }
}

words! {
    /// Runge-Kutta methods for integrator = "acceleration".
    pub enum RungeKutta {
        /// Order 4, steps of dt.
        Classical = "runge_kutta_4",
        /// Order 5(4), steps within dt chosen by `tolerance`.
        DormandPrince = "dormand_prince",
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

words! {
    /// Tolerances that go together.
    pub enum Preset {
        /// 1e-8 of the energy scale, 1e-6 m/s.
        Exact = "exact",
        /// 1e-4 of the energy scale, 1e-2 g dt; the estimate of the motion's error is reported, not
        /// waited for.
        Engineering = "engineering",
        /// 1e-2 of the energy scale, 1e-1 g dt; the estimate of the motion's error is reported, not
        /// waited for.
        Fast = "fast",
    }
}

table! {
    /// How the scene is simulated.
    pub struct Run {
        /// Length of a step; 2 ms without this.
        dt: Option<At<Of<Time>>>,
        /// When to end; 1 s without this.
        t_end: Option<At<Of<Time>>>,
        /// How time goes on; "stepping" without this.
        integrator: Option<Integrator>,
        /// With integrator = "stepping": the time scheme; "euler" without this.
        scheme: Option<Scheme>,
        /// With integrator = "stepping": in which coordinates mechanisms move; "auto" without this.
        coordinates: Option<Coordinates>,
        /// How the error of the time scheme is estimated; "free" without this.
        time_error: Option<TimeError>,
        /// Largest error of a position in one step ("0.1 mm"): steps are chosen within dt, by
        /// doubling.
        accuracy: Option<Of<Length>>,
        /// With integrator = "acceleration": which Runge-Kutta method; "runge_kutta_4" without
        /// this.
        method: Option<RungeKutta>,
        /// With integrator = "acceleration": false if the drift of the joints is not to be taken
        /// away.
        stabilised: Option<bool>,
        /// Which solver; "auto" without this.
        solver: Option<Name>,
        /// Which friction law; "coulomb" without this.
        law: Option<Law>,
        /// Largest error of a step, relative to its energy scale; 1e-8 without this.
        tolerance: Option<Of<Pure>>,
        /// Tolerances that go together; "exact" without this. Those that are given as well count.
        preset: Option<Preset>,
        /// Largest velocity by which a constraint may be wrong; without this 1e-6 m/s, or where
        /// `tolerance` is given its root times g dt (without gravity the slowest speed of the
        /// scene) if that is more.
        velocity_tolerance: Option<Of<Speed>>,
        /// Largest energy by which the motion of a step may be wrong (the estimate), relative to
        /// its energy scale; the root of `tolerance` without this.
        bound_tolerance: Option<Of<Pure>>,
        /// How the energy of the velocity error is found (`solver = "auto"` alone); from the
        /// residuals without this.
        estimate: Option<Estimate>,
        /// Most sweeps or iterations of a step.
        iterations: Option<Count>,
        /// What happens with a step whose error is not accepted.
        policy: Option<Policy>,
        /// Every how many steps the tables get rows; about 500 times per run without this.
        record_every: Option<Count>,
    }
}

table! {
    /// A rotation: about an axis by an angle, by roll-pitch-yaw, or a quaternion.
    pub struct Rotation {
        /// The axis, of any length.
        axis: Option<Vector<Pure>>,
        /// The angle about it.
        angle: Option<Of<Angle>>,
        /// Angles about the fixed x, then y, then z axis.
        rpy: Option<Vector<Angle>>,
        /// Quaternion x, y, z, w.
        quaternion: Option<[Of<Pure>; 4]>,
    }
}

table! {
    /// A frame.
    pub struct Frame {
        /// Its origin.
        position: Option<Vector<Length>>,
        /// How it is turned.
        rotation: Option<At<Rotation>>,
    }
}

table! {
    /// A body: rigid with a mass, or `fixed`, or moved by a `motion`.
    pub struct Body {
        /// Its name, unique in the scene; "ground" is there already.
        name: Name,
        /// True if it never moves.
        fixed: Option<bool>,
        /// It moves as told, whatever pushes against it.
        motion: Option<Motion>,
        /// Its mass.
        mass: Option<Of<Mass>>,
        /// Its density, if no mass is given.
        density: Option<Of<Density>>,
        /// Inertia about the centre of mass: three principal moments, or the rows of the matrix;
        /// from the shapes without this.
        inertia: Option<InertiaForm>,
        /// Centre of mass in the frame of the body; from the shapes without this.
        center: Option<Vector<Length>>,
        /// What touches: one shape or a list of shapes.
        shape: Many<Shape>,
        /// Where the frame of the body is at the beginning.
        position: Option<Vector<Length>>,
        /// How it is turned at the beginning.
        rotation: Option<At<Rotation>>,
        /// Velocity of the centre of mass at the beginning.
        velocity: Option<Vector<Speed>>,
        /// Angular velocity at the beginning, along the axes of the world.
        angular_velocity: Option<Vector<AngularSpeed>>,
        /// What its surface is made of.
        material: Option<Name>,
        /// The group of its shapes, for `touches`.
        group: Option<Name>,
        /// Groups that it touches; all without this.
        touches: Option<Vec<Name>>,
    }
}

/// Inertia: three principal moments or a matrix.
#[derive(Clone, Copy, Debug)]
pub struct InertiaForm(pub [[f64; 3]; 3]);

impl Read for InertiaForm {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let matrix = matches!(&node.value,
        Value::List(list) if list.iter().any(|x| matches!(x.value, Value::List(_))));
        if matrix {
            let rows = <[Vector<Inertia>; 3]>::read(node, reader)?;
            return Some(InertiaForm(rows.map(|row| row.map(|x| x.si))));
        }
        let d = Vector::<Inertia>::read(node, reader)?;
        Some(InertiaForm(std::array::from_fn(|i| {
            std::array::from_fn(|j| if i == j { d[i].si } else { 0.0 })
        })))
    }
    fn schema(definitions: &mut Map<String, Json>) -> Json {
        json!({"anyOf": [Vector::<Inertia>::schema(definitions),
        <[Vector<Inertia>; 3]>::schema(definitions)]})
    }
}

table! {
    /// An imposed motion: a rotation about an axis of the world, then a displacement, both from the
    /// initial place.
    pub struct Motion {
        /// Displacement along x.
        x: Option<Timed<Length>>,
        /// Displacement along y.
        y: Option<Timed<Length>>,
        /// Displacement along z.
        z: Option<Timed<Length>>,
        /// Angle about the axis.
        angle: Option<Timed<Angle>>,
        /// The axis, of any length; z without this.
        axis: Option<Vector<Pure>>,
        /// A point of the axis; the place of the body without this.
        center: Option<Vector<Length>>,
    }
}

table! {
    /// A shape of a body: exactly one of sphere, box, capsule, cylinder, cone, hull, mesh,
    /// half_space, height_field.
    pub struct ShapeFields {
        /// A ball of this radius.
        sphere: Option<Of<Length>>,
        /// A cylinder with half-balls at its ends, along z.
        capsule: Option<Round>,
        /// A cylinder along z.
        cylinder: Option<Round>,
        /// A cone along z, its base below; `length` is its height, its centre halfway.
        cone: Option<Round>,
        /// The convex hull of points.
        hull: Option<Vec<Vector<Length>>>,
        /// A triangle mesh.
        mesh: Option<Mesh>,
        /// Everything below the xy plane (true).
        half_space: Option<bool>,
        /// A surface over a grid; solid below.
        height_field: Option<HeightField>,
        /// Where the shape is in the frame of the body.
        position: Option<Vector<Length>>,
        /// How it is turned there.
        rotation: Option<At<Rotation>>,
        /// What it is made of; the material of the body without this.
        material: Option<Name>,
        /// Its density; that of the body without this.
        density: Option<Of<Density>>,
        /// Velocity of the surface relative to the body, in body axes: a conveyor belt.
        belt: Option<Vector<Speed>>,
        /// Thickness of a skin around it.
        margin: Option<Of<Length>>,
        /// Its group, for `touches`; that of the body without this.
        group: Option<Name>,
        /// Groups that it touches; those of the body without this.
        touches: Option<Vec<Name>>,
    }
}

/// A shape, or several if it has a `count`.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The copies: one unless repeated.
    pub copies: Vec<(ShapeFields, Option<Vector<Length>>)>,
    /// Where it stands.
    pub at: super::node::Span,
}

/// The kinds of shapes.
pub const SHAPES: [&str; 9] =
    ["sphere", "box", "capsule", "cylinder", "cone", "hull", "mesh", "half_space", "height_field"];

impl Read for Shape {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if !matches!(node.value, Value::Table(_)) {
            reader.unwanted(node, "a table such as { sphere = 0.1 } or { box = [1, 2, 3] }");
            return None;
        }
        let mut keys = ShapeFields::keys();
        keys.extend(["box", "count"]);
        reader.known(node, &keys);
        let kind = reader.exactly_one(node, &SHAPES);
        let count = reader.field::<Option<Count>>(node, "count")?;
        let depth = reader.scope.depth();
        let copies: Vec<Option<_>> = (0..count.map_or(1, |c| c.0.min(100_000)))
            .map(|i| {
                if count.is_some() {
                    reader.scope.bind("k", i as f64, Dimension::NONE);
                }
                // `box` is a word of the language; its field is read by hand.
                let edges = reader.field::<Option<Vector<Length>>>(node, "box");
                let fields = ShapeFields::fields(node, reader);
                reader.scope.release(depth);
                Some((fields?, edges?))
            })
            .collect();
        kind?;
        Some(Shape { copies: copies.into_iter().collect::<Option<_>>()?, at: node.span.clone() })
    }

    fn schema(definitions: &mut Map<String, Json>) -> Json {
        if !definitions.contains_key("Shape") {
            let mut properties = ShapeFields::properties(definitions);
            let edges = super::read::described(
                Vector::<Length>::schema(definitions),
                "A box with these edges, its centre at the origin.",
            );
            properties.insert(1, ("box", edges, false));
            let count = super::read::described(
                Count::schema(definitions),
                "How many copies; their formulas may use k = 0, 1, ….",
            );
            properties.push(("count", count, false));
            let mut object = super::read::object_schema(properties, ShapeFields::ABOUT);
            object["oneOf"] = SHAPES.iter().map(|kind| json!({"required": [kind]})).collect();
            definitions.insert("Shape".into(), object);
        }
        json!({"$ref": "#/$defs/Shape"})
    }
}

table! {
    /// A round shape along z.
    pub struct Round {
        /// Its radius.
        radius: Of<Length>,
        /// Its length (of a capsule: between the centres of the half-balls).
        length: Of<Length>,
    }
}

table! {
    /// A triangle mesh.
    pub struct Mesh {
        /// Corners.
        vertices: Vec<Vector<Length>>,
        /// Three corners each, counter-clockwise seen from outside.
        triangles: Vec<[Count; 3]>,
        /// A file (.stl, .obj, .dae) beside the scene file, in place of vertices and triangles.
        file: Option<Name>,
        /// What one unit of the file is in metres, along x, y, z: [0.001, 0.001, 0.001] for
        /// millimetres; 1 without this.
        scale: Option<Vector<Pure>>,
        /// True if the convex hull of the mesh stands for it.
        hull: Option<bool>,
    }
}

table! {
    /// Heights over a grid centred at the origin.
    pub struct HeightField {
        /// Number of grid lines across x and across y.
        counts: [Count; 2],
        /// Distance of grid lines in x and in y.
        spacing: [Of<Length>; 2],
        /// Heights; x runs fastest.
        heights: Vec<Of<Length>>,
    }
}
