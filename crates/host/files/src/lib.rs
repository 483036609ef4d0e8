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

pub use cache::CacheFolder;
pub use debug_file::{DebugFile, map_file};
pub use debug_search::DebugFolders;
pub use error::{Error, ErrorCategory};
pub use file_error::FileError;
pub use files::write_atomically;
pub use git::git_author;
pub use guest::{GuestWorkload, find_workload, workloads};
pub use kept::CachedFiles;
pub use kernel::GuestKernel;
pub use program::{CountedAccesses, ProgramBackend, ProgramRecording, StopSignals, record_program};
pub use qemu::{QemuCollector, find_collector, find_program_collector};
pub use record::{GuestWork, KernelRecording, RecordingOutcome, RecordingProgress, record_kernel};
pub use signals::InterruptFlag;
