//! Names that were misspelt: the nearest one that exists.

/// The candidate nearest in spelling, if near enough to be meant.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Nobody means a name by a text of this length, and the comparison is quadratic.
    if word.len() > 200 {
        return None;
    }
    let limit = (word.chars().count() / 3).max(1) + 1;
    candidates
        .into_iter()
        .map(|c| (distance(&word.to_lowercase(), &c.to_lowercase()), c))
        .filter(|(d, c)| *d <= limit && *d < c.chars().count().max(1))
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

/// "did you mean …", or the whole list if nothing is near.
pub fn suggestion(word: &str, candidates: &[&str]) -> String {
    match nearest(word, candidates.iter().copied()) {
        Some(best) => format!("did you mean `{best}`?"),
        None if candidates.is_empty() => "there is none".into(),
        None if candidates.len() > 24 => {
            format!("wanted one of {} names, such as `{}`", candidates.len(), candidates[0])
        }
        None => format!(
            "wanted one of {}",
            candidates.iter().map(|c| format!("`{c}`")).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// Edits (insert, delete, change, swap of neighbours) from one word to another.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut best = change.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_spelling_is_found() {
        assert_eq!(nearest("radus", ["radius", "length"]), Some("radius"));
        assert_eq!(nearest("frcition", ["friction", "fixed"]), Some("friction"));
        assert_eq!(nearest("xyz", ["radius", "length"]), None);
        assert_eq!(distance("ab", "ba"), 1);
        assert!(suggestion("q", &["alpha", "beta"]).contains("wanted one of `alpha`, `beta`"));
    }
}
