//! Steps of a run: `STEP` chunks, one row of single-precision numbers for each step.
//!
//! ```text
//!   chunk = number of steps, columns          words are differences from the step before, within a chunk
//! ```

use super::words::{self, Taker, add, difference};

macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        /// What is known of one step.
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct Step {
            $($(#[$doc])* pub $name: f32,)+
        }

        /// The names of the columns, in their order.
        pub const COLUMNS: &[&str] = &[$(stringify!($name)),+];

        impl Step {
            /// Its numbers, in the order of the columns, as bits.
            pub fn row(&self) -> Vec<u32> {
                vec![$(self.$name.to_bits()),+]
            }

            /// The step of [`Step::row`].
            pub fn from_row(row: &[u32]) -> Step {
                let mut each = row.iter().map(|w| f32::from_bits(*w));
                Step { $($name: each.next().unwrap_or(0.0)),+ }
            }
        }
    };
}

columns! {
    /// Which step, from 1.
    step,
    /// Time at its end, s.
    time,
    /// The error, J.
    joule,
    /// The error relative to the energy scale.
    relative,
    /// Estimated energy of the velocity error, J.
    estimate,
    /// Largest wrong velocity, m/s.
    velocity,
    /// How far the step is from the motion, m; not a number if the time scheme cannot tell.
    scheme_metre,
    /// The same as an energy of the velocities, J.
    scheme_joule,
    /// 1 if an impact or a change of a contact's status was seen in the step, else 0.
    event,
    /// The worst constraint: place in the list of names.
    worst,
    /// The method: place in the list of names.
    solver,
    /// Work of the solver, in its unit.
    work,
    /// 1 if the error was accepted, else 0.
    accepted,
    /// Deepest overlap, m.
    penetration,
    /// Contacts, open ones included.
    contacts,
    /// Rows of the problem.
    rows,
    /// In how many parts the step was taken.
    substeps,
    /// Kinetic energy, J.
    kinetic,
    /// Potential energy, J.
    potential,
    /// Taken by friction since the beginning, J.
    friction,
    /// Taken by impacts since the beginning, J.
    impact,
    /// Taken by dampers since the beginning, J.
    dampers,
    /// Given by motors since the beginning, J.
    motors,
    /// Given by applied forces since the beginning, J.
    applied,
    /// Given by the time-stepping scheme since the beginning, J.
    scheme,
    /// Given by the solver's defect since the beginning, J.
    defect,
    /// Brought by events since the beginning, J.
    events,
    /// Seconds of the user's time that the step took.
    wall,
}

/// Steps as the raw bytes of a chunk.
pub fn encode(steps: &[Step]) -> Vec<u8> {
    let rows: Vec<Vec<u32>> = steps.iter().map(Step::row).collect();
    let mut out = vec![rows.len() as u32];
    for column in 0..COLUMNS.len() {
        let mut last = 0;
        for row in &rows {
            out.push(difference(row[column], last));
            last = row[column];
        }
    }
    words::planes(&out)
}

/// The steps of a chunk's raw bytes; none if they do not fit together.
pub fn decode(raw: &[u8]) -> Option<Vec<Step>> {
    let words = words::from_planes(raw);
    let mut take = Taker::new(&words);
    let n = take.one()? as usize;
    let table = take.many(n.checked_mul(COLUMNS.len())?)?;
    let mut rows = vec![vec![0; COLUMNS.len()]; n];
    for column in 0..COLUMNS.len() {
        let mut last = 0;
        for (k, row) in rows.iter_mut().enumerate() {
            last = add(table[column * n + k], last);
            row[column] = last;
        }
    }
    Some(rows.iter().map(|row| Step::from_row(row)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_come_back() {
        let steps: Vec<Step> = (0..5)
            .map(|k| Step {
                step: k as f32,
                joule: 1e-12 * k as f32,
                wall: 0.1,
                defect: -3.0,
                ..Step::default()
            })
            .collect();
        let raw = encode(&steps);
        assert_eq!(decode(&raw).unwrap(), steps);
        assert_eq!(decode(&raw[..8]), None);
        assert_eq!((COLUMNS.first(), COLUMNS.last()), (Some(&"step"), Some(&"wall")));
    }
}
