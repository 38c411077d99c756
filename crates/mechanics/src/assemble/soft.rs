//! Soft bodies: the mass, stiffness and damping of their elements in H, their forces in k, the rows
//! that tie their nodes to rigid bodies.
//!
//! ```text
//!   H += M (1 + hα) + (h² + hβ) K          K the stiffness of [`super::tetrahedron`], where the nodes are now
//!   k += M v + h (f + gravity + loads)     f the elastic forces now; those at the end of the step are f − h K v⁺
//! ```
//!
//! Under the leapfrog scheme each element is weighed like a spring ([`Weights`]), by its own
//! stiffness per mass. The pattern of H is known before the first step: two nodes couple if they
//! share an element. Nodes that are held have no rows. The rotations are found element by element
//! on all threads, into fixed slots; they are added in the order of the elements.

use super::leapfrog::Weights;
use super::part::Gradient;
use super::rows::Block;
use super::tetrahedron::{Lame, Tetrahedron, Warp};
use super::{Assembly, Scheme, Source, StepInput};
use crate::math::sparse::Csr;
use crate::problem::Law;
use crate::scene::{Layout, NodeMass, Scene, Soft, SoftId};
use glam::DVec3;
use rayon::prelude::*;

/// Elements per portion of parallel work.
const ELEMENTS_PER_TASK: usize = 256;

/// A soft body prepared for assembly.
#[derive(Clone, Debug, Default)]
pub struct Mesh {
    /// Its elements without stress.
    pub elements: Vec<Tetrahedron>,
    /// The elements as they are now.
    pub warps: Vec<Warp>,
    /// The mass of each node, kg.
    pub masses: Vec<f64>,
    /// For each element, where the columns of node b begin in the rows of node a, counted from the
    /// beginning of those rows.
    places: Vec<[[u32; 4]; 4]>,
    /// Four nodes of each element, by their number in the scene.
    nodes: Vec<[u32; 4]>,
    lame: Lame,
    density: f64,
    consistent: bool,
    /// α and β of Rayleigh's damping.
    damping: [f64; 2],
    /// How the time scheme weighs each element; empty under the Euler scheme.
    weights: Vec<Weights>,
}

/// What a soft body did over a step, J.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Work of the elastic impulses at the mean velocity.
    pub elastic: f64,
    /// Taken by damping.
    pub damped: f64,
    /// Kinetic energy before.
    pub kinetic_before: f64,
    /// Kinetic energy after.
    pub kinetic: f64,
}

impl Mesh {
    fn new(soft: &Soft, first: u32) -> Mesh {
        let elements: Vec<Tetrahedron> =
            (0..soft.mesh.elements.len()).map(|e| Tetrahedron::new(soft.mesh.corners(e))).collect();
        let mut masses = vec![0.0; soft.mesh.nodes.len()];
        for (element, nodes) in elements.iter().zip(&soft.mesh.elements) {
            nodes
                .iter()
                .for_each(|&n| masses[n as usize] += 0.25 * soft.elastic.density * element.volume);
        }
        let (lambda, mu) = soft.elastic.lame();
        Mesh {
            elements,
            warps: Vec::new(),
            masses,
            places: Vec::new(),
            nodes: soft.mesh.elements.iter().map(|e| e.map(|n| n + first)).collect(),
            lame: Lame { lambda, mu },
            density: soft.elastic.density,
            consistent: soft.mass == NodeMass::Consistent,
            damping: [soft.elastic.mass_damping, soft.elastic.stiffness_damping],
            weights: Vec::new(),
        }
    }

    /// How the time scheme weighs each element. Its largest eigenvalue is at most the trace: (λ +
    /// 3μ) Σ|g|² over a quarter of its density, which is an upper bound for all modes of the mesh
    /// as well.
    fn weigh(&mut self, now: &StepInput) {
        self.weights.clear();
        if now.lag.is_none() {
            return;
        }
        let [alpha, beta] = self.damping;
        for element in &self.elements {
            let slopes: f64 = element.gradients.iter().map(|g| g.length_squared()).sum();
            let stiffness = 4.0 * (self.lame.lambda + 3.0 * self.lame.mu) * slopes / self.density;
            self.weights.push(Weights::of(now, stiffness, alpha + beta * stiffness));
        }
    }

    fn weight(&self, element: usize) -> Weights {
        self.weights.get(element).copied().unwrap_or(Weights::EULER)
    }

    /// The elements with the nodes of the scene at `nodes`.
    pub fn evaluate(&mut self, nodes: &[DVec3]) {
        self.warps.resize(self.elements.len(), Warp::default());
        let lame = self.lame;
        let run = |((warp, element), corners): ((&mut Warp, &Tetrahedron), &[u32; 4])| {
            *warp = element.warp(corners.map(|n| nodes[n as usize]), lame);
        };
        if rayon::current_num_threads() == 1 || self.elements.len() <= ELEMENTS_PER_TASK {
            self.warps.iter_mut().zip(&self.elements).zip(&self.nodes).for_each(run);
        } else {
            let portions = self
                .warps
                .par_chunks_mut(ELEMENTS_PER_TASK)
                .zip(self.elements.par_chunks(ELEMENTS_PER_TASK))
                .zip(self.nodes.par_chunks(ELEMENTS_PER_TASK));
            portions.for_each(|((w, e), n)| w.iter_mut().zip(e).zip(n).for_each(run));
        }
    }

    /// The elastic energy of the evaluated elements, J.
    pub fn energy(&self) -> f64 {
        self.warps.iter().map(|w| w.energy).sum()
    }

    /// The mass that couples corners a and b of an element, kg.
    #[inline]
    fn mass(&self, element: usize, a: usize, b: usize) -> f64 {
        let mass = self.density * self.elements[element].volume;
        match (self.consistent, a == b) {
            (true, true) => 0.1 * mass,
            (true, false) => 0.05 * mass,
            (false, true) => 0.25 * mass,
            (false, false) => 0.0,
        }
    }

    /// `M v` of one element.
    #[inline]
    fn momentum(&self, element: usize, v: &[DVec3; 4]) -> [DVec3; 4] {
        let mass = self.density * self.elements[element].volume;
        let sum = v[0] + v[1] + v[2] + v[3];
        v.map(|v| if self.consistent { (v + sum) * (0.05 * mass) } else { v * (0.25 * mass) })
    }

    /// Adds `mass` · M + `stiffness` · K of every element to H; `factors` gives both for an
    /// element, no stiffness for the mass alone.
    fn add_matrix(
        &self,
        h: &mut Csr,
        layout: &Layout,
        factors: impl Fn(usize) -> (f64, Option<f64>),
    ) {
        for (e, nodes) in self.nodes.iter().enumerate() {
            let (mass, stiffness) = factors(e);
            for a in 0..4 {
                let Some(row) = layout.nodes[nodes[a] as usize] else { continue };
                for b in 0..4 {
                    if layout.nodes[nodes[b] as usize].is_none() {
                        continue;
                    }
                    let m = mass * self.mass(e, a, b);
                    let offset = self.places[e][a][b] as usize;
                    let k = stiffness.map(|s| {
                        self.warps[e].stiffness(a, b, self.elements[e].volume, self.lame) * s
                    });
                    for p in 0..3 {
                        let at = h.starts[row as usize + p] + offset;
                        let values = &mut h.values[at..at + 3];
                        values[p] += m;
                        if let Some(k) = &k {
                            // Row p of a symmetric pair of blocks.
                            values[0] += k.x_axis[p];
                            values[1] += k.y_axis[p];
                            values[2] += k.z_axis[p];
                        }
                    }
                }
            }
        }
    }

    /// Energies and works over a step, with the elements as they were at its beginning.
    pub fn work(&self, now: &StepInput, after: impl Fn(u32) -> DVec3) -> Work {
        let mut work = Work::default();
        let (h, kick, back) = (now.h, now.kick(), now.last_step());
        for (e, nodes) in self.nodes.iter().enumerate() {
            let Weights { alpha, beta, gamma } = self.weight(e);
            let (warp, volume) = (&self.warps[e], self.elements[e].volume);
            let old = nodes.map(|n| now.node_velocities[n as usize]);
            let new = nodes.map(&after);
            let (forces, strained) =
                (warp.forces(volume), warp.stiffness_times(&new, volume, self.lame));
            let (m_old, m_new) = (self.momentum(e, &old), self.momentum(e, &new));
            let earlier = match now.lag {
                Some(_) => warp.stiffness_times(&old, volume, self.lame),
                None => [DVec3::ZERO; 4],
            };
            for a in 0..4 {
                let mean = 0.5 * (old[a] + new[a]);
                let last = earlier[a] * (back * kick * alpha);
                work.elastic += mean.dot(forces[a] * kick - strained[a] * (h * kick * beta) + last);
                let strain = strained[a] * gamma + earlier[a] * (1.0 - gamma);
                let drag = m_new[a] * gamma + m_old[a] * (1.0 - gamma);
                work.damped += kick * mean.dot(strain * self.damping[1] + drag * self.damping[0]);
                work.kinetic_before += 0.5 * old[a].dot(m_old[a]);
                work.kinetic += 0.5 * new[a].dot(m_new[a]);
            }
        }
        work
    }

    /// Kinetic energy at these velocities of the nodes of the scene, J.
    pub fn kinetic(&self, velocity: impl Fn(u32) -> DVec3) -> f64 {
        let one = |(e, nodes): (usize, &[u32; 4])| {
            let v = nodes.map(&velocity);
            self.momentum(e, &v).iter().zip(v).map(|(p, v)| 0.5 * p.dot(v)).sum::<f64>()
        };
        self.nodes.iter().enumerate().map(one).sum()
    }
}

/// All soft bodies of a scene.
pub fn meshes(scene: &Scene, layout: &Layout) -> Vec<Mesh> {
    scene
        .softs
        .iter()
        .zip(&layout.node_starts)
        .map(|(soft, &first)| Mesh::new(soft, first))
        .collect()
}

/// Appends the rows of all nodes to the pattern of H, and tells every element its places there.
pub fn pattern(h: &mut Csr, meshes: &mut [Mesh], layout: &Layout) {
    let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); layout.nodes.len()];
    for nodes in meshes.iter().flat_map(|m| &m.nodes) {
        for &a in nodes {
            neighbours[a as usize].extend(nodes.iter().filter_map(|&b| layout.nodes[b as usize]));
        }
    }
    for (node, list) in neighbours.iter_mut().enumerate() {
        list.sort_unstable();
        list.dedup();
        let Some(row) = layout.nodes[node] else { continue };
        for p in 0..3 {
            h.columns.extend(list.iter().flat_map(|&s| s..s + 3));
            h.starts[row as usize + p + 1] = h.columns.len();
        }
    }
    h.values.resize(h.columns.len(), 0.0);
    for mesh in meshes {
        let place = |a: u32, b: u32| {
            let start = layout.nodes[b as usize]?;
            neighbours[a as usize].binary_search(&start).ok().map(|p| 3 * p as u32)
        };
        mesh.places = mesh
            .nodes
            .iter()
            .map(|n| n.map(|a| n.map(|b| place(a, b).unwrap_or(u32::MAX))))
            .collect();
    }
}

/// Adds the masses alone to H.
pub fn masses(out: &mut Assembly, layout: &Layout) {
    for mesh in &out.meshes {
        mesh.add_matrix(&mut out.problem.H, layout, |_| (1.0, None));
    }
}

/// Adds all soft bodies to H, k and the known impulses (gravity and loads before k is summed).
pub fn assemble(out: &mut Assembly, scene: &Scene, layout: &Layout, now: &StepInput) {
    let (h, kick, back) = (now.h, now.kick(), now.last_step());
    let mut meshes = std::mem::take(&mut out.meshes);
    for (mesh, (soft, &first)) in meshes.iter_mut().zip(scene.softs.iter().zip(&layout.node_starts))
    {
        mesh.evaluate(&now.nodes);
        mesh.weigh(now);
        let [alpha, beta] = mesh.damping;
        mesh.add_matrix(&mut out.problem.H, layout, |e| {
            let w = mesh.weight(e);
            (1.0 + kick * w.gamma * alpha, Some(kick * (h * w.beta + w.gamma * beta)))
        });
        for (e, nodes) in mesh.nodes.iter().enumerate() {
            let forces = mesh.warps[e].forces(mesh.elements[e].volume);
            let velocities = nodes.map(|n| now.node_velocities[n as usize]);
            let momentum = mesh.momentum(e, &velocities);
            for a in 0..4 {
                add(
                    &mut out.problem.k,
                    layout.nodes[nodes[a] as usize],
                    momentum[a] + forces[a] * kick,
                );
            }
            if now.lag.is_some() {
                let w = mesh.weight(e);
                let strained =
                    mesh.warps[e].stiffness_times(&velocities, mesh.elements[e].volume, mesh.lame);
                let stiffness = kick * (back * w.alpha - (1.0 - w.gamma) * beta);
                for a in 0..4 {
                    let earlier =
                        strained[a] * stiffness - momentum[a] * (kick * (1.0 - w.gamma) * alpha);
                    add(&mut out.problem.k, layout.nodes[nodes[a] as usize], earlier);
                }
            }
        }
        for (n, &mass) in mesh.masses.iter().enumerate() {
            add(
                &mut out.impulses.gravity,
                layout.nodes[first as usize + n],
                scene.gravity * (kick * mass),
            );
        }
        for load in &soft.loads {
            let force =
                DVec3::from_array(load.force.each_ref().map(|f| f.value(now.kick_middle())));
            for &(n, share) in &load.nodes {
                add(
                    &mut out.impulses.applied,
                    layout.nodes[(first + n) as usize],
                    force * (kick * share),
                );
            }
        }
    }
    out.meshes = meshes;
}

#[inline]
fn add(out: &mut [f64], at: Option<u32>, x: DVec3) {
    if let Some(at) = at {
        let at = at as usize;
        out[at] += x.x;
        out[at + 1] += x.y;
        out[at + 2] += x.z;
    }
}

/// Appends the rows of nodes that rigid bodies carry: `d · (v_node − v_body(point))`, d along the
/// axes of the world.
pub fn attachments(
    out: &mut Assembly,
    scene: &Scene,
    layout: &Layout,
    now: &StepInput,
    scheme: &Scheme,
) {
    for (s, (soft, &first)) in scene.softs.iter().zip(&layout.node_starts).enumerate() {
        for (i, attached) in soft.attached.iter().enumerate() {
            let node = first + attached.node;
            let pose = &now.poses[attached.body.index()];
            let point = pose.point(attached.point);
            let gap = now.nodes[node as usize] - point;
            // Leapfrog: what the body's rotation over the step adds to the linear motion.
            let ahead = now.node_predicted.get(node as usize).map(|v| {
                now.nodes[node as usize] + now.h * *v
                    - now.ahead[attached.body.index()].point(attached.point)
            });
            for d in [DVec3::X, DVec3::Y, DVec3::Z] {
                let mut block = Block::new(1);
                block.add_node(0, node, d, layout, now);
                let on_body =
                    Gradient { linear: -d, angular: -attached.point.cross(pose.inverse_vector(d)) };
                block.add(0, attached.body, &on_body, layout, now);
                let curved = ahead
                    .filter(|_| !now.straight)
                    .map_or(0.0, |ahead| (ahead - gap).dot(d) / now.h - block.expected[0]);
                let w = scheme.joint_erp * gap.dot(d) / now.correction_time() + curved;
                block.push(
                    out,
                    Source::Attachment(SoftId(s as u32), i as u32),
                    Law::Equality,
                    &[w],
                    0.0,
                );
            }
        }
    }
}
