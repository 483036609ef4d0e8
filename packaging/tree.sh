# shellcheck shell=bash
# The installed files, below a prefix as /usr.

# tree_make PREFIX COMMAND LIBRARIES: COMMAND is the built command, LIBRARIES the folder of the built libraries.
tree_make() {
    local prefix=$1 command=$2 libraries=$3 library
    install -D -m 755 "$command" "$prefix/bin/relayout"
    ln -sf relayout "$prefix/bin/relayout-cc"
    ln -sf relayout "$prefix/bin/relayout-c++"
    for library in librelayout_rt.so librelayout_qemu_api1.so librelayout_qemu_api4.so; do
        install -D -m 644 "$libraries/$library" "$prefix/lib/relayout/$library"
    done
    install -D -m 644 collectors/compiled/include/relayout.h "$prefix/include/relayout.h"
    tree_setup "$prefix/share/relayout"
    tree_documents "$prefix/share/doc/relayout"
    tree_shell "$prefix" "$command"
}

# The files by which `relayout setup` fetches kernels and QEMU, and what programs include.
tree_setup() {
    local to=$1 file
    install -D -m 755 scripts/setup.sh "$to/scripts/setup.sh"
    for file in scripts/lib/*.sh; do
        install -D -m 644 "$file" "$to/$file"
    done
    for file in collectors/guest/*.[ch]; do
        install -D -m 644 "$file" "$to/$file"
    done
}

tree_documents() {
    local to=$1 file
    for file in README.md CHANGELOG.md ARCHITECTURE.md LICENSE-MIT LICENSE-APACHE; do
        install -D -m 644 "$file" "$to/$file"
    done
    install -D -m 644 collectors/qemu/COPYING "$to/COPYING.plugin"
    install -D -m 644 packaging/copyright "$to/copyright"
    (cd docs && find . -type f) | while read -r file; do
        install -D -m 644 "docs/$file" "$to/docs/$file"
    done
    for file in ci/github ci/gitlab ci/git-hooks; do
        install -D -m 644 -t "$to/$file" "$file"/*
    done
}

# Manual pages and completions, which the command makes.
tree_shell() {
    local prefix=$1 command=$2
    "$command" --quiet man "$prefix/share/man/man1"
    gzip --no-name --best "$prefix"/share/man/man1/*.1
    chmod 644 "$prefix"/share/man/man1/*
    tree_completion "$command" bash "$prefix/share/bash-completion/completions/relayout"
    tree_completion "$command" zsh "$prefix/share/zsh/vendor-completions/_relayout"
    tree_completion "$command" fish "$prefix/share/fish/vendor_completions.d/relayout.fish"
}

tree_completion() {
    mkdir -p "$(dirname "$3")"
    "$1" completions "$2" >"$3"
    chmod 644 "$3"
}
