//! Contacts as frames and arms, and the list of all forms.
//!
//! Of contacts that the problem knows as such ([`crate::problem::rigid`]), with the angular
//! velocities of all bodies in the axes of the world, the angular parts of the three rows have one
//! arm for each body, and the third direction is across the other two:
//!
//! ```text
//!   û_i = q̂_i + d_i·(v_A − v_B),     v = z/√m + Uᵀζ × arm,     d₃ = κ d₁ × d₂
//!   z += f/√m,   ζ += U (arm × f)     with f = Σ d_i x_i for A, −f for B
//! ```
//!
//! z the linear and ζ the angular coordinates of a body, `UᵀU` its inverse inertia in the axes of
//! the world, U with zeros below its diagonal.
//!
//! * [`Frame`]: 13 numbers for a contact (normal, tangent, κ, two arms), and 7 for a body (U, 1/√m)
//!   that all of its contacts share.
//! * [`Round`]: for bodies whose inertia is the same about all axes U is a number, which the arms
//!   take in; with the roots of both masses 15 numbers for a contact and nothing to look up.
//!
//! No closures here: they would be compiled for any processor where they are not inlined.

use super::f64x4::F64x4;
use super::forms::{Bodies, Form, number};
use glam::DVec3;

/// How all contacts of a kind are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Storage {
    #[default]
    Stored,
    Rigid,
    Round,
    Frame,
}

/// `$body` with the form that belongs to a [`Storage`] as `$R`.
macro_rules! in_form {
    ($storage:expr, $R:ident => $body:expr) => {
        match $storage {
            $crate::solve::simd::frames::Storage::Stored => {
                type $R = $crate::solve::simd::forms::Stored;
                $body
            }
            $crate::solve::simd::frames::Storage::Rigid => {
                type $R = $crate::solve::simd::forms::Rigid;
                $body
            }
            $crate::solve::simd::frames::Storage::Round => {
                type $R = $crate::solve::simd::frames::Round;
                $body
            }
            $crate::solve::simd::frames::Storage::Frame => {
                type $R = $crate::solve::simd::frames::Frame;
                $body
            }
        }
    };
}
pub(crate) use in_form;

/// Frames and arms: d₁, d₂, κ, two arms, and for `ROUND` bodies two 1/√m.
#[derive(Clone, Copy)]
pub(crate) struct Frames<const ROUND: bool>;

pub(crate) type Round = Frames<true>;
pub(crate) type Frame = Frames<false>;

const KAPPA: usize = 6;
const ARMS: usize = 7;
const ROOTS: usize = 13;

/// Numbers of a contact in either form.
const IN_FRAME: usize = 13;
pub(crate) const IN_ROUND: usize = 15;

/// Numbers of a body: U row by row without its zeros, 1/√m, room.
pub(crate) type Body = [f64; 8];
const ROOT: usize = 6;

/// Directions of four contacts.
struct Axes<F> {
    d: [[F; 3]; 2],
    /// d₁ × d₂ and κ.
    across: [F; 3],
    kappa: F,
}

impl<F: F64x4> Axes<F> {
    /// # Safety
    /// As [`Form::velocities`].
    #[inline(always)]
    unsafe fn of(values: *const f64) -> Axes<F> {
        // SAFETY: the caller's promise.
        unsafe {
            let d = [three(values, 0), three(values, 3)];
            Axes { d, across: cross(d[0], d[1]), kappa: number(values, KAPPA) }
        }
    }

    /// `q̂_i + d_i·c`.
    ///
    /// # Safety
    /// As [`Form::velocities`].
    #[inline(always)]
    unsafe fn along(&self, q: *const f64, c: [F; 3]) -> [F; 3] {
        // SAFETY: the caller's promise.
        let [mut first, mut second, third] = unsafe { three::<F>(q, 0) };
        let mut across = self.across[0].mul(c[0]);
        for j in 0..3 {
            first = self.d[0][j].mul_add(c[j], first);
            second = self.d[1][j].mul_add(c[j], second);
        }
        for j in 1..3 {
            across = self.across[j].mul_add(c[j], across);
        }
        [first, second, self.kappa.mul_add(across, third)]
    }

    /// `f = Σ d_i x_i` on A, −f on B.
    #[inline(always)]
    fn forces(&self, x: &[F; 3], zero: F) -> [[F; 3]; 2] {
        let across = self.kappa.mul(x[2]);
        let (mut force, mut opposite) = (self.across, self.across);
        for j in 0..3 {
            force[j] = force[j].mul_add(across, self.d[1][j].mul_add(x[1], self.d[0][j].mul(x[0])));
            opposite[j] = zero.sub(force[j]);
        }
        [force, opposite]
    }
}

impl<const ROUND: bool> Form for Frames<ROUND> {
    fn numbers(_: usize) -> usize {
        if ROUND { IN_ROUND } else { IN_FRAME }
    }

    #[inline(always)]
    unsafe fn velocities<F: F64x4>(
        _: usize,
        values: *const f64,
        q: *const f64,
        bodies: Bodies,
        touched: &[[F; 6]; 2],
    ) -> [F; 3] {
        // SAFETY: the caller's promise.
        unsafe {
            let mut v = [[F::splat(0.0); 3]; 2];
            for (side, (v, z)) in v.iter_mut().zip(touched).enumerate() {
                let (root, omega) = if ROUND {
                    (number(values, ROOTS + side), [z[3], z[4], z[5]])
                } else {
                    let [xx, xy, xz, yy, yz, zz, root, _] = bodies.numbers::<F>(side);
                    // Uᵀζ
                    (
                        root,
                        [
                            xx.mul(z[3]),
                            yy.mul_add(z[4], xy.mul(z[3])),
                            zz.mul_add(z[5], yz.mul_add(z[4], xz.mul(z[3]))),
                        ],
                    )
                };
                *v = at_arm(root, z, omega, three(values, ARMS + 3 * side));
            }
            Axes::of(values).along(q, between(v))
        }
    }

    #[inline(always)]
    unsafe fn moves<F: F64x4>(
        _: usize,
        values: *const f64,
        bodies: Bodies,
        x: &[F; 3],
    ) -> [[F; 6]; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let zero = F::splat(0.0);
            let mut out = [[zero; 6]; 2];
            for (side, (out, force)) in
                out.iter_mut().zip(Axes::of(values).forces(x, zero)).enumerate()
            {
                let turn = cross(three(values, ARMS + 3 * side), force);
                *out = if ROUND {
                    moved(number(values, ROOTS + side), force, turn)
                } else {
                    let ([xx, xy, xz, yy, yz, zz, root, _], [x, y, z]) =
                        (bodies.numbers::<F>(side), turn);
                    moved(
                        root,
                        force,
                        [
                            xz.mul_add(z, xy.mul_add(y, xx.mul(x))),
                            yz.mul_add(z, yy.mul(y)),
                            zz.mul(z),
                        ],
                    )
                };
            }
            out
        }
    }
}

/// The velocity of a body where the arm ends: `z/√m + ω × arm`.
#[inline(always)]
fn at_arm<F: F64x4>(root: F, z: &[F; 6], omega: [F; 3], arm: [F; 3]) -> [F; 3] {
    let mut v = [root.mul(z[0]), root.mul(z[1]), root.mul(z[2])];
    for j in 0..3 {
        let (k, l) = ((j + 1) % 3, (j + 2) % 3);
        v[j] = omega[k].mul_add(arm[l], v[j].minus_product(omega[l], arm[k]));
    }
    v
}

/// `v_A − v_B`.
#[inline(always)]
fn between<F: F64x4>([a, b]: [[F; 3]; 2]) -> [F; 3] {
    [a[0].sub(b[0]), a[1].sub(b[1]), a[2].sub(b[2])]
}

/// What a force moves, `angular` being what it turns.
#[inline(always)]
fn moved<F: F64x4>(root: F, force: [F; 3], angular: [F; 3]) -> [F; 6] {
    [root.mul(force[0]), root.mul(force[1]), root.mul(force[2]), angular[0], angular[1], angular[2]]
}

#[inline(always)]
fn cross<F: F64x4>(a: [F; 3], b: [F; 3]) -> [F; 3] {
    [
        a[1].mul(b[2]).minus_product(a[2], b[1]),
        a[2].mul(b[0]).minus_product(a[0], b[2]),
        a[0].mul(b[1]).minus_product(a[1], b[0]),
    ]
}

/// Three numbers from number `i` on.
///
/// # Safety
/// As [`Form::velocities`].
#[inline(always)]
unsafe fn three<F: F64x4>(values: *const f64, i: usize) -> [F; 3] {
    // SAFETY: the caller's promise.
    unsafe { [number(values, i), number(values, i + 1), number(values, i + 2)] }
}

impl Frame {
    /// The numbers of one contact from its directions, scaled and with the sign of its first body,
    /// and its two arms in the axes of the world.
    pub(crate) fn of(d: [DVec3; 3], arms: [DVec3; 2]) -> [f64; IN_FRAME] {
        let across = d[0].cross(d[1]);
        let kappa =
            if across == DVec3::ZERO { 0.0 } else { across.dot(d[2]) / across.length_squared() };
        let [d0, d1, a, b] = [d[0], d[1], arms[0], arms[1]].map(|x| x.to_array());
        let mut out = [kappa; IN_FRAME];
        out[..KAPPA].copy_from_slice([d0, d1].as_flattened());
        out[ARMS..].copy_from_slice([a, b].as_flattened());
        out
    }
}

impl Round {
    /// As [`Frame::of`], of bodies that are round (zeros: the ground): U is a number.
    pub(crate) fn of(d: [DVec3; 3], arms: [DVec3; 2], bodies: [&Body; 2]) -> [f64; IN_ROUND] {
        let mut out = [0.0; IN_ROUND];
        let arms = std::array::from_fn(|side| arms[side] * bodies[side][0]);
        out[..IN_FRAME].copy_from_slice(&Frame::of(d, arms));
        for (side, body) in bodies.into_iter().enumerate() {
            out[ROOTS + side] = body[ROOT];
        }
        out
    }
}
