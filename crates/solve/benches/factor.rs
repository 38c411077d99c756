//! Which storage of `L D Lᵀ` for which matrices? `cargo bench -p signorini-solve --bench factor`
//!
//! Time of an analysis, of a factorization and of a solve of the forms of `math::ldlt` on
//! matrices as they occur: bodies in a chain, bodies in a heap (each touches six neighbours), nodes
//! of a mesh (each touches 26). faer's factorization stands beside ours. What updates save is
//! measured by `signorini bench pivot`.

use signorini_solve::math::ldlt::{Envelope, Fronts, Ldlt, Ordering};
use signorini_solve::math::random::Random;
use signorini_solve::math::sparse::Csr;
use std::hint::black_box;
use std::time::Instant;

/// A diagonally dominant matrix of blocks of `d` unknowns on a grid; cells whose places differ by
/// one of `steps` are coupled. The lower triangle, and the block of each unknown.
fn grid(d: usize, sides: [usize; 3], steps: &[[usize; 3]]) -> (Csr, Vec<u32>) {
    let mut random = Random::seeded(1);
    let at = |p: [usize; 3]| (p[2] * sides[1] + p[1]) * sides[0] + p[0];
    let count = sides.iter().product::<usize>();
    let mut triplets = Vec::new();
    for cell in 0..count {
        let p = [cell % sides[0], cell / sides[0] % sides[1], cell / (sides[0] * sides[1])];
        for i in 0..d {
            for j in 0..=i {
                let x = if i == j { 40.0 * d as f64 } else { random.signed() };
                triplets.push(((cell * d + i) as u32, (cell * d + j) as u32, x));
            }
        }
        for step in steps {
            let q: [usize; 3] = std::array::from_fn(|k| p[k].wrapping_add(step[k]));
            if (0..3).all(|k| q[k] < sides[k]) {
                let (a, b) = (at(q).max(cell), at(q).min(cell));
                for i in 0..d {
                    for j in 0..d {
                        triplets.push(((a * d + i) as u32, (b * d + j) as u32, random.signed()));
                    }
                }
            }
        }
    }
    let n = count * d;
    (Csr::from_triplets(n, n, &triplets), (0..n).map(|i| (i / d) as u32).collect())
}

/// The least time of some runs, ms.
fn least(mut f: impl FnMut()) -> f64 {
    let (mut best, begin) = (f64::INFINITY, Instant::now());
    let mut runs = 0;
    while runs < 3 || (runs < 200 && begin.elapsed().as_secs_f64() < 0.5) {
        let start = Instant::now();
        f();
        best = best.min(start.elapsed().as_secs_f64());
        runs += 1;
    }
    1e3 * best
}

fn main() {
    // −1 modulo 2⁶⁴.
    const M: usize = usize::MAX;
    let faces: &[[usize; 3]] = &[[1, 0, 0], [0, 1, 0], [0, 0, 1]];
    let corners: &[[usize; 3]] = &[
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
        [1, 1, 0],
        [M, 1, 0],
        [1, 0, 1],
        [M, 0, 1],
        [0, 1, 1],
        [0, M, 1],
        [1, 1, 1],
        [M, 1, 1],
        [1, M, 1],
        [M, M, 1],
    ];
    println!(
        "{:<20} {:>6}  {:>26}  {:>26}  {:>26}",
        "analyse, factor, solve", "n", "faer, ms", "fronts, ms", "envelope, ms"
    );
    for (name, (lower, blocks)) in [
        ("chain of 100 bodies", grid(6, [100, 1, 1], faces)),
        ("chain of 3000 bodies", grid(6, [3000, 1, 1], faces)),
        ("heap of 64 bodies", grid(6, [4, 4, 4], faces)),
        ("heap of 1000 bodies", grid(6, [10, 10, 10], faces)),
        ("heap of 4096 bodies", grid(6, [16, 16, 16], faces)),
        ("mesh of 1000 nodes", grid(3, [10, 10, 10], corners)),
        ("mesh of 8000 nodes", grid(3, [20, 20, 20], corners)),
    ] {
        let n = lower.rows;
        let (signs, b) = (vec![1i8; n], vec![1.0; n]);
        let mut x = b.clone();
        let values = || black_box(&lower.values);
        let show = |[a, f, s]: [f64; 3]| format!("{a:>8.3} {f:>8.3} {s:>8.4}");
        let mut faer = Ldlt::analyse(&lower, Ordering::Amd);
        let faer = [
            least(|| drop(black_box(Ldlt::analyse(&lower, Ordering::Amd)))),
            least(|| faer.factor(values(), &signs).expect("dominant")),
            least(|| faer.solve(black_box(&mut x))),
        ];
        let mut fronts = Fronts::analyse(&lower, &blocks);
        let fronts = [
            least(|| drop(black_box(Fronts::analyse(&lower, &blocks)))),
            least(|| fronts.factor(values(), &signs).expect("dominant")),
            least(|| fronts.solve(black_box(&mut x))),
        ];
        let envelope = || Envelope::analyse(&lower, (0..n as u32).collect(), 40 * n);
        let narrow = envelope().map(|mut narrow| {
            [
                least(|| drop(black_box(envelope()))),
                least(|| narrow.factor(values(), &signs).expect("dominant")),
                least(|| narrow.solve(black_box(&mut x))),
            ]
        });
        println!(
            "{name:<20} {n:>8}  {}  {}  {}",
            show(faer),
            show(fronts),
            narrow.map_or("-".into(), show)
        );
    }
}
