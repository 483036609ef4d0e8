//! [`Kept`] as bytes: magic, version, checksum of the rest; identity, types, sites, variables. What is
//! sorted is stored as differences.

use relayout_layout::TypeId;
use relayout_layout::dwarf::DieOffset;

use super::bytes::{Cursor, Damage, put, put_signed};
use super::{Kept, Place};
use crate::evidence::{Evidence, SiteEvidence, Trust};
use crate::images::FileId;
use crate::types::{Die, Placed};

const MAGIC: &[u8; 16] = b"relayout/kept/1\n";

/// Flags of a site.
const READ: u8 = 1;
const WRITTEN: u8 = 2;
const STRING: u8 = 4;
/// What is written is what is read.
const SAME: u8 = 8;

/// Shortest possible encodings.
const TYPE_BYTES_MIN: usize = 2;
const SITE_BYTES_MIN: usize = 9;
const VARIABLE_BYTES_MIN: usize = 3;

/// The trusts, by their numbers.
const TRUSTS: [Trust; 3] = [Trust::Guessed, Trust::Followed, Trust::Stated];

pub(super) fn encode(kept: &Kept) -> Vec<u8> {
    let mut body = Vec::new();
    put(&mut body, kept.identity.len() as u64);
    body.extend(kept.identity.as_bytes());
    put(&mut body, kept.types.len() as u64);
    let mut before = Die {
        file: FileId::MAIN,
        offset: DieOffset(0),
    };
    for ty in &kept.types {
        put(&mut body, ty.file.0.into());
        put(&mut body, ty.offset.0.wrapping_sub(before.offset.0) as u64);
        before = *ty;
    }
    put(&mut body, kept.sites.len() as u64);
    let mut before = 0;
    for (place, said) in &kept.sites {
        put(&mut body, place.file.0.into());
        put(&mut body, place.address.wrapping_sub(before));
        body.extend(place.code.to_le_bytes());
        put_site(&mut body, said);
        before = place.address;
    }
    put(&mut body, kept.variables.len() as u64);
    for variables in &kept.variables {
        put_variables(&mut body, variables.as_deref());
    }
    let mut out = MAGIC.to_vec();
    out.extend(crc32fast::hash(&body).to_le_bytes());
    out.extend(body);
    out
}

fn put_site(out: &mut Vec<u8>, said: &SiteEvidence) {
    let same = said.read.is_some() && said.read == said.written;
    let flag = |set: bool, bit: u8| if set { bit } else { 0 };
    out.push(
        flag(said.read.is_some(), READ)
            | flag(said.written.is_some() && !same, WRITTEN)
            | flag(said.string, STRING)
            | flag(same, SAME),
    );
    said.bytes.iter().for_each(|&bytes| put(out, bytes.into()));
    let one = said.read.iter();
    for evidence in one.chain(said.written.iter().filter(|_| !same)) {
        put(out, evidence.ty.0.into());
        put_signed(out, evidence.offset);
        let trust = TRUSTS.iter().position(|&trust| trust == evidence.trust);
        put(
            out,
            (trust.unwrap_or(0) as u64) << 1 | u64::from(evidence.via.is_some()),
        );
        if let Some((ty, offset)) = evidence.via {
            put(out, ty.0.into());
            put(out, offset.into());
        }
    }
}

fn put_variables(out: &mut Vec<u8>, variables: Option<&[Placed]>) {
    let Some(variables) = variables else {
        return put(out, 0);
    };
    put(out, 1);
    put(out, variables.len() as u64);
    let (mut address, mut entry) = (0u64, 0usize);
    for variable in variables {
        put(out, variable.address.wrapping_sub(address));
        put_signed(out, variable.entry.0.wrapping_sub(entry) as i64);
        put_signed(out, variable.ty.0.wrapping_sub(variable.entry.0) as i64);
        (address, entry) = (variable.address, variable.entry.0);
    }
}

/// `kept` with what `bytes` say. Whatever is not as [`encode`] writes it is damage.
pub(super) fn decode(kept: Kept, bytes: &[u8]) -> Result<Kept, Damage> {
    let mut cursor = Cursor::new(bytes);
    if cursor.take(MAGIC.len()).ok() != Some(MAGIC) {
        return Err(Damage::Format);
    }
    let checksum = cursor.u32_le()?;
    let at = cursor.at();
    if crc32fast::hash(&bytes[at..]) != checksum {
        return Err(Damage::Checksum { at });
    }
    let len = cursor.count(1)?;
    if cursor.take(len)? != kept.identity.as_bytes() {
        return Err(Damage::Identity);
    }
    let types = types(&mut cursor)?;
    let sites = sites(&mut cursor, types.len())?;
    let files = cursor.count(1)?;
    if files != kept.variables.len() {
        return Err(cursor.damage());
    }
    let variables = (0..files)
        .map(|_| variables(&mut cursor))
        .collect::<Result<_, _>>()?;
    if cursor.left() > 0 {
        return Err(cursor.damage());
    }
    Ok(Kept {
        types,
        sites,
        variables,
        changed: false,
        ..kept
    })
}

fn types(cursor: &mut Cursor<'_>) -> Result<Vec<Die>, Damage> {
    let count = cursor.count(TYPE_BYTES_MIN)?;
    let mut types: Vec<Die> = Vec::with_capacity(count);
    for _ in 0..count {
        let file = FileId(cursor.small()?);
        let before = types.last().map_or(0, |die| die.offset.0);
        let offset = DieOffset(before.wrapping_add(cursor.small()?));
        types.push(Die { file, offset });
    }
    Ok(types)
}

fn sites(cursor: &mut Cursor<'_>, types: usize) -> Result<Vec<(Place, SiteEvidence)>, Damage> {
    let count = cursor.count(SITE_BYTES_MIN)?;
    let mut sites: Vec<(Place, SiteEvidence)> = Vec::with_capacity(count);
    for _ in 0..count {
        let file = FileId(cursor.small()?);
        let before = sites.last().map(|site| site.0);
        let address = before
            .map_or(0, |place| place.address)
            .wrapping_add(cursor.number()?);
        let code = cursor.u32_le()?;
        let place = Place {
            file,
            address,
            code,
        };
        // They are looked up by halving.
        if before.is_some_and(|before| before >= place) {
            return Err(cursor.damage());
        }
        sites.push((place, site(cursor, types)?));
    }
    Ok(sites)
}

fn site(cursor: &mut Cursor<'_>, types: usize) -> Result<SiteEvidence, Damage> {
    let flags = cursor.byte()?;
    let has = |bit: u8| flags & bit != 0;
    let bytes = [cursor.small()?, cursor.small()?];
    let mut one = |there: bool| there.then(|| evidence(cursor, types)).transpose();
    let read = one(has(READ))?;
    let written = one(has(WRITTEN))?;
    Ok(SiteEvidence {
        read,
        written: if has(SAME) { read } else { written },
        bytes,
        string: has(STRING),
    })
}

fn evidence(cursor: &mut Cursor<'_>, types: usize) -> Result<Evidence, Damage> {
    let ty = |cursor: &mut Cursor<'_>| {
        let index: u32 = cursor.small()?;
        let known = (index as usize) < types;
        known.then_some(TypeId(index)).ok_or(cursor.damage())
    };
    let target = ty(cursor)?;
    let offset = cursor.signed()?;
    let how: usize = cursor.small()?;
    let trust = *TRUSTS.get(how >> 1).ok_or(cursor.damage())?;
    let via = match how & 1 {
        0 => None,
        _ => Some((ty(cursor)?, cursor.small()?)),
    };
    Ok(Evidence {
        ty: target,
        offset,
        trust,
        via,
    })
}

fn variables(cursor: &mut Cursor<'_>) -> Result<Option<Vec<Placed>>, Damage> {
    if cursor.byte()? == 0 {
        return Ok(None);
    }
    let count = cursor.count(VARIABLE_BYTES_MIN)?;
    let mut all: Vec<Placed> = Vec::with_capacity(count);
    let (mut address, mut entry) = (0u64, 0usize);
    for _ in 0..count {
        address = address
            .checked_add(cursor.number()?)
            .ok_or(cursor.damage())?;
        entry = entry.wrapping_add(cursor.signed()? as usize);
        let ty = entry.wrapping_add(cursor.signed()? as usize);
        all.push(Placed {
            address,
            ty: DieOffset(ty),
            entry: DieOffset(entry),
        });
    }
    Ok(Some(all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_evidence() -> impl Strategy<Value = Evidence> {
        let via = proptest::option::of((0u32..4, any::<u32>()));
        (0u32..4, any::<i64>(), 0usize..3, via).prop_map(|(ty, offset, trust, via)| Evidence {
            ty: TypeId(ty),
            offset,
            trust: TRUSTS[trust],
            via: via.map(|(ty, offset)| (TypeId(ty), offset)),
        })
    }

    fn any_site() -> impl Strategy<Value = (Place, SiteEvidence)> {
        let place = (0u16..2, any::<u64>(), any::<u32>());
        let place = place.prop_map(|(file, address, code)| Place {
            file: FileId(file),
            address,
            code,
        });
        let operand = || proptest::option::of(any_evidence());
        let said = (operand(), operand(), any::<[u32; 2]>(), any::<bool>());
        let said = said.prop_map(|(read, written, bytes, string)| SiteEvidence {
            read,
            written,
            bytes,
            string,
        });
        (place, said)
    }

    fn any_kept() -> impl Strategy<Value = Kept> {
        let variable = (any::<u64>(), any::<usize>(), any::<usize>());
        let variable = variable.prop_map(|(address, ty, entry)| Placed {
            address,
            ty: DieOffset(ty),
            entry: DieOffset(entry),
        });
        let variables = proptest::option::of(proptest::collection::vec(variable, 0..9));
        let sites = proptest::collection::vec(any_site(), 0..20);
        (sites, [variables.clone(), variables], any::<[u32; 4]>()).prop_map(
            |(mut sites, mut variables, types)| {
                sites.sort_by_key(|site| site.0);
                sites.dedup_by_key(|site| site.0);
                { variables.iter_mut().flatten() }.for_each(|all| all.sort_unstable());
                let mut types: Vec<Die> = { types.iter().zip([0, 0, 0, 1]) }
                    .map(|(&offset, file)| Die {
                        file: FileId(file),
                        offset: DieOffset(offset as usize),
                    })
                    .collect();
                types.sort();
                Kept {
                    identity: "these files".to_owned(),
                    types,
                    sites,
                    variables: variables.to_vec(),
                    changed: false,
                }
            },
        )
    }

    fn empty(identity: &str) -> Kept {
        Kept {
            identity: identity.to_owned(),
            variables: vec![None, None],
            ..Kept::default()
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

        /// Whoever can write a checksum still breaks nothing.
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
        assert_eq!(empty("others").decode(&bytes), Err(Damage::Identity));
        assert_eq!(empty("these files").decode(b"ELF"), Err(Damage::Format));
    }
}
