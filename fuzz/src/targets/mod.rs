//! One function per decoder.

mod boot_image;
mod catalog;
mod check;
mod code;
mod compile_commands;
mod guest_memory;
mod join;
mod kept;
mod kernel_module;
mod kit_result;
mod perf_data;
mod perf_samples;
mod profile;
mod program_run;
mod segments;
mod source_edit;
mod type_index;
mod types;

pub use boot_image::boot_image;
pub use catalog::{catalog, diff};
pub use check::{check, check_lock};
pub use code::{evidence, instructions, locations};
pub use compile_commands::compile_commands;
pub use guest_memory::{guest_memory, guest_memory_seeds};
pub use join::{join, split};
pub use kept::{kept, kept_content, with_kept};
pub use kernel_module::kernel_module;
pub use kit_result::kit_result;
pub use perf_data::perf_data;
pub use perf_samples::{perf_samples, perf_samples_seeds};
pub use profile::{pack, profile, unpack};
pub use program_run::program_run;
pub use segments::segments;
pub use source_edit::source_edit;
pub use type_index::{takes_type_index, type_index, type_index_content};
pub use types::{btf, btf_split, companions, dwarf, layout_order, shape};

/// Runs on one input; a panic is a finding.
pub type Target = fn(&[u8]);

/// All of them, by name.
pub const ALL: [(&str, Target); 25] = [
    ("boot_image", boot_image),
    ("btf", btf),
    ("btf_split", btf_split),
    ("catalog", catalog),
    ("check", check),
    ("check_lock", check_lock),
    ("companions", companions),
    ("compile_commands", compile_commands),
    ("diff", diff),
    ("dwarf", dwarf),
    ("evidence", evidence),
    ("guest_memory", guest_memory),
    ("instructions", instructions),
    ("kept", kept),
    ("kernel_module", kernel_module),
    ("kit_result", kit_result),
    ("layout_order", layout_order),
    ("locations", locations),
    ("perf_data", perf_data),
    ("perf_samples", perf_samples),
    ("profile", profile),
    ("program_run", program_run),
    ("segments", segments),
    ("source_edit", source_edit),
    ("type_index", type_index),
];
