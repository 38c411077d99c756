//! A scene file as a tree in which every key and value knows where it stands.

use std::ops::Range;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// Which file, as counted by [`Sources`].
    pub file: usize,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// A range of a file.
    pub fn new(file: usize, range: Range<usize>) -> Span {
        Span { file, start: range.start, end: range.end }
    }
}

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where it stands.
    pub span: Span,
    /// What it is.
    pub value: Value,
}

/// A value of a scene file, TOML or JSON.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text.
    Text(String),
    /// A number, whole or not.
    Number(f64),
    /// True or false.
    Bool(bool),
    /// A list.
    List(Vec<Node>),
    /// A table: keys in the order of the file.
    Table(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub place: Span,
    /// The value.
    pub node: Node,
}

/// Memory of a number or a short text within a table, bytes.
const VALUE_BYTES: usize = 24;

impl Node {
    /// The entry of a table.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Table(entries) => entries.iter().find(|e| e.key == key).map(|e| &e.node),
            _ => None,
        }
    }

    /// The entries of a table; none of anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    /// Memory that it takes with all within it, bytes; a long text may become several names.
    pub fn bytes(&self) -> usize {
        VALUE_BYTES
            + match &self.value {
                Value::List(list) => list.iter().map(Node::bytes).sum(),
                Value::Table(entries) => entries.iter().map(|e| e.node.bytes()).sum(),
                Value::Text(text) => 4 * text.len().saturating_sub(16),
                _ => 0,
            }
    }

    /// What it is and, if short, which: for messages.
    pub fn found(&self) -> String {
        match &self.value {
            Value::Text(text) if text.chars().count() > 40 => "a long text".into(),
            Value::Text(text) => format!("the text \"{text}\""),
            Value::Number(number) => format!("the number {number}"),
            Value::Bool(value) => format!("{value}"),
            Value::List(list) => format!("a list of {}", list.len()),
            Value::Table(entries) => match entries.as_slice() {
                [] => "an empty table".into(),
                [one] => format!("a table with the key `{}`", one.key),
                many => format!("a table with {} keys", many.len()),
            },
        }
    }
}

/// One file that was read.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name, as the user knows it.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// All files that were read: the scene itself is the first.
#[derive(Clone, Debug, Default)]
pub struct Sources(pub Vec<Source>);

impl Sources {
    /// Line and column, both from 1, columns counted in characters.
    pub fn line_column(&self, span: &Span) -> (usize, usize) {
        let Some(source) = self.0.get(span.file) else { return (1, 1) };
        let before = &source.text[..floor(&source.text, span.start)];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    /// The line that a place begins in, and how much of it the place covers (characters, at least
    /// 1).
    pub fn snippet(&self, span: &Span) -> (&str, usize) {
        let Some(source) = self.0.get(span.file) else { return ("", 1) };
        let start = floor(&source.text, span.start);
        let line_start = source.text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = source.text[start..].find('\n').map_or(source.text.len(), |i| start + i);
        let end = floor(&source.text, span.end).clamp(start, line_end);
        (
            source.text[line_start..line_end].trim_end_matches('\r'),
            source.text[start..end].chars().count().max(1),
        )
    }
}

/// The nearest boundary of a character at or before a byte.
fn floor(text: &str, byte: usize) -> usize {
    let mut byte = byte.min(text.len());
    while !text.is_char_boundary(byte) {
        byte -= 1;
    }
    byte
}
