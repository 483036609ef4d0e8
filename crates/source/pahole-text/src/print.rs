//! Text of types from their head to their closing brace.

use std::fmt::Write;

use relayout_layout::{
    Aggregate, AggregateGaps, AggregateKind, Member, MemberAccess, NESTING_MAX, Type,
};

use crate::frame::{NAME_WIDTH_UNION, PrintFrame};
use crate::options::PaholeVersion;
use crate::printer::{InlineType, LayoutComment, LayoutPrinter, MemberDeclarator, PACKED};
use crate::{align, footer, variants};

/// Size of an enumeration that is not packed.
const INT_BYTES: u64 = 4;

/// Size of a pointer: padding up to it needs no explanation.
const POINTER_BYTES: u64 = 8;

/// Most members of forced padding that are written out.
const FORCED_MEMBERS_MAX: u64 = 4096;

impl LayoutPrinter<'_> {
    pub(super) fn write_top_struct(&mut self, aggregate: &Aggregate) {
        self.write_head(aggregate);
        let (gaps, counts) = self.write_struct_body(aggregate, &PrintFrame::outermost(false));
        self.write_forced_padding(aggregate, &gaps);
        if let Some(alternatives) = &aggregate.variants {
            variants::write_variants(&mut self.out, self.types, alternatives);
        }
        footer::write_footer(&mut self.out, 1, aggregate, &gaps, &counts, self.options);
        self.push("}");
        let is_packed = self.facts.is_packed(aggregate, &gaps);
        self.write_packed(is_packed);
        self.write_aligned(aggregate, is_packed);
        self.push(";\n");
    }

    pub(super) fn write_top_union(&mut self, aggregate: &Aggregate) {
        if !self.options.expand {
            self.name_width = NAME_WIDTH_UNION;
        }
        self.write_head(aggregate);
        self.write_union_body(aggregate, &PrintFrame::outermost(true));
        self.push("};\n");
    }

    pub(super) fn write_top_enum(
        &mut self,
        name: Option<&str>,
        enumerators: &[(String, i128)],
        size: u64,
    ) {
        self.write_enum_body(name, enumerators, 0);
        self.write_packed(size != INT_BYTES);
        self.push(";\n");
    }

    fn write_head(&mut self, aggregate: &Aggregate) {
        self.push(aggregate.kind.keyword());
        if let Some(name) = &aggregate.name {
            self.push(" ");
            self.push(name);
        }
        let mut separator = " : ";
        for base in self.base_classes(aggregate) {
            self.push(separator);
            self.push(&base);
            separator = ", ";
        }
        self.push(" {\n");
    }

    /// Returns the base classes as the head has them: `public Plain`. Virtual ones come last.
    fn base_classes(&self, aggregate: &Aggregate) -> Vec<String> {
        let access = aggregate.access.as_deref();
        let spelled = |id, stated: Option<MemberAccess>| match self.types.get(id) {
            Type::Aggregate(base) => {
                let name = base.name.as_deref().unwrap_or_default();
                Some(match stated {
                    Some(stated) => format!("{} {name}", stated.keyword()),
                    None => name.to_owned(),
                })
            }
            _ => None,
        };
        let members = aggregate.members.iter().enumerate();
        let plain = members.filter(|(_, member)| self.is_base(member));
        let plain = plain.filter_map(|(index, member)| {
            let stated = access.and_then(|access| access.members.get(index).copied());
            spelled(member.ty, stated.flatten())
        });
        let virtuals = aggregate.virtual_bases.iter().enumerate();
        let virtuals = virtuals.filter_map(|(index, id)| {
            let stated = access.and_then(|access| access.virtual_bases.get(index).copied());
            Some(format!("virtual {}", spelled(*id, stated.flatten())?))
        });
        plain.chain(virtuals).collect()
    }

    fn write_packed(&mut self, is_packed: bool) {
        if is_packed {
            self.push(PACKED);
        }
    }

    /// Writes the declared or inferred alignment of a struct that is not packed.
    fn write_aligned(&mut self, aggregate: &Aggregate, is_packed: bool) {
        if let Some(align) = align::type_align(&self.facts, aggregate, self.options)
            && !is_packed
        {
            let _ = write!(self.out, " __attribute__((__aligned__({align})))");
        }
    }

    fn write_enum_body(
        &mut self,
        name: Option<&str>,
        enumerators: &[(String, i128)],
        indent: usize,
    ) {
        self.push("enum ");
        if let Some(name) = name {
            self.push(name);
            self.push(" ");
        }
        self.push("{\n");
        let lengths = enumerators.iter().map(|(name, _)| name.len());
        let width = lengths.max().unwrap_or(0);
        for (name, value) in enumerators {
            // Before 1.30, pahole takes the 32 bits of numbers in BTF without their sign.
            let is_old = self.options.version == PaholeVersion::V1_24;
            let value = match i32::try_from(*value) {
                Ok(value) if is_old && !self.options.alignments_known => {
                    i128::from(value.cast_unsigned())
                }
                _ => *value,
            };
            self.push_tabs(indent + 1);
            let _ = writeln!(self.out, "{name:width$} = {value},");
        }
        self.push_tabs(indent);
        self.push("}");
    }

    /// Prints an anonymous type, or with [`Options::expand`](crate::Options::expand) any type, in
    /// place with the name behind it. `None` if the type belongs into a column instead.
    pub(super) fn write_inline(
        &mut self,
        member: &Member,
        declared: &MemberDeclarator,
        frame: &PrintFrame,
    ) -> Option<InlineType> {
        let types = self.types;
        if frame.depth > NESTING_MAX || self.out.len() > self.options.text_bytes_max {
            return None;
        }
        match types.get(declared.id) {
            Type::Aggregate(aggregate) if aggregate.complete => {
                let is_expanded = self.options.expand && !declared.is_pointed();
                if aggregate.name.is_some() && !is_expanded {
                    return None;
                }
                Some(self.write_inline_aggregate(aggregate, member, declared, frame))
            }
            Type::Enum {
                name,
                enumerators,
                size,
            } if name.is_none() || declared.is_resolved || self.expands_enums() => {
                self.write_enum_body(name.as_deref(), enumerators, frame.indent);
                let is_packed = *size != INT_BYTES;
                self.write_packed(is_packed);
                self.write_inline_name(member, declared, name.is_some());
                self.push(&declared.suffix);
                Some(InlineType {
                    is_named: name.is_some(),
                    is_packed: false,
                })
            }
            _ => None,
        }
    }

    /// Returns true if enumerations with a name are printed in place.
    fn expands_enums(&self) -> bool {
        self.options.expand && self.options.version == PaholeVersion::V1_30
    }

    fn write_inline_aggregate(
        &mut self,
        aggregate: &Aggregate,
        member: &Member,
        declared: &MemberDeclarator,
        frame: &PrintFrame,
    ) -> InlineType {
        let is_named = aggregate.name.is_some();
        let is_union = aggregate.kind == AggregateKind::Union;
        let qualifiers = declared.qualifiers.len() as i64;
        let in_union = is_union || frame.in_union;
        let inner = match declared.is_pointed() {
            true => frame.behind_pointer(qualifiers, in_union),
            false => frame.inside(member.offset, qualifiers, in_union),
        };
        self.write_head(aggregate);
        let mut is_packed = false;
        if is_union {
            self.write_union_body(aggregate, &inner);
            self.push_tabs(frame.indent);
            self.push("}");
            self.write_inline_name(member, declared, is_named);
            self.push(&declared.suffix);
        } else {
            let (gaps, counts) = self.write_struct_body(aggregate, &inner);
            // An inner struct has statistics only behind a qualifier.
            if !declared.qualifiers.is_empty() {
                let (out, options) = (&mut self.out, self.options);
                footer::write_footer(out, inner.indent, aggregate, &gaps, &counts, options);
            }
            self.push_tabs(frame.indent);
            self.push("}");
            is_packed =
                self.facts.is_packed_here(declared.id) || self.facts.is_packed(aggregate, &gaps);
            self.write_packed(is_packed);
            // In an array, and behind a typedef or a pointer, the name comes before the alignment.
            let is_derived = declared.is_resolved || declared.is_pointed();
            if !declared.suffix.is_empty() || is_derived {
                self.write_inline_name(member, declared, is_named);
                self.write_aligned(aggregate, is_packed);
            } else {
                self.write_aligned(aggregate, is_packed);
                self.write_inline_name(member, declared, is_named);
            }
            self.push(&declared.suffix);
        }
        InlineType {
            is_named,
            is_packed,
        }
    }

    /// Writes padding larger than a pointer as bitfields.
    fn write_forced_padding(&mut self, aggregate: &Aggregate, gaps: &AggregateGaps) {
        let Some(last) = aggregate.members.last() else {
            return;
        };
        let known = self.options.alignments_known && aggregate.declared_align.is_none();
        if !known || gaps.padding <= POINTER_BYTES {
            return;
        }
        let size = self.types.storage_size(last);
        if !size.is_power_of_two() || gaps.padding / size > FORCED_MEMBERS_MAX {
            return;
        }
        let frame = PrintFrame::outermost(false);
        self.push("\n\t/* Force padding: */\n");
        for _ in 0..gaps.padding.div_ceil(size) {
            self.push_tabs(1);
            self.write_comment(
                LayoutComment::UnnamedBitfield(last.ty, size.saturating_mul(8)),
                &frame,
            );
            self.push("\n");
        }
    }
}
