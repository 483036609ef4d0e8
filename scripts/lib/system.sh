# shellcheck shell=bash
# What the machine itself must have: Rust, which we do not install, and a few Debian packages,
# which we do, through apt as root or with sudo.

# Packages that are missing, from "PACKAGE TEST..." lines.
missing_packages() {
    local package probe
    while read -r package probe; do
        if ! eval "$probe" >/dev/null 2>&1; then
            printf '%s\n' "$package"
        fi
    done
}

# needed_packages yes|no: what to look for, with the tests' extras or without.
needed_packages() {
    if [ -f "$ROOT/Cargo.toml" ]; then
        cat <<'LIST'
gcc command -v gcc && command -v cc
libc6-dev test -r "$(gcc -print-file-name=libc.a)"
LIST
    fi
    cat <<'LIST'
xz-utils command -v xz
e2fsprogs PATH=$PATH:/usr/sbin:/sbin command -v mke2fs
ca-certificates test -r /etc/ssl/certs/ca-certificates.crt
debian-archive-keyring aptroot_keyring
LIST
    if [ "$1" = yes ]; then
        cat <<'LIST'
autoconf command -v autoconf
automake command -v automake
bc command -v bc
bison command -v bison
chromium command -v chromium
clang command -v clang
cmake command -v cmake
dwarves command -v pahole
debuginfod command -v debuginfod-find
dwz command -v dwz
fish command -v fish
flex command -v flex
g++ command -v g++
gcc-aarch64-linux-gnu command -v aarch64-linux-gnu-gcc
gcc-arm-linux-gnueabihf command -v arm-linux-gnueabihf-gcc
gcc-powerpc-linux-gnu command -v powerpc-linux-gnu-gcc
gcc-s390x-linux-gnu command -v s390x-linux-gnu-gcc
git command -v git
golang-go command -v go
libc6-arm64-cross test -r /usr/aarch64-linux-gnu/lib/libc.so.6
libc6-dev-i386 printf "%s\n" "#include <assert.h>" | gcc -m32 -fsyntax-only -x c -
libelf-dev printf "%s\n" "#include <gelf.h>" | gcc -fsyntax-only -x c -
libtool command -v libtoolize
linux-perf command -v perf
llvm command -v llvm-dwp
make command -v make
man-db command -v man
mandoc command -v mandoc
nodejs command -v node
npm command -v npm
patch command -v patch
shellcheck command -v shellcheck
tmux command -v tmux
zsh command -v zsh
LIST
    fi
}

# cross_packages yes|no: what compiling the guest's program for arm64 needs.
cross_packages() {
    if [ "$1" = yes ]; then
        cat <<'LIST'
gcc-aarch64-linux-gnu command -v aarch64-linux-gnu-gcc
libc6-dev-arm64-cross test -r /usr/aarch64-linux-gnu/lib/libc.a
LIST
    fi
}

# How to become root for apt: empty as root; fails if there is no way.
root_prefix() {
    if [ "$(id -u)" -eq 0 ]; then
        return 0
    fi
    command -v sudo >/dev/null || return 1
    if sudo -n true 2>/dev/null || [ -t 0 ]; then
        echo sudo
        return 0
    fi
    return 1
}

# packages_install PACKAGE...: says the sizes, then installs.
packages_install() {
    local prefix cost
    command -v apt-get >/dev/null ||
        stop "this is not a Debian system; what is missing here: $*" \
            "Install the equivalents by hand and run this again."
    prefix=$(root_prefix) ||
        stop "missing packages: $*" "Neither root nor sudo here. As root: apt-get install $*"
    if [ -n "$prefix" ]; then
        sudo -v
    fi
    packages_lists "$prefix" >"$LOG" 2>&1 ||
        say "  apt-get update failed: going on with the lists that are there"
    cost=$(packages_cost "$@") || {
        quote_log
        stop "apt cannot install: $*" \
            "See docs/setup.md; by hand: apt-get update && apt-get install $*"
    }
    say "setup: this machine lacks: $*: $cost"
    step "install them with apt" "By hand: apt-get install $*" packages_apt "$prefix" "$@"
}

packages_lists() {
    $1 env LC_ALL=C apt-get update -o APT::Update::Error-Mode=any
}

packages_apt() {
    local prefix=$1
    shift
    $prefix env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get install -y \
        --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
}

# "12MB to download, 60MB on disk" for packages and what they depend on.
packages_cost() {
    local plan download disk
    plan=$(LC_ALL=C apt-get install -y --no-install-recommends --print-uris "$@" 2>>"$LOG") ||
        return 1
    download=$(awk "/^'/ { sum += \$3 } END { print sum + 0 }" <<<"$plan")
    disk=$(LC_ALL=C apt-get install -s -y --no-install-recommends "$@" |
        awk '$1 == "Inst" { print $2 }' | xargs -r apt-cache show --no-all-versions |
        awk '$1 == "Installed-Size:" { sum += $2 } END { print sum * 1024 }')
    printf '%s to download, %s on disk\n' "$(size "$download")" "$(size "$disk")"
}

# rust_check yes|no: cargo of at least the version that Cargo.toml asks for, with the tests' extras.
rust_check() {
    local wanted have how
    how='Rust comes from https://rustup.rs, or from the package rustup (Debian 13 and later).'
    if ! command -v cargo >/dev/null && [ -x "$HOME/.cargo/bin/cargo" ]; then
        PATH=$HOME/.cargo/bin:$PATH
    fi
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$ROOT/Cargo.toml")
    command -v cargo >/dev/null || stop "no cargo: Rust $wanted or newer is needed" "$how"
    have=$(cargo --version | awk '{ print $2 }')
    if [ "$(printf '%s\n' "$wanted" "$have" | sort -V | head -n 1)" != "$wanted" ]; then
        stop "cargo $have is too old: Rust $wanted or newer is needed" "$how" \
            "With rustup: rustup update stable"
    fi
    if [ "$1" = yes ]; then
        if ! cargo fmt --version >/dev/null 2>&1 || ! cargo clippy --version >/dev/null 2>&1; then
            stop "the tests need rustfmt and clippy" "rustup component add rustfmt clippy"
        fi
    fi
}
