"""What the tests share: small cells that run in milliseconds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import fairair

REPOSITORY = Path(__file__).parents[2]


def cell_document() -> dict[str, Any]:
    """One uploader against four downloaders, as in detti2011."""
    return {
        "name": "cell",
        "run": {"duration": "12 s", "warmup": "2 s", "replicas": 3},
        "ap": {"queue": {"kind": "droptail", "limit": 75}},
        "station": [
            {"name": "sta1", "beta": 1.2, "flows": [{"direction": "up", "count": 3}]},
            {"name": "other", "beta": 1.2, "count": 4, "flows": [{"direction": "down"}]},
        ],
    }


def number(table: pd.DataFrame, row: str, column: str) -> float:
    """Return a cell of a table, which pandas may type as anything."""
    value: Any = table.loc[row, column]
    return float(value)


@pytest.fixture
def cell() -> fairair.Scenario:
    return fairair.Scenario.from_dict(cell_document())


@pytest.fixture(scope="session")
def testbed() -> None:
    """Skip what needs real hosts where there can be none."""
    doctor = subprocess.run([sys.executable, "-m", "fairair", "testbed", "doctor"], capture_output=True, check=False)
    if doctor.returncode != 0:
        assert "CI" not in os.environ, "CI needs the testbed"
        pytest.skip("*** SKIPPED (needs root, iproute2, iperf3, ping): the testbed from Python ***")
