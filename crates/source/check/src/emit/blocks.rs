//! Assertion blocks, one for each type, merged over all files.

use std::collections::BTreeSet;

use relayout_layout::{SourceLine, TypeArena, TypeId};

use super::EmitForm;
use super::definition::{DefinitionSource, EmittedDefinition};
use super::expression::CDialect;
use super::groups::{self};
use super::guard::{self, PreprocessorGuard};
use super::operand::{self, CTypeName};
use super::recorded;
use super::text::{AssertionBlock, EmittedItem, ItemContent};
use crate::select::FoundDefinition;
use crate::{CheckConfig, Date, FileFacts, LayoutRule, RuleSection, TypePattern, TypeRules};

/// Assertion blocks collected so far.
#[derive(Debug)]
pub struct AssertionBlocks<'c> {
    pub config: &'c CheckConfig,
    pub form: EmitForm,
    today: Date,
    /// Blocks sorted by section and table, then in order of appearance.
    blocks: Vec<(RuleTableKey, AssertionBlock)>,
    /// Source files that declare the types.
    pub declared_in: BTreeSet<String>,
}

/// Section and table of the configuration that a block belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RuleTableKey {
    section: usize,
    rules: usize,
}

/// Assertion block of a type from one file.
#[derive(Debug)]
pub struct DefinitionBlock {
    block: AssertionBlock,
    decl: Option<SourceLine>,
}

impl<'c> AssertionBlocks<'c> {
    pub fn new(config: &'c CheckConfig, form: EmitForm, today: Date) -> Self {
        Self {
            config,
            form,
            today,
            blocks: Vec::new(),
            declared_in: BTreeSet::new(),
        }
    }

    /// Builds the assertion block of a definition.
    pub fn definition_block(
        &self,
        types: &TypeArena,
        id: TypeId,
        found: &FoundDefinition,
        rules: &TypeRules,
        origin: DefinitionSource<'_>,
    ) -> DefinitionBlock {
        let (name, problem) = match operand::c_type_name(types, id, found) {
            Ok(name) => (name, None),
            Err(why) => (CTypeName::default(), Some(why)),
        };
        let subject = EmittedDefinition {
            types,
            id,
            name: &found.name,
            dialect: CDialect {
                form: self.form,
                type_name: &name.text,
                line_bytes: origin.line_bytes,
                phase: 0,
            },
            groups: groups::marked_groups(types, id),
            origin,
        };
        let items = match problem {
            Some(why) => vec![EmittedItem::note(why)],
            None => self.items_of(&subject, rules),
        };
        let place = found.decl.as_ref();
        let place = place.map(|decl| format!(" ({}:{})", decl.file, decl.line));
        let mut head = vec![format!("{}{}", found.name, place.unwrap_or_default())];
        if let Some(reason) = &rules.reason {
            head[0].push_str(": ");
            head[0].push_str(reason);
        }
        DefinitionBlock {
            block: AssertionBlock {
                type_name: found.name.clone(),
                head,
                declaration: name.declaration,
                guard: Vec::new(),
                items,
            },
            decl: found.decl.clone(),
        }
    }

    /// Adds the definitions of a file that match one table of a section.
    pub fn add_definitions(
        &mut self,
        section: &RuleSection,
        rules: &TypeRules,
        definitions: Vec<DefinitionBlock>,
        facts: &FileFacts,
    ) {
        let Some(key) = self.table_key(section, rules) else {
            return;
        };
        let mut any = false;
        for mut definition in definitions {
            any = true;
            definition.block.guard = self.guard_of(section, rules, &mut definition.block.items);
            self.declared_in
                .extend(definition.decl.map(|decl| decl.file));
            self.add_block(key, definition.block);
        }
        if !any && !rules.optional {
            let note = format!("{} has no type `{}`", facts.path, rules.name);
            let block = AssertionBlock::from_note(rules.name.as_str(), note);
            self.add_block(key, block);
        }
    }

    /// Renders the assertions in the order of the configuration, with a comment for each rule that
    /// C cannot express. Returns the text, the number of assertions and the number of notes.
    pub fn render(mut self) -> (String, usize, usize) {
        for (index, section) in self.config.sections.iter().enumerate() {
            let seen = self.blocks.iter().any(|(key, _)| key.section == index);
            if !seen && !section.types.is_empty() {
                let note = format!(
                    "the section at {} of the configuration applies to none of the files given; give one \
                     that it applies to",
                    section.at
                );
                let key = RuleTableKey {
                    section: index,
                    rules: 0,
                };
                self.blocks.push((key, AssertionBlock::from_note("", note)));
            }
        }
        self.blocks.sort_by_key(|(key, _)| *key);
        let items = self.blocks.iter().flat_map(|(_, block)| &block.items);
        let (notes, assertions): (Vec<&EmittedItem>, Vec<&EmittedItem>) =
            items.partition(|item| matches!(item.content, ItemContent::Note(_)));
        let (assertion_count, note_count) = (assertions.len(), notes.len());
        let mut functions: Vec<&str> = Vec::new();
        let mut text = String::new();
        for (_, block) in &self.blocks {
            let earlier = functions.iter().filter(|name| **name == block.type_name);
            text.push('\n');
            text.push_str(&block.render(self.form, earlier.count()));
            if block.has_calls() {
                functions.push(&block.type_name);
            }
        }
        (text, assertion_count, note_count)
    }

    /// Names of the macros that select configurations without conditions.
    pub fn macros(&self) -> Vec<String> {
        let guards = self.blocks.iter().flat_map(|(_, block)| &block.guard);
        let guards: Vec<&String> = guards.collect();
        let names = self.config.configurations.iter();
        let names = names.map(|configuration| guard::configuration_macro(&configuration.name));
        names
            .filter(|name| guards.iter().any(|guard| guard.contains(name.as_str())))
            .collect()
    }

    fn table_key(&self, section: &RuleSection, rules: &TypeRules) -> Option<RuleTableKey> {
        let mut sections = self.config.sections.iter();
        let mut tables = section.types.iter();
        Some(RuleTableKey {
            section: sections.position(|other| std::ptr::eq(other, section))?,
            rules: tables.position(|other| std::ptr::eq(other, rules))?,
        })
    }

    /// Returns the guard of the section. If C cannot express the guard, a note with the reason
    /// replaces all items.
    fn guard_of(
        &self,
        section: &RuleSection,
        rules: &TypeRules,
        items: &mut Vec<EmittedItem>,
    ) -> Vec<String> {
        match PreprocessorGuard::from_section(self.config, section, self.form) {
            PreprocessorGuard::Unknown(why) => {
                *items = vec![EmittedItem::note(format!("not asserted: {why}"))];
                Vec::new()
            }
            PreprocessorGuard::All(all) if all.is_empty() && rules.optional => {
                *items = vec![EmittedItem::note(
                    "not asserted: it is optional, and C cannot ask whether it is there; give its \
                     section a condition, such as kconfig"
                        .to_owned(),
                )];
                all
            }
            PreprocessorGuard::All(all) => all,
        }
    }

    fn add_block(&mut self, key: RuleTableKey, block: AssertionBlock) {
        let known = self
            .blocks
            .iter_mut()
            .find(|(other, known)| *other == key && known.type_name == block.type_name);
        match known {
            Some((_, known)) => known.merge(block),
            None => self.blocks.push((key, block)),
        }
    }

    fn items_of(&self, subject: &EmittedDefinition<'_>, rules: &TypeRules) -> Vec<EmittedItem> {
        let mut items = Vec::new();
        for assertion in &rules.assertions {
            let found = match assertion.rule {
                LayoutRule::AsRecorded(how) => recorded::recorded_items(self.config, subject, how),
                _ => subject.items_of(assertion, rules.optional),
            };
            match found {
                Ok(found) => items.extend(found),
                Err(why) => {
                    items.push(EmittedItem::note(format!("{}: {why}", assertion.rule.id())))
                }
            }
        }
        // Several rules can claim the alignment of the type or note a missing group.
        let mut seen: Vec<&ItemContent> = Vec::new();
        let is_new = items.iter().map(|item| {
            let is_new = !seen.iter().any(|known| known.says_the_same(&item.content));
            seen.push(&item.content);
            is_new
        });
        let mut is_new = is_new.collect::<Vec<bool>>().into_iter();
        items.retain(|_| is_new.next().unwrap_or(true));
        for item in &mut items {
            if let Some(why) = self.waiver_note(subject, item) {
                *item = EmittedItem::note(why);
            }
        }
        items
    }

    /// Text of the waiver that applies to the item today.
    fn waiver_note(&self, subject: &EmittedDefinition<'_>, item: &EmittedItem) -> Option<String> {
        let ItemContent::Claim(claim) = &item.content else {
            return None;
        };
        let pattern = TypePattern::parse(subject.name).ok()?;
        let (name, scope) = pattern.name_and_scope();
        let facts = subject.origin.facts;
        let waiver = self.config.waivers.iter().find(|waiver| {
            let files = &waiver.files;
            waiver.expires >= self.today
                && waiver.type_name.applies_to(scope.as_deref(), name)
                && waiver.rule.is_none_or(|rule| rule == claim.rule)
                && (waiver.member.as_ref())
                    .is_none_or(|glob| claim.members.iter().any(|path| glob.matches(path)))
                && (files.is_empty()
                    || (files.iter())
                        .any(|glob| glob.matches(&facts.path) || glob.matches(facts.file_name())))
        })?;
        Some(format!(
            "waived until {}: {} ({})",
            waiver.expires, waiver.reason, claim.says
        ))
    }
}

impl AssertionBlock {
    /// Creates a block without assertions.
    fn from_note(type_name: &str, note: String) -> Self {
        Self {
            type_name: type_name.to_owned(),
            head: Vec::new(),
            declaration: None,
            guard: Vec::new(),
            items: vec![EmittedItem::note(note)],
        }
    }

    fn has_calls(&self) -> bool {
        (self.items.iter()).any(|item| matches!(item.content, ItemContent::Call(_)))
    }

    /// Merges the block of the same type from another file: adds new items, and adds the pointer
    /// size to known items.
    fn merge(&mut self, other: Self) {
        if self.head.is_empty() {
            self.head = other.head;
            self.declaration = other.declaration;
            self.guard = other.guard;
        }
        for item in other.items {
            let same = |known: &&mut EmittedItem| {
                known.content == item.content && known.line_bytes == item.line_bytes
            };
            match self.items.iter_mut().find(same) {
                Some(known) => known.pointer_bytes.extend(item.pointer_bytes),
                None => self.items.push(item),
            }
        }
    }
}
