//! The shadow of one page of guest memory, and the table that finds it.
//!
//! A line's state is one word, so that a line that only one context uses, or that is only read,
//! needs no lock:
//!
//! | tag | meaning | payload |
//! | --- | --- | --- |
//! | 0 | not touched | |
//! | 1 | one context only | owner, granules it wrote; its last access is in its [`CountPage`] |
//! | 2 | several contexts, only reads | mask of them, or pointer to a [`ContextSet`] |
//! | 3 | anything else | pointer to a [`LineDetail`] |

use core::sync::atomic::{AtomicPtr, AtomicU16, AtomicU32, AtomicU64, Ordering::*};

use crate::arena::ZeroedArena;
use crate::burst::HotRegion;
use crate::context_set::ContextSet;
use crate::detail::LineDetail;
use crate::host::CollectorHost;
use crate::{CONTEXTS_MAX, LINE_BYTES, LINES_PER_PAGE, PAGE_BYTES, REGION_BYTES, REGIONS_PER_PAGE};

/// A line's state word, decoded.
#[derive(Clone, Copy)]
pub enum LineState {
    Untouched,
    /// `granules`: bit g is set if the owner wrote any of bytes 8g..8g+8.
    Private {
        owner: u16,
        granules: u8,
    },
    /// Contexts below [`MASKED_CONTEXTS`], as a mask.
    ReadShared {
        contexts: u64,
    },
    /// Any contexts.
    WidelyShared(*mut ContextSet),
    Detailed(*mut LineDetail),
}

const TAG: u64 = 3;
const DETAILED: u64 = 3;

/// Set in a word while the line's region is logged: then no access is a common case.
pub const LOGGED: u64 = 4;
/// Set in a word while some context waits for its next access to the line or its buddy: see
/// [`crate::pair`]. Then no access is a common case either.
pub const WATCHED: u64 = 8;
/// Flags of a word besides the state; kept when the state changes.
pub const FLAGS: u64 = LOGGED | WATCHED;

/// Set with tag 2 if the payload is a pointer.
const WIDE: u64 = 16;
/// Contexts that a word's own mask has room for.
pub const MASKED_CONTEXTS: u16 = 56;

const OWNER_SHIFT: u32 = 4;
const GRANULES_SHIFT: u32 = 20;

impl LineState {
    #[inline]
    pub fn decode(word: u64) -> Self {
        match word & TAG {
            0 => Self::Untouched,
            1 => Self::Private {
                owner: (word >> OWNER_SHIFT) as u16,
                granules: (word >> GRANULES_SHIFT) as u8,
            },
            2 if word & WIDE != 0 => {
                Self::WidelyShared((word & !(TAG | FLAGS | WIDE)) as *mut ContextSet)
            }
            2 => Self::ReadShared {
                contexts: word >> 8,
            },
            _ => Self::Detailed((word & !(TAG | FLAGS)) as *mut LineDetail),
        }
    }

    #[inline]
    pub fn encode(self) -> u64 {
        match self {
            Self::Untouched => 0,
            Self::Private { owner, granules } => {
                1 | u64::from(owner) << OWNER_SHIFT | u64::from(granules) << GRANULES_SHIFT
            }
            Self::ReadShared { contexts } => 2 | contexts << 8,
            Self::WidelyShared(set) => set as u64 | WIDE | 2,
            Self::Detailed(detail) => detail as u64 | 3,
        }
    }
}

/// The word of a line that is private to `context`, which has written nothing.
pub const fn private_word(context: u16) -> u64 {
    1 | (context as u64) << OWNER_SHIFT
}

/// Returns whether a line with this word is private to the context with this [`private_word`], which
/// has written all of `granules`, and without flags.
#[inline]
pub fn is_private(word: u64, private_word: u64, granules: u8) -> bool {
    const OWNER: u64 = 0xffff << OWNER_SHIFT;
    let needed = u64::from(granules) << GRANULES_SHIFT;
    word & (TAG | FLAGS | OWNER | needed) == private_word | needed
}

/// Returns whether a line with this word is only read, by `context` among others, and without
/// flags.
#[inline(always)]
pub fn is_read_shared(word: u64, context: u16) -> bool {
    word & (TAG | FLAGS) == 2
        && if word & WIDE == 0 {
            context < MASKED_CONTEXTS && word >> (8 + context) & 1 == 1
        } else {
            // SAFETY: sets are never freed.
            unsafe { (*((word & !(TAG | WIDE)) as *const ContextSet)).contains(context) }
        }
}

/// Granules (aligned 8 bytes) touched by `size` bytes at `offset` of a line, as a bit mask.
#[inline(always)]
pub fn granule_mask(offset: u8, size: u8) -> u8 {
    /// Each granule with those after it, and with those before it. Shifts by variable amounts would
    /// take a certain register.
    const FROM: [u8; 8] = [0xff, 0xfe, 0xfc, 0xf8, 0xf0, 0xe0, 0xc0, 0x80];
    const UP_TO: [u8; 8] = [0x01, 0x03, 0x07, 0x0f, 0x1f, 0x3f, 0x7f, 0xff];
    let last = u32::from(offset) + u32::from(size) - 1;
    FROM[usize::from(offset / 8 % 8)] & UP_TO[(last / 8 % 8) as usize]
}

/// Accesses of one context to the lines of one page.
#[repr(C)]
pub struct CountPage {
    pub page: u64,
    pub next: *mut CountPage,
    /// By line: loads in the lower, stores in the upper 32 bits. Changed by the context alone, read
    /// by others.
    pub cells: [AtomicU64; LINES_PER_PAGE],
    /// The context's last store by line, while the line is private to it: a [`PastAccess`] as a
    /// number, so that whoever takes the line away can read it.
    pub stores: [AtomicU64; LINES_PER_PAGE],
}

impl CountPage {
    /// Counts an access to a line, by the context itself.
    #[inline]
    pub fn count(&self, line: usize, increment: u64) {
        let cell = &self.cells[line];
        cell.store(cell.load(Relaxed).wrapping_add(increment), Relaxed);
    }
}

/// Address of the page of `addr`.
#[inline]
pub fn page_of(addr: u64) -> u64 {
    addr & !(PAGE_BYTES as u64 - 1)
}

/// Number of the region of `addr` in its page.
#[inline]
pub fn region_in_page(addr: u64) -> usize {
    addr as usize % PAGE_BYTES / REGION_BYTES
}

/// Number of the line of `addr` in its page.
#[inline]
pub fn line_in_page(addr: u64) -> usize {
    addr as usize % PAGE_BYTES / LINE_BYTES
}

/// The detail of a line whose word is `word`, if it has one and is neither logged nor watched.
#[inline]
pub fn quiet_detail(word: u64) -> Option<&'static LineDetail> {
    let detail = (word & !(TAG | FLAGS)) as *const LineDetail;
    // SAFETY: details are never freed.
    (word & (TAG | FLAGS) == DETAILED).then(|| unsafe { &*detail })
}

/// Contexts whose counts for a page are found together.
const COUNT_GROUP: usize = 64;

/// The counts of a group of contexts for one page. All-zero is none.
struct CountGroup([AtomicPtr<CountPage>; COUNT_GROUP]);

/// The shadow of one page. All-zero is a fresh one.
#[repr(C, align(64))]
pub struct PageShadow {
    pub words: [AtomicU64; LINES_PER_PAGE],
    /// Address of the page.
    pub page: u64,
    /// Whose turn it is in the logs of this page: see [`crate::burst`].
    pub turn: AtomicU64,
    pub regions: [AtomicPtr<HotRegion>; REGIONS_PER_PAGE],
    /// By [`COUNT_GROUP`] contexts.
    groups: [AtomicPtr<CountGroup>; CONTEXTS_MAX / COUNT_GROUP],
    /// By pair of lines: contexts that watch it.
    pub watchers: [AtomicU16; LINES_PER_PAGE / 2],
    /// By pair of lines: pair transfers sampled.
    pub pair_samples: [AtomicU32; LINES_PER_PAGE / 2],
    /// Page shadow that was made before this one; null for the first.
    next: AtomicPtr<PageShadow>,
}

impl PageShadow {
    /// The counts of a context for this page, if it has any.
    pub fn counts(&self, context: u16) -> Option<&'static CountPage> {
        let n = usize::from(context);
        // SAFETY: groups are never freed.
        let group = unsafe { self.groups[n / COUNT_GROUP].load(Acquire).as_ref() }?;
        // SAFETY: count pages are never freed.
        unsafe { group.0[n % COUNT_GROUP].load(Acquire).as_ref() }
    }

    /// The counts of all contexts but `context` for this page.
    pub fn counts_of_others(&self, context: u16) -> impl Iterator<Item = &'static CountPage> {
        let own = usize::from(context);
        let groups = self.groups.iter().enumerate().filter_map(|(n, group)| {
            // SAFETY: groups are never freed.
            Some((n * COUNT_GROUP, unsafe { group.load(Acquire).as_ref() }?))
        });
        groups
            .flat_map(|(first, group)| (first..).zip(&group.0))
            .filter(move |&(n, _)| n != own)
            // SAFETY: count pages are never freed.
            .filter_map(|(_, counts)| unsafe { counts.load(Acquire).as_ref() })
    }

    /// Sets the counts of `context`, which had none for this page. False if there is no memory.
    pub fn set_counts<H: CollectorHost>(
        &self,
        context: u16,
        counts: *mut CountPage,
        arena: &mut ZeroedArena,
        host: &H,
    ) -> bool {
        let n = usize::from(context);
        let place = &self.groups[n / COUNT_GROUP];
        if place.load(Acquire).is_null() {
            let Some(fresh) = arena.zeroed::<CountGroup, H>(host) else {
                return false;
            };
            // Another context may have been faster.
            let _ = place.compare_exchange(core::ptr::null_mut(), fresh, AcqRel, Acquire);
        }
        // SAFETY: not null any more; groups are never freed.
        let group = unsafe { &*place.load(Acquire) };
        group.0[n % COUNT_GROUP].store(counts, Release);
        true
    }
}

/// Pages whose places in a [`PageTable`] are side by side: programs use memory in stretches, and
/// what lies scattered takes a page of the table for each page.
const NEIGHBOURS: u64 = 64;

/// Finds page shadows by address: open addressing, insert only, lock-free.
pub struct PageTable {
    slots: *mut AtomicPtr<PageShadow>,
    mask: usize,
    used: AtomicU32,
    /// Page shadow that was made last. A list of them all, since most slots of most tables are empty.
    last: AtomicPtr<PageShadow>,
}

impl PageTable {
    pub fn new<H: CollectorHost>(bits: u32, host: &H) -> Option<Self> {
        let slots = host
            .zeroed(size_of::<AtomicPtr<PageShadow>>() << bits)?
            .cast();
        Some(Self {
            slots,
            mask: (1 << bits) - 1,
            used: AtomicU32::new(0),
            last: AtomicPtr::new(core::ptr::null_mut()),
        })
    }

    /// The shadow of the page at `page` (its address), made by `make` if there is none; `None` if
    /// memory or the table is exhausted.
    pub fn find_or_insert(
        &self,
        page: u64,
        make: impl FnOnce() -> Option<*mut PageShadow>,
    ) -> Option<&'static PageShadow> {
        let mut at = self.first_slot(page);
        let mut make = Some(make);
        let mut fresh: *mut PageShadow = core::ptr::null_mut();
        loop {
            // SAFETY: `at` is masked to the table's size; page shadows are never freed.
            let slot = unsafe { &*self.slots.add(at) };
            let found = slot.load(Acquire);
            if !found.is_null() {
                // SAFETY: published with release ordering, never freed.
                let shadow = unsafe { &*found };
                if shadow.page == page {
                    return Some(shadow);
                }
                at = self.next_slot(at);
                continue;
            }
            if self.used.load(Relaxed) as usize * 8 > self.mask * 7 {
                return None;
            }
            if let Some(make) = make.take() {
                fresh = make()?;
                // SAFETY: fresh, not yet shared.
                unsafe { (*fresh).page = page };
            }
            if slot.compare_exchange(found, fresh, AcqRel, Acquire).is_ok() {
                self.used.fetch_add(1, Relaxed);
                // SAFETY: just published, never freed.
                let shadow = unsafe { &*fresh };
                self.list_page(shadow);
                return Some(shadow);
            }
        }
    }

    /// The shadow of the page at `page`, if it has one.
    pub fn find(&self, page: u64) -> Option<&'static PageShadow> {
        let mut at = self.first_slot(page);
        loop {
            // SAFETY: `at` is masked to the table's size; page shadows are never freed, and an
            // eighth of the slots stays empty.
            let shadow = unsafe { (*self.slots.add(at)).load(Acquire).as_ref() }?;
            if shadow.page == page {
                return Some(shadow);
            }
            at = self.next_slot(at);
        }
    }

    /// Calls `each` with the shadow of each page from the one at `first` to before `end` that has one.
    /// A stretch may be reserved memory of many TiB, of which little is used: then all pages that
    /// have a shadow are fewer than those of the stretch.
    pub fn for_each_in(&self, first: u64, end: u64, mut each: impl FnMut(&'static PageShadow)) {
        let pages = end.saturating_sub(first).div_ceil(PAGE_BYTES as u64);
        if pages > u64::from(self.used.load(Relaxed)) {
            return self
                .iter()
                .filter(|shadow| (first..end).contains(&shadow.page))
                .for_each(each);
        }
        for n in 0..pages {
            if let Some(shadow) = self.find(first + n * PAGE_BYTES as u64) {
                each(shadow);
            }
        }
    }

    fn list_page(&self, shadow: &'static PageShadow) {
        let mut last = self.last.load(Relaxed);
        loop {
            shadow.next.store(last, Relaxed);
            let own = core::ptr::from_ref(shadow).cast_mut();
            match self.last.compare_exchange_weak(last, own, Release, Relaxed) {
                Ok(_) => return,
                Err(other) => last = other,
            }
        }
    }

    /// All page shadows.
    pub fn iter(&self) -> impl Iterator<Item = &'static PageShadow> + '_ {
        // SAFETY: null, or a page shadow, which is never freed.
        let shadow = |at: &AtomicPtr<PageShadow>| unsafe { at.load(Acquire).as_ref() };
        core::iter::successors(shadow(&self.last), move |page| shadow(&page.next))
    }

    /// Returns the first slot to search for the page at `page`.
    #[inline]
    fn first_slot(&self, page: u64) -> usize {
        let number = page / PAGE_BYTES as u64;
        let stretch = (number / NEIGHBOURS).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24;
        (stretch * NEIGHBOURS + number % NEIGHBOURS) as usize & self.mask
    }

    /// Returns the slot to search after `at`: not a neighbour's slot. Odd, and so comes by
    /// all places.
    #[inline]
    fn next_slot(&self, at: usize) -> usize {
        (at + NEIGHBOURS as usize + 1) & self.mask
    }
}

// SAFETY: slots are atomics in memory that is never freed.
unsafe impl Sync for PageTable {}
// SAFETY: as above.
unsafe impl Send for PageTable {}
