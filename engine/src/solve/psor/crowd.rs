//! Bodies that a hundred others touch: a drum, a shaker, a moving floor.
//!
//! Contacts with one body are to be swept one after the other, four of them not at a time. But if that body is much heavier than what
//! touches it, each of these contacts hardly moves it for the next ones, and four lanes in four stages ([`super::stages`]), of which none
//! sees what the other fifteen move, do no harm if each contact takes the body for sixteen times lighter than it is:
//!
//! ```text
//!   φ(r̂ + Δ) ≤ φ(r̂) + Σ_k ( û_k·Δ_k + ½ Δ_k·(W_kk of the other body + 16 W_kk of the crowded one) Δ_k ),      k of sixteen contacts
//! ```
//!
//! because `‖Σ x_k‖² ≤ 16 Σ ‖x_k‖²`: the energy falls as it does with one contact at a time, towards the same solution.

use super::colour::Colours;
use super::image::Layout;
use super::lanes::LANES;
use super::parts::{CROWD, Lists};
use super::rows::COLUMNS;
use super::stages::STAGES;
use super::system::GROUP;
use crate::problem::law::MAX_ROWS;

/// Contacts that do not see what the others move.
const TOGETHER: usize = LANES * STAGES;

/// Who is crowded, and the colours of the others.
#[derive(Default)]
pub(super) struct Crowd {
    /// Blocks of each owner.
    degree: Vec<u32>,
    colours: Colours,
}

impl Crowd {
    /// Counts the blocks of each of `count` owners.
    pub(super) fn set(&mut self, count: usize, owners: &Lists) {
        self.degree.clear();
        self.degree.resize(count, 0);
        owners.all().iter().for_each(|&o| self.degree[o as usize] += 1);
        self.colours.reset(count);
    }

    fn crowded(&self, owner: u32) -> bool {
        self.degree[owner as usize] as usize > CROWD
    }

    /// The other one of two rigid bodies of which one is crowded and much heavier.
    pub(super) fn other(&self, owners: &[u32], layout: &Layout) -> Option<u32> {
        let [a, b] = *owners else { return None };
        let (crowded, other) = match (self.crowded(a), self.crowded(b)) {
            (true, false) => (a, b),
            (false, true) => (b, a),
            _ => return None,
        };
        let heavier = layout.root(other)? / layout.root(crowded)?;
        (heavier * heavier >= TOGETHER as f64).then_some(other)
    }

    /// The colour of a block with a crowded body and this one, which only the latter decides.
    pub(super) fn place(&mut self, other: u32) -> u32 {
        self.colours.place(&[other])
    }

    /// The rows of a block as if the crowded one of its owners were lighter.
    pub(super) fn as_if_lighter(&self, owners: [Option<u32>; 2], rows: &[[f64; COLUMNS]; MAX_ROWS]) -> [[f64; COLUMNS]; MAX_ROWS] {
        let mut rows = *rows;
        for (side, owner) in owners.into_iter().enumerate() {
            if owner.is_some_and(|owner| self.crowded(owner)) {
                let root = (TOGETHER as f64).sqrt();
                rows.iter_mut().flat_map(|row| &mut row[side * GROUP..(side + 1) * GROUP]).for_each(|x| *x *= root);
            }
        }
        rows
    }
}
