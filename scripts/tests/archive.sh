# shellcheck shell=bash
# A small Debian archive: real packages and package lists, with files of a few bytes in them.

# archive_make DIR: two complete kernel releases, one without its debug package, three QEMUs.
archive_make() {
    ARCHIVE=$1
    # Packages of one content are the same file.
    export SOURCE_DATE_EPOCH=1700000000
    kernel_release 9 6.1.9-1
    kernel_release 10 6.1.10-2
    package linux-image-6.1.0-11-cloud-amd64 6.1.11-1 "boot/vmlinuz-6.1.0-11-cloud-amd64" early
    further_release 7.2.9+deb13 7.2.9-1
    further_release 7.3.4+deb13 7.3.4-1
    older_release 6.12.95+deb12 6.12.95-1
    ARCHITECTURE=arm64 older_release 6.12.95+deb12 6.12.95-1
    ARCHITECTURE=arm64 further_release 7.3.4+deb13 7.3.4-1
    qemu_release bookworm 7.2 +dfsg-7
    qemu_release bookworm-backports 10.0.2 '+ds-2~bpo12+1'
    qemu_user_release 7.2 +dfsg-7
    pahole_release 1.30-1
    archive_index trixie
    archive_index bookworm
    archive_index bookworm-backports
}

# kernel_release ABI VERSION
kernel_release() {
    local release=6.1.0-$1-cloud-amd64 version=$2
    package "linux-image-$release" "$version" \
        "boot/vmlinuz-$release" "vmlinuz $version" "boot/config-$release" "config $version"
    package "linux-image-$release-dbg" "$version" \
        "usr/lib/debug/boot/vmlinux-$release" "vmlinux $version" \
        "usr/lib/debug/lib/modules/$release/kernel/fs/overlay.ko" "$(module_text lib-a,lib_b)" \
        "usr/lib/debug/lib/modules/$release/kernel/lib/lib-a.ko" "$(module_text lib_b)" \
        "usr/lib/debug/lib/modules/$release/kernel/lib/lib_b.ko" "$(module_text)" \
        "usr/lib/debug/lib/modules/$release/kernel/lib/other.ko" "$(module_text)"
    source_package "$version"
}

# module_text [NEEDED]: the description of a module. Words of real ones end with a NUL each, which
# setup treats as it does ends of lines.
module_text() {
    printf 'license=GPL\ndepends=%s\nvermagic=test' "${1-}"
}

# further_release ABI VERSION: as kernels since 6.19 are packaged. The image package is empty.
further_release() {
    local release=$1-cloud-${ARCHITECTURE:-amd64} version=$2
    package "linux-image-$release" "$version"
    package "linux-binary-$release" "$version" "usr/lib/modules/$release/vmlinuz" "vmlinuz $version"
    debug_package "$release" "$version" "usr/lib/debug/lib/modules/$release/vmlinux" \
        "usr/lib/debug/boot/vmlinux-$release"
}

# older_release ABI VERSION: with an image that is not signed.
older_release() {
    local release=$1-cloud-${ARCHITECTURE:-amd64} version=$2
    package "linux-image-$release-unsigned" "$version" "boot/vmlinuz-$release" "vmlinuz $version"
    debug_package "$release" "$version" "usr/lib/debug/boot/vmlinux-$release" \
        "usr/lib/debug/lib/modules/$release/vmlinux"
}

# debug_package RELEASE VERSION FILE LINK: vmlinux as FILE, and a link to it.
debug_package() {
    mkdir -p "$ARCHIVE/files/$(dirname "$4")"
    ln -s "/$3" "$ARCHIVE/files/$4"
    package "linux-image-$1-dbg" "$2" "$3" "vmlinux $2" \
        "usr/lib/debug/lib/modules/$1/kernel/fs/overlay.ko" "$(module_text)"
}

source_package() {
    local tree=$ARCHIVE/tree
    mkdir -p "$tree/linux-source-6.1" "$ARCHIVE/files/usr/src"
    echo "VERSION = 6" >"$tree/linux-source-6.1/Makefile"
    tar -cJf "$ARCHIVE/files/usr/src/linux-source-6.1.tar.xz" -C "$tree" linux-source-6.1
    package linux-source-6.1 "$1"
}

# qemu_release SUITE VERSION REVISION: an emulator that names the plugin API it would export.
qemu_release() {
    local version=$2 revision=$3 machine
    POOL=$1 package libc6 2.36-9 lib/x86_64-linux-gnu/libc.so.6 libc
    # As most libraries, in the release alone.
    POOL=bookworm package libpart0 1 usr/lib/x86_64-linux-gnu/libpart.so part
    for machine in x86:x86_64 arm:aarch64; do
        POOL=$1 DEPENDS="libc6, libpart0" package "qemu-system-${machine%:*}" \
            "1:$version$revision" usr/share/doc/qemu/copyright copyright \
            "usr/bin/qemu-system-${machine#*:}" "#!/bin/sh
# qemu_plugin_register_vcpu_mem_cb qemu_plugin_mem_get_value
echo emulator $version"
    done
}

# qemu_user_release VERSION REVISION: a program that ends well, whatever it is to emulate. Its wrapper
# starts it by way of the loader, so it has to be one.
qemu_user_release() {
    local bin=$ARCHIVE/files/usr/bin
    mkdir -p "$bin"
    cp /bin/true "$bin/qemu-x86_64"
    echo qemu_plugin_register_vcpu_mem_cb >>"$bin/qemu-x86_64"
    cp "$bin/qemu-x86_64" "$bin/qemu-arm"
    DEPENDS="libc6, libpart0" package qemu-user "1:$1$2"
}

# pahole_release VERSION: for trixie, with a loader and a program that are shell scripts, and with a
# newer version of a library of QEMU.
pahole_release() {
    local libraries=usr/lib/x86_64-linux-gnu
    POOL=trixie package libc6 2.41-12 "$libraries/ld-linux-x86-64.so.2" '#!/bin/sh
shift 2
exec "$@"'
    POOL=trixie package libpart0 2 usr/lib/x86_64-linux-gnu/libpart.so newer
    POOL=trixie DEPENDS=libc6 package pahole "$1" usr/bin/pahole "#!/bin/sh
echo v${1%-*}" usr/bin/codiff other usr/share/doc/pahole/copyright copyright
}

# package NAME VERSION [FILE TEXT]...: into the suite POOL, bookworm if not said.
package() {
    local name=$1 version=$2 files=$ARCHIVE/files pool=$ARCHIVE/${POOL:-bookworm}
    shift 2
    mkdir -p "$files/DEBIAN" "$pool"
    cat >"$files/DEBIAN/control" <<CONTROL
Package: $name
Version: $version
Architecture: ${ARCHITECTURE:-amd64}
Maintainer: Nobody <nobody@localhost>
${DEPENDS:+Depends: $DEPENDS
}Description: test
CONTROL
    while [ $# -gt 0 ]; do
        mkdir -p "$files/$(dirname "$1")"
        printf '%s\n' "$2" >"$files/$1"
        chmod +x "$files/$1"
        shift 2
    done
    dpkg-deb --root-owner-group -Zgzip -b "$files" \
        "$pool/${name}_${version//:/%3a}_${ARCHITECTURE:-amd64}.deb" >/dev/null
    rm -rf "$files"
}

# archive_index SUITE: its Packages and Release files.
archive_index() {
    local suite=$1 architecture
    for architecture in amd64 arm64; do
        mkdir -p "$ARCHIVE/dists/$suite/main/binary-$architecture"
        archive_packages "$suite" "$architecture" \
            >"$ARCHIVE/dists/$suite/main/binary-$architecture/Packages"
    done
    cat >"$ARCHIVE/dists/$suite/Release" <<RELEASE
Origin: Test
Suite: $suite
Codename: $suite
Architectures: amd64 arm64
Components: main
Date: $(LC_ALL=C date -u '+%a, %d %b %Y %H:%M:%S UTC')
SHA256:
$(cd "$ARCHIVE/dists/$suite" && archive_sums main/binary-*/Packages)
RELEASE
}

# archive_packages SUITE ARCHITECTURE: the list of its packages.
archive_packages() {
    local deb
    for deb in "$ARCHIVE/$1"/*_"$2".deb; do
        [ -e "$deb" ] || continue
        dpkg-deb -f "$deb"
        printf 'Filename: %s/%s\n' "$1" "$(basename "$deb")"
        printf 'Size: %s\n' "$(stat -c %s "$deb")"
        printf 'SHA256: %s\n\n' "$(sha256sum "$deb" | cut -d ' ' -f 1)"
    done
}

# archive_sums FILE...: lines of a Release file.
archive_sums() {
    local file
    for file in "$@"; do
        printf ' %s %s %s\n' "$(sha256sum "$file" | cut -d ' ' -f 1)" "$(stat -c %s "$file")" "$file"
    done
}
