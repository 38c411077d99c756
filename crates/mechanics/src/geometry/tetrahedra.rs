//! Meshes of tetrahedra: grids, their surface, and what may be wrong with them.
//!
//! An element (a, b, c, d) is right-handed: `((b − a) × (c − a)) · (d − a) > 0`. Its faces, seen
//! from outside counter-clockwise, are (a c b), (a b d), (b c d), (a d c).

use glam::DVec3;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Nodes, and four of them per element.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tetrahedra {
    /// Where the nodes are, m.
    pub nodes: Vec<DVec3>,
    /// Four nodes each, right-handed.
    pub elements: Vec<[u32; 4]>,
}

/// The boundary of a mesh.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Boundary {
    /// The nodes on it, ascending.
    pub nodes: Vec<u32>,
    /// Triangles by places in `nodes`, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}

/// What is wrong with a mesh: the first culprit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    /// There is nothing.
    #[error(
        "the mesh has {nodes} nodes and {elements} tetrahedra, wanted at least one tetrahedron"
    )]
    Empty {
        /// Nodes found.
        nodes: usize,
        /// Elements found.
        elements: usize,
    },
    /// A node that is nowhere.
    #[error("node {node} lies at {place}, wanted finite coordinates")]
    Nowhere {
        /// The node.
        node: u32,
        /// Its place.
        place: DVec3,
    },
    /// A fault of one element.
    #[error("element {element} {why}")]
    Element {
        /// The element.
        element: u32,
        /// What is wrong with it.
        why: String,
    },
    /// A node that no element uses.
    #[error("node {node} belongs to no element (element 0 … {last} use the others)")]
    Orphan {
        /// The node.
        node: u32,
        /// The last element.
        last: u32,
    },
}

/// The faces of an element by its corners, outside counter-clockwise.
pub const FACES: [[usize; 3]; 4] = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]];

impl Tetrahedra {
    /// A box of `counts` cells and this size, its lowest corner at the origin; six elements per
    /// cell, mirrored from cell to cell, so that no direction is preferred.
    pub fn block(counts: [usize; 3], size: DVec3) -> Tetrahedra {
        let [nx, ny, nz] = counts;
        let at = |i: usize, j: usize, k: usize| ((k * (ny + 1) + j) * (nx + 1) + i) as u32;
        let mut mesh = Tetrahedra::default();
        for k in 0..=nz {
            for j in 0..=ny {
                for i in 0..=nx {
                    let share = DVec3::new(
                        i as f64 / nx as f64,
                        j as f64 / ny as f64,
                        k as f64 / nz as f64,
                    );
                    mesh.nodes.push(share * size);
                }
            }
        }
        // Paths along the edges of a cell from one corner to the opposite one: one element for each
        // order of the axes.
        let orders = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]];
        for k in 0..nz {
            for j in 0..ny {
                for i in 0..nx {
                    let mirrored = [i % 2, j % 2, k % 2];
                    for (o, order) in orders.iter().enumerate() {
                        let mut corner = [0, 0, 0];
                        let mut element = [0; 4];
                        for step in 0..4 {
                            let c: [usize; 3] = std::array::from_fn(|a| corner[a] ^ mirrored[a]);
                            element[step] = at(i + c[0], j + c[1], k + c[2]);
                            if step < 3 {
                                corner[order[step]] = 1;
                            }
                        }
                        if (mirrored.iter().sum::<usize>() + usize::from(o >= 3)) % 2 == 1 {
                            element.swap(2, 3);
                        }
                        mesh.elements.push(element);
                    }
                }
            }
        }
        mesh
    }

    /// A cylinder along z, centred at the origin: a block of `across` × `across` × `along` cells
    /// pressed into the round.
    pub fn cylinder(across: usize, along: usize, radius: f64, length: f64) -> Tetrahedra {
        let mut mesh = Tetrahedra::block([across, across, along], DVec3::new(2.0, 2.0, length));
        for node in &mut mesh.nodes {
            let (x, y) = (node.x - 1.0, node.y - 1.0);
            *node = DVec3::new(
                radius * x * (1.0 - 0.5 * y * y).sqrt(),
                radius * y * (1.0 - 0.5 * x * x).sqrt(),
                node.z - 0.5 * length,
            );
        }
        mesh
    }

    /// The corners of an element.
    #[inline]
    pub fn corners(&self, element: usize) -> [DVec3; 4] {
        self.elements[element].map(|n| self.nodes[n as usize])
    }

    /// The greatest extent along an axis, m.
    pub fn extent(&self) -> f64 {
        let low = self.nodes.iter().fold(DVec3::INFINITY, |m, &x| m.min(x));
        let high = self.nodes.iter().fold(DVec3::NEG_INFINITY, |m, &x| m.max(x));
        (high - low).max_element()
    }

    /// Its boundary: the faces that belong to one element alone.
    pub fn boundary(&self) -> Boundary {
        let mut owners: HashMap<[u32; 3], u32> = HashMap::new();
        for face in self.faces() {
            *owners.entry(sorted(face.1)).or_default() += 1;
        }
        let outer: Vec<[u32; 3]> =
            self.faces().map(|f| f.1).filter(|f| owners[&sorted(*f)] == 1).collect();
        let mut nodes: Vec<u32> = outer.iter().flatten().copied().collect();
        nodes.sort_unstable();
        nodes.dedup();
        let place = |n: u32| nodes.binary_search(&n).expect("the list holds every corner") as u32;
        let triangles = outer.iter().map(|f| f.map(place)).collect();
        Boundary { nodes, triangles }
    }

    /// All faces with their elements.
    fn faces(&self) -> impl Iterator<Item = (u32, [u32; 3])> + '_ {
        self.elements
            .iter()
            .enumerate()
            .flat_map(|(e, element)| FACES.map(|f| (e as u32, f.map(|c| element[c]))))
    }

    /// Looks at everything and names the first culprit.
    pub fn check(&self) -> Result<(), Fault> {
        if self.elements.is_empty() || self.nodes.is_empty() {
            return Err(Fault::Empty { nodes: self.nodes.len(), elements: self.elements.len() });
        }
        if let Some(node) = self.nodes.iter().position(|x| !x.is_finite()) {
            return Err(Fault::Nowhere { node: node as u32, place: self.nodes[node] });
        }
        for e in 0..self.elements.len() {
            self.check_element(e).map_err(|why| Fault::Element { element: e as u32, why })?;
        }
        self.check_duplicates()?;
        self.check_faces()?;
        let mut used = vec![false; self.nodes.len()];
        self.elements.iter().flatten().for_each(|&n| used[n as usize] = true);
        match used.iter().position(|u| !u) {
            Some(node) => {
                Err(Fault::Orphan { node: node as u32, last: self.elements.len() as u32 - 1 })
            }
            None => Ok(()),
        }
    }

    fn check_element(&self, e: usize) -> Result<(), String> {
        let element = self.elements[e];
        if let Some(node) = element.iter().find(|&&n| n as usize >= self.nodes.len()) {
            return Err(format!("names node {node}, wanted below {}", self.nodes.len()));
        }
        let mut corners = element;
        corners.sort_unstable();
        if let Some(pair) = corners.windows(2).find(|w| w[0] == w[1]) {
            return Err(format!("names node {} twice, wanted four different nodes", pair[0]));
        }
        let [a, b, c, d] = self.corners(e);
        let volume = (b - a).cross(c - a).dot(d - a) / 6.0;
        let longest = [b - a, c - a, d - a, c - b, d - b, d - c]
            .iter()
            .fold(0.0f64, |m, x| m.max(x.length()));
        // A millionth of the regular element of this edge: its stiffness would drown all others.
        if volume.abs() <= 1e-7 * longest.powi(3) {
            return Err(format!("is flat: volume {volume:.3e} m³ with an edge of {longest:.3e} m"));
        }
        if volume < 0.0 {
            return Err(format!(
                "is inverted: volume {volume:.3e} m³, wanted its nodes in right-handed order"
            ));
        }
        Ok(())
    }

    /// The same element twice, and two nodes of the mesh in one place.
    fn check_duplicates(&self) -> Result<(), Fault> {
        let mut seen = HashMap::new();
        let mut places: HashMap<[u64; 3], u32> = HashMap::new();
        for (e, element) in self.elements.iter().enumerate() {
            let mut corners = *element;
            corners.sort_unstable();
            if let Some(first) = seen.insert(corners, e) {
                let why =
                    format!("is a duplicate of element {first}: both have the nodes {corners:?}");
                return Err(Fault::Element { element: e as u32, why });
            }
            for &n in element {
                let bits = (self.nodes[n as usize] + DVec3::ZERO).to_array().map(f64::to_bits);
                let first = *places.entry(bits).or_insert(n);
                if first != n {
                    let why = format!(
                        "has node {n} in the very place of node {first}: merge duplicate nodes"
                    );
                    return Err(Fault::Element { element: e as u32, why });
                }
            }
        }
        Ok(())
    }

    /// A face has one element, or two that lie on its two sides; an edge of the boundary has two
    /// triangles of it.
    fn check_faces(&self) -> Result<(), Fault> {
        let fault = |element: u32, why: String| Err(Fault::Element { element, why });
        let mut owners: HashMap<[u32; 3], Vec<(u32, bool)>> = HashMap::new();
        let mut order = Vec::new();
        for (e, face) in self.faces() {
            let list = owners.entry(sorted(face)).or_default();
            list.push((e, even(face)));
            order.push((e, face));
        }
        for &(e, face) in &order {
            match &owners[&sorted(face)][..] {
                [_] => {}
                [one, other] if one.1 != other.1 => {}
                [one, other] => {
                    return fault(
                        e.max(one.0).max(other.0),
                        format!(
                            "overlaps element {}: both lie on one side of the face {face:?}",
                            one.0.min(other.0)
                        ),
                    );
                }
                more => {
                    let list: Vec<u32> = more.iter().map(|m| m.0).collect();
                    return fault(
                        e,
                        format!(
                            "is non-manifold: its face {face:?} belongs to {} elements {list:?}",
                            more.len()
                        ),
                    );
                }
            }
        }
        // Each edge of the boundary, walked once in each direction.
        let mut edges: HashMap<(u32, u32), u32> = HashMap::new();
        for &(e, face) in order.iter().filter(|(_, f)| owners[&sorted(*f)].len() == 1) {
            for s in 0..3 {
                let edge = (face[s], face[(s + 1) % 3]);
                if let Some(first) = edges.insert(edge, e) {
                    let why = format!(
                        "is non-manifold: it touches element {first} along the edge {}–{} alone",
                        edge.0, edge.1
                    );
                    return fault(e, why);
                }
            }
        }
        Ok(())
    }
}

fn sorted(mut face: [u32; 3]) -> [u32; 3] {
    face.sort_unstable();
    face
}

/// Whether the corners are an even permutation of their ascending order.
fn even([a, b, c]: [u32; 3]) -> bool {
    (a < b) as u8 + (b < c) as u8 + (c < a) as u8 == 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(mesh: &Tetrahedra) -> f64 {
        (0..mesh.elements.len())
            .map(|e| {
                let [a, b, c, d] = mesh.corners(e);
                (b - a).cross(c - a).dot(d - a) / 6.0
            })
            .sum()
    }

    #[test]
    fn grids_fill_their_shape_and_their_boundary_closes() {
        let mesh = Tetrahedra::block([3, 2, 4], DVec3::new(0.3, 0.5, 0.7));
        mesh.check().unwrap();
        assert!((volume(&mesh) - 0.105).abs() < 1e-15);
        let boundary = mesh.boundary();
        assert_eq!(boundary.triangles.len(), 4 * (3 * 2 + 2 * 4 + 3 * 4));
        let round = Tetrahedra::cylinder(8, 3, 0.1, 0.4);
        round.check().unwrap();
        let full = std::f64::consts::PI * 0.01 * 0.4;
        // A polygon of 32 corners.
        assert!((volume(&round) / full - 1.0).abs() < 0.02, "{}", volume(&round) / full);
        // The boundary encloses the volume: Σ a·(b × c)/6 over its triangles.
        let outer = round.boundary();
        let at = |i: u32| round.nodes[outer.nodes[i as usize] as usize];
        let enclosed: f64 =
            outer.triangles.iter().map(|t| at(t[0]).dot(at(t[1]).cross(at(t[2]))) / 6.0).sum();
        assert!((enclosed - volume(&round)).abs() < 1e-15);
    }

    #[test]
    fn every_bad_mesh_is_told_by_the_number_of_its_element() {
        let good = Tetrahedra::block([1, 1, 1], DVec3::ONE);
        let told = |change: &dyn Fn(&mut Tetrahedra)| {
            let mut mesh = good.clone();
            change(&mut mesh);
            mesh.check().unwrap_err().to_string()
        };
        for (wanted, message) in [
            ("element 3 is inverted", told(&|m| m.elements[3].swap(0, 1))),
            ("element 2 names node 99", told(&|m| m.elements[2][1] = 99)),
            ("element 4 names node 7 twice", told(&|m| m.elements[4] = [0, 7, 7, 1])),
            ("element 6 is a duplicate of element 1", told(&|m| m.elements.push(m.elements[1]))),
            ("node 8 belongs to no element", told(&|m| m.nodes.push(DVec3::X * 5.0))),
            (
                "element 6 is non-manifold: it touches element",
                told(&|m| {
                    m.nodes.extend([DVec3::new(-1.0, -1.0, 0.0), DVec3::new(-1.0, 0.0, 0.0)]);
                    let [a, b] = [m.nodes.len() as u32 - 2, m.nodes.len() as u32 - 1];
                    m.elements.push([0, b, a, 4]);
                }),
            ),
            ("node 2 lies at", told(&|m| m.nodes[2].x = f64::NAN)),
            ("0 tetrahedra", told(&|m| m.elements.clear())),
            ("is flat", told(&|m| m.nodes[7] = DVec3::new(1.0, 1.0, 1e-9))),
        ] {
            assert!(message.contains(wanted), "{message}\nwanted {wanted}");
        }
        // A third element on one face.
        let message = told(&|m| {
            m.nodes.push(DVec3::new(0.4, 0.6, 3.0));
            let face = [m.elements[0][1], m.elements[0][2], m.elements[0][3]];
            m.elements.push([face[0], face[2], face[1], 8]);
            m.elements.iter_mut().last().unwrap().swap(1, 2);
        });
        assert!(message.contains("element"), "{message}");
    }
}
