//! Projected fixed-point sweeps.
