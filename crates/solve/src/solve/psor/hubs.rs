//! Bodies that a hundred others touch: a drum, a shaker, a moving floor.
//!
//! Contacts with one body are to be swept one after the other, not four of them at a time. But if
//! that body is much heavier than what touches it, each of these contacts hardly moves it for the
//! next ones. Then they are swept in lanes and stages like all others, and each takes the body for
//! lighter than it is. With `x_k` what contact k moves it by (in whitened coordinates), and `X_i`
//! the sum of the lanes of group i, which sees nothing of itself and of the two groups before it
//! ([`super::stages`]), the sweep changes the energy by
//!
//! ```text
//!   Σ_k ( û_k·Δ_k + ½ Δ_k·W_other Δ_k )  +  ½ Σ_i ‖X_i‖² + Σ_i X_i·(X_{i−1} + X_{i−2})        and
//!   ½ Σ ‖X_i‖² + Σ X_i·(X_{i−1} + X_{i−2})  ≤  ½ · 5 Σ ‖X_i‖²  ≤  ½ · 5 · 4 Σ ‖x_k‖²  =  ½ · 20 Σ Δ_k·W_hub Δ_k
//! ```
//!
//! so that with `W_other + 20 W_hub` for the block of a contact it falls as it does with one
//! contact at a time, towards the same solution.

use super::colour::Colours;
use super::rows::COLUMNS;
use super::simd::LANES;
use super::stages::STAGES;
use super::system::GROUP;
use super::whitening::Layout;
use crate::math::lists::Lists;
use crate::problem::law::MAX_ROWS;

/// An owner with more blocks than this joins everything to everything.
const MAX_BLOCKS_OF_ORDINARY_BODY: u32 = 100;

/// How many times lighter than it is a contact takes a hub body: lanes of a group, times the groups
/// of a window to both sides.
const HUB_MASS_REDUCTION: f64 = (LANES * (2 * (STAGES - 2) + 1)) as f64;

/// Who is a hub, and the colours of the others.
#[derive(Default)]
pub(super) struct HubBodies {
    /// Blocks of each owner.
    degree: Vec<u32>,
    colours: Colours,
}

impl HubBodies {
    /// Counts the blocks of each of `count` owners.
    pub(super) fn set(&mut self, count: usize, owners: &Lists) {
        self.degree.clear();
        self.degree.resize(count, 0);
        owners.all().iter().for_each(|&o| self.degree[o as usize] += 1);
        self.colours.reset(count);
    }

    pub(super) fn is_hub(&self, owner: u32) -> bool {
        self.degree[owner as usize] > MAX_BLOCKS_OF_ORDINARY_BODY
    }

    /// Number of owners.
    pub(super) fn owners(&self) -> usize {
        self.degree.len()
    }

    /// The other one of two rigid bodies of which one is a hub and much heavier.
    pub(super) fn other(&self, owners: &[u32], layout: &Layout) -> Option<u32> {
        let [a, b] = *owners else { return None };
        let (hub, other) = match (self.is_hub(a), self.is_hub(b)) {
            (true, false) => (a, b),
            (false, true) => (b, a),
            _ => return None,
        };
        let heavier = layout.root(other)? / layout.root(hub)?;
        (heavier * heavier >= HUB_MASS_REDUCTION).then_some(other)
    }

    /// The colour of a block with a hub body and this one, which only the latter decides.
    pub(super) fn place(&mut self, other: u32) -> u32 {
        self.colours.place(&[other])
    }

    /// The rows of a block as if the hub one of its owners were lighter.
    pub(super) fn as_if_lighter(
        &self,
        owners: [Option<u32>; 2],
        rows: &[[f64; COLUMNS]; MAX_ROWS],
    ) -> [[f64; COLUMNS]; MAX_ROWS] {
        let mut rows = *rows;
        for (side, owner) in owners.into_iter().enumerate() {
            if owner.is_some_and(|owner| self.is_hub(owner)) {
                let root = HUB_MASS_REDUCTION.sqrt();
                rows.iter_mut()
                    .flat_map(|row| &mut row[side * GROUP..(side + 1) * GROUP])
                    .for_each(|x| *x *= root);
            }
        }
        rows
    }
}
