//! The contacts of a step, and what geometry says of them.
//!
//! Contacts are looked for as far as bodies may go within the step at their speeds before it,
//! gravity included. A blow may make a body faster than that: then the step is set up again with
//! what lies further on its way.

use super::{Overlap, Stepper};
use crate::assemble::{Forest, Treatment};
use crate::math::pose::Pose;
use crate::scene::{BodyId, Kind, Scene, State};
use glam::DVec3;

/// How often contacts are looked for in one step: a blow goes through so many gaps at most.
pub(super) const MOST_COLLISIONS: usize = 8;

impl Stepper {
    /// Where bodies touch, or may within the step.
    pub(super) fn collide(&mut self, scene: &Scene, state: &State, h: f64) {
        self.now.begin(scene, &self.layout, state, (h, self.settings.scheme.time));
        if !self.forest.fits(&self.now.orders) {
            self.forest = Forest::of(
                scene,
                &self.layout,
                self.settings.coordinates,
                (&self.spans, &self.now.orders),
            );
        }
        self.forest.begin(scene, &mut self.now);
        self.contacts.clear();
        if scene.colliders.is_empty() {
            return;
        }
        // Soft boundaries are where their nodes are.
        for (soft, &first) in scene.softs.iter().zip(&self.layout.node_starts) {
            if let Some(collider) = soft.collider {
                let vertices = soft
                    .boundary
                    .nodes
                    .iter()
                    .map(|&n| self.now.nodes[(first + n) as usize])
                    .collect();
                self.world.reshape(collider.0, vertices);
            }
        }
        // How far each body may go within the step, rotation and gravity included.
        self.travel.clear();
        let mut fastest = [0.0f64; 2];
        for ((body, twist), reach) in scene.bodies.iter().zip(&self.now.twists).zip(&self.reaches) {
            let gain = if matches!(body.kind, Kind::Rigid(_) | Kind::Soft(_)) {
                h * scene.gravity.length()
            } else {
                0.0
            };
            let speed = match body.kind {
                Kind::Soft(id) => {
                    let nodes = &self.now.node_velocities[self.layout.nodes_of(id)];
                    nodes.iter().map(|v| v.length_squared()).fold(0.0, f64::max).sqrt()
                }
                _ => twist.linear.length(),
            };
            let travel = (h * (speed + twist.angular.length() * reach + gain))
                .max(self.outrun[self.travel.len()]);
            self.travel.push(travel);
            let second = fastest[0].min(travel);
            fastest = [fastest[0].max(travel), fastest[1].max(second)];
        }
        let prediction = self.settings.contact_margin;
        // Who is not there has no place: it touches nothing.
        let mut places = &self.now.poses;
        if self.now.orders.absent.contains(&true) {
            let nowhere = Pose::at(DVec3::NAN);
            let place = |(i, pose): (usize, &Pose)| {
                if self.now.orders.absent(BodyId(i as u32)) { nowhere } else { *pose }
            };
            self.places.clear();
            self.places.extend(self.now.poses.iter().enumerate().map(place));
            places = &self.places;
        }
        self.world.collide(places, prediction + fastest[0] + fastest[1], &mut self.contacts);
        // One fast body must not fill the problem with contacts of slow ones.
        let body = |collider: u32| scene.colliders[collider as usize].body as usize;
        let travel = &self.travel;
        self.contacts.retain(|c| {
            c.gap <= prediction + travel[body(c.colliders.0)] + travel[body(c.colliders.1)]
        });
        if !self.now.orders.parted.is_empty() {
            let id = |collider: u32| BodyId(body(collider) as u32);
            self.contacts.retain(|c| !self.now.orders.parted(id(c.colliders.0), id(c.colliders.1)));
        }
        self.meet(scene);
        self.hold(scene);
    }

    /// Which nodes hold the contacts of soft bodies.
    fn hold(&mut self, scene: &Scene) {
        self.now.grips.clear();
        if scene.softs.is_empty() {
            return;
        }
        let owner = |collider: u32| match scene.bodies
            [scene.colliders[collider as usize].body as usize]
            .kind
        {
            Kind::Soft(id) => Some(id),
            _ => None,
        };
        for contact in &self.contacts {
            let side = |collider: u32, point| {
                let soft = owner(collider)?;
                let mut grip = self.world.grip(collider, point)?;
                let first = self.layout.node_starts[soft.index()];
                grip.vertices = grip
                    .vertices
                    .map(|v| first + scene.softs[soft.index()].boundary.nodes[v as usize]);
                Some(grip)
            };
            let grips = [
                side(contact.colliders.0, contact.point_a),
                side(contact.colliders.1, contact.point_b),
            ];
            self.now.grips.push(grips);
        }
    }

    /// The overlap that is deepest for what is allowed, if it is too deep.
    pub(super) fn overlap(&self, scene: &Scene) -> Option<Overlap> {
        let mut worst: Option<Overlap> = None;
        let rigid = self.settings.scheme.treatment == Treatment::Rigid;
        for contact in self.contacts.iter().filter(|c| c.gap < 0.0) {
            let (a, b) = contact.colliders;
            let thickness = self.world.thickness(a).min(self.world.thickness(b));
            let bodies = [a, b].map(|collider| BodyId(scene.colliders[collider as usize].body));
            let material = |collider: u32| scene.surface_materials[collider as usize].material;
            // What yields to a force is meant to overlap, at rest too.
            let yields = !rigid || scene.surface(material(a), material(b)).compliance > 0.0;
            let motion = if yields {
                f64::INFINITY
            } else {
                bodies.iter().map(|body| self.travel[body.index()]).sum()
            };
            let overlap =
                Overlap { bodies: (bodies[0], bodies[1]), depth: -contact.gap, thickness, motion };
            if overlap.excess() > worst.as_ref().map_or(1.0, Overlap::excess) {
                worst = Some(overlap);
            }
        }
        worst
    }

    /// Whether a blow makes a body move further than contacts were looked for; remembers how far.
    pub(super) fn outran(&mut self) -> bool {
        let mut any = false;
        for (i, at) in self.layout.velocities.iter().enumerate() {
            let (Some(at), false) = (at.map(|at| at as usize), self.travel.is_empty()) else {
                continue;
            };
            let [linear, angular] =
                [at, at + 3].map(|at| DVec3::from_slice(&self.solution.v[at..]).length());
            let moves = self.now.h * (linear + angular * self.reaches[i]);
            if moves > self.travel[i] + self.settings.contact_margin {
                self.outrun[i] = moves;
                any = true;
            }
        }
        any
    }
}
