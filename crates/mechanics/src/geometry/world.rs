//! All colliders together: which pairs are near, and where they touch.
//!
//! 1. [`World::update`]: the box of each piece, loosened by half the prediction distance; the tree
//!    is refitted.
//! 2. [`World::find_pairs`]: pieces whose boxes meet, of different bodies, not both fixed, in
//!    groups that touch, not excluded; sorted, so that the tree's shape leaves no trace.
//! 3. [`World::touch`]: contacts of each pair, in the order of the pairs, in fixed portions for any
//!    number of threads.
//!
//! Compounds are taken apart: their pieces are neighbours in the list, and their contacts carry the
//! collider's number. Half-spaces have no box; they are tried against every piece. Nothing is
//! remembered between steps except the tree, so the contacts are a function of the poses alone.

use super::collider::{Collider, Groups};
use super::contact::Contact;
use super::convex::{Core, Hull};
use super::narrow::turned_bounds;
use super::piece::{Geometry, Placed, Sink, Workspace};
use super::shape::{Invalid, Shape};
use super::surface::Surface;
use crate::math::pose::Pose;
use glam::DVec3;
use parry3d_f64::bounding_volume::Aabb;
use parry3d_f64::partitioning::{Bvh, BvhWorkspace};
use rayon::prelude::*;
use std::sync::Arc;

/// Colliders prepared for queries.
pub struct World {
    pieces: Vec<Piece>,
    /// Pairs of bodies that never touch, sorted, the smaller first.
    excluded: Vec<(u32, u32)>,
    half_spaces: Vec<u32>,
    placed: Vec<Place>,
    tree: Bvh,
    tree_room: BvhWorkspace,
    pairs: Vec<(u32, u32)>,
    portions: Vec<(Workspace, Vec<Contact>)>,
    prediction: f64,
    /// Whether the fixed pieces are in the tree already.
    ready: bool,
}

/// How a point of a soft boundary moves: with three vertices, by shares that add up to one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grip {
    /// The vertices.
    pub vertices: [u32; 3],
    /// Their shares.
    pub shares: [f64; 3],
}

struct Piece {
    collider: u32,
    body: u32,
    part: u32,
    pose: Pose,
    geometry: Geometry,
    groups: Groups,
    fixed: bool,
    /// The box around it in its own frame, skin included; none for a half-space.
    bounds: Option<(DVec3, DVec3)>,
    size: f64,
    /// The shortest side of its box; infinite for what has none.
    thickness: f64,
    /// A soft boundary that is nowhere.
    lost: bool,
}

/// Where a piece is now.
#[derive(Clone, Copy)]
struct Place {
    pose: Pose,
    center: DVec3,
    /// Half the sides of its loosened box; negative for a piece that is nowhere (its pose is not
    /// finite).
    half: DVec3,
}

/// Pairs per portion of parallel work.
const PAIRS_PER_TASK: usize = 512;

impl World {
    /// Prepares colliders; an error names the collider and what is wrong with it.
    pub fn new(colliders: &[Collider]) -> Result<World, Invalid> {
        let mut pieces = vec![];
        for (i, collider) in colliders.iter().enumerate() {
            let first = pieces.len();
            collider
                .check()
                .and_then(|()| {
                    take_apart(collider, &collider.shape, collider.pose_in_body, &mut pieces)
                })
                .map_err(|reason| Invalid::Collider { collider: i, reason: Box::new(reason) })?;
            for (part, piece) in pieces[first..].iter_mut().enumerate() {
                (piece.collider, piece.part) = (i as u32, part as u32);
            }
        }
        let half_spaces =
            (0..pieces.len() as u32).filter(|&i| pieces[i as usize].bounds.is_none()).collect();
        let nowhere = Place { pose: Pose::IDENTITY, center: DVec3::ZERO, half: -DVec3::ONE };
        Ok(World {
            placed: vec![nowhere; pieces.len()],
            pieces,
            excluded: vec![],
            half_spaces,
            tree: Bvh::new(),
            tree_room: BvhWorkspace::default(),
            pairs: vec![],
            portions: vec![],
            prediction: 0.0,
            ready: false,
        })
    }

    /// Moves the vertices of a soft collider (world frame). A boundary that is not finite touches
    /// nothing.
    pub fn reshape(&mut self, collider: u32, vertices: Vec<DVec3>) {
        let Some(piece) = self.pieces.iter_mut().find(|p| p.collider == collider) else { return };
        let Geometry::Surface(surface, skin) = &piece.geometry else { return };
        piece.lost = !vertices.iter().all(|v| v.is_finite());
        if piece.lost {
            return;
        }
        let (moved, skin) = (surface.moved(vertices), *skin);
        let (low, high) = moved.bounds();
        piece.size = 0.5 * (high - low).length() + skin;
        piece.bounds = Some((low - DVec3::splat(skin), high + DVec3::splat(skin)));
        piece.geometry = Geometry::Surface(Arc::new(moved), skin);
    }

    /// Which vertices of a soft collider hold a point of its boundary; none for other colliders.
    pub fn grip(&self, collider: u32, point: DVec3) -> Option<Grip> {
        let piece = &self.pieces[self.pieces.partition_point(|p| p.collider < collider)];
        match &piece.geometry {
            Geometry::Surface(surface, _) if surface.soft => {
                let (vertices, shares) = surface.shares(point);
                Some(Grip { vertices, shares })
            }
            _ => None,
        }
    }

    /// How thin a collider is, m: the shortest side of the box around its thinnest piece. Infinite
    /// for what has no thickness of its own: half-spaces, height fields and open meshes.
    pub fn thickness(&self, collider: u32) -> f64 {
        let first = self.pieces.partition_point(|p| p.collider < collider);
        let own = self.pieces[first..].iter().take_while(|p| p.collider == collider);
        own.map(|piece| piece.thickness).fold(f64::INFINITY, f64::min)
    }

    /// Names pairs of bodies that never touch, such as those a joint connects; replaces earlier
    /// ones.
    pub fn exclude(&mut self, bodies: impl IntoIterator<Item = (u32, u32)>) {
        self.excluded.clear();
        self.excluded.extend(bodies.into_iter().map(|(a, b)| (a.min(b), a.max(b))));
        self.excluded.sort_unstable();
        self.excluded.dedup();
    }

    /// All contacts with a gap of at most `prediction` (m), sorted by pair and key.
    ///
    /// `bodies` holds the pose of every body that a collider names. Pieces whose pose is not finite
    /// touch nothing.
    pub fn collide(&mut self, bodies: &[Pose], prediction: f64, contacts: &mut Vec<Contact>) {
        self.update(bodies, prediction);
        self.find_pairs();
        self.touch(contacts);
    }

    /// Step 1.
    pub fn update(&mut self, bodies: &[Pose], prediction: f64) {
        let grown = self.ready && prediction > self.prediction;
        self.prediction = prediction.max(0.0);
        for (i, piece) in self.pieces.iter().enumerate() {
            // A fixed piece stays; unless it must be loosened more than before.
            if piece.fixed && self.ready && !grown {
                continue;
            }
            let soft = matches!(&piece.geometry, Geometry::Surface(surface, _) if surface.soft);
            let pose = if soft { Pose::IDENTITY } else { bodies[piece.body as usize] * piece.pose };
            let place = &mut self.placed[i];
            place.pose = pose;
            let Some(bounds) = piece.bounds else { continue };
            let (low, high) = turned_bounds(bounds, &pose);
            place.center = 0.5 * (low + high);
            place.half = if pose.is_finite() && !piece.lost {
                0.5 * (high - low) + DVec3::splat(0.5 * self.prediction)
            } else {
                -DVec3::ONE
            };
            if place.half.x >= 0.0 {
                let bounds = Aabb::new(place.center - place.half, place.center + place.half);
                self.tree.insert_or_update_partially(bounds, i as u32, 0.0);
            }
        }
        if self.ready {
            self.tree.refit(&mut self.tree_room);
            self.tree.optimize_incremental(&mut self.tree_room);
        } else {
            self.tree
                .rebuild(&mut self.tree_room, parry3d_f64::partitioning::BvhBuildStrategy::Binned);
            self.ready = true;
        }
    }

    /// Step 2. Returns how many pairs are near.
    pub fn find_pairs(&mut self) -> usize {
        let World {
            pieces, excluded, half_spaces, placed, tree, tree_room, pairs, prediction, ..
        } = self;
        pairs.clear();
        let mut consider = |i: u32, j: u32| {
            let (a, b) = (&pieces[i as usize], &pieces[j as usize]);
            if a.body != b.body && !(a.fixed && b.fixed) && a.groups.touch(b.groups) {
                let bodies = (a.body.min(b.body), a.body.max(b.body));
                if excluded.is_empty() || excluded.binary_search(&bodies).is_err() {
                    pairs.push((i.min(j), i.max(j)));
                }
            }
        };
        tree.traverse_bvtt_single_tree::<false>(tree_room, &mut |i, j| {
            // Balls around the boxes: boxes also meet at their corners.
            let (a, b) = (i as usize, j as usize);
            let reach = pieces[a].size + pieces[b].size + *prediction;
            if placed[a].center.distance_squared(placed[b].center) <= reach * reach
                && placed[a].half.x >= 0.0
                && placed[b].half.x >= 0.0
            {
                consider(i, j);
            }
        });
        for &plane in half_spaces.iter() {
            let pose = placed[plane as usize].pose;
            let normal = pose.vector(DVec3::Z);
            for (i, place) in placed.iter().enumerate() {
                let lowest =
                    (place.center - pose.position).dot(normal) - place.half.dot(normal.abs());
                if pieces[i].bounds.is_some() && place.half.x >= 0.0 && lowest <= 0.5 * *prediction
                {
                    consider(plane, i as u32);
                }
            }
        }
        pairs.sort_unstable();
        pairs.len()
    }

    /// Near pairs of pieces found last, as pairs of colliders (a compound may appear more than
    /// once).
    pub fn pairs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.pairs
            .iter()
            .map(|&(i, j)| (self.pieces[i as usize].collider, self.pieces[j as usize].collider))
    }

    /// The contact of the last [`World::touch`] that is named like `like`, with its two bodies
    /// elsewhere.
    pub fn contact_at(&mut self, like: &Contact, bodies: [&Pose; 2]) -> Option<Contact> {
        let World { pieces, pairs, portions, prediction, .. } = self;
        let (workspace, found) = portions.first_mut()?;
        found.clear();
        let colliders =
            |&(i, j): &(u32, u32)| (pieces[i as usize].collider, pieces[j as usize].collider);
        let first = pairs.partition_point(|p| colliders(p).0 < like.colliders.0);
        let own = pairs[first..].iter().take_while(|p| colliders(p).0 == like.colliders.0);
        for &(i, j) in own.filter(|p| colliders(p) == like.colliders) {
            let placed = |i: u32, body: &Pose| {
                let piece = &pieces[i as usize];
                Placed {
                    geometry: &piece.geometry,
                    pose: *body * piece.pose,
                    size: piece.size,
                    part: piece.part,
                }
            };
            let (a, b) = (placed(i, bodies[0]), placed(j, bodies[1]));
            Sink {
                contacts: found,
                scratch: workspace,
                colliders: like.colliders,
                prediction: *prediction,
            }
            .collide(a, b);
        }
        found.iter().find(|c| c.key == like.key).copied()
    }

    /// Step 3.
    pub fn touch(&mut self, contacts: &mut Vec<Contact>) {
        contacts.clear();
        let World { pieces, placed, pairs, portions, prediction, .. } = self;
        let count = pairs.len().div_ceil(PAIRS_PER_TASK).max(1);
        if portions.len() < count {
            portions.resize_with(count, Default::default);
        }
        let run = |workspace: &mut Workspace, contacts: &mut Vec<Contact>, pairs: &[(u32, u32)]| {
            for &(i, j) in pairs {
                let placed = |i: u32| {
                    let piece = &pieces[i as usize];
                    Placed {
                        geometry: &piece.geometry,
                        pose: placed[i as usize].pose,
                        size: piece.size,
                        part: piece.part,
                    }
                };
                let colliders = (pieces[i as usize].collider, pieces[j as usize].collider);
                Sink { contacts, scratch: workspace, colliders, prediction: *prediction }
                    .collide(placed(i), placed(j));
            }
        };
        if count == 1 || rayon::current_num_threads() == 1 {
            run(&mut portions[0].0, contacts, pairs);
        } else {
            portions.par_iter_mut().zip(pairs.par_chunks(PAIRS_PER_TASK)).for_each(
                |((workspace, contacts), pairs)| {
                    contacts.clear();
                    run(workspace, contacts, pairs);
                },
            );
            portions[..count].iter().for_each(|(_, part)| contacts.extend_from_slice(part));
        }
        // Pieces of one compound meet the same collider in several pairs.
        let order = |contact: &Contact| (contact.colliders, contact.key);
        if !contacts.is_sorted_by_key(order) {
            contacts.sort_by_key(order);
        }
    }
}

/// Appends the pieces of a shape at a pose in the body.
fn take_apart(
    collider: &Collider,
    shape: &Shape,
    pose: Pose,
    pieces: &mut Vec<Piece>,
) -> Result<(), Invalid> {
    let margin = collider.margin;
    let convex = |core| Geometry::Convex(core, margin);
    let geometry = match shape {
        Shape::Sphere { radius } => Geometry::Convex(Core::Point, radius + margin),
        Shape::Capsule { radius, half_length } => {
            Geometry::Convex(Core::Segment(*half_length), radius + margin)
        }
        Shape::Box { half_extents } => convex(Core::Box(*half_extents)),
        Shape::Cylinder { radius, half_length } => convex(Core::Cylinder(*radius, *half_length)),
        Shape::Cone { radius, half_length } => convex(Core::Cone(*radius, *half_length)),
        Shape::Hull { points } => convex(Core::Hull(Hull::new(points)?)),
        Shape::Mesh { vertices, triangles } if collider.soft => {
            Geometry::Surface(Arc::new(Surface::soft(vertices, triangles)?), margin)
        }
        Shape::Mesh { vertices, triangles } => {
            let surface = Surface::mesh(vertices, triangles)?;
            // A convex mesh is its hull.
            match surface.convex_corners().and_then(|corners| Hull::new(&corners).ok()) {
                Some(hull) => convex(Core::Hull(hull)),
                None => Geometry::Surface(Arc::new(surface), margin),
            }
        }
        Shape::HeightField { counts, spacing, heights } => {
            Geometry::Surface(Arc::new(Surface::height_field(*counts, *spacing, heights)?), margin)
        }
        Shape::HalfSpace => Geometry::HalfSpace,
        Shape::Compound { parts } => {
            return parts.iter().enumerate().try_for_each(|(part, (place, shape))| {
                take_apart(collider, shape, pose * *place, pieces)
                    .map_err(|reason| Invalid::Part { part, reason: Box::new(reason) })
            });
        }
    };
    let (bounds, skin) = match &geometry {
        Geometry::Convex(core, radius) => (Some(core.bounds()), *radius),
        Geometry::Surface(surface, skin) => (Some(surface.bounds()), *skin),
        Geometry::HalfSpace => (None, 0.0),
    };
    let bounds = bounds.map(|(low, high)| (low - DVec3::splat(skin), high + DVec3::splat(skin)));
    // A ball's own radius, not that of its box, keeps far fewer pairs.
    let size = match (&geometry, bounds) {
        (Geometry::Convex(Core::Point, radius), _) => *radius,
        (_, Some((low, high))) => 0.5 * (high - low).length(),
        (_, None) => f64::INFINITY,
    };
    let thickness = match (&geometry, bounds) {
        (Geometry::Surface(surface, _), _) if !surface.closed => f64::INFINITY,
        (_, Some((low, high))) => (high - low).min_element(),
        (_, None) => f64::INFINITY,
    };
    let (body, groups, fixed) = (collider.body, collider.groups, collider.fixed);
    // The skin of a half-space lifts its plane.
    let pose = if bounds.is_none() { pose * Pose::at(DVec3::Z * margin) } else { pose };
    pieces.push(Piece {
        collider: 0,
        body,
        part: 0,
        pose,
        geometry,
        groups,
        fixed,
        bounds,
        size,
        thickness,
        lost: false,
    });
    Ok(())
}
