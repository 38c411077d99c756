//! Where two surfaces touch.
//!
//! 1. *Vertices* of each over faces of the other, near its edges and vertices, or behind it;
//! 2. *edges* that cross.
//!
//! A surface that lies in the solid of the other goes out by one direction, the shortest.

use super::convex::MAX_FLAT_SINE;
use super::direction::segments;
use super::manifold::mix;
use super::mesh::{DIRECTION_TOLERANCE, MAX_REACH_BEHIND_RATIO, ROUNDING_LENGTH_RATIO, within};
use super::narrow::turned_bounds;
use super::piece::{Lists, Placed, Sink};
use super::surface::{Place, Surface};
use glam::DVec3;

/// No side at a vertex of one surface goes behind a face of the other more steeply (sine of 45°).
const MAX_SLOPE_SINE: f64 = 0.7;
/// Nodes of soft bodies whose normal lies along the contact's by more than this look away.
const MAX_SOFT_SLANT_COSINE: f64 = 0.2;

/// Crossing edges count if the direction is seen by both within this (sine of the angle).
const CROSSING_EDGE_SINE: f64 = 1e-3;

impl Sink<'_> {
    /// Two surfaces: the corners of each against the other, and edges that cross.
    pub(super) fn surfaces(
        &mut self,
        (surface_a, skin_a, a): (&Surface, f64, Placed),
        (surface_b, skin_b, b): (&Surface, f64, Placed),
        name: u64,
    ) {
        let start = self.contacts.len();
        let mut lists = std::mem::take(&mut self.scratch.lists);
        let (on_a, on_b) = ((surface_a, skin_a, a), (surface_b, skin_b, b));
        let buried = self.vertices_on_surface(on_a, on_b, &mut lists, mix(name, 1))
            || self.flipped(self.contacts.len(), |sink| {
                sink.vertices_on_surface(on_b, on_a, &mut lists, mix(name, 2))
            });
        if !buried {
            self.edges_on_edges(on_a, on_b, &mut lists, name);
        }
        self.unite(start, 1e-6 * a.size.min(b.size));
        if !(surface_a.soft || surface_b.soft) {
            self.thin(start, (&a, &b), &mut lists.group);
        }
        self.scratch.lists = lists;
    }

    /// Vertices of b over faces of a, near its edges and vertices, or behind it. True if all of b
    /// is inside of a.
    fn vertices_on_surface(
        &mut self,
        (surface_a, skin_a, a): (&Surface, f64, Placed),
        (surface_b, skin_b, b): (&Surface, f64, Placed),
        lists: &mut Lists,
        name: u64,
    ) -> bool {
        let start = self.contacts.len();
        let pose = a.pose.relative(&b.pose);
        let reach = self.prediction + skin_a + skin_b;
        let tiny = ROUNDING_LENGTH_RATIO * a.size.min(b.size);
        let (low, high) = surface_a.bounds();
        let bounds = (low - DVec3::splat(reach), high + DVec3::splat(reach));
        let (low, high) = turned_bounds(bounds, &pose.inverse());
        surface_b.triangles_in(low, high, &mut lists.near);
        lists.vertices.clear();
        lists.vertices.extend(lists.near.iter().flat_map(|&triangle| surface_b.corners(triangle)));
        lists.vertices.sort_unstable();
        lists.vertices.dedup();
        // Deeper than this no vertex is looked for, unless all of them are inside.
        let wide = DVec3::splat(reach.max(0.1 * a.size.min(b.size)));
        for &vertex in &lists.vertices {
            let p = pose.point(surface_b.vertices()[vertex as usize]);
            if !surface_b.counts(vertex) || p.cmplt(bounds.0).any() || p.cmpgt(bounds.1).any() {
                continue;
            }
            surface_a.triangles_in(p - wide, p + wide, &mut lists.local);
            let Some(foot) = surface_a.foot_among(p, &lists.local) else { continue };
            if foot.distance > reach || foot.distance < -wide.x {
                continue;
            }
            // Whether it is the foremost point of its surroundings, roughly: of a finely curved
            // surface the neighbours of the lowest vertex count too.
            let slant = if surface_b.blunt(vertex) { MAX_SLOPE_SINE } else { MAX_FLAT_SINE };
            // Each node of a soft body carries itself, unless it looks away.
            let faces = |n: DVec3, room: f64| match surface_b.soft {
                true => {
                    surface_b.vertex_normals[vertex as usize].dot(pose.inverse_vector(n))
                        <= MAX_SOFT_SLANT_COSINE
                }
                false => surface_b.vertex_sees_over(vertex, -pose.inverse_vector(n), room, slant),
            };
            let depth = (-foot.distance).max(0.0);
            let before = self.contacts.len();
            let put = |sink: &mut Self, normal: DVec3, height: f64| {
                let world = a.pose.vector(normal);
                let (point_a, point_b) = (a.pose.point(p - normal * height), a.pose.point(p));
                sink.push(
                    point_a + world * skin_a,
                    point_b - world * skin_b,
                    world,
                    mix(name, vertex as u64),
                );
            };
            if depth > 0.0 {
                surface_a.faces_at(&foot, |face| {
                    let plane = surface_a.face(face);
                    let height = p.dot(plane.normal) - plane.offset;
                    if height < -tiny && faces(plane.normal, 0.0) {
                        put(self, plane.normal, height);
                    }
                });
            } else if foot.place != Place::Face
                && foot.distance > tiny
                && surface_b.vertex_sees(
                    vertex,
                    -pose.inverse_vector(foot.normal),
                    DIRECTION_TOLERANCE,
                )
            {
                put(self, foot.normal, foot.distance);
            }
            // All faces over which it lies; behind the nearest ones the next that it can press on.
            let mut next: Option<(f64, DVec3)> = None;
            let mut beside = f64::INFINITY;
            for group in lists.local.chunk_by(|&s, &t| surface_a.face_of(s) == surface_a.face_of(t))
            {
                let plane = surface_a.face(surface_a.face_of(group[0]));
                let turn = if surface_a.one_sided || foot.normal.dot(plane.normal) >= 0.0 {
                    1.0
                } else {
                    -1.0
                };
                let (normal, height) =
                    (plane.normal * turn, turn * (p.dot(plane.normal) - plane.offset));
                if height > reach || height < -wide.x || !faces(normal, height.max(0.0)) {
                    continue;
                }
                let over = group.iter().filter_map(|&triangle| surface_a.over(triangle, p, tiny));
                if over.reduce(f64::min).is_none_or(|beyond| beyond > 2.0 * depth + tiny) {
                    continue;
                }
                if height >= -tiny {
                    put(self, normal, height);
                    beside = beside.min(height);
                } else if next.is_none_or(|(best, _)| height > best) {
                    next = Some((height, normal));
                }
            }
            if let Some((height, normal)) = next
                && surface_a.one_sided
                && self.contacts[before..].iter().all(|contact| contact.gap > -tiny)
                && beside > -height
                && -height <= MAX_REACH_BEHIND_RATIO * surface_b.detail(vertex)
            {
                put(self, normal, height);
            }
        }
        let counting = || (0..surface_b.vertices().len() as u32).filter(|&v| surface_b.counts(v));
        let inside = |vertex: u32| {
            let p = pose.point(surface_b.vertices()[vertex as usize]);
            within(surface_a, p) && surface_a.foot(p).distance < 0.0
        };
        let suspect = surface_a.one_sided && self.contacts[start..].iter().all(|c| c.gap < 0.0);
        let buried = suspect && counting().all(inside);
        if buried {
            // The nearest way for all of it.
            self.contacts.truncate(start);
            let (low, high) = surface_b.bounds();
            let foot = surface_a.foot(pose.point(0.5 * (low + high)));
            let normal = a.pose.vector(foot.normal);
            for vertex in counting() {
                let p = pose.point(surface_b.vertices()[vertex as usize]);
                let on_plane = a.pose.point(p - foot.normal * (p - foot.point).dot(foot.normal));
                self.push(
                    on_plane + normal * skin_a,
                    a.pose.point(p) - normal * skin_b,
                    normal,
                    mix(name, vertex as u64),
                );
            }
        }
        buried
    }

    /// Edges that cross.
    fn edges_on_edges(
        &mut self,
        (surface_a, skin_a, a): (&Surface, f64, Placed),
        (surface_b, skin_b, b): (&Surface, f64, Placed),
        lists: &mut Lists,
        name: u64,
    ) {
        let pose = a.pose.relative(&b.pose);
        let reach = self.prediction + skin_a + skin_b;
        let (low, high) = surface_a.bounds();
        let (low, high) = (low - DVec3::splat(reach), high + DVec3::splat(reach));
        let (low_b, high_b) = turned_bounds((low, high), &pose.inverse());
        surface_b.triangles_in(low_b, high_b, &mut lists.near);
        for edge_b in lists.near.iter().flat_map(|&triangle| surface_b.edges_of(triangle)) {
            let ends_b = edge_b.ends.map(|end| pose.point(end));
            let (below, above) = (ends_b[0].min(ends_b[1]), ends_b[0].max(ends_b[1]));
            if below.cmpgt(high).any() || above.cmplt(low).any() {
                continue;
            }
            surface_a.triangles_in(
                below - DVec3::splat(reach),
                above + DVec3::splat(reach),
                &mut lists.local,
            );
            for edge_a in lists.local.iter().flat_map(|&triangle| surface_a.edges_of(triangle)) {
                let (da, db) = (edge_a.ends[1] - edge_a.ends[0], ends_b[1] - ends_b[0]);
                let cross = da.cross(db);
                let lengths = da.length() * db.length();
                // Edges that run alike within a degree are the business of vertices.
                if cross.length() < 0.017 * lengths {
                    continue;
                }
                let near = segments(edge_a.ends, ends_b);
                let offset = near.point_b - near.point_a;
                // At an end of either the vertex has it.
                let inner = |point: DVec3, [from, to]: [DVec3; 2]| {
                    let (along, at) = (to - from, point - from);
                    let (share, rounding) =
                        (at.dot(along) / along.length_squared(), ROUNDING_LENGTH_RATIO);
                    share > rounding && share < 1.0 - rounding
                };
                if !inner(near.point_a, edge_a.ends) || !inner(near.point_b, ends_b) {
                    continue;
                }
                if offset.length() > reach.max(0.1 * lengths.sqrt()) {
                    continue;
                }
                let across = cross.normalize();
                for normal in [across, -across] {
                    let gap = offset.dot(normal);
                    let aside = (offset - normal * gap).length();
                    // A tenth of the shorter edge: deeper, the edges are not what touches.
                    let deepest = -0.1 * da.length().min(db.length());
                    let seen = edge_a.sees(normal, CROSSING_EDGE_SINE)
                        && edge_b.sees(-pose.inverse_vector(normal), CROSSING_EDGE_SINE);
                    if seen && gap <= reach && gap >= deepest && aside <= 1e-9 * da.length() {
                        let normal = a.pose.vector(normal);
                        let (point_a, point_b) =
                            (a.pose.point(near.point_a), a.pose.point(near.point_b));
                        let key = mix(mix(name, edge_a.name), edge_b.name);
                        self.push(
                            point_a + normal * skin_a,
                            point_b - normal * skin_b,
                            normal,
                            key,
                        );
                    }
                }
            }
        }
    }
}
