//! Numbers, vectors and frames of MJCF.

use super::xml::{Defaults, Element, MAIN, Reader};
use glam::{DMat3, DQuat, DVec3};
use signorini_solve::math::pose::Pose;

/// What the compiler element says.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// Angles are degrees.
    pub degrees: bool,
    /// The order of Euler angles.
    pub euler: String,
    /// A range means a limit.
    pub autolimits: bool,
    /// Folder of meshes.
    pub meshdir: String,
    /// Only the last part of a file's path counts.
    pub strippath: bool,
    /// Inertia from geoms: always, never, or where none is given.
    pub from_geom: Option<bool>,
    /// Least and greatest group of geoms that have a mass.
    pub groups: (f64, f64),
    /// Least mass and least inertia of moving bodies.
    pub bounds: (f64, f64),
    /// Inertias that no body has are replaced.
    pub balance: bool,
    /// The mass of everything, if positive.
    pub total: f64,
}

impl Default for Compiler {
    fn default() -> Compiler {
        Compiler {
            degrees: true,
            euler: "xyz".into(),
            autolimits: true,
            meshdir: String::new(),
            strippath: false,
            from_geom: None,
            groups: (0.0, 5.0),
            bounds: (0.0, 0.0),
            balance: false,
            total: -1.0,
        }
    }
}

/// Reads attributes with their defaults.
pub struct Attributes<'a, 'r, 'l> {
    /// Classes of defaults.
    pub defaults: &'a Defaults,
    /// What the compiler element says.
    pub compiler: &'a Compiler,
    /// Notes faults.
    pub reader: &'r mut Reader<'l>,
}

impl Attributes<'_, '_, '_> {
    /// A text.
    pub fn text(&self, element: &Element, class: &str, name: &str) -> Option<String> {
        self.defaults.get(element, class, name).map(String::from)
    }

    /// A list of numbers; what is no number is a fault.
    pub fn numbers(&mut self, element: &Element, class: &str, name: &str) -> Option<Vec<f64>> {
        let text = self.defaults.get(element, class, name)?;
        let words: Vec<&str> = text.split_whitespace().collect();
        let numbers: Vec<f64> =
            words.iter().filter_map(|w| w.parse().ok()).filter(|x: &f64| !x.is_nan()).collect();
        if numbers.len() != words.len() {
            let message = format!("{name} is \"{text}\"");
            self.reader.fault(element, message, "wanted numbers");
            return None;
        }
        Some(numbers)
    }

    /// A number, if it is there.
    pub fn number(&mut self, element: &Element, class: &str, name: &str) -> Option<f64> {
        self.numbers(element, class, name).and_then(|n| n.first().copied())
    }

    /// A vector of three, if it is there.
    pub fn vector(&mut self, element: &Element, class: &str, name: &str) -> Option<DVec3> {
        let numbers = self.numbers(element, class, name)?;
        if numbers.len() != 3 || numbers.iter().any(|x| !x.is_finite()) {
            self.reader.fault(
                element,
                format!("{name} has {} numbers", numbers.len()),
                "wanted three finite ones",
            );
            return None;
        }
        Some(DVec3::from_slice(&numbers))
    }

    /// An angle in radians.
    pub fn angle(&self, value: f64) -> f64 {
        if self.compiler.degrees { value.to_radians() } else { value }
    }

    /// Whether something is limited: by its flag, or by its range where flags are automatic.
    pub fn limited(&self, element: &Element, class: &str, flag: &str, range: &str) -> bool {
        match self.defaults.get(element, class, flag) {
            Some("true") => true,
            Some("false") => false,
            _ => self.compiler.autolimits && self.defaults.get(element, class, range).is_some(),
        }
    }

    /// Position and orientation.
    pub fn pose(&mut self, element: &Element, class: &str) -> Pose {
        let position = self.vector(element, class, "pos").unwrap_or(DVec3::ZERO);
        Pose::new(position, self.orientation(element, class))
    }

    /// The orientation, however it is written.
    pub fn orientation(&mut self, element: &Element, class: &str) -> DQuat {
        let wrong = |reader: &mut Reader<'_>, name: &str, wanted: &str| {
            reader.fault(element, format!("{name} is no orientation"), format!("wanted {wanted}"));
            DQuat::IDENTITY
        };
        if let Some(x) = self.numbers(element, class, "axisangle") {
            let axis = if x.len() == 4 { DVec3::from_slice(&x) } else { DVec3::ZERO };
            if !(axis.length() > 0.0) {
                return wrong(self.reader, "axisangle", "an axis and an angle");
            }
            return DQuat::from_axis_angle(axis.normalize(), self.angle(x[3]));
        }
        if let Some(x) = self.numbers(element, class, "euler") {
            if x.len() != 3 {
                return wrong(self.reader, "euler", "three angles");
            }
            return self.euler(&x);
        }
        if let Some(x) = self.numbers(element, class, "xyaxes") {
            if x.len() == 6 {
                let first = DVec3::from_slice(&x).normalize_or_zero();
                let second = DVec3::from_slice(&x[3..]);
                let second = (second - first * first.dot(second)).normalize_or_zero();
                if first != DVec3::ZERO && second != DVec3::ZERO {
                    return DQuat::from_mat3(&DMat3::from_cols(first, second, first.cross(second)))
                        .normalize();
                }
            }
            return wrong(self.reader, "xyaxes", "two axes that are not parallel");
        }
        if let Some(z) = self.vector(element, class, "zaxis") {
            return if z.length() > 0.0 {
                towards(z)
            } else {
                wrong(self.reader, "zaxis", "an axis")
            };
        }
        if let Some(x) = self.numbers(element, class, "quat") {
            let q = if x.len() == 4 {
                DQuat::from_xyzw(x[1], x[2], x[3], x[0])
            } else {
                DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0)
            };
            return if q.length() > 0.0 {
                q.normalize()
            } else {
                wrong(self.reader, "quat", "four numbers, not all zero")
            };
        }
        DQuat::IDENTITY
    }

    fn euler(&self, angles: &[f64]) -> DQuat {
        let mut turn = DQuat::IDENTITY;
        for (letter, angle) in self.compiler.euler.chars().zip(angles) {
            let axis = match letter.to_ascii_lowercase() {
                'x' => DVec3::X,
                'y' => DVec3::Y,
                _ => DVec3::Z,
            };
            let part = DQuat::from_axis_angle(axis, self.angle(*angle));
            // Small letters: axes that move with the body; capitals: axes of the parent.
            turn = if letter.is_ascii_lowercase() { turn * part } else { part * turn };
        }
        turn.normalize()
    }
}

/// The shortest turn of z to a direction.
pub fn towards(z: DVec3) -> DQuat {
    DQuat::from_rotation_arc(DVec3::Z, z.normalize())
}

/// Reads the compiler elements, the last one wins.
pub fn compiler(root: &Element, reader: &mut Reader<'_>) -> Compiler {
    let mut out = Compiler::default();
    let defaults = Defaults::default();
    for element in root.all("compiler") {
        let yes =
            |name: &str, otherwise: bool| element.own(name).map_or(otherwise, |v| v == "true");
        out.degrees = element.own("angle").map_or(out.degrees, |a| a != "radian");
        out.euler = element.own("eulerseq").map_or(out.euler.clone(), String::from);
        out.autolimits = yes("autolimits", out.autolimits);
        out.meshdir = element
            .own("meshdir")
            .or(element.own("assetdir"))
            .map_or(out.meshdir.clone(), String::from);
        out.strippath = yes("strippath", out.strippath);
        out.balance = yes("balanceinertia", out.balance);
        out.from_geom = match element.own("inertiafromgeom") {
            Some("true") => Some(true),
            Some("false") => Some(false),
            Some(_) => None,
            None => out.from_geom,
        };
        let kept = out.clone();
        let mut attributes =
            Attributes { defaults: &defaults, compiler: &kept, reader: &mut *reader };
        if let Some(&[lo, hi]) = attributes.numbers(element, MAIN, "inertiagrouprange").as_deref() {
            out.groups = (lo, hi);
        }
        out.bounds.0 = attributes.number(element, MAIN, "boundmass").unwrap_or(out.bounds.0);
        out.bounds.1 = attributes.number(element, MAIN, "boundinertia").unwrap_or(out.bounds.1);
        out.total = attributes.number(element, MAIN, "settotalmass").unwrap_or(out.total);
        if element.own("coordinate") == Some("global") {
            reader.fault(element, "coordinate is \"global\"", "wanted local coordinates");
        }
        if out.euler.len() != 3 || out.euler.chars().any(|c| !"xyzXYZ".contains(c)) {
            let message = format!("eulerseq is \"{}\"", out.euler);
            reader.fault(element, message, "wanted three letters such as \"xyz\"");
            out.euler = "xyz".into();
        }
    }
    out
}
