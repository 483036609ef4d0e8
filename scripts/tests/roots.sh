#!/bin/bash
# Installs the Debian package in clean roots of Debian 12 and 13, uses it as a new user would, and removes it.
#
#   scripts/tests/roots.sh PACKAGE.deb [RELEASE...]        default: bookworm trixie
#
# Needs root, debootstrap, and the kernel that scripts/setup.sh fetches. Downloads 300 MB for each root, from Debian's
# archive. Roots are kept in $RELAYOUT_ROOTS, if it is set, so that the next run need not make them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. scripts/lib/environment.sh

[ $# -ge 1 ] || {
    printf 'usage: scripts/tests/roots.sh PACKAGE.deb [RELEASE...]\n' >&2
    exit 2
}
PACKAGE=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- bookworm trixie
[ "$(id -u)" -eq 0 ] || {
    printf 'roots.sh: only root can enter a root\n' >&2
    exit 3
}
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

main() {
    local release
    for release in "$@"; do
        printf '\n== Debian %s\n' "$release"
        root_make "$release"
        # Mounts end with the namespace.
        # shellcheck disable=SC2016  # the inner shell expands it
        unshare --mount --pid --fork --kill-child bash -euc '
            . "$0"
            root_enter "$@"
        ' "$PWD/scripts/tests/roots-inside.sh" "$WORK/$release" "$PACKAGE" "$(readlink -f "$CACHE/kernel/current")" \
            "$PWD/cases"
    done
    printf '\nroots.sh: all passed\n'
}

# root_make RELEASE: a fresh root in $WORK.
root_make() {
    local release=$1 kept=${RELAYOUT_ROOTS:-$WORK/kept}/$1
    if [ ! -e "$kept/etc/debian_version" ]; then
        mkdir -p "$(dirname "$kept")"
        run debootstrap --variant=minbase "$release" "$kept" >"$WORK/debootstrap.log"
    fi
    cp -a "$kept" "$WORK/$release"
}

main "$@"
