#!/usr/bin/env python3
"""How small the recommended edits are, and how much of the best gain they keep. Prints a Markdown table.

    benches/edits.py [--source DIR] [--checkpatch] [--compile ARCH:CONFIG] [--also] [--type TYPE@WORKLOAD] WORKLOAD=PROFILE...

Each of the structs is searched in the recording of the workload where it is hot. With --also, the
recommended layout is scored in all other recordings too, and with --source DIR its patch is written
against that tree; --checkpatch runs DIR/scripts/checkpatch.pl on it, and --compile ARCH:CONFIG compiles it.

Kept is the part of the best gain found that the recommended layout keeps. A layout passes if it moves at
most three members and keeps at least two thirds; with --source, only if its patch is written.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Struct, and the workload of `relayout record kernel` that it is hot in.
HOT = [
    ("mm_struct", "mmap1"),
    ("task_struct", "pipe"),
    ("rq", "pipe"),
    ("vm_area_struct", "execl"),
    ("dentry", "stat-one"),
    ("shmem_inode_info", "execl"),
    ("optimistic_spin_node", "mmap1"),
    ("pcpu_chunk", "mntns"),
]
MEMBERS_FEW = 3
KEPT_MIN = 2 / 3


def advise(options, profiles, struct, workload, patch):
    """The advice on a struct, the seconds it took, and the CPU seconds."""
    words = [options.relayout, "advise", profiles[workload], struct, "--json"]
    if options.also:
        for name, profile in profiles.items():
            words += ["--also", profile] if name != workload else []
    if options.source:
        # A recording beside other work is doubted, which is not what is measured here.
        words += ["--source", options.source, "--patch", patch, "--force"]
    for configuration in options.compile:
        words += ["--compile", configuration]
    begun, cpu = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, capture_output=True, text=True)
    taken, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if not done.stdout:
        sys.exit(f"{' '.join(map(str, words))}: {done.stderr}")
    spent = after.ru_utime + after.ru_stime - cpu.ru_utime - cpu.ru_stime
    return json.loads(done.stdout)["types"][0], taken, spent


def chosen_candidate(advised):
    """The recommended candidate, with guards where those are better, and its pool."""
    check = advised.get("check")
    if check and check["better"]:
        clear = [c for c in check["candidates"] if c.get("patch")]
        if clear:
            return clear[0], check["candidates"]
    if advised.get("recommended") is not None:
        return advised["candidates"][advised["recommended"]], advised["candidates"]
    if check and check["better"]:
        return check["candidates"][0], check["candidates"]
    return None, advised.get("candidates", [])


def elsewhere_words(candidate):
    """What it does in the other recordings: the worst change, and who loses."""
    scored = [s for s in candidate.get("elsewhere") or [] if s.get("current_transfers")]
    if not scored:
        return "-"
    changes = [(s["transfers"] / s["current_transfers"] - 1, s) for s in scored]
    worst = max(change for change, _ in changes)
    losers = [pathlib.Path(s["name"]).stem for _, s in changes if s["hurts"]]
    return f"{len(scored)}: at most {worst:+.1%}" + (f", hurts {', '.join(losers)}" if losers else "")


def checkpatch_words(options, patch):
    """Errors and warnings of checkpatch."""
    if not options.checkpatch or not pathlib.Path(patch).is_file():
        return "-"
    script = pathlib.Path(options.source) / "scripts/checkpatch.pl"
    done = subprocess.run(
        ["perl", script, "--no-tree", "--no-signoff", patch], capture_output=True, text=True
    )
    totals = [line for line in done.stdout.splitlines() if line.startswith("total:")]
    return totals[0].removeprefix("total: ") if totals else done.stderr.strip()


def row(options, profiles, struct, workload, folder):
    patch = os.path.join(folder, f"{struct}.patch")
    advised, taken, spent = advise(options, profiles, struct, workload, patch)
    cells = [f"{struct} ({workload})"]
    candidate, pool = chosen_candidate(advised)
    if candidate is None:
        reason = advised.get("recommended_why") or advised.get("refused")
        return cells + [reason, "", "", "", "", "", f"{taken:.1f} ({spent:.1f})"], False
    today = advised["current"]["transfers"]
    best = min(c["transfers"] for c in pool)
    kept = (today - candidate["transfers"]) / max(today - best, 1)
    edits = candidate["edits"]
    compiled = [c["verdict"] for c in advised.get("compiled") or []]
    cells += [
        f"{candidate['transfers'] / today - 1:+.1%}",
        f"{best / today - 1:+.1%}",
        f"{kept:.0%}",
        f"{edits['members']} moved, {edits['attributes']} aligned, {edits['grown_bytes']:+} bytes"
        + (f", {edits['lines']} lines" if edits["lines"] else ""),
        elsewhere_words(candidate),
        ", ".join([checkpatch_words(options, patch), *compiled]),
        f"{taken:.1f} ({spent:.1f})",
    ]
    is_written = not options.source or os.path.isfile(patch)
    return cells, is_written and edits["members"] <= MEMBERS_FEW and kept >= KEPT_MIN


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("profiles", nargs="+", metavar="WORKLOAD=PROFILE")
    parser.add_argument("--relayout", default=ROOT / "target/release/relayout")
    parser.add_argument("--source")
    parser.add_argument("--also", action="store_true")
    parser.add_argument("--checkpatch", action="store_true")
    parser.add_argument("--compile", action="append", default=[])
    parser.add_argument("--type", action="append", default=[], metavar="TYPE@WORKLOAD")
    options = parser.parse_args()
    profiles = dict(word.split("=", 1) for word in options.profiles)
    asked = [tuple(word.split("@", 1)) for word in options.type] or HOT
    head = ["struct", "recommended", "best", "kept", "edit", "other workloads", "patch", "s (CPU s)"]
    print("| " + " | ".join(head) + " |")
    print("| " + " | ".join("---" for _ in head) + " |")
    passed = 0
    with tempfile.TemporaryDirectory() as folder:
        for struct, workload in asked:
            if workload not in profiles:
                sys.exit(f"no recording of {workload} was given, in which {struct} is hot")
            cells, is_small = row(options, profiles, struct, workload, folder)
            passed += is_small
            print("| " + " | ".join(cells) + " |", flush=True)
    print(f"\n{passed} of {len(asked)} move at most {MEMBERS_FEW} members and keep at least two thirds.")


if __name__ == "__main__":
    main()
