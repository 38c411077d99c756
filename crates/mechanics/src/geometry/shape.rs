//! Shapes, as plain data: clone them, compare them, store them.
//!
//! | shape | where it lies in its own frame |
//! |---|---|
//! | `Sphere` | centre at the origin |
//! | `Box` | centre at the origin, edges along the axes |
//! | `Capsule`, `Cylinder` | axis z, centre at the origin, from −half_length to +half_length (the capsule's two half-balls stand out beyond) |
//! | `Cone` | axis z, base at −half_length, apex at +half_length |
//! | `Hull` | the smallest convex solid that contains the points |
//! | `Mesh` | triangles, counter-clockwise seen from outside; a closed mesh is a solid, an open one a sheet with two faces |
//! | `HalfSpace` | everything with z ≤ 0 |
//! | `HeightField` | z over a grid in x, y, centred at the origin; a sheet that is solid below |
//! | `Compound` | the union of its parts |
//!
//! Lengths are metres. [`Shape::check`] says what is wrong with a shape, and with which number.

use crate::math::pose::Pose;
use glam::DVec3;
use serde::{Deserialize, Serialize};

/// A shape in its own frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A ball.
    Sphere {
        /// Radius, m.
        radius: f64,
    },
    /// A rectangular box.
    Box {
        /// Half the length of its edges, m.
        half_extents: DVec3,
    },
    /// A cylinder with half-balls at its ends.
    Capsule {
        /// Radius, m.
        radius: f64,
        /// Half the distance of the centres of the half-balls, m.
        half_length: f64,
    },
    /// A circular cylinder.
    Cylinder {
        /// Radius, m.
        radius: f64,
        /// Half its length, m.
        half_length: f64,
    },
    /// A circular cone.
    Cone {
        /// Radius of the base, m.
        radius: f64,
        /// Half its height, m.
        half_length: f64,
    },
    /// The convex hull of points.
    Hull {
        /// At least four, not in one plane, m.
        points: Vec<DVec3>,
    },
    /// A triangle mesh.
    Mesh {
        /// Vertices, m.
        vertices: Vec<DVec3>,
        /// Three vertices each, counter-clockwise seen from outside.
        triangles: Vec<[u32; 3]>,
    },
    /// Everything below the plane z = 0.
    HalfSpace,
    /// A surface z(x, y) over a regular grid; solid below.
    HeightField {
        /// Number of grid lines across x and across y, at least 2.
        counts: [usize; 2],
        /// Distance of neighbouring grid lines in x and in y, m.
        spacing: [f64; 2],
        /// Heights, m: x runs fastest (`counts[0] * counts[1]`).
        heights: Vec<f64>,
    },
    /// Several shapes moving as one.
    Compound {
        /// Where each part lies, and what it is.
        parts: Vec<(Pose, Shape)>,
    },
}

/// What is wrong with a shape: the culprit and its value.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Invalid {
    /// A length that is not positive and finite.
    #[error("{shape}: {what} is {value}, wanted a positive length")]
    Length {
        /// Which shape.
        shape: &'static str,
        /// Which length.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// A coordinate that is NaN or infinite.
    #[error("{shape}: {what} {place} has a coordinate {value}, wanted a finite number")]
    NotFinite {
        /// Which shape.
        shape: &'static str,
        /// Which list.
        what: &'static str,
        /// Which entry.
        place: usize,
        /// Its value.
        value: f64,
    },
    /// A list of the wrong length.
    #[error("{shape}: {found} {what}, wanted {wanted}")]
    Count {
        /// Which shape.
        shape: &'static str,
        /// Which list.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        wanted: &'static str,
    },
    /// A triangle that names a vertex that does not exist.
    #[error("mesh: triangle {triangle} names vertex {vertex}, but there are {vertices}")]
    Index {
        /// Which triangle.
        triangle: usize,
        /// The vertex it names.
        vertex: u32,
        /// How many there are.
        vertices: usize,
    },
    /// A triangle without area.
    #[error("mesh: triangle {triangle} has no area")]
    Triangle {
        /// Which triangle.
        triangle: usize,
    },
    /// Points that span no volume.
    #[error(
        "hull: the points lie within {thickness:.3e} m of a plane, {size:.3e} m across: no volume"
    )]
    Flat {
        /// Largest distance from the plane, m.
        thickness: f64,
        /// Size of the point cloud, m.
        size: f64,
    },
    /// A quaternion that is not a rotation.
    #[error("{what} {place}: orientation has length {length}, wanted 1")]
    Orientation {
        /// Which pose.
        what: &'static str,
        /// Which entry.
        place: usize,
        /// Its length.
        length: f64,
    },
    /// A part of a compound.
    #[error("part {part}: {reason}")]
    Part {
        /// Which part.
        part: usize,
        /// What is wrong with it.
        reason: std::boxed::Box<Invalid>,
    },
    /// A shape on a collider.
    #[error("collider {collider}: {reason}")]
    Collider {
        /// Which collider.
        collider: usize,
        /// What is wrong with it.
        reason: std::boxed::Box<Invalid>,
    },
    /// A margin or prediction distance that is negative or not finite.
    #[error("{what} is {value}, wanted a distance of at least zero")]
    Distance {
        /// Which one.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// A surface without an inside, where a volume is wanted.
    #[error("{shape} has no volume: {reason}")]
    Open {
        /// Which shape.
        shape: &'static str,
        /// Why.
        reason: String,
    },
    /// Something the geometry library refuses.
    #[error("{shape}: {reason}")]
    Refused {
        /// Which shape.
        shape: &'static str,
        /// In its words.
        reason: String,
    },
}

impl Shape {
    /// What the shape is called in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Shape::Sphere { .. } => "sphere",
            Shape::Box { .. } => "box",
            Shape::Capsule { .. } => "capsule",
            Shape::Cylinder { .. } => "cylinder",
            Shape::Cone { .. } => "cone",
            Shape::Hull { .. } => "hull",
            Shape::Mesh { .. } => "mesh",
            Shape::HalfSpace => "half-space",
            Shape::HeightField { .. } => "height field",
            Shape::Compound { .. } => "compound",
        }
    }

    /// Says what is wrong with the shape, if anything.
    pub fn check(&self) -> Result<(), Invalid> {
        let shape = self.name();
        match self {
            Shape::Sphere { radius } => length(shape, "radius", *radius),
            Shape::Box { half_extents } => {
                length(shape, "half extent x", half_extents.x)?;
                length(shape, "half extent y", half_extents.y)?;
                length(shape, "half extent z", half_extents.z)
            }
            Shape::Capsule { radius, half_length }
            | Shape::Cylinder { radius, half_length }
            | Shape::Cone { radius, half_length } => {
                length(shape, "radius", *radius)?;
                length(shape, "half length", *half_length)
            }
            Shape::Hull { points } => {
                finite(shape, "point", points)?;
                count(shape, "points", points.len(), points.len() >= 4, "at least 4")?;
                check_thickness(points)
            }
            Shape::Mesh { vertices, triangles } => check_mesh(vertices, triangles),
            Shape::HalfSpace => Ok(()),
            Shape::HeightField { counts, spacing, heights } => {
                count(shape, "grid lines across x", counts[0], counts[0] >= 2, "at least 2")?;
                count(shape, "grid lines across y", counts[1], counts[1] >= 2, "at least 2")?;
                count(
                    shape,
                    "heights",
                    heights.len(),
                    counts[0].checked_mul(counts[1]) == Some(heights.len()),
                    "one per grid point",
                )?;
                length(shape, "spacing in x", spacing[0])?;
                length(shape, "spacing in y", spacing[1])?;
                match heights.iter().position(|height| !height.is_finite()) {
                    Some(place) => Err(Invalid::NotFinite {
                        shape,
                        what: "height",
                        place,
                        value: heights[place],
                    }),
                    None => Ok(()),
                }
            }
            Shape::Compound { parts } => {
                count(shape, "parts", parts.len(), !parts.is_empty(), "at least 1")?;
                parts.iter().enumerate().try_for_each(|(part, (pose, shape))| {
                    check_pose("part", part, pose).and_then(|()| shape.check()).map_err(|reason| {
                        Invalid::Part { part, reason: std::boxed::Box::new(reason) }
                    })
                })
            }
        }
    }
}

/// Says whether a pose is finite and its quaternion unit (to 1e-6, what six printed digits give).
pub(crate) fn check_pose(what: &'static str, place: usize, pose: &Pose) -> Result<(), Invalid> {
    finite("pose", "position", &[pose.position])?;
    let length = pose.orientation.length();
    if length.is_nan() || (length - 1.0).abs() > 1e-6 {
        return Err(Invalid::Orientation { what, place, length });
    }
    Ok(())
}

fn length(shape: &'static str, what: &'static str, value: f64) -> Result<(), Invalid> {
    if value > 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(Invalid::Length { shape, what, value })
    }
}

fn count(
    shape: &'static str,
    what: &'static str,
    found: usize,
    right: bool,
    wanted: &'static str,
) -> Result<(), Invalid> {
    if right { Ok(()) } else { Err(Invalid::Count { shape, what, found, wanted }) }
}

fn finite(shape: &'static str, what: &'static str, points: &[DVec3]) -> Result<(), Invalid> {
    for (place, point) in points.iter().enumerate() {
        if let Some(value) = point.to_array().into_iter().find(|value| !value.is_finite()) {
            return Err(Invalid::NotFinite { shape, what, place, value });
        }
    }
    Ok(())
}

fn check_mesh(vertices: &[DVec3], triangles: &[[u32; 3]]) -> Result<(), Invalid> {
    finite("mesh", "vertex", vertices)?;
    count("mesh", "triangles", triangles.len(), !triangles.is_empty(), "at least 1")?;
    for (triangle, corners) in triangles.iter().enumerate() {
        if let Some(&vertex) = corners.iter().find(|&&vertex| vertex as usize >= vertices.len()) {
            return Err(Invalid::Index { triangle, vertex, vertices: vertices.len() });
        }
        let [a, b, c] = corners.map(|vertex| vertices[vertex as usize]);
        let longest = (b - a).length().max((c - b).length()).max((a - c).length());
        // A height below 1e-12 of the longest side leaves no digit of the normal.
        if (b - a).cross(c - a).length() <= 1e-12 * longest * longest {
            return Err(Invalid::Triangle { triangle });
        }
    }
    Ok(())
}

/// Grows a point, a line and a plane by the farthest point of the cloud; the last distance is its
/// thickness.
fn check_thickness(points: &[DVec3]) -> Result<(), Invalid> {
    let farthest = |distance: &dyn Fn(DVec3) -> f64| {
        points
            .iter()
            .copied()
            .map(|point| (distance(point), point))
            .fold((0.0, points[0]), |best, next| if next.0 > best.0 { next } else { best })
    };
    let origin = points[0];
    let (size, tip) = farthest(&|point| point.distance(origin));
    let line = (tip - origin) / size;
    let (width, side) = farthest(&|point| (point - origin).cross(line).length());
    let normal = line.cross(side - origin).normalize_or_zero();
    let (thickness, _) = farthest(&|point| (point - origin).dot(normal).abs());
    // Below 1e-9 of the size, face normals are rounding noise.
    if width > 1e-9 * size && thickness > 1e-9 * size {
        Ok(())
    } else {
        Err(Invalid::Flat { thickness, size })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tetrahedron() -> Vec<DVec3> {
        vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z]
    }

    #[test]
    fn a_wrong_shape_names_the_culprit() {
        let message = |shape: Shape| shape.check().unwrap_err().to_string();
        assert_eq!(
            message(Shape::Sphere { radius: -1.0 }),
            "sphere: radius is -1, wanted a positive length"
        );
        assert!(
            message(Shape::Box { half_extents: DVec3::new(1.0, f64::NAN, 1.0) })
                .contains("half extent y is NaN")
        );
        assert!(
            message(Shape::Capsule { radius: 1.0, half_length: 0.0 }).contains("half length is 0")
        );
        assert!(
            message(Shape::Cone { radius: f64::INFINITY, half_length: 1.0 })
                .contains("radius is inf")
        );
        assert!(
            message(Shape::Hull { points: vec![DVec3::ZERO; 3] })
                .contains("3 points, wanted at least 4")
        );
        assert!(message(Shape::Hull { points: vec![DVec3::ZERO; 5] }).contains("no volume"));
        let mut flat = tetrahedron();
        flat[3] = DVec3::new(0.3, 0.4, 1e-12);
        assert!(message(Shape::Hull { points: flat }).contains("no volume"));
        let mesh = |triangles| Shape::Mesh { vertices: tetrahedron(), triangles };
        assert!(
            message(mesh(vec![[0, 1, 4]])).contains("triangle 0 names vertex 4, but there are 4")
        );
        assert!(message(mesh(vec![[0, 1, 2], [0, 1, 1]])).contains("triangle 1 has no area"));
        assert!(message(mesh(vec![])).contains("0 triangles"));
        let field = |heights| Shape::HeightField { counts: [2, 2], spacing: [1.0, 1.0], heights };
        assert!(message(field(vec![0.0; 3])).contains("3 heights"));
        assert!(
            message(field(vec![0.0, 0.0, f64::NAN, 0.0])).contains("height 2 has a coordinate NaN")
        );
        assert!(message(Shape::Compound { parts: vec![] }).contains("0 parts"));
        let inner = Shape::Compound {
            parts: vec![
                (Pose::IDENTITY, Shape::HalfSpace),
                (Pose::IDENTITY, Shape::Sphere { radius: 0.0 }),
            ],
        };
        assert!(message(inner).contains("part 1: sphere: radius is 0"));
        let bent =
            Pose { orientation: glam::DQuat::from_xyzw(0.0, 0.0, 0.0, 2.0), ..Pose::IDENTITY };
        assert!(
            message(Shape::Compound { parts: vec![(bent, Shape::HalfSpace)] }).contains("length 2")
        );
    }

    #[test]
    fn right_shapes_pass_and_survive_storage() {
        let shapes = vec![
            Shape::Sphere { radius: 0.5 },
            Shape::Hull { points: tetrahedron() },
            Shape::Mesh { vertices: tetrahedron(), triangles: vec![[0, 2, 1], [0, 1, 3]] },
            Shape::HeightField { counts: [2, 3], spacing: [1.0, 0.1], heights: vec![0.0; 6] },
            Shape::Compound { parts: vec![(Pose::at(DVec3::X), Shape::HalfSpace)] },
        ];
        for shape in shapes {
            shape.check().unwrap();
            let text = serde_json::to_string(&shape).unwrap();
            assert_eq!(serde_json::from_str::<Shape>(&text).unwrap(), shape);
        }
    }
}
