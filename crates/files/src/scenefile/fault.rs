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

impl Fault {
    /// The message without the names in it.
    fn kind(&self) -> &str {
        self.message.split('`').next().unwrap_or_default()
    }
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
        // Copies of a repeated block have the same place: the first one stands for them.
        for alike in self.list.chunk_by(|a, b| a.span == b.span && a.kind() == b.kind()) {
            let fault = &alike[0];
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
            match alike.len() - 1 {
                0 => {}
                1 => writeln!(f, "{margin} = and one more like it in another copy")?,
                more => writeln!(f, "{margin} = and {more} more like it in other copies")?,
            }
        }
        match self.list.len() {
            1 => write!(f, "1 error in the scene"),
            n => write!(f, "{n} errors in the scene"),
        }
    }
}

impl std::error::Error for Faults {}

#[cfg(test)]
mod tests {
    use crate::scenefile;

    /// 1000 copies with one wrong name are one message, and the count is that of all.
    #[test]
    fn copies_of_a_block_report_a_fault_once() {
        let text = r#"
[[repeat]]
count = 1000
[[repeat.body]]
name = "rod {i}"
mass = "1 kg"
shape = { sphere = 1 }
position = ["3*i", 0, 0]
[[repeat.joint]]
name = "hinge {i}"
kind = "revolute"
a = "ground"
b = "rot {i}"
"#;
        let faults = scenefile::load_from("copies.toml", &|_| Ok(text.into()), &[])
            .err()
            .expect("faults")
            .to_string();
        assert!(faults.starts_with("error: there is no body `rot 0`"), "{faults}");
        assert!(faults.contains("did you mean `rod 0`?"), "{faults}");
        assert!(faults.contains("= and 999 more like it in other copies"), "{faults}");
        assert!(faults.ends_with("1000 errors in the scene"), "{faults}");
        assert_eq!(faults.matches("error:").count(), 1, "{faults}");
    }
}
