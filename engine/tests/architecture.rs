//! Who may know whom. A forbidden `use` fails here, with the file and the line.

use std::path::{Path, PathBuf};

/// Module, and what it may not know of ours.
const WALLS: &[(&str, &[&str])] = &[
    ("math", &["problem", "solve", "geometry", "scene", "assemble", "step", "analyse", "symbolic", "mechanism"]),
    ("problem", &["solve", "geometry", "scene", "assemble", "step", "analyse", "symbolic", "mechanism"]),
    ("solve", &["geometry", "scene", "assemble", "step", "analyse", "symbolic", "mechanism", "problem::files"]),
    ("geometry", &["problem", "solve", "scene", "assemble", "step", "analyse", "symbolic", "mechanism"]),
    ("scene", &["problem", "solve", "assemble", "step", "analyse", "symbolic", "mechanism"]),
    ("assemble", &["solve", "step", "analyse", "symbolic", "mechanism"]),
    ("symbolic", &["problem", "solve", "geometry", "scene", "assemble", "step", "analyse", "mechanism"]),
    ("mechanism", &["problem", "solve", "geometry", "assemble", "step", "analyse"]),
    ("step", &["analyse", "symbolic", "mechanism", "problem::files"]),
    ("analyse", &["problem::files"]),
];

/// What no part of the library does.
const NEVER: &[&str] =
    &["println!", "print!(", "eprintln!", "dbg!", "static mut", "thread_local!", "lazy_static", "OnceLock", "std::env::", "SystemTime"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the workspace").to_path_buf()
}

fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.expect("a folder can be listed").path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

/// The lines of a file before its tests, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().take_while(|l| !l.starts_with("#[cfg(test)]")).enumerate().filter(|(_, l)| !l.trim_start().starts_with("//"))
}

#[test]
fn the_walls_stand() {
    let mut broken = Vec::new();
    for (module, forbidden) in WALLS {
        let mut files = vec![root().join(format!("engine/src/{module}.rs"))];
        sources(&root().join("engine/src").join(module), &mut files);
        for file in files.iter().filter(|f| f.exists()) {
            let text = std::fs::read_to_string(file).expect("sources can be read");
            for (number, line) in lines(&text) {
                for other in *forbidden {
                    if line.contains(&format!("crate::{other}")) {
                        broken.push(format!("{}:{}: {module} may not know {other}", file.display(), number + 1));
                    }
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_library_neither_prints_nor_keeps_globals() {
    let mut files = Vec::new();
    sources(&root().join("engine/src"), &mut files);
    assert!(files.len() > 10, "the sources were found");
    let mut broken = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).expect("sources can be read");
        for (number, line) in lines(&text) {
            if let Some(word) = NEVER.iter().find(|w| line.contains(*w)) {
                broken.push(format!("{}:{}: {word}", file.display(), number + 1));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_solvers_know_the_clock_only_as_a_deadline() {
    let mut files = Vec::new();
    sources(&root().join("engine/src"), &mut files);
    for file in files.iter().filter(|f| !f.ends_with("tests.rs")) {
        let text = std::fs::read_to_string(file).expect("sources can be read");
        for (number, line) in lines(&text) {
            let clock = line.contains("Instant::now") && !file.ends_with("solve/mod.rs");
            assert!(!clock, "{}:{}: ask `Stop` for the time", file.display(), number + 1);
        }
    }
}

/// Words in backquotes that look like paths of this repository.
fn named_paths(text: &str) -> Vec<String> {
    text.split('`')
        .skip(1)
        .step_by(2)
        .filter(|w| w.contains('/') && !w.contains(' ') && !w.contains("..") && !w.contains('*') && !w.contains('<'))
        .filter(|w| ["engine/", "cli/", "python/", "viewer/", "scenes/", "problems/", "docs/", ".ci/"].iter().any(|p| w.starts_with(p)))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_path_that_the_documents_name_exists() {
    let root = root();
    for document in ["README.md", "ARCHITECTURE.md", "NOTATION.md", "REFERENCES.md", "CHANGELOG.md"] {
        let text = std::fs::read_to_string(root.join(document)).unwrap_or_else(|e| panic!("{document}: {e}"));
        for path in named_paths(&text) {
            assert!(root.join(&path).exists(), "{document} names {path}, which is not there");
        }
    }
}

#[test]
fn every_cited_key_has_its_reference() {
    let root = root();
    let references = std::fs::read_to_string(root.join("REFERENCES.md")).expect("REFERENCES.md is there");
    let mut files = Vec::new();
    sources(&root.join("engine/src"), &mut files);
    sources(&root.join("cli/src"), &mut files);
    for file in files {
        let text = std::fs::read_to_string(&file).expect("sources can be read");
        for part in text.split('[').skip(1) {
            let key: String = part.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
            let (name, year) = key.split_at(key.len().saturating_sub(4));
            let cited = name.len() > 2
                && name.starts_with(|c: char| c.is_ascii_uppercase())
                && name.chars().all(|c| c.is_ascii_alphabetic())
                && year.len() == 4
                && year.chars().all(|c| c.is_ascii_digit());
            assert!(!cited || references.contains(&format!("[{key}]")), "{} cites [{key}]", file.display());
        }
    }
}
