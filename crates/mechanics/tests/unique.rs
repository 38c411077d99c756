//! Where Coulomb's law allows several motions or reactions, the step takes the same one with every
//! method.

mod common;

use common::{Run, ball, cuboid, floor, run};
use glam::{DQuat, DVec3};
use signorini_mechanics::assemble::Source;
use signorini_mechanics::geometry::Shape;
use signorini_mechanics::scene::*;
use signorini_mechanics::step::{Settings, Stepper};
use signorini_solve::math::pose::Pose;
use signorini_solve::solve::Method;

const EXACT: [Method; 3] = [Method::Auto, Method::Newton, Method::InteriorPoint];

/// A triangular pyramid of balls of 1 kg: 4, 10, 20, … of them.
fn pyramid(layers: u32, mu: f64) -> Scene {
    let mut scene = floor("pyramid", mu, 0.0);
    let radius = 0.1;
    let (a, b) = (DVec3::X * 2.0 * radius, DVec3::new(radius, radius * 3f64.sqrt(), 0.0));
    let up = (a + b) / 3.0 + DVec3::Z * 2.0 * radius * (2.0f64 / 3.0).sqrt();
    for layer in 0..layers {
        for i in 0..layers - layer {
            for j in 0..layers - layer - i {
                let at = f64::from(i) * b + f64::from(j) * a + f64::from(layer) * up;
                let name = format!("ball {}", scene.bodies.len());
                ball(&mut scene, &name, 1.0, radius, at + radius * DVec3::Z);
            }
        }
    }
    scene
}

/// How far any ball is from where it began, m.
fn moved(scene: &Scene, run: &Run) -> f64 {
    let far = |i: usize| {
        let id = BodyId(i as u32);
        run.position(id).distance(scene.bodies[i].pose.position)
    };
    (1..scene.bodies.len()).map(far).fold(0.0, f64::max)
}

/// The static limits are those of limit analysis. Above them an exact motion falls too.
#[test]
fn pyramids_stand_above_their_static_limit_and_fall_below() {
    for (layers, limit) in [(2, 0.3178), (3, 0.4457), (4, 0.505)] {
        for method in EXACT {
            let settings = Settings { solver: method, ..Settings::with_time_step(5e-3) };
            let scene = pyramid(layers, 1.02 * limit);
            let stands = moved(&scene, &run(&scene, settings.clone(), 1000));
            assert!(stands == 0.0, "{layers} layers, {}: {stands:.1e} m", method.name());
            let scene = pyramid(layers, 0.98 * limit);
            let falls = moved(&scene, &run(&scene, settings, 100));
            assert!(falls > 1e-3, "{layers} layers, {}: {falls:.1e} m", method.name());
        }
    }
}

/// Two exact motions are said to be two, whichever of them the method found.
#[test]
fn a_pyramid_that_stands_and_falls_exactly_is_not_unique() {
    for (layers, limit) in [(3, 0.4457), (4, 0.505)] {
        for method in EXACT {
            let scene = pyramid(layers, 1.02 * limit);
            let settings = Settings { solver: method, ..Settings::with_time_step(5e-3) };
            let mut stepper = Stepper::new(&scene, settings).unwrap();
            let mut state = State::initial(&scene);
            let verdict = stepper.step(&scene, &mut state).unwrap();
            assert!(verdict.accepted);
            let words = verdict.ambiguity(&scene);
            let words = words.unwrap_or_else(|| panic!("{layers} layers, {}", method.name()));
            assert!(words.contains("not unique: contact") && words.contains("ball"), "{words}");
            // Afterwards it rests, and nothing is to be chosen.
            let verdict = stepper.step(&scene, &mut state).unwrap();
            assert!(verdict.accepted && verdict.not_unique.is_none());
        }
    }
}

/// What has one motion alone is not said to have two: blocks on inclines below their limit, and
/// pyramids with friction to spare.
#[test]
fn what_can_only_stick_is_unique() {
    for method in EXACT {
        let settings = Settings { solver: method, ..Settings::with_time_step(5e-3) };
        let mut scenes = vec![pyramid(3, 4.0)];
        for ratio in [0.0, 0.5, 0.99] {
            let angle = (0.5f64 * ratio).atan();
            let mut scene = floor("incline", 0.5, 0.0);
            scene.gravity = 9.81 * DVec3::new(angle.sin(), 0.0, -angle.cos());
            let edges = DVec3::new(0.2, 0.2, 0.05);
            cuboid(&mut scene, "block", 1.0, edges, DVec3::Z * 0.025);
            scenes.push(scene);
        }
        for scene in scenes {
            let mut stepper = Stepper::new(&scene, settings.clone()).unwrap();
            let mut state = State::initial(&scene);
            for step in 0..20 {
                let verdict = stepper.step(&scene, &mut state).unwrap();
                let said = verdict.ambiguity(&scene);
                assert!(said.is_none(), "{} {step} {}: {said:?}", scene.name, method.name());
            }
        }
    }
}

/// A rod of length 1 m whose lower end slides towards it at 1 m/s.
fn rod(mu: f64, tangent: f64) -> Scene {
    let mut scene = floor("rod", mu, 0.0);
    let angle = f64::atan(tangent);
    let (half, radius) = (0.5, 1e-9);
    let body = Body::rigid("rod", Mass::new(1.0, DVec3::new(1e-3, 1.0 / 12.0, 1.0 / 12.0)))
        .at(DVec3::Z * (half * angle.sin() + radius))
        .turned(DQuat::from_rotation_y(-angle))
        .moving(-DVec3::X, DVec3::ZERO);
    let rod = scene.add_body(body);
    let tip = Pose::at(-half * DVec3::X);
    scene.add_collider(rod, Shape::Sphere { radius }, tip, SurfaceMaterial::default());
    scene
}

/// `1 + 3 cos θ (cos θ − mu sin θ) < 0` is Painlevé's paradox: no motion slides on.
#[test]
fn a_jammed_rod_is_named() {
    for (mu, tangent, jams) in [(0.5, 2.0, false), (1.2, 2.0, false), (2.0, 2.0, true)] {
        let scene = rod(mu, tangent);
        let mut stepper = Stepper::new(&scene, Settings::with_time_step(1e-4)).unwrap();
        let mut state = State::initial(&scene);
        let verdict = stepper.step(&scene, &mut state).unwrap();
        let said = verdict.ambiguity(&scene);
        assert_eq!(said.is_some(), jams, "mu {mu}: {said:?}");
        assert!(said.is_none_or(|words| words.contains("Painlevé")));
    }
}

/// A ten-millionth of g moves what nothing holds: a block without friction, one that carries
/// another one with friction, and a ball that rolls.
#[test]
fn what_nothing_holds_moves_however_small_the_force() {
    let pull = 1e-7 * 9.81;
    for method in EXACT {
        let settings = Settings { solver: method, ..Settings::with_time_step(1e-3) };
        let mut scene = floor("pulled", 0.5, 0.0);
        scene.gravity.x = pull;
        let name = "slippery".into();
        let slippery = scene.add_material(Material { name, mu: 0.0, ..scene.materials[0].clone() });
        scene.surface_materials[0].material = slippery;
        let edges = DVec3::splat(0.1);
        let lower = cuboid(&mut scene, "lower", 1.0, edges, DVec3::Z * 0.05);
        let upper = cuboid(&mut scene, "upper", 1.0, edges, DVec3::Z * 0.15);
        let end = run(&scene, settings.clone(), 2000);
        for body in [lower, upper] {
            let x = end.position(body).x;
            // ½ a t², and a yield of the tolerance over a step in each of two pairs.
            assert!((x - 2.0 * pull).abs() < 4e-9, "{}: {x:e} m", method.name());
        }
        let mut scene = floor("gliding", 0.0, 0.0);
        scene.gravity.x = pull;
        let glides = cuboid(&mut scene, "block", 1.0, edges, DVec3::Z * 0.05);
        let x = run(&scene, settings.clone(), 2000).position(glides).x;
        assert!((x - 2.0 * pull).abs() < 4e-9, "{}: {x:e} m", method.name());
        let mut scene = floor("rolling", 0.5, 0.0);
        scene.gravity.x = pull;
        let rolls = ball(&mut scene, "ball", 1.0, 0.1, DVec3::Z * 0.1);
        let x = run(&scene, settings, 2000).position(rolls).x;
        assert!((x - 2.0 * pull * 5.0 / 7.0).abs() < 1e-9, "{}: {x:e} m", method.name());
    }
}

/// Half a thousandth beside the limit: rest is exact, and motion is that of the closed form.
#[test]
fn an_incline_holds_below_its_limit_and_lets_go_above() {
    let (mu, h, steps) = (0.5f64, 2e-3, 1000);
    let t = h * steps as f64;
    for method in EXACT {
        for ratio in [0.999, 1.001] {
            let angle = (mu * ratio).atan();
            let mut scene = floor("incline", mu, 0.0);
            scene.gravity = 9.81 * DVec3::new(angle.sin(), 0.0, -angle.cos());
            let edges = DVec3::new(0.2, 0.2, 0.05);
            let block = cuboid(&mut scene, "block", 1.0, edges, DVec3::Z * 0.025);
            let settings = Settings { solver: method, ..common::exact(h) };
            let x = run(&scene, settings, steps).position(block).x;
            let slides = 0.5 * t * t * 9.81 * (angle.sin() - mu * angle.cos());
            let wanted = if ratio > 1.0 { slides } else { 0.0 };
            // 1e-9 m/s of the solver over 2 s.
            assert!((x - wanted).abs() < 2e-9, "{} {ratio}: {x:e}, {wanted:e}", method.name());
        }
    }
}

/// A block on two sides of which fingers press, in the middle of nothing: by friction alone.
fn grip() -> (Scene, BodyId, [BodyId; 2]) {
    let mut scene = floor("grip", 0.5, 0.0);
    let block = cuboid(&mut scene, "block", 1.0, DVec3::new(0.06, 0.08, 0.1), DVec3::Z * 1.0);
    let fingers = [-1.0, 1.0].map(|side| {
        let name = if side < 0.0 { "left" } else { "right" };
        let at = DVec3::new(side * 0.035, 0.0, 1.0);
        let finger = cuboid(&mut scene, name, 0.2, DVec3::new(0.01, 0.03, 0.14), at);
        let slide = frame(at, DVec3::X);
        scene.add_joint(name, JointKind::Prismatic, (BodyId::GROUND, finger), slide);
        let push = [-12.0 * side, 0.0, 0.0].map(Function::Constant);
        let applied = Applied {
            body: finger,
            point: DVec3::ZERO,
            force: push,
            torque: Default::default(),
            frame: Frame::World,
        };
        scene.add_force(name, ForceKind::Applied(Box::new(applied)));
        finger
    });
    (scene, block, fingers)
}

/// What is mirror-symmetric stays so.
#[test]
fn a_symmetric_grip_stays_symmetric() {
    for method in EXACT {
        for h in [4e-3, 1e-3] {
            let (scene, block, [left, right]) = grip();
            let settings = Settings { solver: method, ..Settings::with_time_step(h) };
            let end = run(&scene, settings, (5.0 / h) as usize);
            let (at, q) = (end.position(block), end.state.pose(block).orientation);
            let off = end.position(left).x + end.position(right).x;
            let found = format!("{} {h}: {at} {q} {off:e}", method.name());
            assert!(at.x.abs() < 1e-9 && at.y.abs() < 1e-9 && off.abs() < 1e-9, "{found}");
            assert!(DVec3::new(q.x, q.y, q.z).length() < 1e-9, "{found}");
            // It is held, to a yield of the tolerance over a step.
            assert!((at.z - 1.0).abs() < 1e-8, "{found}");
        }
    }
}

/// A semicircular arch of equal voussoirs between radii 0.8 m and 1.2 m, on two springers that are
/// fixed; bodies from left to right.
fn arch(count: usize) -> (Scene, Vec<BodyId>) {
    let mut scene = floor("arch", 0.7, 0.0);
    scene.colliders.clear();
    scene.surface_materials.clear();
    let angle = |i: usize| std::f64::consts::PI * i as f64 / count as f64;
    let corner = |i: usize, radius: f64, y: f64| {
        // Mirror images to the last bit: the right half is made of the left one.
        let (a, side) = if 2 * i <= count { (angle(i), -1.0) } else { (angle(count - i), 1.0) };
        let x = if 2 * i == count { 0.0 } else { side * radius * a.cos() };
        DVec3::new(x, y, radius * a.sin())
    };
    let stone = |i: usize| -> Vec<DVec3> {
        let ends = [(i, 0.8), (i, 1.2), (i + 1, 0.8), (i + 1, 1.2)];
        ends.into_iter().flat_map(|(i, r)| [-0.1, 0.1].map(|y| corner(i, r, y))).collect()
    };
    let bodies = (0..count).map(|i| {
        let mut points = stone(i);
        let (mirror, own) = (stone(count - 1 - i), points.clone());
        let mean = |p: &[DVec3]| p.iter().sum::<DVec3>() / p.len() as f64;
        let (m, o) = (mean(&mirror), mean(&own));
        let middle = DVec3::new(0.5 * (o.x - m.x), 0.0, 0.5 * (o.z + m.z));
        points.iter_mut().for_each(|p| *p -= middle);
        let body = Body::rigid(format!("stone {i}"), Mass::new(10.0, DVec3::splat(0.2)));
        scene.add_body_with_shape(body.at(middle), Shape::Hull { points })
    });
    let bodies: Vec<BodyId> = bodies.collect();
    for (name, side) in [("left springer", -1.0), ("right springer", 1.0)] {
        let springer = scene.add_body(Body::fixed(name).at(DVec3::new(side, 0.0, -0.1)));
        let half_extents = DVec3::new(0.3, 0.2, 0.1);
        let shape = Shape::Box { half_extents };
        scene.add_collider(springer, shape, Pose::IDENTITY, SurfaceMaterial::default());
    }
    (scene, bodies)
}

/// The stones of an arch push each other in many ways; the mirror image is one of them.
#[test]
fn a_symmetric_arch_stays_symmetric() {
    for method in EXACT {
        let (scene, stones) = arch(9);
        let settings = Settings { solver: method, ..Settings::with_time_step(2e-3) };
        let end = run(&scene, settings, 2500);
        let mut off = 0.0f64;
        for (left, right) in stones.iter().zip(stones.iter().rev()) {
            let (a, b) = (end.position(*left), end.position(*right));
            off = off.max((a * DVec3::new(-1.0, 1.0, 1.0) - b).length());
        }
        let far = moved(&scene, &end);
        assert!(far < 1e-6, "{}: moved by {far:.1e} m", method.name());
        assert!(off < 1e-9, "{}: {off:.1e} m off its mirror image", method.name());
    }
}

/// Two fingers whose motors push with 12 N at most lift a box of 1 kg by 20 cm.
fn gripper() -> (Scene, BodyId) {
    let mut scene = floor("gripper", 0.5, 0.0);
    let edges = DVec3::new(0.06, 0.08, 0.1);
    let held = cuboid(&mut scene, "box", 1.0, edges, DVec3::Z * 0.05);
    let edges = DVec3::new(0.2, 0.04, 0.04);
    let palm = cuboid(&mut scene, "palm", 2.0, edges, DVec3::Z * 0.2);
    let up = frame(DVec3::Z * 0.2, DVec3::Z);
    let lift = scene.add_joint("lift", JointKind::Prismatic, (BodyId::GROUND, palm), up);
    let path = Function::SmoothStep { from: 0.0, to: 0.2, start: 0.5, duration: 1.0 };
    scene.add_motor("hoist", lift, Coordinate::Slide, Drive::Position(path));
    for (name, side) in [("left", -1.0), ("right", 1.0)] {
        let at = DVec3::new(side * 0.06, 0.0, 0.1);
        let finger = cuboid(&mut scene, name, 0.2, DVec3::new(0.01, 0.03, 0.14), at);
        let inwards = frame(at, -side * DVec3::X);
        let slide = scene.add_joint(name, JointKind::Prismatic, (palm, finger), inwards);
        let speed = Function::Constant(0.1);
        let drive = Drive::LimitedSpeed { speed, effort: 12.0 };
        scene.add_motor(name, slide, Coordinate::Slide, drive);
    }
    (scene, held)
}

/// Friction has 22 % to spare.
#[test]
fn a_gripper_holds_its_box_at_every_step() {
    for method in EXACT {
        for h in [4e-3, 1e-3] {
            let (scene, held) = gripper();
            let settings = Settings { solver: method, ..Settings::with_time_step(h) };
            let z = run(&scene, settings, (2.5 / h) as usize).position(held).z;
            // The yield of a step, 1e-6 m/s over 2.5 s, were it always on one side.
            assert!((z - 0.25).abs() < 2.5e-6, "{} {h} s: {z} m", method.name());
        }
    }
}

/// Reactions that are not unique are those of equal springs, whatever the method and the steps
/// before: both fingers carry half of the weight, also after one of them came first.
#[test]
fn fingers_share_the_weight_evenly() {
    for method in EXACT {
        let (scene, held) = gripper();
        let settings = Settings { solver: method, ..Settings::with_time_step(2e-3) };
        let mut stepper = Stepper::new(&scene, settings).unwrap();
        let mut state = State::initial(&scene);
        let (steps, mut factorizations) = (1250, 0u64);
        for _ in 0..steps {
            factorizations += stepper.step(&scene, &mut state).unwrap().counts.factorizations;
        }
        // What each finger gives to the box, upwards, N.
        let (assembly, r) = (stepper.assembly(), &stepper.solution().r);
        let up = stepper.layout().velocities[held.index()].unwrap() + 2;
        let mut lifts = vec![0.0; scene.bodies.len()];
        for (block, source) in assembly.problem.J.blocks().zip(&assembly.sources) {
            let Source::Contact(a, b, _) = *source else { continue };
            let finger = if a == held { b } else { a };
            for (row, i) in block.range().enumerate() {
                let columns = block.columns.iter().zip(block.row(row));
                let of_box = columns.filter(|(c, _)| **c == up).map(|(_, x)| x * r[i] / 2e-3);
                lifts[finger.index()] += of_box.sum::<f64>();
            }
        }
        let lifts: Vec<f64> = lifts.into_iter().filter(|lift| *lift != 0.0).collect();
        assert_eq!(lifts.len(), 2);
        for lift in &lifts {
            // Rows that yield by a thousandth of what a unit impulse moves them share to as much.
            assert!((lift / 4.905 - 1.0).abs() < 1e-3, "{}: {lifts:?} N", method.name());
        }
        // Two convex problems in a step that moves, each a few factorizations; a method that looks
        // for the answer among its pieces takes some sixty.
        assert!(factorizations < 10 * steps, "{}: {factorizations}", method.name());
    }
}
