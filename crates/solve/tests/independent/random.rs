//! Random problems: all convex laws, scales of eighteen decades, rows that repeat, oppose or depend
//! on others.

use signorini_solve::math::sparse::Csr;
use signorini_solve::problem::{Law, Problem};

/// A small generator of random numbers (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn signed(&mut self) -> f64 {
        2.0 * self.unit() - 1.0
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    pub fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

/// A random convex law; bounds of intervals in N s.
pub fn law(random: &mut Random, impulse: f64) -> Law {
    match random.below(8) {
        0 => Law::Equality,
        1 | 2 => Law::Unilateral,
        3 => {
            let (lo, hi) = (-random.unit() * impulse, random.unit() * impulse);
            match random.below(5) {
                0 => Law::Interval { lo: f64::NEG_INFINITY, hi },
                1 => Law::Interval { lo, hi: f64::INFINITY },
                2 => Law::Interval { lo: f64::NEG_INFINITY, hi: f64::INFINITY },
                _ => Law::Interval { lo, hi },
            }
        }
        _ => Law::Cone {
            mu: random.of(&[0.0, 1e-6, 0.1, 0.3, 0.5, 1.0, 10.0]),
            rows: random.of(&[2, 3]),
        },
    }
}

/// A velocity that `law` admits, of about this size; often on the boundary.
pub fn admissible(random: &mut Random, law: &Law, size: f64) -> Vec<f64> {
    let edge = random.below(2) == 0;
    match *law {
        Law::Equality => vec![0.0],
        Law::Unilateral => vec![if edge { 0.0 } else { random.unit() * size }],
        Law::Interval { lo, hi } => {
            let up = if hi.is_infinite() { 0.0 } else { -1.0 };
            let down = if lo.is_infinite() { 0.0 } else { 1.0 };
            vec![size * (up + (down - up) * random.unit())]
        }
        Law::Cone { mu, rows } | Law::Coulomb { mu, rows } => {
            let t: Vec<f64> = (1..rows)
                .map(|_| if random.below(3) == 0 { 0.0 } else { random.signed() * size })
                .collect();
            let length = t.iter().map(|x| x * x).sum::<f64>().sqrt();
            let mut u = vec![mu * length + if edge { 0.0 } else { random.unit() * size }];
            u.extend(t);
            u
        }
    }
}

/// A random problem that has a feasible velocity: bodies of any mass, rows of any kind, some of
/// them repeated, opposed or combined.
pub fn feasible(random: &mut Random) -> Problem {
    let mass = 10f64.powf(9.0 * random.signed());
    let speed = 10f64.powf(9.0 * random.signed());
    let n = 1 + random.below(6);
    let mut problem = Problem { name: "random".into(), ..Problem::default() };
    // Diagonal, or dense and well conditioned, with masses of some decades.
    let spread: f64 = random.of(&[0.0, 0.0, 1.0, 3.0]);
    let d: Vec<f64> = (0..n).map(|_| mass * 10f64.powf(spread * random.signed())).collect();
    problem.H = if random.below(2) == 0 || n == 1 {
        Csr::diagonal(&d)
    } else {
        let g: Vec<f64> = (0..n * n).map(|_| 0.5 * random.signed() / (n as f64).sqrt()).collect();
        let mut h = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                let own = if i == j { 1.0 } else { 0.0 };
                let value = (own + (0..n).map(|p| g[i * n + p] * g[j * n + p]).sum::<f64>())
                    * (d[i] * d[j]).sqrt();
                (h[i * n + j], h[j * n + i]) = (value, value);
            }
        }
        Csr::from_dense(n, n, &h)
    };
    let v: Vec<f64> = (0..n).map(|_| speed * random.signed()).collect();
    let free: Vec<f64> = (0..n).map(|_| speed * random.signed()).collect();
    problem.k = vec![0.0; n];
    problem.H.mul(&free, &mut problem.k);
    let arm = random.of(&[1.0, 1.0, 1e-2, 1e2]);
    problem.J.clear(n);
    let columns: Vec<u32> = (0..n as u32).collect();
    let mut rows: Vec<Vec<f64>> = Vec::new();
    for _ in 0..1 + random.below(5) {
        let law = law(random, mass * speed);
        let u = admissible(random, &law, speed * arm);
        let mut values = Vec::new();
        for _ in 0..law.rows() {
            let row: Vec<f64> = match random.below(6) {
                0 if !rows.is_empty() => rows[random.below(rows.len())].clone(),
                1 if !rows.is_empty() => {
                    rows[random.below(rows.len())].iter().map(|x| -x).collect()
                }
                2 if rows.len() > 1 => {
                    let (a, b) = (random.below(rows.len()), random.below(rows.len()));
                    rows[a].iter().zip(&rows[b]).map(|(x, y)| x + y).collect()
                }
                _ => (0..n)
                    .map(|_| if random.below(3) == 0 { 0.0 } else { arm * random.signed() })
                    .collect(),
            };
            values.extend_from_slice(&row);
            rows.push(row);
        }
        problem.J.push(law.rows(), &columns, &values);
        problem.laws.push(law);
        problem.w.extend(u);
    }
    let m = problem.w.len();
    let mut jv = vec![0.0; m];
    problem.J.mul(&v, &mut jv);
    problem.w.iter_mut().zip(&jv).for_each(|(w, u)| *w -= u);
    let soft = random.below(4) == 0;
    problem.E = (0..m)
        .map(|_| if soft && random.below(2) == 0 { random.unit() * arm * arm / mass } else { 0.0 })
        .collect();
    problem
}
