//! Bodies of a scene, from their tables: shapes, groups, mass, imposed motion.

use super::Builder;
use crate::scenefile::format;
use crate::scenefile::node::Span;
use crate::scenefile::value::{Length, Name, Timed, Vector, vector};
use glam::{DMat3, DVec3};
use signorini_mechanics::geometry::{Groups, Shape, Volume, mass};
use signorini_mechanics::scene::{Body, Kind, Mass, Motion, SurfaceMaterial};
use signorini_solve::math::pose::Pose;

impl Builder<'_, '_> {
    pub(super) fn body(&mut self, moved: &Pose, table: &format::Body) {
        let fresh = self.define("body", &table.name);
        let shapes = self.shapes(table);
        let rotation = self.rotation(table.rotation.as_deref());
        let (Some(shapes), Some(rotation), true) = (shapes, rotation, fresh) else { return };
        let pose =
            *moved * Pose::new(table.position.as_ref().map_or(DVec3::ZERO, vector), rotation);
        let fixed = table.fixed == Some(true);
        if fixed && table.motion.is_some() {
            self.reader.fault(
                &table.name.at,
                "found `fixed` and `motion` together",
                "wanted one of them",
            );
            return;
        }
        let (kind, center) = match &table.motion {
            Some(motion) => (Kind::Imposed(Box::new(imposed(moved, &pose, motion))), DVec3::ZERO),
            None if fixed => (Kind::Fixed, DVec3::ZERO),
            None => match self.mass(table, &shapes) {
                Some((mass, center)) => (Kind::Rigid(mass), center),
                None => return,
            },
        };
        let turn = |v: &Option<Vector<_>>| moved.vector(v.as_ref().map_or(DVec3::ZERO, vector));
        let spin = moved.vector(table.angular_velocity.as_ref().map_or(DVec3::ZERO, vector));
        let body = Body { kind, origin: -center, ..Body::fixed(table.name.value.clone()) };
        let id = self.scene.add_body(body.placed(pose).moving(turn(&table.velocity), spin));
        let color = self.color(&table.color);
        self.scene.colors.extend(color.map(|color| (id, color)));
        self.visuals(table, id, center);
        let Some(groups) = self.body_groups(table) else { return };
        for part in shapes {
            let in_body = Pose::new(part.pose.position - center, part.pose.orientation);
            let collider = self.scene.add_collider(id, part.shape, in_body, part.surface);
            self.scene.colliders[collider.index()].groups =
                match self.groups_of(&part.group, &part.touches, groups) {
                    Some(groups) => groups,
                    None => return,
                };
            self.scene.colliders[collider.index()].margin = part.margin;
        }
    }

    fn body_groups(&mut self, table: &format::Body) -> Option<Groups> {
        self.groups_of(&table.group, &table.touches, Groups { membership: 1, filter: u32::MAX })
    }

    fn groups_of(
        &mut self,
        group: &Option<Name>,
        touches: &Option<Vec<Name>>,
        otherwise: Groups,
    ) -> Option<Groups> {
        let membership = match group {
            Some(name) => self.group(name)?,
            None => otherwise.membership,
        };
        let filter = match touches {
            Some(names) => names
                .iter()
                .map(|n| self.group(n))
                .collect::<Option<Vec<u32>>>()?
                .into_iter()
                .fold(0, |a, b| a | b),
            None => otherwise.filter,
        };
        Some(Groups { membership, filter })
    }

    fn group(&mut self, name: &Name) -> Option<u32> {
        let at = match self.groups.iter().position(|g| *g == name.value) {
            Some(at) => at,
            // Every body of a large scene may name another one: enough has been said.
            None if self.groups.len() >= 64 => return None,
            None => {
                self.groups.push(name.value.clone());
                self.groups.len() - 1
            }
        };
        if at >= 32 {
            self.reader.fault(
                &name.at,
                format!("`{}` is group number {}", name.value, at + 1),
                "wanted at most 32 groups",
            );
            return None;
        }
        Some(1 << at)
    }

    fn shapes(&mut self, table: &format::Body) -> Option<Vec<Part>> {
        let base = self.surface_material(&table.material)?;
        let mut parts = Vec::new();
        let mut fine = true;
        for shape in &table.shape.0 {
            for (fields, edges) in &shape.copies {
                match self.part(table, base, &shape.at, (fields, edges)) {
                    Some(part) => parts.push(part),
                    None => fine = false,
                }
            }
        }
        fine.then_some(parts)
    }

    /// A shape of a body with what it is made of.
    fn part(
        &mut self,
        body: &format::Body,
        base: SurfaceMaterial,
        at: &Span,
        (fields, edges): (&format::ShapeFields, &Option<Vector<Length>>),
    ) -> Option<Part> {
        let shape =
            match fields.mesh.as_ref().and_then(|mesh| mesh.file.as_ref().map(|file| (mesh, file)))
            {
                Some((mesh, file)) => self.mesh_file(mesh, file)?,
                None => shape(fields, edges)?,
            };
        if let Err(why) = shape.check() {
            self.reader.fault(at, why.to_string(), "");
            return None;
        }
        let mut surface = match &fields.material {
            Some(name) => SurfaceMaterial::from(self.material(name)?),
            None => base,
        };
        surface.belt = fields.belt.as_ref().map_or(DVec3::ZERO, vector);
        let density = |name: &String| self.densities.get(name).copied();
        let density = fields
            .density
            .or(body.density)
            .map(|d| d.si)
            .or_else(|| density(&self.scene.materials[surface.material.index()].name));
        let pose = Pose::new(
            fields.position.as_ref().map_or(DVec3::ZERO, vector),
            self.rotation(fields.rotation.as_ref())?,
        );
        let (group, touches) = (fields.group.clone(), fields.touches.clone());
        Some(Part {
            shape,
            pose,
            surface,
            density,
            margin: fields.margin.map_or(0.0, |m| m.si),
            group,
            touches,
        })
    }

    /// A mesh from a file beside the scene file.
    fn mesh_file(&mut self, mesh: &format::Mesh, file: &Name) -> Option<Shape> {
        if !mesh.vertices.is_empty() || !mesh.triangles.is_empty() {
            self.reader.fault(
                &file.at,
                "found `file` together with `vertices` or `triangles`",
                "wanted one of them",
            );
            return None;
        }
        match crate::surface::read(&self.beside(file)) {
            Ok(mut found) => {
                found.stretch(mesh.scale.as_ref().map_or(DVec3::ONE, vector));
                if mesh.hull == Some(true) {
                    let hull = Shape::Hull { points: found.extremes() };
                    // A flat mesh has no hull with a volume.
                    if hull.check().is_ok() {
                        return Some(hull);
                    }
                }
                Some(Shape::Mesh { vertices: found.vertices, triangles: found.triangles })
            }
            Err(why) => {
                self.reader.fault(
                    &file.at,
                    format!("the mesh `{}` {why}", file.value),
                    "wanted an .stl, .obj, .dae, .glb or .gltf file beside the scene file",
                );
                None
            }
        }
    }

    /// The path of a file that is named in a scene file: from the folder of that file.
    pub(super) fn beside(&self, file: &Name) -> std::path::PathBuf {
        let home = self.reader.sources.0.get(file.at.file).map_or("", |s| s.name.as_str());
        let folder = std::path::Path::new(home).parent().unwrap_or(std::path::Path::new(""));
        folder.join(&file.value)
    }

    /// Mass, inertia and centre of a rigid body.
    fn mass(&mut self, table: &format::Body, parts: &[Part]) -> Option<(Mass, DVec3)> {
        let at = &table.name.at;
        if table.mass.is_some() && table.density.is_some() {
            self.reader.fault(at, "found `mass` and `density` together", "wanted one of them");
            return None;
        }
        if let (Some(mass), Some(inertia)) = (table.mass, table.inertia.as_deref()) {
            let inertia = DMat3::from_cols_array_2d(&inertia.0);
            return Some((
                Mass { mass: mass.si, inertia },
                table.center.as_ref().map_or(DVec3::ZERO, vector),
            ));
        }
        if table.center.is_some() || table.inertia.is_some() || parts.is_empty() {
            let message =
                format!("the body `{}` has no inertia that could be found", table.name.value);
            self.reader.fault(
                at,
                message,
                "wanted a shape with `mass` or `density`, or `mass` and \
                `inertia`, or `fixed = true`",
            );
            return None;
        }
        let mut volumes = Vec::new();
        for part in parts {
            // With a mass given, shapes without a density weigh according to their volume.
            let Some(density) = part.density.or(table.mass.map(|_| 1.0)) else {
                let message = format!("the body `{}` has no mass", table.name.value);
                self.reader.fault(
                    at,
                    message,
                    "wanted `mass`, `density`, a material with a density, or `fixed = true`",
                );
                return None;
            };
            match Volume::of(&part.shape) {
                Ok(volume) => {
                    let volume = volume.moved(&part.pose);
                    volumes.push(Volume {
                        volume: density * volume.volume,
                        inertia: volume.inertia * density,
                        ..volume
                    });
                }
                Err(why) => {
                    self.reader.fault(
                        at,
                        format!("the body `{}`: {why}", table.name.value),
                        "wanted `fixed = true`, or `mass` and `inertia`",
                    );
                    return None;
                }
            }
        }
        let sum = mass::sum(&volumes);
        let scale = table.mass.map_or(1.0, |m| m.si / sum.volume);
        Some((Mass { mass: scale * sum.volume, inertia: sum.inertia * scale }, sum.center))
    }
}

/// A shape of a body, ready.
struct Part {
    shape: Shape,
    pose: Pose,
    surface: SurfaceMaterial,
    density: Option<f64>,
    margin: f64,
    group: Option<Name>,
    touches: Option<Vec<Name>>,
}

/// A shape from its fields, but for meshes in files.
pub(super) fn shape(fields: &format::ShapeFields, edges: &Option<Vector<Length>>) -> Option<Shape> {
    let points = |list: &[Vector<Length>]| list.iter().map(vector).collect::<Vec<_>>();
    let half = |round: &format::Round| (round.radius.si, 0.5 * round.length.si);
    if let Some(edges) = edges {
        return Some(Shape::Box { half_extents: 0.5 * vector(edges) });
    }
    if let Some(radius) = fields.sphere {
        return Some(Shape::Sphere { radius: radius.si });
    }
    if let Some((radius, half_length)) = fields.capsule.as_ref().map(half) {
        return Some(Shape::Capsule { radius, half_length });
    }
    if let Some((radius, half_length)) = fields.cylinder.as_ref().map(half) {
        return Some(Shape::Cylinder { radius, half_length });
    }
    if let Some((radius, half_length)) = fields.cone.as_ref().map(half) {
        return Some(Shape::Cone { radius, half_length });
    }
    if let Some(hull) = &fields.hull {
        return Some(Shape::Hull { points: points(hull) });
    }
    if let Some(mesh) = &fields.mesh {
        let triangles = mesh.triangles.iter().map(|t| t.map(|c| c.0 as u32)).collect();
        return Some(Shape::Mesh { vertices: points(&mesh.vertices), triangles });
    }
    if let Some(field) = &fields.height_field {
        let heights = field.heights.iter().map(|h| h.si).collect();
        return Some(Shape::HeightField {
            counts: field.counts.map(|c| c.0),
            spacing: field.spacing.map(|s| s.si),
            heights,
        });
    }
    fields.half_space.map(|_| Shape::HalfSpace)
}

fn imposed(moved: &Pose, pose: &Pose, table: &format::Motion) -> Motion {
    let function =
        |f: &Option<Timed<Length>>| f.as_ref().map(|f| f.function.clone()).unwrap_or_default();
    Motion {
        translation: [function(&table.x), function(&table.y), function(&table.z)],
        axis: moved.vector(table.axis.as_ref().map_or(DVec3::Z, vector)).normalize_or(DVec3::Z),
        center: table.center.as_ref().map_or(pose.position, |c| moved.point(vector(c))),
        angle: table.angle.as_ref().map(|f| f.function.clone()).unwrap_or_default(),
    }
}
