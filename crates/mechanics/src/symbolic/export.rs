//! Straight-line C99 and Rust: no allocation, no loops over indices, no library but the square
//! root, sine and cosine.
//!
//! A procedure is written operation by operation, constants as numbers. Long ones are cut into
//! parts, because compilers take more than linear time for one long function; what goes from part
//! to part is kept in one array on the stack. The operation count is printed in the header and does
//! not depend on the data. Cases from the engine are written beside: the self-test.

use super::graph::{Binary, Graph, Id, Node, Unary};
use std::collections::HashMap;
use std::fmt::Write;

/// The language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C99.
    C,
    /// Rust without its standard library.
    Rust,
}

/// One procedure.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it computes.
    pub about: &'a str,
    /// Its expressions.
    pub graph: &'a Graph,
    /// Arguments in the order of the inputs: name, length.
    pub arguments: &'a [(&'a str, usize)],
    /// Its results.
    pub results: &'a [Id],
}

/// Everything that is written.
#[derive(Clone, Copy, Debug)]
pub struct Unit<'a> {
    /// Prefix of all names.
    pub name: &'a str,
    /// Positions, velocities, drives, rows.
    pub sizes: [usize; 4],
    /// Diagonal entries of R: the first results of `factor`.
    pub diagonal: usize,
    /// Below which each of them counts as zero.
    pub floors: &'a [f64],
    /// Floating-point operations of one evaluation.
    pub operations: usize,
    /// Rows that were left out.
    pub redundant: &'a [String],
    /// The procedures.
    pub procedures: &'a [Body<'a>],
    /// Cases: q, v, drives, accelerations.
    pub cases: &'a [[Vec<f64>; 4]],
}

/// Files.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Name and text of each file.
    pub files: Vec<(String, String)>,
}

/// Operations of one part of a procedure.
const OPERATIONS_PER_FUNCTION: usize = 600;

/// How far the self-test may be from the engine, relative to the largest acceleration.
pub const SELF_TEST_TOLERANCE: f64 = 1e-12;

impl Unit<'_> {
    /// Writes the files.
    pub fn write(&self, language: Language) -> Source {
        let files = match language {
            Language::C => vec![
                (format!("{}.h", self.name), self.header()),
                (format!("{}.c", self.name), self.c()),
            ],
            Language::Rust => vec![(format!("{}.rs", self.name), self.rust())],
        };
        Source { files }
    }

    fn about(&self, comment: &str) -> String {
        let [q, v, d, n] = self.sizes;
        let mut text =
            format!("{comment} {}: accelerations of a mechanism, straight-line code.\n", self.name);
        let _ = writeln!(
            text,
            "{comment} {q} positions, {v} velocities, {d} drives, {n} independent rows."
        );
        let _ = writeln!(
            text,
            "{comment} {} floating-point operations for one evaluation, whatever the data.",
            self.operations
        );
        for row in self.redundant {
            let _ = writeln!(
                text,
                "{comment} redundant, left out: {}",
                row.replace(['\n', '\r', '*', '/'], " ")
            );
        }
        text
    }

    fn result_length(&self, name: &str) -> usize {
        self.procedures.iter().find(|p| p.name == name).map_or(0, |p| p.results.len())
    }

    fn header(&self) -> String {
        let (name, upper) = (self.name, self.name.to_uppercase());
        let [q, v, d, n] = self.sizes;
        let mut text =
            format!("/*\n{}*/\n#ifndef {upper}_H\n#define {upper}_H\n\n", self.about(" *"));
        for (what, value) in
            [("Q", q), ("V", v), ("DRIVES", d), ("ROWS", n), ("OPERATIONS", self.operations)]
        {
            let _ = writeln!(text, "#define {upper}_{what} {value}");
        }
        text += "\n/* The procedures. */\n";
        for p in self.procedures {
            let _ = writeln!(text, "/* {} */\nvoid {};", p.about, c_signature(name, p));
        }
        let _ = write!(
            text,
            "\n/* Accelerations (V) and multipliers (ROWS); returns how many rows have lost their \
                independence: 0 if all is well. */\n\
             int {name}_accelerations(const double *q, const double *v, const double *drive, \
             double *acceleration, double *lambda);\n\n\
             /* Compares with stored cases; the largest difference relative to the largest \
             acceleration. */\n\
             double {name}_self_test(void);\n\n#endif\n"
        );
        text
    }

    fn c(&self) -> String {
        let name = self.name;
        let mut text =
            format!("/*\n{}*/\n#include \"{name}.h\"\n#include <math.h>\n\n", self.about(" *"));
        for p in self.procedures {
            let writer = Writer::new(p, Language::C);
            writer.write(name, &mut text);
        }
        let size = |what: &str| self.result_length(what).max(1);
        let [_, v, _, n] = self.sizes;
        let _ = write!(
            text,
            "int {name}_accelerations(const double *q, const double *v, const double *drive, \
                double *acceleration, double *lambda)\n{{\n    \
             double g[{}], a[{}], u[{nn}], f[{vv}], s[{vv}], b[{nn}], r[{}];\n    \
             static const double floors[{nn}] = {{{}}};\n    int i, weak = 0;\n    \
             {name}_jacobian(q, g);\n    {name}_scaled(g, a);\n    {name}_factor(a, r);\n    \
             for (i = 0; i < {}; i++) {{\n        if (!(fabs(r[i]) > floors[i])) {{\n            \
             weak++;\n        }}\n    }}\n    \
             {name}_forces(q, v, drive, f);\n    {name}_bias(q, v, u);\n    \
             {name}_inverse_mass(f, s);\n    {name}_times(g, s, b);\n    \
             for (i = 0; i < {n}; i++) {{\n        b[i] -= u[i];\n    }}\n    \
             {name}_solve(r, b, lambda);\n    {name}_pull(g, lambda, f, s);\n    \
             {name}_inverse_mass(s, acceleration);\n    return weak;\n}}\n\n",
            size("jacobian"),
            size("scaled"),
            size("factor"),
            some_numbers(self.floors),
            self.diagonal,
            nn = n.max(1),
            vv = v.max(1),
        );
        text + &self.c_test()
    }

    fn c_test(&self) -> String {
        let (name, upper) = (self.name, self.name.to_uppercase());
        let [q, v, d, n] = self.sizes;
        let mut text = String::new();
        for (k, (what, length)) in
            [("q", q), ("v", v), ("drive", d), ("acceleration", v)].into_iter().enumerate()
        {
            let rows: Vec<String> =
                self.cases.iter().map(|c| format!("    {{{}}}", some_numbers(&c[k]))).collect();
            let _ = writeln!(
                text,
                "static const double case_{what}[{}][{}] = {{\n{}\n}};",
                self.cases.len().max(1),
                length.max(1),
                rows.join(",\n")
            );
        }
        let _ = write!(
            text,
            "\ndouble {name}_self_test(void)\n{{\n    double worst = 0.0;\n    int i, k;\n    for \
                (k = 0; k < {cases}; k++) {{\n        \
             double a[{vv}], lambda[{nn}], scale = 0.0;\n        \
             if ({name}_accelerations(case_q[k], case_v[k], case_drive[k], a, lambda) != 0) {{\n  \
                       return HUGE_VAL;\n        }}\n        \
             for (i = 0; i < {v}; i++) {{\n            scale = fmax(scale, \
             fabs(case_acceleration[k][i]));\n        }}\n        \
             for (i = 0; i < {v}; i++) {{\n            double error = fabs(a[i] - \
             case_acceleration[k][i]) / (scale > 0.0 ? scale : 1.0);\n            \
             if (!(error <= worst)) {{\n                worst = error;\n            }}\n        \
             }}\n    }}\n    return worst;\n}}\n\n\
             #ifdef {upper}_SELF_TEST\n#include <stdio.h>\n#include <stdlib.h>\n#include \
             <time.h>\n\n\
             int main(int count, char **words)\n{{\n    double worst = {name}_self_test();\n    \
             printf(\"largest difference %.3e, operations %d\\n\", worst, {upper}_OPERATIONS);\n    \
             if (count > 1) {{\n        double a[{vv}], lambda[{nn}], sum = 0.0;\n        long k, \
             n = atol(words[1]);\n        clock_t begin = clock();\n        \
             for (k = 0; k < n; k++) {{\n            {name}_accelerations(case_q[k % {cases}], \
             case_v[k % {cases}], case_drive[k % {cases}], a, lambda);\n            \
             sum += a[0];\n        }}\n        \
             printf(\"%.6f us (%g)\\n\", 1e6 * (double)(clock() - begin) / CLOCKS_PER_SEC / (double)n, sum);\n    }}\n    \
             return worst <= {SELF_TEST_TOLERANCE:e} ? 0 : 1;\n}}\n#endif\n",
            cases = self.cases.len(),
            vv = v.max(1),
            nn = n.max(1),
        );
        text
    }

    fn rust(&self) -> String {
        let [q, v, d, n] = self.sizes;
        let mut text = format!(
            "{}#![cfg_attr(not(self_test), no_std)]\n#![allow(clippy::all, unused_variables)]\n\n",
            self.about("//!")
        );
        for (what, value) in
            [("Q", q), ("V", v), ("DRIVES", d), ("ROWS", n), ("OPERATIONS", self.operations)]
        {
            let _ = writeln!(text, "/// Size.\npub const {what}: usize = {value};");
        }
        text += "\n/// The functions that a mechanism needs beside the four operations.\npub trait \
            Math {\n    /// Square root.\n    fn sqrt(x: f64) -> f64;\n    /// Sine.\n    fn \
            sin(x: f64) -> f64;\n    /// Cosine.\n    fn cos(x: f64) -> f64;\n    /// Angle of a \
            point: ordinate, abscissa.\n    fn atan2(y: f64, x: f64) -> f64;\n}\n\n";
        for p in self.procedures {
            Writer::new(p, Language::Rust).write(self.name, &mut text);
        }
        let size = |what: &str| self.result_length(what);
        let _ = write!(
            text,
            "/// Accelerations and multipliers; how many rows have lost their independence: 0 if \
                all is well.\n\
             pub fn accelerations<M: Math>(q: &[f64; Q], v: &[f64; V], drive: &[f64; DRIVES], \
             acceleration: &mut [f64; V], lambda: &mut [f64; ROWS]) -> usize {{\n    \
             const FLOORS: [f64; {}] = [{}];\n    \
             let (mut g, mut a, mut r) = ([0.0; {}], [0.0; {}], [0.0; {}]);\n    \
             let (mut u, mut f, mut s, mut b) = ([0.0; ROWS], [0.0; V], [0.0; V], [0.0; ROWS]);\n \
                \
             jacobian::<M>(q, &mut g);\n    scaled::<M>(&g, &mut a);\n    factor::<M>(&a, &mut \
             r);\n    \
             let weak = FLOORS.iter().zip(&r).filter(|(floor, r)| !(if **r < 0.0 {{ -**r }} else \
             {{ **r }} > **floor)).count();\n    \
             forces::<M>(q, v, drive, &mut f);\n    bias::<M>(q, v, &mut u);\n    \
             inverse_mass::<M>(&f, &mut s);\n    times::<M>(&g, &s, &mut b);\n    \
             b.iter_mut().zip(&u).for_each(|(b, u)| *b -= u);\n    \
             solve::<M>(&r, &b, lambda);\n    pull::<M>(&g, lambda, &f, &mut s);\n    \
             inverse_mass::<M>(&s, acceleration);\n    weak\n}}\n\n",
            self.floors.len(),
            numbers(self.floors),
            size("jacobian"),
            size("scaled"),
            size("factor"),
        );
        for (k, (what, length)) in
            [("Q", q), ("V", v), ("DRIVE", d), ("ACCELERATION", v)].into_iter().enumerate()
        {
            let rows: Vec<String> =
                self.cases.iter().map(|c| format!("    [{}]", numbers(&c[k]))).collect();
            let _ = writeln!(
                text,
                "const CASE_{what}: [[f64; {length}]; {}] = [\n{}\n];",
                self.cases.len(),
                rows.join(",\n")
            );
        }
        text + RUST_TEST
    }
}

/// The end of an exported Rust file: its self-test, and a program that runs it.
const RUST_TEST: &str = include_str!("self_test.txt");

fn numbers(list: &[f64]) -> String {
    list.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(", ")
}

/// The same for C, which has no empty arrays.
fn some_numbers(list: &[f64]) -> String {
    if list.is_empty() { "0.0".into() } else { numbers(list) }
}

fn c_signature(prefix: &str, p: &Body<'_>) -> String {
    let arguments: Vec<String> =
        p.arguments.iter().map(|a| format!("const double *{}", a.0)).collect();
    format!("{prefix}_{}({}, double *out)", p.name, arguments.join(", "))
}

/// Writes one procedure.
struct Writer<'a> {
    body: &'a Body<'a>,
    language: Language,
    operations: Vec<Id>,
    /// Number of each operation.
    number: HashMap<Id, usize>,
    /// Place in the array between parts, of those that need one.
    shared: HashMap<Id, usize>,
}

impl<'a> Writer<'a> {
    fn new(body: &'a Body<'a>, language: Language) -> Writer<'a> {
        let graph = body.graph;
        let operations: Vec<Id> = graph
            .needed(body.results)
            .into_iter()
            .filter(|&id| graph.operands(id).next().is_some())
            .collect();
        let number: HashMap<Id, usize> =
            operations.iter().enumerate().map(|(i, &id)| (id, i)).collect();
        let mut shared = HashMap::new();
        for (i, &id) in operations.iter().enumerate() {
            for operand in graph.operands(id) {
                if number
                    .get(&operand)
                    .is_some_and(|&n| n / OPERATIONS_PER_FUNCTION != i / OPERATIONS_PER_FUNCTION)
                {
                    let next = shared.len();
                    shared.entry(operand).or_insert(next);
                }
            }
        }
        Writer { body, language, operations, number, shared }
    }

    fn write(&self, prefix: &str, text: &mut String) {
        let parts = self.operations.len().div_ceil(OPERATIONS_PER_FUNCTION).max(1);
        if parts > 1 {
            for part in 0..parts {
                let head = self.part_head(prefix, part);
                let _ = writeln!(text, "{head}\n{{");
                self.lines(part, parts, text);
                *text += "}\n\n";
            }
        }
        let head = match self.language {
            Language::C => format!("void {}", c_signature(prefix, self.body)),
            Language::Rust => format!(
                "/// {}.\npub fn {}<M: Math>({})",
                self.body.about,
                self.body.name,
                self.rust_arguments()
            ),
        };
        let _ = writeln!(text, "{head}\n{{");
        self.unused(text);
        if parts > 1 {
            let names: Vec<&str> = self.body.arguments.iter().map(|a| a.0).collect();
            match self.language {
                Language::C => {
                    let _ = writeln!(text, "    double w[{}];", self.shared.len().max(1));
                }
                Language::Rust => {
                    let _ = writeln!(text, "    let mut w = [0.0; {}];", self.shared.len());
                }
            }
            for part in 0..parts {
                let call = match self.language {
                    Language::C => {
                        format!("{prefix}_{}_{part}({}, w, out)", self.body.name, names.join(", "))
                    }
                    Language::Rust => {
                        format!("{}_{part}::<M>({}, &mut w, out)", self.body.name, names.join(", "))
                    }
                };
                let _ = writeln!(text, "    {call};");
            }
        } else {
            self.lines(0, 1, text);
        }
        *text += "}\n\n";
    }

    fn rust_arguments(&self) -> String {
        let arguments: Vec<String> =
            self.body.arguments.iter().map(|a| format!("{}: &[f64; {}]", a.0, a.1)).collect();
        format!("{}, out: &mut [f64; {}]", arguments.join(", "), self.body.results.len())
    }

    fn part_head(&self, prefix: &str, part: usize) -> String {
        let name = self.body.name;
        match self.language {
            Language::C => {
                let arguments: Vec<String> =
                    self.body.arguments.iter().map(|a| format!("const double *{}", a.0)).collect();
                format!(
                    "static void {prefix}_{name}_{part}({}, double *w, double *out)",
                    arguments.join(", ")
                )
            }
            Language::Rust => {
                let arguments: Vec<String> = self
                    .body
                    .arguments
                    .iter()
                    .map(|a| format!("{}: &[f64; {}]", a.0, a.1))
                    .collect();
                let sizes = (self.shared.len(), self.body.results.len());
                format!(
                    "fn {name}_{part}<M: Math>({}, w: &mut [f64; {}], out: &mut [f64; {}])",
                    arguments.join(", "),
                    sizes.0,
                    sizes.1
                )
            }
        }
    }

    /// C asks that unused arguments be named as such.
    fn unused(&self, text: &mut String) {
        if self.language == Language::C {
            for (name, _) in self.body.arguments {
                let _ = writeln!(text, "    (void){name};");
            }
            *text += "    (void)out;\n";
        }
    }

    fn lines(&self, part: usize, parts: usize, text: &mut String) {
        if parts > 1 {
            self.unused(text);
            if self.language == Language::C {
                *text += "    (void)w;\n";
            }
        }
        let range = part * OPERATIONS_PER_FUNCTION
            ..((part + 1) * OPERATIONS_PER_FUNCTION).min(self.operations.len());
        for i in range.clone() {
            let id = self.operations[i];
            let value = self.expression(id, part);
            let _ = match self.language {
                Language::C => writeln!(text, "    const double t{i} = {value};"),
                Language::Rust => writeln!(text, "    let t{i} = {value};"),
            };
            if let Some(place) = self.shared.get(&id) {
                let _ = writeln!(text, "    w[{place}] = t{i};");
            }
        }
        for (k, &result) in self.body.results.iter().enumerate() {
            // Where it is computed; what is no operation comes last.
            let home = self.number.get(&result).map_or(parts - 1, |n| n / OPERATIONS_PER_FUNCTION);
            if home == part {
                let _ = writeln!(text, "    out[{k}] = {};", self.operand(result, part));
            }
        }
    }

    fn operand(&self, id: Id, part: usize) -> String {
        match self.body.graph.node(id) {
            Node::Constant(bits) => {
                let value = f64::from_bits(bits);
                let number = format!("{value:?}");
                let number =
                    if self.language == Language::Rust { format!("{number}f64") } else { number };
                if value < 0.0 { format!("({number})") } else { number }
            }
            Node::Input(place) => {
                let mut rest = place as usize;
                for (name, length) in self.body.arguments {
                    if rest < *length {
                        return format!("{name}[{rest}]");
                    }
                    rest -= length;
                }
                unreachable!("inputs lie within the arguments")
            }
            _ => {
                let number = self.number[&id];
                if number / OPERATIONS_PER_FUNCTION == part {
                    format!("t{number}")
                } else {
                    format!("w[{}]", self.shared[&id])
                }
            }
        }
    }

    fn expression(&self, id: Id, part: usize) -> String {
        let call = |c: &str, rust: &str| {
            if self.language == Language::C { c.to_string() } else { format!("M::{rust}") }
        };
        match self.body.graph.node(id) {
            Node::Unary(function, x) => {
                let x = self.operand(x, part);
                match function {
                    Unary::Neg => format!("-{x}"),
                    Unary::Sqrt => format!("{}({x})", call("sqrt", "sqrt")),
                    Unary::Sin => format!("{}({x})", call("sin", "sin")),
                    Unary::Cos => format!("{}({x})", call("cos", "cos")),
                }
            }
            Node::Binary(function, x, y) => {
                let (x, y) = (self.operand(x, part), self.operand(y, part));
                match function {
                    Binary::Add => format!("{x} + {y}"),
                    Binary::Sub => format!("{x} - {y}"),
                    Binary::Mul => format!("{x} * {y}"),
                    Binary::Div => format!("{x} / {y}"),
                    Binary::Atan2 => format!("{}({x}, {y})", call("atan2", "atan2")),
                    Binary::Copysign if self.language == Language::C => {
                        format!("copysign({x}, {y})")
                    }
                    // The first operand is a length here and has no sign of its own.
                    Binary::Copysign => format!("if {y} < 0.0 {{ -{x} }} else {{ {x} }}"),
                }
            }
            _ => unreachable!("only operations are written"),
        }
    }
}
