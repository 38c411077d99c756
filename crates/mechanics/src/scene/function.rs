//! Functions of time: what drives a motor, moves a body, or pushes.

use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// A function of time, in the unit of whatever it drives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    /// The same value at all times.
    Constant(f64),
    /// `value + rate · t`.
    Ramp {
        /// Value at t = 0.
        value: f64,
        /// Change per second.
        rate: f64,
    },
    /// `offset + amplitude · sin(2π frequency t + phase)`.
    Sine {
        /// Mean value.
        offset: f64,
        /// Half of peak to peak.
        amplitude: f64,
        /// Cycles per second, Hz.
        frequency: f64,
        /// Phase at t = 0, rad.
        phase: f64,
    },
    /// From one value to another with zero rate and acceleration at both ends (a quintic).
    SmoothStep {
        /// Value before `start`.
        from: f64,
        /// Value after `start + duration`.
        to: f64,
        /// When it begins, s.
        start: f64,
        /// How long it takes, s.
        duration: f64,
    },
    /// Straight lines between points, constant outside.
    Table {
        /// Times, strictly ascending, s.
        times: Vec<f64>,
        /// Values at these times.
        values: Vec<f64>,
    },
    /// The sum of several functions.
    Sum(Vec<Function>),
    /// High for `width` at the beginning of every period, else low; low before `start`.
    Pulse {
        /// Value between pulses.
        low: f64,
        /// Value within a pulse.
        high: f64,
        /// Time from one pulse to the next, s.
        period: f64,
        /// How long a pulse is, s.
        width: f64,
        /// When the first one begins, s.
        start: f64,
    },
    /// What another function does from 0 to `period`, again and again.
    Periodic {
        /// How long it takes, s.
        period: f64,
        /// The function.
        function: Box<Function>,
    },
}

impl Default for Function {
    fn default() -> Function {
        Function::Constant(0.0)
    }
}

impl From<f64> for Function {
    fn from(value: f64) -> Function {
        Function::Constant(value)
    }
}

impl Function {
    /// A sine about zero that starts at zero.
    pub fn sine(amplitude: f64, frequency: f64) -> Function {
        Function::Sine { offset: 0.0, amplitude, frequency, phase: 0.0 }
    }

    /// A constant rate from zero.
    pub fn rate(rate: f64) -> Function {
        Function::Ramp { value: 0.0, rate }
    }

    /// The value at time `t`.
    pub fn value(&self, t: f64) -> f64 {
        match self {
            Function::Constant(value) => *value,
            Function::Ramp { value, rate } => value + rate * t,
            Function::Sine { offset, amplitude, frequency, phase } => {
                offset + amplitude * (TAU * frequency * t + phase).sin()
            }
            Function::SmoothStep { from, to, start, duration } => {
                let s = ((t - start) / duration).clamp(0.0, 1.0);
                from + (to - from) * s * s * s * (10.0 + s * (6.0 * s - 15.0))
            }
            Function::Table { times, values } => table(times, values, t),
            Function::Sum(terms) => terms.iter().map(|f| f.value(t)).sum(),
            Function::Pulse { low, high, period, width, start } => {
                let within = t >= *start && (t - start).rem_euclid(*period) < *width;
                if within { *high } else { *low }
            }
            Function::Periodic { period, function } => function.value(t.rem_euclid(*period)),
        }
    }

    /// The mean rate of change over `[t, t + h]`: what a motion must do to be exact at both ends.
    pub fn mean_rate(&self, t: f64, h: f64) -> f64 {
        match self {
            Function::Constant(_) => 0.0,
            Function::Ramp { rate, .. } => *rate,
            Function::Sum(terms) => terms.iter().map(|f| f.mean_rate(t, h)).sum(),
            _ => (self.value(t + h) - self.value(t)) / h,
        }
    }

    /// The rate of change at time `t`; at a corner of a table that of the piece behind it.
    pub fn derivative(&self, t: f64) -> f64 {
        match self {
            Function::Constant(_) => 0.0,
            Function::Ramp { rate, .. } => *rate,
            Function::Sine { amplitude, frequency, phase, .. } => {
                amplitude * TAU * frequency * (TAU * frequency * t + phase).cos()
            }
            Function::SmoothStep { from, to, start, duration } => {
                let s = ((t - start) / duration).clamp(0.0, 1.0);
                (to - from) / duration * 30.0 * s * s * (1.0 - s) * (1.0 - s)
            }
            Function::Table { times, values } => {
                let after = times.partition_point(|&x| x <= t);
                if after == 0 || after == times.len() {
                    return 0.0;
                }
                (values[after] - values[after - 1]) / (times[after] - times[after - 1])
            }
            Function::Sum(terms) => terms.iter().map(|f| f.derivative(t)).sum(),
            Function::Pulse { .. } => 0.0,
            Function::Periodic { period, function } => function.derivative(t.rem_euclid(*period)),
        }
    }

    /// The integral from 0 to `t` ≥ 0: where a speed leads.
    pub fn integral(&self, t: f64) -> f64 {
        match self {
            Function::Constant(value) => value * t,
            Function::Ramp { value, rate } => value * t + 0.5 * rate * t * t,
            Function::Sine { offset, amplitude, frequency, phase } if *frequency == 0.0 => {
                (offset + amplitude * phase.sin()) * t
            }
            Function::Sine { offset, amplitude, frequency, phase } => {
                offset * t
                    + amplitude / (TAU * frequency)
                        * (phase.cos() - (TAU * frequency * t + phase).cos())
            }
            Function::SmoothStep { from, to, start, duration } => {
                // ∫ s³(10 − 15s + 6s²) ds = s⁴(2.5 − 3s + s²), counted from s = 0.
                let until = |t: f64| {
                    let s = ((t - start) / duration).clamp(0.0, 1.0);
                    from * t
                        + (to - from)
                            * (duration * s.powi(4) * (2.5 - s * (3.0 - s))
                                + (t - start - duration).max(0.0))
                };
                until(t) - until(0.0)
            }
            Function::Table { times, values } => {
                // Trapezoids between 0, the corners in between, and t.
                let mut sum = 0.0;
                let mut last = 0.0;
                for next in times.iter().copied().filter(|&x| x > 0.0 && x < t).chain([t]) {
                    sum += 0.5
                        * (table(times, values, last) + table(times, values, next))
                        * (next - last);
                    last = next;
                }
                sum
            }
            Function::Sum(terms) => terms.iter().map(|f| f.integral(t)).sum(),
            Function::Pulse { low, high, period, width, start } => {
                let until = |t: f64| {
                    let s = (t - start).max(0.0);
                    low * t
                        + (high - low)
                            * ((s / period).floor() * width + s.rem_euclid(*period).min(*width))
                };
                until(t) - until(0.0)
            }
            Function::Periodic { period, function } => {
                (t / period).floor() * function.integral(*period)
                    + function.integral(t.rem_euclid(*period))
            }
        }
    }

    /// What is wrong with the function, if anything.
    pub fn fault(&self) -> Option<String> {
        let numbers: &[f64] = match self {
            Function::Constant(value) => &[*value],
            Function::Ramp { value, rate } => &[*value, *rate],
            Function::Sine { offset, amplitude, frequency, phase } => {
                &[*offset, *amplitude, *frequency, *phase]
            }
            Function::SmoothStep { from, to, start, duration } => {
                if duration.is_nan() || *duration <= 0.0 {
                    return Some(format!("smooth step: duration = {duration}, wanted > 0 s"));
                }
                &[*from, *to, *start]
            }
            Function::Table { times, values } => return table_fault(times, values),
            Function::Sum(terms) => return terms.iter().find_map(Function::fault),
            Function::Pulse { low, high, period, width, start } => {
                if !(*width > 0.0 && width <= period) {
                    return Some(format!(
                        "pulse: width = {width} s of a period of {period} s, wanted above 0 and \
                            not longer than the period"
                    ));
                }
                &[*low, *high, *period, *start]
            }
            Function::Periodic { period, function } => {
                if !(*period > 0.0 && period.is_finite()) {
                    return Some(format!("periodic: period = {period} s, wanted > 0"));
                }
                return function.fault();
            }
        };
        numbers
            .iter()
            .find(|x| !x.is_finite())
            .map(|x| format!("function of time: {x}, wanted a finite number"))
    }
}

fn table(times: &[f64], values: &[f64], t: f64) -> f64 {
    let after = times.partition_point(|&x| x <= t);
    if after == 0 {
        return values[0];
    }
    if after == times.len() {
        return values[after - 1];
    }
    let (t0, t1) = (times[after - 1], times[after]);
    let s = (t - t0) / (t1 - t0);
    values[after - 1] * (1.0 - s) + values[after] * s
}

fn table_fault(times: &[f64], values: &[f64]) -> Option<String> {
    if times.is_empty() || times.len() != values.len() {
        return Some(format!(
            "table: {} times and {} values, wanted equally many, at least one",
            times.len(),
            values.len()
        ));
    }
    if let Some(x) = times.iter().chain(values).find(|x| !x.is_finite()) {
        return Some(format!("table: {x}, wanted a finite number"));
    }
    let bad = times.windows(2).position(|w| w[0] >= w[1])?;
    Some(format!("table: time {} follows {}, wanted ascending times", times[bad + 1], times[bad]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_has_its_closed_form() {
        assert_eq!(Function::rate(2.0).value(1.5), 3.0);
        assert!((Function::sine(2.0, 0.25).value(1.0) - 2.0).abs() < 1e-15);
        let step = Function::SmoothStep { from: 1.0, to: 3.0, start: 1.0, duration: 2.0 };
        assert_eq!((step.value(0.0), step.value(2.0), step.value(9.0)), (1.0, 2.0, 3.0));
        let table = Function::Table { times: vec![0.0, 1.0, 3.0], values: vec![0.0, 2.0, 0.0] };
        assert_eq!(
            (table.value(-1.0), table.value(0.5), table.value(2.0), table.value(4.0)),
            (0.0, 1.0, 1.0, 0.0)
        );
        // The mean rate is exact at both ends of the interval.
        let (t, h) = (1.1, 0.3);
        assert!((step.value(t) + h * step.mean_rate(t, h) - step.value(t + h)).abs() < 1e-15);
    }

    #[test]
    fn derivative_and_integral_undo_each_other() {
        let functions = [
            Function::Constant(2.0),
            Function::Ramp { value: 1.0, rate: -3.0 },
            Function::Sine { offset: 0.3, amplitude: 2.0, frequency: 0.7, phase: 0.4 },
            Function::SmoothStep { from: 1.0, to: 3.0, start: 0.5, duration: 2.0 },
            Function::SmoothStep { from: 1.0, to: 3.0, start: -1.0, duration: 2.0 },
            Function::Table { times: vec![0.5, 1.0, 3.0], values: vec![1.0, 2.0, 0.0] },
            Function::Sum(vec![Function::Constant(1.0), Function::rate(2.0)]),
            // No edge at the times below.
            Function::Pulse { low: 0.5, high: 2.0, period: 0.6, width: 0.25, start: 0.13 },
            Function::Periodic {
                period: 0.9,
                function: Box::new(Function::Table {
                    times: vec![0.0, 0.4, 0.9],
                    values: vec![1.0, 2.0, 1.0],
                }),
            },
        ];
        for f in functions {
            for t in [0.2, 0.7, 1.7, 2.6, 4.1] {
                // Central differences: h² of third derivatives below 200, and rounding 1e-16/h.
                let h = 1e-5;
                assert!(
                    ((f.value(t + h) - f.value(t - h)) / (2.0 * h) - f.derivative(t)).abs() < 1e-7,
                    "{f:?} at {t}"
                );
                assert!(
                    ((f.integral(t + h) - f.integral(t - h)) / (2.0 * h) - f.value(t)).abs() < 1e-7,
                    "{f:?} at {t}"
                );
            }
            assert_eq!(f.integral(0.0), 0.0);
        }
    }

    #[test]
    fn a_bad_function_says_why() {
        let table = Function::Table { times: vec![0.0, 0.0], values: vec![0.0, 1.0] };
        assert!(table.fault().unwrap().contains("ascending"));
        assert!(Function::Constant(f64::NAN).fault().is_some());
        assert!(
            Function::SmoothStep { from: 0.0, to: 1.0, start: 0.0, duration: 0.0 }
                .fault()
                .is_some()
        );
        assert!(
            Function::Pulse { low: 0.0, high: 1.0, period: 1.0, width: 2.0, start: 0.0 }
                .fault()
                .is_some()
        );
        assert!(Function::Periodic { period: 0.0, function: Box::default() }.fault().is_some());
    }
}
