//! Small scenes built directly as problems: spheres in a cylinder, one ball, one brick, stacks on
//! guides.
//!
//! ```text
//!   k = M v + h f,   contact: w_n = max(gap/h, −0.6 m/s), rows of J from the normal and two tangents
//! ```
//!
//! Enough of a simulator to give a method the sequence of problems that a time stepping meets; no
//! more.

use signorini::math::random::Random;
use signorini::math::sparse::Csr;
use signorini::problem::{Law, Problem, Rows, Solution};

const GRAVITY: f64 = 9.81;
/// Gaps below this become contacts unless said otherwise, m.
pub const CONTACT_MARGIN: f64 = 0.01;
/// Radius of the spheres, m, and their density, kg/m³ (Mangoni2018, table 5.2).
const RADIUS: f64 = 0.035;
const DENSITY: f64 = 1000.0;
/// Radius of the container, m.
const CONTAINER: f64 = 0.5;

/// A body that a contact belongs to, by number; `None` is the container.
pub type Key = (usize, Option<usize>, usize);

/// One time step's problem with the keys of its contacts.
pub struct Step {
    /// The problem.
    pub problem: Problem,
    /// A key for each block: the same contact in the next step has the same key.
    pub keys: Vec<Key>,
}

impl Step {
    /// The answer of an earlier step as a guess for this one: velocities as they are, reactions
    /// matched by key.
    pub fn guess(&self, before: &Step, solution: &Solution) -> Solution {
        let mut out = Solution { v: solution.v.clone(), r: vec![0.0; self.problem.rows()] };
        let old: std::collections::HashMap<&Key, usize> =
            before.keys.iter().enumerate().map(|(k, key)| (key, k)).collect();
        for (k, key) in self.keys.iter().enumerate() {
            if let Some(&from) = old.get(key) {
                let (to, from) =
                    (self.problem.J.block(k).range(), before.problem.J.block(from).range());
                out.r[to].copy_from_slice(&solution.r[from]);
            }
        }
        out
    }
}

/// Bodies of equal shape with positions and velocities, 6 each.
pub struct Scene {
    shape: Shape,
    positions: Vec<[f64; 3]>,
    velocities: Vec<f64>,
    friction: f64,
    /// Time step, s.
    pub h: f64,
    /// Gaps below this become contacts, m.
    pub margin: f64,
    /// If given, so many contacts, those with the smallest gaps, whatever the margin.
    pub nearest: Option<usize>,
}

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Sphere,
    /// Half sides, m; stays upright: its rotations are small.
    Brick([f64; 3]),
}

/// One contact: bodies, gap, normal (towards `first`), levers of the normal's point.
struct Contact {
    key: Key,
    gap: f64,
    normal: [f64; 3],
    levers: [[f64; 3]; 2],
}

impl Scene {
    /// `count` spheres in a cylinder, in layers with small displacements.
    pub fn balls(count: usize, friction: f64) -> Scene {
        let mut positions = Vec::new();
        let (pitch, reach) = (2.15 * RADIUS, CONTAINER - 1.05 * RADIUS);
        let per_side = (2.0 * reach / pitch) as i32;
        let mut random = Random::seeded(1);
        let mut noise = || 0.05 * RADIUS * random.signed();
        let mut layer = 0;
        while positions.len() < count {
            for i in -per_side / 2..=per_side / 2 {
                for j in -per_side / 2..=per_side / 2 {
                    let (x, y) = (pitch * f64::from(i), pitch * f64::from(j));
                    if x.hypot(y) < reach && positions.len() < count {
                        positions.push([
                            x + noise(),
                            y + noise(),
                            RADIUS * 1.1 + pitch * f64::from(layer) + noise(),
                        ]);
                    }
                }
            }
            layer += 1;
        }
        let velocities = vec![0.0; 6 * positions.len()];
        Scene {
            shape: Shape::Sphere,
            positions,
            velocities,
            friction,
            h: 0.02,
            margin: CONTACT_MARGIN,
            nearest: None,
        }
    }

    /// One ball above the ground.
    pub fn ball() -> Scene {
        Scene {
            shape: Shape::Sphere,
            positions: vec![[0.0, 0.0, 2.0 * RADIUS]],
            velocities: vec![0.0; 6],
            friction: 0.0,
            h: 0.01,
            margin: CONTACT_MARGIN,
            nearest: None,
        }
    }

    /// One brick above the ground.
    pub fn brick() -> Scene {
        let half = [0.1, 0.05, 0.025];
        Scene {
            shape: Shape::Brick(half),
            positions: vec![[0.0, 0.0, 0.05]],
            velocities: vec![0.0; 6],
            friction: 0.0,
            h: 0.01,
            margin: CONTACT_MARGIN,
            nearest: None,
        }
    }

    /// The problem of the next step, with this coefficient of friction.
    pub fn step(&self, friction: f64) -> Step {
        let n = self.velocities.len();
        let (mass, inertia) = self.mass();
        let diagonal: Vec<f64> =
            (0..n).map(|i| if i % 6 < 3 { mass } else { inertia[i % 3] }).collect();
        let fall = |i: usize| if i % 6 == 2 { -GRAVITY * self.h } else { 0.0 };
        let contacts = self.chosen();
        let mut rows = Rows::new(n);
        let (mut w, mut laws, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        for contact in &contacts {
            let (columns, values, d) = contact.rows(friction > 0.0);
            rows.push(d, &columns, &values);
            w.push((contact.gap / self.h).max(-0.6));
            w.resize(rows.len(), 0.0);
            laws.push(if friction > 0.0 {
                Law::Cone { mu: friction, rows: 3 }
            } else {
                Law::Unilateral
            });
            keys.push(contact.key);
        }
        let problem = Problem {
            name: format!(
                "{} bodies, {} contacts, mu {friction}",
                self.positions.len(),
                contacts.len()
            ),
            k: (0..n).map(|i| diagonal[i] * (self.velocities[i] + fall(i))).collect(),
            H: Csr::diagonal(&diagonal),
            J: rows,
            E: vec![0.0; w.len()],
            w,
            laws,
            names: Vec::new(),
        };
        Step { problem, keys }
    }

    /// The problem of the next step with the scene's own friction.
    pub fn next(&self) -> Step {
        self.step(self.friction)
    }

    /// Takes the step with these velocities.
    pub fn advance(&mut self, solution: &Solution) {
        self.velocities.copy_from_slice(&solution.v);
        for (position, v) in self.positions.iter_mut().zip(solution.v.chunks(6)) {
            for (x, v) in position.iter_mut().zip(v) {
                *x += self.h * v;
            }
        }
    }

    fn mass(&self) -> (f64, [f64; 3]) {
        match self.shape {
            Shape::Sphere => {
                let mass = DENSITY * 4.0 / 3.0 * std::f64::consts::PI * RADIUS.powi(3);
                (mass, [0.4 * mass * RADIUS * RADIUS; 3])
            }
            Shape::Brick(half) => {
                let mass = 8.0 * DENSITY * half[0] * half[1] * half[2];
                (
                    mass,
                    std::array::from_fn(|i| {
                        mass / 3.0 * (half[(i + 1) % 3].powi(2) + half[(i + 2) % 3].powi(2))
                    }),
                )
            }
        }
    }

    /// The contacts of the next step.
    fn chosen(&self) -> Vec<Contact> {
        let Some(count) = self.nearest else { return self.contacts(self.margin) };
        // Twice the margin until there are enough; no further than across the container.
        let mut margin = CONTACT_MARGIN;
        let mut all = self.contacts(margin);
        while all.len() < count && margin < 2.0 * CONTAINER {
            margin *= 2.0;
            all = self.contacts(margin);
        }
        let mut gaps: Vec<f64> = all.iter().map(|c| c.gap).collect();
        gaps.sort_by(f64::total_cmp);
        let largest = gaps.get(count).copied().unwrap_or(f64::INFINITY);
        all.retain(|c| c.gap < largest);
        all
    }

    fn contacts(&self, margin: f64) -> Vec<Contact> {
        let mut out = Vec::new();
        for (i, p) in self.positions.iter().enumerate() {
            if let Shape::Brick(half) = self.shape {
                for corner in 0..4 {
                    let sign = |bit: usize| if corner & bit == 0 { -1.0 } else { 1.0 };
                    let lever = [half[0] * sign(1), half[1] * sign(2), -half[2]];
                    let gap = p[2] - half[2];
                    if gap < margin {
                        out.push(Contact {
                            key: (i, None, corner),
                            gap,
                            normal: [0.0, 0.0, 1.0],
                            levers: [lever, [0.0; 3]],
                        });
                    }
                }
                continue;
            }
            let touching = |normal: [f64; 3]| normal.map(|x| -RADIUS * x);
            if p[2] - RADIUS < margin {
                let normal = [0.0, 0.0, 1.0];
                out.push(Contact {
                    key: (i, None, 0),
                    gap: p[2] - RADIUS,
                    normal,
                    levers: [touching(normal), [0.0; 3]],
                });
            }
            let axis = p[0].hypot(p[1]);
            if CONTAINER - axis - RADIUS < margin && self.positions.len() > 1 {
                let normal = [-p[0] / axis, -p[1] / axis, 0.0];
                out.push(Contact {
                    key: (i, None, 1),
                    gap: CONTAINER - axis - RADIUS,
                    normal,
                    levers: [touching(normal), [0.0; 3]],
                });
            }
            for (j, q) in self.positions.iter().enumerate().skip(i + 1) {
                let d: [f64; 3] = std::array::from_fn(|c| p[c] - q[c]);
                let square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
                if square < (2.0 * RADIUS + margin).powi(2) {
                    let length = square.sqrt();
                    let normal = d.map(|x| x / length);
                    let levers = [touching(normal), normal.map(|x| RADIUS * x)];
                    out.push(Contact {
                        key: (i, Some(j), 0),
                        gap: length - 2.0 * RADIUS,
                        normal,
                        levers,
                    });
                }
            }
        }
        out
    }
}

impl Contact {
    /// Columns, values and number of rows: normal, and two tangents with friction.
    fn rows(&self, friction: bool) -> (Vec<u32>, Vec<f64>, usize) {
        let n = self.normal;
        let least = if n[0].abs() < 0.6 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] };
        let t = cross(&n, &least);
        let size = (t[0] * t[0] + t[1] * t[1] + t[2] * t[2]).sqrt();
        let t = t.map(|x| x / size);
        let directions = [n, t, cross(&n, &t)];
        let d = if friction { 3 } else { 1 };
        let mut columns = Vec::new();
        for body in [Some(self.key.0), self.key.1].into_iter().flatten() {
            columns.extend((0..6).map(|c| (6 * body + c) as u32));
        }
        let mut values = Vec::new();
        for direction in &directions[..d] {
            for (side, _) in [Some(self.key.0), self.key.1].iter().flatten().enumerate() {
                let sign = if side == 0 { 1.0 } else { -1.0 };
                let turn = cross(&self.levers[side], direction);
                values.extend(direction.iter().chain(&turn).map(|x| sign * x));
            }
        }
        (columns, values, d)
    }
}

fn cross(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Spheres of these masses (kg, from the bottom) on vertical guides, resting on each other: v = 0
/// is the answer.
pub fn stack(masses: &[f64]) -> Problem {
    let n = masses.len();
    let mut diagonal = Vec::new();
    let mut rows = Rows::new(6 * n);
    let mut laws = Vec::new();
    for (j, &mass) in masses.iter().enumerate() {
        let radius = (mass / (DENSITY * 4.0 / 3.0 * std::f64::consts::PI)).cbrt();
        diagonal.extend([mass, mass, mass].into_iter().chain([0.4 * mass * radius * radius; 3]));
        for c in 0..2 {
            rows.push(1, &[(6 * j + c) as u32], &[1.0]);
            laws.push(Law::Equality);
        }
        let top = (6 * j + 2) as u32;
        if j == 0 {
            rows.push(1, &[top], &[1.0]);
        } else {
            rows.push(1, &[top - 6, top], &[-1.0, 1.0]);
        }
        laws.push(Law::Unilateral);
    }
    let fall = |i: usize| if i % 6 == 2 { -GRAVITY * 0.05 } else { 0.0 };
    Problem {
        name: format!("stack of {n}"),
        k: diagonal.iter().enumerate().map(|(i, m)| m * fall(i)).collect(),
        H: Csr::diagonal(&diagonal),
        E: vec![0.0; rows.len()],
        w: vec![0.0; rows.len()],
        J: rows,
        laws,
        names: Vec::new(),
    }
}
