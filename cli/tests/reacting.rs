//! Machines that react, from scene files: facts, messages, checkpoints, plots, comparisons.

mod common;

use common::{said, signorini};
use std::fs;
use std::path::{Path, PathBuf};

fn place(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("reacting_{name}"))
}

/// A weight on a vertical slide, held by a motor that gives a force.
const SLIDE: &str = r#"
[run]
dt = "1 ms"
t_end = "1 s"
[[body]]
name = "weight"
mass = "2 kg"
shape = { sphere = "5 cm" }
[[joint]]
name = "rail"
kind = "prismatic"
b = "weight"
"#;

fn run(name: &str, rest: &str) -> (bool, String) {
    let file = place(&format!("{name}.toml"));
    fs::write(&file, format!("{SLIDE}{rest}")).unwrap();
    let output = signorini(&["run", file.to_str().unwrap()]);
    (output.status.success(), said(&output))
}

#[test]
fn formulas_drive_motors_in_units_and_in_plain_numbers() {
    // A spring of 200 N/m and a damper of 40 N s/m by formula, and the weight: rest at −m g/k,
    // critically damped.
    for (name, force) in [
        ("units", "-200 N/m*rail.slide - 40 N s/m*rail.rate"),
        ("plain", "-200*rail.slide - 40*rail.rate"),
        ("set", "-k*weight.z - 40*rail.rate"),
    ] {
        let head = if name == "set" { "[parameters]\nk = 200\n" } else { "" };
        let rest = format!(
            r#"{head}
[[motor]]
name = "push"
joint = "rail"
force = "{force}"
[[sensor]]
name = "load"
formula = "push.effort/weight.there"
[[expect]]
joint = "rail"
slide = {{ is = "-2 kg*gravity/(200 N/m)", relative = "0.1 percent" }}
[[expect]]
sensor = "load"
value = {{ is = "2 kg*gravity", within = "50 mN" }}
"#
        );
        let (fine, said) = run(name, &rest);
        assert!(fine && said.matches("holds").count() == 2, "{said}");
    }
}

#[test]
fn events_stop_and_are_counted() {
    // Free fall: 1 m after √(2/g).
    let rest = r#"
[[event]]
name = "low"
when = "weight.z < -1 m"
actions = { stop = true }
[[expect]]
event = "low"
count = { is = 1, within = 0 }
happens = { is = "sqrt(2 m/gravity)", within = "2*dt" }
[[expect]]
formula = "weight.vz/(1 m/s)"
value = { is = "-sqrt(2*9.81)", relative = "0.5 percent" }
"#;
    let (fine, said) = run("stop", rest);
    assert!(
        fine && said.contains("stopped by the event `low`") && said.matches("holds").count() == 3,
        "{said}"
    );
}

#[test]
fn wrong_formulas_are_answered_at_their_place() {
    for (name, rest, wanted) in [
        (
            "motor",
            "[[motor]]\nname = \"m\"\njoint = \"rail\"\nforce = \"-2*rail.slid\"\n",
            "did you mean `slide`?",
        ),
        (
            "unit",
            "[[motor]]\nname = \"m\"\njoint = \"rail\"\nforce = \"2 N s*rail.rate\"\n",
            "wanted N",
        ),
        ("sensor", "[[sensor]]\nname = \"s\"\nformula = \"wheight.z\"\n", "did you mean `weight`?"),
        ("two", "[[sensor]]\nname = \"s\"\n", "wanted one of `formula`, `ray`, `contact`"),
        (
            "event",
            "[[event]]\nname = \"e\"\nwhen = \"t > 1 m\"\nactions = { stop = true }\n",
            "wanted one dimension",
        ),
        (
            "action",
            "[[event]]\nname = \"e\"\nwhen = true\nactions = { joint = \"rail\" }\n",
            "`on` with a joint",
        ),
        (
            "spawn",
            "[[event]]\nname = \"e\"\nwhen = true\nactions = { spawn = \"part\" }\n",
            "there is no template `part`",
        ),
        (
            "gain",
            "[[motor]]\nname = \"m\"\njoint = \"rail\"\nforce = 0\n[[controller]]\nname = \
                \"c\"\nmotor = \"m\"\npid = { of = \"rail.slide\", target = 1, p = \"3 s\" }\n",
            "wanted a gain, N/m",
        ),
        (
            "fact",
            "[[expect]]\nsensor = \"eye\"\nvalue = { at_least = 1 }\n",
            "there is no sensor `eye`",
        ),
    ] {
        let (fine, said) = run(name, rest);
        assert!(!fine && said.contains(wanted) && said.contains("-->"), "{name}: {said}");
    }
}

/// Parts that come and go, a controller with memory.
const BUSY: &str = r#"
[run]
dt = "2 ms"
t_end = "0.8 s"
[[body]]
name = "floor"
fixed = true
shape = { half_space = true }
[[template]]
name = "part"
count = 4
mass = "0.1 kg"
shape = { sphere = "3 cm" }
position = [0, 0, "20 cm"]
velocity = ["1 m/s", 0, 0]
[[event]]
name = "feed"
when = "mod(t, 0.2 s) < 0.1 s"
again = true
actions = { spawn = "part" }
[[event]]
name = "far"
when = "part_0.x > 0.5 m"
again = true
actions = { remove = "part" }
[[body]]
name = "cart"
mass = "1 kg"
shape = { box = ["10 cm", "10 cm", "10 cm"] }
position = [0, "1 m", "1 m"]
[[joint]]
name = "rail"
kind = "prismatic"
b = "cart"
axis = [1, 0, 0]
[[motor]]
name = "drive"
joint = "rail"
force = 0
[[controller]]
name = "drive"
motor = "drive"
pid = { of = "rail.slide", target = "0.1*feed.count m", p = "60 N/m", i = "20 N/m/s", d = "12 N s/m" }
every = "5 ms"
"#;

#[test]
fn checkpoints_leave_no_trace_and_runs_are_plotted_and_compared() {
    let file = place("busy.toml");
    fs::write(&file, BUSY).unwrap();
    let (whole, parts) = (place("busy_whole"), place("busy_parts"));
    for folder in [&whole, &parts] {
        let _ = fs::remove_dir_all(folder);
    }
    let text = |p: &Path| p.to_str().unwrap().to_string();
    let output = signorini(&["run", &text(&file), "--out", &text(&whole)]);
    assert!(output.status.success(), "{}", said(&output));
    let half = signorini(&[
        "run",
        &text(&file),
        "--out",
        &text(&parts),
        "--checkpoint-every",
        "100",
        "--keep-step",
        "1",
    ]);
    assert!(half.status.success(), "{}", said(&half));
    let json = |folder: &Path| -> serde_json::Value {
        serde_json::from_slice(&fs::read(folder.join("run.json")).unwrap()).unwrap()
    };
    let (a, b) = (json(&whole), json(&parts));
    assert_eq!(a["hash"], b["hash"]);
    assert_eq!(a["events"], b["events"]);
    assert!(
        a["events"].as_array().unwrap().len() >= 4 && a["energy"]["events"].as_f64().unwrap() > 0.0,
        "{}",
        a["events"]
    );
    // Plots by name, and the two runs against each other.
    let svg = place("busy.svg");
    let output = signorini(&[
        "picture",
        &text(&whole),
        "-o",
        &text(&svg),
        "--plot",
        "cart.x, rail.slide, drive.effort, part_0.z",
    ]);
    assert!(
        output.status.success() && fs::read_to_string(&svg).unwrap().contains("rail.slide"),
        "{}",
        said(&output)
    );
    let output = signorini(&["picture", &text(&whole), "-o", &text(&svg), "--plot", "card.x"]);
    assert!(
        !output.status.success() && said(&output).contains("there is no `card.x`"),
        "{}",
        said(&output)
    );
    let page = place("busy.html");
    let output = signorini(&["compare", &text(&whole), &text(&parts), "-o", &text(&page)]);
    assert!(output.status.success() && said(&output).contains("0.000e0"), "{}", said(&output));
    assert!(fs::read_to_string(&page).unwrap().contains("<svg"));
    let image = place("busy.png");
    let view = [
        "--from",
        "0,-1,0.2",
        "--look-at",
        "0,0,0.2",
        "--zoom",
        "2",
        "--chains",
        "--size",
        "160x100",
    ];
    let output =
        signorini(&[&["picture", &text(&whole), "-o", &text(&image)][..], &view[..]].concat());
    assert!(output.status.success(), "{}", said(&output));
}
