//! Random numbers that are the same on every machine: SplitMix64 (Steele2014).
//!
//! The state is a counter, so that the seed alone says everything. The generator of all crates:
//! scattered bodies, sampled parameters, problems and shapes of tests and benches (the stored
//! problems apart, [`crate::problem::test_problems`]).

use glam::DVec3;

/// What the counter goes on by: 2⁶⁴ over the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A sequence of random numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence that follows this state of the counter. Sequences of neighbouring states
    /// overlap; [`Random::seeded`] ones do not, in practice.
    pub fn new(state: u64) -> Random {
        Random(state)
    }

    /// The sequence with this seed.
    pub fn seeded(seed: u64) -> Random {
        Random(seed.wrapping_mul(STEP))
    }

    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// From −1 to below 1.
    pub fn signed(&mut self) -> f64 {
        2.0 * self.unit() - 1.0
    }

    /// Between two bounds.
    pub fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// In 0…n, n excluded; the bias is below n/2⁶⁴.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// Three [`Random::signed`] numbers.
    pub fn vector(&mut self) -> DVec3 {
        DVec3::new(self.signed(), self.signed(), self.signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        // The first numbers of SplitMix64 from state 0, as in its reference implementation.
        let mut random = Random::new(0);
        let first = [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f];
        assert_eq!([random.bits(), random.bits(), random.bits()], first);
    }

    #[test]
    fn numbers_fill_their_ranges() {
        let mut random = Random::seeded(3);
        let draws: Vec<f64> = (0..10_000).map(|_| random.signed()).collect();
        let (least, largest) =
            draws.iter().fold((1.0f64, -1.0f64), |(a, b), &x| (a.min(x), b.max(x)));
        assert!(least >= -1.0 && largest < 1.0 && least < -0.999 && largest > 0.999);
        // The mean of 10,000 numbers of variance 1/3 is zero within five standard deviations.
        assert!((draws.iter().sum::<f64>() / 1e4).abs() < 5.0 * (1.0f64 / 3e4).sqrt());
        let mut seen = [0; 6];
        (0..6000).for_each(|_| seen[random.below(6)] += 1);
        assert!(seen.iter().all(|count| (850..1150).contains(count)), "{seen:?}");
    }
}
