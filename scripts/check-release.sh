#!/usr/bin/env bash
# Checks what scripts/release.sh has put into dist/. What a missing tool or right keeps from being checked is said, and fails with CI set.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=$PWD/target/release-venv/bin
stage=target/dist/stage
deb=$(echo dist/*.deb) wheel=$(echo "$PWD"/dist/*.whl) sdist=$(echo dist/*.tar.gz)

say() { printf 'check: %s\n' "$*"; }
skipped() {
    [ -z "${CI:-}" ] || { echo "CI needs $1" >&2; exit 1; }
    echo "*** SKIPPED (needs $1): $2 ***"
}

say "checksums, wheel and source distribution"
(cd dist && sha256sum --quiet --check SHA256SUMS)
"$tools/twine" check --strict "$wheel" "$sdist"
"$tools/auditwheel" show "$wheel" | tr '\n' ' ' | grep -o 'consistent with[^.]*' || true
case $wheel in
*-cp310-abi3-manylinux_*) ;;
*) echo "not an abi3 wheel for manylinux: $wheel" >&2; exit 1 ;;
esac

say "no path of this machine in what is packed"
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
"$tools/python" -m zipfile -e "$wheel" "$room/packed/wheel"
if command -v dpkg-deb >/dev/null; then dpkg-deb -x "$deb" "$room/packed/deb"; else skipped dpkg-deb "the Debian package's paths"; fi
tar -xzf "$sdist" -C "$room/packed"
if grep -rlaF -e "$PWD" -e "${CARGO_HOME:-$HOME/.cargo}" "$room/packed" dist/*.json; then
    echo "these name a folder of this machine" >&2
    exit 1
fi

say "the wheel in clean environments"
scripts/check-wheel.sh "$wheel"

say "a wheel out of the source distribution"
.venv/bin/python -m venv "$room/venv"
# As a user has it: no repository around, no commit named. Compiled crates of others are shared with the build.
(
    unset FAIRAIR_COMMIT SOURCE_DATE_EPOCH
    export CARGO_TARGET_DIR=$PWD/target/dist
    sdist=$(realpath "$sdist")
    cd "$room"
    venv/bin/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir built "$sdist"
    venv/bin/pip install --quiet --disable-pip-version-check built/*.whl
    venv/bin/fairair --version
    venv/bin/python -c 'import fairair; print(repr(fairair.Scenario({"name": "a", "run": {"duration": "5 s"}, "station": [{"name": "a", "flows": [{"direction": "up"}]}]})))'
)

say "unit"
if command -v systemd-analyze >/dev/null; then
    # It looks for the command where the unit says.
    there=$(mktemp -d)
    sed "s:/usr/bin/fairair:$PWD/target/dist/release/fairair:" "$stage/fairair-vsb.service" >"$there/fairair-vsb.service"
    said=$(systemd-analyze verify --man=no "$there/fairair-vsb.service" 2>&1)
    rm -r "$there"
    case $said in *fairair-vsb*) echo "$said" >&2; exit 1 ;; esac
else
    skipped systemd-analyze "whether systemd accepts the unit"
fi

say "Debian package"
if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error "$deb"
else
    skipped lintian "the Debian package by lintian"
fi
if [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null; then
    python3 scripts/check_deb.py "$deb"
else
    skipped "root and debootstrap" "the Debian package in a clean root"
fi
scripts/shellcheck.sh
