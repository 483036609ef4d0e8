//! Kinds of findings in words: the only place that has them.

use relayout_contend::FindingKind;
use serde_json::{Map, Value};

/// Kinds in the order of a list for people.
pub(crate) const LISTED_KINDS: [FindingKind; 9] = [
    FindingKind::FalseSharing,
    FindingKind::TrueSharing,
    FindingKind::LockWord,
    FindingKind::Straddle,
    FindingKind::SilentStore,
    FindingKind::HotGlobal,
    FindingKind::ReadMostly,
    FindingKind::RemoteRead,
    FindingKind::AdjacentLine,
];

/// Words of a kind of findings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KindWords {
    /// Clause for where there is little room.
    pub clause: &'static str,
    /// Sentence that describes the kind.
    pub meaning: &'static str,
    /// Direction of a remedy.
    pub remedy: &'static str,
}

/// Returns the words of a kind.
pub(crate) fn kind_words(kind: FindingKind) -> KindWords {
    match kind {
        FindingKind::FalseSharing => KindWords {
            clause: "contexts use different members of one line",
            meaning: "CPUs or threads use different bytes of a cache line, and most of its transfers bring \
                      nothing that is used.",
            remedy: "Move the members to different cache lines, or align one of them to a line of its own.",
        },
        FindingKind::TrueSharing => KindWords {
            clause: "contexts use the same members",
            meaning: "Most transfers of the cache line bring bytes that the CPU or thread uses.",
            remedy: "Store to the member less often, or give each CPU or thread its own copy.",
        },
        FindingKind::LockWord => KindWords {
            clause: "contexts that wait for a lock take its line from the holder",
            meaning: "CPUs or threads try to take a lock while its holder uses data on the same cache line.",
            remedy: "Move the data to another cache line than the lock.",
        },
        FindingKind::Straddle => KindWords {
            clause: "objects lie on two lines and move both",
            meaning: "An object, or an access to it, lies on two cache lines and moves both.",
            remedy: "Align the object or the member, so that it lies on one line.",
        },
        FindingKind::SilentStore => KindWords {
            clause: "stores that change nothing take the line away",
            meaning: "Most transfers of the cache line follow stores that change nothing.",
            remedy: "Compare the value first, and leave out the store where it is equal.",
        },
        FindingKind::HotGlobal => KindWords {
            clause: "the linker put contended variables on one line",
            meaning: "The linker placed variables of different CPUs or threads on one cache line.",
            remedy: "Align one of the variables to a cache line of its own.",
        },
        FindingKind::ReadMostly => KindWords {
            clause: "a member that is hardly ever written lies beside written ones",
            meaning: "A member that is seldom stored to shares a cache line with members that are stored to all \
                      the time.",
            remedy: "Move the member to a cache line with members that are read.",
        },
        FindingKind::RemoteRead => KindWords {
            clause: "contexts other than its writer read a member",
            meaning: "Only CPUs or threads that do not store to the member read it.",
            remedy: "Avoid the read, or keep a copy of the value with its reader.",
        },
        FindingKind::AdjacentLine => KindWords {
            clause: "the two lines of an aligned pair disturb each other",
            meaning: "Two cache lines are fetched together, and some CPUs or threads use one while others store \
                      to the other.",
            remedy: "Move the members to different aligned pairs of lines. The cost is an estimate from samples.",
        },
    }
}

/// Returns the sentences about the kinds, by the keys of documents, as JSON.
pub(crate) fn kind_sentences() -> Value {
    let sentences = LISTED_KINDS.into_iter().map(|kind| {
        let KindWords {
            meaning, remedy, ..
        } = kind_words(kind);
        (
            kind.as_str().to_owned(),
            format!("{meaning} {remedy}").into(),
        )
    });
    Value::Object(sentences.collect::<Map<String, Value>>())
}
