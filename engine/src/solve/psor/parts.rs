//! Parts: neighbours together, so that a part is swept in the fast memory of one core.
//!
//! Owners are numbered breadth first over the blocks that join them and cut into ranges of equal work.
//! A block within one part belongs to it; the others form the boundary, swept afterwards colour by
//! colour. The number of parts depends on the problem alone, never on the number of threads.

/// Blocks per part: their owners' coordinates fit into the second-level cache many times over, and a
/// step of ten thousand contacts makes eight parts.
const SIZE: usize = 1250;

/// An owner with more blocks than this joins everything to everything (a drum, a moving floor): it is not followed.
const CROWD: usize = 100;

/// The part of no owner in particular.
pub(super) const BOUNDARY: u32 = u32::MAX;

/// The part of each owner, and how many there are. `owners` lists those of each block.
pub(super) fn parts(count: usize, owners: &[Vec<u32>]) -> (Vec<u32>, usize) {
    let number = (owners.len() / SIZE).max(1);
    if number == 1 {
        return (vec![0; count], 1);
    }
    let mut blocks: Vec<Vec<u32>> = vec![Vec::new(); count];
    for (k, list) in owners.iter().enumerate() {
        list.iter().for_each(|&o| blocks[o as usize].push(k as u32));
    }
    let order = breadth_first(owners, &blocks);
    // Equal shares of the blocks, each counted with the owner that comes first.
    let mut out = vec![BOUNDARY; count];
    let (mut seen, mut done) = (vec![false; owners.len()], 0);
    for &o in &order {
        out[o as usize] = (done * number / owners.len()).min(number - 1) as u32;
        for &k in &blocks[o as usize] {
            if !std::mem::replace(&mut seen[k as usize], true) {
                done += 1;
            }
        }
    }
    (out, number)
}

/// Owners in breadth-first order, island by island, each from its owner of the fewest blocks.
fn breadth_first(owners: &[Vec<u32>], blocks: &[Vec<u32>]) -> Vec<u32> {
    let mut starts: Vec<u32> = (0..blocks.len() as u32).filter(|&o| blocks[o as usize].len() <= CROWD).collect();
    starts.sort_by_key(|&o| blocks[o as usize].len());
    let mut seen = vec![false; blocks.len()];
    let mut order = Vec::with_capacity(blocks.len());
    for start in starts {
        if std::mem::replace(&mut seen[start as usize], true) {
            continue;
        }
        let mut next = order.len();
        order.push(start);
        while next < order.len() {
            for &k in &blocks[order[next] as usize] {
                for &o in &owners[k as usize] {
                    if !seen[o as usize] && blocks[o as usize].len() <= CROWD {
                        seen[o as usize] = true;
                        order.push(o);
                    }
                }
            }
            next += 1;
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_cut_into_runs_of_equal_length() {
        let n = 4 * SIZE;
        let owners: Vec<Vec<u32>> = (0..n as u32).map(|k| vec![k, k + 1]).collect();
        let (part, number) = parts(n + 1, &owners);
        assert_eq!(number, 4);
        let crossing = owners.iter().filter(|o| part[o[0] as usize] != part[o[1] as usize]).count();
        assert_eq!(crossing, 3, "one block crosses each cut");
        for p in 0..4 {
            let size = part.iter().filter(|&&q| q == p).count();
            assert!(size.abs_diff(SIZE) <= 1);
        }
    }

    #[test]
    fn a_drum_belongs_to_the_boundary() {
        let owners: Vec<Vec<u32>> = (1..=2 * SIZE as u32).map(|k| vec![0, k]).collect();
        let (part, _) = parts(2 * SIZE + 1, &owners);
        assert_eq!(part[0], BOUNDARY);
    }
}
