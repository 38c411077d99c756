//! Machines whose parts touch: scenes, collision, time steps and their verdicts.
//!
//! One step reads in one direction:
//!
//! ```text
//!   scene → collide → assemble → solve → advance → record
//! ```
//!
//! Mechanics ends at [`signorini_solve::problem::Problem`]; the methods that solve it know nothing
//! of bodies.
//!
//! ```
//! use glam::DVec3;
//! use signorini_mechanics::geometry::Shape;
//! use signorini_mechanics::scene::{Body, BodyId, Mass, Scene, State, SurfaceMaterial};
//! use signorini_mechanics::step::{Settings, Stepper};
//! use signorini_solve::math::pose::Pose;
//!
//! let mut scene = Scene::new("drop");
//! scene.add_collider(BodyId::GROUND, Shape::HalfSpace, Pose::IDENTITY, SurfaceMaterial::default());
//! let ball = Body::rigid("ball", Mass::sphere(1.0, 0.1)).at(DVec3::Z * 0.2);
//! let ball = scene.add_body_with_shape(ball, Shape::Sphere { radius: 0.1 });
//! let mut state = State::initial(&scene);
//! let mut stepper = Stepper::new(&scene, Settings::with_time_step(1e-3))?;
//! for _ in 0..500 {
//!     let verdict = stepper.step(&scene, &mut state)?;
//!     assert!(verdict.accepted);
//! }
//! assert!((state.pose(ball).position.z - 0.1).abs() < 1e-5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod analyse;
pub mod assemble;
pub mod control;
pub mod geometry;
pub mod mechanism;
pub mod scene;
pub mod step;
pub mod symbolic;

pub(crate) use signorini_solve::{math, problem, solve};
