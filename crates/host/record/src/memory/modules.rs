//! Modules that the guest's kernel has loaded, and the addresses of their sections.

use super::list::follow_list;
use super::lookup::{KernelLookup, MissingItem};
use super::paging::GuestMemory;

/// Most sections of a module.
const SECTIONS_MAX: u64 = 512;
/// Section with the build id, and the bytes of a note before it: three numbers and `GNU`.
const BUILD_ID_SECTION: &str = ".note.gnu.build-id";
const NOTE_BYTES: u64 = 16;
const BUILD_ID_BYTES: u64 = 20;

/// A module in the guest's memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuestModule {
    /// Its name.
    pub name: String,
    /// Names and addresses of its sections.
    pub sections: Vec<(String, u64)>,
    /// Its build id in hexadecimal; empty if it has none.
    pub build_id: String,
    /// Address of each CPU's copy of its per-cpu variables, and their bytes.
    pub per_cpu: (Vec<u64>, u64),
}

/// Offsets on the way from the list of modules to their sections.
pub struct ModuleReader {
    head: u64,
    list: u64,
    name: u64,
    per_cpu: u64,
    per_cpu_bytes: u64,
    sections: u64,
    /// Offset of the pointer to the attributes in the description of the sections.
    attributes: u64,
    /// Offset of the name in an attribute.
    attribute_name: u64,
    /// Offset of the section's address from its attribute.
    address: u64,
}

impl ModuleReader {
    /// Looks up symbols and offsets. `None` for a kernel without modules.
    pub fn find(lookup: &mut KernelLookup<'_, '_>) -> Option<Result<Self, MissingItem>> {
        let head = lookup.symbol("modules").ok()?;
        Some(Self::find_members(lookup, head))
    }

    fn find_members(lookup: &mut KernelLookup<'_, '_>, head: u64) -> Result<Self, MissingItem> {
        // Up to 6.13 the address is behind the attribute, since 6.14 in a member of it.
        let address = match lookup.member("module_sect_attr", "address") {
            Ok(address) => address.wrapping_sub(lookup.member("module_sect_attr", "battr")?),
            Err(_) => lookup.member("bin_attribute", "private")?,
        };
        let group = lookup.member("module_sect_attrs", "grp")?;
        Ok(Self {
            head,
            list: lookup.member("module", "list")?,
            name: lookup.member("module", "name")?,
            per_cpu: lookup.member("module", "percpu")?,
            per_cpu_bytes: lookup.member("module", "percpu_size")?,
            sections: lookup.member("module", "sect_attrs")?,
            attributes: group + lookup.member("attribute_group", "bin_attrs")?,
            attribute_name: lookup.member("bin_attribute", "attr")?
                + lookup.member("attribute", "name")?,
            address,
        })
    }

    /// Returns the modules that are loaded. `copies` returns the addresses of the CPUs' copies of
    /// per-cpu data.
    pub fn modules(
        &self,
        memory: &GuestMemory<'_>,
        copies: impl Fn(u64) -> Vec<u64>,
    ) -> Vec<GuestModule> {
        let first = self.head.wrapping_sub(self.list);
        let found = follow_list(memory, first, self.list, self.head);
        let read = |&at: &u64| self.read_module(memory, at, &copies);
        found.iter().filter_map(read).collect()
    }

    fn read_module(
        &self,
        memory: &GuestMemory<'_>,
        at: u64,
        copies: impl Fn(u64) -> Vec<u64>,
    ) -> Option<GuestModule> {
        let name = memory.read_text(at.wrapping_add(self.name))?;
        let sections = self.read_sections(memory, at).unwrap_or_default();
        let build_id = { sections.iter() }
            .find(|(name, _)| name == BUILD_ID_SECTION)
            .and_then(|(_, address)| read_build_id(memory, *address));
        let bytes = memory.read_u32(at.wrapping_add(self.per_cpu_bytes));
        let bytes = u64::from(bytes.unwrap_or(0));
        let per_cpu = memory.read_u64(at.wrapping_add(self.per_cpu));
        let per_cpu = per_cpu.filter(|_| bytes > 0).map_or_else(Vec::new, copies);
        Some(GuestModule {
            name,
            sections,
            build_id: build_id.unwrap_or_default(),
            per_cpu: (per_cpu, bytes),
        })
    }

    fn read_sections(&self, memory: &GuestMemory<'_>, at: u64) -> Option<Vec<(String, u64)>> {
        let described = memory.read_u64(at.wrapping_add(self.sections))?;
        let attributes = memory.read_u64(described.wrapping_add(self.attributes))?;
        let mut sections = Vec::new();
        for number in 0..SECTIONS_MAX {
            let attribute = memory.read_u64(attributes.wrapping_add(8 * number))?;
            if attribute == 0 {
                break;
            }
            let name = memory.read_u64(attribute.wrapping_add(self.attribute_name))?;
            let address = memory.read_u64(attribute.wrapping_add(self.address))?;
            sections.push((memory.read_text(name)?, address));
        }
        Some(sections)
    }
}

fn read_build_id(memory: &GuestMemory<'_>, note: u64) -> Option<String> {
    let start = note.wrapping_add(NOTE_BYTES);
    let words = (0..BUILD_ID_BYTES / 4).map(|n| memory.read_u32(start.wrapping_add(4 * n)));
    let bytes = words.map(|word| Some(word?.to_le_bytes()));
    let bytes = bytes.collect::<Option<Vec<_>>>()?;
    Some(bytes.concat().iter().map(|b| format!("{b:02x}")).collect())
}
