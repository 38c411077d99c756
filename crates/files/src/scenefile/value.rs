//! The small things that tables are made of: quantities, texts, lists, names, functions of time.

use super::node::{Node, Span, Value};
use super::read::{Read, Reader, Table, described, object_schema};
use super::unit::Dimension;
use glam::DVec3;
use serde_json::{Map, Value as Json, json};
use signorini_mechanics::scene::Function;
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// A kind of quantity.
pub trait Kind: Clone + std::fmt::Debug {
    /// Its dimension.
    const DIMENSION: Dimension;
    /// What it is called.
    const NAME: &'static str;
}

macro_rules! kinds {
    ($($(#[$doc:meta])+ $name:ident, $words:literal, ($l:literal, $m:literal, $t:literal,
    $a:literal);)+) => {
        $($(#[$doc])+
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name;
        impl Kind for $name {
            const DIMENSION: Dimension = Dimension::new($l, $m, $t, $a);
            const NAME: &'static str = $words;
        })+
    };
}

kinds! {
    /// A pure number.
    Pure, "a pure number", (0, 0, 0, 0);
    /// m.
    Length, "a length", (1, 0, 0, 0);
    /// kg.
    Mass, "a mass", (0, 1, 0, 0);
    /// s.
    Time, "a time", (0, 0, 1, 0);
    /// rad.
    Angle, "an angle", (0, 0, 0, 1);
    /// m/s.
    Speed, "a speed", (1, 0, -1, 0);
    /// rad/s.
    AngularSpeed, "an angular speed", (0, 0, -1, 1);
    /// m/s².
    Acceleration, "an acceleration", (1, 0, -2, 0);
    /// 1/s.
    Frequency, "a frequency", (0, 0, -1, 0);
    /// kg/m³.
    Density, "a density", (-3, 1, 0, 0);
    /// Pa.
    Pressure, "a pressure", (-1, 1, -2, 0);
    /// kg m².
    Inertia, "a moment of inertia", (2, 1, 0, 0);
    /// N.
    Force, "a force", (1, 1, -2, 0);
    /// N m.
    Torque, "a torque", (2, 1, -2, 0);
    /// N/m.
    Stiffness, "a stiffness", (0, 1, -2, 0);
    /// N s/m.
    Damping, "a damping", (0, 1, -1, 0);
    /// N s²/m².
    QuadraticDamping, "a quadratic damping", (-1, 1, 0, 0);
    /// N m/rad.
    AngularStiffness, "an angular stiffness", (2, 1, -2, -1);
    /// N m s/rad.
    AngularDamping, "an angular damping", (2, 1, -1, -1);
    /// m/N.
    Compliance, "a compliance", (0, -1, 2, 0);
    /// J.
    Energy, "an energy", (2, 1, -2, 0);
}

/// A value of some kind, in SI.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Of<K> {
    /// The value, SI.
    pub si: f64,
    kind: PhantomData<K>,
}

impl<K: Kind> Read for Of<K> {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        Some(Of { si: reader.quantity(node, K::DIMENSION, K::NAME)?, kind: PhantomData })
    }

    fn schema(definitions: &mut Map<String, Json>) -> Json {
        let name = K::NAME.trim_start_matches("an ").trim_start_matches("a ").replace(' ', "_");
        let about = format!(
            "{}: a number in the units of the file, or a text with units ({}) or a formula",
            K::NAME,
            K::DIMENSION.symbol()
        );
        definitions
            .entry(name.clone())
            .or_insert_with(|| json!({"type": ["number", "string"], "description": about}));
        json!({"$ref": format!("#/$defs/{name}")})
    }
}

/// A value along an axis or about one: which of the two is known only from what it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct Either<L, A> {
    /// As a value along an axis, SI, if its unit is one.
    pub linear: Option<f64>,
    /// As a value about an axis, SI, if its unit is one.
    pub angular: Option<f64>,
    /// Where it stands.
    pub at: Span,
    kinds: PhantomData<(L, A)>,
}

impl<L: Kind, A: Kind> Read for Either<L, A> {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let noted = reader.faults.len();
        let linear = reader.quantity(node, L::DIMENSION, L::NAME);
        let faults = reader.faults.split_off(noted);
        let angular = reader.quantity(node, A::DIMENSION, A::NAME);
        reader.faults.truncate(noted);
        if linear.is_none() && angular.is_none() {
            reader.faults.extend(faults);
            return None;
        }
        Some(Either { linear, angular, at: node.span.clone(), kinds: PhantomData })
    }

    fn schema(definitions: &mut Map<String, Json>) -> Json {
        json!({"anyOf": [Of::<L>::schema(definitions), Of::<A>::schema(definitions)]})
    }
}

/// A vector of some kind.
pub type Vector<K> = [Of<K>; 3];

/// The numbers of a vector.
pub fn vector<K>(v: &Vector<K>) -> DVec3 {
    DVec3::new(v[0].si, v[1].si, v[2].si)
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub at: Span,
}

impl<T: Read> Read for At<T> {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        Some(At { value: T::read(node, reader)?, at: node.span.clone() })
    }
    fn schema(definitions: &mut Map<String, Json>) -> Json {
        T::schema(definitions)
    }
}

/// A name or reference with its place; in a repeated block it may contain `{i}`.
pub type Name = At<String>;

impl Read for String {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        reader.text(node)
    }
    fn schema(_: &mut Map<String, Json>) -> Json {
        json!({"type": "string"})
    }
}

impl Read for bool {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        match node.value {
            Value::Bool(value) => Some(value),
            _ => {
                reader.unwanted(node, "true or false");
                None
            }
        }
    }
    fn schema(_: &mut Map<String, Json>) -> Json {
        json!({"type": "boolean"})
    }
}

/// How many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(pub usize);

impl Read for Count {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let value = reader.quantity(node, Dimension::NONE, "a whole number")?;
        // Formulas round: 0.3/0.1 is not quite 3.
        let whole = value.round();
        if (value - whole).abs() > 1e-9 || !(0.0..=1e9).contains(&whole) {
            reader.fault(
                &node.span,
                format!("found {value}"),
                "wanted a whole number from 0 to 1e9",
            );
            return None;
        }
        Some(Count(whole as usize))
    }
    fn schema(_: &mut Map<String, Json>) -> Json {
        json!({"type": ["integer", "string"], "minimum": 0})
    }
}

impl<T: Read> Read for Option<T> {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        T::read(node, reader).map(Some)
    }
    fn schema(definitions: &mut Map<String, Json>) -> Json {
        T::schema(definitions)
    }
    fn missing() -> Option<Self> {
        Some(None)
    }
}

/// A large table that few things have.
impl<T: Read> Read for Box<T> {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        T::read(node, reader).map(Box::new)
    }
    fn schema(definitions: &mut Map<String, Json>) -> Json {
        T::schema(definitions)
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let Value::List(list) = &node.value else {
            let wanted = if matches!(node.value, Value::Table(_)) {
                "a list (in TOML, a table in a list begins with [[…]])"
            } else {
                "a list"
            };
            reader.unwanted(node, wanted);
            return None;
        };
        // Read all before giving up, so that every fault is found.
        let items: Vec<Option<T>> = list.iter().map(|item| T::read(item, reader)).collect();
        items.into_iter().collect()
    }
    fn schema(definitions: &mut Map<String, Json>) -> Json {
        json!({"type": "array", "items": T::schema(definitions)})
    }
    fn missing() -> Option<Self> {
        Some(Vec::new())
    }
}

impl<T: Read, const N: usize> Read for [T; N] {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        match &node.value {
            Value::List(list) if list.len() == N => {
                let items: Vec<Option<T>> = list.iter().map(|item| T::read(item, reader)).collect();
                items.into_iter().collect::<Option<Vec<T>>>()?.try_into().ok()
            }
            _ => {
                reader.unwanted(node, &format!("a list of {N}"));
                None
            }
        }
    }
    fn schema(definitions: &mut Map<String, Json>) -> Json {
        json!({"type": "array", "items": T::schema(definitions), "minItems": N, "maxItems": N})
    }
}

/// One, or a list of them.
#[derive(Clone, Debug)]
pub struct Many<T>(pub Vec<T>);

impl<T: Read> Read for Many<T> {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        match node.value {
            Value::List(_) => Vec::read(node, reader).map(Many),
            _ => T::read(node, reader).map(|one| Many(vec![one])),
        }
    }
    fn schema(definitions: &mut Map<String, Json>) -> Json {
        let one = T::schema(definitions);
        json!({"anyOf": [one, {"type": "array", "items": one}]})
    }
    fn missing() -> Option<Self> {
        Some(Many(Vec::new()))
    }
}

/// A table whose keys are names.
pub type Named<T> = BTreeMap<String, At<T>>;

impl<T: Read> Read for Named<T> {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if !matches!(node.value, Value::Table(_)) {
            reader.unwanted(node, "a table of names");
            return None;
        }
        let items: Vec<Option<(String, At<T>)>> = node
            .entries()
            .iter()
            .map(|e| {
                T::read(&e.node, reader)
                    .map(|value| (e.key.clone(), At { value, at: e.place.clone() }))
            })
            .collect();
        items.into_iter().collect()
    }
    fn schema(definitions: &mut Map<String, Json>) -> Json {
        json!({"type": "object", "additionalProperties": T::schema(definitions)})
    }
    fn missing() -> Option<Self> {
        Some(BTreeMap::new())
    }
}

/// A part of the file that is read elsewhere: parameters, units, includes.
#[derive(Clone, Debug)]
pub struct Elsewhere;

impl Read for Elsewhere {
    fn read(_: &Node, _: &mut Reader<'_>) -> Option<Self> {
        Some(Elsewhere)
    }
    fn schema(_: &mut Map<String, Json>) -> Json {
        json!({})
    }
    fn missing() -> Option<Self> {
        Some(Elsewhere)
    }
}

/// A function of time whose values are of some kind.
#[derive(Clone, Debug)]
pub struct Timed<K> {
    /// The function, SI.
    pub function: Function,
    kind: PhantomData<K>,
}

const FUNCTIONS: [&str; 8] =
    ["constant", "ramp", "sine", "smooth_step", "table", "sum", "pulse", "periodic"];

impl<K: Kind> Read for Timed<K> {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let function = match &node.value {
            Value::Table(_) => {
                reader.known(node, &FUNCTIONS);
                let which = reader.exactly_one(node, &FUNCTIONS)?;
                let inner = node.get(which)?;
                match which {
                    "constant" => Function::Constant(Of::<K>::read(inner, reader)?.si),
                    "ramp" => ramp::<K>(inner, reader)?,
                    "sine" => sine::<K>(inner, reader)?,
                    "smooth_step" => smooth_step::<K>(inner, reader)?,
                    "table" => points::<K>(inner, reader)?,
                    "pulse" => pulse::<K>(inner, reader)?,
                    "periodic" => periodic::<K>(inner, reader)?,
                    _ => Function::Sum(
                        Vec::<Timed<K>>::read(inner, reader)?
                            .into_iter()
                            .map(|t| t.function)
                            .collect(),
                    ),
                }
            }
            _ => Function::Constant(Of::<K>::read(node, reader)?.si),
        };
        if let Some(why) = function.fault() {
            reader.fault(&node.span, why, "wanted a proper function of time");
            return None;
        }
        Some(Timed { function, kind: PhantomData })
    }

    fn schema(definitions: &mut Map<String, Json>) -> Json {
        let value = Of::<K>::schema(definitions);
        let (time, angle, frequency) = (
            Of::<Time>::schema(definitions),
            Of::<Angle>::schema(definitions),
            Of::<Frequency>::schema(definitions),
        );
        let name = format!(
            "{}_of_time",
            K::NAME.trim_start_matches("an ").trim_start_matches("a ").replace(' ', "_")
        );
        let itself = json!({"$ref": format!("#/$defs/{name}")});
        let table = |properties: Json| {
            json!({"type": "object", "properties": properties,
        "additionalProperties": false})
        };
        let cases = table(json!({
            "constant": value,
            "ramp": table(json!({"value": value, "rate": {"type": ["number", "string"],
            "description": "change per time"}})),
            "sine": table(json!({"offset": value, "amplitude": value, "frequency": frequency,
            "phase": angle})),
            "smooth_step": table(json!({"from": value, "to": value, "start": time,
            "duration": time})),
            "table": {"type": "array", "items": {"type": "array", "prefixItems": [time, value],
            "minItems": 2, "maxItems": 2}},
            "sum": {"type": "array", "items": itself},
            "pulse": table(json!({"low": value, "high": value, "period": time, "width": time,
            "start": time})),
            "periodic": table(json!({"period": time, "table": {"type": "array"}, "of": itself})),
        }));
        definitions.insert(
            name,
            described(
                json!({"anyOf": [value, cases]}),
                "a function of time: a value, or a table with one of the keys",
            ),
        );
        itself
    }
}

/// Reads optional and required quantities of a small table with fixed keys.
fn small(node: &Node, reader: &mut Reader<'_>, keys: &[&'static str]) -> Option<()> {
    if !matches!(node.value, Value::Table(_)) {
        let names: Vec<String> = keys.iter().map(|k| format!("`{k}`")).collect();
        reader.unwanted(node, &format!("a table with {}", names.join(", ")));
        return None;
    }
    reader.known(node, keys);
    Some(())
}

fn ramp<K: Kind>(node: &Node, reader: &mut Reader<'_>) -> Option<Function> {
    small(node, reader, &["value", "rate"])?;
    let value = reader.field::<Option<Of<K>>>(node, "value");
    let rate = match node.get("rate") {
        Some(rate) => {
            reader.quantity(rate, K::DIMENSION.times(Time::DIMENSION, -1), "a rate of change")
        }
        None => reader.field::<Of<K>>(node, "rate").map(|_| 0.0),
    };
    Some(Function::Ramp { value: value?.map_or(0.0, |v| v.si), rate: rate? })
}

fn sine<K: Kind>(node: &Node, reader: &mut Reader<'_>) -> Option<Function> {
    small(node, reader, &["offset", "amplitude", "frequency", "phase"])?;
    let offset = reader.field::<Option<Of<K>>>(node, "offset");
    let amplitude = reader.field::<Of<K>>(node, "amplitude");
    let frequency = reader.field::<Of<Frequency>>(node, "frequency");
    let phase = reader.field::<Option<Of<Angle>>>(node, "phase");
    Some(Function::Sine {
        offset: offset?.map_or(0.0, |v| v.si),
        amplitude: amplitude?.si,
        frequency: frequency?.si,
        phase: phase?.map_or(0.0, |v| v.si),
    })
}

fn smooth_step<K: Kind>(node: &Node, reader: &mut Reader<'_>) -> Option<Function> {
    small(node, reader, &["from", "to", "start", "duration"])?;
    let from = reader.field::<Option<Of<K>>>(node, "from");
    let to = reader.field::<Of<K>>(node, "to");
    let start = reader.field::<Option<Of<Time>>>(node, "start");
    let duration = reader.field::<Of<Time>>(node, "duration");
    Some(Function::SmoothStep {
        from: from?.map_or(0.0, |v| v.si),
        to: to?.si,
        start: start?.map_or(0.0, |v| v.si),
        duration: duration?.si,
    })
}

fn pulse<K: Kind>(node: &Node, reader: &mut Reader<'_>) -> Option<Function> {
    small(node, reader, &["low", "high", "period", "width", "start"])?;
    let low = reader.field::<Option<Of<K>>>(node, "low");
    let high = reader.field::<Of<K>>(node, "high");
    let period = reader.field::<Of<Time>>(node, "period");
    let width = reader.field::<Of<Time>>(node, "width");
    let start = reader.field::<Option<Of<Time>>>(node, "start");
    let (low, start) = (low?.map_or(0.0, |v| v.si), start?.map_or(0.0, |v| v.si));
    Some(Function::Pulse { low, high: high?.si, period: period?.si, width: width?.si, start })
}

/// A table, or any other function, again and again; the period of a table is its last time without
/// one.
fn periodic<K: Kind>(node: &Node, reader: &mut Reader<'_>) -> Option<Function> {
    small(node, reader, &["period", "table", "of"])?;
    let given = reader.field::<Option<Of<Time>>>(node, "period");
    let function = match reader.exactly_one(node, &["table", "of"])? {
        "table" => points::<K>(node.get("table")?, reader)?,
        _ => Timed::<K>::read(node.get("of")?, reader)?.function,
    };
    let last = match &function {
        Function::Table { times, .. } => times.last().copied(),
        _ => None,
    };
    let Some(period) = given?.map(|p| p.si).or(last) else {
        reader.unwanted(node, "`period` too");
        return None;
    };
    Some(Function::Periodic { period, function: Box::new(function) })
}

/// `[[time, value], …]`.
fn points<K: Kind>(node: &Node, reader: &mut Reader<'_>) -> Option<Function> {
    let rows: Vec<(f64, f64)> = match &node.value {
        Value::List(list) => {
            let rows: Vec<Option<(f64, f64)>> = list
                .iter()
                .map(|row| match &row.value {
                    Value::List(pair) if pair.len() == 2 => {
                        let (t, v) =
                            (Of::<Time>::read(&pair[0], reader), Of::<K>::read(&pair[1], reader));
                        Some((t?.si, v?.si))
                    }
                    _ => {
                        reader.unwanted(row, "a pair [time, value]");
                        None
                    }
                })
                .collect();
            rows.into_iter().collect::<Option<_>>()?
        }
        _ => {
            reader.unwanted(node, "a list of pairs [time, value]");
            return None;
        }
    };
    let (times, values) = rows.into_iter().unzip();
    Some(Function::Table { times, values })
}

/// Two tables written as one.
#[derive(Clone, Debug)]
pub struct Joined<A, B>(pub A, pub B);

impl<A: Table, B: Table> Table for Joined<A, B> {
    const NAME: &'static str = A::NAME;
    const ABOUT: &'static str = A::ABOUT;
    fn keys() -> Vec<&'static str> {
        let mut keys = A::keys();
        keys.extend(B::keys());
        keys
    }
    fn fields(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let (a, b) = (A::fields(node, reader), B::fields(node, reader));
        Some(Joined(a?, b?))
    }
    fn properties(definitions: &mut Map<String, Json>) -> Vec<(&'static str, Json, bool)> {
        let mut properties = A::properties(definitions);
        properties.extend(B::properties(definitions));
        properties
    }
}

impl<A: Table, B: Table> Read for Joined<A, B> {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        reader.table::<Self>(node)
    }
    fn schema(definitions: &mut Map<String, Json>) -> Json {
        let properties = Self::properties(definitions);
        object_schema(properties, Self::ABOUT)
    }
}
