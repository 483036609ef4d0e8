#!/usr/bin/env python3
"""Records `stat-one`, reports and advises, and puts the output, trimmed, between the capture markers of README.md. Needs what ./demo sets up, and its build.

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

RECORD = "relayout record kernel --workload stat-one --cpus 20 --simulate 1ms -o stat.relayout"
REPORT = "relayout report stat.relayout"
ADVISE = "relayout advise stat.relayout dentry --simulate --source ~/.cache/relayout/source/current"


def main():
    with tempfile.TemporaryDirectory() as folder:
        recorded = [line for line in run(RECORD, folder) if line.startswith(("stat.relayout:", "simulated:"))]
        reported = [*section(run(REPORT, folder), "stat-one", lambda line: line.startswith("  relayout")), TRIMMED]
        advised = trim_advice(run(ADVISE, folder))
    blocks = [(RECORD, recorded), (REPORT, reported), (ADVISE, advised)]
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


def trim_advice(lines):
    """What the layout brings, the curve, and the patch without its head."""
    recommended = next(line for line in lines if line.startswith(("Recommended ", "Instead of ")))
    brings = section(lines, "1. Brings", lambda line: line.startswith("2. "))
    curve = section(lines, "Operations a second", lambda line: line.startswith("The interval"))
    patch = section(lines, "@@", lambda line: not line)
    return [recommended, "", *brings, TRIMMED, *curve, TRIMMED, *patch]


if __name__ == "__main__":
    main()
