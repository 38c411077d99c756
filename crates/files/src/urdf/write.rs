//! A robot as the text of a scene.

use super::Choices;
use super::model::{Geometry, Joint, Model, Shape};
use super::robot::{Robot, axis_frame};
use glam::{DQuat, DVec3};
use signorini_solve::math::pose::Pose;
use std::fmt::Write;

/// The text, TOML.
pub fn scene(model: &Model, robot: &Robot, choices: Choices) -> String {
    let mut out = format!("name = {}\nabout = \"from a robot file\"\n", quoted(&model.name));
    for link in (0..model.links.len()).filter(|&l| robot.body[l] == l) {
        body(&mut out, model, robot, link);
    }
    for (j, joint) in model.joints.iter().enumerate() {
        if !["fixed", "floating"].contains(&joint.kind.as_str()) {
            connect(&mut out, model, robot, (j, joint));
            if joint.mimic.is_none() && (choices.hold || model.driven.contains(&joint.name)) {
                motor(&mut out, joint);
            }
        }
    }
    out
}

fn body(out: &mut String, model: &Model, robot: &Robot, link: usize) {
    let _ = write!(out, "\n[[body]]\nname = {}\n", quoted(&model.links[link].name));
    let members: Vec<usize> = (0..model.links.len()).filter(|&l| robot.body[l] == link).collect();
    let others: Vec<&str> = members.iter().filter(|&&l| l != link).map(|&l| model.links[l].name.as_str()).collect();
    if !others.is_empty() {
        let _ = writeln!(out, "# with the links {}", others.join(", "));
    }
    match &robot.mass[link] {
        Some((mass, center)) => {
            let rows = mass.inertia.transpose().to_cols_array_2d().map(|row| list(&row));
            let _ = writeln!(out, "mass = {:?}\ncenter = {}\ninertia = [{}]", mass.mass, list(&center.to_array()), rows.join(", "));
        }
        None => out.push_str("fixed = true\n"),
    }
    out.push_str(&placed(&robot.world[link], "\n"));
    let touching = members.iter().any(|&l| !model.links[l].collision.is_empty());
    let shapes: Vec<String> = members
        .iter()
        .flat_map(|&l| {
            let link = &model.links[l];
            let shapes = if touching { &link.collision } else { &link.visual };
            shapes.iter().map(move |s| shape(s, &(robot.in_body[l] * s.origin), robot))
        })
        .collect();
    if !shapes.is_empty() {
        let _ = writeln!(out, "shape = [\n    {},\n]", shapes.join(",\n    "));
        if !touching {
            out.push_str("touches = []\n");
        }
    }
}

fn shape(shape: &Shape, pose: &Pose, robot: &Robot) -> String {
    let what = match &shape.geometry {
        Geometry::Box(edges) => format!("box = {}", list(&edges.to_array())),
        Geometry::Cylinder(radius, length) => format!("cylinder = {{ radius = {radius:?}, length = {length:?} }}"),
        Geometry::Capsule(radius, length) => format!("capsule = {{ radius = {radius:?}, length = {length:?} }}"),
        Geometry::Sphere(radius) => format!("sphere = {radius:?}"),
        Geometry::Mesh(file, scale) => {
            let found = robot.meshes.iter().find(|(name, _)| name == file).map_or(file.clone(), |(_, path)| path.display().to_string());
            let scale = if *scale == DVec3::ONE { String::new() } else { format!(", scale = {}", list(&scale.to_array())) };
            format!("mesh = {{ file = {}{scale} }}", quoted(&found))
        }
    };
    let place = placed(pose, ", ");
    if place.is_empty() { format!("{{ {what} }}") } else { format!("{{ {what}, {} }}", place.trim_end_matches(", ")) }
}

fn connect(out: &mut String, model: &Model, robot: &Robot, (j, joint): (usize, &Joint)) {
    let kind = match joint.kind.as_str() {
        "prismatic" => "prismatic",
        "planar" => "planar",
        _ => "revolute",
    };
    let coordinate = if kind == "prismatic" { "slide" } else { "angle" };
    let (parent, child) = robot.ends[j];
    let (a, b) = (robot.body[parent], robot.body[child]);
    let (name_a, name_b) = (quoted(&model.links[a].name), quoted(&model.links[b].name));
    let frame_a = robot.in_body[parent] * joint.origin * axis_frame(joint.axis);
    let frame_b = robot.in_body[child] * axis_frame(joint.axis);
    let name = quoted(&joint.name);
    let frame = |pose: &Pose| format!("{{ {} }}", placed(pose, ", ").trim_end_matches(", "));
    let _ = write!(out, "\n[[joint]]\nname = {name}\nkind = \"{kind}\"\na = {name_a}\nb = {name_b}\n");
    let _ = write!(out, "frame_a = {}\nframe_b = {}\n", frame(&frame_a), frame(&frame_b));
    if let Some((lo, hi)) = joint.limits.filter(|_| kind != "planar") {
        let _ = writeln!(out, "limits = {{ {coordinate} = {} }}", list(&[lo, hi]));
    }
    if joint.friction > 0.0 && kind != "planar" {
        let _ = writeln!(out, "friction = {{ {coordinate} = {:?} }}", joint.friction);
    }
    let world = robot.world[child] * axis_frame(joint.axis);
    if joint.damping > 0.0 && kind != "planar" {
        let damper = quoted(&format!("{}_damping", joint.name));
        let (place, axis) = (list(&world.position.to_array()), list(&world.vector(DVec3::Z).to_array()));
        let ends = format!("a = {name_a}, b = {name_b}, position = {place}");
        let _ = match kind {
            "prismatic" => writeln!(
                out,
                "\n[[force]]\nname = {damper}\nbushing = {{ {ends}, rotation = {}, stiffness = [0.0, 0.0, 0.0], damping = [0.0, 0.0, {:?}] }}",
                turned(world.orientation),
                joint.damping
            ),
            _ => writeln!(
                out,
                "\n[[force]]\nname = {damper}\ntorsion = {{ {ends}, axis = {axis}, stiffness = 0.0, damping = {:?} }}",
                joint.damping
            ),
        };
    }
    if let Some((master, multiplier, _, _)) = joint.mimic.as_ref().filter(|_| kind != "planar") {
        let of = model.joints.iter().find(|other| other.name == *master).map_or("revolute", |m| m.kind.as_str());
        let theirs = if of == "prismatic" { "slide" } else { "angle" };
        let gear = quoted(&format!("{}_mimic", joint.name));
        let _ = writeln!(
            out,
            "\n[[gear]]\nname = {gear}\nterms = [{{ joint = {name}, {coordinate} = 1.0 }}, {{ joint = {}, {theirs} = {:?} }}]",
            quoted(master),
            -multiplier
        );
    }
}

/// A motor that holds a joint, as strong as it may be.
fn motor(out: &mut String, joint: &Joint) {
    let (rate, most) = match joint.kind.as_str() {
        "prismatic" => ("speed", "max_force"),
        "planar" => return,
        _ => ("angular_speed", "max_torque"),
    };
    let name = quoted(&format!("{}_motor", joint.name));
    let _ = write!(out, "\n[[motor]]\nname = {name}\njoint = {}\n{rate} = 0.0\n", quoted(&joint.name));
    if let Some(effort) = joint.effort {
        let _ = writeln!(out, "{most} = {effort:?}");
    }
}

fn placed(pose: &Pose, end: &str) -> String {
    let mut out = String::new();
    if pose.position != DVec3::ZERO {
        let _ = write!(out, "position = {}{end}", list(&pose.position.to_array()));
    }
    if pose.orientation != DQuat::IDENTITY {
        let _ = write!(out, "rotation = {}{end}", turned(pose.orientation));
    }
    out
}

fn turned(q: DQuat) -> String {
    format!("{{ quaternion = {} }}", list(&q.to_array()))
}

fn list(numbers: &[f64]) -> String {
    // Adding zero writes −0 as 0.
    format!("[{}]", numbers.iter().map(|x| format!("{:?}", x + 0.0)).collect::<Vec<_>>().join(", "))
}

/// JSON's escapes are TOML's.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text can be written")
}
