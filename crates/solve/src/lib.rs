//! Solvers for problems with contact and friction.
//!
//! One time step of a machine whose parts touch is one problem ([`problem::Problem`]):
//!
//! ```text
//!   H v = k + Jᵀ r          momentum            v: velocities,  r: reactions (impulses)
//!   u   = J v + E r + w     local velocities    u: what each constraint sees
//!   (u_k, r_k) ∈ Law_k      joint, contact, friction, limit, motor
//! ```
//!
//! Methods ([`solve`]) take a problem and return a solution with a report; the error in joules
//! ([`problem::error`]) judges every one of them in the same way.
//!
//! ```
//! use signorini_solve::math::sparse::Csr;
//! use signorini_solve::problem::{PreparedProblem, Law, Problem, Rows, Solution};
//! use signorini_solve::solve::{Method, StoppingCriteria};
//!
//! // A point of 2 kg falls on a floor within a step of 10 ms: one unknown, one unilateral row.
//! let laws = vec![Law::Unilateral];
//! let problem = Problem {
//!     name: "drop".into(),
//!     H: Csr::from_triplets(1, 1, &[(0, 0, 2.0)]),
//!     k: vec![-2.0 * 9.81 * 0.01],
//!     J: Rows::from_csr(&Csr::from_triplets(1, 1, &[(0, 0, 1.0)]), &laws),
//!     E: vec![0.0],
//!     w: vec![0.0],
//!     laws,
//!     names: vec!["floor".into()],
//! };
//! problem.check()?;
//! let mut solution = Solution { v: vec![0.0], r: vec![0.0] };
//! Method::Auto.build(StoppingCriteria::default()).solve(&problem, &mut solution)?;
//! // The floor takes the whole momentum.
//! assert!(solution.v[0].abs() < 1e-9 && (solution.r[0] - 0.1962).abs() < 1e-9);
//! assert!(PreparedProblem::of(&problem)?.error(&problem, &solution).joule < 1e-15);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod math;
pub mod problem;
pub mod solve;
pub mod whole;
