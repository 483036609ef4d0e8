//! `relayout show`: layouts from DWARF or BTF, in pahole's format.

use std::path::{Path, PathBuf};

use clap::ArgGroup;
use clap_complete::ArgValueCandidates;
use relayout_layout::TypeArena;
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_messages::UserError;
use relayout_pahole_text::{Options, PaholeVersion};
use relayout_report::documents::show::type_json;
use relayout_report::text::show::packed::{packable_text, packed_text};
use relayout_report::text::show::{layout_text, place_text, sizes_text};
use relayout_session::show::{
    NamedTypes, PackedType, ShownType, TypeMeasures, TypeSelection, render_types,
};
use relayout_session::{verify_debug_path, with_types};

use crate::arguments;
use crate::complete;
use crate::print::{print_note, print_text};
use crate::shown_types::{SelectionArgs, SortKey, TypesOutput};

const EXAMPLES: &str = "\
Examples:
  relayout show task_struct                    of the running kernel, from its BTF
  relayout show vmlinux pcpu_chunk mm_struct
  relayout show vmlinux 'tcp_*' --sizes
  relayout show vmlinux --contains spinlock --size-min 4K --sort=size
  relayout show -R a.out Connection            with members moved into holes";

/// Print the layout of types: offsets, sizes, holes, cache lines, in pahole's format
///
/// Without a TYPE, all structs and unions, in the order of the file. A selection (--holes,
/// --size-min, ...) leaves out what does not fit.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("form").args(["sizes", "json", "packable", "nr_methods", "reorganize"]))]
pub struct Args {
    /// File with debug information: DWARF (vmlinux, a program, an object file, a kernel module) or
    /// BTF; without a FILE, the BTF of the running kernel. What was split off it is found: a debug
    /// file by build id (below /usr/lib/debug, or the folders in $RELAYOUT_DEBUG_PATH) or by name,
    /// .dwo and .dwp files; with $RELAYOUT_DEBUGINFOD=1, on the servers of $DEBUGINFOD_URLS too
    pub file: Option<PathBuf>,
    /// Types to print (`page`, `struct page`, `spinlock_t`, `ns::T`, `tcp_*`); without any, all
    /// structs and unions
    #[arg(value_name = "TYPE", add = ArgValueCandidates::new(complete::types))]
    pub types: Vec<String>,
    /// Print these types too, as pahole's option of this name
    #[arg(
        short = 'C',
        long = "class_name",
        value_name = "TYPE,...",
        value_delimiter = ',',
        add = ArgValueCandidates::new(complete::types)
    )]
    pub class_names: Vec<String>,
    /// Read BTF even if there is DWARF
    #[arg(long)]
    pub btf: bool,
    /// Read the first of these formats that the file has: dwarf, btf
    #[arg(
        short = 'F',
        long,
        alias = "format_path",
        value_name = "FORMAT,...",
        value_delimiter = ',',
        conflicts_with = "btf"
    )]
    pub format_path: Vec<DebugFormat>,
    /// Types that the BTF of a kernel module is based on: the vmlinux of the same build, or its BTF;
    /// for a module with `.BTF.base`, of any kernel that can load it
    #[arg(long, alias = "btf_base", value_name = "FILE")]
    pub btf_base: Option<PathBuf>,
    /// Leave nothing out: print every definition of a name that has several, not only the first
    #[arg(long)]
    pub all: bool,
    /// Use this many threads [default: one for each CPU]
    #[arg(short = 'j', long, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
    #[command(flatten)]
    pub selection: SelectionArgs,

    /// Print the types of members in place, down to base types, and what typedefs stand for
    #[arg(short = 'E', long, alias = "expand_types", help_heading = "Output")]
    pub expand: bool,
    /// Print each struct with members moved into its holes, and what that saves
    #[arg(short = 'R', long, help_heading = "Output")]
    pub reorganize: bool,
    /// With --reorganize: print each move too
    #[arg(
        short = 'S',
        long,
        alias = "show_reorg_steps",
        requires = "reorganize",
        help_heading = "Output"
    )]
    pub show_reorg_steps: bool,
    /// Print one line for each struct that --reorganize makes smaller: name, size, size then, bytes
    /// saved
    #[arg(short = 'P', long, help_heading = "Output")]
    pub packable: bool,
    /// Print where each type is defined: unit, offset of the entry, file and line; needs DWARF
    #[arg(short = 'I', long, alias = "show_decl_info", help_heading = "Output")]
    pub show_decl_info: bool,
    /// Print how many parameters of functions point to each struct
    #[arg(short = 'm', long, alias = "nr_methods", help_heading = "Output", conflicts_with_all = ["types", "class_names"])]
    pub nr_methods: bool,
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
}

/// Debug information, as the user names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum DebugFormat {
    /// DWARF
    Dwarf,
    /// BTF
    Btf,
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
pub fn run(args: &Args) -> Result<(), UserError> {
    arguments::limit_threads(args.jobs)?;
    let names = { args.types.iter() }.chain(&args.class_names).cloned();
    let NamedTypes { file, names } = NamedTypes::find(args.file.as_deref(), names.collect());
    verify_debug_path("show", &file, &names)?;
    let shown = with_types(
        &file,
        args.debug_info(),
        args.btf_base.as_deref(),
        &print_note,
        |catalog| show_types(args, &file, names, catalog),
    );
    match args.file.as_deref().filter(|named| *named != file) {
        Some(named) => shown.map_err(UserError::wrap::<UserError>(format!(
            "{} is no file here, and was taken for a type",
            named.display()
        ))),
        None => shown,
    }
}

impl Args {
    fn debug_info(&self) -> DebugInfoFormat {
        let wants_btf = self.btf || self.format_path.first() == Some(&DebugFormat::Btf);
        match wants_btf {
            true => DebugInfoFormat::Btf,
            false => DebugInfoFormat::Any,
        }
    }

    fn options(&self, catalog: &TypeCatalog<'_>) -> Options {
        Options {
            cacheline_size: self.cacheline_size,
            hex: self.hex,
            expand: self.expand,
            version: self.pahole_version.into(),
            alignments_known: catalog.knows_alignments(),
            ..Options::default()
        }
    }
}

fn show_types(
    args: &Args,
    file: &Path,
    names: Vec<String>,
    catalog: &TypeCatalog<'_>,
) -> Result<(), UserError> {
    if let Some(prefix) = &args.selection.cu_exclude
        && !catalog.exclude_units(prefix)
    {
        let message = format!("--cu-exclude {prefix}: BTF does not know units");
        return Err(UserError::input(message).with_remedy("a file with DWARF does"));
    }
    if args.nr_methods {
        return print_methods(args, catalog);
    }
    let options = args.options(catalog);
    let selection = TypeSelection {
        names,
        all: args.all,
        limits: args.selection.limits(),
        order: args.sort.map(SortKey::order),
        measures: args.sizes,
        line_bytes: args.cacheline_size,
    };
    let mut output = TypesOutput::new(args.json);
    let same_text =
        |types: &TypeArena, shown: &ShownType<'_>| layout_text(types, shown, &Options::default());
    render_types(
        file,
        catalog,
        &selection,
        &print_note,
        &same_text,
        |types, shown, measures| render(args, catalog, types, shown, measures, &options),
        |texts| {
            texts.iter().for_each(|text| output.add(text));
            output.flush()
        },
    )?;
    output.finish()
}

/// Renders one type in the form that is asked for; `None` if it has none.
fn render(
    args: &Args,
    catalog: &TypeCatalog<'_>,
    types: &TypeArena,
    shown: &ShownType<'_>,
    measures: Option<&TypeMeasures>,
    options: &Options,
) -> Option<String> {
    let packed = || PackedType::pack(&catalog.abi(types), types, shown.id);
    let text = if args.json {
        type_json(&catalog.abi(types), types, shown, args.cacheline_size)
    } else if args.sizes {
        sizes_text(shown, measures)
    } else if args.packable {
        return packable_text(types, shown, packed().as_ref());
    } else if args.reorganize {
        packed_text(
            types,
            shown,
            packed().as_ref(),
            options,
            args.show_reorg_steps,
        )
    } else if args.selection.contains.is_some() && !args.expand {
        format!("{}\n", shown.name)
    } else if args.show_decl_info {
        let unit = shown.entry.and_then(|entry| catalog.unit_of(&entry));
        place_text(types, shown, unit) + &layout_text(types, shown, options)
    } else {
        layout_text(types, shown, options)
    };
    Some(text)
}

fn print_methods(args: &Args, catalog: &TypeCatalog<'_>) -> Result<(), UserError> {
    let counts = catalog.method_counts()?;
    let shown = { counts.iter() }.filter(|(name, _)| args.selection.limits().admits_name(name));
    let lines: String = shown
        .map(|(name, count)| format!("{name}\t{count}\n"))
        .collect();
    print_text(&lines)
}
