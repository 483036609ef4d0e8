#!/usr/bin/env python3
"""How often the types of heap memory are right, by the confidence that relayout states.

    benches/type_confidence.py --work DIR [--only WORD] [--wrong]

Builds the programs of the tests, of cases/ and of benches/types/ by several compilers and levels with
`relayout cc`, records each once, and compares the type of each allocation with benches/types/types.tsv,
which says what each line of their sources allocates. Prints a Markdown table. Recordings that DIR has are
used again.
"""
import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
RELAYOUT = pathlib.Path(os.environ.get("RELAYOUT", ROOT / "target/release/relayout")).resolve()
DATA = ROOT / "crates/relayout/tests/data"
TRUTH = ROOT / "crates/core/resolve/tests/truth/programs"
C_BUILDS = [(compiler, level) for compiler in ("gcc", "clang") for level in ("-O0", "-O1", "-O2", "-O3")]
CXX = {"gcc": "g++", "clang": "clang++"}
ROUNDS = "3000"
CASES = ROOT / "cases"
# Words of the programs of cases/ whose objects are on the heap.
CASE_WORDS = ["--iterations", ROUNDS]
CASE_NAMES = ("call_single_data", "mem_cgroup", "mm_struct", "optimistic_spin_node", "pcpu_chunk")
TUNE_WORDS = {"server.c": ["exchange", ROUNDS], "store.cpp": ["serve", ROUNDS]}
# Stands in for relayout.h, so that no program names its objects.
NAMELESS_HEADER = """#define relayout_object(at, bytes, type) ((void)0)
#define relayout_operation() ((void)0)
"""


def c_sources():
    yield from sorted((HERE / "types").glob("*.c*"))
    yield from sorted((DATA / "threads").glob("*.c*"))
    yield DATA / "turns.c"
    yield DATA / "classes.cc"
    yield from (DATA / "cxx" / f"{name}.cc" for name in ("base", "ring", "session", "workers", "pool"))
    yield from sorted(path for path in TRUTH.glob("*.c*") if path.name != "truth.c")
    yield from (CASES / name / f"{name}.c" for name in CASE_NAMES)
    yield from (CASES / "tune" / pathlib.Path(name).stem / name for name in TUNE_WORDS)


def name_of(source):
    """Returns the name of a program's recordings. Some folders have programs of the same name."""
    if CASES in source.parents:
        return ("tune_" if source.name in TUNE_WORDS else "cases_") + source.stem
    twice = source.name in ("classes.cc", "pools.c", "workers.cc")
    return (source.parent.name + "_" if twice else "") + source.stem


def words_of(source):
    """Arguments of a program, after which it ends soon."""
    if CASES in source.parents:
        return TUNE_WORDS.get(source.name, CASE_WORDS)
    return [ROUNDS]


def run(words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    if done.returncode:
        print(f"{' '.join(map(str, words))}: {done.stderr}", file=sys.stderr)
    return done.returncode == 0


def build_c(source, compiler, level, program, work):
    is_cxx = source.suffix in (".cc", ".cpp")
    words = [RELAYOUT, "cc", "--", CXX[compiler] if is_cxx else compiler, "-g", level, "-pthread", "-w"]
    words += ["-std=c++17"] if is_cxx else []
    extra = []
    if CASES in source.parents:
        nameless = work / "nameless"
        nameless.mkdir(exist_ok=True)
        (nameless / "relayout.h").write_text(NAMELESS_HEADER)
        words += ["-I", nameless, "-I", CASES, "-I", source.parent / "bad"]
        words += [] if is_cxx else ["-std=gnu11"]
        extra = [] if source.name in TUNE_WORDS else [CASES / "common.c"]
    if source.parent == TRUTH:
        extra = [work / "truth.o"]
        if not extra[0].exists():
            run(["cc", "-O1", "-g0", "-fPIE", "-pthread", "-c", "-o", extra[0], TRUTH / "truth.c"])
    return run([*words, "-o", program, source, *extra])


def build_rust(source, level, program, work):
    flags = subprocess.run([RELAYOUT, "cc", "--relayout-rustflags"], capture_output=True, text=True, check=True)
    words = ["rustc", *flags.stdout.split(), "-g", "-C", f"opt-level={level}", "--edition", "2021"]
    return run([*words, "-A", "warnings", source, "-o", program], env={**os.environ, "RUSTC_BOOTSTRAP": "1"}, cwd=work)


def recordings(work, only):
    """Yields the recordings, which are made if they are not there."""
    builds = [
        (
            name_of(source),
            f"{compiler}{level}",
            words_of(source),
            lambda out, s=source, c=compiler, l=level: build_c(s, c, l, out, work),
        )
        for source in c_sources()
        for compiler, level in C_BUILDS
    ]
    builds += [
        (f"rust_{source.stem}", f"rustc-O{level}", [ROUNDS], lambda out, s=source, l=level: build_rust(s, l, out, work))
        for source in [*sorted((DATA / "rust").glob("*.rs")), DATA / "turns.rs"]
        for level in (0, 1, 3)
    ]
    for name, kind, arguments, build in builds:
        if only and only not in f"{name}.{kind}":
            continue
        program, profile = work / f"{name}.{kind}", work / f"{name}.{kind}.relayout"
        if not profile.exists():
            words = [RELAYOUT, "record", "run", "--yield", "50", "-o", profile, "--", program, *arguments]
            if not build(program) or not run(words, env={**os.environ, "TRUTH_FILE": "/dev/null"}):
                continue
        yield profile


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--only", help="programs and builds whose name contains this")
    parser.add_argument("--wrong", action="store_true", help="list what is wrong or has no type")
    parser.add_argument("--list", action="store_true", help="list all objects instead")
    options = parser.parse_args()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    profiles = list(recordings(work, options.only))
    example = os.environ.get("TYPE_CALIBRATION")
    words = [example] if example else [
        *"cargo run -q --release -p relayout-session --example type_calibration --".split()
    ]
    words += ["--list"] if options.list else [HERE / "types/types.tsv"]
    words += ["--wrong"] if options.wrong else []
    sys.exit(subprocess.run([str(word) for word in [*words, *profiles]], cwd=ROOT).returncode)


if __name__ == "__main__":
    main()
