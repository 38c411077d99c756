//! Soft bodies: facts of elasticity, of contact, and of the balance sheet.

mod contact;
mod element;

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
