#!/usr/bin/env python3
"""Holds `record kernel --move` against kernels that are really built with the other layout.

For each struct, benches/moved/STRUCT.patch lays it out otherwise. Both kernels are built (`relayout verify kernel` does), and the change of
the rate from one to the other is set beside that of the first kernel with `--move`, which says that the same members lie where the
patch puts them. Prints Markdown.

    benches/moved.py --work DIR [--boots 3] [--source LINUX] [STRUCT...]

Each boot finds another state: which CPU has which object, and who comes first. So each kernel is booted several times, the same boot of the
first one executes with `--move` and without, and medians are compared. How far the boots of one kernel differ stands beside them.

A build takes minutes, and most patches change a header that nearly all files include. Kernels and rates stay in DIR and are not made
again: give another DIR for another build of relayout.
"""
import argparse
import dataclasses
import hashlib
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

from built_kernels import build_pair

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELAYOUT = os.environ.get("RELAYOUT") or ROOT / "target/release/relayout"
MACHINE = "sapphire-rapids-2s"
LINE_BYTES = 64


@dataclasses.dataclass(frozen=True)
class Row:
    workload: str
    cpus: int
    # Objects that `--move` takes: those of a slab cache, or a variable.
    objects: str
    simulate: str = "2ms"


ROWS = {
    "mm_struct": Row("mmap1", 16, "mm_struct", "10ms"),
    "task_struct": Row("pipe", 16, "task_struct"),
    "rq": Row("pipe", 16, "runqueues"),
    "vm_area_struct": Row("tlb", 16, "vm_area_struct", "5ms"),
    "dentry": Row("stat-one", 20, "dentry"),
    "shmem_inode_info": Row("stat", 16, "shmem_inode_cache"),
    "optimistic_spin_node": Row("fcopy", 40, "osq_node", "10ms"),
    "pcpu_chunk": Row("mntns", 8, "pcpu_chunk", "40ms"),
}


def run(words, codes=(0,)):
    done = subprocess.run([RELAYOUT, *map(str, words)], capture_output=True, text=True)
    if done.returncode not in codes:
        sys.exit(f"relayout {' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def moves_of(name, row, before, after):
    """The patch as moves of bytes. What lies behind the struct of before has a line for itself."""
    words = ["diff", "--json", before.debug, after.debug, name]
    changed = json.loads(run(words, codes=(0, 1)))["types"][0]
    extents = {(member["old_offset"], member["new_offset"], member["old_size"]) for member in changed["members"]}
    moved = sorted((new, old, size) for old, new, size in extents if old != new)
    # Objects of a cache may be larger than the struct, as those of task_struct are.
    objects = f"{row.objects}:{name}"
    lines_end = math.ceil(changed["old_size"] / LINE_BYTES) * LINE_BYTES
    for new, old, size in moved:
        yield f"{objects}@{old}..{old + size}={new if new + size <= lines_end else 'own-line'}"


def rate(work, row, kernel, boot, moves=()):
    """Operations a second in simulated time, after the boot of this number."""
    words = ["record", "kernel", "-q", "--rates", "--json", *kernel.words(), "--workload", row.workload]
    words += ["--machine", MACHINE, "--cpus", row.cpus, "--simulate", row.simulate]
    words += ["--memory", "512M", "--seed", boot, "--append", f"moved.boot={boot}", *(word for move in moves for word in ("--move", move))]
    kept = work / (hashlib.sha256(" ".join(map(str, words)).encode()).hexdigest()[:16] + ".json")
    if not kept.exists():
        kept.write_text(run(words))
    return json.loads(kept.read_text())["operations_per_second"]


def print_row(options, name):
    row = ROWS[name]
    before, after = build_pair(RELAYOUT, options.work, f"benches/moved/{name}.patch", options.source)
    moves = list(moves_of(name, row, before, after))
    boots = range(1, options.boots + 1)
    today = [rate(options.work, row, before, boot) for boot in boots]
    built = [rate(options.work, row, after, boot) for boot in boots]
    moved = [rate(options.work, row, before, boot, moves) for boot in boots]
    gain_built = statistics.median(built) / statistics.median(today)
    gain_moved = statistics.median(then / now for now, then in zip(today, moved))
    spreads = [(max(side) - min(side)) / statistics.median(side) for side in (today, built)]
    print(
        f"| {name} | {row.workload}, {row.cpus} | {statistics.median(today) / 1e6:.3f} | {spreads[0]:.1%}, {spreads[1]:.1%} | {gain_built:.3f} | {gain_moved:.3f} "
        f"| {gain_moved / gain_built:.3f} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("moved"))
    parser.add_argument("--source", type=pathlib.Path, help="the kernel's source [default: the one that `relayout setup` fetched]")
    parser.add_argument("--boots", type=int, default=3)
    parser.add_argument("rows", nargs="*", choices=[[], *ROWS])
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    print("| struct | workload, CPUs | as it is, M/s | from boot to boot, before and after | gain, built | gain, `--move` | their ratio |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for name in options.rows or ROWS:
        print_row(options, name)


if __name__ == "__main__":
    main()
