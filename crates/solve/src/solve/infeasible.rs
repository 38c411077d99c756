//! Constraints that contradict each other, with a proof that anybody can check.
//!
//! # Equation
//!
//! No velocity satisfies all rows if a combination of reactions says so (Farkas):
//!
//! ```text
//!   d ∈ K∞,   Jᵀd = 0,   E d = 0,   w·d < 0        then û·d = w·d < 0 for every v, but û·d ≥ 0 on K∞*
//! ```
//!
//! K∞: the directions in which reactions may grow without end (none for an interval with finite
//! bounds; the normal alone for Coulomb's law, which asks of the velocities no more than u_n ≥ 0).
//! In floating point `Jᵀd` is small instead of zero: d then excludes all velocities with
//! `‖v‖_H < −w·d / ‖Jᵀd‖_H⁻¹`, and counts as a proof if these are [`EXCLUDED_VELOCITY_RATIO`] times
//! what the data amount to.
//!
//! # Algorithm
//!
//! The velocity that violates the rows least, `min ½ Σ dist²(J v + w, K∞*)/a`, leaves a violation
//! that is such a d (or zero). It is a problem of the same form, by proximal steps from v:
//!
//! ```text
//!   (η H) v⁺ = η H v + Jᵀd,    u = J v⁺ + a d + w,    (u, d) ∈ Law∞        ‖Jᵀd‖ = η‖v⁺ − v‖, which falls from step to step
//! ```
//!
//! always feasible (it is compliant), strongly convex, and solved by the methods at hand. Cost: a
//! few solves; for a step that has failed.

use super::{DynSolver, Method, Report, Status, StoppingCriteria};
use crate::math::cliques::CliqueFactor;
use crate::math::dot;
use crate::math::double_double::DoubleDouble;
use crate::math::sparse::Csr;
use crate::problem::{Law, PreparedProblem, Problem, Reduced, Solution, Tolerance};

/// Velocities excluded, as a multiple of those in the problem's own data.
const EXCLUDED_VELOCITY_RATIO: f64 = 1e6;
/// The least `−w·d` relative to its own terms.
const MIN_RAY_MARGIN: f64 = 1e-9;
/// Blocks with at least this part of the largest reaction of the ray are named.
const NAMED_REACTION_RATIO: f64 = 1e-3;
/// η: the weight of the proximal term, and the most steps.
const PROXIMAL_WEIGHT: f64 = 1e-6;
/// See [`PROXIMAL_WEIGHT`].
const MAX_PROXIMAL_STEPS: usize = 6;
/// Violations below this part of the velocities in the data are none.
const NEGLIGIBLE_VIOLATION: f64 = 1e-12;

/// A proof that no velocity satisfies all rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Contradiction {
    /// d (m).
    pub ray: Vec<f64>,
    /// The blocks that take part.
    pub blocks: Vec<usize>,
}

/// The law of d: Coulomb's asks for u_n ≥ 0 alone; what is compliant yields.
fn law_of_ray(law: &Law, compliance: &[f64]) -> Law {
    match *law {
        _ if compliance.iter().any(|e| *e > 0.0) => nothing(law),
        Law::Coulomb { rows, .. } => Law::Cone { mu: 0.0, rows },
        _ => law.recession(),
    }
}

/// A law without reactions, of as many rows.
fn nothing(law: &Law) -> Law {
    match law.rows() {
        1 => Law::Interval { lo: 0.0, hi: 0.0 },
        // Taken out by hand: see `restrict`.
        rows => Law::Cone { mu: 0.0, rows: rows as u8 },
    }
}

/// Puts a ray into K∞.
fn restrict(laws: &[Law], starts: &[usize], compliance: &[f64], ray: &mut [f64]) {
    for (k, law) in laws.iter().enumerate() {
        let range = starts[k]..starts[k + 1];
        if compliance[range.clone()].iter().any(|e| *e > 0.0) {
            ray[range].fill(0.0);
        } else {
            law_of_ray(law, &[]).admit(&mut ray[range]);
        }
    }
}

/// The contradiction in `problem`, if one is found.
pub fn contradiction(problem: &Problem) -> Option<Contradiction> {
    let mut prepared = PreparedProblem::of(problem).ok()?;
    let a = prepared.a().to_vec();
    let starts = &problem.J.row_starts;
    let mut nearest = problem.clone();
    nearest.H.values.iter_mut().for_each(|h| *h *= PROXIMAL_WEIGHT);
    for (k, law) in problem.laws.iter().enumerate() {
        nearest.laws[k] = law_of_ray(law, &problem.E[starts[k]..starts[k + 1]]);
        let soft = problem.E[starts[k]..starts[k + 1]].iter().any(|e| *e > 0.0);
        // What is compliant is made so soft that it does not matter.
        nearest.E[starts[k]..starts[k + 1]].fill(if soft { 1e12 * a[k] } else { a[k] });
    }
    let mut v = problem.k.clone();
    prepared.factor().solve(&mut v);
    let size = data(problem, &a, &v);
    for _ in 0..MAX_PROXIMAL_STEPS {
        nearest.H.mul(&v, &mut nearest.k);
        let answer = solve(|solver, out| {
            *out = Solution::zero(problem.n(), problem.rows());
            let report = solver.solve(&nearest, out).ok()?;
            Some(report.error.relative())
        })?;
        if let Some(proof) = proof(problem, &a, prepared.factor(), size, &answer.r) {
            return Some(proof);
        }
        // The violation that is left, √J.
        let left: f64 =
            answer.r.iter().enumerate().map(|(i, d)| d * d * nearest.E[i]).sum::<f64>().sqrt();
        if !(left > NEGLIGIBLE_VIOLATION * size) || answer.v == v {
            return None;
        }
        v = answer.v;
    }
    None
}

/// A method's word that `problem` is infeasible is kept where `ray`, or another one, proves it.
/// What is not proved is not said.
pub(super) fn confirm(problem: &Problem, report: &mut Report, ray: &[f64]) {
    if report.status != Status::Infeasible {
        return;
    }
    let own = || {
        let mut prepared = PreparedProblem::of(problem).ok()?;
        let (a, mut v) = (prepared.a().to_vec(), problem.k.clone());
        prepared.factor().solve(&mut v);
        let size = data(problem, &a, &v);
        (ray.len() == problem.rows()).then_some(())?;
        proof(problem, &a, prepared.factor(), size, ray)
    };
    conclude(report, own().or_else(|| contradiction(problem)));
}

/// As [`confirm`], for a reduced problem.
pub(super) fn confirm_reduced(reduced: &Reduced, report: &mut Report, ray: &[f64]) {
    if report.status != Status::Infeasible {
        return;
    }
    let own = || {
        let prepared = PreparedProblem::of_reduced(reduced);
        let fits = ray.len() == reduced.rows() && reduced.asymmetry() <= 1e-12;
        fits.then_some(())?;
        proof_reduced(reduced, prepared.a(), data_reduced(reduced, prepared.a()), ray)
    };
    conclude(report, own().or_else(|| contradiction_reduced(reduced)));
}

fn conclude(report: &mut Report, found: Option<Contradiction>) {
    report.conflict.clear();
    match found {
        Some(found) => report.conflict = found.blocks,
        None => report.status = Status::Stalled,
    }
}

/// The contradiction in a reduced problem, if one is found: no s with W s + q in K∞*; where W is
/// not symmetric, no such s in K.
pub fn contradiction_reduced(reduced: &Reduced) -> Option<Contradiction> {
    if reduced.asymmetry() > 1e-12 {
        return skew(reduced);
    }
    let prepared = PreparedProblem::of_reduced(reduced);
    let (a, m) = (prepared.a(), reduced.rows());
    let mut nearest = reduced.clone();
    nearest.laws.iter_mut().for_each(|law| *law = law_of_ray(law, &[]));
    let mut entries = Vec::with_capacity(reduced.W.values.len() + m);
    for k in 0..reduced.laws.len() {
        for i in reduced.range(k) {
            let (columns, values) = reduced.W.row(i);
            entries.extend(
                columns.iter().zip(values).map(|(&j, &w)| (i as u32, j, w / PROXIMAL_WEIGHT)),
            );
            entries.push((i as u32, i as u32, a[k]));
        }
    }
    nearest.W = Csr::from_triplets(m, m, &entries);
    let (mut s, mut image) = (vec![0.0; m], vec![0.0; m]);
    let size = data_reduced(reduced, a);
    for _ in 0..MAX_PROXIMAL_STEPS {
        reduced.W.mul(&s, &mut image);
        nearest.q.iter_mut().zip(&reduced.q).zip(&image).for_each(|((x, q), ws)| *x = q + ws);
        let answer = solve(|solver, out| {
            *out = Solution::zero(0, m);
            Some(solver.solve_reduced(&nearest, out).ok()?.error.relative())
        })?;
        if let Some(proof) = proof_reduced(reduced, a, size, &answer.r) {
            return Some(proof);
        }
        let left: f64 = (0..a.len())
            .map(|k| reduced.range(k).map(|i| a[k] * answer.r[i].powi(2)).sum::<f64>())
            .sum::<f64>()
            .sqrt();
        if !(left > NEGLIGIBLE_VIOLATION * size) {
            return None;
        }
        s.iter_mut().zip(&answer.r).for_each(|(s, d)| *s += d / PROXIMAL_WEIGHT);
    }
    None
}

/// The contradiction of a reduced problem of unilateral and equality rows whose W is not symmetric
/// (a linear complementarity problem):
///
/// ```text
///   d ∈ K,   (Wᵀd)_i ≤ 0  (equality: = 0),   q·d < 0        then u·d = r·Wᵀd + q·d < 0 for every r ∈ K
/// ```
///
/// d is the violation at the r ∈ K that violates least, found as in the symmetric case: velocities
/// r, rows W and, for r ≥ 0, I.
fn skew(reduced: &Reduced) -> Option<Contradiction> {
    if !reduced.laws.iter().all(|law| matches!(law, Law::Equality | Law::Unilateral)) {
        return None;
    }
    let (prepared, m) = (PreparedProblem::of_reduced(reduced), reduced.rows());
    let a = prepared.a();
    let mut nearest = Problem {
        H: Csr::diagonal(&a.iter().map(|a| PROXIMAL_WEIGHT * a.max(1e-12)).collect::<Vec<_>>()),
        ..Problem::default()
    };
    let held: Vec<u32> =
        (0..m as u32).filter(|&i| reduced.laws[i as usize] == Law::Unilateral).collect();
    let mut entries: Vec<(u32, u32, f64)> = Vec::new();
    for i in 0..m {
        let (columns, values) = reduced.W.row(i);
        entries.extend(columns.iter().zip(values).map(|(&j, &w)| (i as u32, j, w)));
    }
    entries.extend(held.iter().enumerate().map(|(p, &i)| ((m + p) as u32, i, 1.0)));
    nearest.laws =
        reduced.laws.iter().copied().chain(held.iter().map(|_| Law::Unilateral)).collect();
    nearest.J = crate::problem::Rows::from_csr(
        &Csr::from_triplets(m + held.len(), m, &entries),
        &nearest.laws,
    );
    nearest.w = reduced.q.iter().copied().chain(held.iter().map(|_| 0.0)).collect();
    nearest.E = a.iter().copied().chain(held.iter().map(|_| 0.0)).collect();
    nearest.k = vec![0.0; m];
    let mut v = vec![0.0; m];
    let size = (0..m).map(|i| reduced.q[i].powi(2) / a[i]).sum::<f64>().sqrt();
    for _ in 0..MAX_PROXIMAL_STEPS {
        nearest.H.mul(&v, &mut nearest.k);
        let answer = solve(|solver, out| {
            *out = Solution::zero(m, nearest.rows());
            Some(solver.solve(&nearest, out).ok()?.error.relative())
        })?;
        let ray = normal(&reduced.laws, &reduced.row_starts, &vec![0.0; m], a, &answer.r[..m])?;
        let mut image = vec![0.0; m];
        ray.iter().enumerate().for_each(|(i, d)| reduced.W.add_row(i, *d, &mut image));
        // Pushes of admissible reactions against d; those along it only help.
        let against = |i: usize| {
            if reduced.laws[i] == Law::Equality { image[i].abs() } else { image[i].max(0.0) }
        };
        let rounding = 8.0
            * f64::EPSILON
            * (0..m)
                .map(|i| reduced.W.row(i).1.iter().map(|w| (w * ray[i]).abs()).sum::<f64>())
                .sum::<f64>();
        let least = a.iter().fold(f64::INFINITY, |m, a| m.min(*a));
        let leak = ((0..m).map(against).sum::<f64>() + rounding) / least.sqrt();
        if let Some(found) =
            judged(&reduced.laws, &reduced.row_starts, a, &reduced.q, ray, leak * size)
        {
            return Some(found);
        }
        if answer.v == v {
            return None;
        }
        v = answer.v;
    }
    None
}

/// The better answer of the exact methods.
fn solve(
    mut attempt: impl FnMut(&mut dyn DynSolver, &mut Solution) -> Option<f64>,
) -> Option<Solution> {
    let tolerance = Tolerance {
        relative: 1e-24,
        velocity: f64::INFINITY,
        bound: Some(f64::MAX),
        velocity_relative: 0.0,
    };
    let mut best: Option<(f64, Solution)> = None;
    for (method, work) in [(Method::Newton, 60), (Method::InteriorPoint, 60)] {
        let mut out = Solution::default();
        let mut solver = method.build(StoppingCriteria {
            tolerance,
            work: Some(work),
            ..StoppingCriteria::default()
        });
        let Some(error) = attempt(solver.as_mut(), &mut out) else { continue };
        if best.as_ref().is_none_or(|(least, _)| error < *least) {
            best = Some((error, out));
        }
        if error <= tolerance.relative {
            break;
        }
    }
    best.map(|(_, answer)| answer)
}

/// The velocities in the data, as √J.
fn data(problem: &Problem, a: &[f64], free: &[f64]) -> f64 {
    let starts = &problem.J.row_starts;
    let rows: f64 = (0..a.len())
        .map(|k| problem.w[starts[k]..starts[k + 1]].iter().map(|w| w * w).sum::<f64>() / a[k])
        .sum();
    rows.sqrt().max(dot(free, &problem.k).max(0.0).sqrt())
}

/// The same of a reduced problem.
fn data_reduced(reduced: &Reduced, a: &[f64]) -> f64 {
    (0..a.len())
        .flat_map(|k| reduced.range(k).map(move |i| (k, i)))
        .map(|(k, i)| reduced.q[i].powi(2) / a[k])
        .sum::<f64>()
        .sqrt()
}

/// Whether `ray` proves that `problem` has no feasible velocity; `size` holds the velocities in its
/// data, √J.
fn proof(
    problem: &Problem,
    a: &[f64],
    factor: &mut CliqueFactor,
    size: f64,
    ray: &[f64],
) -> Option<Contradiction> {
    let starts = &problem.J.row_starts;
    let ray = normal(&problem.laws, starts, &problem.E, a, ray)?;
    let mut force = vec![DoubleDouble::default(); problem.n()];
    let mut rounding = vec![0.0; problem.n()];
    for block in problem.J.blocks() {
        for i in 0..block.rows {
            let d = ray[block.first + i];
            for (&j, &x) in block.columns.iter().zip(block.row(i)) {
                force[j as usize].add_product(x, d);
                rounding[j as usize] += (x * d).abs();
            }
        }
    }
    let force: Vec<f64> = force.into_iter().map(DoubleDouble::value).collect();
    let mut image = force.clone();
    factor.solve(&mut image);
    // The entries of J may be rounded themselves.
    let noise =
        rounding.iter().enumerate().map(|(i, x)| x * x / problem.H.get(i, i)).sum::<f64>().sqrt();
    let leak = dot(&force, &image).max(0.0).sqrt() + 2.0 * f64::EPSILON * noise;
    judged(&problem.laws, starts, a, &problem.w, ray, leak * size)
}

/// As [`proof`], for a reduced problem: û·d = s·Wᵀd + q·d.
fn proof_reduced(reduced: &Reduced, a: &[f64], size: f64, ray: &[f64]) -> Option<Contradiction> {
    let (starts, m) = (&reduced.row_starts, reduced.rows());
    let ray = normal(&reduced.laws, starts, &vec![0.0; m], a, ray)?;
    let (mut image, mut rounding) = (vec![DoubleDouble::default(); m], vec![0.0; m]);
    for (i, d) in ray.iter().enumerate() {
        let (columns, values) = reduced.W.row(i);
        for (&j, &w) in columns.iter().zip(values) {
            image[j as usize].add_product(w, *d);
            rounding[j as usize] += (w * d).abs();
        }
    }
    let mut leak = 0.0;
    for k in 0..a.len() {
        leak += reduced
            .range(k)
            .map(|i| (image[i].value().abs() + 2.0 * f64::EPSILON * rounding[i]) / a[k].sqrt())
            .sum::<f64>();
    }
    judged(&reduced.laws, starts, a, &reduced.q, ray, leak * size)
}

/// The ray within K∞, of size one in √J; none if nothing is left of it.
fn normal(
    laws: &[Law],
    starts: &[usize],
    compliance: &[f64],
    a: &[f64],
    ray: &[f64],
) -> Option<Vec<f64>> {
    let mut ray = ray.to_vec();
    if ray.iter().any(|x| !x.is_finite()) {
        return None;
    }
    restrict(laws, starts, compliance, &mut ray);
    let size = (0..a.len())
        .map(|k| a[k] * ray[starts[k]..starts[k + 1]].iter().map(|x| x * x).sum::<f64>())
        .sum::<f64>()
        .sqrt();
    if !(size > 0.0 && size.is_finite()) {
        return None;
    }
    ray.iter_mut().for_each(|x| *x /= size);
    // Division may have taken a cone's tangent over its edge.
    restrict(laws, starts, compliance, &mut ray);
    Some(ray)
}

/// `−w·d` against its own rounding and against what `Jᵀd ≠ 0` allows; names the blocks.
fn judged(
    laws: &[Law],
    starts: &[usize],
    a: &[f64],
    w: &[f64],
    ray: Vec<f64>,
    allowed: f64,
) -> Option<Contradiction> {
    let (mut sum, mut terms) = (DoubleDouble::default(), 0.0);
    for (w, d) in w.iter().zip(&ray) {
        sum.add_product(*w, *d);
        terms += (w * d).abs();
    }
    let against = -sum.value();
    if !(against > MIN_RAY_MARGIN * terms && against >= EXCLUDED_VELOCITY_RATIO * allowed) {
        return None;
    }
    let share = |k: usize| {
        a[k].sqrt() * ray[starts[k]..starts[k + 1]].iter().fold(0.0f64, |m, x| m.max(x.abs()))
    };
    let largest = (0..laws.len()).map(share).fold(0.0, f64::max);
    let blocks = (0..laws.len()).filter(|&k| share(k) >= NAMED_REACTION_RATIO * largest).collect();
    Some(Contradiction { ray, blocks })
}
