//! The check of verdicts: the conditions of every law from their definition, and proofs that no
//! velocity satisfies all rows. It shares no code with the library.

use super::{Dd, Dense, dot};
use signorini_solve::problem::{Law, Problem, Reduced, Solution};

/// Rounding of a sum, as a part of the sum of its absolute terms.
const ROUNDING: f64 = 32.0 * f64::EPSILON;

/// A point of a problem, block by block.
struct Point<'a> {
    law: Law,
    u: Vec<f64>,
    /// What rounding may have changed in u, m/s.
    noise: f64,
    r: &'a [f64],
    /// The mean diagonal entry of W.
    a: f64,
}

/// Whether a solution satisfies the momentum equation and all laws to `tol`, m/s.
pub fn satisfied(problem: &Problem, solution: &Solution, tol: f64) -> Result<(), String> {
    let dense = Dense::of(problem);
    let lift = |x: &[f64]| x.iter().map(|&x| Dd::from(x)).collect::<Vec<_>>();
    let (v, r) = (lift(&solution.v), lift(&solution.r));
    // Momentum, as a velocity: what exceeds the rounding of its terms.
    let force = dense.force(&r);
    for i in 0..dense.n {
        let rho = dense.k[i] + force[i] - dot(&dense.h[i], &v);
        let acting = (0..dense.m).map(|row| (dense.j[row][i].0 * r[row].0).abs()).sum::<f64>();
        let inertia = (0..dense.n).map(|c| (dense.h[i][c].0 * v[c].0).abs()).sum::<f64>();
        let size = dense.k[i].0.abs() + acting + inertia;
        let mass = dense.h[i].iter().map(|h| h.0.abs()).sum::<f64>();
        if !(rho.value().abs() <= ROUNDING * size + 2.0 * tol * mass) {
            return Err(format!("momentum of unknown {i}: {:e} of {size:e}", rho.value()));
        }
    }
    let (u, terms) = (dense.local(&v, &r), dense.terms(&v, &r));
    let diagonal: Vec<f64> = (0..dense.m)
        .map(|i| (dot(&dense.j[i], &dense.solve(&dense.j[i])) + dense.e[i]).value())
        .collect();
    let u: Vec<f64> = u.into_iter().map(Dd::value).collect();
    every_block(&dense.blocks, &u, &terms, &diagonal, &solution.r, tol)
}

/// The same for reactions of a reduced problem.
pub fn satisfied_reduced(reduced: &Reduced, r: &[f64], tol: f64) -> Result<(), String> {
    let (mut u, mut terms, mut diagonal) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..r.len() {
        let (columns, values) = reduced.W.row(i);
        let (mut sum, mut size, mut own) = (Dd::from(reduced.q[i]), reduced.q[i].abs(), 0.0);
        for (&j, &w) in columns.iter().zip(values) {
            sum = sum + Dd::from(w) * r[j as usize].into();
            size += (w * r[j as usize]).abs();
            own += if j as usize == i { w } else { 0.0 };
        }
        u.push(sum.value());
        terms.push(size);
        diagonal.push(own);
    }
    let mut first = 0;
    let place = |law: &Law| {
        first += law.rows();
        (first - law.rows(), *law)
    };
    let blocks: Vec<(usize, Law)> = reduced.laws.iter().map(place).collect();
    every_block(&blocks, &u, &terms, &diagonal, r, tol)
}

fn every_block(
    blocks: &[(usize, Law)],
    u: &[f64],
    terms: &[f64],
    diagonal: &[f64],
    r: &[f64],
    tol: f64,
) -> Result<(), String> {
    let means: Vec<f64> = blocks
        .iter()
        .map(|(first, law)| {
            diagonal[*first..first + law.rows()].iter().sum::<f64>() / law.rows() as f64
        })
        .collect();
    // A block that nothing moves is judged with the mean of the others.
    let good: Vec<f64> = means.iter().copied().filter(|a| *a > 0.0).collect();
    let common = if good.is_empty() { 1.0 } else { good.iter().sum::<f64>() / good.len() as f64 };
    for (k, (first, law)) in blocks.iter().enumerate() {
        let rows = *first..first + law.rows();
        let noise = ROUNDING * terms[rows.clone()].iter().fold(0.0f64, |m, x| m.max(*x));
        let a = if means[k] > 0.0 { means[k] } else { common };
        let point = Point { law: *law, u: u[rows.clone()].to_vec(), noise, r: &r[rows], a };
        point.verify(tol).map_err(|(what, by)| {
            format!(
                "block {k} {law:?}: {what} by {by:e} (tolerance {tol:e} m/s, rounding {noise:e}), \
                 u {:?}, r {:?}, a {a:e}",
                point.u, point.r
            )
        })?;
    }
    Ok(())
}

fn tangent(x: &[f64]) -> f64 {
    x[1..].iter().map(|x| x * x).sum::<f64>().sqrt()
}

impl Point<'_> {
    /// A residual map of at most `tol` (m/s) allows these and no more: the map is written out for
    /// each law in `problem::law`, the inequalities follow from it by hand.
    fn verify(&self, tol: f64) -> Result<(), (&'static str, f64)> {
        let Point { law, u, noise, r, a } = self;
        let a = *a;
        // A factor of two over the inequality, for the rounding of u and of the map.
        let tol = 2.0 * tol + noise;
        match *law {
            Law::Equality if !(u[0].abs() <= tol) => Err(("moves", u[0])),
            Law::Equality => Ok(()),
            Law::Unilateral => self.between(0.0, f64::INFINITY, tol),
            Law::Interval { lo, hi } => self.between(lo, hi, tol),
            Law::Cone { mu, .. } => {
                let (ut, rt) = (tangent(u), tangent(r));
                if -r[0] * a > tol || (rt - mu * r[0].max(0.0)) * a > (1.0 + mu) * tol {
                    return Err(("reaction outside the cone", rt - mu * r[0]));
                }
                if !((mu * ut - u[0]) / (1.0 + mu) <= tol) {
                    return Err(("velocity outside the dual cone", mu * ut - u[0]));
                }
                let power = u.iter().zip(*r).map(|(u, r)| u * r).sum::<f64>().abs();
                let (us, rs) = (u[0].hypot(ut), r[0].hypot(rt));
                if power > tol / a * (us + a * rs + tol) {
                    return Err(("power", power));
                }
                Ok(())
            }
            Law::Coulomb { mu, .. } => self.coulomb(mu, tol),
        }
    }

    fn between(&self, lo: f64, hi: f64, tol: f64) -> Result<(), (&'static str, f64)> {
        let (u, r, a) = (self.u[0], self.r[0], self.a);
        let outside = (lo - r).max(r - hi);
        if !(outside * a <= tol) {
            return Err(("reaction outside its bounds", outside));
        }
        if !(u <= tol || (r - lo) * a <= tol) || !(u >= -tol || (hi - r) * a <= tol) {
            return Err(("moves although the reaction is free", u));
        }
        Ok(())
    }

    fn coulomb(&self, mu: f64, tol: f64) -> Result<(), (&'static str, f64)> {
        let Point { u, r, a, .. } = self;
        let (ut, rt) = (tangent(u), tangent(r));
        if !(-r[0] * a <= tol) {
            return Err(("pulls", -r[0]));
        }
        if !(u[0] >= -tol) {
            return Err(("passes through", -u[0]));
        }
        if u[0] > tol && r[0] * a > tol {
            return Err(("opens and presses", u[0].min(r[0] * a)));
        }
        if (rt - mu * r[0].max(0.0)) * a > (1.0 + mu) * tol {
            return Err(("friction beyond its limit", rt - mu * r[0]));
        }
        if ut > 4.0 * tol {
            let along = |i: usize| (r[i] + mu * r[0] * u[i] / ut).powi(2);
            let miss = (1..r.len()).map(along).sum::<f64>().sqrt();
            if miss * a > tol * (1.0 + mu + 2.0 * mu * r[0].abs() * a / ut) {
                return Err(("slides without its friction", miss));
            }
        }
        Ok(())
    }
}

/// Whether a ray d proves that no velocity satisfies all rows: d is a direction in which reactions
/// may grow without end, and no velocity of a million times the data's own makes up for `w·d < 0`.
pub fn proves(problem: &Problem, ray: &[f64]) -> Result<(), String> {
    let dense = Dense::of(problem);
    let d: Vec<Dd> = ray.iter().map(|&x| x.into()).collect();
    for &(first, law) in &dense.blocks {
        let part = &ray[first..first + law.rows()];
        let bad = match law {
            Law::Equality => false,
            Law::Unilateral => part[0] < 0.0,
            Law::Interval { lo, hi } => {
                (part[0] > 0.0 && hi.is_finite()) || (part[0] < 0.0 && lo.is_finite())
            }
            Law::Cone { mu, .. } => tangent(part) > mu * part[0] * (1.0 + 1e-15),
            Law::Coulomb { .. } => part[0] < 0.0 || part[1..].iter().any(|t| *t != 0.0),
        };
        if bad {
            return Err(format!("{law:?} does not allow {part:?}"));
        }
        if (first..first + law.rows()).any(|i| ray[i] != 0.0 && dense.e[i].0 != 0.0) {
            return Err("a compliant row takes part".into());
        }
    }
    let force = dense.force(&d);
    let leak = dot(&force, &dense.solve(&force)).value().max(0.0).sqrt();
    let against = -dot(&d, &dense.w).value();
    let free = dense.velocity(&vec![Dd::default(); dense.m]);
    let speed = (2.0 * dense.apart(&free, &vec![Dd::default(); dense.n])).sqrt();
    if against > 0.0 && against >= 1e6 * leak * speed {
        Ok(())
    } else {
        Err(format!("w·d = −{against:e}, ‖Jᵀd‖ = {leak:e}, ‖v₀‖ = {speed:e}"))
    }
}

/// What a search for a velocity that satisfies all rows finds.
#[derive(Clone, Debug)]
pub enum Search {
    /// One that violates the rows by no more than this part of the velocities in the data.
    Velocity(f64),
    /// A ray that may prove that there is none.
    Ray(Vec<f64>),
}

/// Looks for the velocity that violates the rows least, `min ½ Σ dist²(J v + w, K∞*)/a`, by an
/// accelerated gradient method in `x = Lᵀv`, H = L Lᵀ. What is left of the violation is a ray.
pub fn search(problem: &Problem) -> Search {
    let dense = Dense::of(problem);
    let m = dense.m;
    // Rows in the coordinates x, blocks scaled to a = 1; compliant blocks yield.
    let mut rows = vec![vec![0.0; dense.n]; m];
    let (mut w, mut scale, mut held) = (vec![0.0; m], vec![1.0; m], vec![false; m]);
    for &(first, law) in &dense.blocks {
        let range = first..first + law.rows();
        let stiff = range.clone().all(|i| dense.e[i].0 == 0.0);
        let white: Vec<Vec<f64>> = range.clone().map(|i| dense.whiten(&dense.j[i])).collect();
        let a = white.iter().flatten().map(|x| x * x).sum::<f64>() / law.rows() as f64;
        let size = if a > 0.0 { a.sqrt() } else { 1.0 };
        for (i, white) in range.zip(white) {
            (held[i], scale[i], w[i]) = (stiff, size, dense.w[i].0 / size);
            rows[i] = white.iter().map(|x| x / size).collect();
        }
    }
    // In units of the data, so that nothing underflows.
    let unit = w.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    if unit == 0.0 {
        return Search::Velocity(0.0);
    }
    w.iter_mut().for_each(|w| *w /= unit);
    let step = 1.0 / rows.iter().flatten().map(|x| x * x).sum::<f64>().max(1.0);
    let lack = |x: &[f64]| {
        let mut d = vec![0.0; m];
        for &(first, law) in dense.blocks.iter().filter(|(first, _)| held[*first]) {
            let range = first..first + law.rows();
            let u: Vec<f64> = range
                .clone()
                .map(|i| w[i] + rows[i].iter().zip(x).map(|(a, x)| a * x).sum::<f64>())
                .collect();
            d[range].copy_from_slice(&lacking(&law, &u));
        }
        d
    };
    let size = |d: &[f64]| d.iter().map(|d| d * d).sum::<f64>();
    let (mut x, mut y, mut t) = (vec![0.0; dense.n], vec![0.0; dense.n], 1.0f64);
    let mut value = f64::INFINITY;
    let ray = |x: &[f64]| lack(x).iter().zip(&scale).map(|(d, s)| d / s).collect::<Vec<f64>>();
    for at in 1..=MAX_SEARCH_STEPS {
        let d = lack(&y);
        let now = size(&d);
        if now <= 1e-26 {
            return Search::Velocity(now.sqrt());
        }
        let mut next = y.clone();
        for (row, d) in rows.iter().zip(&d) {
            next.iter_mut().zip(row).for_each(|(x, a)| *x += step * a * d);
        }
        // Momentum starts anew where the violation grows.
        let further = if now > value { 1.0 } else { 0.5 * (1.0 + (1.0 + 4.0 * t * t).sqrt()) };
        let momentum = (t - 1.0) / further;
        y = next.iter().zip(&x).map(|(n, x)| n + momentum * (n - x)).collect();
        (x, t, value) = (next, further, now);
        if at % SEARCH_STEPS_PER_LOOK == 0 && proves(problem, &ray(&x)).is_ok() {
            break;
        }
    }
    Search::Ray(ray(&x))
}

/// The most steps of the search.
const MAX_SEARCH_STEPS: usize = 400_000;
/// After so many steps the ray may be a proof already.
const SEARCH_STEPS_PER_LOOK: usize = 5000;

/// `P(u) − u`: what u lacks to be a velocity that the law admits, a direction of its reactions.
fn lacking(law: &Law, u: &[f64]) -> Vec<f64> {
    let mut d = vec![0.0; u.len()];
    match *law {
        Law::Equality => d[0] = -u[0],
        Law::Unilateral | Law::Coulomb { .. } => d[0] = (-u[0]).max(0.0),
        Law::Interval { lo, hi } => {
            let (up, down) = (hi == f64::INFINITY, lo == f64::NEG_INFINITY);
            if up && u[0] < 0.0 || down && u[0] > 0.0 {
                d[0] = -u[0];
            }
        }
        Law::Cone { mu, .. } => {
            let (n, t) = (u[0], tangent(u));
            if t <= -mu * n {
                d.iter_mut().zip(u).for_each(|(d, u)| *d = -u);
            } else if n < mu * t {
                // −P of −u on K, whose edge is (1, mu): the foot on it.
                let foot = (mu * t - n) / (1.0 + mu * mu);
                d[0] = foot;
                (1..u.len()).for_each(|i| d[i] = -mu * foot * u[i] / t);
            }
        }
    }
    d
}
