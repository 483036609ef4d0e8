//! A member from one build to the next: its name there, and the change of its layout.

use std::collections::BTreeSet;

use relayout_diff::{MoveCause, TypeDiffDetail, TypeLayout};
use relayout_layout::word_lists::word_list;

use super::layout_rows::KeptLayout;
use super::member_names::is_within;

/// Members that are listed in a change.
const LISTED_MAX: usize = 3;

/// A member in a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowedMember {
    /// Path of the member in this build.
    Path(String),
    /// The build has no such member, as far as its layout tells.
    Lost,
}

impl FollowedMember {
    /// Returns the path.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Path(path) => Some(path),
            Self::Lost => None,
        }
    }

    /// Returns the member in a neighbouring build: of the same path; or in a struct that took it in; or of another name
    /// with the same offset, size and type. `accessed` are the paths with recorded accesses there.
    pub fn follow(
        &self,
        from: Option<&KeptLayout>,
        to: Option<&KeptLayout>,
        accessed: &BTreeSet<&str>,
    ) -> Self {
        let Some(path) = self.path() else {
            return Self::Lost;
        };
        if accessed.iter().any(|other| is_within(other, path)) {
            return self.clone();
        }
        if to.is_some_and(|to| holder_index(&to.layout, path).is_some()) {
            return self.clone();
        }
        let last = last_part(path);
        let mut taken_in = { accessed.iter() }
            .filter(|other| last_part(other) == last && other.len() > path.len());
        if let (Some(other), None) = (taken_in.next(), taken_in.next()) {
            return Self::Path((*other).to_owned());
        }
        match (from, to) {
            (Some(from), Some(to)) => renamed_path(from, to, path).map_or(Self::Lost, Self::Path),
            // Without a layout nothing says that the member is gone.
            (_, None) => self.clone(),
            (None, Some(_)) => Self::Lost,
        }
    }

    /// Returns the offset of the member, or of the member of the type that holds it.
    pub fn offset_in(&self, kept: &KeptLayout) -> Option<i64> {
        let holder = holder_index(&kept.layout, self.path()?)?;
        i64::try_from(kept.layout.members[holder].offset).ok()
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// Returns the member of the type that is, or holds, the member at a path.
fn holder_index(layout: &TypeLayout, path: &str) -> Option<usize> {
    let holds = |holder: &str| is_within(path, holder.strip_suffix("[]").unwrap_or(holder));
    let holders = layout
        .members
        .iter()
        .enumerate()
        .filter(|(_, member)| holds(&member.path));
    holders
        .max_by_key(|(_, member)| member.path.len())
        .map(|(index, _)| index)
}

fn renamed_path(from: &KeptLayout, to: &KeptLayout, path: &str) -> Option<String> {
    let old = holder_index(&from.layout, path)?;
    let detail = TypeDiffDetail::compare(&from.layout, &to.layout, to.line_bytes);
    let moved = detail
        .members
        .iter()
        .find(|member| member.old == Some(old))?;
    let twin = detail.members.get(moved.twin?)?;
    let renamed = &to.layout.members.get(twin.new?)?.path;
    let holder = &from.layout.members[old].path;
    Some(format!("{renamed}{}", path.strip_prefix(&**holder)?))
}

/// Returns the change of the layout around a member, from a build to the next, in words; empty for none.
pub fn layout_step(
    old: Option<&KeptLayout>,
    new: Option<&KeptLayout>,
    old_member: &FollowedMember,
    new_member: &FollowedMember,
) -> String {
    let (Some(old), Some(new)) = (old, new) else {
        return "layout not kept".to_owned();
    };
    let (Some(old_path), Some(new_path)) = (old_member.path(), new_member.path()) else {
        return match (old_member.path(), new_member.path()) {
            (Some(path), None) => format!("{path} is gone"),
            (None, Some(path)) => format!("{path} is new"),
            _ => String::new(),
        };
    };
    let mut words = Vec::new();
    if old_path != new_path {
        words.push(format!("renamed from {old_path}"));
    }
    let detail = TypeDiffDetail::compare(&old.layout, &new.layout, new.line_bytes);
    let holder = holder_index(&new.layout, new_path);
    let moved = detail
        .members
        .iter()
        .position(|member| member.new.is_some() && member.new == holder);
    if let Some(index) = moved {
        words.extend(move_words(&detail, index, &old.layout, &new.layout));
        for (together, verb) in [
            (true, "joined on its line by"),
            (false, "no longer on a line with"),
        ] {
            words.extend(pair_words(
                &detail,
                index,
                together,
                verb,
                &old.layout,
                &new.layout,
            ));
        }
    }
    if old.layout.size != new.layout.size {
        words.push(format!(
            "type {} -> {} bytes",
            old.layout.size, new.layout.size
        ));
    }
    words.join("; ")
}

fn move_words(
    detail: &TypeDiffDetail,
    index: usize,
    old: &TypeLayout,
    new: &TypeLayout,
) -> Vec<String> {
    let moved = &detail.members[index];
    let mut words = Vec::new();
    let old_member = moved.old.and_then(|at| old.members.get(at));
    let new_member = moved.new.and_then(|at| new.members.get(at));
    let (Some(before), Some(now)) = (old_member, new_member) else {
        return words;
    };
    if before.offset != now.offset {
        let cause = match moved.cause {
            MoveCause::Reordered => " (another place in the order)",
            _ => "",
        };
        words.push(format!("offset {} -> {}{cause}", before.offset, now.offset));
    }
    if before.is_resized(now) {
        words.push(format!("size {} -> {}", before.size, now.size));
    }
    words
}

fn pair_words(
    detail: &TypeDiffDetail,
    index: usize,
    together: bool,
    verb: &str,
    old: &TypeLayout,
    new: &TypeLayout,
) -> Option<String> {
    let others = { detail.pairs.iter() }
        .filter(|pair| pair.together == together)
        .filter_map(|pair| match pair {
            pair if pair.first == index => Some(pair.second),
            pair if pair.second == index => Some(pair.first),
            _ => None,
        });
    let name = |at: usize| {
        let member = &detail.members[at];
        let new_name = member.new.and_then(|at| new.members.get(at));
        let old_name = member.old.and_then(|at| old.members.get(at));
        new_name
            .or(old_name)
            .map_or_else(String::new, |member| member.path.to_string())
    };
    let names: Vec<String> = others.map(name).collect();
    (!names.is_empty()).then(|| format!("{verb} {}", word_list(&names, LISTED_MAX)))
}

#[cfg(test)]
mod tests {
    use relayout_diff::{PlacedMember, TypeKey, TypeTag};
    use relayout_layout::AggregateKind;

    use super::*;

    fn kept(members: &[(&str, u64)]) -> KeptLayout {
        let placed = |(path, offset): &(&str, u64)| PlacedMember {
            path: (*path).into(),
            offset: *offset,
            size: 8,
            type_unknown: false,
            bits: None,
            type_name: "long".into(),
            held_type: None,
        };
        KeptLayout {
            layout: TypeLayout {
                key: TypeKey {
                    tag: TypeTag::Struct,
                    scope: None,
                    name: "job".into(),
                },
                kind: AggregateKind::Struct,
                size: 128,
                declared_align: None,
                decl: None,
                members: members.iter().map(placed).collect(),
                gaps: Vec::new(),
                fingerprint: 0,
            },
            line_bytes: 64,
        }
    }

    fn path(text: &str) -> FollowedMember {
        FollowedMember::Path(text.to_owned())
    }

    #[test]
    fn a_renamed_member_is_followed_both_ways() {
        let old = kept(&[("first", 0), ("count", 8), ("last", 16)]);
        let new = kept(&[("first", 0), ("users", 8), ("last", 16)]);
        let none = BTreeSet::new();
        assert_eq!(
            path("count").follow(Some(&old), Some(&new), &none),
            path("users")
        );
        assert_eq!(
            path("users").follow(Some(&new), Some(&old), &none),
            path("count")
        );
        assert_eq!(
            layout_step(Some(&old), Some(&new), &path("count"), &path("users")),
            "renamed from count"
        );
    }

    #[test]
    fn a_member_that_a_struct_took_in_is_followed_by_its_accesses() {
        let old = kept(&[("flags", 0)]);
        let new = kept(&[("node", 0), ("other", 8)]);
        let accessed = BTreeSet::from(["node.flags"]);
        let followed = path("flags").follow(Some(&old), Some(&new), &accessed);
        assert_eq!(followed, path("node.flags"));
        assert_eq!(
            path("gone").follow(Some(&old), Some(&new), &accessed),
            FollowedMember::Lost
        );
    }

    #[test]
    fn a_move_names_what_comes_onto_the_line() {
        let old = kept(&[("lock", 0), ("data", 64)]);
        let new = kept(&[("lock", 0), ("data", 8)]);
        assert_eq!(
            layout_step(Some(&old), Some(&new), &path("data"), &path("data")),
            "offset 64 -> 8; joined on its line by lock"
        );
        assert_eq!(
            layout_step(None, Some(&new), &path("data"), &path("data")),
            "layout not kept"
        );
    }
}
