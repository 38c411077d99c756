//! The scenes that all engines step: written here, in no engine's own format.
//!
//! Sizes in m, masses in kg, z up. The list follows the collections in which engines are usually
//! compared: mechanisms without contact, things at rest, slopes at the angle of friction, mass
//! ratios, blows, piles.

use glam::{DQuat, DVec3};
use signorini::geometry::Shape;
use signorini::math::pose::Pose;
use signorini::math::random::Random;
use signorini::scene::{Body, BodyId, JointKind, Layout, Mass, Scene, State, frame};
use signorini::step::{Settings, Stepper};

use super::ours::preset;

/// What is known of the motion, so that its error can be told.
#[derive(Clone, Copy, Debug)]
pub enum Fact {
    /// Energy is conserved: the largest change, relative to the largest kinetic energy.
    Energy,
    /// Nothing moves: the largest way of a body, m.
    Rest,
    /// The last body slides down with this acceleration: the error of its way, m.
    Slide(DVec3),
    /// Nothing.
    Unknown,
}

/// A scene, its time step and how long it runs.
pub struct BenchScene {
    /// Its name.
    pub name: &'static str,
    /// What is in it.
    pub scene: Scene,
    /// Length of a step, s.
    pub h: f64,
    /// Steps of a run.
    pub steps: u64,
    /// What is known of its motion.
    pub fact: Fact,
}

/// All scenes, small ones first.
pub const CATALOGUE: [(&str, fn(&'static str) -> BenchScene); 24] = [
    ("pendulum", |name| chain(name, 1, 0.5, 5000)),
    ("one_box", one_box),
    ("arm7", arm7),
    ("stack10", stack10),
    ("dominoes", dominoes),
    ("humanoid", humanoid),
    ("double_pendulum", |name| chain(name, 2, 0.5, 2500)),
    ("chain50", |name| chain(name, 50, 0.1, 1000)),
    ("fourbar", fourbar),
    ("bricard", bricard),
    ("slope_sticks", |name| slope(name, -0.25)),
    ("slope_slides", |name| slope(name, 0.25)),
    ("slope_slides_1deg", |name| slope(name, 1.0)),
    ("mass_ratio_4", |name| mass_ratio(name, 4)),
    ("mass_ratio_8", |name| mass_ratio(name, 8)),
    ("mass_ratio_12", |name| mass_ratio(name, 12)),
    ("wall_rest", |name| wall(name, false)),
    ("wall_hit", |name| wall(name, true)),
    ("packed_280", |name| packed(name, 280)),
    ("packed_595", |name| packed(name, 595)),
    ("packed_1190", |name| packed(name, 1190)),
    ("boxes_500", |name| pile(name, 500, 0.8, 0.108, Shape::Box { half_extents: BRICK })),
    ("capsules_500", |name| {
        pile(name, 500, 0.8, 0.125, Shape::Capsule { radius: 0.025, half_length: 0.035 })
    }),
    ("hulls_300", |name| pile(name, 300, 0.7, 0.09, icosahedron(0.04))),
];

const BRICK: DVec3 = DVec3::new(0.035, 0.03, 0.025);

fn empty(name: &str, mu: f64) -> Scene {
    let mut scene = Scene::new(name);
    scene.materials[0].mu = mu;
    scene
}

fn solid(scene: &mut Scene, name: String, shape: Shape, density: f64, pose: Pose) -> BodyId {
    let body = Body::rigid(name, mass(&shape, density)).placed(pose);
    scene.add_body_with_shape(body, shape)
}

fn mass(shape: &Shape, density: f64) -> Mass {
    let volume = signorini::geometry::Volume::of(shape).expect("bench shapes are closed");
    Mass { mass: density * volume.volume, inertia: volume.inertia * density }
}

fn cuboid(x: f64, y: f64, z: f64) -> Shape {
    Shape::Box { half_extents: DVec3::new(x, y, z) }
}

fn fixed_box(scene: &mut Scene, name: &str, half: DVec3, pose: Pose) {
    let shape = Shape::Box { half_extents: half };
    scene.add_body_with_shape(Body::fixed(name).placed(pose), shape);
}

fn floor(scene: &mut Scene) {
    let below = Pose::at(DVec3::new(0.0, 0.0, -0.1));
    fixed_box(scene, "floor", DVec3::new(5.0, 5.0, 0.1), below);
}

/// A slender box of 1 kg from a to b, its long axis along x of the body; nothing touches it.
fn rod(scene: &mut Scene, name: String, a: DVec3, b: DVec3, thick: f64) -> BodyId {
    let (length, along) = ((b - a).length(), (b - a).normalize());
    let orientation = DQuat::from_rotation_arc(DVec3::X, along);
    let body = Body::rigid(name, Mass::cuboid(1.0, DVec3::new(length, thick, thick)))
        .placed(Pose::new(0.5 * (a + b), orientation));
    scene.add_body(body)
}

fn hinge(scene: &mut Scene, a: BodyId, b: BodyId, at: DVec3, axis: DVec3) {
    let name = format!("hinge{}", scene.joints.len());
    scene.add_joint(name, JointKind::Revolute, (a, b), frame(at, axis));
}

const GROUND: BodyId = BodyId(0);

fn chain(name: &'static str, links: usize, length: f64, steps: u64) -> BenchScene {
    let mut scene = empty(name, 0.0);
    let mut parent = GROUND;
    for i in 0..links {
        let a = DVec3::new(i as f64 * length, 0.0, 0.0);
        let link = rod(&mut scene, format!("l{i}"), a, a + length * DVec3::X, 0.1 * length);
        hinge(&mut scene, parent, link, a, DVec3::Y);
        parent = link;
    }
    BenchScene { name, scene, h: 0.002, steps, fact: Fact::Energy }
}

fn arm7(name: &'static str) -> BenchScene {
    let mut scene = empty(name, 0.0);
    let point = |i: f64| {
        DVec3::new(0.12 * i * (0.1 * i).cos(), 0.02 * i, 0.12 * i * (0.15 * i).sin() + 0.1 * i)
    };
    let mut parent = GROUND;
    for i in 0..7 {
        let (a, b) = (point(f64::from(i)), point(f64::from(i + 1)));
        let link = rod(&mut scene, format!("l{i}"), a, b, 0.05);
        hinge(&mut scene, parent, link, a, if i % 2 == 0 { DVec3::Z } else { DVec3::Y });
        parent = link;
    }
    BenchScene { name, scene, h: 0.002, steps: 2500, fact: Fact::Energy }
}

fn one_box(name: &'static str) -> BenchScene {
    let mut scene = empty(name, 0.5);
    floor(&mut scene);
    let at = Pose::at(DVec3::new(0.0, 0.0, 0.1));
    solid(&mut scene, "box".into(), cuboid(0.1, 0.1, 0.1), 1000.0, at);
    BenchScene { name, scene, h: 0.002, steps: 2000, fact: Fact::Rest }
}

fn stack10(name: &'static str) -> BenchScene {
    let mut scene = empty(name, 0.5);
    floor(&mut scene);
    for i in 0..10 {
        let at = Pose::at(DVec3::new(0.0, 0.0, 0.1 + 0.2 * f64::from(i)));
        solid(&mut scene, format!("b{i}"), cuboid(0.1, 0.1, 0.1), 1000.0, at);
    }
    BenchScene { name, scene, h: 0.002, steps: 1000, fact: Fact::Rest }
}

fn dominoes(name: &'static str) -> BenchScene {
    let mut scene = empty(name, 0.4);
    floor(&mut scene);
    for i in 0..20 {
        let at = Pose::at(DVec3::new(0.04 * f64::from(i), 0.0, 0.05));
        let id = solid(&mut scene, format!("d{i}"), cuboid(0.005, 0.02, 0.05), 700.0, at);
        if i == 0 {
            let body = &mut scene.bodies[id.index()];
            *body = body.clone().moving(0.4 * DVec3::X, 8.0 * DVec3::Y);
        }
    }
    BenchScene { name, scene, h: 0.002, steps: 1000, fact: Fact::Unknown }
}

/// A pelvis that floats, and 20 hinges.
fn humanoid(name: &'static str) -> BenchScene {
    let mut scene = empty(name, 0.7);
    floor(&mut scene);
    let z = 1.0;
    let at = |x: f64, y: f64, dz: f64| DVec3::new(x, y, z + dz);
    let (ax, ay) = (DVec3::X, DVec3::Y);
    let mut link = |name: &str, half: [f64; 3], place: DVec3| {
        let shape = Shape::Box { half_extents: DVec3::from_array(half) };
        solid(&mut scene, name.into(), shape, 1000.0, Pose::at(place))
    };
    let pelvis = link("pelvis", [0.08, 0.14, 0.06], at(0.0, 0.0, 0.0));
    let abdomen = link("abdomen", [0.06, 0.1, 0.04], at(0.0, 0.0, 0.12));
    let chest = link("chest", [0.08, 0.15, 0.12], at(0.0, 0.0, 0.32));
    let neck = link("neck", [0.03, 0.03, 0.03], at(0.0, 0.0, 0.49));
    let head = link("head", [0.08, 0.08, 0.1], at(0.0, 0.0, 0.64));
    let mut hinges = vec![
        (pelvis, abdomen, at(0.0, 0.0, 0.07), ay),
        (abdomen, chest, at(0.0, 0.0, 0.18), ax),
        (chest, neck, at(0.0, 0.0, 0.45), ay),
        (neck, head, at(0.0, 0.0, 0.53), ax),
    ];
    for (side, s) in [("left", 1.0), ("right", -1.0)] {
        let mut limb =
            |part: &str, half: [f64; 3], place: DVec3| link(&format!("{side}_{part}"), half, place);
        let y = 0.22 * s;
        let shoulder = limb("shoulder", [0.03, 0.03, 0.03], at(0.0, y, 0.40));
        let upper = limb("upper_arm", [0.04, 0.04, 0.12], at(0.0, y, 0.24));
        let lower = limb("lower_arm", [0.035, 0.035, 0.12], at(0.0, y, -0.02));
        hinges.push((chest, shoulder, at(0.0, y - 0.03 * s, 0.40), ax));
        hinges.push((shoulder, upper, at(0.0, y, 0.38), ay));
        hinges.push((upper, lower, at(0.0, y, 0.11), ay));
        let y = 0.09 * s;
        let hip = limb("hip", [0.04, 0.04, 0.03], at(0.0, y, -0.10));
        let thigh = limb("thigh", [0.06, 0.06, 0.17], at(0.0, y, -0.32));
        let shin = limb("shin", [0.05, 0.05, 0.17], at(0.0, y, -0.68));
        let ankle = limb("ankle", [0.03, 0.03, 0.02], at(0.0, y, -0.885));
        let foot = limb("foot", [0.12, 0.05, 0.03], at(0.04, y, -0.945));
        hinges.push((pelvis, hip, at(0.0, y, -0.07), ax));
        hinges.push((hip, thigh, at(0.0, y, -0.14), ay));
        hinges.push((thigh, shin, at(0.0, y, -0.50), ay));
        hinges.push((shin, ankle, at(0.0, y, -0.86), ay));
        hinges.push((ankle, foot, at(0.0, y, -0.91), ax));
    }
    for (a, b, place, axis) in hinges {
        hinge(&mut scene, a, b, place, axis);
    }
    BenchScene { name, scene, h: 0.002, steps: 1500, fact: Fact::Unknown }
}

/// Two parallelograms side by side: upright rods on the ground, the tops move at 1 m/s.
fn fourbar(name: &'static str) -> BenchScene {
    let mut scene = empty(name, 0.0);
    let place = |x: i32, z: f64| DVec3::new(f64::from(x), 0.0, z);
    let mut upright = Vec::new();
    for i in 0..3 {
        let id = rod(&mut scene, format!("v{i}"), place(i, 0.0), place(i, 1.0), 0.02);
        let body = &mut scene.bodies[id.index()];
        *body = body.clone().moving(0.5 * DVec3::X, DVec3::Y);
        hinge(&mut scene, GROUND, id, place(i, 0.0), DVec3::Y);
        upright.push(id);
    }
    for i in 0..2 {
        let id = rod(&mut scene, format!("h{i}"), place(i, 1.0), place(i + 1, 1.0), 0.02);
        let body = &mut scene.bodies[id.index()];
        *body = body.clone().moving(DVec3::X, DVec3::ZERO);
        hinge(&mut scene, upright[i as usize], id, place(i, 1.0), DVec3::Y);
        hinge(&mut scene, id, upright[i as usize + 1], place(i + 1, 1.0), DVec3::Y);
    }
    BenchScene { name, scene, h: 0.001, steps: 2000, fact: Fact::Energy }
}

/// Bricard's six hinges on the edges of a cube.
fn bricard(name: &'static str) -> BenchScene {
    let mut scene = empty(name, 0.0);
    scene.gravity = DVec3::new(0.0, -9.81, 0.0);
    let points: [DVec3; 6] = [
        DVec3::ZERO,
        DVec3::new(1.0, 0.0, 0.0),
        DVec3::new(1.0, -1.0, 0.0),
        DVec3::new(1.0, -1.0, 1.0),
        DVec3::new(0.0, -1.0, 1.0),
        DVec3::new(0.0, 0.0, 1.0),
    ];
    let axes = [DVec3::Y, DVec3::Z, DVec3::X];
    let mut parent = GROUND;
    for i in 0..5 {
        let link = rod(&mut scene, format!("r{i}"), points[i], points[i + 1], 0.02);
        hinge(&mut scene, parent, link, points[i], axes[i % 3]);
        parent = link;
    }
    hinge(&mut scene, GROUND, parent, points[5], axes[2]);
    BenchScene { name, scene, h: 0.001, steps: 1000, fact: Fact::Energy }
}

/// A block on a slope that is `degrees` steeper than the angle of friction.
fn slope(name: &'static str, degrees: f64) -> BenchScene {
    let mu: f64 = 0.5;
    let angle = mu.atan() + degrees.to_radians();
    let turned = DQuat::from_rotation_y(angle);
    let (normal, down) = (turned * DVec3::Z, turned * DVec3::X);
    let mut scene = empty(name, mu);
    let below = Pose::new(-0.5 * normal, turned);
    fixed_box(&mut scene, "slope", DVec3::new(6.0, 1.0, 0.5), below);
    let at = Pose::new(0.05 * normal - 2.0 * down, turned);
    solid(&mut scene, "block".into(), cuboid(0.1, 0.1, 0.05), 1000.0, at);
    let speedup = (9.81 * (angle.sin() - mu * angle.cos())).max(0.0);
    BenchScene { name, scene, h: 0.002, steps: 1000, fact: Fact::Slide(speedup * down) }
}

/// Balls on each other, each ten times as heavy as the one below, on vertical guides.
fn mass_ratio(name: &'static str, balls: i32) -> BenchScene {
    let mut scene = empty(name, 0.0);
    floor(&mut scene);
    let shape = Shape::Sphere { radius: 0.1 };
    for i in 0..balls {
        let at = DVec3::new(0.0, 0.0, 0.1 + 0.2 * f64::from(i));
        let body = Body::rigid(format!("s{i}"), Mass::sphere(10f64.powi(i), 0.1)).at(at);
        let id = scene.add_body_with_shape(body, shape.clone());
        let bodies = (GROUND, id);
        scene.add_joint(format!("guide{i}"), JointKind::Prismatic, bodies, Pose::at(at));
    }
    BenchScene { name, scene, h: 0.002, steps: 1000, fact: Fact::Rest }
}

/// Ten rows of ten bricks, at rest or hit by a ball of 110 kg at 10 m/s.
fn wall(name: &'static str, hit: bool) -> BenchScene {
    let mut scene = empty(name, 0.6);
    floor(&mut scene);
    let (length, height) = (0.2, 0.1);
    for row in 0..10 {
        for column in 0..10 {
            let shift = if row % 2 == 1 { 0.025 } else { -0.025 };
            let x = (f64::from(column) - 4.5) * (length + 0.001) + shift;
            let at = Pose::at(DVec3::new(x, 0.0, height * (0.5 + f64::from(row))));
            let shape = cuboid(0.5 * length, 0.05, 0.5 * height);
            solid(&mut scene, format!("b{row}_{column}"), shape, 2000.0, at);
        }
    }
    if !hit {
        return BenchScene { name, scene, h: 0.002, steps: 300, fact: Fact::Rest };
    }
    let at = Pose::at(DVec3::new(0.03, -0.5, 0.55));
    let ball = solid(&mut scene, "ball".into(), Shape::Sphere { radius: 0.15 }, 7800.0, at);
    scene.bodies[ball.index()].velocity = 10.0 * DVec3::Y;
    BenchScene { name, scene, h: 0.002, steps: 300, fact: Fact::Unknown }
}

/// A floor and four walls, `width` apart.
fn container(scene: &mut Scene, width: f64, height: f64) {
    let (thick, outer) = (0.1, 0.5 * width + 0.2);
    let mut side = |name: &str, half: DVec3, at: DVec3| {
        fixed_box(scene, name, half, Pose::at(at));
    };
    side("floor", DVec3::new(outer, outer, thick), DVec3::new(0.0, 0.0, -thick));
    let (out, up) = (0.5 * width + thick, 0.5 * height);
    for (i, sign) in [1.0, -1.0].into_iter().enumerate() {
        let x = DVec3::new(sign * out, 0.0, up);
        side(&format!("x{i}"), DVec3::new(thick, outer, up), x);
        let y = DVec3::new(0.0, sign * out, up);
        side(&format!("y{i}"), DVec3::new(outer, thick, up), y);
    }
}

/// Balls of 7 cm in a box of 1 m, settled by ours at the preset `fast` in steps of 10 ms.
fn packed(name: &'static str, balls: usize) -> BenchScene {
    let mut scene = empty(name, 0.5);
    container(&mut scene, 1.0, 2.0);
    let (radius, mut random) = (0.035, Random::seeded(7));
    let across = (1.0 / (2.3 * radius)) as usize;
    let pitch = 1.0 / across as f64;
    let jitter = 0.45 * (pitch - 2.0 * radius);
    for i in 0..balls {
        let cell = [i % across, i / across % across, i / (across * across)];
        let place = DVec3::from_array(cell.map(|c| (c as f64 + 0.5) * pitch))
            - DVec3::new(0.5, 0.5, 0.0)
            + jitter * DVec3::from_array(std::array::from_fn(|_| random.signed()));
        let shape = Shape::Sphere { radius };
        solid(&mut scene, format!("s{i}"), shape, 1000.0, Pose::at(place));
    }
    settle(&mut scene, 0.01, 300);
    BenchScene { name, scene, h: 0.002, steps: 60, fact: Fact::Unknown }
}

/// Steps a scene and puts its bodies where they are then.
fn settle(scene: &mut Scene, h: f64, steps: u64) {
    let stop = preset("fast", scene, h);
    let mut settings = Settings::with_time_step(h);
    settings.stop = stop;
    let mut stepper = Stepper::new(scene, settings).expect("bench scenes are valid");
    let mut state = State::initial(scene);
    for _ in 0..steps {
        stepper.step(scene, &mut state).expect("bench scenes can be stepped");
    }
    let layout = Layout::of(scene);
    for i in 0..scene.bodies.len() {
        let id = BodyId(i as u32);
        if scene.bodies[i].mass().is_some() {
            let body = &mut scene.bodies[i];
            body.pose = state.pose(id);
            (body.velocity, body.spin) = state.twist(&layout, id);
        }
    }
}

/// Bodies of one shape, turned at random, fall into a box.
fn pile(name: &'static str, count: usize, width: f64, pitch: f64, shape: Shape) -> BenchScene {
    let mut scene = empty(name, 0.5);
    container(&mut scene, width, 3.0);
    let (across, mut random) = ((width / pitch) as usize, Random::seeded(3));
    for i in 0..count {
        let cell = [i % across, i / across % across].map(|c| (c as f64 + 0.5) / across as f64);
        let layer = (i / (across * across)) as f64;
        let place =
            DVec3::new(width * (cell[0] - 0.5), width * (cell[1] - 0.5), (layer + 0.6) * pitch);
        let turned = DQuat::from_array(std::array::from_fn(|_| random.signed())).normalize();
        solid(&mut scene, format!("s{i}"), shape.clone(), 1000.0, Pose::new(place, turned));
    }
    BenchScene { name, scene, h: 0.002, steps: 750, fact: Fact::Unknown }
}

fn icosahedron(radius: f64) -> Shape {
    let g = 0.5 * (1.0 + 5f64.sqrt());
    let mut points = Vec::new();
    for a in [-1.0, 1.0] {
        for b in [-g, g] {
            points.extend([(0.0, a, b), (a, b, 0.0), (b, 0.0, a)]);
        }
    }
    let scale = radius / (1.0 + g * g).sqrt();
    Shape::Hull {
        points: points.into_iter().map(|(x, y, z)| scale * DVec3::new(x, y, z)).collect(),
    }
}
