# shellcheck shell=bash
# What setup tells: one line per step with its time, sizes, and why it stopped.
# Everything the steps themselves print goes to the log, which a failure quotes.

# Exit codes, the same as those of `relayout`.
readonly EXIT_ENVIRONMENT=3

say() {
    printf '%s\n' "$*"
}

# Ends setup: what is missing or wrong on the first line, what to do about it on the others.
stop() {
    local line
    printf 'setup: %s\n' "$1" >&2
    shift
    for line in "$@"; do
        printf '       %s\n' "$line" >&2
    done
    exit "$EXIT_ENVIRONMENT"
}

# step TEXT HINT COMMAND...: runs COMMAND under `set -e` in a subshell, its output in the log; if it
# fails, ends setup with HINT. Never call it in a condition: bash then ignores `set -e` inside.
step() {
    local text=$1 hint=$2 status start=$EPOCHREALTIME
    shift 2
    printf '  %-62s ' "$text"
    set +e
    (
        set -e
        "$@"
    ) </dev/null >"$LOG" 2>&1
    status=$?
    set -e
    if [ "$status" -ne 0 ]; then
        printf 'failed\n'
        quote_log
        if grep -qE 'No space left on device|not enough free space' "$LOG"; then
            hint="The disk is full: $(size "$(cache_free)") free in $CACHE. Make room and run again."
        fi
        stop "failed: $text" "$hint"
    fi
    printf '%6s s\n' "$(seconds_since "$start")"
}

quote_log() {
    tail -n 20 "$LOG" | sed 's/^/  | /' >&2
}

seconds_since() {
    awk -v start="${1/,/.}" -v end="${EPOCHREALTIME/,/.}" 'BEGIN { printf "%.1f", end - start }'
}

# Bytes as 1.5GB, in powers of 1000 as download sizes are.
size() {
    numfmt --to=si --suffix=B -- "$1"
}
