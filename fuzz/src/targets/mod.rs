//! One function per decoder.

mod boot_image;
mod code;
mod profile;
mod segments;
mod source_edit;
mod types;

pub use boot_image::boot_image;
pub use code::{evidence, instructions};
pub use profile::{pack, profile, unpack};
pub use segments::{join, segments};
pub use source_edit::source_edit;
pub use types::{btf, dwarf, layout_order, shape};

/// Runs on one input; a panic is a finding.
pub type Target = fn(&[u8]);

/// All of them, by name.
pub const ALL: [(&str, Target); 9] = [
    ("boot_image", boot_image),
    ("btf", btf),
    ("dwarf", dwarf),
    ("evidence", evidence),
    ("instructions", instructions),
    ("layout_order", layout_order),
    ("profile", profile),
    ("segments", segments),
    ("source_edit", source_edit),
];
