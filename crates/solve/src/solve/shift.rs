//! The true Coulomb law around any convex method: a fixed point on De Saxcé's shift.
//!
//! Coulomb's law is the associated law with the normal velocity raised by `mu‖u_t‖` (DeSaxce1998).
//! Freeze the shift, solve the convex problem, read the shift off its answer, repeat:
//!
//! ```text
//!   x ← G(x):   solve the associated law with w_n + x_k;   G(x)_k = mu ‖u_t‖
//! ```
//!
//! A non-symmetric W = S + T (T skew) is treated in the same loop: S stays in the convex problem,
//! `T r` joins x. Algorithm:
//!
//! 1. x from the guess (zero without one).
//! 2. (v, r) from the convex method, warm from the last answer; compute its error under Coulomb's
//!    law; stop if accepted.
//! 3. f = G(x) − x. Anderson: x ← G(x) − ΔG γ, γ = argmin ‖f − ΔF γ‖ over the last
//!    [`ANDERSON_DEPTH`] differences.
//! 4. If ‖f‖ grew beyond twice the least seen: forget the differences and take a plain step from
//!    the best x.
//! 5. If f vanishes and the error is still not accepted, what is left is the inner method's (a
//!    pyramid in place of the cone): stop.
//!
//! A method whose friction cones are pyramids reads the shift with the polygon's reach in place of
//! the circle's, `mu max_j(−d_j · u_t)` over its edges d_j: then `u_n = 0` in slip, and only the
//! direction of friction is the pyramid's.
//!
//! When to use it: to give a convex method the true law. Where nothing slips one outer iteration is
//! enough; the plain iteration contracts by 0.2–0.65 and may cycle, Anderson's does neither as
//! often. Cost: one convex solve per outer iteration.

use super::{Counts, PathSample, Report, Sample, Status, StoppingCriteria, Unsupported, add_phase};
use crate::math::dot;
use crate::problem::law::tangent_norm;
use crate::problem::{Law, PreparedProblem, Problem, Reduced, Residual, Solution, Tolerance};

/// Differences kept by Anderson's acceleration.
pub const ANDERSON_DEPTH: usize = 8;
/// The most outer iterations.
pub const MAX_OUTER_ITERATIONS: u64 = 200;

/// Where f is worth no more than this part of the tolerated energy, x stands still.
const STATIONARY_ENERGY_RATIO: f64 = 0.01;
/// So often in a row before that is the end: the first time may be a lazy inner method.
const MAX_STATIONARY_ITERATIONS: u32 = 2;

/// The section of the friction cones as the inner method has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Circles.
    Round,
    /// Polygons of so many edges, the first along the first tangent.
    Polygon(usize),
}

impl Section {
    /// `max −d · u_t` over the section's unit directions d, for the velocity u of one block.
    fn reach(self, u: &[f64]) -> f64 {
        match self {
            Section::Polygon(facets) if u.len() == 3 => {
                let along = |j: usize| {
                    let (sin, cos) = (std::f64::consts::TAU * j as f64 / facets as f64).sin_cos();
                    -(cos * u[1] + sin * u[2])
                };
                (0..facets).map(along).fold(0.0, f64::max)
            }
            _ => tangent_norm(u),
        }
    }
}

/// True if some block follows the true Coulomb law with friction.
pub fn needed(laws: &[Law]) -> bool {
    laws.iter().any(|law| matches!(law, Law::Coulomb { mu, .. } if *mu > 0.0))
}

/// The outer iteration and its memory.
#[derive(Default)]
pub struct Shift {
    convex: Problem,
    rows: Vec<Shifted>,
    u: Vec<f64>,
    next: Vec<f64>,
    workspace: Workspace,
}

impl Shift {
    /// Solves `problem` by `inner`, which solves problems without `Law::Coulomb` from the solution
    /// handed in, within the `StoppingCriteria` handed in. The problems of the outer iterations
    /// differ in `w` alone: `problem` is prepared once for all of them.
    pub fn solve(
        &mut self,
        problem: &Problem,
        solution: &mut Solution,
        (stop, section): (&StoppingCriteria, Section),
        prepared: &mut PreparedProblem,
        mut inner: impl FnMut(
            &Problem,
            &mut Solution,
            &StoppingCriteria,
            &mut PreparedProblem,
        ) -> Result<Report, Unsupported>,
    ) -> Result<Report, Unsupported> {
        let Shift { convex, rows, u, next, workspace } = self;
        convex.clone_from(problem);
        convex.laws.iter_mut().for_each(|law| *law = law.associated());
        rows.clear();
        rows.extend(shifted_rows(&problem.laws, &problem.J.row_starts));
        workspace.begin(
            problem.laws.iter().map(|law| matches!(law, Law::Coulomb { .. })),
            rows.iter().map(|s| prepared.a()[s.block].powf(-0.5)),
        );
        u.resize(problem.rows(), 0.0);
        problem.local_velocities(&solution.v, &solution.r, u);
        read(&problem.laws, rows, section, u, &mut workspace.x);
        let mut outer = Outer::new((stop, section), workspace);
        loop {
            convex.w.copy_from_slice(&problem.w);
            for (s, x) in rows.iter().zip(outer.x()) {
                convex.w[s.row] += x;
            }
            prepared.rescale(convex);
            let report = inner(convex, solution, &outer.inner_stop(), prepared)?;
            problem.local_velocities(&solution.v, &solution.r, u);
            prepared.rescale(problem);
            let error = prepared.error(problem, solution);
            read(&problem.laws, rows, section, u, next);
            if outer.took(&report, error, solution, next) {
                return Ok(outer.finish(solution));
            }
        }
    }
}

/// As [`Shift::solve`], for a reduced problem; `inner` is handed a symmetric W.
pub fn solve_reduced(
    reduced: &Reduced,
    solution: &mut Solution,
    stop: &StoppingCriteria,
    section: Section,
    mut inner: impl FnMut(&Reduced, &mut Solution, &StoppingCriteria) -> Result<Report, Unsupported>,
) -> Result<Report, Unsupported> {
    let mut prepared = PreparedProblem::of_reduced(reduced);
    let transposed = reduced.W.transposed();
    let skew = reduced.asymmetry() > 1e-14;
    let mut convex = reduced.clone().associated();
    if skew {
        convex.W = symmetric_part(&reduced.W, &transposed);
    }
    let m = reduced.rows();
    let rows: Vec<Shifted> = shifted_rows(&reduced.laws, &reduced.row_starts).collect();
    let mut block_of = vec![0; m];
    for k in 0..reduced.laws.len() {
        block_of[reduced.range(k)].fill(k);
    }
    // x over all rows: T r, and the shift on normal rows.
    let (mut u, mut shift, mut next) = (vec![0.0; m], Vec::new(), Vec::new());
    let mut offset = |r: &[f64], x: &mut Vec<f64>| {
        reduced.local_velocities(r, &mut u);
        x.clear();
        x.resize(m, 0.0);
        if skew {
            for (i, x) in x.iter_mut().enumerate() {
                *x = 0.5 * (reduced.W.row_dot(i, r) - transposed.row_dot(i, r));
            }
        }
        read(&reduced.laws, &rows, section, &u, &mut shift);
        rows.iter().zip(&shift).for_each(|(s, add)| x[s.row] += add);
    };
    let mut workspace = Workspace::default();
    workspace.begin(
        reduced.laws.iter().map(|law| skew || matches!(law, Law::Coulomb { .. })),
        block_of.iter().map(|&k| prepared.a()[k].powf(-0.5)),
    );
    offset(&solution.r, &mut workspace.x);
    let mut outer = Outer::new((stop, section), &mut workspace);
    loop {
        for i in 0..m {
            convex.q[i] = reduced.q[i] + outer.x()[i];
        }
        let report = inner(&convex, solution, &outer.inner_stop())?;
        let error = prepared.error_reduced(reduced, &solution.r);
        offset(&solution.r, &mut next);
        if outer.took(&report, error, solution, &next) {
            return Ok(outer.finish(solution));
        }
    }
}

/// A normal row that De Saxcé's shift raises.
struct Shifted {
    block: usize,
    row: usize,
    rows: usize,
}

fn shifted_rows(laws: &[Law], row_starts: &[usize]) -> impl Iterator<Item = Shifted> {
    let sliding = |(_, law): &(usize, &Law)| matches!(law, Law::Coulomb { mu, .. } if *mu > 0.0);
    laws.iter().enumerate().filter(sliding).map(|(k, law)| Shifted {
        block: k,
        row: row_starts[k],
        rows: law.rows(),
    })
}

/// `x ← mu ‖u_t‖` of each shifted row (with the section's reach for the norm).
fn read(laws: &[Law], rows: &[Shifted], section: Section, u: &[f64], x: &mut Vec<f64>) {
    let shift = |s: &Shifted| {
        laws[s.block].friction().unwrap_or(0.0) * section.reach(&u[s.row..s.row + s.rows])
    };
    x.clear();
    x.extend(rows.iter().map(shift));
}

fn symmetric_part(
    w: &crate::math::sparse::Csr,
    transposed: &crate::math::sparse::Csr,
) -> crate::math::sparse::Csr {
    let mut triplets = Vec::with_capacity(2 * w.nonzeros());
    for matrix in [w, transposed] {
        for i in 0..matrix.rows {
            let (columns, values) = matrix.row(i);
            triplets.extend(columns.iter().zip(values).map(|(&j, &x)| (i as u32, j, 0.5 * x)));
        }
    }
    crate::math::sparse::Csr::from_triplets(w.rows, w.cols, &triplets)
}

/// The vectors of an outer iteration.
#[derive(Default)]
struct Workspace {
    /// Blocks that x enters: a contradiction among them is one of the frozen problem, not of the
    /// true one.
    frozen: Vec<bool>,
    /// Turns velocities into √J (per entry of x).
    weight: Vec<f64>,
    x: Vec<f64>,
    /// The best solution so far, and G(x) of the x with the least ‖f‖.
    best: Solution,
    least_next: Vec<f64>,
    /// G(x) − x and G(x), √J.
    f: Vec<f64>,
    g: Vec<f64>,
    anderson: Anderson,
}

impl Workspace {
    fn begin(&mut self, frozen: impl Iterator<Item = bool>, weight: impl Iterator<Item = f64>) {
        self.frozen.clear();
        self.frozen.extend(frozen);
        self.weight.clear();
        self.weight.extend(weight);
        self.anderson.clear();
    }
}

/// The outer iteration: where it stands, what it has seen.
struct Outer<'a> {
    /// The inner method has pyramids in place of cones.
    pyramids: bool,
    stop: &'a StoppingCriteria,
    workspace: &'a mut Workspace,
    /// Figure and error of the best solution.
    best: Option<(f64, Residual)>,
    /// The least ‖f‖, √J.
    least: f64,
    last: f64,
    /// Iterations in a row in which x stood still.
    still: u32,
    counts: Counts,
    work: u64,
    iterations: u64,
    status: Option<Status>,
    conflict: Vec<usize>,
    notes: Vec<String>,
    history: Vec<Sample>,
    path: Vec<PathSample>,
    reproducible: bool,
    started: std::time::Instant,
}

impl<'a> Outer<'a> {
    /// From the shift `workspace.x`.
    fn new(
        (stop, section): (&'a StoppingCriteria, Section),
        workspace: &'a mut Workspace,
    ) -> Outer<'a> {
        Outer {
            pyramids: section != Section::Round,
            stop,
            workspace,
            best: None,
            least: f64::INFINITY,
            last: f64::INFINITY,
            still: 0,
            counts: Counts::default(),
            work: 0,
            iterations: 0,
            status: None,
            conflict: Vec::new(),
            notes: Vec::new(),
            history: Vec::new(),
            path: Vec::new(),
            reproducible: true,
            started: stop.now(),
        }
    }

    fn x(&self) -> &[f64] {
        &self.workspace.x
    }

    /// What the inner method is asked for: a tenth of the tolerance, and what is left of the work.
    fn inner_stop(&self) -> StoppingCriteria {
        let Tolerance { relative, velocity, bound, velocity_relative } = self.stop.tolerance;
        StoppingCriteria {
            tolerance: Tolerance {
                relative: 0.05 * relative,
                velocity: 0.1 * velocity,
                bound: bound.map(|b| 0.2 * b),
                velocity_relative: 0.1 * velocity_relative,
            },
            work: self.stop.work.map(|w| w.saturating_sub(self.work).max(1)),
            deadline: self.stop.deadline,
            history: self.stop.history,
        }
    }

    /// Takes note of an inner solution, chooses the next x; true at the end.
    fn took(
        &mut self,
        report: &Report,
        error: Residual,
        solution: &Solution,
        next: &[f64],
    ) -> bool {
        self.counts.outer += 1;
        self.counts.sweeps += report.counts.sweeps;
        self.counts.factorizations += report.counts.factorizations;
        self.counts.pivots += report.counts.pivots;
        let before = self.work;
        let later = |s: &PathSample| PathSample { work: before + s.work, ..*s };
        self.path.extend(report.path.iter().map(later));
        self.work += report.work;
        self.iterations += report.iterations;
        self.reproducible &= report.reproducible;
        let excess = excess(&error, &self.stop.tolerance);
        if self.best.as_ref().is_none_or(|b| excess < b.0) {
            self.best = Some((excess, error));
            self.workspace.best.clone_from(solution);
        }
        if self.stop.history {
            let best = self.best.as_ref().map_or(error.joule, |b| b.1.joule);
            let wall = self.started.elapsed().as_secs_f64();
            self.history.push(Sample { work: self.work, joule: error.joule, best, wall });
        }
        self.status = if error.accepted(&self.stop.tolerance) {
            Some(Status::Converged)
        } else if report.status == Status::Infeasible
            && !report.conflict.iter().any(|&k| self.workspace.frozen[k])
        {
            self.conflict.clone_from(&report.conflict);
            Some(Status::Infeasible)
        } else if report.status == Status::Infeasible {
            Some(Status::Stalled)
        } else if self.stop.work.is_some_and(|w| self.work >= w) {
            Some(Status::Budget)
        } else if self.stop.deadline_passed() {
            self.reproducible = false;
            Some(Status::Budget)
        } else if self.pyramids && self.stands_still(next, error.scale) {
            self.notes
                .push("the shift stands still: the rest of the error is the inner method's".into());
            Some(Status::Stalled)
        } else if self.counts.outer >= MAX_OUTER_ITERATIONS {
            Some(Status::Stalled)
        } else {
            None
        };
        if self.status.is_none() {
            self.advance(next);
        }
        self.status.is_some()
    }

    /// 5. x and G(x) are the same to a small part of the tolerance, again.
    fn stands_still(&mut self, next: &[f64], scale: f64) -> bool {
        let energy: f64 = next
            .iter()
            .zip(&self.workspace.x)
            .zip(&self.workspace.weight)
            .map(|((g, x), w)| 0.5 * (w * (g - x)).powi(2))
            .sum();
        self.still = if energy <= STATIONARY_ENERGY_RATIO * self.stop.tolerance.relative * scale {
            self.still + 1
        } else {
            0
        };
        self.still >= MAX_STATIONARY_ITERATIONS
    }

    /// Anderson's step, or a plain one from the best x where it led astray.
    fn advance(&mut self, next: &[f64]) {
        let Workspace { weight, x, least_next, f, g, anderson, .. } = &mut *self.workspace;
        f.clear();
        f.extend(next.iter().zip(&*x).zip(&*weight).map(|((g, x), w)| w * (g - x)));
        let size = dot(f, f).sqrt();
        if size < self.least {
            self.least = size;
            least_next.clear();
            least_next.extend_from_slice(next);
        }
        if !(size <= 2.0 * self.least) && !(size < self.last) {
            anderson.clear();
            // Halfway: a full step from there has been taken before.
            x.clear();
            x.extend(least_next.iter().zip(next).map(|(a, b)| 0.5 * (a + b)));
            self.last = f64::INFINITY;
            return;
        }
        self.last = size;
        g.clear();
        g.extend(next.iter().zip(&*weight).map(|(g, w)| w * g));
        anderson.next(f, g, x);
        x.iter_mut().zip(&*weight).for_each(|(x, w)| *x /= w);
    }

    fn finish(self, solution: &mut Solution) -> Report {
        let (_, error) = self.best.expect("at least one inner solution was taken");
        solution.clone_from(&self.workspace.best);
        let mut report = Report::new(self.status.unwrap_or(Status::Stalled), error);
        report.iterations = self.iterations;
        report.work = self.work;
        report.counts = self.counts;
        report.conflict = self.conflict;
        report.history = self.history;
        report.path = self.path;
        report.reproducible = self.reproducible;
        report.notes = self.notes;
        add_phase(&mut report.phases, "De Saxcé's shift", self.counts);
        report
    }
}

/// How many times the worst of the tolerated figures exceeds its tolerance: accepted at 1 and
/// below.
pub fn excess(error: &Residual, tolerance: &Tolerance) -> f64 {
    let figures = [
        error.relative() / tolerance.relative,
        error.estimate_relative() / tolerance.largest_bound(),
        error.velocity / tolerance.largest_velocity(error.speed),
        error.momentum_velocity / tolerance.largest_velocity(error.speed),
    ];
    figures.iter().fold(0.0, |m, &x| if x.is_nan() { f64::INFINITY } else { x.max(m) })
}

/// Anderson's acceleration of x ← G(x), f = G(x) − x.
#[derive(Default)]
struct Anderson {
    /// Differences of f and of G(x), the newest last: so many of them are there.
    count: usize,
    df: [Vec<f64>; ANDERSON_DEPTH],
    dg: [Vec<f64>; ANDERSON_DEPTH],
    /// f and G(x) of the last step, if there was one.
    stepped: bool,
    last_f: Vec<f64>,
    last_g: Vec<f64>,
    work: LeastSquares,
}

impl Anderson {
    fn clear(&mut self) {
        (self.count, self.stepped) = (0, false);
    }

    /// `x ←` the next x from f and G(x).
    fn next(&mut self, f: &[f64], g: &[f64], x: &mut Vec<f64>) {
        if std::mem::replace(&mut self.stepped, true) {
            if self.count == ANDERSON_DEPTH {
                self.df.rotate_left(1);
                self.dg.rotate_left(1);
                self.count -= 1;
            }
            for (list, new, old) in
                [(&mut self.df, f, &self.last_f), (&mut self.dg, g, &self.last_g)]
            {
                list[self.count].clear();
                list[self.count].extend(new.iter().zip(old).map(|(a, b)| a - b));
            }
            self.count += 1;
        }
        for (last, new) in [(&mut self.last_f, f), (&mut self.last_g, g)] {
            last.clear();
            last.extend_from_slice(new);
        }
        self.work.solve(&self.df[..self.count], f);
        x.clear();
        x.extend_from_slice(g);
        for (gamma, dg) in self.work.gamma.iter().zip(&self.dg[..self.count]) {
            for (x, d) in x.iter_mut().zip(dg) {
                *x -= gamma * d;
            }
        }
    }
}

/// argmin ‖b − Σ γ_i a_i‖ by Gram–Schmidt, done twice; directions that add nothing get γ = 0.
/// Newest first.
#[derive(Default)]
struct LeastSquares {
    gamma: [f64; ANDERSON_DEPTH],
    /// Orthonormal directions.
    q: [Vec<f64>; ANDERSON_DEPTH],
}

impl LeastSquares {
    fn solve(&mut self, a: &[Vec<f64>], b: &[f64]) {
        let (mut r, mut from, mut rank) =
            ([[0.0; ANDERSON_DEPTH]; ANDERSON_DEPTH], [0; ANDERSON_DEPTH], 0);
        for i in (0..a.len()).rev() {
            let (done, rest) = self.q.split_at_mut(rank);
            let x = &mut rest[0];
            x.clone_from(&a[i]);
            let size = dot(x, x).sqrt();
            for _ in 0..2 {
                for (row, q) in done.iter().enumerate() {
                    let s = dot(q, x);
                    r[row][i] += s;
                    for (x, q) in x.iter_mut().zip(q) {
                        *x -= s * q;
                    }
                }
            }
            let left = dot(x, x).sqrt();
            if left > 1e-10 * size {
                x.iter_mut().for_each(|x| *x /= left);
                r[rank][i] = left;
                from[rank] = i;
                rank += 1;
            }
        }
        self.gamma = [0.0; ANDERSON_DEPTH];
        for row in (0..rank).rev() {
            let known: f64 =
                (row + 1..rank).map(|later| r[row][from[later]] * self.gamma[from[later]]).sum();
            self.gamma[from[row]] = (dot(&self.q[row], b) - known) / r[row][from[row]];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anderson_solves_a_linear_fixed_point_in_as_many_steps_as_it_has_unknowns() {
        // G(x) = A x + b with a spectral radius above one: the plain iteration diverges.
        let (a, b) = ([[0.9, 0.4, 0.0], [-0.4, 0.9, 0.2], [0.1, 0.0, -1.2]], [1.0, 2.0, 3.0]);
        let g = |x: &[f64]| -> Vec<f64> { (0..3).map(|i| b[i] + dot(&a[i], x)).collect() };
        let mut anderson = Anderson::default();
        let mut x = vec![0.0; 3];
        for _ in 0..5 {
            let next = g(&x);
            let f: Vec<f64> = next.iter().zip(&x).map(|(g, x)| g - x).collect();
            anderson.next(&f, &next, &mut x);
        }
        let next = g(&x);
        // Three unknowns: exact after four evaluations, up to the conditioning of three
        // differences.
        assert!(next.iter().zip(&x).all(|(g, x)| (g - x).abs() < 1e-9), "{x:?} {next:?}");
    }

    #[test]
    fn least_squares_ignores_a_direction_that_adds_nothing() {
        let a = vec![vec![1.0, 0.0], vec![2.0, 0.0], vec![1.0, 1.0]];
        let mut work = LeastSquares::default();
        work.solve(&a, &[3.0, 1.0]);
        let gamma = work.gamma;
        let got = [gamma[0] + 2.0 * gamma[1] + gamma[2], gamma[2]];
        assert!((got[0] - 3.0).abs() < 1e-14 && (got[1] - 1.0).abs() < 1e-14);
    }
}
