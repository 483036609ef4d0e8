//! Whose content a page of the page cache is: `address_space` -> `inode` -> `dentry`,
//! `super_block`.

use std::collections::HashMap;

use relayout_profile::FILE_CONTENT;

use super::lookup::{KernelLookup, MissingItem};
use super::paging::GuestMemory;

/// Most folders above a file that are followed: the tree is the guest's, and may be broken.
const FOLDERS_MAX: usize = 32;

/// Offsets on the way from `struct address_space` to a file's name.
pub struct FileReader {
    mapping_host: u64,
    inode_super: u64,
    inode_number: u64,
    /// Head of the list of its names.
    inode_names: u64,
    super_type: u64,
    type_name: u64,
    /// Node of that list, in `struct dentry`.
    entry_node: u64,
    entry_parent: u64,
    /// Pointer to the text.
    entry_name: u64,
}

impl FileReader {
    /// Looks up the offsets.
    pub fn find(lookup: &mut KernelLookup<'_, '_>) -> Result<Self, MissingItem> {
        let name = lookup.member("dentry", "d_name")?;
        Ok(Self {
            mapping_host: lookup.member("address_space", "host")?,
            inode_super: lookup.member("inode", "i_sb")?,
            inode_number: lookup.member("inode", "i_ino")?,
            inode_names: lookup.member("inode", "i_dentry")?,
            super_type: lookup.member("super_block", "s_type")?,
            type_name: lookup.member("file_system_type", "name")?,
            // `d_alias` is at the start of a union `d_u` (up to 6.19), or stands by itself.
            entry_node: lookup.first_member("dentry", &["d_u", "d_alias"])?,
            entry_parent: lookup.member("dentry", "d_parent")?,
            entry_name: name + lookup.member("qstr", "name")?,
        })
    }
}

/// Names of files by their `address_space`, each read once.
pub struct FileNames<'g, 'm> {
    memory: &'g GuestMemory<'m>,
    offsets: Option<&'g FileReader>,
    descriptions: HashMap<u64, String>,
}

impl<'g, 'm> FileNames<'g, 'm> {
    /// Creates an empty list. Without `offsets` no file has a name.
    pub fn new(memory: &'g GuestMemory<'m>, offsets: Option<&'g FileReader>) -> Self {
        Self {
            memory,
            offsets,
            descriptions: HashMap::new(),
        }
    }

    /// Describes the pages of a mapping: `page cache of /data/a (tmpfs)`, or `page cache` if the
    /// file's name cannot be read.
    pub fn describe_mapping(&mut self, mapping: u64) -> &str {
        let (memory, offsets) = (self.memory, self.offsets);
        self.descriptions.entry(mapping).or_insert_with(|| {
            let file = offsets.and_then(|offsets| describe_file(memory, offsets, mapping));
            file.map_or(FILE_CONTENT.to_owned(), |file| {
                format!("{FILE_CONTENT} of {file}")
            })
        })
    }
}

fn describe_file(memory: &GuestMemory<'_>, offsets: &FileReader, mapping: u64) -> Option<String> {
    let follow_pointer = |at: u64, offset: u64| {
        let to = memory.read_u64(at.wrapping_add(offset))?;
        (to != 0).then_some(to)
    };
    let inode = follow_pointer(mapping, offsets.mapping_host)?;
    let superblock = follow_pointer(inode, offsets.inode_super)?;
    let system = follow_pointer(superblock, offsets.super_type)?;
    let system = memory.read_text(follow_pointer(system, offsets.type_name)?)?;
    // The first name of the inode; a file that was removed has none.
    let name = follow_pointer(inode, offsets.inode_names)
        .and_then(|node| dentry_path(memory, offsets, node.wrapping_sub(offsets.entry_node)));
    match name {
        Some(path) => Some(format!("{path} ({system})")),
        None => {
            let number = memory.read_u64(inode.wrapping_add(offsets.inode_number))?;
            Some(format!("inode {number} ({system})"))
        }
    }
}

/// The path of a `dentry` from the root of its file system.
pub(super) fn dentry_path(
    memory: &GuestMemory<'_>,
    offsets: &FileReader,
    first_dentry: u64,
) -> Option<String> {
    let mut parts = Vec::new();
    let mut dentry = first_dentry;
    for _ in 0..FOLDERS_MAX {
        let parent = memory.read_u64(dentry.wrapping_add(offsets.entry_parent))?;
        if parent == dentry {
            break;
        }
        let name = memory.read_text(memory.read_u64(dentry.wrapping_add(offsets.entry_name))?)?;
        parts.push(name);
        dentry = parent;
    }
    let path: Vec<&str> = parts.iter().rev().map(String::as_str).collect();
    (!path.is_empty()).then(|| format!("/{}", path.join("/")))
}
