//! The tables of facts that a run checks.

use super::node::{Node, Value};
use super::read::{Read, Reader, Table, table, words};
use super::value::*;
use serde_json::{Map, Value as Json, json};

/// What a fact demands of a value: `is` (within `within`), `at_least`, `at_most`.
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

impl<K: Kind> Read for Bound<K> {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if !matches!(node.value, Value::Table(_)) {
            reader.unwanted(node, "a table such as { is = 0.3, within = 1e-6 } or { at_most = 0.1 }");
            return None;
        }
        reader.known(node, &["is", "within", "at_least", "at_most"]);
        let mut get = |key: &str| reader.field::<Option<Of<K>>>(node, key);
        let (is, within, at_least, at_most) = (get("is"), get("within"), get("at_least"), get("at_most"));
        let si = |x: Option<Of<K>>| x.map(|x| x.si);
        let bound = Bound {
            is: si(is?),
            within: si(within?).unwrap_or(0.0),
            at_least: si(at_least?),
            at_most: si(at_most?),
            kind: std::marker::PhantomData,
        };
        if bound.is.is_some() != node.get("within").is_some() || (bound.is.is_none() && bound.at_least.is_none() && bound.at_most.is_none())
        {
            reader.unwanted(node, "`is` together with `within`, or `at_least`, or `at_most`");
            return None;
        }
        Some(bound)
    }

    fn schema(definitions: &mut Map<String, Json>) -> Json {
        let value = Of::<K>::schema(definitions);
        json!({"type": "object", "properties": {"is": value, "within": value, "at_least": value, "at_most": value}, "additionalProperties": false})
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
        /// What is made of the steps: the fact holds "always" (without this) or "never", or speaks of the "min" or the "max"; over the
        /// whole run without `during`.
        over: Option<Over>,
        /// What the fact is, in words.
        about: Option<String>,
    }
}

table! {
    /// What a fact says: of a body, of a joint, or of the whole scene.
    pub struct Fact {
        /// The body that x … force speak of.
        body: Option<Name>,
        /// The joint that angle and slide speak of.
        joint: Option<Name>,
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
        reader.known(node, &Both::<When, Fact>::keys());
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
        let properties = Both::<When, Fact>::properties(definitions);
        definitions.entry("Expect").or_insert_with(|| super::read::object_schema(properties, "A fact that a run checks."));
        json!({"$ref": "#/$defs/Expect"})
    }
}
