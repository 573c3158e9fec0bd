#!/usr/bin/env bash
# Builds the Python package into .venv from what the Rust tests have compiled, then checks its style, types and stubs and runs its tests.
set -uo pipefail
cd "$(dirname "$0")/../python" || exit

export PATH="$PWD/../.venv/bin:$PATH" VIRTUAL_ENV="$PWD/../.venv"
status=0
# step COMMAND...: all of them run; a failed one is named in the sum of scripts/test.sh.
step() {
    "$@" && return
    status=1
    echo "FAILED: $*"
}
step maturin develop --quiet --profile dev --locked
step ruff format --check .
step ruff check .
step mypy
step basedpyright
step python -m mypy.stubtest fairair._native
step pytest -q
exit "$status"
