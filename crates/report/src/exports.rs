//! Answers in the formats of others: SARIF, CSV, SVG, the Firefox Profiler, mails and commit messages.

pub mod commit;
pub mod csv;
pub mod firefox;
pub mod mail;
pub mod sarif;
pub mod svg;
