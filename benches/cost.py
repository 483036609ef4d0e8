#!/usr/bin/env python3
"""What recording costs: CPU seconds in the window, against the same QEMU with the plugin loaded but
idle, for every workload. Prints a Markdown table; quote its medians, the machine is never quiet.

Two more windows call back at each access, as a recorded one does. *Counted* only counts: its CPU
time is what remains of the cost if the recorder did nothing at all. *Followed* follows lines from CPU
to CPU, and has no counts by site, values or order: what remains if the recorder recorded nothing.

A workload that spins on locks makes more accesses in the recorded window than in the idle one,
because a slow holder lets the others spin for longer; so the last column compares the CPU time of an
access.

    benches/cost.py [--rounds N] [--cpus N] [--other RELAYOUT] [WORKLOAD...]

Idle and recorded windows alternate, so that both see the same machine. With --other, the command of
another build records in turn with this one, against the same idle windows; it has rows of its own.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

RELAYOUT = pathlib.Path(__file__).resolve().parent.parent / "target/release/relayout"


def run(*arguments, command=RELAYOUT):
    done = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"relayout {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def workloads():
    lines = run("record", "kernel", "--workload", "list").splitlines()
    # Below a heading.
    return [line.split()[0] for line in lines[1:]]


def idle(workload, cpus, what):
    words = run("record", "kernel", "--workload", workload, "--cpus", cpus, f"--idle={what}", "-q").split()
    accesses = int(words[words.index("accesses") - 1]) if "accesses" in words else 0
    return float(words[words.index("window:") + 1]), accesses


def recorded(workload, cpus, folder, command):
    profile = folder / f"profile-{command.parent.parent.parent.name}"
    words = ["record", "kernel", "--order", "host", "--workload", workload, "--cpus", cpus, "-q", "--force"]
    run(*words, "-o", profile, command=command)
    one = json.loads((profile / "meta.json").read_text())["runs"][0]
    return one["window_cpu_ns"] / 1e9, one["accesses"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpus", type=int, default=4)
    parser.add_argument("--other", type=pathlib.Path)
    parser.add_argument("workloads", nargs="*")
    options = parser.parse_args()
    commands = {"": RELAYOUT}
    if options.other:
        commands[" (other)"] = options.other.resolve()
    print("| workload | idle, CPU s | counted | ratio | followed | ratio | recorded | ratio "
          "| accesses counted, M | recorded, M | ns per access, recorded | ratio per access |")
    print("| --- |" + " ---: |" * 11)
    ratios = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        for workload in options.workloads or workloads():
            rounds = [measure_round(workload, options.cpus, commands, pathlib.Path(folder))
                      for _ in range(options.rounds)]
            for name in commands:
                base, counting, few, following, cpu, accesses = (
                    statistics.median(column) for column in zip(*(each[name] for each in rounds)))
                row = counting / base, following / base, cpu / base, cpu / base * few / accesses
                ratios[name].append(row)
                print(
                    f"| {workload}{name} | {base:.2f} | {counting:.2f} | {row[0]:.1f} | {following:.2f} "
                    f"| {row[1]:.1f} | {cpu:.2f} | {row[2]:.1f} | {few / 1e6:.0f} | {accesses / 1e6:.0f} "
                    f"| {cpu / accesses * 1e9:.0f} | {row[3]:.1f} |",
                    flush=True,
                )
    for name, column in ratios.items():
        counting, following, whole, each = (statistics.median(ratio) for ratio in zip(*column))
        print(f"| **median{name}** | | | **{counting:.1f}** | | **{following:.1f}** | | **{whole:.1f}** "
              f"| | | | **{each:.1f}** |")


def measure_round(workload, cpus, commands, folder):
    """By command: CPU seconds idle, CPU seconds and accesses counted, CPU seconds followed, and CPU
    seconds and accesses recorded."""
    (base, _), counted, (following, _) = (idle(workload, cpus, what) for what in ("time", "accesses", "lines"))
    base = base, *counted, following
    return {name: (*base, *recorded(workload, cpus, folder, command))
            for name, command in commands.items()}


if __name__ == "__main__":
    main()
