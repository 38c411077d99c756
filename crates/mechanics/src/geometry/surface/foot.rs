//! The nearest point of a surface.
//!
//! The sign of a distance comes from the mean normal of the nearest feature, weighted by angles at
//! a vertex (Baerentzen2005).

use super::triangle::{Place, nearest};
use super::{NONE, Surface};
use glam::DVec3;
use parry3d_f64::partitioning::BvhNode;

/// The nearest point of a surface.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Foot {
    pub point: DVec3,
    /// Unit, out of the solid, or towards the point for a sheet.
    pub normal: DVec3,
    /// Negative behind a one-sided surface.
    pub distance: f64,
    triangle: u32,
    pub place: Place,
}

impl Surface {
    /// The nearest point of the surface.
    pub fn foot(&self, p: DVec3) -> Foot {
        let aside = |node: &BvhNode, _| {
            let (low, high) = (node.mins(), node.maxs());
            (low - p).max(p - high).max(DVec3::ZERO).length_squared()
        };
        let near = |triangle: u32, _| {
            let (point, place) = nearest(self.triangle(triangle), p);
            Some((point.distance_squared(p), (point, place)))
        };
        let (triangle, (_, (point, place))) =
            self.tree.find_best(f64::INFINITY, aside, near).expect("a surface has triangles");
        self.foot_on(p, triangle, point, place)
    }

    /// The nearest point of some triangles.
    pub fn foot_among(&self, p: DVec3, triangles: &[u32]) -> Option<Foot> {
        let mut best: Option<(f64, u32, DVec3, Place)> = None;
        for &triangle in triangles {
            let (point, place) = nearest(self.triangle(triangle), p);
            let distance = point.distance_squared(p);
            if best.is_none_or(|best| distance < best.0) {
                best = Some((distance, triangle, point, place));
            }
        }
        best.map(|(_, triangle, point, place)| self.foot_on(p, triangle, point, place))
    }

    fn foot_on(&self, p: DVec3, triangle: u32, point: DVec3, place: Place) -> Foot {
        let panel = &self.panels[triangle as usize];
        let own = self.faces[panel.face as usize].normal;
        let mean = match place {
            Place::Face => own,
            Place::Side(k) => match self.beyond[triangle as usize][k as usize] {
                NONE => own,
                other => (own + self.face(self.face_of(other)).normal).normalize_or(own),
            },
            Place::Corner(k) => {
                self.vertex_normals[self.triangles[triangle as usize][k as usize] as usize]
            }
        };
        let offset = p - point;
        let length = offset.length();
        let behind = offset.dot(mean) < 0.0;
        let side = if behind { -1.0 } else { 1.0 };
        let (low, high) = self.bounds();
        let normal = match place {
            Place::Face if self.one_sided => own,
            Place::Face => own * side,
            // Closer than rounding the offset has no direction: the faces have.
            _ if length <= 1e-12 * (high - low).length() => mean,
            _ if self.one_sided => offset * (side / length),
            _ => offset / length,
        };
        let distance = if self.one_sided { side * length } else { length };
        Foot { point, normal, distance, triangle, place }
    }

    /// Calls `each` with the faces that meet where the foot is.
    pub fn faces_at(&self, foot: &Foot, mut each: impl FnMut(u32)) {
        each(self.face_of(foot.triangle));
        match foot.place {
            Place::Face => {}
            Place::Side(k) => {
                let other = self.beyond[foot.triangle as usize][k as usize];
                if other != NONE && self.face_of(other) != self.face_of(foot.triangle) {
                    each(self.face_of(other));
                }
            }
            Place::Corner(k) => {
                let fan = self.fan(self.triangles[foot.triangle as usize][k as usize]);
                for (i, &triangle) in fan.iter().enumerate() {
                    let face = self.face_of(triangle);
                    let known = face == self.face_of(foot.triangle)
                        || fan[..i].iter().any(|&t| self.face_of(t) == face);
                    if !known {
                        each(face);
                    }
                }
            }
        }
    }

    /// The triangle nearest to a point, and the shares of its corners in the nearest point there.
    pub fn shares(&self, p: DVec3) -> ([u32; 3], [f64; 3]) {
        let foot = self.foot(p);
        let [a, b, c] = self.triangle(foot.triangle);
        let (u, v, w) = (b - a, c - a, foot.point - a);
        let (uu, uv, vv, wu, wv) = (u.dot(u), u.dot(v), v.dot(v), w.dot(u), w.dot(v));
        let area = (uu * vv - uv * uv).max(f64::MIN_POSITIVE);
        let second = ((vv * wu - uv * wv) / area).clamp(0.0, 1.0);
        let third = ((uu * wv - uv * wu) / area).clamp(0.0, 1.0 - second);
        (self.given[foot.triangle as usize], [1.0 - second - third, second, third])
    }
}
