//! Surfaces: friction, restitution, compliance, and how two of them combine.

use super::MaterialId;
use glam::DVec3;
use serde::{Deserialize, Serialize};

/// The greatest coefficient of friction that a contact works with: larger ones act as this one.
/// Where no normal reaction can hold a contact at it, a larger one changes velocities by less than
/// a millionth, and 10²⁰ times a reaction of rounding is no force.
pub const MAX_FRICTION: f64 = 1e6;

/// What a surface is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Material {
    /// Its name.
    pub name: String,
    /// Coefficient of friction, ≥ 0; above [`MAX_FRICTION`] it acts as that.
    pub mu: f64,
    /// Coefficient of restitution (Newton), 0…1.
    pub restitution: f64,
    /// Compliance of a contact, m/N; 0 is rigid.
    pub compliance: f64,
    /// Damping of a compliant contact, N s/m; without compliance it does nothing.
    pub damping: f64,
    /// Torsional friction, m: a contact of normal force N resists spinning about its normal with a
    /// torque of up to `torsion` N. (2/3 mu a for an even pressure on a disc of radius a.)
    #[serde(default, skip_serializing_if = "is_zero")]
    pub torsion: f64,
    /// Rolling friction, m: it resists rolling with a torque of up to `rolling` N about any axis
    /// across its normal.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rolling: f64,
}

impl Default for Material {
    fn default() -> Material {
        Material {
            name: String::new(),
            mu: 0.5,
            restitution: 0.0,
            compliance: 0.0,
            damping: 0.0,
            torsion: 0.0,
            rolling: 0.0,
        }
    }
}

/// The surface of one collider.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SurfaceMaterial {
    /// What it is made of.
    pub material: MaterialId,
    /// Velocity of the surface relative to its body, in body axes, m/s: a conveyor belt.
    pub belt: DVec3,
}

impl Default for SurfaceMaterial {
    fn default() -> SurfaceMaterial {
        SurfaceMaterial { material: MaterialId::DEFAULT, belt: DVec3::ZERO }
    }
}

impl From<MaterialId> for SurfaceMaterial {
    fn from(material: MaterialId) -> SurfaceMaterial {
        SurfaceMaterial { material, ..SurfaceMaterial::default() }
    }
}

/// How a property of two surfaces becomes one of their contact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The mean of both.
    Average,
    /// The smaller.
    #[default]
    Minimum,
    /// The greater.
    Maximum,
    /// The product.
    Product,
    /// The root of the product.
    GeometricMean,
}

impl Rule {
    /// Combines two values.
    pub fn combine(self, a: f64, b: f64) -> f64 {
        match self {
            Rule::Average => 0.5 * (a + b),
            Rule::Minimum => a.min(b),
            Rule::Maximum => a.max(b),
            Rule::Product => a * b,
            Rule::GeometricMean => (a * b).sqrt(),
        }
    }
}

/// The rules of a scene. Compliances always add (springs in a row); of two dampings, torsional and
/// rolling frictions the greater counts: a tyre rolls as hard on a floor of which nothing is said.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// Rule for friction.
    pub mu: Rule,
    /// Rule for restitution.
    pub restitution: Rule,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { mu: Rule::Minimum, restitution: Rule::Maximum }
    }
}

/// What a contact of two surfaces is like.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Surface {
    /// Coefficient of friction.
    pub mu: f64,
    /// Coefficient of restitution.
    pub restitution: f64,
    /// Compliance, m/N.
    pub compliance: f64,
    /// Damping, N s/m.
    pub damping: f64,
    /// Torsional friction, m.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub torsion: f64,
    /// Rolling friction, m.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rolling: f64,
}

fn is_zero(x: &f64) -> bool {
    *x == 0.0
}

impl Rules {
    /// The contact of `a` with `b`: symmetric in both.
    pub fn surface(&self, a: &Material, b: &Material) -> Surface {
        Surface {
            mu: self.mu.combine(a.mu, b.mu),
            restitution: self.restitution.combine(a.restitution, b.restitution),
            compliance: a.compliance + b.compliance,
            damping: a.damping.max(b.damping),
            torsion: a.torsion.max(b.torsion),
            rolling: a.rolling.max(b.rolling),
        }
    }
}
