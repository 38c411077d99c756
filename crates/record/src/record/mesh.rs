//! Shapes as triangles: once, for the page, the pictures and the exported files alike.

use glam::DVec3;
use serde::{Deserialize, Serialize};
use signorini_mechanics::geometry::Shape;
use signorini_solve::math::pose::Pose;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Triangles, counter-clockwise seen from outside. Vertices are shared where the surface is smooth,
/// so that the mean of the triangles' normals at a vertex is the normal of the surface there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mesh {
    /// x, y, z of each vertex, m.
    pub positions: Vec<f32>,
    /// Three vertices of each triangle.
    pub triangles: Vec<u32>,
}

impl Mesh {
    /// A vertex.
    pub fn position(&self, i: usize) -> DVec3 {
        DVec3::from_array([0, 1, 2].map(|k| f64::from(self.positions[3 * i + k])))
    }

    /// Whether the triangles speak of vertices that are there.
    pub fn fits(&self) -> bool {
        let vertices = self.positions.len() / 3;
        self.positions.len().is_multiple_of(3)
            && self.triangles.len().is_multiple_of(3)
            && self.triangles.iter().all(|&t| (t as usize) < vertices)
            && self.positions.iter().all(|x| x.is_finite())
    }

    /// Unit normals of the vertices.
    pub fn normals(&self) -> Vec<DVec3> {
        let mut normals = vec![DVec3::ZERO; self.positions.len() / 3];
        for corners in self.triangles.chunks_exact(3) {
            let [a, b, c] = [0, 1, 2].map(|k| self.position(corners[k] as usize));
            let normal = (b - a).cross(c - a);
            corners.iter().for_each(|&i| normals[i as usize] += normal);
        }
        normals.into_iter().map(|n| n.normalize_or(DVec3::Z)).collect()
    }
}

/// A mesh of unit size, and what its axes are to be stretched by.
pub struct Sized {
    /// The same text for the same mesh.
    pub key: String,
    /// Lengths along its axes.
    pub scale: DVec3,
}

/// Corners around a sphere: fewer where there are many spheres.
pub fn fineness(spheres: usize) -> u32 {
    match spheres {
        0..=150 => 32,
        151..=2500 => 20,
        _ => 12,
    }
}

/// A shape, compounds resolved into their parts, each with its pose.
pub fn parts<'a>(pose: Pose, shape: &'a Shape, out: &mut Vec<(Pose, &'a Shape)>) {
    match shape {
        Shape::Compound { parts: list } => {
            list.iter().for_each(|(inner, part)| parts(pose * *inner, part, out))
        }
        _ => out.push((pose, shape)),
    }
}

/// Triangles of all visual meshes together, at most: what a page shows without delay.
const MAX_VISUAL_TRIANGLES: usize = 500_000;

/// How many triangles a visual mesh keeps, so that all together are few enough.
pub fn coarseness(counts: impl Iterator<Item = usize>) -> usize {
    let mut counts: Vec<usize> = counts.collect();
    counts.sort_unstable();
    let mut left = MAX_VISUAL_TRIANGLES;
    for (i, &count) in counts.iter().enumerate() {
        let share = left / (counts.len() - i);
        if count > share {
            return share;
        }
        left -= count;
    }
    usize::MAX
}

/// A mesh of at most so many triangles: vertices in the same cell of a grid become
/// their mean.
pub fn coarser(vertices: &[DVec3], triangles: &[[u32; 3]], most: usize) -> Shape {
    let low = vertices.iter().copied().fold(DVec3::INFINITY, DVec3::min);
    let high = vertices.iter().copied().fold(DVec3::NEG_INFINITY, DVec3::max);
    let size = (high - low).max_element().max(f64::MIN_POSITIVE);
    let mut cells = 512.0;
    loop {
        let mut known: HashMap<[u64; 3], u32> = HashMap::new();
        let mut sums: Vec<(DVec3, f64)> = Vec::new();
        let moved: Vec<u32> = vertices
            .iter()
            .map(|v| {
                let cell = ((*v - low) * (cells / size)).floor().to_array().map(|x| x as u64);
                let place = *known.entry(cell).or_insert_with(|| {
                    sums.push((DVec3::ZERO, 0.0));
                    sums.len() as u32 - 1
                });
                let (sum, count) = &mut sums[place as usize];
                (*sum, *count) = (*sum + *v, *count + 1.0);
                place
            })
            .collect();
        let mut faces: Vec<[u32; 3]> = triangles
            .iter()
            .map(|t| t.map(|i| moved[i as usize]))
            .filter(|[a, b, c]| a != b && b != c && c != a)
            .collect();
        faces.sort_unstable();
        faces.dedup();
        if faces.len() <= most || cells < 2.0 {
            let vertices = sums.iter().map(|(sum, count)| *sum / *count).collect();
            return Shape::Mesh { vertices, triangles: faces };
        }
        cells *= 0.75;
    }
}

/// Which mesh a shape is drawn with. Half-spaces and compounds have none.
pub fn sized(shape: &Shape) -> Option<Sized> {
    let named = |key: &str, scale: DVec3| Some(Sized { key: key.into(), scale });
    match shape {
        Shape::Sphere { radius } => named("sphere", DVec3::splat(*radius)),
        Shape::Box { half_extents } => named("box", *half_extents),
        Shape::Cylinder { radius, half_length } => {
            named("cylinder", DVec3::new(*radius, *radius, *half_length))
        }
        Shape::Cone { radius, half_length } => {
            named("cone", DVec3::new(*radius, *radius, *half_length))
        }
        Shape::Capsule { radius, half_length } => {
            named(&format!("capsule {:?}", half_length / radius), DVec3::splat(*radius))
        }
        Shape::Mesh { vertices, triangles } => {
            let mut hasher = DefaultHasher::new();
            triangles.hash(&mut hasher);
            vertices.iter().for_each(|v| v.to_array().map(f64::to_bits).hash(&mut hasher));
            let (n, m) = (vertices.len(), triangles.len());
            named(&format!("mesh {n} {m} {:x}", hasher.finish()), DVec3::ONE)
        }
        Shape::Hull { .. } | Shape::HeightField { .. } => named(&format!("{shape:?}"), DVec3::ONE),
        Shape::HalfSpace | Shape::Compound { .. } => None,
    }
}

/// The triangles of [`sized`].
pub fn triangles(shape: &Shape, fineness: u32) -> Mesh {
    let (vertices, triangles) = match shape {
        Shape::Sphere { .. } => lathe(fineness, &arc(fineness / 2)),
        Shape::Cylinder { .. } => lathe(32, &[(0.0, -1.0), (1.0, -1.0), (1.0, 1.0), (0.0, 1.0)]),
        Shape::Cone { .. } => lathe(32, &[(0.0, -1.0), (1.0, -1.0), (0.0, 1.0)]),
        Shape::Capsule { radius, half_length } => {
            let rings = arc(16);
            let shift = |(r, z): &(f64, f64), up: f64| (*r, z + up * half_length / radius);
            let (low, high) = (
                rings[..9].iter().map(|p| shift(p, -1.0)),
                rings[8..].iter().map(|p| shift(p, 1.0)),
            );
            lathe(32, &low.chain(high).collect::<Vec<_>>())
        }
        Shape::Box { .. } => cube(),
        Shape::Hull { points } => {
            parry3d_f64::transformation::try_convex_hull(points).unwrap_or_default()
        }
        Shape::Mesh { vertices, triangles } => (vertices.clone(), triangles.clone()),
        Shape::HeightField { counts, spacing, heights } => field(*counts, *spacing, heights),
        Shape::HalfSpace | Shape::Compound { .. } => Default::default(),
    };
    creased(&vertices, &triangles)
}

/// A flat rectangle from −1 to 1 in x and y, seen from above: the drawn part of a half-space.
pub fn plate() -> Mesh {
    creased(
        &[(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)].map(|(x, y)| DVec3::new(x, y, 0.0)),
        &[[0, 1, 2], [0, 2, 3]],
    )
}

/// An arrow along z, one long and slender.
pub fn arrow() -> Mesh {
    let (vertices, triangles) =
        lathe(12, &[(0.0, 0.0), (0.022, 0.0), (0.022, 0.78), (0.065, 0.78), (0.0, 1.0)]);
    creased(&vertices, &triangles)
}

type Triangles = (Vec<DVec3>, Vec<[u32; 3]>);

/// Points (radius, height) of a half circle from the south pole to the north pole.
fn arc(pieces: u32) -> Vec<(f64, f64)> {
    let angle = |i: u32| std::f64::consts::PI * (f64::from(i) / f64::from(pieces) - 0.5);
    (0..=pieces)
        .map(|i| {
            if i == 0 || i == pieces {
                (0.0, angle(i).sin())
            } else {
                (angle(i).cos(), angle(i).sin())
            }
        })
        .collect()
}

/// A profile of (radius, height) from bottom to top, turned about z.
fn lathe(around: u32, profile: &[(f64, f64)]) -> Triangles {
    let (mut vertices, mut rings, mut triangles) = (Vec::new(), Vec::new(), Vec::new());
    for &(r, z) in profile {
        let first = vertices.len() as u32;
        // A ring without radius is one point.
        let count = if r > 0.0 { around } else { 1 };
        vertices.extend((0..count).map(|i| {
            let (sin, cos) = (std::f64::consts::TAU * f64::from(i) / f64::from(around)).sin_cos();
            DVec3::new(r * cos, r * sin, z)
        }));
        rings.push((first, count));
    }
    for pair in rings.windows(2) {
        let at = |(first, count): (u32, u32), i: u32| first + i % count;
        for i in 0..around {
            let [a, b] = [at(pair[0], i), at(pair[0], i + 1)];
            let [d, c] = [at(pair[1], i), at(pair[1], i + 1)];
            triangles.extend(
                [[a, b, c], [a, c, d]]
                    .into_iter()
                    .filter(|t| t[0] != t[1] && t[1] != t[2] && t[2] != t[0]),
            );
        }
    }
    (vertices, triangles)
}

fn cube() -> Triangles {
    let corner =
        |i: u32| DVec3::from_array([0, 1, 2].map(|k| if i >> k & 1 == 1 { 1.0 } else { -1.0 }));
    let faces =
        [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    (
        (0..8).map(corner).collect(),
        faces.iter().flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]).collect(),
    )
}

fn field(counts: [usize; 2], spacing: [f64; 2], heights: &[f64]) -> Triangles {
    let [columns, rows] = counts;
    let place = |i: usize, count: usize, step: f64| (i as f64 - 0.5 * (count as f64 - 1.0)) * step;
    let point = |k: usize| {
        DVec3::new(
            place(k % columns, columns, spacing[0]),
            place(k / columns, rows, spacing[1]),
            heights[k],
        )
    };
    let mut triangles = Vec::new();
    for cell in (0..columns * (rows - 1)).filter(|k| k % columns + 1 < columns) {
        let [a, b, c, d] = [cell, cell + 1, cell + columns, cell + columns + 1].map(|k| k as u32);
        triangles.extend([[a, b, d], [a, d, c]]);
    }
    ((0..heights.len()).map(point).collect(), triangles)
}

/// Vertices are divided where the surface bends by more than this: cos 40°.
const CREASE_COSINE: f64 = 0.766;

fn creased(vertices: &[DVec3], triangles: &[[u32; 3]]) -> Mesh {
    let mut mesh = Mesh::default();
    let mut sides: HashMap<u32, Vec<(DVec3, u32)>> = HashMap::new();
    for corners in triangles {
        let [a, b, c] = corners.map(|i| vertices[i as usize]);
        let normal = (b - a).cross(c - a).normalize_or_zero();
        for &corner in corners {
            let list = sides.entry(corner).or_default();
            let index = match list.iter().find(|(other, _)| other.dot(normal) > CREASE_COSINE) {
                Some((_, index)) => *index,
                None => {
                    let index = mesh.positions.len() as u32 / 3;
                    // Micrometres of a metre: the digits beyond make files large.
                    mesh.positions
                        .extend(vertices[corner as usize].to_array().map(|x| shortened(x as f32)));
                    list.push((normal, index));
                    index
                }
            };
            mesh.triangles.push(index);
        }
    }
    mesh
}

/// The number with 15 bits of mantissa: a shorter text, and nothing that an eye can see.
fn shortened(x: f32) -> f32 {
    f32::from_bits(x.to_bits().saturating_add(0x80) & !0xff)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Volume by the divergence theorem, in the units of the mesh.
    fn volume(mesh: &Mesh) -> f64 {
        let corner = |t: &[u32], k: usize| mesh.position(t[k] as usize);
        mesh.triangles
            .chunks_exact(3)
            .map(|t| corner(t, 0).dot(corner(t, 1).cross(corner(t, 2))) / 6.0)
            .sum()
    }

    #[test]
    fn meshes_are_closed_and_face_outwards() {
        let pi = std::f64::consts::PI;
        let points = vec![DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
        // Inscribed polygons of 32 corners lose 0.6 % of a circle's area, and in both directions
        // 1.3 % of a sphere's volume.
        for (shape, expected, lost) in [
            (Shape::Sphere { radius: 1.0 }, 4.0 / 3.0 * pi, 0.02),
            (Shape::Cylinder { radius: 1.0, half_length: 1.0 }, 2.0 * pi, 0.01),
            (Shape::Cone { radius: 1.0, half_length: 1.0 }, 2.0 * pi / 3.0, 0.01),
            (Shape::Capsule { radius: 1.0, half_length: 2.0 }, 4.0 / 3.0 * pi + 4.0 * pi, 0.02),
            (Shape::Box { half_extents: DVec3::ONE }, 8.0, 1e-12),
            (Shape::Hull { points }, 1.0 / 6.0, 1e-12),
        ] {
            let mesh = triangles(&shape, 32);
            let got = volume(&mesh);
            assert!(
                mesh.fits()
                    && got <= expected * (1.0 + 1e-5)
                    && got >= expected * (1.0 - lost - 1e-5),
                "{shape:?}: {got} {expected}"
            );
        }
    }

    #[test]
    fn edges_are_sharp_and_balls_are_smooth() {
        let cube = triangles(&Shape::Box { half_extents: DVec3::ONE }, 32);
        assert_eq!(cube.positions.len(), 3 * 24);
        let ball = triangles(&Shape::Sphere { radius: 1.0 }, 32);
        for (i, normal) in ball.normals().iter().enumerate() {
            // Normals of neighbouring facets are 180°/16 apart; their weighted mean at a vertex is
            // the radius, within a part of that.
            assert!(normal.dot(ball.position(i).normalize()) > 0.99);
        }
    }
}
