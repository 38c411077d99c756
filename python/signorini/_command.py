"""The `signorini` command."""

import signal
import sys

from . import _engine


def main() -> None:
    """Runs the command line with the arguments of this process."""
    # The engine handles Ctrl-C itself where it matters; Python's own handler would wait for it to return.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_engine.command(["signorini", *sys.argv[1:]]))
