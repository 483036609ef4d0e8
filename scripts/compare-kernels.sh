#!/bin/bash
# Fetches the kernels that benches/diff.py compares: of the newest Debian 6.1 release the standard,
# cloud and rt configuration, and the cloud configuration of the release before it. Only their
# vmlinux with debug info is kept, 0.6GB each, in the cache's compare/<release>.
#
#   scripts/compare-kernels.sh       prints the paths: cloud-old, cloud, standard, rt
#
# Exit codes: 0 all there; 3 something cannot be had: it is named.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
for part in say cache aptroot kernel; do
    # shellcheck source=/dev/null
    . "$ROOT/scripts/lib/$part.sh"
done

# What setup says goes to standard error here: standard output has the paths.
main() {
    local names=(cloud-old cloud standard rt) releases=() index
    {
        cache_open
        trap 'rm -rf "$CACHE/work"' EXIT
        if ! compare_known; then
            mkdir -p "$CACHE/work"
            step "read Debian 12's package lists, 10MB if new" "$(hint)" aptroot_update
            compare_choose
        fi
        mapfile -t releases <"$CACHE/compare/releases"
        for index in "${!names[@]}"; do
            compare_get "${names[$index]}" "${releases[$index]}"
        done
        aptroot_trim
    } >&2
    for index in "${!names[@]}"; do
        printf '%s %s\n' "${names[$index]}" "$CACHE/compare/${releases[$index]}/vmlinux"
    done
}

# A choice was made before, and stays until compare/ is removed.
compare_known() {
    [ -s "$CACHE/compare/releases" ]
}

# Writes the four releases, one per line.
compare_choose() {
    local cloud newest base
    mapfile -t cloud < <(apt_private apt-cache pkgnames linux-image-6.1.0- |
        sed -nE 's/^linux-image-(6\.1\.0-[0-9]+-cloud-amd64)-dbg$/\1/p' | sort -rV)
    [ ${#cloud[@]} -ge 2 ] ||
        stop "the archive has less than two linux-image-6.1.0-*-cloud-amd64-dbg packages"
    newest=${cloud[0]}
    base=${newest%-cloud-amd64}
    mkdir -p "$CACHE/compare"
    printf '%s\n' "${cloud[1]}" "$newest" "$base-amd64" "$base-rt-amd64" \
        >"$CACHE/compare/releases.new"
    mv "$CACHE/compare/releases.new" "$CACHE/compare/releases"
}

# compare_get NAME RELEASE
compare_get() {
    local name=$1 release=$2 place=$CACHE/compare/$2
    if [ -r "$place/vmlinux" ]; then
        return
    fi
    [ -r "$CACHE/apt/apt.conf" ] ||
        step "read Debian 12's package lists, 10MB if new" "$(hint)" aptroot_update
    step "download $release ($name)" "$(hint)" aptroot_download "linux-image-$release-dbg"
    step "unpack its vmlinux" "$(size "$(cache_free)") free in $CACHE." compare_unpack "$release"
}

compare_unpack() {
    local release=$1 made=$CACHE/work/compare
    mkdir -p "$made"
    deb_file "linux-image-${release}-dbg_" "./usr/lib/debug/boot/vmlinux-$release" >"$made/vmlinux"
    sync -f "$made"
    mv -T "$made" "$CACHE/compare/$release"
    rm -f "$CACHE/debs/linux-image-${release}-dbg_"*.deb
}

hint() {
    echo "Needed from Debian 12: linux-image-6.1.0-*-{cloud-amd64,amd64,rt-amd64}-dbg." \
        "Run again to go on; proxies, mirrors: docs/setup.md"
}

main "$@"
