//! Collections of problems by other authors, in the folder `shared` beside the repository. Each
//! test that uses one says how many of its files it ran, or that it was skipped; `./check` lists
//! these lines.
#![allow(dead_code)]

use std::io::Write;
use std::path::{Path, PathBuf};

/// The folder of a collection, which need not exist.
pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared").join(name)
}

/// The problem files of a collection and of the folders in it, sorted; none if it is not there.
pub fn files(name: &str) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![folder(name)]);
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.map(|entry| entry.expect("a folder can be listed").path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "dat" || e == "hdf5") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Says how many files a test ran. Written past the capture of the test harness, which shows
/// nothing of tests that pass.
pub fn ran(test: &str, name: &str, count: usize) {
    let line = match count {
        0 => format!(
            "collection: {test}: SKIPPED, there are no files of {name} beside the repository"
        ),
        count => format!("collection: {test}: {count} files of {name}"),
    };
    let _ = writeln!(std::io::stderr(), "{line}");
}
