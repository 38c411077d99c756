//! The workbench as a user meets it: step snapshots, kinematics, statics, joints that do not meet.

mod common;

use common::{BUSY, folder, signorini, stderr, stdout, text, write_file};
use serde_json::Value as Json;
use std::fs;
use std::path::PathBuf;

#[test]
fn a_kept_step_is_solved_again_by_every_solver() {
    let place = folder("snapshot");
    let scene = write_file(&place, "busy.toml", BUSY);
    let out = place.join("out");
    let output = signorini(&[
        "run",
        text(&scene),
        "--out",
        text(&out),
        "--keep-worst",
        "2",
        "--keep-step",
        "20",
        "--reactions",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let mut kept: Vec<PathBuf> = fs::read_dir(&out)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| text(p).ends_with(".snapshot.json"))
        .collect();
    kept.sort();
    assert!(
        (2..=3).contains(&kept.len())
            && kept.iter().any(|p| text(p).ends_with("step-0000020.snapshot.json")),
        "{kept:?}"
    );
    let file = out.join("step-0000020.snapshot.json");
    let again = signorini(&["replay", text(&file), "--solver", "all", "--json"]);
    let lines: Vec<Json> =
        stdout(&again).lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(lines.len(), signorini::solve::options::Choice::all().count(), "{}", stdout(&again));
    let newton = lines.iter().find(|l| l["solver"] == "newton").unwrap();
    assert!(
        newton["status"] == "converged" && newton["error"]["relative"].as_f64().unwrap() < 1e-8,
        "{newton}"
    );
    assert!(
        stdout(&signorini(&["replay", text(&file)]))
            .contains("largest difference in v between solvers")
    );
    // FCLib has no word for a motor of limited torque; JSON has.
    let hdf5 = place.join("step.hdf5");
    let said =
        stderr(&signorini(&["replay", text(&file), "--solver", "newton", "--out", text(&hdf5)]));
    assert!(said.contains("interval law") && said.contains(".json"), "{said}");
    let ours = place.join("step.json");
    signorini(&["replay", text(&file), "--solver", "newton", "--out", text(&ours)]);
    assert!(signorini(&["solve", text(&ours), "--solver", "newton"]).status.success());
    // A step of joints and contacts alone goes to FCLib and comes back.
    let plain = place.join("plain");
    signorini(&["run", "stack", "--t-end", "200 ms", "--out", text(&plain), "--keep-step", "3"]);
    let file = plain.join("step-0000003.snapshot.json");
    signorini(&["replay", text(&file), "--solver", "newton", "--out", text(&hdf5)]);
    let back = signorini(&["solve", text(&hdf5), "--solver", "newton"]);
    assert!(back.status.success(), "{}{}", stdout(&back), stderr(&back));
    // Files under the name and the format of earlier versions are still read.
    let old = place.join("step-0000003.capsule.json");
    fs::write(
        &old,
        fs::read_to_string(&file).unwrap().replacen("signorini step", "signorini capsule", 1),
    )
    .unwrap();
    assert!(signorini(&["replay", text(&old), "--solver", "newton"]).status.success());
    // A digit changed by hand is noticed.
    let changed = fs::read_to_string(&file).unwrap().replacen("\"k\":[", "\"k\":[1", 1);
    fs::write(&file, changed).unwrap();
    let said = stderr(&signorini(&["replay", text(&file)]));
    assert!(said.contains("the snapshot was changed after it was written"), "{said}");
    // Reactions by name.
    let table = fs::read_to_string(out.join("reactions.csv")).unwrap();
    assert!(
        table.lines().any(|l| l.contains(",joint,hinge,"))
            && table.lines().any(|l| l.contains(",contact,")),
        "{table}"
    );
}

#[test]
fn kinematic_and_static_runs_have_options() {
    let place = folder("modes");
    let out = place.join("kinematic");
    let run =
        signorini(&["run", "slider_crank", "--kinematic", "--t-end", "0.5 s", "--out", text(&out)]);
    assert!(
        run.status.success() && stdout(&run).contains("kinematic 500"),
        "{}{}",
        stdout(&run),
        stderr(&run)
    );
    // The closed form of the scene, to 1e-12: crank 100 mm, rod 250 mm, 120 rpm.
    let omega = 120.0 * std::f64::consts::TAU / 60.0;
    let table = fs::read_to_string(out.join("bodies.csv")).unwrap();
    let mut rows = 0;
    for line in table.lines().filter(|l| l.contains(",slider,")) {
        let fields: Vec<f64> = line
            .split(',')
            .enumerate()
            .filter(|(i, _)| *i != 1)
            .map(|(_, x)| x.parse().unwrap())
            .collect();
        let (s, c) = (omega * fields[0]).sin_cos();
        let x = 0.1 * c + (0.25f64.powi(2) - 0.01 * s * s).sqrt();
        assert!(
            (fields[1] - x).abs() < 1e-12 && fields[2].abs() < 1e-12 && fields[3].abs() < 1e-12,
            "{line}"
        );
        rows += 1;
    }
    assert!(rows > 100);
    assert!(fs::read_to_string(out.join("motors.csv")).unwrap().lines().count() > 100);
    let scene = place.join("table.toml");
    fs::write(&scene, "[[body]]\nname = \"floor\"\nfixed = true\nshape = { half_space = true \
        }\n[[body]]\nname = \"table\"\nmass = 4\nshape = { box = [1, 1, 0.2] }\nposition = [0, 0, 0.3]\n").unwrap();
    let run = signorini(&["run", text(&scene), "--static"]);
    let said = stdout(&run);
    assert!(
        run.status.success() && said.matches("not unique").count() == 4 && said.contains("9.810"),
        "{said}{}",
        stderr(&run)
    );
}

#[test]
fn joints_that_do_not_meet_are_brought_together_or_the_loop_is_named() {
    let place = folder("assembly");
    let scene = |length: f64| {
        format!(
            "[run]\nt_end = \"10 ms\"\n[[body]]\nname = \"left\"\nmass = 1\nshape = {{ box = [0.1, \
                0.1, 1] }}\nposition = [0, 0, 0.5]\ntouches = []\n[[body]]\nname = \
                \"right\"\nmass = 1\nshape = {{ box = [0.1, 0.1, 1] }}\nposition = [{length}, 0, 0.5]\ntouches = []\n[[joint]]\nname = \"foot_left\"\nkind = \"revolute\"\nb = \"left\"\nposition = [0, 0, 0]\naxis = [0, 1, 0]\n[[joint]]\nname = \"foot_right\"\nkind = \"revolute\"\nb = \"right\"\nposition = [{length}, 0, 0]\naxis = [0, 1, 0]\n[[joint]]\nname = \"top\"\nkind = \"spherical\"\na = \"left\"\nb = \"right\"\nframe_a = {{ position = [0, 0, 0.5] }}\nframe_b = {{ position = [0, 0, 0.5] }}\n"
        )
    };
    let file = place.join("scene.toml");
    // Two posts of 1 m whose feet are 1 m apart lean towards each other; 2.2 m apart they cannot
    // meet.
    fs::write(&file, scene(1.0)).unwrap();
    let run = signorini(&["run", text(&file)]);
    assert!(
        run.status.success() && stderr(&run).contains("were brought together"),
        "{}",
        stderr(&run)
    );
    fs::write(&file, scene(2.2)).unwrap();
    let run = signorini(&["run", text(&file)]);
    let said = stderr(&run);
    assert!(
        run.status.code() == Some(2)
            && said.contains("cannot close")
            && said.contains("`foot_left`")
            && said.contains("`top`"),
        "{said}"
    );
    let check = signorini(&["check", text(&file)]);
    assert!(
        check.status.code() == Some(1) && stdout(&check).contains("error [loop]"),
        "{}",
        stdout(&check)
    );
}
