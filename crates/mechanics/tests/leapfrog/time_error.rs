//! The estimates of the time error, and steps chosen by them.

use super::*;

/// A pendulum of 1 m from horizontal, with a rod.
fn swing() -> (Scene, BodyId) {
    let mut scene = Scene::new("pendulum");
    let bob = scene.add_body(Body::rigid("bob", Mass::sphere(1.0, 0.1)).at(DVec3::X));
    scene.add_rod("rod", (BodyId::GROUND, bob), (DVec3::ZERO, DVec3::X));
    (scene, bob)
}

#[test]
fn doubling_estimates_the_error_of_a_step() {
    let (scene, bob) = swing();
    let doubling = Settings { time_error: TimeEstimate::Doubling, ..leapfrog(1e-2) };
    let (mut stepper, mut fine) = (
        Stepper::new(&scene, doubling).unwrap(),
        Stepper::new(&scene, leapfrog(1e-2 / 16.0)).unwrap(),
    );
    let mut state = State::initial(&scene);
    let mut ratios = Vec::new();
    for i in 0..200 {
        let mut reference = state.clone();
        let verdict = stepper.step(&scene, &mut state).unwrap();
        for _ in 0..16 {
            fine.step(&scene, &mut reference).unwrap();
        }
        let error = verdict.scheme.expect("doubling always knows");
        assert!(
            !error.event
                && verdict.solves >= 3
                && (state.time - 1e-2 * (i + 1) as f64).abs() < 1e-12
        );
        ratios.push(error.metre / state.pose(bob).position.distance(reference.pose(bob).position));
    }
    ratios.sort_by(f64::total_cmp);
    // The metre counts rotations at the reach of the ball too, which does not turn here.
    assert!(
        (0.8..1.25).contains(&ratios[100]) && ratios[10] > 0.6 && ratios[190] < 3.0,
        "{:?}",
        [ratios[10], ratios[100], ratios[190]]
    );
}

#[test]
fn the_free_estimate_is_unknown_where_it_knows_nothing() {
    let (scene, _) = swing();
    let mut state = State::initial(&scene);
    let mut stepper = Stepper::new(&scene, leapfrog(1e-2)).unwrap();
    assert!(stepper.step(&scene, &mut state).unwrap().scheme.is_none(), "the first step");
    assert!(stepper.step(&scene, &mut state).unwrap().scheme.unwrap().metre > 0.0);
    assert!(
        Stepper::new(&scene, euler(1e-2))
            .unwrap()
            .step(&scene, &mut state)
            .unwrap()
            .scheme
            .is_none(),
        "Euler"
    );
    let mut scene = floor("impact", 0.0, 0.5);
    ball(&mut scene, "ball", 1.0, 0.1, DVec3::Z * 0.2);
    let mut state = State::initial(&scene);
    let mut stepper = Stepper::new(&scene, leapfrog(1e-2)).unwrap();
    let impacts = (0..30).filter(|_| {
        let verdict = stepper.step(&scene, &mut state).unwrap();
        assert!(!verdict.impact || verdict.scheme.is_none());
        verdict.impact
    });
    assert!(impacts.count() >= 1);
}

#[test]
fn accuracy_chooses_the_steps_and_goes_on_to_the_bit() {
    let (scene, bob) = swing();
    let reference = run(&scene, leapfrog(1e-4), 20_000).position(bob);
    // A step's error, and what the error at 2 s was measured to be, doubled.
    for (accuracy, end, cost) in [(1e-4, 2e-3, 300), (1e-6, 1.3e-4, 1000)] {
        let settings = Settings { accuracy: Some(accuracy), ..leapfrog(5e-2) };
        let go = |mut state: State, steps: usize| {
            let mut stepper = Stepper::new(&scene, settings.clone()).unwrap();
            let mut solves = 0;
            for _ in 0..steps {
                let verdict = stepper.step(&scene, &mut state).unwrap();
                solves += verdict.solves;
                assert!(
                    verdict.scheme.unwrap().held
                        && verdict.energy.residual().abs() < 1e-11 * verdict.energy.throughput
                );
            }
            (state, solves)
        };
        let (state, solves) = go(State::initial(&scene), 40);
        assert!((state.time - 2.0).abs() < 1e-12);
        let error = state.pose(bob).position.distance(reference);
        assert!(
            error < end && solves / 2 < cost,
            "accuracy {accuracy}: {error} m, {} solves per s",
            solves / 2
        );
        let half: State = serde_json::from_str(
            &serde_json::to_string(&go(State::initial(&scene), 17).0).unwrap(),
        )
        .unwrap();
        assert_eq!(go(half, 23).0, state);
    }
    // A ball that bounces: impacts need no short steps, and the accuracy holds.
    let mut scene = floor("bounce", 0.0, 1.0);
    let id = ball(&mut scene, "ball", 1.0, 0.1, DVec3::Z * 1.1);
    let end = run(&scene, Settings { accuracy: Some(1e-4), ..leapfrog(5e-2) }, 40);
    let t = (2.0 + 0.5 * 2.0 * (2.0 / G).sqrt()) % (2.0 * (2.0 / G).sqrt());
    assert!(
        (end.position(id).z - 0.1 - (2.0 * G).sqrt() * t + 0.5 * G * t * t).abs() < 1e-8,
        "{}",
        end.position(id).z
    );
}

#[test]
fn doubling_knows_the_velocity_of_what_slides_on_a_dome() {
    // The whole step begins in the gap that steps of half the length leave: its velocity was off by
    // a hundred times the error of the halves, and the joules by 1e4.
    let mut scene = Scene::new("dome");
    scene.materials[0].mu = 0.0;
    let dome = signorini_mechanics::geometry::Shape::Sphere { radius: 1.0 };
    let place = signorini_solve::math::pose::Pose::IDENTITY;
    scene.add_collider(BodyId::GROUND, dome, place, SurfaceMaterial::default());
    let (s, c) = 0.3f64.sin_cos();
    let puck = ball(&mut scene, "puck", 1.0, 0.1, 1.1 * DVec3::new(s, 0.0, c));
    scene.bodies[puck.index()].velocity = 0.5 * DVec3::new(c, 0.0, -s);
    let h = 1e-3;
    let doubling = Settings { time_error: TimeEstimate::Doubling, ..leapfrog(h) };
    let mut stepper = Stepper::new(&scene, doubling).unwrap();
    let mut fine = Stepper::new(&scene, leapfrog(h / 16.0)).unwrap();
    let mut state = State::initial(&scene);
    for i in 0..250 {
        let mut reference = state.clone();
        let said = stepper.step(&scene, &mut state).unwrap().scheme.expect("doubling knows");
        (0..16).for_each(|_| {
            fine.step(&scene, &mut reference).unwrap();
        });
        let truth = stepper.apart(&scene, &state, &reference);
        let ratios = [said.metre / truth.metre, said.joule / truth.joule];
        let held = ratios.iter().all(|x| (0.5..2.0).contains(x));
        // In the first step the acceleration is not known.
        assert!(!said.event && (i < 2 || held), "step {i}: {ratios:?}");
    }
}
