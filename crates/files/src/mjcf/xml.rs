//! The XML of MJCF: includes put in place, classes of defaults resolved; every element knows its
//! file and place.

use crate::robot::{Fault, Library, line};
use roxmltree::Document;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

/// Files within files, at most.
const MAX_NESTING: usize = 16;

/// An element.
#[derive(Clone, Debug)]
pub struct Element {
    /// Its tag.
    pub tag: String,
    /// Its attributes.
    pub attributes: Vec<(String, String)>,
    /// The elements in it.
    pub children: Vec<Element>,
    /// The file it stands in.
    pub file: usize,
    /// Its opening tag.
    pub range: Range<usize>,
}

impl Element {
    /// An attribute as it stands here, defaults aside.
    pub fn own(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All elements of a tag directly below.
    pub fn all<'e>(&'e self, tag: &'e str) -> impl Iterator<Item = &'e Element> {
        self.children.iter().filter(move |child| child.tag == tag)
    }
}

/// Reads files and notes what is wrong with them, and what is left out.
pub struct Reader<'l> {
    library: Library<'l>,
    /// Name and text of each file.
    pub sources: Vec<(String, String)>,
    /// What is wrong.
    pub faults: Vec<Fault>,
    /// What was left out or decided.
    pub notes: Vec<String>,
    /// What could be left out is a fault.
    pub strict: bool,
}

impl<'l> Reader<'l> {
    /// A reader of files of a library.
    pub fn new(library: Library<'l>, strict: bool) -> Reader<'l> {
        Reader { library, sources: Vec::new(), faults: Vec::new(), notes: Vec::new(), strict }
    }

    /// Notes a fault.
    pub fn fault(&mut self, at: &Element, message: impl Into<String>, wanted: impl Into<String>) {
        self.faults.push(Fault {
            file: at.file,
            range: at.range.clone(),
            message: message.into(),
            wanted: wanted.into(),
        });
    }

    /// Notes something that is left out or decided, with its line; a fault if nothing is to be left
    /// out.
    pub fn left_out(&mut self, at: &Element, message: impl Into<String>) {
        let message = message.into();
        if self.strict {
            return self.fault(at, message, "wanted what this program knows");
        }
        let (name, text) = &self.sources[at.file];
        let file = if at.file == 0 { String::new() } else { format!("{name} ") };
        self.notes.push(format!("{file}line {}: {message}", line(text, at.range.start)));
    }

    /// The root of a file with its includes in place.
    pub fn open(&mut self, name: &str, text: String) -> Option<Element> {
        let file = self.sources.len();
        self.sources.push((name.into(), text.clone()));
        let document = match Document::parse(&text) {
            Ok(document) => document,
            Err(error) => {
                let before: usize = text
                    .split_inclusive('\n')
                    .take(error.pos().row as usize - 1)
                    .map(str::len)
                    .sum();
                let at = before.min(text.len());
                let message = format!("this is no XML: {error}");
                self.faults.push(Fault {
                    file,
                    range: at..at + 1,
                    message,
                    wanted: "wanted a robot file".into(),
                });
                return None;
            }
        };
        let root = document.root_element();
        let mut elements = self.element(root, file, 0);
        let first = elements.pop()?;
        if first.tag != "mujoco" && first.tag != "mujocoinclude" {
            self.fault(&first, format!("found <{}>", first.tag), "wanted <mujoco model=\"…\">");
            return None;
        }
        Some(first)
    }

    /// An element, or what an include stands for.
    fn element(
        &mut self,
        node: roxmltree::Node<'_, '_>,
        file: usize,
        depth: usize,
    ) -> Vec<Element> {
        let range = node.range();
        let text = &node.document().input_text()[range.clone()];
        let head = range.start..range.start + text.find('>').map_or(text.len(), |i| i + 1);
        let attributes =
            node.attributes().map(|a| (a.name().to_string(), a.value().to_string())).collect();
        let tag = node.tag_name().name().to_string();
        let mut out = Element { tag, attributes, children: Vec::new(), file, range: head };
        if out.tag == "include" {
            return self.include(&out, depth);
        }
        if depth > 512 {
            self.fault(&out, "elements are nested too deeply", "wanted at most 512 levels");
            return Vec::new();
        }
        for child in node.children().filter(roxmltree::Node::is_element) {
            let more = self.element(child, file, depth + 1);
            out.children.extend(more);
        }
        vec![out]
    }

    fn include(&mut self, at: &Element, depth: usize) -> Vec<Element> {
        let Some(wanted) = at.own("file") else {
            self.fault(at, "<include> has no file", "wanted file=\"…\"");
            return Vec::new();
        };
        let beside = |i: usize| {
            Path::new(&self.sources[i].0)
                .parent()
                .unwrap_or(Path::new(""))
                .join(wanted)
                .to_string_lossy()
                .into_owned()
        };
        let candidates = [beside(at.file), beside(0)];
        if self.sources.len() > MAX_NESTING * 8 || candidates.contains(&self.sources[at.file].0) {
            self.fault(
                at,
                format!("`{wanted}` includes itself, or too many files do"),
                "wanted another file",
            );
            return Vec::new();
        }
        let found = candidates
            .iter()
            .find_map(|name| (self.library)(name).ok().map(|text| (name.clone(), text)));
        let Some((name, text)) = found else {
            self.fault(
                at,
                format!("cannot read `{wanted}`"),
                format!("looked for {}", candidates[0]),
            );
            return Vec::new();
        };
        let _ = depth;
        self.open(&name, text).map(|root| root.children).unwrap_or_default()
    }
}

/// Classes of defaults.
#[derive(Debug, Default)]
pub struct Defaults {
    /// Parent, and attributes by tag.
    classes: HashMap<String, (Option<String>, Vec<(String, Vec<(String, String)>)>)>,
}

/// The class of everything that names none.
pub const MAIN: &str = "main";

/// Tags that set the one set of defaults that all actuators share.
pub const ACTUATORS: [&str; 10] = [
    "general",
    "motor",
    "position",
    "velocity",
    "intvelocity",
    "damper",
    "cylinder",
    "muscle",
    "adhesion",
    "plugin",
];

impl Defaults {
    /// Takes in a `<default>` element.
    pub fn add(&mut self, element: &Element, parent: Option<&str>, reader: &mut Reader<'_>) {
        let name = match (element.own("class"), parent) {
            (Some(name), _) => name.to_string(),
            (None, None) => MAIN.to_string(),
            (None, Some(_)) => {
                reader.fault(element, "<default> has no class", "wanted class=\"…\"");
                return;
            }
        };
        let entry = self
            .classes
            .entry(name.clone())
            .or_insert_with(|| (parent.map(String::from), Vec::new()));
        for child in element.children.iter().filter(|c| c.tag != "default") {
            entry.1.push((child.tag.clone(), child.attributes.clone()));
        }
        for child in element.all("default") {
            self.add(child, Some(&name), reader);
        }
    }

    /// Whether a class exists.
    pub fn knows(&self, class: &str) -> bool {
        class == MAIN || self.classes.contains_key(class)
    }

    /// An attribute of an element: its own, else that of its class or of the classes above it.
    pub fn get<'a>(&'a self, element: &'a Element, class: &str, name: &str) -> Option<&'a str> {
        if let Some(own) = element.own(name) {
            return Some(own);
        }
        let tags: &[&str] =
            if ACTUATORS.contains(&element.tag.as_str()) { &ACTUATORS } else { &[] };
        let fits = |tag: &str| tag == element.tag || tags.contains(&tag);
        let mut here = element.own("class").unwrap_or(class);
        // A class above itself cannot be written; the count guards all the same.
        for _ in 0..=self.classes.len() {
            let Some((parent, sets)) = self.classes.get(here) else { break };
            let found = sets
                .iter()
                .rev()
                .filter(|(tag, _)| fits(tag))
                .find_map(|(_, set)| set.iter().find(|(key, _)| key == name));
            if let Some((_, value)) = found {
                return Some(value);
            }
            match parent {
                Some(parent) => here = parent,
                None => break,
            }
        }
        None
    }
}
