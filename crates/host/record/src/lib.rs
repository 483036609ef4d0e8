//! Recordings: kernels under QEMU, programs, and hardware samples of perf.
//!
//! [`record_kernel`] boots a [`GuestKernel`] under QEMU with the recording plugin, watches the
//! window of a workload, and reads the guest's memory at its end. [`record_program`] runs a program
//! with a collector: the compiled-in runtime, qemu-user, or perf. [`perf::import_perf`] imports a
//! `perf.data` file. Each returns a [`RecordingOutcome`] with the profile.
//!
//! ```
//! let workload = relayout_record::find_workload("mmap1").unwrap();
//! assert!(workload.iterations > 0);
//! ```

pub mod boot_image;
mod child;
mod elf;
mod error;
mod guest;
mod guest_disks;
mod guest_machine;
mod guest_program;
mod guest_snapshots;
mod host_load;
mod initramfs;
mod kernel;
mod kernel_modules;
mod kernel_needs;
mod kernel_recording;
mod marker;
mod memory;
mod outcome;
pub mod perf;
mod program;
mod qemu;
mod simulation;
mod workspace;

pub use error::Error;
pub use guest::{GuestProgram, GuestWorkload, find_workload, workloads};
pub use guest_disks::MKE2FS;
pub use guest_machine::GuestMachine;
pub use guest_program::{ProgramWindow, ProgramWork};
pub use guest_snapshots::{SnapshotStore, TemporarySnapshots};
pub use kernel::GuestKernel;
pub use kernel_modules::ModuleFolder;
pub use kernel_recording::{
    GuestTools, GuestWork, IdleWindow, KernelRecording, RecordedCode, record_kernel,
};
pub use memory::{MemoryReaders, MemorySnapshot, ObjectSize, RequestedMove};
pub use outcome::RecordingOutcome;
pub use program::{
    CountedAccesses, ProgramBackend, ProgramRecording, SlicePlan, StopSignals, can_fix_addresses,
    record_program,
};
pub use qemu::{QemuCollector, find_collector, find_program_collector};
pub use simulation::{NamedMachine, SimulationSettings};
