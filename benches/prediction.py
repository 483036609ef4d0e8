#!/usr/bin/env python3
"""Holds predicted gains against hardware: the programs of cases/, recorded with the bad layout, predicted for
the other one, and measured in both.

    benches/prediction.py [--relayout PATH] [--predict PATH] [--case NAME] [--budget SECONDS] [--json]

The machine is probed before each is measured, and all are predicted from the median of the probes.
Needs what cases/run needs, the command, and the example `predict` (cargo build --release -p relayout-contend
--example predict). Writes the table of docs/prediction.md to standard output.
"""

import argparse
import importlib.machinery
import importlib.util
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# A prediction and a measurement have the same direction if neither is on the other side of this.
MARGIN = 0.05


def load_cases():
    """cases/run as a module."""
    loader = importlib.machinery.SourceFileLoader("cases_run", str(ROOT / "cases/run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("cases_run", loader))
    # Dataclasses look their module up.
    sys.modules["cases_run"] = module
    loader.exec_module(module)
    return module


# How often the machine is probed until all is told.
PROBES = 5
KINDS = ["load", "store", "update", "exchange"]
CHUNK = ["move:56:8:64"]
RWSEM = ["move:128:8:120", "move:136:8:128"]
NODE = ["move:20:4:64"]
CHECK = ["check:20:4"]
# The members that are used, from bad/ to good/ (PROGRAM --layout); that cpu is stored to without a change is
# what case 5 is about, and not seen by the compiled-in runtime, so it is said here.
ROWS = [
    ("pcpu_chunk", [], "good", CHUNK),
    ("pcpu_chunk", ["--work", "30"], "good", CHUNK),
    ("pcpu_chunk", ["--work", "100"], "good", CHUNK),
    ("pcpu_chunk", ["--work", "300"], "good", CHUNK),
    ("optimistic_spin_node", [], "good", NODE),
    ("optimistic_spin_node", [], "bad-checked", CHECK),
    ("optimistic_spin_node", [], "checked", [*NODE, *CHECK]),
    ("optimistic_spin_node", ["--work", "300"], "checked", [*NODE, *CHECK]),
    ("mm_struct", ["--mix", "roles"], "good", RWSEM),
    ("mm_struct", ["--mix", "xadd"], "good", RWSEM),
    ("mm_struct", ["--mix", "both"], "good", RWSEM),
    ("mem_cgroup", ["--mix", "roles"], "good", ["move:1304:8:2520", "move:1344:1176:1280"]),
    ("mem_cgroup", ["--mix", "both"], "good", ["move:1304:8:2520", "move:1344:1176:1280"]),
    ("call_single_data", ["--mix", "queue"], "good", ["align:32"]),
    ("call_single_data", ["--mix", "handshake"], "good", ["align:32"]),
]


def costs(relayout, folder):
    """What the machine's accesses cost, in the order of `predict`; None where its CPUs were moved meanwhile."""
    path = folder / "machine.json"
    done = subprocess.run([relayout, "probe", "-o", path], capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return None
    machine = json.loads(path.read_text())
    by_kinds = {(one["kind"], one["against"]): one for one in machine["accesses"]}
    # Two that load do not take the line from each other.
    by_kinds["load", "load"] = {"contended_ns": {"value": 0}}
    numbers = [machine["transfers"][0]["ns"]]
    numbers += [by_kinds[kind, "update"]["alone_ns"]["value"] for kind in KINDS]
    numbers += [by_kinds[kind, against]["contended_ns"]["value"] for kind in KINDS for against in KINDS]
    return None if None in numbers else numbers


def predicted(options, profile, program, cost, changes):
    """By thread in the order they were started: ratio, low, high; none where nobody loses the object's lines. None where
    threads wait for one another, and nothing is predicted."""
    words = [options.predict, profile, cost, program, *changes]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode:
        if "nobody waits" in done.stderr:
            return []
        if done.stderr.startswith("waiting: "):
            return None
        raise SystemExit(done.stderr)
    rows = [line.split() for line in done.stdout.splitlines()]
    return [[float(number) for number in row[1:]] for row in rows if row[0] != "all"]


def direction(low, high):
    """-1 for a loss, 1 for a gain, 0 for neither."""
    return -1 if high < 1 - MARGIN else 1 if low > 1 + MARGIN else 0


def measure(cases, options, folder, row):
    """What a row's threads gain, the recording of the bad layout, and what accesses cost meanwhile."""
    program, settings, target, _ = row
    iterations = 20_000 if program == "call_single_data" else 1_000_000
    case = cases.Case(program, [], set(), [], settings, iterations=iterations)
    loop = cases.Loop(case, options.relayout, folder, options.seconds, options.budget)
    profile = loop.record()
    before, after = loop.build("before", "bad"), loop.build("accepted", target)
    cost = None
    for _ in range(0 if options.costs else PROBES):
        cost = cost or costs(options.relayout, folder)
    return loop.verify(before, after, cases.Change(target, "any")), profile, cost


def predict(options, row, measured, profile, cost):
    """A dictionary for each thread."""
    program, settings, target, changes = row
    guess = predicted(options, profile, program, ",".join(f"{number:.4f}" for number in cost), changes)
    name = " ".join([program, *settings, "" if target == "good" else target]).strip()
    threads = []
    for number, metric in enumerate(measured):
        if metric["ci95_percent"] is None:
            continue
        found = 1 + metric["change_percent"] / 100
        ends = [1 + end / 100 for end in metric["ci95_percent"]]
        thread = {"case": name, "thread": metric["name"].split()[-1], "measured": [found, *ends]}
        threads.append(thread)
        if guess is None:
            continue
        value, low, high = guess[number] if number < len(guess) else (1.0, 1.0, 1.0)
        thread.update({
            "predicted": [value, low, high],
            "error": abs(value / found - 1),
            "overlap": low <= ends[1] and ends[0] <= high,
            "opposite": direction(low, high) * direction(*ends) < 0,
            "same_direction": direction(low, high) == direction(*ends),
        })
    return threads


def show(rows):
    """The table, in Markdown."""
    lines = ["| case | thread | predicted | measured | error | same direction | intervals overlap |",
             "| --- | --- | ---: | ---: | ---: | --- | --- |"]
    def ratio(three):
        return f"{three[0]:.2f} ({three[1]:.2f} to {three[2]:.2f})"

    yes = {True: "yes", False: "no"}
    for row in rows:
        if "predicted" not in row:
            lines.append(f"| {row['case']} | {row['thread']} | none | {ratio(row['measured'])} | | | |")
            continue
        lines.append(f"| {row['case']} | {row['thread']} | {ratio(row['predicted'])} | {ratio(row['measured'])} | "
                     f"{100 * row['error']:.0f}% | {yes[row['same_direction']]}{', opposite' if row['opposite'] else ''} | "
                     f"{yes[row['overlap']]} |")
    rows = [row for row in rows if "predicted" in row]
    errors = [row["error"] for row in rows]
    lines.append(f"\nMedian error {100 * statistics.median(errors):.0f}%; same direction in "
                 f"{sum(row['same_direction'] for row in rows)} of {len(rows)}, opposite in "
                 f"{sum(row['opposite'] for row in rows)}; intervals overlap in {sum(row['overlap'] for row in rows)}.")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relayout", type=Path, default=ROOT / "target/release/relayout")
    parser.add_argument("--predict", type=Path, default=ROOT / "target/release/examples/predict")
    parser.add_argument("--costs", help="use these instead of probing: 21 numbers, as `predict` takes them")
    parser.add_argument("--case", action="append", help="only cases whose name begins so")
    parser.add_argument("--seconds", type=float, default=0.3, help="length of one start [0.3]")
    parser.add_argument("--budget", type=int, default=15, help="seconds for measuring one case [15]")
    parser.add_argument("--keep", type=Path, help="leave the recordings in this folder")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    options.relayout = options.relayout.resolve()
    cases, found, rows = load_cases(), [], []
    with tempfile.TemporaryDirectory(prefix="relayout-prediction-") as temporary:
        for number, row in enumerate(ROWS):
            if options.case and not any(row[0].startswith(name) for name in options.case):
                continue
            folder = Path(temporary) / str(number)
            folder.mkdir()
            try:
                found.append((row, *measure(cases, options, folder, row)))
            except cases.Failure as failure:
                print(f"{row[0]} {' '.join(row[1])}: {failure}", file=sys.stderr)
            if options.keep:
                shutil.copytree(folder / "profile", options.keep / str(number), dirs_exist_ok=True)
        # A virtual machine's CPUs are moved about, and others use what they share: one probe tells of seconds.
        probes = [probe for *_, probe in found if probe]
        if options.costs:
            probes = [[float(number) for number in options.costs.split(",")]]
        if not probes:
            raise SystemExit("the machine is too noisy to be probed")
        cost = [statistics.median(numbers) for numbers in zip(*probes)]
        for row, measured, profile, _ in found:
            rows += predict(options, row, measured, profile, cost)
    print(json.dumps(rows, indent=1) if options.json else show(rows))


if __name__ == "__main__":
    main()
