"""Several plans at once, here or on an executor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from fairair._arguments import checked
from fairair._executors import each
from fairair._progress import bar
from fairair.goals import Goal
from fairair.planner import Deploy, Plan, plan
from fairair.scenario import Scenario

__all__ = ["Problem", "plans"]


class Problem(NamedTuple):
    """A cell and a wish, as `plan` takes them."""

    scenario: Scenario
    goals: str | Goal | tuple[str | Goal, ...] = "level=1"
    """As in `plan`."""
    max_delay: str | None = None
    """Longest delay in the AP's queue, such as ``"50 ms"``."""
    tolerance: float = 0.1
    """How far a ratio may be off, as a share."""
    floor: float = 0.05
    """Least that everybody keeps, as a share of the max-min share."""
    deploy: Deploy = "any"
    """What may be changed."""
    thorough: bool = False
    """Look at five times as many candidates."""
    seed: int | None = None
    """Seed of all randomness instead of the scenario's."""
    today: bool = False
    """Only what access points and the live box have today."""


@checked
def plans(
    problems: Iterable[Problem], *, executor: Any = None, jobs: int = 0, progress: bool | None = None
) -> list[Plan]:
    """Plan for several cells or wishes, one after the other here, or side by side elsewhere.

    Parameters
    ----------
    problems : iterable of Problem
        Cells with their goals.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Where problems are solved, each on one thread, as in `fairair.sweep`; None: here. The plans are the same.
    jobs : int, default 0
        Threads for one problem when there is no `executor`; 0 is one a processor.
    progress : bool, optional
        Show a bar of problems; by default on terminals and in notebooks only.

    Returns
    -------
    list of Plan
        In the order of the problems.

    Raises
    ------
    FairAirError
        Bad input, with its place and fix, or a worker with another engine.

    Examples
    --------
    >>> import fairair
    >>> fairair.plans([])
    []
    """
    todo = list(problems)
    answers: list[Plan | None] = [None] * len(todo)
    with bar("plans", len(todo), wanted=progress) as tell:
        if executor is None:
            found: Iterator[tuple[int, str]] = ((place, _solved(one, jobs)) for place, one in enumerate(todo))
        else:
            found = each(executor, _solved, [(one, 1) for one in todo])
        for done, (place, text) in enumerate(found, 1):
            answers[place] = Plan.from_json(text)
            tell(done, len(todo))
    return [answer for answer in answers if answer is not None]


def _solved(problem: Problem, jobs: int) -> str:
    return plan(
        problem.scenario,
        problem.goals,
        max_delay=problem.max_delay,
        tolerance=problem.tolerance,
        floor=problem.floor,
        deploy=problem.deploy,
        today=problem.today,
        thorough=problem.thorough,
        seed=problem.seed,
        jobs=jobs,
        progress=False,
    ).to_json()
