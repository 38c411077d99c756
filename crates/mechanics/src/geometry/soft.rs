//! The boundary of a soft body and a convex piece.
//!
//! 1. Vertices of the boundary: the nearest point of the piece, if the vertex looks that way.
//! 2. Triangles: the point or the edge of the piece that looks at the triangle, cut off where the
//!    triangle ends; the normal is the triangle's.
//!
//! Together they keep nodes out of the piece and the piece out of the faces between them. Each
//! contact lies on the boundary, so that three nodes hold it. Edges against edges are left to the
//! vertices: elements are small beside what they touch.

use super::convex::{Core, Feature};
use super::manifold::mix;
use super::narrow::turned_bounds;
use super::piece::{Placed, Sink};
use super::surface::Surface;
use glam::DVec3;

impl Sink<'_> {
    /// Appends the contacts of a soft boundary (in the world) with a convex piece.
    pub(super) fn soft_convex(
        &mut self,
        (surface, skin): (&Surface, f64),
        (core, radius, b): (&Core, f64, Placed),
        name: u64,
    ) {
        let start = self.contacts.len();
        let reach = self.prediction + skin + radius;
        let (low, high) = turned_bounds(core.bounds(), &b.pose);
        let (low, high) = (low - DVec3::splat(reach), high + DVec3::splat(reach));
        for (i, &vertex) in surface.vertices().iter().enumerate() {
            if vertex.cmplt(low).any() || vertex.cmpgt(high).any() {
                continue;
            }
            let near = core.nearest(b.pose.inverse_point(vertex));
            let normal = -b.pose.vector(near.normal);
            // Sixty degrees: beyond, another side of the body is nearer.
            if near.distance <= reach && normal.dot(surface.vertex_normals[i]) > 0.5 {
                let point = vertex + normal * near.distance;
                self.push(
                    vertex + normal * skin,
                    point - normal * radius,
                    normal,
                    mix(mix(name, 1), i as u64),
                );
            }
        }
        let mut triangles = self.take_triangles();
        surface.triangles_in(low, high, &mut triangles);
        for &triangle in &triangles {
            self.soft_triangle(
                surface.triangle(triangle),
                skin,
                (core, radius, b),
                mix(mix(name, 2), u64::from(triangle)),
            );
        }
        self.keep_triangles(triangles);
        self.merge(start, 1e-6 * b.size);
    }

    /// Step 2 for one triangle.
    fn soft_triangle(
        &mut self,
        corners: [DVec3; 3],
        skin: f64,
        (core, radius, b): (&Core, f64, Placed),
        name: u64,
    ) {
        let (u, v) = (corners[1] - corners[0], corners[2] - corners[0]);
        let Some(n) = u.cross(v).try_normalize() else { return };
        // Deeper than its own edges a triangle is not what touches.
        let deepest = -u.length().min(v.length());
        let mut feature = Feature::new();
        core.feature(-b.pose.inverse_vector(n), &mut feature);
        let points: Vec<DVec3> = feature.iter().map(|f| b.pose.point(f.0)).collect();
        let put = |sink: &mut Self, p: DVec3, tag: u64| {
            let gap = (p - corners[0]).dot(n) - skin - radius;
            if gap >= deepest {
                sink.push(p - n * (gap + radius), p - n * radius, n, mix(name, tag));
            }
        };
        if let [from, to] = points[..] {
            if let Some((first, last)) = within(&corners, n, from, to) {
                put(self, from.lerp(to, first), 0);
                put(self, from.lerp(to, last), 1);
            }
            return;
        }
        for (i, &p) in points.iter().enumerate() {
            if within(&corners, n, p, p).is_some() {
                put(self, p, i as u64);
            }
        }
    }
}

/// The part of a segment above or below a triangle, as shares of its length.
fn within(corners: &[DVec3; 3], n: DVec3, from: DVec3, to: DVec3) -> Option<(f64, f64)> {
    let (mut first, mut last) = (0.0f64, 1.0f64);
    for i in 0..3 {
        let (a, b) = (corners[i], corners[(i + 1) % 3]);
        let inward = n.cross(b - a);
        // A billionth of the edge: what lies on an edge lies in both triangles.
        let slack = 1e-9 * inward.length_squared();
        let (d0, d1) = ((from - a).dot(inward) + slack, (to - a).dot(inward) + slack);
        if d0 < 0.0 && d1 < 0.0 {
            return None;
        }
        let cut = d0 / (d0 - d1);
        if d0 < 0.0 {
            first = first.max(cut);
        } else if d1 < 0.0 {
            last = last.min(cut);
        }
    }
    (first <= last).then_some((first, last))
}
