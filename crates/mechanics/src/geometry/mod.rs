//! Where shapes touch.
//!
//! * [`Shape`]: what a shape is, as plain data; [`mass`]: its volume, centre and inertia.
//! * [`tetrahedra`]: meshes of soft bodies, whose boundary moves from step to step
//!   ([`World::reshape`]).
//! * [`Collider`]: a shape on a body; [`Groups`]: who may touch whom.
//! * [`World`]: colliders prepared for queries; [`World::collide`] gives all [`Contact`]s, in an
//!   order and with keys that stay from step to step.
//! * [`RayCaster`]: what a ray meets.
//!
//! ```
//! use glam::DVec3;
//! use signorini_mechanics::geometry::{Collider, Shape, World};
//! use signorini_solve::math::pose::Pose;
//!
//! let ground = Collider { fixed: true, ..Collider::new(0, Shape::HalfSpace) };
//! let brick = Collider::new(1, Shape::Box { half_extents: DVec3::new(0.2, 0.1, 0.05) });
//! let mut world = World::new(&[ground, brick]).unwrap();
//! let mut contacts = vec![];
//! world.collide(&[Pose::IDENTITY, Pose::at(DVec3::Z * 0.051)], 0.01, &mut contacts);
//! assert_eq!(contacts.len(), 4);
//! assert!(contacts.iter().all(|contact| contact.normal == DVec3::Z));
//! assert!(contacts.iter().all(|contact| (contact.gap - 0.001).abs() < 1e-15));
//! ```
//!
//! Nothing here knows mass, velocity or friction.

pub mod collider;
pub mod contact;
mod convex;
mod direction;
mod manifold;
pub mod mass;
mod mesh;
mod mesh_mesh;
mod narrow;
mod piece;
pub mod ray;
mod reduction;
pub mod shape;
mod soft;
mod surface;
pub mod tetrahedra;
mod weld;
pub mod world;

pub use collider::{Collider, Groups};
pub use contact::{Contact, matches, tangents};
pub use mass::Volume;
pub use ray::RayCaster;
pub use shape::{Invalid, Shape};
pub use tetrahedra::Tetrahedra;
pub use world::{Grip, World};
