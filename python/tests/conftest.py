"""What the tests share: small cells that run in milliseconds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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


@pytest.fixture
def cell() -> fairair.Scenario:
    return fairair.Scenario.from_dict(cell_document())
