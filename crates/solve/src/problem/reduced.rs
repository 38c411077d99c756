//! The same problem with the velocities eliminated: `u = W r + q`.
//!
//! ```text
//!   W = J H⁻¹ Jᵀ + E  (m × m)      q = J H⁻¹ k + w  (m)
//! ```
//!
//! Most published collections are stored so; their W is what it is: rank-deficient, slightly
//! non-symmetric, or indefinite from rounding. It is kept and judged as given.

use super::law::Law;
use super::{Invalid, Problem, check_csr, check_laws, finite, row_name, size};
use crate::math::cliques::CliqueFactor;
use crate::math::sparse::{Csr, Sums};
use serde::{Deserialize, Serialize};

/// Find r with `u = W r + q` and `(u_k, r_k) ∈ Law_k`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(non_snake_case)]
pub struct Reduced {
    /// What the problem is called in tables and messages.
    pub name: String,
    /// Delassus matrix (m × m), as given; (m/s)/(N s).
    pub W: Csr,
    /// Local velocities without reactions (m), m/s.
    pub q: Vec<f64>,
    /// The law of each block.
    pub laws: Vec<Law>,
    /// Block k holds the rows `row_starts[k]..row_starts[k + 1]` (blocks + 1).
    pub row_starts: Vec<usize>,
    /// A name for each block, or none at all.
    pub names: Vec<String>,
}

impl Reduced {
    /// The problem `u = W r + q` with these laws, checked.
    #[allow(non_snake_case)]
    pub fn new(name: String, W: Csr, q: Vec<f64>, laws: Vec<Law>) -> Result<Reduced, Invalid> {
        let mut row_starts = vec![0];
        for law in &laws {
            row_starts.push(row_starts[row_starts.len() - 1] + law.rows());
        }
        let reduced = Reduced { name, W, q, laws, row_starts, names: Vec::new() };
        reduced.check()?;
        Ok(reduced)
    }

    /// The reduced view of a problem: forms W, at the price of one solve with H per row.
    pub fn of(problem: &Problem) -> Result<Reduced, Invalid> {
        let mut factor = CliqueFactor::default();
        factor
            .factor(&problem.H)
            .map_err(|bad| Invalid::Indefinite { unknown: bad.unknown, pivot: bad.pivot })?;
        let mut out = Reduced::default();
        Reducer::default().reduce(problem, &mut factor, &mut out);
        Ok(out)
    }

    /// Number of rows m.
    pub fn rows(&self) -> usize {
        self.q.len()
    }

    /// The rows of block `k`.
    #[inline]
    pub fn range(&self, k: usize) -> std::ops::Range<usize> {
        self.row_starts[k]..self.row_starts[k + 1]
    }

    /// The name of block `k`, made up if it has none.
    pub fn block_name(&self, k: usize) -> String {
        super::block_name(&self.laws, &self.names, k)
    }

    /// The name of row `row`.
    pub fn row_name(&self, row: usize) -> String {
        row_name(&self.laws, &self.row_starts, &self.names, row)
    }

    /// `u ← W r + q`.
    pub fn local_velocities(&self, r: &[f64], u: &mut [f64]) {
        self.W.mul(r, u);
        for (u, q) in u.iter_mut().zip(&self.q) {
            *u += q;
        }
    }

    /// Looks at everything and names the first culprit.
    pub fn check(&self) -> Result<(), Invalid> {
        let m = self.rows();
        if m == 0 {
            return Err(Invalid::NoRows);
        }
        size("rows of W", self.W.rows, m)?;
        size("columns of W", self.W.cols, m)?;
        check_laws(&self.laws, &self.names, &self.row_starts)?;
        size("rows of all laws", *self.row_starts.last().unwrap_or(&0), m)?;
        check_csr("W", &self.W)?;
        finite("W", &self.W.values)?;
        finite("q", &self.q)
    }

    /// The largest difference between W and Wᵀ relative to the largest entry: 0 for a symmetric W.
    pub fn asymmetry(&self) -> f64 {
        let transposed = self.W.transposed();
        let largest = self.W.values.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let mut worst = 0.0f64;
        for i in 0..self.W.rows {
            for matrix in [&self.W, &transposed] {
                let (columns, _) = matrix.row(i);
                for &j in columns {
                    worst = worst
                        .max((self.W.get(i, j as usize) - transposed.get(i, j as usize)).abs());
                }
            }
        }
        if largest > 0.0 { worst / largest } else { 0.0 }
    }

    /// The same problem with its friction blocks under the convex law.
    pub fn associated(mut self) -> Reduced {
        self.laws.iter_mut().for_each(|law| *law = law.associated());
        self
    }

    /// The same problem with its friction blocks under the true Coulomb law.
    pub fn true_friction(mut self) -> Reduced {
        self.laws.iter_mut().for_each(|law| *law = law.true_friction());
        self
    }
}

/// Forms reduced views; keeps its memory.
#[derive(Default)]
pub struct Reducer {
    rows: Csr,
    transposed: Csr,
    sums: Sums,
    /// Velocities without reactions, then one row of J.
    v: Vec<f64>,
    touched: Vec<u32>,
    local: Vec<f64>,
}

impl Reducer {
    /// `out ←` the reduced view of `problem`, whose H is factored.
    pub fn reduce(&mut self, problem: &Problem, factor: &mut CliqueFactor, out: &mut Reduced) {
        let (m, Reducer { rows, transposed, sums, v, touched, local }) = (problem.rows(), self);
        out.name.clone_from(&problem.name);
        out.names.clone_from(&problem.names);
        out.laws.clone_from(&problem.laws);
        out.row_starts.clone_from(&problem.J.row_starts);
        v.clone_from(&problem.k);
        factor.solve(v);
        out.q.clear();
        out.q.resize(m, 0.0);
        problem.J.mul(v, &mut out.q);
        out.q.iter_mut().zip(&problem.w).for_each(|(q, w)| *q += w);
        problem.J.csr_into(rows);
        rows.transpose_into(transposed);
        out.W.clear(m, m);
        sums.reset(m);
        v.fill(0.0);
        for block in problem.J.blocks() {
            touched.clear();
            touched.extend(block.columns.iter().map(|&j| factor.cliques.of[j as usize]));
            touched.sort_unstable();
            touched.dedup();
            for i in 0..block.rows {
                // H⁻¹ (row)ᵀ over the cliques that the row touches.
                block.columns.iter().zip(block.row(i)).for_each(|(&j, &a)| v[j as usize] = a);
                for &c in &*touched {
                    local.clear();
                    local.extend(
                        factor
                            .cliques
                            .members(c as usize)
                            .iter()
                            .map(|&j| std::mem::take(&mut v[j as usize])),
                    );
                    factor.solve_clique(c as usize, local);
                    for (&j, &y) in factor.cliques.members(c as usize).iter().zip(&*local) {
                        let (columns, values) = transposed.row(j as usize);
                        columns.iter().zip(values).for_each(|(&p, &a)| sums.add(p, a * y));
                    }
                }
                let at = block.first + i;
                if problem.E[at] != 0.0 {
                    sums.add(at as u32, problem.E[at]);
                }
                sums.end_row(at, &mut out.W);
            }
        }
    }
}
