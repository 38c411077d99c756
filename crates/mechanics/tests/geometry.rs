//! Where shapes touch, against closed forms.

use glam::{DQuat, DVec3};
use signorini_mechanics::geometry::{Collider, Contact, Groups, Shape, World, matches};
use signorini_solve::math::pose::Pose;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI, SQRT_2};

/// Positions of order one, a few hundred roundings, and the 1e-9 within which directions count as
/// equal.
const EXACT: f64 = 1e-9;

fn touch(a: (&Shape, Pose), b: (&Shape, Pose), prediction: f64) -> Vec<Contact> {
    let mut world =
        World::new(&[Collider::new(0, a.0.clone()), Collider::new(1, b.0.clone())]).unwrap();
    let mut contacts = vec![];
    world.collide(&[a.1, b.1], prediction, &mut contacts);
    for contact in &contacts {
        assert!((contact.normal.length() - 1.0).abs() < 1e-12);
        assert!(
            ((contact.point_b - contact.point_a).dot(contact.normal) - contact.gap).abs() < 1e-12
        );
        assert!(contact.colliders == (0, 1) && contact.gap <= prediction);
    }
    assert!(contacts.windows(2).all(|pair| pair[0].key < pair[1].key));
    contacts
}

fn least(contacts: &[Contact]) -> Contact {
    *contacts.iter().min_by(|a, b| a.gap.total_cmp(&b.gap)).expect("a contact")
}

fn sphere(radius: f64) -> Shape {
    Shape::Sphere { radius }
}
fn cuboid(x: f64, y: f64, z: f64) -> Shape {
    Shape::Box { half_extents: DVec3::new(x, y, z) }
}
fn capsule(radius: f64, half_length: f64) -> Shape {
    Shape::Capsule { radius, half_length }
}
fn cylinder(radius: f64, half_length: f64) -> Shape {
    Shape::Cylinder { radius, half_length }
}
fn cone(radius: f64, half_length: f64) -> Shape {
    Shape::Cone { radius, half_length }
}
fn corners(h: DVec3) -> Vec<DVec3> {
    let sign = |i: u32, bit: u32| if i >> bit & 1 == 0 { -1.0 } else { 1.0 };
    (0..8).map(|i| h * DVec3::new(sign(i, 0), sign(i, 1), sign(i, 2))).collect()
}
fn hull(x: f64, y: f64, z: f64) -> Shape {
    Shape::Hull { points: corners(DVec3::new(x, y, z)) }
}
fn mesh(x: f64, y: f64, z: f64) -> Shape {
    let quads =
        [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let triangles = quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]).collect();
    Shape::Mesh { vertices: corners(DVec3::new(x, y, z)), triangles }
}
fn field(slope: f64) -> Shape {
    let heights = (0..121).map(|i| slope * ((i % 11) as f64 - 5.0) * 0.5).collect();
    Shape::HeightField { counts: [11, 11], spacing: [0.5, 0.5], heights }
}
fn turn(x: f64, y: f64, z: f64) -> DQuat {
    Pose::turned(DVec3::ZERO, DVec3::new(x, y, z)).orientation
}
/// Turns the corner (1, 1, 1) of a cube down.
fn on_corner() -> DQuat {
    DQuat::from_rotation_arc(DVec3::ONE.normalize(), -DVec3::Z)
}

/// Two shapes that just touch, with a known normal and number of contacts.
struct Case {
    name: &'static str,
    a: (Shape, DQuat),
    b: (Shape, DQuat),
    /// Position of b relative to a when they just touch.
    offset: DVec3,
    normal: DVec3,
    count: usize,
    /// Greatest overlap for which the same normal is the least one; zero where touching points
    /// leave the normal open.
    deepest: f64,
}

impl Case {
    fn poses(&self, gap: f64) -> (Pose, Pose) {
        (Pose::new(DVec3::ZERO, self.a.1), Pose::new(self.offset + self.normal * gap, self.b.1))
    }
    fn title(&self) -> String {
        format!("{} ({} and {})", self.name, self.a.0.name(), self.b.0.name())
    }
}

type Row = (&'static str, (Shape, DQuat), (Shape, DQuat), DVec3, DVec3, usize, f64);

fn v(x: f64, y: f64, z: f64) -> DVec3 {
    DVec3::new(x, y, z)
}

const FLAT: DQuat = DQuat::IDENTITY;

/// Boxes, and hulls and meshes in the form of a box.
fn block_rows(block: fn(f64, f64, f64) -> Shape) -> Vec<Row> {
    let lying = turn(0.0, FRAC_PI_2, 0.0);
    let s3 = 3f64.sqrt();
    let edge = v(1.0, 1.0, 0.0) / SQRT_2;
    let (slab, brick) = ((block(1.0, 1.0, 0.5), FLAT), (block(1.0, 0.5, 0.4), FLAT));
    let (ball, plane) = ((sphere(0.3), FLAT), (Shape::HalfSpace, FLAT));
    let ridge = (block(1.0, 0.3, 0.3), turn(FRAC_PI_4, 0.0, 0.0));
    vec![
        ("sphere on face", brick.clone(), ball.clone(), v(0.3, -0.1, 0.7), DVec3::Z, 1, 0.5),
        (
            "sphere on edge",
            brick.clone(),
            ball.clone(),
            v(1.0, 0.5, 0.2) + edge * 0.3,
            edge,
            1,
            0.2,
        ),
        (
            "sphere on corner",
            brick,
            ball,
            v(1.0, 0.5, 0.4) + DVec3::ONE / s3 * 0.3,
            DVec3::ONE / s3,
            1,
            0.2,
        ),
        (
            "on plane",
            plane.clone(),
            (block(0.3, 0.2, 0.1), FLAT),
            v(1.0, 2.0, 0.1),
            DVec3::Z,
            4,
            0.05,
        ),
        (
            "on plane, edge",
            plane.clone(),
            (block(0.3, 0.2, 0.2), turn(FRAC_PI_4, 0.0, 0.0)),
            v(0.0, 0.0, 0.2 * SQRT_2),
            DVec3::Z,
            2,
            0.05,
        ),
        (
            "on plane, corner",
            plane,
            (block(0.2, 0.2, 0.2), on_corner()),
            v(0.0, 0.0, 0.2 * s3),
            DVec3::Z,
            1,
            0.05,
        ),
        (
            "box, faces",
            slab.clone(),
            (cuboid(0.2, 0.3, 0.1), turn(0.0, 0.0, 0.3)),
            v(0.45, -0.4, 0.6),
            DVec3::Z,
            4,
            0.05,
        ),
        (
            "box, corner",
            slab.clone(),
            (cuboid(0.2, 0.2, 0.2), on_corner()),
            v(0.45, -0.4, 0.5 + 0.2 * s3),
            DVec3::Z,
            1,
            0.05,
        ),
        (
            "crossed edges",
            ridge,
            (cuboid(0.3, 1.0, 0.3), turn(0.0, FRAC_PI_4, 0.0)),
            v(0.1, 0.1, 0.6 * SQRT_2),
            DVec3::Z,
            1,
            0.05,
        ),
        (
            "capsule, lying",
            slab.clone(),
            (capsule(0.1, 0.3), lying),
            v(0.45, -0.4, 0.6),
            DVec3::Z,
            2,
            0.09,
        ),
        (
            "capsule, standing",
            slab.clone(),
            (capsule(0.1, 0.3), FLAT),
            v(0.45, -0.4, 0.9),
            DVec3::Z,
            1,
            0.09,
        ),
        (
            "cylinder, standing",
            slab.clone(),
            (cylinder(0.2, 0.3), FLAT),
            v(0.45, -0.4, 0.8),
            DVec3::Z,
            8,
            0.05,
        ),
        (
            "cylinder, lying",
            slab.clone(),
            (cylinder(0.2, 0.3), lying),
            v(0.45, -0.4, 0.7),
            DVec3::Z,
            2,
            0.05,
        ),
        (
            "cone, standing",
            slab.clone(),
            (cone(0.2, 0.3), FLAT),
            v(0.45, -0.4, 0.8),
            DVec3::Z,
            8,
            0.05,
        ),
        (
            "cone, on its tip",
            slab,
            (cone(0.2, 0.3), turn(PI, 0.0, 0.0)),
            v(0.45, -0.4, 0.8),
            DVec3::Z,
            1,
            0.05,
        ),
    ]
}

fn round_rows() -> Vec<Row> {
    let (lying, across, down) =
        (turn(0.0, FRAC_PI_2, 0.0), turn(FRAC_PI_2, 0.0, 0.0), turn(PI, 0.0, 0.0));
    let oblique = v(2.0, -1.0, 2.0) / 3.0;
    // A cone of radius 0.5 and height 1: its side leans by atan(1/2).
    let side = v(1.0, 0.0, 0.5).normalize();
    let slope = v(-0.5, 0.0, 1.0).normalize();
    let rim = v(1.0, 0.0, 1.0) / SQRT_2;
    let (plane, ball) = ((Shape::HalfSpace, FLAT), (sphere(0.3), FLAT));
    let (pill, drum, tip) =
        ((capsule(0.2, 0.5), FLAT), (cylinder(0.2, 0.5), FLAT), (cone(0.5, 0.5), FLAT));
    vec![
        ("spheres", (sphere(0.5), FLAT), ball.clone(), oblique * 0.8, oblique, 1, 0.7),
        ("side", pill.clone(), ball.clone(), v(0.3, 0.4, 0.1), v(0.6, 0.8, 0.0), 1, 0.4),
        ("end", pill.clone(), ball.clone(), v(0.3, 0.0, 0.9), v(0.6, 0.0, 0.8), 1, 0.4),
        ("side", drum.clone(), ball.clone(), v(0.3, 0.4, 0.1), v(0.6, 0.8, 0.0), 1, 0.4),
        ("cap", drum.clone(), ball.clone(), v(0.1, 0.1, 0.8), DVec3::Z, 1, 0.3),
        ("rim", drum.clone(), ball.clone(), v(0.2, 0.0, 0.5) + rim * 0.3, rim, 1, 0.2),
        ("side", tip.clone(), ball.clone(), v(0.25, 0.0, 0.0) + side * 0.3, side, 1, 0.3),
        ("tip", tip.clone(), ball.clone(), v(0.0, 0.0, 0.8), DVec3::Z, 1, 0.2),
        ("base", tip, ball.clone(), v(0.2, 0.1, -0.8), -DVec3::Z, 1, 0.3),
        ("sphere", plane.clone(), ball.clone(), v(5.0, 1.0, 0.3), DVec3::Z, 1, 0.7),
        ("lying", plane.clone(), (capsule(0.1, 0.3), lying), v(5.0, 1.0, 0.1), DVec3::Z, 2, 0.1),
        ("standing", plane.clone(), (capsule(0.1, 0.3), FLAT), v(5.0, 1.0, 0.4), DVec3::Z, 1, 0.1),
        ("standing", plane.clone(), (cylinder(0.1, 0.3), FLAT), v(5.0, 1.0, 0.3), DVec3::Z, 8, 0.1),
        ("lying", plane.clone(), (cylinder(0.1, 0.3), lying), v(5.0, 1.0, 0.1), DVec3::Z, 2, 0.05),
        (
            "leaning",
            plane.clone(),
            (cylinder(0.3, 0.3), turn(0.0, FRAC_PI_4, 0.0)),
            v(0.0, 0.0, 0.3 * SQRT_2),
            DVec3::Z,
            1,
            0.05,
        ),
        ("standing", plane.clone(), (cone(0.1, 0.3), FLAT), v(5.0, 1.0, 0.3), DVec3::Z, 8, 0.1),
        ("tip", plane, (cone(0.1, 0.3), down), v(5.0, 1.0, 0.3), DVec3::Z, 1, 0.1),
        ("alike", pill.clone(), (capsule(0.1, 0.4), FLAT), v(0.3, 0.0, 0.2), DVec3::X, 2, 0.2),
        (
            "crossed",
            (capsule(0.2, 0.5), lying),
            (capsule(0.1, 0.4), across),
            v(0.1, 0.1, 0.3),
            DVec3::Z,
            1,
            0.2,
        ),
        ("in line", pill.clone(), (capsule(0.1, 0.4), FLAT), v(0.0, 0.0, 1.2), DVec3::Z, 1, 0.2),
        ("alike", pill, (cylinder(0.1, 0.4), FLAT), v(0.3, 0.0, 0.2), DVec3::X, 2, 0.1),
        ("alike", drum.clone(), (cylinder(0.1, 0.4), FLAT), v(0.3, 0.0, 0.2), DVec3::X, 2, 0.05),
        ("stacked", drum, (cylinder(0.1, 0.4), FLAT), v(0.05, 0.0, 0.9), DVec3::Z, 8, 0.05),
        (
            "crossed",
            (cylinder(0.2, 0.5), lying),
            (cylinder(0.1, 0.4), across),
            v(0.1, 0.1, 0.3),
            DVec3::Z,
            1,
            0.05,
        ),
        (
            "tip to tip",
            (cone(0.3, 0.5), FLAT),
            (cone(0.2, 0.4), down),
            v(0.0, 0.0, 0.9),
            DVec3::Z,
            1,
            0.0,
        ),
        (
            "base to base",
            (cone(0.3, 0.5), down),
            (cone(0.2, 0.4), FLAT),
            v(0.05, 0.0, 0.9),
            DVec3::Z,
            8,
            0.01,
        ),
        (
            "faces",
            (hull(1.0, 1.0, 0.5), FLAT),
            (hull(0.2, 0.3, 0.1), turn(0.0, 0.0, 0.3)),
            v(0.45, -0.4, 0.6),
            DVec3::Z,
            4,
            0.05,
        ),
        ("sphere", (field(0.0), FLAT), ball.clone(), v(0.2, 0.1, 0.3), DVec3::Z, 1, 0.5),
        (
            "box",
            (field(0.0), FLAT),
            (cuboid(0.05, 0.04, 0.1), FLAT),
            v(0.35, 0.1, 0.1),
            DVec3::Z,
            4,
            0.04,
        ),
        ("slope", (field(0.5), FLAT), ball, v(0.2, 0.1, 0.1) + slope * 0.3, slope, 1, 0.2),
    ]
}

fn cases() -> Vec<Case> {
    let blocks: [fn(f64, f64, f64) -> Shape; 3] = [cuboid, hull, mesh];
    let rows = blocks.into_iter().flat_map(block_rows).chain(round_rows());
    rows.map(|(name, a, b, offset, normal, count, deepest)| Case {
        name,
        a,
        b,
        offset,
        normal,
        count,
        deepest,
    })
    .collect()
}

/// Runs a check on every case and reports all that fail.
fn for_all(check: impl Fn(&Case) -> Result<(), String>) {
    let failures: Vec<String> = cases()
        .iter()
        .filter_map(|case| check(case).err().map(|reason| format!("{}: {reason}", case.title())))
        .collect();
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

fn ensure(right: bool, what: impl Fn() -> String) -> Result<(), String> {
    if right { Ok(()) } else { Err(what()) }
}

#[test]
fn every_pair_has_the_gap_and_normal_of_its_closed_form() {
    for_all(|case| {
        for gap in [0.01, 1e-5, 1e-8, 0.0, -1e-8, -1e-5, -0.005, -0.9 * case.deepest] {
            if gap <= 0.0 && case.deepest == 0.0 {
                continue;
            }
            let (a, b) = case.poses(gap);
            let contacts = touch((&case.a.0, a), (&case.b.0, b), 0.02);
            ensure(!contacts.is_empty(), || format!("nothing at {gap}"))?;
            let contact = least(&contacts);
            ensure((contact.gap - gap).abs() < EXACT, || format!("gap {} at {gap}", contact.gap))?;
            // Rounding turns the direction between points that nearly coincide by 1e-16 / gap.
            let blur = EXACT + 1e-14 / gap.abs().max(1e-9);
            ensure((contact.normal - case.normal).length() < blur, || {
                format!("normal {} at {gap}", contact.normal)
            })?;
            let count = contacts.iter().filter(|contact| contact.gap < gap + 1e-6).count();
            // Two triangles that share a touched edge may each see it, if not the same way, at a
            // gap of exactly zero.
            let shared = gap == 0.0 && matches!(case.a.0, Shape::Mesh { .. }) && count <= 2;
            ensure(gap.abs() > 0.01 || count == case.count || shared, || {
                format!("{count} contacts at {gap}, wanted {}", case.count)
            })?;
        }
        // Beyond the prediction distance there is nothing.
        let (a, b) = case.poses(0.03);
        ensure(touch((&case.a.0, a), (&case.b.0, b), 0.02).is_empty(), || "something beyond".into())
    });
}

#[test]
fn swapping_or_moving_both_changes_nothing_else() {
    let moved = Pose::turned(v(3.0, -2.0, 1.0), v(0.4, 1.2, -0.7));
    for_all(|case| {
        for gap in [0.01, -0.1 * case.deepest] {
            let (a, b) = case.poses(gap + 1e-4);
            let here = least(&touch((&case.a.0, a), (&case.b.0, b), 0.02));
            let swapped = least(&touch((&case.b.0, b), (&case.a.0, a), 0.02));
            let there = least(&touch((&case.a.0, moved * a), (&case.b.0, moved * b), 0.02));
            let same = |normal: DVec3, other: Contact| {
                (normal - other.normal).length() < EXACT && (here.gap - other.gap).abs() < EXACT
            };
            ensure(same(-here.normal, swapped), || {
                format!("swapped at {gap}: {here:?} {swapped:?}")
            })?;
            ensure(same(moved.vector(here.normal), there), || {
                format!("moved at {gap}: {here:?} {there:?}")
            })?;
        }
        Ok(())
    });
}

#[test]
fn keys_stay_under_small_motion() {
    for_all(|case| {
        let (a, b) = case.poses(-1e-3);
        let before = touch((&case.a.0, a), (&case.b.0, b), 0.005);
        for step in 1..20 {
            let t = step as f64;
            // Drift far below the size of any feature, turning included.
            let drift = Pose::turned(
                v(1e-6 * t, -1e-6 * t, 1e-7 * t.sin()),
                v(1e-8 * t, 1e-8 * t.cos(), 1e-7 * t),
            );
            let b = Pose::new(b.position + drift.position, drift.orientation * b.orientation);
            let after = touch((&case.a.0, a), (&case.b.0, b), 0.005);
            let mut places = vec![];
            matches(&before, &after, &mut places);
            let stayed = places.iter().filter(|&&place| place != u32::MAX).count();
            ensure(stayed == before.len() && stayed == after.len(), || {
                format!("step {step}: {stayed} stayed of {}, now {}", before.len(), after.len())
            })?;
        }
        Ok(())
    });
}

#[test]
fn coinciding_centres_still_separate() {
    let shapes = [
        sphere(0.5),
        cuboid(0.3, 0.4, 0.5),
        capsule(0.2, 0.3),
        cylinder(0.2, 0.3),
        cone(0.2, 0.3),
        hull(0.3, 0.4, 0.5),
    ];
    for a in &shapes {
        for b in &shapes {
            let contacts = touch((a, Pose::IDENTITY), (b, Pose::IDENTITY), 0.0);
            assert!(least(&contacts).gap < -0.1, "{} {}: {contacts:?}", a.name(), b.name());
        }
    }
    let contacts = touch((&sphere(0.5), Pose::IDENTITY), (&sphere(0.25), Pose::IDENTITY), 0.0);
    assert_eq!((contacts[0].gap, contacts[0].normal), (-0.75, DVec3::Z));
}

#[test]
fn box_on_plane_has_its_four_corners() {
    // Tilted by a small angle: the gaps of the corners are exact.
    let angle = 0.01f64;
    let pose = Pose::turned(DVec3::Z * 0.5, DVec3::X * angle);
    let contacts = touch((&Shape::HalfSpace, Pose::IDENTITY), (&cuboid(1.0, 2.0, 0.5), pose), 0.1);
    assert_eq!(contacts.len(), 4);
    for contact in contacts {
        let y = 2f64.copysign(contact.point_b.y);
        let height = 0.5 + y * angle.sin() - 0.5 * angle.cos();
        assert!((contact.gap - height).abs() < 1e-14 && contact.point_a.z.abs() < 1e-15);
    }
}

#[test]
fn faces_meet_in_the_corners_of_their_overlap() {
    let cube = cuboid(1.0, 1.0, 1.0);
    let on_cube = |pose: Pose| touch((&cube, Pose::IDENTITY), (&cube, pose), 0.01);
    // Two squares of side 2, shifted by (0.6, 0.4): the overlap is a rectangle of 1.4 × 1.6.
    let contacts = on_cube(Pose::at(v(0.6, 0.4, 1.999)));
    let micro = |x: f64| (x * 1e6).round() as i64;
    let mut found: Vec<_> = contacts
        .iter()
        .map(|contact| (micro(contact.point_a.x), micro(contact.point_a.y)))
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            (-400_000, -600_000),
            (-400_000, 1_000_000),
            (1_000_000, -600_000),
            (1_000_000, 1_000_000)
        ]
    );
    assert!(contacts.iter().all(|contact| (contact.gap + 0.001).abs() < 1e-12));
    // Turned by 45°: an octagon. Equal boxes, one on the other: the four corners, not eight.
    assert_eq!(on_cube(Pose::turned(DVec3::Z * 2.0, DVec3::Z * FRAC_PI_4)).len(), 8);
    assert_eq!(on_cube(Pose::at(DVec3::Z * 2.0)).len(), 4);
}

#[test]
fn moving_meshes_touch_each_other() {
    let contacts = touch(
        (&mesh(1.0, 1.0, 0.5), Pose::IDENTITY),
        (&mesh(0.2, 0.3, 0.1), Pose::at(v(0.45, -0.4, 0.599))),
        0.01,
    );
    assert_eq!(contacts.len(), 4, "{contacts:#?}");
    assert!(contacts.iter().all(|contact| (contact.gap + 0.001).abs() < 1e-12
        && (contact.normal - DVec3::Z).length() < 1e-9));
    // Crossed ridges: one contact of two edges.
    let below = Pose::turned(DVec3::ZERO, DVec3::X * FRAC_PI_4);
    for gap in [0.005, -0.005] {
        let above = Pose::turned(v(0.1, 0.1, 0.6 * SQRT_2 + gap), DVec3::Y * FRAC_PI_4);
        let contacts = touch((&mesh(1.0, 0.3, 0.3), below), (&mesh(0.3, 1.0, 0.3), above), 0.01);
        assert_eq!(contacts.len(), 1, "{contacts:#?}");
        assert!(
            (contacts[0].gap - gap).abs() < 1e-12
                && (contacts[0].normal - DVec3::Z).length() < 1e-12
        );
    }
    // A vertex over a face.
    let above = Pose::new(v(0.1, 0.2, 0.499 + 0.2 * 3f64.sqrt()), on_corner());
    let contacts =
        touch((&mesh(1.0, 1.0, 0.5), Pose::IDENTITY), (&mesh(0.2, 0.2, 0.2), above), 0.01);
    assert_eq!(contacts.len(), 1);
    assert!(
        (contacts[0].gap + 0.001).abs() < 1e-12 && (contacts[0].normal - DVec3::Z).length() < 1e-9
    );
}

#[test]
fn inner_edges_of_a_flat_surface_are_not_felt() {
    for (surface, top) in [(field(0.0), 0.0), (mesh(2.0, 2.0, 1.0), 1.0)] {
        for (shape, height) in [
            (sphere(0.3), 0.3),
            (cuboid(0.15, 0.2, 0.1), 0.1),
            (capsule(0.1, 0.2), 0.3),
            (hull(0.15, 0.2, 0.1), 0.1),
        ] {
            for i in 0..60 {
                let place =
                    v(-0.7 + 0.023 * i as f64, 0.31 - 0.011 * i as f64, top + height - 0.002);
                let contacts = touch(
                    (&surface, Pose::IDENTITY),
                    (&shape, Pose::turned(place, DVec3::Z * 0.1 * i as f64)),
                    0.01,
                );
                assert!(!contacts.is_empty());
                for contact in contacts {
                    let flat = (contact.normal - DVec3::Z).length() < 1e-9
                        && (contact.gap + 0.002).abs() < 1e-9;
                    assert!(flat, "{} on {} at {i}: {contact:?}", shape.name(), surface.name());
                }
            }
        }
    }
}

#[test]
fn compounds_touch_with_all_their_parts() {
    let balls = [(1.0, 0.5), (-1.0, 0.5), (0.0, 0.1)];
    let dumbbell = Shape::Compound {
        parts: balls.iter().map(|&(x, radius)| (Pose::at(DVec3::X * x), sphere(radius))).collect(),
    };
    let contacts =
        touch((&dumbbell, Pose::at(DVec3::Z * 0.49)), (&Shape::HalfSpace, Pose::IDENTITY), 0.01);
    assert_eq!(contacts.len(), 2);
    assert!(
        contacts
            .iter()
            .all(|contact| (contact.gap + 0.01).abs() < 1e-15 && contact.normal == -DVec3::Z)
    );
    assert_eq!(
        touch((&dumbbell, Pose::IDENTITY), (&dumbbell, Pose::at(DVec3::Z * 0.99)), 0.01).len(),
        2
    );
}

#[test]
fn a_margin_is_a_skin() {
    let block = Collider { margin: 0.1, ..Collider::new(0, cuboid(0.5, 0.5, 0.5)) };
    let plane = Collider { margin: 0.05, ..Collider::new(1, Shape::HalfSpace) };
    let mut contacts = vec![];
    World::new(&[block, plane]).unwrap().collide(
        &[Pose::at(DVec3::Z * 0.7), Pose::IDENTITY],
        0.1,
        &mut contacts,
    );
    assert_eq!(contacts.len(), 4);
    assert!(contacts.iter().all(|contact| (contact.gap - 0.05).abs() < 1e-15));
}

fn heap(count: usize) -> (Vec<Collider>, Vec<Pose>) {
    let mut seed = 7u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    let side = (count as f64).cbrt();
    let compound = vec![
        (Pose::at(DVec3::X * 0.3), sphere(0.4)),
        (Pose::at(DVec3::X * -0.3), cuboid(0.3, 0.3, 0.3)),
    ];
    let mut make = |body: usize| {
        let shape = match body % 6 {
            0 | 1 => sphere(0.3 + 0.3 * random()),
            2 => cuboid(0.3, 0.4, 0.5),
            3 => capsule(0.3, 0.4),
            4 => Shape::Compound { parts: compound.clone() },
            _ => hull(0.4, 0.3, 0.4),
        };
        let mut vector = |scale: f64| v(random(), random(), random()) * scale;
        let pose = Pose::turned(vector(side), vector(3.0));
        (Collider { fixed: body.is_multiple_of(17), ..Collider::new(body as u32, shape) }, pose)
    };
    (0..count).map(&mut make).unzip()
}

#[test]
fn the_tree_finds_what_trying_all_pairs_finds() {
    let (colliders, mut poses) = heap(60);
    let mut world = World::new(&colliders).unwrap();
    for step in 0..3 {
        let (mut contacts, mut all) = (vec![], vec![]);
        world.collide(&poses, 0.02, &mut contacts);
        for i in 0..colliders.len() {
            for j in i + 1..colliders.len() {
                let mut pair = vec![];
                World::new(&[colliders[i].clone(), colliders[j].clone()])
                    .unwrap()
                    .collide(&poses, 0.02, &mut pair);
                all.extend(
                    pair.into_iter()
                        .map(|contact| Contact { colliders: (i as u32, j as u32), ..contact }),
                );
            }
        }
        assert!(
            contacts.len() > 50 && contacts == all,
            "step {step}: {} against {}",
            contacts.len(),
            all.len()
        );
        for (i, pose) in poses.iter_mut().enumerate().filter(|(i, _)| i % 17 != 0) {
            *pose = pose.advanced(v(0.1, -0.2, 0.05) * (i % 5) as f64, v(0.1, 0.2, 0.0));
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let (colliders, poses) = heap(2000);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut contacts = vec![];
        pool.install(|| World::new(&colliders).unwrap().collide(&poses, 0.02, &mut contacts));
        contacts
    };
    let one = run(1);
    assert!(one.len() > 3000 && one == run(3));
    assert!(
        one.windows(2)
            .all(|pair| (pair[0].colliders, pair[0].key) < (pair[1].colliders, pair[1].key))
    );
}

#[test]
fn groups_exclusions_and_fixed_bodies_are_respected() {
    let ball = |body: u32, groups: Groups, fixed: bool| Collider {
        groups,
        fixed,
        ..Collider::new(body, sphere(1.0))
    };
    let count = |colliders: [Collider; 3], excluded: &[(u32, u32)]| {
        let mut world = World::new(&colliders).unwrap();
        world.exclude(excluded.iter().copied());
        let mut contacts = vec![];
        world.collide(&[Pose::IDENTITY; 4], 0.0, &mut contacts);
        contacts.len()
    };
    let all = Groups::ALL;
    assert_eq!(count([ball(0, all, false), ball(1, all, false), ball(2, all, true)], &[]), 3);
    assert_eq!(count([ball(0, all, false), ball(1, all, true), ball(2, all, true)], &[]), 2);
    assert_eq!(count([ball(0, all, false), ball(0, all, false), ball(2, all, true)], &[]), 2);
    assert_eq!(
        count([ball(0, all, false), ball(1, all, false), ball(2, all, true)], &[(1, 0), (2, 3)]),
        2
    );
    let (red, blue) = (Groups { membership: 1, filter: 2 }, Groups { membership: 2, filter: 1 });
    assert_eq!(count([ball(0, red, false), ball(1, red, false), ball(2, blue, false)], &[]), 2);
}

#[test]
fn a_lost_body_touches_nothing_and_harms_nobody() {
    let (colliders, mut poses) = heap(30);
    poses[3].position.x = f64::NAN;
    let mut world = World::new(&colliders).unwrap();
    let mut contacts = vec![];
    world.collide(&poses, 0.02, &mut contacts);
    assert!(!contacts.is_empty());
    assert!(contacts.iter().all(|contact| contact.colliders.0 != 3
        && contact.colliders.1 != 3
        && contact.gap.is_finite()));
    poses[3].position.x = 1.0;
    world.collide(&poses, 0.02, &mut contacts);
    let mut fresh = vec![];
    World::new(&colliders).unwrap().collide(&poses, 0.02, &mut fresh);
    assert_eq!(contacts, fresh);
}
