//! The report: one HTML file that holds the page (`viewer/`, built by `viewer/build`) and the
//! record of a run; it needs no network.

use crate::record::Record;
use signorini_solve::whole::write_whole;
use std::path::Path;

/// The page: `viewer/` as one file, made by `viewer/build`.
const PAGE: &str = include_str!("../../assets/page.html");
/// Where the record goes in the page.
const PLACE: &str = "@@SIGNORINI-RECORD@@";
/// Where the title goes.
const TITLE: &str = "<title>Signorini</title>";

/// The page without a record.
pub fn page() -> &'static str {
    PAGE
}

/// The page with a record in it.
pub fn html(record: &[u8], name: &str) -> Result<String, String> {
    let (before, after) = PAGE.split_once(PLACE).ok_or("the page has no place for a record")?;
    let title = format!("<title>{} · Signorini</title>", escaped(name));
    let mut out = before.replacen(TITLE, &title, 1);
    crate::base64::encode(record, &mut out);
    out.push_str(after);
    Ok(out)
}

/// Writes a report; returns its size.
pub fn write(path: &Path, record: &[u8], name: &str) -> Result<u64, String> {
    let text = html(record, name)?;
    write_whole(path, text.as_bytes())
        .map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    Ok(text.len() as u64)
}

/// Makes a report of a folder of results.
pub fn of_folder(folder: &Path, path: &Path) -> Result<u64, String> {
    let record = Record::open(folder).map_err(|e| e.to_string())?;
    write(path, record.bytes(), &record.head.name)
}

/// A size for a person.
pub fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
