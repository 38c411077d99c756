//! Rays: how far something is along a line.

use super::collider::Collider;
use super::shape::Shape;
use crate::math::pose::Pose;
use glam::DVec3;
use parry3d_f64::math::Vector;
use parry3d_f64::query::{Ray, RayCast};
use parry3d_f64::shape::{Ball, Capsule, Cone, ConvexPolyhedron, Cuboid, Cylinder, TriMesh};

/// Colliders prepared for rays.
pub struct RayCaster {
    pieces: Vec<Piece>,
}

struct Piece {
    collider: u32,
    body: u32,
    pose: Pose,
    target: Target,
}

enum Target {
    /// Everything below z = 0.
    HalfSpace,
    Shape(Box<dyn RayCast + Send + Sync>),
}

impl RayCaster {
    /// Prepares colliders. Soft boundaries are not seen.
    pub fn new(colliders: &[Collider]) -> RayCaster {
        let mut pieces = Vec::new();
        for (i, collider) in colliders.iter().enumerate().filter(|(_, c)| !c.soft) {
            add(&collider.shape, collider.pose_in_body, (i as u32, collider.body), &mut pieces);
        }
        RayCaster { pieces }
    }

    /// How far a ray goes (m) until it meets a collider of a body that is `seen`, and which one;
    /// none within `reach`.
    pub fn cast(
        &self,
        bodies: &[Pose],
        (origin, direction): (DVec3, DVec3),
        reach: f64,
        seen: &dyn Fn(u32) -> bool,
    ) -> Option<(f64, u32)> {
        let mut nearest: Option<(f64, u32)> = None;
        for piece in self.pieces.iter().filter(|p| seen(p.body)) {
            let pose = bodies[piece.body as usize] * piece.pose;
            let (from, along) = (pose.inverse_point(origin), pose.inverse_vector(direction));
            let most = nearest.map_or(reach, |n| n.0);
            let hit = match &piece.target {
                Target::HalfSpace if from.z <= 0.0 => Some(0.0),
                Target::HalfSpace => {
                    Some(-from.z / along.z).filter(|t| along.z < 0.0 && *t <= most)
                }
                Target::Shape(shape) => {
                    shape.cast_local_ray(&Ray::new(vector(from), vector(along)), most, true)
                }
            };
            if let Some(distance) = hit.filter(|t| nearest.is_none_or(|n| *t < n.0)) {
                nearest = Some((distance, piece.collider));
            }
        }
        nearest
    }
}

fn vector(v: DVec3) -> Vector {
    Vector::new(v.x, v.y, v.z)
}

fn add(shape: &Shape, pose: Pose, (collider, body): (u32, u32), pieces: &mut Vec<Piece>) {
    let vectors = |list: &[DVec3]| list.iter().map(|p| vector(*p)).collect::<Vec<_>>();
    // Cylinders and cones lie along y there.
    let along_y = |up: bool| Pose {
        orientation: glam::DQuat::from_rotation_arc(
            DVec3::Y,
            if up { DVec3::Z } else { DVec3::NEG_Z },
        ),
        ..Pose::IDENTITY
    };
    let (turn, target): (Pose, Option<Target>) = match shape {
        Shape::Sphere { radius } => (Pose::IDENTITY, boxed(Ball::new(*radius))),
        Shape::Box { half_extents } => (Pose::IDENTITY, boxed(Cuboid::new(vector(*half_extents)))),
        Shape::Capsule { radius, half_length } => {
            (Pose::IDENTITY, boxed(Capsule::new_z(*half_length, *radius)))
        }
        Shape::Cylinder { radius, half_length } => {
            (along_y(true), boxed(Cylinder::new(*half_length, *radius)))
        }
        Shape::Cone { radius, half_length } => {
            (along_y(true), boxed(Cone::new(*half_length, *radius)))
        }
        Shape::Hull { points } => {
            (Pose::IDENTITY, ConvexPolyhedron::from_convex_hull(&vectors(points)).and_then(boxed))
        }
        Shape::Mesh { vertices, triangles } => (
            Pose::IDENTITY,
            TriMesh::new(vectors(vertices), triangles.clone()).ok().and_then(boxed),
        ),
        Shape::HalfSpace => (Pose::IDENTITY, Some(Target::HalfSpace)),
        Shape::HeightField { counts, spacing, heights } => {
            let (vertices, triangles) = grid(*counts, *spacing, heights);
            (Pose::IDENTITY, TriMesh::new(vectors(&vertices), triangles).ok().and_then(boxed))
        }
        Shape::Compound { parts } => {
            parts.iter().for_each(|(at, part)| add(part, pose * *at, (collider, body), pieces));
            return;
        }
    };
    pieces.extend(target.map(|target| Piece { collider, body, pose: pose * turn, target }));
}

fn boxed(shape: impl RayCast + Send + Sync + 'static) -> Option<Target> {
    Some(Target::Shape(Box::new(shape)))
}

/// The triangles of a height field.
fn grid([nx, ny]: [usize; 2], [dx, dy]: [f64; 2], heights: &[f64]) -> (Vec<DVec3>, Vec<[u32; 3]>) {
    let middle = |n: usize, d: f64| 0.5 * d * (n as f64 - 1.0);
    let place = |i: usize, j: usize| {
        DVec3::new(
            i as f64 * dx - middle(nx, dx),
            j as f64 * dy - middle(ny, dy),
            heights[j * nx + i],
        )
    };
    let vertices =
        (0..ny).flat_map(|j| (0..nx).map(move |i| (i, j))).map(|(i, j)| place(i, j)).collect();
    let at = |i: usize, j: usize| (j * nx + i) as u32;
    let cells = (0..ny - 1).flat_map(|j| (0..nx - 1).map(move |i| (i, j)));
    let triangles = cells
        .flat_map(|(i, j)| {
            [[at(i, j), at(i + 1, j), at(i + 1, j + 1)], [at(i, j), at(i + 1, j + 1), at(i, j + 1)]]
        })
        .collect();
    (vertices, triangles)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(shape: Shape, origin: DVec3, direction: DVec3) -> Option<f64> {
        let rays = RayCaster::new(&[Collider::new(0, shape)]);
        rays.cast(&[Pose::IDENTITY], (origin, direction.normalize()), 10.0, &|_| true)
            .map(|hit| hit.0)
    }

    #[test]
    fn every_shape_is_met_where_it_is() {
        let from = |x, y, z| DVec3::new(x, y, z);
        let down = DVec3::NEG_Z;
        let near = |found: Option<f64>, wanted: f64| {
            assert!((found.unwrap() - wanted).abs() < 1e-9, "{found:?} {wanted}")
        };
        near(distance(Shape::Sphere { radius: 1.0 }, from(0.0, 0.6, 3.0), down), 3.0 - 0.8);
        near(
            distance(Shape::Box { half_extents: from(1.0, 2.0, 0.5) }, from(0.9, -1.9, 3.0), down),
            2.5,
        );
        near(
            distance(Shape::Capsule { radius: 0.5, half_length: 1.0 }, from(0.0, 0.0, 3.0), down),
            1.5,
        );
        near(
            distance(Shape::Cylinder { radius: 0.5, half_length: 1.0 }, from(0.4, 0.0, 3.0), down),
            2.0,
        );
        near(
            distance(
                Shape::Cylinder { radius: 0.5, half_length: 1.0 },
                from(3.0, 0.0, 0.9),
                DVec3::NEG_X,
            ),
            2.5,
        );
        // The apex is at +1: halfway between axis and rim the cone is half as high.
        near(
            distance(Shape::Cone { radius: 0.5, half_length: 1.0 }, from(0.25, 0.0, 3.0), down),
            3.0,
        );
        near(distance(Shape::HalfSpace, from(5.0, 0.0, 3.0), down), 3.0);
        assert_eq!(distance(Shape::HalfSpace, from(5.0, 0.0, 3.0), DVec3::Z), None);
        let tetrahedron = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        near(distance(Shape::Hull { points: tetrahedron }, from(0.25, 0.25, 3.0), down), 2.5);
        let field = Shape::HeightField {
            counts: [2, 2],
            spacing: [2.0, 2.0],
            heights: vec![0.0, 1.0, 0.0, 1.0],
        };
        near(distance(field, from(0.0, 0.1, 3.0), down), 2.5);
        assert_eq!(distance(Shape::Sphere { radius: 1.0 }, from(0.0, 1.1, 3.0), down), None);
        assert_eq!(distance(Shape::Sphere { radius: 1.0 }, from(0.0, 0.0, 30.0), down), None);
    }
}
