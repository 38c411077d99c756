//! Figures and inputs of a simulation by name: what sweeps measure, batches bind, controllers
//! observe and set.

use super::{Simulation, SimulationError};
use crate::simulation::Handle;
use signorini_mechanics::scene::{BodyId, Coordinate, JointId, MaterialId, MotorId, Scene};

/// A figure that has a name, found once and read after every step.
///
/// | name | numbers |
/// |---|---|
/// | `time`, `steps`, `contacts`, `error` (J of the last step), `penetration` (m) | 1 |
/// | `energy.friction` and the other entries of the ledger, J | 1 |
/// | `body.NAME.position`, `velocity`, `angular_velocity`, `center_of_mass`, `center_of_mass_velocity` | 3 |
/// | `body.NAME.orientation` (unit quaternion x y z w) | 4 |
/// | `body.NAME.speed`, `kinetic_energy` | 1 |
/// | `joint.NAME.angle`, `slide`, `distance`, `rate` | 1 |
/// | `motor.NAME.value`, `effort` | 1 |
/// | `material.NAME.mu`, `restitution`, `compliance`, `damping`, `torsion`, `rolling` | 1 |
/// | `force.A|B` (mean contact force on B during the last step, N) | 3 |
///
/// `.x`, `.y`, `.z` or `.w` behind a figure of several numbers takes one of them.
///
/// ```
/// use signorini::prelude::*;
///
/// let mut sim = Simulation::load("incline")?;
/// sim.step()?;
/// let height = Figure::named("body.slider.position.z", sim.scene())?;
/// assert_eq!(height.values(&sim), [sim.body("slider")?.position().z]);
/// # Ok::<(), SimulationError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    kind: Kind,
    /// One number of several.
    part: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Run(&'static str),
    Energy(&'static str),
    Body(BodyId, &'static str),
    Joint(JointId, &'static str),
    Motor(MotorId, &'static str),
    Material(MaterialId, &'static str),
    Force(BodyId, BodyId),
}

const RUN: [&str; 5] = ["time", "steps", "contacts", "error", "penetration"];
const ENERGY: [&str; 12] = [
    "kinetic_before",
    "kinetic",
    "potential_before",
    "potential",
    "friction",
    "impact",
    "dampers",
    "motors",
    "applied",
    "scheme",
    "solver",
    "residual",
];
const BODY: [&str; 8] = [
    "position",
    "velocity",
    "angular_velocity",
    "center_of_mass",
    "center_of_mass_velocity",
    "orientation",
    "speed",
    "kinetic_energy",
];
const JOINT: [&str; 4] = ["angle", "slide", "distance", "rate"];
const MOTOR: [&str; 2] = ["value", "effort"];
const MATERIAL: [&str; 6] = ["mu", "restitution", "compliance", "damping", "torsion", "rolling"];
const PARTS: [&str; 4] = ["x", "y", "z", "w"];
/// The most numbers that a figure has.
const MAX_COMPONENTS: usize = 4;

fn among(list: &[&'static str], name: &str) -> Option<&'static str> {
    list.iter().copied().find(|x| *x == name)
}

impl Figure {
    /// The figure of this name; an error that says what was wanted.
    pub fn named(name: &str, scene: &Scene) -> Result<Figure, SimulationError> {
        // A body may be called `x`: the whole name comes first.
        let whole = Figure::whole(name, scene);
        let Some((front, part)) = name.rsplit_once('.') else { return whole };
        let Some(part) = PARTS.iter().position(|p| *p == part) else { return whole };
        match (whole, Figure::whole(front, scene)) {
            (Ok(figure), _) => Ok(figure),
            (_, Ok(figure)) if part < figure.size() && figure.size() > 1 => {
                Ok(Figure { part: Some(part), ..figure })
            }
            (_, Ok(_)) => Err(unknown(name)),
            (_, Err(e)) => Err(e),
        }
    }

    fn whole(name: &str, scene: &Scene) -> Result<Figure, SimulationError> {
        let figure = |kind| Ok(Figure { kind, part: None });
        if let Some(run) = among(&RUN, name) {
            return figure(Kind::Run(run));
        }
        let Some((what, rest)) = name.split_once('.') else { return Err(unknown(name)) };
        if what == "energy" {
            return among(&ENERGY, rest)
                .map_or(Err(unknown(name)), |entry| figure(Kind::Energy(entry)));
        }
        if what == "force" {
            let Some((a, b)) = rest.split_once('|') else { return Err(unknown(name)) };
            return figure(Kind::Force(a.resolve(scene)?, b.resolve(scene)?));
        }
        let Some((thing, of_it)) = rest.rsplit_once('.') else { return Err(unknown(name)) };
        let list: &[&'static str] = match what {
            "body" => &BODY,
            "joint" => &JOINT,
            "motor" => &MOTOR,
            "material" | "materials" => &MATERIAL,
            _ => return Err(unknown(name)),
        };
        let Some(of_it) = among(list, of_it) else { return Err(unknown(name)) };
        figure(match what {
            "body" => Kind::Body(thing.resolve(scene)?, of_it),
            "joint" => Kind::Joint(thing.resolve(scene)?, of_it),
            "motor" => Kind::Motor(thing.resolve(scene)?, of_it),
            _ => Kind::Material(thing.resolve(scene)?, of_it),
        })
    }

    /// How many numbers it has.
    pub fn size(&self) -> usize {
        match (self.part, self.kind) {
            (Some(_), _) => 1,
            (None, Kind::Body(_, "orientation")) => 4,
            (None, Kind::Body(_, "speed" | "kinetic_energy")) => 1,
            (None, Kind::Body(..) | Kind::Force(..)) => 3,
            (None, _) => 1,
        }
    }

    /// Its present value: [`Figure::size`] numbers are written to the beginning of `out`.
    pub fn read(&self, sim: &Simulation, out: &mut [f64]) {
        let mut all = [0.0; MAX_COMPONENTS];
        let numbers = all_of(self.kind, sim, &mut all);
        match self.part {
            Some(part) => out[0] = numbers[part],
            None => out[..numbers.len()].copy_from_slice(numbers),
        }
    }

    /// Its present value.
    pub fn values(&self, sim: &Simulation) -> Vec<f64> {
        let mut out = vec![0.0; self.size()];
        self.read(sim, &mut out);
        out
    }
}

/// Something that can be set between steps, by name: `motor.NAME.torque`, `.target`, `.speed` (as
/// of [`super::MotorMut`]), `material.NAME.mu`, `.restitution`, `.compliance`, `.damping`,
/// `.torsion`, `.rolling`.
///
/// ```
/// use signorini::prelude::*;
///
/// let mut sim = Simulation::load("incline")?;
/// let friction = Input::named("material.wood.mu", sim.scene())?;
/// friction.set(&mut sim, 0.3)?;
/// assert_eq!(Figure::named("material.wood.mu", sim.scene())?.values(&sim), [0.3]);
/// assert!(friction.set(&mut sim, f64::NAN).is_err());
/// # Ok::<(), SimulationError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    kind: InputKind,
    what: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InputKind {
    Motor(MotorId),
    Material(MaterialId),
}

const MOTOR_INPUTS: [&str; 3] = ["torque", "target", "speed"];

impl Input {
    /// The input of this name; an error that says what was wanted.
    pub fn named(name: &str, scene: &Scene) -> Result<Input, SimulationError> {
        let wrong = || SimulationError::Input {
            what: "input",
            name: name.into(),
            why: "cannot be set: wanted motor.NAME.torque, .target, .speed, or material.NAME.mu, \
                .restitution, …"
                .into(),
        };
        let (kind, rest) = name.split_once('.').ok_or_else(wrong)?;
        let (thing, what) = rest.rsplit_once('.').ok_or_else(wrong)?;
        match kind {
            "motor" => {
                let what = among(&MOTOR_INPUTS, what).ok_or_else(wrong)?;
                Ok(Input { kind: InputKind::Motor(thing.resolve(scene)?), what })
            }
            "material" | "materials" => {
                let what = among(&MATERIAL, what).ok_or_else(wrong)?;
                Ok(Input { kind: InputKind::Material(thing.resolve(scene)?), what })
            }
            _ => Err(wrong()),
        }
    }

    /// Sets it from the next step on; an error if the value is impossible.
    pub fn set(&self, sim: &mut Simulation, value: f64) -> Result<(), SimulationError> {
        let fault = match (self.kind, self.what) {
            _ if !value.is_finite() => Some("a finite number"),
            (InputKind::Motor(_), _) => None,
            (_, "restitution") if !(0.0..=1.0).contains(&value) => Some("0…1"),
            _ if value < 0.0 => Some("a number ≥ 0"),
            _ => None,
        };
        let what = self.what;
        if let Some(wanted) = fault {
            let (kind, name) = match self.kind {
                InputKind::Motor(id) => ("motor", &sim.scene.motors[id.index()].name),
                InputKind::Material(id) => ("material", &sim.scene.materials[id.index()].name),
            };
            return Err(sim.input(kind, name, format!("{what} = {value}, wanted {wanted}")));
        }
        match self.kind {
            InputKind::Motor(id) => {
                let mut motor = sim.motor_mut(id)?;
                match what {
                    "torque" => motor.set_torque(value),
                    "target" => motor.set_target(value),
                    _ => motor.set_speed(value),
                }
            }
            InputKind::Material(id) => {
                let m = sim.material_mut(id)?;
                *match what {
                    "mu" => &mut m.mu,
                    "restitution" => &mut m.restitution,
                    "compliance" => &mut m.compliance,
                    "torsion" => &mut m.torsion,
                    "rolling" => &mut m.rolling,
                    _ => &mut m.damping,
                } = value;
            }
        }
        Ok(())
    }
}

fn unknown(name: &str) -> SimulationError {
    let wanted = "wanted e.g. body.NAME.position, joint.NAME.angle, motor.NAME.effort, \
        energy.friction, force.A|B, time";
    SimulationError::Input {
        what: "figure",
        name: name.into(),
        why: format!("names nothing: {wanted}"),
    }
}

fn all_of<'a>(kind: Kind, sim: &Simulation, out: &'a mut [f64; MAX_COMPONENTS]) -> &'a [f64] {
    let one = match kind {
        Kind::Run(which) => run(sim, which),
        Kind::Energy(which) => energy(sim, which),
        Kind::Material(id, which) => {
            let m = &sim.scene.materials[id.index()];
            match which {
                "mu" => m.mu,
                "restitution" => m.restitution,
                "compliance" => m.compliance,
                "torsion" => m.torsion,
                "rolling" => m.rolling,
                _ => m.damping,
            }
        }
        Kind::Joint(id, which) => {
            let view = super::JointView { simulation: sim, id };
            match which {
                "angle" => view.angle(),
                "slide" => view.slide(),
                "distance" => view.value(Coordinate::Distance),
                _ => view.rate(),
            }
        }
        Kind::Motor(id, which) => {
            let view = super::MotorView { simulation: sim, id };
            if which == "value" { view.value() } else { view.effort() }
        }
        Kind::Force(a, b) => {
            let force = sim.forces_between(a, b).map_or(glam::DVec3::NAN, |f| f.force);
            force.write_to_slice(out);
            return &out[..3];
        }
        Kind::Body(id, which) => return body(sim, id, which, out),
    };
    out[0] = one;
    &out[..1]
}

fn body<'a>(
    sim: &Simulation,
    id: BodyId,
    which: &str,
    out: &'a mut [f64; MAX_COMPONENTS],
) -> &'a [f64] {
    let view = super::BodyView { simulation: sim, id };
    let vector = match which {
        "position" => view.position(),
        "velocity" => view.velocity(),
        "angular_velocity" => view.angular_velocity(),
        "center_of_mass" => view.center_of_mass(),
        "center_of_mass_velocity" => view.center_of_mass_velocity(),
        "orientation" => {
            *out = view.orientation().to_array();
            return out;
        }
        _ => {
            out[0] =
                if which == "speed" { view.velocity().length() } else { view.kinetic_energy() };
            return &out[..1];
        }
    };
    vector.write_to_slice(out);
    &out[..3]
}

fn run(sim: &Simulation, which: &str) -> f64 {
    let verdict = sim.verdict.as_ref();
    match which {
        "time" => sim.time(),
        "steps" => sim.steps() as f64,
        "contacts" => verdict.map_or(0.0, |v| v.contacts as f64),
        "error" => verdict.map_or(0.0, |v| v.error.joule),
        _ => verdict.map_or(0.0, |v| v.penetration),
    }
}

fn energy(sim: &Simulation, which: &str) -> f64 {
    let e = sim.ledger();
    match which {
        "kinetic_before" => e.kinetic_before,
        "kinetic" => e.kinetic,
        "potential_before" => e.potential_before,
        "potential" => e.potential,
        "friction" => e.friction,
        "impact" => e.impact,
        "dampers" => e.dampers,
        "motors" => e.motors,
        "applied" => e.applied,
        "scheme" => e.scheme,
        "solver" => e.solver,
        _ => e.residual(),
    }
}
