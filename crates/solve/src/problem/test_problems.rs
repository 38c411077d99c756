//! Small problems with known solutions: closed forms, and manufactured ones.
//!
//! A manufactured problem chooses (v, r, u) that satisfy every law and takes `k = H v − Jᵀ r`,
//! `w = u − J v − E r`: its solution is known whatever its rows are. `problems/` holds all of them
//! as files.

use super::{Law, Problem, Rows, Solution};
use crate::math::sparse::Csr;

/// A problem and its velocities.
#[derive(Clone, Debug, PartialEq)]
pub struct ProblemWithSolution {
    /// The problem.
    pub problem: Problem,
    /// Its solution: `v` is unique, `r` is one of those that belong to it.
    pub solution: Solution,
}

/// Acceleration of gravity, m/s².
pub const G: f64 = 9.81;
/// Time step of the closed forms, s.
pub const STEP: f64 = 0.01;

/// Every problem of the collection.
pub fn all() -> Vec<ProblemWithSolution> {
    let mut out = vec![
        ball("ball_rests", Law::Unilateral, -G * STEP, 0.0, 0.0),
        ball("ball_rebounds", Law::Unilateral, -1.0, 0.5, 0.0),
        ball("ball_flies", Law::Unilateral, -1.0, 5.0, 0.0),
        ball("ball_touches", Law::Unilateral, -1.0, 1.0, 0.0),
        ball("ball_on_soft_ground", Law::Unilateral, -1.0, 0.0, 0.25),
        motor("motor_reaches_its_speed", 1.0),
        motor("motor_at_its_limit", 0.05),
        pendulum(),
        door(),
        brick("brick_rests", Law::Unilateral, 0.0),
        brick("brick_sticks", Law::Coulomb { mu: 0.5, rows: 3 }, 0.02),
        brick("brick_slides", Law::Coulomb { mu: 0.2, rows: 3 }, 1.0),
        free_bodies(),
        rolling_friction(),
    ];
    for law in [
        Law::Cone { mu: 0.3, rows: 3 },
        Law::Coulomb { mu: 0.3, rows: 3 },
        Law::Cone { mu: 0.3, rows: 2 },
        Law::Coulomb { mu: 0.3, rows: 2 },
    ] {
        out.push(particle(law, 1.0));
        out.push(particle(law, 0.02));
    }
    out.push(particle(Law::Cone { mu: 0.0, rows: 3 }, 1.0));
    out.push(particle(Law::Coulomb { mu: 10.0, rows: 3 }, 1.0));
    for ratio in [1.0, 2.0, 10.0, 0.1] {
        out.push(stack(10, ratio));
    }
    for seed in 0..4 {
        out.push(manufactured("mixed_cone", seed, 8, false));
        out.push(manufactured("mixed_coulomb", seed, 8, true));
    }
    out.push(manufactured("mixed_cone_large", 7, 60, false));
    out
}

fn rows(n: usize, blocks: &[(&[u32], &[f64])]) -> Rows {
    let mut out = Rows::new(n);
    for (columns, values) in blocks {
        out.push(values.len() / columns.len(), columns, values);
    }
    out
}

/// A ball of 2 kg that arrives with `arrival` m/s at the ground; w and compliance of the contact.
///
/// Contact: m v = m a + r, v + E r + w = 0 ⇒ r = −m (a + w)/(1 + m E); open if that is negative.
fn ball(name: &str, law: Law, arrival: f64, w: f64, compliance: f64) -> ProblemWithSolution {
    let m = 2.0;
    let r = (-m * (arrival + w) / (1.0 + m * compliance)).max(0.0);
    let problem = Problem {
        name: name.into(),
        H: Csr::diagonal(&[m]),
        k: vec![m * arrival],
        J: rows(1, &[(&[0], &[1.0])]),
        E: vec![compliance],
        w: vec![w],
        laws: vec![law],
        names: vec!["contact ball/ground".into()],
    };
    ProblemWithSolution { problem, solution: Solution { v: vec![arrival + r / m], r: vec![r] } }
}

/// A wheel of 0.1 kg m² at rest whose motor wants 3 rad/s (0.3 N m s) and may give ± `limit` N m s.
fn motor(name: &str, limit: f64) -> ProblemWithSolution {
    let (inertia, speed): (f64, f64) = (0.1, 3.0);
    let r = (inertia * speed).min(limit);
    let problem = Problem {
        name: name.into(),
        H: Csr::diagonal(&[inertia]),
        k: vec![0.0],
        J: rows(1, &[(&[0], &[1.0])]),
        E: vec![0.0],
        w: vec![-speed],
        laws: vec![Law::Interval { lo: -limit, hi: limit }],
        names: vec!["motor wheel".into()],
    };
    ProblemWithSolution { problem, solution: Solution { v: vec![r / inertia], r: vec![r] } }
}

/// A point of 1.5 kg on a rod at 30°, pulled down: the rod takes the part along it.
fn pendulum() -> ProblemWithSolution {
    let (m, angle) = (1.5, std::f64::consts::FRAC_PI_6);
    let (along, free) = ([angle.sin(), -angle.cos()], [0.2, -G * STEP]);
    let radial = along[0] * free[0] + along[1] * free[1];
    let problem = Problem {
        name: "pendulum".into(),
        H: Csr::diagonal(&[m, m]),
        k: vec![m * free[0], m * free[1]],
        J: rows(2, &[(&[0, 1], &along)]),
        E: vec![0.0],
        w: vec![0.0],
        laws: vec![Law::Equality],
        names: vec!["rod".into()],
    };
    let v = vec![free[0] - radial * along[0], free[1] - radial * along[1]];
    ProblemWithSolution { problem, solution: Solution { v, r: vec![-m * radial] } }
}

/// A door in the plane on three identical hinges at its edge: the rows are dependent, the motion is
/// not.
fn door() -> ProblemWithSolution {
    // x, y of the centre and the angle; the hinge is 0.5 m left of the centre: its velocity is (x',
    // y' − 0.5 θ').
    let (m, inertia, arm) = (4.0, 1.0 / 3.0, 0.5);
    let free = [0.3, -0.7, 1.1];
    let x: (&[u32], &[f64]) = (&[0], &[1.0]);
    let y: (&[u32], &[f64]) = (&[1, 2], &[1.0, -arm]);
    let impulse = -(free[1] - arm * free[2]) / (1.0 / m + arm * arm / inertia);
    let problem = Problem {
        name: "door_on_three_hinges".into(),
        H: Csr::diagonal(&[m, m, inertia]),
        k: vec![m * free[0], m * free[1], inertia * free[2]],
        J: rows(3, &[x, y, x, y, x, y]),
        E: vec![0.0; 6],
        w: vec![0.0; 6],
        laws: vec![Law::Equality; 6],
        names: (0..6).map(|i| format!("hinge {} {}", i / 2 + 1, ["x", "y"][i % 2])).collect(),
    };
    let v = vec![0.0, free[1] + impulse / m, free[2] - arm * impulse / inertia];
    let r = vec![-m * free[0], impulse, 0.0, 0.0, 0.0, 0.0];
    ProblemWithSolution { problem, solution: Solution { v, r } }
}

/// A brick 0.4 × 0.2 × 0.1 m of 3 kg on its four lower corners, moving along x.
///
/// It sticks if its speed is below mu g h, else it loses mu g h; the corners share the load
/// (front corners more, for friction acts below the centre).
fn brick(name: &str, law: Law, speed: f64) -> ProblemWithSolution {
    let (m, half) = (3.0, [0.2, 0.1, 0.05]);
    let inertia = |a: f64, b: f64| m / 3.0 * (a * a + b * b);
    let diagonal =
        [m, m, m, inertia(half[1], half[2]), inertia(half[0], half[2]), inertia(half[0], half[1])];
    let load = m * G * STEP;
    let friction = law.friction().map_or(0.0, |mu| (mu * load).min(m * speed));
    let v = vec![speed - friction / m, 0.0, 0.0, 0.0, 0.0, 0.0];
    let d = law.rows();
    let columns: Vec<u32> = (0..6).collect();
    let (mut j, mut r, mut names) = (Rows::new(6), Vec::new(), Vec::new());
    for (corner, (sx, sy)) in
        [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)].into_iter().enumerate()
    {
        let arm = [sx * half[0], sy * half[1], -half[2]];
        // Row of direction e: (e, arm × e).
        let row = |e: [f64; 3]| {
            let c = [
                arm[1] * e[2] - arm[2] * e[1],
                arm[2] * e[0] - arm[0] * e[2],
                arm[0] * e[1] - arm[1] * e[0],
            ];
            [e[0], e[1], e[2], c[0], c[1], c[2]]
        };
        let values: Vec<f64> = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]][..d]
            .iter()
            .flat_map(|e| row(*e))
            .collect();
        j.push(d, &columns, &values);
        // Torque about y: friction at depth half[2] against the normals at ± half[0].
        let normal = load / 4.0 + sx * friction * half[2] / (4.0 * half[0]);
        // Friction in proportion to the load: no torque about z.
        r.extend([normal, -friction * normal / load, 0.0][..d].iter());
        names.push(format!("contact brick/ground corner {corner}"));
    }
    let problem = Problem {
        name: name.into(),
        H: Csr::diagonal(&diagonal),
        k: vec![m * speed, 0.0, -load, 0.0, 0.0, 0.0],
        E: vec![0.0; j.len()],
        w: vec![0.0; j.len()],
        laws: vec![law; 4],
        J: j,
        names,
    };
    ProblemWithSolution { problem, solution: Solution { v, r } }
}

/// A wheel of 0.2 kg m² that spins about two axes against a torque of at most a radius, in any
/// direction: dry friction of given bound, whose normal row feels nothing (`mechanics` poses
/// rolling friction so).
fn rolling_friction() -> ProblemWithSolution {
    let (inertia, bound, compliance) = (0.2, 0.05, 20.0);
    let spin: [f64; 2] = [3.0, -4.0];
    let mut rows = Rows::new(2);
    rows.push(3, &[0, 1], &[0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
    let problem = Problem {
        name: "rolling_friction".into(),
        H: Csr::diagonal(&[inertia; 2]),
        k: spin.map(|w| inertia * w).to_vec(),
        J: rows,
        E: vec![compliance, 0.0, 0.0],
        w: vec![-compliance * bound, 0.0, 0.0],
        laws: vec![Law::Coulomb { mu: 1.0, rows: 3 }],
        names: vec!["rolling friction of wheel/ground".into()],
    };
    // Slower by bound/inertia along the spin, which is 5 rad/s.
    let v = spin.map(|w| w - bound / inertia * w / 5.0).to_vec();
    let r = vec![bound, -bound * spin[0] / 5.0, -bound * spin[1] / 5.0];
    ProblemWithSolution { problem, solution: Solution { v, r } }
}

/// Two bodies and no row at all: v = H⁻¹ k.
fn free_bodies() -> ProblemWithSolution {
    let problem = Problem {
        name: "free_bodies".into(),
        H: Csr::from_dense(3, 3, &[2.0, 1.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 4.0]),
        k: vec![3.0, 3.0, 2.0],
        J: Rows::new(3),
        ..Problem::default()
    };
    ProblemWithSolution { problem, solution: Solution { v: vec![1.0, 1.0, 0.5], r: vec![] } }
}

/// A point of 1 kg pressed on the ground, moving along the first tangent with `speed`.
///
/// Coulomb: sticks below mu g h, else slows by mu g h. Cone (associated): the reaction is the
/// nearest point of the cone to the one that would stop it (H = 1: the projection in closed form),
/// so it lifts off as it slides.
fn particle(law: Law, speed: f64) -> ProblemWithSolution {
    let d = law.rows();
    let mu = law.friction().unwrap_or(0.0);
    let press = G * STEP;
    let slides = speed > mu * press;
    let (normal, tangent) = match (law, slides) {
        (_, false) => (press, -speed),
        (Law::Coulomb { .. }, true) => (press, -mu * press),
        _ => {
            let normal = (press + mu * speed) / (1.0 + mu * mu);
            (normal, -mu * normal)
        }
    };
    let free = [-press, speed, 0.0];
    let r = [normal, tangent, 0.0];
    let columns: Vec<u32> = (0..d as u32).collect();
    let identity: Vec<f64> = (0..d * d).map(|i| if i % (d + 1) == 0 { 1.0 } else { 0.0 }).collect();
    let problem = Problem {
        name: format!(
            "particle_{}{d}_mu{mu}_{}",
            law.name(),
            if slides { "slides" } else { "sticks" }
        ),
        H: Csr::diagonal(&vec![1.0; d]),
        k: free[..d].to_vec(),
        J: rows(d, &[(&columns, &identity)]),
        E: vec![0.0; d],
        w: vec![0.0; d],
        laws: vec![law],
        names: vec!["contact particle/ground".into()],
    };
    ProblemWithSolution {
        problem,
        solution: Solution { v: (0..d).map(|i| free[i] + r[i]).collect(), r: r[..d].to_vec() },
    }
}

/// `n` balls on top of each other on vertical guides, each `ratio` times as heavy as the one below:
/// nothing moves.
pub fn stack(n: usize, ratio: f64) -> ProblemWithSolution {
    let masses: Vec<f64> = (0..n).map(|i| ratio.powi(i as i32)).collect();
    let mut j = Rows::new(n);
    let mut names = Vec::new();
    for i in 0..n {
        if i == 0 {
            j.push(1, &[0], &[1.0]);
            names.push("contact ball_0/ground".into());
        } else {
            j.push(1, &[i as u32 - 1, i as u32], &[-1.0, 1.0]);
            names.push(format!("contact ball_{}/ball_{i}", i - 1));
        }
    }
    let r: Vec<f64> = (0..n).map(|i| masses[i..].iter().sum::<f64>() * G * STEP).collect();
    let problem = Problem {
        name: format!("stack_{n}_ratio{ratio}"),
        H: Csr::diagonal(&masses),
        k: masses.iter().map(|m| -m * G * STEP).collect(),
        J: j,
        E: vec![0.0; n],
        w: vec![0.0; n],
        laws: vec![Law::Unilateral; n],
        names,
    };
    ProblemWithSolution { problem, solution: Solution { v: vec![0.0; n], r } }
}

/// Numbers between −1 and 1 that are the same everywhere (a 64-bit linear congruence, upper bits).
/// The stored problems were drawn from it and stay what they are; everything else draws from
/// [`crate::math::random`].
pub struct Lcg(u64);

impl Lcg {
    /// The sequence with this seed.
    pub fn new(seed: u64) -> Lcg {
        Lcg(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(0x2545_F491_4F6C_DD1D))
    }

    /// The next number, in −1 ≤ x < 1.
    pub fn draw(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// A random problem with every law in it and springs between neighbours, made from its own
/// solution.
fn manufactured(name: &str, seed: u64, bodies: usize, coulomb: bool) -> ProblemWithSolution {
    let mut x = Lcg::new(seed);
    let n = 3 * bodies;
    // Masses over two decades on the diagonal; every third pair of bodies is tied by a spring.
    let mut triplets = Vec::new();
    for i in 0..n as u32 {
        triplets.push((i, i, 10f64.powf(x.draw())));
        if i >= 3 && (i / 3) % 3 == 0 {
            let stiffness = 1.0 + x.draw();
            for (a, b, s) in [(i, i, 1.0), (i - 3, i - 3, 1.0), (i, i - 3, -1.0), (i - 3, i, -1.0)]
            {
                triplets.push((a, b, s * stiffness));
            }
        }
    }
    let h = Csr::from_triplets(n, n, &triplets);
    let friction = |mu: f64, rows: u8| {
        if coulomb { Law::Coulomb { mu, rows } } else { Law::Cone { mu, rows } }
    };
    let (mut j, mut laws) = (Rows::new(n), Vec::new());
    let (mut u, mut r, mut e): (Vec<f64>, Vec<f64>, Vec<f64>) = Default::default();
    for k in 0..2 * bodies {
        let law = match k % 6 {
            0 => Law::Equality,
            1 => Law::Unilateral,
            2 => Law::Interval { lo: -0.5, hi: 1.5 },
            3 => friction(0.7, 2),
            _ => friction(0.1 + (k % 5) as f64 * 0.3, 3),
        };
        let (first, second) = (k % bodies, (k * 7 + 3) % bodies);
        let mut columns: Vec<u32> = (3 * first..3 * first + 3)
            .chain(3 * second..3 * second + 3)
            .map(|c| c as u32)
            .collect();
        columns.sort_unstable();
        columns.dedup();
        let values: Vec<f64> = (0..law.rows() * columns.len()).map(|_| x.draw()).collect();
        j.push(law.rows(), &columns, &values);
        let (uk, rk) = admissible(&law, &mut x, k);
        u.extend(&uk[..law.rows()]);
        r.extend(&rk[..law.rows()]);
        e.extend((0..law.rows()).map(|_| if k % 4 == 0 { 0.05 } else { 0.0 }));
        laws.push(law);
    }
    let v: Vec<f64> = (0..n).map(|_| x.draw()).collect();
    let mut k = vec![0.0; n];
    let mut jr = vec![0.0; n];
    h.mul(&v, &mut k);
    j.add_transposed(&r, &mut jr);
    k.iter_mut().zip(&jr).for_each(|(k, jr)| *k -= jr);
    let mut w = vec![0.0; j.len()];
    j.mul(&v, &mut w);
    for i in 0..w.len() {
        w[i] = u[i] - w[i] - e[i] * r[i];
    }
    let problem =
        Problem { name: format!("{name}_{seed}"), H: h, k, J: j, E: e, w, laws, names: Vec::new() };
    ProblemWithSolution { problem, solution: Solution { v, r } }
}

/// A pair (u, r) that satisfies the law: open, closed, sliding or sticking by turns.
fn admissible(law: &Law, x: &mut Lcg, turn: usize) -> ([f64; 3], [f64; 3]) {
    let size = x.draw().abs() + 0.1;
    let angle = 3.0 * x.draw();
    let (mut u, mut r) = ([0.0; 3], [0.0; 3]);
    match *law {
        Law::Equality => r[0] = size * angle,
        Law::Unilateral if turn.is_multiple_of(2) => u[0] = size,
        Law::Unilateral => r[0] = size,
        Law::Interval { lo, hi } => match turn % 3 {
            0 => (u[0], r[0]) = (size, lo),
            1 => (u[0], r[0]) = (-size, hi),
            _ => r[0] = 0.5 * (lo + hi),
        },
        Law::Cone { mu, rows } | Law::Coulomb { mu, rows } => {
            let direction =
                if rows == 3 { [angle.cos(), angle.sin()] } else { [angle.signum(), 0.0] };
            match turn % 4 {
                0 => u[0] = size + mu * size,
                1 => r = [size, 0.5 * mu * size * direction[0], 0.5 * mu * size * direction[1]],
                _ => {
                    let lift = if matches!(law, Law::Cone { .. }) { mu * size } else { 0.0 };
                    u = [lift, size * direction[0], size * direction[1]];
                    r = [size, -mu * size * direction[0], -mu * size * direction[1]];
                }
            }
        }
    }
    (u, r)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::PreparedProblem;

    #[test]
    fn every_known_solution_is_a_solution() {
        for known in all() {
            let ProblemWithSolution { problem, solution } = &known;
            problem.check().unwrap_or_else(|e| panic!("{}: {e}", problem.name));
            let error = PreparedProblem::of(problem).unwrap().error(problem, solution);
            // The closed forms are exact up to a few roundings of numbers of order 1 (10⁹ in the
            // stack of ratio 10).
            assert!(error.relative() <= 1e-26, "{}: {error:?}", problem.name);
            assert!(error.velocity <= 1e-13, "{}: {error:?}", problem.name);
        }
    }
}
