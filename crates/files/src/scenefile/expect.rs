//! `[[expect]]`: facts that a run checks.

use super::build::{Built, Index, flatten};
use super::format::{Bound, Expect, File, Over, When};
use super::live::Live;
use super::read::Reader;
use super::unit::Dimension;
use super::value::{Kind, Name, Pure};
use crate::spelling::suggestion;
use signorini_mechanics::scene::{self, Axis, BodyId, Coordinate, Formula, JointId, Scene};
use signorini_solve::math::pose::Pose;
use std::collections::HashMap;

/// What is looked at.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantity {
    /// Something measured.
    Measured(Formula),
    /// Kinetic energy of all.
    Kinetic,
    /// Change of kinetic and potential energy.
    EnergyChange,
    /// Deepest overlap so far.
    Penetration,
    /// Worst relative error so far.
    Error,
    /// Worst relative residual of the ledger so far.
    Ledger,
    /// Number of contacts.
    Contacts,
}

/// A fact to be checked.
#[derive(Clone, Debug)]
pub struct Check {
    /// When, s; of a stretch of time its end.
    pub time: f64,
    /// When the stretch begins, s, and what is made of it; none for a single instant.
    pub during: Option<(f64, Over)>,
    /// What is looked at.
    pub quantity: Quantity,
    /// In words: `ball.z`.
    pub name: String,
    /// Why, in the words of the file.
    pub about: String,
    /// Its SI unit.
    pub unit: String,
    /// Least value.
    pub lo: f64,
    /// Greatest value.
    pub hi: f64,
    /// The value itself, if the fact names one.
    pub is: Option<f64>,
}

impl Check {
    /// Whether a value is one that the fact names. NaN is not.
    fn within(&self, value: f64) -> bool {
        value >= self.lo && value <= self.hi
    }

    /// Whether the fact holds with this value; of a stretch of time, with the one that
    /// [`Check::take`] kept.
    pub fn holds(&self, value: f64) -> bool {
        match self.during {
            Some((_, Over::Never)) => !self.within(value) && !value.is_nan(),
            _ => self.within(value),
        }
    }

    /// Takes in the value after another step of a stretch of time, and returns the one that decides
    /// so far.
    pub fn take(&self, kept: Option<f64>, value: f64) -> f64 {
        let Some(kept) = kept.filter(|k| !k.is_nan()) else { return kept.unwrap_or(value) };
        if value.is_nan() {
            return value;
        }
        // How far a value is outside; negative inside.
        let outside = |x: f64| (self.lo - x).max(x - self.hi);
        let better = match self.during {
            Some((_, Over::Min)) => value < kept,
            Some((_, Over::Max)) => value > kept,
            Some((_, Over::Never)) => outside(value) < outside(kept),
            _ => outside(value) > outside(kept),
        };
        if better { value } else { kept }
    }

    /// When, in words.
    pub fn when(&self) -> String {
        match self.during {
            None => format!("at t = {} s", self.time),
            Some((from, over)) => {
                let word = match over {
                    Over::Always => "always",
                    Over::Never => "never",
                    Over::Min => "the least",
                    Over::Max => "the greatest",
                };
                format!("{word} from t = {from} s to {} s", self.time)
            }
        }
    }

    /// What was wanted, in words.
    pub fn wanted(&self) -> String {
        let unit =
            if self.unit == "a pure number" { String::new() } else { format!(" {}", self.unit) };
        match self.is {
            Some(is) => format!("{is:.6}{unit} within {:.1e}", self.hi - is),
            None if self.lo == f64::NEG_INFINITY => format!("at most {:.3e}{unit}", self.hi),
            None if self.hi == f64::INFINITY => format!("at least {:.3e}{unit}", self.lo),
            None => format!("{:.3e} to {:.3e}{unit}", self.lo, self.hi),
        }
    }
}

/// All facts of a file.
pub fn checks(reader: &mut Reader<'_>, file: &File, built: &Built, t_end: f64) -> Vec<Check> {
    let (scene, dimensions) = (&built.scene, &built.dimensions);
    let mut blocks = Vec::new();
    flatten(Pose::IDENTITY, &file.1, &mut blocks);
    let bodies = Index::default();
    let mut list = Collector { reader, scene, dimensions, bodies, t_end, checks: Vec::new() };
    for (_, block) in blocks {
        block.expect.iter().for_each(|expect| list.expect(expect));
    }
    list.checks
}

fn measured(quantity: scene::Quantity) -> Quantity {
    Quantity::Measured(quantity.into())
}

struct Collector<'r, 'a, 's> {
    reader: &'r mut Reader<'a>,
    scene: &'s Scene,
    dimensions: &'s HashMap<String, Dimension>,
    /// Bodies by name.
    bodies: Index,
    t_end: f64,
    checks: Vec<Check>,
}

impl Collector<'_, '_, '_> {
    fn expect(&mut self, expect: &Expect) {
        let fact = &expect.fact;
        let before = self.checks.len();
        let body = fact.body.as_ref().and_then(|name| self.body(name));
        let joint = fact.joint.as_ref().and_then(|name| self.joint(name));
        if (fact.body.is_some() && body.is_none()) || (fact.joint.is_some() && joint.is_none()) {
            return;
        }
        use scene::Quantity as Q;
        let on = |f: &dyn Fn(BodyId) -> Q| body.map(f).map(measured);
        let of = |which: Coordinate| joint.map(|j| measured(Q::Value(j, which)));
        self.add(expect, "x", &fact.x, on(&|b| Q::Position(b, Axis::X)));
        self.add(expect, "y", &fact.y, on(&|b| Q::Position(b, Axis::Y)));
        self.add(expect, "z", &fact.z, on(&|b| Q::Position(b, Axis::Z)));
        self.add(expect, "vx", &fact.vx, on(&|b| Q::Velocity(b, Axis::X)));
        self.add(expect, "vy", &fact.vy, on(&|b| Q::Velocity(b, Axis::Y)));
        self.add(expect, "vz", &fact.vz, on(&|b| Q::Velocity(b, Axis::Z)));
        self.add(expect, "speed", &fact.speed, on(&Q::Speed));
        self.add(expect, "angular_speed", &fact.angular_speed, on(&Q::AngularSpeed));
        self.add(expect, "tilt", &fact.tilt, on(&Q::Tilt));
        self.add(
            expect,
            "contact_force_z",
            &fact.contact_force_z,
            on(&|b| Q::ContactForce { body: b, other: None, axis: Some(Axis::Z) }),
        );
        self.add(expect, "angle", &fact.angle, of(Coordinate::Angle));
        self.add(expect, "slide", &fact.slide, of(Coordinate::Slide));
        self.reacting(expect);
        self.add(
            expect,
            "kinetic",
            &fact.kinetic,
            Some(body.map_or(Quantity::Kinetic, |b| measured(Q::Kinetic(b)))),
        );
        self.add(expect, "energy_change", &fact.energy_change, Some(Quantity::EnergyChange));
        self.add(expect, "penetration", &fact.penetration, Some(Quantity::Penetration));
        self.add(expect, "error", &fact.error, Some(Quantity::Error));
        self.add(expect, "ledger", &fact.ledger, Some(Quantity::Ledger));
        self.add(expect, "contacts", &fact.contacts, Some(Quantity::Contacts));
        if self.checks.len() == before && self.reader.faults.is_empty() {
            self.reader.fault(
                &expect.at,
                "this expects nothing",
                "wanted a fact such as z = { is = 0.3, within = 1e-6 }",
            );
        }
    }

    /// Facts of sensors, formulas and events.
    fn reacting(&mut self, expect: &Expect) {
        let fact = &expect.fact;
        let event = fact.event.as_ref().and_then(|name| {
            let found = self.scene.event_named(&name.value);
            if found.is_none() {
                let known: Vec<&str> = self.scene.events.iter().map(|e| e.name.as_str()).collect();
                self.reader.fault(
                    &name.at,
                    format!("there is no event `{}`", name.value),
                    suggestion(&name.value, &known),
                );
            }
            found
        });
        if fact.event.is_none() || event.is_some() {
            self.add(
                expect,
                "count",
                &fact.count,
                event.map(|e| measured(scene::Quantity::Count(e))),
            );
            let last =
                event.map(|e| Formula::from(scene::Quantity::Time) - scene::Quantity::Since(e));
            self.add(expect, "happens", &fact.happens, last.map(Quantity::Measured));
        }
        let Some(value) = &fact.value else { return };
        let live = Live { scene: self.scene, dimensions: self.dimensions, spring: false };
        let (found, name) = match (&fact.sensor, &fact.formula) {
            (Some(sensor), None) => match self.scene.sensor_named(&sensor.value) {
                Some(id) => {
                    let dimension = self.dimensions.get(&sensor.value).copied().unwrap_or_default();
                    (Some((scene::Quantity::Sensor(id).into(), dimension)), sensor.value.clone())
                }
                None => {
                    let known: Vec<&str> =
                        self.scene.sensors.iter().map(|s| s.name.as_str()).collect();
                    self.reader.fault(
                        &sensor.at,
                        format!("there is no sensor `{}`", sensor.value),
                        suggestion(&sensor.value, &known),
                    );
                    (None, String::new())
                }
            },
            (None, Some(formula)) => {
                let typed = formula.formula(self.reader, &live, None);
                (typed.map(|t| (t.formula, t.dimension)), formula.text())
            }
            _ => {
                self.reader.fault(
                    &expect.at,
                    "`value` of what?",
                    "wanted one of `sensor`, `formula` too",
                );
                (None, String::new())
            }
        };
        let Some((formula, dimension)) = found else { return };
        let Some(bound) = Bound::<Pure>::of(&value.node, self.reader, dimension, "a value") else {
            return;
        };
        self.push(expect, name, dimension, &bound, Quantity::Measured(formula));
    }

    fn add<K: Kind>(
        &mut self,
        expect: &Expect,
        name: &str,
        bound: &Option<Bound<K>>,
        quantity: Option<Quantity>,
    ) {
        let Some(bound) = bound else { return };
        let Some(quantity) = quantity else {
            let whose = match name {
                "angle" | "slide" => "joint",
                "count" | "happens" => "event",
                _ => "body",
            };
            self.reader.fault(
                &expect.at,
                format!("`{name}` of which {whose}?"),
                format!("wanted `{whose}` too"),
            );
            return;
        };
        let fact = &expect.fact;
        let owner = fact
            .body
            .as_ref()
            .or(fact.joint.as_ref())
            .or(fact.event.as_ref())
            .map_or(String::new(), |n| format!("{}.", n.value));
        self.push(expect, format!("{owner}{name}"), K::DIMENSION, bound, quantity);
    }

    fn push<K: Kind>(
        &mut self,
        expect: &Expect,
        name: String,
        dimension: Dimension,
        bound: &Bound<K>,
        quantity: Quantity,
    ) {
        let (lo, hi) = match bound.is {
            Some(is) => (is - bound.within.abs(), is + bound.within.abs()),
            None => (f64::NEG_INFINITY, f64::INFINITY),
        };
        let When { time, during, over, .. } = &expect.when;
        let stretch = match (during, over) {
            (None, None) => None,
            (during, over) => {
                let (from, to) = during.map_or((0.0, self.t_end), |d| (d[0].si, d[1].si));
                if time.is_some() || !(from <= to) {
                    let message =
                        format!("`during` from {from} s to {to} s, or together with `time`");
                    self.reader.fault(
                        &expect.at,
                        message,
                        "wanted one of `time` and `during`, and \
                        a stretch that ends after it begins",
                    );
                    return;
                }
                Some((from, to, over.unwrap_or(Over::Always)))
            }
        };
        self.checks.push(Check {
            time: stretch.map_or(time.map_or(self.t_end, |t| t.si), |s| s.1),
            during: stretch.map(|s| (s.0, s.2)),
            quantity,
            name,
            about: expect.when.about.clone().unwrap_or_default(),
            // No fact speaks of a torque: what has this unit is an energy.
            unit: dimension.symbol().replace("N m", "J"),
            lo: bound.at_least.map_or(lo, |x| x.max(lo)),
            hi: bound.at_most.map_or(hi, |x| x.min(hi)),
            is: bound.is,
        });
    }

    fn body(&mut self, name: &Name) -> Option<BodyId> {
        let found = self.bodies.find(&self.scene.bodies, &name.value, |b| &b.name).map(BodyId);
        if found.is_none() {
            let known: Vec<&str> = self.scene.bodies.iter().map(|b| b.name.as_str()).collect();
            self.reader.fault(
                &name.at,
                format!("there is no body `{}`", name.value),
                suggestion(&name.value, &known),
            );
        }
        found
    }

    fn joint(&mut self, name: &Name) -> Option<JointId> {
        let found = self.scene.joint_named(&name.value);
        if found.is_none() {
            let known: Vec<&str> = self.scene.joints.iter().map(|j| j.name.as_str()).collect();
            self.reader.fault(
                &name.at,
                format!("there is no joint `{}`", name.value),
                suggestion(&name.value, &known),
            );
        }
        found
    }
}
