//! Which storage of J is fastest? `cargo bench --bench layout`
//!
//! One pass of `u = J v` followed by `v += Jᵀ Δ` over the contacts of a jittered packing, as every
//! method does it, in three layouts: plain compressed rows (an index per number), blocks that share
//! one list of columns (what `problem::Rows` is), and 6-wide dense segments per body.

use signorini_solve::math::random::Random;
use signorini_solve::math::sparse::Csr;
use signorini_solve::problem::{Law, Rows};
use std::hint::black_box;
use std::time::Instant;

/// Contacts between neighbours of a grid of bodies: 3 rows over 12 columns.
fn packing(side: usize) -> (usize, Rows, Vec<Law>) {
    let bodies = side * side * side;
    let at = |x: usize, y: usize, z: usize| (x * side + y) * side + z;
    let (mut rows, mut laws) = (Rows::new(6 * bodies), Vec::new());
    let mut numbers = Random::seeded(1);
    for x in 0..side {
        for y in 0..side {
            for z in 0..side {
                for (a, b, c) in [(x + 1, y, z), (x, y + 1, z), (x, y, z + 1)] {
                    if a < side && b < side && c < side {
                        let columns: Vec<u32> = [at(x, y, z), at(a, b, c)]
                            .iter()
                            .flat_map(|body| (0..6).map(move |i| (6 * body + i) as u32))
                            .collect();
                        let values: Vec<f64> = (0..36).map(|_| numbers.signed()).collect();
                        rows.push(3, &columns, &values);
                        laws.push(Law::Cone { mu: 0.5, rows: 3 });
                    }
                }
            }
        }
    }
    (6 * bodies, rows, laws)
}

fn best(mut pass: impl FnMut()) -> f64 {
    pass();
    (0..15)
        .map(|_| {
            let start = Instant::now();
            pass();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

/// What is done with the local velocities between the two halves.
fn answer(u: f64) -> f64 {
    1e-9 * u
}

fn compressed(j: &Csr, v: &mut [f64]) {
    for i in (0..j.rows).step_by(3) {
        let u = [j.row_dot(i, v), j.row_dot(i + 1, v), j.row_dot(i + 2, v)];
        for (d, u) in u.iter().enumerate() {
            j.add_row(i + d, answer(*u), v);
        }
    }
}

fn shared_columns(j: &Rows, v: &mut [f64]) {
    let mut u = [0.0; 3];
    for block in j.blocks() {
        block.mul(v, &mut u);
        block.add_transposed(&u.map(answer), v);
    }
}

fn segments(bodies: &[[u32; 2]], values: &[[f64; 36]], v: &mut [f64]) {
    for (pair, a) in bodies.iter().zip(values) {
        let mut u = [0.0; 3];
        for (s, &body) in pair.iter().enumerate() {
            let v = &v[body as usize..body as usize + 6];
            for (d, u) in u.iter_mut().enumerate() {
                *u += (0..6).map(|i| a[12 * d + 6 * s + i] * v[i]).sum::<f64>();
            }
        }
        let r = u.map(answer);
        for (s, &body) in pair.iter().enumerate() {
            let v = &mut v[body as usize..body as usize + 6];
            for (i, v) in v.iter_mut().enumerate() {
                *v += (0..3).map(|d| a[12 * d + 6 * s + i] * r[d]).sum::<f64>();
            }
        }
    }
}

fn main() {
    println!(
        "{:>9} {:>22} {:>22} {:>22}",
        "contacts", "compressed rows", "shared columns", "6-wide segments"
    );
    println!(
        "{:>9} {:>22} {:>22} {:>22}",
        "", "ns/contact (bytes)", "ns/contact (bytes)", "ns/contact (bytes)"
    );
    for side in [12, 18, 34] {
        let (n, rows, _) = packing(side);
        let contacts = rows.block_count();
        let plain = rows.to_csr();
        let bodies: Vec<[u32; 2]> = rows.blocks().map(|b| [b.columns[0], b.columns[6]]).collect();
        let values: Vec<[f64; 36]> =
            rows.blocks().map(|b| b.values.try_into().expect("3 × 12")).collect();
        let mut v = vec![1.0; n];
        let times = [
            best(|| compressed(black_box(&plain), &mut v)),
            best(|| shared_columns(black_box(&rows), &mut v)),
            best(|| segments(black_box(&bodies), black_box(&values), &mut v)),
        ];
        let bytes = [36 * 12 + 24, 36 * 8 + 12 * 4 + 24, 36 * 8 + 8];
        let cell = |i: usize| format!("{:.1} ({})", times[i] * 1e9 / contacts as f64, bytes[i]);
        println!("{contacts:>9} {:>22} {:>22} {:>22}", cell(0), cell(1), cell(2));
    }
}
