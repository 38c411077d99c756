//! The solids: cubes on a grid, tori, and one of each convex kind.

use super::cubes::Cubes;
use super::{Random, v};
use glam::DVec3;
use signorini_mechanics::geometry::Shape;
use std::f64::consts::TAU;

/// A table of 4 × 4 squares of 0.25 m, its top at z = 0, on a foot: not convex.
pub fn table() -> Cubes {
    let top = (-2..2).flat_map(|x| (-2..2).map(move |y| [x, y, -1]));
    Cubes::new(top.chain((-2..1).map(|x| [x, -1, -2])), 0.25)
}

/// Stairs along x: treads at z = 0, 0.25, 0.5 that end at x = 0.75, 0, −0.75; 1.5 m wide in y.
pub fn stairs() -> Cubes {
    let step =
        |level: i32, to: i32| (-6..to).flat_map(move |x| (-3..3).map(move |y| [x, y, level]));
    Cubes::new(step(-1, 3).chain(step(0, 0)).chain(step(1, -3)), 0.25)
}

/// A square ring around a hole of 1 m by 1 m, its top at z = 0, 0.25 m high, 2 m across.
pub fn ring() -> Cubes {
    let all = (-4..4).flat_map(|x| (-4..4).map(move |y| [x, y, -1]));
    Cubes::new(all.filter(|c| !((-2..2).contains(&c[0]) && (-2..2).contains(&c[1]))), 0.25)
}

pub fn torus(around: usize, across: usize, major: f64, minor: f64) -> Shape {
    let mut vertices = vec![];
    let mut triangles = vec![];
    for i in 0..around {
        for j in 0..across {
            let (s, c) = (TAU * i as f64 / around as f64).sin_cos();
            let (t, d) = (TAU * j as f64 / across as f64).sin_cos();
            vertices.push(v((major + minor * d) * c, (major + minor * d) * s, minor * t));
            let at = |i: usize, j: usize| ((i % around) * across + j % across) as u32;
            let (a, b, e, f) = (at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1));
            triangles.extend([[a, b, e], [a, e, f]]);
        }
    }
    Shape::Mesh { vertices, triangles }
}

/// A flat square mesh at z = 0 with its solid below, the upper side cut finely: not convex below.
pub fn plane_mesh(half: i32) -> Shape {
    let top = (-half..half).flat_map(|x| (-half..half).map(move |y| [x, y, -1]));
    Cubes::new(top.chain([[0, 0, -2]]), 0.25).shape(2)
}

pub fn block(x: f64, y: f64, z: f64) -> Shape {
    Shape::Box { half_extents: v(x, y, z) }
}

pub fn corners(h: DVec3) -> Vec<DVec3> {
    let sign = |i: u32, bit: u32| if i >> bit & 1 == 0 { -1.0 } else { 1.0 };
    (0..8).map(|i| h * v(sign(i, 0), sign(i, 1), sign(i, 2))).collect()
}

/// One of each convex kind, about 0.3 m across.
pub fn convex_shapes() -> Vec<Shape> {
    let mut random = Random(5);
    let points = (0..14).map(|_| random.vector().normalize() * 0.16).collect();
    vec![
        Shape::Sphere { radius: 0.12 },
        block(0.15, 0.1, 0.08),
        Shape::Capsule { radius: 0.06, half_length: 0.1 },
        Shape::Cylinder { radius: 0.1, half_length: 0.12 },
        Shape::Cone { radius: 0.12, half_length: 0.12 },
        Shape::Hull { points },
    ]
}
