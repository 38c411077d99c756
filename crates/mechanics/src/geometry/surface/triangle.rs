//! The nearest point of a triangle.

use glam::DVec3;

/// Which feature of a triangle holds a point: a side or a corner by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Face,
    Side(u8),
    Corner(u8),
}

/// The nearest point of a triangle, and what holds it (Ericson2004, 5.1.5).
pub fn nearest([a, b, c]: [DVec3; 3], p: DVec3) -> (DVec3, Place) {
    let (ab, ac, ap) = (b - a, c - a, p - a);
    let (bp, cp) = (p - b, p - c);
    let (d1, d2, d3, d4, d5, d6) =
        (ab.dot(ap), ac.dot(ap), ab.dot(bp), ac.dot(bp), ab.dot(cp), ac.dot(cp));
    let (va, vb, vc) = (d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2);
    if d1 <= 0.0 && d2 <= 0.0 {
        (a, Place::Corner(0))
    } else if d3 >= 0.0 && d4 <= d3 {
        (b, Place::Corner(1))
    } else if d6 >= 0.0 && d5 <= d6 {
        (c, Place::Corner(2))
    } else if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        (a + ab * (d1 / (d1 - d3)), Place::Side(0))
    } else if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        (a + ac * (d2 / (d2 - d6)), Place::Side(2))
    } else if va <= 0.0 && d4 >= d3 && d5 >= d6 {
        (b + (c - b) * ((d4 - d3) / ((d4 - d3) + (d5 - d6))), Place::Side(1))
    } else {
        let normal = ab.cross(ac);
        (p - normal * (ap.dot(normal) / normal.length_squared()), Place::Face)
    }
}
