#!/bin/sh
# Installs what a Debian or Ubuntu machine lacks to build FairAir; with the argument `python` its Python package too,
# in .venv; with `docs` what the documentation site is built with; with `test` all that the tests need; with `release` what packages are
# built and checked with.
# Asks each tool before it installs anything, so a second run only looks.
set -eu
cd "$(dirname "$0")/.."

purpose=${1:-build}
PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
edition=$(sed -n 's/^edition = "\(.*\)"/\1/p' Cargo.toml)
rust_wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

say() { printf 'setup: %s\n' "$*"; }
have() { command -v "$1" >/dev/null 2>&1; }
give_up() {
    printf 'setup: %s\n' "$@" >&2
    exit 1
}

# rust_fits: is there a cargo of at least the version that Cargo.toml asks for?
rust_fits() {
    rust_found=$(cargo --version 2>/dev/null | cut -d ' ' -f 2)
    fits "$rust_found"
}

# apt_install PACKAGE...: true when they are installed afterwards.
apt_install() {
    have apt-get || { say "no apt-get here: install $* with this system's package manager"; return 1; }
    if [ "$(id -u)" = 0 ]; then
        as_root=
    elif have sudo; then
        as_root=sudo
    else
        say "not root, and no sudo: have an administrator run: apt-get install $*"
        return 1
    fi
    say "apt-get install $*"
    # tshark's package asks whether everyone may capture; the default, no, is right.
    { $as_root apt-get update -q && $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends "$@"; } || { say "apt-get failed"; return 1; }
}

need_packages() {
    packages=
    have cc || packages="$packages build-essential"
    [ -z "$packages" ] && return
    # shellcheck disable=SC2086 # a list of words
    apt_install $packages || give_up "FairAir cannot be built without:$packages"
}

# fits VERSION: is it at least the one that Cargo.toml asks for?
fits() {
    [ -n "$1" ] && printf '%s\n' "$rust_wanted" "$1" | sort -V -C
}

# candidate PACKAGE: the version that apt would install.
candidate() {
    apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: \([0-9.]*\).*/\1/p'
}

# distribution_rust: installs Rust from the distribution's packages where they are new enough; Debian has newer ones
# for browsers under names that end in -web. Never removes a package.
distribution_rust() {
    have apt-cache || return 1
    # Lists of packages may be missing (a fresh root) or old.
    [ "$(id -u)" != 0 ] || apt-get update -q >/dev/null 2>&1 || true
    for suffix in "" -web; do
        version=$(candidate "rustc$suffix")
        fits "$version" || continue
        say "Rust is ${rust_found:-missing}, $rust_wanted or later is needed: the distribution has $version"
        apt_install --no-remove "rustc$suffix" "cargo$suffix" && rust_fits && return
    done
    return 1
}

need_rust() {
    rust_fits && return
    if have rustup; then
        say "Rust is ${rust_found:-missing}, $rust_wanted or later is needed: rustup toolchain install stable"
        rustup toolchain install stable --profile minimal --component clippy --component rustfmt
        [ -n "$rust_found" ] || rustup default stable
        rust_fits || give_up "the toolchain in use is still ${rust_found:-missing}; run: rustup default stable"
    elif distribution_rust; then
        :
    else
        say "Rust is ${rust_found:-missing}, $rust_wanted or later is needed: installing it with rustup"
        have curl && [ -e /etc/ssl/certs/ca-certificates.crt ] || apt_install curl ca-certificates ||
            give_up "rustup cannot be fetched without curl and ca-certificates"
        # An older Rust from the distribution stays as it is, next to this one; no shell profile is changed.
        curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs |
            RUSTUP_INIT_SKIP_PATH_CHECK=yes sh -s -- -y --no-modify-path --profile minimal -c clippy -c rustfmt ||
            true # told below, in words
        rust_fits || give_up "rustup could not install Rust. See https://rustup.rs, then run make again." \
            "Or install cargo and rustc $rust_wanted or later from your distribution (Debian 12: its security archive has them)."
        say "to use cargo yourself: . \"${CARGO_HOME:-$HOME/.cargo}/env\""
    fi
}

# component_fits clippy|fmt: is it there, and not that of an older Rust beside this one?
component_fits() {
    case $1 in
    clippy) fits "1.$(cargo clippy --version 2>/dev/null | sed -n 's/^clippy 0\.1\.\([0-9.]*\).*/\1/p')" ;;
    fmt) cargo fmt --version >/dev/null 2>&1 && rustfmt --edition "$edition" --check </dev/null >/dev/null 2>&1 ;;
    esac
}

need_test_tools() {
    for component in clippy fmt; do
        component_fits "$component" && continue
        if ! have rustup; then
            # Debian's names; beside rustc-web it is rustfmt-web and rust-web-clippy.
            case $component in
            clippy) packages="rust-clippy rust-web-clippy" ;;
            fmt) packages="rustfmt rustfmt-web" ;;
            esac
            for package in $packages; do
                fits "$(candidate "$package")" || continue
                apt_install --no-remove "$package" && component_fits "$component" && continue 2
            done
            give_up "cargo $component is missing: install it the way cargo was installed"
        fi
        say "rustup component add clippy rustfmt"
        rustup component add clippy rustfmt
        break
    done
    have nft && have tc || [ "$(uname)" != Linux ] || apt_install nftables iproute2 || say "without nft and tc the tests of vsb are skipped"
    have strace || [ "$(uname)" != Linux ] || apt_install strace || say "without strace the test of netlink errors is skipped"
    have shellcheck || apt_install shellcheck || say "without shellcheck scripts are not checked"
    have tshark || apt_install tshark || say "without tshark the tests of captures are skipped"
    [ "$(uname)" != Linux ] || scripts/test-programs.sh ||
        say "without them the tests of vsb with real hostapd, snmpd, dnsmasq and promtool are skipped"
    have chromium || have chromium-browser || have google-chrome || apt_install chromium ||
        say "without chromium the tests of the gallery's pages and of the lab in a browser are skipped"
    have npm || apt_install nodejs npm || say "without Node the page of fairair lab is not tested"
    have ip && have iperf3 && have ping || apt_install iproute2 iperf3 iputils-ping ||
        say "without iproute2, iperf3 and ping the tests of the testbed are skipped"
}

# python_fits COMMAND: a Python of at least 3.11, which the locked requirements are for, that can make environments.
python_fits() {
    have "$1" && "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
    for python in python3.11 python3 python3.12 python3.13 python3.14; do
        python_fits "$python" && return
    done
    return 1
}

# need_python LOCK: .venv with exactly the packages of python/LOCK, unless it has them already.
need_python() {
    lock=python/$1
    mark=.venv/$1
    [ -x .venv/bin/python ] && cmp -s "$lock" "$mark" && return
    # What the tests need includes what a build needs, in the same versions.
    [ "$1" = requirements.lock ] && cmp -s python/requirements-test.lock .venv/requirements-test.lock && return
    if [ ! -x .venv/bin/python ]; then
        find_python || apt_install python3 python3-venv || give_up "FairAir's Python package needs Python 3.11 or later"
        find_python || give_up "FairAir's Python package needs Python 3.11 or later with venv"
        say "$python -m venv .venv"
        "$python" -m venv .venv
    fi
    say "pip install -r $lock (into .venv)"
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r "$lock" ||
        give_up "the packages of $lock could not be installed into .venv"
    cp "$lock" "$mark"
}

# need_tools NAME: target/NAME-venv with the packages of scripts/NAME-requirements.lock, by their hashes; apart from .venv, whose versions
# are the tests'.
need_tools() {
    lock=scripts/$1-requirements.lock
    place=target/$1-venv
    cmp -s "$lock" "$place/requirements.lock" && return
    if [ ! -x "$place/bin/python" ]; then
        find_python || apt_install python3 python3-venv || give_up "make $1 needs Python 3.11 or later"
        find_python || give_up "make $1 needs Python 3.11 or later with venv"
        say "$python -m venv $place"
        "$python" -m venv "$place"
    fi
    say "pip install -r $lock (into $place)"
    "$place/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$lock" ||
        give_up "the packages of $lock could not be installed into $place"
    cp "$lock" "$place/requirements.lock"
}

# need_packers: what makes and checks a Debian package.
need_packers() {
    have lintian && have shellcheck || apt_install lintian shellcheck || say "without lintian the Debian package is not checked by it"
    have debootstrap || apt_install debootstrap || say "without debootstrap the Debian package is not installed in a clean root"
    # A minute and a half.
    cargo deb --version >/dev/null 2>&1 || {
        say "cargo install cargo-deb"
        cargo install --quiet --locked --debug --version 3.8.0 cargo-deb
    }
}

if [ "$purpose" = docs ]; then
    need_tools docs
    say "ready"
    exit
fi
need_packages
need_rust
case $purpose in
test)
    need_test_tools
    need_python requirements-test.lock
    need_tools docs
    ;;
release)
    need_packers
    need_tools release
    need_python requirements-test.lock
    ;;
python) need_python requirements.lock ;;
esac
say "ready (Rust $rust_found)"
