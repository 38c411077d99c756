//! Working memory that is kept, and the order of elimination that is found in it.

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::sparse::SymbolicSparseColMatRef;
use faer::sparse::linalg::amd;

/// A stack for faer's methods; grows to the largest request.
pub struct Scratch(MemBuffer);

impl Default for Scratch {
    fn default() -> Scratch {
        Scratch(MemBuffer::new(StackReq::EMPTY))
    }
}

impl Scratch {
    /// A stack for a request.
    pub fn stack(&mut self, request: StackReq) -> &mut MemStack {
        // Room to begin at any address that the request asks for.
        let bytes = request.size_bytes() + request.align_bytes();
        if self.0.len() < bytes {
            self.0 = MemBuffer::new(StackReq::new_aligned::<u8>(bytes, request.align_bytes()));
        }
        MemStack::new(&mut self.0)
    }
}

/// Orders of elimination with little fill (approximate minimum degree); keeps its memory.
#[derive(Default)]
pub struct MinimumDegree {
    /// Position i of the elimination is the unknown `order[i]`.
    pub order: Vec<u32>,
    inverse: Vec<u32>,
    scratch: Scratch,
}

impl MinimumDegree {
    /// Finds `order` for the symmetric pattern with these rows (stored whole).
    pub fn find(&mut self, starts: &[u32], columns: &[u32]) {
        let n = starts.len() - 1;
        self.order.resize(n, 0);
        self.inverse.resize(n, 0);
        let pattern = SymbolicSparseColMatRef::new_checked(n, n, starts, None, columns);
        let stack = self.scratch.stack(amd::order_scratch::<u32>(n, columns.len()));
        amd::order(&mut self.order, &mut self.inverse, pattern, amd::Control::default(), stack)
            .expect("the pattern is valid and fits into memory");
    }
}
