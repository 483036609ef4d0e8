//! Loader of types from their entries into an arena, each entry once.
//!
//! Types that are held by value come along. An aggregate behind a pointer stays incomplete until it
//! is asked for, so that loading `struct list_head` does not load a whole kernel.
use gimli::{AttributeValue, DwTag, constants as dw};
use rustc_hash::{FxHashMap, FxHashSet};

use super::DwarfFile;
use super::die::{self, DieOffset, Unit, Value};
use super::entry::{DieContext, describe_die};
use super::language::UnitLanguage;
use super::template_names::TemplateParameters;
use crate::types::{LOAD_DEPTH_MAX, LoadNeed};
use crate::{Aggregate, AggregateKind, Error, SourceLine, Type, TypeArena, TypeId};

/// Lazy loader of one file's types.
pub struct DwarfTypeLoader<'f, 'a> {
    pub(super) file: &'f DwarfFile<'a>,
    pub(super) types: TypeArena,
    ids: FxHashMap<DieOffset, TypeId>,
    /// Defining entries of aggregates; declarations have none.
    definitions: FxHashMap<TypeId, DieOffset>,
    /// Aggregates whose members are being read.
    being_read: FxHashSet<TypeId>,
    pub(super) file_names: FxHashMap<(usize, u64), Option<String>>,
    /// Languages of units by their starts, as far as they were needed.
    languages: FxHashMap<usize, Option<UnitLanguage>>,
}

impl<'f, 'a> DwarfTypeLoader<'f, 'a> {
    /// Loader without loaded types.
    pub fn new(file: &'f DwarfFile<'a>) -> Self {
        Self {
            file,
            types: TypeArena::default(),
            ids: FxHashMap::default(),
            definitions: FxHashMap::default(),
            being_read: FxHashSet::default(),
            file_names: FxHashMap::default(),
            languages: FxHashMap::default(),
        }
    }

    /// Loads the type at `die` with everything that it holds by value. Loading an entry again
    /// returns the same id.
    ///
    /// # Errors
    /// No such entry, malformed DWARF, types nested too deeply.
    pub fn load(&mut self, die: DieOffset) -> Result<TypeId, Error> {
        self.load_at(die, LoadNeed::Members, 0)
    }

    /// Loads the members of an aggregate that was loaded behind a pointer, and returns its id. For
    /// a declaration, returns the id of the first definition of its name and scope in the file. Typedefs
    /// and qualifiers are skipped. Other ids, and ids without definition in the file, are returned as
    /// they are.
    ///
    /// # Errors
    /// Same as [`load`](Self::load).
    pub fn complete(&mut self, id: TypeId) -> Result<TypeId, Error> {
        self.fill_members(id, 0)?;
        let declared = self.types.strip_typedefs(id);
        let defined = self.load_definition(declared, 0)?;
        Ok(if defined == declared { id } else { defined })
    }

    /// Loads the definition of an aggregate that its unit only declares. Compilers of C++ define a class
    /// with virtual functions in one unit alone, though others have it as a base or member. Other ids,
    /// and ids without definition in the file, are returned as they are.
    fn load_definition(&mut self, id: TypeId, depth: u32) -> Result<TypeId, Error> {
        let Type::Aggregate(declared) = self.types.get(id) else {
            return Ok(id);
        };
        let Some(name) = declared.name.as_deref() else {
            return Ok(id);
        };
        if declared.complete || self.definitions.contains_key(&id) {
            return Ok(id);
        }
        let is_defined_at = |die: &DieOffset| {
            self.die_context(*die).is_ok_and(|context| {
                is_same_keyword(context.entry.tag(), declared.kind)
                    && self.scope_of(&context) == declared.scope
            })
        };
        match self.file.find_types(name).into_iter().find(is_defined_at) {
            Some(die) => self.load_at(die, LoadNeed::Members, depth + 1),
            None => Ok(id),
        }
    }

    /// Types that have been loaded.
    pub fn types(&self) -> &TypeArena {
        &self.types
    }

    /// Entries that were loaded, each with its type, in no particular order.
    pub fn entries(&self) -> impl Iterator<Item = (DieOffset, TypeId)> + use<'_, 'f, 'a> {
        self.ids.iter().map(|(&die, &ty)| (die, ty))
    }

    /// Arena of the loaded types.
    pub fn into_types(self) -> TypeArena {
        self.types
    }

    /// Arena of the loaded types, to add further types.
    pub fn types_mut(&mut self) -> &mut TypeArena {
        &mut self.types
    }

    /// File that types are loaded from.
    pub fn file(&self) -> &'f DwarfFile<'a> {
        self.file
    }

    pub(super) fn load_at(
        &mut self,
        die: DieOffset,
        need: LoadNeed,
        depth: u32,
    ) -> Result<TypeId, Error> {
        if depth > LOAD_DEPTH_MAX {
            return Err(Error::TooDeep(die));
        }
        let id = match self.ids.get(&die) {
            Some(id) => *id,
            None => self.read_entry(die, need, depth)?,
        };
        if need == LoadNeed::Name {
            return Ok(id);
        }
        self.fill_members(id, depth)?;
        // What is loaded by its own entry stays a declaration.
        match depth {
            0 => Ok(id),
            _ => self.load_definition(id, depth),
        }
    }

    /// Loads the type that a reference attribute of `context` refers to; `None` for `void`.
    pub(super) fn load_reference(
        &mut self,
        context: &DieContext<'f, 'a>,
        name: gimli::DwAt,
        need: LoadNeed,
        depth: u32,
    ) -> Result<Option<TypeId>, Error> {
        let Some(value) = context.entry.attr_value(name) else {
            return Ok(None);
        };
        let Some(die) = self.follow_reference(context, &value) else {
            return Ok(Some(
                self.types
                    .add(Type::Unknown("unresolved reference".to_owned())),
            ));
        };
        self.load_at(die, need, depth + 1).map(Some)
    }

    /// Returns true if the members of this aggregate are being read, so that it cannot be held by
    /// value.
    pub(super) fn is_being_read(&self, id: TypeId) -> bool {
        self.being_read.contains(&self.types.innermost(id))
    }

    fn follow_reference(
        &self,
        context: &DieContext<'f, 'a>,
        value: &Value<'a>,
    ) -> Option<DieOffset> {
        match value {
            // The most frequent form, which needs no search for the unit.
            AttributeValue::UnitRef(offset) => {
                Some(DieOffset(context.start.checked_add(offset.0)?))
            }
            _ => self.file.follow_reference(context.die(), value),
        }
    }

    pub(super) fn die_context(&self, die: DieOffset) -> Result<DieContext<'f, 'a>, Error> {
        let (unit, offset) = self.file.locate_die(die).ok_or(Error::NoSuchDie(die))?;
        let entry = unit
            .entry(offset)
            .map_err(|error| Error::dwarf(describe_die(die))(error))?;
        Ok(DieContext {
            unit,
            start: die.0 - offset.0,
            entry,
        })
    }

    /// Direct children in order.
    pub(super) fn children(
        &self,
        context: &DieContext<'f, 'a>,
    ) -> Result<Vec<DieContext<'f, 'a>>, Error> {
        let mut found = Vec::new();
        if !context.entry.has_children() {
            return Ok(found);
        }
        let malformed = |error| Error::dwarf(describe_die(context.die()))(error);
        let mut tree = context
            .unit
            .entries_tree(Some(context.entry.offset()))
            .map_err(malformed)?;
        let mut children = tree.root().map_err(malformed)?.children();
        while let Some(child) = children.next().map_err(malformed)? {
            let entry = child.entry().clone();
            found.push(DieContext {
                unit: context.unit,
                start: context.start,
                entry,
            });
        }
        Ok(found)
    }

    fn read_entry(&mut self, die: DieOffset, need: LoadNeed, depth: u32) -> Result<TypeId, Error> {
        let context = self.die_context(die)?;
        if let Some(value) = context.entry.attr_value(dw::DW_AT_signature)
            && let Some(unit_die) = self
                .file
                .follow_reference(die, &value)
                .filter(|other| *other != die)
        {
            return self.load_at(unit_die, need, depth + 1);
        }
        let id = self
            .types
            .add(Type::Unknown("a type that refers to itself".to_owned()));
        self.ids.insert(die, id);
        let ty = match aggregate_kind(context.entry.tag()) {
            Some(kind) => {
                let opaque = self.aggregate_without_members(&context, kind);
                if !context.flag(dw::DW_AT_declaration) {
                    self.definitions.insert(id, die);
                }
                Type::Aggregate(opaque)
            }
            None => self.read_non_aggregate(&context, need, depth)?,
        };
        self.types.set(id, ty);
        Ok(id)
    }

    /// Aggregate without its members.
    fn aggregate_without_members(
        &mut self,
        context: &DieContext<'f, 'a>,
        kind: AggregateKind,
    ) -> Aggregate {
        Aggregate {
            kind,
            name: self.aggregate_name(context),
            scope: self.scope_of(context),
            size: context.number(dw::DW_AT_byte_size).unwrap_or(0),
            declared_align: context.number(dw::DW_AT_alignment),
            decl: self.source_line(context),
            ..Aggregate::default()
        }
    }

    /// Reads the members of the aggregate behind typedefs, qualifiers and arrays, if it has a
    /// definition and they have not been read.
    pub(super) fn fill_members(&mut self, id: TypeId, depth: u32) -> Result<(), Error> {
        let id = self.types.innermost(id);
        if !matches!(self.types.get(id), Type::Aggregate(aggregate) if !aggregate.complete) {
            return Ok(());
        }
        let Some(&die) = self.definitions.get(&id) else {
            return Ok(());
        };
        if !self.being_read.insert(id) {
            return Ok(());
        }
        let context = self.die_context(die)?;
        let contents = self.read_members(&context, depth);
        self.being_read.remove(&id);
        let contents = contents?;
        if let Type::Aggregate(aggregate) = &mut self.types.types[id.0 as usize] {
            aggregate.members = contents.members;
            aggregate.variants = contents.variants;
            aggregate.virtual_bases = contents.virtual_bases;
            aggregate.access = contents.access;
            aggregate.complete = true;
        }
        Ok(())
    }

    /// Name of an aggregate, with the arguments of its template.
    fn aggregate_name(&self, context: &DieContext<'f, 'a>) -> Option<String> {
        let name = self.name_of(context)?;
        Some(
            self.file
                .name_with_arguments(context.die(), &name)
                .into_owned(),
        )
    }

    /// Language of the unit of an entry.
    pub(super) fn language_of(&mut self, context: &DieContext<'f, 'a>) -> Option<UnitLanguage> {
        let known = self.languages.entry(context.start);
        *known.or_insert_with(|| UnitLanguage::of_unit(context.unit))
    }

    /// Facts about the parameters of an instance of a template.
    pub(crate) fn may_be_defaults(&self, die: DieOffset, given: usize) -> bool {
        let children = self
            .die_context(die)
            .and_then(|context| self.children(&context));
        children.is_ok_and(|children| TemplateParameters::read(&children).may_be_defaults(given))
    }

    pub(super) fn name_of(&self, context: &DieContext<'f, 'a>) -> Option<String> {
        let own = context.entry.attr_value(dw::DW_AT_name);
        let (die, unit, value) = match own {
            Some(value) => (context.die(), context.unit, value),
            None => self.specified_name(context)?,
        };
        die::attribute_text(self.file.dwarf_of(die), unit, value).map(str::to_owned)
    }

    fn scope_of(&self, context: &DieContext<'f, 'a>) -> Option<String> {
        let scope = self.file.scope_of(context.die())?;
        Some(self.file.scope_path(scope))
    }

    /// Name in the declaration of an entry: C++ may declare a nested class in one entry and define
    /// it in another.
    fn specified_name(
        &self,
        context: &DieContext<'f, 'a>,
    ) -> Option<(DieOffset, &'f Unit<'a>, Value<'a>)> {
        let value = context.entry.attr_value(dw::DW_AT_specification)?;
        let die = self.file.follow_reference(context.die(), &value)?;
        let declared = self.die_context(die).ok()?;
        Some((
            die,
            declared.unit,
            declared.entry.attr_value(dw::DW_AT_name)?,
        ))
    }

    pub(super) fn source_line(&mut self, context: &DieContext<'f, 'a>) -> Option<SourceLine> {
        let line = u32::try_from(context.number(dw::DW_AT_decl_line)?).ok()?;
        let index = match context.entry.attr_value(dw::DW_AT_decl_file)? {
            AttributeValue::FileIndex(index) => index,
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

/// Path of a file in the line table of the entry's unit: its directory there and its name.
pub(super) fn file_name(file: &DwarfFile<'_>, die: DieOffset, index: u64) -> Option<String> {
    let (dwarf, unit) = file.line_table_unit(die)?;
    let header = unit.line_program.as_ref()?.header();
    let entry = header.file(index)?;
    let text = |value| {
        dwarf
            .attr_string(unit, value)
            .ok()
            .map(|name| name.to_string_lossy())
    };
    let name = text(entry.path_name())?;
    // Directory 0 is the one in which the compiler ran; the name is relative to it.
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

/// Returns true if both are unions or neither is. C++ allows to declare a class with `struct`.
fn is_same_keyword(tag: DwTag, kind: AggregateKind) -> bool {
    aggregate_kind(tag)
        .is_some_and(|other| (other == AggregateKind::Union) == (kind == AggregateKind::Union))
}
