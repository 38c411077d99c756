//! The solvers without any mechanics: a brick of 2 kg slides on a plane, written by hand.
//!
//! Unknowns are the velocities of a point mass; one block of three rows is its contact with
//! Coulomb's law.

use signorini::math::sparse::Csr;
use signorini::problem::{Law, PreparedProblem, Problem, Rows, Solution};
use signorini::solve::{Method, StoppingCriteria};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mass, h, mu, speed) = (2.0, 1e-2, 0.5, 1.0);
    // H v = k + Jᵀ r: the impulse of gravity acts along −z, the brick moves along x.
    let laws = vec![Law::Coulomb { mu, rows: 3 }];
    let problem = Problem {
        name: "brick".into(),
        H: Csr::from_triplets(3, 3, &[(0, 0, mass), (1, 1, mass), (2, 2, mass)]),
        k: vec![mass * speed, 0.0, -mass * 9.81 * h],
        // u = J v: normal first (z), then the two tangents (x, y).
        J: Rows::from_csr(
            &Csr::from_triplets(3, 3, &[(0, 2, 1.0), (1, 0, 1.0), (2, 1, 1.0)]),
            &laws,
        ),
        E: vec![0.0; 3],
        w: vec![0.0; 3],
        laws,
        names: vec!["brick on plane".into()],
    };
    problem.check()?;
    let mut solution = Solution { v: vec![0.0; 3], r: vec![0.0; 3] };
    let report =
        Method::Newton.build(StoppingCriteria::default()).solve(&problem, &mut solution)?;
    let error = PreparedProblem::of(&problem)?.error(&problem, &solution);
    println!(
        "{:?}: v = {:?}, r = {:?}, {:.1e} J",
        report.status, solution.v, solution.r, error.joule
    );
    // Friction takes μ g h of the speed.
    assert!((solution.v[0] - (speed - mu * 9.81 * h)).abs() < 1e-9);
    Ok(())
}
