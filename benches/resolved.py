#!/usr/bin/env python3
"""How many of the transfers in recordings of programs have a member or variable behind them
(`resolved_share`), and what the rest is. Prints a Markdown table.

    benches/resolved.py --work DIR [PROGRAM...]

PROGRAM: a case of cases/ as its Makefile names it (pcpu_chunk-bad, ...; `cases` for all), or one of
programs.py, which says what DIR is and which packages each needs; all if none is named. Each is recorded
once, with default settings. Exit code 1 if a share is below 0.95.
"""
import argparse
import pathlib
import sys

import programs
from programs import HERE, RELAYOUT, Command, call

ENOUGH = 0.95
# What is less than that of all transfers is left out of the last column.
REST_MIN = 0.001
LAYOUTS = {
    "pcpu_chunk": ["bad", "good"],
    "mm_struct": ["bad", "good"],
    "call_single_data": ["bad", "good"],
    "mem_cgroup": ["bad", "good"],
    "optimistic_spin_node": ["bad", "good", "checked"],
}
CASES = [f"{case}-{layout}" for case, layouts in LAYOUTS.items() for layout in layouts]


class Case:
    """A program of cases/, built with `relayout cc`."""

    def __init__(self, name):
        self.name = name

    def build(self, work, _):
        out = work / "cases"
        call("make", "-C", HERE.parent / "cases", f"CC={RELAYOUT} cc", f"OUT={out}", out / self.name)
        return out / self.name


def row(work, name):
    report = programs.report(work, name, [])
    share, total = report["resolved_share"], report["transfers_total"]
    rest = sorted(report["unresolved"].items(), key=lambda one: -one[1])
    words = [f"{what} {count / total:.1%}" for what, count in rest if count >= REST_MIN * total]
    print(f"| {name} | {total} | {share:.1%} | {', '.join(words) or '-'} |", flush=True)
    return share


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("programs", nargs="*", choices=[[], "cases", *CASES, *programs.PROGRAMS], default=[])
    options = parser.parse_args()
    work = options.work.resolve()
    programs.prepare(work)
    programs.PROGRAMS.update({name: Command(Case(name), ["--iterations", "200000"]) for name in CASES})
    named = options.programs or ["cases", *(name for name in programs.PROGRAMS if name not in CASES)]
    names = [one for name in named for one in (CASES if name == "cases" else [name])]
    print("| program | transfers | resolved | the rest, above 0.1% |")
    print("| --- | ---: | ---: | --- |")
    shares = [row(work, name) for name in names]
    sys.exit(any(share < ENOUGH for share in shares))


if __name__ == "__main__":
    main()
