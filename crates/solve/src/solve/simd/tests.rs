//! Lanes against plain safe code, and against the exact local solution.

use super::f64x4::{F64x4, Scalar};
use super::forms::{ROOM, Rigid, Stored};
use super::frames::{Body, Frame, Round, Storage, in_form};
use super::kernel::{Groups, Run};
use super::laws::{Cone, Coulomb, Local, coulomb_parameters};
use super::*;
use crate::math::random::Random;
use crate::problem::Law;
use glam::DVec3;

pub(crate) fn draw(x: &mut Random) -> DVec3 {
    DVec3::new(x.signed(), x.signed(), x.signed())
}

/// Three orthonormal directions.
pub(crate) fn frame(x: &mut Random) -> [DVec3; 3] {
    let n = draw(x).normalize();
    let t = n.cross(draw(x)).normalize();
    [n, t, n.cross(t)]
}

/// The projection on the cone in plain code.
fn project(x: [f64; 3], mu: f64, inverse: f64) -> [f64; 3] {
    let t = x[1].mul_add(x[1], x[2] * x[2]).sqrt();
    if t <= mu * x[0] {
        x
    } else if mu.mul_add(t, x[0]) <= 0.0 {
        [0.0, x[1] * 0.0, x[2] * 0.0]
    } else {
        let s = mu.mul_add(t, x[0]) * inverse;
        let stretch = mu * s / t;
        [s, x[1] * stretch, x[2] * stretch]
    }
}

/// `û` of one contact whose numbers are `value`, and what x moves: in plain safe code, the same
/// operations in the same order.
fn read(
    storage: Storage,
    value: &impl Fn(usize) -> f64,
    q: [f64; 3],
    bodies: [&[f64]; 2],
    [a, b]: [&[f64]; 2],
) -> [f64; 3] {
    let sum = |start: f64, terms: &[(usize, f64)]| {
        terms.iter().fold(start, |sum, &(n, x)| value(n).mul_add(x, sum))
    };
    match storage {
        Storage::Stored => [0, 1, 2].map(|i| {
            let u = sum(q[i], &(0..6).map(|j| (i * 12 + j, a[j])).collect::<Vec<_>>());
            u + sum(
                value(i * 12 + 6) * b[0],
                &(1..6).map(|j| (i * 12 + 6 + j, b[j])).collect::<Vec<_>>(),
            )
        }),
        Storage::Rigid => [0, 1, 2].map(|i| {
            let linear: [f64; 3] =
                std::array::from_fn(|j| value(10).mul_add(b[j], value(9) * a[j]));
            let at = 11 + 6 * i;
            let u =
                sum(q[i], &[(at, a[3]), (at + 1, a[4]), (at + 2, a[5]), (3 * i + 1, linear[1])]);
            u + sum(
                value(at + 3) * b[3],
                &[(at + 4, b[4]), (at + 5, b[5]), (3 * i, linear[0]), (3 * i + 2, linear[2])],
            )
        }),
        Storage::Round | Storage::Frame => {
            let v = |side: usize, z: &[f64]| {
                let (u, arm) = (bodies[side], [0, 1, 2].map(|j| value(7 + 3 * side + j)));
                let (root, omega) = match storage {
                    Storage::Round => (value(13 + side), [z[3], z[4], z[5]]),
                    _ => (
                        u[6],
                        [
                            u[0] * z[3],
                            u[3].mul_add(z[4], u[1] * z[3]),
                            u[5].mul_add(z[5], u[4].mul_add(z[4], u[2] * z[3])),
                        ],
                    ),
                };
                [(0, 1, 2), (1, 2, 0), (2, 0, 1)].map(|(j, k, l)| {
                    omega[k].mul_add(arm[l], (-omega[l]).mul_add(arm[k], root * z[j]))
                })
            };
            let (a, b, [d, e, across]) = (v(0, a), v(1, b), axes(value));
            let c: [f64; 3] = std::array::from_fn(|j| a[j] - b[j]);
            let along =
                |d: [f64; 3], start: f64| (0..3).fold(start, |sum, j| d[j].mul_add(c[j], sum));
            let third = across[2].mul_add(c[2], across[1].mul_add(c[1], across[0] * c[0]));
            [along(d, q[0]), along(e, q[1]), value(6).mul_add(third, q[2])]
        }
    }
}

/// The two directions that are stored, and what is across them.
fn axes(value: &impl Fn(usize) -> f64) -> [[f64; 3]; 3] {
    let (d, e) = ([0, 1, 2].map(value), [3, 4, 5].map(value));
    [d, e, cross(d, e)]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [(1, 2), (2, 0), (0, 1)].map(|(k, l)| (-a[l]).mul_add(b[k], a[k] * b[l]))
}

fn moves(
    storage: Storage,
    value: &impl Fn(usize) -> f64,
    (side, body): (usize, &[f64]),
    x: &[f64; 3],
) -> [f64; 6] {
    let sum = |at: [usize; 3]| {
        value(at[2]).mul_add(x[2], value(at[1]).mul_add(x[1], value(at[0]) * x[0]))
    };
    match storage {
        Storage::Stored => std::array::from_fn(|j| sum([0, 1, 2].map(|i| i * 12 + side * 6 + j))),
        Storage::Rigid => std::array::from_fn(|j| match j {
            0..3 => value(9 + side) * sum([j, 3 + j, 6 + j]),
            _ => sum([0, 1, 2].map(|i| 11 + 6 * i + 3 * side + j - 3)),
        }),
        Storage::Round | Storage::Frame => {
            let [d, e, across] = axes(value);
            let force: [f64; 3] = std::array::from_fn(|j| {
                across[j].mul_add(value(6) * x[2], e[j].mul_add(x[1], d[j] * x[0]))
            });
            let force = if side == 0 { force } else { force.map(|f| 0.0 - f) };
            let t = cross([0, 1, 2].map(|j| value(7 + 3 * side + j)), force);
            let (root, [x, y, z], u) =
                (if storage == Storage::Round { value(13 + side) } else { body[6] }, t, body);
            let turned = match storage {
                Storage::Round => t,
                _ => [
                    u[2].mul_add(z, u[1].mul_add(y, u[0] * x)),
                    u[4].mul_add(z, u[3] * y),
                    u[5] * z,
                ],
            };
            [root * force[0], root * force[1], root * force[2], turned[0], turned[1], turned[2]]
        }
    }
}

/// The twin: one contact after the other.
fn twin(f: &Groups<Cone>, q: &[f64], r: &mut [f64], z: &mut [f64]) {
    let parameters = f.size() / LANES - 3;
    for (g, places) in f.places.iter().enumerate() {
        for lane in 0..LANES {
            let value = |i: usize| f.values[g * f.size() + i * LANES + lane];
            let (a, b) = (places.side(0)[lane], places.side(1)[lane]);
            let at = |i: usize| (g * 3 + i) * LANES + lane;
            let of = |place: usize| f.bodies.get(place..place + 8).unwrap_or(&[]);
            let u = read(
                f.storage,
                &value,
                [0, 1, 2].map(|i| q[at(i)]),
                [of(a), of(b)],
                [&z[a..a + 6], &z[b..b + 6]],
            );
            let x: [f64; 3] =
                std::array::from_fn(|i| (-u[i]).mul_add(value(parameters + 2), r[at(i)]));
            let x = project(x, value(parameters), value(parameters + 1));
            let delta: [f64; 3] = std::array::from_fn(|i| x[i] - r[at(i)]);
            for (place, side) in [(a, 0), (b, 1)].into_iter().take(if a == b { 1 } else { 2 }) {
                let moves = moves(f.storage, &value, (side, of(place)), &delta);
                z[place..place + 6].iter_mut().zip(moves).for_each(|(z, x)| *z += x);
            }
            for i in 0..3 {
                r[at(i)] = x[i];
            }
        }
    }
}

/// What the rows of contacts are like.
#[derive(Clone, Copy, PartialEq)]
enum Arms {
    /// Anything, but for their linear parts.
    No,
    /// A frame and arms of round bodies, of any bodies.
    Round,
    General,
}

/// Contacts of separate pairs of bodies, the last ones with the ground or missing; and a state.
fn contacts<L: Local>(
    groups: usize,
    x: &mut Random,
    (storage, arms): (Storage, Arms),
    parameters: impl Fn(f64, &[f64]) -> Vec<f64>,
) -> (Groups<L>, Vec<f64>, Vec<f64>) {
    let dummy = (groups * 8 * 8) as u32;
    let mut f = Groups::<L>::default();
    f.store(storage);
    f.bodies(dummy as usize + ROOM);
    for g in 0..groups {
        f.open(dummy);
        for lane in 0..LANES {
            if g + 1 == groups && lane == 3 {
                continue;
            }
            let ground = g + 1 == groups;
            let mut rows: Vec<f64> =
                (0..36).map(|i| if ground && i % 12 >= 6 { 0.0 } else { x.signed() }).collect();
            // Two masses: both linear parts are one direction over the roots of them.
            let roots = [1.5 + x.signed(), if ground { 0.0 } else { 1.5 + x.signed() }];
            for i in (0..36).filter(|i| i % 12 < 3) {
                rows[i] *= roots[0];
                rows[i + 6] = -rows[i] / roots[0] * roots[1];
            }
            let (upper, sizes) =
                ([draw(x), draw(x)], [draw(x), draw(x)].map(|x| x + DVec3::splat(1.5)));
            let bodies: [Body; 2] =
                std::array::from_fn(|side| match (roots[side], sizes[side], upper[side]) {
                    (0.0, ..) => [0.0; 8],
                    (root, s, _) if arms == Arms::Round => {
                        [s.x, 0.0, 0.0, s.x, 0.0, s.x, root, 0.0]
                    }
                    (root, s, u) => [s.x, u.x, u.y, s.y, u.z, s.z, root, 0.0],
                });
            let ([a, b], [n, t, s]) = ([draw(x), draw(x)], frame(x));
            if arms != Arms::No {
                let turned = |side: usize, x: DVec3| {
                    let u = bodies[side];
                    DVec3::new(
                        u[0] * x.x + u[1] * x.y + u[2] * x.z,
                        u[3] * x.y + u[4] * x.z,
                        u[5] * x.z,
                    )
                };
                for (i, d) in [0.7 * n, t, s].into_iter().enumerate() {
                    let sides = [
                        d * roots[0],
                        turned(0, a.cross(d)),
                        -d * roots[1],
                        turned(1, -b.cross(d)),
                    ]
                    .map(|x| x.to_array());
                    rows[12 * i..12 * (i + 1)].copy_from_slice(sides.as_flattened());
                }
            }
            let mu = 0.5 + 0.4 * x.signed();
            let first = ((g * LANES + lane) * 2 * 8) as u32;
            let places = [first, if ground { dummy } else { first + 8 }];
            let numbers = match storage {
                Storage::Stored => rows.clone(),
                Storage::Rigid => Rigid::of(&rows, roots).to_vec(),
                Storage::Round => Round::of([0.7 * n, t, s], [a, b], bodies.each_ref()).to_vec(),
                Storage::Frame => Frame::of([0.7 * n, t, s], [a, b]).to_vec(),
            };
            for (place, body) in places.into_iter().zip(bodies) {
                f.bodies[place as usize..][..8].copy_from_slice(&body);
            }
            let size = f.size();
            Groups::<L>::put(
                &mut f.values()[g * size..(g + 1) * size],
                lane,
                &numbers,
                &parameters(mu, &rows),
            );
            f.place(g, lane, places);
        }
    }
    let q: Vec<f64> = (0..groups * 3 * LANES).map(|_| x.signed()).collect();
    let z: Vec<f64> =
        (0..dummy + 8).map(|i| if i % 8 < 6 && i < dummy { x.signed() } else { 0.0 }).collect();
    (f, q, z)
}

#[test]
fn lanes_and_plain_code_agree_to_the_bit() {
    // As many groups as stages and fewer, and many.
    for groups in [1, 2, 3, 4, 5, 19] {
        agree(groups);
    }
}

fn agree(groups: usize) {
    use Storage::{Frame, Rigid, Round, Stored};
    let cases = [Arms::No, Arms::Round, Arms::General].map(|arms| (Stored, arms)).into_iter();
    let cases = cases.chain([(Rigid, Arms::No), (Round, Arms::Round), (Frame, Arms::General)]);
    let found = cases.map(|case| {
        let parameters = |mu: f64, _: &[f64]| vec![mu, 1.0 / (1.0 + mu * mu), 0.1];
        let (f, q, mut z) = contacts::<Cone>(groups, &mut Random::seeded(2), case, parameters);
        let mut r = vec![0.0; q.len()];
        let (mut other_z, mut other_r, mut kept) = (z.clone(), r.clone(), r.clone());
        for _ in 0..10 {
            // SAFETY: one thread; all places are within z.
            unsafe { f.sweep(0, &q, (&mut r, &mut kept), z.as_mut_ptr()) };
            twin(&f, &q, &mut other_r, &mut other_z);
            assert!(r.iter().zip(&other_r).all(|(a, b)| a == b) && r == kept, "reactions");
            assert!(z.iter().zip(&other_z).all(|(a, b)| a == b), "velocities");
            // SAFETY: as above.
            in_form!(case.0, R => unsafe { f.sweep_by::<R, Scalar>(0..groups, &q, (&mut r,
            &mut kept), z.as_mut_ptr()) });
            twin(&f, &q, &mut other_r, &mut other_z);
            assert!(z.iter().zip(&other_z).all(|(a, b)| a == b), "the code for older processors");
        }
        assert!(r.iter().any(|r| *r > 0.0));
        z
    });
    // The same contacts in other forms: twenty sweeps of numbers of order one, rounded differently.
    let found: Vec<_> = found.collect();
    for (one, other) in found[..3].iter().zip(&found[3..]) {
        let difference = one.iter().zip(other).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(difference < 1e-12, "all forms are the same rows: {difference:e}");
    }
}

#[test]
fn lanes_that_share_a_body_write_one_after_the_other() {
    for (storage, arms) in
        [(Storage::Rigid, Arms::No), (Storage::Round, Arms::Round), (Storage::Frame, Arms::General)]
    {
        let parameters = |mu: f64, _: &[f64]| vec![mu, 1.0 / (1.0 + mu * mu), 0.001];
        let (mut f, q, mut z) =
            contacts::<Cone>(9, &mut Random::seeded(3), (storage, arms), parameters);
        // All second bodies are the one at place 8.
        for g in 0..8 {
            for lane in 0..LANES {
                f.place(g, lane, [f.places[g].side(0)[lane] as u32, 8]);
            }
        }
        z.fill(0.0);
        let mut r = vec![0.0; q.len()];
        let (mut kept, mut other_r, mut other_z) = (r.clone(), r.clone(), z.clone());
        for _ in 0..10 {
            // SAFETY: one thread; all places are within z.
            unsafe { f.sweep(0, &q, (&mut r, &mut kept), z.as_mut_ptr()) };
            // SAFETY: as above.
            in_form!(storage, R => unsafe { f.sweep_by::<R, Scalar>(0..9, &q, (&mut other_r,
            &mut kept), other_z.as_mut_ptr()) });
        }
        assert!(z.iter().zip(&other_z).all(|(a, b)| a.to_bits() == b.to_bits()), "wide and plain");
        let mut anew = vec![0.0; z.len()];
        f.spread(&Run { groups: 0..9, at: 0 }, &r, &mut anew);
        let difference = z.iter().zip(&anew).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        // Some hundred additions of numbers below one.
        assert!(
            z[8..14].iter().all(|x| *x != 0.0) && difference < 1e-13,
            "nothing is lost: {difference:e}"
        );
    }
}

#[test]
fn the_tip_of_the_cone_and_what_is_not_a_number() {
    // Straight down the axis of the polar cone (no tangential part to divide by), nothing at all,
    // and not a number.
    for (u, want) in
        [([2.0, 0.0, 0.0], [0.0; 3]), ([0.0; 3], [0.0; 3]), ([f64::NAN, 1.0, 0.0], [f64::NAN; 3])]
    {
        let parameters: Vec<f64> = [0.5, 0.8, 1.0].into_iter().flat_map(|x| [x; LANES]).collect();
        // SAFETY: three parameters of four blocks; any processor will do.
        let new = unsafe {
            let old = [Scalar::splat(0.0); 3];
            let begun = Cone::begin(parameters.as_ptr(), u.map(|u| Scalar::splat(u)), old);
            Cone::finish(parameters.as_ptr(), begun, old)
        };
        for (new, want) in new.into_iter().zip(want) {
            let mut lanes = [1.0; LANES];
            // SAFETY: room for four.
            unsafe { new.store(lanes.as_mut_ptr()) };
            assert!(
                lanes.iter().all(|x| *x == want || (want.is_nan() && x.is_nan())),
                "{u:?}: {lanes:?}"
            );
        }
    }
}

#[test]
fn coulomb_in_lanes_is_the_exact_local_solution() {
    let block = |rows: &[f64]| -> Vec<f64> {
        let entry = |i: usize, j: usize| (0..12).map(|k| rows[i * 12 + k] * rows[j * 12 + k]).sum();
        (0..9).map(|p| entry(p / 3, p % 3)).collect()
    };
    let (f, q, z) =
        contacts::<Coulomb>(25, &mut Random::seeded(4), (Storage::Stored, Arms::No), |mu, rows| {
            coulomb_parameters(mu, &block(rows)).to_vec()
        });
    let mut seen = [0; 3];
    let (mut r, mut kept, mut v) = (vec![0.0; q.len()], vec![0.0; q.len()], z);
    for _ in 0..3 {
        let (before, v_before) = (r.clone(), v.clone());
        // SAFETY: one thread; all places are within z.
        unsafe { f.sweep(0, &q, (&mut r, &mut kept), v.as_mut_ptr()) };
        let (mut other, mut other_v) = (before.clone(), v_before.clone());
        // SAFETY: as above.
        unsafe {
            f.sweep_by::<Stored, Scalar>(0..25, &q, (&mut other, &mut kept), other_v.as_mut_ptr())
        };
        assert!(r.iter().zip(&other).all(|(a, b)| a == b), "both forms agree to the bit");
        for g in 0..25 {
            for lane in 0..LANES {
                let value = |i: usize| f.values[g * f.size() + i * LANES + lane];
                let rows: Vec<f64> = (0..36).map(value).collect();
                if rows[0] == 0.0 {
                    continue;
                }
                let (w, at) = (block(&rows), |i: usize| (g * 3 + i) * LANES + lane);
                let old: Vec<f64> = (0..3).map(|i| before[at(i)]).collect();
                let free: Vec<f64> = (0..3)
                    .map(|i| {
                        let moved = |j: usize| v_before[f.places[g].side(j / 6)[lane] + j % 6];
                        let u: f64 =
                            q[at(i)] + (0..12).map(|j| rows[i * 12 + j] * moved(j)).sum::<f64>();
                        u - (0..3).map(|j| w[i * 3 + j] * old[j]).sum::<f64>()
                    })
                    .collect();
                let mut exact = [0.0; 3];
                crate::solve::local::solve_block(
                    &Law::Coulomb { mu: value(36), rows: 3 },
                    &w,
                    &free,
                    &mut exact,
                );
                for i in 0..3 {
                    // Random rows: blocks of condition up to 1e3, reactions of order one.
                    assert!(
                        (r[at(i)] - exact[i]).abs() < 1e-9 * (1.0 + exact[0]),
                        "{i}: {} {}",
                        r[at(i)],
                        exact[i]
                    );
                }
                let slack = value(36) * exact[0] - exact[1].hypot(exact[2]);
                seen[if exact[0] == 0.0 { 0 } else { 1 + usize::from(slack < 1e-9) }] += 1;
            }
        }
    }
    assert!(seen.iter().all(|s| *s > 10), "open, stuck and sliding contacts occur: {seen:?}");
}
