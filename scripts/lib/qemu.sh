# shellcheck shell=bash
# QEMU with TCG plugins, unpacked beside whatever the machine has: from bookworm-backports with
# plugin API 4 (qemu/current), and for the tests of the fallback from bookworm itself with API 1
# (qemu/api1). Its libraries come along; libc and the compiler's run time stay the machine's,
# as the loader is.

readonly QEMU_PACKAGE=qemu-system-x86
# Parts of a closure that must be the machine's own.
readonly QEMU_LEFT_TO_MACHINE='^(libc6|libgcc-s1|libstdc\+\+6|gcc-[0-9]+-base) '
# Size kept per byte of package, rounded up: docs and other emulators of the package go.
readonly QEMU_PER_DEB_PERCENT=300

# qemu_ready LINK
qemu_ready() {
    [ -n "$(cache_version "$1")" ] && [ -x "$CACHE/$1/qemu-system-x86_64" ]
}

# qemu_suite LINK: the suite that a link's QEMU comes from.
qemu_suite() {
    case $1 in
    qemu/current) echo bookworm-backports ;;
    qemu/api1) echo bookworm ;;
    esac
}

# qemu_apt SUITE ARGUMENT...: apt-get install of the suite's QEMU.
qemu_apt() {
    local suite=$1
    shift
    apt_private apt-get install -y -t "$suite" "$@" "$QEMU_PACKAGE"
}

# The version of the QEMU in a suite.
qemu_version() {
    apt_private apt-cache -t "$1" policy "$QEMU_PACKAGE" |
        awk '$1 == "Candidate:" && $2 != "(none)" { print $2 }'
}

# Bytes to download, bytes on disk.
qemu_cost() {
    qemu_apt "$1" --print-uris | awk -v percent="$QEMU_PER_DEB_PERCENT" \
        "/^'/"'{ sum += $3 } END { printf "%d %d\n", sum, sum * percent / 100 }'
}

qemu_download() {
    qemu_apt "$1" --download-only
}

# The downloaded closure, as package files.
qemu_files() {
    local name version
    qemu_apt "$1" --simulate |
        sed -En 's/^Inst ([^ ]+) \(([^ ]+) .*/\1 \2/p' |
        grep -Ev "$QEMU_LEFT_TO_MACHINE" |
        while read -r name version; do
            ls "$CACHE/apt/cache/archives/${name}_${version//:/%3a}"_*.deb
        done
}

# qemu_unpack LINK SUITE VERSION
qemu_unpack() {
    local link=$1 suite=$2 version=$3 made=$CACHE/work/qemu
    mkdir -p "$made"
    qemu_files "$suite" >"$CACHE/work/files"
    xargs -d '\n' -I '{}' dpkg-deb -x '{}' "$made" <"$CACHE/work/files"
    qemu_prune "$made"
    qemu_wrapper >"$made/qemu-system-x86_64"
    chmod +x "$made/qemu-system-x86_64"
    qemu_check "$made" "$suite"
    cache_publish qemu "$version" "qemu/$(upstream_version "$version")" "$link"
}

# 10.0.2 of 1:10.0.2+ds-2~bpo12+1.
upstream_version() {
    local version=${1#*:}
    printf '%s\n' "${version%%[+~-]*}"
}

# Leaves the x86-64 system emulator, its firmware and libraries.
qemu_prune() {
    local made=${1:?}
    find "$made/usr/bin" -mindepth 1 ! -name qemu-system-x86_64 -delete
    find "$made" -mindepth 1 -maxdepth 1 ! -name usr ! -name 'lib*' -exec rm -rf '{}' +
    find "$made/usr" -mindepth 1 -maxdepth 1 ! -name bin ! -name lib ! -name share \
        -exec rm -rf '{}' +
    find "$made/usr/share" -mindepth 1 -maxdepth 1 ! -name qemu ! -name seabios -exec rm -rf '{}' +
}

qemu_wrapper() {
    cat <<'SH'
#!/bin/sh
# QEMU from Debian's packages with the libraries it was built for.
here=$(dirname "$(readlink -f "$0")")
libraries=$here/usr/lib/x86_64-linux-gnu
export LD_LIBRARY_PATH="$libraries:$here/lib/x86_64-linux-gnu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export QEMU_MODULE_DIR="$libraries/qemu"
exec "$here/usr/bin/qemu-system-x86_64" -L "$here/usr/share/qemu" -L "$here/usr/share/seabios" "$@"
SH
}

# The plugin API that the suite is taken for is there, and a machine starts.
qemu_check() {
    local made=$1 suite=$2 symbol=qemu_plugin_register_vcpu_mem_cb
    if [ "$suite" = bookworm-backports ]; then
        symbol=qemu_plugin_mem_get_value
    fi
    if ! grep -aq "$symbol" "$made/usr/bin/qemu-system-x86_64"; then
        echo "$QEMU_PACKAGE from $suite does not export $symbol"
        return 1
    fi
    echo quit | timeout 60 "$made/qemu-system-x86_64" -M q35 -accel tcg -m 64M -S \
        -nodefaults -display none -monitor stdio
}
