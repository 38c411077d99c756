//! What surfaces are made of, how two of them touch, and which bodies never do.

use super::Builder;
use crate::scenefile::format::{self, File};
use crate::scenefile::value::{At, Name};
use signorini_mechanics::geometry::World;
use signorini_mechanics::scene::{
    BodyId, Material, MaterialId, Rule, Rules, Scene, Surface, SurfaceMaterial,
};
use signorini_solve::math::pose::Pose;
use std::collections::BTreeMap;

impl Builder<'_, '_> {
    pub(super) fn materials(&mut self, file: &File) {
        for (name, At { value, at }) in &file.0.materials {
            let place = Name { value: name.clone(), at: at.clone() };
            if !self.define("material", &place) {
                continue;
            }
            let default = Material::default();
            let or = |x: Option<f64>, y: f64| x.unwrap_or(y);
            self.scene.add_material(Material {
                name: name.clone(),
                mu: or(value.mu.map(|x| x.si), default.mu),
                restitution: or(value.restitution.map(|x| x.si), default.restitution),
                compliance: or(value.compliance.map(|x| x.si), default.compliance),
                damping: or(value.damping.map(|x| x.si), default.damping),
                torsion: or(value.torsion.map(|x| x.si), default.torsion),
                rolling: or(value.rolling.map(|x| x.si), default.rolling),
            });
            if let Some(density) = value.density {
                self.densities.insert(name.clone(), density.si);
            }
        }
        let Some(contact) = &file.0.contact else { return };
        let rule = |rule: Option<format::Rule>, default: Rule| match rule {
            None => default,
            Some(format::Rule::Average) => Rule::Average,
            Some(format::Rule::Minimum) => Rule::Minimum,
            Some(format::Rule::Maximum) => Rule::Maximum,
            Some(format::Rule::Product) => Rule::Product,
            Some(format::Rule::GeometricMean) => Rule::GeometricMean,
        };
        self.scene.rules = Rules {
            mu: rule(contact.mu, Rules::default().mu),
            restitution: rule(contact.restitution, Rules::default().restitution),
        };
        if let Some(name) = &contact.material {
            self.plain = self.material(name).map_or(self.plain, SurfaceMaterial::from);
        }
    }

    pub(super) fn material(&mut self, name: &Name) -> Option<MaterialId> {
        let found = self.scene.material_named(&name.value);
        if found.is_none() {
            self.unknown("material", name, |scene| {
                scene.materials.iter().map(|m| m.name.as_str()).collect()
            });
        }
        found
    }

    /// The surface of a named material, or the plain one.
    pub fn surface_material(&mut self, material: &Option<Name>) -> Option<SurfaceMaterial> {
        match material {
            Some(name) => self.material(name).map(SurfaceMaterial::from),
            None => Some(self.plain),
        }
    }

    pub(super) fn surface(&mut self, surface: &format::Surface) {
        let (a, b) = (self.material(&surface.between[0]), self.material(&surface.between[1]));
        let (Some(a), Some(b)) = (a, b) else { return };
        let ruled = self.scene.surface(a, b);
        let given = Surface {
            mu: surface.mu.map_or(ruled.mu, |x| x.si),
            restitution: surface.restitution.map_or(ruled.restitution, |x| x.si),
            compliance: surface.compliance.map_or(ruled.compliance, |x| x.si),
            damping: surface.damping.map_or(ruled.damping, |x| x.si),
            torsion: surface.torsion.map_or(ruled.torsion, |x| x.si),
            rolling: surface.rolling.map_or(ruled.rolling, |x| x.si),
        };
        let Surface { mu, restitution, compliance, damping, torsion, rolling } = given;
        let least = [mu, compliance, damping, torsion, rolling].into_iter().fold(0.0, f64::min);
        if !((0.0..=1.0).contains(&restitution) && least >= 0.0) {
            let message = format!(
                "found mu = {mu}, restitution = {restitution}, compliance = {compliance}, \
                 damping = {damping}, torsion = {torsion} m, rolling = {rolling} m"
            );
            self.reader.fault(
                &surface.between[0].at,
                message,
                "wanted a restitution of 0 to 1 and nothing below 0",
            );
            return;
        }
        self.scene.surfaces.push(((a, b), given));
    }

    pub(super) fn excluded(&mut self, file: &File) {
        for pair in file.0.contact.iter().flat_map(|c| &c.exclude) {
            let (a, b) = (self.body_named(&pair[0]), self.body_named(&pair[1]));
            if let (Some(a), Some(b)) = (a, b) {
                self.scene.excluded.push((a, b));
            }
        }
    }

    /// Bodies that never touch each other.
    pub(super) fn exclude(&mut self, table: &format::Exclude) {
        let bodies: Option<Vec<BodyId>> =
            table.bodies.iter().map(|name| self.body_named(name)).collect();
        let Some(bodies) = bodies else { return };
        if table.overlapping != Some(true) {
            for (i, &a) in bodies.iter().enumerate() {
                self.scene.excluded.extend(bodies[..i].iter().map(|&b| (b, a)));
            }
            return;
        }
        let pairs = overlapping(&self.scene, &bodies);
        let name = |body: BodyId| self.scene.bodies[body.index()].name.as_str();
        for &(a, b, depth) in &pairs {
            let note = format!(
                "`{}` and `{}` overlap by {:.2} mm at the beginning: they never touch",
                name(a),
                name(b),
                1e3 * depth
            );
            self.notes.push(note);
        }
        self.scene.excluded.extend(pairs.into_iter().map(|(a, b, _)| (a, b)));
    }
}

/// Pairs of these bodies that overlap at the beginning, and how deep.
fn overlapping(scene: &Scene, bodies: &[BodyId]) -> Vec<(BodyId, BodyId, f64)> {
    let mut colliders = scene.colliders.clone();
    colliders.retain(|c| bodies.iter().any(|b| b.0 == c.body));
    let Ok(mut world) = World::new(&colliders) else { return Vec::new() };
    let joined = scene.joints.iter().filter(|j| !j.collide).map(|j| (j.a, j.b));
    world.exclude(joined.chain(scene.excluded.iter().copied()).map(|(a, b)| (a.0, b.0)));
    let poses: Vec<Pose> = scene.bodies.iter().map(|b| b.pose).collect();
    let mut contacts = Vec::new();
    world.collide(&poses, 0.0, &mut contacts);
    let mut pairs: BTreeMap<(u32, u32), f64> = BTreeMap::new();
    for contact in contacts.iter().filter(|c| c.gap < 0.0) {
        let (a, b) = (
            colliders[contact.colliders.0 as usize].body,
            colliders[contact.colliders.1 as usize].body,
        );
        let depth = pairs.entry((a.min(b), a.max(b))).or_insert(0.0);
        *depth = depth.max(-contact.gap);
    }
    pairs.into_iter().map(|((a, b), depth)| (BodyId(a), BodyId(b), depth)).collect()
}
