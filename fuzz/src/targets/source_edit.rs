use relayout_patch::{
    MemberPosition, SourceChange, WrittenAlignment, edit_struct, find_suspicious_uses, guard_store,
    inverse_changes, member_order, unified_diff,
};

/// A line with a struct and two of its members, and then C text in which they are moved and
/// aligned; and the same text as C++ and as Rust.
pub fn source_edit(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (head, source) = text.split_once('\n').unwrap_or((&text, ""));
    let mut words = head.split(' ').map(str::to_owned);
    let mut word = || words.next().unwrap_or_default();
    let (name, member, after) = (word(), word(), word());
    for file in ["a.h", "a.cc", "a.rs"] {
        let before = member_order(file, source, &name).map(sorted);
        for change in changes(&member, &after) {
            edited(file, source, &name, &change, &before);
        }
    }
    for line in 1..8 {
        let _ = guard_store("a.c", source, line, &member, None);
    }
    find_suspicious_uses("a.h", source, &name);
}

fn edited<E>(
    file: &str,
    source: &str,
    name: &str,
    change: &SourceChange,
    before: &Result<Vec<String>, E>,
) {
    let edit =
        |text: &str, changes: &[SourceChange]| edit_struct(file, text, name, Some(1), changes);
    let Ok(new) = edit(source, std::slice::from_ref(change)) else {
        return;
    };
    unified_diff(file, source, &new);
    let adds = matches!(
        change,
        SourceChange::AddPadding { .. } | SourceChange::RemovePadding { .. }
    );
    // What C++ adds to C may be aligned in a class that does not read as C.
    let after = member_order(file, &new, name).map(sorted);
    if let (Ok(before), false) = (before, adds) {
        let after = after.expect("what was edited can be read");
        assert_eq!(*before, after, "members were lost");
    }
    if let Ok(back) = inverse_changes(file, source, name, Some(1), change) {
        let text = edit(&new, &back).expect("the inverse was tried");
        assert_eq!(text, source, "it did not come back");
        // A condition that goes along is written twice, and the type and the condition of what was
        // taken apart.
        if back.len() == 1 && source.matches('#').count() == new.matches('#').count() {
            assert_eq!(letters(source), letters(&new), "code was lost");
        }
    }
}

fn sorted(mut order: Vec<String>) -> Vec<String> {
    order.sort();
    order
}

fn changes(member: &str, after: &str) -> Vec<SourceChange> {
    let reason = Some("it is hot */ //".to_owned());
    let moved = |to, reason| SourceChange::MoveMembers {
        members: vec![member.to_owned()],
        to,
        spacing: None,
        reason,
    };
    let to = MemberPosition::after(Some(after).filter(|after| !after.is_empty()));
    vec![
        moved(to.clone(), reason.clone()),
        moved(to, None),
        moved(MemberPosition::Before(after.to_owned()), None),
        moved(MemberPosition::Last, None),
        SourceChange::AlignMember {
            member: member.to_owned(),
            alignment: WrittenAlignment::Macro("____cacheline_aligned_in_smp".into()),
            reason,
        },
        SourceChange::AlignType {
            alignment: WrittenAlignment::Bytes(64),
            reason: None,
        },
        SourceChange::RemoveAlignment {
            member: Some(member.to_owned()),
        },
        SourceChange::RemoveAlignment { member: None },
        SourceChange::JoinDeclarations {
            text: format!("int {member}, *{after};"),
        },
        SourceChange::JoinGroups {
            behind: member.to_owned(),
            line: None,
        },
        SourceChange::JoinGroups {
            behind: member.to_owned(),
            line: Some("#else".to_owned()),
        },
        SourceChange::AddPadding {
            name: "_pad1_".to_owned(),
            bytes: 8,
            to: MemberPosition::after(Some(member)),
            reason: None,
        },
        SourceChange::RemovePadding {
            member: member.to_owned(),
        },
    ]
}

/// All but the white space of a text, sorted: what a move, which only carries statements about,
/// keeps.
fn letters(text: &str) -> Vec<char> {
    let mut letters: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    letters.sort_unstable();
    letters
}
