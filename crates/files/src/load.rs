//! Any problem file, by its contents.
//!
//! HDF5 and JSON files say themselves what they are. A Siconos text does not: its kind comes from
//! `--kind`, else from the name of its folder, else from the only kind that its words fit.

use signorini_solve::problem::files::siconos::{self, Kind};
use signorini_solve::problem::files::{FileError, Stored, json};
use std::path::Path;

/// Reads a problem; a complaint is one line that names the file and the place.
pub fn load(path: &Path, kind: Option<Kind>) -> Result<Stored, String> {
    read(path, kind)
        .map_err(|error| format!("{}: {error}", path.display()).replace(['\n', '\r'], " "))
}

/// Whether a file is HDF5: its signature stands at byte 0, 512, 1024, 2048, …
fn is_hdf5(bytes: &[u8]) -> bool {
    let places =
        std::iter::once(0).chain(std::iter::successors(Some(512), |at: &usize| at.checked_mul(2)));
    places.map_while(|at| bytes.get(at..)).any(|rest| rest.starts_with(b"\x89HDF\r\n\x1a\n"))
}

#[cfg(feature = "fclib")]
fn hdf5(bytes: Vec<u8>, name: &str) -> Result<Stored, FileError> {
    crate::fclib::read_bytes(bytes, name)
}

#[cfg(not(feature = "fclib"))]
fn hdf5(_: Vec<u8>, _: &str) -> Result<Stored, FileError> {
    Err(FileError::unexpected(
        "the first bytes",
        "an HDF5 signature",
        "JSON or Siconos text: this build has no feature `fclib`",
    ))
}

fn read(path: &Path, kind: Option<Kind>) -> Result<Stored, FileError> {
    let bytes = crate::bounded::bytes(path, crate::bounded::PROBLEM)
        .map_err(|e| FileError::unexpected("the file", format!("'{e}'"), "one that can be read"))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    if kind.is_none() {
        if is_hdf5(&bytes) {
            return hdf5(bytes, &name);
        }
        if bytes.iter().find(|c| !c.is_ascii_whitespace()) == Some(&b'{') {
            if let Some(snapshot) = crate::step_snapshot::read(&bytes) {
                return snapshot.map(|(_, stored)| stored);
            }
            return json::read(&bytes);
        }
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        for (known, wanted) in
            [("hdf5", "an HDF5 signature"), ("h5", "an HDF5 signature"), ("json", "a JSON object")]
        {
            if extension == known {
                return Err(FileError::unexpected("the first bytes", "something else", wanted));
            }
        }
    }
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let folder =
        whole.parent().and_then(|p| p.file_name()).and_then(|f| f.to_str()).and_then(Kind::named);
    match kind.or(folder) {
        Some(kind) => siconos::read(&bytes, kind, &name),
        None => siconos::read_any(&bytes, &name).map_err(|error| match error {
            FileError::Unexpected { place, found, wanted } if place == siconos::WHOLE => {
                FileError::unexpected(place, found, wanted + " with --kind")
            }
            other => other,
        }),
    }
}
