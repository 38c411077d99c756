//! The parts of joints: a scalar function of two frames, and its gradient.
//!
//! With p the origins, a_i and b_i the axes of the two frames (all in the world), d = p_b − p_a, r
//! the lever from each centre of mass to its origin, and ρ the quaternion of frame b seen from
//! frame a:
//!
//! | part | value | gradient: v_a; ω_a; v_b; ω_b (torques in the world) |
//! |---|---|---|
//! | along i | a_i·d | −a_i; −(r_a + d)×a_i; a_i; r_b×a_i |
//! | perpendicular i j | a_i·b_j | 0; a_i×b_j; 0; −a_i×b_j |
//! | turn i | 2ρ_i, ρ_w ≥ 0 | 0; −g; 0; g, g = ρ_w e_i + e_i×ρ in frame b |
//! | twist | 2 atan2(ρ_z, ρ_w) | 0; −g; 0; g, g = (ρ_w(ρ_w e_z + e_z×ρ) + ρ_z ρ)/(ρ_w² + ρ_z²) in frame b |
//! | distance l | √(d·d) − l | −n; −r_a×n; n; r_b×n, n = d/√(d·d) |
//!
//! The rate of ρ is ½ρω with ω the relative angular velocity in frame b. Angular gradients are
//! handed on in body axes, because that is where angular velocities live.

use crate::math::pose::Pose;
use crate::scene::{Axis, BodyId, Part, Scene};
use glam::{DQuat, DVec3};

/// What a scalar function feels of one body's motion.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gradient {
    /// Per linear velocity (world).
    pub linear: DVec3,
    /// Per angular velocity (body axes).
    pub angular: DVec3,
}

impl Gradient {
    /// The six numbers in the order of v.
    #[inline]
    pub fn array(&self) -> [f64; 6] {
        let (l, a) = (self.linear, self.angular);
        [l.x, l.y, l.z, a.x, a.y, a.z]
    }

    /// The rate that a motion (linear: world; angular: body axes) gives.
    #[inline]
    pub fn rate(&self, twist: &Twist) -> f64 {
        self.linear.dot(twist.linear) + self.angular.dot(twist.angular)
    }

    /// `G M⁻¹ G'ᵀ` on one body, 1/kg or 1/(kg m²); 0 if it is not free to move.
    pub fn coupling(&self, other: &Gradient, scene: &Scene, body: BodyId) -> f64 {
        scene.bodies[body.index()].mass().map_or(0.0, |mass| {
            self.linear.dot(other.linear) / mass.mass
                + self.angular.dot(mass.inertia.inverse() * other.angular)
        })
    }

    /// The gradient times a factor.
    #[inline]
    pub fn scaled(&self, s: f64) -> Gradient {
        Gradient { linear: self.linear * s, angular: self.angular * s }
    }
}

/// The velocity of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Twist {
    /// Of the centre of mass, world, m/s.
    pub linear: DVec3,
    /// Angular, body axes, rad/s.
    pub angular: DVec3,
}

impl Twist {
    /// Half way between two velocities.
    pub fn mean(&self, other: &Twist) -> Twist {
        Twist {
            linear: 0.5 * (self.linear + other.linear),
            angular: 0.5 * (self.angular + other.angular),
        }
    }
}

/// A scalar function of two bodies, here and now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measure {
    /// Its value, m or rad.
    pub value: f64,
    /// Its gradient on the first body.
    pub a: Gradient,
    /// Its gradient on the second body.
    pub b: Gradient,
}

/// A frame on a body: the body's pose and the frame in it.
#[derive(Clone, Copy, Debug)]
pub struct Mount<'a> {
    /// The body frame in the world.
    pub body: &'a Pose,
    /// The frame in the body frame.
    pub frame: &'a Pose,
}

impl Mount<'_> {
    /// Its origin in the world.
    #[inline]
    fn origin(&self) -> DVec3 {
        self.body.point(self.frame.position)
    }

    /// Its orientation in the world.
    #[inline]
    fn orientation(&self) -> DQuat {
        self.body.orientation * self.frame.orientation
    }

    /// The gradient of a force `f` at world point `p` and a torque `t` (world).
    #[inline]
    fn gradient(&self, f: DVec3, p: DVec3, t: DVec3) -> Gradient {
        Gradient {
            linear: f,
            angular: self.body.inverse_vector((p - self.body.position).cross(f) + t),
        }
    }
}

/// Value and gradient of `part` between two mounts. Angles lie within ±π; see [`unwrap`].
pub fn measure(part: Part, a: Mount, b: Mount) -> Measure {
    match part {
        Part::Along(axis) => {
            let (pa, pb) = (a.origin(), b.origin());
            let n = a.orientation() * unit(axis);
            // The lever on a reaches to p_b: a's axis turns with a.
            Measure {
                value: n.dot(pb - pa),
                a: a.gradient(-n, pb, DVec3::ZERO),
                b: b.gradient(n, pb, DVec3::ZERO),
            }
        }
        Part::Distance(length) => {
            let (pa, pb) = (a.origin(), b.origin());
            let d = pb - pa;
            let n = d.normalize_or(DVec3::Z);
            Measure {
                value: d.length() - length,
                a: a.gradient(-n, pa, DVec3::ZERO),
                b: b.gradient(n, pb, DVec3::ZERO),
            }
        }
        Part::Perpendicular(i, j) => {
            let (x, y) = (a.orientation() * unit(i), b.orientation() * unit(j));
            turning(x.dot(y), -x.cross(y), a, b)
        }
        Part::Turn(axis) => {
            let (w, rho) = relative(&a, &b);
            let e = unit(axis);
            turning(2.0 * rho.dot(e), b.orientation() * (w * e + e.cross(rho)), a, b)
        }
        Part::Twist => {
            let (w, rho) = relative(&a, &b);
            let (z, e) = (rho.z, DVec3::Z);
            // Upside down (w = z = 0) the angle is undefined: any gradient serves.
            let square = (w * w + z * z).max(f64::MIN_POSITIVE);
            let g = (w * (w * e + e.cross(rho)) + z * rho) / square;
            turning(2.0 * z.atan2(w), b.orientation() * g, a, b)
        }
    }
}

/// `angle` plus the full turns that bring it nearest to `remembered`.
pub fn unwrap(angle: f64, remembered: f64) -> f64 {
    angle + std::f64::consts::TAU * ((remembered - angle) / std::f64::consts::TAU).round()
}

/// Scalar and vector part of b's quaternion seen from a, with the scalar ≥ 0.
fn relative(a: &Mount, b: &Mount) -> (f64, DVec3) {
    let rho = a.orientation().conjugate() * b.orientation();
    let sign = if rho.w < 0.0 { -1.0 } else { 1.0 };
    (sign * rho.w, sign * DVec3::new(rho.x, rho.y, rho.z))
}

/// A function of the relative orientation alone, gradient `g` (world) on b.
fn turning(value: f64, g: DVec3, a: Mount, b: Mount) -> Measure {
    let on = |mount: Mount, g: DVec3| Gradient {
        linear: DVec3::ZERO,
        angular: mount.body.inverse_vector(g),
    };
    Measure { value, a: on(a, -g), b: on(b, g) }
}

fn unit(axis: Axis) -> DVec3 {
    match axis {
        Axis::X => DVec3::X,
        Axis::Y => DVec3::Y,
        Axis::Z => DVec3::Z,
    }
}
