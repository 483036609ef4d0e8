//! Search in a source tree for code that relies on the order of members.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use relayout_files::{read_regular, source_files};
use relayout_patch::{
    C_EXTENSIONS, OrderQuery, find_member_macros, find_order_facts, find_typedef_names,
    may_rely_on_order,
};

use relayout_advice::{SourceSearch, SourceUses};

/// Bytes of a file that is read: larger ones are generated tables.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// Macros that name a member, and the struct only by the pointer's type.
const MEMBER_MACROS: [&str; 2] = ["memset_startat", "memset_after"];

/// A file that may use a struct.
struct NamingFile {
    /// Index into the queries.
    query: usize,
    /// Path below the top of the tree.
    path: String,
    text: String,
}

/// Searches the tree for uses of the structs of `queries`. Only files that name a struct are read
/// as code.
pub fn scan_source_tree(source: &Path, queries: &[OrderQuery]) -> Vec<SourceUses> {
    let paths = source_files(source, C_EXTENSIONS, None);
    let mut queries = queries.to_vec();
    let first_pass = naming_files(source, &paths, &queries, |query| vec![query.tag.clone()]);
    let (mut files, unread) = first_pass;
    let typedef_queries: Vec<OrderQuery> = { queries.iter().enumerate() }
        .map(|(index, query)| OrderQuery {
            typedef_names: typedef_names(&files, index, &query.tag),
            ..query.clone()
        })
        .collect();
    let has_typedefs = { typedef_queries.iter() }.any(|query| !query.typedef_names.is_empty());
    queries = typedef_queries;
    if has_typedefs {
        (files, _) = naming_files(source, &paths, &queries, |query| {
            query.names().map(str::to_owned).collect()
        });
    }
    let uses = queries.iter().enumerate().map(|(index, query)| {
        let mine: Vec<&NamingFile> = files.iter().filter(|file| file.query == index).collect();
        SourceUses {
            search: SourceSearch {
                files: paths.len(),
                naming: mine.len(),
                unread,
            },
            facts: { mine.par_iter() }
                .filter(|file| may_rely_on_order(&file.text, query))
                .flat_map_iter(|file| find_order_facts(&file.path, &file.text, query))
                .collect(),
            macros: { mine.par_iter() }
                .filter(|file| defines_path(&file.text, query))
                .flat_map_iter(|file| find_member_macros(&file.text, &query.members))
                .collect(),
        }
    });
    uses.collect()
}

/// Returns true if the text may define a macro that begins with a member: the struct's own header
/// does.
fn defines_path(text: &str, query: &OrderQuery) -> bool {
    let mut places = text.match_indices(query.tag.as_str());
    let is_definition = |(at, tag): (usize, &str)| {
        let behind = text.get(at + tag.len()..).unwrap_or_default();
        behind.trim_start().starts_with('{')
    };
    !query.tag.is_empty() && text.contains("#define") && places.any(is_definition)
}

fn typedef_names(files: &[NamingFile], query: usize, tag: &str) -> Vec<String> {
    let mine = files.iter().filter(|file| file.query == query);
    let mut names: Vec<String> = mine
        .flat_map(|file| find_typedef_names(&file.text, tag))
        .filter(|name| name != tag)
        .collect();
    names.sort();
    names.dedup();
    names
}

/// Returns the files that have one of a query's names, and the number of files that were not read.
fn naming_files(
    source: &Path,
    paths: &[PathBuf],
    queries: &[OrderQuery],
    names: impl Fn(&OrderQuery) -> Vec<String>,
) -> (Vec<NamingFile>, usize) {
    let needles: Vec<Vec<memchr::memmem::Finder<'static>>> = { queries.iter() }
        .map(|query| {
            let words = names(query).into_iter();
            words
                .chain(MEMBER_MACROS.map(str::to_owned))
                .filter(|word| !word.is_empty())
                .map(|word| memchr::memmem::Finder::new(word.as_bytes()).into_owned())
                .collect()
        })
        .collect();
    let in_file = |path: &PathBuf| -> Result<Vec<NamingFile>, ()> {
        let bytes = std::fs::metadata(path).map_err(drop)?.len();
        if bytes > FILE_BYTES_MAX {
            return Err(());
        }
        let bytes = read_regular(path).map_err(drop)?;
        let relative_path = path.strip_prefix(source).unwrap_or(path);
        let is_named = |needles: &Vec<memchr::memmem::Finder<'_>>| {
            needles.iter().any(|needle| needle.find(&bytes).is_some())
        };
        let naming = needles.iter().enumerate();
        let naming = naming.filter(|(_, needles)| is_named(needles));
        Ok(naming
            .map(|(query, _)| NamingFile {
                query,
                path: relative_path.to_string_lossy().into_owned(),
                // A name in a comment may be in another encoding.
                text: String::from_utf8_lossy(&bytes).into_owned(),
            })
            .collect())
    };
    let results: Vec<Result<Vec<NamingFile>, ()>> = paths.par_iter().map(in_file).collect();
    let unread = results.iter().filter(|result| result.is_err()).count();
    (results.into_iter().flatten().flatten().collect(), unread)
}
