//! Shapes of the machine with their materials and groups, and pairs of bodies that never touch.

use super::Maker;
use super::model::{Body, Grip};
use crate::robot::{self, Friction, Solid};
use std::cmp::Ordering;
use std::fmt::Write;

/// Sliding, torsional and rolling friction of a geom that does not name them.
pub(super) const DEFAULT_FRICTION: [f64; 3] = [1.0, 0.005, 0.0001];

impl Grip {
    /// What it gives to its contact with its like.
    fn own(&self) -> Friction {
        self.with(self)
    }

    /// Of two geoms that of the higher priority counts; of the same priority the greater of each
    /// number, condim too. What condim leaves out is zero.
    fn with(&self, other: &Grip) -> Friction {
        let of = |grip: &Grip| (grip.condim, grip.friction);
        let (condim, [mu, torsion, rolling]) = match self.priority.cmp(&other.priority) {
            Ordering::Greater => of(self),
            Ordering::Less => of(other),
            Ordering::Equal => {
                let greater = |i: usize| self.friction[i].max(other.friction[i]);
                (self.condim.max(other.condim), std::array::from_fn(greater))
            }
        };
        let from = |needed: u8, x: f64| if condim >= needed { x } else { 0.0 };
        Friction { mu: from(3, mu), torsion: from(4, torsion), rolling: from(6, rolling) }
    }

    /// A name for its material.
    fn name(&self) -> String {
        let Friction { mu, torsion, rolling } = self.own();
        let mut out = format!("mu {mu}");
        let priority = self.priority as f64;
        for (what, x) in [("torsion", torsion), ("rolling", rolling), ("priority", priority)] {
            if x != 0.0 {
                let _ = write!(out, " {what} {x}");
            }
        }
        out
    }
}

impl Maker<'_, '_, '_> {
    /// Shapes with their materials and groups.
    pub(super) fn shapes(&mut self) {
        let bodies = std::mem::take(&mut self.tree.bodies);
        let all = || bodies.iter().flat_map(|b| &b.geoms);
        let meet = |a: (u32, u32), b: (u32, u32)| a.0 & b.1 != 0 || b.0 & a.1 != 0;
        let mut kinds: Vec<(u32, u32)> = all().map(|g| g.bits).chain([(1, 1)]).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let touching = |bits: (u32, u32)| kinds.iter().any(|other| meet(bits, *other));
        let group = |bits: (u32, u32)| {
            if bits == (1, 1) {
                "default".to_string()
            } else {
                format!("type {} for {}", bits.0, bits.1)
            }
        };
        let plain = kinds.iter().all(|k| *k == (1, 1) || !touching(*k));
        if kinds.iter().filter(|k| touching(**k)).count() > 31 {
            self.reader.fault(
                self.root,
                "more than 31 different pairs of contype and conaffinity",
                "wanted fewer",
            );
        }
        let mut grips: Vec<Grip> = all().filter(|g| touching(g.bits)).map(|g| g.grip).collect();
        grips.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
        grips.dedup();
        // Those that no contact tells apart are one material.
        let alike = |a: &Grip, b: &Grip| {
            a.own() == b.own() && grips.iter().all(|other| a.with(other) == b.with(other))
        };
        let kind = |grip: &Grip| grips.iter().position(|first| alike(first, grip)).unwrap_or(0);
        let materials: Vec<usize> = (0..grips.len()).filter(|i| kind(&grips[*i]) == *i).collect();
        let mut names: Vec<String> = Vec::new();
        for &i in &materials {
            let name = grips[i].name();
            let same = names.iter().filter(|n| n.split(" (").next() == Some(&name)).count();
            names.push(if same > 0 { format!("{name} ({})", same + 1) } else { name.clone() });
            self.machine.materials.push((names[names.len() - 1].clone(), grips[i].own()));
        }
        let name = |grip: &Grip| {
            let of = kind(grip);
            materials.iter().position(|i| *i == of).map(|at| names[at].clone())
        };
        // Where the rule, the greater of both, does not hold.
        for (at, &i) in materials.iter().enumerate() {
            for (before, &j) in materials[..at].iter().enumerate() {
                let (a, b) = (&grips[i], &grips[j]);
                if a.with(b) != a.own().greater(&b.own()) {
                    let pair = (names[before].clone(), names[at].clone());
                    self.machine.surfaces.push((pair.0, pair.1, a.with(b)));
                }
            }
        }
        for (body, home) in bodies.iter().zip(&self.homes) {
            for geom in body.geoms.iter().filter(|g| touching(g.bits)) {
                let touches =
                    kinds.iter().filter(|k| meet(geom.bits, **k)).map(|k| group(*k)).collect();
                let touches =
                    (!(plain && geom.bits == (1, 1))).then(|| (group(geom.bits), touches));
                let material = name(&geom.grip);
                let shape = robot::Shape {
                    pose: home.pose * geom.pose,
                    solid: geom.solid.clone(),
                    material,
                    touches,
                };
                self.machine.bodies[home.body].shapes.push(shape);
            }
        }
        self.visuals(&bodies);
        self.tree.bodies = bodies;
    }

    /// What bodies are drawn by: their geoms of the groups that MuJoCo shows, unless these are just
    /// those that touch, in one colour.
    fn visuals(&mut self, bodies: &[Body]) {
        for home in 0..self.machine.bodies.len() {
            let of_body = || bodies.iter().zip(&self.homes).filter(|(_, at)| at.body == home);
            let geoms = || of_body().flat_map(|(body, at)| body.geoms.iter().map(|g| (g, at.pose)));
            let shown = || geoms().filter(|(g, _)| g.shown);
            let color = shown().find_map(|(g, _)| g.color);
            let own = &mut self.machine.bodies[home];
            own.color = color.or_else(|| geoms().find_map(|(g, _)| g.color));
            let one_color = shown().all(|(g, _)| g.color == color);
            let convex = |solid: &Solid| !matches!(solid, Solid::Mesh { .. });
            let touched = shown().count() == own.shapes.len()
                && shown().zip(&own.shapes).all(|((g, at), shape)| {
                    shape.pose == at * g.pose && shape.solid == g.solid && convex(&g.solid)
                });
            if one_color && touched {
                continue;
            }
            own.visuals = shown()
                .map(|(g, at)| {
                    let solid = match &g.solid {
                        Solid::Mesh { file, scale, .. } => {
                            Solid::Mesh { file: file.clone(), scale: *scale, hull: false }
                        }
                        solid => solid.clone(),
                    };
                    let color = g.color.filter(|_| !one_color);
                    robot::Visual { pose: at * g.pose, solid, color }
                })
                .collect();
        }
    }

    pub(super) fn excluded(&mut self) {
        let root = self.root;
        for contact in root.all("contact") {
            for child in &contact.children {
                if child.tag != "exclude" {
                    self.reader.left_out(child, format!("<{}> of geoms is left out", child.tag));
                    continue;
                }
                let ends = (self.body_named(child, "body1"), self.body_named(child, "body2"));
                let (Some(a), Some(b)) = ends else { continue };
                let (a, b) = (self.homes[a].body, self.homes[b].body);
                if a != b {
                    self.machine.excluded.push((a, b));
                }
            }
        }
    }
}
