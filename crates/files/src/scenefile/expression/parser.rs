//! The parser of formulas: one method per line of the grammar, and the functions by name.

use super::{Names, Typed, Wrong};
use crate::scenefile::unit::{Dimension, Quantity, UNITS, Units, named};
use crate::spelling::nearest;
use signorini_mechanics::scene::Formula;
use signorini_mechanics::scene::formula::{Binary, Unary};
use std::f64::consts::PI;
use std::ops::Range;

const FUNCTIONS: [&str; 18] = [
    "sin", "cos", "tan", "asin", "acos", "atan", "sqrt", "abs", "exp", "log", "floor", "sign",
    "min", "max", "mod", "atan2", "if", "clamp",
];
/// Parts of a formula at most: each is evaluated after every step.
const MAX_FORMULA_PARTS: usize = 2000;

/// Reads a formula from left to right and checks its dimensions.
pub(super) struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    names: &'a mut dyn Names,
    /// Everything is a plain number in these units.
    plain: Option<Units>,
    /// A unit, or a parameter that has one, was seen.
    pub(super) dimensioned: bool,
    parts: usize,
}

pub(super) const ANGLE: Dimension = Dimension::new(0, 0, 0, 1);

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, names: &'a mut dyn Names, plain: Option<Units>) -> Parser<'a> {
        Parser { text, at: 0, depth: 0, names, plain, dimensioned: false, parts: 0 }
    }

    pub(super) fn whole(&mut self) -> Result<Typed, Wrong> {
        let value = self.either()?;
        self.space();
        if self.at < self.text.len() {
            return Err(self.here(
                format!("`{}` is not understood here", &self.text[self.at..]),
                "the end, or one of + - * / ^",
            ));
        }
        Ok(value)
    }

    fn here(&self, message: impl Into<String>, wanted: &str) -> Wrong {
        self.over(self.at..self.text.len(), message, format!("wanted {wanted}"))
    }

    fn over(
        &self,
        range: Range<usize>,
        message: impl Into<String>,
        wanted: impl Into<String>,
    ) -> Wrong {
        Wrong { range, message: message.into(), wanted: wanted.into() }
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.text[self.at..].trim_start().len();
    }

    fn peek(&mut self) -> Option<char> {
        self.space();
        self.text[self.at..].chars().next()
    }

    /// Whether this word stands here.
    fn word(&mut self, word: &str) -> bool {
        self.space();
        let rest = self.text[self.at..].strip_prefix(word);
        rest.is_some_and(|rest| {
            !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.')
        })
    }

    fn either(&mut self) -> Result<Typed, Wrong> {
        self.depth += 1;
        if self.depth > 40 {
            return Err(self.here("the formula is nested too deeply", "at most 40 levels"));
        }
        let mut left = self.both()?;
        while self.word("or") {
            self.at += 2;
            let right = self.both()?;
            left = pure(Formula::binary(Binary::Or, left.formula, right.formula));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn both(&mut self) -> Result<Typed, Wrong> {
        let mut left = self.denied()?;
        while self.word("and") {
            self.at += 3;
            let right = self.denied()?;
            left = pure(Formula::binary(Binary::And, left.formula, right.formula));
        }
        Ok(left)
    }

    fn denied(&mut self) -> Result<Typed, Wrong> {
        let mut times = 0;
        while self.word("not") {
            self.at += 3;
            times += 1;
        }
        let mut value = self.compare()?;
        for _ in 0..times.min(2 - times % 2) {
            value = pure(Formula::unary(Unary::Not, value.formula));
        }
        Ok(value)
    }

    fn compare(&mut self) -> Result<Typed, Wrong> {
        self.space();
        let start = self.at;
        let left = self.sum()?;
        self.space();
        let signs = ["<=", ">=", "==", "!=", "<", ">"];
        let Some(sign) = signs.into_iter().find(|s| self.text[self.at..].starts_with(s)) else {
            return Ok(left);
        };
        self.at += sign.len();
        let right = self.sum()?;
        self.same(start, &left, &right, "compares")?;
        let (a, b) = (left.formula, right.formula);
        Ok(pure(match sign {
            "<" => Formula::binary(Binary::Less, a, b),
            ">" => Formula::binary(Binary::Less, b, a),
            "<=" => Formula::binary(Binary::LessEqual, a, b),
            ">=" => Formula::binary(Binary::LessEqual, b, a),
            "==" => Formula::binary(Binary::Equal, a, b),
            _ => Formula::unary(Unary::Not, Formula::binary(Binary::Equal, a, b)),
        }))
    }

    fn sum(&mut self) -> Result<Typed, Wrong> {
        self.space();
        let start = self.at;
        let mut left = self.product()?;
        while let Some(sign @ ('+' | '-')) = self.peek() {
            self.at += 1;
            let right = self.product()?;
            self.same(start, &left, &right, "adds")?;
            let add = if sign == '+' { Binary::Add } else { Binary::Subtract };
            left.formula = Formula::binary(add, left.formula, right.formula);
        }
        Ok(left)
    }

    /// Both must be of one dimension.
    fn same(&self, start: usize, a: &Typed, b: &Typed, does: &str) -> Result<(), Wrong> {
        if a.dimension.serves(b.dimension) || b.dimension.serves(a.dimension) {
            return Ok(());
        }
        let message = format!("this {does} {} and {}", a.dimension.symbol(), b.dimension.symbol());
        Err(self.over(start..self.at, message, "wanted one dimension"))
    }

    fn product(&mut self) -> Result<Typed, Wrong> {
        let mut left = self.signed()?;
        loop {
            let power = match self.peek() {
                _ if self.word("and") || self.word("or") => return Ok(left),
                Some('*') => {
                    self.at += 1;
                    1
                }
                Some('/') => {
                    self.at += 1;
                    -1
                }
                Some(c) if c.is_alphanumeric() || "(._°µ'".contains(c) => 1,
                _ => return Ok(left),
            };
            let right = self.signed()?;
            let times = if power == 1 { Binary::Multiply } else { Binary::Divide };
            let dimension = left.dimension.times(right.dimension, power);
            left =
                Typed { formula: Formula::binary(times, left.formula, right.formula), dimension };
        }
    }

    fn signed(&mut self) -> Result<Typed, Wrong> {
        let mut negative = false;
        while let Some(c @ ('-' | '+')) = self.peek() {
            self.at += 1;
            negative ^= c == '-';
        }
        let value = self.power()?;
        Ok(if negative { Typed { formula: -value.formula, ..value } } else { value })
    }

    fn power(&mut self) -> Result<Typed, Wrong> {
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
            return Err(self.over(
                start..self.at,
                format!("the exponent is in {}", exponent.dimension.symbol()),
                "wanted a pure number",
            ));
        }
        let raised = Formula::binary(Binary::Power, base.formula, exponent.formula.clone());
        if base.dimension == Dimension::NONE {
            return Ok(pure(raised));
        }
        // A root is fine where it leaves whole exponents: (8 m^3)^(1/3).
        let (d, power) = (base.dimension, exponent.formula.number().unwrap_or(f64::NAN));
        let powers = [d.length, d.mass, d.time, d.angle].map(|n| n as f64 * power);
        if powers.iter().any(|n| !((n - n.round()).abs() <= 1e-9 && n.abs() <= 100.0)) {
            let message = format!("{} is raised to {power}", d.symbol());
            return Err(self.over(
                start..self.at,
                message,
                "wanted an exponent that leaves whole powers of units",
            ));
        }
        let [length, mass, time, angle] = powers.map(|n| n.round() as i8);
        Ok(Typed { formula: raised, dimension: Dimension::new(length, mass, time, angle) })
    }

    fn atom(&mut self) -> Result<Typed, Wrong> {
        self.parts += 1;
        if self.parts > MAX_FORMULA_PARTS {
            return Err(self.here(
                "the formula is too long",
                &format!("at most {MAX_FORMULA_PARTS} numbers and names"),
            ));
        }
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let value = self.either()?;
                self.close()?;
                Ok(value)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' || c == '°' || c == '\'' => self.name(),
            Some(c) => {
                Err(self
                    .here(format!("`{c}` is not understood here"), "a number, a unit or a name"))
            }
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

    fn number(&mut self) -> Result<Typed, Wrong> {
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
            let sign =
                end + 1 + usize::from(bytes.get(end + 1).is_some_and(|b| *b == b'-' || *b == b'+'));
            if bytes.get(sign).is_some_and(u8::is_ascii_digit) {
                end = digits(sign);
            }
        }
        self.at = end;
        let word = &self.text[start..end];
        let wrong = |_| {
            self.over(
                start..end,
                format!("`{word}` is not a number"),
                "wanted one such as 12.5 or 1e-3",
            )
        };
        word.parse::<f64>().map(pure).map_err(wrong)
    }

    /// A word, or anything in quotes; and where it ends.
    fn label(&self, start: usize) -> Result<(String, usize), Wrong> {
        let rest = &self.text[start..];
        if let Some(quoted) = rest.strip_prefix('\'') {
            let Some(end) = quoted.find('\'') else {
                return Err(self.over(
                    start..self.text.len(),
                    "a quote is not closed",
                    "wanted `'`",
                ));
            };
            return Ok((quoted[..end].into(), start + end + 2));
        }
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '°'))
            .unwrap_or(rest.len());
        Ok((rest[..end].into(), start + end))
    }

    fn name(&mut self) -> Result<Typed, Wrong> {
        let start = self.at;
        let (name, mut end) = self.label(start)?;
        let quoted = self.text[start..].starts_with('\'');
        self.at = end;
        if !quoted && self.peek() == Some('(') && FUNCTIONS.contains(&name.as_str()) {
            self.at += 1;
            return self.call(&name, start);
        }
        self.at = end;
        let mut quantity = None;
        if self.text[end..]
            .strip_prefix('.')
            .is_some_and(|r| r.starts_with(|c: char| c.is_alphabetic() || c == '_'))
        {
            let (word, after) = self.label(end + 1)?;
            (quantity, end, self.at) = (Some(word), after, after);
        }
        if quantity.is_none()
            && !quoted
            && let Some(constant) = self.constant(&name, start..end)?
        {
            return Ok(constant);
        }
        if let Some(found) = self.names.measured(&name, quantity.as_deref()) {
            let typed = found.map_err(|why| {
                self.over(
                    start..end,
                    format!("`{}` cannot be measured", &self.text[start..end]),
                    why,
                )
            })?;
            return Ok(self.in_units(typed));
        }
        let all = self.names.all();
        let known =
            all.iter().map(String::as_str).chain(UNITS.iter().map(|(n, _)| *n)).chain(FUNCTIONS);
        let wanted = match nearest(&name, known) {
            Some(best) => format!("did you mean `{best}`?"),
            None => {
                "wanted a unit (m, mm, kg, g, s, rad, deg, N, J, …) or a parameter of the scene"
                    .into()
            }
        };
        Err(self.over(start..end, format!("`{name}` is neither a unit nor a parameter"), wanted))
    }

    /// A parameter, `pi` or a unit.
    fn constant(&mut self, name: &str, range: Range<usize>) -> Result<Option<Typed>, Wrong> {
        let found = match self.names.value(name) {
            Some(found) => {
                found.map_err(|why| self.over(range, format!("`{name}` has no value"), why))?
            }
            None if name == "pi" => Quantity { value: PI, dimension: Dimension::NONE },
            None => {
                let plain = if name == "°" { "deg" } else { name };
                let Some(unit) = named(plain).or_else(|| named(&plain.replace('µ', "u"))) else {
                    return Ok(None);
                };
                unit
            }
        };
        self.dimensioned |= found.dimension != Dimension::NONE;
        Ok(Some(Typed { formula: found.value.into(), dimension: found.dimension }))
    }

    /// As a plain number in the units of the file, if that is wanted.
    fn in_units(&self, typed: Typed) -> Typed {
        let Some(units) = self.plain else { return typed };
        let unit = units.si(1.0, typed.dimension);
        pure(if unit == 1.0 { typed.formula } else { typed.formula / unit })
    }

    fn call(&mut self, name: &str, start: usize) -> Result<Typed, Wrong> {
        let mut arguments = vec![self.either()?];
        while self.peek() == Some(',') {
            self.at += 1;
            arguments.push(self.either()?);
        }
        self.close()?;
        let wanted = match name {
            "min" | "max" | "mod" | "atan2" => 2,
            "if" | "clamp" => 3,
            _ => 1,
        };
        if arguments.len() != wanted {
            let message = format!("`{name}` is given {} values", arguments.len());
            return Err(self.over(
                start..self.at,
                message,
                ["wanted one", "wanted two", "wanted three"][wanted - 1],
            ));
        }
        let mut each = arguments.into_iter();
        let mut next = || each.next().unwrap_or(pure(0.0));
        let x = next();
        if wanted == 1 {
            let given = format!("`{name}` is given {}", x.dimension.symbol());
            return function(name, x)
                .ok_or_else(|| self.over(start..self.at, given, "wanted a pure number"));
        }
        let y = next();
        if name == "if" {
            let z = next();
            self.same(start, &y, &z, "chooses between")?;
            return Ok(Typed {
                formula: Formula::choose(x.formula, y.formula, z.formula),
                dimension: y.dimension,
            });
        }
        self.same(start, &x, &y, "compares")?;
        let two = |f: Binary, x: Formula, y: Formula| Formula::binary(f, x, y);
        let formula = match name {
            "min" => two(Binary::Min, x.formula, y.formula),
            "max" => two(Binary::Max, x.formula, y.formula),
            "mod" => two(Binary::Mod, x.formula, y.formula),
            "atan2" => {
                return Ok(Typed {
                    formula: two(Binary::Atan2, x.formula, y.formula),
                    dimension: ANGLE,
                });
            }
            _ => {
                let z = next();
                self.same(start, &x, &z, "compares")?;
                two(Binary::Min, two(Binary::Max, x.formula, y.formula), z.formula)
            }
        };
        Ok(Typed { formula, dimension: x.dimension })
    }
}

fn pure(formula: impl Into<Formula>) -> Typed {
    Typed { formula: formula.into(), dimension: Dimension::NONE }
}

/// A function of one value; none if its dimension does not suit.
fn function(name: &str, x: Typed) -> Option<Typed> {
    let d = x.dimension;
    match name {
        "abs" => {
            return Some(Typed { formula: Formula::unary(Unary::Abs, x.formula), dimension: d });
        }
        "sign" => return Some(pure(Formula::unary(Unary::Sign, x.formula))),
        "sqrt" => {
            let half = Dimension::new(d.length / 2, d.mass / 2, d.time / 2, d.angle / 2);
            return (half.times(half, 1) == d).then(|| Typed {
                formula: Formula::unary(Unary::Sqrt, x.formula),
                dimension: half,
            });
        }
        _ => {}
    }
    let trigonometric = matches!(name, "sin" | "cos" | "tan");
    if d != Dimension::NONE && !(trigonometric && d == ANGLE) {
        return None;
    }
    let (f, dimension) = match name {
        "sin" => (Unary::Sin, Dimension::NONE),
        "cos" => (Unary::Cos, Dimension::NONE),
        "tan" => (Unary::Tan, Dimension::NONE),
        "asin" => (Unary::Asin, ANGLE),
        "acos" => (Unary::Acos, ANGLE),
        "atan" => (Unary::Atan, ANGLE),
        "exp" => (Unary::Exp, Dimension::NONE),
        "log" => (Unary::Log, Dimension::NONE),
        _ => (Unary::Floor, Dimension::NONE),
    };
    Some(Typed { formula: Formula::unary(f, x.formula), dimension })
}
