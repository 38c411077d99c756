//! What the documents say of the papers' methods, shown by the commands that print it: sentences
//! that once claimed more than the program does.

mod common;

use common::{folder, signorini, stderr, stdout};
use std::fs;
use std::path::Path;

/// A document or source of the workspace, in one line.
fn text(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    let words: Vec<&str> = text.split_whitespace().filter(|word| *word != "//!").collect();
    words.join(" ")
}

/// What a command prints.
fn printed(words: &[&str]) -> String {
    let output = signorini(words);
    assert!(output.status.success(), "{words:?}: {}", stderr(&output));
    stdout(&output)
}

/// The published figure, ours and the note of a row of `signorini papers`.
fn row(table: &str, what: &str) -> (Option<f64>, f64, String) {
    let mut lines = table.lines().skip_while(|line| !line.ends_with(what));
    let line = lines.next().unwrap_or_else(|| panic!("no row `{what}` in\n{table}"));
    let mut figures = line.split_whitespace().map(|word| word.parse::<f64>().ok());
    let note = lines.next().unwrap_or("").trim().to_owned();
    (figures.next().flatten(), figures.next().flatten().expect("ours"), note)
}

#[test]
fn the_balls_have_as_many_contacts_as_in_the_thesis_and_the_path_is_alone() {
    let table = printed(&["papers", "balls", "--quick"]);
    let (published, ours, note) = row(&table, "64 balls: contacts");
    assert_eq!((published, ours), (Some(884.0), 884.0));
    assert!(note.contains("the thesis does not say which"), "{note}");
    // Sweeps or Newton steps before it would leave the path next to nothing to do.
    let (_, path, _) = row(&table, "64 balls: iterations per step, path alone");
    let (_, used, _) = row(&table, "64 balls: factorizations per step, as it is used");
    assert!(path >= 5.0 && used < 1.0, "path alone {path}, as it is used {used}");
    let header = text("crates/solve/src/solve/interior_point/mod.rs");
    assert!(header.contains("9 iterations for 64 spheres and 16 to 19 for 280 to 1190"));
    assert_eq!(path, 9.0, "the header of the interior point says 9");
}

#[test]
fn warm_starts_of_the_path_are_those_of_table_5_1() {
    let table = printed(&["papers", "warm-starts", "--quick"]);
    for kind in ["none", "partial", "full"] {
        let (published, ours, _) =
            row(&table, &format!("single ball, 100 calls, warm start {kind}"));
        assert!(published.is_some() && ours > 0.0, "{kind}: {published:?}, {ours}");
    }
    let of = |kind: &str| row(&table, &format!("single ball, 100 calls, warm start {kind}")).1;
    assert!(of("partial") < of("none") && of("full") < of("partial"), "as in the thesis");
}

#[test]
fn the_two_counts_of_operations_of_the_manipulator_say_what_they_count() {
    let table = printed(&["papers", "manipulator", "--quick"]);
    let (published, all, note) = row(&table, "operations of R, all columns");
    assert_eq!((published, all), (Some(34916.0), 1667.0));
    // R of all 51 columns is cheaper than R of 39 of them only because it is not complete.
    assert!(
        note.contains("three of the 42 pivots vanish") && note.contains("not counted"),
        "{note}"
    );
    let (_, independent, note) = row(&table, "operations of R, 39 independent columns");
    assert!(independent == 3064.0 && note.contains("R complete"), "{independent}: {note}");
    // 5.5 is between whole simulations.
    let (published, _, note) = row(&table, "times faster than dense");
    assert_eq!(published, Some(5.5));
    assert!(note.contains("the paper compares whole simulations"), "{note}");
}

#[test]
fn bending_compares_implicit_springs_and_is_not_cut_off_at_the_published_step() {
    let header = text("crates/mechanics/src/assemble/penalty.rs");
    assert!(header.contains("\"even with implicit integrators\""));
    let table = printed(&["papers", "bending", "--quick"]);
    let (_, iterations, note) = row(&table, "iterations per step at 0.05 s, as it is used");
    assert!(iterations > 1.0 && note.contains("sizes are not published"), "{iterations}: {note}");
    // The whole table takes 20 s: its search begins at 0.15 s, above the thesis's 0.06 s.
    let source = text("bench/src/bending.rs");
    assert!(source.contains("0.15") && source.contains("implicit"));
    let readme = text("README.md");
    assert!(readme.contains("82 ms with rigid contacts (thesis: 60 ms)"));
}

#[test]
fn generated_c_is_two_files() {
    let out = folder("codegen");
    let path = out.to_str().expect("a plain path");
    printed(&["codegen", "a03_andrews", "--emit", "c", "--out", path]);
    let mut files: Vec<String> = fs::read_dir(&out)
        .expect("the folder")
        .map(|f| f.expect("a file").file_name().to_string_lossy().into_owned())
        .collect();
    files.sort();
    assert_eq!(files.len(), 2, "{files:?}");
    assert!(files[0].ends_with(".c") && files[1].ends_with(".h"), "{files:?}");
    assert!(text("README.md").contains("(a `.c` and a `.h` file)"));
}

#[test]
fn collections_of_others_are_named_with_their_sources_and_may_be_missing() {
    let readme = text("README.md");
    for part in [
        "https://github.com/siconos/siconos",
        "it is not published yet",
        "is skipped, and `./check` says so",
    ] {
        assert!(readme.contains(part), "{part}");
    }
    // A command without `DIR` needs nothing but a clone.
    for command in readme.split('`').filter(|part| part.starts_with("signorini solve problems/")) {
        let file = command.split_whitespace().nth(2).expect("a file");
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file).exists(), "{file}");
    }
}

#[test]
fn what_is_local_of_one_row_or_by_hand_is_called_so() {
    // "velocities right to 3e-16" was the local error.
    assert!(!text("README.md").contains("velocities right to 3e-16"));
    let error = text("crates/solve/src/problem/error.rs");
    assert!(error.contains("Equation 5 is about single rows, each with its own a"));
    assert!(text("ARCHITECTURE.md").contains("no callback but a clock"));
    assert!(text("CHANGELOG.md").contains("allocates nothing after warm-up, but for"));
    assert!(!text("CHANGELOG.md").contains("No step of any scene is left unaccepted"));
    for scene in ["manipulator", "slider_crank"] {
        assert!(!text(&format!("scenes/{scene}.toml")).contains("CAD system exports"), "{scene}");
    }
    let errata = text("REFERENCES.md");
    for part in ["η = 0.1 exp(−μ n) + 0.9", "J = diag(1, −I)", "the first right-hand side −c"]
    {
        assert!(errata.contains(part), "{part}");
    }
    // No method promises hard real time; what a run offers is in its help.
    assert!(!text("crates/solve/src/solve/psor/mod.rs").contains("hard real time"));
}
