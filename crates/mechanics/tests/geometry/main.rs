//! Where shapes touch, against closed forms.

mod cases;
#[path = "../common/contacts.rs"]
mod contacts;
mod world;

use cases::{ensure, for_all};
use glam::{DQuat, DVec3};
use signorini_mechanics::geometry::{Collider, Contact, Groups, Shape, World, matches};
use signorini_solve::math::pose::Pose;
use signorini_solve::math::random::Random;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI, SQRT_2};

/// Positions of order one, a few hundred roundings, and the 1e-9 within which directions count as
/// equal.
const EXACT: f64 = 1e-9;

fn touch(a: (&Shape, Pose), b: (&Shape, Pose), prediction: f64) -> Vec<Contact> {
    let contacts = contacts::touch(a, b, prediction);
    assert!(contacts.iter().all(|c| c.colliders == (0, 1) && c.gap <= prediction));
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

fn v(x: f64, y: f64, z: f64) -> DVec3 {
    DVec3::new(x, y, z)
}

const FLAT: DQuat = DQuat::IDENTITY;

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

/// The two points of a contact lie across from each other, also where a round body touches or
/// overlaps a face whose corners are far away.
#[test]
fn points_of_a_contact_lie_across_from_each_other() {
    let grounds = [cuboid(2.0, 1.5, 0.1), hull(2.0, 1.5, 0.1), mesh(2.0, 1.5, 0.1)];
    let bodies = [cylinder(0.3, 0.2), cone(0.3, 0.2), capsule(0.2, 0.3), cuboid(0.3, 0.2, 0.1)];
    for ground in &grounds {
        for body in &bodies {
            for (tilt, gap) in (0..40).map(|i| {
                let gaps = [1e-3, 1e-9, 0.0, -1e-12, -1e-9, -1e-6, -1e-4];
                (0.04 * f64::from(i) * v(0.6, -0.8, 0.0), gaps[i as usize % gaps.len()])
            }) {
                let pose = Pose::new(v(0.4, -0.3, 0.0), turn(tilt.x, tilt.y, tilt.z));
                let down = touch((&Shape::HalfSpace, Pose::IDENTITY), (body, pose), 2.0);
                let lowest = least(&down).gap;
                let pose = Pose::new(v(0.4, -0.3, 0.1 + gap - lowest), pose.orientation);
                for (one, other) in [(0, 1), (1, 0)] {
                    let pair = [(ground, Pose::IDENTITY), (body, pose)];
                    for contact in touch(pair[one], pair[other], 1e-2) {
                        let across = contact.point_b - contact.point_a;
                        let aside = (across - contact.normal * contact.gap).length();
                        assert!(aside < EXACT, "{} on {}: {contact:?}", body.name(), ground.name());
                    }
                }
            }
        }
    }
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
