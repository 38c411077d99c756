//! `--peers`: the scenes of a row in other engines, and what the row's value is there.
//!
//! Scene, time step and duration are those of our own run; the engine's value is taken from the
//! positions and velocities of its bodies. `bench/peers` says how each engine is set.

use crate::Outcome;
use crate::case::{Row, Rows};
use crate::motion::Text;
use serde::Serialize;
use signorini::prelude::*;
use signorini_record::figure::number;

/// A scene as it is run in other engines.
#[derive(Clone, PartialEq)]
pub struct Play {
    text: String,
    end: f64,
    samples: u64,
}

impl Text {
    /// The scene in other engines, up to time `end`, s; seen at its end only.
    pub fn play(&self, end: f64) -> Play {
        Play { text: self.text(), end, samples: 1 }
    }
}

impl Play {
    /// Seen this many times, evenly; more than there are steps means after each step.
    pub fn seen(self, samples: u64) -> Play {
        Play { samples, ..self }
    }
}

/// One body at one time, world frame, centre of mass.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Position, m.
    pub position: DVec3,
    /// Orientation.
    pub orientation: DQuat,
    /// Velocity, m/s.
    pub velocity: DVec3,
    /// Angular velocity, rad/s.
    pub spin: DVec3,
}

/// What an engine did with a scene: the times at which it was seen, and its free bodies.
pub struct Track {
    names: Vec<String>,
    moments: Vec<(f64, Vec<Seen>)>,
}

/// A scene at one time.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    names: &'a [String],
    /// The time, s.
    pub time: f64,
    /// The free bodies, in the order of the scene.
    pub bodies: &'a [Seen],
}

impl Track {
    /// All times at which the scene was seen.
    pub fn moments(&self) -> impl Iterator<Item = Moment<'_>> {
        let names = &self.names[..];
        self.moments.iter().map(move |(time, bodies)| Moment { names, time: *time, bodies })
    }

    /// The end.
    pub fn last(&self) -> Moment<'_> {
        self.moments().last().expect("a run has samples")
    }

    /// A body at the end.
    pub fn end(&self, name: &str) -> Seen {
        self.last().body(name)
    }
}

impl Moment<'_> {
    /// A body.
    pub fn body(&self, name: &str) -> Seen {
        let i = self.names.iter().position(|own| own == name).expect("the scene has this body");
        self.bodies[i]
    }
}

/// A row in other engines: its scenes, and its value by what they did.
#[cfg_attr(not(feature = "peers"), allow(dead_code))]
pub struct Elsewhere {
    row: usize,
    plays: Vec<Play>,
    measure: Box<dyn Fn(&[Track]) -> f64>,
}

impl Rows {
    /// The last row in other engines: its scenes, and its value by what they did.
    pub fn peers(&mut self, plays: Vec<Play>, measure: impl Fn(&[Track]) -> f64 + 'static) {
        let row = self.rows.len() - 1;
        self.elsewhere.push(Elsewhere { row, plays, measure: Box::new(measure) });
    }
}

/// A row in another engine.
#[derive(Clone, Debug, Serialize)]
pub struct Peer {
    /// The engine and its variant.
    pub engine: String,
    /// The value of the row there; none if the scene was not run.
    pub value: Option<f64>,
    /// How far it is from the reference, as the row's own error.
    pub error: Option<f64>,
    /// Why it was not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Engines that were found, and those that were not.
pub struct Engines {
    /// The Python in which they are looked for.
    pub python: String,
    /// Name and version.
    pub found: Vec<(String, String)>,
    /// Name and why it is missing.
    pub missing: Vec<(String, String)>,
}

impl Row {
    #[cfg_attr(not(feature = "peers"), allow(dead_code))]
    fn peer(&mut self, engine: &str, value: Result<f64, String>) {
        let error = |value: f64| {
            let apart = (value - self.reference).abs();
            if self.relative { apart / self.reference.abs() } else { apart }
        };
        let (found, reason) = match value {
            Ok(value) if value.is_finite() => (Some(value), None),
            Ok(_) => (None, Some("no such value".to_string())),
            Err(reason) => (None, Some(reason)),
        };
        let error = found.map(error);
        self.peers.push(Peer { engine: engine.into(), value: found, error, reason });
    }
}

impl Peer {
    /// One line.
    pub fn text(&self) -> String {
        let Peer { engine, value, error, reason } = self;
        match (value, error, reason) {
            (Some(value), Some(error), _) => {
                format!("{engine}: {}, error {error:.1e}", number(*value))
            }
            (_, _, reason) => {
                format!("{engine}: not run, {}", reason.as_deref().unwrap_or("no reason given"))
            }
        }
    }
}

impl Engines {
    /// Which engines were found.
    pub fn print(&self) {
        let found: Vec<String> =
            self.found.iter().map(|(name, version)| format!("{name} {version}")).collect();
        if found.is_empty() {
            println!("peers: none found by {}", self.python);
        } else {
            println!("peers: {}", found.join(", "));
        }
        for (name, reason) in &self.missing {
            println!("peer missing: {name}, {reason}");
        }
    }

    /// How many rows each engine has within what is allowed to us.
    pub fn summary(&self, outcomes: &[Outcome]) {
        let compared =
            || outcomes.iter().flat_map(|o| &o.rows).filter(|row: &&Row| !row.peers.is_empty());
        let (count, ours) = (compared().count(), compared().filter(|row| row.pass).count());
        println!("rows that other engines were asked for: {count}; within what is allowed:");
        println!("      signorini: {ours} of {count}");
        for (engine, _) in &self.found {
            let errors: Vec<(f64, f64)> = compared()
                .filter_map(|row| {
                    let peer = row.peers.iter().find(|peer| peer.engine == *engine)?;
                    Some((peer.error?, row.allowed))
                })
                .collect();
            let within = errors.iter().filter(|(error, allowed)| error <= allowed).count();
            println!("      {engine}: {within} of {}", errors.len());
        }
    }
}

#[cfg(not(feature = "peers"))]
impl Engines {
    /// Without the feature `peers` there are none.
    pub fn look(python: &str) -> Engines {
        let why = "built without the feature bench".to_string();
        let missing = vec![("other engines".to_string(), why)];
        Engines { python: python.into(), found: Vec::new(), missing }
    }

    /// Nothing to compare with.
    pub fn compare(&self, _rows: &mut Rows) {}
}

#[cfg(feature = "peers")]
mod run {
    use super::*;
    use signorini_bench::engines::{Missing, Run, Runs, Task, python, rapier};

    /// Engines that Python knows; `tuned` is what `bench/peers` says.
    const PYTHON: [&str; 7] =
        ["mujoco", "mujoco:tuned", "bullet", "bullet:tuned", "drake", "drake:stiff", "dart"];
    /// Rapier as shipped, and with 50 iterations.
    const RAPIER: [(&str, Option<usize>); 2] = [("rapier", None), ("rapier:tuned", Some(50))];
    /// Computing time of one run at most, s.
    const MAX_RUN_SECONDS: f64 = 30.0;

    impl Engines {
        /// Which engines are there: each steps one free body once.
        pub fn look(python: &str) -> Engines {
            let body = "[[body]]\nname = \"top\"\nmass = 1\ninertia = [1, 1, 1]";
            let text = Text::usual(1e-3).add(body);
            let asked: Vec<String> = PYTHON
                .iter()
                .chain(RAPIER.iter().map(|(name, _)| name))
                .map(|s| s.to_string())
                .collect();
            let mut engines =
                Engines { python: python.into(), found: Vec::new(), missing: Vec::new() };
            let runs = engines.run(&[text.play(1e-3)], &asked);
            for Runs { runs, missing } in runs {
                engines.found.extend(runs.into_iter().map(|r| (r.engine, r.version)));
                engines.missing.extend(missing.into_iter().map(|m| (m.engine, m.reason)));
            }
            engines
        }

        /// Adds the values of the engines to the rows of a case.
        pub fn compare(&self, rows: &mut Rows) {
            let mut plays: Vec<Play> = Vec::new();
            for play in rows.elsewhere.iter().flat_map(|e| &e.plays) {
                if !plays.contains(play) {
                    plays.push(play.clone());
                }
            }
            let asked: Vec<String> = self.found.iter().map(|(name, _)| name.clone()).collect();
            let runs = self.run(&plays, &asked);
            let names: Vec<Vec<String>> = plays.iter().map(names).collect();
            for Elsewhere { row, plays: own, measure } in std::mem::take(&mut rows.elsewhere) {
                let at = |play: &Play| plays.iter().position(|p| p == play).expect("it was kept");
                for engine in &asked {
                    let tracks: Result<Vec<Track>, String> = own
                        .iter()
                        .map(|play| track(engine, &runs[at(play)], &names[at(play)]))
                        .collect();
                    rows.rows[row].peer(engine, tracks.map(|tracks| measure(&tracks)));
                }
            }
        }

        /// What the engines do with scenes.
        fn run(&self, plays: &[Play], asked: &[String]) -> Vec<Runs> {
            let sims: Vec<Simulation> = plays
                .iter()
                .map(|p| Simulation::parse(&p.text).expect("it ran in our own engine"))
                .collect();
            let tasks: Vec<Task> = sims.iter().zip(plays).map(|(s, play)| task(s, play)).collect();
            let known: Vec<&str> =
                PYTHON.into_iter().filter(|name| asked.iter().any(|a| a == name)).collect();
            let mut all = match python::runs(&self.python, &tasks, &known) {
                Ok(all) => all,
                Err(reason) => {
                    let missing =
                        |name: &&str| Missing { engine: name.to_string(), reason: reason.clone() };
                    let none =
                        Runs { runs: Vec::new(), missing: known.iter().map(missing).collect() };
                    vec![none; tasks.len()]
                }
            };
            for (name, iterations) in RAPIER.iter().filter(|(n, _)| asked.iter().any(|a| a == n)) {
                for (task, all) in tasks.iter().zip(&mut all) {
                    let run = rapier::run(task, *iterations);
                    match run.unwrap_or(Err(rapier::WITHOUT.into())) {
                        Ok(run) => all.runs.push(run),
                        Err(reason) => {
                            all.missing.push(Missing { engine: name.to_string(), reason });
                        }
                    }
                }
            }
            all
        }
    }

    fn task<'a>(sim: &'a Simulation, play: &Play) -> Task<'a> {
        let h = sim.settings().h;
        Task {
            scene: sim.scene(),
            h,
            steps: (play.end / h - 1e-9).ceil() as u64,
            samples: play.samples,
            budget: MAX_RUN_SECONDS,
            rebound_speed: sim.settings().scheme.restitution_threshold,
        }
    }

    fn names(play: &Play) -> Vec<String> {
        let sim = Simulation::parse(&play.text).expect("it ran in our own engine");
        let free = sim.scene().bodies.iter().filter(|body| body.mass().is_some());
        free.map(|body| body.name.clone()).collect()
    }

    fn track(engine: &str, runs: &Runs, names: &[String]) -> Result<Track, String> {
        let Some(run) = runs.runs.iter().find(|run| run.engine == engine) else {
            let why = runs.missing.iter().find(|m| m.engine == engine).map(|m| m.reason.clone());
            return Err(why.unwrap_or_default());
        };
        let Run { samples, .. } = run;
        let moments = samples.iter().map(|(time, bodies)| {
            let seen = bodies.iter().map(|body| Seen {
                position: body.position.into(),
                orientation: DQuat::from_array(body.orientation),
                velocity: body.linear.into(),
                spin: body.angular.into(),
            });
            (*time, seen.collect())
        });
        Ok(Track { names: names.to_vec(), moments: moments.collect() })
    }
}
