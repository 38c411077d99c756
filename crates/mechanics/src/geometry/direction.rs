//! Along which direction two convex cores are nearest, or overlap least.
//!
//! For a unit direction n, `s(n) = min_{x∈B} n·x − max_{x∈A} n·x` is the separation along n. The
//! distance of disjoint sets, and minus the penetration depth of overlapping ones, is the largest
//! s(n) of all n.
//!
//! 1. Points, and two segments: closed forms.
//! 2. Two boxes that overlap: the 15 axes of faces and pairs of edges (Gottschalk1996).
//! 3. All others: the iterations of Gilbert, Johnson and Keerthi, and an expanding polytope where
//!    they overlap (parry).
//! 4. Where a direction of the shapes themselves (a face normal, a common perpendicular) separates
//!    as much, it is the direction: what the iterations say about it is lost in rounding when the
//!    gap is tiny.

use super::convex::{Core, Feature};
use crate::math::pose::Pose;
use glam::DVec3;
use parry3d_f64::query::epa::EPA;
use parry3d_f64::query::gjk::{CsoPoint, GJKResult, VoronoiSimplex, closest_points};

/// Two cores, seen from the frame of the first.
pub(crate) struct Pair<'a> {
    pub a: &'a Core,
    pub b: &'a Core,
    /// Pose of b in the frame of a.
    pub pose: Pose,
    /// Beyond this distance the pair is of no interest.
    pub reach: f64,
    /// Size of the smaller, m: what tolerances are relative to.
    pub scale: f64,
}

/// The direction of least overlap, or of the distance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closest {
    /// Unit, from a to b.
    pub normal: DVec3,
    pub point_a: DVec3,
    pub point_b: DVec3,
    /// Negative where the cores overlap.
    pub distance: f64,
}

/// Separations that differ by less than this part of the size are equal: far above the 1e-14 that
/// the iterations reach, far below what a contact can feel.
const EQUAL_SEPARATION_RATIO: f64 = 1e-9;

/// Nearest points that differ by less than this part of the size are the same: above the root of
/// [`EQUAL_SEPARATION_RATIO`], by which points of equal height of a rim differ.
const SAME_POINT_RATIO: f64 = 1e-3;

impl Pair<'_> {
    /// The nearest points, or none beyond reach; `polytope` is room for the iterations.
    pub fn closest(&self, polytope: &mut EPA) -> Option<Closest> {
        let found = match (self.a, self.b) {
            (a, Core::Point) => {
                let near = a.nearest(self.pose.position);
                Closest {
                    normal: near.normal,
                    point_a: near.point,
                    point_b: self.pose.position,
                    distance: near.distance,
                }
            }
            (Core::Point, b) => {
                let near = b.nearest(self.pose.inverse_point(DVec3::ZERO));
                Closest {
                    normal: -self.pose.vector(near.normal),
                    point_a: DVec3::ZERO,
                    point_b: self.pose.point(near.point),
                    distance: near.distance,
                }
            }
            (Core::Segment(a), Core::Segment(b)) => {
                let axis = self.pose.vector(DVec3::Z * *b);
                segments(
                    [-DVec3::Z * *a, DVec3::Z * *a],
                    [self.pose.position - axis, self.pose.position + axis],
                )
            }
            (Core::Edge(a), Core::Segment(b)) => {
                let axis = self.pose.vector(DVec3::Z * *b);
                segments(*a, [self.pose.position - axis, self.pose.position + axis])
            }
            (Core::Box(a), Core::Box(b)) => self.boxes(*a, *b, polytope)?,
            _ => self.iterate(polytope)?,
        };
        (found.distance <= self.reach).then_some(found)
    }

    /// s(n), with n in the frame of a.
    pub fn separation(&self, n: DVec3) -> f64 {
        let b = self.pose.point(self.b.support(-self.pose.inverse_vector(n)));
        b.dot(n) - self.a.support(n).dot(n)
    }

    fn iterate(&self, polytope: &mut EPA) -> Option<Closest> {
        let pose = parry3d_f64::math::Pose {
            rotation: self.pose.orientation,
            translation: self.pose.position,
        };
        let mut simplex = VoronoiSimplex::new();
        simplex.reset(CsoPoint::from_shapes(
            &pose,
            self.a,
            self.b,
            self.pose.position.try_normalize().unwrap_or(DVec3::X),
        ));
        let mut ended = closest_points(&pose, self.a, self.b, self.reach, true, &mut simplex);
        if ended == GJKResult::Intersection
            && let Some((point_a, point_b, normal)) =
                polytope.closest_points(&pose, self.a, self.b, &simplex)
        {
            ended = GJKResult::ClosestPoints(point_a, point_b, normal);
        }
        let found = match ended {
            GJKResult::ClosestPoints(point_a, point_b, normal) if normal.is_finite() => {
                Closest { normal, point_a, point_b, distance: (point_b - point_a).dot(normal) }
            }
            GJKResult::NoIntersection(n)
                if self.separation(n).max(self.separation(-n)) > self.reach =>
            {
                return None;
            }
            // The iterations gave up: the best of the faces.
            _ => self.along(self.pose.position.normalize_or(DVec3::Z)),
        };
        Some(self.polished(found))
    }

    /// The direction itself with its support points. All of a face across it supports: the point
    /// that lies across from the other's is taken, not a corner that may be far away; of two edges
    /// of boxes that cross the points where they do, not their ends.
    fn along(&self, normal: DVec3) -> Closest {
        let mut point_b = self.pose.point(self.b.support(-self.pose.inverse_vector(normal)));
        let mut point_a = self.a.support(normal);
        let distance = (point_b - point_a).dot(normal);
        match self.faces_across(normal) {
            [true, _] => point_a = point_b - normal * distance,
            [false, true] => point_b = point_a + normal * distance,
            [false, false] if self.are_boxes() => {
                if let Some([edge_a, edge_b]) = self.edges(normal) {
                    let crossing = segments(edge_a, edge_b.map(|point| self.pose.point(point)));
                    (point_a, point_b) = (crossing.point_a, crossing.point_b);
                }
            }
            [false, false] => {}
        }
        Closest { normal, point_a, point_b, distance }
    }

    /// Whether both are boxes: the iterations find where edges of others cross.
    fn are_boxes(&self) -> bool {
        matches!((self.a, self.b), (Core::Box(_), Core::Box(_)))
    }

    /// The edges that the cores turn to each other, if both turn an edge, each in its own frame.
    fn edges(&self, n: DVec3) -> Option<[[DVec3; 2]; 2]> {
        let (mut a, mut b) = (Feature::new(), Feature::new());
        self.a.feature(n, &mut a);
        self.b.feature(-self.pose.inverse_vector(n), &mut b);
        let both = a.len() == 2 && b.len() == 2;
        both.then(|| [[a[0].0, a[1].0], [b[0].0, b[1].0]])
    }

    /// Which of the two has a face across `normal` where it looks at the other.
    fn faces_across(&self, normal: DVec3) -> [bool; 2] {
        let across = |core: &Core, n: DVec3| {
            let face = core.face_normal(n).filter(|_| core.is_flat(n));
            face.is_some_and(|face| face.distance(n) <= EQUAL_SEPARATION_RATIO)
        };
        [across(self.a, normal), across(self.b, -self.pose.inverse_vector(normal))]
    }

    /// The nearest points where `normal` is that of a face of one of them: of the other the support
    /// point, if it is the one that was found. The iterations have its height to rounding, and of a
    /// rim its place to the root of that only.
    fn over_face(&self, found: Closest, normal: DVec3, distance: f64) -> Closest {
        let [on_a, on_b] = self.faces_across(normal);
        let exact = self.along(normal);
        let apart =
            exact.point_a.distance(found.point_a).max(exact.point_b.distance(found.point_b));
        if on_a != on_b && apart <= SAME_POINT_RATIO * self.scale {
            exact
        } else {
            Closest { normal, distance, ..found }
        }
    }

    /// Prefers a direction of the shapes themselves that separates as much as the one found: face
    /// normals near it and near the line of centres, and the common perpendicular of two axes.
    fn polished(&self, found: Closest) -> Closest {
        let mut best = Closest { distance: self.separation(found.normal), ..found };
        let mut bar = best.distance - EQUAL_SEPARATION_RATIO * self.scale;
        let mut consider = |normal: Option<DVec3>| {
            let Some(normal) = normal else { return };
            let distance = self.separation(normal);
            if distance > bar {
                // The points found serve as long as they are as far apart along this direction too.
                let short = distance - (found.point_b - found.point_a).dot(normal);
                best = if short.abs() <= EQUAL_SEPARATION_RATIO * self.scale {
                    self.over_face(found, normal, distance)
                } else if matches!(self.a, Core::Edge(_)) && short.abs() <= 1e-5 * self.scale {
                    // Any point of an edge across the direction is a support point: keep the
                    // nearest.
                    Closest { normal, distance, point_b: found.point_b + normal * short, ..found }
                } else {
                    self.along(normal)
                };
                bar = distance + EQUAL_SEPARATION_RATIO * self.scale;
            }
        };
        // The line of centres first: it knows nothing of rounding.
        for n in [self.pose.position.normalize_or(DVec3::Z), found.normal] {
            consider(self.a.face_normal(n));
            consider(
                self.b.face_normal(-self.pose.inverse_vector(n)).map(|n| -self.pose.vector(n)),
            );
        }
        // Where polyhedra touch or overlap the iterations may end on a far face: all of them have a
        // say.
        if found.distance <= EQUAL_SEPARATION_RATIO * self.scale {
            if let Core::Hull(hull) = self.a {
                hull.normals().for_each(|n| consider(Some(n)));
            }
            if let Core::Hull(hull) = self.b {
                hull.normals().for_each(|n| consider(Some(-self.pose.vector(n))));
            }
        }
        let across = DVec3::Z.cross(self.pose.vector(DVec3::Z));
        if across.length_squared() > 1e-6 {
            let across = across.normalize();
            consider(Some(if across.dot(found.normal) < 0.0 { -across } else { across }));
        }
        // Points that nearly coincide say nothing of the direction; edges that cross do.
        if found.distance.abs() < 1e-6 * self.scale {
            consider(self.crossed_edges(found.normal));
        }
        best
    }

    /// The common perpendicular of the edges that the cores turn to each other, if both turn an
    /// edge.
    fn crossed_edges(&self, n: DVec3) -> Option<DVec3> {
        let [a, b] = self.edges(n)?;
        // b is seen from its own frame: parallel edges must not differ by rounding of places.
        let across = (a[1] - a[0]).cross(self.pose.vector(b[1] - b[0])).try_normalize()?;
        Some(if across.dot(n) < 0.0 { -across } else { across })
    }

    /// Step 2: the axis that separates most; where the nearest features are a vertex and an edge or
    /// two vertices no such axis is the direction, and the iterations find it.
    fn boxes(&self, a: DVec3, b: DVec3, polytope: &mut EPA) -> Option<Closest> {
        let rotation = self.pose.rotation();
        let columns = [rotation.x_axis, rotation.y_axis, rotation.z_axis];
        let center = self.pose.position;
        let separation = |n: DVec3| {
            let half_b = b.x * columns[0].dot(n).abs()
                + b.y * columns[1].dot(n).abs()
                + b.z * columns[2].dot(n).abs();
            center.dot(n).abs() - n.abs().dot(a) - half_b
        };
        let mut best = (f64::NEG_INFINITY, DVec3::Z);
        for n in [DVec3::X, DVec3::Y, DVec3::Z, columns[0], columns[1], columns[2]] {
            let s = separation(n);
            // The second box's faces must separate more: the choice does not flicker.
            if s > best.0 + EQUAL_SEPARATION_RATIO * self.scale {
                best = (s, n);
            }
        }
        if best.0 > self.reach {
            return None;
        }
        for edge_a in [DVec3::X, DVec3::Y, DVec3::Z] {
            for edge_b in columns {
                let cross = edge_a.cross(edge_b);
                let length = cross.length();
                // Nearly parallel edges have no direction of their own: a face says the same.
                if length > 1e-6 {
                    let s = separation(cross / length);
                    if s > best.0 + 1e3 * EQUAL_SEPARATION_RATIO * self.scale {
                        best = (s, cross / length);
                    }
                }
            }
        }
        if best.0 > self.reach {
            return None;
        }
        let normal = if center.dot(best.1) < 0.0 { -best.1 } else { best.1 };
        let axis = Closest { distance: best.0, ..self.along(normal) };
        if best.0 <= EQUAL_SEPARATION_RATIO * self.scale {
            return Some(axis);
        }
        let found = self.iterate(polytope)?;
        Some(if found.distance > best.0 + 1e3 * EQUAL_SEPARATION_RATIO * self.scale {
            found
        } else {
            Closest { normal, distance: best.0, ..found }
        })
    }
}

/// The nearest points of two segments (Ericson2004, 5.1.9).
pub(crate) fn segments(a: [DVec3; 2], b: [DVec3; 2]) -> Closest {
    let (da, db, r) = (a[1] - a[0], b[1] - b[0], a[0] - b[0]);
    let (aa, bb, ab) = (da.length_squared(), db.length_squared(), da.dot(db));
    let (c, f) = (da.dot(r), db.dot(r));
    let determinant = aa * bb - ab * ab;
    // Parallel: any pair serves; the middle of a's overlap would move, its start does not.
    let mut s = if determinant > 1e-24 * aa * bb {
        ((ab * f - c * bb) / determinant).clamp(0.0, 1.0)
    } else {
        0.0
    };
    let t = ((ab * s + f) / bb).clamp(0.0, 1.0);
    s = ((ab * t - c) / aa).clamp(0.0, 1.0);
    let (point_a, point_b) = (a[0] + da * s, b[0] + db * t);
    let distance = point_a.distance(point_b);
    // Axes that meet: across both.
    let across =
        || da.cross(db).try_normalize().unwrap_or_else(|| da.any_orthogonal_vector().normalize());
    let normal =
        if distance > 1e-12 * aa.sqrt() { (point_b - point_a) / distance } else { across() };
    Closest { normal, point_a, point_b, distance }
}

#[cfg(test)]
mod tests {
    use super::super::convex::Hull;
    use super::*;

    /// Two blocks that share a face, their corners given in one common frame (as the stones of an
    /// arch are): the frames coincide, so that nothing but the faces tells the direction.
    #[test]
    fn blocks_that_share_a_face_touch_there() {
        let block = |x: f64| {
            let corners: Vec<DVec3> = (0..8)
                .map(|i| {
                    DVec3::new(
                        x + f64::from(i & 1),
                        f64::from(i >> 1 & 1),
                        f64::from(i >> 2 & 1) * 0.3,
                    )
                })
                .collect();
            Core::Hull(Hull::new(&corners).unwrap())
        };
        let (a, b) = (block(0.0), block(1.0));
        for i in 0..3000 {
            let size = 10f64.powi(-6 - i % 10);
            let turn = DVec3::new(
                (f64::from(i) * 0.7).sin(),
                (f64::from(i) * 1.3).cos(),
                (f64::from(i) * 2.1).sin(),
            ) * size;
            let pose = Pose::IDENTITY.advanced(turn, turn);
            let pair = Pair { a: &a, b: &b, pose, reach: 0.1, scale: 1.0 };
            let found = pair.closest(&mut EPA::new()).expect("they touch");
            assert!(found.distance.abs() < 1e-5 && found.normal.x > 0.999, "{i}: {found:?}");
        }
    }

    /// Boxes whose edges cross and overlap had a corner of each as their points of contact, half an
    /// edge away from where they touch.
    #[test]
    fn edges_that_cross_touch_where_they_cross() {
        let core = Core::Box(DVec3::new(1.0, 0.1, 0.1));
        let n = DVec3::new(0.0, 1.0, 1.0).normalize();
        for depth in [-1e-3, 1e-6, 1e-3, 1e-2] {
            for (angle, at_a, at_b) in [(1.0, 0.3, -0.2), (0.4, -0.7, 0.5), (1.5, 0.0, 0.6)] {
                let orientation = glam::DQuat::from_axis_angle(n, angle);
                let crossing = DVec3::new(at_a, 0.1, 0.1) - n * depth;
                let position = crossing - orientation * DVec3::new(at_b, -0.1, -0.1);
                let pose = Pose::new(position, orientation);
                let pair = Pair { a: &core, b: &core, pose, reach: 0.1, scale: 0.1 };
                let found = pair.closest(&mut EPA::new()).expect("they are near");
                let off = found.point_b.distance(crossing);
                let other = found.point_a.distance(crossing + n * depth);
                assert!((found.distance + depth).abs() < 1e-9, "{depth} {angle}: {found:?}");
                assert!(off < 1e-9 && other < 1e-9, "{depth} {angle}: {off} {other} {found:?}");
            }
        }
    }

    /// No direction separates more than the one found, whatever the two cores and however they lie.
    #[test]
    fn no_direction_separates_more() {
        let mut random = crate::math::random::Random::seeded(3);
        let mut vector = move || random.vector();
        let points: Vec<DVec3> = (0..20).map(|_| vector().normalize_or(DVec3::X) * 0.6).collect();
        let cores = [
            Core::Point,
            Core::Segment(0.5),
            Core::Box(DVec3::new(0.3, 0.4, 0.5)),
            Core::Cylinder(0.4, 0.5),
            Core::Cone(0.4, 0.5),
            Core::Hull(Hull::new(&points).unwrap()),
            Core::Edge([DVec3::new(0.5, 0.0, 0.0), DVec3::new(0.0, 0.6, 0.1)]),
        ];
        for round in 0..60 {
            for a in &cores {
                for b in &cores {
                    let pose = Pose::turned(
                        vector() * if round % 2 == 0 { 0.3 } else { 1.0 },
                        vector() * 2.0,
                    );
                    let pair = Pair { a, b, pose, reach: f64::MAX, scale: 0.5 };
                    let closest =
                        pair.closest(&mut EPA::new()).expect("everything is within reach");
                    let mut near = |n: DVec3, amount: f64| (n + vector() * amount).normalize();
                    // Anywhere, and close to what was found.
                    for amount in [10.0, 10.0, 10.0, 10.0, 0.3, 0.1, 0.03, 0.01] {
                        for _ in 0..20 {
                            let s = pair.separation(near(closest.normal, amount));
                            // The expanding polytope of a round core stops within 1e-5 of its size.
                            assert!(
                                s <= closest.distance + 1e-5,
                                "{a:?} {b:?} {pose:?}: {s} > {closest:?}"
                            );
                        }
                    }
                    assert!(
                        (pair.separation(closest.normal) - closest.distance).abs() < 1e-5,
                        "{a:?} {b:?} {pose:?} {closest:?}"
                    );
                }
            }
        }
    }
}
