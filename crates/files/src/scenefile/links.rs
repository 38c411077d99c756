//! The tables of joints, motors, gears and forces.

use super::frame::{Frame, Rotation};
use super::live::{Driven, Late};
use super::read::{table, words};
use super::value::*;

words! {
    /// The kind of a joint.
    pub enum JointKind {
        /// Points coincide.
        Spherical = "spherical",
        /// A hinge about the axis.
        Revolute = "revolute",
        /// A slider along the axis.
        Prismatic = "prismatic",
        /// A hinge that slides along the axis.
        Cylindrical = "cylindrical",
        /// A cross of two axes.
        Universal = "universal",
        /// Welded.
        Fixed = "fixed",
        /// Planes across the axis coincide.
        Planar = "planar",
        /// The point of b stays on the axis of a.
        PointOnLine = "point_on_line",
        /// The point of b stays in the plane across the axis of a.
        PointOnPlane = "point_on_plane",
        /// A massless rod.
        Distance = "distance",
        /// Holds nothing; for motors and limits.
        Free = "free",
    }
}

table! {
    /// A joint between two bodies as they stand at the beginning.
    pub struct Joint {
        /// Its name, unique in the scene.
        name: Name,
        /// What it holds.
        kind: JointKind,
        /// First body; the ground without this.
        a: Option<Name>,
        /// Second body.
        b: Name,
        /// Where it is in the world; the place of b without this.
        position: Option<Vector<Length>>,
        /// Its axis in the world, of any length; z without this.
        axis: Option<Vector<Pure>>,
        /// The first axis of its frame, for universal joints; any without this.
        x_axis: Option<Vector<Pure>>,
        /// Its frame on body a, if not given by position and axis.
        frame_a: Option<Frame>,
        /// Its frame on body b, if not given by position and axis.
        frame_b: Option<Frame>,
        /// The two ends of a rod in the world (distance joints).
        points: Option<[Vector<Length>; 2]>,
        /// Length of a rod; the distance of its ends without this.
        length: Option<Of<Length>>,
        /// Stops.
        limits: Option<Limits>,
        /// Dry friction: greatest force or torque.
        friction: Option<JointFriction>,
        /// Inertia of a rotor that turns with the joint, seen from the joint.
        armature: Option<JointArmature>,
        /// Compliance of every part; 0 is rigid.
        compliance: Option<Of<Compliance>>,
        /// What it transmits at most before it breaks, for good.
        breaks: Option<Breaks>,
        /// True if the two bodies may also touch each other.
        collide: Option<bool>,
    }
}

table! {
    /// What a joint transmits at most.
    pub struct Breaks {
        /// Force.
        force: Option<Of<super::value::Force>>,
        /// Torque about the point of the joint.
        torque: Option<Of<Torque>>,
    }
}

table! {
    /// Stops of a joint: least and greatest value.
    pub struct Limits {
        /// Of the displacement along the axis.
        slide: Option<[Of<Length>; 2]>,
        /// Of the angle about the axis.
        angle: Option<[Of<Angle>; 2]>,
        /// Of the distance of the two points.
        distance: Option<[Of<Length>; 2]>,
        /// Restitution of the stops.
        restitution: Option<Of<Pure>>,
    }
}

table! {
    /// Dry friction of a joint.
    pub struct JointFriction {
        /// Greatest force along the axis.
        slide: Option<Of<super::value::Force>>,
        /// Greatest torque about the axis.
        angle: Option<Of<Torque>>,
    }
}

table! {
    /// Inertia of the rotor of a joint, behind its gear: that of the rotor times the square of the
    /// ratio.
    pub struct JointArmature {
        /// Along the axis.
        slide: Option<Of<Mass>>,
        /// About the axis.
        angle: Option<Of<Inertia>>,
    }
}

table! {
    /// A motor: exactly one of slide, speed, force, angle, angular_speed, torque.
    pub struct Motor {
        /// Its name, unique in the scene.
        name: Name,
        /// The joint that it drives.
        joint: Name,
        /// Imposed displacement along the axis.
        slide: Option<Driven<Length>>,
        /// Imposed speed along the axis.
        speed: Option<Driven<Speed>>,
        /// Force along the axis.
        force: Option<Driven<super::value::Force>>,
        /// Imposed angle about the axis.
        angle: Option<Driven<Angle>>,
        /// Imposed angular speed about the axis.
        angular_speed: Option<Driven<AngularSpeed>>,
        /// Torque about the axis.
        torque: Option<Driven<Torque>>,
        /// With `slide` or `angle`: a servo of this stiffness, which pulls towards the target
        /// instead of imposing it.
        stiffness: Option<Either<Stiffness, AngularStiffness>>,
        /// With `slide`, `speed`, `angle`, `angular_speed`: damping of the servo, against the rate
        /// of the target.
        damping: Option<Either<Damping, AngularDamping>>,
        /// With `speed`, or of a servo: the greatest force it may cost.
        max_force: Option<Of<super::value::Force>>,
        /// With `angular_speed`, or of a servo: the greatest torque it may cost.
        max_torque: Option<Of<Torque>>,
        /// Where the value is a formula over what is measured ("-40*knee.angle - 2*knee.rate"): the
        /// time between two looks; every step without this.
        every: Option<Of<Time>>,
        /// Further joints that a servo, force or torque acts on, as a tendon does: on the
        /// coordinate of `joint` plus the sum of factor times coordinate (at most 2 terms; angles
        /// in rad, displacements in m).
        also: Option<Vec<Term>>,
    }
}

table! {
    /// Angles of two joints: `second` turns `ratio` times as far as `first`.
    pub struct Ratio {
        /// The first joint.
        first: Name,
        /// The second joint.
        second: Name,
        /// Angle of the second per angle of the first; negative: the other way round.
        ratio: Of<Pure>,
    }
}

table! {
    /// A rack on a pinion.
    pub struct Rack {
        /// The turning joint.
        pinion: Name,
        /// The sliding joint.
        slider: Name,
        /// Displacement per radian.
        radius: Of<Length>,
    }
}

table! {
    /// One coordinate of a general gear.
    pub struct Term {
        /// The joint.
        joint: Name,
        /// Factor of its angle.
        angle: Option<Of<Pure>>,
        /// Factor of its displacement.
        slide: Option<Of<Pure>>,
    }
}

table! {
    /// A gear: exactly one of ratio, rack, terms.
    pub struct Gear {
        /// Its name, unique in the scene.
        name: Name,
        /// A gear pair.
        ratio: Option<Ratio>,
        /// A rack and pinion.
        rack: Option<Rack>,
        /// The sum of factor times coordinate stays as it is (2 or 3 terms; angles in rad,
        /// displacements in m).
        terms: Option<Vec<Term>>,
    }
}

table! {
    /// A force: exactly one of spring, torsion, bushing, drag, applied, tension.
    pub struct Force {
        /// Its name, unique in the scene.
        name: Name,
        /// A spring and damper between two points.
        spring: Option<Spring>,
        /// A spring and damper about an axis.
        torsion: Option<Torsion>,
        /// Stiffness and damping in all six directions.
        bushing: Option<Bushing>,
        /// Resistance of a medium at rest.
        drag: Option<Drag>,
        /// A force and a torque as functions of time.
        applied: Option<Applied>,
        /// A pull between two points by a formula.
        tension: Option<Tension>,
    }
}

table! {
    /// A pull between two points of the world as the bodies stand at the beginning: a spring that
    /// is not linear.
    pub struct Tension {
        /// First body; the ground without this.
        a: Option<Name>,
        /// Second body.
        b: Name,
        /// Its two ends; the places of the bodies without this.
        points: Option<[Vector<Length>; 2]>,
        /// The pull, a formula of `length` and `rate` (of the length), `t`, sensors and variables:
        /// "1e4*(length - 0.2)^3 + 5*rate".
        pull: Late,
    }
}

table! {
    /// A spring and damper between two points of the world as the bodies stand at the beginning.
    pub struct Spring {
        /// First body; the ground without this.
        a: Option<Name>,
        /// Second body.
        b: Name,
        /// Its two ends; the places of the bodies without this.
        points: Option<[Vector<Length>; 2]>,
        /// Length without force; the distance of its ends without this.
        length: Option<Of<Length>>,
        /// Stiffness.
        stiffness: Of<Stiffness>,
        /// Damping.
        damping: Option<Of<Damping>>,
    }
}

table! {
    /// A spring and damper about an axis.
    pub struct Torsion {
        /// First body; the ground without this.
        a: Option<Name>,
        /// Second body.
        b: Name,
        /// A point of the axis; the place of b without this.
        position: Option<Vector<Length>>,
        /// The axis; z without this.
        axis: Option<Vector<Pure>>,
        /// Angle without torque; 0, the initial one, without this.
        angle: Option<Of<Angle>>,
        /// Stiffness.
        stiffness: Of<AngularStiffness>,
        /// Damping.
        damping: Option<Of<AngularDamping>>,
    }
}

table! {
    /// Stiffness and damping along and about the axes of the world.
    pub struct Bushing {
        /// First body; the ground without this.
        a: Option<Name>,
        /// Second body.
        b: Name,
        /// Where it is; the place of b without this.
        position: Option<Vector<Length>>,
        /// How its axes are turned.
        rotation: Option<At<Rotation>>,
        /// Stiffness along its three axes.
        stiffness: Vector<Stiffness>,
        /// Stiffness about its three axes.
        angular_stiffness: Option<Vector<AngularStiffness>>,
        /// Damping along its three axes.
        damping: Option<Vector<Damping>>,
        /// Damping about its three axes.
        angular_damping: Option<Vector<AngularDamping>>,
    }
}

table! {
    /// Resistance of a medium at rest.
    pub struct Drag {
        /// The body.
        body: Name,
        /// Force per speed.
        linear: Option<Of<Damping>>,
        /// Force per square of the speed.
        quadratic: Option<Of<QuadraticDamping>>,
        /// Torque per angular speed.
        angular: Option<Of<AngularDamping>>,
    }
}

table! {
    /// A force at a point and a torque.
    pub struct Applied {
        /// The body.
        body: Name,
        /// Where the force acts, in the world as the body stands at the beginning; the centre of
        /// mass without this.
        point: Option<Vector<Length>>,
        /// The force.
        force: Option<[Driven<super::value::Force>; 3]>,
        /// The torque.
        torque: Option<[Driven<Torque>; 3]>,
        /// True if force and torque turn with the body.
        follows: Option<bool>,
    }
}
