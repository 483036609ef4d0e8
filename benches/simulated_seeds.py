#!/usr/bin/env python3
"""Do the first findings depend on the seed in simulated time? Records workloads with many seeds, and prints a Markdown table:
in how many recordings the first findings are the most frequent ones, in the same order, in an order that only ties
(transfers within 5%) change, and as a set. A second table has the transfers of these findings, and of the next ones: those whose
ranges overlap change places.

    benches/simulated_seeds.py --work DIR [--seeds 20] [--top 5] [--cpus 4] [--simulate 1ms] [WORKLOAD...]

A finding is a type or variable and a line of it, where lines of an object count from its first one: an allocator places small objects
anywhere on a line. Reports stay in DIR and are not made again. Exit
code 1 if the order differs in more than one of 20 recordings.
"""
import argparse
import collections
import json
import pathlib
import statistics
import subprocess
import sys

RELAYOUT = pathlib.Path(__file__).resolve().parent.parent / "target/release/relayout"
WORKLOADS = ["stat-one", "mmap1", "fcopy", "mntns"]
# Share of the seeds that may differ.
DIFFERENT_MAX = 1 / 20
# Findings whose transfers differ by less are tied.
TIE = 0.05


def run(*words):
    done = subprocess.run([RELAYOUT, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"relayout {' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def report(options, workload, seed):
    kept = options.work / f"{workload}-{options.cpus}-{options.simulate}-{seed}.json"
    if not kept.exists():
        profile = options.work / "profile"
        words = ["record", "kernel", "--workload", workload, "--machine", options.machine, "--memory", "512M"]
        words += ["--cpus", options.cpus, "--simulate", options.simulate, "--seed", seed]
        run(*words, "-q", "--force", "-o", profile)
        kept.write_text(run("report", profile, "--json", "--top", "0"))
    return json.loads(kept.read_text())


def name(finding):
    return f"{finding['variable'] or finding['type']} +{max(finding['line_offset'] or 0, 0)}"


def transfers_by_name(report):
    counts = collections.Counter()
    for finding in report["findings"]:
        counts[name(finding)] += finding["transfers"]
    return counts


def names(report):
    """Findings by rank, each once."""
    return list(dict.fromkeys(name(finding) for finding in report["findings"]))


def has_order(counts, expected):
    """Whether these findings come first in this order, but for ties."""
    return all(
        counts[before] >= (1 - TIE) * transfers
        for place, before in enumerate(expected)
        for after, transfers in counts.items()
        if after not in expected[:place]
    )


def range_text(values):
    return f"{min(values)} to {max(values)}, {statistics.median(values):.0f}"


def print_rivals(workload, reports, first, top):
    counts = [transfers_by_name(report) for report in reports]
    median = {key: statistics.median(count[key] for count in counts) for key in set().union(*counts)}
    others = sorted((key for key in median if key not in first), key=lambda key: -median[key])
    for key in [*first, *others[: top // 2 + 1]]:
        ranks = [names(report).index(key) + 1 for report, count in zip(reports, counts) if count[key]]
        print(f"| {workload} | `{key}` | {range_text([count[key] for count in counts])} | {min(ranks)} to {max(ranks)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--top", type=int, default=5)
    parser.add_argument("--cpus", type=int, default=4)
    parser.add_argument("--machine", default="sapphire-rapids-2s")
    parser.add_argument("--simulate", default="1ms")
    parser.add_argument("workloads", nargs="*", default=WORKLOADS)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    print("| workload | recordings | findings | same order | but for ties | same set |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    is_good, rivals = True, []
    for workload in options.workloads:
        reports = [report(options, workload, seed) for seed in range(1, options.seeds + 1)]
        firsts = [tuple(names(report)[: options.top]) for report in reports]
        (first, same_order), *_ = collections.Counter(firsts).most_common()
        same_set = sum(set(other) == set(first) for other in firsts)
        tied = sum(has_order(transfers_by_name(report), first) for report in reports)
        findings = [len(report["findings"]) for report in reports]
        print(f"| {workload} | {len(reports)} | {range_text(findings)} | {same_order} | {tied} | {same_set} |", flush=True)
        is_good &= len(reports) - same_order <= DIFFERENT_MAX * len(reports)
        rivals.append((workload, reports, first))
    print("\n| workload | finding | transfers: least, most, median | ranks |\n| --- | --- | ---: | ---: |")
    for workload, reports, first in rivals:
        print_rivals(workload, reports, first, options.top)
    sys.exit(not is_good)


if __name__ == "__main__":
    main()
