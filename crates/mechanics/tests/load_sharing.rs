//! Contacts of two faces share their load.

mod common;

use common::run;
use glam::DVec3;
use signorini_mechanics::assemble::Source;
use signorini_mechanics::geometry::Shape;
use signorini_mechanics::scene::*;
use signorini_mechanics::step::Settings;
use signorini_solve::math::pose::Pose;
use signorini_solve::solve::Method;

/// A table of 1 kg on four corners 20 cm apart, its centre of mass 5 cm and 2 cm off the middle.
fn table() -> (Scene, BodyId) {
    let mut scene = Scene::new("table");
    scene.add_collider(
        BodyId::GROUND,
        Shape::HalfSpace,
        Pose::IDENTITY,
        SurfaceMaterial::default(),
    );
    let body =
        Body::rigid("table", Mass::new(1.0, DVec3::splat(0.01))).at(DVec3::new(0.0, 0.0, 0.05));
    let table = scene.add_body(body);
    let half = DVec3::new(0.1, 0.1, 0.05);
    scene.add_collider(
        table,
        Shape::Box { half_extents: half },
        Pose::at(DVec3::new(-0.05, -0.02, 0.0)),
        SurfaceMaterial::default(),
    );
    (scene, table)
}

/// Normal forces of the contacts of the last step, largest first, N.
fn forces(run: &common::Run, h: f64) -> Vec<f64> {
    let (assembly, solution) = (run.stepper.assembly(), run.stepper.solution());
    let contacts =
        assembly.sources.iter().enumerate().filter(|(_, s)| matches!(s, Source::Contact(..)));
    let mut forces: Vec<f64> =
        contacts.map(|(k, _)| solution.r[assembly.problem.J.row_starts[k]] / h).collect();
    forces.sort_by(|a, b| b.total_cmp(a));
    forces
}

/// A rigid table on four legs has many answers; that of equal springs is
/// `F = m g/4 (1 ± x/a ± y/a)`.
#[test]
fn a_table_rests_on_its_legs_as_on_equal_springs() {
    let h = 1e-3;
    for method in [Method::Auto, Method::Newton, Method::InteriorPoint, Method::Psor] {
        let (scene, body) = table();
        let settings = Settings { solver: method, ..Settings::with_time_step(h) };
        let run = run(&scene, settings, 100);
        let wanted = [1.7, 1.3, 0.7, 0.3].map(|share| 9.81 / 4.0 * share);
        for (found, wanted) in forces(&run, h).iter().zip(wanted) {
            // Rest is solved to 1e-12 of the scale; gaps that differ by the rounding of positions,
            // 1e-17 m of a yield of 2e-9 m, add as much again.
            assert!(
                (found - wanted).abs() < 1e-6,
                "{}: {found} N instead of {wanted} N",
                method.name()
            );
        }
        // Nobody sees it: the table is where it was to some nanometres, and stays.
        assert!((run.position(body).z - 0.05).abs() < 5e-9, "{}", run.position(body));
        assert!(run.velocity(body).length() < 1e-6);
    }
}

/// A perfectly rigid contact can still be had.
#[test]
fn rigid_contacts_have_no_compliance() {
    let (scene, _) = table();
    let mut settings = Settings::with_time_step(1e-3);
    settings.scheme.load_sharing = 0.0;
    let run = run(&scene, settings, 10);
    assert!(run.stepper.assembly().problem.E.iter().all(|e| *e == 0.0));
}

/// The yield does not grow with the load: 1e12 kg on 1 kg.
#[test]
fn a_heavy_body_does_not_sink_into_a_light_one() {
    let mut scene = Scene::new("heavy on light");
    scene.add_collider(
        BodyId::GROUND,
        Shape::HalfSpace,
        Pose::IDENTITY,
        SurfaceMaterial::default(),
    );
    let half = DVec3::splat(0.05);
    let shape = Shape::Box { half_extents: half };
    let light = scene.add_body_with_shape(
        Body::rigid("light", Mass::new(1.0, DVec3::splat(1e-3))).at(DVec3::new(0.0, 0.0, 0.05)),
        shape.clone(),
    );
    let heavy = scene.add_body_with_shape(
        Body::rigid("heavy", Mass::new(1e12, DVec3::splat(1e9))).at(DVec3::new(0.0, 0.0, 0.15)),
        shape,
    );
    let run = run(&scene, Settings::with_time_step(1e-3), 200);
    // Two pairs, each a nanometre in a step, and what the tolerance of 1e-6 m/s adds.
    assert!(
        (run.position(light).z - 0.05).abs() < 2e-8 && (run.position(heavy).z - 0.15).abs() < 4e-8,
        "{}",
        run.position(heavy)
    );
}
