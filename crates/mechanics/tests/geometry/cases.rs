//! Pairs of shapes that just touch, with their closed forms.

use super::*;

/// Two shapes that just touch, with a known normal and number of contacts.
pub struct Case {
    pub name: &'static str,
    pub a: (Shape, DQuat),
    pub b: (Shape, DQuat),
    /// Position of b relative to a when they just touch.
    pub offset: DVec3,
    pub normal: DVec3,
    pub count: usize,
    /// Greatest overlap for which the same normal is the least one; zero where touching points
    /// leave the normal open.
    pub deepest: f64,
}

impl Case {
    pub fn poses(&self, gap: f64) -> (Pose, Pose) {
        (Pose::new(DVec3::ZERO, self.a.1), Pose::new(self.offset + self.normal * gap, self.b.1))
    }
    fn title(&self) -> String {
        format!("{} ({} and {})", self.name, self.a.0.name(), self.b.0.name())
    }
}

type Row = (&'static str, (Shape, DQuat), (Shape, DQuat), DVec3, DVec3, usize, f64);

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
pub fn for_all(check: impl Fn(&Case) -> Result<(), String>) {
    let failures: Vec<String> = cases()
        .iter()
        .filter_map(|case| check(case).err().map(|reason| format!("{}: {reason}", case.title())))
        .collect();
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

pub fn ensure(right: bool, what: impl Fn() -> String) -> Result<(), String> {
    if right { Ok(()) } else { Err(what()) }
}
