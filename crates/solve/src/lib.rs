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

pub mod math;
pub mod problem;
pub mod solve;
pub mod whole;
