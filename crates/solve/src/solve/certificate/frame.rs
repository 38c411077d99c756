//! The convex problem around one vector of reactions, and the gap of a pair (s, r̂).
//!
//! Everything is written in differences `y = s − r` from the reactions r of a base point, so that
//! near an answer all terms are small and so is their rounding:
//!
//! ```text
//!   û = u(r) + W y,    u(r) = W r + q  in double-double precision,    v̂ − v(r) = H⁻¹ Jᵀ y
//! ```

use crate::math::dot;
use crate::math::double_double::DoubleDouble;
use crate::math::sparse::Csr;
use crate::problem::law::{MAX_ROWS, tangent_norm};
use crate::problem::reduced::Reducer;
use crate::problem::{Law, PreparedProblem, Problem, Reduced, Rows};

/// The unit roundoff of a double.
const UNIT_ROUNDOFF: f64 = 0.5 * f64::EPSILON;
/// Operations behind an entry of W, beside those that grow with its cliques.
const OPERATIONS_PER_ENTRY: f64 = 32.0;
/// Steps of the inverse iteration for the least eigenvalue of a large clique, and the factor that
/// allows for what they leave.
const EIGENVALUE_STEPS: usize = 8;
/// See [`EIGENVALUE_STEPS`].
const EIGENVALUE_MARGIN: f64 = 4.0;

/// What a sum of so many products in double-double precision may lose, of Σ|terms|: γ_n²
/// (OgitaRumpOishi2005, prop. 5.5).
fn double_double_rounding(products: usize) -> f64 {
    ((products + 4) as f64 * UNIT_ROUNDOFF).powi(2)
}

/// Matrices and laws of the problem at hand, Coulomb's replaced by its cone; work space.
#[derive(Default)]
#[allow(non_snake_case)]
pub(super) struct Frame {
    pub prepared: PreparedProblem,
    /// H, J, and the compliance of its rows; no rows for a reduced problem.
    H: Csr,
    J: Option<Rows>,
    E: Vec<f64>,
    pub reduced: Reduced,
    reducer: Reducer,
    pub laws: Vec<Law>,
    pub starts: Vec<usize>,
    /// `√(H⁻¹)_jj`, or more: the velocity j that a unit of √(fᵀH⁻¹f) may be (n).
    reach: Vec<f64>,
    /// Rounding errors of an entry of W, in units of √(W_ii W_jj) and of the unit roundoff.
    entry_rounding: f64,
}

/// Sums in double-double precision, with what their rounding is measured by.
#[derive(Clone, Debug, Default)]
struct Sums {
    sums: Vec<DoubleDouble>,
    /// Σ|terms|, and their number.
    sizes: Vec<f64>,
    products: Vec<usize>,
}

impl Sums {
    fn zero(n: usize) -> Sums {
        Sums { sums: vec![DoubleDouble::default(); n], sizes: vec![0.0; n], products: vec![0; n] }
    }

    #[inline]
    fn add(&mut self, i: usize, a: f64, b: f64) {
        self.sums[i].add_product(a, b);
        self.sizes[i] += (a * b).abs();
        self.products[i] += 1;
    }

    /// Subtracts `H x`.
    fn subtract(&mut self, h: &Csr, x: &[f64]) {
        for i in 0..self.sums.len() {
            let (columns, values) = h.row(i);
            columns.iter().zip(values).for_each(|(&j, &h)| self.add(i, -h, x[j as usize]));
        }
    }

    fn values(&self) -> Vec<f64> {
        self.sums.iter().map(|sum| sum.value()).collect()
    }

    /// What rounding may have left of sum i.
    fn lost(&self, i: usize) -> f64 {
        double_double_rounding(self.products[i]) * self.sizes[i]
    }
}

/// An energy between two ends that hold with rounding, J.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Energy {
    pub least: f64,
    pub most: f64,
}

/// A point from which differences are taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Base {
    pub r: Vec<f64>,
    /// `W r + q`, and Coulomb's frozen shift.
    pub u: Vec<f64>,
    /// `Σ|terms|` of u: the size against which rounding is measured, m/s.
    pub terms: Vec<f64>,
    /// How far rounding may have led u astray, m/s.
    pub doubt: Vec<f64>,
}

/// Local velocities, and what rounding may have added to each of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Velocities {
    pub u: Vec<f64>,
    pub noise: Vec<f64>,
}

/// How far a point is from being feasible.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lack {
    /// Largest lack of normal velocity, rounding included; negative: strictly feasible. Equality
    /// rows do not count.
    pub normal: f64,
    /// Largest distance of a block's û from K*, m/s.
    pub distance: f64,
    /// The same relative to the block's terms.
    pub relative: f64,
    /// The same relative to the largest terms of any row.
    pub overall: f64,
}

impl Frame {
    /// Makes this the frame of `problem`; false if H is not positive definite.
    pub fn set(&mut self, problem: &Problem) -> bool {
        if self.prepared.prepare(problem).is_err() {
            return false;
        }
        self.reducer.reduce(problem, self.prepared.factor(), &mut self.reduced);
        self.J.get_or_insert_default().clone_from(&problem.J);
        self.H.clone_from(&problem.H);
        self.E.clone_from(&problem.E);
        self.law_tables();
        self.measure_rounding();
        true
    }

    /// `√(H⁻¹)_jj`: exactly for small cliques, by the least eigenvalue for large ones; and what an
    /// entry of W may lose: some operations for each unknown of a clique, times the condition of
    /// H with a unit diagonal.
    fn measure_rounding(&mut self) {
        let factor = self.prepared.factor();
        self.reach.clear();
        self.reach.resize(self.H.rows, 0.0);
        let (mut x, mut largest) = (Vec::new(), 0);
        for c in 0..factor.cliques.len() {
            let members = factor.cliques.members(c).to_vec();
            let n = members.len();
            largest = largest.max(n);
            x.clear();
            if factor.dense(c).is_some() {
                x.resize(n * n, 0.0);
                (0..n).for_each(|p| x[p * (n + 1)] = 1.0);
                factor.solve_clique(c, &mut x);
                let diagonal = members.iter().enumerate().map(|(p, j)| (*j, x[p * (n + 1)]));
                diagonal.for_each(|(j, x)| self.reach[j as usize] = x.max(0.0).sqrt());
                continue;
            }
            x.extend((0..n).map(|i| (1.0 + 12.9898 * i as f64).sin()));
            let mut inverse = 0.0;
            for _ in 0..EIGENVALUE_STEPS {
                let size = crate::math::norm(&x);
                x.iter_mut().for_each(|x| *x /= size);
                factor.solve_clique(c, &mut x);
                inverse = crate::math::norm(&x);
            }
            let reach = (EIGENVALUE_MARGIN * inverse).sqrt();
            members.iter().for_each(|&j| self.reach[j as usize] = reach);
        }
        let condition = |j: usize| self.H.get(j, j) * self.reach[j] * self.reach[j];
        let condition = (0..self.H.rows).map(condition).fold(1.0, f64::max);
        self.entry_rounding = (OPERATIONS_PER_ENTRY + 4.0 * largest as f64) * condition;
    }

    /// Makes this the frame of a reduced problem.
    pub fn set_reduced(&mut self, reduced: &Reduced) {
        self.prepared.prepare_reduced(reduced);
        self.reduced.clone_from(reduced);
        self.J = None;
        // W is given.
        self.entry_rounding = 0.0;
        self.law_tables();
    }

    fn law_tables(&mut self) {
        self.laws.clear();
        self.laws.extend(self.reduced.laws.iter().map(|law| law.associated()));
        self.starts.clone_from(&self.reduced.row_starts);
    }

    pub fn w(&self) -> &Csr {
        &self.reduced.W
    }

    pub fn rows(&self) -> usize {
        self.reduced.rows()
    }

    pub fn range(&self, k: usize) -> std::ops::Range<usize> {
        self.starts[k]..self.starts[k + 1]
    }

    /// The base point at reactions `r` of a problem; also the energy of the momentum defect of `v`,
    /// J: at most so much.
    pub fn base(&mut self, problem: &Problem, v: &[f64], r: &[f64]) -> (Base, f64) {
        // ρ = k + Jᵀ r − H v, then the velocity that belongs to r is v + H⁻¹ρ.
        let mut rho = Sums::zero(problem.n());
        problem.k.iter().enumerate().for_each(|(i, &k)| rho.add(i, k, 1.0));
        for block in problem.J.blocks() {
            for i in 0..block.rows {
                let r = r[block.first + i];
                let columns = block.columns.iter().zip(block.row(i));
                columns.for_each(|(&j, &a)| rho.add(j as usize, a, r));
            }
        }
        rho.subtract(&problem.H, v);
        let defect = self.kinetic(&rho).most;
        // In two steps: the rounding of the first is the second's right-hand side.
        let mut steps = [Vec::new(), Vec::new()];
        for step in &mut steps {
            *step = rho.values();
            self.prepared.factor().solve(step);
            rho.subtract(&problem.H, step);
        }
        let doubt = self.doubt_of_velocities(&rho);
        let m = r.len();
        let mut base =
            Base { r: r.to_vec(), u: vec![0.0; m], terms: vec![0.0; m], doubt: vec![0.0; m] };
        for block in problem.J.blocks() {
            for i in 0..block.rows {
                let row = block.first + i;
                let mut sum = DoubleDouble::new(problem.w[row]);
                let mut size = problem.w[row].abs() + (problem.E[row] * r[row]).abs();
                let mut corrected = 0.0;
                sum.add_product(problem.E[row], r[row]);
                for (&j, &a) in block.columns.iter().zip(block.row(i)) {
                    let j = j as usize;
                    sum.add_product(a, v[j]);
                    steps.iter().for_each(|step| sum.add_product(a, step[j]));
                    size += (a * v[j]).abs();
                    corrected += (a * steps[0][j]).abs();
                    base.doubt[row] += a.abs() * doubt[j];
                }
                (base.u[row], base.terms[row]) = (sum.value(), size);
                base.doubt[row] +=
                    double_double_rounding(3 * block.columns.len() + 2) * (size + corrected);
            }
        }
        (base, defect)
    }

    /// How far each velocity may be from the right one where `rest` is what their momentum lacks:
    /// clique by clique in the norm of H.
    fn doubt_of_velocities(&mut self, rest: &Sums) -> Vec<f64> {
        let rho = rest.values();
        let mut x = rho.clone();
        self.prepared.factor().solve(&mut x);
        let cliques = &self.prepared.factor().cliques;
        let mut out = vec![0.0; rho.len()];
        for c in 0..cliques.len() {
            let members = || cliques.members(c).iter().map(|&j| j as usize);
            let known: f64 = members().map(|j| rho[j] * x[j]).sum();
            let lost: f64 = members().map(|j| rest.lost(j) * self.reach[j]).sum();
            // Twice: the solve itself rounds.
            let size = 2.0 * known.max(0.0).sqrt() + lost;
            members().for_each(|j| out[j] = self.reach[j] * size);
        }
        out
    }

    /// The base point at reactions `r` of the reduced problem.
    pub fn base_reduced(&self, r: &[f64]) -> Base {
        let m = r.len();
        let mut base =
            Base { r: r.to_vec(), u: vec![0.0; m], terms: vec![0.0; m], doubt: vec![0.0; m] };
        for i in 0..m {
            let (columns, values) = self.w().row(i);
            let mut sum = DoubleDouble::new(self.reduced.q[i]);
            base.terms[i] = self.reduced.q[i].abs();
            for (&j, &w) in columns.iter().zip(values) {
                sum.add_product(w, r[j as usize]);
                base.terms[i] += (w * r[j as usize]).abs();
            }
            base.u[i] = sum.value();
            base.doubt[i] = double_double_rounding(columns.len() + 1) * base.terms[i];
        }
        base
    }

    /// De Saxcé's shift of every Coulomb block at local velocities `u`.
    pub fn shifts(&self, u: &[f64]) -> Vec<f64> {
        let blocks = self.reduced.laws.iter().enumerate();
        blocks.map(|(k, law)| law.shift(&u[self.range(k)])).collect()
    }

    /// Adds the shifts to the normal velocities of a base point.
    pub fn add_shifts(&self, shifts: &[f64], base: &mut Base) {
        for (k, shift) in shifts.iter().enumerate() {
            base.u[self.starts[k]] += shift;
        }
    }

    /// `û = u + W y`.
    pub fn velocities(&self, base: &Base, y: &[f64], out: &mut Velocities) {
        out.u.clear();
        out.noise.clear();
        let roots: Vec<f64> = (0..y.len()).map(|i| self.w().get(i, i).max(0.0).sqrt()).collect();
        for (i, &u) in base.u.iter().enumerate() {
            let (columns, values) = self.w().row(i);
            let (mut sum, mut size) = (u, u.abs());
            for (&j, &w) in columns.iter().zip(values) {
                let j = j as usize;
                sum += w * y[j];
                // The terms of an entry of W may cancel: together they are at most √(W_ii W_jj).
                size += w.abs().max(roots[i] * roots[j]) * y[j].abs();
            }
            out.u.push(sum);
            // Each of the sums rounds once per term, beside the entries of W.
            let roundings = (columns.len() + 2) as f64 + self.entry_rounding;
            let rounding = UNIT_ROUNDOFF * (roundings * (size - u.abs()) + u.abs());
            out.noise.push(rounding + UNIT_ROUNDOFF * sum.abs() + base.doubt[i]);
        }
    }

    /// `½‖H⁻¹Jᵀe‖²_H` and `½ eᵀE e` (all of it in the first for a reduced problem).
    pub fn energy(&mut self, e: &[DoubleDouble]) -> [Energy; 2] {
        let Some(rows) = &self.J else { return [self.reduced_energy(e), Energy::default()] };
        let mut force = Sums::zero(rows.cols);
        for block in rows.blocks() {
            for i in 0..block.rows {
                let [high, low] = e[block.first + i].parts();
                for (&j, &a) in block.columns.iter().zip(block.row(i)) {
                    force.add(j as usize, a, high);
                    force.add(j as usize, a, low);
                }
            }
        }
        let terms = e.iter().zip(&self.E).map(|(e, c)| c * e.value() * e.value());
        let soft = 0.5 * terms.sum::<f64>();
        let wide = (e.len() + 8) as f64 * f64::EPSILON;
        let soft = Energy { least: soft * (1.0 - wide), most: soft * (1.0 + wide) };
        [self.kinetic(&force), soft]
    }

    /// `½ fᵀH⁻¹f`, with x ≈ H⁻¹f and `ρ = f − H x` in double-double precision:
    /// `fᵀH⁻¹f = x·(f + ρ) + ρᵀH⁻¹ρ`.
    fn kinetic(&mut self, force: &Sums) -> Energy {
        let mut x = force.values();
        self.prepared.factor().solve(&mut x);
        let mut rest = force.clone();
        rest.subtract(&self.H, &x);
        let rho = rest.values();
        let (mut sum, mut size, mut left) = (DoubleDouble::default(), 0.0, 0.0);
        for i in 0..x.len() {
            for part in force.sums[i].parts().into_iter().chain([rho[i]]) {
                sum.add_product(x[i], part);
                size += (x[i] * part).abs();
            }
            left += rest.lost(i) * self.reach[i];
        }
        let mut correction = rho.clone();
        self.prepared.factor().solve(&mut correction);
        let (known, second) = (sum.value().max(0.0), dot(&rho, &correction).max(0.0));
        let lost = double_double_rounding(3 * x.len()) * size;
        let few = 8.0 * f64::EPSILON;
        let most = (0.5 * (known + lost + 2.0 * second)).sqrt() * (1.0 + few) + left;
        let least = ((0.5 * (known - lost).max(0.0)).sqrt() * (1.0 - few) - left).max(0.0);
        Energy { least: least * least, most: most * most }
    }

    /// `½ eᵀW e`.
    fn reduced_energy(&self, e: &[DoubleDouble]) -> Energy {
        let (mut sum, mut size, mut left) = (0.0, 0.0, 0.0);
        for (i, own) in e.iter().enumerate() {
            let (columns, values) = self.w().row(i);
            let mut image = DoubleDouble::default();
            let mut terms = 0.0;
            for (&j, &w) in columns.iter().zip(values) {
                let [high, low] = e[j as usize].parts();
                image.add_product(w, high);
                image.add_product(w, low);
                terms += (w * high).abs();
            }
            let (own, image) = (own.value(), image.value());
            sum += own * image;
            size += own.abs() * image.abs();
            left += double_double_rounding(2 * columns.len()) * own.abs() * terms;
        }
        let rounding = (e.len() + 8) as f64 * f64::EPSILON * size + left;
        Energy { least: 0.5 * (sum - rounding).max(0.0), most: 0.5 * (sum.max(0.0) + rounding) }
    }

    /// How far these velocities are from being feasible.
    pub fn lack(&self, base: &Base, at: &Velocities) -> Lack {
        let mut worst = Lack { normal: f64::NEG_INFINITY, ..Lack::default() };
        for (k, law) in self.laws.iter().enumerate() {
            let range = self.range(k);
            let (u, noise) = (&at.u[range.clone()], &at.noise[range.clone()]);
            let normal = lack_of_block(law, u, noise);
            worst.normal = worst.normal.max(normal);
            let open = matches!(law.recession(), Law::Equality);
            if normal > 0.0 || open {
                let distance = law.recession().dual_distance(u);
                let terms = base.terms[range.clone()].iter().fold(0.0f64, |m, x| m.max(*x));
                // Rounding counts, but that of the base point: a large y that cancels leaves
                // nothing to rely on.
                let doubt: f64 = base.doubt[range.clone()].iter().sum();
                let reach = distance + (noise.iter().sum::<f64>() - doubt).max(0.0);
                worst.distance = worst.distance.max(reach);
                worst.relative = worst.relative.max(if reach > 0.0 { reach / terms } else { 0.0 });
            }
            if u.iter().any(|x| !x.is_finite()) {
                worst = Lack {
                    normal: f64::INFINITY,
                    distance: f64::INFINITY,
                    relative: f64::INFINITY,
                    overall: f64::INFINITY,
                };
            }
        }
        let largest = base.terms.iter().fold(0.0f64, |m, x| m.max(*x));
        worst.overall = if worst.distance > 0.0 { worst.distance / largest } else { 0.0 };
        worst
    }

    /// `Σ d_k ‖r*_k‖`: what moving û by its distance d_k from K* may be worth, with r* estimated
    /// from `r`, J.
    pub fn moving(&self, at: &Velocities, r: &[f64]) -> f64 {
        let a = self.prepared.a();
        let size = |k: usize| crate::math::norm(&r[self.range(k)]);
        let mean = (0..a.len()).map(|k| a[k].sqrt() * size(k)).sum::<f64>() / a.len().max(1) as f64;
        let one = |k: usize| {
            let law = self.laws[k].recession();
            let distance = law.dual_distance(&at.u[self.range(k)]);
            if distance > 0.0 { distance * (4.0 * size(k) + 2.0 * mean / a[k].sqrt()) } else { 0.0 }
        };
        (0..a.len()).map(one).sum()
    }

    /// `Σ r̂·û + φ(û)` with û moved into K* where it is not, rounding included, J.
    pub fn products(&self, at: &Velocities, r: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (k, law) in self.laws.iter().enumerate() {
            let range = self.range(k);
            sum += product(law, &at.u[range.clone()], &at.noise[range.clone()], &r[range]);
        }
        sum
    }
}

/// By how much the normal velocity of a block is too small, with rounding; negative: strictly
/// inside K*.
pub(super) fn lack_of_block(law: &Law, u: &[f64], noise: &[f64]) -> f64 {
    match law.recession() {
        Law::Equality => f64::NEG_INFINITY,
        Law::Unilateral => noise[0] - u[0],
        Law::Interval { lo, hi } => {
            let above = if hi > 0.0 { noise[0] - u[0] } else { f64::NEG_INFINITY };
            let below = if lo < 0.0 { noise[0] + u[0] } else { f64::NEG_INFINITY };
            above.max(below)
        }
        Law::Cone { mu, .. } | Law::Coulomb { mu, .. } => {
            let tangent = if mu == 0.0 {
                0.0
            } else {
                mu * (tangent_norm(u) + noise[1..].iter().sum::<f64>())
            };
            tangent * (1.0 + 4.0 * f64::EPSILON) + noise[0] - u[0]
        }
    }
}

/// `r·û + φ(û)` of one block, û moved into K*, never below its true value by more than rounding.
fn product(law: &Law, u: &[f64], noise: &[f64], r: &[f64]) -> f64 {
    let unsure: f64 = r
        .iter()
        .zip(u)
        .zip(noise)
        .map(|((r, u), e)| r.abs() * (e + 2.0 * f64::EPSILON * u.abs()))
        .sum();
    let value = match *law {
        Law::Equality => r[0].abs() * u[0].abs(),
        Law::Interval { lo, hi } => {
            // û may be of either sign by rounding. Against an infinite bound it is no more than
            // rounding: it counts as zero.
            let against = |u: f64, bound: f64| {
                if bound.is_finite() { (r[0] - bound) * u } else { r[0].abs() * u.abs() }
            };
            let (most, least) = (u[0] + noise[0], u[0] - noise[0]);
            let above = if most > 0.0 { against(most, lo) } else { 0.0 };
            let below = if least < 0.0 { against(least, hi) } else { 0.0 };
            above.max(below)
        }
        Law::Unilateral => r[0] * u[0].max(0.0),
        Law::Cone { .. } | Law::Coulomb { .. } => {
            // P_K*(û) = û + P_K(−û), by Moreau.
            let mut moved = pick(u).map(|u| -u);
            law.admit(&mut moved[..u.len()]);
            r.iter().zip(u).zip(moved).map(|((r, u), p)| r * (u + p)).sum::<f64>().max(0.0)
        }
    };
    value + unsure
}

/// The part of a vector that belongs to a block, with zeros behind.
pub(super) fn pick(x: &[f64]) -> [f64; MAX_ROWS] {
    let mut out = [0.0; MAX_ROWS];
    out[..x.len()].copy_from_slice(x);
    out
}
