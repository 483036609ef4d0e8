#!/bin/bash
# Checks what ARCHITECTURE.md says of the crates: who depends on whom, who does no I/O, licences.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

FAILED=no

# A crate, and the crates of this workspace that it may depend on.
LAYERS="
relayout-machine:
relayout-shadow:
relayout-layout: relayout-messages
relayout-patch: relayout-messages
relayout-statistics:
relayout-verify: relayout-messages relayout-statistics
relayout-messages:
relayout-diff: relayout-layout
relayout-pahole-text: relayout-layout
relayout-check: relayout-diff relayout-layout relayout-messages
relayout-perf-data:
relayout-profile: relayout-messages relayout-perf-data relayout-shadow relayout-temporary
relayout-resolve: relayout-layout relayout-messages relayout-profile
relayout-contend: relayout-layout relayout-profile relayout-statistics
relayout-search: relayout-contend relayout-layout relayout-messages relayout-profile relayout-statistics
relayout-advice: relayout-check relayout-contend relayout-layout relayout-messages relayout-patch relayout-profile relayout-resolve relayout-search relayout-statistics relayout-verify
relayout-session: relayout-advice relayout-check relayout-contend relayout-diff relayout-files relayout-layout relayout-machine relayout-messages relayout-patch relayout-probe relayout-profile relayout-record relayout-resolve relayout-search relayout-statistics relayout-toolchain
relayout-workflows: relayout-advice relayout-check relayout-contend relayout-diff relayout-files relayout-layout relayout-machine relayout-measure relayout-messages relayout-probe relayout-profile relayout-record relayout-resolve relayout-search relayout-session relayout-statistics relayout-temporary relayout-toolchain relayout-verify
relayout-report: relayout-advice relayout-check relayout-contend relayout-diff relayout-layout relayout-machine relayout-pahole-text relayout-patch relayout-probe relayout-profile relayout-resolve relayout-search relayout-session relayout-statistics relayout-verify relayout-workflows
relayout-files: relayout-layout relayout-messages relayout-temporary
relayout-measure: relayout-files relayout-messages
relayout-probe: relayout-files relayout-machine relayout-messages relayout-statistics
relayout-record: relayout-files relayout-layout relayout-machine relayout-messages relayout-perf-data relayout-profile relayout-shadow relayout-statistics
relayout-toolchain: relayout-files relayout-measure relayout-messages
relayout: relayout-advice relayout-check relayout-contend relayout-diff relayout-files relayout-layout relayout-machine relayout-measure relayout-messages relayout-pahole-text relayout-patch relayout-probe relayout-profile relayout-record relayout-report relayout-resolve relayout-search relayout-session relayout-toolchain relayout-verify relayout-workflows
relayout-temporary:
relayout-testkit:
relayout-testprofile: relayout-profile
relayout-fuzz: relayout-check relayout-diff relayout-layout relayout-pahole-text relayout-patch relayout-perf-data relayout-profile relayout-record relayout-resolve relayout-search relayout-shadow relayout-toolchain relayout-verify
xtask: relayout-testkit
relayout-rt: relayout-shadow
relayout-qemu-core: relayout-machine relayout-shadow
relayout-qemu-api1: relayout-qemu-core
relayout-qemu-api4: relayout-qemu-core
"

# What fleet/ may depend on. It is a workspace of its own, whose packages take half an hour to compile.
FLEET="relayout-advice relayout-contend relayout-diff relayout-files relayout-layout relayout-messages relayout-profile relayout-report relayout-resolve relayout-session relayout-temporary relayout-testkit relayout-workflows"

# Values in, values out: no files, processes, terminal, environment or clock. So is relayout-profile
# but for its file `store.rs`; it is checked with those that depend on it.
PURE="machine messages perf-data layout statistics resolve contend search patch check diff pahole-text report verify advice"
# Libraries that exist to reach what those crates do not.
OUTSIDE="memmap2 tempfile libc rustix nix clap anyhow indicatif crossterm ratatui-crossterm"

main() {
    check_members
    check_layers
    check_fleet
    check_pure_dependencies
    check_licences
    check_calls
    [ "$FAILED" = no ] || exit 1
    echo "layers: ok"
}

wrong() {
    echo "layers: $*" >&2
    FAILED=yes
}

# tree CRATE FORMAT ARGUMENTS...: what CRATE is built from, itself first, one per line.
tree() {
    local crate=$1 format=$2
    shift 2
    cargo tree --locked --package "$crate" --edges normal,build --prefix none --format "$format" "$@"
}

# Each crate of the workspace and a crate that it names, one pair per line.
DIRECT=$(cargo tree --locked --workspace --edges normal,build --prefix depth --format '{p}' --depth 1 --no-dedupe |
    awk '/^0/ { crate = substr($1, 2) } /^1/ { print crate, substr($1, 2) }' | sort -u)

direct() {
    awk -v crate="$1" '$1 == crate { print $2 }' <<<"$DIRECT"
}

has_word() {
    [[ " $1 " == *" $2 "* ]]
}

check_members() {
    local crate
    while read -r crate; do
        grep -q "^$crate:" <<<"$LAYERS" || wrong "$crate has no place in scripts/tests/layers.sh"
    done < <(tree '*' '{p}' --depth 0 | awk 'NF { print $1 }')
}

check_layers() {
    local crate on allowed
    while IFS=: read -r crate allowed; do
        while read -r on; do
            has_word "$allowed" "$on" || wrong "$crate depends on $on"
        done < <(direct "$crate" | grep '^relayout' || true)
    done < <(grep . <<<"$LAYERS")
}

# By its manifest: cargo would download all packages to tell.
check_fleet() {
    local on
    while read -r on; do
        has_word "$FLEET" "$on" || wrong "relayout-fleet depends on $on"
    done < <(grep -o '^relayout-[a-z-]*' fleet/Cargo.toml)
}

check_pure_dependencies() {
    local crate on
    for crate in $PURE; do
        while read -r on; do
            ! has_word "$OUTSIDE" "$on" || wrong "relayout-$crate depends on $on"
        done < <(direct "relayout-$crate")
    done
}

# The plugin is loaded into QEMU, which is GPL-2.0; Apache-2.0 alone is not compatible with that.
# Everything else is MIT OR Apache-2.0 and links nothing under a copyleft licence.
check_licences() {
    local crate name licence
    for crate in relayout-qemu-api1 relayout-qemu-api4; do
        while IFS='|' read -r name licence; do
            case $licence in
            GPL-2.0-or-later | *MIT* | *BSD* | *Zlib*) ;;
            *) wrong "$crate is built from $name, whose licence is '$licence'" ;;
            esac
        done < <(tree "$crate" '{p}|{l}' --no-dedupe | sort -u)
    done
    while IFS='|' read -r name licence; do
        case $licence in
        *GPL*) wrong "relayout is built from $name, whose licence is '$licence'" ;;
        esac
    done < <(tree relayout '{p}|{l}' --no-dedupe | sort -u)
}

# Clippy checks the calls, in the crates that deny them (clippy.toml has the list).
check_calls() {
    local crate manifest library
    for crate in $PURE; do
        # `cargo pkgid` would read the whole workspace for each crate.
        manifest=$(grep -rlx "name = \"relayout-$crate\"" --include=Cargo.toml crates collectors)
        library=${manifest%/Cargo.toml}/src/lib.rs
        for lint in methods types; do
            grep -q "^        clippy::disallowed_$lint,$" "$library" || wrong "$library does not deny disallowed_$lint"
        done
    done
}

main
