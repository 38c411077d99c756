//! Formulas over what is measured: texts that get their meaning when everything exists.

use super::expression::{Names, Typed, compile, evaluate};
use super::node::{Node, Value};
use super::read::{Read, Reader, Scope};
use super::unit::{Dimension, Quantity};
use super::value::{Kind, Timed};
use crate::spelling::suggestion;
use serde_json::{Map, Value as Json, json};
use signorini_mechanics::control::coordinate;
use signorini_mechanics::scene::{
    self, Axis, BodyId, Coordinate, Formula, Function, JointId, MotorId, Scene,
};
use std::collections::HashMap;
use std::marker::PhantomData;

const LENGTH: Dimension = Dimension::new(1, 0, 0, 0);
const SPEED: Dimension = Dimension::new(1, 0, -1, 0);
const ANGLE: Dimension = Dimension::new(0, 0, 0, 1);
const SPIN: Dimension = Dimension::new(0, 0, -1, 1);
const TIME: Dimension = Dimension::new(0, 0, 1, 0);
const FORCE: Dimension = Dimension::new(1, 1, -2, 0);
const TORQUE: Dimension = Dimension::new(2, 1, -2, 0);

/// A value whose meaning depends on what it belongs to: it is kept as it stands, with the names
/// that were bound there.
#[derive(Clone, Debug)]
pub struct Late {
    /// What stands there; `{i}` in its text is replaced.
    pub node: Node,
    /// Indices of repetitions.
    bound: Vec<(String, Quantity)>,
}

impl Read for Late {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let mut node = node.clone();
        if let Value::Text(text) = &node.value
            && text.contains('{')
        {
            node.value = Value::Text(reader.text(&node)?);
        }
        Some(Late { node, bound: reader.scope.bound().to_vec() })
    }
    fn schema(_: &mut Map<String, Json>) -> Json {
        json!({"type": ["number", "string"], "description": "a number, or a formula over sensors, \
            quantities of things and t"})
    }
}

impl Late {
    /// A formula of a dimension (of any without one); a fault is noted at its place.
    pub fn formula(
        &self,
        reader: &mut Reader<'_>,
        live: &Live<'_>,
        wanted: Option<Dimension>,
    ) -> Option<Typed> {
        let units = reader.units[self.node.span.file];
        match &self.node.value {
            Value::Number(x) if x.is_finite() => {
                let dimension = wanted.unwrap_or_default();
                Some(Typed { formula: units.si(*x, dimension).into(), dimension })
            }
            Value::Bool(yes) if wanted.is_none() => Some(Typed {
                formula: f64::from(u8::from(*yes)).into(),
                dimension: Dimension::NONE,
            }),
            Value::Text(text) => {
                let depth = reader.scope.depth();
                self.bound
                    .iter()
                    .for_each(|(name, q)| reader.scope.bind(name.clone(), q.value, q.dimension));
                let compiled = compile(
                    text,
                    &mut LiveNames { live, scope: &mut reader.scope },
                    &units,
                    wanted,
                );
                reader.scope.release(depth);
                compiled.map_err(|wrong| reader.wrong(&self.node, text, 0, wrong)).ok()
            }
            _ => {
                reader.unwanted(&self.node, "a number, or a text with a formula");
                None
            }
        }
    }

    /// Its text; empty where none stands.
    pub fn text(&self) -> String {
        if let Value::Text(text) = &self.node.value { text.clone() } else { String::new() }
    }

    /// A value that does not change.
    pub fn constant(&self, reader: &mut Reader<'_>, wanted: Dimension, what: &str) -> Option<f64> {
        let depth = reader.scope.depth();
        self.bound
            .iter()
            .for_each(|(name, q)| reader.scope.bind(name.clone(), q.value, q.dimension));
        let value = reader.quantity(&self.node, wanted, what);
        reader.scope.release(depth);
        value
    }
}

/// A function of time, or a formula over what is measured.
#[derive(Clone, Debug)]
pub struct Driven<K> {
    function: Option<Function>,
    /// The formula, if it is one.
    pub formula: Option<Late>,
    kind: PhantomData<K>,
}

impl<K: Kind> Driven<K> {
    /// The function of time; zero where a formula stands.
    pub fn function(&self) -> Function {
        self.function.clone().unwrap_or_default()
    }

    /// The dimension of its values.
    pub fn dimension(&self) -> Dimension {
        K::DIMENSION
    }
}

impl<K: Kind> Read for Driven<K> {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if let Value::Text(text) = &node.value {
            let late = Late::read(node, reader)?;
            let text = if let Value::Text(text) = &late.node.value { text } else { text };
            // What has a value now is a value; what has none may speak of things that are not there
            // yet.
            let measured = evaluate(text, &mut reader.scope).is_err()
                && text.contains(|c: char| c.is_alphabetic());
            if measured {
                return Some(Driven { function: None, formula: Some(late), kind: PhantomData });
            }
        }
        let timed = Timed::<K>::read(node, reader)?;
        Some(Driven { function: Some(timed.function), formula: None, kind: PhantomData })
    }
    fn schema(definitions: &mut Map<String, Json>) -> Json {
        Timed::<K>::schema(definitions)
    }
}

/// What formulas may name: everything that a scene has so far.
pub struct Live<'a> {
    /// The scene.
    pub scene: &'a Scene,
    /// Dimensions of its sensors and variables, by name.
    pub dimensions: &'a HashMap<String, Dimension>,
    /// Whether `length` and `rate` of a spring are meant.
    pub spring: bool,
}

struct LiveNames<'a> {
    live: &'a Live<'a>,
    scope: &'a mut Scope,
}

impl Names for LiveNames<'_> {
    fn value(&mut self, name: &str) -> Option<Result<Quantity, String>> {
        // Time goes on here.
        if name == "t" { None } else { self.scope.value(name) }
    }

    fn all(&self) -> Vec<String> {
        let scene = self.live.scene;
        let names = scene
            .sensors
            .iter()
            .map(|s| s.name.clone())
            .chain(scene.variables.iter().map(|v| v.name.clone()));
        let things = scene
            .bodies
            .iter()
            .map(|b| b.name.clone())
            .chain(scene.joints.iter().map(|j| j.name.clone()));
        let told = scene
            .motors
            .iter()
            .map(|m| m.name.clone())
            .chain(scene.events.iter().map(|e| e.name.clone()));
        self.scope.all().into_iter().chain(names).chain(things).chain(told).collect()
    }

    fn measured(&mut self, name: &str, quantity: Option<&str>) -> Option<Result<Typed, String>> {
        match quantity {
            None => self.live.bare(name).map(Ok),
            Some(quantity) => self.live.of_thing(name, quantity),
        }
    }
}

const OF_BODY: [&str; 18] = [
    "x",
    "y",
    "z",
    "vx",
    "vy",
    "vz",
    "speed",
    "wx",
    "wy",
    "wz",
    "angular_speed",
    "tilt",
    "kinetic",
    "there",
    "contact_force",
    "contact_force_x",
    "contact_force_y",
    "contact_force_z",
];
const OF_JOINT: [&str; 8] = [
    "angle",
    "slide",
    "distance",
    "rate",
    "angle_rate",
    "slide_rate",
    "reaction",
    "reaction_torque",
];
const OF_MOTOR: [&str; 2] = ["effort", "target"];
const OF_EVENT: [&str; 2] = ["count", "since"];

impl Live<'_> {
    fn bare(&self, name: &str) -> Option<Typed> {
        use scene::Quantity as Q;
        let dimension = || self.dimensions.get(name).copied().unwrap_or_default();
        let typed = |q: Q, dimension| Some(Typed { formula: q.into(), dimension });
        match name {
            "length" if self.spring => typed(Q::Length, LENGTH),
            "rate" if self.spring => typed(Q::LengthRate, SPEED),
            _ => {
                let sensor = self.scene.sensor_named(name).map(Q::Sensor);
                match sensor.or_else(|| self.scene.variable_named(name).map(Q::Variable)) {
                    Some(q) => typed(q, dimension()),
                    None if name == "t" => typed(Q::Time, TIME),
                    None => None,
                }
            }
        }
    }

    /// A quantity of a thing; an error lists what there is.
    pub fn of_thing(&self, name: &str, quantity: &str) -> Option<Result<Typed, String>> {
        let (body, joint) = (self.scene.body_named(name), self.scene.joint_named(name));
        let (motor, event) = (self.scene.motor_named(name), self.scene.event_named(name));
        let found = body
            .and_then(|b| self.of_body(b, quantity))
            .or_else(|| joint.and_then(|j| self.of_joint(j, quantity)))
            .or_else(|| motor.and_then(|m| self.of_motor(m, quantity)))
            .or_else(|| {
                let q = match quantity {
                    "count" => (scene::Quantity::Count(event?), Dimension::NONE),
                    "since" => (scene::Quantity::Since(event?), TIME),
                    _ => return None,
                };
                Some(q)
            });
        if let Some((q, dimension)) = found {
            return Some(Ok(Typed { formula: q.into(), dimension }));
        }
        let mut known: Vec<&str> = Vec::new();
        known.extend(body.iter().flat_map(|_| OF_BODY));
        known.extend(joint.iter().flat_map(|_| OF_JOINT));
        known.extend(motor.iter().flat_map(|_| OF_MOTOR));
        known.extend(event.iter().flat_map(|_| OF_EVENT));
        if known.is_empty() {
            return None;
        }
        Some(Err(suggestion(quantity, &known)))
    }

    fn of_body(&self, body: BodyId, quantity: &str) -> Option<(scene::Quantity, Dimension)> {
        use scene::Quantity as Q;
        let axis = match quantity.chars().last() {
            Some('x') => Axis::X,
            Some('y') => Axis::Y,
            _ => Axis::Z,
        };
        Some(match quantity {
            "x" | "y" | "z" => (Q::Position(body, axis), LENGTH),
            "vx" | "vy" | "vz" => (Q::Velocity(body, axis), SPEED),
            "wx" | "wy" | "wz" => (Q::AngularVelocity(body, axis), SPIN),
            "speed" => (Q::Speed(body), SPEED),
            "angular_speed" => (Q::AngularSpeed(body), SPIN),
            "tilt" => (Q::Tilt(body), ANGLE),
            "kinetic" => (Q::Kinetic(body), TORQUE),
            "there" => (Q::There(body), Dimension::NONE),
            "contact_force" => (Q::ContactForce { body, other: None, axis: None }, FORCE),
            "contact_force_x" | "contact_force_y" | "contact_force_z" => {
                (Q::ContactForce { body, other: None, axis: Some(axis) }, FORCE)
            }
            _ => return None,
        })
    }

    fn of_joint(&self, joint: JointId, quantity: &str) -> Option<(scene::Quantity, Dimension)> {
        use scene::Quantity as Q;
        let value = |c: Coordinate| if c == Coordinate::Angle { ANGLE } else { LENGTH };
        let rate = |c: Coordinate| if c == Coordinate::Angle { SPIN } else { SPEED };
        let main = coordinate(&self.scene.joints[joint.index()]);
        Some(match quantity {
            "angle" => (Q::Value(joint, Coordinate::Angle), ANGLE),
            "slide" => (Q::Value(joint, Coordinate::Slide), LENGTH),
            "distance" => (Q::Value(joint, Coordinate::Distance), value(Coordinate::Distance)),
            "rate" => (Q::Rate(joint, main), rate(main)),
            "angle_rate" => (Q::Rate(joint, Coordinate::Angle), SPIN),
            "slide_rate" => (Q::Rate(joint, Coordinate::Slide), SPEED),
            "reaction" => (Q::JointForce(joint), FORCE),
            "reaction_torque" => (Q::JointTorque(joint), TORQUE),
            _ => return None,
        })
    }

    fn of_motor(&self, motor: MotorId, quantity: &str) -> Option<(scene::Quantity, Dimension)> {
        use scene::Quantity as Q;
        match quantity {
            "effort" => {
                let turns = self.scene.motors[motor.index()].coordinate == Coordinate::Angle;
                Some((Q::Effort(motor), if turns { TORQUE } else { FORCE }))
            }
            "target" => Some((Q::Target(motor), wanted_by(self.scene, motor))),
            _ => None,
        }
    }
}

/// The dimension of what a motor is told.
pub fn wanted_by(scene: &Scene, motor: MotorId) -> Dimension {
    use scene::Drive;
    let motor = &scene.motors[motor.index()];
    let turns = motor.coordinate == Coordinate::Angle;
    let choose = |turning: Dimension, sliding: Dimension| if turns { turning } else { sliding };
    match motor.drive {
        Drive::Position(_) | Drive::Servo { .. } => choose(ANGLE, LENGTH),
        Drive::Speed(_) | Drive::LimitedSpeed { .. } | Drive::SpeedServo { .. } => {
            choose(SPIN, SPEED)
        }
        Drive::Effort(_) => choose(TORQUE, FORCE),
    }
}

/// A formula over the things of a scene, in SI units: `-40*knee.angle - 2*knee.rate`,
/// `box.x > 1 m`.
///
/// ```
/// use signorini_files::scenefile::live::formula;
/// use signorini_mechanics::scene::{Body, Mass, Scene};
///
/// let mut scene = Scene::new("one");
/// scene.add_body(Body::rigid("crate", Mass::sphere(1.0, 0.1)));
/// assert!(formula(&scene, "2*crate.x - 3 mm").is_ok());
/// assert!(formula(&scene, "crate.xx").unwrap_err().contains("did you mean"));
/// ```
pub fn formula(scene: &Scene, text: &str) -> Result<Formula, String> {
    let (mut scope, dimensions) = (Scope::default(), HashMap::new());
    let live = Live { scene, dimensions: &dimensions, spring: false };
    let compiled =
        compile(text, &mut LiveNames { live: &live, scope: &mut scope }, &Default::default(), None);
    compiled
        .map(|typed| typed.formula)
        .map_err(|wrong| format!("\"{text}\": {}: {}", wrong.message, wrong.wanted))
}
