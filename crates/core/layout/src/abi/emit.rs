//! Arrangements as C text that compiles by itself, without headers.
//!
//! A [`StructEmitter`] collects definitions. Types that a struct holds by value are defined once in
//! front of it, with the attributes that explain their layout. Pointers become `void *`, enums and
//! typedefs become their underlying types, and base classes become bytes. GCC and Clang accept the
//! text as C or as C++.
//!
//! ```text
//! struct pair { char a; long b; }, order b, a, b aligned to 64:
//!
//! struct s0 {
//!         long int b __attribute__((aligned(64)));
//!         char a;
//! };
//! ```

mod c_names;
mod spell;
use std::fmt::Write as _;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::abi::bitfield::Bitfield;
use crate::abi::error::AbiError;
use crate::abi::layout::{AtomArrangement, LayoutAtom, StructLayout, StructShape};
use crate::abi::sizes::AbiEngine;
use crate::types::NESTING_MAX;
use crate::{Aggregate, AggregateKind, TypeId};

/// Longest text of one struct in bytes. Damaged debug information can nest anonymous structs
/// without end.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// Language that the text is compiled as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmitLanguage {
    /// GNU C.
    #[default]
    C,
    /// GNU C++.
    Cxx,
}

/// Member of an emitted struct that C can name, at the offset by the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmittedMember {
    /// Name in the text: the member's own, or a made-up one where C does not allow that.
    pub name: String,
    /// First bit from the start of the struct.
    pub first_bit: u64,
    /// Width of a bitfield in bits; `None` for other members, which begin at a whole byte.
    pub width_bits: Option<u64>,
    /// True if the member is inside an anonymous struct or union.
    pub in_anonymous: bool,
}

/// Struct as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmittedStruct {
    /// Members that C can name, in the order of the text.
    pub members: Vec<EmittedMember>,
    /// Layout of the struct by the engine.
    pub layout: StructLayout,
}

/// Writer of the structs of one arena as C.
pub struct StructEmitter<'a, 't> {
    abi: &'a AbiEngine<'t>,
    language: EmitLanguage,
    /// Beginning of all made-up names.
    prefix: String,
    /// Tags of types held by value.
    nested_tags: FxHashMap<TypeId, String>,
    /// Typedefs with a declared alignment.
    aligned_typedefs: FxHashMap<TypeId, String>,
    enum_sizes: FxHashSet<u64>,
    text: String,
}

/// Struct or union that is being written.
struct StructBody {
    text: String,
    members: Vec<EmittedMember>,
    /// Name of the type in errors.
    name: String,
}

/// Position of a body: in a struct with a tag, or inside another struct without a name.
#[derive(Clone, Copy)]
struct BodyPosition {
    /// First bit of the body from the start of the outermost struct.
    first_bit: u64,
    depth: u32,
    in_anonymous: bool,
}

impl<'a, 't> StructEmitter<'a, 't> {
    /// Emitter without definitions. Made-up names begin with `prefix`.
    pub fn new(abi: &'a AbiEngine<'t>, language: EmitLanguage, prefix: &str) -> Self {
        Self {
            abi,
            language,
            prefix: prefix.to_owned(),
            nested_tags: FxHashMap::default(),
            aligned_typedefs: FxHashMap::default(),
            enum_sizes: FxHashSet::default(),
            text: String::new(),
        }
    }

    /// All definitions so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Defines `struct tag` with the atoms of `shape` in this arrangement. `shape` is the shape of
    /// `aggregate`.
    ///
    /// # Errors
    /// A member's type cannot be written in C.
    ///
    /// # Panics
    /// Same as [`StructShape::lay_out`].
    pub fn define_struct(
        &mut self,
        tag: &str,
        aggregate: &Aggregate,
        shape: &StructShape,
        arrangement: &AtomArrangement,
    ) -> Result<EmittedStruct, AbiError> {
        let layout = shape.lay_out(arrangement);
        let body = self.write_tagged(tag, aggregate, shape, arrangement, &layout, 0)?;
        Ok(EmittedStruct {
            members: body.members,
            layout,
        })
    }

    /// Tag of a struct or union that is held by value: `struct x12`. Defines it at the first use,
    /// in its compiled order.
    fn nested_tag(
        &mut self,
        id: TypeId,
        aggregate: &Aggregate,
        depth: u32,
    ) -> Result<String, AbiError> {
        if let Some(tag) = self.nested_tags.get(&id) {
            return Ok(tag.clone());
        }
        let name = format!("{}{}", self.prefix, id.0);
        let tag = format!("{} {name}", keyword(aggregate));
        match self.abi.shape_at(aggregate, depth) {
            Ok(shape) => {
                let current = shape.current_arrangement();
                let layout = shape.lay_out(&current);
                self.write_tagged(&name, aggregate, &shape, &current, &layout, depth)?;
            }
            Err(_) if aggregate.complete => self.write_opaque(&tag, id, aggregate)?,
            Err(e) => return Err(e),
        }
        self.nested_tags.insert(id, tag.clone());
        Ok(tag)
    }

    /// Writes a type that is no C struct (a class with base classes, a Rust enum) as bytes of its
    /// size.
    fn write_opaque(
        &mut self,
        tag: &str,
        id: TypeId,
        aggregate: &Aggregate,
    ) -> Result<(), AbiError> {
        let align = self.abi.align_of(id).unwrap_or(1);
        let size = aggregate.size;
        writeln!(
            self.text,
            "{tag} {{\n\tunsigned char bytes[{size}];\n}} __attribute__((aligned({align})));"
        )
        .expect("strings take all text");
        Ok(())
    }

    fn write_tagged(
        &mut self,
        name: &str,
        aggregate: &Aggregate,
        shape: &StructShape,
        arrangement: &AtomArrangement,
        layout: &StructLayout,
        depth: u32,
    ) -> Result<StructBody, AbiError> {
        let mut body = StructBody {
            text: format!("{} {name} {{\n", keyword(aggregate)),
            members: Vec::new(),
            name: shape.name.clone(),
        };
        let position = BodyPosition {
            first_bit: 0,
            depth,
            in_anonymous: false,
        };
        self.write_members(&mut body, aggregate, shape, arrangement, layout, position)?;
        let align = (shape.type_align.max(arrangement.type_align)).max(match shape.head.end {
            0 => shape.head.align,
            _ => 1,
        });
        let attributes = attribute_text(shape.type_packed, nontrivial_align(align));
        self.text.push_str(&body.text);
        self.text.push_str(&format!("}}{attributes};\n"));
        Ok(body)
    }

    /// Writes the members between the braces.
    fn write_members(
        &mut self,
        body: &mut StructBody,
        aggregate: &Aggregate,
        shape: &StructShape,
        arrangement: &AtomArrangement,
        layout: &StructLayout,
        position: BodyPosition,
    ) -> Result<(), AbiError> {
        if position.depth > NESTING_MAX || body.text.len() > TEXT_BYTES_MAX {
            return Err(AbiError::NotC {
                name: body.name.clone(),
                member: String::new(),
                why: "it is nested too deeply".to_owned(),
            });
        }
        if shape.head.end > 0 {
            let name = format!("{}head{}", self.prefix, body.members.len());
            let bytes = format!("unsigned char {name}[{}]", shape.head.end);
            push_declaration(
                body,
                &bytes,
                &attribute_text(false, nontrivial_align(shape.head.align)),
            );
        }
        for &index in &arrangement.order {
            let atom = &shape.atoms[index];
            let forced = arrangement.align[index];
            push_unnamed_bitfields(body, &atom.unnamed_before);
            if atom.is_bitfields() {
                let firsts = &layout.places[index].bitfield_starts;
                self.write_bitfields(body, aggregate, atom, forced, firsts, position)?;
            } else {
                let position = BodyPosition {
                    first_bit: position.first_bit + layout.places[index].offset * 8,
                    ..position
                };
                self.write_member(body, aggregate, atom, forced, position)?;
            }
        }
        if shape.is_union && !shape.tail.is_empty() {
            body.text.push_str("struct {\n");
            push_unnamed_bitfields(body, &shape.tail);
            push_declaration(body, "}", "");
        } else {
            push_unnamed_bitfields(body, &shape.tail);
        }
        Ok(())
    }

    fn write_bitfields(
        &mut self,
        body: &mut StructBody,
        aggregate: &Aggregate,
        atom: &LayoutAtom,
        mut forced: u64,
        firsts: &[u64],
        position: BodyPosition,
    ) -> Result<(), AbiError> {
        let mut members = atom.members.clone().zip(firsts);
        for field in &atom.bitfields {
            let Some((index, first)) = members.next_if_member(field) else {
                push_unnamed_bitfields(body, std::slice::from_ref(field));
                continue;
            };
            let member = &aggregate.members[index];
            let ty = self.spell_bitfield_type(member.ty, field, position.depth, &body.name)?;
            if !field.is_named {
                push_declaration(body, &format!("{ty} : {}", field.width_bits), "");
                continue;
            }
            let forced = std::mem::replace(&mut forced, 1);
            let align = field
                .explicit_align
                .max(if forced > 1 { forced } else { 0 });
            let name = self.member_name(member.name.as_deref(), index, body);
            push_declaration(
                body,
                &format!("{ty} {name} : {}", field.width_bits),
                &attribute_text(field.packed, (align > 0).then_some(align)),
            );
            body.members.push(EmittedMember {
                name,
                first_bit: position.first_bit + first,
                width_bits: Some(field.width_bits),
                in_anonymous: position.in_anonymous,
            });
        }
        Ok(())
    }

    /// Writes one member that is no bitfield, at `position`.
    fn write_member(
        &mut self,
        body: &mut StructBody,
        aggregate: &Aggregate,
        atom: &LayoutAtom,
        forced: u64,
        position: BodyPosition,
    ) -> Result<(), AbiError> {
        let index = atom.members.start;
        let member = &aggregate.members[index];
        let align = atom.explicit_align.max(forced);
        if member.is_anonymous()
            && !atom.packed
            && let Some(inner) = self.abi.aggregate(member.ty)
            && let Ok(shape) = self.abi.shape_at(inner, position.depth + 1)
        {
            return self.write_inlined(body, inner, &shape, align, position);
        }
        let (ty, dimensions) = self.spell_type(member.ty, position.depth + 1, &body.name)?;
        let name = self.member_name(member.name.as_deref(), index, body);
        push_declaration(
            body,
            &format!("{ty} {name}{dimensions}"),
            &attribute_text(atom.packed, nontrivial_align(align)),
        );
        body.members.push(EmittedMember {
            name,
            first_bit: position.first_bit,
            width_bits: None,
            in_anonymous: position.in_anonymous,
        });
        Ok(())
    }

    /// Writes an anonymous struct or union with the alignment `align` on its type.
    fn write_inlined(
        &mut self,
        body: &mut StructBody,
        inner: &Aggregate,
        shape: &StructShape,
        align: u64,
        position: BodyPosition,
    ) -> Result<(), AbiError> {
        let current = shape.current_arrangement();
        let layout = shape.lay_out(&current);
        body.text.push_str(&format!("{} {{\n", keyword(inner)));
        let position = BodyPosition {
            depth: position.depth + 1,
            in_anonymous: true,
            ..position
        };
        self.write_members(body, inner, shape, &current, &layout, position)?;
        let attributes = attribute_text(
            shape.type_packed,
            nontrivial_align(align.max(shape.type_align)),
        );
        push_declaration(body, "}", &attributes);
        Ok(())
    }

    /// Member's own name if C and C++ allow it, else a made-up one.
    fn member_name(&self, name: Option<&str>, index: usize, body: &StructBody) -> String {
        match name {
            Some(name)
                if c_names::is_identifier(name)
                    && !body
                        .members
                        .iter()
                        .rev()
                        .take(64)
                        .any(|written| written.name == name) =>
            {
                name.to_owned()
            }
            _ => format!("{}m{index}_{}", self.prefix, body.members.len()),
        }
    }
}

/// Returns the next member if the bitfield is a member, not an inferred one.
trait NextIfMember: Iterator {
    fn next_if_member(&mut self, field: &Bitfield) -> Option<Self::Item>;
}

impl<I: Iterator> NextIfMember for I {
    fn next_if_member(&mut self, field: &Bitfield) -> Option<I::Item> {
        if field.is_member { self.next() } else { None }
    }
}

fn keyword(aggregate: &Aggregate) -> &'static str {
    match aggregate.kind {
        AggregateKind::Union => "union",
        AggregateKind::Struct | AggregateKind::Class => "struct",
    }
}

/// Writes inferred bitfields of unsigned integers.
fn push_unnamed_bitfields(body: &mut StructBody, fields: &[Bitfield]) {
    for field in fields {
        let ty = c_names::unsigned_of_size(field.unit_bits / 8).unwrap_or("unsigned char");
        push_declaration(body, &format!("{ty} : {}", field.width_bits), "");
    }
}

fn push_declaration(body: &mut StructBody, declaration: &str, attributes: &str) {
    for part in ["\t", declaration, attributes, ";\n"] {
        body.text.push_str(part);
    }
}

/// Alignment of a member that is no bitfield; `None` for 1, which changes nothing.
fn nontrivial_align(align: u64) -> Option<u64> {
    Some(align).filter(|align| *align > 1)
}

/// ` __attribute__((packed, aligned(8)))`, or an empty text.
fn attribute_text(packed: bool, align: Option<u64>) -> String {
    match (packed, align) {
        (false, None) => String::new(),
        (true, None) => " __attribute__((packed))".to_owned(),
        (false, Some(align)) => format!(" __attribute__((aligned({align})))"),
        (true, Some(align)) => format!(" __attribute__((packed, aligned({align})))"),
    }
}
