//! What must not go wrong when something else does: kills, two writers, hostile files, hostile
//! clients. Nothing lost, nothing let in.

use serde_json::Value as Json;
use signorini_record::record::Record;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A folder of its own for each test, emptied.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("faults-{name}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_signorini"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn signorini(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the program starts")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are plain")
}

fn scene(folder: &Path, name: &str, words: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, words).unwrap();
    path
}

/// Wrong input: exit code 2, no panic, and these words.
fn refused(arguments: &[&str], words: &[&str]) -> String {
    let begun = Instant::now();
    let output = signorini(arguments);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(!said.contains("panicked"), "{said}");
    words.iter().for_each(|w| assert!(said.contains(w), "`{w}` in: {said}"));
    // No refusal takes long; shared machines may be ten times slower than others.
    assert!(begun.elapsed() < Duration::from_secs(60), "{arguments:?} took {:?}", begun.elapsed());
    said
}

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
            "run.json" => {
                let mut run: Json = serde_json::from_slice(&read(name)).unwrap();
                ["wall_s", "steps_per_s", "seconds"].iter().for_each(|key| run[*key] = Json::Null);
                run.to_string().into_bytes()
            }
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
    let scene = scene(&place, "everything.toml", EVERYTHING);
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
    let first = scene(&place, "everything.toml", EVERYTHING);
    let out = place.join("out");
    assert!(
        signorini(&["run", text(&first), "--out", text(&out), "--reactions", "--keep-worst", "1"])
            .status
            .success()
    );
    fs::write(out.join("notes.txt"), "mine").unwrap();
    let second = scene(
        &place,
        "ball.toml",
        "[run]\nt_end = \"20 ms\"\n[[body]]\nname = \"b\"\nmass = 1\nshape = { sphere = 0.1 }\n",
    );
    assert!(signorini(&["run", text(&second), "--out", text(&out)]).status.success());
    let names: Vec<String> = results(&out).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["bodies.csv", "contacts.csv", "notes.txt", "record.bin", "run.json"]);
    // A run that fails in its first step leaves no complete results either.
    let third = scene(
        &place,
        "bad.toml",
        "[run]\nt_end = \"20 ms\"\ndt = \"2 ms\"\n[[body]]\nname = \"b\"\nmass = 1e308\nshape = { \
            sphere = 0.1 }\nvelocity = [1e200, 0, 0]\n",
    );
    let output = signorini(&["run", text(&third), "--out", text(&out)]);
    assert!(!stderr(&output).contains("panicked"), "{}", stderr(&output));
}

#[test]
fn free_bodies_run_with_the_acceleration_integrator_and_are_exported() {
    let place = folder("free");
    let free = |gravity: &str| {
        format!(
            "gravity = {gravity}\n[run]\nt_end = \"0.1 s\"\ndt = \"10 ms\"\nintegrator = \
                \"acceleration\"\n[[body]]\nname = \"a\"\nmass = 2\ninertia = [1, 1, 1]\nvelocity = [1, 0, 0]\n[[expect]]\nbody = \"a\"\nz = {{ is = \"-gravity*t_end^2/2\", within = \"1e-12 m\" }}\nx = {{ is = 0.1, within = \"1e-12 m\" }}\n"
        )
    };
    for (name, gravity) in [("falling", "[0, 0, -9.81]"), ("floating", "[0, 0, 0]")] {
        let words = free(gravity).replace(
            "-gravity*t_end^2/2",
            if name == "floating" { "0" } else { "-gravity*t_end^2/2" },
        );
        let file = scene(&place, &format!("{name}.toml"), &words);
        let output = signorini(&["run", text(&file)]);
        assert!(
            output.status.success(),
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            stderr(&output)
        );
        let code = signorini(&["codegen", text(&file), "--out", text(&place)]);
        assert!(code.status.success(), "{}", stderr(&code));
        let define = format!("-D{}_SELF_TEST", name.to_uppercase());
        let words =
            ["-std=c99", "-Wall", "-Werror", &define, &format!("{name}.c"), "-lm", "-o", name];
        let Ok(compiled) = Command::new("cc").args(words).current_dir(&place).output() else {
            continue;
        };
        assert!(compiled.status.success(), "{}", stderr(&compiled));
        let tested = Command::new(place.join(name)).output().unwrap();
        assert!(tested.status.success(), "{}", String::from_utf8_lossy(&tested.stdout));
    }
    // Nothing at all moves, or there is nothing at all.
    for words in ["", "[[body]]\nname = \"a\"\nfixed = true\nshape = { sphere = 1 }\n"] {
        let file = scene(
            &place,
            "nothing.toml",
            &format!("[run]\nt_end = \"10 ms\"\nintegrator = \"acceleration\"\n{words}"),
        );
        for arguments in
            [vec!["run", text(&file)], vec!["codegen", text(&file), "--out", text(&place)]]
        {
            let output = signorini(&arguments);
            assert!(
                matches!(output.status.code(), Some(0..=2))
                    && !stderr(&output).contains("panicked"),
                "{}",
                stderr(&output)
            );
        }
    }
}

#[test]
fn a_damaged_checkpoint_is_named_and_never_believed() {
    let place = folder("checkpoint");
    let file = scene(&place, "everything.toml", EVERYTHING);
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
    let good: Json = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
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
    let file = scene(place, "slow.toml", words);
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
        let run: Json = serde_json::from_slice(&fs::read(out.join("run.json")).unwrap()).unwrap();
        assert!(run["steps"].as_u64().unwrap() > 0);
        assert!(out.join("checkpoint.json").exists());
    }
}

#[cfg(unix)]
#[test]
fn disks_that_are_full_and_files_that_may_not_grow_are_told_in_one_line() {
    let place = folder("full");
    let file = scene(&place, "everything.toml", EVERYTHING);
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

#[test]
fn what_would_exhaust_memory_is_refused_with_its_number() {
    let place = folder("budgets");
    let nested = "[[repeat]]\ncount = 1000000\nindex = \"i\"\n[[repeat.repeat]]\ncount = \
        1000000\nindex = \"j\"\n[[repeat.repeat.body]]\nname = \"b{i}_{j}\"\nmass = 1\nshape = { sphere = 0.1 }\n";
    let file = scene(&place, "nested.toml", nested);
    refused(&["check", text(&file)], &["copies of", "in all"]);
    let inner = nested.replacen("1000000", "1000", 1);
    let file = scene(&place, "inner.toml", &inner);
    refused(&["check", text(&file)], &["found 1000 copies of", "copies within copies counted"]);
    // Counts that are formulas are known when they are reached.
    let file =
        scene(&place, "formula.toml", &inner.replace("count = 1000000", "count = \"60000 + i\""));
    refused(&["check", text(&file)], &["copies of", "were made before"]);
    let grid = "[[soft]]\nname = \"s\"\ngrid = { cells = [100000, 100000, 100000], size = [1, 1, \
        1] }\nyoung = 1e6\ndensity = 1000\n";
    let file = scene(&place, "grid.toml", grid);
    refused(&["check", text(&file)], &["1000000000000000 cells", "wanted at most"]);
    let file = scene(
        &place,
        "round.toml",
        &grid.replace(
            "grid = { cells = [100000, 100000, 100000], size = [1, 1, 1] }",
            "cylinder = { radius = 1, length = 1, across = 900000000, along = 900000000 }",
        ),
    );
    refused(&["check", text(&file)], &["cells", "wanted at most"]);
    // Each file includes the next one ten times: 10^10 files.
    for i in 0..10 {
        let list = vec![format!("\"bomb{}.toml\"", i + 1); 10].join(", ");
        scene(&place, &format!("bomb{i}.toml"), &format!("include = [{list}]\n"));
    }
    scene(&place, "bomb10.toml", "");
    refused(&["check", text(&place.join("bomb0.toml"))], &["wanted at most 1000"]);
    for i in 0..40 {
        scene(&place, &format!("deep{i}.toml"), &format!("include = [\"deep{}.toml\"]\n", i + 1));
    }
    refused(&["check", text(&place.join("deep0.toml"))], &["files deep", "wanted at most 32"]);
    // Parameters that lead to each other: no recursion without end.
    let chain: String = (0..20_000).map(|i| format!("p{i} = \"p{}\"\n", i + 1)).collect();
    let file = scene(&place, "chain.toml", &format!("[parameters]\n{chain}p20000 = 1\n"));
    refused(&["check", text(&file)], &["define each before it is used"]);
    let ordered: String =
        (0..20_000).rev().map(|i| format!("p{i} = \"p{} + 1\"\n", i + 1)).collect();
    let file = scene(&place, "ordered.toml", &format!("[parameters]\np20000 = 1\n{ordered}\n"));
    assert!(signorini(&["check", text(&file)]).status.success());
}

#[cfg(unix)]
#[test]
fn special_files_are_refused_and_no_line_of_a_foreign_file_is_shown() {
    let place = folder("special");
    let pipe = place.join("pipe.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    refused(&["check", text(&pipe)], &["no regular file"]);
    let file = scene(&place, "a.toml", "include = [\"pipe.toml\"]\n");
    refused(&["check", text(&file)], &["a pipe", "wanted a regular file"]);
    let file = scene(
        &place,
        "b.toml",
        "[[body]]\nname = \"x\"\nmass = 1\nshape = { mesh = { file = \"zero.stl\" } }\n",
    );
    std::os::unix::fs::symlink("/dev/zero", place.join("zero.stl")).unwrap();
    refused(&["check", text(&file)], &["wanted a regular file"]);
    refused(&["solve", "/dev/zero"], &["wanted"]);
    refused(&["replay", "/dev/zero"], &["wanted a regular file"]);
    refused(&["convert", "/dev/zero", text(&place.join("out.toml"))], &["wanted a regular file"]);
    scene(&place, "secret.toml", "root:x:0:0:secret-word\n");
    let file = scene(&place, "c.toml", "include = [\"secret.toml\"]\n");
    let said = refused(&["check", text(&file)], &["`", "is no scene"]);
    assert!(!said.contains("secret-word"), "{said}");
    fs::write(place.join("secret"), "name = \"secret-word\"\n").unwrap();
    let file = scene(&place, "d.toml", "include = [\"secret\"]\n");
    let said = refused(&["check", text(&file)], &["ends with .toml"]);
    assert!(!said.contains("secret-word"), "{said}");
}

#[test]
fn check_counts_findings_of_one_kind_and_is_quick() {
    let place = folder("many");
    let words = "[[repeat]]\ncount = [50, 50, 8]\nstep = [0.0999, 0.0999, \
        0.0999]\n[[repeat.body]]\nname = \"b{i}\"\ndensity = 1000\n\
                 shape = { sphere = 0.05 }\nposition = [0, 0, 0.05]\n";
    let file = scene(&place, "many.toml", words);
    let output = signorini(&["check", text(&file)]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    // Neighbours along three axes.
    let pairs = 49 * 50 * 8 * 2 + 50 * 50 * 7;
    assert!(
        said.contains(&format!("warning [overlap] {pairs} in all: {} more", pairs - 3)),
        "{said}"
    );
    assert!(said.lines().count() < 15, "{said}");
    let json: Json =
        serde_json::from_slice(&signorini(&["check", text(&file), "--json"]).stdout).unwrap();
    assert_eq!(json["findings"].as_array().unwrap().len(), pairs);
}

/// A server that is ended when the test is.
struct Server(Child, String);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn server(results: &Path) -> Server {
    let mut child =
        command(&["view", text(results), "--port", "0"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut letter = [0];
    let out = child.stdout.as_mut().unwrap();
    while out.read(&mut letter).unwrap() == 1 && letter != *b"\n" {
        line.push(letter[0] as char);
    }
    let address = line.trim_start_matches("http://").split('/').next().unwrap().to_string();
    Server(child, address)
}

/// Sends a request and reads the whole answer.
fn ask(address: &str, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn view_serves_this_computer_and_outlives_hostile_clients() {
    let place = folder("view");
    let file = scene(
        &place,
        "ball.toml",
        "[run]\nt_end = \"20 ms\"\n[[body]]\nname = \"b\"\nmass = 1\nshape = { sphere = 0.1 }\n",
    );
    let out = place.join("out");
    assert!(signorini(&["run", text(&file), "--out", text(&out)]).status.success());
    let server = server(&out);
    let address = server.1.as_str();
    let host = format!("Host: {address}\r\n\r\n");
    let page = ask(address, format!("GET / HTTP/1.1\r\n{host}").as_bytes());
    assert!(
        page.starts_with("HTTP/1.1 200") && page.contains("X-Content-Type-Options: nosniff"),
        "{}",
        &page[..200.min(page.len())]
    );
    let policy = page
        .lines()
        .find(|l| l.contains("http-equiv=\"Content-Security-Policy\""))
        .expect("the page has a policy");
    assert!(
        policy.contains("default-src 'none'")
            && policy.contains("script-src 'sha256-")
            && !policy.contains("@@"),
        "{policy}"
    );
    let bytes = fs::read(out.join("record.bin")).unwrap();
    let sent = ask(address, format!("GET /record?from=8 HTTP/1.1\r\n{host}").as_bytes());
    assert!(
        sent.contains(&format!("Content-Length: {}\r\n", bytes.len() - 8)),
        "{}",
        &sent[..200.min(sent.len())]
    );
    assert!(
        ask(address, format!("GET /record?from=99999999 HTTP/1.1\r\n{host}").as_bytes())
            .starts_with("HTTP/1.1 409")
    );
    for (request, status) in [
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_string(), "403"),
        ("GET / HTTP/1.1\r\n\r\n".into(), "403"),
        (format!("GET / HTTP/1.1\r\nHost: localhost\r\n{host}"), "403"),
        (format!("POST / HTTP/1.1\r\n{host}"), "405"),
        (format!("POST / HTTP/1.1\r\nContent-Length: 99999999999999\r\n{host}"), "413"),
        (format!("GET /../../etc/passwd HTTP/1.1\r\n{host}"), "404"),
        (format!("GET / HTTP/1.1\r\nX: {}\r\n{host}", "a".repeat(1 << 20)), "431"),
        ("\u{0}\u{1}\u{2}\r\n\r\n".into(), "400"),
    ] {
        let answer = ask(address, request.as_bytes());
        // A flood is cut off: the answer may be lost with it.
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}"))
                || (status == "431" && answer.is_empty()),
            "{status}: {answer}"
        );
    }
    // Silent and slow clients hold nobody up: there are few of them at a time, and others are
    // answered meanwhile.
    let silent: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut slow = TcpStream::connect(address).unwrap();
    slow.write_all(format!("GET / HTTP/1.1\r\n{host}").as_bytes()).unwrap();
    let begun = Instant::now();
    assert!(
        ask(address, format!("GET / HTTP/1.1\r\n{host}").as_bytes()).starts_with("HTTP/1.1 200")
    );
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    // More than there is room for are turned away at once, and after a while there is room again.
    let many: Vec<TcpStream> = (0..40).filter_map(|_| TcpStream::connect(address).ok()).collect();
    drop((silent, many, slow));
    let begun = Instant::now();
    while !ask(address, format!("GET / HTTP/1.1\r\n{host}").as_bytes()).starts_with("HTTP/1.1 200")
    {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "the server is back after hostile clients are gone"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    // A link in the folder leads nowhere.
    #[cfg(unix)]
    {
        fs::rename(out.join("record.bin"), place.join("elsewhere.bin")).unwrap();
        std::os::unix::fs::symlink(place.join("elsewhere.bin"), out.join("record.bin")).unwrap();
        assert!(
            ask(address, format!("GET /record HTTP/1.1\r\n{host}").as_bytes())
                .starts_with("HTTP/1.1 500")
        );
    }
}
