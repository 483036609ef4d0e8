//! Files, the cache folder, child processes and signals of relayout.
//!
//! This is the lowest of the crates that reach outside: recording, compiling, probing and measuring
//! build on it. It maps [debug files](DebugFile), writes files [atomically](write_atomically),
//! finds the [cache folder](CacheFolder), catches [Ctrl-C](InterruptFlag), runs [git](run_git), and
//! names the file and the remedy in each [error](Error).
//!
//! ```
//! use relayout_files::CacheFolder;
//!
//! let cache = CacheFolder::new("/no/such/folder".into());
//! assert_eq!(cache.kernel_image(), None);
//! ```

mod cache;
mod cached_files;
mod cached_values;
mod cpus;
mod debug_file;
mod debug_search;
mod debuginfod;
mod error;
mod file_error;
mod file_identity;
mod files;
mod folder_lock;
mod folders;
mod git;
mod installed;
mod kept_folders;
mod kept_index;
mod kept_seal;
mod lost_cpu;
mod processes;
mod regular_files;
mod signals;
mod source_files;
mod system_package;
mod terminal;
mod truncation;
mod trust;

pub use cache::CacheFolder;
pub use cached_files::CachedFiles;
pub use cached_values::{CachedRequest, CachedValues, MappedValue};
pub use cpus::{allowed_cpus, parse_cpu_list, present_cpu, request_fifo, run_on_cpus};
pub use debug_file::DebugFile;
pub use debug_search::{DebugPlaces, find_separate_file};
pub use debuginfod::{DebuginfodClient, ServedFile};
pub use error::Error;
pub use file_error::{FileError, cannot};
pub use file_identity::{file_identity, fnv1a};
pub use files::{
    canonical_name, last_lines, map_file, map_named_elf, write_atomically, write_files,
    write_program_atomically,
};
pub use folder_lock::FolderLock;
pub use folders::{free_bytes, private_dir, remove_abandoned_files};
pub use git::{git_author, run_git, run_program};
pub use installed::{
    LIBRARIES, RUNTIME, find_installed_library, find_sister_command, setup_command, source_tree,
};
pub use kept_folders::{KeptFolders, KeptUsage, SNAPSHOT_LIMIT_VARIABLE};
pub use kept_seal::KeptMap;
pub use lost_cpu::CpuCounters;
pub use processes::{die_with_parent, find_in_path, find_system_program, program_in};
pub use regular_files::{open_own_file, open_regular, read_regular, read_regular_text};
pub use relayout_temporary::{TemporaryFolder, parent_folder};
pub use signals::{InterruptFlag, leave_interrupts_to_child, signal_name};
pub use source_files::source_files;
pub use system_package::{DISTRIBUTION, KERNEL_SOURCE_PACKAGE, install_command, system_package};
pub use terminal::{terminal_columns, wait_for_key};
pub use truncation::catch_truncation;
pub use trust::is_owned_by_user_or_root;
