//! Torsional and rolling friction of contacts against closed forms.

mod common;

use common::{LEDGER, ball, cuboid, floor, run};
use glam::DVec3;
use signorini_mechanics::assemble::{Coordinates, Friction, Scheme, Source, TimeScheme};
use signorini_mechanics::geometry::Shape;
use signorini_mechanics::scene::*;
use signorini_mechanics::step::{Settings, Stepper};
use signorini_solve::math::pose::Pose;
use signorini_solve::solve::Method;

const G: f64 = 9.81;
const TORSION: f64 = 0.02;
const ROLLING: f64 = 0.005;
const RADIUS: f64 = 0.1;
/// What the default velocity tolerance leaves open in a few hundred steps.
const SOLVED: f64 = 1e-6;

fn scene(torsion: f64, rolling: f64) -> Scene {
    let mut scene = floor("friction of contacts", 0.5, 0.0);
    (scene.materials[0].torsion, scene.materials[0].rolling) = (torsion, rolling);
    scene
}

/// Gravity along an incline of this slope, which falls along x.
fn incline(scene: &mut Scene, slope: f64) {
    let angle = slope.atan();
    scene.gravity = G * DVec3::new(angle.sin(), 0.0, -angle.cos());
}

fn with(method: Method, time: TimeScheme) -> Settings {
    let settings = Settings::with_time_step(2e-3);
    Settings { solver: method, scheme: Scheme { time, ..settings.scheme }, ..settings }
}

/// Every way to step.
fn ways() -> impl Iterator<Item = Settings> {
    let methods = [Method::Auto, Method::Psor, Method::Newton, Method::InteriorPoint];
    methods
        .into_iter()
        .flat_map(|m| [TimeScheme::Leapfrog, TimeScheme::Euler].map(|time| with(m, time)))
}

/// The disc of this radius and mass, its axis along y, on the floor.
fn disc(
    scene: &mut Scene,
    name: &str,
    (mass, radius, width): (f64, f64, f64),
    at: DVec3,
) -> BodyId {
    let (axial, across) =
        (0.5 * mass * radius * radius, mass * (3.0 * radius * radius + width * width) / 12.0);
    let id = scene
        .add_body(Body::rigid(name, Mass::new(mass, DVec3::new(across, axial, across))).at(at));
    let along_y = Pose {
        orientation: glam::DQuat::from_rotation_x(0.5 * std::f64::consts::PI),
        ..Pose::IDENTITY
    };
    let shape = Shape::Cylinder { radius, half_length: 0.5 * width };
    scene.add_collider(id, shape, along_y, SurfaceMaterial::default());
    id
}

/// Largest angular impulse over its bound, less one; and how many such blocks there were.
fn beyond_bounds(stepper: &Stepper) -> (f64, usize) {
    let (assembly, r) = (stepper.assembly(), &stepper.solution().r);
    let starts = &assembly.problem.J.row_starts;
    let normal = |c: u32| {
        let of = |s: &Source| matches!(*s, Source::Contact(_, _, own) if own == c);
        assembly.sources.iter().position(of).map_or(0.0, |k| r[starts[k]])
    };
    let (mut most, mut count) = (0.0f64, 0);
    for (k, source) in assembly.sources.iter().enumerate() {
        let (effort, bound) = match *source {
            Source::Torsion(_, _, c) => (r[starts[k]].abs(), TORSION * normal(c)),
            Source::Rolling(_, _, c) => {
                (r[starts[k] + 1].hypot(r[starts[k] + 2]), ROLLING * normal(c))
            }
            _ => continue,
        };
        count += 1;
        if effort > 0.0 {
            most = most.max(effort / bound - 1.0);
        }
    }
    (most, count)
}

/// A ball that spins about the normal loses torsion g / (2/5 r²) of its spin and then rests.
#[test]
fn a_spinning_ball_comes_to_rest() {
    for settings in ways() {
        let mut scene = scene(TORSION, 0.0);
        let id = ball(&mut scene, "ball", 2.0, RADIUS, RADIUS * DVec3::Z);
        scene.bodies[id.index()].spin = 20.0 * DVec3::Z;
        let slows = TORSION * G / (0.4 * RADIUS * RADIUS);
        // It rests after 0.408 s.
        let half = run(&scene, settings.clone(), 100);
        let spin = half.spin(id).z;
        assert!((spin - (20.0 - slows * 0.2)).abs() < SOLVED, "{:?} {spin}", settings.solver);
        assert!(beyond_bounds(&half.stepper).0 < SOLVED);
        // The scheme of the closed form takes it at the mean velocity of each step.
        if settings.scheme.time == TimeScheme::Euler {
            let taken = 0.5 * 0.4 * 2.0 * RADIUS * RADIUS * (400.0 - spin * spin);
            assert!((half.energy.friction - taken).abs() < SOLVED * taken);
        }
        let end = run(&scene, settings.clone(), 230);
        assert!(end.spin(id).length() < SOLVED, "{:?} {}", settings.solver, end.spin(id));
        assert!(end.velocity(id).length() < SOLVED);
    }
}

/// A ball that rolls is slowed by m v' = −F, I v'/r = F r − rolling m g: by 5/7 rolling g/r,
/// whatever its direction; then it rests.
#[test]
fn a_rolling_ball_is_slowed() {
    for friction in [Friction::Coulomb, Friction::Cone] {
        for settings in ways() {
            let settings =
                Settings { scheme: Scheme { friction, ..settings.scheme }, ..settings.clone() };
            let mut scene = scene(TORSION, ROLLING);
            let id = ball(&mut scene, "ball", 2.0, RADIUS, RADIUS * DVec3::Z);
            let velocity = DVec3::new(0.3, -0.4, 0.0);
            scene.bodies[id.index()].velocity = velocity;
            scene.bodies[id.index()].spin = DVec3::Z.cross(velocity) / RADIUS;
            let slows = 5.0 / 7.0 * ROLLING * G / RADIUS;
            let end = run(&scene, settings.clone(), 200);
            let wanted = velocity.normalize() * (0.5 - slows * 0.4);
            let off = end.velocity(id).distance(wanted);
            assert!(off < SOLVED, "{:?} {off}", settings.solver);
            let (most, count) = beyond_bounds(&end.stepper);
            assert!(most < SOLVED && count == 2, "{most} {count}");
        }
    }
    let mut scene = scene(0.0, ROLLING);
    let id = ball(&mut scene, "ball", 2.0, RADIUS, RADIUS * DVec3::Z);
    scene.bodies[id.index()].velocity = 0.1 * DVec3::X;
    scene.bodies[id.index()].spin = DVec3::Y;
    // v²/2a after 0.285 s.
    let end = run(&scene, Settings::with_time_step(2e-3), 300);
    let way = 0.01 / (2.0 * 5.0 / 7.0 * ROLLING * G / RADIUS);
    assert!((end.position(id).x - way).abs() < 1e-6, "{} {way}", end.position(id).x);
    assert!(end.velocity(id).length() < 1e-9);
}

/// A disc on an incline stays below the slope rolling/r, and rolls above it with
/// 2/3 g (sin − rolling/r cos): its contact is a line, two points of one pair.
#[test]
fn a_disc_on_an_incline_stays_or_rolls() {
    for method in [Method::Auto, Method::Psor, Method::Newton, Method::InteriorPoint] {
        for (slope, rolls) in [(0.9 * ROLLING / RADIUS, false), (2.0 * ROLLING / RADIUS, true)] {
            let mut scene = scene(0.0, ROLLING);
            incline(&mut scene, slope);
            let id = disc(&mut scene, "disc", (3.0, RADIUS, 0.05), RADIUS * DVec3::Z);
            let end = run(&scene, with(method, TimeScheme::Leapfrog), 250);
            let angle = slope.atan();
            let along = 2.0 / 3.0 * G * (angle.sin() - ROLLING / RADIUS * angle.cos());
            let wanted = if rolls { 0.5 * along } else { 0.0 };
            let off = (end.velocity(id).x - wanted).abs();
            assert!(off < 1e-5, "{method:?} {slope}: {} for {wanted}", end.velocity(id).x);
            assert!(rolls || end.position(id).x.abs() < 1e-6, "{}", end.position(id).x);
        }
    }
}

/// The four corners of a box share one torque: torsion m g in all, also without sliding friction.
#[test]
fn corners_of_one_face_share_their_torque() {
    let mut scene = scene(TORSION, 0.0);
    scene.materials[0].mu = 0.0;
    let id = cuboid(&mut scene, "box", 5.0, DVec3::new(0.4, 0.2, 0.1), 0.05 * DVec3::Z);
    scene.bodies[id.index()].spin = 3.0 * DVec3::Z;
    scene.bodies[id.index()].velocity = DVec3::X;
    let end = run(&scene, Settings::with_time_step(2e-3), 50);
    let inertia = (0.16 + 0.04) / 12.0;
    let wanted = 3.0 - TORSION * G / inertia * 0.1;
    // Each step within the velocity tolerance.
    assert!((end.spin(id).z - wanted).abs() < 5e-5, "{} for {wanted}", end.spin(id).z);
    // Nothing slows its sliding.
    assert!((end.velocity(id).x - 1.0).abs() < SOLVED);
    let torsions = |s: &&Source| matches!(s, Source::Torsion(..));
    assert_eq!(end.stepper.assembly().sources.iter().filter(torsions).count(), 1);
}

/// A blow is felt in its own step: a ball that rebounds with e loses the spin
/// torsion (1 + e) v / I.
#[test]
fn the_bound_is_that_of_the_impulse_of_the_same_step() {
    let mut scene = scene(TORSION, 0.0);
    scene.gravity = DVec3::ZERO;
    (scene.materials[0].mu, scene.materials[0].restitution) = (0.0, 0.5);
    let id = ball(&mut scene, "ball", 2.0, RADIUS, 0.2 * DVec3::Z);
    scene.bodies[id.index()].spin = 40.0 * DVec3::Z;
    scene.bodies[id.index()].velocity = -2.0 * DVec3::Z;
    let end = run(&scene, Settings::with_time_step(2e-3), 50);
    let wanted = 40.0 - TORSION * 1.5 * 2.0 / (0.4 * RADIUS * RADIUS);
    assert!((end.velocity(id).z - 1.0).abs() < SOLVED);
    assert!((end.spin(id).z - wanted).abs() < SOLVED, "{} for {wanted}", end.spin(id).z);
}

/// A cart of a box and four wheels rolls out with rolling g/r M/(M + Σ I/r²), in the coordinates of
/// its joints as in those of bodies.
#[test]
fn a_cart_rolls_out_in_both_coordinates() {
    let (chassis, wheel, radius) = (4.0, 0.5, 0.05);
    let all = chassis + 4.0 * wheel;
    let slows = ROLLING * G / radius * all / (all + 4.0 * 0.5 * wheel);
    let mut ends = Vec::new();
    for coordinates in [Coordinates::Tree, Coordinates::Bodies] {
        let mut scene = scene(0.0, ROLLING);
        let body = scene.add_body(
            Body::rigid("chassis", Mass::cuboid(chassis, DVec3::new(0.4, 0.2, 0.05)))
                .at(0.1 * DVec3::Z),
        );
        let mut wheels = vec![];
        for (x, y) in [(0.15, 0.12), (0.15, -0.12), (-0.15, 0.12), (-0.15, -0.12)] {
            let at = DVec3::new(x, y, radius);
            let id = ball(&mut scene, &format!("wheel {x} {y}"), wheel, radius, at);
            // A disc in a ball's clothes: the inertia that the formula has.
            let axial = 0.5 * wheel * radius * radius;
            let mass = Mass::new(wheel, DVec3::splat(axial));
            scene.bodies[id.index()].kind = Kind::Rigid(mass);
            let frame = frame(at, DVec3::Y);
            scene.add_joint(format!("axle {x} {y}"), JointKind::Revolute, (body, id), frame);
            wheels.push(id);
        }
        for id in wheels.iter().chain([&body]) {
            scene.bodies[id.index()].velocity = DVec3::X;
        }
        for id in &wheels {
            scene.bodies[id.index()].spin = DVec3::Y / radius;
        }
        let settings = Settings { coordinates, ..Settings::with_time_step(2e-3) };
        let end = run(&scene, settings, 150);
        let (v, wanted) = (end.velocity(body).x, 1.0 - slows * 0.3);
        assert!((v - wanted).abs() < 1e-5, "{coordinates:?}: {v} for {wanted}");
        ends.push(v);
    }
    assert!((ends[0] - ends[1]).abs() < 1e-5);
}

/// In a groove every normal force depends on the torques: the bounds are found within the step.
#[test]
fn bounds_that_depend_on_the_torques_are_found() {
    let mut scene = scene(TORSION, ROLLING);
    scene.colliders.clear();
    scene.surface_materials.clear();
    for angle in [0.7f64, -0.9] {
        let orientation = glam::DQuat::from_rotation_x(angle);
        let wall = Pose { orientation, ..Pose::IDENTITY };
        scene.add_collider(BodyId::GROUND, Shape::HalfSpace, wall, SurfaceMaterial::default());
    }
    // The centre at distance r from both.
    let normals = [0.7f64, -0.9].map(|a| glam::DQuat::from_rotation_x(a) * DVec3::Z);
    let det = normals[0].y * normals[1].z - normals[0].z * normals[1].y;
    let y = RADIUS * (normals[1].z - normals[0].z) / det;
    let z = RADIUS * (normals[0].y - normals[1].y) / det;
    let id = ball(&mut scene, "ball", 2.0, RADIUS, DVec3::new(0.0, y, z));
    scene.bodies[id.index()].velocity = DVec3::X;
    scene.bodies[id.index()].spin = DVec3::new(5.0, 9.0, -3.0);
    let mut stepper = Stepper::new(&scene, Settings::with_time_step(2e-3)).unwrap();
    let mut state = State::initial(&scene);
    for step in 0..300 {
        let verdict = stepper.step(&scene, &mut state).unwrap();
        assert!(verdict.accepted, "step {step}: {:?}", verdict.reasons(&scene));
        assert!(verdict.energy.residual().abs() <= LEDGER * verdict.energy.throughput);
        assert!(verdict.energy.friction >= -1e-12);
        let (most, count) = beyond_bounds(&stepper);
        // Bounds within 1e-4: half their square is the tolerance 1e-8 of the energy.
        assert!(most < 1e-3 && count <= 4, "step {step}: {most}, {count} blocks");
    }
}

/// Without such friction there are no rows of it and no bit changes; a state that is stored and
/// read goes on with the same bits.
#[test]
fn zero_changes_nothing_and_stored_states_go_on() {
    let make = |torsion, rolling| {
        let mut scene = floor("balls", 0.4, 0.3);
        let other = Material { name: "other".into(), torsion, rolling, ..Material::default() };
        scene.add_material(other);
        for i in 0..5 {
            let at =
                DVec3::new(0.05 * f64::from(i), 0.01 * f64::from(i), 0.1 + 0.21 * f64::from(i));
            ball(&mut scene, &format!("ball {i}"), 1.0, 0.1, at);
        }
        scene
    };
    let hash = |scene: &Scene| run(scene, Settings::with_time_step(2e-3), 200).state.hash();
    assert_eq!(hash(&make(0.0, 0.0)), hash(&make(TORSION, ROLLING)));

    let mut scene = make(0.0, 0.0);
    (scene.materials[0].torsion, scene.materials[0].rolling) = (TORSION, ROLLING);
    assert_ne!(hash(&make(0.0, 0.0)), hash(&scene));
    let whole = run(&scene, Settings::with_time_step(2e-3), 200);
    let first = run(&scene, Settings::with_time_step(2e-3), 90);
    let text = serde_json::to_string(&first.state).unwrap();
    assert!(!first.state.reactions.moments.is_empty() && text.contains("moments"));
    let state: State = serde_json::from_str(&text).unwrap();
    let second = common::go_on(&scene, Settings::with_time_step(2e-3), state, 110);
    assert_eq!(whole.state.hash(), second.state.hash());
}

/// Springs in place of contacts have no such bounds: refused by name.
#[test]
fn contacts_as_springs_refuse_it_and_check_finds_lengths_that_are_none() {
    use signorini_mechanics::assemble::{Penalty, Treatment};
    let mut scene = scene(TORSION, 0.0);
    ball(&mut scene, "ball", 2.0, RADIUS, RADIUS * DVec3::Z);
    let settings = Settings::with_time_step(1e-3);
    let treatment = Treatment::Penalty(Penalty::default());
    let scheme = Scheme { treatment, ..settings.scheme };
    let why = Stepper::new(&scene, Settings { scheme, ..settings }).err().unwrap().to_string();
    assert!(why.contains("torsional") && why.contains("`default`"), "{why}");

    let of = |scene: &Scene| {
        let (_, findings) = signorini_mechanics::analyse::doctor::examine(scene, 1e-3);
        findings.iter().any(|f| f.found.contains("rolling friction"))
    };
    assert!(!of(&scene));
    scene.materials[scene.surface_materials[1].material.index()].rolling = 5.0;
    assert!(of(&scene));
}
