#!/usr/bin/env bash
# Runs all tests and closes with their sum: cargo's own last line counts one crate's doc tests only.
set -euo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT

status=0
cargo test --workspace --locked --no-fail-fast 2>&1 | tee "$log" || status=$?

awk '/^test result:/ { passed += $4; failed += $6; skipped += $8 }
     END { printf "\n%d passed, %d failed, %d skipped\n", passed, failed, skipped }' "$log"
exit "$status"
