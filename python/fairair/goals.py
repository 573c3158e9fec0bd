"""Goals of a plan as values; docs/planner.md has what each means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from fairair._arguments import check_fields

__all__ = ["Delay", "DownUp", "Files", "Goal", "Goodput", "Level", "UpDown"]


@dataclass(frozen=True)
class Level:
    """Goodput of the first station over the mean of the others; 1 asks for the same at every station."""

    value: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self)

    def __str__(self) -> str:
        return f"level={_number(self.value)}"


@dataclass(frozen=True)
class DownUp:
    """Mean goodput of a download over that of an upload."""

    value: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self)

    def __str__(self) -> str:
        return f"down/up={_number(self.value)}"


@dataclass(frozen=True)
class UpDown:
    """Mean goodput of an upload over that of a download."""

    value: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self)

    def __str__(self) -> str:
        return f"up/down={_number(self.value)}"


@dataclass(frozen=True)
class Goodput:
    """A least goodput of a station or of each station of a group."""

    who: str
    at_least_bps: float

    def __post_init__(self) -> None:
        check_fields(self)

    def __str__(self) -> str:
        return f"{self.who} >= {round(self.at_least_bps)} bit/s"


@dataclass(frozen=True)
class Delay:
    """A longest 95th percentile of the delay in the AP, the mean delay of the box added."""

    at_most_s: float
    who: str = ""
    """A station or a group; empty: the whole cell."""

    def __post_init__(self) -> None:
        check_fields(self)

    def __str__(self) -> str:
        who = f"({self.who})" if self.who else ""
        return f"delay{who} <= {_number(self.at_most_s * 1e3)} ms"


@dataclass(frozen=True)
class Files:
    """A longest mean transfer time of files."""

    at_most_s: float
    who: str = ""
    """A station or a group; empty: the smallest files of the cell."""

    def __post_init__(self) -> None:
        check_fields(self)

    def __str__(self) -> str:
        who = f"({self.who})" if self.who else ""
        return f"files{who} <= {_number(self.at_most_s * 1e3)} ms"


Goal: TypeAlias = Level | DownUp | UpDown | Goodput | Delay | Files


def _number(value: float) -> str:
    """Return a number without an exponent, which quantities of scenarios do not have."""
    return f"{value:.6f}".rstrip("0").rstrip(".")
