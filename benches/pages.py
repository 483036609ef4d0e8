#!/usr/bin/env python3
"""Writes pages (`--html`) of real documents into a folder, with an index.html that links them, and prints the size of
each and the time that writing it took.

    benches/pages.py [--relayout FILE] [--only NAME,...] [--recording NAME=PROFILE[,TYPE]]... FOLDER

NAME      pages
kernel    report, advise and what-if of the recording that ./demo makes, or of another recording of a kernel
c, cxx, rust
          the same of a small program with a planted layout fault (crates/relayout/tests/data), built with `relayout cc`
verify    two counters on one cache line against two cache lines, measured on this machine
diff      Debian's kernel 6.1 against the newest (scripts/setup.sh --kernel newest)

Without --only, all of them are written. --recording gives an existing recording instead of a new one; with another
NAME, its pages are added. TYPE is the struct for advise and what-if; a recording of another NAME without a TYPE has a report only.

The command is target/release/relayout, unless --relayout names another. New recordings need the plugins and the
runtime beside it (cargo build --release --workspace), and `kernel` and `diff` need what scripts/setup.sh fetches.
"""
import argparse
import base64
import dataclasses
import gzip
import html
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTS = ROOT / "crates/relayout/tests"
LINE_BYTES = 64
# Curves of recordings in simulated time: numbers of CPUs, and draws of the machine's rules.
CURVE = ["--cpus", "2,4", "--draws", "2"]
# Rounds of the programs' threads, and iterations of the measured counters.
ROUNDS, ITERATIONS = "60000", "3000000"
KERNEL_WORKLOAD = "mntns"
KERNEL_TYPE = "pcpu_chunk"
KERNEL_LAYOUT = ROOT / "docs/layouts/pcpu_chunk-accepted.txt"
VERDICT_CODES = (0, 1)


@dataclasses.dataclass
class PlantedFault:
    """A program of tests/data: how it is built, and the type with the fault."""

    source: str
    compiler: list
    advised: str


PROGRAMS = {
    "c": PlantedFault("turns.c", ["gcc", "-g", "-O1", "-pthread"], "conn"),
    "cxx": PlantedFault("cxx/base.cc", ["g++", "-g", "-O1", "-std=c++17", "-pthread"], "Meter"),
    "rust": PlantedFault("rust/stats.rs", ["rustc", "-O", "-Cdebuginfo=2", "--edition", "2021"], "Stats<*>"),
}
NAMES = ["kernel", *PROGRAMS, "verify", "diff"]


@dataclasses.dataclass
class Recording:
    """A profile, the struct to advise on, and further arguments of `advise`."""

    profile: pathlib.Path
    advised: str
    advise_arguments: list


@dataclasses.dataclass
class WrittenPage:
    """A page in the folder, with the command that wrote it."""

    file: pathlib.Path
    words: str
    seconds: float

    def size_words(self):
        return f"{self.file.stat().st_size / 1e6:.2f} MB"


class PageFolder:
    """The folder of pages, and the command that writes them."""

    def __init__(self, folder, relayout):
        self.folder, self.relayout, self.pages = folder, relayout, []

    def write(self, name, *words, codes=(0,)):
        """Runs a command with --html, and returns the document in its page."""
        file = self.folder / f"{name}.html"
        begin = time.monotonic()
        run(self.relayout, *words, "--html", file, codes=codes)
        page = WrittenPage(file, f"relayout {' '.join(map(str, words))}", time.monotonic() - begin)
        self.pages.append(page)
        print(f"{page.size_words():>10} {page.seconds:7.2f} s  {file}", flush=True)
        return embedded_document(file)

    def write_recording(self, name, recording):
        self.write(f"{name}-report", "report", recording.profile)
        if not recording.advised:
            return
        meta = json.loads((recording.profile / "meta.json").read_text())
        # A program in simulated time would have to be given again.
        is_executable = meta.get("simulated_machine") and meta["target"] == "kernel"
        simulate = ["--simulate", *CURVE] if is_executable else []
        words = ["advise", recording.profile, recording.advised, *simulate]
        advice = self.write(f"{name}-advise", *words, *recording.advise_arguments)
        member = most_stored_member(advice)
        words = [recording.profile, recording.advised, "--align", f"{member}={LINE_BYTES}", *simulate]
        self.write(f"{name}-what-if", "what-if", *words)

    def write_index(self):
        rows = "".join(
            f'<tr><td><a href="{html.escape(page.file.name)}">{html.escape(page.file.stem)}</a></td>'
            f"<td>{page.size_words()}</td><td>{page.seconds:.2f} s</td>"
            f"<td><code>{html.escape(page.words)}</code></td></tr>\n"
            for page in self.pages
        )
        text = (
            '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>relayout pages</title>\n'
            "<style>:root { color-scheme: light dark; } body { font: 16px/1.45 system-ui, sans-serif; margin: 1rem; "
            "background: Canvas; color: CanvasText; }\na { color: LinkText; } "
            "td, th { text-align: left; padding: .25rem .5rem; vertical-align: top; }\n"
            "code { overflow-wrap: anywhere; }</style>\n"
            f"<main><h1>relayout pages</h1>\n<table>\n<tr><th>Page</th><th>Size</th><th>Written in</th>"
            f"<th>Command</th></tr>\n{rows}</table></main>\n</html>\n"
        )
        (self.folder / "index.html").write_text(text)
        print(f"{len(text) / 1e6:>7.2f} MB {'':9}  {self.folder / 'index.html'}")


def main():
    arguments = parse_arguments()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    pages = PageFolder(arguments.folder, arguments.relayout)
    with tempfile.TemporaryDirectory(prefix="relayout-pages.") as work:
        work = pathlib.Path(work)
        for name in ["kernel", *PROGRAMS]:
            if name in arguments.only and name not in arguments.recordings:
                pages.write_recording(name, record(name, arguments.relayout, work))
            elif name in arguments.only:
                pages.write_recording(name, arguments.recordings[name])
        for name, recording in arguments.recordings.items():
            if name not in NAMES:
                pages.write_recording(name, recording)
        if "verify" in arguments.only:
            pages.write("verify", *verify_words(arguments.relayout, work), codes=VERDICT_CODES)
    if "diff" in arguments.only:
        kernels = [cache_folder() / "kernel" / build / "vmlinux" for build in ("current", "newest")]
        pages.write("diff", "diff", *kernels, codes=VERDICT_CODES)
    pages.write_index()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relayout", type=pathlib.Path, default=ROOT / "target/release/relayout", metavar="FILE")
    parser.add_argument("--only", metavar="NAME,...")
    parser.add_argument("--recording", action="append", default=[], metavar="NAME=PROFILE[,TYPE]", dest="given")
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER")
    arguments = parser.parse_args()
    arguments.relayout = arguments.relayout.resolve()
    if not arguments.relayout.exists():
        parser.error(f"{arguments.relayout} does not exist: cargo build --release --workspace")
    try:
        arguments.recordings = dict(parse_recording(text) for text in arguments.given)
    except ValueError as error:
        parser.error(str(error))
    known = [*NAMES, *arguments.recordings]
    arguments.only = arguments.only.split(",") if arguments.only else NAMES
    for name in arguments.only:
        if name not in known:
            parser.error(f"--only {name}: the names are {', '.join(known)}")
    return arguments


def parse_recording(text):
    """The name and the recording of `NAME=PROFILE[,TYPE]`."""
    found = re.fullmatch(r"([\w-]+)=([^,]+)(?:,(.+))?", text)
    if not found:
        raise ValueError(f"--recording {text}: it is not NAME=PROFILE[,TYPE]")
    name, profile, advised = found.groups()
    return name, Recording(pathlib.Path(profile), advised or advised_type(name), advise_arguments(name))


def advised_type(name):
    """The struct with the fault in a recording of this name, if the name is known."""
    return {"kernel": KERNEL_TYPE, **{name: fault.advised for name, fault in PROGRAMS.items()}}.get(name, "")


def advise_arguments(name):
    """Where the source of a recording of this name is, and the layout that the demo proposes for the kernel."""
    if name == "kernel":
        return ["--source", cache_folder() / "source/current", "--layout", KERNEL_LAYOUT]
    if name in PROGRAMS:
        return ["--source", (TESTS / "data" / PROGRAMS[name].source).parent]
    return []


def record(name, relayout, work):
    """Records the demo's kernel, or a program of tests/data."""
    profile = work / f"{name}.relayout"
    if name == "kernel":
        cache = cache_folder()
        kernel = ["--image", cache / "kernel/current/vmlinuz", "--debug", cache / "kernel/current/vmlinux"]
        run(relayout, "record", "kernel", "--workload", KERNEL_WORKLOAD, *kernel, "-o", profile)
        return Recording(profile, advised_type(name), advise_arguments(name))
    fault = PROGRAMS[name]
    source, program = TESTS / "data" / fault.source, work / name
    if name == "rust":
        flags = run(relayout, "cc", "--relayout-rustflags").split()
        # The flags need what nightly permits without asking.
        run(*fault.compiler, *flags, source, "-o", program, RUSTC_BOOTSTRAP="1")
    else:
        run(relayout, "cc", "--", *fault.compiler, source, "-o", program)
    run(relayout, "record", "run", "--yield", "50", "-o", profile, "--", program, ROUNDS)
    return Recording(profile, advised_type(name), advise_arguments(name))


def verify_words(relayout, work):
    """Measures the two versions of a program, and returns the arguments that judge the saved result."""
    source, saved = TESTS / "verify/counters.c", work / "result.json"
    for program, flags in (("shared", []), ("apart", ["-DAPART"])):
        run("gcc", "-O2", "-pthread", *flags, source, "-o", work / program)
    sides = ["--before", f"{work / 'shared'} {ITERATIONS}", "--after", f"{work / 'apart'} {ITERATIONS}"]
    metric = r"rate,unit=1/s=regex:^thread (?<thread>\w+): ([0-9.]+)"
    limits = ["--runs", "10", "--budget", "60s"]
    run(relayout, "verify", *sides, *limits, "--metric", metric, "--save", saved, codes=VERDICT_CODES)
    return ["verify", "--load", saved]


def most_stored_member(advice):
    """The top-level member of the advised type that is stored to most; without a store among its first accesses, that with most."""
    rows = advice["types"][0]["evidence"]
    stored = [row for row in rows if row["access"] != "read"] or rows
    if not stored:
        sys.exit(f"{advice['types'][0]['name']}: no member is accessed")
    return re.split(r"[.\[]", max(stored, key=lambda row: row["count"])["member"])[0]


def embedded_document(file):
    """The JSON document in a page."""
    _, rest = file.read_text().split('type="application/gzip;base64">\n', 1)
    packed = base64.b64decode(rest.split("\n</script>", 1)[0])
    return json.loads(gzip.decompress(packed))


def cache_folder():
    """The folder that scripts/setup.sh fills."""
    variable = os.environ.get
    base = pathlib.Path(variable("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    return pathlib.Path(variable("RELAYOUT_CACHE") or base / "relayout")


def run(*words, codes=(0,), **environment):
    """Runs a command and returns its output. Any other exit code ends this program with what the command said."""
    words = [str(word) for word in words]
    done = subprocess.run(words, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode not in codes:
        sys.exit(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    main()
