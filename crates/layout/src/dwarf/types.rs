//! Loads types from their entries into an arena, each entry once.
//!
//! What a type holds by value is loaded with it. An aggregate behind a pointer becomes a stub
//! (`complete` false) until it is asked for, so that loading `struct list_head` does not pull in
//! a kernel.

use gimli::{AttributeValue, DwTag, UnitOffset, constants as dw};
use rustc_hash::{FxHashMap, FxHashSet};

use super::die::{self, Unit, Value};
use super::file::Reader;
use super::{DieOffset, DwarfFile};
use crate::types::{LOAD_DEPTH_MAX, Need};
use crate::{Aggregate, AggregateKind, Error, SourceLine, Type, TypeId, Types};

pub(super) type Entry<'a> = gimli::DebuggingInformationEntry<Reader<'a>>;

/// Of an array. More are damage, and each is printed with each member.
const DIMENSIONS_MAX: usize = 256;

/// A lazy loader of one file's types.
pub struct DwarfTypes<'f, 'a> {
    pub(super) file: &'f DwarfFile<'a>,
    pub(super) types: Types,
    ids: FxHashMap<DieOffset, TypeId>,
    /// Defining entries of aggregates; declarations have none.
    definitions: FxHashMap<TypeId, DieOffset>,
    /// Aggregates whose members are being read.
    open: FxHashSet<TypeId>,
    pub(super) file_names: FxHashMap<(usize, u64), Option<String>>,
}

/// An entry with the unit that it is in.
pub(super) struct Context<'f, 'a> {
    pub(super) unit: &'f Unit<'a>,
    /// Start of the unit in `.debug_info`.
    pub(super) start: usize,
    pub(super) entry: Entry<'a>,
}

impl<'f, 'a> DwarfTypes<'f, 'a> {
    /// Nothing is loaded yet.
    pub fn new(file: &'f DwarfFile<'a>) -> Self {
        Self {
            file,
            types: Types::default(),
            ids: FxHashMap::default(),
            definitions: FxHashMap::default(),
            open: FxHashSet::default(),
            file_names: FxHashMap::default(),
        }
    }

    /// The type at `die` with everything it holds by value. Loading an entry again gives the same
    /// id.
    ///
    /// # Errors
    /// No such entry, malformed DWARF, types nested absurdly deep.
    pub fn load(&mut self, die: DieOffset) -> Result<TypeId, Error> {
        self.load_at(die, Need::Members, 0)
    }

    /// Fills in an aggregate that was loaded behind a pointer, and returns it: the same id, or
    /// that of the first definition of its name in the file where the entry is a declaration.
    /// Looks through typedefs and qualifiers. An id whose definition is nowhere in the file, or
    /// that is no aggregate, comes back as it is.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn complete(&mut self, id: TypeId) -> Result<TypeId, Error> {
        self.fill(id, 0)?;
        let Some((kind, name)) = self.types.declared_only(id) else {
            return Ok(id);
        };
        let file = self.file;
        for &die in file.find_types(&name) {
            if self
                .context(die)
                .is_ok_and(|context| same_keyword(context.entry.tag(), kind))
            {
                return self.load(die);
            }
        }
        Ok(id)
    }

    /// What has been loaded so far.
    pub fn types(&self) -> &Types {
        &self.types
    }

    /// The entries that were loaded, with the type that each became; in no particular order.
    pub fn entries(&self) -> impl Iterator<Item = (DieOffset, TypeId)> + use<'_, 'f, 'a> {
        self.ids.iter().map(|(&die, &ty)| (die, ty))
    }

    /// The arena, when nothing more is to be loaded.
    pub fn into_types(self) -> Types {
        self.types
    }

    /// The arena, to add types of one's own.
    pub fn types_mut(&mut self) -> &mut Types {
        &mut self.types
    }

    /// The file that types are loaded from.
    pub fn file(&self) -> &'f DwarfFile<'a> {
        self.file
    }

    pub(super) fn load_at(
        &mut self,
        die: DieOffset,
        need: Need,
        depth: u32,
    ) -> Result<TypeId, Error> {
        if depth > LOAD_DEPTH_MAX {
            return Err(Error::TooDeep(die));
        }
        let id = match self.ids.get(&die) {
            Some(id) => *id,
            None => self.read(die, need, depth)?,
        };
        if need == Need::Members {
            self.fill(id, depth)?;
        }
        Ok(id)
    }

    /// Loads what a reference attribute of `context` points to; `None` for `void`.
    pub(super) fn load_reference(
        &mut self,
        context: &Context<'f, 'a>,
        name: gimli::DwAt,
        need: Need,
        depth: u32,
    ) -> Result<Option<TypeId>, Error> {
        let Some(value) = context.entry.attr_value(name) else {
            return Ok(None);
        };
        let Some(die) = self.follow(context, &value) else {
            return Ok(Some(
                self.types
                    .add(Type::Unknown("unresolved reference".to_owned())),
            ));
        };
        self.load_at(die, need, depth + 1).map(Some)
    }

    /// Whether the members of this aggregate are being read, so that it cannot be held by value.
    pub(super) fn is_open(&self, id: TypeId) -> bool {
        self.open.contains(&self.types.innermost(id))
    }

    fn follow(&self, context: &Context<'f, 'a>, value: &Value<'a>) -> Option<DieOffset> {
        match value {
            // By far the most, and needs no search for the unit.
            AttributeValue::UnitRef(offset) => {
                Some(DieOffset(context.start.checked_add(offset.0)?))
            }
            _ => self.file.follow(context.die(), value),
        }
    }

    pub(super) fn context(&self, die: DieOffset) -> Result<Context<'f, 'a>, Error> {
        let (unit, offset) = self.file.locate(die).ok_or(Error::NoSuchDie(die))?;
        let entry = unit
            .entry(offset)
            .map_err(|error| Error::dwarf(place(die))(error))?;
        Ok(Context {
            unit,
            start: die.0 - offset.0,
            entry,
        })
    }

    /// Direct children in order.
    pub(super) fn children(
        &self,
        context: &Context<'f, 'a>,
    ) -> Result<Vec<Context<'f, 'a>>, Error> {
        let mut found = Vec::new();
        if !context.entry.has_children() {
            return Ok(found);
        }
        let malformed = |error| Error::dwarf(place(context.die()))(error);
        let mut tree = context
            .unit
            .entries_tree(Some(context.entry.offset()))
            .map_err(malformed)?;
        let mut children = tree.root().map_err(malformed)?.children();
        while let Some(child) = children.next().map_err(malformed)? {
            let entry = child.entry().clone();
            found.push(Context {
                unit: context.unit,
                start: context.start,
                entry,
            });
        }
        Ok(found)
    }

    fn read(&mut self, die: DieOffset, need: Need, depth: u32) -> Result<TypeId, Error> {
        let context = self.context(die)?;
        if let Some(value) = context.entry.attr_value(dw::DW_AT_signature)
            && let Some(unit_die) = self.file.follow(die, &value).filter(|other| *other != die)
        {
            return self.load_at(unit_die, need, depth + 1);
        }
        let id = self
            .types
            .add(Type::Unknown("a type that refers to itself".to_owned()));
        self.ids.insert(die, id);
        let ty = match aggregate_kind(context.entry.tag()) {
            Some(kind) => {
                let stub = self.stub(&context, kind);
                if !context.flag(dw::DW_AT_declaration) {
                    self.definitions.insert(id, die);
                }
                Type::Aggregate(stub)
            }
            None => self.read_other(&context, need, depth)?,
        };
        self.types.set(id, ty);
        Ok(id)
    }

    fn read_other(
        &mut self,
        context: &Context<'f, 'a>,
        need: Need,
        depth: u32,
    ) -> Result<Type, Error> {
        let tag = context.entry.tag();
        if let Some(sigil) = pointer_sigil(tag) {
            let target = self.load_reference(context, dw::DW_AT_type, Need::Name, depth)?;
            // Nobody can ask for an anonymous target by name, so it comes along.
            if let Some(id) = target
                && matches!(self.types.get(id), Type::Aggregate(aggregate) if aggregate.name.is_none())
            {
                self.fill(id, depth + 1)?;
            }
            let size = context.number(dw::DW_AT_byte_size);
            let size = size.unwrap_or(u64::from(context.unit.encoding().address_size));
            return Ok(Type::Pointer {
                target,
                size,
                sigil,
            });
        }
        if let Some(qualifier) = qualifier(tag) {
            let target = self.load_reference(context, dw::DW_AT_type, need, depth)?;
            return Ok(Type::Qualified { qualifier, target });
        }
        Ok(match tag {
            dw::DW_TAG_base_type => Type::Base {
                name: self.name_of(context).unwrap_or_else(|| "?".to_owned()),
                size: context.number(dw::DW_AT_byte_size).unwrap_or(0),
            },
            dw::DW_TAG_typedef => Type::Typedef {
                name: self.name_of(context).unwrap_or_else(|| "?".to_owned()),
                target: self.load_reference(context, dw::DW_AT_type, need, depth)?,
                declared_align: context.number(dw::DW_AT_alignment),
            },
            dw::DW_TAG_enumeration_type => self.read_enum(context, depth)?,
            dw::DW_TAG_array_type => self.read_array(context, need, depth)?,
            dw::DW_TAG_subroutine_type => self.read_function(context, depth)?,
            dw::DW_TAG_unspecified_type => Type::Unknown(
                self.name_of(context)
                    .unwrap_or_else(|| "unspecified type".to_owned()),
            ),
            other => Type::Unknown(other.to_string()),
        })
    }

    fn read_enum(&mut self, context: &Context<'f, 'a>, depth: u32) -> Result<Type, Error> {
        let mut enumerators = Vec::new();
        for child in self.children(context)? {
            if child.entry.tag() == dw::DW_TAG_enumerator {
                let name = self.name_of(&child).unwrap_or_default();
                enumerators.push((name, child.signed(dw::DW_AT_const_value).unwrap_or(0)));
            }
        }
        let size = match context.number(dw::DW_AT_byte_size) {
            Some(size) => size,
            None => self
                .load_reference(context, dw::DW_AT_type, Need::Members, depth)?
                .and_then(|id| self.types.size_of(id))
                .unwrap_or(0),
        };
        Ok(Type::Enum {
            name: self.name_of(context),
            size,
            enumerators,
        })
    }

    fn read_array(
        &mut self,
        context: &Context<'f, 'a>,
        need: Need,
        depth: u32,
    ) -> Result<Type, Error> {
        let element = self.load_reference(context, dw::DW_AT_type, need, depth)?;
        let element = element.unwrap_or_else(|| self.types.add(Type::Unknown("void".to_owned())));
        let children = self.children(context)?;
        if children.len() > DIMENSIONS_MAX {
            let what = format!("an array of {} dimensions", children.len());
            return Ok(Type::Unknown(what));
        }
        let counts = children
            .iter()
            .filter(|child| {
                matches!(
                    child.entry.tag(),
                    dw::DW_TAG_subrange_type | dw::DW_TAG_enumeration_type
                )
            })
            .map(subrange_count)
            .collect();
        Ok(Type::Array { element, counts })
    }

    fn read_function(&mut self, context: &Context<'f, 'a>, depth: u32) -> Result<Type, Error> {
        let result = self.load_reference(context, dw::DW_AT_type, Need::Name, depth)?;
        let mut params = Vec::new();
        let mut variadic = false;
        for child in self.children(context)? {
            match child.entry.tag() {
                dw::DW_TAG_formal_parameter => {
                    let param = self.load_reference(&child, dw::DW_AT_type, Need::Name, depth)?;
                    params.extend(param);
                }
                dw::DW_TAG_unspecified_parameters => variadic = true,
                _ => {}
            }
        }
        Ok(Type::Function {
            result,
            params,
            variadic,
        })
    }

    fn stub(&mut self, context: &Context<'f, 'a>, kind: AggregateKind) -> Aggregate {
        Aggregate {
            kind,
            name: self.name_of(context),
            scope: self.scope_of(context),
            size: context.number(dw::DW_AT_byte_size).unwrap_or(0),
            declared_align: context.number(dw::DW_AT_alignment),
            decl: self.source_line(context),
            ..Aggregate::default()
        }
    }

    /// Reads the members of the aggregate behind typedefs, qualifiers and arrays, if it has a
    /// definition and they have not been read.
    fn fill(&mut self, id: TypeId, depth: u32) -> Result<(), Error> {
        let id = self.types.innermost(id);
        if !matches!(self.types.get(id), Type::Aggregate(aggregate) if !aggregate.complete) {
            return Ok(());
        }
        let Some(&die) = self.definitions.get(&id) else {
            return Ok(());
        };
        if !self.open.insert(id) {
            return Ok(());
        }
        let context = self.context(die)?;
        let contents = self.read_members(&context, depth);
        self.open.remove(&id);
        let contents = contents?;
        if let Type::Aggregate(aggregate) = &mut self.types.types[id.0 as usize] {
            aggregate.members = contents.members;
            aggregate.variants = contents.variants;
            aggregate.virtual_bases = contents.virtual_bases;
            aggregate.complete = true;
        }
        Ok(())
    }

    pub(super) fn name_of(&self, context: &Context<'f, 'a>) -> Option<String> {
        let own = context.entry.attr_value(dw::DW_AT_name);
        let (die, unit, value) = match own {
            Some(value) => (context.die(), context.unit, value),
            None => self.specified_name(context)?,
        };
        die::text(self.file.dwarf_of(die), unit, value).map(str::to_owned)
    }

    fn scope_of(&self, context: &Context<'f, 'a>) -> Option<String> {
        let scope = self.file.scope_of(context.die())?;
        Some(self.file.scope_path(scope))
    }

    /// C++ may declare a nested class in one entry and define it in another.
    fn specified_name(
        &self,
        context: &Context<'f, 'a>,
    ) -> Option<(DieOffset, &'f Unit<'a>, Value<'a>)> {
        let value = context.entry.attr_value(dw::DW_AT_specification)?;
        let die = self.file.follow(context.die(), &value)?;
        let declared = self.context(die).ok()?;
        Some((
            die,
            declared.unit,
            declared.entry.attr_value(dw::DW_AT_name)?,
        ))
    }

    pub(super) fn source_line(&mut self, context: &Context<'f, 'a>) -> Option<SourceLine> {
        let line = u32::try_from(context.number(dw::DW_AT_decl_line)?).ok()?;
        let index = match context.entry.attr_value(dw::DW_AT_decl_file)? {
            gimli::AttributeValue::FileIndex(index) => index,
            other => other.udata_value()?,
        };
        let (die, file) = (context.die(), self.file);
        let known = self.file_names.entry((context.start, index));
        let file = known
            .or_insert_with(|| file_name(file, die, index))
            .clone()?;
        Some(SourceLine { file, line })
    }
}

impl Context<'_, '_> {
    pub(super) fn die(&self) -> DieOffset {
        let UnitOffset(offset) = self.entry.offset();
        DieOffset(self.start + offset)
    }

    pub(super) fn number(&self, name: gimli::DwAt) -> Option<u64> {
        self.entry.attr_value(name)?.udata_value()
    }

    /// A constant that may be negative. Fixed-size forms have no sign of their own; producers use
    /// them for what is not negative.
    pub(super) fn signed(&self, name: gimli::DwAt) -> Option<i128> {
        use gimli::AttributeValue as Value;
        match self.entry.attr_value(name)? {
            Value::Data1(value) => Some(i128::from(value)),
            Value::Data2(value) => Some(i128::from(value)),
            Value::Data4(value) => Some(i128::from(value)),
            Value::Data8(value) | Value::Udata(value) => Some(i128::from(value)),
            value => value.sdata_value().map(i128::from),
        }
    }

    pub(super) fn flag(&self, name: gimli::DwAt) -> bool {
        self.entry
            .attr_value(name)
            .is_some_and(|value| die::flag(&value))
    }
}

pub(super) fn place(die: DieOffset) -> String {
    format!("the entry at {:#x} of .debug_info", die.0)
}

fn subrange_count(child: &Context<'_, '_>) -> Option<u64> {
    if child.entry.tag() == dw::DW_TAG_enumeration_type {
        return None;
    }
    if let Some(count) = child.number(dw::DW_AT_count) {
        return Some(count);
    }
    // An upper bound of -1 is how some producers write zero elements.
    let upper = child.signed(dw::DW_AT_upper_bound)?;
    let upper = if upper == i128::from(u64::MAX) || upper == i128::from(u32::MAX) {
        -1
    } else {
        upper
    };
    let lower = child.signed(dw::DW_AT_lower_bound).unwrap_or(0);
    u64::try_from(upper - lower + 1).ok()
}

/// The path of a file in the line table of the entry's unit: its directory as written there and its
/// name.
fn file_name(file: &DwarfFile<'_>, die: DieOffset, index: u64) -> Option<String> {
    let (dwarf, unit) = file.lines_of(die)?;
    let header = unit.line_program.as_ref()?.header();
    let entry = header.file(index)?;
    let text = |value| {
        dwarf
            .attr_string(unit, value)
            .ok()
            .map(|name| name.to_string_lossy())
    };
    let name = text(entry.path_name())?;
    // Directory 0 is the one the compiler ran in; the name is already relative to it.
    let directory = match entry.directory_index() {
        0 => None,
        _ => entry.directory(header).and_then(text),
    };
    Some(match directory {
        Some(directory) if !name.starts_with('/') => format!("{directory}/{name}"),
        _ => name.into_owned(),
    })
}

fn aggregate_kind(tag: DwTag) -> Option<AggregateKind> {
    match tag {
        dw::DW_TAG_structure_type => Some(AggregateKind::Struct),
        dw::DW_TAG_union_type => Some(AggregateKind::Union),
        dw::DW_TAG_class_type => Some(AggregateKind::Class),
        _ => None,
    }
}

/// C++ lets a class be declared with `struct` and the other way round.
fn same_keyword(tag: DwTag, kind: AggregateKind) -> bool {
    aggregate_kind(tag)
        .is_some_and(|other| (other == AggregateKind::Union) == (kind == AggregateKind::Union))
}

fn pointer_sigil(tag: DwTag) -> Option<&'static str> {
    match tag {
        dw::DW_TAG_pointer_type => Some("*"),
        dw::DW_TAG_reference_type => Some("&"),
        dw::DW_TAG_rvalue_reference_type => Some("&&"),
        dw::DW_TAG_ptr_to_member_type => Some("::*"),
        _ => None,
    }
}

fn qualifier(tag: DwTag) -> Option<&'static str> {
    match tag {
        dw::DW_TAG_const_type => Some("const"),
        dw::DW_TAG_volatile_type => Some("volatile"),
        dw::DW_TAG_restrict_type => Some("restrict"),
        dw::DW_TAG_atomic_type => Some("_Atomic"),
        _ => None,
    }
}
