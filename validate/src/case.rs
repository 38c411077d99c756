//! Cases and the rows that they give: a value beside its reference.

use crate::peers::{Elsewhere, Peer};
use serde::Serialize;
use signorini_record::figure::{Curve, Figure};
pub use signorini_record::figure::{dots, line};

/// One scene or one family of scenes with a known answer.
#[derive(Clone, Copy)]
pub struct Case {
    /// What it is called, and what its rows begin with.
    pub name: &'static str,
    /// What kind of reference it has.
    pub group: Group,
    /// Where the reference comes from.
    pub source: &'static str,
    /// How long it takes.
    pub cost: Cost,
    /// Runs it.
    pub run: fn(&mut Rows) -> Result<(), String>,
}

/// What a row is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// A formula.
    ClosedForm,
    /// The limit load of a structure, by a linear program of our own.
    LimitAnalysis,
    /// Figures that other people published.
    Published,
    /// Scenes from public issues of other engines, with the exact answer.
    Issue,
}

/// How long a case takes on one core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cost {
    /// About a second at most: part of `./check`.
    Quick,
    /// Less than a minute.
    Normal,
    /// Minutes: only with `--long`.
    Long,
}

/// A value beside its reference.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Case and label.
    pub name: String,
    /// What the simulation gave.
    pub value: f64,
    /// What it should have given.
    pub reference: f64,
    /// The unit of both.
    pub unit: String,
    /// How far they are apart, in the unit of `allowed`.
    pub error: f64,
    /// The largest error with which the row passes.
    pub allowed: f64,
    /// True if `error` is relative to the reference.
    pub relative: bool,
    /// Why so much is allowed.
    pub reason: String,
    /// True if the error is allowed and every step was accepted.
    pub pass: bool,
    /// Where the reference comes from.
    pub source: String,
    /// The kind of the reference.
    pub group: Group,
    /// Seconds that the case took; the same for all its rows.
    pub seconds: f64,
    /// The same figure of other programs, where somebody published it.
    pub others: Vec<(String, f64)>,
    /// The same row in other engines, run here and now with `--peers`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<Peer>,
    /// What a reader should know about this row.
    pub note: String,
}

/// Collects the rows of a case.
#[derive(Default)]
pub struct Rows {
    /// The rows so far; case, source and time are filled in by the runner.
    pub rows: Vec<Row>,
    /// The plots so far.
    pub figures: Vec<Figure>,
    /// Rows that other engines can be asked for.
    pub elsewhere: Vec<Elsewhere>,
    /// Why the case could not be run as described, if it could not: it is then neither passed nor
    /// failed.
    pub skipped: Option<String>,
}

/// How large an error may be, and why.
#[derive(Clone, Copy)]
pub struct Allowed<'a> {
    /// The largest error.
    pub error: f64,
    /// True if it is relative to the reference.
    pub relative: bool,
    /// Why so much.
    pub reason: &'a str,
}

/// An absolute error.
pub fn within(error: f64, reason: &str) -> Allowed<'_> {
    Allowed { error, relative: false, reason }
}

/// An error relative to the reference.
pub fn relative(error: f64, reason: &str) -> Allowed<'_> {
    Allowed { error, relative: true, reason }
}

impl Rows {
    /// A value beside its reference.
    pub fn row(&mut self, label: &str, unit: &str, pair: (f64, f64), allowed: Allowed) -> &mut Row {
        let (value, reference) = pair;
        let apart = (value - reference).abs();
        let error = if allowed.relative { apart / reference.abs() } else { apart };
        self.rows.push(Row {
            name: label.into(),
            value,
            reference,
            unit: unit.into(),
            error,
            allowed: allowed.error,
            relative: allowed.relative,
            reason: allowed.reason.into(),
            pass: error <= allowed.error,
            source: String::new(),
            group: Group::ClosedForm,
            seconds: 0.0,
            others: Vec::new(),
            peers: Vec::new(),
            note: String::new(),
        });
        self.rows.last_mut().expect("a row was pushed")
    }

    /// A value that should be zero.
    pub fn zero(&mut self, label: &str, unit: &str, value: f64, allowed: Allowed) -> &mut Row {
        self.row(label, unit, (value, 0.0), allowed)
    }

    /// A plot.
    pub fn figure(&mut self, title: &str, axes: (&str, &str), curves: Vec<Curve>) -> &mut Figure {
        self.figures.push(Figure::new(title, axes, curves));
        self.figures.last_mut().expect("a figure was pushed")
    }
}

impl Row {
    /// The same figure of other programs.
    pub fn others(&mut self, others: &[(&str, f64)]) -> &mut Row {
        self.others.extend(others.iter().map(|(name, value)| (name.to_string(), *value)));
        self
    }

    /// What a reader should know.
    pub fn note(&mut self, note: impl Into<String>) -> &mut Row {
        self.note = note.into();
        self
    }
}
