//! Offsets in the kernel's own structs that [`super::read_snapshot`] follows, from the debug
//! information.

use relayout_layout::dwarf::DwarfTypeLoader;
use relayout_layout::{Aggregate, Type, TypeArena, TypeId};

use crate::{Error, GuestKernel};

/// Byte offsets of members, and a few constants.
pub struct KernelOffsets {
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
    /// `None` on kernels that keep no list of areas in vmalloc space.
    pub area: Option<AreaOffsets>,
    /// `None` on kernels whose files have their names elsewhere.
    pub file: Option<FileOffsets>,
}

/// Offsets in `struct pcpu_chunk`, from which per-cpu memory is allocated.
pub struct ChunkOffsets {
    pub list: u64,
    pub base_addr: u64,
    pub start_offset: u64,
    pub pages: u64,
}

/// Offsets in `struct vmap_area` and `struct vm_struct`, which describe an allocation in vmalloc
/// space.
pub struct AreaOffsets {
    pub start: u64,
    pub end: u64,
    pub list: u64,
    pub vm: u64,
    pub caller: u64,
}

/// Offsets on the way from `struct address_space` to a file's name.
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

impl KernelOffsets {
    /// # Errors
    /// A type or member is missing.
    pub fn new(kernel: &GuestKernel<'_>) -> Result<Self, Error> {
        let mut lookup = OffsetLookup {
            kernel,
            types: DwarfTypeLoader::new(&kernel.dwarf),
        };
        Ok(Self {
            cache_name: lookup.offset_of("kmem_cache", "name")?,
            cache_size: lookup.offset_of("kmem_cache", "size")?,
            cache_object_size: lookup.offset_of("kmem_cache", "object_size")?,
            cache_red_left_pad: lookup.offset_of("kmem_cache", "red_left_pad").ok(),
            slab_cache: lookup.offset_of("slab", "slab_cache")?,
            page_flags: lookup.offset_of("page", "flags")?,
            page_compound_head: lookup.offset_of("page", "compound_head")?,
            page_size: lookup.type_bytes("page")?,
            page_mapping: lookup.offset_of("page", "mapping").ok(),
            page_type: lookup.offset_of("page", "page_type").ok(),
            slab_flag_bit: lookup.enumerator("pageflags", "PG_slab")?,
            reserved_flag_bit: lookup.enumerator("pageflags", "PG_reserved").ok(),
            compound_order: lookup.offset_of("page", "compound_order").ok(),
            task_tasks: lookup.offset_of("task_struct", "tasks")?,
            task_stack: lookup.offset_of("task_struct", "stack")?,
            task_comm: lookup.offset_of("task_struct", "comm")?,
            task_pid: lookup.offset_of("task_struct", "pid")?,
            task_thread_node: lookup.offset_of("task_struct", "thread_node")?,
            task_signal: lookup.offset_of("task_struct", "signal")?,
            signal_thread_head: lookup.offset_of("signal_struct", "thread_head")?,
            stack_bytes: lookup.type_bytes("thread_union").unwrap_or(16 << 10),
            chunk: lookup.chunk_offsets().ok(),
            area: lookup.area_offsets().ok(),
            file: lookup.file_offsets().ok(),
        })
    }
}

struct OffsetLookup<'k, 'a> {
    kernel: &'k GuestKernel<'a>,
    types: DwarfTypeLoader<'k, 'a>,
}

impl OffsetLookup<'_, '_> {
    fn chunk_offsets(&mut self) -> Result<ChunkOffsets, Error> {
        Ok(ChunkOffsets {
            list: self.offset_of("pcpu_chunk", "list")?,
            base_addr: self.offset_of("pcpu_chunk", "base_addr")?,
            start_offset: self.offset_of("pcpu_chunk", "start_offset")?,
            pages: self.offset_of("pcpu_chunk", "nr_pages")?,
        })
    }

    fn area_offsets(&mut self) -> Result<AreaOffsets, Error> {
        Ok(AreaOffsets {
            start: self.offset_of("vmap_area", "va_start")?,
            end: self.offset_of("vmap_area", "va_end")?,
            list: self.offset_of("vmap_area", "list")?,
            vm: self.offset_of("vmap_area", "vm")?,
            caller: self.offset_of("vm_struct", "caller")?,
        })
    }

    fn file_offsets(&mut self) -> Result<FileOffsets, Error> {
        let alias = self.offset_of("dentry", "d_u")?;
        let name = self.offset_of("dentry", "d_name")?;
        Ok(FileOffsets {
            mapping_host: self.offset_of("address_space", "host")?,
            inode_super: self.offset_of("inode", "i_sb")?,
            inode_number: self.offset_of("inode", "i_ino")?,
            inode_names: self.offset_of("inode", "i_dentry")?,
            super_type: self.offset_of("super_block", "s_type")?,
            type_name: self.offset_of("file_system_type", "name")?,
            // `d_alias` is in a union, and at its start.
            entry_node: alias,
            entry_parent: self.offset_of("dentry", "d_parent")?,
            entry_name: name + self.offset_of("qstr", "name")?,
        })
    }

    fn missing_error(&self, missing: String) -> Error {
        Error::NotAKernel {
            path: self.kernel.debug_path.clone(),
            missing,
        }
    }

    fn load_type(&mut self, name: &str) -> Result<TypeId, Error> {
        let die = self.kernel.dwarf.find_types(name).first().copied();
        die.and_then(|die| self.types.load(die).ok())
            .ok_or_else(|| self.missing_error(format!("type '{name}'")))
    }

    fn type_bytes(&mut self, name: &str) -> Result<u64, Error> {
        let id = self.load_type(name)?;
        self.types
            .types()
            .size_of(id)
            .ok_or_else(|| self.missing_error(format!("size of '{name}'")))
    }

    fn offset_of(&mut self, name: &str, member: &str) -> Result<u64, Error> {
        let id = self.load_type(name)?;
        let types = self.types.types();
        types
            .aggregate(id)
            .and_then(|aggregate| member_offset(types, aggregate, member))
            .ok_or_else(|| self.missing_error(format!("member '{name}.{member}'")))
    }

    fn enumerator(&mut self, name: &str, enumerator: &str) -> Result<u32, Error> {
        let id = self.load_type(name)?;
        let types = self.types.types();
        let found = match types.get(types.strip_typedefs(id)) {
            Type::Enum { enumerators, .. } => enumerators.iter().find(|(n, _)| n == enumerator),
            _ => None,
        };
        found
            .and_then(|&(_, value)| u32::try_from(value).ok())
            .filter(|&bit| bit < 64)
            .ok_or_else(|| self.missing_error(format!("enumerator '{enumerator}'")))
    }
}

/// Offset of a direct member, also within anonymous structs and unions.
fn member_offset(types: &TypeArena, aggregate: &Aggregate, name: &str) -> Option<u64> {
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
