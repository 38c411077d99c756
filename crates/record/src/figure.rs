//! Plots and tables of a page: curves as SVG, and the frame of a page that needs no network.

use crate::plot::{Labels, Series, draw};

/// A curve of a figure.
#[derive(Clone, Debug)]
pub struct Curve {
    /// What it is.
    pub label: String,
    /// Points.
    pub points: Vec<(f64, f64)>,
    /// True if points are drawn instead of a line.
    pub dots: bool,
}

/// A plot of a page.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Title.
    pub title: String,
    /// Label of the horizontal axis.
    pub x: String,
    /// Label of the vertical axis.
    pub y: String,
    /// True if the vertical axis is logarithmic.
    pub log: bool,
    /// Curves.
    pub curves: Vec<Curve>,
}

impl Figure {
    /// A plot with linear axes; the labels of the horizontal and the vertical one.
    pub fn new(title: &str, axes: (&str, &str), curves: Vec<Curve>) -> Figure {
        let (x, y) = (axes.0.into(), axes.1.into());
        Figure { title: title.into(), x, y, log: false, curves }
    }

    /// The same with a logarithmic vertical axis.
    pub fn logarithmic(self) -> Figure {
        Figure { log: true, ..self }
    }

    /// As SVG.
    pub fn svg(&self) -> String {
        let series: Vec<Series> = self
            .curves
            .iter()
            .map(|c| Series { label: c.label.clone(), points: c.points.clone(), dots: c.dots })
            .collect();
        draw(Labels { title: &self.title, x: &self.x, y: &self.y }, &series, self.log).svg()
    }
}

/// A line of a plot.
pub fn line(label: &str, points: Vec<(f64, f64)>) -> Curve {
    Curve { label: label.into(), points, dots: false }
}

/// Points of a plot.
pub fn dots(label: &str, points: Vec<(f64, f64)>) -> Curve {
    Curve { label: label.into(), points, dots: true }
}

const STYLE: &str = "body{font:15px/1.5 \
    system-ui,Helvetica,Arial,sans-serif;color:#2a3038;max-width:1180px;\
margin:32px auto;padding:0 20px}table{border-collapse:collapse;width:100%;margin:12px 0 28px}\
td,th{padding:5px 9px;border-bottom:1px solid #e3e6ea;text-align:left;vertical-align:top}\
td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}small{color:#66707c}\
.pass{color:#2c7d5c}.fail{color:#b3263e;font-weight:600}svg{width:100%;height:auto;margin:4px 0 \
20px}";

/// A whole page around a body of HTML.
pub fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Signorini: \
            {0}</title>\n<style>{STYLE}</style>\n<h1>{0}</h1>\n{body}</html>\n",
        escape(title)
    )
}

/// Text as HTML.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A number with seven digits, short.
pub fn number(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 || !x.is_finite() {
        return format!("{x}");
    }
    if (1e-3..1e6).contains(&size) {
        let digits = (6 - size.log10().floor() as i32).max(0) as usize;
        let text = format!("{x:.digits$}");
        return if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').into()
        } else {
            text
        };
    }
    format!("{x:.3e}")
}
