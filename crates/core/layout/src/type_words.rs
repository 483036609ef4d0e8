//! Sizes of types by the words that C declares them with.
//!
//! A text may declare members that no debug file has. Their types are found in the arena, or among
//! those of C itself.

use crate::abi::AbiEngine;
use crate::{AggregateKind, Type, TypeArena, TypeId};

/// Size and alignment in bytes of the type that `words` name (`unsigned long`, `struct page *`,
/// `spinlock_t`). `None` if neither C nor the types of `abi` have it.
pub fn size_and_align(abi: &AbiEngine<'_>, types: &TypeArena, words: &str) -> Option<(u64, u64)> {
    let size_and_align_of = |id: TypeId| Some((abi.size_of(id)?, abi.align_of(id)?));
    let qualifiers = [
        "const", "volatile", "__user", "__rcu", "__percpu", "__iomem",
    ];
    let words: Vec<&str> = (words.split_whitespace())
        .filter(|word| !qualifiers.contains(word))
        .collect();
    if words.contains(&"*") {
        let pointer = |ty: &Type| matches!(ty, Type::Pointer { .. });
        let found = find_type(types, pointer).and_then(size_and_align_of);
        // An arena without pointers is taken to be of x86-64, as recordings are.
        return Some(found.unwrap_or((8, 8)));
    }
    if let Some(size) = c_integer_size(&words) {
        return Some((size, size));
    }
    let id = match words[..] {
        [keyword @ ("struct" | "union" | "class"), name] => find_type(types, |ty| match ty {
            Type::Aggregate(aggregate) => {
                let union = aggregate.kind == AggregateKind::Union;
                aggregate.complete
                    && union == (keyword == "union")
                    && aggregate.name.as_deref() == Some(name)
            }
            _ => false,
        }),
        ["enum", name] => find_type(
            types,
            |ty| matches!(ty, Type::Enum { name: Some(own), .. } if own == name),
        ),
        [name] => find_type(
            types,
            |ty| matches!(ty, Type::Typedef { name: own, .. } | Type::Base { name: own, .. } if own == name),
        ),
        _ => None,
    };
    id.and_then(size_and_align_of)
}

fn find_type(types: &TypeArena, is: impl Fn(&Type) -> bool) -> Option<TypeId> {
    let ids = (0..types.len()).map(|index| TypeId(index as u32));
    ids.into_iter().find(|id| is(types.get(*id)))
}

/// Size in bytes of the integers of C on 64-bit Linux, and of the kernel's names for them.
fn c_integer_size(words: &[&str]) -> Option<u64> {
    if let [name] = words {
        match *name {
            "u8" | "s8" | "uint8_t" | "int8_t" | "bool" | "_Bool" => return Some(1),
            "u16" | "s16" | "uint16_t" | "int16_t" => return Some(2),
            "u32" | "s32" | "uint32_t" | "int32_t" | "float" => return Some(4),
            "u64" | "s64" | "uint64_t" | "int64_t" | "size_t" | "double" => return Some(8),
            _ => {}
        }
    }
    let known = ["unsigned", "signed", "int", "long", "short", "char"];
    if words.is_empty() || !words.iter().all(|word| known.contains(word)) {
        return None;
    }
    let has = |word| words.contains(&word);
    Some(match () {
        () if has("char") => 1,
        () if has("short") => 2,
        () if has("long") => 8,
        () => 4,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Aggregate;

    #[test]
    fn words_of_c_and_of_the_arena() {
        let mut types = TypeArena::default();
        let long = types.add(Type::Base {
            name: "long int".into(),
            size: 8,
        });
        types.add(Type::Typedef {
            name: "word_t".into(),
            target: Some(long),
            declared_align: None,
        });
        types.add(Type::Aggregate(Aggregate {
            name: Some("pair".into()),
            size: 16,
            complete: true,
            ..Aggregate::default()
        }));
        let abi = AbiEngine::new(&types);
        let check = |words: &str, expect: Option<u64>| {
            assert_eq!(
                size_and_align(&abi, &types, words).map(|found| found.0),
                expect,
                "{words}"
            );
        };
        check("unsigned long", Some(8));
        check("long unsigned int", Some(8));
        check("char", Some(1));
        check("u32", Some(4));
        check("const struct pair *", Some(8));
        check("struct pair", Some(16));
        check("union pair", None);
        check("word_t", Some(8));
        check("unknown_t", None);
    }
}
