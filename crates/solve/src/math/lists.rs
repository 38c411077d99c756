//! Lists of numbers, one after the other in one memory.

/// Lists of numbers; list i is `items[starts[i]..starts[i + 1]]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// No list.
    pub fn clear(&mut self) {
        self.starts.clear();
        self.items.clear();
    }

    /// Appends a list in ascending order, each number once.
    pub fn push(&mut self, numbers: impl Iterator<Item = u32>) {
        if self.starts.is_empty() {
            self.starts.push(0);
        }
        let start = self.items.len();
        for number in numbers {
            // Nearly always the same as the one before.
            if self.items.len() == start || self.items[self.items.len() - 1] != number {
                self.items.push(number);
            }
        }
        self.items[start..].sort_unstable();
        let mut keep = start;
        for i in start..self.items.len() {
            if keep == start || self.items[keep - 1] != self.items[i] {
                self.items[keep] = self.items[i];
                keep += 1;
            }
        }
        self.items.truncate(keep);
        self.starts.push(keep as u32);
    }

    /// Sorts the numbers below `count` into `lists` lists by `list`; each list ascends.
    pub fn sort(&mut self, lists: usize, count: usize, mut list: impl FnMut(usize) -> usize) {
        self.fill(lists, |visit| (0..count).for_each(|i| visit(list(i), i as u32)));
    }

    /// For each of `count` numbers the lists of `other` that hold it, ascending.
    pub fn invert(&mut self, count: usize, other: &Lists) {
        self.fill(count, |visit| {
            for k in 0..other.len() {
                other.get(k).iter().for_each(|&i| visit(i as usize, k as u32));
            }
        });
    }

    /// Lists of what `each` visits, twice in the same order: (list, number).
    fn fill(&mut self, lists: usize, mut each: impl FnMut(&mut dyn FnMut(usize, u32))) {
        self.starts.clear();
        self.starts.resize(lists + 2, 0);
        let starts = &mut self.starts;
        each(&mut |list, _| starts[list + 2] += 1);
        for l in 0..lists {
            starts[l + 2] += starts[l + 1];
        }
        self.items.clear();
        self.items.resize(starts[lists + 1] as usize, 0);
        // While filling, `starts[l + 1]` is where list l goes on; in the end it is where the next
        // one begins.
        let items = &mut self.items;
        each(&mut |list, number| {
            let at = &mut starts[list + 1];
            items[*at as usize] = number;
            *at += 1;
        });
        starts.pop();
    }

    /// How many lists there are.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// List number `i`.
    pub fn get(&self, i: usize) -> &[u32] {
        &self.items[self.starts[i] as usize..self.starts[i + 1] as usize]
    }

    /// The numbers of all lists.
    pub fn all(&self) -> &[u32] {
        &self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_sorted_into_lists_and_back() {
        let mut lists = Lists::default();
        assert_eq!((lists.len(), lists.is_empty()), (0, true));
        for list in [vec![3, 1, 3, 0], vec![], vec![2, 1]] {
            lists.push(list.into_iter());
        }
        let all: Vec<&[u32]> = (0..lists.len()).map(|i| lists.get(i)).collect();
        assert_eq!(all, [&[0, 1, 3][..], &[], &[1, 2]]);
        let mut holders = Lists::default();
        holders.invert(5, &lists);
        let all: Vec<&[u32]> = (0..holders.len()).map(|i| holders.get(i)).collect();
        assert_eq!(all, [&[0][..], &[0, 2], &[2], &[0], &[]]);
        holders.sort(3, 7, |i| i % 3);
        let all: Vec<&[u32]> = (0..holders.len()).map(|i| holders.get(i)).collect();
        assert_eq!(all, [&[0, 3, 6][..], &[1, 4], &[2, 5]]);
        assert_eq!(holders.all(), [0, 3, 6, 1, 4, 2, 5]);
        holders.sort(0, 0, |_| 0);
        assert!(holders.is_empty());
    }
}
