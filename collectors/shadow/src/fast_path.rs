//! The cases that need no lock, which are nearly all: lines without detail, and loads that change
//! nothing of a line with it.

use core::sync::atomic::{AtomicU64, Ordering::*};

use crate::burst::own_turn;
use crate::context::ShadowContext;
use crate::context_set::ContextSet;
use crate::host::AccessKind;
use crate::page::{
    FLAGS, LineState, MASKED_CONTEXTS, PageShadow, granule_mask, is_private, is_read_shared,
    line_in_page, page_of,
};
use crate::past::{AccessedBytes, PastAccess};
use crate::{LINE_BYTES, REGION_BYTES};

/// Amount that one access adds to its cell of a [`CountPage`].
#[inline]
pub fn count_increment(access: AccessKind) -> u64 {
    match access {
        AccessKind::Read => 1,
        AccessKind::Write => 1 << 32,
        AccessKind::ReadWrite => 1 << 32 | 1,
    }
}

/// The most common cases: a line that is private to the context and stays so, or that all only
/// read, in a page that it used lately. True if that was all.
#[inline(always)]
pub fn count_common_hit(
    cx: &mut ShadowContext,
    addr: u64,
    size: u8,
    access: AccessKind,
    site: u32,
) -> bool {
    let Some((shadow, counts)) = cx.find_in_tlb(page_of(addr)) else {
        return false;
    };
    let line = line_in_page(addr);
    let word = shadow.words[line].load(Relaxed);
    if access == AccessKind::Read {
        // No bytes wrap around, to more than any line.
        let last = addr.wrapping_add(size.wrapping_sub(1).into());
        let is_hit = addr ^ last < LINE_BYTES as u64
            && (is_private(word, cx.private_word, 0) || is_read_shared(word, cx.id));
        if is_hit {
            counts.count(line, count_increment(access));
        }
        return is_hit;
    }
    let offset = (addr % LINE_BYTES as u64) as u8;
    let is_hit = is_within_line(offset, size)
        && is_private(word, cx.private_word, granule_mask(offset, size));
    if !is_hit {
        return false;
    }
    counts.count(line, count_increment(access));
    let now = PastAccess {
        site,
        context: cx.id,
        bytes: AccessedBytes::new(offset, size, access as u8),
    };
    counts.stores[line].store(now.to_u64(), Relaxed);
    true
}

/// Returns whether `size` bytes, not 0, at `offset` of a line end in that line.
#[inline]
pub fn is_within_line(offset: u8, size: u8) -> bool {
    // No bytes wrap around, to more than any line.
    u32::from(offset) + u32::from(size.wrapping_sub(1)) < LINE_BYTES as u32
}

/// The state words of region `n`.
pub fn region_words(shadow: &PageShadow, n: usize) -> &[AtomicU64] {
    let lines = REGION_BYTES / LINE_BYTES;
    &shadow.words[n * lines..(n + 1) * lines]
}

/// Returns whether a load of a hot region was logged in this turn, and need not be logged again.
#[inline]
pub fn is_repeated(cx: &ShadowContext, shadow: &PageShadow, addr: u64, now: PastAccess) -> bool {
    let line = addr - u64::from(now.offset());
    own_turn(&shadow.turn, cx.id).is_some_and(|turn| cx.filter.has_logged(turn, line, now, false))
}

/// Returns whether an access to a line without detail, whose word is `old`, needs no more than that
/// its word is brought up to date, which is then done: the word stays, or changes only in the
/// owner's own part.
#[inline]
pub fn try_advance(word: &AtomicU64, old: u64, now: PastAccess) -> bool {
    let state = LineState::decode(old);
    if let LineState::WidelyShared(set) = state {
        return !now.bytes.is_store() && join_readers(word, old, set, now.context);
    }
    let Some(next) = advance_state(state, now) else {
        return false;
    };
    let new = next.encode() | old & FLAGS;
    new == old || word.compare_exchange(old, new, AcqRel, Relaxed).is_ok()
}

/// Notes in a set that a context has a copy. False if the line's word is not `old` any more.
pub fn join_readers(word: &AtomicU64, old: u64, set: *mut ContextSet, context: u16) -> bool {
    // SAFETY: sets are never freed.
    unsafe { (*set).insert(context) };
    word.load(Acquire) == old
}

/// The state after `now` of a line without detail; `None` if that needs memory.
pub fn advance_state(state: LineState, now: PastAccess) -> Option<LineState> {
    let written = if now.bytes.is_store() {
        granule_mask(now.offset(), now.size())
    } else {
        0
    };
    match state {
        LineState::Private { owner, granules } if owner == now.context => {
            Some(LineState::Private {
                owner,
                granules: granules | written,
            })
        }
        LineState::Untouched => Some(LineState::Private {
            owner: now.context,
            granules: written,
        }),
        LineState::Private { owner, granules: 0 }
            if written == 0 && owner.max(now.context) < MASKED_CONTEXTS =>
        {
            Some(LineState::ReadShared {
                contexts: 1 << owner | 1 << now.context,
            })
        }
        LineState::ReadShared { contexts } if written == 0 && now.context < MASKED_CONTEXTS => {
            Some(LineState::ReadShared {
                contexts: contexts | 1 << now.context,
            })
        }
        _ => None,
    }
}

/// The last store of `owner` to a line that is private to it.
pub fn last_store(shadow: &PageShadow, line: usize, owner: u16) -> PastAccess {
    let last = (shadow.counts(owner)).map_or(0, |counts| counts.stores[line].load(Relaxed));
    PastAccess {
        context: owner,
        ..PastAccess::from_u64(last)
    }
}
