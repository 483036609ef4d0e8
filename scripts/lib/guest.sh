# shellcheck shell=bash
# The guest's program (collectors/guest) for arm64, cross-compiled. For this machine's kernels, the
# build of relayout compiles it.

# Hash of its sources: the program is compiled again when they change.
guest_version() {
    cat "$ROOT"/collectors/guest/*.[ch] | sha256sum | cut -c 1-16
}

guest_ready() {
    [ -x "$CACHE/guest/aarch64/relayout-guest" ] &&
        [ "$(cache_version guest/aarch64)" = "$(guest_version)" ]
}

guest_build() {
    local made=$CACHE/work/guest version
    version=$(guest_version)
    mkdir -p "$made"
    guest_compile "$made/relayout-guest"
    cache_publish guest "$version" "guest/aarch64-$version" guest/aarch64
    find "$CACHE/guest" -mindepth 1 -maxdepth 1 -type d ! -name "aarch64-$version" -exec rm -rf '{}' +
}

# guest_compile FILE: as crates/host/record/build.rs does.
guest_compile() {
    aarch64-linux-gnu-gcc -std=gnu11 -O2 -Wall -Wextra -static -pthread \
        -o "$1" "$ROOT"/collectors/guest/*.c
}
