//! Sensors, controllers and events against closed forms. Every step must be accepted, and the
//! energy ledger of the whole run must close.

mod common;

use common::exact;
use glam::DVec3;
use signorini_mechanics::assemble::TimeScheme;
use signorini_mechanics::geometry::Shape;
use signorini_mechanics::scene::formula::{Binary, Unary};
use signorini_mechanics::scene::*;
use signorini_mechanics::step::{Ledger, Settings, StepError, Stepper};
use signorini_solve::math::pose::Pose;

/// A scene that moves, with the ledger of the whole run.
struct Run {
    scene: Scene,
    state: State,
    stepper: Stepper,
    ledger: Option<Ledger>,
}

impl Run {
    fn new(scene: Scene, settings: Settings) -> Run {
        let stepper = Stepper::new(&scene, settings).unwrap();
        let mut run = Run { state: State::initial(&scene), scene, stepper, ledger: None };
        run.stepper.begin(&run.scene, &mut run.state);
        run
    }

    fn step(&mut self) {
        let verdict = self.stepper.step(&self.scene, &mut self.state).unwrap();
        assert!(verdict.accepted, "{verdict:?}");
        self.ledger = Some(self.ledger.map_or(verdict.energy, |l| l.then(&verdict.energy)));
        let ledger = self.ledger.unwrap();
        // Rounding of every product that went into it.
        assert!(
            ledger.residual().abs() <= 1e-10 * ledger.throughput().max(1e-9),
            "t = {}: {ledger:?}",
            self.state.time
        );
    }

    /// Steps until `t`, to within a billionth of a step.
    fn until(&mut self, t: f64) {
        while self.state.time < t - 1e-9 * self.stepper.settings.h {
            self.step();
        }
    }

    fn sensor(&self, name: &str) -> f64 {
        self.state.orders.sensors[self.scene.sensor_named(name).unwrap().index()]
    }

    fn event(&self, name: &str) -> (u64, f64) {
        let event = self.state.orders.events[self.scene.event_named(name).unwrap().index()];
        (event.count, event.time)
    }

    fn place(&self, body: BodyId) -> DVec3 {
        self.state.pose(body).position
    }
}

fn schemes(h: f64) -> [Settings; 2] {
    [TimeScheme::Euler, TimeScheme::Leapfrog].map(|time| {
        let mut settings = exact(h);
        settings.scheme.time = time;
        settings
    })
}

/// A mass on a slide along z, without weight, with a motor that gives a force.
fn cart(mass: f64) -> (Scene, BodyId, JointId, MotorId) {
    let mut scene = Scene::new("cart");
    scene.gravity = DVec3::ZERO;
    let body = scene.add_body(Body::rigid("cart", Mass::sphere(mass, 0.1)));
    let slide =
        scene.add_joint("slide", JointKind::Prismatic, (BodyId::GROUND, body), Pose::IDENTITY);
    let motor = scene.add_motor("push", slide, Coordinate::Slide, Drive::Effort(0.0.into()));
    (scene, body, slide, motor)
}

fn of(quantity: Quantity) -> Formula {
    quantity.into()
}

fn floor(scene: &mut Scene) {
    scene.add_collider(
        BodyId::GROUND,
        Shape::HalfSpace,
        Pose::IDENTITY,
        SurfaceMaterial::default(),
    );
}

#[test]
fn the_step_response_of_a_pid_has_its_closed_form() {
    // m = 1 and d = 3a, p = 3a², i = a³ put all three poles at −a: x = 1 + e^(−at)(a²t² − at − 1).
    let a = 4.0f64;
    for time in [TimeScheme::Euler, TimeScheme::Leapfrog] {
        let errors = [2e-3, 1e-3].map(|h| {
            let (mut scene, body, slide, motor) = cart(1.0);
            let measured = of(Quantity::Value(slide, Coordinate::Slide));
            let pid =
                Pid { measured, target: 1.0.into(), p: 3.0 * a * a, i: a * a * a, d: 3.0 * a };
            scene.add_controller("pid", Port::Motor(motor), ControlLaw::Pid(Box::new(pid)));
            let mut settings = exact(h);
            settings.scheme.time = time;
            let mut run = Run::new(scene, settings);
            let mut worst = 0.0f64;
            while run.state.time < 2.0 {
                run.step();
                let t = run.state.time;
                let wanted = 1.0 + (-a * t).exp() * (a * a * t * t - a * t - 1.0);
                worst = worst.max((run.place(body).z - wanted).abs());
            }
            worst
        });
        // A force that is held over a step lags by half of it: first order, a h/2 of the amplitude.
        assert!(errors[0] < 2e-3 * a && errors[0] > 1.8 * errors[1], "{time:?} {errors:?}");
    }
}

#[test]
fn the_integral_of_a_limited_pid_does_not_wind_up() {
    // The limit lets the cart take long; an integral that grew meanwhile would carry it far beyond
    // the target.
    let (mut scene, body, slide, motor) = cart(1.0);
    let measured = of(Quantity::Value(slide, Coordinate::Slide));
    let pid = Pid { measured, target: 5.0.into(), p: 12.0, i: 4.0, d: 12.0 };
    let id = scene.add_controller("pid", Port::Motor(motor), ControlLaw::Pid(Box::new(pid)));
    (scene.controllers[id.index()].lo, scene.controllers[id.index()].hi) = (-2.0, 2.0);
    let mut run = Run::new(scene, exact(2e-3));
    let (mut farthest, mut strongest) = (0.0f64, 0.0f64);
    while run.state.time < 40.0 {
        run.step();
        farthest = farthest.max(run.place(body).z);
        strongest = strongest.max(run.state.orders.controllers[0].value.abs());
    }
    assert_eq!(strongest, 2.0);
    // The proportional and derivative parts brake in time. An integral that grew by 5 m for 1.5 s
    // would ask for 30 N on and on.
    assert!(
        farthest < 5.5 && (run.place(body).z - 5.0).abs() < 1e-3,
        "{farthest} {}",
        run.place(body)
    );
}

#[test]
fn a_controller_by_formula_is_the_oscillator_it_says() {
    // torque = −k x − c ẋ, the words of the documentation.
    let (m, k, c) = (2.0f64, 50.0f64, 4.0f64);
    let (decay, wave) = (c / (2.0 * m), (k / m - (c / (2.0 * m)).powi(2)).sqrt());
    let errors = [2e-3, 1e-3].map(|h| {
        let (mut scene, body, slide, motor) = cart(m);
        scene.bodies[body.index()].pose.position.z = 0.3;
        let formula = of(Quantity::Value(slide, Coordinate::Slide)) * -k
            - of(Quantity::Rate(slide, Coordinate::Slide)) * c;
        scene.joints[slide.index()].frame_b = Pose::IDENTITY;
        scene.add_controller("pd", Port::Motor(motor), ControlLaw::Formula(formula));
        let mut run = Run::new(scene, exact(h));
        run.until(0.5);
        let t = run.state.time;
        let wanted =
            0.3 * (-decay * t).exp() * ((wave * t).cos() + decay / wave * (wave * t).sin());
        (run.place(body).z - wanted).abs()
    });
    assert!(errors[0] < 2e-3 * wave * 0.3 && errors[0] > 1.8 * errors[1], "{errors:?}");
}

#[test]
fn a_sampled_controller_holds_its_value_between_samples() {
    // A force −x looked at every 50 ms: from sample to sample the motion has constant acceleration.
    let (every, h) = (0.05f64, 1e-3);
    let (mut scene, body, slide, motor) = cart(1.0);
    let formula = of(Quantity::Value(slide, Coordinate::Slide)) - 1.0;
    let id = scene.add_controller("held", Port::Motor(motor), ControlLaw::Formula(-formula));
    scene.controllers[id.index()].every = every;
    let mut run = Run::new(scene, exact(h));
    run.until(1.0);
    assert_eq!(run.state.orders.controllers[0].samples, 21);
    let (mut x, mut v) = (0.0f64, 0.0f64);
    for _ in 0..20 {
        let force = 1.0 - x;
        (x, v) = (x + v * every + 0.5 * force * every * every, v + force * every);
    }
    // Semi-implicit steps of h are off by h/2 times the speed of at most 1.
    assert!((run.place(body).z - x).abs() < 0.6 * h, "{} {x}", run.place(body).z);
    assert!(v > 0.5);
}

#[test]
fn an_event_happens_within_a_step_of_its_time_and_stops_the_run() {
    for settings in [1e-2, 1e-3].into_iter().flat_map(schemes) {
        let h = settings.h;
        let mut scene = Scene::new("fall");
        let ball = scene.add_body(Body::rigid("ball", Mass::sphere(1.0, 0.1)).at(DVec3::Z * 2.0));
        scene.add_event(
            "low",
            of(Quantity::Position(ball, Axis::Z)).below(1.0),
            vec![Action::Stop],
        );
        let mut run = Run::new(scene, settings);
        while run.state.orders.stopped.is_none() {
            run.step();
        }
        let exact = (2.0f64 / 9.81).sqrt();
        // The end of the step in which it happens; semi-implicit falls are half a step early.
        let late = run.event("low").1 - exact;
        assert!(late > -0.51 * h && late <= 1.001 * h, "h = {h}: {late}");
        assert_eq!(run.state.orders.stopped, Some(EventId(0)));
        assert_eq!(run.event("low").0, 1);
    }
}

#[test]
fn a_joint_breaks_at_its_force_and_lets_go() {
    for settings in schemes(1e-3) {
        let mut scene = Scene::new("hook");
        let load = scene.add_body(Body::rigid("load", Mass::sphere(2.0, 0.1)).at(DVec3::NEG_Z));
        let hook =
            scene.add_joint("hook", JointKind::Spherical, (BodyId::GROUND, load), Pose::IDENTITY);
        // 10 N more every second, down.
        let down = Function::Ramp { value: 0.0, rate: -10.0 };
        let force = [0.0.into(), 0.0.into(), down];
        let applied = Applied {
            body: load,
            point: DVec3::ZERO,
            force,
            torque: Default::default(),
            frame: Frame::World,
        };
        scene.add_force("pull", ForceKind::Applied(Box::new(applied)));
        scene.add_sensor("hook force", Quantity::JointForce(hook));
        let weight = 2.0 * 9.81;
        scene.add_break(hook, weight + 5.0, f64::INFINITY);
        let mut run = Run::new(scene, settings);
        run.until(0.25);
        assert!(
            (run.sensor("hook force") - weight - 2.5).abs() < 0.02,
            "{}",
            run.sensor("hook force")
        );
        run.until(0.8);
        // The mean force of a step reaches the limit half a step late, and is seen at its end.
        let (count, time) = run.event("hook breaks");
        assert!(count == 1 && (time - 0.5).abs() < 2.5e-3, "{count} {time}");
        assert_eq!(run.sensor("hook force"), 0.0);
        // From rest: z̈ = −g − 5 t (t from the beginning), integrated twice.
        let fall = |t: f64| {
            9.81 * (t - time).powi(2) / 2.0 + 5.0 / 6.0 * (t.powi(3) - time.powi(3))
                - 2.5 * time * time * (t - time)
        };
        // First order in the step at the event: h times the speed of 3.9 m/s.
        assert!(
            (run.place(load).z + 1.0 + fall(run.state.time)).abs() < 4e-3,
            "{} {}",
            run.place(load).z + 1.0,
            fall(run.state.time)
        );
    }
}

#[test]
fn contacts_motors_and_forces_are_switched_and_the_ledger_stays_closed() {
    for settings in schemes(2e-3) {
        let mut scene = Scene::new("switches");
        floor(&mut scene);
        let ball = |scene: &mut Scene, name: &str, x: f64| {
            let body = Body::rigid(name, Mass::sphere(1.0, 0.1)).at(DVec3::new(x, 0.0, 0.1));
            scene.add_body_with_shape(body, Shape::Sphere { radius: 0.1 })
        };
        let (a, b) = (ball(&mut scene, "a", 0.0), ball(&mut scene, "b", 1.0));
        let spring = Spring {
            a: BodyId::GROUND,
            b,
            point_a: DVec3::new(1.0, 0.0, 1.1),
            point_b: DVec3::ZERO,
            length: 0.5,
            stiffness: 10.0,
            damping: 0.0,
        };
        let spring = scene.add_force("spring", ForceKind::Spring(spring));
        scene.add_sensor(
            "on a",
            Quantity::ContactForce { body: a, other: Some(BodyId::GROUND), axis: Some(Axis::Z) },
        );
        let at = |t: f64| of(Quantity::Time).above(t - 1e-9);
        scene.add_event(
            "open",
            at(0.2),
            vec![Action::Contact { body: a, other: Some(BodyId::GROUND), on: false }],
        );
        scene.add_event("cut", at(0.3), vec![Action::Force(spring, false)]);
        let mut run = Run::new(scene, settings);
        run.until(0.2);
        assert!((run.sensor("on a") - 9.81).abs() < 1e-6, "{}", run.sensor("on a"));
        run.until(0.5);
        let (t, h) = (0.3f64, 2e-3);
        assert!(
            (run.place(a).z - 0.1 + 9.81 * t * t / 2.0).abs() < 9.81 * t * h,
            "{}",
            run.place(a).z
        );
        assert_eq!(run.sensor("on a"), 0.0);
        // The spring kept 5 N × 0.5 m / 2, which went with it.
        assert!((run.ledger.unwrap().events + 1.25).abs() < 1e-9, "{:?}", run.ledger);
        assert!((run.place(b).z - 0.1).abs() < 1e-9);
    }
}

#[test]
fn bodies_come_from_a_template_and_go_with_their_energy() {
    for settings in schemes(2e-3) {
        let mut scene = Scene::new("feeder");
        floor(&mut scene);
        let parts: Vec<BodyId> = (0..3)
            .map(|i| {
                let body = Body::rigid(format!("part_{i}"), Mass::sphere(0.5, 0.1));
                scene.add_body_with_shape(body, Shape::Sphere { radius: 0.1 })
            })
            .collect();
        let template = scene.add_template("part", parts.clone());
        let pose = Pose::at(DVec3::new(0.0, 0.0, 1.0));
        let spawn = Spawn { template, pose, velocity: DVec3::X * 3.0, angular: DVec3::ZERO };
        // Every 100 ms, four times: the pool has three.
        let phase = Formula::binary(Binary::Mod, Quantity::Time, 0.1);
        let event =
            scene.add_event("feed", phase.below(0.05), vec![Action::Spawn(Box::new(spawn))]);
        scene.events[event.index()].again = true;
        scene.add_event(
            "clear",
            of(Quantity::Time).above(0.5),
            vec![Action::RemoveOldest(template), Action::Remove(parts[1])],
        );
        scene.add_sensor(
            "there",
            of(Quantity::There(parts[0])) + Quantity::There(parts[1]) + Quantity::There(parts[2]),
        );
        let mut run = Run::new(scene, settings);
        // The first one comes at t = 0, before the first step.
        assert!(!run.state.orders.absent(parts[0]) && run.state.orders.absent(parts[1]));
        run.until(0.25);
        assert_eq!((run.event("feed").0, run.sensor("there")), (3, 3.0));
        // They fall as if they had always been there.
        let t: f64 = 0.25;
        assert!((run.place(parts[0]).z - 1.0 + 9.81 * t * t / 2.0).abs() < 9.81 * t * 2e-3);
        assert!((run.place(parts[0]).x - 3.0 * t).abs() < 1e-12);
        // Each brought ½ m v² + m g z; the first one before the ledger began.
        let each = 0.25 * 9.0 + 0.5 * 9.81;
        assert!((run.ledger.unwrap().events - 2.0 * each).abs() < 1e-9, "{:?}", run.ledger);
        // Asked a fourth time, the template has none left.
        run.until(0.35);
        assert_eq!((run.event("feed").0, run.sensor("there")), (4, 3.0));
        run.until(0.55);
        assert_eq!(run.sensor("there"), 1.0);
        assert!(
            run.state.orders.absent(parts[0])
                && run.state.orders.absent(parts[1])
                && !run.state.orders.absent(parts[2])
        );
    }
}

#[test]
fn a_target_is_reached_smoothly_and_variables_count() {
    let (mut scene, body, slide, _) = cart(1.0);
    scene.motors[0].drive = Drive::Position(0.0.into());
    let mode = scene.add_variable("mode", 1.0);
    let motor = MotorId(0);
    let go = scene.add_event(
        "go",
        of(Quantity::Time).above(0.1 - 1e-9),
        vec![Action::Target(motor, 0.5.into(), 0.2)],
    );
    let next = of(Quantity::Variable(mode)) * 2.0;
    let back = vec![Action::Target(motor, 0.25.into(), 0.0), Action::Set(mode, next)];
    scene.add_event("back", of(Quantity::Since(go)).above(0.3 - 1e-9), back);
    scene.add_sensor("target", Quantity::Target(motor));
    scene.add_sensor("rate", Quantity::Rate(slide, Coordinate::Slide));
    let mut run = Run::new(scene, exact(1e-3));
    run.until(0.2);
    // The middle of a smooth step: half way, at 15/8 of the mean speed.
    assert!(
        (run.place(body).z - 0.25).abs() < 1e-9
            && (run.sensor("rate") - 0.5 / 0.2 * 1.875).abs() < 0.05
    );
    run.until(0.35);
    assert!((run.place(body).z - 0.5).abs() < 1e-9);
    run.until(0.5);
    assert_eq!((run.sensor("target"), run.state.orders.variables[0]), (0.25, 2.0));
    assert!((run.place(body).z - 0.25).abs() < 1e-9);
}

#[test]
fn a_ray_sees_what_moves_and_not_what_is_gone() {
    let mut scene = Scene::new("eye");
    scene.gravity = DVec3::ZERO;
    let body = Body::rigid("ball", Mass::sphere(1.0, 0.1))
        .at(DVec3::new(2.0, 0.05, 0.0))
        .moving(DVec3::NEG_X, DVec3::ZERO);
    let ball = scene.add_body_with_shape(body, Shape::Sphere { radius: 0.1 });
    let ray = Ray { body: BodyId::GROUND, origin: DVec3::ZERO, direction: DVec3::X, reach: 1.5 };
    scene.add_sensor("eye", Quantity::Ray(Box::new(ray)));
    scene.add_event("gone", of(Quantity::Time).above(1.2), vec![Action::Remove(ball)]);
    let mut run = Run::new(scene, exact(1e-2));
    assert_eq!(run.sensor("eye"), 1.5);
    run.until(1.0);
    let half = (0.01f64 - 0.0025).sqrt();
    assert!((run.sensor("eye") - (1.0 - half)).abs() < 1e-9, "{}", run.sensor("eye"));
    run.until(1.3);
    assert_eq!(run.sensor("eye"), 1.5);
}

#[test]
fn a_spring_by_formula_has_the_period_and_the_sag_of_its_law() {
    // ẍ = −x³ from x = 1 has the period Γ(1/4)²/√π = 7.41629870920549.
    let period = 7.416_298_709_205_49;
    for (time, most) in [(TimeScheme::Euler, 3e-2), (TimeScheme::Leapfrog, 1e-4)] {
        let (mut scene, body, slide, _) = cart(1.0);
        scene.joints[slide.index()].frame_b = Pose::IDENTITY;
        scene.bodies[body.index()].pose.position.z = 1.0;
        let length = || of(Quantity::Length);
        // Held 10 m away, where the distance is the coordinate and does not pass through zero.
        let x = || length() - 10.0;
        let pull = x() * x() * x();
        let spring = Tension {
            a: BodyId::GROUND,
            b: body,
            point_a: DVec3::Z * -10.0,
            point_b: DVec3::ZERO,
            pull,
        };
        scene.add_force("cubic", ForceKind::Tension(Box::new(spring)));
        let h = period / 2000.0;
        let mut settings = exact(h);
        settings.scheme.time = time;
        let mut run = Run::new(scene, settings);
        run.until(period);
        // Back where it began, and at rest; the implicit Euler form damps by h of the amplitude.
        assert!((run.place(body).z - 1.0).abs() < most, "{time:?} {}", run.place(body).z);
        assert!(run.state.v[2].abs() < most, "{time:?} {}", run.state.v[2]);
    }
    // A weight of 1 kg on f = 1000 (l − 1)² + 10 l̇ sags by √(g/1000); stiff enough that an
    // explicit step would not hold it.
    let mut scene = Scene::new("sag");
    let body = scene.add_body(Body::rigid("weight", Mass::sphere(1.0, 0.1)).at(DVec3::NEG_Z));
    let stretch = || of(Quantity::Length) - 1.0;
    let pull = stretch() * stretch() * 1e3 + of(Quantity::LengthRate) * 10.0;
    let spring =
        Tension { a: BodyId::GROUND, b: body, point_a: DVec3::ZERO, point_b: DVec3::ZERO, pull };
    scene.add_force("square", ForceKind::Tension(Box::new(spring)));
    let mut run = Run::new(scene, exact(1e-2));
    run.until(5.0);
    assert!(
        (run.place(body).z + 1.0 + (9.81f64 / 1e3).sqrt()).abs() < 1e-9,
        "{}",
        run.place(body).z
    );
}

#[test]
fn a_saved_state_goes_on_to_the_same_bits() {
    for settings in schemes(2e-3) {
        let mut scene = Scene::new("bits");
        floor(&mut scene);
        let parts: Vec<BodyId> = (0..4)
            .map(|i| {
                scene.add_body_with_shape(
                    Body::rigid(format!("part_{i}"), Mass::sphere(0.5, 0.1)),
                    Shape::Sphere { radius: 0.1 },
                )
            })
            .collect();
        let template = scene.add_template("part", parts);
        let spawn = Spawn {
            template,
            pose: Pose::at(DVec3::Z * 0.5),
            velocity: DVec3::new(3.0, 0.1, 0.0),
            angular: DVec3::Z,
        };
        let feed = scene.add_event(
            "feed",
            Formula::binary(Binary::Mod, Quantity::Time, 0.1).below(0.05),
            vec![Action::Spawn(Box::new(spawn))],
        );
        scene.events[feed.index()].again = true;
        let cart = scene.add_body(Body::rigid("cart", Mass::sphere(1.0, 0.1)).at(DVec3::X * 5.0));
        let slide = scene.add_joint(
            "slide",
            JointKind::Prismatic,
            (BodyId::GROUND, cart),
            Pose::at(DVec3::X * 5.0),
        );
        let motor = scene.add_motor("push", slide, Coordinate::Slide, Drive::Effort(0.0.into()));
        let measured = of(Quantity::Value(slide, Coordinate::Slide));
        let pid = Pid { measured, target: of(Quantity::Count(feed)), p: 12.0, i: 8.0, d: 6.0 };
        let id = scene.add_controller("pid", Port::Motor(motor), ControlLaw::Pid(Box::new(pid)));
        scene.controllers[id.index()].every = 5e-3;
        scene.add_sensor("odd", Formula::unary(Unary::Log, of(Quantity::Time) - 0.2));
        let mut whole = Run::new(scene.clone(), settings.clone());
        whole.until(0.15);
        let text = serde_json::to_string(&whole.state).unwrap();
        whole.until(0.4);
        let mut state: State = serde_json::from_str(&text).unwrap();
        state.fits(&scene).unwrap();
        let mut stepper = Stepper::new(&scene, settings).unwrap();
        while state.time < 0.4 - 1e-9 {
            stepper.step(&scene, &mut state).unwrap();
        }
        assert_eq!(state.hash(), whole.state.hash());
        assert_eq!(format!("{:?}", state.orders), format!("{:?}", whole.state.orders));
    }
}

#[test]
fn an_order_that_is_no_number_is_refused_by_name() {
    let (mut scene, _, slide, motor) = cart(1.0);
    let root = Formula::unary(Unary::Sqrt, of(Quantity::Value(slide, Coordinate::Slide)) - 1.0);
    scene.add_controller("root", Port::Motor(motor), ControlLaw::Formula(root));
    let mut stepper = Stepper::new(&scene, exact(1e-3)).unwrap();
    let mut state = State::initial(&scene);
    let refused = stepper.step(&scene, &mut state).unwrap_err();
    assert!(
        matches!(&refused, StepError::Order { .. })
            && refused.to_string().contains("push")
            && refused.to_string().contains("NaN")
    );
    // What sensors, events and controllers found before the first step is refused with it.
    assert_eq!(state, State::initial(&scene));
}

#[test]
fn what_names_something_that_is_not_there_is_refused() {
    let (mut scene, body, ..) = cart(1.0);
    scene.add_sensor("later", Quantity::Sensor(SensorId(0)));
    scene.add_controller(
        "c",
        Port::Motor(MotorId(7)),
        ControlLaw::Formula(Quantity::Length.into()),
    );
    scene.add_event(
        "e",
        Formula::default(),
        vec![Action::Joint(JointId(3), true), Action::Set(VariableId(0), 1.0.into())],
    );
    scene.add_template("t", vec![body]);
    let text: Vec<String> = scene.check().unwrap_err().iter().map(|f| f.to_string()).collect();
    for wanted in [
        "sensor `later`",
        "motor number 7",
        "length of a spring",
        "joint number 3",
        "variable number 0",
        "a joint holds",
    ] {
        assert!(text.iter().any(|t| t.contains(wanted)), "{wanted} in {text:#?}");
    }
}
