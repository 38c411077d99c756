//! Which joints hang which bodies on which.
//!
//! 1. Of the joints that trees know, rigid ones, those that hold most come first; a joint that
//!    closes a loop is cut and remains rows. So the fewest rows remain.
//! 2. A mechanism that is held by a body which is not free to move hangs on it. One that floats has
//!    a root of six velocities: the body from which the way to all others is shortest.
//! 3. Each body comes behind the one that carries it, and trees one after another.
//!
//! `auto` leaves a mechanism in the coordinates of its bodies if it has loops, whose rows are
//! better conditioned there near singular positions, and where its paths are so long that T and H
//! cost more than rows: where Σ (coordinates on the path to the root)², over all coordinates,
//! exceeds [`ROWS_COST`] for each row that the tree saves. It leaves all of them so where loose
//! bodies are [`MAX_LOOSE_BODIES_PER_JOINTED`] times as many as those on joints (a pile in a box on
//! a rail): sweeps are fastest where every body has its own six velocities.

use super::displacement::freedom;
use super::pattern::Pattern;
use super::{Coordinates, Forest, Link, NONE, free};
use crate::scene::{BodyId, JointId, Layout, Orders, Scene};

/// What a row of a joint costs, in entries of H (measured on chains of 2 to 400 links: both forms
/// cost the same at about 500).
const ROWS_COST: f64 = 600.0;

/// Loose bodies for each that hangs on a joint (a thousand spheres in a box on a rail: 40 steps per
/// second in the coordinates of bodies, 8 in those of the tree).
const MAX_LOOSE_BODIES_PER_JOINTED: usize = 100;

/// A joint between two bodies that may hang one on the other.
#[derive(Clone, Copy)]
struct Edge {
    joint: JointId,
    a: BodyId,
    b: BodyId,
}

impl Forest {
    /// The trees of a scene; `spans` are the sizes of its bodies, m; joints that are switched off
    /// hold nothing.
    pub fn of(
        scene: &Scene,
        layout: &Layout,
        coordinates: Coordinates,
        (spans, orders): (&[f64], &Orders),
    ) -> Forest {
        let off = orders.joints_off.clone();
        let mut forest = Forest { held: vec![false; scene.joints.len()], off, ..Forest::default() };
        if coordinates == Coordinates::Bodies {
            return forest;
        }
        let edges = spanning(scene, orders);
        let mechanisms = mechanisms(scene, &edges);
        let jointed: usize = mechanisms.iter().map(Vec::len).sum();
        let bodies = scene.bodies.iter().filter(|body| free(&body.kind)).count();
        let loose = bodies.saturating_sub(jointed);
        if coordinates == Coordinates::Auto && loose >= MAX_LOOSE_BODIES_PER_JOINTED * jointed {
            return forest;
        }
        for mechanism in mechanisms {
            let links = hang(scene, layout, &edges, &mechanism);
            let closed = || !looped(scene, &mechanism, &edges);
            if coordinates == Coordinates::Tree || (closed() && pays(scene, &links)) {
                let (first, start) = (forest.n, forest.links.len() as u32);
                for mut link in links {
                    link.first += first;
                    link.parent = link.parent.map(|p| p + start);
                    forest.n += link.count;
                    forest.links.push(link);
                }
            }
        }
        if forest.links.is_empty() {
            return forest;
        }
        forest.number(scene, layout, spans);
        forest.pattern = Pattern::of(&forest, scene, layout);
        forest
    }

    /// Owners and columns.
    fn number(&mut self, scene: &Scene, layout: &Layout, spans: &[f64]) {
        self.owner = vec![NONE; layout.v];
        for (l, link) in self.links.iter().enumerate() {
            self.owner[link.at..link.at + 6].fill(l as u32);
            if let Some(joint) = link.joint {
                self.held[joint.index()] = true;
            }
            let lever = link.joint.map_or(0.0, |id| {
                let joint = &scene.joints[id.index()];
                joint.frame_a.position.length().max(joint.frame_b.position.length())
            });
            self.spans.push(spans[link.body.index()].max(lever));
        }
        self.column = vec![NONE; layout.v];
        for i in 0..layout.v {
            if self.owner[i] == NONE {
                self.column[i] = self.n as u32;
                self.n += 1;
            }
        }
    }
}

/// The joints that hold trees together (step 1).
fn spanning(scene: &Scene, orders: &Orders) -> Vec<Edge> {
    let mut parents: Vec<usize> = (0..scene.bodies.len()).collect();
    fn root(parents: &mut [usize], mut i: usize) -> usize {
        while parents[i] != i {
            parents[i] = parents[parents[i]];
            i = parents[i];
        }
        i
    }
    // All bodies that are not free are one for a loop.
    for (i, body) in scene.bodies.iter().enumerate() {
        if !free(&body.kind) {
            parents[i] = 0;
        }
    }
    let mut order: Vec<usize> = (0..scene.joints.len()).collect();
    let known =
        |j: usize| scene.joints[j].compliance == 0.0 && freedom(scene.joints[j].kind).is_some();
    order.retain(|&j| known(j) && !orders.joint_off(JointId(j as u32)));
    order.sort_by_key(|&j| std::cmp::Reverse(scene.joints[j].kind.parts().len()));
    let mut edges = Vec::new();
    for j in order {
        let joint = &scene.joints[j];
        let (a, b) = (root(&mut parents, joint.a.index()), root(&mut parents, joint.b.index()));
        // A soft body is no part of a tree.
        let soft = [joint.a, joint.b]
            .iter()
            .any(|id| matches!(scene.bodies[id.index()].kind, crate::scene::Kind::Soft(_)));
        if a != b && !soft {
            parents[a.max(b)] = a.min(b);
            edges.push(Edge { joint: JointId(j as u32), a: joint.a, b: joint.b });
        }
    }
    edges.sort_by_key(|e| e.joint);
    edges
}

/// The free bodies that joints connect, mechanism by mechanism; bodies without joint are left out.
fn mechanisms(scene: &Scene, edges: &[Edge]) -> Vec<Vec<BodyId>> {
    let mut seen = vec![false; scene.bodies.len()];
    let mut out = Vec::new();
    for edge in edges {
        for start in [edge.a, edge.b] {
            if seen[start.index()] || !free(&scene.bodies[start.index()].kind) {
                continue;
            }
            let mut list = vec![start];
            seen[start.index()] = true;
            let mut next = 0;
            while next < list.len() {
                for other in neighbours(edges, list[next]).map(|(_, other)| other) {
                    if !seen[other.index()] && free(&scene.bodies[other.index()].kind) {
                        seen[other.index()] = true;
                        list.push(other);
                    }
                }
                next += 1;
            }
            list.sort_unstable();
            out.push(list);
        }
    }
    out
}

fn neighbours(edges: &[Edge], body: BodyId) -> impl Iterator<Item = (&Edge, BodyId)> {
    edges.iter().filter_map(move |e| match body {
        x if x == e.a => Some((e, e.b)),
        x if x == e.b => Some((e, e.a)),
        _ => None,
    })
}

/// The links of a mechanism, each behind the one that carries it (steps 2 and 3).
fn hang(scene: &Scene, layout: &Layout, edges: &[Edge], bodies: &[BodyId]) -> Vec<Link> {
    let held = bodies.iter().find_map(|&body| {
        let hung =
            neighbours(edges, body).find(|(_, other)| !free(&scene.bodies[other.index()].kind));
        hung.map(|(edge, other)| (body, edge.joint, other))
    });
    let at = |body: BodyId| layout.velocity(body).expect("free bodies have velocities");
    let mut links: Vec<Link> = Vec::new();
    match held {
        Some((body, id, base)) => {
            let joint = &scene.joints[id.index()];
            let count = freedom(joint.kind).expect("trees know their joints");
            let reversed = joint.a == body;
            links.push(Link {
                body,
                parent: None,
                base,
                joint: Some(id),
                reversed,
                first: 0,
                count,
                at: at(body),
            });
        }
        None => {
            let body = centre(edges, bodies);
            links.push(Link {
                body,
                parent: None,
                base: BodyId::GROUND,
                joint: None,
                reversed: false,
                first: 0,
                count: 6,
                at: at(body),
            });
        }
    }
    let mut next = 0;
    while next < links.len() {
        let (body, from) = (links[next].body, links[next].joint);
        for (edge, other) in neighbours(edges, body) {
            if Some(edge.joint) == from || !free(&scene.bodies[other.index()].kind) {
                continue;
            }
            let last = links.last().expect("the root is there");
            let (first, count) = (
                last.first + last.count,
                freedom(scene.joints[edge.joint.index()].kind).expect("trees know their joints"),
            );
            let (joint, reversed) = (Some(edge.joint), edge.a == other);
            links.push(Link {
                body: other,
                parent: Some(next as u32),
                base: body,
                joint,
                reversed,
                first,
                count,
                at: at(other),
            });
        }
        next += 1;
    }
    links
}

/// The body from which the farthest other one is nearest: the middle of a longest way.
fn centre(edges: &[Edge], bodies: &[BodyId]) -> BodyId {
    // Distances from a body, and the way that a walk in rings found.
    let walk = |from: BodyId| {
        let mut found: Vec<(BodyId, usize)> = vec![(from, 0)];
        let mut next = 0;
        while next < found.len() {
            for (_, other) in neighbours(edges, found[next].0) {
                if !found.iter().any(|(b, _)| *b == other) {
                    found.push((other, next));
                }
            }
            next += 1;
        }
        found
    };
    let far = |from: BodyId| walk(from).last().map_or(from, |(b, _)| *b);
    let ways = walk(far(bodies[0]));
    let mut way = vec![ways.len() - 1];
    while let Some(&last) = way.last().filter(|l| **l != 0) {
        way.push(ways[last].1);
    }
    ways[way[way.len() / 2]].0
}

/// Whether a joint that trees know is cut within a mechanism.
fn looped(scene: &Scene, bodies: &[BodyId], edges: &[Edge]) -> bool {
    scene.joints.iter().enumerate().any(|(j, joint)| {
        let rigid = joint.compliance == 0.0 && !joint.kind.parts().is_empty();
        let within = [joint.a, joint.b].iter().any(|b| bodies.binary_search(b).is_ok());
        rigid && within && edges.binary_search_by_key(&JointId(j as u32), |e| e.joint).is_err()
    })
}

/// Whether the coordinates of the tree cost less than those of its bodies.
fn pays(scene: &Scene, links: &[Link]) -> bool {
    let mut depths: Vec<usize> = Vec::new();
    let (mut entries, mut saved) = (0.0, 0.0);
    for link in links {
        let above = link.parent.map_or(0, |p| depths[p as usize]);
        let depth = above + link.count;
        depths.push(depth);
        entries += (link.count * depth * depth) as f64;
        saved += link.joint.map_or(0.0, |id| scene.joints[id.index()].kind.parts().len() as f64);
    }
    entries <= ROWS_COST * saved
}
