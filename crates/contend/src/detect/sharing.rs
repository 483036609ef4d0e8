//! False or true sharing.
//!
//! Decided by lifetime, since that is what another placement could save: a CPU that reads
//! `base_addr` and then, under the lock, writes `free_bytes` needs the line anyway, though its
//! first touch was false.

use crate::finding::Kind;
use crate::replay::Tally;

pub(super) fn kind(tally: &Tally) -> Kind {
    if super::most(tally.false_lifetime, tally.transfers()) {
        Kind::FalseSharing
    } else {
        Kind::TrueSharing
    }
}
