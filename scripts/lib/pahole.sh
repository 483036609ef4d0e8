# shellcheck shell=bash
# pahole 1.30 of Debian 13 for the tests, beside the machine's 1.24: `show --pahole-version` follows
# both. It comes with all of its libraries, libc and the loader included, since Debian 12's are too
# old for it.

# The suite that has it.
readonly PAHOLE_SUITE=trixie
# Size kept per byte of package, rounded up.
readonly PAHOLE_PER_DEB_PERCENT=450

# Link of the folder with its program, which tests call.
readonly PAHOLE_LINK=pahole/newer

# The suite to read package lists of, if pahole is asked for.
pahole_suites() {
    [ "$TESTS" = no ] || echo "$PAHOLE_SUITE"
}

pahole_ready() {
    [ -n "$(cache_version "$PAHOLE_LINK")" ] && [ -x "$CACHE/$PAHOLE_LINK/pahole" ]
}

pahole_version() {
    apt_private apt-cache -t "$PAHOLE_SUITE" policy pahole |
        awk '$1 == "Candidate:" && $2 != "(none)" { print $2 }'
}

pahole_apt() {
    apt_private apt-get install -y -t "$PAHOLE_SUITE" "$@" pahole
}

# Bytes to download, bytes on disk.
pahole_cost() {
    pahole_apt --print-uris | awk -v percent="$PAHOLE_PER_DEB_PERCENT" \
        "/^'/"'{ sum += $3 } END { printf "%d %d\n", sum, sum * percent / 100 }'
}

pahole_download() {
    pahole_apt --download-only
}

# The downloaded closure, as package files.
pahole_files() {
    local name version
    pahole_apt --simulate | sed -En 's/^Inst ([^ ]+) \(([^ ]+) .*/\1 \2/p' |
        while read -r name version; do
            ls "$CACHE/apt/cache/archives/${name}_${version//:/%3a}"_*.deb
        done
}

# pahole_unpack VERSION
pahole_unpack() {
    local version=$1 made=$CACHE/work/pahole
    mkdir -p "$made"
    pahole_files >"$CACHE/work/files"
    xargs -d '\n' -I '{}' dpkg-deb -x '{}' "$made" <"$CACHE/work/files"
    find "$made" -mindepth 1 -maxdepth 1 ! -name usr ! -name 'lib*' -exec rm -rf '{}' +
    find "$made/usr" -mindepth 1 -maxdepth 1 ! -name bin ! -name 'lib*' -exec rm -rf '{}' +
    find "$made/usr/bin" -mindepth 1 ! -name pahole -delete
    rm -rf "$made/usr/lib/x86_64-linux-gnu/gconv"
    pahole_wrapper >"$made/pahole"
    chmod +x "$made/pahole"
    pahole_check "$made"
    cache_publish pahole "$version" "pahole/$(upstream_version "$version")" "$PAHOLE_LINK"
}

# What starts it with its own loader and libraries.
pahole_wrapper() {
    cat <<'SH'
#!/bin/sh
# pahole from Debian's packages with the libraries it was built for.
here=$(dirname "$(readlink -f "$0")")
libraries=$here/usr/lib/x86_64-linux-gnu
exec "$libraries/ld-linux-x86-64.so.2" --library-path "$libraries" "$here/usr/bin/pahole" "$@"
SH
}

# It runs, and is what the tests need.
pahole_check() {
    local says
    says=$("$1/pahole" --version)
    case $says in
    v1.3[0-9]*) ;;
    *)
        echo "pahole of $PAHOLE_SUITE says it is $says, not v1.30 or later"
        return 1
        ;;
    esac
}
