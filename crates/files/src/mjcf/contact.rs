//! Shapes of the machine with their materials and groups, and pairs of bodies that never touch.

use super::Maker;
use super::model::Body;
use crate::robot::{self, Solid};

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
        let mut materials: Vec<(f64, i64)> =
            all().filter(|g| touching(g.bits)).map(|g| (g.mu, g.priority)).collect();
        materials.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        materials.dedup();
        let named = |(mu, priority): (f64, i64)| {
            if priority == 0 { format!("mu {mu}") } else { format!("mu {mu} priority {priority}") }
        };
        self.machine.materials = materials.iter().map(|m| (named(*m), m.0)).collect();
        // Where priorities differ, one side decides.
        for (i, a) in materials.iter().enumerate() {
            for b in materials[..i].iter().filter(|b| b.1 != a.1) {
                let mu = if a.1 > b.1 { a.0 } else { b.0 };
                self.machine.surfaces.push((named(*b), named(*a), mu));
            }
        }
        for (body, home) in bodies.iter().zip(&self.homes) {
            for geom in body.geoms.iter().filter(|g| touching(g.bits)) {
                let touches =
                    kinds.iter().filter(|k| meet(geom.bits, **k)).map(|k| group(*k)).collect();
                let touches =
                    (!(plain && geom.bits == (1, 1))).then(|| (group(geom.bits), touches));
                let material = Some(named((geom.mu, geom.priority)));
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
