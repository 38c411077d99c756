//! The laws at their corners, against definitions that share no code with the library.
//!
//! A projection is tested as what it is, the nearest point, by a search for a nearer one. An
//! accepted solution is tested against the conditions of its law, written out row by row.

use proptest::prelude::*;
use signorini_solve::math::sparse::Csr;
use signorini_solve::problem::test_problems::Lcg;
use signorini_solve::problem::{Law, PreparedProblem, Problem, Rows, Solution, Tolerance};
use signorini_solve::solve::{Method, Status, StoppingCriteria};

/// Numbers from the corners: signed zeros, the least ones, large ones, and plain ones.
fn corner() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(-0.0),
        Just(f64::MIN_POSITIVE),
        Just(-f64::MIN_POSITIVE),
        Just(1e-300),
        Just(-1e-300),
        Just(1e150),
        Just(-1e150),
        -3.0..3.0f64,
        (-20.0..20.0f64).prop_map(|e| 10f64.powf(e)),
        (-20.0..20.0f64).prop_map(|e| -(10f64.powf(e))),
    ]
}

fn friction() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(1e-300),
        Just(1e20),
        Just(1e200),
        0.0..3.0f64,
        (-12.0..12.0f64).prop_map(|e| 10f64.powf(e))
    ]
}

/// The nearest point of the cone by its definition: of the point itself (if it is in the cone), the
/// tip, and the point of the ray `(c, s)` next to `(n, t)`, found by halving an interval. Numbers
/// are first scaled to 1.
fn nearest(mu: f64, n: f64, t: f64) -> (f64, f64) {
    let size = n.abs().max(t);
    if size == 0.0 {
        return (0.0, 0.0);
    }
    let (n, t) = (n / size, t / size);
    if n >= 0.0 && t <= mu * n {
        return (n * size, t * size);
    }
    let (c, s) = (
        1.0 / 1f64.hypot(mu),
        if mu > 1.0 { 1.0 / (1.0 / mu).hypot(1.0) } else { mu / 1f64.hypot(mu) },
    );
    // The slope of the distance along the ray, at x.
    let slope = |x: f64| (x * c - n) * c + (x * s - t) * s;
    if slope(0.0) >= 0.0 {
        return (0.0, 0.0);
    }
    let (mut low, mut high) = (0.0, 4.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if slope(middle) < 0.0 { low = middle } else { high = middle }
    }
    (low * c * size, low * s * size)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    /// Cones and discs of any opening, at any corner.
    #[test]
    fn the_projection_on_a_cone_is_the_nearest_point(mu in friction(), n in corner(),
    t in corner(), angle in 0.0..6.3f64, rows in 2..4u8) {
        for law in [Law::Cone { mu, rows }, Law::Coulomb { mu, rows }] {
            let mut x = if rows == 2 { vec![n, t] } else { vec![n, t * angle.cos(),
            t * angle.sin()] };
            let tangent = if rows == 2 { t.abs() } else { x[1].hypot(x[2]) };
            let (wanted_n, wanted_t) = nearest(mu, n, tangent);
            law.project(&mut x);
            let found_t = if rows == 2 { x[1].abs() } else { x[1].hypot(x[2]) };
            // The same formula in another order: a few roundings of the larger of the two numbers.
            let tolerance = 1e-14 * n.abs().max(tangent);
            prop_assert!((x[0] - wanted_n).abs() <= tolerance, "n: {} instead of {wanted_n}", x[0]);
            prop_assert!((found_t - wanted_t).abs() <= tolerance, "t: {found_t} instead of \
                {wanted_t}");
            prop_assert!(x[0] >= 0.0, "a reaction that pulls: {}", x[0]);
        }
    }

    /// One row: unilateral and interval.
    #[test]
    fn the_projection_on_bounds_is_the_nearest_point(x in corner(), lo in corner(),
    width in 0.0..4.0f64) {
        let mut r = [x];
        Law::Unilateral.project(&mut r);
        prop_assert_eq!(r[0], if x > 0.0 { x } else { 0.0 });
        let hi = lo + width;
        let mut r = [x];
        Law::Interval { lo, hi }.project(&mut r);
        prop_assert!(r[0] >= lo && r[0] <= hi && (r[0] == x || r[0] == lo || r[0] == hi));
        prop_assert!((r[0] - x).abs() <= (lo - x).abs().min((hi - x).abs()) || (x >= lo && x <= hi && r[0] == x));
    }

    /// The residual map vanishes only where the law holds, and is at least a tenth of how far it is
    /// violated: normal velocity and reaction, friction beyond its limit, sliding without the full
    /// friction, friction along the sliding.
    #[test]
    fn a_small_residual_means_that_the_law_holds(
        mu in friction(), rows in 2..4u8, u in prop::array::uniform3(corner()),
        r in prop::array::uniform3(corner()), coulomb in any::<bool>(),
    ) {
        let d = usize::from(rows);
        let (u, r) = (&u[..d], &r[..d]);
        let law = if coulomb { Law::Coulomb { mu, rows } } else { Law::Cone { mu, rows } };
        let mut out = [0.0; 3];
        law.natural(1.0, u, r, &mut out[..d]);
        let residual = out[..d].iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        // A reaction that pulls.
        prop_assert!(residual >= 0.1 * (-r[0]), "pulls by {}, residual {residual}", -r[0]);
        if coulomb {
            // Bodies that pass through each other.
            prop_assert!(residual >= 0.1 * (-u[0]), "closes at {}, residual {residual}", -u[0]);
            // A contact that opens and presses.
            prop_assert!(residual >= 0.1 * u[0].min(r[0]), "u {} r {}, residual {residual}", u[0],
            r[0]);
        }
        // What is not a number is not small.
        let mut broken = r.to_vec();
        broken[0] = f64::NAN;
        law.natural(1.0, u, &broken, &mut out[..d]);
        prop_assert!(!out[..d].iter().all(|x| x.abs() <= 1e300) || !broken.iter().all(|x| x.is_finite()));
    }
}

/// A contact without friction cannot pull: `H v = k + r`, `u = v`, v = 1 and r = 0, not v = 0 and r
/// = −1.
#[test]
fn no_contact_pulls_whatever_its_law_and_method() {
    for law in [
        Law::Unilateral,
        Law::Cone { mu: 0.0, rows: 3 },
        Law::Coulomb { mu: 0.0, rows: 3 },
        Law::Cone { mu: 0.0, rows: 2 },
        Law::Coulomb { mu: 0.0, rows: 2 },
    ] {
        let d = law.rows();
        let problem = contact(law, &[1.0, 0.0, 0.0][..d]);
        let mut prepared = PreparedProblem::of(&problem).expect("positive definite");
        let pulling = Solution {
            v: vec![0.0; d],
            r: {
                let mut r = vec![0.0; d];
                r[0] = -1.0;
                r
            },
        };
        let error = prepared.error(&problem, &pulling);
        assert!(
            !error.accepted(&Tolerance::default()),
            "{law:?}: a contact that pulls is accepted: {error:?}"
        );
        for method in Method::ALL {
            let mut solution = pulling.clone();
            let Ok(report) =
                method.build(StoppingCriteria::default()).solve(&problem, &mut solution)
            else {
                continue;
            };
            if report.status == Status::Converged {
                assert!(
                    (solution.v[0] - 1.0).abs() < 1e-9 && solution.r[0].abs() < 1e-9,
                    "{law:?} by {}: {solution:?}",
                    method.name()
                );
            }
        }
    }
}

/// One mass of 1 kg with d coordinates, one contact on all of them.
fn contact(law: Law, k: &[f64]) -> Problem {
    let d = law.rows();
    let identity: Vec<f64> = (0..d * d).map(|i| if i % (d + 1) == 0 { 1.0 } else { 0.0 }).collect();
    let mut rows = Rows::new(d);
    rows.push(d, &(0..d as u32).collect::<Vec<_>>(), &identity);
    let zero = vec![0.0; d];
    Problem {
        name: "one contact".into(),
        H: Csr::diagonal(&vec![1.0; d]),
        k: k.to_vec(),
        J: rows,
        E: zero.clone(),
        w: zero,
        laws: vec![law],
        names: Vec::new(),
    }
}

/// A ball pressed on the ground with more and more friction: it rests, by every method that says
/// so.
#[test]
fn friction_without_limit_holds() {
    for mu in [1.0, 10.0, 1e3, 1e6, 1e10, 1e20, 1e100] {
        for law in
            [Law::Coulomb { mu, rows: 3 }, Law::Coulomb { mu, rows: 2 }, Law::Cone { mu, rows: 3 }]
        {
            let d = law.rows();
            let problem = contact(law, &[-0.05, 0.01, 0.002][..d]);
            let mut solved = 0;
            for method in Method::ALL {
                let mut solution = Solution::zero(d, d);
                let Ok(report) =
                    method.build(StoppingCriteria::default()).solve(&problem, &mut solution)
                else {
                    continue;
                };
                if report.status == Status::Converged {
                    solved += 1;
                    // The velocity tolerance is 1e-6 m/s.
                    assert!(
                        solution.v.iter().all(|v| v.abs() <= 2e-6),
                        "{law:?} by {}: {solution:?}",
                        method.name()
                    );
                } else {
                    assert!(
                        *method != Method::Auto && *method != Method::Newton,
                        "{law:?} by {}: {report:?}",
                        method.name()
                    );
                }
            }
            assert!(solved >= 3, "{law:?}: {solved} methods");
        }
    }
}

/// A solution that any method calls converged satisfies its laws row by row, over all laws, scales
/// from 1e-9 to 1e9, dependent rows, rows that contradict each other, no friction and much of it.
#[test]
fn converged_means_that_the_conditions_hold() {
    let problems = std::env::var("SIGNORINI_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let mut converged = 0;
    for seed in 0..problems {
        let (problem, speed) = random(seed);
        let tolerance = Tolerance { velocity: 1e-6 * speed, ..Tolerance::default() };
        for method in Method::ALL {
            let mut solution = Solution::zero(problem.n(), problem.rows());
            let stop = StoppingCriteria {
                tolerance,
                work: (*method == Method::Psor).then_some(2000),
                ..StoppingCriteria::default()
            };
            let Ok(report) = method.build(stop).solve(&problem, &mut solution) else { continue };
            assert!(
                solution.v.iter().chain(&solution.r).all(|x| x.is_finite()),
                "seed {seed} by {}",
                method.name()
            );
            if report.status == Status::Converged {
                converged += 1;
                if let Err(why) = conditions(&problem, &solution, tolerance.velocity) {
                    panic!("seed {seed}: {} says converged: {why}", method.name());
                }
            }
        }
    }
    // The test must have something to test: each problem has at least two methods that treat it.
    assert!(converged > problems, "{converged} solutions of {problems} problems");
}

/// A random problem of a few bodies and the size of its velocities.
fn random(seed: u64) -> (Problem, f64) {
    let mut x = Lcg::new(seed);
    let mut pick = |n: usize| (((x.draw() + 1.0) * 0.5 * n as f64) as usize).min(n - 1);
    let (bodies, blocks) = (1 + pick(4), 1 + pick(6));
    let mass_decades = [0.0, 1.0, 3.0][pick(3)];
    let mass = 10f64.powi(pick(19) as i32 - 9);
    let speed = 10f64.powi(pick(19) as i32 - 9);
    let (repeats, flips) = (pick(4) == 0, pick(8) == 0);
    let kinds: Vec<usize> = (0..blocks).map(|_| pick(8)).collect();
    let frictions: Vec<usize> = (0..blocks).map(|_| pick(7)).collect();
    let soft: Vec<bool> = (0..blocks).map(|_| pick(5) == 0).collect();
    let owners: Vec<[usize; 2]> = (0..blocks).map(|_| [pick(bodies), pick(bodies)]).collect();
    let n = 3 * bodies;
    let h = Csr::diagonal(
        &(0..n).map(|_| mass * 10f64.powf(mass_decades * x.draw())).collect::<Vec<_>>(),
    );
    let (mut j, mut laws, mut e, mut w) = (Rows::new(n), Vec::new(), Vec::new(), Vec::new());
    let mut last: Option<(Vec<u32>, Vec<f64>)> = None;
    for k in 0..blocks {
        let mu = [0.0, 0.1, 0.5, 1.0, 10.0, 1e10, 1e20][frictions[k]];
        let size = mass * speed;
        let law = match kinds[k] {
            0 => Law::Equality,
            1 => Law::Unilateral,
            2 => Law::Interval { lo: -size * (1.0 + x.draw()), hi: size * (1.0 + x.draw()) },
            3 => Law::Cone { mu, rows: 2 },
            4 => Law::Cone { mu, rows: 3 },
            5 => Law::Coulomb { mu, rows: 2 },
            _ => Law::Coulomb { mu, rows: 3 },
        };
        let d = law.rows();
        let mut columns: Vec<u32> =
            owners[k].iter().flat_map(|b| 3 * *b as u32..3 * *b as u32 + 3).collect();
        columns.sort_unstable();
        columns.dedup();
        let mut values: Vec<f64> = (0..d * columns.len()).map(|_| x.draw()).collect();
        if let (true, Some((c, v))) = (repeats, &last)
            && v.len() >= d * c.len()
        {
            // The rows of the block before, once more or turned around.
            columns = c.clone();
            values = v[..d * c.len()].iter().map(|v| if flips { -v } else { *v }).collect();
        }
        j.push(d, &columns, &values);
        last = Some((columns, values));
        for _ in 0..d {
            w.push(speed * x.draw());
            e.push(if soft[k] { 0.1 / mass } else { 0.0 });
        }
        laws.push(law);
    }
    let k = (0..n).map(|i| h.get(i, i) * speed * x.draw()).collect();
    (
        Problem { name: format!("random_{seed}"), H: h, k, J: j, E: e, w, laws, names: Vec::new() },
        speed,
    )
}

/// The conditions of every law, from the definition, in velocities: a residual map of at most `tol`
/// (m/s) allows these and no more (the map is written out for each law in `problem::law`; the
/// inequalities follow from it by hand).
fn conditions(problem: &Problem, Solution { v, r }: &Solution, tol: f64) -> Result<(), String> {
    let (n, m) = (problem.n(), problem.rows());
    let j = problem.J.to_csr().to_dense();
    let mass: Vec<f64> = (0..n).map(|i| problem.H.get(i, i)).collect();
    // Momentum, as a velocity: what exceeds the rounding of its terms.
    for i in 0..n {
        let terms: Vec<f64> = (0..m)
            .map(|row| j[row * n + i] * r[row])
            .chain([problem.k[i], -mass[i] * v[i]])
            .collect();
        let (sum, size) = (terms.iter().sum::<f64>(), terms.iter().map(|x| x.abs()).sum::<f64>());
        if sum.abs() > 32.0 * f64::EPSILON * size + 2.0 * tol * mass[i] {
            return Err(format!("momentum of unknown {i}: {sum:e} of {size:e}"));
        }
    }
    let mut first = 0;
    for (k, law) in problem.laws.iter().enumerate() {
        let d = law.rows();
        let rows = first..first + d;
        first += d;
        let mut noise = 0.0f64;
        let u: Vec<f64> = rows
            .clone()
            .map(|row| {
                let terms: Vec<f64> = (0..n)
                    .map(|i| j[row * n + i] * v[i])
                    .chain([problem.E[row] * r[row], problem.w[row]])
                    .collect();
                noise = noise.max(32.0 * f64::EPSILON * terms.iter().map(|x| x.abs()).sum::<f64>());
                terms.iter().sum()
            })
            .collect();
        let r = &r[rows.clone()];
        let diagonal = rows.map(|row| {
            problem.E[row] + (0..n).map(|i| j[row * n + i] * j[row * n + i] / mass[i]).sum::<f64>()
        });
        let a = diagonal.sum::<f64>() / d as f64;
        // A factor of two over the inequality, for the rounding of u and of the map.
        let tol = 2.0 * tol + noise;
        let length = |x: &[f64]| x[1..].iter().map(|x| x * x).sum::<f64>().sqrt();
        let wrong = |what: &str, by: f64| {
            Err(format!(
                "block {k} {law:?}: {what} by {by:e} (allowed {tol:e}), u {u:?}, r {r:?}, a {a:e}"
            ))
        };
        if !(a > 0.0) {
            continue;
        }
        match *law {
            Law::Equality => {
                if u[0].abs() > tol {
                    return wrong("moves", u[0]);
                }
            }
            Law::Unilateral | Law::Interval { .. } => {
                let (lo, hi) = if let Law::Interval { lo, hi } = *law {
                    (lo, hi)
                } else {
                    (0.0, f64::INFINITY)
                };
                let outside = (lo - r[0]).max(r[0] - hi);
                if outside * a > tol {
                    return wrong("reaction outside its bounds", outside);
                }
                if u[0] > tol && (r[0] - lo) * a > tol || u[0] < -tol && (hi - r[0]) * a > tol {
                    return wrong("moves although the reaction is free", u[0]);
                }
            }
            Law::Cone { mu, .. } => {
                let (ut, rt) = (length(&u), length(r));
                if -r[0] * a > tol || (rt - mu * r[0].max(0.0)) * a > (1.0 + mu) * tol {
                    return wrong("reaction outside the cone", rt - mu * r[0]);
                }
                if (mu * ut - u[0]) / (1.0 + mu) > tol {
                    return wrong("velocity outside the dual cone", mu * ut - u[0]);
                }
                let power = u.iter().zip(r).map(|(u, r)| u * r).sum::<f64>().abs();
                let (us, rs) = (u[0].hypot(ut), r[0].hypot(rt));
                if power > tol / a * (us + a * rs + tol) {
                    return wrong("power", power);
                }
            }
            Law::Coulomb { mu, .. } => {
                let (ut, rt) = (length(&u), length(r));
                if -r[0] * a > tol {
                    return wrong("pulls", -r[0]);
                }
                if u[0] < -tol {
                    return wrong("passes through", -u[0]);
                }
                if u[0] > tol && r[0] * a > tol {
                    return wrong("opens and presses", u[0].min(r[0] * a));
                }
                if (rt - mu * r[0].max(0.0)) * a > (1.0 + mu) * tol {
                    return wrong("friction beyond its limit", rt - mu * r[0]);
                }
                if ut > 4.0 * tol {
                    let miss =
                        (1..d).map(|i| (r[i] + mu * r[0] * u[i] / ut).powi(2)).sum::<f64>().sqrt();
                    if miss * a > tol * (1.0 + mu + 2.0 * mu * r[0].abs() * a / ut) {
                        return wrong("slides without its friction", miss);
                    }
                }
            }
        }
    }
    Ok(())
}
