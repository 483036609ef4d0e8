# shellcheck shell=bash
# The newest Debian 6.1 cloud kernel, its vmlinux with debug info, and its source, all three of
# one version. Nothing is installed: the files are taken out of the packages.

# Unpacked size per byte of package, rounded up: of the -dbg package only vmlinux is unpacked,
# so that its Installed-Size says nothing; the source package holds a compressed tarball.
readonly VMLINUX_PER_DEB_PERCENT=215
readonly SOURCE_PER_DEB_PERCENT=1150
readonly VMLINUZ_BYTES=15000000

kernel_ready() {
    [ -n "$(cache_version kernel/current)" ] &&
        [ -r "$CACHE/kernel/current/vmlinuz" ] && [ -r "$CACHE/kernel/current/vmlinux" ]
}

source_ready() {
    [ -n "$(cache_version source/current)" ] && [ -r "$CACHE/source/current/Makefile" ]
}

# Both are there, and of one version.
kernel_and_source_ready() {
    kernel_ready && source_ready &&
        [ "$(cache_version kernel/current)" = "$(cache_version source/current)" ]
}

# Sets KERNEL_RELEASE and KERNEL_VERSION: the kernel that the cache has if only its source is
# missing and still in the archive, else the newest.
kernel_choose() {
    local version
    version=$(cache_version kernel/current)
    if [ "$UPDATE" = no ] && kernel_ready && package_has linux-source-6.1 "$version"; then
        KERNEL_RELEASE=$(basename "$(readlink "$CACHE/kernel/current")")
        KERNEL_VERSION=$version
    else
        kernel_newest
    fi
}

# The newest release whose image, debug package and source are all there in one version: signed
# images follow their debug packages by hours.
kernel_newest() {
    local image
    while read -r image; do
        KERNEL_RELEASE=${image#linux-image-}
        KERNEL_VERSION=$(package_versions "$image" | head -n 1)
        if package_has "$image-dbg" "$KERNEL_VERSION" &&
            package_has linux-source-6.1 "$KERNEL_VERSION"; then
            return
        fi
    done < <(apt_private apt-cache pkgnames linux-image-6.1.0- |
        grep -E '^linux-image-6\.1\.0-[0-9]+-cloud-amd64$' | sort -rV)
    stop "the archive has no linux-image-6.1.0-*-cloud-amd64 with its -dbg package" \
        "and linux-source-6.1, all of one version"
}

# package_has NAME VERSION
package_has() {
    package_versions "$1" | grep -Fxq -- "$2"
}

package_versions() {
    apt_private apt-cache madison "$1" | awk -F ' *[|] *' '$3 ~ /Packages$/ { print $2 }'
}

kernel_download() {
    aptroot_download "linux-image-$KERNEL_RELEASE=$KERNEL_VERSION" \
        "linux-image-$KERNEL_RELEASE-dbg=$KERNEL_VERSION"
}

source_download() {
    aptroot_download "linux-source-6.1=$KERNEL_VERSION"
}

# Bytes to download, bytes on disk.
kernel_cost() {
    local image debug
    image=$(aptroot_field Size "linux-image-$KERNEL_RELEASE=$KERNEL_VERSION")
    debug=$(aptroot_field Size "linux-image-$KERNEL_RELEASE-dbg=$KERNEL_VERSION")
    printf '%s %s\n' $((image + debug)) \
        $((VMLINUZ_BYTES + debug * VMLINUX_PER_DEB_PERCENT / 100))
}

source_cost() {
    local source
    source=$(aptroot_field Size "linux-source-6.1=$KERNEL_VERSION")
    printf '%s %s\n' "$source" $((source * SOURCE_PER_DEB_PERCENT / 100))
}

kernel_unpack() {
    local release=$KERNEL_RELEASE made=$CACHE/work/kernel
    mkdir -p "$made"
    deb_file "linux-image-${release}_" "./boot/vmlinuz-$release" >"$made/vmlinuz"
    deb_file "linux-image-${release}_" "./boot/config-$release" >"$made/config"
    deb_file "linux-image-${release}-dbg_" "./usr/lib/debug/boot/vmlinux-$release" >"$made/vmlinux"
    modules_keep "$release" "$made/modules"
    cache_publish kernel "$KERNEL_VERSION" "kernel/$release" kernel/current
    rm -f "$CACHE"/debs/linux-image-*.deb
}

source_unpack() {
    local name=linux-source-6.1 made=$CACHE/work/source
    mkdir -p "$made"
    deb_file "${name}_" "./usr/src/$name.tar.xz" | xz -dc -T0 | tar -x -C "$made" --no-same-owner
    mv -T "$made/$name" "$CACHE/work/$name"
    cache_publish "$name" "$KERNEL_VERSION" "source/$name" source/current
    rm -f "$CACHE/debs/${name}"_*.deb
}

# deb_file PREFIX MEMBER: one file out of the downloaded package whose name begins so.
deb_file() {
    local deb=("$CACHE/debs/$1"*.deb)
    [ ${#deb[@]} -eq 1 ]
    # To its end, or dpkg-deb would die of the closed pipe once tar has what it wants.
    dpkg-deb --fsys-tarfile "${deb[0]}" | { tar -xO "$2" && cat >/dev/null; }
}
