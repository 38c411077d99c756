//! `signorini papers`: the tables and figures of the five papers, each number beside the published
//! one.
//!
//! A [`Section`] measures one table or figure and gives rows. What a paper leaves out (masses,
//! friction, which pairs touch) stands in the note of the row.

mod metric;
mod page;
mod simplex;
mod sweeps;
mod symbolic;
mod thesis;

use clap::Args;
use serde::Serialize;
use signorini_record::figure::{Figure, number};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Which tables, and how they are shown.
#[derive(Args)]
pub struct Arguments {
    /// Only tables whose name contains one of these words.
    names: Vec<String>,
    /// Prints rows as JSON.
    #[arg(long)]
    json: bool,
    /// Writes one page with all tables and plots.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "papers.html")]
    page: Option<PathBuf>,
    /// Small sizes only: seconds instead of minutes.
    #[arg(long)]
    quick: bool,
    /// Only prints the names of the tables.
    #[arg(long)]
    list: bool,
}

/// One number of a paper beside ours.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The key of the paper in `REFERENCES.md`.
    pub paper: &'static str,
    /// Table, figure or section.
    pub place: &'static str,
    /// What is counted or measured.
    pub what: String,
    /// Its unit; empty for a count or a ratio.
    pub unit: &'static str,
    /// The published number; none if the paper gives no number here (see `note`).
    pub published: Option<f64>,
    /// Our number.
    pub ours: f64,
    /// The command that prints it.
    pub command: String,
    /// What differs, and what the paper leaves out.
    pub note: String,
}

impl Row {
    /// What differs.
    fn note(&mut self, note: impl Into<String>) -> &mut Row {
        self.note = note.into();
        self
    }
}

/// A table or figure of a paper.
#[derive(Clone, Copy)]
pub struct Section {
    /// What it is called.
    pub name: &'static str,
    /// The key of the paper in `REFERENCES.md`.
    pub paper: &'static str,
    /// What stands above it.
    pub title: &'static str,
    measure: fn(&mut Found, bool) -> Result<(), String>,
}

/// What a section gave.
#[derive(Default)]
pub struct Found {
    section: &'static str,
    paper: &'static str,
    /// Its rows.
    pub rows: Vec<Row>,
    /// Its plots.
    pub figures: Vec<Figure>,
    /// Its drawings: a title and SVG.
    pub drawings: Vec<(String, String)>,
}

impl Found {
    /// A number beside the published one.
    fn row(
        &mut self,
        place: &'static str,
        what: impl Into<String>,
        unit: &'static str,
        (ours, published): (f64, Option<f64>),
    ) -> &mut Row {
        self.rows.push(Row {
            paper: self.paper,
            place,
            what: what.into(),
            unit,
            published,
            ours,
            command: format!("signorini papers {}", self.section),
            note: String::new(),
        });
        self.rows.last_mut().expect("a row was pushed")
    }
}

/// All tables and figures, in the order in which they are measured.
pub fn sections() -> Vec<Section> {
    let mut all = thesis::sections();
    all.extend(sweeps::sections());
    all.extend(simplex::sections());
    all.extend(symbolic::sections());
    all.extend(metric::sections());
    all
}

/// Measures one section.
pub fn measure(section: &Section, quick: bool) -> Result<Found, String> {
    let mut found = Found { section: section.name, paper: section.paper, ..Found::default() };
    (section.measure)(&mut found, quick)?;
    Ok(found)
}

/// Measures and prints; 1 if a section cannot be measured, 2 if none has such a name.
pub fn run(arguments: &Arguments) -> ExitCode {
    let named = |section: &Section| {
        arguments.names.is_empty()
            || arguments.names.iter().any(|name| section.name.contains(name.as_str()))
    };
    let chosen: Vec<Section> = sections().into_iter().filter(named).collect();
    if chosen.is_empty() {
        eprintln!(
            "error: no table has a name with {}; `signorini papers --list` names all",
            arguments.names.join(" or ")
        );
        return ExitCode::from(2);
    }
    if arguments.list {
        chosen.iter().for_each(|s| println!("{:18} {}", s.name, s.title));
        return ExitCode::SUCCESS;
    }
    let (mut done, mut code) = (Vec::new(), ExitCode::SUCCESS);
    for section in chosen {
        eprintln!("... {}", section.name);
        let begun = Instant::now();
        match measure(&section, arguments.quick) {
            Ok(found) => {
                if !arguments.json {
                    print(&section, &found, begun.elapsed().as_secs_f64());
                }
                done.push((section, found));
            }
            Err(message) => {
                eprintln!("error: {}: {message}", section.name);
                code = ExitCode::FAILURE;
            }
        }
    }
    if arguments.json {
        let rows: Vec<&Row> = done.iter().flat_map(|(_, found)| &found.rows).collect();
        println!("{}", serde_json::to_string_pretty(&rows).expect("rows are plain data"));
    }
    if let Some(path) = &arguments.page {
        if let Err(e) = signorini::whole::write_whole(path, page::page(&done).as_bytes()) {
            eprintln!("error: {}: {e}", path.display());
            return ExitCode::from(2);
        }
        eprintln!("{}", path.display());
    }
    code
}

/// A section as a table of text.
fn print(section: &Section, found: &Found, seconds: f64) {
    println!("\n{} ({}, {seconds:.1} s)", section.title, section.paper);
    println!("{:>13} {:>13}  what", "published", "ours");
    let mut last = "";
    for row in &found.rows {
        let published = row.published.map_or("-".into(), short);
        let unit = if row.unit.is_empty() { String::new() } else { format!(", {}", row.unit) };
        println!("{published:>13} {:>13}  {}: {}{unit}", short(row.ours), row.place, row.what);
        if !row.note.is_empty() && row.note != last {
            println!("{:29}{}", "", row.note);
        }
        last = &row.note;
    }
}

/// A number with four digits, short.
pub(crate) fn short(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 || !(1e-3..1e7).contains(&size) {
        return number(x);
    }
    let digits = (3 - size.log10().floor() as i32).max(0) as usize;
    let text = format!("{x:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What others read: every row has a place, a command, and a published number or the reason
    /// why there is none.
    #[test]
    fn quick_rows_are_whole() {
        let names: Vec<&str> = sections().iter().map(|s| s.name).collect();
        let different: std::collections::BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(different.len(), names.len(), "two tables of one name: {names:?}");
        for section in sections().iter().filter(|s| s.name != "bending") {
            let found = measure(section, true).unwrap_or_else(|e| panic!("{}: {e}", section.name));
            assert!(!found.rows.is_empty(), "{}", section.name);
            for row in &found.rows {
                assert!(row.ours.is_finite(), "{row:?}");
                assert!(row.published.is_some() || !row.note.is_empty(), "no reason: {row:?}");
                assert!(row.command.starts_with("signorini "), "{row:?}");
            }
        }
    }

    #[test]
    fn numbers_are_short() {
        for (x, text) in [(0.0, "0"), (17.8, "17.8"), (34916.0, "34916"), (1e-10, "1.000e-10")] {
            assert_eq!(short(x), text);
        }
    }
}
