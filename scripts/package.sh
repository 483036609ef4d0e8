#!/bin/bash
# Makes what people install: a Debian package, an archive for other systems, and their checksums.
#
#   scripts/package.sh [FOLDER]        default: target/package-files
#
# The command is linked statically, so that one file runs on every distribution. The plugins and the runtime are
# libraries that QEMU and recorded programs load. The same commit gives the same bytes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ROOT=$PWD
. scripts/lib/environment.sh
# shellcheck source=/dev/null
. packaging/tree.sh
# shellcheck source=/dev/null
. packaging/debian.sh

[ $# -le 1 ] || {
    printf 'usage: scripts/package.sh [FOLDER]\n' >&2
    exit 2
}
OUTPUT=${1:-$TARGET/package-files}
VERSION=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
BUILD=$TARGET/package-build
TRIPLE=x86_64-unknown-linux-gnu
# Files have the time of the commit, not that of the build.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

# Paths of this machine are no part of a program.
remap="--remap-path-prefix=$ROOT=relayout --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"
export CARGO_TARGET_DIR=$BUILD CARGO_PROFILE_RELEASE_STRIP=symbols
RUSTFLAGS="$remap" run cargo build --release --locked --target "$TRIPLE" \
    -p relayout-rt -p relayout-qemu-api1 -p relayout-qemu-api4
RUSTFLAGS="$remap -C target-feature=+crt-static" run cargo build --release --locked --target "$TRIPLE" \
    --target-dir "$BUILD/static" -p relayout

mkdir -p "$OUTPUT"
STAGE=$(mktemp -d)
trap 'rm -rf "$STAGE"' EXIT
umask 022
tree_make "$STAGE/tree/usr" "$BUILD/static/$TRIPLE/release/relayout" "$BUILD/$TRIPLE/release"

name=relayout-$VERSION-x86_64-linux
mv "$STAGE/tree/usr" "$STAGE/$name"
run tar --create --xz --file "$OUTPUT/$name.tar.xz" --directory "$STAGE" --sort=name --owner=0 --group=0 \
    --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" "$name"
mv "$STAGE/$name" "$STAGE/tree/usr"
debian_make "$STAGE/tree" "$OUTPUT/relayout_${VERSION}_amd64.deb"

cd "$OUTPUT"
sha256sum "$name.tar.xz" "relayout_${VERSION}_amd64.deb" >SHA256SUMS
printf '\n'
cat SHA256SUMS
