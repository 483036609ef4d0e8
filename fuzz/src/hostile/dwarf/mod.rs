//! DWARF put together entry by entry, whatever the entries say. Little-endian.

use std::collections::HashMap;

use gimli::{DwAt, DwForm, DwTag, constants as dw};

use super::HostileCase;
use super::elf::{ElfBuilder, ElfSection};

mod cycles;
mod deep;
mod locations;
mod many;
mod numbers;
mod wrong;

/// Hostile files with DWARF.
pub fn cases() -> Vec<HostileCase> {
    [
        cycles::cases(),
        deep::cases(),
        many::cases(),
        numbers::cases(),
        wrong::cases(),
    ]
    .concat()
}

pub use locations::cases as locations;

/// Sections to be.
#[derive(Default)]
pub struct DwarfBuilder {
    /// `.debug_info`
    pub info: Vec<u8>,
    /// `.debug_abbrev`, without the 0 at its end.
    pub abbrev: Vec<u8>,
    codes: HashMap<Vec<u8>, u64>,
    /// Targets of [`AttributeValue::Ref`], from the start of their unit.
    labels: Vec<Option<usize>>,
    /// Places of references, and what they lead to.
    references: Vec<(usize, DieLabel)>,
    /// Start of the unit at hand.
    unit: Option<usize>,
    header: UnitHeader,
}

/// Of a unit.
#[derive(Clone, Copy)]
pub struct UnitHeader {
    /// 2 to 5, if it is to be right.
    pub version: u16,
    /// Of an address, in bytes.
    pub address_bytes: u8,
    /// 64-bit DWARF.
    pub wide: bool,
    /// Offset of its abbreviations.
    pub abbrev: u32,
}

impl Default for UnitHeader {
    fn default() -> Self {
        Self {
            version: 5,
            address_bytes: 8,
            wide: false,
            abbrev: 0,
        }
    }
}

/// Stands for an entry, also for one that comes later.
#[derive(Clone, Copy)]
pub struct DieLabel(usize);

/// Of an attribute.
#[derive(Clone)]
pub enum AttributeValue {
    /// `DW_FORM_string`
    Text(String),
    /// `DW_FORM_udata`
    Number(u64),
    /// `DW_FORM_sdata`
    Signed(i64),
    /// `DW_FORM_flag_present`
    Yes,
    /// `DW_FORM_ref4`
    Ref(DieLabel),
    /// Any form, any bytes.
    Raw(DwForm, Vec<u8>),
}

/// Attributes of an entry.
pub type Attributes<'a> = &'a [(DwAt, AttributeValue)];

/// A short text.
pub fn text(text: impl Into<String>) -> AttributeValue {
    AttributeValue::Text(text.into())
}

fn uleb(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn sleb(bytes: &mut Vec<u8>, mut number: i64) {
    loop {
        let byte = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 && byte & 0x40 == 0 || number == -1 && byte & 0x40 != 0 {
            bytes.push(byte);
            return;
        }
        bytes.push(byte | 0x80);
    }
}

impl DwarfBuilder {
    /// One C unit, open.
    pub fn new() -> Self {
        let mut dwarf = Self::default();
        dwarf.begin(UnitHeader::default());
        dwarf.root(dw::DW_LANG_C11);
        dwarf
    }

    /// The same in C++, where types nest.
    pub fn cpp() -> Self {
        let mut dwarf = Self::default();
        dwarf.begin(UnitHeader::default());
        dwarf.root(dw::DW_LANG_C_plus_plus_14);
        dwarf
    }

    /// Begins a unit.
    pub fn begin(&mut self, header: UnitHeader) {
        self.end();
        self.unit = Some(self.info.len());
        self.header = header;
        let size = if header.wide {
            self.info.extend(u32::MAX.to_le_bytes());
            8
        } else {
            4
        };
        self.info.extend(vec![0; size]);
        self.info.extend(header.version.to_le_bytes());
        let abbrev = &u64::from(header.abbrev).to_le_bytes()[..size];
        if header.version >= 5 {
            self.info
                .extend([dw::DW_UT_compile.0, header.address_bytes]);
            self.info.extend(abbrev);
        } else {
            self.info.extend(abbrev);
            self.info.push(header.address_bytes);
        }
    }

    /// The entry of a compilation unit, open.
    pub fn root(&mut self, language: gimli::DwLang) {
        let language = AttributeValue::Number(u64::from(language.0));
        self.open(dw::DW_TAG_compile_unit, &[(dw::DW_AT_language, language)]);
    }

    /// Ends the unit at hand; what is open stays so.
    pub fn end(&mut self) {
        let Some(start) = self.unit.take() else {
            return;
        };
        let at = if self.header.wide { start + 4 } else { start };
        let size = if self.header.wide { 8 } else { 4 };
        let length = (self.info.len() - at - size) as u64;
        self.info[at..at + size].copy_from_slice(&length.to_le_bytes()[..size]);
        for (at, DieLabel(label)) in std::mem::take(&mut self.references) {
            let offset = self.labels[label].unwrap_or(0) as u32;
            self.info[at..at + 4].copy_from_slice(&offset.to_le_bytes());
        }
    }

    /// A name for an entry to come.
    pub fn label(&mut self) -> DieLabel {
        self.labels.push(None);
        DieLabel(self.labels.len() - 1)
    }

    /// The next entry is the one with this label.
    pub fn place_label(&mut self, DieLabel(label): DieLabel) {
        let start = self.unit.unwrap_or(0);
        self.labels[label] = Some(self.info.len() - start);
    }

    /// `label` is another name for `known`.
    pub fn alias_label(&mut self, DieLabel(label): DieLabel, DieLabel(other): DieLabel) {
        self.labels[label] = self.labels[other];
    }

    /// An entry without children.
    pub fn entry(&mut self, tag: DwTag, attributes: Attributes<'_>) -> DieLabel {
        self.add_entry(tag, false, attributes)
    }

    /// An entry whose children follow, until [`close`](Self::close).
    pub fn open(&mut self, tag: DwTag, attributes: Attributes<'_>) -> DieLabel {
        self.add_entry(tag, true, attributes)
    }

    /// Ends the children of the entry opened last.
    pub fn close(&mut self) {
        self.info.push(0);
    }

    fn add_entry(&mut self, tag: DwTag, children: bool, attributes: Attributes<'_>) -> DieLabel {
        let label = self.label();
        self.place_label(label);
        let mut shape = Vec::new();
        uleb(&mut shape, u64::from(tag.0));
        shape.push(u8::from(children));
        for (name, value) in attributes {
            uleb(&mut shape, u64::from(name.0));
            uleb(&mut shape, u64::from(value.form().0));
        }
        shape.extend([0, 0]);
        let next = self.codes.len() as u64 + 1;
        let code = *self.codes.entry(shape).or_insert_with_key(|shape| {
            uleb(&mut self.abbrev, next);
            self.abbrev.extend(shape);
            next
        });
        uleb(&mut self.info, code);
        for (_, value) in attributes {
            self.write_value(value);
        }
        label
    }

    fn write_value(&mut self, value: &AttributeValue) {
        match value {
            AttributeValue::Text(text) => {
                self.info.extend(text.as_bytes());
                self.info.push(0);
            }
            AttributeValue::Number(number) => uleb(&mut self.info, *number),
            AttributeValue::Signed(number) => sleb(&mut self.info, *number),
            AttributeValue::Yes => {}
            AttributeValue::Ref(label) => {
                self.references.push((self.info.len(), *label));
                self.info.extend([0; 4]);
            }
            AttributeValue::Raw(_, bytes) => self.info.extend(bytes),
        }
    }

    /// The sections, and the end of what is open.
    pub fn sections(mut self) -> Vec<ElfSection> {
        self.end();
        self.abbrev.push(0);
        vec![
            ElfSection::new(".debug_info", self.info),
            ElfSection::new(".debug_abbrev", self.abbrev),
        ]
    }

    /// A program that has the sections.
    pub fn program(self) -> Vec<u8> {
        ElfBuilder::from_sections(self.sections()).bytes()
    }

    /// `int`
    pub fn int(&mut self) -> DieLabel {
        self.entry(
            dw::DW_TAG_base_type,
            &[
                (dw::DW_AT_name, text("int")),
                (dw::DW_AT_byte_size, AttributeValue::Number(4)),
            ],
        )
    }

    /// A struct, open.
    pub fn structure(&mut self, name: &str, size: u64) -> DieLabel {
        self.open(
            dw::DW_TAG_structure_type,
            &[
                (dw::DW_AT_name, text(name)),
                (dw::DW_AT_byte_size, AttributeValue::Number(size)),
            ],
        )
    }

    /// A member.
    pub fn member(&mut self, name: &str, ty: DieLabel, offset: u64) {
        self.entry(
            dw::DW_TAG_member,
            &[
                (dw::DW_AT_name, text(name)),
                (dw::DW_AT_type, AttributeValue::Ref(ty)),
                (
                    dw::DW_AT_data_member_location,
                    AttributeValue::Number(offset),
                ),
            ],
        );
    }

    /// A type that stands for another.
    pub fn derived(&mut self, tag: DwTag, name: Option<&str>, target: DieLabel) -> DieLabel {
        let target = (dw::DW_AT_type, AttributeValue::Ref(target));
        match name {
            Some(name) => self.entry(tag, &[(dw::DW_AT_name, text(name)), target]),
            None => self.entry(tag, &[target]),
        }
    }
}

impl AttributeValue {
    fn form(&self) -> DwForm {
        match self {
            Self::Text(_) => dw::DW_FORM_string,
            Self::Number(_) => dw::DW_FORM_udata,
            Self::Signed(_) => dw::DW_FORM_sdata,
            Self::Yes => dw::DW_FORM_flag_present,
            Self::Ref(_) => dw::DW_FORM_ref4,
            Self::Raw(form, _) => *form,
        }
    }
}
