//! Interrupts in an operation: they are cut out, with their time.
//!
//! Emulated time brings more interrupts of the clock than an operation would meet. They are known by their functions;
//! what they call lies between, and what came before since the entry code.

use relayout_profile::VisitRow;

use crate::roles::{SiteRole, SiteRoles};

/// Ticks between two visits of one interrupt, at most.
const INTERRUPT_GAP_TICKS_MAX: u64 = 3000;

/// Visit of an operation, with the clock that it has without what was cut out before it.
#[derive(Clone, Copy)]
pub(crate) struct TimedVisit<'v> {
    pub visit: &'v VisitRow,
    pub clock: u64,
}

/// Returns the visits outside of interrupts, and the ticks that were cut out.
pub(crate) fn without_interrupts<'v>(
    visits: &[&'v VisitRow],
    roles: &dyn SiteRoles,
) -> (Vec<TimedVisit<'v>>, u64) {
    let mut kept = Vec::with_capacity(visits.len());
    let (mut cut, mut at) = (0, 0);
    while let Some(visit) = visits.get(at) {
        match interrupt_end(&visits[at..], roles) {
            Some(length) => {
                let last = visits[at + length - 1];
                cut += last.clock.saturating_sub(visit.clock);
                at += length;
            }
            None => {
                let clock = visit.clock.saturating_sub(cut);
                kept.push(TimedVisit { visit, clock });
                at += 1;
            }
        }
    }
    (kept, cut)
}

/// Returns the number of visits of the interrupt that begins with the first visit, if one does.
fn interrupt_end(visits: &[&VisitRow], roles: &dyn SiteRoles) -> Option<usize> {
    let first = visits.first()?;
    let role = roles.role(first.site);
    if !matches!(role, SiteRole::Entry | SiteRole::Interrupt) {
        return None;
    }
    let mut end = usize::from(role == SiteRole::Interrupt);
    let mut last_clock = first.clock;
    for (index, visit) in visits.iter().enumerate().skip(1) {
        let own = roles.role(visit.site);
        let is_far = visit.clock.saturating_sub(last_clock) > INTERRUPT_GAP_TICKS_MAX;
        if is_far || own == SiteRole::Entry {
            break;
        }
        if own == SiteRole::Interrupt {
            end = index + 1;
            last_clock = visit.clock;
        }
    }
    (end > 0).then_some(end)
}
