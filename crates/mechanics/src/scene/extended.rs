//! Numbers that may be infinite or no number, for formats that have neither (JSON): `"inf"`,
//! `"-inf"`, `"nan"` as text.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

pub fn serialize<S: Serializer>(x: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match *x {
        x if x.is_nan() => serializer.serialize_str("nan"),
        f64::INFINITY => serializer.serialize_str("inf"),
        f64::NEG_INFINITY => serializer.serialize_str("-inf"),
        x => serializer.serialize_f64(x),
    }
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
            "nan" => Ok(f64::NAN),
            _ => Err(D::Error::custom(format!(
                "found `{text}`, wanted a number, \"inf\", \"-inf\" or \"nan\""
            ))),
        },
    }
}

/// Lists of them.
pub mod list {
    use super::*;

    #[derive(Serialize, Deserialize)]
    #[serde(transparent)]
    struct One(#[serde(with = "super")] f64);

    pub fn serialize<S: Serializer>(list: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(list.iter().map(|x| One(*x)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
        Ok(Vec::<One>::deserialize(deserializer)?.into_iter().map(|x| x.0).collect())
    }
}
