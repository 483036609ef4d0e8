//! [`KeptEvidence`] as bytes: magic, version, and checksum of the rest; then identity, types, sites,
//! and variables and functions of each file. Sorted numbers are stored as differences.

use relayout_layout::TypeId;
use relayout_layout::dwarf::{DieOffset, FunctionRange};

use super::bytes::{KeptCursor, KeptDamage, put_signed_varint, put_varint};
use super::table::{FileIndex, KeptEvidence, SiteKey};
use crate::evidence::{EvidenceTrust, FramePlace, SiteEvidence, TypeEvidence};
use crate::images::FileId;
use crate::types::{FileDie, PlacedVariable};

const MAGIC: &[u8; 16] = b"relayout/kept/3\n";

/// Flags of a site.
const READ: u8 = 1;
const WRITTEN: u8 = 2;
const STRING: u8 = 4;
/// The written operand is the one that is read.
const SAME: u8 = 8;
/// The operand that is read is in the frame.
const FRAME_READ: u8 = 16;
/// The operand that is written is in the frame.
const FRAME_WRITTEN: u8 = 32;

/// Shortest encodings, in bytes.
const TYPE_BYTES_MIN: usize = 2;
const SITE_BYTES_MIN: usize = 9;
const VARIABLE_BYTES_MIN: usize = 3;
const FUNCTION_BYTES_MIN: usize = 3;

/// Trust levels by their numbers.
const TRUSTS: [EvidenceTrust; 3] = [
    EvidenceTrust::Guessed,
    EvidenceTrust::Followed,
    EvidenceTrust::Stated,
];

pub(super) fn encode(kept: &KeptEvidence) -> Vec<u8> {
    let mut body = Vec::new();
    put_varint(&mut body, kept.identity.len() as u64);
    body.extend(kept.identity.as_bytes());
    put_varint(&mut body, kept.types.len() as u64);
    let mut before = FileDie {
        file: FileId::MAIN,
        offset: DieOffset(0),
    };
    for ty in &kept.types {
        put_varint(&mut body, ty.file.0.into());
        put_varint(&mut body, ty.offset.0.wrapping_sub(before.offset.0) as u64);
        before = *ty;
    }
    put_varint(&mut body, kept.sites.len() as u64);
    let mut before = 0;
    for (place, evidence) in &kept.sites {
        put_varint(&mut body, place.file.0.into());
        put_varint(&mut body, place.address.wrapping_sub(before));
        body.extend(place.code.to_le_bytes());
        put_site(&mut body, evidence);
        before = place.address;
    }
    put_varint(&mut body, kept.files.len() as u64);
    for index in &kept.files {
        put_varint(&mut body, index.is_some().into());
        if let Some(index) = index {
            put_variables(&mut body, &index.variables);
            put_functions(&mut body, &index.functions);
        }
    }
    let mut out = MAGIC.to_vec();
    out.extend(crc32fast::hash(&body).to_le_bytes());
    out.extend(body);
    out
}

fn put_site(out: &mut Vec<u8>, site: &SiteEvidence) {
    let same = site.read.is_some() && site.read == site.written;
    let flag = |set: bool, bit: u8| if set { bit } else { 0 };
    out.push(
        flag(site.read.is_some(), READ)
            | flag(site.written.is_some() && !same, WRITTEN)
            | flag(site.string, STRING)
            | flag(same, SAME)
            | flag(site.frame[0].is_some(), FRAME_READ)
            | flag(site.frame[1].is_some(), FRAME_WRITTEN),
    );
    site.bytes
        .iter()
        .for_each(|&bytes| put_varint(out, bytes.into()));
    let read = site.read.iter();
    for evidence in read.chain(site.written.iter().filter(|_| !same)) {
        put_varint(out, evidence.ty.0.into());
        put_signed_varint(out, evidence.offset);
        let trust = TRUSTS.iter().position(|&trust| trust == evidence.trust);
        put_varint(
            out,
            (trust.unwrap_or(0) as u64) << 1 | u64::from(evidence.via.is_some()),
        );
        if let Some((ty, offset)) = evidence.via {
            put_varint(out, ty.0.into());
            put_varint(out, offset.into());
        }
    }
    for place in site.frame.iter().flatten() {
        put_signed_varint(out, place.offset);
        put_varint(out, place.step.into());
    }
}

fn put_variables(out: &mut Vec<u8>, variables: &[PlacedVariable]) {
    put_varint(out, variables.len() as u64);
    let (mut address, mut entry) = (0u64, 0usize);
    for variable in variables {
        put_varint(out, variable.address.wrapping_sub(address));
        put_signed_varint(out, variable.entry.0.wrapping_sub(entry) as i64);
        put_signed_varint(out, variable.ty.0.wrapping_sub(variable.entry.0) as i64);
        (address, entry) = (variable.address, variable.entry.0);
    }
}

fn put_functions(out: &mut Vec<u8>, functions: &[FunctionRange]) {
    put_varint(out, functions.len() as u64);
    let (mut low, mut entry) = (0u64, 0usize);
    for function in functions {
        put_varint(out, function.low.wrapping_sub(low));
        put_varint(out, function.high.wrapping_sub(function.low));
        put_signed_varint(out, function.die.0.wrapping_sub(entry) as i64);
        (low, entry) = (function.low, function.die.0);
    }
}

/// Adds the contents of `bytes` to `kept`. Any deviation from the output of [`encode`] is damage.
pub(super) fn decode(kept: KeptEvidence, bytes: &[u8]) -> Result<KeptEvidence, KeptDamage> {
    let mut cursor = KeptCursor::new(bytes);
    if cursor.take_bytes(MAGIC.len()).ok() != Some(MAGIC) {
        return Err(KeptDamage::Format);
    }
    let checksum = cursor.u32_le()?;
    let at = cursor.offset();
    if crc32fast::hash(&bytes[at..]) != checksum {
        return Err(KeptDamage::Checksum { at });
    }
    let len = cursor.count(1)?;
    if cursor.take_bytes(len)? != kept.identity.as_bytes() {
        return Err(KeptDamage::Identity);
    }
    let types = read_types(&mut cursor)?;
    let sites = read_sites(&mut cursor, types.len())?;
    let files = cursor.count(1)?;
    if files != kept.files.len() {
        return Err(cursor.damage());
    }
    let files = (0..files)
        .map(|_| read_index(&mut cursor))
        .collect::<Result<_, _>>()?;
    if cursor.bytes_left() > 0 {
        return Err(cursor.damage());
    }
    Ok(KeptEvidence {
        types,
        sites,
        files,
        changed: false,
        ..kept
    })
}

fn read_types(cursor: &mut KeptCursor<'_>) -> Result<Vec<FileDie>, KeptDamage> {
    let count = cursor.count(TYPE_BYTES_MIN)?;
    let mut types: Vec<FileDie> = Vec::with_capacity(count);
    for _ in 0..count {
        let file = FileId(cursor.small_number()?);
        let before = types.last().map_or(0, |die| die.offset.0);
        let offset = DieOffset(before.wrapping_add(cursor.small_number()?));
        types.push(FileDie { file, offset });
    }
    Ok(types)
}

fn read_sites(
    cursor: &mut KeptCursor<'_>,
    types: usize,
) -> Result<Vec<(SiteKey, SiteEvidence)>, KeptDamage> {
    let count = cursor.count(SITE_BYTES_MIN)?;
    let mut sites: Vec<(SiteKey, SiteEvidence)> = Vec::with_capacity(count);
    for _ in 0..count {
        let file = FileId(cursor.small_number()?);
        let before = sites.last().map(|site| site.0);
        let address = before
            .map_or(0, |place| place.address)
            .wrapping_add(cursor.number()?);
        let code = cursor.u32_le()?;
        let place = SiteKey {
            file,
            address,
            code,
        };
        // Lookups are by binary search, so the order matters.
        if before.is_some_and(|before| before >= place) {
            return Err(cursor.damage());
        }
        sites.push((place, read_site(cursor, types)?));
    }
    Ok(sites)
}

fn read_site(cursor: &mut KeptCursor<'_>, types: usize) -> Result<SiteEvidence, KeptDamage> {
    let flags = cursor.byte()?;
    let has = |bit: u8| flags & bit != 0;
    let bytes = [cursor.small_number()?, cursor.small_number()?];
    let mut read_if = |there: bool| there.then(|| read_evidence(cursor, types)).transpose();
    let read = read_if(has(READ))?;
    let written = read_if(has(WRITTEN))?;
    let mut place_if = |there: bool| there.then(|| read_frame_place(cursor)).transpose();
    let frame = [place_if(has(FRAME_READ))?, place_if(has(FRAME_WRITTEN))?];
    Ok(SiteEvidence {
        read,
        written: if has(SAME) { read } else { written },
        frame,
        bytes,
        string: has(STRING),
    })
}

fn read_frame_place(cursor: &mut KeptCursor<'_>) -> Result<FramePlace, KeptDamage> {
    Ok(FramePlace {
        offset: cursor.signed()?,
        step: cursor.small_number()?,
    })
}

fn read_evidence(cursor: &mut KeptCursor<'_>, types: usize) -> Result<TypeEvidence, KeptDamage> {
    let ty = |cursor: &mut KeptCursor<'_>| {
        let index: u32 = cursor.small_number()?;
        let known = (index as usize) < types;
        known.then_some(TypeId(index)).ok_or(cursor.damage())
    };
    let target = ty(cursor)?;
    let offset = cursor.signed()?;
    let trust_and_via: usize = cursor.small_number()?;
    let trust = *TRUSTS.get(trust_and_via >> 1).ok_or(cursor.damage())?;
    let via = match trust_and_via & 1 {
        0 => None,
        _ => Some((ty(cursor)?, cursor.small_number()?)),
    };
    Ok(TypeEvidence {
        ty: target,
        offset,
        trust,
        via,
    })
}

fn read_index(cursor: &mut KeptCursor<'_>) -> Result<Option<FileIndex>, KeptDamage> {
    if cursor.byte()? == 0 {
        return Ok(None);
    }
    Ok(Some(FileIndex {
        variables: read_variables(cursor)?,
        functions: read_functions(cursor)?,
    }))
}

fn read_variables(cursor: &mut KeptCursor<'_>) -> Result<Vec<PlacedVariable>, KeptDamage> {
    let count = cursor.count(VARIABLE_BYTES_MIN)?;
    let mut variables: Vec<PlacedVariable> = Vec::with_capacity(count);
    let (mut address, mut entry) = (0u64, 0usize);
    for _ in 0..count {
        address = address
            .checked_add(cursor.number()?)
            .ok_or(cursor.damage())?;
        entry = entry.wrapping_add(cursor.signed()? as usize);
        let ty = entry.wrapping_add(cursor.signed()? as usize);
        variables.push(PlacedVariable {
            address,
            ty: DieOffset(ty),
            entry: DieOffset(entry),
        });
    }
    Ok(variables)
}

fn read_functions(cursor: &mut KeptCursor<'_>) -> Result<Vec<FunctionRange>, KeptDamage> {
    let count = cursor.count(FUNCTION_BYTES_MIN)?;
    let mut functions: Vec<FunctionRange> = Vec::with_capacity(count);
    let (mut low, mut entry) = (0u64, 0usize);
    for _ in 0..count {
        low = low.checked_add(cursor.number()?).ok_or(cursor.damage())?;
        let high = low.checked_add(cursor.number()?).ok_or(cursor.damage())?;
        entry = entry.wrapping_add(cursor.signed()? as usize);
        let die = DieOffset(entry);
        functions.push(FunctionRange { low, high, die });
    }
    Ok(functions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_evidence() -> impl Strategy<Value = TypeEvidence> {
        let via = proptest::option::of((0u32..4, any::<u32>()));
        (0u32..4, any::<i64>(), 0usize..3, via).prop_map(|(ty, offset, trust, via)| TypeEvidence {
            ty: TypeId(ty),
            offset,
            trust: TRUSTS[trust],
            via: via.map(|(ty, offset)| (TypeId(ty), offset)),
        })
    }

    fn any_site() -> impl Strategy<Value = (SiteKey, SiteEvidence)> {
        let place = (0u16..2, any::<u64>(), any::<u32>());
        let place = place.prop_map(|(file, address, code)| SiteKey {
            file: FileId(file),
            address,
            code,
        });
        let operand = || proptest::option::of(any_evidence());
        let frame = any::<[Option<(i64, u32)>; 2]>().prop_map(|places| {
            places.map(|place| place.map(|(offset, step)| FramePlace { offset, step }))
        });
        let said = (
            operand(),
            operand(),
            frame,
            any::<[u32; 2]>(),
            any::<bool>(),
        );
        let said = said.prop_map(|(read, written, frame, bytes, string)| SiteEvidence {
            read,
            written,
            frame,
            bytes,
            string,
        });
        (place, said)
    }

    fn any_index() -> impl Strategy<Value = FileIndex> {
        let variable = (any::<u64>(), any::<usize>(), any::<usize>());
        let variable = variable.prop_map(|(address, ty, entry)| PlacedVariable {
            address,
            ty: DieOffset(ty),
            entry: DieOffset(entry),
        });
        let function = (any::<u64>(), any::<u64>(), any::<usize>());
        let function = function.prop_map(|(end, other_end, die)| FunctionRange {
            low: end.min(other_end),
            high: end.max(other_end),
            die: DieOffset(die),
        });
        let variables = proptest::collection::vec(variable, 0..9);
        let functions = proptest::collection::vec(function, 0..9);
        (variables, functions).prop_map(|(mut variables, mut functions)| {
            variables.sort_unstable();
            functions.sort_by_key(|function| function.low);
            FileIndex {
                variables,
                functions,
            }
        })
    }

    fn any_kept() -> impl Strategy<Value = KeptEvidence> {
        let files = [(); 2].map(|()| proptest::option::of(any_index()));
        let sites = proptest::collection::vec(any_site(), 0..20);
        (sites, files, any::<[u32; 4]>()).prop_map(|(mut sites, files, types)| {
            sites.sort_by_key(|site| site.0);
            sites.dedup_by_key(|site| site.0);
            let mut types: Vec<FileDie> = { types.iter().zip([0, 0, 0, 1]) }
                .map(|(&offset, file)| FileDie {
                    file: FileId(file),
                    offset: DieOffset(offset as usize),
                })
                .collect();
            types.sort();
            KeptEvidence {
                identity: "these files".to_owned(),
                types,
                sites,
                files: files.to_vec(),
                changed: false,
            }
        })
    }

    fn empty(identity: &str) -> KeptEvidence {
        KeptEvidence {
            identity: identity.to_owned(),
            files: vec![None, None],
            ..KeptEvidence::default()
        }
    }

    proptest! {
        #[test]
        fn what_is_kept_comes_back(kept in any_kept()) {
            prop_assert_eq!(empty("these files").decode(&kept.encode()), Ok(kept));
        }

        #[test]
        fn a_changed_byte_is_damage(kept in any_kept(), at: usize, flip in 1u8..) {
            let mut bytes = kept.encode();
            let at = at % bytes.len();
            bytes[at] ^= flip;
            prop_assert!(empty("these files").decode(&bytes).is_err());
        }

        #[test]
        fn what_is_cut_off_is_damage(kept in any_kept(), len: usize) {
            let bytes = kept.encode();
            prop_assert!(empty("these files").decode(&bytes[..len % bytes.len()]).is_err());
        }

        /// Bytes with a valid checksum and random content do no harm.
        #[test]
        fn any_content_is_taken_or_damage(body in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut bytes = MAGIC.to_vec();
            let mut content = vec![11];
            content.extend(b"these files");
            content.extend(body);
            bytes.extend(crc32fast::hash(&content).to_le_bytes());
            bytes.extend(content);
            if let Ok(kept) = empty("these files").decode(&bytes) {
                prop_assert_eq!(empty("these files").decode(&kept.encode()), Ok(kept));
            }
        }
    }

    #[test]
    fn another_identity_is_not_taken() {
        let bytes = empty("these files").encode();
        assert_eq!(empty("others").decode(&bytes), Err(KeptDamage::Identity));
        assert_eq!(empty("these files").decode(b"ELF"), Err(KeptDamage::Format));
    }
}
