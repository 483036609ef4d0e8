#!/usr/bin/env python3
"""Does the ranking survive a busy host? Records workloads while busy loops run beside the recording,
and prints, as a Markdown table, how much CPU time they took and what became of the first five findings.

    benches/busy_host.py [--workloads mntns page_fault2 pipe] [--loops 0 0 1 2 4 4]

`same five` is how many of the first row's first five findings are among the first five.
"""
import argparse
import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile

RELAYOUT = pathlib.Path(__file__).resolve().parent.parent / "target/release/relayout"
SHOWN = 5


def run(*arguments):
    done = subprocess.run([RELAYOUT, *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"relayout {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


@contextlib.contextmanager
def busy_loops(count):
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def name(finding):
    # Objects that begin at several places in a line have no offset of their own.
    offset = "" if len(finding["places"]) > 1 else finding["line_offset"]
    return finding["variable"] or finding["type"], offset


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workloads", nargs="+", default=["mntns", "page_fault2", "pipe"])
    parser.add_argument("--loops", type=int, nargs="+", default=[0, 0, 1, 2, 4, 4])
    options = parser.parse_args()
    print("| workload | loops | lost CPU time | said to be busy | transfers | same five | new among them |")
    print("| --- | ---: | ---: | --- | ---: | ---: | --- |")
    with tempfile.TemporaryDirectory() as folder:
        profile = pathlib.Path(folder) / "profile"
        for workload in options.workloads:
            first = None
            for loops in options.loops:
                with busy_loops(loops):
                    run("record", "kernel", "--order", "host", "--workload", workload, "-q", "--force", "-o", profile)
                report = json.loads(run("report", profile, "--json", "--top", str(SHOWN)))
                found = [name(finding) for finding in report["findings"]]
                first = first or found
                new = [f"`{place[0]}`" for place in found if place not in first]
                lost = report["runs"][0]["lost_share"]
                busy = "yes" if report["host_was_busy"] else "no"
                print(f"| {workload} | {loops} | {lost:.0%} | {busy} | {report['transfers_total']} "
                      f"| {SHOWN - len(new)} | {', '.join(new)} |", flush=True)


if __name__ == "__main__":
    main()
