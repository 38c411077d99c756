//! Equality rows alone, in one factorization.
