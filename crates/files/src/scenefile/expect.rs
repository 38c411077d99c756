//! `[[expect]]`: facts that a run checks.

use super::build::flatten;
use super::fault::suggestion;
use super::format::{Bound, Expect, File, Over, When};
use super::read::Reader;
use super::value::{Kind, Name};
use signorini_mechanics::scene::{BodyId, JointId, Scene};
use signorini_solve::math::pose::Pose;

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Position of a body's described frame along an axis.
    Position(BodyId, usize),
    /// Velocity of a body's centre of mass along an axis.
    Velocity(BodyId, usize),
    /// Speed of a body.
    Speed(BodyId),
    /// Angular speed of a body.
    AngularSpeed(BodyId),
    /// Angle of a body's z axis from where it pointed at the beginning.
    Tilt(BodyId),
    /// Contact forces on a body along z.
    ContactForce(BodyId),
    /// Angle of a joint.
    Angle(JointId),
    /// Displacement of a joint.
    Slide(JointId),
    /// Kinetic energy, of one body or of all.
    Kinetic(Option<BodyId>),
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

    /// Whether the fact holds with this value; of a stretch of time, with the one that [`Check::take`] kept.
    pub fn holds(&self, value: f64) -> bool {
        match self.during {
            Some((_, Over::Never)) => !self.within(value) && !value.is_nan(),
            _ => self.within(value),
        }
    }

    /// Takes in the value after another step of a stretch of time, and returns the one that decides so far.
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
        let unit = if self.unit == "a pure number" { String::new() } else { format!(" {}", self.unit) };
        match self.is {
            Some(is) => format!("{is:.6}{unit} within {:.1e}", self.hi - is),
            None if self.lo == f64::NEG_INFINITY => format!("at most {:.3e}{unit}", self.hi),
            None if self.hi == f64::INFINITY => format!("at least {:.3e}{unit}", self.lo),
            None => format!("{:.3e} to {:.3e}{unit}", self.lo, self.hi),
        }
    }
}

/// All facts of a file.
pub fn checks(reader: &mut Reader<'_>, file: &File, scene: &Scene, t_end: f64) -> Vec<Check> {
    let mut blocks = Vec::new();
    flatten(Pose::IDENTITY, &file.1, &mut blocks);
    let mut list = Collector { reader, scene, t_end, checks: Vec::new() };
    for (_, block) in blocks {
        block.expect.iter().for_each(|expect| list.expect(expect));
    }
    list.checks
}

struct Collector<'r, 'a, 's> {
    reader: &'r mut Reader<'a>,
    scene: &'s Scene,
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
        let on = |f: &dyn Fn(BodyId) -> Quantity| body.map(f);
        self.add(expect, "x", &fact.x, on(&|b| Quantity::Position(b, 0)));
        self.add(expect, "y", &fact.y, on(&|b| Quantity::Position(b, 1)));
        self.add(expect, "z", &fact.z, on(&|b| Quantity::Position(b, 2)));
        self.add(expect, "vx", &fact.vx, on(&|b| Quantity::Velocity(b, 0)));
        self.add(expect, "vy", &fact.vy, on(&|b| Quantity::Velocity(b, 1)));
        self.add(expect, "vz", &fact.vz, on(&|b| Quantity::Velocity(b, 2)));
        self.add(expect, "speed", &fact.speed, on(&Quantity::Speed));
        self.add(expect, "angular_speed", &fact.angular_speed, on(&Quantity::AngularSpeed));
        self.add(expect, "tilt", &fact.tilt, on(&Quantity::Tilt));
        self.add(expect, "contact_force_z", &fact.contact_force_z, on(&Quantity::ContactForce));
        self.add(expect, "angle", &fact.angle, joint.map(Quantity::Angle));
        self.add(expect, "slide", &fact.slide, joint.map(Quantity::Slide));
        self.add(expect, "kinetic", &fact.kinetic, Some(Quantity::Kinetic(body)));
        self.add(expect, "energy_change", &fact.energy_change, Some(Quantity::EnergyChange));
        self.add(expect, "penetration", &fact.penetration, Some(Quantity::Penetration));
        self.add(expect, "error", &fact.error, Some(Quantity::Error));
        self.add(expect, "ledger", &fact.ledger, Some(Quantity::Ledger));
        self.add(expect, "contacts", &fact.contacts, Some(Quantity::Contacts));
        if self.checks.len() == before && self.reader.faults.is_empty() {
            self.reader.fault(&expect.at, "this expects nothing", "wanted a fact such as z = { is = 0.3, within = 1e-6 }");
        }
    }

    fn add<K: Kind>(&mut self, expect: &Expect, name: &str, bound: &Option<Bound<K>>, quantity: Option<Quantity>) {
        let Some(bound) = bound else { return };
        let Some(quantity) = quantity else {
            let whose = if matches!(name, "angle" | "slide") { "joint" } else { "body" };
            self.reader.fault(&expect.at, format!("`{name}` of which {whose}?"), format!("wanted `{whose}` too"));
            return;
        };
        let owner = expect.fact.body.as_ref().or(expect.fact.joint.as_ref()).map_or(String::new(), |n| format!("{}.", n.value));
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
                    let message = format!("`during` from {from} s to {to} s, or together with `time`");
                    self.reader.fault(&expect.at, message, "wanted one of `time` and `during`, and a stretch that ends after it begins");
                    return;
                }
                Some((from, to, over.unwrap_or(Over::Always)))
            }
        };
        self.checks.push(Check {
            time: stretch.map_or(time.map_or(self.t_end, |t| t.si), |s| s.1),
            during: stretch.map(|s| (s.0, s.2)),
            quantity,
            name: format!("{owner}{name}"),
            about: expect.when.about.clone().unwrap_or_default(),
            // No fact speaks of a torque: what has this unit is an energy.
            unit: K::DIMENSION.symbol().replace("N m", "J"),
            lo: bound.at_least.map_or(lo, |x| x.max(lo)),
            hi: bound.at_most.map_or(hi, |x| x.min(hi)),
            is: bound.is,
        });
    }

    fn body(&mut self, name: &Name) -> Option<BodyId> {
        let found = self.scene.body_named(&name.value);
        if found.is_none() {
            let known: Vec<&str> = self.scene.bodies.iter().map(|b| b.name.as_str()).collect();
            self.reader.fault(&name.at, format!("there is no body `{}`", name.value), suggestion(&name.value, &known));
        }
        found
    }

    fn joint(&mut self, name: &Name) -> Option<JointId> {
        let found = self.scene.joint_named(&name.value);
        if found.is_none() {
            let known: Vec<&str> = self.scene.joints.iter().map(|j| j.name.as_str()).collect();
            self.reader.fault(&name.at, format!("there is no joint `{}`", name.value), suggestion(&name.value, &known));
        }
        found
    }
}
