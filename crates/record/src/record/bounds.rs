//! The room that a scene takes at its beginning.

use glam::DVec3;
use signorini_mechanics::geometry::Shape;
use signorini_mechanics::scene::body::reach;
use signorini_mechanics::scene::{Drawn, Kind, Scene};

/// Lowest and highest corner of what moves; of everything if nothing does.
pub(super) fn bounds(scene: &Scene) -> [DVec3; 2] {
    let mut all = [DVec3::splat(f64::INFINITY), DVec3::splat(f64::NEG_INFINITY)];
    let mut grow = |point: DVec3, reach: f64| {
        if point.is_finite() && reach.is_finite() {
            all = [all[0].min(point - reach), all[1].max(point + reach)];
        }
    };
    for moving in [true, false] {
        let wanted = |kind: &Kind| matches!(kind, Kind::Fixed) != moving;
        let drawn = |kind: &Kind| wanted(kind) && !matches!(kind, Kind::Soft(_));
        let shapes = scene.colliders.iter().map(|c| (c.body as usize, c.pose_in_body, &c.shape));
        let visuals = scene.visuals.iter().filter_map(|v| match &v.drawn {
            Drawn::Shape(shape) => Some((v.body.index(), v.pose_in_body, shape)),
            Drawn::File { .. } => None,
        });
        for (body, place, shape) in shapes.chain(visuals) {
            let body = &scene.bodies[body];
            let pose = body.pose * place;
            match shape {
                _ if !drawn(&body.kind) => {}
                Shape::Hull { points: list } | Shape::Mesh { vertices: list, .. } => {
                    list.iter().for_each(|p| grow(pose.point(*p), 0.0));
                }
                _ => grow(pose.position, reach(shape)),
            }
        }
        scene.bodies.iter().filter(|b| drawn(&b.kind)).for_each(|b| grow(b.pose.position, 0.0));
        if moving {
            scene.softs.iter().flat_map(|s| &s.mesh.nodes).for_each(|p| grow(*p, 0.0));
            let sides = scene
                .joints
                .iter()
                .flat_map(|j| [(j.a, j.frame_a.position), (j.b, j.frame_b.position)]);
            sides.for_each(|(body, point)| grow(scene.bodies[body.index()].pose.point(point), 0.0));
        }
        if moving && scene.bodies.iter().any(|b| wanted(&b.kind)) {
            break;
        }
    }
    if all[0].x > all[1].x {
        return [-DVec3::ONE, DVec3::ONE];
    }
    // What falls comes to lie on the floor below.
    let (center, up) =
        (0.5 * (all[0] + all[1]), (-scene.gravity).try_normalize().unwrap_or(DVec3::Z));
    for floor in scene.colliders.iter().filter(|c| matches!(c.shape, Shape::HalfSpace)) {
        let place = scene.bodies[floor.body as usize].pose * floor.pose_in_body;
        let (normal, size) = (place.vector(DVec3::Z), all[0].distance(all[1]));
        let height = normal.dot(center - place.position);
        if normal.dot(up) > 0.7 && height > 0.0 && height < 20.0 * size {
            let below = center - normal * height;
            all = [all[0].min(below), all[1].max(below)];
        }
    }
    all
}
