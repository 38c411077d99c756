//! Closed forms.

mod friction;
mod impact;
pub mod limit;
mod load;
mod rolling;
mod spin;
mod units;

use crate::case::Case;

/// All cases with a formula for their answer.
pub fn cases() -> Vec<Case> {
    let groups = [
        friction::CASES,
        limit::CASES,
        rolling::CASES,
        impact::CASES,
        load::CASES,
        spin::CASES,
        units::CASES,
    ];
    groups.concat()
}
