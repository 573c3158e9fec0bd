"""``python -m fairair.gallery build``."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from fairair._errors import FairAirError
from fairair.gallery.build import build


def main() -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m fairair.gallery", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("build", help="run the figures and write the site")
    one.add_argument("only", nargs="*", metavar="PAPER|FIGURE", help="as detti2011 or detti2011-fig5; all by default")
    one.add_argument("--quick", action="store_true", help="fewer places and shorter runs, for a first look and CI")
    one.add_argument("--source", default="gallery", help="folder with a folder a paper (default: %(default)s)")
    one.add_argument("--out", default="out/gallery", help="folder of the site (default: %(default)s)")
    one.add_argument("--jobs", type=int, default=0, help="threads; 0 is one a processor (default: %(default)s)")
    args = parser.parse_args()
    try:
        pages = build(args.source, args.out, quick=args.quick, only=args.only or None, jobs=args.jobs)
    except FairAirError as error:
        print(error, file=sys.stderr)
        return 2
    counts = Counter(page.verdict.value for page in pages)
    print(f"{args.out}/index.html: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
