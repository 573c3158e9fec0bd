"""``python -m fairair``: the command."""

from fairair._cli import main

main()
