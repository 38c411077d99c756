//! Which vertices of a mesh are one point, and whether its triangles close.

use super::shape::Invalid;
use glam::DVec3;

/// For each vertex, the first vertex with the very same coordinates.
pub(crate) fn same(vertices: &[DVec3]) -> Vec<u32> {
    // Adding zero turns −0 into +0, so that both compare alike.
    let bits = |vertex: u32| (vertices[vertex as usize] + DVec3::ZERO).to_array().map(f64::to_bits);
    let mut order: Vec<u32> = (0..vertices.len() as u32).collect();
    order.sort_by_key(|&vertex| (bits(vertex), vertex));
    let mut first: Vec<u32> = (0..vertices.len() as u32).collect();
    for pair in order.windows(2) {
        if bits(pair[0]) == bits(pair[1]) {
            first[pair[1] as usize] = first[pair[0] as usize];
        }
    }
    first
}

/// One side of a triangle: the edge it lies on, and which triangle's which side it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Side {
    /// The two welded vertices, the smaller first.
    pub edge: (u32, u32),
    /// Whether the triangle runs from the larger to the smaller.
    pub reversed: bool,
    /// The triangle.
    pub triangle: u32,
    /// Which of its sides: from corner `side` to corner `side + 1`.
    pub side: u32,
}

/// All sides of all triangles, sorted by edge.
pub(crate) fn sides(vertices: &[DVec3], triangles: &[[u32; 3]]) -> Vec<Side> {
    let first = same(vertices);
    let mut sides = Vec::with_capacity(3 * triangles.len());
    for (triangle, corners) in triangles.iter().enumerate() {
        for side in 0..3 {
            let (a, b) = (first[corners[side] as usize], first[corners[(side + 1) % 3] as usize]);
            sides.push(Side {
                edge: (a.min(b), a.max(b)),
                reversed: a > b,
                triangle: triangle as u32,
                side: side as u32,
            });
        }
    }
    sides.sort_unstable();
    sides
}

/// Says whether every edge has two triangles that run along it in opposite directions.
pub(crate) fn check_closed(vertices: &[DVec3], triangles: &[[u32; 3]]) -> Result<(), Invalid> {
    let sides = sides(vertices, triangles);
    for group in sides.chunk_by(|a, b| a.edge == b.edge) {
        let ((a, b), triangle) = (group[0].edge, group[0].triangle);
        let reason = match group {
            [one, other] if one.reversed != other.reversed => continue,
            [one, other] => format!(
                "triangles {} and {} disagree on which side of the edge {a}–{b} is out",
                one.triangle, other.triangle
            ),
            [_] => format!("edge {a}–{b} of triangle {triangle} has no neighbour"),
            more => format!("edge {a}–{b} of triangle {triangle} has {} triangles", more.len()),
        };
        return Err(Invalid::Open { shape: "mesh", reason });
    }
    Ok(())
}
