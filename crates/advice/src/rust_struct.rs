//! Rules for the layout of a Rust struct.
//!
//! The debug information does not tell whether a struct is `#[repr(C)]`. The source does; without it,
//! an order of fields that the compiler would not choose is taken for `#[repr(C)]`.

use relayout_layout::Aggregate;
use relayout_layout::abi::StructShape;
use relayout_patch::{WrittenAlignment, source_language};
use relayout_search::{RustFieldRules, may_be_compiler_ordered};

/// Bytes of `CachePadded` on x86-64, whose processors may fetch pairs of lines.
const PADDED_BYTES: u64 = 128;

/// Rules of a Rust struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RustStructRules {
    /// Rules for its candidates.
    pub fields: RustFieldRules,
    /// Alignment of the type that fields are wrapped in.
    pub wrapper: WrittenAlignment,
}

impl RustStructRules {
    /// Returns the rules by the layout alone; `None` for a type of a language that orders no members.
    pub fn from_layout(
        aggregate: &Aggregate,
        shape: &StructShape,
        line_bytes: u32,
    ) -> Option<Self> {
        let declaration = aggregate.decl.as_ref()?;
        let language = source_language(&declaration.file, "");
        language.compiler_orders_members().then(|| Self {
            fields: RustFieldRules {
                is_repr_c: !may_be_compiler_ordered(shape),
                wrapper_bytes: u64::from(line_bytes),
                line_bytes: u64::from(line_bytes),
            },
            wrapper: WrittenAlignment::Bytes(line_bytes),
        })
    }

    /// Returns the rules with what the source tree says; `None` keeps what the layout says.
    #[must_use]
    pub fn with_source(self, source: &RustSourceFacts) -> Self {
        let mut rules = self;
        if let Some(is_repr_c) = source.is_repr_c {
            rules.fields.is_repr_c = is_repr_c;
        }
        if let Some(module) = source.padding_module {
            rules.fields.wrapper_bytes = PADDED_BYTES;
            rules.wrapper = WrittenAlignment::CachePadded {
                module: module.to_owned(),
            };
        }
        rules
    }
}

/// Facts about a Rust struct that only its source tree has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RustSourceFacts {
    /// True if the struct is `#[repr(C)]`; `None` if its definition was not found.
    pub is_repr_c: Option<bool>,
    /// Module with `CachePadded`; `None` if the struct's crate depends on none.
    pub padding_module: Option<&'static str>,
}
