#!/usr/bin/env python3
"""Holds the members of a data set against the reports of the profiles themselves.

    compare_with_reports.py RELAYOUT FLEET DATASET MEMBERS

Takes the MEMBERS members with the largest mean share, and compares the transfers, reads and writes of each in each profile
with those of `relayout report`. The reports share with the data set the naming of addresses, and none of its counting by
member. Profiles must hold one recording each.
"""

import csv
import io
import json
import subprocess
import sys
from collections import defaultdict


def query(fleet, data_set, sql):
    run = subprocess.run(
        [*fleet, "sql", data_set, sql, "--format", "csv"], check=True, capture_output=True, text=True
    )
    return list(csv.DictReader(io.StringIO(run.stdout)))


def reported_members(relayout, profile):
    run = subprocess.run(
        [relayout, "report", profile, "--json", "--top", "1000000", "--quiet"],
        check=True,
        capture_output=True,
        text=True,
    )
    sums = defaultdict(lambda: [0, 0, 0])
    for finding in json.loads(run.stdout)["findings"]:
        variable = finding["variable"] or ""
        for member in finding["members"]:
            is_scalar = not finding["types_path"]
            name = "" if is_scalar and member["name"] == variable else member["name"]
            key = ("" if is_scalar else finding["type"], variable, name)
            for index, count in enumerate(["transfers", "reads", "writes"]):
                sums[key][index] += member[count]
    return sums


def main():
    relayout, fleet, data_set, wanted = sys.argv[1:]
    fleet = fleet.split()
    members = query(
        fleet,
        data_set,
        f"SELECT type, variable, member FROM costs ORDER BY share_sum DESC, type, variable, member LIMIT {int(wanted)}",
    )
    asked = {(row["type"], row["variable"], row["member"]) for row in members}
    rows = query(
        fleet,
        data_set,
        "SELECT r.profile, m.type, m.variable, m.member, m.transfers, m.reads, m.writes "
        "FROM members m JOIN recordings r ON m.recording = r.recording WHERE m.transfers > 0",
    )
    kept = defaultdict(dict)
    for row in rows:
        key = (row["type"], row["variable"], row["member"])
        if key in asked:
            kept[row["profile"]][key] = [int(row[name]) for name in ("transfers", "reads", "writes")]
    compared = 0
    different = []
    for profile, counts in kept.items():
        reported = reported_members(relayout, profile)
        for key, found in counts.items():
            compared += 1
            if reported.get(key) != found:
                different.append(f"{profile}: {key}: {found} in the data set, {reported.get(key)} in the report")
    print("\n".join(different[:20]))
    print(f"{len(asked)} members in {len(kept)} profiles: {compared} counts, {len(different)} differ")
    if different or compared < int(wanted):
        sys.exit(1)


main()
