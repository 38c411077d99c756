//! The methods that `auto` tries on each kind of island, in their order.

use super::Settings;
use crate::problem::Law;
use crate::solve::{DynSolver, Method, StoppingCriteria};

/// What limits a method on a rung, where [`StoppingCriteria::work`] does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// Its own limit.
    Own,
    /// [`Settings::sweeps`].
    FirstSweeps,
    /// [`Settings::factorizations`].
    Factorizations,
    /// [`Settings::last_factorizations`].
    LastFactorizations,
}

/// The methods that are tried on each kind of island, in their order, each with its budget; the
/// table of [`super`] says the same.
pub const LADDERS: [(&str, &[(Method, Budget)]); 4] = {
    use Budget::*;
    use Method::*;
    [
        (
            "joints alone",
            &[(Direct, Own), (Newton, Factorizations), (InteriorPoint, Own), (Psor, Own)],
        ),
        (
            "small, without friction",
            &[(Pivot, Own), (Newton, Factorizations), (InteriorPoint, Own), (Psor, Own)],
        ),
        (
            "small, with friction",
            &[
                (Newton, Factorizations),
                (InteriorPoint, Own),
                (Psor, Own),
                (Newton, LastFactorizations),
            ],
        ),
        (
            "large",
            &[
                (Psor, FirstSweeps),
                (Newton, Factorizations),
                (InteriorPoint, Own),
                (Psor, Own),
                (Newton, LastFactorizations),
            ],
        ),
    ]
};

/// One rung of the ladder.
pub(super) struct Rung {
    pub method: Method,
    pub solver: Box<dyn DynSolver>,
}

/// What an island is like.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Joints,
    Exact,
    Frictional,
    Large,
}

/// Which ladder is for these laws.
pub(super) fn kind(laws: &[Law], small: usize) -> Kind {
    let rows: usize = laws.iter().map(Law::rows).sum();
    if laws.iter().all(|l| matches!(l, Law::Equality)) {
        Kind::Joints
    } else if rows > small {
        Kind::Large
    } else if laws.iter().all(|l| l.friction().is_none()) {
        Kind::Exact
    } else {
        Kind::Frictional
    }
}

/// Whether a method pays on an island with these laws.
pub(super) fn affordable(method: Method, laws: &[Law], factorable: usize) -> bool {
    let rows: usize = laws.iter().map(Law::rows).sum();
    let convex = || laws.iter().all(|l| !matches!(l, Law::Coulomb { .. }));
    match method {
        Method::Newton | Method::Pivot => rows <= factorable,
        Method::InteriorPoint => rows <= factorable || convex(),
        Method::Auto | Method::Direct | Method::Psor => true,
    }
}

/// The methods of a ladder, each with its budget.
pub(super) fn ladder(rungs: &[(Method, Budget)], settings: &Settings) -> Vec<Rung> {
    let stop = settings.stop;
    let limited = |work: u64| StoppingCriteria { work: Some(stop.work.unwrap_or(work)), ..stop };
    let rung = |&(method, budget): &(Method, Budget)| {
        let stop = match budget {
            Budget::Own => stop,
            Budget::FirstSweeps => limited(settings.sweeps),
            Budget::Factorizations => limited(settings.factorizations),
            Budget::LastFactorizations => {
                StoppingCriteria { work: stop.work.or(settings.last_factorizations), ..stop }
            }
        };
        Rung { method, solver: method.build(stop) }
    };
    rungs.iter().map(rung).collect()
}
