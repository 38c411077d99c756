//! Meshes touch as the solids that they bound do, however they are cut into triangles.
//!
//! The solids are made of cubes on a grid (blocks with steps, rings, tables), and tori; what must
//! come out is known from half-spaces, from polygons cut by an independent function, from the
//! distance to a union of boxes, or from all pairs of triangles (parry's distance queries).

#[path = "../common/contacts.rs"]
mod contacts;
#[path = "../common/cubes.rs"]
mod cubes;
mod distance;
mod solids;

use contacts::touch;
use cubes::Cubes;
use distance::distance;
use glam::{DVec2, DVec3};
use signorini_mechanics::geometry::{Contact, Shape};
use signorini_solve::math::pose::Pose;
use solids::{block, convex_shapes, corners, plane_mesh, ring, stairs, table, torus};
use std::f64::consts::TAU;

fn v(x: f64, y: f64, z: f64) -> DVec3 {
    DVec3::new(x, y, z)
}

/// No two contacts in one place with one normal.
fn assert_single(contacts: &[Contact], what: &str) {
    for (i, one) in contacts.iter().enumerate() {
        for other in &contacts[..i] {
            let near =
                one.point_a.distance(other.point_a).max(one.point_b.distance(other.point_b)) < 1e-7;
            let same = near && one.normal.dot(other.normal) > 0.999;
            assert!(!same, "{what}: doubled\n{one:?}\n{other:?}");
        }
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
    fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.next()
    }
    fn vector(&mut self) -> DVec3 {
        v(self.within(-1.0, 1.0), self.within(-1.0, 1.0), self.within(-1.0, 1.0))
    }
    fn pose(&mut self, reach: f64) -> Pose {
        Pose::turned(self.vector() * reach, self.vector() * 3.0)
    }
}

/// The polygon where two convex polygons (counter-clockwise) overlap.
fn overlap(subject: &[DVec2], by: &[DVec2]) -> Vec<DVec2> {
    let mut polygon = subject.to_vec();
    for i in 0..by.len() {
        let (from, to) = (by[i], by[(i + 1) % by.len()]);
        let inside = |p: DVec2| (to - from).perp_dot(p - from);
        let mut cut = vec![];
        for k in 0..polygon.len() {
            let (p, q) = (polygon[k], polygon[(k + 1) % polygon.len()]);
            let (s, t) = (inside(p), inside(q));
            if s >= 0.0 {
                cut.push(p);
            }
            if (s > 0.0 && t < 0.0) || (s < 0.0 && t > 0.0) {
                cut.push(p.lerp(q, s / (s - t)));
            }
        }
        polygon = cut;
    }
    polygon
}

fn rectangle(center: DVec2, half: DVec2, angle: f64) -> Vec<DVec2> {
    let turn = DVec2::from_angle(angle);
    [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
        .map(|(x, y)| center + turn.rotate(half * DVec2::new(x, y)))
        .to_vec()
}

#[test]
fn plates_on_a_table_rest_on_all_that_touches() {
    let table = table().shape(2);
    let top = rectangle(DVec2::ZERO, DVec2::splat(0.5), 0.0);
    let mut random = Random(1);
    for round in 0..150 {
        let half = DVec2::new(random.within(0.02, 1.6), random.within(0.02, 1.6));
        // Every tenth plate is as large as the table and lies edge on edge.
        let (half, angle, center) = match round % 10 {
            0 => (DVec2::splat(0.5), 0.0, DVec2::new(random.within(-1e-12, 1e-12), 0.0)),
            1 => (DVec2::new(0.5, half.y), 0.0, DVec2::new(random.within(-1e-9, 1e-9), 0.0)),
            2 => (half, 0.0, DVec2::ZERO),
            _ => (
                half,
                random.within(0.0, TAU),
                DVec2::new(random.within(-0.6, 0.6), random.within(-0.6, 0.6)),
            ),
        };
        let area = overlap(&rectangle(center, half, angle), &top);
        if area.is_empty() {
            continue;
        }
        let thick = random.within(0.02, 0.2);
        for gap in [1e-3, 1e-9, 0.0, -1e-12, -1e-9, -1e-7, -1e-5, -1e-3] {
            let pose = Pose::turned(center.extend(0.5 * thick + gap), DVec3::Z * angle);
            for plate in [
                block(half.x, half.y, 0.5 * thick),
                Shape::Hull { points: corners(half.extend(0.5 * thick)) },
            ] {
                let contacts = touch((&table, Pose::IDENTITY), (&plate, pose), 0.002);
                let what = format!(
                    "round {round}, {half} at {center} turned {angle}, gap {gap:e}, {}",
                    plate.name()
                );
                assert_single(&contacts, &what);
                for contact in &contacts {
                    // Well above, a vertex beside the plate is nearest to its edge.
                    let lean = if gap > 1e-6 { 0.2 } else { 1e-6 };
                    let flat = (contact.normal - DVec3::Z).length() < lean
                        && (contact.gap - gap).abs() < 0.03 * lean + 1e-9;
                    assert!(flat, "{what}: {contact:?}");
                }
                for k in 0..16 {
                    let direction = DVec2::from_angle(TAU * f64::from(k) / 16.0);
                    let far = |points: &mut dyn Iterator<Item = DVec2>| {
                        points.map(|p| p.dot(direction)).fold(f64::NEG_INFINITY, f64::max)
                    };
                    let wanted = far(&mut area.iter().copied());
                    let found = far(&mut contacts.iter().map(|c| c.point_b.truncate()));
                    // Eight directions of sixteen are kept exactly; between them a polygon may lose
                    // what its outermost corners in the neighbouring directions leave.
                    assert!(
                        (found <= wanted + 1e-6 || gap > 1e-6)
                            && found >= wanted - 0.09 * half.max_element().min(0.75),
                        "{what}: direction {k}: {found} of {wanted}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_flat_mesh_is_a_half_space() {
    let mesh = plane_mesh(6);
    let mut random = Random(2);
    for round in 0..120 {
        for shape in convex_shapes().into_iter().chain([torus(16, 8, 0.1, 0.05)]) {
            let turn = random.vector() * if round % 3 == 0 { 0.0 } else { 3.0 };
            let mut pose =
                Pose::turned(v(random.within(-0.9, 0.9), random.within(-0.9, 0.9), 0.0), turn);
            let bottom = touch((&Shape::HalfSpace, Pose::at(-DVec3::Z)), (&shape, pose), 3.0);
            let least = bottom.iter().map(|c| c.gap).fold(f64::INFINITY, f64::min) - 1.0;
            pose.position.z = -least + [1e-3, 1e-9, 0.0, -1e-9, -1e-6, -1e-3][round % 6];
            let tilt =
                Pose::turned(v(0.3, 0.2, -0.1), v(0.2, -0.4, 0.3) * f64::from(round as u32 % 2));
            let place = |of: Pose| tilt * of;
            let wanted =
                touch((&Shape::HalfSpace, place(Pose::IDENTITY)), (&shape, place(pose)), 0.02);
            let found = touch((&mesh, place(Pose::IDENTITY)), (&shape, place(pose)), 0.02);
            let what = format!("round {round}, {} at {pose:?}", shape.name());
            if matches!(shape, Shape::Mesh { .. }) {
                // Every vertex that looks down is there; reductions may choose others of the same
                // plane.
                let least = |contacts: &[Contact]| {
                    contacts.iter().map(|c| c.gap).fold(f64::INFINITY, f64::min)
                };
                assert!((least(&wanted) - least(&found)).abs() < 1e-12, "{what}");
                assert!(
                    found.iter().all(|c| (c.normal - wanted[0].normal).length() < 1e-12),
                    "{what}: {found:#?}"
                );
                continue;
            }
            assert_eq!(wanted.len(), found.len(), "{what}\n{wanted:#?}\n{found:#?}");
            for (one, other) in wanted.iter().zip(&found) {
                // Coordinates of order one, a dozen roundings.
                let equal = one.key == other.key
                    && (one.gap - other.gap).abs() < 1e-14
                    && one.point_b.distance(other.point_b) < 1e-14
                    && one.normal.distance(other.normal) < 1e-14;
                assert!(equal, "{what}\n{one:?}\n{other:?}");
            }
        }
    }
}

#[test]
fn spheres_keep_the_distance_of_the_solid() {
    let mut random = Random(3);
    for (solid, cut) in [(table(), 1), (stairs(), 2), (ring(), 3)] {
        let mesh = solid.shape(cut);
        for _ in 0..600 {
            let center = random.vector() * v(1.3, 1.3, 0.8);
            if solid.contains(center) {
                continue;
            }
            let distance = solid.distance(center);
            let radius = distance + random.within(-0.01, 0.01);
            if radius <= 0.0 {
                continue;
            }
            let contacts =
                touch((&mesh, Pose::IDENTITY), (&Shape::Sphere { radius }, Pose::at(center)), 0.02);
            assert_single(&contacts, &format!("sphere at {center}"));
            let least = contacts.iter().map(|c| c.gap).fold(f64::INFINITY, f64::min);
            assert!(
                (least - (distance - radius)).abs() < 1e-12,
                "{center}: {least} of {}",
                distance - radius
            );
            for contact in &contacts {
                // Its own nearest point lies on the solid, and nothing of it nearer than it says.
                assert!(solid.distance(contact.point_a) < 1e-12, "{contact:?}");
            }
        }
    }
}

#[test]
fn a_corner_on_stairs_meets_tread_and_riser_alone() {
    let stairs = stairs();
    for cut in [1, 3] {
        let mesh = stairs.shape(cut);
        for down in [1e-3, 1e-9, 0.0, -1e-12, -1e-9, -1e-6, -1e-4] {
            for into in [1e-3, 1e-9, 1e-12, 0.0, -1e-12, -1e-9, -1e-6, -1e-4] {
                for (size, y) in [(0.1, 0.03), (0.3, -0.2), (0.01, 0.111), (0.6, 0.0), (2.0, 0.0)] {
                    for shape in [
                        block(size, size, size),
                        Shape::Hull { points: corners(DVec3::splat(size)) },
                    ] {
                        // On the tread at z = 0.25, against the riser at x = −0.75.
                        let reaches = size < 0.375;
                        let pose = Pose::at(v(-0.75 + size + into, y, 0.25 + size + down));
                        let contacts = touch((&mesh, Pose::IDENTITY), (&shape, pose), 2e-3);
                        let what = format!(
                            "cut {cut}, {} of {size}, down {down:e}, into {into:e}",
                            shape.name()
                        );
                        assert_single(&contacts, &what);
                        let (mut on_tread, mut on_riser) = (0, 0);
                        for contact in &contacts {
                            if (contact.normal - DVec3::Z).length() < 1e-9
                                && (contact.gap - down).abs() < 1e-9
                            {
                                on_tread += 1;
                            } else if (contact.normal - DVec3::X).length() < 1e-9
                                && (contact.gap - into).abs() < 1e-9
                            {
                                on_riser += 1;
                            } else {
                                panic!("{what}: {contact:?}");
                            }
                        }
                        // A box wider than the stairs, or longer than the tread, ends on edges.
                        assert!(
                            on_tread >= 4 && on_riser >= if reaches { 4 } else { 2 },
                            "{what}: {contacts:#?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn what_fits_a_hole_is_not_held_by_its_rim() {
    let mesh = ring().shape(2);
    // Beside the rim, below the top, with a clearance of 1 mm on each side.
    for (shape, count) in [
        (block(0.499, 0.499, 0.3), 8),
        (Shape::Cylinder { radius: 0.499, half_length: 0.3 }, 4),
        (Shape::Sphere { radius: 0.499 }, 4),
    ] {
        for z in [-0.3, -0.125, 0.0, 0.04, 0.1] {
            let contacts =
                touch((&mesh, Pose::IDENTITY), (&shape, Pose::at(v(0.0, 0.0, z))), 0.002);
            for contact in &contacts {
                let sideways = contact.normal.z.abs() < 0.2;
                assert!(
                    sideways && (contact.gap - 1e-3).abs() < 3e-3,
                    "{} at {z}: {contact:?}",
                    shape.name()
                );
                if !matches!(shape, Shape::Sphere { .. }) {
                    assert!(
                        contact.normal.z.abs() < 1e-9 && (contact.gap - 1e-3).abs() < 1e-9,
                        "{} at {z}: {contact:?}",
                        shape.name()
                    );
                }
            }
            if z == -0.125 {
                assert!(contacts.len() >= count, "{}: {contacts:#?}", shape.name());
            }
        }
    }
    // Wider than the hole it lies on four sides.
    for half in [0.501, 0.6, 1.0, 1.7] {
        for gap in [1e-6, 0.0, -1e-9, -1e-6] {
            let contacts = touch(
                (&mesh, Pose::IDENTITY),
                (&block(half, half, 0.05), Pose::at(v(0.0, 0.0, 0.05 + gap))),
                1e-3,
            );
            assert!(contacts.len() >= 4);
            let flat =
                |c: &Contact| (c.normal - DVec3::Z).length() < 1e-9 && (c.gap - gap).abs() < 1e-9;
            assert!(contacts.iter().all(flat), "{half}: {contacts:#?}");
            let reach = half.min(1.0);
            for direction in [DVec3::X, -DVec3::X, DVec3::Y, -DVec3::Y] {
                let far = contacts.iter().map(|c| c.point_b.dot(direction)).fold(0.0, f64::max);
                assert!((far - reach).abs() < 1e-6, "{half}: reaches {far} of {reach}");
            }
        }
    }
}

#[test]
fn a_body_wholly_inside_is_shown_one_way_out() {
    // A cube without one corner.
    let all = (-4..4).flat_map(|x| (-4..4).flat_map(move |y| (-4..4).map(move |z| [x, y, z])));
    let mesh = Cubes::new(all.filter(|cell| *cell != [3, 3, 3]), 0.25).shape(1);
    let mut random = Random(11);
    let small = Cubes::new([[0, 0, 0], [1, 0, 0], [0, 1, 0]], 0.05).shape(1);
    for shape in convex_shapes().into_iter().chain([small]) {
        for _ in 0..40 {
            let pose = random.pose(0.7);
            if pose.position.max_element() > 0.2 {
                continue;
            }
            let contacts = touch((&mesh, Pose::IDENTITY), (&shape, pose), 1e-3);
            let what = format!("{} at {pose:?}", shape.name());
            assert!(!contacts.is_empty(), "{what}");
            let n = contacts[0].normal;
            assert!(
                contacts.iter().all(|c| c.normal.distance(n) < 1e-9 && c.gap < 0.0),
                "{what}: {contacts:#?}"
            );
            // Moved that way it is out.
            let deepest = contacts.iter().map(|c| c.gap).fold(0.0, f64::min);
            let moved = Pose::new(pose.position - n * (deepest - 1e-6), pose.orientation);
            let left = touch((&mesh, Pose::IDENTITY), (&shape, moved), 1e-3);
            assert!(
                left.iter().all(|c| c.gap > -1e-9),
                "{what} moved along {n} by {deepest}: {left:#?}"
            );
        }
    }
}

#[test]
fn a_convex_mesh_is_its_hull() {
    let cube = Cubes::new(
        [[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 1, 1], [1, 1, 1]],
        0.2,
    );
    let points: Vec<DVec3> = (0..8)
        .map(|i| v(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2 & 1)) * 0.4)
        .collect();
    let (mesh, hull) = (cube.shape(3), Shape::Hull { points });
    let mut random = Random(13);
    for shape in convex_shapes().iter().chain([&Shape::HalfSpace, &mesh]) {
        for _ in 0..200 {
            let (a, b) = (random.pose(0.3), random.pose(0.3));
            let found = touch((&mesh, a), (shape, b), 0.05);
            let wanted = touch((&hull, a), (shape, b), 0.05);
            assert_eq!(found.len(), wanted.len());
            // Their corners are numbered in another order.
            for one in &found {
                let same = |other: &Contact| {
                    let near = one.point_b.distance(other.point_b) < 1e-9
                        && (one.gap - other.gap).abs() < 1e-9;
                    near && one.normal.distance(other.normal) < 1e-9
                };
                assert!(wanted.iter().any(same), "{one:?}\n{wanted:#?}");
            }
        }
    }
}

#[test]
fn keys_stay_while_a_body_slides_over_triangles() {
    for cut in [1, 3] {
        let mesh = plane_mesh(6);
        let field = Shape::HeightField {
            counts: [21, 21],
            spacing: [0.2 / f64::from(cut), 0.15],
            heights: vec![0.0; 441],
        };
        for surface in [&mesh, &field] {
            for shape in convex_shapes() {
                let keys = |x: f64| {
                    let pose = Pose::at(v(x, 0.37 * x, 0.12 - 1e-7));
                    touch((surface, Pose::IDENTITY), (&shape, pose), 0.05)
                        .iter()
                        .map(|c| c.key)
                        .collect::<Vec<_>>()
                };
                let first = keys(0.0);
                for i in 0..60 {
                    assert_eq!(keys(5.3e-3 * f64::from(i)), first, "{} at {i}", shape.name());
                }
            }
        }
    }
}

#[test]
fn meshes_lie_flush_on_meshes() {
    let table = table().shape(2);
    // An angle bracket lying on its side: three cubes of 0.2 m.
    let bracket = Cubes::new([[0, 0, 0], [1, 0, 0], [0, 1, 0]], 0.2).shape(2);
    for angle in [0.0, 0.3, 1.0] {
        for gap in [1e-4, 0.0, -1e-9, -1e-6] {
            for place in
                [v(-0.1, -0.1, 0.0), v(0.3, 0.2, 0.0), v(0.1, 0.1, 0.0), v(-0.5, -0.5, 0.0)]
            {
                let pose = Pose::turned(place + DVec3::Z * gap, DVec3::Z * angle);
                let contacts = touch((&table, Pose::IDENTITY), (&bracket, pose), 1e-3);
                let what = format!("at {place}, turned {angle}, gap {gap:e}");
                assert_single(&contacts, &what);
                assert!(contacts.len() >= 3, "{what}: {contacts:#?}");
                let flat = |c: &&Contact| {
                    (c.normal - DVec3::Z).length() < 1e-6 && (c.gap - gap).abs() < 1e-8
                };
                assert!(contacts.iter().all(|c| flat(&c)), "{what}: {contacts:#?}");
            }
        }
    }
}

#[test]
fn in_a_bowl_only_faces_push() {
    // The inner side of a sphere of radius 1, below z = 0, in a block.
    let count = 24;
    let field = |i: usize, j: usize| {
        let (x, y) = (-0.9 + 1.8 * i as f64 / count as f64, -0.9 + 1.8 * j as f64 / count as f64);
        1.0 - (1.0 - 0.5 * (x * x + y * y)).max(0.0).sqrt()
    };
    let heights = (0..=count).flat_map(|j| (0..=count).map(move |i| field(i, j))).collect();
    let bowl = Shape::HeightField {
        counts: [count + 1, count + 1],
        spacing: [1.8 / count as f64; 2],
        heights,
    };
    let Shape::HeightField { heights, .. } = &bowl else { unreachable!() };
    let place = |i: usize| -0.9 + 1.8 * i as f64 / count as f64;
    let vertices: Vec<DVec3> = (0..=count)
        .flat_map(|j| (0..=count).map(move |i| (i, j)))
        .map(|(i, j)| v(place(i), place(j), heights[j * (count + 1) + i]))
        .collect();
    let at = |i: usize, j: usize| (j * (count + 1) + i) as u32;
    let mut triangles = vec![];
    for j in 0..count {
        for i in 0..count {
            triangles.extend([
                [at(i, j), at(i + 1, j), at(i + 1, j + 1)],
                [at(i, j), at(i + 1, j + 1), at(i, j + 1)],
            ]);
        }
    }
    let sheet = Shape::Mesh { vertices, triangles };
    let mut random = Random(17);
    for shape in convex_shapes() {
        for _ in 0..100 {
            let place =
                v(random.within(-0.4, 0.4), random.within(-0.4, 0.4), random.within(0.1, 0.5));
            let pose = Pose::turned(place, random.vector() * 3.0);
            let free = distance(&sheet, (&shape, pose));
            if free < 1e-3 {
                continue;
            }
            let contacts = touch((&bowl, Pose::IDENTITY), (&shape, pose), free + 0.01);
            let least = contacts.iter().map(|c| c.gap).fold(f64::INFINITY, f64::min);
            assert!((least - free).abs() < 2e-6, "{} at {pose:?}: {least} of {free}", shape.name());
            assert_single(&contacts, shape.name());
        }
    }
}
