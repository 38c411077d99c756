//! The least gap against the distance by all pairs of triangles.

use super::*;
use glam::DQuat;
use parry3d_f64::query;
use parry3d_f64::shape as parry;

fn triangles(shape: &Shape, pose: &Pose) -> Vec<parry::Triangle> {
    let Shape::Mesh { vertices, triangles } = shape else { panic!("not a mesh") };
    triangles
        .iter()
        .map(|t| t.map(|i| pose.point(vertices[i as usize])))
        .map(|[a, b, c]| parry::Triangle::new(a, b, c))
        .collect()
}

/// The distance of two shapes by all pairs of triangles; the first is a mesh.
pub fn distance(mesh: &Shape, (shape, pose): (&Shape, Pose)) -> f64 {
    let here = parry3d_f64::math::Pose::IDENTITY;
    let there = parry3d_f64::math::Pose { rotation: pose.orientation, translation: pose.position };
    let z = |half: f64| v(0.0, 0.0, half);
    // parry's cylinders and cones stand along y.
    let standing = there
        * parry3d_f64::math::Pose {
            rotation: DQuat::from_rotation_arc(DVec3::Y, DVec3::Z),
            translation: DVec3::ZERO,
        };
    let all = triangles(mesh, &Pose::IDENTITY);
    let least = |other: &dyn parry::Shape, at: &parry3d_f64::math::Pose| {
        all.iter()
            .map(|t| query::distance(&here, t, at, other).unwrap().distance)
            .fold(f64::INFINITY, f64::min)
    };
    match shape {
        Shape::Sphere { radius } => least(&parry::Ball::new(*radius), &there),
        Shape::Box { half_extents } => least(&parry::Cuboid::new(*half_extents), &there),
        Shape::Capsule { radius, half_length } => {
            least(&parry::Capsule::new(z(-half_length), z(*half_length), *radius), &there)
        }
        Shape::Cylinder { radius, half_length } => {
            least(&parry::Cylinder::new(*half_length, *radius), &standing)
        }
        Shape::Cone { radius, half_length } => {
            least(&parry::Cone::new(*half_length, *radius), &standing)
        }
        Shape::Hull { points } => {
            least(&parry::ConvexPolyhedron::from_convex_hull(points).unwrap(), &there)
        }
        Shape::Mesh { .. } => {
            let others = triangles(shape, &pose);
            others.iter().map(|t| least(t, &here)).fold(f64::INFINITY, f64::min)
        }
        _ => panic!("no distance"),
    }
}

/// Shapes anywhere near a mesh: the least gap is the distance, and a little further along its
/// normal the least gap is that overlap.
#[test]
fn the_least_gap_is_the_distance_and_goes_on_below_zero() {
    let mut random = Random(7);
    let solids = [table(), stairs(), ring()];
    let meshes =
        [solids[0].shape(1), solids[1].shape(2), solids[2].shape(1), torus(16, 8, 0.5, 0.2)];
    let inside = |m: usize, p: DVec3| match solids.get(m) {
        Some(solid) => solid.contains(p),
        None => DVec2::new(p.truncate().length() - 0.5, p.z).length() < 0.2,
    };
    let moving: Vec<(Shape, usize)> = convex_shapes()
        .into_iter()
        .map(|s| (s, 25))
        .chain([
            (torus(8, 6, 0.12, 0.05), 5),
            (Cubes::new([[0, 0, 0], [1, 0, 0], [0, 1, 0]], 0.1).shape(1), 8),
        ])
        .collect();
    for (m, mesh) in meshes.iter().enumerate() {
        for (shape, rounds) in &moving {
            let mut tried = 0;
            while tried < *rounds {
                let mut pose = random.pose(1.0);
                let free = distance(mesh, (shape, pose));
                if !(free > 1e-3 && free < 0.5) || inside(m, pose.position) {
                    continue;
                }
                tried += 1;
                let what = format!("mesh {m}, {} at {pose:?}", shape.name());
                let contacts = touch((mesh, Pose::IDENTITY), (shape, pose), free + 0.01);
                let least = *contacts
                    .iter()
                    .min_by(|a, b| a.gap.total_cmp(&b.gap))
                    .unwrap_or_else(|| panic!("{what}: no contact at {free}"));
                // parry's iterations stop within 1e-6 of the size of what they look at.
                assert!((least.gap - free).abs() < 2e-6, "{what}: {} of {free}", least.gap);
                // Along the normal until they touch, then a little further.
                for depth in [1e-6, 1e-5, 1e-4] {
                    pose.position -= least.normal
                        * (touch((mesh, Pose::IDENTITY), (shape, pose), free + 0.01)
                            .iter()
                            .map(|c| c.gap)
                            .fold(f64::INFINITY, f64::min)
                            + depth);
                    let contacts = touch((mesh, Pose::IDENTITY), (shape, pose), 0.01);
                    assert_single(&contacts, &what);
                    let deepest = contacts
                        .iter()
                        .min_by(|a, b| a.gap.total_cmp(&b.gap))
                        .unwrap_or_else(|| panic!("{what}: none at {depth:e}"));
                    // Where an edge or a vertex was nearest one of its faces takes over: the least
                    // way out is hardly longer (that of round cores is found a little aside), and
                    // never leads on inwards.
                    let right = deepest.gap < 0.0
                        && -deepest.gap < 2.0 * depth
                        && deepest.normal.dot(least.normal) > 0.0;
                    assert!(right, "{what}: depth {depth:e} along {}: {deepest:?}", least.normal);
                }
            }
        }
    }
}
