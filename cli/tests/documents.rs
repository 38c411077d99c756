//! The documents and the program: every measured figure has a command near it, every command
//! that is named exists with its options, the cheap ones run, and the figures of `docs/why.md` are
//! those that its commands print.

mod common;

use common::{folder, signorini, stderr, stdout};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the workspace")
}

/// README, CHANGELOG and the pages of the book.
fn documents() -> Vec<(String, String)> {
    let mut paths = vec![root().join("README.md"), root().join("CHANGELOG.md")];
    for folder in ["docs", "docs/notes"] {
        let entries = fs::read_dir(root().join(folder)).expect("the book");
        paths.extend(entries.map(|e| e.expect("a page").path()));
    }
    paths.retain(|path| path.extension().is_some_and(|e| e == "md"));
    paths.sort();
    let name = |p: &Path| p.strip_prefix(root()).expect("of the workspace").display().to_string();
    paths.iter().map(|p| (name(p), fs::read_to_string(p).expect("a text"))).collect()
}

/// Paragraphs, list items and table rows, each with the number of its first line; code blocks are
/// one block each.
fn blocks(text: &str) -> Vec<(usize, String)> {
    let mut out: Vec<(usize, String)> = Vec::new();
    let (mut code, mut open) = (false, false);
    for (number, line) in text.lines().enumerate() {
        let start = line.trim_start();
        let fence = start.starts_with("```");
        let item = start.starts_with(['|', '#']) || start.starts_with("- ");
        if !code && (start.is_empty() || fence || item) {
            open = false;
        }
        if code || !start.is_empty() {
            if !open {
                out.push((number + 1, String::new()));
            }
            open = true;
            let block = &mut out.last_mut().expect("one was pushed").1;
            block.push_str(line);
            block.push('\n');
        }
        if fence {
            code = !code;
            open = code;
        }
    }
    out
}

/// Units and words that only a measurement has; each follows a number.
const MEASURED: [&str; 13] = [
    "ns",
    "us",
    "µs",
    "steps/s",
    "steps per second",
    "times as fast",
    "times faster",
    "times slower",
    "times cheaper",
    "times real time",
    "factorizations",
    "sweeps",
    "pivots",
];

/// The measured figure of a block, if it has one.
fn figure(block: &str) -> Option<String> {
    let words: Vec<&str> = block.split_whitespace().collect();
    (1..words.len()).find_map(|i| {
        let number = words[i - 1].trim_start_matches(['(', '*']);
        let follows = words[i..words.len().min(i + 3)].join(" ");
        let follows = follows.trim_end_matches(['.', ',', ';', ')', ':']);
        let unit = MEASURED.iter().find(|unit| {
            follows
                .strip_prefix(**unit)
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '/'))
        })?;
        let value = number.replace([',', '–', '-'], "");
        (value.starts_with(|c: char| c.is_ascii_digit()) && value.parse::<f64>().is_ok())
            .then(|| format!("{number} {unit}"))
    })
}

/// Commands of a block: words in backquotes or lines of code that begin with a program.
fn commands(block: &str) -> Vec<String> {
    const PROGRAMS: [&str; 7] =
        ["signorini ", "cargo ", "./check", "npm ", "pip ", "python", "problems/make"];
    let code = block.trim_start().starts_with("```");
    let parts: Vec<&str> =
        if code { block.lines().collect() } else { block.split('`').skip(1).step_by(2).collect() };
    let trimmed = parts.into_iter().map(|part| {
        let part =
            part.trim().trim_start_matches("$ ").trim_start_matches("cargo run --release -- ");
        part.split("  #").next().unwrap_or(part).trim().to_owned()
    });
    trimmed.filter(|part| PROGRAMS.iter().any(|p| part.starts_with(p))).collect()
}

#[test]
fn every_measured_figure_has_a_command_near_it() {
    let mut lonely = Vec::new();
    for (name, text) in documents() {
        let blocks = blocks(&text);
        for (i, (line, block)) in blocks.iter().enumerate() {
            let Some(figure) = figure(block) else { continue };
            let near = &blocks[i.saturating_sub(2)..blocks.len().min(i + 3)];
            if near.iter().all(|(_, block)| commands(block).is_empty()) {
                lonely.push(format!("{name}:{line}: {figure}"));
            }
        }
    }
    assert!(lonely.is_empty(), "figures without a command:\n{}", lonely.join("\n"));
}

/// `signorini` commands of all documents, without comments and what follows a pipe.
fn all_commands() -> BTreeSet<String> {
    let texts = documents();
    let all = texts.iter().flat_map(|(_, text)| blocks(text)).flat_map(|(_, b)| commands(&b));
    let plain = all.map(|c| c.split(['|', ';', '#', '>']).next().unwrap_or("").trim().to_owned());
    plain.filter(|c| c.starts_with("signorini ") && !c.contains('…')).collect()
}

#[test]
fn every_command_of_the_documents_exists_with_its_options() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for command in all_commands() {
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        let Some(&first) = words.first().filter(|w| w.starts_with(|c: char| c.is_lowercase()))
        else {
            continue;
        };
        let mut path = vec![first];
        if first == "bench" && words.len() > 1 {
            path.push(words[1].trim_end_matches(','));
        }
        path.push("--help");
        let help = signorini(&path);
        if !help.status.success() {
            wrong.push(format!("{command}: {}", stderr(&help).lines().next().unwrap_or("")));
            continue;
        }
        seen += 1;
        let help = stdout(&help);
        for option in words.iter().filter(|w| w.starts_with("--") && w.len() > 2) {
            let option = option.split('=').next().unwrap_or(option).trim_end_matches([',', '.']);
            if !help.contains(option) {
                wrong.push(format!("{command}: no option {option}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 40, "only {seen} commands were seen");
}

/// Commands that take some seconds at most.
fn cheap(command: &str) -> bool {
    const CHEAP: [&str; 5] = [
        "signorini check ",
        "signorini schema",
        "signorini codegen ",
        "signorini solve problems/",
        "signorini validate ",
    ];
    let slow = ["--long", "--page", "--out", "card-house", "arch-25", "heavy-box"];
    let whole =
        ["signorini validate --json", "signorini validate --quick", "signorini codegen --emit c"];
    let word = |w: &str| w.chars().filter(|c| c.is_ascii_uppercase()).count() > 2;
    CHEAP.iter().any(|start| command.starts_with(start))
        && !whole.contains(&command)
        && !slow.iter().any(|w| command.contains(w))
        && !command.split_whitespace().any(word)
        && !command.split_whitespace().any(|w| {
            let file = [".toml", ".urdf", ".xml", ".hdf5", ".json"].iter().any(|e| w.ends_with(e));
            file && !root().join(w).exists()
        })
}

#[test]
fn the_cheap_commands_run() {
    let work = folder("cheap");
    let mut ran = 0;
    // Those of `validate` run below, with their figures.
    let validate = |c: &&String| c.starts_with("signorini validate ");
    for command in all_commands().iter().filter(|c| cheap(c) && !validate(c)) {
        let stored = format!("{}/problems/", root().display());
        let words = command.split_whitespace().skip(1).map(|w| w.replace("problems/", &stored));
        let output = Command::new(env!("CARGO_BIN_EXE_signorini"))
            .args(words)
            .current_dir(&work)
            .output()
            .expect("the program runs");
        // 3: solved, but not to the tolerance, which a page may want to show.
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 3)), "{command}: {code:?} {}", stderr(&output));
        ran += 1;
    }
    assert!(ran >= 4, "only {ran} commands ran");
}

/// The bold figures of a row, each in bold with its unit.
fn bold(row: &str) -> Vec<f64> {
    let parts = row.split("**").skip(1).step_by(2);
    parts.filter_map(|p| p.split_whitespace().next()?.parse().ok()).collect()
}

#[test]
fn the_figures_of_the_why_page_are_those_of_its_commands() {
    let text = fs::read_to_string(root().join("docs/why.md")).expect("the page");
    let mut compared = 0;
    for (line, block) in blocks(&text) {
        let figures = bold(&block);
        let named = commands(&block);
        let Some(command) = named.iter().find(|c| c.starts_with("signorini validate ")) else {
            assert!(figures.is_empty(), "docs/why.md:{line}: a figure without its command");
            continue;
        };
        if !cheap(command) {
            continue;
        }
        let names: Vec<&str> = command.split_whitespace().skip(1).chain(["--json"]).collect();
        let output = signorini(&names);
        assert!(output.status.success(), "{command}: {}", stderr(&output));
        let rows: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let values: Vec<f64> =
            rows.as_array().expect("a list").iter().filter_map(|r| r["value"].as_f64()).collect();
        for figure in figures {
            // Below 1e-5 a figure is rounding and tolerance: its size counts, not its digits.
            let agrees = |v: &f64| {
                (v.abs() - figure).abs() <= 5e-3 * figure || (figure <= 1e-5 && v.abs() <= figure)
            };
            assert!(
                values.iter().any(agrees),
                "docs/why.md:{line}: {figure} is none of {values:?} ({command})"
            );
            compared += 1;
        }
    }
    assert!(compared >= 7, "only {compared} figures were compared");
}
