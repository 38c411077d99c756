//! Whether a scene can be simulated: every fault found at once, each with its culprit and its
//! value.

use super::*;
use std::collections::HashMap;

/// A fault of a scene: what, which one, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} `{name}`: {why}")]
pub struct Invalid {
    /// Body, joint, motor, gear, force, material.
    pub what: &'static str,
    /// Its name.
    pub name: String,
    /// What is wrong, with the value found and what was wanted.
    pub why: String,
}

/// Collects faults.
pub(super) struct Faults<'a> {
    pub(super) scene: &'a Scene,
    found: Vec<Invalid>,
}

impl Scene {
    /// Every fault of the scene, or nothing.
    pub fn check(&self) -> Result<(), Vec<Invalid>> {
        let mut faults = Faults { scene: self, found: Vec::new() };
        faults.names();
        if !self.gravity.is_finite() {
            faults.add(
                "scene",
                &self.name,
                format!("gravity = {}, wanted finite numbers", self.gravity),
            );
        }
        self.bodies.iter().for_each(|body| faults.body(body));
        self.materials.iter().for_each(|material| faults.material(material));
        faults.colliders();
        self.joints.iter().for_each(|joint| faults.joint(joint));
        self.motors.iter().for_each(|motor| faults.motor(motor));
        self.gears.iter().for_each(|gear| faults.gear(gear));
        self.forces.iter().for_each(|force| faults.force(force));
        faults.reacting();
        if faults.found.is_empty() { Ok(()) } else { Err(faults.found) }
    }
}

impl Faults<'_> {
    pub(super) fn add(&mut self, what: &'static str, name: &str, why: impl Into<String>) {
        self.found.push(Invalid { what, name: name.into(), why: why.into() });
    }

    /// Names are unique within each kind of thing.
    fn names(&mut self) {
        let scene = self.scene;
        let lists: [(&'static str, Vec<&String>); 11] = [
            ("body", scene.bodies.iter().map(|x| &x.name).collect()),
            ("joint", scene.joints.iter().map(|x| &x.name).collect()),
            ("motor", scene.motors.iter().map(|x| &x.name).collect()),
            ("gear", scene.gears.iter().map(|x| &x.name).collect()),
            ("force", scene.forces.iter().map(|x| &x.name).collect()),
            ("material", scene.materials.iter().map(|x| &x.name).collect()),
            ("sensor", scene.sensors.iter().map(|x| &x.name).collect()),
            ("variable", scene.variables.iter().map(|x| &x.name).collect()),
            ("controller", scene.controllers.iter().map(|x| &x.name).collect()),
            ("event", scene.events.iter().map(|x| &x.name).collect()),
            ("template", scene.templates.iter().map(|x| &x.name).collect()),
        ];
        for (what, names) in lists {
            let mut seen = HashMap::new();
            for (i, name) in names.into_iter().enumerate() {
                if let Some(first) = seen.insert(name, i) {
                    self.add(
                        what,
                        name,
                        format!(
                            "number {i} has the name of number {first}, wanted a name of its own"
                        ),
                    );
                }
            }
        }
    }

    fn body(&mut self, body: &Body) {
        if !body.pose.is_finite() || !body.velocity.is_finite() || !body.spin.is_finite() {
            self.add("body", &body.name, "pose or velocity is not finite");
        } else if (body.pose.orientation.length() - 1.0).abs() > 1e-9 {
            self.add(
                "body",
                &body.name,
                format!("quaternion has length {}, wanted 1", body.pose.orientation.length()),
            );
        }
        match &body.kind {
            Kind::Rigid(mass) => {
                if let Some(why) = mass.fault() {
                    self.add("body", &body.name, why);
                }
            }
            Kind::Imposed(motion) => {
                if let Some(why) = motion.fault() {
                    self.add("body", &body.name, why);
                }
            }
            Kind::Fixed => {}
            Kind::Soft(id) => {
                if let Some(why) = self.scene.softs.get(id.index()).and_then(Soft::fault) {
                    self.add("body", &body.name, why);
                }
            }
        }
    }

    fn material(&mut self, material: &Material) {
        for (what, value, most) in [
            ("mu", material.mu, f64::MAX),
            ("restitution", material.restitution, 1.0),
            ("compliance", material.compliance, f64::MAX),
            ("damping", material.damping, f64::MAX),
            ("torsion", material.torsion, f64::MAX),
            ("rolling", material.rolling, f64::MAX),
        ] {
            if !(value >= 0.0 && value <= most) {
                let wanted = if most == 1.0 { "0…1" } else { "a number ≥ 0" };
                self.add("material", &material.name, format!("{what} = {value}, wanted {wanted}"));
            }
        }
    }

    fn colliders(&mut self) {
        let scene = self.scene;
        if scene.surface_materials.len() != scene.colliders.len() {
            self.add(
                "scene",
                &scene.name,
                format!(
                    "{} surface_materials for {} colliders",
                    scene.surface_materials.len(),
                    scene.colliders.len()
                ),
            );
        }
        for (collider, surface) in scene.colliders.iter().zip(&scene.surface_materials) {
            let name = scene.bodies.get(collider.body as usize).map_or("?", |b| b.name.as_str());
            self.exists("collider of body", name, BodyId(collider.body));
            if let Err(why) = collider.check() {
                self.add("collider of body", name, why.to_string());
            }
            if surface.material.index() >= scene.materials.len() {
                self.add(
                    "collider of body",
                    name,
                    format!(
                        "names material number {}, wanted below {}",
                        surface.material.0,
                        scene.materials.len()
                    ),
                );
            }
        }
    }

    /// Both bodies exist, differ, and at least one can move.
    fn pair(&mut self, what: &'static str, name: &str, a: BodyId, b: BodyId) {
        for id in [a, b] {
            self.exists(what, name, id);
        }
        if a == b {
            self.add(what, name, "connects a body with itself");
        } else if let (Some(x), Some(y)) =
            (self.scene.bodies.get(a.index()), self.scene.bodies.get(b.index()))
            && x.mass().is_none()
            && y.mass().is_none()
        {
            self.add(
                what,
                name,
                format!(
                    "connects `{}` with `{}`, neither of which is free to move",
                    x.name, y.name
                ),
            );
        }
    }

    pub(super) fn exists(&mut self, what: &'static str, name: &str, id: BodyId) {
        if id.index() >= self.scene.bodies.len() {
            self.add(
                what,
                name,
                format!("names body number {}, wanted below {}", id.0, self.scene.bodies.len()),
            );
        }
    }

    fn joint(&mut self, joint: &Joint) {
        self.pair("joint", &joint.name, joint.a, joint.b);
        if !joint.frame_a.is_finite() || !joint.frame_b.is_finite() {
            self.add("joint", &joint.name, "a frame is not finite");
        }
        if let JointKind::Distance { length } = joint.kind
            && !(length > 0.0 && length.is_finite())
        {
            self.add(
                "joint",
                &joint.name,
                format!(
                    "length = {length}, wanted > 0 m (a spherical joint holds two points together)"
                ),
            );
        }
        if !(joint.compliance >= 0.0 && joint.compliance.is_finite()) {
            self.add(
                "joint",
                &joint.name,
                format!("compliance = {}, wanted a number ≥ 0", joint.compliance),
            );
        }
        for limit in &joint.limits {
            if limit.lo.is_nan() || limit.hi.is_nan() || limit.lo >= limit.hi {
                self.add(
                    "joint",
                    &joint.name,
                    format!(
                        "limits {} … {}, wanted the first below the second",
                        limit.lo, limit.hi
                    ),
                );
            }
            if !(0.0..=1.0).contains(&limit.restitution) {
                self.add(
                    "joint",
                    &joint.name,
                    format!("restitution = {}, wanted 0…1", limit.restitution),
                );
            }
            self.coordinate("joint", &joint.name, joint.kind, limit.coordinate);
        }
        for friction in &joint.friction {
            if !(friction.effort >= 0.0 && friction.effort.is_finite()) {
                self.add(
                    "joint",
                    &joint.name,
                    format!("dry friction = {}, wanted a number ≥ 0", friction.effort),
                );
            }
            self.coordinate("joint", &joint.name, joint.kind, friction.coordinate);
        }
        for armature in &joint.armature {
            if !(armature.inertia >= 0.0 && armature.inertia.is_finite()) {
                self.add(
                    "joint",
                    &joint.name,
                    format!("armature = {}, wanted a number ≥ 0", armature.inertia),
                );
            }
            self.coordinate("joint", &joint.name, joint.kind, armature.coordinate);
        }
    }

    /// A coordinate that the joint holds cannot be driven, limited or rubbed.
    fn coordinate(
        &mut self,
        what: &'static str,
        name: &str,
        kind: JointKind,
        coordinate: Coordinate,
    ) {
        let held = match coordinate {
            Coordinate::Slide => kind.parts().contains(&Part::Along(Axis::Z)),
            Coordinate::Angle => kind.parts().contains(&Part::Turn(Axis::Z)),
            Coordinate::Distance => {
                matches!(kind, JointKind::Distance { .. })
                    || kind.parts().iter().filter(|p| matches!(p, Part::Along(_))).count() == 3
            }
        };
        if held {
            self.add(
                what,
                name,
                format!(
                    "acts on {}, which a {} joint does not leave free",
                    coordinate.name(),
                    kind.name()
                ),
            );
        }
    }

    fn joint_coordinate(
        &mut self,
        what: &'static str,
        name: &str,
        joint: JointId,
        coordinate: Coordinate,
    ) {
        match self.scene.joints.get(joint.index()) {
            Some(joint) => self.coordinate(what, name, joint.kind, coordinate),
            None => self.add(
                what,
                name,
                format!("names joint number {}, wanted below {}", joint.0, self.scene.joints.len()),
            ),
        }
    }

    fn motor(&mut self, motor: &Motor) {
        self.joint_coordinate("motor", &motor.name, motor.joint, motor.coordinate);
        let function = match &motor.drive {
            Drive::Position(f) | Drive::Speed(f) | Drive::Effort(f) => f,
            Drive::LimitedSpeed { speed, effort } => {
                if effort.is_nan() || *effort < 0.0 {
                    self.add(
                        "motor",
                        &motor.name,
                        format!("effort = {effort}, wanted a number ≥ 0"),
                    );
                }
                speed
            }
            Drive::Servo { target, stiffness, damping, effort } => {
                self.servo(motor, [*stiffness, *damping, *effort]);
                target
            }
            Drive::SpeedServo { speed, damping, effort } => {
                self.servo(motor, [0.0, *damping, *effort]);
                speed
            }
        };
        if let Some(why) = function.fault() {
            self.add("motor", &motor.name, why);
        }
        self.further(motor);
    }

    fn servo(&mut self, motor: &Motor, [stiffness, damping, effort]: [f64; 3]) {
        if effort.is_nan() || effort < 0.0 {
            self.add("motor", &motor.name, format!("effort = {effort}, wanted a number ≥ 0"));
        }
        let gain = |x: f64| x >= 0.0 && x.is_finite();
        if !(gain(stiffness) && gain(damping) && stiffness + damping > 0.0) {
            let found = format!("stiffness = {stiffness}, damping = {damping}");
            self.add("motor", &motor.name, format!("{found}, wanted numbers ≥ 0, not both 0"));
        }
    }

    /// The further coordinates of a motor.
    fn further(&mut self, motor: &Motor) {
        let given = matches!(
            motor.drive,
            Drive::Effort(_) | Drive::Servo { .. } | Drive::SpeedServo { .. }
        );
        if !motor.also.is_empty() && !given {
            self.add(
                "motor",
                &motor.name,
                "imposes a motion on several coordinates, wanted a gear for that",
            );
        }
        if motor.also.len() >= MAX_GEAR_TERMS {
            self.add(
                "motor",
                &motor.name,
                format!("{} coordinates, wanted at most {MAX_GEAR_TERMS}", motor.also.len() + 1),
            );
        }
        for term in &motor.also {
            self.joint_coordinate("motor", &motor.name, term.joint, term.coordinate);
            if !(term.factor.is_finite() && term.factor != 0.0) {
                self.add(
                    "motor",
                    &motor.name,
                    format!("factor = {}, wanted a number other than zero", term.factor),
                );
            }
        }
    }

    fn gear(&mut self, gear: &Gear) {
        if gear.terms.len() < 2 || gear.terms.len() > MAX_GEAR_TERMS {
            self.add(
                "gear",
                &gear.name,
                format!("{} terms, wanted 2…{MAX_GEAR_TERMS}", gear.terms.len()),
            );
        }
        for term in &gear.terms {
            self.joint_coordinate("gear", &gear.name, term.joint, term.coordinate);
            if !(term.factor.is_finite() && term.factor != 0.0) {
                self.add(
                    "gear",
                    &gear.name,
                    format!("factor = {}, wanted a number other than zero", term.factor),
                );
            }
        }
    }

    fn force(&mut self, force: &Force) {
        let name = &force.name;
        match &force.kind {
            ForceKind::Spring(s) => {
                self.pair("force", name, s.a, s.b);
                self.amounts(
                    name,
                    &[("length", s.length), ("stiffness", s.stiffness), ("damping", s.damping)],
                );
            }
            ForceKind::Torsion(s) => {
                self.pair("force", name, s.a, s.b);
                self.amounts(name, &[("stiffness", s.stiffness), ("damping", s.damping)]);
            }
            ForceKind::Bushing(s) => {
                self.pair("force", name, s.a, s.b);
                for (what, matrix) in [("stiffness", &s.stiffness), ("damping", &s.damping)] {
                    if let Some(why) = semidefinite_fault(matrix) {
                        self.add("force", name, format!("{what}: {why}"));
                    }
                }
            }
            ForceKind::Drag(s) => {
                self.exists("force", name, s.body);
                self.amounts(
                    name,
                    &[("linear", s.linear), ("quadratic", s.quadratic), ("angular", s.angular)],
                );
            }
            ForceKind::Applied(s) => {
                self.exists("force", name, s.body);
                if let Some(why) = s.force.iter().chain(&s.torque).find_map(Function::fault) {
                    self.add("force", name, why);
                }
            }
            ForceKind::Tension(s) => {
                self.pair("force", name, s.a, s.b);
                self.pull(name, &s.pull);
            }
        }
    }

    fn amounts(&mut self, name: &str, amounts: &[(&str, f64)]) {
        for (what, value) in amounts {
            if !(*value >= 0.0 && value.is_finite()) {
                self.add("force", name, format!("{what} = {value}, wanted a number ≥ 0"));
            }
        }
    }
}

/// The most coordinates that one gear couples.
pub const MAX_GEAR_TERMS: usize = 3;

/// Masses with which energies, and the squares of impulses, neither underflow nor overflow, kg.
const ACCEPTED_MASSES: std::ops::RangeInclusive<f64> = 1e-60..=1e60;
/// Inertias for which the same is true, kg m².
const ACCEPTED_INERTIAS: std::ops::RangeInclusive<f64> = 1e-90..=1e90;

impl Mass {
    /// What is wrong with it, if anything: an inertia must be that of some distribution of mass.
    pub fn fault(&self) -> Option<String> {
        if !(self.mass > 0.0 && self.mass.is_finite()) {
            return Some(format!("mass = {} kg, wanted > 0", self.mass));
        }
        let i = self.inertia.to_cols_array_2d();
        let trace = i[0][0] + i[1][1] + i[2][2];
        if !trace.is_finite() {
            return Some("inertia is not finite".into());
        }
        // Beyond these the energies of ordinary motions leave the range of a double: they would
        // read as 0 J.
        if !(ACCEPTED_MASSES.contains(&self.mass) && ACCEPTED_INERTIAS.contains(&trace)) {
            let (m, i) = (ACCEPTED_MASSES, ACCEPTED_INERTIAS);
            let wanted =
                format!("{:e}…{:e} kg and {:e}…{:e} kg m²", m.start(), m.end(), i.start(), i.end());
            return Some(format!(
                "mass = {:e} kg, inertia = {trace:e} kg m² (trace), wanted {wanted}",
                self.mass
            ));
        }
        if (0..3).any(|p| (0..p).any(|q| (i[p][q] - i[q][p]).abs() > 1e-9 * trace)) {
            return Some("inertia is not symmetric".into());
        }
        let mut flat: [f64; 9] = std::array::from_fn(|p| i[p / 3][p % 3]);
        if let Err((place, pivot)) = crate::math::dense::cholesky(3, &mut flat) {
            return Some(format!(
                "inertia is not positive definite: pivot {pivot:.3e} at axis {place}"
            ));
        }
        // Principal inertias obey the triangle inequality: ½ tr(I) E − I must not be negative.
        let half = 0.5 * trace * (1.0 + 1e-9);
        let mut rest: [f64; 9] =
            std::array::from_fn(|p| if p / 3 == p % 3 { half } else { 0.0 } - i[p / 3][p % 3]);
        (0..3).for_each(|p| rest[p * 4] += 1e-9 * trace);
        crate::math::dense::cholesky(3, &mut rest).err().map(|_| {
            "inertia: one principal moment exceeds the sum of the others, which no \
                distribution of mass has"
                .into()
        })
    }
}

fn semidefinite_fault(matrix: &[[f64; 6]; 6]) -> Option<String> {
    let largest = matrix.iter().flatten().fold(0.0f64, |m, x| x.abs().max(m));
    if !largest.is_finite() || matrix.iter().flatten().any(|x| x.is_nan()) {
        return Some("an entry is not finite".into());
    }
    let diagonal: [f64; 6] = std::array::from_fn(|i| matrix[i][i]);
    for i in 0..6 {
        for j in 0..i {
            let scale = (diagonal[i] * diagonal[j]).abs().sqrt();
            if (matrix[i][j] - matrix[j][i]).abs() > 1e-9 * scale.max(1e-12 * largest) {
                return Some(format!(
                    "entry ({i},{j}) = {}, but ({j},{i}) = {}",
                    matrix[i][j], matrix[j][i]
                ));
            }
        }
    }
    // Shifted by a billionth of its diagonal a semidefinite matrix has a factor.
    let mut flat: [f64; 36] = std::array::from_fn(|p| matrix[p / 6][p % 6]);
    (0..6).for_each(|i| flat[i * 7] += 1e-9 * diagonal[i].abs() + f64::MIN_POSITIVE);
    crate::math::dense::cholesky(6, &mut flat).err().map(|(place, pivot)| {
        format!("not positive semidefinite: pivot {pivot:.3e} at entry {place}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_found_and_named() {
        let mut scene = Scene::new("wrong");
        let a = scene.add_body(Body::rigid("a", Mass::sphere(-1.0, 0.1)));
        scene.add_body(Body::rigid("a", Mass::new(1.0, DVec3::new(1.0, 1.0, 3.0))));
        let hinge =
            scene.add_joint("hinge", JointKind::Revolute, (BodyId::GROUND, a), Pose::IDENTITY);
        scene.add_motor(
            "drive",
            hinge,
            Coordinate::Slide,
            Drive::Speed(Function::Constant(f64::NAN)),
        );
        scene.add_joint(
            "nothing",
            JointKind::Fixed,
            (BodyId::GROUND, BodyId::GROUND),
            Pose::IDENTITY,
        );
        let found = scene.check().unwrap_err();
        let text: Vec<String> = found.iter().map(|f| f.to_string()).collect();
        for wanted in [
            "mass = -1 kg",
            "name of number 1",
            "principal moment",
            "does not leave free",
            "NaN",
            "with itself",
        ] {
            assert!(text.iter().any(|t| t.contains(wanted)), "{wanted} in {text:#?}");
        }
        assert_eq!(found.len(), 6);
    }
}
