//! Soft bodies of a scene, from their tables.

use super::Builder;
use crate::mesh;
use crate::scenefile::soft::{Masses, Soft};
use crate::scenefile::value::*;
use glam::DVec3;
use signorini_mechanics::geometry::Tetrahedra;
use signorini_mechanics::scene::{Attachment, Elastic, Function, Load, NodeMass, Soft as Built};
use signorini_solve::math::pose::Pose;
use std::path::Path;

/// Cells of all grids of a scene at most: six elements each, some gigabytes when they are factored.
const MAX_CELLS: usize = 200_000;

impl Builder<'_, '_> {
    /// A soft body.
    pub fn soft(&mut self, moved: &Pose, table: &Soft) {
        if !self.define("body", &table.name) {
            return;
        }
        let Some(mesh) = self.soft_mesh(table) else { return };
        let Some(rotation) = self.rotation(table.rotation.as_ref()) else { return };
        let elastic = Elastic {
            young: table.young.si,
            poisson: table.poisson.map_or(0.3, |x| x.si),
            density: table.density.si,
            mass_damping: table.mass_damping.map_or(0.0, |x| x.si),
            stiffness_damping: table.stiffness_damping.map_or(0.0, |x| x.si),
        };
        let mut soft = Built::new(mesh, elastic);
        soft.mass = if table.mass == Some(Masses::Consistent) {
            NodeMass::Consistent
        } else {
            NodeMass::Lumped
        };
        for region in &table.hold {
            let nodes = self.region(&soft, table, &region.low, &region.high);
            soft.held.extend(nodes);
        }
        soft.held.sort_unstable();
        soft.held.dedup();
        for load in &table.load {
            let nodes = self.region(&soft, table, &load.low, &load.high);
            let share = 1.0 / nodes.len().max(1) as f64;
            let force: [Function; 3] = load.force.each_ref().map(|f| f.function.clone());
            soft.loads.push(Load { nodes: nodes.into_iter().map(|n| (n, share)).collect(), force });
        }
        let mut carried = Vec::new();
        for attach in &table.attach {
            let nodes = self.region(&soft, table, &attach.low, &attach.high);
            let Some(body) = self.body_named(&attach.body) else { return };
            carried.extend(nodes.into_iter().map(|n| (n, body)));
        }
        let pose =
            *moved * Pose::new(table.position.as_ref().map_or(DVec3::ZERO, vector), rotation);
        soft.mesh.nodes.iter_mut().for_each(|x| *x = pose.point(*x));
        for (node, body) in carried {
            let point =
                self.scene.bodies[body.index()].pose.inverse_point(soft.mesh.nodes[node as usize]);
            soft.attached.push(Attachment { node, body, point });
        }
        let Some(surface) = self.surface_material(&table.material) else { return };
        let id = self.scene.add_soft(
            table.name.value.clone(),
            soft,
            (table.touch != Some(false)).then_some(surface),
        );
        let body = self.scene.softs[id.index()].body;
        self.scene.bodies[body.index()].velocity =
            moved.vector(table.velocity.as_ref().map_or(DVec3::ZERO, vector));
    }

    /// The mesh in its own frame.
    fn soft_mesh(&mut self, table: &Soft) -> Option<Tetrahedra> {
        let fault = |builder: &mut Self, message: &str| {
            builder.reader.fault(&table.name.at, message, "wanted one of grid, cylinder, file")
        };
        match (&table.grid, &table.cylinder, &table.file) {
            (Some(grid), None, None) => {
                let (cells, size) = (grid.cells.map(|c| c.0), vector(&grid.size));
                if cells.contains(&0) || !(size.min_element() > 0.0) {
                    fault(self, &format!("the grid has {cells:?} cells and the size {size}"));
                    return None;
                }
                if !self.affordable(table, cells) {
                    return None;
                }
                let mut mesh = Tetrahedra::block(cells, size);
                mesh.nodes.iter_mut().for_each(|x| *x -= 0.5 * size);
                Some(mesh)
            }
            (None, Some(round), None) => {
                let (across, along) = (round.across.0, round.along.0);
                if across == 0 || along == 0 || !(round.radius.si > 0.0 && round.length.si > 0.0) {
                    fault(self, &format!("the cylinder has {across} × {along} cells"));
                    return None;
                }
                if !self.affordable(table, [across, across, along]) {
                    return None;
                }
                Some(Tetrahedra::cylinder(across, along, round.radius.si, round.length.si))
            }
            (None, None, Some(file)) => {
                let scene = Path::new(&self.reader.sources.0[file.at.file].name)
                    .parent()
                    .unwrap_or(Path::new(""))
                    .to_path_buf();
                match mesh::read(&scene.join(&file.value)).and_then(|m| {
                    m.checked(table.unit.map(|u| u.si)).map_err(|w| format!("{}: {w}", file.value))
                }) {
                    Ok(mesh) => Some(mesh),
                    Err(why) => {
                        self.reader.fault(&file.at, why, "");
                        None
                    }
                }
            }
            _ => {
                fault(self, "this soft body has no mesh, or more than one");
                None
            }
        }
    }

    /// Whether a grid is one that a computer can hold; soft bodies of repetitions count together.
    fn affordable(&mut self, table: &Soft, cells: [usize; 3]) -> bool {
        let asked = cells.iter().fold(1usize, |n, c| n.saturating_mul(*c));
        let before: usize = self.scene.softs.iter().map(|s| s.mesh.elements.len() / 6).sum();
        if asked.saturating_add(before) <= MAX_CELLS {
            return true;
        }
        let message = format!(
            "the mesh of `{}` has {asked} cells, soft bodies before it {before}",
            table.name.value
        );
        self.reader.fault(&table.name.at, message, format!("wanted at most {MAX_CELLS} in all"));
        false
    }

    /// The nodes within a region; a region without nodes is a fault.
    fn region(
        &mut self,
        soft: &Built,
        table: &Soft,
        low: &Vector<Length>,
        high: &Vector<Length>,
    ) -> Vec<u32> {
        let (low, high) = (vector(low), vector(high));
        // The rounding of a grid's coordinates must not decide.
        let near = DVec3::splat(1e-9 * soft.mesh.extent());
        let nodes = soft.nodes_where(|x| x.cmpge(low - near).all() && x.cmple(high + near).all());
        if nodes.is_empty() {
            let message =
                format!("the region {low} … {high} of `{}` holds no node", table.name.value);
            self.reader.fault(&table.name.at, message, "wanted corners in the frame of the mesh");
        }
        nodes
    }
}
