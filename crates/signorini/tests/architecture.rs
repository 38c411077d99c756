//! Who may know whom. A forbidden path fails here, with the file and the line.
//!
//! Whole files are read, tests excepted, and every form of a path is seen: `use crate::{a, b::c}`,
//! `super::super::a`, `signorini_solve::problem::files`, and paths within expressions.

use std::path::{Path, PathBuf};

/// Crate, folder of its sources.
const CRATES: &[(&str, &str)] = &[
    ("signorini_solve", "crates/solve/src"),
    ("signorini_mechanics", "crates/mechanics/src"),
    ("signorini_files", "crates/files/src"),
    ("signorini_record", "crates/record/src"),
    ("signorini", "crates/signorini/src"),
];

/// Front ends, benches and checks: no walls, but no circles either.
const FRONT_ENDS: &[(&str, &str)] = &[
    ("signorini_cli", "cli/src"),
    ("signorini_bench", "bench/src"),
    ("signorini_validate", "validate/src"),
    ("signorini_python", "python/src"),
];

/// Module, and what it may not know of ours.
const WALLS: &[(&str, &[&str])] = &[
    ("signorini_solve::math", &["problem", "solve"]),
    ("signorini_solve::problem", &["solve"]),
    ("signorini_solve::solve", &["problem::files"]),
    (
        "signorini_mechanics::geometry",
        &[
            "problem",
            "solve",
            "scene",
            "assemble",
            "control",
            "step",
            "analyse",
            "symbolic",
            "mechanism",
        ],
    ),
    (
        "signorini_mechanics::scene",
        &["problem", "solve", "assemble", "control", "step", "analyse", "symbolic", "mechanism"],
    ),
    (
        "signorini_mechanics::assemble",
        &["solve", "control", "step", "analyse", "symbolic", "mechanism"],
    ),
    ("signorini_mechanics::control", &["solve", "step", "analyse", "symbolic", "mechanism"]),
    (
        "signorini_mechanics::symbolic",
        &[
            "problem",
            "solve",
            "geometry",
            "scene",
            "assemble",
            "control",
            "step",
            "analyse",
            "mechanism",
        ],
    ),
    (
        "signorini_mechanics::mechanism",
        &["problem", "solve", "geometry", "assemble", "control", "step", "analyse"],
    ),
    ("signorini_mechanics::step", &["analyse", "symbolic", "mechanism", "problem::files"]),
    ("signorini_mechanics::analyse", &["problem::files"]),
    ("signorini_record", &["problem::files"]),
];

/// What no part of the library does.
const NEVER: &[&str] = &[
    "println!",
    "print!(",
    "eprintln!",
    "dbg!",
    "static mut",
    "thread_local!",
    "lazy_static",
    "OnceLock",
    "std::env::",
    "SystemTime",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the crate lies in the workspace")
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
    out.sort();
}

/// A source without comments, texts and tests; each of them is replaced by blanks, so that lines
/// keep their numbers.
fn plain(text: &str) -> String {
    without_tests(&without_comments(text))
}

fn without_comments(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut i = 0;
    let blank = |out: &mut Vec<u8>, from: usize, to: usize| {
        out[from..to].iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ')
    };
    let find = |from: usize, what: &str| {
        text.as_bytes()[from..]
            .windows(what.len())
            .position(|w| w == what.as_bytes())
            .map(|k| from + k)
    };
    while i < bytes.len() {
        let rest = &bytes[i..];
        let word = i > 0 && (bytes[i - 1].is_ascii_alphanumeric() || bytes[i - 1] == b'_');
        let end = if rest.starts_with(b"//") {
            find(i, "\n").unwrap_or(bytes.len())
        } else if rest.starts_with(b"/*") {
            find(i, "*/").map_or(bytes.len(), |k| k + 2)
        } else if !word
            && (rest.starts_with(b"r\"") || rest.starts_with(b"r#"))
            && rest[1..].iter().find(|b| **b != b'#') == Some(&b'"')
        {
            let hashes = rest[1..].iter().take_while(|b| **b == b'#').count();
            let close = format!("\"{}", "#".repeat(hashes));
            find(i + 2 + hashes, &close).map_or(bytes.len(), |k| k + close.len())
        } else if rest[0] == b'"' {
            let mut k = i + 1;
            while k < bytes.len() && bytes[k] != b'"' {
                k += if bytes[k] == b'\\' { 2 } else { 1 };
            }
            (k + 1).min(bytes.len())
        } else if rest[0] == b'\'' && rest.len() > 2 {
            // A letter, not a lifetime.
            match (
                rest[1] == b'\\',
                text.get(i + 1..).and_then(|t| t.chars().next()).map_or(1, char::len_utf8),
            ) {
                (true, _) => find(i + 3, "'").map_or(bytes.len(), |k| k + 1),
                (_, width) if rest.get(1 + width) == Some(&b'\'') => i + 2 + width,
                _ => {
                    i += 1;
                    continue;
                }
            }
        } else {
            i += 1;
            continue;
        };
        blank(&mut out, i, end);
        i = end;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Takes out every item after `#[cfg(test)]`: to its semicolon, or to its closing brace.
fn without_tests(text: &str) -> String {
    let mut out = text.as_bytes().to_vec();
    let mut from = 0;
    while let Some(at) = text[from..].find("#[cfg(test)]").map(|k| from + k) {
        let (mut depth, mut end) = (0, text.len());
        for (k, byte) in text.bytes().enumerate().skip(at + "#[cfg(test)]".len()) {
            match byte {
                b'{' => depth += 1,
                b'}' => depth -= 1,
                _ => {}
            }
            if depth == 0 && (byte == b'}' || byte == b';') {
                end = k + 1;
                break;
            }
        }
        out[at..end].iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
        from = end;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Every path of a source that begins with a crate of ours, `crate`, `super` or `self`, in full,
/// with its line.
fn paths(text: &str, module: &[String]) -> Vec<(usize, Vec<String>)> {
    let tokens = tokens(text);
    let mut out = Vec::new();
    let mut i = 0;
    while i < tokens.len() {
        let start = ["crate", "super", "self"].contains(&tokens[i].1)
            || CRATES.iter().chain(FRONT_ENDS).any(|(name, _)| *name == tokens[i].1);
        let continues = i > 0 && tokens[i - 1].1 == "::";
        if start && !continues && tokens.get(i + 1).is_some_and(|t| t.1 == "::") {
            i = tree(&tokens, i, &[], module, &mut out);
        } else if tokens[i].1 == "use" && tokens.get(i + 1).is_some_and(|t| t.1 == "{") {
            i = tree(&tokens, i + 1, &[], module, &mut out);
        } else {
            i += 1;
        }
    }
    out
}

/// Words, `::`, and single signs, each with its line.
fn tokens(text: &str) -> Vec<(usize, &str)> {
    let mut out = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let length = if first.is_alphanumeric() || first == '_' {
                rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len())
            } else if rest.starts_with("::") {
                2
            } else {
                first.len_utf8()
            };
            if !first.is_whitespace() {
                out.push((number + 1, &rest[..length]));
            }
            rest = &rest[length..];
        }
    }
    out
}

/// Reads one path, or a group of paths in braces, from token `i` on; returns the token behind it.
fn tree(
    tokens: &[(usize, &str)],
    mut i: usize,
    before: &[String],
    module: &[String],
    out: &mut Vec<(usize, Vec<String>)>,
) -> usize {
    let mut path = before.to_vec();
    while let Some(&(line, word)) = tokens.get(i) {
        match word {
            "{" => {
                i += 1;
                while tokens.get(i).is_some_and(|t| t.1 != "}") {
                    let next = tree(tokens, i, &path, module, out);
                    i = next
                        + usize::from(tokens.get(next).is_some_and(|t| t.1 == ","))
                            .max(usize::from(next == i));
                }
                return i + 1;
            }
            "crate" => path = module[..1].to_vec(),
            "self" if path.is_empty() => path = module.to_vec(),
            "self" => {}
            "super" => {
                if path.is_empty() {
                    path = module.to_vec();
                }
                path.pop();
            }
            word if word.chars().all(|c| c.is_alphanumeric() || c == '_') => path.push(word.into()),
            _ => {
                out.push((line, path));
                return i;
            }
        }
        i += 1;
        match tokens.get(i) {
            Some(&(_, "::")) => i += 1,
            _ => {
                out.push((line, path));
                return if tokens.get(i).is_some_and(|t| t.1 == "as") { i + 2 } else { i };
            }
        }
    }
    i
}

/// The module that a file holds: `["signorini_solve", "solve", "psor", "kernel"]`.
fn module(name: &str, folder: &Path, file: &Path) -> Vec<String> {
    let inside = file.strip_prefix(folder).expect("the file lies in its folder").with_extension("");
    let mut path: Vec<String> = std::iter::once(name.to_string())
        .chain(inside.iter().map(|p| p.to_string_lossy().into()))
        .collect();
    if path.last().is_some_and(|last| last == "mod" || last == "lib") {
        path.pop();
    }
    path
}

#[test]
fn paths_are_seen_in_every_form() {
    let text = "use crate::{a, b::{c, d as e}};\nfn f() { super::g::h(); let x: self::Y = \
        signorini_solve::problem::files::z; }\n\
        // crate::comment\nconst S: &str = \"crate::text\"; \
        #[cfg(test)] mod tests { use crate::test; }\nuse super::{super::k, l};";
    let module = ["m", "n", "o"].map(String::from);
    let found: Vec<String> = paths(&plain(text), &module)
        .iter()
        .map(|(line, path)| format!("{line} {}", path.join("::")))
        .collect();
    let wanted = [
        "1 m::a",
        "1 m::b::c",
        "1 m::b::d",
        "2 m::n::g::h",
        "2 m::n::o::Y",
        "2 signorini_solve::problem::files::z",
        "5 m::k",
        "5 m::n::l",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn the_walls_stand() {
    let mut broken = Vec::new();
    let mut seen = 0;
    for (name, folder) in CRATES {
        let folder = root().join(folder);
        let mut files = Vec::new();
        sources(&folder, &mut files);
        for file in &files {
            let module = module(name, &folder, file);
            // A file of tests is one.
            if module.last().is_some_and(|m| m == "tests") {
                continue;
            }
            let place = module.join("::");
            let walls =
                WALLS.iter().filter(|(m, _)| place == *m || place.starts_with(&format!("{m}::")));
            let forbidden: Vec<&str> =
                walls.flat_map(|(_, others)| others.iter().copied()).collect();
            let text = std::fs::read_to_string(file).expect("sources can be read");
            for (line, path) in paths(&plain(&text), &module) {
                seen += 1;
                // Mechanics names the modules of the solvers as its own.
                let path = path[1.min(path.len())..].join("::");
                let wall =
                    forbidden.iter().find(|o| path == **o || path.starts_with(&format!("{o}::")));
                broken.extend(wall.map(|other| {
                    format!("{}:{line}: {place} may not know {other}", file.display())
                }));
            }
        }
    }
    assert!(seen > 500, "only {seen} paths were seen");
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Import cycles between the files and folders of one folder that are still there. This list may
/// only shrink.
const CYCLES: &[(&str, &[&str])] = &[
    ("signorini_bench::scenes", &["catalogue", "ours", "run"]),
    ("signorini_cli", &["report", "run"]),
    ("signorini_python", &["scene", "simulation"]),
    ("signorini_validate", &["case", "peers"]),
];

/// The groups of files and folders of each folder that know each other in a circle.
fn cycles() -> Vec<(String, Vec<String>)> {
    use std::collections::{BTreeMap, BTreeSet};
    let mut edges: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for (name, folder) in CRATES.iter().chain(FRONT_ENDS) {
        let folder = root().join(folder);
        let mut files = Vec::new();
        sources(&folder, &mut files);
        let modules: Vec<Vec<String>> =
            files.iter().map(|file| module(name, &folder, file)).collect();
        let known: BTreeSet<String> =
            modules.iter().flat_map(|m| (1..=m.len()).map(|n| m[..n].join("::"))).collect();
        for (file, module) in files.iter().zip(&modules) {
            if module.last().is_some_and(|m| m == "tests") {
                continue;
            }
            let text = plain(&std::fs::read_to_string(file).expect("sources can be read"));
            for (_, path) in paths(&text, module) {
                let shared = module.iter().zip(&path).take_while(|(a, b)| a == b).count();
                let (Some(from), Some(to)) = (module.get(shared), path.get(shared)) else {
                    continue;
                };
                let place = module[..shared].join("::");
                if shared > 0 && known.contains(&format!("{place}::{to}")) {
                    edges
                        .entry(place)
                        .or_default()
                        .entry(from.clone())
                        .or_default()
                        .insert(to.clone());
                }
            }
        }
    }
    let mut out = Vec::new();
    for (place, edges) in edges {
        let reached = |from: &String| {
            let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
            while let Some(next) = open.pop() {
                open.extend(
                    edges.get(next).into_iter().flatten().filter(|to| seen.insert(to.to_string())),
                );
            }
            seen
        };
        let reach: BTreeMap<&String, BTreeSet<String>> =
            edges.keys().map(|from| (from, reached(from))).collect();
        let mut done = BTreeSet::new();
        for (from, to) in &reach {
            let mutual =
                |other: &&String| reach.get(*other).is_some_and(|back| back.contains(*from));
            let group: Vec<String> = to.iter().filter(mutual).cloned().collect();
            if group.contains(from) && group.len() > 1 && done.insert(group.clone()) {
                out.push((place.clone(), group));
            }
        }
    }
    out
}

#[test]
fn no_new_import_cycles_between_files() {
    let found = cycles();
    let allowed = |place: &str, group: &[String]| {
        CYCLES.iter().any(|(known, files)| {
            *known == place && group.iter().all(|file| files.contains(&file.as_str()))
        })
    };
    let new: Vec<_> = found.iter().filter(|(place, group)| !allowed(place, group)).collect();
    assert!(new.is_empty(), "new import cycles: {new:#?}");
    // The list shrinks with the code: what is no longer there leaves it.
    let gone: Vec<_> = CYCLES
        .iter()
        .flat_map(|(place, files)| files.iter().map(move |file| (*place, *file)))
        .filter(|(place, file)| {
            !found
                .iter()
                .any(|(known, group)| known == place && group.iter().any(|name| name == file))
        })
        .collect();
    assert!(gone.is_empty(), "in no cycle any more, to be taken from the list: {gone:#?}");
}

/// Where `unsafe` code is: the vectors of the sweeps, and fork and join. Nowhere else in the
/// library, tests apart.
const UNSAFE: &[&str] =
    &["crates/solve/src/solve/simd", "crates/solve/src/solve/parallel/fork_join.rs"];

/// A source without comments and texts that says `unsafe`, or allows it.
fn says_unsafe(text: &str) -> bool {
    tokens(&without_comments(text)).iter().any(|t| t.1 == "unsafe" || t.1 == "unsafe_code")
}

#[test]
fn unsafe_code_is_in_the_vectors_of_the_sweeps_and_in_fork_and_join() {
    let mut files = Vec::new();
    CRATES.iter().for_each(|(_, folder)| sources(&root().join(folder), &mut files));
    let mut found = [0; 2];
    let mut broken = Vec::new();
    for file in &files {
        if says_unsafe(&std::fs::read_to_string(file).expect("sources can be read")) {
            match UNSAFE.iter().position(|place| file.starts_with(root().join(place))) {
                Some(place) => found[place] += 1,
                None => broken.push(file.display().to_string()),
            }
        }
    }
    assert!(broken.is_empty(), "unsafe code outside its places: {broken:#?}");
    assert!(found[0] > 1 && found[1] == 1, "the list is as short as it can be: {found:?}");
    assert!(says_unsafe("fn f() { unsafe { g() } }") && says_unsafe("#![allow(unsafe_code)]"));
    assert!(!says_unsafe("// unsafe\nconst S: &str = \"unsafe\";"));
}

/// The folder of the sweeps stays small: files and lines, tests included.
#[test]
fn the_sweeps_are_a_small_module() {
    let mut files = Vec::new();
    sources(&root().join("crates/solve/src/solve/psor"), &mut files);
    let lines: usize = files
        .iter()
        .map(|file| std::fs::read_to_string(file).expect("sources can be read").lines().count())
        .sum();
    assert!((8..=14).contains(&files.len()), "{} files", files.len());
    assert!(lines <= 4500, "{lines} lines");
}

/// What crates may not depend on, of ours or of others, in any way but for their tests.
const DEPENDENCIES: &[(&str, &[&str])] = &[
    ("crates/solve", &["signorini", "parry3d-f64", "clap", "tiny_http", "hdf5-pure"]),
    (
        "crates/mechanics",
        &["signorini-files", "signorini-record", "clap", "tiny_http", "hdf5-pure"],
    ),
    ("crates/files", &["signorini-record", "clap", "tiny_http"]),
    ("crates/record", &["signorini-files", "clap", "tiny_http", "hdf5-pure"]),
    ("crates/signorini", &["clap", "tiny_http", "hdf5-pure", "signorini-bench", "signorini-cli"]),
];

#[test]
fn crates_depend_on_what_they_may() {
    for (folder, forbidden) in DEPENDENCIES {
        let text =
            std::fs::read_to_string(root().join(folder).join("Cargo.toml")).expect("a manifest");
        let dependencies = text.split("[dependencies]").nth(1).expect("a list of dependencies");
        let dependencies = dependencies.split("\n[").next().expect("a list");
        for line in dependencies.lines().filter(|l| !l.starts_with('#')) {
            let name = line.split(['=', '.', ' ']).next().unwrap_or("");
            assert!(!forbidden.contains(&name), "{folder} may not depend on {name}");
        }
    }
}

#[test]
fn the_library_neither_prints_nor_keeps_globals() {
    let mut files = Vec::new();
    CRATES.iter().for_each(|(_, folder)| sources(&root().join(folder), &mut files));
    assert!(files.len() > 10, "the sources were found");
    let mut broken = Vec::new();
    for file in files.iter().filter(|f| !f.ends_with("tests.rs")) {
        let text = plain(&std::fs::read_to_string(file).expect("sources can be read"));
        for (number, line) in text.lines().enumerate() {
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
    CRATES.iter().take(2).for_each(|(_, folder)| sources(&root().join(folder), &mut files));
    for file in files.iter().filter(|f| !f.ends_with("tests.rs")) {
        let text = plain(&std::fs::read_to_string(file).expect("sources can be read"));
        for (number, line) in text.lines().enumerate() {
            let clock = line.contains("Instant::now") && !file.ends_with("solve/mod.rs");
            assert!(
                !clock,
                "{}:{}: ask `StoppingCriteria` for the time",
                file.display(),
                number + 1
            );
        }
    }
}
