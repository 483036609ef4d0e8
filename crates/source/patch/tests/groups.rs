//! Groups of members that are to be on the same lines, in the shape that Linux has them since 6.8.

use relayout_patch::{MemberPosition, SourceChange, edit_struct, inverse_changes, member_order};

/// Two groups by their macros, aligned in two ways as in `struct tcp_sock` and as in libeth, and
/// members outside.
const SOURCE: &str = "\
struct port {
\tint id;

\t/* Group of what sending reads. */
\t__cacheline_group_begin(port_tx_read) ____cacheline_aligned;
\tunsigned int mtu;
\tunsigned long features;\t/* offloads */
\t__cacheline_group_end(port_tx_read);

\t__cacheline_group_begin_aligned(port_stats) __aligned(8);
\tunsigned long sent;
#ifdef CONFIG_DROPS
\tunsigned long dropped;
#endif
\t__cacheline_group_end_aligned(port_stats);

\tunsigned int flags;
\tchar name[16];
};
";

fn moved(member: &str, to: MemberPosition) -> Result<String, String> {
    let change = SourceChange::MoveMembers {
        members: vec![member.to_owned()],
        to,
        spacing: None,
        reason: None,
    };
    let new = edit_struct(
        "port.h",
        SOURCE,
        "port",
        None,
        std::slice::from_ref(&change),
    );
    let new = new.map_err(|refusal| refusal.to_string())?;
    let back = inverse_changes("port.h", SOURCE, "port", None, &change).unwrap();
    assert_eq!(
        edit_struct("port.h", &new, "port", None, &back).unwrap(),
        SOURCE
    );
    Ok(new)
}

fn check(member: &str, to: MemberPosition, expect: &[&str]) {
    let order = member_order("port.h", &moved(member, to).unwrap(), "port").unwrap();
    let shown: Vec<&str> = order.iter().map(|name| shortened(name)).collect();
    assert_eq!(shown, expect);
}

/// Marks as `<NAME` and `>NAME`.
fn shortened(name: &str) -> &str {
    match name.strip_prefix("__cacheline_group_") {
        Some("begin__port_tx_read") => "<tx",
        Some("end__port_tx_read") => "tx>",
        Some("begin__port_stats") => "<stats",
        Some("end__port_stats") => "stats>",
        _ => name,
    }
}

fn after(member: &str) -> MemberPosition {
    MemberPosition::After(member.to_owned())
}

#[test]
fn members_move_within_their_group_and_past_others() {
    check(
        "mtu",
        after("features"),
        &[
            "id", "<tx", "features", "mtu", "tx>", "<stats", "sent", "dropped", "stats>", "flags",
            "name",
        ],
    );
    check(
        "id",
        after("flags"),
        &[
            "<tx", "mtu", "features", "tx>", "<stats", "sent", "dropped", "stats>", "flags", "id",
            "name",
        ],
    );
    check(
        "name",
        MemberPosition::First,
        &[
            "name", "id", "<tx", "mtu", "features", "tx>", "<stats", "sent", "dropped", "stats>",
            "flags",
        ],
    );
}

/// Layouts name places by the members that the marks declare.
#[test]
fn marks_are_places() {
    check(
        "features",
        after("__cacheline_group_begin__port_tx_read"),
        &[
            "id", "<tx", "features", "mtu", "tx>", "<stats", "sent", "dropped", "stats>", "flags",
            "name",
        ],
    );
    check(
        "flags",
        after("__cacheline_group_end__port_tx_read"),
        &[
            "id", "<tx", "mtu", "features", "tx>", "flags", "<stats", "sent", "dropped", "stats>",
            "name",
        ],
    );
}

#[test]
fn no_member_enters_or_leaves_a_group() {
    let why = |line: u32, member: &str, verb: &str, group: &str| {
        Err(format!(
            "port.h:{line}: {member} would {verb} the cache line group {group}, of which code elsewhere asserts \
             members and size (CACHELINE_ASSERT_GROUP_MEMBER, ..._SIZE): change these with it by hand"
        ))
    };
    assert_eq!(
        moved("id", after("mtu")),
        why(5, "id", "enter", "port_tx_read")
    );
    assert_eq!(
        moved("flags", after("sent")),
        why(15, "flags", "enter", "port_stats")
    );
    assert_eq!(
        moved("features", after("id")),
        why(5, "features", "leave", "port_tx_read")
    );
    assert_eq!(
        moved("features", after("name")),
        why(8, "features", "leave", "port_tx_read")
    );
    // Out of one and into another: either is the reason.
    assert_eq!(
        moved("sent", after("mtu")),
        why(8, "sent", "enter", "port_tx_read")
    );
    // Past one group, and then into another.
    assert_eq!(
        moved("id", after("sent")),
        why(10, "id", "enter", "port_stats")
    );
}
