"""A bar that says how far work is: on terminals, in notebooks, or not at all."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from fairair._extras import need

__all__ = ["bar", "in_notebook"]

Told = Callable[[int, int], None]
"""Takes what is done and what is planned."""
_AGAIN_S = 0.2
"""A notebook's bar is drawn at most this often."""


def in_notebook() -> bool:
    """Whether this is a notebook's kernel, which shows HTML."""
    # Whoever is in a notebook has imported IPython; importing it here would take longer than most runs.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and shell.has_trait("kernel")


@contextmanager
def bar(title: str, total: int, done: int = 0, *, wanted: bool | None = None) -> Iterator[Told]:
    """Show a bar while the block runs.

    Parameters
    ----------
    title : str
        What is done.
    total, done : int
        Of how many, and how many before this.
    wanted : bool, optional
        True or False; by default only where somebody looks: a terminal (where rich is installed), a notebook.

    Yields
    ------
    callable
        To be told how many are done and how many are planned by now.

    Raises
    ------
    MissingExtraError
        It is wanted on a terminal, and rich is not installed.
    """
    if wanted is not False and in_notebook():
        notebook = _Notebook(title, total, done)
        try:
            yield notebook.tell
        finally:
            notebook.close()
    elif wanted or (wanted is None and sys.stderr.isatty() and find_spec("rich") is not None):
        with _terminal(title, total, done) as tell:
            yield tell
    else:
        yield lambda *_: None


@contextmanager
def _terminal(title: str, total: int, done: int) -> Iterator[Told]:
    need("rich")
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TextColumn("left"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(title, total=total, completed=done)
        yield lambda now, planned: progress.update(task, completed=now, total=planned)


class _Notebook:
    """A bar of HTML that is drawn anew in its place, and stays when it is full."""

    def __init__(self, title: str, total: int, done: int) -> None:
        from IPython.display import display

        self.title, self.began, self.first = title, time.monotonic(), done
        self.state = (done, total)
        self.drawn = self.began
        show: Any = display
        self.handle: Any = show(_Html(self.text()), display_id=True)

    def text(self) -> str:
        done, total = self.state
        spent, new = time.monotonic() - self.began, done - self.first
        left = f", about {spent / new * (total - done):.0f} s left" if new > 0 and done < total else ""
        label = html.escape(f"{self.title} {done}/{total}{left}")
        return f'<progress value="{done}" max="{max(total, 1)}"></progress> <small>{label}</small>'

    def tell(self, done: int, planned: int) -> None:
        self.state = (done, planned)
        if time.monotonic() - self.drawn >= _AGAIN_S:
            self.draw()

    def draw(self) -> None:
        self.drawn = time.monotonic()
        self.handle.update(_Html(self.text()))

    def close(self) -> None:
        self.draw()


class _Html:
    def __init__(self, text: str) -> None:
        self.text = text

    def _repr_html_(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return "progress"
