//! Sensors, events, switches and templates of a [`Simulation`], by name.

use signorini::files::scenefile::live::formula;
use signorini::prelude::*;

/// A weight on a slide with a motor, an eye that looks at it from above, and parts that wait.
fn machine() -> Simulation {
    let mut scene = Scene::new("machine");
    let body = Body::rigid("weight", Mass::sphere(2.0, 0.1));
    let weight = scene.add_body_with_shape(body, Shape::Sphere { radius: 0.1 });
    let rail =
        scene.add_joint("rail", JointKind::Prismatic, (BodyId::GROUND, weight), Pose::IDENTITY);
    let push = scene.add_motor("push", rail, Coordinate::Slide, Drive::Effort(0.0.into()));
    let parts = (0..2)
        .map(|i| scene.add_body(Body::rigid(format!("part_{i}"), Mass::sphere(1.0, 0.1))))
        .collect();
    scene.add_template("part", parts);
    scene.add_variable("wanted", 0.0);
    let law = formula(&scene, "-200*(rail.slide - wanted) - 40*rail.rate + 2*9.81").unwrap();
    scene.add_controller("hold", Port::Motor(push), ControlLaw::Formula(law));
    let load = formula(&scene, "push.effort - 2 kg*9.81 m/s^2").unwrap();
    scene.add_sensor("load", load);
    let low = formula(&scene, "weight.z < -0.5 m").unwrap();
    scene.add_event("low", low, vec![Action::Stop]);
    Simulation::new(scene, Settings::with_time_step(1e-3)).unwrap()
}

#[test]
fn a_formula_holds_the_weight_and_a_variable_moves_it() {
    let mut sim = machine();
    sim.run_until(1.0).unwrap();
    assert!(
        sim.joint("rail").unwrap().slide().abs() < 1e-9 && sim.sensor("load").unwrap().abs() < 1e-6
    );
    sim.set_variable("wanted", 0.1).unwrap();
    sim.run_until(3.0).unwrap();
    // Critically damped with 10/s: e⁻²⁰ is left.
    assert!((sim.joint("rail").unwrap().slide() - 0.1).abs() < 1e-6);
    let there = formula(sim.scene(), "10*rail.slide").unwrap();
    assert!((sim.measure(&there) - 1.0).abs() < 1e-5);
    assert!(sim.sensor("lode").unwrap_err().to_string().contains("there are load"));
}

#[test]
fn switches_let_go_and_an_event_stops_the_run() {
    let mut sim = machine();
    sim.run_until(0.1).unwrap();
    sim.switch_motor("push", false).unwrap();
    let begun = sim.time();
    sim.run_until(10.0).unwrap();
    assert_eq!(sim.stopped(), Some("low"));
    // Half a metre of free fall; the event is seen at the end of its step.
    let fall = sim.time() - begun - (1.0f64 / 9.81).sqrt();
    assert!(fall.abs() < 2e-3, "{fall}");
    assert_eq!(sim.event("low").unwrap(), EventView { count: 1, time: Some(sim.time()) });
    sim.go_on();
    sim.switch_joint("rail", false).unwrap();
    sim.run_until(sim.time() + 0.05).unwrap();
    assert!(sim.stopped().is_none());
}

#[test]
fn bodies_come_and_go_and_a_saved_state_knows_them() {
    let mut sim = machine();
    let at = |x: f64| Pose::at(DVec3::new(x, 0.0, 5.0));
    let first = sim.spawn("part", at(1.0), DVec3::Y, DVec3::ZERO).unwrap().unwrap();
    assert!(sim.is_there(first).unwrap() && !sim.is_there("part_1").unwrap());
    sim.run_until(0.2).unwrap();
    assert!((sim.body(first).unwrap().position().y - 0.2).abs() < 1e-9);
    let saved = sim.save();
    sim.spawn("part", at(2.0), DVec3::ZERO, DVec3::ZERO).unwrap().unwrap();
    assert_eq!(sim.spawn("part", at(3.0), DVec3::ZERO, DVec3::ZERO).unwrap(), None);
    sim.remove(first).unwrap();
    sim.run_until(0.3).unwrap();
    assert!(!sim.is_there(first).unwrap() && sim.is_there("part_1").unwrap());
    sim.restore(&saved).unwrap();
    assert!(sim.is_there(first).unwrap() && !sim.is_there("part_1").unwrap());
    sim.run_until(0.3).unwrap();
    let again = sim.raw_state().hash();
    sim.restore(&saved).unwrap();
    sim.run_until(0.3).unwrap();
    assert_eq!(sim.raw_state().hash(), again);
    assert!(sim.spawn("part", at(f64::NAN), DVec3::ZERO, DVec3::ZERO).is_err());
}
