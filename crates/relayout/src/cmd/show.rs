//! `relayout show`: layouts from DWARF or BTF, in pahole's format.

mod output;

use std::path::PathBuf;

use anyhow::Context;
use clap::ArgGroup;
use relayout_layout::TypeArena;
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_pahole_text::{Options, PaholeVersion};
use relayout_report::show::{layout_text, sizes_text, type_json};
use relayout_session::show::{ShowOrder, ShownType, TypeLimits, TypeSelection, render_types};
use relayout_session::{verify_debug_path, with_types};

use crate::arguments;
use crate::print::print_note;
use output::TypesOutput;

/// Print the layout of types: offsets, sizes, holes, cache lines, in pahole's format
///
/// Without a TYPE, all structs and unions, in the order of the file. A selection (--holes,
/// --size-min, ...) leaves out what does not fit.
#[derive(Debug, clap::Args)]
#[command(group = ArgGroup::new("kind").args(["structs", "unions"]))]
#[command(group = ArgGroup::new("form").args(["sizes", "json"]))]
pub struct Args {
    /// File with debug information: DWARF (vmlinux, a program, an object file, a kernel module) or
    /// BTF. What was split off it is found: a debug file by build id (below /usr/lib/debug, or the
    /// folders in $RELAYOUT_DEBUG_PATH) or by name, .dwo and .dwp files; with
    /// $RELAYOUT_DEBUGINFOD=1, on the servers of $DEBUGINFOD_URLS too
    pub file: PathBuf,
    /// Types to print (`page`, `struct page`, `spinlock_t`, `ns::T`, `tcp_*`); without any, all
    /// structs and unions
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
    /// Types that the BTF of a kernel module is based on: the vmlinux of the same build, or its BTF;
    /// for a module with `.BTF.base`, of any kernel that can load it
    #[arg(long, value_name = "FILE")]
    pub btf_base: Option<PathBuf>,
    /// Leave nothing out: print every definition of a name that has several, not only the first
    #[arg(long)]
    pub all: bool,

    /// Print the names of the structs and unions that have a member of this type (`mutex`,
    /// `*_lock`), or an array of it
    #[arg(short = 'i', long, value_name = "TYPE", help_heading = "Selection")]
    pub contains: Option<String>,
    /// With --contains: also where it is a member of a member
    #[arg(short = 'd', long, requires = "contains", help_heading = "Selection")]
    pub recursive: bool,
    /// Only types of at least this size
    #[arg(long, value_name = "SIZE", value_parser = arguments::bytes, help_heading = "Selection")]
    pub size_min: Option<u64>,
    /// Only types of at most this size
    #[arg(long, value_name = "SIZE", value_parser = arguments::bytes, help_heading = "Selection")]
    pub size_max: Option<u64>,
    /// Only types that span at least this many cache lines
    #[arg(long, value_name = "N", help_heading = "Selection")]
    pub lines_min: Option<u64>,
    /// Only types that span at most this many cache lines
    #[arg(long, value_name = "N", help_heading = "Selection")]
    pub lines_max: Option<u64>,
    /// Only structs with at least this many holes
    #[arg(short = 'H', long, value_name = "N", help_heading = "Selection")]
    pub holes: Option<u64>,
    /// Only structs and classes
    #[arg(long, help_heading = "Selection")]
    pub structs: bool,
    /// Only unions
    #[arg(long, help_heading = "Selection")]
    pub unions: bool,

    /// Print the types of members in place, down to base types, and what typedefs stand for
    #[arg(short = 'E', long, alias = "expand_types", help_heading = "Output")]
    pub expand: bool,
    /// Print what this release of pahole prints
    #[arg(
        long,
        value_name = "VERSION",
        default_value = "1.24",
        help_heading = "Output"
    )]
    pub pahole_version: PaholeRelease,
    /// Print one line for each type: name, size in bytes and number of holes, with tabs between
    #[arg(short = 's', long, help_heading = "Output")]
    pub sizes: bool,
    /// Sort by name, or what is largest first
    #[arg(
        long,
        value_name = "KEY",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "name",
        help_heading = "Output"
    )]
    pub sort: Option<SortKey>,
    /// Take cache lines to have this many bytes
    #[arg(short = 'c', long, alias = "cacheline_size", value_name = "SIZE", default_value_t = 64,
          value_parser = arguments::line_size, help_heading = "Output")]
    pub cacheline_size: u64,
    /// Print offsets and sizes in hexadecimal
    #[arg(long, help_heading = "Output")]
    pub hex: bool,
    /// Print JSON (schema relayout/show/1), one line for each type
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Use this many threads [default: one for each CPU]
    #[arg(short = 'j', long, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
}

/// Key that types are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SortKey {
    /// Name, from A to Z
    Name,
    /// Size, the largest first
    Size,
    /// Bytes in holes, the most first
    Holes,
    /// Bytes of padding at the end, the most first
    Padding,
}

/// Release of pahole, as the user names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum PaholeRelease {
    /// Text of pahole 1.24
    #[value(name = "1.24")]
    V1_24,
    /// Text of pahole 1.30 and later: also holes and flexible arrays inside of members
    #[value(name = "1.30")]
    V1_30,
}

impl From<PaholeRelease> for PaholeVersion {
    fn from(release: PaholeRelease) -> Self {
        match release {
            PaholeRelease::V1_24 => Self::V1_24,
            PaholeRelease::V1_30 => Self::V1_30,
        }
    }
}

/// Runs the command.
///
/// # Errors
/// The file cannot be read or has no types, a name has no type, no type fits the selection, or
/// standard output fails.
pub fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(jobs) = args.jobs {
        rayon::ThreadPoolBuilder::new()
            .num_threads(usize::from(jobs))
            .build_global()
            .context("cannot start threads")?;
    }
    verify_debug_path("show", &args.file, &args.types)?;
    let format = if args.btf {
        DebugInfoFormat::Btf
    } else {
        DebugInfoFormat::Any
    };
    let base = args.btf_base.as_deref();
    with_types(&args.file, format, base, &print_note, |catalog| {
        show_types(args, catalog)
    })
}

fn show_types(args: &Args, catalog: &TypeCatalog<'_>) -> anyhow::Result<()> {
    let options = Options {
        cacheline_size: args.cacheline_size,
        hex: args.hex,
        expand: args.expand,
        version: args.pahole_version.into(),
        alignments_known: catalog.knows_alignments(),
        ..Options::default()
    };
    let form = ShowForm::from_args(args);
    let mut output = TypesOutput::new(form == ShowForm::Json);
    let same_text =
        |types: &TypeArena, shown: &ShownType<'_>| layout_text(types, shown, &Options::default());
    render_types(
        &args.file,
        catalog,
        &selection(args, form),
        &print_note,
        &same_text,
        |types, shown, measures| match form {
            ShowForm::Layout => layout_text(types, shown, &options),
            ShowForm::Names => format!("{}\n", shown.name),
            ShowForm::Sizes => sizes_text(shown, measures),
            ShowForm::Json => type_json(&catalog.abi(types), types, shown, args.cacheline_size),
        },
        |texts| {
            texts.iter().for_each(|text| output.add(text));
            output.flush()
        },
    )?;
    output.finish()
}

fn selection(args: &Args, form: ShowForm) -> TypeSelection {
    TypeSelection {
        names: args
            .types
            .iter()
            .chain(&args.class_names)
            .cloned()
            .collect(),
        all: args.all,
        limits: TypeLimits {
            contains: args.contains.clone(),
            recursive: args.recursive,
            size_min: args.size_min,
            size_max: args.size_max,
            lines_min: args.lines_min,
            lines_max: args.lines_max,
            holes_min: args.holes,
            structs: args.structs,
            unions: args.unions,
        },
        order: args.sort.map(|key| match key {
            SortKey::Name => ShowOrder::Name,
            SortKey::Size => ShowOrder::Size,
            SortKey::Holes => ShowOrder::Holes,
            SortKey::Padding => ShowOrder::Padding,
        }),
        measures: form == ShowForm::Sizes,
        line_bytes: args.cacheline_size,
    }
}

/// Form of a shown type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShowForm {
    Layout,
    Names,
    Sizes,
    Json,
}

impl ShowForm {
    fn from_args(args: &Args) -> Self {
        if args.json {
            Self::Json
        } else if args.sizes {
            Self::Sizes
        } else if args.contains.is_some() && !args.expand {
            Self::Names
        } else {
            Self::Layout
        }
    }
}
