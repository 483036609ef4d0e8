//! Text of one member: its type, its name, its offset and size.

use std::fmt::Write;

use relayout_layout::{Member, NESTING_MAX, Type, TypeId};

use crate::column::{push_number, push_spaces};
use crate::frame::PrintFrame;
use crate::names;
use crate::options::PaholeVersion;
use crate::printer::{LayoutPrinter, MemberDeclarator, PACKED};

impl LayoutPrinter<'_> {
    /// Writes one member without its indentation and newline. `size` is the size of its type in
    /// bytes.
    pub(super) fn write_member(
        &mut self,
        member: &Member,
        size: u64,
        align: Option<u64>,
        frame: &PrintFrame,
    ) {
        if self.is_base(member) {
            self.write_base(member, size, frame);
            return;
        }
        let start = self.out.len();
        let mut declared = self.split_declarator(member, frame);
        let width = frame.type_width - declared.qualifiers.len() as i64;
        self.push(&declared.qualifiers);
        if self.options.expand && declared.qualifiers.is_empty() && !declared.is_pointed() {
            self.resolve_declarator(&mut declared, frame);
        }
        let inside = self.write_inline(member, &declared, frame);
        if inside.is_none() {
            self.write_columns(member, &declared, width);
        }
        let before = self.out.len();
        if let Some(align) = align {
            let _ = write!(self.out, " __attribute__((__aligned__({align})))");
        }
        let attribute = (self.out.len() - before) as i64;
        self.push(";");
        let room = frame.type_width + self.name_width;
        let spacing = match inside {
            Some(inside) if declared.is_plain() && !inside.is_named => {
                // printf pads to the absolute value of a negative width.
                let name = member.name.as_ref().map_or(-1, |name| name.len() as i64);
                let packed = if inside.is_packed { PACKED.len() } else { 0 };
                (room - name - 3 - attribute - packed as i64).abs()
            }
            _ => room - (self.out.len() - start) as i64,
        };
        self.write_offset_comment(member, size, frame, spacing);
    }

    /// Returns true if the member is a base class with a name.
    pub(super) fn is_base(&self, member: &Member) -> bool {
        let is_named = |ty: &Type| matches!(ty, Type::Aggregate(found) if found.name.is_some());
        member.is_base && is_named(self.types.get(member.ty))
    }

    /// Writes a base class as a comment, because C has no such member.
    fn write_base(&mut self, member: &Member, size: u64, frame: &PrintFrame) {
        let start = self.out.len();
        self.push("/* ");
        names::push_column(self.types, Some(member.ty), frame.type_width, &mut self.out);
        self.push(" <ancestor>; */");
        let room = frame.type_width + self.name_width;
        let spacing = room - (self.out.len() - start) as i64;
        self.write_offset_comment(member, size, frame, spacing);
    }

    fn write_offset_comment(
        &mut self,
        member: &Member,
        size: u64,
        frame: &PrintFrame,
        spacing: i64,
    ) {
        let hex = self.options.hex;
        let out = &mut self.out;
        push_spaces(out, usize::try_from(spacing).unwrap_or(0).max(1));
        out.push_str("/* ");
        push_number(out, frame.base.saturating_add(member.offset), 5, hex);
        let mut size_width = 5;
        if let Some(bits) = member.bits {
            let unit = member.offset.saturating_mul(8);
            out.push(':');
            push_number(out, bits.offset_bits.saturating_sub(unit), 2, hex);
            size_width = 2;
        }
        out.push(' ');
        push_number(out, size, size_width, hex);
        out.push_str(" */");
    }

    /// Splits qualifiers, arrays and pointers off a type as far as the columns need it.
    fn split_declarator(&self, member: &Member, frame: &PrintFrame) -> MemberDeclarator {
        let mut found = MemberDeclarator {
            qualifiers: String::new(),
            id: member.ty,
            is_resolved: false,
            suffix: String::new(),
            stars: "",
        };
        for _ in 0..NESTING_MAX {
            match self.types.get(found.id) {
                Type::Qualified {
                    qualifier,
                    target: Some(target),
                } if *qualifier == "const" || self.is_anonymous(*target) => {
                    let _ = write!(found.qualifiers, "{qualifier} ");
                    found.id = *target;
                }
                Type::Array { element, counts } => {
                    push_counts(counts, frame, &mut found.suffix);
                    found.id = *element;
                    // The `const` of an array is repeated on its elements.
                    if is_empty_array(counts)
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

    /// Replaces typedefs, and arrays behind them, by the types that they stand for, and writes the
    /// typedefs as a comment.
    fn resolve_declarator(&mut self, declared: &mut MemberDeclarator, frame: &PrintFrame) {
        for _ in 0..NESTING_MAX {
            let before = declared.id;
            declared.id = self.resolve_typedefs(before);
            declared.is_resolved |= declared.id != before;
            let Type::Array { element, counts } = self.types.get(declared.id) else {
                break;
            };
            push_counts(counts, frame, &mut declared.suffix);
            declared.id = *element;
        }
    }

    /// Writes `/* typedef u8 -> __u8 */ ` and returns the type that the last typedef stands for.
    pub(super) fn resolve_typedefs(&mut self, id: TypeId) -> TypeId {
        let types = self.types;
        let mut at = id;
        let mut separator = "/* typedef ";
        for _ in 0..NESTING_MAX {
            let Type::Typedef {
                name,
                target: Some(target),
                ..
            } = types.get(at)
            else {
                break;
            };
            self.push(separator);
            self.push(name);
            separator = " -> ";
            at = *target;
        }
        if at != id {
            self.push(" */ ");
        }
        at
    }

    fn is_anonymous(&self, id: TypeId) -> bool {
        match self.types.get(id) {
            Type::Aggregate(aggregate) => aggregate.name.is_none() && aggregate.complete,
            Type::Enum { name, .. } => name.is_none(),
            _ => false,
        }
    }

    /// Writes the name behind a type that was printed in place, without the brackets of an array.
    pub(super) fn write_inline_name(
        &mut self,
        member: &Member,
        declared: &MemberDeclarator,
        is_named: bool,
    ) {
        if member.name.is_none() && member.bits.is_none() {
            return;
        }
        // Before 1.30, an expanded struct with a name ends without a space; an array of it does
        // not.
        let is_old = self.options.version == PaholeVersion::V1_24;
        if !(is_named && declared.is_plain() && is_old) {
            self.push(" ");
        }
        self.push(declared.stars);
        self.write_name(member);
    }

    /// Writes the name, and the width of a bitfield.
    fn write_name(&mut self, member: &Member) {
        self.push(member.name.as_deref().unwrap_or_default());
        if let Some(bits) = member.bits {
            let _ = write!(self.out, ":{}", bits.size_bits);
        }
    }

    fn write_columns(&mut self, member: &Member, declared: &MemberDeclarator, width: i64) {
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
            names::push_padded(types, result, width, &mut self.out);
            self.push(" (*");
            self.write_name(member);
            self.push(")");
            names::push_signature(types, params, variadic, &mut self.out);
        } else {
            names::push_column(types, Some(declared.id), width, &mut self.out);
            self.push(" ");
            self.write_name(member);
        }
        // pahole writes an array of functions so, although it is not C.
        self.push(&declared.suffix);
    }
}

/// Appends array brackets. A flexible array is `[]` where C allows one, and `[0]` elsewhere.
fn push_counts(counts: &[Option<u64>], frame: &PrintFrame, out: &mut String) {
    for count in counts {
        let _ = match count {
            Some(count) if *count > 0 => write!(out, "[{count}]"),
            _ if frame.last && !frame.in_union => write!(out, "[]"),
            _ => write!(out, "[0]"),
        };
    }
}

fn is_empty_array(counts: &[Option<u64>]) -> bool {
    matches!(counts.first(), Some(None | Some(0)))
}
