//! Lines of findings that cost nothing: the most that a finding costs.

use std::ops::Range;

use relayout_contend::{Finding, FindingSubject};
use relayout_profile::Addr;

use crate::ResolvedProfile;
use crate::gathered::gather_type;
use crate::mapped_objects::{MappedObjects, TypeMapping};
use crate::simulated_layouts::LayoutSimulated;

/// A finding whose line costs nothing.
#[derive(Debug)]
pub struct FreedLine {
    /// Rank of the finding.
    pub rank: u32,
    /// Window with the free line, beside today's.
    pub outcome: LayoutSimulated,
}

/// Memory of a finding's line.
#[derive(Clone, Debug, PartialEq)]
pub enum FindingLines {
    /// The same bytes of all objects, those that come later too.
    OfObjects {
        /// Objects that hold the finding's type.
        objects: Vec<MappedObjects>,
        /// Bytes of the type.
        bytes: Range<u32>,
        /// Part of the type's transfers on objects that have no name.
        unnamed_share: f64,
    },
    /// Lines at recorded addresses.
    At(Vec<Addr>),
}

impl FindingLines {
    /// Looks where the lines of a finding are.
    pub fn find(resolved: &ResolvedProfile<'_>, finding: &Finding) -> Self {
        Self::of_objects(resolved, finding).unwrap_or_else(|| {
            let lines = finding.waited_lines.iter();
            Self::At(lines.map(|&line| Addr(line)).collect())
        })
    }

    /// Returns the bytes of a type whose objects have names; `None` for variables and other types.
    fn of_objects(resolved: &ResolvedProfile<'_>, finding: &Finding) -> Option<Self> {
        let FindingSubject::Type { name } = &finding.subject else {
            return None;
        };
        let gathered = gather_type(resolved, name, &[]).ok()?;
        let mapping = TypeMapping::find(resolved, &gathered);
        let begin = finding.line_offset.max(0);
        let end = finding.line_offset + i64::from(finding.line_bytes);
        let size = i64::try_from(gathered.aggregate.size).ok()?;
        let bytes = u32::try_from(begin).ok()?..u32::try_from(end.min(size)).ok()?;
        let is_known = !mapping.named.is_empty() && !bytes.is_empty() && finding.places.len() == 1;
        is_known.then(|| Self::OfObjects {
            objects: mapping.named.into_iter().collect(),
            bytes,
            unnamed_share: mapping.unnamed_share,
        })
    }
}
