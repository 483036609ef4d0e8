#!/usr/bin/env python3
"""Compares the JSON of two builds of relayout: the same profiles must give the same documents.

    scripts/compare-output.py OLD NEW PROFILE... [--debug VMLINUX] [--prose KEY]...

OLD and NEW are binaries. For each profile, `report --top 0` and `advise` run with both. The script prints the path of each
value that differs, and ends with 1 if there is any. Values below a key named by --prose are sentences: those that differ
are counted by key and are no difference.
"""

import argparse
import collections
import json
import os
import subprocess
import sys

COMMANDS = [["report", "--json", "--top", "0"], ["advise", "--json"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("profiles", nargs="+")
    parser.add_argument("--debug")
    parser.add_argument("--prose", action="append", default=[])
    arguments = parser.parse_args()
    prose, differences = collections.Counter(), 0
    for profile in arguments.profiles:
        for command, *options in COMMANDS:
            debug = ["--debug", arguments.debug] if arguments.debug else []
            documents = [run([binary, command, profile, *options, *debug]) for binary in (arguments.old, arguments.new)]
            for path, old, new in changes(*documents):
                if any(key in arguments.prose for key in path):
                    prose[".".join(key for key in path if key != "[]")] += 1
                else:
                    differences += 1
                    print(f"{profile}: {command}: {'.'.join(path)}: {old!r} -> {new!r}")
        print(f"{profile}: compared", file=sys.stderr)
    for key, count in sorted(prose.items()):
        print(f"prose differs {count} times: {key}")
    print(f"{differences} differences in {len(arguments.profiles)} profiles")
    sys.exit(differences > 0)


def run(command):
    # What earlier commands kept is of their code; both shall compute.
    environment = {**os.environ, "RELAYOUT_NO_CACHE": "1"}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stderr.decode()}")
    return json.loads(done.stdout)


def changes(old, new, path=()):
    """The paths of the values that differ, with both values; the order of keys counts."""
    if isinstance(old, dict) and isinstance(new, dict):
        if list(old) != list(new):
            yield path, list(old), list(new)
            return
        for key in old:
            yield from changes(old[key], new[key], (*path, key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for old_item, new_item in zip(old, new):
            yield from changes(old_item, new_item, (*path, "[]"))
    elif old != new or type(old) is not type(new):
        yield path, old, new


if __name__ == "__main__":
    main()
