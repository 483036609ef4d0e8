//! Walk over the entries of one unit.
use gimli::{DwTag, Encoding, Reader as _, SectionId, UnitHeader, UnitOffset, constants as dw};

use crate::DefinitionKind;
use crate::dwarf::abbrev::{Abbreviation, AbbreviationTable, ScanExtent, ScannedAttribute};
use crate::dwarf::companions::SplitUnit;
use crate::dwarf::die::{self, DieOffset, DieReference, Dwarf, Reader, is_aggregate_tag};
use crate::dwarf::forms;
use crate::dwarf::language::UnitLanguage;
use crate::dwarf::parts::{DwarfUnits, UnitSlot};
use crate::dwarf::unit_names::{
    DefinitionScope, NameKey, ScopeKind, TemplateInstance, TypeDefinition, UnitNames, section_text,
};

type Header<'s> = UnitHeader<Reader<'s>>;

pub(super) struct NameScan<'u, 's> {
    units: &'u DwarfUnits<'s>,
    slot: &'u UnitSlot<'s>,
    dwarf: &'u Dwarf<'s>,
    header: &'u Header<'s>,
    abbreviations: &'u AbbreviationTable,
    encoding: Encoding,
    /// First byte behind the unit, from its start.
    end: usize,
    str_offsets_base: gimli::DebugStrOffsetsBase<usize>,
    extent: ScanExtent,
    /// True if the language nests types in aggregates.
    nests_types: bool,
    is_cxx: bool,
    /// Open scopes, innermost last.
    open_scopes: Vec<OpenScope>,
    /// Functions that were declared in scopes, in order, with the indices of their scopes. Read in
    /// the scan of function bodies alone.
    declared_functions: Vec<(DieOffset, u32)>,
    pub(super) found: UnitNames<'s>,
}

/// Scope whose entries are being read.
#[derive(Clone, Copy)]
struct OpenScope {
    /// Index in [`UnitNames::scopes`].
    index: u32,
    die: DieOffset,
    /// Index of the definition that it is.
    definition: Option<u32>,
    in_function: bool,
    /// True if it was found to be an instance of a template.
    is_instance: bool,
}

/// Attributes that the scan reads.
#[derive(Default)]
struct NameAttributes {
    name: Option<NameKey>,
    size: Option<u64>,
    line: Option<u64>,
    specification: Option<DieOffset>,
    /// Offset from the start of the unit.
    sibling: Option<usize>,
    language: Option<UnitLanguage>,
    exports_symbols: bool,
    declaration: bool,
    split: bool,
}

impl<'u, 's> NameScan<'u, 's> {
    pub(super) fn new(
        units: &'u DwarfUnits<'s>,
        slot: &'u UnitSlot<'s>,
        abbreviations: &'u AbbreviationTable,
        extent: ScanExtent,
    ) -> Self {
        let (dwarf, header) = (&units.part(slot).dwarf, &slot.header);
        let encoding = header.encoding();
        Self {
            units,
            slot,
            dwarf,
            header,
            abbreviations,
            encoding,
            end: header.length_including_self(),
            str_offsets_base: gimli::DebugStrOffsetsBase::default_for_encoding_and_file(
                encoding,
                dwarf.file_type,
            ),
            extent,
            nests_types: false,
            is_cxx: false,
            open_scopes: Vec::new(),
            declared_functions: Vec::new(),
            found: UnitNames::default(),
        }
    }

    pub(super) fn walk(&mut self) -> gimli::Result<()> {
        let abbreviations = self.abbreviations;
        let mut input = self.header.range_from(self.header.root_offset()..)?;
        let code = input.read_uleb128()?;
        if code == 0 {
            return Ok(());
        }
        let root = abbreviations.get(code)?;
        let attributes = self.read_attributes(&mut input, root)?;
        self.nests_types = !attributes.language.is_some_and(UnitLanguage::is_c);
        self.is_cxx = attributes.language.is_none_or(UnitLanguage::is_cxx);
        self.found.states_cxx = attributes.language.is_some_and(UnitLanguage::is_cxx);
        self.found.language = attributes
            .language
            .filter(|_| root.tag == dw::DW_TAG_compile_unit);
        if attributes.split {
            self.found.split = self.split_unit();
        }
        if !root.has_children {
            return Ok(());
        }
        // `depth` counts open entries. Entries are ignored until `depth` falls back to `muted`.
        let mut depth = 1usize;
        let mut muted: Option<usize> = None;
        while depth > 0 && !input.is_empty() {
            let offset = self.end - input.len();
            let code = input.read_uleb128()?;
            if code == 0 {
                depth -= 1;
                match muted {
                    Some(above) if depth <= above => muted = None,
                    Some(_) => {}
                    None => drop(self.open_scopes.pop()),
                }
                continue;
            }
            let abbreviation = abbreviations.get(code)?;
            let kind = abbreviation.kind.filter(|_| muted.is_none());
            if abbreviation.is_template_parameter && muted.is_none() {
                self.mark_instance();
            }
            if kind.is_none() && !abbreviation.has_children && !self.is_function(abbreviation.tag) {
                self.skip_attributes(&mut input, abbreviation)?;
                continue;
            }
            let attributes = self.read_attributes(&mut input, abbreviation)?;
            let before = self.found.definitions.len();
            match kind {
                Some(kind) => self.collect(offset, kind, &attributes),
                None if muted.is_none() => self.declare_function(offset, abbreviation.tag),
                None => {}
            }
            if !abbreviation.has_children {
                continue;
            }
            let here = self.end - input.len();
            if muted.is_none() && self.descends(abbreviation.tag) {
                depth += 1;
                let is_defined = self.found.definitions.len() > before;
                self.enter(offset, abbreviation.tag, is_defined, &attributes);
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
        tag == dw::DW_TAG_namespace
            || tag == dw::DW_TAG_module
            || self.nests_types && is_aggregate_tag(tag)
            || self.is_function(tag)
            || self.extent == ScanExtent::FunctionBodies && is_block(tag)
    }

    /// Returns true for a function whose body is read.
    fn is_function(&self, tag: DwTag) -> bool {
        self.extent == ScanExtent::FunctionBodies && tag == dw::DW_TAG_subprogram
    }

    /// Enters a namespace, type, function or block. The name may be in the type unit that the entry
    /// stands for, or in the function's declaration.
    fn enter(&mut self, offset: usize, tag: DwTag, is_defined: bool, attributes: &NameAttributes) {
        let around = self.open_scopes.last().copied();
        if is_block(tag)
            && let Some(around) = around
        {
            self.open_scopes.push(around);
            return;
        }
        let is_function = self.is_function(tag);
        let declared = || attributes.specification;
        let name = attributes.name.or_else(|| self.name_at(declared()?));
        let mut parent = around.map(|scope| scope.index);
        if let Some(declared) = declared().filter(|_| is_function) {
            let known = &self.declared_functions;
            let at = known.binary_search_by_key(&declared, |(die, _)| *die);
            parent = at.map(|at| known[at].1).ok().or(parent);
        }
        let kind = match attributes.exports_symbols {
            _ if is_function => ScopeKind::Function,
            true => ScopeKind::Inline,
            false => ScopeKind::Named,
        };
        let last = self
            .found
            .definitions
            .len()
            .checked_sub(1)
            .map(|last| last as u32);
        self.open_scopes.push(OpenScope {
            index: self.found.scopes.len() as u32,
            die: self.die_at(offset),
            definition: last.filter(|_| is_defined),
            in_function: is_function || around.is_some_and(|scope| scope.in_function),
            is_instance: false,
        });
        self.found
            .scopes
            .push(DefinitionScope { kind, parent, name });
    }

    /// Notes that the innermost scope is an instance of a template, if it is a class of C++.
    fn mark_instance(&mut self) {
        let is_cxx = self.is_cxx;
        let Some(scope) = self
            .open_scopes
            .last_mut()
            .filter(|scope| is_cxx && !scope.is_instance)
        else {
            return;
        };
        scope.is_instance = true;
        self.found.templates.push(TemplateInstance {
            die: scope.die,
            scope: scope.index,
            definition: scope.definition,
        });
    }

    /// Notes the scope of a function, whose body may be elsewhere.
    fn declare_function(&mut self, offset: usize, tag: DwTag) {
        if let Some(scope) = self.open_scopes.last().filter(|_| self.is_function(tag)) {
            let declared = (self.die_at(offset), scope.index);
            self.declared_functions.push(declared);
        }
    }

    fn die_at(&self, offset: usize) -> DieOffset {
        DieOffset(self.slot.start.saturating_add(offset))
    }

    fn collect(&mut self, offset: usize, kind: DefinitionKind, attributes: &NameAttributes) {
        let die = self.die_at(offset);
        let around = self.open_scopes.last();
        let in_function = around.is_some_and(|scope| scope.in_function);
        if in_function != (self.extent == ScanExtent::FunctionBodies) {
            return;
        }
        let mut scope = around.map(|scope| scope.index);
        if attributes.declaration {
            self.found.declared.extend(scope.map(|scope| (die, scope)));
            return;
        }
        let mut name = attributes.name;
        if let Some(declared) = attributes.specification {
            name = name.or_else(|| self.name_at(declared));
            let known = &self.found.declared;
            let at = known.binary_search_by_key(&declared, |(die, _)| *die);
            scope = at.map(|at| known[at].1).ok().or(scope);
        }
        let Some(name) = name else { return };
        let size = attributes.size.and_then(|size| u32::try_from(size).ok());
        let size = size.unwrap_or(u32::MAX);
        let definition = TypeDefinition {
            die,
            size,
            line: attributes.line.map_or(0, |line| line as u16),
            kind,
        };
        if let Some(scope) = scope {
            let index = self.found.definitions.len() as u32;
            self.found.scoped.push((index, scope));
        }
        self.found.definitions.push((name, definition));
    }

    /// Name of an entry that declares a type which another entry defines.
    fn name_at(&mut self, declared: DieOffset) -> Option<NameKey> {
        let Some(offset) = self.slot.offset_of(declared) else {
            return self.name_elsewhere(declared);
        };
        let mut input = self.header.range_from(offset..).ok()?;
        let abbreviations = self.abbreviations;
        let abbreviation = abbreviations.get(input.read_uleb128().ok()?).ok()?;
        self.read_attributes(&mut input, abbreviation).ok()?.name
    }

    /// Name of a declaration in another unit, as `dwz` makes them.
    fn name_elsewhere(&mut self, declared: DieOffset) -> Option<NameKey> {
        let slot = self.units.slot_of(declared)?;
        let unit = self.units.unit(slot)?;
        let entry = unit.entry(slot.offset_of(declared)?).ok()?;
        let name = entry.attr_value(dw::DW_AT_name)?;
        let text = die::attribute_text(&self.units.part(slot).dwarf, unit, name)?;
        Some(self.inline_name(text))
    }

    /// File with the contents of the unit.
    fn split_unit(&self) -> Option<SplitUnit> {
        if self.dwarf.file_type == gimli::DwarfFileType::Dwo {
            return None;
        }
        let unit = self.units.parse_unit(self.slot).ok()?;
        let name = self.dwarf.attr_string(&unit, unit.dwo_name().ok()??).ok()?;
        let folder = unit
            .comp_dir
            .map(|folder| folder.to_string_lossy().into_owned());
        Some(SplitUnit {
            name: name.to_string_lossy().into_owned(),
            folder,
            id: unit.dwo_id?.0,
        })
    }

    fn skip_attributes(
        &self,
        input: &mut Reader<'s>,
        abbreviation: &Abbreviation,
    ) -> gimli::Result<()> {
        if let Some(size) = abbreviation.fixed_size {
            return input.skip(size as usize);
        }
        for step in self.abbreviations.steps(abbreviation) {
            input.skip(step.skip as usize)?;
            forms::skip_value(input, step.form, self.encoding)?;
        }
        input.skip(abbreviation.rest as usize)
    }

    fn read_attributes(
        &mut self,
        input: &mut Reader<'s>,
        abbreviation: &Abbreviation,
    ) -> gimli::Result<NameAttributes> {
        let mut found = NameAttributes::default();
        let (abbreviations, encoding) = (self.abbreviations, self.encoding);
        for step in abbreviations.steps(abbreviation) {
            input.skip(step.skip as usize)?;
            let number =
                |input: &mut _| forms::read_number(input, step.form, step.implicit, encoding);
            match step.wanted {
                None => forms::skip_value(input, step.form, encoding)?,
                Some(ScannedAttribute::Name) => found.name = self.read_name(input, step.form)?,
                Some(ScannedAttribute::Size) => found.size = number(input)?,
                Some(ScannedAttribute::Line) => found.line = number(input)?,
                Some(ScannedAttribute::Declaration) => {
                    found.declaration = number(input)? == Some(1)
                }
                Some(ScannedAttribute::Language) => {
                    found.language = number(input)?.and_then(UnitLanguage::from_code);
                }
                Some(ScannedAttribute::LanguageName) => {
                    found.language = number(input)?.and_then(UnitLanguage::from_name);
                }
                Some(ScannedAttribute::ExportSymbols) => {
                    found.exports_symbols = number(input)? == Some(1);
                }
                Some(ScannedAttribute::Sibling) => {
                    found.sibling = self.read_sibling(input, step.form)?
                }
                Some(ScannedAttribute::Specification) => {
                    found.specification = self.read_reference(input, step.form)?;
                }
                Some(ScannedAttribute::DwoName) => {
                    forms::skip_value(input, step.form, encoding)?;
                    found.split = true;
                }
                Some(ScannedAttribute::StrOffsetsBase) => {
                    let base = number(input)?.and_then(|base| usize::try_from(base).ok());
                    self.str_offsets_base = gimli::DebugStrOffsetsBase(base.unwrap_or(0));
                }
            }
        }
        input.skip(abbreviation.rest as usize)?;
        Ok(found)
    }

    /// Entry behind this one's children, from the start of the unit.
    fn read_sibling(
        &self,
        input: &mut Reader<'s>,
        form: gimli::DwForm,
    ) -> gimli::Result<Option<usize>> {
        let form = forms::resolve_form(input, form)?;
        let number = forms::read_number(input, form, 0, self.encoding)?;
        let offset = number.and_then(|offset| usize::try_from(offset).ok());
        // References to other units would be a detour; children are then read and ignored.
        Ok(offset.filter(|_| is_in_unit(form)))
    }

    /// Target of a reference.
    fn read_reference(
        &self,
        input: &mut Reader<'s>,
        form: gimli::DwForm,
    ) -> gimli::Result<Option<DieOffset>> {
        let form = forms::resolve_form(input, form)?;
        let number = forms::read_number(input, form, 0, self.encoding)?;
        let Some(offset) = number.and_then(|offset| usize::try_from(offset).ok()) else {
            return Ok(None);
        };
        let reference = match form {
            form if is_in_unit(form) => DieReference::Unit(UnitOffset(offset)),
            dw::DW_FORM_ref_addr => DieReference::Section(offset),
            dw::DW_FORM_GNU_ref_alt | dw::DW_FORM_ref_sup4 | dw::DW_FORM_ref_sup8 => {
                DieReference::Supplementary(offset)
            }
            dw::DW_FORM_ref_sig8 => DieReference::Signature(offset as u64),
            _ => return Ok(None),
        };
        Ok(self.units.resolve_reference(self.slot, reference))
    }

    fn read_name(
        &mut self,
        input: &mut Reader<'s>,
        form: gimli::DwForm,
    ) -> gimli::Result<Option<NameKey>> {
        let form = forms::resolve_form(input, form)?;
        if form == dw::DW_FORM_string {
            let text = input.read_null_terminated_slice()?;
            let text = std::str::from_utf8(text.slice()).ok();
            return Ok(text.map(|text| self.inline_name(text)));
        }
        let number = forms::read_number(input, form, 0, self.encoding)?;
        let Some(number) = number.and_then(|number| usize::try_from(number).ok()) else {
            return Ok(None);
        };
        let (section, offset) = match form {
            dw::DW_FORM_strp => (SectionId::DebugStr, number),
            dw::DW_FORM_line_strp => (SectionId::DebugLineStr, number),
            dw::DW_FORM_strx
            | dw::DW_FORM_strx1
            | dw::DW_FORM_strx2
            | dw::DW_FORM_strx3
            | dw::DW_FORM_strx4
            | dw::DW_FORM_GNU_str_index => {
                let offsets = &self.dwarf.debug_str_offsets;
                let index = gimli::DebugStrOffsetsIndex(number);
                let at = offsets.get_str_offset(self.encoding.format, self.str_offsets_base, index);
                let Ok(at) = at else { return Ok(None) };
                (SectionId::DebugStr, at.0)
            }
            dw::DW_FORM_GNU_strp_alt | dw::DW_FORM_strp_sup => {
                let supplementary = self.dwarf.sup();
                let text =
                    supplementary.and_then(|part| section_text(part, SectionId::DebugStr, number));
                return Ok(text.map(|text| self.inline_name(text)));
            }
            _ => return Ok(None),
        };
        if self.slot.part == 0 {
            return Ok(Some(NameKey::InSection(section, offset)));
        }
        let text = section_text(self.dwarf, section, offset);
        Ok(text.map(|text| self.inline_name(text)))
    }

    fn inline_name(&mut self, text: &'s str) -> NameKey {
        self.found.inline.push(text);
        NameKey::Inline(self.found.inline.len() - 1)
    }
}

/// Returns true for a reference from the start of the unit.
fn is_in_unit(form: gimli::DwForm) -> bool {
    matches!(
        form,
        dw::DW_FORM_ref1
            | dw::DW_FORM_ref2
            | dw::DW_FORM_ref4
            | dw::DW_FORM_ref8
            | dw::DW_FORM_ref_udata
    )
}

/// Returns true for the blocks of a function.
fn is_block(tag: DwTag) -> bool {
    matches!(
        tag,
        dw::DW_TAG_lexical_block | dw::DW_TAG_try_block | dw::DW_TAG_catch_block
    )
}
