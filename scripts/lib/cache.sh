# shellcheck shell=bash
# The cache folder: where it is, one setup at a time in it, and nothing half-made in it.
#
#   kernel/<release>/{vmlinuz,vmlinux,config,VERSION}     kernel/current -> <release>
#   kernel/<release>/{vmlinuz,vmlinux,VERSION}            kernel/6.12, kernel/newest -> <release>
#                                                         kernel/6.12-arm64 -> <release>
#   kernel/<release>/modules/NAME.ko                      modules that were asked for
#   source/linux-source-6.1/{...,VERSION}                 source/current -> linux-source-6.1
#   qemu/<version>/{qemu-system-x86_64,usr,lib,VERSION}   qemu/current, qemu/api1 -> <version>
#   qemu/user-<version>/{qemu-x86_64,usr,lib,VERSION}     qemu/user -> user-<version>
#   qemu/aarch64-<version>/{qemu-system-aarch64,...}      qemu/aarch64 -> aarch64-<version>
#   guest/aarch64-<hash>/{relayout-guest,VERSION}         guest/aarch64 -> aarch64-<hash>
#   browser/<hash>/{node_modules,VERSION}                 browser/current -> <hash>
#   pahole/<version>/{pahole,usr,VERSION}                 pahole/newer -> <version>
#   apt/     the private apt root          debs/   downloads not yet unpacked
#
# Folders are made as work/<name> and renamed into place, VERSION (the Debian version) in them:
# a folder with VERSION is whole.

cache_open() {
    local given=${RELAYOUT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/relayout}
    mkdir -p "$given" 2>/dev/null ||
        stop "cannot create the cache folder $given" "Set RELAYOUT_CACHE to a folder you can write."
    CACHE=$(cd "$given" && pwd -P)
    [ -w "$CACHE" ] || stop "cannot write to the cache folder $CACHE" \
        "Set RELAYOUT_CACHE to a folder you can write."
    case $CACHE in
    *[\"\;\\]*) stop "the cache folder's name has a quote, semicolon or backslash: $CACHE" ;;
    esac
    # shellcheck disable=SC2034  # say.sh reads it
    LOG=$CACHE/setup.log
    exec 9>"$CACHE/setup.lock"
    if ! flock -n 9; then
        say "another setup is at work in $CACHE: waiting for it"
        flock 9
    fi
    rm -rf "$CACHE/work"
}

# cache_version LINK: the Debian version that kernel/current and the like hold; nothing if none.
cache_version() {
    cat "$CACHE/$1/VERSION" 2>/dev/null || true
}

# cache_publish MADE VERSION PLACE LINK: the folder work/MADE becomes PLACE, LINK points at it.
cache_publish() {
    local made=$CACHE/work/$1 version=$2 place=$CACHE/$3
    printf '%s\n' "$version" >"$made/VERSION"
    sync -f "$made"
    mkdir -p "$(dirname "$place")"
    if [ -e "$place" ]; then
        mv -T "$place" "$CACHE/work/replaced"
    fi
    mv -T "$made" "$place"
    rm -rf "$CACHE/work/replaced"
    cache_link "$3" "$4"
}

# cache_link PLACE LINK: LINK points at PLACE, in one step.
cache_link() {
    ln -sfn "$(basename "$1")" "$CACHE/work/link"
    mv -T "$CACHE/work/link" "$CACHE/$2"
}

# Bytes that a user may still write to the cache's file system.
cache_free() {
    df --output=avail -B1 "$CACHE" | tail -n 1 | tr -d ' '
}
