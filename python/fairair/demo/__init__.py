"""The demonstration of ``make demo``: a page that says who gets the air, with and without remedies."""

from fairair.demo.page import write_page

__all__ = ["write_page"]
