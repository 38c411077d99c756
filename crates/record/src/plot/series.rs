//! Quantities of a record over time, by name.
//!
//! | name | what |
//! |---|---|
//! | `grip`, `knee.angle`, `knee.rate`, `lift.effort` | a channel: a sensor, a coordinate of a joint and its rate, the effort of a motor |
//! | `crate.x` `.y` `.z` `.vx` `.vy` `.vz` `.speed` | a body: its centre of mass and its velocity |
//! | `left/part.force` | the contact force between two bodies |
//! | `part.force` | the sum of the contact forces on a body |

use super::Series;
use crate::record::Record;
use crate::record::read::Moment;
use glam::DVec3;

const OF_BODY: [&str; 8] = ["x", "y", "z", "vx", "vy", "vz", "speed", "force"];

/// A quantity by name, and its unit.
pub fn of(record: &mut Record, name: &str) -> Result<(Series, String), String> {
    if let Some(k) = record.head.channels.iter().position(|c| c.name == name) {
        let unit = record.head.channels[k].unit.clone();
        let points = record
            .times()
            .into_iter()
            .zip(&record.channels)
            .map(|(t, row)| (t, f64::from(row[k])))
            .collect();
        return Ok((Series { label: name.into(), points, dots: false }, unit));
    }
    let unknown = || {
        let some: Vec<&str> =
            record.head.channels.iter().map(|c| c.name.as_str()).take(12).collect();
        let body = record
            .head
            .moving
            .first()
            .map_or("crate", |&b| record.head.bodies[b as usize].name.as_str());
        let channels =
            if some.is_empty() { String::new() } else { format!("; {}", some.join(", ")) };
        format!(
            "there is no `{name}`: wanted {body}.{}{channels}, or the contact force a/b.force",
            OF_BODY.join(&format!(", {body}."))
        )
    };
    let (things, quantity) = name.rsplit_once('.').ok_or_else(unknown)?;
    let number = |name: &str| record.head.bodies.iter().position(|b| b.name == name);
    let pair = match number(things) {
        Some(body) => (body, None),
        None => {
            let (a, b) = things.split_once('/').ok_or_else(unknown)?;
            (number(a).ok_or_else(unknown)?, Some(number(b).ok_or_else(unknown)?))
        }
    };
    let wanted = OF_BODY.iter().position(|q| *q == quantity).ok_or_else(unknown)?;
    if pair.1.is_some() && quantity != "force" {
        return Err(unknown());
    }
    let unit = ["m", "m", "m", "m/s", "m/s", "m/s", "m/s", "N"][wanted];
    let mut points = Vec::new();
    for i in 0..record.times().len() {
        let moment = record.moment(i).map_err(|e| e.to_string())?;
        let (position, velocity) = (moment.poses[pair.0].position, moment.velocities[pair.0]);
        let value = match wanted {
            0..=2 => position[wanted],
            3..=5 => velocity[wanted - 3],
            6 => velocity.length(),
            _ => contact_force(&moment, pair).length(),
        };
        // Who is not there is nowhere.
        points.push((moment.time, if moment.there[pair.0] { value } else { f64::NAN }));
    }
    Ok((Series { label: name.into(), points, dots: false }, unit.into()))
}

/// The sum of the contact forces on a body, from one other or from all, N.
fn contact_force(moment: &Moment, (body, other): (usize, Option<usize>)) -> DVec3 {
    let with = |x: u32| other.is_none_or(|o| o == x as usize);
    let part = |t: &crate::record::read::Touch| match t.bodies {
        [a, b] if b as usize == body && with(a) => t.force,
        [a, b] if a as usize == body && with(b) => -t.force,
        _ => DVec3::ZERO,
    };
    moment.touches.iter().map(part).sum()
}
