#!/usr/bin/env python3
"""What recording costs: CPU seconds in the window, against the same QEMU with the plugin loaded but
idle, for every workload. Prints a Markdown table; quote its medians, the machine is never quiet.

    benches/cost.py [--rounds N] [--cpus N] [WORKLOAD...]

Idle and recorded windows alternate, so that both see the same machine.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

RELAYOUT = pathlib.Path(__file__).resolve().parent.parent / "target/release/relayout"


def run(*arguments):
    done = subprocess.run([RELAYOUT, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"relayout {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def workloads():
    return [line.split()[0] for line in run("record", "kernel", "--workload", "list").splitlines()]


def idle(workload, cpus):
    words = run("record", "kernel", "--workload", workload, "--cpus", cpus, "--idle", "-q").split()
    return float(words[words.index("window:") + 1])


def recorded(workload, cpus, folder):
    profile = folder / "profile"
    run("record", "kernel", "--workload", workload, "--cpus", cpus, "-q", "--force", "-o", profile)
    one = json.loads((profile / "meta.json").read_text())["runs"][0]
    return one["window_cpu_ns"] / 1e9, one["accesses"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpus", type=int, default=4)
    parser.add_argument("workloads", nargs="*")
    options = parser.parse_args()
    print("| workload | idle, CPU s | recorded, CPU s | ratio | accesses, M | M accesses per CPU s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for workload in options.workloads or workloads():
            rounds = []
            for _ in range(options.rounds):
                base = idle(workload, options.cpus)
                cpu, accesses = recorded(workload, options.cpus, pathlib.Path(folder))
                rounds.append((base, cpu, accesses))
            base, cpu, accesses = (statistics.median(column) for column in zip(*rounds))
            ratios.append(cpu / base)
            print(
                f"| {workload} | {base:.2f} | {cpu:.2f} | {cpu / base:.1f} | {accesses / 1e6:.0f} "
                f"| {accesses / 1e6 / cpu:.1f} |",
                flush=True,
            )
    print(f"| **median** | | | **{statistics.median(ratios):.1f}** | | |")


if __name__ == "__main__":
    main()
