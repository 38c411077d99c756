//! Work of small scenes, counted and not timed: loose tolerances never cost more than tight ones.

use glam::DVec3;
use signorini_mechanics::geometry::Shape;
use signorini_mechanics::scene::{Body, Mass, Scene, State};
use signorini_mechanics::step::{Settings, Stepper};
use signorini_solve::problem::Tolerance;

const STEPS: u64 = 200;
const H: f64 = 2e-3;

fn floor(name: &str, mu: f64) -> Scene {
    let mut scene = Scene::new(name);
    scene.materials[0].mu = mu;
    let shape = Shape::Box { half_extents: DVec3::new(5.0, 5.0, 0.1) };
    scene.add_body_with_shape(Body::fixed("floor").at(DVec3::new(0.0, 0.0, -0.1)), shape);
    scene
}

fn add_box(scene: &mut Scene, half: DVec3, density: f64, at: DVec3) -> usize {
    let mass = density * 8.0 * half.x * half.y * half.z;
    let body = Body::rigid(format!("b{}", scene.bodies.len()), Mass::cuboid(mass, 2.0 * half));
    scene.add_body_with_shape(body.at(at), Shape::Box { half_extents: half }).index()
}

fn stack(boxes: u32) -> Scene {
    let mut scene = floor("stack", 0.5);
    for i in 0..boxes {
        let at = DVec3::new(0.0, 0.0, 0.1 + 0.2 * f64::from(i));
        add_box(&mut scene, DVec3::splat(0.1), 1000.0, at);
    }
    scene
}

fn dominoes() -> Scene {
    let mut scene = floor("dominoes", 0.4);
    for i in 0..20 {
        let at = DVec3::new(0.04 * f64::from(i), 0.0, 0.05);
        let id = add_box(&mut scene, DVec3::new(0.005, 0.02, 0.05), 700.0, at);
        if i == 0 {
            let body = scene.bodies[id].clone();
            scene.bodies[id] = body.moving(0.4 * DVec3::X, 8.0 * DVec3::Y);
        }
    }
    scene
}

/// Sweeps and ten times the factorizations of a run: about what both cost on small islands.
fn work(scene: &Scene, tolerance: Tolerance) -> u64 {
    let mut settings = Settings::with_time_step(H);
    settings.stop.tolerance = tolerance;
    let mut stepper = Stepper::new(scene, settings).unwrap();
    let mut state = State::initial(scene);
    let mut sum = 0;
    for _ in 0..STEPS {
        let verdict = stepper.step(scene, &mut state).unwrap();
        assert!(verdict.accepted, "{}: {:?}", scene.name, verdict.error);
        sum += verdict.counts.sweeps + 10 * verdict.counts.factorizations;
    }
    sum
}

/// The tolerances of the presets `engineering` and `fast` (`docs/scene.md`).
fn loose(relative: f64) -> Tolerance {
    Tolerance {
        relative,
        velocity: relative.sqrt() * 9.81 * H,
        bound: Some(f64::MAX),
        velocity_relative: 0.0,
    }
}

fn loose_costs_no_more_than_tight(scene: &Scene) {
    let tight = work(scene, Tolerance::default());
    let engineering = work(scene, loose(1e-4));
    let fast = work(scene, loose(1e-2));
    println!("{}: {tight} {engineering} {fast}", scene.name);
    // A step more or less at which contacts change is no rule: a tenth and a few sweeps.
    let allowed = tight + tight / 10 + 50;
    let bodies = scene.bodies.len() - 2;
    assert!(engineering <= allowed, "{bodies} of {}: {engineering} > {tight}", scene.name);
    assert!(fast <= allowed, "{bodies} of {}: {fast} > {tight}", scene.name);
}

#[test]
fn loose_tolerances_of_small_stacks_and_dominoes_cost_no_more_than_tight_ones() {
    for scene in [stack(1), stack(3), stack(10), dominoes()] {
        loose_costs_no_more_than_tight(&scene);
    }
}
