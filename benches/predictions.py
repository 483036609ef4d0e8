#!/usr/bin/env python3
"""Do recommended patches of programs do what was predicted? Prints a Markdown table with a row for each finding.

    benches/predictions.py [--relayout FILE] [--rounds N] [--repeat N] [--yield N] [--cpus LIST] [--jobs N]
                           [--keep DIR] [PROGRAM...]

PROGRAM is a C or C++ file [default: those of crates/relayout/tests/data/threads], and each takes its rounds as
the first argument, so that it does the same work whatever the layout. Each is built with `relayout cc` and
recorded. All that `report` names with at least 1% of the transfers is given to `advise --source --patch`, by the
name that the report prints. The patch is applied to a copy of the source, which is built and recorded again.

Predicted is what `advise` says that the transfers of the type change by. Recorded is by how much the transfers
of that type differ in the report of the patched program, for the same number of rounds. A finding that gets
no patch is listed below the table with the reason.

--check compares: exit code 1 if the transfers of a patched type did not fall, or the median difference exceeds
10 percentage points, or fewer than 20 patches were written.
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "crates/relayout/tests/data/threads"
# Findings with fewer of a recording's transfers are those of starting and ending.
SHARE_MIN = 0.01
DIFFERENCE_MAX = 10
PATCHES_MIN = 20


def run(words, folder, codes=(0,)):
    done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True)
    if done.returncode not in codes:
        sys.exit(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


class Program:
    """A source file, in a folder of its own with the headers beside it."""

    def __init__(self, options, source, folder):
        self.options, self.source, self.folder = options, source, folder
        folder.mkdir(parents=True)
        for file in [source, *source.parent.glob("*.h")]:
            shutil.copy(file, folder)

    def record(self):
        """The profile of the program as its source is."""
        options, name = self.options, self.source.stem
        wrapper, compiler = ("cc", "gcc") if self.source.suffix == ".c" else ("c++", "g++")
        run([options.relayout, wrapper, "--", compiler, "-g", "-O1", "-pthread", "-o", name, self.source.name],
            self.folder)
        pinned = ["taskset", "-c", options.cpus] if options.cpus else []
        run([*pinned, options.relayout, "record", "run", "-q", "--force", "--yield", options.yield_accesses,
             "--repeat", options.repeat, "-o", "profile", "--", f"./{name}", options.rounds], self.folder)

    def report(self):
        return json.loads(run([self.options.relayout, "report", "profile", "--json", "--top", "0"], self.folder))

    def advise(self, name):
        """The advice on what the report calls `name`, and what else was said."""
        words = [self.options.relayout, "advise", "profile", name, "--json", "--source", ".", "--patch", "fix.patch"]
        done = subprocess.run(map(str, words), cwd=self.folder, capture_output=True, text=True)
        return json.loads(done.stdout) if done.stdout else None, done.stderr.strip()


def transfers_of(report, finding):
    """Transfers of all findings about the type or variable of a finding."""
    same = [f for f in report["findings"] if (f["type"], f["variable"]) == (finding["type"], finding["variable"])]
    return sum(f["transfers"] for f in same)


def named_findings(report):
    """The first finding about each type or variable that has enough of the transfers."""
    total = sum(finding["transfers"] for finding in report["findings"])
    seen = {}
    for finding in report["findings"]:
        seen.setdefault((finding["type"], finding["variable"]), finding)
    return [f for f in seen.values() if transfers_of(report, f) >= SHARE_MIN * total]


def finding_name(finding):
    return finding["variable"] or finding["type"]


def no_patch_reason(advice, said):
    """Why there is no patch, in the words of `advise`."""
    if advice is None:
        return said
    advised = advice["types"][0]
    sentences = [advised.get(key) for key in ("refused", "patch_refused", "recommended_why", "verdict")]
    return next(sentence for sentence in [*sentences, said] if sentence)


def recorded_again(program, folder):
    """The report of a copy of the program to which the patch was applied."""
    patched = Program(program.options, program.source, folder)
    run(["patch", "-s", "-p1", "-i", program.folder / "fix.patch"], folder)
    patched.record()
    return patched.report()


def judge(program, report, finding, number):
    """A row of the table, or the reason why there is none."""
    name = finding_name(finding)
    (program.folder / "fix.patch").unlink(missing_ok=True)
    advice, said = program.advise(name)
    patched = [c for t in (advice or {"types": []})["types"] for c in t["candidates"] if c.get("patch")]
    if not patched or not (program.folder / "fix.patch").exists():
        return None, f"{program.source.name}, `{name}` ({finding['kind']}): {no_patch_reason(advice, said)}"
    current, candidate = advice["types"][0]["current"], patched[0]
    again = recorded_again(program, program.folder.parent / f"{program.folder.name}-{number}")
    before, after = transfers_of(report, finding), transfers_of(again, finding)
    predicted = 100 * (candidate["transfers"] / current["transfers"] - 1)
    recorded = 100 * (after / before - 1)
    return {
        "program": program.source.name, "name": name, "type": advice["types"][0]["name"],
        "edit": "; ".join(candidate["changes"]), "before": before, "after": after,
        "predicted": predicted, "recorded": recorded, "difference": abs(predicted - recorded),
    }, None


def judge_program(options, source, folder):
    program = Program(options, source, folder)
    program.record()
    report = program.report()
    rows, refused = [], []
    for number, finding in enumerate(named_findings(report)):
        row, reason = judge(program, report, finding, number)
        rows += [row] if row else []
        refused += [reason] if reason else []
        if row:
            print("| {program} | `{name}` | {edit} | {before} to {after} | {predicted:+.1f}% | {recorded:+.1f}% "
                  "| {difference:.1f} |".format(**row), flush=True)
    return rows, refused


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", type=pathlib.Path, metavar="PROGRAM")
    parser.add_argument("--relayout", type=pathlib.Path, default=ROOT / "target/release/relayout")
    parser.add_argument("--rounds", type=int, default=60_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--yield", dest="yield_accesses", type=int, default=50)
    parser.add_argument("--cpus", help="CPUs to run on, as taskset takes them [default: all]")
    parser.add_argument("--keep", type=pathlib.Path, help="work in this folder, and leave it there")
    parser.add_argument("--check", action="store_true", help="fail if predictions were wrong")
    options = parser.parse_args()
    options.relayout = options.relayout.resolve()
    options.programs = options.programs or sorted([*PROGRAMS.glob("*.c"), *PROGRAMS.glob("*.cc")])
    return options


def main():
    options = parse_options()
    print("| program | finding | patch | transfers recorded, before and after | predicted | recorded | points apart |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: |")
    rows, refused = [], []
    with tempfile.TemporaryDirectory() as temporary:
        for source in options.programs:
            folder = (options.keep or pathlib.Path(temporary)).resolve() / source.stem
            found, without = judge_program(options, source, folder)
            rows += found
            refused += without
    falling = sum(row["recorded"] < 0 and row["predicted"] < 0 for row in rows)
    median = statistics.median(row["difference"] for row in rows) if rows else 0
    print(f"\n{len(rows)} patches, {falling} with the predicted direction, median difference {median:.1f} percentage "
          f"points, worst {max((row['difference'] for row in rows), default=0):.1f}.")
    print("\nNo patch:")
    print("\n".join(f"- {reason}" for reason in refused))
    if options.check and not (falling == len(rows) >= PATCHES_MIN and median <= DIFFERENCE_MAX):
        sys.exit(1)


if __name__ == "__main__":
    main()
