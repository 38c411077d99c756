//! Parts: neighbours together, so that a part is swept in the fast memory of one core.
//!
//! Owners are numbered breadth first over the blocks that join them and cut into ranges of equal work.
//! A block within one part belongs to it; the others form the boundary, swept afterwards colour by
//! colour. The number of parts depends on the problem alone, never on the number of threads.

/// Blocks per part: their owners' coordinates fit into the second-level cache, and a step of ten thousand contacts makes four parts.
/// Smaller parts have more neighbours, whose coordinates go from core to core. Fewer blocks than this are one part.
const SIZE: usize = 2500;

/// An owner with more blocks than this joins everything to everything (a drum, a moving floor): it is not followed.
const CROWD: usize = 100;

/// The part of no owner in particular.
pub(super) const BOUNDARY: u32 = u32::MAX;

/// Lists of numbers, one after the other.
#[derive(Default)]
pub(super) struct Lists {
    ends: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    pub(super) fn clear(&mut self) {
        self.ends.clear();
        self.items.clear();
    }

    /// Appends a list in ascending order, each number once.
    pub(super) fn push(&mut self, numbers: impl Iterator<Item = u32>) {
        let start = self.items.len();
        for number in numbers {
            // Nearly always the same as the one before.
            if self.items.len() == start || self.items[self.items.len() - 1] != number {
                self.items.push(number);
            }
        }
        self.items[start..].sort_unstable();
        let mut keep = start;
        for i in start..self.items.len() {
            if keep == start || self.items[keep - 1] != self.items[i] {
                self.items[keep] = self.items[i];
                keep += 1;
            }
        }
        self.items.truncate(keep);
        self.ends.push(keep as u32);
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, i: usize) -> &[u32] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.items[start as usize..self.ends[i] as usize]
    }

    /// For each of `count` numbers the lists of `other` that hold it.
    fn invert(&mut self, count: usize, other: &Lists) {
        self.ends.clear();
        self.ends.resize(count + 1, 0);
        other.items.iter().for_each(|&i| self.ends[i as usize + 1] += 1);
        for i in 0..count {
            self.ends[i + 1] += self.ends[i];
        }
        self.items.clear();
        self.items.resize(other.items.len(), 0);
        // While filling, `ends[i]` is where list i goes on; in the end it is its end.
        for k in 0..other.len() {
            for &i in other.get(k) {
                let at = &mut self.ends[i as usize];
                self.items[*at as usize] = k as u32;
                *at += 1;
            }
        }
        self.ends.truncate(count);
    }
}

/// The part of each owner.
#[derive(Default)]
pub(super) struct Parts {
    pub of: Vec<u32>,
    pub number: usize,
    blocks: Lists,
    starts: Vec<u32>,
    order: Vec<u32>,
    seen: Vec<bool>,
}

impl Parts {
    /// Cuts `count` owners; `owners` lists those of each block.
    pub(super) fn set(&mut self, count: usize, owners: &Lists) {
        // An even number: two threads get as much each.
        self.number = if owners.len() < SIZE { 1 } else { ((owners.len() / SIZE) & !1).max(2) };
        self.of.clear();
        if self.number == 1 {
            self.of.resize(count, 0);
            return;
        }
        self.of.resize(count, BOUNDARY);
        self.blocks.invert(count, owners);
        self.breadth_first(owners);
        // Equal shares of the blocks, each counted with the owner that comes first.
        self.seen.clear();
        self.seen.resize(owners.len(), false);
        let mut done = 0;
        for &o in &self.order {
            self.of[o as usize] = (done * self.number / owners.len()).min(self.number - 1) as u32;
            for &k in self.blocks.get(o as usize) {
                done += usize::from(!std::mem::replace(&mut self.seen[k as usize], true));
            }
        }
    }

    /// Owners in breadth-first order, island by island, each from its owner of the fewest blocks.
    fn breadth_first(&mut self, owners: &Lists) {
        let Parts { blocks, starts, order, seen, .. } = self;
        let crowd = |o: u32| blocks.get(o as usize).len() > CROWD;
        starts.clear();
        starts.extend((0..blocks.len() as u32).filter(|&o| !crowd(o)));
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
                        if !seen[o as usize] && !crowd(o) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(count: usize, pairs: impl Iterator<Item = [u32; 2]>) -> Parts {
        let (mut owners, mut parts) = (Lists::default(), Parts::default());
        pairs.for_each(|pair| owners.push(pair.into_iter()));
        parts.set(count, &owners);
        parts
    }

    #[test]
    fn a_chain_is_cut_into_runs_of_equal_length() {
        let n = 4 * SIZE;
        let parts = cut(n + 1, (0..n as u32).map(|k| [k + 1, k]));
        assert_eq!(parts.number, 4);
        let crossing = (0..n).filter(|&k| parts.of[k] != parts.of[k + 1]).count();
        assert_eq!(crossing, 3, "one block crosses each cut");
        for p in 0..4 {
            let size = parts.of.iter().filter(|&&q| q == p).count();
            assert!(size.abs_diff(SIZE) <= 1);
        }
    }

    #[test]
    fn a_drum_belongs_to_the_boundary() {
        let parts = cut(2 * SIZE + 1, (1..=2 * SIZE as u32).map(|k| [0, k]));
        assert_eq!(parts.of[0], BOUNDARY);
    }
}
