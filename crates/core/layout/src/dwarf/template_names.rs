//! Names of instances of templates whose entries lack the arguments, as with
//! `-gsimple-template-names`: `Stat` with a parameter `T` that is `long` is `Stat<long>`.
//!
//! The names are spelled as clang spells them without that option. An instance with an argument
//! that the entries do not tell, such as an address, keeps its short name.
use std::cell::Cell;
use std::sync::OnceLock;

use gimli::{AttributeValue, constants as dw};
use rayon::prelude::*;

use super::abbrev::is_template_parameter;
use super::die::{self, DieOffset, Unit, is_aggregate_tag};
use super::entry::{DieContext, DieEntry};
use super::language::UnitLanguage;
use super::parts::{DwarfUnits, UnitSlot};
use super::scopes::ScopeIndex;
use super::unit_names::{NameKey, TemplateInstance, UnitNames, section_text};
use crate::canonical::UNNAMED_SCOPE;

/// Deepest nesting of types in a name. Deeper ones are damage.
const DEPTH_MAX: u32 = 32;
/// Most entries that are read for one name, and most bytes of a name.
const ENTRIES_MAX: u32 = 4096;
const NAME_BYTES_MAX: usize = 4096;
/// Most arguments of an instance. Each is printed wherever the instance is.
const ARGUMENTS_MAX: usize = 256;
/// Most scopes inside each other.
const SCOPES_MAX: usize = 64;

/// Gives the instances among the definitions and scopes of `found` their arguments. The names are
/// kept in `store`. Returns true if any name was short.
pub(super) fn complete_names<'s>(
    units: &DwarfUnits<'s>,
    found: &mut [UnitNames<'s>],
    around: Option<&ScopeIndex<'s>>,
    store: &'s OnceLock<String>,
) -> bool {
    let is_known_cxx = is_only_c_and_cxx(found.iter().filter_map(|unit| unit.language));
    let scanned = ScannedScopes {
        units: found,
        around,
    };
    let completed: Vec<Vec<(TemplateInstance, String)>> = { scanned.units.par_iter() }
        .map(|unit| match unit.states_cxx || is_known_cxx {
            true => completed_instances(units, &scanned, unit),
            false => Vec::new(),
        })
        .collect();
    let names = completed.iter().flatten().map(|(_, name)| name.as_str());
    let joined: String = names.collect();
    if joined.is_empty() || store.set(joined).is_err() {
        return false;
    }
    let mut rest = store.get().map_or("", String::as_str);
    for (unit, instances) in found.iter_mut().zip(completed) {
        for (instance, name) in instances {
            let (own, behind) = rest.split_at(name.len());
            rest = behind;
            unit.inline.push(own);
            let key = NameKey::Inline(unit.inline.len() - 1);
            unit.scopes[instance.scope as usize].name = Some(key);
            if let Some(definition) = instance.definition {
                unit.definitions[definition as usize].0 = key;
            }
        }
    }
    true
}

/// Returns true if units that state no language can only be of C++ if they have templates.
pub(super) fn is_only_c_and_cxx(languages: impl IntoIterator<Item = UnitLanguage>) -> bool {
    let is_either = |language: UnitLanguage| language.is_c() || language.is_cxx();
    languages.into_iter().all(is_either)
}

/// Instances of a unit with a short name, with their long name.
fn completed_instances<'s>(
    units: &DwarfUnits<'s>,
    found: &ScannedScopes<'_, 's>,
    unit: &UnitNames<'s>,
) -> Vec<(TemplateInstance, String)> {
    let is_short = |instance: &&TemplateInstance| {
        let name = unit.scopes[instance.scope as usize].name;
        name_text(units, unit, name).is_some_and(|name| !name.contains('<'))
    };
    let short = unit.templates.iter().filter(is_short);
    short
        .filter_map(|instance| {
            let namer = InstanceNamer::new(units, ScopeSource::Scanned(*found));
            Some((*instance, namer.instance_name(instance.die)?))
        })
        .collect()
}

fn name_text<'s>(
    units: &DwarfUnits<'s>,
    unit: &UnitNames<'s>,
    name: Option<NameKey>,
) -> Option<&'s str> {
    match name? {
        NameKey::Inline(index) => unit.inline.get(index).copied(),
        NameKey::InSection(section, offset) => {
            section_text(&units.parts.first()?.dwarf, section, offset)
        }
    }
}

/// Scopes of types before the units are joined.
#[derive(Clone, Copy)]
pub(super) struct ScannedScopes<'u, 's> {
    /// Names of all units, in the order of their slots.
    units: &'u [UnitNames<'s>],
    /// Joined scopes of what the scan passed over.
    around: Option<&'u ScopeIndex<'s>>,
}

/// Scopes of types, before or after the units are joined.
#[derive(Clone, Copy)]
pub(super) enum ScopeSource<'u, 's> {
    /// Scopes of the units.
    Scanned(ScannedScopes<'u, 's>),
    /// Joined scopes, whose names are complete.
    Joined(&'u ScopeIndex<'s>),
}

/// Speller of one name.
pub(super) struct InstanceNamer<'u, 's> {
    units: &'u DwarfUnits<'s>,
    scopes: ScopeSource<'u, 's>,
    entries_left: Cell<u32>,
    /// Enumerators as numbers: `(Color)1`, as gcc writes them.
    with_numbers: bool,
}

impl<'u, 's> InstanceNamer<'u, 's> {
    pub(super) fn new(units: &'u DwarfUnits<'s>, scopes: ScopeSource<'u, 's>) -> Self {
        Self {
            units,
            scopes,
            entries_left: Cell::new(ENTRIES_MAX),
            with_numbers: false,
        }
    }

    /// Name of the instance at `die` as clang writes it, or as gcc does, whoever compiled it.
    pub(super) fn respelled_name(self, die: DieOffset, by_gcc: bool) -> Option<String> {
        let namer = Self {
            with_numbers: by_gcc,
            ..self
        };
        let entry = namer.entry_at(die)?;
        let own = namer.text_of(&entry, dw::DW_AT_name)?;
        let base = own.split_once('<').map_or(own, |(base, _)| base).trim_end();
        namer.add_list(base, &entry, 0)
    }

    /// Name of the instance at `die` with its arguments, without its scope. `None` if it is none,
    /// or an argument is not known.
    pub(super) fn instance_name(&self, die: DieOffset) -> Option<String> {
        let entry = self.entry_at(die)?;
        self.name_with_arguments(&entry, 0)
    }

    fn entry_at(&self, die: DieOffset) -> Option<NamedEntry<'u, 's>> {
        let left = self.entries_left.get().checked_sub(1)?;
        self.entries_left.set(left);
        let slot = self.units.slot_of(die)?;
        let unit = self.units.unit(slot)?;
        let entry = unit.entry(slot.offset_of(die)?).ok()?;
        Some(NamedEntry { slot, unit, entry })
    }

    fn text_of(&self, at: &NamedEntry<'u, 's>, name: gimli::DwAt) -> Option<&'s str> {
        let value = at.entry.attr_value(name)?;
        die::attribute_text(&self.units.part(at.slot).dwarf, at.unit, value)
    }

    fn target(&self, at: &NamedEntry<'u, 's>, name: gimli::DwAt) -> Option<DieOffset> {
        let reference = die::die_reference(&at.entry.attr_value(name)?)?;
        self.units.resolve_reference(at.slot, reference)
    }

    fn children(&self, at: &NamedEntry<'u, 's>) -> Option<Vec<NamedEntry<'u, 's>>> {
        let mut found = Vec::new();
        if !at.entry.has_children() {
            return Some(found);
        }
        let mut tree = at.unit.entries_tree(Some(at.entry.offset())).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Some(child) = children.next().ok()? {
            found.push(NamedEntry {
                slot: at.slot,
                unit: at.unit,
                entry: child.entry().clone(),
            });
        }
        let left = self.entries_left.get().checked_sub(found.len() as u32)?;
        self.entries_left.set(left);
        Some(found)
    }

    fn name_with_arguments(&self, at: &NamedEntry<'u, 's>, depth: u32) -> Option<String> {
        let own = match self.text_of(at, dw::DW_AT_name) {
            Some(name) => name,
            None => self.text_of(
                &self.entry_at(self.target(at, dw::DW_AT_specification)?)?,
                dw::DW_AT_name,
            )?,
        };
        if own.contains('<') {
            return Some(own.to_owned());
        }
        self.add_list(own, at, depth)
    }

    /// Name with the arguments of the instance; the name alone if it is none.
    fn add_list(&self, own: &str, at: &NamedEntry<'u, 's>, depth: u32) -> Option<String> {
        let children = self.children(at)?;
        let parameters = children
            .iter()
            .filter(|child| is_template_parameter(child.entry.tag()));
        let mut arguments = Vec::new();
        let mut is_instance = false;
        for parameter in parameters {
            is_instance = true;
            self.add_arguments(parameter, depth, &mut arguments)?;
        }
        if !is_instance {
            return Some(own.to_owned());
        }
        let list = arguments.join(", ");
        let space = if list.ends_with('>') { " " } else { "" };
        let name = format!("{own}<{list}{space}>");
        (name.len() <= NAME_BYTES_MAX).then_some(name)
    }

    /// Adds the argument of a parameter, or those of a pack.
    fn add_arguments(
        &self,
        parameter: &NamedEntry<'u, 's>,
        depth: u32,
        arguments: &mut Vec<String>,
    ) -> Option<()> {
        if arguments.len() >= ARGUMENTS_MAX || depth > DEPTH_MAX {
            return None;
        }
        let argument = match parameter.entry.tag() {
            dw::DW_TAG_template_type_parameter => {
                let ty = self.target(parameter, dw::DW_AT_type);
                self.spell(ty, String::new(), depth + 1)?
            }
            dw::DW_TAG_template_value_parameter => self.spell_value(parameter, depth)?,
            dw::DW_TAG_GNU_template_template_param => self
                .text_of(parameter, dw::DW_AT_GNU_template_name)?
                .to_owned(),
            _ => {
                for inner in self.children(parameter)? {
                    self.add_arguments(&inner, depth + 1, arguments)?;
                }
                return Some(());
            }
        };
        arguments.push(argument);
        Some(())
    }

    /// Type with `inner` as the declared name: `int (*inner)(long)`. No entry is `void`.
    fn spell(&self, ty: Option<DieOffset>, inner: String, depth: u32) -> Option<String> {
        if depth > DEPTH_MAX || inner.len() > NAME_BYTES_MAX {
            return None;
        }
        let Some(ty) = ty else {
            return Some(with_name("void", &inner));
        };
        let at = self.entry_at(ty)?;
        let target = || self.target(&at, dw::DW_AT_type);
        match at.entry.tag() {
            dw::DW_TAG_pointer_type => self.spell_pointer(target(), "*", inner, depth),
            dw::DW_TAG_reference_type => self.spell_pointer(target(), "&", inner, depth),
            dw::DW_TAG_rvalue_reference_type => self.spell_pointer(target(), "&&", inner, depth),
            dw::DW_TAG_ptr_to_member_type => {
                let class = self.target(&at, dw::DW_AT_containing_type);
                let class = self.spell(Some(class?), String::new(), depth + 1)?;
                self.spell_pointer(target(), &format!("{class}::*"), inner, depth)
            }
            dw::DW_TAG_const_type => self.spell_qualified(target(), "const", inner, depth),
            dw::DW_TAG_volatile_type => self.spell_qualified(target(), "volatile", inner, depth),
            dw::DW_TAG_array_type => {
                let counts = self.spell_counts(&at)?;
                self.spell(target(), inner + &counts, depth + 1)
            }
            dw::DW_TAG_subroutine_type => {
                let parameters = self.spell_parameters(&at, depth)?;
                self.spell(target(), format!("{inner}({parameters})"), depth + 1)
            }
            // The typedef of it is the name that the source has.
            dw::DW_TAG_unspecified_type => {
                let name = self.text_of(&at, dw::DW_AT_name)?;
                let name = name
                    .strip_prefix("decltype(nullptr)")
                    .map_or(name, |_| "std::nullptr_t");
                Some(with_name(name, &inner))
            }
            _ => Some(with_name(&self.qualified_name(ty, &at, depth)?, &inner)),
        }
    }

    fn spell_pointer(
        &self,
        target: Option<DieOffset>,
        sigil: &str,
        inner: String,
        depth: u32,
    ) -> Option<String> {
        let tag = target.and_then(|target| Some(self.entry_at(target)?.entry.tag()));
        let wraps = matches!(
            tag,
            Some(dw::DW_TAG_array_type | dw::DW_TAG_subroutine_type)
        );
        let inner = match wraps {
            true => format!("({sigil}{inner})"),
            false => format!("{sigil}{inner}"),
        };
        self.spell(target, inner, depth + 1)
    }

    fn spell_qualified(
        &self,
        target: Option<DieOffset>,
        qualifier: &str,
        inner: String,
        depth: u32,
    ) -> Option<String> {
        let tag = target.and_then(|target| Some(self.entry_at(target)?.entry.tag()));
        if tag == Some(dw::DW_TAG_pointer_type) || tag == Some(dw::DW_TAG_ptr_to_member_type) {
            return self.spell(target, with_name(qualifier, &inner), depth + 1);
        }
        let spelled = self.spell(target, inner, depth + 1)?;
        Some(match tag == Some(dw::DW_TAG_subroutine_type) {
            true => format!("{spelled} {qualifier}"),
            false => format!("{qualifier} {spelled}"),
        })
    }

    fn spell_counts(&self, at: &NamedEntry<'u, 's>) -> Option<String> {
        let mut counts = String::new();
        for child in self.children(at)? {
            let number = |name| {
                child
                    .entry
                    .attr_value(name)
                    .and_then(|value| value.udata_value())
            };
            let count = number(dw::DW_AT_count)
                .or_else(|| number(dw::DW_AT_upper_bound).and_then(|upper| upper.checked_add(1)));
            counts += &count.map_or("[]".to_owned(), |count| format!("[{count}]"));
        }
        Some(counts)
    }

    fn spell_parameters(&self, at: &NamedEntry<'u, 's>, depth: u32) -> Option<String> {
        let mut parameters = Vec::new();
        for child in self.children(at)? {
            match child.entry.tag() {
                dw::DW_TAG_formal_parameter => {
                    let artificial = child.entry.attr_value(dw::DW_AT_artificial);
                    if !artificial.is_some_and(|value| die::is_flag_set(&value)) {
                        let ty = self.target(&child, dw::DW_AT_type);
                        parameters.push(self.spell(ty, String::new(), depth + 1)?);
                    }
                }
                dw::DW_TAG_unspecified_parameters => parameters.push("...".to_owned()),
                _ => {}
            }
        }
        Some(parameters.join(", "))
    }

    /// Name of a type with its scope; `None` for a type without name.
    fn qualified_name(
        &self,
        die: DieOffset,
        at: &NamedEntry<'u, 's>,
        depth: u32,
    ) -> Option<String> {
        if depth > DEPTH_MAX {
            return None;
        }
        if let Some(unit_die) = self
            .target(at, dw::DW_AT_signature)
            .filter(|other| *other != die)
        {
            let inside = self.entry_at(unit_die)?;
            return self.qualified_name(unit_die, &inside, depth + 1);
        }
        let own = match is_aggregate_tag(at.entry.tag()) {
            true => self.name_with_arguments(at, depth + 1)?,
            false => self.text_of(at, dw::DW_AT_name)?.to_owned(),
        };
        let name = match self.scope_path(die, depth)? {
            Some(scope) => format!("{scope}::{own}"),
            None => own,
        };
        (name.len() <= NAME_BYTES_MAX).then_some(name)
    }

    /// Path of the scope around a type; `Some(None)` outside of scopes.
    fn scope_path(&self, die: DieOffset, depth: u32) -> Option<Option<String>> {
        let found = match self.scopes {
            ScopeSource::Joined(scopes) => return Some(scopes.path_of(die)),
            ScopeSource::Scanned(found) => found,
        };
        let unit = { self.units.slot_index(die) }.and_then(|slot| found.units.get(slot));
        let Some((unit, mut scope)) = unit.and_then(|unit| Some((unit, unit.scope_of(die)?)))
        else {
            return Some(found.around.and_then(|scopes| scopes.path_of(die)));
        };
        let mut names: Vec<String> = Vec::new();
        loop {
            if names.len() >= SCOPES_MAX {
                return None;
            }
            let instance = unit
                .templates
                .binary_search_by_key(&scope, |instance| instance.scope);
            let own = &unit.scopes[scope as usize];
            names.push(match instance {
                Ok(at) => {
                    let around = self.entry_at(unit.templates[at].die)?;
                    self.name_with_arguments(&around, depth + 1)?
                }
                Err(_) => {
                    let name = name_text(self.units, unit, own.name);
                    name.unwrap_or(UNNAMED_SCOPE).to_owned()
                }
            });
            match own.parent {
                Some(parent) => scope = parent,
                None => break,
            }
        }
        names.reverse();
        Some(Some(names.join("::")))
    }

    /// Value of a parameter as clang writes it: `4U`, `'a'`, `Color::Red`. `None` for an address.
    fn spell_value(&self, parameter: &NamedEntry<'u, 's>, depth: u32) -> Option<String> {
        let value = parameter.entry.attr_value(dw::DW_AT_const_value)?;
        let (die, ty) = self.unqualified(self.target(parameter, dw::DW_AT_type)?, depth)?;
        match ty.entry.tag() {
            dw::DW_TAG_base_type => {
                let name = self.text_of(&ty, dw::DW_AT_name)?;
                let encoding = ty.entry.attr_value(dw::DW_AT_encoding);
                Some(spell_number(
                    number_of(&value, &ty.entry)?,
                    name,
                    encoding.as_ref(),
                ))
            }
            dw::DW_TAG_enumeration_type => {
                let number = number_of(&value, &ty.entry)?;
                let name = self.qualified_name(die, &ty, depth + 1)?;
                let enumerator = (!self.with_numbers).then(|| self.enumerator(&ty, &name, number));
                Some(enumerator.flatten().unwrap_or(format!("({name}){number}")))
            }
            dw::DW_TAG_pointer_type | dw::DW_TAG_unspecified_type => {
                (number_of(&value, &ty.entry)? == 0).then(|| "nullptr".to_owned())
            }
            _ => None,
        }
    }

    /// Name of an enumerator by its value, with its scope.
    fn enumerator(&self, ty: &NamedEntry<'u, 's>, name: &str, number: i128) -> Option<String> {
        let is_meant = |child: &NamedEntry<'u, 's>| {
            let value = child.entry.attr_value(dw::DW_AT_const_value);
            value.and_then(|value| number_of(&value, &ty.entry)) == Some(number)
        };
        let child = self.children(ty)?.into_iter().find(is_meant)?;
        let own = self.text_of(&child, dw::DW_AT_name)?;
        let is_class = ty.entry.attr_value(dw::DW_AT_enum_class);
        let around = match is_class.is_some_and(|value| die::is_flag_set(&value)) {
            true => Some(name),
            false => name.rsplit_once("::").map(|(around, _)| around),
        };
        Some(around.map_or(own.to_owned(), |around| format!("{around}::{own}")))
    }

    /// Type behind typedefs and qualifiers.
    fn unqualified(&self, ty: DieOffset, depth: u32) -> Option<(DieOffset, NamedEntry<'u, 's>)> {
        let mut die = ty;
        for _ in depth..=DEPTH_MAX {
            let at = self.entry_at(die)?;
            match at.entry.tag() {
                dw::DW_TAG_typedef | dw::DW_TAG_const_type | dw::DW_TAG_volatile_type => {
                    die = self.target(&at, dw::DW_AT_type)?;
                }
                _ => return Some((die, at)),
            }
        }
        None
    }
}

/// Entry with its unit.
struct NamedEntry<'u, 's> {
    slot: &'u UnitSlot<'s>,
    unit: &'u Unit<'s>,
    entry: DieEntry<'s>,
}

/// Number of a constant with the size and sign of its type.
fn number_of(value: &die::Value<'_>, ty: &DieEntry<'_>) -> Option<i128> {
    let bits = |value: u64, width: u32| match is_unsigned(ty) {
        true => i128::from(value),
        false => i128::from((value << (64 - width)) as i64 >> (64 - width)),
    };
    match value {
        AttributeValue::Data1(value) => Some(bits(u64::from(*value), 8)),
        AttributeValue::Data2(value) => Some(bits(u64::from(*value), 16)),
        AttributeValue::Data4(value) => Some(bits(u64::from(*value), 32)),
        AttributeValue::Data8(value) => Some(bits(*value, 64)),
        AttributeValue::Udata(value) => Some(i128::from(*value)),
        AttributeValue::Sdata(value) if is_unsigned(ty) && *value < 0 => {
            Some(i128::from(value.cast_unsigned()))
        }
        value => value.sdata_value().map(i128::from),
    }
}

fn is_unsigned(ty: &DieEntry<'_>) -> bool {
    matches!(
        ty.attr_value(dw::DW_AT_encoding),
        Some(AttributeValue::Encoding(
            dw::DW_ATE_unsigned | dw::DW_ATE_unsigned_char | dw::DW_ATE_boolean | dw::DW_ATE_UTF
        ))
    )
}

/// Number of a base type as clang writes it.
fn spell_number(number: i128, ty: &str, encoding: Option<&die::Value<'_>>) -> String {
    if matches!(encoding, Some(AttributeValue::Encoding(dw::DW_ATE_boolean))) {
        return (number != 0).to_string();
    }
    let letter = u8::try_from(number).ok().filter(u8::is_ascii_graphic);
    match (ty, letter) {
        ("char", Some(b'\'')) => r"'\''".to_owned(),
        ("char", Some(b'\\')) => r"'\\'".to_owned(),
        ("char", Some(letter)) => format!("'{}'", char::from(letter)),
        ("unsigned int", _) => format!("{number}U"),
        ("long" | "long int", _) => format!("{number}L"),
        ("unsigned long" | "long unsigned int", _) => format!("{number}UL"),
        ("long long" | "long long int", _) => format!("{number}LL"),
        ("unsigned long long" | "long long unsigned int", _) => format!("{number}ULL"),
        _ => number.to_string(),
    }
}

fn with_name(ty: &str, inner: &str) -> String {
    match inner.chars().next() {
        None => ty.to_owned(),
        Some('[') => format!("{ty}{inner}"),
        Some(_) => format!("{ty} {inner}"),
    }
}

/// Facts about the parameters of an instance.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TemplateParameters {
    /// True if any number of arguments fits.
    pub(super) has_pack: bool,
    /// True if the compiler tells which arguments are defaults.
    states_defaults: bool,
    /// Parameters with a default, from the last on.
    defaults: usize,
    count: usize,
}

impl TemplateParameters {
    /// Reads the parameters among the children of an instance.
    pub(super) fn read(children: &[DieContext<'_, '_>]) -> Self {
        let mut found = Self::default();
        for child in children {
            let tag = child.entry.tag();
            if !is_template_parameter(tag) {
                continue;
            }
            found.count += 1;
            found.has_pack |= tag == dw::DW_TAG_GNU_template_parameter_pack;
            let is_default = child.flag(dw::DW_AT_default_value);
            found.states_defaults |= is_default;
            // Some compilers mark values alone.
            let may_be_default = is_default || tag != dw::DW_TAG_template_value_parameter;
            found.defaults = if may_be_default {
                found.defaults + 1
            } else {
                0
            };
        }
        found
    }

    /// Returns true if all arguments behind the first `given` may be defaults.
    pub(super) fn may_be_defaults(&self, given: usize) -> bool {
        let others = self.count.saturating_sub(given);
        !self.has_pack && (!self.states_defaults || self.defaults >= others)
    }
}
