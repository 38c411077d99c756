//! Where two pieces touch.
//!
//! A piece is a convex core with a skin, a half-space, or a surface. Six pairs, each a function
//! below; the first piece of a pair is the reference frame. Contacts of a pair come out sorted by
//! key.

use super::contact::Contact;
use super::convex::Core;
use super::direction::Pair;
use super::manifold::{Scratch, Touch, manifold, mix};
use super::piece::{Geometry, Placed, Sink};
use super::reduction::{MAX_CONTACTS_PER_PLANE, Tilt, first_to_touch};
use crate::math::pose::Pose;
use glam::DVec3;

impl Sink<'_> {
    /// Appends the contacts of two pieces.
    pub fn collide(&mut self, a: Placed, b: Placed) {
        let start = self.contacts.len();
        let name = mix(a.part as u64, b.part as u64);
        match (a.geometry, b.geometry) {
            (Geometry::Convex(Core::Point, ra), Geometry::Convex(Core::Point, rb)) => {
                self.spheres((a.pose.position, *ra), (b.pose.position, *rb), name)
            }
            (Geometry::Convex(core_a, ra), Geometry::Convex(core_b, rb)) => {
                self.convex((core_a, *ra, a), (core_b, *rb, b), name)
            }
            (Geometry::HalfSpace, _) => self.half_space(a, b, name),
            (_, Geometry::HalfSpace) => self.flipped(start, |sink| sink.half_space(b, a, name)),
            (Geometry::Surface(surface, skin), Geometry::Convex(core, radius)) if surface.soft => {
                self.soft_convex((surface, *skin), (core, *radius, b), name);
            }
            (Geometry::Convex(core, radius), Geometry::Surface(surface, skin)) if surface.soft => {
                self.flipped(start, |sink| {
                    sink.soft_convex((surface, *skin), (core, *radius, a), name)
                });
            }
            (Geometry::Surface(surface, skin), Geometry::Convex(core, radius)) => {
                self.surface_convex((surface, *skin, a), (core, *radius, b), name);
            }
            (Geometry::Convex(core, radius), Geometry::Surface(surface, skin)) => {
                self.flipped(start, |sink| {
                    sink.surface_convex((surface, *skin, b), (core, *radius, a), name)
                });
            }
            (Geometry::Surface(surface_a, skin_a), Geometry::Surface(surface_b, skin_b)) => {
                self.surfaces((surface_a, *skin_a, a), (surface_b, *skin_b, b), name);
            }
        }
        self.finish(start);
    }

    pub(super) fn flipped<T>(&mut self, start: usize, run: impl FnOnce(&mut Self) -> T) -> T {
        let result = run(self);
        for contact in &mut self.contacts[start..] {
            *contact = Contact { colliders: contact.colliders, ..contact.flipped() };
        }
        result
    }

    /// Sorts by key; two contacts of one name become neighbours in number.
    fn finish(&mut self, start: usize) {
        let fresh = &mut self.contacts[start..];
        if fresh.len() > 1 {
            fresh.sort_by_key(|contact| contact.key);
            for i in 1..fresh.len() {
                fresh[i].key = fresh[i].key.max(fresh[i - 1].key.saturating_add(1));
            }
        }
    }

    /// Memory for a list of triangles; to be given back.
    pub(super) fn take_triangles(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.scratch.triangles)
    }

    /// Gives the workspace back.
    pub(super) fn keep_triangles(&mut self, triangles: Vec<u32>) {
        self.scratch.triangles = triangles;
    }

    #[inline]
    pub(super) fn push(&mut self, point_a: DVec3, point_b: DVec3, normal: DVec3, key: u64) {
        let gap = (point_b - point_a).dot(normal);
        if gap <= self.prediction {
            self.contacts.push(Contact {
                colliders: self.colliders,
                key,
                point_a,
                point_b,
                normal,
                gap,
            });
        }
    }

    /// Two balls; where the centres coincide the normal is z.
    #[inline]
    fn spheres(&mut self, (a, ra): (DVec3, f64), (b, rb): (DVec3, f64), name: u64) {
        let offset = b - a;
        let reach = ra + rb + self.prediction;
        let square = offset.length_squared();
        if square <= reach * reach {
            let distance = square.sqrt();
            let normal = if distance > 0.0 { offset / distance } else { DVec3::Z };
            let contact = Contact {
                colliders: self.colliders,
                key: name,
                point_a: a + normal * ra,
                point_b: b - normal * rb,
                normal,
                gap: distance - ra - rb,
            };
            self.contacts.push(contact);
        }
    }

    fn convex(
        &mut self,
        (core_a, ra, a): (&Core, f64, Placed),
        (core_b, rb, b): (&Core, f64, Placed),
        name: u64,
    ) {
        let reach = self.prediction + ra + rb;
        let pair = Pair {
            a: core_a,
            b: core_b,
            pose: a.pose.relative(&b.pose),
            reach,
            scale: a.size.min(b.size),
        };
        let Some(closest) = pair.closest(&mut self.scratch.polytope) else { return };
        let normal = a.pose.vector(closest.normal);
        if matches!(core_a, Core::Point) || matches!(core_b, Core::Point) {
            let (point_a, point_b) = (
                a.pose.point(closest.point_a) + normal * ra,
                a.pose.point(closest.point_b) - normal * rb,
            );
            return self.push(point_a, point_b, normal, name);
        }
        manifold(&pair, &closest, false, &mut self.scratch.manifold);
        self.reduce(closest.normal, pair.scale);
        self.push_touches(&a.pose, (ra, rb), normal, name);
    }

    /// Carries the touches of the last manifold into the world.
    pub(super) fn push_touches(
        &mut self,
        frame: &Pose,
        (ra, rb): (f64, f64),
        normal: DVec3,
        name: u64,
    ) {
        for i in 0..self.scratch.manifold.touches.len() {
            let touch = self.scratch.manifold.touches[i];
            self.push(
                frame.point(touch.point_a) + normal * ra,
                frame.point(touch.point_b) - normal * rb,
                normal,
                mix(name, touch.tag),
            );
        }
    }

    /// Of more than nine points across `n` keeps those that touch first where a piece of this size
    /// tilts ([`first_to_touch`]), in the frame that the touches are in.
    fn reduce(&mut self, n: DVec3, size: f64) {
        let tilt = Tilt::new(n, self.prediction, size);
        let Scratch { touches, kept, .. } = &mut self.scratch.manifold;
        if touches.len() <= MAX_CONTACTS_PER_PLANE {
            return;
        }
        first_to_touch(touches.len(), &tilt, kept, |i| {
            let touch = &touches[i];
            (touch.point_b, (touch.point_b - touch.point_a).dot(n))
        });
        let mut i = 0;
        touches.retain(|_| (kept.contains(&i), i += 1).0);
    }

    /// A half-space and anything but another: corners below the plane, or the feature turned to it.
    fn half_space(&mut self, plane: Placed, b: Placed, name: u64) {
        let normal = plane.pose.vector(DVec3::Z);
        let down = -b.pose.inverse_vector(normal);
        let scratch = &mut self.scratch.manifold;
        scratch.touches.clear();
        let radius = match b.geometry {
            Geometry::HalfSpace => return,
            Geometry::Convex(core, radius) => {
                if !core.corners(&mut scratch.feature_b) {
                    core.lowest_feature(down, 1e-7 * b.size, &mut scratch.feature_b);
                }
                *radius
            }
            Geometry::Surface(surface, skin) => {
                scratch.feature_b.clear();
                let numbered = surface.vertices().iter().copied().zip(0..);
                scratch.feature_b.extend(numbered.filter(|&(_, i)| surface.counts(i)));
                *skin
            }
        };
        let reach = self.prediction + radius;
        for &(corner, id) in &scratch.feature_b {
            let height = (b.pose.point(corner) - plane.pose.position).dot(normal);
            if height <= reach {
                scratch.touches.push(Touch {
                    point_a: corner + down * height,
                    point_b: corner,
                    tag: id as u64,
                });
            }
        }
        // Of a rigid shape the outermost corners carry all; of a soft one each carries itself.
        if !matches!(b.geometry, Geometry::Surface(surface, _) if surface.soft) {
            self.reduce(-down, b.size);
        }
        self.push_touches(&b.pose, (0.0, radius), normal, name);
    }

    /// Drops contacts that repeat an earlier one: neighbouring triangles share edges and vertices.
    pub(super) fn merge(&mut self, start: usize, near: f64) {
        self.contacts[start..].sort_by_key(|contact| contact.key);
        let mut kept = start;
        for i in start..self.contacts.len() {
            let contact = self.contacts[i];
            let repeats = |other: &Contact| {
                other.point_a.distance(contact.point_a) <= near
                    && other.normal.dot(contact.normal) > 0.999
            };
            if !self.contacts[start..kept].iter().any(repeats) {
                self.contacts[kept] = contact;
                kept += 1;
            }
        }
        self.contacts.truncate(kept);
    }
}

/// The box around a turned box.
pub(crate) fn turned_bounds((low, high): (DVec3, DVec3), pose: &Pose) -> (DVec3, DVec3) {
    let rotation = pose.rotation();
    let half = 0.5 * (high - low);
    let center = pose.point(0.5 * (low + high));
    let reach = rotation.x_axis.abs() * half.x
        + rotation.y_axis.abs() * half.y
        + rotation.z_axis.abs() * half.z;
    (center - reach, center + reach)
}
