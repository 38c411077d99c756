//! The page: all rows and plots in one file that needs no network.

use crate::{Outcome, Row};
use signorini_record::figure::{self, escape, number};

/// The whole page.
pub fn page(outcomes: &[Outcome]) -> String {
    let rows: Vec<&Row> = outcomes.iter().flat_map(|o| &o.rows).collect();
    let passed = rows.iter().filter(|row| row.pass).count();
    let mut out = format!(
        "<p>{passed} of {} rows pass. Every value is that of a simulation in which each step was \
            accepted; <code>signorini validate --page</code> writes this page.</p>\n",
        rows.len()
    );
    for outcome in outcomes {
        out += &section(outcome);
    }
    figure::page("Validation", &out)
}

fn section(outcome: &Outcome) -> String {
    let seconds = outcome.rows.first().map_or(0.0, |row| row.seconds);
    let mut out = format!(
        "<h2 id=\"{0}\">{0}</h2>\n<p><small>{1}; {seconds:.2} s</small></p>\n",
        escape(outcome.case.name),
        escape(outcome.case.source)
    );
    if let Some(why) = &outcome.skipped {
        out += &format!("<p>Skipped: {}</p>\n", escape(why));
    }
    if !outcome.rows.is_empty() {
        out += "<table><tr><th></th><th>row</th><th>value</th><th>reference</th><th>error</th><th>allowed</th>\
                <th>why so much is allowed</th></tr>\n";
        outcome.rows.iter().for_each(|row| out += &table_row(row));
        out += "</table>\n";
    }
    outcome.figures.iter().for_each(|figure| out += &figure.svg());
    out
}

fn table_row(row: &Row) -> String {
    let (class, word) = if row.pass { ("pass", "pass") } else { ("fail", "FAIL") };
    let label = row.name.split_once('/').map_or(row.name.as_str(), |(_, label)| label);
    let of = if row.relative { " rel." } else { "" };
    let others: Vec<String> =
        row.others.iter().map(|(who, x)| format!("{} {}", escape(who), number(*x))).collect();
    let others = if others.is_empty() {
        String::new()
    } else {
        format!("<br><small>published: {}</small>", others.join(", "))
    };
    let peers: String = row
        .peers
        .iter()
        .map(|peer| format!("<br><small>{}</small>", escape(&peer.text())))
        .collect();
    let note = if row.note.is_empty() {
        String::new()
    } else {
        format!("<br><small>{}</small>", escape(&row.note))
    };
    format!(
        "<tr><td class=\"{class}\">{word}</td><td>{}{note}{others}{peers}</td><td class=\"n\">{} \
            {}</td><td class=\"n\">{}</td>\
         <td class=\"n\">{:.1e}{of}</td><td class=\"n\">{:.1e}{of}</td><td><small>{}</small></td></tr>\n",
        escape(label),
        number(row.value),
        escape(&row.unit),
        number(row.reference),
        row.error,
        row.allowed,
        escape(&row.reason)
    )
}
