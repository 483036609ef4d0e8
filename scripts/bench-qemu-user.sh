#!/bin/bash
# What recording a program under qemu-user costs: CPU seconds native, under QEMU, with the plugin
# watching nothing, and recorded. The less of two runs each. Needs the cached qemu-user, the plugin
# (cargo build --release -p relayout-qemu-api1), a C compiler and xz.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/environment.sh

QEMU=$CACHE/qemu/user/qemu-x86_64
PLUGIN=$PWD/$TARGET/release/librelayout_qemu_api1.so
CPU=max,la57=off,erms=off,fsrm=off
RUNS=${RUNS:-2}
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

main() {
    local name
    for name in "$QEMU" "$PLUGIN"; do
        if [ ! -e "$name" ]; then
            echo "$name is missing" >&2
            exit 3
        fi
    done
    for name in pth sse; do
        cc -O3 -pthread -o "$WORK/$name" "benches/qemu-user/$name.c"
    done
    head -c 3000000 "$PLUGIN" >"$WORK/input"
    printf '%-8s %10s %10s %10s %10s   (CPU seconds)\n' program native qemu idle recorded
    row pth "$WORK/pth"
    row sse "$WORK/sse"
    row xz "$(command -v xz)" -T2 --block-size=1500000 -k -c "$WORK/input"
}

row() {
    local name=$1
    shift
    printf '%-8s %10s %10s %10s %10s\n' "$name" "$(least "$@")" "$(least "$QEMU" -cpu "$CPU" "$@")" \
        "$(least recorded mode=idle "$@")" "$(least recorded yield=1000,seed=1 "$@")"
}

# recorded OPTIONS PROGRAM...: under QEMU with the plugin, which writes to a folder of its own.
recorded() {
    local options=$1 folder
    shift
    folder=$(mktemp -d "$WORK/XXXXXX")
    head -c 4096 /dev/zero >"$folder/control"
    "$QEMU" -cpu "$CPU" -plugin "$PLUGIN,dir=$folder,$options" "$@"
    rm -rf "$folder"
}

# least COMMAND...: the least user and system time of some runs.
least() {
    local run
    local TIMEFORMAT='%U %S'
    for ((run = 0; run < RUNS; run++)); do
        { time "$@" >/dev/null 2>"$WORK/said"; } 2>&1 | tail -n 1 | awk '{ print $1 + $2 }'
    done | sort -g | head -n 1
}

main
