//! A check's outcome as SARIF.

use relayout_check::{
    CheckOutcome, CheckWarning, ConfigPosition, Date, MemberChangeKind, PushingChange, RuleId,
    SeenMember, Violation, WaivedViolation,
};
use relayout_layout::SourceLine;
use relayout_report::sarif::{self, SarifContext};
use serde_json::Value;

fn test_violation(member: &str, rule: RuleId, decl: Option<(&str, u32)>) -> Violation {
    Violation {
        type_name: "mm_struct".into(),
        member: member.into(),
        rule,
        expected: "on one line with mmap_lock.count".into(),
        found: "mmap_lock.count at 120 on line 1, mmap_lock.owner at 128 on line 2".into(),
        members: vec![SeenMember {
            path: "mmap_lock.owner".into(),
            offset: 128,
            bytes: 8,
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
    let text =
        sarif::render_check(&test_outcome(), "/home/me/linux/relayout.toml", &context).unwrap();
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
fn every_result_refers_to_its_rule() {
    let log = render_log("/elsewhere");
    let run = &log["runs"][0];
    for result in run["results"].as_array().unwrap() {
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(
            run["tool"]["driver"]["rules"][index]["id"],
            result["ruleId"]
        );
    }
}

/// Properties of rules that GitHub's code scanning requires or shows, by "SARIF support for code
/// scanning", and those that the validator of SARIF asks for (SARIF2012, GH2012).
#[test]
fn every_rule_has_the_properties_that_code_scanning_needs() {
    let log = render_log("/elsewhere");
    let driver = &log["runs"][0]["tool"]["driver"];
    assert_eq!(
        (&driver["name"], &driver["version"]),
        (&"relayout".into(), &"0.1.0".into())
    );
    assert_eq!(driver["informationUri"], "https://example.org/relayout");
    let rules = driver["rules"].as_array().unwrap();
    assert_eq!(rules.len(), RuleId::all().count());
    let text = |rule: &Value, key: &str| rule[key]["text"].as_str().unwrap_or_default().to_owned();
    for rule in rules {
        let id = rule["id"].as_str().unwrap();
        let name = rule["name"].as_str().unwrap();
        assert!(
            name.chars().all(char::is_alphanumeric) && name.starts_with(char::is_uppercase),
            "{name}"
        );
        assert_ne!(name, id, "SARIF2.1.0 3.49.7: the name differs from the id");
        let (short, full) = (
            text(rule, "shortDescription"),
            text(rule, "fullDescription"),
        );
        for (key, most) in [
            ("shortDescription", 1024),
            ("fullDescription", 1024),
            ("help", 1024),
        ] {
            let sentences = text(rule, key);
            assert!(
                sentences.ends_with('.') && sentences.len() <= most,
                "{id} {key}: {sentences}"
            );
        }
        assert!(full.starts_with(&short) && full.len() > short.len(), "{id}");
        assert!(
            rule["help"]["markdown"]
                .as_str()
                .unwrap()
                .contains("`relayout.toml`"),
            "{id}"
        );
        let level = rule["defaultConfiguration"]["level"].as_str().unwrap();
        assert!(["note", "warning", "error"].contains(&level));
        let properties = &rule["properties"];
        assert!(
            properties["tags"]
                .as_array()
                .unwrap()
                .iter()
                .all(Value::is_string)
        );
        let precision = properties["precision"].as_str().unwrap();
        assert!(["very-high", "high", "medium", "low"].contains(&precision));
        let severity = properties["problem.severity"].as_str().unwrap();
        assert!(["error", "warning", "recommendation"].contains(&severity));
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
