# shellcheck shell=bash
# What ./demo and ./test share: where things are, and saying what is run.

# rustup's own place, for shells that were started before it was installed.
if ! command -v cargo >/dev/null && [ -x "$HOME/.cargo/bin/cargo" ]; then
    PATH=$HOME/.cargo/bin:$PATH
fi
# shellcheck disable=SC2034  # for ./demo
CACHE=${RELAYOUT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/relayout}
# shellcheck disable=SC2034
TARGET=${CARGO_TARGET_DIR:-target}

# Shows a command as it could be typed, then runs it.
run() {
    printf '\n$'
    printf ' %q' "$@"
    printf '\n'
    "$@"
}

# build_cost TEXT: what a first build spends, before it does.
build_cost() {
    if [ ! -d "$TARGET/release" ]; then
        printf 'build: 20MB of crates to download unless cargo has them, %s in %s\n' "$1" "$TARGET"
    fi
}

# Lines "SECONDS COMMAND" of what `timed` has run.
TIMES=()

# Runs a command as `run` does, and remembers how long it took.
timed() {
    local begin=$SECONDS
    run "$@"
    TIMES+=("$(printf '%6d s  %s' $((SECONDS - begin)) "$*" | cut -c 1-100)")
}

# Prints the commands that `timed` has run, with the time that each took.
print_times() {
    [ ${#TIMES[@]} -eq 0 ] || printf '%s\n' '' 'Where the time went:' "${TIMES[@]}"
}
