//! Where unknowns live in z, and what a block of rows looks like there.

use super::Settings;
use crate::math::cliques::CliqueFactor;
use crate::problem::law::MAX_ROWS;
use crate::problem::{Problem, RigidContact, RowBlock};
use crate::solve::simd::forms::ROOM;
use crate::solve::simd::frames::{Body, Storage};
use glam::{DMat3, DQuat, DVec3};

/// Unknowns of one group, and the room each takes in z.
pub(super) const GROUP: usize = 6;
pub(super) const STRIDE: usize = ROOM;

/// Where each unknown lives.
#[derive(Default)]
pub(super) struct Layout {
    /// Coordinate in z of each unknown (u32::MAX: an unknown of a mesh that nothing touches).
    pub(super) coordinate: Vec<u32>,
    /// Owner of each unknown: groups first, then other cliques.
    pub(super) owner: Vec<u32>,
    /// First unknown of each group.
    pub(super) groups: Vec<u32>,
    /// L⁻¹ of each group row by row, the lower triangle; any square root of H⁻¹ if it is turned.
    whitening: Vec<[f64; GROUP * GROUP]>,
    /// 1/√m and 1/√I of each group, zero where there is none ([`Layout::root`], [`Layout::round`]).
    roots: Vec<[f64; 2]>,
    /// True if the angular velocities of bodies with contacts are in the axes of the world
    /// ([`Layout::turn`]), and what that tells of each group.
    turned: bool,
    pub(super) bodies: Vec<Body>,
    /// Clique of each owner after the groups.
    pub(super) cliques: Vec<u32>,
    /// Touched unknowns of each mesh, by owner.
    pub(super) touched: Vec<Vec<u32>>,
    pub(super) len: usize,
    pub(super) mesh: usize,
}

const NONE: u32 = u32::MAX;

impl Layout {
    /// Places the unknowns of a problem whose H is factored, in the memory at hand.
    pub(super) fn set(&mut self, problem: &Problem, factor: &CliqueFactor) {
        let n = problem.n();
        for places in [&mut self.coordinate, &mut self.owner] {
            places.clear();
            places.resize(n, NONE);
        }
        self.groups.clear();
        self.cliques.clear();
        self.touched.clear();
        self.turned = false;
        self.place_groups(factor);
        self.whiten(factor);
        let meshed = self.place_cliques(factor);
        // Meshes last, with those unknowns alone that some block touches.
        self.mesh = self.len;
        if meshed {
            self.place_meshes(problem, factor);
        }
    }

    /// Runs of six unknowns that H couples to no others.
    fn place_groups(&mut self, factor: &CliqueFactor) {
        let (n, cliques) = (self.owner.len(), &factor.cliques);
        let inside = |i: usize| {
            i + GROUP <= n
                && (i..i + GROUP).all(|j| {
                    let members = cliques.members(cliques.of[j] as usize);
                    members[0] as usize >= i && (members[members.len() - 1] as usize) < i + GROUP
                })
        };
        let mut i = 0;
        while i < n {
            if self.owner[i] == NONE && inside(i) {
                for (p, j) in (i..i + GROUP).enumerate() {
                    self.owner[j] = self.groups.len() as u32;
                    self.coordinate[j] = (self.groups.len() * STRIDE + p) as u32;
                }
                self.groups.push(i as u32);
                i += GROUP;
            } else {
                i += 1;
            }
        }
        self.len = self.groups.len() * STRIDE;
    }

    /// Places the groups in z in this order of owners, those that it leaves out after the others:
    /// what is swept together lies together. No block has been placed yet.
    pub(super) fn arrange(&mut self, order: &[u32]) {
        let groups = &self.groups;
        for &first in groups {
            self.coordinate[first as usize] = NONE;
        }
        let mut next = 0;
        for owner in order
            .iter()
            .copied()
            .filter(|&o| (o as usize) < groups.len())
            .chain(0..groups.len() as u32)
        {
            let first = groups[owner as usize] as usize;
            if self.coordinate[first] == NONE {
                (0..GROUP).for_each(|p| self.coordinate[first + p] = (next + p) as u32);
                next += STRIDE;
            }
        }
    }

    /// 1/√m of a group whose first three unknowns are the velocity of a mass m, apart from the
    /// other three; none if it is something else.
    pub(super) fn root(&self, group: u32) -> Option<f64> {
        Some(self.roots[group as usize][0]).filter(|root| *root > 0.0)
    }

    /// One over the root of the inertia of a group whose last three unknowns turn a body that
    /// resists alike about all axes.
    pub(super) fn round(&self, group: u32) -> Option<f64> {
        Some(self.roots[group as usize][1]).filter(|root| *root > 0.0)
    }

    /// Turns the whitened angular velocities of all bodies into the axes of the world, if that pays
    /// and if the problem knows these blocks, rigid contacts, as frames and arms: the form for
    /// them. None, and nothing has changed, otherwise.
    ///
    /// Whitened by G (`GᵀG` the inverse inertia, in the axes of the problem) the angular part of a
    /// row is `G Rᵀ (a × d)`. Any rotation may follow the whitening: with the one that leaves zeros
    /// below the diagonal of `U = Q G Rᵀ` six numbers of the body and the arm in the axes of the
    /// world are all there is to know.
    pub(super) fn turn<B: Iterator<Item = usize>>(
        &mut self,
        problem: &Problem,
        blocks: impl Fn() -> B,
        settings: &Settings,
    ) -> Option<Storage> {
        let (count, rigid) = (blocks().count(), &problem.J.rigid);
        if !settings.far(count, Storage::Round) || rigid.contacts.len() < count {
            return None;
        }
        let round = blocks().all(|k| {
            problem.J.block(k).columns.iter().all(|&j| self.round(self.owner[j as usize]).is_some())
        });
        let form = if round { Storage::Round } else { Storage::Frame };
        // J is what counts: a block that is not as it is said to be stays as it is.
        let known =
            |k: usize| rigid.of_block(k).is_some_and(|contact| problem.J.is_contact(contact));
        if !settings.far(count, form) || !blocks().all(known) {
            return None;
        }
        self.turned = true;
        self.bodies.clear();
        self.bodies.resize(self.groups.len(), Body::default());
        for body in &rigid.bodies {
            let group = self.owner[body.column as usize] as usize;
            if self.groups.get(group) == Some(&body.column) && self.root(group as u32).is_some() {
                self.turn_group(group, DMat3::from_quat(DQuat::from_array(body.attitude)));
            }
        }
        Some(form)
    }

    /// Turns a body with the attitude R.
    fn turn_group(&mut self, group: usize, r: DMat3) {
        let root = self.root(group as u32).unwrap_or(0.0);
        let whitening = &mut self.whitening[group];
        let u = if self.roots[group][1] > 0.0 {
            DMat3::from_diagonal(DVec3::splat(self.roots[group][1]))
        } else {
            let row = |i: usize| DVec3::from_slice(&whitening[(3 + i) * GROUP + 3..]);
            upper(DMat3::from_cols(row(0), row(1), row(2)).transpose() * r.transpose())
        };
        for i in 0..3 {
            (u * r).row(i).write_to_slice(&mut whitening[(3 + i) * GROUP + 3..]);
        }
        self.bodies[group] =
            [u.x_axis.x, u.y_axis.x, u.z_axis.x, u.y_axis.y, u.z_axis.y, u.z_axis.z, root, 0.0];
    }

    /// The directions of a contact that is a frame with arms, with the sign of the first of these
    /// owners and the scales of its rows, and the arms of both.
    pub(super) fn frame(
        &self,
        problem: &Problem,
        contact: &RigidContact,
        s: &[f64; MAX_ROWS],
    ) -> ([DVec3; 3], [DVec3; 2]) {
        let sides = problem.J.rigid.sides(contact);
        let arms = sides.map(|side| side.map_or(DVec3::ZERO, |(s, _)| contact.arms[s].into()));
        let sign = if matches!(sides[0], Some((0, _))) { -1.0 } else { 1.0 };
        (std::array::from_fn(|i| sign * s[i] * DVec3::from(contact.frame[i])), arms)
    }

    /// True if these are all unknowns of a group.
    pub(super) fn whole(&self, six: &[u32; GROUP]) -> bool {
        let owner = self.owner[six[0] as usize];
        self.groups
            .get(owner as usize)
            .is_some_and(|&first| six.iter().zip(first..).all(|(&j, i)| j == i))
    }

    /// True if a block joins two rigid bodies, or one and the ground, and reads their velocities
    /// with opposite signs.
    pub(super) fn rigid(&self, block: &RowBlock<'_>) -> bool {
        let (sixes, rest) = block.columns.as_chunks::<GROUP>();
        let opposite = |row: &[f64]| sixes.len() < 2 || (0..3).all(|j| row[j] == -row[GROUP + j]);
        sixes.len() <= 2
            && rest.is_empty()
            && sixes
                .iter()
                .all(|six| self.whole(six) && self.root(self.owner[six[0] as usize]).is_some())
            && (0..block.rows).all(|i| opposite(block.row(i)))
    }

    /// Where a group begins in z.
    pub(super) fn start(&self, group: u32) -> u32 {
        self.coordinate[self.groups[group as usize] as usize]
    }

    /// L⁻¹ of each group, from the factors of its cliques.
    fn whiten(&mut self, factor: &CliqueFactor) {
        let cliques = &factor.cliques;
        self.whitening.clear();
        self.roots.clear();
        for &first in &self.groups {
            let mut l = [0.0; GROUP * GROUP];
            for (i, row) in l.chunks_exact_mut(GROUP).enumerate() {
                let unknown = first as usize + i;
                let c = cliques.of[unknown] as usize;
                let (members, p) = (cliques.members(c), cliques.place[unknown] as usize);
                if let Some(dense) = factor.dense(c) {
                    for (q, &j) in members[..=p].iter().enumerate() {
                        row[(j - first) as usize] = dense[p * members.len() + q];
                    }
                }
            }
            let mut inverse = [0.0; GROUP * GROUP];
            for j in 0..GROUP {
                let mut column = [0.0; GROUP];
                column[j] = 1.0;
                crate::math::dense::forward(GROUP, &l, &mut column);
                for i in j..GROUP {
                    inverse[i * GROUP + j] = column[i];
                }
            }
            self.whitening.push(inverse);
            self.roots.push(roots(&inverse));
        }
    }

    /// `out ← L⁻¹ x`, the row x on the unknowns of one group.
    #[inline]
    pub(super) fn whiten_row(&self, group: u32, x: &[f64; GROUP], out: &mut [f64]) {
        let l = &self.whitening[group as usize];
        for (p, out) in out.iter_mut().enumerate() {
            let end = if self.turned { GROUP } else { p + 1 };
            *out = (0..end).map(|q| l[p * GROUP + q] * x[q]).sum();
        }
    }

    /// Other cliques, the small ones with a coordinate for each unknown; true if there are large
    /// ones.
    fn place_cliques(&mut self, factor: &CliqueFactor) -> bool {
        let cliques = &factor.cliques;
        let mut meshed = false;
        for c in 0..cliques.len() {
            let members = cliques.members(c);
            if self.owner[members[0] as usize] != NONE {
                continue;
            }
            let owner = (self.groups.len() + self.cliques.len()) as u32;
            self.cliques.push(c as u32);
            self.touched.push(Vec::new());
            for &j in members {
                self.owner[j as usize] = owner;
            }
            if factor.dense(c).is_some() {
                for &j in members {
                    self.coordinate[j as usize] = self.len as u32;
                    self.len += 1;
                }
            } else {
                meshed = true;
            }
        }
        meshed
    }

    fn place_meshes(&mut self, problem: &Problem, factor: &CliqueFactor) {
        let mut seen = problem.J.columns.clone();
        seen.sort_unstable();
        seen.dedup();
        for &j in &seen {
            let Some(c) = (self.owner[j as usize] as usize).checked_sub(self.groups.len()) else {
                continue;
            };
            if factor.dense(self.cliques[c] as usize).is_none() {
                self.coordinate[j as usize] = self.len as u32;
                self.len += 1;
                self.touched[c].push(j);
            }
        }
    }
}

/// 1/√m if the first three unknowns are the velocity of a mass m, apart from the others, and then
/// 1/√I if these are turned alike about all axes.
fn roots(l: &[f64; GROUP * GROUP]) -> [f64; 2] {
    let alike =
        |at: usize| l[at] == l[at + GROUP + 1] && l[at] == l[at + 2 * (GROUP + 1)] && l[at] > 0.0;
    let diagonal =
        |at: usize| [GROUP, 2 * GROUP, 2 * GROUP + 1].into_iter().all(|p| l[at + p] == 0.0);
    let apart = (3..GROUP).all(|i| l[i * GROUP..i * GROUP + 3].iter().all(|x| *x == 0.0));
    let second = 3 * (GROUP + 1);
    match (apart && alike(0) && diagonal(0), alike(second) && diagonal(second)) {
        (true, true) => [l[0], l[second]],
        (true, false) => [l[0], 0.0],
        _ => [0.0; 2],
    }
}

/// The U with zeros below its diagonal and `UᵀU = MᵀM`, M not singular: columns made orthogonal one
/// after the other.
fn upper(m: DMat3) -> DMat3 {
    let (x, xx) = m.x_axis.normalize_and_length();
    let xy = x.dot(m.y_axis);
    let (y, yy) = (m.y_axis - xy * x).normalize_and_length();
    let (xz, yz) = (x.dot(m.z_axis), y.dot(m.z_axis));
    let zz = (m.z_axis - xz * x - yz * y).length();
    DMat3::from_cols(DVec3::new(xx, 0.0, 0.0), DVec3::new(xy, yy, 0.0), DVec3::new(xz, yz, zz))
}

/// One block in the coordinates of z, not scaled yet.
#[derive(Default)]
pub(super) struct Image {
    pub(super) owners: Vec<u32>,
    pub(super) read: Vec<u32>,
    pub(super) read_values: Vec<f64>,
    pub(super) write: Vec<u32>,
    pub(super) write_values: Vec<f64>,
    pub(super) meshed: bool,
    pub(super) block: [f64; MAX_ROWS * MAX_ROWS],
    unknowns: Vec<f64>,
    local: Vec<f64>,
    cliques: Vec<u32>,
}

impl Image {
    /// Block `k` of the problem, whitened.
    pub(super) fn set(
        &mut self,
        problem: &Problem,
        k: usize,
        layout: &Layout,
        factor: &mut CliqueFactor,
    ) {
        let block = problem.J.block(k);
        if self.set_rigid(&block, &problem.E[block.range()], layout) {
            return;
        }
        self.owners.clear();
        self.owners.extend(block.columns.iter().map(|&j| layout.owner[j as usize]));
        self.owners.sort_unstable();
        self.owners.dedup();
        self.read.clear();
        self.write.clear();
        let groups = layout.groups.len();
        self.meshed = false;
        for &owner in &self.owners {
            match (owner as usize).checked_sub(groups) {
                None => self.read.extend((0..GROUP as u32).map(|p| layout.start(owner) + p)),
                Some(c) if layout.touched[c].is_empty() => {
                    self.read.extend(
                        factor
                            .cliques
                            .members(layout.cliques[c] as usize)
                            .iter()
                            .map(|&j| layout.coordinate[j as usize]),
                    );
                }
                Some(c) => {
                    self.meshed = true;
                    self.write
                        .extend(layout.touched[c].iter().map(|&j| layout.coordinate[j as usize]));
                    let touched = |j: &&u32| layout.owner[**j as usize] == owner;
                    self.read.extend(
                        block
                            .columns
                            .iter()
                            .filter(touched)
                            .map(|&j| layout.coordinate[j as usize]),
                    );
                }
            }
        }
        let written = self.write.len();
        self.write.extend(self.read.iter().copied().filter(|&c| (c as usize) < layout.mesh));
        self.write.rotate_left(written);
        self.read_values.clear();
        self.write_values.clear();
        self.unknowns.resize(layout.len, 0.0);
        for i in 0..block.rows {
            self.row(block.columns, block.row(i), layout, factor);
        }
        self.set_block(block.rows, &problem.E[block.range()]);
    }

    /// A block that holds all unknowns of groups, one group after the other; false if it is none.
    fn set_rigid(&mut self, block: &RowBlock<'_>, compliance: &[f64], layout: &Layout) -> bool {
        let (sixes, rest) = block.columns.as_chunks::<GROUP>();
        if !rest.is_empty() || !sixes.iter().all(|six| layout.whole(six)) {
            return false;
        }
        self.owners.clear();
        self.owners.extend(sixes.iter().map(|six| layout.owner[six[0] as usize]));
        if !self.owners.is_sorted_by(|a, b| a < b) {
            return false;
        }
        self.read.clear();
        self.read.extend(
            self.owners
                .iter()
                .flat_map(|&owner| (0..GROUP as u32).map(move |p| layout.start(owner) + p)),
        );
        self.write.clone_from(&self.read);
        self.meshed = false;
        self.read_values.clear();
        for i in 0..block.rows {
            for (&owner, x) in self.owners.iter().zip(block.row(i).as_chunks::<GROUP>().0) {
                let mut six = [0.0; GROUP];
                layout.whiten_row(owner, x, &mut six);
                self.read_values.extend_from_slice(&six);
            }
        }
        self.write_values.clone_from(&self.read_values);
        let (d, width) = (block.rows, self.read.len());
        for i in 0..d {
            for j in 0..=i {
                let (a, b) = (
                    &self.read_values[i * width..(i + 1) * width],
                    &self.read_values[j * width..(j + 1) * width],
                );
                let product = crate::math::dot(a, b) + if i == j { compliance[i] } else { 0.0 };
                (self.block[i * d + j], self.block[j * d + i]) = (product, product);
            }
        }
        true
    }

    /// One row: its values to read with and to write with.
    fn row(&mut self, columns: &[u32], values: &[f64], layout: &Layout, factor: &mut CliqueFactor) {
        let z = &mut self.unknowns;
        for (&j, &x) in columns.iter().zip(values) {
            z[layout.coordinate[j as usize] as usize] = x;
        }
        self.cliques.clear();
        self.cliques.extend(columns.iter().map(|&j| factor.cliques.of[j as usize]));
        self.cliques.dedup();
        self.cliques.sort_unstable();
        self.cliques.dedup();
        // Whitened part: x ← L⁻¹ x.
        let turned = |owner: u32| layout.turned && (owner as usize) < layout.groups.len();
        for &group in self.owners.iter().filter(|&&owner| turned(owner)) {
            let six = &mut z[layout.start(group) as usize..][..GROUP];
            let plain: [f64; GROUP] = std::array::from_fn(|i| six[i]);
            layout.whiten_row(group, &plain, six);
        }
        for &c in &self.cliques {
            let members = factor.cliques.members(c as usize);
            if let Some(l) =
                factor.dense(c as usize).filter(|_| !turned(layout.owner[members[0] as usize]))
            {
                self.local.clear();
                self.local
                    .extend(members.iter().map(|&j| z[layout.coordinate[j as usize] as usize]));
                crate::math::dense::forward(members.len(), l, &mut self.local);
                for (&j, &x) in members.iter().zip(&self.local) {
                    z[layout.coordinate[j as usize] as usize] = x;
                }
            }
        }
        self.read_values.extend(self.read.iter().map(|&c| z[c as usize]));
        // Meshes: what an impulse along the row moves.
        for &c in &self.cliques {
            if factor.dense(c as usize).is_none() {
                let owner = layout.owner[factor.cliques.members(c as usize)[0] as usize] as usize;
                let touched = &layout.touched[owner - layout.groups.len()];
                self.local.clear();
                self.local.resize(factor.cliques.members(c as usize).len(), 0.0);
                for (&j, &x) in columns.iter().zip(values) {
                    if factor.cliques.of[j as usize] == c {
                        self.local[factor.cliques.place[j as usize] as usize] = x;
                    }
                }
                factor.solve_clique(c as usize, &mut self.local);
                for &j in touched {
                    z[layout.coordinate[j as usize] as usize] =
                        self.local[factor.cliques.place[j as usize] as usize];
                }
            }
        }
        self.write_values.extend(self.write.iter().map(|&c| z[c as usize]));
        for &c in self.read.iter().chain(&self.write) {
            z[c as usize] = 0.0;
        }
    }

    /// `J_k H⁻¹ J_kᵀ + E_k`.
    fn set_block(&mut self, d: usize, compliance: &[f64]) {
        let (reads, writes) = (self.read.len(), self.write.len());
        for j in 0..d {
            for (&c, &x) in self.write.iter().zip(&self.write_values[j * writes..]) {
                self.unknowns[c as usize] = x;
            }
            for i in 0..d {
                let row = &self.read_values[i * reads..(i + 1) * reads];
                let sum: f64 =
                    self.read.iter().zip(row).map(|(&c, &x)| x * self.unknowns[c as usize]).sum();
                self.block[i * d + j] = sum + if i == j { compliance[i] } else { 0.0 };
            }
            for &c in &self.write {
                self.unknowns[c as usize] = 0.0;
            }
        }
    }
}
