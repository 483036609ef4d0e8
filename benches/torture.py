#!/usr/bin/env python3
"""Lock torture: runs the workload `locks` in simulated time with many seeds, all from one snapshot for each number of
CPUs, and prints a Markdown table. A seed fails if it

- reports a violation, or fails in another way;
- does not end within the time limit of the host;
- has a CPU without an operation, or events of the host that came in between (`order_breaks`);
- orders more than one access in 1,000 at a wrong address (`misplaced`).

    benches/torture.py --work DIR [--seeds 500] [--first 1] [--cpus 4 8] [--simulate 1ms] [--limit 120]

What a failing seed printed, with the console of the guest and the messages of QEMU, stays in DIR/CPUS-SEED. Exit
code 1 if a seed fails.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys

RELAYOUT = pathlib.Path(__file__).resolve().parent.parent / "target/release/relayout"
MISPLACED_MAX = 1 / 1000
# Files of a recording that hold what the guest and QEMU said.
SAID = ("console", "stderr")


def record(options, cpus, seed, folder):
    """Runs a seed. Returns its rates, or why there are none."""
    temporary = folder / "tmp"
    temporary.mkdir(parents=True)
    words = ["record", "kernel", "--workload", "locks", "--rates", "--json", "--machine", options.machine]
    words += ["--memory", "512M", "--cpus", cpus, "--seed", seed, "--simulate", options.simulate]
    # The script's own limit comes first: it keeps what the guest said.
    words += ["--time-limit", 10 * options.limit]
    with open(folder / "rates.json", "w") as out, open(folder / "messages", "w") as messages:
        running = subprocess.Popen(
            [RELAYOUT, *map(str, words)], stdout=out, stderr=messages, env={**os.environ, "TMPDIR": str(temporary)}
        )
        try:
            code = running.wait(options.limit)
        except subprocess.TimeoutExpired:
            keep_said(temporary, folder)
            # QEMU ends with it.
            running.send_signal(signal.SIGKILL)
            running.wait()
            return None, f"did not end in {options.limit} s"
    if code != 0:
        return None, (folder / "messages").read_text().strip().splitlines()[-1]
    return json.loads((folder / "rates.json").read_text()), None


def keep_said(temporary, folder):
    for path in temporary.rglob("*"):
        if path.name in SAID:
            shutil.copy(path, folder / f"{path.parent.name}-{path.name}")


def misplaced_share(rates):
    return rates["order"]["misplaced"] / max(rates["order"]["ordered"], 1)


def problem_of(rates):
    """Why a seed that ended fails, if it does."""
    if rates["problem"]:
        return rates["problem"]
    if rates["order"]["order_breaks"]:
        return f"{rates['order']['order_breaks']} events of the host came in between"
    if 0 in rates["operations_by_cpu"]:
        return f"a CPU without an operation: {rates['operations_by_cpu']}"
    if misplaced_share(rates) > MISPLACED_MAX:
        return f"{rates['order']['misplaced']} of {rates['order']['ordered']} accesses misplaced"
    return None


def torture(options, cpus):
    """Runs all seeds with so many CPUs, and prints their row. Returns whether all were good."""
    good, failed = [], 0
    for seed in range(options.first, options.first + options.seeds):
        folder = options.work / f"{cpus}-{seed}"
        shutil.rmtree(folder, ignore_errors=True)
        rates, problem = record(options, cpus, seed, folder)
        problem = problem or problem_of(rates)
        shutil.rmtree(folder / "tmp", ignore_errors=True)
        if problem:
            failed += 1
            print(f"{cpus} CPUs, seed {seed}: {problem}", file=sys.stderr, flush=True)
        else:
            good.append(rates)
            shutil.rmtree(folder)
    operations = [rates["operations"] for rates in good] or [0]
    least = min((min(rates["operations_by_cpu"]) for rates in good), default=0)
    misplaced = max(map(misplaced_share, good), default=0)
    print(
        f"| {cpus} | {options.seeds} | {min(operations)} to {max(operations)}, {statistics.median(operations):.0f} | {least} "
        f"| {1000 * misplaced:.2f} | {failed} |",
        flush=True,
    )
    return failed == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", type=int, default=500)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--cpus", type=int, nargs="+", default=[4, 8])
    parser.add_argument("--machine", default="sapphire-rapids-2s")
    parser.add_argument("--simulate", default="1ms")
    parser.add_argument("--limit", type=int, default=120, help="seconds of the host for a seed")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    print("| CPUs | seeds | operations, median | least of a CPU | misplaced of 1,000, at most | failed |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    results = [torture(options, cpus) for cpus in options.cpus]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
