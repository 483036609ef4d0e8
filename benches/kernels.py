#!/usr/bin/env python3
"""Records workloads on several kernels, and prints a Markdown table: how many of the transfers have a
member or variable behind them, and at which rank the findings stand that are known for the workload.

    benches/kernels.py --work DIR [--kernel NAME]... [--machine NAME [--simulate 2ms]] [WORKLOAD...]

NAME: a kernel as `relayout record kernel --kernel` takes it; `default` for the one that scripts/setup.sh
fetched. All that were fetched if none is given. With a machine, each workload is recorded in the host's order and in the
machine's (kernels for x86-64 only). Profiles stay in DIR. Exit code 1 if a recording fails,
a reader of the guest's memory is left out, or a share without contents of files and pipes is below
0.95 (0.90 on arm64).
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

RELAYOUT = pathlib.Path(__file__).resolve().parent.parent / "target/release/relayout"
WORKLOADS = ["mntns", "mmap1", "stat-one", "execl", "page_fault2", "pipe", "tlb", "sock"]
# Members that are known to be contended in a workload, or whole types. Later kernels have fixes for some.
KNOWN = {
    "mntns": [("pcpu_chunk", None)],
    "mmap1": [("mm_struct", "mmap_lock"), ("optimistic_spin_node", None)],
    "fcopy": [("shmem_inode_info", "vfs_inode.i_rwsem"), ("optimistic_spin_node", None)],
    "stat-one": [("dentry", "d_lockref")],
    "page_fault2": [("mem_cgroup", None)],
    "tlb": [("__call_single_data", None)],
}
# Order of accesses of a recording without a machine.
HOST = "host"
# Memory without members: contents of files and of pipes.
CONTENTS = ("page cache", "content of a pipe")


def fetched_kernels():
    cache = os.environ.get("RELAYOUT_CACHE") or pathlib.Path.home() / ".cache/relayout"
    folder = pathlib.Path(cache) / "kernel"
    names = sorted(path.name for path in folder.iterdir() if path.is_symlink() and path.name != "current")
    return ["default", *names]


def record(options, kernel, workload, order):
    profile = options.work / f"{kernel.replace('/', '_')}-{workload}-{order}.relayout"
    words = ["record", "kernel", "--force", "-q", "--workload", workload, "-o", profile]
    if kernel != "default":
        words += ["--kernel", kernel]
    if order == HOST:
        words += ["--order", "host"]
    else:
        words += ["--machine", order, "--simulate", options.simulate]
    done = subprocess.run([RELAYOUT, *words], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{kernel} {workload} {order}: {done.stderr}", file=sys.stderr)
        return None
    done = subprocess.run([RELAYOUT, "report", profile, "--json", "--top", "0"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def known_rank(report, type_name, member):
    for finding in report["findings"]:
        types = [finding["type"], *(finding["types_path"] or [])]
        if type_name not in types:
            continue
        if member is None or any(one["name"].startswith(member) for one in finding["members"]):
            return finding["rank"]
    return None


def row(kernel, workload, order, report):
    total = report["transfers_total"]
    contents = sum(count for name, count in report["unresolved"].items() if name.startswith(CONTENTS))
    ranks = []
    for type_name, member in KNOWN.get(workload, []):
        name = f"{type_name}.{member}" if member else type_name
        ranks.append(f"`{name}` {known_rank(report, type_name, member) or '-'}")
    left_out = ", ".join(reader["reader"] for reader in report["left_out_readers"])
    share = report["resolved_share"]
    print(
        f"| {kernel} | {workload} | {order} | {total} | {share:.1%} | {contents / total:.1%} | {', '.join(ranks) or '-'} | {left_out or '-'} |",
        flush=True,
    )
    least = 0.90 if report["machine"]["arch"] == "aarch64" else 0.95
    return report["resolved_share_without_content"] >= least and not left_out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--kernel", action="append")
    parser.add_argument("--machine", help="simulated machine, as `relayout probe --machines` lists them")
    parser.add_argument("--simulate", default="2ms", help="length of its window")
    parser.add_argument("workloads", nargs="*", default=WORKLOADS)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    print("| kernel | workload | order | transfers | resolved | contents | rank of known findings | not read |")
    print("| --- | --- | --- | ---: | ---: | ---: | --- | --- |")
    is_good = True
    for kernel in options.kernel or fetched_kernels():
        for workload in options.workloads:
            for order in [HOST, options.machine] if options.machine else [HOST]:
                report = record(options, kernel, workload, order)
                is_good &= report is not None and row(kernel, workload, order, report)
    sys.exit(not is_good)


if __name__ == "__main__":
    main()
