//! Figures that other people published.

mod adams;
mod anymal;
mod granular;
mod mechanisms;
mod piles;
mod simbench;

use crate::case::Case;

/// All of them.
pub fn cases() -> Vec<Case> {
    [simbench::CASES, anymal::CASES, granular::CASES, piles::CASES, mechanisms::CASES, adams::CASES]
        .concat()
}
