//! What `newton` says of contacts: the branch of each block, and whether v is unique.

use serde::Serialize;
use signorini::problem::files::Input;
use signorini::solve::newton::{Branch, ContactStatus, Newton, Unique};
use signorini::solve::{Counts, Report};

/// On which branch of its law every block ended, and whether v is the only answer.
#[derive(Serialize)]
pub(super) struct Contacts {
    /// Sweeps and factorizations, and the phases that took them.
    pub(super) counts: Counts,
    pub(super) notes: Vec<String>,
    unique: Unique,
    open: usize,
    stick: usize,
    slip: usize,
    /// The block that is nearest to changing its branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest: Option<usize>,
    blocks: Vec<ContactStatus>,
}

impl Contacts {
    pub(super) fn of(newton: &mut Newton, report: &Report) -> Contacts {
        let unique = newton.unique();
        let blocks = newton.contacts().to_vec();
        let count = |branch: Branch| blocks.iter().filter(|block| block.branch == branch).count();
        let nearest =
            (0..blocks.len()).min_by(|&a, &b| blocks[a].margin.total_cmp(&blocks[b].margin));
        let (counts, notes) = (report.counts, report.remarks());
        Contacts {
            counts,
            notes,
            unique,
            open: count(Branch::Open),
            stick: count(Branch::Stick),
            slip: count(Branch::Slip),
            nearest,
            blocks,
        }
    }

    /// For a person.
    pub(super) fn line(&self, input: &Input) -> String {
        let unique = match self.unique {
            Unique::Yes => "v is unique",
            Unique::Locally => "no other v nearby",
            Unique::Unknown => "v may not be unique",
        };
        let nearest = self.nearest.map_or(String::new(), |k| {
            let row: usize = input.laws()[..k].iter().map(|law| law.rows()).sum();
            format!(
                "; nearest to a change is {} ({:.1e} of its size away)",
                input.row_name(row),
                self.blocks[k].margin
            )
        });
        format!("{} open, {} stick, {} slip{nearest}; {unique}", self.open, self.stick, self.slip)
    }
}
