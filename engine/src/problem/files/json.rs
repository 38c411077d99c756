//! Our own format.

/// A bound of an interval: a number, or `"inf"` / `"-inf"` (JSON has no infinity).
pub mod bound {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Writes a bound.
    pub fn serialize<S: Serializer>(x: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        if x.is_finite() { serializer.serialize_f64(*x) } else { serializer.serialize_str(if *x > 0.0 { "inf" } else { "-inf" }) }
    }

    /// Reads a bound.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Bound {
            Number(f64),
            Text(String),
        }
        match Bound::deserialize(deserializer)? {
            Bound::Number(x) => Ok(x),
            Bound::Text(t) if t == "inf" => Ok(f64::INFINITY),
            Bound::Text(t) if t == "-inf" => Ok(f64::NEG_INFINITY),
            Bound::Text(t) => Err(D::Error::custom(format!("a bound is \"{t}\", wanted a number, \"inf\" or \"-inf\""))),
        }
    }
}
