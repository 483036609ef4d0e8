#!/usr/bin/env python3
"""Holds simulated gains against hardware: the programs of cases/ and one with mutexes, with both layouts, executed in the
simulated time of a machine, beside what was measured on it (benches/hardware).

    benches/hardware.py [--machine FILE] [--measured FILE] [--case NAME] [--work DIR]
    benches/hardware.py --measure OUT.tsv     # measures a series on this machine first

A hypervisor moves virtual CPUs: for seconds they are two threads of one core, which do not take lines from each other, and
then two cores. Starts count only while handing over a word takes long (--apart). Needs make, a C compiler, the command and
a cached kernel. Writes the table of docs/prediction.md to standard output.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HARDWARE = ROOT / "benches/hardware"
# A simulation and a measurement have the same direction if neither is on the other side of this.
MARGIN = 0.05
# Starts of each layout that count, and seconds after which no more are tried.
STARTS, SECONDS_MAX = 12, 180
# Exit code of a program whose start does not count, and the time until the next is tried.
NOISY, PAUSE = 3, 0.25
RESAMPLES = 2000
# Program of cases/, its arguments, and the layout that is held against bad/.
ROWS = [
    ("pcpu_chunk", [], "good"),
    ("pcpu_chunk", ["--work", "30"], "good"),
    ("pcpu_chunk", ["--work", "100"], "good"),
    ("pcpu_chunk", ["--work", "300"], "good"),
    ("optimistic_spin_node", [], "good"),
    ("optimistic_spin_node", [], "bad-checked"),
    ("optimistic_spin_node", [], "checked"),
    ("optimistic_spin_node", ["--work", "300"], "checked"),
    ("mm_struct", ["--mix", "roles"], "good"),
    ("mm_struct", ["--mix", "xadd"], "good"),
    ("mm_struct", ["--mix", "both"], "good"),
    ("mem_cgroup", ["--mix", "roles"], "good"),
    ("mem_cgroup", ["--mix", "both"], "good"),
    ("call_single_data", ["--mix", "queue"], "good"),
    ("call_single_data", ["--mix", "handshake"], "good"),
]
# Four threads under so many mutexes, and the change of the program's layout.
LOCKS = HARDWARE / "locks.c"
LOCKS_ROWS = {
    "locks.c, 4 threads with 8 mutexes on 2 CPUs": 8,
    "locks.c, 4 threads with one mutex on 2 CPUs": 1,
}
LOCKS_CHANGE = ("long setting;", "long setting __attribute__((aligned(64)));")
# Rounds of each thread in a simulation, and in a start that is measured.
LOCKS_SIMULATED, LOCKS_ROUNDS = 30_000, 1_000_000


def run(words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    return done.stdout


def case_name(row):
    program, settings, target = row
    return " ".join([program, *settings, "" if target == "good" else target]).strip()


def build_case(options, row):
    """The program with the layout before and with the one after."""
    program, _, target = row
    programs = [options.work / f"{program}-{side}" for side in ("bad", target)]
    flags = f"CFLAGS=-O2 -g -static -I{ROOT}/collectors/guest"
    run(["make", "-s", "-C", ROOT / "cases", f"OUT={options.work}", flags, *programs])
    return programs


def build_locks(options):
    """The program with mutexes, with the layout before and with the one after."""
    programs = []
    for name, text in [("before", LOCKS.read_text()), ("after", LOCKS.read_text().replace(*LOCKS_CHANGE))]:
        program = options.work / f"locks-{name}"
        program.with_suffix(".c").write_text(text)
        run(["cc", "-O2", "-g", "-pthread", "-static", "-o", program, program.with_suffix(".c")])
        programs.append(program)
    return programs


def simulate(options, program, arguments, length):
    """What CPUs of the machine did with the program, as `record run --rates --json` says it."""
    machine = ["--with", "qemu", "--machine", options.machine, "--cpus", 2, "--simulate", length]
    return json.loads(run([options.relayout, "record", "run", "-q", *machine, "--rates", "--json", "--", program, *arguments]))


def simulated_gains(options, row):
    """Gain of each thread: each has a CPU of its own."""
    arguments = [*row[1], "--threads", 2, "--seconds", 20]
    rates = [simulate(options, program, arguments, options.simulate) for program in build_case(options, row)]
    before, after = ([done / rate["window_ns"] for done in rate["operations_by_cpu"]] for rate in rates)
    return [now / then for then, now in zip(before, after)]


def simulated_locks_gain(options, mutexes):
    """Gain of all threads, by the time until the last one ends."""
    lengths = [simulate(options, program, [LOCKS_SIMULATED, mutexes], "1s")["window_ns"] for program in build_locks(options)]
    return lengths[0] / lengths[1]


def start(options, program, settings):
    """Operations of each thread in a second; None if the start does not count."""
    words = [program, *settings, "--seconds", options.seconds, "--fifo", "--apart", options.apart, "--json"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    if done.returncode == NOISY:
        time.sleep(PAUSE)
        return None
    return [thread["mops"] for thread in json.loads(done.stdout)["threads"]]


def start_locks(options, witness, program, mutexes):
    """Programs with mutexes in a second, as a list; None unless a witness saw the CPUs apart before and after it."""
    if not start(options, witness, []):
        return None
    begun = time.monotonic()
    run([program, LOCKS_ROUNDS, mutexes])
    took = time.monotonic() - begun
    return [1 / took] if start(options, witness, []) else None


def ratio_of_medians(before, after):
    """The ratio of the medians of two samples, with the ends of its 95% bootstrap interval."""
    draw = random.Random(1)
    ratio = lambda a, b: statistics.median(b) / statistics.median(a)
    drawn = sorted(ratio(draw.choices(before, k=len(before)), draw.choices(after, k=len(after)))
                   for _ in range(RESAMPLES))
    return [ratio(before, after), drawn[RESAMPLES * 25 // 1000], drawn[RESAMPLES * 975 // 1000]]


def measured_gains(start_program):
    """Gain of each thread, with its interval; none where the machine left too few starts."""
    counted, end = [[], []], time.monotonic() + SECONDS_MAX
    while min(map(len, counted)) < STARTS and time.monotonic() < end:
        # One after the other, the one with fewer first.
        number = int(len(counted[1]) < len(counted[0]))
        found = start_program(number)
        if found:
            counted[number].append(found)
    if min(map(len, counted)) < STARTS // 2:
        return []
    threads = zip(*(zip(*found) for found in counted))
    return [ratio_of_medians(before, after) for before, after in threads]


def measure(options):
    """Writes a series of this machine."""
    with open(options.measure, "w") as out:
        def write(name, gains):
            for thread, gain in zip("AB" if len(gains) > 1 else ["all"], gains):
                print(name, thread, ",".join(f"{end:.2f}" for end in gain), sep="\t", file=out, flush=True)

        for row in chosen(options, ROWS, case_name):
            programs = build_case(options, row)
            write(case_name(row), measured_gains(lambda number: start(options, programs[number], row[1])))
        witness = build_case(options, ROWS[0])[0]
        for name, mutexes in chosen(options, LOCKS_ROWS.items(), lambda row: row[0]):
            programs = build_locks(options)
            write(name, measured_gains(lambda number: start_locks(options, witness, programs[number], mutexes)))


def read_measured(path):
    """Series of each thread by its case and name: three numbers each, or None."""
    series = {}
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            continue
        case, thread, *gains = line.split("\t")
        series[case, thread] = [None if gain == "-" else [float(end) for end in gain.split(",")] for gain in gains]
    return series


def chosen(options, rows, name_of):
    return [row for row in rows if not options.case or any(name_of(row).startswith(name) for name in options.case)]


def simulate_rows(options):
    """Case, thread and simulated gain."""
    for row in chosen(options, ROWS, case_name):
        for thread, gain in zip("AB", simulated_gains(options, row)):
            yield case_name(row), thread, gain
    for name, mutexes in chosen(options, LOCKS_ROWS.items(), lambda row: row[0]):
        yield name, "all", simulated_locks_gain(options, mutexes)


def direction(gain):
    """-1 for a loss, 1 for a gain, 0 for neither."""
    return -1 if gain < 1 - MARGIN else 1 if gain > 1 + MARGIN else 0


def print_table(options):
    measured = read_measured(options.measured)
    print("| case | thread | simulated | measured | error of the median |")
    print("| --- | --- | ---: | --- | ---: |")
    errors, same, opposite = [], 0, 0
    for case, thread, gain in simulate_rows(options):
        series = [found for found in measured.get((case, thread), []) if found]
        if not series:
            continue
        median = statistics.median(found[0] for found in series)
        words = ", ".join(f"{found:.2f} ({low:.2f} to {high:.2f})" for found, low, high in series)
        errors.append(abs(gain / median - 1))
        same += direction(gain) == direction(median)
        opposite += direction(gain) * direction(median) < 0
        print(f"| {case} | {thread} | {gain:.2f} | {words} | {100 * errors[-1]:.0f}% |", flush=True)
    print(f"\nMedian error {100 * statistics.median(errors):.0f}% of {len(errors)} rows; same direction in {same}, opposite "
          f"in {opposite}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relayout", type=Path, default=ROOT / "target/release/relayout")
    parser.add_argument("--machine", type=Path, default=HARDWARE / "two-vcpus.json", help="machine of the simulation")
    parser.add_argument("--measured", type=Path, default=HARDWARE / "two-vcpus.tsv", help="what was measured on it")
    parser.add_argument("--measure", type=Path, metavar="OUT.tsv", help="measure a series on this machine, and print that")
    parser.add_argument("--case", action="append", help="only cases whose name begins so")
    parser.add_argument("--simulate", default="2ms", help="length of a window [2ms]")
    parser.add_argument("--seconds", type=float, default=0.3, help="length of a start that is measured [0.3]")
    parser.add_argument("--apart", type=int, default=100,
                        help="nanoseconds that handing over a word takes at least [100]")
    parser.add_argument("--work", type=Path, help="leave programs in this folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="relayout-hardware-") as temporary:
        options.work = (options.work or Path(temporary)).resolve()
        options.work.mkdir(parents=True, exist_ok=True)
        if options.measure:
            measure(options)
            options.measured = options.measure
        print_table(options)


if __name__ == "__main__":
    main()
