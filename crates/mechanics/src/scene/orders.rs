//! What sensors, controllers and events have made of a scene so far: part of the state.
//!
//! Lists are empty until something is put into them; what is not in a list is as the scene
//! describes it.

use super::control::{Action, Event};
use super::function::Function;
use super::{BodyId, EventId, ForceId, JointId, MotorId, Scene};
use serde::{Deserialize, Serialize};

/// A function that a motor was told, and since when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// The function, of the time since then.
    pub function: Function,
    /// Since when, s.
    pub since: f64,
}

/// What a motor has been told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MotorOrder {
    /// True if it was switched off.
    pub off: bool,
    /// In place of the function of its drive.
    pub told: Option<Told>,
}

/// What a force has been told.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ForceOrder {
    /// True if it was switched off.
    pub off: bool,
    /// In place of the functions of an applied force: force 3, torque 3.
    pub push: [Option<f64>; 6],
}

/// What a controller remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// Samples so far.
    pub samples: u64,
    /// Number of the next sample on the grid of its period.
    pub next: u64,
    /// Time of the last sample, s.
    pub time: f64,
    /// What it gives until the next one.
    #[serde(with = "super::extended")]
    pub value: f64,
    /// PID: integral of the error.
    pub integral: f64,
    /// PID: the last error.
    pub error: f64,
    /// PID: what was measured last.
    pub measured: f64,
}

/// What is known of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fired {
    /// How often it happened.
    pub count: u64,
    /// When it happened last, s.
    pub time: f64,
    /// Whether its condition is true now.
    pub now: bool,
}

/// Everything that reactions have changed, and what they remember.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Orders {
    /// True after the first look, at the beginning.
    pub begun: bool,
    /// Motors.
    pub motors: Vec<MotorOrder>,
    /// Joints that hold nothing.
    pub joints_off: Vec<bool>,
    /// Forces.
    pub forces: Vec<ForceOrder>,
    /// Bodies that are not there.
    pub absent: Vec<bool>,
    /// Bodies whose contacts are switched off: with one other, or with all. Sorted.
    pub parted: Vec<(BodyId, Option<BodyId>)>,
    /// The bodies that templates have put into the scene, oldest first.
    pub spawned: Vec<BodyId>,
    /// What each sensor gave last.
    #[serde(with = "super::extended::list")]
    pub sensors: Vec<f64>,
    /// The value of each variable.
    #[serde(with = "super::extended::list")]
    pub variables: Vec<f64>,
    /// What each controller remembers.
    pub controllers: Vec<Held>,
    /// What is known of each event.
    pub events: Vec<Fired>,
    /// The event that ended the run.
    pub stopped: Option<EventId>,
}

/// The entry of a list that is filled only where it must be.
fn entry<T: Clone + Default>(list: &mut Vec<T>, i: usize, most: usize) -> &mut T {
    if list.len() < most {
        list.resize(most, T::default());
    }
    &mut list[i]
}

impl Orders {
    /// Where a scene begins: templates wait, variables have their first values.
    pub fn initial(scene: &Scene) -> Orders {
        let mut orders = Orders {
            variables: scene.variables.iter().map(|v| v.value).collect(),
            sensors: vec![0.0; scene.sensors.len()],
            controllers: vec![Held::default(); scene.controllers.len()],
            events: vec![Fired::default(); scene.events.len()],
            ..Orders::default()
        };
        for body in scene.templates.iter().flat_map(|t| &t.bodies) {
            *entry(&mut orders.absent, body.index(), scene.bodies.len()) = true;
        }
        orders
    }

    /// Whether a motor is off.
    pub fn motor_off(&self, motor: MotorId) -> bool {
        self.motors.get(motor.index()).is_some_and(|m| m.off)
    }

    /// The function that drives a motor, and since when it counts: that of its drive, or what it
    /// was told.
    pub fn drive<'a>(&'a self, motor: MotorId, given: &'a Function) -> (&'a Function, f64) {
        let told = self.motors.get(motor.index()).and_then(|m| m.told.as_ref());
        told.map_or((given, 0.0), |told| (&told.function, told.since))
    }

    /// Whether a joint is off.
    pub fn joint_off(&self, joint: JointId) -> bool {
        self.joints_off.get(joint.index()).copied().unwrap_or(false)
    }

    /// Whether a force is off.
    pub fn force_off(&self, force: ForceId) -> bool {
        self.forces.get(force.index()).is_some_and(|f| f.off)
    }

    /// What a controller gives for a component of an applied force.
    pub fn push(&self, force: ForceId, component: usize) -> Option<f64> {
        self.forces.get(force.index()).and_then(|f| f.push[component])
    }

    /// Whether a body is not there.
    pub fn absent(&self, body: BodyId) -> bool {
        self.absent.get(body.index()).copied().unwrap_or(false)
    }

    /// Whether the contacts of two bodies are switched off.
    pub fn parted(&self, a: BodyId, b: BodyId) -> bool {
        let has = |pair| self.parted.binary_search(&pair).is_ok();
        !self.parted.is_empty()
            && (has((a.min(b), Some(a.max(b)))) || has((a, None)) || has((b, None)))
    }

    /// Switches a motor.
    pub fn switch_motor(&mut self, scene: &Scene, motor: MotorId, on: bool) {
        self.motor_mut(scene, motor).off = !on;
    }

    /// What a motor has been told, to tell it something else.
    pub fn motor_mut(&mut self, scene: &Scene, motor: MotorId) -> &mut MotorOrder {
        entry(&mut self.motors, motor.index(), scene.motors.len())
    }

    /// Switches a joint.
    pub fn switch_joint(&mut self, scene: &Scene, joint: JointId, on: bool) {
        *entry(&mut self.joints_off, joint.index(), scene.joints.len()) = !on;
    }

    /// Switches a force.
    pub fn switch_force(&mut self, force: ForceId, on: bool) {
        self.force_mut(force).off = !on;
    }

    /// What a force has been told, to tell it something else.
    pub fn force_mut(&mut self, force: ForceId) -> &mut ForceOrder {
        // A scene may have further forces for one step.
        entry(&mut self.forces, force.index(), force.index() + 1)
    }

    /// Switches the contacts of a body: with one other, or with all.
    pub fn switch_contact(&mut self, a: BodyId, b: Option<BodyId>, on: bool) {
        let pair = b.map_or((a, None), |b| (a.min(b), Some(a.max(b))));
        match (self.parted.binary_search(&pair), on) {
            (Ok(place), true) => {
                self.parted.remove(place);
            }
            (Err(place), false) => self.parted.insert(place, pair),
            _ => {}
        }
    }

    /// Says whether a body is there.
    pub fn set_there(&mut self, scene: &Scene, body: BodyId, there: bool) {
        *entry(&mut self.absent, body.index(), scene.bodies.len()) = !there;
        self.spawned.retain(|b| *b != body);
        if there {
            self.spawned.push(body);
        }
    }

    /// What an order is that is not a number, if one is: nothing can follow it.
    pub fn fault(&self, scene: &Scene) -> Option<String> {
        let bad = |x: f64| !x.is_finite();
        for (order, motor) in self.motors.iter().zip(&scene.motors) {
            if let Some(Told { function, .. }) = &order.told
                && let Some(why) = function.fault()
            {
                return Some(format!("motor `{}` is told {why}", motor.name));
            }
        }
        for (order, force) in self.forces.iter().zip(&scene.forces) {
            if let Some(x) = order.push.iter().flatten().find(|x| bad(**x)) {
                return Some(format!("force `{}` is told {x}, wanted a finite number", force.name));
            }
        }
        None
    }

    /// Whether these are orders of `scene`: what comes out of a file must be asked.
    pub fn fits(&self, scene: &Scene) -> Result<(), String> {
        let optional = [
            ("motors", self.motors.len(), scene.motors.len()),
            ("joints", self.joints_off.len(), scene.joints.len()),
            ("forces", self.forces.len(), scene.forces.len()),
            ("bodies", self.absent.len(), scene.bodies.len()),
        ];
        let always = [
            ("sensors", self.sensors.len(), scene.sensors.len()),
            ("variables", self.variables.len(), scene.variables.len()),
            ("controllers", self.controllers.len(), scene.controllers.len()),
            ("events", self.events.len(), scene.events.len()),
        ];
        let wrong = |what: &str, found: usize, wanted: usize| {
            Err(format!("the state has orders for {found} {what}, wanted {wanted}"))
        };
        if let Some((what, found, wanted)) =
            optional.into_iter().find(|(_, found, wanted)| found > wanted)
        {
            return wrong(what, found, wanted);
        }
        if let Some((what, found, wanted)) =
            always.into_iter().find(|(_, found, wanted)| found != wanted)
        {
            return wrong(what, found, wanted);
        }
        let bodies = self
            .parted
            .iter()
            .flat_map(|(a, b)| [Some(*a), *b])
            .flatten()
            .chain(self.spawned.iter().copied());
        if let Some(bad) = bodies.into_iter().find(|b| b.index() >= scene.bodies.len()) {
            return Err(format!(
                "the state names body {}, wanted below {}",
                bad.0,
                scene.bodies.len()
            ));
        }
        if !self.parted.is_sorted() {
            return Err("the pairs whose contacts are off are not sorted".into());
        }
        self.fault(scene).map_or(Ok(()), Err)
    }
}

impl Event {
    /// What it does, for people.
    pub fn said(&self, scene: &Scene) -> String {
        let list: Vec<String> = self.actions.iter().map(|a| a.said(scene)).collect();
        list.join(", ")
    }
}

impl Action {
    /// What it does, for people.
    pub fn said(&self, scene: &Scene) -> String {
        let body = |b: BodyId| scene.bodies[b.index()].name.as_str();
        let motor = |m: MotorId| scene.motors[m.index()].name.as_str();
        let turned = |on: &bool| if *on { "on" } else { "off" };
        match self {
            Action::Stop => "the run stops".into(),
            Action::Motor(m, on) => format!("motor {} {}", motor(*m), turned(on)),
            Action::Joint(j, on) => {
                format!("joint {} {}", scene.joints[j.index()].name, turned(on))
            }
            Action::Force(f, on) => {
                format!("force {} {}", scene.forces[f.index()].name, turned(on))
            }
            Action::Contact { body: a, other: Some(b), on } => {
                format!("contact {}/{} {}", body(*a), body(*b), turned(on))
            }
            Action::Contact { body: a, other: None, on } => {
                format!("contacts of {} {}", body(*a), turned(on))
            }
            Action::Target(m, ..) | Action::Follow(m, _) => {
                format!("motor {} is told another target", motor(*m))
            }
            Action::Set(v, _) => format!("{} is set", scene.variables[v.index()].name),
            Action::Spawn(spawn) => {
                format!("{} comes", scene.templates[spawn.template.index()].name)
            }
            Action::Remove(b) => format!("{} goes", body(*b)),
            Action::RemoveOldest(t) => {
                format!("the oldest {} goes", scene.templates[t.index()].name)
            }
        }
    }
}
