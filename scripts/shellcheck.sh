#!/bin/sh
# Runs shellcheck on every shell script of the repository: files that begin as one, or say that they are one.
set -eu
cd "$(dirname "$0")/.."
if ! command -v shellcheck >/dev/null; then
    [ -z "${CI:-}" ] || { echo "CI needs shellcheck" >&2; exit 1; }
    echo "*** SKIPPED (needs shellcheck): scripts. apt-get install shellcheck ***"
    exit
fi
# A line of the first two, since the text of other files may have scripts in it. Text files that git has, links left out.
git grep -zIl '' | xargs -0 awk 'FNR > 2 { nextfile } /^#!.*[\/ ](ba)?sh( |$)/ || /^# shellcheck shell=/ { print FILENAME; nextfile }' |
    xargs shellcheck
