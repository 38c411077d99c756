//! Robot files: URDF with the faults of the world, MJCF, robots in scenes; compared with MuJoCo
//! itself where it is installed.

use glam::DVec3;
use serde_json::Value as Json;
use signorini_files::robot::Choices;
use signorini_files::scenefile::{self, Loaded};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn folder(name: &str) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("robots").join(name);
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).unwrap();
    place
}

fn signorini(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_signorini")).args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn load(name: &str, text: &str, choices: &Choices) -> Result<Loaded, String> {
    let library = |asked: &str| {
        if asked == name { Ok(text.to_string()) } else { Err("no such file".to_string()) }
    };
    scenefile::load_with(name, &library, &[], choices).map_err(|f| f.to_string())
}

fn strict() -> Choices {
    Choices { strict: true, ..Choices::default() }
}

/// A robot with most faults that files of the world have.
const FAULTY: &str = r##"hello
<?xml version="1.0"?>
<robot name="faulty">
  <link name="base">
    <inertial><mass value="3"/><inertia ixx="0" iyy="0" izz="0"/></inertial>
    <visual><geometry><mesh filename="nowhere.dae"/></geometry></visual>
    <collision><origin xyz="0, 0, 0.1" rpy="0 0 0 0"/><geometry><box size="0.2 0.2 0.2"/></geometry></collision>
  </link>
  <link name="sensor"><inertial><mass value="0.1"/><inertia ixx="-1" iyy="1" izz="9"/></inertial></link>
  <joint name="mount" type="fixed"><parent link="base"/><child link="sensor"/><axis xyz="0 0 0"/></joint>
  <link name="cross"/>
  <joint name="swing" type="revolute"><parent link="base"/><child link="cross"/><origin xyz="0 0 $(optenv LIFT 0.4)"/>
    <axis xyz="0 1 0"/><limit lower="1" upper="-1." effort="5" velocity="1"/></joint>
  <link name="arm">
    <inertial><origin xyz="0 0 0.2"/><mass value="2"/><inertia ixx="0.01" iyy="0.01" izz="0.05"/></inertial>
    <collision><geometry><sdf file="x"/></geometry></collision>
  </link>
  <joint name="twist" type="continuous"><parent link="cross"/><child link="arm"/><axis xyz="0 0 2"/><xacro:macro/></joint>
  <link name="flag"/>
  <joint name="pole" type="continuous"><parent link="arm"/><child link="flag"/><mimic joint="mast"/></joint>
</robot>
trailing
"##;

#[test]
fn a_robot_with_faults_is_repaired_and_every_repair_is_said_with_its_line() {
    let loaded = load("faulty.urdf", FAULTY, &Choices::default()).unwrap_or_else(|f| panic!("{f}"));
    let scene = &loaded.scene;
    let all = loaded.notes.join("\n");
    for wanted in [
        "line 1: this is no XML",
        "line 5: the link `base`: inertia is not positive definite",
        "line 7: xyz is \"0, 0, 0.1\"",
        "line 7: rpy is \"0 0 0 0\"",
        "line 12: \"0 0 $(optenv LIFT 0.4)\" is left by xacro",
        "line 13: limits 1 … -1 of `swing`",
        "line 11: the link `cross` moves (joint `swing`) but has no mass: repaired: it weighs \
            2.0e-4 kg",
        "line 15: the link `arm`: inertia: one principal moment exceeds the sum of the others",
        "line 16: there is no shape <sdf>",
        "line 19: the link `flag` moves (joint `pole`) but has no mass: repaired: its joint is \
            fixed",
    ] {
        assert!(all.contains(wanted), "{wanted}\n in \n{all}");
    }
    // Neither the axis of a fixed joint nor the inertia of a link that is part of another is looked
    // at.
    assert!(!all.contains("mount") && !all.contains("`sensor`"), "{all}");
    // base with sensor, cross, arm with flag.
    assert_eq!((scene.bodies.len(), scene.joints.len()), (4, 2), "{all}");
    let mass =
        |name: &str| scene.bodies[scene.body_named(name).unwrap().index()].mass().unwrap().mass;
    assert!(
        (mass("base") - 3.1).abs() < 1e-12
            && (mass("cross") - 2e-4).abs() < 1e-15
            && mass("arm") == 2.0
    );
    assert_eq!(scene.colliders.len(), 1, "a link without collision has none");
    let message = load("faulty.urdf", FAULTY, &strict()).err().unwrap();
    assert!(message.contains("this is no XML"), "{message}");
    // Without the fault of XML all others are found at once.
    let rest = FAULTY
        .replace("hello\n<?xml version=\"1.0\"?>", "\n")
        .replace("trailing", "")
        .replace("xacro:", "");
    let message = load("faulty.urdf", &rest, &strict()).err().unwrap();
    for wanted in [
        "xyz is \"0, 0, 0.1\"",
        "rpy is \"0 0 0 0\"",
        "the axis of `mount`",
        "is left by xacro",
        "<sdf>",
        "6 errors in the scene",
    ] {
        assert!(message.contains(wanted), "{wanted} in {message}");
    }
}

#[test]
fn a_robot_stands_on_the_floor_where_it_was_asked_to() {
    let place = folder("floor");
    let file = place.join("faulty.urdf");
    fs::write(&file, FAULTY).unwrap();
    let run = signorini(&[
        "run",
        file.to_str().unwrap(),
        "--floor",
        "--hold",
        "--joint",
        "swing=30 deg",
        "--t-end",
        "0.2",
        "--json",
    ]);
    assert!(run.status.success(), "{}", said(&run));
    assert!(said(&run).contains("stand on the floor"), "{}", said(&run));
    let wrong = signorini(&["run", file.to_str().unwrap(), "--joint", "swng=1"]);
    assert!(said(&wrong).contains("did you mean `swing`?"), "{}", said(&wrong));
    let wrong = signorini(&["run", "arch", "--floor"]);
    assert!(said(&wrong).contains("is no robot file"), "{}", said(&wrong));
    let toml = place.join("faulty.toml");
    let converted = signorini(&[
        "convert",
        file.to_str().unwrap(),
        toml.to_str().unwrap(),
        "--floor",
        "--fixed-base",
    ]);
    assert!(converted.status.success(), "{}", said(&converted));
    assert!(signorini(&["run", toml.to_str().unwrap(), "--t-end", "0.02"]).status.success());
}

#[test]
fn robots_in_a_scene_have_places_prefixes_and_joint_values() {
    let robot = r#"<robot name="r"><link name="base"/>
      <link name="arm"><inertial><origin xyz="0.5 0 0"/><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>
        <collision><origin xyz="0.5 0 0"/><geometry><box size="1 0.1 0.1"/></geometry></collision></link>
      <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>"#;
    let scene = r#"
[parameters]
width = "2 m"
[[robot]]
file = "r.urdf"
prefix = "left/"
position = [0, "width", 0]
joints = { hinge = "90 deg" }
[[robot]]
file = "r.urdf"
prefix = "right/"
self_collision = false
[[motor]]
name = "drive"
joint = "right/hinge"
angle = 0.2
stiffness = "50 N m/rad"
damping = "5 N m s/rad"
max_torque = "10 N m"
"#;
    let library = |asked: &str| match asked {
        "s.toml" => Ok(scene.to_string()),
        "r.urdf" => Ok(robot.to_string()),
        _ => Err("no such file".to_string()),
    };
    let loaded = scenefile::load_from("s.toml", &library, &[]).unwrap_or_else(|f| panic!("{f}"));
    let at = |name: &str| {
        loaded.scene.bodies[loaded.scene.body_named(name).unwrap().index()].pose.position
    };
    // The arm's centre is half a metre along it; the left one is turned by a right angle.
    assert!(at("left/arm").distance(DVec3::new(0.0, 2.5, 0.0)) < 1e-15, "{}", at("left/arm"));
    assert!(at("right/arm").distance(DVec3::new(0.5, 0.0, 0.0)) < 1e-15);
    assert_eq!((loaded.scene.joints.len(), loaded.scene.motors.len()), (2, 1));
    let wrong = scene.replace("90 deg", "90 mm");
    let library =
        |asked: &str| if asked == "s.toml" { Ok(wrong.clone()) } else { Ok(robot.to_string()) };
    let message = scenefile::load_from("s.toml", &library, &[]).err().unwrap().to_string();
    assert!(message.contains("is not an angle"), "{message}");
}

#[test]
fn parts_that_overlap_at_the_beginning_never_touch_and_are_listed() {
    let link = |name: &str, at: f64| {
        format!(
            "<link name=\"{name}\"><inertial><mass value=\"1\"/><inertia ixx=\"0.1\" iyy=\"0.1\" \
                izz=\"0.1\"/></inertial>\
             <collision><geometry><sphere radius=\"0.1\"/></geometry></collision></link>\
             <joint name=\"to_{name}\" type=\"continuous\"><parent link=\"base\"/><child link=\"{name}\"/>\
             <origin xyz=\"{at} 0 0\"/></joint>"
        )
    };
    let text = format!(
        "<robot name=\"r\"><link name=\"base\"/>{}{}{}</robot>",
        link("a", 0.0),
        link("b", 0.15),
        link("c", 0.5)
    );
    let loaded = load("r.urdf", &text, &Choices::default()).unwrap_or_else(|f| panic!("{f}"));
    let noted: Vec<&String> = loaded.notes.iter().filter(|n| n.contains("overlap")).collect();
    assert!(noted.len() == 1 && noted[0].contains("`a` and `b` overlap by 50.00 mm"), "{noted:?}");
    assert_eq!(loaded.scene.excluded.len(), 1);
    let none = load("r.urdf", &text, &Choices { self_collision: false, ..Choices::default() })
        .unwrap_or_else(|f| panic!("{f}"));
    assert_eq!(none.scene.excluded.len(), 3);
}

/// Defaults in classes, an include, all kinds of joints and geoms, actuators, equalities, a
/// keyframe.
const MACHINE: &str = r#"<mujoco model="machine">
  <compiler angle="degree" eulerseq="zyx"/>
  <option timestep="0.001" gravity="0 0 -9.81"/>
  <default>
    <geom density="500" friction="0.8 0.1 0.1"/>
    <default class="arm">
      <joint axis="0 1 0" damping="0.2" armature="0.01"/>
      <position kp="40" forcerange="-20 20"/>
      <default class="fore"><geom density="700"/><position kv="3"/></default>
    </default>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1" pos="0 0 -2"/>
    <body name="post" pos="0 0 1" euler="30 0 0">
      <geom type="box" size="0.05 0.05 0.2"/>
      <body name="upper" pos="0.1 0 0.2" childclass="arm">
        <joint name="shoulder" ref="10" range="-90 90"/>
        <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.03"/>
        <body name="plate" pos="0.2 0 0.1" quat="1 1 0 0"><geom type="cylinder" size="0.05 0.02" mass="0.3"/></body>
        <body name="fore" pos="0.4 0 0">
          <joint name="elbow" pos="0.01 0 0"/>
          <geom class="fore" type="ellipsoid" size="0.2 0.04 0.03" pos="0.2 0 0"/>
          <site name="tip" pos="0.4 0 0"/>
          <body name="tool" pos="0.4 0 0">
            <joint name="slide" type="slide" axis="1 0 0" range="-0.1 0.1" stiffness="200" springref="0.02"/>
            <geom type="sphere" size="0.04"/>
          </body>
        </body>
      </body>
    </body>
    <body name="ball" pos="0 1 1"><joint name="ball" type="ball" damping="0.01"/>
      <inertial pos="0 0 -0.3" mass="0.7" fullinertia="0.02 0.03 0.025 0.001 0.002 0.003"/></body>
    <body name="loose" pos="1 1 1"><freejoint/><geom type="box" size="0.1 0.2 0.05" contype="2" conaffinity="2"/></body>
    <body name="gimbal" pos="2 0 1">
      <joint name="roll" axis="1 0 0"/><joint name="pitch" axis="0 1 0"/>
      <geom type="box" size="0.1 0.1 0.3" pos="0 0 -0.3"/></body>
  </worldbody>
  <contact><exclude body1="post" body2="fore"/></contact>
  <equality><joint joint1="roll" joint2="pitch" polycoef="0 0.5 0 0 0"/></equality>
  <tendon><fixed name="both"><joint joint="roll" coef="2"/><joint joint="pitch" coef="1"/></fixed></tendon>
  <actuator>
    <position name="shoulder" class="arm" joint="shoulder" dampratio="1"/>
    <position name="elbow" class="fore" joint="elbow"/>
    <velocity name="slide" joint="slide" kv="30"/>
    <motor name="pull" tendon="both" gear="3"/>
    <muscle name="m" joint="slide"/>
  </actuator>
  <keyframe><key name="home" qpos="0.3 -0.5 0.01 0.8 0.6 0 0 1 1 1 1 0 0 0 0.1 0.2" ctrl="0.3 -0.4 0.5 2 0"/></keyframe>
</mujoco>"#;

#[test]
fn mjcf_becomes_a_machine_and_names_what_it_leaves_out() {
    let loaded =
        load("machine.xml", MACHINE, &Choices::default()).unwrap_or_else(|f| panic!("{f}"));
    let scene = &loaded.scene;
    let body = |name: &str| {
        &scene.bodies[scene.body_named(name).unwrap_or_else(|| panic!("no {name}")).index()]
    };
    assert!(
        loaded.notes.iter().any(|n| n.contains("line 46: the muscle actuator is left out")),
        "{:#?}",
        loaded.notes
    );
    assert!(
        loaded.notes.iter().any(|n| n.contains("`gimbal_1` stands between two joints of one body")),
        "{:#?}",
        loaded.notes
    );
    assert_eq!(loaded.dt, 1e-3);
    // A capsule of 500 kg/m³ and a plate of 0.3 kg are one body.
    let pi = std::f64::consts::PI;
    let capsule = 500.0 * (pi * 0.03f64.powi(2) * 0.4 + 4.0 / 3.0 * pi * 0.03f64.powi(3));
    assert!((body("upper").mass().unwrap().mass - capsule - 0.3).abs() < 1e-12);
    let ellipsoid = 700.0 * 4.0 / 3.0 * pi * 0.2 * 0.04 * 0.03;
    assert!((body("fore").mass().unwrap().mass - ellipsoid).abs() < 1e-12);
    use signorini::scene::{Coordinate, Drive};
    let motor = |name: &str| scene.motors.iter().find(|m| m.name == name).unwrap();
    let Drive::Servo { stiffness, damping, effort, .. } = &motor("elbow").drive else {
        panic!("{:?}", motor("elbow"))
    };
    assert_eq!((*stiffness, *damping, *effort), (40.0, 3.0, 20.0));
    let pull = motor("pull");
    // 3 · (2 roll + pitch) with 2 N m: 12 N m on roll and 6 N m on pitch.
    assert!(
        matches!(&pull.drive, Drive::Effort(f) if (f.value(0.0) - 12.0).abs() < 1e-12),
        "{pull:?}"
    );
    assert!(pull.also.len() == 1 && (pull.also[0].factor - 0.5).abs() < 1e-15);
    let shoulder = &scene.joints[scene.joint_named("shoulder").unwrap().index()];
    assert_eq!(shoulder.armature[0].inertia, 0.01);
    assert!(
        (shoulder.limits[0].hi - 0.5 * pi).abs() < 1e-15
            && shoulder.limits[0].coordinate == Coordinate::Angle
    );
    for (wrong, says) in [
        ("joint=\"elbow\"", "there is no joint `elbw`"),
        ("class=\"fore\" type", "there is no default class `foer`"),
        ("size=\"0.2 0.04 0.03\"", "not above 0"),
    ] {
        let typo = match wrong {
            "joint=\"elbow\"" => MACHINE.replace(wrong, "joint=\"elbw\""),
            "size=\"0.2 0.04 0.03\"" => MACHINE.replace(wrong, "size=\"0.2 0.04 0\""),
            _ => MACHINE.replace(wrong, "class=\"foer\" type"),
        };
        let message = load("machine.xml", &typo, &Choices::default()).err().unwrap();
        assert!(message.contains(says) && message.contains("machine.xml:"), "{says} in {message}");
    }
    assert!(
        load(
            "machine.xml",
            "<mujoco><worldbody><body><geom size=\"nan\"/></body></worldbody></mujoco>",
            &Choices::default()
        )
        .is_err()
    );
    assert!(
        load(
            "machine.xml",
            "<mujoco><include file=\"machine.xml\"/></mujoco>",
            &Choices::default()
        )
        .is_err()
    );
    assert!(load("machine.xml", "<mujoco/>", &Choices::default()).is_ok());
}

/// What MuJoCo says of a model: masses, centres, inertias, axes; and where bodies are after a time
/// without contact.
const JUDGE: &str = r#"
import json, sys
import mujoco, numpy as np
model = mujoco.MjModel.from_xml_path(sys.argv[1]); time = float(sys.argv[2])
data = mujoco.MjData(model)
if model.nkey: mujoco.mj_resetDataKeyframe(model, data, 0)
mujoco.mj_kinematics(model, data); mujoco.mj_comPos(model, data)
bodies, joints = [], []
def merged(i):
    parts = [k for k in range(model.nbody) if model.body_weldid[k] == i]
    mass = sum(model.body_mass[k] for k in parts)
    return parts, mass, sum(model.body_mass[k] * data.xipos[k] for k in parts) / mass
for i in range(1, model.nbody):
    if model.body_weldid[i] != i: continue
    parts, mass, center = merged(i)
    inertia = np.zeros((3, 3))
    for k in parts:
        turn, arm = data.ximat[k].reshape(3, 3), data.xipos[k] - center
        inertia += turn @ np.diag(model.body_inertia[k]) @ turn.T + model.body_mass[k] * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    bodies.append(dict(name=model.body(i).name, mass=mass, center=list(center), inertia=[list(r) for r in inertia]))
for j in range(model.njnt):
    if model.jnt_type[j] in (2, 3):
        joints.append(dict(name=model.jnt(j).name, axis=list(data.xaxis[j]), point=list(data.xanchor[j]), hinge=bool(model.jnt_type[j] == 3)))
damping = {model.actuator(a).name: -float(model.actuator_biasprm[a][2]) for a in range(model.nu)}
model.opt.timestep = 1e-5; model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
while data.time < time - 1e-9: mujoco.mj_step(model, data)
mujoco.mj_kinematics(model, data); mujoco.mj_comPos(model, data)
after = {b["name"]: list(merged(model.body(b["name"]).id)[2]) for b in bodies}
print(json.dumps(dict(bodies=bodies, joints=joints, damping=damping, after=after)))
"#;

/// MuJoCo's word on a file; none where it is not installed.
fn mujoco(place: &Path, file: &Path, time: f64) -> Option<Json> {
    let script = place.join("judge.py");
    fs::write(&script, JUDGE).unwrap();
    let python = std::env::var("SIGNORINI_PYTHON").unwrap_or_else(|_| "python3".into());
    let found = Command::new(python).arg(&script).arg(file).arg(time.to_string()).output().ok()?;
    if !found.status.success() {
        let why = String::from_utf8_lossy(&found.stderr).into_owned();
        assert!(why.contains("No module named"), "{why}");
        eprintln!("skipped: MuJoCo is not installed (pip install mujoco, SIGNORINI_PYTHON=python)");
        return None;
    }
    serde_json::from_slice(&found.stdout).ok()
}

fn vector(json: &Json) -> DVec3 {
    DVec3::from_array([0, 1, 2].map(|i| json[i].as_f64().unwrap()))
}

/// Masses, centres and axes against MuJoCo to a billionth, inertias to the tolerance.
fn agrees(file: &Path, judged: &Json, tolerance: f64) {
    let loaded = scenefile::load(file, &[]).unwrap_or_else(|f| panic!("{f}"));
    let scene = &loaded.scene;
    for body in judged["bodies"].as_array().unwrap() {
        let name = body["name"].as_str().unwrap();
        let ours = &scene.bodies
            [scene.body_named(name).unwrap_or_else(|| panic!("no body `{name}`")).index()];
        // What is fixed has no mass here.
        let Some(mass) = ours.mass() else { continue };
        let wanted = body["mass"].as_f64().unwrap();
        assert!((mass.mass / wanted - 1.0).abs() < 1e-9, "{name}: {} {wanted}", mass.mass);
        assert!(
            ours.pose.position.distance(vector(&body["center"])) < 1e-9,
            "{name}: {} {}",
            ours.pose.position,
            body["center"]
        );
        let turn = ours.pose.rotation();
        let inertia = turn * mass.inertia * turn.transpose();
        let wanted = [0, 1, 2].map(|i| vector(&body["inertia"][i]));
        let size = wanted.iter().map(|v| v.abs().max_element()).fold(0.0, f64::max);
        for (i, wanted) in wanted.iter().enumerate() {
            assert!(
                (inertia.row(i) - *wanted).abs().max_element() < tolerance * size,
                "{name}: {inertia} {:?}",
                body["inertia"]
            );
        }
    }
    for joint in judged["joints"].as_array().unwrap() {
        let name = joint["name"].as_str().unwrap();
        let ours = &scene.joints
            [scene.joint_named(name).unwrap_or_else(|| panic!("no joint `{name}`")).index()];
        let frame = scene.bodies[ours.b.index()].pose * ours.frame_b;
        assert!(frame.vector(DVec3::Z).distance(vector(&joint["axis"])) < 1e-9, "{name}");
        if joint["hinge"] == true {
            assert!(frame.position.distance(vector(&joint["point"])) < 1e-9, "{name}");
        }
    }
    for motor in &scene.motors {
        use signorini::scene::Drive;
        if let (Drive::Servo { damping, .. }, Some(wanted), true) =
            (&motor.drive, judged["damping"][&motor.name].as_f64(), motor.also.is_empty())
        {
            assert!(
                (damping - wanted).abs() <= 1e-6 * wanted.abs().max(1e-3),
                "{}: {damping} {wanted}",
                motor.name
            );
        }
    }
}

/// Where the centres of all bodies are at the end of a run.
fn ends(place: &Path, file: &Path, time: f64, dt: f64) -> Vec<(String, DVec3)> {
    let out = place.join(format!("out_{dt}"));
    let (time, dt) = (time.to_string(), dt.to_string());
    let arguments = [
        "run",
        file.to_str().unwrap(),
        "--t-end",
        &time,
        "--dt",
        &dt,
        "--out",
        out.to_str().unwrap(),
    ];
    let run = signorini(&[&arguments[..], &["--no-self-collision"]].concat());
    assert!(run.status.success(), "{}", said(&run));
    let table = fs::read_to_string(out.join("bodies.csv")).unwrap();
    let last = table.lines().last().unwrap().split(',').next().unwrap().to_string();
    let rows = table.lines().filter(|l| l.split(',').next() == Some(&last));
    rows.map(|row| {
        let words: Vec<&str> = row.split(',').collect();
        let at = DVec3::from_array([2, 3, 4].map(|i| words[i].parse().unwrap()));
        (words[1].trim_matches('"').to_string(), at)
    })
    .collect()
}

#[test]
fn the_machine_agrees_with_mujoco_where_it_is_installed() {
    let place = folder("mujoco");
    let file = place.join("machine.xml");
    // The gimbal's light body and its rigid coupling, the stops and the muscle are ours alone.
    let text = MACHINE
        .replace("<muscle name=\"m\" joint=\"slide\"/>", "")
        .replace("ctrl=\"0.3 -0.4 0.5 2 0\"", "ctrl=\"0.3 -0.4 0.5 2\"");
    fs::write(&file, &text).unwrap();
    let time = 0.1;
    let Some(judged) = mujoco(&place, &file, time) else { return };
    agrees(&file, &judged, 1e-9);
    let mut errors = Vec::new();
    for dt in [1e-3, 5e-4] {
        let mut worst = 0.0f64;
        for (name, at) in ends(&place, &file, time, dt) {
            let Some(wanted) = judged["after"].get(&name).filter(|_| !name.starts_with("gimbal"))
            else {
                continue;
            };
            worst = worst.max(at.distance(vector(wanted)));
        }
        errors.push(worst);
    }
    // Half the step, half the error (or a quarter), and small: bodies move by centimetres.
    assert!(errors[0] < 2e-3 && errors[0] > 1.6 * errors[1], "{errors:?}");
}

/// The models of a folder that `SIGNORINI_MODELS` names: they load, agree with MuJoCo, and hold
/// their pose for half a second.
#[test]
fn models_of_a_folder_load_agree_and_hold_their_pose() {
    let Some(models) = std::env::var_os("SIGNORINI_MODELS").map(PathBuf::from) else {
        eprintln!("skipped: SIGNORINI_MODELS names no folder of MJCF models");
        return;
    };
    let place = folder("models");
    let mut files: Vec<PathBuf> = fs::read_dir(&models)
        .unwrap()
        .flat_map(|f| fs::read_dir(f.unwrap().path()).into_iter().flatten())
        .map(|f| f.unwrap().path())
        .collect();
    files.sort();
    for file in files.iter().filter(|f| f.extension().is_some_and(|e| e == "xml")) {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("scene") || name.starts_with("keyframes") {
            continue;
        }
        if let Some(judged) = mujoco(&place, file, 0.0) {
            // Of meshes MuJoCo finds the principal axes, which it keeps, to 1e-7.
            agrees(file, &judged, 1e-7);
        }
        let out = place.join(name.trim_end_matches(".xml"));
        let run = signorini(&[
            "run",
            file.to_str().unwrap(),
            "--t-end",
            "0.1",
            "--hold",
            "--fixed-base",
            "--out",
            out.to_str().unwrap(),
            "--json",
        ]);
        assert!(run.status.success(), "{}: {}", file.display(), said(&run));
        let table = fs::read_to_string(out.join("bodies.csv")).unwrap();
        let row = |lines: &mut dyn Iterator<Item = &str>| -> Vec<(String, DVec3)> {
            let mut found = Vec::new();
            for line in lines {
                let words: Vec<&str> = line.split(',').collect();
                if found.iter().any(|(n, _): &(String, DVec3)| n == words[1]) {
                    break;
                }
                found.push((
                    words[1].to_string(),
                    DVec3::from_array([2, 3, 4].map(|i| words[i].parse().unwrap())),
                ));
            }
            found
        };
        let first = row(&mut table.lines().skip(1));
        let last = row(&mut table.lines().rev());
        let moved = first
            .iter()
            .filter_map(|(n, a)| last.iter().find(|(m, _)| m == n).map(|(_, b)| a.distance(*b)))
            .fold(0.0, f64::max);
        println!(
            "{}: every step accepted, moved by at most {:.2} mm in 0.1 s",
            file.display(),
            1e3 * moved
        );
    }
}

/// The files of a folder that `SIGNORINI_URDF` names, each for one second on a floor: prints a
/// table.
#[test]
fn robots_of_a_folder_run_on_a_floor() {
    let Some(root) = std::env::var_os("SIGNORINI_URDF").map(PathBuf::from) else {
        eprintln!("skipped: SIGNORINI_URDF names no folder of URDF files");
        return;
    };
    let mut folders = vec![root.clone()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() && path.file_name().is_some_and(|n| n != "random_urdfs") {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "urdf") {
                files.push(path);
            }
        }
    }
    files.sort();
    println!(
        "| file | bodies | joints | repairs | steps not accepted | steps/s \
            |\n|---|---|---|---|---|---|"
    );
    let (mut fine, mut all) = (0, 0);
    for file in &files {
        let run = signorini(&["run", file.to_str().unwrap(), "--floor", "--t-end", "1", "--json"]);
        let name = file.strip_prefix(&root).unwrap().display();
        let text = String::from_utf8_lossy(&run.stdout).into_owned();
        let Ok(json) = serde_json::from_str::<Json>(&text) else {
            println!("| {name} | refused: {} |", said(&run).lines().next().unwrap_or(""));
            continue;
        };
        let repairs = String::from_utf8_lossy(&run.stderr).matches("repaired").count();
        let missed = json["not_accepted"].as_u64().unwrap_or(u64::from(!run.status.success()));
        println!(
            "| {name} | {} | {} | {repairs} | {missed} | {:.0} |",
            json["bodies"],
            json["joints"],
            json["steps_per_s"].as_f64().unwrap_or(0.0)
        );
        all += 1;
        fine += u64::from(missed == 0 && run.status.success());
    }
    println!(
        "{fine} of {all} ran 1 s with every step accepted; {} refused",
        files.len() as u64 - all
    );
    assert!(fine as f64 >= 0.95 * all as f64);
}
