#!/usr/bin/env bash
# Installs a wheel into clean environments of each Python from 3.10 to 3.13 that is here: `check-wheel.sh WHEEL`.
# It brings NumPy alone, gives the command, imports in less than 0.3 s of CPU time (a busy machine's clock says nothing), and with `[plot]`
# five lines make a plot.
set -euo pipefail
wheel=$1
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
cat >"$room/plot.py" <<'PYTHON'
import fairair
cell = fairair.Scenario.from_dict({"name": "two", "run": {"duration": "5 s", "replicas": 2},
    "station": [{"name": "a", "flows": [{"direction": "up"}]}, {"name": "b", "flows": [{"direction": "down"}]}]})
result = fairair.run(cell)
fairair.plot.save(fairair.plot.goodput(result), "plot.svg")
PYTHON
tried=0
for version in 3.10 3.11 3.12 3.13; do
    python=
    for candidate in "python$version" "$HOME/.pyenv/versions/$version".*/bin/python; do
        "$candidate" -c "import sys, venv; sys.exit('%d.%d' % sys.version_info[:2] != '$version')" 2>/dev/null && python=$candidate && break
    done
    [ -n "$python" ] || { echo "  Python $version is not here: not tried"; continue; }
    "$python" -m venv "$room/$version"
    bin=$room/$version/bin
    "$bin/pip" install --quiet --disable-pip-version-check "$wheel"
    brought=$("$bin/pip" list --format=freeze --disable-pip-version-check | sed 's/[=@ ].*//' | sort | tr '\n' ' ')
    for package in $brought; do
        case $package in
        fairair | numpy | pip | setuptools) ;;
        *) echo "  the wheel brings $package" >&2; exit 1 ;;
        esac
    done
    "$bin/fairair" --version >/dev/null
    "$bin/python" -c 'import fairair'
    seconds=$("$bin/python" - <<'PYTHON'
import resource, subprocess, sys
def spent():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
def once():
    begun = spent()
    subprocess.run([sys.executable, "-c", "import fairair"], check=True)
    return spent() - begun
print(f"{min(once() for _ in range(5)):.3f}")
PYTHON
    )
    awk "BEGIN { exit !($seconds < 0.3) }" || { echo "  import takes $seconds s of CPU time" >&2; exit 1; }
    (cd "$room" && "$bin/python" -c 'import fairair; print(repr(fairair.run(fairair.Scenario.from_dict({"name": "a", "run": {"duration": "5 s"}, "station": [{"name": "a", "flows": [{"direction": "up"}]}]}))))' >/dev/null)
    "$bin/python" -c 'import fairair; assert len([fairair.Scenario.load(path) for path in fairair.scenarios().values()]) > 20'
    "$bin/pip" install --quiet --disable-pip-version-check "fairair[plot] @ file://$wheel"
    (cd "$room" && MPLBACKEND=agg "$bin/python" plot.py && [ -s plot.svg ] && rm plot.svg)
    echo "  Python $version: NumPy alone, import in $seconds s of CPU time, a plot"
    tried=$((tried + 1))
done
[ "$tried" -gt 0 ] || { echo "  no Python to try it with" >&2; exit 1; }
