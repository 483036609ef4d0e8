//! Meaning of the kinds of findings, in a clause.

/// Kinds with their meaning.
pub(super) const KINDS: [(&str, &str); 9] = [
    (
        "false-sharing",
        "contexts use different members of one line",
    ),
    ("true-sharing", "contexts use the same members"),
    (
        "lock-word",
        "contexts that wait for a lock take its line from the holder",
    ),
    ("straddle", "objects lie on two lines and move both"),
    (
        "silent-store",
        "stores that change nothing take the line away",
    ),
    (
        "hot-global",
        "the linker put contended variables on one line",
    ),
    (
        "read-mostly",
        "a member that is hardly ever written lies beside written ones",
    ),
    (
        "remote-read",
        "contexts other than its writer read a member",
    ),
    (
        "adjacent-line",
        "the two lines of an aligned pair disturb each other",
    ),
];

/// Returns the meaning of a kind, else the kind itself.
pub(super) fn kind_words(kind: &str) -> &str {
    let known = KINDS.iter().find(|(name, _)| *name == kind);
    known.map_or(kind, |(_, words)| words)
}
