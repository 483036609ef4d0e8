//! Source code that relies on the order of a struct's members, in the text of one file.
//!
//! Five kinds of code do: borders and demands (`/* must be first */`) in the definition itself,
//! operations on a range of members (`memset_startat`, `memcpy` up to an offset), assertions and
//! limits of offsets, code that takes the first member to be at offset 0, and values by position. An
//! example is `memset(skb, 0, offsetof(struct sk_buff, tail))`: a member
//! that moves across `tail` is cleared no longer, or cleared though it must not be.
//!
//! The text is not preprocessed. The type of a pointer is that of its nearest declaration in the
//! file. Where the file does not show it, the use is reported as [`OrderReliance::Undecided`].

mod assertions;
mod code_view;
mod definition_borders;
mod first_member;
mod initializers;
mod names;
mod ranges;
mod stated_places;
mod text_filter;
mod variables;

use code_view::CodeView;

use crate::body::{DirectiveKind, directive_kind};
use crate::lex::TokenKind;
use crate::refusal::FileLine;
use crate::tokenized::TokenizedFile;

pub use names::{find_member_macros, find_typedef_names};
pub use text_filter::may_rely_on_order;

/// Struct whose uses are sought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrderQuery {
    /// Tag.
    pub tag: String,
    /// Names that a `typedef` gives it.
    pub typedef_names: Vec<String>,
    /// Names of its members, including those of anonymous members.
    pub members: Vec<String>,
    /// Names of the members at offset 0.
    pub first_members: Vec<String>,
    /// Tags of the structs at offset 0, from outside inwards.
    pub first_types: Vec<String>,
}

/// Use of a struct that relies on the order of its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderFact {
    /// File and line.
    pub place: FileLine,
    /// The source line, trimmed.
    pub text: String,
    /// Reliance on the order.
    pub reliance: OrderReliance,
}

/// Reliance of code on the order of a struct's members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderReliance {
    /// One operation accesses the members between borders, so no member may cross one.
    Range {
        /// Function or macro.
        operation: String,
        /// Borders.
        borders: Vec<RangeBorder>,
    },
    /// The definition has a border between members, so no member may cross it:
    /// `randomized_struct_fields_start`, an access specifier, a comment that a member must be last.
    DefinitionBorder {
        /// Word of the border.
        mark: String,
        /// Members in front of it.
        before: Vec<String>,
        /// Members behind it.
        after: Vec<String>,
    },
    /// The compiler checks offsets or the size.
    Assertion {
        /// Members whose offsets are checked, with the paths into them.
        members: Vec<String>,
        /// Check of the size.
        size: Option<AssertedSize>,
    },
    /// The offset of a member must stay below a limit.
    OffsetLimit {
        /// Function or macro.
        operation: String,
        /// Member.
        member: String,
        /// Bytes.
        below: u64,
    },
    /// The first member must be at offset 0.
    FirstMember(FirstMemberReliance),
    /// Members have their values by position.
    Initializer {
        /// Number of values.
        values: usize,
    },
    /// The compiler may shuffle the members: `__randomize_layout`.
    Randomized,
    /// The file does not show whether the use is one of the struct.
    Undecided {
        /// Function or macro.
        operation: String,
        /// Member that it names.
        member: String,
        /// Expression of unknown type.
        expression: String,
    },
}

/// Code for which the first member must be at offset 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstMemberReliance {
    /// A pointer to the struct is cast to one to its first member.
    CastToFirst {
        /// Type of the first member.
        to: String,
    },
    /// A pointer to the first member is cast to one to the struct.
    CastFromFirst {
        /// Type of the first member.
        from: String,
    },
    /// `container_of`, `list_entry` or the like by the first member. At offset 0 it passes on a
    /// null pointer and what is no such member.
    ContainerOf {
        /// Function or macro.
        operation: String,
    },
    /// A file of offsets for assembly names the first member.
    AssemblyOffset,
    /// A comment in the definition says that the member has to be first.
    StatedByComment {
        /// Comment, with its delimiters.
        comment: String,
    },
}

/// Border of a range of members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeBorder {
    /// Member at the border, with the path into it: `tail`, `sk_node.next`.
    pub member: String,
    /// Side of the member on which the border is.
    pub side: BorderSide,
}

/// Side of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BorderSide {
    /// The border is where the member starts.
    Before,
    /// The border is where the member ends.
    After,
}

/// Check of a struct's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssertedSize {
    /// It must stay as it is.
    Exact,
    /// It must not grow.
    Limit,
}

/// Finds the uses in the text of one file that rely on the order of the struct's members. Bodies of
/// `#define` are read, too.
///
/// ```
/// use relayout_patch::{OrderQuery, OrderReliance, find_order_facts};
///
/// let query = OrderQuery { tag: "s".into(), members: vec!["b".into()], ..Default::default() };
/// let text = "void f(struct s *p)\n{\n\tmemset_startat(p, 0, b);\n}\n";
/// let facts = find_order_facts("f.c", text, &query);
/// assert_eq!(facts[0].place.line, 3);
/// assert!(matches!(facts[0].reliance, OrderReliance::Range { .. }));
/// ```
pub fn find_order_facts(file: &str, text: &str, query: &OrderQuery) -> Vec<OrderFact> {
    let whole = TokenizedFile::new(file, text);
    let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    let line_starts: Vec<usize> = std::iter::once(0)
        .chain(newlines.map(|(at, _)| at + 1))
        .collect();
    let is_cxx = crate::cxx::is_cxx(file, text);
    let mut facts = Vec::new();
    let view = CodeView::new(&whole, &line_starts, is_cxx, query);
    collect_facts(&view, &mut facts);
    definition_borders::collect(&whole, query, &mut facts);
    stated_places::collect(&whole, query, &mut facts);
    let defines = whole.tokens.iter().filter(|token| {
        token.kind == TokenKind::Directive
            && directive_kind(token.text(text)) == DirectiveKind::Other("define")
    });
    for define in defines {
        let body = define.text(text);
        if query.names().any(|name| body.contains(name)) {
            let inner = crate::uses::tokenize_define(file, text, define);
            let view = CodeView::new(&inner, &line_starts, is_cxx, query);
            collect_facts(&view, &mut facts);
        }
    }
    facts.sort_by_key(|fact| fact.place.line);
    facts.dedup();
    facts
}

fn collect_facts(code: &CodeView<'_>, facts: &mut Vec<OrderFact>) {
    ranges::collect(code, facts);
    assertions::collect(code, facts);
    first_member::collect(code, facts);
    initializers::collect(code, facts);
}

impl OrderQuery {
    /// Returns the tag and the names by `typedef`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let typedef_names = self.typedef_names.iter().map(String::as_str);
        std::iter::once(self.tag.as_str()).chain(typedef_names)
    }

    /// Returns true if the path begins with a member.
    fn has_member(&self, path: &str) -> bool {
        let first = first_component(path);
        self.members.iter().any(|member| member == first)
    }

    /// Returns true if the path begins with a member at offset 0.
    fn is_first(&self, path: &str) -> bool {
        let first = first_component(path);
        self.first_members.iter().any(|member| member == first)
    }
}

/// Returns the name at the start of a path: `a` of `a.b[0]`.
fn first_component(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests;
