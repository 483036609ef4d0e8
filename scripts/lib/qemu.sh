# shellcheck shell=bash
# QEMU with TCG plugins, unpacked beside whatever the machine has. The machine emulator from
# bookworm-backports with plugin API 4 (qemu/current), and for the tests of the fallback from
# bookworm itself with API 1 (qemu/api1). The emulator of single programs from bookworm (qemu/user):
# since 10.0 Debian links that one statically, which rules plugins out. On request, the emulator of
# arm64 machines, also from bookworm-backports (qemu/aarch64). Their libraries come along;
# libc and the compiler's run time stay the machine's, as the loader is.

# Parts of a closure that must be the machine's own.
readonly QEMU_LEFT_TO_MACHINE='^(libc6|libgcc-s1|libstdc\+\+6|gcc-[0-9]+-base) '
# Size kept per byte of package, rounded up: docs and other emulators of the package go.
readonly QEMU_PER_DEB_PERCENT=300

# qemu_ready LINK
qemu_ready() {
    [ -n "$(cache_version "$1")" ] && [ -x "$CACHE/$1/$(qemu_program "$1")" ]
}

# qemu_suite LINK: the suite that a link's QEMU comes from.
qemu_suite() {
    case $1 in
    qemu/current | qemu/aarch64) echo bookworm-backports ;;
    qemu/api1 | qemu/user) echo bookworm ;;
    esac
}

# qemu_package LINK
qemu_package() {
    case $1 in
    qemu/user) echo qemu-user ;;
    qemu/aarch64) echo qemu-system-arm ;;
    *) echo qemu-system-x86 ;;
    esac
}

# qemu_program LINK: its one program.
qemu_program() {
    case $1 in
    qemu/user) echo qemu-x86_64 ;;
    qemu/aarch64) echo qemu-system-aarch64 ;;
    *) echo qemu-system-x86_64 ;;
    esac
}

# qemu_place LINK VERSION: its folder.
qemu_place() {
    case $1 in
    qemu/user | qemu/aarch64) echo "$1-$(upstream_version "$2")" ;;
    *) echo "qemu/$(upstream_version "$2")" ;;
    esac
}

# qemu_apt LINK ARGUMENT...: apt-get install of the link's QEMU.
qemu_apt() {
    local link=$1
    shift
    apt_private apt-get install -y -t "$(qemu_suite "$link")" "$@" "$(qemu_package "$link")"
}

# qemu_version LINK: the version of the QEMU in its suite.
qemu_version() {
    apt_private apt-cache -t "$(qemu_suite "$1")" policy "$(qemu_package "$1")" |
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

# qemu_unpack LINK VERSION
qemu_unpack() {
    local link=$1 version=$2 made=$CACHE/work/qemu program
    program=$(qemu_program "$link")
    mkdir -p "$made"
    qemu_files "$link" >"$CACHE/work/files"
    xargs -d '\n' -I '{}' dpkg-deb -x '{}' "$made" <"$CACHE/work/files"
    qemu_prune "$made" "$program"
    qemu_wrapper "$program" >"$made/$program"
    chmod +x "$made/$program"
    qemu_check "$made" "$link"
    cache_publish qemu "$version" "$(qemu_place "$link" "$version")" "$link"
}

# 10.0.2 of 1:10.0.2+ds-2~bpo12+1.
upstream_version() {
    local version=${1#*:}
    printf '%s\n' "${version%%[+~-]*}"
}

# qemu_prune MADE PROGRAM: leaves the emulator, its firmware and libraries.
qemu_prune() {
    local made=${1:?} program=$2
    find "$made/usr/bin" -mindepth 1 ! -name "$program" -delete
    find "$made" -mindepth 1 -maxdepth 1 ! -name usr ! -name 'lib*' -exec rm -rf '{}' +
    find "$made/usr" -mindepth 1 -maxdepth 1 ! -name bin ! -name lib ! -name share \
        -exec rm -rf '{}' +
    if [ -d "$made/usr/share" ]; then
        find "$made/usr/share" -mindepth 1 -maxdepth 1 ! -name qemu ! -name seabios \
            -exec rm -rf '{}' +
    fi
}

# qemu_wrapper PROGRAM: what starts it with its libraries. The program that is emulated gets them
# too if it is told by the environment, so there they are said to the loader alone.
qemu_wrapper() {
    cat <<'SH'
#!/bin/sh
# QEMU from Debian's packages with the libraries it was built for.
here=$(dirname "$(readlink -f "$0")")
libraries=$here/usr/lib/x86_64-linux-gnu
SH
    case $1 in
    qemu-x86_64) cat <<'SH' ;;
exec /lib64/ld-linux-x86-64.so.2 --library-path "$libraries:$here/lib/x86_64-linux-gnu" \
    "$here/usr/bin/qemu-x86_64" "$@"
SH
    *) cat <<SH ;;
program=$1
SH
    esac
    case $1 in
    qemu-system-*) cat <<'SH' ;;
export LD_LIBRARY_PATH="$libraries:$here/lib/x86_64-linux-gnu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export QEMU_MODULE_DIR="$libraries/qemu"
exec "$here/usr/bin/$program" -L "$here/usr/share/qemu" -L "$here/usr/share/seabios" "$@"
SH
    esac
}

# The plugin API that the suite is taken for is there, and it runs.
qemu_check() {
    local made=$1 link=$2 symbol=qemu_plugin_register_vcpu_mem_cb machine=q35 program
    program=$(qemu_program "$link")
    case $link in
    qemu/current | qemu/aarch64) symbol=qemu_plugin_mem_get_value ;;
    esac
    if ! grep -aq "$symbol" "$made/usr/bin/$program"; then
        echo "$(qemu_package "$link") from $(qemu_suite "$link") does not export $symbol"
        return 1
    fi
    [ "$link" != qemu/aarch64 ] || machine=virt
    case $link in
    qemu/user) timeout 60 "$made/$program" /bin/true ;;
    *)
        echo quit | timeout 60 "$made/$program" -M "$machine" -accel tcg -m 64M -S \
            -nodefaults -display none -monitor stdio
        ;;
    esac
}
