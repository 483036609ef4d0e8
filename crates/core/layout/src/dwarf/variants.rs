//! Reader of the alternatives of a Rust enum: `DW_TAG_variant_part` holds the discriminant and a
//! `DW_TAG_variant` for each.

use gimli::{AttributeValue, constants as dw};

use super::entry::DieContext;
use super::types::DwarfTypeLoader;
use crate::{EnumVariant, EnumVariants, Error, Member, Type, TypeArena};

impl<'f, 'a> DwarfTypeLoader<'f, 'a> {
    /// Reads a `DW_TAG_variant_part`.
    pub(super) fn read_variants(
        &mut self,
        part: &DieContext<'f, 'a>,
        depth: u32,
    ) -> Result<EnumVariants, Error> {
        let mut found = EnumVariants {
            discriminant: None,
            variants: Vec::new(),
        };
        // The type of the discriminant decides about its values, so it is read first wherever it
        // stands.
        let children = self.children(part)?;
        for child in &children {
            if child.entry.tag() == dw::DW_TAG_member {
                found.discriminant = Some(self.read_member(child, false, depth)?);
            }
        }
        for child in &children {
            if child.entry.tag() != dw::DW_TAG_variant {
                continue;
            }
            let value = discriminant_value(child);
            let value =
                value.map(|value| sign_extend(&self.types, found.discriminant.as_ref(), value));
            for member in self.children(child)? {
                if member.entry.tag() == dw::DW_TAG_member {
                    found.variants.push(EnumVariant {
                        discriminant: value,
                        member: self.read_member(&member, false, depth)?,
                    });
                }
            }
        }
        Ok(found)
    }
}

/// Value that stands for a variant. A list of one value is that value; several values or a range
/// have no single one.
fn discriminant_value(variant: &DieContext<'_, '_>) -> Option<i128> {
    if let Some(value) = variant.signed_number(dw::DW_AT_discr_value) {
        return Some(value);
    }
    let AttributeValue::Block(list) = variant.entry.attr_value(dw::DW_AT_discr_list)? else {
        return None;
    };
    let mut list = list;
    let label = gimli::Reader::read_u8(&mut list).ok()? == dw::DW_DSC_label.0;
    let value = gimli::Reader::read_uleb128(&mut list).ok()?;
    (label && list.is_empty()).then_some(i128::from(value))
}

/// Value with the sign of the discriminant's type, because fixed-size forms have no sign.
fn sign_extend(types: &TypeArena, discriminant: Option<&Member>, value: i128) -> i128 {
    let ty = discriminant.map(|member| types.get(types.strip_typedefs(member.ty)));
    match ty {
        Some(Type::Base {
            name,
            size: size @ 1..=8,
        }) if name.starts_with('i') => {
            let unused = 128 - 8 * *size as u32;
            value << unused >> unused
        }
        _ => value,
    }
}
