//! Random problems: all laws, scales of eighteen decades, rows that repeat, oppose or depend on
//! others, rows that contradict each other.

use signorini_solve::math::random;
use signorini_solve::math::sparse::Csr;
use signorini_solve::problem::{Law, Problem, Rows};

/// Random choices, from the one generator.
pub struct Random(random::Random);

impl Random {
    pub fn new(state: u64) -> Random {
        Random(random::Random::new(state))
    }

    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    pub fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    pub fn signed(&mut self) -> f64 {
        self.0.signed()
    }

    /// The numbers of random problems that notes and tests name rest on the remainder.
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

/// A random element of the directions in which reactions of `law` may grow; none for an interval
/// with finite bounds.
fn growing(random: &mut Random, law: &Law) -> Option<Vec<f64>> {
    Some(match *law {
        Law::Equality => vec![random.signed()],
        Law::Unilateral => vec![0.1 + random.unit()],
        Law::Interval { lo, hi } => match (lo.is_infinite(), hi.is_infinite()) {
            (true, true) => vec![random.signed()],
            (true, false) => vec![-0.1 - random.unit()],
            (false, true) => vec![0.1 + random.unit()],
            _ => return None,
        },
        Law::Cone { mu, rows } | Law::Coulomb { mu, rows } => {
            let n = 0.1 + random.unit();
            let angle = std::f64::consts::TAU * random.unit();
            let t = mu * n * random.of(&[0.0, 0.5, 0.99]);
            if rows == 2 {
                vec![n, t * angle.cos().signum()]
            } else {
                vec![n, t * angle.cos(), t * angle.sin()]
            }
        }
    })
}

/// A feasible random problem and one block more, which contradicts some of the others by `margin`
/// of the speeds: with d in K and `Jᵀd = 0`, `w·d < 0`. Returns d too; none if no block can.
pub fn contradicting(random: &mut Random) -> Option<(Problem, Vec<f64>)> {
    let mut problem = feasible(random);
    problem.E.fill(0.0);
    let (n, m) = (problem.n(), problem.rows());
    let law = random.of(&[
        Law::Unilateral,
        Law::Equality,
        Law::Cone { mu: 0.5, rows: 3 },
        Law::Cone { mu: 0.3, rows: 2 },
    ]);
    let mut d = vec![0.0; m];
    let mut any = false;
    for (block, law) in problem.J.blocks().zip(&problem.laws) {
        if random.below(2) == 0 {
            continue;
        }
        let Some(part) = growing(random, law) else { continue };
        any = true;
        d[block.range()].copy_from_slice(&part);
    }
    let mut force = vec![0.0; n];
    problem.J.add_transposed(&d, &mut force);
    if !any || force.iter().all(|f| *f == 0.0) {
        return None;
    }
    // The new block's first row takes the force; its tangents are zero rows, or any rows with no
    // part in d.
    let columns: Vec<u32> = (0..n as u32).collect();
    let mut values: Vec<f64> = force.iter().map(|f| -f).collect();
    for _ in 1..law.rows() {
        values.extend(
            (0..n).map(|_| random.signed() * force.iter().fold(0.0f64, |m, f| m.max(f.abs()))),
        );
    }
    let said: f64 = problem.w.iter().zip(&d).map(|(w, d)| w * d).sum();
    let size: f64 = problem.w.iter().zip(&d).map(|(w, d)| (w * d).abs()).sum();
    let margin = 10f64.powf(-3.0 * random.unit());
    problem.J.push(law.rows(), &columns, &values);
    problem.laws.push(law);
    // w·d = −margin · Σ|w d|.
    problem.w.push(-said - margin * if size > 0.0 { size } else { 1.0 });
    problem.w.extend((1..law.rows()).map(|_| 0.0));
    problem.E.extend((0..law.rows()).map(|_| 0.0));
    d.push(1.0);
    d.extend((1..law.rows()).map(|_| 0.0));
    Some((problem, d))
}

/// What a random problem is by its construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// Rows and velocities without regard to each other.
    Anyhow,
    /// Some velocity satisfies all rows.
    Feasible,
    /// No velocity satisfies all rows.
    Contradicting,
}

/// Problem number `seed`: two fifths of the first two kinds, a fifth of the last; half of those
/// with cones under Coulomb's law; and a ray that proves a contradiction.
pub fn numbered(seed: u64) -> (Problem, Made, Option<Vec<f64>>) {
    let mut random = Random::new(seed ^ 0x0acc_e97e);
    let (problem, made, ray) = match seed % 10 {
        0..4 => (anyhow(&mut random), Made::Anyhow, None),
        4..8 => (feasible(&mut random), Made::Feasible, None),
        _ => match contradicting(&mut random) {
            Some((problem, ray)) => (problem, Made::Contradicting, Some(ray)),
            None => (feasible(&mut random), Made::Feasible, None),
        },
    };
    // The proof of a contradiction may need the tangents of cones: it holds for cones alone.
    if ray.is_none() && random.below(2) == 0 {
        return (problem.true_friction(), made, ray);
    }
    (problem, made, ray)
}

/// A random problem of a few bodies in space; friction from none to 1e20.
pub fn anyhow(random: &mut Random) -> Problem {
    let (bodies, blocks) = (1 + random.below(4), 1 + random.below(6));
    let decades: f64 = random.of(&[0.0, 1.0, 3.0]);
    let mass = 10f64.powf(9.0 * random.signed());
    let speed = 10f64.powf(9.0 * random.signed());
    let (repeats, flips) = (random.below(4) == 0, random.below(8) == 0);
    let n = 3 * bodies;
    let h = Csr::diagonal(
        &(0..n).map(|_| mass * 10f64.powf(decades * random.signed())).collect::<Vec<_>>(),
    );
    let (mut j, mut laws, mut e, mut w) = (Rows::new(n), Vec::new(), Vec::new(), Vec::new());
    let mut last: Option<(Vec<u32>, Vec<f64>)> = None;
    for _ in 0..blocks {
        let mu = random.of(&[0.0, 0.1, 0.5, 1.0, 10.0, 1e10, 1e20]);
        let rows = random.of(&[2, 3]);
        let size = mass * speed;
        let law = match random.below(8) {
            0 => Law::Equality,
            1 => Law::Unilateral,
            2 => Law::Interval { lo: -size * random.unit(), hi: size * random.unit() },
            3 | 4 => Law::Cone { mu, rows },
            _ => Law::Coulomb { mu, rows },
        };
        let d = law.rows();
        let owners = [random.below(bodies) as u32, random.below(bodies) as u32];
        let mut columns: Vec<u32> = owners.iter().flat_map(|b| 3 * b..3 * b + 3).collect();
        columns.sort_unstable();
        columns.dedup();
        let mut values: Vec<f64> = (0..d * columns.len()).map(|_| random.signed()).collect();
        if let (true, Some((c, v))) = (repeats, &last)
            && v.len() >= d * c.len()
        {
            // The rows of the block before, once more or turned around.
            columns.clone_from(c);
            values = v[..d * c.len()].iter().map(|v| if flips { -v } else { *v }).collect();
        }
        j.push(d, &columns, &values);
        last = Some((columns, values));
        let soft = random.below(5) == 0;
        for _ in 0..d {
            w.push(speed * random.signed());
            e.push(if soft { 0.1 / mass } else { 0.0 });
        }
        laws.push(law);
    }
    let k = (0..n).map(|i| h.get(i, i) * speed * random.signed()).collect();
    Problem { name: "random".into(), H: h, k, J: j, E: e, w, laws, names: Vec::new() }
}
