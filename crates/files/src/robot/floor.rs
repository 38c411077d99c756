//! A floor under a robot.

use super::{Body, Machine, Shape, Solid};
use glam::DVec3;
use signorini_solve::math::pose::Pose;

/// Adds a floor at z = 0 and puts the robot on it, unless its place was asked for: a robot that is
/// free stands on its lowest point, one whose base is fixed is lifted only as far as its moving
/// parts would be below the floor.
pub fn put(machine: &mut Machine, placed: bool, notes: &mut Vec<String>) {
    let fixed = machine.bodies.iter().any(|b| b.weight.is_none());
    let moving = machine.bodies.iter().filter(|b| b.weight.is_some());
    let lowest = moving.filter_map(lowest).fold(f64::INFINITY, f64::min);
    if !placed && lowest.is_finite() && (!fixed || lowest < 0.0) {
        let up = DVec3::new(0.0, 0.0, -lowest);
        machine.bodies.iter_mut().for_each(|b| b.world.position += up);
        machine.joints.iter_mut().filter(|j| j.a.is_none()).for_each(|j| j.frame_a.position += up);
        notes.push(format!("lifted by {:.4} m to stand on the floor", -lowest));
    }
    let name = ["floor", "signorini_floor"]
        .into_iter()
        .find(|n| machine.bodies.iter().all(|b| b.name != *n))
        .unwrap_or("floor");
    let shape =
        Shape { pose: Pose::IDENTITY, solid: Solid::HalfSpace, material: None, touches: None };
    machine.bodies.push(Body {
        name: name.into(),
        members: Vec::new(),
        weight: None,
        world: Pose::IDENTITY,
        shapes: vec![shape],
        visuals: Vec::new(),
        color: None,
    });
}

/// The height of the lowest point of a body's touching shapes.
fn lowest(body: &Body) -> Option<f64> {
    let touching = body
        .shapes
        .iter()
        .filter(|s| s.touches.as_ref().is_none_or(|(_, groups)| !groups.is_empty()));
    touching.filter_map(|s| lowest_of(&s.solid, &(body.world * s.pose))).reduce(f64::min)
}

fn lowest_of(solid: &Solid, place: &Pose) -> Option<f64> {
    let down = place.inverse_vector(DVec3::NEG_Z);
    let round =
        |radius: f64, length: f64| radius * down.truncate().length() + 0.5 * length * down.z.abs();
    let deepest =
        |points: &mut dyn Iterator<Item = DVec3>| points.map(|p| p.dot(down)).reduce(f64::max);
    let reach = match solid {
        Solid::Box(edges) => 0.5 * edges.dot(down.abs()),
        Solid::Cylinder(radius, length) => round(*radius, *length),
        Solid::Capsule(radius, length) => radius + 0.5 * length * down.z.abs(),
        Solid::Sphere(radius) => *radius,
        Solid::Ellipsoid(axes) => (*axes * down).length(),
        Solid::HalfSpace => return None,
        Solid::Hull(points) => deepest(&mut points.iter().copied())?,
        Solid::Mesh { file, scale, .. } => {
            let mesh = crate::surface::read(file).ok()?;
            deepest(&mut mesh.vertices.iter().map(|v| *v * *scale))?
        }
    };
    Some(place.position.z - reach)
}
