//! The samples of a sweep: a grid, a Latin hypercube, or random ones. The same seed gives the same
//! samples, here and in Python.

use crate::run::number;
use serde_json::{Map, Value as Json, json};
use signorini::math::random::Random;
use std::f64::consts::TAU;

/// Parameters of one run by name: numbers in SI units, or texts.
pub type Sample = Map<String, Json>;

/// A parameter that is drawn at random.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The parameter.
    pub name: String,
    /// How it is spread.
    pub spread: Spread,
}

/// How a parameter is spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// The same density from one end to the other.
    Uniform(f64, f64),
    /// Mean and standard deviation.
    Normal(f64, f64),
}

/// `mu=0.1:1:64` (64 values from 0.1 to 1), `mu=0.1,0.3,0.5`: a parameter and its values.
pub fn axis(text: &str) -> Result<(String, Vec<Json>), String> {
    let (name, values) = text.split_once('=').ok_or(WANTED_AXIS)?;
    let parts: Vec<&str> = values.split(':').collect();
    let list = match parts.as_slice() {
        [from, to, count] => {
            let (from, to) = (number(from)?, number(to)?);
            let count =
                count.trim().parse::<usize>().ok().filter(|n| (1..=MAX_SAMPLES).contains(n));
            let n = count.ok_or(format!("`{text}`: wanted a count from 1 to {MAX_SAMPLES}"))?;
            (0..n).map(|i| json!(between(from, to, i, n))).collect()
        }
        // What is no number is the text of a parameter.
        [list] => list
            .split(',')
            .map(|x| number(x).map_or_else(|_| json!(x.trim()), |x| json!(x)))
            .collect(),
        _ => return Err(format!("`{text}`: {WANTED_AXIS}")),
    };
    Ok((name.trim().into(), list))
}

const WANTED_AXIS: &str = "wanted NAME=FROM:TO:COUNT or NAME=VALUE,VALUE,…";

/// Samples of a sweep, at most.
pub const MAX_SAMPLES: usize = 1_000_000;

/// The i-th of n values from one end to the other; both ends are met exactly.
fn between(from: f64, to: f64, i: usize, n: usize) -> f64 {
    if i + 1 == n && n > 1 { to } else { from + (to - from) * i as f64 / (n.max(2) - 1) as f64 }
}

/// `mu=0.1:1` (uniform) or `mu=normal(0.5,0.1)`.
pub fn range(text: &str) -> Result<Range, String> {
    const WANTED: &str = "wanted NAME=FROM:TO or NAME=normal(MEAN,DEVIATION)";
    let wrong = || format!("`{text}`: {WANTED}");
    let (name, spread) = text.split_once('=').ok_or_else(wrong)?;
    let pair = |text: &str, between: char| {
        let (a, b) = text.split_once(between).ok_or_else(wrong)?;
        Ok::<_, String>((number(a)?, number(b)?))
    };
    let spread = match spread.trim().strip_prefix("normal(").and_then(|rest| rest.strip_suffix(')'))
    {
        Some(inside) => {
            pair(inside, ',').map(|(mean, deviation)| Spread::Normal(mean, deviation))?
        }
        None => pair(spread, ':').map(|(from, to)| Spread::Uniform(from, to))?,
    };
    Ok(Range { name: name.trim().into(), spread })
}

/// Every combination; the last axis runs fastest.
pub fn grid(axes: &[(String, Vec<Json>)]) -> Result<Vec<Sample>, String> {
    let count = axes.iter().try_fold(1usize, |n, (_, values)| {
        n.checked_mul(values.len()).filter(|n| *n <= MAX_SAMPLES)
    });
    count.ok_or(format!("the grid has more than {MAX_SAMPLES} points"))?;
    let mut samples = vec![Sample::new()];
    for (name, values) in axes {
        let with = |sample: &Sample| -> Vec<Sample> {
            let one = |value: &Json| {
                let mut next = sample.clone();
                next.insert(name.clone(), value.clone());
                next
            };
            values.iter().map(one).collect()
        };
        samples = samples.iter().flat_map(with).collect();
    }
    Ok(samples)
}

/// `n` samples, one in each n-th of every range.
pub fn latin_hypercube(ranges: &[Range], n: usize, seed: u64) -> Result<Vec<Sample>, String> {
    let mut random = Random::new(seed);
    let mut samples = vec![Sample::new(); checked(n)?];
    for Range { name, spread } in ranges {
        let Spread::Uniform(from, to) = *spread else {
            return Err(format!("`{name}`: a Latin hypercube wants NAME=FROM:TO"));
        };
        let mut strata: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            strata.swap(i, random.below(i + 1));
        }
        for (sample, stratum) in samples.iter_mut().zip(strata) {
            let share = (stratum as f64 + random.unit()) / n as f64;
            sample.insert(name.clone(), json!(from + (to - from) * share));
        }
    }
    Ok(samples)
}

/// `n` independent samples.
pub fn monte_carlo(ranges: &[Range], n: usize, seed: u64) -> Result<Vec<Sample>, String> {
    let mut random = Random::new(seed);
    let mut samples = vec![Sample::new(); checked(n)?];
    for sample in &mut samples {
        for Range { name, spread } in ranges {
            let value = match *spread {
                Spread::Uniform(from, to) => from + (to - from) * random.unit(),
                Spread::Normal(mean, deviation) => mean + deviation * normal(&mut random),
            };
            sample.insert(name.clone(), json!(value));
        }
    }
    Ok(samples)
}

fn checked(n: usize) -> Result<usize, String> {
    if (1..=MAX_SAMPLES).contains(&n) {
        Ok(n)
    } else {
        Err(format!("{n} samples, wanted 1 to {MAX_SAMPLES}"))
    }
}

/// Box and Muller.
fn normal(random: &mut Random) -> f64 {
    let (u, v) = (1.0 - random.unit(), random.unit());
    (-2.0 * u.ln()).sqrt() * (TAU * v).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(samples: &[Sample], name: &str) -> Vec<f64> {
        samples.iter().map(|s| s[name].as_f64().unwrap()).collect()
    }

    #[test]
    fn a_grid_has_every_combination_and_both_ends() {
        let axes = [axis("mu=0.1:1:4").unwrap(), axis("shape=a, b").unwrap()];
        let samples = grid(&axes).unwrap();
        assert_eq!(samples.len(), 8);
        let mu = numbers(&samples, "mu");
        assert_eq!((mu[0], mu[7]), (0.1, 1.0));
        assert_eq!(samples[3]["shape"], "b");
        assert_eq!(axis("speed=10 cm/s").unwrap().1, [json!(0.1)]);
        for wrong in ["mu", "mu=1:2", "mu=0:1:0", "mu=0:1:1e9"] {
            assert!(axis(wrong).is_err(), "{wrong}");
        }
        let wide = vec![axis("a=0:1:1000000").unwrap(), axis("b=0:1:2").unwrap()];
        assert!(grid(&wide).unwrap_err().contains("1000000"));
    }

    #[test]
    fn a_latin_hypercube_has_one_sample_in_each_stratum() {
        let ranges = [range("mu=0.1:1").unwrap(), range("v=0:2").unwrap()];
        let samples = latin_hypercube(&ranges, 50, 7).unwrap();
        for (name, from, width) in [("mu", 0.1, 0.9), ("v", 0.0, 2.0)] {
            let mut strata: Vec<usize> = numbers(&samples, name)
                .iter()
                .map(|x| ((x - from) / width * 50.0) as usize)
                .collect();
            strata.sort_unstable();
            assert_eq!(strata, (0..50).collect::<Vec<_>>());
        }
        assert_eq!(samples, latin_hypercube(&ranges, 50, 7).unwrap());
        assert_ne!(samples, latin_hypercube(&ranges, 50, 8).unwrap());
        assert!(latin_hypercube(&[range("mu=normal(0,1)").unwrap()], 5, 1).is_err());
    }

    #[test]
    fn random_samples_have_their_mean_and_deviation() {
        let ranges = [range("a=normal(3, 2)").unwrap(), range("b=-1:1").unwrap()];
        let samples = monte_carlo(&ranges, 20_000, 1).unwrap();
        let moments = |x: &[f64]| {
            let mean = x.iter().sum::<f64>() / x.len() as f64;
            (mean, (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64).sqrt())
        };
        // Four standard errors: deviation/√20000.
        let (mean, deviation) = moments(&numbers(&samples, "a"));
        assert!((mean - 3.0).abs() < 0.06 && (deviation - 2.0).abs() < 0.04, "{mean} {deviation}");
        let (mean, deviation) = moments(&numbers(&samples, "b"));
        assert!(
            mean.abs() < 0.017 && (deviation - 1.0 / 3f64.sqrt()).abs() < 0.01,
            "{mean} {deviation}"
        );
    }
}
