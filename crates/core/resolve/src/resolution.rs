//! Result of resolving a profile: its objects, and the owner of each address.

use rayon::prelude::*;
use relayout_layout::dwarf::DwarfFile;
use relayout_layout::{MemberAt, TypeArena};
use relayout_profile::{Addr, Profile, RangeKind, RunId, SiteId};

use crate::access;
use crate::error::Error;
use crate::evidence::{AnalysedProgram, SiteEvidence, SiteTable};
use crate::images::{DebugImages, FileId, LinkedAddress};
use crate::insn;
use crate::kept::KeptEvidence;
use crate::objects::find;
use crate::objects::finder::ObjectFinder;
use crate::objects::ranges::RangeIndex;
use crate::objects::{ObjectId, ResolvedObject};
use crate::owner::{AddressOwner, UnresolvedClass};

/// Options of [`resolve`].
#[derive(Clone, Debug)]
pub struct Options {
    /// Refuse a debug file whose build id differs from the profile's. A profile without a build id
    /// is accepted.
    pub check_build_id: bool,
    /// Functions of the program that only pass a request for memory on, beside those that are known:
    /// an allocation belongs to their caller.
    pub allocators: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            check_build_id: true,
            allocators: Vec::new(),
        }
    }
}

/// Objects and types behind the addresses of one profile.
#[derive(Debug)]
pub struct Resolution {
    objects: Vec<ResolvedObject>,
    types: TypeArena,
    ranges: RangeIndex,
    sites: SiteTable,
}

/// Finds the objects that the accesses of `profile` fall into. `images` holds the debug files of
/// the recorded code.
///
/// # Errors
/// The code is of an unknown machine, the debug file is of another build, or a row names a site
/// that does not exist.
pub fn resolve(
    profile: &Profile,
    images: &DebugImages<'_, '_>,
    options: Options,
) -> Result<Resolution, Error> {
    resolve_with(profile, images, options, None)
}

/// Does the same as [`resolve`] with evidence that other profiles of `images` left in `kept`.
/// Missing evidence is computed and added to `kept`; the result is the same.
///
/// # Errors
/// The same as of [`resolve`].
pub fn resolve_with(
    profile: &Profile,
    images: &DebugImages<'_, '_>,
    options: Options,
    mut kept: Option<&mut KeptEvidence>,
) -> Result<Resolution, Error> {
    let machine = &profile.meta.machine;
    let machine = insn::instruction_set(machine).ok_or_else(|| Error::Machine(machine.clone()))?;
    if options.check_build_id {
        check_build_id(profile, images.file(FileId::MAIN))?;
    }
    let accesses = access::distinct_accesses(profile)?;
    let program = AnalysedProgram::with_kept(images, machine, kept.as_deref_mut());
    let sites = SiteTable::new(&program, images, profile, &accesses, kept);
    let ranges = RangeIndex::new(profile);
    let finder = ObjectFinder {
        profile,
        program: &program,
        images,
        ranges: &ranges,
        accesses: &accesses,
        sites: &sites,
        allocators: &options.allocators,
    };
    let objects = finder.find_objects();
    Ok(Resolution {
        objects,
        types: program.store.into_types(),
        ranges,
        sites,
    })
}

fn check_build_id(profile: &Profile, debug: &DwarfFile<'_>) -> Result<(), Error> {
    let recorded = &profile.meta.build_id;
    let Some(id) = debug.build_id_text().filter(|_| !recorded.is_empty()) else {
        return Ok(());
    };
    if id == recorded.to_ascii_lowercase() {
        return Ok(());
    }
    Err(Error::BuildId {
        profile: recorded.clone(),
        debug: id,
    })
}

impl Resolution {
    /// Returns all objects by run and base. They do not overlap.
    pub fn objects(&self) -> &[ResolvedObject] {
        &self.objects
    }

    /// Returns the object of an id.
    ///
    /// # Panics
    /// Panics if the id belongs to another resolution.
    pub fn object(&self, id: ObjectId) -> &ResolvedObject {
        &self.objects[id.0 as usize]
    }

    /// Returns the types that objects refer to.
    pub fn types(&self) -> &TypeArena {
        &self.types
    }

    /// Returns the evidence of a site's own instruction.
    ///
    /// # Panics
    /// Panics if the profile has no such site.
    pub fn evidence(&self, run: RunId, site: SiteId) -> &SiteEvidence {
        self.sites.evidence(run, site)
    }

    /// Returns the link-time address of a site's code, in the first run that has it. For a call it
    /// is the return address.
    pub fn site_address(&self, site: SiteId) -> Option<LinkedAddress> {
        self.sites.site_address(site)
    }

    /// Returns the object that holds an address.
    pub fn object_at(&self, run: RunId, addr: Addr) -> Option<&ResolvedObject> {
        Some(self.object(self.object_id_at(run, addr)?))
    }

    /// Returns the id of the object that holds an address.
    pub fn object_id_at(&self, run: RunId, addr: Addr) -> Option<ObjectId> {
        let n = find::object_index_at(&self.objects, run, addr)?;
        u32::try_from(n).ok().map(ObjectId)
    }

    /// Returns the member of `object` at an address, for an access of `size` bytes. Its path is
    /// empty in a hole. `None` outside the object, and if the object is a scalar.
    pub fn member(&self, object: &ResolvedObject, addr: Addr, size: u64) -> Option<MemberAt> {
        let offset = addr.checked_sub(object.base)?;
        // It is one number, whatever wraps it.
        if object.kind.stack_variable().is_some() {
            return None;
        }
        // An array that is a variable counts as one scalar, named by the variable.
        if object.variable().is_some() {
            self.types.aggregate(object.ty)?;
        }
        let mut path = self.types.member_at(object.ty, offset, size)?;
        if path.types_path.first() != Some(&object.type_name) {
            path.types_path.insert(0, object.type_name.clone());
        }
        Some(path)
    }

    /// Returns the owner of an address.
    pub fn address_owner(&self, run: RunId, addr: Addr, size: u64) -> AddressOwner {
        let Some(id) = self.object_id_at(run, addr) else {
            return AddressOwner::Unresolved(self.unresolved_class(run, addr));
        };
        let object = self.object(id);
        if let Some(path) = self.member(object, addr, size) {
            return AddressOwner::Member { object: id, path };
        }
        match object.variable() {
            Some(symbol) => AddressOwner::ScalarGlobal {
                object: id,
                symbol: symbol.to_owned(),
            },
            None => AddressOwner::Unresolved(self.unresolved_class(run, addr)),
        }
    }

    /// Returns the kind of memory that an address is in.
    pub fn unresolved_class(&self, run: RunId, addr: Addr) -> UnresolvedClass {
        let Some(range) = self.ranges.find_range(run, addr) else {
            return UnresolvedClass::Other;
        };
        let row = self.ranges.row(range);
        match row.kind {
            RangeKind::Slab => UnresolvedClass::Slab(row.owner.clone()),
            RangeKind::PerCpu => UnresolvedClass::PerCpuDynamic,
            RangeKind::Image => UnresolvedClass::Image,
            RangeKind::PageArray => UnresolvedClass::Other,
            RangeKind::DirectMap => UnresolvedClass::PageData(row.owner.clone()),
            RangeKind::Vmalloc => UnresolvedClass::Vmalloc(row.owner.clone()),
            RangeKind::Stack => UnresolvedClass::Stack,
            RangeKind::Heap | RangeKind::Named => UnresolvedClass::Heap,
            RangeKind::Tls => UnresolvedClass::Tls,
        }
    }

    /// Counts the profile's resolved transfers, and the others by kind of memory.
    pub fn resolved_share(&self, profile: &Profile) -> crate::share::ResolvedShare {
        let rows = profile.conflicts.par_iter();
        let row_share = |row: &relayout_profile::ConflictRow| {
            crate::share::ResolvedShare::from_row(
                row,
                &self.address_owner(row.run, row.addr, u64::from(row.size)),
            )
        };
        rows.map(row_share).reduce(
            crate::share::ResolvedShare::default,
            crate::share::ResolvedShare::plus,
        )
    }
}
