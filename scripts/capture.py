#!/usr/bin/env python3
"""Records `stat-one`, reports, advises and asks what the layout would bring, and puts the output, trimmed, between the capture
markers of README.md. Needs what ./demo sets up, and its build.

    scripts/capture.py
"""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- capture:begin -->\n", "<!-- capture:end -->\n"
TRIMMED = "[...]"
WANTED = "dentry"
PAIRS_SHOWN = 2

RECORD = "relayout record kernel --workload stat-one --cpus 20 --simulate 1ms -o stat.relayout"
REPORT = "relayout report stat.relayout"
ADVISE = f"relayout advise stat.relayout {WANTED} --source ~/.cache/relayout/source/current"
RATES = "relayout record kernel --workload stat-one --cpus 20 --simulate 1ms --rates"
MOVED = f"{RATES} --move dentry.d_lockref=own-line"


def main():
    with tempfile.TemporaryDirectory() as folder:
        recorded = [line for line in run(RECORD, folder) if line.startswith(("stat.relayout:", "simulated:"))]
        reported = trim_report(run(REPORT, folder))
        advised = trim_advice(run(ADVISE, folder))
        rates, moved = (trim_rates(run(command, folder)) for command in (RATES, MOVED))
    blocks = [(RECORD, recorded), (REPORT, reported), (ADVISE, advised), (RATES, rates), (MOVED, moved)]
    text = "\n".join(f"```\n$ {command}\n" + "\n".join(lines) + "\n```\n" for command, lines in blocks)
    readme = ROOT / "README.md"
    before, rest = readme.read_text().split(BEGIN)
    _, after = rest.split(END)
    readme.write_text(before + BEGIN + text + END + after)


def run(command, folder):
    path = f"{os.environ.get('CARGO_TARGET_DIR', ROOT / 'target')}/release:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env={**os.environ, "PATH": path}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT if command == RECORD else subprocess.PIPE,
    )
    if done.returncode != 0:
        sys.exit(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr or ''}")
    # What a reader's own folder is called is nothing to show.
    return done.stdout.replace(os.path.expanduser("~/"), "~/").rstrip("\n").split("\n")


def section(lines, first, is_end):
    """From the first line that begins with `first` to before the next one that is an end."""
    start = next(n for n, line in enumerate(lines) if line.startswith(first))
    end = next((n for n in range(start + 1, len(lines)) if is_end(lines[n])), len(lines))
    return lines[start:end]


def trim_report(lines):
    head = [line for line in lines[:12] if line.startswith(("  transfers", "  CPU time", "  false"))]
    table = section(lines, "                  ------", lambda line: not line)
    row = next(line for line in table if f" {WANTED} " in line)
    finding = section(lines, f"#{row.split()[0]} ", lambda line: not line)
    members = next(n for n, line in enumerate(finding) if line.startswith("   Offset"))
    pairs = next(n for n, line in enumerate(finding) if "Missed" in line)
    missed = [line for line in finding[members + 1 : pairs] if not line.endswith(" 0")]
    shown = [*finding[: members + 1], *missed, TRIMMED, *finding[pairs : pairs + 1 + 2 * PAIRS_SHOWN], TRIMMED]
    return [*head, "", *table[:2], TRIMMED, row, TRIMMED, *shown]


def trim_advice(lines):
    """The answers, the candidates, and the patch."""
    start = next(n for n, line in enumerate(lines) if line.startswith(("Recommended ", "Instead of ")))
    end = next(n for n, line in enumerate(lines) if line.startswith("Counted by replay"))
    return lines[start:end]


def trim_rates(lines):
    """The rate, and what the CPUs did."""
    return [line for line in lines if "operations a second" in line or line.startswith("time of the CPUs")]


if __name__ == "__main__":
    main()
