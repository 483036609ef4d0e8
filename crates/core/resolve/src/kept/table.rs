//! Kept evidence in memory.

use std::hash::Hasher as _;

use relayout_layout::TypeId;
use relayout_layout::dwarf::FunctionRange;
use rustc_hash::{FxHashMap, FxHasher};

use super::identity;
use crate::evidence::{SiteCode, SiteEvidence};
use crate::images::{DebugImages, FileId};
use crate::types::{FileDie, PlacedVariable, TypeStore};

/// Instructions that are kept, at most; beyond, those of other profiles are dropped.
const SITES_MAX: usize = 1 << 20;

/// Kept evidence about the code of some files: the result of analysing each instruction, and the
/// addresses of variables and functions.
///
/// [`encode`](Self::encode) makes bytes of it, which a caller may store, and
/// [`decode`](Self::decode) reads them. The bytes are valid for one [`identity`](Self::identity).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeptEvidence {
    pub(super) identity: String,
    /// Entries of the types that sites refer to, ascending.
    pub(super) types: Vec<FileDie>,
    /// Sites by key, ascending. A [`TypeId`] in them is an index into `types`.
    pub(super) sites: Vec<(SiteKey, SiteEvidence)>,
    /// Index of each file; `None` if it was not read.
    pub(super) files: Vec<Option<FileIndex>>,
    pub(super) changed: bool,
}

/// Variables and functions of one file, which only a pass over all its debug information finds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FileIndex {
    /// Variables with a fixed address, ascending.
    pub variables: Vec<PlacedVariable>,
    /// Ranges of functions by their first address.
    pub functions: Vec<FunctionRange>,
}

/// Key of an instruction: its address and, since code is patched while it runs, a hash of its
/// bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SiteKey {
    pub(super) file: FileId,
    /// Link-time address.
    pub(super) address: u64,
    /// Hash of the bytes, and of whether the instruction is a call.
    pub(super) code: u32,
}

impl KeptEvidence {
    /// Makes an empty table for the code of `images`, for the named machine. `None` if a file has
    /// no build id, because another build could not be told from it.
    pub fn new(images: &DebugImages<'_, '_>, machine: &str) -> Option<Self> {
        Some(Self {
            identity: identity::files_identity(images, machine)?,
            files: vec![None; images.files().len()],
            ..Self::default()
        })
    }

    /// Returns the identity of the files. Bytes of another identity are refused.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Returns true if evidence was added after decoding.
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// Returns the number of instructions with evidence.
    pub fn site_count(&self) -> usize {
        self.sites.len()
    }

    /// Returns the index of a file if it was kept.
    pub(crate) fn file_index(&self, file: FileId) -> Option<&FileIndex> {
        self.files.get(usize::from(file.0))?.as_ref()
    }

    /// Keeps the index of a file.
    pub(crate) fn keep_file_index(&mut self, file: FileId, index: FileIndex) {
        if let Some(place) = self.files.get_mut(usize::from(file.0)) {
            *place = Some(index);
            self.changed = true;
        }
    }

    /// Returns the kept evidence of `sites`, in their order, in the types of `store`.
    pub(crate) fn restore(
        &self,
        store: &TypeStore<'_, '_>,
        sites: &[SiteCode<'_>],
    ) -> Vec<Option<SiteEvidence>> {
        let mut types: FxHashMap<TypeId, Option<TypeId>> = FxHashMap::default();
        let mut ty = |index: TypeId| {
            let entry = self.types.get(index.0 as usize).copied();
            *types
                .entry(index)
                .or_insert_with(|| entry.and_then(|entry| store.load_entry(entry)))
        };
        let mut restore_site = |site: &SiteCode<'_>| {
            let place = SiteKey::from_code(site);
            let found = self.sites.binary_search_by_key(&place, |site| site.0);
            self.sites[found.ok()?].1.with_types(&mut ty)
        };
        sites.iter().map(&mut restore_site).collect()
    }

    /// Keeps the evidence of `sites`, in the types of `store`. Evidence with a type that no file
    /// declares is left out.
    pub(crate) fn keep_sites<'p>(
        &mut self,
        store: &TypeStore<'_, '_>,
        sites: impl Iterator<Item = (SiteCode<'p>, SiteEvidence)>,
    ) {
        let new: Vec<_> = sites.collect();
        if new.is_empty() {
            return;
        }
        let entries = store.entries();
        let mut merged = KeptMerge::default();
        if self.sites.len() + new.len() <= SITES_MAX {
            for (place, evidence) in &self.sites {
                let entry = |ty: TypeId| self.types.get(ty.0 as usize).copied();
                merged.add(*place, evidence, entry);
            }
        }
        for (site, evidence) in new.iter().take(SITES_MAX) {
            merged.add(SiteKey::from_code(site), evidence, |ty| {
                entries.get(&ty).copied()
            });
        }
        (self.types, self.sites) = merged.finish();
        self.changed = true;
    }
}

impl SiteKey {
    fn from_code(site: &SiteCode<'_>) -> Self {
        let mut hasher = FxHasher::default();
        hasher.write(site.bytes);
        hasher.write_usize(site.bytes.len());
        hasher.write_u8(site.is_call.into());
        Self {
            file: site.at.file,
            address: site.at.address,
            code: (hasher.finish() >> 32) as u32,
        }
    }
}

/// Sites whose types are being renumbered.
#[derive(Default)]
struct KeptMerge {
    numbers: FxHashMap<FileDie, u32>,
    entries: Vec<FileDie>,
    sites: Vec<(SiteKey, SiteEvidence)>,
}

impl KeptMerge {
    fn add(
        &mut self,
        place: SiteKey,
        evidence: &SiteEvidence,
        entry: impl Fn(TypeId) -> Option<FileDie>,
    ) {
        let numbered = evidence.with_types(&mut |ty| {
            let entry = entry(ty)?;
            let next = u32::try_from(self.entries.len()).ok()?;
            let number = *self.numbers.entry(entry).or_insert(next);
            if number == next {
                self.entries.push(entry);
            }
            Some(TypeId(number))
        });
        self.sites.extend(numbered.map(|kept| (place, kept)));
    }

    /// Returns types and sites, both ascending.
    fn finish(mut self) -> (Vec<FileDie>, Vec<(SiteKey, SiteEvidence)>) {
        let mut order: Vec<u32> = (0..self.entries.len() as u32).collect();
        order.sort_unstable_by_key(|&number| self.entries[number as usize]);
        let mut rank = vec![TypeId(0); order.len()];
        for (new, &old) in order.iter().enumerate() {
            rank[old as usize] = TypeId(new as u32);
        }
        let types = { order.iter() }
            .map(|&number| self.entries[number as usize])
            .collect();
        let mut new_number = |ty: TypeId| rank.get(ty.0 as usize).copied();
        let mut sites: Vec<_> = { self.sites.drain(..) }
            .filter_map(|(place, evidence)| Some((place, evidence.with_types(&mut new_number)?)))
            .collect();
        sites.sort_by_key(|site| site.0);
        sites.dedup_by_key(|site| site.0);
        (types, sites)
    }
}
