//! Moves of what is more than a member on a line of its own, each as the struct before and after.

mod alignment;
mod comments;
mod conditions;
mod declarations;
mod groups;
mod refused;

use relayout_patch::{MemberPosition, SourceChange, edit_struct, inverse_changes};

fn change(members: &str, to: MemberPosition) -> SourceChange {
    SourceChange::MoveMembers {
        members: members.split(' ').map(str::to_owned).collect(),
        to,
        spacing: None,
        reason: None,
    }
}

fn after(member: &str) -> MemberPosition {
    MemberPosition::After(member.to_owned())
}

fn before(member: &str) -> MemberPosition {
    MemberPosition::Before(member.to_owned())
}

fn body(lines: &str) -> String {
    format!("struct s {{\n{lines}}};\n")
}

/// The members in `old`, one statement per line, after a move, and back again.
fn check(old: &str, members: &str, to: MemberPosition, expect: &str) {
    let old = body(old);
    let change = change(members, to);
    let new = edit_struct("s.h", &old, "s", None, std::slice::from_ref(&change)).unwrap();
    assert_eq!(new, body(expect));
    let back = inverse_changes("s.h", &old, "s", None, &change).unwrap();
    assert_eq!(edit_struct("s.h", &new, "s", None, &back).unwrap(), old);
}

fn check_refused(old: &str, members: &str, to: MemberPosition, expect: &str) {
    let refused = edit_struct("s.h", &body(old), "s", None, &[change(members, to)]);
    assert_eq!(refused.unwrap_err().to_string(), expect);
}

fn edited(old: &str, change: SourceChange) -> String {
    match edit_struct("s.h", old, "s", None, &[change]) {
        Ok(new) => new,
        Err(refusal) => refusal.to_string(),
    }
}
