//! The figures of a run.

use crate::record::head::About;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value as Json, json};
use signorini_mechanics::scene::{Kind, Scene, State};
use signorini_mechanics::step::{Ledger, Stepper, Unresolved, Verdict};
use std::collections::BTreeMap;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It came to its end.
    Complete,
    /// The user stopped it.
    Interrupted,
    /// A step was refused: why.
    Refused(String),
    /// An event of this name stopped it.
    Stopped(String),
}

impl Ended {
    /// Whether nothing is missing: it came to its end, or an event ended it.
    pub fn is_whole(&self) -> bool {
        matches!(self, Ended::Complete | Ended::Stopped(_))
    }
}

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Occurrence {
    /// When, s.
    pub time: f64,
    /// After which step.
    pub step: u64,
    /// Which event.
    pub event: String,
    /// What it did.
    pub does: String,
}

/// Verdicts that a run keeps at most.
const MAX_VERDICTS: usize = 2000;
/// Events that a run keeps at most.
const MAX_OCCURRENCES: usize = 10_000;

/// The figures of a run, growing step by step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// Steps taken.
    pub steps: u64,
    /// Time reached, s.
    pub time: f64,
    /// Bodies that are not fixed.
    pub bodies: usize,
    /// Joints.
    pub joints: usize,
    /// Sum of the numbers of contacts.
    pub contacts: u64,
    /// Largest number of rows.
    pub rows: usize,
    /// Largest error of a step, J.
    #[serde(deserialize_with = "number")]
    pub worst_joule: f64,
    /// Largest error of a step relative to its energy scale.
    #[serde(deserialize_with = "number")]
    pub worst_relative: f64,
    /// The constraint to blame in the step with the largest error.
    pub worst_name: String,
    /// Largest velocity by which a constraint was wrong in a step, m/s.
    #[serde(default)]
    pub worst_velocity: f64,
    /// Sum of the velocities by which constraints were wrong in each step, m/s: what bodies may
    /// have crept by in a second.
    #[serde(default)]
    pub velocity_sum: f64,
    /// Deepest overlap, m.
    #[serde(deserialize_with = "number")]
    pub penetration: f64,
    /// The ledger of the whole run.
    pub energy: Ledger,
    /// What the ledger of a step misses, at worst, relative to its throughput.
    #[serde(deserialize_with = "number")]
    pub ledger: f64,
    /// The error of the time scheme.
    #[serde(default)]
    pub scheme: SchemeSum,
    /// Steps by solver.
    pub solvers: BTreeMap<String, u64>,
    /// Steps whose error was not accepted.
    pub not_accepted: u64,
    /// What the first of them, and the worst so far, were refused for.
    #[serde(default)]
    refusals: Refusals,
    /// The first overlap that was too deep to be accepted, in words.
    pub overlap: Option<String>,
    /// Steps with another motion that is as exact as the one taken.
    #[serde(default)]
    pub not_unique: u64,
    /// The first of them, in words.
    #[serde(default)]
    pub ambiguity: Option<String>,
    /// Steps that a deadline cut short: another run may go another way from the first of them on.
    #[serde(default)]
    pub cut_short: u64,
    /// Steps that were divided.
    pub divided: u64,
    /// Seconds of the user's time.
    pub wall: f64,
    /// Bits of the final state.
    pub hash: u64,
    /// What else is to be said at the end of the line.
    pub note: Option<String>,
    /// What happened, the first ten thousand.
    #[serde(default)]
    pub events: Vec<Occurrence>,
    /// Verdicts on recorded steps: all that are not accepted, and every so many of the others
    /// that no more than `MAX_VERDICTS` of them are held.
    verdicts: Vec<Json>,
    /// Recorded steps so far that are accepted.
    #[serde(default)]
    recorded: u64,
    /// Every so many of those have a verdict here; 0 is 1.
    #[serde(default)]
    verdict_every: u64,
    stages: Json,
    wanted: f64,
}

/// The error of the time scheme over a run: how far its steps are from the motion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SchemeSum {
    /// Sum of the errors of the steps that are known, m.
    pub metre_sum: f64,
    /// Largest error of a step, m.
    pub metre_worst: f64,
    /// Sum of the errors of the steps that are known, J.
    pub joule_sum: f64,
    /// Largest error of a step, J.
    pub joule_worst: f64,
    /// Steps whose error is not known: impacts without doubling, the first step, the Euler scheme.
    pub unknown: u64,
    /// Steps with events that doubling saw.
    pub events: u64,
    /// Steps in which the accuracy that was asked for could not be held.
    pub missed: u64,
    /// Problems solved.
    pub solves: u64,
}

impl SchemeSum {
    fn add(&mut self, verdict: &Verdict) {
        self.solves += u64::from(verdict.solves);
        let Some(error) = verdict.scheme else {
            self.unknown += 1;
            return;
        };
        self.metre_sum += error.metre;
        self.metre_worst = self.metre_worst.max(error.metre);
        self.joule_sum += error.joule;
        self.joule_worst = self.joule_worst.max(error.joule);
        self.events += u64::from(error.event);
        self.missed += u64::from(!error.held);
    }

    /// For the final line; nothing if no step knows its error.
    fn line(&self, steps: u64, time: f64) -> String {
        if self.unknown == steps {
            return String::new();
        }
        let mut line = format!(
            "  time step off by {} at most, {} in sum",
            length(self.metre_worst),
            length(self.metre_sum)
        );
        if self.unknown > 0 {
            line += &format!(" ({} steps unknown)", self.unknown);
        }
        if self.missed > 0 {
            line += &format!("  accuracy NOT held in {} of {steps} steps", self.missed);
        }
        if self.solves > steps && time > 0.0 {
            line += &format!("  {:.0} solves per s of motion", self.solves as f64 / time);
        }
        line
    }
}

impl Summary {
    /// Nothing yet.
    pub fn new(scene: &Scene, t_end: f64) -> Summary {
        Summary {
            steps: 0,
            time: 0.0,
            bodies: scene.bodies.iter().filter(|b| !matches!(b.kind, Kind::Fixed)).count(),
            joints: scene.joints.len(),
            contacts: 0,
            rows: 0,
            worst_joule: 0.0,
            worst_relative: 0.0,
            worst_name: "nothing".into(),
            worst_velocity: 0.0,
            velocity_sum: 0.0,
            penetration: 0.0,
            energy: Ledger::default(),
            ledger: 0.0,
            scheme: SchemeSum::default(),
            solvers: BTreeMap::new(),
            not_accepted: 0,
            refusals: Refusals::default(),
            overlap: None,
            not_unique: 0,
            ambiguity: None,
            cut_short: 0,
            divided: 0,
            wall: 0.0,
            hash: 0,
            note: None,
            events: Vec::new(),
            verdicts: Vec::new(),
            recorded: 0,
            verdict_every: 1,
            stages: Json::Null,
            wanted: t_end,
        }
    }

    /// Adds a step.
    pub fn add(&mut self, scene: &Scene, verdict: &Verdict) {
        self.energy =
            if self.steps == 0 { verdict.energy } else { self.energy.then(&verdict.energy) };
        self.steps += 1;
        self.time = verdict.time;
        self.contacts += verdict.contacts as u64;
        self.rows = self.rows.max(verdict.rows);
        self.penetration = self.penetration.max(verdict.penetration);
        self.worst_relative = self.worst_relative.max(verdict.error.relative());
        if verdict.error.joule > self.worst_joule {
            self.worst_joule = verdict.error.joule;
            self.worst_name = verdict.worst_name(scene);
        }
        self.worst_velocity = self.worst_velocity.max(verdict.error.velocity);
        self.velocity_sum += verdict.error.velocity;
        let throughput = verdict.energy.throughput;
        if throughput > 0.0 {
            self.ledger = self.ledger.max(verdict.energy.residual().abs() / throughput);
        }
        if verdict.rows > 0 {
            *self.solvers.entry(verdict.solver.name().into()).or_default() += 1;
        } else {
            *self.solvers.entry("free".into()).or_default() += 1;
        }
        self.scheme.add(verdict);
        if let Some(overlap) = verdict.overlap {
            let first = || format!("from t = {:.4} s: {}", verdict.time, overlap.reason(scene));
            self.overlap.get_or_insert_with(first);
        }
        if !verdict.accepted {
            self.not_accepted += 1;
            self.refusals.add(scene, verdict);
        }
        if let Some(ambiguity) = verdict.ambiguity(scene) {
            self.not_unique += 1;
            let first = || format!("from t = {:.4} s: {ambiguity}", verdict.time);
            self.ambiguity.get_or_insert_with(first);
        }
        self.cut_short += u64::from(!verdict.reproducible);
        self.divided += u64::from(verdict.substeps > 1);
    }

    /// Takes note of the events after a step; returns those that are new.
    pub fn happened(&mut self, scene: &Scene, stepper: &Stepper, state: &State) -> &[Occurrence] {
        let first = self.events.len();
        let happened = stepper.happened();
        for id in happened.events.iter().take(MAX_OCCURRENCES.saturating_sub(first)) {
            let event = &scene.events[id.index()];
            let mut does = event.said(scene);
            for template in &happened.empty {
                does += &format!(" ({} has none left)", scene.templates[template.index()].name);
            }
            self.events.push(Occurrence {
                time: state.time,
                step: state.steps,
                event: event.name.clone(),
                does,
            });
        }
        &self.events[first..]
    }

    /// Keeps a verdict for run.json. When there are too many, every second accepted one goes: a
    /// long run takes no more memory than a short one, and no step that is not accepted is lost.
    pub fn keep(&mut self, scene: &Scene, verdict: &Verdict) {
        if !verdict.accepted {
            self.verdicts.push(verdict.to_json(scene));
            return;
        }
        let every = self.verdict_every.max(1);
        if self.recorded.is_multiple_of(every) {
            self.verdicts.push(verdict.to_json(scene));
        }
        self.recorded += 1;
        if self.recorded == every * MAX_VERDICTS as u64 {
            let mut place = 0;
            self.verdicts.retain(|verdict| {
                let accepted = verdict["accepted"] == true;
                place += u64::from(accepted);
                !accepted || place % 2 == 1
            });
            self.verdict_every = 2 * every;
        }
    }

    /// Adds a step of an integrator that is no solver: its ledger since the beginning, and its
    /// error.
    pub fn add_smooth(
        &mut self,
        time: f64,
        energy: Ledger,
        (joule, name): (f64, impl FnOnce() -> String),
        method: &'static str,
    ) {
        self.energy = energy;
        self.steps += 1;
        self.time = time;
        let scale = energy.throughput().max(f64::MIN_POSITIVE);
        self.worst_relative = self.worst_relative.max(joule / scale);
        if joule > self.worst_joule {
            self.worst_joule = joule;
            self.worst_name = name();
        }
        self.ledger = self.ledger.max(energy.residual().abs() / scale);
        self.scheme.unknown += 1;
        *self.solvers.entry(method.into()).or_default() += 1;
    }

    /// Closes the run.
    pub fn finish(&mut self, state: &State, stepper: &Stepper, wall: f64) {
        self.wall = wall;
        self.hash = state.hash();
        let s = stepper.stages;
        self.stages = json!({"collide": s.collide, "assemble": s.assemble, "solve": s.solve,
        "advance": s.advance});
    }

    /// One line for a person.
    pub fn line(&self, scene: &Scene) -> String {
        let solvers: Vec<String> =
            self.solvers.iter().map(|(name, steps)| format!("{name} {steps}")).collect();
        let mut line = format!(
            "{}: t={:.2} s  {} steps  worst step {:.1e} J ({:.0e} of energy scale, {})  {}  \
                penetration max {}",
            scene.name,
            self.time,
            self.steps,
            self.worst_joule,
            self.worst_relative,
            self.worst_name,
            solvers.join(", "),
            length(self.penetration),
        );
        if self.not_accepted > 0 {
            line += &format!(
                "  {} step{} NOT accepted",
                self.not_accepted,
                if self.not_accepted == 1 { "" } else { "s" }
            );
        }
        if self.not_unique > 0 {
            line += &format!(
                "  {} step{} not unique",
                self.not_unique,
                if self.not_unique == 1 { "" } else { "s" }
            );
        }
        if self.cut_short > 0 {
            line += &format!(
                "  not reproducible: {} step{} cut short by the deadline",
                self.cut_short,
                if self.cut_short == 1 { "" } else { "s" }
            );
        }
        if self.velocity_sum > 0.0 {
            line += &format!(
                "  velocities wrong by {:.0e} m/s at most, {:.0e} in sum",
                self.worst_velocity, self.velocity_sum
            );
        }
        line += &self.scheme.line(self.steps, self.time);
        line += &format!("  {:.0} steps/s", self.rate());
        if let Some(overlap) = &self.overlap {
            line += &format!("\nnot accepted {overlap}");
        }
        if let Some(ambiguity) = &self.ambiguity {
            line += &format!("\n{ambiguity}");
        }
        let told =
            |reason: &str| self.overlap.as_deref().is_some_and(|first| first.ends_with(reason));
        for reason in self.refusals.worst.iter().filter(|reason| !told(reason)) {
            line += &format!(
                "\nnot accepted, at worst at t = {:.4} s: {reason}",
                self.refusals.worst_time
            );
        }
        match &self.note {
            Some(note) => format!("{line}\n{note}"),
            None => line,
        }
    }

    fn rate(&self) -> f64 {
        if self.wall > 0.0 { self.steps as f64 / self.wall } else { 0.0 }
    }

    /// The object of run.json: the summary, how it ended, the facts, and verdicts along the way.
    pub fn run_json(&self, scene: &Scene, about: &About<'_>, ended: &Ended, facts: Json) -> Json {
        let mut object = self.to_json();
        object["scene"] = json!(scene.name);
        object["about"] = json!(about.about);
        object["dt"] = json!(about.dt);
        object["t_end_wanted"] = json!(self.wanted);
        object["complete"] = json!(ended.is_whole());
        object["ended"] = match ended {
            Ended::Complete => json!("complete"),
            Ended::Interrupted => json!("interrupted"),
            Ended::Refused(why) => json!(why),
            Ended::Stopped(event) => json!(format!("stopped by {event}")),
        };
        object["rows_max"] = json!(self.rows);
        object["refused_steps"] = json!(self.refusals.steps);
        object["divided"] = json!(self.divided);
        object["ledger_worst"] = json!(self.ledger);
        object["seconds"] = self.stages.clone();
        object["facts"] = facts;
        object["events"] = json!(self.events);
        object["verdicts"] = json!(self.verdicts);
        object
    }

    /// The object that `--json` prints.
    pub fn to_json(&self) -> Json {
        let mut energy = json!(self.energy);
        energy["residual"] = json!(self.energy.residual());
        json!({
            "steps": self.steps,
            "t_end": self.time,
            "bodies": self.bodies,
            "joints": self.joints,
            "contacts_mean": if self.steps > 0 { self.contacts as f64 / self.steps as f64 } else { 0.0 },
            "error": {"worst_joule": self.worst_joule, "worst_relative": self.worst_relative,
            "worst_name": self.worst_name,
                      "worst_velocity": self.worst_velocity, "velocity_sum": self.velocity_sum},
            "scheme": self.scheme,
            "penetration_max": self.penetration,
            "not_accepted": self.not_accepted,
            "reasons": self.refusals.worst,
            "reproducible": self.cut_short == 0,
            "cut_short": self.cut_short,
            "not_unique": self.not_unique,
            "ambiguity": self.ambiguity,
            "overlap": self.overlap,
            "energy": energy,
            "solvers": self.solvers,
            "wall_s": self.wall,
            "steps_per_s": self.rate(),
            "hash": format!("{:016x}", self.hash),
            "note": self.note,
        })
    }
}

/// The steps that were not accepted: all of them for run.json, the worst for the final line.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Refusals {
    steps: Vec<Json>,
    worst: Vec<String>,
    worst_time: f64,
    /// How many times what is allowed the worst one found.
    #[serde(deserialize_with = "number")]
    worst_ratio: f64,
}

impl Refusals {
    fn add(&mut self, scene: &Scene, verdict: &Verdict) {
        self.steps.push(verdict.to_json(scene));
        let unmet =
            verdict.error.unmet(&verdict.tolerance).map(|unmet| unmet.found / unmet.allowed);
        let overlap = verdict.overlap.map(|overlap| overlap.excess());
        let turn = verdict.unresolved.map(|unresolved| unresolved.turn / Unresolved::LARGEST_TURN);
        // What is refused for no figure (contradicting constraints) counts as much as what just
        // fails.
        let ratio = unmet.chain(overlap).chain(turn).fold(1.0, f64::max);
        if ratio > self.worst_ratio {
            (self.worst_ratio, self.worst_time) = (ratio, verdict.time);
            self.worst = verdict.reasons(scene);
        }
    }
}

/// JSON has no infinity: it is written as null.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}

/// A length with a prefix that suits it.
fn length(x: f64) -> String {
    match x {
        x if x < 1e-6 => format!("{:.2} nm", x * 1e9),
        x if x < 1e-3 => format!("{:.2} um", x * 1e6),
        x => format!("{:.2} mm", x * 1e3),
    }
}
