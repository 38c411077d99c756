//! The tables of facts that a run checks.

use super::live::Late;
use super::node::{Node, Value};
use super::read::{Read, Reader, Table, table, words};
use super::unit::Dimension;
use super::value::*;
use serde_json::{Map, Value as Json, json};

/// What a fact demands of a value: `is` (within `within`, or within a share `relative` of it),
/// `at_least`, `at_most`.
#[derive(Clone, Debug)]
pub struct Bound<K> {
    /// The value.
    pub is: Option<f64>,
    /// How far it may be off.
    pub within: f64,
    /// Not less.
    pub at_least: Option<f64>,
    /// Not more.
    pub at_most: Option<f64>,
    kind: std::marker::PhantomData<K>,
}

const BOUND: [&str; 5] = ["is", "within", "relative", "at_least", "at_most"];

impl<K: Kind> Bound<K> {
    /// Reads a bound on a value of a dimension.
    pub fn of(
        node: &Node,
        reader: &mut Reader<'_>,
        dimension: Dimension,
        name: &str,
    ) -> Option<Self> {
        if !matches!(node.value, Value::Table(_)) {
            reader
                .unwanted(node, "a table such as { is = 0.3, within = 1e-6 } or { at_most = 0.1 }");
            return None;
        }
        reader.known(node, &BOUND);
        // All are read before giving up, so that every fault is found.
        let mut get = |key: &str, dimension: Dimension, name: &str| match node.get(key) {
            Some(value) => reader.quantity(value, dimension, name).map(Some),
            None => Some(None),
        };
        let (is, within) = (get("is", dimension, name), get("within", dimension, name));
        let (at_least, at_most) =
            (get("at_least", dimension, name), get("at_most", dimension, name));
        let relative = get("relative", Dimension::NONE, "a pure number");
        let (is, within, relative) = (is?, within?, relative?);
        let slack = within.or(relative.map(|share| share.abs() * is.unwrap_or(0.0).abs()));
        let bound = Bound {
            is,
            within: slack.unwrap_or(0.0),
            at_least: at_least?,
            at_most: at_most?,
            kind: std::marker::PhantomData,
        };
        let nothing = bound.is.is_none() && bound.at_least.is_none() && bound.at_most.is_none();
        if bound.is.is_some() != slack.is_some()
            || (within.is_some() && relative.is_some())
            || nothing
        {
            reader.unwanted(
                node,
                "`is` together with `within` or `relative`, or `at_least`, or `at_most`",
            );
            return None;
        }
        Some(bound)
    }
}

impl<K: Kind> Read for Bound<K> {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        Bound::of(node, reader, K::DIMENSION, K::NAME)
    }

    fn schema(definitions: &mut Map<String, Json>) -> Json {
        let (value, pure) = (Of::<K>::schema(definitions), Of::<Pure>::schema(definitions));
        let keys = json!({"is": value, "within": value, "relative": pure, "at_least": value,
        "at_most": value});
        json!({"type": "object", "properties": keys, "additionalProperties": false})
    }
}

words! {
    /// What is made of many steps.
    pub enum Over {
        /// The fact holds after every step.
        Always = "always",
        /// The fact holds after no step.
        Never = "never",
        /// The fact speaks of the least value.
        Min = "min",
        /// The fact speaks of the greatest value.
        Max = "max",
    }
}

table! {
    /// When a fact is checked.
    pub struct When {
        /// The time; the end of the run without this. Formulas of the fact may use it as t.
        time: Option<Of<Time>>,
        /// From when to when, in place of `time`: the fact is looked at after every step between.
        during: Option<[Of<Time>; 2]>,
        /// What is made of the steps: the fact holds "always" (without this) or "never", or speaks
        /// of the "min" or the "max"; over the whole run without `during`.
        over: Option<Over>,
        /// What the fact is, in words.
        about: Option<String>,
    }
}

table! {
    /// What a fact says: of a body, of a joint, of a sensor, of an event, or of the whole scene.
    pub struct Fact {
        /// The body that x … force speak of.
        body: Option<Name>,
        /// The joint that angle and slide speak of.
        joint: Option<Name>,
        /// The sensor that value speaks of.
        sensor: Option<Name>,
        /// A formula that value speaks of, in place of a sensor.
        formula: Option<Late>,
        /// Value of the sensor or formula, in its unit.
        value: Option<Late>,
        /// The event that count and happens speak of.
        event: Option<Name>,
        /// How often the event has happened.
        count: Option<Bound<Pure>>,
        /// When the event happened last.
        happens: Option<Bound<Time>>,
        /// Position of the body's frame along x.
        x: Option<Bound<Length>>,
        /// Position along y.
        y: Option<Bound<Length>>,
        /// Position along z.
        z: Option<Bound<Length>>,
        /// Velocity of the centre of mass along x.
        vx: Option<Bound<Speed>>,
        /// Velocity along y.
        vy: Option<Bound<Speed>>,
        /// Velocity along z.
        vz: Option<Bound<Speed>>,
        /// Speed of the centre of mass.
        speed: Option<Bound<Speed>>,
        /// Angular speed.
        angular_speed: Option<Bound<AngularSpeed>>,
        /// Angle between the body's z axis and where it pointed at the beginning.
        tilt: Option<Bound<Angle>>,
        /// Sum of the contact forces on the body along z (mean over the last step).
        contact_force_z: Option<Bound<super::value::Force>>,
        /// Angle of the joint from its place at the beginning, over full turns.
        angle: Option<Bound<Angle>>,
        /// Displacement of the joint along its axis.
        slide: Option<Bound<Length>>,
        /// Kinetic energy of the scene, or of the body.
        kinetic: Option<Bound<Energy>>,
        /// Kinetic and potential energy, less that at the beginning.
        energy_change: Option<Bound<Energy>>,
        /// Deepest overlap so far.
        penetration: Option<Bound<Length>>,
        /// Worst error of a step so far, relative to its energy scale.
        error: Option<Bound<Pure>>,
        /// What the energy ledger misses, at worst, relative to its scale.
        ledger: Option<Bound<Pure>>,
        /// Number of contacts in the last step.
        contacts: Option<Bound<Pure>>,
    }
}

/// A fact that a run checks.
#[derive(Clone, Debug)]
pub struct Expect {
    /// When.
    pub when: When,
    /// What.
    pub fact: Fact,
    /// Where it stands.
    pub at: super::node::Span,
}

impl Read for Expect {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if !matches!(node.value, Value::Table(_)) {
            reader.unwanted(node, "a table");
            return None;
        }
        reader.known(node, &Joined::<When, Fact>::keys());
        let when = When::fields(node, reader);
        let depth = reader.scope.depth();
        let time = when.as_ref().and_then(|w| w.time).map(|t| t.si);
        if let Some(t) = time {
            reader.scope.bind("t", t, Time::DIMENSION);
        }
        let fact = Fact::fields(node, reader);
        reader.scope.release(depth);
        Some(Expect { when: when?, fact: fact?, at: node.span.clone() })
    }
    fn schema(definitions: &mut Map<String, Json>) -> Json {
        let properties = Joined::<When, Fact>::properties(definitions);
        definitions
            .entry("Expect")
            .or_insert_with(|| super::read::object_schema(properties, "A fact that a run checks."));
        json!({"$ref": "#/$defs/Expect"})
    }
}
