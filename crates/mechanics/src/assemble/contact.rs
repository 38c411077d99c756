//! Rows of contacts.
//!
//! With n the normal from the first body to the second, t₁ and t₂ across it, p the middle between
//! the two nearest points, x the centres of mass:
//!
//! ```text
//!   u_d = d · (v_b + ω_b × (p − x_b) − v_a − ω_a × (p − x_a)),     d = n, t₁, t₂
//!   w_n = min( gap/h,  e u_n⁻ )       0 ≤ u_n + w_n:  touches at the end of the step, or rebounds with −e times its speed
//! ```
//!
//! The second term counts if the bodies would meet within the step, faster than the restitution
//! threshold. A shallow overlap (gap < 0) is corrected by the velocity, at `K |gap|/h`. A deep one,
//! which would take more than 5 mm/s, is corrected by positions alone, at most at the largest
//! depenetration velocity: its row is `w_n = 0`, and the stage after the solve moves the bodies
//! ([`crate::step`]). Both bodies feel the impulse at the same point, so that angular momentum is
//! kept to rounding. A compliant contact (compliance 1/k, damping c) is a spring and damper taken
//! at the end of the step:
//!
//! ```text
//!   E_n = 1/(h²k + hc),   w_n = gap k/(hk + c)
//! ```
//!
//! Law of restitution: Newton's. By default all impacts of a step at once (Moreau1988): three equal
//! balls in a row, e = 1, go on with −1/3, 2/3, 2/3; or one after the other ([`Impacts`],
//! `step/impacts.rs`): 0, 0, 1.

use super::leapfrog::Weights;
use super::part::Gradient;
use super::rolling;
use super::rows::Block;
use super::{Assembly, Scheme, Source, StepInput, Treatment};
use crate::geometry::{Contact, Grip, tangents};
use crate::problem::{Law, RigidBody, RigidContact, Rows};
use crate::scene::{BodyId, Layout, Scene, Surface};
use glam::DVec3;
use serde::{Deserialize, Serialize};

/// Which friction law.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Friction {
    /// The true law of Coulomb.
    #[default]
    Coulomb,
    /// The associated law: convex, sliding contacts dilate.
    Cone,
}

/// How impacts of one step act on each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Impacts {
    /// Contacts that touch answer at once, as one solid would.
    #[default]
    Simultaneous,
    /// One contact after the other, in the order of time: a cradle hands the blow through.
    Sequence,
}

/// Appends the rows of all contacts that concern a free body.
pub fn assemble(
    out: &mut Assembly,
    scene: &Scene,
    layout: &Layout,
    now: &StepInput,
    (scheme, contacts): (&Scheme, &[Contact]),
) {
    bodies(&mut out.problem.J.rigid.bodies, layout, now);
    for (c, contact) in contacts.iter().enumerate() {
        let (i, j) = (contact.colliders.0 as usize, contact.colliders.1 as usize);
        let bodies = (BodyId(scene.colliders[i].body), BodyId(scene.colliders[j].body));
        let surface =
            scene.surface(scene.surface_materials[i].material, scene.surface_materials[j].material);
        let rows = if surface.mu > 0.0 { 3 } else { 1 };
        let mut block = Block::new(rows);
        let directions = frame(contact.normal);
        let point = 0.5 * (contact.point_a + contact.point_b);
        // Both feel the impulse at one point: now, or where they meet within the step.
        let met = now.meetings.binary_search(&(c as u32)).is_ok();
        let points = if met { [contact.point_a, contact.point_b] } else { [point; 2] };
        let grips = now.grips.get(c).copied().unwrap_or_default();
        // What the surfaces do on their own: belts.
        let belt = now.poses[bodies.1.index()].vector(scene.surface_materials[j].belt)
            - now.poses[bodies.0.index()].vector(scene.surface_materials[i].belt);
        for (row, &d) in directions[..rows].iter().enumerate() {
            for (body, sign, grip, point) in
                [(bodies.0, -1.0, grips[0], points[0]), (bodies.1, 1.0, grips[1], points[1])]
            {
                match grip {
                    // A soft boundary feels the impulse in the three nodes around it.
                    Some(grip) => {
                        for (node, share) in grip.vertices.into_iter().zip(grip.shares) {
                            block.add_node(row, node, d * (sign * share), layout, now);
                        }
                    }
                    None => {
                        block.add(row, body, &gradient(d * sign, point, body, now), layout, now)
                    }
                }
            }
            if row > 0 {
                block.add_belt(row, belt.dot(d));
            }
        }
        if let Treatment::Penalty(penalty) = scheme.treatment {
            penalty.apply(
                out,
                &block,
                (contact.gap, surface.mu),
                Source::Contact(bodies.0, bodies.1, c as u32),
                now,
            );
            continue;
        }
        if grips.iter().all(Option::is_none) && block.moves() {
            rolling::note(out, (c, bodies), &surface);
        }
        let law = match (rows, scheme.friction) {
            (1, _) => Law::Unilateral,
            (_, Friction::Coulomb) => Law::Coulomb { mu: surface.mu, rows: 3 },
            (_, Friction::Cone) => Law::Cone { mu: surface.mu, rows: 3 },
        };
        let mass = || inverse_mass(scene, now, (&bodies, &grips), directions[0], point);
        let (w, compliance) = if surface.compliance > 0.0 {
            compliant(contact.gap, block.before[0], &surface, now, mass())
        } else {
            (block.touch(out, contact.gap, surface.restitution, (scheme, now)), 0.0)
        };
        if rows == 3 && grips.iter().all(Option::is_none) {
            keep_rigid(&mut out.problem.J, (bodies, points), &directions, layout, now);
        }
        block.push(
            out,
            Source::Contact(bodies.0, bodies.1, c as u32),
            law,
            &[w, 0.0, 0.0],
            compliance,
        );
    }
}

/// Lists the bodies that are free, by ascending columns, with their attitudes.
fn bodies(out: &mut Vec<RigidBody>, layout: &Layout, now: &StepInput) {
    out.clear();
    let free = layout.velocities.iter().zip(&now.poses);
    out.extend(free.filter_map(|(column, pose)| {
        column.map(|column| RigidBody { column, attitude: pose.orientation.to_array() })
    }));
    if !out.is_sorted_by_key(|body| body.column) {
        out.sort_unstable_by_key(|body| body.column);
    }
}

/// Notes what the next block of rows is made of: a contact of two rigid bodies, at least one of
/// them free.
fn keep_rigid(
    rows: &mut Rows,
    ((a, b), points): ((BodyId, BodyId), [DVec3; 2]),
    frame: &[DVec3; 3],
    layout: &Layout,
    now: &StepInput,
) {
    let place = |body: BodyId| {
        let column = layout.velocities[body.index()]?;
        let place = rows.rigid.bodies.binary_search_by_key(&column, |body| body.column);
        Some(place.expect("free bodies are listed") as u32)
    };
    let bodies = [place(a), place(b)];
    if bodies != [None; 2] {
        let arm = |body: BodyId, point: DVec3| (point - now.poses[body.index()].position).into();
        let arms = [arm(a, points[0]), arm(b, points[1])];
        let (block, frame) = (rows.block_count() as u32, frame.map(DVec3::into));
        rows.rigid.contacts.push(RigidContact { block, bodies, frame, arms });
    }
}

/// Normal and tangents of a contact, as rows see them.
#[inline]
pub fn frame(normal: DVec3) -> [DVec3; 3] {
    let (t1, t2) = tangents(normal);
    [normal, t1, t2]
}

/// What the velocity of the point `point` of `body` along `d` feels.
#[inline]
fn gradient(d: DVec3, point: DVec3, body: BodyId, now: &StepInput) -> Gradient {
    let pose = &now.poses[body.index()];
    Gradient { linear: d, angular: pose.inverse_vector((point - pose.position).cross(d)) }
}

/// `w_n` and `E_n` of a compliant contact; `inverse_mass` is that of its row.
fn compliant(
    gap: f64,
    before: f64,
    surface: &Surface,
    now: &StepInput,
    inverse_mass: f64,
) -> (f64, f64) {
    let (k, c, h, kick, back) =
        (1.0 / surface.compliance, surface.damping, now.h, now.kick(), now.last_step());
    let Weights { alpha, beta, gamma } = Weights::of(now, k * inverse_mass, c * inverse_mass);
    let stiffness = h * beta * k + gamma * c;
    let push = (gap - back * alpha * before) * k + (1.0 - gamma) * c * before;
    (push / stiffness, 1.0 / (kick * h * beta * k + kick * gamma * c))
}

/// `J M⁻¹ Jᵀ` of the normal of a contact, 1/kg; infinite if it touches a soft body, whose elements
/// are small and stiff.
fn inverse_mass(
    scene: &Scene,
    now: &StepInput,
    (bodies, grips): (&(BodyId, BodyId), &[Option<Grip>; 2]),
    normal: DVec3,
    point: DVec3,
) -> f64 {
    if grips.iter().any(Option::is_some) {
        return f64::INFINITY;
    }
    let one = |body: BodyId| {
        let g = gradient(normal, point, body, now);
        g.coupling(&g, scene, body)
    };
    one(bodies.0) + one(bodies.1)
}
