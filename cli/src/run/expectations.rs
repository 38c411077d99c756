//! Looks at a run when its facts are due.

use super::Ended;
use super::summary::Summary;
use crate::scenefile::Loaded;
use crate::scenefile::expect::{Check, Quantity};
use serde_json::{Value as Json, json};
use signorini::scene::{Scene, State};
use signorini::step::Stepper;

/// A fact and what was found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The fact.
    pub check: Check,
    /// What was found; none if the run ended before, or the fact lies beyond its end.
    pub found: Option<f64>,
    /// True if the end of the run was moved before the fact: it says nothing then.
    pub beyond: bool,
}

impl Outcome {
    /// Whether the fact does not speak against the run.
    pub fn passed(&self) -> bool {
        self.beyond || self.found.is_some_and(|value| self.check.holds(value))
    }

    /// One line for a person.
    pub fn line(&self) -> String {
        let (Check { name, about, .. }, when) = (&self.check, self.check.when());
        let why = if about.is_empty() { String::new() } else { format!("  ({about})") };
        match self.found {
            Some(value) => {
                let verdict = if self.check.holds(value) { "holds" } else { "FAILS" };
                format!(
                    "{verdict}  {name} = {value:.9} {when}, wanted {}{why}",
                    self.check.wanted()
                )
            }
            None if self.beyond => format!("open   {name} {when} lies beyond the end{why}"),
            None => format!("FAILS  {name} {when} was not reached{why}"),
        }
    }

    /// For machines.
    pub fn to_json(&self) -> Json {
        let finite = |x: f64| x.is_finite().then_some(x);
        let Check { name, time, about, unit, lo, hi, .. } = &self.check;
        json!({"name": name, "time": time, "about": about, "unit": unit, "found": self.found,
        "at_least": finite(*lo), "at_most": finite(*hi), "holds": self.passed()})
    }
}

/// Waits for the times of the facts.
pub struct Expectations<'a> {
    scene: &'a Scene,
    /// The step after which each fact is due (of a stretch of time: the first and the last one).
    outcomes: Vec<(u64, u64, Outcome)>,
    steps: u64,
    last: u64,
}

impl<'a> Expectations<'a> {
    /// The facts of a scene, each at the step nearest to its time.
    pub fn new(loaded: &'a Loaded, dt: f64, steps: u64) -> Expectations<'a> {
        let step = |time: f64| ((time / dt).round() as u64).max(1);
        let due =
            |check: &Check| (step(check.during.map_or(check.time, |d| d.0)), step(check.time));
        let outcomes = loaded.checks.iter().map(|check| {
            let (first, last) = due(check);
            (first, last, Outcome { check: check.clone(), found: None, beyond: false })
        });
        let outcomes = outcomes.collect();
        Expectations { scene: &loaded.scene, outcomes, steps, last: 0 }
    }

    /// Looks after step `k`.
    pub fn check(&mut self, k: u64, stepper: &Stepper, state: &State, summary: &Summary) {
        self.last = k;
        for i in 0..self.outcomes.len() {
            if (self.outcomes[i].0..=self.outcomes[i].1).contains(&k) {
                let value = self.value(&self.outcomes[i].2.check.quantity, stepper, state, summary);
                let outcome = &mut self.outcomes[i].2;
                outcome.found = Some(outcome.check.take(outcome.found, value));
            }
        }
    }

    /// An event ended the run after step `k`: what was due at the end is due now.
    pub fn stop(&mut self, k: u64, stepper: &Stepper, state: &State, summary: &Summary) {
        for i in 0..self.outcomes.len() {
            let (first, last, outcome) = &self.outcomes[i];
            if *last < self.steps || *last <= k {
                continue;
            }
            let (instant, early) = (outcome.check.during.is_none(), *first <= k);
            if instant || !early {
                let value = self.value(&self.outcomes[i].2.check.quantity, stepper, state, summary);
                let outcome = &mut self.outcomes[i].2;
                outcome.found = Some(outcome.check.take(outcome.found, value));
            }
            self.outcomes[i].1 = k;
        }
        self.steps = k;
    }

    /// What has been found so far, fact by fact.
    pub fn found(&self) -> Vec<Option<f64>> {
        self.outcomes.iter().map(|(.., outcome)| outcome.found).collect()
    }

    /// Takes up what was found before an interruption.
    pub fn restore(&mut self, found: &[Option<f64>]) {
        self.outcomes
            .iter_mut()
            .zip(found)
            .for_each(|((.., outcome), found)| outcome.found = *found);
    }

    /// All facts, when the run is over.
    pub fn finish(self, ended: &Ended) -> Vec<Outcome> {
        let (steps, last) = (self.steps, self.last);
        let close = |(_, due, mut outcome): (u64, u64, Outcome)| {
            // A stretch of time that was not seen to its end says nothing yet.
            let seen = due <= steps && (ended.is_whole() || due <= last);
            outcome.found = outcome.found.filter(|_| seen || outcome.check.during.is_none());
            outcome.beyond =
                outcome.found.is_none() && (due > steps || *ended == Ended::Interrupted);
            outcome
        };
        self.outcomes.into_iter().map(close).collect()
    }

    fn value(
        &self,
        quantity: &Quantity,
        stepper: &Stepper,
        state: &State,
        summary: &Summary,
    ) -> f64 {
        match quantity {
            Quantity::Measured(formula) => {
                formula.value(&mut |q| stepper.measure(self.scene, state, q))
            }
            Quantity::Kinetic => summary.energy.kinetic,
            Quantity::EnergyChange => {
                summary.energy.kinetic - summary.energy.kinetic_before
                    + summary.energy.potential_change
            }
            Quantity::Penetration => summary.penetration,
            Quantity::Error => summary.worst_relative,
            Quantity::Ledger => summary.ledger,
            Quantity::Contacts => stepper.contacts().len() as f64,
        }
    }
}
