//! Values with units and small formulas: `12 mm`, `2.5 N m/rad`, `2*radius + 1 mm`, `10^i kg`,
//! `-40*knee.angle - 2*knee.rate`.
//!
//! ```text
//!   either  = both { "or" both }
//!   both    = denied { "and" denied }
//!   denied  = "not" denied | compare
//!   compare = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum ]
//!   sum     = product { ("+" | "-") product }
//!   product = signed { ("*" | "/" | nothing) signed }      left to right: N/m s is N s/m
//!   signed  = ["-"] power
//!   power   = atom ["^" signed]
//!   atom    = number | name | name "." name | name "(" either {"," either} ")" | "(" either ")"
//! ```
//!
//! A name is a parameter or index of the scene, the constant `pi`, or a unit; a parameter cannot
//! have the name of a unit. Where something is measured ([`Names::measured`]), a name is also a
//! sensor, a variable or the time, and `knee.angle` a quantity of a thing; names that are no words
//! stand in quotes: `'left/knee'.angle`. Every operation checks dimensions.

mod parser;

use super::unit::{Dimension, Quantity, Units};
use parser::Parser;
use signorini_mechanics::scene::Formula;
use std::ops::Range;

/// What is wrong with a formula, and where in its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Wrong {
    /// Bytes of the text.
    pub range: Range<usize>,
    /// What was found.
    pub message: String,
    /// What was wanted.
    pub wanted: String,
}

/// A formula with its dimension; its value is in SI.
#[derive(Clone, Debug, PartialEq)]
pub struct Typed {
    /// The formula.
    pub formula: Formula,
    /// Its dimension.
    pub dimension: Dimension,
}

/// Names of a scene: parameters and indices.
pub trait Names {
    /// The value of a name, if it exists; an error if it has none.
    fn value(&mut self, name: &str) -> Option<Result<Quantity, String>>;
    /// All names, for suggestions.
    fn all(&self) -> Vec<String>;
    /// Something measured: a sensor, a variable, `t`, or a quantity of a thing (`knee.angle`); an
    /// error says what is wrong with it.
    fn measured(&mut self, _name: &str, _quantity: Option<&str>) -> Option<Result<Typed, String>> {
        None
    }
}
/// The value of a formula.
pub fn evaluate(text: &str, names: &mut dyn Names) -> Result<Quantity, Wrong> {
    let mut parser = Parser::new(text, names, None);
    let Typed { formula, dimension } = parser.whole()?;
    let whole = 0..text.len();
    let Some(value) = formula.number() else {
        let wanted = "wanted a value that does not change: numbers, units and parameters";
        return Err(Wrong {
            range: whole,
            message: "this speaks of something measured".into(),
            wanted: wanted.into(),
        });
    };
    if !value.is_finite() {
        return Err(Wrong {
            range: whole,
            message: format!("the value is {value}"),
            wanted: "wanted a finite number".into(),
        });
    }
    Ok(Quantity { value, dimension })
}

/// A formula over what is measured, in SI, of a dimension (of any without one).
///
/// If no unit and no parameter with a unit stands in it, its dimensions need not fit: then
/// everything is a plain number in the units of the file.
pub fn compile(
    text: &str,
    names: &mut dyn Names,
    units: &Units,
    wanted: Option<Dimension>,
) -> Result<Typed, Wrong> {
    let mut parser = Parser::new(text, names, None);
    let typed = parser.whole();
    let dimensioned = parser.dimensioned;
    let scaled = |formula: Formula, dimension: Dimension| {
        let unit = units.si(1.0, dimension);
        Typed { formula: if unit == 1.0 { formula } else { formula * unit }, dimension }
    };
    let wrong = match typed {
        Ok(typed) if wanted.is_none_or(|w| typed.dimension.serves(w)) => return Ok(typed),
        Ok(typed) if typed.dimension == Dimension::NONE && !dimensioned => {
            return Ok(scaled(typed.formula, wanted.unwrap_or_default()));
        }
        Ok(typed) => {
            let symbol = wanted.unwrap_or_default().symbol();
            let message = format!("\"{text}\" is in {}", typed.dimension.symbol());
            Wrong { range: 0..text.len(), message, wanted: format!("wanted {symbol}") }
        }
        Err(wrong) => wrong,
    };
    if dimensioned {
        return Err(wrong);
    }
    let plain = Parser::new(text, names, Some(*units)).whole();
    // What is wrong without units is what is wrong.
    plain.map(|typed| scaled(typed.formula, wanted.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::parser::ANGLE;
    use super::*;
    use std::f64::consts::PI;

    struct One;
    impl Names for One {
        fn value(&mut self, name: &str) -> Option<Result<Quantity, String>> {
            match name {
                "radius" => {
                    Some(Ok(Quantity { value: 0.035, dimension: Dimension::new(1, 0, 0, 0) }))
                }
                "i" => Some(Ok(Quantity { value: 3.0, dimension: Dimension::NONE })),
                _ => None,
            }
        }
        fn all(&self) -> Vec<String> {
            vec!["radius".into(), "i".into()]
        }
        fn measured(
            &mut self,
            name: &str,
            quantity: Option<&str>,
        ) -> Option<Result<Typed, String>> {
            use signorini_mechanics::scene::Quantity::{Length, LengthRate, Time};
            let typed = |q: signorini_mechanics::scene::Quantity, dimension| {
                Some(Ok(Typed { formula: q.into(), dimension }))
            };
            match (name, quantity) {
                ("t", None) => typed(Time, Dimension::new(0, 0, 1, 0)),
                ("knee" | "left/knee", Some("angle")) => typed(Length, ANGLE),
                ("knee", Some("rate")) => typed(LengthRate, Dimension::new(0, 0, -1, 1)),
                ("knee", Some(_)) => Some(Err("wanted angle or rate".into())),
                _ => None,
            }
        }
    }

    /// With t = 2 s, knee.angle = 0.5 rad, knee.rate = −1 rad/s.
    fn measured(text: &str, units: &Units, wanted: Option<Dimension>) -> Result<f64, Wrong> {
        use signorini_mechanics::scene::Quantity::{Length, Time};
        let typed = compile(text, &mut One, units, wanted)?;
        Ok(typed.formula.value(&mut |q| match q {
            Time => 2.0,
            Length => 0.5,
            _ => -1.0,
        }))
    }

    #[test]
    fn formulas_over_what_is_measured() {
        let (si, torque) = (Units::default(), Some(Dimension::new(2, 1, -2, 0)));
        let degrees = Units { angle: PI / 180.0, ..si };
        assert_eq!(measured("-40*knee.angle - 2*knee.rate", &si, torque), Ok(-18.0));
        assert_eq!(
            measured("-40 N m/rad * knee.angle - 2 N m s/rad * knee.rate", &degrees, torque),
            Ok(-18.0)
        );
        // Plain numbers are in the units of the file: 1 N m per degree.
        assert!(
            (measured("knee.angle + 0*knee.rate", &degrees, torque).unwrap() - 0.5 * 180.0 / PI)
                .abs()
                < 1e-12
        );
        assert_eq!(measured("knee.angle > 20 deg and t >= 2 s", &si, None), Ok(1.0));
        assert_eq!(measured("not (knee.angle > 20 deg) or t != 2 s", &si, None), Ok(0.0));
        assert_eq!(measured("if('left/knee'.angle < 1, 3, 4)", &si, None), Ok(3.0));
        assert_eq!(measured("clamp(t, 0 s, 1 s)", &si, Some(Dimension::new(0, 0, 1, 0))), Ok(1.0));
        assert_eq!(measured("2*radius + 0.1 m", &si, Some(Dimension::new(1, 0, 0, 0))), Ok(0.17));
        for (text, says) in [
            ("knee.angle > 1 m", "wanted one dimension"),
            ("knee.angel", "wanted angle or rate"),
            ("hip.angle", "neither"),
            ("3 N + t", "one dimension"),
            ("2 N * t", "wanted N m"),
            ("'knee", "quote"),
            ("t and", "ends too early"),
        ] {
            let wrong = measured(text, &si, torque).unwrap_err();
            assert!(
                format!("{} {}", wrong.message, wrong.wanted).contains(says),
                "{text}: {wrong:?}"
            );
        }
        assert!(evaluate("t + 1 s", &mut One).is_err());
        assert!(compile(&"t+".repeat(100_000), &mut One, &si, None).is_err());
        assert!(compile(&"not ".repeat(100_001), &mut One, &si, None).is_err());
    }

    fn value(text: &str) -> (f64, String) {
        let q = evaluate(text, &mut One).unwrap();
        (q.value, q.dimension.symbol())
    }

    #[test]
    fn formulas_have_values_and_dimensions() {
        assert_eq!(value("12 mm"), (0.012, "m".into()));
        assert_eq!(value("2.5 N m/rad"), (2.5, "N m/rad".into()));
        assert_eq!(value("-9.81 m/s^2"), (-9.81, "m/s^2".into()));
        assert!((value("2*radius + 1 mm").0 - 0.071).abs() < 1e-16);
        assert_eq!(value("10^i kg"), (1000.0, "kg".into()));
        assert_eq!(value("-2^2").0, -4.0);
        assert!((value("cos(60 deg)").0 - 0.5).abs() < 1e-15);
        assert_eq!(value("sqrt(4 m^2)"), (2.0, "m".into()));
        assert_eq!(value("(8 m^3)^(1/3)"), (2.0, "m".into()));
        assert_eq!(value("max(1 m, 20 cm)").0, 1.0);
        assert_eq!(value("1e3 kg/m^3"), (1000.0, "kg/m^3".into()));
        assert_eq!(value("60 rpm").1, "rad/s");
        assert!((value("30°").0 - PI / 6.0).abs() < 1e-15);
        assert_eq!(value("5 µm").0, value("5 um").0);
    }

    #[test]
    fn wrong_formulas_say_where_and_why() {
        for (text, range, says) in [
            ("12 mmm", 3..6, "did you mean `mm`"),
            ("2*radios", 2..8, "did you mean `radius`"),
            ("1 m + 1 s", 0..9, "wanted one dimension"),
            ("(1", 2..2, "wanted `)`"),
            ("1.2.3", 0..5, "wanted one such"),
            ("2^(1 m)", 2..7, "pure number"),
            ("", 0..0, "a number"),
            ("sin(1 m)", 0..8, "pure number"),
            ("1/0", 0..3, "finite"),
            ("3 m ]", 4..5, "the end"),
        ] {
            let wrong = evaluate(text, &mut One).unwrap_err();
            assert_eq!(wrong.range, range, "{text}");
            assert!(
                format!("{} {}", wrong.message, wrong.wanted).contains(says),
                "{text}: {wrong:?}"
            );
        }
        assert!(evaluate(&"(".repeat(100_000), &mut One).is_err());
        assert!(evaluate(&"2^".repeat(100_000), &mut One).is_err());
        assert!(evaluate("é ∑ 1", &mut One).is_err());
    }
}
