//! Solids of cubes on a grid, as meshes: steps, rings, tables, and flat ground cut finely.
#![allow(dead_code)]

use glam::DVec3;
use signorini_mechanics::geometry::Shape;
use std::collections::BTreeMap;

/// The boundary of a union of unit cubes, each outer square in `cut` × `cut` pairs of triangles.
pub struct Cubes {
    cells: Vec<[i32; 3]>,
    unit: f64,
}

impl Cubes {
    pub fn new(cells: impl IntoIterator<Item = [i32; 3]>, unit: f64) -> Cubes {
        Cubes { cells: cells.into_iter().collect(), unit }
    }

    pub fn shape(&self, cut: i32) -> Shape {
        let mut vertices = vec![];
        let mut numbers = BTreeMap::new();
        let mut triangles = vec![];
        for &cell in &self.cells {
            for axis in 0..3 {
                for side in [0, 1] {
                    let mut beyond = cell;
                    beyond[axis] += 2 * side - 1;
                    if self.cells.contains(&beyond) {
                        continue;
                    }
                    let (s, t) = ((axis + 1) % 3, (axis + 2) % 3);
                    for i in 0..cut {
                        for j in 0..cut {
                            let mut corner = |di: i32, dj: i32| {
                                let mut at = cell.map(|x| x * cut);
                                at[axis] += side * cut;
                                at[s] += i + di;
                                at[t] += j + dj;
                                *numbers.entry(at).or_insert_with(|| {
                                    let scale = self.unit / f64::from(cut);
                                    vertices.push(
                                        DVec3::new(
                                            f64::from(at[0]),
                                            f64::from(at[1]),
                                            f64::from(at[2]),
                                        ) * scale,
                                    );
                                    vertices.len() as u32 - 1
                                })
                            };
                            let [a, b, c, d] =
                                [corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)];
                            // Diagonals both ways, so that nothing depends on them.
                            let pair = if (i + j) % 2 == 0 {
                                [[a, b, c], [a, c, d]]
                            } else {
                                [[a, b, d], [b, c, d]]
                            };
                            let outward =
                                |[a, b, c]: [u32; 3]| if side == 1 { [a, b, c] } else { [a, c, b] };
                            triangles.extend(pair.map(outward));
                        }
                    }
                }
            }
        }
        Shape::Mesh { vertices, triangles }
    }

    /// The distance of a point from the union, if it is outside.
    pub fn distance(&self, p: DVec3) -> f64 {
        let to = |cell: &[i32; 3]| {
            let low =
                DVec3::new(f64::from(cell[0]), f64::from(cell[1]), f64::from(cell[2])) * self.unit;
            (low - p).max(p - low - DVec3::splat(self.unit)).max(DVec3::ZERO).length()
        };
        self.cells.iter().map(to).fold(f64::INFINITY, f64::min)
    }

    pub fn contains(&self, p: DVec3) -> bool {
        self.cells.contains(&(p / self.unit).floor().to_array().map(|x| x as i32))
    }
}
