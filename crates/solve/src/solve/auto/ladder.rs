//! The methods that `auto` tries on each kind of island, in their order.

use super::Settings;
use crate::problem::Law;
use crate::solve::Method;

/// What limits a method on a rung, where [`stop.work`](crate::solve::StoppingCriteria::work) does
/// not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// Its own limit.
    Own,
    /// So many sweeps of `psor`.
    Sweeps(u64),
    /// So many factorizations of `newton` or `interior-point`.
    Factorizations(u64),
    /// [`Settings::last_factorizations`].
    LastFactorizations,
}

impl Budget {
    /// The work that a rung may take, in the unit of its method.
    pub(super) fn work(self, settings: &Settings) -> Option<u64> {
        let limit = match self {
            Budget::Own => None,
            Budget::Sweeps(most) | Budget::Factorizations(most) => Some(most),
            Budget::LastFactorizations => settings.last_factorizations,
        };
        settings.stop.work.or(limit)
    }

    /// A method that fails within this budget leaves the question whether there is a solution at
    /// all.
    pub(super) fn is_long(self) -> bool {
        !matches!(self, Budget::Sweeps(_) | Budget::Factorizations(..LONG_VISIT_FACTORIZATIONS))
    }
}

/// Factorizations of a long visit.
const LONG_VISIT_FACTORIZATIONS: u64 = 200;

/// A method and its budget.
pub type Rung = (Method, Budget);

/// The methods that are tried on each kind of island, in their order, each with its budget; the
/// table of [`super`] says the same. Budgets grow from visit to visit, those of one round cost
/// about the same: whichever method suits an island, the others before it take a small multiple of
/// its time (`signorini bench auto` shows the multiple).
pub const LADDERS: [(&str, &[Rung]); 5] = {
    use Budget::*;
    use Method::*;
    [
        (
            "joints alone",
            &[
                (Direct, Own),
                (InteriorPoint, Own),
                (Newton, Factorizations(LONG_VISIT_FACTORIZATIONS)),
                (Psor, Own),
            ],
        ),
        (
            "small, without friction",
            &[
                (Pivot, Own),
                (Newton, Factorizations(LONG_VISIT_FACTORIZATIONS)),
                (InteriorPoint, Own),
                (Psor, Own),
            ],
        ),
        (
            "coordinates of joints, with friction",
            &[
                (InteriorPoint, Factorizations(30)),
                (Newton, Factorizations(8)),
                (Psor, Sweeps(200)),
                (Newton, Factorizations(80)),
                (Psor, Sweeps(1500)),
                (Newton, Factorizations(LONG_VISIT_FACTORIZATIONS)),
                (InteriorPoint, Own),
                (Psor, Own),
                (Newton, LastFactorizations),
            ],
        ),
        (
            "small, with friction",
            &[
                (Newton, Factorizations(8)),
                (Psor, Sweeps(200)),
                (InteriorPoint, Factorizations(12)),
                (Newton, Factorizations(80)),
                (Psor, Sweeps(1500)),
                (Newton, Factorizations(LONG_VISIT_FACTORIZATIONS)),
                (InteriorPoint, Own),
                (Psor, Own),
                (Newton, LastFactorizations),
            ],
        ),
        (
            "large",
            &[
                (Psor, Sweeps(4000)),
                (Newton, Factorizations(8)),
                (Psor, Sweeps(20_000)),
                (Newton, Factorizations(60)),
                (Newton, Factorizations(LONG_VISIT_FACTORIZATIONS)),
                (InteriorPoint, Own),
                (Psor, Own),
                (Newton, LastFactorizations),
            ],
        ),
    ]
};

/// What an island is like.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Joints,
    Exact,
    Coordinates,
    Frictional,
    Large,
}

impl Kind {
    /// Its ladder.
    pub fn rungs(self) -> &'static [Rung] {
        LADDERS[self as usize].1
    }
}

/// Robots in the coordinates of their joints, with dry friction, stops and motors in each, have few
/// unknowns for their rows: the interior point factors a small dense matrix. Islands of at most so
/// many coordinates,
const MAX_COORDINATES: usize = 200;
/// and of so many rows for each. A second of a robot of 101 joints (653 rows) takes 1.3 s of the
/// processor in place of 5.6, of one with 43 joints (153 rows) 2.0 s in place of 4.5.
const ROWS_PER_COORDINATE: usize = 3;

/// Which ladder is for these laws; `coordinates` are those of joints.
pub(super) fn kind(laws: &[Law], coordinates: Option<usize>, small: usize) -> Kind {
    let rows: usize = laws.iter().map(Law::rows).sum();
    let frictional = || laws.iter().any(|l| l.friction().is_some());
    let few = |n: usize| n <= MAX_COORDINATES && rows >= ROWS_PER_COORDINATE * n;
    if laws.iter().all(|l| matches!(l, Law::Equality)) {
        Kind::Joints
    } else if coordinates.is_some_and(few) && frictional() {
        Kind::Coordinates
    } else if rows > small {
        Kind::Large
    } else if !frictional() {
        Kind::Exact
    } else {
        Kind::Frictional
    }
}

/// Whether a method pays on an island with these laws, within this budget: factorizations of large
/// islands cost more than all the sweeps that the budgets allow.
pub(super) fn affordable(method: Method, budget: Budget, laws: &[Law], factorable: usize) -> bool {
    let rows: usize = laws.iter().map(Law::rows).sum();
    let convex = || laws.iter().all(|l| !matches!(l, Law::Coulomb { .. }));
    match method {
        Method::Newton if !budget.is_long() => 2 * rows <= 3 * factorable,
        Method::Newton | Method::Pivot => rows <= factorable,
        Method::InteriorPoint => rows <= factorable || convex(),
        Method::Auto | Method::Direct | Method::Psor => true,
    }
}
