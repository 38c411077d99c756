//! The form with velocities: for meshes, and for bodies with many contacts each. W is never formed.
//!
//! ```text
//!   sweeps:  u_k = J_k v + E_k y_k + w_k,   v ← v + X_kᵀ Δy_k,   X_k = J_k H⁻¹
//!   Newton:  [ H    −Jᵀ              ] [dv]   [  0 ]
//!            [ A J   A (E + eps) + B ] [dy] = [ −F ]
//! ```
//!
//! Bodies solve the system of Newton with the reactions eliminated ([`super::eliminated`]); meshes,
//! and eps = 0, as it stands.
//!
//! Only velocities that some row touches are followed (the interface): the inside of a mesh comes
//! back when the answer is written. The sparse matrix has one pattern for all steps.

use super::eliminated::Eliminated;
use super::form::{Blocks, Form, LOCAL_OPERATIONS, Point, Prox, block_times};
use super::piece::{Branch, Piece};
use super::quick::Quick;
use crate::math::cliques::CliqueFactor;
use crate::math::lu::SparseLu;
use crate::math::sparse::{Csr, Sums, multiply};
use crate::problem::law::MAX_ROWS;
use crate::problem::{Problem, Rows};

/// Cliques up to this size are bodies; larger ones are meshes, for which W is never formed.
const MAX_DENSE_ROWS: usize = 48;

#[derive(Default)]
#[allow(non_snake_case)]
pub(super) struct Mixed {
    pub blocks: Blocks,
    /// Scaled rows over the interface, and `J H⁻¹` over it.
    J: Rows,
    X: Rows,
    E: Vec<f64>,
    w: Vec<f64>,
    /// Velocities of the interface without reactions.
    free: Vec<f64>,
    /// Diagonal blocks of W, d × d each, at 9 k.
    diagonal: Vec<f64>,
    /// The local solves, prepared for `W + quick_eps I`.
    quick: Vec<Quick>,
    quick_eps: f64,
    /// Unknown of each interface velocity.
    interface: Vec<u32>,
    /// Most unknowns of a clique that a row touches, and the entries that W would have at most.
    largest: usize,
    pairs: usize,
    /// Newton's matrix by rows, its velocities divided by `√H_ii`.
    H: Csr,
    scale: Vec<f64>,
    starts: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f64>,
    lu: Option<SparseLu>,
    right: Vec<f64>,
    /// While a problem is set: place of each unknown in the interface, velocities, `q`, rows that
    /// touch each clique.
    place: Vec<u32>,
    v: Vec<f64>,
    q: Vec<f64>,
    count: Vec<usize>,
    response: Response,
    product: Product,
    /// Newton's step by the velocities: for bodies; whether the factor at hand is that one.
    eliminated: Eliminated,
    of_bodies: bool,
}

/// What W is made of, and W.
#[derive(Default)]
#[allow(non_snake_case)]
struct Product {
    J: Csr,
    X: Csr,
    transposed: Csr,
    sums: Sums,
    W: Csr,
    root: Vec<f64>,
}

impl Mixed {
    /// Takes a problem whose H is factored; `self.blocks` is set already.
    pub fn set(&mut self, problem: &Problem, factor: &mut CliqueFactor) {
        self.set_interface(problem);
        self.set_rows(problem, factor);
        self.v.clone_from(&problem.k);
        factor.solve(&mut self.v);
        self.free.clear();
        self.free.extend(self.interface.iter().map(|&i| self.v[i as usize]));
        self.q.resize(self.w.len(), 0.0);
        self.J.mul(&self.free, &mut self.q);
        self.q.iter_mut().zip(&self.w).for_each(|(q, w)| *q += w);
        self.blocks.set_order(&self.q);
        self.H.clone_from(&problem.H);
        self.quick.clear();
        self.quick.resize(self.blocks.len(), Quick::default());
        self.quick_eps = f64::NAN;
        self.starts.clear();
        self.eliminated.clear();
    }

    fn set_interface(&mut self, problem: &Problem) {
        let (interface, place) = (&mut self.interface, &mut self.place);
        place.clear();
        place.resize(problem.n(), u32::MAX);
        problem.J.columns.iter().for_each(|&j| place[j as usize] = 0);
        interface.clear();
        interface.extend((0..problem.n() as u32).filter(|&i| place[i as usize] == 0));
        interface.iter().enumerate().for_each(|(p, &i)| place[i as usize] = p as u32);
    }

    /// J, X, E, w and the diagonal blocks, scaled.
    fn set_rows(&mut self, problem: &Problem, factor: &mut CliqueFactor) {
        let Mixed { place, response: work, count: rows, .. } = self;
        self.J.clear(self.interface.len());
        self.X.clear(self.interface.len());
        self.E.clear();
        self.w.clear();
        self.diagonal.clear();
        self.diagonal.resize(9 * self.blocks.len(), 0.0);
        rows.clear();
        rows.resize(factor.cliques.len(), 0);
        for (k, block) in problem.J.blocks().enumerate() {
            let s = 1.0 / self.blocks.root[k];
            self.J.push(block.rows, block.columns, block.values);
            let scaled = self.J.last_mut();
            scaled.0.iter_mut().for_each(|j| *j = place[*j as usize]);
            scaled.1.iter_mut().for_each(|x| *x *= s);
            let (columns, values) = (&*scaled.0, &*scaled.1);
            work.set(&block, factor, place, s);
            self.X.push(block.rows, &work.columns, &work.values);
            work.touched.iter().for_each(|&c| rows[c as usize] += block.rows);
            let width = work.columns.len();
            for i in 0..block.rows {
                self.E.push(problem.E[block.first + i] * s * s);
                self.w.push(problem.w[block.first + i] * s);
                for j in 0..block.rows {
                    let x = &work.values[j * width..(j + 1) * width];
                    let mut sum = if i == j { problem.E[block.first + i] * s * s } else { 0.0 };
                    for (c, a) in columns.iter().zip(&values[i * columns.len()..]) {
                        sum += a * work.columns.binary_search(c).map_or(0.0, |p| x[p]);
                    }
                    self.diagonal[9 * k + i * block.rows + j] = sum;
                }
            }
        }
        self.pairs = rows.iter().map(|r| r * r).sum();
        let touched = |c: usize| rows[c] > 0;
        self.largest = (0..rows.len())
            .filter(|&c| touched(c))
            .map(|c| factor.cliques.members(c).len())
            .max()
            .unwrap_or(0);
    }

    /// `W = J Xᵀ + E` and `q`, scaled back: for bodies with few contacts each.
    pub fn delassus(&mut self) -> (&Csr, &[f64]) {
        let Product { J, X, transposed, sums, W, root } = &mut self.product;
        self.J.csr_into(J);
        self.X.csr_into(X);
        X.transpose_into(transposed);
        multiply(J, transposed, &self.E, sums, W);
        root.clear();
        root.resize(self.q.len(), 1.0);
        for k in 0..self.blocks.len() {
            root[self.blocks.range(k)].fill(self.blocks.root[k]);
        }
        for i in 0..W.rows {
            self.q[i] *= root[i];
            for at in W.starts[i]..W.starts[i + 1] {
                W.values[at] *= root[i] * root[W.columns[at] as usize];
            }
        }
        (W, &self.q)
    }

    /// Hands the system of the velocities over.
    pub fn eliminate(&self, to: &mut Eliminated) {
        to.set(&self.H, &self.J, &self.interface, &self.E);
    }

    /// The system of the velocities; false where there are not bodies alone.
    fn set_bodies(&mut self) -> bool {
        if self.largest > MAX_DENSE_ROWS {
            return false;
        }
        if !self.eliminated.usable() {
            self.eliminated.set(&self.H, &self.J, &self.interface, &self.E);
        }
        true
    }

    /// Newton's step by the velocities, where there are bodies alone.
    fn direction_of_bodies(&mut self, pieces: &[Piece], eps: f64, dy: &mut [f64]) -> bool {
        if !self.set_bodies() {
            return false;
        }
        let Mixed { eliminated, blocks, J, X, E, interface, v, .. } = self;
        let times_w = |x: &[f64], u: &mut [f64]| {
            v.clear();
            v.resize(interface.len(), 0.0);
            times((J, X, E), x, v, u);
        };
        eliminated.direction(blocks, (pieces, eps), times_w, dy)
    }

    /// Prepares the local solves of `W + eps I`.
    fn prepare(&mut self, eps: f64) {
        if self.quick_eps != eps {
            self.quick_eps = eps;
            for (k, (quick, law)) in self.quick.iter_mut().zip(&self.blocks.laws).enumerate() {
                quick.set(law, &self.diagonal[9 * k..9 * k + 9], eps);
            }
        }
    }

    /// True if W is the better form: every clique is small, and W has not many more entries than J
    /// and X.
    pub fn prefers_delassus(&self) -> bool {
        self.largest <= MAX_DENSE_ROWS
            && self.pairs <= 8 * (self.J.values.len() + self.X.values.len())
    }

    /// The pattern of Newton's matrix, with the values of the momentum rows in place.
    fn analyse(&mut self) {
        let (n, m) = (self.H.rows, self.blocks.rows());
        self.scale.clear();
        self.scale.extend((0..n).map(|i| 1.0 / self.H.get(i, i).sqrt()));
        let Product { J, transposed, .. } = &mut self.product;
        self.J.csr_into(J);
        J.transpose_into(transposed);
        self.starts.clear();
        self.columns.clear();
        self.values.clear();
        self.starts.push(0);
        for i in 0..n {
            let (columns, values) = self.H.row(i);
            self.columns.extend_from_slice(columns);
            self.values.extend(
                columns
                    .iter()
                    .zip(values)
                    .map(|(&j, x)| x * self.scale[i] * self.scale[j as usize]),
            );
            let (rows, values) = match self.place[i] {
                u32::MAX => (&[][..], &[][..]),
                p => transposed.row(p as usize),
            };
            self.columns.extend(rows.iter().map(|&row| n as u32 + row));
            self.values.extend(values.iter().map(|x| -x * self.scale[i]));
            self.starts.push(self.columns.len() as u32);
        }
        for block in self.J.blocks() {
            for _ in 0..block.rows {
                self.columns.extend(block.columns.iter().map(|&c| self.interface[c as usize]));
                self.columns.extend(block.range().map(|j| (n + j) as u32));
                self.starts.push(self.columns.len() as u32);
            }
        }
        self.values.resize(self.columns.len(), 0.0);
        if !self.lu.as_ref().is_some_and(|lu| lu.matches(n + m, &self.starts, &self.columns)) {
            self.lu = Some(SparseLu::analyse(n + m, &self.starts, &self.columns));
        }
    }

    /// The rows `A J dv + (A (E + eps) + B) dy = −F` of block k.
    fn set_newton_rows(&mut self, k: usize, piece: &Piece, eps: f64) {
        let (block, n) = (self.J.block(k), self.H.rows);
        let (d, width) = (block.rows, block.columns.len());
        for i in 0..d {
            let at = self.starts[n + block.first + i] as usize;
            for (c, &p) in block.columns.iter().enumerate() {
                let mut x = 0.0;
                if piece.branch != Branch::Open {
                    x = (0..d)
                        .map(|row| piece.a[i * d + row] * block.values[row * width + c])
                        .sum();
                }
                self.values[at + c] = x * self.scale[self.interface[p as usize] as usize];
            }
            for j in 0..d {
                self.values[at + width + j] =
                    piece.a[i * d + j] * (self.E[block.first + j] + eps) + piece.b[i * d + j];
            }
            self.right[n + block.first + i] = -piece.f[i];
        }
    }
}

impl Form for Mixed {
    fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    fn velocities(&mut self, point: &mut Point) {
        point.v.clear();
        point.v.extend_from_slice(&self.free);
        self.X.add_transposed(&point.y, &mut point.v);
        for block in self.J.blocks() {
            let mut out = [0.0; MAX_ROWS];
            block_times(&block, &point.v, &mut out);
            for (i, row) in block.range().enumerate() {
                point.u[row] = out[i] + self.E[row] * point.y[row] + self.w[row];
            }
        }
        point.residual = self.blocks.natural_squared(&point.y, &point.u).sqrt();
    }

    fn step_in_sweeps(&mut self) -> f64 {
        if !self.set_bodies() {
            return f64::INFINITY;
        }
        let numbers = self.J.values.len() + self.X.values.len();
        self.eliminated.operations() / (numbers + LOCAL_OPERATIONS * self.blocks.len()) as f64
    }

    fn sweep(&mut self, point: &mut Point, prox: Option<Prox<'_>>) {
        self.prepare(prox.map_or(0.0, |p| p.eps));
        for k in self.blocks.order.iter().map(|&k| k as usize) {
            let law = &self.blocks.laws[k];
            let (block, mut q, mut before) = (self.J.block(k), [0.0; MAX_ROWS], [0.0; MAX_ROWS]);
            let (d, w) = (block.rows, &self.diagonal[9 * k..9 * k + 9]);
            block_times(&block, &point.v, &mut q);
            let y = &mut point.y[block.range()];
            before[..d].copy_from_slice(y);
            for i in 0..d {
                let row = block.first + i;
                q[i] += self.w[row] + self.E[row] * y[i]
                    - (0..d).map(|j| w[i * d + j] * y[j]).sum::<f64>();
            }
            if let Some(prox) = prox {
                q.iter_mut().zip(&prox.centre[block.range()]).for_each(|(q, c)| *q -= prox.eps * c);
            }
            self.quick[k].solve(law, &q[..d], y);
            for i in 0..d {
                before[i] = y[i] - before[i];
            }
            self.X.block(k).add_transposed(&before[..d], &mut point.v);
        }
    }

    fn direction(&mut self, pieces: &[Piece], eps: f64, dy: &mut [f64]) -> bool {
        self.of_bodies = self.direction_of_bodies(pieces, eps, dy);
        if self.of_bodies {
            return true;
        }
        if self.starts.is_empty() {
            self.analyse();
        }
        let n = self.H.rows;
        self.right.clear();
        self.right.resize(n + dy.len(), 0.0);
        for (k, piece) in pieces.iter().enumerate() {
            self.set_newton_rows(k, piece, eps);
        }
        let Some(lu) = self.lu.as_mut() else { return false };
        if lu.factor(&self.values).is_err() {
            return false;
        }
        lu.solve(&mut self.right);
        dy.copy_from_slice(&self.right[n..]);
        dy.iter().all(|x| x.is_finite())
    }

    fn again(&mut self, _: &[Piece], g: &[f64], x: &mut [f64]) {
        if self.of_bodies {
            x.fill(0.0);
            return self.eliminated.correct(&self.blocks, g, x);
        }
        let n = self.H.rows;
        self.right.clear();
        self.right.resize(n, 0.0);
        self.right.extend_from_slice(g);
        if let Some(lu) = self.lu.as_mut() {
            lu.solve(&mut self.right);
        }
        x.copy_from_slice(&self.right[n..]);
    }

    fn times(&mut self, x: &[f64], u: &mut [f64]) {
        self.v.clear();
        self.v.resize(self.interface.len(), 0.0);
        times((&self.J, &self.X, &self.E), x, &mut self.v, u);
    }

    fn times_at(&mut self, _: &[u32], x: &[f64], u: &mut [f64]) {
        self.times(x, u);
    }
}

/// `u ← W x = J Xᵀ x + E x`; v is room for velocities, zero.
fn times(
    (j, transposed, compliance): (&Rows, &Rows, &[f64]),
    x: &[f64],
    v: &mut [f64],
    u: &mut [f64],
) {
    transposed.add_transposed(x, v);
    j.mul(v, u);
    u.iter_mut().zip(compliance).zip(x).for_each(|((u, e), x)| *u += e * x);
}

/// `J_k H⁻¹` of one block over the interface.
#[derive(Default)]
struct Response {
    columns: Vec<u32>,
    values: Vec<f64>,
    touched: Vec<u32>,
    local: Vec<f64>,
}

impl Response {
    fn set(
        &mut self,
        block: &crate::problem::RowBlock<'_>,
        factor: &mut CliqueFactor,
        place: &[u32],
        s: f64,
    ) {
        self.touched.clear();
        self.touched.extend(block.columns.iter().map(|&j| factor.cliques.of[j as usize]));
        self.touched.sort_unstable();
        self.touched.dedup();
        self.columns.clear();
        for &c in &self.touched {
            self.columns.extend(
                factor
                    .cliques
                    .members(c as usize)
                    .iter()
                    .map(|&i| place[i as usize])
                    .filter(|&p| p != u32::MAX),
            );
        }
        self.columns.sort_unstable();
        self.values.clear();
        self.values.resize(block.rows * self.columns.len(), 0.0);
        for i in 0..block.rows {
            for &c in &self.touched {
                let size = factor.cliques.members(c as usize).len();
                self.local.clear();
                self.local.resize(size, 0.0);
                for (&j, &x) in block.columns.iter().zip(block.row(i)) {
                    if factor.cliques.of[j as usize] == c {
                        self.local[factor.cliques.place[j as usize] as usize] = s * x;
                    }
                }
                factor.solve_clique(c as usize, &mut self.local);
                for (&member, &x) in factor.cliques.members(c as usize).iter().zip(&self.local) {
                    if place[member as usize] != u32::MAX {
                        let p = self
                            .columns
                            .binary_search(&place[member as usize])
                            .expect("the interface of the clique is listed");
                        self.values[i * self.columns.len() + p] = x;
                    }
                }
            }
        }
    }
}
