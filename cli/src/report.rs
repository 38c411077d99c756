//! The report of a run, as the command line writes it.

use crate::record::Record;
use crate::run::Options;
pub use signorini_record::report::{megabytes, of_folder, page, write};
use std::path::{Path, PathBuf};

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
        (None, Some(folder)) => {
            Record::open(folder).map(|r| r.bytes().to_vec()).map_err(|e| e.to_string())
        }
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
