//! Relocation of a module's BTF from its distilled base to the BTF of a kernel.
//!
//! Since Linux 6.11, a module can carry its own small base (`.BTF.base`), so that it outlives a
//! rebuild of its kernel. The base holds only what the module refers to, each by its name: base
//! types and enums with their size, structs and unions that the module holds by value with their
//! size, and declarations of those behind pointers. The ids and names of the module continue those
//! of this base (kernel: `Documentation/bpf/btf.rst`).
use rustc_hash::FxHashMap;

use super::blob::{self, BtfBlob, BtfId, BtfRecord, MalformedBtf, RECORD_BYTES, malformed_at};
use crate::Error;

/// Rewrites `own`, which continues `distilled`, so that it continues `kernel`. Names of the
/// distilled base are appended to its own.
///
/// # Errors
/// A type of the distilled base is not in the kernel's BTF, or several types may be meant;
/// malformed BTF.
pub(super) fn relocate(
    own: &BtfBlob<'_>,
    distilled: &BtfBlob<'_>,
    kernel: &BtfBlob<'_>,
) -> Result<Vec<u8>, Error> {
    let too_many = malformed_at(8, "too many types");
    let relocation = BtfRelocation {
        ids: match_base(distilled, kernel)?,
        first_id: own.first_id().0,
        kernel_end: kernel.end_id().ok_or(too_many)?,
        distilled_strings: own.first_string(),
        own_strings: own.string_bytes().len(),
        kernel_strings: kernel.first_string() + kernel.string_bytes().len(),
    };
    let mut types = Vec::new();
    for id in own.ids() {
        if let Some(record) = own.record(id)? {
            relocation.append_record(own, &record, &mut types)?;
        }
    }
    let strings = [own.string_bytes(), distilled.string_bytes()].concat();
    Ok(own.with_contents(&types, &strings))
}

/// Targets of the ids and names of a module's BTF.
struct BtfRelocation {
    /// Id in the kernel's BTF of each type of the distilled base, `void` first.
    ids: Vec<BtfId>,
    first_id: u32,
    kernel_end: u32,
    /// Bytes of names in the distilled base.
    distilled_strings: usize,
    own_strings: usize,
    kernel_strings: usize,
}

impl BtfRelocation {
    fn id(&self, id: u32) -> u32 {
        match (self.ids.get(id as usize), id.checked_sub(self.first_id)) {
            (_, Some(own)) => own.saturating_add(self.kernel_end),
            (Some(found), None) => found.0,
            (None, None) => u32::MAX,
        }
    }

    fn name(&self, offset: u32) -> u32 {
        let own = (offset as usize).checked_sub(self.distilled_strings);
        let moved = match (offset, own) {
            (0, _) => 0,
            (_, Some(own)) => own + self.kernel_strings,
            (_, None) => offset as usize + self.own_strings + self.kernel_strings,
        };
        u32::try_from(moved).unwrap_or(u32::MAX)
    }

    /// Appends the words of a record with its ids and names changed.
    fn append_record(
        &self,
        own: &BtfBlob<'_>,
        record: &BtfRecord,
        types: &mut Vec<u32>,
    ) -> Result<(), MalformedBtf> {
        let is_reference = matches!(
            record.kind,
            blob::KIND_POINTER
                | blob::KIND_TYPEDEF
                | blob::KIND_VOLATILE
                | blob::KIND_CONST
                | blob::KIND_RESTRICT
                | blob::KIND_FUNCTION
                | blob::KIND_PROTOTYPE
                | blob::KIND_VARIABLE
                | blob::KIND_DECL_TAG
                | blob::KIND_TYPE_TAG
        );
        // Words of each entry behind the head: those that are names and those that are types.
        let (words, name, target): (usize, &[usize], &[usize]) = match record.kind {
            blob::KIND_ARRAY => (3, &[], &[0, 1]),
            blob::KIND_STRUCT | blob::KIND_UNION => (3, &[0], &[1]),
            blob::KIND_PROTOTYPE => (2, &[0], &[1]),
            blob::KIND_ENUM => (2, &[0], &[]),
            blob::KIND_ENUM64 => (3, &[0], &[]),
            blob::KIND_SECTION => (3, &[], &[0]),
            _ => (1, &[], &[]),
        };
        let bytes = record.byte_len(record.start)?;
        for (index, at) in (record.start..record.start + bytes).step_by(4).enumerate() {
            let word = own.u32(at)?;
            let within = index
                .checked_sub(RECORD_BYTES / 4)
                .map(|entry| entry % words);
            let is_name = index == 0 || within.is_some_and(|within| name.contains(&within));
            let is_id =
                index == 2 && is_reference || within.is_some_and(|within| target.contains(&within));
            types.push(match (is_name, is_id) {
                (true, _) => self.name(word),
                (_, true) => self.id(word),
                _ => word,
            });
        }
        Ok(())
    }
}

/// Returns the type of the kernel for each type of the distilled base.
fn match_base(distilled: &BtfBlob<'_>, kernel: &BtfBlob<'_>) -> Result<Vec<BtfId>, Error> {
    let mut by_name: FxHashMap<&[u8], Vec<BtfId>> = FxHashMap::default();
    for id in distilled.ids() {
        if let Some(record) = distilled.record(id)? {
            by_name.entry(distilled.string(record.name)?).or_default();
        }
    }
    for id in kernel.ids() {
        if let Some(record) = kernel.record(id)?
            && let Some(found) = by_name.get_mut(kernel.string(record.name)?)
        {
            found.push(id);
        }
    }
    let mut matched = vec![BtfId(0)];
    for id in distilled.ids() {
        if let Some(record) = distilled.record(id)? {
            let name = distilled.string(record.name)?;
            let candidates = by_name.get(name).map_or(&[][..], Vec::as_slice);
            matched.push(match_type(distilled, &record, kernel, candidates)?);
        }
    }
    Ok(matched)
}

fn match_type(
    distilled: &BtfBlob<'_>,
    wanted: &BtfRecord,
    kernel: &BtfBlob<'_>,
    candidates: &[BtfId],
) -> Result<BtfId, Error> {
    let mut fitting = Vec::new();
    for id in candidates {
        if let Some(found) = kernel.record(*id)?
            && fits(distilled, wanted, kernel, &found)?
        {
            fitting.push((found.kind == blob::KIND_FORWARD, *id));
        }
    }
    // A definition rather than a declaration.
    fitting.sort_by_key(|(is_declared, _)| *is_declared);
    let is_by_value = matches!(wanted.kind, blob::KIND_STRUCT | blob::KIND_UNION);
    let problem = match fitting.as_slice() {
        [_, _, ..] if is_by_value => "is several types",
        [(_, found), ..] => return Ok(*found),
        [] => "is not there",
    };
    Err(Error::DistilledBtf {
        wanted: describe(distilled, wanted)?,
        problem,
    })
}

fn fits(
    distilled: &BtfBlob<'_>,
    wanted: &BtfRecord,
    kernel: &BtfBlob<'_>,
    found: &BtfRecord,
) -> Result<bool, MalformedBtf> {
    let same_size = wanted.size_or_type == found.size_or_type;
    let is_enum = |kind| matches!(kind, blob::KIND_ENUM | blob::KIND_ENUM64);
    Ok(match wanted.kind {
        blob::KIND_INT => {
            found.kind == blob::KIND_INT
                && same_size
                && distilled.u32(wanted.start + RECORD_BYTES)?
                    == kernel.u32(found.start + RECORD_BYTES)?
        }
        blob::KIND_FLOAT | blob::KIND_STRUCT | blob::KIND_UNION => {
            found.kind == wanted.kind && same_size
        }
        kind if is_enum(kind) => is_enum(found.kind) && same_size,
        blob::KIND_FORWARD => match found.kind {
            blob::KIND_STRUCT => !wanted.flag,
            blob::KIND_UNION => wanted.flag,
            kind => kind == blob::KIND_FORWARD && found.flag == wanted.flag,
        },
        _ => false,
    })
}

/// Describes a type of the distilled base: `struct lock of 8 bytes`.
fn describe(distilled: &BtfBlob<'_>, record: &BtfRecord) -> Result<String, MalformedBtf> {
    let name = String::from_utf8_lossy(distilled.string(record.name)?);
    let keyword = match record.kind {
        blob::KIND_STRUCT => "struct ",
        blob::KIND_UNION => "union ",
        blob::KIND_FORWARD if record.flag => "union ",
        blob::KIND_FORWARD => "struct ",
        blob::KIND_ENUM | blob::KIND_ENUM64 => "enum ",
        blob::KIND_INT | blob::KIND_FLOAT => "",
        _ => return Err(malformed_at(record.start, "no type of a distilled base")),
    };
    Ok(match record.kind {
        blob::KIND_FORWARD => format!("{keyword}{name}"),
        _ => format!("{keyword}{name} of {} bytes", record.size_or_type),
    })
}
