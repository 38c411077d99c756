//! The form `u = W y + q`: for reduced problems, and for bodies with few contacts each.
//!
//! The rows of W are kept block by block, as given (never symmetrised). Newton's matrix
//! `A (W + eps I) + B` is factored over the blocks that are not open: as a dense matrix while it is
//! small; when it is large by blocks, or over the bodies ([`super::eliminated`]) where that takes
//! fewer operations. The order of elimination is found for the pattern of all blocks, so that one
//! analysis serves all steps, and the next problem too while its candidate contacts are the same.

use super::block_matrix::BlockMatrix;
use super::eliminated::Eliminated;
use super::form::{Blocks, Form, LOCAL_OPERATIONS, Point, Prox};
use super::piece::{Branch, Piece};
use super::quick::Quick;
use crate::math::block_lu::BlockLu;
use crate::math::lu::DenseLu;
use crate::math::sparse::Csr;
use crate::problem::law::MAX_ROWS;

/// Newton systems up to this many rows are factored as dense matrices.
pub(super) const MAX_DENSE_ROWS: usize = 120;

#[derive(Default)]
#[allow(non_snake_case)]
pub(super) struct Delassus {
    pub blocks: Blocks,
    W: BlockMatrix,
    /// Diagonal blocks, d × d each, at 9 k.
    diagonal: Vec<f64>,
    /// The local solves, prepared for `W + quick_eps I`.
    quick: Vec<Quick>,
    quick_eps: f64,
    q: Vec<f64>,
    /// `1/√a_k` of each row's block.
    scale: Vec<f64>,
    /// Rows of the largest block, and the block of each row.
    d: usize,
    block_of: Vec<u32>,
    dense: DenseLu,
    blocked: BlockLu,
    /// Whether `blocked` knows the pattern.
    analysed: bool,
    /// Newton's step by the velocities, where they are known, and whether that is the cheaper way
    /// (once it was found out).
    pub eliminated: Eliminated,
    by_velocities: Option<bool>,
    /// Whether the factor at hand is that one, and the rows that are not open.
    through_velocities: bool,
    rows: usize,
    /// Place of each row among the rows that are not open.
    place: Vec<u32>,
    right: Vec<f64>,
    packed: Vec<f64>,
}

impl Delassus {
    /// Takes `W` and `q`, not yet scaled; `self.blocks` is set already.
    #[allow(non_snake_case)]
    pub fn set(&mut self, W: &Csr, q: &[f64]) {
        self.analysed = false;
        self.by_velocities = None;
        let blocks = &self.blocks;
        let scale = &mut self.scale;
        scale.clear();
        scale.resize(q.len(), 1.0);
        self.block_of.clear();
        self.block_of.resize(q.len(), 0);
        self.d = blocks.laws.iter().map(|law| law.rows()).max().unwrap_or(1);
        for k in 0..blocks.len() {
            self.block_of[blocks.range(k)].fill(k as u32);
            scale[blocks.range(k)].fill(1.0 / blocks.root[k]);
        }
        self.q.clear();
        self.q.extend(q.iter().zip(&*scale).map(|(q, s)| q * s));
        self.W.set(W, blocks, &self.block_of, scale);
        self.blocks.set_order(&self.q);
        let blocks = &self.blocks;
        self.diagonal.clear();
        self.diagonal.resize(9 * blocks.len(), 0.0);
        for k in 0..blocks.len() {
            let size = blocks.range(k).len().pow(2);
            if let Some((_, values)) = self.W.row(k).find(|entry| entry.0 == k) {
                self.diagonal[9 * k..9 * k + size].copy_from_slice(&values[..size]);
            }
        }
        self.quick.clear();
        self.quick.resize(blocks.len(), Quick::default());
        self.quick_eps = f64::NAN;
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

    /// The scaled velocities without reactions.
    pub fn free(&self) -> &[f64] {
        &self.q
    }

    /// Factors Newton's matrix over the blocks that are not open: by `dense`, else by blocks.
    fn factor(&mut self, pieces: &[Piece], eps: f64, n: usize) -> bool {
        if n <= MAX_DENSE_ROWS {
            return self.factor_dense(pieces, eps, n);
        }
        self.analyse();
        let (w, blocks, d) = (&self.W, &self.blocks, self.d);
        let mut out = [0.0; MAX_ROWS * MAX_ROWS];
        self.blocked.factor(
            |k| pieces[k].branch != Branch::Open,
            |k, put| {
                let (piece, rows, mut diagonal) = (&pieces[k], blocks.range(k).len(), false);
                for (j, values) in w.row(k) {
                    mix(piece, values, rows, blocks.range(j).len(), d, &mut out);
                    if j == k {
                        own_block(piece, eps, rows, d, &mut out);
                        diagonal = true;
                    }
                    put(j, &out);
                }
                if !diagonal {
                    out.fill(0.0);
                    own_block(piece, eps, rows, d, &mut out);
                    put(k, &out);
                }
            },
        )
    }

    fn analyse(&mut self) {
        if !self.analysed {
            self.blocked.analyse(self.d, &self.W.starts, &self.W.columns);
            self.analysed = true;
        }
    }

    /// Whether the factor over the bodies is cheaper than that over the contacts that are not open.
    fn prefers_velocities(&mut self, pieces: &[Piece]) -> bool {
        if !self.eliminated.usable() {
            return false;
        }
        if self.by_velocities.is_none() {
            self.analyse();
            let contacts = self.blocked.operations(|k| pieces[k].branch != Branch::Open);
            self.by_velocities = Some(self.eliminated.operations() < contacts);
        }
        self.by_velocities == Some(true)
    }

    fn factor_dense(&mut self, pieces: &[Piece], eps: f64, n: usize) -> bool {
        let matrix = self.dense.matrix(n);
        for (k, piece) in
            pieces.iter().enumerate().filter(|(_, piece)| piece.branch != Branch::Open)
        {
            let range = self.blocks.range(k);
            let (d, first) = (range.len(), self.place[range.start] as usize);
            let mut out = [0.0; MAX_ROWS * MAX_ROWS];
            for (j, values) in self.W.row(k) {
                let columns = self.blocks.range(j);
                let place = self.place[columns.start] as usize;
                if place < n {
                    mix(piece, values, d, columns.len(), MAX_ROWS, &mut out);
                    for c in 0..columns.len() {
                        for i in 0..d {
                            matrix[(place + c) * n + first + i] = out[i * MAX_ROWS + c];
                        }
                    }
                }
            }
            for i in 0..d {
                for j in 0..d {
                    matrix[(first + j) * n + first + i] +=
                        eps * piece.a[i * d + j] + piece.b[i * d + j];
                }
            }
        }
        n == 0 || self.dense.factor().is_ok()
    }

    /// `−F − (A (W + eps) + B) dy` over the blocks that are not open, and its norm.
    fn residual(&mut self, pieces: &[Piece], eps: f64, dy: &[f64]) -> f64 {
        let mut sum = 0.0;
        self.right.clear();
        self.right.resize(dy.len(), 0.0);
        for (k, piece) in
            pieces.iter().enumerate().filter(|(_, piece)| piece.branch != Branch::Open)
        {
            let (range, mut u) = (self.blocks.range(k), [0.0; MAX_ROWS]);
            let d = range.len();
            self.W.times(k, &self.blocks, dy, &mut u);
            let own = &dy[range.clone()];
            for i in 0..d {
                let mut x = -piece.f[i];
                for j in 0..d {
                    x -= piece.a[i * d + j] * (u[j] + eps * own[j]) + piece.b[i * d + j] * own[j];
                }
                self.right[range.start + i] = x;
                sum += x * x;
            }
        }
        sum.sqrt()
    }

    /// Places of the rows of the blocks that are not open.
    fn set_places(&mut self, pieces: &[Piece]) {
        self.place.clear();
        let mut n = 0;
        for (k, piece) in pieces.iter().enumerate() {
            let open = piece.branch == Branch::Open;
            for _ in self.blocks.range(k) {
                self.place.push(if open { u32::MAX } else { n });
                n += u32::from(!open);
            }
        }
        self.rows = n as usize;
    }

    /// Newton's step by the velocities.
    fn step_by_velocities(&mut self, pieces: &[Piece], eps: f64, dy: &mut [f64]) -> bool {
        let Delassus { eliminated, W, blocks, .. } = self;
        eliminated.direction(blocks, (pieces, eps), |x, u| times(W, blocks, x, u), dy)
    }

    /// The step with the factor at hand.
    fn solve(&mut self, pieces: &[Piece], eps: f64, dy: &mut [f64]) -> bool {
        for (k, piece) in pieces.iter().enumerate() {
            let (range, open) = (self.blocks.range(k), piece.branch == Branch::Open);
            dy[range]
                .iter_mut()
                .zip(&piece.f)
                .for_each(|(dy, f)| *dy = if open { -f } else { 0.0 });
        }
        let first = self.residual(pieces, eps, dy);
        let mut left = first;
        for _ in 0..3 {
            self.correct(self.rows, dy);
            let now = self.residual(pieces, eps, dy);
            let enough = now.is_nan() || now >= 0.5 * left || now <= 1e-12 * first;
            left = now;
            if enough {
                break;
            }
        }
        // Pivots are sought within blocks alone: a matrix that needs more shows itself here.
        left <= 1e-3 * first && dy.iter().all(|x| x.is_finite())
    }

    /// `dy ← dy + (A (W + eps) + B)⁻¹ right` with the factor at hand.
    fn correct(&mut self, n: usize, dy: &mut [f64]) {
        self.packed.clear();
        if n <= MAX_DENSE_ROWS {
            self.packed.extend(
                (0..dy.len()).filter(|&i| (self.place[i] as usize) < n).map(|i| self.right[i]),
            );
            if n > 0 {
                self.dense.solve(&mut self.packed);
            }
            for (dy, &place) in dy.iter_mut().zip(&self.place) {
                if (place as usize) < n {
                    *dy += self.packed[place as usize];
                }
            }
            return;
        }
        self.packed.resize(self.d * self.blocks.len(), 0.0);
        for k in 0..self.blocks.len() {
            let range = self.blocks.range(k);
            self.packed[self.d * k..self.d * k + range.len()].copy_from_slice(&self.right[range]);
        }
        self.blocked.solve(&mut self.packed);
        for k in 0..self.blocks.len() {
            if self.place[self.blocks.starts[k]] != u32::MAX {
                dy[self.blocks.range(k)]
                    .iter_mut()
                    .zip(&self.packed[self.d * k..])
                    .for_each(|(dy, x)| *dy += x);
            }
        }
    }
}

/// `u ← W x`.
fn times(w: &BlockMatrix, blocks: &Blocks, x: &[f64], u: &mut [f64]) {
    for k in 0..blocks.len() {
        let (range, mut out) = (blocks.range(k), [0.0; MAX_ROWS]);
        w.times(k, blocks, x, &mut out);
        u[range.clone()].copy_from_slice(&out[..range.len()]);
    }
}

/// `out ← A W_kj`, rows of length `stride`.
#[inline]
fn mix(piece: &Piece, w: &[f64], rows: usize, columns: usize, stride: usize, out: &mut [f64]) {
    out.fill(0.0);
    for i in 0..rows {
        for p in 0..rows {
            let a = piece.a[i * rows + p];
            for j in 0..columns {
                out[i * stride + j] += a * w[p * columns + j];
            }
        }
    }
}

/// Adds `eps A + B` to a diagonal block, and ones where the block has fewer rows than the largest.
#[inline]
fn own_block(piece: &Piece, eps: f64, rows: usize, d: usize, entry: &mut [f64]) {
    for i in 0..rows {
        for j in 0..rows {
            entry[i * d + j] += eps * piece.a[i * rows + j] + piece.b[i * rows + j];
        }
    }
    (rows..d).for_each(|i| entry[i * d + i] = 1.0);
}

impl Form for Delassus {
    fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    fn velocities(&mut self, point: &mut Point) {
        let mut sum = 0.0;
        let at_rest = point.y.iter().all(|y| *y == 0.0);
        for (k, law) in self.blocks.laws.iter().enumerate() {
            let (range, mut out) = (self.blocks.range(k), [0.0; MAX_ROWS]);
            let d = range.len();
            if !at_rest {
                self.W.times(k, &self.blocks, &point.y, &mut out);
            }
            out.iter_mut().zip(&self.q[range.clone()]).for_each(|(u, q)| *u += q);
            point.u[range.clone()].copy_from_slice(&out[..d]);
            let mut natural = [0.0; MAX_ROWS];
            law.natural(1.0, &out[..d], &point.y[range], &mut natural[..d]);
            sum += natural.iter().map(|x| x * x).sum::<f64>();
        }
        point.residual = sum.sqrt();
    }

    fn sweep(&mut self, point: &mut Point, prox: Option<Prox<'_>>) {
        self.prepare(prox.map_or(0.0, |p| p.eps));
        for k in self.blocks.order.iter().map(|&k| k as usize) {
            let law = &self.blocks.laws[k];
            let (range, mut q) = (self.blocks.range(k), [0.0; MAX_ROWS]);
            let (d, w) = (range.len(), &self.diagonal[9 * k..9 * k + 9]);
            self.W.times(k, &self.blocks, &point.y, &mut q);
            let y = &mut point.y[range.clone()];
            for i in 0..d {
                q[i] += self.q[range.start + i];
                for j in 0..d {
                    q[i] -= w[i * d + j] * y[j];
                }
            }
            if let Some(prox) = prox {
                q.iter_mut().zip(&prox.centre[range]).for_each(|(q, c)| *q -= prox.eps * c);
            }
            self.quick[k].solve(law, &q[..d], y);
        }
    }

    fn step_in_sweeps(&mut self) -> f64 {
        let rows = self.blocks.rows();
        let step = if rows <= MAX_DENSE_ROWS {
            (rows as f64).powi(3) / 3.0
        } else if self.eliminated.usable() {
            self.eliminated.operations()
        } else {
            f64::INFINITY
        };
        step / (self.W.values.len() + LOCAL_OPERATIONS * self.blocks.len()) as f64
    }

    fn direction(&mut self, pieces: &[Piece], eps: f64, dy: &mut [f64]) -> bool {
        self.set_places(pieces);
        self.through_velocities = self.rows > MAX_DENSE_ROWS
            && self.prefers_velocities(pieces)
            && self.step_by_velocities(pieces, eps, dy);
        if self.through_velocities {
            return true;
        }
        let factored = self.factor(pieces, eps, self.rows);
        factored && self.solve(pieces, eps, dy)
    }

    fn again(&mut self, pieces: &[Piece], g: &[f64], x: &mut [f64]) {
        x.fill(0.0);
        if self.through_velocities {
            return self.eliminated.correct(&self.blocks, g, x);
        }
        for (k, _) in pieces.iter().enumerate().filter(|(_, piece)| piece.branch == Branch::Open) {
            x[self.blocks.range(k)].copy_from_slice(&g[self.blocks.range(k)]);
        }
        let moved = x.iter().any(|x| *x != 0.0);
        self.right.clear();
        self.right.resize(x.len(), 0.0);
        for (k, piece) in
            pieces.iter().enumerate().filter(|(_, piece)| piece.branch != Branch::Open)
        {
            let (range, mut u) = (self.blocks.range(k), [0.0; MAX_ROWS]);
            let d = range.len();
            if moved {
                self.W.times(k, &self.blocks, x, &mut u);
            }
            for i in 0..d {
                self.right[range.start + i] =
                    g[range.start + i] - (0..d).map(|j| piece.a[i * d + j] * u[j]).sum::<f64>();
            }
        }
        self.correct(self.rows, x);
    }

    fn times(&mut self, x: &[f64], u: &mut [f64]) {
        times(&self.W, &self.blocks, x, u);
    }

    fn times_at(&mut self, blocks: &[u32], x: &[f64], u: &mut [f64]) {
        for k in blocks.iter().map(|&k| k as usize) {
            let (range, mut out) = (self.blocks.range(k), [0.0; MAX_ROWS]);
            self.W.times(k, &self.blocks, x, &mut out);
            u[range.clone()].copy_from_slice(&out[..range.len()]);
        }
    }
}
