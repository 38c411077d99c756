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

/// The Python that may have other engines.
fn python() -> String {
    std::env::var("SIGNORINI_PYTHON").unwrap_or_else(|_| "python3".into())
}

#[test]
fn other_engines_have_the_same_rows() {
    let output = validate(&["slide-to-roll", "--peers", "--python", &python(), "--json"]);
    assert!(output.status.success());
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = rows.as_array().expect("a list");
    let name = "slide-to-roll/ball: rolling speed";
    let row = rows.iter().find(|row| row["name"] == name).expect("the row");
    let Some(peers) = row["peers"].as_array() else {
        eprintln!(
            "SKIPPED: no other engine is installed (pip install mujoco pybullet drake dartpy, SIGNORINI_PYTHON=python)"
        );
        return;
    };
    let reference = row["reference"].as_f64().expect("a number");
    for peer in peers {
        let number = |key: &str| peer[key].as_f64().unwrap_or_else(|| panic!("{key} of {peer}"));
        assert!((number("error") - (number("value") - reference).abs()).abs() < 1e-15, "{peer}");
        // 5/7 of 3 m/s follows from the momentum about the line of contact, whatever the contact.
        assert!(number("error") < 0.01 * reference, "{peer}");
    }
    eprintln!("{} engines roll at 5/7 of the sliding speed", peers.len());
}

#[test]
fn missing_engines_are_named() {
    let output = validate(&["slide-to-roll", "--peers", "--python", "no-such-python"]);
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout);
    for engine in ["mujoco", "bullet", "drake", "dart"] {
        assert!(text.contains(&format!("peer missing: {engine}, no-such-python")), "{text}");
    }
    assert!(text.contains("pass  slide-to-roll/ball: rolling speed"), "{text}");
}
