//! The host crates under one name, for crates that do not name them one by one yet.

pub mod survey;

pub use relayout_files as files;
pub use relayout_files::*;
pub use relayout_measure as measure;
pub use relayout_probe as probe;
pub use relayout_record::{
    CountedAccesses, GuestKernel, GuestWork, GuestWorkload, KernelRecording, ProgramBackend,
    ProgramRecording, QemuCollector, RecordingOutcome, StopSignals, bzimage, find_collector,
    find_program_collector, find_workload, perf, record_kernel, record_program, workloads,
};
pub use relayout_toolchain::{cc, compile, kernel_build};

mod error;

pub use error::Error;
