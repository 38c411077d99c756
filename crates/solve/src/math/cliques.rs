//! The cliques of a symmetric matrix, and its factorization clique by clique.
//!
//! A clique is a set of unknowns that `H` couples: one rigid body (6), two bodies and the spring
//! between them (12), a mesh (thousands). `H` is block diagonal over its cliques, so that each is
//! factored alone: small ones as dense `L Lᵀ`, large ones as sparse `L D Lᵀ`.

use super::dense;
use super::ldlt::{Ldlt, Ordering};
use super::sparse::Csr;

/// Cliques up to this size are factored as dense matrices.
const MAX_DENSE_UNKNOWNS: usize = 48;

/// Which unknowns belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cliques {
    /// Clique of each unknown (n).
    pub of: Vec<u32>,
    /// Position of each unknown within its clique (n).
    pub place: Vec<u32>,
    /// Clique c holds `members[starts[c]..starts[c + 1]]`, ascending.
    pub starts: Vec<usize>,
    /// The unknowns, clique by clique (n).
    pub members: Vec<u32>,
}

impl Cliques {
    /// The connected components of the pattern of `h`, numbered by their first unknown.
    pub fn of_matrix(h: &Csr) -> Cliques {
        let mut out = Cliques::default();
        out.set(h);
        out
    }

    /// As [`Cliques::of_matrix`], into the memory of `self`.
    pub fn set(&mut self, h: &Csr) {
        const NONE: u32 = u32::MAX;
        let n = h.rows;
        self.of.clear();
        self.of.resize(n, NONE);
        self.place.resize(n, 0);
        self.starts.clear();
        self.members.clear();
        for first in 0..n {
            if self.of[first] != NONE {
                continue;
            }
            let clique = self.starts.len() as u32;
            let start = self.members.len();
            self.starts.push(start);
            self.of[first] = clique;
            self.members.push(first as u32);
            let mut next = start;
            while next < self.members.len() {
                for &j in h.row(self.members[next] as usize).0 {
                    if self.of[j as usize] == NONE {
                        self.of[j as usize] = clique;
                        self.members.push(j);
                    }
                }
                next += 1;
            }
            self.members[start..].sort_unstable();
            for (p, &i) in self.members[start..].iter().enumerate() {
                self.place[i as usize] = p as u32;
            }
        }
        self.starts.push(n);
    }

    /// Number of cliques.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// True without unknowns.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The unknowns of clique `c`.
    #[inline]
    pub fn members(&self, c: usize) -> &[u32] {
        &self.members[self.starts[c]..self.starts[c + 1]]
    }
}

/// A pivot of H that is not positive: the unknown and the pivot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotPositive {
    /// The unknown (column of H).
    pub unknown: usize,
    /// The pivot found there.
    pub pivot: f64,
}

/// `H = blockdiag(L_c L_cᵀ)`.
#[derive(Default)]
pub struct CliqueFactor {
    /// Who belongs together.
    pub cliques: Cliques,
    /// Factors of the small cliques, one after another; clique c at `dense_at[c]`.
    dense: Vec<f64>,
    dense_at: Vec<usize>,
    /// Factors of the large cliques, by clique.
    sparse: Vec<(usize, Ldlt)>,
    local: Vec<f64>,
}

impl CliqueFactor {
    /// Factors `h`, reusing memory (and the analysis of a large clique, if its pattern is the
    /// same).
    pub fn factor(&mut self, h: &Csr) -> Result<(), NotPositive> {
        self.cliques.set(h);
        self.dense.clear();
        self.dense_at.clear();
        let mut known = std::mem::take(&mut self.sparse).into_iter().map(|(_, ldlt)| ldlt);
        for c in 0..self.cliques.len() {
            self.dense_at.push(self.dense.len());
            let members = self.cliques.members(c);
            if members.len() > MAX_DENSE_UNKNOWNS {
                // Large cliques keep their order from one matrix to the next.
                let ldlt = sparse_clique(h, &self.cliques, c, known.next())?;
                self.sparse.push((c, ldlt));
                continue;
            }
            let n = members.len();
            let at = self.dense.len();
            self.dense.resize(at + n * n, 0.0);
            for (p, &i) in members.iter().enumerate() {
                let (columns, values) = h.row(i as usize);
                for (&j, &x) in columns.iter().zip(values) {
                    self.dense[at + p * n + self.cliques.place[j as usize] as usize] = x;
                }
            }
            dense::cholesky(n, &mut self.dense[at..])
                .map_err(|(p, pivot)| NotPositive { unknown: members[p] as usize, pivot })?;
        }
        Ok(())
    }

    /// `x ← H⁻¹ x`.
    pub fn solve(&mut self, x: &mut [f64]) {
        for c in 0..self.cliques.len() {
            // A sphere is six cliques of one unknown.
            if let &[i] = self.cliques.members(c) {
                let l = self.dense[self.dense_at[c]];
                x[i as usize] = x[i as usize] / l / l;
                continue;
            }
            let mut local = std::mem::take(&mut self.local);
            local.clear();
            local.extend(self.cliques.members(c).iter().map(|&i| x[i as usize]));
            self.solve_clique(c, &mut local);
            for (&i, &y) in self.cliques.members(c).iter().zip(&local) {
                x[i as usize] = y;
            }
            self.local = local;
        }
    }

    /// `x ← H_c⁻¹ x` for the unknowns of clique `c` alone, in the order of its members; x may hold
    /// several columns.
    pub fn solve_clique(&mut self, c: usize, x: &mut [f64]) {
        let n = self.cliques.members(c).len();
        if n > MAX_DENSE_UNKNOWNS {
            let at =
                self.sparse.binary_search_by_key(&c, |s| s.0).expect("large cliques are factored");
            self.sparse[at].1.solve(x);
        } else {
            let at = self.dense_at[c];
            x.chunks_exact_mut(n)
                .for_each(|x| dense::cholesky_solve(n, &self.dense[at..at + n * n], x));
        }
    }

    /// The dense factor of clique `c` (row by row, lower), if it is a small one.
    pub fn dense(&self, c: usize) -> Option<&[f64]> {
        let n = self.cliques.members(c).len();
        (n <= MAX_DENSE_UNKNOWNS).then(|| &self.dense[self.dense_at[c]..self.dense_at[c] + n * n])
    }
}

/// The lower triangle of clique `c` of `h`, by the places of its members.
pub fn lower_triangle(h: &Csr, cliques: &Cliques, c: usize) -> Csr {
    let members = cliques.members(c);
    let mut lower = Csr::empty(members.len(), members.len());
    for (p, &i) in members.iter().enumerate() {
        let (columns, values) = h.row(i as usize);
        for (&j, &x) in columns.iter().zip(values) {
            let q = cliques.place[j as usize] as usize;
            if q <= p {
                lower.columns.push(q as u32);
                lower.values.push(x);
            }
        }
        lower.starts[p + 1] = lower.columns.len();
    }
    lower
}

/// The sparse factor of one large clique; `known` is a factor whose analysis may serve.
fn sparse_clique(
    h: &Csr,
    cliques: &Cliques,
    c: usize,
    known: Option<Ldlt>,
) -> Result<Ldlt, NotPositive> {
    let members = cliques.members(c);
    let lower = lower_triangle(h, cliques, c);
    let mut ldlt = known
        .filter(|ldlt| ldlt.matches(&lower))
        .unwrap_or_else(|| Ldlt::analyse(&lower, Ordering::Amd));
    ldlt.factor(&lower.values, &vec![1; members.len()]).map_err(|bad| NotPositive {
        unknown: members[bad.unknown.min(members.len() - 1)] as usize,
        pivot: bad.pivot,
    })?;
    Ok(ldlt)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of n unit masses with springs (tridiagonal 3, −1) behind one free mass.
    fn chain(n: usize) -> Csr {
        let mut t = vec![(0, 0, 2.0)];
        for i in 1..=n as u32 {
            t.push((i, i, 3.0));
            if i > 1 {
                t.push((i, i - 1, -1.0));
                t.push((i - 1, i, -1.0));
            }
        }
        Csr::from_triplets(n + 1, n + 1, &t)
    }

    #[test]
    fn small_and_large_cliques_solve_what_they_factored() {
        for n in [1, 5, 400] {
            let h = chain(n);
            let mut factor = CliqueFactor::default();
            factor.factor(&h).unwrap();
            assert_eq!(factor.cliques.len(), 2);
            let x: Vec<f64> = (0..=n).map(|i| (i as f64).sin()).collect();
            let mut b = vec![0.0; n + 1];
            h.mul(&x, &mut b);
            factor.solve(&mut b);
            for (got, want) in b.iter().zip(&x) {
                assert!((got - want).abs() < 1e-14, "n = {n}");
            }
        }
    }

    #[test]
    fn an_indefinite_matrix_is_named_by_its_unknown() {
        let mut h = chain(3);
        h.values[0] = -2.0;
        let mut factor = CliqueFactor::default();
        assert_eq!(factor.factor(&h).unwrap_err().unknown, 0);
        let mut big = chain(100);
        let last = big.values.len() - 1;
        big.values[last] = -1.0;
        assert!(factor.factor(&big).is_err());
    }
}
