#!/usr/bin/env python3
"""Holds simulated gains against published ones.

Each row is a change of a layout whose gain was published with machine, benchmark and figures. The kernel as it is executes with both
layouts, from one snapshot and with the same seeds: members are said to lie elsewhere. Where a change is more than that, both kernels
are built. Prints Markdown.

    benches/published.py --work DIR [--seeds 3] [--simulate TIME] [ROW...]     rates and gain, simulated beside published
    benches/published.py --work DIR --rules [ROW...]          also the gain with each rule at both ends of its range
    benches/published.py --work DIR --draws 20 [ROW...]       also intervals: all rules drawn from their ranges, and the score
    benches/published.py --work DIR --baselines [ROW...]      also the gains of simpler models: none, and transfers
    benches/published.py --work DIR --functions [ROW...]      also where CPUs stand still, beside the published profiles
    benches/published.py --work DIR --candidates              the rows of struct file with rules that could explain them
    benches/published.py --work DIR --ledger docs/ledger-of-predictions.md     also appends a line for each row
    benches/published.py --digest                             prints the digest of the rules that the ledger names

A drawn set of rules and its seed execute both layouts, so that an interval is that of the ratio. Seeds with the expected rules tell
how precise a figure is, not how sure. The rates of each run stay in DIR and are not made again: give another DIR for another build.
"""
import argparse
import dataclasses
import datetime
import hashlib
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys

from built_kernels import build_pair

RELAYOUT = os.environ.get("RELAYOUT") or pathlib.Path(__file__).resolve().parent.parent / "target/release/relayout"
# Least difference from the expected gain that is told.
EFFECT_MIN = 0.02
# Largest part of the draws that an interval leaves out.
LEFT_OUT = 0.1
FILE_MOVES = ("filp:file.f_op,f_inode,f_path=own-line",)
# As published: the count goes to the third line.
FILE_WHAT_IF = ("file", "f_count:after:f_ra")


@dataclasses.dataclass(frozen=True)
class Row:
    # Row of the published gain in the table that tests and fits are taken from: G10. None: a control.
    published: str | None
    workload: str
    machine: str
    cpus: int
    # CPUs of the published run on the machine, whose threads are numbered core by core: `pack` fills the first socket.
    placement: str
    # Bytes that lie elsewhere in the published layout.
    moves: tuple
    gain: float
    # Millions a second, today and then.
    rates: tuple = ()
    # The same as a move of `relayout what-if`, with the type, where it is one.
    what_if: tuple = ()
    # Bytes that lie elsewhere before, where the kernel has the published layout already.
    moves_before: tuple = ()
    # Published shares of the CPU time, today and then, by what they are of: functions, or PAUSES.
    functions: dict = dataclasses.field(default_factory=dict)
    kernel: str | None = None
    # A change that no map of bytes can say: both kernels are built.
    patch: str | None = None
    # Rows by which a rule may be chosen; all others only test.
    is_fit: bool = False
    # CPUs wait for a lock.
    is_locked: bool = False
    simulate: str = "1ms"
    memory: str = "512M"


SPR = "sapphire-rapids-2s"
# What CPUs do that spin for a lock.
PAUSES = "osq_lock"
# The change added four bytes before it, so that `count` and `owner` came onto one line.
MMAP_LOCK_MOVES = ("mm_struct.mmap_lock=128",)
ROWS = {
    "dentry": Row(
        "G10", "stat-one", SPR, 20, "pack", ("dentry.d_lockref=own-line",), 1.556, (5.04, 7.84), ("dentry", "d_lockref:after:d_lru"),
        # 6.1 calls the function that gives a reference back by another name.
        functions={
            ("__d_lookup_rcu",): (25.60, 1.54),
            ("lockref_put_return", "lockref_put_or_lock"): (38.09, 41.50),
            ("lockref_get_not_dead",): (26.08, 41.03),
        },
    ),
    "file, near": Row("G6a", "syscall", SPR, 16, "pack", FILE_MOVES, 1.427, (5.77, 8.24), FILE_WHAT_IF, is_fit=True),
    "file, far": Row(
        "G6b", "syscall", SPR, 16, "0,1,2,3,16,17,18,19,63,64,65,66,72,73,74,75", FILE_MOVES, 1.002, (5.79, 5.80), FILE_WHAT_IF, is_fit=True
    ),
    "mmap_lock, Ice Lake": Row(
        "G2a", "mmap1", "ice-lake-6336y-2s", 48, "pack", MMAP_LOCK_MOVES, 0.908, functions={(PAUSES,): (94.0, None)}, kernel="5.10",
        is_locked=True, simulate="25ms",
    ),
    "mmap_lock, Cascade Lake": Row(
        "G2b", "mmap1", "cascade-lake-6238m-2s", 44, "pack", MMAP_LOCK_MOVES, 1.037, kernel="5.10", is_locked=True, simulate="25ms"
    ),
    "osq node, no guard": Row(
        "G5", "fcopy", "cascade-lake-6248-2s", 80, "pack", ("osq_node:optimistic_spin_node.cpu=own-line",), 1.19, is_locked=True,
        simulate="20ms",
    ),
    # All stores to the member are checked; the published change checks one of them.
    "osq node": Row(
        "G5", "fcopy", "cascade-lake-6248-2s", 80, "pack",
        ("osq_node:optimistic_spin_node.cpu=own-line", "osq_node:optimistic_spin_node.cpu=checked"), 1.19, is_locked=True,
        simulate="20ms",
    ),
    "osq node, built": Row(
        "G5", "fcopy", "cascade-lake-6248-2s", 80, "pack", (), 1.19, patch="cases/kernel/optimistic_spin_node.patch", is_locked=True,
        simulate="20ms",
    ),
    "pcpu_chunk": Row(
        "G1", "execl-own", SPR, 64, "pack", (), 1.24, moves_before=("pcpu_chunk.base_addr=56",), functions={(PAUSES,): (54.5, None)}, kernel="newest", is_locked=True,
        simulate="20ms", memory="2G",
    ),
    "null: dentry.d_subdirs": Row(None, "stat-one", SPR, 20, "pack", ("dentry.d_subdirs=own-line",), 1.0),
    "null: file.f_version": Row(None, "syscall", SPR, 16, "pack", ("filp:file.f_version=own-line",), 1.0),
}

# Sets of rules that could explain both rows of struct file. What is not named has its expected value.
FIRST_COME = ("near-first=0",)
PLAIN_LOADS = ("second-load-waits=0", "load-before-store=12.4")
CANDIDATES = {
    "first come, first served": (*FIRST_COME, *PLAIN_LOADS),
    "near first": PLAIN_LOADS,
    "a queue for each socket": ("socket-queues=1", *PLAIN_LOADS),
    "an owner keeps a line from another socket": ("far-tenure=300", *FIRST_COME, *PLAIN_LOADS),
    "it uses a lost line for longer": ("hold-after-loss=0.8", *FIRST_COME, *PLAIN_LOADS),
    "clean reads keep the home busy": ("clean-read-occupation=40", *FIRST_COME, *PLAIN_LOADS),
    "a load fetches for a later store": (*FIRST_COME, "second-load-waits=0"),
    "so it does, and a second load waits": FIRST_COME,
    "the same, a queue for each socket": ("socket-queues=1",),
    "the same, near first (expected)": (),
}


def run(words):
    done = subprocess.run([RELAYOUT, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"relayout {' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def kept_path(work, words, ending):
    """File in which the result of these words stays."""
    return work / (hashlib.sha256(" ".join(map(str, words)).encode()).hexdigest()[:16] + ending)


def rates_document(work, words, memory):
    """What `record kernel --rates` says with these words."""
    words = ["record", "kernel", "-q", "--rates", "--json", "--memory", memory, *words]
    kept = kept_path(work, words, ".json")
    if not kept.exists():
        kept.write_text(run(words))
    rates = json.loads(kept.read_text())
    if rates["order"]["order_breaks"]:
        sys.exit(f"{' '.join(map(str, words))}: the order was not kept")
    return rates


def kernels_of(options, row):
    """Options that name the kernel of today, and that of then."""
    if row.patch:
        kconfig = "benches/many-cpus.config"
        return [kernel.words() for kernel in build_pair(RELAYOUT, options.work, row.patch, options.source, kconfig)]
    return [["--kernel", row.kernel] if row.kernel else []] * 2


def rate(work, words, memory):
    """Operations a second, in millions, with these words."""
    return rates_document(work, words, memory)["operations_per_second"] / 1e6


def words_of(options, row, kernel, moves, rules, seed):
    words = ["--workload", row.workload, "--machine", row.machine, "--cpus", row.cpus, "--placement", row.placement]
    words += ["--simulate", options.simulate or row.simulate, "--seed", seed]
    words += kernel
    words += [word for move in moves for word in ("--move", move)]
    return words + [word for rule in rules for word in ("--rule", rule)]


def both_documents(options, row, rules, seed, boot=()):
    sides = zip(kernels_of(options, row), (row.moves_before, row.moves))
    return [rates_document(options.work, [*words_of(options, row, kernel, moves, rules, seed), *boot], row.memory) for kernel, moves in sides]


def both_rates(options, row, rules, seed, boot=()):
    return [document["operations_per_second"] / 1e6 for document in both_documents(options, row, rules, seed, boot)]


def drawn_gain(options, row, rules, draw):
    """The gain with a set of rules. Under locks each draw has a boot of its own, because boots differ as much as rules."""
    boot = ("--append", f"published.boot={draw}") if row.is_locked else ()
    return ratio(*both_rates(options, row, rules, draw, boot))


def ratio(before, after):
    # A window in which nothing was done has no gain.
    return after / before if before > 0 else math.nan


def gain_over_seeds(before, after):
    """Medians of both rates, and of their ratio, over the seeds."""
    gain = statistics.median(ratio(*pair) for pair in zip(before, after))
    return statistics.median(before), statistics.median(after), gain


def rates_of(options, row, rules=()):
    pairs = [both_rates(options, row, rules, seed) for seed in range(1, options.seeds + 1)]
    return gain_over_seeds(*zip(*pairs))


def effects(rules, gain, gain_with):
    """Rules that change a gain by EFFECT_MIN or more at an end of their range, and the gains there."""
    for rule in rules:
        gains = [gain_with(f"{rule['key']}={rule[end]}") for end in ("low", "high")]
        if max(abs(other - gain) for other in gains) >= EFFECT_MIN:
            yield rule, gains


def read_rules():
    """The machine's rules, and a digest that tells sets of rules apart."""
    rules = json.loads(run(["probe", "--rules", "--json"]))["rules"]
    text = "\n".join(f"{rule['key']} {rule['expected']} {rule['low']} {rule['high']}" for rule in rules)
    return rules, hashlib.sha256(text.encode()).hexdigest()[:12]


def draw_rules(rules, draws):
    """Sets of rules. Each rule's values are spread over its range: one in each of as many equal parts as there are sets."""
    source = random.Random(1)
    columns = []
    for rule in rules:
        parts = source.sample(range(draws), draws)
        values = [rule["low"] + (rule["high"] - rule["low"]) * (part + source.random()) / draws for part in parts]
        if rule["unit"] in ("a whole number", "a switch"):
            values = [round(value) for value in values]
        columns.append([f"{rule['key']}={value:.6g}" for value in values])
    return list(zip(*columns))


def interval_of(gains):
    """Bounds that leave out at most `LEFT_OUT` of the gains, as many at each end."""
    ordered = sorted(gains)
    out = int(len(ordered) * LEFT_OUT / 2)
    return ordered[out], ordered[-1 - out]


def verdict(low, high):
    return "unclear" if low < 1 < high else "better" if low >= 1 else "worse"


def interval_score(low, high, published):
    """Gneiting and Raftery (2007), equation 43, for logarithms of gains: width, and what lies outside costs 2/LEFT_OUT."""
    low, high, at = (math.log(value) for value in (low, high, published))
    return high - low + 2 / LEFT_OUT * (max(low - at, 0) + max(at - high, 0))


def print_gains(options, names):
    print("| row | simulated, M/s | published, M/s | gain, simulated | published | ln of their ratio | always 1.00 |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    gains = {}
    for name in names:
        row = ROWS[name]
        before, after, gains[name] = rates_of(options, row)
        published = " to ".join(f"{value:.2f}" for value in row.rates) or "-"
        error, baseline = math.log(gains[name] / row.gain), math.log(1 / row.gain)
        print(
            f"| {name} | {before:.2f} to {after:.2f} | {published} | {gains[name]:.2f} | {row.gain:.2f} | {error:+.2f} | {baseline:+.2f} |",
            flush=True,
        )
    return gains


def print_effects(options, gains, rules):
    print(f"\nRules that change a gain by {EFFECT_MIN} or more at an end of their range:\n")
    print("| row | rule | gain at its low end | gain at its high end |\n| --- | --- | ---: | ---: |")
    for name, gain in gains.items():
        for rule, (low, high) in effects(rules, gain, lambda rule: rates_of(options, ROWS[name], (rule,))[2]):
            print(f"| {name} | {rule['key']} | {rule['low']:g}: {low:.2f} | {rule['high']:g}: {high:.2f} |", flush=True)


def print_intervals(options, names, rules):
    drawn = draw_rules(rules, options.draws)
    print(f"\nAll rules drawn from their ranges, {options.draws} sets:\n")
    print("| row | median | 90% of the draws | verdict | published | within | score |\n| --- | ---: | --- | --- | ---: | --- | ---: |")
    for name in names:
        row = ROWS[name]
        gains = [drawn_gain(options, row, drawn_rules, draw) for draw, drawn_rules in enumerate(drawn, 1)]
        gains = [gain for gain in gains if not math.isnan(gain)]
        low, high = interval_of(gains)
        within = "yes" if low - 0.005 <= row.gain <= high + 0.005 else "no"
        print(
            f"| {name} | {statistics.median(gains):.2f} | {low:.2f} to {high:.2f} | {verdict(low, high)} | {row.gain:.2f} | {within} "
            f"| {interval_score(low, high, row.gain):.2f} |",
            flush=True,
        )


def transfers_gain(options, row):
    """Gain that a simpler model gives: transfers of an operation before over after."""
    words = [*words_of(options, row, kernels_of(options, row)[0], (), (), 1), "--memory", row.memory]
    profile = kept_path(options.work, words, ".relayout")
    if not profile.exists():
        run(["record", "kernel", "-q", *words, "-o", profile])
    moved_type, move = row.what_if
    scored = json.loads(run(["what-if", profile, moved_type, "--move", move, "--json"]))
    today, then = (scored[side]["per_operation"]["transfers"] for side in ("current", "given"))
    return ratio(then, today)


def print_baselines(options, gains):
    print("\nThe same by simpler models, and ln of their ratio to the published gain:\n")
    print("| row | published | simulated | always 1.00 | transfers, before over after |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, gain in gains.items():
        row = ROWS[name]
        if row.what_if:
            figures = [f"{value:.2f} ({math.log(value / row.gain):+.2f})" for value in (gain, 1.0, transfers_gain(options, row))]
            print(f"| {name} | {row.gain:.2f} | {' | '.join(figures)} |", flush=True)


def print_candidates(options):
    print("\n| rules | near: today | then | gain | far: today | then | gain |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    near, far = ROWS["file, near"], ROWS["file, far"]
    figures = [f"{row.rates[0]:.2f} | {row.rates[1]:.2f} | {row.gain:.2f}" for row in (near, far)]
    print(f"| published | {' | '.join(figures)} |")
    for name, rules in CANDIDATES.items():
        figures = ["{:.2f} | {:.2f} | {:.2f}".format(*rates_of(options, row, rules)) for row in (near, far)]
        said = f": {', '.join(f'`{rule}`' for rule in rules)}" if rules else ""
        print(f"| {name}{said} | {' | '.join(figures)} |", flush=True)


def function_share(document, functions):
    """Percent of the time for which CPUs stand still in functions."""
    if functions == (PAUSES,):
        return document["time"]["pause_percent"]
    return sum(site["wait_percent"] for site in document["sites"] if site["function"] in functions)


def print_functions(options, names):
    print("\nPercent of the time for which CPUs stand still in a function, with the layouts of today and then, and published shares of cycles:\n")
    print("| row | function | simulated | published |\n| --- | --- | ---: | ---: |")
    for name in names:
        row = ROWS[name]
        for functions, published in row.functions.items():
            simulated = [function_share(document, functions) for document in both_documents(options, row, (), 1)]
            figures = [" to ".join(f"{share:.1f}" for share in shares if share is not None) for shares in (simulated, published)]
            print(f"| {name} | {', '.join(f'`{function}`' for function in functions)} | {' | '.join(figures)} |", flush=True)


def append_to_ledger(options, gains, digest):
    today = datetime.date.today()
    with options.ledger.open("a") as ledger:
        for name, gain in gains.items():
            row = ROWS[name]
            kind = "null" if row.published is None else "fit" if row.is_fit else "test"
            error = math.log(gain / row.gain)
            ledger.write(f"| {today} | {digest} | {name} | {kind} | {gain:.3f} | {row.gain:.3f} | {error:+.3f} |\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("published"))
    parser.add_argument("--digest", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--source", type=pathlib.Path, help="the kernel's source [default: the one that `relayout setup` fetched]")
    parser.add_argument("--simulate", help="length of all windows; else each row has its own")
    parser.add_argument("--rules", action="store_true")
    parser.add_argument("--draws", type=int)
    parser.add_argument("--baselines", action="store_true")
    parser.add_argument("--functions", action="store_true")
    parser.add_argument("--candidates", action="store_true")
    parser.add_argument("--ledger", type=pathlib.Path)
    parser.add_argument("rows", nargs="*", choices=[[], *ROWS])
    options = parser.parse_args()
    rules, digest = read_rules()
    if options.digest:
        return print(digest)
    options.work.mkdir(parents=True, exist_ok=True)
    print(f"Rules {digest}, {options.seeds} seeds.\n")
    if options.candidates:
        return print_candidates(options)
    names = options.rows or list(ROWS)
    gains = print_gains(options, names)
    if options.baselines:
        print_baselines(options, gains)
    if options.functions:
        print_functions(options, names)
    if options.rules:
        print_effects(options, gains, rules)
    if options.draws:
        print_intervals(options, names, rules)
    if options.ledger:
        append_to_ledger(options, gains, digest)


if __name__ == "__main__":
    main()
