//! From the tables of a file to a [`Scene`], in the order in which things may name each other.
//!
//! Bodies, materials and contacts, soft bodies, and what reacts have files of their own here;
//! joints, motors, gears and forces are in `connect`.

mod body;
mod contact;
mod control;
mod soft;
mod visual;

use super::format::{self, Block, File};
use super::live::Late;
use super::node::Span;
use super::read::Reader;
use super::unit::Dimension;
use super::value::{At, Name, vector};
use crate::spelling::suggestion;
use glam::DQuat;
use signorini_mechanics::scene::{BodyId, Port, Scene, SurfaceMaterial};
use signorini_solve::math::pose::Pose;
use std::collections::HashMap;

/// Faults beyond these get no name that is like theirs: the search takes all names there are.
const MOST_SUGGESTIONS: usize = 50;

/// Builds a scene and remembers where everything stands.
pub struct Builder<'r, 'a> {
    /// Notes faults.
    pub reader: &'r mut Reader<'a>,
    /// What has been built.
    pub scene: Scene,
    /// Where each thing is defined: kind and name.
    pub places: HashMap<(&'static str, String), Span>,
    /// Bodies and joints by name.
    pub index: (Index, Index),
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

/// Things by their names. Lists only grow, and each of their names is entered once: a lookup does
/// not go through all names.
#[derive(Default)]
pub struct Index {
    numbers: HashMap<String, u32>,
    entered: usize,
}

impl Index {
    /// The number of the thing of this name in `list`, which may have grown since the last call.
    pub fn find<T>(&mut self, list: &[T], name: &str, of: fn(&T) -> &String) -> Option<u32> {
        for (i, thing) in list.iter().enumerate().skip(self.entered) {
            self.numbers.entry(of(thing).clone()).or_insert(i as u32);
        }
        self.entered = list.len();
        self.numbers.get(name).copied()
    }
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
            index: Default::default(),
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

    /// Notes that nothing has this name; `known` lists those that there are.
    pub fn unknown(&mut self, what: &str, name: &Name, known: impl Fn(&Scene) -> Vec<&str>) {
        let wanted = match self.reader.faults.len() < MOST_SUGGESTIONS {
            true => suggestion(&name.value, &known(&self.scene)),
            false => String::new(),
        };
        self.reader.fault(&name.at, format!("there is no {what} `{}`", name.value), wanted);
    }

    /// The body of a name, or a fault.
    pub fn body_named(&mut self, name: &Name) -> Option<BodyId> {
        if name.value == "ground" {
            return Some(BodyId::GROUND);
        }
        if self.places.contains_key(&("body", name.value.clone())) {
            // A body that is defined but faulty has been reported.
            let found = self.index.0.find(&self.scene.bodies, &name.value, |b| &b.name);
            return found.map(BodyId);
        }
        self.unknown("body", name, |scene| scene.bodies.iter().map(|b| b.name.as_str()).collect());
        None
    }

    /// A rotation from its table.
    pub fn rotation(&mut self, table: Option<&At<format::Rotation>>) -> Option<DQuat> {
        rotation(self.reader, table)
    }
}

/// A rotation from its table.
pub fn rotation(reader: &mut Reader<'_>, table: Option<&At<format::Rotation>>) -> Option<DQuat> {
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

/// All blocks of a file, inner ones moved by the copies they are in.
pub fn flatten<'b>(pose: Pose, block: &'b Block, out: &mut Vec<Moved<'b>>) {
    out.push((pose, block));
    for repeat in &block.repeat {
        for (inner, copy) in &repeat.copies {
            flatten(pose * *inner, copy, out);
        }
    }
}
