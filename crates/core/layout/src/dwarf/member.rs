//! Reader of the members of an aggregate: their offsets in bytes and bits.

use gimli::{AttributeValue, Operation, constants as dw};

use super::entry::DieContext;
use super::types::DwarfTypeLoader;
use crate::types::LoadNeed;
use crate::{BitRange, EnumVariants, Error, Member, MemberAccess, StatedAccess, Type, TypeId};

impl<'f, 'a> DwarfTypeLoader<'f, 'a> {
    /// Members and base classes in order of declaration, or in the order of offsets where the
    /// compiler reorders members, as Rust's does. Static members are left out.
    pub(super) fn read_members(
        &mut self,
        context: &DieContext<'f, 'a>,
        depth: u32,
    ) -> Result<AggregateContents, Error> {
        let mut found = AggregateContents::default();
        let mut access = StatedAccess::default();
        for child in self.children(context)? {
            let stated = stated_access(&child);
            let is_base = match child.entry.tag() {
                dw::DW_TAG_member => false,
                dw::DW_TAG_inheritance if is_virtual(&child) => {
                    let base =
                        self.load_reference(&child, dw::DW_AT_type, LoadNeed::Members, depth)?;
                    access.virtual_bases.extend(base.map(|_| stated));
                    found.virtual_bases.extend(base);
                    continue;
                }
                dw::DW_TAG_inheritance => true,
                dw::DW_TAG_variant_part => {
                    found.variants = Some(Box::new(self.read_variants(&child, depth)?));
                    continue;
                }
                dw::DW_TAG_subprogram => {
                    let place = stated.map(|stated| (found.members.len(), stated));
                    access.functions.extend(place);
                    continue;
                }
                _ => continue,
            };
            if child.flag(dw::DW_AT_external) || child.flag(dw::DW_AT_declaration) {
                continue;
            }
            found
                .members
                .push(self.read_member(&child, is_base, depth)?);
            access.members.push(stated);
        }
        found.sort_members(&mut access);
        found.access = is_any_stated(&access).then(|| Box::new(access));
        Ok(found)
    }

    pub(super) fn read_member(
        &mut self,
        child: &DieContext<'f, 'a>,
        is_base: bool,
        depth: u32,
    ) -> Result<Member, Error> {
        let loaded = self.load_reference(child, dw::DW_AT_type, LoadNeed::Members, depth)?;
        let ty = match loaded {
            Some(id) if self.is_being_read(id) => self
                .types
                .add(Type::Unknown("a type that contains itself".to_owned())),
            Some(id) => id,
            None => self.types.add(Type::Unknown("void".to_owned())),
        };
        let start = member_offset(child).unwrap_or(0);
        let size = self.types.size_of(ty).unwrap_or(0);
        let bits = bit_range(child, start, size, self.file.is_little_endian());
        // The storage unit is the aligned unit that holds the first bit.
        let offset = match bits {
            Some(bits) if size > 0 => bits.offset_bits / 8 / size * size,
            Some(bits) => bits.offset_bits / 8,
            None => start,
        };
        Ok(Member {
            name: match is_base {
                true => None,
                false => self.name_of(child),
            },
            is_base,
            ty,
            offset,
            bits,
            declared_align: child.number(dw::DW_AT_alignment),
            decl: self.source_line(child),
        })
    }
}

/// Members, alternatives and virtual bases of an aggregate.
#[derive(Default)]
pub(super) struct AggregateContents {
    pub(super) members: Vec<Member>,
    pub(super) variants: Option<Box<EnumVariants>>,
    pub(super) virtual_bases: Vec<TypeId>,
    pub(super) access: Option<Box<StatedAccess>>,
}

impl AggregateContents {
    /// Sorts members that a compiler may have reordered by offset.
    fn sort_members(&mut self, access: &mut StatedAccess) {
        let is_plain = |member: &Member| member.name.is_some() && member.bits.is_none();
        let is_sorted = self.members.is_sorted_by_key(|member| member.offset);
        if is_sorted || !self.members.iter().all(is_plain) {
            return;
        }
        // Functions stand between members in the order of the source.
        access.functions.clear();
        let stated = std::mem::take(&mut access.members).into_iter();
        let mut pairs: Vec<_> = std::mem::take(&mut self.members)
            .into_iter()
            .zip(stated)
            .collect();
        pairs.sort_by_key(|(member, _)| member.offset);
        (self.members, access.members) = pairs.into_iter().unzip();
    }
}

fn is_any_stated(access: &StatedAccess) -> bool {
    let mut parts = access.members.iter().chain(&access.virtual_bases);
    !access.functions.is_empty() || parts.any(Option::is_some)
}

/// Access of a member, base class or member function, if it is stated.
fn stated_access(child: &DieContext<'_, '_>) -> Option<MemberAccess> {
    match child.entry.attr_value(dw::DW_AT_accessibility)? {
        AttributeValue::Accessibility(dw::DW_ACCESS_public) => Some(MemberAccess::Public),
        AttributeValue::Accessibility(dw::DW_ACCESS_protected) => Some(MemberAccess::Protected),
        AttributeValue::Accessibility(dw::DW_ACCESS_private) => Some(MemberAccess::Private),
        _ => None,
    }
}

/// Returns true for a virtual base class, whose offset varies by object.
fn is_virtual(child: &DieContext<'_, '_>) -> bool {
    let virtuality = child.entry.attr_value(dw::DW_AT_virtuality);
    matches!(virtuality, Some(AttributeValue::Virtuality(kind)) if kind != dw::DW_VIRTUALITY_none)
}

/// Offset in bytes from the start of the aggregate.
fn member_offset(child: &DieContext<'_, '_>) -> Option<u64> {
    let value = child.entry.attr_value(dw::DW_AT_data_member_location)?;
    if let AttributeValue::Exprloc(expression) = value {
        // DWARF 2 has an expression that adds to the aggregate's address.
        let mut operations = expression.operations(child.unit.encoding());
        return match operations.next().ok()?? {
            Operation::PlusConstant { value } | Operation::UnsignedConstant { value } => {
                Some(value)
            }
            _ => None,
        };
    }
    value.udata_value()
}

/// Bits of a bitfield from the start of the aggregate. `start` is the byte offset of the member,
/// and `size` the size of its type in bytes.
fn bit_range(
    child: &DieContext<'_, '_>,
    start: u64,
    size: u64,
    little_endian: bool,
) -> Option<BitRange> {
    let size_bits = child.number(dw::DW_AT_bit_size)?;
    let start_bits = start.checked_mul(8)?;
    let offset_bits = if let Some(offset) = child.number(dw::DW_AT_data_bit_offset) {
        start_bits.checked_add(offset)?
    } else if let Some(offset) = child.signed_number(dw::DW_AT_bit_offset) {
        // DWARF 2 and 3 count from the most significant bit of the storage unit, and backwards from
        // it for bitfields that cross units. Clang 14 writes that -1 in 8 bytes without sign.
        let offset = i128::from(offset as i64);
        let storage = child.number(dw::DW_AT_byte_size).unwrap_or(size);
        let storage_bits = i128::from(storage) * 8;
        let within = if little_endian {
            storage_bits - offset - i128::from(size_bits)
        } else {
            offset
        };
        u64::try_from(i128::from(start_bits) + within).ok()?
    } else {
        start_bits
    };
    Some(BitRange {
        offset_bits,
        size_bits,
    })
}
