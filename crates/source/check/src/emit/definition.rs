//! A definition for which items are created, and the items of each of its assertions.

use std::collections::BTreeSet;

use relayout_layout::{TypeArena, TypeId};

use super::EmitForm;
use super::expression::{CDialect, CMember};
use super::groups::MarkedGroup;
use super::operand;
use super::rules::{self, ClaimDependence};
use super::text::{EmittedItem, ItemContent};
use crate::members::{self, MatchedMember, TooManyMatches};
use crate::{FileFacts, LayoutAssertion, LayoutRule, LockRecord};

/// File that contains a definition, with its record.
#[derive(Clone, Copy)]
pub struct DefinitionSource<'a> {
    /// Facts about the file.
    pub facts: &'a FileFacts,
    /// Lock file record of the file.
    pub record: Option<&'a LockRecord>,
    /// Cache line size of the section in bytes.
    pub line_bytes: u64,
}

/// Definition for which items are created.
pub struct EmittedDefinition<'a> {
    pub types: &'a TypeArena,
    pub id: TypeId,
    /// Name of the type with its scope.
    pub name: &'a str,
    pub dialect: CDialect<'a>,
    pub groups: Vec<MarkedGroup>,
    pub origin: DefinitionSource<'a>,
}

impl EmittedDefinition<'_> {
    /// Creates the items of an assertion. The error explains why C cannot express the assertion.
    pub fn items_of(
        &self,
        assertion: &LayoutAssertion,
        optional: bool,
    ) -> Result<Vec<EmittedItem>, String> {
        let rule = &assertion.rule;
        let mut operands: Vec<Vec<CMember>> = Vec::new();
        let mut places: Vec<MatchedMember> = Vec::new();
        let mut items = Vec::new();
        for found in self.member_groups(rule, optional)? {
            let mut group = Vec::new();
            for place in found {
                match operand::c_member(self.types, &place) {
                    Ok(operand) => {
                        group.push(operand);
                        places.push(place);
                    }
                    Err(why) => items.push(EmittedItem::note(format!(
                        "not asserted ({}): {why}",
                        rule.id()
                    ))),
                }
            }
            operands.push(group);
        }
        let pointer_bytes: BTreeSet<u64> = self.origin.facts.pointer_bytes.into_iter().collect();
        let line_bytes = self.dialect.line_bytes;
        let together = matches!(rule, LayoutRule::WithinLine(_)) && places.len() > 1;
        if together && self.dialect.form == EmitForm::Kernel {
            items.extend(self.group_items(&places, &pointer_bytes));
        }
        let claims = rules::claims_of_rule(&self.dialect, rule, &operands);
        items.extend(claims.into_iter().map(|claim| EmittedItem {
            pointer_bytes: match claim.depends {
                ClaimDependence::Target => pointer_bytes.clone(),
                ClaimDependence::Nothing | ClaimDependence::Line => BTreeSet::new(),
            },
            line_bytes: (claim.depends == ClaimDependence::Line).then_some(line_bytes),
            content: ItemContent::Claim(claim),
            guard: Vec::new(),
        }));
        Ok(items)
    }

    /// Returns the members that each pattern of the rule matches.
    fn member_groups(
        &self,
        rule: &LayoutRule,
        optional: bool,
    ) -> Result<Vec<Vec<MatchedMember>>, String> {
        let mut groups = Vec::new();
        for pattern in rule.members() {
            let found = members::find_members(self.types, self.id, pattern);
            let found =
                found.map_err(|TooManyMatches| format!("`{pattern}` matches too many members"))?;
            if found.is_empty() && !optional {
                return Err(format!("{} has no member `{pattern}`", self.name));
            }
            groups.push(found);
        }
        if rule.is_apart() {
            members::leave_to_one_group(rule.members(), &mut groups);
        }
        Ok(groups)
    }

    /// Creates calls of the kernel's own assertions on marked groups. Those assertions also
    /// restrict the size of the group, so they apply only to the targets that showed it.
    fn group_items(
        &self,
        places: &[MatchedMember],
        pointer_bytes: &BTreeSet<u64>,
    ) -> Vec<EmittedItem> {
        let holds = |group: &&MarkedGroup| places.iter().all(|place| group.holds(place));
        let Some(group) = self.groups.iter().find(holds) else {
            let why = match self.groups.is_empty() {
                true => "has no __cacheline_group markers (Linux 6.8 and later have them)",
                false => "has no __cacheline_group that holds all of these",
            };
            return vec![EmittedItem::note(format!(
                "{} {why}: asserted by offsets instead of CACHELINE_ASSERT_GROUP_MEMBER",
                self.name
            ))];
        };
        let type_name = self.dialect.type_name;
        let call = |text: String, line_bytes| EmittedItem {
            content: ItemContent::Call(text),
            pointer_bytes: pointer_bytes.clone(),
            line_bytes,
            guard: Vec::new(),
        };
        let name = &group.name;
        let mut items: Vec<EmittedItem> = (places.iter())
            .map(|place| {
                let path = &place.path;
                let text = format!("CACHELINE_ASSERT_GROUP_MEMBER({type_name}, {name}, {path})");
                call(text, None)
            })
            .collect();
        let line_bytes = self.dialect.line_bytes;
        if group.bytes() <= line_bytes {
            let line = self.dialect.line_bytes_text();
            let text = format!("CACHELINE_ASSERT_GROUP_SIZE({type_name}, {name}, {line})");
            items.push(call(text, Some(line_bytes)));
        } else {
            items.push(EmittedItem::note(format!(
                "group {name} has {} bytes, more than a line: only the members named are asserted to \
                 share one",
                group.bytes()
            )));
        }
        items
    }
}
