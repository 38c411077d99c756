//! Triangle meshes and height fields, prepared for queries.
//!
//! A *one-sided* surface (a closed mesh, a height field) is solid behind its triangles; a
//! *two-sided* one (an open mesh) is a sheet without thickness: keep its collider's margin above
//! zero if fast bodies must not pass through.
//!
//! How it is triangulated is forgotten here as far as it can be:
//!
//! 1. Vertices with the very same coordinates become one ([`weld`]).
//! 2. Neighbouring triangles in one plane become one [`Face`], with one normal and one offset.
//! 3. A side between two faces is a ridge or a valley, at the end of the surface a rim ([`Bend`]).
//!    Only ridges and rims ([`Edge`]) and their ends can be touched; what touches a valley touches
//!    the faces beside it.

mod edge;
mod foot;
mod triangle;

pub(crate) use edge::Edge;
pub(crate) use foot::Foot;
pub(crate) use triangle::Place;

use super::shape::Invalid;
use super::weld;
use glam::DVec3;
use parry3d_f64::bounding_volume::Aabb;
use parry3d_f64::partitioning::{Bvh, BvhBuildStrategy};

/// A mesh, its tree, its faces and its edges.
#[derive(Clone, Debug)]
pub(crate) struct Surface {
    vertices: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    /// The triangle beyond each side, or `NONE`.
    beyond: Vec<[u32; 3]>,
    panels: Vec<Panel>,
    faces: Vec<Face>,
    tree: Bvh,
    edges: Vec<Edge>,
    /// First edge of each triangle, and the end (triangles + 1).
    owned: Vec<u32>,
    /// First triangle at each vertex in `fans`, and the end (vertices + 1).
    fan_starts: Vec<u32>,
    fans: Vec<u32>,
    /// Whether a ridge or a rim ends at each vertex.
    sharp: Vec<bool>,
    /// Whether each vertex is [`Surface::blunt`].
    blunt: Vec<bool>,
    /// Mean normal at each vertex.
    pub vertex_normals: Vec<DVec3>,
    /// Whether it is solid behind its triangles.
    pub one_sided: bool,
    /// Whether every side has a neighbour.
    pub closed: bool,
    /// Whether its vertices move on their own: each of them counts.
    pub soft: bool,
    /// The triangles of a soft boundary by the vertices as given.
    given: Vec<[u32; 3]>,
}

/// A triangle: the face it belongs to, and what lies beyond its sides.
#[derive(Clone, Copy, Debug)]
struct Panel {
    face: u32,
    /// Unit vectors across the sides, in the plane of the face, out of the triangle.
    out: [DVec3; 3],
    bends: [Bend; 3],
}

/// All triangles of one plane that hang together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Face {
    /// Unit, out of the solid.
    pub normal: DVec3,
    /// `normal · x` of its points, m.
    pub offset: f64,
}

/// How a surface goes on beyond the side of a triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bend {
    Flat,
    Ridge,
    Valley,
    Rim,
}

/// No triangle.
const NONE: u32 = u32::MAX;

/// Vertices this part of the size off a plane still belong to it: what single precision, in which
/// most files are written, leaves of a plane.
const COPLANAR_DISTANCE_RATIO: f64 = 3e-7;

/// Faces that meet at a smaller angle (rad) have no edge between them.
const MIN_EDGE_ANGLE: f64 = 1e-6;

/// A convex mesh of at most this many faces is a hull: its methods look at all faces.
const HULL_FACES: usize = 512;

impl Surface {
    pub fn mesh(vertices: &[DVec3], triangles: &[[u32; 3]]) -> Result<Surface, Invalid> {
        let closed = weld::check_closed(vertices, triangles).is_ok();
        Surface::new("mesh", vertices, triangles, closed)
    }

    /// The closed boundary of a soft body, as its vertices are now.
    pub fn soft(vertices: &[DVec3], triangles: &[[u32; 3]]) -> Result<Surface, Invalid> {
        check(triangles.len(), "soft body")?;
        let mut surface = Surface::empty(vertices.to_vec(), triangles.to_vec(), true);
        (surface.soft, surface.given) = (true, triangles.to_vec());
        surface.connect();
        surface.lay();
        Ok(surface)
    }

    /// The same boundary with its vertices elsewhere.
    pub fn moved(&self, vertices: Vec<DVec3>) -> Surface {
        let mut surface = Surface { vertices, ..self.clone() };
        surface.lay();
        surface
    }

    /// Two triangles per cell, their normals up.
    pub fn height_field(
        counts: [usize; 2],
        spacing: [f64; 2],
        heights: &[f64],
    ) -> Result<Surface, Invalid> {
        let [columns, rows] = counts;
        let place =
            |i: usize, count: usize, step: f64| (i as f64 - 0.5 * (count - 1) as f64) * step;
        let mut vertices = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            let y = place(row, rows, spacing[1]);
            let at = |column| {
                DVec3::new(place(column, columns, spacing[0]), y, heights[row * columns + column])
            };
            vertices.extend((0..columns).map(at));
        }
        let mut triangles = Vec::with_capacity(2 * (rows - 1) * (columns - 1));
        for row in 0..rows - 1 {
            for column in 0..columns - 1 {
                let [a, b] = [row * columns + column, row * columns + column + 1].map(|i| i as u32);
                let [c, d] = [a + columns as u32, b + columns as u32];
                triangles.extend([[a, b, d], [a, d, c]]);
            }
        }
        Surface::new("height field", &vertices, &triangles, true)
    }

    fn empty(vertices: Vec<DVec3>, triangles: Vec<[u32; 3]>, one_sided: bool) -> Surface {
        Surface {
            vertices,
            triangles,
            beyond: vec![],
            panels: vec![],
            faces: vec![],
            tree: Bvh::new(),
            edges: vec![],
            owned: vec![],
            fan_starts: vec![],
            fans: vec![],
            sharp: vec![],
            blunt: vec![],
            vertex_normals: vec![],
            one_sided,
            closed: false,
            soft: false,
            given: vec![],
        }
    }

    fn new(
        shape: &'static str,
        vertices: &[DVec3],
        triangles: &[[u32; 3]],
        one_sided: bool,
    ) -> Result<Surface, Invalid> {
        check(triangles.len(), shape)?;
        // Welded vertices, those that are used, numbered anew.
        let first = weld::same(vertices);
        let mut number = vec![NONE; vertices.len()];
        let mut kept = vec![];
        let mut renamed = |corner: u32| {
            let corner = first[corner as usize] as usize;
            if number[corner] == NONE {
                number[corner] = kept.len() as u32;
                kept.push(vertices[corner]);
            }
            number[corner]
        };
        let triangles = triangles.iter().map(|corners| corners.map(&mut renamed)).collect();
        let mut surface = Surface::empty(kept, triangles, one_sided);
        surface.connect();
        surface.lay();
        Ok(surface)
    }

    /// Who is whose neighbour.
    fn connect(&mut self) {
        self.beyond = vec![[NONE; 3]; self.triangles.len()];
        self.closed = true;
        for group in weld::sides(&self.vertices, &self.triangles).chunk_by(|a, b| a.edge == b.edge)
        {
            match group {
                [one, other] if one.reversed != other.reversed => {
                    self.beyond[one.triangle as usize][one.side as usize] = other.triangle;
                    self.beyond[other.triangle as usize][other.side as usize] = one.triangle;
                }
                _ => self.closed = false,
            }
        }
        let mut starts = vec![0u32; self.vertices.len() + 1];
        self.triangles.iter().flatten().for_each(|&corner| starts[corner as usize + 1] += 1);
        for i in 0..self.vertices.len() {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        self.fans = vec![0; 3 * self.triangles.len()];
        for (triangle, corners) in self.triangles.iter().enumerate() {
            for &corner in corners {
                self.fans[next[corner as usize] as usize] = triangle as u32;
                next[corner as usize] += 1;
            }
        }
        self.fan_starts = starts;
    }

    /// Faces, sides, edges and the tree, from where the vertices are.
    fn lay(&mut self) {
        let normals: Vec<DVec3> = (0..self.triangles.len() as u32).map(|i| self.cross(i)).collect();
        let face_of = self.merge(&normals);
        let (vertices, triangles) = (&self.vertices, &self.triangles);
        self.panels.clear();
        self.edges.clear();
        self.owned.clear();
        self.owned.push(0);
        self.sharp.clear();
        self.sharp.resize(vertices.len(), false);
        self.vertex_normals.clear();
        self.vertex_normals.resize(vertices.len(), DVec3::ZERO);
        for (i, corners) in triangles.iter().enumerate() {
            let points = corners.map(|corner| vertices[corner as usize]);
            let normal = self.faces[face_of[i] as usize].normal;
            let mut panel =
                Panel { face: face_of[i], out: [DVec3::ZERO; 3], bends: [Bend::Rim; 3] };
            for k in 0..3 {
                let along = points[(k + 1) % 3] - points[k];
                panel.out[k] = along.cross(normal).normalize_or_zero();
                let before = (points[(k + 2) % 3] - points[k]).normalize_or_zero();
                let angle = along.normalize_or_zero().dot(before).clamp(-1.0, 1.0).acos();
                self.vertex_normals[corners[k] as usize] += normal * angle;
                let other = self.beyond[i][k];
                let ends = [corners[k], corners[(k + 1) % 3]];
                let mut inward = [-panel.out[k]; 2];
                if other == NONE {
                    // Solid lies behind the rim of a one-sided surface too.
                    inward[1] = if self.one_sided { -normal } else { inward[0] };
                } else {
                    let far =
                        triangles[other as usize].iter().find(|corner| !ends.contains(corner));
                    let into = far.map_or(inward[0], |&far| {
                        let (unit, v) =
                            (along.normalize_or_zero(), vertices[far as usize] - points[k]);
                        (v - unit * v.dot(unit)).normalize_or_zero()
                    });
                    let bend = normal.dot(into);
                    panel.bends[k] = match () {
                        () if face_of[i] == face_of[other as usize]
                            || bend.abs() <= MIN_EDGE_ANGLE =>
                        {
                            Bend::Flat
                        }
                        // From below a valley of a sheet is a ridge.
                        () if bend < 0.0 || !self.one_sided => Bend::Ridge,
                        () => Bend::Valley,
                    };
                    inward[1] = into;
                }
                if matches!(panel.bends[k], Bend::Flat | Bend::Valley) {
                    continue;
                }
                ends.iter().for_each(|&end| self.sharp[end as usize] = true);
                if (i as u32) < other {
                    let name = (ends[0].min(ends[1]) as u64) << 32 | ends[0].max(ends[1]) as u64;
                    let points = ends.map(|end| vertices[end as usize]);
                    self.edges.push(Edge { ends: points, vertices: ends, inward, name });
                }
            }
            self.panels.push(panel);
            self.owned.push(self.edges.len() as u32);
        }
        self.vertex_normals.iter_mut().for_each(|normal| *normal = normal.normalize_or_zero());
        let falls =
            |vertex: u32| self.vertex_sees(vertex, -self.vertex_normals[vertex as usize], 0.55);
        self.blunt = (0..vertices.len() as u32).map(falls).collect();
        let boxes: Vec<Aabb> = triangles
            .iter()
            .map(|corners| {
                let [a, b, c] = corners.map(|corner| vertices[corner as usize]);
                Aabb::new(a.min(b).min(c), a.max(b).max(c))
            })
            .collect();
        self.tree = Bvh::from_leaves(BvhBuildStrategy::Binned, &boxes);
    }

    /// Which triangle belongs to which face; fills `faces`. A face grows from its largest triangle.
    fn merge(&mut self, normals: &[DVec3]) -> Vec<u32> {
        let unit = |i: usize| normals[i].normalize_or(DVec3::Z);
        self.faces.clear();
        if self.soft {
            for (i, corners) in self.triangles.iter().enumerate() {
                let offset = unit(i).dot(self.vertices[corners[0] as usize]);
                self.faces.push(Face { normal: unit(i), offset });
            }
            return (0..self.triangles.len() as u32).collect();
        }
        let (low, high) = bounds(&self.vertices);
        let near = COPLANAR_DISTANCE_RATIO * (high - low).length();
        let mut order: Vec<u32> = (0..self.triangles.len() as u32).collect();
        order.sort_by(|&a, &b| {
            normals[b as usize].length_squared().total_cmp(&normals[a as usize].length_squared())
        });
        let mut face_of = vec![NONE; self.triangles.len()];
        let mut front = vec![];
        for seed in order {
            if face_of[seed as usize] != NONE {
                continue;
            }
            let face = self.faces.len() as u32;
            let origin = self.vertices[self.triangles[seed as usize][0] as usize];
            let normal = unit(seed as usize);
            let mut sum = DVec3::ZERO;
            face_of[seed as usize] = face;
            front.push(seed);
            while let Some(triangle) = front.pop() {
                sum += normals[triangle as usize];
                for &other in self.beyond[triangle as usize].iter().filter(|&&other| other != NONE)
                {
                    let corners =
                        self.triangles[other as usize].map(|corner| self.vertices[corner as usize]);
                    let flat =
                        corners.iter().all(|&corner| (corner - origin).dot(normal).abs() <= near);
                    // A thousandth of a radian: slivers have poor normals, folds have others.
                    if face_of[other as usize] == NONE
                        && flat
                        && unit(other as usize).dot(normal) > 1.0 - 1e-6
                    {
                        face_of[other as usize] = face;
                        front.push(other);
                    }
                }
            }
            let normal = sum.normalize_or(normal);
            self.faces.push(Face { normal, offset: normal.dot(origin) });
        }
        face_of
    }

    fn cross(&self, triangle: u32) -> DVec3 {
        let [a, b, c] = self.triangle(triangle);
        (b - a).cross(c - a)
    }

    /// The corners of a closed convex mesh, if it is one and has no more faces than a hull may
    /// have.
    pub fn convex_corners(&self) -> Option<Vec<DVec3>> {
        let valley = |panel: &Panel| panel.bends.contains(&Bend::Valley);
        if !self.closed
            || !self.one_sided
            || self.faces.len() > HULL_FACES
            || self.panels.iter().any(valley)
        {
            return None;
        }
        let (low, high) = self.bounds();
        let near = COPLANAR_DISTANCE_RATIO * (high - low).length();
        let mut meeting = vec![0u8; self.vertices.len()];
        for edge in &self.edges {
            edge.vertices
                .iter()
                .for_each(|&v| meeting[v as usize] = meeting[v as usize].saturating_add(1));
        }
        // Where two edges meet a long one was divided.
        let corners = self.vertices.iter().zip(meeting).filter(|(_, edges)| *edges > 2);
        let corners: Vec<DVec3> = corners.map(|(&vertex, _)| vertex).collect();
        let behind = |face: &Face| {
            corners.iter().all(|corner| corner.dot(face.normal) <= face.offset + near)
        };
        (corners.len() >= 4 && self.faces.iter().all(behind)).then_some(corners)
    }

    pub fn bounds(&self) -> (DVec3, DVec3) {
        let bounds = self.tree.root_aabb();
        (bounds.mins, bounds.maxs)
    }

    pub fn vertices(&self) -> &[DVec3] {
        &self.vertices
    }

    /// Whether the vertex can touch: it ends an edge, or moves on its own.
    pub fn counts(&self, vertex: u32) -> bool {
        self.soft || self.sharp[vertex as usize]
    }

    /// The corners of a triangle by their numbers.
    pub fn corners(&self, triangle: u32) -> [u32; 3] {
        self.triangles[triangle as usize]
    }

    pub fn triangle(&self, i: u32) -> [DVec3; 3] {
        self.triangles[i as usize].map(|corner| self.vertices[corner as usize])
    }

    pub fn face(&self, face: u32) -> &Face {
        &self.faces[face as usize]
    }

    pub fn face_of(&self, triangle: u32) -> u32 {
        self.panels[triangle as usize].face
    }

    /// Triangles whose box meets the given one, face by face.
    pub fn triangles_in(&self, low: DVec3, high: DVec3, out: &mut Vec<u32>) {
        out.clear();
        out.extend(self.tree.intersect_aabb(&Aabb::new(low, high)));
        out.sort_unstable_by_key(|&triangle| (self.face_of(triangle), triangle));
    }

    /// Whether `p` lies over the triangle (above or below), give or take `tiny` (m): the answer is
    /// how far it lies beyond a valley, zero if it does not.
    #[inline]
    pub fn over(&self, triangle: u32, p: DVec3, tiny: f64) -> Option<f64> {
        let panel = &self.panels[triangle as usize];
        let corners = self.triangles[triangle as usize];
        let mut beyond_valley = 0.0f64;
        for k in 0..3 {
            let outside = (p - self.vertices[corners[k] as usize]).dot(panel.out[k]);
            if outside > tiny {
                if panel.bends[k] != Bend::Valley {
                    return None;
                }
                beyond_valley = beyond_valley.max(outside);
            }
        }
        Some(beyond_valley)
    }

    /// Whether a vertex stays behind the plane across `n` as far as its own triangles say: no edge
    /// from it rises by more than `slant` (sine of the angle).
    pub fn vertex_sees(&self, vertex: u32, n: DVec3, slant: f64) -> bool {
        self.vertex_sees_over(vertex, n, 0.0, slant)
    }

    /// The same for a plane that is `room` (m) away from the vertex: what is lower than the vertex
    /// now, but not beyond the plane, does not hide it. A step may turn it down.
    pub fn vertex_sees_over(&self, vertex: u32, n: DVec3, room: f64, slant: f64) -> bool {
        let here = self.vertices[vertex as usize];
        self.fan(vertex).iter().flat_map(|&triangle| self.corners(triangle)).all(|corner| {
            let along = self.vertices[corner as usize] - here;
            along.dot(n) <= slant * along.length() + room
        })
    }

    /// Whether all sides at a vertex fall off from its mean normal by less than a cube's edges do
    /// (35°): a vertex of a curved surface, not of an angular one.
    pub fn blunt(&self, vertex: u32) -> bool {
        self.blunt[vertex as usize]
    }

    /// The length of the shortest side at a vertex, m.
    pub fn detail(&self, vertex: u32) -> f64 {
        let here = self.vertices[vertex as usize];
        let corners = self.fan(vertex).iter().flat_map(|&triangle| self.corners(triangle));
        let others = corners.filter(|&corner| corner != vertex);
        others
            .map(|corner| self.vertices[corner as usize].distance(here))
            .fold(f64::INFINITY, f64::min)
    }

    fn fan(&self, vertex: u32) -> &[u32] {
        let starts = &self.fan_starts[vertex as usize..vertex as usize + 2];
        &self.fans[starts[0] as usize..starts[1] as usize]
    }

    /// Ridges and rims that belong to a triangle.
    pub fn edges_of(&self, triangle: u32) -> &[Edge] {
        &self.edges
            [self.owned[triangle as usize] as usize..self.owned[triangle as usize + 1] as usize]
    }
}

fn check(triangles: usize, shape: &'static str) -> Result<(), Invalid> {
    if triangles == 0 {
        return Err(Invalid::Refused { shape, reason: "it has no triangles".into() });
    }
    Ok(())
}

fn bounds(vertices: &[DVec3]) -> (DVec3, DVec3) {
    let low = vertices.iter().copied().reduce(DVec3::min).unwrap_or_default();
    let high = vertices.iter().copied().reduce(DVec3::max).unwrap_or_default();
    (low, high)
}
