//! Expressions as a graph: each one exists once, constants are folded, zeros and ones are gone.
//!
//! An expression is a number into the list of nodes; its operands have smaller numbers, so that the
//! order of the list is an order of evaluation. The constructors simplify:
//!
//! ```text
//!   c₁ ∘ c₂ → c      x + 0, x − 0, 1·x, x/1 → x      0·x, x − x → 0      (−1)·x, 0 − x → −x      −(−x) → x
//!   x + (−y) → x − y      (−x)·y → −(x·y)      x·y = y·x, x + y = y + x: one node
//! ```
//!
//! The derivative of an expression is taken along seeds (node → its derivative), each node once. A
//! seed may be given to a node that is not an input: the entries of a rotation matrix have the rate
//! `R [ω]×`, whatever they are made of.

use std::collections::HashMap;

/// An expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub u32);

/// Functions of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unary {
    /// −x.
    Neg,
    /// √x.
    Sqrt,
    /// sin x.
    Sin,
    /// cos x.
    Cos,
}

/// Functions of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Binary {
    /// x + y.
    Add,
    /// x − y.
    Sub,
    /// x · y.
    Mul,
    /// x / y.
    Div,
    /// The angle of the point (y, x): atan2(x, y), first the ordinate.
    Atan2,
    /// |x| with the sign of y.
    Copysign,
}

/// What an expression is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A number, by its bits.
    Constant(u64),
    /// A number known at run time, by its place.
    Input(u32),
    /// A function of one expression.
    Unary(Unary, Id),
    /// A function of two expressions.
    Binary(Binary, Id, Id),
}

/// All expressions of a program.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    known: HashMap<Node, Id>,
    /// Operations that constants made superfluous.
    folded: usize,
}

/// Derivatives along seeds, each taken once.
#[derive(Clone, Debug, Default)]
pub struct Derivatives {
    known: HashMap<Id, Id>,
}

impl Derivatives {
    /// Derivatives with these nodes and their derivatives given; all other inputs do not change.
    pub fn along(seeds: impl IntoIterator<Item = (Id, Id)>) -> Derivatives {
        Derivatives { known: seeds.into_iter().collect() }
    }
}

impl Graph {
    /// The node of an expression.
    pub fn node(&self, id: Id) -> Node {
        self.nodes[id.0 as usize]
    }

    /// How many expressions there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True before the first expression.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// How many operations were superfluous because an operand was constant.
    pub fn folded(&self) -> usize {
        self.folded
    }

    fn make(&mut self, node: Node) -> Id {
        let next = Id(self.nodes.len() as u32);
        *self.known.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            next
        })
    }

    /// A number; −0 is 0.
    pub fn constant(&mut self, value: f64) -> Id {
        self.make(Node::Constant((value + 0.0).to_bits()))
    }

    /// Zero.
    pub fn zero(&mut self) -> Id {
        self.constant(0.0)
    }

    /// The input at `place`.
    pub fn input(&mut self, place: usize) -> Id {
        self.make(Node::Input(place as u32))
    }

    /// The value of an expression that is a constant.
    pub fn value(&self, id: Id) -> Option<f64> {
        match self.node(id) {
            Node::Constant(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    /// Whether an expression is the constant zero.
    pub fn is_zero(&self, id: Id) -> bool {
        self.value(id) == Some(0.0)
    }

    fn fold(&mut self, value: f64) -> Id {
        self.folded += 1;
        self.constant(value)
    }

    fn keep(&mut self, id: Id) -> Id {
        self.folded += 1;
        id
    }

    fn negated(&self, id: Id) -> Option<Id> {
        match self.node(id) {
            Node::Unary(Unary::Neg, x) => Some(x),
            _ => None,
        }
    }

    /// A function of one expression.
    pub fn unary(&mut self, function: Unary, x: Id) -> Id {
        if let Some(value) = self.value(x) {
            return self.fold(function.apply(value));
        }
        match (function, self.negated(x)) {
            (Unary::Neg, Some(inner)) => inner,
            (Unary::Cos, Some(inner)) => self.make(Node::Unary(Unary::Cos, inner)),
            _ => self.make(Node::Unary(function, x)),
        }
    }

    /// A function of two expressions.
    pub fn binary(&mut self, function: Binary, x: Id, y: Id) -> Id {
        match (self.value(x), self.value(y)) {
            (Some(a), Some(b)) => self.fold(function.apply(a, b)),
            (a, b) => match function {
                Binary::Add => self.sum((x, a), (y, b)),
                Binary::Sub => self.difference((x, a), (y, b)),
                Binary::Mul => self.product((x, a), (y, b)),
                Binary::Div => self.quotient((x, a), (y, b)),
                Binary::Atan2 | Binary::Copysign => self.make(Node::Binary(function, x, y)),
            },
        }
    }

    fn sum(&mut self, (x, a): (Id, Option<f64>), (y, b): (Id, Option<f64>)) -> Id {
        if a == Some(0.0) {
            return self.keep(y);
        }
        if b == Some(0.0) {
            return self.keep(x);
        }
        if let Some(inner) = self.negated(y) {
            return self.binary(Binary::Sub, x, inner);
        }
        if let Some(inner) = self.negated(x) {
            return self.binary(Binary::Sub, y, inner);
        }
        self.make(Node::Binary(Binary::Add, x.min(y), x.max(y)))
    }

    fn difference(&mut self, (x, a): (Id, Option<f64>), (y, b): (Id, Option<f64>)) -> Id {
        if a == Some(0.0) {
            self.folded += 1;
            return self.unary(Unary::Neg, y);
        }
        if b == Some(0.0) {
            return self.keep(x);
        }
        if x == y {
            return self.fold(0.0);
        }
        if let Some(inner) = self.negated(y) {
            return self.binary(Binary::Add, x, inner);
        }
        self.make(Node::Binary(Binary::Sub, x, y))
    }

    fn product(&mut self, (x, a): (Id, Option<f64>), (y, b): (Id, Option<f64>)) -> Id {
        for (factor, other) in [(a, y), (b, x)] {
            match factor {
                Some(0.0) => return self.fold(0.0),
                Some(1.0) => return self.keep(other),
                Some(-1.0) => {
                    self.folded += 1;
                    return self.unary(Unary::Neg, other);
                }
                _ => {}
            }
        }
        // A sign moves into a constant, or out of the product.
        for (one, other, factor) in [(x, y, b), (y, x, a)] {
            if let Some(inner) = self.negated(one) {
                if let Some(factor) = factor {
                    let opposite = self.constant(-factor);
                    return self.binary(Binary::Mul, opposite, inner);
                }
                let product = self.binary(Binary::Mul, inner, other);
                return self.unary(Unary::Neg, product);
            }
        }
        // Two constants meet: c₁ (c₂ x) = (c₁ c₂) x.
        for (factor, other) in [(a, y), (b, x)] {
            if let (Some(c), Node::Binary(Binary::Mul, p, q)) = (factor, self.node(other)) {
                for (inner, rest) in [(p, q), (q, p)] {
                    if let Some(d) = self.value(inner) {
                        let both = self.fold(c * d);
                        return self.binary(Binary::Mul, both, rest);
                    }
                }
            }
        }
        self.make(Node::Binary(Binary::Mul, x.min(y), x.max(y)))
    }

    fn quotient(&mut self, (x, a): (Id, Option<f64>), (y, b): (Id, Option<f64>)) -> Id {
        if a == Some(0.0) {
            return self.fold(0.0);
        }
        if let Some(b) = b.filter(|b| *b != 0.0) {
            let inverse = self.constant(1.0 / b);
            return self.binary(Binary::Mul, x, inverse);
        }
        self.make(Node::Binary(Binary::Div, x, y))
    }

    /// x + y.
    pub fn add(&mut self, x: Id, y: Id) -> Id {
        self.binary(Binary::Add, x, y)
    }

    /// x − y.
    pub fn sub(&mut self, x: Id, y: Id) -> Id {
        self.binary(Binary::Sub, x, y)
    }

    /// x · y.
    pub fn mul(&mut self, x: Id, y: Id) -> Id {
        self.binary(Binary::Mul, x, y)
    }

    /// x / y.
    pub fn div(&mut self, x: Id, y: Id) -> Id {
        self.binary(Binary::Div, x, y)
    }

    /// −x.
    pub fn neg(&mut self, x: Id) -> Id {
        self.unary(Unary::Neg, x)
    }

    /// c · x.
    pub fn scale(&mut self, factor: f64, x: Id) -> Id {
        let factor = self.constant(factor);
        self.mul(factor, x)
    }

    /// x − c.
    pub fn less(&mut self, x: Id, offset: f64) -> Id {
        let offset = self.constant(offset);
        self.sub(x, offset)
    }

    /// Σ xᵢ.
    pub fn total(&mut self, terms: &[Id]) -> Id {
        let zero = self.zero();
        terms.iter().fold(zero, |sum, &x| self.add(sum, x))
    }

    /// Σ xᵢ yᵢ.
    pub fn dot(&mut self, pairs: &[(Id, Id)]) -> Id {
        let terms: Vec<Id> = pairs.iter().map(|&(x, y)| self.mul(x, y)).collect();
        self.total(&terms)
    }

    /// The derivative of an expression.
    pub fn derivative(&mut self, x: Id, along: &mut Derivatives) -> Id {
        if let Some(&known) = along.known.get(&x) {
            return known;
        }
        let result = match self.node(x) {
            Node::Constant(_) | Node::Input(_) => self.zero(),
            Node::Unary(function, a) => {
                let da = self.derivative(a, along);
                self.chain(function, (x, a, da))
            }
            Node::Binary(function, a, b) => {
                let (da, db) = (self.derivative(a, along), self.derivative(b, along));
                self.chain_two(function, (a, da), (b, db))
            }
        };
        along.known.insert(x, result);
        result
    }

    fn chain(&mut self, function: Unary, (x, a, da): (Id, Id, Id)) -> Id {
        if self.is_zero(da) {
            return da;
        }
        match function {
            Unary::Neg => self.neg(da),
            Unary::Sqrt => {
                let twice = self.scale(2.0, x);
                self.div(da, twice)
            }
            Unary::Sin => {
                let cosine = self.unary(Unary::Cos, a);
                self.mul(cosine, da)
            }
            Unary::Cos => {
                let sine = self.unary(Unary::Sin, a);
                let product = self.mul(sine, da);
                self.neg(product)
            }
        }
    }

    fn chain_two(&mut self, function: Binary, (a, da): (Id, Id), (b, db): (Id, Id)) -> Id {
        match function {
            Binary::Add => self.add(da, db),
            Binary::Sub => self.sub(da, db),
            Binary::Mul => self.dot(&[(da, b), (a, db)]),
            Binary::Div => {
                // (da − (a/b) db)/b.
                let quotient = self.div(a, b);
                let carried = self.mul(quotient, db);
                let top = self.sub(da, carried);
                self.div(top, b)
            }
            Binary::Atan2 => {
                // (b da − a db)/(a² + b²).
                let (first, second) = (self.mul(b, da), self.mul(a, db));
                let top = self.sub(first, second);
                let square = self.dot(&[(a, a), (b, b)]);
                self.div(top, square)
            }
            Binary::Copysign => self.zero(),
        }
    }

    /// Every expression that the outputs need, in an order of evaluation; constants and inputs
    /// included.
    pub fn needed(&self, outputs: &[Id]) -> Vec<Id> {
        let mut wanted = vec![false; self.nodes.len()];
        outputs.iter().for_each(|o| wanted[o.0 as usize] = true);
        // Operands stand before their users: one pass from behind marks all.
        for i in (0..self.nodes.len()).rev() {
            if wanted[i] {
                for operand in self.operands(Id(i as u32)) {
                    wanted[operand.0 as usize] = true;
                }
            }
        }
        (0..self.nodes.len()).filter(|&i| wanted[i]).map(|i| Id(i as u32)).collect()
    }

    /// The operands of an expression.
    pub fn operands(&self, id: Id) -> impl Iterator<Item = Id> + use<> {
        let (first, second) = match self.node(id) {
            Node::Unary(_, x) => (Some(x), None),
            Node::Binary(_, x, y) => (Some(x), Some(y)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// How many floating-point operations the outputs cost; a change of sign costs nothing, every
    /// function one.
    pub fn flops(&self, outputs: &[Id]) -> usize {
        self.needed(outputs).into_iter().filter(|&id| self.costs(id)).count()
    }

    /// Whether an expression is an operation that costs.
    pub fn costs(&self, id: Id) -> bool {
        match self.node(id) {
            Node::Unary(function, _) => function != Unary::Neg,
            Node::Binary(function, ..) => function != Binary::Copysign,
            _ => false,
        }
    }

    /// The value of an expression, by the book: for tests.
    pub fn evaluate(&self, outputs: &[Id], inputs: &[f64]) -> Vec<f64> {
        let mut values = vec![0.0; self.nodes.len()];
        for id in self.needed(outputs) {
            values[id.0 as usize] = match self.node(id) {
                Node::Constant(bits) => f64::from_bits(bits),
                Node::Input(place) => inputs[place as usize],
                Node::Unary(function, x) => function.apply(values[x.0 as usize]),
                Node::Binary(function, x, y) => {
                    function.apply(values[x.0 as usize], values[y.0 as usize])
                }
            };
        }
        outputs.iter().map(|o| values[o.0 as usize]).collect()
    }
}

impl Unary {
    /// Its value.
    #[inline]
    pub fn apply(self, x: f64) -> f64 {
        match self {
            Unary::Neg => -x,
            Unary::Sqrt => x.sqrt(),
            Unary::Sin => x.sin(),
            Unary::Cos => x.cos(),
        }
    }
}

impl Binary {
    /// Its value.
    #[inline]
    pub fn apply(self, x: f64, y: f64) -> f64 {
        match self {
            Binary::Add => x + y,
            Binary::Sub => x - y,
            Binary::Mul => x * y,
            Binary::Div => x / y,
            Binary::Atan2 => x.atan2(y),
            Binary::Copysign => x.copysign(y),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_ones_and_constants_are_gone_and_nothing_exists_twice() {
        let mut g = Graph::default();
        let (x, y) = (g.input(0), g.input(1));
        let (zero, one) = (g.zero(), g.constant(1.0));
        assert_eq!((g.add(x, zero), g.mul(one, x), g.sub(x, zero), g.div(x, one)), (x, x, x, x));
        assert_eq!((g.mul(zero, x), g.sub(x, x)), (zero, zero));
        assert_eq!((g.add(x, y), g.mul(x, y)), (g.add(y, x), g.mul(y, x)));
        let minus = g.neg(y);
        assert_eq!(g.add(x, minus), g.sub(x, y));
        let twice = g.scale(2.0, x);
        assert_eq!(g.scale(3.0, twice), g.scale(6.0, x));
        assert_eq!(g.neg(minus), y);
    }

    #[test]
    fn derivatives_agree_with_differences() {
        let mut g = Graph::default();
        let (x, y) = (g.input(0), g.input(1));
        let sine = g.unary(Unary::Sin, x);
        let square = g.mul(y, y);
        let shifted = g.less(square, -2.0);
        let root = g.unary(Unary::Sqrt, shifted);
        let quotient = g.div(sine, root);
        let angle = g.binary(Binary::Atan2, root, sine);
        let cosine = g.unary(Unary::Cos, quotient);
        let f = g.dot(&[(cosine, angle), (x, y)]);
        let (dx, dy) = (g.constant(0.3), g.constant(-0.7));
        let d = g.derivative(f, &mut Derivatives::along([(x, dx), (y, dy)]));
        let at = |s: f64| g.evaluate(&[f], &[0.4 + 0.3 * s, 1.1 - 0.7 * s])[0];
        let exact = g.evaluate(&[d], &[0.4, 1.1])[0];
        let h = 1e-5;
        // Central differences: h² of the third derivative, and rounding/h.
        assert!((exact - (at(h) - at(-h)) / (2.0 * h)).abs() < 1e-9, "{exact}");
    }
}
