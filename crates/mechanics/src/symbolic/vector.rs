//! Vectors and rotations whose entries are expressions.

use super::graph::{Graph, Id};
use glam::DVec3;

/// Three expressions.
pub type Vector = [Id; 3];

/// A rotation matrix by its columns: the axes of a frame.
pub type Rotation = [Vector; 3];

impl Graph {
    /// A vector of numbers.
    pub fn fixed(&mut self, v: DVec3) -> Vector {
        v.to_array().map(|x| self.constant(x))
    }

    /// a + b.
    pub fn sum_of(&mut self, a: Vector, b: Vector) -> Vector {
        std::array::from_fn(|i| self.add(a[i], b[i]))
    }

    /// a − b.
    pub fn difference_of(&mut self, a: Vector, b: Vector) -> Vector {
        std::array::from_fn(|i| self.sub(a[i], b[i]))
    }

    /// s a.
    pub fn scaled(&mut self, s: Id, a: Vector) -> Vector {
        a.map(|x| self.mul(s, x))
    }

    /// a · b.
    pub fn inner(&mut self, a: Vector, b: Vector) -> Id {
        self.dot(&[(a[0], b[0]), (a[1], b[1]), (a[2], b[2])])
    }

    /// a × b.
    pub fn cross(&mut self, a: Vector, b: Vector) -> Vector {
        let mut entry = |i: usize, j: usize| {
            let (first, second) = (self.mul(a[i], b[j]), self.mul(a[j], b[i]));
            self.sub(first, second)
        };
        [entry(1, 2), entry(2, 0), entry(0, 1)]
    }

    /// R a.
    pub fn turned(&mut self, rotation: &Rotation, a: Vector) -> Vector {
        std::array::from_fn(|i| {
            self.dot(&[(rotation[0][i], a[0]), (rotation[1][i], a[1]), (rotation[2][i], a[2])])
        })
    }

    /// Rᵀ a.
    pub fn turned_back(&mut self, rotation: &Rotation, a: Vector) -> Vector {
        rotation.map(|column| self.inner(column, a))
    }

    /// The rotation matrix of a unit quaternion (x, y, z, w).
    pub fn rotation(&mut self, q: [Id; 4]) -> Rotation {
        let twice = q.map(|x| self.scale(2.0, x));
        let product = |g: &mut Graph, i: usize, j: usize| g.mul(twice[i], q[j]);
        let diagonal = |g: &mut Graph, i: usize, j: usize| {
            let (first, second) = (product(g, i, i), product(g, j, j));
            let rest = g.add(first, second);
            let one = g.constant(1.0);
            g.sub(one, rest)
        };
        let (xy, xz, yz) = (product(self, 0, 1), product(self, 0, 2), product(self, 1, 2));
        let (xw, yw, zw) = (product(self, 0, 3), product(self, 1, 3), product(self, 2, 3));
        [
            [diagonal(self, 1, 2), self.add(xy, zw), self.sub(xz, yw)],
            [self.sub(xy, zw), diagonal(self, 0, 2), self.add(yz, xw)],
            [self.add(xz, yw), self.sub(yz, xw), diagonal(self, 0, 1)],
        ]
    }
}
