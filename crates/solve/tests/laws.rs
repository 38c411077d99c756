//! The laws at their corners, against definitions that share no code with the library.
//!
//! A projection is tested as what it is, the nearest point, by a search for a nearer one. Accepted
//! solutions of random problems are tested in `verdicts.rs`.

use proptest::prelude::*;
use signorini_solve::math::sparse::Csr;
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
