//! Formulas over what is measured: of sensors, controllers, events and springs.
//!
//! A formula is plain data. It is evaluated between two steps, from the state at hand; nothing in
//! it remembers. Truth is a number: a comparison gives 1 or 0, and whatever is not 0 counts as true
//! (NaN does not).
//!
//! ```
//! use signorini_mechanics::scene::{Formula, Quantity};
//!
//! // 2 − t, but not below 0.5
//! let f = (Formula::from(2.0) - Quantity::Time).max(0.5);
//! assert_eq!(f.value(&mut |_| 1.0), 1.0);
//! assert_eq!(f.value(&mut |_| 9.0), 0.5);
//! ```

use super::quantity::Quantity;
use serde::{Deserialize, Serialize};

/// A function of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unary {
    /// −x.
    Negative,
    /// 1 if x is 0, else 0.
    Not,
    /// Absolute value.
    Abs,
    /// −1, 0 or 1.
    Sign,
    /// Square root.
    Sqrt,
    /// Exponential.
    Exp,
    /// Natural logarithm.
    Log,
    /// Largest whole number that is not greater.
    Floor,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Tangent.
    Tan,
    /// Inverse sine.
    Asin,
    /// Inverse cosine.
    Acos,
    /// Inverse tangent.
    Atan,
}

/// A function of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Binary {
    /// Sum.
    Add,
    /// Difference.
    Subtract,
    /// Product.
    Multiply,
    /// Quotient.
    Divide,
    /// Power.
    Power,
    /// The smaller.
    Min,
    /// The greater.
    Max,
    /// Rest of a division, ≥ 0.
    Mod,
    /// Angle of the point (second, first).
    Atan2,
    /// 1 if the first is less.
    Less,
    /// 1 if the first is not greater.
    LessEqual,
    /// 1 if both are equal.
    Equal,
    /// 1 if both are true.
    And,
    /// 1 if one is true.
    Or,
}

impl Unary {
    /// Its value.
    pub fn apply(self, x: f64) -> f64 {
        match self {
            Unary::Negative => -x,
            Unary::Not => truth(x == 0.0),
            Unary::Abs => x.abs(),
            Unary::Sign => {
                if x == 0.0 {
                    0.0
                } else {
                    x.signum()
                }
            }
            Unary::Sqrt => x.sqrt(),
            Unary::Exp => x.exp(),
            Unary::Log => x.ln(),
            Unary::Floor => x.floor(),
            Unary::Sin => x.sin(),
            Unary::Cos => x.cos(),
            Unary::Tan => x.tan(),
            Unary::Asin => x.asin(),
            Unary::Acos => x.acos(),
            Unary::Atan => x.atan(),
        }
    }
}

impl Binary {
    /// Its value.
    pub fn apply(self, x: f64, y: f64) -> f64 {
        match self {
            Binary::Add => x + y,
            Binary::Subtract => x - y,
            Binary::Multiply => x * y,
            Binary::Divide => x / y,
            Binary::Power => x.powf(y),
            Binary::Min => x.min(y),
            Binary::Max => x.max(y),
            Binary::Mod => x.rem_euclid(y),
            Binary::Atan2 => x.atan2(y),
            Binary::Less => truth(x < y),
            Binary::LessEqual => truth(x <= y),
            Binary::Equal => truth(x == y),
            Binary::And => truth(is_true(x) && is_true(y)),
            Binary::Or => truth(is_true(x) || is_true(y)),
        }
    }
}

fn truth(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}

/// Whether a number counts as true; NaN does not.
pub fn is_true(x: f64) -> bool {
    x != 0.0 && !x.is_nan()
}

/// A formula.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Formula {
    /// A number.
    Number(#[serde(with = "super::extended")] f64),
    /// Something measured.
    Of(Quantity),
    /// A function of one formula.
    Unary(Unary, Box<Formula>),
    /// A function of two.
    Binary(Binary, Box<Formula>, Box<Formula>),
    /// The second if the first is true, else the third.
    If(Box<[Formula; 3]>),
}

impl Default for Formula {
    fn default() -> Formula {
        Formula::Number(0.0)
    }
}

impl From<f64> for Formula {
    fn from(x: f64) -> Formula {
        Formula::Number(x)
    }
}

impl From<Quantity> for Formula {
    fn from(quantity: Quantity) -> Formula {
        Formula::Of(quantity)
    }
}

impl Formula {
    /// A function of one formula; of a number its value.
    pub fn unary(f: Unary, x: Formula) -> Formula {
        match x {
            Formula::Number(x) => Formula::Number(f.apply(x)),
            x => Formula::Unary(f, Box::new(x)),
        }
    }

    /// A function of two formulas; of numbers its value.
    pub fn binary(f: Binary, x: impl Into<Formula>, y: impl Into<Formula>) -> Formula {
        match (x.into(), y.into()) {
            (Formula::Number(x), Formula::Number(y)) => Formula::Number(f.apply(x, y)),
            (x, y) => Formula::Binary(f, Box::new(x), Box::new(y)),
        }
    }

    /// `then` where `condition` is true, else `otherwise`.
    pub fn choose(condition: Formula, then: Formula, otherwise: Formula) -> Formula {
        match condition {
            Formula::Number(x) if is_true(x) => then,
            Formula::Number(_) => otherwise,
            condition => Formula::If(Box::new([condition, then, otherwise])),
        }
    }

    /// 1 where it is above `limit`, else 0.
    pub fn above(self, limit: impl Into<Formula>) -> Formula {
        Formula::binary(Binary::Less, limit, self)
    }

    /// 1 where it is below `limit`, else 0.
    pub fn below(self, limit: impl Into<Formula>) -> Formula {
        Formula::binary(Binary::Less, self, limit)
    }

    /// 1 where both are true, else 0.
    pub fn and(self, other: impl Into<Formula>) -> Formula {
        Formula::binary(Binary::And, self, other)
    }

    /// The greater of both.
    pub fn max(self, other: impl Into<Formula>) -> Formula {
        Formula::binary(Binary::Max, self, other)
    }

    /// The smaller of both.
    pub fn min(self, other: impl Into<Formula>) -> Formula {
        Formula::binary(Binary::Min, self, other)
    }

    /// Its value, with the quantities that `measure` gives.
    pub fn value(&self, measure: &mut dyn FnMut(&Quantity) -> f64) -> f64 {
        match self {
            Formula::Number(x) => *x,
            Formula::Of(quantity) => measure(quantity),
            Formula::Unary(f, x) => f.apply(x.value(measure)),
            Formula::Binary(f, x, y) => {
                let x = x.value(measure);
                f.apply(x, y.value(measure))
            }
            Formula::If(parts) => {
                let which = if is_true(parts[0].value(measure)) { 1 } else { 2 };
                parts[which].value(measure)
            }
        }
    }

    /// The number, if it names nothing measured.
    pub fn number(&self) -> Option<f64> {
        match self {
            Formula::Number(x) => Some(*x),
            _ => None,
        }
    }

    /// Calls `look` with every quantity that it names.
    pub fn quantities<'a>(&'a self, look: &mut dyn FnMut(&'a Quantity)) {
        match self {
            Formula::Number(_) => {}
            Formula::Of(quantity) => look(quantity),
            Formula::Unary(_, x) => x.quantities(look),
            Formula::Binary(_, x, y) => {
                x.quantities(look);
                y.quantities(look);
            }
            Formula::If(parts) => parts.iter().for_each(|part| part.quantities(look)),
        }
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident) => {
        impl<T: Into<Formula>> std::ops::$trait<T> for Formula {
            type Output = Formula;
            fn $method(self, other: T) -> Formula {
                Formula::binary(Binary::$trait, self, other)
            }
        }
    };
    ($trait:ident, $method:ident, $name:ident) => {
        impl<T: Into<Formula>> std::ops::$trait<T> for Formula {
            type Output = Formula;
            fn $method(self, other: T) -> Formula {
                Formula::binary(Binary::$name, self, other)
            }
        }
    };
}

operator!(Add, add);
operator!(Sub, sub, Subtract);
operator!(Mul, mul, Multiply);
operator!(Div, div, Divide);

impl std::ops::Neg for Formula {
    type Output = Formula;
    fn neg(self) -> Formula {
        Formula::unary(Unary::Negative, self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fold_and_the_rest_is_measured() {
        let f = Formula::from(3.0) * 2.0 - 1.0;
        assert_eq!(f, Formula::Number(5.0));
        let t = || Formula::from(Quantity::Time);
        let f = Formula::choose(t().above(2.0), t() * t(), -t());
        let at = |x: f64| f.value(&mut |_| x);
        assert_eq!((at(1.0), at(3.0)), (-1.0, 9.0));
        // What is no number is not true.
        assert_eq!(at(f64::NAN).to_bits() & (0x7ff << 52), 0x7ff << 52);
        assert!(!is_true(t().above(0.0).value(&mut |_| f64::NAN)));
    }

    #[test]
    fn it_goes_through_a_file() {
        let f = (Formula::from(f64::INFINITY)).min(Quantity::Time);
        let text = serde_json::to_string(&f).unwrap();
        assert_eq!(serde_json::from_str::<Formula>(&text).unwrap(), f);
    }
}
