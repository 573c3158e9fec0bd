"""Plans: from requirements to a remedy with its parameters, proved by simulation."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from fairair import _native
from fairair._arguments import checked
from fairair._errors import FairAirError
from fairair._export import html_table
from fairair._extras import need
from fairair._progress import bar
from fairair.goals import Goal
from fairair.result import Result
from fairair.scenario import Scenario

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Candidate", "Constraint", "Plan", "Point", "plan"]

_HEAD = ("remedy", "deploy", "Mbit/s", "fairness", "delay, ms", "meets", "scenario file")
Deploy = Literal["any", "ap", "box"]


@dataclass(frozen=True)
class Point:
    """A candidate in brief."""

    family: str
    """Which family of remedies it is of."""
    deploy: str
    """What has to be changed: ``-``, ``AP``, ``box`` or ``AP+box``."""
    snippet: str
    """What to write into the scenario file; empty: nothing."""
    goodput_bps: float
    """Goodput of the cell."""
    fairness: float
    """Jain's index of what each station has of its max-min share, 0 to 1."""
    delay_s: float
    """95th percentile of the delay in the AP, the mean delay of the box added."""
    starved: int
    """Stations below the floor in any replica, and flows of other stations."""
    meets: bool
    """Whether it met the requirements when it was last looked at."""
    rung: int
    """How far it came: 0 a short look, 3 and more proved."""
    goodput_ci95_bps: float | None = None
    """Half width of the 95 % confidence interval of the goodput; None of a single replica."""
    in_doubt: bool = False
    """Its means meet the requirements, but an interval goes beyond, or somebody is close to the floor."""
    risk: str | None = None
    """Why somebody may starve under it with other seeds; None: nothing points to that."""
    not_today: str | None = None
    """What of it no access point and no box has today; None: all of it can be deployed."""
    paste: dict[str, list[str]] | None = None
    """As of a `Candidate`, of what can be deployed in place of the recommended one; None: of any other."""

    @checked
    def apply(self, scenario: Scenario) -> Scenario:
        """Return `scenario` with this change.

        Parameters
        ----------
        scenario : Scenario
            The one that was planned for.

        Returns
        -------
        Scenario

        Raises
        ------
        FairAirError
            The change does not fit another scenario.
        """
        return _applied(scenario, self.snippet)


@dataclass(frozen=True)
class Candidate:
    """A candidate that was simulated at length."""

    meets: bool
    """Whether it meets the requirements at the far end of every confidence interval, and nobody starves."""
    deploy: str
    """What has to be changed: ``-``, ``AP``, ``box`` or ``AP+box``."""
    family: str
    """Which family of remedies it is of."""
    starved: tuple[str, ...]
    """Stations that are below the floor in any replica, and flows of other stations that are."""
    snippet: str
    """What to write into the scenario file; empty: nothing."""
    cautions: tuple[str, ...]
    """What in it does not fit the cell; empty: nothing is known."""
    fairness: float
    """Jain's index of what each station has of its max-min share, 0 to 1."""
    delay_s: float
    """95th percentile of the delay in the AP, the mean delay of the box added."""
    prediction: dict[str, Any]
    """What a model says of it; what it does not know is None."""
    result: Result = field(repr=False, compare=False)
    """What the simulation says."""
    paste: dict[str, list[str]] | None = None
    """Lines to write or run: ``hostapd`` (hostapd.conf), ``uci`` (OpenWrt), ``linux`` (commands of the access point) and
    ``vsb`` (vsb.toml); None: nothing."""
    not_today: str | None = None
    """What of it no access point and no box has today; None: all of it can be deployed."""
    in_doubt: bool = False
    """Its means meet the requirements, but its replicas differ too much to be sure."""
    risk: str | None = None
    """Why somebody may starve under it with other seeds, though nobody did; None: nothing points to that."""
    least: dict[str, Any] | None = None
    """``who`` has least of its max-min share, its mean ``share`` over the replicas, and the ``lowest`` of them."""
    own_time: dict[str, Any] | None = None
    """``goodput_bps``, ``fairness``, ``delay_s`` and what is ``reached`` of goals in the file's ``measured_s``; or None."""

    @checked
    def apply(self, scenario: Scenario) -> Scenario:
        """Return `scenario` with this change.

        Parameters
        ----------
        scenario : Scenario
            The one that was planned for.

        Returns
        -------
        Scenario

        Raises
        ------
        FairAirError
            The change does not fit another scenario.
        """
        return _applied(scenario, self.snippet)


@dataclass(frozen=True)
class Constraint:
    """A goal, what the first candidate has of it, and what it costs."""

    goal: str
    reached: str
    met: bool
    missed_by: float | None
    """In tolerances, doubt counted; 0 when met, None when nothing can be said."""
    goodput_without_bps: float | None
    """Goodput of the surest candidate (most at the lower end of its interval) that meets all other goals; None: of none."""
    goodput_without_ci95_bps: float | None = None
    """Half width of its 95 % confidence interval."""
    cost: float | None = None
    """How much more that is than the surest candidate has that meets all goals, as a share; None when there is none."""
    cost_ci95: float | None = None
    """Half width of its 95 % confidence interval. A cost below it may be chance."""
    in_doubt: bool = False
    """Whether the mean meets it, but not the far end of its confidence interval."""


@dataclass(frozen=True, repr=False)
class Plan:
    """What was proved, the recommended candidate first, and what else can be had."""

    name: str
    goals: tuple[str, ...]
    tolerance: float
    floor: float
    met: bool
    """Whether the first candidate meets the requirements; if not, it is the closest and not recommended."""
    already_met: bool
    """Whether the cell as it is meets the requirements, proved."""
    as_is_starved: tuple[str, ...]
    """Stations of the cell as it is that are below the floor in any replica, and flows of other stations."""
    as_is_goodput_bps: float
    tried: int
    """Candidates that were simulated."""
    candidates: tuple[Candidate, ...]
    """The proved ones, the recommended one first."""
    front: tuple[Point, ...]
    """Of these none has more goodput, more fairness and less delay than another."""
    families: tuple[Point, ...]
    """The best of each family of remedies."""
    alternative: Point | None
    """The other side of the trade of goodput for a short delay: where the recommended delay is beyond 100 ms, what has the
    most goodput below, or below half of it; else what has more goodput and a longer delay. None when nothing that meets
    the requirements does."""
    fairer: Point | None
    """Where the recommended candidate is less fair than the cell as it is: what meets the requirements and is fairer."""
    doubtful: Point | None
    """What has a tenth more goodput at least and all goals by its means, but not at the far end of all intervals. Where
    nothing meets the goals, else what has the most goodput of all that seem to."""
    deployable: Point | None
    """Where access points do not have what is recommended today: the best of the proved ones that meet the goals and that
    can be deployed."""
    constraints: tuple[Constraint, ...]
    losses: tuple[dict[str, Any], ...]
    """``who`` has less than half of what the cell as it is gives them (``goodput_bps``: before and after), and files that
    take twice as long (``transfer_s``), under what is recommended."""
    deployable_losses: tuple[dict[str, Any], ...]
    """The same under `deployable`."""
    not_tried: tuple[str, ...]
    """Families and changes that were not tried."""
    grouped: tuple[str, ...]
    """Stations of counted groups that goals tell apart: the box can weight and cap them only with a table of their own."""
    _json: str = field(repr=False)

    @classmethod
    @checked
    def from_json(cls, text: str) -> Plan:
        """Read what ``fairair plan --format json`` prints, or `to_json`.

        Parameters
        ----------
        text : str
            JSON of the schema ``fairair.plan/2``.

        Returns
        -------
        Plan

        Raises
        ------
        FairAirError
            The text is no plan, or one of another schema.
        """
        fix = "give what `Plan.to_json` of this version returned"
        try:
            raw = json.loads(text)
        except ValueError as error:
            raise FairAirError("plan", f"this is no JSON: {error}", fix) from None
        schema = raw.get("schema") if isinstance(raw, dict) else None
        if schema != "fairair.plan/2":
            raise FairAirError("plan", f"its schema is {schema!r}", fix)
        try:
            return cls._of(raw, text)
        except (AttributeError, KeyError, TypeError) as error:
            raise FairAirError("plan", f"this is not the whole of a plan: {error}", fix) from None

    @classmethod
    def _of(cls, raw: dict[str, Any], text: str) -> Plan:

        def candidate(row: dict[str, Any]) -> Candidate:
            result = Result.from_json(json.dumps(row["report"]), "plan")
            rest = {key: value for key, value in row.items() if key not in {"report", "starved", "cautions"}}
            cautions = tuple(row.get("cautions", ()))
            return Candidate(result=result, starved=tuple(row["starved"]), cautions=cautions, **rest)

        return cls(
            name=raw["name"],
            goals=tuple(raw["goals"]),
            tolerance=raw["tolerance"],
            floor=raw["floor"],
            met=raw["met"],
            already_met=raw["already_met"],
            as_is_starved=tuple(raw["as_is_starved"]),
            as_is_goodput_bps=raw["as_is_goodput_bps"],
            tried=raw["tried"],
            candidates=tuple(candidate(row) for row in raw["rows"]),
            front=tuple(Point(**point) for point in raw["front"]),
            families=tuple(Point(**point) for point in raw["families"]),
            alternative=None if raw.get("alternative") is None else Point(**raw["alternative"]),
            fairer=None if raw.get("fairer") is None else Point(**raw["fairer"]),
            doubtful=None if raw.get("doubtful") is None else Point(**raw["doubtful"]),
            deployable=None if raw.get("deployable") is None else Point(**raw["deployable"]),
            constraints=tuple(Constraint(**constraint) for constraint in raw["constraints"]),
            losses=tuple(raw.get("losses", ())),
            deployable_losses=tuple(raw.get("deployable_losses", ())),
            not_tried=tuple(raw["not_tried"]),
            grouped=tuple(raw.get("grouped", ())),
            _json=text,
        )

    @property
    def recommended(self) -> Candidate | None:
        """The candidate to take; None when nothing meets the requirements without starving somebody."""
        return self.candidates[0] if self.met else None

    @checked
    def apply(self, scenario: Scenario) -> Scenario:
        """Return `scenario` with the recommended change.

        Parameters
        ----------
        scenario : Scenario
            The one that was planned for.

        Returns
        -------
        Scenario

        Raises
        ------
        FairAirError
            Nothing is recommended.
        """
        chosen = self.recommended
        if chosen is None:
            problem = f"no candidate meets {' and '.join(self.goals)}"
            raise FairAirError("plan", problem, "ask for less; `constraints` says what each goal costs")
        return chosen.apply(scenario)

    @property
    def table(self) -> pd.DataFrame:
        """The front, one row a point."""
        columns = ["family", "deploy", "goodput_bps", "fairness", "delay_s", "meets", "snippet"]
        table: pd.DataFrame = need("pandas").DataFrame(
            [{name: getattr(point, name) for name in columns} for point in self.front]
        )
        return table

    def _shown(self) -> tuple[str, list[tuple[str, ...]]]:
        """Return a line about the whole, and a row of texts a candidate, the recommended one first."""
        wishes = " and ".join(self.goals) or "the delay"
        what = "recommended first" if self.met else "nothing meets it; the closest first"
        rows: list[tuple[str, ...]] = [
            (
                one.family,
                one.deploy,
                f"{one.result._native.summary(in_brief=True)[0][1] / 1e6:.3g}",
                f"{one.fairness:.2f}",
                f"{one.delay_s * 1e3:.3g}",
                "yes" if one.meets else "no",
                " ".join(one.snippet.split()),
            )
            for one in self.candidates
        ]
        now = ", met already" if self.already_met else ""
        return f"{wishes}{now}, {self.tried} candidates tried, {what}", rows

    def __repr__(self) -> str:
        line, rows = self._shown()
        table = [_HEAD, *rows]
        widths = [max(len(row[column]) for row in table) for column in range(len(_HEAD))]
        texts = (
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in table
        )
        return "\n".join([f"<fairair.Plan {self.name!r}: {line}>", *texts])

    def _repr_html_(self) -> str:
        line, rows = self._shown()
        return f"<div><b>{html.escape(self.name)}</b>: {html.escape(line)}{html_table(_HEAD, rows)}</div>"

    def to_json(self) -> str:
        """Return the plan as ``fairair plan --format json`` has it.

        Returns
        -------
        str
            JSON of the schema ``fairair.plan/2``.
        """
        return self._json

    def to_dict(self) -> dict[str, Any]:
        """Return the same as a dictionary.

        Returns
        -------
        dict
        """
        answer: dict[str, Any] = json.loads(self._json)
        return answer


@checked
def plan(
    scenario: Scenario | str | PathLike[str],
    goals: str | Goal | Iterable[str | Goal] = "level=1",
    *,
    max_delay: str | None = None,
    tolerance: float = 0.1,
    floor: float = 0.05,
    deploy: Deploy = "any",
    today: bool = False,
    thorough: bool = False,
    seed: int | None = None,
    jobs: int = 0,
    progress: bool | None = None,
) -> Plan:
    """Search the remedy that meets goals at the most goodput, and prove it by simulation.

    Nothing that leaves a flow or a station below the floor is recommended. Ctrl-C raises `KeyboardInterrupt`.

    Parameters
    ----------
    scenario : Scenario or path-like
        The cell, or its file.
    goals : Goal, str, or an iterable of them
        `fairair.goals` has them: ``Level(1)``, ``DownUp(2)``, ``UpDown(0.5)``, ``Goodput("sta1", at_least_bps=2e6)``,
        ``Delay(at_most_s=0.1, who="web")``, ``Files(at_most_s=0.5, who="web")``. A text is read as the command reads
        ``--goal``: ``"level=1"``, ``"sta1 >= 2 Mbit/s"``, ``"delay(web) <= 100 ms"``. May be empty with `max_delay`.
    max_delay : str, optional
        Longest 95th percentile of the delay in the AP, the mean delay of the box added, such as ``"50 ms"``.
    tolerance : float, default 0.1
        How far a ratio may be off, as a share.
    floor : float, default 0.05
        Least that every flow and station keeps, as a share of its max-min share.
    deploy : {"any", "ap", "box"}
        What may be changed.
    today : bool
        Only what access points and the live box have today.
    thorough : bool, default False
        Look at five times as many candidates.
    seed : int, optional
        Seed of all randomness instead of the scenario's.
    jobs : int, default 0
        Threads; 0 is one a processor. The plan is the same on any number.
    progress : bool, optional
        Show a bar of replicas; by default on terminals and in notebooks only.

    Returns
    -------
    Plan
        `recommended` is the candidate to take, or None; `front` what else can be had; goodputs in bit/s, delays in s.

    Raises
    ------
    FairAirError
        Bad input, with its place and fix; nothing has run.

    Examples
    --------
    >>> import fairair
    >>> cell = fairair.Scenario.from_dict({"name": "cell", "run": {"duration": "5 s", "replicas": 2},
    ...     "radio": {"rate": "1 Mbit/s", "basic_rate": "1 Mbit/s"},
    ...     "station": [{"name": "a", "flows": [{"direction": "up"}]}, {"name": "b", "flows": [{"direction": "down"}]}]})
    >>> plan = fairair.plan(cell, "a >= 100 kbit/s", deploy="ap", progress=False)
    >>> plan.met, plan.recommended.deploy in {"-", "AP", "box", "AP+box"}
    (True, True)
    >>> plan.apply(cell) == plan.candidates[0].apply(cell), plan.front[0].apply(cell).name
    (True, 'cell')
    >>> fairair.Plan.from_json(plan.to_json()).to_dict() == plan.to_dict()
    True
    """
    cell = scenario if isinstance(scenario, Scenario) else Scenario.load(scenario)
    if seed is not None:
        cell = cell.with_({"run.seed": seed})
    wanted = [str(goal) for goal in ([goals] if isinstance(goals, str | Goal) else goals)]
    effort = 5.0 if thorough else 1.0
    with bar("parts", 0, wanted=progress) as tell:
        text = _native.run_plan(cell._json(), wanted, max_delay, tolerance, floor, deploy, today, effort, jobs, tell)
    return Plan.from_json(text)


def _applied(scenario: Scenario, snippet: str) -> Scenario:
    return Scenario(json.loads(_native.apply_snippet(scenario._json(), snippet)))
