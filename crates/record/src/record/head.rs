//! What exists and how it looks: the `HEAD` chunk.

use super::bounds::bounds;
use super::channels::{self, Channel};
use super::mesh::{self, Mesh};
use super::{frame, steps};
use glam::{DQuat, DVec3};
use serde::{Deserialize, Serialize};
use signorini_mechanics::geometry::Shape;
use signorini_mechanics::scene::body::reach;
use signorini_mechanics::scene::{Drawn, Kind, Scene};
use signorini_solve::math::pose::Pose;
use std::collections::HashMap;

/// What exists and how it looks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Head {
    /// The format of the record.
    pub format: u32,
    /// The program that wrote it.
    pub version: String,
    /// Name of the scene.
    pub name: String,
    /// What it shows.
    pub about: String,
    /// Length of a step, s.
    pub dt: f64,
    /// When the run is to end, s.
    pub t_end: f64,
    /// How many steps that are.
    pub steps: u64,
    /// Every how many steps a frame is kept.
    pub every: u64,
    /// Every how many steps a row of the plots is kept (the worst of them).
    pub step_every: u64,
    /// The solver asked for.
    pub solver: String,
    /// The friction law.
    pub law: String,
    /// Unit of lengths in frames, m.
    pub quantum: f64,
    /// Unit vector against gravity.
    pub up: [f64; 3],
    /// Lowest and highest corner of what moves, at the beginning, m.
    pub bounds: [[f64; 3]; 2],
    /// Bodies.
    pub bodies: Vec<Body>,
    /// Which of them move, in the order of the frames.
    pub moving: Vec<u32>,
    /// Triangles.
    pub meshes: Vec<Mesh>,
    /// Shapes on bodies.
    pub shapes: Vec<Placed>,
    /// Joints.
    pub joints: Vec<Joint>,
    /// Soft bodies.
    pub soft: Vec<Soft>,
    /// The files that the scene was read from.
    pub texts: Vec<Text>,
    /// The columns of `STEP` chunks.
    pub columns: Vec<String>,
    /// The columns of `CHAN` chunks.
    #[serde(default)]
    pub channels: Vec<Channel>,
}

/// A body.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Body {
    /// Its name.
    pub name: String,
    /// `rigid`, `fixed` or `imposed`.
    pub kind: String,
    /// Mass, kg.
    pub mass: Option<f64>,
    /// `#rrggbb`.
    pub color: String,
    /// Position and quaternion (x y z w) at the beginning.
    pub pose: [f64; 7],
}

/// How a shape is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Look {
    /// As it is.
    #[default]
    Solid,
    /// One looks through it: it contains what one wants to see.
    Glass,
    /// A piece of something without end, below.
    Ground,
    /// It touches, but its body is drawn by other shapes: shown when asked for.
    Hidden,
}

/// A shape on a body.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Placed {
    /// On which body.
    pub body: u32,
    /// Which mesh.
    pub mesh: u32,
    /// Position and quaternion in the body's frame.
    pub pose: [f64; 7],
    /// What the axes of the mesh are stretched by.
    pub scale: [f64; 3],
    /// How it is drawn.
    pub look: Look,
    /// `#rrggbb`; the colour of the body without this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
}

/// A joint.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Joint {
    /// Its name.
    pub name: String,
    /// First body and the point on it, in its frame.
    pub a: (u32, [f64; 3]),
    /// Second body and the point on it, in its frame.
    pub b: (u32, [f64; 3]),
}

/// A soft body: triangles of its surface over nodes that move.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Soft {
    /// Its name.
    pub name: String,
    /// `#rrggbb`.
    pub color: String,
    /// How many nodes each frame places; those inside need not be recorded.
    pub nodes: usize,
    /// Three nodes of each triangle of the surface, counter-clockwise seen from outside.
    pub triangles: Vec<u32>,
    /// A number on each node, if there is one.
    pub scalar: Option<Scalar>,
}

/// A number on each node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scalar {
    /// What it is, such as `von Mises stress`.
    pub name: String,
    /// Its unit.
    pub unit: String,
}

/// A file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Text {
    /// Its name.
    pub name: String,
    /// What it says.
    pub text: String,
}

/// What a record says of a run beside its scene.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    /// What the scene shows.
    pub about: &'a str,
    /// Length of a step, s.
    pub dt: f64,
    /// When it ends, s.
    pub t_end: f64,
    /// Name and text of every file that the scene was read from.
    pub texts: &'a [(String, String)],
}

impl Head {
    /// How frames are laid out.
    pub fn layout(&self) -> frame::Layout {
        frame::Layout {
            bodies: self.moving.len(),
            soft: self.soft.iter().map(|s| (s.nodes, s.scalar.is_some())).collect(),
        }
    }

    /// What is wrong with it, if anything: everything that an index names must be there.
    pub fn fault(&self) -> Option<String> {
        let (bodies, meshes) = (self.bodies.len(), self.meshes.len());
        let body = |i: u32| (i as usize) < bodies;
        let wrong = if self.format != FORMAT {
            Some(format!("format {}, wanted {FORMAT}", self.format))
        } else if !(self.quantum > 0.0 && self.quantum.is_finite()) {
            Some(format!("a unit of {} m", self.quantum))
        } else if self.moving.iter().any(|&i| !body(i))
            || self.joints.iter().any(|j| !body(j.a.0) || !body(j.b.0))
        {
            Some("a body that is not there".into())
        } else if self.shapes.iter().any(|s| !body(s.body) || s.mesh as usize >= meshes) {
            Some("a mesh that is not there".into())
        } else if !self.meshes.iter().all(Mesh::fits) {
            Some("a vertex that is not there".into())
        } else if self.soft.iter().any(|s| {
            s.triangles.iter().any(|&t| t as usize >= s.nodes)
                || !s.triangles.len().is_multiple_of(3)
        }) {
            Some("a node that is not there".into())
        } else {
            None
        };
        wrong.map(|what| format!("its head speaks of {what}"))
    }

    /// The head of a run of a scene.
    pub fn of(scene: &Scene, about: &About<'_>, soft: Vec<Soft>) -> Head {
        let bounds = bounds(scene);
        let size = (bounds[1] - bounds[0]).max_element().max(1e-9);
        let mut head = Head {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").into(),
            name: scene.name.clone(),
            about: about.about.into(),
            dt: about.dt,
            t_end: about.t_end,
            // A millionth of the scene, as a power of two: exact in every base.
            quantum: (size.log2().ceil() - 20.0).exp2(),
            up: (-scene.gravity).try_normalize().unwrap_or(DVec3::Z).to_array(),
            bounds: bounds.map(|b| b.to_array()),
            moving: (0..scene.bodies.len() as u32)
                .filter(|&i| !matches!(scene.bodies[i as usize].kind, Kind::Fixed))
                .collect(),
            bodies: bodies(scene),
            joints: joints(scene),
            texts: about
                .texts
                .iter()
                .map(|(name, text)| Text { name: name.clone(), text: text.clone() })
                .collect(),
            channels: channels::of(scene).into_iter().map(|(channel, _)| channel).collect(),
            columns: steps::COLUMNS.iter().map(|c| c.to_string()).collect(),
            soft,
            ..Head::default()
        };
        Shapes { scene, bounds, up: DVec3::from_array(head.up), known: HashMap::new() }
            .place(&mut head);
        head
    }
}

/// The format that is written.
pub const FORMAT: u32 = 2;

/// A pose as seven numbers.
pub fn numbers(pose: &Pose) -> [f64; 7] {
    let (p, q) = (pose.position, pose.orientation);
    [p.x, p.y, p.z, q.x, q.y, q.z, q.w]
}

/// Seven numbers as a pose.
pub fn pose(x: &[f64; 7]) -> Pose {
    Pose {
        position: DVec3::new(x[0], x[1], x[2]),
        orientation: DQuat::from_xyzw(x[3], x[4], x[5], x[6]),
    }
}

fn bodies(scene: &Scene) -> Vec<Body> {
    let stem_of =
        |name: &'_ str| name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_').len();
    let mut members: HashMap<&str, usize> = HashMap::new();
    for body in scene.bodies.iter().filter(|b| !matches!(b.kind, Kind::Fixed)) {
        *members.entry(&body.name[..stem_of(&body.name)]).or_default() += 1;
    }
    let mut families: Vec<&str> = Vec::new();
    let mut out = Vec::new();
    for (i, body) in scene.bodies.iter().enumerate() {
        let stem = &body.name[..stem_of(&body.name)];
        // The few rods of a mechanism are told apart, the many bricks of a wall are not.
        let stem = if members.get(stem).is_some_and(|n| *n > COLORS.len()) {
            stem
        } else {
            body.name.as_str()
        };
        let (kind, color) = match &body.kind {
            Kind::Fixed => ("fixed", FIXED.to_string()),
            kind => {
                let family = families.iter().position(|f| *f == stem).unwrap_or(families.len());
                if family == families.len() {
                    families.push(stem);
                }
                let name = match kind {
                    Kind::Rigid(_) => "rigid",
                    Kind::Soft(_) => "soft",
                    _ => "imposed",
                };
                (name, color(family, i))
            }
        };
        let mass = body.mass().map(|m| m.mass);
        out.push(Body {
            name: body.name.clone(),
            kind: kind.into(),
            mass,
            color,
            pose: numbers(&body.pose),
        });
    }
    for (id, [red, green, blue]) in &scene.colors {
        out[id.index()].color = hex([*red, *green, *blue]);
    }
    out
}

fn hex([red, green, blue]: [u8; 3]) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

const FIXED: &str = "#a9afb8";
const COLORS: [[f64; 3]; 8] = [
    [92.0, 134.0, 178.0],
    [222.0, 164.0, 92.0],
    [112.0, 168.0, 144.0],
    [198.0, 112.0, 104.0],
    [146.0, 128.0, 184.0],
    [182.0, 168.0, 108.0],
    [100.0, 172.0, 196.0],
    [206.0, 144.0, 168.0],
];

/// The colour of a member of a family: bodies of one name share a hue and differ a little in
/// brightness.
fn color(family: usize, member: usize) -> String {
    let brightness = 0.9 + 0.2 * ((member as f64 * 0.618_034) % 1.0);
    let [r, g, b] = COLORS[family % COLORS.len()].map(|c| (c * brightness).min(255.0) as u8);
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn joints(scene: &Scene) -> Vec<Joint> {
    let side = |body: u32, pose: &Pose| (body, pose.position.to_array());
    scene
        .joints
        .iter()
        .map(|j| Joint {
            name: j.name.clone(),
            a: side(j.a.0, &j.frame_a),
            b: side(j.b.0, &j.frame_b),
        })
        .collect()
}

/// Puts the shapes of a scene into a head.
struct Shapes<'a> {
    scene: &'a Scene,
    bounds: [DVec3; 2],
    up: DVec3,
    known: HashMap<String, u32>,
}

impl Shapes<'_> {
    fn place(&mut self, head: &mut Head) {
        let mut all = Vec::new();
        for (i, collider) in self.scene.colliders.iter().enumerate() {
            // Soft bodies are drawn where their nodes are.
            if matches!(self.scene.bodies[collider.body as usize].kind, Kind::Soft(_)) {
                continue;
            }
            let mut list = Vec::new();
            mesh::parts(collider.pose_in_body, &collider.shape, &mut list);
            all.extend(list.into_iter().map(|(pose, shape)| (i, pose, shape)));
        }
        let fineness = mesh::fineness(
            all.iter().filter(|(_, _, s)| matches!(s, Shape::Sphere { .. })).count(),
        );
        let containers = self.containers();
        let has_visuals: Vec<bool> = self.drawn_by_visuals();
        for (i, pose, shape) in all {
            let body = self.scene.colliders[i].body;
            let look = if has_visuals[body as usize] {
                Look::Hidden
            } else if containers[i] {
                Look::Glass
            } else {
                Look::Solid
            };
            self.shape(head, (body, pose, shape), look, fineness);
        }
        self.visuals(head, fineness);
        self.sticks(head);
    }

    /// Whether a body is drawn by visuals in place of its colliders.
    fn drawn_by_visuals(&self) -> Vec<bool> {
        let mut out = vec![false; self.scene.bodies.len()];
        for visual in &self.scene.visuals {
            out[visual.body.index()] |= matches!(visual.drawn, Drawn::Shape(_));
        }
        out
    }

    fn visuals(&mut self, head: &mut Head, fineness: u32) {
        let scene = self.scene;
        let coarseness = mesh::coarseness(scene.visuals.iter().filter_map(|v| match &v.drawn {
            Drawn::Shape(Shape::Mesh { triangles, .. }) => Some(triangles.len()),
            _ => None,
        }));
        for visual in &scene.visuals {
            let Drawn::Shape(shape) = &visual.drawn else { continue };
            let mut list = Vec::new();
            mesh::parts(visual.pose_in_body, shape, &mut list);
            for (pose, part) in list {
                let coarse;
                let part = match part {
                    Shape::Mesh { vertices, triangles } if triangles.len() > coarseness => {
                        coarse = mesh::coarser(vertices, triangles, coarseness);
                        &coarse
                    }
                    part => part,
                };
                let first = head.shapes.len();
                self.shape(head, (visual.body.0, pose, part), Look::Solid, fineness);
                head.shapes[first].color = visual.color.map(hex);
            }
        }
    }

    /// Puts one shape of a body into a head.
    fn shape(
        &mut self,
        head: &mut Head,
        (body, pose, shape): (u32, Pose, &Shape),
        look: Look,
        fineness: u32,
    ) {
        let world = self.scene.bodies[body as usize].pose * pose;
        let (key, scale, pose, look) = match mesh::sized(shape) {
            Some(sized) => (sized.key, sized.scale, pose, look),
            None => {
                let (at, scale, plain) = self.plate(&world);
                let look = if look == Look::Hidden { look } else { plain };
                ("plate".into(), scale, pose * Pose::at(at), look)
            }
        };
        let mesh = self.known(head, key, || {
            if matches!(shape, Shape::HalfSpace) {
                mesh::plate()
            } else {
                mesh::triangles(shape, fineness)
            }
        });
        head.shapes.push(Placed {
            body,
            mesh,
            pose: numbers(&pose),
            scale: scale.to_array(),
            look,
            color: None,
        });
    }

    fn known(&mut self, head: &mut Head, key: String, make: impl FnOnce() -> Mesh) -> u32 {
        *self.known.entry(key).or_insert_with(|| {
            head.meshes.push(make());
            head.meshes.len() as u32 - 1
        })
    }

    /// The drawn part of a half-space: where in its frame, how large, and whether it is a floor.
    fn plate(&self, world: &Pose) -> (DVec3, DVec3, Look) {
        let center = world.inverse_point(0.5 * (self.bounds[0] + self.bounds[1]))
            * DVec3::new(1.0, 1.0, 0.0);
        let extent = self.bounds[1] - self.bounds[0];
        if world.vector(DVec3::Z).dot(self.up) > 0.7 {
            let half = 2.5 * extent.max_element();
            return (center, DVec3::new(half, half, 1.0), Look::Ground);
        }
        // A wall is as large as what moves, seen along it.
        let half = |axis: DVec3| 0.51 * world.vector(axis).abs().dot(extent);
        (center, DVec3::new(half(DVec3::X), half(DVec3::Y), 1.0), Look::Glass)
    }

    /// For each collider, whether it is the wall of something that other bodies lie in: of one
    /// body, or of all that is fixed.
    fn containers(&self) -> Vec<bool> {
        let scene = self.scene;
        let group = |body: u32| {
            if matches!(scene.bodies[body as usize].kind, Kind::Fixed) { None } else { Some(body) }
        };
        let mut boxes: HashMap<Option<u32>, ([DVec3; 2], usize)> = HashMap::new();
        let place = |i: usize| {
            scene.bodies[scene.colliders[i].body as usize].pose * scene.colliders[i].pose_in_body
        };
        let extent = |i: usize| match &scene.colliders[i].shape {
            Shape::Box { half_extents } => (place(i).rotation().abs() * *half_extents, true),
            shape => (DVec3::splat(reach(shape)), reach(shape) > 0.0),
        };
        for (i, collider) in scene.colliders.iter().enumerate() {
            let (half, finite) = extent(i);
            if finite {
                let center = place(i).position;
                let entry = boxes.entry(group(collider.body)).or_insert(([center; 2], 0));
                entry.0 = [entry.0[0].min(center - half), entry.0[1].max(center + half)];
                entry.1 += 1;
            }
        }
        // The lowest body inside each container.
        let lowest = |group_of: Option<u32>| {
            let ([low, high], _) = boxes.get(&group_of).filter(|(_, shapes)| *shapes > 2)?;
            let inside = scene.bodies.iter().enumerate().filter(|(k, b)| {
                let other = group(*k as u32).is_some_and(|g| Some(g) != group_of);
                other && b.pose.position.cmpge(*low).all() && b.pose.position.cmple(*high).all()
            });
            inside.map(|(_, b)| b.pose.position.dot(self.up)).min_by(f64::total_cmp)
        };
        let lows: HashMap<Option<u32>, Option<f64>> =
            boxes.keys().map(|g| (*g, lowest(*g))).collect();
        let rises = |i: usize| {
            let low = lows.get(&group(scene.colliders[i].body)).copied().flatten()?;
            Some(place(i).position.dot(self.up) + extent(i).0.dot(self.up.abs()) > low)
        };
        (0..scene.colliders.len()).map(|i| rises(i).unwrap_or(false)).collect()
    }

    /// Bodies without a shape are drawn as sticks from their centre to their joints.
    fn sticks(&mut self, head: &mut Head) {
        let thickness = 0.01 * (self.bounds[1] - self.bounds[0]).length();
        for &body in &head.moving.clone() {
            let soft = matches!(self.scene.bodies[body as usize].kind, Kind::Soft(_));
            if soft || head.shapes.iter().any(|s| s.body == body) {
                continue;
            }
            let ends = self
                .scene
                .joints
                .iter()
                .flat_map(|j| [(j.a.0, j.frame_a.position), (j.b.0, j.frame_b.position)]);
            let mut ends: Vec<DVec3> =
                ends.filter(|(b, _)| *b == body).map(|(_, point)| point).collect();
            // A point mass has no sticks, only a middle that must be seen.
            let middle = if ends.iter().all(|end| end.length() < thickness) {
                2.5 * thickness
            } else {
                thickness
            };
            ends.push(DVec3::ZERO);
            for end in ends {
                let (length, axis) = (end.length(), end.normalize_or(DVec3::Z));
                let pose = Pose {
                    position: 0.5 * end,
                    orientation: DQuat::from_rotation_arc(DVec3::Z, axis),
                };
                let scale = if length < thickness {
                    [middle; 3]
                } else {
                    [thickness, thickness, 0.5 * length]
                };
                let mesh = self.known(head, "box".into(), || {
                    mesh::triangles(&Shape::Box { half_extents: DVec3::ONE }, 32)
                });
                head.shapes.push(Placed {
                    body,
                    mesh,
                    pose: numbers(&pose),
                    scale,
                    look: Look::Solid,
                    color: None,
                });
            }
        }
    }
}
