//! Poses: where a frame is and how it is turned.
//!
//! A pose `X = (p, q)` takes a point from its own frame to the frame that holds it:
//! `x = p + R(q) x'`. Orientations advance by the exponential map: a frame that turns with the
//! constant angular velocity ω (in its own frame) for a time h goes from `q` to `q exp(h ω)`, with
//!
//! ```text
//!   exp(φ) = ( cos(θ/2),  sin(θ/2)/θ · φ ),   θ = ‖φ‖
//! ```
//!
//! Vectors and quaternions are glam's; stored as `[x, y, z]` and `[x, y, z, w]`.

use glam::{DMat3, DQuat, DVec3};
use serde::{Deserialize, Serialize};

/// A rigid displacement: a rotation, then a translation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pose {
    /// Origin of the frame, m.
    #[serde(default)]
    pub position: DVec3,
    /// Unit quaternion from the frame to the one that holds it.
    #[serde(default)]
    pub orientation: DQuat,
}

impl Default for Pose {
    fn default() -> Self {
        Pose::IDENTITY
    }
}

impl Pose {
    /// No displacement.
    pub const IDENTITY: Pose = Pose { position: DVec3::ZERO, orientation: DQuat::IDENTITY };

    /// The pose of a frame at `position`, turned by `orientation`.
    #[inline]
    pub fn new(position: DVec3, orientation: DQuat) -> Self {
        Pose { position, orientation }
    }

    /// A translation.
    #[inline]
    pub fn at(position: DVec3) -> Self {
        Pose { position, orientation: DQuat::IDENTITY }
    }

    /// A frame at `position`, turned by the rotation vector `phi` (axis times angle, rad).
    #[inline]
    pub fn turned(position: DVec3, phi: DVec3) -> Self {
        Pose { position, orientation: exponential(phi) }
    }

    /// A point of the frame, seen from outside.
    #[inline]
    pub fn point(&self, point: DVec3) -> DVec3 {
        self.position + self.orientation * point
    }

    /// A direction of the frame, seen from outside.
    #[inline]
    pub fn vector(&self, vector: DVec3) -> DVec3 {
        self.orientation * vector
    }

    /// A point outside, seen from the frame.
    #[inline]
    pub fn inverse_point(&self, point: DVec3) -> DVec3 {
        self.orientation.conjugate() * (point - self.position)
    }

    /// A direction outside, seen from the frame.
    #[inline]
    pub fn inverse_vector(&self, vector: DVec3) -> DVec3 {
        self.orientation.conjugate() * vector
    }

    /// The pose that undoes this one.
    #[inline]
    pub fn inverse(&self) -> Pose {
        let orientation = self.orientation.conjugate();
        Pose { position: -(orientation * self.position), orientation }
    }

    /// The pose of `other`, seen from this frame: `self⁻¹ · other`.
    #[inline]
    pub fn relative(&self, other: &Pose) -> Pose {
        Pose {
            position: self.inverse_point(other.position),
            orientation: self.orientation.conjugate() * other.orientation,
        }
    }

    /// The rotation matrix.
    #[inline]
    pub fn rotation(&self) -> DMat3 {
        DMat3::from_quat(self.orientation)
    }

    /// The pose after moving by `displacement` (outside) and turning by `phi` (own frame, rad).
    ///
    /// The quaternion is made unit again, so that rounding does not add up over a long run.
    #[inline]
    pub fn advanced(&self, displacement: DVec3, phi: DVec3) -> Pose {
        Pose {
            position: self.position + displacement,
            orientation: (self.orientation * exponential(phi)).normalize(),
        }
    }

    /// Whether all seven numbers are finite.
    pub fn is_finite(&self) -> bool {
        self.position.is_finite() && self.orientation.is_finite()
    }
}

impl std::ops::Mul for Pose {
    type Output = Pose;

    /// The pose `other` of a frame inside this frame, seen from outside.
    #[inline]
    fn mul(self, other: Pose) -> Pose {
        Pose {
            position: self.point(other.position),
            orientation: self.orientation * other.orientation,
        }
    }
}

/// The rotation by the vector `phi` (axis times angle, rad).
#[inline]
pub fn exponential(phi: DVec3) -> DQuat {
    let square = phi.length_squared();
    // Below 0.01 rad the next term of either series is under 1e-18 of the sum.
    let (sine, cosine) = if square < 1e-4 {
        (
            0.5 - square * (1.0 / 48.0 - square / 3840.0),
            1.0 - square * (1.0 / 8.0 - square * (1.0 / 384.0 - square / 46080.0)),
        )
    } else {
        let angle = square.sqrt();
        let (sine, cosine) = (0.5 * angle).sin_cos();
        (sine / angle, cosine)
    };
    DQuat::from_xyzw(sine * phi.x, sine * phi.y, sine * phi.z, cosine)
}

/// The shortest rotation vector of a unit quaternion, of length at most π: the inverse of
/// [`exponential`].
#[inline]
pub fn logarithm(q: DQuat) -> DVec3 {
    // q and −q turn alike; the one with w ≥ 0 turns by the shorter angle.
    let sign = if q.w < 0.0 { -1.0 } else { 1.0 };
    let axis = DVec3::new(q.x, q.y, q.z) * sign;
    let sine = axis.length();
    let cosine = q.w * sign;
    // angle/sine = 2 atan(t)/(t cosine), t = sine/cosine; its series below t = 0.01 is exact to
    // 1e-18.
    let t = sine / cosine;
    if t < 1e-2 {
        let s = t * t;
        axis * (2.0 / cosine
            * (1.0 - s * (1.0 / 3.0 - s * (1.0 / 5.0 - s * (1.0 / 7.0 - s / 9.0)))))
    } else {
        axis * (2.0 * sine.atan2(cosine) / sine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few hundred roundings of numbers of order one.
    const UNIT_ROUNDING: f64 = 1e-14;

    fn sample() -> Pose {
        Pose::turned(DVec3::new(1.0, -2.0, 0.5), DVec3::new(0.3, 1.1, -0.7))
    }

    #[test]
    fn composition_and_inverse_agree_with_points() {
        let a = sample();
        let b = Pose::turned(DVec3::new(-0.2, 0.1, 3.0), DVec3::new(-2.0, 0.4, 0.9));
        let x = DVec3::new(0.7, 0.2, -1.3);
        assert!(((a * b).point(x) - a.point(b.point(x))).length() < UNIT_ROUNDING);
        assert!((a.inverse().point(a.point(x)) - x).length() < UNIT_ROUNDING);
        assert!((a.inverse_point(a.point(x)) - x).length() < UNIT_ROUNDING);
        assert!((a.inverse_vector(a.vector(x)) - x).length() < UNIT_ROUNDING);
        assert!((a.relative(&b).point(x) - a.inverse_point(b.point(x))).length() < UNIT_ROUNDING);
        assert!((a.rotation() * x - a.vector(x)).length() < UNIT_ROUNDING);
    }

    #[test]
    fn exponential_is_the_rotation_about_the_axis_by_the_angle() {
        let x = DVec3::X;
        for angle in [1e-9, 0.0099, 0.0101, 0.5, 3.0, 6.0] {
            let turned = exponential(DVec3::Z * angle) * x;
            assert!(
                (turned - DVec3::new(angle.cos(), angle.sin(), 0.0)).length() < UNIT_ROUNDING,
                "{angle}"
            );
        }
        assert_eq!(exponential(DVec3::ZERO), DQuat::IDENTITY);
    }

    #[test]
    fn the_series_meets_the_formula() {
        // On both sides of the switch at 0.01 rad the quaternion is unit to rounding.
        for angle in [1e-200, 1e-8, 0.009999, 0.010001] {
            let q = exponential(DVec3::new(0.6, 0.0, 0.8) * angle);
            assert!((q.length() - 1.0).abs() < 4.0 * f64::EPSILON);
            assert!((q.w - (0.5 * angle).cos()).abs() < 2.0 * f64::EPSILON);
        }
    }

    #[test]
    fn logarithm_undoes_exponential() {
        for angle in [0.0, 1e-12, 0.0199, 0.0201, 1.0, 3.1] {
            let phi = DVec3::new(2.0, -1.0, 2.0) / 3.0 * angle;
            assert!(
                (logarithm(exponential(phi)) - phi).length()
                    <= 8.0 * f64::EPSILON * angle.max(1e-300),
                "{angle}"
            );
            assert!(
                (logarithm(-exponential(phi)) - phi).length()
                    <= 8.0 * f64::EPSILON * angle.max(1e-300),
                "{angle}"
            );
        }
        // Half a turn: w = 0.
        let half = logarithm(DQuat::from_xyzw(0.0, 1.0, 0.0, 0.0));
        assert!((half - DVec3::Y * std::f64::consts::PI).length() < 8.0 * f64::EPSILON);
    }

    #[test]
    fn many_small_advances_equal_one_large_one() {
        // Turning about a fixed axis: the exponential map has no error of its own.
        let phi = DVec3::new(0.2, -0.4, 0.1);
        let mut pose = Pose::IDENTITY;
        for _ in 0..1000 {
            pose = pose.advanced(DVec3::X * 1e-3, phi * 1e-3);
        }
        let once = Pose::IDENTITY.advanced(DVec3::X, phi);
        assert!((pose.position - once.position).length() < 1e-13);
        assert!((pose.orientation - once.orientation).length() < 1e-13);
    }
}
