//! Sparse `A = L U` of a matrix that need not be symmetric: for masses as some files store them.

use super::sparse::Csr;
use faer::linalg::solvers::SolveCore;
use faer::sparse::linalg::solvers::{Lu as Factor, SymbolicLu};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut};

/// The factorization of a square matrix.
pub struct Lu {
    n: usize,
    factor: Option<Factor<usize, f64>>,
}

impl Lu {
    /// Factors `a`; `None` if it is singular or not square.
    pub fn of(a: &Csr) -> Option<Lu> {
        let n = a.rows;
        if n == 0 || a.cols != n {
            return (n == a.cols).then_some(Lu { n, factor: None });
        }
        let columns = a.transposed();
        let rows: Vec<usize> = columns.columns.iter().map(|&i| i as usize).collect();
        let pattern = SymbolicSparseColMatRef::new_checked(n, n, &columns.starts, None, &rows);
        let matrix = SparseColMatRef::new(pattern, &columns.values);
        let symbolic = SymbolicLu::try_new(pattern).ok()?;
        let factor = Factor::try_new_with_symbolic(symbolic, matrix).ok()?;
        let lu = Lu { n, factor: Some(factor) };
        // A structurally sound but singular matrix shows itself in the first solve.
        let mut probe = vec![1.0; n];
        lu.solve(&mut probe);
        probe.iter().all(|x| x.is_finite()).then_some(lu)
    }

    /// `x ← A⁻¹ x`.
    pub fn solve(&self, x: &mut [f64]) {
        if let Some(factor) = &self.factor {
            factor.solve_in_place_with_conj(Conj::No, MatMut::from_column_major_slice_mut(x, self.n, 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_without_symmetry_and_refuses_the_singular() {
        let a = Csr::from_dense(3, 3, &[0.0, 2.0, 1.0, 4.0, 0.0, -1.0, 1.0, 1.0, 3.0]);
        let want = [1.0, -2.0, 0.5];
        let mut x = [0.0; 3];
        a.mul(&want, &mut x);
        Lu::of(&a).unwrap().solve(&mut x);
        for (got, want) in x.iter().zip(want) {
            // Condition number below 10.
            assert!((got - want).abs() < 1e-14);
        }
        assert!(Lu::of(&Csr::from_dense(2, 2, &[1.0, 2.0, 2.0, 4.0])).is_none());
        assert!(Lu::of(&Csr::empty(2, 2)).is_none());
        assert!(Lu::of(&Csr::empty(2, 3)).is_none());
        assert!(Lu::of(&Csr::empty(0, 0)).is_some());
    }
}
