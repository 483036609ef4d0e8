//! What a layout can save of each type: one judgement, which `advise` and `report` share.
//!
//! A search of layouts takes seconds, so its conclusion is kept in the user's cache. The key names
//! the profile, the debug files and the code that judged; the profile itself is never written.
//! `advise` keeps what it found with all of its effort. `report --by saving` searches the types of
//! its findings with less. `report` alone searches nothing, and shows what is kept.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use relayout_contend::{Finding, Findings, strip_type_tag};
use relayout_files::{CachedFiles, file_identity, fnv1a};
use relayout_layout::TypeArena;
use relayout_profile::parquet::META_FILE;
use relayout_search::AdviceVerdict;
use serde::{Deserialize, Serialize};

use crate::ResolvedProfile;
use crate::advise::{AdviceRequest, AdviceRun, InnerType, PatchedType, inner_types, judge_quickly};
use crate::resolution_cache::allocators_by_user;

/// Types that `report --by saving` searches at most.
const TYPES_SEARCHED_MAX: usize = 12;
/// Parts that a change is rounded to.
const MILLION: f64 = 1e6;
/// Version of the kept files.
const FORMAT: u32 = 2;

/// Conclusion of a search of a type's layouts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TypeJudgement {
    /// Change of the transfers on the type with the recommended layout: -0.33; `None` if none is
    /// recommended.
    pub change: Option<f64>,
    /// Members that it moves.
    pub moved: usize,
    /// Reason why no layout is recommended; empty if one is.
    pub reason: String,
    /// True if the search had all of its effort.
    pub is_thorough: bool,
    /// Structs in it that have an order of their own to look for, if no order of its members helps.
    pub inner: Vec<InnerType>,
}

/// Judgements by the name of the type, without tag.
pub type TypeJudgements = BTreeMap<String, TypeJudgement>;

/// What a layout can save of a finding's type.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingSaving {
    /// Name of the type whose layout it is, without tag.
    pub type_name: String,
    /// Transfers that the layout saves, of all findings of the type.
    pub transfers: f64,
    /// The same as a fraction of all transfers of the profile.
    pub share: f64,
    /// Change of the transfers on the type: -0.33.
    pub change: f64,
    /// Members that the layout moves.
    pub moved: usize,
}

/// Returns the name by which a finding's type is judged first; `None` for what has no members to move.
pub fn judged_type_name(finding: &Finding) -> Option<&str> {
    let name = strip_type_tag(finding.subject.type_name());
    (!name.is_empty() && finding.members.iter().any(|member| member.name != name)).then_some(name)
}

/// Returns the type whose layout decides about a finding, without tag: the finding's own; or, if no
/// order of its members helps, the struct in it that has the finding's member with most transfers.
pub fn deciding_type<'f>(finding: &'f Finding, judgements: &'f TypeJudgements) -> Option<&'f str> {
    let name = judged_type_name(finding)?;
    let inner = judgements.get(name).map_or(&[][..], |found| &found.inner);
    let most = finding.members.iter().max_by_key(|member| member.transfers);
    let of_most = most.and_then(|most| inner.iter().find(|inner| inner.holds(&most.name)));
    Some(of_most.map_or(name, |inner| strip_type_tag(&inner.type_name)))
}

/// Returns what a layout can save of the finding's type, or of a struct in it; `None` where nothing
/// was searched, or nothing is saved.
pub fn finding_saving(
    finding: &Finding,
    findings: &Findings,
    judgements: &TypeJudgements,
) -> Option<FindingSaving> {
    let name = deciding_type(finding, judgements)?;
    let judgement = judgements.get(name)?;
    let change = judgement.change?;
    let of_type = |other: &&Finding| deciding_type(other, judgements) == Some(name);
    let transfers: u64 = { findings.findings.iter() }
        .filter(of_type)
        .map(|other| other.tally.transfers())
        .sum();
    let saved = -change * transfers as f64;
    Some(FindingSaving {
        type_name: name.to_owned(),
        transfers: saved,
        share: saved / findings.totals.tally.transfers().max(1) as f64,
        change,
        moved: judgement.moved,
    })
}

/// Sorts the findings by what a layout of their type can save, most first; those without a saving
/// follow in their order. Ranks stay.
pub fn sort_by_saving(findings: &mut Findings, judgements: &TypeJudgements) {
    let savings: Vec<f64> = { findings.findings.iter() }
        .map(|finding| {
            let saving = finding_saving(finding, findings, judgements);
            saving.map_or(0.0, |saving| saving.transfers)
        })
        .collect();
    let mut keyed: Vec<(f64, Finding)> = savings
        .into_iter()
        .zip(findings.findings.drain(..))
        .collect();
    keyed.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    findings.findings = keyed.into_iter().map(|(_, finding)| finding).collect();
}

/// Adds the judgements of the types of the first findings, and of the structs in them that decide,
/// by a quick search, unless they are known.
pub fn judge_findings(
    resolved: &ResolvedProfile<'_>,
    findings: &Findings,
    judgements: &mut TypeJudgements,
) {
    let mut searches_left = TYPES_SEARCHED_MAX;
    for finding in &findings.findings {
        // The judgement of the type may name a struct in it.
        for _ in 0..2 {
            let Some(name) = deciding_type(finding, judgements).map(str::to_owned) else {
                break;
            };
            if judgements.contains_key(&name) {
                break;
            }
            if searches_left == 0 {
                return;
            }
            searches_left -= 1;
            let judgement = judge_quickly(resolved, &name);
            judgements.insert(name, judgement);
        }
    }
}

impl TypeJudgement {
    /// Returns the judgement of a searched type.
    pub(crate) fn from_patched(
        patched: &PatchedType<'_>,
        types: &TypeArena,
        is_thorough: bool,
    ) -> Self {
        let searched = &patched.advised.searched;
        let outcome = &searched.outcome;
        let recommended = patched.recommended();
        match (outcome, recommended) {
            (Ok(advice), Some(found)) => {
                let (before, after) = (advice.current.cost, advice.candidates[found.index].cost);
                let change = after as f64 / before.max(1) as f64 - 1.0;
                Self {
                    // A short number comes back from a file of JSON as it was.
                    change: Some((change * MILLION).round() / MILLION),
                    moved: found.edit.members,
                    reason: String::new(),
                    is_thorough,
                    inner: Vec::new(),
                }
            }
            (Ok(advice), None) => Self {
                inner: inner_types(&searched.gathered, types, advice),
                ..Self::without_saving(verdict_words(&advice.verdict), is_thorough)
            },
            (Err(refusal), _) => Self::without_saving(&refusal.to_string(), is_thorough),
        }
    }

    /// Judgement that recommends nothing.
    pub(crate) fn without_saving(reason: &str, is_thorough: bool) -> Self {
        Self {
            change: None,
            moved: 0,
            reason: reason.to_owned(),
            is_thorough,
            inner: Vec::new(),
        }
    }
}

fn verdict_words(verdict: &AdviceVerdict) -> &'static str {
    match verdict {
        AdviceVerdict::NoTransfers => "no transfers were recorded in order",
        AdviceVerdict::NothingBetter { .. } => "no layout of the type helps",
        AdviceVerdict::Unclear => "no layout is clearly better",
        AdviceVerdict::Unstable => "the best layout saves in some recordings only",
        AdviceVerdict::Slight => "the best layout saves less than 1%",
        AdviceVerdict::Traded => "the best layout trades transfers for upgrades",
        AdviceVerdict::Slower => "the best layout is predicted to be slower",
        AdviceVerdict::Better => "no layout is worth its edits",
    }
}

/// Kept judgements and renderings of a profile.
pub struct JudgementCache {
    files: Option<CachedFiles>,
    /// Words that name the profile, the debug files and the code.
    identity: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct KeptJudgements {
    format: u32,
    identity: String,
    types: TypeJudgements,
}

#[derive(Serialize, Deserialize)]
struct KeptRendering {
    identity: String,
    text: String,
}

impl JudgementCache {
    /// Finds the cache of a profile. `debug` are the files to use instead of those it names.
    pub fn locate(profile: &Path, debug: &[PathBuf]) -> Self {
        Self {
            files: CachedFiles::locate(),
            identity: profile_identity(profile, debug),
        }
    }

    /// Returns the kept judgements; none if there are none, or the files have changed.
    pub fn read(&self) -> TypeJudgements {
        self.try_read().unwrap_or_default()
    }

    fn try_read(&self) -> Option<TypeJudgements> {
        let identity = self.identity.as_ref()?;
        let bytes = self.files.as_ref()?.read(&file_name(identity, "judged"))?;
        let kept: KeptJudgements = serde_json::from_slice(&bytes).ok()?;
        (kept.format == FORMAT && kept.identity == *identity).then_some(kept.types)
    }

    /// Keeps judgements beside those that are kept. A thorough one is not replaced by a quick one.
    pub fn add(&self, judgements: &TypeJudgements) {
        let (Some(files), Some(identity)) = (&self.files, &self.identity) else {
            return;
        };
        let mut types = self.read();
        let before = types.clone();
        for (name, judgement) in judgements {
            let is_better_known =
                { types.get(name) }.is_some_and(|kept| kept.is_thorough && !judgement.is_thorough);
            if !is_better_known {
                types.insert(name.clone(), judgement.clone());
            }
        }
        if types == before {
            return;
        }
        let kept = KeptJudgements {
            format: FORMAT,
            identity: identity.clone(),
            types,
        };
        if let Ok(bytes) = serde_json::to_vec(&kept) {
            files.write(&file_name(identity, "judged"), &bytes);
        }
    }

    /// Returns the kept rendering of a report for the options that `options` names.
    pub fn read_rendering(&self, options: &str) -> Option<String> {
        let identity = self.rendering_identity(options)?;
        let bytes = self.files.as_ref()?.read(&file_name(&identity, "report"))?;
        let kept: KeptRendering = serde_json::from_slice(&bytes).ok()?;
        (kept.identity == identity).then_some(kept.text)
    }

    /// Keeps the rendering of a report.
    pub fn add_rendering(&self, options: &str, text: &str) {
        if let Some(identity) = self.rendering_identity(options) {
            self.write_rendering(identity, "report", text);
        }
    }

    /// Returns the kept text of the advice on a type.
    pub fn read_advice(&self, type_name: &str) -> Option<String> {
        let identity = self.advice_identity(type_name)?;
        let bytes = self.files.as_ref()?.read(&file_name(&identity, "advice"))?;
        let kept: KeptRendering = serde_json::from_slice(&bytes).ok()?;
        (kept.identity == identity).then_some(kept.text)
    }

    /// Keeps the text of the advice on a type, in the place of an older one.
    pub fn add_advice(&self, type_name: &str, text: &str) {
        if let Some(identity) = self.advice_identity(type_name) {
            self.write_rendering(identity, "advice", text);
        }
    }

    /// Words that name the profile, the debug files and the code; `None` if a file cannot be looked at.
    pub(crate) fn identity(&self) -> Option<&str> {
        self.identity.as_deref()
    }

    /// Reads the kept file of an identity.
    pub(crate) fn read_kept(&self, identity: &str, extension: &str) -> Option<Vec<u8>> {
        self.files.as_ref()?.read(&file_name(identity, extension))
    }

    /// Keeps a file for an identity.
    pub(crate) fn write_kept(&self, identity: &str, extension: &str, bytes: &[u8]) {
        if let Some(files) = &self.files {
            files.write(&file_name(identity, extension), bytes);
        }
    }

    fn advice_identity(&self, type_name: &str) -> Option<String> {
        Some(format!("{}advice {type_name}\n", self.identity.as_ref()?))
    }

    fn write_rendering(&self, identity: String, extension: &str, text: &str) {
        let Some(files) = &self.files else {
            return;
        };
        let name = file_name(&identity, extension);
        let kept = KeptRendering {
            identity,
            text: text.to_owned(),
        };
        if let Ok(bytes) = serde_json::to_vec(&kept) {
            files.write(&name, &bytes);
        }
    }

    /// Names the options and the judgements that a rendering shows.
    fn rendering_identity(&self, options: &str) -> Option<String> {
        let judgements = serde_json::to_string(&self.read()).ok()?;
        let identity = self.identity.as_ref()?;
        Some(format!("{identity}{options}\n{judgements}\n"))
    }
}

/// Returns the judgements of an advice run; none if the request limits the search. `types` are those
/// of the profile.
pub fn run_judgements(
    run: &AdviceRun<'_>,
    types: &TypeArena,
    request: &AdviceRequest,
) -> TypeJudgements {
    if request.limits_search() {
        return TypeJudgements::new();
    }
    let is_thorough = !request.types.is_empty();
    { run.types.iter() }
        .map(|patched| {
            let name = patched.advised.searched.gathered.name.clone();
            let judgement = TypeJudgement::from_patched(patched, types, is_thorough);
            (name, judgement)
        })
        .collect()
}

/// Returns words that change with the profile, its debug files and this program; `None` if a file
/// cannot be looked at.
fn profile_identity(profile: &Path, debug: &[PathBuf]) -> Option<String> {
    let meta = relayout_files::read_regular_text(&profile.join(META_FILE)).ok()?;
    let allocators = allocators_by_user().join(",");
    let mut words = format!("judgements {FORMAT}\n{meta}\n{allocators}\n");
    let mut files: Vec<PathBuf> = std::fs::read_dir(profile)
        .ok()?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .ok()?;
    files.sort();
    let named: Vec<PathBuf> = match debug.is_empty() {
        true => debug_file_in(&meta).into_iter().collect(),
        false => debug.to_vec(),
    };
    files.extend(named);
    files.push(std::env::current_exe().ok()?);
    for file in files {
        words.push_str(&file_identity(&file)?);
    }
    Some(words)
}

/// Returns the debug file that the meta data of a profile name.
pub(crate) fn named_debug_file(profile: &Path) -> Option<PathBuf> {
    let meta = relayout_files::read_regular_text(&profile.join(META_FILE)).ok()?;
    debug_file_in(&meta)
}

fn debug_file_in(meta: &str) -> Option<PathBuf> {
    let document: serde_json::Value = serde_json::from_str(meta).unwrap_or_default();
    let named = document.get("debug_file").and_then(|path| path.as_str());
    named.filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn file_name(identity: &str, extension: &str) -> String {
    format!("{:016x}.{extension}", fnv1a(identity.as_bytes()))
}
