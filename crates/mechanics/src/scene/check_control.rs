//! Whether sensors, controllers, events and templates name things that are there.

use super::check::Faults;
use super::*;

impl Faults<'_> {
    /// Every fault of what reacts.
    pub(super) fn reacting(&mut self) {
        let scene = self.scene;
        for (i, sensor) in scene.sensors.iter().enumerate() {
            self.formula("sensor", &sensor.name, &sensor.formula, i);
        }
        for variable in scene.variables.iter().filter(|v| !v.value.is_finite()) {
            self.add(
                "variable",
                &variable.name,
                format!("value = {}, wanted a finite number", variable.value),
            );
        }
        scene.controllers.iter().for_each(|controller| self.controller(controller));
        for event in &scene.events {
            self.formula("event", &event.name, &event.when, scene.sensors.len());
            event.actions.iter().for_each(|action| self.action(event, action));
        }
        for template in &scene.templates {
            for &body in &template.bodies {
                self.exists("template", &template.name, body);
                let rigid = scene.bodies.get(body.index()).is_none_or(|b| b.mass().is_some());
                let held = scene.joints.iter().any(|j| j.a == body || j.b == body);
                if !rigid || held {
                    self.add(
                        "template",
                        &template.name,
                        "a body that is not rigid, or that a joint holds",
                    );
                }
            }
        }
    }

    fn controller(&mut self, controller: &Controller) {
        let (name, scene) = (&controller.name, self.scene);
        match controller.port {
            Port::Motor(motor) => {
                self.number("controller", name, "motor", motor.index(), scene.motors.len())
            }
            Port::Force(force, component) => {
                self.number("controller", name, "force", force.index(), scene.forces.len());
                let applied = scene
                    .forces
                    .get(force.index())
                    .is_none_or(|f| matches!(f.kind, ForceKind::Applied(_)));
                if !applied || component > 5 {
                    self.add(
                        "controller",
                        name,
                        "drives a force that is not applied, or a component beyond 5",
                    );
                }
            }
        }
        if !(controller.every >= 0.0 && controller.every.is_finite()) {
            self.add(
                "controller",
                name,
                format!("every = {} s, wanted a time ≥ 0", controller.every),
            );
        }
        if !(controller.lo <= controller.hi) {
            self.add(
                "controller",
                name,
                format!(
                    "limits {} … {}, wanted the first not above the second",
                    controller.lo, controller.hi
                ),
            );
        }
        match &controller.law {
            ControlLaw::Formula(formula) => {
                self.formula("controller", name, formula, scene.sensors.len())
            }
            ControlLaw::Pid(pid) => {
                self.formula("controller", name, &pid.measured, scene.sensors.len());
                self.formula("controller", name, &pid.target, scene.sensors.len());
                for (what, gain) in [("p", pid.p), ("i", pid.i), ("d", pid.d)] {
                    if !gain.is_finite() {
                        self.add(
                            "controller",
                            name,
                            format!("{what} = {gain}, wanted a finite number"),
                        );
                    }
                }
            }
        }
    }

    fn action(&mut self, event: &Event, action: &Action) {
        let (name, scene) = (&event.name, self.scene);
        match action {
            Action::Stop => {}
            Action::Motor(motor, _) => {
                self.number("event", name, "motor", motor.index(), scene.motors.len())
            }
            Action::Joint(joint, _) => {
                self.number("event", name, "joint", joint.index(), scene.joints.len())
            }
            Action::Force(force, _) => {
                self.number("event", name, "force", force.index(), scene.forces.len())
            }
            Action::Contact { body: a, other: b, .. } => {
                self.exists("event", name, *a);
                b.iter().for_each(|b| self.exists("event", name, *b));
            }
            Action::Target(motor, value, within) => {
                self.number("event", name, "motor", motor.index(), scene.motors.len());
                self.formula("event", name, value, scene.sensors.len());
                if !(*within >= 0.0 && within.is_finite()) {
                    self.add("event", name, format!("within = {within} s, wanted a time ≥ 0"));
                }
            }
            Action::Follow(motor, function) => {
                self.number("event", name, "motor", motor.index(), scene.motors.len());
                if let Some(why) = function.fault() {
                    self.add("event", name, why);
                }
            }
            Action::Set(variable, value) => {
                self.number("event", name, "variable", variable.index(), scene.variables.len());
                self.formula("event", name, value, scene.sensors.len());
            }
            Action::Spawn(spawn) => {
                self.number(
                    "event",
                    name,
                    "template",
                    spawn.template.index(),
                    scene.templates.len(),
                );
                if !(spawn.pose.is_finite()
                    && spawn.velocity.is_finite()
                    && spawn.angular.is_finite())
                {
                    self.add("event", name, "spawns with a pose or velocity that is not finite");
                }
            }
            Action::Remove(body) => {
                self.exists("event", name, *body);
                if scene.bodies.get(body.index()).is_some_and(|b| b.mass().is_none()) {
                    self.add(
                        "event",
                        name,
                        format!(
                            "removes `{}`, wanted a rigid body",
                            scene.bodies[body.index()].name
                        ),
                    );
                }
            }
            Action::RemoveOldest(template) => {
                self.number("event", name, "template", template.index(), scene.templates.len())
            }
        }
    }

    /// The formula of a spring: it is evaluated within the step, where only this is known.
    pub(super) fn pull(&mut self, name: &str, formula: &Formula) {
        let mut strange = false;
        formula.quantities(&mut |q| {
            use Quantity::*;
            strange |= !matches!(q, Length | LengthRate | Time | Sensor(_) | Variable(_));
        });
        if strange {
            self.add(
                "force",
                name,
                "its pull speaks of something measured, wanted length, rate, \
                t, sensors and variables",
            );
        }
        self.known("force", name, formula, self.scene.sensors.len());
    }

    /// Names are there, and of sensors only the first `sensors`.
    fn formula(&mut self, what: &'static str, name: &str, formula: &Formula, sensors: usize) {
        self.known(what, name, formula, sensors);
        formula.quantities(&mut |q| {
            if matches!(q, Quantity::Length | Quantity::LengthRate) {
                self.add(
                    what,
                    name,
                    "speaks of the length of a spring, which only the pull of a spring may",
                );
            }
        });
    }

    fn known(&mut self, what: &'static str, name: &str, formula: &Formula, sensors: usize) {
        let scene = self.scene;
        formula.quantities(&mut |q| {
            use Quantity::*;
            match q {
                Time | Length | LengthRate => {}
                Sensor(s) => {
                    self.number(what, name, "sensor (those before it)", s.index(), sensors)
                }
                Variable(v) => {
                    self.number(what, name, "variable", v.index(), scene.variables.len())
                }
                Count(e) | Since(e) => {
                    self.number(what, name, "event", e.index(), scene.events.len())
                }
                Position(b, _)
                | Velocity(b, _)
                | Speed(b)
                | AngularVelocity(b, _)
                | AngularSpeed(b)
                | Tilt(b)
                | Kinetic(b)
                | There(b) => {
                    self.exists(what, name, *b);
                }
                ContactForce { body: a, other: b, .. } => {
                    self.exists(what, name, *a);
                    b.iter().for_each(|b| self.exists(what, name, *b));
                }
                Value(j, _) | Rate(j, _) | JointForce(j) | JointTorque(j) => {
                    self.number(what, name, "joint", j.index(), scene.joints.len());
                }
                Effort(m) | Target(m) => {
                    self.number(what, name, "motor", m.index(), scene.motors.len())
                }
                Ray(ray) => {
                    self.exists(what, name, ray.body);
                    let unit = (ray.direction.length() - 1.0).abs() < 1e-9;
                    if !(unit && ray.origin.is_finite() && ray.reach > 0.0 && ray.reach.is_finite())
                    {
                        self.add(
                            what,
                            name,
                            "a ray without a direction, or whose reach is not a length above 0",
                        );
                    }
                }
            }
        });
    }

    fn number(&mut self, what: &'static str, name: &str, kind: &str, found: usize, wanted: usize) {
        if found >= wanted {
            self.add(what, name, format!("names {kind} number {found}, wanted below {wanted}"));
        }
    }
}
