//! The three storages of a matrix: dense, blocks, sparse.

use crate::math::sparse::Csr;
use crate::problem::files::FileError;
use crate::problem::files::tokens::{Tokens, shown};

/// A matrix as it was stored.
pub(super) struct Matrix {
    pub(super) csr: Csr,
    /// Ends of the row blocks, in block storage.
    pub(super) row_ends: Option<Vec<usize>>,
}

/// A matrix, of these sizes where they are known.
pub(super) fn matrix(
    t: &mut Tokens<'_>,
    rows: Option<usize>,
    cols: Option<usize>,
) -> Result<Matrix, FileError> {
    let storage = t.count("a storage code (0 dense, 1 blocks, 2 sparse)")?;
    if storage > 2 {
        return Err(t.unexpected(storage, "a storage code (0 dense, 1 blocks, 2 sparse)"));
    }
    let size =
        (t.count("the number of rows of a matrix")?, t.count("the number of columns of a matrix")?);
    let wanted = (rows.unwrap_or(size.0), cols.unwrap_or(size.1));
    if size != wanted {
        return Err(t.unexpected(
            format!("a matrix of {} × {}", size.0, size.1),
            format!("{} × {}", wanted.0, wanted.1),
        ));
    }
    // Every row and every column of a matrix has an entry in some vector that follows.
    t.expect(size.0.max(size.1), "rows or columns")?;
    if size.0.max(size.1) > u32::MAX as usize {
        return Err(t.unexpected(
            format!("a matrix of {} × {}", size.0, size.1),
            "less than 2^32 rows and columns",
        ));
    }
    match storage {
        0 => dense(t, size),
        1 => blocks(t, size),
        _ => sparse(t, size),
    }
}

fn dense(t: &mut Tokens<'_>, size: (usize, usize)) -> Result<Matrix, FileError> {
    let again = (t.count("the number of rows again")?, t.count("the number of columns again")?);
    if again != size {
        return Err(t.unexpected(
            format!("{} × {}", again.0, again.1),
            format!("{} × {} again", size.0, size.1),
        ));
    }
    let values = t.numbers(size.0.saturating_mul(size.1), "entries of a dense matrix")?;
    let mut triplets = Vec::new();
    for (at, &x) in values.iter().enumerate().filter(|(_, x)| **x != 0.0) {
        triplets.push(((at % size.0) as u32, (at / size.0) as u32, x));
    }
    Ok(Matrix { csr: Csr::from_triplets(size.0, size.1, &triplets), row_ends: None })
}

/// Ends of blocks: ascending, the last one equal to `total`.
fn ends(t: &mut Tokens<'_>, count: usize, total: usize) -> Result<Vec<usize>, FileError> {
    let ends = t.counts(count, "ends of blocks")?;
    if ends.windows(2).any(|w| w[0] >= w[1])
        || ends.first() == Some(&0)
        || ends.last().copied().unwrap_or(0) != total
    {
        return Err(t.unexpected(
            "ends of blocks that do not ascend to the size of the matrix",
            format!("ascending up to {total}"),
        ));
    }
    Ok(ends)
}

fn blocks(t: &mut Tokens<'_>, size: (usize, usize)) -> Result<Matrix, FileError> {
    let count = t.count("the number of blocks")?;
    let (block_rows, block_cols) =
        (t.count("the number of block rows")?, t.count("the number of block columns")?);
    let row_ends = ends(t, block_rows, size.0)?;
    let col_ends = ends(t, block_cols, size.1)?;
    let filled = (t.count("the number of row pointers")?, t.count("the number of blocks again")?);
    // A last row of blocks without any block may have no pointer.
    if filled.0 == 0 || filled.0 > block_rows + 1 || filled.1 != count {
        return Err(t.unexpected(
            format!("{} pointers and {} blocks", filled.0, filled.1),
            format!("{} and {count}", block_rows + 1),
        ));
    }
    let pointers = t.counts(filled.0, "row pointers")?;
    if pointers[0] != 0
        || pointers.windows(2).any(|w| w[0] > w[1])
        || pointers[pointers.len() - 1] != count
    {
        return Err(
            t.unexpected("row pointers that do not ascend", format!("from 0 up to {count}"))
        );
    }
    let columns = t.counts(count, "block columns")?;
    if let Some(&bad) = columns.iter().find(|&&c| c >= block_cols) {
        return Err(t.unexpected(format!("block column {bad}"), format!("less than {block_cols}")));
    }
    let range = |ends: &[usize], k: usize| (if k == 0 { 0 } else { ends[k - 1] })..ends[k];
    let mut triplets = Vec::new();
    for row in 0..pointers.len() - 1 {
        let rows = range(&row_ends, row);
        for (k, &column) in columns.iter().enumerate().take(pointers[row + 1]).skip(pointers[row]) {
            let number = t.count("the number of a block")?;
            if number != k {
                return Err(t.unexpected(format!("block number {number}"), k));
            }
            let cols = range(&col_ends, column);
            let values = t.numbers(rows.len().saturating_mul(cols.len()), "entries of a block")?;
            for (at, &x) in values.iter().enumerate().filter(|(_, x)| **x != 0.0) {
                triplets.push((
                    (rows.start + at % rows.len()) as u32,
                    (cols.start + at / rows.len()) as u32,
                    x,
                ));
            }
        }
    }
    Ok(Matrix { csr: Csr::from_triplets(size.0, size.1, &triplets), row_ends: Some(row_ends) })
}

fn sparse(t: &mut Tokens<'_>, size: (usize, usize)) -> Result<Matrix, FileError> {
    t.count("an origin code")?;
    t.rest_of_line();
    t.rest_of_line();
    let line = t.rest_of_line();
    let (layout, sizes, entries) = header(line)
        .ok_or_else(|| t.unexpected(shown(line), "'[triplet: |csr: ]m-by-n, nzmax: Z nnz: K'"))?;
    if sizes != size {
        return Err(t.unexpected(
            format!("{}-by-{}", sizes.0, sizes.1),
            format!("{}-by-{}", size.0, size.1),
        ));
    }
    t.expect(entries, "entries of a sparse matrix")?;
    let mut triplets = Vec::new();
    let index = |t: &mut Tokens<'_>, limit: usize| match t.count("an index")? {
        i if i < limit => Ok(i as u32),
        i => Err(t.unexpected(format!("index {i}"), format!("less than {limit}"))),
    };
    if layout == "triplet" {
        for _ in 0..entries {
            let (i, j) = (index(t, size.0)?, index(t, size.1)?);
            t.literal(":")?;
            triplets.push((i, j, t.number(false, "an entry of a sparse matrix")?));
        }
    } else {
        let (outer, inner) = if layout == "csc" { (size.1, size.0) } else { (size.0, size.1) };
        for j in 0..outer {
            t.word("'col' or 'row'")?;
            let found = t.count("the number of a column")?;
            t.literal(":")?;
            t.literal("locations")?;
            let first = t.count("the first place of a column")?;
            t.literal("to")?;
            // An empty first column ends at −1.
            let last: i64 = t.integer("the last place of a column")?;
            if found != j
                || first != triplets.len()
                || last < first as i64 - 1
                || last >= entries as i64
            {
                let wanted = format!("column {j} from {} on, before {entries}", triplets.len());
                return Err(t.unexpected(format!("column {found} from {first} to {last}"), wanted));
            }
            for _ in first as i64..=last {
                let i = index(t, inner)?;
                t.literal(":")?;
                let x = t.number(false, "an entry of a sparse matrix")?;
                triplets.push(if layout == "csc" { (i, j as u32, x) } else { (j as u32, i, x) });
            }
        }
    }
    if triplets.len() != entries {
        return Err(t.unexpected(format!("{} entries", triplets.len()), entries));
    }
    triplets.retain(|(.., x)| *x != 0.0);
    Ok(Matrix { csr: Csr::from_triplets(size.0, size.1, &triplets), row_ends: None })
}

/// Layout, sizes and number of entries out of a header line.
fn header(line: &[u8]) -> Option<(&'static str, (usize, usize), usize)> {
    let line = std::str::from_utf8(line).ok()?.trim();
    let (layout, rest) = if let Some(rest) = line.strip_prefix("triplet:") {
        ("triplet", rest)
    } else if let Some(rest) = line.strip_prefix("csr:") {
        ("csr", rest)
    } else {
        ("csc", line)
    };
    let (sizes, rest) = rest.trim().split_once(',')?;
    let (rows, cols) = sizes.split_once("-by-")?;
    let entries = rest.split_once("nnz:")?.1.trim();
    let entries = entries.split([',', ' ']).next()?;
    Some((layout, (rows.parse().ok()?, cols.parse().ok()?), entries.parse().ok()?))
}
