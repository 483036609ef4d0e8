#!/usr/bin/env python3
"""Holds simulated gains of programs against published ones. Each program of twins/ has the accesses of a published one, or is
one, with the layout before the published change and with the one after it. Prints Markdown: rates by number of threads, and the gain
beside the published one. No rule of the machine was chosen by these figures.

    benches/twins.py --work DIR [--machine NAME]... [--threads N]... [--seeds 3] [--simulate 1ms] [--rules] [TWIN...]

--machine, once or more, names what stands for the published machine; without it, that of the row does. --threads, once or
more, measures with these numbers of threads instead of the published ones. --rules also prints the gain with each rule of
the machine at both ends of its range, for the last number of threads of each twin.
The rates of each run stay in DIR, as those of published.py.
"""
import argparse
import dataclasses
import pathlib
import subprocess
import sys

import published

TWINS = pathlib.Path(__file__).resolve().parent / "twins"
# Far longer than a window: the guest ends with its window.
SECONDS = 20


@dataclasses.dataclass(frozen=True)
class Published:
    # Processor, as published.
    processor: str
    # Machine of the table.
    machine: str
    # By number of threads.
    gains: dict


@dataclasses.dataclass(frozen=True)
class Row:
    twin: str
    arguments: tuple
    threads: tuple
    published: tuple
    # CPUs of the guest, if not one for each thread.
    cpus: int = 0
    # Whether the number of threads is an argument.
    has_threads: bool = True


def curve(*gains):
    return dict(zip((1, 4, 8, 16, 32), gains))


ROWS = {
    "memory_cache": Row(
        "memory_cache", (), (1, 4, 8, 16, 32),
        (
            Published("Turin", "turin-96-1s", curve("1.00", "1.53", "2.27", "2.43", "2.20")),
            Published("Cobalt 100", "cobalt-100-1s", curve("1.00", "1.06", "1.64", "1.52", "1.09")),
        ),
    ),
    "memory_cache, no size limit": Row(
        "memory_cache", ("--mix", "unsized"), (1, 4, 8, 16, 32),
        (
            Published("Turin", "turin-96-1s", curve(*["0.99 to 1.02"] * 5)),
            Published("Cobalt 100", "cobalt-100-1s", curve(*["0.99 to 1.02"] * 5)),
        ),
    ),
    "spsc_ring": Row(
        "spsc_ring", (), (2,), (Published("not stated", "sapphire-rapids-2s", {2: "1.92 (1.68 to 2.35)"}),)
    ),
    "tokio_mpsc, bounded": Row(
        "tokio_mpsc", ("--mix", "bounded"), (6,), (Published("not stated", "sapphire-rapids-2s", {6: "1.66"}),),
        cpus=8, has_threads=False,
    ),
    "tokio_mpsc, full": Row(
        "tokio_mpsc", ("--mix", "full"), (6,), (Published("not stated", "sapphire-rapids-2s", {6: "1.96"}),),
        cpus=8, has_threads=False,
    ),
    "profile_events": Row(
        "profile_events", (), (8, 56, 112),
        (Published("2 x 120 cores of Intel", "sapphire-rapids-2s", {112: "1.2 to 1.4 of the whole query"}),),
    ),
}


def build(work, twin):
    """Builds a twin with both layouts. The programs stay where they are: the guest's snapshot knows them by content."""
    names = [work / "programs" / f"{twin}-{layout}" for layout in ("bad", "good")]
    done = subprocess.run(
        ["make", "-s", "-C", TWINS, f"OUT={work / 'programs'}", "LDFLAGS=-static", *names], capture_output=True, text=True
    )
    if done.returncode != 0:
        sys.exit(f"make -C {TWINS}: {done.stderr}")
    return names


def memory_of(seed):
    """Memory of a seed's guest. Two layouts are two programs, whose guests differ in more than the layout: in where memory
    lies. So each seed has a guest of another size, which boots for itself."""
    return f"{512 + 128 * (seed - 1)}M"


def rates_of(options, row, machine, threads, rule=None):
    """Rates with the layout before and the one after, and the median of their ratio over the seeds."""
    arguments = [*row.arguments, "--seconds", SECONDS]
    if row.has_threads:
        arguments += ["--threads", threads]
    words = ["--machine", machine, "--cpus", row.cpus or threads, "--simulate", options.simulate]
    words += [f"--run-arg={argument}" for argument in arguments]
    words += ["--rule", rule] if rule else []
    seeds = range(1, options.seeds + 1)
    rates = [
        [published.rate(options.work, ["--run", program, *words, "--seed", seed], memory_of(seed)) for seed in seeds]
        for program in build(options.work, row.twin)
    ]
    return published.gain_over_seeds(*rates)


def print_row(options, name, gains):
    row = ROWS[name]
    # By threads first: all machines start from the same snapshot of the guest.
    for threads in options.threads or row.threads:
        for of in row.published:
            for machine in options.machine or [of.machine]:
                before, after, gain = rates_of(options, row, machine, threads)
                gains[name, machine] = gain
                there = of.gains.get(threads, "-")
                print(
                    f"| {name} | {threads} | {machine} | {before:.2f} to {after:.2f} | {gain:.2f} | {there} | {of.processor} |",
                    flush=True,
                )


def print_effects(options, gains):
    rules, _ = published.read_rules()
    print(f"\nRules that change a gain by {published.EFFECT_MIN} or more at an end of their range:\n")
    print("| twin | threads | machine | rule | gain at its low end | gain at its high end |\n| --- | ---: | --- | --- | ---: | ---: |")
    for (name, machine), gain in gains.items():
        row = ROWS[name]
        threads = (options.threads or row.threads)[-1]
        for rule, (low, high) in published.effects(
            rules, gain, lambda rule: rates_of(options, row, machine, threads, rule)[2]
        ):
            print(
                f"| {name} | {threads} | {machine} | {rule['key']} | {rule['low']:g}: {low:.2f} | {rule['high']:g}: {high:.2f} |",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--machine", action="append")
    parser.add_argument("--threads", type=int, action="append")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--simulate", default="1ms")
    parser.add_argument("--rules", action="store_true")
    parser.add_argument("twins", nargs="*", choices=[[], *ROWS])
    options = parser.parse_args()
    options.work = options.work.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    print(f"Rules {published.read_rules()[1]}, {options.simulate}, {options.seeds} seeds.\n")
    print("| twin | threads | machine | simulated, M/s | gain, simulated | gain, published | published for |")
    print("| --- | ---: | --- | ---: | ---: | ---: | --- |")
    gains = {}
    for name in options.twins or ROWS:
        print_row(options, name, gains)
    if options.rules:
        print_effects(options, gains)


if __name__ == "__main__":
    main()
