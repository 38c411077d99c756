//! `signorini papers`: rows, JSON, page, exit codes.

use std::process::{Command, Output};

fn papers(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_signorini"))
        .arg("papers")
        .args(arguments)
        .output()
        .expect("the program runs")
}

#[test]
fn rows_are_json_with_published_and_ours() {
    let output = papers(&["operations", "manipulator", "--quick", "--json"]);
    assert!(output.status.success());
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = rows.as_array().expect("a list");
    for row in rows {
        for key in ["paper", "place", "what", "unit", "published", "ours", "command", "note"] {
            assert!(row.get(key).is_some(), "{key} is missing in {row}");
        }
        let note = row["note"].as_str().expect("a text");
        assert!(!row["published"].is_null() || !note.is_empty(), "no reason: {row}");
    }
    let find = |what: &str| {
        let row = rows.iter().find(|r| r["what"].as_str() == Some(what));
        row.unwrap_or_else(|| panic!("no row {what}"))
    };
    // Dense counts are a formula, and the size of A is given: both are the published ones.
    for (what, value) in [
        ("m = 4: operations, dense", 24400.0),
        ("m = 16: operations, dense", 1_058_896.0),
        ("A: rows", 42.0),
        ("A: columns", 51.0),
    ] {
        let row = find(what);
        assert_eq!(row["ours"].as_f64(), Some(value), "{row}");
        assert_eq!(row["published"], row["ours"], "{row}");
    }
}

#[test]
fn the_page_is_one_file_with_tables_plots_and_drawings() {
    let path = std::env::temp_dir().join(format!("signorini-papers-{}.html", std::process::id()));
    let output =
        papers(&["metric", "simplex", "--quick", "--page", path.to_str().expect("a plain path")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(&path).expect("the page");
    std::fs::remove_file(&path).expect("it can be removed");
    assert!(page.contains("Enzenhoefer2018") && page.contains("Figure 1: isolines"));
    assert!(page.contains("<h3>Figure 2") && page.matches("<svg").count() >= 5);
    assert!(!page.contains("NaN"), "a number is missing");
}

#[test]
fn an_unknown_name_is_answered_with_one_line() {
    let output = papers(&["nosuchtable"]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("--list") && message.lines().count() == 1, "{message}");
}
