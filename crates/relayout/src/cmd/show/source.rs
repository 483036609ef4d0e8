//! DWARF or BTF, whichever the file has.

use std::collections::HashSet;
use std::path::Path;

use anyhow::Context;
use relayout_layout::btf::Btf;
use relayout_layout::dwarf::{DieOffset, DwarfFile, DwarfTypes, SectionStore};
use relayout_layout::{Error, Type, TypeId, Types};

use super::Found;

/// Where types come from.
pub(super) enum Source<'f, 'a> {
    Dwarf(Box<DwarfTypes<'f, 'a>>),
    Btf(Box<Btf>),
}

/// Opens the file and calls `then` with its types.
pub(super) fn with<T>(
    path: &Path,
    btf: bool,
    then: impl FnOnce(&mut Source<'_, '_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let cannot = || format!("cannot read the types of {}", path.display());
    let bytes = relayout_host::map_file(path).with_context(cannot)?;
    if btf || is_raw_btf(&bytes) {
        let btf = Btf::parse(&bytes).with_context(cannot)?;
        return then(&mut Source::Btf(Box::new(btf)));
    }
    let store = SectionStore::default();
    match DwarfFile::parse_in(&bytes, &store) {
        Ok(file) => then(&mut Source::Dwarf(Box::new(DwarfTypes::new(&file)))),
        Err(Error::NoDwarf) => {
            let btf = Btf::parse(&bytes).with_context(cannot)?;
            then(&mut Source::Btf(Box::new(btf)))
        }
        Err(error) => Err(error).with_context(cannot),
    }
}

/// A file of `/sys/kernel/btf` is BTF without ELF around it.
fn is_raw_btf(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x9f, 0xeb]) || bytes.starts_with(&[0xeb, 0x9f])
}

impl Source<'_, '_> {
    pub(super) fn types(&self) -> &Types {
        match self {
            Self::Dwarf(types) => types.types(),
            Self::Btf(btf) => btf.types(),
        }
    }

    /// BTF has no declared alignments.
    pub(super) fn knows_alignments(&self) -> bool {
        matches!(self, Self::Dwarf(_))
    }

    /// Definitions of a name that may differ, loaded.
    pub(super) fn find(&mut self, name: &str) -> anyhow::Result<Vec<TypeId>> {
        Ok(match self {
            Self::Dwarf(types) => {
                let dies = types.file().distinct_types(name);
                dies.into_iter()
                    .map(|die| types.load(die))
                    .collect::<Result<_, _>>()?
            }
            Self::Btf(btf) => btf.find_types(name).to_vec(),
        })
    }

    pub(super) fn names(&self) -> Vec<&str> {
        match self {
            Self::Dwarf(types) => types.file().type_names().map(|(name, _)| name).collect(),
            Self::Btf(btf) => btf.type_names().map(|(name, _)| name).collect(),
        }
    }

    /// The first struct, union or class of each name, in file order.
    pub(super) fn all_aggregates(&mut self) -> anyhow::Result<Vec<Found>> {
        let mut found = Vec::new();
        match self {
            Self::Dwarf(types) => {
                let file = types.file();
                let mut firsts: Vec<(DieOffset, &str)> = file
                    .type_names()
                    .filter_map(|(name, dies)| Some((file.first_aggregate(dies)?, name)))
                    .collect();
                firsts.sort();
                for (die, name) in firsts {
                    found.push(Found {
                        id: types.load(die)?,
                        name: name.to_owned(),
                    });
                }
            }
            Self::Btf(btf) => {
                let mut seen = HashSet::new();
                for (name, ids) in btf.type_names() {
                    let tagged = |id: &&TypeId| matches!(btf.types().get(**id), Type::Aggregate(_));
                    if let Some(id) = ids.iter().find(tagged)
                        && seen.insert(name)
                    {
                        found.push(Found {
                            id: *id,
                            name: name.to_owned(),
                        });
                    }
                }
            }
        }
        Ok(found)
    }
}
