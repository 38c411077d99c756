//! A packing of any size: spheres on a jittered grid, each touching its neighbours and the lowest
//! the ground.

use signorini::math::random::Random;
use signorini::math::sparse::Csr;
use signorini::problem::{Law, Problem, RigidBody, RigidContact, Rows};

/// One step of a packing with about `contacts` frictional contacts under gravity (cone law, mu =
/// 0.5).
///
/// Spheres of 0.1 m and 1 kg on a cubic grid, moved by up to a tenth of their radius; every pair of
/// grid neighbours is a contact, and so is every sphere of the lowest layer with the ground.
pub fn packing(contacts: usize, seed: u64) -> Problem {
    let side = ((contacts as f64 / 3.0).cbrt().round() as usize).max(2);
    let layers = ((contacts as f64 / (3.0 * (side * side) as f64)).round() as usize).max(1);
    let (radius, mass, step) = (0.1, 1.0, 1e-3);
    let mut random = Random::new(seed);
    let bodies = side * side * layers;
    let centre: Vec<[f64; 3]> = (0..bodies)
        .map(|b| {
            let grid = [b % side, b / side % side, b / (side * side)];
            grid.map(|g| 2.0 * radius * g as f64 + 0.1 * radius * random.signed())
        })
        .collect();
    let inertia = 0.4 * mass * radius * radius;
    let diagonal: Vec<f64> =
        (0..6 * bodies).map(|i| if i % 6 < 3 { mass } else { inertia }).collect();
    let mut k = vec![0.0; 6 * bodies];
    for b in 0..bodies {
        k[6 * b + 2] = -mass * 9.81 * step;
        for j in 0..3 {
            k[6 * b + j] += 0.05 * mass * random.signed();
        }
    }
    let mut problem = Problem {
        name: format!("packing {contacts}"),
        H: Csr::diagonal(&diagonal),
        k,
        J: Rows::new(6 * bodies),
        ..Problem::default()
    };
    // Velocities and angular velocities are in the axes of the world.
    let body = |b: usize| RigidBody { column: 6 * b as u32, attitude: [0.0, 0.0, 0.0, 1.0] };
    problem.J.rigid.bodies = (0..bodies).map(body).collect();
    for b in 0..bodies {
        let grid = [b % side, b / side % side, b / (side * side)];
        if grid[2] == 0 {
            touch(&mut problem, None, b, [0.0, 0.0, 1.0], radius);
        }
        for (axis, &stride) in [1, side, side * side].iter().enumerate() {
            if grid[axis] + 1 < [side, side, layers][axis] {
                let d: [f64; 3] = std::array::from_fn(|i| centre[b + stride][i] - centre[b][i]);
                touch(&mut problem, Some(b), b + stride, d, radius);
            }
        }
    }
    problem.w = vec![0.0; problem.J.len()];
    problem.E = vec![0.0; problem.J.len()];
    problem
}

/// A contact of sphere `b` with sphere `a` or the ground; the normal points to b along `d`.
fn touch(problem: &mut Problem, a: Option<usize>, b: usize, d: [f64; 3], radius: f64) {
    let length = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
    let n = d.map(|x| x / length);
    let least = (0..3).min_by(|&i, &j| n[i].abs().total_cmp(&n[j].abs())).unwrap_or(0);
    let mut axis = [0.0; 3];
    axis[least] = 1.0;
    let t = cross(n, axis);
    let size = (t[0] * t[0] + t[1] * t[1] + t[2] * t[2]).sqrt();
    let t1 = t.map(|x| x / size);
    let frame = [n, t1, cross(n, t1)];
    let bodies = [a.map(|a| a as u32), Some(b as u32)];
    let arms = [n.map(|x| radius * x), n.map(|x| -radius * x)];
    problem.J.push_contact(RigidContact { block: 0, bodies, frame, arms });
    problem.laws.push(Law::Cone { mu: 0.5, rows: 3 });
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
