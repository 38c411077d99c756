//! Where a surface touches a convex piece, or another surface.
//!
//! A contact belongs to a pair of features, and its normal is that of the pair:
//!
//! 1. a *corner* of the other piece over a *face* of the surface: the normal of the face;
//! 2. a *vertex* of the surface: the nearest point of the other piece;
//! 3. an *edge* of the surface: the direction in which it is nearest to the other piece, with all
//!    of its length that lies under it.
//!
//! A normal counts only where both features can be pressed along it: a face only from over it, an
//! edge or a vertex only between the normals of its faces. Valleys are touched by their faces. So a
//! corner beside a block never meets its top, nor a corner on the top its side, and how a face is
//! cut into triangles is not felt: corners keep their keys from face to face.
//!
//! A corner *behind* a face is judged by the solid: the nearest face that it can be pressed
//! against gets it. A piece whose middle is inside goes out by one direction, the shortest.

use super::contact::Contact;
use super::convex::{Core, Feature, MAX_FLAT_SINE};
use super::direction::{Closest, Pair, segments};
use super::manifold::{manifold, mix};
use super::narrow::{MAX_CONTACTS_PER_PAIR, Placed, Sink, turned_bounds};
use super::surface::{Foot, Place, Surface};
use crate::math::pose::Pose;
use glam::{DVec2, DVec3};

/// Lists that are filled anew for each pair.
#[derive(Default)]
pub(super) struct Lists {
    /// Triangles near the pair, or near one point of it.
    near: Vec<u32>,
    local: Vec<u32>,
    vertices: Vec<u32>,
    group: Vec<u32>,
    doubtful: Vec<Contact>,
}

/// Lengths below this part of the size are rounding.
const ROUNDING_LENGTH_RATIO: f64 = 1e-9;
/// Directions that are computed, not given, agree within this (rad).
const DIRECTION_TOLERANCE: f64 = 1e-7;
/// A piece that reaches behind a face by less than this part of its width lies over it.
const MAX_REACH_BEHIND_RATIO: f64 = 0.05;
/// Overlaps are looked at from this part of the size apart.
const OVERLAP_MARGIN_RATIO: f64 = 1e-5;
/// Contacts whose normals differ by less (1 − cos) press on one plane: 0.8°.
const ONE_PLANE: f64 = 1e-4;

/// Tells vertices and edges of the surface from corners of the other piece in keys.
const VERTEX: u64 = 1 << 40;
const EDGE: u64 = 2 << 40;

/// A surface and a convex piece, in the frame of the surface.
struct Meeting<'a> {
    surface: &'a Surface,
    core: &'a Core,
    pose: Pose,
    center: DVec3,
    size: f64,
    tiny: f64,
    reach: f64,
}

/// A plane of the surface as the other piece sees it.
#[derive(Clone, Copy)]
struct Plane {
    face: u32,
    normal: DVec3,
    offset: f64,
    /// The height of the lowest point of the piece, and its extent along the normal, m.
    least: f64,
    width: f64,
}

/// Whether a corner behind a face is pushed out through it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behind {
    No,
    Yes,
    /// Unless an edge nearby shows a shorter way.
    Perhaps,
}

impl Meeting<'_> {
    fn plane(&self, face: u32) -> Plane {
        let plane = self.surface.face(face);
        // A sheet is touched from the side where the middle of the piece is.
        let turn = if self.surface.one_sided || plane.normal.dot(self.center) >= plane.offset {
            1.0
        } else {
            -1.0
        };
        let (normal, offset) = (turn * plane.normal, turn * plane.offset);
        let down = -self.pose.inverse_vector(normal);
        let height = |point: DVec3| self.pose.point(point).dot(normal) - offset;
        let least = height(self.core.support(down));
        Plane { face, normal, offset, least, width: height(self.core.support(-down)) - least }
    }

    /// Whether a corner at this height can be pressed against the plane: it is (nearly) the lowest.
    fn lowest(&self, plane: &Plane, height: f64) -> bool {
        height - plane.least <= 0.1 * plane.width + self.tiny
    }

    /// Whether a corner `p` behind a face, over which it lies, is to be pushed out through it.
    fn behind(&self, plane: &Plane, group: &[u32], p: DVec3, height: f64) -> Behind {
        if self.surface.one_sided {
            let foot = self.surface.foot(p);
            let nearer = |other: u32| {
                let other = self.plane(other);
                let at = p.dot(other.normal) - other.offset;
                other.face != plane.face
                    && self.lowest(&other, at)
                    && (foot.distance <= 0.0 || at >= -self.tiny)
            };
            let (mut own, mut taken) = (false, false);
            self.surface.faces_at(&foot, |face| {
                own |= face == plane.face;
                taken |= nearer(face);
            });
            if foot.distance <= 0.0 && (own || -height <= -foot.distance + self.tiny) {
                return Behind::Yes;
            }
            let shallow = plane.least >= -MAX_REACH_BEHIND_RATIO * plane.width
                && -height <= MAX_REACH_BEHIND_RATIO * self.size;
            if taken && foot.distance < -height {
                return Behind::No;
            }
            if shallow {
                return Behind::Perhaps;
            }
        }
        // The straight way from the middle of the piece to the corner enters through the face.
        let middle = self.center.dot(plane.normal) - plane.offset;
        let crossing = self.center.lerp(p, middle / (middle - height));
        let entered = middle > 0.0
            && group
                .iter()
                .any(|&triangle| self.surface.over(triangle, crossing, 0.0) == Some(0.0));
        if entered { Behind::Yes } else { Behind::No }
    }
}

impl Sink<'_> {
    /// A surface and a convex piece.
    pub(super) fn surface_convex(
        &mut self,
        (surface, skin, a): (&Surface, f64, Placed),
        (core, radius, b): (&Core, f64, Placed),
        name: u64,
    ) {
        let start = self.contacts.len();
        let pose = a.pose.relative(&b.pose);
        let reach = self.prediction + skin + radius;
        let (center, size) = (pose.point(core.center()), b.size);
        let meeting = Meeting {
            surface,
            core,
            pose,
            center,
            size,
            tiny: ROUNDING_LENGTH_RATIO * size,
            reach,
        };
        let (low, high) = turned_bounds(core.bounds(), &pose);
        let bounds = (low - DVec3::splat(reach), high + DVec3::splat(reach));
        let mut lists = std::mem::take(&mut self.scratch.lists);
        surface.triangles_in(bounds.0, bounds.1, &mut lists.near);
        lists.doubtful.clear();
        self.corners_on_faces(
            &meeting,
            (&lists.near, &mut lists.doubtful),
            (skin, radius, a, b),
            name,
        );
        let corners = self.contacts.len();
        let point = matches!(core, Core::Point);
        lists.vertices.clear();
        for &triangle in &lists.near {
            for edge in surface.edges_of(triangle) {
                let (below, above) =
                    (edge.ends[0].min(edge.ends[1]), edge.ends[0].max(edge.ends[1]));
                if below.cmple(bounds.1).all() && above.cmpge(bounds.0).all() {
                    lists.vertices.extend(edge.vertices);
                }
            }
        }
        lists.vertices.sort_unstable();
        lists.vertices.dedup();
        for &vertex in &lists.vertices {
            let p = surface.vertices()[vertex as usize];
            if p.cmpge(bounds.0).all() && p.cmple(bounds.1).all() {
                self.vertex_on_convex(&meeting, vertex, (skin, radius, a), name);
            }
        }
        for &triangle in &lists.near {
            for edge in surface.edges_of(triangle) {
                let (below, above) =
                    (edge.ends[0].min(edge.ends[1]), edge.ends[0].max(edge.ends[1]));
                if below.cmple(bounds.1).all() && above.cmpge(bounds.0).all() {
                    self.edge_on_convex(&meeting, edge, point, (skin, radius, a), name);
                }
            }
        }
        let corners = corners == self.contacts.len();
        for contact in &lists.doubtful {
            let shorter = |other: &Contact| {
                let near = other.point_b.distance(contact.point_b) <= -3.0 * contact.gap;
                near && other.gap < 0.0 && other.gap > 0.5 * contact.gap
            };
            if !self.contacts[start..].iter().any(shorter) {
                self.contacts.push(*contact);
            }
        }
        self.unite(start, 1e-6 * size);
        let deepest =
            self.contacts[start..].iter().fold(0.0f64, |least, contact| least.min(contact.gap));
        if surface.one_sided
            && (lists.near.is_empty() || deepest < -MAX_REACH_BEHIND_RATIO * size)
            && within(surface, center)
        {
            let foot = surface.foot(center);
            if foot.distance < 0.0 {
                self.contacts.truncate(start);
                self.way_out(&meeting, &foot, (skin, radius, a), name);
            }
        }
        self.thin(start, &b.pose, corners, (&mut lists.group, &mut lists.local));
        self.scratch.lists = lists;
    }

    /// Step 1: corners of a polyhedron, or the part of a round shape that is turned to a face.
    fn corners_on_faces(
        &mut self,
        meeting: &Meeting,
        (near, doubtful): (&[u32], &mut Vec<Contact>),
        (skin, radius, a, b): (f64, f64, Placed, Placed),
        name: u64,
    ) {
        let Meeting { surface, core, pose, tiny, .. } = meeting;
        let mut corners = std::mem::take(&mut self.scratch.manifold.feature_b);
        let polyhedron = core.corners(&mut corners);
        for group in near.chunk_by(|&s, &t| surface.face_of(s) == surface.face_of(t)) {
            let plane = meeting.plane(surface.face_of(group[0]));
            if plane.least > meeting.reach {
                continue;
            }
            let normal = a.pose.vector(plane.normal);
            let down = -b.pose.inverse_vector(normal);
            if !polyhedron {
                core.lowest_feature(down, 1e-7 * meeting.size, &mut corners);
            }
            let above = plane.least >= -MAX_REACH_BEHIND_RATIO * plane.width;
            for &(corner, id) in &corners {
                let p = pose.point(corner);
                let height = p.dot(plane.normal) - plane.offset;
                if height > meeting.reach || !(above || meeting.lowest(&plane, height)) {
                    continue;
                }
                let over = group.iter().filter_map(|&triangle| surface.over(triangle, p, *tiny));
                let Some(beyond) = over.reduce(f64::min) else { continue };
                // Past a valley only as far as the corner is inside of what rises beyond it.
                if beyond > *tiny {
                    let far = beyond > 0.5 * meeting.size;
                    if far || beyond > -2.0 * surface.foot(p).distance + tiny {
                        continue;
                    }
                }
                let pushed = if height < -tiny {
                    meeting.behind(&plane, group, p, height)
                } else {
                    Behind::Yes
                };
                if pushed == Behind::No {
                    continue;
                }
                let at = b.pose.point(corner);
                let foot = b.pose.point(corner + down * height);
                self.push(foot + normal * skin, at - normal * radius, normal, mix(name, id as u64));
                if pushed == Behind::Perhaps {
                    doubtful.extend(self.contacts.pop());
                }
            }
        }
        self.scratch.manifold.feature_b = corners;
    }

    /// Step 2.
    fn vertex_on_convex(
        &mut self,
        meeting: &Meeting,
        vertex: u32,
        (skin, radius, a): (f64, f64, Placed),
        name: u64,
    ) {
        let Meeting { surface, core, pose, .. } = meeting;
        let p = surface.vertices()[vertex as usize];
        let local = pose.inverse_point(p);
        let near = core.nearest(local);
        if near.distance > meeting.reach {
            return;
        }
        let mut best = (near.distance, -pose.vector(near.normal));
        if !surface.vertex_sees(vertex, best.1, meeting.slant(best.1)) {
            if near.distance >= 0.0 {
                return;
            }
            // Inside: the direction from a little further out, or the nearest face of the piece
            // that the vertex can press on.
            best.0 = f64::NEG_INFINITY;
            for times in [1.0, 4.0, 16.0] {
                let shift = surface.vertex_normals[vertex as usize]
                    * (times * (OVERLAP_MARGIN_RATIO * meeting.size - near.distance));
                let out = core.nearest(pose.inverse_point(p - shift));
                let normal = -pose.vector(out.normal);
                if out.distance > 0.0 && surface.vertex_sees(vertex, normal, meeting.slant(normal))
                {
                    best = (out.distance - shift.dot(normal), normal);
                    break;
                }
            }
            core.normals_at(local, |outward| {
                let normal = -pose.vector(outward);
                let distance = (local - core.support(outward)).dot(outward);
                if distance > best.0 && surface.vertex_sees(vertex, normal, MAX_FLAT_SINE) {
                    best = (distance, normal);
                }
            });
            if best.0 < -MAX_REACH_BEHIND_RATIO * meeting.size {
                return;
            }
        }
        let (distance, mut normal) = best;
        if distance.abs() < 1e-6 * meeting.size {
            // So near the offset is rounding; a face that is as near has the direction.
            core.normals_at(local, |outward| {
                let turned = -pose.vector(outward);
                let as_near =
                    (local - core.support(outward)).dot(outward) >= distance - meeting.tiny;
                if as_near && surface.vertex_sees(vertex, turned, MAX_FLAT_SINE) {
                    normal = turned;
                }
            });
        }
        let world = a.pose.vector(normal);
        let (point_a, point_b) = (a.pose.point(p), a.pose.point(p + normal * distance));
        self.push(
            point_a + world * skin,
            point_b - world * radius,
            world,
            mix(mix(name, VERTEX), vertex as u64),
        );
    }

    /// Step 3.
    fn edge_on_convex(
        &mut self,
        meeting: &Meeting,
        edge: &super::surface::Edge,
        point: bool,
        (skin, radius, a): (f64, f64, Placed),
        name: u64,
    ) {
        let Meeting { core, reach, size, .. } = *meeting;
        // Seen from the middle of the edge: the iterations begin on the line of centres.
        let middle = 0.5 * (edge.ends[0] + edge.ends[1]);
        let frame = Pose::new(a.pose.point(middle), a.pose.orientation);
        let pose = Pose::new(meeting.pose.position - middle, meeting.pose.orientation);
        let ends = edge.ends.map(|end| end - middle);
        let segment = Core::Edge(ends);
        let along = ends[1] - ends[0];
        let length = along.length();
        let pair = Pair { a: &segment, b: core, pose, reach, scale: size.min(length) };
        let Some(mut closest) = pair.closest(&mut self.scratch.polytope) else { return };
        let across = |n: DVec3| along.dot(n).abs() <= MAX_FLAT_SINE * length;
        let seen = |n: DVec3| across(n) && edge.sees(n, meeting.slant(n));
        let key = mix(mix(name, EDGE), edge.name);
        if point {
            // Nearest to an end: the vertex has it.
            let share = (closest.point_a - ends[0]).dot(along) / (length * length);
            if seen(closest.normal) && share > 0.0 && share < 1.0 {
                let normal = a.pose.vector(closest.normal);
                let (point_a, point_b) =
                    (frame.point(closest.point_a), frame.point(closest.point_b));
                self.push(point_a + normal * skin, point_b - normal * radius, normal, key);
            }
            return;
        }
        let mut forced = false;
        if !seen(closest.normal) {
            if closest.distance >= 0.0 {
                return;
            }
            // Inside: of the directions that can press on the edge the one that separates most.
            let normal = edge.best(|n| pair.separation(n));
            let distance = pair.separation(normal);
            // A much shorter way along the edge is the business of its ends; the polytope's
            // direction of a round core may lean, its depth is right.
            let lean = !across(closest.normal) && distance < 3.0 * closest.distance - meeting.tiny;
            if lean || distance < -MAX_REACH_BEHIND_RATIO * size.min(length) {
                return;
            }
            closest = Closest { normal, distance, ..closest };
            forced = true;
        }
        manifold(&pair, &closest, forced, &mut self.scratch.manifold);
        if let [touch] = self.scratch.manifold.touches[..] {
            let share = (touch.point_a - ends[0]).dot(along) / (length * length);
            // A single point at an end: the vertex has it.
            if !(share > ROUNDING_LENGTH_RATIO && share < 1.0 - ROUNDING_LENGTH_RATIO) {
                return;
            }
        }
        self.push_touches(&frame, (skin, radius), a.pose.vector(closest.normal), key);
    }

    /// Out of a solid that holds the middle of the piece: the nearest way for all of it.
    fn way_out(
        &mut self,
        meeting: &Meeting,
        foot: &Foot,
        (skin, radius, a): (f64, f64, Placed),
        name: u64,
    ) {
        let Meeting { core, pose, .. } = meeting;
        let mut feature = Feature::new();
        core.lowest_feature(-pose.inverse_vector(foot.normal), 0.0, &mut feature);
        let normal = a.pose.vector(foot.normal);
        for (corner, id) in feature {
            let p = pose.point(corner);
            let on_plane = p - foot.normal * (p - foot.point).dot(foot.normal);
            let (point_a, point_b) = (a.pose.point(on_plane), a.pose.point(p));
            self.push(
                point_a + normal * skin,
                point_b - normal * radius,
                normal,
                mix(name, id as u64),
            );
        }
    }

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
            self.thin(start, &b.pose, false, (&mut lists.group, &mut lists.local));
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
            let faces = |n: DVec3| match surface_b.soft {
                true => {
                    surface_b.vertex_normals[vertex as usize].dot(pose.inverse_vector(n))
                        <= SOFT_SLANT
                }
                false => surface_b.vertex_sees(vertex, -pose.inverse_vector(n), slant),
            };
            let depth = (-foot.distance).max(0.0);
            let before = self.contacts.len();
            let mut put = |normal: DVec3, height: f64| {
                let world = a.pose.vector(normal);
                let (point_a, point_b) = (a.pose.point(p - normal * height), a.pose.point(p));
                self.push(
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
                    if height < -tiny && faces(plane.normal) {
                        put(plane.normal, height);
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
                put(foot.normal, foot.distance);
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
                if height > reach || height < -wide.x || !faces(normal) {
                    continue;
                }
                let over = group.iter().filter_map(|&triangle| surface_a.over(triangle, p, tiny));
                if over.reduce(f64::min).is_none_or(|beyond| beyond > 2.0 * depth + tiny) {
                    continue;
                }
                if height >= -tiny {
                    put(normal, height);
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
                let world = a.pose.vector(normal);
                let (point_a, point_b) = (a.pose.point(p - normal * height), a.pose.point(p));
                self.push(
                    point_a + world * skin_a,
                    point_b - world * skin_b,
                    world,
                    mix(name, vertex as u64),
                );
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

    /// Drops contacts that repeat an earlier one: features share edges and vertices.
    fn unite(&mut self, start: usize, near: f64) {
        let mut kept = start;
        for i in start..self.contacts.len() {
            let contact = self.contacts[i];
            let repeats = |other: &Contact| {
                let [on_a, on_b] =
                    [other.point_a - contact.point_a, other.point_b - contact.point_b];
                on_a.length_squared().max(on_b.length_squared()) <= near * near
                    && other.normal.dot(contact.normal) > 0.999
            };
            if !self.contacts[start..kept].iter().any(repeats) {
                self.contacts[kept] = contact;
                kept += 1;
            }
        }
        self.contacts.truncate(kept);
    }

    /// Of many contacts on one plane keeps the corners of the area that they span, those that span
    /// most of it if they are many, and the deepest. `corners`: all belong to corners of a piece
    /// over one face; then the choice is that of a half-space.
    fn thin(
        &mut self,
        start: usize,
        frame: &Pose,
        corners: bool,
        (group, order): (&mut Vec<u32>, &mut Vec<u32>),
    ) {
        let mut first = start;
        while first < self.contacts.len() && self.contacts.len() - start > MAX_CONTACTS_PER_PAIR {
            let n = self.contacts[first].normal;
            let fresh = &mut self.contacts[first..];
            group.clear();
            group.extend(
                (0..fresh.len() as u32)
                    .filter(|&i| 1.0 - fresh[i as usize].normal.dot(n) <= ONE_PLANE),
            );
            // The plane's contacts to the front, in their order.
            for (place, &from) in group.iter().enumerate() {
                fresh[place..=from as usize].rotate_right(1);
            }
            let count = group.len();
            if count > MAX_CONTACTS_PER_PAIR {
                let (t1, t2) = super::tangents(frame.inverse_vector(n));
                let axes = (frame.vector(t1), frame.vector(t2));
                let members = &fresh[..count];
                if corners {
                    outermost(members, axes, group);
                } else {
                    spanning(members, axes, group, order);
                }
                let deepest =
                    (0..count).reduce(|a, b| if members[b].gap < members[a].gap { b } else { a });
                group.extend(deepest.map(|i| i as u32));
                let mut place = 0;
                for i in 0..count {
                    if group.contains(&(i as u32)) {
                        fresh[place] = fresh[i];
                        place += 1;
                    }
                }
                self.contacts.drain(first + place..first + count);
                first += place;
            } else {
                first += count;
            }
        }
    }
}

/// The places of the contacts that lie outermost in eight directions.
fn outermost(contacts: &[Contact], (t1, t2): (DVec3, DVec3), places: &mut Vec<u32>) {
    places.clear();
    for k in 0..MAX_CONTACTS_PER_PAIR {
        let (sine, cosine) =
            (k as f64 * std::f64::consts::TAU / MAX_CONTACTS_PER_PAIR as f64).sin_cos();
        let direction = t1 * cosine + t2 * sine;
        let far = |i: usize| contacts[i].point_b.dot(direction);
        let best = (0..contacts.len()).reduce(|a, b| if far(b) > far(a) { b } else { a });
        places.extend(best.map(|i| i as u32));
    }
}

/// The places of the corners of the convex hull of the contacts (Andrew1979); of more than eight
/// those go first that span the smallest triangle with their neighbours.
fn spanning(
    contacts: &[Contact],
    (t1, t2): (DVec3, DVec3),
    places: &mut Vec<u32>,
    order: &mut Vec<u32>,
) {
    let origin = contacts[0].point_b;
    let at = |i: u32| {
        let offset = contacts[i as usize].point_b - origin;
        DVec2::new(offset.dot(t1), offset.dot(t2))
    };
    let area = |a: u32, b: u32, c: u32| (at(b) - at(a)).perp_dot(at(c) - at(a));
    order.clear();
    order.extend(0..contacts.len() as u32);
    order.sort_unstable_by(|&a, &b| {
        (at(a).x, at(a).y).partial_cmp(&(at(b).x, at(b).y)).expect("finite").then(a.cmp(&b))
    });
    places.clear();
    // Lower side from left to right, then upper side back.
    for backwards in [false, true] {
        let base = places.len().max(1);
        for k in 0..order.len() {
            let next = if backwards { order[order.len() - 1 - k] } else { order[k] };
            while places.len() > base
                && area(places[places.len() - 2], places[places.len() - 1], next) <= 0.0
            {
                places.pop();
            }
            if places.last() != Some(&next) {
                places.push(next);
            }
        }
    }
    if places.len() > 1 {
        places.pop();
    }
    while places.len() > MAX_CONTACTS_PER_PAIR {
        let count = places.len();
        let spanned =
            |i: usize| area(places[(i + count - 1) % count], places[i], places[(i + 1) % count]);
        let least = (0..count)
            .reduce(|a, b| if spanned(b) < spanned(a) { b } else { a })
            .expect("more than eight");
        places.remove(least);
    }
}

/// No side at a vertex of one surface goes behind a face of the other more steeply (sine of 45°).
const MAX_SLOPE_SINE: f64 = 0.7;
/// Nodes of soft bodies whose normal lies along the contact's by more than this look away.
const SOFT_SLANT: f64 = 0.2;

/// Crossing edges count if the direction is seen by both within this (sine of the angle).
const CROSSING_EDGE_SINE: f64 = 1e-3;

impl Meeting<'_> {
    /// How far outside of its cone a direction may lie: a flat face of the piece may lean a little,
    /// an edge or a round side has one direction.
    fn slant(&self, normal: DVec3) -> f64 {
        if self.core.is_flat(-self.pose.inverse_vector(normal)) {
            MAX_FLAT_SINE
        } else {
            DIRECTION_TOLERANCE
        }
    }
}

fn within(surface: &Surface, p: DVec3) -> bool {
    let (low, high) = surface.bounds();
    p.cmpge(low).all() && p.cmple(high).all()
}
