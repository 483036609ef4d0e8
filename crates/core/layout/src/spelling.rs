//! Spelling of types in C.

use crate::types::NESTING_MAX;
use crate::{Aggregate, Member, Type, TypeArena, TypeId};

/// Longest spelling in bytes. Only damaged debug information has longer ones.
const SPELLING_BYTES_MAX: usize = 64 * 1024;

impl TypeArena {
    /// Type as C writes it: `long unsigned int *`, `struct page **`, `int (*)(void *)`, `char
    /// [16]`.
    pub fn name_of(&self, id: TypeId) -> String {
        let mut budget = SPELLING_BYTES_MAX;
        self.spell_declaration(Some(id), String::new(), 0, &mut budget)
    }

    /// Keyword and tag of an unnamed member of a tagged struct or union, as its declaration has them
    /// in C with `-fms-extensions`: `struct freelist_counters`. `None` for other members.
    pub fn anonymous_tag(&self, member: &Member) -> Option<String> {
        match self.get(member.ty) {
            Type::Aggregate(inner) if member.is_anonymous() && inner.name.is_some() => {
                Some(spell_aggregate(inner))
            }
            _ => None,
        }
    }

    /// Declaration of `inner` with the type, as in `int (*inner)(void)`.
    fn spell_declaration(
        &self,
        id: Option<TypeId>,
        inner: String,
        depth: u32,
        budget: &mut usize,
    ) -> String {
        if depth > NESTING_MAX || *budget == 0 {
            return "...".to_owned();
        }
        *budget = budget.saturating_sub(inner.len() + 1);
        let Some(id) = id else {
            return with_name("void", &inner);
        };
        match self.get(id) {
            Type::Base { name, .. } | Type::Typedef { name, .. } => with_name(name, &inner),
            Type::Enum { name, .. } => with_name(&spell_tagged("enum", name.as_deref()), &inner),
            Type::Aggregate(aggregate) => with_name(&spell_aggregate(aggregate), &inner),
            Type::Unknown(what) => with_name(&format!("/* {what} */"), &inner),
            Type::Pointer { target, sigil, .. } => {
                let wraps = target.is_some_and(|target| {
                    matches!(self.get(target), Type::Array { .. } | Type::Function { .. })
                });
                let inner = if wraps {
                    format!("({sigil}{inner})")
                } else {
                    format!("{sigil}{inner}")
                };
                self.spell_declaration(*target, inner, depth + 1, budget)
            }
            Type::Qualified { qualifier, target } => {
                let pointer =
                    target.is_some_and(|target| matches!(self.get(target), Type::Pointer { .. }));
                if pointer {
                    self.spell_declaration(*target, with_name(qualifier, &inner), depth + 1, budget)
                } else {
                    format!(
                        "{qualifier} {}",
                        self.spell_declaration(*target, inner, depth + 1, budget)
                    )
                }
            }
            Type::Array { element, counts } => {
                let mut inner = inner;
                for count in counts {
                    match count {
                        Some(count) => inner.push_str(&format!("[{count}]")),
                        None => inner.push_str("[]"),
                    }
                }
                self.spell_declaration(Some(*element), inner, depth + 1, budget)
            }
            Type::Function {
                result,
                params,
                variadic,
            } => {
                let params = self.spell_parameters(params, *variadic, depth, budget);
                self.spell_declaration(*result, format!("{inner}({params})"), depth + 1, budget)
            }
        }
    }

    fn spell_parameters(
        &self,
        params: &[TypeId],
        variadic: bool,
        depth: u32,
        budget: &mut usize,
    ) -> String {
        let mut words: Vec<String> = Vec::new();
        for param in params {
            if *budget == 0 {
                break;
            }
            words.push(self.spell_declaration(Some(*param), String::new(), depth + 1, budget));
        }
        if variadic {
            words.push("...".to_owned());
        }
        if words.is_empty() {
            "void".to_owned()
        } else {
            words.join(", ")
        }
    }
}

/// `struct page`, `union {...}`.
pub(crate) fn spell_aggregate(aggregate: &Aggregate) -> String {
    spell_tagged(&aggregate.kind.to_string(), aggregate.name.as_deref())
}

fn spell_tagged(keyword: &str, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("{keyword} {name}"),
        None => format!("{keyword} {{...}}"),
    }
}

fn with_name(ty: &str, inner: &str) -> String {
    if inner.is_empty() {
        ty.to_owned()
    } else {
        format!("{ty} {inner}")
    }
}
