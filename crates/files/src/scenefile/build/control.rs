//! Sensors, controllers, events and templates of a scene, from their tables.

use super::Builder;
use crate::scenefile::control::*;
use crate::scenefile::live::{Late, Live, wanted_by};
use crate::scenefile::node::Node;
use crate::scenefile::unit::Dimension;
use crate::scenefile::value::*;
use glam::DVec3;
use signorini_mechanics::scene::{
    Action, BodyId, ControlLaw, Controller, EventId, ForceId, ForceKind, Formula, MotorId, Pid,
    Port, Quantity, Ray, Spawn, TemplateId,
};
use signorini_solve::math::pose::Pose;

/// Shapes of bodies that wait in templates, all together: each takes a few kilobytes before it is
/// needed.
const MAX_WAITING: usize = 20_000;

impl Builder<'_, '_> {
    /// What formulas may name now.
    fn compiled(&mut self, late: &Late, wanted: Option<Dimension>) -> Option<(Formula, Dimension)> {
        let live = Live { scene: &self.scene, dimensions: &self.dimensions, spring: false };
        late.formula(self.reader, &live, wanted).map(|typed| (typed.formula, typed.dimension))
    }

    /// The pull of a spring.
    pub fn pull(&mut self, late: &Late) -> Option<Formula> {
        let live = Live { scene: &self.scene, dimensions: &self.dimensions, spring: true };
        late.formula(self.reader, &live, Some(crate::scenefile::value::Force::DIMENSION))
            .map(|typed| typed.formula)
    }

    /// A variable with its first value.
    pub fn variable(&mut self, name: &str, late: &At<Late>) {
        let place = Name { value: name.into(), at: late.at.clone() };
        if !self.define("variable", &place) {
            return;
        }
        let Some((formula, dimension)) = self.compiled(&late.value, None) else { return };
        match formula.number() {
            Some(value) => {
                self.dimensions.insert(name.into(), dimension);
                self.scene.add_variable(name, value);
            }
            None => self.reader.fault(
                &late.at,
                "the first value of a variable is measured",
                "wanted a number",
            ),
        }
    }

    /// Bodies that wait. Those of all templates are counted before they are built.
    pub fn template(&mut self, moved: &Pose, table: &Template) {
        let Joined(Pool { count }, body) = table;
        if !self.define("template", &body.name) {
            return;
        }
        let first = self.scene.bodies.len();
        let waiting: usize = self.scene.templates.iter().map(|t| t.bodies.len()).sum();
        let shapes = body.shape.0.len().max(1);
        let wanted = count.0.saturating_mul(shapes);
        if waiting.saturating_add(wanted) > MAX_WAITING {
            let found = match waiting {
                0 => format!("found {} bodies of {shapes} shapes", count.0),
                _ => format!("found {} bodies of {shapes} shapes after {waiting}", count.0),
            };
            let limit = format!("wanted at most {MAX_WAITING} shapes of bodies that wait");
            self.reader.fault(&body.name.at, found, limit);
            return;
        }
        for k in 0..count.0 {
            let mut copy = body.clone();
            copy.name.value = format!("{}_{k}", body.name.value);
            self.body(moved, &copy);
        }
        let bodies = (first..self.scene.bodies.len()).map(|i| BodyId(i as u32)).collect();
        if count.0 == 0 {
            self.reader.fault(&body.name.at, "a template of no bodies", "wanted a `count` above 0");
        }
        self.scene.add_template(body.name.value.clone(), bodies);
    }

    /// A sensor.
    pub fn sensor(&mut self, moved: &Pose, table: &SensorTable) {
        let fresh = self.define("sensor", &table.name);
        let (length, force) = (Length::DIMENSION, crate::scenefile::value::Force::DIMENSION);
        let measured = match (&table.formula, &table.ray, &table.contact) {
            (Some(formula), None, None) => self.compiled(formula, None),
            (None, Some(ray), None) => {
                self.ray(moved, ray).map(|ray| (Quantity::Ray(Box::new(ray)).into(), length))
            }
            (None, None, Some(Many(names))) if (1..=2).contains(&names.len()) => {
                let bodies: Option<Vec<BodyId>> =
                    names.iter().map(|n| self.body_named(n)).collect();
                bodies.map(|b| {
                    (
                        Quantity::ContactForce { body: b[0], other: b.get(1).copied(), axis: None }
                            .into(),
                        force,
                    )
                })
            }
            _ => {
                let message =
                    format!("the sensor `{}` measures none or several things", table.name.value);
                self.reader.fault(
                    &table.name.at,
                    message,
                    "wanted one of `formula`, `ray`, `contact` (one body or two)",
                );
                None
            }
        };
        if let (Some((formula, dimension)), true) = (measured, fresh) {
            let id = self.scene.add_sensor(table.name.value.clone(), formula);
            let unit = dimension.symbol();
            self.scene.sensors[id.index()].unit =
                if unit == "a pure number" { String::new() } else { unit };
            self.dimensions.insert(table.name.value.clone(), dimension);
        }
    }

    fn ray(&mut self, moved: &Pose, table: &RayTable) -> Option<Ray> {
        let body =
            table.body.as_ref().map_or(Some(BodyId::GROUND), |name| self.body_named(name))?;
        let carrier = self.scene.bodies[body.index()].pose;
        let direction =
            carrier.inverse_vector(moved.vector(vector(&table.direction))).normalize_or_zero();
        Some(Ray {
            body,
            origin: carrier.inverse_point(moved.point(vector(&table.position))),
            direction,
            reach: table.reach.si,
        })
    }

    fn motor_named(&mut self, name: &Name) -> Option<MotorId> {
        let found = self.scene.motor_named(&name.value);
        if found.is_none() && !self.places.contains_key(&("motor", name.value.clone())) {
            self.unknown("motor", name, |scene| {
                scene.motors.iter().map(|m| m.name.as_str()).collect()
            });
        }
        found
    }

    fn force_named(&mut self, name: &Name) -> Option<ForceId> {
        let found = self.scene.force_named(&name.value);
        if found.is_none() && !self.places.contains_key(&("force", name.value.clone())) {
            self.unknown("force", name, |scene| {
                scene.forces.iter().map(|f| f.name.as_str()).collect()
            });
        }
        found
    }

    /// The formulas that stand in the tables of motors and applied forces.
    pub fn driven(&mut self) {
        for (port, late, every, dimension) in std::mem::take(&mut self.drives) {
            let name = match port {
                Port::Motor(motor) => self.scene.motors[motor.index()].name.clone(),
                Port::Force(force, k) => {
                    let part = ["x", "y", "z", "turn_x", "turn_y", "turn_z"][usize::from(k)];
                    format!("{}.{part}", self.scene.forces[force.index()].name)
                }
            };
            if let Some((formula, _)) = self.compiled(&late, Some(dimension)) {
                let id = self.scene.add_controller(name, port, ControlLaw::Formula(formula));
                self.scene.controllers[id.index()].every = every;
            }
        }
    }

    /// A controller.
    pub fn controller(&mut self, table: &ControllerTable) {
        let fresh = self.define("controller", &table.name);
        let Some((port, dimension)) = self.port(table) else { return };
        let law = match (&table.formula, &table.pid) {
            (Some(formula), None) => {
                self.compiled(formula, Some(dimension)).map(|(f, _)| ControlLaw::Formula(f))
            }
            (None, Some(pid)) => self.pid(pid, dimension).map(|pid| ControlLaw::Pid(Box::new(pid))),
            _ => {
                let message = format!("the controller `{}` has no law, or two", table.name.value);
                self.reader.fault(&table.name.at, message, "wanted one of `formula`, `pid`");
                None
            }
        };
        let (mut lo, mut hi) = (f64::NEG_INFINITY, f64::INFINITY);
        if let Some([least, most]) = &table.limits {
            let what = "a limit";
            let pair = (
                least.constant(self.reader, dimension, what),
                most.constant(self.reader, dimension, what),
            );
            let (Some(least), Some(most)) = pair else { return };
            (lo, hi) = (least, most);
        }
        if let (Some(law), true) = (law, fresh) {
            let every = table.every.map_or(0.0, |t| t.si);
            self.scene.controllers.push(Controller {
                name: table.name.value.clone(),
                port,
                law,
                every,
                lo,
                hi,
            });
        }
    }

    fn port(&mut self, table: &ControllerTable) -> Option<(Port, Dimension)> {
        match (&table.motor, &table.force) {
            (Some(name), None) => {
                let motor = self.motor_named(name)?;
                Some((Port::Motor(motor), wanted_by(&self.scene, motor)))
            }
            (None, Some(name)) => {
                let force = self.force_named(name)?;
                let words = ["x", "y", "z", "turn_x", "turn_y", "turn_z"];
                let word = table.component.as_ref().map_or("", |c| c.value.as_str());
                let component = words.iter().position(|w| *w == word);
                let applied =
                    matches!(self.scene.forces[force.index()].kind, ForceKind::Applied(_));
                let (Some(k), true) = (component, applied) else {
                    let message = format!("`{}` with component `{word}`", name.value);
                    self.reader.fault(
                        &name.at,
                        message,
                        format!("wanted an applied force and one of {}", words.join(", ")),
                    );
                    return None;
                };
                let dimension = if k < 3 {
                    crate::scenefile::value::Force::DIMENSION
                } else {
                    Torque::DIMENSION
                };
                Some((Port::Force(force, k as u8), dimension))
            }
            _ => {
                let message =
                    format!("the controller `{}` drives nothing, or two things", table.name.value);
                self.reader.fault(&table.name.at, message, "wanted one of `motor`, `force`");
                None
            }
        }
    }

    fn pid(&mut self, table: &PidTable, output: Dimension) -> Option<Pid> {
        let (measured, dimension) = self.compiled(&table.of, None)?;
        let (target, _) = self.compiled(&table.target, Some(dimension))?;
        let gain = output.times(dimension, -1);
        let time = Time::DIMENSION;
        let mut each = |late: &Option<Late>, dimension: Dimension| match late {
            Some(late) => late.constant(self.reader, dimension, "a gain"),
            None => Some(0.0),
        };
        let (p, i, d) = (
            each(&table.p, gain),
            each(&table.i, gain.times(time, -1)),
            each(&table.d, gain.times(time, 1)),
        );
        Some(Pid { measured, target, p: p?, i: i?, d: d? })
    }

    /// The name of an event, so that others may speak of it.
    pub fn event_name(&mut self, table: &EventTable) {
        if self.define("event", &table.name) {
            let id = self.scene.add_event(table.name.value.clone(), Formula::default(), Vec::new());
            self.scene.events[id.index()].again = table.again == Some(true);
        }
    }

    /// What an event waits for and does.
    pub fn event(&mut self, moved: &Pose, table: &EventTable) {
        let Some(id) = self.scene.event_named(&table.name.value) else { return };
        let when = self.compiled(&table.when, None);
        let actions: Vec<Option<Action>> =
            table.actions.0.iter().map(|a| self.action(moved, a, &table.name)).collect();
        if table.actions.0.is_empty() {
            self.reader.fault(&table.name.at, "the event does nothing", "wanted `actions`");
        }
        if let (Some((when, _)), Some(actions)) =
            (when, actions.into_iter().collect::<Option<Vec<_>>>())
        {
            let event = &mut self.scene.events[id.index()];
            (event.when, event.actions) = (when, actions);
        }
    }

    fn action(&mut self, moved: &Pose, a: &ActionTable, event: &Name) -> Option<Action> {
        let named =
            [&a.motor, &a.joint, &a.force, &a.set, &a.spawn, &a.remove].into_iter().flatten();
        let place = named.clone().next().map_or(&event.at, |n| &n.at).clone();
        let things =
            named.count() + usize::from(a.contact.is_some()) + usize::from(a.stop == Some(true));
        let wrong = |builder: &mut Self, wanted: &str| {
            builder.reader.fault(
                &place,
                "an action that is none, or several, or lacks something",
                format!("wanted {wanted}"),
            );
            None
        };
        if things != 1 {
            return wrong(
                self,
                "one of `stop`, `motor`, `joint`, `force`, `contact`, `set`, `spawn`, `remove`",
            );
        }
        if a.stop == Some(true) {
            return Some(Action::Stop);
        }
        if let Some(name) = &a.motor {
            return self.motor_action(a, name);
        }
        if let (Some(name), Some(on)) = (&a.joint, a.on) {
            return self.joint_named(name).map(|joint| Action::Joint(joint, on));
        }
        if let (Some(name), Some(on)) = (&a.force, a.on) {
            return self.force_named(name).map(|force| Action::Force(force, on));
        }
        if let (Some(Many(names)), Some(on), true) =
            (&a.contact, a.on, a.contact.as_ref().is_some_and(|m| (1..=2).contains(&m.0.len())))
        {
            let bodies: Option<Vec<BodyId>> = names.iter().map(|n| self.body_named(n)).collect();
            return bodies.map(|b| Action::Contact { body: b[0], other: b.get(1).copied(), on });
        }
        if let (Some(name), Some(value)) = (&a.set, &a.value) {
            let Some(id) = self.scene.variable_named(&name.value) else {
                self.unknown("variable", name, |scene| {
                    scene.variables.iter().map(|v| v.name.as_str()).collect()
                });
                return None;
            };
            let dimension = self.dimensions.get(&name.value).copied();
            return self.compiled(value, dimension).map(|(f, _)| Action::Set(id, f));
        }
        if let Some(name) = &a.spawn {
            return self.spawn_action(moved, a, name);
        }
        if let Some(name) = &a.remove {
            return match self.scene.template_named(&name.value) {
                Some(template) => Some(Action::RemoveOldest(template)),
                None => self.body_named(name).map(Action::Remove),
            };
        }
        wrong(self, "`on` with a joint, force or contact (of one body or two), `value` with `set`")
    }

    fn motor_action(&mut self, a: &ActionTable, name: &Name) -> Option<Action> {
        let motor = self.motor_named(name)?;
        let dimension = wanted_by(&self.scene, motor);
        match (a.on, &a.target, &a.follow) {
            (Some(on), None, None) => Some(Action::Motor(motor, on)),
            (None, Some(target), None) => {
                let (formula, _) = self.compiled(target, Some(dimension))?;
                Some(Action::Target(motor, formula, a.within.map_or(0.0, |t| t.si)))
            }
            (None, None, Some(function)) => {
                let function = self.function(&function.node, dimension)?;
                Some(Action::Follow(motor, function))
            }
            _ => {
                self.reader.fault(
                    &name.at,
                    format!("what is the motor `{}` to do?", name.value),
                    "wanted one of `on`, `target`, `follow`",
                );
                None
            }
        }
    }

    /// A function of time of a dimension that is known only now.
    fn function(
        &mut self,
        node: &Node,
        dimension: Dimension,
    ) -> Option<signorini_mechanics::scene::Function> {
        use crate::scenefile::read::Read;
        let reader = &mut *self.reader;
        match dimension {
            d if d == Length::DIMENSION => Timed::<Length>::read(node, reader).map(|t| t.function),
            d if d == Angle::DIMENSION => Timed::<Angle>::read(node, reader).map(|t| t.function),
            d if d == Speed::DIMENSION => Timed::<Speed>::read(node, reader).map(|t| t.function),
            d if d == AngularSpeed::DIMENSION => {
                Timed::<AngularSpeed>::read(node, reader).map(|t| t.function)
            }
            d if d == Torque::DIMENSION => Timed::<Torque>::read(node, reader).map(|t| t.function),
            _ => Timed::<Force>::read(node, reader).map(|t| t.function),
        }
    }

    fn template_named(&mut self, name: &Name) -> Option<TemplateId> {
        let found = self.scene.template_named(&name.value);
        if found.is_none() {
            self.unknown("template", name, |scene| {
                scene.templates.iter().map(|t| t.name.as_str()).collect()
            });
        }
        found
    }

    fn spawn_action(&mut self, moved: &Pose, a: &ActionTable, name: &Name) -> Option<Action> {
        let template = self.template_named(name)?;
        let &first = self.scene.templates[template.index()].bodies.first()?;
        let body = &self.scene.bodies[first.index()];
        let (own, velocity) = (body.pose * Pose::at(body.origin), body.velocity);
        let angular = body.pose.vector(body.spin);
        let rotation = self.rotation(a.rotation.as_ref())?;
        let position = a.position.as_ref().map_or(own.position, |p| moved.point(vector(p)));
        let orientation =
            if a.rotation.is_some() { moved.orientation * rotation } else { own.orientation };
        let or = |given: Option<DVec3>, own: DVec3| given.map_or(own, |v| moved.vector(v));
        Some(Action::Spawn(Box::new(Spawn {
            template,
            pose: Pose { position, orientation },
            velocity: or(a.velocity.as_ref().map(vector), velocity),
            angular: or(a.angular_velocity.as_ref().map(vector), angular),
        })))
    }

    /// A joint that breaks.
    pub fn breaks(
        &mut self,
        name: &Name,
        force: Option<f64>,
        torque: Option<f64>,
    ) -> Option<EventId> {
        let joint = self.scene.joint_named(&name.value)?;
        if force.is_none() && torque.is_none() {
            self.reader.fault(&name.at, "`breaks` names no limit", "wanted `force` or `torque`");
            return None;
        }
        Some(self.scene.add_break(
            joint,
            force.unwrap_or(f64::INFINITY),
            torque.unwrap_or(f64::INFINITY),
        ))
    }
}
