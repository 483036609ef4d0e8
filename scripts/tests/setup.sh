#!/bin/bash
# Tests of scripts/setup.sh without a network: real apt on a small archive made here, in a cache
# of its own. Each test runs in a subshell with setup.sh sourced, so that it can replace parts.
# shellcheck disable=SC2317  # the tests, and what they replace, are called by name
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
WORK=$(mktemp -d "${TMPDIR:-/tmp}/relayout-setup-test.XXXXXX")
trap 'rm -rf "$WORK"' EXIT
PASSED=0 FAILED=0
# shellcheck source=scripts/tests/archive.sh
. "$ROOT/scripts/tests/archive.sh"

# The archive of these tests instead of Debian's. It is unsigned: only here apt is told to trust it.
small_archive() {
    export RELAYOUT_CACHE=$WORK/cache
    aptroot_sources() {
        local suite
        for suite in bookworm bookworm-backports $(pahole_suites); do
            printf 'deb [trusted=yes] copy:%s %s main\n' "$WORK/archive" "$suite"
        done
    }
    needed_packages() { :; }
    cross_packages() { :; }
    guest_compile() { install /bin/true "$1"; }
    browser_npm() { mkdir "$1/node_modules"; }
}

# All of setup, in a process of its own as ever: it holds the lock until that ends.
setup() {
    (main "$@")
}

it_chooses_the_newest_complete_release() {
    small_archive
    setup >"$WORK/out"
    check "$(readlink "$WORK/cache/kernel/current")" 6.1.0-10-cloud-amd64
    check "$(cat "$WORK/cache/kernel/current/VERSION")" 6.1.10-2
    check "$(cat "$WORK/cache/source/current/VERSION")" 6.1.10-2
}

it_unpacks_into_the_documented_places() {
    small_archive
    check "$(cat "$WORK/cache/kernel/current/vmlinuz")" "vmlinuz 6.1.10-2"
    check "$(cat "$WORK/cache/kernel/current/vmlinux")" "vmlinux 6.1.10-2"
    check "$(cat "$WORK/cache/kernel/current/config")" "config 6.1.10-2"
    check "$(cat "$WORK/cache/source/current/Makefile")" "VERSION = 6"
    check "$(readlink "$WORK/cache/qemu/current")" 10.0.2
    check "$("$WORK/cache/qemu/current/qemu-system-x86_64" --version </dev/null)" "emulator 10.0.2"
    check "$(ls "$WORK/cache/debs")" ""
}

it_unpacks_the_emulator_of_programs() {
    small_archive
    check "$(readlink "$WORK/cache/qemu/user")" user-7.2
    check "$(ls "$WORK/cache/qemu/user/usr/bin")" qemu-x86_64
    "$WORK/cache/qemu/user/qemu-x86_64" anything
}

# What it emulates gets the environment that it was started with.
it_says_libraries_to_the_loader_alone() {
    check "$(qemu_wrapper qemu-x86_64 | grep -c LD_LIBRARY_PATH || true)" 0
    check "$(qemu_wrapper qemu-system-x86_64 | grep -c LD_LIBRARY_PATH)" 1
}

it_fetches_further_kernels_on_request() {
    small_archive
    setup --kernel 6.12 --kernel=newest >"$WORK/out"
    check "$(readlink "$WORK/cache/kernel/6.12")" 6.12.95+deb12-cloud-amd64
    check "$(readlink "$WORK/cache/kernel/newest")" 7.3.4+deb13-cloud-amd64
    check "$(cat "$WORK/cache/kernel/6.12/vmlinuz")" "vmlinuz 6.12.95-1"
    check "$(cat "$WORK/cache/kernel/6.12/vmlinux")" "vmlinux 6.12.95-1"
    check "$(cat "$WORK/cache/kernel/newest/vmlinuz")" "vmlinuz 7.3.4-1"
    check "$(cat "$WORK/cache/kernel/newest/vmlinux")" "vmlinux 7.3.4-1"
    check "$(readlink "$WORK/cache/kernel/current")" 6.1.0-10-cloud-amd64
    check "$(ls "$WORK/cache/debs")" ""
    apt_private() { fail "apt was run: $*"; }
    check "$(setup --kernel 6.12)" "setup: all there, nothing to download ($WORK/cache)"
}

it_fetches_what_kernels_for_arm_need_on_request() {
    small_archive
    setup --arm64 --kernel newest-arm64 >"$WORK/out"
    check "$(readlink "$WORK/cache/kernel/6.12-arm64")" 6.12.95+deb12-cloud-arm64
    check "$(readlink "$WORK/cache/kernel/newest-arm64")" 7.3.4+deb13-cloud-arm64
    check "$(cat "$WORK/cache/kernel/6.12-arm64/vmlinuz")" "vmlinuz 6.12.95-1"
    check "$(cat "$WORK/cache/kernel/newest-arm64/vmlinux")" "vmlinux 7.3.4-1"
    check "$(readlink "$WORK/cache/qemu/aarch64")" aarch64-10.0.2
    check "$("$WORK/cache/qemu/aarch64/qemu-system-aarch64" </dev/null)" "emulator 10.0.2"
    check "$(readlink "$WORK/cache/qemu/current")" 10.0.2
    check "$(cat "$WORK/cache/guest/aarch64/VERSION")" "$(guest_version)"
    "$WORK/cache/guest/aarch64/relayout-guest"
    apt_private() { fail "apt was run: $*"; }
    check "$(setup --arm64)" "setup: all there, nothing to download ($WORK/cache)"
}

it_compiles_the_guest_again_when_its_sources_change() {
    small_archive
    guest_version() { echo another; }
    apt_private() { fail "apt was run: $*"; }
    setup --arm64 >"$WORK/out"
    check "$(ls "$WORK/cache/guest")" "$(printf "aarch64\naarch64-another")"
    check "$(readlink "$WORK/cache/guest/aarch64")" aarch64-another
}

it_looks_for_a_cross_compiler_for_arm_only() {
    check "$(cross_packages no)" ""
    check "$(cross_packages yes | cut -d ' ' -f 1)" \
        "$(printf 'gcc-aarch64-linux-gnu\nlibc6-dev-arm64-cross')"
}

it_keeps_modules_on_request() {
    small_archive
    setup --module overlay --kernel 6.12 >"$WORK/out"
    check "$(ls "$WORK/cache/kernel/current/modules")" "$(printf 'lib_a.ko\nlib_b.ko\noverlay.ko')"
    check "$(ls "$WORK/cache/kernel/6.12/modules")" overlay.ko
    check "$(ls "$WORK/cache/debs")" ""
    check "$(cat "$WORK/cache/kernel/current/vmlinux")" "vmlinux 6.1.10-2"
    check "$(setup --module overlay,lib-a)" "setup: all there, nothing to download ($WORK/cache)"
    check_stop 3 "the kernel has no module missing" setup --module missing
    check_stop 2 "usage:" setup --module ../overlay
    check_stop 2 "usage:" setup --module
}

it_links_another_name_to_a_kernel_that_is_there() {
    small_archive
    rm -rf "$WORK/cache/kernel" "$WORK/cache/debs"
    setup --module overlay --kernel 6.1 >"$WORK/out"
    check "$(readlink "$WORK/cache/kernel/6.1")" 6.1.0-10-cloud-amd64
    check "$(ls "$WORK/cache/kernel/6.1")" "$(printf 'VERSION\nconfig\nmodules\nvmlinux\nvmlinuz')"
    rm "$WORK/cache/kernel/6.1"
    setup --kernel 6.1 >"$WORK/out"
    check "$(ls "$WORK/cache/kernel/current")" "$(printf 'VERSION\nconfig\nmodules\nvmlinux\nvmlinuz')"
    check "$(ls "$WORK/cache/kernel/current/modules")" "$(printf 'lib_a.ko\nlib_b.ko\noverlay.ko')"
    check "$(ls "$WORK/cache/debs")" ""
}

it_names_a_kernel_that_the_archive_lacks() {
    small_archive
    check_stop 3 "no linux-image-* of kernel 4.19" setup --kernel 4.19
    check_stop 3 "of kernel 4.19 for cloud-arm64" setup --kernel 4.19-arm64
    check_stop 2 "usage:" setup --kernel 6.12-mips
    check_stop 2 "usage:" setup --kernel ../current
    check_stop 2 "usage:" setup --kernel
}

it_reads_more_suites_for_further_kernels_only() {
    check "$(aptroot_sources | grep -c trixie)" 0
    further_request 5.10
    check "$(aptroot_sources | grep -cE 'trixie-backports|bullseye')" 2
}

it_leaves_libc_to_the_machine() {
    small_archive
    check "$(find "$WORK/cache/qemu/current/" -name libc.so.6)" ""
    check "$(find "$WORK/cache/qemu/current/" -name libpart.so | wc -l)" 1
}

it_downloads_nothing_the_second_time() {
    small_archive
    apt_private() { fail "apt was run: $*"; }
    check "$(setup)" "setup: all there, nothing to download ($WORK/cache)"
}

it_adds_the_second_qemu_for_the_tests() {
    small_archive
    rust_check() { :; }
    setup --tests >"$WORK/out"
    check "$(readlink "$WORK/cache/qemu/api1")" 7.2
    check "$(readlink "$WORK/cache/qemu/current")" 10.0.2
    check "$(grep -c 'linux-image\|source' "$WORK/out")" 0
}

it_adds_the_newer_pahole_for_the_tests() {
    small_archive
    check "$(readlink "$WORK/cache/pahole/newer")" 1.30
    check "$("$WORK/cache/pahole/newer/pahole" --version)" v1.30
    check "$(ls "$WORK/cache/pahole/newer/usr/bin")" pahole
    check "$(find "$WORK/cache/pahole/newer/" -name 'ld-linux*' | wc -l)" 1
}

it_installs_what_drives_a_browser_for_the_tests_only() {
    small_archive
    rust_check() { :; }
    check "$(readlink "$WORK/cache/browser/current")" "$(browser_version)"
    check "$(ls "$WORK/cache/browser/current")" "$(printf 'VERSION\nnode_modules\npackage-lock.json\npackage.json')"
    browser_npm() { fail "npm was run: $*"; }
    setup --tests >"$WORK/out"
    browser_version() { echo another; }
    setup >"$WORK/out"
    browser_npm() { mkdir "$1/node_modules"; }
    setup --tests >"$WORK/out"
    check "$(LC_ALL=C ls "$WORK/cache/browser")" "$(printf 'another\ncurrent')"
}

# The machine's libc is too old for those of the suite of pahole.
it_takes_libraries_of_qemu_from_its_release() {
    small_archive
    export RELAYOUT_CACHE=$WORK/all-at-once
    rust_check() { :; }
    setup --tests >"$WORK/out"
    check "$(cat "$WORK/all-at-once/qemu/current/usr/lib/x86_64-linux-gnu/libpart.so")" part
}

it_reads_the_suite_of_pahole_for_the_tests_only() {
    TESTS=no
    check "$(aptroot_sources | grep -c "trixie main" || true)" 0
    TESTS=yes
    check "$(aptroot_sources | grep -c "trixie main")" 1
}

it_repairs_an_interrupted_setup() {
    small_archive
    rm "$WORK/cache/kernel/current/VERSION"
    mkdir -p "$WORK/cache/work/kernel" "$WORK/cache/debs"
    echo half >"$WORK/cache/work/kernel/vmlinux"
    echo half >"$WORK/cache/debs/linux-image-6.1.0-10-cloud-amd64-dbg_6.1.10-2_amd64.deb"
    setup >"$WORK/out"
    check "$(cat "$WORK/cache/kernel/current/vmlinux")" "vmlinux 6.1.10-2"
    check "$(ls -A "$WORK/cache/debs")" ""
    check "$(test -e "$WORK/cache/work" || echo gone)" gone
}

it_updates_when_asked() {
    small_archive
    kernel_release 11 6.1.11-1
    archive_index bookworm
    setup >"$WORK/out"
    check "$(readlink "$WORK/cache/kernel/current")" 6.1.0-10-cloud-amd64
    setup --update >"$WORK/out"
    check "$(readlink "$WORK/cache/kernel/current")" 6.1.0-11-cloud-amd64
    check "$(cat "$WORK/cache/source/current/VERSION")" 6.1.11-1
    check "$(setup --update | tail -n 1)" "setup: the cache has the newest of all, nothing downloaded"
}

it_stops_where_there_is_no_room() {
    small_archive
    export RELAYOUT_CACHE=$WORK/small
    cache_free() { echo 1000; }
    check_stop 3 "not enough room in $WORK/small" setup
    check "$(find "$WORK/small" -name '*.deb')" ""
}

it_refuses_an_unsigned_archive() {
    export RELAYOUT_CACHE=$WORK/unsigned DEBIAN_MIRROR=file:$WORK/archive
    export DEBIAN_SECURITY_MIRROR=file:$WORK/archive
    needed_packages() { :; }
    check_stop 3 "is not signed" setup
    check_stop 3 "linux-image-6.1.0-*-cloud-amd64" setup
}

it_names_what_the_archive_lacks() {
    small_archive
    export RELAYOUT_CACHE=$WORK/none
    package_has() { return 1; }
    check_stop 3 "linux-image-6.1.0-*-cloud-amd64 with its -dbg package" setup
}

it_names_packages_that_need_root() {
    root_prefix() { return 1; }
    check_stop 3 "missing packages: gcc dwarves" packages_install gcc dwarves
}

it_finds_missing_packages() {
    check "$(printf '%s\n' 'here true' 'gone false' 'typo no-such-command-at-all' | missing_packages)" \
        "$(printf 'gone\ntypo')"
}

it_asks_for_rust() {
    mkdir -p "$WORK/old"
    printf '#!/bin/sh\necho "cargo 1.63.0 (fd9c4297c 2022-07-01)"\n' >"$WORK/old/cargo"
    chmod +x "$WORK/old/cargo"
    PATH=$WORK/old:$PATH check_stop 3 "cargo 1.63.0 is too old" rust_check no
    command() { [ "$2" != cargo ]; }
    HOME=$WORK check_stop 3 "no cargo" rust_check no
}

it_takes_over_how_this_machine_reaches_archives() {
    apt-config() {
        cat <<'DUMP'
Acquire "";
Acquire::AllowInsecureRepositories "1";
Acquire::IndexTargets::deb::Packages::ShortDescription "Packages";
Acquire::Languages:: "de";
Acquire::http::Proxy "http://proxy:3128";
Acquire::https::CAInfo "";
APT::Get::AllowUnauthenticated "1";
DUMP
    }
    check "$(machine_acquire_settings)" 'Acquire::http::Proxy "http://proxy:3128";'
}

it_names_qemu_by_its_upstream_version() {
    check "$(upstream_version '1:10.0.2+ds-2+deb13u1~bpo12+1')" 10.0.2
    check "$(upstream_version '1:7.2+dfsg-7+deb12u18+b3')" 7.2
    check "$(upstream_version '8.1~rc1-1')" 8.1
}

it_waits_for_another_setup() {
    small_archive
    mkdir -p "$WORK/cache"
    (
        exec 8>"$WORK/cache/setup.lock"
        flock 8
        touch "$WORK/locked"
        sleep 1
        touch "$WORK/released"
    ) &
    until [ -e "$WORK/locked" ]; do sleep 0.05; done
    check "$(setup | head -n 1)" "another setup is at work in $WORK/cache: waiting for it"
    check "$(test -e "$WORK/released" && echo released)" released
}

it_rejects_unknown_options() {
    check_stop 2 "usage:" setup --no-such-option
}

# check FOUND EXPECTED
check() {
    [ "$1" = "$2" ] || fail "found    $1" "expected $2"
}

# check_stop CODE TEXT COMMAND...: COMMAND ends with CODE and says TEXT.
check_stop() {
    local code=$1 text=$2 found status=0
    shift 2
    found=$( ("$@") 2>&1) || status=$?
    check "$status" "$code"
    [[ $found == *"$text"* ]] || fail "found    $found" "expected $text"
}

fail() {
    printf '    %s\n' "$@" >&2
    exit 1
}

run_test() {
    local name=$1 status
    set +e
    (
        set -e
        # shellcheck source=scripts/setup.sh
        . "$ROOT/scripts/setup.sh"
        "$name"
    )
    status=$?
    set -e
    if [ "$status" -eq 0 ]; then
        PASSED=$((PASSED + 1))
    else
        FAILED=$((FAILED + 1))
        printf 'FAILED %s\n' "$name"
    fi
}

archive_make "$WORK/archive"
while read -r name; do
    run_test "$name" </dev/null
done < <(sed -n 's/^\(it_[a-z_]*\)() {$/\1/p' "${BASH_SOURCE[0]}")
printf 'scripts/tests/setup.sh: %s passed, %s failed\n' "$PASSED" "$FAILED"
[ "$FAILED" -eq 0 ]
