//! The attempts, and the phases of each of them.
//!
//! ```text
//!   1  from the guess: sweeps, then rounds of A, P, A, P, bare, B while a round lowers R by a tenth     half of the usual work
//!   2  the same from the answer of the convex law
//!   3  from nothing, by the careful proximal point alone
//! ```

use super::form::{Form, Point};
use super::run::{End, Run, Space, Test};
use super::{Settings, corrected, path, polish, proximal, sweeping};
use crate::problem::Tolerance;
use crate::solve::{Counts, Phases, Sample, StoppingCriteria, add_phase, shift};

/// Factorizations if [`StoppingCriteria::work`] does not say (without the last attempt).
const DEFAULT_FACTORIZATIONS: u64 = 700;

/// Factorizations that the convex start may take, and the whole attempt from there.
const CONVEX_START_FACTORIZATIONS: u64 = 60;
const CONVEX_ATTEMPT_FACTORIZATIONS: u64 = 150;

/// Factorizations with the last attempt if [`StoppingCriteria::work`] does not say, and the most
/// rows for which it may take so many.
const LAST_ATTEMPT_FACTORIZATIONS: u64 = 6000;
const LAST_ATTEMPT_MAX_ROWS: usize = 4000;

/// What a run leaves behind.
#[derive(Default)]
pub(super) struct Outcome {
    pub end: End,
    pub counts: Counts,
    pub best: Point,
    /// The phases that were used.
    pub phases: Phases,
    /// The phase that ran last.
    pub last: &'static str,
    pub history: Vec<Sample>,
    pub late: bool,
}

impl Outcome {
    /// Nothing more is to be tried.
    fn over(&self) -> bool {
        self.end == End::Passed || self.late
    }

    /// Adds an attempt from another start, which took `taken` factorizations to find; the worse
    /// point goes back to `space`.
    fn absorb(&mut self, mut next: Outcome, taken: u64, space: &mut Space) {
        self.counts.sweeps += next.counts.sweeps;
        self.counts.factorizations += taken + next.counts.factorizations;
        self.counts.updates += next.counts.updates;
        self.counts.outer += next.counts.outer;
        self.history.extend(&next.history);
        (self.late, self.last) = (next.late, next.last);
        for (name, counts) in &next.phases {
            add_phase(&mut self.phases, name, *counts);
        }
        if next.end == End::Passed || next.best.residual < self.best.residual {
            std::mem::swap(&mut self.best, &mut next.best);
        }
        space.spare.push(next.best);
        self.end = next.end;
    }
}

type Phase = (&'static str, fn(&mut Run<'_, '_>) -> End);

/// What every attempt but the last begins with.
const SWEEPS: [Phase; 1] = [("sweeps", sweeping::run)];

/// The phases of a round in their order: the cheapest that may still help comes first.
const ROUND: [Phase; 6] = [
    ("newton", corrected::run),
    ("path", path::run),
    ("newton", corrected::run),
    ("path", path::run),
    ("bare", path::bare),
    ("proximal", proximal::run),
];

/// The slow and careful way: every proximal step by Newton's method alone. It begins without
/// sweeps, so that it takes the same way whatever the order of the contacts.
const CAREFUL: [Phase; 1] = [("careful", proximal::careful)];

/// How many factorizations may be spent, and on what: some phases once, the others in rounds.
struct Attempt<'a> {
    budget: u64,
    once: &'a [Phase],
    round: &'a [Phase],
}

/// The phases of an attempt, one after another, from the reactions `space.now.y`.
fn solve_form(
    form: &mut dyn Form,
    test: &mut Test<'_>,
    settings: &Settings,
    space: &mut Space,
    attempt: Attempt<'_>,
) -> Outcome {
    let Attempt { budget, once, round } = attempt;
    space.begin();
    let Space { now, trial, swept, full, start, mut spare, pieces, dy, near, proximal } =
        std::mem::take(space);
    let mut best = spare.pop().unwrap_or_default();
    best.y.clear();
    let mut run = Run {
        form,
        test,
        stop: &settings.stop,
        budget,
        counts: Counts::default(),
        now,
        best,
        trial,
        swept,
        full,
        start,
        pieces,
        dy,
        near,
        proximal,
        first: 0.0,
        eps: 1e-3,
        history: Vec::new(),
        began: settings.stop.now(),
        late: false,
    };
    run.form.velocities(&mut run.now);
    let (mut phases, mut last) = (Phases::new(), "guess");
    let near = run.test.excess(run.form.blocks(), &run.now) <= polish::NEAR_GUESS;
    let mut end = if run.look() { End::Passed } else { End::Stuck };
    let mut before = f64::INFINITY;
    for phase in once {
        if end == End::Stuck {
            (end, last) = (counted(&mut run, phase, &mut phases), phase.0);
        }
    }
    // Round after round, while they bring R down.
    while end == End::Stuck && run.best.residual < 0.9 * before {
        before = run.best.residual;
        for phase in round {
            if end == End::Stuck && !run.spent() {
                (end, last) = (counted(&mut run, phase, &mut phases), phase.0);
            }
        }
    }
    if end == End::Stuck && run.spent() {
        end = End::Spent;
    }
    if end == End::Passed {
        if near && last != "guess" {
            counted(&mut run, &("polish", polish::run), &mut phases);
        }
        run.best.copy_from(&run.now);
    }
    let Run {
        counts,
        now,
        best,
        trial,
        swept,
        full,
        start,
        pieces,
        dy,
        near,
        proximal,
        history,
        late,
        ..
    } = run;
    *space = Space { now, trial, swept, full, start, spare, pieces, dy, near, proximal };
    Outcome { end, counts, best, phases, last, history, late }
}

/// Runs a phase, and adds what it took to `phases`.
fn counted(run: &mut Run<'_, '_>, (name, phase): &Phase, phases: &mut Phases) -> End {
    let before = run.counts;
    let end = phase(run);
    let taken = Counts {
        sweeps: run.counts.sweeps - before.sweeps,
        factorizations: run.counts.factorizations - before.factorizations,
        outer: run.counts.outer - before.outer,
        updates: run.counts.updates - before.updates,
        pivots: 0,
    };
    add_phase(phases, name, taken);
    end
}

/// As [`solve_form`] with half of the work (of the usual work, where more is allowed; all of it
/// where half would not do for another start); if that does not do, from where `start` ends (it
/// sets the scaled reactions and returns the factorizations that it took); at last by the proximal
/// point alone.
pub(super) fn solve_again(
    form: &mut dyn Form,
    mut test: Test<'_>,
    settings: &Settings,
    space: &mut Space,
    start: impl FnOnce(&StoppingCriteria, &mut Vec<f64>) -> Option<u64>,
) -> Outcome {
    let (friction, given) = (shift::needed(&form.blocks().laws), settings.stop.work);
    let usual = given.map_or(DEFAULT_FACTORIZATIONS, |work| {
        if friction { work.min(DEFAULT_FACTORIZATIONS) } else { work }
    });
    let split = friction && usual > 2 * CONVEX_START_FACTORIZATIONS;
    let budget = if split { usual.div_ceil(2) } else { usual };
    let mut first = solve_form(
        form,
        &mut test,
        settings,
        space,
        Attempt { budget, once: &SWEEPS, round: &ROUND },
    );
    let left = usual.saturating_sub(first.counts.factorizations);
    if first.over() || left == 0 {
        return first;
    }
    let asked = settings.stop.tolerance;
    let tolerance = Tolerance {
        relative: asked.relative.min(1e-10),
        velocity: asked.velocity.min(1e-7),
        bound: None,
        velocity_relative: 0.0,
    };
    let stop = StoppingCriteria {
        tolerance,
        work: Some(left.min(CONVEX_START_FACTORIZATIONS)),
        deadline: settings.stop.deadline,
        history: false,
    };
    if let Some(taken) = start(&stop, &mut space.now.y) {
        add_phase(
            &mut first.phases,
            "convex start",
            Counts { factorizations: taken, ..Counts::default() },
        );
        let budget = left.min(CONVEX_ATTEMPT_FACTORIZATIONS).saturating_sub(taken);
        let next = solve_form(
            form,
            &mut test,
            settings,
            space,
            Attempt { budget, once: &SWEEPS, round: &ROUND },
        );
        first.absorb(next, taken, space);
    }
    let rows = form.blocks().rows();
    let budget = given
        .unwrap_or(if rows <= LAST_ATTEMPT_MAX_ROWS {
            LAST_ATTEMPT_FACTORIZATIONS
        } else {
            DEFAULT_FACTORIZATIONS
        })
        .saturating_sub(first.counts.factorizations);
    if friction && !first.over() && budget > 0 {
        space.now.y.fill(0.0);
        let next = solve_form(
            form,
            &mut test,
            settings,
            space,
            Attempt { budget, once: &[], round: &CAREFUL },
        );
        first.absorb(next, 0, space);
    }
    first
}
