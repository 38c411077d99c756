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

/// The candidate nearest in spelling, if near enough to be meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Nobody means a name by a text of this length, and the comparison is quadratic.
    if word.len() > 200 {
        return None;
    }
    let limit = (word.chars().count() / 3).max(1) + 1;
    candidates
        .into_iter()
        .map(|c| (distance(&word.to_lowercase(), &c.to_lowercase()), c))
        .filter(|(d, c)| *d <= limit && *d < c.chars().count().max(1))
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// "did you mean …", or the whole list if nothing is near.
pub fn suggestion(word: &str, candidates: &[&str]) -> String {
    match nearest(word, candidates.iter().copied()) {
        Some(best) => format!("did you mean `{best}`?"),
        None if candidates.is_empty() => "there is none".into(),
        None if candidates.len() > 24 => {
            format!("wanted one of {} names, such as `{}`", candidates.len(), candidates[0])
        }
        None => format!(
            "wanted one of {}",
            candidates.iter().map(|c| format!("`{c}`")).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// Edits (insert, delete, change, swap of neighbours) from one word to another.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut best = change.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_spelling_is_found() {
        assert_eq!(nearest("radus", ["radius", "length"]), Some("radius"));
        assert_eq!(nearest("frcition", ["friction", "fixed"]), Some("friction"));
        assert_eq!(nearest("xyz", ["radius", "length"]), None);
        assert_eq!(distance("ab", "ba"), 1);
        assert!(suggestion("q", &["alpha", "beta"]).contains("wanted one of `alpha`, `beta`"));
    }
}
