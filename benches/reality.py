#!/usr/bin/env python3
"""Replay against reality: for layouts of hot kernel structs, the change of their transfers that replaying
recordings of today's kernel predicts, beside what recording the kernel with that layout gives.

    benches/reality.py [--source DIR] [--rounds N] [--runs N] [--workload NAME] [--out DIR] PROFILE

PROFILE is a recording of the workload in the small kernel that `relayout verify kernel` builds, as its --keep
writes it. From it comes which members are hot. In each round one kernel is built in which each struct has
another layout, made by a fixed rule from its hottest members (RULES below); each is judged by its own transfers.
What makes no difference to the layout, or cannot be written as a patch by moving whole lines, is left out.
With --out, patches and results are kept there, and rounds that are there already are not run again.

Prints a Markdown table, then Spearman's rank correlation of predicted and recorded change, the median of their
difference in percentage points, and how often they agree on the direction. A round takes a build of the files
that include the headers, and 2 * --runs boots.
"""
import argparse
import collections
import difflib
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELAYOUT = ROOT / "target/release/relayout"
# Structs that are contended in mntns, in headers that few files include; none holds another by value.
STRUCTS = [
    ("pcpu_chunk", "mm/percpu-internal.h"),
    ("mount", "fs/mount.h"),
    ("rq", "kernel/sched/sched.h"),
    ("rcu_node", "kernel/rcu/tree.h"),
    ("rcu_data", "kernel/rcu/tree.h"),
    ("shmem_sb_info", "include/linux/shmem_fs.h"),
]
# Where a report has their members under another struct's.
INSIDE = {"rcu_node": ("rcu_state", "node[].")}
# By round: what is done to which of the hottest members, from 0.
RULES = [("align", 0), ("end", 0), ("beside", 0, 2), ("align", 1), ("end", 1), ("beside", 1, 3)]
MEMBER = re.compile(r"^\t[A-Za-z_][\w \t*]*?[ \t*](\w+)((?:\[[^\]]*\])*);[ \t]*(?:/\*.*\*/)?[ \t]*$")


def hot_members(profile):
    """By struct: its members on contended lines, most accesses first."""
    done = subprocess.run(
        [RELAYOUT, "report", profile, "--json", "--top", "0"], check=True, stdout=subprocess.PIPE
    )
    accesses = collections.defaultdict(collections.Counter)
    names = {name: (name, "") for name, _ in STRUCTS} | INSIDE
    for finding in json.loads(done.stdout)["findings"]:
        for name, (holder, path) in names.items():
            for member in finding["members"] if finding["type"] == holder else []:
                if member["name"].startswith(path):
                    own = re.split(r"[.\[]", member["name"].removeprefix(path))[0]
                    accesses[name][own] += member["reads"] + member["writes"]
    return {name: [one for one, _ in counts.most_common()] for name, counts in accesses.items()}


def body(lines, name):
    """First and last line of what is between the braces, and the lines that can be moved, by member."""
    start = next(at for at, line in enumerate(lines) if re.match(rf"struct {name} \{{", line)) + 1
    depth, guards, comment, members = 1, 0, False, {}
    for at in range(start, len(lines)):
        line = lines[at]
        bare = re.sub(r"/\*.*?\*/", "", line)
        if comment or "/*" in bare:
            comment = "*/" not in line
            continue
        if re.match(r"\s*#\s*if", line):
            guards += 1
        elif re.match(r"\s*#\s*endif", line):
            guards -= 1
        found = MEMBER.match(line) if depth == 1 and guards == 0 else None
        depth += bare.count("{") - bare.count("}")
        if depth == 0:
            return start, at, members
        if found and "[]" not in found.group(2) and " rcu_head" not in line:
            members[found.group(1)] = at
    raise ValueError(name)


def edit(lines, name, rule, hot):
    """The lines with the rule done to the struct, and what was done in words; None if it cannot be."""
    start, end, members = body(lines, name)
    ranked = [member for member in hot.get(name, []) if member in members]
    if max(rule[1:]) >= len(ranked):
        return None
    member = ranked[rule[1]]
    at, lines = members[member], list(lines)
    if rule[0] == "align":
        lines[at] = re.sub(r";", " ____cacheline_aligned_in_smp;", lines[at], count=1)
        return lines, f"`{member}` aligned to a line"
    target = max(members.values()) if rule[0] == "end" else members[ranked[rule[2]]]
    beside = next(other for other, line in members.items() if line == target)
    if target in (at, at - 1):
        return None
    line = lines.pop(at)
    lines.insert(target if at < target else target + 1, line)
    return lines, f"`{member}` behind `{beside}`"


def make_patch(source, rule, hot):
    """The text of a patch with the rule done to each struct, and by struct what was done."""
    files, said = {}, {}
    for name, header in STRUCTS:
        lines = files.get(header) or (source / header).read_text().splitlines(keepends=True)
        try:
            edited = edit(lines, name, rule, hot)
        except (StopIteration, ValueError):
            print(f"no struct {name} in {header}", file=sys.stderr)
            continue
        if edited:
            files[header], said[name] = edited
    text = ""
    for header, lines in files.items():
        old = (source / header).read_text().splitlines(keepends=True)
        text += "".join(difflib.unified_diff(old, lines, f"a/{header}", f"b/{header}"))
    return text, said


def verify(options, patch):
    command = [RELAYOUT, "verify", "kernel", "--patch", patch, "--workload", options.workload]
    command += ["--runs", str(options.runs), "--all-runs", "--json", "--seed", "1"]
    if options.source:
        command += ["--source", options.source]
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE)
    if done.returncode not in (0, 1):
        print(f"{patch}: left out, exit code {done.returncode}", file=sys.stderr)
        return None
    return json.loads(done.stdout)


def rows(result, said):
    """(struct, what was done, predicted, recorded, its interval), changes in percent."""
    recorded = {metric["name"]: metric for metric in result["metrics"]}
    for prediction in result["predictions"]:
        name = prediction["type"]
        metric = recorded.get(f"{name}[{prediction['setting']}]")
        if name not in said or metric is None or metric["change_percent"] is None:
            continue
        if prediction.get("change_percent") is None:
            print(f"{name}: {said[name]}: {prediction.get('refused')}", file=sys.stderr)
            continue
        share = metric["before"]["median"]
        yield (
            name,
            said[name],
            prediction["change_percent"],
            metric["change_percent"],
            metric["ci95_percent"],
            share,
        )


def ranks(values):
    order = sorted(values)
    first = {value: order.index(value) for value in order}
    return [first[value] + (order.count(value) - 1) / 2 for value in values]


def summary(table):
    predicted, recorded = [row[2] for row in table], [row[3] for row in table]
    errors = [abs(a - b) for a, b in zip(predicted, recorded)]
    clear = [row for row in table if row[4] and row[4][0] * row[4][1] > 0]
    agree = sum(row[2] * row[3] > 0 for row in clear)
    rho = statistics.correlation(ranks(predicted), ranks(recorded))
    print(f"\n{len(table)} layouts: rank correlation {rho:.2f}; predicted and recorded change differ by", end=" ")
    print(f"{statistics.median(errors):.1f} points in the median, at most {max(errors):.1f};", end=" ")
    print(f"of {len(clear)} clear changes the direction was predicted for {agree}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=len(RULES))
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--workload", default="mntns")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("profile", type=pathlib.Path)
    options = parser.parse_args()
    cache = pathlib.Path.home() / ".cache/relayout/source/current"
    hot = hot_members(options.profile)
    table = []
    with tempfile.TemporaryDirectory() as temporary:
        out = options.out or pathlib.Path(temporary)
        out.mkdir(parents=True, exist_ok=True)
        for number, rule in enumerate(RULES[: options.rounds]):
            text, said = make_patch(options.source or cache, rule, hot)
            patch, kept = out / f"round-{number}.patch", out / f"round-{number}.json"
            patch.write_text(text)
            result = json.loads(kept.read_text()) if kept.is_file() else verify(options, patch)
            if result:
                kept.write_text(json.dumps(result))
                table.extend(rows(result, said))
    print("| struct | layout | transfers per operation today | predicted, % | recorded, % | 95% interval |")
    print("| --- | --- | ---: | ---: | ---: | --- |")
    for name, what, predicted, recorded, interval, today in table:
        ends = f"{interval[0]:+.1f} to {interval[1]:+.1f}" if interval else "unknown"
        print(f"| {name} | {what} | {today:.3g} | {predicted:+.1f} | {recorded:+.1f} | {ends} |")
    if len(table) > 2:
        summary(table)


if __name__ == "__main__":
    main()
