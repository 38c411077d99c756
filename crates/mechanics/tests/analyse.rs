//! What can be said of a scene without simulating it: freedoms, redundancy, closing loops, drivers,
//! equilibrium, reactions.

mod common;

use common::{cuboid, exact, floor, slider_crank};
use glam::DVec3;
use signorini_mechanics::analyse::mobility::Remedy;
use signorini_mechanics::analyse::{
    Finding, Kinematics, Mechanism, Severity, equilibrium, examine, mobility, place, reactions,
};
use signorini_mechanics::assemble::Source;
use signorini_mechanics::geometry::Shape;
use signorini_mechanics::scene::*;
use signorini_mechanics::step::{Settings, Stepper};
use signorini_solve::math::pose::Pose;

/// A rod of 1 kg between two points.
fn rod(scene: &mut Scene, name: &str, (from, to): (DVec3, DVec3)) -> BodyId {
    let length = from.distance(to);
    scene.add_body(
        Body::rigid(name, Mass::cuboid(1.0, DVec3::splat(0.6 * length))).at(0.5 * (from + to)),
    )
}

/// Rods along a closed polygon, the last side being the ground; hinges at all corners with these
/// axes.
fn polygon(name: &str, corners: &[DVec3], axes: &[DVec3]) -> Scene {
    let mut scene = Scene::new(name);
    let n = corners.len();
    let mut bodies = vec![BodyId::GROUND];
    for i in 0..n - 1 {
        bodies.push(rod(&mut scene, &format!("rod {i}"), (corners[i], corners[i + 1])));
    }
    bodies.push(BodyId::GROUND);
    for i in 0..n {
        scene.add_joint(
            format!("hinge {i}"),
            JointKind::Revolute,
            (bodies[i], bodies[i + 1]),
            frame(corners[i], axes[i]),
        );
    }
    scene
}

fn only(scene: &Scene) -> Mechanism {
    let found = mobility(scene, &State::initial(scene));
    assert_eq!(found.mechanisms.len(), 1, "{}", scene.name);
    found.mechanisms.into_iter().next().unwrap()
}

fn names(scene: &Scene, sources: &[Source]) -> Vec<String> {
    let name = |s: &Source| match s {
        Source::Joint(id, _) => scene.joints[id.index()].name.clone(),
        other => other.name(scene),
    };
    sources.iter().map(name).collect()
}

fn four_bar() -> Scene {
    let corners = [
        DVec3::ZERO,
        DVec3::new(0.1, 0.3, 0.0),
        DVec3::new(0.6, 0.5, 0.0),
        DVec3::new(0.7, 0.0, 0.0),
    ];
    polygon("four-bar", &corners, &[DVec3::Z; 4])
}

/// Bricard's linkage: six hinges along the edges of a cube, each axis across both of its rods.
fn bricard() -> Scene {
    let (x, y, z) = (DVec3::X, DVec3::Y, DVec3::Z);
    let sides = [x, y, z, -x, -y, -z];
    let corners: Vec<DVec3> = (0..6).map(|i| sides[..i].iter().sum()).collect();
    let axes: Vec<DVec3> = (0..6).map(|i| sides[(i + 5) % 6].cross(sides[i])).collect();
    polygon("bricard", &corners, &axes)
}

#[test]
fn a_bricard_linkage_moves_although_the_count_of_joints_says_no() {
    let scene = bricard();
    let found = only(&scene);
    // Grübler: 30 unknowns, 30 rows. The truth: one motion, one redundant row, in which all hinges
    // take part.
    assert_eq!((found.rows, found.rank, found.freedoms, found.nearby), (30, 29, 1, Some(1)));
    assert_eq!(
        names(&scene, &found.involved),
        ["hinge 0", "hinge 1", "hinge 2", "hinge 3", "hinge 4", "hinge 5"]
    );
    assert_eq!(found.redundant.iter().map(|r| r.count).sum::<usize>(), 1);
}

#[test]
fn a_planar_four_bar_of_hinges_has_three_redundant_rows_and_a_cure() {
    let scene = four_bar();
    let found = only(&scene);
    assert_eq!((found.rows, found.rank, found.freedoms), (20, 17, 1));
    assert_eq!(names(&scene, &found.involved), ["hinge 0", "hinge 1", "hinge 2", "hinge 3"]);
    let Some(Remedy::Replace(joint, kind)) = found.remedy else { panic!("{:?}", found.remedy) };
    // The cure cures.
    let mut cured = scene.clone();
    cured.joints[joint.index()].kind = kind;
    let found = only(&cured);
    assert_eq!((kind, found.rows, found.rank, found.freedoms), (JointKind::PointOnLine, 17, 17, 1));
}

#[test]
fn a_door_on_three_hinges_needs_one() {
    let mut scene = Scene::new("door");
    let door = scene.add_body(
        Body::rigid("door", Mass::cuboid(20.0, DVec3::new(0.8, 0.04, 2.0)))
            .at(DVec3::new(0.4, 0.0, 1.0)),
    );
    for (i, z) in [0.2, 1.0, 1.8].into_iter().enumerate() {
        scene.add_joint(
            format!("hinge {i}"),
            JointKind::Revolute,
            (BodyId::GROUND, door),
            frame(DVec3::Z * z, DVec3::Z),
        );
    }
    let found = only(&scene);
    assert_eq!((found.rows, found.rank, found.freedoms), (15, 5, 1));
    assert_eq!(names(&scene, &found.involved), ["hinge 0", "hinge 1", "hinge 2"]);
    let whole: Vec<(usize, usize)> = found.redundant.iter().map(|r| (r.count, r.of)).collect();
    assert_eq!(whole, [(5, 5), (5, 5)]);
    assert_eq!(found.remedy, Some(Remedy::LeaveOut(vec![JointId(1), JointId(2)])));
    // Misaligned by 10 um the hinges lock the door: nearly redundant, and it says who.
    scene.joints[2].frame_a.position.x += 1e-5;
    scene.joints[2].frame_b.position.x += 1e-5;
    let (_, findings) = examine(&scene, 1e-3);
    assert!(
        findings.iter().any(|f| f.kind == "nearly redundant" && f.subject.contains("hinge 2")),
        "{findings:#?}"
    );
}

#[test]
fn drivers_that_contradict_each_other_are_named() {
    let mut scene = four_bar();
    scene.add_motor("drive", JointId(0), Coordinate::Angle, Drive::Speed(Function::Constant(1.0)));
    assert_eq!(only(&scene).driven, 1);
    scene.add_motor("brake", JointId(3), Coordinate::Angle, Drive::Speed(Function::Constant(0.0)));
    let (_, findings) = examine(&scene, 1e-3);
    let conflict = findings.iter().find(|f| f.kind == "conflict").expect("a conflict");
    assert!(
        conflict.severity == Severity::Error
            && conflict.subject.contains("motor drive")
            && conflict.subject.contains("motor brake")
    );
}

#[test]
fn a_loop_that_is_open_closes_with_little_motion_or_is_named() {
    let mut scene = four_bar();
    let before = scene.bodies.clone();
    scene.bodies[2].pose.position += DVec3::new(0.01, -0.005, 0.003);
    let mut state = State::initial(&scene);
    let found = place(&scene, &mut state, false);
    assert!(found.closed() && found.before > 5e-3, "{found:?}");
    // A displacement of 1.2 cm of one body is shared by three: none goes farther than that.
    let far = (1..4u32)
        .map(|i| state.pose(BodyId(i)).position.distance(before[i as usize].pose.position))
        .fold(0.0, f64::max);
    assert!(far < 0.012, "{far}");
    // A rod of 2 m cannot fit between others of 1.5 m together.
    let mut scene = four_bar();
    scene.joints[2].frame_a.position = scene.joints[1].frame_b.position + DVec3::X * 2.0;
    let mut state = State::initial(&scene);
    let found = place(&scene, &mut state, false);
    assert!(!found.closed() && found.loop_.len() == 4, "{found:?}");
    let (_, findings) = examine(&scene, 1e-3);
    let lost = findings.iter().find(|f| f.kind == "loop").expect("the loop is named");
    assert!(
        lost.severity == Severity::Error
            && lost.found.contains("`hinge 0`")
            && lost.found.contains("cannot close"),
        "{lost:?}"
    );
}

#[test]
fn a_driven_slider_crank_is_where_its_closed_form_says_to_1e_12() {
    let (r, l, omega) = (0.1, 0.3, 10.0);
    let (scene, slider) = slider_crank(r, l, Drive::Speed(Function::Constant(omega)));
    let kinematics = Kinematics::new(&scene);
    let mut state = State::initial(&scene);
    let layout = Layout::of(&scene);
    let mut worst = [0.0f64; 2];
    for k in 1..=200 {
        let t = 5e-3 * k as f64;
        assert!(kinematics.go(&mut state, t).closed());
        let (s, c) = (omega * t).sin_cos();
        let root = (l * l - r * r * s * s).sqrt();
        let x = r * c + root;
        let v = -r * omega * s - r * r * s * c * omega / root;
        worst[0] = worst[0].max(state.pose(slider).position.distance(DVec3::X * x));
        worst[1] = worst[1].max((state.twist(&layout, slider).0 - DVec3::X * v).length());
    }
    // Positions of 0.4 m to rounding; velocities of 1 m/s lose a digit or two in the solve.
    assert!(worst[0] < 1e-12 && worst[1] < 1e-11, "{worst:?}");
    // 1 s at 10 rad/s: angles count on over full turns.
    assert!((state.angles[0] - 10.0).abs() < 1e-12);
}

#[test]
fn the_effort_of_a_driver_is_the_power_that_the_motion_takes() {
    let (r, l, omega) = (0.1, 0.3, 10.0);
    let (scene, _) = slider_crank(r, l, Drive::Speed(Function::Constant(omega)));
    let kinematics = Kinematics::new(&scene);
    let layout = Layout::of(&scene);
    let energy = |t: f64| {
        let mut state = State::initial(&scene);
        kinematics.go(&mut state, 0.01);
        kinematics.go(&mut state, t);
        let mut sum = 0.0;
        for (i, body) in scene.bodies.iter().enumerate() {
            let Some(mass) = body.mass() else { continue };
            let (linear, angular) = state.twist(&layout, BodyId(i as u32));
            sum += mass.kinetic(linear, angular)
                - mass.mass * scene.gravity.dot(state.pose(BodyId(i as u32)).position);
        }
        sum
    };
    for t in [0.03, 0.11, 0.25] {
        let mut state = State::initial(&scene);
        kinematics.go(&mut state, 0.01);
        kinematics.go(&mut state, t);
        let efforts = kinematics.efforts(&state);
        let h = 1e-4;
        let power = (energy(t + h) - energy(t - h)) / (2.0 * h);
        // Both sides are central differences: (ωh)² of powers of 10 W.
        assert!(
            (efforts[0].rate - omega).abs() < 1e-10
                && (efforts[0].effort * omega - power).abs() < 1e-4,
            "{efforts:?} {power}"
        );
    }
}

#[test]
fn equilibria_have_their_closed_forms() {
    // A weight on a spring, and a pendulum that hangs down.
    let mut scene = Scene::new("statics");
    let weight =
        scene.add_body(Body::rigid("weight", Mass::sphere(2.0, 0.1)).at(DVec3::new(5.0, 0.0, 0.0)));
    scene.add_joint(
        "guide",
        JointKind::Prismatic,
        (BodyId::GROUND, weight),
        frame(DVec3::X * 5.0, DVec3::Z),
    );
    let spring = Bushing {
        a: BodyId::GROUND,
        b: weight,
        frame_a: Pose::at(DVec3::X * 5.0),
        frame_b: Pose::IDENTITY,
        stiffness: std::array::from_fn(|i| {
            std::array::from_fn(|j| if i == 2 && j == 2 { 500.0 } else { 0.0 })
        }),
        damping: [[0.0; 6]; 6],
    };
    scene.add_force("spring", ForceKind::Bushing(Box::new(spring)));
    let bob =
        scene.add_body(Body::rigid("bob", Mass::sphere(1.0, 0.1)).at(DVec3::new(0.6, 0.0, -0.8)));
    scene.add_joint(
        "pivot",
        JointKind::Revolute,
        (BodyId::GROUND, bob),
        frame(DVec3::ZERO, DVec3::Y),
    );
    let mut state = State::initial(&scene);
    let (found, stepper) = equilibrium(&scene, Settings::with_time_step(1e-2), &mut state)
        .unwrap_or_else(|e| panic!("{e}"));
    // Accelerations are below 1e-9 g: over ω² = 250/s² and g/l that leaves 1e-9 m.
    assert!((state.pose(weight).position.z + 2.0 * 9.81 / 500.0).abs() < 1e-9, "{found:?}");
    assert!(
        state.pose(bob).position.distance(DVec3::new(0.0, 0.0, -1.0)) < 1e-8,
        "{}",
        state.pose(bob).position
    );
    let forces = reactions(&scene, &stepper);
    let pivot =
        forces.joints.iter().find(|r| scene.joints[r.joint.index()].name == "pivot").unwrap();
    assert!(
        (pivot.world.force - DVec3::Z * 9.81).length() < 1e-6 && pivot.unique == [true; 6],
        "{pivot:?}"
    );
    // A ball above nothing has no equilibrium, and it says who.
    let mut scene = Scene::new("falls");
    scene.add_body_with_shape(
        Body::rigid("stone", Mass::sphere(1.0, 0.1)),
        Shape::Sphere { radius: 0.1 },
    );
    let why = equilibrium(&scene, Settings::with_time_step(1e-2), &mut State::initial(&scene))
        .err()
        .expect("it falls")
        .to_string();
    assert!(why.contains("`stone`"), "{why}");
}

/// One step of a body that lies on the floor.
fn lying(feet: &[DVec3], mu: f64) -> (Scene, Stepper) {
    let mut scene = floor("table", mu, 0.0);
    let table = scene.add_body(
        Body::rigid("table", Mass::cuboid(10.0, DVec3::new(1.0, 0.6, 0.1))).at(DVec3::Z * 0.8),
    );
    for foot in feet {
        scene.add_collider(
            table,
            Shape::Sphere { radius: 0.02 },
            Pose::at(*foot),
            SurfaceMaterial::default(),
        );
    }
    let mut stepper = Stepper::new(&scene, exact(1e-3)).unwrap();
    stepper.step(&scene, &mut State::initial(&scene)).unwrap();
    (scene, stepper)
}

#[test]
fn the_legs_of_a_table_are_not_unique_and_those_of_a_stool_are() {
    let corner = |x: f64, y: f64| DVec3::new(0.45 * x, 0.25 * y, -0.78);
    let square = [corner(1.0, 1.0), corner(-1.0, 1.0), corner(-1.0, -1.0), corner(1.0, -1.0)];
    for mu in [0.0, 0.5] {
        let (scene, stepper) = lying(&square, mu);
        let found = reactions(&scene, &stepper);
        assert!(found.contacts.len() == 4 && found.least_energy && found.decided, "{found:?}");
        for leg in &found.contacts {
            // Least energy shares the weight equally; to the solver's 1e-9 m/s over a step of 1 ms.
            assert!(
                !leg.unique && (leg.local.x - 10.0 * 9.81 / 4.0).abs() < 1e-4,
                "mu {mu}: {leg:?}"
            );
        }
    }
    let (scene, stepper) = lying(&[corner(1.0, 1.0), corner(-1.0, 1.0), corner(0.0, -1.0)], 0.0);
    let found = reactions(&scene, &stepper);
    assert!(found.contacts.len() == 3 && found.contacts.iter().all(|leg| leg.unique), "{found:?}");
    let sum: f64 = found.contacts.iter().map(|leg| leg.local.x).sum();
    assert!((sum - 98.1).abs() < 1e-4, "{sum}");
}

#[test]
fn a_four_bar_knows_which_components_of_its_reactions_are_unique() {
    let scene = four_bar();
    let mut stepper = Stepper::new(&scene, exact(1e-3)).unwrap();
    stepper.step(&scene, &mut State::initial(&scene)).unwrap();
    for joint in &reactions(&scene, &stepper).joints {
        // In the plane of motion forces are unique; across it and about its axes they are not.
        assert_eq!(joint.unique, [true, true, false, false, false, true], "{joint:?}");
    }
}

fn kinds(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|f| f.kind).collect()
}

#[test]
fn the_doctor_finds_what_is_wrong_and_nothing_else() {
    let mut sound = floor("sound", 0.5, 0.0);
    cuboid(&mut sound, "box", 5.0, DVec3::splat(0.2), DVec3::Z * 0.1);
    assert!(examine(&sound, 1e-3).1.is_empty(), "{:#?}", examine(&sound, 1e-3).1);
    let broken = |change: &dyn Fn(&mut Scene)| {
        let mut scene = sound.clone();
        change(&mut scene);
        examine(&scene, 1e-3).1
    };
    let body = BodyId(sound.bodies.len() as u32 - 1);
    let mass = |scene: &mut Scene, mass: Mass| scene.bodies[body.index()].kind = Kind::Rigid(mass);
    let slow = examine(&sound, 2.0).1;
    assert!(kinds(&slow).contains(&"fast"), "a step of 2 s: {slow:#?}");
    for (wanted, found) in [
        ("overlap", broken(&|s| s.bodies[body.index()].pose.position.z = 0.09)),
        ("unit", broken(&|s| s.gravity *= 1000.0)),
        ("unit", broken(&|s| mass(s, Mass::cuboid(5000.0, DVec3::splat(0.2))))),
        ("inertia", broken(&|s| mass(s, Mass::new(5.0, DVec3::splat(33.0))))),
        ("fast", broken(&|s| s.bodies[body.index()].velocity = DVec3::X * 1000.0)),
        ("fast", broken(&|s| s.bodies[body.index()].spin = DVec3::X * 1000.0)),
        ("unheld", broken(&|s| s.bodies.push(Body::rigid("ghost", Mass::sphere(1.0, 0.1))))),
        (
            "mass ratio",
            broken(&|s| {
                let heavy = s.add_body(Body::rigid("heavy", Mass::sphere(1e8, 10.0)));
                s.add_joint("pin", JointKind::Spherical, (body, heavy), Pose::IDENTITY);
            }),
        ),
        (
            "fast mode",
            broken(&|s| {
                let ends = (DVec3::ZERO, DVec3::Z);
                let spring = Spring {
                    a: BodyId::GROUND,
                    b: body,
                    point_a: ends.1,
                    point_b: ends.0,
                    length: 1.0,
                    stiffness: 1e9,
                    damping: 0.0,
                };
                s.add_force("spring", ForceKind::Spring(spring));
            }),
        ),
        (
            "limit",
            broken(&|s| {
                let hinge = s.add_joint(
                    "hinge",
                    JointKind::Revolute,
                    (BodyId::GROUND, body),
                    frame(DVec3::Z * 0.1, DVec3::Z),
                );
                s.add_limit(hinge, Coordinate::Angle, 0.5, 1.0);
            }),
        ),
        (
            "locked",
            broken(&|s| {
                for x in [-0.1, 0.1] {
                    s.add_joint(
                        format!("hinge at {x}"),
                        JointKind::Revolute,
                        (BodyId::GROUND, body),
                        frame(DVec3::X * x, DVec3::Y),
                    );
                }
            }),
        ),
        (
            "velocity",
            broken(&|s| {
                s.add_joint("weld", JointKind::Fixed, (BodyId::GROUND, body), Pose::IDENTITY);
                s.bodies[body.index()].velocity = DVec3::X;
            }),
        ),
        (
            "inside out",
            broken(&|s| {
                let v = [DVec3::ZERO, DVec3::X, DVec3::Y, DVec3::Z]
                    .map(|x| 0.1 * x + DVec3::Z)
                    .to_vec();
                let inward = vec![[0, 1, 2], [0, 3, 1], [1, 3, 2], [0, 2, 3]];
                s.add_collider(
                    BodyId::GROUND,
                    Shape::Mesh { vertices: v, triangles: inward },
                    Pose::IDENTITY,
                    SurfaceMaterial::default(),
                );
            }),
        ),
    ] {
        assert!(kinds(&found).contains(&wanted), "wanted {wanted} in {found:#?}");
        assert!(found.iter().all(|f| !f.advice.is_empty()));
    }
}

#[test]
fn things_known_by_their_names_have_plausible_sizes() {
    let mut scene = floor("things", 0.5, 0.0);
    cuboid(&mut scene, "screw M8", 50.0, DVec3::new(1.0, 0.1, 0.1), DVec3::new(0.0, 0.0, 0.05));
    cuboid(&mut scene, "feather", 1.0, DVec3::new(0.2, 0.1, 0.1), DVec3::new(3.0, 0.0, 0.05));
    let found = examine(&scene, 1e-3).1;
    assert!(
        found.iter().any(|f| f.found == "a screw of 1.01 m")
            && found.iter().any(|f| f.found == "a feather of 1.000 kg"),
        "{found:#?}"
    );
}
