//! Where in the kernel's own structs the things are that [`super::snapshot`] follows, from the
//! debug information.

use relayout_layout::dwarf::DwarfTypes;
use relayout_layout::{Aggregate, Type, TypeId, Types};

use crate::{Error, Kernel};

/// Byte offsets of members, and a few constants.
pub struct Offsets {
    pub cache_name: u64,
    pub cache_size: u64,
    pub cache_object_size: u64,
    pub cache_red_left_pad: Option<u64>,
    pub slab_cache: u64,
    pub page_flags: u64,
    pub page_compound_head: u64,
    pub page_size: u64,
    pub page_mapping: Option<u64>,
    pub page_type: Option<u64>,
    pub slab_flag_bit: u32,
    pub reserved_flag_bit: Option<u32>,
    pub compound_order: Option<u64>,
    pub task_tasks: u64,
    pub task_stack: u64,
    pub task_comm: u64,
    pub task_pid: u64,
    pub task_thread_node: u64,
    pub task_signal: u64,
    pub signal_thread_head: u64,
    pub stack_bytes: u64,
    /// `None` on kernels that allocate per-cpu memory in another way.
    pub chunk: Option<ChunkOffsets>,
    /// `None` on kernels that keep no list of what is in vmalloc space.
    pub area: Option<AreaOffsets>,
    /// `None` on kernels whose files have their names elsewhere.
    pub file: Option<FileOffsets>,
}

/// Of `struct pcpu_chunk`, from which per-cpu memory is allocated.
pub struct ChunkOffsets {
    pub list: u64,
    pub base_addr: u64,
    pub start_offset: u64,
    pub pages: u64,
}

/// Of `struct vmap_area` and `struct vm_struct`, one each for an allocation in vmalloc space.
pub struct AreaOffsets {
    pub start: u64,
    pub end: u64,
    pub list: u64,
    pub vm: u64,
    pub caller: u64,
}

/// Of what leads from `struct address_space` to a file's name.
pub struct FileOffsets {
    pub mapping_host: u64,
    pub inode_super: u64,
    pub inode_number: u64,
    /// Head of the list of its names.
    pub inode_names: u64,
    pub super_type: u64,
    pub type_name: u64,
    /// Node of that list, in `struct dentry`.
    pub entry_node: u64,
    pub entry_parent: u64,
    /// Pointer to the text.
    pub entry_name: u64,
}

impl Offsets {
    /// # Errors
    /// A type or member is missing.
    pub fn new(kernel: &Kernel<'_>) -> Result<Self, Error> {
        let mut look = Look {
            kernel,
            types: DwarfTypes::new(&kernel.dwarf),
        };
        Ok(Self {
            cache_name: look.offset("kmem_cache", "name")?,
            cache_size: look.offset("kmem_cache", "size")?,
            cache_object_size: look.offset("kmem_cache", "object_size")?,
            cache_red_left_pad: look.offset("kmem_cache", "red_left_pad").ok(),
            slab_cache: look.offset("slab", "slab_cache")?,
            page_flags: look.offset("page", "flags")?,
            page_compound_head: look.offset("page", "compound_head")?,
            page_size: look.size("page")?,
            page_mapping: look.offset("page", "mapping").ok(),
            page_type: look.offset("page", "page_type").ok(),
            slab_flag_bit: look.enumerator("pageflags", "PG_slab")?,
            reserved_flag_bit: look.enumerator("pageflags", "PG_reserved").ok(),
            compound_order: look.offset("page", "compound_order").ok(),
            task_tasks: look.offset("task_struct", "tasks")?,
            task_stack: look.offset("task_struct", "stack")?,
            task_comm: look.offset("task_struct", "comm")?,
            task_pid: look.offset("task_struct", "pid")?,
            task_thread_node: look.offset("task_struct", "thread_node")?,
            task_signal: look.offset("task_struct", "signal")?,
            signal_thread_head: look.offset("signal_struct", "thread_head")?,
            stack_bytes: look.size("thread_union").unwrap_or(16 << 10),
            chunk: look.chunk().ok(),
            area: look.area().ok(),
            file: look.file().ok(),
        })
    }
}

struct Look<'k, 'a> {
    kernel: &'k Kernel<'a>,
    types: DwarfTypes<'k, 'a>,
}

impl Look<'_, '_> {
    fn chunk(&mut self) -> Result<ChunkOffsets, Error> {
        Ok(ChunkOffsets {
            list: self.offset("pcpu_chunk", "list")?,
            base_addr: self.offset("pcpu_chunk", "base_addr")?,
            start_offset: self.offset("pcpu_chunk", "start_offset")?,
            pages: self.offset("pcpu_chunk", "nr_pages")?,
        })
    }

    fn area(&mut self) -> Result<AreaOffsets, Error> {
        Ok(AreaOffsets {
            start: self.offset("vmap_area", "va_start")?,
            end: self.offset("vmap_area", "va_end")?,
            list: self.offset("vmap_area", "list")?,
            vm: self.offset("vmap_area", "vm")?,
            caller: self.offset("vm_struct", "caller")?,
        })
    }

    fn file(&mut self) -> Result<FileOffsets, Error> {
        let alias = self.offset("dentry", "d_u")?;
        let name = self.offset("dentry", "d_name")?;
        Ok(FileOffsets {
            mapping_host: self.offset("address_space", "host")?,
            inode_super: self.offset("inode", "i_sb")?,
            inode_number: self.offset("inode", "i_ino")?,
            inode_names: self.offset("inode", "i_dentry")?,
            super_type: self.offset("super_block", "s_type")?,
            type_name: self.offset("file_system_type", "name")?,
            // `d_alias` is in a union, and at its start.
            entry_node: alias,
            entry_parent: self.offset("dentry", "d_parent")?,
            entry_name: name + self.offset("qstr", "name")?,
        })
    }

    fn missing(&self, what: String) -> Error {
        Error::NotAKernel {
            path: self.kernel.debug.clone(),
            what,
        }
    }

    fn load(&mut self, name: &str) -> Result<TypeId, Error> {
        let die = self.kernel.dwarf.find_types(name).first().copied();
        die.and_then(|die| self.types.load(die).ok())
            .ok_or_else(|| self.missing(format!("type '{name}'")))
    }

    fn size(&mut self, name: &str) -> Result<u64, Error> {
        let id = self.load(name)?;
        self.types
            .types()
            .size_of(id)
            .ok_or_else(|| self.missing(format!("size of '{name}'")))
    }

    fn offset(&mut self, name: &str, member: &str) -> Result<u64, Error> {
        let id = self.load(name)?;
        let types = self.types.types();
        types
            .aggregate(id)
            .and_then(|aggregate| member_offset(types, aggregate, member))
            .ok_or_else(|| self.missing(format!("member '{name}.{member}'")))
    }

    fn enumerator(&mut self, name: &str, enumerator: &str) -> Result<u32, Error> {
        let id = self.load(name)?;
        let types = self.types.types();
        let found = match types.get(types.strip(id)) {
            Type::Enum { enumerators, .. } => enumerators.iter().find(|(n, _)| n == enumerator),
            _ => None,
        };
        found
            .and_then(|&(_, value)| u32::try_from(value).ok())
            .filter(|&bit| bit < 64)
            .ok_or_else(|| self.missing(format!("enumerator '{enumerator}'")))
    }
}

/// Offset of a direct member, also within anonymous structs and unions.
fn member_offset(types: &Types, aggregate: &Aggregate, name: &str) -> Option<u64> {
    aggregate
        .members
        .iter()
        .find_map(|member| match &member.name {
            Some(n) if n == name => Some(member.offset),
            Some(_) => None,
            None => {
                let inner = types.aggregate(member.ty)?;
                Some(member.offset + member_offset(types, inner, name)?)
            }
        })
}
