# shellcheck shell=bash
# The npm packages that the tests of pages drive a browser with. Versions and hashes are those of package-lock.json in
# crates/relayout/tests/browser, and npm verifies them.

# Hash of the lock file: the packages are installed again when it changes.
browser_version() {
    cat "$ROOT"/crates/relayout/tests/browser/package*.json | sha256sum | cut -c 1-16
}

browser_ready() {
    [ "$(cache_version browser/current)" = "$(browser_version)" ]
}

browser_install() {
    local made=$CACHE/work/browser version
    version=$(browser_version)
    mkdir -p "$made"
    cp "$ROOT"/crates/relayout/tests/browser/package*.json "$made"
    browser_npm "$made"
    cache_publish browser "$version" "browser/$version" browser/current
    find "$CACHE/browser" -mindepth 1 -maxdepth 1 -type d ! -name "$version" -exec rm -rf '{}' +
}

# browser_npm FOLDER: installs the packages of its lock file there, and runs none of their scripts.
browser_npm() {
    npm ci --prefix "$1" --ignore-scripts --no-audit --no-fund
}
