#!/usr/bin/env bash
# Runs all tests, Rust's and Python's, looks at licences, and closes with their sum: cargo's own last line counts one crate's doc tests only.
set -euo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT

status=0
# Kernel tests mostly wait: more at once than there are cores. Those that measure take turns by themselves.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-6}
python3 scripts/rust_tests.py --beside "make --no-print-directory deny" --beside "scripts/python-tests.sh; scripts/lab.sh sources" 2>&1 | tee "$log" || status=$?

# The page of the lab, on the command and the package that the tests above have built.
scripts/lab.sh browser || { status=$? && echo "FAILED: scripts/lab.sh browser" | tee -a "$log"; }

awk '/^test result:/ { passed += $4; failed += $6; skipped += $8 }
     # pytest: "97 passed, 1 skipped in 14.18s".
     !/^test result:/ && / in [0-9.]+s( |$)/ && / (passed|failed|error)/ {
         for (i = 2; i <= NF; i++) {
             if ($i ~ /^passed/) passed += $(i - 1)
             if ($i ~ /^(failed|error)/) failed += $(i - 1)
             if ($i ~ /^skipped/) skipped += $(i - 1)
         }
     }
     END { printf "\n%d passed, %d failed, %d skipped\n", passed, failed, skipped }' "$log"
# Lints and crashes are no failed tests.
grep "^FAILED:" "$log" || true
exit "$status"
