"""``python -m fairair.demo [--out DIR] [SCENARIO]``."""

from __future__ import annotations

import argparse
import sys

from fairair._errors import FairAirError
from fairair.demo.page import write_page


def main() -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m fairair.demo", description=__doc__)
    parser.add_argument("scenario", nargs="?", default="scenarios/detti2011-five-stations.toml", help="scenario file")
    parser.add_argument("--out", default="out/demo", help="folder of the page (default: %(default)s)")
    args = parser.parse_args()
    try:
        page = write_page(args.scenario, args.out)
    except FairAirError as error:
        print(error, file=sys.stderr)
        return 2
    print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
