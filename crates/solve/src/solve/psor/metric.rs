//! How rows are scaled, and the step of each block.

use super::{Metric, Settings};
use crate::problem::Law;
use crate::problem::law::MAX_ROWS;

/// The scales of a block's rows, and one over the largest eigenvalue of the scaled block.
pub(super) fn metric(law: &Law, block: &mut [f64], settings: &Settings) -> ([f64; MAX_ROWS], f64) {
    let d = law.rows();
    let diagonal = |i: usize| block[i * d + i];
    let mut g = [0.0; MAX_ROWS];
    let tangent = (1..d).map(diagonal).sum::<f64>() / (d.max(2) - 1) as f64;
    let mean = (0..d).map(diagonal).sum::<f64>() / d as f64;
    for (i, g) in g.iter_mut().enumerate().take(d) {
        *g = match settings.metric {
            Metric::Mean => mean,
            Metric::TwoScale if i == 0 => diagonal(0),
            Metric::TwoScale => tangent,
        };
    }
    let good = |x: f64| x > 0.0 && x.is_finite() && (1.0 / x).is_finite();
    if !g[..d].iter().all(|&g| good(g)) {
        block[..d * d].fill(0.0);
        return ([1.0; MAX_ROWS], 0.0);
    }
    let s = g.map(|g| if g > 0.0 { 1.0 / g.sqrt() } else { 1.0 });
    for i in 0..d {
        for j in 0..d {
            block[i * d + j] *= s[i] * s[j];
        }
    }
    let largest =
        if settings.metric == Metric::Mean { 1.0 } else { largest_eigenvalue(&block[..d * d], d) };
    (s, settings.omega / largest)
}

/// The largest eigenvalue of a symmetric positive semidefinite matrix of up to three rows whose
/// diagonal entries are one on average: the largest root of the characteristic polynomial, in
/// closed form.
pub(super) fn largest_eigenvalue(a: &[f64], d: usize) -> f64 {
    if d == 1 {
        return a[0];
    }
    if d == 2 {
        return 0.5 * (a[0] + a[3]) + (0.25 * (a[0] - a[3]).powi(2) + a[1] * a[2]).max(0.0).sqrt();
    }
    // A = m 1 + 2 p B, where the eigenvalues of B are cos(φ + 2πk/3) and det(2 B) = 2 cos 3φ.
    let mean = (a[0] + a[4] + a[8]) / 3.0;
    let (x, y, z) = (a[0] - mean, a[4] - mean, a[8] - mean);
    let (xy, xz, yz) = (a[1], a[2], a[5]);
    let p = ((x * x + y * y + z * z + 2.0 * (xy * xy + xz * xz + yz * yz)) / 6.0).sqrt();
    let determinant = x * (y * z - yz * yz) - xy * (xy * z - yz * xz) + xz * (xy * yz - y * xz);
    let cosine = determinant / (2.0 * p * p * p);
    if cosine.is_nan() {
        return 1.0;
    }
    (mean + 2.0 * p * (cosine.clamp(-1.0, 1.0).acos() / 3.0).cos()).clamp(1.0, 3.0)
}

/// The law in scaled variables.
pub(super) fn scaled(law: &Law, s: &[f64; MAX_ROWS]) -> Law {
    match *law {
        Law::Interval { lo, hi } => Law::Interval { lo: lo / s[0], hi: hi / s[0] },
        Law::Cone { mu, rows } => Law::Cone { mu: mu * s[0] / s[1], rows },
        Law::Coulomb { mu, rows } => Law::Coulomb { mu: mu * s[0] / s[1], rows },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::largest_eigenvalue;
    use crate::math::random::Random;

    #[test]
    fn the_largest_eigenvalue_is_one() {
        let mut x = Random::seeded(3);
        for _ in 0..200 {
            let g: [f64; 9] = std::array::from_fn(|_| x.signed());
            let mut a: [f64; 9] =
                std::array::from_fn(|i| (0..3).map(|k| g[i / 3 * 3 + k] * g[i % 3 * 3 + k]).sum());
            let trace = (a[0] + a[4] + a[8]) / 3.0;
            a.iter_mut().for_each(|a| *a /= trace);
            let largest = largest_eigenvalue(&a, 3);
            // The characteristic polynomial vanishes there, and the matrix less it is negative
            // semidefinite: so says its trace of minors.
            let b: [f64; 9] =
                std::array::from_fn(|i| a[i] - if i % 4 == 0 { largest } else { 0.0 });
            let determinant = b[0] * (b[4] * b[8] - b[5] * b[7])
                - b[1] * (b[3] * b[8] - b[5] * b[6])
                + b[2] * (b[3] * b[7] - b[4] * b[6]);
            let minors =
                b[0] * b[4] - b[1] * b[1] + b[0] * b[8] - b[2] * b[2] + b[4] * b[8] - b[5] * b[5];
            assert!(
                determinant.abs() < 1e-12 && minors > -1e-12 && b[0] + b[4] + b[8] <= 1e-12,
                "{determinant} {minors}"
            );
        }
        let unit = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        assert_eq!(largest_eigenvalue(&unit, 3), 1.0);
        assert!((largest_eigenvalue(&[1.0; 9], 3) - 3.0).abs() < 1e-14);
    }
}
