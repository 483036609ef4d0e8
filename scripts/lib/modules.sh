# shellcheck shell=bash
# Kernel modules with debug information, on request: of the kernels that this call sets up, those that
# are named and those that they need. The debug package of a kernel has all modules; only these are
# kept. relayout loads them into guests, and reads their types.

# Bytes of a module, rounded up: most have less than 10 MB.
readonly MODULE_BYTES=10000000

# Names that were asked for, as the kernel writes them.
MODULES=()

# modules_request NAMES: names with commas between; fails if one is none.
modules_request() {
    local name names
    IFS=, read -r -a names <<<"$1"
    [ ${#names[@]} -gt 0 ] || return 1
    for name in "${names[@]}"; do
        [[ $name =~ ^[A-Za-z0-9_-]+$ ]] || return 1
        MODULES+=("${name//-/_}")
    done
}

# modules_ready PLACE: kernel/current and the like have all that were asked for.
modules_ready() {
    local name
    for name in "${MODULES[@]}"; do
        [ -r "$CACHE/$1/modules/$name.ko" ] || return 1
    done
}

# modules_release PLACE: the release of the kernel there.
modules_release() {
    basename "$(readlink "$CACHE/$1")"
}

# Bytes to download, bytes on disk.
modules_cost() {
    local package
    package=linux-image-$(modules_release "$1")-dbg=$(cache_version "$1")
    printf '%s %s\n' "$(aptroot_field Size "$package")" $((${#MODULES[@]} * MODULE_BYTES))
}

modules_download() {
    local package
    package=linux-image-$(modules_release "$1")-dbg
    package_has "$package" "$(cache_version "$1")" ||
        stop "the archive no longer has $package $(cache_version "$1")" \
            "scripts/setup.sh --update fetches a newer kernel with its modules."
    aptroot_download "$package=$(cache_version "$1")"
}

# modules_unpack PLACE: for a kernel that is there already.
modules_unpack() {
    local release
    release=$(modules_release "$1")
    mkdir -p "$CACHE/work"
    modules_keep "$release" "$CACHE/$1/modules"
    rm -f "$CACHE/debs/linux-image-$release-dbg_"*.deb
}

# modules_keep RELEASE TO: takes what was asked for out of the downloaded debug package.
modules_keep() {
    local all=$CACHE/work/modules name
    [ ${#MODULES[@]} -gt 0 ] || return 0
    mkdir -p "$all" "$2"
    dpkg-deb --fsys-tarfile "$CACHE/debs/linux-image-$1-dbg_"*.deb |
        { tar -x -C "$all" --no-same-owner "./usr/lib/debug/lib/modules/$1/kernel" && cat >/dev/null; }
    for name in "${MODULES[@]}"; do
        module_keep "$all" "$name" "$2"
    done
    rm -rf "$all"
}

# module_keep FROM NAME TO: one module, after those that it needs.
module_keep() {
    local file needed
    [ ! -e "$3/$2.ko" ] || return 0
    file=$(find "$1" -name '*.ko' | awk -v name="$2" '
        { file = $0; sub(".*/", ""); gsub("-", "_"); if ($0 == name ".ko" && !found++) print file }')
    [ -n "$file" ] || stop "the kernel has no module $2" \
        "What is built into it needs none. Others: apt-file list, or dpkg-deb -c, of its -dbg package."
    for needed in $(module_needs "$file"); do
        module_keep "$1" "${needed//-/_}" "$3"
    done
    install -m 644 "$file" "$3/.$2.ko"
    mv -T "$3/.$2.ko" "$3/$2.ko"
}

# module_needs FILE: names of the modules that it needs.
module_needs() {
    # All of it is read, or tr would die of the closed pipe.
    tr '\0' '\n' <"$1" | LC_ALL=C sed -n 's/^depends=\([A-Za-z0-9_,-]*\)$/\1/p' | tr ',' ' '
}
