//! Partition: which blocks are swept together, by whom.
//!
//! # Subdomains
//!
//! Blocks that are near each other are swept by one core in its own cache.
//! Owners (bodies) are numbered breadth first over the blocks that join them and cut into ranges of
//! equal work. A block whose owners lie in one subdomain belongs to it. The blocks between two
//! subdomains form their interface, which is swept afterwards as a unit of its own. Interfaces are
//! coloured into rounds, so that no two interfaces of a round share a subdomain: in breadth-first
//! order a subdomain has two neighbours as a rule, and two rounds are enough. The remaining blocks
//! form the boundary, which is swept last, colour by colour. The number of subdomains depends on
//! the problem alone, never on the number of threads.
//!
//! # Hub bodies
//!
//! Bodies that a hundred others touch: a drum, a shaker, a moving floor.
//! Contacts with one body are to be swept one after the other, not four of them at a time. But if
//! that body is much heavier than what touches it, each of these contacts hardly moves it for the
//! next ones. Then they are swept in lanes and stages like all others, and each takes the body for
//! lighter than it is. With `x_k` what contact k moves it by (in whitened coordinates), and `X_i`
//! the sum of the lanes of group i, which sees nothing of itself and of the two groups before it
//! (`simd::stages`), the sweep changes the energy by
//!
//! ```text
//!   Σ_k ( û_k·Δ_k + ½ Δ_k·W_other Δ_k )  +  ½ Σ_i ‖X_i‖² + Σ_i X_i·(X_{i−1} + X_{i−2})        and
//!   ½ Σ ‖X_i‖² + Σ X_i·(X_{i−1} + X_{i−2})  ≤  ½ · 5 Σ ‖X_i‖²  ≤  ½ · 5 · 4 Σ ‖x_k‖²  =  ½ · 20 Σ Δ_k·W_hub Δ_k
//! ```
//!
//! so that with `W_other + 20 W_hub` for the block of a contact it falls as it does with one
//! contact at a time, towards the same solution.
//!
//! # Colours
//!
//! Blocks of one colour share no owner, so that their order does not matter.
//! First fit in the order of the problem, with one bit per colour and owner. A block that finds no
//! free colour (an owner with more blocks than there are colours: a sheet of paper under a thousand
//! balls; heavy ones are hub bodies) stays uncoloured and is swept alone.

use super::view::{GROUP, Layout};
use crate::math::lists::Lists;
use crate::problem::law::MAX_ROWS;
use crate::solve::simd::WINDOW;
use crate::solve::simd::forms::COLUMNS;
use crate::solve::simd::schedule::MAX_INTERFACE_ROUNDS;

/// Blocks per subdomain: their owners' coordinates fit into the second-level cache. Smaller
/// subdomains have more neighbours, whose coordinates go from core to core.
const BLOCKS_PER_SUBDOMAIN: usize = 4000;

/// Fewer blocks are one subdomain, which one thread sweeps.
const MIN_BLOCKS_TO_CUT: usize = 2500;

/// The subdomain of no owner in particular.
const BOUNDARY: u32 = u32::MAX;

/// A subdomain (round 0), or a interface: its first subdomain, the round in which it is swept, its
/// number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub first: u32,
    pub round: u32,
    pub interface: u32,
}

impl Place {
    pub(super) fn subdomain(first: u32) -> Place {
        Place { first, round: 0, interface: 0 }
    }
}

/// The subdomain of each owner.
#[derive(Default)]
pub(super) struct Subdomains {
    pub of: Vec<u32>,
    pub number: usize,
    /// Rounds of interfaces.
    pub rounds: usize,
    /// Pairs of subdomains that blocks join, in ascending order, and the round of each (0: none).
    interfaces: Vec<[u32; 2]>,
    round: Vec<u32>,
    /// Rounds of each subdomain that are taken, one bit each.
    taken: Vec<u32>,
    blocks: Lists,
    starts: Vec<u32>,
    /// Owners subdomain by subdomain, neighbours together; empty if there is one subdomain.
    pub order: Vec<u32>,
    seen: Vec<bool>,
}

impl Subdomains {
    /// Cuts the owners; `owners` lists those of each block. Hubs, which join everything to
    /// everything, are in no subdomain.
    pub(super) fn set(&mut self, owners: &Lists, hubs: &HubBodies) {
        let count = hubs.owners();
        // An even number: two threads get as much each.
        self.number = if owners.len() < MIN_BLOCKS_TO_CUT {
            1
        } else {
            ((owners.len() / BLOCKS_PER_SUBDOMAIN) & !1).max(2)
        };
        self.of.clear();
        self.interfaces.clear();
        self.order.clear();
        self.rounds = 0;
        if self.number == 1 {
            self.of.resize(count, 0);
            return;
        }
        self.of.resize(count, BOUNDARY);
        self.blocks.invert(count, owners);
        self.breadth_first(owners, hubs);
        // Equal shares of the work, each block counted by halves with its owners: what lies in a
        // interface weighs on both sides alike.
        let halves = |k: &u32| if owners.get(*k as usize).len() == 1 { 2 } else { 1 };
        let total: usize =
            self.order.iter().flat_map(|&o| self.blocks.get(o as usize)).map(halves).sum();
        let mut done = 0;
        for &o in &self.order {
            self.of[o as usize] = (done * self.number / total.max(1)).min(self.number - 1) as u32;
            done += self.blocks.get(o as usize).iter().map(halves).sum::<usize>();
        }
        self.colour_interfaces(owners);
    }

    /// Finds the interfaces and puts each into the first round in which its two subdomains are
    /// free.
    fn colour_interfaces(&mut self, owners: &Lists) {
        let of = &self.of;
        self.interfaces.extend((0..owners.len()).filter_map(|k| pair(of, owners.get(k))));
        self.interfaces.sort_unstable();
        self.interfaces.dedup();
        let taken = &mut self.taken;
        taken.clear();
        taken.resize(self.number, 0);
        self.round.clear();
        for &[p, q] in &self.interfaces {
            let round = (taken[p as usize] | taken[q as usize]).trailing_ones();
            if round as usize >= MAX_INTERFACE_ROUNDS {
                self.round.push(0);
                continue;
            }
            taken[p as usize] |= 1 << round;
            taken[q as usize] |= 1 << round;
            self.round.push(round + 1);
            self.rounds = self.rounds.max(round as usize + 1);
        }
    }

    /// The owners of this subdomain and the later ones, in order.
    pub(super) fn owners_from(&self, subdomain: u32) -> &[u32] {
        &self.order[self.order.partition_point(|&o| self.of[o as usize] < subdomain)..]
    }

    /// The subdomain, or the interface, that a block of these owners belongs to; none if it belongs
    /// to the boundary.
    pub(super) fn place(&self, owners: &[u32]) -> Option<Place> {
        let home = self.of[*owners.first()? as usize];
        if home != BOUNDARY && owners.iter().all(|&o| self.of[o as usize] == home) {
            return Some(Place::subdomain(home));
        }
        let pair = pair(&self.of, owners)?;
        let interface = self.interfaces.binary_search(&pair).ok()?;
        (self.round[interface] > 0).then_some(Place {
            first: pair[0],
            round: self.round[interface],
            interface: interface as u32,
        })
    }

    /// Owners in breadth-first order, island by island, each from its owner of the fewest blocks.
    fn breadth_first(&mut self, owners: &Lists, hubs: &HubBodies) {
        let Subdomains { blocks, starts, order, seen, .. } = self;
        starts.clear();
        starts.extend((0..blocks.len() as u32).filter(|&o| !hubs.is_hub(o)));
        starts.sort_unstable_by_key(|&o| (blocks.get(o as usize).len(), o));
        seen.clear();
        seen.resize(blocks.len(), false);
        order.clear();
        for &start in starts.iter() {
            if std::mem::replace(&mut seen[start as usize], true) {
                continue;
            }
            let mut next = order.len();
            order.push(start);
            while next < order.len() {
                for &k in blocks.get(order[next] as usize) {
                    for &o in owners.get(k as usize) {
                        if !seen[o as usize] && !hubs.is_hub(o) {
                            seen[o as usize] = true;
                            order.push(o);
                        }
                    }
                }
                next += 1;
            }
        }
    }
}

/// The two subdomains that a block of two owners joins.
fn pair(of: &[u32], owners: &[u32]) -> Option<[u32; 2]> {
    let [a, b] = *owners else { return None };
    let (p, q) = (of[a as usize], of[b as usize]);
    (p != q && p != BOUNDARY && q != BOUNDARY).then(|| [p.min(q), p.max(q)])
}

/// An owner with more blocks than this joins everything to everything.
const MAX_BLOCKS_OF_ORDINARY_BODY: u32 = 100;

/// How many times lighter than it is a contact takes a hub body.
const HUB_MASS_REDUCTION: f64 = WINDOW as f64;

/// Who is a hub, and the colours of the others.
#[derive(Default)]
pub(super) struct HubBodies {
    /// Blocks of each owner.
    degree: Vec<u32>,
    colours: Colours,
}

impl HubBodies {
    /// Counts the blocks of each of `count` owners.
    pub(super) fn set(&mut self, count: usize, owners: &Lists) {
        self.degree.clear();
        self.degree.resize(count, 0);
        owners.all().iter().for_each(|&o| self.degree[o as usize] += 1);
        self.colours.reset(count);
    }

    pub(super) fn is_hub(&self, owner: u32) -> bool {
        self.degree[owner as usize] > MAX_BLOCKS_OF_ORDINARY_BODY
    }

    /// Number of owners.
    pub(super) fn owners(&self) -> usize {
        self.degree.len()
    }

    /// The other one of two rigid bodies of which one is a hub and much heavier.
    pub(super) fn other(&self, owners: &[u32], layout: &Layout) -> Option<u32> {
        let [a, b] = *owners else { return None };
        let (hub, other) = match (self.is_hub(a), self.is_hub(b)) {
            (true, false) => (a, b),
            (false, true) => (b, a),
            _ => return None,
        };
        let heavier = layout.root(other)? / layout.root(hub)?;
        (heavier * heavier >= HUB_MASS_REDUCTION).then_some(other)
    }

    /// The colour of a block with a hub body and this one, which only the latter decides.
    pub(super) fn place(&mut self, other: u32) -> u32 {
        self.colours.place(&[other])
    }

    /// The rows of a block as if the hub one of its owners were lighter.
    pub(super) fn as_if_lighter(
        &self,
        owners: [Option<u32>; 2],
        rows: &[[f64; COLUMNS]; MAX_ROWS],
    ) -> [[f64; COLUMNS]; MAX_ROWS] {
        let mut rows = *rows;
        for (side, owner) in owners.into_iter().enumerate() {
            if owner.is_some_and(|owner| self.is_hub(owner)) {
                let root = HUB_MASS_REDUCTION.sqrt();
                rows.iter_mut()
                    .flat_map(|row| &mut row[side * GROUP..(side + 1) * GROUP])
                    .for_each(|x| *x *= root);
            }
        }
        rows
    }
}

/// The most colours.
const MAX_COLOURS: u32 = 128;

/// The colour of a block that has none.
pub(super) const UNCOLOURED: u32 = u32::MAX;

/// The colours taken so far, by owner.
#[derive(Default)]
pub(super) struct Colours {
    taken: Vec<u128>,
}

impl Colours {
    /// No colour is taken by any of so many owners.
    pub(super) fn reset(&mut self, owners: usize) {
        self.taken.clear();
        self.taken.resize(owners, 0);
    }

    /// The first colour that none of `owners` has taken; takes it.
    pub(super) fn place(&mut self, owners: &[u32]) -> u32 {
        let taken = owners.iter().fold(0u128, |taken, &o| taken | self.taken[o as usize]);
        let colour = taken.trailing_ones();
        if colour >= MAX_COLOURS {
            return UNCOLOURED;
        }
        for &o in owners {
            self.taken[o as usize] |= 1 << colour;
        }
        colour
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(count: usize, pairs: impl Iterator<Item = [u32; 2]>) -> Subdomains {
        let (mut owners, mut hubs, mut subdomains) =
            (Lists::default(), HubBodies::default(), Subdomains::default());
        pairs.for_each(|pair| owners.push(pair.into_iter()));
        hubs.set(count, &owners);
        subdomains.set(&owners, &hubs);
        subdomains
    }

    #[test]
    fn a_chain_is_cut_into_runs_of_equal_length() {
        let n = 4 * BLOCKS_PER_SUBDOMAIN;
        let subdomains = cut(n + 1, (0..n as u32).map(|k| [k + 1, k]));
        assert_eq!(subdomains.number, 4);
        let crossing = (0..n).filter(|&k| subdomains.of[k] != subdomains.of[k + 1]).count();
        assert_eq!(crossing, 3, "one block crosses each cut");
        let place = |k: u32| subdomains.place(&[k, k + 1]);
        let interfaces: Vec<_> = (0..n as u32)
            .filter_map(|k| place(k).filter(|place| place.round > 0))
            .map(|place| place.round)
            .collect();
        assert_eq!(
            interfaces,
            [1, 2, 1],
            "neighbouring interfaces are swept one after the other, the others together"
        );
        assert_eq!(place(0), Some(Place::subdomain(subdomains.of[0])));
        for p in 0..4 {
            let size = subdomains.of.iter().filter(|&&q| q == p).count();
            assert!(size.abs_diff(BLOCKS_PER_SUBDOMAIN) <= 1);
        }
    }

    #[test]
    fn interfaces_of_one_round_have_no_part_in_common() {
        // Owners at random: every subdomain has a interface with every other one, more than there
        // are rounds for.
        let mut x = crate::math::random::Random::seeded(7);
        let count = 3 * BLOCKS_PER_SUBDOMAIN;
        let mut any = || (0.5 * (x.signed() + 1.0) * count as f64) as u32 % count as u32;
        let pairs: Vec<[u32; 2]> = (0..8 * BLOCKS_PER_SUBDOMAIN).map(|_| [any(), any()]).collect();
        let subdomains = cut(count, pairs.iter().copied());
        assert_eq!((subdomains.number, subdomains.rounds), (8, MAX_INTERFACE_ROUNDS));
        for round in 1..=MAX_INTERFACE_ROUNDS as u32 {
            let mut joined: Vec<u32> = (0..subdomains.interfaces.len())
                .filter(|&s| subdomains.round[s] == round)
                .flat_map(|s| subdomains.interfaces[s])
                .collect();
            let all = joined.len();
            joined.sort_unstable();
            joined.dedup();
            assert!(all > 0 && joined.len() == all);
        }
        let places: Vec<_> = pairs.iter().map(|pair| subdomains.place(pair)).collect();
        assert!(places.iter().any(Option::is_none), "what finds no round belongs to the boundary");
        let mut seen = vec![None; subdomains.interfaces.len()];
        for (pair, place) in pairs.iter().zip(places) {
            let Some(Place { round: 1.., interface, .. }) = place else { continue };
            let joins = pair.map(|o| subdomains.of[o as usize]);
            let joins = (joins[0].min(joins[1]), joins[0].max(joins[1]));
            assert!(
                seen[interface as usize].is_none_or(|before| before == joins),
                "a interface joins two subdomains"
            );
            seen[interface as usize] = Some(joins);
        }
    }

    #[test]
    fn a_drum_belongs_to_the_boundary() {
        let subdomains = cut(
            2 * BLOCKS_PER_SUBDOMAIN + 1,
            (1..=2 * BLOCKS_PER_SUBDOMAIN as u32).map(|k| [0, k]),
        );
        assert_eq!(subdomains.of[0], BOUNDARY);
    }

    #[test]
    fn neighbours_differ_and_a_hub_overflows() {
        let mut colours = Colours::default();
        colours.reset(3);
        assert_eq!(
            [
                colours.place(&[0, 1]),
                colours.place(&[1, 2]),
                colours.place(&[2, 0]),
                colours.place(&[2])
            ],
            [0, 1, 2, 0]
        );
        colours.reset(1);
        for c in 0..MAX_COLOURS {
            assert_eq!(colours.place(&[0]), c);
        }
        assert_eq!(colours.place(&[0]), UNCOLOURED);
    }
}
