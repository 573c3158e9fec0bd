"""The gallery: every figure and table of the five papers, computed anew, beside what the papers say.

``python -m fairair.gallery build`` writes a static site. What is run, what the papers say and how near is near enough
stand as data in ``gallery/`` of the repository (gallery/README.md); the verdict is computed by `fairair.gallery.verdict`.
"""

from __future__ import annotations

from fairair.gallery.build import Built, build
from fairair.gallery.spec import Figure, Paper, load
from fairair.gallery.verdict import Outcome, Verdict, judge

__all__ = ["Built", "Figure", "Outcome", "Paper", "Verdict", "build", "judge", "load"]
