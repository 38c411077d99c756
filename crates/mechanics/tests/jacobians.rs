//! Every part, coordinate and force against central differences, from one list each.

use glam::{DQuat, DVec3};
use signorini_mechanics::assemble::part::{Measure, Mount, Twist, measure};
use signorini_mechanics::assemble::{StepInput, element};
use signorini_mechanics::scene::*;
use signorini_solve::math::pose::Pose;
use signorini_solve::math::random::Random;

/// Every scalar function of two frames.
const PARTS: &[Part] = &[
    Part::Along(Axis::X),
    Part::Along(Axis::Y),
    Part::Along(Axis::Z),
    Part::Perpendicular(Axis::X, Axis::Y),
    Part::Perpendicular(Axis::Z, Axis::X),
    Part::Perpendicular(Axis::Z, Axis::Z),
    Part::Turn(Axis::X),
    Part::Turn(Axis::Y),
    Part::Turn(Axis::Z),
    Part::Twist,
    Part::Distance(0.7),
];

fn any_pose(numbers: &mut Random) -> Pose {
    Pose::turned(numbers.vector(), 1.5 * numbers.vector())
}

/// The twelve unit motions of two bodies.
fn unit_motions() -> impl Iterator<Item = (Twist, Twist)> {
    (0..12).map(|i| {
        let mut x = [DVec3::ZERO; 4];
        x[i / 3][i % 3] = 1.0;
        (Twist { linear: x[0], angular: x[1] }, Twist { linear: x[2], angular: x[3] })
    })
}

fn moved(pose: &Pose, twist: &Twist, t: f64) -> Pose {
    pose.advanced(t * twist.linear, t * twist.angular)
}

/// Step of the differences: error ≈ t²·third derivative (≲ 10) + rounding/t, least near t = 1e-5:
/// 1e-9 and 1e-10.
const T: f64 = 1e-5;
const TOLERANCE: f64 = 1e-8;

#[test]
fn parts() {
    let mut numbers = Random::seeded(1);
    for &part in PARTS {
        for _ in 0..20 {
            let (a, b, fa, fb) = (
                any_pose(&mut numbers),
                any_pose(&mut numbers),
                any_pose(&mut numbers),
                any_pose(&mut numbers),
            );
            let at = |a: &Pose, b: &Pose| {
                measure(part, Mount { body: a, frame: &fa }, Mount { body: b, frame: &fb })
            };
            let here: Measure = at(&a, &b);
            for (ta, tb) in unit_motions() {
                let (plus, minus) = (
                    at(&moved(&a, &ta, T), &moved(&b, &tb, T)),
                    at(&moved(&a, &ta, -T), &moved(&b, &tb, -T)),
                );
                // The sign of a quaternion may change between two sides of half a turn.
                if (plus.value - minus.value).abs() > 1.0
                    || (part != Part::Twist
                        && here.value.abs() > 1.99
                        && matches!(part, Part::Turn(_)))
                {
                    continue;
                }
                let difference = (plus.value - minus.value) / (2.0 * T);
                let exact = here.a.rate(&ta) + here.b.rate(&tb);
                // The angle of a frame nearly upside down changes arbitrarily fast.
                let scale = 1.0 + exact.abs().powi(3);
                assert!(
                    (difference - exact).abs() < TOLERANCE * scale,
                    "{part:?}: {difference} against {exact}"
                );
            }
        }
    }
}

/// Two free bodies, and one force of each kind that has an energy.
fn forces() -> Vec<(&'static str, ForceKind)> {
    let (a, b) = (BodyId(1), BodyId(2));
    let mut numbers = Random::seeded(2);
    let (frame_a, frame_b) = (any_pose(&mut numbers), any_pose(&mut numbers));
    let mut stiffness = [[0.0; 6]; 6];
    for (i, row) in stiffness.iter_mut().enumerate() {
        row[i] = 3.0 + i as f64;
    }
    stiffness[0][4] = 0.5;
    stiffness[4][0] = 0.5;
    let spring = Spring {
        a,
        b,
        point_a: numbers.vector(),
        point_b: numbers.vector(),
        length: 0.3,
        stiffness: 5.0,
        damping: 0.2,
    };
    vec![
        ("spring", ForceKind::Spring(spring)),
        (
            "spring between centres",
            ForceKind::Spring(Spring { point_a: DVec3::ZERO, point_b: DVec3::ZERO, ..spring }),
        ),
        (
            "torsion",
            ForceKind::Torsion(Torsion {
                a,
                b,
                frame_a,
                frame_b,
                angle: 0.2,
                stiffness: 2.0,
                damping: 0.1,
            }),
        ),
        (
            "bushing",
            ForceKind::Bushing(Box::new(Bushing {
                a,
                b,
                frame_a,
                frame_b,
                stiffness,
                damping: stiffness,
            })),
        ),
    ]
}

fn two_bodies(force: &ForceKind) -> Scene {
    let mut scene = Scene::new("two bodies");
    for name in ["a", "b"] {
        scene.add_body(Body::rigid(name, Mass::sphere(1.0, 0.1)));
    }
    scene.add_force("force", force.clone());
    scene
}

fn present(a: &Pose, b: &Pose) -> StepInput {
    StepInput {
        time: 0.0,
        h: 1.0,
        poses: vec![Pose::IDENTITY, *a, *b],
        twists: vec![Twist::default(); 3],
        angles: Vec::new(),
        ..StepInput::default()
    }
}

fn energy(scene: &Scene, now: &StepInput) -> f64 {
    let mut elements = Vec::new();
    element::evaluate(scene, now, &mut elements);
    elements.iter().map(|e| e.energy()).sum()
}

/// The force along a motion: −Gᵀ K x.
fn push(scene: &Scene, now: &StepInput, a: &Twist, b: &Twist) -> f64 {
    let mut elements = Vec::new();
    element::evaluate(scene, now, &mut elements);
    let mut sum = 0.0;
    for e in &elements {
        let rates = e.rates(a, b);
        for i in 0..6 {
            sum -= (0..6).map(|j| rates[i] * e.stiffness[i][j] * e.measures[j].value).sum::<f64>();
        }
    }
    sum
}

#[test]
fn forces_are_gradients_of_their_energies() {
    let mut numbers = Random::seeded(3);
    for (name, force) in forces() {
        let scene = two_bodies(&force);
        for _ in 0..10 {
            let (a, b) = (any_pose(&mut numbers), any_pose(&mut numbers));
            for (ta, tb) in unit_motions() {
                let plus = energy(&scene, &present(&moved(&a, &ta, T), &moved(&b, &tb, T)));
                let minus = energy(&scene, &present(&moved(&a, &ta, -T), &moved(&b, &tb, -T)));
                let difference = -(plus - minus) / (2.0 * T);
                let exact = push(&scene, &present(&a, &b), &ta, &tb);
                if (plus - minus).abs() > 1.0 {
                    continue;
                }
                // Energies of some 30 J: thirty times the tolerance of a unit function.
                assert!(
                    (difference - exact).abs() < 30.0 * TOLERANCE * (1.0 + exact.abs().powi(2)),
                    "{name}: {difference} against {exact}"
                );
            }
        }
    }
}

#[test]
fn stiffness_is_the_derivative_of_the_force_where_it_claims_to_be() {
    // At the natural configuration of any element, and for a stretched spring between two centres,
    // nothing is left out.
    for (name, force) in forces() {
        let scene = two_bodies(&force);
        let (a, b) = match &force {
            ForceKind::Bushing(s) => (Pose::IDENTITY, s.frame_a * s.frame_b.inverse()),
            ForceKind::Torsion(s) => (
                Pose::IDENTITY,
                s.frame_a * Pose::turned(DVec3::ZERO, s.angle * DVec3::Z) * s.frame_b.inverse(),
            ),
            ForceKind::Spring(s) if s.point_a != DVec3::ZERO => {
                (Pose::IDENTITY, Pose::at(s.point_a - s.point_b + DVec3::new(0.0, 0.3, 0.0)))
            }
            _ => (
                Pose::IDENTITY,
                Pose {
                    position: DVec3::new(0.6, 0.2, -0.5),
                    orientation: DQuat::from_rotation_x(0.3),
                },
            ),
        };
        let mut elements = Vec::new();
        element::evaluate(&scene, &present(&a, &b), &mut elements);
        for (ta, tb) in unit_motions() {
            for (sa, sb) in unit_motions() {
                let plus = push(&scene, &present(&moved(&a, &sa, T), &moved(&b, &sb, T)), &ta, &tb);
                let minus =
                    push(&scene, &present(&moved(&a, &sa, -T), &moved(&b, &sb, -T)), &ta, &tb);
                let difference = -(plus - minus) / (2.0 * T);
                let mut exact = 0.0;
                for e in &elements {
                    let (left, right) = (e.rates(&ta, &tb), e.rates(&sa, &sb));
                    for i in 0..6 {
                        exact +=
                            (0..6).map(|j| left[i] * e.stiffness[i][j] * right[j]).sum::<f64>();
                    }
                }
                assert!(
                    (difference - exact).abs() < 30.0 * TOLERANCE,
                    "{name}: {difference} against {exact}"
                );
            }
        }
    }
}
