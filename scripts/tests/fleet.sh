#!/bin/bash
# Builds and tests `relayout fleet`: its lints and tests, a data set of real recordings against the reports of the profiles,
# a full disk, an object store, and a Ballista cluster with an executor that is killed.
#
#   scripts/tests/fleet.sh
#
# The first build takes about half an hour on two cores, and so does that of Ballista, once. Needs the kernel that setup.sh
# fetches.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. scripts/lib/environment.sh

FLEET_TARGET=${FLEET_TARGET:-fleet/target}
BALLISTA=${BALLISTA:-$CACHE/ballista}
WORK=$(mktemp -d)
PROCESSES=()
# shellcheck disable=SC2329  # called by the trap
clean_up() {
    kill "${PROCESSES[@]}" 2>/dev/null || true
    mountpoint --quiet "$WORK/small" && umount "$WORK/small"
    rm -rf "$WORK"
}
trap clean_up EXIT
RELAYOUT=$PWD/$TARGET/release/relayout
FLEET=$FLEET_TARGET/release/relayout-fleet

cargo_fleet() { run cargo "$1" --release --locked --manifest-path fleet/Cargo.toml --target-dir "$FLEET_TARGET" "${@:2}"; }
run cargo fmt --manifest-path fleet/Cargo.toml --check
cargo_fleet clippy --all-targets -- -D warnings
cargo_fleet build
cargo_fleet test

# same NAME TEXT FILE...: the files have the same content.
same() {
    diff "$2" "$3" || { echo "fleet.sh: $1 differs" >&2; exit 1; }
}
# fails TEXT COMMAND...: the command fails, with TEXT in its message.
fails() {
    local text=$1
    shift
    printf '\n$ %s\n' "$*"
    if "$@" 2>"$WORK/error"; then
        echo "fleet.sh: it did not fail" >&2
        exit 1
    fi
    cat "$WORK/error"
    grep --quiet -- "$text" "$WORK/error"
}

cat >"$WORK/suite.toml" <<SUITE
[[kernel]]
workloads = ["mntns", "stat-one"]
cpus = [2]
seeds = 2
options = ["--iterations", "30"]
SUITE
run "$RELAYOUT" suite "$WORK/suite.toml" -o "$WORK/recordings"
SET=$WORK/fleet
run "$FLEET" add "$SET" "$WORK/recordings"
find "$SET" -type f | sort | xargs sha256sum >"$WORK/first"
run "$FLEET" add "$SET" "$WORK/recordings"
find "$SET" -type f | sort | xargs sha256sum >"$WORK/second"
same "a data set after the second addition" "$WORK/first" "$WORK/second"
run fleet/tests/compare_with_reports.py "$RELAYOUT" "$FLEET" "$SET" 20
run "$FLEET" top "$SET" --limit 5
run "$FLEET" trend "$SET" dentry.d_lockref
run "$FLEET" where "$SET" dentry.d_lockref --limit 3 --html "$WORK/page.html"
"$RELAYOUT" show "$CACHE/kernel/current/vmlinux" dentry >"$WORK/today.txt"
run "$FLEET" pays "$SET" dentry --layout "$WORK/today.txt"
# Today's layout changes nothing.
"$FLEET" pays "$SET" dentry --layout "$WORK/today.txt" --format csv | cut -d , -f 9 | sort -u >"$WORK/changes"
printf '0.0
change
' | same "the change by today's layout" - "$WORK/changes"

# questions FOLDER [OPTION...]: the answers that must not depend on where they are computed.
questions() {
    local folder=$1
    shift
    mkdir -p "$folder"
    "$FLEET" top "$SET" --limit 50 --format csv "$@" >"$folder/top"
    "$FLEET" where "$SET" dentry.d_lockref --format csv "$@" >"$folder/where"
    "$FLEET" trend "$SET" dentry.d_lockref --format csv "$@" >"$folder/trend"
    "$FLEET" sql "$SET" "SELECT workload, SUM(transfers) AS t, COUNT(DISTINCT recording) AS r FROM meetings \
GROUP BY workload ORDER BY workload" --format csv "$@" >"$folder/sql"
}
run questions "$WORK/here"
run "$FLEET" compact "$SET"
run questions "$WORK/joined"
for name in top where trend sql; do same "$name after compact" "$WORK/here/$name" "$WORK/joined/$name"; done

# A disk that is full during `add` leaves nothing of the profile, and the rest is as it was.
if [ "$(id -u)" -eq 0 ] && mkdir "$WORK/small" && mount -t tmpfs -o size=300k tmpfs "$WORK/small"; then
    fails "No space left" "$FLEET" add "$WORK/small/fleet" "$WORK/recordings"
    run "$FLEET" sql "$WORK/small/fleet" "SELECT COUNT(*) FROM recordings" || true
    [ "$(find "$WORK/small/fleet" -name '*.parquet*' | wc -l)" -eq \
        "$(cat "$WORK/small"/fleet/entries/*.json 2>/dev/null | grep -o '"path"' | wc -l)" ]
    umount "$WORK/small"
fi

# An object store: the same files, the same answers.
python3 -m venv "$WORK/python"
run "$WORK/python/bin/pip" --quiet install 'moto[server]' boto3
"$WORK/python/bin/moto_server" --host 127.0.0.1 --port 5311 >"$WORK/store.log" 2>&1 &
PROCESSES+=($!)
export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_DEFAULT_REGION=us-east-1
export AWS_ENDPOINT=http://127.0.0.1:5311 AWS_ALLOW_HTTP=true
"$WORK/python/bin/python" - <<'PYTHON'
import time, boto3
client = boto3.client("s3", endpoint_url="http://127.0.0.1:5311")
for attempt in range(50):
    try:
        client.create_bucket(Bucket="recordings")
        break
    except Exception:
        time.sleep(0.2)
PYTHON
FOLDER=$SET
SET=s3://recordings/fleet
run "$FLEET" add "$SET" "$WORK/recordings"
run questions "$WORK/store"
run "$FLEET" compact "$SET"
run questions "$WORK/store-joined"
for name in top where trend sql; do
    same "$name in the store" "$WORK/here/$name" "$WORK/store/$name"
    same "$name in the store after compact" "$WORK/here/$name" "$WORK/store-joined/$name"
done
SET=$FOLDER

# A cluster on this machine: Ballista's own programs.
if [ ! -x "$BALLISTA/bin/ballista-scheduler" ]; then
    run cargo install --quiet --root "$BALLISTA" --target-dir "$FLEET_TARGET" ballista-executor@55.0.0 \
        ballista-scheduler@55.0.0
fi
executor() {
    "$BALLISTA/bin/ballista-executor" --bind-host 127.0.0.1 --external-host 127.0.0.1 --bind-port "$1" \
        --bind-grpc-port "$2" --bind-health-port "$(($2 + 1))" --scheduler-host 127.0.0.1 --scheduler-port 50150 --work-dir "$WORK/work-$1" \
        >"$WORK/executor-$1.log" 2>&1 &
    PROCESSES+=($!)
    EXECUTOR=$!
}
mkdir -p "$WORK/work-50151" "$WORK/work-50161"
"$BALLISTA/bin/ballista-scheduler" --bind-host 127.0.0.1 --bind-port 50150 >"$WORK/scheduler.log" 2>&1 &
PROCESSES+=($!)
sleep 2
CLUSTER=df://127.0.0.1:50150
executor 50151 50152
sleep 3
run questions "$WORK/cluster-1" --cluster "$CLUSTER"
executor 50161 50162
sleep 3
run questions "$WORK/cluster-2" --cluster "$CLUSTER"
for name in top where trend sql; do
    same "$name on one executor" "$WORK/here/$name" "$WORK/cluster-1/$name"
    same "$name on two executors" "$WORK/here/$name" "$WORK/cluster-2/$name"
done
# A query whose executor is killed ends right, or with an error.
(sleep 0.2 && kill -9 "$EXECUTOR") &
if timeout 300 "$FLEET" top "$SET" --limit 50 --format csv --cluster "$CLUSTER" 2>"$WORK/error" \
    >"$WORK/killed"; then
    same "top with a killed executor" "$WORK/here/top" "$WORK/killed"
else
    cat "$WORK/error"
    grep --quiet "the cluster at $CLUSTER failed" "$WORK/error"
fi
fails "the cluster at df://127.0.0.1:1 failed" "$FLEET" top "$SET" --cluster df://127.0.0.1:1
printf '\nfleet.sh: passed\n'
