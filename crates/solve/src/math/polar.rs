//! The rotation nearest to a matrix, and the eigenvalues of small symmetric matrices.
//!
//! ```text
//!   F = R S,   R the proper rotation that maximises tr(RᵀF),   S = RᵀF symmetric
//! ```
//!
//! R(q) is quadratic in its unit quaternion, so that `tr(RᵀF) = qᵀ N q` with N (4 × 4) linear in F:
//! q is the eigenvector of the largest eigenvalue (Horn1987). This is the polar decomposition where
//! det F > 0; a reflected F gets the nearest proper rotation, its smallest stretch negative; a
//! singular one any of the best. No case ends in a reflection, a division or a NaN.

use glam::{DMat3, DQuat};

/// The proper rotation R that maximises `tr(RᵀF)`.
pub fn rotation(f: &DMat3) -> DMat3 {
    let [x, y, z] = [f.x_axis, f.y_axis, f.z_axis];
    // Entry (i, j) of F is component i of column j.
    let n = [
        [x.x + y.y + z.z, y.z - z.y, z.x - x.z, x.y - y.x],
        [y.z - z.y, x.x - y.y - z.z, y.x + x.y, z.x + x.z],
        [z.x - x.z, y.x + x.y, y.y - x.x - z.z, z.y + y.z],
        [x.y - y.x, z.x + x.z, z.y + y.z, z.z - x.x - y.y],
    ];
    let (values, vectors) = eigen(n);
    let mut best = 0;
    for i in 1..4 {
        if values[i] > values[best] {
            best = i;
        }
    }
    let [w, x, y, z] = vectors[best];
    let q = DQuat::from_xyzw(x, y, z, w);
    let length = q.length();
    if length.is_finite() && length > 0.0 { DMat3::from_quat(q / length) } else { DMat3::IDENTITY }
}

/// Eigenvalues and unit eigenvectors (one per row) of a symmetric matrix, by Jacobi's rotations.
pub fn eigen<const N: usize>(mut a: [[f64; N]; N]) -> ([f64; N], [[f64; N]; N]) {
    let mut v = [[0.0; N]; N];
    for (i, row) in v.iter_mut().enumerate() {
        row[i] = 1.0;
    }
    let size: f64 = a.iter().flatten().map(|x| x.abs()).sum();
    // Quadratic convergence: a dozen sweeps are more than any matrix of this size takes.
    for _ in 0..12 {
        let mut rest = 0.0f64;
        for p in 0..N {
            for q in p + 1..N {
                rest = rest.max(a[p][q].abs());
                rotate(&mut a, &mut v, p, q);
            }
        }
        if rest <= 1e-3 * f64::EPSILON * size {
            break;
        }
    }
    (std::array::from_fn(|i| a[i][i]), v)
}

/// One rotation in the plane (p, q) that makes the entry there zero.
#[inline]
fn rotate<const N: usize>(a: &mut [[f64; N]; N], v: &mut [[f64; N]; N], p: usize, q: usize) {
    if a[p][q] == 0.0 {
        return;
    }
    let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    for k in 0..N {
        let (x, y) = (a[k][p], a[k][q]);
        a[k][p] = c * x - s * y;
        a[k][q] = s * x + c * y;
    }
    for k in 0..N {
        let (x, y) = (a[p][k], a[q][k]);
        a[p][k] = c * x - s * y;
        a[q][k] = s * x + c * y;
    }
    for k in 0..N {
        let (x, y) = (v[p][k], v[q][k]);
        v[p][k] = c * x - s * y;
        v[q][k] = s * x + c * y;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;

    fn stretched(k: usize, s: DVec3) -> (DMat3, DMat3) {
        let a = k as f64;
        let r = DMat3::from_quat(
            DQuat::from_xyzw((a * 0.7).sin(), (a * 1.3).cos(), (a * 2.1).sin(), (a * 0.3).cos())
                .normalize(),
        );
        let axes = DMat3::from_quat(
            DQuat::from_xyzw((a * 1.1).sin(), (a * 0.2).cos(), (a * 0.9).sin(), 1.0).normalize(),
        );
        (r, r * axes * DMat3::from_diagonal(s) * axes.transpose())
    }

    #[test]
    fn the_rotation_of_a_stretched_rotation_is_found() {
        for k in 0..100 {
            for s in [
                DVec3::ONE,
                DVec3::new(0.3, 1.0, 4.0),
                DVec3::new(1.0, 1.0, 0.0),
                DVec3::new(1.2, 0.9, -0.3),
            ] {
                let (r, f) = stretched(k, s);
                let found = rotation(&f);
                // Rounding over the least gap of stretches.
                assert!((found - r).abs_diff_eq(DMat3::ZERO, 1e-13), "{k} {s}: {found} {r}");
                let stretch = found.transpose() * f;
                assert!((stretch - stretch.transpose()).abs_diff_eq(DMat3::ZERO, 1e-13));
            }
        }
    }

    #[test]
    fn nothing_becomes_a_nan() {
        for f in [
            DMat3::ZERO,
            -DMat3::IDENTITY,
            DMat3::from_diagonal(DVec3::new(1.0, -1.0, 0.0)),
            DMat3::IDENTITY * 1e-200,
        ] {
            let r = rotation(&f);
            assert!(
                (r.determinant() - 1.0).abs() < 1e-12
                    && (r.transpose() * r).abs_diff_eq(DMat3::IDENTITY, 1e-12),
                "{f}"
            );
        }
    }

    #[test]
    fn eigenvectors_reproduce_their_matrix() {
        let a = [[2.0, -1.0, 0.3], [-1.0, 5.0, 0.7], [0.3, 0.7, -1.0]];
        let (values, vectors) = eigen(a);
        for i in 0..3 {
            for j in 0..3 {
                let sum: f64 = (0..3).map(|k| values[k] * vectors[k][i] * vectors[k][j]).sum();
                assert!((sum - a[i][j]).abs() < 1e-14);
            }
        }
    }
}
