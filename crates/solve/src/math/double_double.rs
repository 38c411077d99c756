//! Numbers of 32 digits: unevaluated sums of two doubles (Dekker1971).

/// A number of 32 digits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DoubleDouble {
    pub(crate) high: f64,
    low: f64,
}

impl DoubleDouble {
    /// The number x.
    pub fn new(x: f64) -> DoubleDouble {
        DoubleDouble { high: x, low: 0.0 }
    }

    /// The nearest double.
    pub fn value(self) -> f64 {
        self.high + self.low
    }

    /// The nearest double and the rest.
    pub fn parts(self) -> [f64; 2] {
        let (high, low) = two_sum(self.high, self.low);
        [high, low]
    }

    /// Adds `a b`: residuals of large reactions on light bodies keep their digits.
    #[inline]
    pub fn add_product(&mut self, a: f64, b: f64) {
        let p = a * b;
        let rounding = a.mul_add(b, -p);
        let sum = self.high + p;
        let part = sum - self.high;
        self.low += (self.high - (sum - part)) + (p - part) + rounding;
        self.high = sum;
    }

    pub(crate) fn is_zero(self) -> bool {
        self.high == 0.0
    }

    pub(crate) fn plus(self, other: DoubleDouble) -> DoubleDouble {
        let (sum, rest) = two_sum(self.high, other.high);
        quick(sum, rest + self.low + other.low)
    }

    pub(crate) fn minus(self, other: DoubleDouble) -> DoubleDouble {
        self.plus(DoubleDouble { high: -other.high, low: -other.low })
    }

    pub(crate) fn times(self, other: DoubleDouble) -> DoubleDouble {
        let (product, rest) = two_product(self.high, other.high);
        quick(product, rest + self.high * other.low + self.low * other.high)
    }

    pub(crate) fn over(self, other: DoubleDouble) -> DoubleDouble {
        let first = self.high / other.high;
        let rest = self.minus(other.times(DoubleDouble::new(first)));
        let second = rest.high / other.high;
        let rest = rest.minus(other.times(DoubleDouble::new(second)));
        quick(first, second).plus(DoubleDouble::new(rest.high / other.high))
    }
}

/// a + b exactly.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// a + b exactly, |a| ≥ |b|.
fn quick(a: f64, b: f64) -> DoubleDouble {
    let high = a + b;
    DoubleDouble { high, low: b - (high - a) }
}

/// a b exactly, by splitting both factors in halves.
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let split = |x: f64| {
        let c = 134_217_729.0 * x;
        let high = c - (c - x);
        (high, x - high)
    };
    let product = a * b;
    let ((ah, al), (bh, bl)) = (split(a), split(b));
    (product, ((ah * bh - product) + ah * bl + al * bh) + al * bl)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_digits() {
        // (1 + 2⁻⁸⁰) − 1 = 2⁻⁸⁰, and 1/3 three times is 1 to 32 digits.
        let small = DoubleDouble::new((-80f64).exp2());
        assert_eq!(
            DoubleDouble::new(1.0).plus(small).minus(DoubleDouble::new(1.0)).value(),
            (-80f64).exp2()
        );
        let third = DoubleDouble::new(1.0).over(DoubleDouble::new(3.0));
        let off = third.times(DoubleDouble::new(3.0)).minus(DoubleDouble::new(1.0));
        assert!(off.value().abs() < 1e-31);
    }
}
