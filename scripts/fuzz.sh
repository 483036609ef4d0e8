#!/bin/bash
# Fuzzes the decoders with coverage guidance (cargo-fuzz, libFuzzer), and prints a table of runs, coverage and findings.
#
#   scripts/fuzz.sh SECONDS [--jobs N] [TARGET...]
#
#   SECONDS   for all targets together, without building and minimising
#   --jobs N  N targets at a time [1]
#   TARGET    only these [all of fuzz/Cargo.toml]
#
# fuzz/work/ keeps the corpus from run to run, minimised by coverage at the end of each, the logs, and each finding.
# A finding ends the target's run; another begins until the target's time is up, or ten are found. Exit code 1: findings.
# It needs the nightly toolchain and `cargo install cargo-fuzz`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../fuzz"

usage() {
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "../scripts/fuzz.sh" >&2
    exit 2
}

[[ ${1:-} =~ ^[1-9][0-9]*$ ]] || usage
TOTAL_S=$1
shift
JOBS=1
if [ "${1:-}" = --jobs ]; then
    [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || usage
    JOBS=$2
    shift 2
fi
TARGETS=("$@")
if [ ${#TARGETS[@]} -eq 0 ]; then
    mapfile -t TARGETS < <(sed -n '/^\[\[bin\]\]/,/^$/s/^name = "\(.*\)"$/\1/p' Cargo.toml)
fi
FINDINGS_MAX=10
WORK=$PWD/work
# Decoders have no unsafe code, so the address sanitizer would only halve the speed.
TRIPLE=$(rustc -vV | sed -n 's/^host: //p')
BINARIES=$PWD/target/$TRIPLE/release
mkdir -p "$WORK/logs"

# The inputs are small: threads would wait for each other for longer than they work.
export RAYON_NUM_THREADS=1

echo "building ${#TARGETS[@]} targets"
cargo +nightly fuzz build --fuzz-dir . --target-dir target --features libfuzzer --sanitizer none
# Without optimisation, since the seeds are written once.
cargo run --quiet --example seeds -- "$WORK/corpus"

# Fuzzes one target; its seconds are its share of the whole time.
fuzz_target() {
    local name=$1 end=$((SECONDS + TARGET_S)) found=0 left
    local findings=$WORK/findings/$name corpus=$WORK/corpus/$name
    mkdir -p "$findings" "$corpus" "corpus/$name"
    : >"$WORK/logs/$name"
    while left=$((end - SECONDS)) && [ "$left" -gt 0 ] && [ "$found" -lt "$FINDINGS_MAX" ]; do
        if "$BINARIES/$name" "$corpus" "corpus/$name" "-max_total_time=$left" -timeout=20 -rss_limit_mb=4096 \
            -max_len=65536 -print_final_stats=1 "-artifact_prefix=$findings/" >>"$WORK/logs/$name" 2>&1; then
            break
        fi
        found=$((found + 1))
    done
    minimise_corpus "$name"
}

# Keeps the smallest set of inputs with the same coverage; an input that fails is left out.
minimise_corpus() {
    local name=$1
    local corpus=$WORK/corpus/$name small=$WORK/corpus/$name.small
    rm -rf "$small"
    mkdir "$small"
    if "$BINARIES/$name" -merge=1 -timeout=20 -rss_limit_mb=4096 "$small" "$corpus" >"$WORK/logs/$name.merge" 2>&1; then
        rm -rf "$corpus"
        mv "$small" "$corpus"
    else
        rm -rf "$small"
    fi
}

print_table() {
    local name log runs edges features inputs findings all_findings=0
    printf '%-18s %12s %8s %9s %8s %9s\n' target runs edges features inputs findings
    for name in "${TARGETS[@]}"; do
        log=$WORK/logs/$name
        runs=$(awk '/^stat::number_of_executed_units:/ { sum += $2 } END { print sum + 0 }' "$log")
        edges=$(awk '{ for (i = 1; i < NF; i++) if ($i == "cov:") found = $(i + 1) } END { print found + 0 }' "$log")
        features=$(awk '{ for (i = 1; i < NF; i++) if ($i == "ft:") found = $(i + 1) } END { print found + 0 }' "$log")
        inputs=$(find "$WORK/corpus/$name" -type f | wc -l)
        findings=$(find "$WORK/findings/$name" -type f -newer "$WORK/begun" | wc -l)
        all_findings=$((all_findings + findings))
        printf '%-18s %12s %8s %9s %8s %9s\n' "$name" "$runs" "$edges" "$features" "$inputs" "$findings"
    done
    echo "findings: $all_findings, in fuzz/work/findings"
    [ "$all_findings" -eq 0 ]
}

TARGET_S=$((TOTAL_S * JOBS / ${#TARGETS[@]}))
[ "$TARGET_S" -gt 0 ] || TARGET_S=1
touch "$WORK/begun"
echo "fuzzing $TARGET_S seconds each, $JOBS at a time"
for name in "${TARGETS[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do
        wait -n || true
    done
    fuzz_target "$name" &
done
wait
print_table
