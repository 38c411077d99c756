//! Contacts on their way into the lanes: whitened, scaled, with the parameters of their law.
//!
//! Each group of lanes is filled on its own, on any thread; what the others need to know of it
//! waits in its [`Slot`].

use super::Settings;
use super::metric::{metric, scaled};
use super::partition::HubBodies;
use super::view::{GROUP, Layout};
use crate::problem::law::MAX_ROWS;
use crate::problem::{Law, Problem};
use crate::solve::parallel::WorkerGroup;
use crate::solve::simd::LANES;
use crate::solve::simd::forms::{COLUMNS, Rigid};
use crate::solve::simd::frames::{Body, Frame, Round, Storage};
use crate::solve::simd::kernel::Groups;
use crate::solve::simd::laws::{Local, coulomb_parameters};

/// Groups that are filled at a time.
const GROUPS_PER_TASK: usize = 16;

/// A group of lanes: the blocks in it, and what filling it tells.
#[derive(Clone)]
pub(super) struct Slot {
    /// Where its reactions begin.
    start: usize,
    dummy: u32,
    /// True if its lanes touch hub bodies, which they may share.
    hub: bool,
    /// Blocks of the problem; lanes without one do nothing.
    blocks: [Option<u32>; LANES],
    places: [[u32; 2]; LANES],
    scales: [[f64; MAX_ROWS]; LANES],
    /// The scaled mu of contacts whose shift is held, else zero.
    sliding: [f64; LANES],
}

impl Slot {
    pub(super) fn new(
        start: usize,
        dummy: u32,
        hub: bool,
        blocks: impl Iterator<Item = usize>,
    ) -> Slot {
        let mut slot = Slot {
            start,
            dummy,
            hub,
            blocks: [None; LANES],
            places: [[dummy; 2]; LANES],
            scales: [[0.0; MAX_ROWS]; LANES],
            sliding: [0.0; LANES],
        };
        slot.blocks.iter_mut().zip(blocks).for_each(|(place, block)| *place = Some(block as u32));
        slot
    }

    /// What is known by place of r̂.
    pub(super) fn places(&self, problem: &Problem) -> impl Iterator<Item = SlotPlace> {
        let starts = &problem.J.row_starts;
        self.blocks.iter().enumerate().flat_map(move |(lane, block)| {
            let rows = block.map_or(0..0, |k| starts[k as usize]..starts[k as usize + 1]);
            rows.enumerate().map(move |(i, row)| SlotPlace {
                at: self.start + i * LANES + lane,
                row: row as u32,
                scale: self.scales[lane][i],
            })
        })
    }

    /// Places of normal rows whose shift is held, and their scaled mu.
    pub(super) fn sliding(&self) -> impl Iterator<Item = (usize, f64)> {
        let mu = self.sliding.iter().enumerate().filter(|(_, mu)| **mu > 0.0);
        mu.map(|(lane, &mu)| (self.start + lane, mu))
    }
}

/// A place of r̂, the row that is there and its scale.
pub(super) struct SlotPlace {
    pub at: usize,
    pub row: u32,
    pub scale: f64,
}

/// What all groups are filled from.
pub(super) struct Filler<'a> {
    pub problem: &'a Problem,
    pub settings: &'a Settings,
    pub layout: &'a Layout,
    pub hubs: &'a HubBodies,
}

/// Fills all groups of one kind.
pub(super) fn fill<L: Local + Sync>(
    filler: &Filler<'_>,
    groups: &mut Groups<L>,
    slots: &mut [Slot],
    workers: Option<&WorkerGroup>,
) {
    let (size, storage) = (groups.size(), groups.storage());
    let run = |_: usize, values: &mut [f64], slots: &mut [Slot]| {
        for (values, slot) in values.chunks_exact_mut(size).zip(slots) {
            filler.group::<L>(values, slot, storage);
        }
    };
    match workers {
        Some(workers) => {
            workers.chunks((groups.values(), slots), (size * GROUPS_PER_TASK, GROUPS_PER_TASK), run)
        }
        None => run(0, groups.values(), slots),
    }
    for (g, slot) in slots.iter().enumerate() {
        slot.places.iter().enumerate().for_each(|(lane, places)| groups.place(g, lane, *places));
    }
}

impl Filler<'_> {
    fn group<L: Local>(&self, values: &mut [f64], slot: &mut Slot, storage: Storage) {
        for lane in 0..LANES {
            let Some(k) = slot.blocks[lane] else { continue };
            let law = self.problem.laws[k as usize];
            let d = law.rows();
            let (owners, mut rows) = self.rows(k as usize);
            let mut block = [0.0; MAX_ROWS * MAX_ROWS];
            let seen = if slot.hub { self.hubs.as_if_lighter(owners, &rows) } else { rows };
            for i in 0..d {
                for j in 0..=i {
                    let product = crate::math::dot(&seen[i], &seen[j]);
                    (block[i * d + j], block[j * d + i]) = (product, product);
                }
            }
            let (s, step) = metric(&law, &mut block, self.settings);
            rows.iter_mut().zip(s).for_each(|(row, s)| row.iter_mut().for_each(|x| *x *= s));
            slot.scales[lane] = s;
            slot.places[lane] = owners.map(|o| o.map_or(slot.dummy, |o| self.layout.start(o)));
            let rows = &rows.as_flattened()[..d * COLUMNS];
            let (rigid, round, frame);
            let rows = match storage {
                Storage::Stored => rows,
                Storage::Rigid => {
                    rigid = Rigid::of(
                        rows,
                        owners.map(|o| o.and_then(|o| self.layout.root(o)).unwrap_or(0.0)),
                    );
                    &rigid[..]
                }
                Storage::Round | Storage::Frame => {
                    let contact = self.problem.J.rigid.of_block(k as usize);
                    let contact = contact.expect("blocks of this form are rigid contacts");
                    let (d, arms) = self.layout.frame(self.problem, contact, &s);
                    if storage == Storage::Round {
                        round = Round::of(d, arms, self.bodies(owners));
                        &round[..]
                    } else {
                        frame = Frame::of(d, arms);
                        &frame
                    }
                }
            };
            match scaled(&law, &s) {
                Law::Cone { mu, .. } => {
                    Groups::<L>::put(values, lane, rows, &[mu, 1.0 / (1.0 + mu * mu), step])
                }
                Law::Coulomb { mu, .. } if !self.settings.exact(&law) => {
                    Groups::<L>::put(values, lane, rows, &[mu, 1.0 / (1.0 + mu * mu), step]);
                    slot.sliding[lane] = mu;
                }
                Law::Coulomb { mu, .. } => {
                    Groups::<L>::put(values, lane, rows, &coulomb_parameters(mu, &block))
                }
                Law::Interval { lo, hi } => Groups::<L>::put(values, lane, rows, &[lo, hi, step]),
                Law::Unilateral => {
                    Groups::<L>::put(values, lane, rows, &[0.0, f64::INFINITY, step])
                }
                Law::Equality => {
                    Groups::<L>::put(values, lane, rows, &[f64::NEG_INFINITY, f64::INFINITY, step])
                }
            }
        }
    }

    /// What is known of these bodies, zeros for the ground.
    fn bodies(&self, owners: [Option<u32>; 2]) -> [&Body; 2] {
        owners.map(|o| o.map_or(&[0.0; 8], |o| &self.layout.bodies[o as usize]))
    }

    /// The whitened rows of a block over at most two groups of unknowns, and these groups in
    /// ascending order.
    fn rows(&self, k: usize) -> ([Option<u32>; 2], [[f64; COLUMNS]; MAX_ROWS]) {
        let (layout, block) = (self.layout, self.problem.J.block(k));
        let owner = |j: u32| layout.owner[j as usize];
        let (mut first, mut second) = (None, None);
        for o in block.columns.iter().map(|&j| owner(j)) {
            first = Some(first.map_or(o, |f: u32| f.min(o)));
            second = Some(second.map_or(o, |s: u32| s.max(o)));
        }
        let owners = [first, second.filter(|_| first != second)];
        let mut rows = [[0.0; COLUMNS]; MAX_ROWS];
        for (i, row) in rows.iter_mut().enumerate().take(block.rows) {
            let mut plain = [0.0; COLUMNS];
            for (&j, &x) in block.columns.iter().zip(block.row(i)) {
                let (o, side) = (owner(j), usize::from(Some(owner(j)) != first));
                plain[side * GROUP + (j - layout.groups[o as usize]) as usize] = x;
            }
            for (side, o) in owners.into_iter().enumerate() {
                if let Some(o) = o {
                    let six: &[f64; GROUP] =
                        plain[side * GROUP..].first_chunk().expect("six of twelve");
                    layout.whiten_row(o, six, &mut row[side * GROUP..(side + 1) * GROUP]);
                }
            }
        }
        (owners, rows)
    }
}
