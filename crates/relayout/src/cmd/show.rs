//! `relayout show`: layouts from DWARF or BTF, in pahole's format.

mod json;

use std::path::PathBuf;

use relayout_layout::catalog::{Catalog, Entry, Format};
use relayout_layout::pahole::{self, Options};
use relayout_layout::{Type, TypeId, Types, close};

use crate::catalog;
use crate::print::print;

/// Print the layout of types: offsets, sizes, holes, cache lines, in pahole's format
#[derive(Debug, clap::Args)]
pub struct Args {
    /// File with debug information: DWARF (vmlinux, a program, an object file, a kernel module) or
    /// BTF. What was split off it is found: a debug file by build id (below /usr/lib/debug, or the
    /// folders in $RELAYOUT_DEBUG_PATH) or by name, .dwo and .dwp files
    pub file: PathBuf,
    /// Types to print (`page`, `struct page`, `spinlock_t`, `ns::T`); without any, all structs and unions
    #[arg(value_name = "TYPE")]
    pub types: Vec<String>,
    /// Print these types too, as pahole's option of this name
    #[arg(
        short = 'C',
        long = "class_name",
        value_name = "TYPE,...",
        value_delimiter = ','
    )]
    pub class_names: Vec<String>,
    /// Read BTF even if there is DWARF
    #[arg(long)]
    pub btf: bool,
    /// Types that the BTF of a kernel module is based on: the vmlinux of the same build, or its BTF
    #[arg(long, value_name = "FILE")]
    pub btf_base: Option<PathBuf>,
    /// Print every definition of a name that has several, not only the first
    #[arg(long)]
    pub all: bool,
    /// Take cache lines to have this many bytes
    #[arg(short = 'c', long, alias = "cacheline_size", value_name = "BYTES", default_value_t = 64,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub cacheline_size: u64,
    /// Print offsets and sizes in hexadecimal
    #[arg(long)]
    pub hex: bool,
    /// Print the types of members in place, down to base types, and what typedefs stand for
    #[arg(short = 'E', long, alias = "expand_types")]
    pub expand: bool,
    /// Print JSON (schema relayout/show/1)
    #[arg(long)]
    pub json: bool,
}

/// A name that nothing has.
#[derive(Debug, thiserror::Error)]
#[error("{} has no type named `{name}`{}", file.display(), sentence(close))]
pub struct UnknownType {
    file: PathBuf,
    name: String,
    close: Vec<String>,
}

/// `; close: a, b`, or what else to try.
fn sentence(close: &[String]) -> String {
    if close.is_empty() {
        "; without a TYPE, all are shown".to_owned()
    } else {
        format!("; close: {}", close.join(", "))
    }
}

/// A type to show, under the name that was asked for.
struct Found<'n> {
    id: TypeId,
    name: &'n str,
}

/// Runs the command.
///
/// # Errors
/// A file that cannot be read or has no types, a type that it does not have, a failed write.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let format = if args.btf { Format::Btf } else { Format::Any };
    let base = args.btf_base.as_deref();
    catalog::with_base(&args.file, format, base, |catalog| show(args, catalog))
}

fn show(args: &Args, catalog: &Catalog<'_>) -> anyhow::Result<()> {
    let options = Options {
        cacheline_size: args.cacheline_size,
        hex: args.hex,
        expand: args.expand,
        alignments_known: catalog.knows_alignments(),
    };
    let mut entries = Vec::new();
    let names: Vec<&String> = args.types.iter().chain(&args.class_names).collect();
    if names.is_empty() {
        entries = catalog.aggregates();
    }
    for name in names {
        entries.extend(look_up(args, catalog, name)?);
    }
    if args.json {
        let types = catalog.each(&entries, |types, id, entry| {
            let found = Found {
                id,
                name: entry.name,
            };
            json::one(types, &found, args.cacheline_size)
        })?;
        return print(&json::document(types)?);
    }
    let texts = catalog.each(&entries, |types, id, entry| {
        let found = Found {
            id,
            name: entry.name,
        };
        text(types, &found, &options)
    })?;
    print(&texts.concat())
}

fn look_up<'c>(
    args: &Args,
    catalog: &'c Catalog<'_>,
    name: &'c str,
) -> anyhow::Result<Vec<Entry<'c>>> {
    let (keyword, bare) = match name.split_once(' ') {
        Some((keyword, bare)) => (Some(keyword), bare.trim()),
        None => (None, name),
    };
    let entries = catalog.find(bare);
    let loaded = catalog.load(&entries)?;
    let types = &loaded.types;
    let mut found: Vec<(TypeId, Entry<'c>)> = loaded.ids.iter().copied().zip(entries).collect();
    found.retain(|(id, _)| keyword.is_none_or(|keyword| has_keyword(types, *id, keyword)));
    // A struct and a typedef of it share their name more often than not: the struct is meant.
    let tagged = |(id, _): &(TypeId, _)| matches!(types.get(*id), Type::Aggregate(_));
    if found.iter().any(tagged) {
        found.retain(tagged);
    }
    let mut found = different(types, found);
    if found.is_empty() {
        let close = close::names(catalog.names(), bare);
        let (file, name) = (args.file.clone(), name.to_owned());
        return Err(UnknownType { file, name, close }.into());
    }
    if found.len() > 1 && !args.all {
        let ids: Vec<TypeId> = found.iter().map(|(id, _)| *id).collect();
        eprintln!("{}", ambiguity(types, bare, &ids));
        found.truncate(1);
    }
    Ok(found.into_iter().map(|(_, entry)| entry).collect())
}

/// Drops what prints as an earlier one does.
fn different<'c>(types: &Types, found: Vec<(TypeId, Entry<'c>)>) -> Vec<(TypeId, Entry<'c>)> {
    let mut seen: Vec<String> = Vec::new();
    let mut kept = Vec::new();
    for (id, entry) in found {
        let text = text(types, &Found { id, name: "" }, &Options::default());
        if !seen.contains(&text) {
            seen.push(text);
            kept.push((id, entry));
        }
    }
    kept
}

fn ambiguity(types: &Types, name: &str, ids: &[TypeId]) -> String {
    let places: Vec<String> = ids
        .iter()
        .filter_map(|id| types.aggregate(*id)?.decl.as_ref())
        .map(|decl| format!("{}:{}", decl.file, decl.line))
        .collect();
    let places = if places.is_empty() {
        String::new()
    } else {
        format!(" ({})", places.join(", "))
    };
    let count = ids.len();
    format!(
        "relayout: {count} different types are named `{name}`{places}; this is the first, --all shows each"
    )
}

fn has_keyword(types: &Types, id: TypeId, keyword: &str) -> bool {
    match types.get(id) {
        Type::Aggregate(aggregate) => aggregate.kind.to_string() == keyword,
        Type::Enum { .. } => keyword == "enum",
        _ => false,
    }
}

/// pahole's text; a typedef of an anonymous type shows as its typedef, scalars in one line.
fn text(types: &Types, found: &Found<'_>, options: &Options) -> String {
    let Some(mut text) = pahole::render(types, found.id, options) else {
        return one_line(types, found);
    };
    if matches!(types.get(found.id), Type::Typedef { .. }) && is_anonymous(types, found.id) {
        text.truncate(text.trim_end().trim_end_matches(';').len());
        text = format!("typedef {text} {};\n", found.name);
    }
    text
}

fn is_anonymous(types: &Types, id: TypeId) -> bool {
    match types.get(types.strip(id)) {
        Type::Aggregate(aggregate) => aggregate.name.is_none(),
        Type::Enum { name, .. } => name.is_none(),
        _ => false,
    }
}

fn one_line(types: &Types, found: &Found<'_>) -> String {
    let size = types
        .size_of(found.id)
        .map_or("no size".to_owned(), |size| format!("size: {size}"));
    match types.get(found.id) {
        Type::Typedef {
            target: Some(target),
            ..
        } => {
            format!(
                "typedef {} {}; /* {size} */\n",
                types.name_of(*target),
                found.name
            )
        }
        _ => format!("{}; /* {size} */\n", types.name_of(found.id)),
    }
}
