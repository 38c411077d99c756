//! Contacts whose bodies meet within the step: with the normal and the points of that time.
//!
//! An impact at the time τ acts where the bodies are then, `x + τ v̂`. Between round bodies that
//! pass each other obliquely the normal of the beginning of the step would be off by τ times their
//! tangential velocity over their distance, and with it the angular momentum.
//!
//! ```text
//!   τ   from gap and velocities of the beginning ([`leapfrog::separation`])
//!   contact' = contact of the bodies at x + τ v̂,    τ ← τ − gap'/û',    a few times
//!   gap = gap' − τ û',   levers = point' − (x + τ v̂) of each body
//! ```
//!
//! Each body has its own lever, so that both feel the impulse at the same point at the time τ: with
//! positions set back by τ the angular momentum of two balls is kept to rounding.

use super::Stepper;
use crate::assemble::{Treatment, Twist, leapfrog};
use crate::geometry::Contact;
use crate::math::pose::Pose;
use crate::scene::{BodyId, Kind, Scene};
use glam::DVec3;

/// Steps of Newton's method for the time of an impact.
const IMPACT_TIME_NEWTON_STEPS: usize = 4;

impl Stepper {
    /// Replaces the contacts that are impacts by those of the time of impact.
    pub(super) fn meet(&mut self, scene: &Scene) {
        self.now.meetings.clear();
        if self.now.lag.is_none() || self.settings.scheme.treatment != Treatment::Rigid {
            return;
        }
        for c in 0..self.contacts.len() {
            let contact = self.contacts[c];
            if contact.gap > 0.0
                && let Some(met) = self.meeting(scene, &contact)
            {
                self.contacts[c] = met;
                self.now.meetings.push(c as u32);
            }
        }
    }

    fn meeting(&mut self, scene: &Scene, contact: &Contact) -> Option<Contact> {
        let (i, j) = (contact.colliders.0 as usize, contact.colliders.1 as usize);
        let bodies = [scene.colliders[i].body, scene.colliders[j].body].map(BodyId);
        let soft = |body: BodyId| matches!(scene.bodies[body.index()].kind, Kind::Soft(_));
        let surface =
            scene.surface(scene.surface_materials[i].material, scene.surface_materials[j].material);
        if bodies.into_iter().any(soft) || surface.compliance > 0.0 {
            return None;
        }
        let (now, h) = (&self.now, self.now.h);
        let before = bodies.map(|b| now.twists[b.index()]);
        let expected = bodies.map(|b| *now.expected(b));
        let start = bodies.map(|b| now.poses[b.index()]);
        let middle = 0.5 * (contact.point_a + contact.point_b);
        let speeds = (
            approach(&start, &before, contact.normal, middle),
            approach(&start, &expected, contact.normal, middle),
        );
        let (_, impact) = leapfrog::separation(
            contact.gap,
            speeds,
            surface.restitution,
            &self.settings.scheme,
            now,
        );
        let mut time = impact?.time;
        let mut met = None;
        for _ in 0..IMPACT_TIME_NEWTON_STEPS {
            let there: [Pose; 2] = std::array::from_fn(|s| {
                start[s].advanced(time * expected[s].linear, time * expected[s].angular)
            });
            let at = self.world.contact_at(contact, [&there[0], &there[1]])?;
            let point = 0.5 * (at.point_a + at.point_b);
            let speed = approach(&there, &expected, at.normal, point);
            if !(speed < 0.0) {
                return None;
            }
            let own = |s: usize| start[s].position + (point - there[s].position);
            met = Some(Contact {
                point_a: own(0),
                point_b: own(1),
                normal: at.normal,
                gap: at.gap - time * speed,
                ..*contact
            });
            let next = (time - at.gap / speed).clamp(0.0, h);
            if next == time {
                break;
            }
            time = next;
        }
        met.filter(|m| m.gap > 0.0)
    }
}

/// The velocity along `normal` at which the second body leaves the first one at `point`.
fn approach(poses: &[Pose; 2], twists: &[Twist; 2], normal: DVec3, point: DVec3) -> f64 {
    let at = |s: usize| {
        twists[s].linear + poses[s].vector(twists[s].angular).cross(point - poses[s].position)
    };
    normal.dot(at(1) - at(0))
}
