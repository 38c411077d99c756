//! Torsional and rolling friction of contacts.
//!
//! With n the normal, t₁ and t₂ across it, r_n the normal impulse of a contact:
//!
//! ```text
//!   u_s = n · (ω_b − ω_a)                |r_s| ≤ torsion r_n         against spinning
//!   u_t = (t₁, t₂) · (ω_b − ω_a)         ‖r_t‖ ≤ rolling r_n         against rolling
//! ```
//!
//! each opposed to its velocity where it is at its bound: dry friction whose bound is a normal
//! impulse times a length. Contacts of two colliders that share one normal are one such block, and
//! its bound is that of the sum of their impulses.
//!
//! A law knows no reaction of another block, so the bound is a number: that of the solution before,
//! in the first solve that of the step before. The step is solved again until the bounds of its own
//! normal impulses are as good (`step/velocities.rs`): friction after Tresca, iterated to that of
//! Coulomb (Haslinger1983). Spinning is an [`Law::Interval`]. Rolling needs a disc of given radius
//! R, which is the law of Coulomb with mu = 1 over a normal row that feels no body,
//!
//! ```text
//!   u_n = c r_n − c R,      0 ≤ u_n ⊥ r_n ≥ 0      ⇒      r_n = R,     c = 4 t · A t
//! ```
//!
//! A the inverse inertia: for any c > 0 the same solution; with this one methods that iterate on De
//! Saxcé's shift gain a factor 4 each time. The associated law would dilate; these blocks are under
//! the true one whatever contacts are under.
//!
//! Soft bodies have no orientation at a node, and contacts that are springs no bound: neither has
//! these rows.

use super::rows::Block;
use super::{Assembly, Gradient, Source, StepInput};
use crate::geometry::{Contact, tangents};
use crate::problem::Law;
use crate::scene::{BodyId, Layout, Scene, Surface};
use glam::DVec3;

/// Normals that differ by less than this angle are one, rad: the torques then differ by its square.
const SAME_NORMAL_ANGLE: f64 = 1e-3;
/// The compliance c of the row that holds the radius, relative to the tangents' own.
const RADIUS_COMPLIANCE_RATIO: f64 = 4.0;

/// A contact that has such friction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pressed {
    /// Its place in the list of contacts.
    contact: u32,
    /// The row of its normal.
    row: u32,
    bodies: (BodyId, BodyId),
    torsion: f64,
    rolling: f64,
}

/// A block whose bound follows from normal impulses.
#[derive(Clone, Copy, Debug)]
pub struct Bounded {
    /// The block.
    pub block: u32,
    /// The bound of its angular impulse for each N s of normal impulse, m.
    length: f64,
    /// Its normal rows, a range of [`Assembly::pressing`].
    pressing: (u32, u32),
    /// Rolling: the compliance c of the row that holds the radius, 1/(kg m²). Spinning: 0.
    compliance: f64,
}

/// Notes a contact whose normal row comes next.
pub(super) fn note(
    out: &mut Assembly,
    (contact, bodies): (usize, (BodyId, BodyId)),
    surface: &Surface,
) {
    if surface.torsion > 0.0 || surface.rolling > 0.0 {
        out.pressed.push(Pressed {
            contact: contact as u32,
            row: out.problem.w.len() as u32,
            bodies,
            torsion: surface.torsion,
            rolling: surface.rolling,
        });
    }
}

/// Appends the rows of all contacts that were noted, with bounds of zero.
pub(super) fn assemble(
    out: &mut Assembly,
    scene: &Scene,
    (layout, now): (&Layout, &StepInput),
    contacts: &[Contact],
) {
    let mut pressed = std::mem::take(&mut out.pressed);
    let of = |p: &Pressed| &contacts[p.contact as usize];
    let pair = |a: &Pressed, b: &Pressed| of(a).colliders == of(b).colliders;
    for group in pressed.chunk_by_mut(pair) {
        let mut rest = group;
        while let Some(&first) = rest.first() {
            let normal = of(&first).normal;
            let same = |p: &Pressed| of(p).normal.cross(normal).length() < SAME_NORMAL_ANGLE;
            let begin = out.pressing.len() as u32;
            let mut others = 0;
            for i in 0..rest.len() {
                let p = rest[i];
                if same(&p) && of(&p).normal.dot(normal) > 0.0 {
                    out.pressing.push(p.row);
                } else {
                    rest[others] = p;
                    others += 1;
                }
            }
            rest = &mut rest[..others];
            let rows = (begin, out.pressing.len() as u32);
            push(out, scene, (layout, now), (&first, normal, rows));
        }
    }
    pressed.clear();
    out.pressed = pressed;
}

/// Appends the blocks of contacts that share one normal.
fn push(
    out: &mut Assembly,
    scene: &Scene,
    (layout, now): (&Layout, &StepInput),
    (first, normal, pressing): (&Pressed, DVec3, (u32, u32)),
) {
    let (a, b) = first.bodies;
    let (t1, t2) = tangents(normal);
    let axes = [normal, t1, t2];
    // A row of the relative spin about an axis; what a unit impulse of it changes, 1/(kg m²).
    let turn = |block: &mut Block, row: usize, axis: DVec3| -> f64 {
        let part = |(body, sign): (BodyId, f64)| {
            let angular = now.poses[body.index()].inverse_vector(axis * sign);
            let gradient = Gradient { linear: DVec3::ZERO, angular };
            block.add(row, body, &gradient, layout, now);
            gradient.coupling(&gradient, scene, body)
        };
        [(a, -1.0), (b, 1.0)].map(part).into_iter().sum()
    };
    let mut add = |block: &Block, (source, law): (Source, Law), length: f64, compliance: f64| {
        let at = out.sources.len();
        block.push(out, source, law, &[0.0; 3], compliance);
        if out.sources.len() > at {
            let block = at as u32;
            out.bounded.push(Bounded { block, length, pressing, compliance });
        }
    };
    if first.torsion > 0.0 {
        let mut block = Block::new(1);
        turn(&mut block, 0, axes[0]);
        let of = (Source::Torsion(a, b, first.contact), Law::Interval { lo: 0.0, hi: 0.0 });
        add(&block, of, first.torsion, 0.0);
    }
    if first.rolling > 0.0 {
        let mut block = Block::new(3);
        let mobility = turn(&mut block, 1, axes[1]).max(turn(&mut block, 2, axes[2]));
        let of = (Source::Rolling(a, b, first.contact), Law::Coulomb { mu: 1.0, rows: 3 });
        add(&block, of, first.rolling, RADIUS_COMPLIANCE_RATIO * mobility);
    }
}

impl Assembly {
    /// Sets the bounds of torsional and rolling friction to those of the normal impulses in `r`.
    /// True if one of them changed.
    pub fn set_bounds(&mut self, r: &[f64]) -> bool {
        let Assembly { bounded, pressing, problem, .. } = self;
        let mut changed = false;
        for bounded in &*bounded {
            let rows = &pressing[bounded.pressing.0 as usize..bounded.pressing.1 as usize];
            let normal: f64 = rows.iter().map(|&row| r[row as usize].max(0.0)).sum();
            let (most, block) = (bounded.length * normal, bounded.block as usize);
            match &mut problem.laws[block] {
                Law::Interval { lo, hi } => {
                    changed |= *hi != most;
                    (*lo, *hi) = (-most, most);
                }
                _ => {
                    let w = -bounded.compliance * most;
                    let row = problem.J.row_starts[block];
                    changed |= problem.w[row] != w;
                    problem.w[row] = w;
                }
            }
        }
        changed
    }
}
