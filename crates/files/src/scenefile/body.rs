//! The tables of bodies: `[[body]]`, its inertia, its imposed motion.

use super::frame::Rotation;
use super::node::{Node, Value};
use super::read::{Read, Reader, table};
use super::shape::Shape;
use super::value::*;
use serde_json::{Map, Value as Json, json};

table! {
    /// A body: rigid with a mass, or `fixed`, or moved by a `motion`.
    pub struct Body {
        /// Its name, unique in the scene; "ground" is there already.
        name: Name,
        /// True if it never moves.
        fixed: Option<bool>,
        /// It moves as told, whatever pushes against it.
        motion: Option<Box<Motion>>,
        /// Its mass.
        mass: Option<Of<Mass>>,
        /// Its density, if no mass is given.
        density: Option<Of<Density>>,
        /// Inertia about the centre of mass: three principal moments, or the rows of the matrix;
        /// from the shapes without this.
        inertia: Option<Box<InertiaForm>>,
        /// Centre of mass in the frame of the body; from the shapes without this.
        center: Option<Vector<Length>>,
        /// What touches: one shape or a list of shapes.
        shape: Many<Shape>,
        /// What it is drawn by in place of `shape`: one shape or a list, which touch nothing and
        /// weigh nothing.
        visual: Many<Shape>,
        /// Where the frame of the body is at the beginning.
        position: Option<Vector<Length>>,
        /// How it is turned at the beginning.
        rotation: Option<Box<At<Rotation>>>,
        /// Velocity of the centre of mass at the beginning.
        velocity: Option<Vector<Speed>>,
        /// Angular velocity at the beginning, along the axes of the world.
        angular_velocity: Option<Vector<AngularSpeed>>,
        /// What its surface is made of.
        material: Option<Name>,
        /// What it is drawn in: "#rrggbb"; a colour of our choice without this.
        color: Option<Name>,
        /// The group of its shapes, for `touches`.
        group: Option<Name>,
        /// Groups that it touches; all without this.
        touches: Option<Vec<Name>>,
    }
}

/// Inertia: three principal moments or a matrix.
#[derive(Clone, Copy, Debug)]
pub struct InertiaForm(pub [[f64; 3]; 3]);

impl Read for InertiaForm {
    fn read(node: &Node, reader: &mut Reader<'_>) -> Option<Self> {
        let matrix = matches!(&node.value,
        Value::List(list) if list.iter().any(|x| matches!(x.value, Value::List(_))));
        if matrix {
            let rows = <[Vector<Inertia>; 3]>::read(node, reader)?;
            return Some(InertiaForm(rows.map(|row| row.map(|x| x.si))));
        }
        let d = Vector::<Inertia>::read(node, reader)?;
        Some(InertiaForm(std::array::from_fn(|i| {
            std::array::from_fn(|j| if i == j { d[i].si } else { 0.0 })
        })))
    }
    fn schema(definitions: &mut Map<String, Json>) -> Json {
        json!({"anyOf": [Vector::<Inertia>::schema(definitions),
        <[Vector<Inertia>; 3]>::schema(definitions)]})
    }
}

table! {
    /// An imposed motion: a rotation about an axis of the world, then a displacement, both from the
    /// initial place.
    pub struct Motion {
        /// Displacement along x.
        x: Option<Timed<Length>>,
        /// Displacement along y.
        y: Option<Timed<Length>>,
        /// Displacement along z.
        z: Option<Timed<Length>>,
        /// Angle about the axis.
        angle: Option<Timed<Angle>>,
        /// The axis, of any length; z without this.
        axis: Option<Vector<Pure>>,
        /// A point of the axis; the place of the body without this.
        center: Option<Vector<Length>>,
    }
}
