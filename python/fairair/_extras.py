"""What `pip install fairair` does not bring, and which extra does."""

from __future__ import annotations

import importlib
from typing import Any

from fairair._errors import FairAirError

__all__ = ["MissingExtraError", "need"]

_EXTRAS = {
    "distributed": "dask",
    "jinja2": "gallery",
    "matplotlib": "plot",
    "pandas": "data",
    "pyarrow": "data",
    "rich": "data",
    "tomli": "gallery",
    "xarray": "data",
}


class MissingExtraError(FairAirError, ImportError):
    """A package that is an extra is not installed; `fix` has the command."""


def need(*packages: str) -> Any:
    """Import packages and return the first.

    Raises
    ------
    MissingExtraError
        One is not installed; the message says which extra brings it.
    """
    found = []
    for package in packages:
        try:
            found.append(importlib.import_module(package))
        except ModuleNotFoundError as error:
            # A module of ours may be what imports it.
            missing = (error.name or "").partition(".")[0]
            if missing not in _EXTRAS:
                raise
            raise MissingExtraError(
                missing,
                "this is not installed, and what you ask for needs it",
                f"pip install 'fairair[{_EXTRAS[missing]}]'",
            ) from None
    return found[0]
