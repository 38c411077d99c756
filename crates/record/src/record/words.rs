//! Words: 32-bit numbers, differences, planes of bytes.

/// A length in units of `quantum`; what is not a number becomes zero, what is too large the
/// largest.
pub fn length(x: f64, quantum: f64) -> u32 {
    (x / quantum).round() as i32 as u32
}

/// The length of a word of [`length`].
pub fn to_length(word: u32, quantum: f64) -> f64 {
    f64::from(word as i32) * quantum
}

/// A single-precision number without its last `drop` bits, rounded.
pub fn float(x: f64, drop: u32) -> u32 {
    let bits = (x as f32).to_bits();
    let rounded = bits.saturating_add((1 << drop) >> 1);
    // Rounding must not carry the largest number to infinity.
    if f32::from_bits(rounded).is_finite() { rounded >> drop } else { bits >> drop }
}

/// The number of a word of [`float`].
pub fn to_float(word: u32, drop: u32) -> f64 {
    f64::from(f32::from_bits(word.checked_shl(drop).unwrap_or(0)))
}

/// The difference of two words, its sign in the lowest bit.
pub fn difference(word: u32, from: u32) -> u32 {
    let d = word.wrapping_sub(from) as i32;
    ((d << 1) ^ (d >> 31)) as u32
}

/// The word whose [`difference`] from `from` is `d`.
pub fn add(d: u32, from: u32) -> u32 {
    from.wrapping_add((d >> 1) ^ (d & 1).wrapping_neg())
}

/// Words as four planes of bytes, the lowest bytes first.
pub fn planes(words: &[u32]) -> Vec<u8> {
    let mut out = Vec::with_capacity(4 * words.len());
    for plane in 0..4 {
        out.extend(words.iter().map(|w| (w >> (8 * plane)) as u8));
    }
    out
}

/// The words of [`planes`]; bytes that do not make a word are left.
pub fn from_planes(bytes: &[u8]) -> Vec<u32> {
    let n = bytes.len() / 4;
    (0..n)
        .map(|i| {
            (0..4).fold(0, |word, plane| word | u32::from(bytes[plane * n + i]) << (8 * plane))
        })
        .collect()
}

/// Takes words one after the other; none when there are no more.
pub struct Taker<'a> {
    words: &'a [u32],
}

impl<'a> Taker<'a> {
    /// Begins at the first word.
    pub fn new(words: &'a [u32]) -> Taker<'a> {
        Taker { words }
    }

    /// The next word.
    pub fn one(&mut self) -> Option<u32> {
        self.many(1).map(|w| w[0])
    }

    /// The next `n` words.
    pub fn many(&mut self, n: usize) -> Option<&'a [u32]> {
        let (head, tail) = self.words.split_at_checked(n)?;
        self.words = tail;
        Some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        let words: Vec<u32> = [0, 1, 255, 256, 0x8000_0000, u32::MAX, 0x1234_5678].to_vec();
        assert_eq!(from_planes(&planes(&words)), words);
        for &a in &words {
            for &b in &words {
                assert_eq!(add(difference(a, b), b), a);
            }
        }
        // A small change either way is a small number.
        assert_eq!((difference(7, 7), difference(6, 7), difference(8, 7)), (0, 1, 2));
    }

    #[test]
    fn numbers_keep_the_digits_they_should() {
        for x in [0.0, 1.0, -9.81, 3.3e-12, 6.02e23] {
            // 11 bits of mantissa are left of 23: half of the last is 2⁻¹².
            assert!((to_float(float(x, 12), 12) - x).abs() <= x.abs() / 4096.0);
        }
        assert!(to_float(float(f64::from(f32::MAX), 12), 12).is_finite());
        assert!((to_length(length(1.234567, 1e-6), 1e-6) - 1.234567).abs() <= 0.5e-6);
        assert_eq!(length(f64::NAN, 1e-6), 0);
        assert_eq!(to_length(length(1e30, 1.0), 1.0), f64::from(i32::MAX));
    }
}
