//! Sensors, joints and motors over time: `CHAN` chunks, one row of single-precision numbers for
//! each frame.
//!
//! ```text
//!   chunk = number of rows, columns          words are differences from the row before, within a chunk
//! ```

use super::words::{self, Taker, add, difference};
use serde::{Deserialize, Serialize};
use signorini_mechanics::control::coordinate;
use signorini_mechanics::scene::{Coordinate, JointId, MotorId, Quantity, Scene, SensorId};

/// What a column of the rows is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// Its name, such as `knee.angle`.
    pub name: String,
    /// Its SI unit.
    pub unit: String,
}

/// Channels that a record has at most.
const MAX_CHANNELS: usize = 512;

/// The channels of a scene and what each measures: its sensors, the coordinate and rate of its
/// joints, the efforts of its motors.
pub fn of(scene: &Scene) -> Vec<(Channel, Quantity)> {
    let mut out: Vec<(Channel, Quantity)> = Vec::new();
    let mut add = |name: String, unit: &str, quantity: Quantity| {
        if out.len() < MAX_CHANNELS {
            out.push((Channel { name, unit: unit.into() }, quantity));
        }
    };
    for (i, sensor) in scene.sensors.iter().enumerate() {
        add(sensor.name.clone(), &sensor.unit, Quantity::Sensor(SensorId(i as u32)));
    }
    for (i, motor) in scene.motors.iter().enumerate() {
        let unit = if motor.coordinate == Coordinate::Angle { "N m" } else { "N" };
        add(format!("{}.effort", motor.name), unit, Quantity::Effort(MotorId(i as u32)));
    }
    for (i, joint) in scene.joints.iter().enumerate() {
        let (id, which) = (JointId(i as u32), coordinate(joint));
        let (word, unit) = match which {
            Coordinate::Angle => ("angle", "rad"),
            Coordinate::Slide => ("slide", "m"),
            Coordinate::Distance => ("distance", "m"),
        };
        add(format!("{}.{word}", joint.name), unit, Quantity::Value(id, which));
        add(format!("{}.rate", joint.name), &format!("{unit}/s"), Quantity::Rate(id, which));
    }
    out
}

/// Rows as the raw bytes of a chunk.
pub fn encode(rows: &[Vec<f32>]) -> Vec<u8> {
    let mut out = vec![rows.len() as u32];
    for column in 0..rows.first().map_or(0, Vec::len) {
        let mut last = 0;
        for row in rows {
            let word = row[column].to_bits();
            out.push(difference(word, last));
            last = word;
        }
    }
    words::planes(&out)
}

/// The rows of a chunk's raw bytes; none if they do not fit together.
pub fn decode(raw: &[u8], columns: usize) -> Option<Vec<Vec<f32>>> {
    let words = words::from_planes(raw);
    let mut take = Taker::new(&words);
    let n = take.one()? as usize;
    if columns == 0 {
        return Some(Vec::new());
    }
    let table = take.many(n.checked_mul(columns)?)?;
    let mut rows = vec![vec![0.0; columns]; n];
    for column in 0..columns {
        let mut last = 0;
        for (k, row) in rows.iter_mut().enumerate() {
            last = add(table[column * n + k], last);
            row[column] = f32::from_bits(last);
        }
    }
    Some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back() {
        let rows = vec![vec![1.0, -2.5e-9, f32::INFINITY], vec![1.5, 0.0, 3.0]];
        let raw = encode(&rows);
        assert_eq!(decode(&raw, 3).unwrap(), rows);
        assert_eq!(decode(&raw[..8], 3), None);
        assert_eq!(decode(&raw, 4), None);
    }
}
