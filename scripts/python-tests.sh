#!/usr/bin/env bash
# Builds the Python package into .venv from what the Rust tests have compiled, then checks its style, types and stubs and runs its tests.
set -uo pipefail
cd "$(dirname "$0")/../python" || exit

export PATH="$PWD/../.venv/bin:$PATH" VIRTUAL_ENV="$PWD/../.venv"
status=0
maturin develop --quiet --profile dev --locked || status=$?
ruff format --check . || status=$?
ruff check . || status=$?
mypy || status=$?
basedpyright || status=$?
python -m mypy.stubtest fairair._native || status=$?
pytest -q || status=$?
exit "$status"
