//! Options that select types, and their order.

use clap::ArgGroup;
use clap_complete::ArgValueCandidates;
use relayout_session::show::{ShowOrder, TypeLimits};

use crate::arguments;
use crate::complete;

/// Options that leave out types.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Selection")]
#[command(group = ArgGroup::new("kind").args(["structs", "unions"]))]
pub struct SelectionArgs {
    /// Print the names of the structs and unions that have a member of this type (`mutex`,
    /// `*_lock`), or an array of it
    #[arg(short = 'i', long, value_name = "TYPE", add = ArgValueCandidates::new(complete::types))]
    pub contains: Option<String>,
    /// With --contains: also where it is a member of a member
    #[arg(short = 'd', long, requires = "contains")]
    pub recursive: bool,
    /// Only types of at least this size
    #[arg(long, value_name = "SIZE", value_parser = arguments::bytes)]
    pub size_min: Option<u64>,
    /// Only types of at most this size
    #[arg(long, value_name = "SIZE", value_parser = arguments::bytes)]
    pub size_max: Option<u64>,
    /// Only types that span at least this many cache lines
    #[arg(long, value_name = "N", value_parser = arguments::whole::<u64>)]
    pub lines_min: Option<u64>,
    /// Only types that span at most this many cache lines
    #[arg(long, value_name = "N", value_parser = arguments::whole::<u64>)]
    pub lines_max: Option<u64>,
    /// Only structs with at least this many holes
    #[arg(short = 'H', long, value_name = "N", value_parser = arguments::whole::<u64>)]
    pub holes: Option<u64>,
    /// Only structs with at least this many bit holes
    #[arg(short = 'B', long, alias = "bit_holes", value_name = "N", value_parser = arguments::whole::<u64>)]
    pub bit_holes: Option<u64>,
    /// Only types whose names begin so
    #[arg(short = 'y', long, alias = "prefix_filter", value_name = "PREFIX")]
    pub prefix_filter: Option<String>,
    /// No types whose names begin so
    #[arg(short = 'x', long, value_name = "PREFIX")]
    pub exclude: Option<String>,
    /// No types of source files whose names begin so; needs DWARF
    #[arg(short = 'X', long, alias = "cu_exclude", value_name = "PREFIX")]
    pub cu_exclude: Option<String>,
    /// Only structs and classes
    #[arg(long)]
    pub structs: bool,
    /// Only unions
    #[arg(long)]
    pub unions: bool,
}

impl SelectionArgs {
    /// Returns the limits that a type has to meet.
    pub fn limits(&self) -> TypeLimits {
        TypeLimits {
            contains: self.contains.clone(),
            recursive: self.recursive,
            size_min: self.size_min,
            size_max: self.size_max,
            lines_min: self.lines_min,
            lines_max: self.lines_max,
            holes_min: self.holes,
            bit_holes_min: self.bit_holes,
            prefix: self.prefix_filter.clone(),
            excluded_prefix: self.exclude.clone(),
            structs: self.structs,
            unions: self.unions,
        }
    }
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

impl SortKey {
    /// Returns the order of the types.
    pub fn order(self) -> ShowOrder {
        match self {
            Self::Name => ShowOrder::Name,
            Self::Size => ShowOrder::Size,
            Self::Holes => ShowOrder::Holes,
            Self::Padding => ShowOrder::Padding,
        }
    }
}
