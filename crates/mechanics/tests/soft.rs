//! Soft bodies: facts of elasticity, of contact, and of the balance sheet.

use glam::{DMat3, DQuat, DVec3};
use signorini_mechanics::assemble::tetrahedron::{Lame, Tetrahedron};
use signorini_mechanics::assemble::{Assembly, Friction, Penalty, Scheme, StepInput, Treatment};
use signorini_mechanics::geometry::{Shape, Tetrahedra};
use signorini_mechanics::scene::*;
use signorini_mechanics::step::{Settings, Stepper};
use signorini_solve::math::pose::Pose;
use signorini_solve::solve::Method;

fn rubber() -> Elastic {
    Elastic::default()
}

fn empty(name: &str) -> Scene {
    Scene { gravity: DVec3::ZERO, ..Scene::new(name) }
}

fn floor(scene: &mut Scene) {
    scene.add_collider(
        BodyId::GROUND,
        Shape::HalfSpace,
        Pose::IDENTITY,
        SurfaceMaterial::default(),
    );
}

fn constant(force: DVec3) -> [Function; 3] {
    force.to_array().map(Function::Constant)
}

/// The elastic forces of a state, node by node, N.
fn forces(scene: &Scene, state: &State) -> Vec<f64> {
    let layout = Layout::of(scene);
    let mut now = StepInput::default();
    now.set(scene, &layout, state, 1.0);
    now.node_velocities.fill(DVec3::ZERO);
    let mut assembly = Assembly::new(scene, &layout);
    assembly.assemble(scene, &layout, &now, &Scheme::default(), &[]);
    assembly.problem.k
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m, x| x.abs().max(m))
}

fn shaken(k: usize) -> DVec3 {
    let a = k as f64;
    DVec3::new((a * 1.7).sin(), (a * 2.3).cos(), (a * 0.9).sin())
}

#[test]
fn the_element_against_central_differences() {
    let lame = Lame { lambda: 3.0, mu: 2.0 };
    let rest = [DVec3::ZERO, DVec3::X, DVec3::new(0.2, 1.1, 0.0), DVec3::new(0.3, 0.1, 0.9)];
    let element = Tetrahedron::new(rest);
    let turn = DQuat::from_axis_angle(DVec3::new(1.0, 2.0, -0.5).normalize(), 2.1);
    for k in 0..20 {
        // Stretched in all directions, so that no coefficient of the rotation's derivative is cut
        // off.
        let x: [DVec3; 4] =
            std::array::from_fn(|a| turn * (rest[a] * 1.4 + 0.12 * shaken(4 * k + a)));
        let warp = element.warp(x, lame);
        let found = warp.forces(element.volume);
        // Differences of step 1e-5: third derivatives of order 10 leave 1e-9, rounding 1e-10.
        let t = 1e-5;
        for b in 0..4 {
            for j in 0..3 {
                let moved = |s: f64| {
                    let mut y = x;
                    y[b][j] += s;
                    element.warp(y, lame)
                };
                let (plus, minus) = (moved(t), moved(-t));
                let slope = (plus.energy - minus.energy) / (2.0 * t);
                assert!(
                    (slope + found[b][j]).abs() < 1e-8,
                    "force {b} {j}: {slope} {}",
                    -found[b][j]
                );
                let (fp, fm) = (plus.forces(element.volume), minus.forces(element.volume));
                for a in 0..4 {
                    let column = warp.stiffness(a, b, element.volume, lame).col(j);
                    let slope = (fp[a] - fm[a]) / (2.0 * t);
                    assert!(
                        (slope + column).length() < 1e-7,
                        "stiffness {a} {b} {j}: {slope} {column}"
                    );
                }
            }
        }
        // The product with the stiffness is the product with its blocks.
        let v: [DVec3; 4] = std::array::from_fn(|a| shaken(100 + 4 * k + a));
        let product = warp.stiffness_times(&v, element.volume, lame);
        for a in 0..4 {
            let sum: DVec3 =
                (0..4).map(|b| warp.stiffness(a, b, element.volume, lame) * v[b]).sum();
            assert!((sum - product[a]).length() < 1e-13);
        }
    }
}

#[test]
fn the_stiffness_is_never_negative() {
    let lame = Lame { lambda: 3.0, mu: 2.0 };
    let rest = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z];
    let element = Tetrahedron::new(rest);
    for k in 0..200 {
        // Crushed, inverted, torn apart.
        let x: [DVec3; 4] =
            std::array::from_fn(|a| rest[a] * (0.3 * (k as f64).sin()) + 0.5 * shaken(4 * k + a));
        let warp = element.warp(x, lame);
        let v: [DVec3; 4] = std::array::from_fn(|a| shaken(7 * k + a));
        let product = warp.stiffness_times(&v, element.volume, lame);
        let quadratic: f64 = (0..4).map(|a| v[a].dot(product[a])).sum();
        assert!(quadratic > -1e-12, "{k}: {quadratic}");
        let sum: DVec3 = warp.forces(element.volume).iter().sum();
        let moment: DVec3 =
            warp.forces(element.volume).iter().zip(x).map(|(f, x)| x.cross(*f)).sum();
        // Rounding of forces of order 10.
        assert!(sum.length() < 1e-13 && moment.length() < 1e-13, "{k}: {sum} {moment}");
    }
}

#[test]
fn the_patch_test_is_exact_to_rounding() {
    // A uniform strain of an irregular mesh is in equilibrium: inner nodes feel no force, whatever
    // the rotation.
    let mut mesh = Tetrahedra::block([3, 3, 3], DVec3::splat(0.3));
    let inner: Vec<u32> = (0..64)
        .filter(|&n| mesh.nodes[n as usize].to_array().iter().all(|x| *x > 0.05 && *x < 0.25))
        .collect();
    assert_eq!(inner.len(), 8);
    for &n in &inner {
        mesh.nodes[n as usize] += 0.02 * shaken(n as usize);
    }
    mesh.check().unwrap();
    let mut scene = empty("patch");
    scene.add_soft("block", Soft::new(mesh, rubber()), None);
    let layout = Layout::of(&scene);
    let mut state = State::initial(&scene);
    let turn = DMat3::from_axis_angle(DVec3::new(1.0, 1.0, 0.3).normalize(), 1.2);
    let strain = DMat3::from_cols(
        DVec3::new(1.02, 0.004, 0.0),
        DVec3::new(0.004, 0.99, -0.003),
        DVec3::new(0.0, -0.003, 1.01),
    );
    for (n, x) in scene.softs[0].mesh.nodes.clone().iter().enumerate() {
        state.set_node(&layout, n, turn * strain * *x + DVec3::new(1.0, -2.0, 0.5));
    }
    let found = forces(&scene, &state);
    let surface = largest(&found);
    for &n in &inner {
        // Stress · area times a few roundings, of coordinates that lie 2 m away from a mesh of 0.1
        // m.
        let force = largest(&found[3 * n as usize..3 * n as usize + 3]);
        assert!(
            force < 1e-12 * surface.max(1.0) * 100.0 && force < 1e-8,
            "node {n}: {force} of {surface}"
        );
    }
    assert!(surface > 100.0, "the strain does press on the boundary: {surface} N");
}

#[test]
fn a_rotation_by_a_right_angle_makes_no_force() {
    let mut scene = empty("turned");
    scene.add_soft(
        "block",
        Soft::new(Tetrahedra::block([3, 2, 2], DVec3::new(0.3, 0.2, 0.2)), rubber()),
        None,
    );
    let layout = Layout::of(&scene);
    let mut state = State::initial(&scene);
    for (axis, angle) in
        [(DVec3::Y, 90.0f64), (DVec3::Z, 90.0), (DVec3::new(1.0, 1.0, 1.0).normalize(), 179.0)]
    {
        let turn = DQuat::from_axis_angle(axis, angle.to_radians());
        for (n, x) in scene.softs[0].mesh.nodes.clone().iter().enumerate() {
            state.set_node(&layout, n, turn * *x);
        }
        // Young's modulus times area is 4e5 N: 1e-14 of it.
        assert!(
            largest(&forces(&scene, &state)) < 1e-8,
            "{axis} {angle}: {}",
            largest(&forces(&scene, &state))
        );
    }
}

/// A cantilever along x with a force at its free end; returns the deflection of the end.
fn cantilever(cells: [usize; 3], force: f64, poisson: f64) -> f64 {
    let (length, side) = (1.0, 0.2);
    let mut scene = empty("cantilever");
    let mesh = Tetrahedra::block(cells, DVec3::new(length, side, side));
    let mut soft = Soft::new(mesh, Elastic { poisson, ..rubber() }).holding(|x| x.x < 1e-9);
    let end = soft.nodes_where(|x| x.x > length - 1e-9);
    // The shear stress of the end section, spread over its nodes by their share of the area.
    let weight = |n: u32| {
        let x = soft.mesh.nodes[n as usize];
        let half = |t: f64| if t < 1e-9 || t > side - 1e-9 { 0.5 } else { 1.0 };
        half(x.y) * half(x.z)
    };
    let total: f64 = end.iter().map(|&n| weight(n)).sum();
    let nodes = end.iter().map(|&n| (n, weight(n) / total)).collect();
    soft.loads.push(Load { nodes, force: constant(DVec3::new(0.0, 0.0, -force)) });
    let tip = soft.nearest(DVec3::new(length, 0.5 * side, 0.5 * side));
    scene.add_soft("beam", soft, None);
    // Steps so long that inertia means nothing: the second one is at rest.
    let mut stepper = Stepper::new(&scene, Settings::with_time_step(1e3)).unwrap();
    let mut state = State::initial(&scene);
    for _ in 0..2 {
        stepper.step(&scene, &mut state).unwrap();
    }
    let before = scene.softs[0].mesh.nodes[tip as usize].z;
    before - state.node(stepper.layout(), tip as usize).z
}

#[test]
fn a_cantilever_bends_as_timoshenko_says_and_converges() {
    let (length, side, force) = (1.0f64, 0.2f64, 1.0);
    let (young, area) = (1e7, side * side);
    let inertia = side.powi(4) / 12.0;
    // Poisson's ratio 0: the clamped end does not hinder contraction, and the beam's theory is
    // exact but for its ends.
    let bernoulli = force * length.powi(3) / (3.0 * young * inertia);
    let timoshenko = bernoulli + force * length / (5.0 / 6.0 * 0.5 * young * area);
    let found = [[10, 2, 2], [20, 4, 4], [40, 8, 8]].map(|cells| cantilever(cells, force, 0.0));
    let errors = found.map(|d| 1.0 - d / timoshenko);
    let orders = [(errors[0] / errors[1]).log2(), (errors[1] / errors[2]).log2()];
    println!(
        "deflections {found:?}, errors {errors:?}, orders {orders:?}, Bernoulli {bernoulli:.6e}, \
            Timoshenko {timoshenko:.6e}"
    );
    // Linear elements: the error falls with the square of their size, once there are a few of them
    // across.
    assert!(orders[1] > orders[0] && (1.6..2.2).contains(&orders[1]), "{orders:?}");
    assert!(errors.iter().all(|e| *e > 0.0), "elements are too stiff, ever less: {errors:?}");
    // Extrapolated with its order 2 the deflection is Timoshenko's, and not Bernoulli's (2.3 %
    // less).
    let limit = found[2] + (found[2] - found[1]) / 3.0;
    assert!((limit / timoshenko - 1.0).abs() < 0.01, "{limit} {timoshenko}");
}

#[test]
fn a_free_beam_swings_with_the_frequency_of_its_mesh() {
    let (length, side) = (1.0f64, 0.2f64);
    let cells = [10, 2, 2];
    let mut scene = empty("swing");
    let soft = Soft::new(
        Tetrahedra::block(cells, DVec3::new(length, side, side)),
        Elastic { poisson: 0.0, ..rubber() },
    );
    let soft = Soft { mass: NodeMass::Consistent, ..soft.holding(|x| x.x < 1e-9) };
    let tip = soft.nearest(DVec3::new(length, 0.5 * side, 0.5 * side)) as usize;
    scene.add_soft("beam", soft, None);
    let inertia = side.powi(4) / 12.0;
    let omega =
        1.875104f64.powi(2) * (1e7 * inertia / (1000.0 * side * side * length.powi(4))).sqrt();
    // Too stiff by as much as the deflection is too small; shear and turning inertia of a thick
    // beam count too (3 EI/(κGAL²), 4 %).
    let timoshenko =
        length.powi(3) / (3.0 * 1e7 * inertia) + length / (5.0 / 6.0 * 0.5e7 * side * side);
    let expected = omega
        * (length.powi(3) / (3.0 * 1e7 * inertia) / timoshenko).sqrt()
        * (timoshenko / cantilever(cells, 1.0, 0.0)).sqrt();
    let h = std::f64::consts::TAU / expected / 400.0;
    let mut stepper = Stepper::new(&scene, Settings::with_time_step(h)).unwrap();
    let mut state = State::initial(&scene);
    // Pushed with the speed of its first mode, roughly (x/L)².
    for n in 0..scene.softs[0].mesh.nodes.len() {
        if let Some(at) = stepper.layout().nodes[n] {
            state.v[at as usize + 2] = 0.01 * (scene.softs[0].mesh.nodes[n].x / length).powi(2);
        }
    }
    let rest = scene.softs[0].mesh.nodes[tip].z;
    let (mut crossings, mut last) = (Vec::new(), 0.0);
    for _ in 0..900 {
        stepper.step(&scene, &mut state).unwrap();
        let z = state.node(stepper.layout(), tip).z - rest;
        if last < 0.0 && z >= 0.0 {
            crossings.push(state.time - h * z / (z - last));
        }
        last = z;
    }
    let found = std::f64::consts::TAU / (crossings[1] - crossings[0]);
    println!(
        "frequency {:.4} Hz, expected of the mesh {:.4} Hz",
        found / std::f64::consts::TAU,
        expected / std::f64::consts::TAU
    );
    // Static stiffness stands for that of the mode within 2 %.
    assert!((found / expected - 1.0).abs() < 0.03, "{found} {expected}");
}

#[test]
fn a_free_body_keeps_its_momentum_and_a_pair_that_collides_too() {
    let mut scene = empty("momentum");
    let mesh = Tetrahedra::block([3, 3, 3], DVec3::splat(0.3));
    scene.add_soft(
        "block",
        Soft { mass: NodeMass::Consistent, ..Soft::new(mesh, rubber()) },
        Some(SurfaceMaterial::default()),
    );
    let ball = Shape::Sphere { radius: 0.1 };
    let striker = Body::rigid("ball", Mass::sphere(2.0, 0.1))
        .at(DVec3::new(0.15, 0.12, 0.45))
        .moving(DVec3::new(0.5, 0.0, -5.0), DVec3::ZERO);
    let id = scene.add_body_with_shape(striker, ball);
    let mut stepper = Stepper::new(
        &scene,
        Settings { solver: Method::InteriorPoint, ..Settings::with_time_step(1e-3) },
    )
    .unwrap();
    let mut state = State::initial(&scene);
    for n in 0..64 {
        let at = stepper.layout().nodes[n].unwrap() as usize;
        (0.2 * shaken(n)).write_to_slice(&mut state.v[at..]);
    }
    let masses = stepper.assembly().meshes[0].masses.clone();
    let momentum = |state: &State, stepper: &Stepper| -> DVec3 {
        // The row sums of M are the lumped masses.
        let soft: DVec3 = masses
            .iter()
            .enumerate()
            .map(|(n, m)| state.node_velocity(stepper.layout(), n) * *m)
            .sum();
        soft + 2.0 * state.twist(stepper.layout(), id).0
    };
    let before = momentum(&state, &stepper);
    let (mut touched, mut residual) = (0, 0.0f64);
    for _ in 0..60 {
        let verdict = stepper.step(&scene, &mut state).unwrap();
        assert!(verdict.accepted, "{:?}", verdict.error);
        touched += usize::from(largest(&stepper.solution().r) > 0.0);
        residual = residual.max(verdict.energy.residual().abs() / verdict.energy.throughput());
    }
    let change = (momentum(&state, &stepper) - before).length();
    assert!(touched > 3, "they met: {touched}");
    // 60 steps of rounding, relative to 10 N s.
    assert!(change < 1e-11, "{change}");
    // The ledger closes: every joule is where it belongs.
    assert!(residual < 1e-11, "{residual}");
    let speed = state.twist(stepper.layout(), id).0.z;
    assert!(speed > -4.0, "the block has slowed the ball: {speed}");
}

#[test]
fn an_inverted_element_comes_back() {
    let mut scene = empty("inverted");
    let elastic = Elastic { mass_damping: 20.0, ..rubber() };
    scene.add_soft(
        "block",
        Soft::new(Tetrahedra::block([2, 2, 2], DVec3::splat(0.2)), elastic),
        None,
    );
    let mut stepper = Stepper::new(&scene, Settings::with_time_step(5e-3)).unwrap();
    let mut state = State::initial(&scene);
    // The middle node out through the lid.
    state.set_node(stepper.layout(), 13, DVec3::new(0.1, 0.1, 0.35));
    for _ in 0..400 {
        stepper.step(&scene, &mut state).unwrap();
    }
    let energy = stepper.assembly().meshes[0].energy();
    assert!(energy < 1e-6, "no energy is left in it: {energy} J");
}

#[test]
fn a_soft_block_slides_as_far_as_coulomb_says_and_its_weight_arrives() {
    let mut scene = Scene::new("slide");
    floor(&mut scene);
    scene.materials[0].mu = 0.3;
    let mut mesh = Tetrahedra::block([3, 3, 1], DVec3::new(0.3, 0.3, 0.1));
    mesh.nodes.iter_mut().for_each(|x| x.z += 1e-5);
    let id = scene.add_soft(
        "block",
        Soft::new(mesh, Elastic { stiffness_damping: 1e-3, ..rubber() }),
        Some(SurfaceMaterial::default()),
    );
    let body = scene.softs[id.index()].body;
    scene.bodies[body.index()].velocity = DVec3::X;
    let mut stepper = Stepper::new(
        &scene,
        Settings { solver: Method::InteriorPoint, ..Settings::with_time_step(2e-3) },
    )
    .unwrap();
    let mut state = State::initial(&scene);
    let start = state.pose(body).position.x;
    for _ in 0..250 {
        assert!(stepper.step(&scene, &mut state).unwrap().accepted);
    }
    let distance = state.pose(body).position.x - start;
    let wanted = 1.0 / (2.0 * 0.3 * 9.81);
    // Two steps of the way at full speed, and the block leans while it slides.
    assert!((distance / wanted - 1.0).abs() < 0.03, "{distance} {wanted}");
    let force: f64 =
        state.reactions.contacts.iter().map(|c| c.impulse.z).sum::<f64>() / state.reactions.h;
    let weight = 9.0 * 9.81;
    assert!((force / weight - 1.0).abs() < 1e-3, "{force} {weight}");
}

#[test]
fn soft_on_soft_on_the_floor_carries_the_weight_of_the_upper_one() {
    let mut scene = Scene::new("two");
    floor(&mut scene);
    let elastic = Elastic { mass_damping: 30.0, stiffness_damping: 1e-2, ..rubber() };
    for (name, height, side) in [("lower", 1e-4, 0.3), ("upper", 0.1 + 2e-4, 0.2)] {
        let mut mesh = Tetrahedra::block([3, 3, 1], DVec3::new(side, side, 0.1));
        mesh.nodes.iter_mut().for_each(|x| *x += DVec3::new(-0.5 * side, -0.5 * side, height));
        scene.add_soft(name, Soft::new(mesh, elastic), Some(SurfaceMaterial::default()));
    }
    let mut stepper = Stepper::new(
        &scene,
        Settings { solver: Method::InteriorPoint, ..Settings::with_time_step(5e-3) },
    )
    .unwrap();
    let mut state = State::initial(&scene);
    for _ in 0..150 {
        stepper.step(&scene, &mut state).unwrap();
    }
    let colliders = (scene.softs[0].collider.unwrap().0, scene.softs[1].collider.unwrap().0);
    let force: f64 = state
        .reactions
        .contacts
        .iter()
        .filter(|c| c.colliders == colliders)
        .map(|c| c.impulse.z)
        .sum::<f64>()
        / state.reactions.h;
    let weight = 0.004 * 1000.0 * 9.81;
    assert!((force / weight - 1.0).abs() < 1e-2, "{force} {weight}");
    // The upper one stands on the lower, which stands on the floor.
    assert!(
        stepper.contacts().iter().all(|c| c.gap > -1e-4),
        "no overlap beyond a tenth of a millimetre"
    );
}

#[test]
fn every_method_takes_a_soft_body_on_the_floor() {
    let mut scene = Scene::new("methods");
    floor(&mut scene);
    let mut mesh = Tetrahedra::block([4, 4, 3], DVec3::new(0.4, 0.4, 0.3));
    mesh.nodes.iter_mut().for_each(|x| x.z += 1e-4);
    let id = scene.add_soft("block", Soft::new(mesh, rubber()), Some(SurfaceMaterial::default()));
    let body = scene.softs[id.index()].body;
    scene.bodies[body.index()].velocity = DVec3::new(0.1, 0.0, -0.2);
    let mut answers: Vec<(&str, Vec<f64>)> = Vec::new();
    for method in [Method::InteriorPoint, Method::Psor, Method::Newton, Method::Auto] {
        let mut settings = Settings { solver: method, ..Settings::with_time_step(2e-3) };
        settings.scheme.friction = Friction::Cone;
        settings.stop.tolerance.relative = 1e-10;
        settings.stop.tolerance.velocity = 1e-8;
        if method == Method::Psor {
            settings.stop.work = Some(200_000);
        }
        let mut stepper = Stepper::new(&scene, settings).unwrap();
        let mut state = State::initial(&scene);
        let verdict = stepper.step(&scene, &mut state).unwrap();
        assert!(verdict.accepted, "{}: {:?}", method.name(), verdict.error);
        assert!(verdict.rows >= 75, "25 nodes touch");
        answers.push((method.name(), state.v));
    }
    // The velocities of the convex law are unique: within the tolerance of 1e-8 m/s, and what a
    // mesh makes of it.
    for (name, v) in &answers[1..] {
        let difference = v.iter().zip(&answers[0].1).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(difference < 1e-5, "{name}: {difference}");
    }
    // The active set has pyramids in place of cones: without friction it is the same problem.
    scene.materials[0].mu = 0.0;
    let mut last = Vec::new();
    for method in [Method::Pivot, Method::InteriorPoint] {
        let mut stepper =
            Stepper::new(&scene, Settings { solver: method, ..Settings::with_time_step(2e-3) })
                .unwrap();
        let mut state = State::initial(&scene);
        assert!(stepper.step(&scene, &mut state).unwrap().accepted, "{}", method.name());
        last.push(state.v);
    }
    assert!(last[0].iter().zip(&last[1]).all(|(a, b)| (a - b).abs() < 1e-5));
}

#[test]
fn a_ball_pressed_into_a_block_follows_hertz() {
    let mut scene = empty("hertz");
    scene.materials[0].mu = 0.0;
    let mut mesh = Tetrahedra::block([12, 12, 6], DVec3::new(0.4, 0.4, 0.2));
    mesh.nodes.iter_mut().for_each(|x| *x -= DVec3::new(0.2, 0.2, 0.2));
    let soft = Soft::new(mesh, rubber()).holding(|x| x.z < -0.2 + 1e-9);
    scene.add_soft("block", soft, Some(SurfaceMaterial::default()));
    let radius = 0.2;
    let motion = Motion::along(-DVec3::Z, |rate| Function::Ramp { value: 0.0, rate });
    let id = scene.add_body(Body::imposed("ball", motion).at(DVec3::Z * radius));
    scene.add_collider(id, Shape::Sphere { radius }, Pose::IDENTITY, SurfaceMaterial::default());
    let mut settings =
        Settings { solver: Method::InteriorPoint, ..Settings::with_time_step(0.005) };
    settings.contact_margin = 0.002;
    let mut stepper = Stepper::new(&scene, settings).unwrap();
    let mut state = State::initial(&scene);
    let mut force = [0.0; 2];
    for step in 1..=4 {
        stepper.step(&scene, &mut state).unwrap();
        if step % 2 == 0 {
            force[step / 2 - 1] =
                state.reactions.contacts.iter().map(|c| c.impulse.z).sum::<f64>().abs()
                    / state.reactions.h;
        }
    }
    let exponent = (force[1] / force[0]).log2();
    // Hertz at 2 cm: a layer of finite depth is stiffer, linear elements too.
    let hertz = 4.0 / 3.0 * 1e7 / (1.0 - 0.09) * radius.sqrt() * 0.02f64.powf(1.5);
    println!("forces {force:?} N, exponent {exponent:.3}, Hertz {hertz:.0} N");
    assert!((1.3..1.8).contains(&exponent), "{exponent}");
    assert!((0.8..2.0).contains(&(force[1] / hertz)), "{} {hertz}", force[1]);
}

#[test]
fn a_weight_hangs_from_the_nodes_that_hold_it() {
    let mut scene = Scene::new("hanging");
    let weight = scene.add_body(
        Body::rigid("weight", Mass::cuboid(3.0, DVec3::splat(0.2))).at(DVec3::new(0.1, 0.1, -0.6)),
    );
    let mesh = Tetrahedra::block([2, 2, 5], DVec3::new(0.2, 0.2, 0.5));
    let mut soft =
        Soft::new(mesh, Elastic { mass_damping: 20.0, ..rubber() }).holding(|x| x.z > 0.5 - 1e-9);
    soft.mesh.nodes.iter_mut().for_each(|x| x.z -= 0.5);
    for node in soft.nodes_where(|x| x.z < -0.5 + 1e-9) {
        let point = soft.mesh.nodes[node as usize] - DVec3::new(0.1, 0.1, -0.6);
        soft.attached.push(Attachment { node, body: weight, point });
    }
    assert_eq!(soft.attached.len(), 9);
    scene.add_soft("bar", soft, None);
    let mut stepper = Stepper::new(&scene, Settings::with_time_step(5e-3)).unwrap();
    let mut state = State::initial(&scene);
    for _ in 0..300 {
        assert!(stepper.step(&scene, &mut state).unwrap().accepted);
    }
    // Three rows per node; every third one is vertical.
    let carried: f64 =
        state.reactions.joints.iter().skip(2).step_by(3).sum::<f64>() / state.reactions.h;
    assert!((carried.abs() / (3.0 * 9.81) - 1.0).abs() < 1e-6, "{carried}");
    assert!(state.pose(weight).position.z < -0.6, "the bar is longer now");
}

#[test]
fn springs_in_place_of_contacts_carry_the_same_weight() {
    for implicit in [false, true] {
        let mut scene = Scene::new("penalty");
        floor(&mut scene);
        let elastic = Elastic { mass_damping: 20.0, stiffness_damping: 1e-3, ..rubber() };
        let id = scene.add_soft(
            "block",
            Soft::new(Tetrahedra::block([2, 2, 1], DVec3::new(0.2, 0.2, 0.1)), elastic),
            Some(SurfaceMaterial::default()),
        );
        let mut settings = Settings::with_time_step(5e-4);
        settings.scheme.treatment = Treatment::Penalty(Penalty {
            stiffness: 1e4,
            exponent: 1.0,
            damping: 5.0,
            implicit,
            ..Penalty::default()
        });
        let mut stepper = Stepper::new(&scene, settings).unwrap();
        let mut state = State::initial(&scene);
        for _ in 0..2000 {
            stepper.step(&scene, &mut state).unwrap();
        }
        // Nine springs carry 4 kg: each node sinks until they balance.
        let sunk: f64 = (0..9).map(|n| -state.node(stepper.layout(), n).z).sum();
        let wanted = 4.0 * 9.81 / 1e4;
        assert!((sunk / wanted - 1.0).abs() < 1e-3, "implicit {implicit}: {sunk} {wanted}");
        assert!(scene.softs[id.index()].collider.is_some());
    }
}

#[test]
fn a_cylinder_that_overhangs_a_soft_block_touches_its_top_alone() {
    let mut scene = empty("overhang");
    scene.add_soft(
        "block",
        Soft::new(Tetrahedra::block([4, 3, 1], DVec3::new(0.4, 0.3, 0.1)), rubber()),
        Some(SurfaceMaterial::default()),
    );
    for (name, height) in [("touching", 0.125), ("overlapping", 0.122), ("apart", 0.128)] {
        let mut scene = scene.clone();
        let across = Pose {
            position: DVec3::new(0.23, 0.15, height),
            orientation: DQuat::from_rotation_x(std::f64::consts::FRAC_PI_2),
        };
        let roll = scene.add_body(Body::fixed("roll").placed(across));
        scene.add_collider(
            roll,
            Shape::Cylinder { radius: 0.025, half_length: 0.4 },
            Pose::IDENTITY,
            SurfaceMaterial::default(),
        );
        let mut stepper = Stepper::new(
            &scene,
            Settings { contact_margin: 0.01, ..Settings::with_time_step(1e-3) },
        )
        .unwrap();
        stepper.step(&scene, &mut State::initial(&scene)).unwrap();
        assert!(stepper.contacts().len() >= 4, "{name}: {}", stepper.contacts().len());
        for contact in stepper.contacts() {
            // The roll is the second collider; its contacts look up, and are as deep as it was put.
            assert!(contact.normal.z > 0.7, "{name}: {contact:?}");
            assert!(contact.gap > height - 0.125 - 1e-3, "{name}: {contact:?}");
        }
    }
}

#[test]
fn the_analysis_of_the_pattern_is_used_again() {
    let mut scene = Scene::new("again");
    floor(&mut scene);
    let mut mesh = Tetrahedra::block([6, 6, 4], DVec3::new(0.6, 0.6, 0.4));
    mesh.nodes.iter_mut().for_each(|x| x.z += 1e-4);
    scene.add_soft("block", Soft::new(mesh, rubber()), Some(SurfaceMaterial::default()));
    let mut stepper = Stepper::new(
        &scene,
        Settings { solver: Method::InteriorPoint, ..Settings::with_time_step(2e-3) },
    )
    .unwrap();
    let mut state = State::initial(&scene);
    for _ in 0..20 {
        stepper.step(&scene, &mut state).unwrap();
    }
    let schur = stepper.schur();
    // While the block lands the touched nodes change, and the order must follow from the problem
    // alone, not from what was met before (a stored run goes on to the same bits): each change is
    // an analysis, a step without one is none.
    assert!(
        schur.factorizations >= 20 && schur.analyses <= 10,
        "{} of {}",
        schur.analyses,
        schur.factorizations
    );
}
