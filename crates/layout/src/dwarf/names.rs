//! The pass over all units that finds the names of types.
//!
//! Every entry outside functions is passed over once, so this is where the time of opening a file
//! goes: abbreviations are read for skipping, values that nobody asks for are not decoded, and a
//! name stays an offset into its section until all units are joined. `DW_AT_sibling` lets the scan
//! jump over bodies and members; where a producer leaves it out, children are read and ignored.

use gimli::{
    DwTag, Encoding, Reader as _, Section as _, SectionId, UnitHeader, UnitOffset, constants as dw,
};
use rayon::prelude::*;

use super::DieOffset;
use super::abbrev::{Abbreviation, Abbreviations, Wanted};
use super::die::Dwarf;
use super::file::Reader;
use super::forms;
use crate::{DefinitionKind, Error};

type Header<'s> = UnitHeader<Reader<'s>>;

/// A type definition as the index knows it, without loading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its entry.
    pub die: DieOffset,
    /// `sizeof` in bytes; `u32::MAX` where the entry does not say, or more than fits.
    pub size: u32,
    /// Lower half of the line of its declaration; 0 where the entry does not say.
    pub line: u16,
    /// What it is.
    pub kind: DefinitionKind,
}

/// Where a name is: compared instead of the text, since linkers keep each string once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum NameKey {
    /// Offset in this section.
    At(SectionId, usize),
    /// Index in [`UnitNames::inline`].
    Inline(usize),
}

/// The definitions of one unit, in file order.
#[derive(Default)]
pub(super) struct UnitNames<'s> {
    pub(super) definitions: Vec<(NameKey, Definition)>,
    /// Names that stand in the entries themselves, or had to be looked up.
    pub(super) inline: Vec<&'s str>,
}

/// Scans all units, in parallel; the result does not depend on the number of threads.
pub(super) fn of_units<'s>(
    dwarf: &Dwarf<'s>,
    headers: &[&Header<'s>],
) -> Result<Vec<UnitNames<'s>>, Error> {
    headers
        .par_iter()
        .map_init(Scratch::default, |scratch, header| {
            let start = header.debug_info_offset().map_or(0, |offset| offset.0);
            let place = || format!("the unit at {start:#x} of .debug_info");
            let mut read = || {
                scratch.prepare(dwarf, header)?;
                let mut scan = Scan::new(dwarf, header, &scratch.abbreviations);
                scan.walk()?;
                Ok(scan.found)
            };
            read().map_err(|error| Error::dwarf(place())(error))
        })
        .collect()
}

/// The abbreviations read last: units of one table follow each other.
#[derive(Default)]
struct Scratch {
    abbreviations: Abbreviations,
    read: Option<(usize, Encoding)>,
}

impl Scratch {
    fn prepare(&mut self, dwarf: &Dwarf<'_>, header: &Header<'_>) -> gimli::Result<()> {
        let (at, encoding) = (header.debug_abbrev_offset().0, header.encoding());
        if self.read == Some((at, encoding)) {
            return Ok(());
        }
        self.read = None;
        let mut input = *dwarf.debug_abbrev.reader();
        input.skip(at)?;
        self.abbreviations.read(input, encoding)?;
        self.read = Some((at, encoding));
        Ok(())
    }
}

struct Scan<'u, 's> {
    dwarf: &'u Dwarf<'s>,
    header: &'u Header<'s>,
    abbreviations: &'u Abbreviations,
    encoding: Encoding,
    /// Start of the unit in `.debug_info`.
    start: usize,
    /// First byte after the unit, from its start.
    end: usize,
    str_offsets_base: gimli::DebugStrOffsetsBase<usize>,
    /// The language nests types in aggregates.
    nests: bool,
    found: UnitNames<'s>,
}

/// The attributes that the scan looks at.
#[derive(Default)]
struct Attributes {
    name: Option<NameKey>,
    size: Option<u64>,
    line: Option<u64>,
    /// From the start of the unit.
    specification: Option<usize>,
    sibling: Option<usize>,
    language: Option<u64>,
    declaration: bool,
}

impl<'u, 's> Scan<'u, 's> {
    fn new(dwarf: &'u Dwarf<'s>, header: &'u Header<'s>, abbreviations: &'u Abbreviations) -> Self {
        let encoding = header.encoding();
        Self {
            dwarf,
            header,
            abbreviations,
            encoding,
            start: header.debug_info_offset().map_or(0, |offset| offset.0),
            end: header.length_including_self(),
            str_offsets_base: gimli::DebugStrOffsetsBase::default_for_encoding_and_file(
                encoding,
                dwarf.file_type,
            ),
            nests: false,
            found: UnitNames::default(),
        }
    }

    fn walk(&mut self) -> gimli::Result<()> {
        let abbreviations = self.abbreviations;
        let mut input = self.header.range_from(self.header.root_offset()..)?;
        let code = input.read_uleb128()?;
        if code == 0 {
            return Ok(());
        }
        let root = abbreviations.get(code)?;
        let attributes = self.attributes(&mut input, root)?;
        self.nests = !attributes.language.is_some_and(is_c);
        if !root.has_children {
            return Ok(());
        }
        // Open entries, and the number below which entries count again after a skipped subtree.
        let mut depth = 1usize;
        let mut muted: Option<usize> = None;
        while depth > 0 && !input.is_empty() {
            let offset = self.end - input.len();
            let code = input.read_uleb128()?;
            if code == 0 {
                depth -= 1;
                if muted.is_some_and(|above| depth <= above) {
                    muted = None;
                }
                continue;
            }
            let abbreviation = abbreviations.get(code)?;
            let kind = abbreviation.kind.filter(|_| muted.is_none());
            if kind.is_none() && !abbreviation.has_children {
                self.skip(&mut input, abbreviation)?;
                continue;
            }
            let attributes = self.attributes(&mut input, abbreviation)?;
            if let Some(kind) = kind {
                self.collect(offset, kind, &attributes);
            }
            if !abbreviation.has_children {
                continue;
            }
            let here = self.end - input.len();
            if muted.is_none() && self.descends(abbreviation.tag) {
                depth += 1;
            } else if let Some(next) = attributes.sibling.filter(|next| *next > here) {
                input.skip(next - here)?;
            } else {
                muted = muted.or(Some(depth));
                depth += 1;
            }
        }
        Ok(())
    }

    fn descends(&self, tag: DwTag) -> bool {
        tag == dw::DW_TAG_namespace || tag == dw::DW_TAG_module || self.nests && is_aggregate(tag)
    }

    fn collect(&mut self, offset: usize, kind: DefinitionKind, attributes: &Attributes) {
        if attributes.declaration {
            return;
        }
        let name = attributes.name.or_else(|| {
            let declared = attributes.specification?;
            self.name_at(declared)
        });
        let Some(name) = name else { return };
        let die = DieOffset(self.start.saturating_add(offset));
        let size = attributes.size.and_then(|size| u32::try_from(size).ok());
        let size = size.unwrap_or(u32::MAX);
        let definition = Definition {
            die,
            size,
            line: attributes.line.map_or(0, |line| line as u16),
            kind,
        };
        self.found.definitions.push((name, definition));
    }

    /// The name of the entry at `offset` of this unit, which declares what another defines.
    fn name_at(&mut self, offset: usize) -> Option<NameKey> {
        let mut input = self.header.range_from(UnitOffset(offset)..).ok()?;
        let abbreviations = self.abbreviations;
        let abbreviation = abbreviations.get(input.read_uleb128().ok()?).ok()?;
        self.attributes(&mut input, abbreviation).ok()?.name
    }

    fn skip(&self, input: &mut Reader<'s>, abbreviation: &Abbreviation) -> gimli::Result<()> {
        if let Some(size) = abbreviation.fixed_size {
            return input.skip(size as usize);
        }
        for step in self.abbreviations.steps(abbreviation) {
            input.skip(step.skip as usize)?;
            forms::skip(input, step.form, self.encoding)?;
        }
        input.skip(abbreviation.rest as usize)
    }

    fn attributes(
        &mut self,
        input: &mut Reader<'s>,
        abbreviation: &Abbreviation,
    ) -> gimli::Result<Attributes> {
        let mut found = Attributes::default();
        let (abbreviations, encoding) = (self.abbreviations, self.encoding);
        for step in abbreviations.steps(abbreviation) {
            input.skip(step.skip as usize)?;
            let number = |input: &mut _| forms::number(input, step.form, step.implicit, encoding);
            match step.wanted {
                None => forms::skip(input, step.form, encoding)?,
                Some(Wanted::Name) => found.name = self.name(input, step.form)?,
                Some(Wanted::Size) => found.size = number(input)?,
                Some(Wanted::Line) => found.line = number(input)?,
                Some(Wanted::Declaration) => found.declaration = number(input)? == Some(1),
                Some(Wanted::Language) => found.language = number(input)?,
                Some(Wanted::Sibling) => found.sibling = self.in_unit(input, step.form)?,
                Some(Wanted::Specification) => {
                    found.specification = self.in_unit(input, step.form)?;
                }
                Some(Wanted::StrOffsetsBase) => {
                    let base = number(input)?.and_then(|base| usize::try_from(base).ok());
                    self.str_offsets_base = gimli::DebugStrOffsetsBase(base.unwrap_or(0));
                }
            }
        }
        input.skip(abbreviation.rest as usize)?;
        Ok(found)
    }

    /// A reference that stays in this unit, from its start.
    fn in_unit(&self, input: &mut Reader<'s>, form: gimli::DwForm) -> gimli::Result<Option<usize>> {
        let form = forms::direct(input, form)?;
        let number = forms::number(input, form, 0, self.encoding)?;
        let offset = number.and_then(|offset| usize::try_from(offset).ok());
        Ok(match form {
            dw::DW_FORM_ref1
            | dw::DW_FORM_ref2
            | dw::DW_FORM_ref4
            | dw::DW_FORM_ref8
            | dw::DW_FORM_ref_udata => offset,
            dw::DW_FORM_ref_addr => offset
                .and_then(|offset| offset.checked_sub(self.start))
                .filter(|offset| *offset < self.end),
            _ => None,
        })
    }

    fn name(
        &mut self,
        input: &mut Reader<'s>,
        form: gimli::DwForm,
    ) -> gimli::Result<Option<NameKey>> {
        let form = forms::direct(input, form)?;
        if form == dw::DW_FORM_string {
            let text = input.read_null_terminated_slice()?;
            let text = std::str::from_utf8(text.slice()).ok();
            return Ok(text.map(|text| self.inline(text)));
        }
        let number = forms::number(input, form, 0, self.encoding)?;
        let Some(number) = number.and_then(|number| usize::try_from(number).ok()) else {
            return Ok(None);
        };
        Ok(match form {
            dw::DW_FORM_strp => Some(NameKey::At(SectionId::DebugStr, number)),
            dw::DW_FORM_line_strp => Some(NameKey::At(SectionId::DebugLineStr, number)),
            dw::DW_FORM_strx
            | dw::DW_FORM_strx1
            | dw::DW_FORM_strx2
            | dw::DW_FORM_strx3
            | dw::DW_FORM_strx4
            | dw::DW_FORM_GNU_str_index => {
                let offsets = &self.dwarf.debug_str_offsets;
                let index = gimli::DebugStrOffsetsIndex(number);
                let at = offsets.get_str_offset(self.encoding.format, self.str_offsets_base, index);
                at.ok().map(|at| NameKey::At(SectionId::DebugStr, at.0))
            }
            _ => None,
        })
    }

    fn inline(&mut self, text: &'s str) -> NameKey {
        self.found.inline.push(text);
        NameKey::Inline(self.found.inline.len() - 1)
    }
}

pub(super) fn kind(tag: DwTag) -> Option<DefinitionKind> {
    Some(match tag {
        dw::DW_TAG_structure_type => DefinitionKind::Struct,
        dw::DW_TAG_union_type => DefinitionKind::Union,
        dw::DW_TAG_class_type => DefinitionKind::Class,
        dw::DW_TAG_enumeration_type => DefinitionKind::Enum,
        dw::DW_TAG_typedef => DefinitionKind::Typedef,
        dw::DW_TAG_base_type => DefinitionKind::Base,
        _ => return None,
    })
}

fn is_aggregate(tag: DwTag) -> bool {
    kind(tag).is_some_and(DefinitionKind::is_aggregate)
}

/// Languages whose struct declarations do not form scopes.
fn is_c(language: u64) -> bool {
    let language = gimli::DwLang(u16::try_from(language).unwrap_or(0));
    matches!(
        language,
        dw::DW_LANG_C
            | dw::DW_LANG_C89
            | dw::DW_LANG_C99
            | dw::DW_LANG_C11
            | dw::DW_LANG_C17
            | dw::DW_LANG_Mips_Assembler
    )
}
