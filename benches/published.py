#!/usr/bin/env python3
"""Holds simulated gains against published ones. Each row is a change of a layout whose gain was published with machine, benchmark and
figures, and which moves members of a slab cache's objects, so that the kernel as it is can be executed with both layouts, from one
snapshot and with the same seeds. Prints Markdown: rates and gain, simulated beside published, and the gain with each rule of the
machine at both ends of its range. No rule was chosen by these rows.

    benches/published.py --work DIR [--seeds 3] [--simulate 1ms] [--rules] [ROW...]

Without --rules only the expected values are used. The rates of each run stay in DIR and are not made again: give another DIR for
another build. The first line names the set of rules by a digest of `relayout probe --rules --json`.
"""
import argparse
import dataclasses
import hashlib
import json
import pathlib
import statistics
import subprocess
import sys

RELAYOUT = pathlib.Path(__file__).resolve().parent.parent / "target/release/relayout"
MACHINE = "sapphire-rapids-2s"
# Least difference from the expected gain that is told.
EFFECT_MIN = 0.02


@dataclasses.dataclass(frozen=True)
class Row:
    workload: str
    cpus: int
    # CPUs of the published run on the machine, whose threads are numbered core by core: `pack` fills the first socket.
    placement: str
    # The published layout, by the members that leave the line.
    moves: tuple
    rates: tuple
    gain: str


ROWS = {
    "dentry": Row("stat-one", 20, "pack", ("dentry.d_lockref=own-line",), (5.04, 7.84), "1.56"),
    "file, near": Row("syscall", 16, "pack", ("filp:file.f_op,f_inode,f_path=own-line",), (5.77, 8.24), "1.43, 1.35"),
    "file, far": Row(
        "syscall", 16, "0,1,2,3,16,17,18,19,63,64,65,66,72,73,74,75", ("filp:file.f_op,f_inode,f_path=own-line",),
        (5.79, 5.80), "1.00",
    ),
    "null: dentry.d_subdirs": Row("stat-one", 20, "pack", ("dentry.d_subdirs=own-line",), (), "1"),
    "null: file.f_version": Row("syscall", 16, "pack", ("filp:file.f_version=own-line",), (), "1"),
}


def run(words):
    done = subprocess.run([RELAYOUT, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"relayout {' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def rate(work, words, memory="512M"):
    """Operations a second, in millions, of `record kernel --rates` with these words."""
    words = ["record", "kernel", "-q", "--rates", "--json", "--memory", memory, *words]
    kept = work / (hashlib.sha256(" ".join(map(str, words)).encode()).hexdigest()[:16] + ".json")
    if not kept.exists():
        kept.write_text(run(words))
    rates = json.loads(kept.read_text())
    if rates["order"]["order_breaks"]:
        sys.exit(f"{' '.join(map(str, words))}: the order was not kept")
    return rates["operations_per_second"] / 1e6


def words_of(options, row, moves, rule, seed):
    words = ["--workload", row.workload, "--machine", MACHINE, "--cpus", row.cpus, "--placement", row.placement]
    words += ["--simulate", options.simulate, "--seed", seed]
    for move in moves:
        words += ["--move", move]
    return [*words, "--rule", rule] if rule else words


def gain_over_seeds(today, then):
    """Medians of both rates, and of their ratio, over the seeds."""
    gain = statistics.median(after / before for before, after in zip(today, then))
    return statistics.median(today), statistics.median(then), gain


def rates_of(options, row, rule=None):
    """Rates with today's layout and with the published one, and the median of their ratio over the seeds."""
    seeds = range(1, options.seeds + 1)
    today = [rate(options.work, words_of(options, row, (), rule, seed)) for seed in seeds]
    then = [rate(options.work, words_of(options, row, row.moves, rule, seed)) for seed in seeds]
    return gain_over_seeds(today, then)


def effects(rules, gain, gain_with):
    """Rules that change a gain by EFFECT_MIN or more at an end of their range, and the gains there."""
    for rule in rules:
        gains = [gain_with(f"{rule['key']}={rule[end]}") for end in ("low", "high")]
        if max(abs(other - gain) for other in gains) >= EFFECT_MIN:
            yield rule, gains


def read_rules():
    """The machine's rules, and a digest that tells sets of rules apart."""
    text = run(["probe", "--rules", "--json"])
    return json.loads(text)["rules"], hashlib.sha256(text.encode()).hexdigest()[:12]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--simulate", default="1ms")
    parser.add_argument("--rules", action="store_true")
    parser.add_argument("rows", nargs="*", choices=[[], *ROWS])
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    rules, digest = read_rules()
    print(f"Rules {digest}, {MACHINE}, {options.simulate}, {options.seeds} seeds.\n")
    print("| row | simulated, M/s | published, M/s | gain, simulated | published |")
    print("| --- | ---: | ---: | ---: | ---: |")
    gains = {}
    for name in options.rows or ROWS:
        row = ROWS[name]
        today, then, gains[name] = rates_of(options, row)
        published = " to ".join(f"{value:.2f}" for value in row.rates) or "-"
        print(f"| {name} | {today:.2f} to {then:.2f} | {published} | {gains[name]:.2f} | {row.gain} |", flush=True)
    if options.rules:
        print(f"\nRules that change a gain by {EFFECT_MIN} or more at an end of their range:\n")
        print("| row | rule | gain at its low end | gain at its high end |\n| --- | --- | ---: | ---: |")
        for name, gain in gains.items():
            for rule, gains_at in effects(rules, gain, lambda rule: rates_of(options, ROWS[name], rule)[2]):
                low, high = gains_at
                print(f"| {name} | {rule['key']} | {rule['low']:g}: {low:.2f} | {rule['high']:g}: {high:.2f} |", flush=True)


if __name__ == "__main__":
    main()
