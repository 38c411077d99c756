//! Working memory that is kept.

use faer::dyn_stack::{MemBuffer, MemStack, StackReq};

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
