//! Every scene and every case to its end: all steps accepted, all facts held, one row each.
//!
//! `./check --long`, or `cargo test --release -p signorini-cli --test long -- --ignored
//! --nocapture`; `SIGNORINI_LONG=name,name` runs those whose name contains one of these.

mod common;

use common::{command, folder, json, said, text};
use serde_json::{Value as Json, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A run: its name, the scene and what else is asked for.
struct Run {
    name: String,
    scene: PathBuf,
    arguments: Vec<String>,
}

impl Run {
    fn new(name: impl Into<String>, scene: &Path, arguments: &[&str]) -> Run {
        let arguments = arguments.iter().map(|a| a.to_string()).collect();
        Run { name: name.into(), scene: scene.to_path_buf(), arguments }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The scene files of a folder by name; none if it is not there.
fn scenes(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let toml = |path: &PathBuf| path.extension().is_some_and(|e| e == "toml");
    let name = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    let mut all: Vec<_> =
        entries.map(|e| e.path()).filter(toml).map(|path| (name(&path), path)).collect();
    all.sort();
    all
}

/// A pile of the folder `peers` as a scene of ours.
fn pile(from: &Path, to: &Path) {
    let stored = json(from);
    let mut bodies = Vec::new();
    for body in stored["bodies"].as_array().unwrap() {
        let size: Vec<f64> =
            body["size"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
        let shape = match body["shape"].as_str().unwrap() {
            "box" => json!({"box": size.iter().map(|x| 2.0 * x).collect::<Vec<_>>()}),
            "sphere" => json!({"sphere": size[0]}),
            "capsule" => json!({"capsule": {"radius": size[0], "length": 2.0 * size[1]}}),
            "hull" => json!({"hull": body["points"]}),
            "mesh" => json!({"mesh": {"vertices": body["points"], "triangles": body["triangles"]}}),
            other => panic!("{other}"),
        };
        let q = &body["quat"];
        let mut out = json!({"name": body["name"], "position": body["pos"], "shape": shape,
            "rotation": {"quaternion": [q[1], q[2], q[3], q[0]]}});
        if body["fixed"] == json!(true) {
            out["fixed"] = json!(true);
        } else {
            out["density"] = body["density"].clone();
        }
        bodies.push(out);
    }
    let end = stored["duration"].as_f64().unwrap();
    let scene = json!({
        "name": stored["name"], "gravity": stored["gravity"],
        "materials": {"m": {"mu": stored["friction"], "restitution": stored["restitution"]}},
        "contact": {"material": "m"},
        "run": {"dt": stored["dt"], "t_end": end},
        "body": bodies,
    });
    fs::write(to, scene.to_string()).unwrap();
}

/// All runs: scenes at their own step and at half of it, cases at several.
fn runs(place: &Path) -> Vec<Run> {
    let mut all = Vec::new();
    for (name, path) in scenes(&root().join("scenes")) {
        all.push(Run::new(&name, &path, &[]));
    }
    // atan 0.4 less and more a hundred-thousandth of a degree: it stays, and it slides.
    let incline = root().join("scenes/incline.toml");
    for (name, angle) in
        [("holds", "gentle=21.80139948635 deg"), ("slides", "steep=21.80141948635 deg")]
    {
        for step in ["5 ms", "1 ms"] {
            let arguments = ["--set", angle, "--dt", step];
            all.push(Run::new(format!("incline {name} at 1e-5 deg, {step}"), &incline, &arguments));
        }
    }
    let shared = root().join("../shared");
    for (name, path) in scenes(&shared.join("cases")) {
        let name = format!("case {name}");
        let steps: &[&str] = match path.file_stem().unwrap().to_str().unwrap() {
            "e_gripper" => &["4 ms", "2 ms", "1 ms", "0.5 ms", "0.25 ms"],
            "pyramid10" => &["10 ms", "5 ms", "2 ms"],
            "mesh_fall" | "mesh_flush" => &["4 ms", "1 ms", "0.5 ms"],
            "mu_1e20_falls_through" => &["5 ms", "1 ms"],
            _ => &[],
        };
        if steps.is_empty() {
            all.push(Run::new(&name, &path, &[]));
        }
        for step in steps {
            all.push(Run::new(format!("{name}, {step}"), &path, &["--dt", step]));
        }
    }
    let tori = shared.join("peers/scenes/p_tori60.json");
    if tori.exists() {
        let scene = place.join("p_tori60.json");
        pile(&tori, &scene);
        all.push(Run::new("p_tori60", &scene, &[]));
    }
    all
}

/// Runs it; its row, and what is wrong, if anything.
fn take(run: &Run, place: &Path) -> (String, Option<String>) {
    let out = place.join("out");
    let _ = fs::remove_dir_all(&out);
    let mut arguments = vec!["run", text(&run.scene), "--out", text(&out)];
    arguments.extend(run.arguments.iter().map(String::as_str));
    let begun = Instant::now();
    let output = command(&arguments).output().expect("the program starts");
    let wall = begun.elapsed().as_secs_f64();
    let words = said(&output);
    let Ok(bytes) = fs::read(out.join("run.json")) else {
        return (format!("| {} | no run.json |", run.name), Some(words));
    };
    let seen: Json = serde_json::from_slice(&bytes).unwrap();
    let facts = seen["facts"].as_array().unwrap();
    let held = facts.iter().filter(|fact| fact["holds"] == json!(true)).count();
    let number = |key: &str| seen[key].as_f64().unwrap_or(f64::NAN);
    let row = format!(
        "| {} | {} | {} | {} | {} of {} | {:.1e} | {:.1e} | {:.0} |",
        run.name,
        seen["steps"],
        seen["not_accepted"],
        seen["not_unique"],
        held,
        facts.len(),
        seen["error"]["worst_relative"].as_f64().unwrap_or(f64::NAN),
        number("penetration_max"),
        wall
    );
    let fine = output.status.success()
        && seen["complete"] == json!(true)
        && seen["not_accepted"] == json!(0)
        && held == facts.len();
    // The exit code is of the same opinion.
    let wrong = (!fine).then(|| {
        let tail: Vec<&str> = words.lines().rev().take(6).collect();
        let tail: Vec<&str> = tail.into_iter().rev().collect();
        format!("{} (exit {:?}):\n    {}", run.name, output.status.code(), tail.join("\n    "))
    });
    (row, wrong)
}

#[test]
#[ignore = "takes minutes: ./check --long"]
fn every_scene_and_case_runs_to_its_end_with_every_step_accepted() {
    let place = folder("long");
    let wanted = std::env::var("SIGNORINI_LONG").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split(',').filter(|name| !name.is_empty()).collect();
    let mut wrong = Vec::new();
    println!(
        "| run | steps | not accepted | not unique | facts held | error | deepest, m | s |\n\
         |---|---|---|---|---|---|---|---|"
    );
    let mut count = 0;
    for run in runs(&place) {
        if !wanted.is_empty() && !wanted.iter().any(|name| run.name.contains(name)) {
            continue;
        }
        count += 1;
        let (row, fault) = take(&run, &place);
        println!("{row}");
        wrong.extend(fault);
    }
    assert!(count > 0, "no run is called so");
    assert!(wrong.is_empty(), "{} of {count} runs:\n{}", wrong.len(), wrong.join("\n"));
}
