//! What the tests of whole scenes share.
#![allow(dead_code)]

use glam::DVec3;
use signorini_mechanics::assemble::{Scheme, TimeScheme};
use signorini_mechanics::geometry::Shape;
use signorini_mechanics::scene::*;
use signorini_mechanics::step::{Ledger, Settings, Stepper};
use signorini_solve::math::pose::Pose;

/// Rounding of a ledger: some thousand additions, each within 1e-16 of the throughput.
pub const LEDGER: f64 = 1e-12;

/// Steps of the Euler scheme, whose discrete motions have closed forms of their own.
pub fn euler(h: f64) -> Settings {
    let settings = Settings::with_time_step(h);
    Settings { scheme: Scheme { time: TimeScheme::Euler, ..settings.scheme }, ..settings }
}

/// Steps of length `h`, solved to a billionth of a metre per second: for facts about forces.
pub fn exact(h: f64) -> Settings {
    let tolerance = signorini_solve::problem::Tolerance {
        relative: 1e-16,
        velocity: 1e-9,
        bound: None,
        velocity_relative: 0.0,
    };
    Settings {
        stop: signorini_solve::solve::StoppingCriteria { tolerance, ..Default::default() },
        ..Settings::with_time_step(h)
    }
}

/// A run: stepper and state at its end, and the sum of its ledgers.
pub struct Run {
    pub stepper: Stepper,
    pub state: State,
    pub energy: Ledger,
    pub worst_relative: f64,
    pub worst_velocity: f64,
}

/// Takes `steps` steps; each must be accepted and its ledger must close.
pub fn run(scene: &Scene, settings: Settings, steps: usize) -> Run {
    go_on(scene, settings, State::initial(scene), steps)
}

/// As [`run`], from a given state.
pub fn go_on(scene: &Scene, settings: Settings, mut state: State, steps: usize) -> Run {
    let mut stepper = Stepper::new(scene, settings).unwrap_or_else(|e| panic!("{e}"));
    let (mut energy, mut worst_relative, mut worst_velocity) = (None, 0.0f64, 0.0f64);
    for i in 0..steps {
        let verdict = stepper.step(scene, &mut state).unwrap_or_else(|e| panic!("step {i}: {e}"));
        let (residual, throughput) = (verdict.energy.residual(), verdict.energy.throughput);
        assert!(
            verdict.accepted,
            "{} step {i} (impact: {}): {:?} by {}, {:.2e} J = {:.1e} of scale, bound {:.1e}, \
                {:.1e} m/s, {}",
            scene.name,
            verdict.impact,
            verdict.status,
            verdict.solver.name(),
            verdict.error.joule,
            verdict.error.relative(),
            verdict.error.estimate_relative(),
            verdict.error.velocity,
            verdict.worst_name(scene)
        );
        assert!(
            residual.abs() <= LEDGER * throughput,
            "{} step {i}: ledger open by {residual:.3e} of {throughput:.3e} J: {:?}",
            scene.name,
            verdict.energy
        );
        worst_relative = worst_relative.max(verdict.error.relative());
        worst_velocity = worst_velocity.max(verdict.error.velocity);
        energy = Some(energy.map_or(verdict.energy, |sum: Ledger| sum.then(&verdict.energy)));
    }
    Run { stepper, state, energy: energy.unwrap_or_default(), worst_relative, worst_velocity }
}

impl Run {
    pub fn position(&self, body: BodyId) -> DVec3 {
        self.state.pose(body).position
    }

    /// Linear velocity, world.
    pub fn velocity(&self, body: BodyId) -> DVec3 {
        self.state.twist(self.stepper.layout(), body).0
    }

    /// Angular velocity, body axes.
    pub fn spin(&self, body: BodyId) -> DVec3 {
        self.state.twist(self.stepper.layout(), body).1
    }
}

/// A scene with a floor z ≤ 0 of this friction and restitution.
pub fn floor(name: &str, mu: f64, restitution: f64) -> Scene {
    let mut scene = Scene::new(name);
    scene.materials[0].mu = mu;
    scene.materials[0].restitution = restitution;
    scene.add_collider(
        BodyId::GROUND,
        Shape::HalfSpace,
        Pose::IDENTITY,
        SurfaceMaterial::default(),
    );
    scene
}

pub fn cuboid(scene: &mut Scene, name: &str, mass: f64, edges: DVec3, at: DVec3) -> BodyId {
    scene.add_body_with_shape(
        Body::rigid(name, Mass::cuboid(mass, edges)).at(at),
        Shape::Box { half_extents: 0.5 * edges },
    )
}

pub fn ball(scene: &mut Scene, name: &str, mass: f64, radius: f64, at: DVec3) -> BodyId {
    scene.add_body_with_shape(
        Body::rigid(name, Mass::sphere(mass, radius)).at(at),
        Shape::Sphere { radius },
    )
}

/// Crank r and rod l, stretched along x, with a drive of the crank; the slider is given back.
pub fn slider_crank(r: f64, l: f64, drive: Drive) -> (Scene, BodyId) {
    let mut scene = Scene::new("slider-crank");
    let crank = scene.add_body(
        Body::rigid("crank", Mass::cuboid(1.0, DVec3::new(r, 0.02, 0.02))).at(DVec3::X * 0.5 * r),
    );
    let rod = scene.add_body(
        Body::rigid("rod", Mass::cuboid(0.5, DVec3::new(l, 0.02, 0.02)))
            .at(DVec3::X * (r + 0.5 * l)),
    );
    let slider = scene.add_body(
        Body::rigid("slider", Mass::cuboid(2.0, DVec3::splat(0.05))).at(DVec3::X * (r + l)),
    );
    let main = scene.add_joint(
        "bearing",
        JointKind::Revolute,
        (BodyId::GROUND, crank),
        frame(DVec3::ZERO, DVec3::Y),
    );
    scene.add_joint("crank pin", JointKind::Revolute, (crank, rod), frame(DVec3::X * r, DVec3::Y));
    scene.add_joint(
        "piston pin",
        JointKind::Revolute,
        (rod, slider),
        frame(DVec3::X * (r + l), DVec3::Y),
    );
    scene.add_joint(
        "guide",
        JointKind::Prismatic,
        (BodyId::GROUND, slider),
        frame(DVec3::X * (r + l), DVec3::X),
    );
    scene.add_motor("drive", main, Coordinate::Angle, drive);
    (scene, slider)
}

/// A free top of inertias 1, 1 and 1.5 kg m² after n steps, spinning at 4 rad/s and 0.3 across: its
/// spin, the closed form (in body axes the transverse spin turns at (I₃ − I₁)/I₁ ω₃) and the angle
/// by which it turned.
pub fn symmetric_top(settings: Settings, n: usize) -> (DVec3, DVec3, f64) {
    let mut scene = Scene::new("symmetric top");
    scene.gravity = DVec3::ZERO;
    let (across, along, spin) = (1.0, 1.5, DVec3::new(0.3, 0.0, 4.0));
    let mass = Mass::new(1.0, DVec3::new(across, across, along));
    let id = scene.add_body(Body { spin, ..Body::rigid("top", mass) });
    let angle = (along - across) / across * 4.0 * settings.h * n as f64;
    let end = run(&scene, settings, n);
    (end.spin(id), DVec3::new(0.3 * angle.cos(), 0.3 * angle.sin(), 4.0), angle)
}
