//! Springs, bushings, drag: forces that H knows, so that stiff ones do not limit the step.
//!
//! An element is a list of measures x (up to six functions of two frames, [`super::part`]) with
//! gradients G:
//!
//! ```text
//!   energy V = ½ xᵀ K x,    force −Gᵀ(K x + C ẋ)                        taken at the end of the step, linearised:
//!   impulse −Gᵀ( h K x + (h² K + h C)(G v⁺ + u₀) )                     H += Gᵀ(h² K + h C)G,  k −= Gᵀ(h K x + (h² K + h C) u₀)
//! ```
//!
//! The leapfrog scheme blends this with Newmark's formula ([`Weights`]). u₀ is what imposed motions
//! contribute to the rates. Gᵀ K G is positive semidefinite whatever the configuration. The second
//! derivative of x is left out, but for the pull of a stretched spring across its line
//! (`tension/length`), which makes a taut string stiff; it enters as an element of its own that
//! stores no energy.
//!
//! | force | measures | K | C |
//! |---|---|---|---|
//! | spring | distance − l₀ | k | c |
//! | its pull | displacement across the line (3) | tension/length (1 − n nᵀ) | 0 |
//! | spring by formula | see [`super::tension`] | ∂f/∂l | ∂f/∂l̇ |
//! | torsion spring | twist − θ₀ | k | c |
//! | bushing | along x y z, turn x y z | K (6 × 6) | C (6 × 6) |
//! | drag | velocity (3), angular velocity (3) | 0 | c₁ + c₂ speed; c_ω |
//!
//! The rotor of a joint (armature a) is an element too: the impulse `−a (ẋ⁺ − ẋ)` along the
//! coordinate, that is `H += a GᵀG`, `k += a Gᵀ(ẋ − u₀)`, and the kinetic energy ½ a ẋ². It stores
//! no other energy.

use super::inertia::add;
use super::joint::coordinate;
use super::leapfrog::Weights;
use super::part::{Gradient, Measure, Mount, Twist, measure};
use super::{Assembly, StepInput, add_gradient};
use crate::math::pose::Pose;
use crate::scene::{
    Axis, BodyId, Bushing, Drag, ForceId, ForceKind, JointId, Layout, Part, Scene, Spring, Tension,
    Torsion,
};
use glam::DVec3;

/// The most measures of one element.
pub const MEASURES: usize = 6;

/// A square matrix over the measures of an element.
pub type Square = [[f64; MEASURES]; MEASURES];

/// A force here and now.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// First body.
    pub a: BodyId,
    /// Second body.
    pub b: BodyId,
    /// Number of measures.
    pub count: usize,
    /// Values and gradients.
    pub measures: [Measure; MEASURES],
    /// Stiffness.
    pub stiffness: Square,
    /// Damping.
    pub damping: Square,
    /// Inertia along the first measure.
    pub inertia: f64,
    /// How the time scheme weighs it.
    pub weights: Weights,
}

/// The impulse and the energies of an element over a step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Work of the elastic impulse on the measures, at the mean velocity, J.
    pub elastic: f64,
    /// Energy that the damping took, J.
    pub damped: f64,
    /// Work that imposed motions did through the element, J.
    pub imposed: f64,
}

impl Element {
    pub(super) fn new(a: BodyId, b: BodyId, count: usize) -> Element {
        Element {
            a,
            b,
            count,
            measures: [Measure::default(); MEASURES],
            stiffness: [[0.0; MEASURES]; MEASURES],
            damping: [[0.0; MEASURES]; MEASURES],
            inertia: 0.0,
            weights: Weights::EULER,
        }
    }

    /// Stored energy, J.
    pub fn energy(&self) -> f64 {
        let x = std::array::from_fn(|i| self.measures[i].value);
        0.5 * dot(&x, &times(&self.stiffness, &x))
    }

    /// Kinetic energy of the rotor at this rate of the first measure, J.
    pub fn kinetic(&self, rate: f64) -> f64 {
        0.5 * self.inertia * rate * rate
    }

    /// What it adds to H along its measures: `Gᵀ matrix G`.
    pub(crate) fn matrix(&self, now: &StepInput) -> Square {
        let (h, kick, Weights { beta, gamma, .. }) = (now.h, now.kick(), self.weights);
        let mut matrix: Square = std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                kick * (h * beta * self.stiffness[i][j] + gamma * self.damping[i][j])
            })
        });
        matrix[0][0] += self.inertia;
        matrix
    }

    /// Rates of the measures at these velocities.
    pub fn rates(&self, a: &Twist, b: &Twist) -> [f64; MEASURES] {
        std::array::from_fn(|i| self.measures[i].a.rate(a) + self.measures[i].b.rate(b))
    }

    /// What the element did over a step: rates before it, rates over it, and the share of imposed
    /// motions.
    pub fn work(
        &self,
        now: &StepInput,
        before: &[f64; MEASURES],
        after: &[f64; MEASURES],
        imposed: &[f64; MEASURES],
    ) -> Work {
        let (kick, back, Weights { alpha, beta, gamma }) =
            (now.kick(), now.last_step(), self.weights);
        let x: [f64; MEASURES] = std::array::from_fn(|i| {
            self.measures[i].value - back * alpha * before[i] + now.h * beta * after[i]
        });
        let rate: [f64; MEASURES] =
            std::array::from_fn(|i| (1.0 - gamma) * before[i] + gamma * after[i]);
        let mean: [f64; MEASURES] = std::array::from_fn(|i| 0.5 * (before[i] + after[i]));
        let (elastic, viscous) = (times(&self.stiffness, &x), times(&self.damping, &rate));
        let total: [f64; MEASURES] = std::array::from_fn(|i| -kick * (elastic[i] + viscous[i]));
        Work {
            elastic: -kick * dot(&elastic, &mean),
            damped: kick * dot(&viscous, &mean),
            imposed: -dot(&total, imposed),
        }
    }

    /// How the time scheme weighs an element of this stiffness and damping per mass.
    fn weigh(&mut self, scene: &Scene, now: &StepInput) {
        if now.lag.is_none() {
            return;
        }
        let (mut stiffness, mut damping) = (0.0, 0.0);
        for i in 0..self.count {
            for j in 0..self.count {
                let (k, c) = (self.stiffness[i][j], self.damping[i][j]);
                if k == 0.0 && c == 0.0 {
                    continue;
                }
                let (x, y) = (&self.measures[i], &self.measures[j]);
                let inverse = x.a.coupling(&y.a, scene, self.a) + x.b.coupling(&y.b, scene, self.b);
                stiffness += k * inverse;
                damping += c * inverse;
            }
        }
        self.weights = Weights::of(now, stiffness.max(0.0), damping.max(0.0));
    }
}

fn dot(a: &[f64; MEASURES], b: &[f64; MEASURES]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn times(m: &Square, x: &[f64; MEASURES]) -> [f64; MEASURES] {
    std::array::from_fn(|i| dot(&m[i], x))
}

/// Evaluates all elements into `out`.
pub fn evaluate(scene: &Scene, now: &StepInput, out: &mut Vec<Element>) {
    out.clear();
    for (f, force) in scene.forces.iter().enumerate() {
        let away = force.kind.bodies().into_iter().any(|body| now.orders.absent(body));
        if away || now.orders.force_off(ForceId(f as u32)) {
            continue;
        }
        match &force.kind {
            ForceKind::Spring(s) => {
                let stretched = spring(s, now);
                out.push(stretched);
                out.push(pull(s, &stretched, now));
            }
            ForceKind::Torsion(s) => out.push(torsion(s, now)),
            ForceKind::Bushing(s) => out.push(bushing(s, now)),
            ForceKind::Drag(s) => out.push(drag(s, now)),
            ForceKind::Tension(s) => out.extend(tension(s, now)),
            ForceKind::Applied(_) => {}
        }
    }
    for (j, joint) in scene.joints.iter().enumerate() {
        if now.orders.joint_off(JointId(j as u32)) {
            continue;
        }
        for armature in &joint.armature {
            let mut e = Element::new(joint.a, joint.b, 1);
            e.measures[0] = coordinate(scene, JointId(j as u32), armature.coordinate, now);
            e.inertia = armature.inertia;
            out.push(e);
        }
    }
}

/// Adds all elements to H and k.
pub fn assemble(out: &mut Assembly, scene: &Scene, layout: &Layout, now: &StepInput) {
    let mut elements = std::mem::take(&mut out.elements);
    evaluate(scene, now, &mut elements);
    for element in &mut elements {
        element.weigh(scene, now);
        add_element(out, element, layout, now);
    }
    out.elements = elements;
}

fn add_element(out: &mut Assembly, e: &Element, layout: &Layout, now: &StepInput) {
    let (kick, back, Weights { alpha, gamma, .. }) = (now.kick(), now.last_step(), e.weights);
    let matrix = e.matrix(now);
    let before = e.rates(&now.twists[e.a.index()], &now.twists[e.b.index()]);
    let x = std::array::from_fn(|i| e.measures[i].value - back * alpha * before[i]);
    let viscous = times(&e.damping, &before);
    let imposed = e.rates(&imposed_twist(e.a, layout, now), &imposed_twist(e.b, layout, now));
    let (elastic, carried) = (times(&e.stiffness, &x), times(&matrix, &imposed));
    let turning = if e.inertia == 0.0 {
        0.0
    } else {
        e.inertia * e.rates(&now.twists[e.a.index()], &now.twists[e.b.index()])[0]
    };
    for i in 0..e.count {
        let known = kick * elastic[i] + carried[i] + kick * (1.0 - gamma) * viscous[i];
        let impulse = if i == 0 { turning } else { 0.0 } - known;
        add_gradient(&mut out.problem.k, layout, e.a, &e.measures[i].a, impulse);
        add_gradient(&mut out.problem.k, layout, e.b, &e.measures[i].b, impulse);
    }
    for (from, side_from) in [(e.a, 0), (e.b, 1)] {
        for (to, side_to) in [(e.a, 0), (e.b, 1)] {
            let (Some(row), Some(column)) = (layout.velocity(from), layout.velocity(to)) else {
                continue;
            };
            let block = product(e, &matrix, side_from, side_to);
            for (p, line) in block.iter().enumerate() {
                for (q, &x) in line.iter().enumerate() {
                    add(&mut out.problem.H, row + p, column + q, x);
                }
            }
        }
    }
}

/// `G_fromᵀ matrix G_to` (6 × 6).
fn product(e: &Element, matrix: &Square, from: usize, to: usize) -> [[f64; 6]; 6] {
    let side =
        |i: usize, s: usize| if s == 0 { e.measures[i].a.array() } else { e.measures[i].b.array() };
    let mut out = [[0.0; 6]; 6];
    for (i, line) in matrix.iter().enumerate().take(e.count) {
        let left = side(i, from);
        for (j, &x) in line.iter().enumerate().take(e.count).filter(|(_, x)| **x != 0.0) {
            let right = side(j, to);
            for (out, l) in out.iter_mut().zip(left) {
                for (out, r) in out.iter_mut().zip(right) {
                    *out += l * x * r;
                }
            }
        }
    }
    out
}

/// The velocity over the step of a body that is not free to move; zero for a free one.
pub(crate) fn imposed_twist(body: BodyId, layout: &Layout, now: &StepInput) -> Twist {
    if layout.velocity(body).is_none() { *now.expected(body) } else { Twist::default() }
}

fn mounts<'a>(
    now: &'a StepInput,
    a: (BodyId, &'a Pose),
    b: (BodyId, &'a Pose),
) -> (Mount<'a>, Mount<'a>) {
    (
        Mount { body: &now.poses[a.0.index()], frame: a.1 },
        Mount { body: &now.poses[b.0.index()], frame: b.1 },
    )
}

fn spring(s: &Spring, now: &StepInput) -> Element {
    let mut e = Element::new(s.a, s.b, 1);
    let (pa, pb) = (Pose::at(s.point_a), Pose::at(s.point_b));
    let (a, b) = mounts(now, (s.a, &pa), (s.b, &pb));
    e.measures[0] = measure(Part::Distance(s.length), a, b);
    e.stiffness[0][0] = s.stiffness;
    e.damping[0][0] = s.damping;
    e
}

/// The stiffness of a stretched spring across its line.
fn pull(s: &Spring, stretched: &Element, now: &StepInput) -> Element {
    let mut e = Element::new(s.a, s.b, 3);
    let (a, b) = (&now.poses[s.a.index()], &now.poses[s.b.index()]);
    let n = stretched.measures[0].b.linear;
    let length = stretched.measures[0].value + s.length;
    let tension = s.stiffness * stretched.measures[0].value;
    if !(tension > 0.0 && length > 0.0) {
        return e;
    }
    for (i, d) in [DVec3::X, DVec3::Y, DVec3::Z].into_iter().enumerate() {
        e.measures[i].a = Gradient { linear: -d, angular: -s.point_a.cross(a.inverse_vector(d)) };
        e.measures[i].b = Gradient { linear: d, angular: s.point_b.cross(b.inverse_vector(d)) };
        for j in 0..3 {
            e.stiffness[i][j] = tension / length * (if i == j { 1.0 } else { 0.0 } - n[i] * n[j]);
        }
    }
    e
}

fn torsion(s: &Torsion, now: &StepInput) -> Element {
    let mut e = Element::new(s.a, s.b, 1);
    let (a, b) = mounts(now, (s.a, &s.frame_a), (s.b, &s.frame_b));
    e.measures[0] = measure(Part::Twist, a, b);
    // Nearest turn: the spring never pulls by more than half a turn.
    e.measures[0].value = super::part::unwrap(e.measures[0].value - s.angle, 0.0);
    e.stiffness[0][0] = s.stiffness;
    e.damping[0][0] = s.damping;
    e
}

fn bushing(s: &Bushing, now: &StepInput) -> Element {
    use Axis::*;
    let mut e = Element::new(s.a, s.b, 6);
    let (a, b) = mounts(now, (s.a, &s.frame_a), (s.b, &s.frame_b));
    for (i, part) in [
        Part::Along(X),
        Part::Along(Y),
        Part::Along(Z),
        Part::Turn(X),
        Part::Turn(Y),
        Part::Turn(Z),
    ]
    .into_iter()
    .enumerate()
    {
        e.measures[i] = measure(part, a, b);
    }
    e.stiffness = s.stiffness;
    e.damping = s.damping;
    e
}

fn drag(s: &Drag, now: &StepInput) -> Element {
    let mut e = Element::new(BodyId::GROUND, s.body, 6);
    // Leapfrog: at the time of x, between the velocities before and over the step.
    let (before, expected) = (now.twists[s.body.index()].linear, now.expected(s.body).linear);
    let speed = match now.lag {
        Some(lag) => before.lerp(expected, lag / now.kick()).length(),
        None => before.length(),
    };
    for (i, d) in [DVec3::X, DVec3::Y, DVec3::Z].into_iter().enumerate() {
        e.measures[i].b.linear = d;
        e.measures[i + 3].b.angular = d;
        e.damping[i][i] = s.linear + s.quadratic * speed;
        e.damping[i + 3][i + 3] = s.angular;
    }
    e
}

/// What of the pull H knows: its stiffness and damping along the line, and its pull across it.
fn tension(s: &Tension, now: &StepInput) -> [Element; 2] {
    let super::tension::Pull { measure, force, stiffness, damping, .. } =
        super::tension::pull(s, now);
    let mut along = Element::new(s.a, s.b, 1);
    // The pull at the present length is applied; the element begins at zero.
    along.measures[0] = Measure { value: 0.0, ..measure };
    along.stiffness[0][0] = stiffness;
    along.damping[0][0] = damping;
    let mut across = Element::new(s.a, s.b, 3);
    if !(force > 0.0 && measure.value > 0.0) {
        return [along, across];
    }
    let (a, b, n) = (&now.poses[s.a.index()], &now.poses[s.b.index()], measure.b.linear);
    for (i, d) in [DVec3::X, DVec3::Y, DVec3::Z].into_iter().enumerate() {
        across.measures[i].a =
            Gradient { linear: -d, angular: -s.point_a.cross(a.inverse_vector(d)) };
        across.measures[i].b =
            Gradient { linear: d, angular: s.point_b.cross(b.inverse_vector(d)) };
        for j in 0..3 {
            across.stiffness[i][j] =
                force / measure.value * (if i == j { 1.0 } else { 0.0 } - n[i] * n[j]);
        }
    }
    [along, across]
}
