//! M, gravity, and the gyroscopic impulse.
//!
//! # The gyroscopic term
//!
//! A free body keeps its angular momentum in the world. With `ρ⁺ = ρ exp(hω⁺)` this asks for
//!
//! ```text
//!   exp(hω*) I ω* = I ω            (body axes)
//! ```
//!
//! an implicit equation for ω*, solved by Newton's method; `I(ω* − ω)` is the gyroscopic impulse.
//! The momentum of a free body is then kept to rounding, and its energy oscillates without drifting
//! (the map is the discrete Euler–Lagrange equation of a free rotor (Moser1991)); H stays the
//! constant, symmetric mass matrix. Where the equation has no solution near ω (more than about a
//! radian per step), the body turns without gyroscopic term in that step: neither energy nor |Iω|
//! changes.
//!
//! Under the leapfrog scheme ω is that of the middle of the step, and the equation is
//! `exp(½hω*) I ω* = I (ω + h̄ α)`, with α the last angular acceleration of all torques: without it
//! the gyroscopic impulse of a driven body would be of first order.

use super::{Assembly, StepInput};
use crate::math::pose::exponential;
use crate::math::sparse::Csr;
use crate::scene::{BodyId, ForceKind, Layout, Scene};
use glam::{DMat3, DVec3};

/// The pattern of H: masses on the diagonal, inertias as 3 × 3, bodies that forces or rotors couple
/// as 6 × 6 blocks.
pub fn pattern(scene: &Scene, layout: &Layout) -> Csr {
    let mut coupled: Vec<Vec<u32>> = vec![Vec::new(); scene.bodies.len()];
    let forces = scene
        .forces
        .iter()
        .filter(|f| !matches!(f.kind, ForceKind::Applied(_)))
        .map(|f| f.kind.bodies().into());
    let rotors = scene.joints.iter().filter(|j| !j.armature.is_empty()).map(|j| (j.a, j.b));
    for (a, b) in forces.chain(rotors) {
        for (from, to) in [(a, a), (a, b), (b, a), (b, b)] {
            if let (Some(_), Some(start)) = (layout.velocity(from), layout.velocity(to)) {
                coupled[from.index()].push(start as u32);
            }
        }
    }
    let mut h = Csr::empty(layout.v, layout.v);
    for (i, body) in scene.bodies.iter().enumerate() {
        let (Some(mass), Some(at)) = (body.mass(), layout.velocity(BodyId(i as u32))) else {
            continue;
        };
        let starts = &mut coupled[i];
        starts.sort_unstable();
        starts.dedup();
        let diagonal = mass.inertia
            == DMat3::from_diagonal(DVec3::new(
                mass.inertia.x_axis.x,
                mass.inertia.y_axis.y,
                mass.inertia.z_axis.z,
            ));
        for row in 0..6 {
            if starts.is_empty() {
                let columns = if row < 3 || diagonal { row..row + 1 } else { 3..6 };
                h.columns.extend(columns.map(|c| (at + c) as u32));
            } else {
                h.columns.extend(starts.iter().flat_map(|&s| s..s + 6));
            }
            h.starts[at + row + 1] = h.columns.len();
        }
    }
    h.values = vec![0.0; h.columns.len()];
    h
}

/// `H ← M`, `k ← M v`, gravity and gyroscopic impulses.
pub fn assemble(out: &mut Assembly, scene: &Scene, layout: &Layout, now: &StepInput) {
    let problem = &mut out.problem;
    problem.H.values.fill(0.0);
    for (i, body) in scene.bodies.iter().enumerate() {
        let (Some(mass), Some(at)) = (body.mass(), layout.velocity(BodyId(i as u32))) else {
            continue;
        };
        let twist = &now.twists[i];
        let inertia = mass.inertia.transpose().to_cols_array_2d();
        for (row, line) in inertia.iter().enumerate() {
            add(&mut problem.H, at + row, at + row, mass.mass);
            // Zeros outside the pattern are no entries.
            for (column, &x) in line.iter().enumerate().filter(|(_, x)| **x != 0.0) {
                add(&mut problem.H, at + 3 + row, at + 3 + column, x);
            }
        }
        let momentum = mass.inertia * twist.angular;
        (mass.mass * twist.linear).write_to_slice(&mut problem.k[at..]);
        momentum.write_to_slice(&mut problem.k[at + 3..]);
        let weight = if now.orders.absent(BodyId(i as u32)) {
            DVec3::ZERO
        } else {
            mass.mass * scene.gravity
        };
        (now.kick() * weight).write_to_slice(&mut out.impulses.gravity[at..]);
        let turned = match now.lag {
            None => free_spin(&mass.inertia, twist.angular, now.h) - twist.angular,
            Some(_) => {
                now.predicted[i].angular - twist.angular - now.kick() * now.accelerations[i].angular
            }
        };
        (mass.inertia * turned).write_to_slice(&mut out.impulses.gyroscopic[at + 3..]);
    }
}

/// `H[row, column] += x`; the entry is part of the pattern.
#[inline]
pub(crate) fn add(h: &mut Csr, row: usize, column: usize, x: f64) {
    let start = h.starts[row];
    let place =
        h.row(row).0.binary_search(&(column as u32)).expect("the pattern holds every entry");
    h.values[start + place] += x;
}

/// The angular velocity ω* at the end of a free step: `exp(hω*) I ω* = I ω`.
pub fn free_spin(inertia: &DMat3, spin: DVec3, h: f64) -> DVec3 {
    let momentum = *inertia * spin;
    // About a principal axis nothing changes.
    let scale = momentum.length();
    if spin.cross(momentum).length() <= f64::EPSILON * scale * spin.length() {
        return spin;
    }
    let mut w = spin;
    for _ in 0..20 {
        let defect = exponential(-h * w) * momentum - *inertia * w;
        if defect.length() <= 4.0 * f64::EPSILON * scale {
            return w;
        }
        // d(exp(hω) I ω) = exp(hω) (I − h [Iω]× T(hω)) dω, T the right derivative of the
        // exponential map.
        let slope = *inertia - cross_matrix(*inertia * w) * right_derivative(h * w) * h;
        let step = slope.inverse() * defect;
        if !step.is_finite() {
            return spin;
        }
        w += step;
        if step.length() <= 4.0 * f64::EPSILON * w.length() {
            return w;
        }
    }
    spin
}

fn cross_matrix(x: DVec3) -> DMat3 {
    DMat3::from_cols(
        DVec3::new(0.0, x.z, -x.y),
        DVec3::new(-x.z, 0.0, x.x),
        DVec3::new(x.y, -x.x, 0.0),
    )
}

/// `T(φ) = E − (1 − cos θ)/θ² [φ]× + (θ − sin θ)/θ³ [φ]×²`, θ = ‖φ‖.
fn right_derivative(phi: DVec3) -> DMat3 {
    let square = phi.length_squared();
    let (c, s) = if square < 1e-4 {
        (0.5 - square / 24.0, 1.0 / 6.0 - square / 120.0)
    } else {
        let angle = square.sqrt();
        ((1.0 - angle.cos()) / square, (angle - angle.sin()) / (square * angle))
    };
    let k = cross_matrix(phi);
    DMat3::IDENTITY - k * c + k * k * s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_free_spin_keeps_the_momentum() {
        let inertia = DMat3::from_cols(
            DVec3::new(1.0, 0.1, 0.0),
            DVec3::new(0.1, 2.0, -0.2),
            DVec3::new(0.0, -0.2, 2.5),
        );
        for h in [1e-4, 1e-2, 0.1] {
            let spin = DVec3::new(3.0, -1.0, 2.0);
            let next = free_spin(&inertia, spin, h);
            let defect = exponential(h * next) * (inertia * next) - inertia * spin;
            // Rounding of a rotation of vectors of length 7.
            assert!(defect.length() < 1e-14, "h = {h}: {defect}");
            assert_ne!(next, spin);
        }
    }
}
