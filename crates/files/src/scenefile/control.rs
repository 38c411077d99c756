//! The tables of sensors, controllers, events and templates.

use super::body::Body;
use super::frame::Rotation;
use super::live::Late;
use super::read::table;
use super::value::*;

table! {
    /// A sensor: exactly one of formula, ray, contact. It is measured after every step; formulas
    /// below it may use its name.
    pub struct SensorTable {
        /// Its name, unique in the scene.
        name: Name,
        /// A formula: "crate.x - 20 cm", "max(left.effort, right.effort)".
        formula: Option<Late>,
        /// The distance along a ray.
        ray: Option<RayTable>,
        /// The contact force between two bodies, or on one from all: its size.
        contact: Option<Many<Name>>,
    }
}

table! {
    /// A ray from a point of a body: how far it goes until it meets another body.
    pub struct RayTable {
        /// The body that carries it; the ground without this. It is not seen.
        body: Option<Name>,
        /// Where it begins, in the world as the body stands at the beginning.
        position: Vector<Length>,
        /// Where it goes, of any length.
        direction: Vector<Pure>,
        /// How far it sees; that is what it gives if it meets nothing.
        reach: Of<Length>,
    }
}

table! {
    /// A controller: tells a motor (or a component of an applied force) what to do, by a formula or
    /// by PID.
    pub struct ControllerTable {
        /// Its name, unique in the scene.
        name: Name,
        /// The motor: what it is told is what its table gives (`torque`, `angle`, …).
        motor: Option<Name>,
        /// The applied force, in place of a motor.
        force: Option<Name>,
        /// Which component of the applied force: "x", "y", "z" (force), "turn_x", "turn_y",
        /// "turn_z" (torque).
        component: Option<Name>,
        /// What it is told.
        formula: Option<Late>,
        /// Proportional, integral and derivative action.
        pid: Option<PidTable>,
        /// Time between two samples; every step without this.
        every: Option<Of<Time>>,
        /// Least and greatest value.
        limits: Option<[Late; 2]>,
    }
}

table! {
    /// `p e + i ∫e dt − d ẏ` with e = target − y.
    pub struct PidTable {
        /// What is controlled, y: "cart.x".
        of: Late,
        /// What it is to be.
        target: Late,
        /// Proportional gain.
        p: Option<Late>,
        /// Integral gain, per time.
        i: Option<Late>,
        /// Derivative gain, times time.
        d: Option<Late>,
    }
}

table! {
    /// An event: happens when its condition becomes true.
    pub struct EventTable {
        /// Its name, unique in the scene; `NAME.count` and `NAME.since` can be measured.
        name: Name,
        /// The condition: "box.x > 1 m and t > 0.5 s".
        when: Late,
        /// True if it happens every time the condition becomes true; once without this.
        again: Option<bool>,
        /// What is done, in this order.
        actions: Many<ActionTable>,
    }
}

table! {
    /// Something that an event does: one of stop, motor, joint, force, contact, set, spawn, remove.
    pub struct ActionTable {
        /// True: the run ends.
        stop: Option<bool>,
        /// A motor: `on`, `target` or `follow`.
        motor: Option<Name>,
        /// A joint: `on`.
        joint: Option<Name>,
        /// A force: `on`.
        force: Option<Name>,
        /// Two bodies (or one, with all others) whose contacts are switched: `on`.
        contact: Option<Many<Name>>,
        /// True or false.
        on: Option<bool>,
        /// What the motor is told from now on.
        target: Option<Late>,
        /// With `target`: reached smoothly within this time; at once without this.
        within: Option<Of<Time>>,
        /// A function of the time since the event that the motor follows, in place of `target`.
        follow: Option<Late>,
        /// A variable: `value`.
        set: Option<Name>,
        /// Its new value.
        value: Option<Late>,
        /// A template, the next body of which comes into the scene.
        spawn: Option<Name>,
        /// Where; as the template says without this.
        position: Option<Vector<Length>>,
        /// How it is turned; as the template says without this.
        rotation: Option<At<Rotation>>,
        /// Velocity of its centre of mass; as the template says without this.
        velocity: Option<Vector<Speed>>,
        /// Angular velocity; as the template says without this.
        angular_velocity: Option<Vector<AngularSpeed>>,
        /// A body that is taken out, or a template the oldest body of which is.
        remove: Option<Name>,
    }
}

table! {
    /// How many bodies a template has.
    pub struct Pool {
        /// How many may be in the scene at once; they are named NAME_0, NAME_1, …
        count: Count,
    }
}

/// Bodies that wait until an event puts them into the scene: a body table with `count`.
pub type Template = Joined<Pool, Body>;
