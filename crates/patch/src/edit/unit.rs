//! What moves as one: from the names that were given to a run of statements in one body.

use crate::body::{Body, Branch, Item};
use crate::declarator::What;
use crate::find::{Definition, File, ItemPath};
use crate::refusal::Refusal;

/// Statements `first..=last` of the body that `bodies` leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    pub bodies: Vec<usize>,
    pub first: usize,
    pub last: usize,
}

impl Unit {
    /// The first of its statements.
    pub fn path(&self) -> ItemPath {
        ItemPath {
            bodies: self.bodies.clone(),
            item: self.first,
        }
    }

    /// The `#if` branches that all of it stands in.
    pub fn branches<'a>(&self, body: &'a Body) -> &'a [Branch] {
        let items = &body.items[self.first..=self.last];
        let first = &items[0].branches;
        let shared = |item: &Item| common(first, &item.branches);
        let level = items.iter().map(shared).min().unwrap_or(0);
        &first[..level]
    }

    /// Its first and last token, whole `#if` groups included that stand in `level` branches.
    pub fn tokens(&self, body: &Body, level: usize) -> (usize, usize) {
        let (first, last) = (&body.items[self.first], &body.items[self.last]);
        let group = |item: &Item| item.branches.get(level).map(|&(group, _)| group);
        (
            group(first).map_or(first.first, |group| body.groups[group].start),
            group(last).map_or(last.last, |group| body.groups[group].end),
        )
    }

    fn contains(&self, index: usize) -> bool {
        (self.first..=self.last).contains(&index)
    }
}

/// How many branches two statements share.
pub(crate) fn common(a: &[Branch], b: &[Branch]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// The statements that declare `members`, and nothing else; lifted out of anonymous structs and
/// unions that they are all of, if `anchor` (`None`: the front) stands outside of those.
pub(crate) fn unit(
    file: &File<'_>,
    definition: &Definition,
    members: &[String],
    anchor: Option<&ItemPath>,
) -> Result<Unit, Refusal> {
    let (mut paths, mut unknown) = (Vec::new(), Vec::new());
    for member in members {
        let mut found = match definition.members(file, member) {
            Ok(found) => found,
            Err(refusal) => {
                unknown.push(refusal);
                continue;
            }
        };
        if let [first, second, ..] = found.as_slice()
            && !exclusive(definition, &found)
        {
            return Err(Refusal::MemberTwice {
                member: member.clone(),
                first: file.place(definition.item(first).first),
                second: file.place(definition.item(second).first),
            });
        }
        paths.append(&mut found);
    }
    let asked = Asked {
        file,
        definition,
        members,
        unknown: unknown.len(),
    };
    // A macro may give a member another name than the text has: `#define rcu_head callback_head`.
    // In an anonymous struct or union that is named otherwise, it must be the one left over.
    let in_anonymous = paths.first().is_some_and(|path| !path.bodies.is_empty());
    if let Some(refusal) = unknown.into_iter().next().filter(|_| !in_anonymous) {
        return Err(refusal);
    }
    let depth = paths
        .iter()
        .skip(1)
        .fold(paths[0].bodies.len(), |depth, path| {
            depth.min(shared_steps(&path.bodies, &paths[0].bodies))
        });
    let depth = asked.lifted_depth(depth, &paths[0], anchor);
    let indexes: Vec<usize> = paths
        .iter()
        .map(|path| path.bodies.get(depth).copied().unwrap_or(path.item))
        .collect();
    for path in &paths {
        asked.covers_containers(path, depth)?;
    }
    let mut unit = Unit {
        bodies: paths[0].bodies[..depth].to_vec(),
        first: indexes.iter().copied().min().unwrap_or(0),
        last: indexes.iter().copied().max().unwrap_or(0),
    };
    let body = asked.body(&unit);
    asked.whole_run(body, &mut unit)?;
    asked.nothing_between(body, &unit, &indexes)?;
    asked.whole_groups(body, &unit)?;
    for item in &body.items[unit.first..=unit.last] {
        asked.movable(item)?;
    }
    if asked.in_union(&unit) {
        return Err(Refusal::Union {
            name: members[0].clone(),
            place: file.place(body.items[unit.first].first),
        });
    }
    Ok(unit)
}

fn shared_steps(a: &[usize], b: &[usize]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Whether declarations of one name stand in different branches of one `#if`.
fn exclusive(definition: &Definition, paths: &[ItemPath]) -> bool {
    let branches = |path: &ItemPath| definition.item(path).branches.clone();
    paths.iter().enumerate().all(|(index, path)| {
        paths[index + 1..].iter().all(|other| {
            let (own, theirs) = (branches(path), branches(other));
            let level = common(&own, &theirs);
            path.bodies == other.bodies
                && matches!((own.get(level), theirs.get(level)), (Some(a), Some(b)) if a.0 == b.0)
        })
    })
}

struct Asked<'a> {
    file: &'a File<'a>,
    definition: &'a Definition,
    members: &'a [String],
    /// How many of them the text does not have.
    unknown: usize,
}

impl Asked<'_> {
    fn body(&self, unit: &Unit) -> &Body {
        self.definition.body_of(&unit.path())
    }

    fn in_union(&self, unit: &Unit) -> bool {
        self.definition.in_union(&unit.path())
    }

    fn names(&self, item: &Item) -> bool {
        let own = |name: &String| self.members.iter().any(|asked| last_name(asked) == name);
        item.names.iter().any(own) || item.group_name.iter().any(own)
    }

    /// Whether everything in the body that is there in every configuration was named, but for as
    /// many members as the text does not have.
    fn covers(&self, body: &Body) -> bool {
        self.not_named(body) <= self.unknown
    }

    fn not_named(&self, body: &Body) -> usize {
        let count = |item: &Item| match item.body.as_deref() {
            _ if !item.branches.is_empty() || self.names(item) => 0,
            Some(inner) if item.names.is_empty() => self.not_named(inner),
            _ => 1,
        };
        body.items.iter().map(count).sum()
    }

    /// The depth of the body in which the unit moves: out of anonymous structs and unions that
    /// it is all of, as far as the anchor (for the front: as far as there are any).
    fn lifted_depth(&self, mut depth: usize, path: &ItemPath, anchor: Option<&ItemPath>) -> usize {
        let floor = anchor.map_or(0, |anchor| shared_steps(&path.bodies, &anchor.bodies));
        while depth > floor {
            let container = ItemPath {
                bodies: path.bodies[..depth - 1].to_vec(),
                item: path.bodies[depth - 1],
            };
            let item = self.definition.item(&container);
            let all = item.body.as_deref().is_some_and(|body| self.covers(body));
            if !item.names.is_empty() || !all {
                break;
            }
            depth -= 1;
        }
        depth
    }

    /// Refuses to take anonymous structs and unions along of which not all was named.
    fn covers_containers(&self, path: &ItemPath, depth: usize) -> Result<(), Refusal> {
        for level in depth..path.bodies.len() {
            let container = self.definition.item(&ItemPath {
                bodies: path.bodies[..level].to_vec(),
                item: path.bodies[level],
            });
            let all = container
                .body
                .as_deref()
                .is_some_and(|body| self.covers(body));
            if !container.names.is_empty() || !all {
                return Err(Refusal::NestedStruct {
                    member: self.members[0].clone(),
                    place: self.file.place(container.first),
                });
            }
        }
        Ok(())
    }

    /// Makes the unit all of a run of bitfields that it begins or ends in.
    fn whole_run(&self, body: &Body, unit: &mut Unit) -> Result<(), Refusal> {
        let bits = |index: usize| {
            body.items
                .get(index)
                .filter(|item| item.what == What::Bitfield)
        };
        let joins = |item: &Item| {
            if item.names.is_empty() || !item.branches.is_empty() || self.names(item) {
                return Ok(());
            }
            Err(Refusal::BitfieldRun {
                member: self.members[0].clone(),
                place: self.file.place(body.items[unit.first].first),
            })
        };
        let (mut first, mut last) = (unit.first, unit.last);
        while bits(first).is_some()
            && let Some(item) = first.checked_sub(1).and_then(bits)
        {
            joins(item)?;
            first -= 1;
        }
        while bits(last).is_some()
            && let Some(item) = bits(last + 1)
        {
            joins(item)?;
            last += 1;
        }
        (unit.first, unit.last) = (first, last);
        Ok(())
    }

    /// Refuses members with others between them that are there in every configuration.
    fn nothing_between(&self, body: &Body, unit: &Unit, named: &[usize]) -> Result<(), Refusal> {
        let level = unit.branches(body).len();
        for index in unit.first..=unit.last {
            let item = &body.items[index];
            let unnamed = item.what == What::Bitfield && item.names.is_empty();
            let asked = named.contains(&index) || self.names(item) || unnamed;
            if !asked && item.branches.len() == level {
                return Err(Refusal::NotTogether {
                    member: self.members[0].clone(),
                    place: self.file.place(item.first),
                });
            }
        }
        Ok(())
    }

    /// Refuses to take a part of an `#if` group along.
    fn whole_groups(&self, body: &Body, unit: &Unit) -> Result<(), Refusal> {
        let level = unit.branches(body).len();
        for item in &body.items[unit.first..=unit.last] {
            let Some(&(group, _)) = item.branches.get(level) else {
                continue;
            };
            let outside = |(index, other): (usize, &Item)| {
                let inside = other
                    .branches
                    .get(level)
                    .is_some_and(|&(of, _)| of == group);
                inside && !unit.contains(index)
            };
            if body.items.iter().enumerate().any(outside) {
                return Err(Refusal::ConditionalGroup {
                    member: self.members[0].clone(),
                    place: self.file.place(body.groups[group].start),
                });
            }
        }
        Ok(())
    }

    fn movable(&self, item: &Item) -> Result<(), Refusal> {
        let (member, place) = (self.members[0].clone(), self.file.place(item.first));
        match item.what {
            What::Macro | What::Unsure | What::Border => {
                Err(Refusal::MacroMember { member, place })
            }
            What::Flexible => Err(Refusal::FlexibleArray { member, place }),
            _ => Ok(()),
        }
    }
}

/// The member's own name: the last of its path.
pub(crate) fn last_name(member: &str) -> &str {
    member.rsplit('.').next().unwrap_or(member)
}
