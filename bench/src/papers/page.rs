//! One page with all tables and plots, in one file that needs no network.

use super::{Found, Row, Section, short};
use signorini_record::figure::{self, escape};

/// The whole page.
pub(super) fn page(done: &[(Section, Found)]) -> String {
    let mut out = String::from(
        "<p>Numbers of five papers beside ours, measured here and now; <code>signorini papers \
            --page</code> writes this page. A dash means that the paper gives no number, and the \
            note says what it leaves out.</p>\n",
    );
    for (section, found) in done {
        out += &format!(
            "<h2 id=\"{0}\">{1}</h2>\n<p><small>{2}; <code>signorini papers \
                {0}</code></small></p>\n",
            section.name,
            escape(section.title),
            escape(section.paper)
        );
        out += "<table><tr><th>place</th><th>what</th><th>published</th><th>ours</th></tr>\n";
        found.rows.iter().for_each(|row| out += &table_row(row));
        out += "</table>\n";
        found.figures.iter().for_each(|f| out += &f.svg());
        for (title, svg) in &found.drawings {
            out += &format!("<h3>{}</h3>\n{svg}\n", escape(title));
        }
    }
    figure::page("The papers", &out)
}

fn table_row(row: &Row) -> String {
    let note = if row.note.is_empty() {
        String::new()
    } else {
        format!("<br><small>{}</small>", escape(&row.note))
    };
    format!(
        "<tr><td>{}</td><td>{}{note}</td><td class=\"n\">{}</td><td class=\"n\">{} {}</td></tr>\n",
        escape(row.place),
        escape(&row.what),
        row.published.map_or("–".into(), short),
        short(row.ours),
        escape(row.unit)
    )
}

/// A matrix as a picture: one square per entry, dark if the first list holds it, light if the
/// second does.
pub(super) fn pattern(size: (usize, usize), dark: &[(u32, u32)], light: &[(u32, u32)]) -> String {
    let (rows, columns) = size;
    let cell = (700 / columns.max(1)).clamp(2, 10);
    let mut out = format!(
        "<svg viewBox=\"0 0 {0} {1}\" style=\"max-width:{0}px\" \
            xmlns=\"http://www.w3.org/2000/svg\"><rect width=\"{0}\" height=\"{1}\" \
            fill=\"none\" stroke=\"#66707c\"/>",
        cell * columns,
        cell * rows
    );
    for (entries, fill) in [(dark, "#2a3038"), (light, "#9fb7d6")] {
        for (row, column) in entries {
            out += &format!(
                "<rect x=\"{}\" y=\"{}\" width=\"{cell}\" height=\"{cell}\" fill=\"{fill}\"/>",
                cell * *column as usize,
                cell * *row as usize
            );
        }
    }
    out + "</svg>"
}
