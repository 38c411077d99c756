//! Problems and sequences of problems for `bench pivot`, built without geometry: bodies, contacts,
//! small motions.

use signorini::math::random::Random;
use signorini::math::sparse::Csr;
use signorini::problem::{Law, Problem, Rows, Solution};

/// Rigid bodies with contacts: everything a linearised step needs.
pub struct Scene {
    /// Time step, s.
    pub h: f64,
    /// The problem of the present step, one `Law` per contact.
    pub problem: Problem,
    /// Gap of each normal row, m.
    gaps: Vec<f64>,
    /// Velocities at the beginning of the step.
    v: Vec<f64>,
    load: fn(body: usize, time: f64) -> [f64; 3],
    mass: Vec<f64>,
    time: f64,
}

/// A contact: two bodies (or one and the ground), normal, point relative to each centre, gap.
pub struct Contact {
    /// The body that the normal pushes, and the one that it pushes back (none: the ground).
    pub bodies: (usize, Option<usize>),
    /// Unit normal.
    pub normal: [f64; 3],
    /// The point, seen from each body's centre.
    pub arms: ([f64; 3], [f64; 3]),
    /// Gap, m.
    pub gap: f64,
    /// Its law.
    pub law: Law,
}

impl Scene {
    /// Bodies of these masses and one gyration radius, with contacts.
    pub fn new(
        mass: &[f64],
        radius: f64,
        contacts: &[Contact],
        load: fn(usize, f64) -> [f64; 3],
    ) -> Scene {
        let n = 6 * mass.len();
        let inertia: Vec<f64> = mass
            .iter()
            .flat_map(|m| {
                [*m, *m, *m, m * radius * radius, m * radius * radius, m * radius * radius]
            })
            .collect();
        let mut problem = Problem {
            H: Csr::diagonal(&inertia),
            k: vec![0.0; n],
            J: Rows::new(n),
            ..Problem::default()
        };
        let mut gaps = Vec::new();
        for contact in contacts {
            push(&mut problem, contact);
            gaps.push(contact.gap);
            gaps.extend(std::iter::repeat_n(0.0, contact.law.rows() - 1));
        }
        let mut scene = Scene {
            h: 0.005,
            problem,
            gaps,
            v: vec![0.0; n],
            load,
            mass: mass.to_vec(),
            time: 0.0,
        };
        scene.assemble();
        scene
    }

    /// The next step: gaps and velocities move with the solution, the load with time.
    pub fn advance(&mut self, solution: &Solution) {
        let mut u = vec![0.0; self.problem.rows()];
        self.problem.J.mul(&solution.v, &mut u);
        let starts = &self.problem.J.row_starts;
        for k in 0..self.problem.laws.len() {
            self.gaps[starts[k]] += self.h * u[starts[k]];
        }
        self.v.copy_from_slice(&solution.v);
        self.time += self.h;
        self.assemble();
    }

    fn assemble(&mut self) {
        for (body, m) in self.mass.iter().enumerate() {
            let load = (self.load)(body, self.time);
            for (axis, load) in load.iter().chain(&[0.0; 3]).enumerate() {
                let i = 6 * body + axis;
                let force = m * load;
                self.problem.k[i] = self.problem.H.get(i, i) * self.v[i] + self.h * force;
            }
        }
        for (k, law) in self.problem.laws.iter().enumerate() {
            let row = self.problem.J.row_starts[k];
            if !matches!(law, Law::Interval { .. }) {
                self.problem.w[row] = self.gaps[row] / self.h;
            }
        }
    }
}

/// Appends a contact's rows: normal, and tangents if its law has them.
fn push(problem: &mut Problem, contact: &Contact) {
    let [x, y, z] = contact.normal;
    let first = if x.abs() < 0.7 {
        cross([1.0, 0.0, 0.0], contact.normal)
    } else {
        cross([0.0, 1.0, 0.0], contact.normal)
    };
    let length = first.iter().map(|a| a * a).sum::<f64>().sqrt();
    let first = first.map(|a| a / length);
    let second = cross([x, y, z], first);
    let mut sides = vec![(contact.bodies.0, 1.0, contact.arms.0)];
    sides.extend(contact.bodies.1.map(|b| (b, -1.0, contact.arms.1)));
    sides.sort_by_key(|side| side.0);
    let columns: Vec<u32> =
        sides.iter().flat_map(|side| (0..6).map(move |a| (6 * side.0 + a) as u32)).collect();
    let mut values = Vec::new();
    for direction in [contact.normal, first, second].iter().take(contact.law.rows()) {
        for (_, sign, arm) in &sides {
            let turn = cross(*arm, *direction);
            values.extend(direction.iter().chain(&turn).map(|a| sign * a));
        }
    }
    let rows = contact.law.rows();
    problem.J.push(rows, &columns, &values);
    problem.E.extend(std::iter::repeat_n(0.0, rows));
    problem.w.extend(std::iter::repeat_n(0.0, rows));
    problem.laws.push(contact.law);
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// A jittered heap of spheres on the ground and between walls, with about this many rows; falling
/// at 1 m/s.
pub fn heap(rows: usize, seed: u64) -> Problem {
    let mut numbers = Random::seeded(seed);
    let side = ((rows as f64 / 3.0).cbrt().round() as usize).max(2);
    let at = |i: usize, j: usize, k: usize| (k * side + j) * side + i;
    let mut contacts = Vec::new();
    for k in 0..rows.div_ceil(3 * side * side).max(1) {
        for j in 0..side {
            for i in 0..side {
                let a = at(i, j, k);
                let below = (k > 0).then(|| at(i, j, k.wrapping_sub(1)));
                let left = (i > 0).then(|| at(i.wrapping_sub(1), j, k));
                let front = (j > 0).then(|| at(i, j.wrapping_sub(1), k));
                for (other, normal) in
                    [(below, [0.0, 0.0, 1.0]), (left, [1.0, 0.0, 0.0]), (front, [0.0, 1.0, 0.0])]
                {
                    let normal = jitter(normal, &mut numbers);
                    let arm = normal.map(|x| -0.05 * x);
                    let gap = 2e-3 * (numbers.unit() - 0.5);
                    contacts.push(Contact {
                        bodies: (a, other),
                        normal,
                        arms: (arm, arm.map(|x| -x)),
                        gap,
                        law: Law::Unilateral,
                    });
                }
            }
        }
    }
    contacts.truncate(rows);
    let bodies =
        1 + contacts.iter().map(|c| c.bodies.0.max(c.bodies.1.unwrap_or(0))).max().unwrap_or(0);
    let mut scene = Scene::new(&vec![1.0; bodies], 0.03, &contacts, |_, _| [-2.0, -2.0, -9.81]);
    scene.v.iter_mut().for_each(|v| *v = numbers.unit() - 0.7);
    scene.assemble();
    scene.problem
}

fn jitter(normal: [f64; 3], numbers: &mut Random) -> [f64; 3] {
    let moved = normal.map(|x| x + 0.6 * (numbers.unit() - 0.5));
    let length = moved.iter().map(|x| x * x).sum::<f64>().sqrt();
    moved.map(|x| x / length)
}

/// An open chain of n bodies on ball joints, pinned at one end; every (n / 25)th body may touch a
/// floor.
pub fn chain(n: usize) -> Problem {
    let (arm, mut contacts) = ([0.05, 0.0, 0.0], Vec::new());
    let floor = |body: usize| Contact {
        bodies: (body, None),
        normal: [0.0, 0.0, 1.0],
        arms: ([0.0, 0.0, -0.02], [0.0; 3]),
        gap: 1e-6,
        law: Law::Unilateral,
    };
    contacts.extend((1..=25).map(|p| floor(p * n / 25 - 1)));
    let mut problem = Scene::new(&vec![1.0; n], 0.03, &contacts, |_, _| [0.0, 0.0, -9.81]).problem;
    for body in 0..n {
        for axis in 0..3 {
            let mut direction = [0.0; 3];
            direction[axis] = 1.0;
            let other = body.checked_sub(1);
            let joint = Contact {
                bodies: (body, other),
                normal: direction,
                arms: (arm.map(|x| -x), arm),
                gap: 0.0,
                law: Law::Equality,
            };
            push(&mut problem, &joint);
        }
    }
    problem
}

/// Spheres above each other between two walls; the load tilts to and fro.
pub fn stack(count: usize) -> Scene {
    let mut contacts = Vec::new();
    for body in 0..count {
        let lean = if body % 2 == 0 { 0.02 } else { -0.02 };
        let up = [lean, 0.0, (1.0f64 - lean * lean).sqrt()];
        let arms = (up.map(|x| -0.05 * x), up.map(|x| 0.05 * x));
        contacts.push(Contact {
            bodies: (body, body.checked_sub(1)),
            normal: up,
            arms,
            gap: 0.0,
            law: Law::Unilateral,
        });
        for side in [-1.0, 1.0] {
            let normal = [side, 0.0, 0.0];
            contacts.push(Contact {
                bodies: (body, None),
                normal,
                arms: ([-0.05 * side, 0.0, 0.0], [0.0; 3]),
                gap: 1e-4,
                law: Law::Unilateral,
            });
        }
    }
    Scene::new(&vec![1.0; count], 0.03, &contacts, |_, t| [2.0 * (6.0 * t).sin(), 0.0, -9.81])
}

/// A wall of bricks, four contacts for each brick upon another, with friction; pushed sideways.
pub fn wall(width: usize, height: usize) -> Scene {
    let mut contacts = Vec::new();
    let law = Law::Cone { mu: 0.6, rows: 3 };
    let at = |i: usize, k: usize| k * width + i;
    for k in 0..height {
        for i in 0..width {
            for half in [0usize, 1] {
                // Its halves rest on two bricks of the course below, which is shifted by half a
                // brick.
                let below = (k > 0)
                    .then(|| i + half + k % 2)
                    .filter(|&p| p >= 1 && p <= width)
                    .map(|p| at(p - 1, k - 1));
                if k > 0 && below.is_none() {
                    continue;
                }
                for (x, y) in [(0.02, -0.05), (0.09, -0.05), (0.02, 0.05), (0.09, 0.05)] {
                    let along: f64 = if half == 0 { -x } else { x };
                    let arms = ([along, y, -0.05], [along - 0.1 * along.signum(), y, 0.05]);
                    contacts.push(Contact {
                        bodies: (at(i, k), below),
                        normal: [0.0, 0.0, 1.0],
                        arms,
                        gap: 0.0,
                        law,
                    });
                }
            }
        }
    }
    Scene::new(&vec![2.0; width * height], 0.07, &contacts, |_, t| {
        [3.0 * (4.0 * t).sin(), 1.0 * (7.0 * t).sin(), -9.81]
    })
}

/// A block between two fingers that motors of limited force press together; it is shaken.
pub fn gripper() -> Scene {
    let mut contacts = Vec::new();
    for (finger, side) in [(1, -1.0), (2, 1.0)] {
        for y in [-0.02, 0.02] {
            for z in [-0.02, 0.02] {
                let arms = ([0.05 * side, y, z], [-0.02 * side, y, z]);
                contacts.push(Contact {
                    bodies: (0, Some(finger)),
                    normal: [-side, 0.0, 0.0],
                    arms,
                    gap: 0.0,
                    law: Law::Cone { mu: 0.8, rows: 3 },
                });
            }
        }
        let arms = ([0.0; 3], [0.0; 3]);
        contacts.push(Contact {
            bodies: (finger, None),
            normal: [-side, 0.0, 0.0],
            arms,
            gap: 0.0,
            law: Law::Interval { lo: -0.2, hi: 0.2 },
        });
    }
    let mut scene = Scene::new(&[0.5, 0.2, 0.2], 0.03, &contacts, |_, t| {
        [0.0, 2.0 * (20.0 * t).sin(), -9.81 + 3.0 * (12.0 * t).sin()]
    });
    // The motors want to close at 0.1 m/s; guides hold the fingers in all other directions.
    for k in 0..scene.problem.laws.len() {
        if matches!(scene.problem.laws[k], Law::Interval { .. }) {
            let row = scene.problem.J.row_starts[k];
            scene.problem.w[row] = -0.1;
        }
    }
    for finger in [1u32, 2] {
        for axis in 1..6 {
            scene.problem.J.push(1, &[6 * finger + axis], &[1.0]);
            scene.problem.E.push(0.0);
            scene.problem.w.push(0.0);
            scene.problem.laws.push(Law::Equality);
            scene.gaps.push(0.0);
        }
    }
    scene
}
