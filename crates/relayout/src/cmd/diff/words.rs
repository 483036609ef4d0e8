//! Numbers, places and lists as the texts of `diff` say them.

use relayout_layout::diff::{Detail, Field, MemberMove, Shape};

/// A type in both files, and what is different.
pub(super) struct Pair<'d> {
    pub old: &'d Shape,
    pub new: &'d Shape,
    pub detail: &'d Detail,
}

impl<'d> Pair<'d> {
    /// The member's field in the new shape, or if it is gone in the old one.
    pub(super) fn field(&self, member: &MemberMove) -> &'d Field {
        match (member.new, member.old) {
            (Some(new), _) => &self.new.fields[new],
            (None, Some(old)) => &self.old.fields[old],
            (None, None) => unreachable!("a member is in one of the shapes"),
        }
    }

    /// Both fields of a member that is in both.
    pub(super) fn fields(&self, member: &MemberMove) -> Option<(&'d Field, &'d Field)> {
        Some((&self.old.fields[member.old?], &self.new.fields[member.new?]))
    }

    pub(super) fn name(&self, member: usize) -> &'d str {
        &self.field(&self.detail.members[member]).path
    }
}

/// `4 bytes`, `1 byte`, `3 bits`.
pub(super) fn amount(bits: u64) -> String {
    match (bits.is_multiple_of(8), bits / 8, bits) {
        (true, 1, _) => "1 byte".to_owned(),
        (true, bytes, _) => format!("{bytes} bytes"),
        (false, _, 1) => "1 bit".to_owned(),
        (false, _, bits) => format!("{bits} bits"),
    }
}

/// Where a member is: bytes from the start of the type, with `:bit` for a bitfield.
pub(super) fn place(field: &Field) -> String {
    match field.bits {
        Some(bits) => format!("{}:{}", bits.offset_bits / 8, bits.offset_bits % 8),
        None => field.offset.to_string(),
    }
}

/// `a`, `a and b`, `a, b and c`, `a, b, c and 7 more`.
pub(super) fn list<S: AsRef<str>>(names: &[S], max: usize) -> String {
    let mut words: Vec<String> = names
        .iter()
        .take(max)
        .map(|name| name.as_ref().to_owned())
        .collect();
    if names.len() > max {
        words.push(format!("{} more", names.len() - words.len()));
    }
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

/// `1 member`, `2 members`.
pub(super) fn count(number: usize, one: &str) -> String {
    if number == 1 {
        format!("1 {one}")
    } else {
        format!("{number} {one}s")
    }
}
