//! The report of a small profile: text and JSON.

use relayout_contend::{
    AccessTarget, AddressNamer, FindSettings, Findings, SiteSource, find, find_with,
};
use relayout_profile::{
    Addr, ContextId, LeftOutReader, PairRow, Profile, RangeKind, RangeRow, RunId, SiteId,
};
use relayout_report::{FindingSelection, ReportContents, documents, text};

use crate::common::{CHUNK, Kernel, READ, STACK, WRITE, profile, rendered, rendered_of};

#[test]
fn text_of_all() {
    insta::assert_snapshot!(rendered(&FindingSelection::default(), text::report::render));
}

/// The stack is in vmalloc space, so a reader of slabs would not have named it.
#[test]
fn readers_that_were_left_out_are_told_of_with_their_cost() {
    let mut profile = profile();
    let reader = |name: &str, area| LeftOutReader {
        reader: name.into(),
        missing: format!("member '{name}.next'"),
        areas: vec![area],
    };
    profile.meta.left_out_readers = vec![
        reader("stacks", RangeKind::Vmalloc),
        reader("slabs", RangeKind::DirectMap),
    ];
    let area = |kind, start| RangeRow {
        run: RunId(0),
        kind,
        start: Addr(start),
        bytes: 1 << 12,
        owner: String::new(),
        id: 0,
        first: Addr(start),
        stride: 0,
        object_bytes: 0,
    };
    profile.ranges = vec![
        area(RangeKind::Vmalloc, STACK & !0xfff),
        area(RangeKind::DirectMap, CHUNK & !0xfff),
    ];
    let all = FindingSelection::default();
    let text = rendered_of(&profile, &all, text::report::render);
    for line in [
        "  not read   stacks: member 'stacks.next' is missing; at most 3.1% of transfers have no \
         name for it\n",
        "  not read   slabs: member 'slabs.next' is missing; at most 0.0% of transfers have no \
         name for it\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let document = rendered_of(&profile, &all, |report| {
        documents::report::render(report).unwrap()
    });
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let stacks = &document["left_out_readers"][0];
    assert_eq!(stacks["missing"], "member 'stacks.next'");
    assert_eq!(stacks["transfers"], 150);
    assert_eq!(stacks["share"], document["unresolved_classes"][0]["share"]);
    assert_eq!(document["left_out_readers"][1]["transfers"], 0);
}

/// The kernel, but the types of chunks were elected by evidence that hardly agrees.
struct UncertainKernel;

impl AddressNamer for UncertainKernel {
    fn target_at(&self, run: RunId, addr: Addr, size: u8) -> AccessTarget {
        match Kernel.target_at(run, addr, size) {
            AccessTarget::Member { mut object, member } => {
                object.type_percent = if object.base == Addr(CHUNK) { 62 } else { 100 };
                AccessTarget::Member { object, member }
            }
            other => other,
        }
    }

    fn source_of_site(&self, site: SiteId) -> SiteSource {
        Kernel.source_of_site(site)
    }
}

#[test]
fn uncertain_types_are_marked() {
    let profile = profile();
    let contents = |findings: &Findings, render: fn(&ReportContents, usize) -> String, width| {
        let selection = &FindingSelection::default();
        let report = ReportContents {
            profile: "out.relayout",
            meta: &profile.meta,
            findings,
            selection,
            production: None,
            judgements: None,
            sources: &[],
            layouts: &[],
            freed: &[],
        };
        render(&report, width)
    };
    let uncertain = find(&profile, &UncertainKernel);
    for width in [100, 160] {
        let text = contents(&uncertain, text::report::render_within, width);
        let in_table = text
            .lines()
            .find(|line| line.trim_start().starts_with("1 "));
        assert!(
            in_table.unwrap().ends_with("pcpu_chunk +0, 62% sure"),
            "{text}"
        );
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let sentence = "The type of 2 of 2 objects was elected by evidence that hardly agrees, with a \
                        confidence from 62% (below 75%): see --explain 1.";
        assert!(words.contains(sentence), "{text}");
        assert_eq!(text.matches("sure").count(), 2, "{text}");
        let certain = contents(&find(&profile, &Kernel), text::report::render_within, width);
        assert!(!certain.contains("sure"), "{certain}");
    }
    let document = contents(
        &uncertain,
        |report, _| documents::report::render(report).unwrap(),
        0,
    );
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["findings"][0]["uncertain_objects"], 2);
    assert_eq!(document["findings"][0]["type_confidence_percent"], 62);
}

#[test]
fn older_profiles_do_not_tell_first_reads() {
    let mut old = profile();
    old.lines.iter_mut().for_each(|row| row.first_reads = None);
    let conflicts = old.conflicts.iter_mut();
    conflicts.for_each(|row| row.first_reads = None);
    let all = FindingSelection::default();
    let text = rendered_of(&old, &all, text::report::render);
    for said in [
        "4894 (4580 reads, 314 writes) and 900 upgrades",
        "80.6%     -     -    2%",
        "This profile does not tell first reads from later ones.",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let document = rendered_of(&old, &all, |report| {
        documents::report::render(report).unwrap()
    });
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let finding = &document["findings"][0];
    for part in [&document, finding] {
        assert!(part["first_reads"].is_null() && part["later_reads"].is_null());
    }
    assert_eq!(finding["read_transfers"], 3880);
    assert_eq!(finding["transfers"], 3944);
}

#[test]
fn json_of_one_type() {
    let selection = FindingSelection {
        type_name: Some("struct pcpu_chunk".into()),
        ..Default::default()
    };
    insta::assert_snapshot!(rendered(&selection, |report| documents::report::render(
        report
    )
    .unwrap()));
}

#[test]
fn selections() {
    let profile = profile();
    let findings = find(&profile, &Kernel);
    let assert_selected = |selection: FindingSelection, ranks: &[u32], passed: usize| {
        let (picked, selected_count) = selection.select_findings(&findings);
        assert_eq!(
            picked
                .iter()
                .map(|finding| finding.rank)
                .collect::<Vec<_>>(),
            ranks
        );
        assert_eq!(selected_count, passed);
    };
    assert_selected(FindingSelection::default(), &[1, 2, 3], 3);
    assert_selected(
        FindingSelection {
            top: 1,
            ..Default::default()
        },
        &[1],
        3,
    );
    assert_selected(
        FindingSelection {
            share_min: 0.1,
            ..Default::default()
        },
        &[1, 2],
        2,
    );
    let named = |name: &str| FindingSelection {
        type_name: Some(name.into()),
        ..Default::default()
    };
    assert_selected(named("osq_node"), &[2], 1);
    assert_selected(named("optimistic_spin_node"), &[2], 1);
    assert_selected(named("pcpu_block_md"), &[], 0);
}

#[test]
fn text_of_nothing() {
    let (profile, selection) = (Profile::default(), FindingSelection::default());
    let findings = Findings::default();
    let report = ReportContents {
        profile: "out.relayout",
        meta: &profile.meta,
        findings: &findings,
        selection: &selection,
        production: None,
        judgements: None,
        sources: &[],
        layouts: &[],
        freed: &[],
    };
    insta::assert_snapshot!(text::report::render(&report));
}

/// Of an object whose `bound_map`, on its second line, is stored to while others read `base_addr`.
fn adjacent(pair_coefficient: Option<f64>, render: impl Fn(&ReportContents) -> String) -> String {
    let pair = |context, samples| PairRow {
        run: RunId(0),
        context,
        addr: Addr(CHUNK + 56),
        size: 8,
        site: SiteId(0),
        access: READ,
        other_context: ContextId(0),
        other_addr: Addr(CHUNK + 64),
        other_size: 8,
        other_site: SiteId(1),
        other_access: WRITE,
        samples,
    };
    let mut profile = Profile {
        pairs: vec![pair(ContextId(1), 30), pair(ContextId(2), 34)],
        ..profile()
    };
    profile.conflicts.truncate(1);
    profile.counts.clear();
    for run in &mut profile.meta.runs {
        run.pair_period = Some(1024);
    }
    let findings = find_with(&profile, &Kernel, &FindSettings { pair_coefficient });
    render(&ReportContents {
        profile: "out.relayout",
        production: None,
        judgements: None,
        sources: &[],
        layouts: &[],
        freed: &[],
        meta: &profile.meta,
        findings: &findings,
        selection: &FindingSelection::default(),
    })
}

#[test]
fn text_of_adjacent_lines() {
    insta::assert_snapshot!(adjacent(Some(0.25), text::report::render));
}

#[test]
fn adjacent_lines_that_may_be_are_told_of() {
    let assert_told = |coefficient, why: &str| {
        let text = adjacent(coefficient, text::report::render);
        let place = text.find("Adjacent lines: possible, not measurable here: 1 pair of lines");
        let told = &text[place.expect("the line")..];
        assert!(told.contains("(65536 pair transfers, estimated)"), "{told}");
        assert!(told.contains(why), "{told}");
        assert!(!text.contains("adjacent-line"), "{text}");
    };
    assert_told(None, "not known: `relayout probe`, or --pair-coefficient");
    assert_told(Some(0.0), "is 0, so they cost nothing here");
}

#[test]
fn adjacent_lines_are_in_no_sum() {
    let json = |coefficient| {
        let text = adjacent(coefficient, |report| {
            documents::report::render(report).unwrap()
        });
        serde_json::from_str::<serde_json::Value>(&text).expect("JSON")
    };
    let (with, without) = (json(Some(0.25)), json(None));
    for sum in ["transfers_total", "resolved_share", "unresolved", "lines"] {
        assert_eq!(with[sum], without[sum]);
    }
    let finding = &with["findings"][0];
    assert_eq!(finding["kind"], "adjacent-line");
    assert_eq!(
        (&finding["transfers"], &finding["share"]),
        (&0.into(), &0.0.into())
    );
    assert_eq!(finding["adjacent"]["cost_transfers_estimated"], 16384.0);
    assert_eq!(with["line_pairs"]["candidates"], 1);
}
