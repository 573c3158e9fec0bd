"""What is packaged for Prometheus and Grafana uses the metrics that the live box exports."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGING = REPOSITORY / "packaging"
RULES = PACKAGING / "prometheus-rules.yml"
EXPORTER = REPOSITORY / "crates/linux/src/enforce/daemon/metrics/exposition.rs"


def exported() -> set[str]:
    """Names as Prometheus has them: the exporter registers each by the kind of its family, counters get `_total`."""
    family = re.compile(r'\b(whole|real|count)\(\s*(?:&mut )?registry,\s*"(\w+)"')
    found = family.findall(EXPORTER.read_text())
    return {f"fairair_{name}{'_total' if kind == 'count' else ''}" for kind, name in found}


def named(text: str) -> set[str]:
    return set(re.findall(r"\bfairair_\w+", text))


def test_panels_and_alerts_name_exported_metrics_and_every_metric_has_a_panel() -> None:
    names = exported()
    assert len(names) >= 16, names
    panels = json.loads((PACKAGING / "grafana-dashboard.json").read_text())["panels"]
    shown = named(json.dumps([target["expr"] for panel in panels for target in panel["targets"]]))
    assert shown == names
    alerts = named(RULES.read_text())
    assert alerts
    assert alerts <= names, alerts - names


def test_promtool_takes_the_alert_rules() -> None:
    unpacked = REPOSITORY / "target/test-programs/bin/promtool"
    promtool = str(unpacked) if unpacked.exists() else shutil.which("promtool")
    if promtool is None:
        assert "CI" not in os.environ, "CI needs promtool: scripts/test-programs.sh"
        pytest.skip("*** SKIPPED (needs promtool: scripts/test-programs.sh): the alert rules ***")
    done = subprocess.run([promtool, "check", "rules", str(RULES)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
