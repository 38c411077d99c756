//! Units and dimensions.

use std::f64::consts::{PI, TAU};

/// Exponents of length, mass, time and angle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Dimension {
    /// Of length, m.
    pub length: i8,
    /// Of mass, kg.
    pub mass: i8,
    /// Of time, s.
    pub time: i8,
    /// Of angle, rad.
    pub angle: i8,
}

impl Dimension {
    /// A pure number.
    pub const NONE: Dimension = Dimension::new(0, 0, 0, 0);

    /// From the four exponents.
    pub const fn new(length: i8, mass: i8, time: i8, angle: i8) -> Dimension {
        Dimension { length, mass, time, angle }
    }

    /// The exponents of a product with the power `n` of another.
    pub fn times(self, other: Dimension, n: i8) -> Dimension {
        let add = |a: i8, b: i8| a.saturating_add(b.saturating_mul(n));
        Dimension::new(
            add(self.length, other.length),
            add(self.mass, other.mass),
            add(self.time, other.time),
            add(self.angle, other.angle),
        )
    }

    /// Whether a value of this dimension serves where `wanted` is wanted.
    ///
    /// A radian is a pure number in mechanics: N m and N m/rad are not told apart; a pure angle or
    /// angular speed must say that it is one (10 Hz is not 10 rad/s).
    pub fn serves(self, wanted: Dimension) -> bool {
        let same = (self.length, self.mass, self.time) == (wanted.length, wanted.mass, wanted.time);
        same && (self.angle == wanted.angle || wanted.length != 0 || wanted.mass != 0)
    }

    /// In SI units: `kg m/s^2`.
    pub fn symbol(self) -> String {
        const KNOWN: [(Dimension, &str); 10] = [
            (Dimension::NONE, "a pure number"),
            (Dimension::new(1, 1, -2, 0), "N"),
            (Dimension::new(2, 1, -2, 0), "N m"),
            (Dimension::new(0, 1, -2, 0), "N/m"),
            (Dimension::new(0, 1, -1, 0), "N s/m"),
            (Dimension::new(2, 1, -2, -1), "N m/rad"),
            (Dimension::new(2, 1, -1, -1), "N m s/rad"),
            (Dimension::new(0, -1, 2, 0), "m/N"),
            (Dimension::new(0, 0, -1, 0), "Hz"),
            (Dimension::new(-1, 1, -2, 0), "Pa"),
        ];
        if let Some((_, name)) = KNOWN.iter().find(|(d, _)| *d == self) {
            return name.to_string();
        }
        let parts = [("kg", self.mass), ("m", self.length), ("rad", self.angle), ("s", self.time)];
        let power =
            |name: &str, n: i8| if n == 1 { name.to_string() } else { format!("{name}^{n}") };
        let above: Vec<String> =
            parts.iter().filter(|(_, n)| *n > 0).map(|(name, n)| power(name, *n)).collect();
        let below: Vec<String> =
            parts.iter().filter(|(_, n)| *n < 0).map(|(name, n)| power(name, -n)).collect();
        let above = if above.is_empty() { "1".into() } else { above.join(" ") };
        if below.is_empty() { above } else { format!("{above}/{}", below.join("/")) }
    }
}

/// A value in SI units with its dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// The value, SI.
    pub value: f64,
    /// Its dimension.
    pub dimension: Dimension,
}

const fn unit(value: f64, length: i8, mass: i8, time: i8, angle: i8) -> Quantity {
    Quantity { value, dimension: Dimension::new(length, mass, time, angle) }
}

/// Every unit that a scene may name.
pub const UNITS: &[(&str, Quantity)] = &[
    ("m", unit(1.0, 1, 0, 0, 0)),
    ("km", unit(1e3, 1, 0, 0, 0)),
    ("dm", unit(1e-1, 1, 0, 0, 0)),
    ("cm", unit(1e-2, 1, 0, 0, 0)),
    ("mm", unit(1e-3, 1, 0, 0, 0)),
    ("um", unit(1e-6, 1, 0, 0, 0)),
    ("nm", unit(1e-9, 1, 0, 0, 0)),
    ("inch", unit(0.0254, 1, 0, 0, 0)),
    ("ft", unit(0.3048, 1, 0, 0, 0)),
    ("kg", unit(1.0, 0, 1, 0, 0)),
    ("g", unit(1e-3, 0, 1, 0, 0)),
    ("mg", unit(1e-6, 0, 1, 0, 0)),
    ("tonne", unit(1e3, 0, 1, 0, 0)),
    ("lb", unit(0.45359237, 0, 1, 0, 0)),
    ("s", unit(1.0, 0, 0, 1, 0)),
    ("ms", unit(1e-3, 0, 0, 1, 0)),
    ("us", unit(1e-6, 0, 0, 1, 0)),
    ("min", unit(60.0, 0, 0, 1, 0)),
    ("rad", unit(1.0, 0, 0, 0, 1)),
    ("mrad", unit(1e-3, 0, 0, 0, 1)),
    ("deg", unit(PI / 180.0, 0, 0, 0, 1)),
    ("turn", unit(TAU, 0, 0, 0, 1)),
    ("rpm", unit(TAU / 60.0, 0, 0, -1, 1)),
    ("Hz", unit(1.0, 0, 0, -1, 0)),
    ("kHz", unit(1e3, 0, 0, -1, 0)),
    ("N", unit(1.0, 1, 1, -2, 0)),
    ("mN", unit(1e-3, 1, 1, -2, 0)),
    ("kN", unit(1e3, 1, 1, -2, 0)),
    ("MN", unit(1e6, 1, 1, -2, 0)),
    ("Nm", unit(1.0, 2, 1, -2, 0)),
    ("J", unit(1.0, 2, 1, -2, 0)),
    ("mJ", unit(1e-3, 2, 1, -2, 0)),
    ("kJ", unit(1e3, 2, 1, -2, 0)),
    ("W", unit(1.0, 2, 1, -3, 0)),
    ("kW", unit(1e3, 2, 1, -3, 0)),
    ("Pa", unit(1.0, -1, 1, -2, 0)),
    ("kPa", unit(1e3, -1, 1, -2, 0)),
    ("MPa", unit(1e6, -1, 1, -2, 0)),
    ("GPa", unit(1e9, -1, 1, -2, 0)),
    ("percent", unit(1e-2, 0, 0, 0, 0)),
];

/// The unit of this name.
pub fn named(name: &str) -> Option<Quantity> {
    UNITS.iter().find(|(n, _)| *n == name).map(|(_, u)| *u)
}

/// The units in which a file gives its plain numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Units {
    /// Unit of length, m.
    pub length: f64,
    /// Unit of mass, kg.
    pub mass: f64,
    /// Unit of time, s.
    pub time: f64,
    /// Unit of angle, rad.
    pub angle: f64,
}

impl Default for Units {
    fn default() -> Units {
        Units { length: 1.0, mass: 1.0, time: 1.0, angle: 1.0 }
    }
}

impl Units {
    /// A plain number of a dimension, in SI.
    pub fn si(&self, number: f64, d: Dimension) -> f64 {
        let mut value = number;
        // One rounding per factor, and none where the unit is SI.
        for (unit, n) in [
            (self.length, d.length),
            (self.mass, d.mass),
            (self.time, d.time),
            (self.angle, d.angle),
        ] {
            if unit != 1.0 && n != 0 {
                value *= unit.powi(n.into());
            }
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_numbers_follow_the_declared_units() {
        let units = Units { length: 1e-3, mass: 1e-3, ..Units::default() };
        // 9810 mm/s² is 9.81 m/s²; a g mm/s² is a micronewton.
        assert!((units.si(9810.0, Dimension::new(1, 0, -2, 0)) - 9.81).abs() < 1e-14);
        assert!((units.si(1.0, Dimension::new(1, 1, -2, 0)) - 1e-6).abs() < 1e-21);
        assert_eq!(Units::default().si(0.1, Dimension::new(3, 1, 0, 0)), 0.1);
    }

    #[test]
    fn angles_are_told_apart_only_where_they_matter() {
        let torque = Dimension::new(2, 1, -2, 0);
        assert!(torque.serves(Dimension::new(2, 1, -2, -1)));
        let hertz = Dimension::new(0, 0, -1, 0);
        assert!(!hertz.serves(Dimension::new(0, 0, -1, 1)));
        assert_eq!(Dimension::new(-3, 1, 0, 0).symbol(), "kg/m^3");
        assert_eq!(Dimension::new(0, 0, -1, 1).symbol(), "rad/s");
    }
}
