//! Scenes stepped by engines that Python knows: `bench/peers/run.py` reads scenes and prints runs.

use super::{Missing, Runs, Task, joint_name, push};
use glam::DVec3;
use serde_json::{Value as Json, json};
use signorini::geometry::{Collider, Shape};
use signorini::scene::{Body, MaterialId, Scene};
use std::io::Write;
use std::process::{Command, Stdio};

/// The harness, kept in the program so that it is found from any folder.
const HARNESS: [&str; 6] = [
    include_str!("../../peers/common.py"),
    include_str!("../../peers/mujoco_peer.py"),
    include_str!("../../peers/bullet_peer.py"),
    include_str!("../../peers/drake_peer.py"),
    include_str!("../../peers/dart_peer.py"),
    include_str!("../../peers/run.py"),
];

/// Runs of these engines, for each scene. Each engine has a process of its own: what ends one does
/// not end the others.
pub fn runs(python: &str, tasks: &[Task], engines: &[&str]) -> Result<Vec<Runs>, String> {
    let mut all = vec![Runs::default(); tasks.len()];
    for engine in engines {
        let scenes =
            tasks.iter().map(|t| task(t, engine)).collect::<Result<Vec<Json>, String>>()?;
        match one(python, &Json::Array(scenes))? {
            Some(found) => {
                for (all, found) in all.iter_mut().zip(found) {
                    all.runs.extend(found.runs);
                    all.missing.extend(found.missing);
                }
            }
            None => all.iter_mut().for_each(|all| {
                let reason = "its process ended without an answer".into();
                all.missing.push(Missing { engine: engine.to_string(), reason });
            }),
        }
    }
    Ok(all)
}

/// What one process printed; `None` if it crashed.
fn one(python: &str, scenes: &Json) -> Result<Option<Vec<Runs>>, String> {
    let failed = |e: std::io::Error| format!("{python}: {e}");
    let mut child = Command::new(python)
        .args(["-c", &HARNESS.join("\n")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(scenes.to_string().as_bytes()).map_err(failed)?;
    }
    let output = child.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return match message.lines().last().filter(|line| line.contains("Error")) {
            Some(line) => Err(format!("{python}: {line}")),
            None => Ok(None),
        };
    }
    let text = String::from_utf8_lossy(&output.stdout);
    // Some engines greet on stdout.
    let line = text.lines().last().ok_or("the Python harness printed nothing")?;
    serde_json::from_str(line).map(Some).map_err(|e| format!("the Python harness: {e}"))
}

/// The scene as the harness reads it.
fn task(task: &Task, engine: &str) -> Result<Json, String> {
    let scene = task.scene;
    let bodies: Vec<Json> = (0..scene.bodies.len()).map(|i| body(scene, i)).collect();
    let joints = scene
        .joints
        .iter()
        .map(|joint| {
            let kind = joint_name(&joint.kind)?;
            let frame = scene.bodies[joint.a.index()].pose * joint.frame_a;
            Ok(json!({
                "kind": kind, "parent": joint.a.0, "child": joint.b.0,
                "anchor": frame.position.to_array(),
                "axis": (frame.orientation * DVec3::Z).to_array(),
            }))
        })
        .collect::<Result<Vec<Json>, String>>()?;
    let ids = || (0..scene.materials.len()).map(|i| MaterialId(i as u32));
    let surfaces: Vec<Vec<[f64; 2]>> = ids()
        .map(|a| ids().map(|b| scene.surface(a, b)).map(|s| [s.mu, s.restitution]).collect())
        .collect();
    Ok(json!({
        "dt": task.h, "steps": task.steps, "samples": task.samples, "budget": task.budget,
        "rebound_speed": task.rebound_speed, "gravity": scene.gravity.to_array(),
        "surfaces": surfaces, "bodies": bodies, "joints": joints, "forces": forces(scene)?,
        "engines": [engine],
    }))
}

/// Constant forces at centres of mass.
fn forces(scene: &Scene) -> Result<Vec<Json>, String> {
    let one = |kind| push(kind).map(|(body, f)| json!({"body": body.0, "force": f.to_array()}));
    scene.forces.iter().map(|force| one(&force.kind)).collect()
}

fn shape(collider: &Collider) -> Json {
    let mut out = match &collider.shape {
        Shape::Sphere { radius } => json!({"kind": "sphere", "size": [radius]}),
        Shape::Box { half_extents } => json!({"kind": "box", "size": half_extents.to_array()}),
        Shape::Capsule { radius, half_length } | Shape::Cylinder { radius, half_length } => {
            json!({"kind": collider.shape.name(), "size": [radius, half_length]})
        }
        Shape::Hull { points } => {
            let points: Vec<[f64; 3]> = points.iter().map(|p| p.to_array()).collect();
            json!({"kind": "hull", "size": [], "points": points})
        }
        Shape::HalfSpace => json!({"kind": "half_space", "size": []}),
        other => json!({"kind": other.name(), "size": []}),
    };
    out["position"] = json!(collider.pose_in_body.position.to_array());
    out["orientation"] = json!(collider.pose_in_body.orientation.to_array());
    out
}

fn body(scene: &Scene, i: usize) -> Json {
    let Body { pose, velocity, spin, .. } = &scene.bodies[i];
    let own = || (0..scene.colliders.len()).filter(|&c| scene.colliders[c].body as usize == i);
    let shapes: Vec<Json> = own().map(|c| shape(&scene.colliders[c])).collect();
    let material = own().next().map_or(0, |c| scene.surface_materials[c].material.0);
    let mass = scene.bodies[i].mass().map(|mass| {
        let diagonal = [mass.inertia.x_axis.x, mass.inertia.y_axis.y, mass.inertia.z_axis.z];
        json!({"mass": mass.mass, "inertia": diagonal})
    });
    let q = pose.orientation;
    json!({
        "mass": mass, "shapes": shapes, "material": material,
        "position": pose.position.to_array(), "orientation": [q.x, q.y, q.z, q.w],
        "linear": velocity.to_array(), "angular": (q * *spin).to_array(),
    })
}
