//! Mails: findings, comparisons of recordings, and patches.

pub mod compare;
pub mod findings;
pub mod patch;
