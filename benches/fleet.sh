#!/bin/bash
# Times the questions of `relayout fleet` over 10 and 100 million rows, made from a data set of real recordings.
#
#   benches/fleet.sh DATASET [FOLDER]
#
# Needs `cargo build --release --bins --examples` in fleet/. FOLDER takes 1.2 GB [default: a temporary one].
set -euo pipefail
TARGET=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/${FLEET_TARGET:-fleet/target}/release
SOURCE=$1
FOLDER=${2:-$(mktemp -d)}

for rows in 10000000 100000000; do
    [ -d "$FOLDER/$rows" ] || "$TARGET/examples/vary" "$SOURCE" "$FOLDER/$rows" "$rows" 2>/dev/null
    for question in "top" "trend dentry.d_lockref" "where dentry.d_lockref" "where lockref_put_return"; do
        read -r command name <<<"$question"
        for _ in 1 2 3; do
            /usr/bin/time --format "%e s, %M KB" --output "$FOLDER/time" \
                "$TARGET/relayout-fleet" "$command" "$FOLDER/$rows" ${name:+"$name"} >/dev/null
            cat "$FOLDER/time"
        done | sort --numeric-sort | sed -n "2s/^/$rows rows, $question: /p"
    done
done
