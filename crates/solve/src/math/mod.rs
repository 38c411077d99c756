//! Small and sparse linear algebra. Knows nothing of the rest of the library.

pub mod block_lu;
pub mod cholesky_update;
pub mod cliques;
pub mod dense;
pub mod double_double;
pub mod ldlt;
pub mod lists;
pub mod lu;
pub mod order;
pub mod polar;
pub mod pose;
pub mod random;
pub mod scratch;
pub mod sparse;

/// The scalar product of two vectors of equal length.
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// The scalar product of two long vectors by eight sums: they are independent, so that the
/// processor need not wait for each addition.
#[inline(always)]
pub fn dot_by_sums(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a_whole, a_rest) = a.as_chunks::<8>();
    let (b_whole, b_rest) = b.as_chunks::<8>();
    for (a, b) in a_whole.iter().zip(b_whole) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// `√(x² + y²)`: the plain formula where its squares can neither overflow nor vanish, `hypot`
/// elsewhere. Good to one unit more in the last place.
#[inline]
pub fn length(x: f64, y: f64) -> f64 {
    let square = x * x + y * y;
    if (1e-280..1e280).contains(&square) { square.sqrt() } else { x.hypot(y) }
}

/// The Euclidean norm.
#[inline]
pub fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}
