//! Volume, centre and inertia of a shape of unit density.
//!
//! ```text
//!   V = ∫ dx      c = (1/V) ∫ x dx      I = ∫ (|x−c|² 1 − (x−c)(x−c)ᵀ) dx
//! ```
//!
//! Closed forms for the primitives; hulls and closed meshes by tetrahedra from an inner point to
//! each triangle, which is exact for polyhedra (Tonon2004); compounds by summing their parts (parts
//! that overlap count twice). A density times these figures is a mass, and an inertia.

use super::shape::{Invalid, Shape};
use super::weld;
use crate::math::pose::Pose;
use glam::{DMat3, DVec3};
use std::f64::consts::PI;

/// Volume, centre and inertia for unit density.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Volume {
    /// Volume, m³.
    pub volume: f64,
    /// Centre of volume in the shape's frame, m.
    pub center: DVec3,
    /// Inertia about the centre, axes of the shape's frame, m⁵.
    pub inertia: DMat3,
}

impl Volume {
    /// The figures of a shape; an error for shapes without a volume (half-space, height field, open
    /// mesh).
    pub fn of(shape: &Shape) -> Result<Volume, Invalid> {
        shape.check()?;
        match shape {
            Shape::Sphere { radius: r } => {
                Ok(Volume::centered(4.0 / 3.0 * PI * r.powi(3), DVec3::splat(r * r / 5.0)))
            }
            Shape::Box { half_extents: h } => {
                Ok(Volume::centered(8.0 * h.x * h.y * h.z, *h * *h / 3.0))
            }
            Shape::Cylinder { radius: r, half_length: h } => Ok(Volume::centered(
                2.0 * PI * r * r * h,
                DVec3::new(r * r / 4.0, r * r / 4.0, h * h / 3.0),
            )),
            Shape::Capsule { radius, half_length } => Ok(capsule(*radius, *half_length)),
            Shape::Cone { radius: r, half_length: h } => {
                // The centre is a quarter of the height 2h above the base.
                let moments = DVec3::new(0.15 * r * r, 0.15 * r * r, 0.15 * h * h);
                Ok(Volume {
                    center: DVec3::new(0.0, 0.0, -0.5 * h),
                    ..Volume::centered(2.0 / 3.0 * PI * r * r * h, moments)
                })
            }
            Shape::Hull { points } => {
                let (vertices, triangles) =
                    parry3d_f64::transformation::try_convex_hull(points).map_err(|reason| {
                        Invalid::Refused { shape: "hull", reason: reason.to_string() }
                    })?;
                polyhedron("hull", &vertices, &triangles)
            }
            Shape::Mesh { vertices, triangles } => {
                weld::check_closed(vertices, triangles)?;
                polyhedron("mesh", vertices, triangles)
            }
            Shape::HalfSpace => {
                Err(Invalid::Open { shape: "half-space", reason: "it has no end".into() })
            }
            Shape::HeightField { .. } => {
                Err(Invalid::Open { shape: "height field", reason: "it is a surface".into() })
            }
            Shape::Compound { parts } => compound(parts),
        }
    }

    /// The same body seen from the frame that holds its frame at `pose`.
    pub fn moved(&self, pose: &Pose) -> Volume {
        let rotation = pose.rotation();
        Volume {
            volume: self.volume,
            center: pose.point(self.center),
            inertia: rotation * self.inertia * rotation.transpose(),
        }
    }

    /// From the volume and the mean squares of x, y, z about the centre.
    fn centered(volume: f64, squares: DVec3) -> Volume {
        let inertia = volume
            * DVec3::new(squares.y + squares.z, squares.z + squares.x, squares.x + squares.y);
        Volume { volume, center: DVec3::ZERO, inertia: DMat3::from_diagonal(inertia) }
    }
}

/// The sum of several bodies in one frame.
pub fn sum(parts: &[Volume]) -> Volume {
    let volume: f64 = parts.iter().map(|part| part.volume).sum();
    let center = parts.iter().map(|part| part.center * part.volume).sum::<DVec3>() / volume;
    let inertia = parts.iter().fold(DMat3::ZERO, |sum, part| {
        sum + part.inertia + steiner(part.volume, part.center - center)
    });
    Volume { volume, center, inertia }
}

/// What a mass at a distance adds to the inertia: m (|d|² 1 − d dᵀ).
pub fn steiner(mass: f64, d: DVec3) -> DMat3 {
    (DMat3::from_diagonal(DVec3::splat(d.length_squared())) - outer(d, d)) * mass
}

fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}

fn capsule(r: f64, h: f64) -> Volume {
    let (tube, ball) = (2.0 * PI * r * r * h, 4.0 / 3.0 * PI * r.powi(3));
    let volume = tube + ball;
    let across = (tube * r * r / 4.0 + ball * r * r / 5.0) / volume;
    // Each half-ball: its centre is 3/8 r beyond the end of the tube; ∫z² over both is ball (r²/5 +
    // 3/4 r h + h²).
    let along = (tube * h * h / 3.0 + ball * (r * r / 5.0 + 0.75 * r * h + h * h)) / volume;
    Volume::centered(volume, DVec3::new(across, across, along))
}

fn compound(parts: &[(Pose, Shape)]) -> Result<Volume, Invalid> {
    let volumes: Result<Vec<Volume>, Invalid> = parts
        .iter()
        .enumerate()
        .map(|(part, (pose, shape))| match Volume::of(shape) {
            Ok(volume) => Ok(volume.moved(pose)),
            Err(reason) => Err(Invalid::Part { part, reason: std::boxed::Box::new(reason) }),
        })
        .collect();
    Ok(sum(&volumes?))
}

fn polyhedron(
    shape: &'static str,
    vertices: &[DVec3],
    triangles: &[[u32; 3]],
) -> Result<Volume, Invalid> {
    // An origin among the vertices keeps the tetrahedra small, and the sums accurate.
    let origin = vertices.iter().sum::<DVec3>() / vertices.len() as f64;
    let (mut volume, mut first, mut second) = (0.0, DVec3::ZERO, DMat3::ZERO);
    for triangle in triangles {
        let [a, b, c] = triangle.map(|vertex| vertices[vertex as usize] - origin);
        let six = a.dot(b.cross(c));
        let sum = a + b + c;
        volume += six / 6.0;
        first += sum * (six / 24.0);
        second += (outer(sum, sum) + outer(a, a) + outer(b, b) + outer(c, c)) * (six / 120.0);
    }
    if volume.is_nan() || volume <= 0.0 {
        let reason = format!(
            "its signed volume is {volume:.3e} m³; are its triangles clockwise seen from outside?"
        );
        return Err(Invalid::Open { shape, reason });
    }
    let center = first / volume;
    let about_center = second - outer(center, center) * volume;
    let trace = about_center.x_axis.x + about_center.y_axis.y + about_center.z_axis.z;
    Ok(Volume {
        volume,
        center: origin + center,
        inertia: DMat3::from_diagonal(DVec3::splat(trace)) - about_center,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: &Volume, b: &Volume, tolerance: f64) -> bool {
        let size =
            b.inertia.x_axis.x.abs().max(b.inertia.y_axis.y.abs()).max(b.inertia.z_axis.z.abs());
        (a.volume - b.volume).abs() <= tolerance * b.volume
            && a.center.distance(b.center) <= tolerance * b.volume.cbrt()
            && (0..3).all(|i| (a.inertia.col(i) - b.inertia.col(i)).length() <= tolerance * size)
    }

    /// Points of a surface of revolution about z, as a hull: radius at each height.
    fn revolved(profile: &[(f64, f64)], around: usize) -> Shape {
        let points = profile.iter().flat_map(|&(radius, z)| {
            (0..around).map(move |i| {
                let (sine, cosine) = (i as f64 * 2.0 * PI / around as f64).sin_cos();
                DVec3::new(radius * cosine, radius * sine, z)
            })
        });
        Shape::Hull { points: points.collect() }
    }

    fn box_mesh(half: DVec3) -> (Vec<DVec3>, Vec<[u32; 3]>) {
        let vertices = (0..8)
            .map(|i| {
                half * DVec3::new(
                    (2 * (i & 1)) as f64 - 1.0,
                    (i & 2) as f64 - 1.0,
                    (i & 4) as f64 / 2.0 - 1.0,
                )
            })
            .collect();
        let quads =
            [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        (vertices, quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect())
    }

    #[test]
    fn closed_forms_are_the_limits_of_fine_polyhedra() {
        // A polygon of 400 sides misses the circle by (2π/400)²/6 = 4e-5 of its area, of its
        // inertia by twice that.
        let tolerance = 1.5e-4;
        let (r, h) = (0.3, 0.5);
        let of = |shape: &Shape| Volume::of(shape).unwrap();
        assert!(close(
            &of(&revolved(&[(r, -h), (r, h)], 400)),
            &of(&Shape::Cylinder { radius: r, half_length: h }),
            tolerance
        ));
        assert!(close(
            &of(&revolved(&[(r, -h), (1e-9, h)], 400)),
            &of(&Shape::Cone { radius: r, half_length: h }),
            tolerance
        ));
        // A capsule's ends in 60 rings.
        let ring = |i: usize| (i as f64 + 0.5) / 60.0 * PI / 2.0;
        let upper = (0..60).map(|i| (r * ring(i).cos(), h + r * ring(i).sin()));
        let profile: Vec<(f64, f64)> = upper.flat_map(|(x, z)| [(x, z), (x, -z)]).collect();
        assert!(close(
            &of(&revolved(&profile, 120)),
            &of(&Shape::Capsule { radius: r, half_length: h }),
            2e-3
        ));
        // A sphere is a capsule of no length.
        assert!(close(
            &of(&Shape::Capsule { radius: r, half_length: 1e-12 }),
            &of(&Shape::Sphere { radius: r }),
            1e-10
        ));
    }

    #[test]
    fn a_box_as_hull_as_mesh_and_as_compound_is_a_box() {
        let half = DVec3::new(0.3, 0.5, 0.2);
        let exact = Volume::of(&Shape::Box { half_extents: half }).unwrap();
        assert!(
            (exact.volume - 0.24).abs() < 1e-15
                && (exact.inertia.x_axis.x - 0.24 * (1.0 + 0.16) / 12.0).abs() < 1e-16
        );
        let (vertices, triangles) = box_mesh(half);
        // Far from the origin the sums keep their digits.
        let pose = Pose::turned(DVec3::new(10.0, -20.0, 5.0), DVec3::new(0.3, 0.2, -1.0));
        let away: Vec<DVec3> = vertices.iter().map(|&vertex| pose.point(vertex)).collect();
        let mesh =
            Volume::of(&Shape::Mesh { vertices: away.clone(), triangles: triangles.clone() })
                .unwrap();
        assert!(close(&mesh, &exact.moved(&pose), 1e-12), "{mesh:?}");
        assert!(close(
            &Volume::of(&Shape::Hull { points: away }).unwrap(),
            &exact.moved(&pose),
            1e-12
        ));
        let quarter = Shape::Box { half_extents: DVec3::new(0.15, 0.5, 0.2) };
        let halves = vec![
            (pose * Pose::at(DVec3::X * 0.15), quarter.clone()),
            (pose * Pose::at(DVec3::X * -0.15), quarter),
        ];
        assert!(close(
            &Volume::of(&Shape::Compound { parts: halves }).unwrap(),
            &exact.moved(&pose),
            1e-12
        ));
    }

    #[test]
    fn what_has_no_volume_says_why() {
        let message = |shape: Shape| Volume::of(&shape).unwrap_err().to_string();
        let (vertices, mut triangles) = box_mesh(DVec3::ONE);
        let inside_out = triangles.iter().map(|&[a, b, c]| [a, c, b]).collect();
        assert!(
            message(Shape::Mesh { vertices: vertices.clone(), triangles: inside_out })
                .contains("signed volume is -8")
        );
        triangles[4].swap(0, 1);
        assert!(
            message(Shape::Mesh { vertices: vertices.clone(), triangles: triangles.clone() })
                .contains("disagree")
        );
        triangles.remove(4);
        assert!(message(Shape::Mesh { vertices, triangles }).contains("has no neighbour"));
        assert!(message(Shape::HalfSpace).contains("no end"));
        assert!(
            message(Shape::Compound { parts: vec![(Pose::IDENTITY, Shape::HalfSpace)] })
                .contains("part 0")
        );
    }
}
