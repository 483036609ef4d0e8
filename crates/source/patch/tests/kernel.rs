//! Edits of the kernel source in the cache, or at `RELAYOUT_SOURCE`.

use relayout_patch::{
    EditRefusal, MemberPosition, SourceChange, WrittenAlignment, edit_struct, inverse_changes,
    member_order, unified_diff,
};
use relayout_statistics::random::{RandomSequence, SplitMix64};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Structs tried.
const SAMPLE_COUNT: usize = 300;
const SEED: u64 = 0x5eed_0007;

fn move_to(member: &str, after: Option<&str>) -> SourceChange {
    SourceChange::MoveMembers {
        members: vec![member.to_owned()],
        to: MemberPosition::after(after),
        spacing: None,
        reason: None,
    }
}

/// Headers with their structs of three named members or more, sorted.
fn candidates(root: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for top in [
        "include/linux",
        "include/net",
        "mm",
        "kernel",
        "fs",
        "block",
        "net",
    ] {
        headers(&root.join(top), &mut files);
    }
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else {
            continue;
        };
        let name = file
            .strip_prefix(root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        for line in text.lines() {
            let Some(rest) = line.strip_prefix("struct ") else {
                continue;
            };
            let Some((tag, "")) = rest.trim_end().split_once(" {") else {
                continue;
            };
            let tag = tag.rsplit(' ').next().unwrap_or(tag);
            found.push((name.clone(), tag.to_owned()));
        }
    }
    found
}

fn headers(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            headers(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "h") {
            files.push(path);
        }
    }
}

/// Lines that are not blank, sorted.
fn sorted_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines.sort_unstable();
    lines
}

/// Expected order after the move, from the order before it.
fn expected_order(before: &[String], member: &str, after: Option<&str>) -> Vec<String> {
    let nested = format!("{member}.");
    let moves = |name: &&String| *name == member || name.starts_with(&nested);
    let moved: Vec<String> = before.iter().filter(moves).cloned().collect();
    let mut order: Vec<String> = before.iter().filter(|name| !moves(name)).cloned().collect();
    let outer = member.rsplit_once('.').map(|(outer, _)| outer);
    let front = outer.map_or(0, |outer| {
        order.iter().position(|name| name == outer).unwrap() + 1
    });
    let at = after.map_or(front, |after| {
        let inside = format!("{after}.");
        order
            .iter()
            .rposition(|name| name == after || name.starts_with(&inside))
            .unwrap()
            + 1
    });
    order.splice(at..at, moved);
    order
}

fn git_apply(dir: &Path, path: &str, old: &str, diff: &str) -> String {
    let file = dir.join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, old).unwrap();
    std::fs::write(dir.join("change.diff"), diff).unwrap();
    for arguments in [
        &["apply", "--check", "change.diff"][..],
        &["apply", "change.diff"],
    ] {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(dir)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{path}: {}\n{diff}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    std::fs::read_to_string(file).unwrap()
}

/// A struct before and after a move.
struct Sample<'a> {
    path: &'a str,
    tag: &'a str,
    old: &'a str,
    new: &'a str,
    title: &'a str,
}

impl Sample<'_> {
    /// Checks the lines, the order and the patch; returns true if the inverse gives the old bytes.
    fn check(&self, dir: &Path, change: &SourceChange, expect: &[String]) -> bool {
        let Self {
            path,
            tag,
            old,
            new,
            title,
        } = *self;
        // A split declaration repeats its type, a split `#if` group its condition.
        let back = inverse_changes(path, old, tag, None, change).unwrap_or_default();
        let joins = back.len() > 1;
        let directives = |text: &str| text.matches("\n#").count();
        if !joins && directives(old) == directives(new) {
            assert_eq!(sorted_lines(old), sorted_lines(new), "{title}");
        }
        assert_eq!(member_order(path, new, tag).unwrap(), expect, "{title}");
        let diff = unified_diff(path, old, new);
        assert_eq!(git_apply(dir, path, old, &diff), new, "{title}");
        if let Some(out) = std::env::var_os("RELAYOUT_DIFFS") {
            let name = format!("{}-{tag}.diff", path.replace('/', "-"));
            std::fs::write(Path::new(&out).join(name), diff).unwrap();
        }
        let again = edit_struct(path, new, tag, None, &back);
        let same = !back.is_empty() && again.as_deref() == Ok(old);
        if !same && std::env::var_os("RELAYOUT_VERBOSE").is_some() {
            eprintln!("{title}: not back to the same bytes");
        }
        same
    }
}

#[test]
fn random_moves_apply_and_change_the_order_alone() {
    let root = relayout_testkit::kernel_source();
    let dir = tempfile::tempdir().unwrap();
    let mut init = Command::new("git");
    init.args(["init", "-q"]).current_dir(dir.path());
    assert!(init.status().unwrap().success());
    let structs = candidates(&root);
    let mut random = SplitMix64::new(SEED);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let (mut tried, mut returned) = (0, 0);
    let wanted =
        std::env::var("RELAYOUT_SAMPLE").map_or(SAMPLE_COUNT, |count| count.parse().unwrap());
    while tried < wanted {
        let (path, tag) = &structs[random.below(structs.len())];
        let old = std::fs::read_to_string(root.join(path)).unwrap();
        let order = match member_order(path, &old, tag) {
            Ok(order) if order.iter().filter(|name| *name != "?").count() < 3 => continue,
            Ok(order) => order,
            Err(refusal) => {
                tried += 1;
                *counts.entry(refusal.kind()).or_default() += 1;
                if std::env::var_os("RELAYOUT_VERBOSE").is_some() {
                    eprintln!("{refusal}");
                }
                continue;
            }
        };
        let named: Vec<&String> = order.iter().filter(|name| *name != "?").collect();
        let from = random.below(named.len());
        let to = random.below(named.len() + 1);
        let after = to.checked_sub(1).map(|index| named[index].clone());
        if after.as_deref() == Some(named[from]) || to == from {
            continue;
        }
        tried += 1;
        let member = named[from].clone();
        let change = |after: Option<String>| move_to(&member, after.as_deref());
        let new = match edit_struct(path, &old, tag, None, &[change(after.clone())]) {
            Ok(new) => new,
            Err(refusal) => {
                assert_ne!(refusal.kind(), "NotAsIntended", "{refusal}");
                *counts.entry(refusal.kind()).or_default() += 1;
                if std::env::var_os("RELAYOUT_VERBOSE").is_some() {
                    eprintln!("{refusal}");
                }
                continue;
            }
        };
        let title = format!("{path} {tag}: {member} after {after:?}");
        if new == old {
            eprintln!("{title}: it is there already");
            *counts.entry("NothingToDo".to_owned()).or_default() += 1;
            continue;
        }
        let sample = Sample {
            path,
            tag,
            old: &old,
            new: &new,
            title: &title,
        };
        let expect = expected_order(&order, &member, after.as_deref());
        returned += usize::from(sample.check(dir.path(), &change(after), &expect));
        *counts.entry("moved".to_owned()).or_default() += 1;
    }
    eprintln!("{tried} structs: {counts:?}; moved back to the same bytes: {returned}");
    assert!(counts["moved"] * 10 >= tried * 7, "{counts:?}");
}

#[test]
fn pcpu_chunk_gets_the_accepted_order() {
    let root = relayout_testkit::kernel_source();
    let path = "mm/percpu-internal.h";
    let old = std::fs::read_to_string(root.join(path)).unwrap();
    let changes = [
        move_to("bound_map", Some("chunk_md")),
        SourceChange::AlignMember {
            member: "base_addr".into(),
            alignment: WrittenAlignment::Macro("____cacheline_aligned_in_smp".into()),
            reason: Some(
                "Read by every allocation and free: keep it off the cache line of free_bytes and chunk_md, which they write."
                    .into(),
            ),
        },
    ];
    let new = edit_struct(path, &old, "pcpu_chunk", None, &changes).unwrap();
    let diff = unified_diff(path, &old, &new);
    eprintln!("{diff}");
    assert!(diff.contains("\n+#include <linux/cache.h>\n"));
    assert!(diff.contains("*base_addr ____cacheline_aligned_in_smp;"));
    let order = member_order(path, &new, "pcpu_chunk").unwrap();
    let at = |name: &str| order.iter().position(|member| member == name).unwrap();
    assert_eq!(at("bound_map") + 1, at("base_addr"));
}

/// Header, struct, member and the member before it: moves in the structs that are edited most.
const HOT_MOVES: [(&str, &str, &str, Option<&str>); 14] = [
    (
        "include/linux/mm_types.h",
        "mm_struct",
        "write_protect_seq",
        Some("mmap_lock"),
    ),
    (
        "include/linux/mm_types.h",
        "mm_struct",
        "mmap_lock",
        Some("mm_users"),
    ),
    (
        "include/linux/sched.h",
        "task_struct",
        "flags",
        Some("on_rq"),
    ),
    (
        "include/linux/sched.h",
        "task_struct",
        "wake_entry",
        Some("prio"),
    ),
    (
        "include/linux/dcache.h",
        "dentry",
        "d_lockref",
        Some("d_sb"),
    ),
    ("include/linux/fs.h", "inode", "i_lock", Some("i_rdev")),
    (
        "include/linux/fs.h",
        "super_block",
        "s_flags",
        Some("s_dev"),
    ),
    ("include/linux/fs.h", "file", "f_pos_lock", Some("f_path")),
    (
        "include/linux/osq_lock.h",
        "optimistic_spin_node",
        "cpu",
        None,
    ),
    ("include/linux/rwsem.h", "rw_semaphore", "wait_lock", None),
    (
        "include/linux/page_counter.h",
        "page_counter",
        "parent",
        None,
    ),
    ("include/linux/mmzone.h", "zone", "lock", Some("name")),
    ("include/net/sock.h", "sock", "sk_lock", Some("sk_drops")),
    ("kernel/sched/sched.h", "rq", "nr_running", Some("clock")),
];

#[test]
fn hot_structs_can_be_edited() {
    let root = relayout_testkit::kernel_source();
    for (path, tag, member, after) in HOT_MOVES {
        let old = std::fs::read_to_string(root.join(path)).unwrap();
        let change = move_to(member, after);
        let result = edit_struct(path, &old, tag, None, &[change]);
        match &result {
            Ok(new) => eprintln!("{}", unified_diff(path, &old, new)),
            Err(refusal) => eprintln!("{tag}: {refusal}"),
        }
        if let Err(refusal) = result {
            assert!(
                matches!(
                    refusal,
                    EditRefusal::ConditionalGroup { .. }
                        | EditRefusal::CrossesBorder { .. }
                        | EditRefusal::DefinedTwice { .. }
                ),
                "{refusal}"
            );
        }
    }
}

#[test]
fn user_space_abi_is_refused() {
    let root = relayout_testkit::kernel_source();
    let path = "include/uapi/linux/stat.h";
    let old = std::fs::read_to_string(root.join(path)).unwrap();
    let change = move_to("stx_mask", Some("stx_nlink"));
    let refusal = edit_struct(path, &old, "statx", None, &[change]).unwrap_err();
    assert!(matches!(refusal, EditRefusal::Uapi { .. }), "{refusal}");
}
