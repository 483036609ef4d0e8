# shellcheck shell=bash
# A private apt root in the cache: Debian 12 with its security and backports, whatever the
# machine itself runs. apt checks the archive's signatures against Debian's own keyring as ever;
# the machine's sources, package lists and installed packages are neither read nor changed, and
# no root is needed.

readonly KEYRING=/usr/share/keyrings/debian-archive-keyring

# apt_private COMMAND...: apt-get, apt-cache with the private root.
apt_private() {
    LC_ALL=C APT_CONFIG=$CACHE/apt/apt.conf "$@"
}

# Creates or renews the root's settings, then the package lists.
aptroot_update() {
    local root=$CACHE/apt
    mkdir -p "$root"/etc/{parts,trusted.gpg.d,preferences.d} "$root"/state/lists/partial \
        "$root"/cache/archives/partial "$root"/dpkg "$root"/log
    : >"$root/dpkg/status"
    aptroot_settings "$root" >"$root/apt.conf.new"
    mv "$root/apt.conf.new" "$root/apt.conf"
    aptroot_sources >"$root/etc/sources.list"
    aptroot_preferences >"$root/etc/preferences"
    # Without the error mode, apt-get update reports success with a list it could not fetch.
    apt_private apt-get update -o APT::Update::Error-Mode=any
}

aptroot_settings() {
    local root=$1
    cat <<CONF
Dir::Etc "$root/etc";
Dir::Etc::sourcelist "sources.list";
Dir::Etc::sourceparts "parts";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "parts";
Dir::State "$root/state";
Dir::State::status "$root/dpkg/status";
Dir::Cache "$root/cache";
Dir::Log "$root/log";
APT::Architecture "amd64";
APT::Architectures { $(aptroot_architectures) };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages { "none"; };
Acquire::GzipIndexes "true";
Acquire::Retries "3";
CONF
    machine_acquire_settings
}

# Architectures of packages that are looked for, as a list of apt's.
aptroot_architectures() {
    local architecture
    for architecture in amd64 $(further_architectures); do
        printf '"%s"; ' "$architecture"
    done
}

# How this machine reaches the archive (proxies, time limits, certificates). What says which
# files to fetch stays ours, and what would let unsigned archives pass is not taken over.
machine_acquire_settings() {
    apt-config dump |
        grep '^Acquire::[A-Za-z].* ".\+";$' |
        grep -Ev '^Acquire::(IndexTargets|Changelogs|Languages|CompressionTypes|GzipIndexes|cdrom)' |
        grep -Ev '^Acquire::Allow' || true
}

aptroot_sources() {
    local main=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
    local security=${DEBIAN_SECURITY_MIRROR:-http://deb.debian.org/debian-security}
    local key suite
    key=$(aptroot_keyring)
    printf 'deb [signed-by=%s] %s bookworm main\n' "$key" "$main"
    printf 'deb [signed-by=%s] %s bookworm-backports main\n' "$key" "$main"
    printf 'deb [signed-by=%s] %s bookworm-security main\n' "$key" "$security"
    for suite in $(other_suites); do
        printf 'deb [signed-by=%s] %s %s main\n' "$key" "$main" "$suite"
    done
}

# Suites of other releases than Debian 12.
other_suites() {
    further_suites
    pahole_suites
}

# Packages of other releases only where they are asked for by suite or version: their libraries need
# a newer libc than the machine's.
aptroot_preferences() {
    local suite
    for suite in $(other_suites); do
        printf 'Package: *\nPin: release n=%s\nPin-Priority: 100\n\n' "$suite"
    done
}

# Debian 12 names its keyring .gpg; later releases .pgp, at present with a link from the old name.
aptroot_keyring() {
    local suffix
    for suffix in gpg pgp; do
        if [ -r "$KEYRING.$suffix" ]; then
            printf '%s\n' "$KEYRING.$suffix"
            return
        fi
    done
    return 1
}

# aptroot_download NAME=VERSION...: into debs/. A file that is there is fetched again only if it
# is not the one that the signed lists name.
aptroot_download() {
    mkdir -p "$CACHE/debs"
    cd "$CACHE/debs" || return
    apt_private apt-get download "$@"
}

# Package lists are kept (compressed), what apt computes from them is not.
aptroot_trim() {
    rm -rf "$CACHE/apt/cache" "$CACHE/apt/state/lists/partial"
}

# aptroot_field FIELD NAME=VERSION: one field of a package's record.
aptroot_field() {
    apt_private apt-cache show "$2" | awk -v field="$1:" '$1 == field { print $2; exit }'
}
