#!/usr/bin/env python3
"""Measures what guests in simulated time cost the host, and prints a Markdown table: seconds of wall and CPU
time for a simulated millisecond, with no profile (rates) and with one (recording).

    benches/simulated_cost.py --work DIR [--machine NAME] [--simulate MS] [--runs N] [--cpus N]... [WORKLOAD...]

The first window of a guest boots it and keeps its snapshot; the others are measured, and the median of N is
shown. The time before the window and for the names after it is not in them: a window of no length is
measured beside, and subtracted. Profiles lie in DIR.
"""
import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import time

RELAYOUT = pathlib.Path(__file__).resolve().parent.parent / "target/release/relayout"
WORKLOADS = ["stat-one", "fcopy", "mmap1", "execl"]


def run_once(words):
    """Runs the command. Returns its output, and seconds of wall and of CPU time, QEMU's among them."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    done = subprocess.run([RELAYOUT, *words], capture_output=True, text=True)
    wall = time.monotonic() - began
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = sum(getattr(after, name) - getattr(before, name) for name in ("ru_utime", "ru_stime"))
    return done.stdout, wall, cpu


def medians(words, runs):
    measured = [run_once(words) for _ in range(runs)]
    return measured[0][0], *(statistics.median(column) for column in list(zip(*measured))[1:])


def per_millisecond(words, milliseconds, runs):
    _, short_wall, short_cpu = medians([*words, "--simulate", "10us"], runs)
    output, wall, cpu = medians([*words, "--simulate", f"{milliseconds}ms"], runs)
    return output, (wall - short_wall) / milliseconds, (cpu - short_cpu) / milliseconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--machine", default="sapphire-rapids-2s")
    parser.add_argument("--simulate", type=int, default=2, metavar="MS")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--cpus", type=int, action="append")
    parser.add_argument("workloads", nargs="*", default=WORKLOADS)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    print("| workload | CPUs | operations a second | first window, s | rates, wall / CPU s | recording, wall / CPU s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for workload in given.workloads:
        for cpus in given.cpus or [8, 20, 64]:
            words = ["record", "kernel", "-q", "--workload", workload, "--cpus", cpus, "--machine", given.machine]
            words = [*map(str, words), "--time-limit", "3000"]
            rates = [*words, "--rates", "--json"]
            _, first, _ = run_once([*rates, "--simulate", "10us"])
            output, wall, cpu = per_millisecond(rates, given.simulate, given.runs)
            profile = given.work / f"{workload}-{cpus}.relayout"
            recording = [*words, "--force", "-o", profile]
            _, recorded_wall, recorded_cpu = per_millisecond(recording, given.simulate, given.runs)
            rate = json.loads(output)["operations_per_second"]
            print(
                f"| {workload} | {cpus} | {rate:,.0f} | {first:.1f} | {wall:.2f} / {cpu:.2f} "
                f"| {recorded_wall:.2f} / {recorded_cpu:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
