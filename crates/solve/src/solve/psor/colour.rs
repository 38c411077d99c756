//! Greedy colouring: blocks of one colour share no owner, so that their order does not matter.
//!
//! First fit in the order of the problem, with one bit per colour and owner. A block that finds no
//! free colour (an owner with more blocks than there are colours: a sheet of paper under a thousand
//! balls; heavy ones have [`super::hubs`]) stays uncoloured and is swept alone.

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
