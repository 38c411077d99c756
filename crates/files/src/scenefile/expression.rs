//! Values with units and small formulas: `12 mm`, `2.5 N m/rad`, `2*radius + 1 mm`, `10^i kg`.
//!
//! ```text
//!   sum     = product { ("+" | "-") product }
//!   product = signed { ("*" | "/" | nothing) signed }      left to right: N/m s is N s/m
//!   signed  = ["-"] power
//!   power   = atom ["^" signed]
//!   atom    = number | name | name "(" sum {"," sum} ")" | "(" sum ")"
//! ```
//!
//! A name is a parameter or index of the scene, the constant `pi`, or a unit; a parameter cannot have the name of a unit.
//! Every operation checks dimensions.

use super::fault::nearest;
use super::unit::{Dimension, Quantity, UNITS, named};
use std::f64::consts::PI;
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

/// Names of a scene: parameters and indices.
pub trait Names {
    /// The value of a name, if it exists; an error if it has none.
    fn value(&mut self, name: &str) -> Option<Result<Quantity, String>>;
    /// All names, for suggestions.
    fn all(&self) -> Vec<String>;
}

const FUNCTIONS: [&str; 14] = ["sin", "cos", "tan", "asin", "acos", "atan", "sqrt", "abs", "exp", "log", "floor", "min", "max", "mod"];

/// The value of a formula.
pub fn evaluate(text: &str, names: &mut dyn Names) -> Result<Quantity, Wrong> {
    let mut parser = Parser { text, at: 0, depth: 0, names };
    let value = parser.sum()?;
    parser.space();
    if parser.at < text.len() {
        return Err(parser.here(format!("`{}` is not understood here", &text[parser.at..]), "the end, or one of + - * / ^"));
    }
    if !value.value.is_finite() {
        return Err(Wrong {
            range: 0..text.len(),
            message: format!("the value is {}", value.value),
            wanted: "wanted a finite number".into(),
        });
    }
    Ok(value)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    names: &'a mut dyn Names,
}

fn pure(value: f64) -> Quantity {
    Quantity { value, dimension: Dimension::NONE }
}

impl Parser<'_> {
    fn here(&self, message: impl Into<String>, wanted: &str) -> Wrong {
        self.over(self.at..self.text.len(), message, format!("wanted {wanted}"))
    }

    fn over(&self, range: Range<usize>, message: impl Into<String>, wanted: impl Into<String>) -> Wrong {
        Wrong { range, message: message.into(), wanted: wanted.into() }
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.text[self.at..].trim_start().len();
    }

    fn peek(&mut self) -> Option<char> {
        self.space();
        self.text[self.at..].chars().next()
    }

    fn sum(&mut self) -> Result<Quantity, Wrong> {
        self.depth += 1;
        if self.depth > 40 {
            return Err(self.here("the formula is nested too deeply", "at most 40 levels"));
        }
        self.space();
        let start = self.at;
        let mut left = self.product()?;
        while let Some(sign @ ('+' | '-')) = self.peek() {
            self.at += 1;
            let right = self.product()?;
            left = self.add(start, left, right, if sign == '+' { 1.0 } else { -1.0 })?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn add(&self, start: usize, a: Quantity, b: Quantity, sign: f64) -> Result<Quantity, Wrong> {
        if a.dimension.serves(b.dimension) || b.dimension.serves(a.dimension) {
            return Ok(Quantity { value: a.value + sign * b.value, dimension: a.dimension });
        }
        let message = format!("this adds {} and {}", a.dimension.symbol(), b.dimension.symbol());
        Err(self.over(start..self.at, message, "wanted one dimension"))
    }

    fn product(&mut self) -> Result<Quantity, Wrong> {
        let mut left = self.signed()?;
        loop {
            let power = match self.peek() {
                Some('*') => {
                    self.at += 1;
                    1
                }
                Some('/') => {
                    self.at += 1;
                    -1
                }
                Some(c) if c.is_alphanumeric() || c == '(' || c == '.' || c == '_' || c == '°' || c == 'µ' => 1,
                _ => return Ok(left),
            };
            let right = self.signed()?;
            let value = if power == 1 { left.value * right.value } else { left.value / right.value };
            left = Quantity { value, dimension: left.dimension.times(right.dimension, power) };
        }
    }

    fn signed(&mut self) -> Result<Quantity, Wrong> {
        let mut sign = 1.0;
        while let Some(c @ ('-' | '+')) = self.peek() {
            self.at += 1;
            sign = if c == '-' { -sign } else { sign };
        }
        let value = self.power()?;
        Ok(Quantity { value: sign * value.value, ..value })
    }

    fn power(&mut self) -> Result<Quantity, Wrong> {
        let base = self.atom()?;
        if self.peek() != Some('^') {
            return Ok(base);
        }
        self.at += 1;
        self.space();
        let start = self.at;
        self.depth += 1;
        if self.depth > 40 {
            return Err(self.here("the formula is nested too deeply", "at most 40 levels"));
        }
        let exponent = self.signed()?;
        self.depth -= 1;
        if exponent.dimension != Dimension::NONE {
            return Err(self.over(start..self.at, format!("the exponent is in {}", exponent.dimension.symbol()), "wanted a pure number"));
        }
        if base.dimension == Dimension::NONE {
            return Ok(pure(base.value.powf(exponent.value)));
        }
        // A root is fine where it leaves whole exponents: (8 m^3)^(1/3).
        let d = base.dimension;
        let raised = [d.length, d.mass, d.time, d.angle].map(|n| n as f64 * exponent.value);
        if raised.iter().any(|n| (n - n.round()).abs() > 1e-9 || n.abs() > 100.0) {
            let message = format!("{} is raised to {}", d.symbol(), exponent.value);
            return Err(self.over(start..self.at, message, "wanted an exponent that leaves whole powers of units"));
        }
        let [length, mass, time, angle] = raised.map(|n| n.round() as i8);
        Ok(Quantity { value: base.value.powf(exponent.value), dimension: Dimension::new(length, mass, time, angle) })
    }

    fn atom(&mut self) -> Result<Quantity, Wrong> {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let value = self.sum()?;
                self.close()?;
                Ok(value)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' || c == '°' => self.name(),
            Some(c) => Err(self.here(format!("`{c}` is not understood here"), "a number, a unit or a name")),
            None => Err(self.here("the value ends too early", "a number, a unit or a name")),
        }
    }

    fn close(&mut self) -> Result<(), Wrong> {
        if self.peek() != Some(')') {
            return Err(self.here("a parenthesis is not closed", "`)`"));
        }
        self.at += 1;
        Ok(())
    }

    fn number(&mut self) -> Result<Quantity, Wrong> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let digits = |mut i: usize| {
            while i < bytes.len() && (bytes[i].is_ascii_digit() || bytes[i] == b'.') {
                i += 1;
            }
            i
        };
        let mut end = digits(start);
        // An exponent only if digits follow the e.
        if end < bytes.len() && (bytes[end] == b'e' || bytes[end] == b'E') {
            let sign = end + 1 + usize::from(bytes.get(end + 1).is_some_and(|b| *b == b'-' || *b == b'+'));
            if bytes.get(sign).is_some_and(u8::is_ascii_digit) {
                end = digits(sign);
            }
        }
        self.at = end;
        let word = &self.text[start..end];
        word.parse().map(pure).map_err(|_| self.over(start..end, format!("`{word}` is not a number"), "wanted one such as 12.5 or 1e-3"))
    }

    fn name(&mut self) -> Result<Quantity, Wrong> {
        let start = self.at;
        let rest = &self.text[start..];
        let end = start + rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '°')).unwrap_or(rest.len());
        self.at = end;
        let name = &self.text[start..end];
        if self.peek() == Some('(') && FUNCTIONS.contains(&name) {
            self.at += 1;
            return self.call(name.to_string(), start);
        }
        if let Some(found) = self.names.value(name) {
            return found.map_err(|why| self.over(start..end, format!("`{name}` has no value"), why));
        }
        let plain = match name {
            "pi" => return Ok(pure(PI)),
            "°" => "deg",
            _ => name,
        };
        if let Some(unit) = named(plain).or_else(|| named(&plain.replace('µ', "u"))) {
            return Ok(unit);
        }
        let all = self.names.all();
        let known = all.iter().map(String::as_str).chain(UNITS.iter().map(|(n, _)| *n)).chain(FUNCTIONS);
        let wanted = match nearest(name, known) {
            Some(best) => format!("did you mean `{best}`?"),
            None => "wanted a unit (m, mm, kg, g, s, rad, deg, N, J, …) or a parameter of the scene".into(),
        };
        Err(self.over(start..end, format!("`{name}` is neither a unit nor a parameter"), wanted))
    }

    fn call(&mut self, name: String, start: usize) -> Result<Quantity, Wrong> {
        let mut arguments = vec![self.sum()?];
        while self.peek() == Some(',') {
            self.at += 1;
            arguments.push(self.sum()?);
        }
        self.close()?;
        let two = matches!(name.as_str(), "min" | "max" | "mod");
        if arguments.len() != 1 + usize::from(two) {
            let message = format!("`{name}` is given {} values", arguments.len());
            return Err(self.over(start..self.at, message, if two { "wanted two" } else { "wanted one" }));
        }
        let x = arguments[0];
        if two {
            let y = arguments[1];
            self.add(start, x, y, 0.0)?;
            let value = match name.as_str() {
                "min" => x.value.min(y.value),
                "max" => x.value.max(y.value),
                _ => x.value.rem_euclid(y.value),
            };
            return Ok(Quantity { value, ..x });
        }
        self.function(&name, x)
            .ok_or_else(|| self.over(start..self.at, format!("`{name}` is given {}", x.dimension.symbol()), "wanted a pure number"))
    }

    fn function(&self, name: &str, x: Quantity) -> Option<Quantity> {
        let angle = Dimension::new(0, 0, 0, 1);
        let d = x.dimension;
        match name {
            "abs" => return Some(Quantity { value: x.value.abs(), ..x }),
            "sqrt" => {
                let half = Dimension::new(d.length / 2, d.mass / 2, d.time / 2, d.angle / 2);
                return (half.times(half, 1) == d).then_some(Quantity { value: x.value.sqrt(), dimension: half });
            }
            _ => {}
        }
        let trigonometric = matches!(name, "sin" | "cos" | "tan");
        if d != Dimension::NONE && !(trigonometric && d == angle) {
            return None;
        }
        let in_radians = |value: f64| Quantity { value, dimension: angle };
        Some(match name {
            "sin" => pure(x.value.sin()),
            "cos" => pure(x.value.cos()),
            "tan" => pure(x.value.tan()),
            "asin" => in_radians(x.value.asin()),
            "acos" => in_radians(x.value.acos()),
            "atan" => in_radians(x.value.atan()),
            "exp" => pure(x.value.exp()),
            "log" => pure(x.value.ln()),
            _ => pure(x.value.floor()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct One;
    impl Names for One {
        fn value(&mut self, name: &str) -> Option<Result<Quantity, String>> {
            match name {
                "radius" => Some(Ok(Quantity { value: 0.035, dimension: Dimension::new(1, 0, 0, 0) })),
                "i" => Some(Ok(pure(3.0))),
                _ => None,
            }
        }
        fn all(&self) -> Vec<String> {
            vec!["radius".into(), "i".into()]
        }
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
            assert!(format!("{} {}", wrong.message, wrong.wanted).contains(says), "{text}: {wrong:?}");
        }
        assert!(evaluate(&"(".repeat(100_000), &mut One).is_err());
        assert!(evaluate(&"2^".repeat(100_000), &mut One).is_err());
        assert!(evaluate("é ∑ 1", &mut One).is_err());
    }
}
