//! `signorini solve` as a person or a program meets it.

mod common;

use common::signorini;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn temporary(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lcp");
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

/// A problem file that tests share: written once, for they run beside each other.
fn shared(written: &OnceLock<String>, name: &str, problem: &str) -> String {
    let write = || {
        let path = temporary(name);
        std::fs::write(&path, problem).unwrap();
        path.to_str().unwrap().into()
    };
    written.get_or_init(write).clone()
}

/// 2 z − 1 ≥ 0 ⊥ z ≥ 0: z = ½.
fn ball() -> String {
    static BALL: OnceLock<String> = OnceLock::new();
    shared(&BALL, "ball.dat", "1 0 1 1 1 1 2 -1")
}

/// A contact of mu = ½ that slides: the two laws differ.
fn slider() -> String {
    static SLIDER: OnceLock<String> = OnceLock::new();
    shared(&SLIDER, "slider.dat", "2 1 0 2 2 2 2 1 0 0 1 -1 -3 0.5")
}

#[test]
fn json_has_these_keys_and_no_others() {
    let output = signorini(&["solve", &ball(), "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let line: Value = serde_json::from_slice(&output.stdout).unwrap();
    let keys = |value: &Value| {
        value.as_object().unwrap().keys().cloned().collect::<std::collections::BTreeSet<String>>()
    };
    let wanted = |names: &str| names.split(' ').map(String::from).collect();
    assert_eq!(
        keys(&line),
        wanted(
            "problem solver status iterations work wall_s reproducible stages certificate error"
        )
    );
    assert_eq!(keys(&line["problem"]), wanted("name n rows blocks"));
    assert_eq!(
        keys(&line["problem"]["blocks"]),
        wanted("equality unilateral interval cone coulomb")
    );
    let error = "joule relative estimate_joule estimate_relative scale_joule velocity worst_row \
        worst_name momentum_joule natural fischer_burmeister siconos thesis";
    assert_eq!(keys(&line["error"]), wanted(error));
    assert_eq!(keys(&line["error"]["thesis"]), wanted("rp_eq rp_ineq rd mu"));
    assert_eq!(line["problem"]["name"], "ball");
    assert_eq!(line["problem"]["blocks"]["unilateral"], 1);
    assert_eq!(line["status"], "converged");
}

#[test]
fn the_exit_code_says_how_it_went() {
    let code = |arguments: &[&str]| signorini(arguments).status.code();
    let ball = ball();
    assert_eq!(code(&["solve", &ball]), Some(0));
    // No work at all: what is returned is the guess, and it is not a solution.
    assert_eq!(code(&["solve", &ball, "--solver", "psor", "--max-work", "0"]), Some(3));
    // A method that does not treat contacts.
    assert_eq!(code(&["solve", &ball, "--solver", "direct"]), Some(3));
    for wrong in [
        vec!["solve"],
        vec!["solve", "no such file"],
        vec!["solve", &ball, "--solver", "magic"],
        vec!["solve", &ball, "--law", "newton"],
        vec!["solve", &ball, "--tol", "-1"],
        vec!["solve", &ball, "--tol-velocity", "nan"],
        vec!["solve", &ball, "--kind", "fc3d"],
        vec!["solve", &ball, "--kind", "riddle"],
        vec!["solve", &ball, "--out", "answer.txt"],
        vec!["solve", &ball, &ball, "--out", "answer.json"],
        vec!["solve", &ball, "--out", "no/such/folder/answer.json"],
    ] {
        let output = signorini(&wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(!output.stderr.is_empty(), "{wrong:?}");
    }
    // One bad file does not keep the others from being solved.
    let output = signorini(&["solve", "no such file", &ball, "--json"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        (text(&output.stdout).lines().count(), text(&output.stderr).lines().count()),
        (1, 1)
    );
}

#[test]
fn unsupported_is_a_status() {
    let output = signorini(&["solve", &ball(), "--solver", "direct", "--json"]);
    let line: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((line["status"].as_str(), line["work"].as_u64()), (Some("unsupported"), Some(0)));
}

#[test]
fn all_solvers_stand_in_one_table() {
    let output = signorini(&["solve", &ball(), "--solver", "all", "--tol", "1e-14"]);
    let table = text(&output.stdout);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines.len() > signorini::solve::options::Choice::all().count(), "{table}");
    // Columns are aligned: the status of every row begins where its heading does.
    let column = lines[0].find("status").unwrap();
    // Certificates stand below the rows of what they prove.
    let rows = lines[1..].iter().filter(|line| !line.trim_start().starts_with("certificate"));
    for (line, choice) in rows.zip(signorini::solve::options::Choice::all()) {
        assert!(line.starts_with("ball ") && line.contains(choice.name), "{table}");
        assert!(
            line[column..].starts_with(|c: char| c.is_alphabetic())
                && &line[column - 2..column] == "  ",
            "{table}"
        );
    }
}

#[test]
fn the_law_can_be_chosen() {
    let blocks = |options: &[&str]| {
        let path = slider();
        let output = signorini(&[&["solve", &path, "--kind", "fc2d", "--json"], options].concat());
        let line: Value = serde_json::from_slice(&output.stdout).unwrap();
        (
            line["problem"]["blocks"]["coulomb"].as_u64().unwrap(),
            line["problem"]["blocks"]["cone"].as_u64().unwrap(),
        )
    };
    assert_eq!(
        (blocks(&[]), blocks(&["--law", "coulomb"]), blocks(&["--law", "cone"])),
        ((1, 0), (1, 0), (0, 1))
    );
}

#[test]
fn out_and_warm_carry_a_solution_on() {
    let out = temporary("warm.json");
    signorini(&["solve", &ball(), "--tol", "1e-15", "--out", out.to_str().unwrap()]);
    let mut file: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    let z = file["solution"]["r"][0].as_f64().unwrap();
    // The bound is held to √1e-15 of the scale ¼.
    assert!((z - 0.5).abs() < 1e-7, "{z}");
    // A method that does not treat the problem leaves the start as it is.
    let start = |options: &[&str]| {
        let output = signorini(
            &[&["solve", out.to_str().unwrap(), "--solver", "direct", "--json"], options].concat(),
        );
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["error"]["relative"]
            .as_f64()
            .unwrap()
    };
    assert!(start(&[]) > 0.9 && start(&["--warm"]) < 1e-14);
    // A guess comes before the solution.
    file["guess"] = file["solution"].clone();
    file["guess"]["r"][0] = 0.0.into();
    std::fs::write(&out, file.to_string()).unwrap();
    assert!(start(&["--warm"]) > 0.9);
}

#[test]
fn history_is_a_table() {
    let out = temporary("history.csv");
    let read = || std::fs::read_to_string(&out).unwrap();
    signorini(&[
        "solve",
        &slider(),
        "--kind",
        "fc2d",
        "--solver",
        "psor",
        "--history",
        out.to_str().unwrap(),
    ]);
    let one = read();
    assert_eq!(one.lines().next(), Some("work,joule,best,wall_s"));
    let best: Vec<f64> =
        one.lines().skip(1).map(|l| l.split(',').nth(2).unwrap().parse().unwrap()).collect();
    assert!(!best.is_empty() && best.windows(2).all(|w| w[0] >= w[1]), "{one}");
    signorini(&[
        "solve",
        &slider(),
        &slider(),
        "--kind",
        "fc2d",
        "--solver",
        "psor",
        "--history",
        out.to_str().unwrap(),
    ]);
    let two = read();
    assert_eq!(two.lines().next(), Some("problem,solver,work,joule,best,wall_s"));
    assert!(two.lines().nth(1).unwrap().starts_with("\"slider\",psor,"), "{two}");
}

#[test]
fn help_shows_examples() {
    let help = text(&signorini(&["solve", "--help"]).stdout);
    for word in [
        "Examples:",
        "--solver",
        "--law",
        "--tol",
        "--tol-velocity",
        "--max-work",
        "--deadline-ms",
        "--warm",
        "--out",
        "--history",
        "--json",
    ] {
        assert!(help.contains(word), "{word}");
    }
}

#[test]
fn the_papers_methods_have_names_and_options() {
    let ball = ball();
    let line = |options: &[&str]| -> Value {
        let output = signorini(&[&["solve", &ball, "--json"], options].concat());
        assert!(output.status.code() != Some(2), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    for name in ["psor-plain", "interior-point-pure", "pivot-empty"] {
        let line = line(&["--solver", name]);
        assert_eq!(
            (line["solver"].as_str(), line["status"].as_str()),
            (Some(name), Some("converged"))
        );
    }
    let relaxed = ["--solver", "psor-plain", "--option", "omega=0.5"];
    assert!(line(&relaxed)["work"].as_u64() > line(&relaxed[..2])["work"].as_u64());
    for wrong in [
        &["--solver", "psor", "--option", "path=pure"][..],
        &["--solver", "psor", "--option", "omega"],
        &["--solver", "all", "--option", "omega=1"],
    ] {
        let output = signorini(&[&["solve", &ball][..], wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn plots_are_drawn() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let drawn = |file: &str, plot: &str, solver: &str| {
        let out = folder.join(format!("plot-of-solve-{plot}.svg"));
        let out = out.to_str().unwrap();
        let output = signorini(&["solve", file, "--solver", solver, "--plot", plot, "-o", out]);
        assert!(output.status.code() != Some(2), "{}", text(&output.stderr));
        std::fs::read_to_string(out).unwrap()
    };
    let pile = concat!(env!("CARGO_MANIFEST_DIR"), "/../problems/mixed_cone_large_7.json");
    let residuals = drawn(pile, "residuals", "interior-point-pure");
    for curve in ["error, J", "r_p", "r_d", "mu"] {
        assert!(residuals.contains(curve), "{curve}");
    }
    let sparsity = drawn(pile, "sparsity", "pivot-empty");
    assert!(sparsity.contains("of them fill") && sparsity.contains("updates"), "{sparsity:.300}");
    assert!(drawn(&ball(), "isolines", "psor").contains("isolines of the error"));
    for wrong in [
        &["solve", pile, "--plot", "isolines", "-o", "x.svg"][..],
        &["solve", pile, "--plot", "sparsity", "-o", "x.json"],
        &["solve", pile, "--plot", "sparsity"],
    ] {
        assert_eq!(signorini(wrong).status.code(), Some(2), "{wrong:?}");
    }
}
