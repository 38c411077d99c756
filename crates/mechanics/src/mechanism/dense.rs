//! The dense twin: the same equations with dense matrices and a dense QR with pivoting. What
//! programs are measured against, and checked with.
//!
//! G, u and f come from the same tape; masses are taken body by body; G, A and R are full matrices
//! with all their zeros.

use super::equations::Equations;
use super::program::inverse_mass;
use super::simulation::DEPENDENT_RELATIVE_PIVOT;
use crate::math::dot;
use crate::symbolic::dense::Pivoted;
use crate::symbolic::{Id, Tape, Work};

/// Dense matrices of a mechanism, all rows.
pub struct Dense {
    tape: Tape,
    work: Work,
    /// Entries of G: place in `g`, place on the tape.
    entries: Vec<(u32, u32)>,
    roots: Vec<Vec<(usize, usize, f64)>>,
    inverse_mass: Vec<(u32, u32, f64)>,
    count: usize,
    rows: usize,
    velocities: usize,
    g: Vec<f64>,
    qr: Pivoted,
    force: Vec<f64>,
    free: Vec<f64>,
    right: Vec<f64>,
    lambda: Vec<f64>,
}

impl Dense {
    /// The dense twin of all rows.
    pub fn new(e: &Equations) -> Dense {
        let slopes: Vec<(usize, Id)> = e
            .rows
            .iter()
            .enumerate()
            .flat_map(|(r, row)| row.entries.iter().map(move |&(i, x)| (r * e.forces.len() + i, x)))
            .collect();
        let outputs: Vec<Id> = e
            .rows
            .iter()
            .map(|r| r.u)
            .chain(e.forces.iter().copied())
            .chain(slopes.iter().map(|s| s.1))
            .collect();
        let tape = Tape::compile(&e.graph, &outputs, e.inputs(), &[]);
        let (rows, nv) = (e.rows.len(), e.forces.len());
        Dense {
            work: tape.work(),
            entries: slopes
                .iter()
                .enumerate()
                .map(|(k, s)| (s.0 as u32, tape.place(rows + nv + k) as u32))
                .collect(),
            tape,
            roots: e.coordinates.inverse_roots(),
            inverse_mass: inverse_mass(&e.coordinates),
            count: e.coordinates.space.velocities(),
            rows,
            velocities: nv,
            g: vec![0.0; rows * nv],
            qr: Pivoted::zero(nv, rows),
            force: vec![0.0; nv],
            free: vec![0.0; nv],
            right: vec![0.0; rows],
            lambda: vec![0.0; rows],
        }
    }

    /// Accelerations at (q, v).
    pub fn accelerations(&mut self, q: &[f64], v: &[f64], drives: &[f64], out: &mut [f64]) {
        let inputs = self.tape.inputs(&mut self.work);
        inputs[..q.len()].copy_from_slice(q);
        inputs[q.len()..q.len() + v.len()].copy_from_slice(v);
        inputs[q.len() + v.len()..].copy_from_slice(drives);
        self.tape.run(0, &mut self.work);
        self.g.fill(0.0);
        for &(to, from) in &self.entries {
            self.g[to as usize] = self.work.values[from as usize];
        }
        let nv = self.velocities;
        for (i, f) in self.force.iter_mut().enumerate() {
            *f = self.tape.output(&self.work, self.rows + i);
        }
        times(&self.inverse_mass, &self.force, &mut self.free);
        for r in 0..self.rows {
            let row = &self.g[r * nv..(r + 1) * nv];
            self.right[r] = dot(row, &self.free) - self.tape.output(&self.work, r);
            // Column r of A = L⁻¹Gᵀ, body by body.
            let column = &mut self.qr.values[r * nv..(r + 1) * nv];
            column.fill(0.0);
            for (body, root) in self.roots.iter().enumerate() {
                for &(i, j, x) in root {
                    column[body * self.count + i] += x * row[body * self.count + j];
                }
            }
        }
        self.qr.factor(DEPENDENT_RELATIVE_PIVOT);
        self.qr.solve(&self.right, &mut self.lambda);
        for (r, l) in self.lambda.iter().enumerate() {
            self.force.iter_mut().zip(&self.g[r * nv..(r + 1) * nv]).for_each(|(f, g)| *f -= l * g);
        }
        times(&self.inverse_mass, &self.force, out);
    }

    /// The rank that was found last.
    pub fn rank(&self) -> usize {
        self.qr.rank
    }
}

fn times(entries: &[(u32, u32, f64)], x: &[f64], out: &mut [f64]) {
    out.fill(0.0);
    for &(i, j, a) in entries {
        out[i as usize] += a * x[j as usize];
    }
}
