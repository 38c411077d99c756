//! Shapes of the machine with their materials and groups, and pairs of bodies that never touch.

use super::Maker;
use crate::robot;

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
        let mut seen = vec![false; self.machine.bodies.len()];
        for (body, home) in bodies.iter().zip(&self.homes) {
            seen[home.body] |= body.geoms.iter().any(|g| touching(g.bits));
        }
        for (body, home) in bodies.iter().zip(&self.homes) {
            // What is only seen is drawn for its looks; the rest may have none.
            let seen_first = body.geoms.iter().filter(|g| !touching(g.bits)).chain(&body.geoms);
            let color = seen_first.filter_map(|g| g.color).next();
            let own = &mut self.machine.bodies[home.body].color;
            *own = own.or(color);
            for geom in body.geoms.iter().filter(|g| touching(g.bits) || !seen[home.body]) {
                let touches =
                    kinds.iter().filter(|k| meet(geom.bits, **k)).map(|k| group(*k)).collect();
                let touches =
                    (!(plain && geom.bits == (1, 1))).then(|| (group(geom.bits), touches));
                let material = touching(geom.bits).then(|| named((geom.mu, geom.priority)));
                let shape = robot::Shape {
                    pose: home.pose * geom.pose,
                    solid: geom.solid.clone(),
                    material,
                    touches,
                };
                self.machine.bodies[home.body].shapes.push(shape);
            }
        }
        self.tree.bodies = bodies;
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
