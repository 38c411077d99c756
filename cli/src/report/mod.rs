//! The report: one HTML file that holds the page (`viewer/`, built by `build.rs`) and the record of a run; it needs no network.

use crate::record::Record;
use crate::run::Options;
use std::path::{Path, PathBuf};

/// The page, or empty if there was no Node.js when this program was built.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/page.html"));
/// Why there is no page.
const WHY: &str = env!("SIGNORINI_PAGE");
/// Where the record goes in the page.
const PLACE: &str = "@@SIGNORINI-RECORD@@";
/// Where the title goes.
const TITLE: &str = "<title>Signorini</title>";

/// The page; otherwise why there is none, for a person.
pub fn page() -> Result<&'static str, String> {
    match PAGE {
        "" => Err(format!(
            "this program was built without the page of reports ({WHY}): install Node.js 20 or newer and npm, then build again"
        )),
        page => Ok(page),
    }
}

/// The page with a record in it.
pub fn html(record: &[u8], name: &str) -> Result<String, String> {
    let page = page()?;
    let (before, after) = page.split_once(PLACE).ok_or("the page has no place for a record")?;
    let title = format!("<title>{} · Signorini</title>", escaped(name));
    Ok([&before.replacen(TITLE, &title, 1), base64(record).as_str(), after].concat())
}

/// Writes the report that was asked for, and says so on stderr; the exit code if that failed.
pub fn after(scene: &str, record: Option<&[u8]>, options: &Options) -> Option<u8> {
    let wanted = options.report.as_ref()?;
    // A dot stands for the usual place.
    let path = match (wanted == Path::new("."), &options.out) {
        (false, _) => wanted.clone(),
        (true, Some(folder)) => folder.join("report.html"),
        (true, None) => PathBuf::from(format!("{}.html", scene.replace(['/', '\\'], "_"))),
    };
    let stored = match (record, &options.out) {
        (Some(bytes), _) => Ok(bytes.to_vec()),
        (None, Some(folder)) => Record::open(folder).map(|r| r.bytes().to_vec()).map_err(|e| e.to_string()),
        (None, None) => Err("a search for equilibrium is not recorded".into()),
    };
    match stored.and_then(|bytes| write(&path, &bytes, scene)) {
        Ok(size) => {
            eprintln!("report: {} ({})", path.display(), megabytes(size));
            None
        }
        Err(why) => {
            eprintln!("error: no report: {why}");
            Some(1)
        }
    }
}

/// Writes a report; returns its size.
pub fn write(path: &Path, record: &[u8], name: &str) -> Result<u64, String> {
    let text = html(record, name)?;
    std::fs::write(path, &text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    Ok(text.len() as u64)
}

/// Makes a report of a folder of results.
pub fn of_folder(folder: &Path, path: &Path) -> Result<u64, String> {
    page()?;
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

/// Bytes as base64 [RFC 4648, §4].
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
        let word = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..4 {
            let used = digit <= group.len();
            out.push(if used { char::from(DIGITS[(word >> (18 - 6 * digit) & 63) as usize]) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
