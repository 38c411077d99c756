//! Subdomains: blocks that are near each other, so that one core sweeps them in its own cache.
//!
//! Owners (bodies) are numbered breadth first over the blocks that join them and cut into ranges of
//! equal work. A block whose owners lie in one subdomain belongs to it. The blocks between two
//! subdomains form their interface, which is swept afterwards as a unit of its own. Interfaces are
//! coloured into rounds, so that no two interfaces of a round share a subdomain: in breadth-first
//! order a subdomain has two neighbours as a rule, and two rounds are enough. The remaining blocks
//! form the boundary, which is swept last, colour by colour. The number of subdomains depends on
//! the problem alone, never on the number of threads.

use super::hubs::HubBodies;
use crate::math::lists::Lists;

/// Blocks per subdomain: their owners' coordinates fit into the second-level cache. Smaller
/// subdomains have more neighbours, whose coordinates go from core to core.
const BLOCKS_PER_SUBDOMAIN: usize = 4000;

/// Fewer blocks are one subdomain, which one thread sweeps.
const MIN_BLOCKS_TO_CUT: usize = 2500;

/// Rounds of interfaces at most.
pub(super) const MAX_INTERFACE_ROUNDS: usize = 4;

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
        let mut x = crate::problem::test_problems::Lcg::new(7);
        let count = 3 * BLOCKS_PER_SUBDOMAIN;
        let mut any = || (0.5 * (x.draw() + 1.0) * count as f64) as u32 % count as u32;
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
}
