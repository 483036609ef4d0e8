//! Abbreviations of a unit, for skipping entries.
//!
//! The abbreviations of gimli hold what is needed to read any attribute, at several allocations
//! each. A kernel has half a million of them.
use gimli::{DwAt, DwForm, DwTag, Encoding, Reader as _, constants as dw};
use rustc_hash::FxHashMap;

use super::die::{Reader, definition_kind};
use super::{forms, language};
use crate::DefinitionKind;

/// Abbreviations of one unit.
#[derive(Default)]
pub(super) struct AbbreviationTable {
    abbreviations: Vec<Abbreviation>,
    steps: Vec<AttributeStep>,
    /// Indices in `abbreviations` by code; `None` if codes count from 1.
    codes: Option<FxHashMap<u64, usize>>,
}

/// Common part of all entries with one code.
#[derive(Clone, Copy)]
pub(super) struct Abbreviation {
    pub(super) tag: DwTag,
    pub(super) has_children: bool,
    /// True for a parameter, or a pack of parameters, of a template.
    pub(super) is_template_parameter: bool,
    /// Kind of definition that the scan collects from such entries.
    pub(super) kind: Option<DefinitionKind>,
    /// Length of all attributes in bytes, if every entry has the same.
    pub(super) fixed_size: Option<u32>,
    /// Bytes to skip behind the last step.
    pub(super) rest: u32,
    first: u32,
    count: u32,
}

/// Bytes to skip, followed by an attribute that the scan reads, or whose length its value tells.
#[derive(Clone, Copy)]
pub(super) struct AttributeStep {
    pub(super) skip: u32,
    pub(super) form: DwForm,
    pub(super) wanted: Option<ScannedAttribute>,
    /// Value, if the form is `DW_FORM_implicit_const`.
    pub(super) implicit: i64,
}

/// Attribute that the scan reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ScannedAttribute {
    Name,
    Size,
    Line,
    Declaration,
    Specification,
    Sibling,
    Language,
    LanguageName,
    ExportSymbols,
    StrOffsetsBase,
    DwoName,
}

impl ScannedAttribute {
    fn from_attribute(
        tag: DwTag,
        kind: Option<DefinitionKind>,
        children: bool,
        name: DwAt,
        extent: ScanExtent,
    ) -> Option<Self> {
        let unit = is_unit(tag);
        let function = extent == ScanExtent::FunctionBodies && tag == dw::DW_TAG_subprogram;
        match name {
            dw::DW_AT_name if kind.is_some() || is_scope(tag) || function => Some(Self::Name),
            dw::DW_AT_byte_size if kind.is_some() => Some(Self::Size),
            dw::DW_AT_decl_line if kind.is_some() => Some(Self::Line),
            dw::DW_AT_declaration if kind.is_some() => Some(Self::Declaration),
            dw::DW_AT_specification | dw::DW_AT_signature if kind.is_some() => {
                Some(Self::Specification)
            }
            dw::DW_AT_specification | dw::DW_AT_abstract_origin if function => {
                Some(Self::Specification)
            }
            dw::DW_AT_export_symbols if is_scope(tag) => Some(Self::ExportSymbols),
            dw::DW_AT_sibling if children => Some(Self::Sibling),
            dw::DW_AT_language if unit => Some(Self::Language),
            language::DW_AT_LANGUAGE_NAME if unit => Some(Self::LanguageName),
            dw::DW_AT_str_offsets_base if unit => Some(Self::StrOffsetsBase),
            dw::DW_AT_dwo_name | dw::DW_AT_GNU_dwo_name if unit => Some(Self::DwoName),
            _ => None,
        }
    }
}

impl AbbreviationTable {
    /// Reads a table into this one and drops the old one. The memory serves unit after unit.
    pub(super) fn read(
        &mut self,
        mut input: Reader<'_>,
        encoding: Encoding,
        extent: ScanExtent,
    ) -> gimli::Result<()> {
        self.abbreviations.clear();
        self.steps.clear();
        self.codes = None;
        loop {
            let code = input.read_uleb128()?;
            if code == 0 {
                return Ok(());
            }
            let abbreviation = self.read_abbreviation(&mut input, encoding, extent)?;
            let index = self.abbreviations.len();
            if self.codes.is_none() && code != index as u64 + 1 {
                self.codes = Some((0..index).map(|index| (index as u64 + 1, index)).collect());
            }
            if let Some(codes) = &mut self.codes
                && codes.insert(code, index).is_some()
            {
                return Err(gimli::Error::DuplicateAbbreviationCode(code));
            }
            self.abbreviations.push(abbreviation);
        }
    }

    fn read_abbreviation(
        &mut self,
        input: &mut Reader<'_>,
        encoding: Encoding,
        extent: ScanExtent,
    ) -> gimli::Result<Abbreviation> {
        let tag = DwTag(input.read_uleb128_u16()?);
        let has_children = input.read_u8()? != 0;
        let kind = definition_kind(tag);
        let first = self.steps.len();
        let (mut fixed_size, mut rest) = (Some(0u32), 0u32);
        loop {
            let name = DwAt(input.read_uleb128_u16()?);
            let form = DwForm(input.read_uleb128_u16()?);
            if name.0 == 0 && form.0 == 0 {
                break;
            }
            let implicit = match form {
                dw::DW_FORM_implicit_const => input.read_sleb128()?,
                _ => 0,
            };
            let size = forms::fixed_size(form, encoding).map(u32::from);
            fixed_size = fixed_size.zip(size).map(|(sum, size)| sum + size);
            match (
                ScannedAttribute::from_attribute(tag, kind, has_children, name, extent),
                size,
            ) {
                (None, Some(size)) => rest += size,
                (wanted, _) => self.steps.push(AttributeStep {
                    skip: std::mem::take(&mut rest),
                    form,
                    wanted,
                    implicit,
                }),
            }
        }
        Ok(Abbreviation {
            tag,
            has_children,
            is_template_parameter: is_template_parameter(tag),
            kind,
            fixed_size,
            rest,
            first: first as u32,
            count: (self.steps.len() - first) as u32,
        })
    }

    #[inline]
    pub(super) fn get(&self, code: u64) -> gimli::Result<&Abbreviation> {
        let index = match &self.codes {
            None => usize::try_from(code)
                .ok()
                .and_then(|code| code.checked_sub(1)),
            Some(codes) => codes.get(&code).copied(),
        };
        let found = index.and_then(|index| self.abbreviations.get(index));
        found.ok_or(gimli::Error::InvalidAbbreviationCode(code))
    }

    /// Attributes of such an entry in order; [`Abbreviation::rest`] bytes follow.
    pub(super) fn steps(&self, abbreviation: &Abbreviation) -> &[AttributeStep] {
        let first = abbreviation.first as usize;
        &self.steps[first..first + abbreviation.count as usize]
    }
}

/// Entries from which the scan collects types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScanExtent {
    /// Those outside functions.
    TopLevel,
    /// Those inside functions.
    FunctionBodies,
}

/// Returns true for the parameters of templates, and for packs of them.
pub(super) fn is_template_parameter(tag: DwTag) -> bool {
    matches!(
        tag,
        dw::DW_TAG_template_type_parameter
            | dw::DW_TAG_template_value_parameter
            | dw::DW_TAG_GNU_template_template_param
            | dw::DW_TAG_GNU_template_parameter_pack
    )
}

/// Returns true for entries that contain types without being one.
fn is_scope(tag: DwTag) -> bool {
    matches!(tag, dw::DW_TAG_namespace | dw::DW_TAG_module)
}

fn is_unit(tag: DwTag) -> bool {
    matches!(
        tag,
        dw::DW_TAG_compile_unit
            | dw::DW_TAG_partial_unit
            | dw::DW_TAG_type_unit
            | dw::DW_TAG_skeleton_unit
    )
}
