//! Blocks of rows: gradients of bodies, put in the order of the columns.

use super::{Assembly, Gradient, Scheme, Source, StepInput, Touch, leapfrog, unilateral};
use crate::problem::Law;
use crate::scene::{BodyId, Layout};
use glam::DVec3;

/// The most bodies of one block: three coordinates of two bodies each.
const MAX_BODIES_OF_BLOCK: usize = 6;
/// The most rows of one block.
const MAX_ROWS_OF_BLOCK: usize = 3;

/// A block of rows in the making.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    rows: usize,
    count: usize,
    /// Where each body's (or node's) velocities start, ascending.
    starts: [u32; MAX_BODIES_OF_BLOCK],
    /// How many velocities each has: 6, or 3 for a node.
    widths: [usize; MAX_BODIES_OF_BLOCK],
    values: [[[f64; 6]; MAX_ROWS_OF_BLOCK]; MAX_BODIES_OF_BLOCK],
    /// The share of imposed motions in each row's velocity.
    pub imposed: [f64; MAX_ROWS_OF_BLOCK],
    /// The velocity of each row before the step, imposed motions included.
    pub before: [f64; MAX_ROWS_OF_BLOCK],
    /// The velocity of each row over the step if the forces stay as they were; under the Euler
    /// scheme that before the step.
    pub expected: [f64; MAX_ROWS_OF_BLOCK],
    /// The mean of what imposed motions contribute before the step and over it: what their work is
    /// reckoned with.
    carried: [f64; MAX_ROWS_OF_BLOCK],
}

impl Block {
    /// A block of `rows` rows that feels nothing yet.
    pub fn new(rows: usize) -> Block {
        Block {
            rows,
            count: 0,
            starts: [0; MAX_BODIES_OF_BLOCK],
            widths: [6; MAX_BODIES_OF_BLOCK],
            values: [[[0.0; 6]; MAX_ROWS_OF_BLOCK]; MAX_BODIES_OF_BLOCK],
            imposed: [0.0; MAX_ROWS_OF_BLOCK],
            before: [0.0; MAX_ROWS_OF_BLOCK],
            expected: [0.0; MAX_ROWS_OF_BLOCK],
            carried: [0.0; MAX_ROWS_OF_BLOCK],
        }
    }

    /// Adds what row `row` feels of `body`.
    #[inline]
    pub fn add(
        &mut self,
        row: usize,
        body: BodyId,
        gradient: &Gradient,
        layout: &Layout,
        now: &StepInput,
    ) {
        let before = gradient.rate(&now.twists[body.index()]);
        let expected = if now.lag.is_some() { gradient.rate(now.expected(body)) } else { before };
        self.before[row] += before;
        self.expected[row] += expected;
        let Some(start) = layout.velocities[body.index()] else {
            self.imposed[row] += expected;
            self.carried[row] += 0.5 * (before + expected);
            return;
        };
        let place = self.place(start, 6);
        for (x, g) in self.values[place][row].iter_mut().zip(gradient.array()) {
            *x += g;
        }
    }

    /// Adds what row `row` feels of a node (counted over all soft bodies).
    #[inline]
    pub fn add_node(
        &mut self,
        row: usize,
        node: u32,
        gradient: DVec3,
        layout: &Layout,
        now: &StepInput,
    ) {
        let before = now.node_velocities[node as usize];
        self.before[row] += gradient.dot(before);
        self.expected[row] +=
            gradient.dot(*now.node_predicted.get(node as usize).unwrap_or(&before));
        if let Some(start) = layout.nodes[node as usize] {
            let place = self.place(start, 3);
            for (x, g) in self.values[place][row].iter_mut().zip(gradient.to_array()) {
                *x += g;
            }
        }
    }

    /// The place of a body's columns, kept in ascending order.
    fn place(&mut self, start: u32, width: usize) -> usize {
        let place =
            self.starts[..self.count].iter().position(|&s| s >= start).unwrap_or(self.count);
        if place == self.count || self.starts[place] != start {
            for p in (place..self.count).rev() {
                self.starts[p + 1] = self.starts[p];
                self.widths[p + 1] = self.widths[p];
                self.values[p + 1] = self.values[p];
            }
            self.starts[place] = start;
            self.widths[place] = width;
            self.values[place] = [[0.0; 6]; MAX_ROWS_OF_BLOCK];
            self.count += 1;
        }
        place
    }

    /// Adds a velocity that a surface has of its own: a belt.
    pub fn add_belt(&mut self, row: usize, speed: f64) {
        for part in [&mut self.imposed, &mut self.carried, &mut self.before, &mut self.expected] {
            part[row] += speed;
        }
    }

    /// Whether a body of it is free to move.
    pub fn moves(&self) -> bool {
        self.count > 0
    }

    /// Appends the block to the problem with the velocities `w` (imposed motions are added here);
    /// nothing happens if no body of it is free to move.
    pub fn push(&self, out: &mut Assembly, source: Source, law: Law, w: &[f64], compliance: f64) {
        if self.count > 0 {
            self.write(out, source, law, w, compliance);
        }
    }

    /// `w` of a rigid unilateral block with this gap. Keeps gap and impact for the end of the step;
    /// comes before [`Block::push`].
    pub fn touch(
        &self,
        out: &mut Assembly,
        gap: f64,
        restitution: f64,
        (scheme, now): (&Scheme, &StepInput),
    ) -> f64 {
        let (w, impact) = if now.lag.is_some() {
            leapfrog::separation(gap, (self.before[0], self.expected[0]), restitution, scheme, now)
        } else {
            (unilateral::separation(gap, self.before[0], restitution, scheme, now.h), None)
        };
        if self.count > 0 {
            let open = unilateral::gap_velocity(gap, scheme, (now.h, now.correction_time()));
            out.touches.push(Touch {
                row: out.problem.w.len() as u32,
                block: out.sources.len() as u32,
                imposed: self.imposed[0],
                gap,
                before: self.before,
                expected: self.expected,
                restitution,
                open,
                depenetration: unilateral::depenetration(gap, scheme, now.correction_time()),
                impact,
                answered: restitution > 0.0 && w < open,
            });
        }
        w
    }

    /// One row of the block as a block of its own.
    pub fn row(&self, row: usize) -> Block {
        let mut out = *self;
        out.rows = 1;
        out.values.iter_mut().for_each(|v| v[0] = v[row]);
        for part in [&mut out.imposed, &mut out.carried, &mut out.before, &mut out.expected] {
            part[0] = part[row];
        }
        out
    }

    /// `out ← out + Σ impulse_row (row)ᵀ`.
    pub fn add_transposed(&self, impulse: &[f64], out: &mut [f64]) {
        for (p, &start) in self.starts[..self.count].iter().enumerate() {
            for (line, x) in self.values[p].iter().zip(impulse) {
                for c in 0..self.widths[p] {
                    out[start as usize + c] += line[c] * x;
                }
            }
        }
    }

    fn write(&self, out: &mut Assembly, source: Source, law: Law, w: &[f64], compliance: f64) {
        let mut columns = [0u32; 6 * MAX_BODIES_OF_BLOCK];
        let mut width = 0;
        let mut used = [(0usize, 0usize); MAX_BODIES_OF_BLOCK];
        for (p, &start) in self.starts[..self.count].iter().enumerate() {
            // A row of orientations alone has no linear columns.
            let turns = self.values[p][..self.rows].iter().all(|row| row[..3] == [0.0; 3]);
            let first = if turns && self.widths[p] == 6 { 3 } else { 0 };
            used[p] = (first, width);
            for c in first..self.widths[p] {
                columns[width] = start + c as u32;
                width += 1;
            }
        }
        let mut values = [0.0; 6 * MAX_BODIES_OF_BLOCK * MAX_ROWS_OF_BLOCK];
        for (p, (&(first, at), rows)) in used[..self.count].iter().zip(&self.values).enumerate() {
            let end = self.widths[p];
            for (row, line) in rows[..self.rows].iter().enumerate() {
                values[row * width + at..row * width + at + end - first]
                    .copy_from_slice(&line[first..end]);
            }
        }
        let problem = &mut out.problem;
        problem.J.push(self.rows, &columns[..width], &values[..self.rows * width]);
        problem.laws.push(law);
        for (row, (w, imposed)) in w.iter().zip(self.imposed).take(self.rows).enumerate() {
            problem.w.push(w + imposed);
            problem.E.push(if row == 0 { compliance } else { 0.0 });
            out.imposed.push(self.carried[row]);
        }
        out.sources.push(source);
    }
}
