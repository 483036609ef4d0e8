#!/bin/bash
# Sets up what building and running relayout needs and this machine lacks. See docs/setup.md.
#
#   scripts/setup.sh [--tests] [--update] [--arm64] [--kernel VERSION[-arm64]]... [--module NAME]...
#
#   --tests            also what the tests need: their packages, a second QEMU with plugin API 1,
#                      pahole 1.30, the module overlay, and npm packages
#   --update           fetch the newest kernels and QEMU even if the cache has some
#   --kernel VERSION   also Debian's newest kernel of that version (6.12), or of all (newest); may be
#                      given more than once; VERSION-arm64 is a kernel for arm64
#   --arm64            also what recording arm64 kernels needs: a QEMU, the guest's program, and the
#                      kernel 6.12-arm64
#   --module NAME      also this module of the kernels that are set up, with its debug information and the
#                      modules that it needs; may be given more than once, or as NAME,NAME
#
# Exit codes: 0 all there; 2 usage; 3 something cannot be had: it is named with its package.
set -euo pipefail
# relayout runs nothing of the cache that others can change.
umask go-w

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
for part in say cache aptroot kernel further modules qemu guest browser pahole system; do
    # shellcheck source=/dev/null
    . "$ROOT/scripts/lib/$part.sh"
done

TESTS=no
UPDATE=no
ARM64=no
QEMUS=(qemu/current qemu/user)
# Modules that the tests load.
readonly TEST_MODULES=overlay
# The kernel that --arm64 fetches.
readonly ARM64_KERNEL=6.12-arm64

main() {
    options "$@"
    [ "$(uname -sm)" = "Linux x86_64" ] || stop "this needs Linux on x86-64, not $(uname -sm)"
    # Installed without its source, nothing is built.
    if [ -f "$ROOT/Cargo.toml" ]; then
        rust_check "$TESTS"
    elif [ "$TESTS" = yes ]; then
        stop "the tests need the source of relayout"
    fi
    cache_open
    trap 'rm -rf "$CACHE/work"' EXIT
    setup_system
    setup_guest
    setup_browser
    setup_cache
}

options() {
    while [ $# -gt 0 ]; do
        case $1 in
        --tests)
            TESTS=yes
            QEMUS+=(qemu/api1)
            modules_request "$TEST_MODULES"
            ;;
        --update) UPDATE=yes ;;
        --arm64) further_request "$ARM64_KERNEL" ;;
        --kernel)
            further_request "${2:-}" || usage
            shift
            ;;
        --kernel=*) further_request "${1#*=}" || usage ;;
        --module)
            modules_request "${2:-}" || usage
            shift
            ;;
        --module=*) modules_request "${1#*=}" || usage ;;
        *) usage ;;
        esac
        shift
    done
    if [ -n "$(further_architectures)" ]; then
        ARM64=yes
        QEMUS+=(qemu/aarch64)
    fi
}

usage() {
    printf 'usage: scripts/setup.sh [--tests] [--update] [--arm64] %s\n' \
        '[--kernel VERSION|newest[-arm64]]... [--module NAME]...' >&2
    exit 2
}

setup_system() {
    local packages
    mapfile -t packages < <({
        needed_packages "$TESTS"
        cross_packages "$ARM64"
    } | missing_packages | sort -u)
    if [ ${#packages[@]} -gt 0 ]; then
        packages_install "${packages[@]}"
    fi
}

# Compiles the guest's program for arm64, which needs nothing to be downloaded.
setup_guest() {
    if [ "$ARM64" = no ] || guest_ready; then
        return
    fi
    mkdir -p "$CACHE/work"
    step "compile the guest's program for arm64" "Needed: gcc-aarch64-linux-gnu" guest_build
}

# Installs the npm packages that the tests of pages use.
setup_browser() {
    if [ "$TESTS" = no ] || browser_ready; then
        return
    fi
    mkdir -p "$CACHE/work"
    step "install puppeteer-core and axe-core, 41MB to download" \
        "Needed from npm's registry: crates/relayout/tests/browser/package-lock.json. Run again to go on." \
        browser_install
}

# Downloads and unpacks what the cache lacks, once the sizes are said and known to fit.
setup_cache() {
    local items=() item wanted
    if [ "$UPDATE" = no ] && cache_complete; then
        say "setup: all there, nothing to download ($CACHE)"
        return
    fi
    say "setup: cache folder $CACHE"
    mkdir -p "$CACHE/work"
    step "read Debian 12's package lists, 10MB if new" "$(archive_hint)" aptroot_update
    kernel_choose
    for wanted in "${FURTHER[@]}"; do
        further_choose "$wanted"
        further_link "$wanted" || true
    done
    mapfile -t items < <(missing_items)
    if [ ${#items[@]} -eq 0 ]; then
        aptroot_trim
        say "setup: the cache has the newest of all, nothing downloaded"
        return
    fi
    estimate "${items[@]}"
    for item in "${items[@]}"; do
        get "$item"
    done
    aptroot_trim
    say "setup: done, $(du -sh --si "$CACHE" | cut -f 1) in $CACHE"
}

cache_complete() {
    local link wanted
    for link in "${QEMUS[@]}"; do
        qemu_ready "$link" || return 1
    done
    for wanted in "${FURTHER[@]}"; do
        further_ready "$wanted" && modules_ready "kernel/$wanted" || return 1
    done
    modules_ready kernel/current || return 1
    [ "$TESTS" = no ] || pahole_ready || return 1
    kernel_and_source_ready
}

# What is missing or, once kernel_choose has run, not of the version wanted.
missing_items() {
    local link wanted
    if ! kernel_ready || [ "$(cache_version kernel/current)" != "$KERNEL_VERSION" ]; then
        echo kernel
    elif ! modules_ready kernel/current; then
        echo modules/current
    fi
    if ! source_ready || [ "$(cache_version source/current)" != "$KERNEL_VERSION" ]; then
        echo source
    fi
    for link in "${QEMUS[@]}"; do
        if ! qemu_ready "$link" || [ "$UPDATE" = yes ] &&
            [ "$(cache_version "$link")" != "$(qemu_version "$link")" ]; then
            echo "$link"
        fi
    done
    for wanted in "${FURTHER[@]}"; do
        if ! further_ready "$wanted" || [ "$UPDATE" = yes ] &&
            [ "$(cache_version "kernel/$wanted")" != "${FURTHER_VERSION[$wanted]}" ]; then
            echo "further/$wanted"
        elif ! modules_ready "kernel/$wanted"; then
            echo "modules/$wanted"
        fi
    done
    if [ "$TESTS" = yes ] && { ! pahole_ready || [ "$UPDATE" = yes ] &&
        [ "$(cache_version "$PAHOLE_LINK")" != "$(pahole_version)" ]; }; then
        echo pahole
    fi
}

# Says what the items cost and stops if the disk has no room for that.
estimate() {
    local item download disk downloads=0 disks=0 free
    for item in "$@"; do
        read -r download disk < <(item_cost "$item")
        say "  $(printf '%-48s %6s to download, %6s on disk' "$(item_title "$item")" \
            "$(size "$download")" "$(size "$disk")")"
        downloads=$((downloads + download))
        disks=$((disks + disk))
    done
    free=$(cache_free)
    say "  together $(size $downloads) to download, about $(size $disks) on disk," \
        "$(size $((disks + downloads))) while unpacking; free: $(size "$free")"
    if [ $((disks + downloads)) -gt "$free" ]; then
        stop "not enough room in $CACHE: $(size $((disks + downloads))) needed, $(size "$free") free" \
            "Set RELAYOUT_CACHE to a folder on a larger disk."
    fi
}

item_title() {
    case $1 in
    kernel) echo "kernel $KERNEL_RELEASE, debug info" ;;
    source) echo "its source, linux-source-6.1 $KERNEL_VERSION" ;;
    further/*) echo "kernel ${FURTHER_RELEASE[${1#*/}]}, debug info" ;;
    modules/*) echo "modules of kernel $(modules_release "kernel/${1#*/}")" ;;
    pahole) echo "pahole $(upstream_version "$(pahole_version)") with its libraries" ;;
    qemu/user) echo "QEMU $(upstream_version "$(qemu_version "$1")") for single programs, its libraries" ;;
    qemu/aarch64) echo "QEMU $(upstream_version "$(qemu_version "$1")") for arm64, its libraries" ;;
    qemu/*) echo "QEMU $(upstream_version "$(qemu_version "$1")") with its libraries" ;;
    esac
}

item_cost() {
    case $1 in
    kernel) kernel_cost ;;
    source) source_cost ;;
    further/*) further_cost "${1#*/}" ;;
    modules/*) modules_cost "kernel/${1#*/}" ;;
    qemu/*) qemu_cost "$1" ;;
    pahole) pahole_cost ;;
    esac
}

get() {
    local item=$1
    case $item in
    kernel)
        step "download the kernel and its debug info" "$(archive_hint)" kernel_download
        step "unpack vmlinuz and vmlinux" "$(unpack_hint)" kernel_unpack
        ;;
    source)
        step "download the kernel's source" "$(archive_hint)" source_download
        step "unpack it" "$(unpack_hint)" source_unpack
        ;;
    further/*)
        # An item before may have been the same kernel.
        further_link "${item#*/}" && return
        step "download kernel ${FURTHER_RELEASE[${item#*/}]}" "$(archive_hint)" \
            further_download "${item#*/}"
        step "unpack vmlinuz and vmlinux" "$(unpack_hint)" further_unpack "${item#*/}"
        ;;
    modules/*)
        step "download the debug package of kernel $(modules_release "kernel/${item#*/}")" \
            "$(archive_hint)" modules_download "kernel/${item#*/}"
        step "unpack modules" "$(unpack_hint)" modules_unpack "kernel/${item#*/}"
        ;;
    pahole)
        step "download pahole from $PAHOLE_SUITE" "$(archive_hint)" pahole_download
        step "unpack and start it" "$(unpack_hint)" pahole_unpack "$(pahole_version)"
        ;;
    qemu/*)
        step "download $(qemu_package "$item") from $(qemu_suite "$item")" "$(archive_hint)" \
            qemu_download "$item"
        step "unpack and start it" "$(unpack_hint)" \
            qemu_unpack "$item" "$(qemu_version "$item")"
        ;;
    esac
}

archive_hint() {
    echo "Needed from Debian 12: linux-image-6.1.0-*-cloud-amd64 and its -dbg package," \
        "linux-source-6.1, qemu-system-x86, qemu-user. Run again to go on; proxies, mirrors: docs/setup.md"
}

unpack_hint() {
    echo "$(size "$(cache_free)") free in $CACHE. Run again to go on."
}

# Sourced by its tests, which replace parts of it.
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
    main "$@"
fi
