//! Unnamed members of tagged structs, which the kernel has since it is built with
//! `-fms-extensions`.

use relayout_patch::{
    MemberPosition, SourceChange, WrittenAlignment, edit_struct, inverse_changes, member_order,
    read_declared_struct,
};

/// `struct slab` of Linux 7.x, with further members around the union.
const SOURCE: &str = "\
struct slab {
\tmemdesc_flags_t flags;

\tstruct kmem_cache *slab_cache;
\t/* Free objects, and how many of each kind. */
\tstruct freelist_counters;
\tunion {
\t\tstruct {
\t\t\tstruct list_head slab_list;
\t\t\tconst struct more_counters;
\t\t};
\t\tstruct rcu_head rcu_head;
\t};

\tunsigned int __page_type;
};
";

fn move_to(member: &str, after: &str) -> SourceChange {
    SourceChange::MoveMembers {
        members: vec![member.to_owned()],
        to: MemberPosition::After(after.to_owned()),
        spacing: None,
        reason: None,
    }
}

/// Makes the move, takes it back, and returns the new text.
fn moved(member: &str, after: &str) -> Result<String, String> {
    let change = move_to(member, after);
    let new = edit_struct(
        "slab.h",
        SOURCE,
        "slab",
        None,
        std::slice::from_ref(&change),
    );
    let new = new.map_err(|refusal| refusal.to_string())?;
    let back = inverse_changes("slab.h", SOURCE, "slab", None, &change).unwrap();
    let old = edit_struct("slab.h", &new, "slab", None, &back).unwrap();
    assert_eq!(old, SOURCE);
    Ok(new)
}

#[test]
fn their_tag_stands_for_them() {
    let order = member_order("slab.h", SOURCE, "slab").unwrap();
    let expect = [
        "flags",
        "slab_cache",
        "struct freelist_counters",
        "slab_list",
        "struct more_counters",
        "rcu_head",
        "__page_type",
    ];
    assert_eq!(order, expect);
}

#[test]
fn they_move_with_their_comment_and_are_places() {
    let new = moved("struct freelist_counters", "flags").unwrap();
    let head = "\
struct slab {
\tmemdesc_flags_t flags;
\t/* Free objects, and how many of each kind. */
\tstruct freelist_counters;

\tstruct kmem_cache *slab_cache;
\tunion {
";
    assert!(new.starts_with(head), "{new}");
    let new = moved("flags", "struct freelist_counters").unwrap();
    let order = member_order("slab.h", &new, "slab").unwrap();
    assert_eq!(
        order[..3],
        ["slab_cache", "struct freelist_counters", "flags"]
    );
}

/// The type around one says which names are in it; the text of the union does not.
#[test]
fn a_union_with_one_moves_as_a_whole() {
    let names = ["slab_list", "freelist", "counters", "rcu_head"].map(str::to_owned);
    let change = SourceChange::MoveMembers {
        members: names.to_vec(),
        to: MemberPosition::After("flags".to_owned()),
        spacing: None,
        reason: None,
    };
    let new = edit_struct("slab.h", SOURCE, "slab", None, &[change]).unwrap();
    let order = member_order("slab.h", &new, "slab").unwrap();
    assert_eq!(order[..3], ["flags", "slab_list", "struct more_counters"]);
}

#[test]
fn they_cannot_be_aligned() {
    let change = SourceChange::AlignMember {
        member: "struct freelist_counters".to_owned(),
        alignment: WrittenAlignment::Bytes(64),
        reason: None,
    };
    let refusal = edit_struct("slab.h", SOURCE, "slab", None, &[change]).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "slab.h:6: struct freelist_counters is a member without a name and cannot be aligned"
    );
}

/// A proposed layout, as C and as pahole prints it.
#[test]
fn they_are_read_in_proposed_layouts() {
    let pahole = "\
struct s {
\tlong unsigned int          flags;                /*     0     8 */
\tstruct freelist_counters   __attribute__((__aligned__(16))); /*    16    16 */
};
";
    for source in [
        "struct s {\n\tlong flags;\n\tstruct freelist_counters;\n};\n",
        pahole,
    ] {
        let declared = read_declared_struct("s.h", source, "s").unwrap();
        assert_eq!(declared.members[1].names, ["struct freelist_counters"]);
        assert_eq!(declared.members[1].type_text, "struct freelist_counters");
        assert!(!declared.members[1].is_special);
    }
}
