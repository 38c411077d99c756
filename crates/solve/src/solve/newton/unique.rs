//! Whether another v lies nearby.
//!
//! Where every block is clear of its borders, F is smooth around the answer with the derivative
//! `G = A W + B`, and the other solutions nearby lie along the x with `G x = 0`. Rows that depend
//! on others make such x, but move nothing: then `W x = 0`.
//!
//! ```text
//!   1  x ← some vector
//!   2  three times:  (G + eps A) x⁺ = eps A x          leaves of x what G nearly maps to zero
//!   3  x·W x ≪ ‖x₀‖²: nothing moves                    energy of the change of v, in joules
//! ```

use super::form::{Form, Point};
use super::piece::{Branch, Piece};
use super::{ContactStatus, Unique};
use crate::math::{dot, norm};
use crate::problem::Law;

/// A margin below this is a border.
const CONE_BORDER_WIDTH: f64 = 1e-9;
/// The weight of step 2: what G maps to less than this part counts as mapped to zero.
const NULL_SPACE_WEIGHT: f64 = 1e-7;
/// Velocity of the change relative to x, both in the root of a joule, that counts as none.
const NEGLIGIBLE_MOTION: f64 = 1e-4;

/// What is known at the answer `point`, with these branches.
pub(super) fn of(form: &mut dyn Form, contacts: &[ContactStatus], point: &Point) -> Unique {
    let true_friction = |law: &Law| matches!(law, Law::Coulomb { mu, .. } if *mu > 0.0);
    let coulomb = || form.blocks().laws.iter().zip(contacts).filter(|(law, _)| true_friction(law));
    if coulomb().next().is_none() {
        return Unique::Yes;
    }
    if coulomb().any(|(_, contact)| contact.margin < CONE_BORDER_WIDTH) {
        return Unique::Unknown;
    }
    let slips = coulomb().any(|(_, contact)| contact.branch == Branch::Slip);
    if !slips || nothing_moves(form, point) { Unique::Locally } else { Unique::Unknown }
}

/// Steps 1 to 3.
fn nothing_moves(form: &mut dyn Form, point: &Point) -> bool {
    let m = point.y.len();
    // 1. Reproducible, without a pattern.
    let mut x: Vec<f64> = (0..m).map(|i| (1.0 + 12.9898 * i as f64).sin()).collect();
    let first = norm(&x);
    let mut next = vec![0.0; m];
    // 2.
    for _ in 0..3 {
        let blocks = form.blocks();
        let mut pieces = Vec::with_capacity(blocks.len());
        for (k, law) in blocks.laws.iter().enumerate() {
            let range = blocks.range(k);
            let mut piece = Piece::of(law, &point.y[range.clone()], &point.u[range.clone()]);
            let (d, own) = (range.len(), &x[range]);
            for i in 0..d {
                piece.f[i] =
                    -NULL_SPACE_WEIGHT * (0..d).map(|j| piece.a[i * d + j] * own[j]).sum::<f64>();
            }
            pieces.push(piece);
        }
        if !form.direction(&pieces, NULL_SPACE_WEIGHT, &mut next) {
            return false;
        }
        std::mem::swap(&mut x, &mut next);
    }
    // 3. W x is what x adds to the velocities.
    let at = |form: &mut dyn Form, y: Vec<f64>| {
        let mut there = Point { u: vec![0.0; y.len()], y, v: point.v.clone(), residual: 0.0 };
        form.velocities(&mut there);
        there.u
    };
    let (moved, still) = (at(form, x.clone()), at(form, vec![0.0; m]));
    let change: Vec<f64> = moved.iter().zip(&still).map(|(a, b)| a - b).collect();
    dot(&x, &change).abs().sqrt() <= NEGLIGIBLE_MOTION * first
}
