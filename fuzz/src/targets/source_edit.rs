use relayout_patch::{Alignment, Change, edit_struct, member_order, suspicious_uses, unified_diff};

/// A line with a struct and two of its members, and then C text in which they are moved and
/// aligned.
pub fn source_edit(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (head, source) = text.split_once('\n').unwrap_or((&text, ""));
    let mut words = head.split(' ').map(str::to_owned);
    let mut word = || words.next().unwrap_or_default();
    let (name, member, after) = (word(), word(), word());
    let after = Some(after).filter(|after| !after.is_empty());
    let aligned = member.clone();
    let reason = Some("it is hot */ //".to_owned());
    let moved = Change::MoveMember {
        member,
        after,
        reason: reason.clone(),
    };
    let bytes = Alignment::Bytes(64);
    let named = Alignment::Macro("____cacheline_aligned_in_smp".into());
    let member = Change::AlignMember {
        member: aligned,
        alignment: named,
        reason,
    };
    let whole = Change::AlignType {
        alignment: bytes,
        reason: None,
    };
    let before = member_order("a.h", source, &name);
    for change in [moved, member, whole] {
        let Ok(new) = edit_struct("a.h", source, &name, Some(1), &[change]) else {
            continue;
        };
        let sorted = |order: Result<Vec<String>, _>| {
            let mut order = order.expect("what was edited can be read");
            order.sort();
            order
        };
        let after = member_order("a.h", &new, &name);
        assert_eq!(sorted(before.clone()), sorted(after), "members were lost");
        unified_diff("a.h", source, &new);
    }
    suspicious_uses("a.h", source, &name);
}
