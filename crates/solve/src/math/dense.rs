//! Small dense systems, column by column or row by row as each function says.

/// Factors a symmetric positive definite matrix in place: `A = L Lᵀ`, row by row, lower triangle.
///
/// Returns the place and the value of the first pivot that is not above `1e-14` of its own diagonal
/// entry (the rounding of the sum that formed it), or not finite.
pub fn cholesky(n: usize, a: &mut [f64]) -> Result<(), (usize, f64)> {
    for i in 0..n {
        let diagonal = a[i * n + i];
        for j in 0..=i {
            let mut sum = a[i * n + j];
            for p in 0..j {
                sum -= a[i * n + p] * a[j * n + p];
            }
            if i > j {
                a[i * n + j] = sum / a[j * n + j];
            } else if sum > 1e-14 * diagonal && sum.is_finite() {
                a[i * n + i] = sum.sqrt();
            } else {
                return Err((i, sum));
            }
        }
    }
    Ok(())
}

/// Solves `L Lᵀ x = b` in place with the factor of [`cholesky`].
#[inline]
pub fn cholesky_solve(n: usize, l: &[f64], x: &mut [f64]) {
    forward(n, l, x);
    for i in (0..n).rev() {
        let mut sum = x[i];
        for j in i + 1..n {
            sum -= l[j * n + i] * x[j];
        }
        x[i] = sum / l[i * n + i];
    }
}

/// Solves `L x = b` in place with the factor of [`cholesky`].
#[inline]
pub fn forward(n: usize, l: &[f64], x: &mut [f64]) {
    for i in 0..n {
        let mut sum = x[i];
        for j in 0..i {
            sum -= l[i * n + j] * x[j];
        }
        x[i] = sum / l[i * n + i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cholesky_solves_and_names_the_bad_pivot() {
        let a = [4.0, 2.0, 2.0, 3.0];
        let mut l = a;
        cholesky(2, &mut l).unwrap();
        let mut x = [8.0, 7.0];
        cholesky_solve(2, &l, &mut x);
        assert!((x[0] - 1.25).abs() < 1e-15 && (x[1] - 1.5).abs() < 1e-15);
        assert_eq!(cholesky(2, &mut [1.0, 1.0, 1.0, 1.0]).unwrap_err().0, 1);
        assert!(cholesky(1, &mut [f64::NAN]).is_err());
    }
}
