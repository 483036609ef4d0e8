//! Work of many steps on top of advice.
//!
//! | workflow | question |
//! | --- | --- |
//! | [`simulate`] | What does a change bring on a machine in simulated time? |
//! | [`verify`] | Does a change help, measured? |
//! | [`compare`] | What differs between the recordings of two builds? |
//! | [`tune`] | Which changes help, tried in turn? |
//! | [`kit`] | Does it help on machines that others have? |
//! | [`suite`] | Many recordings of a file |

pub mod compare;
pub mod kit;
mod logged_command;
mod progress;
mod shell_word;
pub mod simulate;
pub mod suite;
pub mod tune;
pub mod verify;

pub use shell_word::shell_word;
