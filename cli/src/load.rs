//! Any problem file, by its contents.
//!
//! HDF5 and JSON files say themselves what they are. A Siconos text does not: its kind comes from
//! `--kind`, else from the name of its folder, else from the only kind that its words fit.

use crate::fclib;
use signorini::problem::files::siconos::{self, Kind};
use signorini::problem::files::{FileError, Stored, json};
use std::path::Path;

/// Reads a problem; a complaint is one line that names the file and the place.
pub fn load(path: &Path, kind: Option<Kind>) -> Result<Stored, String> {
    read(path, kind).map_err(|error| format!("{}: {error}", path.display()).replace(['\n', '\r'], " "))
}

fn read(path: &Path, kind: Option<Kind>) -> Result<Stored, FileError> {
    let bytes = std::fs::read(path).map_err(|e| FileError::unexpected("the file", format!("'{e}'"), "one that can be read"))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    if kind.is_none() {
        if hdf5_pure::is_hdf5_bytes(&bytes) {
            return fclib::read_bytes(bytes, &name);
        }
        if bytes.iter().find(|c| !c.is_ascii_whitespace()) == Some(&b'{') {
            if let Some(capsule) = crate::capsule::read(&bytes) {
                return capsule.map(|(_, stored)| stored);
            }
            return json::read(&bytes);
        }
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        for (known, wanted) in [("hdf5", "an HDF5 signature"), ("h5", "an HDF5 signature"), ("json", "a JSON object")] {
            if extension == known {
                return Err(FileError::unexpected("the first bytes", "something else", wanted));
            }
        }
    }
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = whole.parent().and_then(|p| p.file_name()).and_then(|f| f.to_str()).and_then(Kind::named);
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
