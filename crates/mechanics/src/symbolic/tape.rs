//! A tape: a flat program over one array of numbers.
//!
//! ```text
//!   work = [ constants | inputs | results of operations, in the order of the tape ]
//! ```
//!
//! A product that is used once, in a sum, is done together with it (both roundings kept).
//! Operations of one kind stand together as far as their operands allow, so that the tape is a few
//! dozen loops without a branch inside. A tape has stages: between two of them something else may
//! write inputs (multipliers, once the factor has found them).

use super::graph::{Binary, Graph, Id, Node, Unary};
use std::collections::{HashMap, HashSet};

/// One kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Kind {
    One(Unary),
    Two(Binary),
    /// x·y + z.
    ProductPlus,
    /// x·y − z.
    ProductMinus,
    /// z − x·y.
    MinusProduct,
}

/// An operation with its operands.
type Operation = (Kind, [Id; 3]);

/// A stretch of equal operations.
#[derive(Clone, Copy, Debug)]
struct Run {
    kind: Kind,
    /// Operations before it.
    start: u32,
    /// How many.
    count: u32,
}

/// A program.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    constants: Vec<f64>,
    inputs: usize,
    /// Operands of each operation: places in the work array (those it does not have repeat the
    /// first).
    operands: Vec<[u32; 3]>,
    runs: Vec<Run>,
    /// Where each stage ends in `runs`.
    stages: Vec<u32>,
    /// Places of the outputs.
    outputs: Vec<u32>,
    flops: usize,
}

/// The array that a tape works on.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// Constants, inputs, results.
    pub values: Vec<f64>,
}

impl Tape {
    /// A program for `outputs` with `inputs` inputs. `late` inputs (each a place and the stage
    /// before which it is written) divide it into stages.
    pub fn compile(graph: &Graph, outputs: &[Id], inputs: usize, late: &[(usize, usize)]) -> Tape {
        let needed = graph.needed(outputs);
        let mut tape = Tape { inputs, ..Tape::default() };
        let mut place: HashMap<Id, u32> = HashMap::new();
        for &id in &needed {
            if let Some(value) = graph.value(id) {
                place.insert(id, tape.constants.len() as u32);
                tape.constants.push(value);
            }
        }
        let base = tape.constants.len() as u32;
        let stage_of_input: HashMap<usize, usize> = late.iter().copied().collect();
        let mut stage: HashMap<Id, usize> = HashMap::new();
        for &id in &needed {
            let own = match graph.node(id) {
                Node::Input(i) => {
                    place.insert(id, base + i);
                    stage_of_input.get(&(i as usize)).copied().unwrap_or(0)
                }
                _ => graph.operands(id).map(|o| stage[&o]).max().unwrap_or(0),
            };
            stage.insert(id, own);
        }
        let absorbed = absorbed(graph, &needed, outputs, &stage);
        let last = late.iter().map(|l| l.1).max().unwrap_or(0);
        for number in 0..=last {
            let members: Vec<(Id, Operation)> = needed
                .iter()
                .filter(|&&id| stage[&id] == number && !absorbed.contains(&id))
                .filter_map(|&id| operation(graph, id, &absorbed).map(|operation| (id, operation)))
                .collect();
            tape.schedule(&members, &mut place);
            tape.stages.push(tape.runs.len() as u32);
        }
        tape.outputs = outputs.iter().map(|o| place[o]).collect();
        tape.flops = needed.iter().filter(|&&id| graph.costs(id)).count();
        tape
    }

    /// Puts operations on the tape, equal ones together.
    fn schedule(&mut self, members: &[(Id, Operation)], place: &mut HashMap<Id, u32>) {
        let operations: HashMap<Id, Operation> = members.iter().copied().collect();
        let mut waiting: HashMap<Id, usize> = HashMap::new();
        let mut users: HashMap<Id, Vec<Id>> = HashMap::new();
        let mut ready: std::collections::BTreeMap<Kind, Vec<Id>> = Default::default();
        for &(id, (kind, operands)) in members {
            let mut open: Vec<Id> =
                operands.into_iter().filter(|o| !place.contains_key(o)).collect();
            open.sort_unstable();
            open.dedup();
            waiting.insert(id, open.len());
            open.iter().for_each(|o| users.entry(*o).or_default().push(id));
            if open.is_empty() {
                ready.entry(kind).or_default().push(id);
            }
        }
        let first = self.constants.len() + self.inputs;
        // The longest list first: long loops.
        while let Some((&next, _)) =
            ready.iter().filter(|(_, list)| !list.is_empty()).max_by_key(|(_, list)| list.len())
        {
            let mut list = std::mem::take(ready.get_mut(&next).expect("a key of the map"));
            list.sort_unstable();
            self.runs.push(Run {
                kind: next,
                start: self.operands.len() as u32,
                count: list.len() as u32,
            });
            for id in list {
                let operands = operations[&id].1.map(|o| place[&o]);
                place.insert(id, (first + self.operands.len()) as u32);
                self.operands.push(operands);
                for user in users.remove(&id).unwrap_or_default() {
                    let open = waiting.get_mut(&user).expect("a user waits");
                    *open -= 1;
                    if *open == 0 {
                        ready.entry(operations[&user].0).or_default().push(user);
                    }
                }
            }
        }
    }

    /// An array for this tape: constants in place.
    pub fn work(&self) -> Work {
        let mut values = self.constants.clone();
        values.resize(self.constants.len() + self.inputs + self.operands.len(), 0.0);
        Work { values }
    }

    /// The inputs in a work array.
    pub fn inputs<'a>(&self, work: &'a mut Work) -> &'a mut [f64] {
        &mut work.values[self.constants.len()..self.constants.len() + self.inputs]
    }

    /// Runs one stage. A stage that no late input begins has nothing to run: all was done before
    /// it.
    pub fn run(&self, stage: usize, work: &mut Work) {
        let Some(&end) = self.stages.get(stage) else { return };
        let begin = if stage == 0 { 0 } else { self.stages[stage - 1] as usize };
        let first = self.constants.len() + self.inputs;
        for run in &self.runs[begin..end as usize] {
            let (start, count) = (run.start as usize, run.count as usize);
            let operands = &self.operands[start..start + count];
            let (before, after) = work.values.split_at_mut(first + start);
            let results = &mut after[..count];
            match run.kind {
                Kind::ProductPlus => three(results, operands, before, |x, y, z| x * y + z),
                Kind::ProductMinus => three(results, operands, before, |x, y, z| x * y - z),
                Kind::MinusProduct => three(results, operands, before, |x, y, z| z - x * y),
                Kind::Two(Binary::Mul) => two(results, operands, before, |x, y| x * y),
                Kind::Two(Binary::Add) => two(results, operands, before, |x, y| x + y),
                Kind::Two(Binary::Sub) => two(results, operands, before, |x, y| x - y),
                Kind::Two(Binary::Div) => two(results, operands, before, |x, y| x / y),
                Kind::Two(function) => two(results, operands, before, |x, y| function.apply(x, y)),
                Kind::One(Unary::Neg) => one(results, operands, before, |x| -x),
                Kind::One(function) => one(results, operands, before, |x| function.apply(x)),
            }
        }
    }

    /// The place of an output in the work array.
    pub fn place(&self, output: usize) -> usize {
        self.outputs[output] as usize
    }

    /// An output.
    #[inline]
    pub fn output(&self, work: &Work, output: usize) -> f64 {
        work.values[self.outputs[output] as usize]
    }

    /// Floating-point operations of a whole run.
    pub fn flops(&self) -> usize {
        self.flops
    }

    /// Loops of a whole run.
    pub fn loops(&self) -> usize {
        self.runs.len()
    }

    /// Bytes of the program and its array.
    pub fn memory(&self) -> usize {
        8 * (self.operands.len() + self.constants.len() + self.inputs)
            + 12 * (self.runs.len() + self.operands.len())
            + 4 * self.outputs.len()
    }
}

#[inline(always)]
fn one(results: &mut [f64], operands: &[[u32; 3]], before: &[f64], f: impl Fn(f64) -> f64) {
    for (result, &[x, ..]) in results.iter_mut().zip(operands) {
        *result = f(before[x as usize]);
    }
}

#[inline(always)]
fn two(results: &mut [f64], operands: &[[u32; 3]], before: &[f64], f: impl Fn(f64, f64) -> f64) {
    for (result, &[x, y, _]) in results.iter_mut().zip(operands) {
        *result = f(before[x as usize], before[y as usize]);
    }
}

#[inline(always)]
fn three(
    results: &mut [f64],
    operands: &[[u32; 3]],
    before: &[f64],
    f: impl Fn(f64, f64, f64) -> f64,
) {
    for (result, &[x, y, z]) in results.iter_mut().zip(operands) {
        *result = f(before[x as usize], before[y as usize], before[z as usize]);
    }
}

/// Products that are done together with the one sum that uses them, in the same stage.
fn absorbed(
    graph: &Graph,
    needed: &[Id],
    outputs: &[Id],
    stage: &HashMap<Id, usize>,
) -> HashSet<Id> {
    let mut uses: HashMap<Id, usize> = HashMap::new();
    needed
        .iter()
        .flat_map(|&id| graph.operands(id))
        .chain(outputs.iter().copied())
        .for_each(|o| *uses.entry(o).or_default() += 1);
    let mut out = HashSet::new();
    for &id in needed {
        if let Node::Binary(Binary::Add | Binary::Sub, x, y) = graph.node(id) {
            let product = |p: Id| {
                matches!(graph.node(p), Node::Binary(Binary::Mul, ..))
                    && uses[&p] == 1
                    && stage[&p] == stage[&id]
            };
            out.extend([x, y].into_iter().find(|&p| product(p)));
        }
    }
    out
}

/// The operation of a node; none for constants and inputs.
fn operation(graph: &Graph, id: Id, absorbed: &HashSet<Id>) -> Option<Operation> {
    match graph.node(id) {
        Node::Unary(function, x) => Some((Kind::One(function), [x; 3])),
        Node::Binary(function, x, y) => {
            let factors = |p: Id| match graph.node(p) {
                Node::Binary(_, a, b) if absorbed.contains(&p) => Some((a, b)),
                _ => None,
            };
            // Only sums absorb; of two products the first.
            let sum = matches!(function, Binary::Add | Binary::Sub);
            match (factors(x).filter(|_| sum), factors(y).filter(|_| sum)) {
                (Some((a, b)), _) if function == Binary::Add => {
                    Some((Kind::ProductPlus, [a, b, y]))
                }
                (Some((a, b)), _) => Some((Kind::ProductMinus, [a, b, y])),
                (None, Some((a, b))) if function == Binary::Add => {
                    Some((Kind::ProductPlus, [a, b, x]))
                }
                (None, Some((a, b))) => Some((Kind::MinusProduct, [a, b, x])),
                (None, None) => Some((Kind::Two(function), [x, y, x])),
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tape_does_what_the_graph_says_stage_by_stage() {
        let mut g = Graph::default();
        let x: Vec<Id> = (0..4).map(|i| g.input(i)).collect();
        let a = g.mul(x[0], x[1]);
        let b = g.sub(a, x[2]);
        let c = g.unary(Unary::Sin, b);
        let d = g.dot(&[(c, x[3]), (a, a)]);
        let outputs = [b, d, x[3], g.constant(7.0)];
        let tape = Tape::compile(&g, &outputs, 4, &[(3, 1)]);
        let mut work = tape.work();
        tape.inputs(&mut work)[..3].copy_from_slice(&[0.3, -2.0, 0.5]);
        tape.run(0, &mut work);
        assert_eq!(tape.output(&work, 0), 0.3 * -2.0 - 0.5);
        tape.inputs(&mut work)[3] = 9.0;
        tape.run(1, &mut work);
        let wanted = g.evaluate(&outputs, &[0.3, -2.0, 0.5, 9.0]);
        for (i, wanted) in wanted.iter().enumerate() {
            assert_eq!(tape.output(&work, i), *wanted);
        }
    }
}
