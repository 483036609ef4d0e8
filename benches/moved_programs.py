#!/usr/bin/env python3
"""Holds `what-if --simulate` of programs against programs that are built with the other layout.

Each program of cases/, and the twin of .NET's MemoryCache, is built with the layout before a change and with the one after it. The first is
recorded in simulated time, and executed again with the members where the second has them; the second is executed as it is. Both gains
should be the same. Prints Markdown.

    benches/moved_programs.py --work DIR [--machine NAME] [--cpus N] [--simulate 2ms] [PROGRAM...]

Programs and recordings stay in DIR; recordings are made again.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELAYOUT = os.environ.get("RELAYOUT") or ROOT / "target/release/relayout"


@dataclasses.dataclass(frozen=True)
class Row:
    # Folder of the Makefile that builds it.
    folder: str
    program: str
    arguments: tuple = ()
    # Struct that changes, if it has not the program's name.
    struct: str = ""


ROWS = {
    "pcpu_chunk": Row("cases", "pcpu_chunk"),
    "mm_struct, roles": Row("cases", "mm_struct", ("--mix", "roles")),
    "mm_struct, both": Row("cases", "mm_struct", ("--mix", "both")),
    "mem_cgroup, both": Row("cases", "mem_cgroup", ("--mix", "both")),
    "call_single_data, queue": Row("cases", "call_single_data", ("--mix", "queue")),
    "optimistic_spin_node": Row("cases", "optimistic_spin_node"),
    "memory_cache": Row("benches/twins", "memory_cache", (), "coherent_state"),
}


def run(words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    return done.stdout


def build(work, row):
    """The program with both layouts, without libraries, with the markers of a guest."""
    programs = [work / f"{row.program}-{side}" for side in ("bad", "good")]
    flags = f"CFLAGS=-O2 -g -static -I{ROOT}/collectors/guest"
    run(["make", "-s", "-C", ROOT / row.folder, f"OUT={work}", flags, *programs])
    return programs


def print_row(options, name):
    row = ROWS[name]
    bad, good = build(options.work, row)
    struct = row.struct or row.program
    arguments = [*row.arguments, "--threads", options.cpus, "--seconds", 20]
    machine = ["--with", "qemu", "--machine", options.machine, "--cpus", options.cpus, "--simulate", options.simulate]
    recording = options.work / f"{row.program}.relayout"
    layout = options.work / f"{row.program}.layout"
    layout.write_text(run([RELAYOUT, "show", good, struct]))
    run([RELAYOUT, "record", "run", "-q", *machine, "-o", recording, "--force", "--", bad, *arguments])
    words = ["what-if", recording, struct, "--layout", layout, f"--simulate={options.simulate}", "--draws", 1, "--json"]
    changed = json.loads(run([RELAYOUT, *words, "--", bad, *arguments]))
    point = changed["given"]["predicted_curve"]["curve"][0]
    today, moved = (point[side]["operations_per_second"] for side in ("today", "then"))
    rates = ["record", "run", "-q", *machine, "--rates", "--json", "--", good, *arguments]
    built = json.loads(run([RELAYOUT, *rates]))["operations_per_second"]
    print(
        f"| {name} | {today / 1e6:.2f} | {built / today:.3f} | {moved / today:.3f} | {moved / built:.3f} |", flush=True
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("moved-programs"))
    parser.add_argument("--machine", default="sapphire-rapids-2s")
    parser.add_argument("--cpus", type=int, default=4)
    parser.add_argument("--simulate", default="2ms")
    parser.add_argument("rows", nargs="*", choices=[[], *ROWS])
    options = parser.parse_args()
    options.work = options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    print(f"| program, {options.cpus} threads | M/s | gain, built | gain, mapped | their ratio |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name in options.rows or ROWS:
        print_row(options, name)


if __name__ == "__main__":
    main()
