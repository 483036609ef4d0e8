//! Findings of a profile as SARIF.

use relayout_contend::{
    AccessTarget, AddressNamer, FindingSubject, Findings, SiteSource, TargetObject, find,
};
use relayout_layout::{MemberAt, SourceLine};
use relayout_profile::{
    AccessKind, Addr, CoherenceEvent, ConflictRow, ContextId, Profile, ProfileMeta, RunId, Site,
    SiteId,
};
use relayout_report::exports::sarif::{SarifContext, render_findings};
use relayout_report::{FindingSelection, ReportContents};
use relayout_session::MemberDeclarations;
use serde_json::Value;

use super::check_log;

const HOT: u64 = 0x1000;
const NAMELESS: u64 = 0x2000;
const LINK: &str = "[docs](https://example.org)";

/// Names of a program with a variable of type `hot`, and one whose code has no debug information.
struct Program;

impl AddressNamer for Program {
    fn target_at(&self, _: RunId, addr: Addr, _: u8) -> AccessTarget {
        let (base, type_name) = match addr.0 {
            NAMELESS.. => (NAMELESS, LINK),
            _ => (HOT, "hot"),
        };
        let offset = addr.0 - base;
        AccessTarget::Member {
            object: TargetObject {
                base: Addr(base),
                bytes: 64,
                variable: None,
                declaring: None,
                origin: None,
                array: None,
                type_percent: 100,
                rival_type: None,
            },
            member: MemberAt {
                path: ["first", "second"][(offset / 8) as usize].to_owned(),
                types_path: vec![type_name.to_owned()],
                offset,
                size: 8,
                ..MemberAt::default()
            },
        }
    }

    fn source_of_site(&self, site: SiteId) -> SiteSource {
        let line = [Some(7), Some(9), None][site.index()];
        SiteSource {
            function: Some("work".to_owned()),
            inlined: None,
            file: line.map(|_| "/src/lib/work list.c".to_owned()),
            line,
        }
    }
}

/// Returns a store to `here` that misses `count` times after stores to `there`.
fn conflict(here: (u64, u32), there: (u64, u32), count: u64) -> ConflictRow {
    ConflictRow {
        run: RunId(0),
        transfer: CoherenceEvent::Write,
        context: ContextId(0),
        addr: Addr(here.0),
        size: 8,
        site: SiteId(here.1),
        access: AccessKind::Write,
        other_context: ContextId(1),
        other_addr: Addr(there.0),
        other_size: 8,
        other_site: SiteId(there.1),
        other_access: AccessKind::Write,
        count,
        first_reads: Some(0),
        false_first_touch: count,
        false_lifetime: count,
    }
}

fn found() -> Findings {
    let profile = Profile {
        meta: ProfileMeta {
            line_bytes: 64,
            contexts: 2,
            ..ProfileMeta::default()
        },
        sites: (0..3)
            .map(|pc| Site {
                pc,
                bytes: vec![0x89],
            })
            .collect(),
        conflicts: vec![
            conflict((HOT, 0), (HOT + 8, 1), 30),
            conflict((HOT + 8, 1), (HOT, 0), 10),
            conflict((NAMELESS, 2), (NAMELESS + 8, 2), 4),
        ],
        ..Profile::default()
    };
    find(&profile, &Program)
}

fn declared_at(offset: i64, line: u32) -> ((FindingSubject, i64), SourceLine) {
    let subject = FindingSubject::Type { name: "hot".into() };
    let file = "/src/include/hot.h".into();
    ((subject, offset), SourceLine { file, line })
}

fn render_log(declarations: &MemberDeclarations, source_roots: &[String]) -> Value {
    let report = ReportContents {
        profile: "out.relayout",
        meta: &ProfileMeta::default(),
        findings: &found(),
        selection: &FindingSelection::default(),
        production: None,
        judgements: None,
        sources: &[],
        layouts: &[],
        freed: &[],
    };
    let context = SarifContext {
        version: "0.1.0",
        information_uri: "https://example.org/relayout",
        source_roots,
    };
    let text = render_findings(&report, declarations, &context).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_result_lies_where_the_member_is_declared() {
    let declarations = [declared_at(0, 3), declared_at(8, 4)].into_iter().collect();
    let log = render_log(&declarations, &["/src/".to_owned()]);
    check_log(&log);
    let run = serde_json::json!({
        "results": log["runs"][0]["results"],
        "invocations": log["runs"][0]["invocations"],
        "a rule": log["runs"][0]["tool"]["driver"]["rules"][0],
    });
    insta::assert_snapshot!(serde_json::to_string_pretty(&run).unwrap());
}

#[test]
fn without_declarations_a_result_lies_at_the_access() {
    let log = render_log(&MemberDeclarations::default(), &[]);
    check_log(&log);
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 1, "the other finding has no source");
    let location = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"]["uri"], "work%20list.c");
    assert_eq!(location["region"]["startLine"], 7);
}

#[test]
fn a_name_is_no_link() {
    let subject = FindingSubject::Type { name: LINK.into() };
    let line = SourceLine {
        file: "a.h".into(),
        line: 1,
    };
    let declarations = [((subject, 0), line)].into_iter().collect();
    let log = render_log(&declarations, &[]);
    check_log(&log);
    let message = log["runs"][0]["results"][1]["message"]["text"].as_str();
    let message = message.unwrap();
    assert!(message.starts_with(r"\[docs\](https:"), "{message}");
}
