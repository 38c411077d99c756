//! Tables of a scene file for surfaces: materials, their pairs, and how contacts are found.

use super::read::{table, words};
use super::soft::Penalty;
use super::value::*;

table! {
    /// What a surface is made of.
    pub struct Material {
        /// Coefficient of friction; 0.5 without this.
        mu: Option<Of<Pure>>,
        /// Coefficient of restitution (Newton), 0 to 1; 0 without this.
        restitution: Option<Of<Pure>>,
        /// Compliance of a contact; 0 (rigid) without this.
        compliance: Option<Of<Compliance>>,
        /// Damping of a compliant contact.
        damping: Option<Of<Damping>>,
        /// Torsional friction: the torque against spinning, for each unit of normal force.
        torsion: Option<Of<Length>>,
        /// Rolling friction: the torque against rolling, for each unit of normal force.
        rolling: Option<Of<Length>>,
        /// Density of bodies made of it that name neither mass nor density.
        density: Option<Of<Density>>,
    }
}

table! {
    /// The contact of two materials, whatever the rules say.
    pub struct Surface {
        /// The two materials.
        between: [Name; 2],
        /// Coefficient of friction; by the rule without this.
        mu: Option<Of<Pure>>,
        /// Coefficient of restitution; by the rule without this.
        restitution: Option<Of<Pure>>,
        /// Compliance; the sum of both without this.
        compliance: Option<Of<Compliance>>,
        /// Damping; the greater without this.
        damping: Option<Of<Damping>>,
        /// Torsional friction; the greater without this.
        torsion: Option<Of<Length>>,
        /// Rolling friction; the greater without this.
        rolling: Option<Of<Length>>,
    }
}

table! {
    /// Bodies that never touch each other.
    pub struct Exclude {
        /// The bodies: any two of them.
        bodies: Vec<Name>,
        /// True if only those that overlap at the beginning are meant.
        overlapping: Option<bool>,
    }
}

words! {
    /// How a property of two surfaces becomes one of their contact.
    pub enum Rule {
        /// The mean of both.
        Average = "average",
        /// The smaller.
        Minimum = "minimum",
        /// The greater.
        Maximum = "maximum",
        /// The product.
        Product = "product",
        /// The root of the product.
        GeometricMean = "geometric_mean",
    }
}

table! {
    /// How contacts are found and combined.
    pub struct Contact {
        /// Rule for friction; "minimum" without this.
        mu: Option<Rule>,
        /// Rule for restitution; "maximum" without this.
        restitution: Option<Rule>,
        /// The material of bodies that name none; mu = 0.5, no rebound without this.
        material: Option<Name>,
        /// Pairs of bodies that never touch.
        exclude: Vec<[Name; 2]>,
        /// Gaps up to this are contacts of the next step; chosen from speeds without this.
        prediction: Option<Of<Length>>,
        /// Greatest speed at which overlap is undone; bodies do not keep it.
        recovery_speed: Option<Of<Speed>>,
        /// Approach slower than this does not rebound.
        rebound_speed: Option<Of<Speed>>,
        /// How impacts of one step act on each other; "simultaneous" without this.
        impacts: Option<Impacts>,
        /// True: contacts of two faces are perfectly rigid. Without this they yield at the velocity
        /// tolerance (a nanometre in 1 ms), so that they share their load.
        rigid: Option<bool>,
        /// Springs in place of rigid contacts.
        penalty: Option<Penalty>,
    }
}

words! {
    /// How impacts of one step act on each other.
    pub enum Impacts {
        /// Contacts that touch answer at once, as one solid would.
        Simultaneous = "simultaneous",
        /// One contact after the other, in the order of time: a cradle hands the blow through.
        Sequence = "sequence",
    }
}
