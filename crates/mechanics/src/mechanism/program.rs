//! The program of a mechanism: accelerations, gaps, and corrections, for a fixed choice of rows.
//!
//! ```text
//!   1. tape:    G, A = L⁻¹Gᵀ, f, b = G M⁻¹f − u       from q, v, t
//!   2. factor:  A Π = Q R
//!   3. solve:   Rᵀ R λ = b
//!   4. tape:    v̇ = M⁻¹(f − Gᵀλ)
//! ```
//!
//! Positions and velocities are corrected with the same factor, in the metric of M (the least
//! change of kinetic energy):
//!
//! ```text
//!   RᵀR λ = g,   q ← q − M⁻¹Gᵀλ          RᵀR λ = G v,   v ← v − M⁻¹Gᵀλ,   energy taken: ½ λ·(G v)
//! ```

use super::coordinates::Coordinates;
use super::equations::Equations;
use crate::symbolic::{Factor, Id, Pattern, Tape, Work};

/// A diagonal entry of R below this times the length of its column is zero: the row has lost its
/// independence, in digits that double precision cannot give back.
pub const SINGULAR_RELATIVE_PIVOT: f64 = 1e-11;

/// Below this relative diagonal entry (near a singular position) solves are refined: RᵀR loses
/// twice the digits of R.
pub const REFINED_RELATIVE_PIVOT: f64 = 5e-3;

/// Entries of A: from the tape to the factor.
#[derive(Clone, Debug, Default)]
struct Scatter(Vec<(u32, u32)>);

impl Scatter {
    fn run(&self, factor: &mut Factor, work: &Work) {
        let values = factor.values();
        values.fill(0.0);
        for &(to, from) in &self.0 {
            values[to as usize] = work.values[from as usize];
        }
    }
}

/// A program for some of the rows.
#[derive(Clone, Debug)]
pub struct Program {
    /// The rows it holds, by their number among all.
    pub kept: Vec<usize>,
    /// The pattern of A.
    pub pattern: Pattern,
    factor: Factor,
    tape: Tape,
    work: Work,
    scatter: Scatter,
    right: Vec<u32>,
    bias: Vec<u32>,
    result: Vec<u32>,
    /// Entries of G on the tape: row, velocity, place.
    slopes: Vec<(u32, u32, u32)>,
    /// Gaps and G at a position.
    still: Tape,
    still_work: Work,
    still_scatter: Scatter,
    gaps: Vec<u32>,
    /// Entries of G: row, velocity, place.
    jacobian: Vec<(u32, u32, u32)>,
    /// Entries of M⁻¹.
    inverse_mass: Vec<(u32, u32, f64)>,
    lambda: Vec<f64>,
    positions: usize,
    singular: u64,
    /// The least relative diagonal entry of R since it was last asked for.
    nearest: f64,
}

impl Program {
    /// The program for these rows.
    pub fn new(e: &mut Equations, kept: &[usize]) -> Program {
        let number = |row: u32| kept.iter().position(|&k| k == row as usize);
        let chosen: Vec<((u32, u32), Id)> =
            e.a.iter()
                .filter_map(|&((i, row), x)| number(row).map(|r| ((i, r as u32), x)))
                .collect();
        let entries: Vec<(u32, u32)> = chosen.iter().map(|c| c.0).collect();
        let pattern = Pattern::analyse(e.coordinates.velocities(), kept.len(), &entries);
        let factor = Factor::new(&pattern);
        // Stage 0: A and b. Stage 1: accelerations, once λ is known.
        let forces = e.forces.clone();
        let free = e.inverse_mass(&forces);
        let right: Vec<Id> = kept.iter().map(|&r| right_side(e, r, &free)).collect();
        let first = e.inputs();
        let lambda: Vec<Id> = (0..kept.len()).map(|i| e.graph.input(first + i)).collect();
        let remaining = e.remaining(kept, &lambda);
        let result = e.inverse_mass(&remaining);
        let slopes: Vec<(u32, u32, Id)> = (0..kept.len())
            .flat_map(|r| {
                e.rows[kept[r]].entries.iter().map(move |&(i, x)| (r as u32, i as u32, x))
            })
            .collect();
        let bias = kept.iter().map(|&r| e.rows[r].u);
        let matrix = chosen.iter().map(|c| c.1);
        let outputs: Vec<Id> = matrix
            .chain(right)
            .chain(result)
            .chain(bias)
            .chain(slopes.iter().map(|s| s.2))
            .collect();
        let late: Vec<(usize, usize)> = (0..kept.len()).map(|i| (first + i, 1)).collect();
        let tape = Tape::compile(&e.graph, &outputs, first + kept.len(), &late);
        let gaps = kept.iter().map(|&r| e.rows[r].gap);
        let outputs: Vec<Id> =
            chosen.iter().map(|c| c.1).chain(gaps).chain(slopes.iter().map(|s| s.2)).collect();
        let still = Tape::compile(&e.graph, &outputs, e.coordinates.positions(), &[]);
        let scatter = |tape: &Tape| {
            let place = |(k, &(row, column)): (usize, &(u32, u32))| {
                (
                    factor.at(row as usize, column as usize).expect("an entry has a place") as u32,
                    tape.place(k) as u32,
                )
            };
            Scatter(entries.iter().enumerate().map(place).collect())
        };
        let places = |tape: &Tape, from: usize, count: usize| {
            (from..from + count).map(|k| tape.place(k) as u32).collect::<Vec<_>>()
        };
        let (nv, n) = (e.coordinates.velocities(), kept.len());
        let gaps = places(&still, chosen.len(), n);
        let on_tape = chosen.len() + 2 * n + nv;
        let on_main = slopes
            .iter()
            .enumerate()
            .map(|(k, s)| (s.0, s.1, tape.place(on_tape + k) as u32))
            .collect();
        let jacobian = slopes
            .iter()
            .enumerate()
            .map(|(k, s)| (s.0, s.1, still.place(chosen.len() + n + k) as u32))
            .collect();
        Program {
            kept: kept.to_vec(),
            scatter: scatter(&tape),
            still_scatter: scatter(&still),
            right: places(&tape, chosen.len(), n),
            result: places(&tape, chosen.len() + n, nv),
            bias: places(&tape, chosen.len() + n + nv, n),
            slopes: on_main,
            gaps,
            jacobian,
            inverse_mass: inverse_mass(&e.coordinates),
            lambda: vec![0.0; n],
            positions: e.coordinates.positions(),
            work: tape.work(),
            still_work: still.work(),
            pattern,
            factor,
            tape,
            still,
            singular: 0,
            nearest: f64::INFINITY,
        }
    }

    /// Accelerations at (q, v), with the values of the drives.
    pub fn accelerations(&mut self, q: &[f64], v: &[f64], drives: &[f64], out: &mut [f64]) {
        let inputs = self.tape.inputs(&mut self.work);
        inputs[..q.len()].copy_from_slice(q);
        inputs[q.len()..q.len() + v.len()].copy_from_slice(v);
        inputs[q.len() + v.len()..q.len() + v.len() + drives.len()].copy_from_slice(drives);
        self.tape.run(0, &mut self.work);
        self.scatter.run(&mut self.factor, &self.work);
        for (l, &place) in self.lambda.iter_mut().zip(&self.right) {
            *l = self.work.values[place as usize];
        }
        self.factor.factor();
        self.nearest = self.nearest.min(self.factor.weakest());
        if self.factor.weakest() < SINGULAR_RELATIVE_PIVOT {
            self.singular += 1;
            self.factor.solve_deficient(SINGULAR_RELATIVE_PIVOT, &mut self.lambda);
        } else {
            self.factor.forward(&mut self.lambda);
            self.factor.backward(&mut self.lambda);
        }
        let base = q.len() + v.len() + drives.len();
        self.tape.inputs(&mut self.work)[base..].copy_from_slice(&self.lambda);
        self.tape.run(1, &mut self.work);
        for (a, &place) in out.iter_mut().zip(&self.result) {
            *a = self.work.values[place as usize];
        }
        if (SINGULAR_RELATIVE_PIVOT..REFINED_RELATIVE_PIVOT).contains(&self.factor.weakest()) {
            self.refine(out);
        }
    }

    /// Takes away what is left of `G v̇ − u`.
    fn refine(&self, out: &mut [f64]) {
        let mut rest: Vec<f64> = self.bias.iter().map(|&p| -self.work.values[p as usize]).collect();
        for &(row, i, place) in &self.slopes {
            rest[row as usize] += self.work.values[place as usize] * out[i as usize];
        }
        self.factor.forward(&mut rest);
        self.factor.backward(&mut rest);
        let mut force = vec![0.0; out.len()];
        for &(row, i, place) in &self.slopes {
            force[i as usize] += self.work.values[place as usize] * rest[row as usize];
        }
        for &(i, j, x) in &self.inverse_mass {
            out[i as usize] -= x * force[j as usize];
        }
    }

    /// Multipliers of the last evaluation, one per kept row.
    pub fn lambda(&self) -> &[f64] {
        &self.lambda
    }

    /// The least relative diagonal entry of R since the last question: how near to a singular
    /// position the evaluations came.
    pub fn nearest(&mut self) -> f64 {
        std::mem::replace(&mut self.nearest, f64::INFINITY)
    }

    /// How often R was singular and the basic solution was taken.
    pub fn singular(&self) -> u64 {
        self.singular
    }

    /// Evaluates gaps, G and R at a position.
    pub fn evaluate_at(&mut self, q: &[f64]) {
        self.still.inputs(&mut self.still_work)[..self.positions].copy_from_slice(q);
        self.still.run(0, &mut self.still_work);
        self.still_scatter.run(&mut self.factor, &self.still_work);
        self.factor.factor();
    }

    /// The factor of the last position or evaluation.
    pub fn factor(&self) -> &Factor {
        &self.factor
    }

    /// A of the last position, dense, column by column.
    pub fn dense(&self) -> Vec<f64> {
        let m = self.pattern.rows;
        let mut out = vec![0.0; m * self.pattern.columns];
        for (&(row, column), &(_, from)) in self.pattern_entries().zip(&self.still_scatter.0) {
            out[column as usize * m + row as usize] = self.still_work.values[from as usize];
        }
        out
    }

    fn pattern_entries(&self) -> impl Iterator<Item = &(u32, u32)> {
        self.pattern.entries.iter()
    }

    /// Gaps of the last position.
    pub fn gaps(&self) -> Vec<f64> {
        self.gaps.iter().map(|&p| self.still_work.values[p as usize]).collect()
    }

    /// `G v` at the last position.
    pub fn rates(&self, v: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.kept.len()];
        for &(row, i, place) in &self.jacobian {
            out[row as usize] += self.still_work.values[place as usize] * v[i as usize];
        }
        out
    }

    /// `M⁻¹Gᵀ (RᵀR)⁻¹ y` at the last position, and `½ yᵀ(RᵀR)⁻¹y`: the least change of velocities
    /// (or positions) that takes y away.
    pub fn correction(&self, y: &[f64]) -> (Vec<f64>, f64) {
        let mut lambda = y.to_vec();
        if self.factor.weakest() < SINGULAR_RELATIVE_PIVOT {
            self.factor.solve_deficient(SINGULAR_RELATIVE_PIVOT, &mut lambda);
        } else {
            self.factor.forward(&mut lambda);
            self.factor.backward(&mut lambda);
        }
        let energy = 0.5 * crate::math::dot(&lambda, y);
        (self.pull(&lambda), energy)
    }

    /// `M⁻¹Gᵀλ` at the last position.
    pub fn pull(&self, lambda: &[f64]) -> Vec<f64> {
        let nv = self.pattern.rows;
        let (mut force, mut out) = (vec![0.0; nv], vec![0.0; nv]);
        for &(row, i, place) in &self.jacobian {
            force[i as usize] += self.still_work.values[place as usize] * lambda[row as usize];
        }
        for &(i, j, x) in &self.inverse_mass {
            out[i as usize] += x * force[j as usize];
        }
        out
    }

    /// Remembers the lengths of the columns of A at the last position.
    pub fn survey(&mut self) {
        self.factor.survey();
    }

    /// Below which each diagonal entry of R counts as zero, in order of elimination.
    pub fn floors(&self) -> Vec<f64> {
        self.factor.floors().into_iter().map(|length| SINGULAR_RELATIVE_PIVOT * length).collect()
    }

    /// Operations of one evaluation: tape, factor, solves.
    pub fn flops(&self) -> (usize, usize, usize) {
        (self.tape.flops(), self.pattern.flops(), 4 * self.pattern.filled())
    }

    /// Bytes of tape and factor.
    pub fn memory(&self) -> usize {
        self.tape.memory() + self.factor.memory() + 8 * self.scatter.0.len()
    }
}

/// `G M⁻¹f − u` for one row.
pub(super) fn right_side(e: &mut Equations, row: usize, free: &[Id]) -> Id {
    let along = e.times(row, free);
    let u = e.rows[row].u;
    e.graph.sub(along, u)
}

/// Entries of M⁻¹ over all velocities.
pub(super) fn inverse_mass(coordinates: &Coordinates) -> Vec<(u32, u32, f64)> {
    let count = coordinates.space.velocities();
    let mut out = Vec::new();
    for (body, root) in coordinates.inverse_roots().iter().enumerate() {
        for i in 0..count {
            for j in 0..count {
                let products = root.iter().filter(|e| e.1 == i).flat_map(|x| {
                    root.iter().filter(move |y| y.1 == j && y.0 == x.0).map(|y| x.2 * y.2)
                });
                let entry: f64 = products.sum();
                if entry != 0.0 {
                    out.push(((body * count + i) as u32, (body * count + j) as u32, entry));
                }
            }
        }
    }
    out
}
