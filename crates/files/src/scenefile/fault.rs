//! What is wrong with a scene file: every fault at once, each with its place, what was found and
//! what was wanted.

use super::node::{Sources, Span};
use std::fmt;

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fault {
    /// Where.
    pub span: Span,
    /// What is wrong: what was found.
    pub message: String,
    /// What was wanted; empty if the message says it all.
    pub wanted: String,
}

/// All faults of a scene, with the texts they are in.
#[derive(Clone, Debug)]
pub struct Faults {
    /// The files that were read.
    pub sources: Sources,
    /// The faults, in the order of the files.
    pub list: Vec<Fault>,
}

impl Faults {
    /// Sorts by place and keeps one of equals (a repeated block is read many times).
    pub fn new(sources: Sources, mut list: Vec<Fault>) -> Faults {
        list.sort_by(|a, b| (&a.span, &a.message).cmp(&(&b.span, &b.message)));
        list.dedup();
        Faults { sources, list }
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for fault in &self.list {
            let (line, column) = self.sources.line_column(&fault.span);
            let (text, width) = self.sources.snippet(&fault.span);
            let name = self.sources.0.get(fault.span.file).map_or("?", |s| s.name.as_str());
            let number = line.to_string();
            let margin = " ".repeat(number.len());
            writeln!(f, "error: {}", fault.message)?;
            writeln!(f, "{margin}--> {name}:{line}:{column}")?;
            writeln!(f, "{margin} |")?;
            writeln!(f, "{number} | {}", text.replace('\t', " "))?;
            let mark = format!("{}{} {}", " ".repeat(column - 1), "^".repeat(width), fault.wanted);
            writeln!(f, "{margin} | {}", mark.trim_end())?;
        }
        match self.list.len() {
            1 => write!(f, "1 error in the scene"),
            n => write!(f, "{n} errors in the scene"),
        }
    }
}

impl std::error::Error for Faults {}
