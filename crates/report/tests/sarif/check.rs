//! A check's outcome as SARIF.

use std::path::Path;

use relayout_check::{
    CheckOutcome, CheckWarning, ConfigPosition, Date, MemberChangeKind, PushingChange, RuleId,
    SeenMember, Violation, WaivedViolation,
};
use relayout_layout::{MemberSpan, SourceLine};
use relayout_report::documents::check::check_document;
use relayout_report::exports::sarif::{self, SarifContext};
use serde_json::Value;

use super::check_log;

fn test_violation(member: &str, rule: RuleId, decl: Option<(&str, u32)>) -> Violation {
    Violation {
        rule_type: "mm_struct".to_owned(),
        type_name: "mm_struct".into(),
        member: member.into(),
        rule,
        expected: "on one line with mmap_lock.count".into(),
        found: "mmap_lock.count at 120 on line 1, mmap_lock.owner at 128 on line 2".into(),
        members: vec![SeenMember {
            span: MemberSpan {
                path: "mmap_lock.owner".into(),
                offset: 128,
                size: 8,
            },
            line: 2,
        }],
        pushed_by: vec![PushingChange {
            member: "write_protect_seq".into(),
            kind: MemberChangeKind::Added { size_bits: 32 },
            bits: 64,
        }],
        between: Vec::new(),
        decl: decl.map(|(file, line)| SourceLine {
            file: file.into(),
            line,
        }),
        reason: Some("both are written by every page fault".into()),
        file: "vmlinux".into(),
        configurations: vec!["rt".into()],
        at: ConfigPosition { line: 4, column: 1 },
        expired: None,
    }
}

fn test_outcome() -> CheckOutcome {
    let declared = Some(("/build/linux/include/linux/mm types.h", 597));
    CheckOutcome {
        checked: 3,
        violations: vec![
            test_violation("mmap_lock.owner", RuleId::SameLine, declared),
            test_violation("", RuleId::SizeMax, Some(("/usr/include/mm.h", 0))),
        ],
        waived: vec![WaivedViolation {
            violation: test_violation("mmap_lock.owner", RuleId::SameLine, None),
            reason: "until the rework lands".into(),
            expires: Date::new(2027, 1, 31).unwrap(),
            at: ConfigPosition { line: 9, column: 1 },
        }],
        warnings: vec![CheckWarning {
            at: Some(ConfigPosition {
                line: 12,
                column: 1,
            }),
            message: "the waiver for x matches no violation; take it out".into(),
        }],
    }
}

fn render_log(source_root: &str) -> Value {
    let roots = [source_root.to_owned(), "/home/me/linux".to_owned()];
    let context = SarifContext {
        version: "0.1.0",
        information_uri: "https://example.org/relayout",
        source_roots: &roots,
    };
    let config = Path::new("/home/me/linux/relayout.toml");
    let text = sarif::render_check(&check_document(&test_outcome(), config), &context).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn results() {
    let log = render_log("/build/linux/");
    assert_eq!(log["version"], "2.1.0");
    let run = serde_json::json!({
        "results": log["runs"][0]["results"],
        "invocations": log["runs"][0]["invocations"],
        "a rule": log["runs"][0]["tool"]["driver"]["rules"][0],
    });
    insta::assert_snapshot!(serde_json::to_string_pretty(&run).unwrap());
}

#[test]
fn code_scanning_takes_the_log() {
    let log = render_log("/elsewhere");
    check_log(&log);
    let rules = log["runs"][0]["tool"]["driver"]["rules"]
        .as_array()
        .unwrap();
    assert_eq!(rules.len(), RuleId::all().count());
    for rule in rules {
        let markdown = rule["help"]["markdown"].as_str().unwrap();
        assert!(markdown.contains("`relayout.toml`"), "{markdown}");
    }
}

#[test]
fn a_fingerprint_is_of_the_assertion_and_not_of_the_place() {
    let print = |log: &Value, index: usize| {
        log["runs"][0]["results"][index]["partialFingerprints"]["relayout/v1"].clone()
    };
    let (here, there) = (render_log("/build/linux"), render_log("/elsewhere"));
    assert_eq!(print(&here, 0), print(&there, 0));
    assert_eq!(print(&here, 0), print(&here, 2));
    assert_ne!(print(&here, 0), print(&here, 1));
}
