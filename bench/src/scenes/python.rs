//! Scenes stepped by engines that Python knows: `bench/peers/run.py` reads a scene and prints runs.

use super::catalogue::BenchScene;
use super::run::{Run, SAMPLES};
use serde_json::{Value as Json, json};
use signorini::geometry::Shape;
use signorini::scene::{Body, JointKind, Scene};
use std::io::Write;
use std::process::{Command, Stdio};

/// The harness, kept in the program so that it is found from any folder.
const HARNESS: [&str; 3] = [
    include_str!("../../peers/mujoco_peer.py"),
    include_str!("../../peers/bullet_peer.py"),
    include_str!("../../peers/run.py"),
];

/// Runs of all engines that are installed; an engine that cannot take the scene is left out.
pub fn runs(python: &str, bench: &BenchScene, budget: f64) -> Result<Vec<Run>, String> {
    let failed = |e: std::io::Error| format!("{python}: {e}");
    let mut child = Command::new(python)
        .args(["-c", &HARNESS.join("\n")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(task(bench, budget).to_string().as_bytes()).map_err(failed)?;
    }
    let output = child.wait_with_output().map_err(failed)?;
    let text = String::from_utf8_lossy(&output.stdout);
    // Some engines greet on stdout.
    let line = text.lines().last().ok_or("the Python harness printed nothing")?;
    serde_json::from_str(line).map_err(|e| format!("the Python harness: {e}"))
}

/// The scene as the harness reads it.
fn task(bench: &BenchScene, budget: f64) -> Json {
    let scene = &bench.scene;
    let bodies: Vec<Json> = (0..scene.bodies.len()).map(|i| body(scene, i)).collect();
    let joints: Vec<Json> = scene
        .joints
        .iter()
        .map(|joint| {
            let frame = scene.bodies[joint.a.index()].pose * joint.frame_a;
            json!({
                "kind": if joint.kind == JointKind::Revolute { "revolute" } else { "prismatic" },
                "parent": joint.a.0, "child": joint.b.0,
                "anchor": frame.position.to_array(),
                "axis": (frame.orientation * glam::DVec3::Z).to_array(),
            })
        })
        .collect();
    json!({
        "dt": bench.h, "steps": bench.steps, "samples": SAMPLES, "budget": budget,
        "gravity": scene.gravity.to_array(), "friction": scene.materials[0].mu,
        "bodies": bodies, "joints": joints,
    })
}

fn body(scene: &Scene, i: usize) -> Json {
    let Body { pose, velocity, spin, .. } = &scene.bodies[i];
    let shape = scene.colliders.iter().find(|c| c.body as usize == i).map(|c| match &c.shape {
        Shape::Sphere { radius } => json!({"kind": "sphere", "size": [radius]}),
        Shape::Box { half_extents } => json!({"kind": "box", "size": half_extents.to_array()}),
        Shape::Capsule { radius, half_length } => {
            json!({"kind": "capsule", "size": [radius, half_length]})
        }
        Shape::Hull { points } => {
            let points: Vec<[f64; 3]> = points.iter().map(|p| p.to_array()).collect();
            json!({"kind": "hull", "size": [], "points": points})
        }
        other => json!({"kind": other.name(), "size": []}),
    });
    let mass = scene.bodies[i].mass().map(|mass| {
        let diagonal = [mass.inertia.x_axis.x, mass.inertia.y_axis.y, mass.inertia.z_axis.z];
        json!({"mass": mass.mass, "inertia": diagonal})
    });
    let q = pose.orientation;
    json!({
        "mass": mass, "shape": shape, "position": pose.position.to_array(),
        "orientation": [q.x, q.y, q.z, q.w], "linear": velocity.to_array(),
        "angular": (q * *spin).to_array(),
    })
}
