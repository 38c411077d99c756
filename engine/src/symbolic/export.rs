//! Straight-line code.
