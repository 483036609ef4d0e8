#!/usr/bin/env python3
"""`relayout diff` of whole kernels with DWARF, beside `codiff` (package dwarves) on the same files in
the same run. Prints a Markdown table; quote its medians, the machine is never quiet.

    benches/diff.py [--rounds N] [--no-codiff] [OLD NEW]

Without OLD and NEW, scripts/compare-kernels.sh fetches four kernels (once, 3GB to download): two
versions of one configuration, and three configurations of one version.

Each comparison is also checked: a file differs in nothing from itself, what one direction adds the
other removes, and what codiff finds to have another size changed by our account too.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELAYOUT = ROOT / "target/release/relayout"


def timed(command):
    """Wall and CPU seconds, peak memory in MB (mapped file pages included), standard output."""
    start = time.monotonic()
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    if status not in (0, 256):
        sys.exit(f"{' '.join(map(str, command))}: status {status}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output


def kernels():
    listed = subprocess.run(
        [ROOT / "scripts/compare-kernels.sh"], stdout=subprocess.PIPE, text=True, check=True
    )
    paths = dict(line.split(" ", 1) for line in listed.stdout.splitlines())
    pairs = [("cloud-old", "cloud"), ("standard", "rt"), ("cloud", "standard")]
    return [(f"{old}, {new}", paths[old], paths[new]) for old, new in pairs]


def sized(output):
    """The structs that codiff says have another size, with by how much."""
    lines = re.findall(r"^  struct (\S+) \| +([+-]\d+)$", output, re.MULTILINE)
    return {name: int(change) for name, change in lines if int(change) != 0}


def document(old, new, *options):
    return json.loads(timed([RELAYOUT, "diff", "--json", *options, old, new])[3])


def check(name, old, new, codiff):
    there, back, self = document(old, new), document(new, old), document(old, old)
    if self["types"]:
        sys.exit(f"{name}: differs from itself in {self['types'][0]['name']}")

    def having(document, status):
        return sorted(each["name"] for each in document["types"] if each["status"] == status)

    for one, other in [("added", "removed"), ("removed", "added"), ("changed", "changed")]:
        if having(there, one) != having(back, other):
            sys.exit(f"{name}: {one} there is not {other} back")
    # Of several types with one name codiff compares any two.
    known = {each["name"] for each in there["types"]}
    missing = {name: change for name, change in sized(codiff).items() if name not in known}
    if not missing:
        return there["summary"], []
    # It also compares definitions with mere declarations, which have no size.
    sizes = {each["name"]: each["new_size"] for each in document(old, new, "--all")["types"]}
    return there["summary"], [
        name for name, change in missing.items() if abs(change) != sizes.get(name)
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-codiff", action="store_true")
    parser.add_argument("files", nargs="*", metavar="OLD NEW")
    options = parser.parse_args()
    if len(options.files) not in (0, 2):
        parser.error("give OLD and NEW, or neither")
    pairs = [("OLD, NEW", *options.files)] if options.files else kernels()
    peer = not options.no_codiff
    if peer and not shutil.which("codiff"):
        sys.exit("codiff is missing: apt-get install dwarves, or --no-codiff")
    print("| kernels | diff, s | CPU s | MB | codiff, s | MB | ratio | changed | codiff only |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, old, new in pairs:
        rounds = [timed([RELAYOUT, "diff", old, new])[:3] for _ in range(options.rounds)]
        wall, cpu, memory = (statistics.median(column) for column in zip(*rounds))
        other = timed(["codiff", "-s", old, new]) if peer else (float("nan"),) * 3 + ("",)
        summary, missing = check(name, old, new, other[3])
        print(
            f"| {name} | {wall:.2f} | {cpu:.2f} | {memory:.0f} | {other[0]:.1f} | {other[2]:.0f} "
            f"| {other[0] / wall:.0f} | {summary['changed']} | {len(missing)} |",
            flush=True,
        )
        for each in missing[:10]:
            print(f"  codiff only: {each}", file=sys.stderr)


if __name__ == "__main__":
    main()
