//! `A = L D Lᵀ` of a sparse symmetric positive *semi*definite matrix, with its rank.
//!
//! For a semidefinite matrix a zero pivot means that the row depends on those before it; the column
//! below such a pivot is zero as well. So a row whose pivot falls below `RANK_TOLERANCE` of its own
//! diagonal entry is left out: its unknown is 0 and the others solve what remains. No pivoting is
//! needed, and the pattern is that of an ordinary factorization in minimum-degree order.
//!
//! Cost: Σ (column count)², simplicial, row by row ("up-looking"): for each row a sparse triangular
//! solve along its path in the elimination tree (Davis2006, ch. 4).

use crate::math::order::MinimumDegree;
use crate::math::sparse::Csr;

/// A pivot below this fraction of its diagonal entry is rounding: the row depends on earlier ones.
/// A pivot is a squared distance to the span of those rows, and is formed with a few hundred
/// roundings.
pub const RANK_TOLERANCE: f64 = 1e-13;

const NONE: u32 = u32::MAX;

/// The factor, its order of elimination and what it left out; keeps its memory.
#[derive(Default)]
pub struct Semidefinite {
    elimination: MinimumDegree,
    /// Strictly lower columns of L: rows and values. There may be more than the matrix has.
    columns: Vec<Vec<(u32, f64)>>,
    /// Pivots; 0 where a row was left out.
    pivots: Vec<f64>,
    work: Work,
}

/// What a factorization needs on its way.
#[derive(Default)]
struct Work {
    starts: Vec<u32>,
    place: Vec<u32>,
    /// The elimination tree, which grows with the rows, the last row that met each column, and the
    /// columns that a row meets.
    parent: Vec<u32>,
    mark: Vec<u32>,
    path: Vec<u32>,
    x: Vec<f64>,
}

impl Semidefinite {
    /// Factors the symmetric matrix `a` (stored whole).
    pub fn factor(a: &Csr) -> Semidefinite {
        let mut out = Semidefinite::default();
        out.set(a);
        out
    }

    /// As [`Semidefinite::factor`], into the memory at hand.
    pub fn set(&mut self, a: &Csr) {
        let n = a.rows;
        self.begin(a);
        let Semidefinite { elimination, columns, pivots, work } = self;
        let (order, Work { place, parent, mark, path, x, .. }) = (&elimination.order, work);
        for p in 0..n {
            path.clear();
            mark[p] = p as u32;
            let mut diagonal = 0.0;
            let (js, values) = a.row(order[p] as usize);
            for (&j, &value) in js.iter().zip(values) {
                let mut q = place[j as usize] as usize;
                match q.cmp(&p) {
                    std::cmp::Ordering::Equal => diagonal += value,
                    std::cmp::Ordering::Greater => {}
                    std::cmp::Ordering::Less => {
                        x[q] += value;
                        while mark[q] != p as u32 {
                            mark[q] = p as u32;
                            path.push(q as u32);
                            if parent[q] == NONE {
                                parent[q] = p as u32;
                            }
                            q = parent[q] as usize;
                        }
                    }
                }
            }
            // Ascending order is an order of the tree.
            path.sort_unstable();
            let mut pivot = diagonal;
            for &q in &*path {
                let q = q as usize;
                let y = std::mem::take(&mut x[q]);
                if pivots[q] == 0.0 {
                    continue;
                }
                for &(i, l) in &columns[q] {
                    x[i as usize] -= l * y;
                }
                let l = y / pivots[q];
                pivot -= l * y;
                columns[q].push((p as u32, l));
            }
            pivots[p] =
                if pivot > RANK_TOLERANCE * diagonal && pivot.is_finite() { pivot } else { 0.0 };
        }
    }

    /// Finds the order, and empties everything else.
    fn begin(&mut self, a: &Csr) {
        let (n, Work { starts, place, parent, mark, x, .. }) = (a.rows, &mut self.work);
        starts.clear();
        starts.extend(a.starts.iter().map(|&s| s as u32));
        self.elimination.find(starts, &a.columns);
        for list in [&mut *place, &mut *parent, &mut *mark] {
            list.clear();
            list.resize(n, NONE);
        }
        for (p, &i) in self.elimination.order.iter().enumerate() {
            place[i as usize] = p as u32;
        }
        x.clear();
        x.resize(n, 0.0);
        self.pivots.clear();
        self.pivots.resize(n, 0.0);
        self.columns.iter_mut().for_each(Vec::clear);
        self.columns.resize_with(n.max(self.columns.len()), Vec::new);
    }

    /// The unknowns whose rows depend on others, ascending.
    pub fn dependent(&self) -> Vec<usize> {
        let mut out = Vec::new();
        self.dependent_into(&mut out);
        out
    }

    /// As [`Semidefinite::dependent`], into the memory of `out`.
    pub fn dependent_into(&self, out: &mut Vec<usize>) {
        out.clear();
        out.extend(
            (0..self.pivots.len())
                .filter(|&p| self.pivots[p] == 0.0)
                .map(|p| self.elimination.order[p] as usize),
        );
        out.sort_unstable();
    }

    /// A solution of `A x = b` (in place): exact if b lies in the range of A, with zeros for the
    /// dependent unknowns.
    pub fn solve(&mut self, b: &mut [f64]) {
        let (order, x) = (&self.elimination.order, &mut self.work.x);
        x.clear();
        x.extend(order.iter().map(|&i| b[i as usize]));
        for p in 0..x.len() {
            if self.pivots[p] == 0.0 {
                x[p] = 0.0;
            }
            for &(i, l) in &self.columns[p] {
                x[i as usize] -= l * x[p];
            }
        }
        for p in (0..x.len()).rev() {
            if self.pivots[p] == 0.0 {
                continue;
            }
            let below: f64 = self.columns[p].iter().map(|&(i, l)| l * x[i as usize]).sum();
            x[p] = x[p] / self.pivots[p] - below;
        }
        for (&i, &x) in order.iter().zip(&*x) {
            b[i as usize] = x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G Gᵀ for a chain of n rows over n + 1 unknowns, with row 0 repeated at the end.
    fn chain(n: usize) -> (Csr, Vec<f64>) {
        let mut g = vec![vec![0.0; n + 1]; n + 1];
        for i in 0..n {
            g[i][i] = 1.0;
            g[i][i + 1] = -1.0;
        }
        g[n] = g[0].clone();
        let mut dense = vec![0.0; (n + 1) * (n + 1)];
        for i in 0..=n {
            for j in 0..=n {
                dense[i * (n + 1) + j] = (0..=n).map(|p| g[i][p] * g[j][p]).sum();
            }
        }
        let x: Vec<f64> = (0..=n).map(|i| (i as f64).sin()).collect();
        (Csr::from_dense(n + 1, n + 1, &dense), x)
    }

    #[test]
    fn a_repeated_row_is_found_and_the_rest_is_solved() {
        for n in [1, 2, 7, 60] {
            let (a, x) = chain(n);
            let mut factor = Semidefinite::factor(&a);
            let dependent = factor.dependent();
            assert_eq!(dependent.len(), 1);
            assert!(dependent[0] == 0 || dependent[0] == n, "{dependent:?}");
            let mut b = vec![0.0; n + 1];
            a.mul(&x, &mut b);
            let want = b.clone();
            factor.solve(&mut b);
            let mut got = vec![0.0; n + 1];
            a.mul(&b, &mut got);
            // The chain's condition grows as n²: 60² units of rounding.
            assert!(got.iter().zip(&want).all(|(g, w)| (g - w).abs() < 1e-12), "n = {n}");
        }
    }

    #[test]
    fn zero_and_nan_matrices_leave_everything_out() {
        assert_eq!(
            Semidefinite::factor(&Csr::diagonal(&[0.0, 2.0, f64::NAN])).dependent(),
            vec![0, 2]
        );
        assert_eq!(Semidefinite::factor(&Csr::empty(0, 0)).dependent(), Vec::<usize>::new());
    }
}
