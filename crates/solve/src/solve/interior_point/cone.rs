//! The cones of the interior point method, block by block, and their Nesterov–Todd scaling.
//!
//! A scaled block (see [`super::scaled`]) carries up to three numbers in each of its vectors:
//!
//! | kind | numbers | pairs held apart from zero |
//! |---|---|---|
//! | `Free` | 1 | none (equality) |
//! | `Ray` | 1 | (u, r) |
//! | `Box` | 2 | (p, r) and (q, s) with s = length − r and u = p − q |
//! | `Lorentz` | 2 or 3 | the cone x₀ ≥ ‖x₁‖ (a block of 2 rows has a third number that stays zero) |
//!
//! For (u, r) inside the cone the scaling W is the one with `W r = W⁻¹ u = λ`:
//!
//! ```text
//!   W = Q diag(βe, β/e, β) Qᵀ     Q = [ (1,d)/√2, (1,−d)/√2, (0,d⊥) ]     β = (det u / det r)^¼
//! ```
//!
//! W is never multiplied out: the square of a sliding contact has eigenvalues far apart, and the
//! small one drowns in the sum. The determinants travel with the point and are updated by factors,
//! never recomputed as a difference of squares (Mangoni2018, §4.14; Vandenberghe2010).

/// Three numbers of a block.
pub type Triple = [f64; 3];

const INV_SQRT_2: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// What the reactions of a scaled block are confined to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Nothing: an equality.
    Free,
    /// r ≥ 0.
    Ray,
    /// 0 ≤ r ≤ length.
    Box {
        /// The upper bound, √J.
        length: f64,
    },
    /// r₀ ≥ ‖r₁‖.
    Lorentz,
}

impl Kind {
    /// The number of complementarity pairs.
    pub fn degree(self) -> usize {
        match self {
            Kind::Free => 0,
            Kind::Ray | Kind::Lorentz => 1,
            Kind::Box { .. } => 2,
        }
    }

    /// The identity of the block's Jordan algebra.
    pub fn identity(self) -> Triple {
        match self {
            Kind::Free => [0.0; 3],
            Kind::Ray | Kind::Lorentz => [1.0, 0.0, 0.0],
            Kind::Box { .. } => [1.0, 1.0, 0.0],
        }
    }

    /// The Jordan product.
    #[inline]
    pub fn product(self, x: &Triple, y: &Triple) -> Triple {
        match self {
            Kind::Lorentz => [dot(x, y), x[0] * y[1] + y[0] * x[1], x[0] * y[2] + y[0] * x[2]],
            _ => [x[0] * y[0], x[1] * y[1], 0.0],
        }
    }

    /// The nearest point of the cone (of the reactions).
    #[inline]
    pub fn project(self, x: &mut Triple) {
        match self {
            Kind::Free => {}
            Kind::Ray => x[0] = x[0].max(0.0),
            Kind::Box { length } => x[0] = x[0].clamp(0.0, length),
            Kind::Lorentz => crate::problem::law::project_cone(1.0, x),
        }
    }

    /// Moves the eigenvalues of `x` into [low, high]; returns the change, none below `−high`.
    pub fn clip(self, x: &Triple, low: f64, high: f64) -> Triple {
        let change = |l: f64| (l.clamp(low, high) - l).max(-high);
        match self {
            Kind::Free => [0.0; 3],
            Kind::Ray => [change(x[0]), 0.0, 0.0],
            Kind::Box { .. } => [change(x[0]), change(x[1]), 0.0],
            Kind::Lorentz => {
                let t = length(x[1], x[2]);
                let (plus, minus) = (change(x[0] + t), change(x[0] - t));
                let scale = if t > 0.0 { 0.5 * (plus - minus) / t } else { 0.0 };
                [0.5 * (plus + minus), scale * x[1], scale * x[2]]
            }
        }
    }
}

/// The scalar product of two blocks.
#[inline]
pub fn dot(x: &Triple, y: &Triple) -> f64 {
    x[0] * y[0] + x[1] * y[1] + x[2] * y[2]
}

/// ‖(a, b)‖; the blocks are scaled, so that squares neither overflow nor vanish.
#[inline]
pub fn length(a: f64, b: f64) -> f64 {
    (a * a + b * b).sqrt()
}

/// `(x₀ − ‖x₁‖)(x₀ + ‖x₁‖)`.
#[inline]
pub fn determinant(x: &Triple) -> f64 {
    let t = length(x[1], x[2]);
    (x[0] - t) * (x[0] + t)
}

/// A pair (u, r) inside the cone, with what must not be recomputed from it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pair {
    /// Velocities, √J. `Box`: p, q.
    pub u: Triple,
    /// Reactions, √J. `Box`: r, s.
    pub r: Triple,
    det_u: f64,
    det_r: f64,
    product: f64,
}

impl Pair {
    /// The pair at (u, r), both strictly inside.
    pub fn new(kind: Kind, u: Triple, r: Triple) -> Pair {
        match kind {
            Kind::Lorentz => {
                Pair { u, r, det_u: determinant(&u), det_r: determinant(&r), product: dot(&u, &r) }
            }
            _ => Pair { u, r, det_u: 0.0, det_r: 0.0, product: dot(&u, &r) },
        }
    }

    /// u·r, J.
    pub fn product(&self) -> f64 {
        self.product
    }

    /// Its scaling point.
    pub fn scaling(&self, kind: Kind) -> Scaling {
        match kind {
            Kind::Free => Scaling::default(),
            Kind::Ray => {
                let (w, l) = ray(self.u[0], self.r[0]);
                Scaling { stretch: [w, 0.0, 0.0], lambda: [l, 0.0, 0.0], ..Scaling::default() }
            }
            Kind::Box { .. } => {
                let ((w, l), (w2, l2)) = (ray(self.u[0], self.r[0]), ray(self.u[1], self.r[1]));
                Scaling { stretch: [w, w2, 0.0], lambda: [l, l2, 0.0], ..Scaling::default() }
            }
            Kind::Lorentz => self.lorentz(),
        }
    }

    fn lorentz(&self) -> Scaling {
        let (du, dr) = (self.det_u.max(1e-300), self.det_r.max(1e-300));
        let (su, sr) = (du.sqrt(), dr.sqrt());
        let (u, r) = (self.u.map(|x| x / su), self.r.map(|x| x / sr));
        let g = (0.5 * (1.0 + (self.product / (su * sr)).max(1.0))).sqrt();
        let w = [(u[1] - r[1]) / (2.0 * g), (u[2] - r[2]) / (2.0 * g)];
        let t = length(w[0], w[1]);
        let d = if t > 0.0 { [w[0] / t, w[1] / t] } else { [1.0, 0.0] };
        let beta = (su / sr).sqrt();
        let e = (1.0 + t * t).sqrt() + t;
        let det = su * sr;
        let scale = det.sqrt() / (u[0] + r[0] + 2.0 * g);
        let l1 = scale * ((g + r[0]) * u[1] + (g + u[0]) * r[1]);
        let l2 = scale * ((g + r[0]) * u[2] + (g + u[0]) * r[2]);
        let lambda = [(det + l1 * l1 + l2 * l2).sqrt(), l1, l2];
        Scaling { d, stretch: [beta * e, beta / e, beta], lambda, det, beta }
    }

    /// Moves to `λ + step·d` in both scaled variables.
    pub fn advance(
        &mut self,
        kind: Kind,
        scaling: &Scaling,
        (du, step_u): (&Triple, f64),
        (dr, step_r): (&Triple, f64),
    ) {
        let l = &scaling.lambda;
        let s: Triple = std::array::from_fn(|i| l[i] + step_u * du[i]);
        let z: Triple = std::array::from_fn(|i| l[i] + step_r * dr[i]);
        self.product = dot(&s, &z);
        if kind != Kind::Lorentz {
            for (i, (s, z)) in s.iter().zip(&z).enumerate().take(kind.degree()) {
                self.u[i] = s * scaling.stretch[i];
                self.r[i] = z / scaling.stretch[i];
            }
            return;
        }
        self.det_u = scaling.beta.powi(2) * determinant(&s);
        self.det_r = determinant(&z) / scaling.beta.powi(2);
        let (u, r) = (scaling.unscale_u(du), scaling.unscale_r(dr));
        for (i, (u, r)) in u.iter().zip(&r).enumerate().skip(1) {
            self.u[i] += step_u * u;
            self.r[i] += step_r * r;
        }
        self.u[0] = (self.det_u + self.u[1].powi(2) + self.u[2].powi(2)).sqrt();
        self.r[0] = (self.det_r + self.r[1].powi(2) + self.r[2].powi(2)).sqrt();
    }
}

/// W and λ of a ray.
fn ray(u: f64, r: f64) -> (f64, f64) {
    ((u / r).sqrt(), u.sqrt() * r.sqrt())
}

/// The scaling W of a block, in its eigenbasis.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scaling {
    /// The direction d of the eigenbasis.
    pub d: [f64; 2],
    /// The eigenvalues of W (`Box`: of its two pairs).
    pub stretch: Triple,
    /// λ = W r = W⁻¹ u.
    pub lambda: Triple,
    det: f64,
    beta: f64,
}

impl Scaling {
    /// `W x` for a cone: velocities out of scaled ones.
    pub fn unscale_u(&self, x: &Triple) -> Triple {
        let y = rotate(&self.d, x);
        rotate_back(&self.d, &std::array::from_fn(|i| y[i] * self.stretch[i]))
    }

    /// `W⁻¹ x` for a cone: reactions out of scaled ones.
    pub fn unscale_r(&self, x: &Triple) -> Triple {
        let y = rotate(&self.d, x);
        rotate_back(&self.d, &std::array::from_fn(|i| y[i] / self.stretch[i]))
    }

    /// The x with `λ ∘ x = y`.
    #[inline]
    pub fn divide(&self, kind: Kind, y: &Triple) -> Triple {
        let l = &self.lambda;
        match kind {
            Kind::Free => [0.0; 3],
            Kind::Ray => [y[0] / l[0], 0.0, 0.0],
            Kind::Box { .. } => [y[0] / l[0], y[1] / l[1], 0.0],
            Kind::Lorentz => {
                let x = (l[0] * y[0] - l[1] * y[1] - l[2] * y[2]) / self.det;
                [x, (y[1] - x * l[1]) / l[0], (y[2] - x * l[2]) / l[0]]
            }
        }
    }

    /// The largest step for which `λ + step·x` stays in the cone (∞ if all do).
    #[inline]
    pub fn reach(&self, kind: Kind, x: &Triple) -> f64 {
        let l = &self.lambda;
        let side = |i: usize| if x[i] < 0.0 { -l[i] / x[i] } else { f64::INFINITY };
        match kind {
            Kind::Free => f64::INFINITY,
            Kind::Ray => side(0),
            Kind::Box { .. } => side(0).min(side(1)),
            Kind::Lorentz => {
                // det(λ + step x) = a step² + 2 b step + det λ: its smallest positive root.
                let a = determinant(x);
                let b = l[0] * x[0] - l[1] * x[1] - l[2] * x[2];
                let root = (b * b - a * self.det).max(0.0).sqrt();
                if b < 0.0 && b * b >= a * self.det {
                    self.det / (root - b)
                } else if a < 0.0 {
                    (b + root) / -a
                } else {
                    f64::INFINITY
                }
            }
        }
    }
}

/// The direction of a block that stays in its own basis (Q = 1).
pub const IDENTITY_DIRECTION: [f64; 2] = [0.0, 0.0];

/// `Qᵀ x`.
#[inline]
pub fn rotate(d: &[f64; 2], x: &Triple) -> Triple {
    if *d == IDENTITY_DIRECTION {
        return *x;
    }
    let along = d[0] * x[1] + d[1] * x[2];
    [INV_SQRT_2 * (x[0] + along), INV_SQRT_2 * (x[0] - along), d[0] * x[2] - d[1] * x[1]]
}

/// `Q y`.
#[inline]
pub fn rotate_back(d: &[f64; 2], y: &Triple) -> Triple {
    if *d == IDENTITY_DIRECTION {
        return *y;
    }
    let along = INV_SQRT_2 * (y[0] - y[1]);
    [INV_SQRT_2 * (y[0] + y[1]), d[0] * along - d[1] * y[2], d[1] * along + d[0] * y[2]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn inside() -> impl Strategy<Value = Triple> {
        (-2.0..2.0f64, -2.0..2.0f64, 0.01..3.0f64)
            .prop_map(|(a, b, over)| [a.hypot(b) + over, a, b])
    }

    proptest! {
        /// W r = W⁻¹ u = λ is the definition of the scaling point; λ∘λ's trace is u·r.
        #[test]
        fn the_scaling_makes_both_sides_equal(u in inside(), r in inside()) {
            let pair = Pair::new(Kind::Lorentz, u, r);
            let s = pair.scaling(Kind::Lorentz);
            let (wr, back) = (s.unscale_u(&r), s.unscale_r(&u));
            for i in 0..3 {
                // Distances to the boundary ≥ 0.01 of numbers ≤ 6: a condition of some thousands.
                prop_assert!((wr[i] - s.lambda[i]).abs() < 1e-11);
                prop_assert!((back[i] - s.lambda[i]).abs() < 1e-11);
            }
            prop_assert!((dot(&s.lambda, &s.lambda) - dot(&u, &r)).abs() < 1e-11);
        }

        /// Dividing undoes multiplying; the reach ends on the boundary.
        #[test]
        fn division_and_reach(u in inside(), r in inside(),
        x in prop::array::uniform3(-3.0..3.0f64)) {
            let s = Pair::new(Kind::Lorentz, u, r).scaling(Kind::Lorentz);
            let y = s.divide(Kind::Lorentz, &Kind::Lorentz.product(&s.lambda, &x));
            for i in 0..3 {
                prop_assert!((y[i] - x[i]).abs() < 1e-10);
            }
            let reach = s.reach(Kind::Lorentz, &x);
            let at = |t: f64| { let p: Triple = std::array::from_fn(|i| s.lambda[i] + t * x[i]); p[0] - p[1].hypot(p[2]) };
            if reach.is_finite() {
                prop_assert!(at(reach).abs() < 1e-9 * (1.0 + reach));
                prop_assert!(at(0.5 * reach) > 0.0);
            } else {
                prop_assert!(at(1e3) > 0.0);
            }
        }

        /// One step of the carried pair is the step of the plain vectors.
        #[test]
        fn advancing_moves_u_and_r_by_the_step(u in inside(), r in inside(),
        du in prop::array::uniform3(-1.0..1.0f64), dr in prop::array::uniform3(-1.0..1.0f64)) {
            let mut pair = Pair::new(Kind::Lorentz, u, r);
            let s = pair.scaling(Kind::Lorentz);
            let step = 0.5 * s.reach(Kind::Lorentz, &du).min(s.reach(Kind::Lorentz, &dr)).min(1.0);
            let (plain_u, plain_r) = (s.unscale_u(&du), s.unscale_r(&dr));
            pair.advance(Kind::Lorentz, &s, (&du, step), (&dr, step));
            for i in 0..3 {
                prop_assert!((pair.u[i] - u[i] - step * plain_u[i]).abs() < 1e-9);
                prop_assert!((pair.r[i] - r[i] - step * plain_r[i]).abs() < 1e-9);
            }
            prop_assert!((pair.product() - dot(&pair.u, &pair.r)).abs() < 1e-9);
        }
    }

    #[test]
    fn clipping_moves_the_eigenvalues() {
        let x = [1.0, 3.0, 0.0];
        let c = Kind::Lorentz.clip(&x, 0.5, 2.0);
        // Eigenvalues 4 → 2 and −2 → 0.5.
        let y = [x[0] + c[0], x[1] + c[1], x[2] + c[2]];
        assert!((y[0] + y[1] - 2.0).abs() < 1e-15 && (y[0] - y[1] - 0.5).abs() < 1e-15);
    }
}
