//! Reader of types other than aggregates: pointers, arrays, enumerations, functions, typedefs.

use gimli::{DwTag, constants as dw};

use super::descriptors;
use super::die;
use super::entry::DieContext;
use super::types::DwarfTypeLoader;
use crate::types::LoadNeed;
use crate::{Error, Type, TypeId};

/// Most dimensions of an array. More are damage, and each is printed with each member.
const DIMENSIONS_MAX: usize = 256;

impl<'f, 'a> DwarfTypeLoader<'f, 'a> {
    pub(super) fn read_non_aggregate(
        &mut self,
        context: &DieContext<'f, 'a>,
        need: LoadNeed,
        depth: u32,
    ) -> Result<Type, Error> {
        let tag = context.entry.tag();
        if let Some(sigil) = pointer_sigil(tag) {
            return self.read_pointer(context, sigil, depth);
        }
        if let Some(qualifier) = qualifier(tag) {
            let target = self.load_reference(context, dw::DW_AT_type, need, depth)?;
            return Ok(Type::Qualified { qualifier, target });
        }
        Ok(match tag {
            dw::DW_TAG_base_type => Type::Base {
                name: self.name_of(context).unwrap_or_else(|| "?".to_owned()),
                size: context.number(dw::DW_AT_byte_size).unwrap_or(0),
            },
            dw::DW_TAG_typedef => Type::Typedef {
                name: self.name_of(context).unwrap_or_else(|| "?".to_owned()),
                target: self.load_reference(context, dw::DW_AT_type, need, depth)?,
                declared_align: context.number(dw::DW_AT_alignment),
            },
            dw::DW_TAG_enumeration_type => self.read_enum(context, depth)?,
            dw::DW_TAG_array_type => self.read_array(context, need, depth)?,
            dw::DW_TAG_subroutine_type => {
                let function = self.read_function(context, depth)?;
                // Go gives its functions a size: their values are pointers.
                match context.number(dw::DW_AT_byte_size) {
                    Some(size) => Type::Pointer {
                        target: Some(self.types.add(function)),
                        size,
                        align: size,
                        sigil: "*",
                    },
                    None => function,
                }
            }
            dw::DW_TAG_string_type => self.read_string(context),
            dw::DW_TAG_unspecified_type => Type::Unknown(
                self.name_of(context)
                    .unwrap_or_else(|| "unspecified type".to_owned()),
            ),
            other => Type::Unknown(other.to_string()),
        })
    }

    fn read_pointer(
        &mut self,
        context: &DieContext<'f, 'a>,
        sigil: &'static str,
        depth: u32,
    ) -> Result<Type, Error> {
        let target = self.load_reference(context, dw::DW_AT_type, LoadNeed::Name, depth)?;
        // An anonymous target has no name to ask for, so its members come along.
        if let Some(id) = target
            && matches!(self.types.get(id), Type::Aggregate(aggregate) if aggregate.name.is_none())
        {
            self.fill_members(id, depth + 1)?;
        }
        let size = context.number(dw::DW_AT_byte_size);
        let word = u64::from(context.unit.encoding().address_size);
        // The Itanium C++ ABI (2.3): a pointer to a member function is the function and what
        // to add to `this`; compilers write no size.
        let is_function = |id| {
            matches!(
                self.types.get(self.types.innermost(id)),
                Type::Function { .. }
            )
        };
        let is_pair =
            context.entry.tag() == dw::DW_TAG_ptr_to_member_type && target.is_some_and(is_function);
        let size = size.unwrap_or(if is_pair { 2 * word } else { word });
        Ok(Type::Pointer {
            target,
            size,
            align: if is_pair { size / 2 } else { size },
            sigil,
        })
    }

    fn read_enum(&mut self, context: &DieContext<'f, 'a>, depth: u32) -> Result<Type, Error> {
        let mut enumerators = Vec::new();
        for child in self.children(context)? {
            if child.entry.tag() == dw::DW_TAG_enumerator {
                let name = self.name_of(&child).unwrap_or_default();
                enumerators.push((
                    name,
                    child.signed_number(dw::DW_AT_const_value).unwrap_or(0),
                ));
            }
        }
        let size = match context.number(dw::DW_AT_byte_size) {
            Some(size) => size,
            None => self
                .load_reference(context, dw::DW_AT_type, LoadNeed::Members, depth)?
                .and_then(|id| self.types.size_of(id))
                .unwrap_or(0),
        };
        Ok(Type::Enum {
            name: self.name_of(context),
            size,
            enumerators,
        })
    }

    fn read_array(
        &mut self,
        context: &DieContext<'f, 'a>,
        need: LoadNeed,
        depth: u32,
    ) -> Result<Type, Error> {
        let element = self.load_reference(context, dw::DW_AT_type, need, depth)?;
        let element = element.unwrap_or_else(|| self.types.add(Type::Unknown("void".to_owned())));
        let children = self.children(context)?;
        if children.len() > DIMENSIONS_MAX {
            let problem = format!("an array of {} dimensions", children.len());
            return Ok(Type::Unknown(problem));
        }
        if descriptors::has_descriptor(context) {
            return Ok(self.read_descriptor(context, element, &children));
        }
        let lower = self.default_lower_bound(context);
        let counts = children
            .iter()
            .filter(|child| {
                matches!(
                    child.entry.tag(),
                    dw::DW_TAG_subrange_type | dw::DW_TAG_enumeration_type
                )
            })
            .map(|child| subrange_count(child, lower))
            .collect();
        Ok(Type::Array { element, counts })
    }

    /// Lower bound of the arrays of the unit that state none; `None` if the unit does not tell its
    /// language, and the file has several.
    fn default_lower_bound(&mut self, context: &DieContext<'f, 'a>) -> Option<i128> {
        let mut languages = self.file.languages().iter();
        // Units beside the linked file may have a language that no compilation unit states.
        if languages.all(|found| found.language.lower_bound() == 0) && self.file.has_one_part() {
            return Some(0);
        }
        if let Some(language) = self.language_of(context) {
            return Some(language.lower_bound());
        }
        // Units of types that `dwz` made state no language.
        let mut bounds = { self.file.languages().iter() }.map(|found| found.language.lower_bound());
        let first = bounds.next().unwrap_or(0);
        bounds.all(|bound| bound == first).then_some(first)
    }

    fn is_by_gfortran(&self, context: &DieContext<'f, 'a>) -> bool {
        let root = context.unit.entry(context.unit.header.root_offset());
        let producer = root
            .ok()
            .and_then(|root| root.attr_value(dw::DW_AT_producer));
        let producer = producer.and_then(|value| {
            die::attribute_text(self.file.dwarf_of(context.die()), context.unit, value)
        });
        producer.is_some_and(|producer| producer.starts_with(descriptors::GFORTRAN))
    }

    /// Descriptor of an array that is allocated elsewhere, with its size where that is known.
    fn read_descriptor(
        &self,
        context: &DieContext<'f, 'a>,
        element: TypeId,
        children: &[DieContext<'f, 'a>],
    ) -> Type {
        let colons = vec![":"; children.len()].join(",");
        let name = format!("{}({colons})", self.types.name_of(element));
        let is_gfortran = self.is_by_gfortran(context);
        match descriptors::descriptor_bytes(context, children, is_gfortran) {
            Some(size) => Type::Base { name, size },
            None => Type::Unknown(format!("descriptor of {name}")),
        }
    }

    /// String of Fortran. Its length may be a variable.
    fn read_string(&self, context: &DieContext<'f, 'a>) -> Type {
        let size = context.number(dw::DW_AT_byte_size);
        let name = self.name_of(context);
        match size {
            Some(size) => Type::Base {
                name: name.unwrap_or_else(|| match size {
                    // The length of such a string is beside the pointer to it.
                    0 => "character(len=:)".to_owned(),
                    size => format!("character(len={size})"),
                }),
                size,
            },
            None => Type::Unknown(name.unwrap_or_else(|| "string of any length".to_owned())),
        }
    }

    fn read_function(&mut self, context: &DieContext<'f, 'a>, depth: u32) -> Result<Type, Error> {
        let result = self.load_reference(context, dw::DW_AT_type, LoadNeed::Name, depth)?;
        let mut params = Vec::new();
        let mut variadic = false;
        for child in self.children(context)? {
            match child.entry.tag() {
                dw::DW_TAG_formal_parameter => {
                    let param =
                        self.load_reference(&child, dw::DW_AT_type, LoadNeed::Name, depth)?;
                    params.extend(param);
                }
                dw::DW_TAG_unspecified_parameters => variadic = true,
                _ => {}
            }
        }
        Ok(Type::Function {
            result,
            params,
            variadic,
        })
    }
}

/// Number of elements of a dimension whose lower bound is `lower` unless it states another.
fn subrange_count(child: &DieContext<'_, '_>, lower: Option<i128>) -> Option<u64> {
    if child.entry.tag() == dw::DW_TAG_enumeration_type {
        return None;
    }
    if let Some(count) = child.number(dw::DW_AT_count) {
        return Some(count);
    }
    // Some producers write an upper bound of -1 for zero elements.
    let upper = child.signed_number(dw::DW_AT_upper_bound)?;
    let upper = if upper == i128::from(u64::MAX) || upper == i128::from(u32::MAX) {
        -1
    } else {
        upper
    };
    let lower = match child.entry.attr_value(dw::DW_AT_lower_bound) {
        Some(_) => child.signed_number(dw::DW_AT_lower_bound)?,
        None => lower?,
    };
    u64::try_from(upper - lower + 1).ok()
}

fn pointer_sigil(tag: DwTag) -> Option<&'static str> {
    match tag {
        dw::DW_TAG_pointer_type => Some("*"),
        dw::DW_TAG_reference_type => Some("&"),
        dw::DW_TAG_rvalue_reference_type => Some("&&"),
        dw::DW_TAG_ptr_to_member_type => Some("::*"),
        _ => None,
    }
}

fn qualifier(tag: DwTag) -> Option<&'static str> {
    match tag {
        dw::DW_TAG_const_type => Some("const"),
        dw::DW_TAG_volatile_type => Some("volatile"),
        dw::DW_TAG_restrict_type => Some("restrict"),
        dw::DW_TAG_atomic_type => Some("_Atomic"),
        _ => None,
    }
}
