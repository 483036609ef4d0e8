use relayout_patch::{
    Alignment, Change, Position, edit_struct, inverse, member_order, suspicious_uses, unified_diff,
};

/// A line with a struct and two of its members, and then C text in which they are moved and
/// aligned.
pub fn source_edit(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (head, source) = text.split_once('\n').unwrap_or((&text, ""));
    let mut words = head.split(' ').map(str::to_owned);
    let mut word = || words.next().unwrap_or_default();
    let (name, member, after) = (word(), word(), word());
    let before = member_order("a.h", source, &name);
    for change in changes(&member, &after) {
        let edit = |text: &str, change: &Change| {
            let changes = std::slice::from_ref(change);
            edit_struct("a.h", text, &name, Some(1), changes)
        };
        let Ok(new) = edit(source, &change) else {
            continue;
        };
        let after = member_order("a.h", &new, &name);
        let order = after.expect("what was edited can be read");
        unified_diff("a.h", source, &new);
        let adds = matches!(
            &change,
            Change::AddPadding { .. } | Change::RemovePadding { .. }
        );
        if !adds {
            let sorted = |mut order: Vec<String>| {
                order.sort();
                order
            };
            let before = before.clone().expect("what was edited can be read");
            assert_eq!(sorted(before), sorted(order), "members were lost");
        }
        if let Ok(back) = inverse("a.h", source, &name, Some(1), &change) {
            // A move has no effect on the lines of other definitions above it.
            let text = edit(&new, &back).expect("the inverse was tried");
            assert_eq!(text, source, "it did not come back");
            assert_eq!(tokens(source), tokens(&new), "tokens were lost");
        }
    }
    suspicious_uses("a.h", source, &name);
}

fn changes(member: &str, after: &str) -> Vec<Change> {
    let reason = Some("it is hot */ //".to_owned());
    let moved = |to, reason| Change::MoveMembers {
        members: vec![member.to_owned()],
        to,
        spacing: None,
        reason,
    };
    let to = Position::after(Some(after).filter(|after| !after.is_empty()));
    vec![
        moved(to.clone(), reason.clone()),
        moved(to, None),
        moved(Position::Before(after.to_owned()), None),
        Change::AlignMember {
            member: member.to_owned(),
            alignment: Alignment::Macro("____cacheline_aligned_in_smp".into()),
            reason,
        },
        Change::AlignType {
            alignment: Alignment::Bytes(64),
            reason: None,
        },
        Change::RemoveAlignment {
            member: Some(member.to_owned()),
        },
        Change::RemoveAlignment { member: None },
        Change::AddPadding {
            name: "_pad1_".to_owned(),
            bytes: 8,
            to: Position::after(Some(member)),
            reason: None,
        },
        Change::RemovePadding {
            member: member.to_owned(),
        },
    ]
}

/// The words of a text, sorted: what a move, which only carries lines about, keeps.
fn tokens(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    words.sort_unstable();
    words
}
