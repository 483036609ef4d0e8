//! Arrangements as C that compiles by itself: no headers, no names from elsewhere.
//!
//! An [`Emitter`] collects definitions. What a struct holds by value is defined in front of it,
//! once, with the attributes that explain it; pointers become `void *`, enums and typedefs what
//! they are in memory, base classes bytes. The text is for GCC and Clang, as C or as C++.
//!
//! ```text
//! struct pair { char a; long b; }, order b, a, b aligned to 64:
//!
//! struct s0 {
//!         long int b __attribute__((aligned(64)));
//!         char a;
//! };
//! ```

mod spell;

use std::fmt::Write as _;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Abi, AbiError, Arrangement, Atom, Bitfield, Layout, Shape};
use crate::types::DEPTH_MAX;
use crate::{Aggregate, AggregateKind, TypeId};

/// Longest text of one struct: damaged debug information can nest anonymous ones so that it would
/// never end.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// What the text is compiled as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// GNU C.
    #[default]
    C,
    /// GNU C++.
    Cxx,
}

/// A name inside an emitted struct, and where the engine says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// As written: the member's name, or another where C does not allow that.
    pub name: String,
    /// First bit from the start of the struct.
    pub first_bit: u64,
    /// Width in bits of a bitfield; `None` for others, which begin at a whole byte.
    pub width_bits: Option<u64>,
    /// Inside an anonymous struct or union.
    pub anonymous: bool,
}

/// A struct as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emitted {
    /// Every name that can be addressed, in the order written.
    pub spots: Vec<Spot>,
    /// What the engine says of the whole.
    pub layout: Layout,
}

/// Writes structs of one arena as C.
pub struct Emitter<'a, 't> {
    abi: &'a Abi<'t>,
    language: Language,
    /// In front of all names that are made up.
    prefix: String,
    /// Tags of types held by value.
    nested: FxHashMap<TypeId, String>,
    /// Typedefs with an alignment of their own.
    aligned: FxHashMap<TypeId, String>,
    enum_sizes: FxHashSet<u64>,
    text: String,
}

/// A struct or union while it is written.
struct Body {
    text: String,
    spots: Vec<Spot>,
    /// To say which type an error is about.
    name: String,
}

/// Where a body stands: in a struct of its own, or inside another without a name.
#[derive(Clone, Copy)]
struct At {
    /// First bit of it from the start of the outermost struct.
    first_bit: u64,
    depth: u32,
    anonymous: bool,
}

impl<'a, 't> Emitter<'a, 't> {
    /// Nothing is written yet. Names that are made up begin with `prefix`.
    pub fn new(abi: &'a Abi<'t>, language: Language, prefix: &str) -> Self {
        Self {
            abi,
            language,
            prefix: prefix.to_owned(),
            nested: FxHashMap::default(),
            aligned: FxHashMap::default(),
            enum_sizes: FxHashSet::default(),
            text: String::new(),
        }
    }

    /// All definitions so far.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Defines `struct tag` with the atoms of `shape`, which was taken from `aggregate`, arranged
    /// so.
    ///
    /// # Errors
    /// When a member's type cannot be written in C.
    ///
    /// # Panics
    /// As [`Shape::lay_out`].
    pub fn define(
        &mut self,
        tag: &str,
        aggregate: &Aggregate,
        shape: &Shape,
        arrangement: &Arrangement,
    ) -> Result<Emitted, AbiError> {
        let layout = shape.lay_out(arrangement);
        let body = self.tagged(tag, aggregate, shape, arrangement, &layout, 0)?;
        Ok(Emitted {
            spots: body.spots,
            layout,
        })
    }

    /// Tag of a struct or union held by value: `struct x12`. Defines it at its first use, in the
    /// order that it has.
    fn nested(
        &mut self,
        id: TypeId,
        aggregate: &Aggregate,
        depth: u32,
    ) -> Result<String, AbiError> {
        if let Some(tag) = self.nested.get(&id) {
            return Ok(tag.clone());
        }
        let name = format!("{}{}", self.prefix, id.0);
        let tag = format!("{} {name}", keyword(aggregate));
        match self.abi.shape_at(aggregate, depth) {
            Ok(shape) => {
                let current = shape.current();
                let layout = shape.lay_out(&current);
                self.tagged(&name, aggregate, &shape, &current, &layout, depth)?;
            }
            Err(_) if aggregate.complete => self.opaque(&tag, id, aggregate)?,
            Err(e) => return Err(e),
        }
        self.nested.insert(id, tag.clone());
        Ok(tag)
    }

    /// What is no struct of C (a class with bases, a Rust enum) takes its room all the same.
    fn opaque(&mut self, tag: &str, id: TypeId, aggregate: &Aggregate) -> Result<(), AbiError> {
        let align = self.abi.align_of(id).unwrap_or(1);
        let size = aggregate.size;
        writeln!(
            self.text,
            "{tag} {{\n\tunsigned char bytes[{size}];\n}} __attribute__((aligned({align})));"
        )
        .expect("strings take all text");
        Ok(())
    }

    fn tagged(
        &mut self,
        name: &str,
        aggregate: &Aggregate,
        shape: &Shape,
        arrangement: &Arrangement,
        layout: &Layout,
        depth: u32,
    ) -> Result<Body, AbiError> {
        let mut body = Body {
            text: format!("{} {name} {{\n", keyword(aggregate)),
            spots: Vec::new(),
            name: shape.name.clone(),
        };
        let at = At {
            first_bit: 0,
            depth,
            anonymous: false,
        };
        self.members(&mut body, aggregate, shape, arrangement, layout, at)?;
        let align = (shape.type_align.max(arrangement.type_align)).max(match shape.head.end {
            0 => shape.head.align,
            _ => 1,
        });
        let attributes = attributes(shape.type_packed, over_1(align));
        self.text.push_str(&body.text);
        self.text.push_str(&format!("}}{attributes};\n"));
        Ok(body)
    }

    /// The members between the braces.
    fn members(
        &mut self,
        body: &mut Body,
        aggregate: &Aggregate,
        shape: &Shape,
        arrangement: &Arrangement,
        layout: &Layout,
        at: At,
    ) -> Result<(), AbiError> {
        if at.depth > DEPTH_MAX || body.text.len() > TEXT_BYTES_MAX {
            return Err(AbiError::NotC {
                name: body.name.clone(),
                member: String::new(),
                why: "it is nested too deeply".to_owned(),
            });
        }
        if shape.head.end > 0 {
            let name = format!("{}head{}", self.prefix, body.spots.len());
            let bytes = format!("unsigned char {name}[{}]", shape.head.end);
            push(body, &bytes, &attributes(false, over_1(shape.head.align)));
        }
        for &index in &arrangement.order {
            let atom = &shape.atoms[index];
            let forced = arrangement.align[index];
            unnamed(body, &atom.before);
            if atom.is_bitfields() {
                let firsts = &layout.places[index].bits;
                self.bitfields(body, aggregate, atom, forced, firsts, at)?;
            } else {
                let at = At {
                    first_bit: at.first_bit + layout.places[index].offset * 8,
                    ..at
                };
                self.member(body, aggregate, atom, forced, at)?;
            }
        }
        if shape.is_union && !shape.tail.is_empty() {
            body.text.push_str("struct {\n");
            unnamed(body, &shape.tail);
            push(body, "}", "");
        } else {
            unnamed(body, &shape.tail);
        }
        Ok(())
    }

    fn bitfields(
        &mut self,
        body: &mut Body,
        aggregate: &Aggregate,
        atom: &Atom,
        mut forced: u64,
        firsts: &[u64],
        at: At,
    ) -> Result<(), AbiError> {
        let mut members = atom.members.clone().zip(firsts);
        for field in &atom.bits {
            let Some((index, first)) = members.next_if_member(field) else {
                unnamed(body, std::slice::from_ref(field));
                continue;
            };
            let member = &aggregate.members[index];
            let ty = self.spell_bits(member.ty, field, at.depth, &body.name)?;
            if !field.named {
                push(body, &format!("{ty} : {}", field.width_bits), "");
                continue;
            }
            let forced = std::mem::replace(&mut forced, 1);
            let align = field.aligned.max(if forced > 1 { forced } else { 0 });
            let name = self.member_name(member.name.as_deref(), index, body);
            push(
                body,
                &format!("{ty} {name} : {}", field.width_bits),
                &attributes(field.packed, (align > 0).then_some(align)),
            );
            body.spots.push(Spot {
                name,
                first_bit: at.first_bit + first,
                width_bits: Some(field.width_bits),
                anonymous: at.anonymous,
            });
        }
        Ok(())
    }

    /// One member that is no bitfield; `at` says where it begins.
    fn member(
        &mut self,
        body: &mut Body,
        aggregate: &Aggregate,
        atom: &Atom,
        forced: u64,
        at: At,
    ) -> Result<(), AbiError> {
        let index = atom.members.start;
        let member = &aggregate.members[index];
        let align = atom.aligned.max(forced);
        if member.name.is_none()
            && !atom.packed
            && let Some(inner) = self.abi.aggregate(member.ty)
            && let Ok(shape) = self.abi.shape_at(inner, at.depth + 1)
        {
            return self.inlined(body, inner, &shape, align, at);
        }
        let (ty, dimensions) = self.spell(member.ty, at.depth + 1, &body.name)?;
        let name = self.member_name(member.name.as_deref(), index, body);
        push(
            body,
            &format!("{ty} {name}{dimensions}"),
            &attributes(atom.packed, over_1(align)),
        );
        body.spots.push(Spot {
            name,
            first_bit: at.first_bit,
            width_bits: None,
            anonymous: at.anonymous,
        });
        Ok(())
    }

    /// An anonymous struct or union, `align` forced on its type.
    fn inlined(
        &mut self,
        body: &mut Body,
        inner: &Aggregate,
        shape: &Shape,
        align: u64,
        at: At,
    ) -> Result<(), AbiError> {
        let current = shape.current();
        let layout = shape.lay_out(&current);
        body.text.push_str(&format!("{} {{\n", keyword(inner)));
        let at = At {
            depth: at.depth + 1,
            anonymous: true,
            ..at
        };
        self.members(body, inner, shape, &current, &layout, at)?;
        let attributes = attributes(shape.type_packed, over_1(align.max(shape.type_align)));
        push(body, "}", &attributes);
        Ok(())
    }

    /// The member's own name if C and C++ allow it there, or one that is made up.
    fn member_name(&self, name: Option<&str>, index: usize, body: &Body) -> String {
        match name {
            Some(name)
                if spell::is_identifier(name)
                    && !body
                        .spots
                        .iter()
                        .rev()
                        .take(64)
                        .any(|spot| spot.name == name) =>
            {
                name.to_owned()
            }
            _ => format!("{}m{index}_{}", self.prefix, body.spots.len()),
        }
    }
}

/// Takes the next member if a bitfield is one; others are inferred.
trait NextIfMember: Iterator {
    fn next_if_member(&mut self, field: &Bitfield) -> Option<Self::Item>;
}

impl<I: Iterator> NextIfMember for I {
    fn next_if_member(&mut self, field: &Bitfield) -> Option<I::Item> {
        if field.member { self.next() } else { None }
    }
}

fn keyword(aggregate: &Aggregate) -> &'static str {
    match aggregate.kind {
        AggregateKind::Union => "union",
        AggregateKind::Struct | AggregateKind::Class => "struct",
    }
}

/// Inferred bitfields, of unsigned integers.
fn unnamed(body: &mut Body, fields: &[Bitfield]) {
    for field in fields {
        let ty = spell::unsigned(field.unit_bits / 8).unwrap_or("unsigned char");
        push(body, &format!("{ty} : {}", field.width_bits), "");
    }
}

fn push(body: &mut Body, declaration: &str, attributes: &str) {
    for part in ["\t", declaration, attributes, ";\n"] {
        body.text.push_str(part);
    }
}

/// An alignment that says something of what is no bitfield.
fn over_1(align: u64) -> Option<u64> {
    Some(align).filter(|align| *align > 1)
}

/// ` __attribute__((packed, aligned(8)))`, or nothing.
fn attributes(packed: bool, align: Option<u64>) -> String {
    match (packed, align) {
        (false, None) => String::new(),
        (true, None) => " __attribute__((packed))".to_owned(),
        (false, Some(align)) => format!(" __attribute__((aligned({align})))"),
        (true, Some(align)) => format!(" __attribute__((packed, aligned({align})))"),
    }
}
