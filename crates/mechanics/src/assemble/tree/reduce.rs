//! The problem of bodies in the coordinates of trees, and back.
//!
//! * H of a tree by composite bodies: with m, x̄, I the mass, centre and inertia of all that hangs
//!   on a link, and s a unit motion (ω, velocity l at point p),
//!
//! ```text
//!   H_ij = P · s_i(x̄) + L · ω_i,     P = m s_j(x̄),  L = I ω_j,   i on the path from j to the root
//! ```
//!
//!   which has no differences of large numbers. Springs, dampers and rotors add `Gᵀ K G` with G in
//!   coordinates.
//! * A row with the force f and the torque τ on a link: `J_j = f · s_j(x) + τ · ω_j`, then both go
//!   on to the link that carries it. Where the ways of two bodies meet, forces that only act
//!   between them cancel: what is left of them is rounding, and is dropped.
//! * Reactions of joints: what hangs on a joint lacks the impulse `H v − k − Jᵀ r`, summed up from
//!   the leaves.

use super::{Forest, NONE};
use crate::assemble::inertia::add;
use crate::assemble::{Assembly, Element, Source, StepInput};
use crate::math::pose::Pose;
use crate::problem::{RowBlock, Solution};
use crate::scene::{BodyId, Layout, Scene};
use glam::{DMat3, DVec3};

/// The most rows of a block.
const MAX_BLOCK_ROWS: usize = 3;
/// What cancels to this share of its parts is rounding.
const CANCELLATION_TOLERANCE: f64 = 1e-12;

/// Force and torque about a link's centre of mass, world.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wrench {
    force: DVec3,
    torque: DVec3,
}

impl Wrench {
    /// From six numbers of a body: force (world), torque (body axes).
    fn of(numbers: &[f64], pose: &Pose) -> Wrench {
        Wrench {
            force: DVec3::from_slice(numbers),
            torque: pose.vector(DVec3::from_slice(&numbers[3..])),
        }
    }

    fn add(&mut self, other: &Wrench, arm: DVec3) {
        self.force += other.force;
        self.torque += other.torque + arm.cross(other.force);
    }
}

/// All that hangs on a link, as one body.
#[derive(Clone, Copy, Debug, Default)]
pub struct Composite {
    mass: f64,
    centre: DVec3,
    inertia: DMat3,
}

impl Composite {
    fn join(&mut self, other: &Composite) {
        let mass = self.mass + other.mass;
        let d = self.centre - other.centre;
        let reduced = self.mass * other.mass / mass;
        let outer = DMat3::from_cols(d * d.x, d * d.y, d * d.z);
        self.inertia += other.inertia
            + (DMat3::from_diagonal(DVec3::splat(d.length_squared())) - outer) * reduced;
        self.centre = (self.centre * self.mass + other.centre * other.mass) / mass;
        self.mass = mass;
    }
}

/// Work space of one block of rows.
#[derive(Clone, Debug, Default)]
pub struct RowWork {
    /// Links whose forces are not yet passed on, and the sizes of what they were summed up of.
    active: Vec<(u32, [Wrench; MAX_BLOCK_ROWS], [f64; 2])>,
    /// Entries: column, one value per row.
    entries: Vec<(u32, [f64; MAX_BLOCK_ROWS])>,
    others: Vec<(u32, [f64; MAX_BLOCK_ROWS])>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Forest {
    /// The problem in coordinates, with the guess of its solution.
    pub fn reduce(
        &mut self,
        scene: &Scene,
        layout: &Layout,
        (assembly, now): (&Assembly, &StepInput),
        guess: &Solution,
    ) {
        self.momentum(scene, layout, assembly, now);
        self.rows(assembly, now);
        let small = &mut self.solution;
        small.v.clear();
        small.v.resize(self.n, 0.0);
        small.r.clear();
        for &k in &self.blocks {
            small.r.extend_from_slice(&guess.r[assembly.problem.J.block(k as usize).range()]);
        }
    }

    /// H and k.
    fn momentum(&mut self, scene: &Scene, layout: &Layout, assembly: &Assembly, now: &StepInput) {
        if self.small.H.rows != self.n {
            self.small.H.clone_from(&self.pattern.h);
        }
        self.small.H.values.fill(0.0);
        for &[from, to] in &self.pattern.copies {
            self.small.H.values[to as usize] = assembly.problem.H.values[from as usize];
        }
        self.masses(scene, now);
        for element in &assembly.elements {
            self.element(element, layout, now);
        }
        // k − H c, then Tᵀ of it.
        self.work.clear();
        self.work.resize(layout.v, 0.0);
        if self.moves {
            assembly.problem.H.mul(&self.offset, &mut self.work);
        }
        for (work, k) in self.work.iter_mut().zip(&assembly.problem.k) {
            *work = k - *work;
        }
        let mut k = std::mem::take(&mut self.small.k);
        self.transposed(now, &mut k);
        self.small.k = k;
    }

    /// `out ← Tᵀ work`.
    pub(super) fn transposed(&mut self, now: &StepInput, k: &mut Vec<f64>) {
        k.clear();
        k.resize(self.n, 0.0);
        for (x, &column) in self.work.iter().zip(&self.column) {
            if column != NONE {
                k[column as usize] = *x;
            }
        }
        self.subtrees(now);
        for (link, wrench) in self.links.iter().zip(&self.wrenches) {
            let place = now.poses[link.body.index()].position;
            for j in link.columns() {
                k[j] = wrench.force.dot(self.units[j].at(place))
                    + wrench.torque.dot(self.units[j].angular);
            }
        }
    }

    /// Sums up `self.work` over all that hangs on each link, into `self.wrenches`.
    fn subtrees(&mut self, now: &StepInput) {
        self.wrenches.clear();
        self.wrenches.extend(
            self.links
                .iter()
                .map(|l| Wrench::of(&self.work[l.at..l.at + 6], &now.poses[l.body.index()])),
        );
        for l in (0..self.links.len()).rev() {
            let link = &self.links[l];
            let Some(p) = link.parent else { continue };
            let arm = now.poses[link.body.index()].position - now.poses[link.base.index()].position;
            let child = self.wrenches[l];
            self.wrenches[p as usize].add(&child, arm);
        }
    }

    /// H of the trees, without springs.
    fn masses(&mut self, scene: &Scene, now: &StepInput) {
        self.composites.clear();
        for link in &self.links {
            let (pose, mass) = (
                &now.poses[link.body.index()],
                scene.bodies[link.body.index()].mass().expect("links have mass"),
            );
            let turn = pose.rotation();
            let inertia = turn * mass.inertia * turn.transpose();
            self.composites.push(Composite { mass: mass.mass, centre: pose.position, inertia });
        }
        for l in (0..self.links.len()).rev() {
            if let Some(p) = self.links[l].parent {
                let child = self.composites[l];
                self.composites[p as usize].join(&child);
            }
        }
        let mut slots = self.pattern.slots.iter();
        let values = &mut self.small.H.values;
        for (l, link) in self.links.iter().enumerate() {
            let whole = &self.composites[l];
            for j in link.columns() {
                let push = whole.mass * self.units[j].at(whole.centre);
                let turn = whole.inertia * self.units[j].angular;
                let mut on = Some(l);
                while let Some(o) = on {
                    for i in self.links[o].columns() {
                        let x = push.dot(self.units[i].at(whole.centre))
                            + turn.dot(self.units[i].angular);
                        let [one, other] = *slots.next().expect("one slot per entry");
                        values[one as usize] = x;
                        values[other as usize] = x;
                    }
                    on = self.links[o].parent.map(|p| p as usize);
                }
            }
        }
    }

    /// Adds an element that touches a tree to H; what lies outside trees is copied with the rest.
    fn element(&mut self, e: &Element, layout: &Layout, now: &StepInput) {
        let owner = |body: BodyId| layout.velocity(body).map_or(NONE, |at| self.owner[at]);
        if owner(e.a) == NONE && owner(e.b) == NONE {
            return;
        }
        let matrix = e.matrix(now);
        for first in (0..e.count).step_by(MAX_BLOCK_ROWS) {
            for second in (0..e.count).step_by(MAX_BLOCK_ROWS) {
                let (count, others) =
                    ((e.count - first).min(MAX_BLOCK_ROWS), (e.count - second).min(MAX_BLOCK_ROWS));
                if (0..count).all(|p| (0..others).all(|q| matrix[first + p][second + q] == 0.0)) {
                    continue;
                }
                self.element_rows(e, first, layout, now);
                let left = std::mem::take(&mut self.row.entries);
                let mut right = std::mem::take(&mut self.row.others);
                if first == second {
                    right.clone_from(&left);
                } else {
                    self.row.entries = right;
                    self.element_rows(e, second, layout, now);
                    right = std::mem::take(&mut self.row.entries);
                }
                let tree = self.units.len() as u32;
                for (i, x) in &left {
                    for (j, y) in right.iter().filter(|(j, _)| *i < tree || *j < tree) {
                        let sum: f64 = (0..count)
                            .map(|p| {
                                (0..others)
                                    .map(|q| x[p] * matrix[first + p][second + q] * y[q])
                                    .sum::<f64>()
                            })
                            .sum();
                        add(&mut self.small.H, *i as usize, *j as usize, sum);
                    }
                }
                (self.row.entries, self.row.others) = (left, right);
            }
        }
    }

    /// Up to three measures of an element from `first` on, in coordinates.
    fn element_rows(&mut self, e: &Element, first: usize, layout: &Layout, now: &StepInput) {
        self.row.active.clear();
        self.row.entries.clear();
        for (body, side) in [(e.a, 0), (e.b, 1)] {
            let Some(at) = layout.velocity(body) else { continue };
            let mut numbers = [[0.0; 6]; MAX_BLOCK_ROWS];
            for (p, numbers) in numbers.iter_mut().enumerate().take(e.count - first) {
                let measure = &e.measures[first + p];
                *numbers = if side == 0 { measure.a.array() } else { measure.b.array() };
            }
            self.start(at, &numbers, now);
        }
        self.walk(now);
    }

    /// Takes what a block of rows feels of the six velocities from `at` on.
    fn start(&mut self, at: usize, numbers: &[[f64; 6]; MAX_BLOCK_ROWS], now: &StepInput) {
        let l = self.owner[at];
        if l == NONE {
            for c in 0..6 {
                self.row
                    .entries
                    .push((self.column[at + c], [numbers[0][c], numbers[1][c], numbers[2][c]]));
            }
            return;
        }
        let link = &self.links[l as usize];
        let pose = &now.poses[link.body.index()];
        let wrenches = numbers.map(|n| Wrench::of(&n, pose));
        let sizes = sizes(&wrenches);
        self.receive(l, wrenches, sizes, DVec3::ZERO);
    }

    /// Adds forces to a link that is still to be walked from.
    fn receive(
        &mut self,
        l: u32,
        wrenches: [Wrench; MAX_BLOCK_ROWS],
        sizes_of: [f64; 2],
        arm: DVec3,
    ) {
        let Some(entry) = self.row.active.iter_mut().find(|(other, ..)| *other == l) else {
            let mut moved = [Wrench::default(); MAX_BLOCK_ROWS];
            moved.iter_mut().zip(&wrenches).for_each(|(m, w)| m.add(w, arm));
            self.row.active.push((l, moved, sizes_of));
            return;
        };
        entry.1.iter_mut().zip(&wrenches).for_each(|(sum, w)| sum.add(w, arm));
        let reach = arm.length();
        let largest =
            [entry.2[0].max(sizes_of[0]), entry.2[1].max(sizes_of[1]) + reach * sizes_of[0]];
        let left = sizes(&entry.1);
        // The torque of two opposite forces is what their arms leave of it.
        if left[0] <= CANCELLATION_TOLERANCE * largest[0]
            && left[1] <= CANCELLATION_TOLERANCE * largest[1]
        {
            entry.2 = [0.0; 2];
            entry.1 = [Wrench::default(); MAX_BLOCK_ROWS];
        } else {
            entry.2 = [largest[0].max(left[0]), largest[1].max(left[1])];
        }
    }

    /// Passes all forces on to the roots, noting what each coordinate feels.
    fn walk(&mut self, now: &StepInput) {
        while let Some(p) = (0..self.row.active.len()).max_by_key(|&p| self.row.active[p].0) {
            let (l, wrenches, sizes) = self.row.active.swap_remove(p);
            if sizes == [0.0; 2] {
                continue;
            }
            let link = &self.links[l as usize];
            let place = now.poses[link.body.index()].position;
            for j in link.columns() {
                let unit = &self.units[j];
                let arm = unit.at(place);
                // A coordinate that a redundant row does not feel must not be felt by rounding.
                let least = CANCELLATION_TOLERANCE
                    * (sizes[0] * arm.length() + sizes[1] * unit.angular.length());
                let values = wrenches.map(|w| w.force.dot(arm) + w.torque.dot(unit.angular));
                let values = values.map(|x| if x.abs() > least { x } else { 0.0 });
                if values != [0.0; MAX_BLOCK_ROWS] {
                    self.row.entries.push((j as u32, values));
                }
            }
            if let Some(parent) = link.parent {
                let arm = place - now.poses[link.base.index()].position;
                let grown = [sizes[0], sizes[1] + arm.length() * sizes[0]];
                self.receive(parent, wrenches, grown, arm);
            }
        }
    }

    /// J and what belongs to its rows.
    fn rows(&mut self, assembly: &Assembly, now: &StepInput) {
        let problem = &assembly.problem;
        self.small.name.clone_from(&problem.name);
        self.small.J.clear(self.n);
        self.small.E.clear();
        self.small.w.clear();
        self.small.laws.clear();
        self.small.names.clear();
        self.blocks.clear();
        self.joint_blocks.clear();
        self.joint_blocks.resize(self.held.len(), NONE);
        for (k, block) in problem.J.blocks().enumerate() {
            if let Source::Joint(id, part) = assembly.sources[k]
                && self.held[id.index()]
            {
                if part == 0 {
                    self.joint_blocks[id.index()] = k as u32;
                }
                continue;
            }
            self.block(&block, now);
            if self.row.columns.is_empty() {
                // Nothing that can move feels it.
                continue;
            }
            self.small.J.push(block.rows, &self.row.columns, &self.row.values);
            self.small.laws.push(problem.laws[k]);
            self.blocks.push(k as u32);
            for (p, row) in block.range().enumerate() {
                let carried: f64 = if self.moves {
                    block
                        .columns
                        .iter()
                        .zip(block.row(p))
                        .map(|(&j, x)| x * self.offset[j as usize])
                        .sum()
                } else {
                    0.0
                };
                self.small.w.push(problem.w[row] + carried);
                self.small.E.push(problem.E[row]);
            }
        }
    }

    /// One block in coordinates, into `self.row.columns` and `self.row.values`.
    fn block(&mut self, block: &RowBlock<'_>, now: &StepInput) {
        self.row.columns.clear();
        self.row.values.clear();
        if block.columns.iter().all(|&j| self.owner[j as usize] == NONE) {
            self.row.columns.extend(block.columns.iter().map(|&j| self.column[j as usize]));
            self.row.values.extend_from_slice(block.values);
            return;
        }
        self.row.active.clear();
        self.row.entries.clear();
        let mut p = 0;
        while p < block.columns.len() {
            let column = block.columns[p] as usize;
            let l = self.owner[column];
            if l == NONE {
                let mut values = [0.0; MAX_BLOCK_ROWS];
                (0..block.rows).for_each(|i| values[i] = block.row(i)[p]);
                self.row.entries.push((self.column[column], values));
                p += 1;
                continue;
            }
            let at = self.links[l as usize].at;
            let mut numbers = [[0.0; 6]; MAX_BLOCK_ROWS];
            while p < block.columns.len() && (block.columns[p] as usize) < at + 6 {
                (0..block.rows)
                    .for_each(|i| numbers[i][block.columns[p] as usize - at] = block.row(i)[p]);
                p += 1;
            }
            self.start(at, &numbers, now);
        }
        self.walk(now);
        self.row.entries.sort_unstable_by_key(|(column, _)| *column);
        self.row.columns.extend(self.row.entries.iter().map(|(column, _)| *column));
        for i in 0..block.rows {
            self.row.values.extend(self.row.entries.iter().map(|(_, values)| values[i]));
        }
    }

    /// Velocities of bodies and reactions of all rows, from the solution in coordinates.
    pub fn expand(&mut self, assembly: &Assembly, now: &StepInput, whole: &mut Solution) {
        let problem = &assembly.problem;
        // v = T v_t + c.
        whole.v.clear();
        whole.v.extend_from_slice(&self.offset);
        for (x, &column) in whole.v.iter_mut().zip(&self.column) {
            if column != NONE {
                *x = self.solution.v[column as usize];
            }
        }
        let rates = std::mem::take(&mut self.solution.v);
        self.rates_to_motions(&now.poses, &rates);
        self.solution.v = rates;
        for (link, motion) in self.links.iter().zip(&self.motions) {
            super::put(&mut whole.v, link, motion, &now.poses[link.body.index()]);
        }
        whole.r.clear();
        whole.r.resize(problem.rows(), 0.0);
        for (&k, block) in self.blocks.iter().zip(self.small.J.blocks()) {
            whole.r[problem.J.block(k as usize).range()]
                .copy_from_slice(&self.solution.r[block.range()]);
        }
        self.reactions(assembly, now, whole);
    }

    /// Reactions of the joints of trees.
    pub fn reactions(&mut self, assembly: &Assembly, now: &StepInput, whole: &mut Solution) {
        let problem = &assembly.problem;
        for link in self.links.iter() {
            let Some(first) =
                link.joint.map(|id| self.joint_blocks[id.index()]).filter(|b| *b != NONE)
            else {
                continue;
            };
            for k in first as usize..assembly.sources.len() {
                if !matches!(assembly.sources[k], Source::Joint(id, _) if Some(id) == link.joint) {
                    break;
                }
                whole.r[problem.J.block(k).first] = 0.0;
            }
        }
        self.balance.clear();
        self.balance.resize(problem.n(), 0.0);
        problem.J.add_transposed(&whole.r, &mut self.balance);
        self.work.clear();
        self.work.resize(problem.n(), 0.0);
        problem.H.mul(&whole.v, &mut self.work);
        for ((work, k), reactions) in self.work.iter_mut().zip(&problem.k).zip(&self.balance) {
            *work -= k + reactions;
        }
        self.subtrees(now);
        for (link, wrench) in self.links.iter().zip(&self.wrenches) {
            let Some(first) =
                link.joint.map(|id| self.joint_blocks[id.index()]).filter(|b| *b != NONE)
            else {
                continue;
            };
            let pose = &now.poses[link.body.index()];
            let mut torque = wrench.torque;
            // Rows along axes come first; what torque they leave is carried by the rows that turn.
            // Both are orthonormal where the joint is closed.
            for k in first as usize..assembly.sources.len() {
                if !matches!(assembly.sources[k], Source::Joint(id, _) if Some(id) == link.joint) {
                    break;
                }
                let block = problem.J.block(k);
                let mut numbers = [0.0; 6];
                for (&j, x) in block.columns.iter().zip(block.row(0)) {
                    if let Some(place) = (j as usize).checked_sub(link.at).filter(|p| *p < 6) {
                        numbers[place] = *x;
                    }
                }
                let row = Wrench::of(&numbers, pose);
                if row.force == DVec3::ZERO {
                    whole.r[block.first] = torque.dot(row.torque) / row.torque.length_squared();
                } else {
                    let r = wrench.force.dot(row.force) / row.force.length_squared();
                    torque -= r * row.torque;
                    whole.r[block.first] = r;
                }
            }
        }
    }
}

/// The largest force and torque of a block of rows.
fn sizes(wrenches: &[Wrench; MAX_BLOCK_ROWS]) -> [f64; 2] {
    wrenches
        .iter()
        .fold([0.0, 0.0], |[f, t], w| [w.force.length().max(f), w.torque.length().max(t)])
}
