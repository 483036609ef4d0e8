//! `relayout/report/1`: the report for scripts. The structs here are the format; a change to a key
//! or its meaning needs a new version.

use std::collections::BTreeMap;

use relayout_contend::finding::{
    Adjacent, AdjacentPair, LinePairs, LinePlace, Member, Pair, RemoteRead, Side, SiteUse,
    Unresolved,
};
use relayout_contend::{Finding, Remedy, Source, Tally};
use relayout_profile::{Access, Meta, Run};
use serde::Serialize;

use crate::remedy;
use crate::text::Who;
use crate::{Placed, Production, Report};

/// The document's name and version.
pub const SCHEMA: &str = "relayout/report/1";

/// Renders `report` as indented JSON, ending in a line feed.
///
/// # Errors
/// Those of the serializer, which has none to give for these types.
pub fn render(report: &Report) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(&document(report))?;
    text.push('\n');
    Ok(text)
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    tool_version: &'a str,
    machine: Machine<'a>,
    workload: &'a str,
    settings: BTreeMap<&'a str, &'a str>,
    runs: Vec<RunDocument<'a>>,
    /// Transfers and upgrades are not counted, but expected from rates of samples.
    estimated: bool,
    /// Transfers that hardware told of; not among the others.
    hitm_observed: Option<u64>,
    transfers_total: u64,
    read_transfers: u64,
    write_transfers: u64,
    upgrades: u64,
    false_first_touch: u64,
    false_lifetime: u64,
    lines: u64,
    order_errors: Option<u64>,
    resolved_share: f64,
    unresolved: &'a BTreeMap<String, u64>,
    unresolved_classes: Vec<UnresolvedDocument<'a>>,
    line_pairs: LinePairsDocument,
    findings_total: usize,
    findings: Vec<FindingDocument<'a>>,
}

#[derive(Serialize)]
struct Machine<'a> {
    arch: &'a str,
    target: &'a str,
    release: &'a str,
    build_id: &'a str,
    collector: &'a str,
    contexts: u16,
    line_bytes: u32,
    values_seen: bool,
}

#[derive(Serialize)]
struct RunDocument<'a> {
    seed: u64,
    complete: bool,
    ended: &'a str,
    window_wall_ns: u64,
    window_cpu_ns: u64,
    accesses: u64,
    operations: u64,
    bursts_dropped: u64,
}

#[derive(Serialize)]
struct FindingDocument<'a> {
    rank: u32,
    kind: &'static str,
    #[serde(rename = "type")]
    type_name: &'a str,
    variable: Option<&'a str>,
    types_path: &'a [String],
    line_offset: i64,
    places: Vec<PlaceDocument>,
    estimated: bool,
    hitm_observed: Option<u64>,
    transfers: u64,
    read_transfers: u64,
    write_transfers: u64,
    upgrades: u64,
    false_first_touch: u64,
    false_lifetime: u64,
    share: f64,
    objects: u64,
    contexts: u32,
    stability: Option<f64>,
    members: Vec<MemberDocument<'a>>,
    sites: Vec<SiteDocument<'a>>,
    pairs: Vec<PairDocument<'a>>,
    adjacent: Option<AdjacentDocument<'a>>,
    remote_reads: Vec<RemoteReadDocument<'a>>,
    /// It is another kind of finding in some runs: no advice then.
    unstable: bool,
    kinds_by_run: BTreeMap<&'static str, u32>,
    advice: Vec<AdviceDocument>,
    neighbours: &'a BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    allocated: &'a BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    production: Option<ProductionDocument<'a>>,
}

#[derive(Serialize)]
struct PlaceDocument {
    line_offset: i64,
    transfers: u64,
    objects: u64,
}

#[derive(Serialize)]
struct ProductionDocument<'a> {
    same_line: &'a [String],
    other_line: &'a [String],
    unknown: &'a [String],
}

#[derive(Serialize)]
struct LinePairsDocument {
    recorded: bool,
    coefficient: Option<f64>,
    candidates: u64,
    samples: u64,
    pair_transfers_estimated: u64,
}

#[derive(Serialize)]
struct AdjacentDocument<'a> {
    samples: u64,
    pair_transfers_estimated: u64,
    interval: [u64; 2],
    coefficient: f64,
    cost_transfers_estimated: f64,
    pairs: Vec<AdjacentPairDocument<'a>>,
}

#[derive(Serialize)]
struct AdjacentPairDocument<'a> {
    samples: u64,
    pair_transfers_estimated: u64,
    here: SideDocument<'a>,
    there: SideDocument<'a>,
}

#[derive(Serialize)]
struct RemoteReadDocument<'a> {
    member: &'a str,
    transfers: u64,
    /// Those that bring what was stored to it.
    needed: u64,
}

#[derive(Serialize)]
struct AdviceDocument {
    action: &'static str,
    words: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    replayed: Option<ReplayedDocument>,
}

#[derive(Serialize)]
struct ReplayedDocument {
    transfers_today: u64,
    transfers_changed: u64,
    /// With the member on a line of its own beside.
    #[serde(skip_serializing_if = "Option::is_none")]
    transfers_own_line: Option<u64>,
    /// With both.
    #[serde(skip_serializing_if = "Option::is_none")]
    transfers_changed_own_line: Option<u64>,
}

#[derive(Serialize)]
struct MemberDocument<'a> {
    name: &'a str,
    offset: i64,
    size: u64,
    reads: u64,
    writes: u64,
    silent_writes: Option<u64>,
    contexts: u32,
    writers: u32,
    transfers: u64,
}

#[derive(Serialize)]
struct SiteDocument<'a> {
    function: Option<&'a str>,
    inlined: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
    access: &'static str,
    count: u64,
    transfers: u64,
    caused: u64,
}

#[derive(Serialize)]
struct PairDocument<'a> {
    transfers: u64,
    upgrades: u64,
    false_first_touch: u64,
    false_lifetime: u64,
    here: SideDocument<'a>,
    there: SideDocument<'a>,
}

#[derive(Serialize)]
struct SideDocument<'a> {
    member: &'a str,
    access: &'static str,
    function: Option<&'a str>,
    inlined: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
}

#[derive(Serialize)]
struct UnresolvedDocument<'a> {
    class: &'a str,
    transfers: u64,
    upgrades: u64,
    share: f64,
    lines: u64,
    sites: Vec<SiteDocument<'a>>,
}

fn document<'a>(report: &Report<'a>) -> Document<'a> {
    let Report {
        meta,
        findings,
        selection,
        production,
    } = *report;
    let totals = &findings.totals;
    let Tally {
        read_transfers,
        write_transfers,
        upgrades,
        false_first_touch,
        false_lifetime,
    } = totals.tally;
    Document {
        schema: SCHEMA,
        tool_version: &meta.tool_version,
        machine: machine(meta),
        workload: &meta.workload,
        settings: meta
            .settings
            .iter()
            .map(|s| (s.name.as_str(), s.value.as_str()))
            .collect(),
        runs: meta.runs.iter().map(run).collect(),
        estimated: findings.estimated,
        hitm_observed: totals.hitm,
        transfers_total: totals.tally.transfers(),
        read_transfers,
        write_transfers,
        upgrades,
        false_first_touch,
        false_lifetime,
        lines: totals.lines,
        order_errors: totals.order_errors,
        resolved_share: totals.resolved_share(),
        unresolved: &totals.unresolved,
        unresolved_classes: findings.unresolved.iter().map(unresolved).collect(),
        line_pairs: line_pairs(&findings.line_pairs),
        findings_total: findings.findings.len(),
        findings: selection
            .pick(findings)
            .0
            .into_iter()
            .map(|one| finding(one, meta, production))
            .collect(),
    }
}

fn machine(meta: &Meta) -> Machine<'_> {
    Machine {
        arch: &meta.machine,
        target: &meta.target,
        release: &meta.release,
        build_id: &meta.build_id,
        collector: &meta.collector,
        contexts: meta.contexts,
        line_bytes: meta.line_bytes,
        values_seen: meta.values_seen,
    }
}

fn run(run: &Run) -> RunDocument<'_> {
    RunDocument {
        seed: run.seed,
        complete: run.complete,
        ended: &run.ended,
        window_wall_ns: run.window_wall_ns,
        window_cpu_ns: run.window_cpu_ns,
        accesses: run.accesses,
        operations: run.operations,
        bursts_dropped: run.bursts_dropped,
    }
}

fn finding<'a>(
    finding: &'a Finding,
    meta: &Meta,
    production: Option<&'a Production>,
) -> FindingDocument<'a> {
    let Tally {
        read_transfers,
        write_transfers,
        upgrades,
        false_first_touch,
        false_lifetime,
    } = finding.tally;
    FindingDocument {
        rank: finding.rank,
        kind: finding.kind.as_str(),
        type_name: finding.subject.type_name(),
        variable: finding.subject.variable(),
        types_path: &finding.types_path,
        line_offset: finding.line_offset,
        places: finding.places.iter().map(place).collect(),
        estimated: finding.estimated,
        hitm_observed: finding.hitm,
        transfers: finding.tally.transfers(),
        read_transfers,
        write_transfers,
        upgrades,
        false_first_touch,
        false_lifetime,
        share: finding.share,
        objects: finding.objects,
        contexts: finding.contexts,
        stability: finding.stability,
        members: finding.members.iter().map(member).collect(),
        sites: finding.sites.iter().map(site).collect(),
        pairs: finding.pairs.iter().map(pair).collect(),
        adjacent: finding.adjacent.as_ref().map(adjacent),
        remote_reads: finding.remote_reads.iter().map(remote_read).collect(),
        unstable: finding.is_unstable(),
        kinds_by_run: finding
            .kinds_by_run
            .iter()
            .map(|(kind, runs)| (kind.as_str(), *runs))
            .collect(),
        advice: finding
            .remedies
            .iter()
            .map(|one| advice(one, meta))
            .collect(),
        neighbours: &finding.neighbours,
        allocated: &finding.origins,
        production: production.and_then(|all| all.get(finding.rank)).map(placed),
    }
}

fn place(place: &LinePlace) -> PlaceDocument {
    PlaceDocument {
        line_offset: place.line_offset,
        transfers: place.transfers,
        objects: place.objects,
    }
}

fn placed(placed: &Placed) -> ProductionDocument<'_> {
    ProductionDocument {
        same_line: &placed.same_line,
        other_line: &placed.other_line,
        unknown: &placed.unknown,
    }
}

fn line_pairs(pairs: &LinePairs) -> LinePairsDocument {
    LinePairsDocument {
        recorded: pairs.recorded,
        coefficient: pairs.coefficient,
        candidates: pairs.candidates,
        samples: pairs.samples,
        pair_transfers_estimated: pairs.pair_transfers,
    }
}

fn adjacent(adjacent: &Adjacent) -> AdjacentDocument<'_> {
    AdjacentDocument {
        samples: adjacent.samples,
        pair_transfers_estimated: adjacent.pair_transfers,
        interval: adjacent.interval,
        coefficient: adjacent.coefficient,
        cost_transfers_estimated: adjacent.cost_transfers,
        pairs: adjacent.pairs.iter().map(adjacent_pair).collect(),
    }
}

fn adjacent_pair(pair: &AdjacentPair) -> AdjacentPairDocument<'_> {
    AdjacentPairDocument {
        samples: pair.samples,
        pair_transfers_estimated: pair.pair_transfers,
        here: side(&pair.here),
        there: side(&pair.there),
    }
}

fn remote_read(read: &RemoteRead) -> RemoteReadDocument<'_> {
    RemoteReadDocument {
        member: &read.member,
        transfers: read.transfers,
        needed: read.needed,
    }
}

fn advice(remedy: &Remedy, meta: &Meta) -> AdviceDocument {
    let own_line = remedy::own_line(remedy);
    let replayed = remedy::replayed(remedy).map(|replayed| ReplayedDocument {
        transfers_today: replayed.today,
        transfers_changed: replayed.changed,
        transfers_own_line: own_line.map(|own| own.stored),
        transfers_changed_own_line: own_line.map(|own| own.checked),
    });
    AdviceDocument {
        action: remedy::action(remedy),
        words: remedy::words(remedy, Who::of(meta).one(), position),
        replayed,
    }
}

/// `osq_lock, kernel/locking/osq_lock.c:97`
fn position(source: &Source) -> String {
    let function = source.function.as_deref().unwrap_or("?");
    match (&source.file, source.line) {
        (Some(file), Some(line)) => format!("{function}, {file}:{line}"),
        (Some(file), None) => format!("{function}, {file}"),
        (None, _) => function.to_owned(),
    }
}

fn member(member: &Member) -> MemberDocument<'_> {
    MemberDocument {
        name: &member.name,
        offset: member.offset,
        size: member.size,
        reads: member.reads,
        writes: member.writes,
        silent_writes: member.silent_writes,
        contexts: member.contexts,
        writers: member.writers,
        transfers: member.transfers,
    }
}

fn site(site: &SiteUse) -> SiteDocument<'_> {
    SiteDocument {
        function: site.source.function.as_deref(),
        inlined: site.source.inlined.as_deref(),
        file: site.source.file.as_deref(),
        line: site.source.line,
        access: access(site.access),
        count: site.count,
        transfers: site.transfers,
        caused: site.caused,
    }
}

fn pair(pair: &Pair) -> PairDocument<'_> {
    PairDocument {
        transfers: pair.tally.transfers(),
        upgrades: pair.tally.upgrades,
        false_first_touch: pair.tally.false_first_touch,
        false_lifetime: pair.tally.false_lifetime,
        here: side(&pair.here),
        there: side(&pair.there),
    }
}

fn side(side: &Side) -> SideDocument<'_> {
    SideDocument {
        member: &side.member,
        access: access(side.access),
        function: side.source.function.as_deref(),
        inlined: side.source.inlined.as_deref(),
        file: side.source.file.as_deref(),
        line: side.source.line,
    }
}

fn unresolved(class: &Unresolved) -> UnresolvedDocument<'_> {
    UnresolvedDocument {
        class: &class.class,
        transfers: class.tally.transfers(),
        upgrades: class.tally.upgrades,
        share: class.share,
        lines: class.lines,
        sites: class.sites.iter().map(site).collect(),
    }
}

fn access(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::ReadWrite => "read-write",
    }
}
