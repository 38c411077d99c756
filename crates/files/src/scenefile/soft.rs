//! The tables of soft bodies, `[[soft]]`, and of contacts that are springs.

use super::frame::Rotation;
use super::read::{table, words};
use super::value::*;
use signorini_mechanics::assemble::Penalty as Springs;

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
