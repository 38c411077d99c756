//! Every way in which a problem can be wrong is answered by the culprit's name and value.

use signorini_solve::math::sparse::Csr;
use signorini_solve::problem::test_problems::{self, ProblemWithSolution};
use signorini_solve::problem::{Invalid, Law, Problem, Reduced, Rows};

fn brick() -> Problem {
    let ProblemWithSolution { problem, .. } =
        test_problems::all().into_iter().find(|k| k.problem.name == "brick_slides").unwrap();
    problem
}

fn broken(change: impl FnOnce(&mut Problem)) -> String {
    let mut problem = brick();
    change(&mut problem);
    problem.check().expect_err("the change must be noticed").to_string()
}

#[test]
fn a_problem_names_its_culprit() {
    assert_eq!(Problem::default().check(), Err(Invalid::NoUnknowns));
    for (message, found) in [
        ("k has 5, wanted 6", broken(|p| p.k.truncate(5))),
        ("w has 13, wanted 12", broken(|p| p.w.push(0.0))),
        ("E has 11, wanted 12", broken(|p| p.E.truncate(11))),
        ("laws has 3, wanted 4", broken(|p| p.laws.truncate(3))),
        ("names has 1, wanted 4", broken(|p| p.names.truncate(1))),
        ("columns of J has 7, wanted 6", broken(|p| p.J.cols = 7)),
        ("rows of a block has 3, wanted 1", broken(|p| p.laws[2] = Law::Unilateral)),
        ("k[4] is NaN, wanted a finite number", broken(|p| p.k[4] = f64::NAN)),
        ("w[3] is inf, wanted a finite number", broken(|p| p.w[3] = f64::INFINITY)),
        ("H[2] is NaN, wanted a finite number", broken(|p| p.H.values[2] = f64::NAN)),
        ("J[7] is -inf, wanted a finite number", broken(|p| p.J.values[7] = f64::NEG_INFINITY)),
        ("E[8] is -1, wanted ≥ 0", broken(|p| p.E[8] = -1.0)),
        (
            "H is not positive definite: pivot -3.000e0 at unknown 1",
            broken(|p| p.H.values[1] = -3.0),
        ),
        ("H is not positive definite: pivot 0.000e0 at unknown 0", broken(|p| p.H.values[0] = 0.0)),
        (
            "columns of J: entry 3 is 99, wanted below 6 and ascending",
            broken(|p| p.J.columns[3] = 99),
        ),
    ] {
        assert_eq!(found, message);
    }
    let law = |law: Law| broken(|p| p.laws[1] = law);
    assert!(
        law(Law::Coulomb { mu: -0.1, rows: 3 })
            .contains("corner 1): mu = -0.1, wanted a number ≥ 0")
    );
    assert!(law(Law::Cone { mu: f64::NAN, rows: 3 }).contains("mu = NaN"));
    let asymmetric = broken(|p| {
        p.H = Csr::from_dense(
            6,
            6,
            &(0..36)
                .map(|i| {
                    if i % 7 == 0 {
                        4.0
                    } else if i == 1 {
                        1.0
                    } else {
                        0.0
                    }
                })
                .collect::<Vec<_>>(),
        )
    });
    assert_eq!(asymmetric, "H is not symmetric: H[0,1] = 1 but H[1,0] = 0");
}

#[test]
fn intervals_have_their_bounds_in_order() {
    let with = |lo: f64, hi: f64| {
        let mut rows = Rows::new(1);
        rows.push(1, &[0], &[1.0]);
        let laws = vec![Law::Interval { lo, hi }];
        Problem {
            H: Csr::diagonal(&[1.0]),
            k: vec![0.0],
            J: rows,
            E: vec![0.0],
            w: vec![0.0],
            laws,
            ..Problem::default()
        }
        .check()
    };
    assert!(
        with(-1.0, 1.0).is_ok()
            && with(0.0, 0.0).is_ok()
            && with(f64::NEG_INFINITY, f64::INFINITY).is_ok()
    );
    for (lo, hi) in [(1.0, -1.0), (f64::NAN, 0.0), (0.0, f64::NAN), (f64::INFINITY, f64::INFINITY)]
    {
        assert!(with(lo, hi).unwrap_err().to_string().contains("wanted lo ≤ hi"), "{lo} {hi}");
    }
}

#[test]
fn a_reduced_problem_names_its_culprit_and_keeps_w_as_given() {
    let make = |w: Csr, q: Vec<f64>, laws: Vec<Law>| Reduced::new("x".into(), w, q, laws);
    assert_eq!(make(Csr::empty(0, 0), vec![], vec![]), Err(Invalid::NoRows));
    let square = || Csr::from_dense(2, 2, &[1.0, 0.5, 0.4, 1.0]);
    assert!(
        make(square(), vec![0.0; 3], vec![Law::Unilateral; 3])
            .unwrap_err()
            .to_string()
            .contains("rows of W has 2, wanted 3")
    );
    assert!(
        make(square(), vec![0.0, f64::NAN], vec![Law::Unilateral; 2])
            .unwrap_err()
            .to_string()
            .contains("q[1] is NaN")
    );
    assert!(make(square(), vec![0.0; 2], vec![Law::Unilateral; 1]).is_err());
    let kept = make(square(), vec![0.0; 2], vec![Law::Unilateral; 2]).unwrap();
    assert_eq!(kept.W, square());
    assert!((kept.asymmetry() - 0.1).abs() < 1e-15, "a non-symmetric W is accepted and measured");
}

#[test]
fn extreme_sizes_of_numbers_are_no_error() {
    for scale in [1e-9, 1e9] {
        let mut problem = brick();
        problem.H.values.iter_mut().chain(problem.k.iter_mut()).for_each(|x| *x *= scale);
        problem.check().unwrap();
    }
}
