"""Broadcasting: arrays in, one row an element for the native functions, arrays out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairair import _native
from fairair._arguments import checked
from fairair._errors import FairAirError
from fairair.scenario import _to_json

Floats = NDArray[np.float64]
Radio = Mapping[str, Any]

__all__ = ["Floats", "Radio", "call", "document", "fitting", "sized"]


@contextmanager
def fitting(name: str) -> Iterator[None]:
    """Say in words which arguments have shapes that do not broadcast."""
    try:
        yield
    except ValueError as error:
        fix = "give numbers, or arrays whose shapes broadcast by NumPy's rules"
        raise FairAirError(name, f"the arguments do not fit together: {error}", fix) from None


def call(
    name: str,
    scalars: Sequence[ArrayLike],
    groups: Sequence[ArrayLike] = (),
    core: Sequence[int] = (),
    radio: str | None = None,
    sizes: Sequence[int] | None = None,
) -> Floats:
    """Call a native function on each element of the broadcast arguments.

    `scalars` broadcast against each other and against `groups` without their last ``len(core)`` axes, which have the
    sizes `core` and belong to one call; the function is told `sizes`, `core` by default. Returns shape
    ``(*batch, outputs)``.
    """
    singles = [_floats(name, value) for value in scalars]
    wide = [_floats(name, value) for value in groups]
    depth = len(core)
    with fitting(name):
        batch = np.broadcast_shapes(*(a.shape for a in singles), *(a.shape[: a.ndim - depth] for a in wide))
        columns = [np.broadcast_to(a, batch).reshape(-1, 1) for a in singles]
        columns += [np.broadcast_to(a, (*batch, *core)).reshape(-1, int(np.prod(core, dtype=int))) for a in wide]
    rows = np.ascontiguousarray(np.hstack(columns))
    if rows.shape[0] == 0:
        raise FairAirError(name, "an argument is empty", "give at least one element")
    answers = _native.call(name, rows, list(core if sizes is None else sizes), radio)
    return answers.reshape(*batch, answers.shape[-1])


def sized(name: str, *groups: ArrayLike, depth: int = 1) -> tuple[list[Floats], tuple[int, ...]]:
    """Return the arrays and the sizes of the `depth` last axes that they share."""
    arrays = [_floats(name, group) for group in groups]
    arrays = [a.reshape((1,) * (depth - a.ndim) + a.shape) if a.ndim < depth else a for a in arrays]
    with fitting(name):
        core = np.broadcast_shapes(*(a.shape[a.ndim - depth :] for a in arrays))
        full = [np.broadcast_to(a, (*a.shape[: a.ndim - depth], *core)) for a in arrays]
    return full, core


@checked
def document(radio: Radio | None, preset: str = "standard") -> str:
    """Return a smallest scenario with this radio, whose MAC timing is meant."""
    return _to_json(
        {
            "name": "mac",
            "run": {"duration": "1 s", "preset": preset},
            "radio": dict(radio or {}),
            "station": [{"name": "sta1"}],
        }
    )


def _floats(name: str, value: ArrayLike) -> Floats:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise FairAirError(name, f"an argument is no array of numbers: {error}", "give numbers or arrays") from None
