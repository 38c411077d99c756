//! The documents and the program: every measured figure has a command near it, every command
//! that is named exists with its options, the cheap ones run and print the figures that stand in
//! bold beside them, in README, CHANGELOG and all pages.

mod common;

use common::{folder, signorini, stderr, stdout};
use std::collections::{BTreeMap, BTreeSet};
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
const MEASURED: [&str; 17] = [
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
    "MB",
    "GB",
    "times as long",
    "times as many",
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

/// A block with two before and two after it; the rows of a table stand together.
fn near(blocks: &[(usize, String)], at: usize) -> &[(usize, String)] {
    let row = |i: usize| blocks[i].1.trim_start().starts_with('|');
    let (mut first, mut last) = (at, at);
    while row(at) && first > 0 && row(first) {
        first -= 1;
    }
    while row(at) && last + 1 < blocks.len() && row(last) {
        last += 1;
    }
    &blocks[first.saturating_sub(2)..blocks.len().min(last + 3)]
}

#[test]
fn every_measured_figure_has_a_command_near_it() {
    let mut lonely = Vec::new();
    for (name, text) in documents() {
        let blocks = blocks(&text);
        for (i, (line, block)) in blocks.iter().enumerate() {
            let Some(figure) = figure(block) else { continue };
            if near(&blocks, i).iter().all(|(_, block)| commands(block).is_empty()) {
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
    const CHEAP: [&str; 9] = [
        "signorini check ",
        "signorini schema",
        "signorini codegen ",
        "signorini demo",
        "signorini papers manipulator",
        "signorini papers operations",
        "signorini papers stacks",
        "signorini solve problems/",
        "signorini validate ",
    ];
    let slow = ["--long", "--page", "--out", "--peers", "card-house", "arch-25", "heavy-box"];
    let whole =
        ["signorini validate --json", "signorini validate --quick", "signorini codegen --emit c"];
    let word = |w: &str| w.chars().filter(|c| c.is_ascii_uppercase()).count() > 2;
    CHEAP.iter().any(|start| command.starts_with(start))
        && !whole.contains(&command)
        && (!slow.iter().any(|w| command.contains(w)) || command.ends_with("card-house-2"))
        && !command.split_whitespace().any(word)
        && !command.split_whitespace().any(|w| {
            let file = [".toml", ".urdf", ".xml", ".hdf5", ".json"].iter().any(|e| w.ends_with(e));
            file && !root().join(w).exists()
        })
}

/// What a cheap command prints in a folder of its own; it must not fail.
fn printed(command: &str) -> String {
    let own = command.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let stored = format!("{}/problems/", root().display());
    let json = command.starts_with("signorini validate ").then_some("--json".to_string());
    let words = command.split_whitespace().skip(1).map(|w| w.replace("problems/", &stored));
    let output = Command::new(env!("CARGO_BIN_EXE_signorini"))
        .args(words.chain(json))
        .current_dir(folder(&own))
        .output()
        .expect("the program runs");
    // 3: solved, but not to the tolerance, which a page may want to show.
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 3)), "{command}: {code:?} {}", stderr(&output));
    stdout(&output)
}

/// All numbers of a text.
fn numbers(text: &str) -> Vec<f64> {
    let part = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e');
    let words = text.split(|c: char| !part(c)).map(|w| w.trim_matches(['.', '+', 'e']));
    words.filter_map(|word| word.parse().ok()).collect()
}

/// What a command prints as values: the rows' own, not their references, where it says which.
fn values(command: &str) -> Vec<f64> {
    let text = printed(command);
    let Ok(serde_json::Value::Array(rows)) = serde_json::from_str(&text) else {
        return numbers(&text);
    };
    rows.iter().flat_map(|row| [&row["value"], &row["error"]]).filter_map(|v| v.as_f64()).collect()
}

/// True if a value, rounded as the figure is, is the figure. Below 1e-5 a figure is rounding and
/// tolerance: its size counts, not its digits.
fn agrees(figure: &str, value: f64) -> bool {
    let Ok(wanted) = figure.parse::<f64>() else { return false };
    let (digits, power) = figure.split_once('e').unwrap_or((figure, "0"));
    let decimals = digits.split_once('.').map_or(0, |(_, d)| d.len()) as i32;
    let unit = 10f64.powi(power.parse::<i32>().unwrap_or(0) - decimals);
    (value.abs() - wanted.abs()).abs() <= 0.5001 * unit
        || (wanted > 0.0 && wanted <= 1e-5 && value.abs() <= wanted)
}

/// The bold figures of a block, as they are written.
fn bold(block: &str) -> Vec<String> {
    let parts = block.split("**").skip(1).step_by(2);
    let first = parts.filter_map(|p| p.split_whitespace().next());
    first.filter(|w| w.parse::<f64>().is_ok()).map(str::to_owned).collect()
}

#[test]
fn a_wrong_figure_is_found() {
    assert!(agrees("3.67", 3.669723) && !agrees("3.68", 3.669723) && !agrees("3.669", 3.669723));
    assert!(agrees("23", 23.0) && !agrees("22", 23.0) && agrees("0", 0.0) && !agrees("0", 1.0));
    assert!(agrees("1e-9", 2e-12) && !agrees("1e-9", 2e-9) && !agrees("1e-3", 2e-12));
    assert!(agrees("7e-17", 7.37e-17) && agrees("4e-13", 4.1e-13));
    assert_eq!(numbers("of 1e-3: 5, -2.5e0 (660)."), [1e-3, 5.0, -2.5, 660.0]);
    assert_eq!(bold("at most **1e-9 m/s**, **never** or **23**"), ["1e-9", "23"]);
}

#[test]
fn the_cheap_commands_run_and_print_the_bold_figures() {
    let (mut ran, mut compared, mut wrong) = (BTreeMap::new(), 0, Vec::new());
    for (name, text) in documents() {
        for (line, block) in blocks(&text) {
            let figures = bold(&block);
            let named = commands(&block);
            if !figures.is_empty() && named.is_empty() {
                wrong.push(format!("{name}:{line}: {} has no command", figures.join(", ")));
            }
            let plain =
                |c: &String| c.split(['|', ';', '>']).next().unwrap_or("").trim().to_owned();
            let named: Vec<String> = named.iter().map(plain).filter(|c| cheap(c)).collect();
            // Pages name commands for what they do; those with figures are worth their time.
            let run = |c: &&String| !figures.is_empty() || !c.starts_with("signorini validate ");
            for command in named.iter().filter(run) {
                ran.entry(command.clone()).or_insert_with(|| values(command));
            }
            if named.is_empty() {
                continue;
            }
            for figure in figures {
                let of = |c: &String| ran[c].iter().any(|v| agrees(&figure, *v));
                if !named.iter().any(of) {
                    wrong.push(format!("{name}:{line}: {} prints no {figure}", named.join(", ")));
                }
                compared += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(ran.len() >= 15, "only {} commands ran", ran.len());
    assert!(compared >= 30, "only {compared} figures were compared");
}

#[test]
fn the_readme_shows_what_the_demo_prints() {
    let readme = fs::read_to_string(root().join("README.md")).expect("the page");
    let shown = readme.lines().find(|l| l.starts_with("arch: t=")).expect("the last line");
    let output = printed("signorini demo");
    let line = output.lines().find(|l| l.starts_with("arch: t=")).expect("the last line");
    // Steps, methods and the culprit; errors are rounding, and the speed is that of the machine.
    let facts = |text: &str| -> Vec<String> {
        let parts = text.split("  ").filter(|p| {
            p.contains("steps") && !p.contains("/s") && !p.contains("off")
                || p.contains("warm-start")
                || p.starts_with("arch")
        });
        parts.map(str::to_owned).collect()
    };
    assert_eq!(facts(shown), facts(line), "README shows\n{shown}\nand the demo prints\n{line}");
    assert!(facts(line).len() >= 3, "{line}");
    for (shown, now) in shown.split(" J (").zip(line.split(" J (")).take(1) {
        let joule = |text: &str| numbers(text).pop().expect("joules");
        assert!(joule(now) <= 10.0 * joule(shown), "worst step: {now} J, README says {shown}");
    }
    let stored = |at: &str| {
        let files = fs::read_dir(root().join(at)).expect("stored problems");
        let names = files.map(|f| f.expect("a file").file_name().to_string_lossy().into_owned());
        names.filter(|name| name.ends_with(".json") || name.ends_with(".hdf5")).count()
    };
    let (scenes, small) = (stored("problems/scenes"), stored("problems"));
    let count = format!("{scenes} steps of our scenes and {small} small problems");
    assert!(readme.replace('\n', " ").contains(&count), "README does not say: {count}");
}
