#!/usr/bin/env python3
"""Whether `report` denies what `advise` finds. A report says of the first findings of each recording what other
layouts do; then every type of them is searched with all effort, and the two are compared. Prints what contradicts,
and a Markdown row for each recording; its last three columns must be 0.

    benches/verdicts.py [--relayout PATH] [--findings N] PROFILE...

- *denied*: findings of which a report says that moving members does not help, before and after the searches.
- *contradicted*: of them, those of a type, or with a struct on the way to the member, for which a layout is recommended.
- *changed by the cache*: types for which advice before any report differs from that after it.
- *changed by options*: findings that a report judges otherwise after `advise --top 1` and `advise --max-moves 1`.

Each recording has cache folders of its own, which begin empty. Exit code 1 if something contradicts.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Sentences that say that no layout helps.
DENIALS = (
    "does not help",
    "no layout removes",
    "layout does not remove",
    "rather than saving them",
    "no layout helps",
)
# Folders of results. All else in the cache folder is shared.
RESULTS = {"resolved"}


class Session:
    """The command with a cache folder of its own."""

    def __init__(self, relayout, folder):
        self.relayout = relayout
        self.folder = pathlib.Path(folder)
        shared = pathlib.Path(os.environ.get("RELAYOUT_CACHE", pathlib.Path.home() / ".cache/relayout"))
        for entry in shared.iterdir() if shared.is_dir() else []:
            if entry.name not in RESULTS:
                (self.folder / entry.name).symlink_to(entry)

    def call(self, *arguments):
        environment = {**os.environ, "RELAYOUT_CACHE": str(self.folder), "COLUMNS": "400"}
        command = [self.relayout, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    def report(self, profile, findings):
        """The first findings, each with the sentences of the document and its section of the text."""
        words = ["report", profile, "--top", findings]
        document = self.call(*words, "--json")
        if document.returncode:
            sys.exit(f"{profile}: {document.stderr}")
        sections = re.split(r"\n#(\d+) ", self.call(*words).stdout)
        texts = dict(zip(map(int, sections[1::2]), sections[2::2]))
        shown = json.loads(document.stdout)["findings"]
        for finding in shown:
            said = [remedy["words"] for remedy in finding["advice"]] + [texts.get(finding["rank"], "")]
            finding["said"] = " ".join(" ".join(said).split())
        return shown

    def advise(self, profile, name, *options):
        done = self.call("advise", profile, name, "--json", *options)
        return json.loads(done.stdout)["types"] if done.returncode in (0, 1) and done.stdout else []


def denies(finding):
    return any(words in finding["said"] for words in DENIALS)


def type_names(finding):
    """The finding's type and those on the way to its member, without keyword; none of what has no members."""
    own = [finding["type"]] if any(member["name"] != finding["type"] for member in finding["members"]) else []
    names = own + (finding["types_path"] if own else [])
    return list(dict.fromkeys(re.sub(r"^(struct|class|union) ", "", name) for name in names))


def is_recommended(types):
    def guarded(advised):
        # With guards before stores, another layout may be best.
        return (advised.get("check") or {}).get("recommended") is not None

    return any(advised.get("recommended") is not None or guarded(advised) for advised in types)


def searched(session, profile, names, workers=2):
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        return dict(zip(names, pool.map(lambda name: session.advise(profile, name), names)))


def contradictions(profile, findings, advice, when):
    """Counts (denials, contradicted)."""
    denied = [finding for finding in findings if denies(finding)]
    wrong = [(finding, name) for finding in denied for name in type_names(finding) if is_recommended(advice.get(name, []))]
    for finding, name in wrong:
        print(f"{profile}: #{finding['rank']} is denied {when}, and advise recommends for {name}", file=sys.stderr)
    return len(denied), len({finding["rank"] for finding, _ in wrong})


def row(relayout, profile, count):
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        session, blind = Session(relayout, first), Session(relayout, second)
        before = session.report(profile, count)
        own = list(dict.fromkeys(name for finding in before for name in type_names(finding)[:1]))
        inner = {name for finding in before for name in type_names(finding)} - set(own)
        advice = searched(session, profile, own)
        after = session.report(profile, count)
        # Structs on the way are searched last: a report of the types alone must be true as well.
        advice |= searched(session, profile, sorted(inner))
        last = session.report(profile, count)
        counted = [contradictions(profile, shown, advice, when)
                   for shown, when in ((before, "before"), (after, "after its type"), (last, "after all types"))]
        changed = [name for name, types in searched(blind, profile, own).items() if types != advice[name]]
        for name in changed:
            print(f"{profile}: advice on {name} depends on the cache", file=sys.stderr)
        for name in own:
            session.advise(profile, name, "--top", "1")
            session.advise(profile, name, "--max-moves", "1")
        again = session.report(profile, count)
        judged = [(finding.get("saving"), finding.get("saving_why"), denies(finding)) for finding in last]
        other = [(finding.get("saving"), finding.get("saving_why"), denies(finding)) for finding in again]
        moved = sum(a != b for a, b in zip(judged, other))
    helped = sum(is_recommended(types) for types in advice.values())
    denied = " / ".join(str(denials) for denials, _ in counted)
    wrong = sum(contradicted for _, contradicted in counted)
    print(f"| {profile.stem} | {len(before)} | {len(advice)} | {helped} | {denied} | {wrong} | {len(changed)} | {moved} |", flush=True)
    return wrong + len(changed) + moved


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("profiles", nargs="+", type=pathlib.Path, metavar="PROFILE")
    parser.add_argument("--findings", type=int, default=40)
    default = pathlib.Path(__file__).resolve().parent.parent / "target/release/relayout"
    parser.add_argument("--relayout", type=pathlib.Path, default=default)
    options = parser.parse_args()
    print("| recording | findings | types | recommended | denied | contradicted | by the cache | by options |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    relayout = options.relayout.resolve()
    sys.exit(1 if sum(row(relayout, profile, options.findings) for profile in options.profiles) else 0)


if __name__ == "__main__":
    main()
