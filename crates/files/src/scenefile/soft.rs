//! `[[soft]]`: soft bodies of a scene file, and contacts that are springs.

use super::build::Builder;
use super::format::Rotation;
use super::read::{table, words};
use super::value::*;
use crate::mesh;
use glam::DVec3;
use signorini_mechanics::assemble::Penalty as Springs;
use signorini_mechanics::geometry::Tetrahedra;
use signorini_mechanics::scene::{Attachment, Elastic, Function, Load, NodeMass, Soft as Built};
use signorini_solve::math::pose::Pose;
use std::path::Path;

words! {
    /// How the nodes of a soft body get their mass.
    pub enum Masses {
        /// A quarter of each element to each of its nodes.
        Lumped = "lumped",
        /// By the shape functions.
        Consistent = "consistent",
    }
}

table! {
    /// A soft body: a mesh of tetrahedra of an elastic material; exactly one of grid, cylinder,
    /// file.
    pub struct Soft {
        /// Its name, unique among bodies.
        name: Name,
        /// A box, its centre at the origin.
        grid: Option<Grid>,
        /// A cylinder along z, its centre at the origin.
        cylinder: Option<RoundGrid>,
        /// A file with a mesh: .msh (Gmsh 4.1), .vtu, .vtk; relative to the scene file.
        file: Option<Name>,
        /// The unit of the file's coordinates, such as "mm"; m without this, if the size is
        /// plausible.
        unit: Option<Of<Length>>,
        /// Young's modulus.
        young: Of<Pressure>,
        /// Poisson's ratio; 0.3 without this.
        poisson: Option<Of<Pure>>,
        /// Density.
        density: Of<Density>,
        /// Rayleigh damping per mass; none without this.
        mass_damping: Option<Of<Frequency>>,
        /// Rayleigh damping per stiffness; none without this.
        stiffness_damping: Option<Of<Time>>,
        /// How nodes get their mass; "lumped" without this.
        mass: Option<Masses>,
        /// Where the origin of the mesh is.
        position: Option<Vector<Length>>,
        /// How the mesh is turned.
        rotation: Option<At<Rotation>>,
        /// Velocity of all nodes at the beginning.
        velocity: Option<Vector<Speed>>,
        /// What its surface is made of.
        material: Option<Name>,
        /// False if its surface touches nothing.
        touch: Option<bool>,
        /// Regions of the mesh (in its own frame) whose nodes do not move.
        hold: Vec<Region>,
        /// Nodes that bodies carry.
        attach: Vec<Attach>,
        /// Forces on nodes.
        load: Vec<NodeLoad>,
    }
}

table! {
    /// A box of tetrahedra.
    pub struct Grid {
        /// Cells along x, y, z; six elements each.
        cells: [Count; 3],
        /// Its edges.
        size: Vector<Length>,
    }
}

table! {
    /// A cylinder of tetrahedra.
    pub struct RoundGrid {
        /// Its radius.
        radius: Of<Length>,
        /// Its length.
        length: Of<Length>,
        /// Cells across.
        across: Count,
        /// Cells along.
        along: Count,
    }
}

table! {
    /// A box in the frame of the mesh.
    pub struct Region {
        /// Its lowest corner.
        low: Vector<Length>,
        /// Its highest corner.
        high: Vector<Length>,
    }
}

table! {
    /// Nodes that a body carries.
    pub struct Attach {
        /// The body.
        body: Name,
        /// Lowest corner of the region, in the frame of the mesh.
        low: Vector<Length>,
        /// Highest corner of the region.
        high: Vector<Length>,
    }
}

table! {
    /// A force on the nodes of a region, in equal shares.
    pub struct NodeLoad {
        /// Lowest corner of the region, in the frame of the mesh.
        low: Vector<Length>,
        /// Highest corner of the region.
        high: Vector<Length>,
        /// The force along the axes of the world.
        force: [Timed<Force>; 3],
    }
}

table! {
    /// Springs and dampers in place of rigid contacts, for comparison.
    pub struct Penalty {
        /// Stiffness, N/m^exponent.
        stiffness: Of<Pure>,
        /// Exponent of the overlap; 1.5 (Hertz) without this.
        exponent: Option<Of<Pure>>,
        /// Damping.
        damping: Option<Of<Damping>>,
        /// Speed below which friction is viscous; 1 cm/s without this.
        slip: Option<Of<Speed>>,
        /// True if the springs are taken at the end of the step.
        implicit: Option<bool>,
    }
}

/// Cells of all grids of a scene at most: six elements each, some gigabytes when they are factored.
const MAX_CELLS: usize = 200_000;

impl Penalty {
    /// As the library wants it.
    pub fn springs(&self) -> Springs {
        let default = Springs::default();
        Springs {
            stiffness: self.stiffness.si,
            exponent: self.exponent.map_or(default.exponent, |x| x.si),
            damping: self.damping.map_or(default.damping, |x| x.si),
            slip: self.slip.map_or(default.slip, |x| x.si),
            implicit: self.implicit == Some(true),
        }
    }
}

impl Builder<'_, '_> {
    /// A soft body.
    pub fn soft(&mut self, moved: &Pose, table: &Soft) {
        if !self.define("body", &table.name) {
            return;
        }
        let Some(mesh) = self.soft_mesh(table) else { return };
        let Some(rotation) = self.rotation(&table.rotation) else { return };
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
        let Some(skin) = self.skin(&table.material) else { return };
        let id = self.scene.add_soft(
            table.name.value.clone(),
            soft,
            (table.touch != Some(false)).then_some(skin),
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
