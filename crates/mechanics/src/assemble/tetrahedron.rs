//! The co-rotational tetrahedron: linear elasticity in a frame that turns with the element.
//!
//! With g_a the gradients of the four shape functions without stress, V the volume,
//! `F = Σ x_a g_aᵀ = R S` (R the nearest proper rotation, also of an inverted element),
//! `ε = S − 1`:
//!
//! ```text
//!   energy   V ( μ ε:ε + ½ λ (tr ε)² )
//!   force    f_a = −V R σ g_a,    σ = 2μ ε + λ tr ε                       exactly the gradient of the energy
//!   stiffness K_ab = V ( λ G_a G_bᵀ + μ G_b G_aᵀ + μ (G_a·G_b) )          G_a = R g_a: the warped stiffness
//!           + V/2 Σ_i q_i c_ia c_ibᵀ                                      c_ia = R (e_i × g_a): the derivative of the rotation
//!             q_i = 2μ − 2 (2μ − λ tr ε)/(s_j + s_k)                      s, e eigenvalues and -vectors of S
//! ```
//!
//! The two parts act on the symmetric and on the skew part of RᵀdF, so that their signs are plain:
//! the first is never negative; the second is what makes a stretched bar stiff across (q > 0) and a
//! pressed one buckle (q < 0). H must stay positive definite: negative q count as zero, which
//! changes the path of a step, not the force. Forces of an element have no sum and no moment.
//! (Mangoni2018, §3.3), the energy of (Chao2010).
//!
//! | symbol | size | meaning |
//! |---|---|---|
//! | g_a | 4 × 3 | gradients of the shape functions, 1/m |
//! | V | 1 | volume without stress, m³ |
//! | λ, μ | 1 | Lamé's constants, Pa |

use crate::math::polar::{eigen, rotation};
use glam::{DMat3, DVec3};

/// An element without stress.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tetrahedron {
    /// Gradients of the shape functions, 1/m.
    pub gradients: [DVec3; 4],
    /// Volume, m³.
    pub volume: f64,
}

/// Lamé's constants, Pa.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lame {
    /// λ.
    pub lambda: f64,
    /// μ.
    pub mu: f64,
}

/// An element here and now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Warp {
    /// R g_a, 1/m.
    pub gradients: [DVec3; 4],
    /// R.
    pub rotation: DMat3,
    /// Cauchy's stress of the linear law, in the turned frame: R σ Rᵀ, Pa.
    pub stress: DMat3,
    /// The elastic energy, J.
    pub energy: f64,
    /// c_ia √(q_i V/2), where q_i counts: up to three lists, the rest zero.
    pub twist: [[DVec3; 4]; 3],
}

impl Tetrahedron {
    /// The element with these corners (right-handed) without stress.
    pub fn new([a, b, c, d]: [DVec3; 4]) -> Tetrahedron {
        let edges = DMat3::from_cols(b - a, c - a, d - a);
        let rows = edges.inverse().transpose();
        let [p, q, r] = [rows.x_axis, rows.y_axis, rows.z_axis];
        Tetrahedron { gradients: [-(p + q + r), p, q, r], volume: edges.determinant() / 6.0 }
    }

    /// The element with its corners at `x`.
    pub fn warp(&self, x: [DVec3; 4], lame: Lame) -> Warp {
        let Lame { lambda, mu } = lame;
        let g = &self.gradients;
        // F − 1 from displacements within the element, not from large coordinates.
        let f = DMat3::from_cols(x[1] - x[0], x[2] - x[0], x[3] - x[0])
            * DMat3::from_cols(g[1], g[2], g[3]).transpose();
        let r = rotation(&f);
        let s = r.transpose() * f;
        let s = (s + s.transpose()) * 0.5;
        let strain = s - DMat3::IDENTITY;
        let trace = strain.x_axis.x + strain.y_axis.y + strain.z_axis.z;
        let stress = strain * (2.0 * mu) + DMat3::from_diagonal(DVec3::splat(lambda * trace));
        let square: f64 = strain.to_cols_array().iter().map(|e| e * e).sum();
        let energy = self.volume * (mu * square + 0.5 * lambda * trace * trace);
        let gradients = g.map(|g| r * g);
        let twist = self.twist(&r, &s, trace, lame);
        Warp { gradients, rotation: r, stress: r * stress * r.transpose(), energy, twist }
    }

    /// The derivative of the rotation, where it makes the element stiffer.
    fn twist(
        &self,
        r: &DMat3,
        s: &DMat3,
        trace: f64,
        Lame { lambda, mu }: Lame,
    ) -> [[DVec3; 4]; 3] {
        let (values, vectors) = eigen(s.transpose().to_cols_array_2d());
        std::array::from_fn(|i| {
            let pair = values[(i + 1) % 3] + values[(i + 2) % 3];
            let q = 2.0 * mu - 2.0 * (2.0 * mu - lambda * trace) / pair;
            // Below rounding of the stretches it is nothing; where they cancel the rotation is
            // about to jump.
            if !(q > 1e-12 * mu && pair > 0.0) {
                return [DVec3::ZERO; 4];
            }
            let axis = DVec3::from_array(vectors[i]);
            let size = (0.5 * q * self.volume).sqrt();
            self.gradients.map(|g| *r * axis.cross(g) * size)
        })
    }
}

impl Warp {
    /// The elastic forces on the four nodes, N.
    pub fn forces(&self, volume: f64) -> [DVec3; 4] {
        self.gradients.map(|g| self.stress * g * -volume)
    }

    /// Block (a, b) of the stiffness, N/m.
    #[inline]
    pub fn stiffness(&self, a: usize, b: usize, volume: f64, Lame { lambda, mu }: Lame) -> DMat3 {
        let (ga, gb) = (self.gradients[a], self.gradients[b]);
        let mut k = outer(ga, gb * (lambda * volume)) + outer(gb, ga * (mu * volume));
        let d = mu * volume * ga.dot(gb);
        k += DMat3::from_diagonal(DVec3::splat(d));
        for c in &self.twist {
            k += outer(c[a], c[b]);
        }
        k
    }

    /// `K v`: the stiffness times the velocities of the four nodes.
    pub fn stiffness_times(
        &self,
        v: &[DVec3; 4],
        volume: f64,
        Lame { lambda, mu }: Lame,
    ) -> [DVec3; 4] {
        let g = &self.gradients;
        let mut rate = DMat3::ZERO;
        for b in 0..4 {
            rate += outer(v[b], g[b]);
        }
        let trace = rate.x_axis.x + rate.y_axis.y + rate.z_axis.z;
        let stress =
            (rate + rate.transpose()) * mu + DMat3::from_diagonal(DVec3::splat(lambda * trace));
        let mut out = g.map(|g| stress * g * volume);
        for c in &self.twist {
            let s: f64 = (0..4).map(|b| c[b].dot(v[b])).sum();
            for a in 0..4 {
                out[a] += c[a] * s;
            }
        }
        out
    }

    /// Von Mises's equivalent stress, Pa.
    pub fn von_mises(&self) -> f64 {
        let s = self.stress;
        let mean = (s.x_axis.x + s.y_axis.y + s.z_axis.z) / 3.0;
        let d = s - DMat3::from_diagonal(DVec3::splat(mean));
        (1.5 * d.to_cols_array().iter().map(|x| x * x).sum::<f64>()).sqrt()
    }
}

/// `a bᵀ`.
#[inline]
fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}
