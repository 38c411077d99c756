//! Small problems with known solutions, made by code.
