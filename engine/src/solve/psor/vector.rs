//! Passes over whole vectors: vectorised, on several threads if asked, with sums in a fixed order.

use super::system::State;
use rayon::prelude::*;

/// Numbers per chunk, the unit of parallel work.
const CHUNK: usize = 4096;

/// Partial sums of a dot product: independent, so that the processor need not wait for each addition.
const SUMS: usize = 8;

/// The scalar product; the same to the bit for any number of threads.
pub(super) fn dot(a: &[f64], b: &[f64], parallel: bool) -> f64 {
    if parallel && a.len() > 4 * CHUNK {
        let sums: Vec<f64> = a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK)).map(|(a, b)| dot_chunk(a, b)).collect();
        sums.into_iter().sum()
    } else {
        a.chunks(CHUNK).zip(b.chunks(CHUNK)).map(|(a, b)| dot_chunk(a, b)).sum()
    }
}

fn dot_chunk(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; SUMS];
    let (a_whole, a_rest) = a.as_chunks::<SUMS>();
    let (b_whole, b_rest) = b.as_chunks::<SUMS>();
    for (a, b) in a_whole.iter().zip(b_whole) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// `out ← a − b`.
pub(super) fn difference(out: &mut State, a: &State, b: &State) {
    for (out, (a, b)) in [(&mut out.r, (&a.r, &b.r)), (&mut out.z, (&a.z, &b.z)), (&mut out.p, (&a.p, &b.p))] {
        for (out, (a, b)) in out.iter_mut().zip(a.iter().zip(b)) {
            *out = a - b;
        }
    }
}

/// `y ← x − Σ factor_i d_i`.
pub(super) fn combine(y: &mut State, x: &State, terms: &[(f64, &State)], parallel: bool) {
    combine_part(&mut y.r, &x.r, terms, (|d| &d.r, parallel));
    combine_part(&mut y.z, &x.z, terms, (|d| &d.z, parallel));
    combine_part(&mut y.p, &x.p, terms, (|d| &d.p, parallel));
}

fn combine_part(y: &mut [f64], x: &[f64], terms: &[(f64, &State)], (part, parallel): (fn(&State) -> &[f64], bool)) {
    let run = |(c, y): (usize, &mut [f64])| {
        let range = c * CHUNK..c * CHUNK + y.len();
        y.copy_from_slice(&x[range.clone()]);
        for &(factor, d) in terms {
            for (y, d) in y.iter_mut().zip(&part(d)[range.clone()]) {
                *y -= factor * d;
            }
        }
    };
    if parallel && y.len() > 4 * CHUNK {
        y.par_chunks_mut(CHUNK).enumerate().for_each(run);
    } else {
        y.chunks_mut(CHUNK).enumerate().for_each(run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_do_not_depend_on_the_number_of_threads() {
        let a: Vec<f64> = (0..50_001).map(|i| (i as f64).sin()).collect();
        let b: Vec<f64> = (0..50_001).map(|i| (i as f64 * 0.7).cos()).collect();
        let plain: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
        let one = dot(&a, &b, false);
        // 5e4 terms below one: rounding of either order stays far below 1e-9.
        assert!((one - plain).abs() < 1e-9);
        assert_eq!(one.to_bits(), dot(&a, &b, true).to_bits());
    }
}
