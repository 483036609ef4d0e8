#!/usr/bin/env python3
"""Does recommended advice hold wherever an allocator puts the objects? Prints a Markdown table with a row for each
program.

    benches/places.py [--relayout FILE] [--runs N] [--rounds N] [--yield N] [--jobs N] [--keep DIR] [--seed N]
                      [--all-edits] [PROGRAM...]

PROGRAM is a C or C++ file [default: those of crates/relayout/tests/data/places]. Its arguments are its rounds, and
the size and number of allocations that it makes before all others. Each program is built with `relayout cc` and
recorded once without such allocations. The recommended patch for the type with the most transfers is applied to a
copy. Then the program and the copy are recorded --runs times, each time with other allocations before: up to 12
times k*16+8 bytes. Both make the same allocations in a run.

A run is better if the type has at most half of the transfers. With --all-edits, the candidates that `advise` lists
are applied too, each with the places at which `advise` says that it saves nothing.

--check compares: exit code 1 if a recommended layout was not better in every run, although `advise` does not say
that the allocator decides.
"""
import argparse
import concurrent.futures
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "crates/relayout/tests/data"
# Headers of the programs in each language.
HEADERS = {".c": DATA / "threads/threads.h", ".cc": DATA / "cxx/threads.h"}
# Part of the transfers that a layout leaves at most, to be better in a run.
LEFT_MAX = 0.5


def run(words, folder, codes=(0,)):
    done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True)
    if done.returncode not in codes:
        sys.exit(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


class Program:
    """A source file in a folder of its own, built."""

    def __init__(self, options, source, folder, patch=None):
        self.options, self.source, self.folder = options, source, folder
        folder.mkdir(parents=True)
        for file in [source, *source.parent.glob("*.h"), HEADERS[source.suffix]]:
            shutil.copy(file, folder)
        if patch:
            run(["patch", "-s", "-p1", "-i", patch], folder)
        wrapper, compiler = ("cc", ["gcc"]) if source.suffix == ".c" else ("c++", ["g++", "-std=c++17"])
        run([options.relayout, wrapper, "--", *compiler, "-g", "-O1", "-pthread", "-o", source.stem, source.name], folder)

    def record(self, profile, before=()):
        run([self.options.relayout, "record", "run", "-q", "--force", "--yield", self.options.yield_accesses,
             "-o", profile, "--", f"./{self.source.stem}", self.options.rounds, *before], self.folder)
        return json.loads(run([self.options.relayout, "report", profile, "--json", "--top", "0"], self.folder))

    def transfers_with(self, number, before, name):
        """Transfers of a type in a recording with other allocations before."""
        profile = self.folder / f"run-{number}"
        transfers = transfers_of(self.record(profile, before), name)
        shutil.rmtree(profile, ignore_errors=True)
        return transfers

    def advise(self, name, more=()):
        """The advice on a type, and the patch; None where none is written."""
        patch = self.folder / "fix.patch"
        patch.unlink(missing_ok=True)
        words = [self.options.relayout, "advise", "profile", name, "--json", "--source", ".", "--patch", patch,
                 "--force", *more]
        # 1: no patch is good, or none was written.
        advice = json.loads(run(words, self.folder, (0, 1)))["types"][0]
        return advice, patch if patch.exists() else None


def transfers_of(report, name):
    return sum(finding["transfers"] for finding in report["findings"] if finding["type"] == name)


def most_contended(report):
    """Type of the allocated objects with the most transfers."""
    allocated = [f for f in report["findings"] if not f["variable"] and f["types_path"] and "::" not in f["type"]]
    return max(allocated, key=lambda finding: finding["transfers"])["type"]


def allocations_before(count, seed):
    """Arguments of runs: sizes and numbers of other allocations."""
    drawn = random.Random(seed)
    return [(str(drawn.randrange(0, 16) * 16 + 8), str(drawn.randrange(0, 13))) for _ in range(count)]


def places_words(candidate):
    places = candidate["places"]
    if not places:
        return "no choice", "no choice"
    return f"{100 * places['mean_change']:+.1f}%", f"{100 * places['worst_change']:+.1f}%"


def judge(program, candidate, patch, name, number, is_recommended):
    """A row of the table: the program and its patched copy in the same runs."""
    options = program.options
    patched = Program(options, program.source, program.folder.parent / f"{program.folder.name}-{number}", patch)
    befores = allocations_before(options.runs, options.seed)

    def both(indexed):
        nth, before = indexed
        return [version.transfers_with(nth, before, name) for version in (program, patched)]

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        pairs = list(pool.map(both, enumerate(befores)))
    better = sum(after <= LEFT_MAX * before for before, after in pairs)
    changes = sorted(after / before - 1 for before, after in pairs if before)
    mean, worst = places_words(candidate)
    said_lucky = bool(candidate["places"]) and candidate["places"]["without_gain"] > 0
    befores, afters = zip(*pairs)
    print(f"| `{program.source.name}` | {'; '.join(candidate['changes'])} | {'yes' if is_recommended else 'no'} | {mean} "
          f"| {worst} | {better} of {len(pairs)} | {100 * changes[-1]:+.1f}% | {min(befores)} to {max(befores)} "
          f"| {min(afters)} to {max(afters)} |", flush=True)
    return better == len(pairs) or said_lucky or not is_recommended


def judge_program(options, source, folder):
    program = Program(options, source, folder / source.name)
    name = most_contended(program.record("profile"))
    advice, patch = program.advise(name)
    if patch is None:
        print(f"| `{source.name}` | none: {advice.get('patch_refused') or advice['recommended_why']} |")
        return False
    kept = program.folder / "recommended.patch"
    shutil.copy(patch, kept)
    written = next(candidate for candidate in advice["candidates"] if candidate.get("patch"))
    is_good = judge(program, written, kept, name, "recommended", True)
    for number in range(1, len(advice["candidates"]) + 1) if options.all_edits else []:
        advice, patch = program.advise(name, ("--pick", str(number)))
        picked = [candidate for candidate in advice["candidates"] if candidate.get("patch")]
        if patch and picked and picked[0]["changes"] != written["changes"]:
            judge(program, picked[0], patch, name, number, False)
    return is_good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relayout", type=pathlib.Path, default=ROOT / "target/release/relayout")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--rounds", default="6000")
    parser.add_argument("--yield", dest="yield_accesses", default="50")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for programs and recordings")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all-edits", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("programs", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    options.relayout = options.relayout.resolve()
    places = DATA / "places"
    programs = options.programs or sorted(file for file in places.iterdir() if file.suffix in HEADERS)
    print("| program | edit | recommended | predicted mean | predicted worst | better | worst run | transfers today "
          "| transfers then |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        are_good = [judge_program(options, source.resolve(), folder) for source in programs]
    if options.check and not all(are_good):
        sys.exit(1)


if __name__ == "__main__":
    main()
