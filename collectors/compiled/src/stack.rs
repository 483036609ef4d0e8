//! Stacks of threads, and the callers on them.

use relayout_shadow::wire::FRAMES_MAX;

/// Return addresses, innermost first, with 0 after the last.
pub type Frames = [u64; FRAMES_MAX];

/// Caller of an interposed function.
#[derive(Clone, Copy)]
pub struct CallerFrame {
    /// Return address.
    pub pc: u64,
    /// Frame pointer of the caller.
    pub frame: u64,
}

/// Addresses of a stack: the lowest, and one past the highest.
#[derive(Clone, Copy)]
pub struct StackBounds {
    pub low: u64,
    pub high: u64,
}

impl StackBounds {
    /// Returns the bounds of the calling thread's stack. The function allocates, so the thread must
    /// be inside.
    pub fn of_this_thread() -> Option<Self> {
        // SAFETY: the attributes are ours, initialised by the first call.
        unsafe {
            let mut attributes = std::mem::zeroed::<libc::pthread_attr_t>();
            if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
                return None;
            }
            let (mut low, mut bytes) = (std::ptr::null_mut(), 0);
            let found = libc::pthread_attr_getstack(&attributes, &mut low, &mut bytes) == 0;
            libc::pthread_attr_destroy(&mut attributes);
            found.then_some(Self {
                low: low as u64,
                high: low as u64 + bytes as u64,
            })
        }
    }
}

/// Returns the calls that led to `caller`, by frame pointers, as far as they lie in `bounds`.
///
/// Code without frame pointers ends the walk or hides calls. The walk never leaves the stack.
#[inline]
pub fn walk_frames(caller: CallerFrame, bounds: StackBounds) -> Frames {
    let mut frames = [0; FRAMES_MAX];
    frames[0] = caller.pc;
    let mut frame = caller.frame;
    let mut floor = (&raw const frames as u64).max(bounds.low);
    for slot in &mut frames[1..] {
        if frame < floor || !frame.is_multiple_of(8) || frame + 16 > bounds.high {
            break;
        }
        // SAFETY: between this function's frame and the end of the thread's stack.
        let [next, pc] = unsafe { *(frame as *const [u64; 2]) };
        if pc < 4096 {
            break;
        }
        *slot = pc;
        floor = frame + 16;
        frame = next;
    }
    frames
}
