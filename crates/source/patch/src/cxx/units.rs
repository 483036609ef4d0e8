//! Members that move together: all of a statement, and runs of bit-fields.

use super::class::{CxxClass, data_members};
use super::member::CxxMember;
use crate::change::MemberPosition;
use crate::change::MoveRequest;
use crate::refusal::EditRefusal;
use crate::tokenized::TokenizedFile;

/// A move in which each statement is named by its first member.
pub(super) struct StatementMove {
    pub members: Vec<String>,
    pub to: MemberPosition,
}

impl StatementMove {
    /// Names each statement of the request once.
    ///
    /// # Errors
    /// The move would cut a run of bit-fields: bits that share a byte stay together.
    pub fn new(
        file: &TokenizedFile<'_>,
        class: &CxxClass,
        request: MoveRequest<'_>,
    ) -> Result<Self, EditRefusal> {
        let declared = data_members(file, class);
        let statement_name = |name: &String| {
            let mut found = declared.iter().filter(|member| member.declares(name));
            found
                .next()
                .map_or(name.clone(), |member| member.name().to_owned())
        };
        let mut members: Vec<String> = Vec::new();
        for name in request.members.iter().map(statement_name) {
            if !members.contains(&name) {
                members.push(name);
            }
        }
        let to = match request.to {
            MemberPosition::After(anchor) => MemberPosition::After(statement_name(anchor)),
            MemberPosition::Before(anchor) => MemberPosition::Before(statement_name(anchor)),
            MemberPosition::Below(anchor) => MemberPosition::Below(statement_name(anchor)),
            end => end.clone(),
        };
        let moved = Self { members, to };
        match moved.cut_run(&declared) {
            None => Ok(moved),
            Some(member) => Err(EditRefusal::BitfieldRun {
                member: member.name().to_owned(),
                place: file.place(member.first),
            }),
        }
    }

    /// Returns a bit-field whose run the move would cut.
    fn cut_run<'m>(&self, declared: &'m [CxxMember]) -> Option<&'m CxxMember> {
        let is_moved = |member: &CxxMember| self.members.iter().any(|name| member.declares(name));
        let is_behind = |first: &CxxMember, next: &CxxMember| match &self.to {
            MemberPosition::After(anchor) => first.declares(anchor),
            MemberPosition::Before(anchor) | MemberPosition::Below(anchor) => next.declares(anchor),
            MemberPosition::First | MemberPosition::Last => false,
        };
        let mut pairs = declared.windows(2);
        let cut = pairs.find(|pair| {
            let [first, next] = [&pair[0], &pair[1]];
            let is_apart = is_moved(first) != is_moved(next);
            let is_between = is_behind(first, next) && !is_moved(first) && !is_moved(next);
            first.is_bitfield && next.is_bitfield && (is_apart || is_between)
        });
        cut.map(|pair| &pair[0])
    }

    /// Returns all names that the statements called `names` declare.
    pub fn all_names(declared: &[CxxMember], names: &[String]) -> Vec<String> {
        let is_named = |member: &&CxxMember| names.iter().any(|name| member.declares(name));
        let members = declared.iter().filter(is_named);
        members.flat_map(|member| member.names.clone()).collect()
    }
}
