"""The one exception for bad input."""

from __future__ import annotations

__all__ = ["FairAirError"]


class FairAirError(ValueError):
    """Bad input: where it is, what is wrong, and how to mend it.

    Parameters
    ----------
    place : str
        File with line and column, path in a scenario (``station.sta1.rate``), or name of an argument.
    problem : str
        What is wrong there.
    fix : str
        What to do about it.
    """

    def __init__(self, place: str, problem: str, fix: str) -> None:
        super().__init__(place, problem, fix)
        self.place = place
        self.problem = problem
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}\n  help: {self.fix}"
