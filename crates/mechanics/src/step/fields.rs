//! What a soft body shows: fields over its nodes after a step.
//!
//! | field | at a node |
//! |---|---|
//! | displacement | place now − place without stress |
//! | von Mises | mean over the elements around it, by volume |
//! | contact force | Σ impulse · share / h̄ over the contacts that it holds |
//! | contact pressure | normal part of that force over a third of the boundary around it (without stress) |

use super::Stepper;
use crate::assemble::Source;
use crate::assemble::contact::frame;
use crate::scene::{Scene, SoftId, State};
use glam::DVec3;

/// Fields over the nodes of one soft body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields {
    /// Places, world, m.
    pub positions: Vec<DVec3>,
    /// Displacements from the places without stress, m.
    pub displacements: Vec<DVec3>,
    /// Velocities, m/s.
    pub velocities: Vec<DVec3>,
    /// Von Mises's equivalent stress, Pa.
    pub von_mises: Vec<f64>,
    /// Contact pressure, Pa, ≥ 0.
    pub pressure: Vec<f64>,
    /// Contact forces, mean over the step, N.
    pub contact_forces: Vec<DVec3>,
    /// Von Mises's equivalent stress of each element, Pa.
    pub element_von_mises: Vec<f64>,
}

impl Stepper {
    /// The fields of a soft body after the last step, which led to `state`.
    pub fn fields(&self, scene: &Scene, state: &State, id: SoftId) -> Fields {
        let soft = &scene.softs[id.index()];
        let nodes = self.layout.nodes_of(id);
        let first = nodes.start as u32;
        let mesh = &self.assembly.meshes[id.index()];
        let mut fields = Fields {
            positions: nodes.clone().map(|n| state.node(&self.layout, n)).collect(),
            velocities: nodes.clone().map(|n| state.node_velocity(&self.layout, n)).collect(),
            element_von_mises: mesh.warps.iter().map(|w| w.von_mises()).collect(),
            ..Fields::default()
        };
        fields.displacements =
            fields.positions.iter().zip(&soft.mesh.nodes).map(|(now, rest)| *now - *rest).collect();
        fields.von_mises = vec![0.0; nodes.len()];
        // The mass of a node stands for the volume around it.
        for ((stress, element), corners) in
            fields.element_von_mises.iter().zip(&mesh.elements).zip(&soft.mesh.elements)
        {
            for &n in corners {
                let share = 0.25 * element.volume * soft.elastic.density / mesh.masses[n as usize];
                fields.von_mises[n as usize] += stress * share;
            }
        }
        let (forces, normal) = self.contact_forces(first, nodes.len());
        fields.pressure = vec![0.0; nodes.len()];
        let mut areas = vec![0.0; nodes.len()];
        for triangle in &soft.boundary.triangles {
            let corners = triangle.map(|t| soft.boundary.nodes[t as usize]);
            let [a, b, c] = corners.map(|n| soft.mesh.nodes[n as usize]);
            corners.iter().for_each(|&n| areas[n as usize] += (b - a).cross(c - a).length() / 6.0);
        }
        for (pressure, (normal, area)) in fields.pressure.iter_mut().zip(normal.iter().zip(&areas))
        {
            *pressure = if *area > 0.0 { normal / area } else { 0.0 };
        }
        fields.contact_forces = forces;
        fields
    }

    /// Force and normal force on the nodes from `first` on, N.
    fn contact_forces(&self, first: u32, count: usize) -> (Vec<DVec3>, Vec<f64>) {
        let (mut forces, mut normals) = (vec![DVec3::ZERO; count], vec![0.0; count]);
        let rows = &self.assembly.problem.J.row_starts;
        for (k, source) in self.assembly.sources.iter().enumerate().skip(self.assembly.joint_blocks)
        {
            let Source::Contact(_, _, c) = *source else { continue };
            let contact = &self.contacts[c as usize];
            let r = &self.solution.r[rows[k]..rows[k + 1]];
            let force: DVec3 =
                r.iter().zip(frame(contact.normal)).map(|(r, d)| d * *r).sum::<DVec3>()
                    / self.now.kick();
            for (grip, sign) in self
                .now
                .grips
                .get(c as usize)
                .copied()
                .unwrap_or_default()
                .into_iter()
                .zip([-1.0, 1.0])
            {
                let Some(grip) = grip else { continue };
                for (node, share) in grip.vertices.into_iter().zip(grip.shares) {
                    if let Some(n) = node.checked_sub(first).filter(|n| (*n as usize) < count) {
                        forces[n as usize] += force * (sign * share);
                        normals[n as usize] += share * r[0] / self.now.kick();
                    }
                }
            }
        }
        (forces, normals)
    }
}
