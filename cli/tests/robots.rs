//! Robots compared with MuJoCo itself where it is installed, and folders full of them.

mod common;

use common::{MACHINE, folder, said, signorini};
use glam::{DMat3, DVec3};
use serde_json::Value as Json;
use signorini_files::scenefile;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How far a body may move while its robot holds its pose, m.
const MAX_DRIFT_OF_HELD_BODY: f64 = 0.05;

/// How far a held body may be from where MuJoCo holds it, m.
const MAX_DISTANCE_OF_HELD_BODY: f64 = 1e-3;

/// What MuJoCo says of a model: masses, centres, inertias, axes; and where bodies are after a time
/// without contact.
const MUJOCO_ACCELERATIONS: &str = r#"
import json, os, re, sys
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
off, used = mujoco.mjtDisableBit, sys.argv[1]
held = len(sys.argv) > 3 and sys.argv[3] == "held"
model.opt.timestep = 5e-4 if held else 1e-5
if not held: model.opt.disableflags |= int(off.mjDSBL_CONTACT)
if len(sys.argv) > 3 and not held:
    model.opt.disableflags |= int(off.mjDSBL_LIMIT) | int(off.mjDSBL_FRICTIONLOSS)
    # Loops nearly as stiff as rigid ones: closed within four steps.
    model.eq_solref[:] = [4e-5, 1]; model.eq_solimp[:] = [0.9999, 0.9999, 0.001, 0.5, 2]
    model.opt.tolerance = 1e-14; model.opt.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    mujoco.mj_forward(model, data)
    if data.nefc and abs(data.efc_pos[:data.nefc]).max() > 1e-9:
        # A keyframe that leaves loops open: the nearest that closes them, its free base where it is.
        for _ in range(20):
            mujoco.mj_forward(model, data)
            rows = data.efc_J.reshape(-1, model.nv)[:data.nefc].copy()
            rows[:, [k for k in range(model.nv) if model.jnt_type[model.dof_jntid[k]] == 0]] = 0
            way = -np.linalg.lstsq(rows, data.efc_pos[:data.nefc], rcond=1e-12)[0]
            mujoco.mj_integratePos(model, data.qpos, way, 1)
        used = os.path.join(sys.argv[3], "closed.xml")
        folder = os.path.dirname(os.path.abspath(sys.argv[1]))
        text = open(sys.argv[1]).read()
        text = re.sub(r'meshdir="([^"]*)"', lambda m: 'meshdir="%s"' % os.path.join(folder, m[1]), text)
        pose = " ".join(repr(float(x)) for x in data.qpos)
        open(used, "w").write(re.sub(r'(<key[^>]*qpos=")[^"]*"', lambda m: m[1] + pose + '"', text))
        data.qvel[:] = 0
if not held: model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
while data.time < time - 1e-9: mujoco.mj_step(model, data)
mujoco.mj_kinematics(model, data); mujoco.mj_comPos(model, data)
after = {b["name"]: list(merged(model.body(b["name"]).id)[2]) for b in bodies}
print(json.dumps(dict(bodies=bodies, joints=joints, damping=damping, after=after, used=used, free=bool((model.jnt_type == 0).any()))))
"#;

/// Velocities of free bodies after a time, contacts as stiff as the step allows.
const MUJOCO_VELOCITIES: &str = r#"
import json, sys
import mujoco
model = mujoco.MjModel.from_xml_path(sys.argv[1]); data = mujoco.MjData(model)
model.opt.timestep = 2e-5; model.opt.tolerance = 1e-14; model.opt.iterations = 1000
model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC; model.opt.impratio = 100
model.geom_solref[:] = [1e-2, 1]; model.geom_solimp[:] = [0.999, 0.9999, 1e-4, 0.5, 2]
mujoco.mj_resetDataKeyframe(model, data, 0)
while data.time < float(sys.argv[2]) - 1e-9: mujoco.mj_step(model, data)
print(json.dumps({model.body(i).name: list(data.qvel[6 * i - 6:6 * i]) for i in range(1, model.nbody)}))
"#;

/// What acts beside servos and weight.
#[derive(Clone, Copy, PartialEq)]
enum Motion {
    /// Everything, contacts too.
    Held,
    /// All but contacts.
    Whole,
    /// Loops alone, which MuJoCo can make stiff; its stops and dry friction are soft.
    Free,
}

/// MuJoCo's word on a file; none where it is not installed.
fn mujoco(place: &Path, file: &Path, time: f64, motion: Motion) -> Option<Json> {
    let more = match motion {
        Motion::Held => Some(Path::new("held")),
        Motion::Whole => None,
        Motion::Free => Some(place),
    };
    ask_mujoco(place, MUJOCO_ACCELERATIONS, (file, time), more)
}

/// What a program says that asks MuJoCo; nothing where MuJoCo is not installed.
fn ask_mujoco(
    place: &Path,
    program: &str,
    (file, time): (&Path, f64),
    more: Option<&Path>,
) -> Option<Json> {
    let script = place.join("ask.py");
    fs::write(&script, program).unwrap();
    let python = std::env::var("SIGNORINI_PYTHON").unwrap_or_else(|_| "python3".into());
    let found = Command::new(python)
        .arg(&script)
        .arg(file)
        .arg(time.to_string())
        .args(more)
        .output()
        .ok()?;
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

/// What of an inertia does not depend on its axes: trace, trace of the square, determinant.
fn invariants(inertia: DMat3) -> [f64; 3] {
    let trace = |m: DMat3| m.x_axis.x + m.y_axis.y + m.z_axis.z;
    [trace(inertia), trace(inertia * inertia), inertia.determinant()]
}

/// MuJoCo turns the inertia of a mesh into its principal axes until products of inertia are below
/// this (mjEIGEPS), kg m².
const MUJOCO_PRODUCT_OF_INERTIA: f64 = 1e-12;

/// Masses, centres, inertias and axes against MuJoCo to a billionth; of meshes the principal
/// moments, and the axes as far as MuJoCo finds them.
fn agrees(file: &Path, judged: &Json) {
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
        let theirs = DMat3::from_cols(wanted[0], wanted[1], wanted[2]);
        let off = |i: usize| (inertia.col(i) - theirs.col(i)).abs().max_element();
        let worst = [0, 1, 2].map(off).into_iter().fold(0.0, f64::max);
        let same = |(a, b): (f64, f64)| (a - b).abs() <= 1e-9 * b.abs();
        let moments = invariants(inertia).into_iter().zip(invariants(theirs)).all(same);
        assert!(
            worst < 1e-9 * size || (moments && worst < MUJOCO_PRODUCT_OF_INERTIA),
            "{name}: {inertia} {:?}: {worst:e}",
            body["inertia"]
        );
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
    let robot = file.extension().is_some_and(|e| e == "xml");
    let more = robot.then_some("--no-self-collision");
    let run = signorini(&[&arguments[..], more.as_slice()].concat());
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

/// The largest distance of bodies from where MuJoCo has them at the end, m.
fn furthest<'a>(ours: impl Iterator<Item = &'a (String, DVec3)>, judged: &Json) -> f64 {
    ours.filter_map(|(name, at)| {
        judged["after"].get(name).map(|wanted| at.distance(vector(wanted)))
    })
    .fold(0.0, f64::max)
}

/// A robot as a scene without stops and dry friction.
fn free_scene(place: &Path, file: &Path) -> PathBuf {
    let scene = place.join("free.toml");
    let _ = fs::remove_file(&scene);
    let (from, to) = (file.to_str().unwrap(), scene.to_str().unwrap());
    let run = signorini(&["convert", from, to, "--no-self-collision"]);
    assert!(run.status.success(), "{}", said(&run));
    let text = fs::read_to_string(&scene).unwrap();
    let acts = |line: &&str| !line.starts_with("limits =") && !line.starts_with("friction =");
    fs::write(&scene, text.lines().filter(acts).collect::<Vec<_>>().join("\n")).unwrap();
    scene
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
    let Some(judged) = mujoco(&place, &file, time, Motion::Whole) else { return };
    agrees(&file, &judged);
    let errors = [1e-3, 5e-4].map(|dt| {
        let ours = ends(&place, &file, time, dt);
        furthest(ours.iter().filter(|(name, _)| !name.starts_with("gimbal")), &judged)
    });
    // Half the step, half the error (or a quarter), and small: bodies move by centimetres.
    assert!(errors[0] < 2e-3 && errors[0] > 1.6 * errors[1], "{errors:?}");
}

/// A ball that rolls, one that spins, a box that spins on its face without sliding friction, and a
/// ball whose contacts have neither (condim 3).
const MARBLES: &str = r#"<mujoco model="marbles">
  <default><geom density="1000"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1" friction="0"/>
    <body name="roller" pos="0 0 0.1"><freejoint/>
      <geom size="0.1" condim="6" friction="0.8 0.02 0.004"/></body>
    <body name="spinner" pos="1 0 0.1"><freejoint/>
      <geom size="0.1" condim="4" friction="0.8 0.02 0.004"/></body>
    <body name="box" pos="2 0 0.05"><freejoint/>
      <geom type="box" size="0.2 0.1 0.05" condim="4" friction="0 0.03"/></body>
    <body name="plain" pos="3 0 0.1"><freejoint/>
      <geom size="0.1" friction="0.8 0.02 0.004"/></body>
  </worldbody>
  <keyframe><key qpos="0 0 0.1 1 0 0 0  1 0 0.1 1 0 0 0  2 0 0.05 1 0 0 0  3 0 0.1 1 0 0 0"
    qvel="1 0 0 0 10 0   0 0 0 0 0 20   0 0 0 0 0 4   0.5 0 0 0 5 3"/></keyframe>
</mujoco>"#;

/// condim 4 and 6 with the second and third number of `friction`: read, written by `convert`, and
/// moving as in MuJoCo as far as its soft contacts let it.
#[test]
fn torsional_and_rolling_friction_agree_with_mujoco_where_it_is_installed() {
    let place = folder("rolling");
    let (file, scene) = (place.join("marbles.xml"), place.join("marbles.toml"));
    fs::write(&file, MARBLES).unwrap();
    let run = signorini(&["convert", file.to_str().unwrap(), scene.to_str().unwrap()]);
    assert!(run.status.success() && !said(&run).contains("condim"), "{}", said(&run));
    let text = fs::read_to_string(&scene).unwrap();
    let begins = [
        ("roller", [1.0, 0.0, 0.0], [0.0, 10.0, 0.0]),
        ("spinner", [0.0; 3], [0.0, 0.0, 20.0]),
        ("box", [0.0; 3], [0.0, 0.0, 4.0]),
        ("plain", [0.5, 0.0, 0.0], [0.0, 5.0, 3.0]),
    ];
    let text = begins.iter().fold(text, |text, (name, v, w)| {
        let line = format!("name = \"{name}\"\n");
        text.replace(&line, &format!("{line}velocity = {v:?}\nangular_velocity = {w:?}\n"))
    });
    fs::write(&scene, text).unwrap();
    let out = place.join("out");
    let run = signorini(&[
        "run",
        scene.to_str().unwrap(),
        "--t-end",
        "0.2",
        "--out",
        out.to_str().unwrap(),
    ]);
    assert!(run.status.success(), "{}", said(&run));
    let table = fs::read_to_string(out.join("bodies.csv")).unwrap();
    let end = |name: &str| -> Vec<f64> {
        let row = table.lines().rev().find(|l| l.split(',').nth(1) == Some(name)).unwrap();
        row.split(',').skip(9).map(|x| x.parse().unwrap()).collect()
    };
    // By the laws: 5/7 rolling g t/r and the like.
    let g = 9.81 * 0.2;
    let known = [
        ("roller", 0, 1.0 - 5.0 / 7.0 * 0.04 * g),
        ("spinner", 5, 20.0 - 0.02 * g / 0.004),
        ("box", 5, 4.0 - 0.03 * g * 3.0 / 0.05),
        ("plain", 0, 0.5),
        ("plain", 5, 3.0),
    ];
    for (name, at, wanted) in known {
        assert!((end(name)[at] - wanted).abs() < 1e-4, "{name}: {:?} for {wanted}", end(name));
    }
    let Some(theirs) = ask_mujoco(&place, MUJOCO_VELOCITIES, (&file, 0.2), None) else { return };
    for (name, at, _) in known {
        let (ours, theirs) = (end(name)[at], theirs[name][at].as_f64().unwrap());
        println!("{name}: {ours} here, {theirs} in MuJoCo");
        assert!((ours - theirs).abs() < 2e-3 * ours.abs().max(1.0), "{name}: {ours} {theirs}");
    }
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
        let time = 0.05;
        if let Some(judged) = mujoco(&place, file, time, Motion::Free) {
            agrees(file, &judged);
            let scene = free_scene(&place, Path::new(judged["used"].as_str().unwrap()));
            let errors =
                [1e-3, 5e-4].map(|dt| furthest(ends(&place, &scene, time, dt).iter(), &judged));
            println!("{}: {errors:?} m from MuJoCo", file.display());
            // Servos act at the end of the step: first order. Bodies move by centimetres.
            assert!(errors[0] < 3e-4 && errors[1] < 0.6 * errors[0], "{errors:?}");
        }
        let out = place.join(name.trim_end_matches(".xml"));
        let run = signorini(&[
            "run",
            file.to_str().unwrap(),
            "--t-end",
            "0.5",
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
        println!("{}: every step accepted, moved by {:.2} mm", file.display(), 1e3 * moved);
        // Servos of finite stiffness yield to the weight that they carry: 22 mm on the KUKA arm.
        assert!(moved < MAX_DRIFT_OF_HELD_BODY, "{moved} m");
        // The same servos yield as far in MuJoCo, whose stops, dry friction and contacts are soft.
        if let Some(judged) = mujoco(&place, file, 0.5, Motion::Held)
            && judged["free"] == false
        {
            let apart = furthest(last.iter(), &judged);
            println!("{}: held, {:.3} mm from MuJoCo", file.display(), 1e3 * apart);
            assert!(apart < MAX_DISTANCE_OF_HELD_BODY, "{apart} m");
        }
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
