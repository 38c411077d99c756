//! The pattern of H in the coordinates of trees.
//!
//! Two coordinates are coupled if one link lies on the path from the other to the root, or if an
//! element (a spring, a damper, a rotor) acts between their links.

use super::{Forest, NONE};
use crate::assemble::Assembly;
use crate::math::sparse::Csr;
use crate::scene::{BodyId, ForceKind, Layout, Scene};

/// Where the entries of H are.
#[derive(Clone, Debug, Default)]
pub struct Pattern {
    pub(super) h: Csr,
    /// For each link, column of it, and column on its path up to it: places of (i, j) and (j, i).
    pub(super) slots: Vec<[u32; 2]>,
    /// Outside trees: places in the H of bodies and here.
    pub(super) copies: Vec<[u32; 2]>,
}

impl Pattern {
    /// The pattern of H for the trees of `forest`.
    pub fn of(forest: &Forest, scene: &Scene, layout: &Layout) -> Pattern {
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); forest.n];
        let mut couple =
            |list: &[u32]| list.iter().for_each(|&i| rows[i as usize].extend_from_slice(list));
        let path = |mut l: usize| {
            let mut out: Vec<u32> = Vec::new();
            loop {
                out.extend(forest.links[l].columns().map(|c| c as u32));
                match forest.links[l].parent {
                    Some(p) => l = p as usize,
                    None => return out,
                }
            }
        };
        (0..forest.links.len()).for_each(|l| couple(&path(l)));
        let bodies = inertia_pattern(scene, layout);
        let mut copied: Vec<(usize, u32)> = Vec::new();
        for i in (0..layout.v).filter(|&i| forest.column[i] != NONE) {
            let row = forest.column[i];
            for place in bodies.starts[i]..bodies.starts[i + 1] {
                let column = forest.column[bodies.columns[place] as usize];
                if column != NONE {
                    couple(&[row]);
                    copied.push((place, row));
                }
            }
        }
        for (a, b) in element_bodies(scene) {
            let mut list = Vec::new();
            for body in [a, b] {
                let Some(at) = layout.velocity(body) else { continue };
                match forest.owner[at] {
                    NONE => list.extend((at..at + 6).map(|i| forest.column[i])),
                    l => list.extend(path(l as usize)),
                }
            }
            couple(&list);
        }
        for &(place, row) in &copied {
            rows[row as usize].push(forest.column[bodies.columns[place] as usize]);
        }
        let mut h = Csr::empty(forest.n, forest.n);
        for (i, row) in rows.iter_mut().enumerate() {
            row.sort_unstable();
            row.dedup();
            h.columns.extend_from_slice(row);
            h.starts[i + 1] = h.columns.len();
        }
        h.values = vec![0.0; h.columns.len()];
        let place = |i: usize, j: usize| {
            (h.starts[i]
                + h.row(i).0.binary_search(&(j as u32)).expect("the pattern holds every entry"))
                as u32
        };
        let mut slots = Vec::new();
        for (l, link) in forest.links.iter().enumerate() {
            for j in link.columns() {
                slots.extend(
                    path(l).into_iter().map(|i| [place(i as usize, j), place(j, i as usize)]),
                );
            }
        }
        let copies = copied.iter().map(|&(from, row)| {
            [
                from as u32,
                place(row as usize, forest.column[bodies.columns[from] as usize] as usize),
            ]
        });
        let copies = copies.collect();
        Pattern { slots, copies, h }
    }
}

/// The pattern of the H of bodies, meshes included.
fn inertia_pattern(scene: &Scene, layout: &Layout) -> Csr {
    Assembly::new(scene, layout).problem.H
}

/// The two bodies of every element.
fn element_bodies(scene: &Scene) -> impl Iterator<Item = (BodyId, BodyId)> + '_ {
    let forces = scene
        .forces
        .iter()
        .filter(|f| !matches!(f.kind, ForceKind::Applied(_)))
        .map(|f| f.kind.bodies());
    let forces = forces.map(|[a, b]| (a, b));
    forces.chain(scene.joints.iter().filter(|j| !j.armature.is_empty()).map(|j| (j.a, j.b)))
}
