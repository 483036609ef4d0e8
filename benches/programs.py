#!/usr/bin/env python3
"""What recording a program costs: CPU seconds for the same work, built natively, and built with
`relayout cc` and not recorded, recorded in slices of time, recorded (the default: all of the time at first, then slices), recorded
all of the time, and that with full counts.
Prints a Markdown table of ratios to native; quote its medians, the machine is never quiet.

    benches/programs.py --work DIR [--rounds N] [PROGRAM...]
    benches/programs.py --work DIR [--rounds N] --top10 [PROGRAM...]

--top10 asks what sampling loses instead: how many of the first ten findings (type or variable, and
hottest member) of a complete recording are among the first ten, or twenty, or at all, of the default one and of those in slices; and
of another complete one, which is what can be expected at best. Slices are for long runs: --loads 5 has
servers driven five times as long. memcached if no program is named.

PROGRAM: memcached leveldb nghttpd spdlog static-web-server mini-redis ripgrep xz matrix table list bytes (all of them if
none is named).

DIR keeps the sources, which `apt-get source` fetches (a deb-src line is needed; static-web-server and
mini-redis come from crates.io), and both builds.
Packages: dpkg-dev, autoconf, automake, libtool, pkg-config, cmake, libevent-dev, libmemcached-tools
(memcaslap), libgtest-dev, libgmock-dev, libbenchmark-dev (leveldb), libev-dev, libssl-dev, libc-ares-dev,
zlib1g-dev, nghttp2-client (h2load), libfmt-dev, libbenchmark-dev (spdlog), redis-tools (mini-redis). The Rust programs need the nightly toolchain.
Servers are driven over loopback; their CPU time alone counts. Rounds go through all modes in turn, so that all
see the same machine.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
RELAYOUT = HERE.parent / "target/release/relayout"
SLICES = "0.02"
MODES = {
    "native": None,
    "not recorded": [],
    "sliced": ["--slices", SLICES],
    "default": [],
    "complete": ["--slices", "1"],
    "full counts": ["--slices", "1", "--counts", "all"],
}
# How many findings are looked for, and among how many.
TOP, LOOKED_AMONG = 10, (10, 20, None)
RECORDINGS = {
    "complete": ["--slices", "1"],
    "complete again": ["--slices", "1"],
    "default": [],
    "5% of the time": ["--slices", "0.05"],
    "2% of the time": ["--slices", "0.02"],
}
JOBS = str(os.cpu_count())


def call(*words, cwd=None, env=None):
    done = subprocess.run(
        [str(w) for w in words], cwd=cwd, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}:\n{done.stdout[-4000:]}")
    return done.stdout


def source(work, package):
    """The unpacked source of a Debian package."""
    folder = work / "source" / package
    if not folder.exists():
        folder.mkdir(parents=True)
        call("apt-get", "source", "-qq", package, cwd=folder)
    return next(path for path in folder.iterdir() if path.is_dir())


class Autotools:
    """A program of a Debian source package with a configure script."""

    def __init__(self, package, made, configure=()):
        self.package, self.made, self.configure = package, made, configure

    def build(self, work, native):
        folder = work / ("native" if native else "recorded") / self.package
        program = folder / self.made
        if not program.exists():
            shutil.copytree(source(work, self.package), folder, dirs_exist_ok=True)
            compiler = "cc" if native else f"{RELAYOUT} cc"
            call("./configure", f"CC={compiler}", "CFLAGS=-O2 -g", *self.configure, cwd=folder)
            call("make", "-j", JOBS, cwd=folder)
        return program


class CMake:
    """A target of a Debian source package with a CMakeLists.txt."""

    def __init__(self, package, target, made, options):
        self.package, self.target, self.made, self.options = package, target, made, options

    def build(self, work, native):
        folder = work / ("native" if native else "recorded") / self.package
        program = folder / self.made
        if not program.exists():
            folder.mkdir(parents=True, exist_ok=True)
            compilers = []
            if not native:
                compilers = [f"-DCMAKE_C_COMPILER={RELAYOUT};cc", f"-DCMAKE_CXX_COMPILER={RELAYOUT};c++"]
            call("cmake", source(work, self.package), "-DCMAKE_BUILD_TYPE=RelWithDebInfo", *compilers,
                 *self.options, cwd=folder)
            call("make", "-j", JOBS, self.target, cwd=folder)
        return program


class Cargo:
    """A Rust program of a Debian source package."""

    def __init__(self, package, made):
        self.package, self.made = package, made

    def build(self, work, native):
        folder = work / ("native" if native else "recorded") / self.package
        program = folder / "release" / self.made
        if not native:
            program = folder / "x86_64-unknown-linux-gnu" / "release" / self.made
        if not program.exists():
            env = dict(os.environ, CARGO_TARGET_DIR=str(folder), CARGO_PROFILE_RELEASE_DEBUG="2")
            words = ["cargo", "+nightly", "build", "--release"]
            if not native:
                env["RUSTFLAGS"] = call(RELAYOUT, "cc", "--relayout-rustflags").strip()
                words += ["--target", "x86_64-unknown-linux-gnu"]
            tree = work / "source" / (self.package + "-tree")
            if not tree.exists():
                shutil.copytree(source(work, self.package), tree)
            call(*words, cwd=tree, env=env)
        return program


class CratesIo:
    """A Rust program that crates.io has, as published with its lock file."""

    def __init__(self, name, version, made=None):
        self.name, self.version, self.made = name, version, made or name

    def build(self, work, native):
        folder = work / ("native" if native else "recorded") / self.name
        program = folder / "bin" / self.made
        if not program.exists():
            env = dict(os.environ, CARGO_PROFILE_RELEASE_DEBUG="2", CARGO_PROFILE_RELEASE_STRIP="none",
                       CARGO_PROFILE_RELEASE_LTO="off")
            words = ["cargo", "+nightly", "install", "--locked", "--no-default-features", "--root", folder,
                     "--version", self.version, self.name]
            if not native:
                env["RUSTFLAGS"] = call(RELAYOUT, "cc", "--relayout-rustflags").strip()
                words += ["--target", "x86_64-unknown-linux-gnu"]
            call(*words, env=env)
        return program


class OneFile:
    """A program of this folder."""

    def __init__(self, file):
        self.file = file

    def build(self, work, native):
        program = work / ("native" if native else "recorded") / self.file.stem
        if not program.exists():
            program.parent.mkdir(parents=True, exist_ok=True)
            compiler = ["cc"] if native else [RELAYOUT, "cc"]
            call(*compiler, "-O2", "-g", self.file, "-o", program)
        return program


class Command:
    """Work that ends by itself; all of its CPU time counts."""

    def __init__(self, made, arguments):
        self.made, self.arguments = made, arguments

    def measure(self, work, native, start):
        program = self.made.build(work, native)
        with start([program, *(str(a).format(work=work) for a in self.arguments)]) as running:
            return running.wait()


class Server:
    """A server on loopback and what drives it; the CPU time while it is driven counts."""

    # How often it is driven, one time after the other.
    loads = 1

    def __init__(self, made, arguments, port, load):
        self.made, self.arguments, self.port, self.load = made, arguments, port, load

    def measure(self, work, native, start):
        program = self.made.build(work, native)
        with start([program, *(str(a).format(work=work) for a in self.arguments)]) as running:
            wait_for(self.port)
            for _ in range(self.loads):
                call(*self.load)
            cpu = cpu_of(find_process(program))
            running.stop()
            return cpu


def wait_for(port):
    for _ in range(1200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    sys.exit(f"nothing answers on port {port}")


def find_process(program):
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "exe").resolve() == program.resolve():
                    return int(entry.name)
            except OSError:
                pass
    sys.exit(f"{program} does not run")


def cpu_of(process):
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Running:
    """A started command, recorded or not."""

    def __init__(self, words, keep=None):
        self.keep = keep
        self.folder = tempfile.TemporaryDirectory()
        words = [str(w).format(profile=self.folder.name + "/p") for w in words]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        recorded = pathlib.Path(self.folder.name, "p")
        if self.keep and recorded.exists():
            shutil.move(recorded, self.keep)
        self.folder.cleanup()

    def wait(self):
        """CPU seconds of the program: of a recording, what the profile says; else of the process."""
        error = self.process.stderr.read()
        _, status, usage = os.wait4(self.process.pid, 0)
        if os.waitstatus_to_exitcode(status) != 0:
            sys.exit(f"{self.process.args}: {error}")
        profile = pathlib.Path(self.folder.name, "p", "meta.json")
        if profile.exists():
            return json.loads(profile.read_text())["runs"][0]["window_cpu_ns"] / 1e9
        return usage.ru_utime + usage.ru_stime

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            sys.exit(f"{self.process.args} did not end")


def starter(mode):
    def start(words):
        if mode in ("native", "not recorded"):
            return Running(words)
        return Running([RELAYOUT, "record", "run", "-o", "{profile}", *MODES[mode], "--", *words])

    return start


def report(work, name, options):
    """What `relayout report` says of a recording, with all findings."""
    with tempfile.TemporaryDirectory() as folder:
        profile = pathlib.Path(folder, "profile")

        def start(words):
            return Running([RELAYOUT, "record", "run", "-o", "{profile}", *options, "--", *words], profile)

        PROGRAMS[name].measure(work, False, start)
        text = subprocess.run([RELAYOUT, "report", profile, "--json", "--top", "0"], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return json.loads(text)


def findings(work, name, options):
    """What a recording finds, most transfers first."""
    # Several kinds of one line are one place to mend.
    return list(dict.fromkeys(place(f) for f in report(work, name, options)["findings"]))


def place(finding):
    """Where there are objects at several places in a line, the member tells the lines apart, not their offset."""
    hottest = max(finding["members"], key=lambda m: m["transfers"], default={"name": ""})
    return finding["type"], finding["variable"], hottest["name"]


def top10(work, names, rounds):
    heads = (f" in its first {n} |" if n else " in all |" for n in LOOKED_AMONG)
    print(f"| program | the complete one's first {TOP} in |" + "".join(heads))
    print("| --- | --- |" + " ---: |" * len(LOOKED_AMONG))
    for name in names or ["memcached"]:
        kept = {mode: [] for mode in RECORDINGS}
        for _ in range(rounds):
            found = {mode: findings(work, name, options) for mode, options in RECORDINGS.items()}
            first = found["complete"][:TOP]
            for mode, all_found in found.items():
                kept[mode].append([sum(one in all_found[:n] for one in first) for n in LOOKED_AMONG])
        for mode, counts in kept.items():
            if mode != "complete":
                cells = (f" {statistics.median(column):g} of {len(first)} |" for column in zip(*counts))
                print(f"| {name} | {mode} |" + "".join(cells), flush=True)


PROGRAMS = {
    "memcached": Server(
        Autotools("memcached", "memcached"),
        ["-u", "root", "-l", "127.0.0.1", "-p", "22122", "-t", "4"],
        22122,
        ["memcaslap", "-s", "127.0.0.1:22122", "-T", "1", "-c", "32", "-x", "200000"],
    ),
    "leveldb": Command(
        CMake("leveldb", "db_bench", "db_bench", ["-DLEVELDB_BUILD_TESTS=OFF"]),
        ["--threads=4", "--num=100000", "--benchmarks=fillrandom,readrandom", "--db={work}/leveldb-db"],
    ),
    "nghttpd": Server(
        CMake("nghttp2", "nghttpd", "src/nghttpd", ["-DENABLE_APP=ON", "-DENABLE_DOC=OFF", "-DENABLE_EXAMPLES=OFF"]),
        ["--no-tls", "-n", "4", "-d", "{work}/www", "22123"],
        22123,
        ["h2load", "-n", "60000", "-c", "16", "-m", "10", "http://127.0.0.1:22123/index.html"],
    ),
    "spdlog": Command(
        CMake("spdlog", "async_bench", "bench/async_bench", ["-DSPDLOG_BUILD_BENCH=ON", "-DSPDLOG_FMT_EXTERNAL=ON"]),
        # Messages, threads, the queue's length, rounds.
        [200000, 4, 8192, 1],
    ),
    "static-web-server": Server(
        CratesIo("static-web-server", "2.44.1"),
        ["--host", "127.0.0.1", "--port", "22124", "--root", "{work}/www", "--threads-multiplier", "2",
         "--log-level", "error"],
        22124,
        ["h2load", "--h1", "-n", "60000", "-c", "16", "http://127.0.0.1:22124/index.html"],
    ),
    "mini-redis": Server(
        CratesIo("mini-redis", "0.4.1", "mini-redis-server"),
        ["--port", "22125"],
        22125,
        ["redis-benchmark", "-p", "22125", "-t", "set,get", "-n", "60000", "-c", "16", "-q"],
    ),
    "ripgrep": Command(Cargo("rust-ripgrep", "rg"), ["-j", "4", "-c", "memory|lock", "{work}/source"]),
    "xz": Command(
        Autotools("xz-utils", "src/xz/xz", ["--disable-shared", "--disable-nls"]),
        ["-T2", "--block-size=1MiB", "-3", "-k", "-c", "{work}/input"],
    ),
    **{
        name: Command(OneFile(HERE / "programs/loops.c"), [name, scale])
        for name, scale in (("matrix", 30), ("table", 80), ("list", 6), ("bytes", 200))
    },
}


def prepare(work):
    work.mkdir(parents=True, exist_ok=True)
    page = work / "www" / "index.html"
    page.parent.mkdir(exist_ok=True)
    page.write_text("<p>A page of some kilobytes.</p>\n" * 128)
    given = work / "input"
    if not given.exists():
        # Text that compresses like text: this machine's own headers.
        with given.open("wb") as out:
            for header in sorted(pathlib.Path("/usr/include").glob("*.h")) * 4:
                out.write(header.read_bytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--top10", action="store_true", help="compare what is found, not the cost")
    parser.add_argument("--loads", type=int, default=1, help="drive servers so often in each start [1]")
    parser.add_argument("programs", nargs="*", choices=[[], *PROGRAMS], default=[])
    options = parser.parse_args()
    work = options.work.resolve()
    Server.loads = options.loads
    prepare(work)
    if options.top10:
        top10(work, options.programs, options.rounds)
        return
    print("| program | native, CPU s |" + "".join(f" {m} |" for m in list(MODES)[1:]))
    print("| --- |" + " ---: |" * len(MODES))
    for name in options.programs or PROGRAMS:
        taken = {mode: [] for mode in MODES}
        for _ in range(options.rounds):
            for mode in MODES:
                taken[mode].append(PROGRAMS[name].measure(work, mode == "native", starter(mode)))
        base = statistics.median(taken["native"])
        ratios = (f" {statistics.median(taken[mode]) / base:.2f}x |" for mode in list(MODES)[1:])
        print(f"| {name} | {base:.2f} |" + "".join(ratios), flush=True)


if __name__ == "__main__":
    main()
