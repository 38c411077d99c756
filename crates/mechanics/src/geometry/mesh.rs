//! Where a surface touches a convex piece.
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
use super::direction::{Closest, Pair};
use super::manifold::{manifold, mix};
use super::narrow::turned_bounds;
use super::piece::{Placed, Sink};
use super::surface::{Edge, Foot, Surface};
use crate::math::pose::Pose;
use glam::DVec3;

/// Lengths below this part of the size are rounding.
pub(super) const ROUNDING_LENGTH_RATIO: f64 = 1e-9;
/// Directions that are computed, not given, agree within this (rad).
pub(super) const DIRECTION_TOLERANCE: f64 = 1e-7;
/// A piece that reaches behind a face by less than this part of its width lies over it.
pub(super) const MAX_REACH_BEHIND_RATIO: f64 = 0.05;
/// Overlaps are looked at from this part of the size apart.
const OVERLAP_MARGIN_RATIO: f64 = 1e-5;

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
        self.thin(start, (&a, &b), &mut lists.group);
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
        let slant = meeting.slant(best.1);
        let room = if slant == MAX_FLAT_SINE { near.distance.max(0.0) } else { 0.0 };
        if !surface.vertex_sees_over(vertex, best.1, room, slant) {
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
        edge: &Edge,
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
}

/// Whether a point lies in the box around a surface.
pub(super) fn within(surface: &Surface, p: DVec3) -> bool {
    let (low, high) = surface.bounds();
    p.cmpge(low).all() && p.cmple(high).all()
}
