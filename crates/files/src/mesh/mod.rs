//! Meshes of tetrahedra from files: Gmsh `.msh` 4.1 (text or binary), `.vtu` (text, base64,
//! appended, zlib), legacy `.vtk` (text or binary).
//!
//! Points, lines, triangles and quadrangles of a file are left out: the boundary follows from the
//! tetrahedra. Any other volume element is a fault that names it. Elements and nodes are told by
//! the numbers they have in the file.

pub mod base64;
pub mod legacy;
pub mod msh;
pub mod vtu;

use glam::DVec3;
use signorini_mechanics::geometry::Tetrahedra;
use signorini_mechanics::geometry::tetrahedra::Fault;
use std::path::Path;

/// A mesh, with the numbers that its file gives to nodes and elements.
#[derive(Clone, Debug, Default)]
pub struct Imported {
    /// The mesh.
    pub mesh: Tetrahedra,
    /// Number of each node.
    pub nodes: Vec<u64>,
    /// Number of each element.
    pub elements: Vec<u64>,
}

/// The extents that a mesh without a declared unit may have, m: beyond them it was drawn in another
/// unit.
pub const LIKELY_EXTENTS: [f64; 2] = [1e-3, 100.0];

/// Reads a file by its ending; the message is one line.
pub fn read(path: &Path) -> Result<Imported, String> {
    let bytes = crate::bounded::bytes(path, crate::bounded::MESH)
        .map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    let imported = match path.extension().and_then(|e| e.to_str()) {
        Some("msh") => msh::read(&bytes),
        Some("vtu") => vtu::read(&bytes),
        Some("vtk") => legacy::read(&bytes),
        _ => Err("wanted a file that ends in .msh, .vtu or .vtk".into()),
    };
    imported.map_err(|why| format!("{}: {why}", path.display()))
}

impl Imported {
    /// Scales to metres and looks at everything; `unit` is none if the file's unit is not declared:
    /// then the size must be plausible.
    pub fn checked(mut self, unit: Option<f64>) -> Result<Tetrahedra, String> {
        let extent = self.mesh.extent();
        if unit.is_none()
            && !self.mesh.nodes.is_empty()
            && !(LIKELY_EXTENTS[0]..=LIKELY_EXTENTS[1]).contains(&extent)
        {
            let first = self.elements.first().copied().unwrap_or(0);
            return Err(format!(
                "wrong units? the mesh (from element {first} on) is {extent:.3e} m long: say unit \
                    = \"mm\" or such"
            ));
        }
        let scale = unit.unwrap_or(1.0);
        self.mesh.nodes.iter_mut().for_each(|x| *x *= scale);
        self.mesh.check().map_err(|fault| self.told(fault))?;
        Ok(self.mesh)
    }

    /// A fault by the numbers of the file.
    fn told(&self, fault: Fault) -> String {
        match fault {
            Fault::Element { element, why } => {
                format!("element {} {why}", self.elements[element as usize])
            }
            Fault::Nowhere { node, place } => format!(
                "node {} lies at {place}, wanted finite coordinates",
                self.nodes[node as usize]
            ),
            Fault::Orphan { node, .. } => {
                let (number, last) =
                    (self.nodes[node as usize], self.elements[self.elements.len() - 1]);
                format!("node {number} is an orphan: no element up to number {last} uses it")
            }
            other => other.to_string(),
        }
    }

    /// Takes the tetrahedra out of VTK's lists of cells.
    pub fn from_cells(
        points: Vec<DVec3>,
        connectivity: &[usize],
        ends: &[usize],
        types: &[u8],
    ) -> Result<Imported, String> {
        let mut out = Imported { nodes: (0..points.len() as u64).collect(), ..Imported::default() };
        out.mesh.nodes = points;
        if ends.len() != types.len() {
            return Err(format!("{} cells have {} types", ends.len(), types.len()));
        }
        let mut start = 0;
        for (cell, (&end, &kind)) in ends.iter().zip(types).enumerate() {
            let corners = connectivity.get(start..end).ok_or_else(|| {
                format!("element {cell} ends at {end} of {} corners", connectivity.len())
            })?;
            start = end;
            match (kind, corners) {
                (1..=9, _) => {}
                (10, &[a, b, c, d]) => {
                    let bad = [a, b, c, d].into_iter().find(|n| *n >= out.mesh.nodes.len());
                    if let Some(node) = bad {
                        return Err(format!(
                            "element {cell} names node {node}, wanted below {}",
                            out.mesh.nodes.len()
                        ));
                    }
                    out.mesh.elements.push([a, b, c, d].map(|n| n as u32));
                    out.elements.push(cell as u64);
                }
                _ => {
                    return Err(format!(
                        "element {cell} is of VTK's type {kind} with {} nodes, wanted tetrahedra \
                            (10)",
                        corners.len()
                    ));
                }
            }
        }
        Ok(out)
    }
}

/// The next number of a text.
pub(crate) fn number<T: std::str::FromStr>(
    words: &mut dyn Iterator<Item = &str>,
    what: &str,
) -> Result<T, String> {
    let word = words.next().ok_or_else(|| format!("ends where {what} was wanted"))?;
    word.parse().map_err(|_| format!("found `{word}`, wanted {what}"))
}
