//! The documents: paths and links lead somewhere, citations have their reference, the book lists
//! its pages, the facade stays small, and the field's words stay in use.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the crate lies in the workspace")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Files with this ending in a folder and those below it, sorted; folders of tools are left out.
fn files(folder: &Path, ending: &str, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.expect("a folder can be listed").path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir()
            && !["target", "node_modules", ".git", "book", ".venv"].contains(&name.as_str())
        {
            files(&path, ending, out);
        } else if name.ends_with(ending) {
            out.push(path);
        }
    }
    out.sort();
}

/// The documents of the repository: those at its root, of its crates, and the book.
fn documents() -> Vec<PathBuf> {
    let mut out = Vec::new();
    files(&root(), ".md", &mut out);
    out.retain(|path| !path.components().any(|part| part.as_os_str() == "ISSUE_TEMPLATE"));
    assert!(out.len() > 15, "the documents were found: {out:?}");
    out
}

/// The text without blocks of code.
fn prose(text: &str) -> String {
    let mut code = false;
    let line = |line: &str| {
        if line.trim_start().starts_with("```") {
            code = !code;
            return String::new();
        }
        if code || line.starts_with("    ") { String::new() } else { line.to_owned() }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Words in backquotes that look like paths of this repository.
fn named_paths(text: &str) -> Vec<String> {
    const FOLDERS: [&str; 9] = [
        "crates/",
        "bench/",
        "cli/",
        "python/",
        "viewer/",
        "scenes/",
        "problems/",
        "docs/",
        ".github/",
    ];
    prose(text)
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|w| !w.contains([' ', '*', '<', '{']) && !w.contains(".."))
        .filter(|w| FOLDERS.iter().any(|p| w.starts_with(p)))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_path_that_the_documents_name_exists() {
    for document in documents() {
        for path in named_paths(&read(&document)) {
            assert!(
                root().join(&path).exists(),
                "{} names {path}, which is not there",
                document.display()
            );
        }
    }
}

/// The targets of `[text](target)`, images included.
fn links(text: &str) -> Vec<String> {
    let text = prose(text);
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    targets.map(str::to_owned).collect()
}

/// The anchors of a document: its headings as GitHub and mdBook write them.
fn anchors(text: &str) -> Vec<String> {
    let heading = |line: &str| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    prose(text).lines().filter(|line| line.starts_with('#')).map(heading).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut seen = 0;
    for document in documents() {
        for link in links(&read(&document)) {
            if ["http://", "https://", "mailto:"].iter().any(|start| link.starts_with(start)) {
                continue;
            }
            seen += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target =
                if path.is_empty() { document.clone() } else { document.with_file_name(path) };
            assert!(target.exists(), "{}: the link {link} leads nowhere", document.display());
            if !anchor.is_empty() {
                assert!(
                    anchors(&read(&target)).iter().any(|a| a == anchor),
                    "{}: no heading for {link}",
                    document.display()
                );
            }
        }
    }
    assert!(seen > 20, "only {seen} links were seen");
}

#[test]
fn the_book_lists_its_pages() {
    let docs = root().join("docs");
    let summary = read(&docs.join("SUMMARY.md"));
    let listed = links(&summary);
    let mut pages = Vec::new();
    files(&docs, ".md", &mut pages);
    for page in pages.iter().filter(|page| !page.ends_with("SUMMARY.md")) {
        let name =
            page.strip_prefix(&docs).expect("a page of the book").to_string_lossy().into_owned();
        assert!(listed.contains(&name), "docs/SUMMARY.md does not list {name}");
    }
}

/// True for the key of a reference: a name and a year.
fn is_key(word: &str) -> bool {
    let (name, year) = word.split_at(word.len().saturating_sub(4));
    let plain = name.len() > 2
        && name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphabetic());
    plain
        && year.len() == 4
        && (year.starts_with("18") || year.starts_with("19") || year.starts_with("20"))
        && year.chars().all(|c| c.is_ascii_digit())
}

#[test]
fn every_cited_key_has_its_reference_and_is_no_link() {
    let references = read(&root().join("REFERENCES.md"));
    let mut sources = Vec::new();
    ["crates", "bench/src", "cli/src"]
        .iter()
        .for_each(|folder| files(&root().join(folder), ".rs", &mut sources));
    let mut cited = 0;
    for file in sources {
        for line in read(&file).lines() {
            let Some((_, comment)) = line.split_once("//") else { continue };
            for key in
                comment.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| is_key(word))
            {
                cited += 1;
                assert!(
                    references.contains(&format!("[{key}]")),
                    "{} cites {key}, which REFERENCES.md does not have",
                    file.display()
                );
                let link = comment.contains(&format!("[{key}"));
                assert!(
                    !link,
                    "{}: cite as ({key}, eq. 1); [{key}] is a link of rustdoc",
                    file.display()
                );
            }
        }
    }
    assert!(cited > 40, "only {cited} citations were seen");
}

/// Public items of the facade's own sources, and what its prelude hands on.
#[test]
fn the_facade_is_small() {
    let mut sources = Vec::new();
    files(&root().join("crates/signorini/src"), ".rs", &mut sources);
    let item = |line: &&str| {
        let starts = [
            "pub fn ",
            "pub struct ",
            "pub enum ",
            "pub trait ",
            "pub const ",
            "pub type ",
            "pub mod ",
        ];
        starts.iter().any(|start| line.trim_start().starts_with(start))
    };
    let own: usize = sources.iter().map(|file| read(file).lines().filter(item).count()).sum();
    let prelude = read(&root().join("crates/signorini/src/prelude.rs"));
    let handed_on = prelude
        .split("pub use")
        .skip(1)
        .flat_map(|list| list.split(';').next())
        // Its own items are counted above.
        .filter(|list| !list.trim_start().starts_with("crate::"))
        .flat_map(|list| list.split(','))
        .count();
    assert!(own + handed_on < 150, "{own} public items, {handed_on} in the prelude");
}

/// Words of a private dialect that were replaced by the field's; they do not come back as names.
const REPLACED: &[(&str, &str)] = &[
    ("Judge", "PreparedProblem"),
    ("solve_judged", "solve_prepared"),
    ("Clerk", "EnergyAccounting"),
    ("Skin", "SurfaceMaterial"),
    ("Crowd", "HubBodies"),
    ("Twofold", "DoubleDouble"),
    ("twofold", "double-double"),
    ("glance", "local_residual"),
    ("solve_by_own_judge", "solve"),
    ("fastest_block", "max_velocity_error_block"),
    ("judge", "a word that says what is measured"),
    ("clerk", "EnergyAccounting"),
    ("seams", "interfaces"),
    ("sew", "colour_interfaces"),
    ("crew", "parallel"),
    ("SHOWN", "a name that says which quantity is limited"),
    ("REGULARIZATION", "a name that says which quantity is limited"),
    ("ROUGH", "a name that says which quantity is limited"),
    ("Keeper", "WorstSteps"),
    ("AcceptAndSay", "AcceptWithWarning"),
    ("Unfit", "BuildError"),
    ("Present", "StepInput"),
    ("turnover", "throughput"),
    ("outsider", "independent_residual"),
    ("crowd", "hub"),
    ("LONG", "a name that says which quantity is limited"),
    ("LEAST", "a name that says which quantity is limited"),
    ("MOST", "a name that says which quantity is limited"),
    ("MANY", "a name that says which quantity is limited"),
    ("FEW", "a name that says which quantity is limited"),
    ("WORTH", "a name that says which quantity is limited"),
    ("BARELY", "a name that says which quantity is limited"),
    ("PATIENCE", "a name that says which quantity is limited"),
];

#[test]
fn replaced_words_do_not_come_back() {
    let mut sources = Vec::new();
    ["crates", "bench/src", "cli/src", "cli/tests", "python/src", "validate/src"]
        .iter()
        .for_each(|folder| files(&root().join(folder), ".rs", &mut sources));
    let mut broken = Vec::new();
    for file in sources.iter().filter(|file| !file.ends_with("documents.rs")) {
        for (number, line) in read(file).lines().enumerate() {
            let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
            if let Some((old, new)) =
                words.find_map(|word| REPLACED.iter().find(|(old, _)| *old == word))
            {
                broken.push(format!("{}:{}: {old} is {new}", file.display(), number + 1));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Code is cut by rustfmt; long texts in it, equations and tables stay whole.
#[test]
fn prose_of_comments_has_at_most_a_hundred_columns() {
    let mut sources = Vec::new();
    ["crates", "bench", "cli", "python", "validate"]
        .iter()
        .for_each(|folder| files(&root().join(folder), ".rs", &mut sources));
    let mut long = Vec::new();
    for file in &sources {
        let mut equation = false;
        for (number, line) in read(file).lines().enumerate() {
            let Some(prose) = line.trim_start().strip_prefix("//") else { continue };
            let prose = prose.trim_start_matches(['/', '!']).trim_start();
            equation ^= prose.starts_with("```");
            if !equation && !prose.starts_with('|') && line.chars().count() > 100 {
                long.push(format!("{}:{}", file.display(), number + 1));
            }
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn nightly_jobs_name_modules_that_have_tests() {
    let mut sources = Vec::new();
    files(&root().join("crates/solve/src"), ".rs", &mut sources);
    let jobs = read(&root().join(".github/workflows/nightly.yml"));
    let filters: Vec<&str> =
        jobs.lines().filter_map(|line| line.split_once("--lib -- ")).map(|l| l.1).collect();
    assert_eq!(filters.len(), 2, "one filter of Miri, one of ThreadSanitizer");
    for filter in filters {
        let tested = |word: &str| {
            let named = |file: &&PathBuf| {
                file.iter().any(|part| Path::new(part).with_extension("") == *word)
            };
            sources.iter().filter(named).any(|file| read(file).contains("#[test]"))
        };
        assert!(filter.split_whitespace().any(tested), "{filter} names no module with tests");
    }
}
