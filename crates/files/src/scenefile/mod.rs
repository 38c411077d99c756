//! Scene files: TOML or JSON, one format, with units, formulas, repetition, includes and facts.
//!
//! ```text
//!   text → tree with places (parse) → includes merged → typed tables (read, format) → Scene (build, connect)
//! ```
//!
//! A faulty file yields all its faults at once, each with file, line, column, what was found and
//! what was wanted. `docs/scene.md` describes the format; [`schema`] prints it as JSON Schema from
//! the same declarations.

pub mod body;
pub mod build;
pub mod connect;
pub mod contact;
pub mod control;
pub mod expect;
pub mod expression;
pub mod facts;
pub mod fault;
pub mod format;
pub mod frame;
pub mod links;
pub mod live;
pub mod node;
pub mod parse;
pub mod read;
pub mod repeat;
pub mod run;
pub mod shape;
pub mod soft;
pub mod unit;
pub mod value;

pub use expect::Check;
pub use fault::{Fault, Faults};

use crate::bounded;
use crate::robot::{Choices, JointValue, is_robot};
use crate::robot_file;
use crate::spelling::nearest;
use format::File;
use node::{Entry, Node, Source, Sources, Span, Value};
use read::{Read, Reader, Scope};
use serde_json::{Map, Value as Json, json};
use signorini_mechanics::scene::Scene;
use signorini_solve::math::pose::Pose;
use std::path::Path;
use unit::{Dimension, Units};
use value::Kind;

/// A scene that was read.
pub struct Loaded {
    /// What exists.
    pub scene: Scene,
    /// What it shows.
    pub about: String,
    /// How it is to be simulated.
    pub run: format::Run,
    /// How contacts are found.
    pub contact: Option<format::Contact>,
    /// Length of a step, s.
    pub dt: f64,
    /// When to end, s.
    pub t_end: f64,
    /// Facts to check.
    pub checks: Vec<Check>,
    /// Name and text of every file that the scene was read from.
    pub texts: Vec<(String, String)>,
    /// The file or name that it was asked for by.
    pub source: String,
    /// Remarks from reading it: what was left out.
    pub notes: Vec<String>,
}

/// Where scene files come from: their text, or why there is none.
pub type Library<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Reads a scene from a file of the disk.
pub fn load(path: &Path, set: &[String]) -> Result<Loaded, Faults> {
    load_robot(path, set, &Choices::default())
}

/// Reads a scene from a file of the disk; the choices are for robot files.
pub fn load_robot(path: &Path, set: &[String], choices: &Choices) -> Result<Loaded, Faults> {
    load_with(&path.to_string_lossy(), &read_text, set, choices)
}

/// The text of a file; robot files may contain bytes that are no UTF-8.
pub fn read_text(file: &str) -> Result<String, String> {
    let bytes = bounded::bytes(Path::new(file), bounded::SCENE)?;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(wrong) if is_robot(file) => Ok(String::from_utf8_lossy(wrong.as_bytes()).into_owned()),
        Err(_) => Err("stream did not contain valid UTF-8".into()),
    }
}

/// Reads a scene from a library of texts. `set` holds `name=value` for parameters.
pub fn load_from(name: &str, library: Library<'_>, set: &[String]) -> Result<Loaded, Faults> {
    load_with(name, library, set, &Choices::default())
}

/// As [`load_from`], with choices for robot files.
pub fn load_with(
    name: &str,
    library: Library<'_>,
    set: &[String],
    choices: &Choices,
) -> Result<Loaded, Faults> {
    let mut files = Files {
        library,
        sources: Sources::default(),
        faults: Vec::new(),
        units: Vec::new(),
        notes: Vec::new(),
    };
    let mut root = files.open(name, choices, &mut Vec::new(), None);
    files.set(set, &mut root);
    files.robots(&mut root);
    let Files { sources, faults, units, notes, .. } = files;
    if !faults.is_empty() {
        return Err(Faults::new(sources, faults));
    }
    let memory_left = read::MAX_REPEATED_BYTES;
    let mut reader =
        Reader { sources: &sources, units, scope: Scope::default(), faults, memory_left };
    let loaded = read(&mut reader, &root, name);
    let faults = std::mem::take(&mut reader.faults);
    match loaded {
        Some(loaded) if faults.is_empty() => {
            let texts = sources.0.into_iter().map(|s| (s.name, s.text)).collect();
            let notes = notes.into_iter().chain(loaded.notes).collect();
            Ok(Loaded { texts, notes, ..loaded })
        }
        _ => Err(Faults::new(sources, faults)),
    }
}

/// The steps from the merged tree to the scene.
fn read(reader: &mut Reader<'_>, root: &Node, name: &str) -> Option<Loaded> {
    let none = Node { span: root.span.clone(), value: Value::Table(Vec::new()) };
    let parameters = root.get("parameters").unwrap_or(&none);
    reader.declare(parameters);
    // Settings first: all other formulas may speak of dt, t_end and gravity. Faults of this first
    // look are found again below.
    let faults = reader.faults.len();
    let run = reader.field::<Option<format::Run>>(root, "run");
    let gravity = reader.field::<Option<value::Vector<value::Acceleration>>>(root, "gravity");
    reader.faults.truncate(faults);
    let early = run.is_none() || gravity.is_none();
    let run = match run.flatten() {
        Some(run) => run,
        None => <format::Run as read::Table>::fields(&none, reader)?,
    };
    let gravity = gravity.flatten();
    let (dt, t_end) = (
        run.dt.as_ref().map_or(2e-3, |t| t.value.si),
        run.t_end.as_ref().map_or(1.0, |t| t.value.si),
    );
    for (what, given) in [("dt", &run.dt), ("t_end", &run.t_end)] {
        if let Some(time) = given.as_ref().filter(|t| !(t.value.si > 0.0 && t.value.si.is_finite()))
        {
            reader.fault(
                &time.at,
                format!("{what} is {} s", time.value.si),
                "wanted a time above 0",
            );
        }
    }
    reader.scope.bind("dt", dt, value::Time::DIMENSION);
    reader.scope.bind("t_end", t_end, value::Time::DIMENSION);
    let strength = gravity.as_ref().map_or(9.81, |g| value::vector(g).length());
    reader.scope.bind("gravity", strength, Dimension::new(1, 0, -2, 0));
    reader.parameters(parameters);
    let file = File::read(root, reader)?;
    if early && reader.faults.is_empty() {
        reader.fault(
            &root.span,
            "`run` or `gravity` depends on itself",
            "wanted them without dt, t_end and gravity in their formulas",
        );
    }
    let stem = Path::new(name).file_stem().map_or(name.into(), |s| s.to_string_lossy());
    let built = build::Builder::build(reader, &file, &stem);
    let checks = expect::checks(reader, &file, &built, t_end);
    let build::Built { scene, notes, .. } = built;
    let (about, contact) = (file.0.about.clone().unwrap_or_default(), file.0.contact.clone());
    Some(Loaded {
        scene,
        about,
        contact,
        run,
        dt,
        t_end,
        checks,
        texts: Vec::new(),
        source: name.into(),
        notes,
    })
}

/// What the names of included files end with.
const ENDINGS: [&str; 4] = ["toml", "json", "urdf", "xml"];
/// Files that a scene consists of at most, each include counted; and how deep includes go.
const MAX_FILES: usize = 1000;
const MAX_INCLUDE_DEPTH: usize = 32;

/// Opens files and those they include.
struct Files<'a> {
    library: Library<'a>,
    sources: Sources,
    faults: Vec<Fault>,
    units: Vec<Units>,
    notes: Vec<String>,
}

impl Files<'_> {
    fn fault(&mut self, span: Span, message: String, wanted: &str) {
        self.faults.push(Fault { span, message, wanted: wanted.into() });
    }

    /// The tree of a file with its includes merged in.
    fn open(
        &mut self,
        name: &str,
        choices: &Choices,
        above: &mut Vec<String>,
        from: Option<&Span>,
    ) -> Node {
        let number = self.sources.0.len();
        let empty =
            Node { span: Span { file: number, start: 0, end: 0 }, value: Value::Table(Vec::new()) };
        if above.iter().any(|a| a == name) {
            self.fault(
                from.cloned().unwrap_or(empty.span.clone()),
                format!("`{name}` includes itself"),
                "wanted another file",
            );
            return empty;
        }
        if let Some((message, wanted)) = from.and_then(|_| self.too_many(name, above.len())) {
            self.fault(from.cloned().unwrap_or(empty.span.clone()), message, &wanted);
            return empty;
        }
        let text = match (self.library)(name) {
            Ok(text) => text,
            Err(why) => {
                if from.is_none() {
                    self.sources.0.push(Source { name: name.into(), text: String::new() });
                    self.units.push(Units::default());
                }
                self.fault(
                    from.cloned().unwrap_or(empty.span.clone()),
                    format!("cannot read `{name}`: {why}"),
                    "wanted a scene file",
                );
                return empty;
            }
        };
        let Some(text) = self.as_scene(number, name, text, choices) else { return empty };
        let (mut node, faults) = parse::parse(number, &text);
        if let (Some(from), Some(first)) = (from, faults.first()) {
            // Whose text this is we do not know: a file that is no scene shows none of its lines.
            let before =
                text.as_bytes().iter().take(first.span.start).filter(|b| **b == b'\n').count();
            self.sources.0.push(Source { name: name.into(), text: String::new() });
            self.units.push(Units::default());
            let message =
                format!("`{name}` is no scene: TOML or JSON cannot be read in line {}", before + 1);
            self.fault(from.clone(), message, "wanted a scene file");
            return empty;
        }
        self.faults.extend(faults);
        self.sources.0.push(Source { name: name.into(), text });
        self.units.push(Units::default());
        if let Some(units) = node.get("units") {
            let mut reader = Reader {
                sources: &self.sources,
                units: self.units.clone(),
                scope: Scope::default(),
                faults: Vec::new(),
                memory_left: 0,
            };
            self.units[number] = reader.declared(units);
            self.faults.append(&mut reader.faults);
        }
        above.push(name.to_string());
        let includes = self.includes(&node);
        let mut merged: Option<Node> = None;
        for (file, place) in includes {
            let file = Path::new(name)
                .parent()
                .unwrap_or(Path::new(""))
                .join(file)
                .to_string_lossy()
                .into_owned();
            let included = self.open(&file, &Choices::default(), above, Some(&place));
            merged = Some(merge(merged, included));
        }
        above.pop();
        if merged.is_some() {
            node = merge(merged, node);
        }
        node
    }

    /// Why a file is not included, and what was wanted.
    fn too_many(&self, name: &str, depth: usize) -> Option<(String, String)> {
        let ending =
            Path::new(name).extension().unwrap_or_default().to_string_lossy().to_lowercase();
        if !ENDINGS.contains(&ending.as_str()) {
            let wanted = format!("wanted a name that ends with .{}", ENDINGS.join(", ."));
            return Some((format!("`{name}` is included"), wanted));
        }
        if depth > MAX_INCLUDE_DEPTH {
            return Some((
                format!("`{name}` is included {depth} files deep"),
                format!("wanted at most {MAX_INCLUDE_DEPTH}"),
            ));
        }
        let files = self.sources.0.len();
        (files >= MAX_FILES).then(|| {
            (
                format!("`{name}` is file {} of the scene", files + 1),
                format!("wanted at most {MAX_FILES}"),
            )
        })
    }

    /// The text of a scene: a robot file becomes one.
    fn as_scene(
        &mut self,
        number: usize,
        name: &str,
        text: String,
        choices: &Choices,
    ) -> Option<String> {
        if !is_robot(name) {
            return Some(text);
        }
        match robot_file::convert(name, text, self.library, choices) {
            Ok(converted) => {
                self.notes.extend(converted.notes.iter().map(|note| format!("{name}: {note}")));
                Some(converted.text)
            }
            Err(failed) => {
                for (name, text) in failed.sources {
                    self.sources.0.push(Source { name, text });
                    self.units.push(Units::default());
                }
                for f in failed.faults {
                    self.fault(Span::new(number + f.file, f.range), f.message, &f.wanted);
                }
                None
            }
        }
    }

    /// Puts the robots of a scene where their tables stand.
    fn robots(&mut self, root: &mut Node) {
        let Some(Node { value: Value::List(tables), .. }) = root.get("robot").cloned() else {
            return;
        };
        let none = Node { span: root.span.clone(), value: Value::Table(Vec::new()) };
        for table in tables {
            let mut reader = Reader {
                sources: &self.sources,
                units: self.units.clone(),
                scope: Scope::default(),
                faults: Vec::new(),
                memory_left: 0,
            };
            reader.declare(root.get("parameters").unwrap_or(&none));
            let robot = format::Robot::read(&table, &mut reader);
            let choices = robot.as_ref().and_then(|robot| chosen(&mut reader, robot));
            let mut faults = std::mem::take(&mut reader.faults);
            self.faults.append(&mut faults);
            let (Some(robot), Some(choices)) = (robot, choices) else { continue };
            let home = self.sources.0.get(robot.file.at.file).map_or("", |s| s.name.as_str());
            let file = Path::new(home)
                .parent()
                .unwrap_or(Path::new(""))
                .join(&robot.file.value)
                .to_string_lossy()
                .into_owned();
            if !is_robot(&file) {
                self.fault(
                    robot.file.at.clone(),
                    format!("`{file}` is no robot file by its ending"),
                    "wanted .urdf, .xml or .mjcf",
                );
                continue;
            }
            let opened = self.open(&file, &choices, &mut Vec::new(), Some(&robot.file.at));
            *root = merge(Some(opened), root.clone());
        }
    }

    fn includes(&mut self, node: &Node) -> Vec<(String, Span)> {
        let list = match node.get("include") {
            Some(Node { value: Value::List(list), .. }) => list.clone(),
            Some(one) => vec![one.clone()],
            None => Vec::new(),
        };
        let mut files = Vec::new();
        for item in list {
            match item.value {
                Value::Text(file) => files.push((file, item.span)),
                _ => self.fault(
                    item.span.clone(),
                    format!("found {}", item.found()),
                    "wanted the name of a file",
                ),
            }
        }
        files
    }

    /// Parameters from outside win over those of the files; they must exist there.
    fn set(&mut self, set: &[String], root: &mut Node) {
        for text in set {
            let file = self.sources.0.len();
            self.sources.0.push(Source { name: "--set".into(), text: text.clone() });
            self.units.push(Units::default());
            let whole = Span { file, start: 0, end: text.len() };
            let Some((name, value)) = text.split_once('=') else {
                self.fault(whole, format!("found `{text}`"), "wanted name=value");
                continue;
            };
            let name = name.trim();
            let known: Vec<String> = root
                .get("parameters")
                .map(|p| p.entries().iter().map(|e| e.key.clone()).collect())
                .unwrap_or_default();
            if !known.iter().any(|k| k == name) {
                let wanted = match nearest(name, known.iter().map(String::as_str)) {
                    Some(best) => format!("did you mean `{best}`?"),
                    None => format!("the scene has the parameters: {}", known.join(", ")),
                };
                self.fault(whole, format!("the scene has no parameter `{name}`"), &wanted);
                continue;
            }
            let value = Node {
                span: Span { file, start: text.len() - value.len(), end: text.len() },
                value: Value::Text(value.trim().into()),
            };
            let entry = Entry { key: name.into(), place: whole.clone(), node: value };
            let table = Node { span: whole.clone(), value: Value::Table(vec![entry]) };
            let over = Node {
                span: root.span.clone(),
                value: Value::Table(vec![Entry {
                    key: "parameters".into(),
                    place: whole,
                    node: table,
                }]),
            };
            *root = merge(Some(root.clone()), over);
        }
    }
}

/// What the table of a robot asks for.
fn chosen(reader: &mut Reader<'_>, robot: &format::Robot) -> Option<Choices> {
    let turn = build::rotation(reader, robot.rotation.as_ref())?;
    let position = robot.position.as_ref().map(value::vector);
    let placed = position.is_some() || robot.rotation.is_some();
    let joints = robot.joints.iter().map(|(name, at)| JointValue {
        name: name.clone(),
        slide: at.value.linear,
        angle: at.value.angular,
    });
    let otherwise = Choices::default();
    Some(Choices {
        strict: robot.strict == Some(true),
        hold: robot.hold == Some(true),
        fixed_base: robot.fixed == Some(true),
        at: placed.then(|| Pose::new(position.unwrap_or_default(), turn)),
        joints: joints.collect(),
        self_collision: robot.self_collision.unwrap_or(otherwise.self_collision),
        hulls: robot.hulls.unwrap_or(otherwise.hulls),
        key: robot.key.clone(),
        prefix: robot.prefix.clone().unwrap_or_default(),
        ..otherwise
    })
}

/// The first tree with the second on top: tables merge, lists follow each other, the rest is
/// replaced.
fn merge(below: Option<Node>, above: Node) -> Node {
    let Some(below) = below else { return above };
    match (below.value, above.value) {
        (Value::Table(mut old), Value::Table(new)) => {
            for entry in new {
                match old.iter_mut().find(|e| e.key == entry.key) {
                    Some(same) => {
                        let node = merge(Some(same.node.clone()), entry.node);
                        (same.place, same.node) = (entry.place, node);
                    }
                    None => old.push(entry),
                }
            }
            Node { span: above.span, value: Value::Table(old) }
        }
        // Only lists of tables follow each other: a vector is one value, and an empty list clears
        // what was included.
        (Value::List(mut old), Value::List(new))
            if !new.is_empty()
                && old.iter().chain(&new).all(|n| matches!(n.value, Value::Table(_))) =>
        {
            old.extend(new);
            Node { span: above.span, value: Value::List(old) }
        }
        (_, value) => Node { span: above.span, value },
    }
}

/// The format as JSON Schema.
pub fn schema() -> Json {
    let mut definitions = Map::new();
    let mut schema = File::schema(&mut definitions);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Signorini scene");
    schema["properties"]["parameters"] = json!({
        "type": "object", "additionalProperties": {"type": ["number", "string"]},
        "description": schema["properties"]["parameters"]["description"],
    });
    schema["$defs"] = Json::Object(definitions);
    schema
}
