//! Masses of the machine's bodies: sums over the bodies of the file, bounds, repairs, and the light
//! bodies between the joints of one body.

use super::Maker;
use super::model::{Body, Kind};
use crate::robot::{JointKind, Weight, inertia};
use glam::{DMat3, DVec3};
use signorini_mechanics::geometry::{Volume, mass};
use signorini_mechanics::scene::Mass;

/// A body between two joints of one body gets this share of the mass that hangs on it.
const MASS_SHARE_OF_MASSLESS_BODY: f64 = 1e-4;

impl Maker<'_, '_, '_> {
    /// Masses of the machine's bodies.
    pub(super) fn weigh(&mut self) {
        let count = self.machine.bodies.len();
        let mut parts: Vec<Vec<Volume>> = vec![Vec::new(); count];
        let bodies = std::mem::take(&mut self.tree.bodies);
        for (body, home) in bodies.iter().zip(&self.homes) {
            if let Some(weight) = self.bounded(body).filter(|w| w.mass > 0.0) {
                let turn = home.pose.rotation();
                let inertia = turn * weight.inertia * turn.transpose();
                parts[home.body].push(Volume {
                    volume: weight.mass,
                    center: home.pose.point(weight.center),
                    inertia,
                });
            }
        }
        let moving: Vec<bool> = (0..count).map(|b| self.moves(b, &bodies)).collect();
        let total: f64 = parts.iter().flatten().map(|p| p.volume).sum();
        let scale = if self.compiler.total > 0.0 && total > 0.0 {
            self.compiler.total / total
        } else {
            1.0
        };
        for b in (0..count).filter(|&b| moving[b] && !parts[b].is_empty()) {
            let Volume { volume, center, inertia } = mass::sum(&parts[b]);
            let (mass, mut inertia) = (scale * volume, inertia * scale);
            if let Some(why) = (Mass { mass, inertia }).fault() {
                let at = bodies
                    .iter()
                    .zip(&self.homes)
                    .find(|(_, h)| h.body == b)
                    .map_or(self.root, |(body, _)| &body.at)
                    .clone();
                let name = self.machine.bodies[b].name.clone();
                if let Some(better) = inertia::repaired(mass, inertia) {
                    let done = if self.compiler.balance {
                        "balanced as asked for"
                    } else {
                        "repaired: the nearest that a body can have"
                    };
                    self.reader.left_out(&at, format!("the body `{name}`: {why}: {done}"));
                    inertia = better;
                }
            }
            self.machine.bodies[b].weight = Some(Weight { mass, center, inertia });
        }
        self.light(&moving, &bodies);
        self.tree.bodies = bodies;
    }

    /// The mass of a body of the file, not less than the least one.
    fn bounded(&self, body: &Body) -> Option<Weight> {
        let (least_mass, least) = self.compiler.bounds;
        let weight = body.weight.or((least_mass > 0.0).then_some(Weight {
            mass: 0.0,
            center: DVec3::ZERO,
            inertia: DMat3::ZERO,
        }))?;
        let inertia = weight.inertia;
        let short = (least - inertia.x_axis.x.min(inertia.y_axis.y).min(inertia.z_axis.z)).max(0.0);
        let inertia = inertia + DMat3::from_diagonal(DVec3::splat(short));
        Some(Weight { mass: weight.mass.max(least_mass), inertia, ..weight })
    }

    /// Whether a body of the machine moves: it hangs on a joint, or is free.
    fn moves(&self, body: usize, bodies: &[Body]) -> bool {
        let free = |b: &Body| b.joints.iter().any(|j| j.kind == Kind::Free);
        let jointed = self.machine.joints.iter().any(|j| j.b == body);
        jointed || bodies.iter().zip(&self.homes).any(|(b, home)| home.body == body && free(b))
    }

    /// Moving bodies without mass: those between the joints of one body are light, others a fault.
    fn light(&mut self, moving: &[bool], bodies: &[Body]) {
        let mut beyond: Vec<f64> =
            self.machine.bodies.iter().map(|b| b.weight.map_or(0.0, |w| w.mass)).collect();
        // Children stand after their parents.
        for j in (0..self.machine.joints.len()).rev() {
            let joint = &self.machine.joints[j];
            if let Some(a) = joint.a.filter(|_| joint.kind != JointKind::Rope) {
                beyond[a] += beyond[joint.b];
            }
        }
        for b in 0..moving.len() {
            if !moving[b] || self.machine.bodies[b].weight.is_some() {
                continue;
            }
            let name = self.machine.bodies[b].name.clone();
            let own = bodies.iter().zip(&self.homes).find(|(_, home)| home.body == b);
            let at = own.map_or(self.root, |(body, _)| &body.at).clone();
            if !(beyond[b] > 0.0) {
                self.reader.fault(
                    &at,
                    format!("the body `{name}` moves but has no mass"),
                    "wanted <inertial>, or geoms with a density",
                );
                continue;
            }
            let mass = MASS_SHARE_OF_MASSLESS_BODY * beyond[b];
            let inertia = DMat3::from_diagonal(DVec3::splat(
                0.4 * mass * inertia::water_ball(beyond[b]).powi(2),
            ));
            self.machine.bodies[b].weight = Some(Weight { mass, center: DVec3::ZERO, inertia });
            let what =
                if own.is_some() { "has no mass" } else { "stands between two joints of one body" };
            self.reader.notes.push(format!(
                "`{name}` {what}: it weighs {mass:.1e} kg, a little beside the {:.3} kg beyond it",
                beyond[b]
            ));
        }
    }
}
