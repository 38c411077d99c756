//! Sparse QR on paper: the order of columns, what fills in, and the steps.
//!
//! `A Π = Q R` column by column. Step j takes every row that is left with an entry in column j (S)
//! and makes one row of R of them; the others go on with all columns that any of them had (K):
//!
//! ```text
//!   1. choose column j          the cheapest
//!   2. S = rows with an entry in j,  K = union of their other columns
//!   3. rows of S with the same few columns first: all but one of them lose column j and fill nothing
//!   4. the first row of what is left becomes row j of R with entries j ∪ K
//!   5. each other row continues with entries K
//! ```
//!
//! Without line 3 the rows that a chain leaves behind (its degrees of freedom) would be carried to
//! its end, and the cost would not be linear.
//!
//! Where rows run out (more columns than rows, or structurally dependent ones) S is empty and the
//! diagonal entry is missing. The order depends on the pattern alone; several rules are tried and
//! the cheapest result is kept.

use std::collections::BTreeSet;

/// One step of the elimination.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// The column that is eliminated.
    pub column: u32,
    /// Its rows; the first becomes the row of R.
    pub rows: Vec<u32>,
    /// The other columns of these rows.
    pub columns: Vec<u32>,
    /// True if its first row becomes a row of R; false if it goes on with the column.
    pub last: bool,
}

/// The pattern of a matrix and of its QR factorization.
#[derive(Clone, Debug, Default)]
pub struct Pattern {
    /// Rows of A.
    pub rows: usize,
    /// Columns of A.
    pub columns: usize,
    /// Entries of A, column by column (row, column).
    pub entries: Vec<(u32, u32)>,
    /// The elimination, in order.
    pub steps: Vec<Step>,
}

/// Which column comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// In the order given.
    Natural,
    /// The one whose step costs least.
    Cheapest,
    /// The one with the fewest other columns.
    Narrowest,
    /// The one with the fewest rows.
    Shortest,
}

impl Pattern {
    /// Analyses the matrix with these entries; the cheapest of all rules.
    pub fn analyse(rows: usize, columns: usize, entries: &[(u32, u32)]) -> Pattern {
        let rules = [Rule::Cheapest, Rule::Narrowest, Rule::Shortest, Rule::Natural];
        let all = rules.map(|rule| Pattern::with(rows, columns, entries, rule));
        all.into_iter().min_by_key(Pattern::flops).expect("there are rules")
    }

    /// Analyses the matrix with these entries by one rule.
    pub fn with(rows: usize, columns: usize, entries: &[(u32, u32)], rule: Rule) -> Pattern {
        let mut entries = entries.to_vec();
        entries.sort_unstable_by_key(|&(row, column)| (column, row));
        entries.dedup();
        let mut left = Left::new(rows, columns, &entries, rule);
        let mut steps = Vec::with_capacity(columns);
        while let Some((_, column)) = left.queue.pop_first() {
            left.eliminate(column, &mut steps);
        }
        Pattern { rows, columns, entries, steps }
    }

    /// Floating-point operations of R by reflections: `2|S| + 4|S||K|` a step.
    pub fn flops(&self) -> usize {
        self.steps
            .iter()
            .filter(|s| s.rows.len() > 1)
            .map(|s| s.rows.len() * (2 + 4 * s.columns.len()))
            .sum()
    }

    /// Entries of R.
    pub fn filled(&self) -> usize {
        self.steps
            .iter()
            .filter(|s| s.last && !s.rows.is_empty())
            .map(|s| 1 + s.columns.len())
            .sum()
    }

    /// Entries over all.
    pub fn density(&self) -> f64 {
        self.entries.len() as f64 / (self.rows * self.columns).max(1) as f64
    }
}

/// The operations of a dense QR by Givens rotations, `3 n² (m − n/3)` for m ≥ n (SymbolicQR).
pub fn dense_givens(rows: usize, columns: usize) -> f64 {
    let (m, n) = (rows.max(columns) as f64, rows.min(columns) as f64);
    3.0 * n * n * (m - n / 3.0)
}

/// What is left of the matrix during the elimination.
struct Left {
    rule: Rule,
    /// Columns of each row, ascending.
    rows: Vec<Vec<u32>>,
    /// Rows of each column, ascending.
    columns: Vec<Vec<u32>>,
    /// Columns by cost.
    queue: BTreeSet<(usize, u32)>,
    /// The cost under which each column stands in the queue.
    costs: Vec<usize>,
}

impl Left {
    fn new(rows: usize, columns: usize, entries: &[(u32, u32)], rule: Rule) -> Left {
        let mut left = Left {
            rule,
            rows: vec![Vec::new(); rows],
            columns: vec![Vec::new(); columns],
            queue: BTreeSet::new(),
            costs: vec![0; columns],
        };
        for &(row, column) in entries {
            left.rows[row as usize].push(column);
            left.columns[column as usize].push(row);
        }
        for column in 0..columns as u32 {
            left.costs[column as usize] = left.cost(column);
            left.queue.insert((left.costs[column as usize], column));
        }
        left
    }

    /// The steps that eliminate a column: rows with the same few columns first.
    fn plan(&self, column: u32) -> Vec<Step> {
        let mut rows = self.columns[column as usize].clone();
        rows.sort_by(|&a, &b| {
            let (a, b) = (&self.rows[a as usize], &self.rows[b as usize]);
            a.len().cmp(&b.len()).then_with(|| a.cmp(b))
        });
        let mut steps = Vec::new();
        let mut rest = &rows[..];
        // A row that stands for those before it.
        let mut carried: Option<u32> = None;
        while let Some(&first) = rest.first() {
            let pattern = &self.rows[first as usize];
            let same = rest.iter().take_while(|&&r| self.rows[r as usize] == *pattern).count();
            // The carried row fills nothing here, or everything that is left is taken at once.
            let fits = carried.is_none_or(|c| {
                self.rows[c as usize].iter().all(|k| pattern.binary_search(k).is_ok())
            });
            if !fits || same == rest.len() {
                break;
            }
            let group: Vec<u32> = carried.into_iter().chain(rest[..same].iter().copied()).collect();
            rest = &rest[same..];
            // The row that is carried on must have the whole pattern.
            carried = group.last().copied();
            if group.len() > 1 {
                let mut rows = group;
                rows.reverse();
                steps.push(Step { column, rows, columns: without(pattern, column), last: false });
            }
        }
        let rows: Vec<u32> = carried.into_iter().chain(rest.iter().copied()).collect();
        let mut columns: Vec<u32> =
            rows.iter().flat_map(|&r| self.rows[r as usize].iter().copied()).collect();
        columns.sort_unstable();
        columns.dedup();
        steps.push(Step { column, rows, columns: without(&columns, column), last: true });
        steps
    }

    fn cost(&self, column: u32) -> usize {
        match self.rule {
            Rule::Natural => column as usize,
            Rule::Shortest => self.columns[column as usize].len(),
            Rule::Narrowest => self.plan(column).last().map_or(0, |s| s.columns.len()),
            Rule::Cheapest => self
                .plan(column)
                .iter()
                .filter(|s| s.rows.len() > 1)
                .map(|s| s.rows.len() * (1 + 2 * s.columns.len()))
                .sum(),
        }
    }

    fn eliminate(&mut self, column: u32, steps: &mut Vec<Step>) {
        let plan = self.plan(column);
        let mut touched: Vec<u32> = Vec::new();
        for step in plan {
            touched.extend(&step.columns);
            let leaves = step.last.then(|| step.rows.first().copied()).flatten();
            if let Some(pivot) = leaves {
                for &c in &self.rows[pivot as usize] {
                    self.columns[c as usize].retain(|&r| r != pivot);
                }
                self.rows[pivot as usize].clear();
            }
            for &row in step.rows.iter().skip(1) {
                self.rows[row as usize].clone_from(&step.columns);
                for &c in &step.columns {
                    let list = &mut self.columns[c as usize];
                    if let Err(place) = list.binary_search(&row) {
                        list.insert(place, row);
                    }
                }
            }
            steps.push(step);
        }
        self.columns[column as usize].clear();
        touched.sort_unstable();
        touched.dedup();
        for &c in &touched {
            self.queue.remove(&(self.costs[c as usize], c));
            self.costs[c as usize] = self.cost(c);
            self.queue.insert((self.costs[c as usize], c));
        }
    }
}

fn without(columns: &[u32], column: u32) -> Vec<u32> {
    columns.iter().copied().filter(|&c| c != column).collect()
}
