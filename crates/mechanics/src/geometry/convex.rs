//! Convex cores: what is left of a convex shape when its round skin is taken off.
//!
//! A sphere is a point with a skin, a capsule a segment with a skin; the others have none. Each
//! core answers three questions: its support point in a direction, its nearest point to a point,
//! and the flat feature (vertex, edge or face) that it turns towards a direction.

use super::shape::Invalid;
use glam::{DVec2, DVec3};
use parry3d_f64::shape::SupportMap;
use smallvec::SmallVec;

/// A feature within 8° of flat counts as flat: sin 8°.
pub(crate) const MAX_FLAT_SINE: f64 = 0.14;
/// cos 8°.
pub(crate) const MIN_FLAT_COSINE: f64 = 0.99;

/// A convex solid, segment or point in its own frame.
#[derive(Clone, Debug)]
pub(crate) enum Core {
    Point,
    /// Along z, from −half to +half.
    Segment(f64),
    Box(DVec3),
    /// Radius and half length, axis z.
    Cylinder(f64, f64),
    /// Radius and half length, apex at +z.
    Cone(f64, f64),
    Hull(Hull),
    /// A segment between two points: an edge of a mesh.
    Edge([DVec3; 2]),
}

/// A convex polyhedron.
#[derive(Clone, Debug)]
pub(crate) struct Hull {
    pub points: Vec<DVec3>,
    faces: Vec<Face>,
    /// Corners of all faces, face after face, counter-clockwise.
    corners: Vec<u32>,
    edges: Vec<[u32; 2]>,
    /// The mean of its points.
    center: DVec3,
}

#[derive(Clone, Debug)]
struct Face {
    normal: DVec3,
    first: usize,
    count: usize,
}

/// The nearest point of a core to a given point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nearest {
    /// On the core's surface.
    pub point: DVec3,
    /// Unit, out of the core.
    pub normal: DVec3,
    /// Negative inside.
    pub distance: f64,
}

/// A vertex, an edge or a face: corners in order, each with a number that names it.
pub(crate) type Feature = SmallVec<[(DVec3, u32); 8]>;

impl Hull {
    pub fn new(points: &[DVec3]) -> Result<Hull, Invalid> {
        let refused = |reason: String| Invalid::Refused { shape: "hull", reason };
        let polyhedron = parry3d_f64::shape::ConvexPolyhedron::from_convex_hull(points)
            .ok_or_else(|| refused("no convex hull of these points was found".into()))?;
        let faces = polyhedron.faces().iter().map(|face| Face {
            normal: face.normal,
            first: face.first_vertex_or_edge as usize,
            count: face.num_vertices_or_edges as usize,
        });
        let mut hull = Hull {
            points: polyhedron.points().to_vec(),
            faces: faces.collect(),
            corners: polyhedron.vertices_adj_to_face().to_vec(),
            edges: vec![],
            center: polyhedron.points().iter().sum::<DVec3>() / polyhedron.points().len() as f64,
        };
        for face in &hull.faces {
            let corners = &hull.corners[face.first..face.first + face.count];
            for (i, &a) in corners.iter().enumerate() {
                let b = corners[(i + 1) % corners.len()];
                hull.edges.push([a.min(b), a.max(b)]);
            }
        }
        hull.edges.sort_unstable();
        hull.edges.dedup();
        Ok(hull)
    }

    fn face(&self, n: DVec3) -> &Face {
        let mut best = &self.faces[0];
        for face in &self.faces[1..] {
            if face.normal.dot(n) > best.normal.dot(n) {
                best = face;
            }
        }
        best
    }

    /// The normals of all faces.
    pub fn normals(&self) -> impl Iterator<Item = DVec3> + '_ {
        self.faces.iter().map(|face| face.normal)
    }

    fn support(&self, n: DVec3) -> usize {
        let mut best = (0, self.points[0].dot(n));
        for (i, point) in self.points.iter().enumerate().skip(1) {
            let height = point.dot(n);
            if height > best.1 {
                best = (i, height);
            }
        }
        best.0
    }

    fn nearest(&self, p: DVec3) -> Nearest {
        let height =
            |face: &Face| (p - self.points[self.corners[face.first] as usize]).dot(face.normal);
        let mut best: Option<Nearest> = None;
        let mut inside = (f64::NEG_INFINITY, DVec3::Z);
        for face in &self.faces {
            let above = height(face);
            if above > inside.0 {
                inside = (above, face.normal);
            }
            if above <= 0.0 {
                continue;
            }
            let corners = &self.corners[face.first..face.first + face.count];
            for i in 1..corners.len() - 1 {
                let near = nearest_on_triangle(
                    [corners[0], corners[i], corners[i + 1]].map(|c| self.points[c as usize]),
                    face.normal,
                    p,
                );
                if best.is_none_or(|best| near.distance < best.distance) {
                    best = Some(near);
                }
            }
        }
        best.unwrap_or(Nearest {
            point: p - inside.1 * inside.0,
            normal: inside.1,
            distance: inside.0,
        })
    }
}

impl SupportMap for Core {
    fn local_support_point(&self, dir: DVec3) -> DVec3 {
        self.support(dir)
    }
}

impl Core {
    /// The point farthest along `n`.
    #[inline]
    pub fn support(&self, n: DVec3) -> DVec3 {
        match self {
            Core::Point => DVec3::ZERO,
            Core::Segment(half) => DVec3::new(0.0, 0.0, half.copysign(n.z)),
            Core::Box(half) => {
                DVec3::new(half.x.copysign(n.x), half.y.copysign(n.y), half.z.copysign(n.z))
            }
            Core::Cylinder(radius, half) => (radial(n) * *radius).extend(half.copysign(n.z)),
            Core::Cone(radius, half) => {
                let rim = (radial(n) * *radius).extend(-half);
                if half * n.z > rim.dot(n) { DVec3::new(0.0, 0.0, *half) } else { rim }
            }
            Core::Hull(hull) => hull.points[hull.support(n)],
            Core::Edge(ends) => ends[((ends[1] - ends[0]).dot(n) > 0.0) as usize],
        }
    }

    /// The nearest point of the surface to `p`.
    pub fn nearest(&self, p: DVec3) -> Nearest {
        match self {
            Core::Point => from_point(DVec3::ZERO, p, DVec3::Z),
            Core::Segment(half) => {
                from_point(DVec3::new(0.0, 0.0, p.z.clamp(-half, *half)), p, DVec3::X)
            }
            Core::Box(half) => nearest_on_box(*half, p),
            Core::Cylinder(radius, half) => {
                let near = nearest_on_box(
                    DVec3::new(*radius, 1e300, *half),
                    DVec3::new(p.truncate().length(), 0.0, p.z),
                );
                turned(near, p)
            }
            Core::Cone(radius, half) => turned(nearest_on_cone(*radius, *half, p), p),
            Core::Hull(hull) => hull.nearest(p),
            Core::Edge([start, end]) => {
                let along = *end - *start;
                let share = (p - *start).dot(along) / along.length_squared();
                from_point(
                    *start + along * share.clamp(0.0, 1.0),
                    p,
                    along.any_orthonormal_vector(),
                )
            }
        }
    }

    /// The normal of the face nearest to the direction `n`, if the core has faces.
    pub fn face_normal(&self, n: DVec3) -> Option<DVec3> {
        match self {
            Core::Point | Core::Edge(_) => None,
            Core::Segment(_) => Some(radial(n).extend(0.0)),
            Core::Box(_) => {
                let a = n.abs();
                let axis = if a.x >= a.y && a.x >= a.z { 0 } else { 1 + (a.z > a.y) as usize };
                Some(signed_axis(axis, n))
            }
            Core::Cylinder(..) => {
                let side = radial(n).extend(0.0);
                Some(if n.z.abs() > n.dot(side) { signed_axis(2, n) } else { side })
            }
            Core::Cone(radius, half) => {
                let side = cone_side(*radius, *half, n);
                Some(if -n.z > n.dot(side) { -DVec3::Z } else { side })
            }
            Core::Hull(hull) => Some(hull.face(n).normal),
        }
    }

    /// Whether it turns a flat face towards `n`, within 8°.
    pub fn is_flat(&self, n: DVec3) -> bool {
        match self {
            Core::Point | Core::Segment(_) | Core::Edge(_) => false,
            Core::Box(_) => n.to_array().iter().filter(|x| x.abs() <= MAX_FLAT_SINE).count() >= 2,
            Core::Cylinder(..) => n.z.abs() >= MIN_FLAT_COSINE,
            Core::Cone(..) => n.z <= -MIN_FLAT_COSINE,
            Core::Hull(hull) => hull.face(n).normal.dot(n) >= MIN_FLAT_COSINE,
        }
    }

    /// A point inside.
    pub fn center(&self) -> DVec3 {
        match self {
            Core::Hull(hull) => hull.center,
            Core::Edge(ends) => 0.5 * (ends[0] + ends[1]),
            Core::Cone(_, half) => DVec3::new(0.0, 0.0, -0.5 * half),
            _ => DVec3::ZERO,
        }
    }

    /// Calls `each` with the normals of all faces; of a round face with that under `p`.
    pub fn normals_at(&self, p: DVec3, mut each: impl FnMut(DVec3)) {
        match self {
            Core::Point | Core::Segment(_) | Core::Edge(_) => {}
            Core::Box(_) => [DVec3::X, DVec3::Y, DVec3::Z].into_iter().for_each(|axis| {
                each(axis);
                each(-axis);
            }),
            Core::Cylinder(..) => {
                [DVec3::Z, -DVec3::Z, radial(p).extend(0.0)].into_iter().for_each(each)
            }
            Core::Cone(radius, half) => {
                [-DVec3::Z, cone_side(*radius, *half, p)].into_iter().for_each(each)
            }
            Core::Hull(hull) => hull.normals().for_each(each),
        }
    }

    /// The vertex, edge or face that looks along `n`.
    pub fn feature(&self, n: DVec3, out: &mut Feature) {
        out.clear();
        match self {
            Core::Point => out.push((DVec3::ZERO, 0)),
            Core::Segment(half) => {
                let ends = [(DVec3::new(0.0, 0.0, -half), 0), (DVec3::new(0.0, 0.0, *half), 1)];
                if n.z.abs() <= MAX_FLAT_SINE {
                    out.extend(ends)
                } else {
                    out.push(ends[(n.z > 0.0) as usize])
                }
            }
            Core::Box(half) => box_feature(*half, n, out),
            Core::Cylinder(radius, half) => {
                if n.z.abs() >= MIN_FLAT_COSINE {
                    rim(*radius, half.copysign(n.z), if n.z > 0.0 { 8 } else { 0 }, out);
                } else if n.z.abs() <= MAX_FLAT_SINE {
                    let side = radial(n) * *radius;
                    out.extend([(side.extend(-half), 16), (side.extend(*half), 17)]);
                } else {
                    out.push((self.support(n), 18 + (n.z > 0.0) as u32));
                }
            }
            Core::Cone(radius, half) => {
                let (rim_point, apex) =
                    ((radial(n) * *radius).extend(-half), DVec3::new(0.0, 0.0, *half));
                if n.z <= -MIN_FLAT_COSINE {
                    rim(*radius, -half, 0, out);
                } else if n.dot(cone_side(*radius, *half, n)) >= MIN_FLAT_COSINE {
                    out.extend([(rim_point, 16), (apex, 17)]);
                } else {
                    out.push(if half * n.z > rim_point.dot(n) {
                        (apex, 17)
                    } else {
                        (rim_point, 18)
                    });
                }
            }
            Core::Hull(hull) => hull_feature(hull, n, out),
            Core::Edge(ends) => {
                let slant = (ends[1] - ends[0]).normalize_or_zero().dot(n);
                if slant.abs() <= MAX_FLAT_SINE {
                    out.extend([(ends[0], 0), (ends[1], 1)]);
                } else {
                    let end = (slant > 0.0) as usize;
                    out.push((ends[end], end as u32));
                }
            }
        }
    }

    /// The feature that looks `down`, and the lowest point itself where the feature only comes near
    /// it (the rim of a tilted cylinder).
    pub fn lowest_feature(&self, down: DVec3, near: f64, out: &mut Feature) {
        self.feature(down, out);
        let lowest = self.support(down);
        let least = out.iter().map(|corner| corner.0.dot(down)).fold(f64::NEG_INFINITY, f64::max);
        if lowest.dot(down) > least + near {
            out.push((lowest, u32::MAX));
        }
    }

    /// The box around the core: lowest and highest corner.
    pub fn bounds(&self) -> (DVec3, DVec3) {
        let extreme = |n: DVec3| self.support(n).dot(n);
        let high = DVec3::new(extreme(DVec3::X), extreme(DVec3::Y), extreme(DVec3::Z));
        let low = -DVec3::new(extreme(-DVec3::X), extreme(-DVec3::Y), extreme(-DVec3::Z));
        (low, high)
    }

    /// The corners of a polyhedron.
    pub fn corners(&self, out: &mut Feature) -> bool {
        out.clear();
        match self {
            Core::Box(half) => out.extend((0..8).map(|i| (corner(*half, i), i))),
            Core::Hull(hull) => {
                out.extend(hull.points.iter().enumerate().map(|(i, &point)| (point, i as u32)))
            }
            _ => return false,
        }
        true
    }
}

/// The unit vector across the z axis that is nearest to `n`; x where there is none.
#[inline]
fn radial(n: DVec3) -> DVec2 {
    n.truncate().try_normalize().unwrap_or(DVec2::X)
}

/// The axis, or its opposite, that is nearer to `n`.
#[inline]
fn signed_axis(axis: usize, n: DVec3) -> DVec3 {
    let mut unit = DVec3::ZERO;
    unit[axis] = 1f64.copysign(n[axis]);
    unit
}

/// The normal of the cone's side under `n`.
fn cone_side(radius: f64, half: f64, n: DVec3) -> DVec3 {
    (radial(n) * (2.0 * half)).extend(radius).normalize()
}

#[inline]
fn corner(half: DVec3, signs: u32) -> DVec3 {
    let pick = |bit: u32, length: f64| if signs >> bit & 1 == 1 { length } else { -length };
    DVec3::new(pick(0, half.x), pick(1, half.y), pick(2, half.z))
}

/// Corners of a box by the bits of their signs: an axis across `n` within 8° runs free.
fn box_feature(half: DVec3, n: DVec3, out: &mut Feature) {
    let fixed = (n.x > 0.0) as u32 | ((n.y > 0.0) as u32) << 1 | ((n.z > 0.0) as u32) << 2;
    let mut free = [0u32; 2];
    let mut count = 0;
    for axis in 0..3 {
        if n[axis].abs() <= MAX_FLAT_SINE && count < 2 {
            free[count] = 1 << axis;
            count += 1;
        }
    }
    let mut push = |signs: u32| out.push((corner(half, signs), signs));
    let base = fixed & !(free[0] | free[1]);
    match count {
        0 => push(fixed),
        1 => [0, free[0]].into_iter().for_each(|signs| push(base | signs)),
        _ => [0, free[0], free[0] | free[1], free[1]]
            .into_iter()
            .for_each(|signs| push(base | signs)),
    }
}

fn hull_feature(hull: &Hull, n: DVec3, out: &mut Feature) {
    let face = hull.face(n);
    if face.normal.dot(n) >= MIN_FLAT_COSINE {
        let corners = &hull.corners[face.first..face.first + face.count];
        out.extend(corners.iter().map(|&c| (hull.points[c as usize], c)));
    } else {
        edge_or_vertex(&hull.points, &hull.edges, n, out);
    }
}

/// The highest vertex along `n`, with the edge from it that lies flattest, if one lies within 8°.
fn edge_or_vertex(points: &[DVec3], edges: &[[u32; 2]], n: DVec3, out: &mut Feature) {
    let mut top = 0;
    for (i, point) in points.iter().enumerate() {
        if point.dot(n) > points[top].dot(n) {
            top = i;
        }
    }
    let mut best = (MAX_FLAT_SINE, None);
    for &edge in edges.iter().filter(|edge| edge.contains(&(top as u32))) {
        let [a, b] = edge.map(|vertex| points[vertex as usize]);
        let slant = (b - a).normalize().dot(n).abs();
        if slant <= best.0 {
            best = (slant, Some(edge));
        }
    }
    match best.1 {
        Some(edge) => out.extend(edge.map(|vertex| (points[vertex as usize], vertex))),
        None => out.push((points[top], top as u32)),
    }
}

/// Eight points on a circle.
fn rim(radius: f64, z: f64, first: u32, out: &mut Feature) {
    const DIAGONAL: f64 = std::f64::consts::FRAC_1_SQRT_2;
    const CIRCLE: [(f64, f64); 8] = [
        (1.0, 0.0),
        (DIAGONAL, DIAGONAL),
        (0.0, 1.0),
        (-DIAGONAL, DIAGONAL),
        (-1.0, 0.0),
        (-DIAGONAL, -DIAGONAL),
        (0.0, -1.0),
        (DIAGONAL, -DIAGONAL),
    ];
    out.extend(
        CIRCLE.iter().zip(first..).map(|(&(x, y), id)| (DVec3::new(radius * x, radius * y, z), id)),
    );
}

/// The distance of `p` from the point `q`; where they coincide the normal is `fallback`.
fn from_point(q: DVec3, p: DVec3, fallback: DVec3) -> Nearest {
    let distance = p.distance(q);
    let normal = if distance > 0.0 { (p - q) / distance } else { fallback };
    Nearest { point: q, normal, distance }
}

fn nearest_on_box(half: DVec3, p: DVec3) -> Nearest {
    let inner = p.clamp(-half, half);
    if inner != p {
        return from_point(inner, p, DVec3::Z);
    }
    // Inside: the nearest face.
    let depth = half - p.abs();
    let axis =
        if depth.x <= depth.y && depth.x <= depth.z { 0 } else { 1 + (depth.z < depth.y) as usize };
    let normal = signed_axis(axis, p);
    Nearest { point: p + normal * depth[axis], normal, distance: -depth[axis] }
}

/// In the half-plane through `p`: x is the distance from the axis.
fn nearest_on_cone(radius: f64, half: f64, p: DVec3) -> Nearest {
    let q = DVec3::new(p.truncate().length(), 0.0, p.z);
    let (rim, apex) = (DVec3::new(radius, 0.0, -half), DVec3::new(0.0, 0.0, half));
    let side = DVec3::new(2.0 * half, 0.0, radius).normalize();
    let (above_side, below_base) = ((q - apex).dot(side), -half - q.z);
    if above_side <= 0.0 && below_base <= 0.0 {
        // Inside: the nearer of side and base.
        return if above_side >= below_base {
            Nearest { point: q - side * above_side, normal: side, distance: above_side }
        } else {
            Nearest { point: DVec3::new(q.x, 0.0, -half), normal: -DVec3::Z, distance: below_base }
        };
    }
    let on_side = rim
        + (apex - rim)
            * ((q - rim).dot(apex - rim) / (apex - rim).length_squared()).clamp(0.0, 1.0);
    let on_base = DVec3::new(q.x.clamp(0.0, radius), 0.0, -half);
    let nearest =
        if q.distance_squared(on_side) <= q.distance_squared(on_base) { on_side } else { on_base };
    from_point(nearest, q, side)
}

/// From the half-plane y = 0, x ≥ 0 back to the azimuth of `p`.
fn turned(near: Nearest, p: DVec3) -> Nearest {
    let azimuth = radial(p);
    let place = |v: DVec3| (azimuth * v.x).extend(v.z);
    Nearest { point: place(near.point), normal: place(near.normal), distance: near.distance }
}

/// (Ericson2004, 5.1.5); `normal` is returned where `p` lies in the triangle.
pub(crate) fn nearest_on_triangle([a, b, c]: [DVec3; 3], normal: DVec3, p: DVec3) -> Nearest {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (d1, d2) = (ab.dot(ap), ac.dot(ap));
    let (bp, cp) = (p - b, p - c);
    let (d3, d4, d5, d6) = (ab.dot(bp), ac.dot(bp), ab.dot(cp), ac.dot(cp));
    let (va, vb, vc) = (d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2);
    if d1 <= 0.0 && d2 <= 0.0 {
        from_point(a, p, normal)
    } else if d3 >= 0.0 && d4 <= d3 {
        from_point(b, p, normal)
    } else if d6 >= 0.0 && d5 <= d6 {
        from_point(c, p, normal)
    } else if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        from_point(a + ab * (d1 / (d1 - d3)), p, normal)
    } else if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        from_point(a + ac * (d2 / (d2 - d6)), p, normal)
    } else if va <= 0.0 && d4 >= d3 && d5 >= d6 {
        from_point(b + (c - b) * ((d4 - d3) / ((d4 - d3) + (d5 - d6))), p, normal)
    } else {
        // Over the face: the plane's own normal keeps all digits at any distance.
        let height = ap.dot(normal);
        Nearest {
            point: p - normal * height,
            normal: if height < 0.0 { -normal } else { normal },
            distance: height.abs(),
        }
    }
}
