//! Programs with a fixed pattern: expressions, tapes, sparse QR, and their export as C99 and Rust.
//!
//! For a given mechanism the pattern of every matrix is fixed. So everything that depends on the
//! pattern alone is done once:
//!
//! ```text
//!   expressions (graph) → derivatives → only what is wanted, without zeros, ones and constants → tape, or C, or Rust
//!   pattern of A (pattern) → order of columns, fill, steps → R by flat lists (factor), or as expressions (unrolled)
//! ```
//!
//! * [`graph`]: hash-consed expressions and their derivatives. [`vector`]: three of them at once.
//!   [`tape`]: a flat program that is run here.
//! * [`pattern`]: sparse QR on paper. [`factor`]: R(A) and its solves by flat lists, with rank
//!   detection. [`unrolled`]: the same as expressions.
//! * [`export`]: straight-line C99 and Rust.
//!
//! Nothing here knows what a body is (SymbolicQR).

pub mod dense;
pub mod export;
pub mod factor;
pub mod graph;
pub mod pattern;
pub mod tape;
pub mod unrolled;
pub mod vector;

pub use factor::Factor;
pub use graph::{Graph, Id, Node};
pub use pattern::Pattern;
pub use tape::{Tape, Work};
