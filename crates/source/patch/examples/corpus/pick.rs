//! Which structs are tried: all that a file's debug information or a folder's headers define, in
//! the order of a hash of their names, so that nobody has chosen them.

use std::collections::HashSet;
use std::path::Path;

use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::SectionStore;
use relayout_layout::{AggregateKind, Type};

/// A definition by its header's path below the root, and its tag.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    pub path: String,
    pub tag: String,
    /// Another one gives another order, and other moves.
    pub seed: u64,
}

impl Candidate {
    /// FNV-1a of path and tag: the order of the trials, and what each asks for.
    pub fn hash(&self) -> u64 {
        let text = format!("{}:{}", self.path, self.tag);
        text.bytes()
            .fold(0xcbf2_9ce4_8422_2325 ^ self.seed, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            })
    }
}

/// In the order in which they are tried with this seed. Of headers with the same file name, which
/// are mostly copies, only one counts.
pub fn in_order(mut found: Vec<Candidate>, seed: u64) -> Vec<Candidate> {
    found.iter_mut().for_each(|candidate| candidate.seed = seed);
    found.sort_by_cached_key(|candidate| (candidate.hash(), candidate.clone()));
    let mut seen = HashSet::new();
    let file = |path: &str| path.rsplit('/').next().map(str::to_owned);
    found.retain(|candidate| seen.insert((file(&candidate.path), candidate.tag.clone())));
    found
}

/// Structs with a tag that the debug information of `bytes` places in a header below `root`.
pub fn of_debug_file(bytes: &[u8], root: &Path) -> Vec<Candidate> {
    let store = SectionStore::default();
    let catalog =
        TypeCatalog::parse(bytes, &store, DebugInfoFormat::Any).expect("types can be read");
    let found = catalog.map_loaded(&catalog.aggregates(), |types, id, _| {
        let Type::Aggregate(aggregate) = types.get(id) else {
            return None;
        };
        let tag = aggregate
            .name
            .clone()
            .filter(|_| aggregate.kind == AggregateKind::Struct)?;
        let file = &aggregate.decl.as_ref()?.file;
        let path = relayout_patch::source_path_candidates(file)
            .into_iter()
            .find(|path| root.join(path).is_file())?;
        path.ends_with(".h")
            .then_some(Candidate { path, tag, seed: 0 })
    });
    found
        .expect("types can be loaded")
        .into_iter()
        .flatten()
        .collect()
}

/// What headers below `root` write as `struct tag {`.
pub fn of_headers(root: &Path) -> Vec<Candidate> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type());
            if kind.is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "h") {
                let Ok(text) = std::fs::read_to_string(&path) else {
                    continue;
                };
                let below = path.strip_prefix(root).expect("it was found below it");
                let path = below.to_string_lossy().into_owned();
                let tags = tags(&text).map(|tag| (path.clone(), tag.to_owned()));
                found.extend(tags.map(|(path, tag)| Candidate { path, tag, seed: 0 }));
            }
        }
    }
    found
}

fn tags(text: &str) -> impl Iterator<Item = &str> {
    text.split("struct ").skip(1).filter_map(|rest| {
        let rest = rest.trim_start();
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (tag, behind) = rest.split_at(rest.find(|c| !word(c))?);
        (!tag.is_empty() && behind.trim_start().starts_with('{')).then_some(tag)
    })
}
