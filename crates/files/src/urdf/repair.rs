//! Texts that are nearly XML.
//!
//! Every repair overwrites bytes in place, so that lines and columns stay those of the file.

use super::model::Reader;
use roxmltree::{Document, Error};
use std::borrow::Cow;

/// The most repairs of one file.
const MAX_REPAIRS: usize = 1000;

/// The text as well-formed XML; none if that cannot be had, and the fault is noted.
pub fn well_formed<'t>(text: &'t str, reader: &mut Reader<'_>) -> Option<Cow<'t, str>> {
    let mut better = Cow::Borrowed(text);
    for _ in 0..MAX_REPAIRS {
        let error = match Document::parse(&better) {
            Ok(_) => return Some(better),
            Err(error) => error,
        };
        let position = error.pos();
        let before: usize =
            better.split_inclusive('\n').take(position.row as usize - 1).map(str::len).sum();
        let line = better[before..].lines().next().unwrap_or("");
        let column: usize = line.chars().take(position.col as usize - 1).map(char::len_utf8).sum();
        let at = (before + column).min(better.len());
        let message = format!("this is no XML: {error}");
        let (start, end, with, done) = match repair(&better, &error, at) {
            Some(repair) if !reader.strict => repair,
            _ => {
                reader.fault(at..at + 1, message, "wanted a robot file");
                return None;
            }
        };
        reader.repaired(at, &message, done);
        let mut bytes = std::mem::take(&mut better).into_owned().into_bytes();
        for byte in bytes[start..end].iter_mut().filter(|b| **b != b'\n') {
            *byte = with;
        }
        better = Cow::Owned(String::from_utf8_lossy(&bytes).into_owned());
    }
    reader.fault(0..1, "this is no XML: too many faults", "wanted a robot file");
    None
}

/// Which bytes to overwrite, with what, and how to call it.
fn repair(text: &str, error: &Error, at: usize) -> Option<(usize, usize, u8, &'static str)> {
    match error {
        // The colon of a name becomes an underscore: the element is then one that is not used.
        Error::UnknownNamespace(prefix, _) => {
            let colon = text[at..].find(&format!("{prefix}:")).map(|i| at + i + prefix.len())?;
            Some((colon, colon + 1, b'_', "the prefix is part of the name (left by xacro?)"))
        }
        Error::DuplicatedAttribute(name, _) => {
            let start = at + text[at..].find(name.as_str())?;
            let quote = start + text[start..].find(['"', '\''])?;
            let mark = text.as_bytes()[quote] as char;
            let end = quote + 1 + text[quote + 1..].find(mark)? + 1;
            Some((start, end, b' ', "the first one counts"))
        }
        _ => {
            // Something before the robot, or after it.
            let start = text.find("<robot").filter(|&s| s > 0 && !text[..s].trim().is_empty());
            let end = text
                .rfind("</robot>")
                .map(|e| e + "</robot>".len())
                .filter(|&e| !text[e..].trim().is_empty());
            match (start, end) {
                (_, Some(end)) if at >= end => {
                    Some((end, text.len(), b' ', "what follows the robot is left out"))
                }
                (Some(start), _) if at <= start => {
                    Some((0, start, b' ', "what stands before the robot is left out"))
                }
                _ => None,
            }
        }
    }
}
