//! Figures that other people published.

mod adams;
mod granular;
mod mechanisms;
mod simbench;

use crate::case::Case;

/// All of them.
pub fn cases() -> Vec<Case> {
    [simbench::CASES, granular::CASES, mechanisms::CASES, adams::CASES].concat()
}
