//! One function per bug, named by the fact that was wrong.

mod common;
#[path = "common/cubes.rs"]
mod cubes;

use common::{cuboid, floor, run};
use cubes::Cubes;
use glam::DVec3;
use signorini_mechanics::geometry::Shape;
use signorini_mechanics::scene::*;
use signorini_mechanics::step::{Settings, Stepper};
use signorini_solve::math::pose::Pose;
use signorini_solve::solve::Method;

fn v(x: f64, y: f64, z: f64) -> DVec3 {
    DVec3::new(x, y, z)
}

/// Ground of mesh below z = 0 with friction `mu`, as far as 3 m, on a small foot: not convex.
fn ground_of_mesh(mu: f64) -> Scene {
    let top = (-6..6).flat_map(|x| (-6..6).map(move |y| [x, y, -1]));
    on(Cubes::new(top.chain([[0, 0, -2]]), 0.5).shape(2), mu)
}

fn on(shape: Shape, mu: f64) -> Scene {
    let mut scene = floor("mesh", mu, 0.0);
    let material = scene.colliders[0].clone();
    scene.colliders[0] = signorini_mechanics::geometry::Collider { shape, ..material };
    scene
}

/// A plate of 160 mm on a cube of mesh of 100 mm was spun up from rest and fell through, and every
/// step was accepted: side faces of the mesh pushed corners that were far outside of them, and
/// triangles pushed along their diagonals.
#[test]
fn a_plate_wider_than_the_mesh_below_it_rests() {
    let cube = Cubes::new([[0, 0, 0]], 0.1);
    // The same with a notch in its side, so that it is not convex.
    let cells = (0..4).flat_map(|x| (0..4).flat_map(move |y| (0..4).map(move |z| [x, y, z])));
    let notched = Cubes::new(cells.filter(|cell| *cell != [3, 1, 1]), 0.025);
    for shape in [cube.shape(1), cube.shape(4), notched.shape(1)] {
        for (half, aside) in [(0.08, 0.0), (0.05, 0.0), (0.02, 0.01), (0.3, 0.04), (0.05, 0.049)] {
            for h in [1e-3, 5e-3] {
                let mut scene = on(shape.clone(), 0.5);
                let plate = cuboid(
                    &mut scene,
                    "plate",
                    1.0,
                    v(half, half, 0.01) * 2.0,
                    v(0.05 + aside, 0.05, 0.11),
                );
                let end = run(&scene, Settings::with_time_step(h), (0.3 / h) as usize);
                let moved = end.position(plate) - v(0.05 + aside, 0.05, 0.11);
                // Gaps of contacts close to within the 1 um/s of the tolerance over the step.
                assert!(
                    moved.length() < 1e-6,
                    "plate of {half} m, {aside} m aside, step {h} s: moved by {moved}"
                );
            }
        }
    }
}

/// A box that lay flush on a ring of mesh was thrown away: faces of the hole pushed it sideways,
/// and contacts were doubled along every diagonal.
#[test]
fn a_box_on_a_ring_of_mesh_stays() {
    let all = (-4..4).flat_map(|x| (-4..4).map(move |y| [x, y, -1]));
    let ring =
        Cubes::new(all.filter(|c| !((-2..2).contains(&c[0]) && (-2..2).contains(&c[1]))), 0.01);
    for cut in [1, 3] {
        for half in [0.021, 0.03, 0.04, 0.06] {
            for turn in [0.0, 0.4] {
                let mut scene = on(ring.shape(cut), 0.3);
                let plate = cuboid(
                    &mut scene,
                    "plate",
                    1.0,
                    v(half, half, 0.005) * 2.0,
                    v(0.0, 0.0, 0.005),
                );
                scene.bodies[plate.index()].pose =
                    Pose::turned(v(0.0, 0.0, 0.005), DVec3::Z * turn);
                let end = run(&scene, Settings::with_time_step(2e-3), 100);
                let moved = end.position(plate) - v(0.0, 0.0, 0.005);
                assert!(
                    moved.length() < 1e-6,
                    "box of {half} m turned {turn}, cut {cut}: moved by {moved}"
                );
            }
        }
    }
}

/// Balls jumped at inner edges of flat ground, and boxes tripped over them: the ground's triangles
/// were felt. Sliding, rolling and tumbling bodies go on mesh as they go on a half-space.
#[test]
fn flat_ground_of_mesh_is_a_half_space() {
    let corners = |i: i32| v(f64::from(i & 1), f64::from(i >> 1 & 1), 1.5 * f64::from(i >> 2));
    let points = (0..8).map(|i| 0.16 * (corners(i) - v(0.5, 0.5, 0.75))).collect();
    let bracket = Cubes::new([[-1, -1, -1], [0, -1, -1], [-1, 0, -1], [0, 0, -1], [0, 0, 0]], 0.1);
    let bodies: [(&str, Shape, DVec3, DVec3, DVec3); 8] = [
        (
            "sliding box",
            Shape::Box { half_extents: v(0.1, 0.15, 0.05) },
            v(-1.0, 0.1, 0.05),
            v(2.0, 0.3, 0.0),
            DVec3::ZERO,
        ),
        (
            "rolling ball",
            Shape::Sphere { radius: 0.1 },
            v(-1.0, 0.1, 0.1),
            v(2.0, 0.3, 0.0),
            DVec3::ZERO,
        ),
        (
            "tumbling box",
            Shape::Box { half_extents: v(0.1, 0.15, 0.05) },
            v(-1.0, 0.1, 0.4),
            v(1.5, 0.2, 0.0),
            v(3.0, 5.0, 1.0),
        ),
        (
            "tumbling cylinder",
            Shape::Cylinder { radius: 0.1, half_length: 0.1 },
            v(-1.0, 0.1, 0.3),
            v(1.5, 0.2, 0.0),
            v(1.0, 4.0, 2.0),
        ),
        (
            "rolling capsule",
            Shape::Capsule { radius: 0.1, half_length: 0.1 },
            v(-1.0, 0.1, 0.21),
            v(1.0, 0.2, 0.0),
            v(0.0, 1.0, 0.5),
        ),
        (
            "tumbling cone",
            Shape::Cone { radius: 0.1, half_length: 0.1 },
            v(-1.0, 0.1, 0.3),
            v(1.5, 0.2, 0.0),
            v(1.0, 4.0, 2.0),
        ),
        (
            "tumbling hull",
            Shape::Hull { points },
            v(-1.0, 0.1, 0.3),
            v(1.5, 0.2, 0.0),
            v(1.0, 4.0, 2.0),
        ),
        (
            "tumbling bracket of mesh",
            bracket.shape(1),
            v(-1.0, 0.1, 0.3),
            v(1.5, 0.2, 0.0),
            v(1.0, 4.0, 2.0),
        ),
    ];
    for (name, shape, at, velocity, spin) in bodies {
        let ends = [floor("half-space", 0.3, 0.0), ground_of_mesh(0.3)].map(|mut scene| {
            let body = Body::rigid(name, Mass::cuboid(1.0, DVec3::splat(0.2)))
                .at(at)
                .moving(velocity, spin);
            let id = scene.add_body_with_shape(body, shape.clone());
            let mut stepper = Stepper::new(&scene, Settings::with_time_step(2e-3)).unwrap();
            let mut state = State::initial(&scene);
            let mut path = vec![];
            for _ in 0..300 {
                assert!(stepper.step(&scene, &mut state).unwrap().accepted, "{name}");
                path.push(state.pose(id).position);
            }
            path
        });
        let apart = ends[0].iter().zip(&ends[1]).map(|(p, q)| p.distance(*q)).fold(0.0, f64::max);
        assert!(apart < 1e-9, "{name}: {apart} m apart");
    }
}

/// A body that had sunk into another was reported with a clean verdict, step after step, because
/// the algebra of its wrong problem was solved well.
#[test]
fn a_deep_overlap_is_not_accepted() {
    let mut scene = floor("overlap", 0.3, 0.0);
    cuboid(&mut scene, "lower", 1.0, DVec3::splat(0.2), v(0.0, 0.0, 0.1));
    cuboid(&mut scene, "upper", 1.0, DVec3::splat(0.2), v(0.0, 0.0, 0.25));
    let mut stepper = Stepper::new(&scene, Settings::with_time_step(1e-3)).unwrap();
    let mut state = State::initial(&scene);
    let verdict = stepper.step(&scene, &mut state).unwrap();
    assert!(!verdict.accepted);
    let reason = verdict.overlap.expect("they overlap by a quarter").reason(&scene);
    assert!(reason.contains("lower and upper overlap by 5.000e-2 m"), "{reason}");
}

/// A box that began 5 mm inside the floor left it at 1 m/s: an overlap was a velocity, and the
/// velocity stayed. Positions are moved now, at that speed, and nothing is left of it
/// (`nonsense.rs` has piles, joints and walls).
#[test]
fn a_box_that_begins_in_the_floor_does_not_jump() {
    let mut scene = floor("sunk", 0.3, 0.0);
    let id = cuboid(&mut scene, "box", 1.0, DVec3::splat(0.2), v(0.0, 0.0, 0.095));
    let mut stepper = Stepper::new(&scene, Settings::with_time_step(1e-3)).unwrap();
    let mut state = State::initial(&scene);
    for _ in 0..50 {
        stepper.step(&scene, &mut state).unwrap();
        let height = state.pose(id).position.z;
        assert!(height < 0.1 + 1e-5 && state.v[2].abs() < 5e-3, "{height} m, {} m/s", state.v[2]);
    }
}

/// Five balls 0.3 mm apart lost a third of their energy in the step in which the first one hit: the
/// others closed in that step too, but had not been closing when it began, and were treated as
/// landing (`impacts.rs` has rows, cradles and friction).
#[test]
fn a_blow_through_gaps_keeps_its_energy() {
    let mut scene = Scene::new("row");
    scene.gravity = DVec3::ZERO;
    (scene.materials[0].mu, scene.materials[0].restitution) = (0.0, 1.0);
    for i in 0..5 {
        common::ball(
            &mut scene,
            &format!("ball {i}"),
            1.0,
            0.01,
            v(f64::from(i) * 0.0203, 0.0, 0.0),
        );
    }
    scene.bodies[1].velocity = DVec3::X;
    let end = run(&scene, Settings::with_time_step(2e-3), 3);
    assert!((end.energy.kinetic - 0.5).abs() < 1e-9, "{} J of 0.5 J", end.energy.kinetic);
}

/// A body of 1e-300 kg moved with "0 J" and a clean verdict, because its energies are no numbers.
#[test]
fn a_mass_without_energy_is_refused() {
    let mut scene = Scene::new("speck");
    common::ball(&mut scene, "speck", 1e-300, 0.1, DVec3::ZERO);
    assert!(
        Stepper::new(&scene, Settings::default()).is_err_and(|e| e.to_string().contains("speck"))
    );
}

/// A ball on a plane that a ten-millionth of g pulls at never moved with `newton`: its guess kept
/// the last velocities, and what one step adds to them was within the tolerance, step after step
/// (`unique.rs` has blocks and other methods).
#[test]
fn a_small_force_moves_a_ball_in_the_end() {
    let mut scene = floor("pulled", 0.0, 0.0);
    scene.gravity.x = 1e-7 * 9.81;
    let ball = common::ball(&mut scene, "ball", 1.0, 0.1, v(0.0, 0.0, 0.1));
    let settings = Settings { solver: Method::Newton, ..Settings::with_time_step(1e-3) };
    let x = run(&scene, settings, 1000).position(ball).x;
    assert!((x - 0.5 * scene.gravity.x).abs() < 1e-9, "{x:e} m");
}

/// Ten balls stood by one exact method and fell by another, with a clean verdict in both: two exact
/// motions, and the choice was left to the method (`unique.rs` has other pyramids and steps).
#[test]
fn a_pyramid_of_ten_balls_stands_with_every_exact_method() {
    let mut scene = floor("pyramid", 1.02 * 0.4457, 0.0);
    let r = 0.1;
    let (a, b) = (v(2.0 * r, 0.0, 0.0), v(r, r * 3f64.sqrt(), 0.0));
    let up = (a + b) / 3.0 + v(0.0, 0.0, 2.0 * r * (2.0f64 / 3.0).sqrt());
    for layer in 0..3 {
        for (i, j) in (0..3 - layer).flat_map(|i| (0..3 - layer - i).map(move |j| (i, j))) {
            let at = f64::from(i) * b + f64::from(j) * a + f64::from(layer) * up;
            let name = format!("ball {}", scene.bodies.len());
            common::ball(&mut scene, &name, 1.0, r, at + r * DVec3::Z);
        }
    }
    for solver in [Method::Auto, Method::Newton, Method::InteriorPoint] {
        let settings = Settings { solver, ..Settings::with_time_step(5e-3) };
        let end = run(&scene, settings, 200);
        let top = BodyId(10);
        assert_eq!(end.position(top), scene.bodies[10].pose.position, "{}", solver.name());
    }
}

/// The foot of a finger sank 1.3 mm into the floor where it fell from one corner onto the next: of
/// many corners near the floor the outermost in eight directions were kept, here those of a rim
/// above the foot, which never comes down.
#[test]
fn a_foot_below_a_wider_rim_tilts_onto_the_floor_and_not_into_it() {
    let ring = |radius: f64, z: f64, count: u32| {
        (0..count).map(move |i| {
            let angle = std::f64::consts::TAU * f64::from(i) / f64::from(count);
            v(radius * angle.cos(), radius * angle.sin(), z)
        })
    };
    let points: Vec<DVec3> =
        ring(0.05, 0.0, 12).chain(ring(0.055, 0.006, 16)).chain([v(0.0, 0.0, 0.03)]).collect();
    let mut scene = floor("foot", 0.5, 0.0);
    // On its corner at +x; the one at -x is 5 mm up.
    let tilt = 0.05;
    let turn = glam::DQuat::from_rotation_y(tilt);
    let place = Pose::new(v(0.0, 0.0, 0.05 * f64::sin(tilt)), turn);
    let shape = Shape::Hull { points: points.clone() };
    let surface = SurfaceMaterial::default();
    let solid = Solid { shape, pose: Pose::IDENTITY, density: 1000.0, surface };
    let foot = scene.add_solid("foot", place, &[solid]).unwrap();
    let body = scene.bodies[foot.index()].clone();
    // It turns about that corner: -x would go 10 mm down within the step.
    let spin = v(0.0, -20.0, 0.0);
    let corner = place.point(v(0.05, 0.0, 0.0));
    let velocity = spin.cross(body.pose.position - corner);
    let center = body.origin;
    scene.bodies[foot.index()] = body.moving(velocity, spin);
    let end = run(&scene, Settings::with_time_step(5e-3), 1);
    let place = end.state.pose(foot);
    let lowest = points.iter().map(|p| place.point(*p + center).z).fold(f64::INFINITY, f64::min);
    // What an arc differs from its chord: 5 mm (1 - cos 0.1).
    assert!(lowest > -1e-4, "{lowest} m");
}

/// Boxes at rest crept and were refused in most steps with mu = 1e20, and so were those that fall
/// onto an edge: of a contact that sticks the estimate took tangential rounding times mu for a
/// speed of sliding, and the methods worked with reactions of rounding times mu.
#[test]
fn friction_of_any_size_holds() {
    for mu in [10.0, 1e4, 1e10, 1e20, 1e100] {
        for (height, tilt, velocity) in
            [(0.1, 0.0, DVec3::ZERO), (0.1, 0.0, DVec3::X), (0.25, 0.5, v(1.0, 0.3, -1.0))]
        {
            let mut scene = floor("rough", mu, 0.0);
            let body = cuboid(&mut scene, "box", 8.0, DVec3::splat(0.2), v(0.0, 0.0, height));
            let pose = Pose::new(v(0.0, 0.0, height), glam::DQuat::from_rotation_y(tilt));
            let there = scene.bodies[body.index()].clone();
            scene.bodies[body.index()] = Body { pose, ..there }.moving(velocity, DVec3::ZERO);
            // `run` asks every step to be accepted.
            let end = run(&scene, Settings::with_time_step(2e-3), 400);
            let z = end.position(body).z;
            assert!(z > 0.1 - 1e-7, "mu {mu:e}, {height} m: {z} m");
            if velocity == DVec3::ZERO {
                assert_eq!(end.velocity(body), DVec3::ZERO, "mu {mu:e}");
            }
        }
    }
}
