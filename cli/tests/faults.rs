//! What must not go wrong when something else does: kills, damaged checkpoints, two writers, full
//! disks. Nothing is lost.

mod common;

use common::{command, folder, json, refused, signorini, stderr, summary, text, write_file};
use serde_json::Value as Json;
use signorini_record::record::Record;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Springs with sliders, a motor, a soft body on a floor, a ball on it, dry friction: an element of
/// every kind that remembers something.
const EVERYTHING: &str = r#"
[run]
dt = "2 ms"
t_end = "80 ms"
record_every = 2
[[body]]
name = "floor"
fixed = true
shape = { half_space = true }
[[soft]]
name = "jelly"
grid = { cells = [4, 4, 4], size = [0.2, 0.2, 0.2] }
young = "50 kPa"
density = "1000 kg/m^3"
stiffness_damping = "2 ms"
position = [0, 0, 0.1005]
velocity = [0.3, 0, 0]
[[body]]
name = "ball"
density = "2000 kg/m^3"
shape = { sphere = 0.04 }
position = [0.01, 0.005, 0.245]
velocity = [0.2, 0, -0.5]
[[repeat]]
count = 2
[[repeat.body]]
name = "carriage_{i}"
shape = { box = [0.1, 0.1, 0.1] }
density = "500 kg/m^3"
position = [0.5, "0.4 + 0.3*i", 0.3]
[[repeat.joint]]
name = "rail_{i}"
kind = "prismatic"
b = "carriage_{i}"
axis = [1, 0, 0]
[[repeat.force]]
name = "spring_{i}"
spring = { b = "carriage_{i}", points = [[0, "0.4 + 0.3*i", 0.3], [0.5, "0.4 + 0.3*i", 0.3]], length = 0.3, stiffness = "400 N/m", damping = "2 N s/m" }
[[force]]
name = "between"
spring = { a = "carriage_0", b = "carriage_1", stiffness = "900 N/m" }
[[body]]
name = "arm"
shape = { box = [0.3, 0.05, 0.05] }
density = "700 kg/m^3"
position = [-0.6, 0, 0.3]
[[joint]]
name = "hinge"
kind = "revolute"
b = "arm"
position = [-0.75, 0, 0.3]
axis = [0, 1, 0]
[[motor]]
name = "drive"
joint = "hinge"
angular_speed = "3 rad/s"
max_torque = "5 N m"
[[expect]]
body = "ball"
z = { at_least = 0 }
"#;

/// All files of a run that must be the same, but for the seconds that it took.
fn results(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let read = |name: &String| fs::read(folder.join(name)).unwrap();
    let mut out = Vec::new();
    for name in names.iter().filter(|n| !n.starts_with('.')) {
        let bytes = match name.as_str() {
            "run.json" => summary(folder).to_string().into_bytes(),
            "record.bin" => record(folder),
            _ => read(name),
        };
        out.push((name.clone(), bytes));
    }
    out
}

/// What a record says, but for the seconds that steps took.
fn record(folder: &Path) -> Vec<u8> {
    let mut record = Record::open(folder).unwrap();
    let mut out = format!("{:?} {:?}", record.names, record.histories);
    for mut step in record.steps.clone() {
        step.wall = 0.0;
        out += &format!("{step:?}\n");
    }
    for i in 0..record.times().len() {
        let moment = record.moment(i).unwrap();
        out +=
            &format!("{} {:?} {:?} {:?}\n", moment.time, moment.poses, moment.touches, moment.soft);
    }
    assert!(record.tail.is_some(), "{}: the record has its end", folder.display());
    out.into_bytes()
}

fn assert_same(found: &[(String, Vec<u8>)], wanted: &[(String, Vec<u8>)], place: &Path) {
    let names =
        |list: &[(String, Vec<u8>)]| list.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(found), names(wanted), "{}", place.display());
    for (found, wanted) in found.iter().zip(wanted) {
        assert!(found == wanted, "{} of {} differs", found.0, place.display());
    }
}

/// Kills of the long test.
fn tries() -> usize {
    std::env::var("SIGNORINI_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(6)
}

#[test]
fn whatever_a_scene_has_a_killed_run_goes_on_to_the_same_bits_in_all_files() {
    let place = folder("kill");
    let scene = write_file(&place, "everything.toml", EVERYTHING);
    let options = ["--threads", "2", "--checkpoint-every", "3", "--keep-worst", "2", "--reactions"];
    let run = |out: &Path| {
        [&["run", text(&scene), "--resume", text(out)][..], &options]
            .concat()
            .iter()
            .map(|s| s.to_string())
            .collect::<Vec<_>>()
    };
    let whole = place.join("whole");
    let arguments = run(&whole);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let begun = Instant::now();
    let output = signorini(&arguments);
    let long = begun.elapsed();
    assert!(output.status.success(), "{}", stderr(&output));
    let wanted = results(&whole);
    for name in [
        "bodies.csv",
        "jelly.pvd",
        "jelly_000019.vtu",
        "motors.csv",
        "reactions.csv",
        "record.bin",
        "run.json",
    ] {
        assert!(wanted.iter().any(|(n, _)| n == name), "{name}");
    }
    // One thread, no checkpoints: the same tables.
    let plain = place.join("plain");
    assert!(
        signorini(&["run", text(&scene), "--out", text(&plain), "--threads", "1"]).status.success()
    );
    for name in ["bodies.csv", "contacts.csv", "jelly_000019.vtu", "jelly.pvd"] {
        assert_eq!(
            fs::read(plain.join(name)).unwrap(),
            fs::read(whole.join(name)).unwrap(),
            "{name}"
        );
    }
    let (mut seed, mut under_way) = (11u64, 0);
    for i in 0..tries() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let out = place.join(format!("try{i}"));
        let arguments = run(&out);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        // Twice in a row: a resumed run is killed as well.
        for round in 0..2 {
            let share = ((seed >> (20 + round)) & 0xffff) as f64 / 65536.0;
            let mut child =
                command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(long.mul_f64(share));
            child.kill().unwrap();
            child.wait().unwrap();
            under_way += usize::from(!out.join("run.json").exists());
        }
        let output = signorini(&arguments);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_same(&results(&out), &wanted, &out);
        fs::remove_dir_all(&out).unwrap();
    }
    assert!(under_way * 4 >= tries(), "{under_way} of {} kills met a run under way", 2 * tries());
}

#[test]
fn a_rerun_leaves_nothing_of_the_run_before() {
    let place = folder("rerun");
    let first = write_file(&place, "everything.toml", EVERYTHING);
    let out = place.join("out");
    assert!(
        signorini(&["run", text(&first), "--out", text(&out), "--reactions", "--keep-worst", "1"])
            .status
            .success()
    );
    fs::write(out.join("notes.txt"), "mine").unwrap();
    let second = write_file(
        &place,
        "ball.toml",
        "[run]\nt_end = \"20 ms\"\n[[body]]\nname = \"b\"\nmass = 1\nshape = { sphere = 0.1 }\n",
    );
    assert!(signorini(&["run", text(&second), "--out", text(&out)]).status.success());
    let names: Vec<String> = results(&out).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["bodies.csv", "contacts.csv", "notes.txt", "record.bin", "run.json"]);
    // A run that fails in its first step leaves no complete results either.
    let third = write_file(
        &place,
        "bad.toml",
        "[run]\nt_end = \"20 ms\"\ndt = \"2 ms\"\n[[body]]\nname = \"b\"\nmass = 1e308\nshape = { \
            sphere = 0.1 }\nvelocity = [1e200, 0, 0]\n",
    );
    let output = signorini(&["run", text(&third), "--out", text(&out)]);
    assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
}

#[test]
fn a_damaged_checkpoint_is_named_and_never_believed() {
    let place = folder("checkpoint");
    let file = write_file(&place, "everything.toml", EVERYTHING);
    let out = place.join("out");
    let mut child = command(&["run", text(&file), "--out", text(&out), "--checkpoint-every", "1"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let path = out.join("checkpoint.json");
    let begun = Instant::now();
    let steps = |path: &Path| {
        fs::read(path)
            .ok()
            .and_then(|b| serde_json::from_slice::<Json>(&b).ok())
            .and_then(|c| c["state"]["steps"].as_u64())
    };
    while steps(&path).is_none_or(|n| n < 3) && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let good = json(&path);
    let damaged = |change: &dyn Fn(&mut Json), words: &str| {
        let mut bad = good.clone();
        change(&mut bad);
        fs::write(&path, bad.to_string()).unwrap();
        let said = refused(&["run", "--resume", text(&out)], &[words]);
        assert_eq!(said.lines().count(), 1, "{said}");
    };
    for (list, words) in [
        ("q", "positions, wanted"),
        ("v", "velocities, wanted"),
        ("angles", "joint angles, wanted"),
    ] {
        damaged(
            &|c| drop(c["state"][list].as_array_mut().unwrap().pop()),
            "checkpoint.json is damaged: the state has",
        );
        damaged(&|c| c["state"][list].as_array_mut().unwrap().push(0.0.into()), words);
    }
    damaged(&|c| c["state"]["q"] = Json::Null, "checkpoint.json is no checkpoint");
    damaged(&|c| c["version"] = 1.into(), "wanted signorini checkpoint version");
    damaged(
        &|c| {
            c["state"]["reactions"]["contacts"] =
                serde_json::json!([{"colliders": [0, 99], "key": 1, "impulse": [0.0, 0.0, 0.0]}])
        },
        "names collider 99",
    );
    damaged(
        &|c| c["record"]["length"] = 1_000_000_000u64.into(),
        "record.bin is shorter than at the checkpoint",
    );
    damaged(&|c| c["tables"][0][1] = 1_000_000_000u64.into(), "is shorter than at the checkpoint");
    fs::write(&path, &good.to_string().as_bytes()[..good.to_string().len() / 2]).unwrap();
    refused(&["run", "--resume", text(&out)], &["checkpoint.json is no checkpoint"]);
    fs::write(&path, good.to_string()).unwrap();
    assert!(signorini(&["run", "--resume", text(&out)]).status.success());
}

/// A run that takes its time.
fn slow(place: &Path, out: &Path) -> Child {
    let words = "[run]\nt_end = \"1000 s\"\n[[body]]\nname = \"b\"\nmass = 1\nshape = { sphere = \
        0.1 }\nposition = [0, 0, 0.2]\n[[body]]\nname = \"f\"\nfixed = true\nshape = { half_space = true }\n";
    let file = write_file(place, "slow.toml", words);
    let child = command(&["run", text(&file), "--out", text(out), "--checkpoint-every", "50"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !out.join("checkpoint.json").exists() && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

#[test]
fn one_writer_per_folder_and_a_dead_one_holds_nothing() {
    let place = folder("lock");
    let out = place.join("out");
    let mut child = slow(&place, &out);
    let file = place.join("slow.toml");
    let who = format!("another run (process {}) writes into", child.id());
    refused(&["run", text(&file), "--out", text(&out)], &[&who]);
    refused(&["run", "--resume", text(&out)], &[&who]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        signorini(&["run", text(&file), "--out", text(&out), "--t-end", "10 ms"]).status.success()
    );
}

#[cfg(unix)]
#[test]
fn a_terminated_run_ends_as_by_ctrl_c_and_goes_on() {
    let place = folder("terminate");
    for signal in ["TERM", "INT", "HUP"] {
        let out = place.join(signal);
        let child = slow(&place, &out);
        assert!(
            Command::new("kill")
                .args([&format!("-{signal}"), &child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
        let output = child.wait_with_output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(130), "{signal}: {said}");
        assert!(said.contains("interrupted at t =") && said.contains("--resume"), "{said}");
        let run = json(&out.join("run.json"));
        assert!(run["steps"].as_u64().unwrap() > 0);
        assert!(out.join("checkpoint.json").exists());
    }
}

#[cfg(unix)]
#[test]
fn disks_that_are_full_and_files_that_may_not_grow_are_told_in_one_line() {
    let place = folder("full");
    let file = write_file(&place, "everything.toml", EVERYTHING);
    if Path::new("/dev/full").exists() {
        let output = signorini(&["run", text(&file), "--t-end", "4 ms", "--report=/dev/full"]);
        assert!(
            stderr(&output).contains("cannot write /dev/full: No space left"),
            "{}",
            stderr(&output)
        );
        assert!(!fs::metadata("/dev/full").unwrap().is_file());
    }
    // The system's limit of 8 kB for any file stands in for a disk that fills.
    let out = place.join("out");
    let line = format!(
        "trap '' XFSZ; ulimit -f 16; exec {} run {} --out {}",
        env!("CARGO_BIN_EXE_signorini"),
        text(&file),
        text(&out)
    );
    let output = Command::new("bash").args(["-c", &line]).output().unwrap();
    let said = stderr(&output);
    assert!(
        output.status.code() == Some(2)
            && said.contains("cannot write into")
            && said.lines().count() == 1,
        "{said}"
    );
    assert!(!out.join("run.json").exists(), "what is not complete has no summary");
}
