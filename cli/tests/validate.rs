//! `signorini validate`: rows, exit codes, JSON, page.

use std::process::{Command, Output};

fn validate(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_signorini"))
        .arg("validate")
        .args(arguments)
        .output()
        .expect("the program runs")
}

#[test]
fn rows_are_json_with_value_reference_and_source() {
    let output = validate(&["stopping", "--json"]);
    assert!(output.status.success());
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = rows.as_array().expect("a list");
    assert_eq!(rows.len(), 10);
    for row in rows {
        for key in [
            "name",
            "value",
            "reference",
            "error",
            "allowed",
            "pass",
            "source",
            "reason",
            "seconds",
        ] {
            assert!(row.get(key).is_some(), "{key} is missing in {row}");
        }
        let number = |key: &str| row[key].as_f64().expect("a number");
        assert!(row["pass"].as_bool() == Some(number("error") <= number("allowed")));
        assert!(
            !row["reason"].as_str().expect("a text").is_empty(),
            "every tolerance has its reason"
        );
    }
    // v²/(2 mu g) with 2 m/s and 0.4, as published by others to six digits.
    let way = rows.iter().find(|r| r["name"] == "stopping/mu 0.4, 2 m/s: way").expect("the row");
    assert!((way["value"].as_f64().expect("a number") - 0.509684).abs() < 1e-6);
}

#[test]
fn the_page_is_one_file_with_the_table_and_plots() {
    let path = std::env::temp_dir().join(format!("signorini-validate-{}.html", std::process::id()));
    let output = validate(&["slide-to-roll", "--page", path.to_str().expect("a plain path")]);
    assert!(output.status.success());
    let page = std::fs::read_to_string(&path).expect("the page");
    std::fs::remove_file(&path).expect("it can be removed");
    assert!(page.contains("<svg") && page.contains("slide-to-roll") && page.contains("pass"));
    assert!(
        !page.contains("http://") || page.matches("http://").all(|_| page.contains("www.w3.org")),
        "no network"
    );
}

#[test]
fn an_unknown_name_is_answered_with_one_line() {
    let output = validate(&["nosuchrow"]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        message.contains("nosuchrow") && message.contains("--list") && message.lines().count() == 1,
        "{message}"
    );
}
