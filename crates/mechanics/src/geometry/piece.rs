//! Pieces in the world, and where their contacts go.

use super::contact::Contact;
use super::convex::Core;
use super::manifold::Scratch;
use super::surface::Surface;
use crate::math::pose::Pose;
use parry3d_f64::query::epa::EPA;
use std::sync::Arc;

/// What a piece is.
#[derive(Clone, Debug)]
pub(crate) enum Geometry {
    /// A core with a round skin.
    Convex(Core, f64),
    HalfSpace,
    /// A surface with a skin.
    Surface(Arc<Surface>, f64),
}

/// One piece in the world.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'a> {
    pub geometry: &'a Geometry,
    pub pose: Pose,
    /// Half the diagonal of its box, m; infinite for a half-space.
    pub size: f64,
    /// Names the piece within its collider.
    pub part: u32,
}

/// Where contacts go.
pub(crate) struct Sink<'a> {
    pub contacts: &'a mut Vec<Contact>,
    pub scratch: &'a mut Workspace,
    pub colliders: (u32, u32),
    pub prediction: f64,
}

/// Memory for the narrow phase; one per thread.
#[derive(Default)]
pub(crate) struct Workspace {
    pub(super) manifold: Scratch,
    pub(super) polytope: EPA,
    pub(super) lists: Lists,
    pub(super) triangles: Vec<u32>,
}

/// Lists that are filled anew for each pair.
#[derive(Default)]
pub(super) struct Lists {
    /// Triangles near the pair, or near one point of it.
    pub near: Vec<u32>,
    pub local: Vec<u32>,
    pub vertices: Vec<u32>,
    pub group: Vec<u32>,
    pub doubtful: Vec<Contact>,
}
