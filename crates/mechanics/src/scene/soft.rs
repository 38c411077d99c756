//! Soft bodies: meshes of tetrahedra of an elastic material.
//!
//! A soft body has a [`super::Body`] of its own (its name, its place in verdicts; its frame sits in
//! the centre of mass, axes along the world), but its motion is that of its nodes: three unknowns
//! each, none for a node that is held.

use super::{BodyId, ColliderId, Function, SurfaceMaterial};
use crate::geometry::tetrahedra::{Boundary, Tetrahedra};
use glam::DVec3;
use serde::{Deserialize, Serialize};

/// A linear elastic material with damping.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Elastic {
    /// Young's modulus, Pa, > 0.
    pub young: f64,
    /// Poisson's ratio, −1 … 0.5, both excluded.
    pub poisson: f64,
    /// Density, kg/m³, > 0.
    pub density: f64,
    /// Rayleigh damping per mass α, 1/s, ≥ 0: the damping matrix is αM + βK.
    pub mass_damping: f64,
    /// Rayleigh damping per stiffness β, s, ≥ 0.
    pub stiffness_damping: f64,
}

impl Default for Elastic {
    /// A soft rubber without damping.
    fn default() -> Elastic {
        Elastic {
            young: 1e7,
            poisson: 0.3,
            density: 1000.0,
            mass_damping: 0.0,
            stiffness_damping: 0.0,
        }
    }
}

impl Elastic {
    /// Lamé's λ and μ, Pa.
    pub fn lame(&self) -> (f64, f64) {
        let (e, nu) = (self.young, self.poisson);
        (e * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)), e / (2.0 * (1.0 + nu)))
    }
}

/// How the mass of an element is given to its nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeMass {
    /// A quarter to each node: M is diagonal.
    #[default]
    Lumped,
    /// By the shape functions: ρV/20 (1 + δ_ab).
    Consistent,
}

/// A node that a rigid body carries with it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attachment {
    /// The node.
    pub node: u32,
    /// The body.
    pub body: BodyId,
    /// The point of the body where the node stays, body frame, m.
    pub point: DVec3,
}

/// A force on nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// The nodes, each with the share of the force that it gets.
    pub nodes: Vec<(u32, f64)>,
    /// The force along the axes of the world, N.
    pub force: [Function; 3],
}

/// A soft body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Soft {
    /// Its body.
    pub body: BodyId,
    /// Its mesh without stress, where it stands at the beginning.
    pub mesh: Tetrahedra,
    /// What it is made of.
    pub elastic: Elastic,
    /// How its nodes get their mass.
    pub mass: NodeMass,
    /// Nodes that do not move, ascending.
    pub held: Vec<u32>,
    /// Nodes that rigid bodies carry.
    pub attached: Vec<Attachment>,
    /// Forces on nodes.
    pub loads: Vec<Load>,
    /// Its boundary.
    pub boundary: Boundary,
    /// The collider of its boundary.
    pub collider: Option<ColliderId>,
}

impl Soft {
    /// A soft body of a mesh, free, without loads; [`super::Scene::add_soft`] puts it into a scene.
    pub fn new(mesh: Tetrahedra, elastic: Elastic) -> Soft {
        Soft {
            body: BodyId::GROUND,
            boundary: mesh.boundary(),
            mesh,
            elastic,
            mass: NodeMass::default(),
            held: Vec::new(),
            attached: Vec::new(),
            loads: Vec::new(),
            collider: None,
        }
    }

    /// Nodes whose place (without stress) satisfies a condition.
    pub fn nodes_where(&self, condition: impl Fn(DVec3) -> bool) -> Vec<u32> {
        (0..self.mesh.nodes.len() as u32)
            .filter(|&n| condition(self.mesh.nodes[n as usize]))
            .collect()
    }

    /// The same body with more nodes held.
    pub fn holding(mut self, condition: impl Fn(DVec3) -> bool) -> Soft {
        self.held.extend(self.nodes_where(condition));
        self.held.sort_unstable();
        self.held.dedup();
        self
    }

    /// The node nearest to a place (without stress).
    pub fn nearest(&self, place: DVec3) -> u32 {
        let distance = |n: &u32| self.mesh.nodes[*n as usize].distance_squared(place);
        (0..self.mesh.nodes.len() as u32)
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
            .unwrap_or(0)
    }

    /// What is wrong with it, if anything.
    pub fn fault(&self) -> Option<String> {
        let e = &self.elastic;
        for (what, value, good) in [
            ("Young's modulus", e.young, e.young > 0.0),
            ("Poisson's ratio", e.poisson, e.poisson > -1.0 && e.poisson < 0.5),
            ("density", e.density, e.density > 0.0),
            ("damping per mass", e.mass_damping, e.mass_damping >= 0.0),
            ("damping per stiffness", e.stiffness_damping, e.stiffness_damping >= 0.0),
        ] {
            if !(good && value.is_finite()) {
                let wanted = if what.starts_with('P') {
                    "-1 … 0.5, both excluded"
                } else {
                    "a positive number"
                };
                return Some(format!("{what} = {value}, wanted {wanted}"));
            }
        }
        if let Err(fault) = self.mesh.check() {
            return Some(fault.to_string());
        }
        let count = self.mesh.nodes.len();
        let named = self
            .held
            .iter()
            .chain(self.attached.iter().map(|a| &a.node))
            .chain(self.loads.iter().flat_map(|l| l.nodes.iter().map(|n| &n.0)));
        if let Some(node) = named.into_iter().find(|n| **n as usize >= count) {
            return Some(format!("names node {node}, wanted below {count}"));
        }
        if let Some(pair) = self.held.windows(2).find(|w| w[0] >= w[1]) {
            return Some(format!("held nodes {} and {} do not ascend", pair[0], pair[1]));
        }
        self.loads.iter().flat_map(|l| &l.force).find_map(Function::fault)
    }
}

impl super::Scene {
    /// Adds a soft body; its surface touches others unless `surface` is none.
    pub fn add_soft(
        &mut self,
        name: impl Into<String>,
        soft: Soft,
        surface: Option<SurfaceMaterial>,
    ) -> super::SoftId {
        let id = super::SoftId(self.softs.len() as u32);
        let body =
            self.add_body(super::Body { kind: super::Kind::Soft(id), ..super::Body::fixed(name) });
        let collider = surface.map(|surface| {
            let vertices =
                soft.boundary.nodes.iter().map(|&n| soft.mesh.nodes[n as usize]).collect();
            let shape = crate::geometry::Shape::Mesh {
                vertices,
                triangles: soft.boundary.triangles.clone(),
            };
            let id = self.add_collider(body, shape, crate::math::pose::Pose::IDENTITY, surface);
            self.colliders[id.index()].soft = true;
            id
        });
        self.softs.push(Soft { body, collider, ..soft });
        id
    }

    /// The soft body of this name.
    pub fn soft_named(&self, name: &str) -> Option<super::SoftId> {
        self.softs
            .iter()
            .position(|s| self.bodies[s.body.index()].name == name)
            .map(|i| super::SoftId(i as u32))
    }
}
