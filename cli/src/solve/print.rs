//! Prints answers: a table for a person, or JSON lines.

use super::Arguments;
use super::line::{line, status, worst_name};
use super::outcome::{Outcome, tolerance};
use signorini::problem::Tolerance;
use signorini::problem::files::Stored;
use signorini::solve::certificate::{Ends, Standing};
use signorini::solve::{Report, Status};
use std::io::Write;
use std::path::PathBuf;

/// Prints a table, or JSON lines.
pub(super) struct Printer {
    json: bool,
    /// Width of the first two columns.
    widths: (usize, usize),
    begun: bool,
    /// There is one solver.
    alone: bool,
    tolerance: Tolerance,
}

impl Printer {
    pub(super) fn new(arguments: &Arguments) -> Printer {
        let name =
            |path: &PathBuf| path.file_stem().map_or(0, |s| s.to_string_lossy().chars().count());
        let problem = arguments.files.iter().map(name).max().unwrap_or(0).max(7);
        let solver =
            arguments.solver.0.iter().map(|choice| choice.name.len()).max().unwrap_or(0).max(6);
        let (json, alone, tolerance) =
            (arguments.json, arguments.solver.0.len() == 1, tolerance(arguments));
        Printer { json, widths: (problem, solver), begun: false, alone, tolerance }
    }

    pub(super) fn print(&mut self, stored: &Stored, outcome: &Outcome, difference: Option<f64>) {
        if self.json {
            say(&serde_json::to_string(&line(stored, outcome, &self.tolerance, difference))
                .expect("plain data can be written"));
            return;
        }
        let (a, b) = self.widths;
        if !self.begun {
            say(&format!(
                "{:a$}  {:b$}  {:11}  {:>7}  {:>8}  {:>9}  {:>9}  {:>9}  {:>9}  worst row",
                "problem",
                "solver",
                "status",
                "work",
                "time s",
                "error J",
                "relative",
                "estimate",
                "m/s"
            ));
            self.begun = true;
        }
        let (error, work) = (&outcome.error, outcome.result.as_ref().map_or(0, |r| r.work));
        let last = match &outcome.result {
            Ok(_) => worst_name(&stored.input, error),
            Err(unsupported) => unsupported.to_string(),
        };
        say(&format!(
            "{:a$}  {:b$}  {:11}  {:>7}  {:>8.3}  {:>9.2e}  {:>9.2e}  {:>9.2e}  {:>9.2e}  {}",
            stored.input.name(),
            outcome.choice.name,
            status(&outcome.result),
            work,
            outcome.wall,
            error.joule,
            error.relative(),
            error.estimate_relative(),
            error.velocity,
            last
        ));
        if let Some(certificate) = &outcome.certificate {
            say(&format!(
                "{:a$}  {}",
                "",
                certified(certificate, error.scale, outcome.refuted(&self.tolerance))
            ));
        }
        if let Ok(Report { status: Status::Infeasible, conflict, .. }) = &outcome.result {
            let names: Vec<String> = conflict.iter().map(|&k| stored.input.block_name(k)).collect();
            say(&format!("{:a$}  these contradict each other: {}", "", names.join(", ")));
        }
        if let (Ok(report), true) = (&outcome.result, self.alone)
            && !report.stages.is_empty()
        {
            say(&format!("{:a$}  {}", "", report.stages_line()));
        }
        // What only this method knows, where it is asked alone.
        if let (Some(contacts), true) = (&outcome.contacts, self.alone) {
            let counts = contacts.counts;
            say(&format!(
                "{:a$}  {} sweeps, {} factorizations",
                "", counts.sweeps, counts.factorizations
            ));
            contacts.notes.iter().for_each(|note| say(&format!("{:a$}  {note}", "")));
            say(&format!("{:a$}  {}", "", contacts.line(&stored.input)));
        }
    }

    pub(super) fn print_difference(&self, difference: Option<f64>) {
        if let (Some(difference), false) = (difference, self.json) {
            say(&format!(
                "{:w$}  largest difference in v between solvers: {difference:.2e} √J",
                "",
                w = self.widths.0
            ));
        }
    }
}

/// A certificate for a person.
fn certified(certificate: &Ends, scale: f64, refuted: bool) -> String {
    if certificate.standing == Standing::Unknown {
        return "certificate: unknown (no feasible velocity was found, or the problem is not \
            convex)"
            .into();
    }
    let Ends { upper, lower, .. } = certificate;
    let wrong = if refuted { "; REFUTED: this is more than the tolerance" } else { "" };
    let relative = if *upper == 0.0 { 0.0 } else { upper / scale };
    let standing = certificate.standing_text();
    format!(
        "certificate: velocity error {lower:.3e} to {upper:.3e} J ({relative:.1e} of the scale), \
            {standing}{wrong}"
    )
}

/// Prints a line; a reader who has left is not an error.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
