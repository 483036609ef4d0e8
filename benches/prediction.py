#!/usr/bin/env python3
"""Holds predicted gains against hardware: the programs of cases/ with the bad layout, recorded under QEMU, predicted
by the timed model for the other layout, and measured in both. The last rows are a program with mutexes and more
threads than CPUs.

    benches/prediction.py [--relayout PATH] [--predict PATH] [--case NAME] [--json] [--keep DIR] [--machine FILE]
    benches/prediction.py --keep DIR     # again with what was kept there

A hypervisor moves virtual CPUs: for seconds they are two threads of one core, which do not take lines from each other,
and then two cores. The machine is probed, and programs count, only while handing over a word takes long (--apart).
Needs make, a C compiler, the command, qemu-user, and the example `predict_threads` (cargo build --release -p
relayout-session --example predict_threads). Writes the table of docs/prediction.md to standard output.
"""

import argparse
import importlib.machinery
import importlib.util
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
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


# Operations of each thread while it is recorded.
ITERATIONS = 3000
# How often the machine is probed until its CPUs were apart all the time.
PROBES_MAX = 30
# Starts of each layout that count, and seconds after which no more are tried.
STARTS = 12
SECONDS_MAX = 180
# Exit code of a program whose start does not count, and the time until the next is tried.
NOISY, PAUSE = 3, 0.25
RESAMPLES = 2000
CHUNK = ["move:56:8:64"]
RWSEM = ["move:128:8:120", "move:136:8:128"]
NODE = ["move:20:4:64"]
CHECK = ["check:20:4"]
# The members that are used, from bad/ to good/ (PROGRAM --layout); that cpu is stored to without a change is
# what case 5 is about, and not seen by QEMU, so it is said here.
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

# Four threads under so many mutexes: the program, its change as text, and as an option of `relayout what-if`.
LOCKS = ROOT / "crates/relayout/tests/data/locks.c"
LOCKS_COUNTS = [8, 1]
LOCKS_NAME = "locks.c, 4 threads with {} on 2 CPUs"
LOCKS_CHANGE = ("long setting;", "long setting __attribute__((aligned(64)));")
LOCKS_OPTIONS = ["table", "--align", "setting=64"]
# Rounds of each thread while it is recorded, and in a start that is measured.
LOCKS_RECORDED, LOCKS_ROUNDS = 3000, 1_000_000


def probe(relayout, path):
    """Measures the machine; false where its CPUs were moved meanwhile."""
    done = subprocess.run([relayout, "probe", "-o", path], capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    return done.returncode == 0


def probe_apart(options, path):
    """Probes the machine until its CPUs were apart all the time."""
    for _ in range(PROBES_MAX):
        if not probe(options.relayout, path):
            continue
        found = json.loads(path.read_text())
        visits = [visit["ns"]["value"] for visit in found["visits"]]
        if found["transfers"][0]["ns"] >= options.apart and None not in visits:
            return
    raise SystemExit("the machine's CPUs are threads of one core, or moved all the time")


def record(loop, settings):
    """Records the bad layout under QEMU to `profile`, and returns the object: its address and bytes."""
    program = loop.build("recorded", "bad")
    said = loop.run(loop.relayout, "record", "run", "--with", "qemu", "-o", loop.folder / "profile", "--", program, *settings,
                    "--iterations", ITERATIONS, "--objects")
    found = [line.split() for line in said.splitlines() if line.startswith("object ")]
    return f"{found[0][1]}:{found[0][2]}"


def predicted(options, kept, changes):
    """By thread in the order they were started: ratio, low, high. None where threads wait for one another, and nothing
    is predicted."""
    words = [options.predict, kept / "profile", options.machine_file, (kept / "object").read_text(), 2, *changes]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode:
        if done.stderr.startswith("waiting: "):
            return None
        if done.stderr.startswith("TooFew"):
            # No line of the object was used by two threads: it gains nothing.
            return []
        raise SystemExit(done.stderr)
    if options.rules:
        print(done.stdout, file=sys.stderr)
    rows = [line.split() for line in done.stdout.splitlines() if not line.startswith("#")]
    return [[float(number) for number in row[1:]] for row in rows]


def direction(low, high):
    """-1 for a loss, 1 for a gain, 0 for neither."""
    return -1 if high < 1 - MARGIN else 1 if low > 1 + MARGIN else 0


def start(program, options, settings):
    """Operations of each thread in a second; None if the start does not count."""
    words = [program, *settings, "--seconds", options.seconds, "--fifo", "--apart", options.apart, "--json"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode == NOISY:
        time.sleep(PAUSE)
        return None
    return [thread["mops"] for thread in json.loads(done.stdout)["threads"]]


def ratio_of_medians(before, after):
    """The ratio of the medians of two samples, with the ends of its 95% bootstrap interval."""
    draw = random.Random(1)
    ratio = lambda a, b: statistics.median(b) / statistics.median(a)
    drawn = sorted(ratio(draw.choices(before, k=len(before)), draw.choices(after, k=len(after)))
                   for _ in range(RESAMPLES))
    return [ratio(before, after), drawn[RESAMPLES * 25 // 1000], drawn[RESAMPLES * 975 // 1000]]


def measure(cases, options, kept, row):
    """Records the bad layout into `kept`, and measures what a row's threads gain."""
    program, settings, target, _ = row
    loop = cases.Loop(cases.Case(program, [], set(), [], settings), options, kept)
    (kept / "object").write_text(record(loop, settings))
    programs = [loop.build("before", "bad"), loop.build("accepted", target)]
    counted, end = [[], []], time.monotonic() + SECONDS_MAX
    while min(map(len, counted)) < STARTS and time.monotonic() < end:
        # One after the other, the one with fewer first.
        number = int(len(counted[1]) < len(counted[0]))
        found = start(programs[number], options, settings)
        if found:
            counted[number].append(found)
    if min(map(len, counted)) < STARTS // 2:
        raise cases.Failure(f"{[len(found) for found in counted]} starts with CPUs apart are too few")
    threads = zip(*(zip(*found) for found in counted))
    measured = [ratio_of_medians(before, after) for before, after in threads]
    (kept / "measured.json").write_text(json.dumps({"ratios": measured, "mops": counted}))


def measure_locks(cases, options, kept, mutexes):
    """Records the program with so many mutexes into `kept`, and measures what the change of its layout gains."""
    loop = cases.Loop(cases.Case("pcpu_chunk", [], set(), [], []), options, kept)
    # It tells whether the CPUs are apart.
    witness = loop.build("witness", "bad")
    before, after = LOCKS.read_text(), LOCKS.read_text().replace(*LOCKS_CHANGE)
    for name, text in [("before", before), ("after", after)]:
        (kept / f"{name}.c").write_text(text)
        loop.run("cc", "-O2", "-g", "-pthread", "-o", kept / f"{name}-locks", kept / f"{name}.c")
    loop.run(loop.relayout, "record", "run", "--with", "qemu", "-o", kept / "profile", "--", kept / "before-locks",
             LOCKS_RECORDED, mutexes)
    counted, end = [[], []], time.monotonic() + 2 * SECONDS_MAX
    is_apart = False
    while min(map(len, counted)) < STARTS and time.monotonic() < end:
        number = int(len(counted[1]) < len(counted[0]))
        is_apart = is_apart or start(witness, options, []) is not None
        if not is_apart:
            continue
        begun = time.monotonic()
        loop.run(kept / f"{['before', 'after'][number]}-locks", LOCKS_ROUNDS, mutexes)
        took = time.monotonic() - begun
        # One start of the witness lies between two of the program.
        is_apart = start(witness, options, []) is not None
        if is_apart:
            counted[number].append(1 / took)
    if min(map(len, counted)) < STARTS // 2:
        raise cases.Failure(f"{[len(found) for found in counted]} starts with CPUs apart are too few")
    (kept / "measured.json").write_text(json.dumps({"ratios": [ratio_of_medians(*counted)], "mops": counted}))


def predict_locks(options, kept, name):
    """The row of the program with mutexes."""
    words = [options.relayout, "what-if", kept / "profile", *LOCKS_OPTIONS, "--machine", options.machine_file, "--cpus", 2,
             "--json"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    point = json.loads(done.stdout)["given"]["predicted_curve"]["curve"][0]
    measured = json.loads((kept / "measured.json").read_text())["ratios"][0]
    return compare({"case": name, "thread": "all", "measured": measured},
                   [point["ratio"], point["low"], point["high"]])


def locks_rows(cases, options, folder):
    """What is found of the program with mutexes, as far as the machine let it be measured."""
    rows = []
    for mutexes in LOCKS_COUNTS:
        name = LOCKS_NAME.format("one mutex" if mutexes == 1 else f"{mutexes} mutexes")
        kept = folder / f"locks{mutexes}"
        kept.mkdir(parents=True, exist_ok=True)
        try:
            if not (kept / "measured.json").exists():
                measure_locks(cases, options, kept, mutexes)
            rows.append(predict_locks(options, kept, name))
        except cases.Failure as failure:
            print(f"{name}: {failure}", file=sys.stderr)
    return rows


def compare(thread, guess):
    """The thread with its prediction beside the measurement."""
    value, low, high = guess
    found, *ends = thread["measured"]
    return thread | {
        "predicted": guess,
        "error": abs(value / found - 1),
        "overlap": low <= ends[1] and ends[0] <= high,
        "opposite": direction(low, high) * direction(*ends) < 0,
        "same_direction": direction(low, high) == direction(*ends),
    }


def predict(options, row, kept):
    """A dictionary for each thread."""
    program, settings, target, changes = row
    measured = json.loads((kept / "measured.json").read_text())["ratios"]
    guess = predicted(options, kept, changes)
    name = " ".join([program, *settings, "" if target == "good" else target]).strip()
    threads = []
    for number, found in enumerate(measured):
        thread = {"case": name, "thread": chr(ord("A") + number), "measured": found}
        if guess is not None:
            # A thread that uses no line that others use gains nothing.
            thread = compare(thread, guess[number] if number < len(guess) else [1.0, 1.0, 1.0])
        threads.append(thread)
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
    parser.add_argument("--predict", type=Path, default=ROOT / "target/release/examples/predict_threads")
    parser.add_argument("--case", action="append", help="only cases whose name begins so")
    parser.add_argument("--seconds", type=float, default=0.3, help="length of one start [0.3]")
    parser.add_argument("--apart", type=int, default=100,
                        help="nanoseconds that handing over a word takes at least [100]")
    parser.add_argument("--machine", dest="machine_file", type=Path,
                        help="predict for the machine of this file [default: this one, probed]")
    parser.add_argument("--keep", type=Path, help="leave recordings and measurements in this folder, and use those there")
    parser.add_argument("--rules", action="store_true", help="print the predictions and the rules that move them most")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    options.relayout, options.machine, options.budget = options.relayout.resolve(), None, None
    cases, rows = load_cases(), []
    with tempfile.TemporaryDirectory(prefix="relayout-prediction-") as temporary:
        folder = options.keep or Path(temporary)
        if not options.machine_file:
            options.machine_file = folder / "machine.json"
            probe_apart(options, options.machine_file)
        for number, row in enumerate(ROWS):
            if options.case and not any(row[0].startswith(name) for name in options.case):
                continue
            kept = folder / str(number)
            try:
                kept.mkdir(parents=True, exist_ok=True)
                if not (kept / "measured.json").exists():
                    measure(cases, options, kept, row)
                rows += predict(options, row, kept)
            except cases.Failure as failure:
                print(f"{row[0]} {' '.join(row[1])}: {failure}", file=sys.stderr)
        if not options.case or "locks" in options.case:
            rows += locks_rows(cases, options, folder)
    print(json.dumps(rows, indent=1) if options.json else show(rows))


if __name__ == "__main__":
    main()
