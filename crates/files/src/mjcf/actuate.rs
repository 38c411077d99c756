//! Equalities, tendons and actuators of MJCF.

use super::Maker;
use super::model::Kind;
use super::xml::{ACTUATORS, Element, MAIN};
use crate::robot::{self, Drive, JointKind, Motor};
use crate::spelling::suggestion;
use glam::{DMat3, DVec3};
use signorini_solve::math::pose::Pose;

/// A tendon or transmission: joints of the machine and factors.
type Terms = Vec<(usize, f64)>;

impl Maker<'_, '_, '_> {
    /// The hinge or slide that an attribute names.
    fn joint_named(&mut self, element: &Element, key: &str) -> Option<usize> {
        let name = element.own(key)?.to_string();
        let found = self.joints.get(&name).copied();
        match found {
            None => {
                let names: Vec<&str> = self.joints.keys().map(String::as_str).collect();
                let wanted = suggestion(&name, &names);
                self.reader.fault(element, format!("there is no joint `{name}`"), wanted);
                None
            }
            Some(j) if self.machine.joints[j].kind.coordinate().is_none() => {
                self.reader.left_out(
                    element,
                    format!("<{}> on the ball joint `{name}` is left out", element.tag),
                );
                None
            }
            found => found,
        }
    }

    /// Loops and couplings.
    pub fn equalities(&mut self) {
        let root = self.root;
        for (i, element) in root.all("equality").flat_map(|e| &e.children).enumerate() {
            if element.own("active") == Some("false") {
                self.reader.left_out(element, format!("<{}> is not active: left out", element.tag));
                continue;
            }
            let name =
                element.own("name").map_or_else(|| format!("equality_{}", i + 1), String::from);
            match element.tag.as_str() {
                "connect" | "weld" => self.hold(element, name),
                "joint" => self.couple(element, name),
                other => self
                    .reader
                    .left_out(element, format!("<{other}> between tendons or others is left out")),
            }
        }
    }

    /// A point or a frame of one body held at one of another.
    fn hold(&mut self, element: &Element, name: String) {
        let welded = element.tag == "weld";
        let sites = (element.own("site1"), element.own("site2"));
        let (first, second) = if let (Some(one), Some(two)) = sites {
            let (Some(one), Some(two)) =
                (self.tree.sites.get(one).copied(), self.tree.sites.get(two).copied())
            else {
                self.reader.fault(
                    element,
                    "a site that is not there",
                    "wanted the names of two sites",
                );
                return;
            };
            (one, two)
        } else {
            let Some(one) = self.body_named(element, "body1") else { return };
            let two = if element.own("body2").is_some() {
                self.body_named(element, "body2")
            } else {
                Some(0)
            };
            let Some(two) = two else { return };
            let anchor = self.attributes().vector(element, MAIN, "anchor").unwrap_or(DVec3::ZERO);
            let relative = self.written[one].inverse() * self.written[two];
            let numbers = self.attributes().numbers(element, MAIN, "relpose");
            let relative = match numbers.as_deref() {
                // Without a rotation the written one counts.
                Some(&[x, y, z, w, i, j, k]) if w * w + i * i + j * j + k * k > 0.0 => {
                    Pose::new(DVec3::new(x, y, z), glam::DQuat::from_xyzw(i, j, k, w).normalize())
                }
                _ => relative,
            };
            if welded {
                // The anchor of a weld is in body 2; where it is does not matter to a rigid weld.
                ((one, relative), (two, Pose::IDENTITY))
            } else {
                ((one, Pose::at(anchor)), (two, Pose::at(relative.inverse().point(anchor))))
            }
        };
        let (a, b) = (self.homes[first.0], self.homes[second.0]);
        if a.body == b.body {
            self.reader.left_out(element, "it connects a body with itself: left out");
            return;
        }
        let kind = if welded { JointKind::Fixed } else { JointKind::Spherical };
        let (frame_a, frame_b) = (a.pose * first.1, b.pose * second.1);
        let joint = robot::Joint {
            frame_a,
            frame_b,
            ..robot::Joint::new(name, kind, Some(a.body), b.body)
        };
        self.machine.joints.push(robot::Joint { collide: true, ..joint });
    }

    /// One joint follows another.
    fn couple(&mut self, element: &Element, name: String) {
        let Some(one) = self.joint_named(element, "joint1") else { return };
        let c =
            self.attributes().numbers(element, MAIN, "polycoef").unwrap_or_else(|| vec![0.0, 1.0]);
        let at = |i: usize| c.get(i).copied().unwrap_or(0.0);
        let Some(two) =
            element.own("joint2").is_some().then(|| self.joint_named(element, "joint2"))
        else {
            let reference = self.reference(one);
            let terms = vec![(one, 1.0)];
            self.machine.motors.push(Motor { name, terms, drive: Drive::Lock(reference + at(0)) });
            return;
        };
        let Some(two) = two else { return };
        if (2..5).any(|i| at(i) != 0.0) {
            self.reader.left_out(element, "a coupling of joints that is not linear is left out");
            return;
        }
        if at(1) == 0.0 {
            let reference = self.reference(one);
            self.machine.motors.push(Motor {
                name,
                terms: vec![(one, 1.0)],
                drive: Drive::Lock(reference + at(0)),
            });
            return;
        }
        let (x, y) = (
            self.machine.joints[one].start - self.reference(one),
            self.machine.joints[two].start - self.reference(two),
        );
        let gap = x - at(0) - at(1) * y;
        if gap.abs() > 1e-6 {
            self.reader.left_out(
                element,
                format!("the coupling is off by {gap:.2e} at the beginning, and stays so"),
            );
        }
        self.machine.gears.push((name, vec![(one, 1.0), (two, -at(1))]));
    }

    /// The value of a joint where the bodies are as written.
    fn reference(&self, joint: usize) -> f64 {
        let name = &self.machine.joints[joint].name;
        self.tree
            .bodies
            .iter()
            .flat_map(|b| &b.joints)
            .find(|j| j.name == *name)
            .map_or(0.0, |j| j.reference)
    }

    /// Ropes between two sites; fixed tendons are read where actuators pull them.
    pub fn tendons(&mut self) {
        let root = self.root;
        for (i, element) in root.all("tendon").flat_map(|t| &t.children).enumerate() {
            let class = element.own("class").unwrap_or(MAIN).to_string();
            let mut attributes = self.attributes();
            let mut number = |name: &str| attributes.number(element, &class, name).unwrap_or(0.0);
            let elastic = number("stiffness") != 0.0
                || number("damping") != 0.0
                || number("frictionloss") != 0.0;
            let limited = attributes.limited(element, &class, "limited", "range");
            let range = attributes.numbers(element, &class, "range");
            if elastic {
                self.reader.left_out(
                    element,
                    "stiffness, damping and friction loss of a tendon are left out",
                );
            }
            let sites: Vec<&str> = element.all("site").filter_map(|s| s.own("site")).collect();
            match (element.tag.as_str(), sites.as_slice()) {
                ("spatial", &[one, two]) if element.children.len() == 2 => {
                    let Some(&[lo, hi]) = range.as_deref().filter(|_| limited) else { continue };
                    let (Some(one), Some(two)) =
                        (self.tree.sites.get(one).copied(), self.tree.sites.get(two).copied())
                    else {
                        self.reader.fault(
                            element,
                            "a site that is not there",
                            "wanted the names of two sites",
                        );
                        continue;
                    };
                    let (a, b) = (self.homes[one.0], self.homes[two.0]);
                    let name = element
                        .own("name")
                        .map_or_else(|| format!("tendon_{}", i + 1), String::from);
                    let rope = robot::Joint::new(name, JointKind::Rope, Some(a.body), b.body);
                    let (frame_a, frame_b) = (a.pose * one.1, b.pose * two.1);
                    let lo = if lo > 0.0 { lo } else { f64::NEG_INFINITY };
                    self.machine.joints.push(robot::Joint {
                        frame_a,
                        frame_b,
                        limits: Some((lo, hi)),
                        collide: true,
                        ..rope
                    });
                }
                ("fixed", _) => {
                    if limited {
                        self.reader.left_out(element, "limits of a fixed tendon are left out");
                    }
                }
                (other, _) => {
                    self.reader.left_out(element, format!("the {other} tendon is left out"))
                }
            }
        }
    }

    /// The joints of a fixed tendon.
    fn tendon(&mut self, element: &Element, name: &str) -> Option<Terms> {
        let root = self.root;
        let tendons = root.all("tendon").flat_map(|t| &t.children);
        let Some(tendon) =
            tendons.filter(|t| t.tag == "fixed").find(|t| t.own("name") == Some(name))
        else {
            self.reader.left_out(
                element,
                format!(
                    "<{}> on the tendon `{name}`, which is not a fixed one, is left out",
                    element.tag
                ),
            );
            return None;
        };
        let mut terms = Vec::new();
        for part in tendon.all("joint") {
            let factor = self.attributes().number(part, MAIN, "coef").unwrap_or(1.0);
            terms.push((self.joint_named(part, "joint")?, factor));
        }
        terms.retain(|t| t.1 != 0.0);
        if terms.is_empty() || terms.len() > 3 {
            self.reader.left_out(
                element,
                format!("the tendon `{name}` of {} joints is left out", terms.len()),
            );
            return None;
        }
        Some(terms)
    }

    /// Motors and servos.
    pub fn actuators(&mut self) {
        let root = self.root;
        let key = self.key.clone();
        let ctrl = key.as_ref().and_then(|key| self.attributes().numbers(key, MAIN, "ctrl"));
        let all: Vec<&Element> = root.all("actuator").flat_map(|a| &a.children).collect();
        let mut guessed = 0;
        for (i, element) in all.iter().enumerate() {
            if !ACTUATORS.contains(&element.tag.as_str()) {
                self.reader.left_out(element, format!("<{}> is left out", element.tag));
                continue;
            }
            let name =
                element.own("name").map_or_else(|| format!("actuator_{}", i + 1), String::from);
            let control = ctrl.as_ref().and_then(|c| c.get(i).copied());
            if control.is_none() && self.key.is_some() {
                guessed += 1;
            }
            let drive = self.actuator(element, control);
            if let Some((terms, drive)) = drive {
                self.machine.motors.push(Motor { name, terms, drive });
            }
        }
        if guessed > 0 {
            let message = format!(
                "the keyframe gives no ctrl for {guessed} actuators: position servos aim at its \
                    pose, the others at zero"
            );
            self.reader.notes.push(message);
        }
    }

    /// What an actuator acts on, and what it does.
    fn actuator(&mut self, element: &Element, control: Option<f64>) -> Option<(Terms, Drive)> {
        let class = element.own("class").unwrap_or(MAIN).to_string();
        let tag = element.tag.as_str();
        if !["general", "motor", "position", "velocity"].contains(&tag) {
            self.reader.left_out(element, format!("the {tag} actuator is left out"));
            return None;
        }
        let mut terms = if element.own("joint").is_some() {
            vec![(self.joint_named(element, "joint")?, 1.0)]
        } else if let Some(tendon) = element.own("tendon") {
            self.tendon(element, tendon)?
        } else {
            self.reader.left_out(
                element,
                format!("the {tag} actuator acts on neither joint nor tendon: left out"),
            );
            return None;
        };
        let mut a = self.attributes();
        let gear = a.number(element, &class, "gear").unwrap_or(1.0);
        if a.text(element, &class, "dyntype").is_some_and(|d| d != "none")
            || a.number(element, &class, "timeconst").is_some()
        {
            a.reader.left_out(
                element,
                "activation dynamics are left out: the actuator follows at once",
            );
        }
        let prm = |a: &mut super::read::Attributes<'_, '_, '_>, name: &str| {
            let list = a.numbers(element, &class, name).unwrap_or_default();
            [0, 1, 2].map(|i| list.get(i).copied().unwrap_or(0.0))
        };
        let (kp, kv, ratio) = (
            a.number(element, &class, "kp"),
            a.number(element, &class, "kv"),
            a.number(element, &class, "dampratio"),
        );
        let (gain, mut bias) = match tag {
            "motor" => (1.0, [0.0; 3]),
            "position" => (kp.unwrap_or(1.0), [0.0, -kp.unwrap_or(1.0), -kv.unwrap_or(0.0)]),
            "velocity" => (kv.unwrap_or(1.0), [0.0, 0.0, -kv.unwrap_or(1.0)]),
            _ => {
                let fixed = a.text(element, &class, "gaintype").is_none_or(|g| g == "fixed");
                let bias = a.text(element, &class, "biastype").unwrap_or_else(|| "none".into());
                if !fixed || !["none", "affine"].contains(&bias.as_str()) {
                    a.reader.left_out(
                        element,
                        "an actuator whose gain is not fixed or whose bias \
                        is not affine is left out",
                    );
                    return None;
                }
                let given = a
                    .numbers(element, &class, "gainprm")
                    .and_then(|g| g.first().copied())
                    .unwrap_or(1.0);
                (given, if bias == "affine" { prm(&mut a, "biasprm") } else { [0.0; 3] })
            }
        };
        let mut effort = None;
        if a.limited(element, &class, "forcelimited", "forcerange")
            && let Some(&[lo, hi]) = a.numbers(element, &class, "forcerange").as_deref()
        {
            if lo != -hi {
                a.reader.left_out(
                    element,
                    format!("forcerange {lo} … {hi} is taken as ±{}", hi.max(-lo)),
                );
            }
            effort = Some(hi.max(-lo));
        }
        let inherit = a.number(element, &class, "inheritrange").unwrap_or(0.0);
        let mut range =
            a.numbers(element, &class, "ctrlrange").filter(|r| r.len() == 2).map(|r| (r[0], r[1]));
        if !a.limited(element, &class, "ctrllimited", "ctrlrange") {
            range = None;
        }
        if inherit > 0.0
            && let Some((lo, hi)) = self.machine.joints[terms[0].0].limits
        {
            let (middle, half) = (0.5 * (lo + hi), 0.5 * (hi - lo) * inherit);
            range = Some((middle - half, middle + half));
        }
        terms.iter_mut().for_each(|t| t.1 *= gear);
        terms.retain(|t| t.1 != 0.0);
        if let Some(ratio) = ratio.filter(|r| *r > 0.0 && bias[1] < 0.0) {
            bias[2] = -2.0 * ratio * (-bias[1] * self.inertia_felt(&terms)).sqrt();
        }
        self.drive(element, terms, (gain, bias), (control, range, effort))
    }

    /// `gain · control + bias₀ + bias₁ L + bias₂ L̇` on the transmission L, as a motor.
    fn drive(
        &mut self,
        element: &Element,
        mut terms: Terms,
        (gain, bias): (f64, [f64; 3]),
        (control, range, effort): (Option<f64>, Option<(f64, f64)>, Option<f64>),
    ) -> Option<(Terms, Drive)> {
        let first = terms.first()?.1;
        let length: f64 = terms.iter().map(|&(j, c)| c * self.machine.joints[j].start).sum();
        if bias[1] > 0.0 || bias[2] > 0.0 {
            self.reader.left_out(
                element,
                "an actuator that drives its joint away from its target is left out",
            );
            return None;
        }
        let servo = bias[1] < 0.0;
        // Where nothing is said, a position servo holds what it finds.
        let holding = if servo && gain != 0.0 && self.key.is_some() {
            (-bias[1] * length - bias[0]) / gain
        } else {
            0.0
        };
        let control = control.unwrap_or(holding);
        let control = range.map_or(control, |(lo, hi)| control.clamp(lo.min(hi), hi.max(lo)));
        let push = gain * control + bias[0];
        // The first factor becomes one: forces then count on L/first.
        terms.iter_mut().for_each(|t| t.1 /= first);
        let effort = match (effort, self.machine.joints[terms[0].0].effort) {
            (Some(actuator), Some(joint)) => Some((actuator * first.abs()).min(joint)),
            (Some(actuator), None) => Some(actuator * first.abs()),
            (None, joint) => joint,
        };
        let drive = if servo {
            let (stiffness, damping) = (-bias[1] * first * first, -bias[2] * first * first);
            Drive::Servo { target: push / -bias[1] / first, stiffness, damping, effort }
        } else if bias[2] < 0.0 {
            Drive::Speed {
                target: push / -bias[2] / first,
                damping: -bias[2] * first * first,
                effort,
            }
        } else {
            Drive::Effort(effort.map_or(push * first, |most| (push * first).clamp(-most, most)))
        };
        Some((terms, drive))
    }

    /// The inertia that a transmission Σ factor · coordinate feels where the bodies are as written,
    /// `1/(t M⁻¹ tᵀ)`, rotors included.
    fn inertia_felt(&self, terms: &Terms) -> f64 {
        let dofs = self.dofs();
        let n = dofs.len();
        let mut matrix = vec![0.0; n * n];
        for (b, body) in self.tree.bodies.iter().enumerate() {
            let Some(weight) = body.weight else { continue };
            let turn: DMat3 = self.written[b].rotation();
            let inertia = turn * weight.inertia * turn.transpose();
            let center = self.written[b].point(weight.center);
            let moved: Vec<(usize, DVec3, DVec3)> = dofs
                .iter()
                .enumerate()
                .filter(|(_, dof)| self.above(dof.body, b))
                .map(|(i, dof)| (i, dof.turn, dof.shift + dof.turn.cross(center - dof.point)))
                .collect();
            for (i, turn, shift) in &moved {
                for (j, other_turn, other_shift) in &moved {
                    matrix[i * n + j] +=
                        turn.dot(inertia * *other_turn) + weight.mass * shift.dot(*other_shift);
                }
            }
        }
        let mut along = vec![0.0; n];
        for (i, dof) in dofs.iter().enumerate() {
            matrix[i * n + i] += dof.armature;
            let factor = |&(j, c): &(usize, f64)| {
                if self.machine.joints[j].name == dof.joint { c } else { 0.0 }
            };
            along[i] = terms.iter().map(factor).sum();
        }
        let felt: f64 =
            solved(n, matrix, along.clone()).iter().zip(&along).map(|(x, t)| x * t).sum();
        if felt > 0.0 { 1.0 / felt } else { 0.0 }
    }

    /// Whether a body of the file is another one or above it.
    fn above(&self, body: usize, other: usize) -> bool {
        let mut here = Some(other);
        while here.is_some_and(|h| h != body) {
            here = here.and_then(|h| self.tree.bodies[h].parent);
        }
        here.is_some()
    }

    /// What each joint lets its body do, in the world where the bodies are as written.
    fn dofs(&self) -> Vec<Dof> {
        let mut out = Vec::new();
        for (body, found) in self
            .tree
            .bodies
            .iter()
            .enumerate()
            .flat_map(|(b, body)| body.joints.iter().map(move |j| (b, j)))
        {
            let place = &self.written[body];
            let (point, axis) = (place.point(found.point), place.vector(found.axis));
            let mut add = |turn: DVec3, shift: DVec3| {
                out.push(Dof {
                    body,
                    joint: found.name.clone(),
                    turn,
                    shift,
                    point,
                    armature: found.armature,
                });
            };
            match found.kind {
                Kind::Hinge => add(axis, DVec3::ZERO),
                Kind::Slide => add(DVec3::ZERO, axis),
                Kind::Ball => DVec3::AXES.into_iter().for_each(|a| add(a, DVec3::ZERO)),
                Kind::Free => DVec3::AXES.into_iter().for_each(|a| {
                    add(a, DVec3::ZERO);
                    add(DVec3::ZERO, a);
                }),
            }
        }
        out
    }
}

/// A degree of freedom: how its body turns and shifts, about which point, with which rotor.
struct Dof {
    body: usize,
    joint: String,
    turn: DVec3,
    shift: DVec3,
    point: DVec3,
    armature: f64,
}

/// The solution of a symmetric positive definite system; zero along directions without inertia.
fn solved(n: usize, mut m: Vec<f64>, mut x: Vec<f64>) -> Vec<f64> {
    // LDLᵀ in place, row by row.
    for k in 0..n {
        if !(m[k * n + k] > 0.0) {
            continue;
        }
        for i in k + 1..n {
            let factor = m[i * n + k] / m[k * n + k];
            for j in k..n {
                m[i * n + j] -= factor * m[k * n + j];
            }
            x[i] -= factor * x[k];
        }
    }
    for k in (0..n).rev() {
        let rest: f64 = (k + 1..n).map(|j| m[k * n + j] * x[j]).sum();
        x[k] = if m[k * n + k] > 0.0 { (x[k] - rest) / m[k * n + k] } else { 0.0 };
    }
    x
}
