//! From the tables of a file to a [`Scene`]: bodies, shapes, materials; the rest is in `connect`.

use super::fault::suggestion;
use super::format::{self, Block, File};
use super::live::Late;
use super::node::Span;
use super::read::Reader;
use super::unit::Dimension;
use super::value::{At, Name, Vector, vector};
use glam::{DMat3, DQuat, DVec3};
use signorini_mechanics::geometry::{Groups, Shape, Volume, World, mass};
use signorini_mechanics::scene::{
    Body, BodyId, Kind, Mass, Material, MaterialId, Motion, Port, Rule, Rules, Scene, Surface,
    SurfaceMaterial,
};
use signorini_solve::math::pose::Pose;
use std::collections::{BTreeMap, HashMap};

/// Builds a scene and remembers where everything stands.
pub struct Builder<'r, 'a> {
    /// Notes faults.
    pub reader: &'r mut Reader<'a>,
    /// What has been built.
    pub scene: Scene,
    /// Where each thing is defined: kind and name.
    pub places: HashMap<(&'static str, String), Span>,
    densities: HashMap<String, f64>,
    groups: Vec<String>,
    /// The surface of bodies that name no material.
    plain: SurfaceMaterial,
    /// Dimensions of sensors and variables.
    pub dimensions: HashMap<String, Dimension>,
    /// Formulas in the tables of motors and applied forces: what they drive, how often, in which
    /// dimension.
    pub drives: Vec<(Port, Late, f64, Dimension)>,
    /// What was decided.
    notes: Vec<String>,
}

/// What a file describes, built.
pub struct Built {
    /// The scene.
    pub scene: Scene,
    /// What was decided.
    pub notes: Vec<String>,
    /// Dimensions of its sensors and variables.
    pub dimensions: HashMap<String, Dimension>,
}

/// A block and how it is moved.
type Moved<'b> = (Pose, &'b Block);

impl Builder<'_, '_> {
    /// Builds everything but the facts. Faults are noted in the reader.
    pub fn build(reader: &mut Reader<'_>, file: &File, name: &str) -> Built {
        let mut builder = Builder {
            reader,
            scene: Scene::new(file.0.name.clone().unwrap_or_else(|| name.to_string())),
            places: HashMap::new(),
            densities: HashMap::new(),
            groups: vec!["default".into()],
            plain: SurfaceMaterial::default(),
            dimensions: HashMap::new(),
            drives: Vec::new(),
            notes: Vec::new(),
        };
        if let Some(gravity) = &file.0.gravity {
            builder.scene.gravity = vector(gravity);
        }
        builder.materials(file);
        let mut blocks = Vec::new();
        flatten(Pose::IDENTITY, &file.1, &mut blocks);
        // Names first: a joint may speak of a body that is defined below it.
        for (pose, block) in &blocks {
            block.body.iter().for_each(|body| builder.body(pose, body));
            block.template.iter().for_each(|template| builder.template(pose, template));
        }
        for (pose, block) in &blocks {
            block.soft.iter().for_each(|soft| builder.soft(pose, soft));
        }
        for (pose, block) in &blocks {
            block.joint.iter().for_each(|joint| builder.joint(pose, joint));
        }
        file.0.variables.iter().for_each(|(name, value)| builder.variable(name, value));
        for (_, block) in &blocks {
            block.motor.iter().for_each(|motor| builder.motor(motor));
            block.gear.iter().for_each(|gear| builder.gear(gear));
            block.surface.iter().for_each(|surface| builder.surface(surface));
        }
        builder.reacting(&blocks);
        builder.excluded(file);
        blocks
            .iter()
            .flat_map(|(_, block)| &block.exclude)
            .for_each(|exclude| builder.exclude(exclude));
        builder.check();
        Built { scene: builder.scene, notes: builder.notes, dimensions: builder.dimensions }
    }

    /// What speaks of other things by formulas: forces, sensors, controllers, events, in the order
    /// in which they may speak of each other.
    fn reacting(&mut self, blocks: &[Moved<'_>]) {
        blocks.iter().flat_map(|(_, b)| &b.event).for_each(|event| self.event_name(event));
        for (pose, block) in blocks {
            block.sensor.iter().for_each(|sensor| self.sensor(pose, sensor));
        }
        for (pose, block) in blocks {
            block.force.iter().for_each(|force| self.force(pose, force));
        }
        self.driven();
        blocks
            .iter()
            .flat_map(|(_, b)| &b.controller)
            .for_each(|controller| self.controller(controller));
        for (pose, block) in blocks {
            block.event.iter().for_each(|event| self.event(pose, event));
        }
        for joint in blocks.iter().flat_map(|(_, b)| &b.joint) {
            if let Some(breaks) = &joint.breaks {
                self.breaks(&joint.name, breaks.force.map(|f| f.si), breaks.torque.map(|t| t.si));
            }
        }
    }

    /// Bodies that never touch each other.
    fn exclude(&mut self, table: &format::Exclude) {
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

    /// Notes what the library finds wrong, where the culprit is defined.
    fn check(&mut self) {
        if !self.reader.faults.is_empty() {
            return;
        }
        let top = Span { file: 0, start: 0, end: 1 };
        for invalid in self.scene.check().err().unwrap_or_default() {
            let what = invalid.what.trim_start_matches("collider of ");
            let place = self
                .places
                .iter()
                .find(|((kind, name), _)| *kind == what && *name == invalid.name)
                .map(|(_, at)| at);
            let place = place.unwrap_or(&top).clone();
            self.reader.fault(&place, invalid.to_string(), "");
        }
    }

    /// Takes a name for a new thing; a name that is taken already is a fault.
    pub fn define(&mut self, what: &'static str, name: &Name) -> bool {
        let reserved = (what == "body" && name.value == "ground")
            || (what == "material" && name.value == "default");
        let taken = self.places.insert((what, name.value.clone()), name.at.clone());
        if taken.is_some() || reserved {
            let message = format!("the {what} `{}` exists already", name.value);
            self.reader.fault(
                &name.at,
                message,
                "wanted a name of its own (in a [[repeat]], write {i} into it)",
            );
        }
        taken.is_none() && !reserved
    }

    /// Notes that nothing has this name.
    pub fn unknown(&mut self, what: &str, name: &Name, known: &[&str]) {
        self.reader.fault(
            &name.at,
            format!("there is no {what} `{}`", name.value),
            suggestion(&name.value, known),
        );
    }

    fn materials(&mut self, file: &File) {
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

    fn material(&mut self, name: &Name) -> Option<MaterialId> {
        let found = self.scene.material_named(&name.value);
        if found.is_none() {
            let known: Vec<String> = self.scene.materials.iter().map(|m| m.name.clone()).collect();
            self.unknown("material", name, &known.iter().map(String::as_str).collect::<Vec<_>>());
        }
        found
    }

    /// The surface of a named material, or the plain one.
    pub fn skin(&mut self, material: &Option<Name>) -> Option<SurfaceMaterial> {
        match material {
            Some(name) => self.material(name).map(SurfaceMaterial::from),
            None => Some(self.plain),
        }
    }

    fn surface(&mut self, surface: &format::Surface) {
        let (a, b) = (self.material(&surface.between[0]), self.material(&surface.between[1]));
        let (Some(a), Some(b)) = (a, b) else { return };
        let ruled = self.scene.surface(a, b);
        let given = Surface {
            mu: surface.mu.map_or(ruled.mu, |x| x.si),
            restitution: surface.restitution.map_or(ruled.restitution, |x| x.si),
            compliance: surface.compliance.map_or(ruled.compliance, |x| x.si),
            damping: surface.damping.map_or(ruled.damping, |x| x.si),
        };
        if !(given.mu >= 0.0
            && (0.0..=1.0).contains(&given.restitution)
            && given.compliance >= 0.0
            && given.damping >= 0.0)
        {
            let message = format!(
                "found mu = {}, restitution = {}, compliance = {}, damping = {}",
                given.mu, given.restitution, given.compliance, given.damping
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

    fn excluded(&mut self, file: &File) {
        for pair in file.0.contact.iter().flat_map(|c| &c.exclude) {
            let (a, b) = (self.body_named(&pair[0]), self.body_named(&pair[1]));
            if let (Some(a), Some(b)) = (a, b) {
                self.scene.excluded.push((a, b));
            }
        }
    }

    /// The body of a name, or a fault.
    pub fn body_named(&mut self, name: &Name) -> Option<BodyId> {
        // Names of bodies are many: one lookup must not walk them all.
        if name.value == "ground" {
            return Some(BodyId::GROUND);
        }
        if self.places.contains_key(&("body", name.value.clone())) {
            // A body that is defined but faulty has been reported.
            return self.ids().get(&name.value).copied();
        }
        let known: Vec<String> = self.scene.bodies.iter().map(|b| b.name.clone()).collect();
        self.unknown("body", name, &known.iter().map(String::as_str).collect::<Vec<_>>());
        None
    }

    fn ids(&self) -> HashMap<String, BodyId> {
        self.scene
            .bodies
            .iter()
            .enumerate()
            .map(|(i, b)| (b.name.clone(), BodyId(i as u32)))
            .collect()
    }

    pub(super) fn body(&mut self, moved: &Pose, table: &format::Body) {
        let fresh = self.define("body", &table.name);
        let shapes = self.shapes(table);
        let rotation = self.rotation(&table.rotation);
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
        let Some(groups) = self.body_groups(table) else { return };
        for part in shapes {
            let in_body = Pose::new(part.pose.position - center, part.pose.orientation);
            let collider = self.scene.add_collider(id, part.shape, in_body, part.skin);
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

    /// A rotation from its table.
    pub fn rotation(&mut self, table: &Option<At<format::Rotation>>) -> Option<DQuat> {
        rotation(self.reader, table)
    }

    fn shapes(&mut self, table: &format::Body) -> Option<Vec<Part>> {
        let base = self.skin(&table.material)?;
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

    fn part(
        &mut self,
        body: &format::Body,
        base: SurfaceMaterial,
        at: &Span,
        (fields, edges): (&format::ShapeFields, &Option<Vector<super::value::Length>>),
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
        let mut skin = match &fields.material {
            Some(name) => SurfaceMaterial::from(self.material(name)?),
            None => base,
        };
        skin.belt = fields.belt.as_ref().map_or(DVec3::ZERO, vector);
        let density = |name: &String| self.densities.get(name).copied();
        let density = fields
            .density
            .or(body.density)
            .map(|d| d.si)
            .or_else(|| density(&self.scene.materials[skin.material.index()].name));
        let pose = Pose::new(
            fields.position.as_ref().map_or(DVec3::ZERO, vector),
            self.rotation(&fields.rotation)?,
        );
        let (group, touches) = (fields.group.clone(), fields.touches.clone());
        Some(Part {
            shape,
            pose,
            skin,
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
        let home = self.reader.sources.0.get(file.at.file).map_or("", |s| s.name.as_str());
        let path = std::path::Path::new(home)
            .parent()
            .unwrap_or(std::path::Path::new(""))
            .join(&file.value);
        match crate::surface::read(&path) {
            Ok(mut found) => {
                let scale = mesh.scale.as_ref().map_or(DVec3::ONE, vector);
                found.vertices.iter_mut().for_each(|v| *v *= scale);
                // A mirrored mesh would be inside out.
                if scale.x * scale.y * scale.z < 0.0 {
                    found.triangles.iter_mut().for_each(|t| t.swap(0, 1));
                }
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
                    "wanted an .stl, .obj or .dae file beside the scene file",
                );
                None
            }
        }
    }

    /// Mass, inertia and centre of a rigid body.
    fn mass(&mut self, table: &format::Body, parts: &[Part]) -> Option<(Mass, DVec3)> {
        let at = &table.name.at;
        if table.mass.is_some() && table.density.is_some() {
            self.reader.fault(at, "found `mass` and `density` together", "wanted one of them");
            return None;
        }
        if let (Some(mass), Some(inertia)) = (table.mass, table.inertia) {
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

/// A rotation from its table.
pub fn rotation(reader: &mut Reader<'_>, table: &Option<At<format::Rotation>>) -> Option<DQuat> {
    let Some(At { value, at }) = table else { return Some(DQuat::IDENTITY) };
    let axis = value.axis.as_ref().map(vector);
    let rotation = match (axis, value.angle, &value.rpy, &value.quaternion) {
        (Some(axis), Some(angle), None, None) if axis.length() > 0.0 => {
            DQuat::from_axis_angle(axis.normalize(), angle.si)
        }
        (None, None, Some(rpy), None) => {
            DQuat::from_rotation_z(rpy[2].si)
                * DQuat::from_rotation_y(rpy[1].si)
                * DQuat::from_rotation_x(rpy[0].si)
        }
        (None, None, None, Some(q)) if q.iter().any(|x| x.si != 0.0) => {
            DQuat::from_xyzw(q[0].si, q[1].si, q[2].si, q[3].si).normalize()
        }
        _ => {
            reader.fault(
                at,
                "this is no rotation",
                "wanted { axis, angle }, { rpy } or { quaternion }",
            );
            return None;
        }
    };
    Some(rotation)
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

/// A shape of a body, ready.
struct Part {
    shape: Shape,
    pose: Pose,
    skin: SurfaceMaterial,
    density: Option<f64>,
    margin: f64,
    group: Option<Name>,
    touches: Option<Vec<Name>>,
}

fn shape(
    fields: &format::ShapeFields,
    edges: &Option<Vector<super::value::Length>>,
) -> Option<Shape> {
    let points =
        |list: &[Vector<super::value::Length>]| list.iter().map(vector).collect::<Vec<_>>();
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
    let function = |f: &Option<super::value::Timed<super::value::Length>>| {
        f.as_ref().map(|f| f.function.clone()).unwrap_or_default()
    };
    Motion {
        translation: [function(&table.x), function(&table.y), function(&table.z)],
        axis: moved.vector(table.axis.as_ref().map_or(DVec3::Z, vector)).normalize_or(DVec3::Z),
        center: table.center.as_ref().map_or(pose.position, |c| moved.point(vector(c))),
        angle: table.angle.as_ref().map(|f| f.function.clone()).unwrap_or_default(),
    }
}

/// All blocks of a file, inner ones moved by the copies they are in.
pub fn flatten<'b>(pose: Pose, block: &'b Block, out: &mut Vec<Moved<'b>>) {
    out.push((pose, block));
    for repeat in &block.repeat {
        for (inner, copy) in &repeat.copies {
            flatten(pose * *inner, copy, out);
        }
    }
}
