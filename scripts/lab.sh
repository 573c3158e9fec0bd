#!/usr/bin/env bash
# The page of `fairair lab` (web/): checks its sources, runs its tests, fails when crates/web/assets is not what they
# build, and drives it in Chromium; with the argument `sources` or `browser` only the one or the other. With `build` it only builds the
# assets anew, with `pictures DIRECTORY` it takes the pictures of the docs, with `measure` it prints how fast page and answers are (docs/lab.md).
set -euo pipefail
cd "$(dirname "$0")/../web"

# skip WHAT: loud, and a failure in CI.
skip() {
    if [ -n "${CI:-}" ]; then
        echo "CI needs $1" >&2
        exit 1
    fi
    echo "*** SKIPPED (needs $1): the page of fairair lab ***"
    exit 0
}

fits() {
    command -v npm >/dev/null && node -e 'const [a, b] = process.versions.node.split("."); process.exit(+(a < 20 || (+a === 20 && b < 19)))'
}
chromium=
for name in chromium chromium-browser google-chrome; do
    chromium=$(command -v "$name") && break
done

# Debian 12 has Node 18; npm has later ones as a package.
if ! fits && command -v npm >/dev/null; then
    later=$PWD/../target/node
    [ -x "$later/node_modules/.bin/node" ] ||
        npm install --loglevel error --no-audit --no-fund --no-save --prefix "$later" node@22.23.3 ||
        rm -rf "$later"
    PATH=$later/node_modules/.bin:$PATH
fi
fits || skip "Node 20.19 or later with npm"

# Packages of the lock file, unless they are there already.
if ! cmp -s package-lock.json node_modules/.fairair-lock; then
    npm ci --loglevel error --no-audit --no-fund --ignore-scripts
    cp package-lock.json node_modules/.fairair-lock
fi

if [ "${1:-}" = build ]; then
    npm run --silent build -- --logLevel warn
    exit
fi

if [ "${1:-}" = pictures ]; then
    [ -n "$chromium" ] || skip "Chromium"
    CHROMIUM=$chromium FAIRAIR=${FAIRAIR:-../target/debug/fairair} node pictures.js "$2"
    exit
fi

if [ "${1:-}" = measure ]; then
    [ -n "$chromium" ] || skip "Chromium"
    CHROMIUM=$chromium FAIRAIR=${FAIRAIR:-../target/release/fairair} npm run --silent browser -- browser -t "answers in time"
    exit
fi

if [ "${1:-}" != browser ]; then
    npm run --silent check
    npm test --silent
    built=$(mktemp -d)
    trap 'rm -rf "$built"' EXIT
    npm run --silent build -- --logLevel warn --outDir "$built" --emptyOutDir
    diff -r "$built" ../crates/web/assets || {
        echo "crates/web/assets is not what web/ builds: run scripts/lab.sh build and commit it" >&2
        exit 1
    }
    size=$(cat ../crates/web/assets/* | gzip -9 | wc -c)
    echo "assets: $size bytes compressed"
    [ "$size" -lt 400000 ]
fi
[ "${1:-}" != sources ] || exit 0

[ -n "$chromium" ] || skip "Chromium"
# With the package built, the exported Python cell runs, too.
own=$PWD/../.venv/bin/python
if [ -z "${PYTHON:-}" ] && "$own" -c 'import fairair' 2>/dev/null; then export PYTHON=$own; fi
CHROMIUM=$chromium FAIRAIR=${FAIRAIR:-../target/debug/fairair} npm run --silent browser
