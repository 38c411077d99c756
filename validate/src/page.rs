//! The page: all rows and plots in one file that needs no network.

use crate::{Figure, Outcome, Row, number};
use signorini_record::plot::{Labels, Series, draw};

const STYLE: &str = "body{font:15px/1.5 \
    system-ui,Helvetica,Arial,sans-serif;color:#2a3038;max-width:1180px;\
margin:32px auto;padding:0 20px}table{border-collapse:collapse;width:100%;margin:12px 0 28px}\
td,th{padding:5px 9px;border-bottom:1px solid #e3e6ea;text-align:left;vertical-align:top}\
td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}small{color:#66707c}\
.pass{color:#2c7d5c}.fail{color:#b3263e;font-weight:600}svg{width:100%;height:auto;margin:4px 0 \
20px}";

/// The whole page.
pub fn page(outcomes: &[Outcome]) -> String {
    let rows: Vec<&Row> = outcomes.iter().flat_map(|o| &o.rows).collect();
    let passed = rows.iter().filter(|row| row.pass).count();
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Signorini: \
            validation</title>\n\
        <style>{STYLE}</style>\n<h1>Validation</h1>\n<p>{passed} of {} rows pass. Every value is \
        that of a \
        simulation in which each step was accepted; <code>signorini validate --page</code> writes \
        this page.</p>\n",
        rows.len()
    );
    for outcome in outcomes {
        out += &section(outcome);
    }
    out + "</html>\n"
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
    outcome.figures.iter().for_each(|figure| out += &plot(figure));
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
    let note = if row.note.is_empty() {
        String::new()
    } else {
        format!("<br><small>{}</small>", escape(&row.note))
    };
    format!(
        "<tr><td class=\"{class}\">{word}</td><td>{}{note}{others}</td><td class=\"n\">{} \
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

fn plot(figure: &Figure) -> String {
    let series: Vec<Series> = figure
        .curves
        .iter()
        .map(|c| Series { label: c.label.clone(), points: c.points.clone(), dots: c.dots })
        .collect();
    draw(Labels { title: &figure.title, x: &figure.x, y: &figure.y }, &series, figure.log).svg()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
