"""The gallery: figures and tables of the papers, ours beside the published numbers, with a verdict by rule."""

from fairair.gallery.build import build
from fairair.gallery.rules import Claim, Finding, Verdict, verdict_of
from fairair.gallery.spec import Curve, Figure, Paper, read_papers

__all__ = ["Claim", "Curve", "Figure", "Finding", "Paper", "Verdict", "build", "read_papers", "verdict_of"]
