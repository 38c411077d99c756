//! The tables of shapes.

use super::frame::Rotation;
use super::node::{Node, Value};
use super::read::{Read, Reader, Table, table};
use super::unit::Dimension;
use super::value::*;
use serde_json::{Map, Value as Json, json};

table! {
    /// A shape of a body: exactly one of sphere, box, capsule, cylinder, cone, hull, mesh,
    /// half_space, height_field.
    pub struct ShapeFields {
        /// A ball of this radius.
        sphere: Option<Of<Length>>,
        /// A cylinder with half-balls at its ends, along z.
        capsule: Option<Round>,
        /// A cylinder along z.
        cylinder: Option<Round>,
        /// A cone along z, its base below; `length` is its height, its centre halfway.
        cone: Option<Round>,
        /// The convex hull of points.
        hull: Option<Vec<Vector<Length>>>,
        /// A triangle mesh.
        mesh: Option<Mesh>,
        /// Everything below the xy plane (true).
        half_space: Option<bool>,
        /// A surface over a grid; solid below.
        height_field: Option<HeightField>,
        /// Where the shape is in the frame of the body.
        position: Option<Vector<Length>>,
        /// How it is turned there.
        rotation: Option<At<Rotation>>,
        /// What it is made of; the material of the body without this.
        material: Option<Name>,
        /// Its density; that of the body without this.
        density: Option<Of<Density>>,
        /// Velocity of the surface relative to the body, in body axes: a conveyor belt.
        belt: Option<Vector<Speed>>,
        /// What it is drawn in, "#rrggbb"; the colour of the body without this. Parts of a mesh
        /// file that have a colour of their own keep it.
        color: Option<Name>,
        /// Thickness of a skin around it.
        margin: Option<Of<Length>>,
        /// Its group, for `touches`; that of the body without this.
        group: Option<Name>,
        /// Groups that it touches; those of the body without this.
        touches: Option<Vec<Name>>,
    }
}

/// A shape, or several if it has a `count`.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The copies: one unless repeated.
    pub copies: Vec<(ShapeFields, Option<Vector<Length>>)>,
    /// Where it stands.
    pub at: super::node::Span,
}

/// The kinds of shapes.
pub const SHAPES: [&str; 9] =
    ["sphere", "box", "capsule", "cylinder", "cone", "hull", "mesh", "half_space", "height_field"];

/// Memory of one of several shapes of a body, bytes: its table, its collider and its mass.
pub const SHAPE_BYTES: usize = 4500;

impl Read for Shape {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        if !matches!(node.value, Value::Table(_)) {
            reader.unwanted(node, "a table such as { sphere = 0.1 } or { box = [1, 2, 3] }");
            return None;
        }
        let mut keys = ShapeFields::keys();
        keys.extend(["box", "count"]);
        reader.known(node, &keys);
        let kind = reader.exactly_one(node, &SHAPES);
        let count = reader.field::<Option<Count>>(node, "count")?;
        let total = count.map_or(1, |c| c.0);
        let copy_bytes = SHAPE_BYTES + node.bytes();
        let taken = total.saturating_mul(copy_bytes);
        if count.is_some() && taken > reader.memory_left {
            reader.fault(
                &node.span,
                format!("found {total} copies of {copy_bytes} bytes"),
                format!("wanted at most {} MB", reader.memory_left / 1_000_000),
            );
            return None;
        }
        reader.memory_left -= if count.is_some() { taken } else { 0 };
        let (depth, faults) = (reader.scope.depth(), reader.faults.len());
        let mut copies = Vec::with_capacity(total);
        for i in 0..total {
            if count.is_some() {
                reader.scope.bind("k", i as f64, Dimension::NONE);
            }
            // `box` is a word of the language; its field is read by hand.
            let edges = reader.field::<Option<Vector<Length>>>(node, "box");
            let fields = ShapeFields::fields(node, reader);
            reader.scope.release(depth);
            // The other copies have the same faults.
            if reader.faults.len() > faults {
                return None;
            }
            copies.push((fields?, edges?));
        }
        kind?;
        Some(Shape { copies, at: node.span.clone() })
    }

    fn schema(definitions: &mut Map<String, Json>) -> Json {
        if !definitions.contains_key("Shape") {
            let mut properties = ShapeFields::properties(definitions);
            let edges = super::read::described(
                Vector::<Length>::schema(definitions),
                "A box with these edges, its centre at the origin.",
            );
            properties.insert(1, ("box", edges, false));
            let count = super::read::described(
                Count::schema(definitions),
                "How many copies; their formulas may use k = 0, 1, ….",
            );
            properties.push(("count", count, false));
            let mut object = super::read::object_schema(properties, ShapeFields::ABOUT);
            object["oneOf"] = SHAPES.iter().map(|kind| json!({"required": [kind]})).collect();
            definitions.insert("Shape".into(), object);
        }
        json!({"$ref": "#/$defs/Shape"})
    }
}

table! {
    /// A round shape along z.
    pub struct Round {
        /// Its radius.
        radius: Of<Length>,
        /// Its length (of a capsule: between the centres of the half-balls).
        length: Of<Length>,
    }
}

table! {
    /// A triangle mesh.
    pub struct Mesh {
        /// Corners.
        vertices: Vec<Vector<Length>>,
        /// Three corners each, counter-clockwise seen from outside.
        triangles: Vec<[Count; 3]>,
        /// A file (.stl, .obj, .dae, .glb, .gltf) beside the scene file, in place of vertices and
        /// triangles.
        file: Option<Name>,
        /// What one unit of the file is in metres, along x, y, z: [0.001, 0.001, 0.001] for
        /// millimetres; 1 without this.
        scale: Option<Vector<Pure>>,
        /// True if the convex hull of the mesh stands for it.
        hull: Option<bool>,
    }
}

table! {
    /// Heights over a grid centred at the origin.
    pub struct HeightField {
        /// Number of grid lines across x and across y.
        counts: [Count; 2],
        /// Distance of grid lines in x and in y.
        spacing: [Of<Length>; 2],
        /// Heights; x runs fastest.
        heights: Vec<Of<Length>>,
    }
}
