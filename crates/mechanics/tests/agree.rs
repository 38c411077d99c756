//! What must not matter: the number of threads, storing in between, islands, the method.

mod common;

use common::{ball, cuboid, floor, go_on, run};
use glam::DVec3;
use signorini_mechanics::assemble::Scheme;
use signorini_mechanics::geometry::Tetrahedra;
use signorini_mechanics::scene::*;
use signorini_mechanics::step::{Policy, Settings, Stepper};
use signorini_solve::math::pose::Pose;
use signorini_solve::problem::islands::Islands;
use signorini_solve::problem::{Law, Problem, Tolerance};
use signorini_solve::solve::{Method, StoppingCriteria};

/// Boxes and balls around `at`, on a floor of friction `mu`.
fn add_heap(scene: &mut Scene, name: &str, center: DVec3) {
    for i in 0..4 {
        let at = center
            + DVec3::new(0.21 * (i % 2) as f64, 0.03 * i as f64, 0.12 + 0.21 * (i / 2) as f64);
        cuboid(scene, &format!("{name} box {i}"), 1.0 + i as f64, DVec3::splat(0.2), at);
        ball(scene, &format!("{name} ball {i}"), 2.0, 0.08, at + DVec3::new(0.05, 0.02, 0.45));
    }
}

/// A heap of boxes and balls, and a pendulum beside it.
fn heap(mu: f64) -> Scene {
    let mut scene = floor("heap", mu, 0.1);
    add_heap(&mut scene, "first", DVec3::ZERO);
    let bob = cuboid(&mut scene, "bob", 3.0, DVec3::splat(0.1), DVec3::new(-0.5, 0.0, 1.0));
    scene.add_joint(
        "pivot",
        JointKind::Revolute,
        (BodyId::GROUND, bob),
        frame(DVec3::new(-1.0, 0.0, 1.0), DVec3::Y),
    );
    scene
}

/// A scene that takes every parallel path: more than 512 pairs of shapes (portions of collision),
/// one island of more than 2500 contacts (two subdomains of the sweeps, with an interface), another
/// one of more than 500 (one subdomain), more than 256 elements of a mesh.
fn large() -> Scene {
    let mut scene = floor("large", 0.4, 0.0);
    let mut pile = |name: &str, at: DVec3, [nx, ny, nz]: [usize; 3]| {
        for i in 0..nx * ny * nz {
            let (x, y, z) = (i % nx, i / nx % ny, i / (nx * ny));
            // Half a box aside in every second layer, so that the layers hold together.
            let aside = 0.1 * (z % 2) as f64;
            let place = at
                + DVec3::new(0.2 * x as f64 + aside, 0.2 * y as f64 + aside, 0.1 + 0.2 * z as f64);
            let id = cuboid(
                &mut scene,
                &format!("{name} {i}"),
                1.0 + 0.1 * (i % 7) as f64,
                DVec3::splat(0.2),
                place,
            );
            scene.bodies[id.index()].velocity =
                0.05 * DVec3::new((i as f64).sin(), (2.0 * i as f64).cos(), 0.0);
        }
    };
    pile("tall", DVec3::ZERO, [7, 7, 4]);
    pile("low", DVec3::new(20.0, 0.0, 0.0), [6, 6, 3]);
    let mut mesh = Tetrahedra::block([4, 4, 4], DVec3::splat(0.4));
    mesh.nodes.iter_mut().for_each(|node| *node += DVec3::new(-2.0, 0.0, 0.21));
    let block = Soft::new(mesh, Elastic::default());
    scene.add_soft("jelly", block, Some(SurfaceMaterial::default()));
    scene
}

/// Steps of a scene on so many threads; the state and the contact blocks of the last step.
fn on_threads(
    threads: usize,
    scene: &Scene,
    settings: &Settings,
    steps: usize,
) -> (State, usize, Vec<Method>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut stepper = Stepper::new(scene, settings.clone()).unwrap();
        let mut state = State::initial(scene);
        for _ in 0..steps {
            stepper.step(scene, &mut state).unwrap();
        }
        let contacts = stepper
            .assembly()
            .problem
            .laws
            .iter()
            .filter(|law| matches!(law, Law::Coulomb { .. }))
            .count();
        (state, contacts, stepper.methods().iter().filter_map(|(method, _)| *method).collect())
    })
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let scene = large();
    let mut settings = Settings::with_time_step(2e-3);
    settings.stop.tolerance =
        Tolerance { relative: 1e-3, velocity: 1e-2, bound: Some(1.0), velocity_relative: 0.0 };
    settings.stop.work = Some(60);
    let (one, contacts, methods) = on_threads(1, &scene, &settings, 4);
    let elements: usize = scene.softs.iter().map(|soft| soft.mesh.elements.len()).sum();
    assert!(
        contacts > 3000 && elements > 256 && methods.contains(&Method::Psor),
        "{contacts} contacts, {elements} elements, {methods:?}"
    );
    for threads in [2, 4] {
        let (state, ..) = on_threads(threads, &scene, &settings, 4);
        assert!(one == state, "{threads} threads: other bits");
    }
}

#[test]
fn storing_and_going_on_is_going_on() {
    let scene = heap(0.4);
    let settings = Settings::with_time_step(2e-3);
    let through = run(&scene, settings.clone(), 80).state;
    let half = run(&scene, settings.clone(), 40).state;
    let stored = serde_json::to_string(&half).unwrap();
    let restored: State = serde_json::from_str(&stored).unwrap();
    assert_eq!(restored, half);
    assert_eq!(go_on(&scene, settings, restored, 40).state, through);
}

/// What is far away does not change a bit: each island is solved by itself.
/// Contacts between rigid bodies stand beside J as frames, arms and attitudes, from which the same
/// rows follow to the bit, also in the islands that methods see.
#[test]
fn contacts_are_what_their_rows_are_made_of() {
    let mut scene = heap(0.3);
    // Attitudes that are not those of the world, and contacts without friction: plain rows.
    let turned = Pose::turned(DVec3::new(0.4, 1.0, 0.3), DVec3::new(0.3, -0.2, 0.5));
    let id = cuboid(&mut scene, "turned", 1.0, DVec3::splat(0.2), turned.position);
    scene.bodies[id.index()].pose = turned;
    let mut state = State::initial(&scene);
    let mut stepper = Stepper::new(&scene, Settings::with_time_step(2e-3)).unwrap();
    let (mut columns, mut values, mut seen) = (Vec::new(), Vec::new(), 0);
    for _ in 0..200 {
        stepper.step(&scene, &mut state).unwrap();
        let whole = stepper.assembly().problem.clone();
        let mut islands = Islands::default();
        islands.set(&whole);
        let mut parts = vec![];
        for i in 0..islands.len() {
            let mut part = Problem::default();
            islands.cut(i, &whole, &mut part);
            parts.push(part);
        }
        let cut: usize = parts.iter().map(|part| part.J.rigid.contacts.len()).sum();
        assert_eq!(cut, whole.J.rigid.contacts.len(), "no contact is lost");
        for problem in parts.iter().chain([&whole]) {
            problem.check().unwrap();
            for contact in &problem.J.rigid.contacts {
                let block = problem.J.block(contact.block as usize);
                problem.J.rigid.rows(contact, &mut columns, &mut values);
                let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!((block.columns, bits(block.values)), (&columns[..], bits(&values)));
                seen += 1;
            }
        }
        let frictional = whole.laws.iter().filter(|law| law.rows() == 3).count();
        assert_eq!(whole.J.rigid.contacts.len(), frictional, "every contact with friction");
    }
    assert!(seen > 1000, "{seen} contacts");
}

#[test]
fn an_island_does_not_know_of_the_others() {
    let alone = heap(0.4);
    let mut both = heap(0.4);
    add_heap(&mut both, "second", DVec3::new(50.0, 0.0, 0.0));
    let settings = Settings::with_time_step(2e-3);
    let (one, two) = (run(&alone, settings.clone(), 60), run(&both, settings, 60));
    for body in (0..alone.bodies.len()).map(|i| alone.body_named(&alone.bodies[i].name).unwrap()) {
        assert_eq!(
            one.state.pose(body),
            two.state.pose(body),
            "{}",
            alone.bodies[body.index()].name
        );
    }
}

/// `auto` cuts a problem into islands, the other methods solve it as a whole: with and without
/// islands the motion is the same, and so it is by every method that treats the laws of the scene.
#[test]
fn methods_agree_on_the_motion_with_and_without_islands() {
    let tolerance =
        Tolerance { relative: 1e-14, velocity: 1e-9, bound: None, velocity_relative: 0.0 };
    let stop =
        |work: Option<u64>| StoppingCriteria { tolerance, work, ..StoppingCriteria::default() };
    // Perfectly rigid: sweeps reach nine digits of it, of contacts that yield by less only seven.
    let rigid = Scheme { load_sharing: 0.0, ..Scheme::default() };
    let mut mechanism = Scene::new("pendulums");
    for i in 0..3 {
        let at = DVec3::new(2.0 * i as f64, 0.0, 1.0);
        let bob = cuboid(&mut mechanism, &format!("bob {i}"), 3.0, DVec3::splat(0.1), at);
        mechanism.add_joint(
            format!("pivot {i}"),
            JointKind::Revolute,
            (BodyId::GROUND, bob),
            frame(at - 0.5 * DVec3::X, DVec3::Y),
        );
    }
    let mut seen = Vec::new();
    // Without friction boxes and balls, with friction as well; `direct` treats joints alone,
    // `pivot` makes pyramids of cones.
    for (scene, left_out) in [
        (mechanism, &[][..]),
        (heap(0.0), &[Method::Direct][..]),
        (heap(0.4), &[Method::Direct, Method::Pivot, Method::InteriorPoint][..]),
    ] {
        let reference = run(
            &scene,
            Settings { stop: stop(None), scheme: rigid, ..Settings::with_time_step(2e-3) },
            60,
        )
        .state;
        for &method in Method::ALL.iter().filter(|method| !left_out.contains(method)) {
            // Sweeps need more than their default budget for nine digits.
            let settings = Settings {
                solver: method,
                stop: stop(Some(200_000)),
                scheme: rigid,
                ..Settings::with_time_step(2e-3)
            };
            let state = run(&scene, settings, 60).state;
            let apart =
                reference.q.iter().zip(&state.q).fold(0.0f64, |m, (a, b)| (a - b).abs().max(m));
            // 60 steps with velocities to 1e-9 m/s; impacts may multiply it by some hundred.
            assert!(apart < 1e-7, "{} on {}: {apart:.1e} m", method.name(), scene.name);
            seen.push(method);
        }
    }
    assert!(
        Method::ALL.iter().all(|method| seen.contains(method)),
        "every method took part in some scene"
    );
}

/// A deadline that is never reached does not change a bit. One that is over before the solve begins
/// leaves the guess, and the step says that it is not reproducible; it is not divided either.
#[test]
fn a_deadline_changes_nothing_unless_it_cuts_a_step_short() {
    let scene = heap(0.4);
    let settings = Settings { policy: Policy::Substep, ..Settings::with_time_step(2e-3) };
    let without = run(&scene, settings.clone(), 40).state;
    let hour = Settings { deadline: Some(3600.0), ..settings.clone() };
    assert_eq!(run(&scene, hour, 40).state, without);
    let instant = Settings { deadline: Some(1e-12), ..settings.clone() };
    let mut stepper = Stepper::new(&scene, instant).unwrap();
    let mut state = State::initial(&scene);
    // The heap meets the floor after some thirty steps; until then the guess is an answer.
    let mut cut = 0;
    for _ in 0..50 {
        let verdict = stepper.step(&scene, &mut state).unwrap();
        assert!(verdict.reproducible || verdict.substeps == 1);
        cut += usize::from(!verdict.reproducible);
    }
    assert!(cut > 0 && state.v.iter().all(|v| v.is_finite()), "{cut} steps were cut short");
    for wrong in [
        Settings { deadline: Some(0.0), ..settings.clone() },
        Settings { deadline: Some(1e-3), accuracy: Some(1e-4), ..settings },
    ] {
        assert!(Stepper::new(&scene, wrong).is_err());
    }
}
