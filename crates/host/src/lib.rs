//! Every process and file of relayout: QEMU, the guest, kernels and their debug files, the cache.
//!
//! What is learnt here leaves as values: a [`relayout_profile::Profile`] above all.

pub mod bzimage;
mod cache;
pub mod cc;
pub mod compile;
mod debug_file;
mod debug_search;
mod error;
mod file_error;
mod files;
mod git;
mod guest;
mod initramfs;
mod installed;
mod kept;
mod kernel;
pub mod kernel_build;
pub mod measure;
mod memory;
pub mod perf;
pub mod probe;
mod processes;
mod program;
mod qemu;
mod record;
mod signals;
pub mod survey;
mod workspace;

pub use cache::Cache;
pub use debug_file::{DebugFile, map_file};
pub use debug_search::DebugFolders;
pub use error::{Category, Error};
pub use file_error::FileError;
pub use files::write_whole;
pub use git::git_author;
pub use guest::{Workload, workload, workloads};
pub use kept::KeptFiles;
pub use kernel::Kernel;
pub use program::{Backend, Counts, ProgramRecording, Signals, record_program};
pub use qemu::{Collector, find_collector, find_program_collector};
pub use record::{Progress, Recorded, Recording, Work, record};
pub use signals::Interrupt;
