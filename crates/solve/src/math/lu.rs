//! `P A Q = L U` of a general square matrix, with partial pivoting: one analysis per pattern, many
//! factorizations.
//!
//! Small matrices are factored as dense ones, large ones by faer's sparse factorization (column
//! approximate minimum degree, supernodes where they pay). A matrix that is singular in double
//! precision is an error; it never becomes a NaN.

use super::scratch::Scratch;
use super::sparse::Csr;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::lu::partial_pivoting;
use faer::linalg::solvers::SolveCore;
use faer::perm::PermRef;
use faer::sparse::linalg::lu::{LuRef, NumericLu, SymbolicLu, factorize_symbolic_lu};
use faer::sparse::linalg::solvers::{Lu as Factor, SymbolicLu as Analysis};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMatRef};
use faer::{Conj, MatMut, MatRef, Par};

/// The matrix has no inverse in double precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Singular;

/// A dense factorization; keeps its memory.
#[derive(Default)]
pub struct DenseLu {
    n: usize,
    factor: Vec<f64>,
    forward: Vec<u32>,
    inverse: Vec<u32>,
    scratch: Scratch,
}

impl DenseLu {
    /// Room for an n × n matrix, column by column, all zero: fill it, then [`DenseLu::factor`].
    pub fn matrix(&mut self, n: usize) -> &mut [f64] {
        self.n = n;
        self.factor.clear();
        self.factor.resize(n * n, 0.0);
        self.forward.resize(n, 0);
        self.inverse.resize(n, 0);
        &mut self.factor
    }

    /// Factors the matrix in place.
    pub fn factor(&mut self) -> Result<(), Singular> {
        let n = self.n;
        let a = MatMut::from_column_major_slice_mut(&mut self.factor, n, n);
        let stack = self.scratch.stack(partial_pivoting::factor::lu_in_place_scratch::<u32, f64>(
            n,
            n,
            Par::Seq,
            Default::default(),
        ));
        partial_pivoting::factor::lu_in_place(
            a,
            &mut self.forward[..n],
            &mut self.inverse[..n],
            Par::Seq,
            stack,
            Default::default(),
        );
        let good =
            (0..n).all(|i| self.factor[i * n + i].is_finite() && self.factor[i * n + i] != 0.0);
        if good { Ok(()) } else { Err(Singular) }
    }

    /// `x ← A⁻¹ x`.
    pub fn solve(&mut self, x: &mut [f64]) {
        let n = self.n;
        let a = MatRef::from_column_major_slice(&self.factor, n, n);
        let perm = PermRef::new_checked(&self.forward[..n], &self.inverse[..n], n);
        let stack = self
            .scratch
            .stack(partial_pivoting::solve::solve_in_place_scratch::<u32, f64>(n, 1, Par::Seq));
        let x = MatMut::from_column_major_slice_mut(x, n, 1);
        partial_pivoting::solve::solve_in_place_with_conj(a, a, perm, Conj::No, x, Par::Seq, stack);
    }
}

/// A sparse factorization of a matrix whose pattern stays.
pub struct SparseLu {
    n: usize,
    starts: Vec<u32>,
    columns: Vec<u32>,
    symbolic: SymbolicLu<u32>,
    numeric: NumericLu<u32, f64>,
    scratch: MemBuffer,
}

impl SparseLu {
    /// Analyses the pattern of a square matrix given by rows.
    pub fn analyse(n: usize, starts: &[u32], columns: &[u32]) -> SparseLu {
        // The rows of A are the columns of Aᵀ: that is what is factored, and solves are transposed.
        let pattern = SymbolicSparseColMatRef::new_checked(n, n, starts, None, columns);
        let symbolic = factorize_symbolic_lu(pattern, Default::default())
            .expect("the pattern is valid and its factor fits into memory");
        let numeric = symbolic.factorize_numeric_lu_scratch::<f64>(Par::Seq, Default::default());
        let solve = symbolic.solve_transpose_in_place_scratch::<f64>(1, Par::Seq);
        let scratch = MemBuffer::new(numeric.or(solve));
        SparseLu {
            n,
            starts: starts.to_vec(),
            columns: columns.to_vec(),
            symbolic,
            numeric: NumericLu::new(),
            scratch,
        }
    }

    /// True if this analysis was made for this pattern.
    pub fn matches(&self, n: usize, starts: &[u32], columns: &[u32]) -> bool {
        self.n == n && self.starts == starts && self.columns == columns
    }

    /// Factors the matrix with these values (in the order of the analysed pattern).
    pub fn factor(&mut self, values: &[f64]) -> Result<(), Singular> {
        if values.iter().any(|x| !x.is_finite()) {
            return Err(Singular);
        }
        let pattern =
            SymbolicSparseColMatRef::new_checked(self.n, self.n, &self.starts, None, &self.columns);
        let matrix = SparseColMatRef::new(pattern, values);
        let stack = MemStack::new(&mut self.scratch);
        match self.symbolic.factorize_numeric_lu(
            &mut self.numeric,
            matrix,
            Par::Seq,
            stack,
            Default::default(),
        ) {
            Ok(_) => Ok(()),
            Err(_) => Err(Singular),
        }
    }

    /// `x ← A⁻¹ x`; the caller checks that the result is finite.
    pub fn solve(&mut self, x: &mut [f64]) {
        let stack = MemStack::new(&mut self.scratch);
        let x = MatMut::from_column_major_slice_mut(x, self.n, 1);
        LuRef::new_unchecked(&self.symbolic, &self.numeric).solve_transpose_in_place_with_conj(
            Conj::No,
            x,
            Par::Seq,
            stack,
        );
    }
}

/// The factorization of one square matrix, made once: for masses as some files store them.
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
        let symbolic = Analysis::try_new(pattern).ok()?;
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
            factor.solve_in_place_with_conj(
                Conj::No,
                MatMut::from_column_major_slice_mut(x, self.n, 1),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A non-symmetric matrix with zeros on its diagonal: pivoting is needed.
    fn matrix(n: usize) -> Csr {
        let mut t = Vec::new();
        for i in 0..n {
            let next = (i + 1) % n;
            t.push((i as u32, i as u32, if i % 3 == 0 { 0.0 } else { 2.0 }));
            t.push((i as u32, next as u32, 3.0 + i as f64 / n as f64));
            t.push((next as u32, i as u32, -1.0));
            t.push((i as u32, ((i * 7 + 3) % n) as u32, 0.25));
        }
        Csr::from_triplets(n, n, &t)
    }

    #[test]
    fn dense_and_sparse_factors_solve_what_they_factored() {
        for n in [5, 40, 300] {
            let a = matrix(n);
            let x: Vec<f64> = (0..n).map(|i| (i as f64 * 0.7).cos()).collect();
            let mut b = vec![0.0; n];
            a.mul(&x, &mut b);
            let starts: Vec<u32> = a.starts.iter().map(|&s| s as u32).collect();
            let mut sparse = SparseLu::analyse(n, &starts, &a.columns);
            assert!(sparse.matches(n, &starts, &a.columns));
            let mut dense = DenseLu::default();
            // Twice with one analysis: the second factorization must forget the first.
            for scale in [1.0, 0.5] {
                let values: Vec<f64> = a.values.iter().map(|x| scale * x).collect();
                sparse.factor(&values).unwrap();
                let mut y = b.clone();
                sparse.solve(&mut y);
                let room = dense.matrix(n);
                for i in 0..n {
                    let (columns, values) = a.row(i);
                    for (&j, &x) in columns.iter().zip(values) {
                        room[j as usize * n + i] = scale * x;
                    }
                }
                dense.factor().unwrap();
                let mut z = b.clone();
                dense.solve(&mut z);
                for i in 0..n {
                    // Condition of a few thousand.
                    assert!(
                        (scale * y[i] - x[i]).abs() < 1e-11 && (scale * z[i] - x[i]).abs() < 1e-11,
                        "n {n}: {} {} {}",
                        y[i],
                        z[i],
                        x[i]
                    );
                }
            }
        }
    }

    #[test]
    fn a_singular_matrix_is_an_error() {
        let mut dense = DenseLu::default();
        dense.matrix(2).copy_from_slice(&[1.0, 2.0, 2.0, 4.0]);
        assert_eq!(dense.factor(), Err(Singular));
        let mut sparse = SparseLu::analyse(2, &[0, 2, 4], &[0, 1, 0, 1]);
        assert_eq!(sparse.factor(&[1.0, f64::NAN, 0.0, 1.0]), Err(Singular));
    }
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
