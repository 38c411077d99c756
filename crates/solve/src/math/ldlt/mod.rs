//! `A = L D Lᵀ` of sparse symmetric matrices, in three forms of storage.
//!
//! All of them analyse a pattern once, then factor and solve any number of times; none pivots. The
//! sign of every pivot is known beforehand (`[H Jᵀ; J −C]`: + for H, − for C), and a pivot of
//! another sign is a [`BadPivot`] that names the unknown, except where the rank is the question.
//!
//! | storage | forms | for |
//! |---|---|---|
//! | fronts: dense blocks of unknowns with equal neighbours | [`Fronts`]; [`Ldlt`], faer's | thousands of bodies and contacts; given orders, Schur complements, many right-hand sides |
//! | envelope: rows from their first entry on | [`Envelope`]; [`DoubleEnvelope`], in twice the precision | chains and stacks, numbered along; masses of nineteen decades |
//! | columns: lists of entries | [`Updatable`]; [`Semidefinite`] | rows that come and go; rank |
//!
//! `cargo bench -p signorini-solve --bench factor` measures why none of the three does for the
//! others; `docs/notes/factor.md` has its figures. [`Condensed`] takes diagonal rows out
//! beforehand, whatever the form. Orders of elimination are [`super::order`]'s.

pub mod condensed;
mod envelope;
mod front;
mod fronts;
mod semidefinite;
mod supernodal;
mod updatable;

pub use condensed::Condensed;
pub use envelope::{DoubleEnvelope, Envelope};
pub use fronts::Fronts;
pub use semidefinite::{RANK_TOLERANCE, Semidefinite};
pub use supernodal::{Ldlt, Ordering};
pub use updatable::Updatable;

/// A pivot that is zero, not finite or of the wrong sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BadPivot {
    /// The unknown.
    pub unknown: usize,
    /// The pivot found there.
    pub pivot: f64,
}
