//! `signorini validate`: values of simulations beside closed forms, limit analysis and figures that
//! others published.
//!
//! Every [`Case`] is a scene with a known answer. It is run here and now, and gives rows: value,
//! reference, error, what is allowed and why, and the source. A step that is not accepted fails its
//! case.

mod arch;
mod case;
mod closed;
mod micro;
mod motion;
mod page;
mod peers;
mod published;

pub use case::{Case, Cost, Group, Row, Rows};
pub use peers::{Engines, Peer};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use signorini_record::figure::{Figure, number};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Which rows, and how they are shown.
#[derive(Args)]
pub struct Arguments {
    /// Only cases whose name contains one of these words.
    names: Vec<String>,
    /// Prints rows as JSON.
    #[arg(long)]
    json: bool,
    /// Writes a page with the table and plots.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "validate.html")]
    page: Option<PathBuf>,
    /// Slow cases too.
    #[arg(long)]
    long: bool,
    /// Only cases that take about a second at most.
    #[arg(long, conflicts_with = "long")]
    quick: bool,
    /// The same rows in MuJoCo, Bullet, Drake, DART and Rapier too, where they are installed: the
    /// same scene, time step and duration; each as shipped and tuned (`docs/why.md` says how).
    #[arg(long)]
    peers: bool,
    /// The Python in which MuJoCo, Bullet, Drake and DART are looked for.
    #[arg(long, default_value = "python3", requires = "peers")]
    python: String,
    /// Only prints the names of the cases.
    #[arg(long)]
    list: bool,
}

/// All cases, in the order in which they run.
pub fn cases() -> Vec<Case> {
    let mut all = closed::cases();
    all.extend(arch::cases());
    all.extend(micro::cases());
    all.extend(published::cases());
    all
}

/// What a case gave.
pub struct Outcome {
    /// The case.
    pub case: Case,
    /// Its rows; one that failed if the scene could not be run.
    pub rows: Vec<Row>,
    /// Its plots.
    pub figures: Vec<Figure>,
    /// Why it was left out, if it was.
    pub skipped: Option<String>,
}

/// Runs one case, in other engines too if there are any.
pub fn run_case(case: Case, engines: Option<&Engines>) -> Outcome {
    let mut found = Rows::default();
    let begun = Instant::now();
    if let Err(message) = (case.run)(&mut found) {
        let not_run = case::within(0.0, "the scene must run, with every step accepted");
        let row = found.row("run", "", (f64::NAN, 0.0), not_run);
        row.note(message).pass = false;
    }
    let seconds = begun.elapsed().as_secs_f64();
    if let Some(engines) = engines {
        engines.compare(&mut found);
    }
    for row in &mut found.rows {
        row.name = format!("{}/{}", case.name, row.name);
        (row.group, row.seconds) = (case.group, seconds);
        if row.source.is_empty() {
            row.source = case.source.into();
        }
    }
    Outcome { case, rows: found.rows, figures: found.figures, skipped: found.skipped }
}

/// Runs the chosen cases; 1 if a row fails, 2 if no case has such a name.
pub fn run(arguments: &Arguments) -> ExitCode {
    let wanted = |case: &Case| {
        let named = arguments.names.iter().any(|name| case.name.contains(name.as_str()));
        let most = match (arguments.quick, arguments.long) {
            (true, _) => Cost::Quick,
            (_, true) => Cost::Long,
            _ => Cost::Normal,
        };
        (named || arguments.names.is_empty()) && case.cost <= most
    };
    let chosen: Vec<Case> = cases().into_iter().filter(wanted).collect();
    if chosen.is_empty() {
        eprintln!(
            "error: no case has a name with {}; `signorini validate --list` names all",
            arguments.names.join(" or ")
        );
        return ExitCode::from(2);
    }
    if arguments.list {
        chosen.iter().for_each(|case| println!("{}  {}", case.name, case.source));
        return ExitCode::SUCCESS;
    }
    let engines = arguments.peers.then(|| Engines::look(&arguments.python));
    if let Some(engines) = &engines
        && !arguments.json
    {
        engines.print();
    }
    let bar = ProgressBar::new(chosen.len() as u64);
    bar.set_style(ProgressStyle::with_template("{pos}/{len} {msg}").expect("a fixed template"));
    let mut outcomes = Vec::new();
    for case in chosen {
        bar.set_message(case.name);
        let outcome = run_case(case, engines.as_ref());
        if !arguments.json {
            bar.suspend(|| print(&outcome));
        }
        outcomes.push(outcome);
        bar.inc(1);
    }
    bar.finish_and_clear();
    if let Some(engines) = &engines
        && !arguments.json
    {
        engines.summary(&outcomes);
    }
    finish(arguments, &outcomes)
}

fn finish(arguments: &Arguments, outcomes: &[Outcome]) -> ExitCode {
    let rows: Vec<&Row> = outcomes.iter().flat_map(|o| &o.rows).collect();
    let failed = rows.iter().filter(|row| !row.pass).count();
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&rows).expect("rows are plain data"));
    } else {
        let seconds: f64 =
            outcomes.iter().filter_map(|o| o.rows.first()).map(|row| row.seconds).sum();
        let skipped = outcomes.iter().filter(|o| o.skipped.is_some()).count();
        let skipped =
            if skipped > 0 { format!(", {skipped} cases skipped") } else { String::new() };
        println!(
            "{} rows, {} pass, {failed} fail{skipped}, {seconds:.1} s",
            rows.len(),
            rows.len() - failed
        );
    }
    if let Some(path) = &arguments.page {
        if let Err(e) = signorini::whole::write_whole(path, page::page(outcomes).as_bytes()) {
            eprintln!("error: {}: {e}", path.display());
            return ExitCode::from(2);
        }
        eprintln!("{}", path.display());
    }
    ExitCode::from(u8::from(failed > 0))
}

/// The rows of a case as text.
fn print(outcome: &Outcome) {
    if let Some(why) = &outcome.skipped {
        println!("skipped  {}: {why}", outcome.case.name);
    }
    for row in &outcome.rows {
        let verdict = if row.pass { "pass" } else { "FAIL" };
        let of = if row.relative { " of it" } else { "" };
        let Row { name, value, reference, unit, error, allowed, .. } = row;
        println!(
            "{verdict}  {name}  {} {unit}, reference {}, error {error:.1e}{of}, allowed \
                {allowed:.1e}",
            number(*value),
            number(*reference)
        );
        if !row.pass || !row.note.is_empty() {
            println!(
                "      {}{}{}",
                row.note,
                if row.note.is_empty() { "" } else { "; " },
                row.reason
            );
        }
        if !row.others.is_empty() {
            let list: Vec<String> =
                row.others.iter().map(|(who, x)| format!("{who} {}", number(*x))).collect();
            println!("      published: {}", list.join(", "));
        }
        row.peers.iter().for_each(|peer| println!("      {}", peer.text()));
    }
    if let Some(row) = outcome.rows.first() {
        println!("      {:.2} s, {}", row.seconds, outcome.case.source);
    }
}
