//! Commands that answer from a profile, each with every profile.

use super::{OutputRow, fill_line};
use crate::outputs::damaged_profiles::profile_names;

/// A profile, and names for the options of commands.
struct ProfileSubject {
    profile: &'static str,
    /// The type that is advised on, as a user asks for it.
    advised: &'static str,
    /// A member of it.
    member: &'static str,
    source: &'static str,
}

const SUBJECTS: [ProfileSubject; 6] = [
    ProfileSubject {
        profile: "kernel.relayout",
        advised: "dentry",
        member: "d_lockref",
        source: "linux",
    },
    ProfileSubject {
        profile: "new.relayout",
        advised: "queue",
        member: "consumed",
        source: "new",
    },
    ProfileSubject {
        profile: "pool.relayout",
        advised: "net::Pool",
        member: "limit_",
        source: "pool",
    },
    ProfileSubject {
        profile: "stats.relayout",
        advised: "Stats<*>",
        member: "misses",
        source: "stats",
    },
    ProfileSubject {
        profile: "samples.relayout",
        advised: "counters",
        member: "misses",
        source: "bench",
    },
    ProfileSubject {
        profile: "hostile.relayout",
        advised: "*owned*",
        member: "other",
        source: "hostile",
    },
];

/// Rows of every profile.
const EACH: &[&str] = &[
    "report {profile}",
    "report {profile} --top 0 --width 60",
    "report {profile} --top 3 --width 200",
    "report {profile} --color always",
    "report {profile} -q",
    "report {profile} --json",
    "report {profile} --json --top 0 --source {source}",
    "report {profile} --format mail",
    "report {profile} --format svg",
    "report {profile} --type {advised}",
    "report {profile} --explain 1",
    "report {profile} --by saving",
    "report {profile} --by saving --json",
    "report {profile} --min-share 5 --pair-coefficient 0.5",
    "report {profile} --html page.html --source {source}",
    "report {profile} --csv tables",
    "report {profile} --sarif report.sarif",
    "report {profile} --sarif report.sarif --source-root {source}",
    "report {profile} --firefox-profile accesses.json",
    "advise {profile}",
    "advise {profile} --json",
    "advise {profile} {advised}",
    "advise {profile} {advised} --json",
    "advise {profile} {advised} --color always",
    "advise {profile} {advised} --all --layouts",
    "advise {profile} {advised} --top 1",
    "advise {profile} {advised} --max-moves 1",
    "advise {profile} {advised} --keep {member}",
    "advise {profile} {advised} --pair-coefficient 0.5",
    "advise {profile} {advised} --machine machine.json --cpus 8",
    "advise {profile} {advised} --html page.html",
    "advise {profile} {advised} --csv tables",
    "advise {profile} {advised} --source {source}",
    "advise {profile} {advised} --source {source} --patch fix.patch --force",
    "advise {profile} {advised} --source {source} --json --force",
    "advise {profile} {advised} --source {source} --patch fix.patch --force --pick 2",
    "what-if {profile} {advised} --move {member}:first",
    "what-if {profile} {advised} --align {member}=64 --json",
    "what-if {profile} {advised} --pad {member}=64 --html page.html --csv tables",
    "what-if {profile} {advised} --align {member}=64 --machine machine.json --cpus 8",
    "what-if {profile} {advised} --move no_such_member:first",
    "COLUMNS=80 LINES=100 view {profile}",
    "COLUMNS=170 LINES=100 view {profile} --source {source}",
    "COLUMNS=120 LINES=60 TERM=xterm-16color NO_COLOR= view {profile}",
    // Results that commands leave for the next.
    "report {profile} && advise {profile} {advised} && report {profile} && report {profile} --by saving",
    "advise {profile} {advised} && COLUMNS=80 LINES=100 view {profile}",
    "advise {profile} {advised} && advise {profile} {advised} --top 1 && COLUMNS=80 LINES=100 view {profile}",
];

/// Rows of some profiles.
const SPECIAL: &[&str] = &[
    "report new.relayout --production new/plain",
    "report new.relayout --production new/plain --json",
    "report new.relayout --debug new/queue",
    "report new.relayout --debug old/queue",
    "report new.relayout --type no_such_type",
    "report new.relayout --explain 99",
    "report nothing.relayout",
    "report nothing.relayout --json",
    "report vmlinux",
    "report empty.relayout",
    "report empty.relayout --json",
    "view new.relayout",
    "advise new.relayout no_such_type",
    "advise new.relayout no_such_type --json",
    "advise new.relayout queue --layout queue-layout.txt",
    "advise new.relayout queue --layout queue-layout.txt --json",
    "advise new.relayout queue --other-build old=old/queue",
    "advise new.relayout queue --also old.relayout",
    "advise new.relayout queue --source new --patch fix.patch",
    "advise kernel.relayout dentry --also mntns.relayout",
    "advise kernel.relayout dentry --also mntns.relayout --json",
    "advise kernel.relayout dentry --source linux --patch fix.patch --force --hardware-script measure.sh",
    "advise kernel.relayout --machine machine.json",
    "what-if new.relayout queue --layout queue-layout.txt",
    "what-if new.relayout queue --layout queue-layout.txt --json",
    "what-if new.relayout queue",
    "report mntns.relayout",
    "report mntns.relayout --json",
    "advise mntns.relayout",
    "advise mntns.relayout --json",
    "report old.relayout",
    "advise old.relayout queue",
    "compare old.relayout new.relayout",
    "compare old.relayout new.relayout --json",
    "compare old.relayout new.relayout --mail",
    "compare old.relayout new.relayout --html page.html --csv tables",
    "compare old.relayout new.relayout --fail-on-worse",
    "compare old.relayout new.relayout --bisect",
    "compare new.relayout old.relayout queue",
    "compare new.relayout old.relayout --mail",
    "compare new.relayout old.relayout --margin 90",
    "compare old.relayout new.relayout --old-debug old/queue --new-debug new/queue",
    "compare kernel.relayout mntns.relayout",
    "compare new.relayout nothing.relayout",
    "compare new.relayout new.relayout --json",
    "compare pool.relayout pool.relayout",
    "compare samples.relayout samples.relayout",
];

/// Rows of each damaged profile.
const DAMAGED: &[&str] = &["report {profile}", "report {profile} --json"];

/// Rows of commands that read a profile.
pub fn profile_rows() -> Vec<OutputRow> {
    let each = SUBJECTS.iter().flat_map(|subject| {
        let values = [
            ("profile", subject.profile),
            ("advised", subject.advised),
            ("member", subject.member),
            ("source", subject.source),
        ];
        EACH.iter().map(move |line| fill_line(line, &values))
    });
    let special = SPECIAL.iter().map(|&line| line.to_owned());
    let damaged = profile_names().flat_map(|profile| {
        DAMAGED
            .iter()
            .map(move |line| fill_line(line, &[("profile", &profile)]))
    });
    each.chain(special)
        .chain(damaged)
        .map(OutputRow::command)
        .collect()
}
