//! Triangle meshes and height fields, prepared for queries.
//!
//! A *one-sided* surface (a closed mesh, a height field) is solid behind its triangles; a *two-sided* one (an open
//! mesh) is a sheet without thickness: keep its collider's margin above zero if fast bodies must not pass through.

use super::shape::Invalid;
use super::weld;
use glam::DVec3;
use parry3d_f64::bounding_volume::Aabb;
use parry3d_f64::query::details::NormalConstraints;
use parry3d_f64::query::{PointQuery, PointQueryWithLocation};
use parry3d_f64::shape::{FeatureId, TriMesh, TriMeshFlags};

/// A mesh, its tree, and its convex edges.
#[derive(Clone, Debug)]
pub(crate) struct Surface {
    mesh: TriMesh,
    pub one_sided: bool,
    edges: Vec<Edge>,
    /// First edge of each triangle, and the end (triangles + 1).
    owned: Vec<u32>,
    /// Mean normal at each vertex.
    pub vertex_normals: Vec<DVec3>,
    /// Whether its vertices move on their own: each of them counts.
    pub soft: bool,
    /// The triangles of a soft boundary by the vertices as given: the prepared mesh numbers its vertices anew.
    given: Vec<[u32; 3]>,
}

/// A convex edge: its ends, and the directions from it into its two faces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub ends: [DVec3; 2],
    inward: [DVec3; 2],
    pub name: u64,
}

/// The nearest point of a surface.
pub(crate) struct Foot {
    pub point: DVec3,
    /// Unit, out of the solid, or towards the point for a sheet.
    pub normal: DVec3,
    /// Negative behind a one-sided surface.
    pub distance: f64,
}

impl Surface {
    pub fn mesh(vertices: &[DVec3], triangles: &[[u32; 3]]) -> Result<Surface, Invalid> {
        let one_sided = weld::check_closed(vertices, triangles).is_ok();
        Surface::new("mesh", vertices.to_vec(), triangles.to_vec(), one_sided)
    }

    /// The closed boundary of a soft body, as its vertices are now.
    pub fn soft(vertices: Vec<DVec3>, triangles: &[[u32; 3]]) -> Result<Surface, Invalid> {
        Ok(Surface { soft: true, given: triangles.to_vec(), ..Surface::new("soft body", vertices, triangles.to_vec(), true)? })
    }

    /// The triangle nearest to a point, and the shares of its corners in the nearest point there.
    pub fn shares(&self, p: DVec3) -> ([u32; 3], [f64; 3]) {
        let (foot, (triangle, _)) = self.mesh.project_local_point_and_get_location(p, false);
        let [a, b, c] = self.triangle(triangle);
        let (u, v, w) = (b - a, c - a, foot.point - a);
        let (uu, uv, vv, wu, wv) = (u.dot(u), u.dot(v), v.dot(v), w.dot(u), w.dot(v));
        let area = (uu * vv - uv * uv).max(f64::MIN_POSITIVE);
        let second = ((vv * wu - uv * wv) / area).clamp(0.0, 1.0);
        let third = ((uu * wv - uv * wu) / area).clamp(0.0, 1.0 - second);
        (self.given[triangle as usize], [1.0 - second - third, second, third])
    }

    /// Two triangles per cell, their normals up.
    pub fn height_field(counts: [usize; 2], spacing: [f64; 2], heights: &[f64]) -> Result<Surface, Invalid> {
        let [columns, rows] = counts;
        let place = |i: usize, count: usize, step: f64| (i as f64 - 0.5 * (count - 1) as f64) * step;
        let vertices = (0..rows).flat_map(|row| {
            let y = place(row, rows, spacing[1]);
            (0..columns).map(move |column| DVec3::new(place(column, columns, spacing[0]), y, heights[row * columns + column]))
        });
        let mut triangles = Vec::with_capacity(2 * (rows - 1) * (columns - 1));
        for row in 0..rows - 1 {
            for column in 0..columns - 1 {
                let [a, b] = [row * columns + column, row * columns + column + 1].map(|i| i as u32);
                let [c, d] = [a + columns as u32, b + columns as u32];
                triangles.extend([[a, b, d], [a, d, c]]);
            }
        }
        Surface::new("height field", vertices.collect(), triangles, true)
    }

    fn new(shape: &'static str, vertices: Vec<DVec3>, triangles: Vec<[u32; 3]>, one_sided: bool) -> Result<Surface, Invalid> {
        let (edges, owned) = convex_edges(&vertices, &triangles);
        let flags =
            if one_sided { TriMeshFlags::FIX_INTERNAL_EDGES | TriMeshFlags::ORIENTED } else { TriMeshFlags::FIX_INTERNAL_EDGES_TWO_SIDED };
        let mesh =
            TriMesh::with_flags(vertices, triangles, flags).map_err(|reason| Invalid::Refused { shape, reason: reason.to_string() })?;
        let mut vertex_normals = vec![DVec3::ZERO; mesh.vertices().len()];
        for (triangle, corners) in mesh.indices().iter().enumerate() {
            let triangle = mesh.triangle(triangle as u32);
            let normal = (triangle.b - triangle.a).cross(triangle.c - triangle.a);
            corners.iter().for_each(|&corner| vertex_normals[corner as usize] += normal);
        }
        vertex_normals.iter_mut().for_each(|normal| *normal = normal.normalize_or_zero());
        Ok(Surface { mesh, one_sided, edges, owned, vertex_normals, soft: false, given: Vec::new() })
    }

    pub fn bounds(&self) -> (DVec3, DVec3) {
        let bounds = self.mesh.local_aabb();
        (bounds.mins, bounds.maxs)
    }

    pub fn vertices(&self) -> &[DVec3] {
        self.mesh.vertices()
    }

    /// The triangles of a soft boundary, as given.
    pub fn given(&self) -> &[[u32; 3]] {
        &self.given
    }

    pub fn triangle(&self, i: u32) -> [DVec3; 3] {
        let triangle = self.mesh.triangle(i);
        [triangle.a, triangle.b, triangle.c]
    }

    /// Triangles whose box meets the given one.
    pub fn triangles_in(&self, low: DVec3, high: DVec3, out: &mut Vec<u32>) {
        out.clear();
        out.extend(self.mesh.bvh().intersect_aabb(&Aabb::new(low, high)));
    }

    /// Turns a direction into the cone that the triangle's neighbours leave to it; `None` if it points behind.
    pub fn allowed(&self, triangle: u32, normal: DVec3) -> Option<DVec3> {
        match self.mesh.triangle_normal_constraints(triangle) {
            Some(constraints) => constraints.project_local_normal(normal),
            None => Some(normal),
        }
    }

    /// The nearest point of the surface.
    pub fn foot(&self, p: DVec3) -> Foot {
        let (projection, feature) = self.mesh.project_local_point_and_get_feature(p);
        let offset = p - projection.point;
        let length = offset.length();
        let face = match feature {
            FeatureId::Face(i) => super::convex::triangle_normal(&self.triangle(i % self.mesh.num_triangles() as u32)),
            _ => DVec3::Z,
        };
        let behind = self.one_sided && projection.is_inside;
        let (low, high) = self.bounds();
        // Closer than rounding the offset has no direction: the face has.
        let normal = if length > 1e-9 * (high - low).length() { offset / if behind { -length } else { length } } else { face };
        Foot { point: projection.point, normal, distance: if behind { -length } else { length } }
    }

    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Convex edges that belong to a triangle.
    pub fn edges_of(&self, triangle: u32) -> &[Edge] {
        &self.edges[self.owned[triangle as usize] as usize..self.owned[triangle as usize + 1] as usize]
    }
}

impl Edge {
    /// Whether the direction lies in the cone between the normals of the two faces.
    pub fn sees(&self, n: DVec3) -> bool {
        // A thousandth: a direction along a face, give or take rounding of the mesh, is seen by both its edges.
        self.inward.iter().all(|inward| inward.dot(n) <= 1e-3)
    }
}

/// Edges where two triangles meet in a ridge; each belongs to its first triangle.
fn convex_edges(vertices: &[DVec3], triangles: &[[u32; 3]]) -> (Vec<Edge>, Vec<u32>) {
    let sides = weld::sides(vertices, triangles);
    let corner = |side: &weld::Side, k: u32| vertices[triangles[side.triangle as usize][((side.side + k) % 3) as usize] as usize];
    let mut found = vec![];
    for group in sides.chunk_by(|a, b| a.edge == b.edge) {
        let [one, other] = group else { continue };
        let ends = [corner(one, 0), corner(one, 1)];
        let along = (ends[1] - ends[0]).normalize();
        let into = |side: &weld::Side| {
            let v = corner(side, 2) - ends[0];
            (v - along * v.dot(along)).normalize_or_zero()
        };
        let inward = [into(one), into(other)];
        let normal = (ends[1] - ends[0]).cross(inward[0]);
        // One degree: flatter ridges carry no edge contact that the faces do not.
        if one.reversed != other.reversed && normal.normalize().dot(inward[1]) < -0.017 {
            let owner = one.triangle.min(other.triangle);
            found.push((owner, Edge { ends, inward, name: (one.edge.0 as u64) << 32 | one.edge.1 as u64 }));
        }
    }
    found.sort_by_key(|&(owner, edge)| (owner, edge.name));
    let mut owned = vec![0u32; triangles.len() + 1];
    found.iter().for_each(|&(owner, _)| owned[owner as usize + 1] += 1);
    for i in 0..triangles.len() {
        owned[i + 1] += owned[i];
    }
    (found.into_iter().map(|(_, edge)| edge).collect(), owned)
}
