//! Joints, motors, gears and forces of a scene file.

use super::build::Builder;
use super::format;
use super::live::{Late, wanted_by};
use super::node::Span;
use super::unit::Dimension;
use super::value::{Length, Name, Vector, vector};
use glam::{DMat3, DQuat, DVec3};
use signorini_mechanics::scene::{
    Applied, Armature, BodyId, Bushing, Coordinate, Drag, Drive, DryFriction, ForceKind, Frame,
    Function, GearTerm, JointId, JointKind, Limit, Port, Spring, Tension, Torsion,
};
use signorini_solve::math::pose::Pose;

impl Builder<'_, '_> {
    /// Two bodies of which the first may be left out (the ground).
    fn pair(&mut self, a: &Option<Name>, b: &Name) -> Option<(BodyId, BodyId)> {
        let first = match a {
            Some(name) => self.body_named(name),
            None => Some(BodyId::GROUND),
        };
        let second = self.body_named(b);
        Some((first?, second?))
    }

    /// Where the frame in which a body was described is in the world.
    fn place(&self, body: BodyId) -> Pose {
        let body = &self.scene.bodies[body.index()];
        body.pose * Pose::at(body.origin)
    }

    /// A frame of the world at a position (that of `body` without one), z along an axis.
    fn world_frame(
        &self,
        moved: &Pose,
        body: BodyId,
        position: &Option<Vector<Length>>,
        axes: (Option<DVec3>, Option<DVec3>),
    ) -> Pose {
        let point =
            position.as_ref().map_or_else(|| self.place(body).position, |p| moved.point(vector(p)));
        let z = moved.vector(axes.0.unwrap_or(DVec3::Z)).normalize_or(DVec3::Z);
        let orientation = match axes.1 {
            Some(x) => {
                let y = z.cross(moved.vector(x)).normalize_or(z.any_orthonormal_vector());
                DQuat::from_mat3(&DMat3::from_cols(y.cross(z), y, z)).normalize()
            }
            None => DQuat::from_rotation_arc(DVec3::Z, z),
        };
        Pose::new(point, orientation)
    }

    /// A frame given in the frame in which a body was described.
    fn own_frame(&mut self, body: BodyId, frame: &format::Frame) -> Option<Pose> {
        let origin = self.scene.bodies[body.index()].origin;
        let rotation = self.rotation(frame.rotation.as_ref())?;
        Some(
            Pose::at(origin)
                * Pose::new(frame.position.as_ref().map_or(DVec3::ZERO, vector), rotation),
        )
    }

    /// A joint.
    pub fn joint(&mut self, moved: &Pose, table: &format::Joint) {
        if !self.define("joint", &table.name) {
            return;
        }
        let Some((a, b)) = self.pair(&table.a, &table.b) else { return };
        let Some((frame_a, frame_b)) = self.frames(moved, table, (a, b)) else { return };
        let ends = (self.scene.bodies[a.index()].pose * frame_a)
            .position
            .distance((self.scene.bodies[b.index()].pose * frame_b).position);
        let kind = joint_kind(table.kind, table.length.map_or(ends, |l| l.si));
        let id = self.scene.add_joint_between(
            table.name.value.clone(),
            kind,
            (a, frame_a),
            (b, frame_b),
        );
        let joint = &mut self.scene.joints[id.index()];
        if let Some(limits) = &table.limits {
            let restitution = limits.restitution.map_or(0.0, |e| e.si);
            let mut add = |coordinate, pair: Option<(f64, f64)>| {
                joint.limits.extend(pair.map(|(lo, hi)| Limit { coordinate, lo, hi, restitution }))
            };
            add(Coordinate::Slide, limits.slide.map(|p| (p[0].si, p[1].si)));
            add(Coordinate::Angle, limits.angle.map(|p| (p[0].si, p[1].si)));
            add(Coordinate::Distance, limits.distance.map(|p| (p[0].si, p[1].si)));
        }
        if let Some(friction) = &table.friction {
            let mut add = |coordinate, effort: Option<f64>| {
                joint.friction.extend(effort.map(|effort| DryFriction { coordinate, effort }))
            };
            add(Coordinate::Slide, friction.slide.map(|f| f.si));
            add(Coordinate::Angle, friction.angle.map(|f| f.si));
        }
        if let Some(armature) = &table.armature {
            let mut add = |coordinate, inertia: Option<f64>| {
                joint.armature.extend(inertia.map(|inertia| Armature { coordinate, inertia }))
            };
            add(Coordinate::Slide, armature.slide.map(|m| m.si));
            add(Coordinate::Angle, armature.angle.map(|i| i.si));
        }
        joint.compliance = table.compliance.map_or(0.0, |c| c.si);
        joint.collide = table.collide == Some(true);
    }

    /// The frames of a joint on its two bodies, each in its body frame.
    fn frames(
        &mut self,
        moved: &Pose,
        table: &format::Joint,
        (a, b): (BodyId, BodyId),
    ) -> Option<(Pose, Pose)> {
        if let Some([from, to]) = &table.points {
            let end = |body, point| self.scene.to_body(body, &Pose::at(moved.point(vector(point))));
            return Some((end(a, from), end(b, to)));
        }
        let axes = (table.axis.as_ref().map(vector), table.x_axis.as_ref().map(vector));
        let world = self.world_frame(moved, b, &table.position, axes);
        let (mut frame_a, mut frame_b) =
            (self.scene.to_body(a, &world), self.scene.to_body(b, &world));
        match (&table.frame_a, &table.frame_b) {
            (None, None) => {}
            (Some(own), None) => {
                frame_a = self.own_frame(a, own)?;
                frame_b = self.scene.to_body(b, &(self.scene.bodies[a.index()].pose * frame_a));
            }
            (None, Some(own)) => {
                frame_b = self.own_frame(b, own)?;
                frame_a = self.scene.to_body(a, &(self.scene.bodies[b.index()].pose * frame_b));
            }
            (Some(own_a), Some(own_b)) => {
                (frame_a, frame_b) = (self.own_frame(a, own_a)?, self.own_frame(b, own_b)?)
            }
        }
        Some((frame_a, frame_b))
    }

    pub(super) fn joint_named(&mut self, name: &Name) -> Option<JointId> {
        let found = self.index.1.find(&self.scene.joints, &name.value, |j| &j.name).map(JointId);
        // A joint that is defined but faulty has been reported.
        if found.is_none() && !self.places.contains_key(&("joint", name.value.clone())) {
            self.unknown("joint", name, |scene| {
                scene.joints.iter().map(|j| j.name.as_str()).collect()
            });
        }
        found
    }

    /// A gain along the axis or about it; a unit that does not suit is a fault.
    fn gain(
        &mut self,
        turns: bool,
        gain: (Option<f64>, Option<f64>),
        at: &Span,
        units: [&str; 2],
    ) -> Option<f64> {
        let (value, unit) = if turns { (gain.1, units[1]) } else { (gain.0, units[0]) };
        if value.is_none() {
            let what = if turns { "an angle" } else { "a displacement" };
            self.reader.fault(
                at,
                format!("the motor drives {what}, and its gain has another unit"),
                format!("wanted {unit}"),
            );
        }
        value
    }

    /// A motor.
    pub fn motor(&mut self, table: &format::Motor) {
        let fresh = self.define("motor", &table.name);
        let joint = self.joint_named(&table.joint);
        let turns =
            table.angle.is_some() || table.angular_speed.is_some() || table.torque.is_some();
        let stiffness = table
            .stiffness
            .as_ref()
            .map(|x| self.gain(turns, (x.linear, x.angular), &x.at, ["N/m", "N m/rad"]));
        let damping = table
            .damping
            .as_ref()
            .map(|x| self.gain(turns, (x.linear, x.angular), &x.at, ["N s/m", "N m s/rad"]));
        if stiffness == Some(None) || damping == Some(None) {
            return;
        }
        let gains =
            |effort| Gains { stiffness: stiffness.flatten(), damping: damping.flatten(), effort };
        let (linear, turning) =
            (gains(table.max_force.map(|x| x.si)), gains(table.max_torque.map(|x| x.si)));
        let mut drives = Vec::new();
        let mut add = |coordinate, drive: Option<Option<Drive>>| {
            drives.extend(drive.map(|d| (coordinate, d)))
        };
        add(Coordinate::Slide, table.slide.as_ref().map(|f| linear.position(&f.function())));
        add(Coordinate::Slide, table.speed.as_ref().map(|f| linear.speed(&f.function())));
        add(Coordinate::Slide, table.force.as_ref().map(|f| linear.given(&f.function())));
        add(Coordinate::Angle, table.angle.as_ref().map(|f| turning.position(&f.function())));
        add(Coordinate::Angle, table.angular_speed.as_ref().map(|f| turning.speed(&f.function())));
        add(Coordinate::Angle, table.torque.as_ref().map(|f| turning.given(&f.function())));
        let other = if turns { linear.effort } else { turning.effort };
        let wrong = other.is_some() || drives.first().is_some_and(|d| d.1.is_none());
        if drives.len() != 1 || wrong {
            let message = format!("the motor `{}` does {} things", table.name.value, drives.len());
            let wanted = "wanted one of `slide`, `speed` (each with `max_force`), `force`, \
                `angle`, `angular_speed` (each with \
                          `max_torque`), `torque`; `stiffness` and `damping` make a servo, and a \
                          position with a limit needs a stiffness";
            self.reader.fault(&table.name.at, message, wanted);
            return;
        }
        let also: Option<Vec<GearTerm>> =
            table.also.iter().flatten().map(|term| self.term(term)).collect();
        if let (Some(joint), Some(also), true, Some((coordinate, Some(drive)))) =
            (joint, also, fresh, drives.pop())
        {
            let id = self.scene.add_motor(table.name.value.clone(), joint, coordinate, drive);
            self.scene.motors[id.index()].also = also;
            let late = |f: &Option<Late>| f.clone();
            let formulas = [
                table.slide.as_ref().and_then(|f| late(&f.formula)),
                table.speed.as_ref().and_then(|f| late(&f.formula)),
                table.force.as_ref().and_then(|f| late(&f.formula)),
                table.angle.as_ref().and_then(|f| late(&f.formula)),
                table.angular_speed.as_ref().and_then(|f| late(&f.formula)),
                table.torque.as_ref().and_then(|f| late(&f.formula)),
            ];
            if let Some(formula) = formulas.into_iter().flatten().next() {
                let every = table.every.map_or(0.0, |t| t.si);
                self.drives.push((Port::Motor(id), formula, every, wanted_by(&self.scene, id)));
            }
        }
    }

    /// A gear.
    pub fn gear(&mut self, table: &format::Gear) {
        let fresh = self.define("gear", &table.name);
        let name = table.name.value.clone();
        match (&table.ratio, &table.rack, &table.terms) {
            (Some(ratio), None, None) => {
                let (first, second) =
                    (self.joint_named(&ratio.first), self.joint_named(&ratio.second));
                if let (Some(first), Some(second), true) = (first, second, fresh) {
                    self.scene.add_gear_pair(name, first, second, ratio.ratio.si);
                }
            }
            (None, Some(rack), None) => {
                let (pinion, slider) =
                    (self.joint_named(&rack.pinion), self.joint_named(&rack.slider));
                if let (Some(pinion), Some(slider), true) = (pinion, slider, fresh) {
                    self.scene.add_rack(name, pinion, slider, rack.radius.si);
                }
            }
            (None, None, Some(terms)) => {
                let terms: Vec<Option<GearTerm>> =
                    terms.iter().map(|term| self.term(term)).collect();
                if let (Some(terms), true) = (terms.into_iter().collect::<Option<Vec<_>>>(), fresh)
                {
                    self.scene.add_gear(name, &terms);
                }
            }
            _ => self.reader.fault(
                &table.name.at,
                format!("the gear `{name}` has none or several kinds"),
                "wanted one of `ratio`, `rack`, `terms`",
            ),
        }
    }

    fn term(&mut self, term: &format::Term) -> Option<GearTerm> {
        let joint = self.joint_named(&term.joint)?;
        match (term.angle, term.slide) {
            (Some(factor), None) => {
                Some(GearTerm { joint, coordinate: Coordinate::Angle, factor: factor.si })
            }
            (None, Some(factor)) => {
                Some(GearTerm { joint, coordinate: Coordinate::Slide, factor: factor.si })
            }
            _ => {
                self.reader.fault(
                    &term.joint.at,
                    "a term without one factor",
                    "wanted one of `angle`, `slide`",
                );
                None
            }
        }
    }

    /// A force.
    pub fn force(&mut self, moved: &Pose, table: &format::Force) {
        let fresh = self.define("force", &table.name);
        let mut kinds = Vec::new();
        kinds.extend(table.spring.as_ref().map(|s| self.spring(moved, s)));
        kinds.extend(table.torsion.as_ref().map(|s| self.torsion(moved, s)));
        kinds.extend(table.bushing.as_ref().map(|s| self.bushing(moved, s)));
        kinds.extend(table.drag.as_ref().map(|s| self.drag(s)));
        kinds.extend(table.applied.as_ref().map(|s| self.applied(moved, s)));
        kinds.extend(table.tension.as_ref().map(|s| self.tension(moved, s)));
        if kinds.len() != 1 {
            let message = format!("the force `{}` is {} kinds", table.name.value, kinds.len());
            self.reader.fault(
                &table.name.at,
                message,
                "wanted one of `spring`, `torsion`, `bushing`, `drag`, `applied`, `tension`",
            );
        } else if let (Some(Some(kind)), true) = (kinds.pop(), fresh) {
            let id = self.scene.add_force(table.name.value.clone(), kind);
            for (k, late, dimension) in table.applied.iter().flat_map(formulas) {
                self.drives.push((Port::Force(id, k), late, 0.0, dimension));
            }
        }
    }

    fn spring(&mut self, moved: &Pose, s: &format::Spring) -> Option<ForceKind> {
        let (a, b) = self.pair(&s.a, &s.b)?;
        let ends = match &s.points {
            Some([from, to]) => [moved.point(vector(from)), moved.point(vector(to))],
            None => [self.place(a).position, self.place(b).position],
        };
        Some(ForceKind::Spring(Spring {
            a,
            b,
            point_a: self.scene.to_body(a, &Pose::at(ends[0])).position,
            point_b: self.scene.to_body(b, &Pose::at(ends[1])).position,
            length: s.length.map_or(ends[0].distance(ends[1]), |l| l.si),
            stiffness: s.stiffness.si,
            damping: s.damping.map_or(0.0, |c| c.si),
        }))
    }

    fn tension(&mut self, moved: &Pose, s: &format::Tension) -> Option<ForceKind> {
        let (a, b) = self.pair(&s.a, &s.b)?;
        let ends = match &s.points {
            Some([from, to]) => [moved.point(vector(from)), moved.point(vector(to))],
            None => [self.place(a).position, self.place(b).position],
        };
        let pull = self.pull(&s.pull)?;
        let end = |body, point| self.scene.to_body(body, &Pose::at(point)).position;
        Some(ForceKind::Tension(Box::new(Tension {
            a,
            b,
            point_a: end(a, ends[0]),
            point_b: end(b, ends[1]),
            pull,
        })))
    }

    fn torsion(&mut self, moved: &Pose, s: &format::Torsion) -> Option<ForceKind> {
        let (a, b) = self.pair(&s.a, &s.b)?;
        let world = self.world_frame(moved, b, &s.position, (s.axis.as_ref().map(vector), None));
        Some(ForceKind::Torsion(Torsion {
            a,
            b,
            frame_a: self.scene.to_body(a, &world),
            frame_b: self.scene.to_body(b, &world),
            angle: s.angle.map_or(0.0, |x| x.si),
            stiffness: s.stiffness.si,
            damping: s.damping.map_or(0.0, |c| c.si),
        }))
    }

    fn bushing(&mut self, moved: &Pose, s: &format::Bushing) -> Option<ForceKind> {
        let (a, b) = self.pair(&s.a, &s.b)?;
        let rotation = self.rotation(s.rotation.as_ref())?;
        let world = Pose {
            orientation: moved.orientation * rotation,
            ..self.world_frame(moved, b, &s.position, (None, None))
        };
        let diagonal = |linear: DVec3, angular: DVec3| {
            let mut matrix = [[0.0; 6]; 6];
            (0..3).for_each(|i| (matrix[i][i], matrix[i + 3][i + 3]) = (linear[i], angular[i]));
            matrix
        };
        Some(ForceKind::Bushing(Box::new(Bushing {
            a,
            b,
            frame_a: self.scene.to_body(a, &world),
            frame_b: self.scene.to_body(b, &world),
            stiffness: diagonal(
                vector(&s.stiffness),
                s.angular_stiffness.as_ref().map_or(DVec3::ZERO, vector),
            ),
            damping: diagonal(
                s.damping.as_ref().map_or(DVec3::ZERO, vector),
                s.angular_damping.as_ref().map_or(DVec3::ZERO, vector),
            ),
        })))
    }

    fn drag(&mut self, s: &format::Drag) -> Option<ForceKind> {
        let body = self.body_named(&s.body)?;
        let (linear, quadratic, angular) = (
            s.linear.map_or(0.0, |x| x.si),
            s.quadratic.map_or(0.0, |x| x.si),
            s.angular.map_or(0.0, |x| x.si),
        );
        Some(ForceKind::Drag(Drag { body, linear, quadratic, angular }))
    }

    fn applied(&mut self, moved: &Pose, s: &format::Applied) -> Option<ForceKind> {
        let body = self.body_named(&s.body)?;
        let point = s.point.as_ref().map_or(DVec3::ZERO, |p| {
            self.scene.to_body(body, &Pose::at(moved.point(vector(p)))).position
        });
        let force =
            s.force.as_ref().map(|f| f.each_ref().map(|f| f.function())).unwrap_or_default();
        let torque =
            s.torque.as_ref().map(|f| f.each_ref().map(|f| f.function())).unwrap_or_default();
        let frame = if s.follows == Some(true) { Frame::Body } else { Frame::World };
        Some(ForceKind::Applied(Box::new(Applied { body, point, force, torque, frame })))
    }
}

/// The components of an applied force that are formulas over what is measured.
fn formulas(s: &format::Applied) -> Vec<(u8, Late, Dimension)> {
    let mut out = Vec::new();
    for (k, f) in s.force.iter().flatten().enumerate() {
        out.extend(f.formula.clone().map(|late| (k as u8, late, f.dimension())));
    }
    for (k, f) in s.torque.iter().flatten().enumerate() {
        out.extend(f.formula.clone().map(|late| (k as u8 + 3, late, f.dimension())));
    }
    out
}

/// Stiffness, damping and greatest effort of a motor, as far as they are given.
#[derive(Clone, Copy)]
struct Gains {
    stiffness: Option<f64>,
    damping: Option<f64>,
    effort: Option<f64>,
}

impl Gains {
    /// A servo towards a position, or an imposed position without gains.
    fn position(self, target: &Function) -> Option<Drive> {
        match self {
            Gains { stiffness: None, damping: None, effort: None } => {
                Some(Drive::Position(target.clone()))
            }
            Gains { stiffness: Some(stiffness), damping, effort } => Some(Drive::Servo {
                target: target.clone(),
                stiffness,
                damping: damping.unwrap_or(0.0),
                effort: effort.unwrap_or(f64::INFINITY),
            }),
            _ => None,
        }
    }

    /// An imposed speed, as far as the effort suffices, or a servo that is soft.
    fn speed(self, speed: &Function) -> Option<Drive> {
        let speed = speed.clone();
        match self {
            Gains { stiffness: Some(_), .. } => None,
            Gains { damping: Some(damping), effort, .. } => {
                Some(Drive::SpeedServo { speed, damping, effort: effort.unwrap_or(f64::INFINITY) })
            }
            Gains { effort: Some(effort), .. } => Some(Drive::LimitedSpeed { speed, effort }),
            _ => Some(Drive::Speed(speed)),
        }
    }

    /// A given force or torque.
    fn given(self, effort: &Function) -> Option<Drive> {
        let plain = self.stiffness.is_none() && self.damping.is_none() && self.effort.is_none();
        plain.then(|| Drive::Effort(effort.clone()))
    }
}

fn joint_kind(kind: format::JointKind, length: f64) -> JointKind {
    match kind {
        format::JointKind::Spherical => JointKind::Spherical,
        format::JointKind::Revolute => JointKind::Revolute,
        format::JointKind::Prismatic => JointKind::Prismatic,
        format::JointKind::Cylindrical => JointKind::Cylindrical,
        format::JointKind::Universal => JointKind::Universal,
        format::JointKind::Fixed => JointKind::Fixed,
        format::JointKind::Planar => JointKind::Planar,
        format::JointKind::PointOnLine => JointKind::PointOnLine,
        format::JointKind::PointOnPlane => JointKind::PointOnPlane,
        format::JointKind::Distance => JointKind::Distance { length },
        format::JointKind::Free => JointKind::Free,
    }
}
