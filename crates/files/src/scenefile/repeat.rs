//! What exists, and `[[repeat]]`: the same things many times, in a row, on a grid, around an axis,
//! or scattered at random.

use super::body::Body;
use super::contact::{Exclude, Surface};
use super::control::{ControllerTable, EventTable, SensorTable, Template};
use super::facts::Expect;
use super::links::{Force, Gear, Joint, Motor};
use super::node::{Node, Span, Value};
use super::read::{MAX_REPEATED_BYTES, Read, Reader, Table, described, object_schema, table};
use super::shape::SHAPE_BYTES;
use super::soft::Soft;
use super::unit::Dimension;
use super::value::*;
use glam::{DQuat, DVec3};
use serde_json::{Map, Value as Json, json};
use signorini_solve::math::pose::Pose;
use signorini_solve::math::random::Random;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

table! {
    /// What exists: at the top of a file, or inside a `[[repeat]]`.
    pub struct Block {
        /// Bodies.
        body: Vec<Body>,
        /// Soft bodies.
        soft: Vec<Soft>,
        /// Joints between bodies.
        joint: Vec<Joint>,
        /// Motors on joints.
        motor: Vec<Motor>,
        /// Gears, racks and differentials between joints.
        gear: Vec<Gear>,
        /// Springs, dampers, bushings, drag, applied forces.
        force: Vec<Force>,
        /// Contacts of two materials that follow no rule.
        surface: Vec<Surface>,
        /// Bodies that never touch each other.
        exclude: Vec<Exclude>,
        /// What is measured after every step.
        sensor: Vec<SensorTable>,
        /// What tells motors and forces what to do.
        controller: Vec<ControllerTable>,
        /// What happens when a condition becomes true.
        event: Vec<EventTable>,
        /// Bodies that wait until an event puts them into the scene.
        template: Vec<Template>,
        /// Facts that a run checks.
        expect: Vec<Expect>,
        /// The same things many times.
        repeat: Vec<Repeat>,
    }
}

/// How many: in a row, or along three axes.
#[derive(Clone, Copy, Debug)]
pub struct Counts(pub [usize; 3], pub bool);

impl Read for Counts {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        match node.value {
            Value::List(_) => {
                <[Count; 3]>::read(node, reader).map(|c| Counts(c.map(|c| c.0), true))
            }
            _ => Count::read(node, reader).map(|c| Counts([c.0, 1, 1], false)),
        }
    }
    fn schema(definitions: &mut Map<String, Json>) -> Json {
        json!({"anyOf": [Count::schema(definitions), <[Count; 3]>::schema(definitions)]})
    }
}

table! {
    /// A turn from copy to copy.
    pub struct Turn {
        /// Angle from one copy to the next.
        angle: Of<Angle>,
        /// The axis, of any length; z without this.
        axis: Option<Vector<Pure>>,
        /// A point of the axis; the origin without this.
        center: Option<Vector<Length>>,
    }
}

table! {
    /// Random places, no two nearer than a distance.
    pub struct Scatter {
        /// Which of all random packings.
        seed: Option<Count>,
        /// Least corner of the box of places.
        low: Vector<Length>,
        /// Greatest corner of the box of places.
        high: Vector<Length>,
        /// Least distance of two places.
        distance: Of<Length>,
        /// True if the copies are turned at random too.
        turned: Option<bool>,
        /// True if the places are filled from below: a denser packing, one layer after the other.
        layered: Option<bool>,
    }
}

table! {
    /// The same things many times; every formula and every {formula} in a text may use i (ix, iy,
    /// iz) and random.
    pub struct RepeatHeader {
        /// How many copies, or [nx, ny, nz] on a grid.
        count: At<Counts>,
        /// The name of the index; "i" without this (a second level of repetition needs another).
        index: Option<Name>,
        /// Displacement from copy to copy; on a grid, along x, y and z.
        step: Option<Vector<Length>>,
        /// Turn from copy to copy.
        turn: Option<Turn>,
        /// Random places instead.
        scatter: Option<At<Scatter>>,
        /// Greatest random displacement along each axis.
        jitter: Option<Vector<Length>>,
        /// Which of all random numbers.
        seed: Option<Count>,
    }
}

/// The copies.
#[derive(Clone, Debug)]
pub struct Repeat {
    /// Where each copy is moved, and what it is.
    pub copies: Vec<(Pose, Block)>,
}

/// Places that are drawn in vain at most, by one scatter: about two seconds.
const MAX_RANDOM_DRAWS: u64 = 20_000_000;
/// Least edge of a cell in which places are looked for, in parts of the box: a million places with
/// hardly any distance are some in each cell, not all in one.
const LEAST_CELL: f64 = 1e-5;
/// The most copies of one block.
const MAX_COPIES: usize = 1_000_000;

impl Read for Repeat {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if !matches!(node.value, Value::Table(_)) {
            reader.unwanted(node, "a table with `count` and what is repeated");
            return None;
        }
        let mut keys = RepeatHeader::keys();
        keys.extend(Block::keys());
        reader.known(node, &keys);
        let header = RepeatHeader::fields(node, reader)?;
        let Counts(n, grid) = header.count.value;
        let total = n[0].saturating_mul(n[1]).saturating_mul(n[2]);
        if total > MAX_COPIES {
            reader.fault(
                &header.count.at,
                format!("found {total} copies"),
                format!("wanted at most {MAX_COPIES}"),
            );
            return None;
        }
        // Copies of copies multiply: their memory is bounded before they are read.
        let limit = format!("wanted at most {} MB in all", MAX_REPEATED_BYTES / 1_000_000);
        let (each, all) = (copy_bytes(node, |_| 0), copy_bytes(node, plain_count));
        if total.saturating_mul(all) > MAX_REPEATED_BYTES {
            let message =
                format!("found {total} copies of {all} bytes, copies within copies counted");
            reader.fault(&header.count.at, message, limit);
            return None;
        }
        let taken = total.saturating_mul(each);
        if taken > reader.memory_left {
            let before = MAX_REPEATED_BYTES - reader.memory_left;
            let message =
                format!("found {total} copies of {each} bytes, and {before} were made before");
            reader.fault(&header.count.at, message, limit);
            reader.memory_left = 0;
            return None;
        }
        reader.memory_left -= taken;
        let poses = poses(&header, total, reader)?;
        let index = header.index.as_ref().map_or("i", |name| name.value.as_str());
        let mut random = Random::seeded(header.seed.map_or(1, |s| s.0 as u64) ^ 0x5eed);
        let depth = reader.scope.depth();
        let mut copies = Vec::with_capacity(total);
        let faults = reader.faults.len();
        for (i, pose) in poses.into_iter().enumerate() {
            reader.scope.bind(index, i as f64, Dimension::NONE);
            reader.scope.bind("random", random.unit(), Dimension::NONE);
            if grid {
                let place = [i % n[0], i / n[0] % n[1], i / (n[0] * n[1])];
                ["x", "y", "z"].iter().zip(place).for_each(|(axis, p)| {
                    reader.scope.bind(format!("{index}{axis}"), p as f64, Dimension::NONE)
                });
            }
            copies.push(Block::fields(node, reader).map(|block| (pose, block)));
            reader.scope.release(depth);
            // Every copy has the same faults; a few are enough.
            if reader.faults.len() > faults + 20 {
                return None;
            }
        }
        Some(Repeat { copies: copies.into_iter().collect::<Option<_>>()? })
    }

    fn schema(definitions: &mut Map<String, Json>) -> Json {
        if !definitions.contains_key("Repeat") {
            definitions.insert("Repeat".into(), json!({}));
            let mut properties = RepeatHeader::properties(definitions);
            properties.extend(Block::properties(definitions));
            definitions.insert("Repeat".into(), object_schema(properties, RepeatHeader::ABOUT));
        }
        described(json!({"$ref": "#/$defs/Repeat"}), "Copies.")
    }
}

/// Memory of one thing of a scene beside its table, bytes: the thing itself, its name in three
/// places, where it was defined. Measured at the peak of building 10,000 bodies.
const THING_BYTES: usize = 1200;

/// How many copies a repetition within a repetition makes, if that is a plain number.
fn plain_count(node: &Node) -> usize {
    match node.get("count").map(|c| &c.value) {
        Some(Value::Number(n)) => *n as usize,
        Some(Value::List(list)) => list
            .iter()
            .map(|c| if let Value::Number(n) = c.value { n as usize } else { 1 })
            .fold(1, usize::saturating_mul),
        _ => 1,
    }
}

/// Memory that one copy of a block takes, bytes; `count` says how often the repetitions within it
/// count.
fn copy_bytes(node: &Node, count: fn(&Node) -> usize) -> usize {
    let of = |entry: &super::node::Entry| match (entry.key.as_str(), &entry.node.value) {
        ("repeat", Value::List(list)) => list
            .iter()
            .map(|inner| count(inner).saturating_mul(copy_bytes(inner, count)))
            .fold(0, usize::saturating_add),
        (key, Value::List(list)) => table_bytes(key).map_or(0, |table| {
            let bytes = |item: &Node| {
                let shapes = match item.get("shape").map(|shape| &shape.value) {
                    Some(Value::List(list)) => list.len(),
                    _ => 0,
                };
                let thing = table + THING_BYTES + item.bytes();
                shapes.saturating_mul(SHAPE_BYTES).saturating_add(thing)
            };
            list.iter().map(bytes).fold(0, usize::saturating_add)
        }),
        // What says how to repeat is not repeated.
        _ => 0,
    };
    let copy = size_of::<(Pose, Block)>() + size_of::<Pose>() + size_of::<(Pose, &Block)>();
    node.entries().iter().map(of).fold(copy, usize::saturating_add)
}

/// Size of the table of one thing in a block, bytes; none if the key names no things.
fn table_bytes(key: &str) -> Option<usize> {
    fn item<T>(_: fn(&Block) -> &Vec<T>) -> usize {
        size_of::<T>()
    }
    Some(match key {
        "body" => item(|b| &b.body),
        "soft" => item(|b| &b.soft),
        "joint" => item(|b| &b.joint),
        "motor" => item(|b| &b.motor),
        "gear" => item(|b| &b.gear),
        "force" => item(|b| &b.force),
        "surface" => item(|b| &b.surface),
        "exclude" => item(|b| &b.exclude),
        "sensor" => item(|b| &b.sensor),
        "controller" => item(|b| &b.controller),
        "event" => item(|b| &b.event),
        "template" => item(|b| &b.template),
        "expect" => item(|b| &b.expect),
        _ => return None,
    })
}

/// Where each copy is moved.
fn poses(header: &RepeatHeader, total: usize, reader: &mut Reader<'_>) -> Option<Vec<Pose>> {
    if let Some(scatter) = &header.scatter {
        return scattered(scatter, total, reader);
    }
    let Counts(n, grid) = header.count.value;
    let step = header.step.as_ref().map_or(DVec3::ZERO, vector);
    let jitter = header.jitter.as_ref().map_or(DVec3::ZERO, vector);
    let mut random = Random::seeded(header.seed.map_or(1, |s| s.0 as u64));
    let turn = |i: usize| match &header.turn {
        Some(turn) => {
            let axis = turn.axis.as_ref().map_or(DVec3::Z, vector).normalize_or(DVec3::Z);
            let center = turn.center.as_ref().map_or(DVec3::ZERO, vector);
            let rotation = DQuat::from_axis_angle(axis, turn.angle.si * i as f64);
            Pose::new(center - rotation * center, rotation)
        }
        None => Pose::IDENTITY,
    };
    let place = |i: usize| {
        let p = if grid {
            DVec3::new((i % n[0]) as f64, (i / n[0] % n[1]) as f64, (i / (n[0] * n[1])) as f64)
        } else {
            DVec3::splat(i as f64)
        };
        p * step
    };
    let moved = (0..total).map(|i| {
        let shake =
            jitter * (2.0 * DVec3::new(random.unit(), random.unit(), random.unit()) - DVec3::ONE);
        Pose::at(place(i) + shake) * turn(i)
    });
    Some(moved.collect())
}

/// The places in each cell of a grid.
type Cells = HashMap<(i64, i64, i64), Vec<DVec3>, BuildHasherDefault<CellHasher>>;

/// A quick hash of three numbers that nobody chooses with ill will: 27 of them for each place that
/// is drawn.
#[derive(Default)]
struct CellHasher(u64);

impl Hasher for CellHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_i64(i64::from(*byte)));
    }

    fn write_i64(&mut self, x: i64) {
        self.0 = (self.0.rotate_left(23) ^ x as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

/// Random sequential addition: a place is drawn until it is far enough from all before.
fn scattered(scatter: &At<Scatter>, total: usize, reader: &mut Reader<'_>) -> Option<Vec<Pose>> {
    let Scatter { low, high, distance, .. } = &scatter.value;
    let (low, high, distance) = (vector(low), vector(high), distance.si);
    // A NaN compares with nothing: it is refused as well.
    if distance.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) || !low.cmple(high).all() {
        reader.fault(
            &head(&scatter.at),
            "an empty box, or no distance",
            "wanted `low` below `high` and `distance` above 0",
        );
        return None;
    }
    let mut random = Random::seeded(scatter.value.seed.map_or(1, |s| s.0 as u64));
    let layered = scatter.value.layered == Some(true);
    let mut cells = Cells::default();
    let edge = distance.max(LEAST_CELL * (high - low).max_element());
    let index = |x: f64| x.clamp(-1e15, 1e15) as i64;
    let cell = |p: DVec3| {
        let c = ((p - low) / edge).floor();
        (index(c.x), index(c.y), index(c.z))
    };
    // Its own cell first: most places that are taken are taken there.
    let own_first = |k: i64| (k + 13) % 27;
    let free = |cells: &Cells, p: DVec3| {
        let c = cell(p);
        (0..27).map(own_first).all(|k| {
            let near = (c.0 + k % 3 - 1, c.1 + k / 3 % 3 - 1, c.2 + k / 9 - 1);
            cells.get(&near).is_none_or(|list| list.iter().all(|q| q.distance(p) >= distance))
        })
    };
    let mut poses = Vec::with_capacity(total);
    let (mut top, mut all) = (low.z, 0u64);
    while poses.len() < total {
        let mut drawn = 0;
        let found = loop {
            let u = DVec3::new(random.unit(), random.unit(), random.unit());
            // A layer is a tenth of a distance thick: places above it are drawn only when it is
            // full.
            let ceiling = if layered {
                DVec3::new(high.x, high.y, (top + 0.1 * distance).min(high.z))
            } else {
                high
            };
            let floor = if layered { DVec3::new(low.x, low.y, top) } else { low };
            let p = floor + u * (ceiling - floor);
            if free(&cells, p) {
                break Some(p);
            }
            (drawn, all) = (drawn + 1, all + 1);
            if all > MAX_RANDOM_DRAWS {
                break None;
            }
            if drawn > 2000 {
                if !layered || top + 0.1 * distance >= high.z {
                    break None;
                }
                (top, drawn) = (top + 0.1 * distance, 0);
            }
        };
        let Some(p) = found else {
            let message = format!("only {} of {total} copies fit", poses.len());
            reader.fault(
                &head(&scatter.at),
                message,
                "wanted a larger box, or a smaller `distance`",
            );
            return None;
        };
        cells.entry(cell(p)).or_default().push(p);
        let turned = if scatter.value.turned == Some(true) {
            rotation(&mut random)
        } else {
            DQuat::IDENTITY
        };
        poses.push(Pose::new(p, turned));
    }
    Some(poses)
}

fn head(span: &Span) -> Span {
    Span { end: span.start + 1, ..span.clone() }
}

/// A rotation, all equally likely (Shoemake1992).
fn rotation(random: &mut Random) -> DQuat {
    let (u, a, b) = (
        random.unit(),
        std::f64::consts::TAU * random.unit(),
        std::f64::consts::TAU * random.unit(),
    );
    let (r, s) = ((1.0 - u).sqrt(), u.sqrt());
    DQuat::from_xyzw(r * a.sin(), r * a.cos(), s * b.sin(), s * b.cos())
}
