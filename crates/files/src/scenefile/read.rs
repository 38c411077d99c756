//! From the tree to typed tables: one description of the format serves reading, messages and
//! schema.
//!
//! A type that can stand in a scene file implements [`Read`]. Reading never stops at the first
//! fault: every field of a table is read before the table is given up.

use super::expression::{Names, Wrong, evaluate};
use super::fault::Fault;
use super::node::{Node, Sources, Span, Value};
use super::unit::{Dimension, Quantity, Units, named};
use crate::spelling::suggestion;
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// What can stand in a scene file.
pub trait Read: Sized {
    /// Reads a value; `None` if it is faulty, and the fault has been noted.
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self>;

    /// Its JSON Schema; named tables go into `definitions`.
    fn schema(definitions: &mut Map<String, Json>) -> Json;

    /// What it is where nothing is written; `None` if something must be.
    fn missing() -> Option<Self> {
        None
    }
}

/// A table with known keys.
pub trait Table: Sized {
    /// Its name in the schema.
    const NAME: &'static str;
    /// What it is.
    const ABOUT: &'static str;
    /// Its keys.
    fn keys() -> Vec<&'static str>;
    /// Reads all fields. Unknown keys are noted by the caller, who may know more keys.
    fn fields(node: &Node, reader: &mut Reader<'_>) -> Option<Self>;
    /// Key, schema, and whether it must be there.
    fn properties(definitions: &mut Map<String, Json>) -> Vec<(&'static str, Json, bool)>;
}

/// Declares a table of the format: the struct, how it is read, and its schema.
macro_rules! table {
    ($(#[doc = $about:literal])+ pub struct $name:ident { $($(#[doc = $doc:literal])+ $field:ident : $type:ty,)* }) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug)]
        pub struct $name { $($(#[doc = $doc])+ pub $field: $type,)* }

        impl $crate::scenefile::read::Table for $name {
            const NAME: &'static str = stringify!($name);
            const ABOUT: &'static str = concat!($($about,)+);
            fn keys() -> Vec<&'static str> {
                vec![$(stringify!($field)),*]
            }
            fn fields(node: &$crate::scenefile::node::Node,
            reader: &mut $crate::scenefile::read::Reader<'_>) -> Option<Self> {
                $(let $field = reader.field::<$type>(node, stringify!($field));)*
                Some($name { $($field: $field?,)* })
            }
            fn properties(definitions: &mut serde_json::Map<String,
            serde_json::Value>) -> Vec<(&'static str, serde_json::Value, bool)> {
                vec![$((
                    stringify!($field),
                    $crate::scenefile::read::described(<$type as $crate::scenefile::read::Read>::schema(definitions), concat!($($doc,)+)),
                    <$type as $crate::scenefile::read::Read>::missing().is_none(),
                )),*]
            }
        }

        impl $crate::scenefile::read::Read for $name {
            fn read(node: &$crate::scenefile::node::Node,
            reader: &mut $crate::scenefile::read::Reader<'_>) -> Option<Self> {
                reader.table::<Self>(node)
            }
            fn schema(definitions: &mut serde_json::Map<String,
            serde_json::Value>) -> serde_json::Value {
                $crate::scenefile::read::table_schema::<Self>(definitions)
            }
        }
    };
}

/// Declares a choice between words.
macro_rules! words {
    ($(#[doc = $about:literal])+ pub enum $name:ident { $($(#[doc = $doc:literal])+ $variant:ident = $word:literal,)+ }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[doc = $doc])+ $variant,)+ }

        impl $crate::scenefile::read::Read for $name {
            fn read(node: &$crate::scenefile::node::Node,
            reader: &mut $crate::scenefile::read::Reader<'_>) -> Option<Self> {
                match reader.word(node, &[$($word),+])? {
                    $($word => Some($name::$variant),)+
                    _ => None,
                }
            }
            fn schema(_: &mut serde_json::Map<String, serde_json::Value>) -> serde_json::Value {
                serde_json::json!({"enum": [$($word),+]})
            }
        }
    };
}

pub(crate) use {table, words};

/// Reads values, knows names and units, and notes every fault.
pub struct Reader<'a> {
    /// The files.
    pub sources: &'a Sources,
    /// The units of each file.
    pub units: Vec<Units>,
    /// Parameters and indices.
    pub scope: Scope,
    /// What was wrong so far.
    pub faults: Vec<Fault>,
    /// Memory that repetitions may still take, bytes.
    pub memory_left: usize,
}

/// Memory that the repetitions of a scene take at most while they are read and built, all levels
/// together, as `repeat` estimates it, bytes: some 100,000 bodies.
pub const MAX_REPEATED_BYTES: usize = 256_000_000;
/// How far parameters may lead to each other before they are known.
const MAX_PARAMETER_CHAIN: usize = 100;

impl Reader<'_> {
    /// Notes a fault.
    pub fn fault(&mut self, span: &Span, message: impl Into<String>, wanted: impl Into<String>) {
        self.faults.push(Fault {
            span: span.clone(),
            message: message.into(),
            wanted: wanted.into(),
        });
    }

    /// Notes that a value is not what was wanted.
    pub fn unwanted(&mut self, node: &Node, wanted: &str) {
        self.fault(&node.span, format!("found {}", node.found()), format!("wanted {wanted}"));
    }

    /// A field of a table.
    pub fn field<T: Read>(&mut self, node: &Node, key: &str) -> Option<T> {
        match node.get(key) {
            Some(value) => T::read(value, self),
            None => {
                let missing = T::missing();
                if missing.is_none() {
                    let have: Vec<String> =
                        node.entries().iter().map(|e| format!("`{}`", e.key)).collect();
                    let message = if have.is_empty() {
                        "the table is empty".into()
                    } else {
                        format!("found only {}", have.join(", "))
                    };
                    let head = Span { end: node.span.start + self.head(node), ..node.span.clone() };
                    self.fault(&head, message, format!("wanted the key `{key}` too"));
                }
                missing
            }
        }
    }

    /// How much of a table's text to underline: its first line.
    fn head(&self, node: &Node) -> usize {
        let text = self
            .sources
            .0
            .get(node.span.file)
            .and_then(|s| s.text.get(node.span.start..node.span.end));
        text.map_or(1, |t| t.lines().next().map_or(1, str::len))
    }

    /// A table without unknown keys.
    pub fn table<T: Table>(&mut self, node: &Node) -> Option<T> {
        if !matches!(node.value, Value::Table(_)) {
            self.unwanted(node, &format!("a table with {}", list(&T::keys())));
            return None;
        }
        self.known(node, &T::keys());
        T::fields(node, self)
    }

    /// Notes keys that are not among the known ones.
    pub fn known(&mut self, node: &Node, keys: &[&'static str]) {
        for entry in node.entries() {
            if !keys.contains(&entry.key.as_str()) {
                self.fault(
                    &entry.place,
                    format!("unknown key `{}`", entry.key),
                    suggestion(&entry.key, keys),
                );
            }
        }
    }

    /// Exactly one of several keys must be in a table; says which.
    pub fn exactly_one(&mut self, node: &Node, keys: &[&'static str]) -> Option<&'static str> {
        let found: Vec<&'static str> =
            keys.iter().copied().filter(|k| node.get(k).is_some()).collect();
        match found.as_slice() {
            [one] => Some(one),
            [] => {
                let head = Span { end: node.span.start + self.head(node), ..node.span.clone() };
                self.fault(
                    &head,
                    format!("found {}", node.found()),
                    format!("wanted one of {}", list(keys)),
                );
                None
            }
            many => {
                let message = format!("found {} together", list(many));
                let place = node
                    .entries()
                    .iter()
                    .find(|e| e.key == many[1])
                    .map_or(node.span.clone(), |e| e.place.clone());
                self.fault(&place, message, format!("wanted only one of {}", list(keys)));
                None
            }
        }
    }

    /// One of several words.
    pub fn word(&mut self, node: &Node, words: &[&'static str]) -> Option<&'static str> {
        let Value::Text(text) = &node.value else {
            self.unwanted(node, &format!("one of {}", list(words)));
            return None;
        };
        let found = words.iter().copied().find(|w| w == text);
        if found.is_none() {
            self.fault(&node.span, format!("found \"{text}\""), suggestion(text, words));
        }
        found
    }

    /// A value of a dimension, in SI.
    pub fn quantity(&mut self, node: &Node, wanted: Dimension, what: &str) -> Option<f64> {
        match &node.value {
            Value::Number(number) if number.is_finite() => {
                Some(self.units[node.span.file].si(*number, wanted))
            }
            Value::Number(number) if number.is_infinite() => Some(*number),
            Value::Text(text) => {
                let found = self.formula(node, text)?;
                // A formula without units follows the rule of plain numbers.
                if found.dimension == Dimension::NONE {
                    return Some(self.units[node.span.file].si(found.value, wanted));
                }
                if !found.dimension.serves(wanted) {
                    let message = format!("\"{text}\" is in {}", found.dimension.symbol());
                    self.fault(&node.span, message, format!("wanted {what}, {}", wanted.symbol()));
                    return None;
                }
                Some(found.value)
            }
            _ => {
                self.unwanted(
                    node,
                    &format!("{what}: a number, or a text such as {}", example(wanted)),
                );
                None
            }
        }
    }

    /// The value of a formula in a text.
    pub fn formula(&mut self, node: &Node, text: &str) -> Option<Quantity> {
        match evaluate(text, &mut self.scope) {
            Ok(value) => Some(value),
            Err(wrong) => {
                self.wrong(node, text, 0, wrong);
                None
            }
        }
    }

    /// Notes what is wrong with a formula that begins at byte `offset` of a text.
    pub(super) fn wrong(&mut self, node: &Node, text: &str, offset: usize, wrong: Wrong) {
        // A faulty parameter is reported where it is defined, not where it is used.
        if wrong.wanted.is_empty() {
            return;
        }
        let source = self
            .sources
            .0
            .get(node.span.file)
            .and_then(|s| s.text.get(node.span.start..node.span.end));
        // Inside the quotation marks the text stands as it is, unless it has escapes.
        let span = match source.and_then(|s| s.find(text)) {
            Some(at) => Span {
                start: node.span.start + at + offset + wrong.range.start,
                end: node.span.start + at + offset + wrong.range.end,
                ..node.span.clone()
            },
            None => node.span.clone(),
        };
        self.fault(&span, wrong.message, wrong.wanted);
    }

    /// A text in which every `{formula}` is replaced by its whole value.
    pub fn text(&mut self, node: &Node) -> Option<String> {
        let Value::Text(text) = &node.value else {
            self.unwanted(node, "a text");
            return None;
        };
        let (mut out, mut rest) = (String::new(), 0);
        while let Some(open) = text[rest..].find('{').map(|i| rest + i) {
            let Some(close) = text[open..].find('}').map(|i| open + i) else {
                self.fault(&node.span, "the brace `{` is not closed", "wanted `}`");
                return None;
            };
            out.push_str(&text[rest..open]);
            let value = match evaluate(&text[open + 1..close], &mut self.scope) {
                Ok(value) => value.value,
                Err(wrong) => {
                    self.wrong(node, text, open + 1, wrong);
                    return None;
                }
            };
            out.push_str(&value.to_string());
            rest = close + 1;
        }
        out.push_str(&text[rest..]);
        Some(out)
    }

    /// The units that a file declares.
    pub fn declared(&mut self, node: &Node) -> Units {
        let mut units = Units::default();
        let wanted = [
            ("length", Dimension::new(1, 0, 0, 0)),
            ("mass", Dimension::new(0, 1, 0, 0)),
            ("time", Dimension::new(0, 0, 1, 0)),
            ("angle", Dimension::new(0, 0, 0, 1)),
        ];
        for (i, (key, dimension)) in wanted.into_iter().enumerate() {
            let Some(value) = node.get(key) else { continue };
            let Value::Text(name) = &value.value else {
                self.unwanted(value, "the name of a unit");
                continue;
            };
            match named(name) {
                Some(unit) if unit.dimension == dimension => {
                    *[&mut units.length, &mut units.mass, &mut units.time, &mut units.angle][i] =
                        unit.value
                }
                _ => {
                    let fitting: Vec<&str> = super::unit::UNITS
                        .iter()
                        .filter(|(_, u)| u.dimension == dimension)
                        .map(|(n, _)| *n)
                        .collect();
                    self.fault(
                        &value.span,
                        format!("found \"{name}\""),
                        suggestion(name, &fitting),
                    );
                }
            }
        }
        self.known(node, &["length", "mass", "time", "angle"]);
        units
    }
}

fn list(words: &[&str]) -> String {
    words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ")
}

/// A text that has the dimension, for messages.
fn example(d: Dimension) -> String {
    match d.symbol().as_str() {
        "m" => "\"12 mm\"".into(),
        "rad" => "\"30 deg\"".into(),
        "kg" => "\"2.5 kg\"".into(),
        "s" => "\"5 ms\"".into(),
        "a pure number" => "\"1/3\"".into(),
        other => format!("\"2.5 {other}\""),
    }
}

/// Parameters of the scene, and what is bound on the way: indices, `t`, `dt`.
#[derive(Default)]
pub struct Scope {
    parameters: BTreeMap<String, Parameter>,
    locals: Vec<(String, Quantity)>,
    /// Parameters that are being evaluated, each for the one before it.
    chain: usize,
}

enum Parameter {
    Waiting(Node),
    Busy,
    Known(Quantity),
    Faulty,
}

impl Scope {
    /// Binds a name until [`Scope::release`].
    pub fn bind(&mut self, name: impl Into<String>, value: f64, dimension: Dimension) {
        self.locals.push((name.into(), Quantity { value, dimension }));
    }

    /// The names that are bound.
    pub fn bound(&self) -> &[(String, Quantity)] {
        &self.locals
    }

    /// How many names are bound.
    pub fn depth(&self) -> usize {
        self.locals.len()
    }

    /// Forgets all names bound after `depth`.
    pub fn release(&mut self, depth: usize) {
        self.locals.truncate(depth);
    }
}

impl Names for Scope {
    fn value(&mut self, name: &str) -> Option<Result<Quantity, String>> {
        if let Some((_, value)) = self.locals.iter().rev().find(|(n, _)| n == name) {
            return Some(Ok(*value));
        }
        let slot = self.parameters.get_mut(name)?;
        let node = match slot {
            Parameter::Known(value) => return Some(Ok(*value)),
            Parameter::Faulty => return Some(Err(String::new())),
            Parameter::Busy => return Some(Err("it depends on itself".into())),
            Parameter::Waiting(node) => node.clone(),
        };
        if self.chain >= MAX_PARAMETER_CHAIN {
            return Some(Err(format!(
                "more than {MAX_PARAMETER_CHAIN} parameters lead to it: define each before it is \
                    used"
            )));
        }
        *slot = Parameter::Busy;
        self.chain += 1;
        let value = match &node.value {
            Value::Number(value) => Ok(Quantity { value: *value, dimension: Dimension::NONE }),
            // Only a circle and a chain must be said here: any other fault is reported where the
            // parameter is defined.
            Value::Text(text) => evaluate(text, self).map_err(|w| {
                let passed_on =
                    ["itself", "lead to it"].iter().any(|words| w.wanted.contains(words));
                if passed_on { w.wanted } else { String::new() }
            }),
            _ => Err(String::new()),
        };
        self.chain -= 1;
        // Put back as it was if faulty: its own reading reports the fault at its place.
        self.parameters.insert(
            name.into(),
            value.as_ref().map_or(Parameter::Waiting(node), |v| Parameter::Known(*v)),
        );
        Some(value)
    }

    fn all(&self) -> Vec<String> {
        self.parameters.keys().cloned().chain(self.locals.iter().map(|(n, _)| n.clone())).collect()
    }
}

impl Reader<'_> {
    /// Takes the parameters of the scene; each gets its value when it is first used.
    pub fn declare(&mut self, node: &Node) {
        for entry in node.entries() {
            if named(&entry.key).is_some() || entry.key == "pi" {
                self.fault(
                    &entry.place,
                    format!("`{}` is the name of a unit", entry.key),
                    "wanted another name for the parameter",
                );
                continue;
            }
            self.scope.parameters.insert(entry.key.clone(), Parameter::Waiting(entry.node.clone()));
        }
    }

    /// Gives all parameters their values and notes which are faulty.
    pub fn parameters(&mut self, node: &Node) {
        for entry in node.entries() {
            match &entry.node.value {
                Value::Number(_) => {}
                Value::Text(text) => {
                    self.scope.parameters.insert(entry.key.clone(), Parameter::Busy);
                    let value = self.formula(&entry.node, text);
                    self.scope.parameters.insert(
                        entry.key.clone(),
                        value.map_or(Parameter::Faulty, Parameter::Known),
                    );
                }
                _ => {
                    self.unwanted(&entry.node, "a number, or a text with a formula");
                    self.scope.parameters.insert(entry.key.clone(), Parameter::Faulty);
                }
            }
        }
    }
}

/// A schema with a description.
pub fn described(schema: Json, about: &str) -> Json {
    let about = about.trim();
    match schema {
        Json::Object(mut object) if !object.contains_key("$ref") => {
            object.insert("description".into(), json!(about));
            Json::Object(object)
        }
        reference => json!({"allOf": [reference], "description": about}),
    }
}

/// The schema of a table, as a reference to its definition.
pub fn table_schema<T: Table>(definitions: &mut Map<String, Json>) -> Json {
    if !definitions.contains_key(T::NAME) {
        // A place holder first: tables may contain themselves.
        definitions.insert(T::NAME.into(), json!({}));
        let object = object_schema(T::properties(definitions), T::ABOUT);
        definitions.insert(T::NAME.into(), object);
    }
    json!({"$ref": format!("#/$defs/{}", T::NAME)})
}

/// An object schema from its properties.
pub fn object_schema(properties: Vec<(&'static str, Json, bool)>, about: &str) -> Json {
    let required: Vec<&str> = properties.iter().filter(|p| p.2).map(|p| p.0).collect();
    let map: Map<String, Json> =
        properties.into_iter().map(|(key, schema, _)| (key.to_string(), schema)).collect();
    json!({"type": "object", "description": about.trim(), "properties": map, "required": required,
    "additionalProperties": false})
}
