//! What is emitted of each type, gathered from the files.

use std::collections::BTreeSet;

use relayout_layout::{SourceLine, TypeId, Types};

use super::Form;
use super::c::{Dialect, Operand};
use super::groups::{self, Group};
use super::guard::{self, Guard};
use super::operand::{self, TypeName};
use super::recorded;
use super::rules::{self, Depends};
use super::text::{Block, Item, What};
use crate::members::{self, Place, TooMany};
use crate::select::Found;
use crate::{Assertion, Config, Date, Facts, Record, Rule, Section, TypePattern, TypeRules};

/// What is emitted, so far.
#[derive(Debug)]
pub struct Blocks<'c> {
    pub config: &'c Config,
    pub form: Form,
    today: Date,
    /// By section and table, then in the order in which they were seen.
    blocks: Vec<(Key, Block)>,
    /// Where the types are declared.
    pub declared_in: BTreeSet<String>,
}

/// Which table of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    section: usize,
    rules: usize,
}

/// What one file has of a type.
#[derive(Debug)]
pub struct Seen {
    block: Block,
    decl: Option<SourceLine>,
}

/// What is known of the file that a definition is from.
#[derive(Clone, Copy)]
pub struct Of<'a> {
    /// The file.
    pub facts: &'a Facts,
    /// What was recorded of it.
    pub record: Option<&'a Record>,
    /// Bytes of a cache line in the section.
    pub line_bytes: u64,
}

/// One definition, while its items are made.
pub struct Subject<'a> {
    pub types: &'a Types,
    pub id: TypeId,
    /// With the scope.
    pub name: &'a str,
    pub dialect: Dialect<'a>,
    pub groups: Vec<Group>,
    pub of: Of<'a>,
}

impl<'c> Blocks<'c> {
    pub fn new(config: &'c Config, form: Form, today: Date) -> Self {
        Self {
            config,
            form,
            today,
            blocks: Vec::new(),
            declared_in: BTreeSet::new(),
        }
    }

    /// What is to be emitted of a definition.
    pub fn look(
        &self,
        types: &Types,
        id: TypeId,
        found: &Found,
        rules: &TypeRules,
        of: Of<'_>,
    ) -> Seen {
        let (name, problem) = match operand::type_name(types, id, found) {
            Ok(name) => (name, None),
            Err(why) => (TypeName::default(), Some(why)),
        };
        let subject = Subject {
            types,
            id,
            name: &found.name,
            dialect: Dialect {
                form: self.form,
                type_name: &name.text,
                line_bytes: of.line_bytes,
                phase: 0,
            },
            groups: groups::groups(types, id),
            of,
        };
        let items = match problem {
            Some(why) => vec![Item::note(why)],
            None => self.items(&subject, rules),
        };
        let place = found.decl.as_ref();
        let place = place.map(|decl| format!(" ({}:{})", decl.file, decl.line));
        let mut head = vec![format!("{}{}", found.name, place.unwrap_or_default())];
        if let Some(reason) = &rules.reason {
            head[0].push_str(": ");
            head[0].push_str(reason);
        }
        Seen {
            block: Block {
                type_name: found.name.clone(),
                head,
                declaration: name.declaration,
                guard: Vec::new(),
                items,
            },
            decl: found.decl.clone(),
        }
    }

    /// Takes what a file has of the types that a table of a section means.
    pub fn take(&mut self, section: &Section, rules: &TypeRules, seen: Vec<Seen>, facts: &Facts) {
        let Some(key) = self.key(section, rules) else {
            return;
        };
        let mut any = false;
        for mut one in seen {
            any = true;
            one.block.guard = self.guard(section, rules, &mut one.block.items);
            self.declared_in.extend(one.decl.map(|decl| decl.file));
            self.add(key, one.block);
        }
        if !any && !rules.optional {
            let note = format!("{} has no type `{}`", facts.path, rules.name);
            let block = Block::of_note(rules.name.as_str(), note);
            self.add(key, block);
        }
    }

    /// What is to be compiled, in the order of the configuration, and what is not, with the reason; and
    /// how many of each there are.
    pub fn render(mut self) -> (String, usize, usize) {
        for (index, section) in self.config.sections.iter().enumerate() {
            let seen = self.blocks.iter().any(|(key, _)| key.section == index);
            if !seen && !section.types.is_empty() {
                let note = format!(
                    "the section at {} of the configuration applies to none of the files given; give one \
                     that it applies to",
                    section.at
                );
                let key = Key {
                    section: index,
                    rules: 0,
                };
                self.blocks.push((key, Block::of_note("", note)));
            }
        }
        self.blocks.sort_by_key(|(key, _)| *key);
        let items = self.blocks.iter().flat_map(|(_, block)| &block.items);
        let (notes, assertions): (Vec<&Item>, Vec<&Item>) =
            items.partition(|item| matches!(item.what, What::Note(_)));
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

    /// Names of the macros by which a build says that it is of a configuration.
    pub fn macros(&self) -> Vec<String> {
        let guards = self.blocks.iter().flat_map(|(_, block)| &block.guard);
        let guards: Vec<&String> = guards.collect();
        let names = self.config.configurations.iter();
        let names = names.map(|one| guard::macro_of(&one.name));
        names
            .filter(|name| guards.iter().any(|guard| guard.contains(name.as_str())))
            .collect()
    }

    fn key(&self, section: &Section, rules: &TypeRules) -> Option<Key> {
        let mut sections = self.config.sections.iter();
        let mut all = section.types.iter();
        Some(Key {
            section: sections.position(|one| std::ptr::eq(one, section))?,
            rules: all.position(|one| std::ptr::eq(one, rules))?,
        })
    }

    /// When the section applies. Where C cannot tell, nothing is left to assert but the reason.
    fn guard(&self, section: &Section, rules: &TypeRules, items: &mut Vec<Item>) -> Vec<String> {
        match Guard::of_section(self.config, section, self.form) {
            Guard::Unknown(why) => {
                *items = vec![Item::note(format!("not asserted: {why}"))];
                Vec::new()
            }
            Guard::All(all) if all.is_empty() && rules.optional => {
                *items = vec![Item::note(
                    "not asserted: it is optional, and C cannot ask whether it is there; give its \
                     section a condition, such as kconfig"
                        .to_owned(),
                )];
                all
            }
            Guard::All(all) => all,
        }
    }

    fn add(&mut self, key: Key, block: Block) {
        let known = self
            .blocks
            .iter_mut()
            .find(|(other, known)| *other == key && known.type_name == block.type_name);
        match known {
            Some((_, known)) => known.merge(block),
            None => self.blocks.push((key, block)),
        }
    }

    fn items(&self, subject: &Subject<'_>, rules: &TypeRules) -> Vec<Item> {
        let mut items = Vec::new();
        for assertion in &rules.assertions {
            let found = match assertion.rule {
                Rule::AsRecorded(how) => recorded::items(self, subject, how),
                _ => subject.items(assertion, rules.optional),
            };
            match found {
                Ok(found) => items.extend(found),
                Err(why) => items.push(Item::note(format!("{}: {why}", assertion.rule.id()))),
            }
        }
        // The type's alignment, or that it has no group, can come of several rules.
        let mut seen: Vec<&What> = Vec::new();
        let is_new = items.iter().map(|item| {
            let is_new = !seen.iter().any(|what| what.says_the_same(&item.what));
            seen.push(&item.what);
            is_new
        });
        let mut is_new = is_new.collect::<Vec<bool>>().into_iter();
        items.retain(|_| is_new.next().unwrap_or(true));
        for item in &mut items {
            if let Some(why) = self.waived(subject, item) {
                *item = Item::note(why);
            }
        }
        items
    }

    /// Why the item is not asserted today.
    fn waived(&self, subject: &Subject<'_>, item: &Item) -> Option<String> {
        let What::Claim(claim) = &item.what else {
            return None;
        };
        let pattern = TypePattern::parse(subject.name).ok()?;
        let (name, scope) = crate::check::split(&pattern);
        let facts = subject.of.facts;
        let waiver = self.config.waivers.iter().find(|waiver| {
            let files = &waiver.files;
            waiver.expires >= self.today
                && waiver.type_name.matches(scope.as_deref(), name)
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

impl Subject<'_> {
    /// What an assertion comes to; an error says why C cannot assert it.
    fn items(&self, assertion: &Assertion, optional: bool) -> Result<Vec<Item>, String> {
        let rule = &assertion.rule;
        let mut operands: Vec<Vec<Operand>> = Vec::new();
        let mut places: Vec<Place> = Vec::new();
        let mut items = Vec::new();
        for pattern in rule.members() {
            let found = members::find(self.types, self.id, pattern);
            let found = found.map_err(|TooMany| format!("`{pattern}` matches too many members"))?;
            if found.is_empty() && !optional {
                return Err(format!("{} has no member `{pattern}`", self.name));
            }
            let mut group = Vec::new();
            for place in found {
                match operand::operand(self.types, &place) {
                    Ok(operand) => {
                        group.push(operand);
                        places.push(place);
                    }
                    Err(why) => {
                        items.push(Item::note(format!("not asserted ({}): {why}", rule.id())))
                    }
                }
            }
            operands.push(group);
        }
        let pointer_bytes: BTreeSet<u64> = self.of.facts.pointer_bytes.into_iter().collect();
        let line_bytes = self.dialect.line_bytes;
        let together = matches!(rule, Rule::WithinLine(_)) && places.len() > 1;
        if together && self.dialect.form == Form::Kernel {
            items.extend(self.group(&places, &pointer_bytes));
        }
        let claims = rules::claims(&self.dialect, rule, &operands);
        items.extend(claims.into_iter().map(|claim| Item {
            pointer_bytes: match claim.depends {
                Depends::Target => pointer_bytes.clone(),
                Depends::Nothing | Depends::Line => BTreeSet::new(),
            },
            line_bytes: (claim.depends == Depends::Line).then_some(line_bytes),
            what: What::Claim(claim),
            guard: Vec::new(),
        }));
        Ok(items)
    }

    /// The kernel's own assertions on marked groups. They say a little more than that the members
    /// share a line, and so are for the targets on which that was seen.
    fn group(&self, places: &[Place], pointer_bytes: &BTreeSet<u64>) -> Vec<Item> {
        let holds = |group: &&Group| places.iter().all(|place| group.holds(place));
        let Some(group) = self.groups.iter().find(holds) else {
            let why = match self.groups.is_empty() {
                true => "has no __cacheline_group markers (Linux 6.8 and later have them)",
                false => "has no __cacheline_group that holds all of these",
            };
            return vec![Item::note(format!(
                "{} {why}: asserted by offsets instead of CACHELINE_ASSERT_GROUP_MEMBER",
                self.name
            ))];
        };
        let type_name = self.dialect.type_name;
        let call = |text: String, line_bytes| Item {
            what: What::Call(text),
            pointer_bytes: pointer_bytes.clone(),
            line_bytes,
            guard: Vec::new(),
        };
        let name = &group.name;
        let mut items: Vec<Item> = (places.iter())
            .map(|place| {
                let path = &place.path;
                let text = format!("CACHELINE_ASSERT_GROUP_MEMBER({type_name}, {name}, {path})");
                call(text, None)
            })
            .collect();
        let line_bytes = self.dialect.line_bytes;
        if group.bytes() <= line_bytes {
            let line = self.dialect.line();
            let text = format!("CACHELINE_ASSERT_GROUP_SIZE({type_name}, {name}, {line})");
            items.push(call(text, Some(line_bytes)));
        } else {
            items.push(Item::note(format!(
                "group {name} has {} bytes, more than a line: only the members named are asserted to \
                 share one",
                group.bytes()
            )));
        }
        items
    }
}

impl Item {
    /// Something that is only said.
    pub fn note(text: String) -> Self {
        Self {
            what: What::Note(text),
            pointer_bytes: BTreeSet::new(),
            line_bytes: None,
            guard: Vec::new(),
        }
    }
}

impl Block {
    /// A block that asserts nothing.
    fn of_note(type_name: &str, note: String) -> Self {
        Self {
            type_name: type_name.to_owned(),
            head: Vec::new(),
            declaration: None,
            guard: Vec::new(),
            items: vec![Item::note(note)],
        }
    }

    fn has_calls(&self) -> bool {
        (self.items.iter()).any(|item| matches!(item.what, What::Call(_)))
    }

    /// What another file has of the same type: what is new, and that it holds for its pointers too.
    fn merge(&mut self, other: Self) {
        if self.head.is_empty() {
            self.head = other.head;
            self.declaration = other.declaration;
            self.guard = other.guard;
        }
        for item in other.items {
            let same =
                |known: &&mut Item| known.what == item.what && known.line_bytes == item.line_bytes;
            match self.items.iter_mut().find(same) {
                Some(known) => known.pointer_bytes.extend(item.pointer_bytes),
                None => self.items.push(item),
            }
        }
    }
}
