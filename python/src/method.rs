//! Methods with settings of their own.

use crate::errors::Failure;
use serde_json::{Map, Value as Json};
use signorini::solve::options::Options;
use signorini::solve::{
    DynSolver, Method, StoppingCriteria, auto, interior_point, newton, pivot, psor,
};

/// A method with settings of its own over the usual ones: the variants of the papers.
pub fn built(
    method: Method,
    stop: StoppingCriteria,
    settings: &Map<String, Json>,
) -> Result<Box<dyn DynSolver>, Failure> {
    // The papers' own methods have options of their own: as `Options` of the library, by name.
    let named: Result<Options, _> = serde_json::from_value(Json::Object(settings.clone()));
    if let Ok(options) = named
        && !options.is_empty()
        && method != Method::Newton
    {
        let fault =
            |why| Failure::Named("InputError", format!("settings of {}: {why}", method.name()));
        return method.build_with(stop, &options).map_err(fault);
    }
    let known: &[&str] = match method {
        Method::Psor => {
            &["acceleration", "metric", "local", "omega", "joints", "judge_every", "parallel"]
        }
        Method::Pivot => &["facets", "swept"],
        Method::Newton => &["residual"],
        Method::InteriorPoint => &["warm", "path_alone"],
        Method::Auto => &["certify"],
        _ => &[],
    };
    let name = method.name();
    let wrong = |key: &str, wanted: &str| {
        Failure::Named("InputError", format!("settings of {name}: `{key}`: {wanted}"))
    };
    if let Some(key) = settings.keys().find(|key| !known.contains(&key.as_str())) {
        let wanted = if known.is_empty() {
            "it has none".into()
        } else {
            format!("wanted one of {}", known.join(", "))
        };
        return Err(wrong(key, &wanted));
    }
    let flag = |key: &str, usual: bool| {
        settings
            .get(key)
            .map_or(Ok(usual), |v| v.as_bool().ok_or_else(|| wrong(key, "wanted True or False")))
    };
    let all = || Json::Object(settings.clone());
    Ok(match method {
        Method::Psor => {
            let read: psor::Settings =
                serde_json::from_value(all()).map_err(|e| wrong("psor", &e.to_string()))?;
            if !(read.omega > 0.0 && read.omega < 2.0) {
                return Err(wrong("omega", &format!("{}, wanted between 0 and 2", read.omega)));
            }
            Box::new(psor::Psor::new(psor::Settings { stop, ..read }))
        }
        Method::Pivot => {
            let usual = pivot::Settings::default();
            let facets = settings
                .get("facets")
                .map_or(Some(usual.facets as u64), Json::as_u64)
                .filter(|n| (3..=1024).contains(n));
            let facets = facets.ok_or_else(|| wrong("facets", "wanted 3…1024"))? as usize;
            Box::new(pivot::Pivot::new(pivot::Settings {
                stop,
                facets,
                swept: flag("swept", usual.swept)?,
            }))
        }
        Method::Newton => {
            let number = |v: &Json| {
                v.as_f64()
                    .filter(|x| *x > 0.0)
                    .ok_or_else(|| wrong("residual", "wanted a number > 0"))
            };
            let residual = settings.get("residual").map(number).transpose()?;
            Box::new(newton::Newton::new(newton::Settings { stop, residual }))
        }
        Method::InteriorPoint => {
            let read = |v: &Json| {
                serde_json::from_value(v.clone()).map_err(|e| wrong("warm", &e.to_string()))
            };
            let warm = settings.get("warm").map(read).transpose()?.unwrap_or_default();
            Box::new(interior_point::InteriorPoint::new(interior_point::Settings {
                stop,
                warm,
                path_alone: flag("path_alone", false)?,
                ..Default::default()
            }))
        }
        Method::Auto => Box::new(auto::Auto::new(auto::Settings {
            stop,
            certify: flag("certify", false)?,
            ..Default::default()
        })),
        _ => method.build(stop),
    })
}
