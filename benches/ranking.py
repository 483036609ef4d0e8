#!/usr/bin/env python3
"""Does the ranking survive? Records one workload over seeds, yield intervals and numbers of CPUs, and
prints where chosen findings stand in each recording, as a Markdown table.

    benches/ranking.py [--workload mntns] [--find pcpu_chunk] [--seeds 1 2 3] [--yields 1000 0]
                       [--cpus 2 4 8] [--top 10]

`overlap` is how many of the first N findings are also among the first N of the first row.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

RELAYOUT = pathlib.Path(__file__).resolve().parent.parent / "target/release/relayout"


def run(*arguments):
    done = subprocess.run([RELAYOUT, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"relayout {' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def record(options, cpus, yields, seed, folder):
    profile = pathlib.Path(folder) / "profile"
    run(
        *("record", "kernel", "--order", "host", "--workload", options.workload, "--cpus", cpus, "--seed", seed),
        *("--yield", yields, "-q", "--force", "-o", profile),
    )
    return json.loads(run("report", profile, "--json", "--top", "0"))


def place(finding):
    return finding["type"], finding["line_offset"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workload", default="mntns")
    parser.add_argument("--find", default="pcpu_chunk")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--yields", type=int, nargs="+", default=[1000, 0])
    parser.add_argument("--cpus", type=int, nargs="+", default=[4, 2, 8])
    parser.add_argument("--top", type=int, default=10)
    options = parser.parse_args()
    print(f"| CPUs | yield | seed | transfers | resolved | {options.find}: rank | share "
          f"| false, first touch | false, lifetime | overlap of first {options.top} |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    first = None
    with tempfile.TemporaryDirectory() as folder:
        for cpus in options.cpus:
            for yields in options.yields:
                for seed in options.seeds:
                    report = record(options, cpus, yields, seed, folder)
                    findings = report["findings"]
                    top = {place(f) for f in findings[: options.top]}
                    first = first or top
                    found = next((f for f in findings if f["type"] == options.find), None)
                    row(options, cpus, yields, seed, report, found, len(top & first))


def row(options, cpus, yields, seed, report, found, overlap):
    cells = [cpus, yields, seed, report["transfers_total"], f"{report['resolved_share']:.1%}"]
    if found:
        of = lambda name: f"{found[name] / max(1, found['transfers']):.0%}"
        cells += [found["rank"], f"{found['share']:.2%}", of("false_first_touch"), of("false_lifetime")]
    else:
        cells += ["not seen", "", "", ""]
    print("| " + " | ".join(map(str, [*cells, overlap])) + " |", flush=True)


if __name__ == "__main__":
    main()
