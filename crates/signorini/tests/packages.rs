//! What is published: every crate with all that it needs in its package, after the crates that it
//! uses, without a build script. `./check --package` builds them from their packages.

use std::path::{Component, Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Name and folder of the published crates, in the order of the release.
fn published() -> Vec<(String, PathBuf)> {
    let jobs = read(&root().join(".github/workflows/release.yml"));
    let list = jobs.split_once("for crate in ").expect("the crates of a release").1;
    let list = list.split(';').next().expect("a list");
    let mut folders: Vec<PathBuf> = ["bench", "cli", "validate"].map(|f| root().join(f)).into();
    let crates = std::fs::read_dir(root().join("crates")).expect("crates");
    folders.extend(crates.map(|entry| entry.expect("a crate").path()));
    let of = |name: &str| {
        let line = format!("name = \"{name}\"");
        // The first name is that of the package.
        let named = |folder: &&PathBuf| {
            let manifest = read(&folder.join("Cargo.toml"));
            manifest.lines().find(|found| found.starts_with("name = ")) == Some(line.as_str())
        };
        folders.iter().find(named).unwrap_or_else(|| panic!("no crate {name}")).clone()
    };
    let found: Vec<_> = list.split_whitespace().map(|name| (name.to_string(), of(name))).collect();
    assert_eq!(found.len(), folders.len(), "every crate is published");
    found
}

/// The files of a package.
fn packaged(name: &str) -> Vec<PathBuf> {
    let arguments = ["package", "--list", "--offline", "--allow-dirty", "-p", name];
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("cargo is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect()
}

/// A path without `..`; none if it leaves the package.
fn within(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if !out.pop() => return None,
            Component::Normal(part) => out.push(part),
            _ => {}
        }
    }
    Some(out)
}

/// What a source includes: the line, and the path as it is written (of a macro, its beginning).
fn included(source: &str) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    let macros = ["str", "bytes"].map(|kind| format!("include_{kind}!("));
    let mut before = "";
    for (number, line) in source.lines().enumerate() {
        // The first page of the repository is tested with the library, and not shipped with it.
        let shipped = !before.contains("cfg(doctest)");
        before = line;
        let found = macros.iter().find_map(|name| line.split_once(name));
        let Some((_, rest)) = found.filter(|_| shipped) else { continue };
        let path = rest.strip_prefix("concat!(").unwrap_or(rest).strip_prefix('"');
        if let Some(path) = path.and_then(|rest| rest.split('"').next()) {
            out.push((number + 1, path.to_string()));
        }
    }
    out
}

#[test]
fn packages_hold_all_that_their_sources_include() {
    let mut seen = 0;
    for (name, folder) in published() {
        let files = packaged(&name);
        let has = |path: &Path| files.iter().any(|f| f == path || f.starts_with(path));
        for needed in ["Cargo.toml", "README.md", "src/lib.rs"] {
            assert!(has(Path::new(needed)), "{name}: {needed} is missing");
        }
        assert!(!has(Path::new("build.rs")), "{name} builds without a script");
        for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "rs")) {
            for (line, path) in included(&read(&folder.join(file))) {
                let place = file.parent().expect("a file lies in a folder").join(&path);
                let inside = within(&place).is_some_and(|place| has(&place));
                assert!(inside, "{name}: {}:{line}: {path} is not packaged", file.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 8, "only {seen} included files were seen");
}

#[test]
fn crates_are_published_after_those_that_they_use_and_say_what_they_are() {
    let list = published();
    for (i, (name, folder)) in list.iter().enumerate() {
        let manifest = read(&folder.join("Cargo.toml"));
        let needed = ["description", "license", "repository", "readme", "keywords", "categories"];
        for key in needed.iter().chain(&["rust-version"]) {
            let says = |line: &str| {
                line.strip_prefix(key).is_some_and(|rest| rest.starts_with([' ', '.']))
            };
            assert!(manifest.lines().any(says), "{name} does not say its {key}");
        }
        let used = manifest.split("[dependencies]").nth(1).unwrap_or_default();
        let used = used.split("\n[").next().unwrap_or_default();
        for line in used.lines() {
            let dependency = line.split(['=', '.', ' ']).next().unwrap_or_default();
            if let Some(at) = list.iter().position(|(other, _)| other == dependency) {
                assert!(at < i, "{name} is published before {dependency}");
            }
        }
    }
}
