"""The laboratory in the browser: ``python -m fairair.lab [SCENARIO.toml]`` is ``fairair lab``."""

from __future__ import annotations

import sys

from fairair import _cli

if __name__ == "__main__":
    sys.argv.insert(1, "lab")
    _cli.main()
