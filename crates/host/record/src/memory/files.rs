//! Whose content a page of the page cache is: `address_space` -> `inode` -> `dentry`,
//! `super_block`.

use std::collections::HashMap;

use super::layout::FileOffsets;
use super::paging::GuestMemory;

/// Most folders above a file that are followed: the tree is the guest's, and may be broken.
const FOLDERS_MAX: usize = 32;

/// Names of files by their `address_space`, each read once.
pub struct FileNames<'g, 'm> {
    memory: &'g GuestMemory<'m>,
    offsets: Option<&'g FileOffsets>,
    descriptions: HashMap<u64, String>,
}

impl<'g, 'm> FileNames<'g, 'm> {
    /// Creates an empty list. Without `offsets` no file has a name.
    pub fn new(memory: &'g GuestMemory<'m>, offsets: Option<&'g FileOffsets>) -> Self {
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
            file.map_or("page cache".to_owned(), |file| {
                format!("page cache of {file}")
            })
        })
    }
}

fn describe_file(memory: &GuestMemory<'_>, offsets: &FileOffsets, mapping: u64) -> Option<String> {
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
fn dentry_path(
    memory: &GuestMemory<'_>,
    offsets: &FileOffsets,
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
