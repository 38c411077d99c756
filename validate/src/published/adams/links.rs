//! Springs, actuators and a revolute–spherical link: cases whose models are not among the data.
//!
//! Places, masses and coefficients are those of Project Chrono's unit tests for the same data
//! (`src/tests/unit_tests/joints/utest_JOINT_*.cpp`, and `links` of older versions). The two model
//! files of springs that lie beside the data have other coefficients than the data.

use super::{GRAVITY, Place, Setup};
use crate::motion::{Scheme::*, Text, xyz};
use signorini::prelude::*;

/// All of them.
pub fn setups() -> Vec<Setup> {
    let all = [springs(), torsion_springs(), actuators(), revolute_spherical()];
    all.into_iter().flatten().collect()
}

/// A free body of 1 kg at `at`, turned about z, rad.
fn body(h: f64, inertia: [f64; 3], at: DVec3, turn: f64) -> Text {
    Text::new(Leapfrog, h).gravity(GRAVITY).add(&format!(
        "[[body]]\nname = \"body\"\nmass = 1.0\ninertia = {}\nposition = {}\nrotation = {{ axis = \
            [0.0, 0.0, 1.0], angle = {turn:?} }}",
        xyz(inertia),
        xyz(at)
    ))
}

/// A spring from the ground to a body: where it begins and ends, where and how the body stands,
/// what it pulls.
struct Spring {
    case: &'static str,
    ground: [f64; 3],
    end: [f64; 3],
    body: [f64; 3],
    turn: f64,
    pull: Pull,
}

/// What a spring pulls.
#[derive(Clone, Copy)]
enum Pull {
    /// `k (l − l₀) + c l̇`, by a spring.
    Linear(f64, f64),
    /// The same, by a formula.
    Formula(f64, f64),
    /// `50 (l − l₀) + 10 |l − l₀| (l − l₀) + 5 l̇`, by a formula.
    Hardening,
}

impl Pull {
    /// Its pull, N, at this stretch and rate.
    fn value(self, stretch: f64, rate: f64) -> f64 {
        match self {
            Pull::Linear(k, c) | Pull::Formula(k, c) => k * stretch + c * rate,
            Pull::Hardening => (50.0 + 10.0 * stretch.abs()) * stretch + 5.0 * rate,
        }
    }
}

fn springs() -> Vec<Setup> {
    let (o, y2) = ([0.0; 3], [0.0, 2.0, 0.0]);
    let on_center = |case, at, pull| Spring { case, ground: o, end: at, body: at, turn: 0.0, pull };
    let quarter = -std::f64::consts::FRAC_PI_2;
    let list = [
        on_center("TranSpring_Case01", o, Pull::Linear(10.0, 0.5)),
        on_center("TranSpring_Case02", y2, Pull::Linear(100.0, 5.0)),
        on_center("TranSpringCB_Case01", o, Pull::Formula(10.0, 0.5)),
        on_center("TranSpringCB_Case02", y2, Pull::Formula(100.0, 5.0)),
        Spring {
            case: "TranSpringCB_Case03",
            ground: [1.0, 2.0, 3.0],
            end: [1.0, 4.0, 3.0],
            body: [-1.0, 4.0, 3.0],
            turn: 0.0,
            pull: Pull::Hardening,
        },
        Spring {
            case: "TranSpringCB_Case04",
            ground: o,
            end: y2,
            body: [0.0, 4.0, 0.0],
            turn: quarter,
            pull: Pull::Hardening,
        },
    ];
    list.into_iter().map(spring).collect()
}

fn spring(s: Spring) -> Setup {
    let Spring { case, turn, pull, .. } = s;
    let [ground, end, at] = [s.ground, s.end, s.body].map(DVec3::from_array);
    let points = format!("b = \"body\", points = [{}, {}]", xyz(ground), xyz(end));
    let rest = ground.distance(end);
    let kind = match pull {
        Pull::Linear(k, c) => {
            format!("spring = {{ {points}, stiffness = {k:?}, damping = {c:?} }}")
        }
        Pull::Formula(k, c) => {
            format!("tension = {{ {points}, pull = \"{k:?}*(length - {rest:?}) + {c:?}*rate\" }}")
        }
        Pull::Hardening => format!(
            "tension = {{ {points}, pull = \"50*(length - {rest:?}) + 10*abs(length - \
                {rest:?})*(length - {rest:?}) + 5*rate\" }}"
        ),
    };
    let text = body(1e-3, [0.04, 0.1, 0.1], at, turn)
        .add(&format!("[[force]]\nname = \"spring\"\n{kind}"));
    let local = DQuat::from_rotation_z(-turn) * (end - at);
    let folder =
        if matches!(pull, Pull::Linear(..)) { "transpring_force" } else { "transpringcb_force" };
    let on_ground = move |sim: &Simulation| {
        let body = sim.body("body").expect("the scene has it");
        let tip = body.pose().point(local);
        let line = tip - ground;
        let along = line.normalize_or_zero();
        let rate = along.dot(body.velocity_at(tip));
        [along * pull.value(line.length() - rest, rate), DVec3::ZERO]
    };
    let place = Place { folder, case, ends: [ground, local] };
    Setup { spring: Some(Box::new(on_ground)), ..Setup::new(place, text) }
}

/// A pendulum on a hinge with a torsion spring: `200 θ + 10 θ̇`, and `(50 + 10 |θ|) θ + 10 θ̇`.
fn torsion_springs() -> Vec<Setup> {
    let one = |case, k: f64, hardening: f64| {
        // The axis of the hinge is y; the inertia is that of a rod along x.
        let hinge = "position = [0.0, 0.0, 0.0]\naxis = [0.0, 1.0, 0.0]\nx_axis = [1.0, 0.0, 0.0]";
        let text = body(1e-3, [0.04, 0.1, 0.1], DVec3::new(2.0, 0.0, 0.0), 0.0).add(&format!(
            "[[joint]]\nname = \"joint\"\nkind = \"revolute\"\nb = \"body\"\n{hinge}\n\
            [[force]]\nname = \"spring\"\ntorsion = {{ b = \"body\", position = [0.0, 0.0, 0.0], \
            axis = [0.0, 1.0, 0.0], stiffness = {k:?}, damping = 10.0 }}\n[[motor]]\nname = \
            \"hardening\"\njoint = \"joint\"\ntorque = \
            \"-{hardening:?}*abs(joint.angle)*joint.angle\""
        ));
        let on_ground = move |sim: &Simulation| {
            let joint = sim.joint("joint").expect("the scene has it");
            let (angle, rate) = (joint.angle(), joint.rate());
            [DVec3::ZERO, DVec3::Y * ((k + hardening * angle.abs()) * angle + 10.0 * rate)]
        };
        let ends = [DVec3::ZERO, DVec3::new(-2.0, 0.0, 0.0)];
        let place = Place { folder: "rotspring_force", case, ends };
        Setup { spring: Some(Box::new(on_ground)), ..Setup::new(place, text) }
    };
    vec![one("RotSpring_Case01", 200.0, 0.0), one("RotSpring_Case02", 50.0, 10.0)]
}

/// A plate on a slide, driven at constant speed: along z, and along x = z.
fn actuators() -> Vec<Setup> {
    let one = |case, turn: f64, speed: f64| {
        let (axis, across) = (DQuat::from_rotation_y(turn) * DVec3::Z, DVec3::Y);
        let text = body(1e-3, [1.0; 3], DVec3::ZERO, 0.0).add(&format!(
            "velocity = {}\n[[joint]]\nname = \"joint\"\nkind = \"prismatic\"\nb = \"body\"\n\
            position = [0.0, 0.0, 0.0]\naxis = {}\nx_axis = {}\n[[motor]]\nname = \"actuator\"\n\
            joint = \"joint\"\nslide = {{ ramp = {{ value = 0.0, rate = {speed:?} }} }}",
            xyz(axis * speed),
            xyz(axis),
            xyz(across)
        ));
        let place = Place { folder: "lin_actuator", case, ends: [DVec3::ZERO; 2] };
        let tables = ["RforceP", "RtorqueP"];
        Setup { tables, actuator: Some(axis), ..Setup::new(place, text) }
    };
    vec![
        one("LinActuator_Case01", 0.0, 1.0),
        one("LinActuator_Case02", std::f64::consts::FRAC_PI_4, 0.5),
    ]
}

/// A link without mass between a hinge of the ground and a ball of the body: its length is kept,
/// and it stays perpendicular to the axis of the hinge.
fn revolute_spherical() -> Vec<Setup> {
    let one = |case, hinge: [f64; 3], axis: [f64; 3]| {
        let hinge = DVec3::from_array(hinge);
        let (ball, center) = (hinge + DVec3::X * 2.0, hinge + DVec3::new(2.0, 2.0, 0.0));
        // The body turns over near the hinge: shorter steps for its 20 rad/s.
        let text = body(1e-4, [0.1, 0.04, 0.1], center, 0.0).add(&format!(
            "[[joint]]\nname = \"length\"\nkind = \"distance\"\nb = \"body\"\npoints = [{}, {}]\n\
            [[joint]]\nname = \"plane\"\nkind = \"point_on_plane\"\nb = \"body\"\nposition = \
            {}\naxis = {}",
            xyz(hinge),
            xyz(ball),
            xyz(ball),
            xyz(axis)
        ));
        let place = Place { folder: "revsph_constraint", case, ends: [hinge, ball - center] };
        Setup { tables: ["Rforce_Body1", "Rtorque_Body1"], ..Setup::new(place, text) }
    };
    vec![
        one("RevSpherical_Case01", [0.0; 3], [0.0, 0.0, 1.0]),
        one("RevSpherical_Case02", [1.0, 2.0, 3.0], [0.0, 1.0, 1.0]),
    ]
}
