//! Damaged files: good ones, changed at random.

pub mod scenes;
pub mod seeds;

pub use signorini::math::random::Random;

/// One of a list.
pub fn pick<'a, T>(random: &mut Random, list: &'a [T]) -> &'a T {
    &list[random.below(list.len())]
}

/// Numbers that loaders have stumbled over.
const NUMBERS: [&str; 24] = [
    "0",
    "-1",
    "1",
    "-0.0",
    "1e308",
    "1e-308",
    "1e400",
    "nan",
    "inf",
    "-inf",
    "255",
    "256",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "6148914691236517206",
    "0.1",
    "1e9",
    "1000000",
];

/// Counts that binary files may claim.
const COUNTS: [u64; 10] =
    [0, 1, 255, 1 << 16, 1 << 31, u32::MAX as u64, 1 << 40, u64::MAX / 3, u64::MAX - 7, u64::MAX];

/// Changes a file in one to four ways.
pub fn change(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = pick(random, seeds).clone();
    for _ in 0..1 + random.below(4) {
        let n = bytes.len();
        let at = random.below(n + 1);
        let width = random.below(10);
        let end = (at + random.below(1 << width)).min(n);
        match random.below(12) {
            0 if n > 0 => bytes[at.min(n - 1)] ^= 1 << random.below(8),
            1 if n > 0 => bytes[at.min(n - 1)] = random.bits() as u8,
            2 => drop(bytes.drain(at..end)),
            3 => {
                let piece = bytes[at..end].to_vec();
                let to = random.below(n + 1);
                bytes.splice(to..to, piece);
            }
            4 => bytes.truncate(at),
            5 => {
                let other = pick(random, seeds);
                let from = random.below(other.len() + 1);
                let to = (from + random.below(400)).min(other.len());
                bytes.splice(at..end.min(at + 40), other[from..to].iter().copied());
            }
            6..=8 => number(random, &mut bytes),
            9 => lines(random, &mut bytes),
            10 => {
                // A count of a binary file.
                let word = *pick(random, &COUNTS);
                let width = *pick(random, &[4usize, 8]);
                let at = at.min(n.saturating_sub(width));
                if at + width <= n {
                    bytes[at..at + width].copy_from_slice(&word.to_le_bytes()[..width]);
                }
            }
            _ => {
                let word = pick(
                    random,
                    &[
                        "[",
                        "]",
                        "{",
                        "}",
                        "\"",
                        "<",
                        ">",
                        "((((((((",
                        "\n",
                        "=",
                        "-",
                        "é",
                        "\u{0}",
                        "[[body]]\n",
                        "$EndNodes",
                    ],
                );
                bytes.splice(at..at, word.bytes());
            }
        }
    }
    bytes.truncate(1 << 18);
    bytes
}

/// Another number in place of one that stands there.
fn number(random: &mut Random, bytes: &mut Vec<u8>) {
    let starts: Vec<usize> = (0..bytes.len())
        .filter(|&i| {
            bytes[i].is_ascii_digit()
                && (i == 0 || !bytes[i - 1].is_ascii_alphanumeric() && bytes[i - 1] != b'.')
        })
        .collect();
    if starts.is_empty() {
        return;
    }
    let start = *pick(random, &starts);
    let length =
        bytes[start..].iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'.').count();
    bytes.splice(start..start + length, pick(random, &NUMBERS).bytes());
}

/// A line twice, gone, or elsewhere.
fn lines(random: &mut Random, bytes: &mut Vec<u8>) {
    let mut list: Vec<Vec<u8>> =
        bytes.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    if list.is_empty() {
        return;
    }
    let (from, to) = (random.below(list.len()), random.below(list.len()));
    match random.below(3) {
        0 => list.insert(to, list[from].clone()),
        1 => drop(list.remove(from)),
        _ => list.swap(from, to),
    }
    *bytes = list.concat();
}
