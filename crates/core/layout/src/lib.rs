//! Layouts of types in memory: members, offsets, holes, and layouts in another order.
//!
//! Readers of DWARF ([`dwarf`]) and BTF ([`btf`]) load types into a [`TypeArena`]; [`catalog`]
//! reads either. The C ABI engine ([`abi`]) lays the members of a struct out in another order. This
//! crate takes bytes and never opens files.
//!
//! ```
//! use relayout_layout::{Aggregate, Member, Type, TypeArena};
//!
//! let mut types = TypeArena::new();
//! let int = types.add(Type::Base { name: "int".to_owned(), size: 4 });
//! let lock = types.add(Type::Aggregate(Aggregate {
//!     name: Some("lock".to_owned()),
//!     size: 8,
//!     members: vec![Member::new("owner", int, 0), Member::new("waiters", int, 4)],
//!     complete: true,
//!     ..Aggregate::default()
//! }));
//! let member = types.member_at(lock, 4, 4).expect("offset 4 is inside the struct");
//! assert_eq!(member.path, "waiters");
//! ```

#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        clippy::print_stderr,
        clippy::print_stdout
    )
)]

pub mod abi;
mod bindings;
pub mod btf;
mod canonical;
pub mod catalog;
mod declaration;
pub mod dwarf;
mod elf;
mod elf_identity;
mod error;
pub mod glob;
mod inline_namespaces;
pub mod kernel_module;
pub mod known_names;
pub mod links;
mod literals;
mod locate;
mod locate_path;
pub mod model;
mod pointer_holder;
mod readable_name;
mod same_definition;
mod spelling;
pub mod suggestions;
mod type_pattern;
pub mod type_words;
mod types;
mod unused;
pub mod word_lists;
mod wrappers;

pub use bindings::is_binding_scope;
pub use canonical::canonical_type;
pub use elf_identity::ElfIdentity;
pub use error::Error;
pub use inline_namespaces::InlineNamespaces;
pub use locate_path::{ArrayElements, LocatedMember};
pub use model::*;
pub use readable_name::{is_standard_scope, readable_function_name, readable_type_name};
pub use type_pattern::TypePattern;
pub use types::{NESTING_MAX, element_count};
pub use unused::{AggregateGaps, MemberGap};
