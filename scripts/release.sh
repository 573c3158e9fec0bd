#!/usr/bin/env bash
# Builds what is released into dist/: Debian package, wheel, source distribution, SBOM, licence notices, checksums; then checks them.
# For two builds of a commit to give the same bytes, times are the commit's, paths of this machine are mapped away, versions are locked.
# `release.sh build` leaves the checks out. CARGO_DEB_FLAGS and MATURIN_FLAGS add options.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
tools=target/release-venv/bin
dist=$root/dist stage=$root/target/dist/stage

say() { printf 'release: %s\n' "$*"; }

[ -z "$(git status --porcelain --untracked-files=no)" ] || say "files differ from the commit: the version will say +changed"
commit=$(git rev-parse --short=12 HEAD)
[ -z "$(git status --porcelain --untracked-files=no)" ] || commit=$commit+changed
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
cargo_home=${CARGO_HOME:-$HOME/.cargo}
sysroot=$(rustc --print sysroot)
export SOURCE_DATE_EPOCH FAIRAIR_COMMIT=$commit CARGO_INCREMENTAL=0
RUSTFLAGS="--remap-path-prefix=$root=/fairair --remap-path-prefix=$cargo_home=/cargo --remap-path-prefix=$sysroot=/rust"
export RUSTFLAGS
export CFLAGS="-O2 -ffile-prefix-map=$root=/fairair -ffile-prefix-map=$cargo_home=/cargo"
# Apart from target/, whose builds have other flags.
export CARGO_TARGET_DIR=$root/target/dist

rm -rf "$dist" "$stage"
mkdir -p "$dist" "$stage/man"
umask 022

say "$version ($commit): the command"
cargo build --release --locked -p fairair --bin fairair
command=$CARGO_TARGET_DIR/release/fairair

say "Debian package"
"$command" man "$stage/man"
"$command" completions bash >"$stage/fairair.bash"
"$command" completions zsh >"$stage/_fairair"
"$command" completions fish >"$stage/fairair.fish"
sed 's:/usr/local/bin:/usr/bin:' packaging/fairair-vsb.service >"$stage/fairair-vsb.service"
python3 scripts/notices.py fairair >"$stage/THIRD-PARTY-NOTICES.txt"
python3 scripts/debian_files.py "$version" "$stage"
# shellcheck disable=SC2086 # options
cargo deb -p fairair --no-build --locked --quiet --output "$dist" ${CARGO_DEB_FLAGS:-}

say "wheel and source distribution"
cp "$stage/THIRD-PARTY-NOTICES.txt" python/
trap 'rm -f "$root/python/THIRD-PARTY-NOTICES.txt"' EXIT
# maturin asks the first Python in the path for Zig. Zig's linker has the symbol versions of older systems: the wheel runs from glibc 2.28 on, whatever this machine has.
# shellcheck disable=SC2086 # options
PATH=$root/$tools:$PATH maturin build --manifest-path python/Cargo.toml --profile wheel --locked --zig --compatibility manylinux_2_28 \
    --out "$dist" ${MATURIN_FLAGS:-}
"$tools/maturin" sdist --manifest-path python/Cargo.toml --out "$dist"

say "software bill of materials, notices, checksums"
"$tools/python" scripts/sbom.py "$dist"/*.whl "$dist/fairair.cyclonedx.json"
cp "$stage/THIRD-PARTY-NOTICES.txt" "$dist/"
(cd "$dist" && sha256sum -- *.deb *.whl *.tar.gz *.json *.txt >SHA256SUMS)
[ "${1:-}" = build ] || scripts/check-release.sh
cat "$dist/SHA256SUMS"
