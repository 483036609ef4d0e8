#!/usr/bin/env python3
"""What reading layouts costs, beside the peers, in one run. Prints a Markdown table; quote its ratios:
the machine is never quiet.

    benches/layouts.py [--rounds N] [--other VMLINUX] [VMLINUX]

pahole and codiff come with the package dwarves; layout-audit and ddbug are built by `cargo install` into
the cache the first time. A peer that cannot be had is left out, and named. With --other, another vmlinux
with DWARF, diff is measured too (against codiff).

Rounds alternate between all commands, so that all see the same machine; times are medians of wall time.
What takes longer than ten seconds is run once.
Memory is the most anonymous memory (`RssAnon`, so without pages of mapped files) that was seen at a look
every millisecond, of a run by itself.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELAYOUT = ROOT / "target/release/relayout"
CACHE = pathlib.Path(
    os.environ.get("RELAYOUT_CACHE")
    or pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "relayout"
)
# The first unit of a kernel has the one, so that pahole, which stops at the first, need not look further.
EARLY, LATE = "mm_struct", "pcpu_chunk"
# What takes longer is not run again in each round.
SECONDS_MAX = 10


def peer(name):
    """A peer's program, installed first if it is a crate that is missing."""
    found = shutil.which(name) or shutil.which(name, path=CACHE / "peers/bin")
    if found or name in ("pahole", "codiff"):
        return found
    print(f"building {name} ...", file=sys.stderr)
    done = subprocess.run(["cargo", "install", "--quiet", "--root", CACHE / "peers", name])
    return shutil.which(name, path=CACHE / "peers/bin") if done.returncode == 0 else None


def walk():
    """The yardstick: every entry of the DWARF read by gimli, nothing kept."""
    subprocess.run(
        ["cargo", "build", "--quiet", "--release", "-p", "relayout-layout", "--example", "walk"],
        cwd=ROOT,
        check=True,
    )
    return ROOT / "target/release/examples/walk"


def commands(vmlinux):
    """(what, name, command), ours first for each what."""
    show = [RELAYOUT, "show"]
    pahole, audit, ddbug = peer("pahole"), peer("layout-audit"), peer("ddbug")
    return [
        ("all types, DWARF", "relayout", [*show, vmlinux]),
        ("all types, DWARF", "pahole -j1", pahole and [pahole, "-j1", vmlinux]),
        ("all types, DWARF", "pahole -j2", pahole and [pahole, "-j2", vmlinux]),
        ("all types, DWARF", "ddbug", ddbug and [ddbug, "--category", "type", vmlinux]),
        ("all types, DWARF", "bare gimli walk", [walk(), vmlinux]),
        ("all types expanded, DWARF", "relayout", [*show, "-E", vmlinux]),
        ("all types expanded, DWARF", "pahole -j2", pahole and [pahole, "-j2", "-E", vmlinux]),
        *(
            row
            for name in (EARLY, LATE)
            for row in [
                (f"`{name}`, DWARF", "relayout", [*show, vmlinux, name]),
                (
                    f"`{name}`, DWARF",
                    "pahole",
                    pahole and [pahole, "-F", "dwarf", "-C", name, vmlinux],
                ),
                (
                    f"`{name}`, DWARF",
                    "layout-audit",
                    audit and [audit, "inspect", vmlinux, "--filter", name, "-o", "json"],
                ),
            ]
        ),
        ("all types, BTF", "relayout", [*show, "--btf", vmlinux]),
        ("all types, BTF", "pahole", pahole and [pahole, "-F", "btf", vmlinux]),
        (f"`{LATE}`, BTF", "relayout", [*show, "--btf", vmlinux, LATE]),
        (f"`{LATE}`, BTF", "pahole", pahole and [pahole, "-F", "btf", "-C", LATE, vmlinux]),
    ]


def run(command):
    """Wall seconds."""
    begun = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    seconds = time.perf_counter() - begun
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr.decode()[-500:]}")
    return seconds


def anonymous_mb(command):
    """Most anonymous memory of a run, in megabytes."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    status, most = pathlib.Path(f"/proc/{process.pid}/status"), 0
    while process.poll() is None:
        for line in status.read_text().splitlines():
            if line.startswith("RssAnon:"):
                most = max(most, int(line.split()[1]))
        time.sleep(0.001)
    return most / 1000


def table(rows, rounds):
    times = {index: [] for index in range(len(rows))}
    for _ in range(rounds):
        for index, (_, _, command) in enumerate(rows):
            if max(times[index], default=0) < SECONDS_MAX:
                times[index].append(run(command))
    print("| what | tool | wall, s | of relayout's | anonymous memory, MB |")
    print("| --- | --- | ---: | ---: | ---: |")
    ours = {}
    for index, (what, name, command) in enumerate(rows):
        median = statistics.median(times[index])
        base = ours.setdefault(what, median)
        memory = anonymous_mb(command)
        print(f"| {what} | {name} | {median:.3f} | {median / base:.1f} | {memory:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--other", type=pathlib.Path, help="another vmlinux, to measure diff")
    default = CACHE / "kernel/current/vmlinux"
    parser.add_argument("vmlinux", nargs="?", type=pathlib.Path, default=default)
    options = parser.parse_args()
    for path in filter(None, [options.vmlinux, options.other, RELAYOUT]):
        if not path.is_file():
            sys.exit(f"{path} is not there; scripts/setup.sh and cargo build --release make it")
    rows = commands(options.vmlinux)
    for what, name, command in rows:
        if not command:
            print(f"left out: {name} ({what}) is not installed", file=sys.stderr)
    table([row for row in rows if row[2]], options.rounds)
    if options.other:
        both = [options.vmlinux, options.other]
        rows = [("diff of two vmlinux", "relayout", [RELAYOUT, "diff", *both])]
        if peer("codiff"):
            rows.append(("diff of two vmlinux", "codiff", [peer("codiff"), "-s", *both]))
        print()
        table(rows, options.rounds)


if __name__ == "__main__":
    main()
