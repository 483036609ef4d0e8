#!/bin/bash
# Packages all crates in the order of their dependencies, installs the command from them as `cargo install relayout` does
# once they are published, and lets `relayout setup` build the recorder's libraries from them.
#
#   scripts/tests/published.sh
#
# A folder of crates stands in for the registry. Takes about three minutes on two cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. scripts/lib/environment.sh

WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
VERSION=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)

run cargo package --quiet --workspace --no-verify --allow-dirty --exclude xtask \
    --exclude relayout-testkit --exclude relayout-testprofile \
    --target-dir "$WORK/target"
run cargo vendor --quiet --locked "$WORK/crates" >/dev/null
for crate in "$WORK"/target/package/*.crate; do
    tar --extract --gzip --file "$crate" --directory "$WORK/crates"
    printf '{"files":{},"package":"%s"}' "$(sha256sum "$crate" | cut -d ' ' -f 1)" \
        >"$WORK/crates/$(basename "$crate" .crate)/.cargo-checksum.json"
done

mkdir "$WORK/home" "$WORK/elsewhere"
cat >"$WORK/home/config.toml" <<CONFIG
[source.crates-io]
replace-with = "packaged"
[source.packaged]
directory = "$WORK/crates"
CONFIG
export CARGO_HOME=$WORK/home CARGO_TARGET_DIR=$WORK/build RELAYOUT_CACHE=$WORK/cache
cd "$WORK/elsewhere"
# Without optimisation: what is tested is the packaging.
run cargo install --quiet --offline --debug --root "$WORK/installed" --version "=$VERSION" relayout
PATH=$WORK/installed/bin:$PATH

run relayout --version
# Nothing but the command is there, and it says how to get the rest.
relayout doctor >doctor.txt || [ $? -eq 3 ]
grep "relayout setup --libraries" doctor.txt
run relayout setup --libraries
cp "$OLDPWD"/cases/tune/server/* .
run make CC="relayout cc" CPPFLAGS="-I$RELAYOUT_CACHE/libraries/$VERSION"
run relayout record run ./server exchange 20000
relayout report server.relayout --top 1
printf '\npublished.sh: passed\n'
