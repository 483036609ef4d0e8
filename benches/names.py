#!/usr/bin/env python3
"""Whether commands take the names that a report prints. For every type that the report of a recording has,
`show`, `advise` and `what-if` are given the printed name and a shorter form of it. Prints what was refused, and a
Markdown row with the counts.

    benches/names.py [--relayout PATH] PROFILE...

The shorter form lacks the outermost scope (`DBImpl::Writer` for `leveldb::DBImpl::Writer`); a name without scope has
`<*>` for its arguments. A type of the standard library has no layout of its own to advise on, and a short form may be
that of several types; both are answers that name the reason, and are counted apart. Exit code 1 if something was refused.
"""
import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

# Answers that are no refusal of the name.
ANSWERS = {
    "standard": "is a type of the standard library",
    "ambiguous": "may be several types of the profile",
    "enum of Rust": "whose alternatives the compiler places as it likes",
}


class Options:
    """What was asked for."""

    relayout = pathlib.Path(__file__).resolve().parent.parent / "target/release/relayout"


def call(*arguments):
    return subprocess.run([Options.relayout, *map(str, arguments)], capture_output=True, text=True, check=False)


def printed_types(profile):
    report = json.loads(call("report", profile, "--json", "--top", "0", "--min-share", "0").stdout)
    # A variable without members is its own type there.
    own = (one["type"] for one in report["findings"] if one.get("type") and one["type"] != one.get("variable"))
    return list(dict.fromkeys(own))


def shorter(name):
    """The name without its outermost scope, or without its arguments; None if it has neither."""
    depth = 0
    for at, letter in enumerate(name):
        if letter in "<({[":
            depth += 1
        elif letter in ">)}]":
            depth -= 1
        elif depth == 0 and name.startswith("::", at):
            return name[at + 2 :]
    open_at = name.find("<")
    if open_at > 0 and name.endswith(">"):
        return name[:open_at] + "<*>"
    return None


def first_member(profile, binary, name):
    """A member that what-if can be asked about. Of a type of a standard library, what it holds is laid out."""
    advice = call("advise", profile, name, "--json")
    laid_out = json.loads(advice.stdout)["types"][0]["name"] if advice.returncode in (0, 1) else name
    shown = call("show", binary, laid_out, "--json")
    if shown.returncode:
        return None
    members = json.loads(shown.stdout)["types"][0].get("members") or []
    own = (one for one in members if one.get("name") and not one.get("bits") and not one["name"].startswith("_vptr"))
    return next((one["name"] for one in own if not one.get("is_base")), None)


def refusals(profile, binary, name):
    """Yields (command, form, kind of answer, message)."""
    # What a string holds, and arrays of pointers, have no members.
    if name.endswith(" []") or re.search(r"\* ?\[\d+\]", name):
        return
    member = first_member(profile, binary, name)
    for form in filter(None, (name, shorter(name))):
        commands = [("show", "show", binary, form), ("advise", "advise", profile, form, "--json")]
        # An array of arrays is laid out as a whole.
        if member and "][" not in name:
            commands.append(("what-if", "what-if", profile, form, "--align", f"{member}=64", "--json"))
        for command, *arguments in commands:
            done = call(*arguments)
            # The exit code of advice that recommends nothing is 1.
            if done.returncode in (0, 1):
                yield command, form, "taken", ""
                continue
            last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
            kind = next((kind for kind, words in ANSWERS.items() if words in last[0]), "refused")
            yield command, form, kind, last[0]


def row(profile):
    meta = json.loads((profile / "meta.json").read_text())
    binary = meta.get("debug_file") or meta["release"]
    types = printed_types(profile)
    counts = {}
    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        for found in workers.map(lambda name: list(refusals(profile, binary, name)), types):
            for command, form, kind, message in found:
                counts[kind] = counts.get(kind, 0) + 1
                if kind == "refused":
                    print(f"{command} {form!r}: {message}", file=sys.stderr)
    answered = ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items()) if kind not in ("taken", "refused"))
    refused = counts.get("refused", 0)
    print(f"| {profile.stem} | {len(types)} | {counts.get('taken', 0)} | {answered or '-'} | {refused} |", flush=True)
    return refused


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("profiles", nargs="+", type=pathlib.Path, metavar="PROFILE")
    parser.add_argument("--relayout", type=pathlib.Path, default=Options.relayout)
    options = parser.parse_args()
    Options.relayout = options.relayout.resolve()
    print("| recording | types | taken | answered | refused |\n| --- | ---: | ---: | --- | ---: |")
    sys.exit(1 if sum(row(profile) for profile in options.profiles) else 0)


if __name__ == "__main__":
    main()
