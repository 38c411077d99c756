//! Numbers that may be infinite, for formats that have no infinity (JSON): `"inf"` and `"-inf"` as text.

use serde::{Deserialize, Deserializer, Serializer, de::Error};

pub fn serialize<S: Serializer>(x: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if x.is_infinite() { serializer.serialize_str(if *x > 0.0 { "inf" } else { "-inf" }) } else { serializer.serialize_f64(*x) }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Extended {
    Number(f64),
    Text(String),
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    match Extended::deserialize(deserializer)? {
        Extended::Number(x) => Ok(x),
        Extended::Text(text) => match text.as_str() {
            "inf" | "+inf" => Ok(f64::INFINITY),
            "-inf" => Ok(f64::NEG_INFINITY),
            _ => Err(D::Error::custom(format!("found `{text}`, wanted a number, \"inf\" or \"-inf\""))),
        },
    }
}
