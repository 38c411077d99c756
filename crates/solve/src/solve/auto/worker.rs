//! Islands on several threads.
//!
//! Workers take the next island of a common list until none is left, and keep answers and reports
//! to themselves: nothing that they write is shared.

use super::Settings;
use super::island::Space;
use super::posed::{Whole, momentum};
use crate::problem::islands::{CutSpace, Island, Islands};
use crate::problem::{PreparedProblem, Problem, Solution};
use crate::solve::{Method, Report, Unsupported};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The problem that workers share, and the list of its islands.
pub(super) struct Shared<'a> {
    settings: &'a Settings,
    problem: &'a Problem,
    islands: &'a Islands,
    guess: &'a Solution,
    order: &'a [u32],
    next: AtomicUsize,
}

impl<'a> Shared<'a> {
    pub fn new(
        settings: &'a Settings,
        problem: &'a Problem,
        islands: &'a Islands,
        guess: &'a Solution,
        order: &'a [u32],
    ) -> Shared<'a> {
        Shared { settings, problem, islands, guess, order, next: AtomicUsize::new(0) }
    }
}

/// The report on an island, if it has rows, and the method that had the last word.
type Said = Result<Option<(Report, Option<Method>)>, Unsupported>;

/// An island that is solved.
struct Entry {
    island: u32,
    said: Option<Said>,
    /// Where its answer begins.
    v: usize,
    r: usize,
}

/// What a worker found of one island.
pub(super) struct Done<'a> {
    said: Said,
    v: &'a [f64],
    r: &'a [f64],
}

impl Done<'_> {
    /// Writes the answer into that of the whole.
    pub fn scatter(self, part: Island<'_>, whole: &Problem, solution: &mut Solution) -> Said {
        if self.said.is_ok() {
            part.scatter(whole, (self.v, self.r), solution);
        }
        self.said
    }
}

/// The work space of one thread.
pub(super) struct Worker {
    pub space: Space,
    prepared: PreparedProblem,
    cut: Problem,
    cutting: CutSpace,
    local: Solution,
    /// What it solved, in its order, and the answers one after the other.
    entries: Vec<Entry>,
    /// How many entries were taken.
    v: Vec<f64>,
    r: Vec<f64>,
}

impl Worker {
    pub fn new(settings: &Settings) -> Worker {
        Worker {
            space: Space::new(settings),
            prepared: PreparedProblem::default(),
            cut: Problem::default(),
            cutting: CutSpace::default(),
            local: Solution::default(),
            entries: Vec::new(),
            v: Vec::new(),
            r: Vec::new(),
        }
    }

    /// Solves a problem that is one island.
    pub fn whole(
        &mut self,
        settings: &Settings,
        problem: &Problem,
        solution: &mut Solution,
    ) -> Result<(Report, Option<Method>), Unsupported> {
        self.prepare(problem, solution)?;
        let mut posed = Whole { problem, prepared: &mut self.prepared };
        Ok(self.space.solve(settings, &mut posed, solution))
    }

    /// Prepares `problem` and projects the guess onto its laws.
    fn prepare(&mut self, problem: &Problem, solution: &mut Solution) -> Result<(), Unsupported> {
        self.prepared
            .prepare(problem)
            .map_err(|e| Unsupported { method: "auto", what: e.to_string() })?;
        momentum(&mut self.prepared, problem, solution);
        Ok(())
    }

    /// Takes islands until none is left.
    fn run(&mut self, shared: &Shared<'_>) {
        self.entries.clear();
        self.v.clear();
        self.r.clear();
        while let Some(&i) = shared.order.get(shared.next.fetch_add(1, Ordering::Relaxed)) {
            let island = shared.islands.get(i as usize);
            shared.islands.cut_with(i as usize, shared.problem, &mut self.cut, &mut self.cutting);
            island.gather(shared.problem, shared.guess, &mut self.local);
            let said = self.island(shared.settings, !island.blocks.is_empty());
            let (v, r) = (self.v.len(), self.r.len());
            self.v.extend_from_slice(&self.local.v);
            self.r.extend_from_slice(&self.local.r);
            self.entries.push(Entry { island: i, said: Some(said), v, r });
        }
        self.entries.sort_unstable_by_key(|entry| entry.island);
    }

    /// Solves the island that is cut; where there are no rows v = H⁻¹ k is final.
    fn island(&mut self, settings: &Settings, rows: bool) -> Said {
        let (cut, mut local) = (std::mem::take(&mut self.cut), std::mem::take(&mut self.local));
        let ready = self.prepare(&cut, &mut local);
        let said = ready.map(|()| {
            let mut posed = Whole { problem: &cut, prepared: &mut self.prepared };
            rows.then(|| self.space.solve(settings, &mut posed, &mut local))
        });
        (self.cut, self.local) = (cut, local);
        said
    }

    /// What it found of island `i`, if it was the one to solve it.
    pub fn take(&mut self, i: usize) -> Option<Done<'_>> {
        let at = self.entries.binary_search_by_key(&(i as u32), |entry| entry.island).ok()?;
        let said = self.entries[at].said.take()?;
        let Entry { v, r, .. } = self.entries[at];
        Some(Done { said, v: &self.v[v..], r: &self.r[r..] })
    }
}

/// All workers, each on a thread of its own where there is one.
pub(super) fn run_all(workers: &mut [Worker], shared: &Shared<'_>) {
    match workers {
        [] => {}
        [worker] => worker.run(shared),
        _ => {
            let (first, second) = workers.split_at_mut(workers.len() / 2);
            rayon::join(|| run_all(first, shared), || run_all(second, shared));
        }
    }
}
