# shellcheck shell=bash
# Kernels beside the default one, on request: a version (6.12) or the newest one, for amd64 or, with
# -arm64 at the end of the name, for arm64. Each is in a folder by its release, with a link by the
# name that was asked for. Only images and debug packages: their sources are not fetched.

# Unpacked size of vmlinux per byte of its -dbg package, rounded up.
readonly FURTHER_PER_DEB_PERCENT=245
# Size of a boot image, rounded up: those of arm64 are not compressed.
readonly FURTHER_IMAGE_BYTES=45000000

# Names that were asked for, and by name what was chosen for it.
FURTHER=()
declare -A FURTHER_RELEASE FURTHER_VERSION FURTHER_IMAGE

# further_request NAME: fails if NAME is not a version or `newest`, with or without an architecture.
further_request() {
    [[ $1 =~ ^([0-9]+\.[0-9]+|newest)(-arm64)?$ ]] || return 1
    case " ${FURTHER[*]} " in
    *" $1 "*) ;;
    *) FURTHER+=("$1") ;;
    esac
}

# further_architecture NAME: Debian's name of the architecture.
further_architecture() {
    case $1 in
    *-arm64) echo arm64 ;;
    *) echo amd64 ;;
    esac
}

# Architectures of further kernels, but for this machine's.
further_architectures() {
    local name
    for name in "${FURTHER[@]}"; do
        further_architecture "$name"
    done | grep -v amd64 | sort -u || true
}

# Suites that have further kernels: backports of the next release have the newest ones, the release
# before has 5.10.
further_suites() {
    local name
    [ ${#FURTHER[@]} -eq 0 ] || echo trixie-backports
    for name in "${FURTHER[@]}"; do
        [ "${name%-arm64}" != 5.10 ] || echo bullseye
    done
}

# further_ready NAME
further_ready() {
    local place=kernel/$1
    [ -n "$(cache_version "$place")" ] &&
        [ -r "$CACHE/$place/vmlinuz" ] && [ -r "$CACHE/$place/vmlinux" ]
}

# further_choose NAME: the newest release of that version with an image and its debug package.
further_choose() {
    local name=$1 architecture debug release image version
    architecture=$(further_architecture "$name")
    while read -r debug; do
        release=${debug#linux-image-}
        release=${release%-dbg}
        version=$(package_versions "$debug" | head -n 1)
        image=$(further_image "$release" "$version") || continue
        FURTHER_RELEASE[$name]=$release
        FURTHER_VERSION[$name]=$version
        FURTHER_IMAGE[$name]=$image
        return
    done < <(apt_private apt-cache pkgnames linux-image- |
        grep -E "^linux-image-$(further_pattern "$name").*-cloud-$architecture-dbg\$" | sort -rV)
    stop "the archive has no linux-image-* of kernel ${name%-arm64} for cloud-$architecture with its -dbg package" \
        "Other versions: apt-cache pkgnames linux-image, with $CACHE/apt/apt.conf as APT_CONFIG."
}

# further_pattern NAME: the beginning of its releases, as a regular expression.
further_pattern() {
    local version=${1%-arm64}
    case $version in
    newest) echo '[0-9]' ;;
    *) echo "${version/./\\.}[.-]" ;;
    esac
}

# further_image RELEASE VERSION: the package with the boot image. Since 6.19, linux-image-* has none.
further_image() {
    local package
    for package in "linux-binary-$1" "linux-image-$1" "linux-image-$1-unsigned"; do
        if package_has "$package" "$2"; then
            echo "$package"
            return
        fi
    done
    return 1
}

# further_link NAME: points NAME at the folder of its release, if that is there: the default kernel's has a
# configuration, and any may have modules, which must not be replaced.
further_link() {
    local place=kernel/${FURTHER_RELEASE[$1]}
    [ "$(cache_version "$place")" = "${FURTHER_VERSION[$1]}" ] || return 1
    cache_link "$place" "kernel/$1"
}

# Bytes to download, bytes on disk.
further_cost() {
    local name=$1 version image debug
    version=${FURTHER_VERSION[$name]}
    image=$(aptroot_field Size "${FURTHER_IMAGE[$name]}=$version")
    debug=$(aptroot_field Size "linux-image-${FURTHER_RELEASE[$name]}-dbg=$version")
    printf '%s %s\n' $((image + debug)) \
        $((FURTHER_IMAGE_BYTES + debug * FURTHER_PER_DEB_PERCENT / 100))
}

further_download() {
    local name=$1 version=${FURTHER_VERSION[$1]}
    aptroot_download "${FURTHER_IMAGE[$name]}=$version" \
        "linux-image-${FURTHER_RELEASE[$name]}-dbg=$version"
}

further_unpack() {
    local name=$1 made=$CACHE/work/further
    local release=${FURTHER_RELEASE[$name]} image=${FURTHER_IMAGE[$name]}
    local vmlinuz=./boot/vmlinuz-$release
    case $image in
    linux-binary-*) vmlinuz=./usr/lib/modules/$release/vmlinuz ;;
    esac
    mkdir -p "$made"
    deb_file "${image}_" "$vmlinuz" >"$made/vmlinuz"
    # One of the two is the file, the other a link to it, of which tar writes nothing.
    deb_files "linux-image-${release}-dbg_" "./usr/lib/debug/boot/vmlinux-$release" \
        "./usr/lib/debug/lib/modules/$release/vmlinux" >"$made/vmlinux"
    [ -s "$made/vmlinuz" ] && [ -s "$made/vmlinux" ]
    modules_keep "$release" "$made/modules"
    cache_publish further "${FURTHER_VERSION[$name]}" "kernel/$release" "kernel/$name"
    rm -f "$CACHE/debs/$image"_*.deb "$CACHE/debs/linux-image-$release"-dbg_*.deb
}

# deb_files PREFIX MEMBER...: those of the members that the package has, one after the other.
deb_files() {
    local deb=("$CACHE/debs/$1"*.deb)
    shift
    [ ${#deb[@]} -eq 1 ]
    # Members that the package lacks are no failure: the caller looks at what came out.
    dpkg-deb --fsys-tarfile "${deb[0]}" | { tar -xO "$@" 2>/dev/null || true; cat >/dev/null; }
}
