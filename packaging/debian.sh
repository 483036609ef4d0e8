# shellcheck shell=bash
# A Debian package of a tree of files.

# debian_make TREE FILE: TREE has usr/; FILE is the package.
debian_make() {
    local tree=$1 file=$2
    mkdir -p "$tree/DEBIAN"
    debian_control "$tree" >"$tree/DEBIAN/control"
    (cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
    find "$tree" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
    run dpkg-deb --root-owner-group -Zxz --build "$tree" "$file"
}

debian_control() {
    local tree=$1
    cat <<CONTROL
Package: relayout
Version: $VERSION
Architecture: amd64
Maintainer: relayout contributors <relayout@localhost>
Installed-Size: $(du -sk "$tree/usr" | cut -f 1)
Section: devel
Priority: optional
Depends: libc6 (>= $(debian_libc "$tree")), libgcc-s1
Recommends: qemu-system-x86 (>= 1:7.2), gcc, libc6-dev, xz-utils, e2fsprogs, ca-certificates, debian-archive-keyring
Suggests: clang, qemu-user, qemu-system-arm, linux-perf, make, flex, bison, bc, git, libelf-dev, python3
Description: find struct members that CPUs fight over, and lay them out better
 relayout records which CPU touches which bytes: of a kernel under QEMU, without
 hardware counters, or of a program built with its compiler wrapper. It names the
 struct members that share a cache line and should not, scores other layouts by
 replaying the recording, and writes patches.
CONTROL
}

# debian_libc TREE: the newest version of glibc that a symbol of the libraries has.
debian_libc() {
    objdump -T "$1"/usr/lib/relayout/*.so | grep -oE 'GLIBC_[0-9.]+' | sed 's/GLIBC_//' | sort -uV | tail -n 1
}
