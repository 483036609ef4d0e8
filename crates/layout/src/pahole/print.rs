//! Members in columns, with comments about what is between them.

use std::fmt::Write;

use super::footer::{self, Counts};
use super::holes::{Gaps, MemberGap, storage_size};
use super::{Options, align, names, packed};
use crate::types::DEPTH_MAX;
use crate::{Aggregate, AggregateKind, Member, Type, TypeId, Types};

/// Text is cut here: shared anonymous types in damaged debug information multiply.
const TEXT_BYTES_MAX: usize = 16 << 20;

const PACKED: &str = " __attribute__((__packed__))";

const TYPE_WIDTH: i64 = 26;
const NAME_WIDTH: i64 = 23;
const NAME_WIDTH_UNION: i64 = 21;

pub(super) struct Printer<'t> {
    types: &'t Types,
    options: &'t Options,
    out: String,
    /// Last cache line whose boundary has been printed.
    line: u64,
    name_width: i64,
}

/// Where an aggregate is printed.
#[derive(Clone, Copy)]
struct Frame {
    /// Tabs before its members.
    indent: usize,
    /// Width of the type column.
    type_width: i64,
    /// Offset of the aggregate from the outermost one, in bytes.
    base: u64,
    depth: u32,
    /// A union is somewhere around.
    in_union: bool,
    /// The member at hand is the last of several in a struct.
    last: bool,
}

/// The member printed before the one at hand.
struct Last<'m> {
    member: &'m Member,
    /// What is unused after it.
    gap: MemberGap,
    /// Bytes it reaches over, with the unit that its bitfields share.
    size: u64,
}

/// A member's type, taken apart the way C declares it.
struct Declared {
    /// Qualifiers in front of a type that is printed in place.
    prefix: String,
    /// The type behind them.
    id: TypeId,
    /// What stands right of the name.
    suffix: String,
    /// What stands left of the name (`* ` for pointers to anonymous types).
    stars: &'static str,
}

impl<'t> Printer<'t> {
    pub(super) fn new(types: &'t Types, options: &'t Options) -> Self {
        Self {
            types,
            options,
            out: String::new(),
            line: 0,
            name_width: NAME_WIDTH,
        }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    pub(super) fn top_struct(&mut self, aggregate: &Aggregate) {
        self.head(aggregate);
        let (gaps, counts) = self.struct_body(aggregate, &Frame::top());
        self.force_padding(aggregate, &gaps);
        footer::write(&mut self.out, 1, aggregate, &gaps, &counts, self.options);
        self.tail(aggregate, &gaps, 0);
        self.out.push_str(";\n");
    }

    pub(super) fn top_union(&mut self, aggregate: &Aggregate) {
        self.name_width = NAME_WIDTH_UNION;
        self.head(aggregate);
        self.union_body(
            aggregate,
            &Frame {
                in_union: true,
                ..Frame::top()
            },
        );
        self.out.push_str("};\n");
    }

    pub(super) fn top_enum(&mut self, name: Option<&str>, enumerators: &[(String, i128)]) {
        self.enum_body(name, enumerators, 0);
        self.out.push_str(";\n");
    }

    fn head(&mut self, aggregate: &Aggregate) {
        self.push(&aggregate.kind.to_string());
        if let Some(name) = &aggregate.name {
            self.push(" ");
            self.push(name);
        }
        self.push(" {\n");
    }

    fn tail(&mut self, aggregate: &Aggregate, gaps: &Gaps, indent: usize) {
        self.tabs(indent);
        self.push("}");
        if packed::is_packed(self.types, aggregate, gaps) {
            self.push(PACKED);
        } else if let Some(align) = align::of_type(self.types, aggregate, self.options) {
            let _ = write!(self.out, " __attribute__((__aligned__({align})))");
        }
    }

    fn struct_body(&mut self, aggregate: &Aggregate, frame: &Frame) -> (Gaps, Counts) {
        let gaps = Gaps::of(self.types, aggregate);
        let mut counts = Counts::default();
        let mut comments = gap_comments(gaps.before);
        let mut last: Option<Last<'_>> = None;
        let several = aggregate.members.len() > 1;
        let aligns = align::of_members(self.types, aggregate, self.options);
        for (index, member) in aggregate.members.iter().enumerate() {
            let gap = last.as_ref().map_or(gaps.before, |last| last.gap);
            counts.align(aligns[index], gap);
            let size = storage_size(self.types, member);
            self.between(&mut comments, last.as_ref(), member, gap, frame);
            self.tabs(frame.indent);
            let at_end = several && index + 1 == aggregate.members.len();
            self.member(
                member,
                aligns[index],
                &Frame {
                    last: at_end,
                    ..*frame
                },
            );
            self.out.push('\n');
            self.count(member, size, &mut counts, &mut comments);
            let gap = gaps.after[index];
            comments.extend(gap_comments(gap));
            last = Some(Last {
                member,
                gap,
                size: last.map_or(size, |last| last.carry(member, size)),
            });
        }
        if !comments.is_empty() {
            self.comments(&mut comments, frame, true);
            // The footer, or the closing brace, brings its own distance.
            self.out.pop();
        }
        (gaps, counts)
    }

    /// What stands between two members: comments about both, forced alignments, a boundary.
    fn between(
        &mut self,
        comments: &mut Vec<String>,
        last: Option<&Last<'_>>,
        member: &Member,
        gap: MemberGap,
        frame: &Frame,
    ) {
        comments.extend(
            last.and_then(|last| last.overlap(member))
                .map(str::to_owned),
        );
        if member.bits.is_some() && gap.bits > 0 {
            if last.is_some_and(|last| last.shares_unit(member)) {
                comments.push(self.unnamed_bitfield(member.ty, gap.bits, frame));
            } else if gap.bytes == 0 {
                comments.push(String::new());
                comments.push("/* Force alignment to the next boundary: */".to_owned());
                comments.push(self.unnamed_bitfield(member.ty, 0, frame));
            }
        }
        self.comments(comments, frame, last.is_some());
        if last.is_some_and(|last| last.member.offset != member.offset) {
            self.boundary(frame, member.offset);
        }
    }

    /// Members of a union all begin at its start, so each counts cache lines from there.
    fn union_body(&mut self, aggregate: &Aggregate, frame: &Frame) {
        let line = self.line;
        let aligns = align::of_members(self.types, aggregate, self.options);
        for (member, align) in aggregate.members.iter().zip(aligns) {
            self.line = line;
            self.tabs(frame.indent);
            self.member(member, align, frame);
            self.out.push('\n');
        }
        self.line = line;
    }

    fn enum_body(&mut self, name: Option<&str>, enumerators: &[(String, i128)], indent: usize) {
        self.push("enum ");
        if let Some(name) = name {
            self.push(name);
            self.push(" ");
        }
        self.push("{\n");
        let width = enumerators
            .iter()
            .map(|(name, _)| name.len())
            .max()
            .unwrap_or(0);
        for (name, value) in enumerators {
            self.tabs(indent + 1);
            let _ = writeln!(self.out, "{name:width$} = {value},");
        }
        self.tabs(indent);
        self.push("}");
    }

    /// One member without its indentation and newline.
    fn member(&mut self, member: &Member, align: Option<u64>, frame: &Frame) {
        let start = self.out.len();
        let declared = self.take_apart(member, frame);
        let mut name = member.name.clone().unwrap_or_default();
        let name_len = member.name.as_ref().map_or(-1, |name| name.len() as i64);
        if let Some(bits) = member.bits {
            let _ = write!(name, ":{}", bits.size_bits);
        }
        let width = frame.type_width - declared.prefix.len() as i64;
        self.push(&declared.prefix);
        let inline = self.inline(&declared, &name, frame, member.offset);
        if !inline {
            self.columns(&declared, &name, width);
        }
        let mut attributes = if inline {
            self.packed_len(&declared)
        } else {
            0
        };
        if let Some(align) = align {
            let text = format!(" __attribute__((__aligned__({align})))");
            attributes += text.len() as i64;
            self.push(&text);
        }
        self.push(";");
        let room = frame.type_width + self.name_width;
        let plain = declared.prefix.is_empty() && declared.suffix.is_empty();
        let spacing = if inline && plain && declared.stars.is_empty() {
            // printf pads to the absolute value of a negative width.
            (room - name_len - 3 - attributes).abs()
        } else {
            room - (self.out.len() - start) as i64
        };
        self.place_comment(member, frame, spacing);
    }

    fn packed_len(&self, declared: &Declared) -> i64 {
        let Type::Aggregate(aggregate) = self.types.get(declared.id) else {
            return 0;
        };
        let packed = packed::is_packed(self.types, aggregate, &Gaps::of(self.types, aggregate));
        if packed { PACKED.len() as i64 } else { 0 }
    }

    fn place_comment(&mut self, member: &Member, frame: &Frame, spacing: i64) {
        let spaces = usize::try_from(spacing).unwrap_or(0).max(1);
        let _ = write!(self.out, "{:spaces$}", "");
        let offset = frame.base.saturating_add(member.offset);
        let size = storage_size(self.types, member);
        let number = |value: u64, width: usize| match self.options.hex {
            // C's %#x leaves the prefix off zero.
            true if value > 0 => format!("{value:#width$x}"),
            _ => format!("{value:width$}"),
        };
        let _ = write!(self.out, "/* {}", number(offset, 5));
        let mut size_width = 5;
        if let Some(bits) = member.bits {
            let bit = bits
                .offset_bits
                .saturating_sub(member.offset.saturating_mul(8));
            let _ = write!(self.out, ":{}", number(bit, 2));
            size_width = 2;
        }
        let _ = write!(self.out, " {} */", number(size, size_width));
    }

    /// Peels qualifiers, arrays and pointers off a type as far as the columns need it.
    fn take_apart(&self, member: &Member, frame: &Frame) -> Declared {
        let mut found = Declared {
            prefix: String::new(),
            id: member.ty,
            suffix: String::new(),
            stars: "",
        };
        for _ in 0..DEPTH_MAX {
            match self.types.get(found.id) {
                Type::Qualified {
                    qualifier,
                    target: Some(target),
                } => {
                    let _ = write!(found.prefix, "{qualifier} ");
                    found.id = *target;
                }
                Type::Array { element, counts } => {
                    self.push_counts(counts, frame, &mut found.suffix);
                    found.id = *element;
                    // The const of an array is repeated on its elements.
                    if empty_array(counts)
                        && let Type::Qualified {
                            qualifier: "const",
                            target: Some(target),
                        } = self.types.get(*element)
                    {
                        found.id = *target;
                    }
                }
                Type::Pointer {
                    target: Some(target),
                    ..
                } if self.is_anonymous(*target) => {
                    found.stars = "* ";
                    found.id = *target;
                    break;
                }
                _ => break,
            }
        }
        found
    }

    /// A flexible array shows as `[]` where C allows one, and as `[0]` elsewhere.
    fn push_counts(&self, counts: &[Option<u64>], frame: &Frame, out: &mut String) {
        for count in counts {
            let _ = match count {
                Some(count) if *count > 0 => write!(out, "[{count}]"),
                _ if frame.last && !frame.in_union => write!(out, "[]"),
                _ => write!(out, "[0]"),
            };
        }
    }

    fn is_anonymous(&self, id: TypeId) -> bool {
        match self.types.get(id) {
            Type::Aggregate(aggregate) => aggregate.name.is_none() && aggregate.complete,
            Type::Enum { name, .. } => name.is_none(),
            _ => false,
        }
    }

    /// Prints an anonymous type in place, with the name behind it. False when the
    /// type goes into a column instead.
    fn inline(&mut self, declared: &Declared, name: &str, frame: &Frame, offset: u64) -> bool {
        let types = self.types;
        if frame.depth > DEPTH_MAX || self.out.len() > TEXT_BYTES_MAX {
            return false;
        }
        match types.get(declared.id) {
            Type::Aggregate(aggregate) if aggregate.complete && aggregate.name.is_none() => {
                let pointed = !declared.stars.is_empty();
                let base = if pointed {
                    0
                } else {
                    frame.base.saturating_add(offset)
                };
                // Behind a pointer the columns shrink twice, and offsets begin anew.
                let pointer_width = if pointed { 8 } else { 0 };
                let narrower = declared.prefix.len() as i64 + pointer_width;
                self.head(aggregate);
                if aggregate.kind == AggregateKind::Union {
                    self.union_body(aggregate, &frame.inner(base, narrower, true));
                    self.tabs(frame.indent);
                    self.push("}");
                } else {
                    let inner = frame.inner(base, narrower, frame.in_union);
                    let (gaps, counts) = self.struct_body(aggregate, &inner);
                    // Only through a qualifier does an inner struct keep its statistics.
                    if !declared.prefix.is_empty() {
                        let options = self.options;
                        footer::write(
                            &mut self.out,
                            inner.indent,
                            aggregate,
                            &gaps,
                            &counts,
                            options,
                        );
                    }
                    self.tail(aggregate, &gaps, frame.indent);
                }
            }
            Type::Enum {
                name: None,
                enumerators,
                ..
            } => {
                self.enum_body(None, enumerators, frame.indent);
            }
            _ => return false,
        }
        if !name.is_empty() {
            let _ = write!(self.out, " {}{name}{}", declared.stars, declared.suffix);
        }
        true
    }

    fn columns(&mut self, declared: &Declared, name: &str, width: i64) {
        let types = self.types;
        let function = match types.get(declared.id) {
            Type::Pointer {
                target: Some(target),
                ..
            } => match types.get(*target) {
                Type::Function {
                    result,
                    params,
                    variadic,
                } => Some((*result, params, *variadic)),
                _ => None,
            },
            _ => None,
        };
        if let Some((result, params, variadic)) = function {
            let left = names::type_column(types, result, width);
            let right = names::function_pointer(types, name, params, variadic);
            // Not C for an array, but what pahole writes.
            let _ = write!(self.out, "{left} {right}{}", declared.suffix);
        } else {
            let left = names::type_column(types, Some(declared.id), width);
            let _ = write!(self.out, "{left} {name}{}", declared.suffix);
        }
    }

    /// Adds the member to the counts, and says so if its struct ends in padding.
    fn count(&self, member: &Member, size: u64, counts: &mut Counts, comments: &mut Vec<String>) {
        match member.bits {
            Some(bits) => counts.member_bits = counts.member_bits.saturating_add(bits.size_bits),
            None => counts.member_bytes = counts.member_bytes.saturating_add(size),
        }
        let Type::Aggregate(inner) = self.types.get(member.ty) else {
            return;
        };
        let padding = Gaps::of(self.types, inner).padding;
        if inner.complete && inner.kind != AggregateKind::Union && padding > 0 {
            counts.paddings += 1;
            counts.padding_bytes = counts.padding_bytes.saturating_add(padding);
            let s = plural(padding);
            comments.push(format!(
                "/* XXX last struct has {padding} byte{s} of padding */"
            ));
        }
    }

    /// Padding beyond what the largest member explains, written out as bitfields.
    fn force_padding(&mut self, aggregate: &Aggregate, gaps: &Gaps) {
        let Some(last) = aggregate.members.last() else {
            return;
        };
        let natural = aggregate
            .members
            .iter()
            .map(|m| packed::natural_align(self.types, m.ty))
            .max();
        let known = self.options.alignments_known && aggregate.declared_align.is_none();
        if !known || gaps.padding < natural.unwrap_or(1) {
            return;
        }
        let size = storage_size(self.types, last);
        if size == 0 || gaps.padding / size > 4096 {
            return;
        }
        let frame = Frame::top();
        self.push("\n\t/* Force padding: */\n");
        for _ in 0..gaps.padding / size {
            let line = self.unnamed_bitfield(last.ty, size * 8, &frame);
            self.tabs(1);
            self.push(&line);
            self.push("\n");
        }
    }

    fn unnamed_bitfield(&self, ty: TypeId, bits: u64, frame: &Frame) -> String {
        let left = names::type_column(self.types, Some(ty), frame.type_width);
        format!("{left} :{bits};")
    }

    /// A group of comments with a blank line after it, and before it where something precedes.
    fn comments(&mut self, comments: &mut Vec<String>, frame: &Frame, preceded: bool) {
        if comments.is_empty() {
            return;
        }
        if preceded {
            self.out.push('\n');
        }
        for comment in comments.drain(..) {
            if !comment.is_empty() {
                self.tabs(frame.indent);
                self.push(&comment);
            }
            self.out.push('\n');
        }
        self.out.push('\n');
    }

    fn boundary(&mut self, frame: &Frame, offset: u64) {
        let size = self.options.cacheline_size.max(1);
        let offset = frame.base.saturating_add(offset);
        let line = offset / size;
        if line <= self.line {
            return;
        }
        self.line = line;
        self.tabs(frame.indent);
        let (bytes, past) = (line * size, offset % size);
        let _ = write!(self.out, "/* --- cacheline {line} boundary ({bytes} bytes)");
        if past > 0 {
            let _ = write!(self.out, " was {past} byte{} ago", plural(past));
        }
        self.push(" --- */\n");
    }

    fn tabs(&mut self, count: usize) {
        self.out.extend(std::iter::repeat_n('\t', count));
    }

    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }
}

impl Frame {
    fn top() -> Self {
        Self {
            indent: 1,
            type_width: TYPE_WIDTH,
            base: 0,
            depth: 0,
            in_union: false,
            last: false,
        }
    }

    /// The frame of an aggregate that is printed in place of a member's type.
    /// `narrower` is the width that qualifiers and stars take from the type column.
    fn inner(&self, base: u64, narrower: i64, in_union: bool) -> Self {
        Self {
            indent: self.indent + 1,
            type_width: self.type_width - narrower - 8,
            in_union,
            base,
            depth: self.depth + 1,
            ..*self
        }
    }
}

impl Last<'_> {
    /// Bitfields of other types may share the bytes of their neighbours.
    fn overlap(&self, member: &Member) -> Option<&'static str> {
        let last = self.member;
        let joins = last.offset == member.offset && last.bits.is_none() && member.bits.is_some();
        if self.size == 0 {
            None
        } else if member.offset < last.offset || joins {
            Some("/* Bitfield combined with previous fields */")
        } else if member.offset > last.offset && member.offset - last.offset < self.size {
            Some("/* Bitfield combined with next fields */")
        } else {
            None
        }
    }

    /// Both are bitfields of one storage unit.
    fn shares_unit(&self, member: &Member) -> bool {
        self.member.bits.is_some() && member.bits.is_some() && self.member.offset == member.offset
    }

    /// Bytes to reckon with after `member`: a smaller bitfield does not end a larger unit.
    fn carry(&self, member: &Member, size: u64) -> u64 {
        if self.shares_unit(member) {
            size.max(self.size)
        } else {
            size
        }
    }
}

impl Counts {
    fn align(&mut self, align: Option<u64>, before: MemberGap) {
        if align.is_some() {
            self.forced += 1;
            self.forced_holes += u64::from(before.bytes > 0);
            self.forced_hole_bytes = self.forced_hole_bytes.saturating_add(before.bytes);
        }
    }
}

fn gap_comments(gap: MemberGap) -> Vec<String> {
    [(gap.bits, "bit"), (gap.bytes, "byte")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, unit)| {
            format!(
                "/* XXX {count} {unit}{} hole, try to pack */",
                plural(count)
            )
        })
        .collect()
}

fn empty_array(counts: &[Option<u64>]) -> bool {
    matches!(counts.first(), Some(None | Some(0)))
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}
