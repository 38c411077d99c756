//! The workbench as a user meets it: messages, `check`, step snapshots, checkpoints that survive a
//! kill, robots, kinematics.

use serde_json::Value as Json;
use signorini_files::robot::Choices;
use signorini_files::scenefile;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A folder of its own for each test, emptied.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("workbench-{name}"));
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

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of tests are plain")
}

/// Compares every message of a file of cases with what is said now; with `BLESS=1` writes them
/// anew.
fn messages(file: &str, name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/messages").join(file);
    let known = fs::read_to_string(&path).unwrap();
    let mut now = String::new();
    for case in known.split("#### ").skip(1) {
        let (title, rest) = case.split_once('\n').unwrap();
        let input = rest.split_once("\n----\n").unwrap().0;
        let library = |asked: &str| {
            if asked == name { Ok(input.to_string()) } else { Err("no such file".to_string()) }
        };
        // Robot files are repaired unless asked not to.
        let choices = Choices { strict: true, ..Choices::default() };
        let found = match scenefile::load_with(name, &library, &[], &choices) {
            Ok(_) => panic!("no fault found in `{title}`"),
            Err(faults) => faults.to_string(),
        };
        // Where the mesh was looked for depends on where the tests run.
        let here = std::env::current_dir().unwrap().display().to_string();
        now += &format!("#### {title}\n{input}\n----\n{}\n\n", found.replace(&here, "HERE"));
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &now).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap();
    for (known, now) in known.split("#### ").zip(now.split("#### ")) {
        assert_eq!(known, now);
    }
    assert_eq!(known.len(), now.len());
}

#[test]
fn every_message_of_the_scene_loader_is_as_written_down() {
    messages("scenes.txt", "test.toml");
}

#[test]
fn every_message_of_the_robot_loader_is_as_written_down() {
    messages("robots.txt", "test.urdf");
}

/// A hammer, a motor and dry things that collide: contacts come and go, joints hold, a motor works.
const BUSY: &str = r#"
[run]
dt = "2 ms"
t_end = "0.2 s"
record_every = 3
[materials.wood]
mu = 0.4
restitution = 0.2
density = "700 kg/m^3"
[contact]
material = "wood"
[[body]]
name = "floor"
fixed = true
shape = { half_space = true }
[[repeat]]
count = 3
step = [0, 0, "0.21 m"]
[[repeat.body]]
name = "box_{i}"
shape = { box = [0.2, 0.2, 0.2] }
position = ["0.01*i", 0, 0.12]
[[body]]
name = "hammer"
shape = { sphere = 0.08 }
position = [-0.6, 0, 0.3]
[[joint]]
name = "hinge"
kind = "revolute"
b = "hammer"
position = [-0.6, 0, 0.8]
axis = [0, 1, 0]
[[motor]]
name = "drive"
joint = "hinge"
angular_speed = "-4 rad/s"
max_torque = "30 N m"
[[expect]]
time = "0.05 s"
body = "hammer"
z = { at_least = 0 }
[[expect]]
body = "box_0"
z = { at_least = 0 }
"#;

/// What a run leaves, but for the seconds that it took.
fn results(folder: &Path) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for name in ["bodies.csv", "contacts.csv", "motors.csv", "run.json"] {
        let Ok(found) = fs::read_to_string(folder.join(name)) else { continue };
        if name == "run.json" {
            let mut run: Json = serde_json::from_str(&found).unwrap();
            for key in ["wall_s", "steps_per_s", "seconds"] {
                run[key] = Json::Null;
            }
            out.push((name.into(), run.to_string()));
        } else {
            out.push((name.into(), found));
        }
    }
    out
}

fn assert_same(folder: &Path, wanted: &[(String, String)]) {
    let found = results(folder);
    assert_eq!(found.len(), wanted.len(), "{}", folder.display());
    for (found, wanted) in found.iter().zip(wanted) {
        assert!(found == wanted, "{} of {} differs", found.0, folder.display());
    }
    assert!(!folder.join("checkpoint.json").exists(), "a complete run needs no checkpoint");
}

/// Starts a run, kills it after a while, goes on until it is complete. Returns whether the kill
/// found it under way.
fn killed(arguments: &[&str], out: &Path, after: Duration) -> bool {
    let mut child = command(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    let under_way = !out.join("run.json").exists() || out.join("checkpoint.json").exists();
    let resumed = if out.join("checkpoint.json").exists() {
        signorini(&["run", "--threads", "1", "--resume", text(out)])
    } else {
        // Killed before anything was written, or complete: the same command is right in both cases.
        signorini(arguments)
    };
    assert!(resumed.status.success(), "{}{}", stdout(&resumed), stderr(&resumed));
    under_way
}

#[test]
fn a_run_that_is_killed_at_any_moment_goes_on_to_the_same_bits() {
    let place = folder("kill");
    let scene = place.join("busy.toml");
    fs::write(&scene, BUSY).unwrap();
    let whole = place.join("whole");
    let begun = Instant::now();
    let output = signorini(&[
        "run",
        text(&scene),
        "--threads",
        "1",
        "--out",
        text(&whole),
        "--checkpoint-every",
        "7",
    ]);
    let long = begun.elapsed();
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    let wanted = results(&whole);
    assert!(
        wanted.len() == 4
            && wanted.iter().all(|(_, text)| text.lines().count() > 10 || text.len() > 1000)
    );
    let plain = place.join("plain");
    assert!(signorini(&["run", text(&scene), "--out", text(&plain)]).status.success());
    assert_same(&plain, &wanted);
    let (mut seed, mut under_way) = (7u64, 0);
    for i in 0..100 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let share = (seed >> 33) as f64 / (1u64 << 31) as f64;
        let out = place.join(format!("try{i}"));
        let arguments = [
            "run",
            text(&scene),
            "--threads",
            "1",
            "--checkpoint-every",
            "7",
            "--resume",
            text(&out),
        ];
        under_way += usize::from(killed(&arguments, &out, long.mul_f64(share)));
        assert_same(&out, &wanted);
        fs::remove_dir_all(&out).unwrap();
    }
    // Kills are spread evenly over the time of a run: most of them must have met it at work.
    assert!(under_way > 30, "{under_way} of 100 kills met a run under way");
}

#[test]
fn built_in_scenes_go_on_to_the_same_bits() {
    let place = folder("resume");
    for (name, end) in [
        ("gripper", "0.1 s"),
        ("slider_crank", "0.3 s"),
        ("cradle", "0.3 s"),
        ("conveyor", "0.7 s"),
    ] {
        let whole = place.join(format!("{name}-whole"));
        let begun = Instant::now();
        let output = signorini(&[
            "run",
            name,
            "--t-end",
            end,
            "--out",
            text(&whole),
            "--checkpoint-every",
            "11",
        ]);
        let long = begun.elapsed();
        assert!(
            output.status.code() == Some(0) || output.status.code() == Some(1),
            "{}",
            stderr(&output)
        );
        for share in [0.3, 0.7] {
            let out = place.join(format!("{name}-{share}"));
            let arguments =
                ["run", name, "--t-end", end, "--checkpoint-every", "11", "--resume", text(&out)];
            killed(&arguments, &out, long.mul_f64(share));
            assert_same(&out, &results(&whole));
        }
    }
}

#[test]
fn a_checkpoint_says_why_it_cannot_be_taken_up() {
    let place = folder("refuse");
    let scene = place.join("busy.toml");
    fs::write(&scene, BUSY).unwrap();
    let out = place.join("out");
    let none = signorini(&["run", "--resume", text(&out)]);
    assert!(
        none.status.code() == Some(2) && stderr(&none).contains("there is no checkpoint in"),
        "{}",
        stderr(&none)
    );
    let blocked = place.join("file");
    fs::write(&blocked, "in the way").unwrap();
    let said = stderr(&signorini(&["run", text(&scene), "--out", text(&blocked)]));
    assert!(
        said.contains("cannot write into") && said.contains("--out") && said.lines().count() == 1,
        "{said}"
    );
    assert_eq!(fs::read_to_string(&blocked).unwrap(), "in the way");
    let needs = stderr(&signorini(&["run", text(&scene), "--checkpoint-every", "5"]));
    assert!(needs.contains("needs a folder: add --out"), "{needs}");
}

#[test]
fn a_kept_step_is_solved_again_by_every_solver() {
    let place = folder("snapshot");
    let scene = place.join("busy.toml");
    fs::write(&scene, BUSY).unwrap();
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
    assert_eq!(lines.len(), signorini::solve::Method::ALL.len(), "{}", stdout(&again));
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

/// A box of these half edges as a binary STL in millimetres.
fn stl(path: &Path, half: [f32; 3]) {
    let corner =
        |i: usize| [0, 1, 2].map(|a| 1000.0 * half[a] * if i >> a & 1 == 1 { 1.0 } else { -1.0 });
    let quads =
        [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let mut bytes = vec![0u8; 80];
    bytes.extend(12u32.to_le_bytes());
    for [a, b, c, d] in quads {
        for triangle in [[a, b, c], [a, c, d]] {
            bytes.extend([0; 12]);
            triangle
                .iter()
                .for_each(|&i| corner(i).iter().for_each(|x| bytes.extend(x.to_le_bytes())));
            bytes.extend([0; 2]);
        }
    }
    fs::write(path, bytes).unwrap();
}

/// An arm of three joints with a gripper of two fingers, one of which mimics the other.
fn arm(place: &Path) -> PathBuf {
    let package = place.join("arm_robot");
    fs::create_dir_all(package.join("meshes")).unwrap();
    stl(&package.join("meshes/link.stl"), [0.03, 0.03, 0.15]);
    let inertial = |mass: f64, z: f64| {
        let (x, y, l) = (0.06f64, 0.06f64, 0.3f64);
        format!(
            "<inertial><origin xyz=\"0 0 {z}\"/><mass value=\"{mass}\"/><inertia ixx=\"{}\" \
                ixy=\"0\" ixz=\"0\" iyy=\"{}\" iyz=\"0\" izz=\"{}\"/></inertial>",
            mass / 12.0 * (y * y + l * l),
            mass / 12.0 * (x * x + l * l),
            mass / 12.0 * (x * x + y * y)
        )
    };
    let mesh = "<collision><origin xyz=\"0 0 0.16\"/><geometry><mesh \
        filename=\"package://arm_robot/meshes/link.stl\" scale=\"0.001 0.001 0.001\"/></geometry></collision>";
    let joint = |name: &str, parent: &str, child: &str, rest: &str| {
        format!(
            "<joint name=\"{name}\" type=\"revolute\"><parent link=\"{parent}\"/><child \
                link=\"{child}\"/>{rest}</joint>\n"
        )
    };
    let motor = |joint: &str| {
        format!("<transmission name=\"{joint}_t\"><joint name=\"{joint}\"/></transmission>\n")
    };
    let mut robot = String::from(
        "<robot name=\"arm\">\n<link name=\"world\"/>\n<link \
            name=\"base\"><collision><geometry><cylinder radius=\"0.08\" length=\"0.04\"/></geometry></collision></link>\n",
    );
    robot += "<joint name=\"anchor\" type=\"fixed\"><parent link=\"world\"/><child \
        link=\"base\"/></joint>\n<gazebo reference=\"base\"/>\n";
    for (i, parent) in ["base", "upper", "fore"].iter().enumerate() {
        let name = ["upper", "fore", "hand"][i];
        robot += &format!("<link name=\"{name}\">{}{mesh}</link>\n", inertial(2.0, 0.16));
        let place = if i == 0 { "0 0 0.05" } else { "0 0 0.34" };
        let rest = format!(
            "<origin xyz=\"{place}\" rpy=\"0 0.6 0\"/><axis xyz=\"0 1 0\"/><limit lower=\"-2\" \
                upper=\"2\" effort=\"150\" velocity=\"2\"/><dynamics damping=\"0.5\" friction=\"0.1\"/>"
        );
        robot += &joint(&format!("joint_{name}"), parent, name, &rest);
        robot += &motor(&format!("joint_{name}"));
    }
    robot += "<link name=\"tool\"/>\n<joint name=\"flange\" type=\"fixed\"><parent \
        link=\"hand\"/><child link=\"tool\"/><origin xyz=\"0 0 0.34\"/></joint>\n";
    for (side, y) in [("left", 0.1), ("right", -0.1)] {
        let small = "<inertial><mass value=\"0.1\"/><inertia ixx=\"1e-4\" iyy=\"1e-4\" \
            izz=\"1e-4\"/></inertial>";
        robot += &format!(
            "<link name=\"{side}\">{small}<visual><geometry><box size=\"0.02 0.02 \
                0.06\"/></geometry></visual></link>\n"
        );
        let mimic =
            if side == "right" { "<mimic joint=\"finger_left\" multiplier=\"-1\"/>" } else { "" };
        robot += &format!(
            "<joint name=\"finger_{side}\" type=\"prismatic\"><parent link=\"tool\"/><child \
                link=\"{side}\"/><origin xyz=\"0 {y} 0.03\"/><axis xyz=\"0 1 0\"/><limit lower=\"-0.05\" upper=\"0.05\" effort=\"20\" velocity=\"1\"/>{mimic}</joint>\n"
        );
    }
    robot += &motor("finger_left");
    let file = package.join("arm.urdf");
    fs::write(&file, robot + "</robot>\n").unwrap();
    file
}

#[test]
fn a_robot_arm_loads_and_holds_its_pose() {
    let place = folder("robot");
    let robot = arm(&place);
    let loaded = scenefile::load(&robot, &[]).unwrap_or_else(|f| panic!("{f}"));
    let scene = &loaded.scene;
    // world and base are one fixed body; tool is part of the hand.
    assert_eq!(
        (
            scene.bodies.len(),
            scene.joints.len(),
            scene.motors.len(),
            scene.gears.len(),
            scene.forces.len()
        ),
        (7, 5, 4, 1, 3)
    );
    assert!(loaded.notes.iter().any(|n| n.contains("<gazebo> is not used")), "{:?}", loaded.notes);
    let checked = signorini(&["check", text(&robot), "--json"]);
    assert!(checked.status.success(), "{}", stdout(&checked));
    let report: Json = serde_json::from_str(&stdout(&checked)).unwrap();
    // Three hinges and two fingers that a gear couples.
    assert_eq!(
        (report["freedoms"].as_u64(), report["mechanisms"][0]["rank"].as_u64()),
        (Some(4), Some(26))
    );
    let out = place.join("out");
    let run = signorini(&["run", text(&robot), "--out", text(&out)]);
    assert!(run.status.success(), "{}{}", stdout(&run), stderr(&run));
    let start: Vec<glam::DVec3> =
        scene.bodies.iter().filter(|b| b.mass().is_some()).map(|b| b.pose.position).collect();
    let rows: Vec<String> = fs::read_to_string(out.join("bodies.csv"))
        .unwrap()
        .lines()
        .rev()
        .take(start.len())
        .map(String::from)
        .collect();
    for (row, start) in rows.iter().rev().zip(&start) {
        let at: Vec<f64> = row.split(',').skip(2).take(3).map(|x| x.parse().unwrap()).collect();
        // 500 steps in which each motor is wrong by at most 1e-6 m/s.
        assert!(glam::DVec3::from_slice(&at).distance(*start) < 1e-6, "{row} {start}");
    }
    // The shoulder carries the weight of everything beyond it.
    let motors = fs::read_to_string(out.join("motors.csv")).unwrap();
    let shoulder: f64 = motors
        .lines()
        .rev()
        .find(|l| l.contains("joint_upper"))
        .unwrap()
        .split(',')
        .nth(4)
        .unwrap()
        .parse()
        .unwrap();
    let moment: f64 = scene
        .bodies
        .iter()
        .filter_map(|b| b.mass().map(|m| 9.81 * m.mass * b.pose.position.x))
        .sum();
    // Dry friction of 0.1 N m may take its share.
    assert!((shoulder.abs() - moment).abs() < 0.11, "{shoulder} {moment}");
    // The same as an editable scene.
    let toml = place.join("arm.toml");
    assert!(signorini(&["convert", text(&robot), text(&toml)]).status.success());
    let again = signorini(&["run", text(&toml), "--json"]);
    let hash = |text: &str| serde_json::from_str::<Json>(text).unwrap()["hash"].clone();
    assert_eq!(hash(&stdout(&again)), hash(&stdout(&signorini(&["run", text(&robot), "--json"]))));
    let refused = signorini(&["convert", text(&robot), text(&toml)]);
    assert!(stderr(&refused).contains("exists already"), "{}", stderr(&refused));
    // In a scene of one's own.
    let mine = place.join("mine.toml");
    fs::write(
        &mine,
        "include = \"arm_robot/arm.urdf\"\n[run]\nt_end = \"10 ms\"\n[[body]]\nname = \
        \"floor\"\nfixed = true\nshape = { half_space = true, position = [0, 0, -0.2] }\n",
    )
    .unwrap();
    assert!(signorini(&["run", text(&mine)]).status.success());
}

#[test]
fn kinematic_and_static_runs_have_their_doors() {
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
