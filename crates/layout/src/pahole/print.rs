//! Members in columns, with comments about what is between them.

use std::fmt::Write;

use super::footer::{self, Counts};
use super::holes::{Gaps, storage_size};
use super::{Options, names, packed};
use crate::types::DEPTH_MAX;
use crate::{Aggregate, AggregateKind, Member, Type, TypeId, Types};

/// Text is cut here: shared anonymous types in damaged debug information multiply.
const TEXT_BYTES_MAX: usize = 64 << 20;

const TYPE_WIDTH: i64 = 26;
const NAME_WIDTH: i64 = 23;
const NAME_WIDTH_UNION: i64 = 21;
const NAME_WIDTH_EXPANDED: i64 = 55;

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
        let name_width = if options.expand {
            NAME_WIDTH_EXPANDED
        } else {
            NAME_WIDTH
        };
        Self {
            types,
            options,
            out: String::new(),
            line: 0,
            name_width,
        }
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    pub(super) fn top_struct(&mut self, aggregate: &Aggregate) {
        self.head(aggregate);
        let (gaps, counts) = self.struct_body(aggregate, &Frame::top());
        self.force_padding(aggregate, &gaps);
        footer::write(&mut self.out, aggregate, &gaps, &counts, self.options);
        self.tail(aggregate, &gaps, 0);
        self.out.push_str(";\n");
    }

    pub(super) fn top_union(&mut self, aggregate: &Aggregate) {
        if !self.options.expand {
            self.name_width = NAME_WIDTH_UNION;
        }
        self.head(aggregate);
        self.union_body(aggregate, &Frame::top());
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
            self.push(" __attribute__((__packed__))");
        }
        if let Some(align) = aggregate.declared_align {
            let _ = write!(self.out, " __attribute__((__aligned__({align})))");
        }
    }

    fn struct_body(&mut self, aggregate: &Aggregate, frame: &Frame) -> (Gaps, Counts) {
        let gaps = Gaps::of(self.types, aggregate);
        let mut counts = Counts::default();
        let mut comments: Vec<String> = Vec::new();
        describe_gap(&mut comments, gaps.before.bytes, gaps.before.bits);
        let mut before = gaps.before.bytes;
        let mut last: Option<&Member> = None;
        for (index, member) in aggregate.members.iter().enumerate() {
            if member.declared_align.is_some() {
                counts.forced += 1;
                counts.forced_holes += u64::from(before > 0);
                counts.forced_hole_bytes += before;
            }
            if let Some(last) = last {
                self.describe_overlap(&mut comments, last, member);
            }
            self.comments(&mut comments, frame, last.is_some());
            if let Some(last) = last {
                let bits = gaps.after[index - 1].bits;
                if gaps.after[index - 1].bytes == 0 && bits > 0 {
                    self.force_alignment(last, member, frame);
                }
                if last.offset != member.offset {
                    self.boundary(frame, member.offset);
                }
            }
            self.tabs(frame.indent);
            self.member(member, frame);
            self.out.push('\n');
            self.count(member, &mut counts, &mut comments);
            describe_gap(
                &mut comments,
                gaps.after[index].bytes,
                gaps.after[index].bits,
            );
            before = gaps.after[index].bytes;
            last = Some(member);
        }
        if !comments.is_empty() {
            self.comments(&mut comments, frame, true);
            // The footer, or the closing brace, brings its own distance.
            self.out.pop();
        }
        (gaps, counts)
    }

    fn union_body(&mut self, aggregate: &Aggregate, frame: &Frame) {
        for member in &aggregate.members {
            self.tabs(frame.indent);
            self.member(member, frame);
            self.out.push('\n');
        }
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
    fn member(&mut self, member: &Member, frame: &Frame) {
        let start = self.out.len();
        let declared = self.take_apart(member);
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
        let mut aligned = 0;
        if let Some(align) = member.declared_align {
            let text = format!(" __attribute__((__aligned__({align})))");
            aligned = text.len() as i64;
            self.push(&text);
        }
        self.push(";");
        let room = frame.type_width + self.name_width;
        let spacing = if inline && declared.suffix.is_empty() && declared.stars.is_empty() {
            room - name_len - 3 - aligned
        } else {
            room - (self.out.len() - start) as i64
        };
        self.place_comment(member, frame, spacing);
    }

    fn place_comment(&mut self, member: &Member, frame: &Frame, spacing: i64) {
        let spaces = usize::try_from(spacing).unwrap_or(0).max(1);
        let _ = write!(self.out, "{:spaces$}", "");
        let offset = frame.base.saturating_add(member.offset);
        let size = storage_size(self.types, member);
        let hex = self.options.hex;
        if hex {
            let _ = write!(self.out, "/* {offset:#5x}");
        } else {
            let _ = write!(self.out, "/* {offset:5}");
        }
        let mut size_width = 5;
        if let Some(bits) = member.bits {
            let bit = bits
                .offset_bits
                .saturating_sub(member.offset.saturating_mul(8));
            let _ = if hex {
                write!(self.out, ":{bit:#2x}")
            } else {
                write!(self.out, ":{bit:2}")
            };
            size_width = 2;
        }
        let _ = if hex {
            write!(self.out, " {size:#size_width$x} */")
        } else {
            write!(self.out, " {size:size_width$} */")
        };
    }

    /// Peels qualifiers, arrays and pointers off a type as far as the columns need it.
    fn take_apart(&self, member: &Member) -> Declared {
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
                    for count in counts {
                        let _ = match count {
                            Some(count) => write!(found.suffix, "[{count}]"),
                            None => write!(found.suffix, "[]"),
                        };
                    }
                    found.id = *element;
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

    fn is_anonymous(&self, id: TypeId) -> bool {
        match self.types.get(id) {
            Type::Aggregate(aggregate) => aggregate.name.is_none() && aggregate.complete,
            Type::Enum { name, .. } => name.is_none(),
            _ => false,
        }
    }

    /// Prints an anonymous (or expanded) type in place, with the name behind it. False when the
    /// type goes into a column instead.
    fn inline(&mut self, declared: &Declared, name: &str, frame: &Frame, offset: u64) -> bool {
        let types = self.types;
        let id = if self.options.expand {
            types.strip(declared.id)
        } else {
            declared.id
        };
        if frame.depth > DEPTH_MAX || self.out.len() > TEXT_BYTES_MAX {
            return false;
        }
        match types.get(id) {
            Type::Aggregate(aggregate)
                if aggregate.complete && (aggregate.name.is_none() || self.options.expand) =>
            {
                let pointed = !declared.stars.is_empty();
                let base = if pointed {
                    0
                } else {
                    frame.base.saturating_add(offset)
                };
                let inner = frame.inner(base);
                self.head(aggregate);
                if aggregate.kind == AggregateKind::Union {
                    self.union_body(aggregate, &inner);
                    self.tabs(frame.indent);
                    self.push("}");
                    self.declared_align(aggregate);
                } else {
                    let (gaps, _) = self.struct_body(aggregate, &inner);
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

    fn declared_align(&mut self, aggregate: &Aggregate) {
        if let Some(align) = aggregate.declared_align {
            let _ = write!(self.out, " __attribute__((__aligned__({align})))");
        }
    }

    fn columns(&mut self, declared: &Declared, name: &str, width: i64) {
        let width = usize::try_from(width).unwrap_or(0);
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
            let left = names::type_name(types, result);
            let name = format!("{name}{}", declared.suffix);
            let right = names::function_pointer(types, &name, params, variadic);
            let _ = write!(self.out, "{left:width$} {right}");
        } else {
            let left = names::type_name(types, Some(declared.id));
            let _ = write!(self.out, "{left:width$} {name}{}", declared.suffix);
        }
    }

    fn count(&self, member: &Member, counts: &mut Counts, comments: &mut Vec<String>) {
        match member.bits {
            Some(bits) => counts.member_bits += bits.size_bits,
            None => {
                let size = storage_size(self.types, member);
                counts.member_bytes = counts.member_bytes.saturating_add(size);
            }
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

    /// Bitfields of other types may share the bytes of their neighbours.
    fn describe_overlap(&self, comments: &mut Vec<String>, last: &Member, member: &Member) {
        let last_size = storage_size(self.types, last);
        if last_size == 0 {
            return;
        }
        let joins = last.offset == member.offset && last.bits.is_none() && member.bits.is_some();
        if member.offset < last.offset || joins {
            comments.push("/* Bitfield combined with previous fields */".to_owned());
        } else if member.offset > last.offset && member.offset - last.offset < last_size {
            comments.push("/* Bitfield combined with next fields */".to_owned());
        }
    }

    /// Two bitfields of which the second could have begun in the bits that the first left.
    fn force_alignment(&mut self, last: &Member, member: &Member, frame: &Frame) {
        if !self.options.alignments_known || last.bits.is_none() || member.bits.is_none() {
            return;
        }
        self.tabs(frame.indent);
        self.push("/* Force alignment to the next boundary: */\n");
        self.unnamed_bitfield(last.ty, 0, frame);
        self.push("\n");
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
            self.tabs(1);
            self.unnamed_bitfield(last.ty, size * 8, &frame);
        }
    }

    fn unnamed_bitfield(&mut self, ty: TypeId, bits: u64, frame: &Frame) {
        let width = usize::try_from(frame.type_width).unwrap_or(0);
        let left = names::type_name(self.types, Some(ty));
        let _ = writeln!(self.out, "{left:width$} :{bits};");
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
            self.tabs(frame.indent);
            self.push(&comment);
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
        }
    }

    /// The frame of an aggregate that is printed in place of a member's type.
    fn inner(&self, base: u64) -> Self {
        Self {
            indent: self.indent + 1,
            type_width: self.type_width - 8,
            base,
            depth: self.depth + 1,
        }
    }
}

fn describe_gap(comments: &mut Vec<String>, bytes: u64, bits: u64) {
    for (count, unit) in [(bits, "bit"), (bytes, "byte")] {
        if count > 0 {
            let s = plural(count);
            comments.push(format!("/* XXX {count} {unit}{s} hole, try to pack */"));
        }
    }
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}
